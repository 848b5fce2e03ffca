"""Derivatives of traced values: forward and reverse mode, as walks over the graph that add the derivative's nodes to it.

Tangents and adjoints are sparse: a node holds only the directions that it depends on, so structural zeros of a Jacobian cost nothing and
its sparsity is found, not declared. A call is differentiated by a call of its own Jacobian, made once for each function. What stands
under ``ops.hold`` is constant. Branches that are not taken contribute nothing in forward mode; in reverse mode they must be finite (give
``ops.where`` safe denominators). The derivative of √x at 0 is taken as 5·10¹⁶¹, more than at any other x, so that that of a length |v| is
0 at v = 0, and of order 1 even where |v|² underflows.

Reference: Griewank & Walther, *Evaluating Derivatives*, 2008, ch. 3.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.expr import Expr, Graph, refuse
from engine.compiler.rewrite import Folding
from engine.compiler.trace import Program, live, operands, size

Sparse = dict[int, Any]

#: op -> partial derivatives of y = op(operands); None where there is no dependence
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (1.0 / b, -y / b),
    "neg": lambda y, a: (-1.0,),
    "fma": lambda y, a, b, c: (b, a, 1.0),
    "sqrt": lambda y, a: (0.5 / ops.maximum(y, 1e-162),),
    "abs": lambda y, a: (ops.where(a < 0.0, -1.0, 1.0),),
    "sin": lambda y, a: (ops.cos(a),),
    "cos": lambda y, a: (-ops.sin(a),),
    "tan": lambda y, a: (1.0 + y * y,),
    "asin": lambda y, a: (1.0 / ops.sqrt(1.0 - a * a),),
    "acos": lambda y, a: (-1.0 / ops.sqrt(1.0 - a * a),),
    "atan": lambda y, a: (1.0 / (1.0 + a * a),),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "exp": lambda y, a: (y,),
    "log": lambda y, a: (1.0 / a,),
    "tanh": lambda y, a: (1.0 - y * y,),
    "pow": lambda y, a, b: (b * ops.power(a, b - 1.0), ops.where(a == 0.0, 0.0, y * ops.log(ops.where(a == 0.0, 1.0, a)))),
    "c2": lambda y, a: (ops.stumpff_next(a)[0] - 0.5 * ops.c3(a),),
    "c3": lambda y, a: (1.5 * ops.stumpff_next(a)[1] - 0.5 * ops.stumpff_next(a)[0],),
}
#: piecewise constant, or constant by order
FLAT = {"floor", "hold", "lt", "le", "eq", "and", "or", "not", "const", "input", "carry"}


def derivatives(graph: Graph, results: Any, arguments: Any) -> np.ndarray:
    """∂ results / ∂ arguments of arrays of traced values, (*results' shape, *arguments' shape); the arguments count as independent.

    Forward where there are no more arguments than results, else backward.
    """
    y, x = np.asarray(results, dtype=object), np.asarray(arguments, dtype=object)
    walk = forward if x.size <= y.size else reverse
    variables = [graph.index(s) for s in x.ravel()]
    if len(set(variables)) < x.size or any(graph.nodes[i][0] == "const" for i in variables):  # equal constants are one node
        raise refuse("a derivative by a constant, or by one value twice", "differentiate by values that do not depend on each other")
    entries = walk(graph, [graph.index(s) for s in y.ravel()], variables)
    J = np.full((y.size, x.size), 0.0, dtype=object)
    for (k, j), value in entries.items():
        J[k, j] = value
    return J.reshape((*y.shape, *x.shape))


def between(graph: Graph, results: list[int], arguments: list[int]) -> list[int]:
    """The nodes on the ways from arguments to results, in order."""
    first = min(arguments, default=0)
    needed, depends = set(results), set(arguments)
    for i in range(max(results, default=-1), first - 1, -1):
        if i in needed and i not in depends:
            needed.update(operands(graph.nodes[i]))
    way = []
    for i in range(first, max(results, default=-1) + 1):
        if i in needed and i not in depends and not depends.isdisjoint(operands(graph.nodes[i])):
            depends.add(i)
            way.append(i)
    return way


def value(graph: Graph, i: int) -> Any:
    node = graph.nodes[i]
    return node[1] if node[0] == "const" else Expr(graph, i)


@np.errstate(all="ignore")
def forward(graph: Graph, results: list[int], arguments: list[int]) -> dict[tuple[int, int], Any]:
    """Nonzero entries (result, argument) -> derivative: tangents from the arguments on."""
    tangent: dict[int, Sparse] = {}
    for j, i in enumerate(arguments):
        tangent.setdefault(i, {})[j] = 1.0

    def combined(terms: list[tuple[Any, Sparse]]) -> Sparse:
        total: Sparse = {}
        for factor, direction in terms:
            for j, t in direction.items():
                total[j] = total[j] + factor * t if j in total else factor * t
        return total

    for i in between(graph, results, arguments):
        op, *args = graph.nodes[i]
        own = [tangent.get(j, {}) for j in operands(graph.nodes[i])]
        if op in FLAT or op in ("call", "loop"):
            continue
        if op == "get":
            tangent[i] = combined([(p, tangent.get(j, {})) for j, p in outer(graph, args[0], args[1])])
        elif op in ("select", "min", "max"):
            condition, (a, b) = choice(graph, i), own[-2:]
            tangent[i] = {j: ops.where(condition, a.get(j, 0.0), b.get(j, 0.0)) for j in sorted({*a, *b})}
        else:
            partials = PARTIALS[op](Expr(graph, i), *[value(graph, j) for j in args])
            tangent[i] = combined(list(zip(partials, own, strict=True)))
    return {(k, j): t for k, i in enumerate(results) for j, t in tangent.get(i, {}).items() if not zero(t)}


@np.errstate(all="ignore")
def reverse(graph: Graph, results: list[int], arguments: list[int]) -> dict[tuple[int, int], Any]:
    """Nonzero entries (result, argument) -> derivative: adjoints from the results back."""
    adjoint: dict[int, Sparse] = {}
    for k, i in enumerate(results):
        adjoint.setdefault(i, {})[k] = 1.0

    def give(i: int, factor: Any, row: Sparse) -> None:
        own = adjoint.setdefault(i, {})
        for k, a in row.items():
            own[k] = own[k] + factor * a if k in own else factor * a

    way = between(graph, results, arguments)
    inside = {*way, *arguments}
    for i in reversed(way):
        op, *args = graph.nodes[i]
        row = adjoint.get(i, {})
        if not row or op in FLAT or op in ("call", "loop"):
            continue
        if op == "get":
            unknown = graph.nodes[args[0]][0] == "loop"  # NaN, except for what does not depend on the loop's results
            if unknown:
                row = {k: ops.where(ops.equal(a, 0.0), 0.0, math.nan) for k, a in row.items()}
            for j, p in outer(graph, args[0], args[1]):
                if j in inside:
                    give(j, 1.0 if unknown else p, row)
        elif op in ("select", "min", "max"):
            condition = choice(graph, i)
            for j, yes in zip(args[-2:], (True, False), strict=True):
                if j in inside:
                    give(j, 1.0, {k: ops.where(condition, a if yes else 0.0, 0.0 if yes else a) for k, a in row.items()})
        else:
            partials = PARTIALS[op](Expr(graph, i), *[value(graph, j) for j in args])
            for j, p in zip(args, partials, strict=True):
                if j in inside:
                    give(j, p, row)
    return {(k, j): a for j, i in enumerate(arguments) for k, a in adjoint.get(i, {}).items() if not zero(a)}


def zero(x: Any) -> bool:
    return not isinstance(x, Expr) and x == 0


def choice(graph: Graph, i: int) -> Any:
    """The condition under which the first of a select's, min's or max's branches is taken."""
    op, *args = graph.nodes[i]
    if op == "select":
        return value(graph, args[0])
    a, b = (value(graph, j) for j in args)
    return ops.less_equal(a, b) if op == "min" else ops.less_equal(b, a)


