"""The surroundings of a robot in an orbit: stars, and the Earth below with its air. Straight down is −z."""

from __future__ import annotations

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.objects import Buffer, Program, Texture, made
from engine.viewer.draw.passes import ADDED, Pass
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.heavens import AIR, CORNERS, DIP, PATTERN, STARS, pattern, stars
from engine.viewer.scene.light import Light


class Space:
    """Draws the surroundings where nothing is in front of them; its context must be current."""

    def __init__(self) -> None:
        self.earth = Program(("space.vert",), ("space.frag",), CORNERS=f"{CORNERS}.0")
        self.sky = Program(("screen.vert",), ("dark.frag",))
        self.stars = Program(("stars.vert",), ("stars.frag",))
        self.ground = Texture(pattern(PATTERN))
        self.array, self.catalogue = made(gl.glGenVertexArrays), Buffer(gl.GL_ARRAY_BUFFER, gl.GL_STATIC_DRAW)
        gl.glBindVertexArray(self.array)
        self.catalogue.fill(np.hstack(stars(STARS)).astype(np.float32))
        for k in range(2):
            gl.glEnableVertexAttribArray(k)
            gl.glVertexAttribPointer(k, 3, gl.GL_FLOAT, False, 24, 12 * k)

    def draw(self, camera: Camera, light: Light, size: tuple[int, int]) -> None:
        """Draw space at the far plane of the bound framebuffer, of ``size`` (width, height) pixels."""
        Pass().begin()
        turn = camera.projection(size[0] / size[1])
        turn[:, :3] = turn[:, :3] @ camera.axes.T
        gl.glBindVertexArray(self.array)
        self.sky.use(color=light.zenith)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        self.ground.bind(0)
        wide, height = np.tan(0.5 * np.pi - DIP + AIR), 1.0 / np.cos(DIP)
        self.earth.use(turn=turn, wide=wide, height=height, key=light.key, ground=0, dark=light.zenith)
        gl.glDrawArrays(gl.GL_TRIANGLE_FAN, 0, CORNERS)
        Pass(blend=ADDED).begin()
        gl.glEnable(gl.GL_PROGRAM_POINT_SIZE)
        self.stars.use(turn=turn, limb=np.sin(DIP), scale=size[1] / 900.0)
        gl.glDrawArrays(gl.GL_POINTS, 0, STARS)

    def delete(self) -> None:
        for owned in (self.earth, self.sky, self.stars, self.ground, self.catalogue):
            owned.delete()
