"""SDF files that are wrong: one clear sentence each, and never a traceback."""

import random
import warnings

import pytest

from engine.io import RobotFileError, check, load_sdf
from tests.io.sdf_texts import TEXTS


def sdf(inside: str, version: str = "1.9", model: str = 'name="m"') -> str:
    return f'<sdf version="{version}"><model {model}>{inside}</model></sdf>'


def joint(rest: str = "<axis><xyz>0 0 1</xyz></axis>", kind: str = "revolute", parent: str = "a", child: str = "b") -> str:
    return f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>{rest}</joint>'


def link(inside: str, name: str = "c") -> str:
    return f'<link name="{name}">{inside}</link>'


def said(text, **more) -> str:
    """The one sentence of a text's error."""
    with warnings.catch_warnings(), pytest.raises(RobotFileError) as caught:
        warnings.simplefilter("ignore")
        load_sdf(text, **more)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    return str(caught.value)


AB = '<link name="a"/><link name="b"/>'
BOX = '<collision name="c"><geometry><box><size>{}</size></box></geometry></collision>'
FAULTS = {
    "truncated": ("<sdf version='1.9'><model", "not well-formed XML"),
    "another root": ("<robot/>", "the outermost element is <robot>; expected <sdf>"),
    "empty": ("<sdf version='1.9'/>", "there is no <model>; expected one"),
    "no version": ("<sdf/>", "<sdf> version is ''; expected one from 1.4 to 1.12"),
    "a version to come": (sdf(AB, "2.0"), "<sdf> version is '2.0', which is not read"),
    "no version at all": (sdf(AB, "1.٣"), "expected one from 1.4 to 1.12"),
    "two models": ('<sdf version="1.9"><model name="x"/><model name="y"/></sdf>', "expected model= with one of 'x', 'y'"),
    "document type": ("<!DOCTYPE a><sdf/>", "declares a document type"),
    "no link": (sdf(""), "there is no <link>; expected one"),
    "no name": (sdf("<link/>"), "<link> has no name"),
    "a model without": (sdf(AB, model=""), "<model> has no name"),
    "names": (sdf(AB + '<frame name="a"/>'), "the name is taken by the link in line 1; expected unique names"),
    "a name of SDF's": (sdf('<link name="world"/>'), "the name 'world' stands for a frame of SDF's own"),
    "underscored": (sdf('<link name="__root__"/>'), "stands for a frame of SDF's own"),
    "type": (sdf(AB + joint(kind="revolut")), "type is 'revolut' (did you mean 'revolute'?)"),
    "no type": (sdf(AB + joint().replace("type=", "kind=")), "<joint> has no type"),
    "no parent": (sdf(AB + '<joint name="j" type="fixed"><child>b</child></joint>'), "<joint> has no <parent>"),
    "no child": (sdf(AB + '<joint name="j" type="fixed"><parent>b</parent></joint>'), "<joint> has no <child>"),
    "parent": (sdf(AB + joint(parent="aa")), "<parent> names 'aa', which is not there (did you mean 'a'?); expected a link, or a frame"),
    "child": (sdf(AB + joint(child="x")), "<joint> names 'x', which is not there"),
    "child world": (sdf(AB + joint(child="world")), "the child is the world; expected a link"),
    "both ends": (sdf(AB + joint(child="f") + '<frame name="f" attached_to="a"/>'), "parent and child are both on the link 'a'"),
    "no axis": (sdf(AB + joint("")), "<joint> has no <axis>"),
    "axis": (sdf(AB + joint("<axis><xyz>0 0 0</xyz></axis>")), "<axis> is '0 0 0'; expected a direction"),
    "huge axis": (sdf(AB + joint("<axis><xyz>1e308 1e308 1e308</xyz></axis>")), "expected a direction"),
    "axis' frame": (sdf(AB + joint('<axis><xyz expressed_in="f">0 0 1</xyz></axis>')), "<xyz> names 'f', which is not there"),
    "second axis": (sdf(AB + joint(kind="universal")), "<joint> has no <axis2>"),
    "limits": (sdf(AB + joint("<axis><limit><lower>1</lower><upper>-1</upper></limit></axis>")), "the lower limit 1 exceeds the upper"),
    "limit": (sdf(AB + joint("<axis><limit><lower>nan</lower></limit></axis>")), "<lower> is 'nan'; expected a number"),
    "pitch": (sdf(AB + joint("<axis/><thread_pitch>0</thread_pitch>", "screw")), "<thread_pitch> is 0"),
    "follows": (sdf(AB + joint('<axis><mimic joint="k"/></axis>')), "<mimic> names 'k', which is no joint of the model"),
    "follows itself": (sdf(AB + joint('<axis><mimic joint="j"/></axis>')), "joints j → j mimic one another in a circle"),
    "ball loop": (sdf(AB + joint() + joint(kind="screw").replace('"j"', '"k"')), "the screw joint closes a loop, which is not done"),
    "pose": (sdf(link("<pose>1 2 3</pose>")), "<pose> is '1 2 3'; expected 6 finite numbers"),
    "pose of words": (sdf(link("<pose>a b c d e f</pose>")), "<pose> is 'a b c d e f'"),
    "NaN": (sdf(link("<pose>0 0 0 nan 0 0</pose>")), "expected 6 finite numbers"),
    "huge": (sdf(link(f"<pose>{'9' * 400} 0 0 0 0 0</pose>")), "expected 6 finite numbers"),
    "underscore": (sdf(link("<pose>1_0 0 0 0 0 0</pose>")), "expected 6 finite numbers"),
    "degrees": (sdf(link('<pose degrees="yes">1 0 0 0 0 0</pose>')), "<pose> is 'yes'; expected true or false"),
    "format": (sdf(link('<pose rotation_format="quat">1 0 0 0 0 0</pose>')), "rotation_format is 'quat'"),
    "quaternion": (sdf(link('<pose rotation_format="quat_xyzw">1 0 0 0 0 0 2</pose>')), "is not of length 1"),
    "relative to": (sdf(link('<pose relative_to="x"/>')), "<pose> names 'x', which is not there"),
    "circle": (sdf(link('<pose relative_to="d"/>') + link('<pose relative_to="c"/>', "d")),
               "frames are relative to one another in a circle ('c' → 'd' → 'c'); expected a tree"),
    "itself": (sdf(link('<pose relative_to="c"/>')), "in a circle ('c' → 'c')"),
    "attached": (sdf(AB + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "in a circle ('f' → 'g' → 'f')"),
    "attached apart": (sdf(AB + '<frame name="f" attached_to="g"><pose relative_to="a"/></frame><frame name="g" attached_to="f">'
                           '<pose relative_to="a"/></frame>'), "frames are attached to one another in a circle ('f' → 'g' → 'f')"),
    "attached to nothing": (sdf(AB + '<frame name="f" attached_to="x"/>'), "<frame> names 'x', which is not there"),
    "canonical": (sdf(AB, model='name="m" canonical_link="x"'), "canonical_link is 'x', which is no link of the model"),
    "placement": (sdf(AB, model='name="m" placement_frame="x"'), "<model> names 'x', which is not there"),
    "placed by the world": (sdf(AB, model='name="m" placement_frame="world"'), "placement_frame is 'world', which is not placed in the"),
    "overflow": (sdf(link("<inertial><pose>0 0 0 1 1 1</pose><inertia><ixx>1e308</ixx><iyy>1.7e308</iyy><izz>1.7e308</izz><ixy>1.7e308"
                          "</ixy></inertia></inertial>")), "tensor holds NaN or infinity; expected finite numbers"),
    "a huge solid": (sdf(link('<inertial auto="true"/><collision name="c"><geometry><sphere><radius>1e200</radius></sphere></geometry>'
                              "</collision>"), "1.11"), "radius is 1e+200; expected at most 1e+50 m"),
    "a far place": (sdf(link("<inertial><pose>1e200 0 0 0 0 0</pose></inertial>")), "expected finite numbers"),
    "a joint's circle": (sdf(AB + '<joint name="j" type="fixed"><pose relative_to="j"/><parent>a</parent><child>b</child></joint>'),
                         "in a circle ('j' → 'j')"),
    "mass": (sdf(link("<inertial><mass>-1</mass></inertial>")), "mass is -1 kg; expected zero or more"),
    "inertia": (sdf(link("<inertial><inertia><ixx>inf</ixx></inertia></inertial>")), "<ixx> is 'inf'; expected a finite number"),
    "no volume": (sdf(link('<inertial auto="true"/>'), "1.11"), "finds no collision with a volume"),
    "no closed mesh": (sdf(link('<inertial auto="true"/><collision name="c"><geometry><mesh><uri>no.stl</uri></mesh></geometry>'
                                '</collision>'), "1.11"), "its mesh is asked for its volume"),
    "density": (sdf(link('<inertial auto="true"><density>-1</density></inertial>' + BOX.format("1 1 1")), "1.11"), "<density> is -1"),
    "no geometry": (sdf(link('<visual name="v"/>')), "<visual> has no <geometry>"),
    "size": (sdf(link(BOX.format("1 2"))), "<size> is '1 2'; expected 3 finite numbers"),
    "below zero": (sdf(link(BOX.format("1 2 -3"))), "expected numbers from zero"),
    "normal": (sdf(link('<visual name="v"><geometry><plane><normal>0 0 0</normal></plane></geometry></visual>')), "expected a direction"),
    "friction": ('<sdf version="1.9"><world name="w"><model name="m">' + link(BOX.format("1 1 1") .replace(
        "</collision>", "<surface><friction><ode><mu>-1</mu></ode></friction></surface></collision>")) + '</model><model name="n">'
        + link(BOX.format("1 1 1")) + "</model></world></sdf>", "<mu> is -1; expected zero or more"),
    "step": ('<sdf version="1.9"><world name="w"><physics><max_step_size>0</max_step_size></physics><model name="m"><link name="a"/>'
             "</model></world></sdf>", "<max_step_size> is 0 s; expected a time above zero"),
    "gravity": ('<sdf version="1.9"><world name="w"><gravity>9</gravity><model name="m"><link name="a"/></model></world></sdf>',
                "<gravity> is '9'; expected 3 finite numbers"),
    "static": (sdf("<static>maybe</static>" + AB), "<static> is 'maybe'; expected true or false"),
    "an include": (sdf("<include><uri>model://x</uri></include>" + AB), "the included file 'model://x' names the model 'x', which is not"),
    "an include of nothing": (sdf("<include/>" + AB), "<include> has no <uri>"),
    "an include elsewhere": (sdf("<include><uri>https://fuel.gazebosim.org/x</uri></include>" + AB), "begins with 'https://'"),
    "a way out": (sdf("<include><uri>../../../../../../etc/passwd</uri></include>" + AB), "expected a file inside"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence(fault):
    text, expected = FAULTS[fault]
    assert expected in said(text)
    assert not check(text).ok


def test_a_fault_says_file_line_and_element(tmp_path):
    (tmp_path / "a.sdf").write_text('<sdf version="1.9">\n<model name="m">\n<link name="arm">\n<pose>x</pose></link></model></sdf>')
    with pytest.raises(RobotFileError, match=r"a.sdf:4: link 'arm': <pose> is 'x'; expected 6 finite numbers"):
        load_sdf(tmp_path / "a.sdf")
    (tmp_path / "b.sdf").write_text('<sdf version="1.9"><world name="w">\n<include><uri>a.sdf</uri></include></world></sdf>')
    with pytest.raises(RobotFileError, match=r"a.sdf:4: link 'arm': <pose> is 'x'"):
        load_sdf(tmp_path / "b.sdf")


def test_files_that_include_each_other_are_refused(tmp_path):
    for name, other in ("ab", "ba", "cc"):
        (tmp_path / f"{name}.sdf").write_text(sdf(f"<include><uri>{other}.sdf</uri></include>"))
    for name in "abc":
        assert "includes itself; expected another" in said(tmp_path / f"{name}.sdf")
    (tmp_path / "model.config").write_text("<model/>")
    assert "names no SDF file" in said(sdf(f"<include><uri>model://{tmp_path.name}</uri></include>"), package_dirs=[tmp_path])


def test_a_model_that_is_not_there():
    text = '<sdf version="1.9"><world name="w"><model name="arm"><link name="l"/></model></world></sdf>'
    assert "model='arms' is not there (did you mean 'arm'?); expected one of 'arm'" in said(text, model="arms")
    for wrong in (3, b"<sdf/>", None, "a\n<sdf/>"):
        assert "the robot file is" in said(wrong)
    assert "package_dirs is 3" in said(text, package_dirs=3)
    assert "there is no such file" in said("nowhere.sdf")


@pytest.mark.parametrize("name", ["nested", "a world", "screw"])
def test_any_beginning_of_a_file_is_refused_in_a_sentence(name):
    text = TEXTS[name]
    for k in range(1, len(text), 7):
        said(text[:k])


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_file_loads_or_is_refused_in_a_sentence(seed):
    rng = random.Random(seed)
    words = ("nan", "-1", "0", "1e308", "", "a", "__model__", "world", "m", "true", "9" * 30)
    for _ in range(150):
        text = rng.choice([*TEXTS.values()])
        for _ in range(rng.randrange(1, 4)):
            i = rng.randrange(len(text))
            j = text.find(">", i) + 1 if rng.random() < 0.7 else i
            k = max(j, text.find("<", j)) if rng.random() < 0.8 else j + rng.randrange(4)
            text = text[:j] + rng.choice(words) + text[k:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                load_sdf(text)
            except RobotFileError as problem:
                assert len(str(problem)) < 500 and "\n" not in str(problem)


def test_a_thousand_links_are_read_at_once():
    chain = "".join(link(f'<pose relative_to="{f"l{k - 1}" if k else "__model__"}">0 0 1 0 0 0</pose>', f"l{k}") for k in range(1000))
    joints = "".join(joint(parent=f"l{k}", child=f"l{k + 1}").replace('"j"', f'"j{k}"') for k in range(999))
    assert load_sdf(sdf(chain + joints)).nv == 1005
