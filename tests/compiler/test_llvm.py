"""Machine code: every operation is NumPy's, to the last bit where it is an IEEE one, and the same bits at every lane width."""

import math
import platform
import re
from fractions import Fraction

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import interpret, native_code, trace
from engine.compiler.codegen import entry, llvm
from engine.compiler.graph.operations import ARITY
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import Gufunc
from tests.compiler.programs import SMOOTH, WIDTHS, again, bits, loop, random_function, stumpff, stumpff_error
from tests.numeric import ROUNDED

IEEE = {
    "add": lambda a, b, c: a + b, "sub": lambda a, b, c: a - b, "mul": lambda a, b, c: a * b, "div": lambda a, b, c: a / b,
    "neg": lambda a, b, c: -a, "sqrt": lambda a, b, c: ops.sqrt(a), "abs": lambda a, b, c: ops.absolute(a),
    "floor": lambda a, b, c: ops.floor(a), "min": lambda a, b, c: ops.minimum(a, b), "max": lambda a, b, c: ops.maximum(a, b),
    "lt": lambda a, b, c: ops.less(a, b), "le": lambda a, b, c: ops.less_equal(a, b), "eq": lambda a, b, c: ops.equal(a, b),
    "and": lambda a, b, c: ops.logical_and(a < b, b < c), "or": lambda a, b, c: ops.logical_or(a < b, b < c),
    "not": lambda a, b, c: ops.logical_not(a < b), "select": lambda a, b, c: ops.where(a < b, b, c),
    "stop_gradient": lambda a, b, c: ops.stop_gradient(a),
}  # fmt: skip
LIBM = {
    "tan": (lambda a, b, c: ops.tan(a), math.tan), "asin": (lambda a, b, c: ops.arcsin(a), math.asin),
    "acos": (lambda a, b, c: ops.arccos(a), math.acos), "atan": (lambda a, b, c: ops.arctan(a), math.atan),
    "atan2": (lambda a, b, c: ops.arctan2(a, b), math.atan2),
    "pow": (lambda a, b, c: ops.power(a, b), math.pow), "fmod": (lambda a, b, c: ops.fmod(a, b), math.fmod),
}  # fmt: skip
TURNS = {
    "sin": lambda a, b, c: ops.sin(a), "cos": lambda a, b, c: ops.cos(a),
    "sin of a result": lambda a, b, c: ops.sin(a * c), "cos of a result": lambda a, b, c: ops.cos(a * c),
}  # fmt: skip
SERIES = {
    "c2": lambda a, b, c: ops.c2(a), "c3": lambda a, b, c: ops.c3(a),
    "c2 of a result": lambda a, b, c: ops.c2(a * c), "c3 of a result": lambda a, b, c: ops.c3(a * c),
}  # fmt: skip
EXPONENTIALS = {"exp": lambda a, b, c: ops.exp(a), "log": lambda a, b, c: ops.log(a), "tanh": lambda a, b, c: ops.tanh(a)}
NAMES = [*IEEE, *LIBM, *TURNS, *SERIES, *EXPONENTIALS]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 5e-324, -2.2e-308, 1.7e308, -1.7e308, 3e9, -1e22, 2.0**46, np.inf, -np.inf, np.nan])


def everything(a, b, c):
    return np.array([f(a, b, c) for f in [*IEEE.values(), *(f for f, _ in LIBM.values()), *TURNS.values(), *SERIES.values(),
                                 *EXPONENTIALS.values()]])  # fmt: skip


