"""Errors of tracing: the user's line where something cannot be traced.

The texts, and what to use instead, stand where it is refused, as for ``if`` in ``Expr.__bool__`` of :mod:`engine.compiler.graph.expr`,
and on a table in ``Table.__bool__`` of :mod:`engine.compiler.transforms.table`.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import numpy as np

from engine.checks import EngineError

#: a frame of a stack, its line, and how far its code had come
Frame = tuple[FrameType, int, int]

#: a comparison that may stand in another call
CONDITION = r"[\w\s.\[\]+\-*/]+([<>]=?|==)[\w\s.\[\]+\-*/<>=]+"
#: what to use instead of other libraries, by their names
CONVERTERS = {
    "scipy.interpolate": "use engine.ops.spline(curve)(x), made of it, or engine.ops.interp",
    "scipy.spatial.transform": "use R.as_matrix() @ x of a rotation that is known, engine.spatial.so3 and quaternion of others",
}
#: what else to write where a whole number was asked for, by the expression
WHOLE = {
    r"range\(": "engine.ops.each(f, n, x) counts as far as a traced number says",
    r"(np|numpy)\.(zeros|empty|ones|full)\(": "np.zeros_like(table) has as many rows as a table",
    r"(np|numpy)\.arange\(": "engine.ops.row_numbers(table) are as many as a table's rows",
    r"int\(": "engine.ops.floor(x) is a whole number",
    r"[\w.]+(\(.*\))?\[.*\]$": "engine.ops.gather(table, k) takes a row by a traced number",
}
OTHERWISE = ("traced values are no floats; use engine.ops, or run the function as plain Python (compiled=False, or a controller as "
             "engine.Law(..., period=..., python=True))")  # fmt: skip


class TraceError(EngineError):
    """A function did something with a traced value that a straight-line program cannot do.

    >>> import engine
    >>> try:
    ...     engine.gufunc(lambda x: x if x > 0 else -x, "()->()")(2.0)
    ... except engine.TraceError as error:
    ...     print(str(error).partition("cannot be compiled: ")[2])
    use engine.ops.where(condition, a, b), and & | ~ between conditions
    """


class ArgumentError(EngineError):
    """An argument of a compiled function has the wrong shape, type or value; the text says which and what was expected.

    >>> import engine
    >>> engine.set_threads(0)
    Traceback (most recent call last):
    ...
    engine.compiler.graph.refusals.ArgumentError: set_threads got 0; expected a whole number of threads from 1
    """


def refuse(what: str, instead: str, known: bool = False, whole: bool = False) -> TraceError:
    """Return the error for something untraceable that is being done right now."""
    return located(((f, line, f.f_lasti) for f, line in traceback.walk_stack(sys._getframe(1))), what, instead, known, whole)


def users_place() -> str:
    """Return the file and line where the user's function stands now, as errors begin; "" outside of one."""
    user = users((f, line, f.f_lasti) for f, line in traceback.walk_stack(sys._getframe(1)))
    return f"{user[0].f_code.co_filename}:{user[1]}: " if user else ""


def located(frames: Iterable[Frame], what: str, instead: str, known: bool = False, whole: bool = False) -> TraceError:
    """Return the error for something untraceable, with the user's line and the expression there; if ``known``, it is a condition, if
    ``whole``, it was to be a whole number."""
    frames = list(frames)
    user = users(frames)
    inner = frames[: frames.index(user)] if user else frames
    linear = [f.f_code.co_name for f, *_ in inner if f.f_globals.get("__name__", "").startswith("numpy.linalg")]
    if linear:
        what, instead = f"np.linalg.{linear[-1]} of traced values", "use engine.ops.solve, or write it out over the entries"
    elif user and (text := expression(user)):
        what = f"{what}, in `{text}`,"
        instead += next((f"; {how}" for pattern, how in WHOLE.items() if (whole or known) and re.match(pattern, text)), "")
        if known and re.fullmatch(CONDITION, text) and not re.search(r"\b(and|or|not|if|in)\b", text):
            instead = instead.replace("condition", text, 1)
    place = f"{user[0].f_code.co_filename}:{user[1]}: " if user else ""
    return TraceError(f"{place}{what} cannot be compiled: {instead}")


def unknown(name: str) -> tuple[str, str]:
    """Return the error text for a NumPy function that traced values do not support, and what to do instead."""
    return f"np.{name} of an array with traced values", "write it out over the entries; engine.ops has what compiles"


def users(frames: Iterable[Frame]) -> Frame | None:
    """Return the innermost frame of the user's: in no library, or, where the function that is traced is in one, not in this engine or
    NumPy."""
    frames = list(frames)
    inside = list(itertools.takewhile(lambda f: f[0].f_globals.get("__name__") != "engine.compiler.transforms.trace", frames))
    own = [f for f in inside if not is_library(f[0])] or [f for f in (*inside, *frames) if not is_ours(f[0]) and not decorates(f[0])]
    return own[0] if own else None


