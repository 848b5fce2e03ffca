"""Rows that a function reads otherwise than they are: one sentence says of which table, and what it holds, plain and traced."""

import re

import numpy as np
import pytest

import engine
from engine import EngineError, ops


def three(r):
    a, b, _ = r
    return a + b


def deeper(r):
    return r[2]


@pytest.mark.parametrize(("f", "signature", "kind", "what"), [
    (lambda x, y: ops.rows(lambda r: r[0] + r[2], x), "(n,2),(n)->(n)", IndexError, "'r' is a row of table 1, (n, 2): columns 0 … 1"),
    (lambda x, y: ops.rows(lambda s, r: s + r[-3], y, x), "(n,2),(n)->(n)", IndexError, "'r' is a row of table 2, (n, 2): columns 0 … 1"),
    (lambda x, y: ops.rows(deeper, x), "(n,2),(n)->(n)", IndexError, "'r' is a row of table 1, (n, 2): columns 0 … 1"),
    (lambda x, y: ops.rows(lambda s: s[0], y), "(n,2),(n)->(n)", IndexError, "'s' is a row of table 1, (n): one number, without columns"),
    (lambda x, y: ops.rows(three, x), "(n,2),(n)->(n)", EngineError, "'r' is a row of table 1, (n, 2): columns 0 … 1"),
    (lambda x, y: ops.rows(lambda r: r @ np.ones(3), x), "(n,2),(n)->(n)", EngineError, "'r' is a row of table 1, (n, 2): columns 0 … 1"),
    (lambda x, y: ops.total(ops.rows(lambda d: d["p"][4], {"p": x, "m": y})), "(n,2),(n)->()", IndexError, "index 4 is out of bounds"),
])  # fmt: skip
def test_one_sentence_says_of_which_table(f, signature, kind, what):
    for call in (f, lambda *x: engine.gufunc(f, signature)(*x)):
        with pytest.raises(kind, match=re.escape(what)) as caught:
            call(np.ones((8, 2)), np.ones(8))
        assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there_is_said_of_its_table():
    with pytest.raises(IndexError, match=r"test_misread_rows.py:\d+: index 2 is out of bounds .*: expected columns of a table \(n, 2\)"):
        engine.gufunc(lambda x: x[:, 2], "(n,2)->(n)")(np.ones((8, 2)))


def test_an_error_that_is_not_of_a_row_is_the_users_own():
    with pytest.raises(IndexError, match=r"^list index out of range$"):
        ops.rows(lambda r: [1.0][int(r[0])], np.ones((8, 2)))


@pytest.mark.parametrize(("f", "what"), [
    (lambda x: ops.add_at(x, [0, 1, 2], np.ones((2, 3))), "rows (2, 3) added at (3) places of a table (8, 2); expected (3, 2)"),
    (lambda x: ops.add_at(x, ([0, 1], [2, 3]), (np.ones((2, 2)), np.ones((4, 1)))),
     "rows (4, 1) added at (2) places of a table (8, 2); expected (2, 2)"),
    (lambda x: ops.add_at(x, [0, 1], np.ones(2)), "rows (2) added at (2) places of a table (8, 2); expected (2, 2)"),
    (lambda x: ops.gather(x[0, 0], 0), "gather got a number; expected a table, or an array (n, …)"),
    (lambda x: ops.chosen(x[0, 0], x[:, 0] > 0.0), "chosen got a number; expected a table, or an array (n, …)"),
    (lambda x: ops.add_at(x[0, 0], 0, 1.0), "add_at got a number; expected a table, or an array (n, …)"),
])  # fmt: skip
def test_rows_that_do_not_fit_a_table_on_floats(f, what):
    """Of as many numbers in another shape, too, which would be added elsewhere."""
    with pytest.raises(EngineError, match=re.escape(what)):
        f(np.ones((8, 2)))
