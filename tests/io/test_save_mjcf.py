"""What a model describes besides its tree, saved as MJCF: read back the same, and in MuJoCo the same forces."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from engine import Builder, RobotFileWarning, check, combine, load, save_mjcf
from engine.checks import EngineWarning
from engine.io import RobotFileError
from engine.model import Described, Keyframe, Part
from engine.spatial import inertia
from tests.io.described import ROUNDING, differences, plain
from tests.io.mjcf_peer import Pair
from tests.io.test_mjcf_robots import OF_MESHES, ROBOTS, called, folders

mujoco = pytest.importorskip("mujoco")
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
      <joint name="turn" axis="1 0 1" pos="0.1 0.2 0" ref="40" damping="0.5" range="-90 90"/>
      <joint name="roll" axis="1 0 0" pos="0 0 0.2" ref="-15" stiffness="2" springref="10"/>
      <geom name="trunk" type="box" size="0.1 0.2 0.3"/><site name="base" pos="0 0.1 0" euler="0 30 0"/>
      <body name="wrist" pos="0 0 0.5" gravcomp="0.7"><joint name="ball" type="ball" pos="0 0 0.1"/>
        <geom name="hand" size="0.1" friction="0.4"/><site name="tip" pos="0 0 0.2"/>
        <body name="finger" pos="0 0.3 0"><joint name="grip" actuatorfrcrange="-3 3"/>
          <geom type="capsule" size="0.05 0.1" contype="0" conaffinity="0"/></body>
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
  <keyframe><key name="home" time="0.5" qpos="0.1 0.2 0.3 0 0.6 0 0.8 0.4 0.5 1 2 3 0.6 0 0.8 0" qvel="1 2 3 4 5 6 7 8 9 10 11 12 13 14"
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
        np.testing.assert_allclose(getattr(pair.m, what), getattr(first, what), rtol=0.0, atol=1e-14)
    assert pair.m.nsensor == first.nsensor and pair.m.neq == first.neq



PLANE = '<geom type="plane" size="1 1 1"/>'
CONTACTS = """<mujoco><option timestep="0.01">FLAG</option><default><geom solref="0.03 0.8" friction="0.7" size="0.1"/></default><worldbody>
  <geom type="plane" size="1 1 1"/><geom type="box" size="0.1 0.1 0.1" pos="3 0 0" friction="1.2"/>
  <body name="a" pos="0 0 1"><freejoint/><geom friction="0.9"/>
    <body name="b" pos="0.5 0 0"><joint name="j"/><geom conaffinity="0"/><geom pos="0.2 0 0" conaffinity="0"/>
      <body name="c" pos="0.5 0 0"><joint name="k"/><geom contype="0" conaffinity="0"/></body>
      <body name="d" pos="0 0.5 0"><joint name="l"/><geom condim="1"/></body></body></body>
  <body name="e" pos="0 0 3"><freejoint/><geom conaffinity="4" contype="8"/></body>
  <body name="f" pos="0 0 4"><joint type="slide"/><geom/></body></worldbody>
  <contact><exclude body1="f" body2="a"/><exclude body1="world" body2="f"/></contact></mujoco>"""


@pytest.mark.parametrize("text", [
    CONTACTS.replace("FLAG", ""),
    CONTACTS.replace("FLAG", '<flag filterparent="disable"/>'),
    CONTACTS.replace("FLAG", "").replace("0.03 0.8", "-900 -20"),
    CONTACTS.replace("FLAG", "").replace("0.03 0.8", "0.001 1.5"),
    CONTACTS.replace("FLAG", "").replace("0.03 0.8", '0.04" solimp="0.8 0.9 0.01'),
    CONTACTS.replace("FLAG", '<flag contact="disable"/>'),
    CONTACTS.replace("FLAG", '<flag gravity="disable"/>').replace(PLANE, ""),
])  # fmt: skip
def test_contacts_are_read_back(text, tmp_path):
    model = read(text)
    file, lost = saved(model, tmp_path / "again.xml")
    again = read(file)
    assert not lost and max(differences(model.described, again.described).values(), default=0.0) < ROUNDING
    assert {link.name: len(link.collisions) for link in model.links} == {link.name: len(link.collisions) for link in again.links}
    assert mujoco.MjModel.from_xml_path(str(file)).ngeom == sum(len(link.visuals) for link in again.links) + ("plane" in file.read_text())


def test_contacts_that_are_smooth_on_the_ground_alone_are_read_back(tmp_path):
    text = CONTACTS.replace("FLAG", "").replace('friction="0.7"', 'friction="0.7" condim="1"')
    text = text.replace('<joint type="slide"/><geom/>', '<joint type="slide"/><geom condim="3"/>')
    file, lost = saved(model := read(text), tmp_path / "r.xml")
    assert not lost and max(differences(model.described, read(file).described).values(), default=0.0) < ROUNDING


def test_surfaces_of_geoms_are_read_back(tmp_path):
    """Frictions, priorities, belts and solrefs of their own, and none that pairs of geoms say."""
    text = CONTACTS.replace("FLAG", "").replace('<geom friction="0.9"/>', '<geom friction="0.9" priority="2"/><geom solref="0.04 1"/>')
    text = text.replace('name="l"/><geom condim="1"/>', 'name="l"/><geom friction="1.4" euler="30 20 10" surfacevel="0.1 0.2 0.3"/>')
    file, lost = saved(model := read(text), tmp_path / "r.xml")
    assert not lost and max(differences(model.described, read(file).described).values(), default=0.0) < ROUNDING
    assert {n for n in model.described.contacts.values["materials"] if "/" in n} == {"a/1"}
    paired = text.replace("<geom/></body>", '<geom name="x"/><geom name="y"/></body>', 1)
    paired = paired.replace('<geom friction="0.9"', '<geom name="z" friction="0.9"')
    paired = paired.replace("<contact>", '<contact><pair geom1="x" geom2="z" friction="0.2"/>')
    assert "leaves out the contacts described, which" in saved(read(paired), tmp_path / "r.xml")[1]


def test_what_resists_turning_is_read_back(tmp_path):
    text = CONTACTS.replace("FLAG", "").replace('<geom friction="0.9"/>', '<geom friction="0.9 0.03 0.002" condim="6"/>')
    text = text.replace('<joint type="slide"/><geom/>', '<joint type="slide"/><geom condim="4" friction="0.7 0.04"/>')
    text = text.replace('friction="0.7" size', 'friction="0.7 0 0" size').replace('friction="1.2"', 'friction="1.2 0 0"')
    file, lost = saved(model := read(text), tmp_path / "r.xml")
    assert not lost and max(differences(model.described, read(file).described).values(), default=0.0) < ROUNDING
    values = model.described.contacts.values["materials"]
    assert [values[n].values.get("torsional_friction") for n in "abf"] == [0.03, None, 0.04]
    assert [values[n].values.get("rolling_friction") for n in "abf"] == [0.002, None, None]


def test_pairs_in_any_order_are_the_same_contacts(tmp_path):
    model = read(CONTACTS.replace("FLAG", ""))
    said = model.described.contacts
    turned = Part("Contacts", {**said.values, "pairs": tuple((b, a) for a, b in reversed(said.values["pairs"]))})
    file, lost = saved(replace(model, described=replace(model.described, contacts=turned)), tmp_path / "again.xml")
    assert not lost and max(differences(model.described, read(file).described).values(), default=0.0) < ROUNDING


def test_robots_together_are_read_back(tmp_path):
    one = ARM.replace('<freejoint name="free"/>', '<joint name="free"/>').replace('<motor name="w" joint="free" gear="0 0 0 1 2 3"/>', "")
    one = one[: one.index("<keyframe>")] + "</mujoco>"
    with pytest.warns(EngineWarning, match="the contacts that the file of 'a' and 'b' describes are of one robot alone, and are left out"):
        model = combine(a=read(one), b=read(one))
    file, lost = saved(model, tmp_path / "again.xml")
    found = differences(model.described, again := read(file).described)
    assert len(again.forces) == len(model.described.forces) - 2 and lost.count("the force BoxDrag") == 1        # others have other names
    assert lost.count("the sensor") == 4 and all(f"the sensor '{r}/{n} of " in lost for r in "ab" for n in ("gyro", "tendonpos"))
    assert found.pop("forces") and found.pop("sensors") and "actuators" not in found and max(found.values()) < ROUNDING, found


def test_a_spring_at_a_negative_length_pulls_the_same(tmp_path):
    text = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/><body pos="1 0 0"><joint name="b" springref="-30"/>
      <geom size="0.1"/></body></body></worldbody><tendon><fixed name="t" stiffness="2"><joint joint="a" coef="1"/>
      <joint joint="b" coef="3"/></fixed></tendon></mujoco>"""
    model = read(text)
    file, lost = saved(model, tmp_path / "again.xml")
    ((one,), (two,)) = model.described.forces, read(file).described.forces
    assert not lost and one.values["bias"][0] < 0.0
    assert plain(two.values["joints"]) == {j: -c for j, c in one.values["joints"].items()}
    assert two.values["bias"] == (-one.values["bias"][0], *one.values["bias"][1:])


