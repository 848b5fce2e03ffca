"""Models as files: what is read back is the same, to the bit where the format has the same numbers; and what it cannot say is said."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from engine import (
    Builder,
    Limits,
    Mimic,
    RobotFileError,
    RobotFileWarning,
    dynamics,
    example,
    load,
    load_urdf,
    save_mjcf,
    save_urdf,
    spatial,
)
from engine.model import Described, Geometry, Material
from tests.trees import random_tree


def saved_and_read(save, model, path, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        return load(save(model, path), **named)


def same_motion(one, two, rng):
    """Both have the same coordinates, inertia matrix, forces and poses of links."""
    assert (one.nq, one.nv) == (two.nq, two.nv)
    if not one.nv:
        return {link.name for link in one.links} == {link.name for link in two.links}
    q, v = one.random(rng)
    np.testing.assert_allclose(dynamics.crba(two, q), dynamics.crba(one, q), rtol=1e-11, atol=1e-13 * np.abs(dynamics.crba(one, q)).max())
    tau = dynamics.rnea(one, q, v, v)
    np.testing.assert_allclose(dynamics.rnea(two, q, v, v), tau, rtol=1e-10, atol=1e-12 * np.abs(tau).max())
    T = dict(zip([link.name for link in two.links], dynamics.forward_kinematics(two, q), strict=True))
    for link, pose in zip(one.links, dynamics.forward_kinematics(one, q), strict=True):
        if link.name in T:
            np.testing.assert_allclose(T[link.name], pose, atol=1e-12)
    return {link.name for link in one.links} <= set(T)


FOLDER = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
ROBOTS = [example("free_flyer"), *(p for p in sorted(FOLDER.rglob("*.urdf"))[::4] if "<link" in p.read_text())]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", ROBOTS, ids=lambda p: Path(p).stem)
def test_robots_of_urdf_are_read_back(path, tmp_path):
    model = load_urdf(path)
    again = saved_and_read(save_urdf, model, tmp_path / "again.urdf", package_dirs=[FOLDER])
    assert same_motion(model, again, np.random.default_rng(0))
    for a, b in zip(model.joints, again.joints, strict=True):
        assert (a.name, a.kind, a.limits, a.damping, a.friction, a.mimic) == (b.name, b.kind, b.limits, b.damping, b.friction, b.mimic)
        assert a.placement[:3, 3].tolist() == b.placement[:3, 3].tolist()
        assert np.abs(a.axis - b.axis).max() < 2e-16
    for a, b in zip(model.links, again.links, strict=True):
        assert a.mass == b.mass and [g.kind for g in a.visuals] == [g.kind for g in b.visuals]


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_read_back_from_mjcf(seed, tmp_path):
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "continuous", "prismatic", "spherical", "fixed"]
    model = random_tree(rng, 6, kinds=kinds, floating_base=bool(seed % 2))
    again = saved_and_read(save_mjcf, model, tmp_path / "again.xml")
    assert same_motion(model, again, rng)


def test_robots_of_mjcf_are_read_back(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text("""<mujoco model="r"><worldbody><geom type="plane" size="1 1 1"/><geom type="box" size="1 1 1" pos="4 0 0"/>
        <body name="torso" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
        <joint name="pitch" axis="0 1 0" pos="0 0 0.3" range="-30 30" damping="0.1" armature="0.2" frictionloss="0.3"/>
        <geom type="capsule" size="0.1 0.2"/><site name="eye" pos="0.1 0 0.2" euler="10 20 30"/>
        <body name="leg" pos="0 0 -0.5" euler="0 30 0"><joint name="hip" type="ball" pos="0 0 0.1"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" contype="0" conaffinity="0"/></body></body></worldbody></mujoco>""")
    model = load(path)
    again = saved_and_read(save_mjcf, model, tmp_path / "again.xml")
    assert same_motion(model, again, np.random.default_rng(0))
    assert [j.name for j in again.joints if j.kind != "fixed"] == ["x", "z", "pitch", "hip"]
    pitch = again.joint("pitch")
    assert (pitch.damping, pitch.armature, pitch.friction) == (0.1, 0.2, 0.3) and pitch.limits == model.joint("pitch").limits
    assert [len(again.link(n).collisions) for n in ("torso", "leg", "static")] == [1, 0, 1]


