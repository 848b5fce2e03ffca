"""Plots of pages: courses of signals as JSON, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.checks import one_of
from engine.viewer.display.charts import CURVES
from engine.viewer.display.facts import PLACES, Plot
from engine.viewer.display.readings import Readings
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene

Array = np.ndarray
#: points of a motion's curve, which a page reads its values from; digits of what is plotted
POINTS, DIGITS = 2000, 6


def plots_of(scene: Scene, signals: Sequence[str | Sequence[str]], where: str) -> dict[str, Any] | None:
    """Return the plots of a page that plays: the courses of signals of its first robot, as :func:`engine.render` takes them; None of none.

    Raises
    ------
    ViewerError : there is no such signal, nothing moves, or there is no such place
    """
    readings = Readings(scene.actors[0], 0, signals, POINTS)
    there = placed(scene, readings, where)
    return {**there, "found": [drawn(plot) for plot in readings.grouped(scene.span[0])]} if signals else None


def placed(scene: Scene, readings: Readings, where: str) -> dict[str, Any]:
    """Return where plots stand, whose they are, and the colours of their curves."""
    return {"where": one_of("plots", where, PLACES, ViewerError), "title": f": {readings.title}" if scene.robots > 1 else "",
            "colors": ["rgb({:.0f} {:.0f} {:.0f})".format(*(255.0 * np.array(color[:3]))) for color in CURVES]}  # fmt: skip


def drawn(plot: Plot) -> dict[str, Any]:
    """Return a plot for JSON; what is not finite is null."""
    curves = [(plot.name, plot.y, plot.now), *plot.others]
    return {"unit": plot.unit, "t": short(plot.t), "events": [float(t) for t in plot.events], "phases": [[*phase] for phase in plot.phases],
            "curves": [{"name": name, "y": short(y), "now": short(np.array([now]))[0]} for name, y, now in curves]}  # fmt: skip


def short(x: Array) -> list[float | None]:
    """Return numbers with few digits, and null for what is not finite.

    >>> short(np.array([0.12345678, np.nan]))
    [0.123457, None]
    """
    return [float(f"{a:.{DIGITS}g}") if np.isfinite(a) else None for a in x]