# ---------------------------------------------------------------- what no MJCF file described


def described(**named):
    """A free body with a hand, and two arms on it, with more parts."""
    model = read("""<mujoco><worldbody><body name="body"><freejoint name="base"/><geom name="g" size="0.1"/><site name="eye"/>
      <body name="left" pos="0 1 0"><joint name="l"/><geom size="0.1"/><body name="hand" pos="0 1 0"/></body>
      <body name="right" pos="0 -1 0"><joint name="r"/><geom size="0.1"/></body></body></worldbody></mujoco>""")
    return replace(model, described=replace(Described(model.neutral()), **named))


def test_what_holds_away_from_the_poses_that_are_written_holds_at_sites(tmp_path):
    ball = Part("Ball", {"link_a": "left", "link_b": "right", "point_a": (0.1, 0.2, 0.3), "point_b": (0.4, 0.0, 0.0), "name": "rope"})
    file, lost = saved(described(constraints=(ball,)), tmp_path / "r.xml")
    again = read(file)
    (found,) = again.described.constraints
    assert not lost and found.kind == "Ball" and found.values["name"] == "rope"
    for which in "ab":
        joint = next(j for j in again.joints if j.child == found.values[f"link_{which}"])
        assert joint.parent == ball.values[f"link_{which}"] and joint.kind == "fixed"
        assert tuple(joint.placement[:3, 3]) == ball.values[f"point_{which}"] and not any(found.values[f"point_{which}"])


