"""The table of operations, and the layers of the compiler's files."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from engine import compiler, ops
from engine.compiler import interpret, trace, verify
from engine.compiler.graph.expr import Graph
from engine.compiler.graph.operations import OPERATIONS, ROWS, Operation, operands, renumbered
from engine.compiler.graph.program import Program

ELEMENTWISE = [row for row in ROWS if row.kinds]


def test_names_are_unique_and_structure_has_no_meaning_of_its_own():
    assert len(OPERATIONS) == len(ROWS)
    for row in ROWS:
        assert bool(row.kinds) == (row.numpy is not None) == (row.lower is not None)
        assert not (row.partials and row.chooses)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_a_row_agrees_with_numpy(row: Operation):
    """Operands and result are of the kinds that the row says; a commutative operation is one."""
    x = [True if kind == "t" else 0.25 + 0.5 * k for k, kind in enumerate(row.takes)]
    y = row.numpy(*x)
    assert np.asarray(y).dtype == (bool if row.kinds.endswith("t") else float)
    assert getattr(row.numpy, "nin", len(x)) == len(x)
    if len(x) == 2:
        values = (False, True) if row.takes == "tt" else (0.5, 2.0, -3.0)
        with np.errstate(invalid="ignore"):
            assert all(row.numpy(a, b) == row.numpy(b, a) for a in values for b in values) == row.commutative


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_a_row_is_recorded_as_its_node(row: Operation):
    """From what NumPy calls it; with the partial derivatives of as many operands."""
    graph = Graph()
    x = [graph.input(k) for k in range(len(row.takes))]
    given = [ops.less(x[0], 0.5)] if row.takes[0] == "t" else [x[0]]
    given += [ops.less(y, 0.5) if kind == "t" else y for y, kind in zip(x[1:], row.takes[1:], strict=True)]
    y = graph.make(graph.recorded[row.numpy], *given)
    assert graph.nodes[y.i] == (row.name, *[g.i for g in given])
    verify(Program(graph.nodes, [y.i], [()] * len(x), [()]))
    if row.partials:
        assert len(row.partials(y, *given)) == len(given)


def test_operands_of_structure():
    nodes = {("input", 3): (), ("const", 2.5): (), ("const", 0.0, "-0.0"): (), ("carry", 7, 1): (), ("call", 0, 4, 5): (4, 5),
             ("get", 6, 2): (6,), ("loop", 0, 30, 4, 5): (4, 5), ("call", 1): (), ("fma", 1, 2, 3): (1, 2, 3)}  # fmt: skip
    for node, reads in nodes.items():
        assert operands(node) == reads
        moved = renumbered(node, range(10, 20))
        assert operands(moved) == tuple(i + 10 for i in reads) and renumbered(moved, {i + 10: i for i in reads}) == node


def test_what_has_no_operation_is_refused():
    with pytest.raises(compiler.TraceError, match=r"np\.nextafter of an array with traced values"):
        trace(lambda x: np.nextafter(x, 1.0), [(2,)])
    assert interpret(trace(lambda x: np.arctan2(x, x[::-1]), [(2,)]), [1.0, 1.0]).tolist() == [np.pi / 4] * 2


def test_a_file_imports_from_layers_below_it():
    """As the room's docstring lists them, a line for each folder."""
    room = Path(compiler.__file__).parent
    lines = re.findall(r"^- (\w+): (.*?)(?=^- |\Z)", compiler.__doc__, re.M | re.S)
    layers = [room / (folder if (room / folder).is_dir() else "") / f"{name}.py"
              for folder, names in lines for name in re.findall(r"``(\w+)``", names)]  # fmt: skip
    assert sorted(layers) == sorted(path for path in room.rglob("*.py") if path.stem != "__init__")
    for k, path in enumerate(layers):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("engine.compiler"):
                of = room.parents[1].joinpath(*node.module.split("."))
                files = {(of / alias.name if of.is_dir() else of).with_suffix(".py") for alias in node.names}
                assert files <= {*layers[:k]}, f"{path.stem} imports {files}, which stand above it"
