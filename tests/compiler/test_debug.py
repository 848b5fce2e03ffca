"""ENGINE_DEBUG: what is compiled is said, and why; without it, nothing is."""

import re

import numpy as np
import pytest

import engine
from engine.compiler import debug
from engine.compiler.gufunc import _single_code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path))
    return tmp_path


def called(number, x=(1.0, 2.0)):
    """A function of its own, compiled and called: in the cache it is found by its number, as so often something is added."""

    def scaled(x):
        return sum([np.sin(x)] * int(4 * number))

    return engine.gufunc(scaled, "(2)->(2)")(np.array(x))


def said(capfd, level, number, monkeypatch):
    monkeypatch.setenv("ENGINE_DEBUG", level)
    called(number)
    return capfd.readouterr().err


def test_nothing_is_said_without_it(folder, capfd, monkeypatch):
    assert said(capfd, "", 1.25, monkeypatch) == "" and said(capfd, "0", 1.5, monkeypatch) == ""
    assert len(list(folder.iterdir())) == 2


def test_a_line_says_what_and_why_and_how_long(folder, capfd, monkeypatch):
    """What changes the key is named: another program under the same name; what is there again is found."""
    line = r"engine: one call of scaled: {}; traced \d+\.\d+ s, {}loaded \d+\.\d+ s; \d+ nodes, 1 functions\n"
    stages = r"optimised \d+\.\d+ s, written \d+\.\d+ s, LLVM \d+\.\d+ s, "
    assert re.fullmatch(line.format("compiled, the first of this name", stages), said(capfd, "1", 2.25, monkeypatch))
    assert re.fullmatch(line.format("compiled, as other than before: the program", stages), said(capfd, "1", 2.5, monkeypatch))
    _single_code.cache_clear()
    assert re.fullmatch(line.format("found in the cache", ""), said(capfd, "1", 2.5, monkeypatch))
    _single_code.cache_clear()
    for file in folder.iterdir():
        if b"the processor" not in file.read_bytes():
            file.unlink()
    assert "compiled, as the cache no longer has it;" in said(capfd, "1", 2.5, monkeypatch)
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert "compiled, as there is no cache to keep it in (ENGINE_CACHE);" in said(capfd, "1", 2.75, monkeypatch)


def scaled_by(a, b=3.0):
    """A function in which two numbers are scales, and one is added."""

    def scaled_by(x):
        return np.array([a * np.sin(x[0]) + b * x[1], 5.0 - x[0]])

    return scaled_by


EQUAL = "(one that equals another, or has another sign, is other code)"
#: numbers of the function -> why it is compiled after the one before
NUMBERS = [((2.0,), "compiled, the first of this name"), ((2.5,), "found in the cache"),
           ((3.0,), f"compiled, as other than before: the numbers of the program, 2.5 before {EQUAL}"),
           ((5.0,), f"compiled, as other than before: the numbers of the program {EQUAL}"),
           ((2.0,), "found in the cache"), ((2.0, 7.0), "found in the cache"),
           ((2.0, 0.0), "compiled, as other than before: the program, without the number 7"),
           ((6.0, 1.0), "compiled, as other than before: the program")]  # fmt: skip


def test_a_number_that_equals_another_is_said(folder, capfd, monkeypatch):
    """It is then the other: what is a gain of its own, and finds its code whatever it is, is told from what is not."""
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    for numbers, why in NUMBERS:
        _single_code.cache_clear()
        engine.gufunc(scaled_by(*numbers), "(2)->(2)")(np.ones(2))
        assert capfd.readouterr().err.split(": ", 2)[2].split(";")[0] == why, numbers


def test_higher_levels_say_more(folder, capfd, monkeypatch):
    two, three = said(capfd, "2", 3.25, monkeypatch), said(capfd, "3", 3.5, monkeypatch)
    for name in ("fusing", "packing", "planning", "LLVM reads", "LLVM's passes", "LLVM's code"):
        assert re.search(rf"^engine: +\d+\.\d+ s  {name}$", two, re.MULTILINE)
    assert re.search(r"^engine: +\d+ nodes  scaled$", two, re.MULTILINE) and "define " not in two
    assert re.search(r"scaled\(x \(2\)\): \d+ operations\n    %\d+ = sin x\[0\]", three)
    assert "# test_debug.py:" in three and "define ptr @call(" in three


def test_a_wrong_value_is_an_error(monkeypatch):
    for wrong in ("4", "yes", "-1"):
        monkeypatch.setenv("ENGINE_DEBUG", wrong)
        with pytest.raises(engine.EngineError, match=rf"^ENGINE_DEBUG is '{wrong}'; expected 0, 1, 2 or 3$"):
            called(4.25)


def test_what_is_timed_within_is_not_counted_twice(monkeypatch):
    clock = iter([0.0, 1.0, 4.0, 10.0])
    monkeypatch.setattr(debug.time, "perf_counter", lambda: next(clock))
    found = []
    with debug.timed(found.append), debug.timed(found.append):
        pass
    assert found == [3.0, 7.0]
