"""Pictures in colour of what a camera on a link sees, at its own times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import memory
from engine.checks import shown as shown_as
from engine.sensors import DepthCamera
from engine.simulation import Trajectory
from engine.viewer.draw.context import open_window
from engine.viewer.draw.panes import Panes
from engine.viewer.draw.renderer import Renderer
from engine.viewer.files.film import require_size
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import mark
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown

Array = np.ndarray
#: how much farther the farthest is than the nearest, of what a picture keeps apart
APART = 3000.0


def images(trajectory: Trajectory, camera: DepthCamera, environment: str | Path | None = None,
           samples: int = 4) -> tuple[Array, NDArray[np.uint8]]:  # fmt: skip
    """Return when a camera on a link takes pictures within a trajectory (k), s, and those (k, height, width, 3), red, green and blue.

    The pixels are those of its depths, :meth:`DepthCamera.frames`: at its period, without its own link and those that it is to ignore.

    Parameters
    ----------
    trajectory : of one rollout; environment : what is around, as of :func:`engine.render`
    samples : of a pixel; 0: each shows what is in its middle alone

    Raises
    ------
    ViewerError : the camera is none, or has pictures that are too small, too large, or more than the memory holds; the trajectory is a
        batch; there is no OpenGL
    ModelError : it is on a link that there is not

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> fall = engine.Simulator(arm, dt=1e-3).run(arm.neutral(), np.zeros(7), 0.1)
    >>> camera = engine.sensors.DepthCamera(arm.links[-1].name, width=64, height=48, period=0.05)
    >>> engine.images(fall, camera, samples=0)[1].shape
    (3, 48, 64, 3)
    """
    if not isinstance(camera, DepthCamera):
        raise ViewerError(f"images are to be taken by {shown_as(camera)}; expected an engine.sensors.DepthCamera")
    if not isinstance(trajectory, Trajectory) or trajectory.q.ndim != 2:
        what = f"a batch of {trajectory.q.shape[:-2]}" if isinstance(trajectory, Trajectory) else shown_as(trajectory)
        raise ViewerError(f"images are to be taken of {what}; expected a trajectory of one rollout, such as trajectory.rollout(0)")
    trajectory.model.link_index(camera.link)
    require_size((camera.width, camera.height))
    times = camera.instants(trajectory)
    size, there = 6 * len(times) * camera.count, memory()                      # as they come, and as one
    if size > there:
        raise ViewerError(f"{len(times)} images of {camera.name}, {camera.width} x {camera.height}, take {size / 2**30:.3g} GiB, and this "
                          f"machine has {there / 2**30:.3g}; expected fewer, such as of trajectory[::10]")  # fmt: skip
    return times, np.array([*taken(Scene(trajectory, environment), times, camera, samples)], dtype=np.uint8)


class Photographer:
    """Takes pictures in colour with cameras on links of a scene's first robot, wherever that is then, until it is closed.

    Parameters
    ----------
    samples : of a pixel; 0: each shows what is in its middle alone

    Raises
    ------
    ViewerError : there is no OpenGL
    """

    def __init__(self, samples: int = 4) -> None:
        self.window = open_window(visible=False, width=16, height=16)
        self.panes = Panes(Renderer(samples, occlusion=True))

    def take(self, scene: Scene, camera: DepthCamera, t: float = 0.0) -> Array:
        """Return a camera's picture (height, width, 3) of a scene at a time, s."""
        self.window.switch_to()
        robot = scene.actors[0]
        T = robot.poses(t)[0, robot.model.link_index(camera.link)] @ camera.placement
        hidden = Shown(hidden=(camera.link, *camera.ignore))
        self.panes.draw(mark(scene, t, hidden), [pinhole(camera, T, scene)], (camera.width, camera.height))
        return self.panes.pixels()

    def close(self) -> None:
        """Give back what it holds."""
        self.window.close()


def taken(scene: Scene, times: Array, camera: DepthCamera, samples: int) -> Iterator[Array]:
    """Yield pictures (height, width, 3) at times, s."""
    photographer = Photographer(samples)
    try:
        for t in times:
            yield photographer.take(scene, camera, float(np.clip(t, *scene.span)))
    finally:
        photographer.close()


def pinhole(camera: DepthCamera, T: Any, scene: Scene) -> Camera:
    """Return what draws a camera's picture from a pose T (4, 4), z the way it looks: what is nearer than ``near`` is not there."""
    x, y, z, eye = T[:3, :4].T
    middle, radius = scene.extent
    reach = max(camera.far, float(np.linalg.norm(middle - eye)) + radius)
    away = 50.0 * max(camera.near, reach / APART)                              # by which the camera sets its near and far planes
    return Camera(eye + away * z, away, 0.0, 0.0, camera.fov, radius=away, frame=np.column_stack([-z, x, -y]))
