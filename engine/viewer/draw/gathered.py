"""Solids without samples, seen first and lit afterwards: each pixel is lit once, and small triangles cost little more than their edges.

A processor shades pixels in blocks, and a block again for every triangle that has a part of it.
"""

from __future__ import annotations

from ctypes import byref, c_uint
from typing import Any

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.objects import Framebuffer, Program, bind_texture, made, parameters
from engine.viewer.draw.passes import Pass

Array = np.ndarray
#: triangles of a picture from which on it is worth the while
WORTH = 12_000
#: texture units of what was gathered
PAINTS, PLACES = 7, 8


class Gathered:
    """Colours, normals and distances of what is seen in a framebuffer without samples, whose depths it shares; its context must be current.

    Parameters
    ----------
    target : where it is lit; defines : those of the other programs that light surfaces

    Attributes
    ----------
    surface, textured : the programs by which surfaces are gathered
    """

    def __init__(self, target: Framebuffer, **defines: Any) -> None:
        self.surface = Program(("rows.vert", "surface.vert"), ("gathered.frag",))
        self.textured = Program(("rows.vert", "surface.vert"), ("gathered.frag",), TEXTURED=1)
        self.late = Program(("screen.vert",), ("light.frag", "late.frag"), **defines)
        self.id, self.size = made(gl.glGenFramebuffers), target.size
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.id)
        self.held = [self._attached(gl.GL_COLOR_ATTACHMENT0 + k) for k in range(2)]
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, gl.GL_DEPTH_ATTACHMENT, gl.GL_TEXTURE_2D, target.depth, 0)
        gl.glDrawBuffers(2, (gl.GLenum * 2)(gl.GL_COLOR_ATTACHMENT0, gl.GL_COLOR_ATTACHMENT1))
        if gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER) != gl.GL_FRAMEBUFFER_COMPLETE:
            raise RuntimeError(f"a framebuffer of {self.size} for what is lit late is not complete")

    def _attached(self, point: int) -> int:
        name = made(gl.glGenTextures)
        bind_texture(0, name)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, gl.GL_RGBA32F, *self.size, 0, gl.GL_RGBA, gl.GL_FLOAT, None)
        parameters(gl.GL_TEXTURE_2D, gl.GL_NEAREST, gl.GL_NEAREST, gl.GL_CLAMP_TO_EDGE)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, point, gl.GL_TEXTURE_2D, name, 0)
        return name

    def begin(self, within: tuple[int, int, int, int]) -> None:
        """Gather what is drawn from now on, within a rectangle: left, bottom, width, height, pixels."""
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.id)
        gl.glViewport(0, 0, *self.size)
        Pass().begin()
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
        Pass(within=within).begin()
        gl.glClearBufferfv(gl.GL_COLOR, 1, (gl.GLfloat * 4)(0.0, 0.0, 0.0, 0.0))

    def light(self, target: Framebuffer, shade: dict[str, Any], rays: Array, within: tuple[int, int, int, int]) -> None:
        """Light what was gathered into the target; rays (4, 4) are from clip coordinates to directions in the world, one deep."""
        target.bind()
        Pass(None, writes=False, within=within).begin()
        for unit, name in zip((PAINTS, PLACES), self.held, strict=True):
            bind_texture(unit, name)
        self.late.use(**shade, rays=rays, paints=PAINTS, places=PLACES)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    def delete(self) -> None:
        """Free what it holds on the graphics card."""
        for program in (self.surface, self.textured, self.late):
            program.delete()
        gl.glDeleteTextures(2, (gl.GLuint * 2)(*self.held))
        gl.glDeleteFramebuffers(1, byref(c_uint(self.id)))
