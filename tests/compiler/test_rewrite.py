"""The rewrite table: what each rule does, that a folded program computes the same, and which IEEE properties are given up."""

import itertools
import re

import numpy as np
import pytest

from engine import gufunc, jacobian, ops
from engine.compiler import TraceError, interpret, trace, verify
from engine.compiler.graph.rewrite import RULES
from engine.compiler.gufunc import Gufunc
from engine.compiler.transforms import autodiff, jacobians
from tests.compiler.programs import ARITHMETIC, SMOOTH, bits, exact, fractions, random_function
from tests.numeric import ROUNDED

ANY = np.array([0.0, -0.0, 1.0, -1.5, 2.5e-308, -5e-324, 1e308, -1e-3, 3.7, np.inf, -np.inf, np.nan])
X, Y = (a.ravel() for a in np.meshgrid(ANY, ANY))

#: (rule, what is written, what is recorded), by what the rule may change: nothing, the sign of a zero, or more
SAME_BITS = [
    ("add", lambda x, y: x + -y, lambda x, y: x - y),
    ("add", lambda x, y: -x + y, lambda x, y: y - x),
    ("sub", lambda x, y: x - 0.0, lambda x, y: x),
    ("sub", lambda x, y: x - (-y), lambda x, y: x + y),
    ("mul", lambda x, y: x * 1.0, lambda x, y: x),
    ("mul", lambda x, y: 1 * x, lambda x, y: x),
    ("mul", lambda x, y: x * -1.0, lambda x, y: -x),
    ("mul", lambda x, y: x * -3.0, lambda x, y: -(x * 3.0)),
    ("mul", lambda x, y: -x * 3.0, lambda x, y: -(x * 3.0)),
    ("mul", lambda x, y: -x * y, lambda x, y: -(x * y)),
    ("mul", lambda x, y: x * -y, lambda x, y: -(x * y)),
    ("mul", lambda x, y: -x * -y, lambda x, y: x * y),
    ("div", lambda x, y: x / 1.0, lambda x, y: x),
    ("div", lambda x, y: x / 8.0, lambda x, y: x * 0.125),
    ("div", lambda x, y: x / -0.25, lambda x, y: -(x * 4.0)),
    ("div", lambda x, y: -x / y, lambda x, y: -(x / y)),
    ("div", lambda x, y: x / -y, lambda x, y: -(x / y)),
    ("neg", lambda x, y: np.negative(-x), lambda x, y: x),
    ("sin", lambda x, y: ops.sin(-x), lambda x, y: -ops.sin(x)),
    ("cos", lambda x, y: ops.cos(-x), lambda x, y: ops.cos(x)),
    ("abs", lambda x, y: abs(-x), lambda x, y: abs(x)),
    ("select", lambda x, y: ops.where(True, x, y), lambda x, y: x),
    ("select", lambda x, y: ops.where(np.False_, x, y), lambda x, y: y),
    ("select", lambda x, y: ops.where(x < y, x, x), lambda x, y: x),
    ("select", lambda x, y: ops.where(x < y, 2.0, 2.0), lambda x, y: 2.0),
    ("and", lambda x, y: ops.logical_and(x < y, True), lambda x, y: x < y),
    ("and", lambda x, y: ops.logical_and(False, x < y), lambda x, y: False),
    ("and", lambda x, y: (x < y) & (x < y), lambda x, y: x < y),
    ("or", lambda x, y: ops.logical_or(x < y, True), lambda x, y: True),
    ("or", lambda x, y: False | (x < y), lambda x, y: x < y),
    ("or", lambda x, y: (x < y) | (x < y), lambda x, y: x < y),
    ("min", lambda x, y: ops.minimum(x, x), lambda x, y: x),
    ("max", lambda x, y: ops.maximum(x, x), lambda x, y: x),
    ("pow", lambda x, y: x**1, lambda x, y: x),
    ("pow", lambda x, y: x**2, lambda x, y: x * x),
    ("pow", lambda x, y: x**0, lambda x, y: 1.0),
]  # fmt: skip
SIGN_OF_ZERO = [
    ("add", lambda x, y: x + 0.0, lambda x, y: x),
    ("add", lambda x, y: 0 + x, lambda x, y: x),
    ("sub", lambda x, y: 0.0 - x, lambda x, y: -x),
    ("sub", lambda x, y: -x - y, lambda x, y: -(x + y)),
    ("neg", lambda x, y: -(x - y), lambda x, y: y - x),
    ("neg", lambda x, y: -(1.0 - y), lambda x, y: y - 1.0),
]
NOT_FINITE = [
    ("sub", lambda x, y: x - x, lambda x, y: 0.0),
    ("mul", lambda x, y: x * 0.0, lambda x, y: 0.0),
    ("mul", lambda x, y: -0.0 * x, lambda x, y: 0.0),
    ("div", lambda x, y: x / x, lambda x, y: 1.0),
    ("div", lambda x, y: 0.0 / x, lambda x, y: 0.0),
    ("mul", lambda x, y: x * (y / x), lambda x, y: y),
    ("mul", lambda x, y: (3.0 / x) * x, lambda x, y: 3.0),
]  # fmt: skip
ROUNDING = [
    ("pow", lambda x, y: x**0.5, lambda x, y: ops.sqrt(x)),
    ("pow", lambda x, y: x**3, lambda x, y: x * x * x),
    ("pow", lambda x, y: ops.power(x, -5), lambda x, y: 1.0 / (x * (x * x) * (x * x))),
]  # fmt: skip
ALL = SAME_BITS + SIGN_OF_ZERO + NOT_FINITE + ROUNDING


