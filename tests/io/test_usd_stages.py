"""Stages of USD as robotics has them: several trees, meshes, drives, friction, loops, instances, against MJCF and USD's own reader."""

import warnings

import numpy as np
import pytest

import engine
from engine.spatial import inertia
from tests.io.test_usd import HEAD, joint, loaded

pytest.importorskip("pxr")

METRES = HEAD.format(length=1, mass=1, up="Z")
#: a cube of side 2 as a mesh, of faces of four corners
CUBE = """def Mesh "{name}" (prepend apiSchemas = [{apis}])
{{
    point3f[] points = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
    int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
    int[] faceVertexIndices = [0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7]
    float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:scale"]
    {more}
}}
"""
SOLID = '"PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"'
BODY = '["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'


def body(name, at=(0, 0, 0), inside="", apis=BODY, more=""):
    return f"""def Xform "{name}" (prepend apiSchemas = {apis})
{{
    double3 xformOp:translate = {at}
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {more}
    {inside}
}}
"""


def box(name, size, apis='"PhysicsCollisionAPI"', more=""):
    return f'def Cube "{name}" (prepend apiSchemas = [{apis}])\n{{\n    double size = {size}\n    {more}\n}}\n'


def quietly(tmp_path, text, **more):
    """A model of which nothing is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return loaded(tmp_path, text, **more)


def test_several_trees_bodies_that_float_and_what_stands(tmp_path):
    """An arm on the world, a free box, a kinematic one and a table: who floats, where all are, and who may touch whom."""
    text = METRES + "".join([
        'def PhysicsScene "scene"\n{\n    vector3f physics:gravityDirection = (0, 0, -1)\n    float physics:gravityMagnitude = 1.62\n}\n',
        'def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\n    uniform token axis = "Z"\n'
        '    double3 xformOp:translate = (0, 0, -0.5)\n    uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n',
        body("base", inside=box("b", 0.2)), body("arm", (0, 0, 0.3), inside=box("a", 0.1)), body("stone", (1, 2, 3), inside=box("s", 0.4)),
        body("lift", (0, 5, 0), more="bool physics:kinematicEnabled = true", inside=box("l", 0.4)), box("table", 0.5),
        joint("stands", "", "base", (0, 0, 0), kind="FixedJoint"), joint("hinge", "base", "arm", (0, 0, 0.3))])  # fmt: skip
    model = quietly(tmp_path, text)
    assert (model.nq, model.nv) == (8, 7)
    q = model.described.q
    assert q[model.q_slice("stone_floats")].tolist() == [1, 0, 0, 0, 1, 2, 3]
    places = engine.compile(model).forward_kinematics(q)
    assert places[model.link_index("lift")][:3, 3].tolist() == [0, 5, 0]
    assert places[model.link_index("arm")][:3, 3] == pytest.approx([0, 0, 0.3])
    assert model.described.gravity == pytest.approx((0, 0, -1.62))
    contacts = engine.contacts_of(model)
    assert {frozenset(p) for p in contacts.pairs} == {frozenset(p) for p in [
        ("base", "stone"), ("arm", "stone"), ("arm", "lift"), ("arm", "table"), ("stone", "lift"), ("stone", "table"),
        ("world", "base"), ("world", "arm"), ("world", "stone")]}  # fmt: skip
    assert contacts.ground.offset == pytest.approx(-0.5)
    assert engine.simulator_of(model, contacts=None).run(q, np.zeros(7), 0.1).q[-1, -1] == pytest.approx(3 - 0.5 * 1.62 * 0.01)


def test_a_mesh_is_the_box_that_it_looks_like(tmp_path):
    """Its triangles, its mass by the density of its material, and its contact; left-handed faces are turned."""
    material = 'def Material "oak" (prepend apiSchemas = ["PhysicsMaterialAPI"])\n{\n    float physics:density = 700\n' \
               "    float physics:dynamicFriction = 0.3\n    float physics:staticFriction = 0.3\n}\n"  # fmt: skip
    bound = "rel material:binding:physics = </oak>"
    for more in (bound, f'{bound}\n    uniform token orientation = "leftHanded"'):
        mesh = CUBE.format(name="m", apis=SOLID + ', "MaterialBindingAPI"', scale=(0.1, 0.2, 0.3), more=more)
        if "left" in more:
            mesh = mesh.replace("[0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7]",
                                "[1, 2, 3, 0, 7, 6, 5, 4, 4, 5, 1, 0, 5, 6, 2, 1, 6, 7, 3, 2, 7, 4, 0, 3]")  # fmt: skip
        floor = 'def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\n    uniform token axis = "Z"\n}\n'
        model = quietly(tmp_path, METRES + material + floor + body("b", (0, 0, 0.3), inside=mesh), floating_base=True)
        assert model.link("b").inertia == pytest.approx(inertia.box(700 * 0.2 * 0.4 * 0.6, (0.2, 0.4, 0.6)), rel=1e-6)
        shape = engine.load_mesh(model.link("b").collisions[0])
        assert shape.is_watertight and shape.volume == pytest.approx(0.2 * 0.4 * 0.6, rel=1e-6)
        contacts = engine.contacts_of(model)
        assert (contacts.materials["b"].friction, contacts.combine) == (pytest.approx(0.3), "mean")
    cube = box("m", 2, SOLID.split(",")[0] + ', "MaterialBindingAPI"', f"{bound}\n    float3 xformOp:scale = (0.1, 0.2, 0.3)\n"
               '    uniform token[] xformOpOrder = ["xformOp:scale"]')  # fmt: skip
    other = quietly(tmp_path, METRES + material + floor + body("b", (0, 0, 0.3), inside=cube), floating_base=True)
    one, two = (engine.simulator_of(m).run(m.described.q, np.zeros(6), 1.0).q[-1, 6] for m in (model, other))
    assert 0.295 < one < 0.3 and one == pytest.approx(two, abs=1e-5)


DRIVES = METRES + "".join([
    body("base", inside=box("b", 0.2), more="float physics:mass = 5"),
    body("arm", (0, 0, 0.3), inside=box("a", 0.2), more="float physics:mass = 2"),
    body("rod", (0, 0, 0.6), inside=box("a", 0.2), more="float physics:mass = 1"),
    joint("stands", "", "base", (0, 0, 0), kind="FixedJoint"), joint("hinge", "base", "arm", (0, 0, 0.3), more=(
        'uniform token physics:axis = "Y"\n    float physics:lowerLimit = -90\n    float physics:upperLimit = 90\n'
        "    float drive:angular:physics:stiffness = 0.5\n    float drive:angular:physics:damping = 0.02\n"
        "    float drive:angular:physics:targetPosition = 20\n    float drive:angular:physics:maxForce = 40")),
    joint("slide", "arm", "rod", (0, 0, 0.3), kind="PrismaticJoint", more=(
        'uniform token physics:axis = "Z"\n    float drive:linear:physics:stiffness = 300\n    float drive:linear:physics:damping = 20\n'
        "    float drive:linear:physics:targetPosition = 0.05"))])  # fmt: skip
DRIVES = DRIVES.replace('"hinge"', '"hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])') \
    .replace('"slide"', '"slide" (prepend apiSchemas = ["PhysicsDriveAPI:linear"])')  # fmt: skip
MJCF = """<mujoco><compiler autolimits="true"/><worldbody><body name="base"><geom type="box" size="0.1 0.1 0.1" mass="5"/>
<body name="arm" pos="0 0 0.3"><joint name="hinge" axis="0 1 0" range="-90 90"/><geom type="box" size="0.1 0.1 0.1" mass="2"/>
<body name="rod" pos="0 0 0.3"><joint name="slide" type="slide" axis="0 0 1"/><geom type="box" size="0.1 0.1 0.1" mass="1"/>
</body></body></body></worldbody><actuator><position name="h" joint="hinge" kp="{kp!r}" kv="{kv!r}" forcerange="-40 40"/>
<position name="s" joint="slide" kp="300" kv="20"/></actuator></mujoco>"""


def test_drives_move_the_robot_as_servos_of_mjcf_do(tmp_path):
    """The same robot from both formats, a second long: USD's targets are in the file, and its degrees in stiffness and damping."""
    model = quietly(tmp_path, DRIVES)
    (tmp_path / "robot.xml").write_text(MJCF.format(kp=0.5 * 180 / np.pi, kv=0.02 * 180 / np.pi))
    other = engine.load(tmp_path / "robot.xml")
    assert model.joint("hinge").limits.effort == 40.0
    alike = {"gravity": (0, 0, -9.81), "dt": 1e-3, "contacts": None, "joint_dynamics": None}
    one = engine.simulator_of(model, **alike).run(np.zeros(2), np.zeros(2), 1.0)
    command = lambda t, q, v: {"h": np.array(np.pi / 9), "s": np.array(0.05)}
    two = engine.simulator_of(other, controller=command, **alike).run(np.zeros(2), np.zeros(2), 1.0)
    assert np.abs(one.q[-1]).min() > 0.01
    assert np.abs(one.q - two.q).max() < 1e-5                                  # USD's numbers are single


