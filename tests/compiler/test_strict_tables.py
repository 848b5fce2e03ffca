"""What tables, loops and procedures are asked for that is not there, or not so: an error with the line, in machine code as on floats."""

import numpy as np
import pytest

import engine
from engine import ops
from tests.simulation.test_simulator import pendulum

X = np.arange(5.0)
SEVEN = 7.0 + X


@ops.procedure
def filled(x, n):
    y = ops.floats(int(n))
    y[0] = x[0]
    return y


@ops.procedure
def changing(x):
    y = ops.floats(1)
    x[0] = 9.0
    return y


def asking(**more):
    """A controller that reads row ⌊t/dt⌋ of five."""
    law = engine.Law(lambda t, q, v: ops.gather(SEVEN, ops.floor(100.0 * t + 0.5)) * np.ones(1), period=0.01, **more)
    return engine.Simulator(pendulum(), dt=1e-2, gravity=(0.0, 0.0, 0.0), controller=law)


@pytest.mark.parametrize("record_every", [1, 3, 100])
def test_a_run_ends_where_a_row_is_not_there(record_every):
    made = asking()
    assert made.run([0.1], [0.0], 0.04, record_every).tau[-1] == 11.0
    with pytest.raises(engine.EngineError, match=r"no longer finite .*t = 0\.05 s.*row 5 of a table of 5 rows; expected 0 … 4"):
        made.run([0.1], [0.0], 0.1, record_every)
    with pytest.warns(engine.simulation.SimulationWarning, match="2 of 2 rollouts"):
        batch = made.run([[0.1], [0.2]], np.zeros((2, 1)), 0.1, record_every)
    assert batch.failed.all() and "row 5 of a table" in batch.reason[1]


def test_a_table_of_times_is_no_trouble_to_who_looks_at_other_times(tmp_path):
    """Who looks for stiffness asks at states and times at which the run never is; whoever writes code tests it there."""
    table = np.zeros(500)
    made = engine.Simulator(pendulum(), dt=1e-3, controller=lambda t, q, v: -20 * (q - ops.gather(table, ops.floor(1e3 * t + 0.5))) - 2 * v)
    assert abs(made.run([0.1], [0.0], 0.3).q[-1, 0]) < 0.1
    for part in ("controller", "step"):
        assert engine.export_code(asking(), tmp_path / f"{part}.c", part=part).exists()


