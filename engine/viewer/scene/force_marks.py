"""Marks of what acts: forces where they act, the screw axis of their wrench, and plumes of thrusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.checks import nearest
from engine.components.forces import PointForce
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.quantities import Quantities
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.sources import States
from engine.viewer.scene.symbols import Symbols, cone, norms, placed, turned
from engine.viewer.scene.teaching_marks import SCREW, screw

Array = np.ndarray
FORCE = (0.90, 0.15, 0.42, 1.0)
#: a plume's outer part and its core; of the robot's size, how long it is at the most thrust; how wide, of its length
PLUME, CORE = (0.45, 0.65, 1.0, 0.28), (0.95, 0.97, 1.0, 0.75)
LONG, WIDE = 0.3, 0.16


def show_forces(symbols: Symbols, actor: Actor, known: Quantities, now: States, poses: Array, shown: Shown) -> None:
    """Add the forces of one robot that are chosen, the axis of their wrench, and plumes."""
    acting: list[Any] = [c for c in shown.forces if any(link.name == c.link for link in actor.model.links)]
    top = max((strength(actor, known, now, c) for c in acting), default=0.0)
    if not top > 0.0:
        return
    symbols.legend.append((f"forces: longest {top:.3g} N", FORCE))
    found = [acted(actor, now, poses, c) for c in acting]
    for component, (points, forces) in zip(acting, found, strict=True):
        along, pushes = (0.35 * known.whole / top) * forces, not isinstance(component, PointForce)
        symbols.arrows((points - along if pushes else points).reshape(-1, 3), along.reshape(-1, 3), FORCE, 0.0055 * known.whole)
        if shown.plumes and pushes:
            show_plumes(symbols, points.reshape(-1, 3), forces.reshape(-1, 3), LONG * known.whole / top)
    if shown.wrench:
        points, forces = (np.concatenate(x, axis=1) for x in zip(*found, strict=True))
        for p, f in zip(points, forces, strict=True):
            show_wrench(symbols, p, f, known.whole, 1e-9 * top)


def strength(actor: Actor, known: Quantities, now: States, component: Any) -> float:
    """Return the largest force of a component in the motion, N; of a model at rest thrusters have none."""
    if isinstance(component, PointForce):
        return float(norms(component.force))
    if not actor.source.moves:
        return 0.0
    name = f"{component.name}.thrust"
    if name not in now.signals:
        raise ViewerError(f"forces: the motion of '{actor.model.name}' has no signal '{name}'{nearest(name, now.signals)}; "
                          f"expected the thrusters that it was simulated with")  # fmt: skip
    return known.longest(actor.source, now, name, lambda s: s.signals[name])


def acted(actor: Actor, now: States, poses: Array, component: Any) -> tuple[Array, Array]:
    """Return where the forces of a component act (rollouts, n, 3), m, and what they are (rollouts, n, 3), N, world axes."""
    T = poses[:, actor.model.link_index(component.link)]
    R, p = T[:, :3, :3], T[:, :3, 3]
    if isinstance(component, PointForce):
        force = R @ component.force if component.axes == "link" else np.broadcast_to(component.force, p.shape)
        return (R @ component.point + p)[:, None], force[:, None]
    if not actor.source.moves:
        return np.zeros((len(T), 0, 3)), np.zeros((len(T), 0, 3))
    thrust = now.signals[f"{component.name}.thrust"][..., None]
    return component.positions @ np.swapaxes(R, 1, 2) + p[:, None], component.directions @ np.swapaxes(R, 1, 2) * thrust


def show_plumes(symbols: Symbols, points: Array, forces: Array, scale: float) -> None:
    """Draw what thrusters at points (n, 3) blow out, against the forces (n, 3), N, on their link, a core within a veil."""
    blown = norms(forces) > 0.0
    points, length = points[blown], scale * norms(forces[blown])
    for share, color in ((1.0, PLUME), (0.55, CORE)):
        size = [share * WIDE * length, share * WIDE * length, share * length]
        tips = points - size[2][:, None] * forces[blown] / norms(forces[blown])[:, None]
        symbols.place(cone(), placed(turned(forces[blown] / norms(forces[blown])[:, None]), tips, size), color)


def show_wrench(symbols: Symbols, points: Array, forces: Array, whole: float, least: float) -> None:
    """Draw the screw axis of the wrench of forces (n, 3), N, at points (n, 3), m (Poinsot's central axis), with its pitch, N·m/N."""
    force = forces.sum(axis=0)
    if not norms(force) > least:
        return                                                                 # a couple alone has no axis
    middle = points.mean(axis=0)
    point, along, pitch = screw(force, np.cross(points - middle, forces).sum(axis=0), middle)
    foot = point + ((middle - point) @ along) * along
    symbols.center_lines(foot[None], along[None], 0.7 * whole, SCREW)
    symbols.labels.append((foot + 0.4 * whole * along, f"wrench: {pitch:+.3g} N·m/N".replace("-", "−"), SCREW))
