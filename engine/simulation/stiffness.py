"""What is stiff: how forces in flight change with the position and the velocity of joints, and whether steps resolve that.

With K = −∂τ/∂q and D = −∂τ/∂v of the forces of components (dampers, springs, servos, controllers, forces of the user's), differentiated at
the beginning of a step, the stiff part of the motion is::

    J = [[0, 1], [−M⁻¹ K, −M⁻¹ D]],   (1 − s J) (k_q, k_v) = (a, b)
    ⇔   (M + s D + s² K) (k_v − b) = −s (K (a + s b) + D b),   k_q = a + s k_v                              (1)

which a linearly implicit method solves at every stage (:mod:`engine.integrate.rosenbrock`). Where constraints hold, among the k_v with
J_c (k_v − b) = 0. What acts by impulses after the flight meets the same forces: M + h (D + h K) stands in place of M there.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import dynamics, ops
from engine.checks import warn
from engine.compiler.autodiff import sparsity
from engine.compiler.interp import interpret
from engine.compiler.program import Program, result
from engine.compiler.trace import calling, trace
from engine.constraints import Schur
from engine.integrate import ROS34PW2, FreeBody, Method, Stiff
from engine.integrate.rosenbrock import W3
from engine.model import Model
from engine.simulation.actuators import Drive
from engine.simulation.component import Component, SimulationWarning
from engine.simulation.joint_dynamics import listed
from engine.simulation.law import Ticking
from engine.simulation.layout import Layout
from engine.simulation.steep_places import FIRST, LINES, ORDINARY, bent, followed, lines

Array = np.ndarray
#: of h |λ|, with the fastest rate λ of what acts: as much as explicit methods follow well
RESOLVED = 1.0
#: of that: components that alone are slower are left to the explicit part
PART = 0.1
#: of h |λ|: oscillations that are faster lose a tenth of their amplitude in a period, and of |λ|: those that are light die out by no more
FOLLOWED, LIGHT = 1.0, 0.2
#: configurations, within the joints' limits, that are looked at besides the neutral one
SOME = 4
#: times the rate of a law in other places, so that a place of its own counts
STEEPER = 4.0
#: of the largest slope: as far as K and D may be from symmetric, or from the same elsewhere, by rounding
SYMMETRIC = 1e-9
NONE = np.zeros(0)
#: γ of the method's diagonal
GAMMA = W3.diagonal
#: what was found of models
SAMPLES: weakref.WeakKeyDictionary[Model, tuple[list[Array], list[Array]]] = weakref.WeakKeyDictionary()


class Slopes(NamedTuple):
    """K and D (nv, nv), and ∂τ/∂t (nv)."""

    K: Array
    D: Array
    rate: Array


class Stiffness:
    """The derivatives of some components' forces.

    Beside constraints, and in what impulses meet, slopes that are not symmetric count by their diagonal.

    Parameters
    ----------
    names : of the components
    moving : the velocities (a few of nv) by which, and whose forces, are differentiated
    symmetric : whether K and D are
    narrow : whether forces are steep in narrow places, into which a step may lead
    words : why they are stiff
    """

    def __init__(self, plant: Any, names: frozenset[str], moving: Array, symmetric: bool, narrow: bool, words: str) -> None:
        self.plant, self.names, self.moving, self.symmetric, self.narrow, self.words = plant, names, moving, symmetric, narrow, words
        self.there = np.ones((len(moving), 2 * len(moving) + 1), dtype=bool)   # where slopes are not zero by structure
        self.derivatives: Callable[..., Array] = self.differentiated
        self.inertia: Callable[..., Array] = self.joint_space_inertia
        self.begun: Callable[..., tuple[Array, ...]] = self.factored
        self.kinds = {type(c).__name__ for c in plant.components if c.name in names}
        self.bounds = Layout({c.name: (c.bounds,) for c in plant.components if c.name in names and c.bounds})

    def compile(self) -> None:
        """Make functions in the machine code of the derivatives, of M, and of what a flight begins with; find where slopes are zero by
        structure."""
        plant, model, n = self.plant, self.plant.model, self.there.shape[1]
        shapes = [(), (model.nq,), (model.nv,), (plant.flown,), (plant.memories.n,), (plant.parameters.n,), (self.bounds.n,), ()]
        program = trace(self.differentiated, [*shapes[:-1], (n,)])
        (self.there,), self.derivatives = sparsity(program), calling(program, self.differentiated)
        self.inertia = calling(trace(self.joint_space_inertia, [shapes[1], shapes[5]]), self.joint_space_inertia)
        self.begun = calling(trace(self.factored, shapes), self.factored)

    def differentiated(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array, d: Array) -> Array:
        """Return ∂τ/∂(q, v, t) of the components' forces (a few, twice as many and 1), at d = 0."""

        def total(d: Array) -> Array:
            found = forces(self.plant, self.names, self.moving, t, q, v, z, m, p, d, self.bounds.split(modes))
            return sum(found.values(), np.zeros(len(v)))[self.moving]

        return ops.jacobian(total, d)

    def at(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array = NONE) -> Slopes:
        """Return the slopes at the beginning of a step, of limited forces with their modes (see :meth:`Context.bounded`)."""
        J, n, nv, own = self.derivatives(t, q, v, z, m, p, modes, np.zeros(self.there.shape[1])), len(self.moving), len(v), self.moving
        K, D, rate = np.zeros((nv, nv), dtype=J.dtype), np.zeros((nv, nv), dtype=J.dtype), np.zeros(nv, dtype=J.dtype)
        K[...], D[...], rate[...] = 0.0, 0.0, 0.0
        K[np.ix_(own, own)], D[np.ix_(own, own)], rate[own] = 0.0 - J[:, :n], 0.0 - J[:, n:-1], J[:, -1]
        return Slopes(K, D, rate)

    # ------------------------------------------------------------ in flight

    def joint_space_inertia(self, q: Array, p: Array) -> Array:
        """Return M (nv, nv)."""
        return dynamics.crba(self.plant.model_at(p), q)

    @property
    def factor(self) -> type[ops.LDL] | type[ops.LU]:
        """How M + s (D + s K) is factored: beside constraints by what is symmetric."""
        return ops.LDL if self.symmetric or self.plant.constraints is not None else ops.LU

    def factored(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array, s: Any) -> tuple[Array, ...]:
        """Return K, D, ∂τ/∂t and M + s (D + s K) factored, numbered from the leaves on, where a tree's zeros stay."""
        (K, D, rate), M = self.at(t, q, v, z, m, p, modes), self.inertia(q, p)
        if self.narrow:
            K, D = self.ahead(M, K, D, s, self.at(t, self.plant.model.manifold.plus(q, s / GAMMA * v), v, z, m, p, modes))
        if self.factor is ops.LDL and not self.symmetric:
            K, D = own_part(K), own_part(D)
        A = M + s * (D + s * K)
        return K, D, rate, *self.factor(A[::-1, ::-1]).numbers

    def ahead(self, M: Array, K: Array, D: Array, s: Any, there: Slopes) -> tuple[Array, Array]:
        """Return K and D, or those where the velocity leads to in a step, whichever are steeper: a wall is met by what it is inside."""
        here, then = (np.diag(X) @ (1.0 / np.diag(M)) for X in (D + s * K, there.D + s * there.K))
        steeper = ops.less(here, then)
        return ops.where(steeper, there.K, K), ops.where(steeper, there.D, D)

    def stiff(self, begun: Callable[[Any, Array, Any], tuple[Array, ...]], constraints: Callable[[Array], Array] | None) -> Stiff:
        """Return what a linearly implicit method asks of the system x = (q, v, z): ``begun(t, x, s)`` is :meth:`factored`, and the Jacobian
        of what constraints hold, if there are any."""
        nq, nv = self.plant.model.nq, self.plant.model.nv

        def stiff(t: Any, x: Array, s: Any) -> Callable[[Array, Any], Array]:
            K, D, rate, *numbers = begun(t, x, s)
            A = self.factor.of(*numbers)
            loops = Schur(A, constraints(x[:nq])) if isinstance(A, ops.LDL) and constraints is not None else None

            @ops.subroutine
            def changed(a: Array, b: Array, w: Any) -> Array:
                f = w * rate - s * (K @ (a + s * b) + D @ b)
                return A.solve(f[::-1])[::-1] if loops is None else loops.accelerations(f, np.zeros(len(loops.J)))[0]  # (1)

            def solved(r: Array, w: Any) -> Array:
                a, b = r[:nv], r[nv : 2 * nv]
                k = b + changed(a, b, w)
                return np.concatenate([a + s * k, k, r[2 * nv :]])

            return solved

        return stiff

    # ------------------------------------------------------------ after it

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Where what impulses meet of h (D + h K) is not zero by structure."""
        n, own = len(self.moving), self.moving.tolist()
        there = self.there[:, :n] | self.there[:, n:-1]
        there = there if self.symmetric else np.diag(np.diag(there))
        return [(own[a], own[b]) for a, b in np.argwhere(np.triu(there | there.T))]

    def resistance(self, h: Any, slopes: Slopes) -> Array:
        """Return the entries of h (D + h K); where that is not symmetric, of what each velocity resists to itself."""
        K, D = (slopes.K, slopes.D) if self.symmetric else (own_part(slopes.K), own_part(slopes.D))
        R = h * (D + h * K)
        return ops.array([0.5 * (R[i, j] + R[j, i]) for i, j in self.entries])

    def met(self, q: Array, p: Array, resistance: Array) -> Array:
        """Return M at q with the entries of h (D + h K): the inertia that impulses meet."""
        M = self.inertia(q, p)
        A = np.array(M, dtype=object if ops.graph_of(M, resistance) is not None else float)
        for (i, j), x in zip(self.entries, resistance, strict=True):
            A[i, j] = A[i, j] + x
            A[j, i] = A[i, j]
        return A


def own_part(X: Array) -> Array:
    """Return the diagonal of slopes, as far as it resists: what a problem that is convex takes of those that are not symmetric."""
    return np.diag(ops.array([ops.maximum(x, 0.0) if ops.there(x) else 0.0 for x in np.diag(X)]))


def forces(plant: Any, names: Iterable[str], moving: Array, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array,
           d: Array, modes: Mapping[str, Array]) -> dict[str, Array]:  # fmt: skip
    """Return the generalized forces (nv) of some components by name, at a state moved by d = (δq, δv, δt), of some velocities: wrenches
    with the links' Jacobians at the state itself, and of laws that are not to be implicit what they say there."""
    n, at, whole = len(moving), plant.in_flight(t, q, v, z, p, modes), np.zeros((2, len(v)), dtype=np.result_type(q, v, d))
    whole[...], whole[:, moving] = 0.0, d[:-1].reshape(2, n)
    effects = plant.effects(plant.in_flight(t + d[-1], plant.model.manifold.plus(q, whole[0]), v + whole[1], z, p, modes), m, at)
    return {name: e.force(at) for name, e in effects.items() if name in names}


