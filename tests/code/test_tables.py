"""Functions with tables as C: the same bits as plain, interpreted and compiled, in memory that the caller lends."""

import importlib.util
import re

import numpy as np
import pytest

import engine
from engine import ops
from engine.code import ExportError, export_code
from engine.code.memory import DIFFERENT, NO_ROOM, NO_ROW, with_tables
from engine.code.room import enough, grows
from engine.compiler import interpret
from engine.compiler.gufunc import shaped
from tests.bench import rows as bench
from tests.code.programs import FLAGS, FMA, needed, reported
from tests.compiler import test_procedures as procedures
from tests.compiler import test_tables as exact
from tests.fuzz._tables import HAVE_C, InC

pytestmark = pytest.mark.skipif(not HAVE_C, reason="no gcc, or no fused multiply-adds")
COUNTS = (0, 1, 7, 8, 9, 100)


def same(found, expected):
    """All bits, and shapes."""
    expected = expected if isinstance(expected, tuple) else (expected,)
    return [(np.shape(x), exact.bits(x)) for x in found] == [(np.shape(x), exact.bits(x)) for x in expected]


def square(n):
    """Knots of a cloth of n, and springs between one and the next."""
    k = np.arange(max(n - 1, 0), dtype=float)
    return np.random.default_rng(n).standard_normal((n, 3)), k, k + 1.0


DRAWN = {
    bench.gravity: ("(n,3),(n)->(n,3)", lambda rng, n: (rng.standard_normal((n, 3)), rng.random(n))),
    bench.cloth: ("(n,3),(k),(k)->(n,3)", lambda rng, n: square(n)),
    bench.heat: ("(n)->(n)", lambda rng, n: (rng.standard_normal(n),)),
}  # fmt: skip


@pytest.mark.parametrize("f", DRAWN, ids=lambda f: f.__name__)
def test_gravity_a_cloth_and_heat(f, tmp_path):
    """The bits of machine code, and plain numbers to rounding."""
    signature, draw = DRAWN[f]
    g = engine.gufunc(f, signature)
    c = InC(g, tmp_path)
    for n in COUNTS:
        x = draw(np.random.default_rng(n), n)
        status, found = c(*x)
        assert status == 0 and same(found, g(*x)), n
        for other in (f(*x), interpret(g.program, *x)):
            # sums of n terms of the size of the largest, and of a spring the length that is nearly its own
            np.testing.assert_allclose(found[0], other, rtol=0, atol=1e4 * max(n, 1) * np.finfo(float).eps * np.abs(other).max(initial=0.0))


@pytest.mark.parametrize("f", exact.SIGNATURES, ids=lambda f: f.__name__)
def test_plain_interpreted_compiled_and_c_are_the_same(f, tmp_path):
    """To the bit, of numbers with which no sum is rounded: all that loops read and make, in loops and branches."""
    g = engine.gufunc(f, exact.SIGNATURES[f])
    c = InC(g, tmp_path)
    for n in COUNTS:
        x = exact.given(f, n)
        status, found = c(*x)
        assert status == 0
        for expected in (f(*x), interpret(g.program, *x), g(*x)):
            assert same(found, expected), n


@pytest.mark.parametrize(("f", "argument", "sized"), [(exact.energy, 0, False), (exact.mixed, 3, False),
                                                      (exact.strain, 0, True)])  # fmt: skip
def test_derivatives(f, argument, sized, tmp_path):
    """Sums of tables, numbers of rows as rows; and arrays of known sizes as tables."""
    signature, x, sizes = exact.DERIVED[f]
    g = engine.gradient(f, signature, argument, **(sizes if sized else {}))
    status, found = InC(g, tmp_path)(*x)
    assert status == 0 and same(found, g(*x))


@pytest.mark.parametrize("checked", [False, True])
def test_procedures(checked, monkeypatch, tmp_path):
    """The bits that Python gives, of a line of each kind; where it looks for entries, one that is not there is said."""
    monkeypatch.setenv("ENGINE_DEBUG", "2" if checked else "0")

    def f(x, h):
        return (*procedures.everything(x, h), procedures.named_as_llvm_names(x[:, 0], 2.0, 1.0, 0.5))

    g = shaped(f, "(n,2),()->(n),(k,3),(n)")
    c = InC(g, tmp_path)
    for n in COUNTS[1:]:
        x = np.random.default_rng(n).standard_normal((n, 2))
        x[0, 1] = 0.25
        status, found = c(x, 0.5)
        assert status == 0 and same(found, f(x, 0.5)), n
    if checked:
        beyond = InC(shaped(lambda x, k: reaching(x, k), "(n),()->(n)"), tmp_path, "beyond")
        assert [beyond(np.ones(3), k)[0] for k in (2.0, 3.0, -1.0, np.nan)] == [0, NO_ROW, NO_ROW, 0]


