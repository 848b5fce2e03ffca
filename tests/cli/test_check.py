"""``engine check``: all that is wrong in a robot's file."""

from pathlib import Path

import engine
from tests.cli.commands import FLYER, ROBOT, run


def test_a_good_robot(capsys):
    assert run("check", FLYER) == 0 and run("check", FLYER, "--floating") == 0
    assert capsys.readouterr() == (2 * f"{FLYER}: nothing wrong found\n", "")


def test_errors_are_all_printed_and_end_in_one(here, capsys):
    Path("robot.urdf").write_text(ROBOT.replace('lower="-2"', 'lower="low"').replace('effort="3"', 'effort="high"'))
    assert run("check", "robot.urdf") == 1
    out, err = capsys.readouterr()
    assert out.startswith("robot.urdf: 2 errors\n") and "<limit> lower is 'low'" in out and "<limit> effort is 'high'" in out
    assert err == "engine: robot.urdf: 2 errors found, listed above\n"


def test_warnings_are_no_errors(here, capsys):
    Path("robot.urdf").write_text(ROBOT.replace('<mass value="2"/>', '<mass value="2000000"/>'))
    assert run("check", "robot.urdf") == 0
    assert "warning  link 'upper' (line 1): mass is 2e+06 kg" in capsys.readouterr().out


def test_meshes_are_read(here, capsys):
    Path("x.stl").write_text("nothing")
    Path("robot.urdf").write_text(ROBOT.replace('<box size="0.4 0.1 0.1"/>', '<mesh filename="x.stl"/>'))
    assert run("check", "robot.urdf") == 0
    assert "mesh 'x.stl'" in capsys.readouterr().out


def test_what_is_no_robot(here, capsys):
    assert run("check", "none.urdf") == 1 and "there is no such file" in capsys.readouterr().out
    engine.Simulator(engine.load_urdf("robot.urdf")).run([0.0, 0.0], [0.0, 0.0], 0.01, out="run.h5")
    assert run("check", "run.h5") == 1
    assert capsys.readouterr().err == "engine: 'run.h5' is a recording; expected a robot's file ('engine verify' checks recordings)\n"
