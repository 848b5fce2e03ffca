"""Constraints on a model: how far they are from closed, φ(q), its Jacobian J(q) = ∂φ̇/∂v, and the bias J̇ v, with φ̈ = J v̇ + J̇ v.

Everything is relative to the last body that both links hang on, so that what lies inside a robot has exact zeros where its base moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from engine import ops
from engine.constraints.kinds import ROWS, Between, Constraint, ConstraintError, Coupling, Distance, Grip, Prescribed
from engine.dynamics.jacobian import above, assemble_columns, move_columns
from engine.dynamics.kinematics import path
from engine.model import Body, Model
from engine.model.combine import WORLD
from engine.spatial import quaternion, se3
from engine.spatial.se3 import ad, twist_to_child

Array = np.ndarray
#: what is remembered of a grip: whether it is closed (1 or 0), and the pose of the second link in the first, quaternion and position
HELD = 8
#: by a grip's name, what is held (8)
Held = Mapping[str, Array]


class Rows(Protocol):
    """A constraint on a model."""

    n: int
    units: list[str]

    def residual(self, q: Array, held: Held) -> Array:
        """Return φ(q) (n)."""

    def jacobian(self, q: Array, held: Held) -> Array:
        """Return J(q) (n, nv)."""

    def bias(self, q: Array, v: Array, held: Held) -> Array:
        """Return J̇ v (n)."""

    def gap(self, q: Array) -> tuple[float, float]:
        """Return how far it is open, in m and in rad."""


class Closure:
    """A constraint of two links, on a model: rows of the pose T_ab of the second's frame in the first's.

    With R and p of T_ab, and V = [ω; v] the twist of b relative to a in b's frame, the six rows and their rates are::

        φ = [−R₂₃, R₁₃, R₂₁; p],   Ṙ = R [ω],   ṗ = R v                          (1)
        φ̈: R̈ = R ([ω̇] + [ω]²),   p̈ = R (v̇ + ω × v)                              (2)
    """

    def __init__(self, model: Model, constraint: Between) -> None:
        self.model, self.constraint = model, constraint
        self.rows = [*constraint.rows]
        self.n, self.units = len(self.rows), ["rad" if k < 3 else "m" for k in self.rows]
        (self.a, T_a), (self.b, T_b) = (carrier(model, link) for link in (constraint.link_a, constraint.link_b))
        if self.a == self.b:
            raise ConstraintError(f"{constraint.title}: the links are welded together already; expected two that move against one another")
        F_a, F_b = constraint.frames()
        self.F_a, self.F_b = T_a @ F_a, T_b @ F_b
        up = ancestors(model, self.a)
        self.top = next(i for i in ancestors(model, self.b) if i in up)

    def frame(self, held: Held, F_a: Array) -> Array:
        """Return the pose of the first frame in the body, or the link, that carries it, in which it is at F_a but for what is held."""
        if not isinstance(self.constraint, Grip):
            return F_a
        given = held[self.constraint.name]
        return F_a @ se3.pose(quaternion.to_matrix(given[1:5]), given[5:])

    def closed(self, held: Held) -> Any:
        """Return 1 where it holds: a grip may be open."""
        return held[self.constraint.name][0] if isinstance(self.constraint, Grip) else 1.0

    def pose(self, q: Array, frame: Array) -> Array:
        """Return T_ab."""
        T_a, T_b = (carried_up(self.model, q, i, T, self.top) for i, T in ((self.a, frame), (self.b, self.F_b)))
        return se3.inv(T_a) @ T_b

    def residual(self, q: Array, held: Held) -> Array:
        return self.closed(held) * self.values(self.pose(q, self.frame(held, self.F_a)))

    def jacobian(self, q: Array, held: Held) -> Array:
        frame = self.frame(held, self.F_a)
        T = self.pose(q, frame)
        relative = {k: -move_columns(T, X_S) for k, _, X_S in above(self.model, q, self.a, frame, self.top)}
        relative |= {k: X_S for k, _, X_S in above(self.model, q, self.b, self.F_b, self.top)}
        G = self.rates(T)
        return self.closed(held) * assemble_columns(self.model, {k: G @ X_S for k, X_S in relative.items()}, self.n)

    def bias(self, q: Array, v: Array, held: Held) -> Array:
        frame = self.frame(held, self.F_a)
        T = self.pose(q, frame)
        (V_a, A_a), (V_b, A_b) = (self.motion(q, v, i, F) for i, F in ((self.a, frame), (self.b, self.F_b)))
        carried = twist_to_child(T, V_a)
        V = V_b - carried
        A = A_b - twist_to_child(T, A_a) + ad(V) @ carried
        return self.closed(held) * (self.rates(T) @ A + self.curvature(T, V))

    def motion(self, q: Array, v: Array, i: int, F: Array) -> tuple[Array, Array]:
        """Return twist and acceleration of a frame relative to the common body, at v̇ = 0: V̇ = Ad(T)⁻¹ V̇_p + ad(V) S v + Ṡ v."""
        V: Any = np.zeros(6)
        A: Any = np.zeros(6)
        for k in reversed(path(self.model, i, self.top)):
            body = self.model.bodies[k]
            T, V_J = body.pose(q), body.subspace(q) @ v[body.v]
            V = twist_to_child(T, V) + V_J
            A = twist_to_child(T, A) + ad(V) @ V_J + body.subspace_rate(q, v) @ v[body.v]
        return twist_to_child(F, V), twist_to_child(F, A)

    def wrenches(self, q: Array, forces: Array, held: Held) -> tuple[Array, Array]:
        """Return what λ (n) exert on the first link and on the second (6), each in its own frame, by φ̇ = G V: [τ; f] = Gᵀ λ in b's."""
        own, theirs = self.constraint.frames()
        T = self.pose(q, self.frame(held, self.F_a))
        F = self.closed(held) * (self.rates(T).T @ forces)
        return se3.wrench_to_parent(self.frame(held, own) @ T, -F), se3.wrench_to_parent(theirs, F)

    def values(self, T: Array) -> Array:
        """Return φ of T_ab."""
        return np.array([-T[1, 2], T[0, 2], T[1, 0], T[0, 3], T[1, 3], T[2, 3]])[self.rows]                 # (1)

    def rates(self, T: Array) -> Array:
        """Return ∂φ̇/∂V (n, 6)."""
        R, o = se3.rotation(T), 0.0
        turns = [[R[1, 1], -R[1, 0], o], [-R[0, 1], R[0, 0], o], [o, -R[1, 2], R[1, 1]]]
        return np.array([[*row, o, o, o] for row in turns] + [[o, o, o, *R[k]] for k in range(3)])[self.rows]

    def curvature(self, T: Array, V: Array) -> Array:
        """Return what of φ̈ is left at V̇ = 0."""
        R, w = se3.rotation(T), V[:3]
        x, z = (ops.cross(w, ops.cross(w, e)) for e in np.eye(3)[[0, 2]])
        return np.array([-(R[1] @ z), R[0] @ z, R[1] @ x, *(R @ ops.cross(w, V[3:]))])[self.rows]           # (2)

    def turned(self, q: Array) -> Any:
        """Return 1 − cos of the angle between what should be in line, which φ does not tell from half a turn."""
        if isinstance(self.constraint, Grip) or 0 not in self.rows:
            return 0.0
        R = se3.rotation(self.pose(q, self.F_a))
        return 1.0 - R[2, 2] if 2 not in self.rows else 0.5 * (3.0 - np.trace(R))

    def gap(self, q: Array) -> tuple[float, float]:
        if isinstance(self.constraint, Grip):
            return 0.0, 0.0
        T = self.pose(q, self.F_a)
        apart = [T[k - 3, 3] for k in self.rows if k > 2]
        if 0 not in self.rows:
            angle = 0.0
        elif 2 in self.rows:
            angle = float(np.linalg.norm(quaternion.log(quaternion.from_matrix(se3.rotation(T)))))
        else:
            angle = float(np.arctan2(np.hypot(T[0, 2], T[1, 2]), T[2, 2]))
        return float(np.linalg.norm(apart)), angle


