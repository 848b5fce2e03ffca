"""What the button of an example copies runs by itself."""

import contextlib
import io
import linecache
from pathlib import Path

import pytest

from engine.docs.copying import alone, names_of
from tests.docs.test_docs import CHECKER, DOCS, HOW, PAGES, TASKS
from tests.pages import blocks


def paste(page: Path, k: int) -> str:
    """Run what the button of a page's k-th example copies as a script of its own, and return what it printed."""
    code, name, out = alone(page.read_text(encoding="utf-8"))[k], f"{page.stem}-{k}.py", io.StringIO()
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name          # as of a file
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "pasted"})
    return out.getvalue()


@pytest.mark.parametrize("task", TASKS)
def test_a_task_pasted_alone_runs(task, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    pages = sorted((DOCS / "cookbook").glob("*.md"))
    paste(*next((page, k) for page in pages for k, b in enumerate(blocks(page)) if TASKS[task] in b.code))


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != "mission"], ids=lambda p: p.relative_to(DOCS).with_suffix("").as_posix())
def test_every_example_of_a_page_pasted_alone_runs(page, monkeypatch, tmp_path):
    """In a folder of its own, without what other examples have left, and ends in what the page says; of a mission all are one run."""
    for k, block in enumerate(blocks(page)):
        (folder := tmp_path / str(k)).mkdir()
        monkeypatch.chdir(folder)
        got = paste(page, k)
        assert CHECKER.check_output(f"...{block.printed or ''}", got, HOW), f"the copy of line {block.line} prints\n{got}"


def copy(*codes: str) -> list[str]:
    """The blocks that the button of the last one of a page copies."""
    return alone("\n".join(f"```python\n{code}\n```" for code in codes))[-1].split("\n\n")


@pytest.mark.parametrize(("codes", "kept"), [
    (("import numpy as np", "a = np.ones(3)", "b = 2", "a[0] = 5", "a.sort()", "print(a.sum())"), (0, 1, 3, 4, 5)),
    (("a = 1", "b = a", "b = 2", "print(b)"), (2, 3)),                                          # given anew
    (("a = 1", "a = a + 1", "a += 1", "print(a)"), (0, 1, 2, 3)),
    (("a = 1", "if a:\n    b = 2", "print(b)"), (0, 1, 2)),
    (("b = 1", "if 1:\n    b = 2", "print(b)"), (0, 1, 2)),                                     # perhaps given
    (("b = 1", "if 1:\n    b = 2\nelse:\n    b = 3", "print(b)"), (1, 2)),                     # whatever way it takes
    (("b = 1", "for k in range(0):\n    b = 2", "print(b)"), (0, 1, 2)),
    (("b = 1", "try:\n    b = 2\nexcept ValueError:\n    pass", "print(b)"), (0, 1, 2)),
    (("b = 1", "with f() as c:\n    b = 2", "print(b, c)"), (1, 2)),
    (("k = q = t = 1", "x = [k for k in (1, 2)]\nf = lambda t, q: -q\nfor k in x:\n    f(k, k)", "print(x, f)"), (1, 2)),
    (("q = 1", "g = 2", "def f(q):\n    def h():\n        return g * q\n    return h", "print(f(3))"), (1, 2, 3)),
    (("a = []", "a = []\na.append(1)\nprint(a)"), (1,)),                                        # its own alone is changed
    (("a = b = 1", "try:\n    b = 2\nexcept E as a:\n    b = a", "print(b)"), (1, 2)),
    (("a = 1", "b = f'{a}'", "print(b)"), (0, 1, 2)),
])  # fmt: skip
def test_a_copy_has_those_before_it_that_give_or_change_its_names_and_no_more(codes, kept):
    assert copy(*codes) == [codes[k] for k in kept]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).with_suffix("").as_posix())
def test_no_block_of_a_copy_can_be_left_out(page):
    """Without any one of those before it, a copy asks for a name that it has not."""
    text = page.read_text(encoding="utf-8")
    codes = [block.code.rstrip() for block in blocks(page)]
    for k, whole in enumerate(alone(text)):
        taken = [code for code in codes[:k] if f"{code}\n\n" in whole]
        assert whole == "\n\n".join([*taken, codes[k]])
        full = names_of(whole).asked
        for code in taken:
            assert names_of("\n".join(c for c in (*taken, codes[k]) if c is not code)).asked != full, f"{code}\nfor\n{codes[k]}"


def test_names_of_code():
    assert names_of("x.y[0].z = f(q)") == ({"x", "f", "q"}, set(), set(), {"x"})
    assert names_of("def f(a):\n    b = c * a\n    return b\nd = 1\nprint(d)\nengine.export(d)\ne += 1") == (
        {"c", "print", "engine", "e"}, {"f", "d", "e"}, {"f", "d", "e"}, set())  # fmt: skip
