"""The vocabulary: on floats it is NumPy's, on arrays elementwise, on traced scalars a program of the same meaning."""

import inspect

import numpy as np
import pytest

from engine import ops
from engine.compiler.expr import ARITY
from engine.compiler.interp import interpret
from engine.compiler.trace import trace
from tests.numeric import check_lives, close

X = np.array([-7.5, -3.0, -1.25, -1.0, -0.5, -1e-9, 0.0, 1e-12, 0.25, 0.5, 1.0, 2.0, 3.0, np.pi, 10.0])
#: function of ops -> NumPy's, and a domain for each argument
FUNCTIONS = {
    ops.sqrt: (np.sqrt, np.abs(X)), ops.absolute: (np.abs, X), ops.floor: (np.floor, X), ops.sin: (np.sin, X), ops.cos: (np.cos, X),
    ops.tan: (np.tan, X), ops.arcsin: (np.arcsin, np.sin(X)), ops.arccos: (np.arccos, np.sin(X)), ops.arctan: (np.arctan, X),
    ops.arctan2: (np.arctan2, X, X[::-1]), ops.exp: (np.exp, X), ops.log: (np.log, np.abs(X) + 1e-3), ops.tanh: (np.tanh, X),
    ops.power: (np.power, np.abs(X) + 1e-3, X[::-1]), ops.minimum: (np.minimum, X, X[::-1]), ops.maximum: (np.maximum, X, X[::-1]),
}  # fmt: skip
RELATIONS = {ops.less: np.less, ops.less_equal: np.less_equal, ops.equal: np.equal}
LOGIC = {ops.logical_and: np.logical_and, ops.logical_or: np.logical_or, ops.logical_not: np.logical_not}
NAMES = [f.__name__ for f in FUNCTIONS]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_every_operation_is_tested_here():
    lifted = {f for _, f in inspect.getmembers(ops, callable) if getattr(f, "__doc__", "") and "elementwise" in f.__doc__}
    assert lifted == {*FUNCTIONS, *RELATIONS, *LOGIC, ops.where}
    assert set(ops.NUMPY) == set(ARITY)                                       # the compiler knows exactly these


# ---------------------------------------------------------------- elementwise


@pytest.mark.parametrize("f", FUNCTIONS, ids=NAMES)
def test_functions_are_numpys(f):
    numpys, *domain = FUNCTIONS[f]
    expected = np.array([numpys(*x) for x in zip(*domain, strict=True)])
    one = [f(*map(float, x)) for x in zip(*domain, strict=True)]
    assert all(isinstance(y, float) for y in one)
    boxed = f(*(a.astype(object) for a in domain))                            # object arrays of plain numbers
    assert boxed.dtype == object
    for result in (one, f(*domain), f(*(a.tolist() for a in domain)), boxed.astype(float)):
        np.testing.assert_allclose(result, expected, rtol=3e-16, atol=0)      # NumPy's own vectors differ in the last bit


def test_functions_broadcast():
    assert ops.arctan2(X[:, None], X).shape == (15, 15)
    assert ops.maximum(X.reshape(3, 5), 0.0).shape == (3, 5)
    assert ops.where(X[:, None] < X, X, 0.0).shape == (15, 15)
    assert ops.where(X[:, None] < X, X.astype(object), 0.0).shape == (15, 15)


def test_scalars_stay_scalars():
    assert type(ops.where(True, 1.0, 2.0)) is np.float64
    assert type(ops.sin(1.0)) is np.float64
    assert type(ops.less(1.0, 2.0)) is np.bool
    assert type(ops.norm(np.array([3.0, 4.0]))) is np.float64


def test_relations_and_logic():
    for ours, numpys in RELATIONS.items():
        np.testing.assert_array_equal(ours(X, X[::-1]), numpys(X, X[::-1]))
        assert bool(ours(1.0, 2.0)) is bool(numpys(1.0, 2.0))
    truth = X < 1, X > -1
    for ours, numpys in LOGIC.items():
        few = truth[: numpys.nin]
        np.testing.assert_array_equal(ours(*few), numpys(*few))
    np.testing.assert_array_equal(ops.where(X < 0, -X, X), np.abs(X))


@pytest.mark.parametrize("f", FUNCTIONS, ids=NAMES)
def test_functions_mean_the_same_in_all_lives(f):
    _, *domain = FUNCTIONS[f]
    check_lives(f, *domain, tolerance=5e-16)
    if len(domain) == 2:                                                      # one of them known beforehand
        check_lives(lambda x: f(x, 0.75), domain[0], tolerance=5e-16)
        check_lives(lambda y: f(0.75, y), domain[1], tolerance=5e-16)


@pytest.mark.parametrize("n", [-3, -2, -1, 0, 1, 2, 3, 7, 0.5, 1.5])
def test_powers_in_all_lives(n):
    check_lives(lambda x: ops.power(x, n), np.abs(X) + 0.3, tolerance=1e-15)
    check_lives(lambda x: x**n, np.abs(X) + 0.3, tolerance=1e-15)


