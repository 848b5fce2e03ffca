"""engine.gufunc: broadcasting, layouts, threads, out=, references, and what it says about bad input."""

import copy
import functools
import gc
import inspect
import itertools
import multiprocessing
import os
import pickle
import pydoc
import re
import subprocess
import sys
import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import trace
from engine.compiler.gufunc import ArgumentError, Gufunc, gufunc
from tests.compiler.programs import bits


@pytest.fixture
def threads(monkeypatch):
    """Sets the number of threads, for batches of any size."""
    before = engine.get_threads()
    monkeypatch.setattr(sys.modules[Gufunc.__module__], "WORTH_THREADS", 1)
    yield engine.set_threads
    engine.set_threads(before)


def pushed(x, A, s):
    """A push."""
    return np.sin(A @ x) * s, x @ x


@pytest.fixture(scope="module")
def f():
    return engine.gufunc(pushed, "(n),(m,n),()->(m),()", n=11, m=3)


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    return rng.standard_normal((1000, 11)), rng.standard_normal((1000, 3, 11)), rng.standard_normal(1000)


def same(results, expected):
    return all(np.shape(r) == np.shape(e) and bits(r) == bits(e) for r, e in zip(results, expected, strict=True))


def test_values(f, arrays):
    x, A, s = arrays
    y, n = f(x, A, s)
    assert y.shape == (1000, 3) and n.shape == (1000,) and y.dtype == n.dtype == np.float64
    np.testing.assert_allclose(y, np.sin(np.matvec(A, x)) * s[:, None], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(n, np.vecdot(x, x), rtol=1e-14)


# ---------------------------------------------------------------- the same bits everywhere


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 15, 16, 17, 33, 1000])
def test_a_row_is_the_same_bits_in_any_batch_on_any_number_of_threads(f, arrays, threads, n, rows):
    alone = [f(*[a[k] for a in arrays]) for k in range(rows)]
    threads(n)
    y, s = f(*[a[:rows] for a in arrays])
    assert same((y, s), [np.array(r) for r in zip(*alone, strict=True)])
    last = f(*[a[-rows:] for a in arrays])
    assert same([r[-1] for r in last], f(*[a[-1] for a in arrays]))


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "all axes reversed": lambda a: np.flip(np.flip(a).copy()),
    "every third": lambda a: np.repeat(a, 3, axis=0)[::3],
    "columns apart": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "axes turned": lambda a: np.moveaxis(np.moveaxis(a, 0, -1).copy(), -1, 0),
    "unaligned": lambda a: np.frombuffer(b"?" + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(a.shape),
    "swapped bytes": lambda a: a.astype(">f8"),
    "read only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "subclass": lambda a: a.copy().view(type("Sub", (np.ndarray,), {})),
    "unpickled": lambda a: pickle.loads(pickle.dumps(a)),
    "with metadata": lambda a: a.astype(np.dtype(np.float64, metadata={"unit": "m"})),
    "of a type that is equal": lambda a: a.view(np.dtype("f8").newbyteorder("<")),
    "nested lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_same_bits(f, arrays, layout, threads):
    threads(1)
    arrays = [a[:37] for a in arrays]
    whole = f(*arrays)
    moved = [LAYOUTS[layout](a) for a in arrays]
    assert same(f(*moved), whole)
    assert same(f(*[m[3] for m in moved]), [w[3] for w in whole])
    if layout != "nested lists":
        assert same(f(*[m[5:6] for m in moved]), [w[5:6] for w in whole])


@pytest.mark.parametrize("layout", [*LAYOUTS, "single"])
def test_one_argument_that_is_not_plain_among_others_that_are(f, arrays, layout):
    """A direct call must hand over whenever any one argument is not what it reads."""
    x, A, s = (np.array(a[3]) for a in arrays)
    whole = f(x, A, s)
    move = LAYOUTS.get(layout, lambda a: np.float32(a).astype(np.float64).astype(np.float32))
    for k, a in enumerate((x, A, s)):
        if layout == "single":
            a = a.astype(np.float32).astype(float)
            whole = f(*[a if j == k else b for j, b in enumerate((x, A, s))])
        moved = move(a[None])[0]
        assert same(f(*[moved if j == k else b for j, b in enumerate((x, A, s))]), whole)


def test_zero_strides_and_broadcasting(f, arrays):
    x, A, s = arrays
    y, n = f(np.broadcast_to(x[0], (9, 11)), A[:9], 2.0)
    assert same((y, n), [np.array(r) for r in zip(*[f(x[0], A[k], 2.0) for k in range(9)], strict=True)])
    y, n = f(x[:4, None, None], A[:5, None], s[:6])
    assert y.shape == (4, 5, 6, 3) and n.shape == (4, 5, 6)
    for i, j, k in ((0, 0, 0), (3, 4, 5), (2, 1, 4)):
        assert same((y[i, j, k], n[i, j, k]), f(x[i], A[j], s[k]))
    row = np.broadcast_to(np.float64(0.5), 11)
    assert same(f(row, A[0], 1.0), f(np.full(11, 0.5), A[0], np.array(1.0)))


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3)])
def test_empty_batches(f, shape):
    y, n = f(np.zeros((*shape, 11)), np.zeros((3, 11)), 1.0)
    assert y.shape == (*shape, 3) and n.shape == shape
    z = np.empty((*shape, 3)), np.empty(shape)
    assert f(np.zeros((*shape, 11)), np.zeros((3, 11)), 1.0, out=z)[0] is z[0]


