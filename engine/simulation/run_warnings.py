"""Plausibility warnings after a run: joints beyond limits, chatter, missed contacts, momentum errors, steps too long."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from engine.checks import warn
from engine.components.assembly import LIQUID
from engine.components.component import SimulationWarning
from engine.dynamics.momentum_conservation import Tree, central_momentum, common_turn, with_momentum
from engine.model import Model
from engine.simulation.allowances import Depths
from engine.simulation.chatter import FEW, SLOW, chattering_joints, followed
from engine.simulation.innovations import Innovations, Known, of_columns
from engine.simulation.passing_bodies import describe_passing, may_meet
from engine.simulation.unresolved_impacts import FALL, STEPS, describe_blow, of_tables, speeds_of_blows
from engine.spatial import quaternion

Array = np.ndarray
#: velocities and accelerations, in SI units, that are none
WILD = 1e10
#: of a joint's range, and where it has one end in rad or m: as far as it may be beyond it
BEYOND = 0.1
#: of a joint's limit of speed: as far as its brake may let it beyond; m or rad: as far as constraints may be open
OVER, OPEN = 0.1, 1e-3
#: rad or m in a step: less is rest
REST = 1e-9
#: the share of records in which a filter may meet what nobody does, such as when something lets go
SELDOM = 0.01
#: what the steps' errors of momentum may add up to, relative to the largest momentum; rows of a batch whose momentum is looked at
ERROR, ROWS = 0.01, 8


class Ranges(NamedTuple):
    """Limits of joints with one coordinate of their own: their names, where they lie in q, and the limits (n)."""

    joints: list[str]
    places: Array
    low: Array
    high: Array

    def beyond(self, q: Array) -> Array:
        """Return how far the joints are beyond their limits (..., n) at q (..., nq)."""
        x = q[..., self.places]
        return np.maximum(x - self.high, self.low - x)


#: those of models that were asked for
RANGES: weakref.WeakKeyDictionary[Model, Ranges] = weakref.WeakKeyDictionary()
#: of liquids of models: see :func:`liquids`
LIQUIDS: weakref.WeakKeyDictionary[Model, list[tuple[str, list[int], float, bool]]] = weakref.WeakKeyDictionary()


def ranges(model: Model) -> Ranges:
    """Return the ranges of a model's joints."""
    if model not in RANGES:
        single = [b for b in model.bodies if b.kind.nq == b.kind.nv == 1 and not b.mimics]
        own = [b for b in single if np.isfinite([b.joint.limits.lower, b.joint.limits.upper]).any()]
        low, high = (np.array([getattr(b.joint.limits, end) for b in own], dtype=float) for end in ("lower", "upper"))
        RANGES[model] = Ranges([b.joint.name for b in own], np.array([b.q.start for b in own], dtype=int), low, high)
    return RANGES[model]


def require_within(model: Model, q: Array) -> None:
    """Warn of configurations (..., nq) outside the joints' limits."""
    own = ranges(model)
    if not own.joints or not ((depth := own.beyond(q)) > 1e-9).any():
        return
    worst_of = depth.reshape(-1, len(own.joints)).max(axis=0)
    outside = {name: float(x) for name, x in zip(own.joints, worst_of, strict=True) if x > 1e-9}
    name, worst = max(outside.items(), key=lambda item: item[1])
    limits, x = model.joint(name).limits, q[..., model.q_slice(name).start]
    at = float(np.max(x) if np.max(x) - limits.upper >= worst else np.min(x))
    more = f", {len(outside) - 1} other joints too" if len(outside) > 1 else ""
    units = "; expected radians" if worst > 2.0 * np.pi else ""
    warn(f"'{model.name}' starts outside its limits, joint '{name}' at {at:.6g} with limits {limits.lower:.6g} … {limits.upper:.6g}"
         f"{more}: stops push it back{units}", SimulationWarning)  # fmt: skip


def largest(x: Array) -> float:
    """Return max |x| of numbers (...), NaN if one is none; without a copy."""
    return float(max(x.max(initial=0.0), -x.min(initial=0.0)))