def test_relations_mean_the_same_in_all_lives():
    """Ties and zeros of either sign too; truth values come out as 0 and 1 through ``where``."""
    x, y = np.meshgrid([-1.0, -0.0, 0.0, 1e-300, 1.0, 2.0], [-1.0, -0.0, 0.0, 1e-300, 1.0, 2.0])

    def truth(x, y):
        tests = [f(x, y) for f in RELATIONS] + [x < y, x <= y, x > y, x >= y]
        tests += [ops.logical_and(x < 1.0, y < 1.0), ops.logical_or(x < 0.0, y < 0.0), ops.logical_not(x < y)]
        return np.array([ops.where(t, 1.0, 0.0) for t in tests])

    check_lives(truth, x.ravel(), y.ravel(), tolerance=0.0)


def test_where_takes_what_is_asked_for_and_no_nan_beside_it():
    """1/x where x ≠ 0, with the denominator made safe: the way singular points are written."""

    def safe(x):
        zero = ops.equal(x, 0.0)
        return ops.where(zero, 7.0, 1.0 / ops.where(zero, 1.0, x))

    check_lives(safe, X, tolerance=0.0)
    assert safe(0.0) == 7.0
    root = lambda x: ops.where(x < 0.0, -1.0, ops.sqrt(ops.where(x < 0.0, 0.0, x)))
    check_lives(root, X, tolerance=0.0)


# ---------------------------------------------------------------- array


def test_array_of_scalars():
    np.testing.assert_array_equal(ops.array([1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(ops.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [[1, 2], [3, 4], [5, 6]])
    a = np.ones((2, 2))
    assert ops.array(a) is a
    assert ops.array([a[0, ...][0], a[..., 0][0]]).shape == (2,)              # 0-dimensional arrays are scalars


def test_array_of_batches(rng):
    a, b, c, d = rng.standard_normal((4, 5, 3))
    A = ops.array([[a, b], [c, d]])
    assert A.shape == (5, 3, 2, 2)
    np.testing.assert_array_equal(A[2, 1], [[a[2, 1], b[2, 1]], [c[2, 1], d[2, 1]]])
    B = ops.array([[a, 0.0], [1.0, d[:, :1]]])                                # scalars and shorter batches broadcast
    np.testing.assert_array_equal(B[4, 2], [[a[4, 2], 0], [1, d[4, 0]]])
    assert ops.array([[[1.0, a]]]).shape == (5, 3, 1, 1, 2)


def test_array_of_traced_scalars():
    check_lives(lambda x, y: ops.array([[x, 0.0], [x * y, y[()] if isinstance(y, np.ndarray) else y]]), X, X[::-1], tolerance=0.0)


# ---------------------------------------------------------------- norm and solve


def test_norm(rng):
    x = rng.standard_normal((4, 5, 3))
    close(ops.norm(x), np.linalg.norm(x, axis=-1), 5e-16)
    assert ops.norm(np.array([3.0, 4.0])) == 5.0
    check_lives(ops.norm, x.reshape(-1, 3), tolerance=5e-16)


def spd(rng, n, m=10):
    A = rng.standard_normal((m, n, n + 3))
    return A @ np.swapaxes(A, -1, -2)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_solve_is_numpys(rng, n):
    for A in spd(rng, n):
        b, B = rng.standard_normal(n), rng.standard_normal((n, 4))
        bound = 1e-15 * np.linalg.cond(A)
        close(ops.solve(A, b), np.linalg.solve(A, b), bound)
        close(ops.solve(A, B), np.linalg.solve(A, B), bound)
        close(ops.solve(A, A), np.eye(n), bound)
        spoiled = np.where(np.tri(n, k=-1, dtype=bool), np.nan, A)            # the upper triangle is all that is read
        np.testing.assert_array_equal(ops.solve(spoiled, b), ops.solve(A, b))


def test_solve_in_all_lives(rng):
    A, b = spd(rng, 4), rng.standard_normal((10, 4))
    check_lives(ops.solve, A, b, tolerance=1e-15 * np.linalg.cond(A).max())
    check_lives(lambda A, b: ops.solve(np.block([[A, np.zeros((4, 4))], [np.zeros((4, 4)), np.eye(4)]]), np.append(b, b)), A, b,
                tolerance=1e-15 * np.linalg.cond(A).max())  # fmt: skip


def test_solve_keeps_the_zeros_of_a_tree():
    """Of an arrow matrix, numbered from the leaves, nothing fills in: n divisions, 1 + 4 operations a branch and back."""
    n = 8

    def arrow(d, e, b):
        A = np.diag(d)
        A[:-1, -1] = e
        return ops.solve(A, b)

    program = trace(arrow, [(n,), (n - 1,), (n,)])
    assert program.count() <= n + 9 * n
    d, e, b = np.full(n, 9.0), np.arange(1.0, n), np.ones(n)
    full = np.diag(d)
    full[:-1, -1] = full[-1, :-1] = np.minimum(e, 2)
    close(interpret(program, d, np.minimum(e, 2), b), np.linalg.solve(full, b), 1e-14)
