"""``engine convert``: recordings and campaigns for other tools."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.stats import norm

import engine
from tests.cli.commands import run, swung


def test_recordings(here, capsys):
    trajectory = swung()
    assert run("convert", "run.h5", "run.mat") == 0
    assert capsys.readouterr().out.startswith(f"run.mat: {len(trajectory)} states, 0 … ")
    assert (loadmat("run.mat")["q"] == trajectory.q).all()
    assert run("convert", "run.h5", "run.mat") == 1
    assert "'run.mat' exists; expected a new path, or --overwrite" in capsys.readouterr().err
    assert run("convert", "run.h5", "run.xyz") == 1
    assert "'run.xyz' ends in '.xyz'; expected .mcap, .rosbag2, .mat, .parquet, .oem or .aem" in capsys.readouterr().err
    assert run("convert", "run.h5", "run.oem") == 1
    assert "expected --link, one of the robot's, and --epoch 2026-11-27T12:00:00" in capsys.readouterr().err
    for name in ("a" * 300 + ".mat", "a\0.mat"):
        assert run("convert", "run.h5", name) == 1
        assert "expected names of at most 255 bytes, without NUL" in capsys.readouterr().err
    pytest.importorskip("mcap")
    assert run("convert", "run.h5", "run.mcap") == 0
    assert Path("run.mcap").read_bytes()[:5] == b"\x89MCAP"


def test_batches_and_campaigns(here, capsys):
    model = engine.load_urdf("robot.urdf")
    v = np.random.default_rng(0).standard_normal((3, 2))
    batch = engine.Simulator(model).run(np.zeros(2), v, 0.02)
    engine.Simulator(model).run(np.zeros(2), v, 0.02, out="batch.h5")
    assert run("convert", "batch.h5", "batch.mat") == run("convert", "batch.h5", "one.mat", "--rollout", 1) == 0
    assert (loadmat("batch.mat")["v"] == batch.v).all()
    assert (loadmat("one.mat")["v"] == batch.v[1]).all()
    assert run("convert", "batch.h5", "batch.mcap") == 1
    assert "'batch.h5' holds 3 rollouts; expected --rollout K, from 0 to 2" in capsys.readouterr().err
    swing = engine.Campaign(engine.Simulator(model), np.zeros(2), np.ones(2), 0.02, runs=5,
                            scatter={"v0.elbow": norm(1.0, 0.1)}, metrics={"end": last},
                            keep={"columns": ["q"], "rate": 100, "runs": 2})  # fmt: skip
    runs = swing.run("swing")
    assert run("convert", "swing", "swing.mat") == 0
    found = loadmat("swing.mat", simplify_cells=True)
    assert (found["end"] == runs("end")).all()
    assert [len(x) for x in found["reason"]] == [0] * 5
    assert (found["kept"]["q"] == runs("q")).all()
    assert found["kept"]["run"].tolist() == [0, 1]
    assert (found["kept"]["t"] == runs.t).all()
    capsys.readouterr()
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("convert", "swing", "swing.parquet") == 0
    assert "'swing.parquet' has a row for each run, and not what was kept over time (q)" in capsys.readouterr().err
    assert parquet.read_table("swing.parquet")["reason"].to_pylist() == [*runs.reason]
    assert run("convert", "swing", "swing.mcap") == 2
    assert "is a folder, of a campaign whose runs make a table; expected .mat or .parquet" in capsys.readouterr().err
    with pytest.raises(engine.CampaignError, match=r"ends in '.csv'; expected .parquet or .mat, of a table of runs"):
        runs.save("swing.csv")


def last(trajectory):
    return trajectory.q[-1, 0]
