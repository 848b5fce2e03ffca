"""Derivatives of traced values: forward and reverse mode, as walks over the graph that add the derivative's nodes to it.

The derivative rule of each operation (of sin: cos) is the lambda in its row of the table in :mod:`engine.compiler.graph.operations`; here
they are only chained.

Tangents and adjoints are sparse: a node holds only the directions that it depends on, so structural zeros of a Jacobian cost nothing and
its sparsity is found, not declared. A call is differentiated by a call of its own Jacobian, made once for each function, or by one that
pushes a few directions through, or pulls them back. What stands under ``ops.stop_gradient`` is constant. Branches that are not taken
contribute nothing in forward mode; in reverse mode they must be finite (give ``ops.where`` safe denominators). The derivative of √x at 0
is taken as 5·10¹⁶¹, more than at any other x, so that that of a length |v| is 0 at v = 0, and of order 1 even where |v|² underflows.

Reference: Griewank & Walther, *Evaluating Derivatives*, 2008, ch. 3.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.operations import OPERATIONS, operands
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.rewrite import RULES, inlined
from engine.compiler.transforms.bodies import columns_of
from engine.compiler.transforms.sparse import Sparse, added, combined, divided, value, zero

#: of kinds of kernels whose derivatives are written elsewhere: tangents and adjoints, as methods
TANGENTS: dict[type, Callable[..., list[Any]]] = {}
ADJOINTS: dict[type, Callable[..., dict[int, Any]]] = {}
#: those of loops of several passes, written elsewhere too
LOOPS: dict[str, Callable[..., Any]] = {}
#: so many times fewer directions than inputs that have some go through a call by themselves, not by its Jacobian, or back, than results
FEW = 4


def derivatives(graph: Graph, results: Any, arguments: Any) -> np.ndarray:
    """Return ∂ results / ∂ arguments of arrays of traced values, (*results' shape, *arguments' shape); the arguments count as independent.

    Forward where there are no more arguments than results, else backward.
    """
    y, x = np.asarray(results, dtype=object), np.asarray(arguments, dtype=object)
    walk = forward if x.size <= y.size else reverse
    variables = [graph.index(s) for s in x.ravel()]
    if len(set(variables)) < x.size or any(graph.nodes[i][0] == "const" for i in variables):  # equal constants are one node
        raise graph.refuse("a derivative by a constant, or by one value twice", "differentiate by values that do not depend on each other")
    entries = walk(graph, [graph.index(s) for s in y.ravel()], variables)
    J = np.full((y.size, x.size), 0.0, dtype=object)
    for (k, j), entry in entries.items():
        J[k, j] = entry
    return J.reshape((*y.shape, *x.shape))


def active(graph: Graph, results: list[int], arguments: list[int]) -> list[int]:
    """Return the active nodes in order: those that depend on the arguments and that the results depend on."""
    first = min(arguments, default=0)
    needed, depends = set(results), set(arguments)
    for i in range(max(results, default=-1), first - 1, -1):
        if i in needed and i not in depends:
            needed.update(operands(graph.nodes[i]))
    nodes = []
    for i in range(first, max(results, default=-1) + 1):
        if i in needed and i not in depends and not depends.isdisjoint(operands(graph.nodes[i])):
            depends.add(i)
            nodes.append(i)
    return nodes


def partials(graph: Graph, i: int) -> list[Any]:
    """Return the derivatives of a node's result by its operands; constants are NumPy's meanwhile, by which 1/0 is infinite."""
    op, *args = graph.nodes[i]
    given = [np.float64(x) if isinstance(x := value(graph, j), float) else x for j in args]
    return [float(p) if isinstance(p, np.floating) else p for p in OPERATIONS[op].partials(Expr(graph, i), *given)]  # type: ignore[misc]


@np.errstate(all="ignore")
def forward(graph: Graph, results: list[int], arguments: list[int]) -> dict[tuple[int, int], Any]:
    """Return the nonzero entries (result, argument) -> derivative, by tangents from the arguments on."""
    tangent: dict[int, Sparse] = {}
    for j, i in enumerate(arguments):
        tangent.setdefault(i, {})[j] = 1.0
    push(graph, active(graph, results, arguments), tangent)
    return {(k, j): t for k, i in enumerate(results) for j, t in tangent.get(i, {}).items() if not zero(t)}


def push(graph: Graph, nodes: list[int], tangent: dict[int, Sparse]) -> None:
    """Add the tangents of nodes, in order, to those of what they depend on."""
    found: dict[int, list[Sparse]] = {}
    for i in nodes:
        op, *args = graph.nodes[i]
        row, own = OPERATIONS[op], [tangent.get(j, {}) for j in operands(graph.nodes[i])]
        if (rules := whole(graph, i)) is not None:
            found[i] = rules[0](graph, i, tangent)
        elif op == "call" and FEW * len({d for t in own for d in t}) <= sum(map(bool, own)):
            found[i] = call_tangents(graph, i, tangent)
        elif op == "get" and args[0] in found:
            tangent[i] = found[args[0]][args[1]]
        elif op == "get":
            tangent[i] = combined([(p, tangent.get(j, {})) for j, p in call_partials(graph, args[0], args[1])])
        elif row.chooses:
            condition, (a, b) = row.chooses(*[value(graph, j) for j in args]), own[-2:]
            tangent[i] = {j: ops.where(condition, a.get(j, 0.0), b.get(j, 0.0)) for j in sorted({*a, *b})}
        elif row.partials:
            tangent[i] = combined(list(zip(partials(graph, i), own, strict=True)))


@np.errstate(all="ignore")
def reverse(graph: Graph, results: list[int], arguments: list[int]) -> dict[tuple[int, int], Any]:
    """Return the nonzero entries (result, argument) -> derivative, by adjoints from the results back."""
    adjoint: dict[int, Sparse] = {}
    for k, i in enumerate(results):
        adjoint.setdefault(i, {})[k] = 1.0
    pull(graph, active(graph, results, arguments), arguments, adjoint)
    return {(k, j): a for j, i in enumerate(arguments) for k, a in adjoint.get(i, {}).items() if not zero(a)}


def pull(graph: Graph, nodes: list[int], arguments: list[int], adjoint: dict[int, Sparse]) -> None:
    """Add the adjoints of nodes, from the last, to those of what they depend on: of nodes or arguments."""
    inside, few = {*nodes, *arguments}, pulled_alone(graph, nodes, adjoint)

    def accumulate(i: int, factor: Any, row: Sparse) -> None:
        before = adjoint.get(i, {})
        adjoint[i] = added(graph, i, before, row) if columns_of(graph, i) else combined([(1.0, before), (factor, row)])

    for i in reversed(nodes):
        op, *args = graph.nodes[i]
        row, own = OPERATIONS[op], adjoint.get(i, {})
        if (rules := whole(graph, i)) is not None:
            for j, a in rules[1](graph, i, adjoint, inside).items():
                accumulate(j, 1.0, a)
        elif i in few:
            for j, a in call_adjoints(graph, i, adjoint, inside).items():
                accumulate(j, 1.0, a)
        elif not own or (op == "get" and (args[0] in few or whole(graph, args[0]) is not None)):
            continue
        elif op == "get":
            for j, p in call_partials(graph, args[0], args[1]):
                if j in inside:
                    accumulate(j, p, own)
        elif row.chooses:
            condition = row.chooses(*[value(graph, j) for j in args])
            for j, first in zip(args[-2:], (True, False), strict=True):
                if j in inside:
                    accumulate(j, 1.0, {k: ops.where(condition, a if first else 0.0, 0.0 if first else a) for k, a in own.items()})
        elif row.partials:
            for j, p in zip(args, partials(graph, i), strict=True):
                if j in inside:
                    accumulate(j, p, own)


def given_inputs(graph: Graph, f: Program) -> list[Any]:
    """Return the inputs of a program, made in a graph."""
    x = [graph.input(k) for k in range(f.n_in)]
    graph.tables |= {y.i: m for y, m in zip(x, f.given, strict=True) if m}
    return x


def whole(graph: Graph, i: int) -> tuple[Callable[..., list[Sparse]], Callable[..., dict[int, Sparse]]] | None:
    """Return how tangents and adjoints go through a call whose results are differentiated together; None for all other nodes."""
    op, *args = graph.nodes[i]
    if op == "loop" and args[1] > 1:
        return LOOPS["tangents"], LOOPS["adjoints"]
    if op in ("call", "loop") and not (f := graph.functions[args[0]]).native and (any(f.given) or any(f.made)):
        raise graph.refuse(f"a derivative through {'a call of ' + f.name if op == 'call' else 'a branch'} with tables",
                           "differentiate what is within rows, or give the sizes numbers")  # fmt: skip
    if op == "root":
        return root_tangents, root_adjoints
    if op == "loop":
        return branch_tangents, branch_adjoints
    return (kernel_tangents, kernel_adjoints) if op == "call" and graph.functions[args[0]].native else None


# ------------------------------------------------------------ kernels: by calls of kernels, a direction each


def kernel_tangents(graph: Graph, i: int, tangent: dict[int, Sparse]) -> list[Sparse]:
    """Return the tangents of a kernel's results."""
    _, number, *given = graph.nodes[i]
    f, inputs = graph.functions[number], [value(graph, j) for j in given]
    found: list[Sparse] = [{} for _ in f.outputs]
    for d in sorted({d for j in given for d in tangent.get(j, {})}):
        along = TANGENTS.get(type(f), type(f).tangents)(f, graph.call, inputs, [tangent.get(j, {}).get(d, 0.0) for j in given])
        for row, t in zip(found, along, strict=True):
            if not zero(t):
                row[d] = t
    return found


