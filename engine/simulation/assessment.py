"""Stiffness test before a run: slopes of all forces at sample states against the step dt, and the choice of an implicit method."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from engine import dynamics, ops
from engine.checks import warn
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.program import Program, result
from engine.compiler.trace_cache import kept
from engine.compiler.transforms.trace import trace
from engine.components.actuators import Drive
from engine.components.component import Component, SimulationWarning
from engine.components.joint_dynamics import is_large, list_names
from engine.components.law import Ticking
from engine.components.layout import Layout
from engine.contact import configurations
from engine.integrate import ROS34PW2, FreeBody, Method
from engine.model import Model
from engine.simulation.growing_swings import warn_of_growing_swings
from engine.simulation.steep_places import FIRST, LINES, ORDINARY, bent, followed, lines
from engine.simulation.stiffness import Stiffness, forces

Array = np.ndarray
#: of h |λ|, with the fastest rate λ of what acts: as much as explicit methods follow well
RESOLVED = 1.0
#: of that: components that alone are slower are left to the explicit part; of those that are much faster than that, the order would suffer
PART = 0.003
#: of that: joints that are named
NAMED = 0.1
#: of h |λ|: oscillations that are faster lose a tenth of their amplitude in a period, and of |λ|: those that are light die out by no more
FOLLOWED, LIGHT = 1.0, 0.2
#: configurations, within the joints' limits, that are looked at besides the neutral one
SOME = 4
#: times the rate of a law in other places, so that a place of its own counts
STEEPER = 4.0
#: of the largest slope: as far as K and D may be from symmetric, or from the same elsewhere, by rounding
SYMMETRIC = 1e-9
#: s, when laws are looked at again: by then gains that are raised at the start have grown
LATER = 10.0
#: of forces and slopes, in SI units: none is as large
HUGE = 1e100
#: what was found of models
SAMPLES: weakref.WeakKeyDictionary[Model, tuple[list[Array], list[Array]]] = weakref.WeakKeyDictionary()


def flight(plant: Any, method: Method, dt: float, mode: str | None, compiled: bool, named: bool) -> tuple[Method, Stiffness | None]:
    """Return the method that a plant is flown by in steps of dt, and what of it is stiff: as given, or ROS34PW2 in place of an explicit one
    where joints are to be dealt with in the ``mode`` "auto", and something is stiff, or "implicit".

    Warns
    -----
    SimulationWarning : in "auto" an explicit method is ``named``, and something is stiff for it; what :func:`warn_of_fast` says
    """
    explicit = mode in ("auto", "implicit") and not method.implicit and method.takes is not FreeBody
    if not explicit and not method.stiff:
        return method, None
    forced = method.stiff or mode == "implicit"
    if compiled:
        plant.unclip()
    stiffness = assessed(plant, method, dt, compiled, forced)
    if stiffness is not None and not compiled:                                 # a law on floats is asked on symbols where it counts alone
        with contextlib.suppress(Exception):                                   # not every one can be
            plant.unclip()
        stiffness = assessed(plant, method, dt, compiled, forced) if any(c.bounds for c in plant.acting) else stiffness
    if stiffness is None:
        return method, None
    if named and mode == "auto" and not method.stiff:
        warn(f"'{plant.model.name}' is stiff for steps of {dt:g} s by '{method.name}' ({stiffness.words}), and flown by '{ROS34PW2.name}'; "
             "expected no integrator by name, a smaller dt, or joint_dynamics='explicit'", SimulationWarning)  # fmt: skip
    return ROS34PW2, stiffness


def assessed(plant: Any, method: Method, dt: float, compiled: bool, forced: bool) -> Stiffness | None:
    """Return what of a plant's forces on its joints is stiff for steps of dt by a method, by their slopes in some configurations, at rest
    and without the limits of efforts; None where explicit steps resolve all of them, and it is not ``forced``.

    Of slopes that are the same everywhere the fastest rate counts; of others, as of laws that have singular postures, the median, and the
    fastest of those that laws have in narrow places (:mod:`engine.simulation.steep_places`). Rates are those at the parameters' nominal
    values; what is forced counts where parameters that are zero are one, too.
    """
    model, names, declared = plant.model, assessed_components(plant), declared_stiff(plant)
    moving = assessed_velocities(model, bool(declared) or forced)
    if not names or not len(moving):
        return None
    plant.look = look = Look(plant, names, moving, compiled)
    slopes = sample_slopes(look, dt, forced)
    acts = slopes.act
    if not acts.any() and not slopes.limits.any() and not slopes.steep and not declared:
        return None
    rates = rate_components(names, slopes)
    if dt * rates.whole <= RESOLVED and not forced and not declared:
        systems = zip(rates.W[: len(slopes.W)], rates.K, rates.D, strict=False)
        warn_of_growing_swings(model, method, dt, moving, [first_order(*x) for x in systems])
        return None
    stiff = frozenset(name for c, name in enumerate(names)
                      if name in declared or dt * rates.alone[name] > PART * RESOLVED or (forced and acts[c]))  # fmt: skip
    warn_of_fast(model, dt, moving, len(slopes.W), rates)
    at_rest, in_motion = symmetries(look, slopes)
    varying = {name for c, name in enumerate(names) if slopes.vary[c] or name not in rates.constant}
    bends = bool(stiff & ({name for name, _, _ in slopes.steep} | varying))
    words = stiffness_words(model, dt, rates.whole, stiff, moving, rates.W, rates.K, rates.D)
    return Stiffness(plant, stiff, moving, at_rest, in_motion, bends, words)


def assessed_components(plant: Any) -> list[str]:
    """Return the names of the components whose forces may be stiff: not fields of planets, which are steep at their centres alone."""
    fields = {c.name for c in plant.pulls}
    return [c.name for c in plant.components if c.name not in fields and (not isinstance(c, Drive) or plant.controller is not None)]


def declared_stiff(plant: Any) -> set[str]:
    """Return the names of components that are stiff because their law says so, or the controller's which commands them."""
    declared = {c.name for c in plant.acting if isinstance(c, Ticking) and c.called.law.stiff}
    if plant.controller is not None and plant.controller.name in declared:
        declared |= {c.name for c in plant.components if c.command is not None}
    return declared


