"""OpenGL state of a draw call (depth test, blending, scissor), always set whole, so that none is left over from the call before.

Shadow maps are drawn by :mod:`engine.viewer.draw.renderer`.
"""

from __future__ import annotations

from dataclasses import dataclass

import engine.viewer.draw.opengl as gl

#: how colours are put over what is there, by the names of OpenGL's factors: by their opacity, as light that is added, as shares of the
#: light that is left, and all alike (by ``share``)
OVER = "SRC_ALPHA", "ONE_MINUS_SRC_ALPHA", "ONE", "ONE_MINUS_SRC_ALPHA"
ADDED = "ONE", "ONE", "ONE", "ONE"
SCALED = "DST_COLOR", "ZERO", "ZERO", "ONE"
SHARED = "CONSTANT_ALPHA", "ONE_MINUS_CONSTANT_ALPHA", "CONSTANT_ALPHA", "ONE_MINUS_CONSTANT_ALPHA"


@dataclass(frozen=True)
class GLState:
    """OpenGL state while a part of a picture is drawn; :meth:`set` sets all of it. Back faces of solids are culled by the mesh buffers.

    Attributes
    ----------
    depth : the test of depth, "LEQUAL" or "GREATER", or None; writes, colors : whether depth and colour are written
    blend : one of OVER, ADDED, SCALED, SHARED, or None; share : of SHARED
    lines : whether surfaces are drawn as lines; behind : whether a little behind where they are
    within : left, bottom, width, height of what may be drawn on, pixels, or None
    """

    depth: str | None = "LEQUAL"
    writes: bool = True
    colors: bool = True
    blend: tuple[str, str, str, str] | None = None
    share: float = 1.0
    lines: bool = False
    behind: bool = False
    within: tuple[int, int, int, int] | None = None

    def set(self) -> None:
        """Set the whole state in OpenGL."""
        for what, on in ((gl.GL_DEPTH_TEST, self.depth is not None), (gl.GL_BLEND, self.blend is not None), (gl.GL_CULL_FACE, False),
                         (gl.GL_POLYGON_OFFSET_FILL, self.behind), (gl.GL_SCISSOR_TEST, self.within is not None)):  # fmt: skip
            (gl.glEnable if on else gl.glDisable)(what)
        if self.depth is not None:
            gl.glDepthFunc(getattr(gl, f"GL_{self.depth}"))
        if self.blend is not None:
            gl.glBlendFuncSeparate(*(getattr(gl, f"GL_{factor}") for factor in self.blend))
            gl.glBlendColor(0.0, 0.0, 0.0, self.share)
        if self.within is not None:
            gl.glScissor(*self.within)
        gl.glDepthMask(self.writes)
        gl.glColorMask(*[self.colors] * 4)
        gl.glPolygonMode(gl.GL_FRONT_AND_BACK, gl.GL_LINE if self.lines else gl.GL_FILL)
        gl.glPolygonOffset(0.0, 8.0)