@ops.procedure
def reaching(x, k):
    """A row, by another procedure."""
    y = ops.floats(len(x))
    y[0] = taken(x, int(k))
    return y


def taken(x, k):
    return x[k]


def test_tables_below_one_another_and_cut(tmp_path):
    """Also passed on by a loop as they lie in others, whose rows are free again then."""
    def f(x, y):
        z = np.concatenate([x, y, x]).reshape(-1, 2)

        def turn(s):
            twice = ops.rows(lambda r: np.concatenate([r, -r]), s["b"]).reshape(-1, 2)
            return {"a": twice, "b": ops.rows(lambda r: -r, s["a"]), "c": s["a"]}, False

        s, _ = ops.while_loop(turn, {"a": z, "b": z, "c": z}, 3)
        return z, s["a"], s["c"], s["b"]

    g = shaped(f, "(n,4),(k,4)->(a,2),(b,2),(c,2),(d,2)")
    c = InC(g, tmp_path)
    for n, k in ((3, 2), (0, 9), (5, 0), (100, 7)):
        x, y = np.random.default_rng(n).standard_normal((2, 100, 4))
        status, found = c(x[:n], y[:k], memory=c.memory(2000), room=2000)
        assert status == 0 and same(found, f(x[:n], y[:k])) and same(found, g(x[:n], y[:k]))


# ---------------------------------------------------------------- memory, and what is wrong


def test_memory_that_is_too_small_is_said(tmp_path):
    """Whatever its size, and nothing beyond it is written; what the header says is enough, and here not one double less is."""
    g = engine.gufunc(exact.springs, exact.SIGNATURES[exact.springs])
    c, x = InC(g, tmp_path), exact.given(exact.springs, 9)
    enough = c.memory(18)                                                      # rows of the numbers of rows
    assert [status for size in range(enough) if (status := c(*x, memory=size)[0]) not in (0, NO_ROOM)] == []
    least = next(size for size in range(enough + 1) if c(*x, memory=size)[0] == 0)
    assert least == enough - 2 * 3 * 9                                         # two tables of nine rows of three, not of eighteen
    status, found = c(*x, room=8)
    assert status == NO_ROOM and len(found[0]) == 9                            # so many there would be
    heat = InC(engine.gufunc(exact.heat, exact.SIGNATURES[exact.heat]), tmp_path, "warm")
    u = exact.given(exact.heat, 100)
    assert heat(*u, memory=heat.memory(100))[0] == 0 and heat(*u, memory=heat.memory(99))[0] == NO_ROOM


def test_what_is_wrong_with_rows_is_said(tmp_path):
    rows = InC(engine.gufunc(lambda x, i: ops.gather(x, i) + 0.0, "(n),(k)->(k)"), tmp_path, "gathers")
    for n, i in ((2, 2.0), (2, -1.0), (2, 0.5), (2, np.nan), (0, 0.0), (2, 1e300)):
        assert rows(np.ones(n), [0.0, i] if n else [i])[0] == NO_ROW
    assert rows(np.ones(0), np.ones(0))[0] == rows([1.0, 2.0], [1.0])[0] == 0
    assert rows([1.0, np.nan], [1.0])[0] == 1                                  # as anywhere, what is not finite
    adds = InC(engine.gufunc(lambda x, i: ops.add_at(x, i, i), "(n),(k)->(n)"), tmp_path, "adds")
    assert adds([1.0, 2.0], [-1.0])[0] == adds([], [0.0])[0] == NO_ROW
    both = InC(engine.gufunc(lambda x, y: ops.total(ops.rows(lambda a, b: a * b, x, y)), "(n),(k)->()"), tmp_path, "both")
    assert both([1.0, 2.0], [1.0])[0] == DIFFERENT


def test_a_loop_of_many_passes_needs_the_memory_of_one(tmp_path):
    """Of two tables that are passed on the one that is named first lies behind the other."""
    def turn(x):
        return ops.while_loop(lambda s: ({"a": -s["b"], "b": s["a"]}, False), {"a": x, "b": 2.0 * x}, 10**4 + 1)[0]

    g = engine.gufunc(lambda x: tuple(turn(x).values()), "(n)->(n),(n)")
    c, x = InC(g, tmp_path), np.arange(50.0)
    status, found = c(x)
    assert status == 0 and same(found, (-2.0 * x, x)) and same(found, g(x)) and c.memory(50) < 400


def test_arguments_may_be_called_as_what_is_passed_beside_them(tmp_path):
    def f(x_rows, x, memory, arena, top1):
        return ops.rows(lambda a: a * x_rows + memory, x), ops.total(arena) * top1

    g = engine.gufunc(f, "(),(n),(),(n),()->(n),()")
    status, found = InC(g, tmp_path)(2.0, np.ones(3), 1.0, np.ones(3), 2.0)
    assert status == 0 and found[0].tolist() == [3.0] * 3 and found[1] == 6.0
    unread = engine.gufunc(lambda x, s: 2.0 * s, "(n),()->()")
    assert InC(unread, tmp_path, "unread")(np.ones(3), 2.0) == (0, [4.0])


