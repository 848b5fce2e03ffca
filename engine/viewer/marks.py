"""What explains a scene: frames, axes, centres of mass, inertias, momenta, forces, trails and names.

Arrows' lengths are relative to the longest of their kind in the whole motion, and sizes to the robot's, so that a mark means the same in
every picture of it. Of a batch of rollouts the first :data:`MOST` are explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from engine.model import Model, nearest
from engine.simulation import Component, Trajectory
from engine.simulation.actuators import Thrusters
from engine.simulation.forces import PointForce
from engine.spatial import inertia
from engine.viewer.drawing import Drawing
from engine.viewer.scene import Actor, Scene, ViewerError
from engine.viewer.surface import Surface, revolved, sphere

Array = np.ndarray
Color = tuple[float, float, float, float]
#: rollouts of a batch that are explained
MOST = 50
#: states of a motion that scales are taken from, and points of a trail
LOOKS, POINTS = 400, 4000
#: points of a trail in a second of motion
RATE = 120.0
#: momentum below this part of what the motion's energy could carry has cancelled, and is not drawn
CANCELLED = 1e-6
#: of arcs, rad: the widest, the arrow's head, and what their shafts differ by, which their heads hide
WIDEST, HEAD, STEP = 5.0, 0.5, 0.2

RED, GREEN, BLUE = (0.86, 0.13, 0.12, 1.0), (0.13, 0.62, 0.18, 1.0), (0.10, 0.33, 0.90, 1.0)
AXIS, LINEAR, ANGULAR = (0.95, 0.40, 0.05, 1.0), (1.0, 0.58, 0.05, 1.0), (0.72, 0.25, 0.90, 1.0)
TORQUE, FORCE, INERTIA = (0.05, 0.66, 0.70, 1.0), (0.90, 0.15, 0.42, 1.0), (0.35, 0.62, 1.0, 0.38)
LABEL, PICKED = (1.0, 1.0, 1.0, 1.0), (1.35, 1.0, 0.5, 1.0)
TRAILS = ((1.0, 0.60, 0.10), (0.20, 0.72, 0.95), (0.30, 0.80, 0.35), (0.95, 0.35, 0.60), (0.98, 0.88, 0.25), (0.65, 0.50, 0.98))


@dataclass(frozen=True)
class Shown:
    """What is shown of robots besides their surfaces. Where names are taken, True stands for all of them.

    Attributes
    ----------
    joint_frames : of the joints that move, before they do: the frame is fixed to the parent
    link_frames : x red, y green, z blue
    joint_axes : dash-dotted, as centre lines are
    centers : centres of mass of the links and of all that moves, as balls whose volumes are as their masses
    inertias : of the links, as solid ellipsoids of even density with the same mass and moments
    momentum : of all that moves, about its centre of mass: linear (orange) and angular (violet)
    torques : of the joints: moments as arcs about their axes, forces as arrows
    labels : the links' names
    forces : :class:`Thrusters` and :class:`PointForce` whose forces are drawn; thrust is a signal of the motion
    trails : links, or (link, (x, y, z)) with a point in the link's frame, m, whose path over the last ``trail_time`` s is drawn
    wireframe, transparent : whether surfaces are drawn as lines, or let what is inside shine through
    """

    joint_frames: bool | tuple[str, ...] = False
    link_frames: bool | tuple[str, ...] = False
    joint_axes: bool | tuple[str, ...] = False
    centers: bool | tuple[str, ...] = False
    inertias: bool | tuple[str, ...] = False
    momentum: bool = False
    torques: bool | tuple[str, ...] = False
    labels: bool | tuple[str, ...] = False
    forces: tuple[Component, ...] = ()
    trails: tuple[Any, ...] = ()
    trail_time: float = 2.0
    wireframe: bool = False
    transparent: bool = False


def mark(scene: Scene, t: float, shown: Shown, picked: str | None = None) -> Drawing:
    """The drawing of a scene at a time, s, with what is shown besides it; a picked link stands out.

    Raises
    ------
    ViewerError : a joint or link is named that no robot has, or a motion lacks what is to be shown
    """
    drawing = scene.drawing(t)
    check(scene, shown)
    if shown.transparent or picked is not None:
        colors = drawing.colors * [1.0, 1.0, 1.0, 0.3 if shown.transparent else 1.0]
        names = [a.model.links[p.link].name for a in scene.actors for _ in range(instances(a)) for p in a.parts]
        colors[[name == picked for name in names]] *= PICKED
        drawing = replace(drawing, colors=colors)
    marks = Marks()
    for actor in scene.actors:
        explain(marks, actor, t, shown)
    return marks.onto(replace(drawing, wireframe=shown.wireframe))


def check(scene: Scene, shown: Shown) -> None:
    """Refuse names that no robot of the scene has."""
    links = {link.name for a in scene.actors for link in a.model.links}
    joints = {joint.name for a in scene.actors for joint in a.model.joints}
    for what, known in (("link_frames", links), ("centers", links), ("inertias", links), ("labels", links), ("trails", links),
                        ("joint_frames", joints), ("joint_axes", joints), ("torques", joints)):  # fmt: skip
        named = getattr(shown, what)
        for name in () if isinstance(named, bool) else named:
            name = spot(name)[0] if what == "trails" else name
            if name not in known:
                kind = "link" if known is links else "joint"
                raise ViewerError(f"{what}: no {kind} is named {name!r}{nearest(str(name), known)}; expected one of the {kind}s' names")
    for component in shown.forces:
        if not isinstance(component, (Thrusters, PointForce)):
            raise ViewerError(f"forces: got a {type(component).__name__}; expected Thrusters or PointForce")


def spot(trail: Any) -> tuple[str, Array]:
    """The link and the point (3) of an entry of ``Shown.trails``."""
    link, point = (trail, np.zeros(3)) if isinstance(trail, str) else trail
    point = np.asarray(point, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ViewerError(f"trails: the point of {link!r} is {point.tolist()}; expected three finite numbers, m")
    return link, point


def chosen(named: bool | tuple[str, ...], names: Iterable[str]) -> list[int]:
    """Where the names are that are asked for."""
    return [i for i, name in enumerate(names) if named is True or (named and name in named)]


# ---------------------------------------------------------------- what a robot does


@dataclass(frozen=True)
class Moment:
    """States: q (n, nq), v (n, nv), and of a motion tau (n, nv) and the signals (n, ...)."""

    q: Array
    v: Array
    tau: Array | None = None
    signals: dict[str, Array] | None = None


def instances(actor: Actor) -> int:
    """How many times a robot is drawn."""
    if actor.trajectory is not None:
        return int(np.prod(actor.trajectory.q.shape[:-2]))
    return 1 if actor.live is not None else len(actor.q)


def gathered(trajectory: Trajectory) -> Moment:
    """All states of a trajectory, one after another."""
    lead = trajectory.q.ndim - 1

    def flat(x: Array) -> Array:
        return x.reshape(-1, *x.shape[lead:])

    return Moment(flat(trajectory.q), flat(trajectory.v), flat(trajectory.tau), {n: flat(x) for n, x in trajectory.signals.items()})


def moment(actor: Actor, t: float) -> Moment:
    """The states of a robot's instances at a time, or at the first or last beyond the ends."""
    if actor.trajectory is not None:
        motion = actor.trajectory
        return gathered(motion if len(motion) == 1 else motion.at([min(max(t, actor.span[0]), actor.span[1])]))
    if actor.live is not None:
        s = actor.live.state
        return Moment(s.q[None], s.v[None], s.tau[None], {n: np.asarray(x)[None] for n, x in s.signals.items()})
    return Moment(actor.q, np.zeros((len(actor.q), actor.model.nv)))