class Rod(Closure):
    """A distance on a model: φ = (p·p − l²)/(2 l), φ̇ = p·R v/l, φ̈ = (p·R (v̇ + ω × v) + v·v)/l."""

    constraint: Distance

    def turned(self, q: Array) -> Any:
        return 0.0

    def values(self, T: Array) -> Array:
        p, l = se3.position(T), self.constraint.length
        return np.array([(p @ p - l * l) / (2.0 * l)])

    def rates(self, T: Array) -> Array:
        f = se3.rotation(T).T @ se3.position(T) / self.constraint.length
        return np.array([[0.0, 0.0, 0.0, *f]])

    def curvature(self, T: Array, V: Array) -> Array:
        f = se3.rotation(T).T @ se3.position(T)
        return np.array([(f @ ops.cross(V[:3], V[3:]) + V[3:] @ V[3:]) / self.constraint.length])

    def gap(self, q: Array) -> tuple[float, float]:
        return abs(float(np.linalg.norm(se3.position(self.pose(q, self.F_a)))) - self.constraint.length), 0.0


class Gear:
    """A coupling on a model: φ = q₁ − ratio · q₂ − offset."""

    n = 1

    def __init__(self, model: Model, constraint: Coupling) -> None:
        self.constraint, self.nv = constraint, model.nv
        self.first, self.second = (joint(model, constraint.title, name) for name in (constraint.joint1, constraint.joint2))
        self.units = ["m" if self.first.kind.name == "prismatic" else "rad"]
        if not self.jacobian(np.zeros(0), {}).any():
            raise ConstraintError(f"{constraint.title}: '{constraint.joint1}' follows '{constraint.joint2}' already; expected others")

    def residual(self, q: Array, held: Held) -> Array:
        return self.first.coordinates(q) - self.constraint.ratio * self.second.coordinates(q) - self.constraint.offset

    def jacobian(self, q: Array, held: Held) -> Array:
        J = np.zeros((1, self.nv))
        J[:, self.first.v] += self.first.ratio
        J[:, self.second.v] -= self.constraint.ratio * self.second.ratio
        return J

    def bias(self, q: Array, v: Array, held: Held) -> Array:
        return np.zeros(1)

    def gap(self, q: Array) -> tuple[float, float]:
        open_by = abs(float(self.residual(q, {})[0]))
        return (open_by, 0.0) if self.units == ["m"] else (0.0, open_by)


