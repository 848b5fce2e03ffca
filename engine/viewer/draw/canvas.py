"""A canvas over the picture: rectangles, discs, lines, polygons and text, in pixels from the upper left corner.

A :class:`Canvas` only collects; everything becomes quads of one kind, which :class:`engine.viewer.draw.painter.Painter` draws in one call.
"""

from __future__ import annotations

import contextlib
import functools
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.viewer.draw.fonts import file_with, font, tell_boxes

Array = np.ndarray
Color = tuple[float, float, float, float]
Box = tuple[float, float, float, float]
#: of a quad's corner: where it is; where that is in the shape's own axes, or in the atlas; the shape's half width and height, the radius of
#: its corners and the width of its outline (0: filled, −1: text); its colour; and left, top, right, bottom of what may be drawn on
VERTEX = np.dtype([("position", "<f4", 2), ("local", "<f4", 2), ("shape", "<f4", 4), ("color", "u1", 4), ("clip", "<f4", 4)])
CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
FAR = 1e6                                                                      # px: no end of a shape in that direction
BETWEEN, AIRY = 0.28, " ·"                                                     # the least width of these, in sizes of the text
ALIKE = {"×": "x", "–": "-", "—": "-", "\u2010": "-", "\u2011": "-", "\xa0": " ", "\u202f": " ", "′": "'"}
ACCENTS = {"\u0307": "·", "\u0308": "¨", "\u0302": "^", "\u0304": "-"}      # combining ones, and what they are drawn as
RAISED = {"²": "2", "³": "3"}
KEPT = 4000                                                                    # runs of text, before all are forgotten


class Atlas:
    """Glyphs of Pillow's own font in one picture, added as they are first asked for.

    The font is the same on every machine (:mod:`engine.viewer.draw.fonts`), but for what few know.

    Attributes
    ----------
    image : (h, w) uint8, coverage
    """

    def __init__(self) -> None:
        self.image = np.zeros((256, 512), np.uint8)
        self._pen = [1, 1, 0]                                                  # x, y, height of the row in hand
        self._sizes: dict[int, tuple[dict[str, int], list[tuple[float, ...]]]] = {}
        self._runs: dict[tuple[str, int], tuple[Array, float]] = {}

    def run(self, text: str, size: int) -> tuple[Array, float]:
        """Return quads (n, 4, 8) of a line of text whose origin is the left end of its baseline, and its width; both in pixels."""
        key = (text, size)
        if key not in self._runs:
            if len(self._runs) > KEPT:
                self._runs.clear()
            self._runs[key] = self._set(text, size)
        return self._runs[key]

    def _set(self, text: str, size: int) -> tuple[Array, float]:
        numbers, glyphs = self._sizes.setdefault(size, ({}, []))
        text = unicodedata.normalize("NFC", text)
        for c in text:
            if c not in numbers:
                numbers[c] = len(glyphs)
                glyphs.append(self._placed(c, size))
        tell_boxes(text)
        g = np.array([glyphs[numbers[c]] for c in text]).reshape(-1, 7)        # left, top, width, height, u, v, advance
        for k in (k for k, c in enumerate(text) if c in ACCENTS and k):        # over the middle of what is before it
            g[k, 0], g[k, 6] = -0.5 * (g[k - 1, 6] + g[k, 2]), 0.0
            g[k, 1] = min(g[k, 1], g[k - 1, 1] - g[k, 3] - max(round(0.08 * size), 1))
        ends = np.cumsum(g[:, 6])
        drawn = g[:, 2] * g[:, 3] > 0
        g, starts = g[drawn], (ends - g[:, 6])[drawn]
        quads = np.zeros((len(g), 4, 8), np.float32)
        corner = 0.5 * (CORNERS + 1.0) * g[:, None, 2:4]
        quads[..., :2] = corner + g[:, None, :2]
        quads[..., 0] += starts[:, None]
        quads[..., 2:4] = corner + g[:, None, 4:6]
        quads[..., 7] = -1.0
        return quads, float(ends[-1]) if len(ends) else 0.0

    def _placed(self, character: str, size: int) -> tuple[float, ...]:
        """Draw a glyph into the picture; return its place about the pen (left, top, width, height), its place there, and its advance."""
        mask, left, top, advance = glyph(character, size)
        h, w = mask.shape
        x, y, row = self._pen
        if x + w + 1 > self.image.shape[1]:
            x, y, row = 1, y + row + 1, 0
        while y + h + 1 > self.image.shape[0]:
            self.image = np.vstack([self.image, np.zeros_like(self.image)])
        self.image = self.image.copy()                                         # another picture: whoever holds the old one sees that
        self.image[y : y + h, x : x + w] = mask
        self._pen = [x + w + 1, y, max(row, h)]
        return left, top, w, h, x, y, advance