# ---------------------------------------------------------------- whether


def flight(plant: Any, method: Method, dt: float, mode: str | None, compiled: bool) -> tuple[Method, Stiffness | None]:
    """Return the method that a plant is flown by in steps of dt, and what of it is stiff: as given, or ROS34PW2 in place of an explicit one
    where joints are to be dealt with in the ``mode`` "auto", and something is stiff, or "implicit"."""
    explicit = mode in ("auto", "implicit") and not method.implicit and method.takes is not FreeBody
    if not explicit and not method.stiff:
        return method, None
    stiffness = assessed(plant, dt, compiled, method.stiff or mode == "implicit")
    return (method, None) if stiffness is None else (ROS34PW2, stiffness)


def assessed(plant: Any, dt: float, compiled: bool, forced: bool) -> Stiffness | None:
    """Return what of a plant's forces on its joints is stiff for steps of dt, by their slopes in some configurations, at rest and without
    the limits of efforts; None where explicit steps resolve all of them, and it is not ``forced``.

    Of slopes that are the same everywhere the fastest rate counts; of others, as of laws that have singular postures, the median, and the
    fastest of those that laws have in narrow places (:mod:`engine.simulation.steep_places`).
    """
    model, laws = plant.model, [c for c in plant.acting if isinstance(c, Ticking)]
    names = [c.name for c in plant.components if not isinstance(c, Drive) or plant.controller is not None]
    asked = {c.name for c in laws if c.called.law.stiff}
    if plant.controller is not None and plant.controller.name in asked:
        asked |= {c.name for c in plant.components if c.command is not None}
    moving = np.array([j for b in model.bodies if asked or not b.kind.floats for j in range(b.v.start, b.v.stop)], dtype=int)
    if not names or not len(moving):
        return None
    n, (states, inverses) = len(moving), samples(model)
    look, W = Look(plant, names, moving, compiled), [w[np.ix_(moving, moving)] for w in inverses]
    plant.look = look
    found, steep = look.slopes(np.array(states), np.zeros((len(states), model.nv))), steep_slopes(plant, dt, look, np.diag(W[0]))
    if not found[..., :-1].any() and not steep and not asked:
        return None
    K, D = -found[..., :n], -found[..., n:-1]

    def fastest(K: Array, D: Array) -> float:
        rates = [rate(w, k, d) for w, k, d in zip(W, K, D, strict=True)]
        return max(rates) if constant(K) and constant(D) else float(np.median(rates))

    all_K, all_D, same = K.sum(axis=1), D.sum(axis=1), [c for c in range(len(names)) if constant(K[:, c]) and constant(D[:, c])]
    narrow = False
    whole = max(fastest(all_K, all_D), fastest(K[:, same].sum(axis=1), D[:, same].sum(axis=1)))
    alone = {name: fastest(K[:, c], D[:, c]) for c, name in enumerate(names)}
    for name, x, w in steep:
        k, d, c = -x[..., :n], -x[..., n:-1], names.index(name)
        there = rate(w, k[c], d[c])
        narrow = narrow or there > STEEPER * min(rate(*x) for x in zip(W, K[:, c], D[:, c], strict=False))
        if there > STEEPER * alone[name]:
            whole, alone[name] = max(whole, rate(w, k.sum(axis=0), d.sum(axis=0))), there
            all_K, all_D, W = np.append(all_K, [k.sum(axis=0)], axis=0), np.append(all_D, [d.sum(axis=0)], axis=0), [*W, w]
    if dt * whole <= RESOLVED and not forced and not asked:
        return None
    stiff = frozenset(name for c, name in enumerate(names) if name in asked or dt * alone[name] > PART * RESOLVED
                      or (forced and (K[:, c].any() or D[:, c].any())))  # fmt: skip
    warn_of_fast(model, dt, moving, W[: len(states)], all_K[: len(states)], all_D[: len(states)])
    symmetric = all((np.abs(x - np.swapaxes(x, -1, -2)) <= SYMMETRIC * np.abs(x).max()).all() for x in (all_K, all_D))
    return Stiffness(plant, stiff, moving, symmetric, narrow, in_words(model, dt, whole, stiff, moving, W, all_K, all_D))


