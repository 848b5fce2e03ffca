"""Dense layers and look-ups as one node each: on floats, interpreted and compiled, alone and in batches, and their derivatives."""

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, BSpline, CubicSpline, PchipInterpolator, RegularGridInterpolator, make_interp_spline

import engine
from engine import ops
from engine.compiler import interpret, verify

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)


def layer(n, m):
    return RNG.normal(size=(n, m)), RNG.normal(size=n)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (8, 8), (9, 4), (16, 1), (37, 20), (70, 33), (4, 0)])
def test_dense_layers(n, m):
    """Within the rounding of m products; a sample the same bits alone and in a batch, with W known and with W given."""
    (W, b), x = layer(n, m), RNG.normal(size=(37, m))
    f = engine.gufunc(lambda x: ops.dense(W, x, b), f"({m})->({n})")
    given = engine.gufunc(ops.dense, f"({n},{m}),({m}),({n})->({n})")
    y, bound = f(x), (m + 2) * EPS * (np.abs(x) @ np.abs(W.T) + np.abs(b))
    assert (np.abs(y - (x @ W.T + b)) <= bound).all() and (np.abs(interpret(f.program, x) - y) <= bound).all()
    np.testing.assert_array_equal(np.array([f(row) for row in x]), y)
    np.testing.assert_array_equal(given(W, x, b), y)
    np.testing.assert_array_equal(np.array([given(W, row, b) for row in x[:3]]), y[:3])
    assert (np.abs(interpret(given.program, W, x, b) - y) <= bound).all()
    verify(f.program)


def test_derivatives_of_dense_layers():
    """W itself, forward and backward; by W and b too; and through a network against differences."""
    W, b = layer(5, 7)
    x = RNG.normal(size=7)
    np.testing.assert_array_equal(engine.jacobian(lambda x: ops.dense(W, x, b))(x), W)
    np.testing.assert_allclose(engine.gradient(lambda x: ops.dense(W, x, b) @ np.arange(5.0))(x), np.arange(5.0) @ W, rtol=20 * EPS)
    y = W @ x + b
    for k, exact in enumerate((2.0 * np.outer(y, x), 2.0 * W.T @ y, 2.0 * y)):
        found = engine.jacobian(lambda W, x, b: np.array([ops.dense(W, x, b) @ ops.dense(W, x, b)]), argument=k)(W, x, b)[0]
        np.testing.assert_allclose(found, exact, rtol=0, atol=50 * EPS * np.abs(exact).max())
        forward = engine.jacobian(lambda *given, k=k: ops.dense(*given), argument=k)(W, x, b)
        np.testing.assert_allclose(np.tensordot(2.0 * y, forward, 1), exact, rtol=0, atol=50 * EPS * np.abs(exact).max())

    def net(x):
        return np.sin(ops.dense(W.T, np.tanh(ops.dense(W, x, b))))

    h = 1e-4
    differences = np.stack([(net(x + h * e) - net(x - h * e)) / (2 * h) for e in np.eye(7)], axis=-1)
    np.testing.assert_allclose(engine.jacobian(net)(x), differences, rtol=0, atol=100 * h * h)
    second = engine.jacobian(lambda x: ops.jacobian(net, x) @ np.arange(7.0))(x)
    exact = engine.jacobian(net)
    differences = np.stack([(exact(x + h * e) - exact(x - h * e)) @ np.arange(7.0) / (2 * h) for e in np.eye(7)], axis=-1)
    np.testing.assert_allclose(second, differences, rtol=0, atol=1e4 * h * h)