def kernel_adjoints(graph: Graph, i: int, adjoint: dict[int, Sparse], inside: set[int]) -> dict[int, Sparse]:
    """Return the adjoints of what a kernel reads."""
    _, number, *given = graph.nodes[i]
    f, inputs = graph.functions[number], [value(graph, j) for j in given]
    own = [adjoint.get(graph.memo.get(("get", i, k), -1), {}) for k in range(len(f.outputs))]
    wanted = {k for k, j in enumerate(given) if j in inside}
    found: dict[int, Sparse] = {}
    for d in sorted({d for row in own for d in row}):
        for k, a in ADJOINTS.get(type(f), type(f).adjoints)(f, graph.call, inputs, [row.get(d, 0.0) for row in own], wanted).items():
            if k in wanted and not zero(a):
                found[given[k]] = added(graph, given[k], found.get(given[k], {}), {d: a})
    return found


# ------------------------------------------------------------ roots: r(x, p) = 0, dx = −(∂r/∂x)⁻¹ ∂r/∂p dp


def residual_at(graph: Graph, i: int) -> tuple[list[int], list[int], list[int], Any]:
    """Return of a root the nodes of x (n), p, and r (n), and ∂r/∂x (n, n)."""
    _, number, *given = graph.nodes[i]
    f = graph.functions[number]
    program, n = jacobian_by_first(f), len(f.outputs)
    x, p = [graph.node(("get", i, k)) for k in range(n)], given[n:]
    at = [value(graph, j) for j in (*x, *p)]
    r = [graph.index(y) for y in inlined(f, graph, at)]
    return x, p, r, np.array(graph.call(program, at), dtype=object).reshape(n, n)


