"""The engine's own error, and checks of what comes in: one sentence that says what is wrong and what was expected."""

from __future__ import annotations

import difflib
import itertools
import sys
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray


class EngineError(ValueError):
    """Base of every error that the engine raises on purpose; its text says what is wrong, where, and what was expected."""


class EngineWarning(UserWarning):
    """Base of every warning of the engine: what goes on, but is hardly what was meant."""


def warn(text: str, category: type[Warning] = EngineWarning) -> None:
    """Warn at the line of the user's that called the engine."""
    frames = traceback.walk_stack(sys._getframe())
    inside = itertools.takewhile(lambda f: f[0].f_globals.get("__name__", "").startswith("engine."), frames)
    warnings.warn(text, category, stacklevel=1 + len(list(inside)))


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `` (did you mean '…'?)`` where a name is close to one there is, else nothing.

    >>> nearest("sholder", ["shoulder", "elbow"])
    " (did you mean 'shoulder'?)"
    """
    close = difflib.get_close_matches(name, list(names), 1, 0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def number(what: str, x: Any, expected: str, above: float = -np.inf, below: float = np.inf, least: float = -np.inf,
           most: float = np.inf, error: type[EngineError] = EngineError) -> float:  # fmt: skip
    """Return x as a float; refuse what is no number, is not finite, or lies outside ``above < x < below`` and ``least <= x <= most``.

    Infinity is refused whatever the bounds: what may be infinite needs a check of its own.

    >>> number("dt", 1e-3, "a step in seconds greater than zero", above=0)
    0.001
    >>> number("dt", -1, "a step in seconds greater than zero", above=0)
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: dt is -1; expected a step in seconds greater than zero
    """
    good = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    if not good or not np.isfinite(x) or not (above < x < below and least <= x <= most):
        raise error(f"{what} is {x!r}; expected {expected}")
    return float(x)


def whole(what: str, x: Any, expected: str, least: int = 0, error: type[EngineError] = EngineError) -> int:
    """Return x as an int; refuse what is no whole number from ``least`` on.

    >>> whole("record_every", np.int64(3), "a whole number of steps from 1", least=1)
    3
    """
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < least:
        raise error(f"{what} is {x!r}; expected {expected}")
    return int(x)


def numbers(what: str, x: Any, error: type[EngineError] = EngineError) -> Array:
    """Return x as a new array of floats, all of them finite.

    >>> numbers("point", (1, 2))
    array([1., 2.])
    """
    try:
        a = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise error(f"{what} is {x!r}; expected numbers") from None
    if not np.isfinite(a).all():
        raise error(f"{what} holds NaN or infinity; expected finite numbers")
    return a
