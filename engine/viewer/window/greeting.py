"""Text of a window until its first picture is there."""

from __future__ import annotations

from typing import Any

from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.painter import Painter

GROUND, TEXT, SIZE = (0.10, 0.11, 0.13, 1.0), (0.80, 0.82, 0.85, 1.0), 15.0


def greet(window: Any) -> None:
    """Say what takes a moment, in a window of pyglet's that is else black."""
    (w, h), size = window.get_size(), window.get_framebuffer_size()
    canvas, painter = Canvas(size[0] / w), Painter()
    canvas.rect(0, 0, w, h, GROUND)
    canvas.text(0.5 * w, 0.5 * h, "reading shapes, compiling …", TEXT, SIZE, "center")
    for _ in range(2):                                                         # both buffers
        painter.draw(canvas, size)
        window.flip()
    painter.delete()