def assessed_velocities(model: Model, floating: bool) -> Array:
    """Return the numbers of the velocities by which forces are differentiated: of joints, and of floating bases only if asked for."""
    bodies = [b for b in model.bodies if not b.mimics and (floating or not b.kind.floats)]
    return np.array([j for b in bodies for j in range(b.v.start, b.v.stop)], dtype=int)


class SampledSlopes(NamedTuple):
    """Slopes of components' forces in sample states at rest.

    Attributes
    ----------
    found : ∂τ/∂(q, v, t) (states, components, n, 2 n + 1)
    others : the same with one in place of parameters that are zero, if those count
    vary : whether a component's slopes are others later (components)
    limits : −∂τ/∂v at the limits of forces (components, n, n)
    steep : name, slopes and M⁻¹ of each force where it is steepest: see :func:`steep_slopes`
    W : M⁻¹ (n, n) of each sample
    """

    found: Array
    others: Array
    vary: Array
    limits: Array
    steep: list[tuple[str, Array, Array]]
    W: list[Array]

    @property
    def act(self) -> Array:
        """True for each component whose force depends on q or v (components)."""
        return ((self.found[..., :-1] != 0.0) | (self.others[..., :-1] != 0.0)).any(axis=(0, 2, 3))


def sample_slopes(look: Look, dt: float, forced: bool) -> SampledSlopes:
    """Return the slopes of the forces that are looked at."""
    plant, moving = look.plant, look.moving
    q, inverses = samples(plant.model)
    W = [w[np.ix_(moving, moving)] for w in inverses]
    at_rest, p = (np.array(q), np.zeros((len(q), plant.model.nv))), plant.parameters.join(plant.values)
    found, vary = look.steeper(*at_rest)
    steep = steep_slopes(plant, dt, look, np.diag(W[0]))
    others = found if p.all() or not forced else look.slopes(*at_rest, np.where(p == 0.0, 1.0, p))
    return SampledSlopes(found, others, vary, limits(plant, look.names, moving), steep, W)


class Rates(NamedTuple):
    """Rates of a model's motion under its forces, the largest |λ|, 1/s.

    Attributes
    ----------
    whole : by all components together
    alone : by each component
    constant : the components whose slopes are the same in all samples
    K, D : stiffness and damping by all components (places, n, n), in the samples and where forces are steepest
    W : M⁻¹ (n, n) there
    """

    whole: float
    alone: dict[str, float]
    constant: set[str]
    K: Array
    D: Array
    W: list[Array]


