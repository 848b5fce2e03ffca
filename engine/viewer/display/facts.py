"""Facts that the display shows, as plain data, and its numbers as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
#: of the largest of a number's values: what rounding makes of zero, and what is none beside a curve; and of an angle, °
ROUNDING, UNSEEN, TURN = 1e-12, 1e-6, 1e-10


@dataclass(frozen=True, eq=False)
class Plot:
    """A signal in time: its name and unit, times (n), s, and values (n), and its value now; others in the same unit, by name, with values
    (n) at the same times and now; times of events, s; and phases (name, from, to), s, which are bands. What is not finite is a gap."""

    name: str
    unit: str
    t: Array
    y: Array
    now: float
    others: Sequence[tuple[str, Array, float]] = ()
    events: Sequence[float] = ()
    phases: Sequence[tuple[str, float, float]] = ()


@dataclass(frozen=True, eq=False)
class Bars:
    """Numbers side by side: a title and a unit, names with values now, the largest that any of them becomes, and whether any is ever
    below zero."""

    title: str
    unit: str
    rows: Sequence[tuple[str, float]]
    most: float
    signed: bool = False


@dataclass(frozen=True)
class Card:
    """A card of the picked link: its name, and rows of (label, text)."""

    title: str
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Slider:
    """A row of the side panel: a number between two others, which a pointer moves, or which is typed; None in place of ``set`` where it
    can only be read."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    set: Callable[[float], None] | None


@dataclass(frozen=True, eq=False)
class Switch:
    """A row with something that is on or off."""

    name: str
    on: bool
    press: Callable[[], None]


@dataclass(frozen=True, eq=False)
class Button:
    """A row that does something, and another thing at its end, such as to forget it."""

    name: str
    press: Callable[[], None]
    remove: Callable[[], None] | None = None


@dataclass(frozen=True, eq=False)
class Item:
    """A row of a tree: so deep in it, picked or not, and seen or hidden."""

    name: str
    depth: int
    picked: bool
    seen: bool
    press: Callable[[], None]
    switch: Callable[[], None]


@dataclass(frozen=True, eq=False)
class Field:
    """A row to type a text into, which is handed over at every letter; ``empty`` is what stands there before."""

    empty: str
    text: str
    set: Callable[[str], None]


@dataclass(frozen=True)
class Heading:
    """A row that says what those after it are."""

    name: str


Row = Slider | Switch | Button | Item | Field | Heading


@dataclass(frozen=True, eq=False)
class Panel:
    """The side panel: names of its tabs, the one that is open ("": none), its rows, and the row and the text that is typed into it."""

    tabs: tuple[str, ...]
    open: str = ""
    rows: Sequence[Row] = ()
    typed: tuple[str, str] | None = None


#: where plots may be: at a side from its top on, or in a corner
PLACES = ("right", "left", "lower right", "lower left")
#: what bars may be of
BARS = ("energy", "momentum")


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that a display shows; what is empty is not shown.

    Attributes
    ----------
    title, lines : of the panel at the left: a name, and rows of (label, text); ("", "") is a gap
    span : first and last time of the motion, s; where they are equal there is no timeline
    t, playing, speed, loop : the clock's; a negative speed plays backwards
    live : of a simulation that runs now: its span is what is remembered, and a button begins anew instead of looping
    events : marks on the timeline, (time, name)
    bars : numbers side by side, at the left
    plots, card, help (rows of key and meaning) : of the panels at the right, at the left, and in the middle
    where : of PLACES, where the plots are
    panel : the side panel, over the plots
    caption, toast, error : a line at the bottom, a message that passes, and a sentence that does not
    within : left end and width of where the caption stands, px, by default all of the picture
    mouse : where the pointer is, px
    """

    title: str = ""
    lines: Sequence[tuple[str, str]] = ()
    span: tuple[float, float] = (0.0, 0.0)
    t: float = 0.0
    playing: bool = False
    speed: float = 1.0
    loop: bool = False
    live: bool = False
    events: Sequence[tuple[float, str]] = ()
    plots: Sequence[Plot] = ()
    where: str = "right"
    bars: Sequence[Bars] = ()
    card: Card | None = None
    panel: Panel | None = None
    help: Sequence[tuple[str, str]] = ()
    caption: str = ""
    within: tuple[float, float] | None = None
    toast: str = ""
    error: str = ""
    mouse: tuple[float, float] | None = None


# ---------------------------------------------------------------- numbers


def figure(x: float, digits: int = 4) -> str:
    """Return a number with so many digits, as short as it can be read: "12.34", "0.050", "1.2e-9".

    >>> figure(12.3456), figure(-0.5), figure(2.5e-9), figure(123456.0), figure(float("nan")), figure(-0.0)
    ('12.35', '−0.5000', '2.50e-9', '1.23e5', '–', '0.000')
    """
    if not math.isfinite(x):
        return "–"
    size = abs(x)
    if size and not 1e-3 <= size < 10.0 ** max(digits + 1, 4):
        mantissa, exponent = f"{x:.{max(digits - 2, 1)}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        before = math.floor(math.log10(size)) if size else 0
        text = f"{x:.{min(max(digits - 1 - before, 0), digits + (0 < size < 0.1))}f}"
    return "−" + text[1:] if text.startswith("-") and text.strip("-0.") else text.lstrip("-")


def settled(x: Any, peak: float, unit: str = "", part: float = ROUNDING) -> Any:
    """Return numbers with what is but rounding, or no more than a part of a ``peak``, made zero; of angles the scale is a turn.

    >>> [float(x) for x in (settled(1e-17, 3.0), settled(1e-5, 3.0), settled(2e-15, 2e-15, "°"))]
    [0.0, 1e-05, 0.0]
    """
    least = max(part * peak, TURN if unit == "°" else 0.0)
    return np.where(np.abs(x) <= least, 0.0, x)[()]


def decimals(span: float) -> int:
    """Return the decimals of a time, s, for about ten thousand steps in a span."""
    return min(max(4 - math.ceil(math.log10(max(span, 1e-9))), 0), 6)
