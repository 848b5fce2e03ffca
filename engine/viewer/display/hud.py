"""The heads-up display: what is said about a motion, the timeline, plots, a card of the picked link, keys, messages.

It draws :class:`engine.viewer.display.facts.Facts`, plain data that :mod:`engine.viewer.display.readings` makes, as shapes on a
:class:`engine.viewer.draw.canvas.Canvas`, and says what a click on a place of the picture asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.viewer.display.charts import bars_high, draw_bars, draw_plot, named
from engine.viewer.display.facts import Facts, decimals
from engine.viewer.display.icons import LOOP, MARK, RESET, pause, play
from engine.viewer.display.panel import STRIP, SidePanel
from engine.viewer.display.style import (
    ACCENT,
    ALARM,
    BAR,
    BRIGHT,
    BUTTON,
    CAPTION,
    DIM,
    FAINT,
    GAP,
    GROUND,
    MARGIN,
    PAD,
    PLOT,
    ROUND,
    ROW,
    SIDE,
    SMALL,
    TEXT,
    TITLE,
    UNDER,
    inside,
)  # fmt: skip
from engine.viewer.draw.canvas import Box, Canvas, Color

Array = np.ndarray
Action = tuple[Any, ...]
#: px, of a side panel that has no room for its tabs, and of a message that has none for words
NARROW = 150.0


class Hud:
    """Draws facts, and knows afterwards what lies where.

    >>> hud, canvas = Hud(), Canvas()
    >>> hud.draw(canvas, (1280, 720), Facts("robot", span=(0.0, 10.0)))
    >>> x, y, w, h = hud.boxes["bar"]
    >>> hud.hit(x + 0.5 * w, y + 0.5 * h)
    ('scrub', 5.0)

    Attributes
    ----------
    boxes : by name, the panels and buttons of the last drawing: left, top, width, height, px
    further : keys that the help leaves out at its beginning, where not all of them have room
    """

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.panel = SidePanel()
        self.further = 0
        self._buttons: list[tuple[Box, Action]] = []
        self._beside: list[Box] = []                                           # the side panel's
        self._span, self._bar = (0.0, 0.0), (0.0, 0.0, 1.0, 1.0)

    # ------------------------------------------------------------ what a place means

    def hit(self, x: float, y: float) -> Action | None:
        """Return what a click at a place asks for; None where it asks nothing of the display.

        ("toggle",), ("scrub", t), ("slower",), ("faster",), ("loop",), or ("reset",) of a live simulation; ("help",) closes the keys;
        ("panel",) is on a panel, and so not meant for what is behind it. What the side panel asks for it says itself.
        """
        for box, action in reversed(self._buttons):
            if inside(box, x, y):
                return self.scrub(x) if action == ("scrub",) else action
        return self.panel.hit(x, y)

    def scrub(self, x: float) -> Action:
        """Return ("scrub", t) of a pointer at x that took hold of the timeline, wherever else it is; beyond the ends t is the end."""
        left, _, width, _ = self._bar
        start, end = self._span
        return "scrub", start + (end - start) * min(max((x - left) / width, 0.0), 1.0)

    def panels(self, scale: float) -> list[Box]:
        """Return what lies over the picture for longer than a moment: left, top, width, height, device pixels."""
        stay = [box for name, box in self.boxes.items() if name not in ("toast", "help")]
        return [(scale * x, scale * y, scale * w, scale * h) for x, y, w, h in (*stay, *self._beside)]

    # ------------------------------------------------------------ all of it

    def draw(self, canvas: Canvas, size: tuple[float, float], facts: Facts) -> None:
        """Draw on a canvas of (width, height) px (the canvas' own: device pixels by its scale)."""
        self.boxes, self._buttons, self._beside, self._span = {}, [], [], facts.span
        w, h = size
        top, bottom = MARGIN, h - MARGIN
        if facts.live or facts.span[1] > facts.span[0]:
            bottom -= BAR
            self._timeline(canvas, (MARGIN, bottom, w - 2 * MARGIN, BAR), facts)
            bottom -= GAP
        if facts.error:
            top = self._error(canvas, top, w, facts.error) + GAP
        picture = facts.panel is None and bottom == h - MARGIN                 # in which the robot is what matters
        side = min(SIDE, (0.34 if picture else 0.5) * (w - 2 * MARGIN - GAP))
        below = top
        if facts.title or facts.lines:
            below = self._table(canvas, "info", (MARGIN, top, side, bottom - top), facts.title, facts.lines) + GAP
        for k, bars in enumerate(facts.bars):
            high = bars_high(bars) + 2 * PAD
            if below + high <= bottom:
                self._panel(canvas, f"bars {k}", (MARGIN, below, side, high))
                draw_bars(canvas, (MARGIN + PAD, below + PAD, side - 2 * PAD, high), bars)
                below += high + GAP
        if facts.card is not None:
            below = self._table(canvas, "card", (MARGIN, below, side, bottom - below), facts.card.title, facts.card.rows, mark=True) + GAP
        beside, over = w - MARGIN - side, top
        if facts.panel is not None and bottom - top > STRIP and side > NARROW:
            over = self.panel.draw(canvas, (beside, top, side, bottom - top), facts.panel, None if facts.help else facts.mouse) + GAP
            self._beside = [(beside, top, side, over - GAP - top)]
        if facts.plots:
            broad = side
            if picture:                                                        # as their names need
                broad = min(max(side, max(named(canvas, p) for p in facts.plots) + 2 * PAD), 0.34 * (w - 2 * MARGIN - GAP))
            x, y = (MARGIN, below) if "left" in facts.where else (beside + side - broad, over)
            self._plots(canvas, (x, y, broad, bottom - y), facts)
        if facts.caption:
            left, wide = facts.within or (0.0, w)
            low = broad + GAP if facts.plots and "lower" in facts.where else 0.0
            self._toast(canvas, bottom, 2.0 * left + wide, wide - 2 * (MARGIN + low), facts.caption, CAPTION)
        if facts.toast:
            self._toast(canvas, bottom, w, w - 2 * (MARGIN + side + GAP), facts.toast)
        if facts.help:
            self._help(canvas, size, facts.help)

    def _panel(self, canvas: Canvas, name: str, box: Box, color: Color = GROUND) -> None:
        self.boxes[name] = box
        self._buttons.append((box, ("panel",)))
        canvas.rect(*box, color, ROUND)
        canvas.rect(*box, (1.0, 1.0, 1.0, 0.07), ROUND, outline=1.0)

    def _button(self, canvas: Canvas, name: str, box: Box, facts: Facts, on: bool = False) -> Color:
        """Add a place to click on, lit under the pointer; return the colour for what stands on it."""
        self.boxes[name] = box
        self._buttons.append((box, (name,)))
        lit = facts.mouse is not None and inside(box, *facts.mouse) and not facts.help
        if lit:
            canvas.rect(box[0] + 1, box[1] + 5, box[2] - 2, box[3] - 10, BUTTON, 5.0)
        return ACCENT if on else BRIGHT if lit else DIM

    # ------------------------------------------------------------ left

    def _table(self, canvas: Canvas, name: str, room: Box, title: str, rows: Sequence[tuple[str, str]], mark: bool = False) -> float:
        """Draw a panel with a title and rows, as many as there is room for; return where it ends."""
        x, y, w, most = room
        head = ROW + 5.0 if title else 0.0
        heights = [0.5 * ROW if row == ("", "") else ROW for row in rows]
        while heights and 2 * PAD + head + sum(heights) > most:
            heights.pop()
        h = 2 * PAD + head + sum(heights)
        if h > most:
            return y
        self._panel(canvas, name, (x, y, w, h))
        left, right, y = x + PAD, x + w - PAD, y + PAD
        if title:
            indent = 13.0 if mark else 0.0
            if mark:
                canvas.disc(left + 4, y + 0.5 * ROW - 1, 4, ACCENT)
            canvas.text(left + indent, y + 0.5 * ROW - 1 + UNDER * TITLE, canvas.elided(title, right - left - indent, TITLE), BRIGHT, TITLE)
            y += head
        for (label, text), height in zip(rows, heights, strict=False):
            if label or text:
                base = y + 0.5 * height + UNDER * TEXT
                text = canvas.elided(text, right - left, TEXT)
                free = right - left - (canvas.width(text, TEXT) + GAP if text else 0.0)
                canvas.text(left, base, canvas.elided(label, free, TEXT), DIM, TEXT)
                canvas.text(right, base, text, BRIGHT, TEXT, "right")
            else:
                canvas.rect(left, y + 0.5 * height, right - left, 1, (1.0, 1.0, 1.0, 0.09))
            y += height
        return y + PAD

    # ------------------------------------------------------------ right

    def _plots(self, canvas: Canvas, room: Box, facts: Facts) -> None:
        x, y, w, most = room
        count = min(len(facts.plots), plots_in(most + 2 * MARGIN))
        if count < 1:
            return
        high = 2 * PAD + count * (PLOT + GAP) - GAP
        y = y + most - high if "lower" in facts.where else y
        self._panel(canvas, "plots", (x, y, w, high))
        for k, plot in enumerate(facts.plots[:count]):
            if k:                                                              # bands go on below those that the first one names
                plot = replace(plot, phases=[("", begin, end) for _, begin, end in plot.phases])
            draw_plot(canvas, (x + PAD, y + PAD + k * (PLOT + GAP), w - 2 * PAD, PLOT), plot, None if facts.live else facts.t)

    # ------------------------------------------------------------ bottom

    def _timeline(self, canvas: Canvas, room: Box, facts: Facts) -> None:
        """Draw a button, the time, the bar with its ticks, the speed, and at the end a loop or a new beginning."""
        x, y, w, h = room
        self._panel(canvas, "timeline", room)
        middle = y + 0.5 * h
        color = self._button(canvas, "toggle", (x + 4, y, 36, h), facts)
        (pause if facts.playing else play)(canvas, x + 22, middle, BRIGHT if color == DIM else color)
        digits = 3 if facts.live else decimals(facts.span[1] - facts.span[0])
        shown = f"{facts.t:.{digits}f} s"
        widest = max(canvas.width(f"{t:.{digits}f} s", TITLE) for t in (*facts.span, facts.t))
        left, right = x + 46, x + w - 4
        small = w < 420                                                        # room for the bar alone
        if not small:
            canvas.text(left + widest, middle + UNDER * TITLE, shown, BRIGHT, TITLE, "right")
            left += widest + 18
            right = self._controls(canvas, right, y, h, facts) - 14
            if facts.live:
                canvas.disc(left - 5, middle, 3.5, ACCENT if facts.playing else DIM)
                canvas.text(left + 4, middle + UNDER * SMALL, "live" if facts.playing else "paused", DIM, SMALL)
                left += 58
        if right - left > 40 and facts.span[1] > facts.span[0]:
            self._scale(canvas, (left, y, right - left, h), facts)

    def _controls(self, canvas: Canvas, right: float, y: float, h: float, facts: Facts) -> float:
        """Draw slower, the speed, faster, and the last button; return where they begin."""
        middle = y + 0.5 * h
        last = "reset" if facts.live else "loop"
        color = self._button(canvas, last, (right - 34, y, 34, h), facts, on=facts.loop and not facts.live)
        for points, head in RESET if facts.live else LOOP:
            canvas.line(points, color, 1.5, (right - 17, middle))
            canvas.polygon(head, color, (right - 17, middle))
        color = self._button(canvas, "faster", (right - 62, y, 28, h), facts)
        canvas.rect(right - 53, middle - 1, 10, 2, color)
        canvas.rect(right - 49, middle - 5, 2, 10, color)
        canvas.text(right - 86, middle + UNDER * TEXT, f"×{facts.speed:g}".replace("-", "−"), BRIGHT, TEXT, "center")
        color = self._button(canvas, "slower", (right - 138, y, 28, h), facts)
        canvas.rect(right - 129, middle - 1, 10, 2, color)
        return right - 138

    def _scale(self, canvas: Canvas, room: Box, facts: Facts) -> None:
        x, y, w, h = room
        start, end = facts.span
        self.boxes["bar"] = self._bar = room
        self._buttons.append(((x - 8, y, w + 16, h), ("scrub",)))
        along = y + 18.0
        pointed = facts.mouse is not None and not facts.help and inside((x - 8, y, w + 16, h), *facts.mouse)

        def at(t: float) -> float:
            return x + w * min(max((t - start) / (end - start), 0.0), 1.0)

        for t, text in ticks(start, end, w, lambda text: canvas.width(text, SMALL)):
            canvas.rect(round(at(t)), along + 7, 1, 4, FAINT)
            half = 0.5 * canvas.width(text, SMALL)
            canvas.text(min(max(at(t), x - 6 + half), x + w + 6 - half), y + h - 7, text, DIM, SMALL, "center")
        canvas.rect(x, along - 2, w, 4, (1.0, 1.0, 1.0, 0.20), 2.0)
        canvas.rect(x, along - 2, max(at(facts.t) - x, 0.0), 4, ACCENT, 2.0)
        for t, _ in facts.events:
            canvas.rect(round(at(t)) - 1, along - 6, 2, 12, (0.0, 0.0, 0.0, 0.5))
            canvas.polygon(MARK, BRIGHT, (at(t), along))
        canvas.disc(at(facts.t), along, 8.5 if pointed else 7.5, (*GROUND[:3], 0.9))
        canvas.disc(at(facts.t), along, 6.5 if pointed else 5.5, BRIGHT)
        if pointed and facts.mouse is not None:
            self._tip(canvas, (x, y, w, h), facts, at)

    def _tip(self, canvas: Canvas, room: Box, facts: Facts, at: Callable[[float], float]) -> None:
        """Draw over the bar the time under the pointer, or the event."""
        assert facts.mouse is not None
        x, y, w, _ = room
        near = min(facts.events, key=lambda e: abs(at(e[0]) - facts.mouse[0]), default=None)             # type: ignore[index]
        t = self.scrub(facts.mouse[0])[1]
        name = ""
        if near is not None and abs(at(near[0]) - facts.mouse[0]) < 7:
            t, name = near
        text = f"{name}  {t:.{decimals(facts.span[1] - facts.span[0])}f} s".strip()
        half = 0.5 * canvas.width(text, SMALL) + 8
        middle = min(max(at(t), x + half - 8), x + w - half + 8)
        canvas.rect(at(t), y + 10, 1, 16, (1.0, 1.0, 1.0, 0.5))
        canvas.rect(middle - half, y - 26, 2 * half, 20, (*GROUND[:3], 0.95), 5.0)
        canvas.text(middle, y - 16 + UNDER * SMALL, text, BRIGHT, SMALL, "center")

    # ------------------------------------------------------------ messages

    def _error(self, canvas: Canvas, top: float, width: float, error: str) -> float:
        """Draw a banner over the whole width, of three lines at most; return where it ends."""
        lines = wrapped(canvas, error, width - 2 * MARGIN - 48, 3)
        box = MARGIN, top, width - 2 * MARGIN, 18 + ROW * len(lines)
        self._panel(canvas, "error", box, ALARM)
        x, y = MARGIN + 19, top + 9 + 0.5 * ROW
        canvas.disc(x, y, 7.5, BRIGHT)
        canvas.rect(x - 1, y - 4.5, 2, 5, ALARM)
        canvas.rect(x - 1, y + 2.5, 2, 2, ALARM)
        for k, line in enumerate(lines):
            canvas.text(MARGIN + 36, y + k * ROW + UNDER * TEXT, line, BRIGHT, TEXT)
        return top + box[3]

    def _toast(self, canvas: Canvas, bottom: float, width: float, free: float, toast: str, size: int = TEXT) -> None:
        if free < NARROW:
            return
        lines, row = wrapped(canvas, toast, free - 28, 3, size), ROW * size / TEXT
        w, h = max(canvas.width(line, size) for line in lines) + 28, 11 + row * len(lines)
        self._panel(canvas, "toast", (0.5 * (width - w), bottom - h, w, h))
        for k, line in enumerate(lines):
            canvas.text(0.5 * width, bottom - h + 5.5 + row * (k + 0.5) + UNDER * size, line, BRIGHT, size, "center")

    def _help(self, canvas: Canvas, size: tuple[float, float], rows: Sequence[tuple[str, str]]) -> None:
        """Draw the keys, in as many columns as it takes and the meanings leave room for, over all the rest; more is behind the wheel."""
        w, h = size
        tall = max(int((h - 2 * MARGIN - 66) // ROW), 1)
        keys = max(canvas.width(key, TEXT) for key, _ in rows) + 14
        wide = keys + max(canvas.width(meaning, TEXT) for _, meaning in rows)
        free = w - 2 * MARGIN - 40 + 24
        columns = min(-(-len(rows) // tall), max(int(free // (0.75 * wide + 24)), 1))
        self.further = min(max(self.further, 0), max(len(rows) - columns * tall, 0))
        tall = min(tall, -(-len(rows) // columns))
        more = len(rows) - columns * tall
        rows = rows[self.further :][: columns * tall]
        wide = min(wide, free / columns - 24)
        box_w, box_h = wide * columns + 24 * (columns - 1) + 40, 60 + ROW * tall
        x, y = 0.5 * (w - box_w), 0.5 * (h - box_h)
        canvas.rect(0, 0, w, h, (0.0, 0.0, 0.0, 0.45))
        self._buttons.append(((0.0, 0.0, w, h), ("help",)))
        self.boxes["help"] = x, y, box_w, box_h
        canvas.rect(x, y, box_w, box_h, (*GROUND[:3], 0.95), ROUND)
        canvas.rect(x, y, box_w, box_h, (1.0, 1.0, 1.0, 0.10), ROUND, outline=1.0)
        canvas.text(x + 20, y + 29, "Keys", BRIGHT, TITLE)
        if more > 0:
            canvas.text(x + box_w - 20, y + 29, f"wheel: {more} more", DIM, SMALL, "right")
        for k, (key, meaning) in enumerate(rows):
            left, base = x + 20 + (k // tall) * (wide + 24), y + 46 + (k % tall + 0.5) * ROW + UNDER * TEXT
            canvas.text(left, base, canvas.elided(key, min(keys - 14, wide), TEXT), ACCENT, TEXT)
            canvas.text(left + keys, base, canvas.elided(meaning, wide - keys, TEXT), BRIGHT, TEXT)


# ---------------------------------------------------------------- numbers and texts


def plots_in(height: float) -> int:
    """Return how many plots a picture of a height, px, has room for."""
    return max(int((height - 2 * MARGIN - 2 * PAD + GAP) // (PLOT + GAP)), 0)


def ticks(start: float, end: float, width: float, measure: Callable[[str], float]) -> list[tuple[float, str]]:
    """Return round times in a span and their labels, as close as ``width`` px can hold without crowding."""
    step = 10.0 ** math.floor(math.log10((end - start) / 100.0))
    for factor in (1, 2, 5) * 4:
        each = step * factor
        digits = max(-math.floor(math.log10(each) + 1e-9), 0)
        widest = max(measure(f"{t:.{digits}f}") for t in (start, end))
        if width * each / (end - start) > widest + 26:
            break
        step *= 10.0 if factor == 5 else 1.0
    first = math.ceil(start / each - 1e-9)
    times = [k * each for k in range(first, math.floor(end / each + 1e-9) + 1)]
    return [(t, f"{t:.{digits}f}".replace("-", "−")) for t in times]


def wrapped(canvas: Canvas, text: str, width: float, most: int, size: int = TEXT) -> list[str]:
    """Return lines of a size that fit into a width, px; what is more than ``most`` of them ends in "…"."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most:
        count = 1
        while count < len(words) and canvas.width(" ".join(words[: count + 1]), size) <= width:
            count += 1
        if len(lines) == most - 1:
            count = len(words)
        lines.append(canvas.elided(" ".join(words[:count]), width, size))
        words = words[count:]
    return lines
