"""Taking hold of a link with the mouse: one that runs is pulled, one at rest goes where the hand goes, and the joints above it follow."""

from __future__ import annotations

import numpy as np

from engine.viewer.scene.actor import Actor
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.quantities import quantities_of
from engine.viewer.scene.sources import Running, Still
from engine.viewer.window.gizmo import Gizmo
from engine.viewer.window.reach import reach

Array = np.ndarray
Pixel = tuple[int, int]


class Grip:
    """A hold on a point (3), m, world axes, of a link, taken at a time t, s, with a camera that sees a picture of (width, height).

    Parameters
    ----------
    gizmo, hold : the link's handles, and which of them is held where (:meth:`Gizmo.holding`); None: the link itself is
    """

    def __init__(self, actor: Actor, instance: int, link: str, point: Array, t: float, camera: Camera, size: Pixel,
                 gizmo: Gizmo | None = None, hold: tuple[int, float] | None = None) -> None:  # fmt: skip
        self.actor, self.instance, self.link, self.point = actor, instance, link, point
        self.camera, self.size, self.gizmo, self.hold = camera, size, gizmo, hold
        T = actor.poses(t)[instance, actor.model.link_index(link)]
        self.local = T[:3, :3].T @ (point - T[:3, 3])                                       # in the link's frame
        self.target: Array | None = None                                                    # where it is pulled to

    def drag(self, to: Pixel) -> None:
        """Move as the mouse does, to a pixel.

        Raises
        ------
        SimulationError : a link that cannot move is pulled
        """
        source = self.actor.source
        if isinstance(source, Running) and not source.live.paused:
            self.target = self._under(to)
            source.live.pull(self.link, self.local, self.target)
        elif isinstance(source, Still) and source.free:
            self._reach(source, to)

    def _under(self, to: Pixel) -> Array:
        """Return the point under a pixel, as deep in the picture as the point that was taken hold of."""
        origin, direction = self.camera.ray(*to, self.size)
        back = self.camera.axes[:, 2]
        return origin + direction * float((self.point - origin) @ back / (direction @ back))

    def _reach(self, source: Still, to: Pixel) -> None:
        """Bring the point under the pixel, or the link where its handle is shifted or turned to."""
        q, size = source.q[self.instance], quantities_of(self.actor).whole
        if self.gizmo is None:
            source.q[self.instance] = reach(source.robot, q, self.link, self.local, self._under(to), None, size)
        elif self.hold is not None and (now := self.gizmo.measure(self.hold[0], to, self.size)) is not None:
            T = self.gizmo.moved(self.hold[0], now - self.hold[1])
            source.q[self.instance] = reach(source.robot, q, self.link, np.zeros(3), T[:3, 3], T[:3, :3], size)

    def band(self, t: float) -> tuple[Array, float] | None:
        """Return the ends (2, 3), m, of the spring that pulls at a time, and its force, N; None where nothing is pulled."""
        source = self.actor.source
        if self.target is None or not isinstance(source, Running):
            return None
        T = self.actor.poses(t)[self.instance, self.actor.model.link_index(self.link)]
        held = T[:3, :3] @ self.local + T[:3, 3]
        return np.array([held, self.target]), float(source.live.parameters["pull.stiffness"]) * float(np.linalg.norm(self.target - held))
