"""The command line: what its commands print and write, their exit codes, and that nothing ends in a traceback."""

import contextlib
import csv
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import cli, load_trajectory, load_urdf
from engine.cli import main
from engine.recording import Recorder, Recording

TENSOR = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
ARM = f"""<robot name="arm"><link name="base"><inertial><mass value="2"/>{TENSOR}</inertial></link>
<link name="rod"><inertial><mass value="1"/>{TENSOR}</inertial></link><link name="eye"/><link name="tip"/>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="weld" type="fixed"><parent link="rod"/><child link="tip"/></joint>
<joint name="mount" type="fixed"><parent link="base"/><child link="eye"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path) -> Path:
    (tmp_path / "arm.urdf").write_text(ARM)
    return tmp_path / "arm.urdf"


def test_info(arm, capsys):
    assert main(["info", str(arm)]) == 0
    out, err = capsys.readouterr()
    assert out == f"""\
arm
  links   4
  joints  3: 2 fixed, 1 revolute
  nq, nv  1, 1
  mass    3 kg

base
├─ rod  (hinge, revolute)
│  └─ tip  (weld, fixed)
└─ eye  (mount, fixed)

{arm}: nothing wrong found
"""
    assert err == ""


def test_floating(arm, capsys):
    assert main(["info", str(arm), "--floating"]) == 0
    out = capsys.readouterr().out
    assert "nq, nv  8, 7\n" in out and "4: 2 fixed, 1 floating, 1 revolute" in out and "├─ rod  (hinge, revolute)" in out


def test_the_tree_of_a_large_robot_is_printed_on_demand(tmp_path, capsys):
    file = tmp_path / "many.urdf"
    leaf = '<link name="l{0}"/><joint name="j{0}" type="fixed"><parent link="root"/><child link="l{0}"/></joint>'
    file.write_text(f'<robot name="many"><link name="root"/>{"".join(leaf.format(i) for i in range(60))}</robot>')
    assert main(["info", str(file)]) == 0 and "└─" not in capsys.readouterr().out
    assert main(["info", str(file), "--tree"]) == 0 and "└─ l59  (j59, fixed)" in capsys.readouterr().out


def test_a_file_with_errors_ends_in_one(arm, capsys):
    arm.write_text(ARM.replace('lower="-1"', 'lower="2"'))
    assert main(["info", str(arm)]) == 1
    out, err = capsys.readouterr()
    assert "error    joint 'hinge' (line 3): the lower limit 2 rad exceeds the upper one, 1 rad" in out
    assert err == f"engine: {arm}: 1 error found, listed above\n"


def test_a_file_that_does_not_load_is_one_sentence(tmp_path, capsys):
    assert main(["info", str(tmp_path / "none.urdf")]) == 1
    assert capsys.readouterr() == ("", f"engine: {tmp_path}/none.urdf: there is no such file; expected a URDF file\n")


def test_a_file_that_does_not_load_shows_all_that_is_wrong(arm, capsys):
    arm.write_text(ARM.replace('value="2"', 'value="two"').replace('type="revolute"', 'type="hinge"'))
    assert main(["info", str(arm)]) == 1
    out, err = capsys.readouterr()
    assert "arm.urdf: 2 errors" in out and err.count("\n") == 1 and "<mass> value is 'two'" in err


def test_meshes_and_package_dirs(arm, capsys):
    (arm.parent / "out").mkdir()
    (arm.parent / "out/x.stl").write_text("nothing")
    arm.write_text(ARM.replace('<link name="tip"/>', '<link name="tip"><visual><geometry><mesh filename="package://out/x.stl"/></geometry></visual></link>'))
    assert main(["info", str(arm)]) == 0 and "names the package 'out'" in capsys.readouterr().out
    assert main(["info", str(arm), "--package-dir", str(arm.parent)]) == 0 and "nothing wrong found" in capsys.readouterr().out
    assert main(["info", str(arm), "--package-dir", str(arm.parent), "--meshes"]) == 0 and "holds no triangles" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["info", "--help"]])
def test_help_teaches(arguments, capsys):
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 0 and "engine info robot.urdf --floating" in capsys.readouterr().out


def test_a_wrong_command_ends_in_two(capsys):
    with pytest.raises(SystemExit) as end:
        main(["simulat"])
    err = capsys.readouterr().err
    assert end.value.code == 2 and "No such command 'simulat'" in err and "Did you mean 'simulate'" in err


def test_as_a_module(arm):
    command = [sys.executable, "-m", "engine", "info"]
    done = subprocess.run([*command, arm], capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0 and done.stdout.startswith("arm\n") and done.stderr == ""
    plain = subprocess.run([*command, arm], capture_output=True, env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert plain.returncode == 0 and b"??? rod  (hinge, revolute)" in plain.stdout.replace(b"?? ", b"??? ")
    broken = subprocess.run([*command, arm.parent], capture_output=True, encoding="utf-8")
    assert broken.returncode == 1 and "this is a folder" in broken.stderr and "Traceback" not in broken.stderr


def test_a_reader_that_leaves_early_is_no_error(arm):
    for unbuffered in ("", "1"):
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        command = [sys.executable, "-m", "engine", "info", arm]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
            process.stdout.close()
            assert process.stderr.read() == b"" and process.wait() == 0


def test_starting_is_light():
    heavy = "{'llvmlite', 'scipy', 'lxml', 'trimesh', 'h5py', 'matplotlib', 'pandas'}"
    code = f"import sys, engine.cli; assert not {{'rich', 'typer', *{heavy}}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = f"import sys, engine.cli; assert engine.cli.main(['--help']) == 0 and not {heavy} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# ---------------------------------------------------------------- all commands

FLYER = Path(__file__).parents[1] / "assets/free_flyer/free_flyer.urdf"
SHARE = '<inertial><origin xyz="0.2 0 0.1"/><mass value="{}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial>'
SHAPE = '<visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.1 0.1"/></geometry></visual>'
SHAPE += SHAPE.replace("visual", "collision").replace("0.1 0.1", "0.12 0.12")
ROBOT = f"""<robot name="arm"><link name="base">{SHARE.format(5)}</link><link name="upper">{SHARE.format(2)}{SHAPE}</link>
<link name="fore">{SHARE.format(1)}{SHAPE}</link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><dynamics damping="0.1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="5" effort="3"/></joint></robot>"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a robot."""
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(ROBOT)
    return tmp_path


def run(*arguments) -> int:
    """The exit code of a command, in this process."""
    try:
        return main([str(a) for a in arguments])
    except SystemExit as end:
        return end.code


def shell(*arguments, **options) -> subprocess.CompletedProcess:
    """A command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "engine", *map(str, arguments)], capture_output=True, encoding="utf-8", **options)


