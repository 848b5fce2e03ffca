"""Control flow in traced functions: while-loops, branches, called functions and root-finding, each one node of the traced program."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.checks import EngineError, warn
from engine.ops.elementwise import equal, floor, graph_of, logical_and, logical_not, logical_or, maximum, stop_gradient, where
from engine.ops.functions import fitting, kind, place_of
from engine.ops.linear import largest, lu_solve
from engine.ops.structure import alike, describe, structure
from engine.ops.tables import rows

#: passes of a loop that says itself when it ends
MOST = 2**53
#: passes from which on it is looked whether anything goes on
LONG = 2**20
#: a part of a computation that nobody profiles
NOTHING = contextlib.nullcontext()


def while_loop(advance: Callable[[Any], tuple[Any, Any]], x: Any, limit: int, done: Any = False) -> tuple[Any, Any]:
    """``x, done = advance(x)`` until ``done``, at most ``limit`` times; returns the last x, and whether it was done.

    x is an array, a table, or a tuple, a named tuple or a dictionary of such, which ``advance`` returns as it was given.
    Traced, it is one loop in the machine code, in which every sample of a batch stops by itself. Its derivatives are those of the passes
    that it takes: forward in one loop more; backward, where it carries many numbers or tables, from the last pass to the first, each begun
    anew, in a time that grows with the square of their number. Of what is found by iteration, :func:`root` has them by one solution.

    A comparison with NaN is false, so that a loop whose values become NaN goes on to its limit, and is not done; with a limit of more than
    2²⁰ passes it ends, with the same result, when all values are as they were before the pass, and one is NaN (where none is a table).

    Warns
    -----
    EngineWarning : on floats, a loop ends with NaN, and is not done

    >>> x, done = while_loop(lambda x: (0.5 * (x + 2.0 / x), abs(x * x - 2.0) < 1e-8), 1.0, 20)
    >>> bool(done), round(float(x), 12)
    (True, 1.414213562373)
    """
    advance = of_two(advance)
    if graph_of(limit) is not None:
        raise graph_of(limit).refuse("a limit of while_loop that is traced", "give a number, and let the function compare what it counts")
    if limit > LONG:
        (y, stuck), now = passes(stopping(advance), (x, logical_not(logical_or(done, True))), limit, done)
        now = logical_and(now, logical_not(stuck))
    else:
        y, now = passes(advance, x, limit, done)
    leaves = structure(y)[0]
    own = str(getattr(advance, "__module__", "")).startswith("engine.")        # that knows what it does
    if not own and graph_of(*leaves, now) is None and not np.all(now) and any(np.isnan(leaf).any() for leaf in leaves):
        warn(f"while_loop of '{getattr(advance, '__name__', advance)}' is not done: its values are NaN, and no comparison with NaN is "
             f"true, so that it goes on to its limit of {limit} passes; expected values that stay numbers")  # fmt: skip
    return y, now


def of_two(advance: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], tuple[Any, Any]]:
    """A loop's function, which is looked at for what it returns."""

    @functools.wraps(advance)
    def called(x: Any) -> tuple[Any, Any]:
        found = fitting("while_loop", advance, (x,), "x")
        if not isinstance(found, tuple) or len(found) != 2:
            raise EngineError(f"{place_of(advance)}while_loop of '{getattr(advance, '__name__', advance)}' got {describe(found)} from it; "
                              "expected two: x, and whether it is done")  # fmt: skip
        return found

    return called if callable(advance) else fitting("while_loop", advance, (), "x")


