"""Loops that end on a value: traced once, and every sample of a batch stops by itself."""

import re
import sys

import numpy as np
import pytest

from engine import EngineWarning, ops
from engine.compiler import TraceError, interpret, native_code, trace, verify
from engine.compiler.codegen import llvm
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import Gufunc, gufunc, shaped
from engine.compiler.scan import rollout_ufunc
from engine.compiler.transforms.trace import calling
from tests.compiler.programs import WIDTHS, again, bits, loop
from tests.numeric import ROUNDED, check_lives


def halve_or_triple(c):
    """A step of Collatz's sequence on (number, steps so far): whole numbers, so that all arithmetic is exact."""
    half = 0.5 * c[0]
    n = ops.where(ops.equal(half, ops.floor(half)), half, 3.0 * c[0] + 1.0)
    return ops.array([n, c[1] + 1.0]), ops.equal(n, 1.0)


def collatz(n, limit=200):
    """The last number, its place in the sequence, and whether it is 1; a sequence that starts at 1 is done."""
    c, done = ops.while_loop(halve_or_triple, ops.array([n, 0.0]), limit, ops.equal(n, 1.0))
    return np.array([c[0], c[1], ops.where(done, 1.0, 0.0)])


def by_hand(n, limit=200):
    steps = 0
    while n != 1 and steps < limit:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return [n, steps, n == 1]


def single(program):
    sizes = [",".join(f"({','.join(map(str, s))})" for s in shapes) for shapes in (program.shapes_in, program.shapes_out)]
    return Gufunc(program, "->".join(sizes), [f"a{k}" for k in range(len(program.shapes_in))])


def everywhere(program, *x):
    """Results of one result's program on rows of x: a batch interpreted, one row at a time compiled, and batches at every width."""
    verify(program)
    one = single(program)
    return [interpret(program, *x), np.array([one(*row) for row in zip(*x, strict=True)]), *(loop(program, w)(*x) for w in WIDTHS)]


def body(program):
    """The body of a program's only loop."""
    found = [program.functions[n[1]] for n in program.nodes if n[0] == "loop"]
    assert len(found) == 1
    return found[0]


def kinds(program):
    return [n[0] for n in program.nodes if n[0] not in ("input", "const")]


@pytest.mark.parametrize("limit", [200, 111, 110, 20, 1, 0])
def test_every_lane_stops_by_itself(limit):
    """1 stops at once, 27 after 111 passes; what the limit cuts off says so. The same bits alone, in any batch and interpreted."""
    n = np.arange(1.0, 56.0)
    expected = np.array([by_hand(int(k), limit) for k in n], dtype=float)
    assert (expected[26] == [1, 111, 1]).all() if limit > 110 else expected[26, 2] == 0
    for results in (*everywhere(trace(lambda n: collatz(n, limit), [()]), n), np.array([collatz(k, limit) for k in n])):
        assert bits(results) == bits(expected)


def test_a_lane_that_is_not_finite_leaves_the_others_alone():
    n = np.arange(1.0, 24.0)
    n[[3, 17]] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        for results in everywhere(trace(collatz, [()]), n):
            assert np.isnan(results[3, 0]) and np.isinf(results[17, 0]) and results[[3, 17], 1:].tolist() == [[200, 0]] * 2
            assert bits(np.delete(results, [3, 17], 0)) == bits([by_hand(int(k)) for k in np.delete(n, [3, 17])])


def unending(a, limit=10**15):
    """√a by halves and quotients, of all numbers from 0 and of no others, with what has been, in a dictionary."""
    def advance(s):
        x = 0.5 * (s["x"] + a / s["x"])
        return {"x": x, "before": ops.array([s["x"], s["before"][0]])}, ops.absolute(x - s["x"]) <= 1e-12 * x

    s, done = ops.while_loop(advance, {"x": a, "before": np.zeros(2)}, limit, a < 0.0)
    return ops.array([s["x"], *s["before"], ops.where(done, 1.0, 0.0)])