def test_a_large_policy_is_a_few_nodes():
    layers = [layer(256, 24), layer(256, 256), layer(256, 256), layer(8, 256)]
    f = engine.gufunc(engine.policy(layers), "(24)->(8)")
    assert len(f.program.nodes) < 7 * 256 and len(f.program.functions) == 4    # two activations: what they read, and what they give


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 100_000])
def test_tables_of_any_length(n):
    """As NumPy's; at breakpoints, between, beyond and NaN; and a large one is as few nodes as a small one."""
    xp = np.cumsum(RNG.uniform(0.1, 1.0, n))
    fp = RNG.normal(size=(n, 2))
    f = engine.gufunc(lambda x: ops.interp(x, xp, fp), "()->(2)")
    at = np.concatenate([xp[:: max(1, n // 50)], RNG.uniform(xp[0] - 1, xp[-1] + 1, 100)])
    expected = np.stack([np.interp(at, xp, fp[:, k]) for k in range(2)], axis=-1)
    bound = 8 * EPS * np.abs(fp).max()
    for found in (f(at), interpret(f.program, at), ops.interp(at, xp, fp), np.array([f(x) for x in at])):
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
    np.testing.assert_array_equal(f(xp[:: max(1, n // 50)]), fp[:: max(1, n // 50)])
    assert len(f.program.nodes) < 30
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert np.isnan(f(np.full(3, np.nan))).all() or n == 1
    if n > 1:
        slope = np.diff(fp[:, 0])[0] / (xp[1] - xp[0])
        np.testing.assert_allclose(engine.gradient(lambda x: ops.interp(x, xp, fp)[0])(0.5 * (xp[0] + xp[1])), slope, rtol=4 * EPS)


def test_tables_of_two_arguments():
    """Against scipy's on a grid; constant beyond its edges."""
    x, y = np.cumsum(RNG.uniform(0.1, 1.0, 30)), np.cumsum(RNG.uniform(0.1, 1.0, 200))
    f = RNG.normal(size=(30, 200))
    g = engine.gufunc(lambda a, b: ops.interp2(a, b, x, y, f), "(),()->()")
    a, b = RNG.uniform(x[0], x[-1], 300), RNG.uniform(y[0], y[-1], 300)
    for found in (g(a, b), interpret(g.program, a, b), np.array([ops.interp2(*at, x, y, f) for at in zip(a, b, strict=True)])):
        expected = RegularGridInterpolator((x, y), f)(np.stack([a, b], axis=-1))
        np.testing.assert_allclose(found, expected, rtol=0, atol=30 * EPS * np.abs(f).max())
    np.testing.assert_allclose(g(x, y[:30]), np.diag(f[:, :30]), rtol=0, atol=8 * EPS * np.abs(f).max())
    np.testing.assert_allclose(g(x[0] - 5.0, y[-1] + 5.0), f[0, -1], rtol=0, atol=8 * EPS * np.abs(f).max())


KNOTS = np.array([0.0, 0.5, 1.5, 2.0, 3.5, 4.0])
VALUES = RNG.normal(size=(6, 2))


@pytest.mark.parametrize("curve", [
    CubicSpline(KNOTS, VALUES), CubicSpline(KNOTS, VALUES, extrapolate=False), PchipInterpolator(KNOTS, VALUES),
    Akima1DInterpolator(KNOTS, VALUES), make_interp_spline(KNOTS, VALUES, k=3), CubicSpline(KNOTS, VALUES).derivative(),
    BSpline(np.array([0.0, 0.0, 0.0, 0.7, 1.0, 2.0, 2.0, 2.0]), VALUES[:5], 2),
], ids=lambda curve: type(curve).__name__)  # fmt: skip
def test_splines(curve):
    """As scipy evaluates them, beyond their ends too, and their derivatives."""
    f = engine.gufunc(lambda x: ops.spline(curve)(x), "()->(2)")
    first, last = (0.0, 2.0) if isinstance(curve, BSpline) and curve.k == 2 else (0.0, 4.0)
    inside, beyond = RNG.uniform(first, last, 50), np.array([first - 0.3, last + 0.3])
    size = np.abs(curve(inside)).max()
    for found in (f(inside), interpret(f.program, inside), ops.spline(curve)(inside)):
        np.testing.assert_allclose(found, curve(inside), rtol=0, atol=1e3 * EPS * size)
    if np.isfinite(curve(beyond)).all():
        np.testing.assert_allclose(f(beyond), curve(beyond), rtol=0, atol=1e3 * EPS * np.abs(curve(beyond)).max())
    slope = engine.jacobian(lambda x: ops.spline(curve)(x))(inside[0])
    np.testing.assert_allclose(slope, curve.derivative()(inside[0]), rtol=0, atol=1e4 * EPS * size)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ops.dense(np.ones((2, 3)), np.ones(2)), r"dense: W has shape \(2, 3\), x \(2,\) and b \(2,\); expected \(n, m\), \(m\)"),
    (lambda: ops.dense(np.ones(3), np.ones(3)), r"dense: W has shape \(3,\)"),
    (lambda: ops.dense([[np.nan]], np.ones(1)), "dense: W holds NaN or infinity"),
    (lambda: ops.interp(0.5, [0.0, 1.0, 1.0], [1.0, 2.0, 3.0]), r"interp: xp\[2\] is not above the one before it"),
    (lambda: ops.interp(0.5, [0.0, 1.0], [1.0, 2.0, 3.0]), r"interp: fp has shape \(3,\); expected \(2, \.\.\.\)"),
    (lambda: ops.interp(0.5, [], []), r"interp: xp has shape \(0,\); expected \(n\), n at least 1"),
    (lambda: ops.interp2(0.5, 0.5, [0.0], [0.0, 1.0], [[1.0, 2.0]]), "interp2: xp and yp have 1 and 2 breakpoints"),
    (lambda: ops.interp2(0.5, 0.5, [0.0, 1.0], [0.0, 1.0], [[1.0, 2.0]]), r"interp2: fp has shape \(1, 2\); expected \(2, 2, \.\.\.\)"),
    (lambda: ops.spline(np.ones(3)), "spline got a ndarray; expected a spline of scipy.interpolate"),
    (lambda: ops.spline(CubicSpline([0, 1, 2], [1.0, 2.0, 1.0], bc_type="periodic")), "spline got a curve that is periodic"),
])  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(engine.EngineError, match=message):
        call()


# ---------------------------------------------------------------- systems with many right sides


def system(n, m, share=0.5):
    """A positive definite matrix with zeros, and right sides."""
    A = RNG.normal(size=(n, n)) * (RNG.uniform(size=(n, n)) < share)
    return A @ A.T + n * np.eye(n), RNG.normal(size=(n, m))


@pytest.mark.parametrize(("n", "m"), [(12, 9), (12, 8), (10, 17), (8, 40), (14, 3), (16, 1), (9, 33)])
def test_systems_with_many_right_sides(n, m, monkeypatch):
    """Within rounding, plain, interpreted and compiled; a sample the same bits alone and in a batch."""
    monkeypatch.setattr(ops.linear, "MANY", 10)
    A, B = system(n, m)
    f = engine.gufunc(ops.solve, f"({n},{n}),({n},{m})->({n},{m})")
    assert [type(k).__name__ for k in f.program.functions] == ["Solves"]
    expected = np.linalg.solve(A, B)
    bound = 8 * n * EPS * np.linalg.cond(A) * np.abs(expected).max()
    for found in (f(A, B), interpret(f.program, A, B), ops.solve(A, B)):
        assert np.abs(found - expected).max() < bound
    scales = np.array([1.0, 2.0, 4.0] * 7)[:, None, None]
    np.testing.assert_array_equal(f(A * scales, B), f(A, B) / scales)
    verify(f.program)


def test_derivatives_of_systems(monkeypatch):
    """Those of the kernel and of what it stands for are the same, forward, backward, and of second order."""
    A, B = system(6, 5, 1.0)
    weights = RNG.normal(size=(6, 5))

    def squares(A, B):
        x = ops.solve(A, B)
        return (x * x * weights).sum()

    def rows(A, B):
        return ops.solve(A, B) @ weights[0]

    def found(many):
        monkeypatch.setattr(ops.linear, "MANY", many)
        return [d(f, argument=k)(A, B) for k in (0, 1) for d, f in ((engine.gradient, squares), (engine.jacobian, rows))] + [
            engine.gradient(lambda A, B: (ops.jacobian(lambda B: rows(A, B), B) ** 2).sum(), argument=0)(A, B)]

    for mine, other in zip(found(1), found(10**9), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-13 * max(1.0, np.abs(other).max()))


@pytest.mark.parametrize("sizes", [(1, 3, 70), (7, 8, 9), (3, 40, 5), (11, 12, 5)])
def test_products_of_matrices(sizes, monkeypatch):
    """A B, its derivatives forward and back, alone, in batches and interpreted; the same bits at any width."""
    monkeypatch.setattr(ops.linear, "MANY", 100)
    n, k, m = sizes
    rng = np.random.default_rng(0)
    A, B = rng.uniform(-1, 1, (5, n, k)), rng.uniform(-1, 1, (5, k, m))
    f = engine.gufunc(lambda A, B: ops.product(A, B), f"({n},{k}),({k},{m})->({n},{m})")
    assert [type(p).__name__ for p in f.program.functions] == ["Products"]
    # an entry is a sum of k products, each of at most 1: k roundings of k at most
    np.testing.assert_allclose(f(A, B), A @ B, atol=k * k * 2.0**-52)
    np.testing.assert_allclose(interpret(f.program, A[0], B[0]), A[0] @ B[0], atol=k * k * 2.0**-52)
    assert (f(A, B)[3] == f(A[3], B[3])).all()
    w = rng.uniform(-1, 1, (n, m))

    def weighed(A, B, s):
        return ops.array([np.sum(w * ops.product(A + s[0] * 0.0, B))])

    slope = engine.gufunc(lambda A, B, s: ops.jacobian(lambda X: weighed(X, B, s), A)[0], f"({n},{k}),({k},{m}),(1)->({n},{k})")
    np.testing.assert_allclose(slope(A[0], B[0], np.zeros(1)), w @ B[0].T, atol=m * m * 2.0**-51)
    along = engine.gufunc(lambda A, B, e: ops.jacobian(lambda e: ops.product((1.0 + e[0]) * A, (1.0 - 3.0 * e[0]) * B), e)[..., 0],
                          f"({n},{k}),({k},{m}),(1)->({n},{m})")  # fmt: skip
    np.testing.assert_allclose(along(A[1], B[1], np.zeros(1)), -2.0 * (A[1] @ B[1]), atol=k * k * 2.0**-49)
