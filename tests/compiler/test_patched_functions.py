"""NumPy, ``math`` and Python as people write them: compiled and interpreted, a function gives what it gives on floats."""

import functools
import math
import threading
import types
from math import atan2, sin

import numpy as np
import pytest
from numpy import clip, where, zeros

import engine
from engine import ops
from engine.compiler import interpret, trace
from engine.compiler.transforms.trace import pure

WIDE = np.random.default_rng(0).normal(size=(60, 60))
K = np.array([[2.0, 0.3, 0.0], [0.1, 1.5, -0.4], [0.0, 0.2, 3.0]])


def fills_an_array(x):
    y = np.zeros(3)
    y[0] = x[0]
    y[1:] = x[1:] ** 2
    y += K @ x
    return y


def fills_a_matrix(x):
    A = zeros((2, 2))
    A[0, 0], A[1, :] = x[0], x[:2]
    A += np.eye(2) * x[2]
    return A


def writes_by_mask(x):
    y = x.copy()
    y[y > 0.5] = 0.5
    y[(y < 0.0) & (x > -1.0)] = 2.0
    return y


def writes_what_a_mask_chooses(x):
    y, A = x.copy(), np.outer(x, x)
    m = y > 0.5
    y[m] = np.sin(x[m]) * 2.0 + np.sqrt(np.abs(y[m]))
    y[y < 0] *= 3.0
    A[m] = 5.0
    return y + A.sum(axis=0)


def sorts_in_place(x):
    y, A = x.copy(), np.outer(x, [1.0, -2.0])
    y.sort()
    A.sort(axis=0)
    return y + A[:, 1]


def looks_up(x):
    k = np.digitize(x, [-1.0, 0.0, 1.0])
    row = np.take(np.eye(3), np.searchsorted([0.0, 1.0], x[0]), axis=0)
    return np.take([1.0, 2.0, 4.0, 8.0], k) + row + np.digitize(x, [1.0, 0.0, -1.0])


def writes_through_a_view(x):
    A = np.zeros((3, 3))
    diagonal, row = A[[0, 1, 2], [0, 1, 2]], A[1]
    row[2] = x[0]
    A[0][1] = x[1]
    return A + diagonal.sum()


def goes_over_an_array(x):
    total = 0.0
    for a, b in zip(x, x[::-1], strict=True):
        total += math.sin(a) * max(b, 0.0)
    return total


def counts(x):
    return (x > 0).sum() + np.count_nonzero(x < 0.5) + sum(a > 0.1 for a in x) + np.sum(x > 0.3) * 2


def asks_for_floats(x):
    return np.array([float(x[0]), float(abs(x[1]))], dtype=float) + np.asarray(x[:2], dtype=np.float64) + x.astype(float)[1:]


def takes_turns(x):
    best = -np.inf
    for a in x:
        best = max(best, a)
    return min(best, x[0], 0.7) + max(x) - min(abs(a) for a in x)


def has_a_helper(x):
    def saturate(u, most=1.0):
        return np.clip(u, -most, most)

    return np.array([saturate(u) for u in 3.0 * x])


def compares_in_chains(x):
    inside = 1.0 * (-1 < x[0] < 1) + 2.0 * (0.0 <= x[1] <= x[2] < 5) + 4.0 * (3 > x[2] > -1)
    return inside + sum(np.where(-0.5 < a <= 0.5, a, 0.5) for a in x)


def decides_by_truths(x):
    deep = np.any(x > 1.0) | ~np.all(x > -1.5)
    return np.where(deep, x, 0.0) + (x > 0) * x + np.where(any(a > 2 for a in x), 1.0, 2.0) + np.where(all(a > -9 for a in x), 1.0, 2.0)


def looks_at_kinds(x):
    y = np.zeros(3, dtype=x.dtype)
    y[0] = float(x[0])
    known = x.dtype == float and isinstance(x[0], float) and isinstance(x, np.ndarray) and np.isscalar(x[0]) and not isinstance(x[0], int)
    return y + (1.0 if known else 2.0) + np.issubdtype(x.dtype, np.floating) + np.array([1, 2, 3], dtype=float)