def rate_components(names: list[str], slopes: SampledSlopes) -> Rates:
    """Return the rates of all components together and of each alone: a steep place counts where it is much faster than the samples."""
    n, W = len(slopes.W[0]), slopes.W
    K, D = -slopes.found[..., :n], -slopes.found[..., n:-1] + slopes.limits

    def fastest(K: Array, D: Array) -> float:
        rates = [rate(w, k, d) for w, k, d in zip(W, K, D, strict=True)]
        return max(rates) if constant(K) and constant(D) else float(np.median(rates))

    all_K, all_D = K.sum(axis=1), D.sum(axis=1)
    same = [c for c in range(len(names)) if constant(K[:, c]) and constant(D[:, c])]
    whole = max(fastest(all_K, all_D), fastest(K[:, same].sum(axis=1), D[:, same].sum(axis=1)))
    alone, places = {name: fastest(K[:, c], D[:, c]) for c, name in enumerate(names)}, list(W)
    for name, x, w in slopes.steep:
        k, d, c = -x[..., :n], -x[..., n:-1], names.index(name)
        if (there := rate(w, k[c], d[c])) > STEEPER * alone[name]:
            whole, alone[name] = max(whole, rate(w, k.sum(axis=0), d.sum(axis=0))), there
            all_K, all_D = np.append(all_K, [k.sum(axis=0)], axis=0), np.append(all_D, [d.sum(axis=0)], axis=0)
            places.append(w)
    return Rates(whole, alone, {names[c] for c in same}, all_K, all_D, places)


def symmetries(look: Look, slopes: SampledSlopes) -> tuple[bool, bool]:
    """Return whether K and D are symmetric at rest, and in motion as well, wherever they are looked at."""
    model, n = look.plant.model, len(look.moving)
    q, v = scattered_states(model, samples(model)[0])
    still, moving = np.zeros((len(q), model.nv)), np.tile(v, (len(q), 1))
    at_rest = all(symmetric(x, n) for x in (slopes.found, slopes.others, *(x[None] for _, x, _ in slopes.steep), look.steeper(q, still)[0]))
    return at_rest, at_rest and symmetric(look.steeper(q, moving)[0], n)


def symmetric(found: Array, n: int) -> bool:
    """Return whether the sums of components' slopes (states, components, n, 2 n + 1) are symmetric, but for rounding."""
    wholes = [found.sum(axis=1)[..., part] for part in (slice(0, n), slice(n, -1))]
    return all((np.abs(x - np.swapaxes(x, -1, -2)) <= SYMMETRIC * np.abs(x).max()).all() for x in wholes)


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

    def made() -> tuple[list[Array], list[Array]]:
        neutral = model.neutral()
        found = [neutral, *configurations(model, SOME)]
        for b in model.bodies:
            if b.kind.floats:
                for q in found:
                    q[b.q] = neutral[b.q]
        return found, [np.linalg.pinv(dynamics.crba(model, q), hermitian=True) for q in found]

    SAMPLES[model] = kept(f"inertias of '{model.name}'", ("samples", model), made) if is_large(model) else made()
    return SAMPLES[model]


def scattered_states(model: Model, states: list[Array]) -> tuple[Array, Array]:
    """Return configurations (nq) with what floats anywhere, and a velocity (nv): where slopes are symmetric, they are by structure."""
    rng = np.random.default_rng(1)
    return np.array([model.manifold.plus(q, rng.standard_normal(model.nv)) for q in states]), rng.standard_normal(model.nv)


