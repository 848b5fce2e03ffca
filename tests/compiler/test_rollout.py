"""The scan: a step repeated in machine code is the step repeated in Python, bit for bit."""

import numpy as np
import pytest

from engine import ops
from engine.compiler import interpret, native_code, trace
from engine.compiler.codegen.llvm import Module
from engine.compiler.codegen.shelf import SHELF
from engine.compiler.gufunc import Gufunc
from engine.compiler.scan import look_at_many, rollout_ufunc
from engine.compiler.transforms.trace import calling
from tests.compiler.programs import bits
from tests.numeric import ROUNDED


def field(t, x):
    return np.array([x[1], -ops.sin(x[0]) - 0.1 * x[1] + 0.2 * ops.cos(t), ops.where(x[0] > 0, 0.3, -0.2) * x[2]])


FIELD = trace(field, [(), (3,)])


def step(t0, k, dt, p, x):
    """Heun's method, whose two evaluations are calls; a parameter pushes."""
    called, t = calling(FIELD), t0 + k * dt
    first = called(t, x)
    second = called(t + dt, x + dt * first)
    return x + 0.5 * dt * (first + second) + dt * p[0] * p[1]


def observe(t0, k, dt, p, x):
    return t0 + k * dt, k, dt, x, x @ x, ops.sin(x[0] * p[1])


SHAPES = [(), (), (), (2,), (3,)]
P = np.array([0.1, 1.5])
STEP, OBSERVE = trace(step, SHAPES), trace(observe, SHAPES)
ONE_STEP = Gufunc(STEP, "(),(),(),(2),(3)->(3)", ["t0", "k", "dt", "p", "x"])
LOOK = Gufunc(OBSERVE, "(),(),(),(2),(3)->(),(),(),(3),(),()", ["t0", "k", "dt", "p", "x"])
WIDTHS = sorted({1, 2, 4, native_code.width()})


def by_hand(counts, t0, k, dt, p, x, advance=ONE_STEP, look=LOOK):
    """The records of one rollout, by calls from Python."""
    records = []
    for count in counts:
        for _ in range(int(count)):
            x, k = advance(t0, k, dt, p, x), k + 1.0
        records.append(np.concatenate([np.atleast_1d(r) for r in look(t0, k, dt, p, x)]))
    return np.array(records).reshape(-1, 8)


def states(n):
    return np.random.default_rng(n).uniform(-2, 2, (n, 3))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17])
def test_a_scan_is_the_steps_one_by_one(width, rows):
    counts, x = np.array([0.0, 1.0, 1.0, 5.0, 0.0, 20.0]), states(rows)
    records = rollout_ufunc(STEP, OBSERVE, width)(counts, 0.5, 3.0, 0.01, P, x)
    assert records.shape == (rows, 6, 8)
    for row in {0, rows // 2, rows - 1}:
        assert bits(records[row]) == bits(by_hand(counts, 0.5, 3.0, 0.01, P, x[row]))


def test_it_is_the_interpreted_steps_to_rounding():
    counts, x = np.full(10, 5.0), states(3)
    records = rollout_ufunc(STEP, OBSERVE, native_code.width())(counts, 0.0, 0.0, 0.02, P, x)
    expected = by_hand(counts, 0.0, 0.0, 0.02, P, x[1], lambda *a: interpret(STEP, *a), lambda *a: interpret(OBSERVE, *a))
    np.testing.assert_allclose(records[1], expected, rtol=1e-12, atol=1e-13)


def test_time_is_counted_not_added_up():
    counts = np.full(100, 1000.0)
    records = rollout_ufunc(STEP, OBSERVE, 1)(counts, 2.0, 0.0, 0.1, P, np.zeros(3))
    k = np.arange(1000.0, 100_001.0, 1000.0)
    assert records[:, 1].tolist() == k.tolist() and (records[:, 2] == 0.1).all()
    np.testing.assert_allclose(records[:, 0], 2.0 + k * 0.1, rtol=ROUNDED)


def test_a_scan_goes_on_where_another_stopped():
    kernel, x = rollout_ufunc(STEP, OBSERVE, native_code.width()), states(9)
    whole = kernel(np.array([3.0, 4.0, 0.0, 6.0]), 0.0, 0.0, 0.01, P, x)
    first = kernel(np.array([3.0, 4.0]), 0.0, 0.0, 0.01, P, x)
    second = kernel(np.array([0.0, 6.0]), 0.0, 7.0, 0.01, P, first[:, -1, 3:6])
    assert bits(np.concatenate([first, second], axis=1)) == bits(whole)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_argument_broadcasts_and_strides(width):
    kernel, x = rollout_ufunc(STEP, OBSERVE, width), states(10)
    counts = np.array([2.0, 3.0])
    dt, t0, k = np.linspace(0.01, 0.02, 10), np.linspace(0, 1, 10), np.arange(10.0)
    p = np.random.default_rng(0).uniform(-1, 1, (10, 2))
    records = kernel(counts, t0, k, dt, p, x)
    for row in range(10):
        assert bits(records[row]) == bits(by_hand(counts, t0[row], k[row], dt[row], p[row], x[row]))
    apart = np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]
    assert bits(kernel(np.repeat(counts, 2)[::2], t0[::-1][::-1], k, dt, np.repeat(p, 2, axis=1)[:, ::2], apart)) == bits(records)
    assert bits(kernel(counts, t0[::-1], k[::-1], dt[::-1], p[::-1], x[::-1])) == bits(records[::-1])
    assert bits(kernel(counts, 0.0, 0.0, dt[:, None], P, x[:2])) == bits([kernel(counts, 0.0, 0.0, h, P, x[:2]) for h in dt])
    out = np.full((10, 2, 16), np.nan)
    assert kernel(counts, t0, k, dt, p, x, out=out[..., ::2]).base is out and bits(out[..., ::2]) == bits(records)
    assert np.isnan(out[..., 1::2]).all()