WRITTEN = [
    lambda x: np.where(x > 0, x, 0.0), lambda x: np.where((x > 0) & (x < 1), x, -x), lambda x: np.where(x[0] > 0, x, 2.0 * x),
    lambda x: np.clip(x, -1.0, 1.0), lambda x: x.clip(-1.0, [0.1, 0.2, 0.3]), lambda x: np.clip(x[0], None, 0.2),
    lambda x: clip(where(x > 0, x, 0), 0.1, 0.2), lambda x: np.minimum(x, 0.5) + np.maximum(0.1, x[0]) + np.fmax(x, 0.2),
    lambda x: np.sign(x) + np.heaviside(x, 0.5) + np.copysign(2.0, x), lambda x: np.interp(x, [-1.0, 0.0, 1.0], [0.0, 1.0, 4.0]),
    lambda x: np.interp(x[0], [-1, 0, 1], [0, 1, 4]), lambda x: np.interp(x, [0, 1], [0, 1], left=-7.0, right=9.0),
    lambda x: np.hypot(x[0], x[1]) + np.arctan2(x[1], x[2]), lambda x: np.dot(K, x) @ x, lambda x: np.einsum("i,ij,j->", x, K, x),
    lambda x: np.outer(x, x) + np.kron(x, x).reshape(3, 3), lambda x: np.cross(x, [1.0, 0.0, 2.0]), lambda x: np.stack([x, 2 * x], axis=1),
    lambda x: np.concatenate([x, [1.0], K[0]]), lambda x: np.hstack([x, 1.0]) * np.r_[x, 0.5], lambda x: np.block([[K, x[:, None]]]),
    lambda x: np.linalg.norm(x) + np.linalg.norm([x[0], x[1]]) + np.linalg.norm(x, np.inf) + np.linalg.norm(x, 1) + np.linalg.norm(x, 3),
    lambda x: np.linalg.norm(np.outer(x, x), axis=1), lambda x: np.linalg.norm(np.outer(x, x), "fro"),
    lambda x: np.linalg.solve(K + np.diag(x), x), lambda x: np.linalg.solve([[0.0, 1.0], [x[0], x[1]]], [x[2], 1.0]),
    lambda x: np.linalg.inv(K * x), lambda x: np.linalg.det(np.outer(x, x) + K),
    lambda x: np.linalg.cholesky(np.outer(x, x) + 3 * np.eye(3)),
    lambda x: np.linalg.matrix_power(K * x[0], 3), lambda x: np.linalg.eigvalsh(np.eye(3) * 2.0) * x, lambda x: x % 1.0 + 7.5 % x[0],
    lambda x: np.mod(x, 0.7) + np.fmod(x, 0.7) + np.remainder(x, -0.3), lambda x: x // 0.3 + divmod(x[0], 0.7)[1],
    lambda x: np.floor(x) + np.ceil(x) * 10 + np.rint(x) * 100 + np.trunc(x) * 1000 + np.round(x, 1) + round(x[0], 2) + round(x[1]),
    lambda x: np.sinh(x) + np.cosh(x) + np.arcsinh(x) + np.arctanh(x / 9.0) + np.arccosh(1.0 + x * x) + np.cbrt(x),
    lambda x: np.expm1(x * 1e-9) * 1e9 + np.log1p(x * 1e-9) * 1e9 + np.expm1(x) + np.log1p(x * x), lambda x: np.exp2(x) + np.log10(x * x),
    lambda x: np.square(x) + np.power(x, 3) + np.reciprocal(x) + x ** 2 + np.float_power(abs(x), 0.3), lambda x: np.degrees(np.radians(x)),
    lambda x: np.max(x) + x.max() + np.min([0.0, x[1]]) + np.ptp(x) + np.amax(np.outer(x, x), axis=0), lambda x: np.argmax(x) + x.argmin(),
    lambda x: np.sort(x) + np.median(x), lambda x: np.mean(x) + x.mean() + np.std(x) + x.var(ddof=1) + np.prod(x) + np.cumsum(x),
    lambda x: np.select([x < -1, x > 1], [-1.0, x * x], x),
    lambda x: np.piecewise(x, [x < 0, x >= 0.5], [lambda z: -z, 2.0, lambda z: z * z]),
    lambda x: np.nan_to_num(np.where(x > 0, np.nan, x)) + np.isfinite(x) + np.isnan(x), lambda x: np.isclose(x, [0.3, -1.2, 7.0]) * 1.0,
    lambda x: np.isclose(x, [np.inf, -1.2, np.nan]) * 1.0 + math.isclose(x[0], np.inf) + math.isclose(x[0] + np.inf, np.inf),
    lambda x: np.isclose(np.where(x > 0, np.nan, x), [np.nan, np.nan, 1.0], equal_nan=True) * 1.0,
    lambda x: np.allclose(x, x + 1e-12) * 1.0 + np.array_equal(x, x), lambda x: np.sinc(x) + np.logaddexp(x, 0.3),
    lambda x: np.searchsorted([-1.0, 0.0, 1.0], x) + np.digitize(x, [-1.0, 0.0, 1.0]), lambda x: np.maximum.reduce(x) + np.add.reduce(x),
    lambda x: np.maximum.accumulate(x) + np.subtract.outer(x, x)[0], lambda x: np.diff(x) + np.convolve(x, [1.0, 2.0])[1:3],
    lambda x: np.polyval([1.0, 2.0, 3.0], x[0]) + np.trace(np.outer(x, x)) + np.vdot(x, x),
    lambda x: np.roll(x, 1) + x[::-1] + np.tile(x, 1),
    lambda x: np.full(3, x[0]) + np.ones(3) * x[1] + np.zeros_like(x) + np.ones_like(x) + np.full_like(x, 2.0),
    lambda x: math.atan2(x[0], x[1]) + math.sqrt(x[2]) + math.hypot(*x) + math.copysign(1.0, x[1]) + math.exp(x[0]) + math.log(x[2], 3.0),
    lambda x: math.floor(x[0]) + math.fmod(x[1], 0.7) + math.dist(x, [1.0, 2.0, 3.0]) + math.degrees(x[0]) + math.pow(x[2], 1.5) + math.pi,
    lambda x: np.vectorize(lambda a: a * a)(x) + 1.0 * math.isclose(x[0], 0.3) + 1.0 * math.isclose(x[1], 0.3, abs_tol=9.0),
    lambda x: sin(x[0]) * atan2(x[1], 0.3) + abs(x[2]) + pow(x[2], 2), lambda x: x[0].item() + x.copy()[0] + x.T[1] + x.tolist()[2],
    lambda x: [x[0], [x[1]][0]], lambda x: functools.reduce(lambda a, b: a * b, x),
    lambda x: np.array([[np.cos(x[0]), -np.sin(x[0])], [0, 1]]),
    fills_an_array, fills_a_matrix, writes_by_mask, writes_through_a_view, goes_over_an_array, counts, asks_for_floats, takes_turns,
    has_a_helper, compares_in_chains, decides_by_truths, looks_at_kinds,
    writes_what_a_mask_chooses, sorts_in_place, looks_up, lambda x: math.prod(x) + math.remainder(x[0], 0.7) + round(x[0], ndigits=1),
    lambda x: (WIDE @ np.tile(x, 20))[:3] + np.dot(np.tile(x, 20), WIDE)[:3],
    lambda x: np.linspace(x[0], x[1], 5) + np.full_like([0, 1, 2, 3, 4], x[2]),
    lambda x: np.fmod(1e17 * x, 0.1) + np.mod(1e17 * x, -3.7) + (1e17 * x) // 7.0,
    lambda x: max(x[0], -np.inf) + max([1.0, x[1]]) + x[0].real,
]  # fmt: skip


