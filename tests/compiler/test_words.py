"""What a newcomer writes who does not know tables yet: one sentence at the line, with what to write instead; and what needs no sentence."""

import re
from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import ops

X, V = np.arange(12.0).reshape(6, 2), np.arange(6.0)


def assigned(x):
    x[0] = 1.0
    return x


def column(x):
    x[:, 0] += 1.0
    return x


def forgets(a):
    a = 2.0 * a


WRONG = [
    (assigned, "(n,2)->(n,2)", "make another: engine.ops.where(engine.ops.row_numbers(table) == k, new, table)"),
    (column, "(n,2)->(n,2)", "changing a table in place by np.add"),
    (lambda x: ops.rows(lambda a, b: a + b, x), "(n)->(n)",
     "rows got the function '<lambda>(a, b)'; expected one that takes a row of each table: 1 arg"),
    (lambda x: ops.each(lambda k: k, 3, ops.total(x)), "(n)->()",
     "each got the function '<lambda>(k)'; expected one that takes k and x: 2 arguments"),
    (lambda x: ops.while_loop(lambda a, b: (a, True), x, 3)[0], "(n)->(n)", "while_loop got the function '<lambda>(a, b)'"),
    (lambda x: ops.when(ops.total(x) > 0.0, lambda y: y, x), "(n)->(n)",
     "when got the function '<lambda>(y)'; expected one that takes no argument"),
    (lambda x: ops.when(ops.total(x) > 0.0, x, x), "(n)->(n)", "when got a table in place of a function"),
    (lambda x: ops.rows(x, abs), "(n)->(n)", "rows got a function in place of a table; expected rows(f, table, …)"),
    (lambda x: ops.each(3, abs, x), "(n)->(n)", "each got a function for n"),
    (lambda x: ops.rows(forgets, x), "(n)->(n)",
     "rows got nothing (None), as a function without a return does, from the function 'forgets'"),
    (lambda x: np.searchsorted(x, 1.0), "(n)->()", "np.searchsorted of a table, in `np.searchsorted(x, 1.0)`"),
    (lambda x: np.sum(x), "(n)->()", "use engine.ops.total(table)"),
    (lambda x: np.sum(x, axis=0), "(n,2)->(2)", "use engine.ops.total(table)"),
    (lambda x: np.sum(x, axis=1), "(n,2)->(n)", "use engine.ops.rows(np.sum, table), which finds it of each row by itself"),
    (lambda x: np.mean(x, -1), "(n,2)->(n)", "use engine.ops.rows(np.mean, table), which finds it of each row by itself"),
    (lambda x: ops.rows(lambda a: a * np.sum(x, axis=1)[0], x), "(n,2)->(n,2)", "use engine.ops.rows(np.sum, table), which finds"),
    (lambda x: x.max(), "(n)->()",
     "use engine.ops.each(lambda k, y: engine.ops.maximum(y, engine.ops.gather(table, k)), table.shape[0], "
     "engine.ops.gather(table, 0))"),
    (lambda x: np.diff(x), "(n)->(m)", "gather the neighbours, as engine.ops.gather(table, engine.ops.maximum("),
    (lambda x: x[1:] - x[:-1], "(n)->(n)", "some rows of a table one after another"),
    (lambda x: x[x > 1.0], "(n)->(m)", "use engine.ops.chosen(table, truths)"),
    (lambda x: x[:, None] - x[None, :], "(n)->(n,n)", "a table against another"),
    (lambda x: sum(ops.gather(x, k) for k in range(x.shape[0])), "(n)->()",
     "engine.ops.each(f, n, x) counts as far as a traced number says"),
    (lambda x: np.zeros(x.shape[0]), "(n)->(n)", "np.zeros_like(table) has as many rows as a table"),
    (lambda x: np.array([3.0, 5.0])[ops.total(x)], "(n)->()", "engine.ops.gather(table, k) takes a row by a traced number"),
    (lambda x: ops.rows(lambda a: a + x, x), "(n)->(n)", "a table for each row"),
    (lambda x: ops.add_at(x, (V[:2], V[:2]), x), "(n)->(n)", "add_at got 2 places, and a table to add; expected a tuple of as many"),
    (lambda x: ops.while_loop(lambda s: (s, s > 0.0), x, 3)[0], "(n)->(n)", "a loop that says by a table (n) whether it is done"),
    (lambda x: ops.while_loop(lambda s: (s, False), x, ops.total(x))[0], "(n)->(n)", "a limit of while_loop that is traced"),
    (lambda x: ops.when(x > 0.0, lambda: 2.0 * x, x), "(n)->(n)", "use engine.ops.where(condition, a, b), which decides row by row"),
    (lambda x: np.array([x, x]), "(n)->(n)", "returned a table within a list or an array"),
    (lambda x: 1.0 in x, "(n)->()", "a search in a table"),
    (lambda x: ops.total((x, x)), "(n)->()", "total got a tuple; expected one table"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "signature", "text"), WRONG, ids=[text[:40] for *_, text in WRONG])