SCALES: WeakKeyDictionary[Actor, dict[str, float]] = WeakKeyDictionary()


def longest(actor: Actor, now: Moment, what: str, measure: Callable[[Moment], Array]) -> float:
    """The largest of a measure in the whole motion; of one that runs, until now."""
    known = SCALES.setdefault(actor, {})
    if what not in known:
        motion = actor.trajectory
        looks = now if motion is None else gathered(motion[:: -(-len(motion) // LOOKS)])
        known[what] = float(np.max(measure(looks), initial=0.0))
    known[what] = max(known[what], float(np.max(measure(now), initial=0.0)))
    return known[what]


def size(actor: Actor) -> float:
    """The longest side of a box about the robot at its first state, m."""
    known = SCALES.setdefault(actor, {})
    if "size" not in known:
        poses = actor.poses(actor.span[0])[0]
        points = [poses[:, :3, 3]]
        for p in actor.parts:
            T = poses[p.link] @ p.placement
            points.append(p.surface.positions @ T[:3, :3].T + T[:3, 3])
        known["size"] = max(float(np.ptp(np.concatenate(points), axis=0).max()), 1e-3)
    return known["size"]


def moving(model: Model) -> Array:
    """The masses (nlinks) of the links that move; zero for those that do not."""
    return np.array([link.mass * (body >= 0) for link, (body, _) in zip(model.links, model.carrier, strict=True)])


def link_centers(model: Model, poses: Array) -> Array:
    """Centres of mass of the links (n, nlinks, 3), from their poses (n, nlinks, 4, 4)."""
    c = np.array([inertia.center(link.inertia) for link in model.links])
    return (poses[..., :3, :3] @ c[:, :, None])[..., 0] + poses[..., :3, 3]


def momenta(actor: Actor, now: Moment, poses: Array) -> tuple[Array, Array, Array]:
    """Centre of mass of all that moves, linear momentum, and angular momentum about it (n, 3), world axes."""
    m = moving(actor.model)
    c = m @ link_centers(actor.model, poses) / m.sum()
    P = actor.robot.momentum(now.q, now.v)
    return c, P[:, 3:], P[:, :3] - np.cross(c, P[:, 3:])


def joint_wrenches(actor: Actor, q: Array, tau: Array) -> Array:
    """What the joints' forces do to the links below (n, bodies, 6), F = S τ in the links' frames: [moment; force]."""
    F = np.zeros((len(q), len(actor.model.bodies), 6))
    for k, b in enumerate(actor.model.bodies):
        if not b.mimics:
            S = b.subspace(q[0]) if b.kind.subspace_rate is None else np.stack([b.subspace(x) for x in q])
            F[:, k] = (S @ tau[:, b.v, None])[..., 0]
    return F


def ellipsoid(G: Array) -> Array:
    """The matrix (4, 4) that makes of a ball of radius 1 the solid ellipsoid of even density whose inertia about the link's origin is G (6, 6).

    With the principal moments I about the centre of mass, its semi-axes are a² = 5/2 (I_b + I_c − I_a)/m.
    """
    m, c = float(inertia.mass(G)), inertia.center(G)
    I, axes = np.linalg.eigh(G[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c)))
    T = np.eye(4)
    T[:3, :3] = axes * np.linalg.det(axes) * np.sqrt(np.maximum(2.5 * (I.sum() - 2.0 * I) / m, 0.0))
    T[:3, 3] = c
    return T


# ---------------------------------------------------------------- what is shown of it


def explain(marks: Marks, actor: Actor, t: float, shown: Shown) -> None:
    """Add what is shown of one robot."""
    model, s = actor.model, size(actor)
    now = moment(actor, t)
    now = Moment(now.q[:MOST], now.v[:MOST], None if now.tau is None else now.tau[:MOST],
                 {n: x[:MOST] for n, x in (now.signals or {}).items()})  # fmt: skip
    poses = actor.robot.forward_kinematics(now.q)
    index = {link.name: i for i, link in enumerate(model.links)}
    jointed = [j for j in model.joints if j.parent and j.kind != "fixed"]

    if links := chosen(shown.link_frames, index):
        marks.frames(poses[:, links].reshape(-1, 4, 4), 0.08 * s)
    if joints := [jointed[k] for k in chosen(shown.joint_frames, [j.name for j in jointed])]:
        placed = poses[:, [index[j.parent] for j in joints]] @ np.array([j.placement for j in joints])
        marks.frames(placed.reshape(-1, 4, 4), 0.1 * s)
    bodies = [(k, b) for k, b in enumerate(model.bodies) if b.kind.nv <= 2]
    for _, b in (bodies[k] for k in chosen(shown.joint_axes, [b.joint.name for _, b in bodies])):
        T = poses[:, index[b.joint.child]]
        S = np.stack([b.subspace(q) for q in now.q]) / b.ratio
        turns = np.linalg.norm(S[:, :3], axis=1) > 0.5
        along = np.where(turns[:, None], S[:, :3], S[:, 3:])
        for u in np.moveaxis(T[:, :3, :3] @ along, 2, 0):
            marks.center_lines(T[:, :3, 3], u, 0.25 * s, AXIS)

    m = moving(model)
    centers = link_centers(model, poses)
    solid = [i for i, link in enumerate(model.links) if link.mass > 0]
    if links := [solid[k] for k in chosen(shown.centers, [model.links[i].name for i in solid])]:
        masses = np.array([model.links[i].mass for i in links])
        whole = max(m.sum(), masses.max())
        marks.balls(centers[:, links].reshape(-1, 3), np.tile(0.035 * s * np.cbrt(masses / whole), len(poses)))
    if shown.centers is True and m.any():
        marks.balls(m @ centers / m.sum(), np.full(len(poses), 0.035 * s))
    if links := [solid[k] for k in chosen(shown.inertias, [model.links[i].name for i in solid])]:
        shapes = np.array([ellipsoid(model.links[i].inertia) for i in links])
        marks.place(sphere()[0].surface, (poses[:, links] @ shapes).reshape(-1, 4, 4), INERTIA)

    if shown.momentum and m.any() and model.nv:
        show_momentum(marks, actor, now, poses, m.sum(), s)
    if shown.torques and now.tau is not None:
        show_torques(marks, actor, now, poses, shown.torques, s)
    for component in shown.forces:
        show_force(marks, actor, now, poses, component, s)
    for k, trail in enumerate(shown.trails):
        link, point = spot(trail)
        if link in index:
            tip = (poses[:, index[link], :3] @ np.append(point, 1.0)).reshape(-1, 3)
            show_trail(marks, actor, t, link, point, tip, shown.trail_time, TRAILS[k % len(TRAILS)])
    for i in chosen(shown.labels, index):
        boxes = [p.placement @ np.append(0.5 * (p.surface.positions.min(axis=0) + p.surface.positions.max(axis=0)), 1.0)
                 for p in actor.parts if p.link == i]  # fmt: skip
        if boxes or shown.labels is not True:
            at = np.mean(boxes, axis=0) if boxes else np.array([0.0, 0.0, 0.0, 1.0])
            marks.labels.append(((poses[0, i] @ at)[:3], model.links[i].name, LABEL))


def show_momentum(marks: Marks, actor: Actor, now: Moment, poses: Array, mass: float, s: float) -> None:
    """Linear and angular momentum at the centre of mass; the longest arrows are 0.6 of the robot's size."""
    c, *vectors = momenta(actor, now, poses)
    energy = longest(actor, now, "energy", lambda x: actor.robot.energy(x.q, x.v)[0])
    carried = np.sqrt(2.0 * mass * energy)                                # |p| ≤ √(2 m K)
    for k, (color, least) in enumerate(((LINEAR, carried), (ANGULAR, carried * s))):
        top = longest(actor, now, f"momentum {k}", lambda x, k=k: norms(momenta(actor, x, actor.robot.forward_kinematics(x.q))[k + 1]))
        if top > CANCELLED * least:
            marks.arrows(c, vectors[k] * (0.6 * s / top), color, 0.011 * s)


def show_torques(marks: Marks, actor: Actor, now: Moment, poses: Array, named: bool | tuple[str, ...], s: float) -> None:
    """Moments as arcs about their directions, the largest almost a circle; forces as arrows, the longest 0.4 of the robot's size."""
    assert now.tau is not None
    bodies = actor.model.bodies
    which = chosen(named, [b.joint.name for b in bodies])
    T = poses[:, [actor.model.link_index(b.joint.child) for b in bodies]][:, which].reshape(-1, 4, 4)
    F = joint_wrenches(actor, now.q, now.tau)[:, which].reshape(-1, 6)
    for part, what in ((slice(0, 3), "moment"), (slice(3, 6), "force")):
        top = longest(actor, now, what, lambda x, part=part: norms(joint_wrenches(actor, x.q, x.tau)[..., part]))  # type: ignore[arg-type]
        if top > 0.0 and part.start == 0:
            marks.arcs(T, F[:, part] / top, 0.13 * s, TORQUE)
        elif top > 0.0:
            marks.arrows(T[:, :3, 3], (T[:, :3, :3] @ F[:, part, None])[..., 0] * (0.4 * s / top), TORQUE, 0.008 * s)


def show_force(marks: Marks, actor: Actor, now: Moment, poses: Array, component: Any, s: float) -> None:
    """Forces at the points where they act: thrust pushes, and its arrow ends there; others pull, and theirs begin there."""
    model = actor.model
    if all(link.name != component.link for link in model.links):
        return
    T = poses[:, model.link_index(component.link)]
    if isinstance(component, PointForce):
        point = T[:, :3] @ np.append(component.point, 1.0)
        f = T[:, :3, :3] @ component.force if component.axes == "link" else np.broadcast_to(component.force, point.shape)
        if component.force.any():
            marks.arrows(point, 0.35 * s * f / np.linalg.norm(component.force), FORCE, 0.010 * s)
        return
    name = f"{component.name}.thrust"
    if actor.trajectory is None and actor.live is None:
        return
    if name not in (now.signals or {}):
        raise ViewerError(f"forces: the motion of '{model.name}' has no signal '{name}'{nearest(name, now.signals or {})}; "
                          f"expected the thrusters that it was simulated with")  # fmt: skip
    top = longest(actor, now, name, lambda x: (x.signals or {})[name])
    if top > 0.0:
        thrust = (now.signals or {})[name]
        along = np.einsum("nij,kj->nki", T[:, :3, :3], component.directions) * (0.35 * s / top * thrust)[..., None]
        points = np.einsum("nij,kj->nki", T[:, :3, :3], component.positions) + T[:, None, :3, 3]
        marks.arrows((points - along).reshape(-1, 3), along.reshape(-1, 3), FORCE, 0.008 * s)


PATHS: WeakKeyDictionary[Actor, dict[tuple[Any, ...], tuple[Array, Array]]] = WeakKeyDictionary()


def rollouts(trajectory: Trajectory) -> Iterator[Trajectory]:
    """The rollouts of a trajectory that are explained."""
    if trajectory.q.ndim == 2:
        yield trajectory
        return
    for k, at in zip(range(MOST), np.ndindex(trajectory.q.shape[:-2]), strict=False):
        yield trajectory.rollout(at)


def path(actor: Actor, link: str, point: Array) -> tuple[Array, Array]:
    """Times (K) and where a link's point is then (n, K, 3), over the whole motion; of one that runs, what is remembered of it."""
    motion = actor.trajectory if actor.live is None else actor.live.history
    assert motion is not None
    known = PATHS.setdefault(actor, {})
    key = (link, *point)
    if key not in known or actor.live is not None:
        i = actor.model.link_index(link)
        count = int(min(RATE * (motion.t[-1] - motion.t[0]) + 2.0, POINTS))
        times = np.linspace(motion.t[0], motion.t[-1], count) if len(motion) > 1 else motion.t
        found = []
        for one in rollouts(motion):
            q = one.at(np.clip(times, one.t[0], one.t[-1])).q if len(one) > 1 else np.repeat(one.q, len(times), axis=0)
            found.append(actor.robot.forward_kinematics(q)[:, i, :3] @ np.append(point, 1.0))
        known[key] = times, np.array(found)
    return known[key]


def show_trail(marks: Marks, actor: Actor, t: float, link: str, point: Array, tip: Array, time: float, color: tuple[float, ...]) -> None:
    """The path of a point until now, where it is at ``tip`` (n, 3); it fades with age."""
    if actor.trajectory is None and actor.live is None:
        return
    times, points = path(actor, link, point)
    a, b = np.searchsorted(times, [t - time, min(t, times[-1])])
    if a == b:
        return
    line = np.concatenate([points[:, a:b], tip[:, None]], axis=1)
    age = np.clip((t - times[a:b]) / time, 0.0, 1.0) if np.isfinite(time) else np.zeros(b - a)
    segments = np.stack([line[:, :-1], line[:, 1:]], axis=2).reshape(-1, 2, 3)
    marks.lines(segments, np.tile(np.column_stack([np.tile(color, (b - a, 1)), (1.0 - age) ** 1.3]), (len(line), 1)), 3.0)


def norms(x: Array) -> Array:
    """Lengths of vectors (..., 3)."""
    return np.linalg.norm(x, axis=-1)


# ---------------------------------------------------------------- how it is drawn


class Marks:
    """Surfaces, lines and labels, as they come together."""

    def __init__(self) -> None:
        self.labels: list[tuple[Array, str, tuple[float, ...]]] = []
        self._placed: list[tuple[Surface, Array, Array]] = []
        self._lines: list[tuple[Array, Array, Array]] = []

    def place(self, surface: Surface, poses: Array, color: Any) -> None:
        """Instances of a surface: poses with their scales (n, 4, 4), a colour (4) or one for each (n, 4)."""
        if len(poses):
            self._placed.append((surface, poses, np.broadcast_to(color, (len(poses), 4))))

    def lines(self, segments: Array, colors: Any, width: float) -> None:
        """Segments (m, 2, 3), colours (4) or (m, 4), and their width in pixels."""
        self._lines.append((segments, np.broadcast_to(colors, (len(segments), 4)), np.full(len(segments), width)))

    def arrows(self, tails: Array, vectors: Array, color: Any, breadth: float) -> None:
        """Arrows from points (n, 3) along vectors (n, 3), m, whose shafts have the radius ``breadth``; those shorter than a head are small."""
        length = norms(vectors)
        there = length > 1e-6 * breadth
        tails, length = tails[there], length[there]
        R = turned(vectors[there] / length[:, None])
        small = np.minimum(1.0, length / (9.0 * breadth))                   # heads are 6.5 breadths long
        head = 6.5 * breadth * small
        tint = np.broadcast_to(color, (len(there), 4))[there]
        self.place(stick(), placed(R, tails, [breadth * small, breadth * small, length - head]), tint)
        ends = tails + R[:, :, 2] * (length - head)[:, None]
        self.place(cone(), placed(R, ends, [2.6 * breadth * small, 2.6 * breadth * small, head]), tint)

    def arcs(self, T: Array, turns: Array, radius: float, color: Any) -> None:
        """Arrows around vectors (n, 3) in the frames T (n, 4, 4), counter-clockwise, whose lengths in [0, 1] are the part of WIDEST they span."""
        part = norms(turns)
        there = part > 1e-3
        T, z, angle = T[there], turns[there] / part[there, None], WIDEST * part[there]
        R = T[:, :3, :3] @ turned(z)
        small = np.minimum(1.0, angle / (1.4 * HEAD))
        shaft = angle - HEAD * small
        steps = np.ceil(shaft / STEP).astype(int)
        for k in np.unique(steps):
            at = steps == k
            self.place(arc(int(k)), placed(R[at], T[at, :3, 3], [radius] * 3), color)
        base, tip = (np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1) for a in (shaft, angle))
        along = (R @ (tip - base)[:, :, None])[..., 0]
        feet = (R @ base[:, :, None])[..., 0] * radius + T[:, :3, 3]
        length = radius * norms(along)
        self.place(cone(), placed(turned(along / norms(along)[:, None]), feet, [0.17 * radius * small] * 2 + [length]), color)

    def frames(self, T: Array, length: float) -> None:
        """Axes of frames (n, 4, 4), of a length in m."""
        for k, color in enumerate((RED, GREEN, BLUE)):
            self.arrows(T[:, :3, 3], length * T[:, :3, k], color, 0.04 * length)

    def balls(self, points: Array, radii: Array) -> None:
        """Marks of centres of mass at points (n, 3), of radii (n), m."""
        self.place(quartered(), placed(np.eye(3)[None], points, [radii] * 3), (1.0, 1.0, 1.0, 1.0))

    def center_lines(self, points: Array, along: Array, half: float, color: Any) -> None:
        """Dash-dotted lines through points (n, 3) along unit vectors (n, 3), of half a length in m: the middle of a dash is at the point."""
        dash = np.array([[-0.30, 0.30], [0.45, 0.55]]) / 4.0                # in periods of 1, four of them on either side
        ends = (np.arange(-4, 5)[:, None, None] / 4.0 + dash).reshape(-1, 2)
        ends = ends[(ends > -1.0).all(axis=1) & (ends < 1.0).all(axis=1)] * half
        segments = points[:, None, None] + ends[:, :, None] * along[:, None, None]
        self.lines(segments.reshape(-1, 2, 3), color, 2.0)

    def onto(self, drawing: Drawing) -> Drawing:
        """The drawing with the marks; they cannot be picked."""
        surfaces = {s: k for k, s in enumerate(drawing.surfaces)}
        which = [np.full(len(poses), surfaces.setdefault(surface, len(surfaces))) for surface, poses, _ in self._placed]
        marked = sum(map(len, which))
        return replace(
            drawing,
            surfaces=list(surfaces),
            which=np.concatenate([drawing.which, *which]).astype(int),
            poses=np.concatenate([drawing.poses, *(poses for _, poses, _ in self._placed)]),
            colors=np.concatenate([drawing.colors, *(colors for _, _, colors in self._placed)]),
            numbers=np.concatenate([drawing.numbers, np.zeros(marked, drawing.numbers.dtype)]),
            lines=tuple(np.concatenate(x) for x in zip(drawing.lines, *self._lines, strict=True)),
            labels=[*drawing.labels, *self.labels],
        )


def placed(R: Array, points: Array, scales: Any) -> Array:
    """Poses (n, 4, 4) of rotations (n, 3, 3) and points (n, 3), with three scales, each one number or (n)."""
    T = np.zeros((len(points), 4, 4))
    T[:, :3, :3] = R * np.stack(np.broadcast_arrays(*scales, np.zeros(len(points)))[:3], axis=1)[:, None]
    T[:, :3, 3], T[:, 3, 3] = points, 1.0
    return T


def turned(z: Array) -> Array:
    """Rotations (n, 3, 3) whose third columns are unit vectors (n, 3)."""
    x = np.cross(np.eye(3)[np.abs(z).argmin(axis=1)], z)
    x /= norms(x)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=2)