WRITTEN += [
    lambda x: np.concatenate([[0.0, 0.0, 0.0], [x[0]]]),
    lambda x: np.hstack([[x[0]], [1.0, 2.0], []]),
    lambda x: np.concatenate(([x[0], x[1]], [0.5], x)),
    lambda x: np.hstack([x[0], [1.0, x[2]], 0.0]),
    lambda x: np.append([0.0, 1.0], [[x[0], 2.0], [3.0, x[1]]]),
    lambda x: np.concatenate([[[0.0, 1.0], [2.0, x[0]]], [[x[1], x[2]]]]),
]  # lists of unequal lengths


@pytest.mark.parametrize("f", WRITTEN, ids=[f"{k} {f.__name__}" for k, f in enumerate(WRITTEN)])
def test_as_on_floats(f):
    """To some ulp of what is inside: of 1/(1 + x) − 1 and the like nothing better is asked."""
    states = np.array([[0.3, -1.2, 2.0], [-0.4, 0.2, 0.9], [1.5, 0.5, 0.55], [-2.2, -0.6, 3.1]])
    expected = [np.asarray(f(x), dtype=float) for x in states]
    shape = ",".join(map(str, expected[0].shape))
    compiled, program = engine.gufunc(f, f"(3)->({shape})"), trace(pure(f), [(3,)])
    for x, y in zip(states, expected, strict=True):
        for found in (compiled(x), interpret(program, x)):
            np.testing.assert_allclose(found, y, rtol=1e-13, atol=1e-14 * (1.0 + np.abs(y).max()))