def arguments():
    """All pairs of special numbers, then ordinary ones of many sizes; c is 1."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 400)) * 10.0 ** rng.integers(-8, 8, (2, 400))
    x[:, :100] = rng.uniform(-1, 1, (2, 100))
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).T
    return np.concatenate([pairs, x], axis=1), np.ones(pairs.shape[1] + 400)


@pytest.fixture(scope="module")
def results():
    """name -> result of compiled code for the arguments, after a check that all widths give the same bits."""
    program = trace(everything, [(), (), ()])
    (a, b), c = arguments()
    with np.errstate(all="ignore"):
        tables = [loop(program, width)(a, b, c) for width in WIDTHS]
        single = Gufunc(program, "(),(),()->(k)", ["a", "b", "c"])
        tables.append(np.array([single(*row) for row in zip(a, b, c, strict=True)]))
    for table in tables[1:]:
        np.testing.assert_array_equal(table.view(np.int64) * ~np.isnan(table), tables[0].view(np.int64) * ~np.isnan(tables[0]))
    return dict(zip(NAMES, tables[0].T, strict=True))


def test_every_operation_is_here():
    assert {*IEEE, *LIBM, *EXPONENTIALS, "sin", "cos", "c2", "c3", "fma"} == set(ARITY)
    called = set(re.findall(r"declare double @(\w+)", entry.single(trace(everything, [(), (), ()]))))
    assert called - {"sin", "cos"} == set(LIBM)                               # those two of large angles alone


@pytest.mark.parametrize("name", IEEE)
def test_ieee_operations_are_exact(results, name):
    (a, b), c = arguments()
    with np.errstate(all="ignore"):
        expected = np.asarray(IEEE[name](a, b, c), dtype=float)
    got = results[name]
    np.testing.assert_array_equal(got, expected)
    if name in ("min", "max"):  # of 0 and -0 either will do
        got, expected = np.abs(got), np.abs(expected)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(got)])


@pytest.mark.parametrize("name", LIBM)
def test_functions_are_the_c_librarys(results, name):
    (a, b), c = arguments()
    f, reference = LIBM[name]
    compared = 0
    for x, y, got in zip(a, b, results[name], strict=True):
        try:
            expected = reference(x, y) if name in ("atan2", "pow", "fmod") else reference(x)
        except (ValueError, OverflowError):  # Python's own errors where C gives NaN and infinity
            continue
        assert got == expected or (got != got and expected != expected), (x, y, got, expected)
        compared += 1
    assert compared > 300
    with np.errstate(all="ignore"):
        expected = f(a, b, c)
    for kind in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(kind(results[name]), kind(expected))


def test_fma_rounds_once():
    nodes = [("input", 0), ("input", 1), ("input", 2), ("fma", 0, 1, 2)]
    program = Program(nodes, [3], [(), (), ()], [()])
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 2000))
    c = -a * b * (1 + rng.choice([0, 1e-16, 1e-10, 1.0], 2000))
    expected = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert np.mean(expected != a * b + c) > 0.3
    for width in WIDTHS:
        np.testing.assert_array_equal(loop(program, width)(a, b, c), expected)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_interpreted_to_rounding_and_the_same_bits_at_every_width(seed):
    program = trace(random_function(seed, 150, SMOOTH, ()), [(4,)])
    x = np.random.default_rng(seed).uniform(-2, 2, (37, 4))
    tables = [loop(program, width)(x) for width in WIDTHS]
    single = Gufunc(program, "(4)->(3)", ["x"])
    tables.append(np.array([single(row) for row in x]))
    assert all(bits(t) == bits(tables[0]) for t in tables)
    expected = interpret(program, x)
    np.testing.assert_allclose(tables[0], expected, rtol=1e-11, atol=1e-13)


def random_code(monkeypatch, cpu: str, width: int) -> np.ndarray:
    """Results of a random program compiled for another processor of this kind, or for this one."""
    host = native_code.llvm().Target.from_default_triple()
    monkeypatch.setenv("ENGINE_CACHE", "0")
    with monkeypatch.context() as m:
        if cpu:  # this one may lack what others of its name have
            m.setattr(native_code, "target", lambda level=0: host.create_target_machine(cpu=cpu, features="", opt=2, jit=True))
        x = np.random.default_rng(0).uniform(-2, 2, (37, 4))
        x[5, 2] = 1e20
        return loop(again(trace(random_function(1, 200, SMOOTH, ()), [(4,)])), width)(x)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 processors")
def test_other_processors_give_the_same_bits(monkeypatch):
    """Vectors of two without fused multiply-adds (the C library does them), of four and of eight with them."""
    features = native_code.llvm().get_host_cpu_features()
    own = random_code(monkeypatch, "", native_code.width())
    for cpu, needs, width in [("x86-64", "sse2", 2), ("sandybridge", "avx", 4), ("haswell", "avx2", 4), ("skylake-avx512", "avx512bw", 8)]:
        if features.get(needs):
            assert bits(random_code(monkeypatch, cpu, width)) == bits(own), cpu


def test_code_for_arm_can_be_made(monkeypatch):
    llvm = native_code.llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    arm = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    monkeypatch.setattr(native_code, "target", lambda level=0: arm.create_target_machine(cpu="generic", opt=2, jit=True))
    program = trace(random_function(1, 60, SMOOTH, ()), [(4,)])
    for text in (entry.batch(program, 2), entry.single(program)):
        assert native_code.assemble(text)[0][:4] == b"\x7fELF"
    module = llvm.parse_assembly(entry.batch(program, 2))
    assert "fmla\tv" in native_code.target().emit_assembly(module)  # fused, on vectors


def test_every_segment_is_straight_vector_code():
    """No call, no branch but from group to group, and no single lane where there need be none: arithmetic on whole registers."""
    module = llvm.Module(8)
    module.function(trace(lambda x: ops.sqrt(x @ x) + np.cross(x, x[::-1]) / abs(x[0]), [(3,)]))
    text = str(module)
    body = text[text.index("define hidden void @f0.0") : text.index("define internal void @f0(")]
    assert body.count("br ") == 3 and "extractelement" not in body and "<8 x double>" in body and body.count("call") == body.count("@llvm.")
    assert native_code.assemble(text)


def test_zeros_between_blocks_are_one_call():
    """Of a matrix of blocks, as of many robots: a store for each zero took LLVM minutes."""
    n, x = 70, np.random.default_rng(0).normal(size=(19, 70))
    program = trace(lambda x: np.diag(x), [(n,)])
    for width in WIDTHS:
        module = llvm.Module(width)
        module.function(program)
        assert str(module).count("  store ") == n and str(module).count("@llvm.memset") == n - 1
    f = engine.gufunc(lambda x: np.diag(x), "(n)->(n,n)", n=n)
    assert bits(f(x)) == bits(np.where(np.eye(n) == 1.0, x[:, None], 0.0)) and bits(f(x[3])) == bits(f(x)[3])


# ---------------------------------------------------------------- sine and cosine

Q, EXTRA = 256, 1100  # bits after the point, and more of π for the largest arguments


def half_pi() -> int:
    """π/2 · 2^(Q + EXTRA), by Machin's formula."""
    one = 1 << (Q + EXTRA + 32)

    def arctan_of_inverse(n: int) -> int:
        total = term = one // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    return (2 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))) >> 32


