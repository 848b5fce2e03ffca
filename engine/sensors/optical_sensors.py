"""Sensors that look at something: stars, the Sun, points, other links; what they say is valid where they see it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown
from engine.components.component import Context, SimulationError
from engine.components.law import Noise
from engine.components.layout import Layout
from engine.model import Model
from engine.sensors.sensor import OF_SAMPLES, Errors, Mounted, angle, direction, placement_pose, with_options
from engine.spatial import quaternion, se3

Array = np.ndarray
Direction = Callable[[Any], Any]


#: attitudes and directions before there are any
UNTURNED, AHEAD = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


class OpticalSensor(Mounted):
    """A sensor whose signal says, besides what it reads, whether that is ``valid``, 1 or 0, and the ``time`` of the sample, s.

    Where it is blind its parts that have a value at ``first`` are those of the last sample that was valid, and before one as at first.
    """

    measures = types.MappingProxyType({"position": "m", "distance": "m", "time": "s"})

    def __init__(self, name: str, period: float | None, latency: float, phase: float, errors: Mapping[str, Errors],
                 first: Mapping[str, Array]) -> None:  # fmt: skip
        self.first = first
        super().__init__(name, period, latency, phase, errors, memory=np.concatenate([np.zeros(0), *first.values()]))

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        parts, rate, _ = super().said(s, state, memory, count)
        before = Layout({n: x.shape for n, x in self.first.items()}).split(memory)
        kept = {n: ops.where(ops.less(0.5, parts["valid"]), parts[n], x) for n, x in before.items()}
        return {**parts, **kept}, rate, np.concatenate([np.zeros(0), *kept.values()])

    def seen(self, s: Context) -> tuple[dict[str, Any], Any]:
        """Return the truth, by parts, and whether it is seen."""
        raise NotImplementedError

    def true(self, s: Context) -> dict[str, Any]:
        found, valid = self.seen(s)
        return {**found, "valid": ops.where(valid, 1.0, 0.0), "time": s.t}


class StarTracker(OpticalSensor):
    """A star tracker: the attitude of its axes in the world, q_WS ⊗ exp(bias + noise N).

    Parameters
    ----------
    noise : rad, of a sample about x, y and z: (σ_c, σ_c, σ_r) of one that looks along z; bias : a rotation vector (3), rad
    avoid : [(direction, angle), …]: it is blind where z is within an angle, rad, of a direction: three numbers, a function of t that
        returns where something is (such as :func:`engine.space.sun`), or "planet", beside a frame the planet's centre, whose angle is
        beyond the limb where a ``radius``, m, is given
    radius : of the planet, m

    Signal: ``q`` (4), ``valid``, ``time``; and "NAME.true.q". Where it is blind ``q`` is of the last valid sample, the identity before.

    >>> StarTracker("base", period=0.25, noise=(1e-5, 1e-5, 8e-5)).parameters["star_tracker.noise"]
    array([1.e-05, 1.e-05, 8.e-05])
    """

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 noise: Any = 0.0, bias: Any = 0.0, avoid: Sequence[tuple[Any, float]] = (), radius: float = 0.0,
                 name: str = "star_tracker") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, {"q": turning(name, noise, bias)}, {"q": UNTURNED})
        self.mount(link, placement)
        self.radius = number(f"{name}: radius", radius, "m from 0", least=0.0, error=SimulationError)
        self.avoid = [(towards(f"{name}: avoid", x), angle(f"{name}: avoid", a)) for x, a in avoid]
        self.turn = quaternion.from_matrix(self.placement[:3, :3])

    def seen(self, s: Context) -> tuple[dict[str, Any], Any]:
        T = self.pose(s)
        r = self.place(s)[0]
        clear: list[Any] = [True]
        for x, cone in self.avoid:
            d = -r if isinstance(x, str) else np.asarray(x(s.t)) - r if callable(x) else x
            limb = ops.arcsin(self.radius / ops.norm(r)) if isinstance(x, str) and self.radius else 0.0
            clear.append(ops.less(cone + limb, angle_between(T[:3, 2], d)))
        return {"q": attitude(s, self.link, self.turn)}, functools.reduce(ops.logical_and, clear)

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        turn, walked = self.errors["q"].read(s.parameters, np.zeros(3), walked, noise, self.period)
        return {**true, "q": quaternion.product(true["q"], quaternion.exp(turn))}, walked


class SunSensor(OpticalSensor):
    """A sun sensor: the direction to the Sun (3) in its axes, turned by a little noise, where that is within its field of view.

    Parameters
    ----------
    sun : a direction (3), or a function of t that returns where the Sun is, m, such as :func:`engine.space.sun`
    view : half of its field of view about z, rad
    eclipse : a function of place and t that returns what is seen of the Sun, such as :class:`engine.space.Eclipse`: half must be
    noise, bias : rotation vectors, rad

    Signal: ``direction`` (3), ``valid``, ``time``; and "NAME.true.direction". Where it is blind ``direction`` is that of the last valid
    sample, z before.

    >>> SunSensor("base", sun=(1, 0, 0), view=1.0).view
    1.0
    """

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 sun: Any = (1.0, 0.0, 0.0), view: float = np.pi, eclipse: Callable[[Any, Any], Any] | None = None, noise: Any = 0.0,
                 bias: Any = 0.0, name: str = "sun_sensor") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, {"direction": turning(name, noise, bias)}, {"direction": AHEAD})
        self.mount(link, placement)
        self.sun, self.view, self.eclipse = towards(f"{name}: sun", sun), angle(f"{name}: view", view), eclipse

    def seen(self, s: Context) -> tuple[dict[str, Any], Any]:
        T, r = self.pose(s), self.place(s)[0]
        d = np.asarray(self.sun(s.t)) - r if callable(self.sun) else self.sun
        n = T[:3, :3].T @ (d / ops.norm(d))
        there = ops.less(angle_between(np.array([0.0, 0.0, 1.0]), n), self.view)
        if self.eclipse is not None:
            there = ops.logical_and(there, ops.less(0.5, self.eclipse(r, s.t)))
        return {"direction": n}, there

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        turn, walked = self.errors["direction"].read(s.parameters, np.zeros(3), walked, noise, self.period)
        return {**true, "direction": quaternion.rotate(quaternion.exp(turn), true["direction"])}, walked


class RelativePose(OpticalSensor):
    """Pose of another link, seen from a sensor: its place (3), m, and attitude q_ST (4), in the sensor's axes.

    Parameters
    ----------
    target : the other link; target_placement : a place (3) or a pose (4, 4) on it
    position : errors of the place; attitude : noise and bias of a rotation vector, rad; as dictionaries
    near, far : m, between which it sees; view : half of its field of view about z, rad

    Signal: ``position``, ``q``, ``valid``, ``time``; and the truth. Where it is blind, place and attitude are those of the last valid
    sample, zero and the identity before.

    >>> sorted(RelativePose("base", "client", position={"noise": 0.01}).parameters)[:2]
    ['relative.attitude.bias', 'relative.attitude.noise']
    """

    of_parts = ("position", "attitude")

    def __init__(self, link: str, target: str, placement: Any = None, target_placement: Any = None, period: float | None = None,
                 latency: float = 0.0, phase: float = 0.0, position: Mapping[str, Any] | None = None,
                 attitude: Mapping[str, Any] | None = None, near: float = 0.0, far: float = np.inf, view: float = np.pi,
                 name: str = "relative") -> None:  # fmt: skip
        own = {"position": Errors(f"{name}.position", 3, **with_options(f"{name}: position", position, OF_SAMPLES)),
               "q": turning(f"{name}.attitude", **with_options(f"{name}: attitude", attitude, ("noise", "bias")))}  # fmt: skip
        super().__init__(name, period, latency, phase, own, {"position": np.zeros(3), "q": UNTURNED})
        self.mount(link, placement)
        self.target, self.target_placement = target, placement_pose(f"{name}: target", target_placement)
        self.near, self.far, self.view = near, far, angle(f"{name}: view", view)
        self.turns = [quaternion.from_matrix(T[:3, :3]) for T in (self.placement, self.target_placement)]

    def bind(self, model: Model, dt: float) -> None:
        model.link_index(self.target)
        super().bind(model, dt)

    def seen(self, s: Context) -> tuple[dict[str, Any], Any]:
        T, own = s.pose(self.target) @ self.target_placement, self.pose(s)
        p = own[:3, :3].T @ (T[:3, 3] - own[:3, 3])
        q = quaternion.product(quaternion.conjugate(attitude(s, self.link, self.turns[0])), attitude(s, self.target, self.turns[1]))
        d = ops.norm(p)
        there = ops.less_equal(self.near, d)
        if self.view < np.pi:                                                  # else it sees whatever is around it
            there = ops.logical_and(there, ops.less_equal(angle_between(np.array([0.0, 0.0, 1.0]), p), self.view))
        return {"position": p, "q": q}, there if self.far == np.inf else ops.logical_and(there, ops.less_equal(d, self.far))

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        position, _ = self.errors["position"].read(s.parameters, true["position"], walked, noise, self.period)
        turn, _ = self.errors["q"].read(s.parameters, np.zeros(3), walked, noise, self.period)
        return {**true, "position": position, "q": quaternion.product(true["q"], quaternion.exp(turn))}, walked


class Range(OpticalSensor):
    """Distance to something, m: another link's origin, or a plane along the sensor's z axis.

    Parameters
    ----------
    to : a link; or a plane (normal, offset), all x with normal·x = offset, such as ((0, 0, 1), 0.0)
    most : m, beyond which nothing is seen: what is read then is ``most``
    noise, bias, scale, quantum : of a sample

    Signal: ``distance``, ``valid``, ``time``; and "NAME.true.distance".

    >>> Range("base", to=((0, 0, 2), 1.0)).plane[1]
    0.5
    """

    def __init__(self, link: str, to: Any, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 most: float = 1e6, noise: Any = 0.0, bias: Any = 0.0, scale: Any = None, quantum: Any = None,
                 name: str = "range") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, {"distance": Errors(name, None, noise, bias, None, scale, None, quantum)}, {})
        self.mount(link, placement)
        self.to = to if isinstance(to, str) else None
        self.most = number(f"{name}: most", most, "m above 0", above=0.0, error=SimulationError)
        if self.to is None:
            try:
                normal, offset = to
                self.plane = direction(f"{name}: the plane's normal", normal), float(offset) / float(np.linalg.norm(normal))
            except (TypeError, ValueError) as error:
                raise SimulationError(f"{name}: to is {shown(to)}; expected a link, or a plane (normal, offset)") from error

    def bind(self, model: Model, dt: float) -> None:
        if self.to is not None:
            model.link_index(self.to)
        super().bind(model, dt)

    def seen(self, s: Context) -> tuple[dict[str, Any], Any]:
        T = self.pose(s)
        if self.to is not None:
            d = ops.norm(s.pose(self.to)[:3, 3] - T[:3, 3])
            there = ops.less_equal(d, self.most)
        else:
            n, offset = self.plane
            down = n @ T[:3, 2]
            meets = ops.logical_not(ops.equal(down, 0.0))
            d = (offset - n @ T[:3, 3]) / ops.where(meets, down, 1.0)
            there = ops.logical_and(meets, ops.logical_and(ops.less_equal(0.0, d), ops.less_equal(d, self.most)))
        return {"distance": ops.where(there, d, self.most)}, there


class Camera(Mounted):
    """A pinhole camera that sees points: [f x/z, f y/z] of each, z the way it looks, x right, y down.

    Parameters
    ----------
    points : by link, places (n, 3) in its frame, m; "world" for what stands still
    focal : f, pixels; size : (width, height), pixels: what is beyond, or behind, is not visible
    noise, bias, quantum : of a coordinate, pixels

    Signal: ``pixels`` (n, 2), ``visible`` (n), 1 or 0 of each, zeros where it is not, ``time``; and "NAME.true.pixels".

    >>> Camera("base", {"client": [[0, 0, 0], [1, 0, 0]]}).count
    2
    """

    def __init__(self, link: str, points: Mapping[str, Any], placement: Any = None, period: float | None = None, latency: float = 0.0,
                 phase: float = 0.0, focal: float = 1000.0, size: tuple[float, float] = (1024.0, 1024.0), noise: Any = 0.0,
                 bias: Any = 0.0, quantum: Any = None, name: str = "camera") -> None:  # fmt: skip
        self.points = {}
        for on, x in dict(points).items():
            self.points[on] = np.atleast_2d(numbers(f"{name}: points on '{on}'", x, SimulationError))
            if self.points[on].shape[1:] != (3,):
                raise SimulationError(f"{name}: points on '{on}' have shape {self.points[on].shape}; expected (n, 3)")
        self.count = sum(map(len, self.points.values()))
        if not self.count:
            raise SimulationError(f"{name}: points are none; expected places (n, 3) by link")
        super().__init__(name, period, latency, phase, {"pixels": Errors(name, 2 * self.count, noise, bias, quantum=quantum)})
        self.mount(link, placement)
        self.focal = number(f"{name}: focal", focal, "pixels above 0", above=0.0, error=SimulationError)
        self.half = 0.5 * numbers(f"{name}: size", size, SimulationError)

    def bind(self, model: Model, dt: float) -> None:
        for on in self.points:
            if on != "world":
                model.link_index(on)
        super().bind(model, dt)

    def true(self, s: Context) -> dict[str, Any]:
        to, pixels, visible = se3.inv(self.pose(s)), [], []
        for on, places in self.points.items():
            T = to if on == "world" and "world" not in {link.name for link in s.model.links} else to @ s.pose(on)
            for p in places:
                x, y, z = T[:3, :3] @ p + T[:3, 3]
                ahead = ops.less(0.0, z)
                u = self.focal / ops.where(ahead, z, 1.0) * ops.array([x, y])
                within = ops.logical_and(ops.less_equal(ops.absolute(u[0]), self.half[0]), ops.less_equal(ops.absolute(u[1]), self.half[1]))
                pixels.append(u)
                visible.append(ops.where(ops.logical_and(ahead, within), 1.0, 0.0))
        seen = ops.array(visible)
        return {"pixels": np.array(pixels) * seen[:, None], "visible": seen, "time": s.t}

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        pixels, _ = self.errors["pixels"].read(s.parameters, np.ravel(true["pixels"]), walked, noise, self.period)
        return {**true, "pixels": pixels.reshape(-1, 2) * true["visible"][:, None]}, walked


def turning(name: str, noise: Any = 0.0, bias: Any = 0.0) -> Errors:
    """Return errors that are rotation vectors (3), rad, whose noise is no more than half a turn."""
    own = Errors(name, 3, noise, bias)
    if (own.values["noise"] > np.pi).any():
        raise SimulationError(f"{name}: noise is {shown(noise)}; expected rad, from 0 to π")
    return own


def towards(what: str, x: Any) -> Any:
    """Return what a sensor looks at: "planet", a function of t, or a unit vector (3)."""
    return x if callable(x) or (isinstance(x, str) and x == "planet") else direction(what, x)


def angle_between(a: Array, b: Array) -> Any:
    """Return the angle between vectors (3), rad."""
    return ops.arctan2(ops.norm(ops.cross(a, b)), a @ b)


def attitude(s: Context, link: str, turn: Array) -> Array:
    """Return a mounted sensor's attitude as a quaternion (4): the link's, times the sensor's fixed turn on it."""
    q = quaternion.from_matrix(s.pose(link)[:3, :3])
    return q if turn.tolist() == [1.0, 0.0, 0.0, 0.0] else quaternion.product(q, turn)