def test_everything_is_given_back():
    """Also when the function raises; what stands in for it stays where it is kept, and does what it did."""
    names = {**vars(math)}, {**vars(np)}, {**vars(np.linalg)}, {**globals()}
    kept = {}

    def keeps(x):
        kept["sin"], kept["array"], kept["max"] = math.sin, np.array, max
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        engine.gufunc(keeps, "(3)->(3)")
    now = vars(math), vars(np), vars(np.linalg), globals()
    for before, after in zip(names, now, strict=True):
        assert all(after[name] is x for name, x in before.items()) and set(after) <= {*before, "__warningregistry__"}
    assert kept["sin"](0.5) == math.sin(0.5) and kept["array"]([1.0]).dtype == float and type(kept["array"]([1.0])) is np.ndarray
    assert kept["max"](3, 5) == 5 and kept["max"]([1, 2], key=lambda x: -x) == 1


def test_other_threads_do_not_notice():
    """While one thread traces, others compute."""
    wrong, on = [], threading.Event()

    def compute():
        while not on.is_set():
            a = np.zeros(3)
            if type(a) is not np.ndarray or a.dtype != np.float64 or math.sin(0.5) != 0.479425538604203 or max(1, 2) != 2:
                wrong.append(a)

    others = [threading.Thread(target=compute) for _ in range(2)]
    for thread in others:
        thread.start()
    for _ in range(20):
        engine.gufunc(fills_an_array, "(3)->(3)")
    on.set()
    for thread in others:
        thread.join()
    assert not wrong


def test_results_of_the_engines_own_functions_are_such_arrays_too():
    model = engine.load_urdf(engine.example("free_flyer"))
    robot = engine.compile(model)

    def torques(q):
        tau = robot.rnea(q, q, q)
        tau[tau > 5.0] = 5.0
        return np.where(np.abs(tau) < 0.1, 0.0, np.clip(tau, -3.0, None)) + ops.where(q > 0, 1.0, 0.0).clip(0.2, 0.7)

    q = np.linspace(-1.0, 2.0, model.nv)
    np.testing.assert_allclose(engine.gufunc(torques, "(n)->(n)", n=model.nv)(q), torques(q), rtol=1e-13, atol=1e-13)


