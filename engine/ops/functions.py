"""Functions that are handed to loops and branches: called, with a sentence where they do not fit."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import math
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.ops.structure import structure

#: what NumPy and Python say of an array that is read as another
MISREAD = "out of bounds for axis|invalid index to scalar|too many indices|not subscriptable|to unpack|core dimension|not be broadcast"


class Exhausted(Exception):
    """Raised where functions are called more often than :func:`at_most` allows."""


class Calls(threading.local):
    """Per-thread count: how many times more functions of loops, rows and branches may be called."""

    left: float = math.inf


CALLS = Calls()


@contextlib.contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Within, functions of loops, rows and branches are called so often at most, by this thread; :class:`Exhausted` beyond: what bounds a
    computation on floats, at the same place on every machine.

    >>> with at_most(5):
    ...     fitting("when", float, (1,), "a number")
    1.0
    """
    before, CALLS.left = CALLS.left, calls
    try:
        yield
    finally:
        CALLS.left = before


def name_of(f: Any) -> str:
    """Return a function's name, or that of its type.

    >>> import functools
    >>> from engine.compiler import name_of
    >>> name_of(len), name_of(functools.partial(len))
    ('len', 'partial')
    """
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
    Exhausted : functions have been called as often as :func:`at_most` allows
    EngineError : it is no function, takes another number of arguments, or returns what is neither a number nor an array or a table

    >>> fitting("rows", lambda: 1.0, (np.ones(2),), "a row of each table")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    engine.checks.EngineError: ...: rows got the function '<lambda>()'; expected one that takes a row of each table: 1 argument
    """
    if not callable(f):
        raise EngineError(f"{caller} got {kind(f)} in place of a function; expected one that takes {what}")
    if CALLS.left <= 0:
        raise Exhausted
    CALLS.left -= 1
    try:
        found = f(*given)
    except TypeError as error:
        if (signature := refusing(f, given)) is None:
            if caller == "rows" and "not subscriptable" in str(error) and (said := misread(error, given)) is not None:
                raise IndexError(said) from error
            raise
        n = f"{len(given)} argument{'s' * (len(given) != 1)}" if given else "no argument"
        raise EngineError(f"{place_of(f)}{caller} got the function '{name_of(f)}{signature}'; expected one that takes {what}"
                          f"{': ' + n if given else ''}") from error  # fmt: skip
    except (IndexError, ValueError) as error:
        if caller != "rows" or (said := misread(error, given)) is None:
            raise
        raise (IndexError if isinstance(error, IndexError) else EngineError)(said) from error
    for leaf in structure(found)[0]:
        if leaf is None or isinstance(leaf, (str, set)) or callable(leaf):
            missing = "nothing (None), as a function without a return does," if leaf is None else kind(leaf)
            raise EngineError(f"{place_of(f)}{caller} got {missing} from the function '{name_of(f)}'; "
                              "expected numbers, arrays or tables")  # fmt: skip
    return found


def misread(error: Exception, given: tuple[Any, ...]) -> str | None:
    """Return a hint for an error in a line that reads the rows that a function is given: which of them it names, and their columns; None if
    it names none.

    >>> try:
    ...     fitting("rows", lambda r: r[2], (np.ones(2),), "a row of each table")
    ... except IndexError as error:
    ...     "index 2 is out of bounds for axis 0 with size 2" in str(error)
    True
    """
    if not re.search(MISREAD, str(error)):
        return None
    rows = [(k, row) for k, x in enumerate(given) for row in structure(x)[0]]
    trace = error.__traceback__
    for (frame, line), entry in reversed([*zip(traceback.walk_tb(trace), traceback.extract_tb(trace), strict=True)]):
        if str(frame.f_globals.get("__name__", "")).startswith("engine."):
            continue
        text, places = linecache.getline(frame.f_code.co_filename, line), (getattr(entry, "colno", None), getattr(entry, "end_colno", None))
        if None not in places and getattr(entry, "end_lineno", line) == line and "unpack" not in str(error):    # from Python 3.11 on
            text = text.encode()[slice(*places)].decode(errors="replace")
        named = [(name, k, row) for k, row in rows for name, x in frame.f_locals.items() if x is row]
        if not (found := [x for x in named if re.search(rf"\b{re.escape(x[0])}\b", text)]):
            continue
        each = ", and ".join(f"'{name}' is a row of table {k + 1}, {holding(np.shape(row))}" for name, k, row in found)
        what = "it is one number" if "subscriptable" in str(error) or "scalar variable" in str(error) else f"{error}"
        return f"{frame.f_code.co_filename}:{line}: {what}, in `{text.strip()[:60]}`, where {each}"
    return None


def holding(shape: tuple[int, ...]) -> str:
    """Return the columns of a table's rows of a shape, in words.

    >>> holding(()), holding((2,)), holding((3, 3))
    ('(n): one number, without columns', '(n, 2): columns 0 … 1', '(n, 3, 3): an array (3, 3)')
    """
    if not shape:
        return "(n): one number, without columns"
    table = f"(n, {', '.join(map(str, shape))})"
    return f"{table}: columns 0 … {shape[0] - 1}" if len(shape) == 1 else f"{table}: an array {shape}"


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
    """Return the kind of an object in words, for errors."""
    if hasattr(x, "by_rows"):
        return "a table"
    if callable(x):
        return "a function"
    if isinstance(x, (tuple, list, dict, set, np.ndarray)):
        return {"ndarray": "an array"}.get(type(x).__name__, f"a {type(x).__name__}")
    return f"'{x}'" if isinstance(x, str) else "a number" if np.ndim(x) == 0 else f"a {type(x).__name__}"


__all__ = ["Exhausted", "at_most", "fitting", "kind", "name_of", "place_of"]
