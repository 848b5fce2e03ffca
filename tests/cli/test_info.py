"""``engine info``: robots and recordings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_urdf
from engine.cli import main
from engine.recording import Recorder
from tests.cli.commands import FLYER, run

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
    arm.write_text(ARM.replace(f'<mass value="1"/>{TENSOR}', '<mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'))
    assert main(["info", str(arm)]) == 1
    out, err = capsys.readouterr()
    assert "error    joint 'hinge' (line 3): moves" in out
    assert err == f"engine: {arm}: 1 error found, listed above\n"


def test_a_file_that_does_not_load_is_one_sentence(tmp_path, capsys):
    assert main(["info", str(tmp_path / "none.urdf")]) == 1
    expected = "expected a robot file: URDF, xacro, SDF, MJCF or USD"
    assert capsys.readouterr() == ("", f"engine: {tmp_path}/none.urdf: there is no such file; {expected}\n")


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
    assert main(["info", str(arm), "--package-dir", str(arm.parent), "--meshes"]) == 0
    assert "expected a whole .stl file" in capsys.readouterr().out


def test_as_a_module(arm):
    command = [sys.executable, "-m", "engine", "info"]
    done = subprocess.run([*command, arm], capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0 and done.stdout.startswith("arm\n") and done.stderr == ""
    plain = subprocess.run([*command, arm], capture_output=True, env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert plain.returncode == 0 and b"??? rod  (hinge, revolute)" in plain.stdout.replace(b"?? ", b"??? ")


def test_a_reader_that_leaves_early_is_no_error(arm):
    for unbuffered in ("", "1"):
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        command = [sys.executable, "-m", "engine", "info", arm]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
            process.stdout.close()
            assert process.stderr.read() == b"" and process.wait() == 0


def test_info_of_a_recording(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--record-every", 10, "--zero-gravity") == 0
    capsys.readouterr()
    assert run("info", "run.h5") == 0
    out = capsys.readouterr().out
    for line in ("run.h5\n", "  model       'free_flyer': 11 links, 11 joints, nq 14, nv 13\n", "  time        0 … 0.1 s; complete\n",
                 "  records     11, one every 10 steps; ", "  integrator  cg4, dt = 0.001 s\n", "  gravity     0 0 0 m/s²\n",
                 "  components  drive\n", "  start       neutral\n", "  columns     t, q (14), v (13), ",
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


def test_robots_of_other_formats(here, capsys):
    text = """<mujoco model="lamp"><worldbody><body name="arm"><joint name="elbow"/><geom size="0.1"/></body></worldbody>
    <actuator><motor name="m" joint="elbow"/></actuator></mujoco>"""
    Path("lamp.xml").write_text(text)
    assert run("info", "lamp.xml") == 0 and "1 revolute" in capsys.readouterr().out.replace("1 continuous", "1 revolute")
    assert run("simulate", "lamp.xml", "--duration", 0.01, "--out", "run.h5") == 0
    assert "note: the actuators that the file of 'lamp' describes do not act here; engine.simulator_of(model)" in capsys.readouterr().err
