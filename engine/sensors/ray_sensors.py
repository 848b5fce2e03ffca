"""Sensors that cast rays at the shapes of links: range finders, lidars, depth cameras."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import memory, number, numbers, shown, warn, whole
from engine.compiler.gufunc import shaped
from engine.components.component import Context, SimulationError, SimulationWarning
from engine.components.law import Noise
from engine.model import Model
from engine.sensors.ray_targets import RayTarget, cast_rays, ray_targets, shapes_around
from engine.sensors.sensor import Errors, Mounted
from engine.sensors.sensor import direction as unit
from engine.spatial import se3

Array = np.ndarray
#: rays of a sensor within a simulation, whose readings are numbers of its state, at most
MOST_RAYS = 20_000
#: numbers that a batch of readings is made in at a time
AT_ONCE = 2**22


class Eye(Mounted):
    """A sensor that casts rays from a place on a link, along ``rays`` (n, 3) in its own axes; readings are counted in their lengths.

    A ray ends at the first surface from ``near`` on, seen from either side: visual shapes of the links (or what they touch with, where the
    model has none), and the ground of the simulation's contacts. Its own link is not seen, nor are those that it is to ``ignore``. What is
    ``far`` or farther, or nothing at all, reads ``far``.

    Attributes
    ----------
    shape : of a reading
    rays : (n, 3), as many as a reading has numbers
    outline : directions (k, 3) around what it sees, of a camera; step : between its neighbouring rays, where they are in a grid

    >>> import engine
    >>> isinstance(engine.sensors.RangeFinder("base"), engine.sensors.Eye), engine.sensors.RangeFinder("base").rays
    (True, array([[0., 0., 1.]]))
    """

    measures = types.MappingProxyType({"": "m"})
    shape: tuple[int, ...]
    outline: Array = np.zeros((0, 3))
    step = 0.0
    seen: Sequence[RayTarget] = ()

    @functools.cached_property
    def rays(self) -> Array:
        """Directions (n, 3): see :class:`Eye`."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of rays."""
        return math.prod(self.shape)

    def open(self, near: tuple[str, Any], far: tuple[str, Any], ignore: Sequence[str]) -> None:
        """Take note of what it sees: near and far are given with their names."""
        self.near = number(f"{self.name}: {near[0]}", near[1], "m from 0", least=0.0, error=SimulationError)
        more = f"m, more than {near[0]}, which is {self.near:g}"
        self.far = number(f"{self.name}: {far[0]}", far[1], more, above=self.near, error=SimulationError)
        if isinstance(ignore, str) or not all(isinstance(n, str) for n in ignore):
            raise SimulationError(f"{self.name}: ignore is {shown(ignore)}; expected names of links, ['…']")
        self.ignore = tuple(ignore)

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        if self.count > MOST_RAYS:
            raise SimulationError(f"{self.name} has {self.count} rays, each of which would be a number of the simulation's state; "
                                  f"expected {MOST_RAYS} at most, or its frames(trajectory) after a run without it")  # fmt: skip
        self.seen = self.met(model)

    def met(self, model: Model) -> list[RayTarget]:
        """Return what of a model its rays may meet; warn of a shape that it lies within where the robot is at rest."""
        own, *_ = (model.link_index(link) for link in (self.link, *self.ignore))
        seen, poses = ray_targets(model, (self.link, *self.ignore)), dynamics.forward_kinematics(model, model.initial())
        if within := shapes_around(seen, poses, poses[own] @ self.placement, self.rays, self.near):
            name = model.links[within[0]].name
            warn(f"{self.name} on '{self.link}' lies within a shape of '{name}', which is all that it sees; expected another placement, or "
                 f"ignore=['{name}']", SimulationWarning)  # fmt: skip
        return seen

    def true(self, s: Context) -> dict[str, Any]:
        t = cast_rays(self.seen, s.poses, s.ground, self.pose(s), self.rays, self.near, self.far)
        return {"": np.asarray(t).reshape(self.shape)}

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        if not self.errors:
            return dict(true), walked
        x = np.ravel(true[""])
        y, walked = self.errors[""].read(s.parameters, x, walked, noise, self.period)
        there = ops.less(x, self.far)
        return {"": ops.where(there, ops.clip(y, self.near, self.far), self.far).reshape(self.shape)}, walked

    def look(self, model: Model, q: Any, ground: Any = None) -> Array:
        """Return what it reads without errors, (..., *shape), in configurations q (..., nq): any number of them, in machine code.

        Parameters
        ----------
        ground : pose (4, 4) of a half-space that is there besides, whose z axis is its normal, such as a trajectory's ``ground``; or None

        Raises
        ------
        SimulationError : the readings are more than this machine has memory for
        ModelError : it is on a link that the model has not
        """
        q = numbers(f"{self.name}: q", q, SimulationError)
        if q.shape[-1:] != (model.nq,):
            raise SimulationError(f"{self.name}: q has shape {q.shape}; expected (..., {model.nq}), configurations of '{model.name}'")
        rows = q.reshape(-1, model.nq)
        size, there = 8 * (len(rows) + 3) * self.count, memory()
        if size > there:                                                       # before there are so many rays
            raise SimulationError(f"{self.name} would read {len(rows)} times {self.count} distances, {size / 2**30:.3g} GiB, and this "
                                  f"machine has {there / 2**30:.3g}; expected fewer")  # fmt: skip
        caster = self.caster(model, None if ground is None else np.asarray(ground, dtype=float))
        found, step = np.empty((len(rows), self.count)), max(1, AT_ONCE // self.count)
        for k in range(0, len(rows), step):
            found[k : k + step] = caster(rows[k : k + step], self.rays)
        return found.reshape(*q.shape[:-1], *self.shape)

    def caster(self, model: Model, ground: Array | None) -> Any:
        """Return the compiled function of q (nq) and rays (n, 3) to distances (n)."""
        key = model, None if ground is None else ground.tobytes()
        if self.__dict__.get("_cast", (None, None))[0] != key:
            link, seen = model.link_index(self.link), self.met(model)

            def looked(q: Array, d: Any) -> Any:
                poses = dynamics.forward_kinematics(model, q)
                return cast_rays(seen, poses, ground, poses[link] @ self.placement, d, self.near, self.far)

            self._cast = key, shaped(looked, f"({model.nq}),(n,3)->(n)")
        return self._cast[1]

    def __getstate__(self) -> dict[str, Any]:
        return {n: x for n, x in super().__getstate__().items() if n != "_cast"}

    def instants(self, trajectory: Any) -> Array:
        """Return when it samples within a trajectory, s: at its phase and its period, at every record where it has none."""
        law = self.called.law
        if law.period is None:
            return np.asarray(trajectory.t)
        start, end = float(trajectory.t[0]), float(trajectory.t[-1])
        first = np.ceil((start - law.phase) / law.period - 1e-9)
        return law.phase + law.period * np.arange(first, np.floor((end - law.phase) / law.period + 1e-9) + 1.0)

    def frames(self, trajectory: Any) -> tuple[Array, Array]:
        """Return when it samples within a trajectory (k), s, and what it reads then without errors (..., k, *shape).

        Of as many rays as you like: they are cast now, where the trajectory was, and are in no simulation's state.

        Raises
        ------
        SimulationError : it does not sample within the trajectory; the readings are more than this machine has memory for
        ModelError : it is on a link that the model has not
        """
        times = self.instants(trajectory)
        if not len(times):
            raise SimulationError(f"{self.name} does not sample between {trajectory.t[0]:g} and {trajectory.t[-1]:g} s; expected a "
                                  "trajectory as long as its period")  # fmt: skip
        q = trajectory.q if self.called.law.period is None else trajectory.at(np.clip(times, trajectory.t[0], trajectory.t[-1])).q
        return times, self.look(trajectory.model, q, trajectory.ground)

    def points(self, readings: Any) -> Array:
        """Return the points (..., *shape, 3) at readings (..., *shape), m, in the sensor's axes: :attr:`rays` times how far they reach."""
        x = numbers(f"{self.name}: readings", readings, SimulationError)
        if x.shape[max(x.ndim - len(self.shape), 0) :] != self.shape:
            raise SimulationError(f"{self.name}: readings have shape {x.shape}; expected (..., {', '.join(map(str, self.shape))})")
        return x[..., None] * self.rays.reshape(*self.shape, 3)


class RangeFinder(Eye):
    """A range finder: how far along a direction the first surface is, m.

    Parameters
    ----------
    placement : a place (3), m, or a pose (4, 4) in the link's frame
    direction : (3), in the sensor's axes; by default it looks along z
    max_range : m: what it reads where nothing is nearer; min_range : m, from which on it sees
    noise, bias, scale, quantum : of a sample; None: there are no errors
    ignore : names of links that it looks through, besides its own

    Signal: the distance, a number; and where it has errors "NAME.true".

    >>> RangeFinder("base", placement=(0.1, 0, 0), direction=(2, 0, 0), max_range=4.0).rays
    array([[1., 0., 0.]])
    """

    def __init__(self, link: str, placement: Any = None, direction: Any = (0.0, 0.0, 1.0), max_range: float = 1e6, min_range: float = 0.0,
                 period: float | None = None, latency: float = 0.0, phase: float = 0.0, noise: Any = None, bias: Any = None,
                 scale: Any = None, quantum: Any = None, ignore: Sequence[str] = (), name: str = "range_finder") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, errors_of(name, 1, noise, bias, scale, quantum))
        self.mount(link, placement)
        self.shape, self.direction = (), unit(f"{name}: direction", direction)
        self.open(("min_range", min_range), ("max_range", max_range), ignore)

    @property
    def about(self) -> dict[str, Any]:
        return {"direction": self.direction.tolist(), "near": self.near, "far": self.far}

    @functools.cached_property
    def rays(self) -> Array:
        return self.direction[None]


