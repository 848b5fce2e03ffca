"""Tables, arrays whose number of rows is known only at run time, and loops over their rows.

On floats a table is an array (n, …). Traced, it is memory with a count: one loop in machine code, its rows in the lanes of vectors, in
place of n copies of what is done to each.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import asarray, stack, zeros

from engine.checks import EngineError
from engine.ops.elementwise import USERS, graph_of
from engine.ops.functions import fitting, kind
from engine.ops.structure import structure

Array = np.ndarray
#: sums that a total has, whatever the width of vectors: row k goes to the one numbered k modulo 8
PARTS = 8
#: operations on rows that are known while a function is traced: so many are written out, as a straight line, which batches have in lanes
WRITTEN_OUT = 2000


class Imagined(threading.local):
    """Per-thread flag: a function is called on a row of zeros, to learn the shape of its results for an empty table."""

    now = False


IMAGINED = Imagined()


def rows(f: Callable[..., Any], *tables: Any) -> Any:
    """Return ``f`` of each row of the tables.

    Parameters
    ----------
    f : a function of a row of each table, to an array (m…), or to a tuple, a named tuple or a dictionary of arrays; what it reads besides
        is the same for all rows
    tables : (n, …) each, or a tuple, a named tuple or a dictionary of such, of which ``f`` gets one of rows

    Returns
    -------
    (n, m…), or a structure of them as ``f`` returns. Of traced arrays of a few rows an array, else a table

    Raises
    ------
    EngineError : there is no table, or they have different numbers of rows

    Examples
    --------
    >>> rows(lambda x, y: x @ y, np.ones((3, 2)), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([ 3.,  7., 11.])
    >>> rows(lambda s: {"sum": s["a"] + s["b"]}, {"a": np.ones(2), "b": np.array([1.0, 2.0])})
    {'sum': array([2., 3.])}
    """
    leaves, given = structure(tables)
    for t in leaves:
        if callable(t) or isinstance(t, str):
            raise EngineError(f"rows got {kind(t)} in place of a table; expected rows(f, table, …)")
    built: list[Callable[[list[Any]], Any]] = []

    def one(*row: Any) -> Any:
        found = fitting("rows", f, given([*row]), "a row of each table")
        own, build = structure(found)
        built.append(build)
        return tuple(own) if isinstance(found, (tuple, dict)) else found

    if (graph := graph_of(*leaves)) is not None:
        made = graph.rows(functools.wraps(f)(one) if callable(f) else one, leaves)
    else:
        arrays = [asarray(t) for t in leaves]
        made = each_row(one, arrays) if (loop := of_known_rows(one, arrays)) is None else loop
    return built[0]([*made]) if isinstance(made, tuple) else made


def each_row(f: Callable[..., Any], arrays: list[Array]) -> Any:
    """``f`` of each row of arrays, to an array or a tuple of arrays."""
    n = common_count([len(a) if a.ndim else -1 for a in arrays])
    each = [f(*row) for row in zip(*arrays, strict=True)]
    if not n:
        before, IMAGINED.now = IMAGINED.now, True
        try:
            with np.errstate(all="ignore"):
                each = [f(*(zeros(a.shape[1:]) for a in arrays))]
        finally:
            IMAGINED.now = before
    if isinstance(each[0], tuple):
        return tuple(stack(column)[:n] for column in zip(*each, strict=True))
    return stack(each)[:n]


def of_known_rows(f: Callable[..., Any], arrays: list[Array]) -> Any:
    """``f`` of each row of arrays whose numbers are known while a function is traced, as a loop: if what it makes of the first is traced,
    and of all would be many operations. Else, and where it looks at these numbers, None: then each row is written out."""
    graph, n = USERS.graph, common_count([len(a) if a.ndim else -1 for a in arrays])
    if graph is None or n <= PARTS or any(a.dtype.kind not in "fiu" for a in arrays):
        return None
    before = len(graph.nodes)
    first = f(*(a[0] for a in arrays))
    if graph_of(*(first if isinstance(first, tuple) else (first,))) is not graph or n * (len(graph.nodes) - before) <= WRITTEN_OUT:
        return None
    return graph.known_rows(f, arrays)


def common_count(counts: list[int]) -> int:
    """Return the number of rows that all have; a number, which has none, counts as −1."""
    if not counts:
        raise EngineError("rows got no table; expected one at least")
    if -1 in counts:
        raise EngineError("a number in place of a table; expected an array (n, …)")
    if len(set(counts)) > 1:
        raise EngineError(f"tables of {', '.join(map(str, counts))} rows go together; expected as many in each")
    return counts[0]


def table(x: Any) -> Any:
    """Return an array (n, …) as a table, which says how many rows it has when the program runs: traced, it goes through calls, branches
    and loops as one number, however many it holds. :func:`sized` gives the array back.

    >>> table(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    return asarray(x) if (graph := graph_of(x)) is None else graph.table(x)


def sized(table: Any, n: int) -> Any:
    """Return the rows of a table that has n as an array (n, …).

    Raises
    ------
    EngineError : it has another number of rows; within a simulation the result is NaN, which ends it

    >>> sized(chosen(np.array([1.0, -2.0, 3.0]), np.array([True, False, True])), 2)
    array([1., 3.])
    """
    if (graph := graph_of(table)) is not None:
        return graph.sized(table, n)
    common_count([len(table), n])
    return asarray(table)


def row_numbers(table: Any) -> Any:
    """Return the numbers 0, 1, … of a table's rows, (n).

    >>> row_numbers(np.ones((3, 2)))
    array([0., 1., 2.])
    """
    require_table("row_numbers", table)
    graph = graph_of(table)
    return np.arange(float(len(table))) if graph is None else graph.row_numbers(table)


def gather(table: Any, index: Any) -> Any:
    """Return rows of a table (n, …) by their numbers (k), whole numbers as floats or integers: (k, …); by one number, that row (…).

    Raises
    ------
    IndexError : a number is not that of a row; within a simulation the result is NaN, which ends it

    >>> gather(np.array([10.0, 20.0, 30.0]), [2, 0])
    array([30., 10.])
    """
    require_table("gather", table)
    if (graph := graph_of(table, index)) is not None:
        return graph.gather(table, index)
    if IMAGINED.now and not len(table):
        return zeros((*np.shape(index), *np.shape(table)[1:]))
    return asarray(table)[indices_of_rows(index, len(table))]


def indices_of_rows(index: Any, n: int) -> Array:
    """Return numbers of rows, of which there are n, as integers."""
    k = asarray(index)
    if k.dtype == bool:
        raise IndexError("row numbers are truths; expected whole numbers, or engine.ops.chosen(table, truths)")
    if k.dtype.kind == "f" and not (k == np.floor(k)).all():
        raise IndexError(f"row {k[k != np.floor(k)].flat[0]:g} of a table; expected whole numbers")
    if k.size and not ((k >= 0) & (k < n)).all():
        there = f"0 … {n - 1}" if n else "none"
        raise IndexError(f"row {k[(k < 0) | (k >= n)].flat[0]:g} of a table of {n} rows; expected {there}")
    return k.astype(np.int64)


def add_at(table: Any, index: Any, more: Any) -> Any:
    """Return a table (n, …) with rows added to those of some numbers: row after row, what comes first is added first.

    Parameters
    ----------
    table : (n, …)
    index : (k), numbers of the table's rows, or one number; or a tuple of several such
    more : (k, …), what is added there, or one row (…); or a tuple of as many. Of the same row, the first of the tuple comes first

    Raises
    ------
    IndexError : a number is not that of a row; within a simulation the result is NaN, which ends it

    Examples
    --------
    >>> add_at(np.zeros(3), [0, 2, 0], np.array([1.0, 2.0, 3.0]))
    array([4., 0., 2.])
    """
    places, given = (index, more) if isinstance(index, tuple) else ((index,), (more,))
    if not places:
        raise EngineError("add_at got no row numbers; expected those of one place at least")
    if hasattr(given, "by_rows") or len(given) != len(places):
        raise EngineError(f"add_at got {len(places)} places, and {kind(given)} to add; expected a tuple of as many")
    if all(is_number(i) for i in places):
        places, given = tuple(asarray([i]) for i in places), tuple(asarray(y)[None] for y in given)
    require_table("add_at", table)
    if (graph := graph_of(table, *places, *given)) is not None:
        return graph.add_at(table, places, given)
    result = np.array(table, dtype=float)
    for i, y in zip(places, given, strict=True):
        if np.shape(y) != (expected := (*np.shape(i), *result.shape[1:])):
            raise EngineError(f"rows {listed(np.shape(y))} added at {listed(np.shape(i))} places of a table {listed(result.shape)}; "
                              f"expected {listed(expected)}")  # fmt: skip
    k = stack([indices_of_rows(i, len(result)) for i in places], axis=1)
    np.add.at(result, k.ravel(), stack([asarray(y) for y in given], axis=1).reshape(k.size, *result.shape[1:]))
    return result


def is_number(x: Any) -> bool:
    """Return whether something is one number, traced or not: no array and no table."""
    return not hasattr(x, "by_rows") and np.ndim(x) == 0


def require_table(caller: str, table: Any) -> None:
    """Refuse a number in place of a table."""
    if is_number(table):
        raise EngineError(f"{caller} got {kind(table)}; expected a table, or an array (n, …)")


def listed(shape: tuple[int, ...]) -> str:
    """A shape in words.

    >>> listed((3,)), listed((3, 2))
    ('(3)', '(3, 2)')
    """
    return f"({', '.join(map(str, shape))})"


def total(table: Any) -> Any:
    """Return the sum of a table's rows: of eight partial sums, row k to the one numbered k modulo 8, the second half to the first.

    >>> total(np.arange(10.0))
    np.float64(45.0)
    """
    if is_number(table) or isinstance(table, (tuple, dict)):
        raise EngineError(f"total got {kind(table)}; expected one table, or an array (n, …)")
    if (graph := graph_of(table)) is not None:
        return graph.total(table)
    x = asarray(table, dtype=float)
    parts = zeros((PARTS, *x.shape[1:]))
    for k in range(0, len(x), PARTS):
        parts[: len(x) - k] += x[k : k + PARTS]
    while len(parts) > 1:
        parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
    return parts[0]


#: what numbers are not
TRUTHS_EXPECTED = "truths, such as x > 0.0; rows of these numbers are engine.ops.gather(table, numbers)"


def chosen(table: Any, truth: Any) -> Any:
    """Return the rows of a table (n, …) where a truth (n) holds, in their order.

    Raises
    ------
    EngineError : numbers in place of truths, or not one of each row

    >>> chosen(np.array([1.0, -2.0, 3.0]), np.array([True, False, True]))
    array([1., 3.])
    """
    require_table("chosen", table)
    if (graph := graph_of(table, truth)) is not None:
        return graph.chosen(table, truth)
    c = asarray(truth)
    if c.ndim != 1:
        raise EngineError(f"chosen got truths of the shape {c.shape}; expected (n): a truth a row")
    if len(c) != len(table):
        raise EngineError(f"chosen got {len(c)} truths of a table of {len(table)} rows; expected one of each")
    if c.dtype.kind != "b" and not all(isinstance(x, (bool, np.bool_)) for x in c):
        raise EngineError(f"chosen got numbers; expected {TRUTHS_EXPECTED}")
    return asarray(table)[c.astype(bool)]


__all__ = ["add_at", "chosen", "gather", "row_numbers", "rows", "sized", "table", "total"]
