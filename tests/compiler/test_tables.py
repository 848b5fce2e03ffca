"""Tables: loops over as many rows as there are, the same plain, interpreted and compiled, with any number of rows in the lanes."""

import pickle
import re
from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import ArgumentError, EngineError, TraceError, ops
from engine.compiler import interpret, native_code, trace, verify
from engine.compiler.graph.program import COUNTED, Program
from engine.compiler.gufunc import Gufunc
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.scan import rollout_ufunc
from tests.compiler.programs import WIDTHS, bits


def gravity(x, m):
    """A loop within a loop."""
    def row(a, b):
        return b * ops.total(ops.rows(lambda c, d: d * ((c - a) @ (c - a)) * (c - a), x, m))

    return ops.rows(row, x, m)


def springs(x, m, i, j):
    """Rows by their numbers, and rows added to others at two places each."""
    def pull(a, b, k):
        f = k * (b - a) * ((b - a) @ (b - a))
        return f, -f

    f, g = ops.rows(pull, ops.gather(x, i), ops.gather(x, j), ops.gather(m, j))
    return ops.add_at(2.0 * x, (i, j), (f, g))


def some(x, m):
    """Rows that are chosen, sums, numbers of rows, and columns."""
    kept = ops.chosen(x, m > 0.0)
    return kept, ops.total(kept * kept), ops.total(ops.row_numbers(m) * m), x[:, 0]


class State(NamedTuple):
    u: object
    t: object


def heat(u, passes):
    """A table, and a number, from pass to pass."""
    last = ops.total(ops.rows(lambda x: 1.0, u)) - 1.0
    left, right = ops.maximum(ops.row_numbers(u) - 1.0, 0.0), ops.minimum(ops.row_numbers(u) + 1.0, last)

    def step(s):
        new = ops.rows(lambda a, b, c: b + 0.25 * (a - 2.0 * b + c), ops.gather(s.u, left), s.u, ops.gather(s.u, right))
        return State(new, s.t + 1.0), s.t + 1.0 >= passes

    done, _ = ops.while_loop(step, State(u, 0.0), 20)
    return done.u, done.t


def halves(x):
    """Fewer rows in each pass, in a dictionary, and a branch with a table."""
    def step(s):
        return {"x": ops.chosen(s["x"], s["x"] > s["n"]), "n": s["n"] + 1.0}, s["n"] > 2.0

    s, _ = ops.while_loop(step, {"x": x, "n": 0.0}, 9)
    return ops.when(ops.total(s["x"]) > 40.0, lambda: (s["x"], s["n"]), (2.0 * s["x"], 0.0))


def empty(x, m):
    """Tables that are known to have no rows, alone, with others, and in their places."""
    none, nowhere = np.zeros((0, 3)), np.zeros(0)
    kept = ops.when(ops.total(m) > 0.0, lambda: ops.chosen(x, m > 0.0), none)
    gone, _ = ops.while_loop(lambda s: ((none, s[0]), ops.total(s[0])[0] > 0.0), (x, none), 2)
    taken = ops.total(ops.rows(lambda a: 2.0 * a, ops.gather(x, nowhere))) + ops.total(ops.gather(none, nowhere))
    return kept, gone[1], ops.add_at(x, (nowhere, nowhere), (none, none)), taken + ops.total(x)


def whole_numbers(rng, *shape):
    """Small whole numbers: sums and products of a few are exact, whatever is fused."""
    return rng.integers(-3, 4, shape).astype(float)


def given(f, n):
    rng = np.random.default_rng(n)
    x, m = whole_numbers(rng, n, 3), whole_numbers(rng, n)
    i, j = (rng.integers(0, max(n, 1), 2 * n).astype(float) for _ in range(2))
    return {gravity: (x, m), springs: (x, m, i, j), some: (x, m), heat: (m, 4.0), halves: (rng.integers(0, 6, n).astype(float),),
            empty: (x, m)}[f]


SIGNATURES = {gravity: "(n,3),(n)->(n,3)", springs: "(n,3),(n),(k),(k)->(n,3)", some: "(n,3),(n)->(k,3),(3),(),(n)",
              heat: "(n),()->(n),()", halves: "(n)->(k),()", empty: "(n,3),(n)->(k,3),(l,3),(n,3),(3)"}  # fmt: skip
