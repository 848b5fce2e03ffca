"""SDF: what each element means, by hand."""

import warnings

import numpy as np
import pytest

from engine.checks import EngineError
from engine.constraints import Coupling, Hinge, Slider, Weld
from engine.dynamics import forward_kinematics
from engine.io import RobotFileWarning, check, load_sdf
from engine.io.sdf.sdf import read
from engine.model import Limits
from engine.spatial import inertia

BODY = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
BOX = "<geometry><box><size>1 2 3</size></box></geometry>"


def sdf(inside: str, version: str = "1.11", model: str = "") -> str:
    return f'<sdf version="{version}">\n<model name="m"{model}>\n{inside}\n</model></sdf>'


def links(*names: str, inside: str = BODY) -> str:
    return "".join(f'<link name="{n}">{inside}</link>' for n in names)


def joint(rest: str = "", kind: str = "revolute", name: str = "j", parent: str = "a", child: str = "b", axis: str = "0 0 1") -> str:
    axes = f"<axis><xyz>{axis}</xyz>{rest}</axis>" if axis else rest
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axes}</joint>'


HOLD = joint(kind="fixed", name="hold", parent="world", child="a", axis="")


def load(text, **more):
    """Return the model of a text, whatever is said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_sdf(text, **more)


def poses(model, **q):
    """Return the poses of links by their names, at a configuration."""
    x = model.neutral()
    for name, value in q.items():
        x[model.q_slice(name)] = value
    return dict(zip((link.name for link in model.links), forward_kinematics(model, x), strict=True))


def at(model, link, **q):
    """Return where a link's origin is, to 12 digits."""
    return (poses(model, **q)[link][:3, 3].round(12) + 0.0).tolist()


# ---------------------------------------------------------------- joints


def test_a_joint_beside_its_childs_origin_has_a_link_of_its_name():
    model = load(sdf(HOLD + links("a", "b") + joint().replace("<parent>", "<pose>1 0 0 0 0 0</pose><parent>")))
    assert [(j.name, j.kind) for j in model.joints] == [("hold", "fixed"), ("j", "revolute"), ("j::child", "fixed")]
    assert at(model, "b") == [0, 0, 0] and at(model, "b", j=np.pi / 2) == [1, -1, 0] and at(model, "j", j=2.0) == [1, 0, 0]
    assert model.link("j").mass == 0


def test_a_joint_along_its_axis_has_none():
    model = load(sdf(HOLD + links("a", "b") + joint().replace("<parent>", "<pose>0 0 1 0 0 0</pose><parent>")))
    assert [j.name for j in model.joints] == ["hold", "j"]


@pytest.mark.parametrize(("pitch", "per_turn"), [
    ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.5), ("<screw_thread_pitch>-0.5</screw_thread_pitch>", -0.5),
    (f"<thread_pitch>{-2 * np.pi / 0.5}</thread_pitch>", 0.5), ("", 1.0),
    ("<screw_thread_pitch>0.25</screw_thread_pitch><thread_pitch>7</thread_pitch>", 0.25),
])  # fmt: skip
def test_a_turn_of_a_screw(pitch, per_turn):
    model = load(sdf(HOLD + links("a", "b") + joint(kind="screw").replace("</joint>", f"{pitch}</joint>")))
    assert np.allclose(at(model, "b", j=2 * np.pi), [0, 0, per_turn], atol=1e-12)


def test_revolute2_is_two_joints():
    second = "<axis2><xyz>1 1 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis2>"
    both = joint("<dynamics><damping>3</damping></dynamics>", "revolute2").replace("</joint>", f"{second}</joint>")
    model = load(sdf(HOLD + links("a", "b") + both))
    assert model.labels("q") == ("j", "j::axis2") and model.joint("j").damping == 3 and model.joint("j::axis2").limits == Limits(-1, 2)
    assert at(model, "b") == [0, 0, 0]


def test_limits_and_losses():
    limit = "<limit><lower>-0.5</lower><upper>1e16</upper><effort>-1</effort><velocity>3</velocity></limit>"
    moves = "<dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>4</spring_stiffness>" \
            "<spring_reference>0.3</spring_reference></dynamics>"  # fmt: skip
    model, _ = read(sdf(HOLD + links("a", "b") + joint(limit + moves)))
    said = model.described
    j = model.joint("j")
    assert (j.limits, j.damping, j.friction) == (Limits(-0.5, np.inf, 3.0), 0.1, 0.2)
    assert [(p.kind, p.values) for p in said.forces] == [("JointSpring", {"joint": "j", "stiffness": 4.0, "rest": 0.3})]


