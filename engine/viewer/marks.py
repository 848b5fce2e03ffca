"""What explains a scene: frames, axes, centres of mass, inertias, momenta, forces, trails and names.

Arrows' lengths are relative to the longest of their kind in the whole motion, and sizes to the robot's, so that a mark means the same in
every picture of it. Of a batch the first :data:`MOST` rollouts are explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from engine.checks import nearest
from engine.model import Model
from engine.simulation import Component, Trajectory
from engine.simulation.actuators import Thrusters
from engine.simulation.forces import PointForce
from engine.spatial import inertia
from engine.viewer.drawing import Drawing, measure
from engine.viewer.scene import Actor, Scene, ViewerError
from engine.viewer.surface import sphere
from engine.viewer.symbols import Symbols, norms

Array = np.ndarray
Names = bool | tuple[str, ...]
#: rollouts of a batch that are explained
MOST = 50
#: states of a motion that scales are taken from
LOOKS = 400
#: points of a trail, and how many of them in a second of motion
POINTS, RATE = 4000, 120.0
#: momentum below this part of what the motion's energy could carry has cancelled, and is not drawn
CANCELLED = 1e-6

AXIS, LINEAR, ANGULAR = (0.95, 0.40, 0.05, 1.0), (1.0, 0.58, 0.05, 1.0), (0.72, 0.25, 0.90, 1.0)
TORQUE, FORCE, INERTIA = (0.05, 0.72, 0.78, 1.0), (0.90, 0.15, 0.42, 1.0), (0.35, 0.62, 1.0, 0.38)
LABEL, PICKED = (1.0, 1.0, 1.0, 1.0), (1.35, 1.0, 0.5, 1.0)
TRAILS = ((1.0, 0.60, 0.10), (0.20, 0.72, 0.95), (0.30, 0.80, 0.35), (0.95, 0.35, 0.60), (0.98, 0.88, 0.25), (0.65, 0.50, 0.98))


@dataclass(frozen=True)
class Shown:
    """What is shown of robots besides their surfaces. Where names are taken, True stands for all of them.

    Attributes
    ----------
    joint_frames : of the joints that move, where they are at zero: the frame is fixed to the parent
    link_frames : x red, y green, z blue
    joint_axes : dash-dotted, as centre lines are
    centers : centres of mass of the links and of all that moves, as balls whose volumes are as the masses
    inertias : of the links, as solid ellipsoids of even density with the same mass and moments
    momentum : of all that moves, at its centre of mass: linear (orange), and angular about that point (violet)
    torques : of the joints: moments as arcs around them, forces as arrows
    labels : the links' names
    forces : :class:`Thrusters` and :class:`PointForce` whose forces are drawn; thrust is a signal of the motion
    trails : links, or (link, (x, y, z)) with a point in the link's frame, m, whose paths over the last ``trail_time`` s are drawn
    wireframe, transparent : whether surfaces are drawn as lines, or let what is inside shine through
    """

    joint_frames: Names = False
    link_frames: Names = False
    joint_axes: Names = False
    centers: Names = False
    inertias: Names = False
    momentum: bool = False
    torques: Names = False
    labels: Names = False
    forces: tuple[Component, ...] = ()
    trails: tuple[Any, ...] = ()
    trail_time: float = 2.0
    wireframe: bool = False
    transparent: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything to add to the surfaces."""
        return any((self.joint_frames, self.link_frames, self.joint_axes, self.centers, self.inertias, self.momentum, self.torques,
                    self.labels, self.forces, self.trails))  # fmt: skip


