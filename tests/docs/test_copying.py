"""What the button of an example copies runs by itself."""

import contextlib
import io
import linecache
from pathlib import Path

import pytest

from engine.docs.copying import alone, names_of
from tests.docs.test_docs import DOCS, PAGES, TASKS
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
    """In a folder of its own, without what other examples have left; of a mission all are one run."""
    for k, _ in enumerate(blocks(page)):
        (folder := tmp_path / str(k)).mkdir()
        monkeypatch.chdir(folder)
        paste(page, k)


def test_what_a_block_needs_are_those_that_give_or_change_its_names():
    codes = ("import numpy as np", "a = np.ones(3)", "b = 2", "a[0] = 5", "a.sort()", "print(a.sum())")
    text = "\n".join(f"```python\n{code}\n```" for code in codes)
    assert alone(text)[-1].split("\n\n") == ["import numpy as np", "a = np.ones(3)", "a[0] = 5", "a.sort()", "print(a.sum())"]
    assert names_of("x.y[0].z = f(q)") == ({"x", "f", "q"}, set(), {"x"})
    assert names_of("def f(a):\n    b = c * a\n    return b\nd = 1\nprint(d)\nengine.export(d)\ne += 1") == (
        {"a", "b", "c", "print", "engine", "e"}, {"f", "d", "e"}, set())  # fmt: skip
