"""Tracing: run a NumPy-style function once on symbols and keep the straight-line program it performs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.compiler import debug
from engine.compiler.frontend.patched_functions import as_written
from engine.compiler.graph.expr import SCALAR, Expr, Graph
from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.operations import COMMUTATIVE, Node, operands, renumbered
from engine.compiler.graph.program import Program, Shape, is_table, live, size, verify
from engine.compiler.graph.refusals import TraceError, explained, placed, refuse
from engine.compiler.graph.rewrite import RULES, folded
from engine.compiler.kernels.dense import Dense
from engine.compiler.kernels.lookups import Rows, Search
from engine.compiler.kernels.loop_fusion import fused_loops
from engine.compiler.kernels.philox import Uniform
from engine.compiler.kernels.products import Products
from engine.compiler.kernels.solves import Solves
from engine.compiler.transforms import table
from engine.compiler.transforms.bodies import subroutine
from engine.compiler.transforms.implicit import implicit
from engine.compiler.transforms.loop import branch, while_loop
from engine.compiler.transforms.loop_derivatives import derivatives
from engine.compiler.transforms.parts import body_in_parts, in_parts
from engine.gc_pause import gc_paused
from engine.ops.functions import name_of, place_of
from engine.ops.structure import form, structure

#: kernels by the names that engine.ops has for them
KERNELS: dict[str, Callable[..., Kernel]] = {"dense": Dense, "search": Search, "rows": Rows, "uniform": Uniform,
                                         "solves": Solves, "products": Products}
#: programs of functions that are called within others, by their arguments' shapes
SHARED: weakref.WeakKeyDictionary[Callable[..., Any], dict[Any, tuple[Program, Callable[[list[Any]], Any]]]] = weakref.WeakKeyDictionary()


class Tracer(Graph):
    """The graph of a function that is being traced, with what ``engine.ops`` asks of it beside single operations."""

    def while_loop(self, advance: Callable[[Any], tuple[Any, Any]], x: Any, limit: int, done: Any) -> tuple[Any, Any]:
        """:func:`engine.ops.while_loop` on traced values."""
        return while_loop(self, advance, x, limit, done)

    def when(self, condition: Any, fn: Callable[[], Any], otherwise: Any) -> Any:
        """:func:`engine.ops.when` on a traced condition."""
        return branch(self, fn, otherwise, ops.logical_not(condition))

    def implicit(self, residual: Callable[[Any], Any], x: Any) -> np.ndarray:
        """:func:`engine.ops.implicit` on traced values."""
        return implicit(self, residual, x)

    def rows(self, f: Callable[..., Any], tables: Sequence[Any]) -> Any:
        """:func:`engine.ops.rows` of traced tables and arrays."""
        return table.row_loop(self, f, tables)

    def known_rows(self, f: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
        """:func:`engine.ops.rows` of arrays that are known while it is traced, or None."""
        return table.known_rows(self, f, arrays)

    def table(self, x: Any) -> Any:
        """:func:`engine.ops.table` of a traced array."""
        return table.uncounted(self, x)

    def sized(self, x: Any, n: int) -> Any:
        """:func:`engine.ops.sized` of a traced table."""
        return table.sized(self, x, n)

    def row_numbers(self, x: Any) -> Any:
        """:func:`engine.ops.row_numbers` of a traced table."""
        return table.row_numbers(self, x)

    def gather(self, x: Any, index: Any) -> Any:
        """:func:`engine.ops.gather` of traced tables and arrays."""
        return table.gathered(self, x, index)

    def add_at(self, x: Any, places: Sequence[Any], given: Sequence[Any]) -> Any:
        """:func:`engine.ops.add_at` of traced tables and arrays."""
        return table.added_at(self, x, places, given)

    def total(self, x: Any) -> Any:
        """:func:`engine.ops.total` of a traced table or array."""
        return table.total(self, x)

    def chosen(self, x: Any, truth: Any) -> Any:
        """:func:`engine.ops.chosen` of traced tables and arrays."""
        return table.chosen(self, x, truth)

    def procedure(self, fn: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """:func:`engine.ops.procedure` of traced tables, arrays and numbers."""
        return table.procedure(self, fn, arguments)

    def kernel(self, kind: str, *data: Any) -> Kernel:
        """A kernel by its name."""
        return KERNELS[kind](*data)

    def shared(self, fn: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """:func:`engine.ops.shared` on arguments of which some are traced; a function is traced once for each choice of shapes."""
        leaves, built = structure(tuple(arguments))
        known, shapes = SHARED.setdefault(fn, {}), tuple(table.shape_of(x) for x in leaves)
        key = shapes, form(tuple(arguments))
        if key not in known:
            made: list[Any] = []

            def flat(*own: Any) -> tuple[Any, ...]:
                results, build = structure(fn(*built(list(own))))
                made.append(build)
                return tuple(results)

            flat.__name__ = name_of(fn)
            known[key] = trace(flat, shapes), made[-1]
        program, build = known[key]
        found = calling(program)(*leaves)
        return build([found] if len(program.shapes_out) == 1 else list(found))

    def subroutine(self, fn: Callable[..., Any], arguments: Sequence[Any], made: dict[Any, Any]) -> Any:
        """A call of :func:`engine.ops.subroutine`; ``made`` is what it has been traced to."""
        shapes = tuple(np.shape(a) for a in arguments)
        if (self, shapes) not in made:
            made[self, shapes] = subroutine(self, fn, shapes)
        body, captured, shape = made[self, shapes]
        body = body_in_parts(self, body)
        given = [x for a in arguments for x in np.ravel(np.asarray(a, dtype=object))]
        found = self.call(body, [*given, *(Expr(self, i) for i in captured)])
        return np.array(found, dtype=object).reshape(shape)[()]

    def jacobian(self, results: Any, arguments: Any) -> np.ndarray:
        """∂ results / ∂ arguments, of traced arrays: (*results' shape, *arguments' shape)."""
        return derivatives(self, results, arguments)


class NumericTracer(Tracer):
    """A graph in which what folds to a number stays traced, so that NumPy's arithmetic holds for it: 1/(x − x) is infinite."""

    def make(self, op: str, *operands: Any) -> Any:
        given = [x.known() if type(x) is Expr else x for x in operands]
        result = super().make(op, *given) if any(type(x) is Expr for x in given) else folded(op, *given)
        return result if type(result) is Expr else Expr(self, self.index(result))