def mark(scene: Scene, t: float, shown: Shown, picked: tuple[Actor, int, str] | None = None) -> Drawing:
    """The drawing of a scene at a time, s, with what is shown besides; a picked link, of an instance of an actor, stands out.

    Raises
    ------
    ViewerError : a joint or link is named that no robot has, or a motion lacks what is to be shown
    """
    check(scene, shown)
    drawing = replace(scene.drawing(t), wireframe=shown.wireframe)
    if shown.transparent or picked is not None:
        colors = drawing.colors * [1.0, 1.0, 1.0, 0.3 if shown.transparent else 1.0]
        every = [(a, k, a.model.links[p.link].name) for a in scene.actors for k in range(a.instances) for p in a.parts] if picked else []
        colors[[i for i, one in enumerate(every) if one == picked]] *= PICKED
        drawing = replace(drawing, colors=colors)
    if not shown:
        return drawing
    symbols = Symbols()
    for actor in scene.actors:
        explain(symbols, actor, t, shown)
    return symbols.onto(drawing)


def check(scene: Scene, shown: Shown) -> None:
    """Refuse what no robot of the scene has."""
    links = {link.name for a in scene.actors for link in a.model.links}
    joints = {joint.name for a in scene.actors for joint in a.model.joints}
    for what, known in (("link_frames", links), ("centers", links), ("inertias", links), ("labels", links), ("trails", links),
                        ("joint_frames", joints), ("joint_axes", joints), ("torques", joints)):  # fmt: skip
        named = getattr(shown, what)
        for name in () if isinstance(named, bool) else named:
            name = spot(name)[0] if what == "trails" else name
            if name not in known:
                kind = "link" if known is links else "joint"
                raise ViewerError(f"{what}: no {kind} is named {name!r}{nearest(str(name), known)}; expected names of {kind}s")
    if not shown.trail_time > 0:
        raise ViewerError(f"trail_time is {shown.trail_time!r}; expected seconds above zero")
    for component in shown.forces:
        if not isinstance(component, (Thrusters, PointForce)):
            raise ViewerError(f"forces: got a {type(component).__name__}; expected Thrusters or PointForce")