@pytest.mark.filterwarnings("ignore:LoadUsdPhysicsFromRange is deprecated")
def test_what_usd_itself_reads_of_joints(tmp_path):
    """Limits, stiffness, damping, targets and forces, by the parser of OpenUSD."""
    from pxr import Usd, UsdPhysics

    model = quietly(tmp_path, DRIVES)
    stage = Usd.Stage.Open(str(tmp_path / "robot.usda"))
    found = UsdPhysics.LoadUsdPhysicsFromRange(stage, ["/"])
    parts = {p.values["name"].removeprefix("drive of "): p.values for p in model.described.actuators}
    seen = 0
    for kind, unit in ((UsdPhysics.ObjectType.RevoluteJoint, np.pi / 180), (UsdPhysics.ObjectType.PrismaticJoint, 1.0)):
        for path, desc in zip(*found[kind], strict=True):
            part, drive = parts[path.name], desc.drive
            assert part["bias"] == pytest.approx((drive.stiffness * drive.targetPosition, -drive.stiffness / unit, -drive.damping / unit))
            assert part["gain"][0] == pytest.approx(drive.stiffness / unit)
            if desc.limit.enabled:
                limits = model.joint(path.name).limits
                assert (limits.lower, limits.upper) == pytest.approx((desc.limit.lower * unit, desc.limit.upper * unit))
                assert part["force_range"] == (-drive.forceLimit, drive.forceLimit)
            seen += 1
    assert seen == 2


