"""Colour pictures of cameras on links, of the rows of an environment, where actions end at a camera's time."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from engine.checks import memory, shown
from engine.gymnasium.task import EnvError
from engine.model import Builder, Geometry, Material, Model
from engine.simulation import Simulator
from engine.viewer import Actor, Scene, Still
from engine.viewer.files.images import Photographer

Array = np.ndarray


class Colours:
    """The pictures of all rows, each as it was taken last.

    Parameters
    ----------
    simulator : whose links the cameras are on; every : s that an action lasts
    cameras : :class:`engine.sensors.DepthCamera`, of names of their own
    samples : of a pixel
    count : rows

    Attributes
    ----------
    spaces : of a row's pictures, by the cameras' names

    Raises
    ------
    EnvError : a camera is none, or cannot take pictures where actions end; the pictures are more than the memory holds
    ModelError : it is on a link that there is not
    """

    def __init__(self, simulator: Simulator, every: float, cameras: Sequence[Any], samples: int, count: int) -> None:
        self.simulator, self.samples = simulator, samples
        self.cameras = [mounted(camera, simulator.model, every) for camera in cameras]
        names = ["state", *(camera.name for camera in cameras)]
        if len({*names}) < len(names):
            raise EnvError(f"cameras are named {', '.join(names[1:])}; expected names of their own, none of them 'state'")
        size, there = 2 * 3 * count * sum(camera.count for camera in cameras), memory()        # held, and handed out
        if size > there:
            raise EnvError(f"the pictures of {count} rows take {size / 2**30:.3g} GiB, and this machine has {there / 2**30:.3g}; "
                           "expected fewer rows, or smaller pictures")  # fmt: skip
        shapes = {camera.name: (camera.height, camera.width, 3) for camera in self.cameras}
        self.spaces = {name: spaces.Box(0, 255, shape, np.uint8) for name, shape in shapes.items()}
        self.pictures = {name: np.zeros((count, *shape), np.uint8) for name, shape in shapes.items()}

    def take(self, rows: Array, t: Array, q: Array, points: Array | None) -> None:
        """Take the pictures of some rows that are due at their times, s: where an episode begins, and at multiples of a camera's period.

        ``q`` (rows, nq) is where they are, ``points`` (rows, 3) what is shown besides; a row that is not finite keeps what it had.
        """
        good = np.isfinite(q).all(axis=1)
        for camera in self.cameras:
            law = camera.called.law
            k = (t - law.phase) / law.period if law.period else np.zeros(len(t))
            due = good & ((t <= 0.0) | (np.abs(k - np.round(k)) < 1e-6))
            for i in np.flatnonzero(due):
                scene = self.scene(q[i], None if points is None else points[i])
                self.pictures[camera.name][rows[i]] = self._photographer.take(scene, camera)

    def scene(self, q: Array, point: Array | None) -> Scene:
        """Return the scene as it is where a row is, to be drawn before the next."""
        sources = sources_of(self.simulator.model, q, point)
        if "_scene" not in self.__dict__:
            self._scene = Scene([Actor(source) for source in sources], surrounding(self.simulator))
        for actor, source in zip(self._scene.actors, sources, strict=True):
            actor.source = source
        return self._scene

    @functools.cached_property
    def _photographer(self) -> Photographer:
        return Photographer(self.samples)

    def close(self) -> None:
        """Give back what pictures took."""
        if photographer := self.__dict__.pop("_photographer", None):
            photographer.close()


def mounted(camera: Any, model: Model, every: float) -> Any:
    """Return a camera that can take pictures where actions end, so many seconds apart."""
    if not hasattr(camera, "intrinsics"):
        raise EnvError(f"cameras holds {shown(camera)}; expected each an engine.sensors.DepthCamera")
    model.link_index(camera.link)
    law = camera.called.law
    if law.delay:
        raise EnvError(f"{camera.name} has a latency of {law.delay:g} s, which pictures in colour do not have; expected 0")
    for name, x in (("period", law.period or 0.0), ("phase", law.phase)):
        if abs(x / every - round(x / every)) > 1e-6:
            raise EnvError(f"{camera.name} has a {name} of {x:g} s, and an action lasts {every:g} s; expected whole times of that")
    return camera


def surrounding(simulator: Simulator) -> str:
    """Return what is around a simulation's pictures."""
    return "ground" if any(simulator.gravity) else "space"


def sources_of(model: Model, q: Array, point: Array | None) -> list[Still]:
    """Return where a robot is, and a point (3) beside it."""
    found = [Still(model, q)]
    return found if point is None else [*found, Still(ball(), [1.0, 0.0, 0.0, 0.0, *point])]


@functools.cache
def ball() -> Model:
    """A red ball, to show a point."""
    builder = Builder("point")
    builder.add_link("point", visuals=(Geometry("sphere", (0.06,), material=Material("red", (0.8, 0.1, 0.1, 1.0))),))
    return builder.model(floating_base=True)
