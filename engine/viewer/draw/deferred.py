"""Deferred shading: what surfaces are made of is drawn first, and every pixel is lit once, however many triangles lie in it."""

from __future__ import annotations

from typing import Any

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.cells import Cells
from engine.viewer.draw.gl_state import GLState
from engine.viewer.draw.objects import Framebuffer, Program, bind_texture
from engine.viewer.scene.camera import Camera

Array = np.ndarray


class Deferred:
    """Holds colours, normals and depths of a picture without samples until they are lit; its context must be current.

    Attributes
    ----------
    surface, textured : programs that draw surfaces into it
    """

    def __init__(self) -> None:
        self.surface = Program(("rows.vert", "surface.vert"), ("gbuffer.frag",), DEFERRED=1)
        self.textured = Program(("rows.vert", "surface.vert"), ("gbuffer.frag",), DEFERRED=1, TEXTURED=1)
        self.buffer: Framebuffer | None = None

    def begin(self, size: tuple[int, int]) -> None:
        """Make what is drawn next go there."""
        if self.buffer is None or self.buffer.size != size:
            if self.buffer is not None:
                self.buffer.delete()
            self.buffer = Framebuffer(size, gl.GL_RGBA8, second=gl.GL_RGBA8)
        self.buffer.bind()
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)

    def light(self, target: Framebuffer, program: Program, camera: Camera, shade: dict[str, Any], cells: Cells, chosen: Array) -> None:
        """Draw what it holds, lit, and its depths: cells (columns, rows) of a picture that a camera sees, by a program of deferred.frag."""
        assert self.buffer is not None
        size = np.array(target.size, float)
        aspect = size[0] / size[1]
        self.buffer.copy_to(target.id, gl.GL_DEPTH_BUFFER_BIT)
        target.bind()
        GLState("GREATER", writes=False).set()                  # of the far plane, where something is before it
        for unit, name in ((0, self.buffer.color), (4, self.buffer.second), (6, self.buffer.depth)):
            bind_texture(unit, name)
        program.use(**shade, paints=0, normals=4, depths=6, size=size, rays=camera.rays(aspect), lens=camera.projection(aspect)[2, 2:])
        cells.draw(program, chosen)

    def delete(self) -> None:
        """Free what it holds on the graphics card."""
        for owned in (self.buffer, self.surface, self.textured):
            if owned is not None:
                owned.delete()
