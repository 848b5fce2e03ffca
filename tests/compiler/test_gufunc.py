"""engine.gufunc: broadcasting, layouts, threads, out=, and what it says about bad input."""

import gc
import re
import sys
import threading
import warnings

import numpy as np
import pytest

import engine
from engine import ops


@pytest.fixture
def threads():
    before = engine.get_threads()
    yield engine.set_threads
    engine.set_threads(before)


@pytest.fixture(scope="module")
def f():
    def pushed(x, A, s):
        return np.sin(A @ x) * s, x @ x

    return engine.gufunc(pushed, "(n),(m,n),()->(m),()", n=11, m=3)


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    return rng.standard_normal((1000, 11)), rng.standard_normal((1000, 3, 11)), rng.standard_normal(1000)


def same(results, expected):
    return all(np.asarray(r).tobytes() == np.ascontiguousarray(e).tobytes() for r, e in zip(results, expected, strict=True))


def test_values(f, arrays):
    x, A, s = arrays
    y, n = f(x, A, s)
    assert y.shape == (1000, 3) and n.shape == (1000,)
    assert np.allclose(y, np.sin(np.matvec(A, x)) * s[:, None], rtol=1e-13, atol=1e-14) and np.allclose(n, np.vecdot(x, x), rtol=1e-14)


def test_a_row_is_the_same_bits_everywhere(f, arrays, threads):
    whole = f(*arrays)
    for n in (1, 2, 3):
        threads(n)
        for rows in (1, 2, 7, 8, 9, 15, 16, 17, 1000):
            assert same(f(*[a[:rows] for a in arrays]), [w[:rows] for w in whole])
    threads(2)
    big = [np.tile(a, (200,) + (1,) * (a.ndim - 1)) for a in arrays]  # large enough for threads
    assert same(f(*big), [np.tile(w, (200,) + (1,) * (w.ndim - 1)) for w in whole])
    for k in (0, 5, 999):
        assert same(f(*[a[k] for a in arrays]), [w[k] for w in whole])


def test_out(f, arrays):
    y, n = np.empty((1000, 3)), np.empty(1000)
    result = f(*arrays, out=(y, n))
    assert result[0] is y and result[1] is n and same((y, n), f(*arrays))
    strided = np.empty((1000, 6))[:, ::2]
    f(*arrays, out=(strided, n))
    assert (strided == y).all()
    single = engine.gufunc(lambda x: x + 1.0, "(n)->(n)", n=2)
    z = np.zeros(2)
    assert single([1.0, 2.0], out=z) is z and (z == [2, 3]).all()
    assert single([1.0, 2.0], z) is z


