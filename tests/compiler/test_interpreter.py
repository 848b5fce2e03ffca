"""The interpreter, the oracle of compiled code: it is NumPy, on every shape."""

import numpy as np
import pytest

from engine import ops
from engine.compiler import interpret, trace
from engine.compiler.transforms.trace import calling
from tests.compiler.programs import SMOOTH, bits, random_function


@pytest.mark.parametrize("seed", range(20))
def test_it_does_what_the_function_does(seed):
    f = random_function(seed, 25, SMOOTH, ())
    x = np.random.default_rng(seed).uniform(-2, 2, (5, 3, 4))
    results = interpret(trace(f, [(4,)], fold=False), x)
    assert results.shape == (5, 3, 3)
    for at in np.ndindex(5, 3):
        np.testing.assert_allclose(results[at], f(x[at]), rtol=2e-15, atol=1e-15)
        assert bits(interpret(trace(f, [(4,)], fold=False), x[at])) == bits(results[at])


def test_shapes_and_broadcasting():
    def f(A, x, s):
        return A @ x * s, x @ x, np.outer(x, x)[:2], 3.0

    program = trace(f, [(2, 3), (3,), ()])
    rng = np.random.default_rng(0)
    A, x, s = rng.normal(size=(5, 1, 2, 3)), rng.normal(size=(4, 3)), rng.normal()
    y, n, o, c = interpret(program, A, x, s)
    np.testing.assert_allclose(y, np.matvec(A, x) * s, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(n, np.broadcast_to(np.vecdot(x, x), (5, 4)), rtol=1e-14)
    assert o.shape == (5, 4, 2, 3) and c.shape == (5, 4) and (c == 3.0).all() and (o[2, 3, 1] == x[3, 1] * x[3]).all()
    assert [r.shape for r in interpret(program, A[0, 0], x[0], s)] == [(2,), (), (2, 3), ()]
    assert interpret(trace(lambda x: x[:0], [(3,)]), np.zeros((7, 3))).shape == (7, 0)
    assert interpret(trace(lambda x: 2.0, [(0,)]), np.zeros((7, 0))).tolist() == [2.0] * 7
    assert interpret(trace(lambda x: x, [(3,)]), np.zeros((0, 3))).shape == (0, 3)


def test_calls_and_truth():
    """Across a call truth is 1 and 0, as in compiled code: two truths add up to 2."""
    inner = trace(lambda a, b: (a + b, a < b), [(), ()])

    def f(x):
        total, less = calling(inner)(x[0] < x[1], x[1] < x[2])
        return np.array([total, less + less, ops.where(less, 10.0, 20.0), x[0] < x[2]])

    program = trace(f, [(3,)])
    np.testing.assert_array_equal(interpret(program, [[1, 2, 3], [3, 2, 1], [2, 1, 3]]), [[2, 0, 20, 1], [0, 0, 20, 0], [1, 2, 10, 1]])


def test_wrong_arguments_are_errors():
    program = trace(lambda x, y: x + y, [(3,), (3,)])
    with pytest.raises(ValueError):
        interpret(program, np.zeros(3))
    with pytest.raises(ValueError):
        interpret(program, np.zeros((2, 3)), np.zeros((3, 3)))