def test_cores_of_any_size():
    rng = np.random.default_rng(0)
    for shape in [(1,), (0,), (1, 1), (0, 3), (3, 0), (2, 3, 4), (1, 5, 1), (2, 0, 3), (7,), (8,), (9,), (16,), (17,)]:
        text = f"({','.join(map(str, shape))})"
        double = engine.gufunc(lambda x: (x * 2.0, x.sum()), f"{text}->{text},()")
        x = rng.standard_normal((19, *shape))
        for view in (x, x[3], x[:0], x[::-2], np.asfortranarray(x), np.repeat(x, 2, axis=-1)[..., ::2]):
            y, s = double(view)
            assert y.shape == view.shape and s.shape == view.shape[: view.ndim - len(shape)]
            np.testing.assert_array_equal(y, 2 * view)
            np.testing.assert_allclose(s, view.sum(axis=tuple(range(-len(shape), 0))), rtol=1e-13, atol=1e-14)
    with pytest.raises(engine.ArgumentError, match="more than three dimensions"):
        engine.gufunc(lambda x: x, "(a,b,c,d)->(a,b,c,d)", a=1, b=1, c=1, d=1)


def test_several_scalar_results_and_constants():
    g = engine.gufunc(lambda x: (x + 1.0, 2.0, x < 0.5, np.array([x, 3.0]), np.zeros(0)), "()->(),(),(),(k),(z)")
    a, b, c, d, e = g(0.25)
    assert type(a) is type(b) is np.float64 and (a, b, c) == (1.25, 2.0, 1.0) and d.tolist() == [0.25, 3.0] and e.shape == (0,)
    a, b, c, d, e = g([0.25, 1.0])
    assert a.tolist() == [1.25, 2.0] and b.tolist() == [2.0, 2.0] and c.tolist() == [1.0, 0.0] and d.shape == (2, 2) and e.shape == (2, 0)
    assert type(engine.gufunc(lambda x: x @ x, "(n)->()", n=2)([3.0, 4.0])) is np.float64
    assert engine.gufunc(lambda x: x[0], "(3)->()")(np.array([5.0, 1.0, 1.0])) == 5.0


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.longdouble, np.int8, np.int64, np.uint32, bool, list, tuple])
def test_arguments_are_cast(kind):
    g = engine.gufunc(lambda x: x / 2.0, "(n)->(n)", n=2)
    for x in ([1, 0], [[1, 0]] * 9):
        given = kind(x) if kind in (list, tuple) else np.array(x, dtype=kind)
        assert g(given).dtype == np.float64 and g(given).tolist() == (np.asarray(x) / 2).tolist()


# ---------------------------------------------------------------- out=


@pytest.mark.parametrize("batch", [(), (5,), (1000,), (3, 4)])
def test_out(f, batch, threads):
    threads(2)
    rng = np.random.default_rng(1)
    given = rng.normal(size=(*batch, 11)), rng.normal(size=(3, 11)), rng.normal(size=batch)
    expected = f(*given)
    y, n = np.full((*batch, 3), np.nan), np.full(batch, np.nan)
    for call in (lambda: f(*given, out=(y, n)), lambda: f(*given, y, n)):
        y[...], n[...] = np.nan, np.nan
        result = call()
        assert result[0] is y and result[1] is n and same((y, n), expected)
    for call in (lambda: f(*given, out=(y, None)), lambda: f(*given, y)):
        y[...] = np.nan
        result = call()
        assert result[0] is y and result[1].shape == batch and same(result, expected)
    strided = np.full((*batch, 6), np.nan)
    f(*given, out=(strided[..., ::2], n))
    assert same((strided[..., ::2], n), expected) and np.isnan(strided[..., 1::2]).all()
    single = np.empty((*batch, 3), dtype=np.float32)
    f(*given, out=(single, None))
    np.testing.assert_array_equal(single, expected[0].astype(np.float32))
    swapped = np.asfortranarray(np.empty((*batch, 3), dtype=">f8"))
    f(*given, out=(swapped, None))
    np.testing.assert_array_equal(swapped, expected[0])


