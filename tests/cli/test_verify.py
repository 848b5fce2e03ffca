"""``engine verify``: what recordings are worth, in words and as an exit code."""

import re
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.recording import Recorder
from tests.cli.commands import run
from tests.recording.damage import seal


def recorded(name: str, duration: float = 0.5, **options) -> Path:
    simulator = engine.Simulator(engine.load_urdf("robot.urdf"), **options)
    return simulator.run([0.3, -0.5], [2.0, 1.0], duration, out=name)


def test_a_whole_recording(here, capsys):
    recorded("run.h5")
    assert run("verify", "run.h5") == 0
    assert capsys.readouterr() == ("run.h5: whole: 501 records, to t = 0.5 s, every byte as it was recorded\n", "")
    with Recorder.create("none.h5", {"t": ()}, (), {}, {}):
        pass
    assert run("verify", "none.h5", "run.h5") == 0
    assert capsys.readouterr().out.startswith("none.h5: whole: 0 records, every byte as it was recorded\nrun.h5: whole: ")


def test_an_interrupted_one(here, capsys):
    recorded("run.h5")
    recorder = Recorder.resume("run.h5")
    assert run("verify", "run.h5") == 1
    assert "run.h5: being written, and whole until now: 501 records" in capsys.readouterr().out
    recorder.close(complete=False)
    assert run("verify", "run.h5") == 1
    out, err = capsys.readouterr()
    assert out == ("run.h5: interrupted, and whole until then: 501 records, to t = 0.5 s, every byte as it was recorded; "
                   "engine resume run.h5 goes on\n")  # fmt: skip
    assert err == "engine: run.h5 is not whole; expected complete recordings, every byte as it was recorded\n"
    assert run("resume", "run.h5") == 0 and run("verify", "run.h5") == 0


def test_one_that_diverged(here, capsys):
    with pytest.raises(engine.SimulationError):
        recorded("run.h5", controller=lambda t, q, v: ops.where(t > 0.1, np.nan, 0.0) * v)
    assert run("verify", "run.h5") == 1
    assert re.search(r"run.h5: not complete, as it failed \(.*NaN or infinity.*\); whole until then: ", capsys.readouterr().out)


def test_damaged_ones(here, capsys):
    """Each is said where, and the others are looked at too; so is a file whose bytes are as they were written, and mean nothing."""
    data = recorded("run.h5", 5.0).read_bytes()
    Path("a.h5").write_bytes(data[:300_000] + b"?" + data[300_001:])
    Path("b.h5").write_bytes(data[:2000] + b"?" + data[2001:])
    Path("c.h5").write_bytes(data.replace(b'"kind": "revolute"', b'"kind": "revolved"'))
    seal(Path("c.h5"))
    assert run("verify", "a.h5", "b.h5", "run.h5", "none.h5", "robot.urdf", "c.h5") == 1
    out, err = capsys.readouterr()
    a, b, whole, none, robot, c = out.splitlines()
    assert a.startswith("a.h5: damaged in records ") and " of column '" in a and "bytes 299520 … 303615" in a
    assert b == "b.h5: 'b.h5' is damaged in bytes 512 … 4607; expected the file as it was recorded"
    assert whole.startswith("run.h5: whole: 5001 records") and none.endswith("there is no file 'none.h5'; expected a recording")
    assert "'robot.urdf' is not an HDF5 file" in robot and c.startswith("c.h5: the model in 'c.h5' ")
    assert err == "engine: 5 of 6 are not whole; expected complete recordings, every byte as it was recorded\n"


def test_a_run_with_functions_of_its_own_goes_on_in_its_program(here, capsys):
    simulator = engine.Simulator(engine.load_urdf("robot.urdf"), forces=[lambda t, q, v: -0.1 * v])
    with pytest.raises(KeyboardInterrupt), engine.recording.Recorder.resume(simulator.run([0.3, 0], [0, 0], 0.1, out="run.h5")):
        raise KeyboardInterrupt
    for command in ("info", "verify"):
        run(command, "run.h5")
        out = capsys.readouterr().out
        assert "interrupted" in out and "Simulator.resume in the program that began it goes on" in out and "engine resume" not in out
    simulator.resume("run.h5")
    assert run("resume", "run.h5") == 0
    assert capsys.readouterr().out == "run.h5 is complete, 0 … 0.1 s; Simulator.resume in the program that began it makes it longer\n"


def test_the_same_damage_is_said_alike_and_is_not_called_complete(here, capsys):
    engine.Simulator(engine.load_urdf("robot.urdf")).run([0.3, 0], [0, 0], 20.0, out="run.h5")
    data = bytearray(Path("run.h5").read_bytes())
    data[len(data) // 2] ^= 1
    Path("run.h5").write_bytes(data)
    assert run("verify", "run.h5") == 1
    where = re.search(r"records \d+ … \d+ of column '\S+'", capsys.readouterr().out)[0]
    with pytest.raises(engine.StorageError, match=where):
        engine.load_trajectory("run.h5")
    assert run("resume", "run.h5") == 1 and f"'run.h5' is complete, but damaged in {where}" in capsys.readouterr().err
    assert run("info", "run.h5") == 0 and "(engine verify compares every byte)" in capsys.readouterr().out
