"""``engine view``: what is shown."""

import signal
import subprocess
import sys
import urllib.request

import numpy as np

import engine
from engine import load_urdf
from engine.viewer import Shown
from tests.cli.commands import run, same, swung


def test_view_is_what_the_library_shows(here, monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append((source, options)))
    trajectory = swung()
    options = "--collision --environment plain --view left --follow fore --show centers --trail fore --hide upper --colors robots"
    options += " --plots left --signal v.elbow --signal q.elbow,q.shoulder"
    assert run("view", "robot.urdf", "--floating") == run("view", "run.h5", *options.split()) == 0
    (model, plain), (motion, chosen) = seen
    assert model.nq == 9 and plain.pop("geometry") == "visual" and plain.pop("shown") == Shown()
    assert plain.pop("plots") == "right" and not any(plain.values())
    shown = Shown(centers=True, trails=("fore",), hidden=("upper",), colors="robots")
    assert chosen == {"view": "left", "environment": "plain", "geometry": "collision", "follow": "fore", "shown": shown,
                      "signals": ["v.elbow", ("q.elbow", "q.shoulder")], "plots": "left"}  # fmt: skip
    assert same(motion, trajectory)


def test_up_axis_is_the_robots_matter(here, monkeypatch, capsys):
    """It goes along with every shape of a URDF file; a recording holds its robot, and a CSV file none."""
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source.link("upper").visuals[0].up_axis))
    assert [run("view", "robot.urdf", *option) for option in ([], ["--up-axis"], ["--no-up-axis"])] == [0, 0, 0]
    assert seen == [None, True, False]
    swung()
    assert run("view", "run.h5", "--no-up-axis") == 2 and "expected no --up-axis" in capsys.readouterr().err
    assert run("export", "run.h5", "run.csv", "--no-up-axis") == 2 and "--up-axis is for what is looked at" in capsys.readouterr().err


def test_view_shows_all_rollouts_or_one(here, monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source))
    engine.Simulator(load_urdf("robot.urdf")).run(np.zeros((3, 2)), np.arange(6.0).reshape(3, 2), 0.02, out="batch.h5")
    assert run("view", "batch.h5") == run("view", "batch.h5", "--rollout", 2) == 0
    assert seen[0].q.shape == (3, 21, 2) and np.array_equal(seen[1].q, seen[0].q[2])


def test_a_long_recording_is_shown_thinned(here, monkeypatch):
    seen = []
    monkeypatch.setattr("engine.cli.recordings.PLOTTED", 100)
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source))
    whole = swung()
    assert run("view", "run.h5") == 0 and same(seen[0], whole[::6])


def test_a_robot_moves_by_itself(here, monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source))
    assert run("view", "robot.urdf", "--live", "--dt", 0.002, "--zero-gravity") == 0
    assert isinstance(seen[0], engine.Simulator) and seen[0].dt == 0.002 and not any(seen[0].gravity)


def test_what_belongs_to_a_simulation_is_refused_without_one(here, capsys):
    swung()
    for arguments, said in ((("robot.urdf", "--dt", 0.1), "--dt is for --live"), (("run.h5", "--live"), "is a recording, which plays"),
                            (("robot.urdf", "--show", "centres"), "there is no centres; expected some of")):  # fmt: skip
        assert run("view", *arguments) == 2
        assert said in " ".join(capsys.readouterr().err.replace("\u2502", " ").split())


def test_view_on_the_web_prints_its_address_and_waits_for_ctrl_c(here, capfd):
    command = [sys.executable, "-m", "engine", "view", "robot.urdf", "--web", "--environment", "plain"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=30) as page:
            assert "<title>arm</title>" in page.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0
    assert run("view", "robot.urdf", "--web", "--view", "left") == 2
    assert "--view is for a window" in capfd.readouterr().err