def both(rule):
    _, written, recorded = rule
    return trace(written, [(), ()]), trace(recorded, [(), ()], fold=False)


@pytest.mark.parametrize("rule", ALL, ids=lambda r: r[0])
def test_each_rule_records_what_the_table_says(rule):
    folded, expected = both(rule)
    if rule[0] == "pow" and len(expected.nodes) > 3:  # in whatever order it multiplies
        assert "pow" not in [n[0] for n in folded.nodes] and folded.count() <= expected.count()
    else:
        assert (folded.nodes, folded.outputs) == (expected.nodes, expected.outputs)
    assert trace(rule[1], [(), ()], fold=False).nodes != folded.nodes or rule[0] in ("select", "and", "or")


def test_every_rule_is_in_these_tables():
    assert {name for name, *_ in ALL} == set(RULES)


@pytest.mark.parametrize("rule", SAME_BITS, ids=lambda r: r[0])
def test_exact_rules_keep_every_bit_of_any_number(rule):
    folded, plain = trace(rule[1], [(), ()]), trace(rule[1], [(), ()], fold=False)
    a, b = interpret(folded, X, Y), interpret(plain, X, Y)
    nan = np.isnan(a)
    assert (nan == np.isnan(b)).all() and bits(a[~nan]) == bits(b[~nan])


@pytest.mark.parametrize("rule", SIGN_OF_ZERO, ids=lambda r: r[0])
def test_the_sign_of_zero_is_all_that_these_change(rule):
    folded, plain = trace(rule[1], [(), ()]), trace(rule[1], [(), ()], fold=False)
    a, b = interpret(folded, X, Y), interpret(plain, X, Y)
    np.testing.assert_array_equal(a, b)
    assert bits(a[a == 0]) != bits(b[a == 0])


@pytest.mark.parametrize("rule", NOT_FINITE + ROUNDING, ids=lambda r: r[0])
def test_ordinary_numbers_agree_where_others_do_not(rule):
    folded, plain = trace(rule[1], [(), ()]), trace(rule[1], [(), ()], fold=False)
    x, y = np.random.default_rng(0).uniform(0.1, 10, (2, 1000))
    np.testing.assert_allclose(interpret(folded, x, y), interpret(plain, x, y), rtol=6 * 2.0**-53 + ROUNDED)
    a, b = interpret(folded, X, Y), interpret(plain, X, Y)
    assert not np.array_equal(a, b, equal_nan=True) or rule in ROUNDING  # otherwise it belongs into another table


@pytest.mark.parametrize("divisor", [8.000000000000002, 2.0**40 * (1 + 2.0**-52), 0.1, 3.0, np.inf, np.nan, 0.0, 2.0**-1074, -(2.0**-1070)])
def test_only_powers_of_two_are_inverted(divisor):
    program = trace(lambda x: x / divisor, [()])
    assert [n[0] for n in program.nodes if n[0] not in ("input", "const")] == ["div"]
    for x in (0.3, 1e-320, -7.0):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(interpret(program, x), np.float64(x) / divisor)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 10, 31, 64, -1, -3, -64])
