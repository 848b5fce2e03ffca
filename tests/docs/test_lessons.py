"""Each lesson has a page with sliders that simulates, and exercises whose answers are checked."""

import re

import pytest

from engine.docs.lessons import exported
from tests.docs.test_docs import DOCS
from tests.pages import blocks

LESSONS = sorted(path for path in (DOCS / "course").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("page", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_has_a_live_page_and_every_exercise_a_checked_answer(page):
    """What is printed is compared where pages are run; here, that it is printed for every question, folded away until it is asked for."""
    text = page.read_text(encoding="utf-8")
    (name,) = exported(text)
    assert name == f"{page.stem}-live.html" and f'<iframe class="live" src="{name}' in text
    asked, told = text.partition("## Exercises")[2].split("<details>\n<summary>Answers</summary>")
    questions = re.findall(r"^(\d)\. ", asked, re.M)
    answers = [re.findall(r"^(\d): ", block.printed or "", re.M) for block in blocks(page)]
    assert questions and [*answers[-1]] == questions and told.rstrip().endswith("</details>")
    assert "..." not in blocks(page)[-1].printed


def test_the_lessons_are_eight():
    assert len(LESSONS) == 8