def constant(x: Array) -> bool:
    """Return whether slopes (states, n, n) are the same in all states, but for rounding."""
    return bool(np.abs(x - x[0]).max() <= SYMMETRIC * np.abs(x).max())


def rate(W: Array, K: Array, D: Array) -> float:
    """Return the largest |λ| of ẍ = −W (K x + D ẋ), 1/s; zero where that grows about as fast: then it is nothing that returns to rest."""
    part = np.flatnonzero(K.any(axis=0) | K.any(axis=1) | D.any(axis=0) | D.any(axis=1))
    if not len(part):
        return 0.0
    of = np.ix_(part, part)
    rates = np.linalg.eigvals(first_order(W[of], K[of], D[of]))
    size = float(np.abs(rates).max())
    return 0.0 if rates.real.max() > LIGHT * size else size


def first_order(W: Array, K: Array, D: Array) -> Array:
    """Return the matrix A (2 n, 2 n) of ẏ = A y with y = (x, ẋ) and ẍ = −W (K x + D ẋ)."""
    n = len(W)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-W @ K, -W @ D]])


def samples(model: Model) -> tuple[list[Array], list[Array]]:
    """Return the neutral configuration (nq) and some within the joints' limits, with what floats at its place, and M⁻¹ (nv, nv) there."""
    if model in SAMPLES:
        return SAMPLES[model]
    rng, neutral = np.random.default_rng(0), model.neutral()
    found = [neutral, *(model.within_limits(model.random(rng)[0]) for _ in range(SOME))]
    for b in model.bodies:
        if b.kind.floats:
            for q in found:
                q[b.q] = neutral[b.q]
    SAMPLES[model] = found, [np.linalg.pinv(dynamics.crba(model, q), hermitian=True) for q in found]
    return SAMPLES[model]