def said(capsys) -> tuple[str, str]:
    """What was printed, its lines' ends and the frames around errors left out."""
    out, err = capsys.readouterr()
    flat = " ".join(re.sub("[│╭╮╰╯─]", " ", err).split())
    return out, flat if "Usage:" in err or "Error" in err else err


def same(a, b) -> bool:
    """Whether two trajectories are the same bits."""
    whole = all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("t", "q", "v", "tau", "vdot"))
    return whole and {*a.signals} == {*b.signals} and all(np.array_equal(x, b.signals[n]) for n, x in a.signals.items())


def table(path) -> dict[str, np.ndarray]:
    """Columns of a CSV file."""
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, np.array(rows, dtype=float).reshape(-1, len(names)).T, strict=True))


def commands() -> dict[str, str]:
    """The text below the help of every command."""
    return {c.callback.__name__: c.epilog for c in cli.application().registered_commands}


def test_the_help_lists_every_command_with_examples(capsys):
    assert {*commands()} == {"info", "view", "render", "simulate", "resume", "torques", "plot", "export"}
    assert run("--help") == 0
    top = capsys.readouterr().out
    for name in commands():
        assert re.search(rf"^│ {name}\b", top, re.M) and f"engine {name} " in top
        assert run(name, "--help") == 0
        assert f" engine {name} " in capsys.readouterr().out.split("Examples:")[1]