def glyph(character: str, size: int) -> tuple[Array, int, int, float]:
    """Return a glyph's coverage (h, w), where its left upper corner lies from the pen, and its advance, px."""
    if character in RAISED:
        mask, left, top, advance = glyph(RAISED[character], max(round(0.62 * size), 1))
        return mask, left, top - round(0.34 * size), advance
    if character == "−":                                                       # a hyphen, as wide as a plus
        mask, left, top, _ = glyph("-", size)
        long = max(round(0.48 * size), 1)
        return np.repeat(mask[:, mask.shape[1] // 2, None], long, axis=1), left, top - round(0.05 * size), long + 2 * left
    if character in ACCENTS:
        mask, left, top, _ = glyph(ACCENTS[character], size)
        return mask, left, top, 0.0
    character = ALIKE.get(character, character)
    own = font(file_with(character), size)
    drawn, (left, top) = own.getmask2(character, "L", anchor="ls")
    mask = np.frombuffer(bytes(drawn), np.uint8).reshape(drawn.size[::-1])
    inked = np.flatnonzero(mask.any(axis=1))                                   # rows without ink belong to no glyph
    if len(inked):
        mask, top = mask[inked[0] : inked[-1] + 1], top + int(inked[0])
    advance = own.getlength(character)
    if character in AIRY:
        more = max(round(BETWEEN * size) - advance, 0.0)
        return mask, left + int(more / 2), top, advance + more
    return mask, left, top, advance


#: of every canvas
ATLAS = Atlas()


class Canvas:
    """Shapes and text, the later ones over the earlier ones.

    Places and sizes are in pixels from the upper left corner, of ``scale`` device pixels each; edges of rectangles and text lie on whole
    device pixels. Colours are red, green, blue, opacity, 0 … 1.

    >>> canvas = Canvas()
    >>> canvas.rect(10, 10, 120, 24, (0.0, 0.0, 0.0, 0.7), radius=6)
    >>> canvas.text(20, 26, "t = 1.25 s", (1.0, 1.0, 1.0, 1.0))
    >>> canvas.vertices().shape
    (8, 4)
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = float(scale)
        self._clip: Box = (-FAR, -FAR, FAR, FAR)
        self._quads: list[Array] = []
        self._rest: list[tuple[float, ...]] = []

    def _add(self, quads: Array, color: Color, x: float = 0.0, y: float = 0.0) -> None:
        self._quads.append(quads)
        self._rest.append((len(quads), x, y, *color, *self._clip))

    def vertices(self) -> Array:
        """Return all quads (n, 4) of VERTEX, in device pixels, in the order they are drawn in."""
        if not self._quads:
            return np.zeros((0, 4), VERTEX)
        quads, rest = np.concatenate(self._quads), np.array(self._rest)
        tail = np.empty((len(rest), 5), np.float32)
        tail[:, :1] = np.clip(255.0 * rest[:, 3:7] + 0.5, 0.0, 255.0).astype(np.uint8).view(np.float32)
        tail[:, 1:] = rest[:, 7:]
        block = np.repeat(np.arange(len(rest)), rest[:, 0].astype(int))
        out = np.empty((len(quads), 4, 13), np.float32)
        out[..., :8] = quads
        out[..., :2] += rest[block, None, 1:3]
        out[..., 8:] = tail[block, None]
        return out.view(VERTEX)[..., 0]

    # ------------------------------------------------------------ shapes

    def rect(self, x: float, y: float, w: float, h: float, color: Color, radius: float = 0.0, outline: float = 0.0) -> None:
        """Draw a rectangle from its upper left corner; with ``outline`` only its edge, inside, so wide."""
        s = self.scale
        left, top, right, bottom = round(x * s), round(y * s), round((x + w) * s), round((y + h) * s)
        a, b = 0.5 * (right - left), 0.5 * (bottom - top)
        self._rounded(left + a, top + b, a, b, color, radius * s, outline * s)

    def disc(self, x: float, y: float, r: float, color: Color, outline: float = 0.0) -> None:
        """Draw a disc about a point; with ``outline`` only its edge, inside, so wide."""
        s = self.scale
        self._rounded(x * s, y * s, r * s, r * s, color, r * s, outline * s)

    def _rounded(self, x: float, y: float, a: float, b: float, color: Color, radius: float, outline: float) -> None:
        if a > 0 and b > 0:
            self._add(rounded(a, b, min(radius, a, b), outline), color, x, y)

    def line(self, points: Any, color: Color, width: float = 1.0, at: tuple[float, float] = (0.0, 0.0)) -> None:
        """Draw a line through points (n, 2), so wide, with mitred joints; it is interrupted where a point is not finite.

        ``at`` is added to the points; what is given as a tuple of tuples is worked out once.
        """
        s = self.scale
        self._add((once(ribbon) if isinstance(points, tuple) else ribbon)(points, width, s), color, at[0] * s, at[1] * s)

    def polygon(self, points: Any, color: Color, at: tuple[float, float] = (0.0, 0.0)) -> None:
        """Draw a convex polygon with corners (n, 2), n > 2, in either sense, ``at`` added to them."""
        s = self.scale
        self._add((once(convex) if isinstance(points, tuple) else convex)(points, s), color, at[0] * s, at[1] * s)

    def area(self, points: Any, base: float, color: Color) -> None:
        """Fill between points (n, 2), x not decreasing, and the level y = ``base``; leave out what is beside points that are not finite."""
        p = np.asarray(points, float).reshape(-1, 2) * self.scale
        p = np.concatenate([p[:-1], p[1:]], axis=1)
        p = p[np.isfinite(p).all(axis=1)]
        quads = np.zeros((len(p), 4, 8), np.float32)
        quads[:, :2, :2] = p.reshape(-1, 2, 2)
        quads[:, 2:, 0] = p[:, [2, 0]]
        quads[:, 2:, 1] = base * self.scale
        quads[:, :, 4:6] = FAR
        self._add(quads, color)

    # ------------------------------------------------------------ text

    def text(self, x: float, y: float, text: str, color: Color, size: float = 12.0, anchor: str = "left", halo: bool = False) -> None:
        """Draw a line of text.

        Parameters
        ----------
        x, y : left end, middle or right end of the baseline, as ``anchor`` says: "left", "center", "right"
        size : of the font, px
        halo : a dark rim, with which it can be read over whatever is behind
        """
        quads, width = ATLAS.run(text, self._size(size))
        at, down = round(x * self.scale - {"left": 0.0, "center": 0.5, "right": 1.0}[anchor] * width), round(y * self.scale)
        if halo:
            step = max(round(self.scale), 1)
            for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1), (1, 1)):
                self._add(quads, (0.0, 0.0, 0.0, 0.45 * color[3]), at + i * step, down + j * step)
        self._add(quads, color, at, down)

    def _size(self, size: float) -> int:
        return max(round(size * self.scale), 1)

    def width(self, text: str, size: float = 12.0) -> float:
        """Return the width of a text, px."""
        return ATLAS.run(text, self._size(size))[1] / self.scale

    def elided(self, text: str, width: float, size: float = 12.0) -> str:
        """Return the text, or as much of its beginning as fits into a width, px, with "…" after it."""
        if self.width(text, size) <= width:
            return text
        low, high = 0, len(text)
        while low < high:                                                      # the most that fits is from low to high
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.width(text[:middle].rstrip() + "…", size) <= width else (low, middle - 1)
        return text[:low].rstrip() + "…" if low else ""

    # ------------------------------------------------------------ where

    @contextlib.contextmanager
    def clip(self, x: float, y: float, w: float, h: float) -> Iterator[None]:
        """Draw nothing outside a rectangle, nor outside the one that holds already."""
        before, s = self._clip, self.scale
        now = round(x * s), round(y * s), round((x + w) * s), round((y + h) * s)
        self._clip = max(before[0], now[0]), max(before[1], now[1]), min(before[2], now[2]), min(before[3], now[3])
        try:
            yield
        finally:
            self._clip = before


# ---------------------------------------------------------------- quads of shapes, about their own origin, device pixels


@functools.cache
def once(make: Any) -> Any:
    """Return the function with a cache of its latest results."""
    return functools.lru_cache(1000)(make)


@functools.lru_cache(1000)
def rounded(a: float, b: float, radius: float, outline: float) -> Array:
    """Return the quad (1, 4, 8) of a box of half width a and half height b."""
    quad = np.empty((1, 4, 8), np.float32)
    quad[0, :, :2] = quad[0, :, 2:4] = CORNERS * (a + 1.0, b + 1.0)
    quad[0, :, 4:] = a, b, radius, outline
    return quad


def ribbon(points: Any, width: float, scale: float) -> Array:
    """Return the quads of a line through points (n, 2), one for each piece."""
    p, half = np.asarray(points, float).reshape(-1, 2) * scale, 0.5 * width * scale
    d = p[1:] - p[:-1]
    length = np.hypot(d[:, 0], d[:, 1])
    there = length > 1e-6                                                      # not so where a point is not a number, or comes twice
    first, last = p[:-1][there], p[1:][there]
    n = np.empty_like(first)
    n[:, 0], n[:, 1] = -d[there, 1], d[there, 0]
    n *= ((half + 1.0) / length[there])[:, None]
    m = n[:-1] + n[1:]                                                         # along the mitre, 2 cos of half the turn long
    square = (m[:, 0] ** 2 + m[:, 1] ** 2) / (half + 1.0) ** 2
    joined = (square > 2.0) & (last[:-1] == first[1:]).all(axis=1)             # a turn of less than a right angle
    m *= (2.0 / np.maximum(square, 2.0))[:, None]
    start, end = n.copy(), n.copy()
    start[1:][joined] = end[:-1][joined] = m[joined]
    quads = np.zeros((len(n), 4, 8), np.float32)
    quads[:, 0, :2], quads[:, 1, :2] = first - start, last - end
    quads[:, 2, :2], quads[:, 3, :2] = last + end, first + start
    quads[:, :, 3] = CORNERS[:, 1] * (half + 1.0)
    quads[:, :, 4:6] = FAR, half
    return quads


def convex(points: Any, scale: float) -> Array:
    """Return the quads of a convex polygon with corners (n, 2): a fan that ends half a pixel inside the edges, and a rim across them."""
    p = np.asarray(points, float).reshape(-1, 2) * scale
    before, after = np.roll(p, 1, axis=0), np.roll(p, -1, axis=0)
    turn = np.sign(np.sum(before[:, 0] * p[:, 1] - before[:, 1] * p[:, 0])) or 1.0
    d = after - p
    n = turn * np.stack([d[:, 1], -d[:, 0]], axis=1) / np.maximum(np.hypot(d[:, 0], d[:, 1]), 1e-9)[:, None]       # outwards
    m = np.roll(n, 1, axis=0) + n
    m = m / np.maximum(np.sum(m * m, axis=1), 0.5)[:, None]                    # half a pixel
    inner, outer = p - m, p + m
    k = np.arange(1, len(p) - 1)
    fan = np.stack([np.broadcast_to(inner[0], (len(k), 2)), inner[k], inner[k + 1], inner[k + 1]], axis=1)
    rim = np.stack([inner, np.roll(inner, -1, axis=0), np.roll(outer, -1, axis=0), outer], axis=1)
    quads = np.zeros((len(fan) + len(rim), 4, 8), np.float32)
    quads[..., :2] = np.concatenate([fan, rim])
    quads[len(fan) :, :, 3] = 9.5, 9.5, 10.5, 10.5
    quads[..., 4:6] = FAR, 10.0
    return quads
