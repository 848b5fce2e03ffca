"""Marks that explain a scene: frames, axes, centres of mass, inertias, momenta, forces, trails and names.

A mark is a field of :class:`~engine.viewer.scene.shown.Shown`, a function here that draws it with the shapes of ``symbols`` out of numbers
of ``quantities``, and a key in ``window/keys``.

Arrows' lengths are relative to the longest of their kind in the whole motion, and sizes to the robot's, so that a mark means the same in
every picture of it. Of a batch the first :data:`MOST` rollouts are explained.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from engine.model import Model
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.drawing import Drawing, measure
from engine.viewer.scene.eye_marks import show_eyes
from engine.viewer.scene.force_marks import FORCE, show_forces
from engine.viewer.scene.orbit_marks import show_orbits, tell_of_none
from engine.viewer.scene.quantities import MOST, Quantities, quantities_of
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Names, Shown, check, spot
from engine.viewer.scene.sources import States
from engine.viewer.scene.surface import sphere
from engine.viewer.scene.symbols import Symbols, norms, placed, turned
from engine.viewer.scene.teaching_marks import teach
from engine.viewer.scene.things import Thing

Array = np.ndarray
#: of the robot's and of its links' size: a contact's arrow of the force below which half of all push is done, at most
ARROW, LINKS = 0.36, 2.2
#: momentum below this part of what the motion's energy could carry has cancelled, and is not drawn
CANCELLED = 1e-6
#: of joints' moments, over the robot's size, and of their forces: what is less beside the other is not drawn
SLIGHT = 1e-3
#: of the robot's size: the least length of frames' axes, which can be told apart in a picture of all of it
FRAME = 0.06

AXIS, LINEAR, ANGULAR = (0.95, 0.40, 0.05, 1.0), (1.0, 0.58, 0.05, 1.0), (0.72, 0.25, 0.90, 1.0)
TORQUE, INERTIA = (0.05, 0.72, 0.78, 1.0), (0.35, 0.62, 1.0, 0.38)
LABEL, PICKED = (1.0, 1.0, 1.0, 1.0), (1.35, 1.0, 0.5, 1.0)
FRAMED = 8                                                                     # times at which marks are looked at before they are drawn
FAR_EDGE = 0.31                             # how much higher than near edges far ones are seen: tangent of 0.3 rad
TOLD = 8                                                                       # colours that the legend names
TRAILS = ((1.0, 0.60, 0.10), (0.20, 0.72, 0.95), (0.30, 0.80, 0.35), (0.95, 0.35, 0.60), (0.98, 0.88, 0.25), (0.65, 0.50, 0.98))


def mark(scene: Scene, t: float, shown: Shown, picked: tuple[Actor, int, str] | None = None) -> Drawing:
    """Return the drawing of a scene at a time, s, with what is shown besides; a picked link, of an instance of an actor, stands out.

    Raises
    ------
    ViewerError : a joint or link is named that no robot has, or a motion lacks what is to be shown
    """
    check(scene, shown)
    drawing = whole = replace(scene.drawing(t), wireframe=shown.wireframe)
    own: list[Array | None] = palette(scene, shown.colors) if shown.colors else [None] * len(scene.actors)
    if shown.colors:
        drawing = colored(drawing, scene, shown.colors, own)
    if shown.transparent or picked is not None:
        colors = drawing.colors * [1.0, 1.0, 1.0, 0.3 if shown.transparent else 1.0]
        every = [(a, k, a.model.links[p.link].name) for a in scene.actors for k in range(a.instances) for p in a.parts] if picked else []
        colors[[i for i, one in enumerate(every) if one == picked]] *= PICKED
        drawing = replace(drawing, colors=colors)
    drawing = without(drawing, scene, shown.hidden)
    tell_of_none(scene, shown)
    if not shown.marks and scene.sky is None:
        return drawing
    symbols = Symbols()
    if scene.sky is not None:
        show_orbits(symbols, scene, t, shown, [quantities_of(actor).whole if shown.lvlh else 0.0 for actor in scene.actors])
    for actor, tints in zip(scene.actors if shown.marks else (), own, strict=bool(shown.marks)):
        explain(symbols, actor, t, shown, tints)
    if shown.names:
        show_names(symbols, scene, whole.corners())
    drawing = symbols.onto(drawing)
    return replace(drawing, legend=told_once(drawing.legend))


def told_once(legend: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return a legend in which what several robots have, in one colour, is said once.

    >>> told_once([("ω: longest 2 rad/s", 1), ("p: longest 3 N·s", 2), ("ω: longest 5 rad/s", 1)])
    [('ω: longest 2 … 5 rad/s', 1), ('p: longest 3 N·s', 2)]
    """
    found: dict[tuple[str, Any], list[str]] = {}
    for text, color in legend:
        found.setdefault((text.partition(": longest ")[0], color), []).append(text)

    def said(name: str, texts: list[str]) -> str:
        numbers = sorted({(float(x.split()[0]), x.partition(" ")[2]) for x in (text.partition(": longest ")[2] for text in texts) if x})
        if len(numbers) < 2:
            return texts[0]
        return f"{name}: longest {numbers[0][0]:.3g} … {numbers[-1][0]:.3g} {numbers[-1][1]}"

    return [(said(name, texts), color) for (name, color), texts in found.items()]


