"""Readings of a robot for the display: energies, momentum, chosen signals, their course, and the particulars of a link."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.checks import nearest
from engine.model import Body, Model
from engine.model.parameters import moved
from engine.simulation import Trajectory
from engine.spatial import inertia, quaternion
from engine.viewer.display.facts import ROUNDING, UNSEEN, Bars, Card, Plot, figure, settled
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.sources import Played

Array = np.ndarray
#: records of a trajectory that are looked at, points of a plot, and how much of a live simulation a plot shows, s
SMALLEST = 0.1                                                                 # m, that a robot is taken to reach at least
MANY = 24                                                                      # names that an error lists
RECORDS, POINTS, RECENT = 20_000, 160, 10.0
LOOKS = 200                                                                    # states that bars' lengths are taken from


@dataclass(frozen=True)
class Signal:
    """A number in time: its name, its unit, its values (n) at the states of a rollout, and how large what it is the difference of is."""

    name: str
    unit: str
    values: Callable[[Trajectory], Array]
    scale: float = 0.0

    def peak(self, y: Array) -> float:
        """Return the largest of values (n), or what they are differences of, where that is larger."""
        return max(self.scale, float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0)))


class Readings:
    """Readings of one instance of an actor at any time.

    A trajectory is gone through once, when its plots are first asked for; of a live simulation what was read is remembered for a while.

    Parameters
    ----------
    signals : names of what is shown besides: signals of the motion, or entries of q, v or tau, as :meth:`Trajectory.columns` has them:
        "wheels.torque[0]", "q.elbow", "v.floating_base.wx"; several in a tuple are curves of one plot
    points : of a trajectory's curve, about, at most

    Raises
    ------
    ViewerError : there is no such signal, or they are of what is at rest
    """

    def __init__(self, actor: Actor, instance: int = 0, signals: Sequence[str | Sequence[str]] = (), points: int = POINTS) -> None:
        self.actor, self.instance, self.points = actor, instance, points
        if signals and not actor.source.moves:
            raise ViewerError(f"signals of '{actor.model.name}', which is at rest; expected a motion")
        self._curves: tuple[Trajectory, list[tuple[Array, Array]]] | None = None
        self._peaks: tuple[float, float, float, bool, Array, float] | None = None
        self._recent: deque[Array] = deque(maxlen=POINTS)
        first = self.at(actor.source.span[0])                                  # its first record, or now
        self.mass = sum(link.mass for link in actor.model.links)
        self.reach = max(float(np.ptp(actor.source.links(first.q, instance)[0, :, :3, 3], axis=0).max()), SMALLEST)
        self._energy = max(ROUNDING * self.mass * self.reach**2, self._most_energy())
        self.groups = [[name] if isinstance(name, str) else [*name] for name in signals]       # of curves in one plot
        self.chosen = [chosen(actor.model, first, name) for group in self.groups for name in group]
        self.plotted = [*self.chosen, *standard(actor.model, first, self.mass, self.reach)] if actor.source.moves else []

    @property
    def title(self) -> str:
        """Title of the readings: the robot's name, and the rollout of a batch."""
        count = self.actor.instances
        return self.actor.name + (f", rollout {self.instance} of {count}" if count > 1 else "")

    @functools.cached_property
    def phases(self) -> list[tuple[str, float, float]]:
        """The phases of a recorded motion: (name, from, to), s."""
        source = self.actor.source
        return source.rollout(self.instance).phases() if isinstance(source, Played) else []

    @property
    def events(self) -> list[tuple[float, str]]:
        """The times, s, and names of events, and of where phases begin."""
        return [*((e.t, e.name) for e in self.actor.source.events), *((begin, name) for name, begin, _ in self.phases[1:])]

    def phase(self, t: float) -> str:
        """Return the name of the phase at a time, s; "" where there are none."""
        return next((name for name, begin, _ in reversed(self.phases) if begin <= t + 1e-9), "")

    def at(self, t: float) -> Trajectory:
        """Return the state of this instance at a time, s, as a trajectory of one state; beyond the ends its first or last."""
        return self.actor.source.now(t, self.instance)

    def lines(self, t: float) -> list[tuple[str, str]]:
        """Return rows of (label, text): time, energies, momentum about the world's origin, chosen signals; of a model at rest its size."""
        model = self.actor.model
        if not self.actor.source.moves:
            return [("links", str(len(model.links))), ("joints that move", str(sum(not b.mimics for b in model.bodies))),
                    ("degrees of freedom", str(model.nv)), ("mass", f"{figure(self.mass)} kg")]  # fmt: skip
        now = self.at(t)
        rows = [("time", f"{t:.3f} s")]
        rows += [("phase", self.phase(t))] if self.phases else []
        if model.nv:
            K, U = (float(x[0]) for x in now.energy())
            self._energy = max(abs(K), abs(U), self._energy)
            K, U = (float(settled(x, self._energy)) for x in (K, U))
            P = settled(now.momentum()[0], self.mass * max(float(np.abs(now.v).max()), self.reach))      # of parts that cancel
            energies = [("kinetic", K), ("potential", U), ("total", K + U)] if any(now.gravity) else [("kinetic", K)]
            rows += [("", ""), *((f"{name} energy", f"{figure(x)} J") for name, x in energies), ("", "")]
            rows += [("|p|", f"{figure(float(np.linalg.norm(P[3:])))} N·s"), ("|L|", f"{figure(float(np.linalg.norm(P[:3])))} N·m·s")]
        if self.chosen:
            rows += [("", ""), *((s.name, f"{figure(float(s.values(now)[0]))} {s.unit}".rstrip()) for s in self.chosen)]
        return rows

    def _most_energy(self) -> float:
        """Return the largest energy of a recorded motion, J, against which what is left at rest is but rounding."""
        source = self.actor.source
        if not isinstance(source, Played) or not self.actor.model.nv:
            return 0.0
        flight = source.rollout(self.instance)
        return float(max(np.abs(x).max() for x in flight[:: -(-len(flight) // LOOKS)].energy()))

    def plots(self, t: float) -> list[Plot]:
        """Return the courses of the signals: over the whole motion, or the last seconds of a simulation that runs."""
        if not self.plotted:
            return []
        now = self.at(t)
        values = [float(s.values(now)[0]) for s in self.plotted]
        source = self.actor.source
        curves = self._course(source.rollout(self.instance)) if isinstance(source, Played) else self._remembered(t, values)
        found = []
        for s, (times, y), x in zip(self.plotted, curves, values, strict=True):
            found.append(Plot(s.name, s.unit, times, y, float(settled(x, s.peak(y), s.unit, UNSEEN)), phases=self.phases))
        return found

    def grouped(self, t: float, standard: bool = False) -> list[Plot]:
        """Return the courses of the chosen signals as they are grouped, with the motion's events; and of the standard ones, if told."""
        flat, found = self.plots(t), []
        events = [e.t for e in self.actor.source.events]
        for group in self.groups:
            first, *rest = [flat.pop(0) for _ in group]
            units = {p.unit for p in (first, *rest)}
            if len(rest) and len({p.name.partition(".")[0] for p in (first, *rest)}) == 1:          # all are q, or v
                first, *rest = (replace(p, name=p.name.partition(".")[2]) for p in (first, *rest))
            others = [(p.name, np.interp(first.t, p.t, p.y), p.now) for p in rest]
            found.append(replace(first, others=others, events=events, unit=units.pop() if len(units) == 1 else ""))
        return found + [replace(p, events=events) for p in flat if standard]

    def bars(self, kinds: Sequence[str], t: float) -> list[Bars]:
        """Return bars of "energy" (kinetic, potential less its first) and "momentum" (angular, of the base and of all else, along the
        base's largest, about the centre of mass of all)."""
        source = self.actor.source
        if not isinstance(source, Played):
            raise ViewerError(f"bars of '{self.actor.model.name}', which is no recorded motion; expected a trajectory")
        flight, now, found = source.rollout(self.instance), self.at(t), []
        if self._peaks is None:
            some = flight[:: -(-len(flight) // LOOKS)]
            kinetics, potentials = some.energy()
            least = float(potentials[0])
            changes = potentials - least
            self._peaks = float(np.abs(kinetics).max()), least, float(np.abs(changes).max()), bool(changes.min() < 0.0), *exchanged(some)
        kinetic, U0, potential, below, axis, most = self._peaks
        for kind in kinds:
            if kind == "energy":
                T, U = (float(x[0]) for x in now.energy())
                energies: list[tuple[str, float]] = [("kinetic", T)]
                if any(now.gravity):
                    energies += [("potential", U - U0), ("sum", T + U - U0)]
                found.append(told("energy", "J", energies, max(kinetic, potential), below and any(now.gravity)))
            else:
                base, rest = (float(x) for x in parts_of_momentum(now)[0] @ axis)
                found.append(told("angular momentum", "N·m·s", [("base", base), ("the rest", rest), ("sum", base + rest)], most, True))
        return found

    def _course(self, motion: Trajectory) -> list[tuple[Array, Array]]:
        if self._curves is None or self._curves[0] is not motion:
            some = motion[:: -(-len(motion) // RECORDS)]
            curves = [(s, *reduced(some.t, s.values(some), self.points)) for s in self.plotted]
            self._curves = motion, [(t, settled(y, s.peak(y), s.unit)) for s, t, y in curves]
        return self._curves[1]

    def _remembered(self, t: float, values: list[float]) -> list[tuple[Array, Array]]:
        recent = self._recent
        if recent and t < recent[-1][0]:                                       # it began again
            recent.clear()
        if not recent or t - recent[-1][0] >= RECENT / POINTS:
            recent.append(np.array([t, *values]))
        rows = np.array([[t - RECENT, *[np.nan] * len(values)], *recent, [t, *values]])
        rows = rows[rows[:, 0] >= t - RECENT]
        return [(rows[:, 0], settled(y, s.peak(y), s.unit)) for s, y in zip(self.plotted, rows.T[1:], strict=True)]

    def card(self, link: str, t: float) -> Card:
        """Return the pose, the mass and the joint of a link.

        Raises
        ------
        ModelError : there is no such link
        """
        model, now = self.actor.model, self.at(t)
        i = model.link_index(link)
        T = self.actor.source.links(now.q, self.instance)[0, i]
        near = 1e-2 <= np.abs(T[:3, 3]).max() < 1e3 or not T[:3, 3].any()
        own = {kind: x for kind in ("mass", "inertia") if (x := now.parameters.get(f"{kind}.{link}")) is not None}
        mass = float(inertia.mass(moved(model.links[i].inertia, **own)))
        rows = [("position", "  ".join(fixed(x, 3) if near else figure(float(x), 3) for x in T[:3, 3]) + " m"),
                ("attitude", "  ".join(fixed(x, 1) for x in np.degrees(roll_pitch_yaw(T[:3, :3]))) + "°"),
                ("mass", f"{figure(mass)} kg"), ("", "")]  # fmt: skip
        joint = next((j for j in model.joints if j.child == link), None)
        if joint is None:
            return Card(link, rows[:-1])
        rows += [("joint", joint.name), ("kind", f"{joint.kind}, mimics {joint.mimic.source}" if joint.mimic else joint.kind)]
        body = next((b for b in model.bodies if b.joint is joint), None)
        if body is not None and body.kind.nv == 1:
            unit, force = body.kind.units[0], body.kind.force_units[0]
            rows += [("angle" if unit == "rad" else "travel", f"{figure(float(body.coordinates(now.q[0])[0]))} {unit}"),
                     ("velocity", f"{figure(float(settled(body.ratio * float(now.v[0, body.v][0]), 1.0)))} {unit}/s")]  # fmt: skip
            if self.plotted and not body.mimics:                                 # of a model at rest nothing is known
                rows.append(("torque" if force == "N·m" else "force", f"{figure(float(now.tau[0, body.v][0]))} {force}"))
        elif body is not None and body.kind.floats:
            w, v = now.v[0, body.v][:3], now.v[0, body.v][3:]
            rows += [("speed", f"{figure(float(settled(np.linalg.norm(v), self.reach)))} m/s"),
                     ("turning", f"{figure(float(settled(np.linalg.norm(w), 1.0)))} rad/s")]
        return Card(link, rows)


def told(title: str, unit: str, rows: Sequence[tuple[str, float]], most: float, signed: bool) -> Bars:
    """Return bars of names and numbers, of which what is none beside the largest is zero."""
    return Bars(title, unit, [(name, float(settled(x, most, part=UNSEEN))) for name, x in rows], most, signed)


# ---------------------------------------------------------------- signals


def standard(model: Model, first: Trajectory, mass: float, reach: float) -> list[Signal]:
    """Return what is plotted of any motion: the change of energy, how far each floating base has turned, and the fastest joint's speed.

    A robot of a mass, kg, that reaches so far, m, stands still where it would take 1e12 s to move as far.
    """
    found = []
    if model.nv:
        K, U = (float(x[0]) for x in first.energy())
        least = max(abs(K) + abs(U), ROUNDING * mass * reach**2)
        found.append(Signal("energy change", "J", lambda s: np.add(*s.energy()) - (K + U), least))
    for b in (model.bodies[i] for i in model.roots):
        if b.kind.floats:
            name = "base" if b is model.base else b.joint.child
            found.append(Signal(f"{name} rotation", "°", functools.partial(turned, b.q, first.q[0, b.q][:4])))
    for of, name, unit in (("rad", "fastest joint", "rad/s"), ("m", "fastest slide", "m/s")):
        moving = [b for b in model.bodies if b.kind.adds and {*b.kind.units} == {of} and not b.mimics]
        if moving:
            entries = [k for b in moving for k in range(b.v.start, b.v.stop)]
            found.append(Signal(name, unit, functools.partial(fastest, entries), 1.0 if of == "rad" else reach))
    return found


def turned(at: slice, q0: Array, s: Trajectory) -> Array:
    """Return the angle (n), degrees, by which the floating body whose coordinates are at a slice of q has turned since q0 (4)."""
    q = s.q[:, at][:, :4]
    away = quaternion.product(np.broadcast_to(quaternion.conjugate(q0), q.shape), q)
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(away[:, 1:], axis=1), np.abs(away[:, 0])))


def fastest(entries: list[int], s: Trajectory) -> Array:
    """Return the greatest of some velocities (n)."""
    return np.abs(s.v[:, entries]).max(axis=1)


def entry(which: str, i: int, s: Trajectory) -> Array:
    """Return an entry of q, v or tau (n)."""
    return getattr(s, which)[:, i]


def component(name: str, at: tuple[int, ...], s: Trajectory) -> Array:
    """Return an entry of a signal (n)."""
    where: tuple[Any, ...] = (slice(None), *at)
    return s.signals[name][where]


def chosen(model: Model, first: Trajectory, name: str) -> Signal:
    """Return a signal of a motion, or an entry of q, v or tau, by its name."""
    known: dict[str, Callable[[Trajectory], Array]] = {}
    for which in ("q", "v", "tau"):
        for i, label in enumerate(model.labels(which)):
            known[f"{which}.{label}"] = functools.partial(entry, which, i)
    for signal, x in first.signals.items():
        for at in np.ndindex(*x.shape[1:]):
            known[signal + (f"[{','.join(map(str, at))}]" if at else "")] = functools.partial(component, signal, at)
    if name not in known:
        raise ViewerError(f"'{model.name}' has no signal '{name}'{nearest(name, known)}; expected one of "
                          f"{', '.join([*known][:MANY])}{', …' if len(known) > MANY else ''}")  # fmt: skip
    return Signal(name, unit_of(model, name), known[name])


def unit_of(model: Model, name: str) -> str:
    """Return the unit of an entry of q, v or tau; "" of a quaternion's, and of what is not known.

    >>> import engine
    >>> model = engine.load_urdf(engine.example("seven_joint_arm"))
    >>> joint = model.bodies[0].joint.name
    >>> [unit_of(model, f"{which}.{joint}") for which in ("q", "v", "tau")]
    ['rad', 'rad/s', 'N·m']
    >>> flyer = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    >>> [unit_of(flyer, entry) for entry in ("q.floating_base.z", "v.floating_base.wx", "tau.floating_base.vy")]
    ['m', 'rad/s', 'N']
    """
    which, _, label = name.partition(".")
    if which not in ("q", "v", "tau") or label not in (labels := [*model.labels(which)]):
        return "W" if name.endswith(".power") else ""
    at = labels.index(label)
    body, k = next((b, at - part.start) for b in model.bodies for part in [b.q if which == "q" else b.v] if part.start <= at < part.stop)
    kind = body.kind
    if which == "q" and kind.nq > kind.nv:                                     # its first four are a quaternion
        return kind.units[k - 1] if k >= 4 else ""
    return {"q": kind.units[k], "v": f"{kind.units[k]}/s", "tau": kind.force_units[k]}[which]


def parts_of_momentum(s: Trajectory) -> Array:
    """Return the angular momenta (T, 2, 3) of the floating base's link, of several the first, and of all else, about the centre of mass of
    all, N·m·s."""
    model, floating = s.model, first_floating(s.model)
    if floating is None:
        raise ViewerError(f"bars of momentum of '{model.name}', whose base is fixed; expected a robot that floats")
    i = model.link_index(floating.joint.child)
    G = model.links[i].inertia
    poses, V = s.pose(model.links[i].name), s.v[:, floating.v]
    R, p = poses[..., :3, :3], poses[..., :3, 3]
    own = np.einsum("ij,tj->ti", G, V)                                         # about the link's origin, its axes
    L, P = ((R @ x[:, :, None])[..., 0] for x in (own[:, :3], own[:, 3:]))
    base = L + np.cross(p - s.robot.center_of_mass(s.q), P)
    return np.stack([base, s.momentum("center_of_mass")[:, :3] - base], axis=1)


def first_floating(model: Model) -> Body | None:
    """Return the first body that nothing holds, such as the base; None where there is none."""
    return next((model.bodies[i] for i in model.roots if model.bodies[i].kind.floats), None)


def exchanged(s: Trajectory) -> tuple[Array, float]:
    """Return the direction (3) of the base's largest angular momentum, and how large it or the rest's becomes, N·m·s."""
    if first_floating(s.model) is None:
        return np.zeros(3), 0.0
    parts = parts_of_momentum(s)
    base = parts[np.linalg.norm(parts[:, 0], axis=1).argmax(), 0]
    axis = base / max(float(np.linalg.norm(base)), 1e-300)
    return axis, float(np.abs(parts @ axis).max())


def reduced(t: Array, y: Array, points: int = POINTS) -> tuple[Array, Array]:
    """Return a curve of about so many points that has the same extremes: of each stretch of time the least and the greatest value."""
    if len(t) <= points:
        return t, y
    edges = np.linspace(0, len(t), points // 2 + 1).astype(int)
    ends = [k for a, b in itertools.pairwise(edges) for k in sorted((a + int(y[a:b].argmin()), a + int(y[a:b].argmax())))]
    keep = np.unique([0, *ends, len(t) - 1])
    return t[keep], y[keep]


# ---------------------------------------------------------------- numbers


def fixed(x: float, digits: int) -> str:
    """Return a number with so many digits after the point."""
    return f"{x + 0.0:.{digits}f}".replace("-", "−")


def roll_pitch_yaw(R: Array) -> Array:
    """Return angles (3), rad, about fixed x, y, z, one after another: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