@gc_paused()
def trace(fn: Callable[..., Any], shapes: Sequence[Shape], fold: bool = True, named: bool = False, parts: bool = False) -> Program:
    """Return the program of ``fn`` called on arrays of the given shapes (``()`` is a scalar).

    With ``named`` the function returns a dictionary, whose names the program keeps. With ``parts`` what :func:`engine.ops.part` names
    are functions of their own.

    >>> p = trace(lambda x, y: x @ y, [(3,), (3,)])
    >>> p.count(), p.shapes_out
    (5, [()])
    """
    if not debug.level():
        return traced(fn, shapes, fold, named, parts)
    seconds: list[float] = []
    with debug.timed(seconds.append):
        program = traced(fn, shapes, fold, named, parts)
    program.seconds = seconds[0]
    return program


def traced(fn: Callable[..., Any], shapes: Sequence[Shape], fold: bool, named: bool, parts: bool) -> Program:
    """:func:`trace`."""
    try:
        return recorded(Tracer(RULES if fold else {}, parts), fn, shapes, named)
    except Exception as error:
        if not fold or not (isinstance(error, ArithmeticError) or "complex" in str(error)):  # as Python's 1/0, and (−1)^½
            raise
        try:
            return recorded(NumericTracer(RULES, parts), fn, shapes, named)
        except Exception:
            raise error from error.__cause__


