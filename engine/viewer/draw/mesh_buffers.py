"""Vertex and index buffers of all surfaces, and of their levels of detail."""

from __future__ import annotations

from ctypes import byref, c_uint
from dataclasses import dataclass

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.objects import Buffer, Program, Texture, attributes, made
from engine.viewer.scene.lod import decimated
from engine.viewer.scene.surface import Surface

Array = np.ndarray
LEVELS = (4, 20, *(50 * 2**k for k in range(11)))      # triangles of a surface's coarser stand-ins
SMALL, COPIES = 100, 32                     # triangles of a surface that lies in the buffers several times over, and how many times
VERTEX = np.dtype([("position", "<f4", 3), ("normal", "<f4", 3), ("color", "u1", 4), ("uv", "<f4", 2), ("copy", "<f4", 1)])


@dataclass(frozen=True)
class Placed:
    """The place of a surface in the vertex and index buffers, and how many times over: instances cost more than a few triangles do."""

    base: int
    start: int
    count: int
    copies: int


class MeshBuffers:
    """Mesh buffers: all surfaces in one vertex and one index buffer, and their decimated meshes, made as they are first seen small."""

    def __init__(self) -> None:
        self.array = made(gl.glGenVertexArrays)
        self.vertices, self.indices = Buffer(gl.GL_ARRAY_BUFFER, gl.GL_STATIC_DRAW), Buffer(gl.GL_ELEMENT_ARRAY_BUFFER, gl.GL_STATIC_DRAW)
        self.places: list[Placed] = []
        self.textures: list[Texture | None] = []
        self.closed: list[bool] = []
        self.found: dict[tuple[Surface, int], int] = {}
        self.stands: dict[tuple[Surface, int], Surface] = {}
        self._parts: list[tuple[Array, Array]] = []
        self._dirty = False
        gl.glBindVertexArray(self.array)
        self.vertices.bind()
        self.indices.bind()
        attributes(VERTEX)

    def number(self, surface: Surface, level: int) -> int:
        """Return the place of a surface's stand-in of LEVELS[level] triangles, or of the surface itself where it has no more than these."""
        if level >= len(LEVELS) or len(surface.faces) < 1.3 * LEVELS[level]:
            level = len(LEVELS)
        key = (surface, level)
        if key not in self.found:
            finer = next((k for k in range(level + 1, len(LEVELS)) if (surface, k) in self.stands), None)
            source = surface if finer is None else self.stands[surface, finer]
            self.stands[key] = surface if level == len(LEVELS) else decimated(source, LEVELS[level])
            self.found[key] = self._added(self.stands[key])
        return self.found[key]

    def _added(self, surface: Surface) -> int:
        data = np.zeros(len(surface.positions), VERTEX)
        data["position"], data["normal"] = surface.positions, surface.normals
        data["color"] = 255 if surface.colors is None else surface.colors
        if surface.uv is not None:
            data["uv"] = surface.uv * [1, -1] + [0, 1]
        copies = COPIES if len(surface.faces) <= SMALL else 1
        base, start = (sum(len(part[k]) for part in self._parts) for k in range(2))
        self.places.append(Placed(base, start, 3 * len(surface.faces), copies))
        copy = np.arange(copies, dtype=np.uint32)
        data = np.tile(data, copies)
        data["copy"][:, 0] = np.repeat(copy, len(surface.positions))
        self._parts.append((data, (surface.faces.reshape(-1).astype(np.uint32) + copy[:, None] * len(surface.positions)).ravel()))
        self.closed.append(surface.closed)
        self.textures.append(None if surface.texture is None or surface.uv is None else Texture(surface.texture))
        self._dirty = True
        return len(self.places) - 1

    def bind(self) -> None:
        """Upload new surfaces, and bind the buffers."""
        gl.glBindVertexArray(self.array)
        if self._dirty:
            self.vertices.append([v for v, _ in self._parts])
            self.indices.append([i for _, i in self._parts])
            self._dirty = False

    def delete(self) -> None:
        for owned in (self.vertices, self.indices, *self.textures):
            if owned is not None:
                owned.delete()
        gl.glDeleteVertexArrays(1, byref(c_uint(self.array)))

    def draw(self, program: Program, number: int, first: int, instances: int) -> None:
        """Draw instances of a place, whose rows begin at the first; of the outside of a solid only what faces the eye."""
        (gl.glEnable if self.closed[number] else gl.glDisable)(gl.GL_CULL_FACE)
        p = self.places[number]
        program.set("copies", p.copies)
        whole, rest = divmod(instances, p.copies)
        for begin, of, count in ((first, p.copies, whole), (first + whole * p.copies, rest, 1)):
            if of and count:
                program.set("first", begin)
                gl.glDrawElementsInstancedBaseVertex(gl.GL_TRIANGLES, of * p.count, gl.GL_UNSIGNED_INT, 4 * p.start, count, p.base)