def test_an_actuator_of_a_body_acts_at_a_site_of_it(tmp_path):
    thruster = Part("GeneralActuator", {"name": "jet", "link": "left", "wrench": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)})
    file, lost = saved(described(actuators=(thruster,)), tmp_path / "r.xml")
    again = read(file)
    (found,) = again.described.actuators
    assert not lost and found.values["wrench"] == thruster.values["wrench"]
    joint = next(j for j in again.joints if j.child == found.values["link"])
    assert joint.parent == "left" and np.array_equal(joint.placement, np.eye(4))


@pytest.mark.parametrize(("named", "expected"), [
    ({"constraints": (Part("Hinge", {"link_a": "left", "link_b": "right", "name": "loop"}),)}, "the constraint Hinge 'loop'"),
    ({"constraints": (Part("Slider", {"link_a": "left", "link_b": "right"}),)}, "the constraint Slider 'left and right'"),
    ({"constraints": (Part("Coupling", {"joint1": "l", "joint2": "base"}),)}, "the constraint Coupling 'l and base'"),
    ({"forces": (Part("JointSpring", {"joint": "l", "stiffness": 1.0, "damping": 2.0}),)}, "the force JointSpring 'l'"),
    ({"forces": (Part("JointSpring", {"joint": "l", "stiffness": 1.0}),) * 2}, "the force JointSpring 'l'"),
    ({"forces": (Part("PointForce", {"link": "left", "force": (1.0, 0.0, 0.0), "name": "push"}),)}, "the force PointForce 'push'"),
    ({"forces": (Part("BoxDrag", {"boxes": {"left": ((1.0, 1.0, 1.0), np.eye(4))}, "density": 1.0}),)}, "the force BoxDrag"),
    ({"actuators": (Part("GeneralActuator", {"name": "a", "joints": {"base": (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)}}),)},
     "the actuator GeneralActuator 'a'"),
    ({"actuators": (Part("GeneralActuator", {"name": "a", "joints": {"l": 1.0}, "gain": (5.0, 0.0, 0.0), "bias": (0.0, -5.0, 1.0)}),)},
     "the actuator GeneralActuator 'a'"),
    ({"contacts": Part("Contacts", {"pairs": (("left", "right"),), "materials": {}})}, "the contacts described"),
    ({"contacts": Part("Contacts", {"pairs": (("left", "right"),), "materials": {n: Part("ContactMaterial", {
        "stiffness": 1e4, "dissipation": 20.0, "friction": 0.5}) for n in ("left", "right")}})}, "the contacts described"),
    ({"sensors": {"far": ("rangefinder", "nowhere"), "odd": ("user", ""), "eye": ("gyro", "eye")}},
     "the sensor 'far' (rangefinder on nowhere), the sensor 'odd' (user), which"),
    ({"keyframes": {"home": Keyframe(0.0, np.eye(9)[0], np.zeros(8), {"gone": 1.0})}}, "commands of keyframe 'home' to gone"),
])  # fmt: skip
def test_what_mjcf_cannot_say_is_named(named, expected, tmp_path):
    file, lost = saved(described(**named), tmp_path / "r.xml")
    assert expected in lost and lost.endswith("which is not written")
    read(file)