def test_the_shape_of_a_table_is_that_of_an_array():
    def mean(x):
        return ops.total(x) / x.shape[0]

    rows = X.reshape(5, 1) * [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(engine.gufunc(mean, "(n,3)->(3)")(rows), mean(rows))
    assert engine.gufunc(mean, "(n)->()")(X) == mean(X)
    assert engine.gufunc(lambda x: ops.total(x) / x.shape[1], "(n,3)->(3)")(rows).tolist() == (rows.sum(axis=0) / 3).tolist()


@pytest.mark.parametrize(("fn", "signature", "given", "what"), [
    (lambda x: ops.gather(x, x > 2), "(n)->(m)", (X,), r"truths as numbers of rows.*use engine\.ops\.chosen"),
    (lambda x: ops.add_at(x, x > 2, x), "(n)->(n)", (X,), r"truths as numbers of rows.*use engine\.ops\.chosen"),
    (lambda x, i: ops.gather(x, i), "(n),(m)->(n)", (X, [1.0, 2.0]), r"a table of 2 rows; '\(n\),\(m\)->\(n\)' promises n, which is 5"),
    (filled, "(n),()->(m)", (X, -1.0), r"makes an array of -1 entries; expected a whole number from 0"),
    (filled, "(n),()->(m)", (X, 1e15), "need more memory than there is for them: .* GiB, half of all"),
    (changing, "(n)->(m)", (X,), "is the caller.s, and is not to be changed"),
    (lambda x: ops.each(lambda k, s: {"b": s["b"], "c": s["a"]}, 2, {"a": x, "b": x})["a"], "(n)->(n)", (X,),
     "entries 'a', 'b' returns entries 'b', 'c'.*expected as it begins with"),
    (lambda x: ops.while_loop(lambda s: s * 2, x, 3)[0], "(n)->(n)", (X,), "got one value from it; expected two"),
])  # fmt: skip
def test_what_is_not_so_is_told(fn, signature, given, what):
    with pytest.raises((engine.EngineError, IndexError, ValueError, MemoryError), match=what):
        engine.gufunc(fn, signature)(*given)


@pytest.mark.parametrize(("fn", "given", "what"), [
    (filled, (X, -1.0), "array of -1 entries"),
    (changing, (X,), r"test_strict_tables.py:\d+: the procedure 'changing' changes 'x', which it was given"),
    (lambda x: ops.each(lambda k, s: {"b": s["b"], "c": s["a"]}, 2, {"a": x, "b": x}), (X,), "expected as it begins with"),
    (lambda x: ops.each(lambda k, s: (s[0], s[1], s[0]), 2, (x, x)), (X,), "a loop or branch of 2 values returns 3 values"),
    (lambda x: ops.while_loop(lambda s: s * 2, x, 3), (X,), "got one value from it; expected two"),
])  # fmt: skip
def test_what_is_not_so_is_told_on_floats(fn, given, what):
    with pytest.raises((engine.EngineError, ValueError), match=what):
        fn(*given)
    assert X[0] == 0.0


def test_entries_in_another_order_are_the_same_entries():
    found = ops.each(lambda k, s: {"b": s["b"] + 1.0, "a": s["a"]}, 3, {"a": X, "b": X})
    np.testing.assert_array_equal(found["b"], X + 3.0)
    traced = engine.gufunc(lambda x: ops.each(lambda k, s: {"b": s["b"] + 1.0, "a": s["a"]}, 3, {"a": x, "b": x})["b"], "(n)->(n)")
    np.testing.assert_array_equal(traced(X), X + 3.0)


def test_results_of_the_promised_size_are_returned():
    f = engine.gufunc(lambda x, y: (ops.rows(lambda a: 2.0 * a, x), y), "(n),(m)->(n),(m)")
    for n in (1, 4):
        a, b = f(np.ones(n), X)
        assert a.tolist() == [2.0] * n and b.tolist() == X.tolist()


@pytest.mark.parametrize(("f", "signature", "given", "what"), [
    (lambda x, i: ops.gather(x, i), "(n),(n)->(m)", (X, [1.0, 2.0]), r"got 5 rows of x and 2 rows of i; expected as many in each, n of"),
    (lambda x, i: ops.gather(x, i), "(n),(m)->(n)", (np.ones((2, 5)), np.zeros((2, 4))), "a table of 4 rows; .* promises n, which is 5"),
    (lambda x, y: y, "(n),(m)->(n)", (X, X[:2]), "returned a table of 2 rows"),
    (lambda x, y: (y, ops.total(x)), "(n),(m)->(n),()", (X, X[:2]), "returned a table of 2 rows"),
])  # fmt: skip
def test_rows_of_one_name_are_as_many(f, signature, given, what):
    """Looked at in machine code, which a call in Python around it would cost as much as a loop over a hundred rows."""
    f = engine.gufunc(f, signature)
    for _ in range(2):
        with pytest.raises(engine.EngineError, match=what):
            f(*given)
    f(X, X), f(np.ones((2, 5)), np.zeros(5))


@pytest.mark.parametrize("truths", [lambda x: x, lambda x: [1.0, 0.0, 0.0, 1.0, 0.0], lambda x: ops.gather(x, x),
                                    lambda x: ops.row_numbers(x), lambda x: 1.0 * np.arange(5.0)],
                         ids=["table", "list", "gathered", "row_numbers", "array"])  # fmt: skip
def test_numbers_are_no_truths(truths):
    """Rows by their numbers, most likely."""
    with pytest.raises(engine.EngineError, match=r"numbers.* expected truths, such as x > 0\.0; .*engine\.ops\.gather"):
        engine.gufunc(lambda x: ops.chosen(x, truths(x)), "(n)->(m)")
    with pytest.raises(engine.EngineError, match=r"chosen got numbers.*; expected truths, such as x > 0\.0; .*engine\.ops\.gather"):
        ops.chosen(X, truths(X))


@pytest.mark.parametrize("truths", [lambda x: x > 1.0, lambda x: ops.gather(x > 1.0, ops.row_numbers(x)),
                                    lambda x: ops.logical_and(ops.gather(x > 1.0, x), ops.logical_not(x > 3.0)),
                                    lambda x: np.array([False, True, True, False, True]), lambda x: [True] * 5],
                         ids=["table", "gathered", "both", "array", "list"])  # fmt: skip
def test_truths_are_truths_wherever_they_come_from(truths):
    f = engine.gufunc(lambda x: ops.chosen(x, truths(x)), "(n)->(m)")
    np.testing.assert_array_equal(f(X), ops.chosen(X, truths(X)))
    assert len(f(X))


def test_a_table_that_grows_without_end_is_told_before_memory_is_gone(monkeypatch):
    """Of half of the machine's memory, here of less, and the loop ends where there is none left: it would go on for ever with no rows."""
    monkeypatch.setitem(engine.compiler.native_code.FILLED, "arena.most", lambda: 1 << 24)
    f = engine.gufunc(lambda x: ops.while_loop(lambda s: (np.concatenate([s, s]), ops.total(s) < -1.5), x, 2**53)[0], "(n)->(m)")
    with pytest.raises(MemoryError, match="its tables need more memory than there is"):
        f(X)
    g = engine.gufunc(lambda x: ops.while_loop(lambda s: (np.concatenate([s, s]), ops.total(s) > 1e4), x, 2**53)[0], "(n)->(m)")
    assert len(g(X)) == 5 * 2**11