def stopping(advance: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], tuple[Any, Any]]:
    """A loop's function, of values and of whether they are stuck: not done, with NaN, and as before, so that they stay so for ever."""

    def once(s: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        after, done = advance(s[0])
        pairs = [*zip(structure(s[0])[0], alike(s[0], after), strict=True)]
        if any(hasattr(b, "by_rows") or np.shape(a) != np.shape(b) for a, b in pairs):
            return (after, s[1]), done
        if not np.ndim(done):
            pairs = [pair for a, b in pairs for pair in zip(np.ravel(a), np.ravel(b), strict=True)]
        is_nan = [logical_not(equal(b, b)) for _, b in pairs]
        same = [logical_or(equal(a, b), logical_and(nan, logical_not(equal(a, a)))) for (a, b), nan in zip(pairs, is_nan, strict=True)]
        stuck = functools.reduce(logical_and, [*same, functools.reduce(logical_or, is_nan, False)], logical_not(done))
        return (after, stuck), logical_or(done, stuck)

    return once


def passes(advance: Callable[[Any], tuple[Any, Any]], x: Any, limit: int, done: Any = False) -> tuple[Any, Any]:
    """:func:`while_loop`, of whatever comes."""
    leaves, built = structure(x)
    leaves = [leaf if hasattr(leaf, "by_rows") else np.asarray(leaf)[()] for leaf in leaves]
    limit = min(limit, MOST)
    for _ in range(limit):
        if graph_of(done) is None and np.all(done):
            break
        if (graph := graph_of(*leaves, done)) is None:
            after, now = advance(built(leaves))
            own = alike(x, after)
            graph = graph_of(*own, now)                                        # what it reads from outside may be traced
        if graph is not None:
            return graph.while_loop(advance, built(leaves), limit, done)
        leaves = [where(done, a, b) if np.shape(a) == np.shape(b) else b for a, b in zip(leaves, own, strict=True)]   # rows come and go
        done = logical_or(done, now)
    return built(leaves), done


def each(f: Callable[[Any, Any], Any], n: Any, x: Any) -> Any:
    """``x = f(k, x)`` for k = 0, 1, … n − 1, one after another: returns the last x.

    Parameters
    ----------
    f : of k, a whole number as a float, and of x; returns another x
    n : a whole number from 0, known or traced, such as how many rows a table has; of another that is traced the result is NaN
    x : an array, a table, or a tuple, a named tuple or a dictionary of such, as of :func:`while_loop`, whose derivatives are as here

    >>> steps = np.array([1.0, 2.0, 4.0])
    >>> each(lambda k, x: 0.5 * x + steps[int(k)], 3, 0.0)                      # traced: engine.ops.gather(steps, k)
    np.float64(5.25)
    """
    if callable(n) or hasattr(n, "by_rows"):
        raise EngineError(f"each got {kind(n)} for n; expected a whole number from 0, such as table.shape[0], as in each(f, n, x)")
    if graph_of(n) is None and (np.ndim(n) or not float(n).is_integer() or n < 0):
        raise EngineError(f"each got n = {n!r}; expected a whole number from 0")

    def advance(s: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        return (s[0] + 1.0, fitting("each", f, s, "k and x")), s[0] + 1.0 >= n

    if graph_of(n) is None:
        return passes(advance, (0.0, x), MOST, n <= 0)[0][1]
    whole = logical_and(equal(floor(n), n), logical_and(n >= 0.0, n < float(MOST)))
    leaves, built = structure(passes(advance, (0.0, x), MOST, logical_not(logical_and(whole, n > 0.0)))[0][1])
    return built([rows(lambda y: where(whole, y, np.nan), y) if hasattr(y, "by_rows") else where(whole, y, np.nan) for y in leaves])


def when(condition: Any, fn: Callable[[], Any], otherwise: Any) -> Any:
    """``fn()`` where a truth holds, else ``otherwise``: an array of the same shape, or a structure of arrays and tables as it returns.

    Unlike :func:`where`, it does not compute what is not wanted: traced, it is a branch in the machine code. Derivatives pass.

    >>> when(False, lambda: sqrt(np.array([-1.0, 4.0])), np.zeros(2))
    array([0., 0.])
    """
    if hasattr(condition, "by_rows"):
        raise condition.g.refuse("a branch on a table of truths", "use engine.ops.where(condition, a, b), which decides row by row")
    if isinstance(condition, (bool, np.bool_)):
        if condition:
            return fitting("when", fn, (), "no argument")
        return otherwise if isinstance(otherwise, (tuple, dict)) else np.array(otherwise)
    called = functools.wraps(fn)(lambda: fitting("when", fn, (), "no argument"))            # under the name of what it does
    if (graph := graph_of(condition)) is not None:
        return graph.when(condition, called, otherwise)
    once = functools.wraps(fn)(lambda _: (called(), True))
    return passes(once, otherwise, 1, logical_not(condition))[0]


def part(name: str, *values: Any) -> contextlib.AbstractContextManager[None]:
    """Name a part of a computation with arrays or tables, for whoever profiles it: what is computed within is the same with it and without.

    >>> x = np.array([3.0, 4.0])
    >>> with part("length", x):
    ...     length = np.sqrt(x @ x)
    >>> float(length)
    5.0
    """
    for x in values:
        if (type(x) is not np.ndarray or x.dtype == object) and (graph := graph_of(x)) is not None:
            part: contextlib.AbstractContextManager[None] = graph.part(name)
            return part
    return NOTHING


def shared(fn: Callable[..., Any], *arguments: Any) -> Any:
    """``fn(*arguments)``; traced, it is compiled once, and called wherever the same function is shared again.

    The function depends on its arguments alone, and stays alive.

    >>> float(shared(np.dot, np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    graph = graph_of(*arguments)
    return fn(*arguments) if graph is None else graph.shared(fn, arguments)


def subroutine(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn``, of arrays, to an array; traced, it is compiled once, with what it reads from outside, however often it is called.

    Unlike that of :func:`shared` it may read what the function around it has traced, and lives as long as that.

    >>> a = np.array([1.0, 2.0])
    >>> scaled = subroutine(lambda x: a * x)
    >>> scaled(2.0)
    array([2., 4.])
    """
    made: dict[Any, Any] = {}

    @functools.wraps(fn)
    def called(*arguments: Any) -> Any:
        graph = graph_of(*arguments)
        return fn(*arguments) if graph is None else graph.subroutine(fn, arguments, made)

    return called


def jacobian(fn: Callable[[Any], Any], x: Any) -> np.ndarray:
    """∂fn/∂x of a vector function at x (n): exact on traced values that are independent of each other, on floats by central differences
    (to about 1e-10 of fn's size: enough for :func:`root`).

    >>> import numpy as np
    >>> from engine import ops
    >>> ops.jacobian(lambda x: np.array([x[0] * x[1]]), np.array([2.0, 3.0])).round(6)
    array([[3., 2.]])
    """
    if (graph := graph_of(x)) is not None:
        return graph.jacobian(fn(x), x)
    h = 6e-6 * (1.0 + np.abs(x))
    columns = [(fn(x + h[i] * e) - fn(x - h[i] * e)) / (2.0 * h[i]) for i, e in enumerate(np.eye(len(x)))]
    return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(fn(x)), 0))