def test_a_loop_of_nan_ends():
    """With what it has in the end, however far its limit; what was done before it began is done. On floats it is said."""
    a = np.array([4.0, np.nan, -np.nan, -1.0, 1e10])
    said = re.escape("while_loop of 'advance' is not done: its values are NaN, and no comparison with NaN is true, so that it goes on to "
                     "its limit of 1000000000000000 passes; expected values that stay numbers")  # fmt: skip
    with pytest.warns(EngineWarning, match=said) as told:
        expected = np.array([unending(k) for k in a])
    assert len(told) == 2 and all(w.filename == __file__ for w in told)
    assert expected[[0, 3, 4]][:, [0, 3]].tolist() == [[2.0, 1.0], [-1.0, 1.0], [1e5, 1.0]]
    assert np.isnan(expected[1:3, :3]).all() and expected[1:3, 3].tolist() == [0.0, 0.0]
    with pytest.warns(EngineWarning, match="its limit of 9 passes"):
        np.testing.assert_array_equal(unending(np.nan, 9), expected[1])
    with np.errstate(invalid="ignore"):
        for results in everywhere(trace(unending, [()]), a):
            np.testing.assert_allclose(results, expected, rtol=1e-15)


def remembers(x, m):
    """A step that now and then has a memory of five numbers changed, of which it uses some; it is among the results."""
    after = ops.when(x[0] > 0.0, lambda: ops.array([m[0] + x[1], m[1] * x[0], x[0] / m[2], ops.sin(m[3]), m[4] - 1.0]), m)
    return np.concatenate([[x[0] + after[1]], after, [x[1] * after[4], after[0]]])


def test_a_branch_is_made_where_its_results_lie():
    """Its memory moves once where it is not taken, straight from what it was, to the bit as in NumPy; rows of a group may differ."""
    program, rng = trace(remembers, [(2,), (5,)]), np.random.default_rng(0)
    x, m = rng.standard_normal((23, 2)), rng.uniform(1.0, 2.0, (23, 5))
    assert bits(everywhere(program, x, m)[0]) == bits(np.array([remembers(*row) for row in zip(x, m, strict=True)]))
    for results in everywhere(program, x, m)[1:]:
        assert bits(results) == bits(interpret(program, x, m))
    code = llvm.Module(4)
    code.function(program)
    left = re.search(r"leave\d+:\n(.*?)after\d+:", "\n".join(code.text), re.DOTALL)
    moved = re.findall(r"memcpy.*?ptr (%\S+), ptr (%\S+), i64 (\d+)", left[1])
    assert [n for _, _, n in moved] == [str(5 * 4 * 8)]
    places = {p: (base, k) for p, base, k in re.findall(r"(%t\d+) = getelementptr inbounds <4 x double>, ptr (%\w+), i64 (\d+)", left[1])}
    assert [places[p] for p in moved[0][:2]] == [("%out", "1"), ("%in", "2")]


@pytest.mark.parametrize("start", [True, np.True_, 1.0])
def test_what_is_done_at_the_start_is_not_touched(start):
    def never(x):
        raise AssertionError("no pass")

    def f(x, y):
        return ops.while_loop(lambda x: (x / 0.0, False), x, 5, y < x)[0]

    for x in (2.0, np.array([1.0, 2.0])):
        same, done = ops.while_loop(never, x, 5, start)
        assert (same == x).all() and done
    assert trace(lambda x: ops.while_loop(never, x, 5, start)[0], [(2,)]).nodes == [("input", 0), ("input", 1)]
    with np.errstate(all="ignore"):                                           # known only as it runs
        for results in everywhere(trace(f, [(), ()]), np.arange(1.0, 12.0), np.full(11, 5.5)):
            assert results.tolist() == [np.inf] * 5 + [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]


def test_plain_arrays_go_element_by_element():
    """On floats the carry may be a batch of scalars. Traced, it may start from a number: what the body reads tells."""
    babylonian = lambda a: ops.while_loop(lambda x: (0.5 * (x + a / x), ops.absolute(a / x - x) < 1e-3 * x), 1.0, 30)
    a = np.array([1e-8, 0.5, 1.0, 2.0, 9.0, 1e12])
    x, done = babylonian(a)
    assert bits(x) == bits([babylonian(k)[0] for k in a]) and done.all()
    np.testing.assert_allclose(x, np.sqrt(a), rtol=1e-6 / 8 * 1.01)            # e² / 2 of the last relative error, 1e-3 / 2
    check_lives(lambda a: babylonian(a)[0], a, tolerance=ROUNDED)


INNER, DOUBLE = trace(lambda x, s: (x * s, x < s), [(), ()]), trace(lambda a: a + a, [()])


def reads(x, a, b, call):
    """A loop that reads numbers, truth values, constants and what does not change, and calls a function."""
    wave, up, n = ops.sin(a) * b, a < b, 3.0

    def advance(c):
        scaled, below = call(c[1], 0.5 + ops.cos(b) ** 2)
        step = ops.where(up, 0.25 + 0.1 * c[1], wave)
        return np.array([c[0] + step * n, ops.where(below, scaled, c[1] * 0.5)]), ops.less(n * ops.exp(a), c[0])

    return ops.while_loop(advance, x, 50)


