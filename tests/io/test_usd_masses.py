"""Masses of USD: who overrides whom, of a body and its shapes, against ``ComputeMassProperties`` of UsdPhysics."""

import numpy as np
import pytest

import engine
from engine.spatial import inertia, se3
from tests.io.test_usd import loaded
from tests.io.test_usd_stages import METRES, body, box

pytest.importorskip("pxr")

MASS, DENSITY, CENTER = "float physics:mass = 3", "float physics:density = 500", "point3f physics:centerOfMass = (0.1, 0.2, 0)"
TENSOR = "float3 physics:diagonalInertia = (1, 1.5, 2)\n    quatf physics:principalAxes = (0.8, 0.6, 0, 0)"
SAID = ("", MASS, DENSITY, CENTER, TENSOR, f"{MASS}\n{CENTER}", f"{MASS}\n{TENSOR}", f"{MASS}\n{TENSOR}\n{CENTER}", f"{DENSITY}\n{TENSOR}")
TURNED = 'double3 xformOp:translate = (0.5, 0, 0.1)\nfloat xformOp:rotateZ = 30\nuniform token[] xformOpOrder = ["xformOp:translate", ' \
         '"xformOp:rotateZ"]'  # fmt: skip
APIS = '"PhysicsCollisionAPI", "PhysicsMassAPI"'


def by_usd(file):
    """The inertia of /b that OpenUSD computes, given the cubes' volumes and unit tensors."""
    from pxr import Gf, Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.Open(str(file))
    prim, places = stage.GetPrimAtPath("/b"), UsdGeom.XformCache()

    def solid(cube):
        size, own = UsdGeom.Cube(cube).GetSizeAttr().Get(), UsdPhysics.RigidBodyAPI.MassInformation()
        T = places.GetLocalToWorldTransform(cube) * places.GetLocalToWorldTransform(prim).GetInverse()
        own.volume, own.centerOfMass, own.inertia = size**3, Gf.Vec3f(0), Gf.Matrix3f(size**5 / 6)
        own.localPos, own.localRot = Gf.Vec3f(T.ExtractTranslation()), Gf.Quatf(T.ExtractRotationQuat())
        return own

    mass, moments, center, axes = UsdPhysics.RigidBodyAPI(prim).ComputeMassProperties(solid)
    R = np.array(Gf.Matrix3f(axes)).T
    return inertia.from_mass(mass, np.array(center), R @ np.diag(moments) @ R.T)


@pytest.mark.parametrize("said", SAID)
def test_who_overrides_whom_is_as_usd_computes(tmp_path, said):
    """A body and one of its two shapes say any of mass, density, centre and tensor; numbers of USD are single."""
    for own in SAID:
        text = METRES + body("b", (0, 3, 1), inside=box("c", 0.2, APIS, f"{TURNED}\n{own}") + box("d", 0.3), more=said)
        model = loaded(tmp_path, text, floating_base=True)
        expected = by_usd(tmp_path / "robot.usda")
        assert np.abs(model.link("b").inertia - expected).max() < 1e-5 * np.abs(expected).max(), own


def test_a_center_is_in_the_units_of_its_prim_and_of_the_stage(tmp_path):
    """A shape of half the size at twice the scale, and all of it in centimetres and grams, is the same body."""
    half = TURNED.replace('"xformOp:rotateZ"]', '"xformOp:rotateZ", "xformOp:scale"]\nfloat3 xformOp:scale = (2, 2, 2)')
    center = "point3f physics:centerOfMass = ({0}, {1}, 0)".format
    whole, small = (METRES + body("b", inside=box("c", size, APIS, f"{place}\n{MASS}\n{center(*at)}"))
                    for size, place, at in ((0.2, TURNED, (0.1, 0.2)), (0.1, half, (0.05, 0.1))))  # fmt: skip
    grams = whole.replace("metersPerUnit = 1\n", "metersPerUnit = 0.01\n").replace("kilogramsPerUnit = 1\n", "kilogramsPerUnit = 0.001\n")
    for old, new in ((MASS, "float physics:mass = 3000"), (center(0.1, 0.2), center(10, 20)), ("(0.5, 0, 0.1)", "(50, 0, 10)"),
                     ("size = 0.2", "size = 20")):  # fmt: skip
        assert old in grams
        grams = grams.replace(old, new)
    one, *others = (loaded(tmp_path, text, floating_base=True).link("b").inertia for text in (whole, small, grams))
    assert one[5, 5] == pytest.approx(3.0)
    for other in others:
        assert np.abs(other - one).max() < 1e-5 * np.abs(one).max()


