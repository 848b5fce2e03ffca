"""Functions that are handed to loops and branches: called, with a sentence where they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.ops.structure import structure


def name_of(f: Any) -> str:
    """Return a function's name, or that of its type."""
    return getattr(f, "__name__", type(f).__name__)


def place_of(f: Any) -> str:
    """Return where a function begins, or the method that an object is called by, as errors begin; nothing if it is not in Python."""
    f = inspect.unwrap(f)
    code = getattr(f, "__code__", None) or getattr(type(f).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


def fitting(caller: str, f: Any, given: tuple[Any, ...], what: str) -> Any:
    """``f`` of what it is given, which is ``what`` in words.

    Raises
    ------
    EngineError : it is no function, takes another number of arguments, or returns what is neither a number nor an array or a table

    >>> fitting("rows", lambda: 1.0, (np.ones(2),), "a row of each table")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    engine.checks.EngineError: ...: rows got the function '<lambda>()'; expected one that takes a row of each table: 1 argument
    """
    if not callable(f):
        raise EngineError(f"{caller} got {kind(f)} in place of a function; expected one that takes {what}")
    try:
        found = f(*given)
    except TypeError as error:
        if (signature := refusing(f, given)) is None:
            raise
        n = f"{len(given)} argument{'s' * (len(given) != 1)}" if given else "no argument"
        raise EngineError(f"{place_of(f)}{caller} got the function '{name_of(f)}{signature}'; expected one that takes {what}"
                          f"{': ' + n if given else ''}") from error  # fmt: skip
    for leaf in structure(found)[0]:
        if leaf is None or isinstance(leaf, (str, set)) or callable(leaf):
            missing = "nothing (None), as a function without a return does," if leaf is None else kind(leaf)
            raise EngineError(f"{place_of(f)}{caller} got {missing} from the function '{name_of(f)}'; "
                              "expected numbers, arrays or tables")  # fmt: skip
    return found


def refusing(f: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """A function's signature, if it does not take what is given."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*given)
    except TypeError:
        return signature
    return None


def kind(x: Any) -> str:
    """What something is, in words."""
    if hasattr(x, "by_rows"):
        return "a table"
    if callable(x):
        return "a function"
    if isinstance(x, (tuple, list, dict, set, np.ndarray)):
        return {"ndarray": "an array"}.get(type(x).__name__, f"a {type(x).__name__}")
    return f"'{x}'" if isinstance(x, str) else "a number" if np.ndim(x) == 0 else f"a {type(x).__name__}"


__all__ = ["fitting", "kind", "name_of", "place_of"]