# ---------------------------------------------------------------- shapes


@lru_cache(maxsize=1)
def stick() -> Surface:
    """A cylinder of radius 1 from 0 to 1 along z."""
    profile = np.array([[0, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 1]], dtype=float)
    normals = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    return white(revolved("stick", profile, normals)[0].surface)


@lru_cache(maxsize=1)
def cone() -> Surface:
    """A cone with a base of radius 1 at 0 and its tip at 1 along z; it is lit as one 2.5 times as long as broad."""
    slope = np.array([2.5, 1.0]) / np.hypot(2.5, 1.0)
    profile = np.array([[0, 0], [1, 0], [1, 0], [0, 1]], dtype=float)
    return white(revolved("cone", profile, np.array([[0, -1], [0, -1], [slope[0], 0.4 * slope[0]], [slope[0], 0.4 * slope[0]]]))[0].surface)


@lru_cache(maxsize=64)
def arc(steps: int) -> Surface:
    """A bent rod of radius 0.065 on the circle of radius 1 about z, from x on by some steps of STEP."""
    turn = np.linspace(0.0, STEP * max(steps, 1), 2 * max(steps, 1) + 1)[:, None]
    around = np.linspace(0.0, 2 * np.pi, 17)[None]
    out = np.stack(np.broadcast_arrays(np.cos(turn), np.sin(turn), 0.0 * turn), axis=2)
    normals = np.cos(around)[..., None] * out + np.sin(around)[..., None] * np.array([0.0, 0.0, 1.0])
    points = out + 0.065 * normals
    n, m = points.shape[:2]
    a = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).reshape(-1, 1)
    sides = np.concatenate([np.hstack([a, a + m, a + m + 1]), np.hstack([a, a + m + 1, a + 1])])
    cap = n * m + np.stack([np.zeros(m - 2, int), np.arange(1, m - 1), np.arange(2, m)], axis=1)
    return white(Surface(
        np.concatenate([points.reshape(-1, 3), points[0]]).astype(np.float32),
        np.concatenate([normals.reshape(-1, 3), np.broadcast_to([0.0, -1.0, 0.0], points[0].shape)]).astype(np.float32),
        np.concatenate([sides, cap]).astype(np.uint32),
        name="arc",
    ))  # fmt: skip


