"""Tracing: what is recorded, and what is refused, at whose line, with what to use instead."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import trace, verify
from engine.compiler.expr import Graph


def line_of(text):
    return next(k for k, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith(text))


def decides(x):
    return x if x[0] > 0 else -x  # decides here


def chains(x):
    return x[0] > 0 and x[1] > 0  # chains here


def inverts(x):
    return np.linalg.inv(np.array([[x[0], x[1]], [x[1], x[0]]]))  # inverts here


def measures(x):
    return np.linalg.svd(np.outer(x, x))[1]  # measures here


def uses_math(x):
    return math.sin(x[0])  # uses math here


def writes(x):
    y = np.zeros(3)
    y[0] = x[0]  # writes here
    return y


def mixes(x):
    return np.sin(np.array([0.0, x[0]]))  # mixes here


def chooses(x):
    return np.where(x > 0, x, 0.0)  # chooses here


def clips(x):
    return np.maximum(x, 0.5)  # clips here


def indexes(x):
    return np.arange(3.0)[x[0]]  # indexes here


def unpacks(x):
    a, b = x[0]  # unpacks here
    return a + b


@pytest.mark.parametrize(("fn", "place", "advice"), [
    (decides, "decides here", "ops.where"), (chains, "chains here", "ops.where"), (inverts, "inverts here", "ops.solve"),
    (measures, "measures here", "engine.ops"), (uses_math, "uses math here", "ops.sin"), (writes, "writes here", "np.array([...])"),
    (mixes, "mixes here", "engine.ops"), (chooses, "chooses here", "ops.where"), (clips, "clips here", "ops.minimum"),
    (indexes, "indexes here", "structure"), (unpacks, "unpacks here", "one number"),
])  # fmt: skip
def test_what_cannot_be_traced_names_the_line_and_the_way_out(fn, place, advice):
    with pytest.raises(engine.TraceError, match=re.escape(f"{__file__}:{line_of('# ' + place)}: ")) as caught:
        trace(fn, [(3,)])
    assert advice in str(caught.value)


def test_errors_of_the_function_itself_come_through():
    with pytest.raises(KeyError, match="mine"):
        trace(lambda x: {}["mine"], [()])
    with pytest.raises(engine.TraceError, match="returned str 'text'; expected numbers"):
        trace(lambda x: "text", [()])


def test_equal_expressions_are_one_node():
    p = trace(lambda x, y: (x * y + y * x, (x + y) * (y + x)), [(), ()])
    assert p.count() == 4  # x·y, their sum, x + y, its square
    verify(p)


def test_numpy_works_on_traced_arrays():
    rng = np.random.default_rng(0)
    A, x, y = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal(3)

    def f(A, x, y):
        scalars = np.array([x @ y, np.float64(2) * x[0], -x[1] ** 3, np.trace(A), abs(x[2]), np.sqrt(y[0] ** 2)])
        products = np.cross(x, y), np.outer(x, y).ravel(), np.einsum("ij,j->i", A, y)
        return np.concatenate([A @ x, *products, np.block([[A, A.T]]).sum(axis=1), scalars, np.sin(x)])

    program = trace(f, [(3, 3), (3,), (3,)])
    verify(program)
    assert np.allclose(engine.compiler.interpret(program, A, x, y), f(A, x, y), rtol=1e-14, atol=1e-14)


def test_a_traced_value_stays_in_its_own_trace():
    kept = []
    trace(lambda x: kept.append(x) or x, [()])
    with pytest.raises(engine.TraceError, match="another function"):
        trace(lambda x: x + kept[0], [()])


def test_verifier_finds_what_is_wrong():
    program = trace(lambda x, y: ops.where(x < y, x, y), [(), ()])
    verify(program)
    for bad in [("add", 0, 99), ("mul", 0), ("frobnicate", 0, 1), ("and", 0, 1), ("input", 7)]:
        broken = trace(lambda x, y: ops.where(x < y, x, y), [(), ()])
        broken.nodes[-1] = bad
        with pytest.raises(AssertionError):
            verify(broken)


def test_unfolded_graph_keeps_everything():
    assert isinstance(trace(lambda x: x * 0 + 1 * x, [()], fold=False).count(), int)
    assert trace(lambda x: x * 0 + 1 * x, [()]).count() == 0
    assert trace(lambda x: x * 0 + 1 * x, [()], fold=False).count() == 3
    assert Graph().input(0).i == 0