HALF_PI = half_pi()


def exact_sincos(x: float) -> tuple[int, int]:
    """sin x and cos x times 2^Q."""
    n, d = x.as_integer_ratio()
    whole = (n << (Q + EXTRA)) // d
    k = (2 * whole + HALF_PI) // (2 * HALF_PI)
    r = (whole - k * HALF_PI) >> EXTRA
    square, s, c = (r * r) >> Q, 0, 0
    term, j = 1 << Q, 0
    while term:
        c += term
        s += (term * r >> Q) // (j + 1)
        term = -(term * square >> Q) // ((j + 1) * (j + 2))
        j += 2
    return ((s, c), (c, -s), (-s, -c), (-c, s))[k % 4]


def error_in_ulp(got: float, exact: int) -> float:
    n, d = float(got).as_integer_ratio()
    return abs((n << Q) // d - exact) / (1 << Q) / math.ulp(exact / (1 << Q))


def nearest_multiples(exponent: int) -> list[float]:
    """Doubles m·2^exponent that come closest to multiples of π/2: m are denominators of the convergents of 2^exponent / (π/2)."""
    a, b = (1 << (Q + EXTRA)) << max(exponent, 0), HALF_PI << max(-exponent, 0)
    before, m, found = 0, 1, []
    a, b = b, a % b
    while b:
        before, m = m, (a // b) * m + before
        a, b = b, a % b
        if m >= 2**53:
            break
        found.append(math.ldexp(m, exponent))
    return found


@pytest.fixture(scope="module")
def sincos():
    return loop(trace(lambda x: (ops.sin(x), ops.cos(x)), [()]), native_code.width())


def test_the_reference_is_right():
    assert 6381956970095103 * 2.0**797 in nearest_multiples(797)  # the double that comes closest of all
    assert exact_sincos(1e22)[0] / 2**Q == -0.8522008497671888  # a classical hard case
    for x in (0.5, 1.0, -2.0, 100.0):
        assert abs(exact_sincos(x)[0] / 2**Q - math.sin(x)) < ROUNDED and abs(exact_sincos(x)[1] / 2**Q - math.cos(x)) < ROUNDED


def worst(sincos, x) -> float:
    s, c = sincos(x)
    each = [exact_sincos(float(t)) for t in x]
    return max(max(error_in_ulp(a, e[0]), error_in_ulp(b, e[1])) for a, b, e in zip(s, c, each, strict=True))


@pytest.mark.parametrize("x", [
    np.linspace(-7, 7, 4001), np.arange(-500, 500) * (np.pi / 4), np.nextafter(np.arange(500) * (np.pi / 2), np.inf),
    *(2.0**e * np.random.default_rng(e + 99).uniform(0.5, 1, 500) * np.tile([-1, 1], 250) for e in (-30, -3, 3, 10, 20, 30, 40, 46)),
    np.array([x for e in range(-52, -6) for x in nearest_multiples(e) if x < 2.0**46]),
], ids=["dense", "π/4", "after π/2", "2^-30", "2^-3", "2^3", "2^10", "2^20", "2^30", "2^40", "2^46", "hardest"])  # fmt: skip
def test_sine_and_cosine_are_within_one_and_a_half_ulp(sincos, x):
    assert len(x) > 100 and worst(sincos, x) < 1.5


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no longer floats on this platform")
@pytest.mark.parametrize(("name", "bound"), [("exp", 0.9), ("log", 0.9), ("tanh", 2.6)])
def test_exponentials_are_within_some_ulp(name, bound):
    """Of all sizes, close to 0, and where results are subnormal; at the ends as NumPy's."""
    rng, f = np.random.default_rng(0), loop(trace(lambda x: getattr(ops, name)(x), [()]), native_code.width())
    x = np.concatenate([*(rng.uniform(*ends, 20000) for ends in ((-1, 1), (-745, 709.7), (-25, 25))), 1e-3 * rng.normal(size=9000)])
    x = np.concatenate([2.0**x, 1.0 + 1e-8 * x, [5e-324, 1e-310, 1.7e308]]) if name == "log" else x
    exact = getattr(np, name)(x.astype(np.longdouble))
    spacing = np.spacing(np.maximum(np.abs(exact.astype(float)), np.finfo(float).tiny))
    assert np.abs((f(x).astype(np.longdouble) - exact) / spacing).max() < bound
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.7, 709.8, -745.1, -745.2, 1e300, -1e300, 5e-324])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(ends), getattr(np, name)(ends), rtol=4e-16)
        assert bits(np.copysign(1.0, f(ends)[:3])) == bits(np.copysign(1.0, getattr(np, name)(ends[:3])))


