"""The README's examples run as they stand."""

import contextlib
import io
import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_examples(monkeypatch, tmp_path):
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.S | re.M)
    assert len(blocks) == 4
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), names)
    drift, momenta = printed.getvalue().splitlines()
    assert float(drift) < 1e-10
    assert "[" in momenta and (tmp_path / "out" / "scatter.h5").exists()
    assert names["A"].shape == (12, 12) and names["B"].shape == (12, 6) and len(names["motion"]) == 1001
    assert names["f"](names["np"].ones((1000, 3)), names["np"].eye(3)[:2]).shape == (1000, 2)


def test_gate_runs_these_commands():
    gate = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in gate and os.access(ROOT / ".ci" / "run", os.X_OK)
