"""Traced tables: handles in a graph, with what :mod:`engine.ops.tables` asks of a tracer.

A table is memory, rows of numbers, of which there are as many as its descriptor says when the program runs. In the graph it is one number,
its descriptor's address, of which nothing is asked but by loops over rows (:mod:`engine.compiler.kernels.row_loop`) and by what passes
between tables and numbers (:mod:`engine.compiler.kernels.stacks`); so it goes through calls, branches and loops as numbers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from engine import ops
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.program import COUNTED, Shape, of_rows, size
from engine.compiler.graph.refusals import users_place
from engine.compiler.kernels.picks import IDLE, Pick
from engine.compiler.kernels.procedure import NUMBER, PLAIN, Procedure
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.kernels.row_sources_sinks import Sink, Source
from engine.compiler.kernels.stacks import Concatenated, Constants, Cut, Stack, Unstack
from engine.compiler.transforms.bodies import columns_of, extracted, scope_of
from engine.compiler.transforms.table_hints import OR_SIZE, instead_of
from engine.ops.elementwise import USERS
from engine.ops.tables import TRUTHS_EXPECTED, common_count, indices_of_rows, is_number

Array = np.ndarray
#: arrays of as many rows, or fewer, are dealt with row by row in a straight line, which is faster than a loop
FEW = 4
#: NumPy's own, in place of which functions of users are lent another while they are traced
CONCATENATE = np.concatenate
#: NumPy's functions of numbers that are none of its ufuncs -> of how many they are, and the same of rows
BY_ROWS: dict[Any, tuple[int, Callable[..., Any]]] = {
    np.where: (3, ops.where), np.clip: (3, ops.clip), np.zeros_like: (1, lambda x: np.zeros(np.shape(x))),
    np.ones_like: (1, lambda x: np.ones(np.shape(x))),
}  # fmt: skip
#: attributes of arrays that tables do not have
ATTRIBUTES = {"T", "all", "any", "argmax", "argmin", "argsort", "astype", "copy", "cumsum", "dot", "dtype", "flatten", "max", "mean", "min",
              "ndim", "prod", "ravel", "repeat", "size", "sort", "squeeze", "std", "sum", "take", "tolist", "trace", "transpose",
              "var"}  # fmt: skip


class Table(NDArrayOperatorsMixin):
    """A traced table, (n, *shape), or rows of one by their numbers, or the numbers of its rows.

    Attributes
    ----------
    g : its graph
    handle : its descriptor's address, traced
    row : the shape of one
    through : of rows by their numbers, the handle of a table of these
    counting : whether it stands for the numbers of its rows
    count : how many rows there are, if that is known
    truths : whether it holds truths
    """

    truths = False

    def __init__(self, g: Graph, handle: Expr, shape: Sequence[int], through: Expr | None = None, counting: bool = False,
                 count: int | None = None) -> None:  # fmt: skip
        self.g, self.handle, self.row, self.through, self.counting, self.count = g, handle, tuple(shape), through, counting, count
        self.where = ""  # of rows by their numbers, the user's line
        if not size(self.row):
            raise g.refuse(f"a table of rows of the shape {self.row}", "expected a number in each row at least")

    @property
    def how(self) -> str:
        """The way a loop reads the table: a :class:`Source`'s ``how``."""
        return "numbers" if self.counting else "rows" if self.through is None else "through"

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape as of an array, (n, *row): n is traced where it is not known."""
        return (total(self.g, row_loop(self.g, lambda _: np.float64(1.0), [self])) if self.count is None else self.count, *self.row)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a ufunc to each row."""
        name = ufunc.__name__ + f".{method}" * (method != "__call__")
        if options.get("out") is not None:
            raise self.g.refuse(f"changing a table in place by np.{name}", "make another, as in table = table + x")
        if method != "__call__" or options or ufunc.signature is not None:
            if all(t.count is not None for t in tables_in(inputs)):
                return getattr(ufunc, method)(*untabled(inputs), **options)
            raise self.g.refuse(f"np.{name} of a table", instead_of(name))
        return self.by_rows(ufunc, inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        """Call NumPy's functions of whole arrays: of tables with a known number of rows alone."""
        if any(t.count is None for t in tables_in((args, options))):
            if function is CONCATENATE and len(args) == 1 and not options.get("axis"):
                return concatenated(self.g, args[0])
            many, own = BY_ROWS.get(function, (0, function))
            if many and many == len(args) and not options:
                return self.by_rows(own, args)
            axis = options.get("axis", args[1] if len(args) > 1 else None)
            raise self.g.refuse(f"np.{function.__name__} of a table", instead_of(function.__name__, axis))
        return function(*untabled(args), **untabled(options))

    def reshape(self, *shape: Any) -> Any:
        """``table.reshape(-1, m)``: each row cut into some of m numbers."""
        shape = tuple(shape[0]) if len(shape) == 1 and np.ndim(shape[0]) else shape
        if self.count is not None:
            return as_array(self, self.count).reshape(shape)
        m, whole = size(shape[1:]), size(self.row)
        if len(shape) < 2 or shape[0] != -1 or not m or whole % m:
            raise self.g.refuse(f".reshape{shape} of a table of rows of the shape {self.row}",
                                "expected table.reshape(-1, m), of numbers m that divide those of a row")
        t = materialised(self)
        return Table(self.g, t.handle if m == whole else self.g.call(Cut(m, whole // m), [t.handle])[0], shape[1:])

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            if self.count is not None:
                return getattr(as_array(self, self.count), name)
            raise self.g.refuse(f".{name} of a table", instead_of(name))
        raise AttributeError(f"a traced table has no '{name}'")

    def by_rows(self, f: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Apply ``f`` to each row of the tables among its inputs; arrays with as many rows count as tables."""
        shapes = [x.row for x in inputs if isinstance(x, Table)]
        if len({len(s) for s in shapes}) > 1:
            raise self.g.refuse(f"tables of rows of the shapes {', '.join(map(str, shapes))} in one expression", "expected as many axes in "
                                "each: write table[:, None], or engine.ops.rows(lambda a, b: …, one, other)")  # fmt: skip
        wide = len(shapes[0]) + 1
        in_rows = [isinstance(x, Table) or np.ndim(x) >= wide for x in inputs]

        def one(*own: Any) -> Any:
            given = iter(own)
            return f(*[next(given) if own else x for own, x in zip(in_rows, inputs, strict=True)])

        return row_loop(self.g, one, [x for own, x in zip(in_rows, inputs, strict=True) if own])

    def __getitem__(self, key: Any) -> Any:
        """Columns: ``table[:, 0]``, ``table[:, :3]``."""
        if self.count is not None:
            return as_array(self, self.count)[key]
        if not (isinstance(key, tuple) and isinstance(key[0], slice) and key[0] == slice(None)):
            raise self.g.refuse(*self.numbered(key))
        try:
            return row_loop(self.g, lambda x: np.asarray(x, dtype=object)[key[1:]], [self])
        except IndexError as error:
            raise IndexError(f"{users_place()}{error}: expected columns of a table {of_rows(self.row)}") from None

    @staticmethod
    def numbered(key: Any) -> tuple[str, str]:
        """Return the error text for indexing rows by a key, and what to write instead."""
        if isinstance(key, Table) and key.truths:
            return "rows of a table where a truth holds", "use engine.ops.chosen(table, truths)"
        first = key[0] if isinstance(key, tuple) and key else key
        if first is None or (isinstance(key, tuple) and None in key[1:]):
            return "a table against another", "use engine.ops.rows(lambda a: engine.ops.total(engine.ops.rows(lambda b: …, table)), table)"
        if isinstance(first, slice):
            return "some rows of a table one after another", f"use engine.ops.gather(table, numbers) or engine.ops.chosen, {OR_SIZE}"
        what = "use engine.ops.gather(table, numbers), and table[:, …] for columns"
        last = ", and table.shape[0] - 1 for the last" if isinstance(first, int) and first < 0 else ""
        return "rows of a table by their numbers", f"{what}{last}, {OR_SIZE}"

    def __setitem__(self, key: Any, value: Any) -> None:
        columns = isinstance(key, tuple) and isinstance(key[0], slice) and key[0] == slice(None)
        how = ("engine.ops.rows(lambda x: engine.ops.array([…]), table), of all columns" if columns else
               "engine.ops.where(engine.ops.row_numbers(table) == k, new, table), or engine.ops.add_at(table, k, more)")  # fmt: skip
        raise self.g.refuse("an assignment to a table", f"make another: {how}")

    def __len__(self) -> int:
        if self.count is None:
            raise self.g.refuse("how many rows a table has as a whole number", f"use table.shape[0], {OR_SIZE}")
        return self.count

    def __iter__(self) -> Any:
        if self.count is None:
            raise self.g.refuse("a table's rows one by one", "use engine.ops.rows(f, table), engine.ops.total(table) for their sum, "
                                f"engine.ops.each(f, table.shape[0], x) where one needs what the one before made, {OR_SIZE}")  # fmt: skip
        return iter(as_array(self, self.count))

    def __contains__(self, x: Any) -> bool:
        raise self.g.refuse("a search in a table", "use engine.ops.total(engine.ops.where(table == x, 1.0, 0.0)) > 0.0")

    def __repr__(self) -> str:
        return f"<traced table {of_rows(self.row)}>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """Return traced numbers where their number is known; else what NumPy cannot look into."""
        if self.count is not None:
            return as_array(self, self.count)
        box = np.empty((), dtype=object)
        box[()] = self
        return box

    def __bool__(self) -> bool:
        raise self.g.refuse("a decision on a table", "use engine.ops.where in a function of its rows")


def tables_in(x: Any) -> list[Table]:
    """The tables among arguments."""
    if isinstance(x, Table):
        return [x]
    return [t for y in (x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ()) for t in tables_in(y)]


def untabled(x: Any) -> Any:
    """Arguments with arrays in place of tables."""
    if isinstance(x, dict):
        return {name: untabled(y) for name, y in x.items()}
    return type(x)(map(untabled, x)) if isinstance(x, (tuple, list)) else np.asarray(x) if isinstance(x, Table) else x


# ------------------------------------------------------------ tables and arrays


def given_table(g: Graph, k: int, shape: Sequence[int]) -> Table:
    """Input k of a graph, the handle of a table (COUNTED, …)."""
    handle, row = g.input(k), tuple(shape[1:])
    g.tables[handle.i] = size(row)
    return Table(g, handle, row)


def as_table(g: Graph, x: Any) -> Table:
    """A table; an array (n, …) as one."""
    if isinstance(x, Table):
        return x
    x = np.asarray(x, dtype=object)
    if not x.ndim:
        raise g.refuse("a number for a table", "expected an array (n, …)")
    flat = list(x.ravel())
    if any(type(y) is Expr for y in flat):
        (handle,) = g.call(Stack(len(x), size(x.shape[1:])), flat)
    else:
        (handle,) = g.call(Constants(np.array([float(y) for y in flat]).reshape(len(x), size(x.shape[1:]))), [])
    found = Table(g, handle, x.shape[1:], count=len(x))
    found.truths = bool(flat) and all(map(g.holds_truth, flat))
    return found


def uncounted(g: Graph, x: Any) -> Table:
    """:func:`engine.ops.table`."""
    t = materialised(as_table(g, x))
    return Table(g, t.handle, t.row)


def sized(g: Graph, x: Any, n: int) -> Array:
    """:func:`engine.ops.sized`."""
    count = x.count if isinstance(x, Table) else len(x)
    if count not in (None, n):
        raise g.refuse(f"a table of {count} rows", f"expected {n}")
    return as_array(x, n) if isinstance(x, Table) else np.asarray(x)


def given(g: Graph, x: Any, as_rows: bool) -> tuple[list[Any], Shape]:
    """Return the scalars and the shape of an argument or a result: a table's handle, or numbers."""
    if as_rows:
        t = materialised(as_table(g, x))
        return [t.handle], (COUNTED, *t.row)
    a = np.asarray(x, dtype=object)
    return list(a.ravel()), a.shape


def shape_of(x: Any) -> Shape:
    """Return the shape of an array, or of a table of an unknown number of rows."""
    return (COUNTED, *x.row) if isinstance(x, Table) and x.count is None else np.shape(x)


def returned(x: Any) -> tuple[list[Any], Shape]:
    """Return the scalars and the shape of a traced function's result: a table with a known number of rows becomes an array."""
    return given(x.g, x, True) if isinstance(x, Table) and x.count is None else given(None, x, False)  # type: ignore[arg-type]


def as_array(t: Table, n: int) -> Array:
    """A table of n rows as an array of traced numbers."""
    if not n:
        return np.empty((0, *t.row), dtype=object)
    t = materialised(t)
    return np.array(t.g.call(Unstack(n, size(t.row)), [t.handle]), dtype=object).reshape(n, *t.row)


def concatenated(g: Graph, tables: Sequence[Any]) -> Table:
    """Rows of several tables, one below the other."""
    each = [materialised(as_table(g, t)) for t in tables]
    if len({t.row for t in each}) > 1:
        shapes = ", ".join(str(t.row) for t in each)
        raise g.refuse(f"np.concatenate of tables of rows of the shapes {shapes}", "expected the same of all")
    if len(each) == 1:
        return each[0]
    (handle,) = g.call(Concatenated(len(each), size(each[0].row)), [t.handle for t in each])
    return Table(g, handle, each[0].row)


def materialised(t: Table) -> Table:
    """A table whose rows lie in memory of its own."""
    if not t.counting and t.through is None:
        return t
    found: Table = row_loop(t.g, lambda x: x, [t])
    found.truths = t.truths
    return found


def known(tables: Sequence[Any]) -> int | None:
    """Return the number of rows of tables, or None where it is known of none."""
    tables = [x if isinstance(x, Table) else np.atleast_1d(np.asarray(x, dtype=object)) for x in tables]
    counts = [n for x in tables if (n := x.count if isinstance(x, Table) else len(x)) is not None]
    return common_count(counts) if counts else None


# ------------------------------------------------------------ loops


def row_loop(g: Graph, f: Callable[..., Any], tables: Sequence[Any]) -> Any:
    """:func:`engine.ops.rows`."""
    n = known(tables)
    if n is not None and n <= FEW and not any(isinstance(t, Table) for t in tables):
        each = [f(*row) for row in zip(*tables, strict=True)]
        return tuple(map(stacked, zip(*each, strict=True))) if isinstance(each[0], tuple) else stacked(each)
    several, row, made = looped(g, f, [as_table(g, t) for t in tables], lambda shapes: [Sink("rows", size(s)) for s in shapes])
    results = tuple(Table(g, h, x.shape, count=n) for h, x in zip(made, row, strict=True))
    for t, x in zip(results, row, strict=True):
        t.truths = all(map(g.holds_truth, x.ravel()))
    return results if several else results[0]


def known_rows(g: Graph, f: Callable[..., Any], arrays: Sequence[Array]) -> Any:
    """A loop over rows of known numbers; None where ``f`` looks at these, as an ``if`` does, or an index."""
    before = g.floats, {**g.chains}, g.refused
    try:
        return row_loop(g, f, arrays)
    except Exception:  # whatever it may be, that of a row of numbers comes again, and says more
        g.floats, g.chains, g.refused = before
        return None


def stacked(rows: Sequence[Any]) -> Array:
    """Rows one below the other, traced or not."""
    return np.stack([np.asarray(x, dtype=object) for x in rows])


def looped(g: Graph, f: Callable[..., Any], tables: Sequence[Table], sinks: Callable[[list[tuple[int, ...]]], list[Sink]],
           targets: Sequence[Expr] = ()) -> tuple[bool, list[Array], list[Expr]]:  # fmt: skip
    """Trace ``f`` on a row: return whether it returns a tuple, its results, and those of the loop over rows that puts them in ``sinks`` of
    their shapes."""
    start, place, sources, arguments, fresh = len(g.nodes), 0, list[Source](), list[Any](), list[Expr]()
    index = {t.through.i: t.through for t in tables if t.through is not None}
    for t in tables:
        m = 1 if t.counting else size(t.row)
        carry = [Expr(g, g.node(("carry", start, place + k))) for k in range(m)]
        through = -1 if t.through is None else [*index].index(t.through.i)
        sources.append(Source(t.how, place, m, through, columns_of(g, t.handle.i) if t.counting else 1))
        arguments.append(carry[0] if t.counting else USERS.made(np.array(carry, dtype=object).reshape(t.row)[()]))
        place, fresh = place + m, fresh + carry
    around, g.in_rows = g.in_rows, True
    try:
        results = f(*arguments)
    finally:
        g.in_rows = around
    several = isinstance(results, tuple)
    if any(isinstance(r, Table) and r.count is None for r in (results if several else (results,))):
        raise g.refuse("a table for each row", "expected numbers of a row: engine.ops.total or engine.ops.gather of that table")
    arrays = [np.asarray(r, dtype=object) for r in (results if several else (results,))]
    body, captured = extracted(g, start, fresh, [g.number(g.index(x)) for a in arrays for x in a.ravel()], False, scope_of(f))
    loop = RowLoop(body, sources, body.n_in - place, sinks([a.shape for a in arrays]))
    loop.where = next((t.where for t in tables if t.through is not None), None) or users_place()
    return several, arrays, g.call(loop, [*(t.handle for t in tables), *index.values(), *(Expr(g, i) for i in captured), *targets])


def row_numbers(g: Graph, table: Any) -> Table:
    """:func:`engine.ops.row_numbers`."""
    t = as_table(g, table)
    return Table(g, t.handle if t.through is None else t.through, (), counting=True, count=t.count)


def gathered(g: Graph, table: Any, index: Any) -> Any:
    """:func:`engine.ops.gather`: nothing is moved before it is read."""
    if not isinstance(table, Table) and not isinstance(index, Table) and ops.graph_of(index) is None:
        return np.asarray(table)[indices_of_rows(index, len(table))]
    if is_number(index):
        return picked(g, as_table(g, table), index)
    t, i = materialised(as_table(g, table)), materialised(as_table(g, index))
    if i.truths:
        raise g.refuse("truths as numbers of rows", "use engine.ops.chosen(table, truths)")
    if i.row:
        raise g.refuse(f"numbers of rows of the shape {of_rows(i.row)}", "expected (n)")
    found = Table(g, t.handle, t.row, through=i.handle, count=i.count)
    found.where, found.truths = users_place(), t.truths
    return found


def picked(g: Graph, t: Table, index: Any) -> Any:
    """A table's row of one number: its numbers."""
    if type(index) is Expr and index.i in g.truths:
        raise g.refuse("a truth as the number of a row", "use engine.ops.chosen(table, truths)")
    if t.through is not None:
        index, t = picked(g, Table(g, t.through, ()), index), Table(g, t.handle, t.row)
    t = materialised(t)
    pick = Pick(size(t.row), g.in_rows)
    pick.where = users_place()
    asked = index if g.idle is None else ops.where(g.idle, IDLE, index)
    return USERS.made(np.array(g.call(pick, [t.handle, asked]), dtype=object).reshape(t.row)[()])


def added_at(g: Graph, table: Any, places: Sequence[Any], given: Sequence[Any]) -> Table:
    """:func:`engine.ops.add_at`."""
    t = materialised(as_table(g, table))
    index, more = [as_table(g, i) for i in places], [as_table(g, y) for y in given]
    if any(i.truths for i in index):
        raise g.refuse("truths as numbers of rows", "use engine.ops.chosen, and row_numbers")
    if len(index) != len(more) or any(y.row != t.row for y in more):
        what = f"rows of the shape {', '.join(str(y.row) for y in more)} added to a table of rows of the shape {t.row}"
        raise g.refuse(what, f"expected rows as its own, for each of the {len(index)} places")
    if t.count == 0 and any(x.count for x in (*index, *more)):                # where nothing is, nothing could say so
        raise g.refuse("adding to a row of a table of 0 rows", "expected none to be added")
    pairs = [x for pair in zip(index, more, strict=True) for x in pair]
    sink = Sink("added", size(t.row), len(index))
    return Table(g, looped(g, lambda *x: x, pairs, lambda _: [sink], [t.handle])[2][0], t.row, count=t.count)


def procedure(g: Graph, fn: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """:func:`engine.ops.procedure`."""
    given: list[Any] = [x if is_number(x) else materialised(as_table(g, x)) for x in arguments]
    if any(isinstance(x, Table) and len(x.row) > 1 for x in given):
        raise g.refuse(f"a table of rows of several axes for the procedure '{fn.__name__}'", "expected tables (n) and (n, m)")
    kernel = Procedure(fn, tuple((x.row or (PLAIN,))[0] if isinstance(x, Table) else NUMBER for x in given))
    made = g.call(kernel, [x.handle if isinstance(x, Table) else x for x in given])
    results = tuple(Table(g, h, (m,) if m else ()) for h, m in zip(made, kernel.made_columns, strict=True))
    return results if len(results) > 1 else results[0]


def total(g: Graph, table: Any) -> Any:
    """:func:`engine.ops.total`."""
    t = as_table(g, table)
    made = looped(g, lambda x: x, [t], lambda shapes: [Sink("sum", size(shapes[0]))])[2]
    return np.array(made, dtype=object).reshape(() if t.counting else t.row)[()]


def chosen(g: Graph, table: Any, truth: Any) -> Table:
    """:func:`engine.ops.chosen`."""
    t, c = as_table(g, table), as_table(g, truth)
    if c.row:
        raise g.refuse(f"rows chosen by truths of the shape {of_rows(c.row)}", "expected (n): a truth a row")
    if not c.truths and c.count != 0:
        raise g.refuse("rows chosen by numbers", f"expected {TRUTHS_EXPECTED}")
    made = looped(g, lambda c, x: (c, x), [c, t], lambda shapes: [Sink("chosen", size(shapes[1]))])[2]
    return Table(g, made[0], t.row)