def root_tangents(graph: Graph, i: int, tangent: dict[int, Sparse]) -> list[Sparse]:
    """Return the tangents of a root's results: those of p pushed on to r, and solved for."""
    x, p, r, A = residual_at(graph, i)
    inner = {j: tangent[j] for j in p if tangent.get(j)}
    push(graph, active(graph, r, [*inner, *x]), inner)
    ways = sorted({d for j in r for d in inner.get(j, {})})
    dr = np.array([[inner.get(j, {}).get(d, 0.0) for d in ways] for j in r], dtype=object).reshape(len(r), len(ways))
    return [{d: -t for d, t in zip(ways, row, strict=True) if not zero(t)} for row in ops.lu_solve(A, dr)]


def root_adjoints(graph: Graph, i: int, adjoint: dict[int, Sparse], inside: set[int]) -> dict[int, Sparse]:
    """Return the adjoints of p: those of a root's results solved for those of r, and pulled back."""
    x, p, r, A = residual_at(graph, i)
    given = [adjoint.get(j, {}) for j in x]
    ways = sorted({d for row in given for d in row})
    a = np.array([[row.get(d, 0.0) for d in ways] for row in given], dtype=object).reshape(len(r), len(ways))
    inner: dict[int, Sparse] = {}
    for j, row in zip(r, ops.lu_solve(A.T, a), strict=True):
        inner[j] = combined([(1.0, inner.get(j, {})), (-1.0, {d: t for d, t in zip(ways, row, strict=True) if not zero(t)})])
    arguments = sorted(inside.intersection(p))
    pull(graph, active(graph, r, [*arguments, *x]), arguments, inner)
    return {j: inner[j] for j in arguments if j in inner}