def outer(graph: Graph, call: int, k: int) -> list[tuple[int, Any]]:
    """(operand, ∂ output k/∂ operand) of a call or a loop; of a loop the derivatives are not known."""
    op, number, *rest = graph.nodes[call]
    if op == "loop":
        return [(j, math.nan) for j in rest[1:]]
    program, rows = jacobian_program(graph.functions[number])
    results = graph.call(program, [value(graph, j) for j in rest])
    return [(rest[j], results[e]) for j, e in rows.get(k, ())]


@functools.cache
def jacobian_program(program: Program) -> tuple[Program, dict[int, list[tuple[int, int]]]]:
    """The nonzero entries of a program's Jacobian as a program, and per output the (input, entry) pairs."""
    graph = Folding()
    x = [graph.input(k) for k in range(program.n_in)]
    y = [graph.index(s) for s in replayed(program, graph, x)]
    walk = forward if len(x) <= len(y) else reverse
    entries = walk(graph, y, [s.i for s in x])
    rows: dict[int, list[tuple[int, int]]] = {}
    for e, (k, j) in enumerate(entries):
        rows.setdefault(k, []).append((j, e))
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in entries.values()])
    shapes = [()] * len(outputs)
    return Program(nodes, outputs, program.shapes_in, list(shapes), graph.functions, f"d_{program.name}"), rows


def replayed(program: Program, graph: Graph, x: list[Any]) -> list[Any]:
    """Outputs of a program on traced scalars of another graph: its nodes made anew there."""
    made: list[Any] = []
    for op, *args in program.nodes:
        if op == "input":
            made.append(x[args[0]])
        elif op == "const":
            made.append(args[0])
        elif op == "call":
            made.append(graph.call(program.functions[args[0]], [made[i] for i in args[1:]]))
        elif op == "loop":
            made.append(graph.loop(program.functions[args[0]], args[1], [made[i] for i in args[2:]]))
        elif op == "get":
            made.append(made[args[0]][args[1]])
        else:
            made.append(graph.make(op, *[made[i] for i in args]))
    return [made[i] for i in program.outputs]


def jacobian(program: Program, argument: int = 0) -> Program:
    """The program of ∂ result / ∂ argument, for each result: (*result's shape, *argument's shape)."""
    graph = Folding()
    x = [graph.input(k) for k in range(program.n_in)]
    y = replayed(program, graph, x)
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
    """Where a Jacobian's program has entries that are not zero by structure: a boolean array for each result."""
    nonzero = np.array([program.nodes[i] not in (("const", 0.0, "0.0"), ("const", 0.0, "-0.0")) for i in program.outputs])
    ends = np.cumsum([size(s) for s in program.shapes_out])
    return [part.reshape(s) for part, s in zip(np.split(nonzero, ends[:-1]), program.shapes_out, strict=True)]