def test_a_body_is_harder_to_turn_about_a_center_that_is_said(tmp_path):
    """Steiner: a cube of 8 kg, side 0.2 m, by 0.1 m along x: 8·0.2²/6, and 8·0.1² more about y and z."""
    more = "float physics:mass = 8\npoint3f physics:centerOfMass = (0.1, 0, 0)"
    G = loaded(tmp_path, METRES + body("b", inside=box("c", 0.2), more=more), floating_base=True).link("b").inertia
    moments = inertia.transformed(se3.pose(np.eye(3), np.array([-0.1, 0, 0])), G)[:3, :3]
    assert moments == pytest.approx(np.diag(8 * 0.04 / 6 + np.array([0.0, 0.08, 0.08])), abs=1e-7)


CONE = 'def Cone "c" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\n}\n'


def test_a_body_without_mass_is_named(tmp_path):
    """Its only shape is not read: a warning of its own, and a finding."""
    with pytest.warns(engine.RobotFileWarning, match="leaves out shapes that are not read: Cone /a/c"), \
            pytest.warns(engine.RobotFileWarning, match="the mass of bodies of which neither that nor a .*: /a"):  # fmt: skip
        assert not loaded(tmp_path, METRES + body("a", inside=CONE) + body("b", inside=box("x", 1))).link("a").inertia.any()
    assert "/a" in [f.place for f in engine.check(tmp_path / "robot.usda").findings]


@pytest.mark.parametrize(("text", "expected"), [
    (body("a", inside=CONE, more=MASS), "body /a has a mass, and neither physics:diagonalInertia nor shapes that are read"),
    (body("a", inside=CONE, more=TENSOR), "body /a has an inertia, and neither physics:mass nor shapes that are read"),
    (body("a", inside=box("x", 1, APIS, "float physics:mass = -1")), "shape /a/x has a mass, density or inertia below zero"),
])  # fmt: skip
def test_masses_that_cannot_be(tmp_path, text, expected):
    with pytest.raises(engine.RobotFileError, match=expected):
        loaded(tmp_path, METRES + text, floating_base=True)


def test_axes_without_an_inertia_are_named(tmp_path):
    more = f"{MASS}\nquatf physics:principalAxes = (0.8, 0.6, 0, 0)"
    with pytest.warns(engine.RobotFileWarning, match="leaves out principal axes without an inertia along them: /a"):
        loaded(tmp_path, METRES + body("a", inside=box("x", 1), more=more), floating_base=True)


@pytest.mark.parametrize("enabled", [(True, True), (True, False), (False, False)])
def test_colliders_that_are_disabled_weigh_where_there_are_no_others(tmp_path, enabled):
    """Never what only looks like something beside them. OpenUSD computes of those that are enabled, and else nothing, which is said:
    cubes of 0.2 and 0.3 m of 1000 kg/m³."""
    off = "bool physics:collisionEnabled = {:d}".format
    inside = "".join(box(n, size, APIS, off(on)) for n, size, on in zip("cd", (0.2, 0.3), enabled, strict=True))
    text = METRES + body("b", (0, 3, 1), inside=inside + box("looks", 0.5, '"PhysicsMassAPI"'))
    if any(enabled):
        model = loaded(tmp_path, text, floating_base=True)
        expected = by_usd(tmp_path / "robot.usda")
        assert np.abs(model.link("b").inertia - expected).max() < 1e-5 * np.abs(expected).max()
    else:
        with pytest.warns(engine.RobotFileWarning, match="OpenUSD computes no mass of colliders that are all disabled, .*: /b"):
            model = loaded(tmp_path, text, floating_base=True)
        with pytest.raises(engine.EngineError, match="mass is -1"), np.errstate(all="ignore"):   # the rest of it is not set
            by_usd(tmp_path / "robot.usda")
        assert model.link("b").mass == pytest.approx(8.0 + 27.0)


@pytest.mark.parametrize(("text", "what"), [
    ('def Sphere "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {{\n double radius = {0}\n}}\n',
     "shape /b(: the size of| is) a sphere .*; expected .*numbers"),
    ('def PhysicsScene "s" {{\n float physics:gravityMagnitude = {1}\n}}\n' + body("b", inside=box("c", 0.2)),
     "scene /s has gravity of .* along .*; expected numbers"),
])  # fmt: skip
@pytest.mark.parametrize("values", [(0, "nan"), (-1, "inf"), ("nan", "nan")])
def test_numbers_that_are_none_are_refused(tmp_path, text, what, values):
    text = text.replace("{{", "{").replace("}}", "}").replace("{0}", str(values[0])).replace("{1}", str(values[1]))
    with pytest.raises(engine.RobotFileError, match=what):
        loaded(tmp_path, METRES + text, floating_base=True)