@pytest.mark.parametrize("tree", ["root", "leaf", "fixed"])
def test_what_is_called_as_the_world_is_and_hangs_on_a_joint_is_refused(tree, tmp_path):
    """MJCF's world is a body of that name, so that a floating root or a leaf would be lost in it."""
    links = Builder("two")
    for name in ("base", "world") if tree != "root" else ("world",):
        links.add_link(name, inertia=inertia.sphere(1.0, 0.1))
    if tree != "root":
        links.add_joint("j", "revolute" if tree == "leaf" else "fixed", "base", "world")
    with pytest.raises(RobotFileError, match=r"link 'world' hangs on a joint, and MJCF's body of that name .*; expected it with another"):
        save_mjcf(links.model(floating_base=tree == "root"), tmp_path / "r.xml")
    assert not (tmp_path / "r.xml").exists()


def test_the_inertia_of_the_world_is_named_as_left_out(tmp_path):
    links = Builder("stand")
    links.add_link("world", inertia=inertia.sphere(1.0, 0.1))
    links.add_link("bob", inertia=inertia.sphere(1.0, 0.1))
    links.add_joint("j", "revolute", "world", "bob")
    assert "leaves out the inertia of link 'world', which" in saved(links.model(), tmp_path / "r.xml")[1]


@pytest.mark.parametrize(("geom", "left_out"), [('contype="0" conaffinity="0"', True), ("", False)])
@pytest.mark.parametrize(("body", "free"), [("<freejoint/>", True), ("", False)])
def test_a_plane_that_nothing_touches_is_noted(geom, left_out, body, free):
    text = f'<mujoco><worldbody><geom name="f" type="plane" size="1 1 1" {geom}/><body>{body}<geom size="0.1"/></body></worldbody></mujoco>'
    said = [str(f) for f in check(text).findings]
    assert any("nothing touches the plane, and it is left out" in line for line in said) == (left_out or not free)