def test_shapes_of_all_kinds():
    f = engine.gufunc(lambda x: x * 2.0, "(a,b,c)->(a,b,c)", a=2, b=3, c=4)
    x = np.arange(5 * 24.0).reshape(5, 2, 3, 4)
    assert (f(x) == 2 * x).all() and (f(x.transpose(0, 1, 2, 3)[..., ::-1]) == 2 * x[..., ::-1]).all()
    swapped = np.ascontiguousarray(x.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    assert (f(swapped) == 2 * x).all()
    assert f(x[:0]).shape == (0, 2, 3, 4)
    empty = engine.gufunc(lambda x: x, "(n)->(n)", n=0)
    assert empty(np.zeros((4, 0))).shape == (4, 0) and empty(np.zeros(0)).shape == (0,)
    constant = engine.gufunc(lambda x: np.array([1.0, 2.0]), "()->(k)")
    assert (constant(np.zeros(3)) == [[1, 2]] * 3).all() and (constant(0.0) == [1, 2]).all()


def test_types_are_cast():
    f = engine.gufunc(lambda x: x / 2.0, "(n)->(n)", n=2)
    for x in ([1, 2], np.array([1, 2], dtype=np.int8), np.array([1, 2], dtype=np.float32), (1.0, 2), np.array([True, False]) + 0):
        assert f(x).dtype == np.float64 and (f(x) == np.asarray(x) / 2).all()
    assert isinstance(engine.gufunc(lambda x: x @ x, "(n)->()", n=2)([3.0, 4.0]), float)


@pytest.mark.parametrize(("call", "message"), [
    (lambda f, x, A, s: f(x, A), "pushed got 2 arguments; expected 3: x, A, s"),
    (lambda f, x, A, s: f(x[:, :3], A, s), "pushed: x has shape (1000, 3); expected (..., 11)"),
    (lambda f, x, A, s: f(x, A[0, 0], s), "pushed: A has shape (11,); expected (..., 3, 11)"),
    (lambda f, x, A, s: f(x[:5], A[:4], s[:5]), "the batches of x (5, 11), A (4, 3, 11), s (5,) do not broadcast"),
    (lambda f, x, A, s: f(x.astype(complex), A, s), "pushed: x holds complex128; expected real numbers"),
    (lambda f, x, A, s: f("x", A, s), "pushed: x holds <U1; expected real numbers"),
    (lambda f, x, A, s: f([[1.0], [2.0, 3.0]], A, s), "pushed: x is not rectangular"),
    (lambda f, x, A, s: f(x, A, s, out=(np.empty(3), np.empty(1000))), "out has shape (3,) of float64; expected an array of shape (1000"),
])  # fmt: skip
def test_bad_arguments(f, arrays, call, message):
    with pytest.raises(engine.ArgumentError, match=re.escape(message)):
        call(f, *arrays)


@pytest.mark.parametrize(("fn", "signature", "sizes", "message"), [
    (3, "()->()", {}, "gufunc got 3; expected a function"),
    (np.sin, "n->n", {}, "expected shapes in parentheses"),
    (np.sin, None, {}, "the signature None; expected a text"),
    (lambda x: x, "(n)->(n)", {}, "the size 'n' of '(n)->(n)' is not given"),
    (lambda x: x, "(n)->(n)", {"n": -1}, "the size n is -1; expected a whole number"),
    (lambda x: x, "(n)->()", {"n": 2}, "returned shape (2,); '(n)->()' promises ()"),
    (lambda x: (x, x), "(n)->(n)", {"n": 2}, "returned 2 arrays; '(n)->(n)' promises 1"),
    (lambda x, y: x, "(n)->(n)", {"n": 2}, "takes 2 arguments; '(n)->(n)' has 1"),
])  # fmt: skip
def test_bad_signatures(fn, signature, sizes, message):
    with pytest.raises(engine.ArgumentError, match=re.escape(message)):
        engine.gufunc(fn, signature, **sizes)


@pytest.mark.parametrize("n", [0, -1, 1.5, "two", True])
def test_bad_thread_counts(n):
    with pytest.raises(engine.ArgumentError, match="expected a whole number of threads"):
        engine.set_threads(n)


def test_what_is_not_finite_is_said():
    f = engine.gufunc(lambda x: 1.0 / x, "()->()")
    with pytest.warns(RuntimeWarning, match="returned NaN or infinity"):
        assert np.isinf(f(0.0))
    with pytest.warns(RuntimeWarning, match="returned NaN or infinity"):
        assert np.isnan(f([1.0, np.nan])[1])
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        f.ufunc(np.zeros(3))


def test_branches_not_taken_do_not_warn():
    f = engine.gufunc(lambda x: ops.where(x > 0, np.log(x), 1.0 / ops.where(x > 0, 1.0, x * x - 4.0)), "()->()")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (f(np.array([1.0, -1.0, 2.0])) == [0.0, -1 / 3, np.log(2.0)]).all()
        assert f(1.0) == 0.0


def test_calls_from_many_threads(f, arrays):
    whole, wrong = f(*arrays), []

    def work(k):
        for i in range(k, 1000, 7):
            alone, many = f(*[a[i] for a in arrays]), f(*[a[:100] for a in arrays])
            if not (same(alone, [w[i] for w in whole]) and same(many, [w[:100] for w in whole])):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [w.start() for w in workers], [w.join() for w in workers]
    assert not wrong


def test_nothing_leaks(f, arrays):
    x, A, s = arrays[0][0].copy(), arrays[1][0].copy(), np.array(0.5)
    for _ in range(100):
        f(x, A, s)
    gc.collect()
    before = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(None)
    for _ in range(10_000):
        f(x, A, s)
    gc.collect()
    after = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(None)
    assert after[1] == before[1] and abs(after[0] - before[0]) < 50 and abs(after[2] - before[2]) < 50


def test_the_ufunc_is_numpys_own(f, arrays):
    assert isinstance(f.ufunc, np.ufunc) and f.ufunc.signature == "(11),(3,11),()->(3),()"
    assert same(f.ufunc(*arrays), f(*arrays))
    assert f.signature == "(n),(m,n),()->(m),()" and "pushed" in repr(f)
