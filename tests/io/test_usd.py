"""USD physics: the same robot as one built by hand, in other units, turned up, and by mass or density; and what is no mechanism."""

import numpy as np
import pytest

import engine
from engine.spatial import inertia, se3, so3

pytest.importorskip("pxr")

HEAD = '#usda 1.0\n(\n    metersPerUnit = {length}\n    kilogramsPerUnit = {mass}\n    upAxis = "{up}"\n)\n'
BODY = """def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"])
{{
    double size = {size}
    float physics:mass = {mass}
    double3 xformOp:translate = {at}
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {more}
}}
"""
JOINT = """def Physics{kind} "{name}"
{{
    rel physics:body0 = {a}
    rel physics:body1 = {b}
    point3f physics:localPos0 = {p0}
    point3f physics:localPos1 = {p1}
    quatf physics:localRot0 = (1, 0, 0, 0)
    quatf physics:localRot1 = (1, 0, 0, 0)
    {more}
}}
"""


def joint(name, a, b, p0, p1=(0, 0, 0), kind="RevoluteJoint", more=""):
    return JOINT.format(kind=kind, name=name, a=f"</{a}>" if a else "[]", b=f"</{b}>" if b else "[]", p0=p0, p1=p1, more=more)


def robot(unit=1.0, kilo=1.0, up="Z", turned=False):
    """A base that stands, and two links on a hinge and a slider, in units of so many metres and kilograms."""
    scaled = lambda *p: tuple(x / unit for x in p)
    hinge = ("upper", "base", scaled(-0.3, 0, 0), scaled(0, 0, 0.2)) if turned else ("base", "upper", scaled(0, 0, 0.2), scaled(-0.3, 0, 0))
    limits = 'uniform token physics:axis = "Y"\n    float physics:lowerLimit = -90\n    float physics:upperLimit = 45'
    slide = f'uniform token physics:axis = "X"\n    float physics:lowerLimit = {-0.1 / unit}\n    float physics:upperLimit = {0.2 / unit}'
    return "".join([
        HEAD.format(length=unit, mass=kilo, up=up),
        *(BODY.format(name=n, size=0.2 / unit, mass=m / kilo, at=scaled(*p), more="") for n, m, p in
          (("base", 5.0, (0, 0, 0)), ("upper", 2.0, (0.3, 0, 0.2)), ("tip", 1.0, (0.6, 0, 0.2)))),
        joint("stands", "", "base", (0, 0, 0), kind="FixedJoint"),
        joint("hinge", *hinge, more=limits),
        joint("slide", "upper", "tip", scaled(0.3, 0, 0), kind="PrismaticJoint", more=slide)])  # fmt: skip


def by_hand():
    builder = engine.Builder("robot")
    builder.add_link("base", inertia.box(5.0, (0.2,) * 3))
    builder.add_link("upper", inertia.transformed(se3.pose(np.eye(3), [0.3, 0, 0]), inertia.box(2.0, (0.2,) * 3)))
    builder.add_link("tip", inertia.box(1.0, (0.2,) * 3))
    builder.add_joint("hinge", "revolute", "base", "upper", se3.pose(np.eye(3), [0, 0, 0.2]), axis=[0, 1, 0],
                      limits=engine.Limits(-np.pi / 2, np.pi / 4))  # fmt: skip
    builder.add_joint("slide", "prismatic", "upper", "tip", se3.pose(np.eye(3), [0.6, 0, 0]), axis=[1, 0, 0],
                      limits=engine.Limits(-0.1, 0.2))  # fmt: skip
    return builder.model()


def loaded(tmp_path, text, **more):
    (tmp_path / "robot.usda").write_text(text)
    return engine.load(tmp_path / "robot.usda", **more)


@pytest.mark.parametrize("of", [{}, {"unit": 0.01}, {"unit": 0.01, "kilo": 0.001}, {"turned": True}])
def test_the_robot_as_it_is_built_by_hand(tmp_path, of):
    """The inertia matrix, the weight and the poses, in metres or centimetres, kilograms or grams, whichever body a joint names first."""
    model, own = loaded(tmp_path, robot(**of)), by_hand()
    a, b, rng = engine.compile(model), engine.compile(own), np.random.default_rng(0)
    assert model.labels("q") == ("hinge", "slide")
    sign = np.array([-1.0 if of.get("turned") else 1.0, 1.0])
    for _ in range(3):
        q, v, vdot = rng.uniform(-0.1, 0.1, (3, 2))
        assert np.abs(a.crba(q) * np.outer(sign, sign) - b.crba(sign * q)).max() < 1e-6
        assert np.abs(sign * a.rnea(q, v, vdot) - b.rnea(sign * q, sign * v, sign * vdot)).max() < 1e-5
        T = a.forward_kinematics(q)[model.link_index("tip")]
        assert np.abs(T - b.forward_kinematics(sign * q)[own.link_index("tip")]).max() < 1e-6
    limits = [model.joint(n).limits for n in ("hinge", "slide")]
    assert [x for m in limits for x in (m.lower, m.upper)] == pytest.approx([-np.pi / 2, np.pi / 4, -0.1, 0.2], rel=1e-6)
    assert [g.kind for g in model.link("tip").collisions] == ["box"]


