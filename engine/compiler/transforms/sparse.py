"""Tangents and adjoints of a node: the directions that it depends on, and a traced value for each."""

from __future__ import annotations

from typing import Any

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.kernels.row_loop import sum_of
from engine.compiler.transforms.bodies import columns_of

Sparse = dict[int, Any]


def value(graph: Graph, i: int) -> Any:
    node = graph.nodes[i]
    return node[1] if node[0] == "const" else Expr(graph, i)


def combined(terms: list[tuple[Any, Sparse]]) -> Sparse:
    """Return the sum of multiples of directions."""
    total: Sparse = {}
    for factor, direction in terms:
        for j, t in direction.items():
            total[j] = total[j] + factor * t if j in total else factor * t
    return total


def added(graph: Graph, i: int, a: Sparse, b: Sparse) -> Sparse:
    """Return a + b, sparse adjoints {direction: value} of node i; of a table the values are tables."""
    if not (m := columns_of(graph, i)):
        return combined([(1.0, a), (1.0, b)])
    return a | {d: sum_of(graph.call, m, a[d], t) if d in a else t for d, t in b.items()}


def divided(given: list[Expr], pattern: tuple[tuple[int, ...], ...]) -> list[list[Expr]]:
    """Return numbers as many together as the pattern has directions."""
    numbers = iter(given)
    return [[next(numbers) for _ in ways] for ways in pattern]


def zero(x: Any) -> bool:
    return not isinstance(x, Expr) and x == 0