class Led:
    """A prescribed motion x(t) of a joint on a model: φ = q − x, φ̇ = v − ẋ, φ̈ = v̇ − ẍ.

    What is held of it at a time, as ``key``, is x, ẋ, ẍ (3); where that is not, its place and velocity are what they are.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Led
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
    >>> led = Led(builder.model(), engine.Prescribed("rail", lambda t: 0.1 * t))
    >>> led.residual(np.array([0.5]), {led.key: np.array([0.2, 0.1, 0.0])}).round(9)  # m: at 2 s it is 0.3 m ahead
    array([0.3])
    """

    n = 1

    def __init__(self, model: Model, constraint: Prescribed) -> None:
        self.constraint, self.nv, self.key = constraint, model.nv, f"{constraint.title} now"
        self.body = joint(model, constraint.title, constraint.joint)
        self.units = ["m" if self.body.kind.name == "prismatic" else "rad"]

    def residual(self, q: Array, held: Held) -> Array:
        return self.body.coordinates(q) - held[self.key][:1] if self.key in held else np.zeros(1)

    def jacobian(self, q: Array, held: Held) -> Array:
        J = np.zeros((1, self.nv))
        J[:, self.body.v] = self.body.ratio
        return J

    def bias(self, q: Array, v: Array, held: Held) -> Array:
        return -held[self.key][2:3] if self.key in held else np.zeros(1)

    def rate(self, v: Array, held: Held) -> Array:
        """Return φ̇ (1)."""
        return self.body.ratio * v[self.body.v] - held[self.key][1:2] if self.key in held else np.zeros(1)

    def led(self, q: Array, v: Array, held: Held) -> None:
        """Put the joint into q (nq) and v (nv) as it is told."""
        x, rate, _ = held[self.key]
        q[self.body.q], v[self.body.v] = (x - self.body.offset) / self.body.ratio, rate / self.body.ratio

    def gap(self, q: Array) -> tuple[float, float]:
        return 0.0, 0.0