def test_a_loop_reads_what_is_outside():
    rng = np.random.default_rng(0)
    x, a, b = rng.uniform(0, 1, (11, 2)), rng.uniform(0.2, 1.5, 11), rng.uniform(0.2, 1.5, 11)
    assert 2 < np.sum(a < b) < 9
    plain = lambda x, s: (x * s, x < s)
    expected = np.array([reads(*row, plain)[0] for row in zip(x, a, b, strict=True)])
    assert all(reads(*row, plain)[1] for row in zip(x, a, b, strict=True))
    check_lives(lambda *row: reads(*row, plain)[0], x, a, b)
    program = trace(lambda x, a, b: reads(x, calling(DOUBLE)(a), b, calling(INNER))[0], [(2,), (), ()])
    results = everywhere(program, x, 0.5 * a, b)
    np.testing.assert_allclose(results[0], expected, rtol=1e-14)
    np.testing.assert_allclose(results[1], expected, rtol=1e-14)
    assert all(bits(r) == bits(results[1]) for r in results[2:])


def test_what_does_not_change_is_computed_once():
    program = trace(lambda *row: reads(*row, calling(INNER))[0], [(2,), (), ()])
    inner = body(program)
    assert not {"sin", "cos", "exp"} & set(kinds(inner)) and {"sin", "cos", "exp"} <= set(kinds(program))
    assert inner.functions == (INNER,) and kinds(inner).count("call") == 1 and "call" not in kinds(program)
    assert inner.n_in == 3 + 4 and len(inner.outputs) == 3                    # (c, done); a < b as a number, wave, 3 exp a, 1/2 + cos² b
    constant = trace(lambda x, a: ops.while_loop(lambda x: (calling(INNER)(a, a)[0], x < 0.0), x, 5)[0], [(), ()])
    assert "call" not in kinds(body(constant)) and "call" in kinds(constant)  # a call too


def total(n, call):
    """Passes of all sequences that start at 1…n: a loop in a loop."""

    def advance(c):
        return ops.array([c[0] + 1.0, c[1] + call(c[0])[1]]), c[0] >= n

    return ops.while_loop(advance, ops.array([1.0, 0.0]), 100)[0]


def test_loops_in_loops():
    n = np.array([1.0, 5, 30, 2, 9, 27, 3, 16, 8, 11])
    expected = [[k + 1, sum(by_hand(j)[1] for j in range(1, int(k) + 1))] for k in n]
    called = single(trace(collatz, [()]))
    for call in (collatz, called):
        for results in everywhere(trace(lambda n: total(n, call), [()]), n):
            assert results.tolist() == expected
    assert total(30, collatz).tolist() == expected[2]


def factorial(n):
    """By additions alone: the inner loop adds up what the outer one carries."""

    def times(k, f):
        return ops.while_loop(lambda c: (ops.array([c[0] + 1.0, c[1] + f]), c[0] + 1.0 >= k), ops.array([0.0, 0.0]), 99)[0][1]

    return ops.while_loop(lambda c: (ops.array([c[0] + 1.0, times(c[0], c[1])]), c[0] >= n), ops.array([1.0, 1.0]), 99)[0][1]


def test_an_inner_loop_reads_the_outer_one_s_carry():
    n = np.arange(1.0, 12.0)
    expected = np.cumprod(n)
    assert bits([factorial(k) for k in n]) == bits(expected)
    for results in everywhere(trace(factorial, [()]), n):
        assert bits(results) == bits(expected)


def test_an_inner_loop_that_does_not_change_runs_once():
    program = trace(lambda n, x: ops.while_loop(lambda y: (y + collatz(n)[1], y > 200.0), x, 30)[0], [(), ()])
    assert kinds(program).count("loop") == 2 and not any("loop" in kinds(f) for f in program.functions)
    for results in everywhere(program, np.array([27.0, 3.0]), np.array([0.0, 190.0])):
        assert results.tolist() == [333.0, 211.0]                             # 111, 222, 333 and 197, 204, 211


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_the_carry_has_any_shape(shape):
    size = lambda x: ops.largest(x.ravel() if shape else [x])

    def f(x):
        y, done = ops.while_loop(lambda x: (0.5 * x, size(x) < 1.0), x, 40)
        return ops.where(done, y if shape else ops.where(y > 0.0, y, 7.0), 9.0)  # a number is a number again

    x = np.random.default_rng(0).uniform(1, 9, (10, *shape)) * 10.0 ** np.arange(10).reshape(10, *[1] * len(shape))
    results = everywhere(trace(f, [shape]), x)
    assert all(bits(r) == bits(results[0]) for r in results) and bits([f(row) for row in x]) == bits(results[0])
    largest = results[0].reshape(10, -1).max(axis=1)
    assert (largest < 0.5).all() and (largest >= 0.25).all()                  # the last pass began below 1


