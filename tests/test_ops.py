"""The vocabulary: on floats it is NumPy's, on arrays elementwise, on traced scalars a program of the same meaning."""

import inspect

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.operations import RECORDED, fma_of_floats
from engine.compiler.transforms.trace import trace
from engine.ops.elementwise import c2_of_floats, c3_of_floats, same_floats, stumpff_next
from tests.compiler.programs import bits, stumpff_error
from tests.numeric import ROUNDED, check_lives, close, derivative

X = np.array([-7.5, -3.0, -1.25, -1.0, -0.5, -1e-9, 0.0, 1e-12, 0.25, 0.5, 1.0, 2.0, 3.0, np.pi, 10.0])
#: function of ops -> NumPy's, and a domain for each argument
FUNCTIONS = {
    ops.sqrt: (np.sqrt, np.abs(X)), ops.absolute: (np.abs, X), ops.floor: (np.floor, X), ops.sin: (np.sin, X), ops.cos: (np.cos, X),
    ops.tan: (np.tan, X), ops.arcsin: (np.arcsin, np.sin(X)), ops.arccos: (np.arccos, np.sin(X)), ops.arctan: (np.arctan, X),
    ops.arctan2: (np.arctan2, X, X[::-1]), ops.exp: (np.exp, X), ops.log: (np.log, np.abs(X) + 1e-3), ops.tanh: (np.tanh, X),
    ops.power: (np.power, np.abs(X) + 1e-3, X[::-1]), ops.minimum: (np.minimum, X, X[::-1]), ops.maximum: (np.maximum, X, X[::-1]),
    ops.fmod: (np.fmod, X, X[::-1] + 0.3),
}  # fmt: skip
#: Stumpff functions, by their numbers
SERIES = {ops.c2: 2, ops.c3: 3}
RELATIONS = {ops.less: np.less, ops.less_equal: np.less_equal, ops.equal: np.equal}
LOGIC = {ops.logical_and: np.logical_and, ops.logical_or: np.logical_or, ops.logical_not: np.logical_not}
NAMES = [f.__name__ for f in FUNCTIONS]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_every_operation_is_tested_here():
    lifted = {f for _, f in inspect.getmembers(ops, callable) if getattr(f, "__doc__", "") and "elementwise" in f.__doc__}
    assert lifted == {*FUNCTIONS, *SERIES, *RELATIONS, *LOGIC, ops.where}
    floats = {*(f for f, *_ in FUNCTIONS.values()), *RELATIONS.values(), *LOGIC.values(), np.where}
    arithmetic = {np.add, np.subtract, np.multiply, np.divide, np.negative, fma_of_floats}
    assert floats | arithmetic | {c2_of_floats, c3_of_floats, same_floats} == set(RECORDED)   # the compiler knows exactly these


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
        np.testing.assert_allclose(result, expected, rtol=ROUNDED, atol=0)      # NumPy's own vectors differ in the last bit


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
    check_lives(f, *domain, tolerance=ROUNDED)
    if len(domain) == 2:                                                      # one of them known beforehand
        check_lives(lambda x: f(x, 0.75), domain[0], tolerance=ROUNDED)
        check_lives(lambda y: f(0.75, y), domain[1], tolerance=ROUNDED)


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


def test_stop_gradient_is_the_same_number():
    x = ops.stop_gradient(X)
    assert bits(x) == bits(X) and ops.stop_gradient(2.0) == 2.0 and type(ops.stop_gradient(2.0)) is np.float64
    check_lives(ops.stop_gradient, X, tolerance=0.0)
    assert trace(lambda x: (+x, np.positive(x), np.positive(x[0])), [(2,)]).count() == 0  # and nothing else is it


# ---------------------------------------------------------------- Stumpff functions


#: roundings that a library's sine, up to 2 ulp off, adds to its square
SINE = 8


