"""Dry friction, stops and speed limits of joints as impulses over a step h, each a function of one velocity u after it.

A force that acts all the step is evaluated between its middle and its end: in the middle where the step resolves it, which is of second
order, towards the end where it is stiffer than the step, which damps it. The weight is σ = κ/(1 + κ), with κ = h² k w of a spring k,
where w is the velocity that a unit impulse leaves, and κ = (h/T)² of what decays in a time T.

The same as forces in flight: :mod:`engine.components.forces`. These impulses act at stops that are stiff for the step, in dry friction,
and where ``joint_dynamics`` is "implicit": :func:`engine.components.joint_dynamics.plan_joint_dynamics` decides.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import EVENLY, lasts, normal_impulse, weight
from engine.contact.limited_forces import LimitedForces
from engine.contact.mobility import changes_inertia, inverse_diagonal
from engine.dynamics.crba import crba
from engine.model import Model, many_equal_trees
from engine.model.equal_trees import FEW

Array = np.ndarray
#: what a joint loses, by a parameter's name
LOSSES = "damping", "friction"
#: the time in which a speed beyond its limit decays, s
SPEED_DECAY = 5e-3
NONE: frozenset[str] = frozenset()
#: configurations, within the joints' limits, that are looked at besides the neutral one
SOME = 16
#: what was found of models
MOBILITIES: weakref.WeakKeyDictionary[Model, tuple[Array, Array]] = weakref.WeakKeyDictionary()


class JointCoordinate(NamedTuple):
    """A coordinate of a joint, with its losses, its limits and its mobility: x = ratio · q[i] + offset, u = ratio · v[j].

    Attributes
    ----------
    damping, friction : N·m·s/rad and N·m (N·s/m and N)
    low, high, speed, effort : limits of x, u and what drives it, infinite where there are none
    mobility : w, the velocity that a unit impulse leaves it with, at the neutral configuration
    max_mobility : the largest of w in some configurations: near postures in which axes are in line, it is a hundred times as large

    >>> import engine
    >>> from engine.contact import joint_coordinates
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0], friction=3.0)
    >>> found = joint_coordinates(builder.model())[0]
    >>> found.friction, found.mobility  # N, and 1/kg
    (3.0, 0.5)
    """

    joint: str
    i: int
    j: int
    ratio: float
    offset: float
    damping: float
    friction: float
    low: float
    high: float
    speed: float
    effort: float
    mobility: Any
    max_mobility: Any

    @property
    def acts(self) -> bool:
        """True if a law ever acts on the coordinate."""
        return bool(self.damping or self.friction or np.isfinite([self.low, self.high, self.speed]).any())

    @property
    def has_friction(self) -> bool:
        """True if dry friction may be nonzero, as that of a traced parameter may."""
        return ops.graph_of(self.friction) is not None or bool(self.friction)

    def velocity(self, v: Array) -> Any:
        """Return its velocity u, rad/s or m/s, of the model's v (nv)."""
        return self.ratio * v[self.j]


def joint_coordinates(model: Model, varied: Container[str] = ()) -> list[JointCoordinate]:
    """Return the coordinates of joints that rub or end somewhere, or whose losses are ``varied`` parameters ("damping.JOINT",
    "friction.JOINT"), mimic joints' own ones among them.

    Those of attitudes have no limits; a joint's damping and friction are for each of its velocities; a speed limit of zero is none.

    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("block", inertia=inertia.sphere(2.0, 0.1))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "block", friction=3.0)
    >>> [(c.joint, c.friction, c.mobility) for c in joint_coordinates(arm.model())]
    [('slide', 3.0, 0.5)]
    """
    found = []
    for b in model.bodies:
        limits, flat = b.joint.limits, b.kind.manifold.flat
        varies = any(f"{loss}.{b.joint.name}" in varied for loss in LOSSES)
        for k in range(b.kind.nv):
            low, high = (limits.lower, limits.upper) if flat else (-np.inf, np.inf)
            speed = limits.velocity if limits.velocity > 0.0 else np.inf
            effort = limits.effort if limits.effort > 0.0 else np.inf
            c = JointCoordinate(b.joint.name, b.q.start + k, b.v.start + k, b.ratio, b.offset, b.joint.damping, b.joint.friction,
                                low, high, speed, effort, 0.0, 0.0)  # fmt: skip
            found += [c] if c.acts or varies else []
    if not found:
        return []
    w, most = mobilities(model)
    found = [c._replace(mobility=c.ratio**2 * float(w[c.j]), max_mobility=c.ratio**2 * float(most[c.j])) for c in found]
    return [c for c in found if c.mobility > 0.0]