def test_out_of_one_result_is_returned_itself():
    g = engine.gufunc(lambda x: x + 1.0, "(n)->(n)", n=2)
    z, s = np.zeros(2), np.zeros(())
    assert g([1.0, 2.0], out=z) is z and z.tolist() == [2.0, 3.0]
    assert g(np.zeros(2), z) is z and g(np.zeros(2), out=(z,)) is z and z.tolist() == [1.0, 1.0]
    assert engine.gufunc(lambda x: x + 1.0, "()->()")(1.0, out=s) is s and s == 2.0


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("shift", [0, 1, 500, -1])
def test_results_may_overlap_arguments(n, shift, threads):
    threads(n)
    g = engine.gufunc(lambda x, c: x * 2.0 + c[0], "(3),(3)->(3)")
    memory = np.random.default_rng(0).normal(size=(2001, 3))
    low, high = (1, 1 + shift) if shift >= 0 else (1 - shift, 1)
    x, y = memory[low : low + 1000], memory[high : high + 1000]
    for given in ((x, x[17]), (x[::-1], x[0])):
        expected = given[0] * 2.0 + given[1][0]
        g(*given, out=y)
        np.testing.assert_array_equal(y, expected)


def test_what_numpy_alone_knows_is_passed_on(f, arrays):
    x, A, s = arrays
    g = engine.gufunc(lambda x, y: x @ y, "(n),(n)->()", n=11)
    turned = np.ascontiguousarray(x.T)
    np.testing.assert_array_equal(g(turned, turned, axes=[0, 0, ()]), g(x, x))
    np.testing.assert_array_equal(g(x, x, axis=-1), g(x, x))
    assert g(x, x, keepdims=True).shape == (1000, 1)
    assert g(x.astype(np.float32), x, casting="safe", dtype=np.float64).shape == (1000,)
    for wrong in ("where", "nonsense"):
        with pytest.raises(engine.ArgumentError, match=f"<lambda> got '{wrong}'; expected x, y, out"):
            g(x, x, **{wrong: 1})
    with pytest.raises(engine.ArgumentError, match=r"<lambda> got 'outt' \(did you mean 'out'\?\); expected x, y, out"):
        g(x, x, outt=x)
    assert isinstance(f.ufunc, np.ufunc) and f.ufunc.signature == "(11),(3,11),()->(3),()" and same(f.ufunc(x, A, s), f(x, A, s))


def test_arguments_by_name(f, arrays):
    x, A, s = arrays
    one = [a[0] for a in arrays]
    assert same(f(x, A=A, s=s), f(*arrays)) and same(f(s=s, x=x, A=A), f(*arrays)) and same(f(one[0], s=one[2], A=one[1]), f(*one))
    y = np.empty((1000, 3))
    assert f(x, s=s, A=A, out=(y, None))[0] is y and same((y,), f(*arrays)[:1])
    with pytest.raises(engine.ArgumentError, match="pushed got 2 arguments; expected 3: x, A, s"):
        f(x, s=s)
    with pytest.raises(engine.ArgumentError, match="pushed got 's' twice; expected x, A, s, out"):
        f(x, A, s, s=s)


