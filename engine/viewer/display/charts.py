"""Charts that lie flat over a picture: bars of numbers that become each other, and curves in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.viewer.display.facts import Bars, Plot, figure
from engine.viewer.display.style import ACCENT, BRIGHT, DIM, FAINT, GAP, GROUND, ROW, SMALL, UNDER
from engine.viewer.draw.canvas import Box, Canvas, Color

#: of curves in one plot, the first one's first
CURVES: tuple[Color, ...] = (ACCENT, (1.0, 0.74, 0.30, 1.0), (0.45, 0.88, 0.50, 1.0), (0.95, 0.45, 0.75, 1.0), (0.75, 0.60, 1.0, 1.0))
#: behind every other phase
BAND: Color = (1.0, 1.0, 1.0, 0.07)
#: px: the width of curves, and of the stretch in which one of several lies on top; and how bright what is still to come is
WIDE, DASH, AHEAD = 1.6, 6.0, 0.42
LABEL = 74.0                                                                   # px of a bar's name, at most


def draw_bars(canvas: Canvas, room: Box, bars: Bars) -> float:
    """Draw bars from a line of zero in the middle, or at the left where none is below it; return where they end, px."""
    x, y, w, _ = room
    canvas.text(x, y + 10, bars.title, BRIGHT, SMALL)
    canvas.text(x + w, y + 10, bars.unit, DIM, SMALL, "right")
    y += 16.0
    label = min(max(canvas.width(name, SMALL) for name, _ in bars.rows) + 8.0, LABEL)
    left, most = x + label, max(bars.most, 1e-300)
    wide = w - label - 52.0
    signed = bars.signed or any(value < 0.0 for _, value in bars.rows)
    zero, unit = (left + 0.5 * wide, 0.5 * wide / most) if signed else (left, wide / most)
    for k, (name, value) in enumerate(bars.rows):
        length = float(np.clip(value * unit, left - zero, left + wide - zero))
        canvas.text(x, y + 0.5 * ROW + UNDER * SMALL, canvas.elided(name, label - 6.0, SMALL), DIM, SMALL)
        canvas.rect(left, y + 3, wide, ROW - 6, (1.0, 1.0, 1.0, 0.06), 3.0)
        canvas.rect(min(zero, zero + length), y + 3, abs(length), ROW - 6, CURVES[k % len(CURVES)], 2.0)
        canvas.text(x + w, y + 0.5 * ROW + UNDER * SMALL, figure(value, 3), BRIGHT, SMALL, "right")
        y += ROW
    canvas.rect(zero, y - ROW * len(bars.rows), 1, ROW * len(bars.rows), FAINT)
    return y


def bars_high(bars: Bars) -> float:
    """Return how much room bars take, px."""
    return 16.0 + ROW * len(bars.rows)


def draw_plot(canvas: Canvas, room: Box, plot: Plot, cursor: float | None) -> None:
    """Draw names, values now, the curves, the least and the greatest value, phases, events, and where it is now (at the end,
    without a cursor)."""
    x, y, w, h = room
    curves = [(plot.name, np.asarray(plot.y, float), plot.now), *((n, np.asarray(v, float), now) for n, v, now in plot.others)]
    value = f"{figure(plot.now)} {plot.unit}".rstrip() if len(curves) == 1 else plot.unit
    canvas.text(x + w, y + 10, value, BRIGHT, SMALL, "right")
    if len(curves) == 1:
        canvas.text(x, y + 10, canvas.elided(plot.name, w - canvas.width(value, SMALL) - GAP, SMALL), DIM, SMALL)
    else:
        left = x
        for k, wide in enumerate(shares([canvas.width(name, SMALL) + 16.0 for name, _, _ in curves], w - canvas.width(value, SMALL) - GAP)):
            canvas.disc(left + 3, y + 6, 3, CURVES[k % len(CURVES)])
            canvas.text(left + 9, y + 10, canvas.elided(curves[k][0], wide - 12, SMALL), DIM, SMALL)
            left += wide
    chart, top, bottom = w - 50.0, y + 19.0, y + h - 2.0
    canvas.rect(x, bottom + 1, chart, 1, FAINT)
    t = np.asarray(plot.t, float)
    finite = np.concatenate([v[np.isfinite(v)] for _, v, _ in curves])
    if len(t) < 2 or not len(finite) or not t[-1] > t[0]:
        return
    low, high = float(finite.min()), float(finite.max())
    canvas.text(x + w, top + 7, figure(high, 3), DIM, SMALL, "right")
    canvas.text(x + w, bottom, figure(low, 3), DIM, SMALL, "right")
    reach, middle = high - low, 0.5 * (high + low)
    scale = (bottom - top - 2.0) / reach if reach > 1e-12 * max(abs(high), abs(low)) else 0.0
    across = chart / (t[-1] - t[0])
    now = x + min(max(((t[-1] if cursor is None else cursor) - t[0]) * across, 0.0), chart)

    def down(v: Any) -> Any:
        return np.clip(0.5 * (top + bottom) - scale * (v - middle), top, bottom)

    for n, (name, begin, end) in enumerate(plot.phases):
        a, b = (x + min(max((at - t[0]) * across, 0.0), chart) for at in (begin, end))
        canvas.rect(a, top - 2, b - a, bottom - top + 3, BAND if n % 2 else (0.0, 0.0, 0.0, 0.0))
        if canvas.width(name, SMALL) + 4 < b - a:
            canvas.text(a + 2, top + 7, name, DIM, SMALL)
    for event in plot.events:
        if t[0] <= event <= t[-1]:
            canvas.rect(x + (event - t[0]) * across, top - 2, 1, bottom - top + 3, (1.0, 1.0, 1.0, 0.22))
    k = len(t) if cursor is None else int(np.searchsorted(t, cursor, side="right"))
    here = np.stack([np.full(len(curves), now), down(np.array([value for *_, value in curves]))], axis=1)
    courses = [np.stack([x + across * (t - t[0]), down(values)], axis=1) for _, values, _ in curves]
    past, ahead = ([np.concatenate(parts) for parts in zip(*both, strict=True)]
                   for both in (([c[:k] for c in courses], here[:, None]), (here[:, None], [c[k:] for c in courses])))  # fmt: skip
    if len(curves) == 1:
        canvas.area(past[0], bottom + 1, (*CURVES[0][:3], 0.16))
    if k < len(t):
        draw_curves(canvas, ahead, AHEAD)
    draw_curves(canvas, past, 1.0)
    for n in reversed(np.flatnonzero(np.isfinite(here[:, 1]))):
        canvas.disc(now, float(here[n, 1]), 2.8, BRIGHT if len(curves) == 1 else CURVES[n % len(CURVES)])
    if k < len(t):
        canvas.rect(now, top - 2, 1, bottom - top + 3, (1.0, 1.0, 1.0, 0.35))


def named(canvas: Canvas, plot: Plot) -> float:
    """Return how much room the names of a plot's curves take, with the unit or the value beside them, px."""
    if not plot.others:
        return canvas.width(plot.name, SMALL) + GAP + canvas.width(f"−0.0000 {plot.unit}".rstrip(), SMALL)
    names = plot.name, *(name for name, *_ in plot.others)
    return sum(canvas.width(name, SMALL) + 16.0 for name in names) + GAP + canvas.width(plot.unit, SMALL)


