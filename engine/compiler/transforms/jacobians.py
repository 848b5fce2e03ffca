"""Jacobians of programs, as programs, and their structural sparsity."""

from __future__ import annotations

import numpy as np

from engine.compiler.graph.expr import Graph
from engine.compiler.graph.program import Program, is_table, live, size
from engine.compiler.graph.rewrite import RULES, inlined
from engine.compiler.kernels.row_loop import zeros_like
from engine.compiler.transforms.autodiff import given_inputs, reverse
from engine.compiler.transforms.loop_derivatives import derivatives


def jacobian(program: Program, argument: int = 0) -> Program:
    """Return the program of ∂ result / ∂ argument, for each result: (*result's shape, *argument's shape)."""
    graph = Graph(RULES)
    x = given_inputs(graph, program)
    y = inlined(program, graph, x)
    start = sum(size(s) for s in program.shapes_in[:argument])
    shape = program.shapes_in[argument]
    if is_table(shape):                                                        # of one number by rows: rows
        found = reverse(graph, [graph.index(y[0])], [x[start].i]).get((0, 0))
        made = zeros_like(graph.call, program.given[start], x[start]) if found is None else found
        return Program(*live(graph.nodes, [graph.index(made)]), program.shapes_in, [shape], graph.functions, f"jacobian_of_{program.name}")
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