def test_helpers_in_other_modules(tmp_path, monkeypatch):
    """Functions, classes and modules of the user's, decorators and code without a module's name."""
    (tmp_path / "my_tools.py").write_text("from math import sin\ndef soft(u):\n    return max(-1.0, min(1.0, u)) * sin(u)\n"
                                          "class Filter:\n    def __call__(self, x):\n        return float(max(x[0], 0.1))\n")
    (tmp_path / "my_more.py").write_text("import functools, my_tools\ndef twice(f):\n    @functools.wraps(f)\n    def g(x):\n"
                                         "        return max(f(x), 0.0) * 2\n    return g\nfilter = my_tools.Filter()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import my_more
    import my_tools

    f = my_more.twice(lambda x: my_tools.soft(x[0]) + my_more.filter(x) + my_tools.Filter()(x))
    names = {}
    exec("def g(x):\n    return max(x[0], 0.5) + min(x)", names)
    for fn in (f, my_tools.Filter(), names["g"]):
        for x in ([0.3, -1.2, 2.0], [-0.4, 0.2, 0.9]):
            np.testing.assert_allclose(engine.gufunc(fn, "(3)->()")(x), fn(np.array(x)), rtol=1e-15)
    assert "max" not in vars(my_tools) and my_tools.sin is math.sin


def test_modules_that_raise_at_names_they_do_not_have():
    """As torch.classes does: a function beside such a module is traced."""
    class Odd(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError(f"no {name}")

    names = {"odd": Odd("odd")}
    exec("def f(x):\n    return max(x[0], 0.5)", names)
    assert engine.gufunc(names["f"], "(3)->()")([0.3, 1.0, 2.0]) == 0.5


def test_derivatives_of_what_is_written():
    """Of a pivoted solution, against the formula d(A⁻¹b) = −A⁻¹ dA A⁻¹ b."""
    def solved(x):
        A = np.zeros((2, 2))
        A[0, 1], A[1] = 1.0, x[:2]
        return np.linalg.solve(A, [x[2], 1.0])

    x = np.array([0.3, -1.2, 2.0])
    A = np.array([[0.0, 1.0], x[:2]])
    y = np.linalg.solve(A, [x[2], 1.0])
    expected = np.column_stack([-np.linalg.inv(A) @ [0, y[0]], -np.linalg.inv(A) @ [0, y[1]], np.linalg.inv(A) @ [1.0, 0.0]])
    np.testing.assert_allclose(engine.jacobian(solved)(x), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [lambda x: np.array([x[0], x[:1]]), lambda x: np.array([[x[0]], [1.0, 2.0]])])
def test_an_array_of_unlike_entries_is_refused_in_words(f):
    with pytest.raises(ValueError, match="inhomogeneous"):
        f(np.ones(3))
    with pytest.raises(engine.TraceError, match=r"entries of unlike shapes .*\(1,\).* cannot be compiled: use"):
        engine.gufunc(f, "(3)->(2)")(np.ones(3))


@pytest.mark.parametrize("f", [lambda x: 1.0 * (-1 < x[0] < x), lambda x: 1.0 * (-1 < x[0] != x[1]), lambda x: 1.0 * (x[1] < x[0] < 1 < 2)])
def test_a_chain_whose_end_is_of_something_else_is_refused(f):
    with pytest.raises(engine.TraceError, match=r"a chain of comparisons in <lambda>.*\(a < x\) & \(x < b\)"):
        engine.gufunc(f, "(3)->()")


def test_a_function_that_changes_is_found_in_the_second_way_too():
    """One that writes into an array of floats is called more often, and still compared with itself."""
    count = iter(range(100))

    def changes(x):
        y = np.zeros(3)
        y[0] = x[0] * next(count)
        return y

    with pytest.raises(engine.TraceError, match="returned something else when it was called again, first in entry"):
        engine.gufunc(changes, "(3)->(3)")