def test_nothing_to_do():
    kernel = rollout_ufunc(STEP, OBSERVE, native_code.width())
    assert kernel(np.zeros(0), 0.0, 0.0, 0.1, P, states(4)).shape == (4, 0, 8)
    assert kernel(np.ones(3), 0.0, 0.0, 0.1, P, np.zeros((0, 3))).shape == (0, 3, 8)
    assert (kernel(np.zeros(2), 0.0, 0.0, 0.1, P, states(4))[:, 1, 3:6] == states(4)).all()
    with pytest.raises(ValueError):
        kernel(np.ones(3), 0.0, 0.0, 0.1, P, np.zeros(4))


def test_one_lane_that_diverges_leaves_the_others_alone_and_no_flags():
    kernel, x = rollout_ufunc(STEP, OBSERVE, native_code.width()), states(9)
    counts = np.full(4, 3.0)
    fine = kernel(counts, 0.0, 0.0, 0.01, P, x)
    x[4] = np.inf
    with np.errstate(all="raise"):
        records = kernel(counts, 0.0, 0.0, 0.01, P, x)
    assert np.isnan(records[4]).any() and bits(np.delete(records, 4, axis=0)) == bits(np.delete(fine, 4, axis=0))


def test_a_state_of_one_and_a_step_that_is_larger_than_what_is_seen():
    one = trace(lambda t0, k, dt, p, x: x * 0.5, [(), (), (), (0,), (1,)])
    seen = trace(lambda t0, k, dt, p, x: k, [(), (), (), (0,), (1,)])
    for width in WIDTHS:
        kernel = rollout_ufunc(one, seen, width)
        assert kernel(np.array([2.0, 1.0]), 0.0, 0.0, 0.1, np.zeros(0), np.ones((3, 1))).tolist() == [[[2.0], [3.0]]] * 3
        look = trace(lambda t0, k, dt, p, x: np.array([x[0]] * 40), [(), (), (), (0,), (1,)])
        assert (rollout_ufunc(one, look, width)(np.array([3.0]), 0.0, 0.0, 0.1, np.zeros(0), np.ones(1)) == 0.125).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [1, 7, 9])
def test_inputs_go_with_the_records(width, rows):
    """x ← x + w_j + p at each step until record j, of inputs that are each row's own, or all rows'; both functions see them."""
    shapes = [(), (), (), (2,), (3,), (3,)]
    one = trace(lambda t0, k, dt, p, w, x: x + w + k * p[0] * p[1], shapes)
    look = trace(lambda t0, k, dt, p, w, x: np.concatenate([x, w]), shapes)
    counts, x, w = np.array([2.0, 0.0, 1.0, 3.0]), states(rows), np.random.default_rng(1).uniform(-1, 1, (rows, 4, 3))
    for given in (w, w[0]):
        records = rollout_ufunc(one, look, width, 3)(counts, 0.0, 0.0, 0.1, P, x, given)
        blind = rollout_ufunc(one, trace(lambda t0, k, dt, p, w, x: x, shapes), width, 3)(counts, 0.0, 0.0, 0.1, P, x, given)
        own = np.broadcast_to(given, w.shape)
        expected, at, k = np.empty((rows, 4, 6)), x.copy(), 0.0
        for j, count in enumerate(counts):
            for _ in range(int(count)):
                at, k = at + own[:, j] + k * P[0] * P[1], k + 1.0
            expected[:, j] = np.concatenate([at, own[:, j]], axis=-1)
        np.testing.assert_allclose(records, expected, rtol=ROUNDED, atol=1e-15)
        assert bits(blind) == bits(records[..., :3])


def remembering(t0, k, dt, p, x, reads=False, apart=0.0):
    """x is (a, memory (12), notes (2)): a moves, memory ticks at every fourth and third step, notes are remembered, and returned; where
    rows are ``apart`` each has ticks of its own."""
    a, memory = x[:1], x[1:13]
    n = k + ops.floor(apart * a[0])
    on, seldom = (ops.less(n / m - ops.floor(n / m + 0.1), 0.1) for m in (3.0, 4.0))
    first = ops.when(seldom, lambda: memory[:5] * 0.5 + ops.cos(a[0]), memory[:5])
    rest = ops.when(on, lambda: memory[5:] * 0.5 + ops.sin(first[0] + memory[:4:-1]), memory[5:])
    after = np.concatenate([first, rest])
    notes = np.array([a[0] * 0.25, after[3] - a[0]])
    moved = a + dt * (after[2] + p[0] * x[13] + (memory[1] * memory[5] if reads else 0.0))
    return np.concatenate([moved, after, notes, notes])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("apart", [0.0, 7.0])
