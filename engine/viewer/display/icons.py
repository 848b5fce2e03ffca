"""Icons of the display, drawn about a point."""

from __future__ import annotations

import math
from typing import Any

from engine.viewer.draw.canvas import Canvas, Color

PLAY = ((-5.0, -7.0), (7.0, 0.0), (-5.0, 7.0))
MARK = ((0.0, -5.0), (4.0, 0.0), (0.0, 5.0), (-4.0, 0.0))


def around(angle: float, radius: float = 6.0) -> tuple[float, float]:
    return radius * math.cos(angle), radius * math.sin(angle)


def arrow(start: float, end: float) -> tuple[Any, Any]:
    """Return an arc whose first end has a head, between angles clockwise from the right, rad: points of the line, and of the head."""
    points = tuple(around(start + (end - start) * k / 15) for k in range(16))
    return points, (around(start - 0.72, 6.4), around(start, 9.2), around(start, 2.8))


def play(canvas: Canvas, x: float, y: float, color: Color) -> None:
    canvas.polygon(PLAY, color, (x, y))


def pause(canvas: Canvas, x: float, y: float, color: Color) -> None:
    canvas.rect(x - 5, y - 6.5, 4, 13, color, 1.0)
    canvas.rect(x + 2, y - 6.5, 4, 13, color, 1.0)


#: from the end to the beginning, and back to the first state
LOOP = arrow(math.radians(-40), math.radians(95)), arrow(math.radians(140), math.radians(275))
RESET = (arrow(math.radians(-40), math.radians(240)),)
CROSS = (((-4.0, -4.0), (4.0, 4.0)), ((-4.0, 4.0), (4.0, -4.0)))
LID = tuple((-6.0 + k, -3.6 * math.sin(math.pi * k / 12)) for k in range(13))


def eye(canvas: Canvas, x: float, y: float, color: Color, opened: bool) -> None:
    """Draw an eye; one that is closed has a stroke through it."""
    canvas.line(LID, color, 1.2, (x, y))
    canvas.line(tuple((a, -b) for a, b in LID), color, 1.2, (x, y))
    canvas.disc(x, y, 1.9, color)
    if not opened:
        canvas.line(CROSS[1], color, 1.2, (x, y))