@pytest.mark.parametrize("e", [47, 50, 52, 53, 60, 100, 500, 1023])
def test_large_angles_are_the_c_librarys(sincos, e):
    x = 2.0**e * np.random.default_rng(e).uniform(0.5, 1, 200) * np.tile([-1, 1], 100)
    hardest = np.array([x for x in nearest_multiples(e - 52) if x > 2.0**46])  # there a C library itself may be off by more than 1 ulp
    for angles in (x, hardest):
        s, c = sincos(angles)
        assert s.tolist() == [math.sin(t) for t in angles] and c.tolist() == [math.cos(t) for t in angles]
    assert worst(sincos, x) < 4


def test_tiny_angles_are_kept(sincos):
    x = np.array([5e-324, 2.5e-320, 1e-308, 1e-300, 1e-30, 1e-9])
    for sign in (1, -1):
        s, c = sincos(sign * x)
        assert (s == sign * x).all() and (c == 1.0).all()
    assert sincos(0.0) == (0.0, 1.0) == sincos(-0.0)


def test_sine_is_odd_and_cosine_even_bit_for_bit(sincos):
    x = np.random.default_rng(0).uniform(0, 1000, 10_000)
    (s, c), (t, d) = sincos(x), sincos(-x)
    assert bits(s) == bits(-t) and bits(c) == bits(d)


def test_sine_of_what_is_not_finite_is_nan(sincos):
    with np.errstate(invalid="ignore"):
        for x in (np.inf, -np.inf, np.nan, -np.nan):
            assert np.isnan(sincos(x)).all() and np.isnan(sincos(np.array([1.0, x, 2.0]))).tolist() == [[False, True, False]] * 2


