"""Loops as C has them, over tables: what is neither a formula nor the same for all rows."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from engine.ops.elementwise import graph_of

Array = np.ndarray
#: how NumPy takes and puts entries
TAKEN, PUT = np.ndarray.__getitem__, np.ndarray.__setitem__


class Running(threading.local):
    """Per-thread flag: the procedure that runs in Python checks its indices."""

    checked = False


RUNNING = Running()


class Checked(np.ndarray):
    """An array of a procedure that runs in Python: its entries are numbered from 0 on, and none from its end, as in machine code."""

    def __getitem__(self, key: Any) -> Any:
        self.require_from_zero(key)
        try:
            return TAKEN(self, key)
        except IndexError:
            self.require_there(key)
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            frame, name = self.place()
            raise ValueError(f"{frame.f_code.co_filename}:{frame.f_lineno}: the procedure '{frame.f_code.co_name}' changes{name}, which it "
                             "was given; expected an array of its own, of floats(n) or ints(n)")  # fmt: skip
        self.require_from_zero(key)
        try:
            PUT(self, key, value)
        except IndexError:
            self.require_there(key)
            raise

    def require_from_zero(self, key: Any) -> None:
        """Refuse numbers below zero: what is beyond the last, NumPy refuses."""
        try:
            if (min(key) if type(key) is tuple else key) < 0:
                self.require_there(key)
        except (TypeError, ValueError):                                        # of slices, and of masks
            self.require_there(key)

    def require_there(self, key: Any) -> None:
        """Refuse what is not there, at the procedure's line."""
        for k, n, what in zip(key if type(key) is tuple else (key,), self.shape, ("row", "column"), strict=False):
            last = k.stop if type(k) is slice else k
            most = n if type(k) is slice else n - 1
            if not isinstance(last, (int, np.integer)) or 0 <= last <= most:
                continue
            frame, name = self.place()
            which, expected = f"{what} {k}" if k is last else f"rows up to {last}", f"0 … {most}" if most >= 0 else "none"
            raise IndexError(f"{frame.f_code.co_filename}:{frame.f_lineno}: the procedure '{frame.f_code.co_name}' asks for {which} of "
                             f"the table{name} of {n} {what}s; expected {expected}")  # fmt: skip


    def place(self) -> tuple[FrameType, str]:
        """Return the procedure's frame, and the array's name in it."""
        frame = sys._getframe()
        while frame.f_code.co_filename == __file__ and frame.f_back is not None:
            frame = frame.f_back
        return frame, next((f" '{name}'" for name, x in frame.f_locals.items() if x is self), "")


def procedure(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A procedure of tables (n) or (n, m) and numbers, to a table or a tuple of tables that it makes; traced, its lines are machine code.

    Its lines are a small part of Python: ``for k in range(…)``, ``while``, ``if``, ``break``, ``continue``; arithmetic, of which ``//`` and
    ``%`` are of whole numbers from 0; comparisons, ``and``, ``or``, ``not``; ``int``, ``float``, ``abs``, ``len``, ``min`` and ``max`` of
    two, ``sqrt``, ``floor``; entries of arrays by whole numbers; arrays of zeros by :func:`floats` and :func:`ints`; other functions of
    such lines, which change arrays or return a number. What is given stays as it is. Every operation rounds by itself, so that machine code
    gives the bits that Python gives. It has no derivatives.

    On floats, an entry that is not there is an IndexError at its line, also where its number is below zero: none is counted from the end.
    Machine code that is made where ``ENGINE_DEBUG`` is 2 or 3 looks too, with what follows of a row that is not there in :func:`gather`;
    else it reads and writes whatever lies there.

    >>> @procedure
    ... def running(x):
    ...     y = floats(len(x))
    ...     total = 0.0
    ...     for k in range(len(x)):
    ...         total += x[k]
    ...         y[k] = total
    ...     return y
    >>> running(np.array([1.0, 2.0, 4.0]))
    array([1., 3., 7.])
    """

    @functools.wraps(fn)
    def called(*arguments: Any) -> Any:
        if (graph := graph_of(*arguments)) is not None:
            return graph.procedure(called, arguments)
        return run_procedure(fn, [np.asarray(x, dtype=float) if np.ndim(x) else float(x) for x in arguments], False)

    return called


def run_procedure(fn: Callable[..., Any], arguments: Sequence[Any], checked: bool) -> Any:
    """A procedure of floats, as Python runs it; the engine's own looks whether entries are there where it is to be ``checked``."""
    before, RUNNING.checked = RUNNING.checked, checked or not str(fn.__module__).startswith("engine.")
    try:
        found = fn(*map(given, arguments))
    finally:
        RUNNING.checked = before
    return tuple(map(plain, found)) if isinstance(found, tuple) else plain(found)


def entries(x: Any) -> Any:
    """An array as a procedure has it."""
    return x.view(Checked) if RUNNING.checked and isinstance(x, np.ndarray) else x


def given(x: Any) -> Any:
    """An array that is not to be changed, as a procedure has it."""
    own = entries(x)
    if isinstance(own, Checked):
        own.flags.writeable = False                                            # of this view alone
    return own


def plain(x: Any) -> Any:
    """An array as one of NumPy's own class."""
    return x.view(np.ndarray) if isinstance(x, Checked) else x


def floats(n: int, columns: int = 0) -> Array:
    """Zeros (n), or (n, columns): an array of a :func:`procedure`.

    >>> import numpy as np
    >>> from engine import ops
    >>> np.asarray(ops.floats(3)), np.asarray(ops.floats(1, 2))
    (array([0., 0., 0.]), array([[0., 0.]]))
    """
    made: Array = entries(np.zeros((size(n), columns) if columns else size(n)))
    return made


def ints(n: int) -> Array:
    """Whole numbers (n), zeros: an array of a :func:`procedure`.

    >>> import numpy as np
    >>> from engine import ops
    >>> np.asarray(ops.ints(3))
    array([0, 0, 0])
    """
    made: Array = entries(np.zeros(size(n), dtype=np.int64))
    return made


def size(n: int) -> int:
    """Return n; refuse a negative number of entries."""
    if n < 0:
        raise ValueError(f"a procedure makes an array of {n} entries; expected a whole number from 0")
    return n


def bit_count(x: int) -> int:
    """Return the number of ones in the binary digits of a whole number from 0, in a :func:`procedure`.

    >>> from engine.ops import bit_count
    >>> bit_count(0b1011)
    3
    """
    return int(x).bit_count()


def lowest_bit(x: int) -> int:
    """Return the place of the lowest one in the binary digits of a whole number from 1, in a :func:`procedure`.

    >>> bit_count(12), lowest_bit(12)
    (2, 2)
    """
    return (int(x) & -int(x)).bit_length() - 1


__all__ = ["bit_count", "floats", "ints", "lowest_bit", "procedure", "run_procedure"]
