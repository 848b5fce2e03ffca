"""Formulas as browsers get them, and docstrings as Sphinx does."""

import re

import pytest

from engine.docs.docstrings import rewritten
from engine.docs.mathml import mathml


def flat(tex: str) -> str:
    """A formula's elements in a line, without attributes."""
    return re.sub(r"\s+|(?<=<m)(\w+) [^>]*(?=>)", lambda m: m[1] or "", mathml(tex, True)).partition(">")[2].removesuffix("</math>")


@pytest.mark.parametrize(("tex", "elements"), [
    (r"\tfrac12 x", "<mfrac><mn>1</mn><mn>2</mn></mfrac><mi>x</mi>"),
    (r"\dot S_i", "<msub><mover><mi>S</mi><mo>˙</mo></mover><mi>i</mi></msub>"),
    (r"\ddot\Psi_j", "<msub><mover><mi>Ψ</mi><mo>¨</mo></mover><mi>j</mi></msub>"),
    (r"\sum_{i}^{n} x", "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>x</mi>"),
])  # fmt: skip
def test_formulas_are_as_they_are_written(tex, elements):
    assert elements in flat(tex)


def test_bars_stand_close():
    assert mathml(r"\lvert x \rvert", False).count('lspace="0" rspace="0"') == 2


def test_docstrings_are_terms_and_what_they_are():
    lines = ["Return |x| (..., *shape)::", "", "    |as it is| : *shape", "", "Parameters", "----------", "q, v : where it is",
             "    and how fast", "f(x) -> y", "", "Raises", "------", "StateError : a_ shape", "",
             "Notes", "-----", "``|code|``"]  # fmt: skip
    assert [line for line in rewritten(lines) if line] == [
        r"Return \|x\| (..., \*shape)::", "    |as it is| : *shape", ".. rubric:: Parameters", "``q, v``", "    where it is",
        "    and how fast", "``f(x)``", "    y", ".. rubric:: Raises", "``StateError``", r"    a\_ shape", ".. rubric:: Notes",
        "``|code|``"]  # fmt: skip