def reach(scene: Scene, shown: Shown) -> Array:
    """Return points (n, 3), m, as far as arrows, ellipsoids and frames of a motion reach at some of its times."""
    if not (shown.momentum or shown.inertias or shown.forces or shown.torques or shown.rates or shown.polhode):
        return np.zeros((0, 3))
    found = [np.zeros((0, 3))]
    for t in scene.times[:: max(len(scene.times) // FRAMED, 1)]:
        drawing = mark(scene, t, replace(shown, hidden=(), trails=(), labels=False, names=False, orbit=False, track=False, colors=""))
        marks = np.flatnonzero(drawing.numbers == 0)
        found.append(replace(drawing, which=drawing.which[marks], poses=drawing.poses[marks]).corners())
    return np.concatenate(found)


def without(drawing: Drawing, scene: Scene, hidden: tuple[str, ...]) -> Drawing:
    """Return the drawing of a scene without the surfaces of hidden links; the others keep their numbers."""
    if not hidden:
        return drawing
    links = [np.tile([a.model.links[p.link].name in hidden for p in a.parts], a.instances) for a in scene.actors]
    seen = ~np.concatenate(links).astype(bool)
    return replace(drawing, **{name: getattr(drawing, name)[seen] for name in ("which", "poses", "colors", "numbers")})


def colored(drawing: Drawing, scene: Scene, by: str, own: list[Array | None]) -> Drawing:
    """Return the drawing of a scene in a palette for its robots, or their rollouts, which the legend names."""
    each = np.concatenate([np.repeat(np.full((a.instances, 3), np.nan) if x is None else x, len(a.parts), axis=0)
                           for a, x in zip(scene.actors, own, strict=True)])  # fmt: skip
    bare = np.array([s.color[:3] for s in drawing.surfaces])[drawing.which]
    light = 0.45 + 0.55 * bare.max(axis=1, keepdims=True)                      # dark parts stay darker
    colors = drawing.colors.copy()
    colors[:, :3] = np.where(np.isnan(each), colors[:, :3], each * light / np.maximum(bare, 0.02))
    names = [(f"{name}, rollout {k}" if by == "rollouts" and a.instances > 1 else name, x[k])
             for a, name, x in zip(scene.actors, called(scene), own, strict=True) if x is not None
             for k in range(a.instances if by == "rollouts" else 1)]  # fmt: skip
    told = range(len(names)) if len(names) <= TOLD else np.linspace(0, len(names) - 1, TOLD).astype(int)
    return replace(drawing, colors=colors, legend=[*drawing.legend, *((names[k][0], (*names[k][1], 1.0)) for k in told)])


def palette(scene: Scene, by: str) -> list[Array | None]:
    """Return for each actor the colours of its instances (n, 3), by robot or by rollout; None for what is no robot."""
    counts = [0 if isinstance(a, Thing) else 1 if by == "robots" else a.instances for a in scene.actors]
    split = np.split(hues(sum(counts)), np.cumsum(counts)[:-1])
    return [np.broadcast_to(own, (a.instances, 3)) if len(own) else None for a, own in zip(scene.actors, split, strict=True)]


def called(scene: Scene) -> list[str]:
    """Return the actors' names, those that are alike with a number."""
    alike = [a.name for a in scene.actors]
    return [f"{name} {alike[: i + 1].count(name)}" if alike.count(name) > 1 else name for i, name in enumerate(alike)]


def hues(count: int) -> Array:
    """Return so many colours (n, 3) that are told apart: a palette's, or for more of them a path from blue to red.

    >>> hues(2).shape, hues(40).shape
    ((2, 3), (40, 3))
    """
    if count <= len(TRAILS):
        return np.array(TRAILS[:count])
    stops = np.array([(0.13, 0.25, 0.75), (0.10, 0.62, 0.80), (0.35, 0.75, 0.30), (0.98, 0.80, 0.15), (0.85, 0.15, 0.12)])
    x = np.linspace(0, len(stops) - 1, count)
    return np.stack([np.interp(x, range(len(stops)), c) for c in stops.T], axis=1)


def chosen(named: Names, names: Iterable[str]) -> list[int]:
    """Return where in the list the names are that are asked for."""
    return [i for i, name in enumerate(names) if named is True or (named and name in named)]


# ---------------------------------------------------------------- what is shown of a robot


def explain(symbols: Symbols, actor: Actor, t: float, shown: Shown, tints: Array | None) -> None:
    """Add what is shown of one robot, whose instances have these colours (n, 3), or None."""
    model, source, known = actor.model, actor.source, quantities_of(actor)
    q, v = source.state(t)
    now = source.driven(t, MOST) if shown.torques or shown.forces or shown.contacts else States(q[:MOST], v[:MOST])
    poses = source.links(now.q)
    index = {link.name: i for i, link in enumerate(model.links)}
    axes = max(0.4 * known.link, FRAME * known.whole)
    if links := chosen(shown.link_frames, index):
        symbols.frames(poses[:, links].reshape(-1, 4, 4), axes)
    jointed = [j for j in model.joints if j.parent and j.type.nv]
    if joints := [jointed[k] for k in chosen(shown.joint_frames, [j.name for j in jointed])]:
        T = poses[:, [index[j.parent] for j in joints]] @ np.array([j.placement for j in joints])
        symbols.frames(T.reshape(-1, 4, 4), axes)
    if shown.joint_axes:
        show_axes(symbols, model, known, now, poses, shown.joint_axes)
    for what in (("centres of mass", shown.centers), ("inertias", shown.inertias), ("momentum arrows", shown.momentum)):
        if what[1]:
            known.tell(what[0])
    if shown.centers:
        show_centers(symbols, model, known, poses, shown.centers)
    heavy = [i for i, link in enumerate(model.links) if link.mass > 0]
    if links := [heavy[k] for k in chosen(shown.inertias, [model.links[i].name for i in heavy])]:
        symbols.place(sphere()[0].surface, (poses[:, links] @ known.ellipsoids[links]).reshape(-1, 4, 4), INERTIA)
    if shown.momentum and known.mass.any():
        show_momentum(symbols, actor, known, now)
    if shown.torques and now.tau is not None:
        show_torques(symbols, actor, known, now, poses, shown.torques)
    if shown.contacts and "contacts.force" in now.signals:
        show_contacts(symbols, actor, known, now)
    elif shown.contacts and "contacts.wrench" in now.signals:
        known.miss("contacts of many bodies, which are tables")
    show_forces(symbols, actor, known, now, poses, shown)
    teach(symbols, source, known, now, poses, t, shown)
    show_eyes(symbols, source, known, now, poses, [eye for eye in shown.eyes if eye.link in index])
    for k, trail in enumerate(shown.trails):
        link, point = spot(trail)
        if link in index and source.moves:
            tip = poses[:, index[link], :3] @ point
            times, points = source.path(index[link], point, t - shown.trail_time, MOST)
            colors = np.tile(TRAILS[k % len(TRAILS)], (len(tip), 1)) if tints is None else tints[: len(tip)]
            show_trail(symbols, times, points, t, shown.trail_time, tip, colors)
    for i in chosen(shown.labels, index):
        middles = [p.placement[:3] @ np.append(measure(p.surface).box.mean(axis=0), 1.0) for p in actor.parts if p.link == i]
        if middles or shown.labels is not True:
            at = np.append(np.mean(middles or [np.zeros(3)], axis=0), 1.0)
            symbols.labels.append((poses[0, i, :3] @ at, model.links[i].name, LABEL))


def show_names(symbols: Symbols, scene: Scene, corners: Array) -> None:
    """Write robots' names above them, clear of their far edges as seen from above; their boxes' corners (n, 3) are those of the drawing."""
    corners, first = corners.reshape(-1, 8, 3), 0
    for actor, name in zip(scene.actors, called(scene), strict=True):
        own = corners[first : (first := first + actor.instances * len(actor.parts))].reshape(actor.instances, -1, 3)
        for k, points in enumerate(() if isinstance(actor, Thing) else own[:MOST]):
            low, high = points.min(axis=0), points.max(axis=0)
            middle = 0.5 * (low + high)[:2]
            top = (points[:, 2] + FAR_EDGE * np.linalg.norm(points[:, :2] - middle, axis=1)).max()
            above = np.append(middle, top + 0.04 * quantities_of(actor).whole)
            symbols.labels.append((above, f"{name} {k}" if actor.instances > 1 else name, LABEL))


def show_axes(symbols: Symbols, model: Model, known: Quantities, now: States, poses: Array, named: Names) -> None:
    """Draw the axes about which joints turn, or along which they slide; joints with more than two have none to tell."""
    S = known.subspaces(now.q)
    for k in chosen(named, [b.joint.name for b in model.bodies]):
        own = S[:, k, :, model.bodies[k].v]                                             # the slice's axis comes last
        if own.shape[2] <= 2:
            T = poses[:, known.children[k]]
            along = np.where(norms(np.swapaxes(own[:, :3], 1, 2))[:, None] > 0.0, own[:, :3], own[:, 3:])
            for u in np.moveaxis(T[:, :3, :3] @ along, 2, 0):
                symbols.center_lines(T[:, :3, 3], u / norms(u)[:, None], 1.1 * known.link, AXIS)


def show_centers(symbols: Symbols, model: Model, known: Quantities, poses: Array, named: Names) -> None:
    """Draw centres of mass of links, and of all that moves where all are shown."""
    centers = (poses[..., :3, :] @ known.centers[:, :, None])[..., 0]
    masses = np.array([link.mass for link in model.links])
    total = known.mass.sum()
    radius = 0.17 * known.link / np.cbrt(max(total, masses.max(), 1e-300))
    links = [i for i in chosen(named, [link.name for link in model.links]) if masses[i] > 0]
    symbols.balls(centers[:, links].reshape(-1, 3), np.tile(radius * np.cbrt(masses[links]), len(poses)))
    if named is True and total > 0:
        symbols.balls(known.mass @ centers / total, np.full(len(poses), radius * np.cbrt(total)))


def show_momentum(symbols: Symbols, actor: Actor, known: Quantities, now: States) -> None:
    """Draw linear and angular momentum at the centre of mass; the longest arrows are 0.6 of the robot's size."""
    c, *vectors = known.momenta(now)
    energy = known.longest(actor.source, now, "energy", lambda s: known.robot.energy(s.q, s.v)[0])
    carried = np.sqrt(2.0 * known.mass.sum() * energy)                                  # |p| ≤ √(2 m K)
    for k, (color, bound) in enumerate(((LINEAR, carried), (ANGULAR, carried * known.whole))):
        top = known.longest(actor.source, now, f"momentum {k}", partial(part_of_momentum, known, k))
        if top > CANCELLED * bound:
            symbols.legend.append((f"{('momentum', 'angular momentum')[k]}: longest {top:.3g} {('N·s', 'N·m·s')[k]}", color))
            symbols.arrows(c, vectors[k] * (0.6 * known.whole / top), color, 0.0065 * known.whole)


def part_of_momentum(known: Quantities, k: int, s: States) -> Array:
    """Return the lengths (n) of the linear (0) or the angular (1) momentum."""
    return norms(known.momenta(s)[1 + k])


def show_torques(symbols: Symbols, actor: Actor, known: Quantities, now: States, poses: Array, named: Names) -> None:
    """Draw joints' moments as arcs, the largest almost a circle, and forces as arrows, the longest 0.4 of the robot's size."""
    which = chosen(named, [b.joint.name for b in actor.model.bodies])
    T = poses[:, [known.children[k] for k in which]].reshape(-1, 4, 4)
    F = known.joint_wrenches(now)[:, which].reshape(-1, 6)
    moment = known.longest(actor.source, now, "joint moment", lambda s: norms(known.joint_wrenches(s)[..., :3]))
    force = known.longest(actor.source, now, "joint force", lambda s: norms(known.joint_wrenches(s)[..., 3:]))
    if moment > SLIGHT * force * known.whole:
        symbols.legend.append((f"moments: longest {moment:.3g} N·m", TORQUE))
        symbols.arcs(T, F[:, :3] / moment, 0.6 * known.link, TORQUE)
    if force > SLIGHT * moment / known.whole:
        symbols.legend.append((f"joint forces: longest {force:.3g} N", TORQUE))
        symbols.arrows(T[:, :3, 3], (T[:, :3, :3] @ F[:, 3:, None])[..., 0] * (0.4 * known.whole / force), TORQUE, 0.03 * known.link)


def show_contacts(symbols: Symbols, actor: Actor, known: Quantities, now: States) -> None:
    """Draw the forces of contacts where they act, each from a dot. Of forces as large as half of all push is done by, arrows are as long as
    two links and a bit, or a third of the robot; the longest are twice as long. Around the points in which two shapes touch is a line.
    """
    top = known.longest(actor.source, now, "contacts", lambda s: norms(s.signals["contacts.force"]).max(axis=-1, initial=0.0))
    if not top > 0.0:
        return
    force, at = (now.signals[f"contacts.{n}"].reshape(-1, 3) for n in ("force", "position"))
    unit = known.longest(actor.source, now, "half of contacts", lambda s: half(norms(s.signals["contacts.force"])))
    size, most = min(ARROW * known.whole, LINKS * known.link), min(2.0 * unit, top)
    touch = norms(force) > 1e-6 * top
    symbols.legend.append((f"contacts: longest {most:.3g} N" + (", larger ones cut" if top > most else ""), FORCE))
    length = size / unit * np.minimum(1.0, most / norms(force[touch]))
    symbols.arrows(at[touch], force[touch] * length[:, None], FORCE, 0.022 * size)
    symbols.place(sphere()[0].surface, placed(np.eye(3)[None], at[touch], [np.full(touch.sum(), 0.04 * size)] * 3), FORCE)
    pairs = np.array([name.rpartition(".")[0] for name in actor.source.names.get("contacts", ())])
    for rollout in np.arange(len(force)).reshape(len(now.q), -1) if len(pairs) else ():
        for k in (rollout[(pairs == pair) & touch[rollout]] for pair in dict.fromkeys(pairs[touch[rollout]])):
            if len(k) > 1:
                symbols.lines(patch(at[k], force[k]), FORCE, 2.0)


def half(forces: Array) -> Array:
    """Return the force below which forces add up to half of all of them: few that are large, and many that are small, move it little.

    >>> half(np.array([[1.0, 1.0, 1.0], [2.0, 4.0, 0.0]]))
    array(2.)
    """
    along = np.sort(forces, axis=None)
    total = np.cumsum(along)
    return np.asarray(along[np.searchsorted(total, 0.5 * total[-1])] if total.size else 0.0)


def patch(points: Array, force: Array) -> Array:
    """Return the sides (n, 2, 3) of a polygon through points (n, 3), around the direction of the forces (n, 3) on them.

    >>> square = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> float(norms(np.diff(patch(square, np.tile([0.0, 0.0, 1.0], (4, 1))), axis=1)[:, 0]).sum())
    4.0
    """
    across, other, _ = turned(force.sum(axis=0)[None] / norms(force.sum(axis=0)))[0].T
    off = points - points.mean(axis=0)
    ring = points[np.argsort(np.arctan2(off @ other, off @ across))]
    return np.stack([ring, np.roll(ring, -1, axis=0)], axis=1)


def banded(drawing: Drawing, ends: Array, force: float) -> Drawing:
    """Return the drawing with a spring that pulls with a force, N, from one end (2, 3) to the other."""
    segments, colors, widths = drawing.lines
    lines = np.concatenate([segments, ends[None]]), np.concatenate([colors, [FORCE]]), np.append(widths, 3.0)
    return replace(drawing, lines=lines, labels=[*drawing.labels, (ends[1], f"{force:.3g} N", LABEL)])


def measured(drawing: Drawing, points: list[Array]) -> Drawing:
    """Return the drawing with points (3) that were chosen, and between two of them how far apart they are."""
    symbols = Symbols()
    symbols.balls(np.array(points), np.full(len(points), 0.006 * drawing.extent[1]))
    if len(points) == 2:
        between = points[1] - points[0]
        symbols.lines(np.array([points]), AXIS, 2.0)
        along = "  ".join(f"{x:+.4g}" for x in between).replace("-", "−")
        symbols.labels.append((0.5 * (points[0] + points[1]), f"{float(norms(between)):.4g} m  ({along})", LABEL))
    return symbols.onto(drawing)


# ---------------------------------------------------------------- trails


def show_trail(symbols: Symbols, times: Array, points: Array, t: float, lasts: float, tip: Array, tints: Array) -> None:
    """Draw the paths of points (n, K, 3) at times (K) until now, where they are at ``tip`` (n, 3), in colours (n, 3) that fade with age."""
    a, b = np.searchsorted(times, [t - lasts, min(t, times[-1])]) if len(times) else (0, 0)
    line = np.concatenate([points[:, a:b], tip[:, None]], axis=1)
    fresh = np.clip(1.0 - (t - times[a:b]) / lasts, 0.0, 1.0)
    colors = np.column_stack([np.repeat(tints, b - a, axis=0), np.tile(fresh**1.3, len(line))])
    symbols.lines(np.stack([line[:, :-1], line[:, 1:]], axis=2).reshape(-1, 2, 3), colors, 3.0)
