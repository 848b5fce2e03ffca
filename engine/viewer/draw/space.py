"""The surroundings of a robot in space: a planet with its air, the Sun, and stars."""

from __future__ import annotations

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.gl_state import ADDED, GLState
from engine.viewer.draw.objects import Buffer, Program, Texture, made
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.earth import grain, world_map
from engine.viewer.scene.heavens import GRAIN, STARS, stars
from engine.viewer.scene.light import Light
from engine.viewer.scene.planets import BACKDROP, Globe


class Space:
    """Draws the surroundings where nothing is in front of them; its context must be current."""

    def __init__(self) -> None:
        self.globe = Program(("screen.vert",), ("globe.frag",))
        self.stars = Program(("stars.vert",), ("stars.frag",))
        self.chart, self.grain = Texture(world_map()), Texture(grain(GRAIN))
        self.array, self.catalogue = made(gl.glGenVertexArrays), Buffer(gl.GL_ARRAY_BUFFER, gl.GL_STATIC_DRAW)
        gl.glBindVertexArray(self.array)
        self.catalogue.fill(np.hstack(stars(STARS)).astype(np.float32))
        for k in range(2):
            gl.glEnableVertexAttribArray(k)
            gl.glVertexAttribPointer(k, 3, gl.GL_FLOAT, False, 24, 12 * k)

    def draw(self, camera: Camera, light: Light, size: tuple[int, int], globe: Globe = BACKDROP) -> None:
        """Draw space at the far plane of the bound framebuffer, of ``size`` (width, height) pixels."""
        GLState().set()
        turn = camera.projection(size[0] / size[1])
        turn[:, :3] = turn[:, :3] @ camera.axes.T
        gl.glBindVertexArray(self.array)
        self.chart.bind(0)
        self.grain.bind(4)
        below, height = globe.seen_from(camera.eye)
        axes = np.eye(4)
        axes[:3, :3] = globe.axes
        self.globe.use(rays=camera.rays(size[0] / size[1]), below=below, height=height, axes=axes, key=globe.sun,
                       disc=float(globe.center is not None), chart=0, grain=4, dark=light.zenith, air=globe.body.air, soil=globe.body.soil,
                       desert=globe.body.desert, wet=globe.body.wet)  # fmt: skip
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        GLState(blend=ADDED).set()
        gl.glEnable(gl.GL_PROGRAM_POINT_SIZE)
        self.stars.use(turn=turn, below=below, limb=np.sqrt(1.0 - 1.0 / height**2), scale=size[1] / 900.0)
        gl.glDrawArrays(gl.GL_POINTS, 0, STARS)

    def delete(self) -> None:
        for owned in (self.globe, self.stars, self.chart, self.grain, self.catalogue):
            owned.delete()