@functools.cache
def jacobian_by_first(f: Program) -> Program:
    """Return ∂r/∂x (n·n) of a residual r(x, p) (n) as a program of x and p."""
    graph, n = Graph(RULES), len(f.outputs)
    x = [graph.input(k) for k in range(f.n_in)]
    r = [graph.index(y) for y in inlined(f, graph, x)]
    entries = forward(graph, r, [s.i for s in x[:n]])
    nodes, outputs = live(graph.nodes, [graph.index(entries.get((k, j), 0.0)) for k in range(n) for j in range(n)])
    return Program(nodes, outputs, f.shapes_in, [()] * (n * n), graph.functions, f"d_{f.name}")


def call_partials(graph: Graph, call: int, k: int) -> list[tuple[int, Any]]:
    """Return (operand, ∂ output k/∂ operand) of a call."""
    _, number, *rest = graph.nodes[call]
    program, rows = jacobian_program(graph.functions[number])
    results = graph.call(program, [value(graph, j) for j in rest])
    return [(rest[j], results[e]) for j, e in rows.get(k, ())]


def call_tangents(graph: Graph, i: int, tangent: dict[int, Sparse]) -> list[Sparse]:
    """Return the tangents of a call's results in a few directions, by a call that pushes these through."""
    _, number, *given = graph.nodes[i]
    f, own = graph.functions[number], [tangent.get(j, {}) for j in given]
    ways = sorted({d for t in own for d in t})
    program, entries = pushed_through(f, tuple(tuple(ways.index(d) for d in sorted(t)) for t in own))
    made = graph.call(program, [*(value(graph, j) for j in given), *(t[d] for t in own for d in sorted(t))])
    found: list[Sparse] = [{} for _ in f.outputs]
    for (k, d), t in zip(entries, made, strict=True):
        found[k][ways[d]] = t
    return found


def pulled_alone(graph: Graph, nodes: list[int], adjoint: dict[int, Sparse]) -> set[int]:
    """Return the calls of which so many results are pulled back in so few directions that no Jacobian is worth its making."""
    ways = len({d for own in adjoint.values() for d in own})
    read = Counter(graph.nodes[i][1] for i in nodes if graph.nodes[i][0] == "get")
    return {i for i, n in read.items() if FEW * ways <= n and graph.nodes[i][0] == "call" and whole(graph, i) is None}


def call_adjoints(graph: Graph, i: int, adjoint: dict[int, Sparse], inside: set[int]) -> dict[int, Sparse]:
    """Return the adjoints of what a call reads in a few directions, by a call that pulls these back."""
    _, number, *given = graph.nodes[i]
    f = graph.functions[number]
    own = [adjoint.get(graph.memo.get(("get", i, k), -1), {}) for k in range(len(f.outputs))]
    ways = sorted({d for a in own for d in a})
    wanted = tuple(k for k, j in enumerate(given) if j in inside)
    program, entries = pulled_through(f, tuple(tuple(ways.index(d) for d in sorted(a)) for a in own), wanted)
    made = graph.call(program, [*(value(graph, j) for j in given), *(a[d] for a in own for d in sorted(a))])
    found: dict[int, Sparse] = {}
    for (k, d), a in zip(entries, made, strict=True):
        found[given[k]] = combined([(1.0, found.get(given[k], {})), (1.0, {ways[d]: a})])
    return found


@functools.cache
def pulled_through(f: Program, pattern: tuple[tuple[int, ...], ...],
                   wanted: tuple[int, ...]) -> tuple[Program, list[tuple[int, int]]]:  # fmt: skip
    """Return the program of the adjoints of some of a function's inputs, of its inputs and its results' adjoints in some directions, and
    which they are."""
    graph, more = Graph(RULES), sum(map(len, pattern))
    x = [graph.input(k) for k in range(f.n_in + more)]
    y = [graph.index(s) for s in inlined(f, graph, x[: f.n_in])]
    adjoint = pulled(graph, [x[k].i for k in wanted], x[f.n_in :], pattern, y)
    entries = [(k, d) for k in wanted for d, a in sorted(adjoint.get(x[k].i, {}).items()) if not zero(a)]
    nodes, outputs = live(graph.nodes, [graph.index(adjoint[x[k].i][d]) for k, d in entries])
    return Program(nodes, outputs, [()] * len(x), [()] * len(outputs), graph.functions, f"back_{f.name}"), entries