def recorded(graph: Tracer, fn: Callable[..., Any], shapes: Sequence[Shape], named: bool) -> Program:
    """Return the program that ``fn`` makes in an empty graph."""
    arguments, k = list[Any](), 0
    for shape in shapes:
        if is_table(shape):
            arguments.append(table.given_table(graph, k, shape))
            k += 1
            continue
        flat = [graph.input(k + j) for j in range(size(shape))]
        k += len(flat)
        arguments.append(np.array(flat, dtype=object).reshape(shape) if shape else flat[0])
    try:
        with np.errstate(all="ignore"):  # rules compare constants, NaN too; what is not finite shows when the program runs
            results = fn(*arguments)
    except Exception as error:
        if isinstance(error, TraceError) and graph.refused in (error, None):
            raise
        if (refusal := graph.refused or explained(error) or placed(error)) is None:
            raise
        raise refusal from error
    if graph.refused is not None:  # something caught it, and went on with what machine code would hold for good
        raise graph.refused
    names = tuple(results) if named else ()
    results = tuple(results.values()) if named else results if isinstance(results, tuple) else (results,)
    returned = [table.returned(r) for r in results]
    scalars = [x for own, _ in returned for x in own]
    for x in scalars:
        if not isinstance(x, SCALAR) or (isinstance(x, Expr) and x.g is not graph):
            what = "a traced value of another function" if isinstance(x, Expr) else f"{type(x).__name__} {x!r}"
            if isinstance(x, table.Table):
                raise TraceError(f"{place_of(fn)}{name_of(fn)} returned a table within a list or an array; expected a table, a tuple "
                                 "of tables, or np.concatenate of them")  # fmt: skip
            raise TraceError(f"{place_of(fn)}{name_of(fn)} returned {what}; expected numbers, or arrays of them")
    nodes, outputs, functions = fused_loops(*live(graph.nodes, [graph.index(x) for x in scalars]), graph.functions)
    program = Program(nodes, outputs, [tuple(s) for s in shapes], [shape for _, shape in returned], functions, name_of(fn))
    program.names, program.arguments = names, words_of(fn, len(shapes))
    return in_parts(program) if graph.parts else program


def words_of(fn: Callable[..., Any], n: int) -> tuple[str, ...]:
    """The names of a function's first n arguments, as far as they are known."""
    method, fn = inspect.ismethod(fn), inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    return code.co_varnames[: code.co_argcount][method:][:n] if code else ()