def test_truth_in_the_carry_is_one_and_zero():
    f = lambda a: ops.while_loop(lambda c: (np.array([c[0] + c[1], c[0] < 3.0]), c[0] > 4.0), np.array([a, a < 2.0]), 9)[0]
    for results in everywhere(trace(f, [()]), np.array([1.0, 2.5, 4.5])):
        assert results.tolist() == [[4.0, 0.0], [4.5, 0.0], [4.5, 0.0]]


@pytest.mark.parametrize(("advance", "what"), [
    (lambda x: (x[:2], x[0] < 1.0), "an array of the shape (2,)"), (lambda x: (x, ops.less(x, 1.0)), "says by an array of the shape (3,)"),
    (lambda x: (x[0], x[0] < 1.0), "returns one number"),
])  # fmt: skip
def test_a_body_of_other_shapes_is_refused(advance, what):
    with pytest.raises(TraceError, match=re.escape(what)) as caught:
        trace(lambda x: ops.while_loop(advance, x, 5)[0], [(3,)])
    assert str(caught.value).startswith(f"{__file__}:{sys._getframe().f_lineno - 1}: ")


def test_a_limit_is_a_whole_number():
    for x in (1.0, np.ones(2)):
        with pytest.raises(TypeError):
            ops.while_loop(lambda x: (x, False), x, 2.5)
    with pytest.raises(TypeError):
        trace(lambda x: ops.while_loop(lambda x: (x, False), x, 2.5)[0], [()])


def test_the_key_is_of_the_limit_and_of_the_body():
    def key(limit=9, factor=0.5, start=False, bound=1.0):
        return trace(lambda x: ops.while_loop(lambda x: (factor * x, x < bound), x, limit, x < 0.0 if start else False)[0], [()]).key

    assert key() == key() and len({key(), key(limit=8), key(factor=0.25), key(start=True), key(bound=2.0)}) == 5


BROKEN = {
    "calls with 2 arguments": lambda n: ("loop", 0, 9, 0, 0),
    "passes x t x; expected x x x": lambda n: ("loop", 0, 9, 0, n.index(next(x for x in n if x[0] == "lt")), 0),
    "reads a later one": lambda n: ("loop", 0, 9, 0, 0, 99),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_verifier_reads_loops(what):
    program = trace(lambda x, y: ops.while_loop(lambda x: (x + y, x < 5.0), x, 9, x < y), [(), ()])
    verify(program)
    at = next(i for i, n in enumerate(program.nodes) if n[0] == "loop")
    nodes = [BROKEN[what](program.nodes) if i == at else n for i, n in enumerate(program.nodes)]
    with pytest.raises(AssertionError, match=what):
        verify(Program(nodes, program.outputs, program.shapes_in, program.shapes_out, program.functions))
    nodes = [("get", n[1], 2) if n[0] == "get" else n for n in program.nodes]
    with pytest.raises(AssertionError, match="gets nothing"):
        verify(Program(nodes, program.outputs, program.shapes_in, program.shapes_out, program.functions))
    inner = program.functions[0]
    spoiled = Program([*inner.nodes, ("add", 0, 99)], inner.outputs, inner.shapes_in, inner.shapes_out)
    with pytest.raises(AssertionError, match="reads a later one"):
        verify(Program(program.nodes, program.outputs, program.shapes_in, program.shapes_out, [spoiled]))


@pytest.mark.parametrize("segment", [1, 2, 7])
def test_loops_cross_segments(monkeypatch, segment):
    """Carry, captured values and results go through memory at every border; batches are longer than one group."""
    monkeypatch.setenv("ENGINE_CACHE", "0")
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (37, 2)), rng.uniform(0.2, 1.5, 37), rng.uniform(0.2, 1.5, 37)
    program = trace(lambda *row: reads(*row, calling(INNER))[0], [(2,), (), ()])
    whole = loop(program, native_code.width())(*x)
    monkeypatch.setattr(llvm, "SEGMENT", segment)
    assert bits(loop(again(program), native_code.width())(*x)) == bits(whole)