URDF = """<robot name="robot">
<link name="base"><inertial><mass value="5"/><inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="{1}" iyy="{1}" izz="{1}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><mass value="1"/><inertia ixx="{2}" iyy="{2}" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
<limit lower="-1.5707963267948966" upper="0.7853981633974483" effort="0" velocity="0"/></joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="tip"/><origin xyz="0.6 0 0"/><axis xyz="1 0 0"/>
<limit lower="-0.1" upper="0.2" effort="0" velocity="0"/></joint></robot>"""
MJCF = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody><body name="base"><geom type="box" size="0.1 0.1 0.1" mass="5"/>
<body name="upper" pos="0 0 0.2"><joint name="hinge" axis="0 1 0" range="-1.5707963267948966 0.7853981633974483"/>
<geom type="box" size="0.1 0.1 0.1" pos="0.3 0 0" mass="2"/>
<body name="tip" pos="0.6 0 0"><joint name="slide" type="slide" axis="1 0 0" range="-0.1 0.2"/>
<geom type="box" size="0.1 0.1 0.1" mass="1"/></body></body></body></worldbody></mujoco>"""


def test_the_robot_as_urdf_and_mjcf_have_it(tmp_path):
    """The inertia matrix, the torques and the limits of the same robot in three formats: USD's numbers are single."""
    (tmp_path / "robot.urdf").write_text(URDF.format(*(m * 0.04 / 6 for m in (5, 2, 1))))
    (tmp_path / "robot.xml").write_text(MJCF)
    model = loaded(tmp_path, robot())
    a, rng = engine.compile(model), np.random.default_rng(1)
    for other in (engine.load(tmp_path / "robot.urdf"), engine.load(tmp_path / "robot.xml")):
        b = engine.compile(other)
        assert other.labels("q") == model.labels("q")
        for _ in range(3):
            q, v, vdot = rng.uniform(-0.1, 0.1, (3, 2))
            assert np.abs(a.crba(q) - b.crba(q)).max() < 1e-6
            assert np.abs(a.rnea(q, v, vdot) - b.rnea(q, v, vdot)).max() < 1e-5
        for n in ("hinge", "slide"):
            own, said = model.joint(n).limits, other.joint(n).limits
            assert (own.lower, own.upper) == pytest.approx((said.lower, said.upper), rel=1e-6)


def test_y_may_point_up(tmp_path):
    model = loaded(tmp_path, robot(up="Y"))
    T = engine.compile(model).forward_kinematics(np.zeros(2))[model.link_index("upper")]
    assert np.abs(T[:3, 3] - [0, -0.2, 0]).max() < 1e-7                        # along z of the stage, which lies then
    assert np.abs(T[:3, :3] - so3.exp(np.array([np.pi / 2, 0, 0]))).max() < 1e-7


def test_masses_of_zero_are_those_of_the_shapes(tmp_path):
    body = BODY.format(name="a", size=0.2, mass=0, at=(0, 0, 0), more="float physics:density = 2700")
    text = HEAD.format(length=1, mass=1, up="Z") + body
    model = loaded(tmp_path, text, floating_base=True)
    assert model.link("a").inertia == pytest.approx(inertia.box(2700 * 0.2**3, (0.2,) * 3), rel=1e-6)
    said = ("float3 physics:diagonalInertia = (1, 2, 2.5)\n    point3f physics:centerOfMass = (0.1, 0, 0)\n"
            "    quatf physics:principalAxes = (0.70710677, 0.70710677, 0, 0)")  # fmt: skip
    text = HEAD.format(length=1, mass=1, up="Z") + BODY.format(name="a", size=0.2, mass=3, at=(0, 0, 0), more=said)
    model = loaded(tmp_path, text, floating_base=True)
    assert model.link("a").inertia == pytest.approx(inertia.from_mass(3.0, np.array([0.1, 0, 0]), np.diag([1.0, 2.5, 2.0])), abs=1e-6)


@pytest.mark.parametrize(("text", "expected"), [
    ("#usda 1.0\n", "it has no rigid bodies"),
    ("nothing", "USD does not read it"),
    (robot().replace("metersPerUnit = 1.0", "metersPerUnit = 0"), "metersPerUnit is 0; expected a number above zero"),
    (robot().replace("lowerLimit = -90", "lowerLimit = 90"), "joint /hinge has a lower limit of 90, above its upper one of 45"),
    (robot().replace("physics:mass = 2.0", "physics:mass = -2.0"), "body /upper has a mass, density or inertia below zero"),
    (robot() + joint("more", "tip", "base", (0, 0, 0), kind="Joint", more=""), None),
    (robot() + joint("rope", "base", "tip", (0, 0, 0), kind="DistanceJoint"), "joint /rope is a PhysicsDistanceJoint; expected one of"),
    (robot() + joint("more", "tip", "gone", (0, 0, 0)), "a joint names /gone, which is not there"),
])  # fmt: skip
def test_what_is_no_mechanism_is_said_in_a_sentence(tmp_path, text, expected):
    if expected is None:                                                       # a joint that leaves all free holds nothing
        with pytest.warns(engine.RobotFileWarning, match="leaves out joints that hold nothing: /more"):
            assert loaded(tmp_path, text).nv == 2
        return
    with pytest.raises(engine.RobotFileError, match=expected):
        loaded(tmp_path, text)


def test_a_file_that_is_not_there_and_a_base_that_cannot_float(tmp_path):
    with pytest.raises(engine.RobotFileError, match=r"robot.usd: there is no such file; expected a stage of USD"):
        engine.load(tmp_path / "robot.usd")
    with pytest.raises(engine.RobotFileError, match=r"joint stands ties it to the world; expected floating_base=False"):
        loaded(tmp_path, robot(), floating_base=True)