def mobilities(model: Model) -> tuple[Array, Array]:
    """Return diag M⁻¹ (nv) at the neutral configuration, and the largest entries in some configurations: of many trees one after another,
    and once of equal ones that are many, or whose joints have equal names in robots of their own."""
    if model in MOBILITIES:
        return MOBILITIES[model]
    if kinds := many_equal_trees(model, 1):
        found = np.zeros((2, model.nv))
        for kind in kinds:
            once = len(kind.names) > FEW or len({tuple(map(own_name, joints)) for joints in kind.joints}) == 1
            each = [kind.first.model] if once and not kind.numbers else [model.tree(name).model for name in kind.names]
            found[:, kind.v] = np.moveaxis(np.array([mobilities(tree) for tree in each]), 0, 1)
    else:
        some = [model.neutral(), *configurations(model, SOME)]
        every = np.array([np.abs(np.diag(np.linalg.pinv(crba(model, q), hermitian=True))) for q in some])
        found = np.array([every[0], every.max(axis=0)])
    MOBILITIES[model] = found[0], found[1]
    return MOBILITIES[model]


def configurations(model: Model, n: int) -> list[Array]:
    """Return n configurations (nq) within the joints' limits, each joint's coordinates drawn by its name, without that of the robot before
    it: they are the same in any order of declarations, whatever other trees there are, and of a robot among others as of it alone.

    >>> import engine
    >>> from engine.contact import configurations
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> [q.shape for q in configurations(arm, 2)]
    [(7,), (7,)]
    """
    found = [model.neutral() for _ in range(n)]
    for b in (b for b in model.bodies if b.kind.nq and b.joint.mimic is None):
        rng = np.random.default_rng([*own_name(b.joint.name).encode()])
        for q in found:
            q[b.q] = b.kind.random(b.joint, rng)
    return [model.within_limits(q) for q in found]


def own_name(joint: str) -> str:
    """Return a joint's name without that of the robot before it.

    >>> own_name("left/elbow"), own_name("elbow")
    ('elbow', 'elbow')
    """
    robot, _, own = joint.partition("/")
    return own or robot


def with_mobilities(model: Model, coordinates: list[JointCoordinate], values: Iterable[str]) -> list[JointCoordinate]:
    """Return the coordinates with the mobilities of a model in which parameters of those names stand: the largest are in proportion.

    >>> import engine
    >>> from engine.contact import joint_coordinates, with_mobilities
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0], friction=3.0)
    >>> heavier = builder.model().with_parameters({"mass.cart": 4.0})
    >>> with_mobilities(heavier, joint_coordinates(builder.model()), ["mass.cart"])[0].mobility  # 1/kg
    np.float64(0.25)
    """
    if not changes_inertia(values):
        return coordinates
    inverse = inverse_diagonal(model)
    found = [c.ratio**2 * inverse[c.j] for c in coordinates]
    return [c._replace(mobility=w, max_mobility=w * (c.max_mobility / c.mobility)) for c, w in zip(coordinates, found, strict=True)]