def spot(trail: Any) -> tuple[str, Array]:
    """The link and the point (4), with a one after it, of an entry of ``Shown.trails``."""
    link, point = (trail, (0, 0, 0)) if isinstance(trail, str) else trail
    point = np.asarray(point, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ViewerError(f"trails: the point of {link!r} is {point.tolist()}; expected three finite numbers, m")
    return link, np.append(point, 1.0)


def chosen(named: Names, names: Iterable[str]) -> list[int]:
    """Where the names are that are asked for."""
    return [i for i, name in enumerate(names) if named is True or (named and name in named)]


# ---------------------------------------------------------------- states


@dataclass(frozen=True)
class States:
    """Configurations q (n, nq) and velocities v (n, nv); of a motion also its tau (n, nv) and signals (n, ...)."""

    q: Array
    v: Array
    tau: Array | None = None
    signals: dict[str, Array] = field(default_factory=dict)


def gathered(motion: Trajectory) -> States:
    """The states of the rollouts that are explained, one after another."""
    lead = motion.q.ndim - 2

    def flat(x: Array) -> Array:
        rollouts = x.reshape(-1, *x.shape[lead:])[:MOST]
        return rollouts.reshape(-1, *rollouts.shape[2:])

    return States(flat(motion.q), flat(motion.v), flat(motion.tau), {n: flat(x) for n, x in motion.signals.items()})


def states(actor: Actor, t: float, driven: bool) -> States:
    """The states of a robot's instances at a time, or of the first or last time beyond the ends; if asked for, with what drives them."""
    q, v = (x[:MOST] for x in actor.state(t))
    motion = actor.trajectory
    if not driven or (motion is None and actor.live is None):
        return States(q, v)
    if motion is None:
        now = actor.live.state                                                          # type: ignore[union-attr]
        return States(q, v, now.tau[None], {n: np.asarray(x)[None] for n, x in now.signals.items()})
    k = int(np.clip(np.searchsorted(motion.t, t, side="right") - 1, 0, max(len(motion) - 2, 0)))
    near = motion[k : k + 2]
    w = float(np.clip((t - near.t[0]) / max(near.t[-1] - near.t[0], 1e-300), 0.0, 1.0))

    def between(x: Array) -> Array:
        x = x.reshape(len(q), len(near), *x.shape[1:])
        return (1.0 - w) * x[:, 0] + w * x[:, -1]

    both = gathered(near)
    assert both.tau is not None
    return States(q, v, between(both.tau), {n: between(x) for n, x in both.signals.items()})


# ---------------------------------------------------------------- what follows from them


@dataclass
class Memory:
    """What was found in a motion: the largest of things, and the paths of points, as times (K) and points (n, K, 3)."""

    largest: dict[str, float] = field(default_factory=dict)
    paths: dict[tuple[Any, ...], tuple[Array, Array]] = field(default_factory=dict)


class Known:
    """What is worked out once for a robot.

    Attributes
    ----------
    whole, link : the longest side of a box about the robot at first, and of most of its links, m
    mass (nlinks) : of the links that move, zero for others, kg; centers (nlinks, 4) : centres of mass in the links' frames, with a one
    """

    def __init__(self, actor: Actor) -> None:
        self.model, self.robot = actor.model, actor.robot
        model = actor.model
        poses = actor.poses(actor.span[0])[0]
        corners: dict[int, list[Array]] = {}
        for p in actor.parts:
            ends = np.column_stack([measure(p.surface).box, [1.0, 1.0]])
            corners.setdefault(p.link, []).append(ends @ (poses[p.link] @ p.placement)[:3].T)
        points = [poses[:, :3, 3], *(x for found in corners.values() for x in found)]
        self.whole = max(float(np.ptp(np.concatenate(points), axis=0).max()), 1e-3)
        sides = [float(np.ptp(np.concatenate(found), axis=0).max()) for found in corners.values()]
        self.link = float(np.clip(np.median(sides or [0.25 * self.whole]), 0.05 * self.whole, 0.5 * self.whole))
        self.mass = np.array([x.mass * (body >= 0) for x, (body, _) in zip(model.links, model.carrier, strict=True)])
        self.centers = np.array([[*inertia.center(x.inertia), 1.0] for x in model.links])
        self._running, self._motions = Memory(), WeakKeyDictionary[Trajectory, Memory]()

    @cached_property
    def ellipsoids(self) -> Array:
        """Of the links with mass (nlinks, 4, 4), in their frames."""
        return np.array([ellipsoid(link.inertia) if link.mass > 0 else np.eye(4) for link in self.model.links])

    @cached_property
    def children(self) -> list[int]:
        """The links below the joints that move."""
        return [self.model.link_index(b.joint.child) for b in self.model.bodies]

    @cached_property
    def _subspaces(self) -> Array:
        return self._at(self.model.neutral())

    def _at(self, q: Array) -> Array:
        S = np.zeros((len(self.model.bodies), 6, self.model.nv))
        for k, b in enumerate(self.model.bodies):
            S[k, :, b.v] = b.subspace(q)
        return S

    def subspaces(self, q: Array) -> Array:
        """S(q) of the joints that move (n, bodies, 6, nv), in the frames of the links below."""
        if any(b.kind.subspace_rate is not None for b in self.model.bodies):
            return np.stack([self._at(x) for x in q])
        return np.broadcast_to(self._subspaces, (len(q), *self._subspaces.shape))

    def joint_wrenches(self, s: States) -> Array:
        """What the joints' forces do to the links below (n, bodies, 6), F = S τ: [moment; force] in the links' frames."""
        assert s.tau is not None
        own = np.array([not b.mimics for b in self.model.bodies])
        return (self.subspaces(s.q) @ s.tau[:, None, :, None])[..., 0] * own[:, None]

    def momenta(self, s: States) -> tuple[Array, Array, Array]:
        """Centre of mass of all that moves, linear momentum, and angular momentum about that point (n, 3), world axes."""
        poses = self.robot.forward_kinematics(s.q)
        c = self.mass @ (poses[..., :3, :] @ self.centers[:, :, None])[..., 0] / self.mass.sum()
        P = self.robot.momentum(s.q, s.v)
        return c, P[:, 3:], P[:, :3] - np.cross(c, P[:, 3:])

    def longest(self, actor: Actor, now: States, what: str, of: Callable[[States], Array]) -> float:
        """The largest of something in the whole motion; of one that runs, until now."""
        motion, largest = actor.trajectory, self.memory(actor.trajectory).largest
        if motion is None:
            largest[what] = max(largest.get(what, 0.0), float(np.max(of(now), initial=0.0)))
        elif what not in largest:
            largest[what] = float(np.max(of(gathered(motion[:: -(-len(motion) // LOOKS)])), initial=0.0))
        return largest[what]

    def memory(self, motion: Trajectory | None) -> Memory:
        """What was found in a motion, or in one that runs."""
        return self._running if motion is None else self._motions.setdefault(motion, Memory())


KNOWN: WeakKeyDictionary[Actor, Known] = WeakKeyDictionary()


def known_of(actor: Actor) -> Known:
    """What is worked out once for a robot."""
    if actor not in KNOWN:
        KNOWN[actor] = Known(actor)
    return KNOWN[actor]


def ellipsoid(G: Array) -> Array:
    """The matrix (4, 4) that makes a ball of radius 1 the solid ellipsoid of even density whose inertia is G (6, 6), in G's frame.

    With the principal moments I about the centre of mass, its semi-axes are a² = 5/2 (I_b + I_c − I_a)/m.
    """
    m, c = float(inertia.mass(G)), inertia.center(G)
    I, axes = np.linalg.eigh(G[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c)))
    T = np.eye(4)
    T[:3, :3] = axes * np.linalg.det(axes) * np.sqrt(np.maximum(2.5 * (I.sum() - 2.0 * I) / m, 0.0))
    T[:3, 3] = c
    return T


# ---------------------------------------------------------------- what is shown of a robot


def explain(symbols: Symbols, actor: Actor, t: float, shown: Shown) -> None:
    """Add what is shown of one robot."""
    model, known = actor.model, known_of(actor)
    now = states(actor, t, driven=bool(shown.torques or shown.forces))
    poses = actor.robot.forward_kinematics(now.q)
    index = {link.name: i for i, link in enumerate(model.links)}
    if links := chosen(shown.link_frames, index):
        symbols.frames(poses[:, links].reshape(-1, 4, 4), 0.4 * known.link)
    jointed = [j for j in model.joints if j.parent and j.kind != "fixed"]
    if joints := [jointed[k] for k in chosen(shown.joint_frames, [j.name for j in jointed])]:
        T = poses[:, [index[j.parent] for j in joints]] @ np.array([j.placement for j in joints])
        symbols.frames(T.reshape(-1, 4, 4), 0.4 * known.link)
    if shown.joint_axes:
        show_axes(symbols, model, known, now, poses, shown.joint_axes)
    if shown.centers:
        show_centers(symbols, model, known, poses, shown.centers)
    heavy = [i for i, link in enumerate(model.links) if link.mass > 0]
    if links := [heavy[k] for k in chosen(shown.inertias, [model.links[i].name for i in heavy])]:
        symbols.place(sphere()[0].surface, (poses[:, links] @ known.ellipsoids[links]).reshape(-1, 4, 4), INERTIA)
    if shown.momentum and known.mass.any():
        show_momentum(symbols, actor, known, now)
    if shown.torques and now.tau is not None:
        show_torques(symbols, actor, known, now, poses, shown.torques)
    for component in shown.forces:
        if component.link in index:                                                     # type: ignore[attr-defined]
            show_force(symbols, actor, known, now, poses, component)
    for k, trail in enumerate(shown.trails):
        link, point = spot(trail)
        if link in index and (actor.trajectory is not None or actor.live is not None):
            tip = poses[:, index[link], :3] @ point
            times, points = path(actor, known, index[link], point, t - shown.trail_time)
            show_trail(symbols, times, points, t, shown.trail_time, tip, TRAILS[k % len(TRAILS)])
    for i in chosen(shown.labels, index):
        middles = [p.placement[:3] @ np.append(measure(p.surface).box.mean(axis=0), 1.0) for p in actor.parts if p.link == i]
        if middles or shown.labels is not True:
            at = np.append(np.mean(middles or [np.zeros(3)], axis=0), 1.0)
            symbols.labels.append((poses[0, i, :3] @ at, model.links[i].name, LABEL))


def show_axes(symbols: Symbols, model: Model, known: Known, now: States, poses: Array, named: Names) -> None:
    """The axes about which joints turn, or along which they slide; joints with more than two have none to tell."""
    S = known.subspaces(now.q)
    for k in chosen(named, [b.joint.name for b in model.bodies]):
        own = S[:, k, :, model.bodies[k].v]                                             # the slice's axis comes last
        if own.shape[2] <= 2:
            T = poses[:, known.children[k]]
            along = np.where(norms(np.swapaxes(own[:, :3], 1, 2))[:, None] > 0.0, own[:, :3], own[:, 3:])
            for u in np.moveaxis(T[:, :3, :3] @ along, 2, 0):
                symbols.center_lines(T[:, :3, 3], u / norms(u)[:, None], 1.1 * known.link, AXIS)


def show_centers(symbols: Symbols, model: Model, known: Known, poses: Array, named: Names) -> None:
    """Centres of mass of links, and of all that moves where all are shown."""
    centers = (poses[..., :3, :] @ known.centers[:, :, None])[..., 0]
    masses = np.array([link.mass for link in model.links])
    total = known.mass.sum()
    radius = 0.17 * known.link / np.cbrt(max(total, masses.max(), 1e-300))
    links = [i for i in chosen(named, [link.name for link in model.links]) if masses[i] > 0]
    symbols.balls(centers[:, links].reshape(-1, 3), np.tile(radius * np.cbrt(masses[links]), len(poses)))
    if named is True and total > 0:
        symbols.balls(known.mass @ centers / total, np.full(len(poses), radius * np.cbrt(total)))


def show_momentum(symbols: Symbols, actor: Actor, known: Known, now: States) -> None:
    """Linear and angular momentum at the centre of mass; the longest arrows are 0.6 of the robot's size."""
    c, *vectors = known.momenta(now)
    energy = known.longest(actor, now, "energy", lambda s: known.robot.energy(s.q, s.v)[0])
    carried = np.sqrt(2.0 * known.mass.sum() * energy)                                  # |p| ≤ √(2 m K)
    for k, (color, bound) in enumerate(((LINEAR, carried), (ANGULAR, carried * known.whole))):
        top = known.longest(actor, now, f"momentum {k}", partial(part_of_momentum, known, k))
        if top > CANCELLED * bound:
            symbols.arrows(c, vectors[k] * (0.6 * known.whole / top), color, 0.0065 * known.whole)


def part_of_momentum(known: Known, k: int, s: States) -> Array:
    """Lengths (n) of the linear (0) or the angular (1) momentum."""
    return norms(known.momenta(s)[1 + k])


def show_torques(symbols: Symbols, actor: Actor, known: Known, now: States, poses: Array, named: Names) -> None:
    """Moments as arcs, the largest almost a circle; forces as arrows, the longest 0.4 of the robot's size."""
    which = chosen(named, [b.joint.name for b in actor.model.bodies])
    T = poses[:, [known.children[k] for k in which]].reshape(-1, 4, 4)
    F = known.joint_wrenches(now)[:, which].reshape(-1, 6)
    moment = known.longest(actor, now, "joint moment", lambda s: norms(known.joint_wrenches(s)[..., :3]))
    force = known.longest(actor, now, "joint force", lambda s: norms(known.joint_wrenches(s)[..., 3:]))
    if moment > 0.0:
        symbols.arcs(T, F[:, :3] / moment, 0.6 * known.link, TORQUE)
    if force > 0.0:
        symbols.arrows(T[:, :3, 3], (T[:, :3, :3] @ F[:, 3:, None])[..., 0] * (0.4 * known.whole / force), TORQUE, 0.03 * known.link)


def show_force(symbols: Symbols, actor: Actor, known: Known, now: States, poses: Array, component: Any) -> None:
    """Forces where they act, the longest 0.35 of the robot's size: thrust pushes, its arrow ends there; others pull, theirs begin there."""
    T = poses[:, actor.model.link_index(component.link)]
    R, p = T[:, :3, :3], T[:, :3, 3]
    if isinstance(component, PointForce):
        if component.force.any():
            f = 0.35 * known.whole * component.force / norms(component.force)
            along = R @ f if component.axes == "link" else np.broadcast_to(f, p.shape)
            symbols.arrows(R @ component.point + p, along, FORCE, 0.0055 * known.whole)
        return
    if actor.trajectory is None and actor.live is None:
        return
    name = f"{component.name}.thrust"
    if name not in now.signals:
        raise ViewerError(f"forces: the motion of '{actor.model.name}' has no signal '{name}'{nearest(name, now.signals)}; "
                          f"expected the thrusters that it was simulated with")  # fmt: skip
    top = known.longest(actor, now, name, lambda s: s.signals[name])
    if top > 0.0:
        along = component.directions @ np.swapaxes(R, 1, 2) * (0.35 * known.whole / top * now.signals[name])[..., None]
        ends = component.positions @ np.swapaxes(R, 1, 2) + p[:, None]
        symbols.arrows((ends - along).reshape(-1, 3), along.reshape(-1, 3), FORCE, 0.0055 * known.whole)


# ---------------------------------------------------------------- trails


def rollouts(motion: Trajectory) -> Iterator[Trajectory]:
    """The rollouts that are explained."""
    if motion.q.ndim == 2:
        yield motion
        return
    for _, k in zip(range(MOST), np.ndindex(motion.q.shape[:-2]), strict=False):
        yield motion.rollout(k)


def path(actor: Actor, known: Known, link: int, point: Array, since: float) -> tuple[Array, Array]:
    """Times (K) and where a link's point (4) is then (n, K, 3), in the whole motion; of one that runs, since a time."""
    motion, key = actor.trajectory, (link, *point)
    if motion is None:
        assert actor.live is not None
        past = actor.live.history
        past = past[past.t >= since]
        return past.t, (actor.robot.forward_kinematics(past.q)[:, link, :3] @ point)[None]
    paths = known.memory(motion).paths
    if key not in paths:
        count = int(min(RATE * (motion.t[-1] - motion.t[0]) + 2.0, POINTS))
        times = np.linspace(motion.t[0], motion.t[-1], count)
        found = []
        for one in rollouts(motion):
            q = one.at(np.clip(times, one.t[0], one.t[-1])).q if len(one) > 1 else np.repeat(one.q, count, axis=0)
            found.append(actor.robot.forward_kinematics(q)[:, link, :3] @ point)
        paths[key] = times, np.array(found)
    return paths[key]


def show_trail(symbols: Symbols, times: Array, points: Array, t: float, lasts: float, tip: Array, color: tuple[float, ...]) -> None:
    """The paths of points (n, K, 3) at times (K) until now, where they are at ``tip`` (n, 3); they fade with age."""
    a, b = np.searchsorted(times, [t - lasts, min(t, times[-1])]) if len(times) else (0, 0)
    line = np.concatenate([points[:, a:b], tip[:, None]], axis=1)
    fresh = np.clip(1.0 - (t - times[a:b]) / lasts, 0.0, 1.0)
    colors = np.column_stack([np.tile(color, (b - a, 1)), fresh**1.3])
    symbols.lines(np.stack([line[:, :-1], line[:, 1:]], axis=2).reshape(-1, 2, 3), np.tile(colors, (len(line), 1)), 3.0)
