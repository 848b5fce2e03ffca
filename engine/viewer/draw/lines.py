"""Lines of a width in pixels, among the surfaces."""

from __future__ import annotations

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.gl_state import OVER, GLState
from engine.viewer.draw.objects import Program, Rows, made

Array = np.ndarray


class Lines:
    """Draws segments into the framebuffer that is bound: with smooth edges, and faintly where a surface hides them."""

    def __init__(self) -> None:
        self.program, self.rows = Program(("segments.vert", "line.vert"), ("line.frag",)), Rows()
        self.array = made(gl.glGenVertexArrays)

    def draw(self, segments: Array, colors: Array, widths: Array, matrix: Array, size: tuple[int, int]) -> None:
        """Draw segments.

        Parameters
        ----------
        segments : ends (m, 2, 3), m, world axes
        colors : red, green, blue, opacity (m, 4), sRGB; widths : pixels (m)
        matrix : world to clip coordinates (4, 4)
        size : (width, height) of the picture, pixels
        """
        if not len(segments):
            return
        data = np.zeros((len(segments), 3, 4), np.float32)
        data[:, :2, :3], data[:, 0, 3], data[:, 2] = segments, widths, colors
        self.rows.fill(data.reshape(-1, 12))
        self.rows.bind(0)
        gl.glBindVertexArray(self.array)
        self.program.use(rows=0, matrix=matrix, size=size)
        for test, opacity in (("GREATER", 0.3), ("LEQUAL", 1.0)):
            GLState(test, writes=False, blend=OVER).set()
            self.program.set("opacity", opacity)
            gl.glDrawArraysInstanced(gl.GL_TRIANGLE_STRIP, 0, 4, len(segments))

    def delete(self) -> None:
        self.program.delete()
        self.rows.delete()