def arm(**named):
    b = Builder("arm")
    b.add_link("a")
    red = Material("red", (1, 0, 0, 1))
    b.add_link("b", inertia=spatial.inertia.sphere(1.0, 0.1), visuals=[Geometry("ellipsoid", (1, 2, 3), material=red)])
    b.add_joint("j", **{"kind": "revolute", "parent": "a", "child": "b", **named})
    return b.model()


@pytest.mark.parametrize(("save", "named", "expected"), [
    (save_urdf, {"kind": "screw"}, "is screw, which URDF has not"),
    (save_urdf, {"kind": "spherical"}, "is spherical, which URDF has not"),
    (save_urdf, {"limits": Limits(lower=0.0)}, "has one limit"),
    (save_urdf, {"limits": Limits(effort=2.0)}, "none of its range"),
    (save_mjcf, {"kind": "screw"}, "is screw, which MJCF has not"),
    (save_mjcf, {"kind": "planar"}, "is planar, which MJCF has not"),
])  # fmt: skip
def test_what_a_format_has_not_is_refused(save, named, expected, tmp_path):
    with pytest.raises(RobotFileError) as caught:
        save(arm(**named), tmp_path / "r")
    assert expected in str(caught.value) and not (tmp_path / "r").exists()


def test_a_mimic_joint_is_not_written_as_mjcf(tmp_path):
    b = Builder()
    for name in "abc":
        b.add_link(name, inertia=spatial.inertia.sphere(1.0, 0.1))
    b.add_joint("j", "revolute", "a", "b"), b.add_joint("k", "revolute", "a", "c", mimic=Mimic("j", 2.0))
    with pytest.raises(RobotFileError, match="mimics 'j'"):
        save_mjcf(b.model(), tmp_path / "r.xml")
    assert saved_and_read(save_urdf, b.model(), tmp_path / "r.urdf").joint("k").mimic == Mimic("j", 2.0)


def test_what_is_left_out_is_warned_of(tmp_path):
    with pytest.warns(RobotFileWarning, match="leaves out ellipsoids, armature, which is not written"):
        save_urdf(arm(armature=0.5), tmp_path / "r.urdf")
    with pytest.warns(RobotFileWarning, match="leaves out limits of speed"):
        save_mjcf(arm(limits=Limits(velocity=1.0)), tmp_path / "r.xml")
    text = '<mujoco><worldbody><body><joint ref="30"/><geom size="1" contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    with pytest.warns(RobotFileWarning, match="leaves out the configuration described, which is not written"):
        save_urdf(load(text), tmp_path / "r.urdf")
    ball = arm(kind="spherical")
    with pytest.warns(RobotFileWarning, match="leaves out the configuration described of joint 'j', which is not written"):
        save_mjcf(replace(ball, described=Described([0.0, 1.0, 0.0, 0.0])), tmp_path / "r.xml")


@pytest.mark.parametrize("save", [save_urdf, save_mjcf])
def test_what_cannot_be_written_is_refused(save, tmp_path):
    with pytest.raises(RobotFileError, match="expected a folder that is there"):
        save(arm(kind="continuous"), tmp_path / "no" / "such" / "file")
    with pytest.raises(RobotFileError, match="expected a model"):
        save(3, tmp_path / "r")
    with pytest.raises(RobotFileError, match="expected a path"):
        save(arm(), 3)


def test_limits_of_acceleration_and_textures_are_kept_or_said(tmp_path):
    (tmp_path / "wood.png").write_bytes(b"")
    text = """<robot name="r"><link name="a"/><link name="b"><visual><geometry><box size="1 1 1"/></geometry>
    <material name="wood"><texture filename="wood.png"/></material></visual></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="2" acceleration="3" deceleration="4" jerk="0.1"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    model = load_urdf(tmp_path / "r.urdf")
    again = load_urdf(save_urdf(model, tmp_path / "again.urdf"))
    assert again.joints[0].limits == model.joints[0].limits and again.joints[0].limits.jerk == 0.1
    assert again.links[1].visuals[0].material.texture == tmp_path / "wood.png"
    with pytest.warns(RobotFileWarning, match="limits of acceleration and jerk, textures"):
        save_mjcf(model, tmp_path / "r.xml")
