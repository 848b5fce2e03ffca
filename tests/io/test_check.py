"""The report: each thing that is wrong in a file is found, told with its place and its weight, and nothing is invented."""

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from engine.dynamics import aba, rnea
from engine.io import Finding, Report, RobotFileError, RobotFileWarning, check, load_mesh, load_urdf
from engine.io.check import farthest
from engine.model import Geometry, StateError
from engine.spatial import inertia

ROBOTS = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"

GOOD = '<inertial><origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def inertial(mass: str = "1", moments: str = "0.01 0.01 0.01", at: str = "0 0 0") -> str:
    x, y, z = moments.split()
    return (f'<inertial><origin xyz="{at}"/><mass value="{mass}"/>'
            f'<inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/></inertial>')  # fmt: skip


def robot(link: str = GOOD, joint: str = LIMIT, kind: str = "revolute", more: str = "", root: str = "") -> str:
    return (f'<robot name="r">\n<link name="a">{root}</link>\n<link name="b">{link}</link>\n'
            f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{joint}</joint>\n{more}</robot>')  # fmt: skip


def report(folder: Path, text: str | bytes, **options) -> Report:
    file = folder / "robot.urdf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check(file, **options)


def test_a_good_robot_has_no_findings(tmp_path):
    found = report(tmp_path, robot())
    assert found.ok and found.findings == () and str(found) == f"{tmp_path}/robot.urdf: nothing wrong found"


def limit(lower="-1", upper="1", velocity="1", effort="1") -> str:
    return f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'


def shape(inside: str, material: str = "") -> str:
    return f"{GOOD}<visual><geometry>{inside}</geometry>{material}</visual>"


def joint(name: str, parent: str, child: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


BALL = '<sphere radius="1"/>'
BOX = '<visual><geometry><box size="2 2 2"/></geometry></visual>'
INERTIAL = {  # of the moving link b, in line 3
    "triangle": (inertial(moments="0.01 0.01 0.03"), "warning", "violate the triangle inequality"),
    "negative moment": (inertial(moments="-0.01 0.01 0.01"), "warning", "are not all positive"),
    "tensor without mass": (inertial("0"), "warning", "mass is zero but the rotational inertia is not"),
    "no mass": (inertial("0", "0 0 0"), "note", "the inertial has no mass"),
    "point mass": (inertial("2", "0 0 0", "0 0.3 0"), "warning", "the radius of gyration is 0 m at a mass of 2 kg; expected 1e-05 to 10 m"),
    "huge": (inertial("1e6", "1 1 1"), "warning", "mass is 1e+06 kg; expected 1e-06 to 100000 kg"),
    "tiny": (inertial("1e-9", "1e-12 1e-12 1e-12"), "warning", "mass is 1e-09 kg"),
    "too dense": (inertial("500"), "warning", "of a ball with both the density is 3.38e+08 kg/m³; expected"),
    "small for its shape": (inertial(moments="4e-4 4e-4 4e-4") + BOX, "warning", "0.0115 times the distance from the centre"),
    "large for its shape": (inertial("1", "81 81 81") + BOX, "warning", "5.2 times the distance from the centre"),
    "millimetres": (inertial("1", "1000 1000 1000"), "warning", "the radius of gyration is 31.6 m"),
    "far": (inertial(at="0 120 0"), "warning", "the centre of mass is 120 m from the link's origin; expected at most 10 m"),
    "bad number": (inertial("heavy"), "error", "<mass> value is 'heavy'; expected a finite number"),
    "two inertials": (GOOD + GOOD, "warning", "<inertial> in <link> is there 2 times; the first counts"),
    "misspelt tag": ("<inertal/>", "warning", "<inertal> in <link> is not known and ignored; did you mean <inertial>?"),
    "missing mesh": (shape('<mesh filename="x.stl"/>'), "warning", "mesh 'x.stl' is not there; looked for"),
    "escaping mesh": (shape('<mesh filename="../../../../etc/passwd"/>'), "error", "expected a file inside"),
    "flat box": (shape('<box size="1 0 1"/>'), "warning", "the box of a <visual> has the size 1 0 1; expected positive numbers"),
    "inside out": (shape('<sphere radius="-1"/>'), "error", "the size of a sphere is (-1.0,); expected numbers from zero"),
    "undefined material": (shape(BALL, '<material name="m"/>'), "warning", "material 'm' is not defined"),
    "colours of 255": (shape(BALL, '<material name="m"><color rgba="255 0 0 1"/></material>'), "warning", "colour is '255 0 0 1'"),
    "texture": (shape(BALL, '<material name="m"><texture filename="t.png"/></material>'), "warning", "texture 't.png' is not there"),
}
JOINT = {  # of the joint j, in line 4
    "limits crossed": (robot(joint=limit("1", "-1")), "error", "the lower limit 1 rad exceeds the upper one, -1 rad; expected a range"),
    "degrees": (robot(joint=LIMIT + '<origin rpy="0 0 90"/>'), "warning", "rpy is '0 0 90', over a turn; expected radians (are these deg"),
    "friction": (robot(joint=LIMIT + '<dynamics friction="-2"/>'), "warning", "friction is -2; expected zero or more"),
    "effort below zero": (robot(joint=limit(effort="-3")), "warning", "the effort limit is -3; expected a positive number (none is"),
    "xacro": (robot(joint='<limit lower="-${pi}" upper="1"/>'), "error", "lower is '-${pi}', which xacro replaces; expected a URDF"),
    "limits zero": (robot(joint='<limit velocity="1" effort="1"/>', kind="prismatic"), "warning", "both limits are 0 m; expected a range"),
    "limits wide": (robot(joint=limit("-10", "10")), "warning", "the range is 20 rad, over two turns; expected radians (degrees?)"),
    "no limit": (robot(joint=""), "warning", "the revolute joint has no <limit>"),
    "no speed": (robot(joint=limit(velocity="0")), "warning", "the velocity limit is 0; expected a positive number"),
    "no effort": (robot(joint=limit(effort="0")), "warning", "the effort limit is 0"),
    "effort unsaid": (robot(joint='<limit lower="-1" upper="1" velocity="1"/>'), "note", "there is no effort limit"),
    "misspelt attribute": (robot(joint=LIMIT.replace("lower", "lowr")), "warning", 'lowr="..." of <limit> is not known'),
    "long axis": (robot(joint=LIMIT + '<axis xyz="0 0 2"/>'), "warning", "axis '0 0 2' has the length 2; expected 1"),
    "damping": (robot(joint=LIMIT + '<dynamics damping="-1"/>'), "warning", "damping is -1"),
    "mimic on a fixed joint": (robot(joint='<mimic joint="gone"/>', kind="fixed"), "note", "mimics 'gone' but is fixed"),
    "broken mimic": (robot(joint=LIMIT + '<mimic joint="gone"/>'), "error", "mimics 'gone', which is not there"),
    "moves nothing": (robot(""), "error", "moves no mass"),
    "moves a zero": (robot(inertial("0", "0 0 0")), "error", "moves no mass"),
    "point on the axis": (robot(inertial("2", "0 0 0", "0.3 0 0")), "error", "moves 2 kg without inertia along its motion"),
    "negative together": (robot(inertial(moments="-0.01 0.01 0.01")), "warning", "together a negative moment of inertia, -0.01 kg·m²"),
}
FILE = {
    "loose link": (robot(more='<link name="c"/>'), "error", "link 'c'", 5, "no joint connects the link to the tree of 'a'"),
    "link twice": (robot(more='<link name="a"/>'), "error", "link 'a'", 5, "the name is taken by the link in line 2"),
    "foreign tag": (robot(more="<gazebo/><gazebo/>"), "note", "robot", 0, "<gazebo> is ignored (2 times)"),
    "no name": (robot().replace(' name="r"', ""), "note", "robot", 1, "the robot has no name"),
    "malformed": (robot()[:-3], "error", "robot", 5, "not well-formed XML"),
    "document type": ("<!DOCTYPE robot>" + robot(), "error", "robot", 0, "declares a document type"),
    "empty": ("", "error", "robot", 0, "the file is empty"),
    "cycle": (robot(more=joint("k", "b", "a")), "error", "robot", 0, "form a cycle"),
}
CASES = ({k: (robot(link), severity, "link 'b'", 3, said) for k, (link, severity, said) in INERTIAL.items()}
         | {k: (text, severity, "joint 'j'", 4, said) for k, (text, severity, said) in JOINT.items()} | FILE)  # fmt: skip
#: errors that do not keep a file from loading
LOADS = {"escaping mesh", "moves nothing", "moves a zero", "point on the axis", "negative together", "negative moment",
         "no mass", "misspelt tag"}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_finding(tmp_path, case):
    text, severity, place, line, said = CASES[case]
    found = report(tmp_path, text)
    fitting = [f for f in found.findings if said in f.message]
    assert [(f.severity, f.place, f.line) for f in fitting] == [(severity, place, line)], str(found)
    assert found.ok == all(f.severity != "error" for f in found.findings)
    assert f"  {severity:<8} {place}" in str(found)


@pytest.mark.parametrize("case", CASES)
def test_what_the_report_calls_unloadable_does_not_load_and_the_rest_does(tmp_path, case):
    found = report(tmp_path, CASES[case][0])
    if found.ok or case in LOADS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotFileWarning)
            load_urdf(found.file)
    else:
        with pytest.raises(RobotFileError):
            load_urdf(found.file)


def test_everything_is_found_at_once_errors_first(tmp_path):
    more = '<link name="c"><inertial/></link><gazebo/>' + joint("k", "b", "d").replace("fixed", "revolute")
    found = report(tmp_path, robot(inertial("heavy"), limit("1", "-1", "0", "x"), "wheel", more))
    assert [f.place for f in found.findings] == ["link 'b'", "joint 'j'", "joint 'j'", "link 'c'", "joint 'k'", "joint 'k'", "robot"]
    assert [f.severity for f in found.findings] == ["error"] * 5 + ["warning", "note"]
    assert str(found).splitlines()[0].endswith("robot.urdf: 5 errors, 1 warning, 1 note") and len(str(found).splitlines()) == 8


def test_all_errors_of_one_link_and_one_joint_are_found(tmp_path):
    """Each in its own words; what a wrong number would bring about further on is none."""
    odd = inertial("x", "1 y 1").replace('izz="1"', "") + shape('<box size="1 1"/>') + shape("<ball/>")
    found = report(tmp_path, robot(odd.replace(GOOD, ""), limit("2", "1", "v", "e") + '<axis xyz="0 z 1"/><mimic/><dynamics damping="d"/>'))
    errors = [f.message.split(";")[0] for f in found.findings if f.severity == "error"]
    assert errors == [
        "<mass> value is 'x'", "<inertia> iyy is 'y'", "<inertia> has no izz", "<box> size is '1 1'",
        "the <geometry> of a <visual> holds none of the known shapes", "<dynamics> damping is 'd'", "<axis> xyz is '0 z 1'",
        "<limit> velocity is 'v'", "<limit> effort is 'e'", "the lower limit 2 rad exceeds the upper one, 1 rad", "<mimic> has no joint",
    ]  # fmt: skip
    unknown = robot(joint='<axis xyz="0 0 0"/>', kind="hinge").replace('<child link="b"/>', "")
    errors = [f.message.split(";")[0] for f in report(tmp_path, unknown).findings]
    assert errors == ["type is 'hinge'", "<joint> has no <child>", "axis is '0 0 0'"]


def test_a_format_that_is_read_up_to_its_first_error_says_so():
    found = check('<mujoco><worldbody><body pos="x"/></worldbody></mujoco>')
    assert [f.severity for f in found.findings] == ["error", "note"]
    assert found.findings[1].message == "reading ended at this error; there may be others"


def test_implausible_inertias_of_other_formats():
    body = ('<mujoco><worldbody><body name="b"><joint/><geom type="box" size="1 1 1"/>'
            '<inertial pos="0 0 0" mass="{}" diaginertia="{}"/></body></worldbody></mujoco>')  # fmt: skip
    for mass, moments, said in (("500", "0.01 0.01 0.01", "the density is 3.38e+08"), ("1", "4e-4 4e-4 4e-4", "0.0115 times"),
                                ("1", "81 81 81", "5.2 times"), ("1", "0.2 0.2 0.2", "")):  # fmt: skip
        found = [f.message for f in check(body.format(mass, moments)).findings if "body 'b'" in f.place]
        assert (len(found) == 1 and said in found[0]) if said else not found


@pytest.mark.parametrize("density, warned", [(0.999 * 22_590, False), (1.001 * 22_590, True)])
def test_the_bound_of_density_is_that_of_a_ball(tmp_path, density, warned):
    """The law that the bound follows from: of all bodies that are nowhere denser, a ball has the least largest moment of inertia."""
    G = inertia.sphere(radius=0.1, density=density)
    text = inertial(f"{G[5, 5]:.17g}", " ".join(3 * [f"{G[0, 0]:.17g}"]))
    assert ("osmium" in str(report(tmp_path, robot(text)))) == warned
    box = inertia.box(size=[0.1, 0.1, 0.1], density=density)                    # denser bodies of other shapes may pass, never others fail
    assert np.max(box.diagonal()[:3]) / box[5, 5] ** (5 / 3) > G[0, 0] / G[5, 5] ** (5 / 3)


@pytest.mark.parametrize("g", [Geometry("box", (0.2, 0.4, 0.6)), Geometry("cylinder", (0.2, 0.5)), Geometry("capsule", (0.2, 0.5)),
                               Geometry("sphere", (0.3,))], ids=lambda g: g.kind)  # fmt: skip
def test_the_farthest_point_of_a_shape_is_that_of_its_triangles(g):
    """Whose vertices lie on the surface, none of it farther from one than by an angle of 0.12: by r (1 − cos 0.12) less far at most."""
    for c in np.random.default_rng(0).uniform(-1.0, 1.0, (20, 3)):
        seen = np.linalg.norm(load_mesh(g).vertices - c, axis=1).max()
        assert seen - 1e-12 <= farthest(g, c) <= seen + (1e-12 if g.kind == "box" else 0.3 * (1.0 - np.cos(0.12)))


def test_a_mimic_that_follows_a_moving_mass_is_no_singularity(tmp_path):
    more = '<link name="c"/><joint name="k" type="revolute"><parent link="a"/><child link="c"/>' + LIMIT + '<mimic joint="j"/></joint>'
    assert report(tmp_path, robot(more=more)).findings == ()
    assert report(tmp_path, robot("", more=more.replace('"c"/>', f'"c">{GOOD}</link>', 1))).findings == ()


# ---------------------------------------------------------------- can it move?


def chain(*links: str, axes: tuple[str, ...] = ("0 0 1", "0 0 1"), base: str = "") -> str:
    """A base and links that turn one on another, 0.1 m apart along x."""
    text = f'<link name="l0">{base}</link>' + "".join(f'<link name="l{i}">{link}</link>' for i, link in enumerate(links, 1))
    for i, axis in enumerate(axes[: len(links)], 1):
        text += (f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/><origin xyz="{0.1 * (i > 1)} 0 0"/>'
                 f'<axis xyz="{axis}"/></joint>')  # fmt: skip
    return f'<robot name="r">{text}</robot>'


@pytest.mark.parametrize("text, floating_base, severity, said", [
    (chain("", GOOD, axes=("1 0 0", "1 0 0")), False, "error", "joint 'j1' moves no mass: the joint-space inertia is singular"),
    (chain(GOOD, GOOD), False, "", ""),
    (chain(GOOD, GOOD, base=GOOD), True, "", ""),
    (chain(GOOD), True, "error", "joint 'floating_base' moves no mass"),
    (chain(GOOD, base=inertial("1", "0 0 0")), True, "error", "joint 'floating_base' moves 1 kg without inertia along its motion"),
    (chain(inertial("1e-12", "1e-14 1e-14 1e-14"), GOOD, axes=("1 0 0", "1 0 0")), False, "warning", "forward dynamics is right to"),
    (chain(*[inertial("1e308", "1e308 1e308 1e308")] * 2), False, "error", "dynamics is not finite"),
    (chain(GOOD, GOOD).replace("</joint></robot>", '<mimic joint="j1" multiplier="1e200"/></joint></robot>'), False, "error", "not finite"),
    (chain("", inertial("1", "0 0 0", "-0.1 0 0.1"), axes=("0 0 1", "0 1 0")), False, "warning",
     "at the neutral configuration, joint 'j1' moves no mass"),
], ids=["in line", "sound", "floats", "no base", "a point for a base", "nearly", "absurd", "steep mimic", "only here"])  # fmt: skip
def test_what_has_no_forward_dynamics_is_found(tmp_path, text, floating_base, severity, said):
    """And what has is not: then rnea and aba are each other's inverses."""
    found = report(tmp_path, text, floating_base=floating_base)
    moving = [f for f in found.findings if "moves" in f.message or "dynamics" in f.message]
    assert [f.severity for f in moving] == [severity] * bool(said), str(found)
    assert said in str(found)
    model = load_urdf(found.file, floating_base=floating_base)
    q, one = model.neutral(), np.ones(model.nv)
    with np.errstate(all="ignore"):
        try:
            wrong = np.abs(aba(model, q, 0 * one, rnea(model, q, 0 * one, one)) - one).max()
        except StateError:
            assert said
        else:
            assert (wrong < 1e-8) == (not said)


def test_a_finding_prints_in_one_line():
    assert str(Finding("note", "link 'x'", "is there", 7)) == "note     link 'x' (line 7): is there"


def test_only_arguments_of_the_wrong_type_raise(tmp_path):
    assert [f.message for f in check(tmp_path / "none.urdf").findings] == ["there is no such file; expected a URDF file"]
    assert not check(tmp_path).ok and not report(tmp_path, bytes(range(256))).ok
    with pytest.raises(RobotFileError, match="expected a path"):
        check(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("file, ok, said", [
    ("panda_description/urdf/panda.urdf", True, "<safety_controller> in <joint> is ignored (7 times)"),
    ("tiago_description/robots/tiago.urdf", True, "link 'base_antenna_left_link' (line 176): principal moments -3.53486e-08"),
    ("romeo_description/urdf/romeo.urdf", False, "joint 'LHand' (line 1443): moves no mass"),
    ("alex_description/urdf/alex_psyonic_hands.urdf", False, "joint 'Right_pinky_q2' (line 1606): mimics 'pinky_q1', which is not there"),
    ("talos_data/robots/talos_reduced.urdf", True, "mimics 'gripper_left_joint' but is fixed"),
    ("ur_description/urdf/ur3.urdf", False, "the model has no links"),
])  # fmt: skip
def test_real_robots(file, ok, said):
    found = check(ROBOTS / file)
    assert found.ok == ok and said in str(found)


def test_reports_of_all_robots():
    """Of 69 files 4 have errors, 16 have unphysical inertias and 36 have inertials without mass."""
    found = [check(f) for f in ROBOTS.rglob("*.urdf")]
    wrong = sorted(Path(r.file).stem for r in found if not r.ok)
    assert wrong == ["alex_psyonic_hands", "romeo", "romeo_laas_small", "ur3"]
    assert len(found) == 69
    assert sum("principal moments" in str(r) for r in found) == 16 and sum("has no mass" in str(r) for r in found) == 36