class Lidar(Eye):
    """A lidar: distances along many rays, m, x ahead and z up in its axes.

    Parameters
    ----------
    azimuths : (n), rad, about z from x on; elevations : (m), rad, from the plane of x and y up
    placement, max_range, min_range, noise, bias, scale, quantum, ignore : as of a :class:`RangeFinder`; noise is drawn for each ray

    Signal: the distances (m, n), a row for each elevation, or (n) of a single one; and where it has errors "NAME.true".

    >>> lidar = Lidar("base", azimuths=np.linspace(-np.pi, np.pi, 8, endpoint=False), elevations=(-0.2, 0.0, 0.2))
    >>> lidar.shape, lidar.rays[12].round(12)
    ((3, 8), array([1., 0., 0.]))
    """

    def __init__(self, link: str, azimuths: Any, elevations: Any = (0.0,), placement: Any = None, max_range: float = 100.0,
                 min_range: float = 0.0, period: float | None = None, latency: float = 0.0, phase: float = 0.0, noise: Any = None,
                 bias: Any = None, scale: Any = None, quantum: Any = None, ignore: Sequence[str] = (), name: str = "lidar") -> None:
        a, e = (angles(f"{name}: {what}", x) for what, x in (("azimuths", azimuths), ("elevations", elevations)))
        super().__init__(name, period, latency, phase, errors_of(name, len(a) * len(e), noise, bias, scale, quantum))
        self.mount(link, placement)
        self.azimuths, self.elevations = a, e
        self.shape = (len(a),) if len(e) == 1 else (len(e), len(a))
        self.open(("min_range", min_range), ("max_range", max_range), ignore)

    @property
    def about(self) -> dict[str, Any]:
        return {"azimuths": self.azimuths.tolist(), "elevations": self.elevations.tolist(), "near": self.near, "far": self.far}

    @functools.cached_property
    def rays(self) -> Array:
        a, e = self.azimuths[None], self.elevations[:, None]
        return in_grid(np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e))