def pulled(graph: Graph, arguments: list[int], more: list[Any], pattern: tuple[tuple[int, ...], ...],
           results: list[int]) -> dict[int, Sparse]:  # fmt: skip
    """Return the adjoints of all nodes between arguments and results, whose own in some directions are given as ``more``."""
    adjoint: dict[int, Sparse] = {}
    for i, ways, given in zip(results, pattern, divided(more, pattern), strict=True):
        adjoint[i] = combined([(1.0, adjoint.get(i, {})), (1.0, dict(zip(ways, given, strict=True)))])
    pull(graph, active(graph, results, arguments), arguments, adjoint)
    return adjoint


@functools.cache
def pushed_through(f: Program, pattern: tuple[tuple[int, ...], ...]) -> tuple[Program, list[tuple[int, int]]]:
    """Return the program of the tangents of a function's results, of its inputs and their tangents in some directions, and which they
    are."""
    graph, more = Graph(RULES), sum(map(len, pattern))
    x = [graph.input(k) for k in range(f.n_in + more)]
    y = [graph.index(s) for s in inlined(f, graph, x[: f.n_in])]
    tangent = pushed(graph, x[: f.n_in], x[f.n_in :], pattern, y)
    entries = [(k, d) for k, i in enumerate(y) for d, t in sorted(tangent.get(i, {}).items()) if not zero(t)]
    nodes, outputs = live(graph.nodes, [graph.index(tangent[y[k]][d]) for k, d in entries])
    return Program(nodes, outputs, [()] * len(x), [()] * len(outputs), graph.functions, f"along_{f.name}"), entries


def pushed(graph: Graph, x: list[Any], more: list[Any], pattern: tuple[tuple[int, ...], ...], results: list[int]) -> dict[int, Sparse]:
    """Return the tangents of all nodes between inputs x, whose own in some directions are given as ``more``, and results."""
    each = zip(x, pattern, divided(more, pattern), strict=True)
    tangent = {own.i: dict(zip(ways, given, strict=True)) for own, ways, given in each if ways}
    push(graph, active(graph, results, list(tangent)), tangent)
    return tangent


# ------------------------------------------------------------ branches: derivatives are made where the branch is taken, within it


def branch_tangents(graph: Graph, i: int, tangent: dict[int, Sparse]) -> list[Sparse]:
    """Return the tangents of a branch's results: those of what it reads, pushed on within it; or of what is there instead."""
    _, number, _, *given = graph.nodes[i]
    f = graph.functions[number]
    own = [tangent.get(j, {}) for j in given]
    program, entries = tangents_within(f, tuple(tuple(sorted(t)) for t in own))
    otherwise = [own[k].get(d, 0.0) for k, d in entries]
    made = branch_of(graph, program, i, otherwise, [t[d] for t in own for d in sorted(t)])
    found: list[Sparse] = [{} for _ in f.outputs]
    for (k, d), t in zip(entries, made, strict=False):
        found[k][d] = t
    return found


def branch_adjoints(graph: Graph, i: int, adjoint: dict[int, Sparse], inside: set[int]) -> dict[int, Sparse]:
    """Return the adjoints of what a branch reads: those of its results, pulled back within it; or those of what is there instead."""
    _, number, _, *given = graph.nodes[i]
    f = graph.functions[number]
    own = [adjoint.get(graph.memo.get(("get", i, k), -1), {}) for k in range(len(f.outputs) - 1)]
    wanted = tuple(k for k, j in enumerate(given) if j in inside and k != len(own))
    program, entries = adjoints_within(f, tuple(tuple(sorted(a)) for a in own), wanted)
    otherwise = [own[k].get(d, 0.0) if k < len(own) else 0.0 for k, d in entries]
    made = branch_of(graph, program, i, otherwise, [a[d] for a in own for d in sorted(a)])
    found: dict[int, Sparse] = {}
    for (k, d), a in zip(entries, made, strict=False):
        found[given[k]] = combined([(1.0, found.get(given[k], {})), (1.0, {d: a})])
    return found


