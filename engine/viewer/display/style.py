"""Colours and sizes of the display."""

from __future__ import annotations

from engine.viewer.draw.canvas import Box

GROUND, BUTTON = (0.050, 0.060, 0.075, 0.82), (1.0, 1.0, 1.0, 0.10)
BRIGHT, DIM, FAINT = (0.95, 0.96, 0.98, 1.0), (0.66, 0.70, 0.75, 1.0), (1.0, 1.0, 1.0, 0.16)
ACCENT, ALARM = (0.35, 0.71, 1.0, 1.0), (0.58, 0.10, 0.10, 0.94)
MARGIN, GAP, PAD, ROUND = 12.0, 8.0, 11.0, 7.0                                 # px
TITLE, TEXT, SMALL, ROW = 14, 12, 11, 17.0                                     # sizes of text, and the height of a row of TEXT
CAPTION = 18                                                                   # size of what films say: they are seen small
SIDE, PLOT, BAR = 212.0, 56.0, 46.0                                            # width of the panels; heights of a plot, of the timeline
UNDER = 0.36                                                                   # from the middle of a line to its baseline, in sizes of text


def inside(box: Box, x: float, y: float) -> bool:
    """Return whether a point lies in a box."""
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]