def test_what_a_step_seldom_changes_stands_where_it_is(width, reads, apart):
    """In the step's work, but where somebody reads it after the branch; notes are of the step that begins at a record, also where that
    is looked at again, and where no step lies between two records."""
    shapes = [(), (), (), (2,), (15,)]
    one = trace(lambda *given: remembering(*given, reads, apart), shapes)
    look = trace(lambda t0, k, dt, p, x: np.concatenate([[k], x]), [*shapes[:-1], (17,)])
    module = Module(width)
    f, _ = module.function(one, again=5)
    assert [h.size for h in module.held[f]] == ([] if reads else [5, 7])
    counts, x = np.array([0.0, 1.0, 0.0, 4.0, 0.0, 0.0, 7.0, 1.0]), np.random.default_rng(0).uniform(-1, 1, (9, 15))
    records = rollout_ufunc(one, look, width)(counts, 0.0, 0.0, 0.1, P, x)
    for row in range(9):
        at, k = x[row], 0.0
        for j, count in enumerate(counts):
            for _ in range(int(count)):
                at, k = interpret(one, 0.0, k, 0.1, P, at)[:15], k + 1.0
            notes = interpret(one, 0.0, k, 0.1, P, at)[15:]
            np.testing.assert_allclose(records[row, j], [k, *at, *notes], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("noted", [False, True])
def test_steps_without_a_look_are_those_with_one(width, noted):
    """What a record has of x is the same bits, and else zero, also in memory with gaps; a look without a step is that after the steps."""
    shapes = [(), (), (), (2,), (15 if noted else 3,)]
    one = trace(remembering if noted else step, shapes)
    look = trace(lambda t0, k, dt, p, x: (t0 + k * dt, x[:-2] if noted else x, p, ops.sin(x)), [*shapes[:-1], (17 if noted else 3,)])
    counts, x = np.array([1.0, 4.0, 7.0, 1.0]), np.random.default_rng(0).uniform(-1, 1, (9, *shapes[-1]))
    kernel, own = rollout_ufunc(one, look, width), slice(1, 1 + x.shape[-1])
    whole, out = kernel(counts, 0.5, 3.0, 0.1, P, x), np.full((9, 4, 2 * (3 + x.shape[-1] + look.n_in - 5)), np.nan)
    for bare in (kernel(-counts, 0.5, 3.0, 0.1, P, x), kernel(-counts, 0.5, 3.0, 0.1, P, x, out=out[..., ::2])):
        assert bits(bare[..., own]) == bits(whole[..., own]) and not np.delete(bare, np.r_[own], axis=-1).any()
    assert np.isnan(out[..., 1::2]).all()
    seen = [kernel(np.zeros(1), 0.5, 3.0 + counts[: j + 1].sum(), 0.1, P, bare[:, j, own])[:, 0] for j in range(4)]
    assert bits(np.stack(seen, axis=1)) == bits(whole)


@pytest.mark.parametrize("records", [SHELF - 1, SHELF, SHELF + 1, 5 * SHELF + 3])
@pytest.mark.parametrize("notes", [0, 2])
def test_many_states_looked_at_together_are_those_looked_at_one_by_one(records, notes):
    """Also of several rows, in records with gaps between their numbers, where steps are none or several, and with notes."""
    salt = records + 1000.0 * notes                                            # of programs that nobody else looks at
    shapes = [(), (), (), (2,), (15 if notes else 3,)]
    one = trace(remembering if notes else step, shapes)
    look = trace(lambda t0, k, dt, p, x: (k + salt, x, p, ops.when(x[0] > 0.0, lambda: ops.sin(x) / x[1], x)),
                 [*shapes[:-1], (shapes[-1][0] + notes,)])  # fmt: skip
    counts, x = np.arange(records) % 3.0, np.random.default_rng(0).uniform(-1, 1, (3, *shapes[-1]))
    kernel = rollout_ufunc(one, look, 1)
    apart = kernel(counts, 0.0, 0.0, 0.1, P, x)
    look_at_many(one, look)
    room = np.full((3, records, 2 * apart.shape[-1]), np.nan)
    assert bits(kernel(counts, 0.0, 0.0, 0.1, P, x)) == bits(apart)
    assert bits(kernel(counts, 0.0, 0.0, 0.1, P, x, out=room[..., ::2])) == bits(apart) and np.isnan(room[..., 1::2]).all()
    x[1] = np.inf
    with np.errstate(all="raise"):
        lost = kernel(counts, 0.0, 0.0, 0.1, P, x)
    assert np.isnan(lost[1]).any() and bits(np.delete(lost, 1, axis=0)) == bits(np.delete(apart, 1, axis=0))
