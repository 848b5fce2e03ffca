"""Marks of robots in orbit: the ellipse that they are on, their track over the ground, and the axes of who flies along."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from engine.checks import warn
from engine.space import axes
from engine.spatial import quaternion, se3
from engine.viewer.scene.errors import ViewerWarning
from engine.viewer.scene.planets import Globe, Sky, origin
from engine.viewer.scene.scene import NEAR, Scene
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.sources import Played, Source
from engine.viewer.scene.symbols import Symbols, chain, norms

Array = np.ndarray
ORBIT, TRACK = (0.45, 0.80, 1.0, 0.75), (1.0, 0.86, 0.25, 0.9)
#: points of an ellipse and of a track, at most; how high a track lies over the ground, radii
POINTS, TRACKED, OVER = 361, 1500, 1.002
#: of what has been played, by its sky: times, s, and where its robot was over the ground then (n, 3), in the planet's axes
WALKED: WeakKeyDictionary[Played, tuple[Sky, Array, Array]] = WeakKeyDictionary()
#: of the robot's size: the axes of LVLH
AXES = 0.6
#: radius of their shafts, of their length
THIN = 0.014


def show_orbits(symbols: Symbols, scene: Scene, t: float, shown: Shown, sizes: list[float]) -> None:
    """Add what is shown of the orbits of a scene's robots, so large (m, one for each actor), at a time, s."""
    globe = scene.globe(t)
    if scene.sky is None or globe is None or globe.center is None:
        return
    whole = shown.orbit if shown.orbit is not None else scene.extent[1] > NEAR * globe.body.radius
    for actor, size in zip(scene.actors, sizes, strict=True):
        if not actor.source.moves or not floats(actor.source):
            continue
        r, v, place = about(actor.source, t, globe)
        if whole:
            points = ellipse(r, v, globe.body.mu)
            symbols.lines(chain(points + globe.center), ORBIT, 1.6)
        if shown.track and isinstance(actor.source, Played):
            tell_of_no_epoch(scene)
            symbols.lines(chain(track(actor.source, scene.sky, globe, t)), TRACK, 1.8)
        if shown.lvlh:
            symbols.frames(se3.pose(axes.lvlh(r, v), place)[None], AXES * size, THIN)


def tell_of_none(scene: Scene, shown: Shown) -> None:
    """Warn, once, of marks of an orbit that are asked for of what flies about no planet."""
    if said := said_of_none(scene, shown):
        warn(said, ViewerWarning)


def said_of_none(scene: Scene, shown: Shown) -> str:
    """Return why marks of an orbit that are asked for are not drawn, the first time; else nothing."""
    asked = ", ".join(name for name in ("orbit", "track", "lvlh") if getattr(shown, name))
    if scene.sky is not None or not asked or asked in scene.told:
        return ""
    scene.told.add(asked)
    return (f"{asked} of an orbit are not drawn: nothing here is known to fly about a planet; expected a run with CentralGravity or a "
            "frame, or Scene(…, environment=engine.Sky(center=…))")  # fmt: skip


def tell_of_no_epoch(scene: Scene) -> None:
    """Warn, once, of a ground track that is drawn without anyone saying how the Earth lies."""
    if scene.supposed and "epoch" not in scene.told:
        scene.told.add("epoch")
        warn("the ground track is that of an Earth whose prime meridian is on the x axis at t = 0, as it has no epoch; expected Scene(…, "
             "environment=engine.Sky(engine.space.Epoch('2026-11-24T12:00:00'))), or Sky() for such an Earth", ViewerWarning)  # fmt: skip


def floats(source: Source) -> bool:
    """Return whether a robot has a base that floats."""
    return source.model.base is not None and source.model.base.kind.floats


def about(source: Source, t: float, globe: Globe) -> tuple[Array, Array, Array]:
    """Return where a robot's base is about the planet's middle (3), m, its velocity (3), m/s, and where it is in the world (3), m."""
    q, v = source.state(t)
    base, found = source.model.base, origin(source, t)
    assert base is not None and globe.center is not None
    place = q[0, base.q][4:7]
    speed = quaternion.to_matrix(q[0, base.q][:4]) @ v[0, base.v][3:]
    return place - globe.center, speed + (0.0 if found is None else found[1]), place


def ellipse(r: Array, v: Array, mu: float) -> Array:
    """Return points (n, 3) of the ellipse through r (3) with the velocity v (3), about its focus, r in their middle; none of an orbit that
    is open.

    >>> points = ellipse(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.1, 0.0]), 1.0)
    >>> bool(np.abs(points[:, 2]).max() == 0.0), round(float(norms(points).min()), 3), round(float(norms(points).max()), 3)
    (True, 1.0, 1.532)
    """
    h, d = np.cross(r, v), float(norms(r))
    e = np.cross(v, h) / mu - r / d                                            # of the eccentricity, towards the periapsis
    a, size = 1.0 / (2.0 / d - float(v @ v) / mu), float(norms(e))
    if size >= 1.0 or not norms(h) > 0.0:
        return np.zeros((0, 3))
    x = e / size if size > 1e-9 else r / d
    y = np.cross(h / norms(h), x)
    begins = np.arctan2(r @ y / np.sqrt(1.0 - size**2), r @ x + a * size)
    E = begins + np.pi * np.linspace(-1.0, 1.0, POINTS)[:, None] ** 3          # close together at the robot, which chords miss
    return a * (np.cos(E) - size) * x + a * np.sqrt(1.0 - size**2) * np.sin(E) * y


def track(source: Played, sky: Sky, globe: Globe, t: float) -> Array:
    """Return the points (n, 3) over the ground, m, under which a robot has been until a time, s, as they lie in the world then."""
    if source not in WALKED or WALKED[source][0] is not sky:
        times = source.trajectory.t[:: -(-len(source.trajectory.t) // TRACKED)]
        WALKED[source] = sky, times, np.array([foot(source, float(s), sky.globe(float(s), source)) for s in times])
    _, times, feet = WALKED[source]
    fixed = np.vstack([feet[times < t], foot(source, t, globe)])
    return globe.center + OVER * globe.body.radius * (fixed @ globe.axes)


def foot(source: Played, t: float, globe: Globe) -> Array:
    """Return the direction (3) from the planet's middle to a robot at a time, s, in the planet's axes."""
    r, _, _ = about(source, t, globe)
    return globe.axes @ (r / norms(r))
