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
    assert len(blocks(page)) == 3
    said = "".join(run(page, block, names) for block in blocks(page))
    assert re.fullmatch(r"momentum drifted by \de-1[1-6] N·m·s and \de-1[1-6] N·s\n", said)
    assert names["reach"].converged.all()
    assert {path.name for path in tmp_path.iterdir()} == {"flight.png", "flight.html"}
    assert names["f"](np.ones((1000, 3)), np.eye(3)[:2]).shape == (1000, 2)


def test_pages_it_links_to_are_there():
    links = re.findall(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 8 and all((ROOT / link).is_file() for link in links)


def test_pictures_are_there_and_small():
    from PIL import Image

    pictures = [ROOT / name for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())]
    assert {p.parent for p in pictures} == {ROOT / "assets/gallery"} and {*pictures} == {*(ROOT / "assets/gallery").iterdir()}
    for picture in pictures:
        with Image.open(picture) as image:
            assert image.width <= 960 and picture.stat().st_size < (400_000 if image.format == "GIF" else 150_000)
    assert sum(picture.stat().st_size for picture in pictures) < 2_000_000


def test_gate_runs_these_commands():
    gate = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in gate and os.access(ROOT / ".ci" / "run", os.X_OK)