class Look:
    """The forces of components and their slopes, at rest at first and without the limits of efforts; zero where they are no numbers.

    Parameters
    ----------
    names : of the components
    moving : the velocities (n of nv) by which, and whose forces, are differentiated
    """

    def __init__(self, plant: Any, names: list[str], moving: Array, compiled: bool) -> None:
        self.plant, self.names, self.moving, self.compiled = plant, names, moving, compiled
        self.free = {c.name: np.zeros(c.bounds) for c in plant.components if c.bounds}
        self.given = plant.initial_states()[: plant.flown], plant.initial_memories(), plant.parameters.join(plant.values)
        self.still = np.zeros(2 * len(moving) + 1)

    def stacked(self, q: Array, v: Array, z: Array, m: Array, p: Array, d: Array) -> Array:
        """Return the forces (components · n) at a state moved by d = (δq, δv, δt), at t = 0."""
        found = forces(self.plant, self.names, self.moving, 0.0, q, v, z, m, p, d, self.free)
        return np.concatenate([found[name][self.moving] for name in self.names])

    def both(self, q: Array, v: Array, z: Array, m: Array, p: Array, d: Array) -> tuple[Array, Array]:
        """Return the forces, and ∂τ/∂(q, v, t), traced."""
        tau = self.stacked(q, v, z, m, p, d)
        return tau, ops.jacobian(lambda _: tau, d)

    def differences(self, q: Array, v: Array, z: Array, m: Array, p: Array, d: Array) -> Array:
        """Return ∂τ/∂(q, v, t) on floats."""
        return ops.jacobian(lambda d: self.stacked(q, v, z, m, p, d), d)

    @functools.cached_property
    def programs(self) -> tuple[Program, Program]:
        """The programs of the forces and of their slopes."""
        model = self.plant.model
        program = trace(self.both, [(model.nq,), (model.nv,), *(x.shape for x in (*self.given, self.still))])
        return result(program, 0), result(program, 1)

    def asked(self, which: int, q: Array, v: Array, p: Array | None = None) -> Array:
        """Return what one of them says at states (..., nq) and (..., nv), with parameters as they are or p, traced or on floats."""
        given = (*self.given[:2], self.given[2] if p is None else p, self.still)
        with np.errstate(all="ignore"):
            if self.compiled:
                found = interpret(self.programs[which], q, v, *given)
            else:
                fn = (self.stacked, self.differences)[which]
                flat = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
                found = np.array([fn(*state, *given) for state in zip(*flat, strict=True)])
        found = found.reshape(*q.shape[:-1], len(self.names), len(self.moving), *found.shape[-1:] * which)
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    def forces(self, q: Array, v: Array) -> Array:
        """Return the forces (..., components, n) at states (..., nq) and (..., nv)."""
        return self.asked(0, q, v)

    def slopes(self, q: Array, v: Array, p: Array | None = None) -> Array:
        """Return ∂τ/∂(q, v, t) (..., components, n, 2 n + 1)."""
        return self.asked(1, q, v, p)


