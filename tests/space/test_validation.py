"""The page of validation is what its command writes: the rows that take no time, to the digit."""

from tests import validation


def test_the_page_has_what_is_measured():
    text = validation.PAGE.read_text(encoding="utf-8")
    assert text.startswith(validation.HEAD) and text.endswith(validation.TAIL)
    assert text.count("\n| ") + text.count("\n|  |") >= 27
    for row in validation.panels():
        assert row[0] in text
        assert row[1] in text
    assert "| q₂ | -11.41° | −11.41° |" in text
