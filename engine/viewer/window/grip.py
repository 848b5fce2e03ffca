"""Taking hold of a link with the mouse: one that runs is pulled, one at rest is turned about its joint."""

from __future__ import annotations

import numpy as np

from engine.viewer.scene.camera import Camera
from engine.viewer.scene.scene import Actor
from engine.viewer.scene.sources import Running, Still

Array = np.ndarray


class Grip:
    """A hold on a point (3), m, world axes, of a link, taken at a time t, s."""

    def __init__(self, actor: Actor, instance: int, link: str, point: Array, t: float) -> None:
        self.actor, self.instance, self.link, self.point = actor, instance, link, point
        T = actor.poses(t)[instance, actor.model.link_index(link)]
        self.local = T[:3, :3].T @ (point - T[:3, 3])                                       # in the link's frame
        self.target: Array | None = None                                                    # where it is pulled to

    def drag(self, camera: Camera, size: tuple[int, int], to: tuple[int, int], by: tuple[int, int]) -> None:
        """Move as the mouse does, to a pixel and by some pixels, in a picture of (width, height).

        Raises
        ------
        SimulationError : a link that cannot move is pulled
        """
        source = self.actor.source
        if isinstance(source, Running) and not source.live.paused:
            self._pull(source, camera, size, to)
        elif isinstance(source, Still):
            self._turn(source, camera, size, by)

    def _pull(self, source: Running, camera: Camera, size: tuple[int, int], to: tuple[int, int]) -> None:
        """Pull the link to the point under the mouse, at its depth."""
        origin, direction = camera.ray(*to, size)
        back = camera.axes[:, 2]
        self.target = origin + direction * float((self.point - origin) @ back / (direction @ back))
        source.live.pull(self.link, self.local, self.target)

    def band(self, t: float) -> tuple[Array, float] | None:
        """Return the ends (2, 3), m, of the spring that pulls at a time, and its force, N; None where nothing is pulled."""
        source = self.actor.source
        if self.target is None or not isinstance(source, Running):
            return None
        T = self.actor.poses(t)[self.instance, self.actor.model.link_index(self.link)]
        held = T[:3, :3] @ self.local + T[:3, 3]
        return np.array([held, self.target]), float(source.live.parameters["pull.stiffness"]) * float(np.linalg.norm(self.target - held))

    def _turn(self, source: Still, camera: Camera, size: tuple[int, int], by: tuple[int, int]) -> None:
        """Move the joint above the link so that the point follows the mouse: the smallest change of that joint's coordinates."""
        model, q = source.model, source.q[self.instance]
        T = source.robot.forward_kinematics(q)[model.link_index(self.link)]
        J = source.robot.jacobian(q, self.link)
        J = T[:3, :3] @ (J[3:] - np.cross(self.local, J[:3], axisb=0, axisc=0))             # the point's velocity, world axes
        body, _ = model.carrier[model.link_index(self.link)]
        if body < 0:
            return
        v = model.bodies[body].v
        per_metre = 0.5 * size[1] / np.tan(0.5 * camera.fov) / max(float((camera.eye - T[:3, 3]) @ camera.axes[:, 2]), 1e-6)
        A = per_metre * camera.axes[:, :2].T @ J[:, v]                                      # pixels to the joint's velocities
        change = np.zeros(model.nv)
        change[v] = np.linalg.lstsq(A.T @ A + 1e-9 * np.trace(A.T @ A) * np.eye(A.shape[1]), A.T @ by, rcond=None)[0]
        source.q[self.instance] = model.within_limits(model.integrate(q, change, 1.0))
