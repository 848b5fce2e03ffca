"""Several views side by side in one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.canvas import Box, Canvas
from engine.viewer.draw.gl_state import GLState
from engine.viewer.draw.objects import Framebuffer
from engine.viewer.draw.renderer import Renderer
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing

Array = np.ndarray
Place = tuple[int, int, int, int]
#: px of a picture for each view, at least
SMALL = 8
#: how much wider than high a view looks best
WIDE = 1.25


class Panes:
    """Draws a drawing as cameras see it, one camera over the whole picture or several in a grid.

    Parameters
    ----------
    renderer : of all of them
    """

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.whole: Framebuffer | None = None

    def draw(self, drawing: Drawing, cameras: Sequence[Camera], size: tuple[int, int], cells: Sequence[Place] = ()) -> Framebuffer:
        """Draw; return the framebuffer that holds the picture of (width, height) pixels. With places of the views the later ones lie over
        those before."""
        if (not cells and len(cameras) == 1) or min(size) < SMALL * len(cameras):      # or too small for several
            self.delete()
            return self.renderer.draw(drawing, cameras[0], size)
        if self.whole is None or self.whole.size != size:
            self.delete()
            self.whole = Framebuffer(size, gl.GL_RGBA8, depth=False)
        given, cells = bool(cells), cells or places(len(cameras), size)
        for k, (camera, (x, y, w, h)) in enumerate(zip(cameras, cells, strict=True)):
            lowest = max(range(len(cells)), key=lambda i: (cells[i][1], -cells[i][0]))        # the legend, in the lower left corner
            told = k == (0 if given else lowest)
            drawn = self.renderer.draw(drawing if told else replace(drawing, legend=[]), camera, (w, h))
            GLState().set()                                                     # whatever the last one kept within
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, drawn.id)
            gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, self.whole.id)
            bottom = size[1] - y - h
            gl.glBlitFramebuffer(0, 0, w, h, x, bottom, x + w, bottom + h, gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST)
        return self.whole

    @property
    def picture(self) -> Framebuffer:
        """The framebuffer that holds the last picture."""
        found = self.renderer.picture if self.whole is None else self.whole
        assert found is not None
        return found

    def overlay(self, canvas: Canvas) -> None:
        """Draw a canvas over the last picture."""
        self.picture.bind()
        self.renderer.painter.draw(canvas, self.picture.size)

    def pixels(self) -> Array:
        """Return the last picture (height, width, 3) uint8, first row on top."""
        return self.picture.pixels()[..., :3]

    def delete(self) -> None:
        """Free what it holds on the graphics card, but not the renderer."""
        if self.whole is not None:
            self.whole.delete()
            self.whole = None


def show_all(cameras: Sequence[Camera], size: tuple[int, int], bodies: Array, panels: Sequence[Box]) -> None:
    """Move the cameras of views so that each sees all bodies (n, k, 3), m, clear of panels of a picture of (width, height) pixels."""
    for camera, (_, _, w, h) in zip(cameras, places(len(cameras), size), strict=True):
        camera.fit(bodies, w / h)
        camera.anchor = None
    keep_clear(cameras, size, bodies, panels)


def keep_clear(cameras: Sequence[Camera], size: tuple[int, int], bodies: Array, panels: Sequence[Box]) -> None:
    """Move the cameras of views so that none of their bodies (n, k, 3), m, lies under panels of a picture of (width, height) pixels."""
    for camera, (left, top, w, h) in zip(cameras, places(len(cameras), size), strict=True):
        camera.keep_clear(bodies, (w, h), [(x - left, y - top, wide, tall) for x, y, wide, tall in panels
                                           if x < left + w and y < top + h and x + wide > left and y + tall > top])  # fmt: skip


def places(count: int, size: tuple[int, int]) -> list[Place]:
    """Return left, top, width and height of so many panes in a picture of (width, height) pixels, row by row; no pixel is left over.

    There are as many in a row as makes them nearly as wide as high, and half as wide again.

    >>> places(3, (300, 80)), places(2, (40, 80))
    ([(0, 0, 100, 80), (100, 0, 100, 80), (200, 0, 100, 80)], [(0, 0, 40, 40), (0, 40, 40, 40)])
    """
    columns = min(range(1, count + 1), key=lambda c: abs(math.log(size[0] / c / (size[1] / math.ceil(count / c)) / WIDE)))
    rows, cells = math.ceil(count / columns), []
    for j in range(rows):
        own = count * (j + 1) // rows - count * j // rows
        y, x = [size[1] * k // rows for k in (j, j + 1)], [size[0] * k // own for k in range(own + 1)]
        cells += [(x[i], y[0], x[i + 1] - x[i], y[1] - y[0]) for i in range(own)]
    return cells
