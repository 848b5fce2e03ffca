"""Robots of any format: each is known by its outermost element."""

import sys
import types

import numpy as np
import pytest

import engine
from engine import RobotFileError, load, load_urdf
from engine.io import model_text

URDF = """<robot name="r"><link name="a"/><link name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
HEAD = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'
XACRO = URDF.replace("<robot", HEAD).replace("</robot>", '<xacro:property name="x" value="1"/></robot>')


def test_formats_are_told_apart(tmp_path):
    assert model_text(load(URDF, floating_base=True)) == model_text(load_urdf(URDF, floating_base=True))
    (tmp_path / "r.any").write_text(URDF)
    assert load(tmp_path / "r.any").name == "r"
    (tmp_path / "arm.xml").write_text('<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>')
    assert load(tmp_path / "arm.xml").name == "arm" and load(tmp_path / "arm.xml").described is not None
    assert load(URDF).described is None


@pytest.mark.parametrize(("given", "expected"), [
    ("<html/>", "expected <robot>"),
    ("  ", "there is no such file"),
    ("no/such.xml", "there is no such file"), (3, "expected a path"), ("<robot", "not well-formed XML"), ("a\0b", "null character"),
])  # fmt: skip
def test_what_is_none_is_refused(given, expected):
    with pytest.raises(RobotFileError) as caught:
        load(given)
    assert expected in str(caught.value)


def test_xacro_is_expanded_by_its_own_package(tmp_path, monkeypatch):
    path = tmp_path / "r.xacro"
    path.write_text(XACRO)
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(RobotFileError, match=r'pip install "\.\[xacro\]"'):
        load(path)
    expanded = types.SimpleNamespace(process_file=lambda name: types.SimpleNamespace(toxml=lambda: URDF))
    monkeypatch.setitem(sys.modules, "xacro", expanded)
    assert load(path).nv == 1
    expanded.process_file = lambda name: 1 / 0
    with pytest.raises(RobotFileError, match="xacro cannot expand it"):
        load(path)
    with pytest.raises(RobotFileError, match="a text of xacro is not read"):
        load(XACRO)


def test_sdf_says_what_besides_the_tree_and_is_simulated():
    inertial = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    stone = f'<model name="stone"><link name="stone">{inertial}</link></model>'
    world = ('<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>'
             f'<physics type="ode"><max_step_size>0.002</max_step_size></physics>{stone}</world></sdf>')  # fmt: skip
    model = load(world)
    assert model.described.gravity == (0.0, 0.0, -1.6) and model.described.dt == 0.002
    motion = engine.simulator_of(model).run(model.described.q, np.zeros(6), 1.0)
    assert motion.q[-1, 6] == pytest.approx(-0.8) and engine.check(world).ok
    with pytest.raises(RobotFileError, match="floating_base=True is not for SDF"):
        load(world, floating_base=True)


@pytest.mark.parametrize("text", ["<robot name='a'><link name='a'/></robot>", "<mujoco><worldbody/></mujoco>"])
def test_a_floating_base_is_true_or_false(text):
    with pytest.raises(engine.RobotFileError, match="floating_base is 'yes'; expected True or False"):
        engine.load(text, floating_base="yes")