def test_functions_outlive_the_module_that_made_them():
    """As they may when the interpreter ends: what a function reads when it is deleted is its own."""
    code = """if True:
        import ctypes, gc, sys, numpy as np, engine
        made = [engine.gufunc(lambda x, k=k: x * k, "()->()") for k in range(2, 40)]
        assert [float(f(np.float64(1.0))) for f in made] == list(range(2, 40))
        vars(sys.modules["engine.compiler.gufunc"]).clear()
        gc.collect()
        other = [ctypes.create_string_buffer(b"\\xff" * 32, 32) for _ in range(2000)]                  # where the module's things were
        del made, other
        print(gc.collect() >= 0)"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


# ---------------------------------------------------------------- what is said about bad input


@pytest.mark.parametrize(("call", "message"), [
    (lambda f, x, A, s: f(x, A), "pushed got 2 arguments; expected 3: x, A, s"),
    (lambda f, x, A, s: f(), "pushed got 0 arguments; expected 3: x, A, s"),
    (lambda f, x, A, s: f(x, A, s, x, A, s), "pushed got 6 arguments; expected 3: x, A, s"),
    (lambda f, x, A, s: f(x, A, s, x, out=(None, None)), "pushed got 4 arguments; expected 3: x, A, s"),
    (lambda f, x, A, s: f(x[:, :3], A, s), "pushed: x has shape (1000, 3); expected (..., 11)"),
    (lambda f, x, A, s: f(x[0, :3], A[0], s[0]), "pushed: x has shape (3,); expected (..., 11)"),
    (lambda f, x, A, s: f(x, A[0, 0], s), "pushed: A has shape (11,); expected (..., 3, 11)"),
    (lambda f, x, A, s: f(x, A[0].T, s), "pushed: A has shape (11, 3); expected (..., 3, 11)"),
    (lambda f, x, A, s: f(1.0, A, s), "pushed: x has shape (); expected (..., 11)"),
    (lambda f, x, A, s: f(x[:5], A[:4], s[:5]), "pushed: the batches of x (5, 11), A (4, 3, 11), s (5,) do not broadcast"),
    (lambda f, x, A, s: f(x.astype(complex), A, s), "pushed: x holds complex128; expected real numbers"),
    (lambda f, x, A, s: f(x, A, "one"), "pushed: s holds <U3; expected real numbers"),
    (lambda f, x, A, s: f(x, A, None), "pushed: s is None; expected real numbers"),
    (lambda f, x, A, s: f(x, A, np.datetime64("2020")), "pushed: s holds datetime64[Y]; expected real numbers"),
    (lambda f, x, A, s: f([[1.0], [2.0, 3.0]], A, s), "pushed: x is not rectangular; expected an array of shape (..., 11)"),
    (lambda f, x, A, s: f(x, A, s, out=(np.empty(3), None)), "pushed: out has shape (3,) of float64; expected an array of shape (1000, 3)"),
    (lambda f, x, A, s: f(x, A, s, out=(np.empty((1000, 3), int), None)), "out has shape (1000, 3) of int64; expected an array of shape"),
    (lambda f, x, A, s: f(x, A, s, out=([1.0], None)), "out has list; expected an array of shape (1000, 3) of float64"),
    (lambda f, x, A, s: f(x, A, s, out=np.empty((1000, 3))), "pushed: out has 1 arrays; expected 2"),
    (lambda f, x, A, s: f(x, A, s, out=(None, None, None)), "pushed: out has 3 arrays; expected 2"),
])  # fmt: skip
def test_bad_arguments(f, arrays, call, message):
    with pytest.raises(engine.ArgumentError, match=re.escape(message)):
        call(f, *arrays)


def test_a_result_cannot_be_written_where_it_is_forbidden(f, arrays):
    y = np.zeros((1000, 3))
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(*arrays, out=(y, None))


def two(x, y=1.0):
    return x, y


@pytest.mark.parametrize(("fn", "signature", "sizes", "message"), [
    (3, "()->()", {}, "gufunc got 3; expected a function"),
    (pushed, None, {}, "gufunc got the signature None; expected a text such as '(n),(m)->(k)'"),
    (pushed, "(n),(n)", {}, "gufunc got the signature '(n),(n)'; expected a text such as"),
    *((two, bad, {}, f"gufunc got the signature '{bad}'; expected shapes in parentheses") for bad in
      ("n->n", "(n->(n)", "(n)(n)->()", "(n,)->()", "()->", "->()", "(n)->(n)->(n)", "(n-1)->()", "((n))->()", "(n?)->()")),
    (two, "(2,n)->(2,n),()", {}, "gufunc: the size 'n' of '(2,n)->(2,n),()' is not given; expected n=… after the signature"),
    (two, "(n)->(n),()", {"n": -1}, "gufunc: the size n is -1; expected a whole number"),
    (two, "(n)->(n),()", {"n": 2.0}, "gufunc: the size n is 2.0; expected a whole number"),
    (two, "(n)->(n),()", {"n": True}, "gufunc: the size n is True; expected a whole number"),
    (two, "(n)->(n),()", {"n": 2, "m": 3}, "gufunc: '(n)->(n),()' has no size 'm'; expected some of n"),
    (two, "(n)->(),()", {"n": 2}, "two returned shape (2,); '(n)->(),()' promises () = ()"),
    (two, "(n)->(k),()", {"n": 2, "k": 3}, "two returned shape (2,); '(n)->(k),()' promises (k) = (3,)"),
    (two, "(n),(2)->(k),(k)", {"n": 3}, "two returned shape (2,); '(n),(2)->(k),(k)' promises (k) = (3,)"),
    (two, "(n)->(4),()", {"n": 2}, "two returned shape (2,); '(n)->(4),()' promises (4) = (4,)"),
    (two, "(n)->(n)", {"n": 2}, "two returned 2 arrays; '(n)->(n)' promises 1"),
    (two, "(),(),()->(),()", {}, "two takes 1 arguments; '(),(),()->(),()' has 3"),
    (lambda x, y: x, "()->()", {}, "<lambda> takes 2 arguments; '()->()' has 1"),
])  # fmt: skip
def test_bad_signatures(fn, signature, sizes, message):
    with pytest.raises(engine.ArgumentError, match=re.escape(message)):
        engine.gufunc(fn, signature, **sizes)


def test_good_signatures():
    assert engine.gufunc(two, "()->(),()")(2.0) == (2.0, 1.0)
    assert engine.gufunc(two, " (n) , () -> (k), ( )".replace("( )", "()"), n=2)([1, 2], 3)[1] == 3.0
    assert engine.gufunc(lambda *xs: sum(xs), "(),(),()->()")(1, 2, 3) == 6.0
    assert engine.gufunc(functools.partial(two, y=5.0), "()->(),()")(1.0) == (1.0, 5.0)
    assert engine.gufunc(np.cross, "(3),(3)->(3)")([1, 0, 0], [0, 1, 0]).tolist() == [0, 0, 1]
    assert engine.gufunc(lambda A: A.T, "(m,n)->(n,m)", m=2, n=np.int64(3))(np.zeros((2, 3))).shape == (3, 2)

    class Callable:
        def __call__(self, x):
            return 2.0 * x

    assert engine.gufunc(Callable(), "()->()")(1.0) == 2.0


@pytest.mark.parametrize("n", [0, -1, 1.5, "two", True, None])
def test_bad_thread_counts(n):
    with pytest.raises(engine.ArgumentError, match=f"set_threads got {n!r}; expected a whole number of threads from 1"):
        engine.set_threads(n)


def test_thread_counts():
    before = engine.get_threads()
    assert before >= 1
    engine.set_threads(np.int64(3))
    assert engine.get_threads() == 3
    engine.set_threads(before)


# ---------------------------------------------------------------- results that are not finite


def line():
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize("x", [np.array(0.0), 0.0, [1.0, 0.0], np.zeros(1000), np.array([1.0, np.nan]), np.array([np.inf, 1.0])])
def test_a_result_that_is_not_finite_warns_at_the_callers_line(x):
    g = engine.gufunc(lambda x: np.sqrt(-x * x) / x, "()->()")
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="<lambda> returned NaN or infinity") as caught:
            here = line() + 1
            result = g(x)
        assert np.shape(result) == np.shape(x) and not np.isfinite(result).all()
        assert (caught[0].filename, caught[0].lineno, len(caught)) == (__file__, here, 1)


def test_numpys_errstate_decides():
    g = engine.gufunc(lambda x: 1.0 / x, "()->()")
    for x in (np.array(0.0), np.array([1.0, 0.0])):
        with np.errstate(invalid="ignore"):
            assert np.isinf(g(x)).any()
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="returned NaN or infinity"):
            g(x)
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid value"):
            g.ufunc(x)
        with np.errstate(invalid="raise", divide="raise", over="raise", under="raise"):
            g(np.array(1e-300)), g(np.full(20, 1e300))


@pytest.mark.parametrize("bad", [0, 3, 8, 17, 99])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_one_bad_row_is_found_and_the_others_are_there(bad, n, threads):
    """Also where NumPy calls the loop once per outer row, where threads share the rows, and where results are copied to out."""
    threads(n)
    g = engine.gufunc(lambda x, y: y / x, "(3),(3)->(3)")
    x = np.ones((100, 3))
    x[bad, 1] = 0.0
    with pytest.warns(RuntimeWarning, match="NaN or infinity"):
        rows = g(x, 2.0 * np.ones(3))
    assert np.argwhere(np.isinf(rows)).tolist() == [[bad, 1]] and (np.delete(rows, bad, axis=0) == 2.0).all()
    with pytest.warns(RuntimeWarning, match="NaN or infinity"):
        outer = g(x[:, None], 2.0 * np.ones((7, 3)))
    assert np.argwhere(np.isinf(outer)).tolist() == [[bad, k, 1] for k in range(7)]
    for out in (np.zeros((100, 3), np.float32), x):
        with pytest.warns(RuntimeWarning, match="NaN or infinity"):
            g(x, 2.0 * np.ones(3), out=out)
        assert np.argwhere(np.isinf(out)).tolist() == [[bad, 1]] and (np.delete(out, bad, axis=0) == 2.0).all()


def test_branches_not_taken_do_not_warn():
    """Divisions by zero, overflows and logarithms of nothing in a branch that is not selected, or in idle lanes."""
    g = engine.gufunc(lambda x: ops.where(x > 0, np.log(x), 1.0 / ops.where(x > 0, 0.0, x * x - 4.0)), "()->()")
    h = engine.gufunc(lambda x: ops.where(x < 1e3, x, ops.exp(x) * 1e308), "()->()")
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        np.testing.assert_allclose(g(np.array([1.0, -1.0, 2.0])), [0.0, -1 / 3, np.log(2.0)], rtol=1e-15)
        assert g(1.0) == g(np.array(1.0)) == 0.0 and h(5.0) == 5.0 and h(np.arange(9.0)).tolist() == list(range(9))
        g.ufunc(np.array([1.0, -1.0]))
        np.ones(3) / 2.0  # and no flag is left behind


def test_a_function_may_decide_otherwise():
    class Strict(Gufunc):
        def _not_finite(self, *args):
            raise ArithmeticError(f"{[np.shape(a) for a in args[:-1]]}, {len(args[-1])} results")

    g = Strict(trace(lambda x, y: (x / y, y[0]), [(2,), (2,)]), "(2),(2)->(2),()", ["x", "y"])
    for _ in range(100):
        with pytest.raises(ArithmeticError, match=re.escape("[(2,), (2,)], 2 results")):
            g(np.ones(2), np.zeros(2))
    with pytest.raises(ArithmeticError, match=re.escape("[(5, 2), (2,)], 2 results")):
        g(np.ones((5, 2)), np.zeros(2))
    assert g(np.ones(2), np.ones(2))[1] == 1.0


def test_a_strict_function_reports_what_comes_in_too():
    class Strict(Gufunc):
        strict = True

    program = trace(lambda x, y: x[0] * y, [(3,), ()])
    g, h = Strict(program, "(3),()->()", ["x", "y"]), Gufunc(program, "(3),()->()", ["x", "y"])
    for n in (1, 8, 9, 100):
        x, y = np.ones((n, 3)), np.ones(n)
        assert (g(x, y) == 1).all() and g(x[0], y[0]) == 1
        x[n // 2, 2] = np.inf
        assert (h(x, y) == 1).all() and h(x[n // 2], y[0]) == 1
        for given in ((x, y), (x[n // 2], y[0])):
            with pytest.warns(RuntimeWarning, match="NaN or infinity"):
                assert (g(*given) == 1).all()


# ---------------------------------------------------------------- references, memory, threads of Python's


def refcounts(*objects):
    return [sys.getrefcount(x) for x in objects]


def fails(f, *args):
    with pytest.raises(engine.ArgumentError):
        f(*args)


CALLS = {
    "direct": lambda f, x, A, s: f(x, A, s),
    "lists": lambda f, x, A, s: f(list(x), A, 0.5),
    "batch": lambda f, x, A, s: f(x[None], A, s),
    "wrong": lambda f, x, A, s: fails(f, x[:3], A, s),
    "too few": lambda f, x, A, s: fails(f, x),
    "nan": lambda f, x, A, s: f(x, A, np.array(np.nan)),
}


@pytest.mark.parametrize("call", CALLS)
def test_nothing_leaks(f, arrays, call):
    """References to what comes in stay as many; memory does not grow each time (once it may, for other reasons)."""
    x, A, s = arrays[0][0].copy(), arrays[1][0].copy(), np.array(0.5)
    constants = (None, np.ndarray, np.float64, f, *[np.dtype(np.float64)] * (call == "direct"))  # np.empty itself leaks this one

    def grown():
        gc.collect()
        before, blocks, start = refcounts(*constants), sys.getallocatedblocks(), tracemalloc.get_traced_memory()[0]
        for _ in range(3000 if call == "direct" else 200):
            CALLS[call](f, x, A, s)
        gc.collect()
        return np.array([*np.subtract(refcounts(*constants), before), sys.getallocatedblocks() - blocks,
                         (tracemalloc.get_traced_memory()[0] - start) / 100])  # fmt: skip

    with np.errstate(invalid="ignore"):
        CALLS[call](f, x, A, s)
        before = refcounts(x, A, s)
        gc.freeze()                                                           # what was there is not looked through again and again
        tracemalloc.start()
        each = np.array([grown() for _ in range(4)])
        tracemalloc.stop()
        gc.unfreeze()
    assert refcounts(x, A, s) == before
    assert (each.min(axis=0) < 100).all()


def test_results_are_new_and_own_their_memory(f, arrays):
    given = [a[0].copy() for a in arrays]
    (y, n), (z, _) = f(*given), f(*given)
    assert y is not z and y.flags.owndata and y.flags.writeable and y.flags.c_contiguous and y.flags.aligned and y.base is None
    assert sys.getrefcount(y) <= 2 and sys.getrefcount(n) <= 2
    y[:] = 0.0
    assert z.any()


def test_large_programs_take_memory_from_the_heap():
    """Beyond what a single call may take from the stack."""
    n = 5000
    g = engine.gufunc(lambda x: (x * 2.0, x.sum(), x[::-1]), "(n)->(n),(),(n)", n=n)
    x = np.random.default_rng(0).normal(size=n)
    for _ in range(50):
        a, b, c = g(x)
    assert (a == 2 * x).all() and abs(b - x.sum()) < 1e-11 and (c == x[::-1]).all()
    x[17] = np.inf
    with pytest.warns(RuntimeWarning):
        assert np.isinf(g(x)[0][17])


def test_an_instance_goes_when_it_is_no_longer_used():
    import weakref

    g = engine.gufunc(lambda x: x * 7.0, "()->()")
    g(np.array(1.0)), g(np.ones(3))
    gone = weakref.ref(g)
    del g
    gc.collect()
    assert gone() is None


def test_calls_from_many_threads(f, arrays, threads):
    threads(2)
    whole, wrong = f(*arrays), []

    def work(k):
        g = engine.gufunc(pushed, "(n),(m,n),()->(m),()", n=11, m=3)
        for i in range(k, 1000, 11):
            alone, many = f(*[a[i] for a in arrays]), g(*[a[:100] for a in arrays])
            if not (same(alone, [w[i] for w in whole]) and same(many, [w[:100] for w in whole])):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    [w.start() for w in workers], [w.join() for w in workers]
    assert not wrong


def test_first_calls_from_many_threads_at_once():
    g, x = engine.gufunc(lambda x: np.sin(x) * 3.25, "(n)->(n)", n=6), np.random.default_rng(0).normal(size=(50, 6))
    start, results = threading.Barrier(6), []

    def work():
        start.wait()
        results.append((g(x[0]), g(x)))

    workers = [threading.Thread(target=work) for _ in range(6)]
    [w.start() for w in workers], [w.join() for w in workers]
    assert len(results) == 6 and all(bits(a) == bits(b[0]) and bits(b) == bits(results[0][1]) for a, b in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_has_threads_of_its_own():
    """In a process of its own: it has to be small. A child that waits for its parent's threads waits for ever: it is one call, and has as
    long for it as the engine's import and 20 calls took, however busy the machine is."""
    code = """
import time
began = time.monotonic()
import os, sys, numpy as np, engine
sys.modules["engine.compiler.gufunc"].WORTH_THREADS = 1
engine.set_threads(2)
g = engine.gufunc(lambda x: np.sin(x), "()->()")
x = np.linspace(0, 1, 1000)
for _ in range(20):
    y = g(x)
time.sleep(0.1)  # the threads wait for work; the child has none of them
child = os.fork()
if not child:
    os._exit(0 if (g(x) == y).all() else 1)
took = time.monotonic() - began
while not (ended := os.waitpid(child, os.WNOHANG))[0]:
    if time.monotonic() - began > 2 * took:
        os.kill(child, 9)
        sys.exit("the child waits for ever")
    time.sleep(0.001)
sys.exit(os.waitstatus_to_exitcode(ended[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- as a Python object


def test_it_introduces_itself(f):
    assert repr(f) == f"<compiled pushed(n),(m,n),()->(m),(), {f.operations} operations>"
    assert f.signature == "(n),(m,n),()->(m),()" and f.arguments == ["x", "A", "s"] and f.operations == f.program.count()
    assert str(inspect.signature(f)) == "(x, A, s, *, out=None)"
    assert (f.__name__, f.__doc__, f.__module__, f.__wrapped__) == ("pushed", "A push.", __name__, pushed)
    assert "A push." in pydoc.render_doc(f) and isinstance(f, Gufunc) and callable(f)
    assert inspect.signature(engine.gufunc(lambda *x: x[0], "(),()->()")).parameters.keys() == {"argument_0", "argument_1", "out"}

    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    assert wrapper.__name__ == "pushed" and wrapper.__wrapped__ is f


class Named(Gufunc):
    """A compiled function with a constructor and an attribute of its own."""

    def __init__(self, title, f):
        super().__init__(f.program, f.signature, f.arguments)
        self.title = title


def test_it_is_copied_as_itself_and_pickled_as_its_program(f, arrays):
    assert copy.copy(f) is f and copy.deepcopy({"f": f})["f"] is f
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        g = pickle.loads(pickle.dumps(f, protocol))
        assert g is not f and isinstance(g, Gufunc) and g.signature == f.signature and g.program == f.program
    assert same(g(*arrays), f(*arrays)) and same(g(*[a[0] for a in arrays]), f(*[a[0] for a in arrays]))

    g = pickle.loads(pickle.dumps(Named("push", f)))
    assert isinstance(g, Named) and (g.title, g.program) == ("push", f.program)
    assert same(g(*arrays), f(*arrays))


def test_it_crosses_processes(f, arrays):
    code = "import pickle, sys; g, a = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(g(*a)))"
    assert multiprocessing.get_all_start_methods()
    given = pickle.dumps((f, [a[:20] for a in arrays]))
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, timeout=60, check=True)
    assert same(pickle.loads(done.stdout), f(*[a[:20] for a in arrays]))


def test_instances_do_not_share_calls():
    """Each instance is of a class of its own, whose call is replaced."""
    g, h = engine.gufunc(lambda x: x + 1.0, "()->()"), engine.gufunc(lambda x: x + 2.0, "()->()")
    x = np.array(1.0)
    assert (g(x), h(x), g(x), h(x)) == (2.0, 3.0, 2.0, 3.0) and type(g) is not type(h)
    assert "machine code" in inspect.getdoc(Gufunc) and Gufunc.__call__ is not type(g).__call__


def test_without_direct_calls_everything_goes_through_numpy(f, arrays, monkeypatch):
    """As where Python has no global lock."""
    monkeypatch.setattr(sys.modules[Gufunc.__module__], "DIRECT", False)
    g = engine.gufunc(pushed, "(n),(m,n),()->(m),()", n=11, m=3)
    one = [a[0] for a in arrays]
    assert same(g(*one), f(*one)) and same(g(*arrays), f(*arrays)) and type(g(*one)[1]) is np.float64
    assert "_single" not in g.__dict__


def test_a_compiled_function_can_be_called_in_another(f, arrays):
    def twice(x, A, s):
        return f(f.__wrapped__(x, A, s)[0][0] * x, A, 2.0)[0] + f([*x[:10], 0.0], A, s)[1]

    g = engine.gufunc(twice, "(n),(m,n),()->(m)", n=11, m=3)
    x, A, s = [a[:9] for a in arrays]
    y = f(x, A, s)[0][:, :1] * x
    cut = np.concatenate([x[:, :10], np.zeros((9, 1))], axis=1)
    np.testing.assert_allclose(g(x, A, s), f(y, A, 2.0)[0] + f(cut, A, s)[1][:, None], rtol=1e-13)
    assert len(g.program.functions) == 1
    with pytest.raises(engine.TraceError, match=re.escape(f"{__file__}:{line() + 1}: pushed of shapes")):
        engine.gufunc(lambda x, A: f(np.array([x, x]), A, 1.0)[1], "(n),(m,n)->(k)", n=11, m=3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_rows_and_columns(order):
    """Transposes of blocks that end anywhere."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23):
        g = engine.gufunc(lambda x, y: (x[::-1] * 2.0, x + y), "(n),(n)->(n),(n)", n=n)
        for rows in (1, 3, 8, 9, 15, 16, 17, 24, 31, 33):
            x, y = np.array(rng.normal(size=(rows, n)), order=order), rng.normal(size=n)
            a, b = g(x, y)
            np.testing.assert_array_equal(a, 2 * x[:, ::-1])
            np.testing.assert_array_equal(b, x + y)


