"""``engine export``: tables, pages, glTF."""

import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_trajectory, load_urdf
from tests.cli.commands import FLYER, run, swung


@pytest.mark.parametrize("piece", [7, 17, 10_000])
def test_export(here, piece, monkeypatch, capsys):
    monkeypatch.setattr("engine.cli.export.PIECE", piece)
    assert run("simulate", FLYER, "--floating", "--duration", 0.05, "--out", "run.h5", "--start", "random") == 0
    trajectory = load_trajectory("run.h5")
    assert run("export", "run.h5", "run.csv") == 0 and capsys.readouterr().out.endswith("run.csv: 51 rows of 83 columns\n")
    assert Path("run.csv").read_bytes() == trajectory.to_csv("own.csv").read_bytes()
    assert run("export", "run.h5", "run.csv", "--every", 3, "--overwrite") == 0
    assert Path("run.csv").read_bytes() == trajectory[::3].to_csv("own.csv").read_bytes()


def test_rollouts(here, capsys):
    model = load_urdf("robot.urdf")
    v = np.random.default_rng(0).standard_normal((2, 3, 2))
    batch = engine.Simulator(model).run(np.zeros(2), v, 0.02)
    engine.Simulator(model).run(np.zeros(2), v, 0.02, out="batch.h5")
    assert run("export", "batch.h5", "a.csv", "--rollout", 4) == 0
    assert Path("a.csv").read_bytes() == batch.rollout((1, 1)).to_csv("own.csv").read_bytes()
    assert run("torques", "robot.urdf", "batch.h5", "--rollout", 4) == 0
    assert run("plot", "batch.h5", "--rollout", 5) == 0 and Path("batch.png").exists()
    capsys.readouterr()
    for more, text in (([], "'batch.h5' holds 6 rollouts; expected --rollout K, from 0 to 5"),
                       (["--rollout", 6], "--rollout 6: 'batch.h5' holds 6 rollouts; expected one from 0 to 5")):  # fmt: skip
        assert run("export", "batch.h5", "b.csv", *more) == 1
        assert text in capsys.readouterr().err and not Path("b.csv").exists()


@pytest.mark.parametrize("piece", [5, 12, 10_000])
def test_a_rollout_that_stopped_ends_there(here, piece, monkeypatch):
    monkeypatch.setattr("engine.cli.export.PIECE", piece)
    simulator = engine.Simulator(load_urdf("robot.urdf"), events=[lambda t, q, v: t - 0.0105])
    simulator.run(np.zeros((2, 2)), np.ones(2), 0.1, out="batch.h5")
    assert run("export", "batch.h5", "a.csv", "--rollout", 1) == 0
    assert Path("a.csv").read_bytes() == load_trajectory("batch.h5").rollout(1).to_csv("own.csv").read_bytes()


def test_export_what_is_seen(here, capsys):
    trajectory = swung()
    assert run("export", "run.h5", "run.html") == run("export", "run.h5", "run.glb", "--fps", 10) == 0
    assert run("export", "robot.urdf", "arm.glb") == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["run.html", "run.glb", "arm.glb"]
    assert Path("run.html").read_bytes() == engine.export(trajectory, "own.html").read_bytes()
    assert Path("run.glb").read_bytes() == engine.export(trajectory, "own.glb", 10).read_bytes()
    assert Path("arm.glb").read_bytes() == engine.export(load_urdf("robot.urdf"), "own.glb").read_bytes()


def test_export_for_rerun(here, monkeypatch, capsys):
    swung()
    monkeypatch.setitem(sys.modules, "rerun", None)
    assert run("export", "run.h5", "run.rrd") == 1
    said = "needs rerun, which is not installed; expected pip install \".[rerun]\" in the engine's checkout\n"
    assert capsys.readouterr().err.endswith(said)
    assert not Path("run.rrd").exists()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    pytest.importorskip("rerun", exc_type=ImportError)
    assert run("export", "run.h5", "run.rrd") == 0 and Path("run.rrd").read_bytes().startswith(b"RRF")
