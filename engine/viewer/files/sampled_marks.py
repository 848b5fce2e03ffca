"""Marks of a scene at some of its times, for pages: shapes, dots, lines and names, as a browser draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from engine.checks import shown as shown_as
from engine.viewer.scene.drawing import Drawing, measure
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import mark
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.surface import Surface
from engine.viewer.scene.symbols import dot

Array = np.ndarray
#: times at which a page has marks, and bytes of them, at most
MOMENTS, BYTES = 2000, 24_000_000
#: what a page draws in one way alone
ONE_WAY = ("wireframe", "transparent", "colors")
#: arrays of a frame, and of how many numbers their rows are
ROWS = {"which": 1, "poses": 12, "colors": 4, "dots": 4, "dot_colors": 4, "strokes": 7, "stroke_colors": 4,
        "places": 3, "texts": 1, "text_colors": 4}


def of_pages(shown: Shown | None) -> Shown:
    """Return what pages show of a choice: marks, without an orbit's ellipse, which they draw by themselves.

    Raises
    ------
    ViewerError : it is none, or asks for what a page cannot do
    """
    if shown is not None and not isinstance(shown, Shown):
        raise ViewerError(f"shown is {shown_as(shown)}; expected a Shown, such as Shown(centers=True)")
    shown = shown or Shown()
    for name in ONE_WAY:
        if getattr(shown, name):
            raise ViewerError(f"shown asks for {name}, which a page does not have; expected it left out, or a picture or a film")
    return replace(shown, orbit=False)


def marks_of(scene: Scene, t: float, shown: Shown) -> Drawing:
    """Return the marks alone of a scene at a time, s: a drawing without robots."""
    drawing = mark(scene, t, replace(shown, hidden=()))
    own = drawing.numbers == 0
    return replace(drawing, which=drawing.which[own], poses=drawing.poses[own], colors=drawing.colors[own])


def packed(drawing: Drawing, number: Callable[[Surface], int], texts: dict[str, int]) -> dict[str, Array]:
    """Return marks as arrays, by name; places are seen from the first of them, "origin" (3), m.

    Parameters
    ----------
    number : the number of a surface in the page; texts : the numbers of words, which are added to
    """
    points = drawing.surfaces.index(dot()) if dot() in drawing.surfaces else -1
    round_, (segments, tints, widths) = drawing.which == points, drawing.lines
    poses, colors = drawing.poses[:, :3].copy(), drawing.colors.copy()
    ends, places = segments.copy(), np.array([p for p, _, _ in drawing.labels]).reshape(-1, 3)
    origin = next((x[0] for x in (poses[:, :, 3], ends[:, 0], places) if len(x)), np.zeros(3)).copy()
    for x in (poses[:, :, 3], ends, places):
        x -= origin
    shaped = np.flatnonzero(~round_)
    own = [drawing.surfaces[k] for k in drawing.which[shaped]]
    colors[shaped] *= np.array([(*s.color[:3], s.color[3] * measure(s).opacity) for s in own]).reshape(-1, 4)
    found = {
        "which": np.array([number(s) for s in own], np.uint16), "poses": poses[shaped].reshape(-1, 12), "colors": colors[shaped],
        "dots": np.column_stack([poses[round_, :, 3], poses[round_, 0, 0]]), "dot_colors": colors[round_],
        "strokes": np.column_stack([ends.reshape(-1, 6), widths]), "stroke_colors": tints, "places": places,
        "texts": np.array([texts.setdefault(text, len(texts)) for _, text, _ in drawing.labels], np.uint16),
        "text_colors": np.array([color for _, _, color in drawing.labels]),
    }  # fmt: skip
    arrays = {name: written(name, x) for name, x in found.items()}
    counts = [len(arrays[name]) for name in ("which", "dots", "strokes", "places")]
    return {"origin": origin[None], "counts": np.array([counts], np.int32), **arrays}


def written(name: str, x: Array) -> Array:
    """Return an array's rows as a page reads them: colours as bytes, numbers of surfaces and texts as words, all else single."""
    x = np.reshape(x, (-1, ROWS[name]))
    if name.endswith("colors"):
        return np.rint(255.0 * np.clip(x, 0.0, 1.0)).astype(np.uint8)
    return x.astype(np.uint16 if name in ("which", "texts") else np.float32)


def sampled_marks(scene: Scene, times: Array, shown: Shown, number: Callable[[Surface], int],
                  always: bool = False) -> dict[str, Any] | None:  # fmt: skip
    """Return marks at some of the times (T), s, as arrays by name, with words and a legend; None where there are none, unless ``always``.

    Where they would take too many bytes, they are at fewer times.
    """
    if not (shown.marks or always):
        return None
    texts: dict[str, int] = {}
    first, last = float(times[0]), float(times[-1])
    ends = [sum(x.nbytes for x in packed(marks_of(scene, t, shown), number, texts).values()) for t in (first, 0.5 * (first + last), last)]
    count = max(1, min(len(times), MOMENTS, BYTES // max(ends)))
    drawings = [marks_of(scene, float(t), shown) for t in np.linspace(first, last, count)]
    frames = [packed(drawing, number, texts) for drawing in drawings]
    legend = dict.fromkeys(entry for drawing in drawings for entry in drawing.legend)
    return {"moments": count, "words": [*texts], "legend": [[text, list(color)] for text, color in legend],
            "arrays": {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}}  # fmt: skip


def framed(found: dict[str, Array]) -> bytes:
    """Return marks of one moment as bytes, each array after the one before it, from a multiple of eight on."""
    return b"".join(x.tobytes() + bytes(-x.nbytes % 8) for x in found.values())
