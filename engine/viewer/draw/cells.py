"""Cells of a rectangle, of which only those are drawn that something touches."""

from __future__ import annotations

from ctypes import byref, c_uint

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.objects import Buffer, Program, made
from engine.viewer.scene.camera import Camera

Array = np.ndarray
TILE = 16                                   # px
WHOLE = np.ones((1, 1), bool)               # a rectangle that is one cell
CORNERS = np.array([(0, 0), (0, 1), (1, 0), (1, 0), (0, 1), (1, 1)])                 # of two triangles


def touched(low: Array, high: Array, shape: tuple[int, int]) -> Array:
    """Return which cells (columns, rows) of the unit square are touched by boxes with these lowest and highest corners, (n, 2) each.

    >>> touched(np.array([[0.1, 0.6]]), np.array([[0.6, 0.7]]), (2, 4)).astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0]])
    """
    a, b = (np.clip(np.floor(x * shape) + more, 0, shape).astype(int) for x, more in ((low, 0), (high, 1)))
    steps = np.zeros((shape[0] + 1, shape[1] + 1), int)
    for i, j, step in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
        np.add.at(steps, (i[:, 0], j[:, 1]), step)
    return steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] > 0


def on_screen(camera: Camera, size: tuple[int, int], centres: Array, boxes: Array, margin: float) -> Array:
    """Return which cells (columns, rows) of a picture, each TILE pixels wide, boxes are seen in, with a margin, px: centres (n, 3) and half
    edges as columns (n, 3, 3), m, world axes. Where the camera may be within one it is all of them."""
    at, edges = (centres - camera.eye) @ camera.axes, boxes.transpose(1, 2, 0).reshape(3, -1)    # as one product: quicker than one for each
    reach = np.abs(camera.axes.T @ edges).reshape(3, 3, -1).sum(axis=1).T
    near, far = -at[:, 2] - reach[:, 2], -at[:, 2] + reach[:, 2]
    if (near[far > 0.0] <= 0.0).any():
        return WHOLE
    there = near > 0.0
    sides = np.tan(0.5 * camera.fov) * np.array([size[0] / size[1], 1.0])
    low, high = ((at + way * reach)[there, :2] / sides for way in (-1.0, 1.0))
    near, far, wide = near[there, None], far[there, None], 2.0 * margin / np.array(size)
    low, high = np.minimum(low / near, low / far) - wide, np.maximum(high / near, high / far) + wide
    return touched(0.5 + 0.5 * low, 0.5 + 0.5 * high, (-(-size[0] // TILE), -(-size[1] // TILE)))


class Cells:
    """Draws cells of a rectangle, by a program with ``corner.vert``; its context must be current."""

    def __init__(self) -> None:
        self.array, self.buffer = made(gl.glGenVertexArrays), Buffer(gl.GL_ARRAY_BUFFER, gl.GL_STREAM_DRAW)

    def draw(self, program: Program, chosen: Array) -> None:
        """Draw the chosen ones (columns, rows), by the program that is current."""
        places = np.ascontiguousarray(np.argwhere(chosen)[:, None] + CORNERS, np.float32)
        if not len(places):
            return
        gl.glBindVertexArray(self.array)
        self.buffer.fill(places)
        gl.glEnableVertexAttribArray(0)
        gl.glVertexAttribPointer(0, 2, gl.GL_FLOAT, False, 8, 0)
        program.set("cells", chosen.shape)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 6 * len(places))

    def delete(self) -> None:
        self.buffer.delete()
        gl.glDeleteVertexArrays(1, byref(c_uint(self.array)))
