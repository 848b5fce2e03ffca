"""The README's examples run as they stand."""

import os
import re
from pathlib import Path

import numpy as np

from tests.pages import blocks, run

ROOT = Path(__file__).parents[1]


def test_examples(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    page, names = ROOT / "README.md", {}
    assert len(blocks(page)) == 11
    printed = "".join(run(page, block, names) for block in blocks(page))
    drift, momenta, slow, weights, shapes = printed.splitlines()
    assert float(drift) < 1e-10
    assert "[" in momenta and (tmp_path / "out" / "scatter.h5").exists()
    assert "%" in slow and names["runs"].complete and not names["runs"].failed.any() and names["flight"].t[-1] == 5.0
    assert names["observed"].shape == (64, 14) and (names["reward"] < 0).all() and not names["info"]
    assert weights.endswith("world:low/crate.0")
    assert names["plan"].converged and np.abs(names["slope"]).max() < 1e-3
    assert shapes == "(1000, 13) (13, 3)" and np.ptp(names["wear"].q[:, -1, 8]) > 0.0
    assert names["reach"].converged.all()
    assert names["steered"].tau.shape == (3, 501, 13) and not names["steered"].tau[:, :20].any() and names["steered"].tau[:, 30:].any()
    assert names["A"].shape == (12, 12) and names["B"].shape == (12, 6) and len(names["motion"]) == 1001
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"scatter.h5", "campaign", "flight.png", "flight.html"}
    assert names["f"](names["np"].ones((1000, 3)), names["np"].eye(3)[:2]).shape == (1000, 2)


def test_pictures_are_there_and_small():
    from PIL import Image

    pictures = [ROOT / name for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())]
    assert {p.parent for p in pictures} == {ROOT / "assets/gallery"} and {*pictures} == {*(ROOT / "assets/gallery").iterdir()}
    for picture in pictures:
        with Image.open(picture) as image:
            assert image.width <= 960 and picture.stat().st_size < (600_000 if image.format == "GIF" else 150_000)


def test_gate_runs_these_commands():
    gate = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in gate and os.access(ROOT / ".ci" / "run", os.X_OK)