@pytest.mark.parametrize("f", [
    lambda x, one: np.array([np.sin(x), np.cos(x)]), lambda x, one: np.array([np.sin(x * one), np.cos(x * one)]),
], ids=["inputs", "results"])  # fmt: skip
def test_a_large_angle_does_not_touch_its_neighbours(f):
    """In its own lane, in every lane and in a long row of inputs, at every width and alone."""
    program = trace(f, [(11,), ()])
    x = np.random.default_rng(0).uniform(-4, 4, (23, 11))
    far = np.random.default_rng(1).random(x.shape) < 0.1
    y = np.where(far, x * 2.0**60, x)
    for width in WIDTHS:
        near, mixed = loop(program, width)(x, 1.0), loop(program, width)(y, 1.0)
        for k, function in enumerate((math.sin, math.cos)):
            assert bits(mixed[:, k][~far]) == bits(near[:, k][~far])
            assert mixed[:, k][far].tolist() == [function(t) for t in y[far]]
        single = Gufunc(program, "(11),()->(2,11)", ["x", "one"])
        assert bits([single(row, 1.0) for row in y]) == bits(mixed)


# ---------------------------------------------------------------- Stumpff functions


@pytest.fixture(scope="module")
def series():
    return loop(trace(lambda x: (ops.c2(x), ops.c3(x)), [()]), native_code.width())


def test_the_reference_of_stumpff_functions_is_right():
    for x in (1e-9, 0.3, 1.0, 7.0, 39.0, 1e4):
        s = math.sqrt(x)
        assert abs(stumpff(x, 0) - Fraction(math.cos(s))) < 1e-14 and abs(stumpff(x, 1) - Fraction(math.sin(s) / s)) < 1e-14
        for k in range(4):
            assert abs(stumpff(x, k) + Fraction(x) * stumpff(x, k + 2) - Fraction(1, math.factorial(k))) < 2.0**-250


def ranges():
    """Below 1, where series meet closed forms, over the first turn, at its end, where c2 and its slope are 0, and many turns on."""
    rng = np.random.default_rng(0)
    near = np.arange(100) * 2.0**-52
    return {"tiny": np.append(10.0 ** rng.uniform(-300, 0, 100), [0.0, 5e-324]), "below 1": rng.uniform(0, 1, 500),
            "1": np.append(1 - near / 2, 1 + near), "a turn": rng.uniform(1, 4 * np.pi**2, 500),
            "4π²": 4 * np.pi**2 * np.append(1 - near, 1 + near), "many": np.append(rng.uniform(40, 1e4, 30), [1e6])}  # fmt: skip


@pytest.mark.parametrize("name", ranges())
def test_stumpff_functions_are_right_to_rounding(series, name):
    x = ranges()[name]
    for k, got in zip((2, 3), series(x), strict=True):
        assert stumpff_error(got, x, k) < 3
        if x.max() < 1:
            assert max(abs(Fraction(float(y)) - stumpff(float(t), k)) / Fraction(math.ulp(y)) for y, t in zip(got, x, strict=True)) < 1


def test_stumpff_functions_of_what_is_not_finite_are_nan(results):
    (a, _), _ = arguments()
    for name in SERIES:
        assert np.isnan(results[name][np.isnan(a) | np.isposinf(a)]).all() and np.isfinite(results[name][(a >= 0) & (a < 1e150)]).all()


@pytest.mark.parametrize("far", [1.0, 30.0, 1e40, np.inf, np.nan])
def test_a_lane_beyond_the_series_does_not_touch_its_neighbours(far):
    """Nor they it: at every width and alone, in one, some and all lanes."""
    program = trace(lambda x: np.array([ops.c2(x), ops.c3(x)]), [(3,)])
    rng = np.random.default_rng(0)
    x, beyond = rng.uniform(0, 1, (23, 3)), rng.random((23, 3)) < 0.2
    assert set(beyond.sum(axis=1)) >= {0, 1, 2}
    single = Gufunc(program, "(3)->(2,3)", ["x"])
    with np.errstate(invalid="ignore"):
        alone = np.array([single(row) for row in np.where(beyond, far, x)])
        for width in WIDTHS:
            f = loop(program, width)
            near, all_far, mixed = f(x), f(np.full((23, 3), far)), f(np.where(beyond, far, x))
            for k in range(2):
                assert bits(mixed[:, k][~beyond]) == bits(near[:, k][~beyond])
                np.testing.assert_array_equal(mixed[:, k][beyond], all_far[:, k][beyond])
            np.testing.assert_array_equal(mixed, alone)