def test_it_is_said_at_the_line(f, signature, text):
    x = X if "n,2" in signature else V
    with pytest.raises(engine.EngineError, match=re.escape(text)) as caught:
        engine.gufunc(f, signature)(x)
    assert re.match(rf"{re.escape(__file__)}:\d+: ", str(caught.value))


@pytest.mark.parametrize(("f", "signature"), [
    (lambda x: np.max(x), "(n)->()"), (lambda x: np.min(x), "(n)->()"), (lambda x: x.max(), "(n)->()"), (np.flip, "(n)->(n)"),
    (lambda x: np.max(x, axis=0), "(n,2)->(2)"), (lambda x: x.min(axis=0), "(n,2)->(2)"), (lambda x: np.roll(x, 1), "(n)->(n)"),
    (lambda x: np.roll(x, 1, axis=0), "(n,2)->(n,2)"), (lambda x: np.flip(x, axis=0), "(n,2)->(n,2)"),
    (lambda x: np.sum(x, axis=0), "(n,2)->(2)"), (lambda x: x.mean(axis=0), "(n,2)->(2)"),
])  # fmt: skip
def test_what_is_said_to_use_instead_does_what_was_meant(f, signature):
    x = np.array([[3.0, -1.0], [-2.0, 7.0], [5.0, 0.5]]) if "n,2" in signature else np.array([-3.0, 2.0, -1.5])
    with pytest.raises(engine.TraceError, match=r"cannot be compiled: (for whole rows \(axis=0\) )?use ") as caught:
        engine.gufunc(f, signature)
    advice = re.search(r" use (.*?)(?:, or .*)?$", str(caught.value))[1]
    meant = engine.gufunc(lambda table: eval(advice, {"engine": engine, "np": np, "table": table}), signature)
    np.testing.assert_array_equal(meant(x), f(x))


@pytest.mark.parametrize(("f", "signature"), [
    (lambda x: np.where(x > 1.0, x, -x), "(n)->(n)"), (lambda x: np.clip(x, 1.0, 3.0), "(n)->(n)"),
    (lambda x: np.zeros_like(x) + np.ones_like(x) * x, "(n,2)->(n,2)"), (lambda x: np.where(x[:, 0] > 3.0, x[:, 1], 0.0), "(n,2)->(n)"),
])  # fmt: skip
def test_what_numpy_has_of_every_number_tables_have_too(f, signature):
    x = X if "n,2" in signature else V
    np.testing.assert_array_equal(engine.gufunc(f, signature)(x), f(x))


class Ball(NamedTuple):
    place: object
    speed: object


def test_rows_of_structures():
    """Named tuples and dictionaries, into a row's function and out of it, nested."""
    def f(x, v):
        moved = ops.rows(lambda b: Ball(b.place + 0.5 * b.speed, {"now": b.speed, "twice": 2.0 * b.speed}), Ball(x, v))
        return moved.place, moved.speed["twice"] - moved.speed["now"]

    for found, expected in zip(engine.gufunc(f, "(n,2),(n,2)->(n,2),(n,2)")(X, X + 1.0), f(X, X + 1.0), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(f(X, X + 1.0)[0], 1.5 * X + 0.5)


def test_rows_of_none_on_floats_are_as_compiled():
    """A row's function may ask for rows of a table that has none: it is called of nothing, to know what it would return."""
    def f(x):
        return ops.rows(lambda a, k: a + ops.gather(x, k), x, ops.row_numbers(x))

    assert f(np.zeros((0, 3))).shape == engine.gufunc(f, "(n,3)->(n,3)")(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(IndexError, match="of 0 rows"):
        ops.gather(np.zeros((0, 3)), 0.0)
