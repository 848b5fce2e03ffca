"""``engine campaign``: what the library does, from what a file says."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import engine
from tests.campaign.cases import hashes, same
from tests.cli.commands import SCATTER, run, said, shell

OWN = "def turned(trajectory):\n    return trajectory.q[-1, 7] - trajectory.q[0, 7]\n"


@pytest.fixture
def file(here):
    Path("own.py").write_text(OWN)
    Path("scatter.toml").write_text(SCATTER)
    return here / "scatter.toml"


def test_campaign_is_what_the_library_does(file, capsys):
    assert run("campaign", "scatter.toml") == 0
    out, err = capsys.readouterr()
    assert out.startswith("scatter: 40 of 40 runs of 'arm', 0 failed\n") and "  up          " in out and " … " in out and not err
    model = engine.load_urdf("robot.urdf", floating_base=True)
    simulator = engine.Simulator(model, 0.02, gravity=(0, 0, 0), parameters={"mass.fore": 1.0})
    q0 = model.neutral()
    q0[model.q_slice("elbow")] = 0.3
    scatter = {"mass.fore": stats.norm(1.0, 0.1), "v0.elbow": stats.uniform(-0.5, 1.0), "attitude.floating_base": "uniform",
               "v0.floating_base.w": stats.multivariate_normal([0, 0, 0], 0.01 * np.eye(3))}  # fmt: skip
    metrics = {"swing": "max |v.elbow|", "up": "final q.elbow > 0.3", "turned": lambda trajectory: trajectory.q[-1, 7] - trajectory.q[0, 7]}
    runs = engine.Campaign(simulator, q0, np.zeros(model.nv), 1.0, 40, 7, scatter, metrics=metrics).run("here")
    assert same(engine.load_campaign("scatter"), runs)


def test_workers_and_going_on(file, capsys):
    Path("scatter.toml").write_text("chunk = 10\n" + SCATTER)
    assert run("campaign", "scatter.toml", "--out", "a") == 0
    done = shell("campaign", "scatter.toml", "--out", "b", "--workers", 2, cwd=file.parent)
    assert done.returncode == 0 and not done.stderr and hashes(file.parent / "a") == hashes(file.parent / "b")
    before = hashes(file.parent / "a")
    Path("a/shard-000002.h5").unlink()
    assert run("campaign", "scatter.toml", "--out", "a") == 0 and hashes(file.parent / "a") == before
    Path("scatter.toml").write_text("chunk = 10\n" + SCATTER.replace("seed = 7", "seed = 8"))
    assert run("campaign", "scatter.toml", "--out", "a") == 1
    assert "is of another campaign: seed is 8, and was 7; expected" in capsys.readouterr().err


def test_a_grid_and_stop(file, capsys):
    grid = SCATTER.split("[scatter]")[0].replace("runs = 40", 'design = "grid"')
    grid += '[scatter]\n"mass.fore" = [1, 2]\n"v0.elbow" = [0, 1, 2]\n'
    Path("scatter.toml").write_text(grid)
    assert run("campaign", "scatter.toml") == 0 and "6 of 6 runs" in capsys.readouterr().out
    assert np.array_equal(engine.load_campaign("scatter")("v0.elbow"), [0, 1, 2, 0, 1, 2])
    Path("scatter.toml").write_text("chunk = 5\n" + SCATTER + "[stop]\nup = 0.6\n")
    assert run("campaign", "scatter.toml", "--out", "b") == 0
    out = capsys.readouterr().out
    assert "of 40 runs" in out and "40 of 40 runs" not in out


@pytest.mark.parametrize("old, new, text", [
    ("runs = 40", "rums = 40", "says 'rums' (did you mean 'runs'?)"),
    ("runs = 40", 'runs = 40\nout = "there"', "which the command line says; expected engine campaign scatter.toml --out 'there'"),
    ("runs = 40", "runs = 40\nworkers = 2", "says 'workers', which the command line says; expected engine campaign"),
    ("runs = 40", 'runs = "40"', "runs is '40'; expected a whole number"),
    ("runs = 40", "runs = true", "runs is True; expected a whole number"),
    ("runs = 40", "runs = ", "is no TOML"),
    ("duration = 1.0", "", "does not say 'duration'; expected a number"),
    ("elbow = 0.3", "elbo = 0.3", "q0 names 'elbo' (did you mean 'elbow'?)"),
    ("elbow = 0.3", "elbow = '0.3'", "q0.elbow is '0.3'; expected a number"),
    ("norm = [", "nrom = [", "names the distribution 'nrom' (did you mean 'norm'?)"),
    ("norm = [1.0, 0.1]", "norm = [1.0, 0.1, 3.0]", "norm does not take [1.0, 0.1, 3.0]"),
    ("{norm = [1.0, 0.1]}", "[1.0, 0.1]", "is [1.0, 0.1]; expected a distribution of scipy.stats"),
    ("mass.fore", "mass.four", "four"),
    ("mass.fore", "gain", "scatter names 'gain'; expected mass.LINK"),
    ("own:turned", "own:turnt", "is 'own:turnt'"),
    ("own:turned", "owns:turned", "is 'owns:turned' (No module named 'owns')"),
    ("max |v", "mux |v", "(did you mean 'max'?)"),
    ("robot.urdf", "none.urdf", "none.urdf"),
])  # fmt: skip
def test_what_is_wrong_with_a_file(file, capsys, old, new, text):
    Path("scatter.toml").write_text(SCATTER.replace(old, new))
    assert run("campaign", "scatter.toml") == 1
    err = capsys.readouterr().err
    assert err.startswith("engine: ") and text in err and err.count("\n") == 1


def test_files_that_are_none(here, capsys):
    assert run("campaign", "none.toml") == 1 and "no such file" in capsys.readouterr().err
    assert run("campaign", ".") == 1 and "is" in capsys.readouterr().err
    assert run("campaign", "robot.urdf", "--workers", 0) == 2


def test_help_has_an_example(capsys):
    assert run("campaign", "--help") == 0
    out = said(capsys)[0]
    assert "engine campaign scatter.toml --out out/scatter --workers 2" in out and '[scatter] "mass.hand" = {norm = [2.0, 0.1]}' in out
