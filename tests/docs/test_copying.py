"""What the button of an example copies runs by itself."""

import pytest

from engine.docs.copying import alone, names_of
from tests.docs.test_docs import DOCS, TASKS
from tests.pages import blocks


@pytest.mark.parametrize("task", TASKS)
def test_a_task_pasted_alone_runs(task, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    pages = [(page, k) for page in sorted((DOCS / "cookbook").glob("*.md")) for k, b in enumerate(blocks(page)) if TASKS[task] in b.code]
    page, k = pages[0]
    exec(compile(alone(page.read_text(encoding="utf-8"))[k], task, "exec"), {"__name__": "pasted"})


def test_what_a_block_needs_are_those_that_give_or_change_its_names():
    codes = ("import numpy as np", "a = np.ones(3)", "b = 2", "a[0] = 5", "a.sort()", "print(a.sum())")
    text = "\n".join(f"```python\n{code}\n```" for code in codes)
    assert alone(text)[-1].split("\n\n") == ["import numpy as np", "a = np.ones(3)", "a[0] = 5", "a.sort()", "print(a.sum())"]
    assert names_of("x.y[0].z = f(q)") == ({"x", "f", "q"}, set(), {"x"})
