"""Procedures: machine code gives the bits that Python gives; what they have not is said where it is traced."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.kernels.procedure import Procedure
from engine.ops import bit_count, floats, ints, lowest_bit

TWO = 2


def added(y, k, x):
    """Add to an entry, and say nothing."""
    y[k] += x


def norm(x, k):
    """The size of a row."""
    return np.sqrt(x[k, 0] * x[k, 0] + x[k, 1] * x[k, 1])


@ops.procedure
def everything(x, h):
    """A line of each kind."""
    n = len(x)
    y, z = floats(n), floats(2 * n + 1, 3)
    order = ints(n)
    for k in range(n - 1, -1, -1):
        order[k] = n - 1 - k
        if x[k, 0] < 0.0 < h or not x[k, 1] <= 0.5:
            added(y, k, abs(x[k, 0]))
        elif x[k, 1] == 0.25 and k % TWO != 1:
            continue
        else:
            y[k] = -h if k // 2 > 1 else k
    k = 0
    while True:
        if k >= n or y[order[k]] > 3.0:
            break
        z[k, 1], z[k, 0] = z[k, 0] + norm(x, k), float(min(k, 3))
        z[k, 2] = max(x[k, 0], x[k, 1]) + int(x[k, 0] * 10.0) + np.floor(x[k, 1]) / 7
        z[k, 0] *= 3 - h
        z[k, 1] -= bit_count(k & 6 | 1 ^ 3) + lowest_bit(8 >> 1) + (1 << 3)
        k += 1
    return y, z[:k]


@pytest.mark.parametrize("n", [1, 2, 9])
def test_machine_code_gives_pythons_bits(n):
    x = np.random.default_rng(n).standard_normal((n, 2))
    x[0, 1] = 0.25
    f = engine.gufunc(lambda x, h: everything(x, h), "(n,2),()->(n),(k,3)")
    for plain, interpreted, compiled in zip(everything(x, 0.5), engine.compiler.interpret(f.program, x, 0.5), f(x, 0.5), strict=True):
        np.testing.assert_array_equal(interpreted, plain)
        np.testing.assert_array_equal(compiled, plain)


def test_it_goes_with_loops_over_rows_and_within_loops():
    """Halves of running sums, twice, beside plain NumPy."""
    @ops.procedure
    def running(x):
        y = floats(len(x))
        total = 0.0
        for k in range(len(x)):
            total += x[k]
            y[k] = total
        return y

    f = engine.gufunc(lambda x: ops.each(lambda k, y: ops.rows(lambda a: 0.5 * a, running(y)), 2, x), "(n)->(n)")
    x = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_array_equal(f(x), 0.5 * np.cumsum(0.5 * np.cumsum(x)))


@ops.procedure
def named_as_llvm_names(v1, a0, l1, τ):
    x1 = floats(len(v1))
    k1 = squared(a0, τ)
    for v2 in range(len(v1)):
        x1[v2] = v1[v2] * k1 + l1
    return x1


def squared(v1, l2):
    return v1 * v1 + l2


def test_any_names_will_do():
    x = np.arange(3.0)
    f = engine.gufunc(lambda x: named_as_llvm_names(x, 2.0, 1.0, 0.5), "(n)->(n)")
    np.testing.assert_array_equal(f(x), 4.5 * x + 1.0)


def grows(x):
    y = floats(len(x))
    y = floats(len(x) + 1)
    return y


def changes(x):
    x[0] = 1.0
    return floats(1)


def truncates(x):
    k = 0
    k = x[0]
    return floats(k)


def lists(x):
    y = [0.0]
    return y


def whole(x):
    return ints(len(x))


def early(x):
    y = floats(1)
    if x[0] > 0.0:
        return y
    return floats(2)


def nothing(x):
    k = added(floats(1), 0, 1.0)
    return floats(k)


def unknown(x):
    y = floats(1)
    y[0] = np.sin(x[0])
    return y


@pytest.mark.parametrize(("fn", "text"), [
    (grows, "in the procedure 'grows', `y` is an array made again"), (changes, "`x[0]` is the caller's, and is not to be changed"),
    (truncates, "`k` is not a whole"), (lists, "in the procedure 'lists', `[0.0]` is not what procedures have"),
    (whole, "an array of whole numbers"),
    (early, "`return y` returns arrays before the end"), (nothing, "`k` is what a procedure returns that returns nothing"),
    (unknown, "`np.sin(x[0])` is not what procedures have"),
])  # fmt: skip
def test_what_it_has_not_is_said(fn, text):
    with pytest.raises(engine.EngineError) as error:
        engine.gufunc(lambda x: ops.procedure(fn)(x), "(n)->(k)")
    assert text in str(error.value)


def taken(x, k):
    return x[k, 1]


@ops.procedure
def reaches(x, which, k):
    """Beyond a table, by a line each, or not."""
    i = int(k)
    y, z = floats(len(x)), floats(len(x), 2)
    if which == 1.0:
        y[0] = x[i, 0]
    elif which == 2.0:
        y[i] = 1.0
    elif which == 3.0:
        y[0] += z[0, i]
    elif which == 4.0:
        y[0] = taken(z, i)
    elif which == 5.0:
        added(y, i, 2.0)
    elif which == 6.0:
        y[0] = 1.0 if k > 5.0 and x[i, 1] > 0.0 else 2.0
    return y[: int(which) if which == 7.0 else len(x)], z


BEYOND = {1: ("reaches", "x", "row"), 2: ("reaches", "y", "row"), 3: ("reaches", "z", "column"), 4: ("taken", "x", "row"),
          5: ("added", "y", "row"), 6: ("reaches", "x", "row"), 7: ("reaches", "y", "rows up to")}  # fmt: skip


def test_entries_that_are_not_there_are_told(monkeypatch):
    """On floats, and by machine code that is made to look: which line of which procedure, which table, which number, and what there is."""
    monkeypatch.setenv("ENGINE_DEBUG", "2")
    f = engine.gufunc(lambda x, which, k: reaches(x, which, k), "(n,2),(),()->(k),(n,2)")
    x = np.arange(6.0).reshape(3, 2)
    for which, (name, table, what) in BEYOND.items():
        for k in (-1.0, 7.0):
            n = 2 if what == "column" else 3
            number, last = (7, n) if what == "rows up to" else (int(k), n - 1)
            says = rf"test_procedures\.py:\d+: the procedure '{name}' asks for {what} {number} of the table '{table}' of {n} \w+s; "
            for run in (reaches, f):
                if which == 6 and k < 0.0:
                    assert run(x, float(which), k)[0][0] == 2.0
                    continue
                with pytest.raises(IndexError, match=rf"{says}expected 0 … {last}$"):
                    run(x, float(which), k)
    for result, expected in zip(f(x, 5.0, 1.0), reaches(x, 5.0, 1.0), strict=True):
        np.testing.assert_array_equal(result, expected)
    assert all(type(y) is np.ndarray for y in reaches(x, 0.0, 0.0)) and type(floats(1)) is np.ndarray
    with pytest.raises(IndexError, match="asks for row 0 of the table 'x' of 0 rows; expected none"):
        reaches(np.zeros((0, 2)), 1.0, 0.0)


def test_machine_code_looks_for_entries_only_when_it_is_told_to(monkeypatch):
    texts = {}
    for level in ("0", "1", "2", "3"):
        monkeypatch.setenv("ENGINE_DEBUG", level)
        texts[level] = Procedure(reaches.__wrapped__, (2, -1, -1)).text
    assert texts["0"] == texts["1"] != texts["2"] == texts["3"]


def test_lines_that_are_not_to_be_found_are_told():
    space = {}
    exec("def typed(x):\n    return x", space)
    for fn, text in ((space["typed"], "the lines of the procedure 'typed' are not to be found"), (lambda x: x, "is no function of lines")):
        with pytest.raises(engine.EngineError, match=text):
            engine.gufunc(lambda x, fn=fn: ops.procedure(fn)(x), "(n)->(k)")


def test_its_derivative_is_refused():
    f = engine.gufunc(lambda x: ops.total(everything(x, 0.5)[0]), "(n,2)->()")
    with pytest.raises(engine.EngineError, match="the derivative of the procedure 'everything'"):
        engine.gradient(f)(np.ones((3, 2)))