def root(residual: Callable[[Any], Any], x: Any, derivative: Callable[[Any], Any] | None = None, tolerance: float = 1e-8,
         limit: int = 12) -> tuple[Any, Any]:  # fmt: skip
    """x (n) with ``residual(x) = 0`` near the guess x, by Newton's method; returns x, and whether it converged.

    A step of relative size ``tolerance`` or less is the last but one: the last makes it as exact as the residual, and carries the
    derivatives of x, exact by the implicit function theorem (first derivatives: of a derivative it counts as constant).

    Parameters
    ----------
    derivative : ∂residual/∂x (n×n); by default that of :func:`jacobian`

    >>> x, converged = root(lambda x: x * x - np.array([2.0, 9.0]), np.array([1.0, 1.0]))
    >>> bool(converged), x.round(12)
    (True, array([1.41421356, 3.        ]))
    """
    A = derivative or (lambda x: jacobian(residual, x))

    def advance(x: Any) -> tuple[Any, Any]:
        d = lu_solve(A(x), residual(x))
        return x - d, largest(d) <= maximum(tolerance * largest(x), 1e-60)     # a root at 0 is approached without end

    x, converged = while_loop(advance, x, limit)
    x = stop_gradient(x)
    return x - lu_solve(A(x), residual(x)), converged


def implicit(residual: Callable[[Any], Any], x: Any) -> Any:
    """x (n), found in whatever way, as the root of ``residual(x)`` (n): the same numbers, with the derivatives of a root.

    By the implicit function theorem. It costs nothing where no derivative is asked for. ∂residual/∂x is
    decomposed without pivoting (:func:`lu_solve`).

    >>> import engine
    >>> def root_of(a):
    ...     x, _ = while_loop(lambda x: (x - (x @ x - a) / (2.0 * x[0]), False), np.array([1.0]), 8)
    ...     return implicit(lambda x: x * x - a, x)[0]
    >>> float(engine.gradient(root_of)(4.0))
    0.25
    """
    return graph.implicit(residual, x) if (graph := graph_of(x)) is not None else x


def poisoned(sound: Sequence[Any], results: Any) -> Any:
    """Return the results with NaN for one number, not zero by structure, where a traced truth is false: machine code cannot raise."""
    if not sound:
        return results
    arrays = [np.array(r, dtype=object) for r in (results if isinstance(results, tuple) else (results,))]
    places = [(a.reshape(-1), k) for a in arrays for k in range(a.size)]
    if places:
        a, k = next(((a, k) for a, k in places if hasattr(a[k], "g") or a[k]), places[0])
        a[k] = where(functools.reduce(logical_and, sound), a[k], np.nan)
    return tuple(arrays) if isinstance(results, tuple) else arrays[0]