def steep_slopes(plant: Any, dt: float, look: Look, w: Array) -> list[tuple[str, Array, Array]]:
    """Return, for each force of the user's that bends, its name, ∂τ/∂(q, v, t) (components, n, 2 n + 1) and M⁻¹ (n, n) where it is
    steepest without asking for more than it ordinarily does, or than makes a velocity of 1 in a step, of what it changes velocities by, w
    (n)."""
    model, n, at, found = plant.model, len(w), lines(plant.model), []
    own = [k for k, name in enumerate(look.names) if any(c.name == name and written(plant, c) for c in plant.components)]
    bends: Any = bent(look.forces(*at(np.tile(FIRST[:, None], LINES)))) if own else []
    for k in (k for k in own if bends[k]):
        s, sizes, ordinary = followed(lambda s, k=k: look.forces(*at(s))[..., k, :], w)  # type: ignore[misc]
        q, v = (x.reshape(3 * LINES, -1) for x in at(s))
        slopes = look.slopes(q, v)
        K, D = np.abs(slopes[:, k, :, :n]).max(axis=-1), np.abs(slopes[:, k, :, n:-1]).max(axis=-1)
        fastest = np.maximum(D * w, np.sqrt(K * w)).max(axis=-1)
        fastest[sizes.ravel() > max(ORDINARY * ordinary, 1.0 / dt)] = 0.0
        i = int(fastest.argmax())
        inverse = np.linalg.pinv(dynamics.crba(model, q[i]), hermitian=True)[np.ix_(look.moving, look.moving)]
        found.append((look.names[k], slopes[i], inverse))
    return found