def pure(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``fn`` with a check: on traced arguments it is called twice, with arrays of its own, and must return the same values.
    What has passed it on arguments of some shapes is called once on others of the same.

    The second time nothing is found of what the first has made, as a branch reads what is there already, and else computes it within. Equal
    computations are then the same nodes under other numbers: what differs depends on something that tracing would freeze.

    >>> dice = iter([1.0, 6.0])
    >>> trace(pure(lambda x: np.array([x, x * next(dice)])), [()])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    engine.compiler.graph.refusals.TraceError: ...<lambda> returned something else when it was called again, first in entry [1]: ...
    """

    passed: set[tuple[Any, ...]] = set()

    @functools.wraps(fn)
    def checked(*args: Any, **named: Any) -> Any:
        if not any(type(x) in (Expr, table.Table) or (isinstance(x, np.ndarray) and x.dtype == object) for x in (*args, *named.values())):
            return fn(*map(own, args), **{name: own(x) for name, x in named.items()})
        graph = ops.graph_of(*args, *named.values())
        start = len(graph.nodes) if graph is not None else 0
        first = as_written(fn, args, named)
        if graph is not None and graph.chains:
            raise TraceError(f"{place_of(fn)}a chain of comparisons in {name_of(fn)}, of which the last is not of traced numbers, cannot "
                             "be compiled: write (a < x) & (x < b)")  # fmt: skip
        shapes = *map(table.shape_of, args), *((name, table.shape_of(x)) for name, x in named.items())
        if shapes in passed:
            return first
        try:
            with contextlib.nullcontext() if graph is None else graph.forgotten(start):
                second = as_written(fn, args, named)
        except TraceError:
            raise
        except Exception as error:
            raise changing(fn, f"raised {type(error).__name__} ({error}) when it was called again") from error
        if (place := difference(first, second, {} if graph is None else values(graph.nodes, start))) is not None:
            where = f", first in entry {place}" if place else ""
            raise changing(fn, f"returned something else when it was called again{where}")
        passed.add(shapes)
        return first

    checked.__name__ = name_of(fn)
    return checked


def changing(fn: Callable[..., Any], what: str) -> TraceError:
    """The error for a function that is not one of its arguments alone."""
    return TraceError(f"{place_of(fn)}{name_of(fn)} {what}: it depends on something that changes from call to call, such as a counter or "
                      "random numbers, which machine code would freeze; expected a function of its arguments alone: give what changes as "
                      "an argument, a parameter, or the state of a Law")  # fmt: skip


def own(x: Any) -> Any:
    """An array copied; anything else as it is."""
    return x.copy() if isinstance(x, np.ndarray) else x


def values(nodes: Sequence[Node], start: int) -> dict[int, int]:
    """Nodes from ``start`` on, and of each the first that is the same operation on the same values."""
    first, same = dict[Node, int](), dict[int, int]()
    for i in range(start, len(nodes)):
        op, *rest = renumbered(nodes[i], {k: same.get(k, k) for k in operands(nodes[i])})
        same[i] = first.setdefault((op, *(sorted(rest) if op in COMMUTATIVE else rest)), i)
    return same


def difference(a: Any, b: Any, same: Mapping[int, int]) -> str | None:
    """Return where two results differ first, as one writes it after a name; None where they do not; equal nodes are the ``same``."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape:
        pairs = enumerate(zip(a.flat, b.flat, strict=True))
        k = next((k for k, (x, y) in pairs if difference(x, y, same) is not None), None)
        return None if k is None else str([int(i) for i in np.unravel_index(k, a.shape)]) if a.ndim else ""
    if type(a) is table.Table and type(b) is table.Table:
        return difference((a.row, a.how, a.handle, a.through), (b.row, b.how, b.handle, b.through), same)
    if type(a) is Expr and type(b) is Expr:
        return None if a.g is b.g and same.get(a.i, a.i) == same.get(b.i, b.i) else ""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        parts = [(f"[{n!r}]", a.get(n), b.get(n)) for n in {**a, **b}]
    elif isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        parts = [(f"[{k}]", x, y) for k, (x, y) in enumerate(itertools.zip_longest(a, b))]
    elif dataclasses.is_dataclass(a) and type(a) is type(b):
        parts = [(f".{f.name}", getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)]
    else:
        return None if a is b or (type(a) is type(b) and repr(a) == repr(b)) else ""  # numbers: NaN is itself, and 0.0 is not −0.0
    return next((place + rest for place, x, y in parts if (rest := difference(x, y, same)) is not None), None)


def calling(program: Program, plain: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function on traced arrays that records a call of ``program``: compiled once, however often it is called. Results that are
    constant are constants to the caller: zeros by structure stay. Without traced arguments it is ``plain``, if that is given.

    >>> import engine
    >>> from engine.compiler import calling
    >>> square = engine.gufunc(lambda x: x * x, "()->()").program
    >>> twice = calling(square, plain=lambda x: x * x)
    >>> float(engine.gufunc(lambda x: twice(x) + twice(2.0 * x), "()->()")(3.0))
    45.0
    """

    def called(*arrays: Any) -> Any:
        graph = ops.graph_of(*arrays)
        if graph is None and plain is not None:
            return plain(*arrays)
        if graph is None:
            raise refuse(f"a call of {program.name} without traced values", "call the function itself")
        if len(arrays) != len(program.shapes_in):
            raise refuse(f"{program.name} of shapes {[*map(table.shape_of, arrays)]}", f"expected {program.shapes_in}")
        given = [table.given(graph, a, is_table(s)) for a, s in zip(arrays, program.shapes_in, strict=True)]
        if [shape for _, shape in given] != program.shapes_in:
            raise refuse(f"{program.name} of shapes {[shape for _, shape in given]}", f"expected {program.shapes_in}")
        scalars = [x for own, _ in given for x in own]
        outputs: dict[int, Any] = {}                                           # equal ones are one value here too
        for i, y in zip(program.outputs, graph.call(program, scalars), strict=True):
            outputs.setdefault(i, program.nodes[i][1] if program.nodes[i][0] == "const" else y)
        flat: np.ndarray = np.array([outputs[i] for i in program.outputs], dtype=object)
        ends = np.cumsum([size(s) for s in program.shapes_out])
        results = [table.Table(graph, part[0], s[1:]) if is_table(s) else part.reshape(s)[()]
                   for part, s in zip(np.split(flat, ends[:-1]), program.shapes_out, strict=True)]  # fmt: skip
        return results[0] if len(results) == 1 else tuple(results)

    return called


__all__ = ["Program", "Shape", "TraceError", "calling", "name_of", "pure", "trace", "verify"]