def test_a_loop_is_a_constraint(tmp_path):
    """A four-bar linkage, of which a joint is left out of the articulation, or is one too many."""
    bars = [("a", (0.0, 0, 0.1)), ("b", (0.2, 0, 0.2)), ("c", (0.4, 0, 0.1))]
    axis = 'uniform token physics:axis = "Y"'
    ends = [("", "a", (0, 0, 0), (0, 0, -0.1)), ("a", "b", (0, 0, 0.1), (-0.2, 0, 0)), ("b", "c", (0.2, 0, 0), (0, 0, 0.1)),
            ("", "c", (0.4, 0, 0), (0, 0, -0.1))]  # fmt: skip
    for out in (None, 1, 3):
        text = METRES + "".join(body(n, at, inside=box("x", 0.05)) for n, at in bars) + "".join(
            joint(f"j{k}", one, two, p, r, more=axis + "\n    uniform bool physics:excludeFromArticulation = true" * (k == out))
            for k, (one, two, p, r) in enumerate(ends))  # fmt: skip
        model = quietly(tmp_path, text)
        assert [p.kind for p in model.described.constraints] == ["Hinge"]
        assert out is None or model.described.constraints[0].values["name"] == f"j{out}"
        run = engine.simulator_of(model, contacts=None, gravity=(1, 0, -9.81)).run(model.described.q, np.zeros(model.nv), 0.3)
        b = engine.compile(model).forward_kinematics(run.q[-1])[model.link_index("b")]
        assert np.abs(b[:3, 0] - [1, 0, 0]).max() < 1e-6                       # a parallelogram: b stays level
        assert np.abs(run.v[-1]).max() > 0.1


