"""MJCF files that are wrong: one clear sentence each, and never a traceback; what is not read is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import engine
from engine.io import RobotFileError, RobotFileWarning, check, load

BODY = '<body name="a"><joint name="j"/><geom size="0.1"/></body>'


def world(inside: str, more: str = "") -> str:
    return f"<mujoco>{more}<worldbody>{inside}</worldbody></mujoco>"


def said(text: str) -> str:
    """The one sentence of a text's error."""
    with pytest.raises(RobotFileError) as caught:
        load(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    return str(caught.value)


def servo(attributes: str) -> str:
    """The text of a hinge under a position servo."""
    return world('<body><joint name="j"/><geom size="0.1"/></body>', f'<actuator><position joint="j" {attributes}/></actuator>')


FAULTS = {
    "truncated": ("<mujoco><worldbody><body", "not well-formed XML"),
    "another root": ("<mujocos/>", "expected <robot>"),
    "kind of joint": (world('<body name="a"><joint name="j" type="hing"/></body>'), "type is 'hing' (did you mean 'hinge'?)"),
    "kind of geom": (world('<geom type="cube"/>'), "type is 'cube'"),
    "joints' names": (world(BODY + BODY.replace('"a"', '"b"')), "the name is taken by the joint in line 1"),
    "bodies' names": (world('<body name="a"/><body name="a"/>'), "the name is taken by the body in line 1"),
    "world": (world('<body name="world"/>'), "a body is named 'world'"),
    "mesh": (world('<body><geom type="mesh" mesh="m"/></body>'), "the mesh 'm' is not there"),
    "file of a mesh": (world('<body><geom type="mesh" mesh="m"/></body>', '<asset><mesh name="m" file="m.stl"/></asset>'),
                       "the file 'm.stl' is not there"),
    "not a number": (world(BODY.replace("0.1", "nan")), "size is 'nan'; expected 1 to 3 finite numbers"),
    "huge": (world(BODY.replace("0.1", "9" * 400)), "expected 1 to 3 finite numbers"),
    "huge whole number": (world(BODY.replace("<geom", f'<geom group="{"9" * 5000}"')), "expected a whole number of at most nine digits"),
    "no size": (world('<body><geom type="box" size="1"/></body>'), "expected 3 numbers above zero for a box"),
    "axis": (world('<body><joint axis="0 0 0"/></body>'), "axis is '0 0 0'; expected a direction"),
    "two orientations": (world('<body quat="1 0 0 0" euler="0 0 1"/>'), "has quat and euler; expected one orientation"),
    "class": (world('<body childclass="c"><joint/></body>'), "the class 'c' is not there"),
    "classes twice": (world("", '<default><default class="c"/><default class="c"/></default>'), "the class 'c' is there twice"),
    "free inside": (world(f'{BODY[:-7]}<body><freejoint/></body></body>'), "a free joint in a body inside of another"),
    "free beside": (world('<body><freejoint/><joint/></body>'), "a free joint beside another joint"),
    "actuator on nothing": (world(BODY, '<actuator><motor name="m"/></actuator>'), "it acts on nothing"),
    "actuator of": (world(BODY, '<actuator><motor joint="k"/></actuator>'), "the joint 'k' is not there"),
    "range": (world('<body><joint range="2 1"/></body>'), "range is '2 1'; expected a range, the least number first"),
    "autolimits": (world('<body><joint range="1 2"/></body>', '<compiler autolimits="false"/>'),
                   "neither limited nor the compiler's autolimits"),
    "eulerseq": (world("", '<compiler eulerseq="xyw"/>'), "expected three of the letters"),
    "global": (world("", '<compiler coordinate="global"/>'), "which MuJoCo has given up"),
    "keyframe": (world(BODY, '<keyframe><key qpos="1 2"/></keyframe>'), "qpos is '1 2'; expected a finite number"),
    "replicate": (world('<replicate count="100000000"><geom size="1"/></replicate>'), "expected from 0 to 300000"),
    "replicate of many": (world('<replicate count="999">' * 3 + '<site/>' + "</replicate>" * 3), "elements; expected fewer"),
    "quaternion": (world('<body quat="0 0 0 0"/>'), "quat is zero; expected a quaternion"),
    "friction": (world('<geom size="1" friction="-1"/>'), "friction is -1; expected from zero to 1e+15"),
    "huge friction": (world('<geom type="plane" size="1 1 1"/>' + BODY.replace("<geom", '<geom friction="1e200"')),
                      "friction is 1e+200; expected from zero to 1e+15"),
    **{f"huge {kind}": (world(BODY.replace('size="0.1"', f'type="{kind}" size="1e200 1e200 1e200"')),
                        f"the {kind} of the size '1e200 1e200 1e200' has no finite inertia; expected one of ordinary size")
       for kind in ("sphere", "box", "capsule", "cylinder", "ellipsoid")},
    "huge mass": (world('<geom type="plane" size="1 1 1"/><body><freejoint/><geom size="0.1" mass="1e305"/></body>'),
                  "what it moves with has 1e+305 kg, of which no contact is stiff enough"),
    "far away": (world(BODY.replace("<geom", '<geom pos="1e200 0 0"')), "link 'a': inertia[1, 1] is inf; expected finite numbers"),
    "mass": (world('<body><geom size="1" mass="-1"/></body>'), "mass is -1; expected zero or more"),
    "equality": (world(BODY, '<equality><connect body1="b" anchor="0 0 0"/></equality>'), "body1 is 'b', which is not there"),
    "timestep": (world(BODY, '<option timestep="0"/>'), "timestep is 0 s; expected a time above zero"),
    "density": (world(BODY, '<option density="-1"/>'), "density is -1; expected zero or more"),
    "kv": (servo('kp="5" kv="-3"'), "<position>: kv is -3; expected zero or more"),
    "ratio": (servo('kp="5" dampratio="-1"'), "<position>: dampratio is -1; expected zero or more"),
    "both": (servo('kp="5" kv="1" dampratio="1"'), "<position> has a kv and a dampratio; expected one of them"),
    "time": (servo('kp="5" timeconst="-1"'), "<position>: timeconst is -1; expected zero or more"),
    "springdamper": (world(BODY.replace('name="j"', 'name="j" springdamper="-0.1 1"')), "springdamper is '-0.1 1'; expected"),
    "document type": ("<!DOCTYPE a><mujoco/>", "declares a document type"),
    "plane": (world('<body><freejoint/><geom type="plane" size="1 1 1"/></body>'), "a plane moves"),
    "empty": ("<mujoco/>", ""),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence(fault):
    text, expected = FAULTS[fault]
    if not expected:
        assert load(text).nv == 0
        return
    assert expected in said(text)
    report = check(text)
    assert not report.ok or "<robot>" in expected


def test_a_fault_says_file_line_and_element(tmp_path):
    part = "<mujoco>\n<worldbody>\n<body name='arm'>\n<joint name='elbow' damping='-1'/>\n</body></worldbody></mujoco>"
    (tmp_path / "parts.xml").write_text(part)
    (tmp_path / "robot.xml").write_text("<mujoco><include file='parts.xml'/></mujoco>")
    with pytest.raises(RobotFileError, match=r"parts.xml:4: joint 'elbow': damping is -1; expected zero or more"):
        load(tmp_path / "robot.xml")


def test_files_that_include_each_other_are_refused(tmp_path):
    (tmp_path / "a.xml").write_text("<mujoco><include file='b.xml'/></mujoco>")
    (tmp_path / "b.xml").write_text("<mujoco><include file='a.xml'/></mujoco>")
    with pytest.raises(RobotFileError, match="included twice, or includes itself"):
        load(tmp_path / "a.xml")
    (tmp_path / "c.xml").write_text("<mujoco><include file='../d.xml'/></mujoco>")
    with pytest.raises(RobotFileError, match="expected a file inside"):
        load(tmp_path / "c.xml")


def test_any_beginning_of_a_file_is_refused_in_a_sentence():
    text = world(BODY, '<default><geom size="1"/></default><actuator><motor joint="j"/></actuator>')
    for k in range(1, len(text)):
        said(text[:k])


UNREAD = {
    "an ellipsoid in a fluid": (world(BODY.replace("<geom", '<geom fluidshape="ellipsoid"'), '<option density="1000"/>'),
                                "the fluid is felt by boxes instead"),
    "a soft body": (world(BODY + '<body><flexcomp name="f"/></body>'), "a soft body is not read"),
    "a composite": (world(BODY + '<body><composite type="cable"/></body>'), "a composite is not read"),
    "a muscle": (world(BODY, '<actuator><muscle joint="j"/></actuator>'), "the actuator is left out: <muscle> is not read"),
    "a tendon": (world(BODY + '<site name="s"/><site name="t" pos="1 0 0"/>',
                       '<tendon><spatial stiffness="3"><site site="s"/><site site="t"/></spatial></tendon>'), "a tendon through space"),
    "a cubic": (world(BODY + BODY.replace('"a"', '"b"').replace('"j"', '"k"'),
                      '<equality><joint joint1="j" joint2="k" polycoef="0 1 1 0 0"/></equality>'), "which is not linear"),
    "a range of a ball": (world('<body><joint type="ball" range="0 1"/><geom size="1"/></body>'), "the range of a ball joint is not held"),
    "a spring of a ball": (world('<body><joint type="ball" stiffness="1"/><geom size="1"/></body>'), "the spring of a ball or free joint"),
    "a polynomial": (world('<body><joint stiffness="1 2"/><geom size="1"/></body>'), "of which the linear part counts"),
    "a slip": (world(BODY.replace("<joint", '<joint dampng="3"')),
               'dampng="..." of <joint> is not known and ignored; did you mean damping?'),
    "a tag": (world(BODY, "<actuators/>"), "<actuators> in <mujoco> is not known and ignored; did you mean <actuator>?"),
    "a height field": (world('<geom type="hfield" hfield="h"/>', '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'),
                       "a height field is not read"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNREAD)
def test_what_makes_the_motion_another_is_warned_of_once_and_listed(what):
    text, expected = UNREAD[what]
    with pytest.warns(RobotFileWarning, match="engine.check tells of each") as caught:
        load(text)
    assert len(caught) == 1 and expected in str(caught[0].message)
    assert expected in str(check(text)) and "warning" in str(check(text))


def test_what_makes_no_difference_is_listed_and_not_warned_of():
    text = world(BODY + '<camera/><light/>', '<visual/><option integrator="RK4"/>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(text)
    notes = str(check(text))
    assert all(f"{what} is ignored" in notes for what in ("<visual>", "<camera>", "<light>", 'integrator="..." of <option>'))
    assert "error" not in notes and "warning" not in notes


def test_a_body_without_mass_cannot_move():
    assert "moves no mass" in str(check(world('<body><joint/></body>')))


def test_noise_of_characters_is_refused_in_a_sentence():
    rng, text = np.random.default_rng(0), world(BODY, '<actuator><position joint="j" kp="3"/></actuator>')
    for _ in range(400):
        letters = [*text]
        for _ in range(int(rng.integers(1, 4))):
            letters[rng.integers(1, len(letters))] = chr(int(rng.integers(32, 127)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotFileWarning)
            try:
                load("".join(letters))
            except RobotFileError as problem:
                assert "\n" not in str(problem)


@pytest.mark.parametrize("color", ["", "1 0 red", "1 0", "nan 0 0 1"])
def test_a_colour_that_is_none_stops_no_robot(color):
    text = world(BODY.replace("<geom", f'<geom rgba="{color}" material="m"'), f'<asset><material name="m" rgba="{color}"/></asset>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(text)
    assert model.links[1].mass > 0.0 and model.links[1].visuals[0].material.color == (1.0, 1.0, 1.0, 1.0)
    assert str(check(text)).count(f"rgba is '{color}'; expected 4 finite numbers: it has the usual colour") == 2


def test_sensors_that_nobody_evaluates_are_listed():
    text = world(BODY.replace("</body>", '<site name="s"/></body>')).replace("</mujoco>", """<sensor><accelerometer site="s"/>
      <accelerometer name="again" site="s"/><touch site="s"/><rangefinder site="s"/><velocimeter site="s"/></sensor></mujoco>""")
    report = str(check(text))
    assert "accelerometer" not in report and "rangefinder" not in report
    for kind, count in (("velocimeter", 1),):
        assert f"a sensor of the kind {kind} is listed by its name, and not evaluated ({count} in all)" in report


def test_actuators_without_names_are_commanded_by_those_that_are_printed(tmp_path):
    text = world(BODY, '<option gravity="0 0 0"/>').replace("</mujoco>", """<actuator><motor joint="j"/><motor joint="j" gear="2"/>
      </actuator></mujoco>""")
    model = load(text)
    assert "2 actuators (motor of j, motor of j_)" in repr(model.described)
    engine.save_mjcf(model, tmp_path / "saved.xml")
    again = load(tmp_path / "saved.xml")
    assert [p.values["name"] for p in again.described.actuators] == ["motor of j", "motor of j_"]
    simulator = engine.simulator_of(again, contacts=None, controller=lambda t, q, v: {"motor of j": 1.0, "motor of j_": 1.0})
    v = simulator.run(again.initial(), np.zeros(1), duration=0.01).v[-1, 0]
    assert abs(v - 3.0 * 0.01 / model.links[1].inertia[2, 2]) < 1e-14 * v


@pytest.mark.parametrize(("angle", "span", "said"), [("radian", "-90 90", "the range is -90 90 rad, over two turns"),
                                                     ("degree", "-1.57 1.57", "the range is -1.57 1.57 degrees, of which an end")])
def test_a_range_in_another_unit_is_told(angle, span, said):
    text = world(f'<body><joint range="{span}"/><geom size="0.1"/></body>', f'<compiler angle="{angle}"/>')
    with pytest.warns(RobotFileWarning, match=said):
        load(text)


def test_a_range_of_two_turns_that_is_rounded_is_not_told():
    text = world('<body><joint range="-6.28319 6.28319"/><geom size="0.1"/></body>', '<compiler angle="radian"/>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(text)
    assert "two turns" not in str(check(text))
