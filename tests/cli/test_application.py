"""The help, its examples, and how the command line starts."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_urdf
from engine.cli import main
from engine.cli.application import app
from tests.cli.commands import ROBOT, SCATTER, run, shell


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


def test_starting_is_light():
    heavy = "{'llvmlite', 'scipy', 'lxml', 'trimesh', 'h5py', 'matplotlib', 'pandas'}"
    code = f"import sys, engine.cli; assert not {{'rich', 'typer', *{heavy}}} & {{*sys.modules}}; "
    code += f"assert engine.cli.main(['--help']) == 0 and not {heavy} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def commands() -> dict[str, str]:
    """The text below the help of every command."""
    return {c.callback.__name__: c.epilog for c in app.registered_commands}


def test_the_help_lists_every_command_with_examples(capsys):
    assert {*commands()} == {"info", "check", "view", "render", "simulate", "resume", "torques", "plot", "export", "convert", "verify",
                            "campaign", "compile", "demo", "docs", "doctor"}  # fmt: skip
    assert run("--help") == 0
    top = capsys.readouterr().out
    for name in commands():
        assert re.search(rf"^│ {name}\b", top, re.M) and f"engine {name} " in top
        assert run(name, "--help") == 0
        assert f" engine {name} " in capsys.readouterr().out.split("Examples:")[1]


EXAMPLES = [line.partition("  ")[0] for text in commands().values() for line in text.split("\n\n") if line.startswith("engine ")]


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> Path:
    """A folder of all files that the examples take."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "home").mkdir()
    for name in ("robot.urdf", "arm.urdf"):
        (folder / name).write_text(ROBOT)
    (folder / "scatter.toml").write_text(SCATTER.replace("own:turned", "final q.elbow"))
    model = load_urdf(folder / "robot.urdf", floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    simulator = engine.Simulator(model)
    simulator.run(q, v, 0.05, out=folder / "run.h5")
    simulator.run(np.stack([q] * 4), v, 0.01, out=folder / "batch.h5")
    times = np.linspace(0, 1, 50)
    for name in ("motion.csv", "measured.csv", "start.csv"):
        (folder / name).write_text("t,shoulder,elbow\n" + "".join(f"{t},{np.sin(t)},{t * t}\n" for t in times))
    return folder


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_in_the_help_work(here, given, example, monkeypatch, capsys):
    monkeypatch.setattr(engine, "view", lambda source, **options: engine.viewer.Scene(
        source.model if isinstance(source, engine.Simulator) else source, options["environment"], options["geometry"]))  # fmt: skip
    monkeypatch.setattr(engine.Server, "wait", lambda server: None)
    monkeypatch.setattr("engine.cli.docs.build", Path)                         # tests/docs builds the site
    shutil.copytree(given, here, dirs_exist_ok=True)
    if "--out run.h5" in example:
        Path("run.h5").unlink()
    assert len(example) < 79
    alone = example.replace(" --workers 2", "").replace("gripper", "upper")     # which test_campaign has; and the robot here
    words = alone.replace("--duration 10 ", "--duration 0.1 ").replace("--duration 60", "--duration 0.1").split()
    if words[-1].endswith(".rrd"):
        pytest.importorskip("rerun", exc_type=ImportError)
    if words[-1].endswith((".mcap", ".rosbag2")) or ".mcap" in example:
        pytest.importorskip("mcap_ros2")
        pytest.importorskip("rosbags")
    if words[1:2] == ["demo"]:
        monkeypatch.setattr(runpy, "run_path", lambda path, run_name: None)
    assert words[0] == "engine" and run(*words[1:]) == 0, capsys.readouterr().err


def test_version(capsys):
    assert run("--version") == 0
    assert capsys.readouterr() == (f"engine {engine.__version__}\n", "")


def test_as_a_module_and_as_a_script():
    script = shutil.which("engine", path=str(Path(sys.executable).parent))
    other = [script] if script else [sys.executable, "-c", "import sys; from engine.cli import main; sys.exit(main())"]
    for arguments in (["--version"], ["info", "none"]):
        done = subprocess.run([*other, *arguments], capture_output=True, encoding="utf-8")
        module = shell(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (module.returncode, module.stdout, module.stderr)
        assert done.stdout or done.stderr