# ---------------------------------------------------------------- what is written


def test_the_header_says_how_tables_are_passed(tmp_path):
    export_code(engine.gufunc(bench.cloth, DRAWN[bench.cloth][0]), tmp_path / "cloth.c")
    header = (tmp_path / "cloth.h").read_text()
    words = " ".join(header.replace("\n *", " ").split())
    assert "#define CLOTH_MEMORY(rows) (12 + 6 * (size_t)(rows))" in header
    for part in ("x (x_rows, 3)", "result (result_rows, 3)", "const double *x, size_t x_rows, const double *i_, size_t i__rows",
                 "double *result, size_t result_room, size_t *result_rows, double *memory, size_t memory_size);",
                 "CLOTH_MEMORY(n) are enough where no table has more than n rows", "It allocates nothing and keeps nothing",
                 "2 where memory, or the room for a result, is too small"):  # fmt: skip
        assert part in words
    assert not re.search(r"\b(malloc|calloc|free|realloc) *\(", (tmp_path / "cloth.c").read_text())


def test_the_self_test(tmp_path):
    """Without a warning, with none of the processor's instructions; and it says what differs."""
    needed("gcc")
    export_code(engine.gufunc(exact.some, exact.SIGNATURES[exact.some]), tmp_path / "some.c")
    assert reported(tmp_path, "some", "gcc", *FLAGS, "-O2", *FMA) == "ok: some, 20 samples, bit for bit\n"
    text = (tmp_path / "some.c").read_text()
    (tmp_path / "some.c").write_text(text.replace("(part[3] + part[7])", "(part[7] - part[3])"))
    with pytest.raises(AssertionError, match=r"sample \d+: result_1\[0\] is .*; expected .* units in the last place"):
        reported(tmp_path, "some", "gcc", *FLAGS, "-O1", *FMA)


def test_formats_without_tables_say_so(tmp_path, monkeypatch):
    f = engine.gufunc(lambda x: ops.total(x), "(n)->()")
    with pytest.raises(ExportError, match=r"works with tables, which have no code in a \.o for aarch64; expected a \.c, a \.wasm, or"):
        export_code(f, tmp_path / "summed.o", target="aarch64")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "ziglang" else found(name, *more))
    with pytest.raises(ExportError, match=r"works with tables, of which a \.wasm needs ziglang, which is not installed; expected pip"):
        export_code(f, tmp_path / "summed.wasm")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_objects_of_tables_for_this_machine_have_the_same_bits(tmp_path, suffix):
    """By their own self-test; they are written anew, and know whose they are."""
    f = engine.gufunc(lambda x, y: ops.total(x * y), "(n),(n)->()")
    for _ in range(2):
        export_code(f, tmp_path / f"summed{suffix}")
    found = reported(tmp_path, "summed", "gcc", *FLAGS, "-Wl,-rpath,.", files=("-Wl,--no-as-needed", f"summed{suffix}"))
    assert found == "ok: summed, 20 samples, bit for bit\n"


def test_objects_of_tables_need_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match=r"there is no C compiler \(cc\) that compiles a \.o; expected one, or a \.c that is compiled"):
        export_code(engine.gufunc(lambda x: ops.total(x), "(n)->()"), tmp_path / "summed.o")


def test_what_is_called_again_and_again_is_looked_at_once():
    """Of thirty functions, each of which calls the one before twice, there are a thousand million ways to the first."""
    def twice(f):
        return lambda x: ops.shared(f, x) + ops.shared(f, 2.0 * x)

    functions = [lambda x: ops.total(ops.rows(lambda a: a * a, x)) * x]
    for _ in range(30):
        functions.append(twice(functions[-1]))
    program = engine.gufunc(functions[-1], "(n)->(n)").program
    assert with_tables(program) and not grows(program) and enough(program, 10) > 0


def test_a_loop_in_each_row_keeps_what_it_is_given(tmp_path):
    """What gcc 12 makes wrong at -O2 of a body that stands in the loop, by ``restrict``: the number that a pass ends with."""
    def f(x, c):
        return ops.rows(lambda a: ops.each(lambda k, s: c * c, ops.where(a > 0.5, 3.0, ops.where(a > -0.5, 1.0, 0.0)), a), x)

    x = np.array([0.0, 1.0, -1.0, 0.3])
    c = InC(engine.gufunc(f, "(n),()->(n)"), tmp_path)
    assert c(x, 0.5)[1][0].tolist() == f(x, 0.5).tolist() == [0.25, 0.25, -1.0, 0.25]