def written(plant: Any, c: Component) -> bool:
    """Return whether the force of a component is of the user's making, and flown."""

    def flown(law: Any) -> bool:
        return not law.called.ticks and law.called.law.stiff is not False

    steered = c.command is not None and plant.controller is not None and flown(plant.controller)
    return steered or (flown(c) if isinstance(c, Ticking) else not type(c).__module__.startswith("engine."))


def joints_of(model: Model, moving: Array, much: Array, least: float) -> str:
    """Return in words the joints at which something is more than the least, the most first; nothing where there are none."""
    owner = {j: b.joint.name for b in model.bodies for j in range(b.v.start, b.v.stop)}
    return listed(list(dict.fromkeys(owner[int(moving[k])] for k in np.argsort(-much) if much[k] > least)))


def in_words(model: Model, dt: float, whole: float, names: Iterable[str], moving: Array, W: list[Array], K: Array, D: Array) -> str:
    """Return what is stiff, how fast, and where."""
    w = np.array([np.diag(x) for x in W])
    damped, sprung = (np.array([np.diag(x) for x in X]) for X in (D, K))
    fastest = np.maximum(np.abs(damped) * w, np.sqrt(np.abs(sprung) * w)).max(axis=0)
    joints = joints_of(model, moving, fastest, PART * RESOLVED / dt)
    return f"{', '.join(sorted(names))}, up to {whole:.3g}/s" + (f" at {joints}" if joints else "")


def warn_of_fast(model: Model, dt: float, moving: Array, W: list[Array], K: Array, D: Array) -> None:
    """Warn of oscillations that steps of dt damp away, and of motion that runs away as fast, by slopes that are the same everywhere."""
    n = len(moving)
    for w, k, d in zip(W, K, D, strict=True) if constant(K) and constant(D) else ():
        rates, shapes = np.linalg.eig(first_order(w, k, d))
        size = np.abs(rates)
        grows, swings = rates.real > RESOLVED / dt, (dt * size > FOLLOWED) & (np.abs(rates.real) < LIGHT * size)
        for which, what, then in ((grows, "runs away", "faster than steps of {dt:g} s follow"),
                                  (swings, "oscillates", "which steps of {dt:g} s damp away")):
            if which.any():
                i = int(np.argmax(np.where(which, size, 0.0)))
                amplitude = np.abs(shapes[:n, i])
                where = joints_of(model, moving, amplitude, 0.3 * amplitude.max())
                warn(f"'{model.name}' {what} at {size[i]:.3g} rad/s by the forces at {where}, {then.format(dt=dt)}; expected a dt of "
                     f"{RESOLVED / size[i]:.2g} s or less to follow it", SimulationWarning)  # fmt: skip
                return