class Loops:
    """All constraints of a model, stacked: φ, J and J̇ v one below the other.

    Attributes
    ----------
    n : number of rows; labels, units : a name for each, and whether it is in m or rad
    parts : the constraints on the model, and their slices of the rows
    grips : the names of those that close and open; led : what moves as told

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> loops.n, loops.residual(np.array([0.1, 0.3]), {}).round(9), loops.jacobian(np.zeros(2), {})
    (1, array([0.2]), array([[-1.,  1.]]))
    """

    def __init__(self, model: Model, constraints: Sequence[Constraint]) -> None:
        self.model, self.constraints = model, tuple(constraints)
        self.parts: list[tuple[Rows, slice]] = []
        self.grips: dict[str, Closure] = {}
        self.led: list[Led] = []
        self.n, labels, self.units = 0, list[str](), list[str]()
        for c in self.constraints:
            if not isinstance(c, (Between, Coupling, Prescribed)):
                raise ConstraintError(f"a constraint is {c!r}; expected engine.Hinge, Ball, Weld, Distance, Slider, Coupling, Prescribed "
                                      "or Grip")  # fmt: skip
            rows = constraint_rows(model, c)
            self.parts.append((rows, slice(self.n, self.n + rows.n)))
            self.n += rows.n
            self.units += rows.units
            labels += [c.title] if isinstance(c, (Coupling, Distance, Prescribed)) else [f"{c.title}.{ROWS[k]}" for k in c.rows]
            if isinstance(c, Grip):
                if c.name in self.grips:
                    raise ConstraintError(f"two grips are named '{c.name}'; expected unique names, by which they are commanded")
                self.grips[c.name] = rows  # type: ignore[assignment]
            if isinstance(rows, Led):
                if rows.body in (led.body for led in self.led):
                    raise ConstraintError(f"{c.title}: the joint's motion is prescribed already; expected it once")
                self.led.append(rows)
        self.labels = tuple(labels)

    def residual(self, q: Array, held: Held) -> Array:
        """Return φ(q) (n), in m and, of directions, in rad to first order; zero for what is open on purpose."""
        return np.concatenate([np.zeros(0), *(part.residual(q, held) for part, _ in self.parts)])

    def jacobian(self, q: Array, held: Held) -> Array:
        """Return J(q) (n, nv), φ̇ = J v."""
        return np.concatenate([np.zeros((0, self.model.nv)), *(part.jacobian(q, held) for part, _ in self.parts)])

    def wrenches(self, q: Array, forces: Array, held: Held) -> Array:
        """Return the wrenches (nlinks, 6) that λ (n) exert on links, in their frames: those at joints are between a link and what carries
        it, and none of these."""
        found: dict[str, Any] = {link.name: np.zeros(6) for link in self.model.links}
        for part, own in self.parts:
            if isinstance(part, Closure):
                links = part.constraint.link_a, part.constraint.link_b
                for link, F in zip(links, part.wrenches(q, forces[own], held), strict=True):
                    found[link] = found.get(link, 0.0) + F                     # the world's too, which nobody asks for
        return np.array([found[link.name] for link in self.model.links])

    def rate(self, J: Array, v: Array, held: Held) -> Array:
        """Return φ̇ (n): J v, but for what is prescribed."""
        moves = J @ v
        if not self.led:
            return moves
        parts = (part.rate(v, held) if isinstance(part, Led) else moves[own] for part, own in self.parts)
        return np.concatenate([*parts])

    def bias(self, q: Array, v: Array, held: Held) -> Array:
        """Return φ̈ (n) at v̇ = 0: J̇ v, but for what is prescribed."""
        return np.concatenate([np.zeros(0), *(part.bias(q, v, held) for part, _ in self.parts)])

    def turned(self, q: Array) -> Any:
        """Return the largest 1 − cos of an angle between what should be in line."""
        return ops.largest([part.turned(q) for part, _ in self.parts if isinstance(part, Closure)])

    def open(self) -> dict[str, Array]:
        """Return what is held of grips that are open."""
        return {name: np.array([0.0, 1.0, 0, 0, 0, 0, 0, 0]) for name in self.grips}

    def closing(self, q: Array) -> dict[str, Array]:
        """Return what is held of grips that close at q: quaternion and position of the second link in the first."""
        poses = {name: grip.pose(q, grip.F_a) for name, grip in self.grips.items()}
        return {n: np.concatenate([[1.0], quaternion.from_matrix(se3.rotation(T)), se3.position(T)]) for n, T in poses.items()}

    def moved(self) -> set[int]:
        """Return the bodies whose joints move a constraint."""
        found = set[int]()
        for (a, b), (part, _) in zip(self.joined(), self.parts, strict=True):
            found |= {*path(self.model, a, part.top), *path(self.model, b, part.top)} if isinstance(part, Closure) else {a, b}
        return found

    def movable(self, led: bool) -> list[int]:
        """Return the roots of floating trees that constraints join to one another, or to what stands; where one tree ``led`` the others,
        without that: the one of the first constraint's first link, unless something stands."""
        root = {i: tree[0] if self.model.bodies[tree[0]].kind.floats else -1 for tree in self.model.trees for i in tree}
        pairs = [(root.get(a, -1), root.get(b, -1)) for a, b in self.joined()]
        leader = {r: r for pair in pairs for r in (-1, *pair)}
        for a, b in pairs:
            first, second = leader[a], leader[b]
            leader = {r: (-1 if second == -1 else first) if by in (first, second) else by for r, by in leader.items()}
        among = {r for a, b in pairs for r in (a, b) if a != b} - {-1}
        return sorted(r for r in among if not led or leader[r] != r)

    def joined(self, grips: bool = True) -> list[tuple[int, int]]:
        """Return, of each constraint, with or without grips, the bodies that it joins; −1 is the world."""
        bodies, without = self.model.bodies, () if grips else self.grips.values()
        ends = {id(part): (part.a, part.b) if isinstance(part, Closure) else (bodies.index(part.first), bodies.index(part.second))
                if isinstance(part, Gear) else (bodies.index(part.body),) * 2
                for part, _ in self.parts if isinstance(part, (Gear, Closure, Led)) and part not in without}  # fmt: skip
        return [*ends.values()]