class DepthCamera(Eye):
    """A depth camera: a picture of depths, m, along the optical axis (z-depth, not the length of the ray).

    Its axes are those of a camera's optical frame: z the way it looks, x to the right, y down; :func:`looking` makes such a pose. Pixels
    are square; the one in row i and column j looks along [(j + ½ − w/2)/f, (i + ½ − h/2)/f, 1] with f = h/(2 tan(fov/2)).

    Parameters
    ----------
    width, height : pixels
    fov : the angle of view from bottom to top, rad
    near, far : m of depth: what is nearer is not there, what is farther reads ``far``
    placement, noise, bias, scale, quantum, ignore : as of a :class:`RangeFinder`; noise is drawn for each pixel

    Signal: the depths (height, width); and where it has errors "NAME.true". :meth:`points` makes a cloud of them, and
    :func:`engine.images` a picture in colour of the same pixels.

    >>> camera = DepthCamera("base", width=4, height=2, fov=np.pi / 2)
    >>> round(camera.focal, 12), camera.points(np.ones((2, 4)))[0, 0].round(12)
    (1.0, array([-1.5, -0.5,  1. ]))
    """

    def __init__(self, link: str, width: int = 64, height: int = 48, fov: float = 1.0, placement: Any = None, near: float = 0.01,
                 far: float = 10.0, period: float | None = None, latency: float = 0.0, phase: float = 0.0, noise: Any = None,
                 bias: Any = None, scale: Any = None, quantum: Any = None, ignore: Sequence[str] = (),
                 name: str = "depth_camera") -> None:  # fmt: skip
        self.width, self.height = (whole(f"{name}: {what}", x, "pixels from 1", least=1, error=SimulationError)
                                   for what, x in (("width", width), ("height", height)))  # fmt: skip
        super().__init__(name, period, latency, phase, errors_of(name, self.width * self.height, noise, bias, scale, quantum))
        self.mount(link, placement)
        self.fov = number(f"{name}: fov", fov, "an angle between 0 and π, rad", above=0.0, below=np.pi, error=SimulationError)
        self.shape = self.height, self.width
        self.open(("near", near), ("far", far), ignore)
        half = 0.5 * np.array([self.width, self.height]) / self.focal
        self.outline = np.array([[*(half * sign), 1.0] for sign in ([-1, -1], [1, -1], [1, 1], [-1, 1])])
        self.step = 1.0 / self.focal

    @functools.cached_property
    def rays(self) -> Array:
        x, y = ((np.arange(n) + 0.5 - 0.5 * n) / self.focal for n in (self.width, self.height))
        return in_grid(x[None], y[:, None], 1.0)

    @property
    def focal(self) -> float:
        """f, pixels."""
        return float(0.5 * self.height / np.tan(0.5 * self.fov))

    @property
    def intrinsics(self) -> Array:
        """The matrix K (3, 3) from the camera's frame to pixels, counted from the picture's upper left corner."""
        return np.array([[self.focal, 0.0, 0.5 * self.width], [0.0, self.focal, 0.5 * self.height], [0.0, 0.0, 1.0]])


