"""The painter, which draws a canvas over the picture."""

from __future__ import annotations

from ctypes import byref, c_uint

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.canvas import ATLAS, VERTEX, Canvas
from engine.viewer.draw.gl_state import OVER, GLState
from engine.viewer.draw.objects import Buffer, Program, Texture, attributes, made


class Painter:
    """Draws canvases into whatever framebuffer is bound; its context must be current."""

    def __init__(self) -> None:
        self.program = Program(("canvas.vert",), ("canvas.frag",))
        self.array = made(gl.glGenVertexArrays)
        self.vertices, self.indices = Buffer(gl.GL_ARRAY_BUFFER, gl.GL_STREAM_DRAW), Buffer(gl.GL_ELEMENT_ARRAY_BUFFER, gl.GL_STATIC_DRAW)
        self._quads = 0
        self._atlas: tuple[np.ndarray, Texture] | None = None
        gl.glBindVertexArray(self.array)
        self.vertices.bind()
        self.indices.bind()
        attributes(VERTEX)

    def draw(self, canvas: Canvas, size: tuple[int, int]) -> None:
        """Draw over what is there, in one call.

        Parameters
        ----------
        size : (width, height) of the framebuffer, device pixels
        """
        vertices = canvas.vertices()
        if not len(vertices):
            return
        gl.glBindVertexArray(self.array)
        self.vertices.fill(vertices)
        if len(vertices) > self._quads:
            self._quads = 2 * len(vertices)
            quads = 4 * np.arange(self._quads, dtype=np.uint32)[:, None] + np.array([0, 1, 2, 0, 2, 3], np.uint32)
            self.indices.fill(quads)
        self._texture().bind(0)
        gl.glViewport(0, 0, *size)
        GLState(None, blend=OVER).set()
        self.program.use(size=(float(size[0]), float(size[1])), atlas=0)
        gl.glDrawElements(gl.GL_TRIANGLES, 6 * len(vertices), gl.GL_UNSIGNED_INT, 0)

    def _texture(self) -> Texture:
        """Return the atlas as it is now."""
        if self._atlas is None or self._atlas[0] is not ATLAS.image:
            if self._atlas is not None:
                self._atlas[1].delete()
            self._atlas = ATLAS.image, Texture(ATLAS.image, mipmaps=False)
        return self._atlas[1]

    def delete(self) -> None:
        """Free what it holds on the graphics card."""
        if self._atlas is not None:
            self._atlas[1].delete()
        self.program.delete()
        self.vertices.delete()
        self.indices.delete()
        gl.glDeleteVertexArrays(1, byref(c_uint(self.array)))