@pytest.mark.parametrize("k", range(6))
def test_stumpff_functions_are_right_to_rounding(rng, k):
    """c₀…c₅ by their series in exact arithmetic: below 1, at 1, over a turn and beyond."""
    near = np.arange(30) * 2.0**-52
    x = np.concatenate([[0.0, 5e-324, 1e-30], rng.uniform(0, 1, 100), 1 - near / 2, 1 + near, rng.uniform(1, 40, 200), [1e4, 1e6]])
    c = (*ops.stumpff(x), *stumpff_next(x))[k]
    if k >= 2:
        assert stumpff_error(c, x, k) < 3 + SINE
    s = np.sqrt(x)
    if k < 2:                                                                 # of which c₀ and c₁ are made, as 1 − x c_{k+2}
        np.testing.assert_allclose(c, np.cos(s) if k == 0 else np.sinc(s / np.pi), rtol=0, atol=2e-15)
    assert c[0] == [1, 1, 1 / 2, 1 / 6, 1 / 24, 1 / 120][k]
    assert [float((*ops.stumpff(t), *stumpff_next(t))[k]) for t in x[:50].tolist()] == c[:50].tolist()


def test_stumpff_functions_in_all_lives(rng):
    x = np.concatenate([[0.0, 1e-9, 0.9999999, 1.0, 1.0000001], rng.uniform(0, 1, 10), rng.uniform(1, 20, 10)])
    check_lives(lambda x: np.array([*ops.stumpff(x), stumpff_next(x)[0]]), x, tolerance=3e-15)
    check_lives(lambda x: stumpff_next(x)[1], x, tolerance=2e-14)         # from 1/6 − c₃, 1/20 of it at 1
    for f, k in SERIES.items():
        boxed = f(x.astype(object))                                           # object arrays of plain numbers
        assert boxed.dtype == object and stumpff_error(boxed, x, k) < 3 + SINE


def test_stumpff_functions_of_extremes():
    for f in SERIES:                                                          # warnings are errors here
        assert 0 <= f(1e45) < 1e-44 and np.isnan(f(np.nan)) and type(f(0.5)) is np.float64
        with pytest.warns(RuntimeWarning, match="invalid"):
            assert np.isnan(f(np.inf))


# ---------------------------------------------------------------- array


def test_array_of_scalars():
    np.testing.assert_array_equal(ops.array([1.0, 2.0]), [1.0, 2.0])
    assert ops.array([]).shape == (0,) and ops.array([[], []]).shape == (2, 0)
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


# ---------------------------------------------------------------- jacobian, largest, lu_solve, root


def test_jacobian_on_floats_and_traced(rng):
    """By differences to 1e-10 of the function's size, and exactly; of one number too; at sizes from 1e-3 to 1e3."""
    f = lambda x: np.array([ops.sin(x[0]) * x[1], x[1] * x[1] + x[2], 3.0, ops.exp(x[0])])
    by_hand = lambda x: np.array([[np.cos(x[0]) * x[1], np.sin(x[0]), 0], [0, 2 * x[1], 1], [0, 0, 0], [np.exp(x[0]), 0, 0]])
    x = rng.uniform(-1, 1, (10, 3)) * [1, 1, 1000]
    for row in x:
        close(ops.jacobian(f, row), by_hand(row), 1e-8 if abs(row[2]) > 1 else 1e-10)
    exact = trace(lambda x: ops.jacobian(f, x), [(3,)])
    close(interpret(exact, x), np.array([by_hand(row) for row in x]), 1e-15, 10)
    check_lives(lambda x: ops.jacobian(lambda x: x @ x, x), x[:, :2], tolerance=1e-10)
    close(ops.jacobian(lambda x: x * x, 1e-3 * x[0, :2]), np.diag(2e-3 * x[0, :2]), 1e-8)


