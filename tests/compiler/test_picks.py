"""Rows by one number: the same plain, interpreted, compiled with any number of rows in the lanes, and in C; what is not there is said."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import engine
from engine import ops
from engine.compiler import interpret, native_code, verify
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import Gufunc
from tests.compiler.programs import WIDTHS, bits
from tests.fuzz._tables import HAVE_C, InC

FAR = 2.0**60


def nearest(x):
    """The numbers of the two rows next to each, by a loop over all in each row: lanes ask for the same row at the same time."""
    def of(a, i):
        def look(j, s):
            (d, e), (m, n) = s
            r = ops.gather(x, j) - a
            now = ops.where(ops.equal(i, j), FAR, r @ r)
            first, second = now < d, now < e
            return (ops.array([ops.where(first, now, d), ops.where(first, d, ops.where(second, now, e))]),
                    ops.array([ops.where(first, j, m), ops.where(first, m, ops.where(second, j, n))]))

        return ops.each(look, x.shape[0], (FAR * np.ones(2), -np.ones(2)))[1]

    return ops.rows(of, x, ops.row_numbers(x))


def ragged(x):
    """As many passes in a row as it says, from the last row of the table backward: lanes end at different times, and ask for no more."""
    n = x.shape[0]

    def of(a):
        many = ops.minimum(abs(ops.floor(a[0])), n * 1.0)
        return ops.each(lambda k, s: s + ops.gather(x, n - 1.0 - k), many, a)

    return ops.rows(of, x)


def branched(x):
    """In a branch that some lanes take, and in a loop within it, of what only these may ask for."""
    n = x.shape[0]

    def of(a):
        return ops.when(a[0] > 0.0, lambda: ops.gather(x, ops.minimum(a[0], n - 1.0)), a)

    def inner(a, k):
        def outer(i, s):
            return s + ops.each(lambda j, t: t + ops.gather(x, k - i)[2] * ops.gather(x, j)[1], i + 1.0, 0.0)

        return ops.each(outer, ops.minimum(k + 1.0, 4.0), a[0])

    return ops.rows(of, x), ops.rows(inner, x, ops.row_numbers(x))


def summed(x):
    """Within a sum over all rows, in each row; of rows by their numbers, and alone."""
    def of(a, k):
        return ops.total(ops.rows(lambda b: b * ops.gather(x, k)[0] + a, x))

    order = ops.maximum(ops.row_numbers(x) - 1.0, 0.0)
    return ops.rows(of, x, ops.row_numbers(x)), ops.each(lambda k, s: s - ops.gather(ops.gather(x, order), k), x.shape[0], np.zeros(3))


SIGNATURES = {nearest: "(n,3)->(n,2)", ragged: "(n,3)->(n,3)", branched: "(n,3)->(n,3),(n)", summed: "(n,3)->(n,3),(3)"}
COUNTS = (0, 1, 2, 7, 8, 9, 33)


def drawn(n):
    """Whole numbers, of which no sum here is rounded."""
    return np.random.default_rng(n).integers(-4, 5, (n, 3)).astype(float)


def at_width(f, width, monkeypatch):
    """f compiled with so many rows in the lanes."""
    monkeypatch.setattr(native_code, "rows", lambda: width)
    made = engine.gufunc(f, SIGNATURES[f])
    verify(made.program)
    p = made.program
    program = Program(p.nodes, p.outputs, p.shapes_in, p.shapes_out, p.functions)
    program.__dict__["key"] = f"{p.key}, {width} rows"
    return Gufunc(program, SIGNATURES[f], made.arguments)


def all_bits(results):
    return [(np.shape(r), bits(r)) for r in (results if isinstance(results, (tuple, list)) else (results,))]


@pytest.mark.parametrize("f", SIGNATURES, ids=lambda f: f.__name__)
def test_plain_interpreted_and_compiled_are_the_same(f, monkeypatch, tmp_path):
    made = {w: at_width(f, w, monkeypatch) for w in WIDTHS}
    c = InC(engine.gufunc(f, SIGNATURES[f]), tmp_path) if HAVE_C else None
    for n in COUNTS:
        x = drawn(n)
        expected = all_bits(f(x))
        assert all_bits(interpret(made[1].program, x)) == expected
        for w, g in made.items():
            assert all_bits(g(x)) == expected, (n, w)
        if c is not None:
            status, found = c(x)
            plain = f(x) if isinstance(f(x), tuple) else (f(x),)
            assert status == 0 and all_bits(found) == all_bits(plain)


def test_the_nearest_are_those_of_a_tree():
    """scipy's, of points in general position."""
    x = np.random.default_rng(0).standard_normal((200, 3))
    assert (engine.gufunc(nearest, SIGNATURES[nearest])(x) == cKDTree(x).query(x, 3)[1][:, 1:]).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_that_is_not_there_is_said(width, monkeypatch):
    """Of the one lane that asks for it; not of lanes that have ended, nor of those that stand idle behind the last row."""
    monkeypatch.setattr(native_code, "rows", lambda: width)
    f = engine.gufunc(lambda x, i: ops.rows(lambda k: ops.gather(x, k) + width, i), "(n),(k)->(k)")
    assert f([1.0, 2.0, 3.0], [2.0, 0.0, 1.0, 1.0, 2.0]).tolist() == [3.0 + width, 1.0 + width, 2.0 + width, 2.0 + width, 3.0 + width]
    for bad in (3.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e300):
        x = np.tile([2.0, 0.0, 1.0], 5)
        x[7] = bad
        with pytest.raises(IndexError, match=r"test_picks\.py:\d+: row .* of a table"):
            f([1.0, 2.0, 3.0], x)
    with pytest.raises(IndexError, match="row 0 of a table of 0 rows"):
        f(np.zeros(0), [0.0])


def test_derivatives_are_those_of_the_row():
    """Forward and backward, outside of rows and within them, against the formula."""
    def f(x, w):
        own = ops.each(lambda k, s: s + ops.gather(x, k) ** 2 * ops.gather(w, k), x.shape[0], 0.0)
        return own + ops.total(ops.rows(lambda k: ops.gather(x, k) * ops.gather(w, 0.0), ops.row_numbers(x)))

    x, w = np.array([1.0, 2.0, -3.0]), np.array([0.5, -1.0, 4.0])
    expected = 2.0 * x * w + w[0]
    np.testing.assert_allclose(engine.gradient(f, "(n),(n)->()", n=3)(x, w), expected, rtol=1e-15)
    np.testing.assert_allclose(engine.jacobian(f, "(n),(n)->()", n=3)(x, w), expected, rtol=1e-15)
    for mode in (engine.gradient, engine.jacobian):
        g = mode(lambda x, w: ops.total(ops.rows(lambda a: ops.each(lambda k, s: s * ops.gather(w, k), 3, a), x)), "(n),(n)->()", n=3)
        np.testing.assert_allclose(g(x, w), np.full(3, w.prod()), rtol=1e-15)