class JointStep(NamedTuple):
    """The laws of one joint coordinate in a step of h: numbers that hold during the step, impulses γ(u) and slopes −∂γ/∂u at u after it."""

    coordinate: JointCoordinate
    h: Any
    slow: float                                                 # the speed that counts as rest, below which friction is in proportion to it
    before: Any                                                 # u before the step
    free: Any                                                   # u after flight
    x: Any                                                      # x after flight
    stiffness: float
    dissipation: float
    way: float                                                  # how far impulses move it within the step: c of normal_impulse

    def dry(self, u: Any) -> tuple[Any, Any]:
        """Coulomb's γ = −h f u/max(|u|, s), with the speed s that counts as rest."""
        return self.dry_on(u, self.piece(u))

    def piece(self, u: Any) -> Any:
        """Return on which piece of dry friction u is: −1 and 1 where it slides, 0 where it rests."""
        most = ops.where(ops.less(0.0, self.coordinate.friction), self.slow, np.inf)
        return ops.where(u > most, 1.0, ops.where(u < -most, -1.0, 0.0))

    def dry_on(self, u: Any, piece: Any) -> tuple[Any, Any]:
        """Return :meth:`dry` at u, if it goes on as it is on a piece."""
        f, s = self.h * self.coordinate.friction, self.slow
        rests = ops.equal(piece, 0.0)
        return ops.where(rests, -f * u / s, -f * piece), ops.where(rests, f / s, 0.0)

    def stop(self, u: Any, end: float, into: float) -> tuple[Any, Any]:
        """A spring at an end of the range; ``into`` is the sign of a velocity that goes deeper."""
        k, s = self.stiffness, weight(self.h * self.h * self.stiffness * self.coordinate.max_mobility)
        gap = -into * (self.x - end)
        push, slope = normal_impulse(k, self.dissipation, self.h, s, self.way, gap, -into * self.before, -into * self.free, -into * u)
        return -into * push, slope

    def lasting_stop(self, u: Any, end: float, into: float) -> Any:
        """The part of a stop's impulse that lasts: zero where it is left within the next step."""
        gap = -into * (self.x - end)
        return ops.where(lasts(self.h, self.way, gap, -into * self.free, -into * u), 1.0, 0.0) * self.stop(u, end, into)[0]

    def speed_limit(self, u: Any) -> tuple[Any, Any]:
        """γ = −h c (u − u_max) beyond a speed limit: what is beyond decays in about the time 1/(c w)."""
        c, h, most = 1.0 / (self.coordinate.mobility * SPEED_DECAY), self.h, self.coordinate.speed
        s = weight((h / SPEED_DECAY) ** 2)
        mean = 0.5 * ((1.0 - s) * self.before + (1.0 + s) * u)
        over = ops.maximum(mean - most, 0.0) + ops.minimum(mean + most, 0.0)
        return -h * c * over, ops.where(abs(mean) > most, 0.5 * h * c * (1.0 + s), 0.0)

    def lasting(self, u: Any) -> Any:
        """Return the part of the impulse γ that is expected to act in the next step too."""
        ends = [(self.coordinate.low, -1.0), (self.coordinate.high, 1.0)]
        steady = sum(law(u)[0] for name, law in self.laws if name != "stop")
        return steady + sum(self.lasting_stop(u, end, into) for end, into in ends if np.isfinite(end))

    @property
    def laws(self) -> list[tuple[str, Callable[[Any], tuple[Any, Any]]]]:
        """Laws that act: their names, and γ and −∂γ/∂u as functions of u."""
        c = self.coordinate
        given = [("friction", self.dry, c.has_friction), ("speed limit", self.speed_limit, np.isfinite(c.speed)),
                 ("stop", lambda u: self.stop(u, c.low, -1.0), np.isfinite(c.low)),
                 ("stop", lambda u: self.stop(u, c.high, 1.0), np.isfinite(c.high))]  # fmt: skip
        return [(name, law) for name, law, acts in given if acts]

    def impulse(self, u: Any) -> tuple[Any, Any]:
        """Return γ and −∂γ/∂u."""
        given = [law(u) for _, law in self.laws]
        return sum(g for g, _ in given), sum(s for _, s in given)


class JointLaws:
    """The impulse laws of some joint coordinates: dry friction, stops and speed limits.

    Parameters
    ----------
    slow : the speed, rad/s or m/s, that counts as rest
    stiffness : of a coordinate's stops, N·m/rad (N/m)
    dissipation : of a stop, s/rad (s/m)
    varied : names of parameters that count instead of the joints' own friction, "friction.JOINT"

    A block of 2 kg on which 3 N rub loses 3 mm/s in a millisecond:

    >>> slide = JointCoordinate("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5, 0.5)
    >>> law = JointLaws([slide], 1e-5, lambda c: 0.0, 0.0).step(1e-3, np.ones(1), np.zeros(1), np.ones(1))
    >>> law.impulse(np.ones(1), law.friction)[0].round(9)
    array([-0.003])
    """

    def __init__(self, coordinates: list[JointCoordinate], slow: float, stiffness: Callable[[JointCoordinate], Any], dissipation: float,
                 varied: frozenset[str] = NONE) -> None:  # fmt: skip
        self.coordinates, self.slow, self.stiffness, self.dissipation, self.varied = coordinates, slow, stiffness, dissipation, varied

    def of(self, model: Model, values: Mapping[str, Any]) -> JointLaws:
        """Return the laws of a model with other numbers, with parameters in place of the joints' friction."""
        found = [c._replace(friction=values[name]) if (name := f"friction.{c.joint}") in self.varied and name in values else c
                 for c in with_mobilities(model, self.coordinates, values)]  # fmt: skip
        return JointLaws(found, self.slow, self.stiffness, self.dissipation, self.varied)

    def step(self, h: Any, before: Array, q: Array, free: Array, way: float = EVENLY,
             limited: LimitedForces | None = None) -> JointStepLaws:  # fmt: skip
        """Return the laws of a step of h from the velocity ``before`` (nv), whose flight ends at q (nq) and ``free`` (nv), and in which
        impulses go so far of their ``way`` (c of :func:`~engine.contact.hunt_crossley.normal_impulse`); and those of ``limited`` forces."""
        joints = [JointStep(c, h, self.slow, c.velocity(before), c.velocity(free), c.ratio * q[c.i] + c.offset, self.stiffness(c),
                            self.dissipation, way) for c in self.coordinates]  # fmt: skip
        return JointStepLaws(joints, self.slow, free, limited)