def test_largest():
    assert ops.largest(np.array([1.0, -3.0, 2.0])) == 3.0 and ops.largest([]) == 0.0
    assert np.isnan(ops.largest(np.array([1.0, np.nan, 2.0]))) and ops.largest(np.array([1.0, -np.inf])) == np.inf
    check_lives(ops.largest, np.stack([X, X[::-1], 0.5 * X], axis=-1), tolerance=0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_lu_solve_is_numpys(rng, n):
    """Of matrices in which the diagonal prevails, or with a positive definite symmetric part; not symmetric."""
    skew = rng.standard_normal((10, n, n))
    dominant = rng.uniform(-1, 1, (10, n, n)) + (n + 1) * np.diag(rng.choice([-1.0, 1.0], n))
    for A in (*(spd(rng, n) + skew - np.swapaxes(skew, 1, 2)), *dominant):
        b = rng.standard_normal(n)
        close(ops.lu_solve(A, b), np.linalg.solve(A, b), 2e-15 * np.linalg.cond(A))
    check_lives(ops.lu_solve, dominant, rng.standard_normal((10, n)), tolerance=2e-15 * np.linalg.cond(dominant).max())


@pytest.mark.parametrize("factor", [ops.LDL, ops.LU])
def test_factors_given_again_solve_the_same_system(rng, factor):
    """And what is zero by structure in them costs nothing."""
    A, b = spd(rng, 4)[0], rng.standard_normal(4)
    np.testing.assert_array_equal(factor.of(*factor(A).numbers).solve(b), factor(A).solve(b))
    close(factor.of(*factor(A).numbers).solve(b), np.linalg.solve(A, b), 2e-15 * np.linalg.cond(A))
    diagonal = lambda d, b: factor.of(*factor(np.diag(d)).numbers).solve(b)
    assert trace(diagonal, [(4,), (4,)]).count() <= 8


def weighed(x, a, calls):
    """Σ of several solutions with one matrix, by one function of them or line by line."""
    A = ops.LDL(np.diag(a) + np.ones((3, 3)))
    solved = ops.subroutine(lambda b, w: A.solve(b * w) + ops.sin(a)) if calls else lambda b, w: A.solve(b * w) + ops.sin(a)
    y = solved(x, 2.0)
    z = ops.when(x[0] > 0.0, lambda: solved(y, x[1]), y)
    return solved(z, x[0]), y


def test_a_subroutine_is_compiled_once_and_reads_what_is_outside(rng):
    """The same numbers and derivatives as its lines written out; what does not depend on its arguments is computed once, outside."""
    x, a = rng.standard_normal((10, 3)), rng.uniform(1.0, 2.0, (10, 3))
    program = trace(lambda x, a: weighed(x, a, True), [(3,), (3,)])
    inside = [f for f in program.functions if f.name != "loop"] + [f for f in program.functions if f.name == "loop"]
    assert sum(n[0] == "call" for n in program.nodes) == 2 and not any(n[0] == "sin" for f in inside for n in f.nodes)
    assert sum(n[0] == "sin" for n in program.nodes) == 3
    for row in zip(x, a, strict=True):
        for y, z in zip(weighed(*row, True), weighed(*row, False), strict=True):
            np.testing.assert_array_equal(y, z)
    check_lives(lambda x, a: weighed(x, a, True), x, a, tolerance=1e-14)
    of = lambda calls: engine.jacobian(lambda p: weighed(p[:3], p[3:], calls)[0])(np.concatenate([x[0], a[0]]))
    close(of(True), of(False), 1e-13)


def kepler(M, e, limit=12):
    """E of E − e sin E = M."""
    x, converged = ops.root(lambda E: E - e * ops.sin(E) - M, np.array([M]), limit=limit)
    return x[0], ops.where(converged, 1.0, 0.0)


def test_root_is_right_to_rounding_in_all_lives():
    E, e = (a.ravel() for a in np.meshgrid(np.linspace(0.1, 3.1, 15), np.linspace(0.0, 0.7, 8)))
    M = E - e * np.sin(E)
    results = np.array([kepler(*row) for row in zip(M, e, strict=True)])
    np.testing.assert_allclose(results[:, 0], E, rtol=0, atol=2e-15 / 0.3)    # M is wrong by an ulp; dE/dM = 1/(1 − e cos E)
    assert results[:, 1].all()
    check_lives(kepler, M, e, tolerance=3e-15)


def test_derivatives_of_a_root_are_the_implicit_function_theorem_s():
    """Kepler's by hand, and those of a system: −(∂r/∂x)⁻¹ ∂r/∂p, whatever the guess, which has none."""
    E, e = 1.3, 0.6
    J = engine.jacobian(lambda p: np.array(kepler(p[0], p[1])))([E - e * np.sin(E), e])
    close(J[0], np.array([1.0, np.sin(E)]) / (1.0 - e * np.cos(E)), 1e-14)
    assert not J[1].any()                                                     # whether it converged has none

    r = lambda x, p: np.array([x[0] + 0.3 * ops.sin(x[1]) - p[0] * p[1], x[1] + 0.2 * x[0] * x[1] - p[1], 2 * x[2] + x[0] - ops.exp(p[0])])
    solution = lambda p, guess: ops.root(lambda x: r(x, p), guess)[0]
    p = np.array([0.7, 1.1])
    x = solution(p, np.ones(3))
    by_x, by_p = ops.jacobian(lambda x: r(x, p), x), ops.jacobian(lambda p: r(x, p), p)
    for guess in (lambda p: np.ones(3), lambda p: np.array([p[0], p[1] * p[1], 0.5])):
        J = engine.jacobian(lambda p: solution(p, guess(p)))(p)               # forward; below, reverse
        close(J, -np.linalg.solve(by_x, by_p), 1e-9)                          # as good as those differences
        close(engine.gradient(lambda p: solution(p, guess(p)) @ x)(p), x @ J, 1e-14)
        close(J, np.stack([derivative(lambda t: solution(p + t * d, guess(p))) for d in np.eye(2)], -1), 1e-12)


@pytest.mark.parametrize("given", [True, False])
def test_newtons_method_converges_quadratically(given):
    """Errors of x² = a: e' = e²/2x, until the step that is the last; given the derivative, on floats too."""
    seen = []

    def residual(x):
        seen.append(float(x[0]))
        return x * x - 7.0

    x, converged = ops.root(residual, np.array([3.0]), derivative=(lambda x: np.diag(2.0 * x)) if given else None)
    assert converged and abs(x[0] - np.sqrt(7.0)) <= 3 * ROUNDED
    if given:
        error = np.array(seen) - np.sqrt(7.0)
        assert len(seen) == 5                                                 # 0.35, 2e-2, 8e-5, 1e-9: that step is < 1e-8; and the last
        np.testing.assert_allclose(error[1:4], (error[:3] ** 2) / (2.0 * np.array(seen[:3])), rtol=1e-5)


@pytest.mark.parametrize("residual", [lambda x: ops.sin(x) + 0.1 * x, lambda x: x + x * x, lambda x: np.array([[3.1, 0.2], [1, 2]]) @ x])
def test_a_root_at_zero_is_found_as_others_are(residual):
    """Where no step is small relative to x. Derivatives by differences, as on floats, leave 1e-11 of the error at each."""
    f = lambda x: (lambda y, converged: np.array([*y, converged * 1.0]))(*ops.root(residual, x))
    for x in ([1.0, 0.7], [0.0, 0.0], [0.0, 1e-20]):
        for life in (f, engine.gufunc(f, "(2)->(3)")):
            *y, converged = life(np.array(x))
            assert converged and np.abs(y).max() <= 1e-60


def test_a_root_that_is_not_found_is_reported():
    square = lambda a: ops.root(lambda x: x * x - a, np.array([1.5]))
    with np.errstate(all="ignore"):
        assert square(2.0)[1] and not square(-2.0)[1] and not square(np.nan)[1]
        f = engine.gufunc(lambda a: (*square(a)[0], square(a)[1] * 1.0), "()->(),()")
        assert f(np.array([2.0, -2.0, np.nan, 9.0, np.inf]))[1].tolist() == [1, 0, 0, 1, 0]
        for limit, enough in ((2, 0), (8, 1)):
            for life in (kepler, engine.gufunc(lambda M, e: kepler(M, e, limit), "(),()->(),()")):
                assert (life(1.0, 0.7, limit) if life is kepler else life(1.0, 0.7))[1] == enough


# ---------------------------------------------------------------- norm and solve


def test_norm(rng):
    x = rng.standard_normal((4, 5, 3))
    close(ops.norm(x), np.linalg.norm(x, axis=-1), ROUNDED)
    assert ops.norm(np.array([3.0, 4.0])) == 5.0
    check_lives(ops.norm, x.reshape(-1, 3), tolerance=ROUNDED)


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


# ---------------------------------------------------------------- sign, clip, hypot, mod, interp

XP = np.array([-2.0, -0.5, 0.25, 1.0, 4.0])
FP = np.array([[1.0, 0.1], [-3.0, 0.2], [0.3, 1e6], [7.7, -4.0], [0.0, 1 / 3]])
#: function of ops -> NumPy's, and a domain for each argument
COMPOSED = {
    "sign": (ops.sign, np.sign, X), "clip": (lambda x: ops.clip(x, -1.0, 2.0), lambda x: np.clip(x, -1.0, 2.0), X),
    "clip between": (ops.clip, np.clip, X, X - 1.0, X[::-1] + 20.0), "hypot": (ops.hypot, np.hypot, X, X[::-1]),
    "hypot of the large": (ops.hypot, np.hypot, 1e200 * X, 1e199 * X[::-1]),
    "hypot of the small": (ops.hypot, np.hypot, 1e-200 * X, 0.0 * X),
    "mod": (lambda x: ops.mod(x, 1.75), lambda x: np.mod(x, 1.75), X + 0.1),
    "mod of negatives": (lambda x: ops.mod(x, -0.5), lambda x: np.mod(x, -0.5), X + 0.1),
    "%": (lambda x: x % 2.5, lambda x: np.mod(x, 2.5), X + 0.1), "//": (lambda x: x // 2.5, lambda x: np.floor_divide(x, 2.5), X + 0.1),
    "2.5 %": (lambda x: 2.5 % x, lambda x: np.mod(2.5, x), X[7:] + 0.3),
    "interp": (lambda x: ops.interp(x, XP, FP[:, 0]), lambda x: np.interp(x, XP, FP[:, 0]), X),
    "interp of arrays": (lambda x: ops.interp(np.array([x, 2.0 * x]), XP, FP[:, 0]), lambda x: np.interp([x, 2.0 * x], XP, FP[:, 0]), X),
    "interp of rows": (lambda x: ops.interp(x, XP, FP), lambda x: np.array([np.interp(x, XP, f) for f in FP.T]), X),
    "interp of one point": (lambda x: ops.interp(x, [1.0], [3.0]), lambda x: np.interp(x, [1.0], [3.0]), X),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_functions_are_numpys_in_all_lives(name):
    """Rounded three times; of x % y to rounding of x."""
    f, numpys, *domain = COMPOSED[name]
    rows = list(zip(*(d.tolist() for d in domain), strict=True))
    tolerance = 2e-14 if "%" in name or "mod" in name else 3 * ROUNDED
    close(np.array([f(*row) for row in rows]), np.array([numpys(*row) for row in rows]), tolerance, len(rows))
    check_lives(f, *domain, tolerance=tolerance)


def test_composed_functions_of_arrays_and_extremes():
    np.testing.assert_array_equal(ops.sign(X), np.sign(X))
    np.testing.assert_array_equal(ops.clip(X, -1.0, X[::-1]), np.clip(X, -1.0, X[::-1]))
    for f in (ops.sign, lambda x: ops.clip(x, 0.0, 1.0), lambda x: ops.hypot(x, 1.0), lambda x: ops.interp(x, XP, FP[:, 0])):
        with np.errstate(invalid="ignore"):
            assert np.isnan(f(np.nan)) and np.isnan(engine.gufunc(f, "()->()")(np.nan))
    assert ops.hypot(np.inf, 1.0) == np.inf and ops.hypot(0.0, 0.0) == 0.0
    assert ops.interp(np.inf, XP, FP[:, 0]) == 0.0 and ops.interp(-np.inf, XP, FP[:, 0]) == 1.0
    below = np.nextafter(0.3, 0.0)
    assert 0.0 <= ops.mod(below, 0.1) <= 0.1 and 0.0 <= ops.mod(-1e-20, 1.0) <= 1.0


def test_interp_is_its_table_at_the_breakpoints_to_the_bit(rng):
    for shape in ((), (2,), (2, 3)):
        xp, fp = np.cumsum(rng.uniform(1e-3, 1.0, 40)), rng.standard_normal((40, *shape))
        compiled = engine.gufunc(lambda x, xp=xp, fp=fp: ops.interp(x, xp, fp), f"()->({','.join(map(str, shape))})")
        assert bits(ops.interp(xp, xp, fp)) == bits(fp) == bits(compiled(xp))
        assert ops.interp(xp.reshape(8, 5), xp, fp).shape == (8, 5, *shape)
        close(compiled(xp + 0.01), ops.interp(xp + 0.01, xp, fp), 1e-14)


def test_derivatives_of_composed_functions():
    """By hand; at a breakpoint that of the piece after it, beyond the ends 0."""
    slope = engine.gradient(lambda x: ops.interp(x, XP, FP[:, 0]))
    slopes = np.diff(FP[:, 0]) / np.diff(XP)
    np.testing.assert_allclose([slope(x) for x in (XP[:-1] + XP[1:]) / 2], slopes, rtol=1e-15)
    np.testing.assert_allclose([slope(x) for x in XP], [*slopes, 0.0], rtol=1e-15)
    assert slope(-9.0) == slope(9.0) == 0.0
    assert [engine.gradient(ops.sign)(x) for x in (-2.0, 0.0, 3.0)] == [0.0, 0.0, 0.0]
    assert [engine.gradient(lambda x: ops.clip(x, -1.0, 1.0))(x) for x in (-2.0, 0.3, 3.0)] == [0.0, 1.0, 0.0]
    length = engine.gradient(lambda x: ops.hypot(x[0], x[1]))
    for x in ([3.0, 4.0], [2.0, 2.0], [-2.0, 2.0], [0.0, -3.0], [3e200, -4e200]):
        close(length(x), np.array(x) / np.hypot(*x), 1e-14)
    assert length([0.0, 0.0]).tolist() == [0.0, 0.0]
    twice = engine.jacobian(lambda x: ops.jacobian(lambda x: ops.hypot(x[0], x[1]), x))([3.0, 4.0])
    close(twice, np.array([[16.0, -12.0], [-12.0, 9.0]]) / 125, 1e-14)
    close(engine.gradient(lambda x: ops.mod(x[0], x[1]))([7.5, 2.0]), np.array([1.0, -3.0]), ROUNDED)


@pytest.mark.parametrize(("xp", "fp", "text"), [
    ([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], r"xp\[2\] is not above the one before it; expected increasing numbers"),
    ([0.0, 1.0], [1.0, 2.0, 3.0], r"fp has shape \(3,\); expected \(2, \.\.\.\)"),
    ([], [], "n at least 1"), (1.0, 2.0, r"xp has shape \(\)"), ([0.0, np.nan], [0.0, 1.0], "xp holds NaN"),
    ([0.0, 1.0], ["a", "b"], "fp is .*; expected numbers"),
])  # fmt: skip
def test_tables_that_are_none(xp, fp, text):
    with pytest.raises(engine.EngineError, match=f"interp: {text}|{text}"):
        ops.interp(0.5, xp, fp)


def test_tables_are_known_when_tracing():
    with pytest.raises(engine.EngineError, match=r"interp: (xp|fp) is traced; expected tables that are known when tracing"):
        trace(lambda x: ops.interp(0.5, [0.0, 1.0], x), [(2,)])
