"""Exit codes, and that nothing ends in a traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_urdf
from engine.cli.ending import interruptible
from engine.interrupts import held
from engine.viewer.draw.opengl import settle
from tests.cli.commands import run, said


def test_a_closed_pipe_is_quiet(here):
    run("simulate", "robot.urdf", "--duration", 1, "--out", "run.h5")
    for arguments in (["--help"], ["export", "run.h5", "/dev/stdout"]):
        command = [sys.executable, "-m", "engine", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b"", arguments
            assert process.wait() in (0, 1) if arguments == ["--help"] else process.wait() == 0


WRONG = [
    ("fly", "No such command 'fly'"),
    ("simulate robot.urdf --duration 0 --out x.h5", "'--duration': 0; expected seconds greater than zero"),
    ("simulate robot.urdf --duration -1 --out x.h5", "'--duration': -1; expected seconds greater than zero"),
    ("simulate robot.urdf --duration nan --out x.h5", "'--duration': nan; expected seconds greater than zero"),
    ("simulate robot.urdf --duration inf --out x.h5", "'--duration': inf; expected seconds greater than zero"),
    ("simulate robot.urdf --duration long --out x.h5", "Invalid value for '--duration'"),
    ("simulate robot.urdf --duration 1 --out x.h5 --dt 0", "'--dt': 0; expected seconds greater than zero"),
    ("simulate robot.urdf --out x.h5", "Missing option '--duration'"),
    ("simulate robot.urdf --duration 1", "Missing option '--out'"),
    ("simulate robot.urdf --duration 1 --out x.h5 --record-every 0", "'--record-every'"),
    ("simulate robot.urdf --duration 1 --out x.h5 --integrator cg5", "no integrator 'cg5' (did you mean 'cg4'?)"),
    ("simulate robot.urdf --duration 1 --out x.h5 --gravity 0 0", "'--gravity' requires 3 arguments"),
    ("simulate robot.urdf --duration 1 --out x.h5 --gravity 0 0 nan", "expected three finite numbers"),
    ("simulate robot.urdf --duration 1 --out x.h5 --gravity 0 0 1 --zero-gravity", "--gravity and --zero-gravity are both given"),
    ("simulate robot.urdf --duration 1 --out x.h5 --seed 3", "--seed is given but nothing is random"),
    ("simulate robot.urdf --duration 1 --out x.h5 --start randm", "'random' or 'neutral' (did you mean 'random'?)"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbo=1", "'arm' has no velocity 'elbo' (did you mean 'elbow'?)"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity randm", "NAME=VALUE (did you mean 'random'?)"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbow=fast", "'fast' is no number"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity zero --velocity elbow=1", "expected zero, random, or NAME=VALUE"),
    ("simulate robot.urdf --duration 1 --out x.h5 --floatin", "--floating"),
    ("resume run.h5 --duration 0", "'--duration': 0; expected seconds greater than zero"),
    ("torques robot.urdf motion.csv --smooth 6", "'--smooth': 6; expected an odd number of rows from 5"),
    ("torques robot.urdf robot.urdf --rollout 0", "'robot.urdf' is no recording; expected no --rollout"),
    ("plot run.h5 --rollout -1", "'--rollout'"),
    ("view", "Missing argument 'FILE'"),
    ("view robot.urdf --environment spce", "there is no 'spce' (did you mean 'space'?)"),
    ("view robot.urdf --rollout 1", "'robot.urdf' is no recording; expected no --rollout"),
    ("view run.h5 --floating", "'run.h5' is a recording, and holds its robot; expected no --floating"),
    ("render robot.urdf", "Missing argument 'OUT'"),
    ("render robot.urdf x.png --size 640", "'640'; expected WIDTHxHEIGHT in pixels, such as 1280x720"),
    ("render robot.urdf x.png --size 0x480", "'0x480'; expected WIDTHxHEIGHT"),
    ("render robot.urdf x.png --samples 8", "'--samples'"),
    ("render robot.urdf x.png --view font", "there is no 'font' (did you mean 'front'?)"),
    ("render robot.urdf x.mp4 --fps 0", "'--fps': 0; expected a number greater than zero"),
    ("render robot.urdf x.mp4 --speed -1", "'--speed': -1; expected a number greater than zero"),
    ("render run.h5 x.mp4 --time 1", "--time is for a picture, and 'x.mp4' is a film"),
    ("export run.h5 x.html --fps nan", "'--fps': nan; expected a number greater than zero"),
    ("export run.h5", "Missing argument"),
    ("export run.h5 x.html --every 2", "--every is for a CSV file, and 'x.html' is none"),
    ("export run.h5 x.csv --fps 60", "--fps is for what is looked at, and 'x.csv' is a CSV file"),
    ("export run.h5 x.csv --package-dir .", "--package-dir is for what is looked at"),
    ("render run.h5 x.png --speed 2", "--speed is for a film, and 'x.png' is a picture"),
    ("info run.h5 --meshes", "--meshes is for a robot's file, and 'run.h5' is a recording"),
    ("info", "Missing argument 'FILE'"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "text"), WRONG)
def test_wrong_command_lines_end_in_two(here, command, text, capsys):
    assert run(*command.split()) == 2
    out, err = said(capsys)
    assert text in err and out == "" and not Path("x.h5").exists()


@pytest.fixture
def broken(here, monkeypatch) -> Path:
    """Files that are not what they should be, and no display."""
    import pyglet

    settle()                                                                   # so that it is put back to what holds here
    monkeypatch.setattr(pyglet.options, "headless", True)
    Path("text.h5").write_text("no HDF5")
    Path("binary.csv").write_bytes(bytes(range(256)) * 20)
    Path("binary.urdf").write_bytes(bytes(range(256)) * 20)
    Path("folder").mkdir()
    Path("robot.png").write_bytes(b"a picture")
    Path("bare.urdf").write_text('<robot name="bare"><link name="base"/></robot>')
    lost = '<visual><geometry><mesh filename="lost.stl"/></geometry></visual>'
    Path("lost.urdf").write_text(f'<robot name="lost"><link name="base">{lost}</link></robot>')
    q = np.array([[0.0, 0.0], [np.nan, 0.0]])
    engine.Trajectory(load_urdf("robot.urdf"), (0, 0, -9.81), np.array([0.0, 1.0]), q, 0 * q, 0 * q, 0 * q).save("nan.h5")
    run("simulate", "robot.urdf", "--duration", 0.01, "--out", "run.h5")
    Path("run.csv").write_bytes(Path("run.h5").read_bytes())
    Path("cut.h5").write_bytes(Path("run.h5").read_bytes()[:3000])
    import h5py

    with h5py.File("other.h5", "w") as file:
        file["x"] = 1.0
    return here


FAULTS = [
    ("simulate none.urdf --duration 1 --out x.h5", "none.urdf: there is no such file"),
    ("simulate binary.urdf --duration 1 --out x.h5", "binary.urdf"),
    ("simulate robot.urdf --duration 1 --out run.h5", "'run.h5' exists; expected a new path, or --overwrite"),
    ("simulate robot.urdf --duration 1 --out folder", "'folder' exists; expected a new path\n"),
    ("simulate robot.urdf --duration 1 --out folder --overwrite", "'folder' exists; expected a new path\n"),
    *[(f"simulate robot.urdf --duration 1 --out {x}", f"'{x}' ends in '.csv'; expected .h5 or .hdf5") for x in ("t.csv", "binary.csv")],
    ("simulate robot.urdf --duration 1 --out binary.csv --overwrite", "'binary.csv' ends in '.csv'; expected .h5 or .hdf5"),
    ("simulate robot.urdf --duration 1 --out x", "'x' has no ending; expected .h5 or .hdf5"),
    ("simulate robot.urdf --duration 1 --out /proc/x.h5", "'/proc/x.h5' cannot be created"),
    ("simulate robot.urdf --duration 1 --out x.h5 --integrator dqvi", "integrator 'dqvi' is for a single free body"),
    ("simulate robot.urdf --duration 1 --out x.h5 --start binary.csv", "'binary.csv' is no text"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbow=nan", "v0[1] (joint 'elbow') is nan"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbow=1e300", "no longer finite"),
    ("torques robot.urdf none.csv", "'none.csv': there is no such file"),
    ("torques robot.urdf folder", "'folder' is a folder"),
    ("torques robot.urdf binary.csv", "'binary.csv' is no text"),
    ("torques robot.urdf run.h5 --floating", "has no column 'q.floating_base.qw' (a base that does not move has none"),
    ("torques robot.urdf run.h5 --out binary.csv", "'binary.csv' exists; expected a new path, or --overwrite"),
    ("torques robot.urdf run.h5 --out run.h5 --overwrite", "'run.h5' ends in '.h5'; expected .csv"),
    ("torques robot.urdf run.h5 --rollout 0 --out folder", "'folder' is a folder"),
    ("torques robot.urdf run.h5 --rollout 1", "'run.h5' holds a single one"),
    ("plot run.h5 --out picture", "'picture' has no ending"),
    ("plot run.h5 --out picture.pgn", "'picture.pgn' cannot be drawn"),
    ("plot run.h5 --out robot.urdf", "'robot.urdf' exists"),
    ("plot run.h5 --out /proc/x.png", "'/proc/x.png' cannot be written"),
    ("export run.h5 binary.csv", "'binary.csv' exists"),
    ("export run.h5 run.foo", "'run.foo' ends in '.foo'; expected .csv, .glb, .html or .rrd"),
    ("export run.h5 run", "'run' has no ending; expected .csv, .glb, .html or .rrd"),
    ("export run.csv run.csv --overwrite", "'run.csv' is the file to read"),
    ("view robot.urdf", "there is no display"),
    ("view robot.urdf --follow upr", "no link 'upr' in 'arm' (did you mean 'upper'?)"),
    ("view lost.urdf", "mesh 'lost.stl' is not there"),
    ("render none.urdf x.png", "none.urdf: there is no such file"),
    ("render bare.urdf x.png", "the links of 'bare' have no visual shapes; expected some to show"),
    ("render lost.urdf x.png", "mesh 'lost.stl' is not there"),
    ("render robot.urdf x.avi", "'x.avi' ends in '.avi'; expected .png, .jpg, .jpeg, .webp, .mp4 or .gif"),
    ("render robot.urdf robot.png", "'robot.png' exists; expected a new path, or --overwrite"),
    ("render robot.urdf folder", "'folder' is a folder"),
    ("render robot.urdf /proc/x.mp4", "'/proc/x.mp4' cannot be written"),
    ("render run.h5 x.gif --fps 90", "at most 50 in a .gif"),
    ("render run.h5 x.mp4 --follow fort", "no link 'fort' in 'arm' (did you mean 'fore'?)"),
    ("render run.h5 x.png --time 7", "--time 7: 'run.h5' lasts from 0 to 0.01 s; expected a time within"),
    ("render run.h5 x.png --rollout 1", "'run.h5' holds a single one"),
    ("render nan.h5 x.mp4", "the trajectory of 'arm' is not finite from t = 1 s"),
    ("export nan.h5 x.html", "the trajectory of 'arm' is not finite from t = 1 s"),
    ("export bare.urdf x.glb", "the links of 'bare' have no visual shapes"),
    ("export run.h5 /proc/x.html", "'/proc/x.html' cannot be written"),
    ("export run.h5 run.h5.html --rollout 1", "'run.h5' holds a single one"),
    *[(f"{c} {f}{' x.csv' * (c == 'export')}", text) for c in ("info", "resume", "plot", "export") for f, text in (
        ("none.h5", "there is no file 'none.h5'"), ("text.h5", "'text.h5' is not an HDF5 file"),
        ("cut.h5", "'cut.h5' is cut short"), ("other.h5", "'other.h5' is an HDF5 file of something else"))],
    *[(f"{c} folder{' x.csv' * (c == 'export')}", "folder") for c in ("info", "resume", "plot", "export")],
    *[(f"{c} robot.urdf{' x.csv' * (c == 'export')}", "'robot.urdf' is not an HDF5 file") for c in ("resume", "plot", "export")],
]  # fmt: skip


@pytest.mark.parametrize(("command", "text"), FAULTS)
def test_faults_end_in_one_and_one_sentence(broken, command, text, capsys):
    before = {p: p.read_bytes() for p in broken.iterdir() if p.is_file()}
    capsys.readouterr()
    assert run(*command.split()) == 1
    out, err = capsys.readouterr()
    assert err.startswith("engine: ") and err.count("\n") == 1 and text in err and out == ""
    assert {p: p.read_bytes() for p in broken.iterdir() if p.is_file() and p.name != "x.h5"} == before


def test_a_fault_of_the_engine_itself_is_no_traceback(here, monkeypatch, capsys):
    monkeypatch.setattr("engine.cli.info.summary_lines", lambda model: 1 / 0)
    assert run("info", "robot.urdf") == 1
    assert capsys.readouterr().err.startswith("engine: ZeroDivisionError: division by zero; this is a fault of the engine itself")
    monkeypatch.setenv("ENGINE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run("info", "robot.urdf")


def test_ctrl_c_before_anything_is_recorded(here, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    run("simulate", "robot.urdf", "--duration", 0.1, "--out", "a.h5")
    capsys.readouterr()
    monkeypatch.setattr(engine.Simulator, "run", interrupted)
    assert run("simulate", "robot.urdf", "--duration", 0.2, "--out", "a.h5", "--overwrite") == 130
    assert capsys.readouterr() == ("", "engine: interrupted before anything was recorded\n")
    monkeypatch.setattr(engine, "load", interrupted)
    assert run("simulate", "robot.urdf", "--duration", 0.2, "--out", "b.h5") == 130
    assert capsys.readouterr() == ("", "engine: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_waits_for_what_must_not_be_torn():
    """Where Python drops what is raised."""
    for file, name in (("/x/weakref.py", "remove"), ("/x/any.py", "__del__")):
        space = {"os": os, "signal": signal, "time": time}
        source = f"def {name}(done):\n os.kill(os.getpid(), signal.SIGINT)\n time.sleep(0.02)\n done.append(1)\n"
        exec(compile(source, file, "exec"), space)
        done = []
        with pytest.raises(KeyboardInterrupt), interruptible():
            space[name](done)
            time.sleep(10)
        assert done == [1]
    done = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(1)
    assert done == []


CUT = """
import signal, sys
from importlib.abc import MetaPathFinder
from engine.cli.application import app

class Cut(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith(sys.argv[1]):
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Cut())
app(["info", "meshed.urdf", "--meshes"])
"""


def test_ctrl_c_is_not_swallowed_where_an_import_is_tried(here):
    """Trimesh catches whatever comes while it tries what it can do without."""
    Path("a.stl").write_text("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
                             "endsolid a\n")  # fmt: skip
    mesh = '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
    Path("meshed.urdf").write_text(f'<robot name="a"><link name="a">{mesh}</link></robot>')
    found = subprocess.run([sys.executable, "-c", CUT, "scipy.spatial"], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (130, "engine: interrupted\n") and "wrong" not in found.stdout


def test_ctrl_c_that_somebody_caught_comes_in_the_end():
    """As readers of meshes do; and one that is held back comes then, once."""
    for at_once in (True, False):
        passed = []
        with pytest.raises(KeyboardInterrupt), held(at_once):
            try:
                signal.raise_signal(signal.SIGINT)
                passed.append("held")
            except BaseException:
                passed.append("caught")
            passed.append("on")
        assert passed == ["caught" if at_once else "held", "on"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
