"""Image-based lighting: textures of a picture of all directions, and the programs that draw with it."""

from __future__ import annotations

from typing import Any

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.objects import Program, address, bind_texture, made, parameters
from engine.viewer.scene.surroundings import LEVELS, Surroundings

Array = np.ndarray


class EnvironmentMap:
    """Holds what draws in such light; its context must be current.

    Parameters
    ----------
    defines : those of the other programs that draw surfaces
    """

    def __init__(self, surroundings: Surroundings, **defines: Any) -> None:
        self.surroundings = surroundings
        lit, own = ("around.frag", "light.frag", "surface.frag"), {"AROUND": 1, "ROUGHEST": f"{LEVELS - 1}.0", **defines}
        self.surface = Program(("rows.vert", "surface.vert"), lit, **own)
        self.textured = Program(("rows.vert", "surface.vert"), lit, TEXTURED=1, **own)
        self.lit = Program(("corner.vert", "part.vert"), ("around.frag", "light.frag", "deferred.frag"), **own)
        ground = ("around.frag", "light.frag", "ground.frag")
        self.ground = Program(("corner.vert", "ground.vert"), ground, **own)
        self.shaded_ground = Program(("corner.vert", "ground.vert"), ground, SHADOWED=1, **own)
        self.sky = Program(("screen.vert",), ("around.frag", "light.frag", "behind.frag"), **own)
        self.behind, self.mirrored = uploaded((surroundings.behind,)), uploaded(surroundings.mirrored)

    def shade(self, unit: int) -> dict[str, Any]:
        """Bind the mirror images to a texture unit; return what the programs of surfaces want."""
        bind_texture(unit, self.mirrored)
        return {"around_map": unit, **dict(zip(("matt_red", "matt_green", "matt_blue"), self.surroundings.matt, strict=True))}

    def backdrop(self, unit: int) -> dict[str, Any]:
        """Bind what is seen behind to a texture unit; return what the programs of the ground want."""
        bind_texture(unit, self.behind)
        return {"around_map": unit}

    def draw(self, rays: Array) -> None:
        """Draw what is seen behind; rays (4, 4) are from clip coordinates to directions in the world."""
        self.sky.use(rays=rays, **self.backdrop(6))
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    def delete(self) -> None:
        """Free what it holds on the graphics card."""
        for program in (self.surface, self.textured, self.lit, self.ground, self.shaded_ground, self.sky):
            program.delete()
        for name in (self.behind, self.mirrored):
            gl.glDeleteTextures(1, (gl.GLuint * 1)(name))


def uploaded(levels: tuple[Array, ...]) -> int:
    """Return the name of a texture of pictures (h, w, 3), each half as large as the one before."""
    name = made(gl.glGenTextures)
    bind_texture(0, name)
    gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1)
    for k, picture in enumerate(levels):
        data = np.ascontiguousarray(np.minimum(picture, 6e4), np.float32)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, k, gl.GL_RGB16F, data.shape[1], data.shape[0], 0, gl.GL_RGB, gl.GL_FLOAT, address(data))
    parameters(gl.GL_TEXTURE_2D, gl.GL_LINEAR_MIPMAP_LINEAR, gl.GL_LINEAR, gl.GL_REPEAT)
    gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_WRAP_T, gl.GL_CLAMP_TO_EDGE)
    gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MAX_LEVEL, len(levels) - 1)
    return name
