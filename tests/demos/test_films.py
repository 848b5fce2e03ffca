"""Films of demos do not stand still: what is seen changes from one few seconds to the next."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import engine

DEMOS = Path(__file__).parents[2] / "demos"
#: seconds of film in which something is to be seen, at most; of 255, a second's mean change of a picture of 160 × 90 pixels
STILL, CHANGE = 4, 0.15


@pytest.mark.parametrize("name", ["stack", "servicer", "first_controller"])
def test_a_film_never_stands_still_for_long(name, tmp_path, monkeypatch):
    film = {}
    monkeypatch.setattr(engine, "render", lambda source, path, **look: film.update(look, source=source))
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path), "--video", str(tmp_path / "film.mp4")])
    monkeypatch.syspath_prepend(str(DEMOS))
    runpy.run_path(str(DEMOS / f"{name}.py"), run_name="__main__")
    monkeypatch.undo()
    (tmp_path / "frames").mkdir()
    bare = {name: x for name, x in film.items() if name not in ("source", "bars", "signals", "clock", "samples")}
    engine.render(film["source"], tmp_path / "frames" / "%03d.png", size=(160, 90), fps=1.0, samples=0, **bare)
    frames = np.array([np.asarray(Image.open(path), float) for path in sorted((tmp_path / "frames").iterdir())])
    assert 20 <= len(frames) <= 41
    changed = np.abs(np.diff(frames, axis=0)).mean(axis=(1, 2, 3)) > CHANGE
    times = np.concatenate([[0], np.flatnonzero(changed) + 1, [len(frames) - 1]])
    assert np.diff(times).max() <= STILL, f"still from {times[np.diff(times).argmax()]} s on"