def test_whole_powers_are_products(n):
    program = trace(lambda x: x**n, [()])
    kinds = [node[0] for node in program.nodes]
    assert kinds.count("mul") <= 2 * np.log2(abs(n) + 1) and "pow" not in kinds
    x = np.random.default_rng(0).uniform(0.5, 2, 1000)
    np.testing.assert_allclose(interpret(program, x), x ** float(n), rtol=abs(n) * 2.0**-53 + ROUNDED)


@pytest.mark.parametrize("n", [65, -65, 2.5, -0.5, np.inf, np.nan, 1e300])
def test_other_powers_are_left_to_the_c_library(n):
    program = trace(lambda x: x**n, [()])
    assert [node[0] for node in program.nodes if node[0] not in ("input", "const")] == ["pow"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(interpret(program, ANY), ANY ** np.float64(n))


@pytest.mark.parametrize("seed", range(150))
def test_folding_is_exact_in_rational_arithmetic(seed):
    f = random_function(seed, 40)
    folded, whole = trace(f, [(4,)]), trace(f, [(4,)], fold=False)
    verify(folded), verify(whole)
    for k in range(3):
        x = fractions(100 * seed + k)
        assert exact(folded, x) == exact(whole, x)
    assert len(folded.nodes) <= len(whole.nodes)


@pytest.mark.parametrize("seed", range(60))
def test_folding_changes_no_more_than_rounding(seed):
    f = random_function(seed, 30, SMOOTH, ())
    folded, whole = trace(f, [(4,)]), trace(f, [(4,)], fold=False)
    x = np.random.default_rng(seed).uniform(-2, 2, (40, 4))
    plain = np.array([f(row) for row in x])
    scale = np.abs(plain).max() + 1
    assert np.abs(interpret(folded, x) - interpret(whole, x)).max() < 4e-15 * scale
    assert np.abs(interpret(whole, x) - plain).max() < 4e-15 * scale


def test_folding_pays():
    """Random functions fold by a third and more; a product of sparse matrices costs its nonzero terms only."""
    counts = [[trace(random_function(s, 60, ARITHMETIC), [(4,)], fold=fold).count() for s in range(30)] for fold in (True, False)]
    assert sum(counts[0]) < 0.67 * sum(counts[1])
    A = np.zeros((6, 6))
    A[0, 1], A[2, 3] = 1.0, 2.0
    assert trace(lambda x: A @ x, [(6,)]).count() == 1
    assert trace(lambda x: A @ x, [(6,)], fold=False).count() >= 20


def test_truth_and_numbers_meet():
    """True is 1 and false 0 in arithmetic; any number but 0 is true in logic, NaN too."""
    def f(x, y):
        return np.array([(x < y) * x, 1.0 * (x < y) + (y < x), 1.0 - (x <= y), -(x < y), ops.where(x, 1.0, 2.0), ops.logical_and(x, y),
                         ops.logical_not(x), ops.where(x < y, x < 0, 5.0), ops.logical_or(x, 0.0), ops.logical_and(x, True),
                         ops.minimum(x < y, 0.5), ops.equal(x < y, y > x), abs(x < y), ops.sqrt(x < y)], dtype=object)  # fmt: skip

    def expected(x, y):
        less = float(x < y)
        return [less * x, less + float(y < x), 1.0 - (x <= y), -less, 1.0 if x else 2.0, bool(x) and bool(y), not x,
                float(x < 0) if less else 5.0, bool(x), bool(x), min(less, 0.5), 1.0, less, less]  # fmt: skip

    for fold in (True, False):
        program = trace(f, [(), ()], fold=fold)
        verify(program)
        for x, y in [(1.0, 2.0), (2.0, 1.0), (0.0, 0.0), (-0.0, 3.0), (-1.0, 1.0), (np.nan, 1.0)]:
            np.testing.assert_array_equal(interpret(program, x, y), expected(x, y))


@pytest.mark.parametrize("f", [
    lambda a, b: (a * 1.0) + (b * 1.0), lambda a, b: (a + 0.0) + (b + 0), lambda a, b: (a / 1.0) + (b - 0.0), lambda a, b: a * 1 + b * 1,
    lambda a, b: ops.where(True, a, 1.0) + b, lambda a, b: ops.where(a, b, 1.0) + b, lambda a, b: ops.where(a, True, 1.0) + b,
    lambda a, b: a * b * 1.0 + b, lambda a, b: (a * True) + 1.0 * b, lambda a, b: (a | b) * 1.0 + (b * True),
    lambda a, b: a * False - 1.0 * b, lambda a, b: ops.maximum(a, b) * 1.0 + a, lambda a, b: ops.minimum(a, b) + 1.0 * b,
    lambda a, b: ops.where(b, a, b) + 1.0 * a,
    lambda a, b: sum([a, b]), lambda a, b: np.array([1.0, 2.0]) @ np.array([a, b]), lambda a, b: (a * 2.0) * b + b,
])  # fmt: skip
def test_truth_values_add_up_as_numpy_s_do(f):
    """Of a truth value and a number a sum is a number, however often either was rewritten on the way."""
    for fold in (True, False):
        program = trace(lambda x: f(x[0] > 0.0, x[1] > 0.0), [(2,)], fold=fold)
        verify(program)
        for x in itertools.product([1.0, -1.0], repeat=2):
            plain = float(f(*(np.array(x) > 0.0)))
            assert (interpret(program, np.array(x)), Gufunc(program, "(n)->()", ["x"])(np.array(x))) == (plain, plain), (fold, x)


@pytest.mark.parametrize("f", [
    lambda a, b: a + b, lambda a, b: np.sum([a, b]), lambda a, b: np.array([a, b, a]).sum(), lambda a, b: a + True,
    lambda a, b: a * b + b, lambda a, b: ops.maximum(a, b) + a, lambda a, b: ops.where(True, a, b) + a,
])  # fmt: skip
def test_truth_values_are_not_added_up(f):
    """NumPy makes `or` of two, and counts those of an array, which traced values cannot tell apart."""
    for fold in (True, False):
        with pytest.raises(TraceError, match=re.escape("use a | b, or 1.0 * a + 1.0 * b")):
            trace(lambda x: f(x[0] > 0.0, x[1] > 0.0), [(2,)], fold=fold)


def test_true_and_one_are_two_constants():
    def f(x):
        return np.array([x * 1.5 + 1.0, ops.where(x < 0, True, x < 1), 0.0 * x + 0.0, ops.where(x < 0, False, True), -0.0])

    program = trace(f, [()])
    verify(program)
    np.testing.assert_array_equal(interpret(program, [2.0, -1.0]), [[4.0, 0, 0, 1, 0], [-0.5, 1, 0, 0, 0]])


def test_nan_constants_raise_no_flags_while_folding():
    for _ in range(50):  # Python compares in another way once a line is warm
        with np.errstate(all="raise"):
            trace(lambda x: ops.where(x > 1, np.nan, 0.0) + x * np.inf + x / np.nan + np.array([x]) * np.nan + ops.power(x, np.nan), [()])


ZERO = np.float64(0.0)
#: what Python refuses, or makes complex, of numbers that were folded; of constants as they stand; and of those in derivatives
UNDEFINED = [
    lambda x: 1.0 / (x - x), lambda x: -2.5 / (x - x), lambda x: (x - x) / (x - x), lambda x: x / (x - x), lambda x: 1.0 / (-(x - x)),
    lambda x: (0.0 * x) ** -1, lambda x: (0.0 * x) ** -2.5, lambda x: (x - x) ** 0, lambda x: 1.0 / (2.0 * (x - x) + 0.0 * x),
    lambda x: (x * 0.0 - 1.0) ** 0.5, lambda x: x * (0.0 * x - 1.0) ** 0.5, lambda x: (0.0 * x - 8.0) ** (1 / 3), lambda x: 2.0 ** (x / x),
    lambda x: (1e300 + 0.0 * x) ** 2, lambda x: (1e300 * (x / x)) ** 1.5, lambda x: (x / x * 1e200) * 1e200 - 1e308 * 1e10,
    lambda x: ops.sqrt(x - x - 1.0) + x, lambda x: ops.log(0.0 * x), lambda x: ops.arcsin(x / x + 1.0), lambda x: ops.power(x - x, -1.0),
    lambda x: ops.exp(x / x * 1000.0), lambda x: ops.where(1.0 / (x - x) > 5.0, x, -x), lambda x: ops.arctan2(x - x, -(x / x)),
    lambda x: ops.minimum(x, 1.0 / (x - x)), lambda x: ops.floor(1.0 / (x - x)), lambda x: ops.c2(x - x) / (x - x),
    lambda x: x / ZERO, lambda x: x / 0.0, lambda x: 1.0 / (x * ZERO), lambda x: x ** -1 / ZERO, lambda x: np.array([x, x]) / np.zeros(2),
    lambda x: np.array([[x, 0.0 * x]]) / ops.norm(np.array([0.0 * x, 0.0 * x])), lambda x: ops.where(x > 0.0, x, x / ZERO),
    lambda x: ops.where(x > 9.0, 1.0 / (x - x), x), lambda x: x * np.inf, lambda x: x - np.inf * (x / x), lambda x: x + np.nan,
    lambda x: ops.power(ZERO, x), lambda x: ops.power(x, ZERO),
    lambda x: ops.solve(np.array([[x - x]]), np.array([x]))[0], lambda x: ops.lu_solve(np.array([[0.0 * x]]), np.array([x]))[0],
    lambda x: ops.while_loop(lambda y: (y / (x - x), y > 9.0), x, 3)[0],
    lambda x: ops.root(lambda y: y * y - 1.0 / (x - x), np.array([x]))[0],
    lambda x: x * np.int8(-128), lambda x: np.int8(-128) * x, lambda x: ops.power(x, np.int8(-3)), lambda x: x / np.int8(-128),
]  # fmt: skip


@pytest.mark.parametrize("f", UNDEFINED)
def test_what_folds_goes_on_by_numpys_arithmetic(f):
    """Infinity and NaN where NumPy has them, without a warning, and the interpreter and machine code say the same."""
    x = np.float64(3.5)
    with np.errstate(all="ignore"):
        expected = np.asarray(f(x))
    with np.errstate(all="raise"):
        program = trace(f, [()])
    verify(program)
    with np.errstate(all="ignore"):
        rtol = 2.0**-50
        np.testing.assert_allclose(interpret(program, x), expected, rtol=rtol)
        sizes = ",".join(map(str, expected.shape))
        compiled = gufunc(f, f"()->({sizes})")
        np.testing.assert_allclose(compiled(x), expected, rtol=rtol)
        np.testing.assert_allclose(compiled(np.full(9, x)), np.broadcast_to(expected, (9, *expected.shape)), rtol=rtol)


@pytest.mark.parametrize("f", UNDEFINED)
@pytest.mark.parametrize("walk", [autodiff.forward, autodiff.reverse])
def test_derivatives_have_infinities_too(f, walk, monkeypatch):
    monkeypatch.setattr(autodiff, "forward", walk)
    monkeypatch.setattr(autodiff, "reverse", walk)
    with np.errstate(all="raise"):
        J = jacobians.jacobian(trace(f, [()]))
    verify(J)
    whole = jacobians.jacobian(trace(f, [()], fold=False))                     # folded where the derivative is made, not before
    verify(whole)


@pytest.mark.parametrize(("f", "x", "slope"), [
    (lambda x: x / ZERO, 3.5, np.inf), (lambda x: x * x / ZERO, -1.0, -np.inf), (lambda x: ops.where(x > 0.0, x, x / ZERO), 3.5, 1.0),
    (lambda x: ops.where(x > 0.0, x, x / ZERO), -3.5, np.inf), (lambda x: ops.power(x, ZERO), 2.0, 0.0),
    (lambda x: ops.power(ZERO, x), 2.0, 0.0), (lambda x: x * np.inf, 1.0, np.inf), (lambda x: ops.arctan2(x, ZERO), 2.0, 0.0),
    (lambda x: ops.arctan2(ZERO, x), 2.0, 0.0), (lambda x: x + 1.0 / (x - x), 2.0, 1.0),
])  # fmt: skip
def test_derivatives_by_hand(f, x, slope):
    with np.errstate(all="ignore"):
        assert jacobian(f)(x) == slope


def test_a_program_of_numbers_alone_folds_when_it_is_differentiated():
    """Traced without folding, it is folded where its derivative is made: also where Python's own arithmetic would refuse."""
    for f in (lambda x: x * (x - x) ** -1, lambda x: x * (0.0 * x - 1.0) ** 0.5, lambda x: x + 1.0 / (0.0 * x)):
        verify(jacobians.jacobian(trace(f, [()], fold=False)))


def test_python_s_own_zero_division_is_the_users():
    for f in (lambda x: x + 1.0 / 0.0, lambda x: x / (1 - 1) + 1 // 0):
        with pytest.raises(ZeroDivisionError):
            trace(f, [()])


def test_decisions_on_what_folds_stay_possible():
    f = lambda x: float(int(x / x)) / ((x - x) if x - x == 0.0 else x)
    assert interpret(trace(f, [()]), 2.0) == np.inf
