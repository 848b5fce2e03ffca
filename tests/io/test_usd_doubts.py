"""Stages of USD of which something is not what it looks like: syntax, references, instancers, times, bounces, meshes of nothing."""

import warnings

import numpy as np
import pytest

import engine
from tests.io.test_usd import joint, loaded
from tests.io.test_usd_stages import CUBE, METRES, SOLID, body, box, quietly

pytest.importorskip("pxr")
#: a mesh that is a square, twice, and encloses nothing
FLAT = CUBE.format(name="m", apis=SOLID, scale=(1, 1, 1), more="").replace("(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)",
                                                                          "(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)")  # fmt: skip
RUBBER = """def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{{
    float physics:dynamicFriction = 0.5
    float physics:staticFriction = 0.5
    float physics:restitution = {}
}}
"""
INSTANCER = """def PointInstancer "many"
{{
    point3f[] positions = [(0, 0, 5), (0, 0, 6)]
    int[] protoIndices = [0, 0]
    rel prototypes = [<{}/one>]
    def Cube "one" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    {{
        double size = 3
    }}
}}
"""


def bouncing(tmp_path, e):
    """The ball and its ground are of one material; it touches at 1 m/s."""
    bound = "rel material:binding:physics = </rubber>"
    apis = '["PhysicsCollisionAPI", "MaterialBindingAPI"]'
    ball = f'def Sphere "s" (prepend apiSchemas = {apis})\n{{\n    double radius = 0.1\n    {bound}\n}}\n'
    floor = f'def Plane "floor" (prepend apiSchemas = {apis})\n{{\n    uniform token axis = "Z"\n    {bound}\n}}\n'
    text = METRES + RUBBER.format(e) + floor + body("b", (0, 0, 0.1 + 0.5 / 9.81), inside=ball)
    return loaded(tmp_path, text, floating_base=True)