@lru_cache(maxsize=1)
def quartered() -> Surface:
    """A ball of radius 1 whose eighths are black and gold by turns: the mark of a centre of mass."""
    n = 12
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)], dtype=float)
    index = {(int(i), int(j)): k for k, (i, j, _) in enumerate(grid)}
    up = [(index[i, j], index[i + 1, j], index[i, j + 1]) for i in range(n) for j in range(n - i)]
    down = [(index[i + 1, j], index[i + 1, j + 1], index[i, j + 1]) for i in range(n - 1) for j in range(n - 1 - i)]
    points = np.sin(0.5 * np.pi * grid / n)                                # more even on the ball than the plane's own
    points /= norms(points)[:, None]
    faces = np.array(up + down)
    eighths, triangles, colors = [], [], []
    for k, signs in enumerate(np.ndindex(2, 2, 2)):
        sign = 1.0 - 2.0 * np.array(signs)
        eighths.append(points * sign)
        triangles.append((faces if sign.prod() > 0 else faces[:, ::-1]) + k * len(points))
        colors.append(np.tile([250, 186, 30, 255] if sign.prod() > 0 else [22, 22, 24, 255], (len(points), 1)))
    positions = np.concatenate(eighths).astype(np.float32)
    return white(Surface(positions, positions, np.concatenate(triangles).astype(np.uint32), colors=np.concatenate(colors).astype(np.uint8)))


def white(surface: Surface) -> Surface:
    """A surface that takes its instances' colours."""
    return replace(surface, color=(1.0, 1.0, 1.0, 1.0), roughness=0.5, uv=None)
