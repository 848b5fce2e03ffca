"""Arrays that go through branches as tables, and are arrays again: the same plain, interpreted and compiled, and traced once."""

import numpy as np
import pytest

import engine
from engine import EngineError, ops
from engine.compiler import interpret
from tests.compiler.programs import bits


def laid(x, m):
    """An array as a table through two branches; where the inner one is not taken it is an array of zeros."""
    t = ops.table(x)

    def inner():
        return {"rows": ops.table(ops.rows(lambda a: 2.0 * a, t)), "sum": ops.total(t)}

    none = {"rows": np.zeros((6, 3)), "sum": np.zeros(3)}
    found = ops.when(m > 0.0, lambda: ops.when(m > 1.0, inner, none), none)
    return ops.sized(found["rows"], 6) + x, found["sum"]


@pytest.mark.parametrize("m", [0.0, 1.0, 2.0])
def test_plain_interpreted_and_compiled_are_the_same(m):
    x = np.arange(18.0).reshape(6, 3)
    made = engine.gufunc(laid, "(6,3),()->(6,3),(3)")
    expected = [bits(y) for y in laid(x, m)]
    assert [bits(y) for y in interpret(made.program, x, m)] == expected
    assert [bits(y) for y in made(x, m)] == expected
    batch = made(np.tile(x, (5, 1, 1)), np.full(5, m))
    assert [bits(y[k]) for k in range(5) for y in batch] == expected * 5


def test_derivatives_pass():
    x = np.random.default_rng(0).standard_normal((6, 3))
    slope = engine.gradient(lambda x: (laid(x, 2.0)[0] ** 2).sum())(x)
    np.testing.assert_allclose(slope, 18.0 * x, rtol=16 * np.finfo(float).eps)


def test_a_branch_that_makes_a_table_of_an_array_is_traced_once():
    """However deep it is within others: each level began anew, and so twice what is within."""
    calls = []

    def nested(x, m, depth):
        if not depth:
            calls.append(1)
            return ops.chosen(x, x > m)
        return ops.when(m > -float(depth), lambda: nested(x, m, depth - 1), np.zeros(6))

    engine.gufunc(lambda x, m: nested(x, m, 5), "(6),()->(k)")
    once = len(calls)
    calls.clear()
    engine.gufunc(lambda x, m: nested(x, m, 1), "(6),()->(k)")
    assert once == len(calls)


def test_other_numbers_of_rows_are_told():
    some = np.array([1.0, -2.0, 3.0])
    with pytest.raises(EngineError, match="tables of 2, 3 rows go together; expected as many in each"):
        ops.sized(ops.chosen(some, some > 0.0), 3)
    made = engine.gufunc(lambda x: ops.sized(ops.chosen(x, x > 0.0), 3), "(3)->(3)")
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert np.isnan(made(some)).all()
    with pytest.raises(EngineError, match="a table of 5 rows"):
        engine.gufunc(lambda x: ops.sized(ops.rows(lambda a: 2.0 * a, x), 3), "(5)->(3)")