NUMBERS = [0.1, -0.0, 2, -7, 2**53 + 1, 2**62 + 1, -(2**63), np.float64(0.3), np.array(0.7)]


@pytest.mark.parametrize("size", [3, 10_000])
def test_numbers_go_straight_to_machine_code_where_numbers_are_asked_for(monkeypatch, size):
    """To the same bits as by NumPy's conversion; of the sizes, one takes its memory from the heap."""
    scaled = gufunc(lambda a, x, b: (a * x + b, a / (2.0 + b)), "(),(n),()->(n),()", n=size)
    x = np.linspace(0.1, 1.0, size)
    expected = [scaled._general(np.float64(a), x, np.float64(b)) for a, b in itertools.product(NUMBERS, NUMBERS)]
    asked, general = [], Gufunc._general
    monkeypatch.setattr(Gufunc, "_general", lambda self, *args, **kwargs: asked.append(args) or general(self, *args, **kwargs))
    direct = gufunc(lambda a, x, b: (a * x + b, a / (2.0 + b)), "(),(n),()->(n),()", n=size)
    direct(1.0, x, 1.0)                                                        # the first call is Python's
    asked.clear()
    found = [direct(a, x, b) for a, b in itertools.product(NUMBERS, NUMBERS)]
    assert not asked
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1] and type(one[1]) is np.float64


@pytest.mark.parametrize(("given", "said"), [
    (2**70, "a is 1180591620717411303424; expected real numbers"), (None, "a is None; expected real"), ("3", "a holds <U1; expected real"),
    (1j, "a holds complex128; expected real"),
])  # fmt: skip
def test_what_is_no_number_of_the_machine_is_refused_as_ever(given, said):
    f = gufunc(lambda a, x: a * x, "(),(n)->(n)", n=2)
    with pytest.raises(ArgumentError, match=said):
        f(given, np.ones(2))


def test_other_numbers_are_taken_too():
    f = gufunc(lambda a, x: a * x, "(),(n)->(n)", n=2)
    assert [f(a, np.ones(2))[0] for a in (True, np.float32(0.5), np.int8(3), 2**63, np.array([2.0])[0])] == [1.0, 0.5, 3.0, 2.0**63, 2.0]
    assert f(np.array([1.0, 2.0]), np.ones(2)).shape == (2, 2)
    with pytest.warns(RuntimeWarning, match="returned NaN or infinity"):
        assert np.isnan(f(float("nan"), np.ones(2))).all()
