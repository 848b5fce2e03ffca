"""Ambient occlusion in screen space (SSAO): creases are found in a picture's depths, at half its resolution, and darkened."""

from __future__ import annotations

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.gl_state import SCALED, GLState
from engine.viewer.draw.objects import Framebuffer, Program, bind_texture
from engine.viewer.scene.camera import Camera

#: what lies so near counts, of half the picture's height at the camera's target; how much darker the deepest crease is
REACH, STRENGTH = 0.14, 0.8
Place = tuple[int, int, int, int]


def beside(within: Place, size: tuple[int, int], share: float = 0.08) -> Place:
    """Return a rectangle (left, bottom, width, height), pixels, with all around it that is looked at from within, in a picture of a size.

    >>> beside((10, 300, 50, 80), (640, 400))
    (0, 260, 100, 140)
    """
    margin = int(max(share * size[1], 9.0)) + 8                                # and what a pixel of half the resolution lies beside
    low = [max(x - margin, 0) for x in within[:2]]
    high = [min(x + n + margin, most) for x, n, most in zip(within[:2], within[2:], size, strict=True)]
    return low[0], low[1], high[0] - low[0], high[1] - low[1]


class AmbientOcclusion:
    """Darkens the creases of what is drawn; its context must be current."""

    def __init__(self) -> None:
        self.found = Program(("screen.vert",), ("crease.frag",))
        self.calm = Program(("screen.vert",), ("calm.frag",))
        self.laid = Program(("screen.vert",), ("creased.frag",), STRENGTH=STRENGTH)
        self.depth: Framebuffer | None = None
        self.half: tuple[Framebuffer, ...] = ()

    def draw(self, target: Framebuffer, camera: Camera, within: Place) -> None:
        """Darken what lies in a rectangle (left, bottom, width, height), pixels, of a framebuffer with what the camera sees."""
        w, h = target.size
        if self.depth is None or self.depth.size != target.size:
            self._free()
            self.depth = Framebuffer(target.size, None)
            self.half = tuple(Framebuffer((w - w // 2, h - h // 2), gl.GL_RG32F, depth=False) for _ in range(2))
        found, calm = self.half
        target.copy_to(self.depth.id, gl.GL_DEPTH_BUFFER_BIT, beside(within, target.size))
        projection, slope = camera.projection(w / h), np.tan(0.5 * camera.fov)
        reach = REACH * camera.distance * slope
        given = {"depth": 0, "lens": (slope * w / h, slope, *projection[2, 2:]), "reach": reach}
        left, bottom, wide, high = within
        found.bind()
        GLState(None, within=(max(left // 2 - 1, 0), max(bottom // 2 - 1, 0), wide // 2 + 4, high // 2 + 4)).set()
        bind_texture(0, self.depth.depth)
        self.found.use(**given, size=(float(w), float(h)), wide=0.5 * h * reach / slope)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        calm.bind()
        bind_texture(4, found.color)
        self.calm.use(creases=4, reach=reach)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        target.bind()
        GLState(None, blend=SCALED, within=within).set()
        bind_texture(0, self.depth.depth)
        bind_texture(4, calm.color)
        self.laid.use(**given, creases=4)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        GLState().set()                                          # copies too keep within

    def _free(self) -> None:
        for owned in (self.depth, *self.half):
            if owned is not None:
                owned.delete()

    def delete(self) -> None:
        """Free what it holds on the graphics card."""
        self._free()
        for program in (self.found, self.calm, self.laid):
            program.delete()