def looking(eye: Any, toward: Any, up: Any = (0.0, 0.0, 1.0)) -> Array:
    """Return the pose (4, 4) of a camera in a link's frame: z the way it looks, x to the right, y down.

    Parameters
    ----------
    eye : where it is (3), m
    toward, up : directions (3) in which it looks, and which is up in its pictures, link axes

    >>> looking((0.1, 0, 0), toward=(1, 0, 0))[:3, :3] + 0.0
    array([[ 0.,  0.,  1.],
           [-1.,  0.,  0.],
           [ 0., -1.,  0.]])
    """
    place, z, above = numbers("looking: eye", eye, SimulationError), unit("looking: toward", toward), unit("looking: up", up)
    x = np.cross(z, above)
    if place.shape != (3,) or not np.linalg.norm(x) > 1e-12:
        raise SimulationError(f"looking from {shown(eye)} toward {shown(toward)} with {shown(up)} up; expected a place (3), and two "
                              "directions that differ")  # fmt: skip
    x = x / np.linalg.norm(x)
    return se3.pose(np.column_stack([x, np.cross(z, x), z]), place)


def in_grid(*components: Any) -> Array:
    """Return vectors (m n, 3) of components that are broadcast to (m, n)."""
    return np.stack(np.broadcast_arrays(*components), axis=-1).reshape(-1, 3)


def errors_of(name: str, n: int, noise: Any, bias: Any, scale: Any, quantum: Any) -> dict[str, Errors]:
    """Return the errors of n readings that have them in common, if there are any."""
    if all(x is None for x in (noise, bias, scale, quantum)):
        return {}
    return {"": Errors(name, n, 0.0 if noise is None else noise, 0.0 if bias is None else bias, None, scale, None, quantum, common=True)}


def angles(what: str, x: Any) -> Array:
    """Return angles (n), rad."""
    a = np.atleast_1d(numbers(what, x, SimulationError))
    if a.ndim != 1 or not a.size or not np.isfinite(a).all():
        raise SimulationError(f"{what} is {shown(x)}; expected angles (n), rad, one at least")
    return a
