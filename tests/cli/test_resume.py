"""``engine resume``: what was interrupted or killed, to the same bits."""

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_trajectory, load_urdf
from engine.recording import Recorder, Recording
from engine.simulation import run_file
from tests.cli.commands import FLYER, run, same

LONG = ["simulate", str(FLYER), "--floating", "--zero-gravity", "--start", "random", "--duration", "250", "--record-every", "50",
        "--out", "cut.h5"]  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The trajectory of LONG."""
    path = tmp_path_factory.mktemp("long") / "whole.h5"
    assert run(*LONG[:-1], path) == 0
    return load_trajectory(path)


def started(patch: str = "pass") -> subprocess.Popen:
    """A process that runs LONG; its file is there."""
    code = f"import sys; from engine.recording import Recorder; {patch}; from engine.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen([sys.executable, "-c", code, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    while not Path("cut.h5").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)
    return process


def test_ctrl_c_leaves_a_file_to_go_on_with(here, uninterrupted, capsys):
    process = started()
    delay = random.uniform(0, 0.15)
    time.sleep(delay)
    for _ in range(3):                                                        # somebody impatient
        process.send_signal(signal.SIGINT)
        time.sleep(0.003)
    out, err = process.communicate()
    assert process.returncode == 130, f"after {delay} s: {err}"
    assert out == "" and err.startswith("engine: interrupted at ") and err.count("\n") == 1
    assert err.endswith("is marked incomplete; go on with: engine resume cut.h5\n")
    with Recording.open("cut.h5") as recording:
        assert not recording.complete and f"'cut.h5' holds {len(recording)} record" in err
    assert run("info", "cut.h5") == 0
    assert " of 250 s; interrupted; engine resume cut.h5 goes on\n" in capsys.readouterr().out
    assert run("resume", "cut.h5") == 0, capsys.readouterr().err
    assert same(load_trajectory("cut.h5"), uninterrupted), f"after {delay} s"
    assert run("info", "cut.h5") == 0 and "0 … 250 s; complete\n" in capsys.readouterr().out
    assert {p.name for p in here.iterdir()} == {"robot.urdf", "cut.h5"}


def test_a_kill_leaves_a_file_to_go_on_with(here, uninterrupted, capsys):
    process = started("Recorder.age = 0.0")
    length = 0
    while length < 2:
        with contextlib.suppress(engine.StorageError), Recording.open("cut.h5") as recording:
            length = len(recording)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close(), process.stderr.close()
    with Recording.open("cut.h5") as recording:
        assert not recording.complete and 2 <= len(recording) < len(uninterrupted)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(engine.Simulator, "run")                                # it goes on, and does not begin again
        assert run("resume", "cut.h5") == 0, capsys.readouterr().err
    assert same(load_trajectory("cut.h5"), uninterrupted)


def test_a_run_killed_before_its_first_record_begins_again(here, capsys):
    arguments = ["simulate", "robot.urdf", "--duration", 0.1, "--start", "random", "--record-every", 3, "--ideal-joints", "--out"]
    assert run(*arguments, "whole.h5") == 0

    def interrupted(step, path, begin, *rest):
        begin().close(False)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_file, "write_run", interrupted)
        assert run(*arguments, "cut.h5") == 130
    assert "engine: interrupted at the beginning: 'cut.h5' holds 0 records and is marked incomplete; go on" in capsys.readouterr().err
    assert run("export", "cut.h5", "cut.csv") == 1 and "'cut.h5' holds no records yet" in capsys.readouterr().err
    assert run("resume", "cut.h5") == 0
    assert same(load_trajectory("cut.h5"), load_trajectory("whole.h5"))
    with Recording.open("cut.h5") as recording:
        assert recording.complete and recording.header["start"] == "random, seed 0"


def test_resume_makes_a_run_longer(here, capsys):
    options = ["--start", "random", "--record-every", 5, "--floating", "--integrator", "cf4", "--gravity", 0, 1, -3]
    assert run("simulate", "robot.urdf", "--duration", 0.3, "--out", "whole.h5", *options) == 0
    assert run("simulate", "robot.urdf", "--duration", 0.1, "--out", "a.h5", *options) == 0
    capsys.readouterr()
    assert run("resume", "a.h5") == 0 and capsys.readouterr().out == "a.h5 is complete, 0 … 0.1 s; --duration makes it longer\n"
    assert run("resume", "a.h5", "--duration", 0.3) == 0
    assert capsys.readouterr().out.startswith("a.h5: 61 records of 'arm', 0 … 0.3 s; 200 steps in ")
    assert same(load_trajectory("a.h5"), load_trajectory("whole.h5"))
    assert run("resume", "a.h5", "--duration", 0.3) == 0 and capsys.readouterr().out == "a.h5 is complete, 0 … 0.3 s\n"
    assert run("resume", "a.h5", "--duration", 0.2) == 1
    assert capsys.readouterr().err == "engine: --duration is 0.2 s, and 'a.h5' holds 0.3 s already; expected a --duration from there on\n"
    Recorder.resume("a.h5").close(False)
    assert run("info", "a.h5") == 0 and "0 … 0.3 s of 0.3 s; interrupted" in capsys.readouterr().out
    assert run("resume", "a.h5") == 0 and Recording.open("a.h5").complete
    assert same(load_trajectory("a.h5"), load_trajectory("whole.h5"))


@pytest.mark.parametrize("given", [{}, {"joint_dynamics": False}, {"parameters": {"mass.fore": 2.0}, "integrator": "rkmk4"}])
def test_resume_of_runs_from_python(here, given):
    model = load_urdf("robot.urdf")
    q, v = model.random(np.random.default_rng(1))
    for shape in ((), (3,)):
        simulator = engine.Simulator(model, **given)
        start = np.broadcast_to(q, (*shape, 2)), np.broadcast_to(v, (*shape, 2))
        simulator.run(*start, 0.1, out="a.h5", overwrite=True)
        assert run("resume", "a.h5", "--duration", 0.25) == 0
        assert same(load_trajectory("a.h5"), simulator.run(*start, 0.25))


def test_what_cannot_be_resumed_says_why(here, capsys):
    model = load_urdf("robot.urdf")
    q, v = np.zeros(2), np.zeros(2)

    def fails(text: str, *more) -> None:
        before = Path("a.h5").read_bytes()
        capsys.readouterr()
        assert run("resume", "a.h5", *more) == 1
        assert text in capsys.readouterr().err and Path("a.h5").read_bytes() == before

    engine.Simulator(model, controller=lambda t, q, v: -v).run(q, v, 0.01, out="a.h5")
    fails("'a.h5' was recorded with functions of its own (a controller, forces, actuators or events)", "--duration", 1)
    notes = {"command": "engine simulate", "joint_dynamics": True}
    engine.Simulator(model, controller=lambda t, q, v: -v).run(q, v, 0.01, out="a.h5", overwrite=True, notes=notes)
    fails("'a.h5' was recorded by an engine (", "--duration", 1)
    engine.Simulator(model, compiled=False).run(q, v, 0.01, out="a.h5", overwrite=True)
    fails("compiled=False", "--duration", 1)
    engine.Simulator(model).run(q, v, 0.01).save("a.h5", overwrite=True)
    fails("'a.h5' holds states, but not how to simulate", "--duration", 1)
    with pytest.warns(engine.SimulationWarning, match="'a.h5' will end between two of its records, 0.001 s apart, and cannot be made"):
        engine.Simulator(model).run(q, v, 0.0105, out="a.h5", overwrite=True)
    fails("ended with a step shorter than dt, at t = 0.0105 s", "--duration", 1)
    with pytest.warns(engine.SimulationWarning, match="expected a duration of a multiple of that"):
        engine.Simulator(model).run(q, v, 0.015, 10, out="a.h5", overwrite=True)
    fails("ended between two records of every 10 steps", "--duration", 1)
    with pytest.warns(engine.SimulationWarning, match="too stiff for explicit steps"):
        simulator = engine.Simulator(model, dt=50.0, joint_dynamics="explicit")
    with pytest.raises(engine.SimulationError):                               # damping with a step that is much too long
        simulator.run(q, v + 1, 1e6, out="a.h5", overwrite=True)
    n = len(load_trajectory("a.h5"))
    assert n >= 1 and run("resume", "a.h5") == 1 and run("info", "a.h5") == 0
    out, err = capsys.readouterr()
    assert "diverge" in err and "complete\n" not in out and len(load_trajectory("a.h5")) == n