def branch_of(graph: Graph, program: Program, i: int, otherwise: list[Any], more: list[Any]) -> list[Any]:
    """Return a branch that is taken where branch i is, with what that is given and more."""
    _, number, _, *given = graph.nodes[i]
    finished = given[len(graph.functions[number].outputs) - 1]
    return graph.call(program, [*otherwise, value(graph, finished), *(value(graph, j) for j in given), *more], "loop", 1)


def within(f: Program, more: int) -> tuple[Graph, list[Any], list[Any], list[int]]:
    """Return a graph in which the branch f is taken, with its inputs, more of them, and its outputs."""
    graph = Graph(RULES)
    x: list[Any] = [Expr(graph, graph.node(("carry", k))) for k in range(f.n_in + more)]
    x[len(f.outputs) - 1] = 0.0
    return graph, x[: f.n_in], x[f.n_in :], [graph.index(y) for y in inlined(f, graph, x[: f.n_in])]


def taken(graph: Graph, f: Program, results: list[Any], x: list[Any]) -> Program:
    """Return what is made where a branch f is taken, of inputs x, as a branch: (otherwise, done, x) -> (results, done)."""
    n, place = len(results), {}
    for k in range(n + 1):
        place[k] = graph.input(k)
    outputs = [ops.where(ops.equal(place[n], 0.0), r, place[k]) for k, r in enumerate(results)]
    index = [graph.index(r) for r in (*outputs, 1.0)]
    nodes = [("input", n + 1 + node[1]) if node[0] == "carry" else node for node in graph.nodes]
    kept, wanted = live(nodes, index)
    shapes = [()] * (n + 1 + len(x))
    return Program(kept, wanted, list(shapes), [()] * (n + 1), graph.functions, f"when_{f.name}")


@functools.cache
def tangents_within(f: Program, pattern: tuple[tuple[int, ...], ...]) -> tuple[Program, list[tuple[int, int]]]:
    """Return the program of the tangents of a branch's results, for inputs with tangents in some directions, and which they are."""
    graph, x, more, y = within(f, sum(map(len, pattern)))
    tangent = pushed(graph, x, more, pattern, y[:-1])
    carry = {(k, d) for k, ways in enumerate(pattern[: len(y) - 1]) for d in ways}
    entries = sorted(carry | {(k, d) for k, i in enumerate(y[:-1]) for d, t in tangent.get(i, {}).items() if not zero(t)})
    return taken(graph, f, [tangent.get(y[k], {}).get(d, 0.0) for k, d in entries], [*x, *more]), entries


@functools.cache
def adjoints_within(f: Program, pattern: tuple[tuple[int, ...], ...],
                    wanted: tuple[int, ...]) -> tuple[Program, list[tuple[int, int]]]:  # fmt: skip
    """Return the program of the adjoints of some of a branch's inputs, for results with adjoints in some directions, and which they
    are."""
    graph, x, more, y = within(f, sum(map(len, pattern)))
    adjoint = pulled(graph, [x[k].i for k in wanted], more, pattern, y[:-1])
    carry = {(k, d) for k in wanted if k < len(pattern) for d in pattern[k]}
    entries = sorted(carry | {(k, d) for k in wanted for d, a in adjoint.get(x[k].i, {}).items() if not zero(a)})
    return taken(graph, f, [adjoint.get(x[k].i, {}).get(d, 0.0) for k, d in entries], [*x, *more]), entries


@functools.cache
def jacobian_program(program: Program) -> tuple[Program, dict[int, list[tuple[int, int]]]]:
    """Return the nonzero entries of a program's Jacobian as a program, and per output the (input, entry) pairs."""
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(program.n_in)]
    y = [graph.index(s) for s in inlined(program, graph, x)]
    walk = forward if len(x) <= len(y) else reverse
    entries = walk(graph, y, [s.i for s in x])
    rows: dict[int, list[tuple[int, int]]] = {}
    for e, (k, j) in enumerate(entries):
        rows.setdefault(k, []).append((j, e))
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in entries.values()])
    shapes = [()] * len(outputs)
    return Program(nodes, outputs, program.shapes_in, list(shapes), graph.functions, f"d_{program.name}"), rows