def test_without_restitution_nothing_bounces(tmp_path):
    """The schema's restitution of zero: after a touch at 1 m/s it leaves at 1 cm/s at most, 1/d, and comes to rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = bouncing(tmp_path, 0)
    assert engine.contacts_of(model).materials["b"].dissipation == 100.0 == engine.contacts_of(model).ground.material.dissipation
    run = engine.simulator_of(model, dt=1e-3, gravity=(0, 0, -9.81)).run(model.described.q, np.zeros(6), 0.5)
    assert run.v[:, 5].min() == pytest.approx(-1.0, rel=0.02)
    assert run.v[:, 5].max() <= 0.01
    assert abs(run.v[-1, 5]) < 1e-3


def test_restitution_is_that_at_one_metre_a_second(tmp_path):
    with pytest.warns(engine.RobotFileWarning, match="leaves out restitution at other speeds of touch than 1 m/s: /rubber"):
        model = bouncing(tmp_path, 0.6)
    down = np.array([0, 0, 0, 0, 0, -1.0])
    run = engine.simulator_of(model, dt=2e-4, gravity=(0, 0, 0)).run(model.described.q, down, 0.15)      # without a weight
    assert run.v[-1, 5] == pytest.approx(0.6, abs=0.005)
    with pytest.raises(engine.RobotFileError, match=r"material /rubber has the restitution 1.5; expected a number from 0 to 1"):
        bouncing(tmp_path, 1.5)


@pytest.mark.parametrize("within", [False, True])
def test_what_an_instancer_places_is_nowhere_and_named(tmp_path, within):
    """Its prototypes are no bodies and no shapes by themselves, whether a body holds it or none does."""
    many = INSTANCER.format("/b/many" if within else "/many")
    with pytest.warns(engine.RobotFileWarning, match=f"leaves out instancers of points: {'/b' if within else ''}/many"):
        model = loaded(tmp_path, METRES + body("b", inside=box("x", 1) + many * within) + many * (not within), floating_base=True)
    assert [(link.name, link.inertia[5, 5], len(link.collisions)) for link in model.links] == [("b", pytest.approx(1000.0), 1)]


def test_what_cannot_be_opened_is_named(tmp_path, capfd):
    text = METRES + body("a", inside=box("x", 0.1) + 'def Xform "r" (prepend references = @./gone.usda@)\n{\n}\n')
    with pytest.warns(engine.RobotFileWarning, match="out what cannot be composed, such as references .*: Could not open asset @.*gone"):
        loaded(tmp_path, text, floating_base=True)
    assert capfd.readouterr() == ("", "")                                      # where OpenUSD says it, too, in its own lines
    with pytest.raises(engine.RobotFileError, match=r"no rigid bodies \(PhysicsRigidBodyAPI\), without what cannot be composed, .*gone"):
        loaded(tmp_path, METRES + 'def Xform "r" (prepend references = @./gone.usda@)\n{\n}\n')
    assert capfd.readouterr() == ("", "")


def test_what_openusd_warns_of_besides_is_told(tmp_path, monkeypatch, capfd):
    from pxr import Tf, UsdGeom

    ask = UsdGeom.GetStageUpAxis
    monkeypatch.setattr(UsdGeom, "GetStageUpAxis", lambda stage: (Tf.Warn("an axis of doubt"), ask(stage))[1])
    with pytest.warns(engine.RobotFileWarning, match="leaves out what OpenUSD warns of: an axis of doubt$"):
        loaded(tmp_path, METRES + body("a", inside=box("x", 0.1)), floating_base=True)
    assert capfd.readouterr() == ("", "")


def test_places_at_times_alone_are_named(tmp_path):
    text = METRES + body("a", (0, 0, 3), inside=box("x", 0.1)).replace("translate = (0, 0, 3)", "translate.timeSamples = {0: (0, 0, 3)}")
    with pytest.warns(engine.RobotFileWarning, match="leaves out values by time samples without a default, .*: /a.xformOp:translate"):
        loaded(tmp_path, text, floating_base=True)
    quietly(tmp_path, text.replace("translate.time", "translate = (0, 0, 1)\n    double3 xformOp:translate.time"), floating_base=True)


@pytest.mark.parametrize(("line", "text"), [("float x = = 3", "Expected }"), ('double size = "big"', "Error parsing simple value")])
def test_a_fault_of_syntax_has_its_line(tmp_path, line, text):
    with pytest.raises(engine.RobotFileError) as told:
        loaded(tmp_path, METRES + f'def Cube "a"\n{{\n    {line}\n}}\n')
    assert (told.value.line, told.value.file) == (9, str(tmp_path / "robot.usda"))
    assert "robot.usda:9: USD does not read it (" in str(told.value) and text in str(told.value)
    assert "pxrInternal" not in str(told.value)


def test_a_mesh_that_only_looks_like_something_weighs_nothing(tmp_path):
    """Of a body without a mass it is named; of one that touches, or has a mass, the mesh would say how that is spread."""
    seen = FLAT.replace(f"prepend apiSchemas = [{SOLID}]", 'doc = "paint"')
    other = body("b", (0, 0, 1), inside=box("x", 1)) + joint("s", "", "a", (0, 0, 0), kind="FixedJoint") + joint("j", "a", "b", (0, 0, 1))
    with pytest.warns(engine.RobotFileWarning, match="the mass of bodies whose shapes only look like something, .*: /a"):
        model = loaded(tmp_path, METRES + body("a", inside=seen) + other)
    assert (model.link("a").inertia == 0).all() and len(model.link("a").visuals) == 1
    assert np.isfinite(engine.compile(model).aba([0.1], [0.0], [1.0])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for inside, more in ((FLAT, ""), (seen, "float physics:mass = 2")):
            with pytest.raises(engine.RobotFileError, match=r"/a has the inertia of its mesh 'm': .*, or physics:mass, .* of the body"):
                loaded(tmp_path, METRES + body("a", inside=inside, more=more) + other)
        said = "float physics:mass = 2\n    float3 physics:diagonalInertia = (1, 1, 1)\n    point3f physics:centerOfMass = (0, 0, 0)"
        assert loaded(tmp_path, METRES + body("a", inside=seen, more=said) + other).link("a").inertia[5, 5] == 2.0


def test_a_part_in_other_units_is_named(tmp_path):
    """OpenUSD takes the stage's units for all, also where a part's own file has others: it is a hundred times as large."""
    for head, other in ((METRES, ""), (METRES.replace("Unit = 1", "Unit = 0.01", 1), "metersPerUnit"),
                        (METRES.replace('"Z"', '"Y"'), "upAxis")):  # fmt: skip
        (tmp_path / "part.usda").write_text(head.replace("(\n", '(\n    defaultPrim = "x"\n', 1) + box("x", 0.2))
        text = METRES + body("a", inside='def "r" (prepend references = @./part.usda@)\n{\n}\n')
        if not other:
            quietly(tmp_path, text, floating_base=True)
            continue
        with pytest.warns(engine.RobotFileWarning, match=rf"units and axes of parts that are others than the stage's: {other} of .*part"):
            model = loaded(tmp_path, text, floating_base=True)
    assert model.link("a").collisions[0].size == pytest.approx((0.2,) * 3)


ROUND = """def {kind} "g" (prepend apiSchemas = ["PhysicsCollisionAPI"])
{{
    double radius = 0.1
    double height = 0.5
    uniform token axis = "{axis}"
    float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:scale"]
}}
"""


@pytest.mark.parametrize(("axis", "scale"), [("Z", (2, 2, 3)), ("X", (3, 2, 2)), ("Y", (2, 3, 2))])
def test_a_cylinder_that_is_scaled_evenly_across_is_one(tmp_path, axis, scale):
    model = quietly(tmp_path, METRES + body("b", inside=ROUND.format(kind="Cylinder", axis=axis, scale=scale)), floating_base=True)
    (shape,) = model.link("b").collisions
    np.testing.assert_allclose(shape.size, (0.2, 1.5), rtol=1e-7)              # of a file's float32
    assert model.link("b").mass == pytest.approx(1000.0 * np.pi * 0.2**2 * 1.5, rel=1e-6)


@pytest.mark.parametrize(("kind", "scale"), [("Cylinder", (2, 1, 1)), ("Capsule", (2, 2, 1))])
def test_what_its_scale_makes_another_shape_is_named(tmp_path, kind, scale):
    more = "float physics:mass = 3"
    text = METRES + body("b", inside=ROUND.format(kind=kind, axis="Z", scale=scale), more=more)
    said = rf"nor shapes that are read \({kind} /b/g, which its scale \({', '.join(map(str, scale))}\) makes none\)"
    with pytest.raises(engine.RobotFileError, match=said):
        loaded(tmp_path, text, floating_base=True)
