"""``engine simulate``: what the library does, from where it is told."""

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_trajectory, load_urdf
from tests.cli.commands import FLYER, run, same

RUNS = [
    ("", {}, "neutral"),
    ("--start random --seed 3", {}, "random"),
    ("--start random --seed 3 --velocity zero", {}, "still"),
    ("--velocity elbow=0.5 --velocity shoulder=-1", {}, "named"),
    ("--dt 0.002 --integrator rkmk5 --record-every 5 --start random", {"dt": 0.002, "integrator": "rkmk5"}, "random"),
    ("--gravity 1 0 -2 --start random", {"gravity": (1, 0, -2)}, "random"),
    ("--zero-gravity --ideal-joints --start random", {"gravity": (0, 0, 0), "joint_dynamics": False}, "random"),
]


@pytest.mark.parametrize(("options", "given", "start"), RUNS)
@pytest.mark.parametrize("floating", [False, True])
def test_simulate_is_what_the_library_does(here, options, given, start, floating, capsys):
    words = options.split()
    assert run("simulate", "robot.urdf", *["--floating"] * floating, "--duration", 0.1, "--out", "run.h5", *words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("run.h5: ") and "records of 'arm', 0 … 0.1 s" in out
    assert ("falls freely" in err) == (floating and "--zero-gravity" not in words) and err.count("note") == ("falls freely" in err)
    assert "simulating" not in out                                            # no bar where nobody looks
    model = load_urdf("robot.urdf", floating_base=floating)
    q, v = model.neutral(), np.zeros(model.nv)
    if start in ("random", "still"):
        seed = 3 if "--seed" in words else 0
        q, v = model.random(np.random.default_rng(seed))
    if start == "still":
        v = np.zeros(model.nv)
    if start == "named":
        v[model.v_slice("elbow")], v[model.v_slice("shoulder")] = 0.5, -1.0
    every = 5 if "--record-every" in words else 1
    assert same(load_trajectory("run.h5"), engine.Simulator(model, **given).run(q, v, 0.1, every))


def test_simulate_the_free_flyer(here, capsys):
    assert run("simulate", FLYER, "--floating", "--zero-gravity", "--duration", 0.5, "--out", "run.h5", "--start", "random") == 0
    model = load_urdf(FLYER, floating_base=True)
    found = load_trajectory("run.h5")
    assert same(found, engine.Simulator(model, gravity=(0, 0, 0)).run(*model.random(np.random.default_rng(0)), 0.5))
    assert len(found) == 501 and np.ptp(found.momentum(), axis=0).max() < 1e-8


def test_start_from_a_file(here, capsys):
    Path("start.csv").write_text("elbow,v.shoulder,shoulder,v.elbow\n0.1,0.2,0.3,0.4\n")
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "a.h5", "--start", "start.csv") == 0
    a = load_trajectory("a.h5")
    assert a.q[0].tolist() == [0.3, 0.1] and a.v[0].tolist() == [0.2, 0.4]
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "b.h5", "--start", "a.h5") == 0
    assert run("export", "a.h5", "a.csv") == 0
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "c.h5", "--start", "a.csv") == 0
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "d.h5", "--start", "a.csv", "--velocity", "zero") == 0
    for name in ("b", "c", "d"):
        b = load_trajectory(f"{name}.h5")
        assert np.array_equal(b.q[0], a.q[-1]) and np.array_equal(b.v[0], 0 * a.v[-1] if name == "d" else a.v[-1])
    Path("start.csv").write_text("elbow,sholder\n0.1,0.2\n")
    capsys.readouterr()
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "e.h5", "--start", "start.csv") == 1
    assert "has no column 'shoulder'; its column 'sholder' is nothing that 'arm' has (did you mean 'shoulder'?)" in capsys.readouterr().err


def test_a_start_outside_of_the_limits_is_told(here, capsys):
    Path("start.csv").write_text("shoulder,elbow\n0,2.5\n")
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "a.h5", "--start", "start.csv") == 0
    assert "note: 'arm' starts outside its limits, joint 'elbow' at 2.5 with limits -2 … 2" in capsys.readouterr().err
    assert run("simulate", "robot.urdf", "--duration", 0.01, "--out", "b.h5", "--start", "start.csv", "--ideal-joints") == 0
    assert capsys.readouterr().err == ""


def test_overwrite(here):
    for duration in (0.01, 0.02):
        assert run("simulate", "robot.urdf", "--duration", duration, "--out", "a.h5", "--overwrite") == 0
    assert len(load_trajectory("a.h5")) == 21


def test_a_terminal_sees_a_bar(here):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "engine", "simulate", "robot.urdf", "--duration", "30", "--out", "run.h5"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=env) as process:
        os.close(follower)
        seen = b""
        with contextlib.suppress(OSError):                                    # how a terminal ends
            while part := os.read(leader, 4096):
                seen += part
        assert process.wait() == 0 and process.stderr.read() == b""
    os.close(leader)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert re.search(r"simulating .*30000/30000 steps, [\d,]+/s", text) and "30001 records of 'arm'" in text


def test_a_robot_begins_where_its_file_has_it(here, capsys):
    """With the file's gravity and step, unless others are given."""
    Path("stone.xml").write_text("""<mujoco model="stone"><option gravity="0 0 -1.6" timestep="0.0005"/><worldbody>
        <body pos="0 0 2"><freejoint/><geom size="0.1" contype="0" conaffinity="0"/></body></worldbody></mujoco>""")
    for options, z, dt, g in ((), 2.0, 0.0005, -1.6), (("--start", "neutral", "--dt", 0.01, "--gravity", 0, 0, -3), 0.0, 0.01, -3.0):
        assert run("simulate", "stone.xml", "--duration", 0.1, "--out", "run.h5", "--overwrite", *options) == 0
        motion = load_trajectory("run.h5")
        assert motion.q[0, 6] == z and motion.gravity == (0.0, 0.0, g) and abs(motion.t[1] - dt) < 1e-15
        assert abs(motion.vdot[0, 5] - g) < 1e-15


def test_what_falls_without_a_ground_is_said(here, capsys):
    dog = engine.example("quadruped")
    assert run("simulate", dog, "--floating", "--duration", 0.01, "--out", "run.h5") == 0
    assert capsys.readouterr().err.startswith("note: 'trunk' falls freely, as there are no contacts here; engine.Contacts(")
    for options in (["--floating", "--zero-gravity"], []):
        assert run("simulate", dog, *options, "--duration", 0.01, "--out", "run.h5", "--overwrite") == 0
        assert capsys.readouterr().err == ""