EXAMPLES = [line.partition("  ")[0] for text in commands().values() for line in text.split("\n\n") if line.startswith("engine ")]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_in_the_help_work(here, example, monkeypatch, capsys):
    monkeypatch.setattr(engine, "view", lambda source, **options: engine.viewer.Scene(source, options["environment"], options["geometry"]))
    shutil.copy("robot.urdf", "arm.urdf")
    Path("arm.urdf").write_text(ROBOT)
    (here / "home").mkdir()
    model = load_urdf("robot.urdf", floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    simulator = engine.Simulator(model)
    if "--out run.h5" not in example:
        simulator.run(q, v, 0.05, out="run.h5")
    simulator.run(np.stack([q] * 4), v, 0.01, out="batch.h5")
    times = np.linspace(0, 1, 50)
    for name in ("motion.csv", "measured.csv", "start.csv"):
        Path(name).write_text("t,shoulder,elbow\n" + "".join(f"{t},{np.sin(t)},{t * t}\n" for t in times))
    assert len(example) < 79
    words = example.replace("--duration 10 ", "--duration 0.1 ").replace("--duration 60", "--duration 0.1").split()
    assert words[0] == "engine" and run(*words[1:]) == 0, capsys.readouterr().err


def test_version(capsys):
    assert run("--version") == 0
    assert capsys.readouterr() == (f"engine {engine.__version__}\n", "")


def test_as_a_module_and_as_a_script(here):
    script = shutil.which("engine", path=str(Path(sys.executable).parent))
    other = [script] if script else [sys.executable, "-c", "import sys; from engine.cli import main; sys.exit(main())"]
    for arguments in (["--help"], ["fly"], ["info", "robot.urdf"], ["info", "none"]):
        done = subprocess.run([*other, *arguments], capture_output=True, encoding="utf-8")
        module = shell(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (module.returncode, module.stdout, module.stderr)
        assert done.stdout or done.stderr


def test_a_closed_pipe_is_quiet(here):
    run("simulate", "robot.urdf", "--duration", 3, "--out", "run.h5")
    for arguments in (["--help"], ["info", "run.h5"], ["export", "run.h5", "/dev/stdout"]):
        command = [sys.executable, "-m", "engine", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b"", arguments
            assert process.wait() in (0, 1) if arguments == ["--help"] else process.wait() == 0


# ---------------------------------------------------------------- what goes wrong


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
    ("simulate robot.urdf --duration 1 --out /proc/x.h5", "'/proc/x.h5' cannot be created"),
    ("simulate robot.urdf --duration 1 --out x.h5 --integrator dqvi", "integrator 'dqvi' is for a single free body"),
    ("simulate robot.urdf --duration 1 --out x.h5 --start binary.csv", "'binary.csv' is no text"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbow=nan", "v0[1] (joint 'elbow') is nan"),
    ("simulate robot.urdf --duration 1 --out x.h5 --velocity elbow=1e300", "no longer finite"),
    ("torques robot.urdf none.csv", "'none.csv': there is no such file"),
    ("torques robot.urdf folder", "'folder' is a folder"),
    ("torques robot.urdf binary.csv", "'binary.csv' is no text"),
    ("torques robot.urdf run.h5 --floating", "has no column 'q.floating_base.qw' (a base that does not move has none"),
    ("torques robot.urdf run.h5 --out robot.urdf", "'robot.urdf' exists; expected a new path, or --overwrite"),
    ("torques robot.urdf run.h5 --out run.h5 --overwrite", "'run.h5' is the file to read"),
    ("torques robot.urdf run.h5 --rollout 0 --out folder", "'folder' is a folder"),
    ("torques robot.urdf run.h5 --rollout 1", "'run.h5' holds a single one"),
    ("plot run.h5 --out picture", "'picture' has no ending"),
    ("plot run.h5 --out picture.pgn", "'picture.pgn' cannot be drawn"),
    ("plot run.h5 --out robot.urdf", "'robot.urdf' exists"),
    ("plot run.h5 --out /proc/x.png", "'/proc/x.png' cannot be written"),
    ("export run.h5 robot.urdf", "'robot.urdf' exists"),
    ("export run.h5 run.h5 --overwrite", "'run.h5' is the file to read"),
    ("view robot.urdf", "there is no display"),
    ("view robot.urdf --follow upr", "no link 'upr' in 'arm' (did you mean 'upper'?)"),
    ("view lost.urdf", "mesh 'lost.stl' is not there"),
    ("render none.urdf x.png", "none.urdf: there is no such file"),
    ("render bare.urdf x.png", "the links of 'bare' have no visual shapes; expected some to show"),
    ("render lost.urdf x.png", "mesh 'lost.stl' is not there"),
    ("render robot.urdf x.avi", "'x.avi' ends in '.avi'; expected .png, .mp4 or .gif"),
    ("render robot.urdf robot.png", "'robot.png' exists; expected a new path, or --overwrite"),
    ("render robot.urdf folder", "'folder' ends in ''"),
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
        ("cut.h5", "'cut.h5' is cut short or damaged"), ("other.h5", "'other.h5' is an HDF5 file of something else"))],
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
    monkeypatch.setattr(cli, "summary", lambda model: 1 / 0)
    assert run("info", "robot.urdf") == 1
    assert capsys.readouterr().err.startswith("engine: ZeroDivisionError: division by zero; this is a fault of the engine itself")
    monkeypatch.setenv("ENGINE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run("info", "robot.urdf")


# ---------------------------------------------------------------- simulate


RUNS = [
    ("", {}, "neutral"),
    ("--start random --seed 3", {}, "random"),
    ("--start random --seed 3 --velocity zero", {}, "still"),
    ("--velocity elbow=0.5 --velocity shoulder=-1", {}, "named"),
    ("--dt 0.002 --integrator rkmk5 --record-every 4 --start random", {"dt": 0.002, "integrator": "rkmk5"}, "random"),
    ("--gravity 1 0 -2 --start random", {"gravity": (1, 0, -2)}, "random"),
    ("--zero-gravity --ideal-joints --start random", {"gravity": (0, 0, 0), "joint_dynamics": False}, "random"),
]


@pytest.mark.parametrize(("options", "given", "start"), RUNS)
@pytest.mark.parametrize("floating", [False, True])
def test_simulate_is_what_the_library_does(here, options, given, start, floating, capsys):
    words = options.split()
    assert run("simulate", "robot.urdf", *["--floating"] * floating, "--duration", 0.1, "--out", "run.h5", *words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("run.h5: ") and "records of 'arm', 0 … 0.1 s" in out and err == ""
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
    every = 4 if "--record-every" in words else 1
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
    assert "note: joint 'elbow' starts at 2.5, outside of its limits -2 … 2" in capsys.readouterr().err
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


# ---------------------------------------------------------------- interrupted, and resumed

LONG = ["simulate", str(FLYER), "--floating", "--zero-gravity", "--start", "random", "--duration", "500", "--record-every", "50",
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
    delay = random.uniform(0, 0.3)
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
    assert " of 500 s; interrupted; engine resume cut.h5 goes on\n" in capsys.readouterr().out
    assert run("resume", "cut.h5") == 0, capsys.readouterr().err
    assert same(load_trajectory("cut.h5"), uninterrupted), f"after {delay} s"
    assert run("info", "cut.h5") == 0 and "0 … 500 s; complete\n" in capsys.readouterr().out
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

    def interrupted(self, path, begin, *rest):
        begin().close(False)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.Simulator, "_record", interrupted)
        assert run(*arguments, "cut.h5") == 130
    assert "engine: interrupted at the beginning: 'cut.h5' holds 0 records and is marked incomplete; go on" in capsys.readouterr().err
    assert run("export", "cut.h5", "cut.csv") == 1 and "'cut.h5' holds no records yet" in capsys.readouterr().err
    assert run("resume", "cut.h5") == 0
    assert same(load_trajectory("cut.h5"), load_trajectory("whole.h5"))
    with Recording.open("cut.h5") as recording:
        assert recording.complete and recording.header["start"] == "random, seed 0"


def test_ctrl_c_before_anything_is_recorded(here, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    run("simulate", "robot.urdf", "--duration", 0.1, "--out", "a.h5")
    capsys.readouterr()
    monkeypatch.setattr(engine.Simulator, "run", interrupted)
    assert run("simulate", "robot.urdf", "--duration", 0.2, "--out", "a.h5", "--overwrite") == 130
    assert capsys.readouterr() == ("", "engine: interrupted before anything was recorded\n")
    monkeypatch.setattr(engine.io, "load_urdf", interrupted)
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
        with pytest.raises(KeyboardInterrupt), cli.interruptible():
            space[name](done)
            time.sleep(10)
        assert done == [1]
    done = []
    with pytest.raises(KeyboardInterrupt), cli.interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(1)
    assert done == []


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
    engine.Simulator(model).run(q, v, 0.0105, out="a.h5", overwrite=True)
    fails("ended with a step shorter than dt, at t = 0.0105 s", "--duration", 1)
    engine.Simulator(model).run(q, v, 0.015, 10, out="a.h5", overwrite=True)
    fails("ended between two records of every 10 steps", "--duration", 1)
    with pytest.raises(engine.SimulationError):                               # damping with a step that is much too long
        engine.Simulator(model, dt=50.0).run(q, v + 1, 1e6, out="a.h5", overwrite=True)
    n = len(load_trajectory("a.h5"))
    assert n > 1 and run("resume", "a.h5") == 1 and run("info", "a.h5") == 0
    out, err = capsys.readouterr()
    assert "diverge" in err and "complete\n" not in out and len(load_trajectory("a.h5")) == n


# ---------------------------------------------------------------- torques


def swing(model, t: np.ndarray) -> np.ndarray:
    """A smooth motion (T, nq) of every coordinate, the base's as well."""
    d = np.stack([np.sin((1 + 0.2 * k) * t + k) for k in range(model.nv)], axis=-1)
    return model.integrate(np.broadcast_to(model.neutral(), (len(t), model.nq)), d)


def write_motion(path, model, t, prefix="", **arrays) -> None:
    """A CSV file of q, v, vdot."""
    columns = {"t": t} | {f"{prefix}{n}": x for n, x in zip(model.labels("q"), arrays.pop("q").T, strict=True)}
    columns |= {f"{w}.{n}": x for w, a in arrays.items() for n, x in zip(model.labels("v"), a.T, strict=True)}
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[*columns], *[[repr(float(x)) for x in row] for row in zip(*columns.values(), strict=True)]])


def torques_of(path, model) -> np.ndarray:
    """tau (T, nv) from a CSV file."""
    columns = table(path)
    assert list(columns) == ["t", *[f"tau.{n}" for n in model.labels("v")]]
    return np.stack(list(columns.values())[1:], axis=-1)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("prefix", ["", "q."])
def test_torques_of_a_motion_with_rates(here, floating, prefix, capsys):
    model = load_urdf("robot.urdf", floating_base=floating)
    t, rng = np.array([0.0, 0.5, 0.7]), np.random.default_rng(0)
    q, v, vdot = swing(model, t), rng.standard_normal((3, model.nv)), 40 * rng.standard_normal((3, model.nv))
    write_motion("m.csv", model, t, prefix, q=q, v=v, vdot=vdot)
    options = ["--floating"] * floating
    assert run("torques", "robot.urdf", "m.csv", "--out", "tau.csv", "--gravity", 0, 2, -5, *options) == 0
    tau = engine.compile(model, (0, 2, -5)).rnea(model.normalized(q), v, vdot)
    assert np.array_equal(torques_of("tau.csv", model), tau) and np.array_equal(table("tau.csv")["t"], t)
    out = capsys.readouterr().out
    assert "arm: 3 rows, 0 … 0.7 s; gravity 0 2 -5 m/s²\nv and vdot from the file\n" in out and out.endswith("tau.csv: 3 rows\n")
    for k, name in enumerate(model.labels("v")):
        at = int(np.argmax(abs(tau[:, k])))
        unit = "N" if name.startswith("floating_base.v") else "N·m"
        cells = [name, f"{tau[at, k]:.4g}", unit, f"{t[at]:.4g}", f"{np.sqrt((tau[:, k] ** 2).mean()):.4g}"]
        (row,) = [line.split() for line in out.splitlines() if line.split()[:1] == [name]]
        assert row[:5] == cells
        if name == "elbow":
            assert row[5:] == ["3", f"{100 * abs(tau[at, k]) / 3:.0f}", "%"]
            assert abs(tau[at, k]) > 3 and "above the robot's limits: elbow\n" in out
        else:
            assert row[5:] == ["–"]


@pytest.mark.parametrize("floating", [False, True])
def test_torques_of_positions_alone(here, floating, capsys):
    """Five-point differences on the manifold: a step half as long, an error sixteen times less (eight at the ends)."""
    model = load_urdf("robot.urdf", floating_base=floating)
    errors, inner = [], []
    for n in (41, 81, 161):
        t = np.linspace(0, 1, n) ** 1.2                                       # steps of all sizes
        h = 2e-3
        x = [swing(model, t + k * h) for k in (-2, -1, 0, 1, 2)]
        d = [model.difference(x[2], y) for y in x]
        v = (d[0] - 8 * d[1] + 8 * d[3] - d[4]) / (12 * h)
        vdot = (-d[0] + 16 * d[1] + 16 * d[3] - d[4]) / (12 * h * h)
        write_motion("m.csv", model, t, q=x[2])
        assert run("torques", "robot.urdf", "m.csv", "--out", "tau.csv", "--overwrite", *["--floating"] * floating) == 0
        expected = engine.compile(model).rnea(model.normalized(x[2]), v, vdot)
        off = abs(torques_of("tau.csv", model) - expected).max(axis=1) / abs(expected).max()
        errors.append(off.max())
        inner.append(off[n // 4 : -n // 4].max())
    assert "v and vdot by five-point finite differences of q on the manifold\n" in capsys.readouterr().out
    assert errors[0] < 1e-3 and errors[0] > 5 * errors[1] > 25 * errors[2]
    assert inner[0] > 12 * inner[1] > 144 * inner[2]


def test_torques_with_velocities_alone_and_accelerations_alone(here, capsys):
    model = load_urdf("robot.urdf")
    t = np.linspace(0, 1, 200)
    q, v, vdot = (np.stack([f(2 * t), f(t)], axis=-1) * [[a, 1.0]] for f, a in ((np.sin, 1.0), (np.cos, 2.0), (lambda x: -np.sin(x), 4.0)))
    expected = engine.compile(model).rnea(q, v, vdot)
    write_motion("v.csv", model, t, q=q, v=v)
    write_motion("vdot.csv", model, t, q=q, vdot=vdot)
    for name, text in (("v", "v from the file; vdot is v differentiated by five-point"), ("vdot", "v by five-point")):
        assert run("torques", "robot.urdf", f"{name}.csv", "--out", f"{name}.tau.csv") == 0
        assert text in capsys.readouterr().out
        assert np.allclose(torques_of(f"{name}.tau.csv", model), expected, atol=1e-6) and not np.array_equal(q, v)


def test_smoothing(here, capsys):
    model = load_urdf("robot.urdf")
    t = np.linspace(0, 2, 400)
    q = np.stack([np.sin(t), np.cos(t)], axis=-1)
    exact = engine.compile(model).rnea(q, np.stack([np.cos(t), -np.sin(t)], axis=-1), -q)
    write_motion("m.csv", model, t, q=q + 1e-4 * np.random.default_rng(0).standard_normal(q.shape))
    errors = []
    for n in (5, 41):
        assert run("torques", "robot.urdf", "m.csv", "--smooth", n, "--out", "tau.csv", "--overwrite") == 0
        errors.append(np.sqrt(np.mean((torques_of("tau.csv", model) - exact) ** 2)))
    assert "quartics fitted to 41 rows each" in capsys.readouterr().out
    assert errors[1] < errors[0] / 20


def test_torques_of_a_recording(here, capsys):
    """They are what acted: nothing, but friction and stops."""
    options = ["--floating", "--gravity", 0, 0, -1]
    assert run("simulate", "robot.urdf", "--duration", 0.2, "--out", "run.h5", "--start", "random", "--ideal-joints", *options) == 0
    assert run("torques", "robot.urdf", "run.h5", "--floating", "--out", "tau.csv") == 0
    out = capsys.readouterr().out
    assert "gravity 0 0 -1 m/s² (the recording's)\n" in out and "columns not used: drive.power, drive.saturated" in out
    model = load_urdf("robot.urdf", floating_base=True)
    assert abs(torques_of("tau.csv", model)).max() < 1e-10
    assert run("torques", "robot.urdf", "run.h5", "--floating", "--zero-gravity", "--out", "tau.csv", "--overwrite") == 0
    assert abs(torques_of("tau.csv", model)).max() > 5
    assert run("torques", FLYER, "run.h5", "--floating") == 1
    assert "has no column 'q.shoulder_yaw'" in capsys.readouterr().err


def test_torques_of_a_rollout_in_its_own_gravity(here, capsys):
    model = load_urdf("robot.urdf")
    gravity = {"gravity": np.array([[0, 0, -9.81], [1.0, 2.0, -3.0]])}
    simulator = engine.Simulator(model, parameters={"gravity": (0, 0, 0)}, joint_dynamics=False)
    simulator.run(np.full(model.nq, 0.3), np.zeros(model.nv), 0.1, parameters=gravity, out="batch.h5")
    assert run("torques", "robot.urdf", "batch.h5", "--rollout", 1, "--out", "tau.csv") == 0
    assert "gravity 1 2 -3 m/s² (the recording's)\n" in capsys.readouterr().out
    assert abs(torques_of("tau.csv", model)).max() < 1e-10


def test_the_free_flyers_torques(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--zero-gravity", "--start", "random") == 0
    assert run("export", "run.h5", "run.csv") == 0
    assert run("torques", FLYER, "run.csv", "--floating", "--zero-gravity", "--out", "tau.csv") == 0
    r = load_trajectory("run.h5")
    assert np.array_equal(torques_of("tau.csv", r.model), r.robot.rnea(r.q, r.v, r.vdot))


CSVS = [
    ("", "holds nothing"),
    ("t,shoulder,elbow\n", "holds no numbers"),
    ("0,1,2\n1,2,3\n", "begins with numbers; expected a first line of names"),
    ("t;shoulder;elbow\n0;1;2\n", "has no commas in its first line"),
    ("t,shoulder,elbow\n0,1,2\n1,2\n", "line 3: 2 fields; expected 3"),
    ("t,shoulder,elbow\n0,1,2\n1,2,3,4\n", "line 3: 4 fields; expected 3"),
    ("t,shoulder,elbow\n0,1,2\n\n1,2,nan\n", "line 4: 'elbow' is nan; expected a finite number"),
    ("t,shoulder,elbow\n0,1,2\n1,inf,3\n", "line 3: 'shoulder' is inf; expected a finite number"),
    ("t,shoulder,elbow\n0,1,2\n1,two,3\n", "line 3: 'shoulder' is 'two'; expected a number"),
    ("t,shoulder,elbow\n0,1,2\n1,,3\n", "line 3: 'shoulder' is ''; expected a number"),
    ("t,shoulder,elbow\n0,1,2\n0,1,2\n", "line 3: t is 0.0 after 0.0; expected times that increase"),
    ("t,shoulder,elbow\n0,1,2\n1,1,2\n0.5,1,2\n", "line 4: t is 0.5 after 1.0; expected times that increase"),
    ("shoulder,elbow\n0,1\n", "has no column 't'"),
    ("t,shoulder\n0,1\n", "has no column 'elbow'; expected t, shoulder, elbow"),
    ("t,shoulder,elbo\n0,1,2\n", "has no column 'elbow'; its column 'elbo' is nothing that 'arm' has (did you mean 'elbow'?)"),
    ("t,q.shoulder,q.elbo\n0,1,2\n", "has no column 'q.elbow'; its column 'q.elbo' is nothing that 'arm' has (did you mean 'q.elbow'?)"),
    ("t,shoulder,elbow,v.shoulder\n0,1,2,3\n", "has no column 'v.elbow'; expected v.shoulder, v.elbow"),
    ("t,shoulder,elbow,v.shoulder,v.elbo\n0,1,2,3,4\n", "has no column 'v.elbow'; its column 'v.elbo'"),
    ("t,shoulder,elbow,v.shoulder,v.elbow,v.wrist\n0,1,2,3,4,5\n", "has a column 'v.wrist', but 'arm' has no such coordinate"),
    ("t,shoulder,elbow,floating_base.qw\n0,1,2,3\n", "has a column 'floating_base.qw', but 'arm' has no such coordinate (--floating"),
    ("t,shoulder,elbow,elbow\n0,1,2,3\n", "has 2 columns named 'elbow'"),
    ("t,shoulder,elbow,\n0,1,2,3\n", "has a column named ''"),
    ("t,shoulder,elbow,q.elbow\n0,1,2,3\n", "has the columns 'q.elbow' and 'elbow'"),
    ("t,shoulder,elbow\n0,1,2\n1,2,3\n", "has 2 rows of numbers and no columns v.…; expected at least 3 rows"),
]


@pytest.mark.parametrize(("text", "message"), CSVS)
def test_broken_csv_files(here, text, message, capsys):
    Path("m.csv").write_text(text)
    assert run("torques", "robot.urdf", "m.csv") == 1
    out, err = capsys.readouterr()
    assert err.startswith("engine: 'm.csv'") and message in err and err.count("\n") == 1 and out == ""


def test_csv_files_of_other_programs(here, capsys):
    """A byte order mark, a '#' before the names, spaces, blank lines, and columns of something else."""
    rows = [(t, np.sin(t), np.cos(t)) for t in np.linspace(0, 1, 20)]
    Path("a.csv").write_text("t,shoulder,elbow\n" + "".join(f"{t!s},{x!s},{y!s}\n" for t, x, y in rows))
    text = "\ufeff# t, shoulder ,elbow, phase\n\n" + "".join(f" {t!s}, {x!s},{y!s},1\n" for t, x, y in rows)
    Path("b.csv").write_text(text, encoding="utf-8")
    for name in "ab":
        assert run("torques", "robot.urdf", f"{name}.csv", "--out", f"{name}.tau.csv") == 0
    assert "columns not used: phase\n" in capsys.readouterr().out
    assert Path("a.tau.csv").read_bytes() == Path("b.tau.csv").read_bytes()


def test_wrapped_angles_and_bad_quaternions_are_told(here, capsys):
    t = np.linspace(0, 10, 100)
    Path("m.csv").write_text("t,shoulder,elbow\n" + "".join(f"{x},{(x + np.pi) % (2 * np.pi) - np.pi},0\n" for x in t))
    assert run("torques", "robot.urdf", "m.csv") == 0
    assert "note: 'shoulder' jumps by 6.18 rad between t = 3.13131 and 3.23232 s" in capsys.readouterr().err
    model = load_urdf("robot.urdf", floating_base=True)
    q = swing(model, t)
    q[7, :4] *= 0.5
    write_motion("m.csv", model, t, q=q)
    assert run("torques", "robot.urdf", "m.csv", "--floating") == 1
    assert "row 8 of numbers: the quaternion of 'floating_base' has length 0.5" in capsys.readouterr().err


# ---------------------------------------------------------------- info of recordings, plot, export


def test_info_of_a_recording(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--record-every", 10, "--zero-gravity") == 0
    capsys.readouterr()
    assert run("info", "run.h5") == 0
    out = capsys.readouterr().out
    for line in ("run.h5\n", "  model       'free_flyer': 11 links, 11 joints, nq 14, nv 13\n", "  time        0 … 0.1 s; complete\n",
                 "  records     11, one every 10 steps; ", "  integrator  cg4, dt = 0.001 s\n", "  gravity     0 0 0 m/s²\n",
                 "  components  drive, stops\n", "  start       neutral\n", "  columns     t, q (14), v (13), ",
                 f"  made by     engine {engine.__version__}, numpy {np.__version__}, llvmlite "):  # fmt: skip
        assert line in out
    assert "└─" not in out and run("info", "run.h5", "--tree") == 0 and "└─ gripper  (gripper_mount, fixed)" in capsys.readouterr().out


def test_info_of_other_recordings(here, capsys):
    model = load_urdf("robot.urdf")
    engine.Simulator(model, parameters={"mass.fore": 1.0}).run(np.zeros((4, 2)), np.zeros(2), 0.01, out="batch.h5")
    assert run("info", "batch.h5") == 0
    out = capsys.readouterr().out
    assert "  rollouts    4\n" in out and "  parameters  mass.fore\n" in out
    engine.Simulator(model).run(np.zeros(2), np.zeros(2), 0.01).save("saved.h5")
    assert run("info", "saved.h5") == 0 and "0 … 0.01 s; complete\n" in capsys.readouterr().out
    with Recorder.create("some.h5", {"t": (), "x": (2, 3)}, (), {}, {}) as recorder:
        assert run("info", "some.h5") == 0
        out = capsys.readouterr().out
        assert "  time        nothing yet; being written\n" in out and "  columns     t, x (2×3)\n" in out
        recorder.append({"t": [0.5], "x": np.zeros((1, 2, 3))}, {})
    shutil.copy("some.h5", "named_otherwise")
    assert run("info", "named_otherwise") == 0 and "  time        0.5 … 0.5 s; complete\n" in capsys.readouterr().out


def test_plot(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--start", "random") == 0
    assert run("plot", "run.h5") == 0
    assert capsys.readouterr().out.endswith("run.png: 101 of 101 records, 0 … 0.1 s\n")
    assert Path("run.png").read_bytes().startswith(b"\x89PNG") and Path("run.png").stat().st_size > 20_000
    assert run("plot", "run.h5", "--out", "new/run.svg") == 0 and "</svg>" in Path("new/run.svg").read_text(encoding="utf-8")
    assert {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "run.png", "new"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "PLOTTED", 50)
        assert run("plot", "run.h5", "--overwrite") == 0 and "run.png: 34 of 101 records, 0 … 0.099 s\n" in capsys.readouterr().out


def test_without_matplotlib(here, monkeypatch, capsys):
    run("simulate", "robot.urdf", "--duration", 0.01, "--out", "run.h5")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert run("plot", "run.h5") == 1 and "engine: a plot takes matplotlib" in capsys.readouterr().err
    assert not Path("run.png").exists()


@pytest.mark.parametrize("piece", [7, 10_000])
def test_export(here, piece, monkeypatch, capsys):
    monkeypatch.setattr(cli, "PIECE", piece)
    assert run("simulate", FLYER, "--floating", "--duration", 0.05, "--out", "run.h5", "--start", "random") == 0
    trajectory = load_trajectory("run.h5")
    assert run("export", "run.h5", "run.csv") == 0 and capsys.readouterr().out.endswith("run.csv: 51 rows of 69 columns\n")
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


# ---------------------------------------------------------------- view, render, and export of what is seen


def pixels(path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as picture:
        return np.array(picture.convert("RGB")).astype(int)


def swung(name="run.h5", duration=0.5) -> engine.Trajectory:
    """A recorded fall of the arm, whose joints turn by much."""
    engine.Simulator(load_urdf("robot.urdf")).run([0.3, -0.5], [2.0, 1.0], duration, out=name)
    return load_trajectory(name)


def test_view_is_what_the_library_shows(here, monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append((source, options)))
    trajectory = swung()
    options = "--collision --environment plain --view left --follow fore"
    assert run("view", "robot.urdf", "--floating") == run("view", "run.h5", *options.split()) == 0
    (model, plain), (motion, chosen) = seen
    assert model.nq == 9 and not any(value for name, value in plain.items() if name != "geometry") and plain["geometry"] == "visual"
    assert chosen == {"view": "left", "environment": "plain", "geometry": "collision", "follow": "fore"}
    assert same(motion, trajectory)


def test_view_shows_all_rollouts_or_one(here, monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source))
    engine.Simulator(load_urdf("robot.urdf")).run(np.zeros((3, 2)), np.arange(6.0).reshape(3, 2), 0.02, out="batch.h5")
    assert run("view", "batch.h5") == run("view", "batch.h5", "--rollout", 2) == 0
    assert seen[0].q.shape == (3, 21, 2) and np.array_equal(seen[1].q, seen[0].q[2])


def test_a_long_recording_is_shown_thinned(here, monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "PLOTTED", 100)
    monkeypatch.setattr(engine, "view", lambda source, **options: seen.append(source))
    whole = swung()
    assert run("view", "run.h5") == 0 and same(seen[0], whole[::6])


def test_render_a_picture(here, capsys):
    trajectory = swung()
    small = ("--size", "160x120", "--environment", "plain")
    assert run("render", "run.h5", "end.png", *small) == run("render", "run.h5", "new/begin.png", "--time", 0, *small) == 0
    assert capsys.readouterr().out == "end.png: a picture of 160 × 120 pixels\nnew/begin.png: a picture of 160 × 120 pixels\n"
    own = engine.render(trajectory, size=(160, 120), environment="plain")
    assert np.array_equal(pixels("end.png"), own) and (pixels("new/begin.png") != own).any()
    assert run("render", "run.h5", "end.png", "--view", "left", "--overwrite", *small) == 0 and (pixels("end.png") != own).any()
    assert run("render", "run.h5", "shapes.png", "--view", "left", "--collision", *small) == 0
    assert (pixels("shapes.png") != pixels("end.png")).any()
    assert {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "end.png", "shapes.png", "new"}


def test_render_a_film(here, capsys):
    import av

    swung()
    assert run("render", "run.h5", "run.mp4", "--size", "160x120", "--fps", 20, "--speed", 0.5, "--follow", "fore") == 0
    assert capsys.readouterr().out == "run.mp4: 21 frames, 1.05 s of 160 × 120 pixels\n"
    with av.open("run.mp4") as film:
        frames = [f.to_ndarray(format="rgb24").astype(int) for f in film.decode(video=0)]
        assert film.streams.video[0].average_rate == 20
    assert len(frames) == 21 and frames[0].shape == (120, 160, 3) and abs(frames[0] - frames[-1]).max() > 50
    assert run("render", "run.h5", "f%02d.png", "--size", "80x60", "--fps", 4) == 0
    assert sorted(p.name for p in here.glob("f*.png")) == ["f00.png", "f01.png", "f02.png"]


def test_a_terminal_sees_how_far_a_film_is(here):
    swung(duration=0.1)
    own, other = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "engine", "render", "run.h5", "run.gif", "--size", "80x60"], stdout=other) as process:
        os.close(other)
        text = b""
        with contextlib.suppress(OSError):
            while piece := os.read(own, 1000):
                text += piece
        assert process.wait() == 0
    os.close(own)
    assert b"4/4 frames" in text and b"run.gif: 4 frames" in text


def test_a_film_that_is_interrupted_leaves_what_was_there(here, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    Path("run.mp4").write_bytes(b"an older film")
    swung(duration=0.1)
    monkeypatch.setattr(engine, "render", interrupted)
    assert run("render", "run.h5", "run.mp4", "--overwrite") == 130 and capsys.readouterr().err == "engine: interrupted\n"
    assert Path("run.mp4").read_bytes() == b"an older film" and {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "run.mp4"}


def test_export_what_is_seen(here, capsys):
    trajectory = swung()
    assert run("export", "run.h5", "run.html") == run("export", "run.h5", "run.glb", "--fps", 10) == 0
    assert run("export", "robot.urdf", "arm.glb") == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["run.html", "run.glb", "arm.glb"]
    assert Path("run.html").read_bytes() == engine.export(trajectory, "own.html").read_bytes()
    assert Path("run.glb").read_bytes() == engine.export(trajectory, "own.glb", 10).read_bytes()
    assert Path("arm.glb").read_bytes() == engine.export(load_urdf("robot.urdf"), "own.glb").read_bytes()


def test_a_texture_that_is_not_there_is_a_note(here, capsys):
    Path("box.obj").write_text("mtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    Path("box.urdf").write_text(ROBOT.replace('<box size="0.4 0.1 0.1"/>', '<mesh filename="box.obj"/>'))
    assert run("render", "box.urdf", "box.png", "--size", "80x60") == 0
    out, err = capsys.readouterr()
    assert out == "box.png: a picture of 80 × 60 pixels\n" and err.startswith("note: ") and "none.mtl" in err and err.count("\n") == 1