class JointStepLaws:
    """The laws of all joints in a step whose flight ends at v = ``free`` (nv), and those of stiff forces that are ``limited``: a
    :class:`~engine.contact.newton.Law`."""

    def __init__(self, joints: list[JointStep], slow: float, free: Array, limited: LimitedForces | None = None) -> None:
        self.joints, self.slow, self.nv, self.free, self.limited = joints, slow, len(free), free, limited

    @property
    def acts(self) -> Any:
        """True if there is an impulse at the velocity after flight."""
        held = self.limited
        limited = [held.impulse(j, self.free[j])[0] for j in held.rows] if held else []
        return ops.largest(np.array([*(joint.impulse(joint.free)[0] for joint in self.joints), *limited])) > 0.0

    @property
    def with_friction(self) -> list[JointStep]:
        """Laws of the joint coordinates that have dry friction."""
        return [joint for joint in self.joints if joint.coordinate.has_friction]

    def pieces(self, v: Array) -> Array:
        """Return on which piece of its dry friction each of :attr:`with_friction` is at v (nv)."""
        return ops.array([joint.piece(joint.coordinate.velocity(v)) for joint in self.with_friction])

    def dry(self, v: Array, pieces: Array) -> tuple[Array, Array]:
        """Return the impulses (nv) of dry friction, and their slopes (nv), on such pieces."""
        total, slopes = [0.0] * self.nv, [0.0] * self.nv
        for joint, piece in zip(self.with_friction, pieces, strict=True):
            c = joint.coordinate
            g, slope = joint.dry_on(c.velocity(v), piece)
            total[c.j], slopes[c.j] = total[c.j] + c.ratio * g, slopes[c.j] + c.ratio * c.ratio * slope
        return ops.array(total), ops.array(slopes)

    friction = np.zeros(0)                                      # that of joints does not lag

    def lagged(self, v: Array, friction: Array, falls: Any = None) -> tuple[Array, Any]:
        """Return friction as it is: laws of joints have none that lags behind the iteration."""
        return friction, True

    def acting(self, v: Array, friction: Array) -> list[tuple[float, str]]:
        """Return the impulses at v (nv) that are not zero, and their names."""
        found = [(abs(float(law(joint.coordinate.velocity(v))[0])), f"the {name} of joint '{joint.coordinate.joint}'")
                 for joint in self.joints for name, law in joint.laws]  # fmt: skip
        return [(size, name) for size, name in found if size]

    @property
    def dual(self) -> Array:
        """No dual: see :meth:`engine.contact.many.jointed.JointedProblem.dual_after`."""
        return np.zeros(0)

    def dual_after(self, v: Array, d: Array, friction: Array, dual: Array) -> Array:
        """Return no dual, as it is."""
        return dual

    def impulse(self, v: Array, friction: Array, dual: Any = None) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv), diagonal."""
        total, slopes = [0.0] * self.nv, [0.0] * self.nv
        for joint in self.joints:
            c = joint.coordinate
            g, slope = joint.impulse(c.velocity(v))
            total[c.j], slopes[c.j] = total[c.j] + c.ratio * g, slopes[c.j] + c.ratio * c.ratio * slope
        if self.limited is not None:
            for j in self.limited.rows:
                g, slope = self.limited.impulse(j, v[j])
                total[j], slopes[j] = total[j] + g, slopes[j] + slope
        return ops.array(total), np.diag(ops.array(slopes))

    def along(self, v: Array, d: Array, friction: Array) -> Callable[[Any], Array]:
        """Return the function of α that gives the slope (2) of ℓ at v + α d along d (nv), and how that changes."""

        def at(a: Any) -> Array:
            impulse, G = self.impulse(v + a * d, friction)
            return ops.array([-(impulse @ d), (np.diag(G) * d) @ d])

        return at

    def lasting(self, v: Array) -> Array:
        """Return the part of the impulses (nv) that is expected to act in the next step too."""
        total = [0.0] * self.nv
        for joint in self.joints:
            c = joint.coordinate
            total[c.j] = total[c.j] + c.ratio * joint.lasting(c.velocity(v))
        return ops.array(total)

    @property
    def names(self) -> dict[str, None]:
        """Names of the laws that there are: "friction", with damping and speed limits, and "stops"."""
        return dict.fromkeys("stops" if name == "stop" else "friction" for joint in self.joints for name, _ in joint.laws)

    def parts(self, v: Array) -> dict[str, Array]:
        """Return the impulses (nv) of what there is of "friction" and "stops"."""
        found: dict[str, list[Any]] = {name: [0.0] * self.nv for name in self.names}
        for joint in self.joints:
            c = joint.coordinate
            for name, law in joint.laws:
                total = found["stops" if name == "stop" else "friction"]
                total[c.j] = total[c.j] + c.ratio * law(c.velocity(v))[0]
        return {name: ops.array(total) for name, total in found.items()}
