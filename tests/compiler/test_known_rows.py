"""Rows over arrays that are known while a function is traced: a loop where they are many, written out where a function looks at them."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.kernels.row_loop import RowLoop
from tests.compiler.programs import bits

RNG = np.random.default_rng(3)
POINTS, WEIGHTS, X = RNG.standard_normal((300, 3)), RNG.random(300), RNG.standard_normal((50, 3))


def pull(x, p, w):
    """Of a point that pulls, by its weight."""
    r = p - x
    s = r @ r + 0.01
    return w / (s * np.sqrt(s)) * r


def loops(f):
    return [g for g in f.program.functions if isinstance(g, RowLoop)]


def test_many_rows_are_a_loop_of_the_bits_that_rows_which_are_given_have():
    known = engine.gufunc(lambda x: ops.total(ops.rows(lambda p, w: pull(x, p, w), POINTS, WEIGHTS)), "(3)->(3)")
    given = engine.gufunc(lambda x, P, W: ops.total(ops.rows(lambda p, w: pull(x, p, w), P, W)), "(3),(n,3),(n)->(3)")
    assert len(loops(known)) == 1 and known.program.count() < 50
    alone = np.array([known(x) for x in X])
    assert bits(alone) == bits(known(X)) == bits(np.array([given(x, POINTS, WEIGHTS) for x in X]))
    plain = np.array([sum(pull(x, p, w) for p, w in zip(POINTS, WEIGHTS, strict=True)) for x in X])
    assert np.abs(alone - plain).max() < 300 * 2.0**-52 * np.abs([pull(x, p, 1.0) for x in X for p in POINTS]).max()


def test_what_comes_of_them_is_an_array_to_all_that_numpy_does():
    def f(x):
        y = ops.rows(lambda p: np.exp(-((p - x) @ (p - x))) * (p - x), POINTS)
        return y.sum(axis=0) + WEIGHTS @ y + y.T @ WEIGHTS + np.add.reduce(y) + y[-1] * len(y) + sum(y)

    compiled = engine.gufunc(f, "(3)->(3)")
    assert loops(compiled)
    np.testing.assert_allclose(compiled(X), [f(x) for x in X], rtol=1e-12, atol=1e-12)


def test_a_few_and_those_that_a_function_looks_at_are_written_out():
    for f in (lambda x: ops.total(ops.rows(lambda p, w: pull(x, p, w), POINTS[:20], WEIGHTS[:20])),
              lambda x: ops.total(ops.rows(lambda p: x * x * np.exp(x) * p if p[0] > 0.0 else np.sin(x) * x, POINTS)),
              lambda x: ops.total(ops.rows(lambda k, p: np.exp(x[int(k)] * p), np.arange(300) % 3, POINTS)),
              lambda x: ops.total(ops.rows(lambda p: np.exp(x * p) * (x if 0.0 < p[1] < 1.0 else 1.0), POINTS))):  # fmt: skip
        compiled = engine.gufunc(f, "(3)->(3)")
        assert not [g for g in loops(compiled) if g.f.n_in > 3 or g.outside]
        np.testing.assert_allclose(compiled(X), [f(x) for x in X], rtol=1e-12, atol=1e-12)


def test_what_nothing_traced_is_in_stays_known():
    def f(x):
        return x * ops.rows(lambda p, w: w * p / np.sqrt(p @ p + 1.0), POINTS, WEIGHTS)[int(WEIGHTS[0] * 10)]

    assert engine.gufunc(f, "(3)->(3)").program.count() == 3


def test_derivatives_pass():
    def f(x):
        return ops.total(ops.rows(lambda p, w: w / np.sqrt((p - x) @ (p - x) + 0.01), POINTS, WEIGHTS))

    exact = -np.sum([pull(X[0], p, -w) for p, w in zip(POINTS, WEIGHTS, strict=True)], axis=0)
    np.testing.assert_allclose(engine.gradient(f)(X[0]), exact, rtol=1e-12)


def test_an_error_in_a_row_is_said_as_of_a_row_of_numbers():
    with pytest.raises(ZeroDivisionError):
        engine.gufunc(lambda x: ops.total(ops.rows(lambda p: x * np.exp(x * p) * np.sin(x) / (1 // 0), POINTS)), "(3)->(3)")
