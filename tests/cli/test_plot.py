"""``engine plot``."""

import sys
from pathlib import Path

import pytest

from tests.cli.commands import FLYER, run


def test_plot(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--start", "random") == 0
    assert run("plot", "run.h5") == 0
    assert capsys.readouterr().out.endswith("run.png: 101 of 101 records, 0 … 0.1 s\n")
    assert Path("run.png").read_bytes().startswith(b"\x89PNG") and Path("run.png").stat().st_size > 20_000
    assert run("plot", "run.h5", "--out", "new/run.svg") == 0 and "</svg>" in Path("new/run.svg").read_text(encoding="utf-8")
    assert {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "run.png", "new"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.cli.recordings.PLOTTED", 50)
        assert run("plot", "run.h5", "--overwrite") == 0 and "run.png: 34 of 101 records, 0 … 0.099 s\n" in capsys.readouterr().out


def test_without_matplotlib(here, monkeypatch, capsys):
    run("simulate", "robot.urdf", "--duration", 0.01, "--out", "run.h5")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("plot", "run.h5") == 1 and "engine: a plot needs matplotlib, which is not installed" in capsys.readouterr().err
    assert not Path("run.png").exists()