def liquids(model: Model) -> list[tuple[str, list[int], float, bool]]:
    """Return of the liquids of a model the tanks' names, where in q their two coordinates lie, how far they may be off the axis, m, and
    whether they hang."""
    found = []
    for parent, _, data in model.graph.edges.data():
        if LIQUID in data:
            hangs = data["joint"].kind == "universal"
            above = [] if hangs else [joint for *_, joint in model.graph.in_edges(parent, data="joint")]
            places = [k for joint in (*above, data["joint"]) for k in range(model.nq)[model.q_slice(joint.name)]]
            found.append((data[LIQUID][0], places, data[LIQUID][1], hangs))
    return found


def drifting(model: Model, root: int, q: Array, v: Array) -> Array:
    """Return the velocity (..., 3) of a floating root's origin, in world axes, of states (..., nq) and (..., nv); of none (−1) zero."""
    if root < 0:
        return np.zeros((*v.shape[:-1], 3))
    body = model.bodies[root]
    return quaternion.rotate(q[..., body.q][..., :4], v[..., body.v][..., 3:]) @ body.placement[:3, :3].T


class Noted(NamedTuple):
    """A warning of one kind about a run: how bad it is in the worst record, its text there, and in how many records it is so."""

    worst: float
    said: str
    records: int


class RunWarnings:
    """Plausibility warnings of a run, collected from its records block by block.

    Parameters
    ----------
    limited : whether the joints' stops hold
    dt : s
    depths : contacts whose depths are looked at
    free : trees whose momentum is no state, and how many entries of it nothing outside changes
    held : periods of the laws that are held between ticks, s, by name
    stiff : where something is stiff in flight, the order of the method, and the trees that keep their momentum
    speeds : limits (nv) of speed that are held
    filters : signals whose part "nis" has normalised squares of innovations, and what is known of these
    """

    def __init__(self, model: Model, limited: bool, dt: float, depths: Depths | None = None,
                 free: Mapping[Tree, int] | None = None, held: Mapping[str, float] | None = None,
                 stiff: tuple[int, tuple[Tree, ...]] | None = None,
                 filters: Mapping[str, Known] | None = None, speeds: Array | None = None) -> None:  # fmt: skip
        self.speeds = np.zeros(0) if speeds is None or not np.isfinite(speeds).any() else speeds
        self.fast: Array | None = None                                         # as fast as joints with such limits may be
        self.filters = {name: Innovations(name, known) for name, known in (filters or {}).items()}
        self.model, self.dt, self.limited, self.free, self.held = model, dt, limited, free or {}, held or {}
        self.stiff, self.turned = stiff, np.zeros(1)                           # errors of how far trees turn, rad
        self.fastest: list[tuple[Array, Array]] = []                           # of a few rows: q and v where they move fastest
        self.began: list[list[Array]] = []                                     # the momenta (9) of rows' free trees, at first
        self.depths = depths or Depths([], np.zeros(0), {}, 1.0)
        self.allowed: Array | None = None                                      # as far as joints may be beyond their limits
        self.liquids = LIQUIDS[model] if model in LIQUIDS else LIQUIDS.setdefault(model, liquids(model))
        self.noted: dict[str, Noted] = {}

    @np.errstate(over="ignore", invalid="ignore")                              # of what is no motion any more
    def add(self, t: Array, columns: dict[str, Array]) -> None:
        """Look at records: times (T), and q, v, vdot and "defect", if there is one, by name (..., T, *shape)."""
        if not columns["q"].size:
            return
        q, v, vdot = (np.ascontiguousarray(columns[n]) for n in ("q", "v", "vdot"))       # that records lie in by columns
        speed, change = largest(v), largest(vdot)
        if not (speed <= WILD and change <= WILD):                             # as what is no number
            self._run_wild(t, v, vdot)
        if not self.dt * change <= SLOW:
            self._chatter(t, v, vdot)
        if self.limited:
            self._pass_stops(t, q)
        if len(self.speeds):
            self._outrun(t, v)
        if (error := columns.get("constraints.error")) is not None and error.size:
            self._open(t, np.abs(error).max(axis=-1))
        if "contacts.gap" in columns:
            self._sink(t, columns["contacts.gap"])
            self._blow(t, columns["contacts.gap"])
        elif "contacts.overlap" in columns:
            overlap = columns["contacts.overlap"]

            def overlaps(k: tuple[int, ...]) -> str:
                return (f"shapes lie in each other by {overlap[k]:.3g} of the thinner one, over a tenth; expected a stiffer material, a "
                        "smaller dt, or gentler loads (run('contacts') names them)")  # fmt: skip

            self._note("depth", overlap > 0.1, t, overlaps, overlap)
            if (meets := columns.get("contacts.blow")) is not None:
                self._note("blow", meets > FALL, t, lambda k: of_tables(meets[k]), meets)
        elif "defect" in columns:                               # what contacts exchange of momentum is more than the robot has
            self._errors(t, v, columns["defect"], q)
        self._pass_by(t, q, v, columns.get("contacts.gap"))
        self._drift(t, q, v)
        self._leave(t, q)
        for name, nis in of_columns(self.filters, t, columns, q.shape[:-1]).items():
            self._mistake(t, self.filters[name], nis)

    def _sink(self, t: Array, gap: Array) -> None:
        """Note where contacts are too deep, by gaps (..., T, points)."""
        least = np.fmin.reduce(gap, axis=tuple(range(gap.ndim - 1)))           # of points that are numbers
        if not (least < -self.depths.deepest).any():
            return
        beyond = -(gap + self.depths.deepest)
        worst, deepest = np.argmax(beyond, axis=-1), np.fmax.reduce(beyond, axis=-1)

        def sinks(k: tuple[int, ...]) -> str:
            return (f"contact '{self.depths.names[worst[k]]}' is {-gap[k][worst[k]]:.3g} m deep, over a tenth of the thinner shape; "
                    "expected a stiffer material, a smaller dt, or gentler loads")  # fmt: skip

        self._note("depth", deepest > 0.0, t, sinks, deepest)

    def _blow(self, t: Array, gap: Array) -> None:
        """Note where shapes whose surfaces lose nothing meet in blows that steps do not resolve, by gaps (..., T, points)."""
        if not (self.depths.blows < STEPS * self.dt).any():
            return
        at = speeds_of_blows(t, gap, self.dt, self.depths.blows)
        worst, speed = at.argmax(axis=-1), at.max(axis=-1, initial=0.0)

        def loses(k: tuple[int, ...]) -> str:
            return describe_blow(self.depths.names[worst[k]], speed[k], float(self.depths.blows[worst[k]]), self.dt)

        self._note("blow", speed > 0.0, t, loses, speed)

    def _run_wild(self, t: Array, v: Array, vdot: Array) -> None:
        """Note where velocities or accelerations (..., T, nv) are none."""

        def moves(k: tuple[int, ...]) -> str:
            i = int(np.argmax(np.maximum(np.abs(v[k]), np.abs(vdot[k]))))
            return (f"joint '{self.model.entries('v')[i]}' moves at {v[k][i]:.3g} and accelerates at {vdot[k][i]:.3g} (SI units), which "
                    "nothing does; expected a smaller dt, gentler forces, or another configuration")  # fmt: skip

        self._note("wild", ((np.abs(v) > WILD) | (np.abs(vdot) > WILD)).any(axis=-1), t, moves)

    def _chatter(self, t: Array, v: Array, vdot: Array) -> None:
        """Note where velocities (..., T, nv) change in a step by more than they are around then, as in many records."""
        joints, turning, chattering = chattering_joints(self.model, self.dt, v, vdot)
        if not len(joints):
            return
        v, vdot = v[..., joints], vdot[..., joints]

        def chatters(k: tuple[int, ...]) -> str:
            i = int(chattering[k].argmax())
            wanted = followed(v[k[:-1]][:, i], vdot[k[:-1]][:, i], turning[k[:-1]][1:, i], self.dt)
            wanted += "".join(f" a shorter period of {law}, which is held for {period:g} s," for law, period in self.held.items())
            name = self.model.entries("v")[joints[i]]
            return (f"joint '{name}' moves at {v[k][i]:.3g} and accelerates by {self.dt * vdot[k][i]:.3g} in a step, more "
                    "than it moves at around then (SI units), as in many records: what acts on it is too stiff for the steps, and it "
                    f"chatters; expected a smaller dt{wanted} gentler gains, or joint_dynamics='implicit' for losses of "
                    "joints")  # fmt: skip

        fastest = chattering.max(axis=-1, initial=0.0)
        self._note("chatter", fastest > 0.0, t, chatters, fastest)

    def _pass_stops(self, t: Array, q: Array) -> None:
        """Note where joints are farther beyond their limits at q (..., T, nq) than stops let them."""
        own = ranges(self.model)
        depth = own.beyond(q)
        if not own.joints:
            return
        if self.allowed is None:
            begun = depth[..., 0, :].reshape(-1, len(own.joints)).max(axis=0, initial=0.0)
            self.allowed = np.maximum(BEYOND * np.minimum(own.high - own.low, 1.0), begun)
        for i in np.flatnonzero((depth > self.allowed).reshape(-1, len(own.joints)).any(axis=0)).tolist():

            def passes(k: tuple[int, ...], i: int = i) -> str:
                return (f"joint '{own.joints[i]}' is {depth[k][i]:.3g} beyond its limits; expected a smaller dt, gentler loads, or a limit "
                        "of its effort, which its stop holds then")  # fmt: skip

            self._note(f"stop {own.joints[i]}", depth[..., i] > self.allowed[i], t, passes, depth[..., i])

    def _open(self, t: Array, error: Array) -> None:
        """Note where constraints are open (..., T), rad or m."""

        def opens(k: tuple[int, ...]) -> str:
            return (f"constraints are open by {error[k]:.3g} m or rad; expected a smaller dt, or motions told (Prescribed) that neither "
                    "jump nor outrun a step")  # fmt: skip

        self._note("open", error > OPEN, t, opens, error)

    def _outrun(self, t: Array, v: Array) -> None:
        """Note where joints' velocities (..., T, nv) are beyond their limits by more than what holds these lets them, and than at first."""
        if self.fast is None:
            begun = np.abs(v[..., 0, :]).reshape(-1, v.shape[-1]).max(axis=0, initial=0.0)
            self.fast = np.maximum((1.0 + OVER) * self.speeds, begun)
        over = np.abs(v) / self.fast - 1.0
        worst = over.argmax(axis=-1)

        def outruns(k: tuple[int, ...]) -> str:
            i = worst[k]
            return (f"joint '{self.model.entries('v')[i]}' moves at {abs(v[k][i]):.3g}, beyond its limit of {self.speeds[i]:.3g}, which "
                    "is held by a brake that yields as it is driven; expected less to drive it, or a Motor with that speed")  # fmt: skip

        self._note("speed", over.max(axis=-1) > 0.0, t, outruns, over.max(axis=-1))

    def add_body(self, t: Array, v: Array, defect: Array | None, order: int | None) -> None:
        """Look at a rigid body's twists v (..., T, 6) and at the defect (..., T), where its momentum is kept beside its motion; or else at
        how far a method of some ``order`` may be off: in a step by (h|ω|)^(order+1)/(order+1)! of what turns in the body's axes, about."""
        if defect is not None:
            self._errors(t, v, defect)
        if order is None or len(t) < 2:
            return
        spin = np.linalg.norm(v[..., :3], axis=-1)
        if defect is None:
            turn = self.dt * spin
        else:                                                                  # the velocity is kept: ω alone turns in the body's axes
            change = np.linalg.norm(np.diff(v[..., :3], axis=-2, prepend=v[..., :1, :3]), axis=-1) / np.diff(t, prepend=t[0] - self.dt)
            turn = self.dt * np.minimum(spin, np.divide(change, spin, out=np.zeros(spin.shape), where=spin > 0.0))
        off = self._missed(t, turn, order)

        def spins(k: tuple[int, ...]) -> str:
            return (f"velocities turn by {turn[k]:.2g} rad in a step (dt = {self.dt:g} s) as seen from the body, and nothing keeps them: "
                    f"they are about {off[k]:.2g} of themselves off; expected a smaller dt")  # fmt: skip

        self._note("spin", off > ERROR, t, spins)

    def _missed(self, t: Array, turn: Array, order: int) -> Array:
        """Return the errors (..., T) that steps add up to which turn so far (..., T), rad: (h|ω|)^(order+1)/(order+1)! each, about."""
        return np.cumsum(turn ** (order + 1) / math.factorial(order + 1) * np.diff(t, prepend=t[0]) / self.dt, axis=-1)

    def _errors(self, t: Array, v: Array, defect: Array, q: Array | None = None) -> None:
        """Note where the steps' errors of momentum (..., T) add up. What stiff forces exchange within a step dies out within it, and has
        turned all by as much as that is of a step's turn."""
        roots = [b for b in (self.model.bodies[i] for i in self.model.roots) if b.kind.floats]
        turn = self.dt * np.max([np.linalg.norm(v[..., b.v][..., :3], axis=-1) for b in roots], axis=0)
        off = defect
        if self.stiff is not None and q is not None:
            order, trees = self.stiff
            missed = self.turned + self._missed(t, turn, order)
            self.turned = missed[..., -1:]
            rows = list(zip(q.reshape(-1, *q.shape[-2:]), v.reshape(-1, *v.shape[-2:]), strict=True))[:ROWS]
            found = [(x[k], u[k]) for x, u in rows for k in [np.abs(u).max(axis=-1).argmax()]]
            self.fastest = [max(pair, key=lambda state: np.abs(state[1]).max()) for pair in zip(found, self.fastest or found, strict=True)]
            if (defect > ERROR).any():
                turns = [common_turn(self.model, tree, x, u) for x, u in self.fastest for tree in trees]
                off = np.minimum(defect, defect * self.dt * max(turns, default=0.0) + missed)

        def errs(k: tuple[int, ...]) -> str:
            what = "energy and attitude are as far off" if off is defect else f"the attitude is up to {off[k]:.2g} rad off"
            return (f"the steps' errors of momentum add up to {defect[k]:.2g} of it (dt = {self.dt:g} s, h|ω| = {turn[k]:.2g}): it is set "
                    f"right after each step, which hides that {what}; expected a smaller dt")  # fmt: skip

        self._note("defect", (off > ERROR) & (self.dt * np.abs(v).max(axis=-1, initial=0.0) > REST), t, errs)

    def _pass_by(self, t: Array, q: Array, v: Array, gaps: Array | None) -> None:
        """Note where what floats goes farther in a step, relative to what it may meet, than that is thick, and is not far from it: as far
        as it goes until the next record. Gaps (..., T, points) are those of contacts, if there are any."""
        if self.depths.free is not None:
            where, said = self.depths.free.passing(self.dt, t, q, v)
            self._note("thin", where, t, said)
        moves = {i: largest(v[..., self.model.bodies[i].v][..., 3:]) if i >= 0 else 0.0 for pair in self.depths.thin for i in pair}
        for (a, b), (size, points) in self.depths.thin.items():
            if self.dt * 2.0 * (moves[a] + moves[b]) <= self.depths.most * size:        # a vector is less than twice its largest entry
                continue
            speed = np.linalg.norm(drifting(self.model, a, q, v) - drifting(self.model, b, q, v), axis=-1)
            fast = self.dt * speed > self.depths.most * size
            if gaps is not None and fast.any():
                fast &= may_meet(t, self.dt, gaps[..., points].min(axis=-1), speed)

            def passes(k: tuple[int, ...], speed: Array = speed, size: float = size, a: int = a, b: int = b) -> str:
                return describe_passing(self.model, max(a, b), min(a, b), self.dt * speed[k], size)

            self._note(f"thin {a} {b}", fast, t, passes)

    def _drift(self, t: Array, q: Array, v: Array) -> None:
        """Note where a tree's momentum, which nothing outside changes, is another at the end of some records (..., T) than at first.

        By how much, relative to the momenta of its parts, is about by how much attitude and energy are off. Of a batch a few rows are
        looked at.
        """
        if not self.free:
            return
        first, last = ([(x[k], u[k]) for x, u in zip(q.reshape(-1, *q.shape[-2:]), v.reshape(-1, *v.shape[-2:]), strict=True)][:ROWS]
                       for k in (0, -1))  # fmt: skip
        self.began = self.began or [[central_momentum(self.model, tree, x, u) for tree in self.free] for x, u in first]
        off = np.zeros(math.prod(q.shape[:-2]))
        for k, ((x, u), began) in enumerate(zip(last, self.began, strict=True)):
            for (tree, n), P in zip(self.free.items(), began, strict=True):
                kept = np.concatenate([P[:n], central_momentum(self.model, tree, x, u)[n:]])
                errors = with_momentum(self.model, tree, x, u, kept)[2].reshape(2, 2)        # beside the sizes, squared
                off[k] = max([off[k], *(error / np.sqrt(size) for error, size in errors if error > 0.0)])
        rows, where = off.reshape(q.shape[:-2]), np.zeros(q.shape[:-1], dtype=bool)
        where[..., -1] = rows > ERROR

        def drifts(k: tuple[int, ...]) -> str:
            return (f"the momentum, which nothing outside changes, is {rows[k[:-1]]:.2g} of it off (dt = {self.dt:g} s), and energy and "
                    "attitude are about as far; expected a smaller dt")  # fmt: skip

        self._note("drift", where, t, drifts)

    def _leave(self, t: Array, q: Array) -> None:
        """Note where a liquid that swings is off the axis of its tank by more than the tank is wide, or over its hinge."""
        for name, places, reach, hangs in self.liquids:
            x = q[..., places]
            away = np.arccos(np.clip(np.cos(x).prod(axis=-1), -1.0, 1.0)) if hangs else np.linalg.norm(x, axis=-1)

            def leaves(k: tuple[int, ...], away: Array = away, name: str = name, reach: float = reach, hangs: bool = hangs) -> str:
                how = (f"hangs {away[k]:.3g} rad off its tank's axis: beyond its hinge it is no liquid's" if hangs else
                       f"is {away[k]:.3g} m off the axis of its tank, whose radius is {reach:.3g} m: it has left it")  # fmt: skip
                return (f"the liquid of '{name}' {how}; expected motion as gentle as its slosh is modelled for, and an acceleration along "
                        "the tank's axis that holds it")  # fmt: skip

            self._note(f"liquid {places}", away > (0.5 * np.pi if hangs else reach), t, leaves, away)

    def _mistake(self, t: Array, own: Innovations, nis: Array) -> None:
        """Note where a filter is farther off, by the normalised squares (..., T, n) of its innovations, than it can believe; and where all
        of them are in the mean."""
        wrong, worst = own.each(nis, FEW, SELDOM)
        self._note(f"filter {own.name}", wrong, t, lambda k: own.of_one(nis[k]), worst)
        if f"filter {own.name}" not in self.noted:
            worst = own.means()
            self._note(f"mean of {own.name}", worst > 1.0, t, own.of_mean, worst)
            less = np.zeros(nis.shape[:-1])
            less[..., -1] = own.timid()
            self._note(f"least of {own.name}", less > 1.0, t, lambda k: own.of_timid(k[:-1]), less)

    def _note(self, what: str, where: Array, t: Array, text: Callable[[tuple[int, ...]], str], badness: Array | None = None) -> None:
        """Note that something is so in records (..., T); ``text`` says it of the first, or of that of the largest ``badness``."""
        if not where.any():
            return
        rows = np.where(where, 0.0 if badness is None else badness, -np.inf).reshape(-1, len(t))
        moment, k = divmod(int(rows.T.argmax()), len(rows))                    # the first of equal ones
        before = self.noted.get(what, Noted(-np.inf, "", 0))
        worst, said = before.worst, before.said
        if rows[k, moment] > worst:
            row = tuple(int(i) for i in np.unravel_index(k, where.shape[:-1]))
            said = f"at t = {t[moment]:.6g} s{f' in rollout {list(row)}' if row else ''} {text((*row, moment))}"
            worst = float(rows[k, moment])
        self.noted[what] = Noted(worst, said, before.records + int(where.sum()))

    @property
    def texts(self) -> tuple[str, ...]:
        """Warnings noted, each with its number of records."""
        idle = [f"'{self.model.name}': {text}" for own in self.filters.values() if (text := own.of_none())]
        return (*(f"'{self.model.name}': {noted.said} ({noted.records} records)" for noted in self.noted.values()), *idle)

    def warn(self) -> None:
        """Warn of what was noted, of each once."""
        for text in self.texts:
            warn(text, SimulationWarning)
