"""Implicit differentiation of roots: x with r(x, p) = 0, however it was found, has dx = −(∂r/∂x)⁻¹ ∂r/∂p dp.

A ``root`` node holds r as a program ``(x, p) -> r`` and returns x as it is: it costs nothing in machine code, and is asked by derivatives
alone.

Reference: Griewank & Walther, *Evaluating Derivatives*, 2008, ch. 15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.transforms.bodies import extracted, scope_of


def implicit(graph: Graph, residual: Callable[[Any], Any], x: Any) -> np.ndarray:
    """Return x (n) as the root of ``residual(x)`` (n): derivatives by what the residual reads from outside pass."""
    n, start = len(x), len(graph.nodes)
    unknown = [Expr(graph, graph.node(("carry", start, k))) for k in range(n)]
    results = np.asarray(residual(np.array(unknown, dtype=object)), dtype=object)
    if results.shape != (n,):
        raise graph.refuse(f"a residual of shape {results.shape}", f"expected {(n,)}, as many as there are unknowns")
    body, captured = extracted(graph, start, unknown, [graph.number(graph.index(r)) for r in results], False, scope_of(residual))
    given = [*x, *(Expr(graph, i) for i in captured)]
    return np.array(graph.call(body, given, "root"), dtype=object)
