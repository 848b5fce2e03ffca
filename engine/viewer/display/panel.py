"""The side panel: tabs, and rows of sliders, switches, buttons, and a tree of links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.viewer.display.facts import Button, Field, Heading, Item, Panel, Row, Slider, Switch, figure
from engine.viewer.display.icons import CROSS, eye
from engine.viewer.display.style import (
    ACCENT,
    BRIGHT,
    BUTTON,
    DIM,
    FAINT,
    GROUND,
    PAD,
    ROUND,
    ROW,
    SMALL,
    TEXT,
    UNDER,
    inside,
)  # fmt: skip
from engine.viewer.draw.canvas import Box, Canvas

#: heights of the strip of tabs, and of a slider, px
STRIP, SLID = 28.0, 33.0


class SidePanel:
    """Draws a :class:`~engine.viewer.display.facts.Panel`, and knows afterwards what lies where.

    Attributes
    ----------
    boxes : by name, the tabs and rows of the last drawing that can be seen: left, top, width, height, px
    scroll : how far the rows are moved up, px
    """

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.scroll = 0.0
        self._spots: list[tuple[Box, Any]] = []
        self._tracks: dict[str, tuple[float, float, Slider]] = {}
        self._room: Box = (0.0, 0.0, 0.0, 0.0)
        self._open = ""

    # ------------------------------------------------------------ what a place means

    def hit(self, x: float, y: float) -> tuple[Any, ...] | None:
        """Return what a click at a place asks for: ("do", a function), ("slide", a row), ("type", a row), or nothing."""
        return next((action for box, action in reversed(self._spots) if inside(box, x, y)), None)

    def slide(self, row: str, x: float) -> None:
        """Set a slider to where a pointer at x is, px."""
        if row in self._tracks:                                                # it may be gone since
            left, width, slider = self._tracks[row]
            part = min(max((x - left) / width, 0.0), 1.0)
            if slider.set is not None:
                slider.set(slider.low + part * (slider.high - slider.low))

    def wheel(self, x: float, y: float, lines: float) -> bool:
        """Move the rows, where the pointer is over them; return whether it is."""
        if not (self._open and inside(self._room, x, y)):
            return False
        self.scroll -= 2.0 * ROW * lines
        return True

    # ------------------------------------------------------------ drawing

    def draw(self, canvas: Canvas, room: Box, panel: Panel, mouse: tuple[float, float] | None) -> float:
        """Draw the tabs, and under them the rows of the open one, in a room; return where it ends, px."""
        x, y, w, most = room
        self.boxes, self._spots, self._tracks = {}, [], {}
        if panel.open != self._open:
            self._open, self.scroll = panel.open, 0.0
        tall = sum(map(height, panel.rows)) + PAD if panel.open else 0.0
        free = max(most - STRIP, 0.0)
        self._room = x, y + STRIP, w, min(tall, free)
        self.scroll = min(max(self.scroll, 0.0), max(tall - free, 0.0))
        canvas.rect(x, y, w, STRIP + self._room[3], GROUND, ROUND)
        canvas.rect(x, y, w, STRIP + self._room[3], (1.0, 1.0, 1.0, 0.07), ROUND, outline=1.0)
        self._spots.append(((x, y, w, STRIP + self._room[3]), ("panel",)))
        for k, name in enumerate(panel.tabs):
            box = x + k * w / len(panel.tabs), y, w / len(panel.tabs), STRIP
            lit = mouse is not None and inside(box, *mouse)
            color = ACCENT if name == panel.open else BRIGHT if lit else DIM
            canvas.text(box[0] + 0.5 * box[2], y + 0.5 * STRIP + UNDER * TEXT, name, color, TEXT, "center")
            if name == panel.open:
                canvas.rect(box[0] + 6, y + STRIP - 2, box[2] - 12, 2, ACCENT)
            self._spot(f"tab {name}", box, ("tab", name))
        with canvas.clip(*self._room):
            top = y + STRIP - self.scroll + 0.5 * PAD
            for row in panel.rows:
                if top + height(row) > y + STRIP and top < y + STRIP + self._room[3]:
                    self._row(canvas, (x + PAD, top, w - 2 * PAD, height(row)), row, panel, mouse)
                top += height(row)
        if tall > free:                                                        # how much there is, and where
            part = free / tall
            canvas.rect(x + w - 4, y + STRIP + part * self.scroll, 2, part * free, FAINT, 1.0)
        return y + STRIP + self._room[3]

    def _spot(self, name: str, box: Box, action: tuple[Any, ...]) -> None:
        """Note a place to click on; of one that is cut off what can be seen."""
        x, y, w, h = box
        if not name.startswith("tab "):
            top, bottom = max(y, self._room[1]), min(y + h, self._room[1] + self._room[3])
            box = x, top, w, bottom - top
        if box[3] > 0:
            self.boxes[name] = box
            self._spots.append((box, action))

    def _row(self, canvas: Canvas, box: Box, row: Row, panel: Panel, mouse: tuple[float, float] | None) -> None:
        """Draw a row, and note what can be clicked on."""
        x, y, w, h = box
        lit = mouse is not None and inside(self._room, *mouse) and inside(box, *mouse)
        base = y + 0.5 * min(h, ROW + 4.0) + UNDER * TEXT
        if lit and not isinstance(row, (Heading, Slider)):
            canvas.rect(x - 5, y, w + 10, h, BUTTON, 4.0)
        match row:
            case Heading():
                canvas.text(x, y + h - 6, canvas.elided(row.name, w, SMALL), DIM, SMALL)
            case Slider():
                self._slider(canvas, box, row, panel.typed)
            case Field():
                own = panel.typed is not None and panel.typed[0] == row.empty
                canvas.rect(x, y + 1, w, h - 3, (1.0, 1.0, 1.0, 0.08), 4.0)
                text, color = (row.text, BRIGHT) if row.text or own else (row.empty, DIM)
                canvas.text(x + 7, base, canvas.elided(text, w - 14, TEXT) + ("|" if own else ""), color, TEXT)
                self._spot(row.empty, box, ("type", row.empty, row.text, row.set))
            case Switch():
                canvas.rect(x, y + 0.5 * h - 6, 12, 12, ACCENT if row.on else FAINT, 3.0)
                canvas.text(x + 20, base, canvas.elided(row.name, w - 20, TEXT), BRIGHT if row.on else DIM, TEXT)
                self._spot(row.name, box, ("do", row.press))
            case Button():
                canvas.text(x, base, canvas.elided(row.name, w - 20, TEXT), ACCENT if lit else BRIGHT, TEXT)
                self._spot(row.name, box, ("do", row.press))
                self._end(canvas, box, row.name, row.remove)
            case Item():
                self._item(canvas, box, row)

    def _end(self, canvas: Canvas, box: Box, name: str, remove: Callable[[], None] | None) -> None:
        """Draw a cross at the end of a row, where something can be taken away."""
        if remove is not None:
            x, y, w, h = box
            for points in CROSS:
                canvas.line(points, DIM, 1.4, (x + w - 8, y + 0.5 * h))
            self._spot(f"remove {name}", (x + w - 18, y, 22, h), ("do", remove))

    def _item(self, canvas: Canvas, box: Box, row: Item) -> None:
        """Draw a link of the tree, with an eye that hides it."""
        x, y, w, h = box
        indent = min(9.0 * row.depth, 0.5 * w)
        color = ACCENT if row.picked else BRIGHT if row.seen else (*DIM[:3], 0.5)
        canvas.text(x + indent, y + 0.5 * h + UNDER * TEXT, canvas.elided(row.name, w - indent - 24, TEXT), color, TEXT)
        self._spot(row.name, (x, y, w - 20, h), ("do", row.press))
        eye(canvas, x + w - 9, y + 0.5 * h, DIM if row.seen else (*DIM[:3], 0.4), row.seen)
        self._spot(f"hide {row.name}", (x + w - 20, y, 24, h), ("do", row.switch))

    def _slider(self, canvas: Canvas, box: Box, row: Slider, typed: tuple[str, str] | None) -> None:
        """Draw a number, which may be typed, over its track."""
        x, y, w, _ = box
        own = typed is not None and typed[0] == row.name
        text = f"{typed[1]}|" if own and typed is not None else f"{figure(row.value)} {row.unit}".rstrip()
        wide = max(canvas.width(text, TEXT), 40.0)
        base = y + 9 + UNDER * TEXT
        canvas.text(x + w, base, text, ACCENT if own else BRIGHT, TEXT, "right")
        canvas.text(x, base, canvas.elided(row.name, w - wide - 10, TEXT), DIM, TEXT)
        along, span = y + 24.0, row.high - row.low
        low, high = (f"{end:.3g}".replace("-", "−") for end in (row.low, row.high))
        for text, at, side in ((low, x, "left"), (high, x + w, "right")):      # where the track ends
            canvas.text(at, along + UNDER * SMALL, text, DIM, SMALL, side)
        x, w = x + canvas.width(low, SMALL) + 9.0, w - canvas.width(low, SMALL) - canvas.width(high, SMALL) - 18.0
        at = x + w * min(max((row.value - row.low) / span, 0.0), 1.0) if span > 0 else x
        canvas.rect(x, along - 1.5, w, 3, (1.0, 1.0, 1.0, 0.20), 1.5)
        zero = x + w * min(max(-row.low / span, 0.0), 1.0) if span > 0 else x                  # filled from zero, or the nearer end
        canvas.rect(min(zero, at), along - 1.5, abs(at - zero), 3, ACCENT if row.set else DIM, 1.5)
        if row.set is None:
            return
        canvas.disc(at, along, 5.5, BRIGHT)
        self._tracks[row.name] = x, w, row
        self._spot(row.name, (x - 6, along - 8, w + 12, 16), ("slide", row.name))
        self._spot(f"value {row.name}", (box[0] + box[2] - wide, y, wide, 16), ("type", row.name, "", row.set))


def height(row: Row) -> float:
    """Return how tall a row is, px."""
    return SLID if isinstance(row, Slider) else ROW + 10.0 if isinstance(row, Heading) else ROW + 4.0
