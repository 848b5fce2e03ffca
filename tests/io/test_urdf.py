"""URDF: what each element means, what each fault says, and the robots of a public collection against Pinocchio."""

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pinocchio as pin
import pytest

from engine.io import RobotFileError, RobotFileWarning, check, load_mesh, load_urdf, model_hash, model_text
from engine.io.urdf import rotation
from engine.model import Model
from engine.spatial import inertia

ROBOTS = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
FILES = sorted(str(f.relative_to(ROBOTS)) for f in ROBOTS.rglob("*.urdf"))
FAIL = {
    "ur_description/urdf/ur3.urdf": "no links",                                               # an empty <robot>
    "alex_description/urdf/alex_psyonic_hands.urdf": "joint 'Left_index_q2': mimics 'index_q1', which is not there",
}
ANGULAR_FIRST = np.r_[3:6, 0:3]

BODY = '<inertial><origin xyz="0 0 {z}"/><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
STL = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n"


def robot(inside: str) -> str:
    return f'<robot name="r">\n{inside}\n</robot>'


def arm(joint: str = "", kind: str = "revolute", link: str = "", more: str = "") -> str:
    """Two links a and b and the joint j between them."""
    return robot(f'<link name="a"/>\n<link name="b">{link}</link>\n'
                 f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{joint}</joint>\n{more}')  # fmt: skip


def load(folder: Path, text: str | bytes, name: str = "robot.urdf", **options) -> Model:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_urdf(file, **options)


# ---------------------------------------------------------------- elements


def test_defaults(tmp_path):
    model = load(tmp_path, arm())
    joint = model.joint("j")
    assert model.name == "r" and [link.name for link in model.links] == ["a", "b"] and (model.nq, model.nv) == (1, 1)
    assert (joint.placement == np.eye(4)).all() and (joint.axis == [1, 0, 0]).all()
    assert joint.limits.lower == -np.inf and joint.limits.effort == np.inf and (joint.damping, joint.friction, joint.mimic) == (0, 0, None)
    assert model.link("b").mass == 0 and not model.link("b").inertia.any()


def test_a_robot_without_a_name_is_called_after_its_file(tmp_path):
    assert load(tmp_path, '<robot><link name="a"/></robot>', "thing.urdf").name == "thing"


def test_joint_attributes(tmp_path):
    model = load(tmp_path, arm('<origin xyz="1 2 3"/><axis xyz="0 3 4"/><limit lower="-1" upper="2" velocity="3" effort="4"/>'
                               '<dynamics damping="0.5" friction="0.25"/>'))  # fmt: skip
    joint = model.joint("j")
    assert joint.placement[:3, 3].tolist() == [1, 2, 3] and joint.axis.tolist() == [0, 0.6, 0.8]
    assert (joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort) == (-1, 2, 3, 4)
    assert (joint.damping, joint.friction) == (0.5, 0.25)


def test_a_limit_without_bounds_is_zero_as_specified_but_a_continuous_joint_has_none(tmp_path):
    limit = '<limit velocity="1" effort="2"/>'
    assert load(tmp_path, arm(limit)).joint("j").limits.upper == 0
    assert load(tmp_path, arm('<limit lower="-1" upper="1" velocity="1" effort="2"/>', "continuous")).joint("j").limits.upper == np.inf


@pytest.mark.parametrize("kind, nq, nv", [("revolute", 1, 1), ("continuous", 1, 1), ("prismatic", 1, 1), ("fixed", 0, 0),
                                          ("floating", 7, 6), ("planar", 3, 3)])  # fmt: skip
def test_kinds(tmp_path, kind, nq, nv):
    model = load(tmp_path, arm(kind=kind))
    assert model.joint("j").kind == kind and (model.nq, model.nv) == (nq, nv)


def test_floating_base(tmp_path):
    model = load(tmp_path, arm(), floating_base=True)
    assert (model.nq, model.nv) == (8, 7) and model.joints[0].name == "floating_base" and model.v_slice("j") == slice(6, 7)
    taken = load(tmp_path, arm().replace('name="j"', 'name="floating_base"'), floating_base=True)
    assert [j.name for j in taken.joints] == ["floating_base_", "floating_base"] and taken.v_slice("floating_base") == slice(6, 7)


def test_rotation_is_about_fixed_axes_roll_first():
    r, p, y = 0.3, -0.7, 1.9
    x_axis = [np.cos(y) * np.cos(p), np.sin(y) * np.cos(p), -np.sin(p)]          # Rz(y) Ry(p) [1 0 0]
    assert np.allclose(rotation(r, p, y)[:, 0], x_axis, atol=1e-15)
    assert np.allclose(rotation(r, p, y), pin.rpy.rpyToMatrix(r, p, y), atol=1e-15)
    assert np.allclose(rotation(np.pi / 2, 0, np.pi / 2) @ [0, 0, 1], [1, 0, 0])     # z → −y → x


@pytest.mark.parametrize("angle", [1.57079632679, -1.5707963267948966, 3.14159265359, 6.28318530718, 1.5708, 1e-12, 0.0])
def test_angles_are_taken_as_they_are_written(angle):
    """1.57079632679 is 5e-12 short of a quarter turn, of which nothing may be made: an arm's torques would differ by 1e-10 N·m."""
    for k in range(3):
        for other in (0.0, 0.4):
            angles = np.full(3, other)
            angles[k] = angle
            R = rotation(*angles)
            assert np.abs(R - pin.rpy.rpyToMatrix(*angles)).max() < 1e-15 and not np.signbit(R[R == 0]).any()


def test_a_quarter_turn_to_the_last_digit_leaves_zeros(tmp_path):
    """cos(1.5707963267948966) is 6e-17, which is rounding, and would be operations in every compiled step; the shorter one's is kept."""
    for angle, zero in ((np.pi / 2, 0.0), (1.57079632679, np.cos(1.57079632679))):
        (body,) = load(tmp_path, arm(f'<origin rpy="0 0 {angle!r}" xyz="0.1 1e-18 0"/>')).bodies
        assert body.placement.tolist() == [[zero, -1, 0, 0.1], [1, zero, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_inertial_origin_turns_the_tensor_and_moves_it(tmp_path):
    link = ('<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="3"/>'
            '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>')  # fmt: skip
    R, I = rotation(0.4, 0.5, 0.6), np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    G = load(tmp_path, arm(link=link)).link("b").inertia
    assert np.allclose(G, inertia.from_mass(3, np.array([0.1, 0.2, 0.3]), R @ I @ R.T), atol=1e-15)


def test_mimic(tmp_path):
    more = ('<link name="c"/><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>'
            '<mimic joint="j" multiplier="2" offset="0.5"/></joint>')  # fmt: skip
    model = load(tmp_path, arm(more=more))
    assert model.nq == 1 and model.q_slice("k") == model.q_slice("j") and (model.bodies[1].ratio, model.bodies[1].offset) == (2, 0.5)
    plain = load(tmp_path, arm(more=more.replace(' multiplier="2" offset="0.5"', "")))
    assert (plain.bodies[1].ratio, plain.bodies[1].offset) == (1, 0)


def test_mimic_of_a_missing_joint(tmp_path):
    mimic = '<mimic joint="nothing"/>'
    assert load(tmp_path, arm(mimic, "fixed")).nq == 0                            # it moves nothing: no harm
    with pytest.raises(RobotFileError, match=r"robot.urdf:4: joint 'j': mimics 'nothing', which is not there; expected a joint"):
        load(tmp_path, arm(mimic))


def test_order_is_depth_first_as_declared(tmp_path):
    joints = [("z", "root", "b"), ("y", "b", "d"), ("x", "root", "a"), ("w", "b", "c")]
    text = "".join(f'<link name="{n}"/>' for n in "abcd") + '<link name="root"/>' + "".join(
        f'<joint name="{n}" type="revolute"><parent link="{p}"/><child link="{c}"/></joint>' for n, p, c in joints)  # fmt: skip
    model = load(tmp_path, robot(text))
    assert [j.name for j in model.joints] == ["z", "y", "w", "x"] and [link.name for link in model.links] == ["root", "b", "d", "c", "a"]
    assert isinstance(model.graph, nx.DiGraph) and model.graph.edges["b", "d"]["joint"].name == "y"


def test_shapes_and_materials(tmp_path):
    def visual(shape, material=""):
        return f'<visual name="v"><origin xyz="0 0 1" rpy="0 0 0.5"/><geometry>{shape}</geometry>{material}</visual>'

    (tmp_path / "skin.png").write_bytes(b"")
    link = (visual('<box size="1 2 3"/>', '<material name="red"/>')
            + visual('<cylinder radius="0.1" length="2"/>', '<material name="own"><color rgba="0 1 0 0.5"/></material>')
            + visual('<sphere radius="4"/>', '<material name="skin"><texture filename="skin.png"/></material>')
            + visual('<capsule radius="0.1" length="1"/>', '<material name="own"/>')
            + visual('<sphere radius="1"/>', '<material name="undefined"/>')
            + '<collision><geometry><mesh filename="part.stl" scale="1 1 0.5"/></geometry></collision>')  # fmt: skip
    (tmp_path / "part.stl").write_text(STL)
    body = load(tmp_path, arm(link=link, more='<material name="red"><color rgba="1 0 0 1"/></material>')).link("b")
    kinds = [("box", (1, 2, 3)), ("cylinder", (0.1, 2)), ("sphere", (4,)), ("capsule", (0.1, 1))]
    assert [(g.kind, g.size) for g in body.visuals[:4]] == kinds
    assert [g.material.color for g in body.visuals] == [(1, 0, 0, 1), (0, 1, 0, 0.5), None, (0, 1, 0, 0.5), None]
    assert body.visuals[2].material.texture == (tmp_path / "skin.png").resolve() and body.visuals[0].name == "v"
    c, s = np.cos(0.5), np.sin(0.5)
    assert body.visuals[0].placement.tolist() == [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    mesh = body.collisions[0]
    assert (mesh.kind, mesh.size, mesh.uri, mesh.fault) == ("mesh", (1, 1, 0.5), "part.stl", "")
    assert mesh.mesh == (tmp_path / "part.stl").resolve()


def test_a_local_material_is_its_own_and_the_first_definition_is_everyones(tmp_path):
    colours = ("1 0 0 1", "0 1 0 1", None, "0 0 1 1")
    ball = '<visual><geometry><sphere radius="1"/></geometry><material name="m">{}</material></visual>'
    link = "".join(ball.format(f'<color rgba="{c}"/>' if c else "") for c in colours)
    visuals = load(tmp_path, arm(link=link)).link("b").visuals
    assert [g.material.color for g in visuals] == [(1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 0, 1), (0, 0, 1, 1)]


def test_what_touches_nothing_is_ignored(tmp_path):
    text = '<!-- <!DOCTYPE x> --><?hint?><robot name="r" xmlns="http://ros.org"><gazebo/><link name="a"><sensor/></link><other/></robot>'
    assert len(load(tmp_path, text).links) == 1
    assert load(tmp_path, robot('<link name="é"/>').encode("utf-16")).links[0].name == "é"


# ---------------------------------------------------------------- faults: each message says where, what, and what was expected

AXIS = '<axis xyz="{}"/>'
MASS = '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
FAULTS = {
    "nan mass": (arm(link=MASS.format("nan")), ":3: link 'b': <mass> value is 'nan'; expected a finite number"),
    "infinite position": (arm('<origin xyz="0 inf 0"/>'), ":4: joint 'j': <origin> xyz is '0 inf 0'; expected 3 finite numbers"),
    "overflow": (arm('<origin xyz="0 1e999 0"/>'), ":4: joint 'j': <origin> xyz is '0 1e999 0'"),
    "two numbers": (arm('<origin rpy="0 1"/>'), ":4: joint 'j': <origin> rpy is '0 1'; expected 3 finite numbers"),
    "no number": (arm('<limit lower="low" upper="1"/>'), ":4: joint 'j': <limit> lower is 'low'; expected a finite number"),
    "other scripts' digits": (arm('<limit lower="٣" upper="11"/>'), ":4: joint 'j': <limit> lower is '\\u0663'; expected a finite number"),
    "a space that is none": (arm('<origin xyz="1 2 3"/>'), ":4: joint 'j': <origin> xyz is '1\\xa02 3'; expected 3 finite numbers"),
    "an axis without direction": (arm("<axis/>"), ":4: joint 'j': <axis> has no xyz; expected 3 finite numbers"),
    "macros": ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro">\n<xacro:include filename="x"/></robot>',
               ":2: <xacro:include> is a macro, which is not read; expected a URDF file, as xacro writes it: run xacro first"),
    "values of macros": (arm('<origin xyz="0 0 ${h}"/>'), ":4: joint 'j': xyz is '0 0 ${h}', which xacro replaces; expected a URDF file"),
    "python's own numbers": (arm('<limit lower="1_0" upper="11"/>'), ":4: joint 'j': <limit> lower is '1_0'"),
    "absurd inertia": (arm(link=MASS.format("1e300").replace("<mass", '<origin xyz="1e100 0 0"/><mass')), ":3: link 'b': inertia"),
    "negative mass": (arm(link=MASS.format("-1")), ":3: link 'b': mass is -1 kg; expected zero or more"),
    "no mass": (arm(link="<inertial/>"), ":3: link 'b': <inertial> has no <mass>; expected one"),
    "half a tensor": (arm(link='<inertial><mass value="1"/><inertia ixx="1"/></inertial>'), ":3: link 'b': <inertia> has no ixy; expected"),
    "zero axis": (arm(AXIS.format("0 0 0")), ":4: joint 'j': axis is '0 0 0'; expected a direction"),
    "unknown kind": (arm(kind="revolut"), ":4: joint 'j': type is 'revolut' (did you mean 'revolute'?); expected one of revolute"),
    "no kind": (arm().replace(' type="revolute"', ""), ":4: joint 'j': <joint> has no type"),
    "no name": (robot("<link/>"), ":2: link '': <link> has no name; expected name=\"...\""),
    "no parent": (arm().replace('<parent link="a"/>', ""), ":4: joint 'j': <joint> has no <parent>; expected one"),
    "unknown link": (arm().replace('link="a"', 'link="aa"'), ":4: joint 'j': parent link 'aa' is not there"),
    "link twice": (arm(more='<link name="a"/>'), ":5: link 'a': the name is taken by the link in line 2; expected unique names"),
    "joint twice": (arm(more='<link name="c"/><joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint>'),
                    ":5: joint 'j': the name is taken by the joint in line 4"),
    "two joints above": (arm(more='<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>'),
                         ":5: joint 'k': link 'b' hangs on joint 'j' already; expected one joint above each link"),
    "two roots": (arm(more='<link name="c"/>'), ": the model has 2 roots ('a', 'c'); expected one tree"),
    "cycle": (arm(more='<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>'), "form a cycle; expected a tree"),
    "itself": (arm().replace('link="b"', 'link="a"'), "cycle"),
    "mimic in a circle": (arm('<mimic joint="j"/>'), "mimic one another in a circle"),
    "mimic of many": (arm(kind="floating", more='<link name="c"/><joint name="k" type="revolute"><parent link="b"/><child link="c"/>'
                          '<mimic joint="j"/></joint>'), "joint 'k' mimics 'j', which is floating; expected a joint with one coordinate"),
    "floating mimic": (arm('<mimic joint="j"/>', "floating"), ":4: joint 'j': a floating joint cannot mimic"),
    "no shape": (arm(link="<visual><geometry/></visual>"),
                 ":3: link 'b': the <geometry> of a <visual> holds none of the known shapes; expected one of box"),
    "no size": (arm(link="<collision><geometry><box/></geometry></collision>"), ":3: link 'b': <box> has no size; expected 3 finite"),
    "odd colour": (robot('<material name="m"><color rgba="red"/></material>'), ":2: material 'm': <color> rgba is 'red'; expected 4"),
    "no links": ("<robot name='r'/>", ": the model has no links"),
    "another root": ("<sdf/>", ":1: the outermost element is <sdf>; expected <robot>"),
    "truncated": (arm()[:-30], "not well-formed XML"),
    "mismatched": ("<robot>\n<link name='a'>\n</robot>", ":3: not well-formed XML (Opening and ending tag mismatch"),
    "empty": (" \n", ": the file is empty; expected a <robot> element"),
    "garbage": (bytes(range(256)) * 40, "not well-formed XML"),
    "odd encoding": (b'<?xml version="1.0" encoding="nope"?><robot/>', "Unsupported encoding"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_fault(tmp_path, case):
    text, message = FAULTS[case]
    with pytest.raises(RobotFileError) as caught:
        load(tmp_path, text)
    said = str(caught.value)
    assert said.startswith(str(tmp_path / "robot.urdf")) and message in said and "\n" not in said and len(said) < 500, said
    assert str(pickle.loads(pickle.dumps(caught.value))) == said
    pickle.dumps(caught.value.__context__)                                     # as Dask's workers do, too


def test_a_zero_axis_on_a_fixed_joint_is_no_fault(tmp_path):
    assert load(tmp_path, arm(AXIS.format("0 0 0"), "fixed")).nq == 0
    assert np.allclose(load(tmp_path, arm(AXIS.format("1e200 0 1e200"))).joint("j").axis, [np.sqrt(0.5), 0, np.sqrt(0.5)])


def test_files_that_are_none(tmp_path):
    none = tmp_path / "none.urdf"
    for path, said in ((none, "there is no such file"), (tmp_path, "this is a folder"), ("/dev/null", "no regular file"), ("a\0b", "null")):
        with pytest.raises(RobotFileError, match=said):
            load_urdf(path)
    for wrong in (3, None, b"robot.urdf", ["robot.urdf"]):
        with pytest.raises(RobotFileError, match=r"expected a path \(str or pathlib.Path\)"):
            load_urdf(wrong)  # type: ignore[arg-type]
    with pytest.raises(RobotFileError, match="package_dirs is 3; expected folders"):
        load_urdf(tmp_path / "none.urdf", package_dirs=3)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the text itself


def test_a_text_is_read_as_a_file_in_the_working_folder(tmp_path, monkeypatch):
    mesh = '<visual><geometry><mesh filename="part.stl"/></geometry></visual>'
    text = arm(link=mesh)
    for folder in ("work", "parts"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.stl").write_text(STL)
    (tmp_path / "work/robot.urdf").write_text(text)
    monkeypatch.chdir(tmp_path / "work")
    for given in (text, "\n\t " + text, "\ufeff" + text, '<?xml version="1.0"?>' + text):
        model = load_urdf(given, floating_base=True)
        assert model_text(model) == model_text(load_urdf("robot.urdf", floating_base=True))
        assert model.link("b").visuals[0].mesh == tmp_path / "work/part.stl"
    monkeypatch.chdir(tmp_path)
    assert load_urdf(text, package_dirs=["parts"]).link("b").visuals[0].mesh == tmp_path / "parts/part.stl"
    assert load_urdf(text).link("b").visuals[0].fault.startswith("<string>:3: link 'b': mesh 'part.stl' is not there; looked for")


def test_a_text_is_what_it_is_whatever_encoding_it_declares():
    for encoding in ("utf-8", "latin-1", "utf-16"):
        assert load_urdf(f'<?xml version="1.0" encoding="{encoding}"?>\n<robot><link name="é"/></robot>').links[0].name == "é"
    assert load_urdf('<robot><link name="a"/></robot>').name == "robot"


@pytest.mark.parametrize("given, said", [
    ("<arm/>", "<string>:1: the outermost element is <arm>; expected <robot>"),
    ("<robot>\n<link/></robot>", "<string>:2: link '': <link> has no name"),
    ("<robot>", "<string>:1: not well-formed XML"),
    ("<robot>\ud800</robot>", "<string>:1: not well-formed XML (Invalid bytes in character encoding)"),
    ('robot.xml:\n<robot name="r"/>', "expected a path, or XML text that begins with '<'"),
    (b"<robot/>", "the robot file is b'<robot/>'; expected a path (str or pathlib.Path), or XML text"),
    ("<robot>" + " " * 65 * 2**20, "the text is larger than 64 MiB"),
])  # fmt: skip
def test_texts_that_are_none(given, said):
    with pytest.raises(RobotFileError) as caught:
        load_urdf(given)
    assert said in str(caught.value) and len(str(caught.value)) < 300
    if isinstance(given, str) and given.startswith("<"):
        (found,) = [f for f in check(given).findings if f.severity == "error"]
        assert found.message in str(caught.value)


# ---------------------------------------------------------------- URDF 1.2


def test_limits_of_version_1_2_are_kept():
    limit = '<limit lower="-1" upper="1" velocity="2" effort="3" acceleration="4" deceleration="5" jerk="6"/>'
    assert vars(load_urdf(arm(limit)).joint("j").limits) == {"lower": -1, "upper": 1, "velocity": 2, "effort": 3, "acceleration": 4,
                                                             "deceleration": 5, "jerk": 6}  # fmt: skip
    own = load_urdf(arm('<limit velocity="2" effort="3"/>', "continuous")).joint("j").limits
    assert own.acceleration == own.deceleration == own.jerk == np.inf
    assert not [f for f in check(arm(limit)).findings if "jerk" in f.message or "eceleration" in f.message]
    with pytest.warns(RobotFileWarning, match="the jerk limit is -6; expected a positive number"):
        load_urdf(arm(limit.replace("6", "-6")))


def test_limits_that_are_none_leave_the_hash_as_it_was():
    plain = load_urdf(arm('<limit lower="-1" upper="1" velocity="2" effort="3"/>'))
    assert "jerk" in model_text(plain) and model_hash(plain) == "1edcbcff349c667f83c54d79b5e6761c6fe4c9bbc77f456e5698f1ddc01a58a7"
    assert model_hash(load_urdf(arm('<limit lower="-1" upper="1" velocity="2" effort="3" jerk="1"/>'))) != model_hash(plain)


def test_an_origin_by_a_quaternion():
    turned = load_urdf(arm('<origin xyz="1 2 3" quat_xyzw="0 0 0.6 0.8"/>')).joint("j").placement
    assert np.allclose(turned, [[0.28, -0.96, 0, 1], [0.96, 0.28, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], atol=1e-15)
    for wrong, said in (('quat_xyzw="0 0 0 1" rpy="0 0 0"', "expected one of them"), ('quat_xyzw="0 0 0 2"', "a quaternion of length 1")):
        with pytest.raises(RobotFileError, match=said):
            load_urdf(arm(f"<origin {wrong}/>"))


# ---------------------------------------------------------------- inertias that no body has


def test_an_inertia_that_no_body_has_is_told_and_taken(tmp_path):
    thin = MASS.format("1").replace('izz="1"', 'izz="3"')
    said = r"robot.urdf: link 'b': principal moments 1, 1, 3 kg·m² violate .*; no rigid body has such an inertia"
    with pytest.warns(RobotFileWarning, match=said + "$") as told:
        model = load(tmp_path, arm(link=thin))
    assert len(told) == 1 and told[0].filename == __file__ and model.link("b").inertia[2, 2] == 3
    more = f'<link name="c">{thin}</link><joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>'
    with pytest.warns(RobotFileWarning, match=said + r", nor that of 1 other \(engine.check tells of each\)$"):
        load(tmp_path, arm(link=thin, more=more))


@pytest.mark.parametrize(("part", "said"), [
    ('<dynamics damping="-1"/>', r"damping is -1; expected zero or more \(a Simulator drives the joint by it, or .*\)"),
    ('<dynamics friction="-0.5"/>', r"friction is -0.5; expected zero or more \(a Simulator refuses it, .*\)"),
    ('<limit effort="-1" velocity="1"/>', r"the effort limit is -1; expected a positive number \(none is enforced\)"),
    ('<limit effort="1" velocity="-2"/>', r"the velocity limit is -2; expected a positive number \(none is enforced\)"),
    ('<limit effort="-1" velocity="-2"/>', r"the velocity limit is -2; .*; so is 1 more \(engine.check tells of each\)"),
])  # fmt: skip
def test_what_a_joint_has_below_zero_is_told(tmp_path, part, said):
    with pytest.warns(RobotFileWarning, match=rf":\d+: joint 'j': {said}$") as told:
        load(tmp_path, arm(part))
    assert len(told) == 1 and told[0].filename == __file__


LAUGHS = '<!DOCTYPE r [<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)) + "]>"


@pytest.mark.parametrize("text", [
    LAUGHS + '<robot name="r"><link name="a">&l9;</link></robot>',
    LAUGHS + '<robot name="&l9;"><link name="a"/></robot>',
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r"><link name="a">&x;</link></robot>',
    '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd"><robot name="r"><link name="a"/></robot>',
    "<!DOCTYPE robot>" + robot('<link name="a"/>'),
    ("<!DOCTYPE robot>" + robot('<link name="a"/>')).encode("utf-16"),
])  # fmt: skip
def test_document_types_are_refused(tmp_path, text):
    start = time.perf_counter()
    with pytest.raises(RobotFileError, match=r"declares a document type \(<!DOCTYPE>\), which is not read; expected XML without one"):
        load(tmp_path, text)
    assert time.perf_counter() - start < 1


def test_deep_and_large_files_are_refused_quickly(tmp_path, monkeypatch):
    start = time.perf_counter()
    with pytest.raises(RobotFileError, match="nested too deeply"):
        load(tmp_path, b"<robot>" + b"<a>" * 3_500_000)
    monkeypatch.setattr("engine.io.given.MAX_BYTES", 2**20)
    with pytest.raises(RobotFileError, match="larger than 1 MiB"):
        load(tmp_path, b"<robot>" + b" " * 2**20)
    assert time.perf_counter() - start < 2


def test_a_long_chain_loads_in_time(tmp_path):
    n = 500
    joint = '<joint name="j{}" type="revolute"><parent link="l{}"/><child link="l{}"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/></joint>'
    links = "".join(f'<link name="l{i}">{BODY.format(z=0.1)}</link>' for i in range(n + 1))
    load(tmp_path, robot(links + "".join(joint.format(i, i, i + 1) for i in range(n))))
    best = min(timed(lambda: load_urdf(tmp_path / "robot.urdf"), time.process_time) for _ in range(3))
    assert best < 1.5                                                             # 0.12 s on two cores; a quadratic loop takes seconds


def timed(call, clock=time.perf_counter) -> float:
    start = clock()
    call()
    return clock() - start


def test_importing_and_loading_reads_no_mesh_library():
    code = "import sys, engine.io; assert 'lxml' not in sys.modules; engine.io.load_urdf(sys.argv[1]); assert 'trimesh' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(ROBOTS / "panda_description/urdf/panda.urdf")], check=True, env={**os.environ})


# ---------------------------------------------------------------- the robots of example-robot-data


@pytest.mark.parametrize("file", FILES)
def test_robot(file):
    """It loads as Pinocchio loads it: the same links, moving joints, placements, merged inertias, mass and centre of mass."""
    if file in FAIL:
        with pytest.raises(RobotFileError, match=Path(file).name) as caught:
            load_urdf(ROBOTS / file)
        assert FAIL[file] in str(caught.value)
        return
    model = load_urdf(ROBOTS / file, floating_base=True)
    theirs = pin.buildModelFromUrdf(str(ROBOTS / file), pin.JointModelFreeFlyer())
    frames = [f for f in theirs.frames if f.type == pin.FrameType.BODY]
    assert {link.name for link in model.links} == {f.name for f in frames}
    assert len(model.links) == len(frames) == len(model.joints)
    assert {b.joint.name for b in model.bodies[1:]} == set(theirs.names[2:])
    poses, moment, mass = [], np.zeros(3), 0.0
    for i, body in enumerate(model.bodies):
        j = theirs.getJointId(body.joint.name) if i else 1
        G = theirs.inertias[j].matrix()[np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)]
        assert np.abs(body.inertia - G).max() <= 1e-12 * np.abs(G).max(), body.joint.name
        assert not i or np.abs(body.placement - theirs.jointPlacements[j].homogeneous).max() < 4e-15, body.joint.name
        T = body.placement @ body.kind.pose(body.joint, body.kind.manifold.neutral())
        poses.append(poses[body.parent] @ T if body.parent >= 0 else T)
        c = inertia.center(body.inertia)
        moment, mass = moment + body.inertia[5, 5] * (poses[-1] @ [*c, 1.0])[:3], mass + body.inertia[5, 5]
    assert np.isclose(mass, pin.computeTotalMass(theirs), rtol=1e-12)
    assert np.allclose(moment / mass, pin.centerOfMass(theirs, theirs.createData(), pin.neutral(theirs)), rtol=0, atol=1e-10)


def test_the_collection_is_complete_and_its_meshes_are_found():
    assert len(FILES) == 69
    model = load_urdf(ROBOTS / "talos_data/robots/talos_full_v2.urdf")             # package:///example-robot-data/...
    meshes = [g for link in model.links for g in (*link.visuals, *link.collisions) if g.kind == "mesh"]
    assert meshes and all(g.mesh is not None and g.mesh.is_file() for g in meshes)
    panda = load_urdf(ROBOTS / "panda_description/urdf/panda.urdf")
    assert load_mesh(panda.link("panda_link1").collisions[0]).bounds.shape == (2, 3)


ARM = """<robot name="a"><link name="b"/><link name="c"><inertial>%s<mass value="2"/>
<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="b"/><child link="c"/>%s</joint></robot>"""


@pytest.mark.parametrize(("inertial", "joint", "said"), [
    ('<orgin xyz="1 0 0"/>', "", "<orgin> in <inertial> is not known and ignored; did you mean <origin>?"),
    ('<origin xzy="1 0 0"/>', "", 'xzy="..." of <origin> is not known and ignored; did you mean xyz?'),
    ("<origin/><origin/>", "", "<origin> in <inertial> is there 2 times; the first counts"),
    ("", '<origin rpy="90 0 0"/>', "rpy is '90 0 0', over a turn; expected radians (are these degrees?)"),
    ("", '<dynamics dampng="1" frction="2"/>', "did you mean damping?; 1 more such (engine.check tells of each)"),
])  # fmt: skip
def test_what_is_not_read_as_it_is_meant_is_told_on_loading(inertial, joint, said):
    with pytest.warns(RobotFileWarning) as told:
        load_urdf(ARM % (inertial, joint))
    assert [said in str(w.message) for w in told] == [True]
