"""The command line: what ``engine info`` prints, its exit codes, and that nothing ends in a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli import main

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


@pytest.mark.parametrize("arguments", [[], ["--help"], ["info", "--help"]])
def test_help_teaches(arguments, capsys):
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 0 and "engine info robot.urdf --floating" in capsys.readouterr().out


def test_a_wrong_command_ends_in_two(capsys):
    with pytest.raises(SystemExit) as end:
        main(["fly"])
    assert end.value.code == 2 and "invalid choice" in capsys.readouterr().err


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
    code = "import sys, engine.cli; assert not {'lxml', 'trimesh', 'typer'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