def test_instances_and_references_are_bodies_of_their_own(tmp_path):
    """A robot of a file of its own, twice, as instances: joints tie the bodies of each, and each is where it is put."""
    inside = body("p", inside=box("x", 0.2)) + body("q", (0, 0, 0.5), inside=box("x", 0.2))
    inside += joint("j", "robot/p", "robot/q", (0, 0, 0.5))
    head = METRES.replace("(\n", '(\n    defaultPrim = "robot"\n', 1)
    (tmp_path / "part.usda").write_text(head + 'def Xform "robot"\n{\n' + inside + "}\n")
    place = 'def Xform "{}" (\n    instanceable = true\n    prepend references = @./part.usda@\n)\n{{\n' \
            '    double3 xformOp:translate = {}\n    uniform token[] xformOpOrder = ["xformOp:translate"]\n}}\n'  # fmt: skip
    model = quietly(tmp_path, METRES + place.format("one", (0, 0, 0)) + place.format("two", (2, 0, 0)))
    assert [link.name for link in model.links][1:] == ["p", "q", "two_p", "two_q"]
    assert model.nv == 14
    T = engine.compile(model).forward_kinematics(model.described.q)
    assert T[model.link_index("two_q")][:3, 3] == pytest.approx([2, 0, 0.5])
    assert frozenset(("q", "two_q")) in {frozenset(p) for p in engine.contacts_of(model).pairs}


def test_who_is_filtered_does_not_touch(tmp_path):
    """By pairs of bodies, by pairs of shapes, by groups, and by an articulation that does not touch itself."""
    a = body("a", inside=box("one", 0.1) + box("two", 0.2), apis='["PhysicsRigidBodyAPI", "PhysicsFilteredPairsAPI"]',
             more="rel physics:filteredPairs = [</b>, </c/three>]")  # fmt: skip
    rest = "".join(body(n, (k, 0, 0), inside=box(m, 0.1)) for k, (n, m) in enumerate((("b", "x"), ("d", "x"), ("e", "x")), 1))
    c = body("c", (9, 0, 0), inside=box("three", 0.1) + box("four", 0.1))
    groups = "".join(
        f'def PhysicsCollisionGroup "{g}" (prepend apiSchemas = ["CollectionAPI:colliders"])\n{{\n    rel collection:colliders:includes = '
        f"</{of}>\n    rel physics:filteredGroups = </{other}>\n}}\n" for g, of, other in (("g", "d", "h"), ("h", "e", "g")))  # fmt: skip
    pairs = {frozenset(p) for p in engine.contacts_of(quietly(tmp_path, METRES + a + rest + c + groups)).pairs}
    assert frozenset("ab") not in pairs and frozenset("de") not in pairs and frozenset("ad") in pairs
    assert {p for p in pairs if any(n[0] == "a" for n in p) and any(n[0] == "c" for n in p)} == \
        {frozenset(("a/one", "c/four")), frozenset(("a/two", "c/four"))}  # fmt: skip
    text = METRES + body("root", apis='["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI", "PhysxArticulationAPI"]',
                         more="bool physxArticulation:enabledSelfCollisions = false", inside=box("x", 0.1)) + "".join(
        body(n, (0, 0, k), inside=box("x", 0.1)) for k, n in ((1, "m"), (2, "n"))) + joint(
        "j", "root", "m", (0, 0, 1)) + joint("k", "m", "n", (0, 0, 1))  # fmt: skip
    assert quietly(tmp_path, text, floating_base=True).described.contacts is None
    assert engine.contacts_of(quietly(tmp_path, text.replace("= false", "= true"), floating_base=True)).pairs == (("root", "n"),)