def test_mimic_counts_from_its_reference():
    follows = '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    model = load(sdf(HOLD + links("a", "b", "c") + joint() + joint(follows, name="k", child="c")))
    assert model.nq == 1 and model.joint("k").mimic.source == "j"
    turned = poses(model, j=0.4)["c"]
    angle = 2 * (0.4 - 0.1) + 0.5
    assert np.allclose(turned[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-12)


def test_what_is_followed_of_a_universal_joint_is_one_of_two():
    two = joint(kind="universal").replace("</joint>", "<axis2><xyz>0 1 0</xyz></axis2></joint>")
    follows = '<mimic joint="j" axis="axis2"/>'
    model = load(sdf(HOLD + links("a", "b", "c") + two + joint(follows, name="k", child="c")))
    assert model.labels("q") == ("j", "j::axis2") and model.joint("k").mimic.source == "j::axis2"
    assert load(sdf(HOLD + links("a", "b") + two)).joint("j").kind == "universal"


def test_a_gearbox_couples_two_joints():
    gear = ('<joint name="g" type="gearbox"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>'
            "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body></joint>")  # fmt: skip
    for axis, ratio in (("0 0 1", -3.0), ("0 0 -1", 3.0)):
        model, _ = read(sdf(HOLD + links("a", "b", "c") + joint() + joint(name="k", child="c", axis=axis) + gear))
        said = model.described
        (part,) = said.constraints
        assert model.nv == 2 and part.kind == "Coupling" and Coupling(**part.values).ratio == ratio       # θ_c = −3 θ_b
        assert (part.values["joint1"], part.values["joint2"]) == ("k", "j")
    with pytest.warns(RobotFileWarning, match="no revolute joint joins 'b' to 'a', so that the gearbox is left out"):
        load_sdf(sdf(HOLD + links("a", "b", "c") + joint(kind="prismatic") + joint(name="k", child="c") + gear))


@pytest.mark.parametrize(("kind", "made"), [("revolute", Hinge), ("prismatic", Slider), ("fixed", Weld)])
def test_a_second_joint_above_a_link_is_a_constraint(kind, made):
    loop = joint(name="k", kind=kind, parent="c", axis="" if kind == "fixed" else "0 1 0")
    model, _ = read(sdf(HOLD + links("a", "b", "c") + joint() + joint(name="i", child="c") + loop))
    said = model.described
    (part,) = said.constraints
    assert part.kind == made.__name__ and made(**part.values).title == "k" and model.labels("q") == ("j", "i")
    assert (part.values["link_a"], part.values["link_b"]) == ("c", "b")


# ---------------------------------------------------------------- who floats


def test_what_no_joint_ties_to_the_world_floats():
    model, _ = read(sdf("<pose>1 2 3 0 0 0</pose>" + links("a", "b") + joint()))
    said = model.described
    assert model.labels("q")[:4] == ("floating_base.qw", "floating_base.qx", "floating_base.qy", "floating_base.qz")
    assert said.q.tolist() == [1, 0, 0, 0, 1, 2, 3, 0] and at(load(sdf(HOLD + links("a"))), "a") == [0, 0, 0]


def test_a_static_model_stands():
    model = load(sdf("<pose>1 2 3 0 0 0</pose><static>true</static>" + links("a", "b") + joint()))
    assert model.nq == 0 and at(model, "b") == [1, 2, 3]


def test_two_trees_float_apart():
    model, _ = read(sdf(links("a") + '<link name="b"><pose>0 0 1 0 0 0</pose></link>'))
    said = model.described
    assert [j.name for j in model.joints] == ["a::floating_base", "b::floating_base"] and model.nq == 14 and said.q[-1] == 1


def test_a_models_own_world():
    text = f"""<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity><physics type="ode"><max_step_size>0.002</max_step_size>
    </physics><model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane><normal>0 1 0</normal></plane>
    </geometry><surface><friction><ode><mu>0.7</mu><mu2>0.7</mu2></ode></friction></surface></collision></link></model>
    <model name="box"><pose>0 5 0 0 0 0</pose><link name="l"><gravity>0</gravity>{BODY}<collision name="c">{BOX}</collision></link></model>
    </world></sdf>"""
    model, notes = read(text)
    said = model.described
    assert [link.name for link in model.links] == ["world", "floor::l", "box::l"] and not notes
    assert (said.gravity, said.dt) == ((0, 0, -1.6), 0.002)
    assert said.forces[0].values["force"] == (0, 0, 3.2) and said.contacts.values["pairs"] == (("floor::l", "box::l"),)
    assert said.contacts.values["materials"]["floor::l"].values == {"friction": 0.7}
    (plane,) = model.link("floor::l").collisions
    assert plane.kind == "heightfield" and np.allclose(plane.placement[:3, 2], [0, 1, 0], atol=1e-15)
    assert [link.name for link in load(text, model="box").links] == ["l"] and load(text, model="box").nq == 7


def test_links_of_a_model_touch_where_it_says_so():
    shapes = links("a", "b", "c", inside=BODY + f'<collision name="c">{BOX}</collision>')
    assert read(sdf(shapes + joint()))[0].described.contacts is None
    said = read(sdf("<self_collide>1</self_collide>" + shapes + joint()))[0].described
    assert said.contacts.values["pairs"] == (("a", "c"), ("b", "c"))                  # a joint is between a and b


def test_each_surface_of_a_link_has_its_own_friction():
    rubs = "<surface><friction><ode><mu>{}</mu></ode></friction></surface>"
    shapes = [f'<collision name="{n}">{BOX}{mu and rubs.format(mu)}</collision>' for n, mu in (("p", "0.2"), ("q", ""), ("r", "0.2"))]
    shapes.insert(1, '<collision name="unread"><geometry><polyline/></geometry></collision>')
    model, _ = read(sdf(links("a", inside=BODY + "".join(shapes)) + links("b", inside=BODY + f'<collision name="c">{BOX}</collision>')
                        + "<self_collide>1</self_collide>"))  # fmt: skip
    numbers = {n: m.values["friction"] for n, m in model.described.contacts.values["materials"].items()}
    assert numbers == {"a": 0.2, "a/q": 1.0, "b": 1.0}


def test_torsional_friction_is_that_of_a_patch():
    """3π/16 μ a, as Gazebo has it; one that grows with depth is not read, and said."""
    rubs = "<surface><friction><torsional>{}</torsional></friction></surface>"
    given = {"p": "<coefficient>0.5</coefficient><patch_radius>0.02</patch_radius>", "q": "<patch_radius>0.03</patch_radius>",
             "r": "<coefficient>0.5</coefficient>"}  # fmt: skip
    shapes = [f'<collision name="{n}">{BOX}{rubs.format(x)}</collision>' for n, x in given.items()]
    text = sdf(links("a", inside=BODY + "".join(shapes)) + links("b", inside=BODY + f'<collision name="c">{BOX}</collision>')
               + "<self_collide>1</self_collide>")  # fmt: skip
    numbers = {n: m.values.get("torsional_friction", 0.0) for n, m in read(text)[0].described.contacts.values["materials"].items()}
    assert numbers == pytest.approx({"a": 3 * np.pi / 16 * 0.01, "a/q": 3 * np.pi / 16 * 0.03, "a/r": 0.0, "b": 0.0})
    grows = text.replace(given["r"], "<use_patch_radius>0</use_patch_radius><surface_radius>0.1</surface_radius>")
    assert "torsional friction of a surface_radius, whose patch grows" in str(check(grows))
    with pytest.raises(EngineError, match="<patch_radius> is -1; expected zero or more"):
        load(text.replace("0.02", "-1"))


# ---------------------------------------------------------------- inertias and shapes


def test_inertia_by_density():
    for rest, mass in (("", 6000.0), ("<density>10</density>", 60.0), ("<mass>3</mass>", 3.0)):
        model = load(sdf(f'<link name="a"><inertial auto="true">{rest}</inertial><collision name="c"><pose>1 0 0 0 0 0</pose>{BOX}'
                         "</collision></link>"))  # fmt: skip
        assert np.allclose(model.link("a").inertia, inertia.from_mass(mass, [1, 0, 0], mass / 12 * np.diag([13.0, 10, 5])), rtol=1e-14)
    model = load(sdf('<link name="a"><inertial auto="true"><density>5</density></inertial>'
                     f'<collision name="c"><density>2</density>{BOX}</collision></link>'))  # fmt: skip
    assert model.link("a").mass == pytest.approx(12.0, rel=1e-14)


def test_shapes_and_their_looks(tmp_path):
    (tmp_path / "part.stl").write_text("solid s\nendsolid s\n")
    shapes = {"box": "<box><size>1 2 3</size></box>", "sphere": "<sphere><radius>1</radius></sphere>",
              "cylinder": "<cylinder><radius>1</radius><length>2</length></cylinder>",
              "capsule": "<capsule><radius>1</radius><length>2</length></capsule>",
              "ellipsoid": "<ellipsoid><radii>1 2 3</radii></ellipsoid>", "heightfield": "<plane><size>4 5</size></plane>",
              "mesh": "<mesh><uri>part.stl</uri><scale>1 1 2</scale></mesh>"}  # fmt: skip
    look = "<material><ambient>0 0 1 1</ambient><diffuse>1 0 0 1</diffuse></material><transparency>0.25</transparency>"
    visuals = "".join(f'<visual name="{k}"><pose>0 0 1 0 0 0</pose><geometry>{s}</geometry>{look}</visual>' for k, s in shapes.items())
    (tmp_path / "a.sdf").write_text(sdf(f'<link name="a">{visuals}</link>'))
    model = load_sdf(tmp_path / "a.sdf")
    found = {g.kind: g for g in model.link("a").visuals}
    assert {*found} == {*shapes} and found["ellipsoid"].size == (1, 2, 3) and found["heightfield"].size == (4, 5)
    assert found["mesh"].mesh == (tmp_path / "part.stl").resolve() and found["mesh"].size == (1, 1, 2)
    assert all(g.material.color == (1, 0, 0, 0.75) and g.placement[2, 3] == 1 for g in found.values())


def test_shapes_lie_relative_to_any_frame():
    text = sdf('<link name="a"><pose>1 0 0 0 0 0</pose><visual name="v"><pose relative_to="f">0 0 1 0 0 0</pose>' + BOX
               + '</visual></link><frame name="f"><pose>0 2 0 0 0 0</pose></frame>')  # fmt: skip
    assert load(text).link("a").visuals[0].placement[:3, 3].tolist() == [-1, 2, 1]


# ---------------------------------------------------------------- files within files


@pytest.fixture
def shelf(tmp_path):
    """A folder of models: "arm" of two versions."""
    for name, x in (("old", 1), ("new", 2)):
        (tmp_path / "arm" / f"{name}.sdf").parent.mkdir(exist_ok=True)
        visual = '<visual name="v"><geometry><mesh><uri>model://arm/hand.stl</uri></mesh></geometry></visual>'
        inside = f'<link name="l">{BODY}{visual}</link><link name="k"><pose>0 0 5 0 0 0</pose></link>'
        text = sdf(f"<pose>0 0 {x} 0 0 0</pose>" + inside + joint(parent="l", child="k"), "1.9")
        (tmp_path / "arm" / f"{name}.sdf").write_text(text)
    (tmp_path / "arm" / "hand.stl").write_text("solid s\nendsolid s\n")
    versions = '<sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf>'
    (tmp_path / "arm" / "model.config").write_text(f"<model><name>An arm</name>{versions}</model>")
    return tmp_path


WORLD = '<sdf version="1.9"><world name="w"><include><uri>model://arm</uri>{}</include>{}</world></sdf>'
AGAIN = "<include><uri>model://arm</uri><name>two</name><pose>1 0 0 0 0 0</pose><static>true</static></include>"


def test_a_model_is_included_in_its_newest_version(shelf, monkeypatch):
    model = load(WORLD.format("", ""), package_dirs=[shelf])
    assert [link.name for link in model.links] == ["l", "k"] and model.name == "m"
    assert model.link("l").visuals[0].mesh == shelf / "arm" / "hand.stl"
    assert model.described.q[6] == 2
    for name in ("GZ_SIM_RESOURCE_PATH", "SDF_PATH"):
        with monkeypatch.context() as m:
            m.setenv(name, f"/nowhere:{shelf}")
            assert load(WORLD.format("", "")).name == "m"


def test_a_name_and_a_pose_are_put_over_the_models(shelf):
    model = load(WORLD.format("<name>one</name>", AGAIN), package_dirs=shelf)
    assert [link.name for link in model.links] == ["world", "one::l", "one::k", "two::l", "two::k"]
    assert at(model, "two::k") == [1, 0, 5] and model.nq == 8


def test_what_an_include_says_besides_is_said(shelf):
    with pytest.warns(RobotFileWarning, match="<experimental:params> in <model> is not read"):
        load_sdf(WORLD.format("<experimental:params/>", ""), package_dirs=shelf)


def test_a_joint_between_models():
    text = f"""<sdf version="1.11"><world name="w"><model name="x">{links("a")}</model><model name="y"><pose>0 0 1 0 0 0</pose>{links("b")}
    </model>{joint(name="hold", parent="world", child="x::a")}{joint(parent="x::a", child="y::b", axis="1 0 0")}</world></sdf>"""
    model = load(text)
    assert [j.name for j in model.joints] == ["hold", "j"] and at(model, "y::b") == [0, 0, 1]


def test_a_merged_models_names_are_those_around_it(shelf):
    text = sdf('<include merge="true"><uri>model://arm</uri><pose relative_to="a">0 0 3 0 0 0</pose></include>'
               '<link name="a"><pose>1 0 0 0 0 0</pose></link>' + joint(parent="a", child="l", name="i") + HOLD)
    model = load(text, package_dirs=shelf)
    assert [link.name for link in model.links] == ["world", "a", "l", "k"] and at(model, "k") == [1, 0, 8]
    assert model.labels("q") == ("i", "j")


# ---------------------------------------------------------------- what is said


@pytest.mark.parametrize(("inside", "said"), [
    ("<plugin name='p' filename='q'/>", "<plugin> in <model> is not read (1 time)"),
    ("<plugin name='p'/><plugin name='q'/>", "<plugin> in <model> is not read (2 times)"),
    ("<statc>1</statc>", "<statc> in <model>, which is not known (did you mean <static>?), is not read"),
    ("<drake:joint name='j'/>", "<drake:joint> in <model> is not read (1 time)"),
    (links("c") + joint("<limit><lower>-1</lower></limit>", "ball", child="c"), "the limits, friction and spring of a ball joint are not"),
    ("<enable_wind>1</enable_wind>", "<enable_wind> in <model> is not read"),
    ("<static>0</static><static>0</static>", "<static> in <model> is there several times; the first counts"),
    ('<link name="c" kind="d"/>', 'kind="..." of <link> is not read'),
    ('<link name="c"><sensor name="s" type="sonar"/></link>', "<sensor> in <link> is not read"),
    ('<link name="c"><collision name="d"><geometry><heightmap/></geometry></collision></link>', "a collision is a <heightmap>"),
    ('<link name="c"><visual name="d"><geometry><polyline/></geometry></visual></link>', "a visual is a <polyline>"),
    ('<link name="c"><collision name="d"><geometry><mesh><uri>no.stl</uri></mesh></geometry></collision></link>', "'no.stl' is not there"),
    (links("c", inside=BODY.replace("<izz>1<", "<izz>9<")), "violate the triangle inequality"),
    (links("c") + joint("<dynamics><damping>-1</damping></dynamics>", child="c"), "<damping> is -1; expected zero or more"),
])  # fmt: skip
def test_what_is_not_read_is_said(inside, said):
    text = sdf(links("a") + inside)
    with pytest.warns(RobotFileWarning) as caught:
        load_sdf(text)
    assert len(caught) == 1 and said in str(caught[0].message) and caught[0].filename == __file__
    assert [f for f in check(text).findings if said in f.message]


def test_what_changes_nothing_is_not_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_sdf(sdf("<enable_wind>false</enable_wind><allow_auto_disable>true</allow_auto_disable>" + links("a")))
    assert str(check(sdf(links("a")))) == "<string>: nothing wrong found"


def test_what_cannot_move_is_said():
    nothing = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
    text = sdf(HOLD + links("a") + links("b", inside=nothing) + joint())
    assert "moves no mass" in str(check(text)) and not check(text).ok