def decorates(frame: FrameType) -> bool:
    """Return whether a frame is of ``contextlib`` or ``functools``, through which the engine's functions are called."""
    return frame.f_globals.get("__name__") in ("contextlib", "functools")


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is of this engine, NumPy or SciPy."""
    return computes(frame.f_globals.get("__name__", ""))


@functools.cache
def computes(module: str) -> bool:
    """Return whether a module is of this engine, NumPy or SciPy."""
    return re.match(r"(engine|numpy|scipy)(\.|$)", module) is not None


def is_installed(names: dict[str, Any]) -> bool:
    """Return whether a module, given by its globals, is of this engine, an installed package or the standard library."""
    name, file = str(names.get("__name__", "__main__")), str(names.get("__file__", ""))
    first = name.split(".")[0]
    if not names or first in ("engine", "numpy", "scipy") or (first != "__main__" and first in sys.stdlib_module_names):
        return True
    return re.search(r"[/\\](site|dist)-packages[/\\]", file) is not None


def is_library(frame: FrameType) -> bool:
    """Return whether a frame is of this engine, an installed package or the standard library."""
    if is_ours(frame) or frame.f_globals.get("__name__", "").split(".")[0] in sys.stdlib_module_names:
        return True
    return re.search(r"[/\\](site|dist)-packages[/\\]", frame.f_code.co_filename) is not None


def expression(frame: Frame) -> str:
    """Return the text of the expression that a frame is at; nothing where Python (3.10) or the source does not tell."""
    code, lasti = frame[0].f_code, frame[2]
    positions: Callable[[], Iterable[Any]] | None = getattr(code, "co_positions", None)
    if positions is None or lasti < 0:
        return ""
    first, last, start, end = next(itertools.islice(positions(), lasti // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [linecache.getline(code.co_filename, k, frame[0].f_globals).encode() for k in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    text = " ".join(b" ".join(lines).decode(errors="replace").split())
    return text if len(text) <= 60 else text[:59] + "…"


def explained(error: Exception) -> TraceError | None:
    """Translate an error of NumPy or another library about traced values into the terms of this engine; None if it is the user's own.

    The user's own are those that a wrong program raises on floats too: a name that is not defined, shapes that do not match.
    """
    text = " ".join(str(error).split())
    frames = [(t.tb_frame, t.tb_lineno, t.tb_lasti) for t in chain(error)][::-1]
    function = re.search(r"no callable (\w+) method|ufunc '(\w+)' not supported|object has no attribute '(\w+)'", text)
    name = next(filter(None, function.groups())) if function else ""
    if isinstance(error, (TypeError, AttributeError)):
        if isinstance(getattr(np, name, None), np.ufunc):
            return located(frames, *unknown(name))
        if "output from dtype('O')" in text:
            return located(frames, "writing traced values into a float array", "make a new array, as in a = a + b or np.array([...])")
        if any(sign in text for sign in ("Expr", "dtype('O')", "array type object", "not supported for the input types")):
            return located(frames, f"this operation ({text})", "see engine.ops for those that can")
    if isinstance(error, IndexError) and "used as indices must be of integer" in text:
        return located(frames, f"indexing by traced values, or by floats ({text})", "index by structure, or use np.take(table, k)")
    if isinstance(error, KeyError) and any(is_traced(x) for x in error.args):
        return located(frames, "a lookup by a traced value", "look up by structure; engine.ops.interp looks up tables")
    if (user := users(frames)) is not None and (library := guilty(error, text, frames[: frames.index(user)])):
        short = text if len(text) <= 160 else text[:159] + "…"
        what = f"in {user[0].f_code.co_name}, a call of {library} with traced values ({type(error).__name__}: {short})"
        return located(frames, what, next((text for name, text in CONVERTERS.items() if library.startswith(name)), OTHERWISE))
    return None


def placed(error: Exception) -> EngineError | None:
    """Put the user's line before an error of ``engine.ops``; None if it is another error, or begins with a line."""
    frames = [(t.tb_frame, t.tb_lineno, t.tb_lasti) for t in chain(error)][::-1]
    raised = str(frames[0][0].f_globals.get("__name__", ""))
    if type(error) is not EngineError or not raised.startswith("engine.ops.") or re.match(r".*:\d+: ", str(error)):
        return None
    user = users(frames)
    return EngineError(f"{user[0].f_code.co_filename}:{user[1]}: {error}") if user else None


def chain(error: Exception) -> list[Any]:
    """The entries of an error's traceback, outermost first."""
    entries, t = [], error.__traceback__
    while t is not None:
        entries.append(t)
        t = t.tb_next
    return entries


def guilty(error: Exception, text: str, inner: list[Frame]) -> str:
    """Return the name of the library that failed on traced values, by the frames within the user's; "" if none did."""
    for frame, *_ in reversed(inner):                                          # the outermost is the one that the user called
        if is_library(frame) and not re.match(r"(engine|numpy)(\.|$)", frame.f_globals.get("__name__", "")):
            inside = any(is_traced(x) for f, *_ in inner for x in f.f_locals.values())
            return f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}" if inside else ""
    kind = type(error).__module__.split(".")[0]
    if kind not in sys.modules or "incompatible function arguments" in text:   # of C++: Boost.Python's, pybind11's and nanobind's
        return "a function of C++"
    return ""


def is_traced(x: Any) -> bool:
    """Return whether a value is traced, or holds traced values."""
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object):
        return any(is_traced(y) for y in (x.flat if isinstance(x, np.ndarray) else x))
    return type(x).__module__ == "engine.compiler.graph.expr"