def test_generic_joints_are_those_that_their_locks_leave(tmp_path):
    all_of = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
    line = "float limit:{}:physics:low = {}\n    float limit:{}:physics:high = {}"
    locks = lambda *free: "\n    ".join(line.format(f, -30, f, 60) if f in free else line.format(f, 1, f, -1) for f in all_of)
    apis = ", ".join(f'"PhysicsLimitAPI:{f}"' for f in all_of)
    two = METRES + body("a", inside=box("x", 0.1)) + body("b", (0, 0, 1), inside=box("x", 0.1))
    two += joint("s", "", "a", (0, 0, 0), kind="FixedJoint")
    tied = lambda *free: two + joint("j", "a", "b", (0, 0, 1), kind="Joint", more=locks(*free)).replace(
        '"j"', f'"j" (prepend apiSchemas = [{apis}])')  # fmt: skip
    made = quietly(tmp_path, tied("rotY")).joint("j")
    assert (made.kind, made.axis.tolist()) == ("revolute", [0, 1, 0])
    assert (made.limits.lower, made.limits.upper) == pytest.approx((-np.pi / 6, np.pi / 3))
    assert quietly(tmp_path, tied("transX")).joint("j").kind == "prismatic"
    assert quietly(tmp_path, tied()).joint("j").kind == "fixed"
    with pytest.raises(engine.RobotFileError, match="joint /j leaves rotX, rotY free; expected none, one, or rotX, rotY, rotZ"):
        loaded(tmp_path, tied("rotX", "rotY"))


@pytest.mark.parametrize(("text", "expected"), [
    (body("a", inside=box("x", 0.1)), "that nothing ties it to the world, where it stands now .*: /a"),
    (body("a", inside=CUBE.format(name="m", apis=SOLID, scale=(1, 1, 1), more='uniform token physics:approximation = "boundingSphere"')),
     "that a mesh is touched as its boundingSphere: /a/m"),
    (body("a", inside=box("x", 0.1), more="vector3f physics:velocity = (1, 0, 0)"), "velocities at first: /a.physics:velocity"),
    (body("a", inside=box("x", 0.1), more="float physxRigidBody:linearDamping = 3"),
     "what the schema of UsdPhysics has not: physxRigidBody:linearDamping of /a"),
    (body("a", inside='def Cone "c" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\n}\n' + box("x", 1)),
     "shapes that are not read: Cone /a/c"),
    (DRIVES.removeprefix(METRES).replace("uniform token physics:axis = \"Y\"", 'uniform token drive:angular:physics:type = "acceleration"'),
     "drives by acceleration: /hinge"),
    (DRIVES.removeprefix(METRES).replace("translate = (0, 0, 0.6)", "translate = (0.1, 0, 0.6)"),
     "that bodies lie apart from where their joints hold them: /slide"),
])  # fmt: skip
def test_what_is_left_out_is_named(tmp_path, text, expected):
    with pytest.warns(engine.RobotFileWarning, match=f"leaves out {expected}"):
        loaded(tmp_path, METRES + text, floating_base=not ("FixedJoint" in text or "stands" in expected))


def test_a_check_tells_of_each(tmp_path):
    cones = "".join(f'def Cone "{c}" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{{\n}}\n' for c in "bc")
    (tmp_path / "a.usda").write_text(METRES + body("a", inside=cones + box("x", 1)))
    found = engine.check(tmp_path / "a.usda", floating_base=True)
    assert found.ok and [f.place for f in found.findings] == ["Cone /a/b", "Cone /a/c"]
    assert "there is no such file" in str(engine.check(tmp_path / "b.usda"))


def test_meshes_that_are_none_are_refused_or_named(tmp_path, monkeypatch):
    mesh = CUBE.format(name="m", apis=SOLID, scale=(1, 1, 1), more="")
    with pytest.raises(engine.RobotFileError, match="mesh /a/m has faces at points that are not there; expected 24 numbers below 8"):
        loaded(tmp_path, METRES + body("a", inside=mesh.replace("0, 4, 7]", "0, 4, 8]")), floating_base=True)
    monkeypatch.setenv("ENGINE_CACHE", "0")
    with pytest.warns(engine.RobotFileWarning, match="leaves out meshes, as there is no folder of a cache to keep them in"), \
            pytest.warns(engine.RobotFileWarning, match="leaves out the mass of bodies"):  # fmt: skip
        loaded(tmp_path, METRES + body("a", inside=mesh), floating_base=True)