def draw_curves(canvas: Canvas, curves: Sequence[Any], share: float) -> None:
    """Draw curves (n, 2), px, in a share of their brightness: each lies on top in its turn, so that those that coincide are seen as one
    line of many colours."""
    colors = [faded(CURVES[n % len(CURVES)], share) for n in range(len(curves))]
    for points, color in [*zip(curves, colors, strict=True)][::-1]:
        canvas.line(points, color, WIDE)
    for n in range(len(curves)) if len(curves) > 1 else ():
        canvas.line(stretches(curves[n], n, len(curves)), colors[n], WIDE)


def faded(color: Color, share: float) -> Color:
    """Return a colour of which only a share is left on the ground of a panel; unlike one that is seen through, it stays the same where
    it lies over itself."""
    r, g, b = (share * x + (1.0 - share) * y for x, y in zip(color[:3], GROUND[:3], strict=True))
    return r, g, b, 1.0


def stretches(points: Any, turn: int, count: int) -> Any:
    """Return a curve (n, 2), x not decreasing, in every ``count``-th stretch along x, not finite in the others.

    >>> some = stretches([[0.0, 0.0], [24.0, 24.0]], 1, 2)
    >>> some[np.isfinite(some[:, 1]), 0].round(3).tolist()
    [6.0, 12.0, 18.0, 24.0]
    """
    x, y = np.asarray(points, float).T
    edges = DASH * np.arange(math.floor(x[0] / DASH) + 1, math.floor(x[-1] / DASH) + 1)
    at = np.sort(np.concatenate([x, edges, edges - 1e-6]))
    return np.stack([at, np.where(np.floor(at / DASH) % count == turn, np.interp(at, x, y), np.nan)], axis=1)


def shares(wanted: Sequence[float], room: float) -> list[float]:
    """Return how much of a room each of several gets: what it wants where that is no more than an equal share of what is left by those
    that want less, else that share.

    >>> shares([10.0, 90.0, 60.0], 100.0)
    [10.0, 45.0, 45.0]
    """
    found, left = [0.0] * len(wanted), room
    for n, k in enumerate(sorted(range(len(wanted)), key=lambda k: wanted[k])):
        found[k] = min(wanted[k], left / (len(wanted) - n))
        left -= found[k]
    return found