class Look:
    """The forces of components and their slopes, at rest at first and without the limits of efforts; zero where they are nobody's.

    Parameters
    ----------
    names : of the components
    moving : the velocities (n of nv) by which, and whose forces, are differentiated
    """

    def __init__(self, plant: Any, names: list[str], moving: Array, compiled: bool) -> None:
        self.plant, self.names, self.moving, self.compiled = plant, names, moving, compiled
        self.bounds = Layout({c.name: (c.bounds,) for c in plant.acting if c.bounds})
        self.clips = any(c.bounds for c in plant.acting if isinstance(c, Ticking))
        free, p = np.zeros(self.bounds.n), plant.parameters.join(plant.values)
        self.given = plant.initial_states()[: plant.flown], plant.initial_memories(), p, free
        self.still = np.zeros(2 * len(moving) + 1)

    def stacked(self, d: Array, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array) -> Array:
        """Return the forces (components · n) at a state moved by d = (δq, δv, δt), at t = 0."""
        found = forces(self.plant, self.names, self.moving, 0.0, q, v, z, m, p, d, self.bounds.split(modes))
        return np.concatenate([found[name][self.moving] for name in self.names])

    def both(self, d: Array, *given: Array) -> tuple[Array, Array]:
        """Return the forces, and ∂τ/∂(q, v, t), traced."""
        tau = self.stacked(d, *given)
        return tau, ops.jacobian(lambda _: tau, d)

    def differences(self, d: Array, *given: Array) -> Array:
        """Return ∂τ/∂(q, v, t) on floats."""
        return ops.jacobian(lambda d: self.stacked(d, *given), d)

    @functools.cached_property
    def programs(self) -> tuple[Program, Program]:
        """The programs of the forces and of their slopes."""
        model = self.plant.model
        program = trace(self.both, [self.still.shape, (model.nq,), (model.nv,), *(x.shape for x in self.given)])
        return result(program, 0), result(program, 1)

    def asked(self, which: int, q: Array, v: Array, p: Array | None = None, t: Any = 0.0, mode: float = 0.0) -> Array:
        """Return what one of them says at states (..., nq) and (..., nv) and times (...), with parameters as they are or p, and limited
        forces in a mode, traced or on floats."""
        z, m, nominal, free = self.given
        given, d = (z, m, nominal if p is None else p, free + mode), np.zeros((*q.shape[:-1], len(self.still)))
        d[..., -1] = t
        with np.errstate(all="ignore"):
            if self.compiled:
                found = said(self.programs[which], d, q, v, *given)
            else:
                fn = (self.stacked, self.differences)[which]
                flat = zip(*(x.reshape(-1, x.shape[-1]) for x in (q, v, d)), strict=True)
                found = np.array([fn(at, x, u, *given) for x, u, at in flat])
        found = found.reshape(*q.shape[:-1], len(self.names), len(self.moving), *found.shape[-1:] * which)
        return np.where(np.abs(found) < HUGE, found, 0.0)

    def forces(self, q: Array, v: Array) -> Array:
        """Return the forces (..., components, n) at states (..., nq) and (..., nv)."""
        return self.asked(0, q, v)

    def slopes(self, q: Array, v: Array, p: Array | None = None) -> Array:
        """Return ∂τ/∂(q, v, t) (..., components, n, 2 n + 1)."""
        return self.asked(1, q, v, p)

    def steeper(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the slopes of each component at t = 0 or LATER, whichever are larger, and whether those are later, as of gains that grow:
        traced, as a law on floats would be called at a time that is not yet. Where they are larger yet at the ends of what a law clips, as
        of dead bands, they are those."""
        if self.compiled:
            found, later = self.asked(1, np.array([q, q]), np.array([v, v]), t=np.array([[0.0], [LATER]]))
        else:
            found = later = self.asked(1, q, v)
        sizes = [np.abs(x[..., :-1]).sum(axis=(0, 2, 3)) for x in (found, later)]
        grown = sizes[1] > (1.0 + SYMMETRIC) * sizes[0]
        found = np.where(grown[:, None, None], later, found)
        if not self.clips:
            return found, grown
        held = self.asked(1, q, v, mode=1.0)
        more = [np.abs(x[..., :-1]).sum(axis=(0, 2, 3)) for x in (found, held)]
        return np.where((more[1] > (1.0 + SYMMETRIC) * more[0])[:, None, None], held, found), grown


def said(program: Program, d: Array, q: Array, v: Array, *given: Array) -> Array:
    """Return what a program says at states (...), NaN where it asks a table for a row that is not there: a run may never come there."""
    if not program.tabled:
        return np.asarray(interpret(program, d, q, v, *given))

    def one(k: tuple[int, ...]) -> Array:
        with contextlib.suppress(IndexError):
            return np.asarray(interpret(program, d[k], q[k], v[k], *given))
        return np.full(program.shapes_out[0], np.nan)

    lead = d.shape[:-1]
    return np.array([one(k) for k in np.ndindex(lead)]).reshape(*lead, *program.shapes_out[0])


def steep_slopes(plant: Any, dt: float, look: Look, w: Array) -> list[tuple[str, Array, Array]]:
    """Return, for each force of the user's that bends, its name, ∂τ/∂(q, v, t) (components, n, 2 n + 1) and M⁻¹ (n, n) where it is
    steepest without asking for more than it ordinarily does, or than makes a velocity of 1 in a step, of what it changes velocities by, w
    (n)."""
    own = [k for k, name in enumerate(look.names) if any(c.name == name and is_users_force(plant, c) for c in plant.components)]
    if not own:
        return []
    model, n, at, found = plant.model, len(w), lines(plant.model), []
    bends = bent(look.forces(*at(np.tile(FIRST[:, None], LINES))))
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


def is_users_force(plant: Any, c: Component) -> bool:
    """Return whether the force of a component is of the user's making, and flown."""
    steered = c.command is not None and plant.controller is not None and plant.controller.flown
    return steered or (c.flown if isinstance(c, Ticking) else not type(c).__module__.startswith("engine."))


def limits(plant: Any, names: list[str], moving: Array) -> Array:
    """Return −∂τ/∂v (components, n, n) of some velocities where limits of forces are reached that fall with them, as motors' do."""
    at, D = {int(j): k for k, j in enumerate(moving)}, np.zeros((len(names), len(moving), len(moving)))
    for c in plant.components:
        for j, steepness in c.steepness.items() if c.name in names else ():
            D[names.index(c.name), at[j], at[j]] = steepness
    return D


def joints_of(model: Model, moving: Array, much: Array, least: float) -> str:
    """Return in words the joints at which something is more than the least, the most first; nothing where there are none."""
    owner = {j: b.joint.name for b in model.bodies if not b.mimics for j in range(b.v.start, b.v.stop)}
    return list_names(list(dict.fromkeys(owner[int(moving[k])] for k in np.argsort(-much) if much[k] > least)))


def stiffness_words(model: Model, dt: float, whole: float, names: Iterable[str], moving: Array, W: list[Array], K: Array, D: Array) -> str:
    """Return what is stiff, how fast, and where."""
    w = np.array([np.diag(x) for x in W])
    damped, sprung = (np.array([np.diag(x) for x in X]) for X in (D, K))
    fastest = np.maximum(np.abs(damped) * w, np.sqrt(np.abs(sprung) * w)).max(axis=0)
    joints = joints_of(model, moving, fastest, NAMED * RESOLVED / dt)
    return ", ".join(sorted(names)) + (f", up to {whole:.3g}/s" if whole else "") + (f" at {joints}" if joints else "")


def warn_of_fast(model: Model, dt: float, moving: Array, n_samples: int, rates: Rates) -> None:
    """Warn, once, of motion that is too fast for steps of dt in the samples, or else in one of the places where forces are steepest."""
    groups = [slice(n_samples), *(slice(i, i + 1) for i in range(n_samples, len(rates.W)))]
    for at in groups:
        if warned_of_fast(model, dt, moving, rates.W[at], rates.K[at], rates.D[at]):
            return


def warned_of_fast(model: Model, dt: float, moving: Array, W: list[Array], K: Array, D: Array) -> bool:
    """Warn of oscillations that steps of dt damp away in one of some places, or in most where slopes are not the same everywhere, and of
    motion that runs away as fast, by slopes that are; return whether there are any."""
    n, even, found = len(moving), constant(K) and constant(D), []
    for w, k, d in zip(W, K, D, strict=True):
        rates, shapes = np.linalg.eig(first_order(w, k, d))
        size = np.abs(rates)
        grows, swings = even & (rates.real > RESOLVED / dt), (dt * size > FOLLOWED) & (np.abs(rates.real) < LIGHT * size)
        for which, what, then in ((grows, "runs away", f"faster than steps of {dt:g} s follow"),
                                  (swings, "oscillates", f"which steps of {dt:g} s damp away")):
            if which.any():
                i = int(np.argmax(np.where(which, size, 0.0)))
                amplitude = np.abs(shapes[:n, i])
                where = joints_of(model, moving, amplitude, 0.3 * amplitude.max())
                found.append(f"'{model.name}' {what} at {size[i]:.3g} rad/s by the forces at {where}, {then}; expected a dt of "
                             f"{RESOLVED / size[i]:.2g} s or less to follow it")  # fmt: skip
                break
    if len(found) <= (0 if even else len(W) // 2):
        return False
    warn(found[0], SimulationWarning)
    return True

