"""Scenes: the robots that are drawn together, where they are at a time, and what is around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import numbers, require_packages, shown
from engine.viewer.scene.actor import Actor, Part, tell_missing, tell_tilted
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.light import GROUNDS, SPACE
from engine.viewer.scene.planets import Globe, Sky, orbits, origin
from engine.viewer.scene.surface import Surface
from engine.viewer.scene.surroundings import surroundings
from engine.viewer.scene.things import Moving, Thing, made, slope, thing, upright

Array = np.ndarray
ENVIRONMENTS = ("ground", "space", "plain", "studio", "mars", "moon")
#: a motion so much smaller than its planet is near it: a camera there has the planet below it
NEAR, BEACONS = 0.05, 50
#: of the size of a motion about a planet, at most: how far away it is from it
BESIDE = 3.0
#: unit vectors (26, 3) all around, to the faces, edges and corners of a cube
ROUND = (lambda d: d / np.linalg.norm(d, axis=1, keepdims=True))(np.delete(np.array([*np.ndindex(3, 3, 3)]), 13, axis=0) - 1.0)
#: times at which a motion is looked at before it is drawn, and instances of surfaces that are looked at in all, about
LOOKS, MANY = 24, 50_000


def scene_of(source: Any, environment: str | Path | Sky | None, geometry: str) -> Scene:
    """Return the scene of a source; one that is a scene already has its own surroundings and shapes, and takes no others."""
    if not isinstance(source, Scene):
        return Scene(source, environment, geometry)
    if environment is not None or geometry != "visual":
        given = "environment" if environment is not None else "geometry"
        raise ViewerError(f"{given} is given beside a scene, which has its own; expected engine.Scene(..., {given}=...)")
    return source


class Scene:
    """Robots that are drawn together, and their surroundings.

    Parameters
    ----------
    sources : models, trajectories, running simulations or actors; one, or a list of them
    environment : "ground" (a floor with a grid), "space" (stars and the Earth), "plain", "studio" (a dark hall), "mars", "moon", or
        None: space where a motion has no gravity, otherwise ground. Or an :class:`engine.Sky`: what is in orbit has the Earth where it is,
        and by a sky's epoch the Sun, too. Or the path of a Radiance picture (.hdr) of all directions, twice as wide as high: it is seen
        behind the ground, and lights the robots; in an exported page it is not there

    Raises
    ------
    ViewerError : there is nothing to draw, no such environment, or the picture cannot be read

    Warns
    -----
    RobotFileWarning : a mesh is not there or cannot be read, and the rest is drawn; or nobody said how a COLLADA file is turned whose axis
        that points up is another than z

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> scene = engine.Scene(arm, "studio")
    >>> scene.environment, scene.span, [actor.name for actor in scene.actors]
    ('studio', (0.0, 0.0), ['seven_joint_arm'])
    """

    def __init__(self, sources: Any, environment: str | Path | Sky | None = None, geometry: str = "visual") -> None:
        require_packages("to draw", "viewer", "pyglet", "PIL", "fast_simplification", "matplotlib", error=ViewerError)
        listed: Iterable[Any] = sources if isinstance(sources, (list, tuple)) else [sources]
        self.actors = [s if isinstance(s, Actor) else Actor(s, geometry) for s in listed]
        self.slopes: list[Thing] = []
        self.told = set[str]()                                                 # what was warned of
        self._reach: dict[Actor, float] = {}                                   # how large robots are, m
        if not self.actors:
            raise ViewerError("there is nothing to show; expected a model, a trajectory, a running simulation, or a list of them")
        names = ", ".join(f"'{a.model.name}'" for a in self.actors)
        tell_missing([(a.model, a.parts, a.missing) for a in self.actors], f"the links of {names}", geometry)
        tell_tilted([a.model for a in self.actors], geometry)
        self.slopes = [slope(T, *self.extent) for T in self.grounds if not upright(T)]
        self.actors += self.slopes
        weightless = any(not any(a.source.gravity) for a in self.actors if a.source.moves)
        pictured = isinstance(environment, (str, Path)) and Path(environment).suffix.lower() == ".hdr"
        self.around = surroundings(environment) if pictured else None  # type: ignore[arg-type]
        self.flying = next((a.source for a in self.actors if orbits(a.source)), None)
        self.sky = environment if isinstance(environment, Sky) else Sky() if self.flying and environment in (None, "space") else None
        self.supposed = self.sky is not None and self.sky is not environment   # nobody says when it is
        environment = "space" if self.sky else environment
        self.environment = "ground" if pictured else str(environment or ("space" if weightless else "ground"))
        if self.environment not in ENVIRONMENTS:
            raise ViewerError(f"environment {environment!r} is not known; expected one of {', '.join(ENVIRONMENTS)}, or a picture (.hdr)")

    def add(self, *, points: Any = None, arrows: Any = None, mesh: Any = None, frame: Any = None, target: Any = None, moving: Moving = None,
            size: float | None = None, color: Any = None, name: str | None = None) -> Thing:  # fmt: skip
        """Add something that no robot has: one of points, arrows, a mesh, a frame, or a target; return it, an actor like the robots.

        >>> import engine
        >>> scene = engine.Scene(engine.load_urdf(engine.example("free_flyer")))
        >>> _ = scene.add(target=(2.0, 0.0, 1.0)), scene.add(frame=np.eye(4), moving="gripper", size=0.2)
        >>> [actor.name for actor in scene.actors]
        ['free_flyer', 'target', 'frame']

        Parameters
        ----------
        points : (n, 3), m; arrows : their tails and vectors, (n, 3) each, m
        mesh : a file's path (STL, OBJ, COLLADA, …), or vertices (n, 3), m, and triangles (m, 3)
        frame, target : a pose (4, 4), or a point (3), m; in the window both can be shifted and turned by hand, where nothing moves them
        moving : a link's name, with which it goes along, given in the link's frame; or a function of time, s, that returns the pose (4, 4)
            of the frame in which it is given; by default it stands still, given in the world
        size : radius of points and of arrows' shafts, and of a target, length of a frame's axes, m; times of a mesh. Of the scene's size
            by default
        color : red, green, blue, and opacity if less than one, 0 … 1
        name : by default what it is

        Raises
        ------
        ViewerError : not one of them is given, or what it is given as is none
        ModelError : there is no such link
        """
        kinds = {"points": points, "arrows": arrows, "mesh": mesh, "frame": frame, "target": target}
        given = [kind for kind, x in kinds.items() if x is not None]
        if len(given) != 1:
            raise ViewerError(f"{' and '.join(given) or 'nothing'} is to be added; expected one of {', '.join(kinds)}")
        (kind,) = given
        shapes, pose = made(kind, kinds[kind], size, color, self.extent[1])
        self.actors.append(added := thing(name or kind, shapes, moving, pose, self.carrier))
        for known in ("times", "points", "floor", "extent"):                   # of the robots alone until now
            self.__dict__.pop(known, None)
        return added

    def reshape(self, geometry: str) -> None:
        """Show other shapes of the links: "visual" or "collision"."""
        found = [a.shapes(geometry) for a in self.actors]
        tell_missing([(a.model, *own) for a, own in zip(self.actors, found, strict=True)], "the links", geometry)
        for actor, (own, missing) in zip(self.actors, found, strict=True):
            actor.parts, actor.missing = own, missing
        tell_tilted([a.model for a in self.actors], geometry)

    @property
    def robots(self) -> int:
        """How many robots there are, each instance one."""
        return sum(a.instances for a in self.actors if not isinstance(a, Thing))

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of all, s."""
        spans = [a.source.span for a in self.actors if a.source.moves] or [(0.0, 0.0)]
        return min(start for start, _ in spans), max(end for _, end in spans)

    @cached_property
    def times(self) -> list[float]:
        """Some times of the motion, s."""
        start, end = self.span
        looks = max(2, min(LOOKS, MANY // len(self._instances(start).which)))
        return np.linspace(start, end, looks).tolist() if end > start else [start]

    @cached_property
    def points(self) -> Array:
        """Points that the robots come to (n, 3), m: corners of boxes about their surfaces at some times of the motion."""
        robots = [a for a in self.actors if a not in self.slopes]
        return np.concatenate([self._instances(t, robots).corners() for t in self.times])

    def along(self, link: str, t: float) -> Array:
        """Return the points (n, 3), m, that the robot with a link comes to, for who goes along with that link from a time on, s."""
        robot, start = self.carrier(link), self.place(link, t)
        return np.concatenate([self._instances(t, [robot]).corners() - self.place(link, t) + start for t in self.times])

    @property
    def grounds(self) -> list[Array]:
        """The poses (4, 4) of the ground that robots have contacts with, whose z axes are the normals."""
        return [a.source.ground for a in self.actors if a.source.ground is not None]

    @cached_property
    def floor(self) -> float:
        """The height of the ground, m: that of the robots' contacts; without one zero, or lower, so that the robots are above it, and
        ground of their own."""
        if level := [float(T[2, 3]) for T in self.grounds if upright(T)]:
            return min(level)
        if self.slopes:
            return float(self._instances(0.0, self.slopes).corners()[:, 2].min())
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        sinks = 0.0 if any(part.surface.ground for actor in self.actors for part in actor.parts) else 0.02 * np.linalg.norm(high - low)
        return 0.0 if low[2] > -sinks else float(low[2])

    @cached_property
    def extent(self) -> tuple[Array, float]:
        """Middle (3) and radius of a sphere about the whole motion, m."""
        middle = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        return middle, float(np.linalg.norm(self.points - middle, axis=1).max())

    def _instances(self, t: float, actors: Sequence[Actor] | None = None) -> Drawing:
        surfaces: dict[Surface, int] = {}
        which, poses, colors = [], [], []
        for actor in self.actors if actors is None else actors:
            own = [surfaces.setdefault(p.surface, len(surfaces)) for p in actor.parts]
            links = actor.poses(t)[:, [p.link for p in actor.parts]]
            placed = links @ np.array([p.placement for p in actor.parts]).reshape(-1, 4, 4)
            which.append(np.tile(own, len(placed)))
            poses.append(placed.reshape(-1, 4, 4))
            colors.append(np.broadcast_to(actor.color, (len(poses[-1]), 4)))
        n = sum(map(len, which))
        numbers = np.arange(1, n + 1)
        return Drawing(list(surfaces), np.concatenate(which).astype(int), np.concatenate(poses), np.concatenate(colors), numbers)

    def drawing(self, t: float) -> Drawing:
        """Return the drawing at a time, s; its numbers count the parts of every instance of every actor, from 1."""
        around = self.around if self.environment == "ground" else None
        return replace(self._instances(t), environment=self.environment, around=around, floor=self.floor, extent=self.extent,
                       globe=self.globe(t), beacons=self._beacons(t))  # fmt: skip

    def globe(self, t: float) -> Globe | None:
        """Return the planet where it is at a time, s, if there is one."""
        return self.sky.globe(t, self.flying) if self.sky is not None and self.environment == "space" else None

    def _beacons(self, t: float) -> list[tuple[Array, float, str]]:
        """Return the places (3), radii, m, and names of the robots, where they may be too far away to be seen."""
        if self.sky is None:
            return []
        found = []
        for actor in self.actors:
            if actor.source.moves and actor.parts:
                if actor not in self._reach:
                    self._reach[actor] = float(np.ptp(self._instances(t, [actor]).corners()[: 8 * len(actor.parts)], axis=0).max())
                middles = actor.poses(t)[:BEACONS, :, :3, 3].mean(axis=1)
                found += [(middle, self._reach[actor], actor.name if not k else "") for k, middle in enumerate(middles)]
        return found

    def upright(self, t: float, place: Array | None = None) -> Array:
        """Return the axes (3, 3), as columns, of who flies along at a time, s: z away from the planet, x ahead, of a place (3) east; of a
        motion that is not near a planet the world's."""
        globe = self.globe(t)
        far = place is None and globe is not None and self.extent[1] > NEAR * globe.body.radius
        if globe is None or globe.center is None or self.flying is None or far:
            return np.eye(3)
        found = origin(self.flying, t)
        z = (self.extent[0] if place is None else place) - globe.center if found is None else found[0]
        ahead = np.cross([0.0, 1e-3, 1.0], z) if found is None else found[1]
        z = z / np.linalg.norm(z)
        x = ahead - (ahead @ z) * z
        x = x / np.linalg.norm(x)
        return np.column_stack([x, np.cross(z, x), z])

    def camera(self, size: tuple[int, int], view: str | tuple[float, float] | None = None, t: float | None = None,
               follow: str | None = None, marks: Array | None = None, when: float | None = None) -> Camera:  # fmt: skip
        """Return a camera that sees the whole motion, or one time of it, in a picture of (width, height) pixels. Of a planet that a motion
        goes about it sees the day's side, where nobody says from where.

        Parameters
        ----------
        view : one of VIEWS, or (azimuth, elevation) of the camera, rad, seen from the robots
        follow : a link that it will go along with, from that time, or the first, on: it sees all of that robot at every time
        marks : points (n, 3), m, that it sees besides
        when : the time at which it has a planet below it, where one is near, by default its time or the first

        Raises
        ------
        ViewerError : there is no such view
        """
        begins = when if when is not None else self.span[0] if t is None else t
        camera = Camera(frame=self.upright(begins, None if follow is None or self.sky is None else self.place(follow, begins)))
        if isinstance(view, str):
            if view not in VIEWS:
                raise ViewerError(f"view {view!r} is not known; expected one of {', '.join(VIEWS)}, or (azimuth, elevation)")
            camera.look(view)
        elif view is not None:
            angles = numbers("view", view, ViewerError)
            if angles.shape != (2,):
                raise ViewerError(f"view is {shown(view)}; expected one of {', '.join(VIEWS)}, or (azimuth, elevation), rad")
            camera.azimuth, camera.elevation = angles.tolist()
        if follow is not None:
            points = self.along(follow, begins)
            if self.sky is not None:                                           # who flies along turns
                place = self.place(follow, begins)
                points = place + np.linalg.norm(points - place, axis=1).max() * ROUND
        else:
            around, globe = self.planet_around(begins), self.globe(begins)
            points = np.concatenate([self.points if t is None else self.drawing(t).corners(), around])
            if view is None and len(around) and globe is not None:             # the Sun as far to the right as it stands without an epoch
                camera.azimuth += float(np.arctan2(globe.sun[1], globe.sun[0]) - np.arctan2(SPACE.key[1], SPACE.key[0]))
        camera.fit(points if marks is None else np.concatenate([points, marks]), size[0] / size[1])
        camera.floor = self.floor if self.environment in GROUNDS else None
        return camera

    def go_along(self, camera: Camera, link: str, t: float) -> None:
        """Move a camera as a link has moved at a time, s, since it was last told of; a planet that is near stays below."""
        place = self.place(link, t)
        camera.along(place, None if self.sky is None else self.upright(t, place))

    def planet_around(self, t: float) -> Array:
        """Return points (n, 3), m, of the planet that a motion goes about at a time, s: none of one near it, or far from it."""
        globe, (middle, radius) = self.globe(t), self.extent
        if globe is None or globe.center is None or radius < NEAR * globe.body.radius:
            return np.zeros((0, 3))
        if np.linalg.norm(middle - globe.center) > BESIDE * radius:
            return np.zeros((0, 3))
        return globe.center + globe.body.radius * ROUND

    def carrier(self, link: str) -> Actor:
        """Return the first actor that has a link of that name.

        Raises
        ------
        ModelError : there is none
        """
        having = [a for a in self.actors if any(x.name == link for x in a.model.links)]
        if not having:
            self.actors[0].model.link_index(link)
        return having[0]

    def place(self, link: str, t: float) -> Array:
        """Return where a link's origin is at a time (3), m; of a batch the first one's."""
        actor = self.carrier(link)
        return actor.poses(t)[0, actor.model.link_index(link), :3, 3]

    def found(self, number: int) -> tuple[Actor, int, Part]:
        """Return the actor, its instance, and the part that a number of a drawing stands for."""
        number -= 1
        for actor in self.actors:
            count = len(actor.parts) * actor.instances
            if number < count:
                return actor, number // len(actor.parts), actor.parts[number % len(actor.parts)]
            number -= count
        raise ViewerError(f"there is no part {number + 1}; expected a number of a drawing of this scene")
