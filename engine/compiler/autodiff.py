"""Derivatives of traced values: forward and reverse mode, as walks over the graph that add the derivative's nodes to it.

Tangents and adjoints are sparse: a node holds only the directions that it depends on, so structural zeros of a Jacobian cost nothing and
its sparsity is found, not declared. A call is differentiated by a call of its own Jacobian, made once for each function. What stands
under ``ops.stop_gradient`` is constant. Branches that are not taken contribute nothing in forward mode; in reverse mode they must be
finite (give ``ops.where`` safe denominators). The derivative of √x at 0 is taken as 5·10¹⁶¹, more than at any other x, so that that of a
length |v| is 0 at v = 0, and of order 1 even where |v|² underflows.

Reference: Griewank & Walther, *Evaluating Derivatives*, 2008, ch. 3.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.expr import Expr, Graph
from engine.compiler.operations import CALLS, OPERATIONS, operands
from engine.compiler.program import Program, live, size
from engine.compiler.rewrite import RULES, folded

Sparse = dict[int, Any]


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
    for (k, j), value in entries.items():
        J[k, j] = value
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


def value(graph: Graph, i: int) -> Any:
    node = graph.nodes[i]
    return node[1] if node[0] == "const" else Expr(graph, i)


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

    def combined(terms: list[tuple[Any, Sparse]]) -> Sparse:
        total: Sparse = {}
        for factor, direction in terms:
            for j, t in direction.items():
                total[j] = total[j] + factor * t if j in total else factor * t
        return total

    for i in active(graph, results, arguments):
        op, *args = graph.nodes[i]
        row, own = OPERATIONS[op], [tangent.get(j, {}) for j in operands(graph.nodes[i])]
        if op == "get":
            tangent[i] = combined([(p, tangent.get(j, {})) for j, p in call_partials(graph, args[0], args[1])])
        elif row.chooses:
            condition, (a, b) = row.chooses(*[value(graph, j) for j in args]), own[-2:]
            tangent[i] = {j: ops.where(condition, a.get(j, 0.0), b.get(j, 0.0)) for j in sorted({*a, *b})}
        elif row.partials:
            tangent[i] = combined(list(zip(partials(graph, i), own, strict=True)))
    return {(k, j): t for k, i in enumerate(results) for j, t in tangent.get(i, {}).items() if not zero(t)}


@np.errstate(all="ignore")
def reverse(graph: Graph, results: list[int], arguments: list[int]) -> dict[tuple[int, int], Any]:
    """Return the nonzero entries (result, argument) -> derivative, by adjoints from the results back."""
    adjoint: dict[int, Sparse] = {}
    for k, i in enumerate(results):
        adjoint.setdefault(i, {})[k] = 1.0

    def accumulate(i: int, factor: Any, row: Sparse) -> None:
        own = adjoint.setdefault(i, {})
        for k, a in row.items():
            own[k] = own[k] + factor * a if k in own else factor * a

    nodes = active(graph, results, arguments)
    inside = {*nodes, *arguments}
    for i in reversed(nodes):
        op, *args = graph.nodes[i]
        row, own = OPERATIONS[op], adjoint.get(i, {})
        if not own:
            continue
        if op == "get":
            unknown = repeats(graph, args[0])            # NaN, except for what does not depend on the loop's results
            if unknown:
                own = {k: ops.where(ops.equal(a, 0.0), 0.0, math.nan) for k, a in own.items()}
            for j, p in call_partials(graph, args[0], args[1]):
                if j in inside:
                    accumulate(j, 1.0 if unknown else p, own)
        elif row.chooses:
            condition = row.chooses(*[value(graph, j) for j in args])
            for j, first in zip(args[-2:], (True, False), strict=True):
                if j in inside:
                    accumulate(j, 1.0, {k: ops.where(condition, a if first else 0.0, 0.0 if first else a) for k, a in own.items()})
        elif row.partials:
            for j, p in zip(args, partials(graph, i), strict=True):
                if j in inside:
                    accumulate(j, p, own)
    return {(k, j): a for j, i in enumerate(arguments) for k, a in adjoint.get(i, {}).items() if not zero(a)}


def zero(x: Any) -> bool:
    return not isinstance(x, Expr) and x == 0


def call_partials(graph: Graph, call: int, k: int) -> list[tuple[int, Any]]:
    """Return (operand, ∂ output k/∂ operand) of a call or a loop; derivatives of a loop of several passes are not known."""
    op, number, *rest = graph.nodes[call]
    if repeats(graph, call):
        return [(j, math.nan) for j in rest[1:]]
    if op == "loop":
        return condition_partials(graph, graph.functions[number], rest[1:], k)
    program, rows = jacobian_program(graph.functions[number])
    results = graph.call(program, [value(graph, j) for j in rest])
    return [(rest[j], results[e]) for j, e in rows.get(k, ())]


def repeats(graph: Graph, call: int) -> bool:
    """Whether a call is a loop of several passes."""
    return graph.nodes[call][0] == "loop" and graph.nodes[call][2] > 1


def condition_partials(graph: Graph, body: Program, given: list[int], k: int) -> list[tuple[int, Any]]:
    """Return (operand, ∂ output k/∂ operand) of a loop of one pass at most, by one that makes the Jacobian where that pass is made."""
    n = len(body.outputs)
    program, rows = jacobian_condition(body)
    finished, zeros = value(graph, given[n - 1]), [0.0] * (len(program.outputs) - 1)
    made = graph.call(program, [*zeros, finished, *(value(graph, j) for j in given)], "loop", 1)
    kept = [(given[k], ops.where(ops.equal(finished, 0.0), 0.0, 1.0))] if k < n - 1 else []
    return kept + [(given[j], made[e]) for j, e in rows.get(k, ())]


@functools.cache
def jacobian_condition(body: Program) -> tuple[Program, dict[int, list[tuple[int, int]]]]:
    """Return :func:`jacobian_program` of the body of a loop of one pass as such a body: zeros, unless the pass is made."""
    program, rows = jacobian_program(body)
    graph, n = Graph(RULES), len(program.outputs)
    x = [graph.input(k) for k in range(n + 1 + program.n_in)]
    results = [ops.where(ops.equal(x[n], 0.0), y, a) for a, y in zip(x, inlined(program, graph, x[n + 1 :]), strict=False)]
    nodes, outputs = live(graph.nodes, [graph.index(r) for r in (*results, 1.0)])
    shapes = [()] * len(x)
    return Program(nodes, outputs, list(shapes), [()] * (n + 1), graph.functions, f"when_{program.name}"), rows


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


def inlined(program: Program, graph: Graph, x: list[Any]) -> list[Any]:
    """Return the outputs of a program on traced scalars of a graph, its nodes made anew there."""
    made: list[Any] = []
    for op, *args in program.nodes:
        if op == "input":
            made.append(x[args[0]])
        elif op == "const":
            made.append(args[0])
        elif op in CALLS:
            given = operands((op, *args))
            fields = args[1 : len(args) - len(given)]
            made.append(graph.call(program.functions[args[0]], [made[i] for i in given], op, *fields))
        elif op == "get":
            made.append(made[args[0]][args[1]])
        else:
            xs = [made[i] for i in args]
            made.append(graph.make(op, *xs) if any(isinstance(x, Expr) for x in xs) else folded(op, *xs))
    return [made[i] for i in program.outputs]


def jacobian(program: Program, argument: int = 0) -> Program:
    """Return the program of ∂ result / ∂ argument, for each result: (*result's shape, *argument's shape)."""
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(program.n_in)]
    y = inlined(program, graph, x)
    start = sum(size(s) for s in program.shapes_in[:argument])
    shape = program.shapes_in[argument]
    own = np.array(x[start : start + size(shape)], dtype=object).reshape(shape)
    blocks, k = [], 0
    for out in program.shapes_out:
        part = np.array(y[k : k + size(out)], dtype=object).reshape(out)
        k += size(out)
        blocks.append(derivatives(graph, part, own))
    nodes, outputs = live(graph.nodes, [graph.index(v) for b in blocks for v in b.ravel()])
    return Program(nodes, outputs, program.shapes_in, [b.shape for b in blocks], graph.functions, f"jacobian_of_{program.name}")


def sparsity(program: Program) -> list[np.ndarray]:
    """Return a boolean array for each result of a Jacobian's program: False where an entry is zero by structure."""
    nonzero = np.array([program.nodes[i] not in (("const", 0.0, "0.0"), ("const", 0.0, "-0.0")) for i in program.outputs])
    ends = np.cumsum([size(s) for s in program.shapes_out])
    return [part.reshape(s) for part, s in zip(np.split(nonzero, ends[:-1]), program.shapes_out, strict=True)]
