"""What a model describes besides its tree, saved as MJCF: read back the same, and in MuJoCo the same forces."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from engine import RobotFileWarning, load, save_mjcf
from engine.io import RobotFileError
from engine.model import Described, Keyframe, Part
from engine.simulation.described import simulator_of
from tests.io.mjcf_peer import Pair
from tests.io.test_mjcf_robots import OF_MESHES, ROBOTS, called, folders

mujoco = pytest.importorskip("mujoco")
WHAT = ("q", "gravity", "dt", "constraints", "actuators", "forces", "contacts", "keyframes", "sensors")
#: of numbers that go through a quaternion, an inertia, or a spring of surfaces: relative to themselves, and beside one
ROUNDING, BESIDE_ONE = 1e-12, 1e-14
#: what MuJoCo and we add up in another order
CLOSE = 1e-10


def read(given, **named):
    """A model, whatever is said of its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        return load(given, **named)


def saved(model, path):
    """The file of a model, and what it leaves out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotFileWarning)
        return save_mjcf(model, path), " ".join(str(w.message) for w in caught)


def plain(x):
    """All that is said of a part, or of many, in lists and dictionaries."""
    if isinstance(x, Part):
        return [x.kind, plain(x.values)]
    if isinstance(x, Keyframe):
        return plain({n: getattr(x, n) for n in ("t", "q", "v", "commands")})
    if hasattr(x, "keys"):
        return {n: plain(x[n]) for n in x}
    return [plain(y) for y in x] if isinstance(x, (tuple, list, np.ndarray)) else x


def apart(a, b):
    """The largest difference of two such things: relative to each number, or to a hundredth where that is less; ∞ of other things."""
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return max((apart(a[n], b[n]) for n in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((apart(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if isinstance(a, float) and isinstance(b, float):
        return 0.0 if a == b else abs(a - b) / max(abs(a), BESIDE_ONE / ROUNDING)
    return 0.0 if a == b else np.inf


def differences(one, two):
    return {what: x for what in WHAT if (x := apart(plain(getattr(one, what)), plain(getattr(two, what))))}


def said(text):
    return read(text).described


# ---------------------------------------------------------------- files of others


@pytest.mark.parametrize("path", ROBOTS, ids=called)
def test_what_a_robots_file_describes_is_read_back(path, tmp_path):
    try:
        model = read(path, package_dirs=folders(path))
    except RobotFileError as problem:
        pytest.skip(str(problem))
    file, lost = saved(model, tmp_path / "again.xml")
    found = differences(model.described, read(file).described)
    assert "sensor" in lost or not lost
    if "sensor" in lost:
        found.pop("sensors")
    exact = ("q", "gravity", "dt", "actuators") if not read(file).described.constraints else ("gravity", "dt", "actuators")
    assert not {*exact} & {*found} and max(found.values(), default=0.0) < ROUNDING, found


@pytest.mark.parametrize("path", ROBOTS, ids=called)
def test_a_saved_robot_feels_the_same_forces_in_mujoco(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)                                                 # where MuJoCo writes its log
    try:
        pair = Pair(mujoco, path, package_dirs=folders(path))
    except ValueError as problem:
        pytest.skip(f"refused by MuJoCo: {str(problem).splitlines()[0][:90]}")
    pair.m = mujoco.MjModel.from_xml_path(str(saved(pair.model, tmp_path / "again.xml")[0]))
    pair.d, pair.boxes = mujoco.MjData(pair.m), True
    assert pair.m.nu == len(pair.actuators)
    found = pair.differences(np.random.default_rng(0))
    assert max((found.get(what, 0.0) for what in ("actuators", "force", "passive")), default=0.0) < CLOSE, found
    assert max(found.values(), default=0.0) < OF_MESHES, found


def test_robots_with_actuators_are_there():
    assert sum(bool(read(path, package_dirs=folders(path)).described.actuators) for path in ROBOTS if "gymnasium" in path.parts) >= 10


# ---------------------------------------------------------------- files of ours

ARM = """<mujoco model="arm"><option timestep="0.001" gravity="0 1 -9" density="1.2" viscosity="0.1" wind="0.1 0 0"/>
  <worldbody><geom type="plane" size="1 1 1" pos="0 0 -0.5" euler="10 0 0"/><site name="anchor" pos="0 0 1"/>
    <body name="base" pos="0.1 0.2 0.3" euler="10 20 30"><inertial mass="2" pos="0.1 0 0" diaginertia="0.1 0.2 0.25" euler="20 0 10"/>
      <joint name="lift" type="slide" axis="0 1 1" ref="0.25" stiffness="3" springref="0.1"/>
      <joint name="turn" axis="1 0 1" pos="0.1 0.2 0" ref="40" damping="0.5" range="-90 90" actuatorfrcrange="-3 3"/>
      <joint name="roll" axis="1 0 0" pos="0 0 0.2" ref="-15" stiffness="2" springref="10"/>
      <geom name="trunk" type="box" size="0.1 0.2 0.3"/><site name="base" pos="0 0.1 0" euler="0 30 0"/>
      <body name="wrist" pos="0 0 0.5" gravcomp="0.7"><joint name="ball" type="ball" pos="0 0 0.1"/>
        <geom name="hand" size="0.1" friction="0.4"/><site name="tip" pos="0 0 0.2"/>
        <body name="finger" pos="0 0.3 0"><joint name="grip"/><geom type="capsule" size="0.05 0.1" contype="0" conaffinity="0"/></body>
        <body name="thumb" pos="0 -0.3 0"><joint name="pinch" ref="5"/><geom type="capsule" size="0.05 0.1"/></body></body></body>
    <body name="stone" pos="2 0 1" euler="40 50 60"><freejoint name="free"/><geom type="ellipsoid" size="0.1 0.2 0.15"/></body></worldbody>
  <tendon><fixed name="fingers" stiffness="4" damping="0.3" springlength="0.2"><joint joint="grip" coef="1"/><joint joint="pinch" coef="2"/>
    </fixed><fixed name="pull"><joint joint="turn" coef="0.3"/><joint joint="roll" coef="-0.7"/></fixed>
    <fixed name="back" stiffness="1.5"><joint joint="roll" coef="-2"/></fixed></tendon>
  <equality><connect name="rope" body1="stone" body2="wrist" anchor="0.1 0.2 0.3"/><connect site1="anchor" site2="tip"/>
    <weld body1="stone" body2="base" relpose="1 2 3 1 0.1 0.2 0.3"/><weld body1="base"/>
    <joint joint1="grip" joint2="pinch" polycoef="0.1 -2 0 0 0"/></equality>
  <actuator><motor name="m" joint="lift" gear="3" ctrlrange="-1 2"/><position joint="turn" kp="5" kv="0.3" gear="2"/>
    <velocity name="v" joint="roll" kv="2" forcerange="-4 3"/><motor name="b" joint="ball" gear="1 2 3"/>
    <general name="f" joint="grip" dyntype="filter" dynprm="0.3" gainprm="2" actrange="-1 1" actlimited="true"/>
    <intvelocity name="i" joint="pinch" kp="3" actrange="-1 1"/><damper name="d" joint="pinch" kv="0.2" ctrlrange="0 1"/>
    <motor name="t" tendon="pull" gear="2"/><motor name="s" site="tip" gear="1 2 3 4 5 6"/><motor name="w" joint="free" gear="0 0 0 1 2 3"/>
  </actuator>
  <sensor><jointpos name="q" joint="turn"/><gyro site="base"/><framepos name="p" objtype="body" objname="stone"/><clock name="c"/>
    <tendonpos tendon="fingers"/><actuatorfrc actuator="s"/><subtreecom body="wrist"/></sensor>
  <keyframe><key name="home" time="0.5" qpos="0.1 0.2 0.3 1 0.1 0.2 0.3 0.4 0.5 1 2 3 0.1 0.2 0.3 1" qvel="1 2 3 4 5 6 7 8 9 10 11 12 13 14"
    ctrl="1 2 3 4 5 6 7 8 9 10"/><key/></keyframe></mujoco>"""


def test_all_that_mjcf_says_is_read_back(tmp_path):
    model = read(ARM)
    file, lost = saved(model, tmp_path / "again.xml")
    found = differences(model.described, read(file).described)
    assert not lost and not {"actuators", "gravity", "dt", "sensors"} & {*found} and max(found.values()) < ROUNDING, found
    again, more = saved(read(file), tmp_path / "more.xml")
    assert not more and max(differences(read(file).described, read(again).described).values(), default=0.0) < ROUNDING


def test_all_that_mjcf_says_is_the_same_in_mujoco(tmp_path):
    pair = Pair(mujoco, ARM)
    pair.m = mujoco.MjModel.from_xml_path(str(saved(pair.model, tmp_path / "again.xml")[0]))
    pair.d = mujoco.MjData(pair.m)
    assert max(pair.differences(np.random.default_rng(0)).values()) < CLOSE
    first = mujoco.MjModel.from_xml_string(ARM)
    np.testing.assert_allclose(pair.m.qpos0, first.qpos0, rtol=0.0, atol=1e-15)
    for what in ("key_qpos", "key_qvel", "key_ctrl", "key_time"):
        np.testing.assert_allclose(getattr(pair.m, what), getattr(first, what) if what != "key_qpos" else normal(first), rtol=0.0, atol=1e-14)
    assert pair.m.nsensor == first.nsensor and pair.m.neq == first.neq


def normal(m):
    """MuJoCo's keyframes, as it has them, with quaternions of the length 1."""
    found = m.key_qpos.copy()
    for k in range(m.njnt):
        if m.jnt_type[k] <= mujoco.mjtJoint.mjJNT_BALL:
            i = m.jnt_qposadr[k] + 3 * (m.jnt_type[k] == mujoco.mjtJoint.mjJNT_FREE)
            found[:, i : i + 4] /= np.linalg.norm(found[:, i : i + 4], axis=1, keepdims=True)
    return found