def constraint_rows(model: Model, c: Constraint) -> Rows:
    """Return a constraint on a model."""
    if isinstance(c, Prescribed):
        return Led(model, c)
    return Gear(model, c) if isinstance(c, Coupling) else (Rod if isinstance(c, Distance) else Closure)(model, c)


def carrier(model: Model, link: str) -> tuple[int, Array]:
    """Return the body that carries a link, and the link's pose in it; "world" is the fixed frame, unless a link has that name."""
    if link == WORLD and all(link != known.name for known in model.links):
        return -1, np.eye(4)
    return model.carrier[model.link_index(link)]


def joint(model: Model, title: str, name: str) -> Body:
    """Return the body of a joint with one coordinate."""
    found = model.joint(name)
    body = next((b for b in model.bodies if b.joint is found), None)
    if body is None or body.kind.nv != 1:
        raise ConstraintError(f"{title}: joint '{name}' is {found.kind}; expected a joint with one coordinate")
    return body


def ancestors(model: Model, i: int) -> list[int]:
    """Return a body and all above it, up to the world."""
    return [*path(model, i), -1]


def carried_up(model: Model, q: Array, i: int, T: Array, top: int) -> Array:
    """Return the pose of a frame in the body ``top`` above it, from that in body i."""
    for k in path(model, i, top):
        T = model.bodies[k].pose(q) @ T
    return T