def step(t0, k, dt, x):
    """Implicit Euler for x″ = −sin x, by fixed-point iteration: some states need more passes than others."""

    def advance(y):
        new = np.array([x[0] + dt * y[1], x[1] - dt * ops.sin(y[0])])
        return new, ops.largest(new - y) <= 1e-9 * ops.largest(new)

    y, done = ops.while_loop(advance, x[:2], 30)
    return np.array([y[0], y[1], x[2] + ops.where(done, 0.0, 1.0)])


def test_a_loop_in_a_rollout():
    shapes = [(), (), (), (0,), (3,)]
    program, seen = trace(lambda t0, k, dt, p, x: step(t0, k, dt, x), shapes), trace(lambda t0, k, dt, p, x: x, shapes)
    one = single(program)
    x = np.random.default_rng(0).uniform(-2, 2, (9, 3))
    x[:, 2], x[0], x[1] = 0.0, 0.0, [1e-12, 3.0, 0.0]
    counts = np.array([1.0, 0.0, 4.0])
    expected = []
    for row in x:
        record, k = [], 0
        for count in counts:
            for _ in range(int(count)):
                row, k = one(0.0, k, 0.1, np.zeros(0), row), k + 1
            record.append(row)
        expected.append(record)
    for width in WIDTHS:
        records = rollout_ufunc(program, seen, width)(counts, 0.0, 0.0, 0.1, np.zeros(0), x)
        assert bits(records) == bits(expected)
    assert (records[..., 2] == 0).all()
    first = records[:, 0, :2]                                                 # x₁ = x₀ + dt v₁, v₁ = v₀ − dt sin x₁
    np.testing.assert_allclose(first, np.stack([x[:, 0] + 0.1 * first[:, 1], x[:, 1] - 0.1 * np.sin(first[:, 0])], -1), atol=1e-9)
    np.testing.assert_allclose(interpret(program, 0.0, 0.0, 0.1, np.zeros(0), x), records[:, 0], rtol=1e-13, atol=1e-15)


# ---------------------------------------------------------------- conditions


def sheltered(x, c):
    """√x₀ · c where c is positive, else 2 x: what is not taken would be NaN."""
    return ops.when(c > 0.0, lambda: ops.array([ops.sqrt(x[0]) * c, x[1] * x[0]]), 2.0 * x)


def test_a_condition_is_plain_interpreted_and_compiled():
    x, c = np.array([[4.0, 3.0], [-1.0, 2.0]]), np.array([2.0, -1.0])
    expected = np.array([[4.0, 12.0], [-2.0, 4.0]])
    np.testing.assert_array_equal([sheltered(*given) for given in zip(x, c, strict=True)], expected)
    np.testing.assert_array_equal(interpret(trace(sheltered, [(2,), ()]), x, c), expected)
    np.testing.assert_array_equal(gufunc(sheltered, "(2),()->(2)")(x, c), expected)


def test_a_condition_keeps_all_that_it_computes_within():
    program = trace(sheltered, [(2,), ()])
    assert "sqrt" not in {node[0] for node in program.nodes} and "sqrt" in {node[0] for node in program.functions[0].nodes}


def test_what_a_condition_computed_is_computed_again_outside():
    kept = []

    def f(x):
        inside = ops.when(x > 1.0, lambda: kept.append(ops.sqrt(x)) or kept[-1], 0.0)
        return inside + kept[-1]

    np.testing.assert_array_equal(shaped(f, "()->()")(np.array([0.25, 4.0])), [0.5, 4.0])


def test_a_condition_may_stand_in_another():
    f = lambda x: ops.when(x > 0.0, lambda: ops.when(x > 1.0, lambda: x * x, -x), 3.0 * x)
    np.testing.assert_array_equal(gufunc(f, "()->()")(np.array([-1.0, 0.5, 2.0])), [-3.0, -0.5, 4.0])


@pytest.mark.parametrize("row", [slice(None), slice(0, 1)])
def test_derivatives_pass_through_a_condition(row):
    """Forward and backward; the root inside is not asked where it is not taken."""
    J = gufunc(lambda x, c: ops.jacobian(lambda y: sheltered(y, c)[row], x), f"(2),()->({1 if row.stop else 2},2)")
    np.testing.assert_array_equal(J(np.array([4.0, 3.0]), 2.0), np.array([[0.5, 0.0], [3.0, 4.0]])[row])
    np.testing.assert_array_equal(J(np.array([-1.0, 3.0]), -2.0), np.array([[2.0, 0.0], [0.0, 2.0]])[row])