COUNTS = (0, 1, 3, 8, 33)


def at_width(f, width, monkeypatch):
    """f compiled with so many rows in the lanes."""
    monkeypatch.setattr(native_code, "rows", lambda: width)
    made = engine.gufunc(f, SIGNATURES[f])
    verify(made.program)
    program = Program(made.program.nodes, made.program.outputs, made.program.shapes_in, made.program.shapes_out, made.program.functions)
    program.__dict__["key"] = f"{made.program.key}, {width} rows"
    return Gufunc(program, SIGNATURES[f], made.arguments)


def all_bits(results):
    return [(np.shape(r), bits(r)) for r in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("f", SIGNATURES, ids=lambda f: f.__name__)
def test_plain_interpreted_and_compiled_are_the_same(f, monkeypatch):
    """To the bit, of numbers with which no sum is rounded, for each number of rows and of lanes."""
    made = {w: at_width(f, w, monkeypatch) for w in WIDTHS}
    for n in COUNTS:
        x = given(f, n)
        expected = all_bits(f(*x))
        assert all_bits(interpret(made[1].program, *x)) == expected
        for w, g in made.items():
            assert all_bits(g(*x)) == expected, (n, w)


@pytest.mark.parametrize("f", [gravity, springs, some], ids=lambda f: f.__name__)
def test_bits_do_not_depend_on_how_many_rows_go_together(f, monkeypatch):
    x = [0.1 * a + 0.37 if a.ndim == 2 else a for a in given(f, 61)]
    found = [all_bits(at_width(f, w, monkeypatch)(*x)) for w in WIDTHS]
    assert found[1:] == found[:-1]


def test_the_program_does_not_depend_on_how_many_rows_there_are():
    """And loops that follow one another are one: what the first makes is not stored."""
    loops = {f: [g for g in engine.gufunc(f, SIGNATURES[f]).program.functions if isinstance(g, RowLoop)] for f in (gravity, springs)}
    assert [len(found) for found in loops.values()] == [1, 2]                  # springs': 2 x, and all the rest
    few, many = (trace(lambda x, m: gravity(x, m), [(n, 3), (n,)]) for n in (10, 20))
    assert sum(node[0] == "call" for node in few.nodes) == sum(node[0] == "call" for node in many.nodes) == 4


def test_forces_between_pairs_add_up_to_nothing():
    """Newton's third law, exactly: each force is added here and taken away there."""
    rng = np.random.default_rng(1)
    x, i, j = whole_numbers(rng, 50, 3), rng.integers(0, 50, 200), rng.integers(0, 50, 200)
    made = engine.gufunc(springs, SIGNATURES[springs])(x, np.ones(50), i, j)
    assert (made - 2.0 * x).sum(axis=0).tolist() == [0.0, 0.0, 0.0]


def test_tables_of_the_same_numbers_may_have_different_rows():
    numbers = np.arange(30.0)

    def f(x):
        return ops.gather(numbers.reshape(5, 6), x - 1.0)[0] + 100.0 * ops.gather(numbers.reshape(6, 5), x)[0]

    assert engine.gufunc(f, "()->()")(5.0) == f(5.0) == 24.0 + 2500.0


NONE = np.zeros((0, 2))


@pytest.mark.parametrize(("f", "says"), [
    (lambda x: ops.rows(lambda a: a[:0], x), "a table of rows of the shape (0,)"),
    (lambda x: ops.total(x[:, :0]), "a table of rows of the shape (0,)"),
    (lambda x: ops.add_at(NONE, ops.total(x)[0], np.zeros(2)), "adding to a row of a table of 0 rows"),
    (lambda x: ops.add_at(x, (), ()), "add_at got no row numbers; expected those of one place at least"),
])  # fmt: skip
def test_what_has_no_numbers_is_refused(f, says):
    with pytest.raises(EngineError, match=re.escape(says)):
        trace(f, [(COUNTED, 2)])
    with pytest.raises(EngineError, match=re.escape("a table of rows of the shape (0,)")):
        trace(lambda x: ops.total(x), [(COUNTED, 0)])


def test_no_truth_of_a_row():
    for n in (0, 3):
        with pytest.raises(EngineError, match=f"chosen got {n} truths of a table of {3 - n} rows; expected one of each"):
            ops.chosen(np.zeros((3 - n, 2)), np.zeros(n))
    assert ops.jacobian(lambda y: np.append(y, 1.0), np.zeros(0)).shape == (1, 0)


# ------------------------------------------------------------ derivatives


def energy(x, m, g):
    """Of a loop within a loop."""
    return ops.total(ops.rows(lambda a, b: ops.total(ops.rows(lambda c, d: g * b * d * ((a - c) @ (a - c)), x, m)), x, m))


def strain(x, i, j, k):
    return ops.total(ops.rows(lambda a, b: 0.5 * k * ((a - b) @ (a - b)) ** 2, ops.gather(x, i), ops.gather(x, j)))


def mixed(x, i, j, k):
    """Through rows that are added to, and chosen."""
    f, g = ops.rows(lambda a, b: (k * a * b, b - a), ops.gather(x, i), ops.gather(x, j))
    a = ops.add_at(x * x, (i, j), (f, g))
    c = ops.chosen(a, x[:, 0] > 0.0)
    return ops.total(a * a) @ np.ones(3) + ops.total(c * c) @ np.array([1.0, 2.0, 3.0])


POINTS = whole_numbers(np.random.default_rng(5), 5, 3)
DERIVED = {
    energy: ("(n,3),(n),()->()", (POINTS, np.arange(1.0, 6.0), 2.0), {"n": 5}),
    strain: ("(n,3),(k),(k),()->()", (POINTS, np.arange(4.0), np.arange(1.0, 5.0), 2.0), {"n": 5, "k": 4}),
    mixed: ("(n,3),(k),(k),()->()", (POINTS, np.arange(4.0), np.arange(1.0, 5.0), 2.0), {"n": 5, "k": 4}),
}


def polynomial_slope(f, x, argument):
    """Of a polynomial of degree six at most, in whole numbers: differences that are exact but for the last bits."""
    y = np.array(x[argument], dtype=float)
    weights = np.array([45.0, -9.0, 1.0]) / 60.0
    found = np.zeros(y.shape)
    for k in np.ndindex(y.shape):
        for step, w in enumerate(weights, 1):
            for sign in (1.0, -1.0):
                z = y.copy()
                z[k] += sign * step
                found[k] += sign * w * f(*x[:argument], z[()], *x[argument + 1 :])
    return found


@pytest.mark.parametrize(("f", "argument"), [(energy, 0), (energy, 1), (energy, 2), (strain, 0), (strain, 3), (mixed, 0), (mixed, 3)])
def test_derivatives(f, argument):
    """Backward and forward, of any number of rows and of a known one, against differences that are exact for polynomials."""
    signature, x, sizes = DERIVED[f]
    if f is mixed:                                                             # who is chosen must not change with a step
        x = (np.where(x[0] == 0.0, 9.0, 10.0 * x[0]), *x[1:])
    expected = polynomial_slope(f, x, argument)
    bound = 1e3 * np.finfo(float).eps * max(abs(float(f(*x))), np.abs(expected).max())
    for known in ({}, sizes):
        G = engine.gradient(f, signature, argument, **known)
        verify(G.program)
        for found in (G(*x), interpret(G.program, *x)):
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
    forward = engine.jacobian(lambda *y: ops.array([f(*y)] * 16), signature.replace("->()", "->(16)"), argument, **sizes)
    np.testing.assert_allclose(forward(*x)[0], expected, rtol=0, atol=bound)


@pytest.mark.parametrize("f", [
    lambda x: ops.total(ops.when(ops.total(x) > 0.0, lambda: x * x, x)),
    engine.gufunc(lambda x: ops.total(x * x), "(n)->()"),
    lambda x: engine.gufunc(lambda x: ops.total(x * x), "(n)->()")(x),
    lambda x: ops.total(engine.gradient(lambda y: ops.total(y * y * y), "(n)->()")(x)),
])  # fmt: skip
def test_derivatives_that_are_not_known_are_refused(f):
    """Through branches and calls with tables: nothing is taken for constant, or for itself."""
    with pytest.raises(TraceError, match=r"a derivative through a .* with tables.*(rows|loop of arrays)"):
        engine.gradient(f, "(n)->()") if not isinstance(f, Gufunc) else engine.gradient(lambda x: f(x), "(n)->()")


def test_numpy_functions_take_tables_of_known_sizes():
    f = engine.gufunc(lambda x: np.sum(ops.rows(lambda y: y * y, x)) + np.mean(ops.rows(lambda y: y, x)) + x.sum(), "(n)->()", n=9)
    assert f(np.arange(9.0)) == 204.0 + 4.0 + 36.0


def test_columns_go_beside_rows():
    f = engine.gufunc(lambda x, m: x * m[:, None], "(n,3),(n)->(n,3)")
    assert f(np.ones((2, 3)), [1.0, 2.0]).tolist() == [[1.0] * 3, [2.0] * 3]


def test_a_gradient_of_what_does_not_depend_on_a_table_is_zero():
    assert engine.gradient(lambda x, s: s * s, "(n,2),()->()", 0)(np.ones((3, 2)), 2.0).tolist() == [[0.0, 0.0]] * 3


# ------------------------------------------------------------ calls


def test_calls_take_what_other_compiled_functions_take():
    """Lists, whole numbers, batches, rows of arrays; and are pickled."""
    f = engine.gufunc(lambda a, s: ops.rows(lambda x: s * x @ x, a), "(n,2,2),()->(n,2,2)")
    A = np.arange(12).reshape(3, 2, 2)
    assert f(A.tolist(), 2).tolist() == (2 * A @ A).tolist()
    assert f(np.stack([A, A + 1]), [1.0, 2.0]).tolist() == np.stack([A @ A, 2 * (A + 1) @ (A + 1)]).tolist()
    assert pickle.loads(pickle.dumps(engine.gufunc(heat, SIGNATURES[heat])))(np.ones(3), 2.0)[1] == 2.0
    h = engine.gufunc(lambda x: ops.gather(x, [2, 0]) * ops.rows(lambda y: 2.0 * y, np.arange(1.0, 3.0)), "(n)->(2)")   # known rows
    assert h([1.0, 2.0, 3.0]).tolist() == [6.0, 4.0]
    g = engine.gufunc(lambda a: f(a, 3.0) + a, "(n,2,2)->(n,2,2)")             # one within another
    assert g(A).tolist() == (3 * A @ A + A).tolist()


def test_shared_functions_take_structures():
    def scaled(p):
        return {"all": p["x"] * p["by"][0], "sum": ops.total(p["x"]) + p["by"][1]}

    f = engine.gufunc(lambda x: ops.shared(scaled, {"x": x, "by": (2.0 * x[0], x[1])})["all"], "(3)->(3)")
    assert f([1.0, 2.0, 3.0]).tolist() == [2.0, 4.0, 6.0]
    g = engine.gufunc(lambda x, s: ops.shared(scaled, {"x": x, "by": (s, s)})["sum"], "(n),()->()")
    assert g([1.0, 2.0, 3.0], 5.0) == 11.0


@pytest.mark.parametrize(("f", "signature", "x", "error", "text"), [
    (lambda x, i: ops.gather(x, i) + 0.0, "(n),(k)->(k)", ([1.0, 2.0], [0, 2]), IndexError, "row 2 of a table of 2 rows; expected 0 … 1"),
    (lambda x, i: ops.gather(x, i) + 0.0, "(n),(k)->(k)", ([1.0, 2.0], [0.5]), IndexError, "row 0.5 of a table; expected whole numbers"),
    (lambda x, i: ops.gather(x, i) + 0.0, "(n),(k)->(k)", ([], [0]), IndexError, "row 0 of a table of 0 rows"),
    (lambda x, i: ops.add_at(x, i, i), "(n),(k)->(n)", ([1.0, 2.0], [-1]), IndexError, "row -1 of a table of 2 rows"),
    (lambda x, y: ops.rows(lambda a, b: a * b, x, y), "(n),(k)->(n)", ([1.0, 2.0], [1.0]), EngineError,
     "tables of 2, 1 rows go together; expected as many in each"),
])  # fmt: skip
def test_what_is_wrong_when_it_runs_is_said(f, signature, x, error, text):
    """Plain, and compiled with the line."""
    with pytest.raises(error, match=re.escape(text)):
        f(*map(np.array, x))
    with pytest.raises(error, match=re.escape(text)) as caught:
        engine.gufunc(f, signature)(*x)
    assert str(caught.value).startswith(f"{__file__}:")


@pytest.mark.parametrize(("f", "text"), [
    (lambda x: x[0], "use engine.ops.gather(table, numbers), and table[:, …] for columns, or write a number for its size"),
    (lambda x: len(x) * 1.0, "how many rows a table has"),
    (lambda x: sum(x), "a table's rows one by one"),
    (lambda x: 1.0 if x else 0.0, "a decision on a table"),
    (lambda x: np.add.reduce(x), "np.add.reduce of a table"),
    (lambda x: x - np.mean(x), "np.mean of a table"),
    (lambda x: x * np.dot(x, x), "np.dot of a table"),
    (lambda x: x / np.size(x), "np.size of a table"),
    (lambda x: np.argsort(x), "np.argsort of a table"),
    (lambda x: x.sum(), ".sum of a table"),
    (lambda x: x * ops.rows(lambda y: ops.array([y, y]), x), "expected as many axes in each: write table[:, None]"),
    (lambda x: ops.chosen(x, ops.rows(lambda y: ops.array([y, y]), x)), "expected (n): a truth a row"),
    (lambda x: ops.while_loop(lambda y: (ops.rows(lambda z: ops.array([z, z]), y), True), x, 2)[0], "returns a table (n, 2)"),
    (lambda x: ops.rows(lambda y: y, x, 1.0), "a number for a table"),
    (lambda x: ops.add_at(x, x, ops.rows(lambda y: ops.array([y, y]), x)), "expected rows as its own"),
])  # fmt: skip
def test_what_cannot_be_traced_is_said_at_the_line(f, text):
    with pytest.raises(TraceError, match=re.escape(text)) as caught:
        engine.gufunc(f, "(n)->(n)")
    assert str(caught.value).startswith(f"{__file__}:")


@pytest.mark.parametrize("f", [
    lambda x: x @ x, lambda x: np.dot(x, x), lambda x: np.linalg.norm(x), lambda x: np.max(x), lambda x: np.sum(x),
    lambda x: np.cross(x, x)[0], lambda x: np.prod(x), lambda x: np.outer(x, x)[0, 0],
    lambda x: x[0], lambda x: sum(x), lambda x: 1.0 * len(x),
])  # fmt: skip
def test_a_size_that_was_forgotten_is_asked_for(f):
    """By whatever asks for it, as it makes a vector of the table; with it the same function is compiled."""
    with pytest.raises(TraceError, match=r"or write a number for its size in the signature, or give it by name, as n=3$"):
        engine.gufunc(f, "(n)->()")
    x = np.array([3.0, -1.0, 2.0])
    assert np.allclose(engine.gufunc(f, "(n)->()", n=3)(x), f(x), rtol=3 * np.finfo(float).eps, atol=0.0)       # of three terms


def test_tables_of_other_sizes_are_refused():
    f = engine.gufunc(gravity, SIGNATURES[gravity])
    with pytest.raises(ArgumentError, match=re.escape("x has shape (4, 2); expected (..., n, 3)")):
        f(np.ones((4, 2)), np.ones(4))
    with pytest.raises(EngineError, match="expected as many in each"):
        f(np.ones((4, 3)), np.ones(3))
    with pytest.raises(ArgumentError, match="got 'out'"):
        f(np.ones((4, 3)), np.ones(4), out=np.ones((4, 3)))
    with pytest.raises(ArgumentError, match=r"of more than three dimensions; expected flat arrays"):
        engine.jacobian(gravity, SIGNATURES[gravity])
    kept = engine.gufunc(lambda x: ops.chosen(x, x > 0.0), "(n)->(k)")
    with pytest.raises(ArgumentError, match="got an empty batch"):
        kept(np.zeros((0, 3)))
    with pytest.raises(ArgumentError, match="different numbers of rows; expected as many in each row of a batch"):
        kept([[1.0, -1.0], [1.0, 1.0]])


def test_the_verifier_knows_tables_from_numbers():
    program = trace(lambda x, s: ops.rows(lambda y: s * y, x), [(COUNTED, 2), ()])
    verify(program)
    call = next(i for i, node in enumerate(program.nodes) if node[0] == "call")
    wrong = [("call", 0, 1, 0) if i == call else node for i, node in enumerate(program.nodes)]
    with pytest.raises(AssertionError, match="passes x m2; expected m2 x"):
        verify(Program(wrong, program.outputs, program.shapes_in, program.shapes_out, program.functions))
    wide = trace(lambda x: ops.rows(lambda k, y: k * y, ops.row_numbers(x), ops.rows(lambda y: y @ y, x)), [(COUNTED, 2)])
    verify(wide)                                                               # rows of any table have numbers, where loops are joined too
    with pytest.raises(AssertionError, match="no m3"):
        verify(Program(program.nodes, program.outputs, program.shapes_in, [(COUNTED, 3)], program.functions))


def test_loops_of_many_passes_need_no_more_memory():
    """10⁵ passes over a thousand rows would be 0.8 GB, were they kept."""
    f = engine.gufunc(lambda x: ops.while_loop(lambda y: (0.5 * y + 1.0, False), x, 10**5)[0], "(n)->(n)")
    assert np.abs(f(np.zeros(1000)) - 2.0).max() == 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_rows_that_are_known_stand_one_below_the_other(n):
    x = np.arange(2.0 * n).reshape(n, 2)

    def made(x):
        return ops.rows(lambda x: np.array([x[0], x[1], x @ x]), x), *ops.rows(lambda x: (x[0], np.array([[x[1]], [x[0]]])), x)

    f = engine.gufunc(made, f"({n},2)->({n},3),({n}),({n},2,1)")
    for found, plain in zip(f(x), made(x), strict=True):
        assert found.shape == plain.shape and (found == plain).all()


def test_functions_of_c_within_rows_and_outside_are_declared_once():
    f = engine.gufunc(lambda x, y: ops.rows(lambda x: np.tan(x) + np.sin(x), x) * (np.tan(y) + np.sin(y)), "(n),()->(n)")
    x = np.linspace(0.1, 0.9, 11)
    assert np.abs(f(x, 0.3) - (np.tan(x) + np.sin(x)) * (np.tan(0.3) + np.sin(0.3))).max() < 1e-15


@pytest.mark.parametrize("batch", [(), (3,)])
def test_steps_and_records_with_tables(batch):
    """A rollout: x⁺ = x + dt x² of each row, and what is seen of it."""
    def step(t0, k, dt, p, x):
        return np.asarray(ops.rows(lambda x: x + dt * x * x, x))

    def observe(t0, k, dt, p, x):
        return np.array([t0 + k * dt, ops.total(ops.rows(lambda x: 2.0 * x, x)), *x])

    shapes = [(), (), (), (0,), (9,)]
    rollout = rollout_ufunc(trace(step, shapes), trace(observe, shapes), native_code.width())
    x = np.linspace(0.1, 0.9, 9) * np.ones((*batch, 1))
    found = rollout(np.array([0.0, 3.0, 2.0]), 0.0, 0.0, 0.1, np.zeros(0), x)
    for count, record in zip((0, 3, 2), np.moveaxis(found, -2, 0), strict=True):
        for _ in range(count):
            x = x + 0.1 * x * x
        assert np.abs(record[..., 2:] - x).max() < 1e-15 and np.abs(record[..., 1] - 2.0 * x.sum(axis=-1)).max() < 1e-14


def test_one_after_another():
    """A sum that forgets, row after row; the same of as many rows as are known, and of as many as a number says."""
    def forgetting(x, n):
        return ops.each(lambda k, s: 0.5 * s + ops.gather(x, k), n, 0.0 * ops.gather(x, 0.0))

    f = engine.gufunc(lambda x: forgetting(x, ops.total(ops.rows(lambda _: 1.0, x))), "(n,2)->(2)")
    g = engine.gufunc(lambda x, n: forgetting(x, n), "(n,2),()->(2)")
    known = engine.gufunc(lambda x: forgetting(x, 3), "(3,2)->(2)")
    for n in (1, 2, 3, 9):
        x = np.random.default_rng(n).standard_normal((n, 2))
        plain = forgetting(x, n)
        assert plain == pytest.approx(sum(0.5 ** (n - 1 - k) * x[k] for k in range(n)))
        assert bits(f(x)) == bits(g(x, float(n))) == bits(plain) == bits(np.asarray(interpret(f.program, x)))
        assert n != 3 or bits(known(x)) == bits(plain)
    assert (g(x, 0.0) == 0.0).all()
    for n in (-1, 0.5):
        with pytest.raises(EngineError, match="each got n = "):
            ops.each(lambda k, x: x, n, 0.0)


def test_one_row_of_a_table_of_numbers():
    """By a number that is known, by one that is given, in rows and one after another; (n) and (n, 1) alike."""
    x = np.array([3.0, 5.0, 7.0])
    for f, args in ((lambda x: ops.gather(x, 2), ()), (lambda x, k: ops.gather(x, k), (2.0,)),
                    (lambda x: ops.each(lambda k, y: ops.gather(x, k), 3, 0.0 * ops.gather(x, 0)), ())):  # fmt: skip
        given = ",()" * len(args)
        assert engine.gufunc(f, f"(n){given}->()")(x, *args) == f(x, *args) == 7.0
        assert engine.gufunc(f, f"(n,1){given}->(1)")(x[:, None], *args).tolist() == [7.0]
    back = engine.gufunc(lambda x: ops.rows(lambda k: ops.gather(x, 2.0 - k), ops.row_numbers(x)), "(n)->(n)")
    assert back(x).tolist() == x[::-1].tolist()


def test_a_number_of_passes_that_is_none():
    """They make NaN, of tables too, and more passes than there are integers of 64 bits are no fewer."""
    f = engine.gufunc(lambda x, n: ops.each(lambda k, y: y + 1.0, n, x), "(),()->()")
    g = engine.gufunc(lambda x, n: ops.each(lambda k, y: ops.add_at(y, k, 1.0), n, x), "(k),()->(k)")
    assert [f(1.0, n) for n in (0.0, 3.0)] == [1.0, 4.0] and g(np.zeros(3), 2.0).tolist() == [1.0, 1.0, 0.0]
    with np.errstate(invalid="ignore"):
        for n in (np.nan, -1.0, 2.5, np.inf, 1e30):
            assert np.isnan(f(1.0, n)) and np.isnan(interpret(f.program, 1.0, n)) and np.isnan(g(np.zeros(3), n)).all()

    def count(x):
        return ops.while_loop(lambda y: (y + 1.0, y > 8.0), x, 2**70)[0]

    assert engine.gufunc(count, "()->()")(1.0) == count(1.0) == 10.0


@pytest.mark.parametrize("n", [1, 7])
def test_a_loop_keeps_arrays_of_known_sizes_as_it_began(n):
    """An array whose rows a pass adds to, and a branch."""
    def prefix(x):
        return ops.each(lambda k, s: (s[0] + ops.gather(x, k), ops.add_at(s[1], k, s[0] + ops.gather(x, k))), n, (0.0, 0.0 * x))[1]

    def branch(x):
        return ops.when(x[0] > 0.0, lambda: ops.add_at(x, [0], ops.array([1.0])), x)

    x = np.arange(1.0, n + 1.0)
    for f in (prefix, branch):
        assert engine.gufunc(f, "(n)->(n)", n=n)(x).tolist() == f(x).tolist()


def test_rows_one_by_one_into_a_table():
    def prefix(x):
        """Sums of all rows before: each adds to the next."""
        count = ops.total(ops.rows(lambda _: 1.0, x))
        return ops.each(lambda k, s: ops.add_at(s, k + 1.0, ops.gather(s, k)), count - 1.0, 1.0 * x)

    x = np.random.default_rng(0).standard_normal((11, 2))
    f = engine.gufunc(prefix, "(n,2)->(n,2)")
    assert bits(f(x)) == bits(prefix(x)) == bits(np.cumsum(x, axis=0))
    with pytest.raises(IndexError):
        engine.gufunc(lambda x, k: ops.gather(x, k), "(n,2),()->(2)")(x, 11.0)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_that_stand_side_by_side_are_those_of_their_numbers(m, width, monkeypatch):
    """Whole vectors are read and written where numbers follow one another: from any row on, at the end, and where one of them does not."""
    monkeypatch.setattr(native_code, "rows", lambda: width)

    def f(x, i, j):
        near, far = ops.gather(x, i), ops.gather(x, j)
        moved = ops.rows(lambda a, b: a - 2.0 * b, near, far)
        return moved, ops.add_at(0.5 * x, (j, i), (moved, -near)), ops.total(moved), ops.chosen(moved, i > j)

    g = engine.gufunc(f, f"(n,{m}),(k),(k)->(k,{m}),(n,{m}),({m}),(l,{m})")
    rng = np.random.default_rng(m)
    for n, k in ((9, 8), (30, 16), (30, 21), (8, 8), (3, 9)):
        x = rng.integers(-99, 99, (n, m)).astype(float)
        for first in (0, 1, 5, n - k, n - 1):
            i = np.clip(first + np.arange(k), 0, n - 1).astype(float)
            for j in (np.roll(i, 1), np.flip(i), np.r_[i[:-1], i[0]], rng.integers(0, n, k).astype(float)):
                assert all_bits(g(x, i, j)) == all_bits(f(x, i, j)), (n, k, first, j)


@pytest.mark.parametrize("wrong", [-1.0, 3.5, 25.0, 2.0**31, 2.0**32 + 3.0, 2.0**52, 2.0**53, 1e300, -1e300, np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 7, 12])
@pytest.mark.parametrize("f", [lambda x, i: ops.gather(x, i) + 0.0, lambda x, i: ops.add_at(x, i, ops.gather(x, 0.0 * i))],
                         ids=["gather", "add_at"])  # fmt: skip
def test_a_number_that_is_not_a_rows_among_others_side_by_side(f, place, wrong):
    """At the first lane of a group, at its last, and beyond the whole groups."""
    i = np.arange(13.0)
    i[place] = wrong
    with pytest.raises((IndexError, ArgumentError)):
        engine.gufunc(f, "(n),(k)->(l)")(np.arange(25.0), i)


def test_rows_added_to_a_table_without_rows():
    """Nothing is added, and nothing is missing."""
    g = engine.gufunc(lambda x, i: ops.add_at(2.0 * x, i, ops.rows(lambda k: 3.0 * k, i)), "(n),(k)->(n)")
    assert g([], []).shape == (0,) and g([1.0, 2.0], []).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("first", [18.0, 24.0, 25.0, -3.0, -8.0, 0.5])
def test_rows_side_by_side_that_are_not_all_there(first):
    for n in (8, 13):
        with pytest.raises((IndexError, ArgumentError)):
            engine.gufunc(lambda x, i: ops.gather(x, i) + 0.0, "(n,3),(k)->(k,3)")(np.ones((25, 3)), first + np.arange(float(n)))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_added_side_by_side_come_in_the_order_of_rows(m, width, monkeypatch):
    """Of two that overlap, to the bit, in numbers that every addition rounds: each before, behind, and upon the other."""
    monkeypatch.setattr(native_code, "rows", lambda: width)
    shape, rng = "(n)" if m == 1 else f"(n,{m})", np.random.default_rng(m)
    two = engine.gufunc(lambda x, i, j, f, g: ops.add_at(x, (i, j), (f, g)), f"{shape},(k),(k),{shape.replace('n', 'k')},"
                        f"{shape.replace('n', 'k')}->{shape}")  # fmt: skip
    one = engine.gufunc(lambda x, i, f: ops.add_at(x, i, f), f"{shape},(k),{shape.replace('n', 'k')}->{shape}")
    n, k = 40, 21
    x, f, g = (rng.standard_normal((rows, m))[:, 0] if m == 1 else rng.standard_normal((rows, m)) for rows in (n, k, k))
    i = 9.0 + np.arange(k)
    assert all_bits(one(x, i, f)) == all_bits(ops.add_at(x, i, f))
    for d in range(-9, 11):
        expected = np.array(x)
        for row in range(k):                                                   # as it is written down
            expected[9 + row] += f[row]
            expected[9 + row + d] += g[row]
        assert all_bits(two(x, i, i + d, f, g)) == all_bits(expected) == all_bits(ops.add_at(x, (i, i + d), (f, g))), d
