"""The robots that come with the engine: they are found, are what they say, and are installed with it."""

from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name, nv, mass", [
    ("free_flyer", 13, 500), ("dual_arm_servicer", 20, 646), ("seven_joint_arm", 7, 22.0), ("quadruped", 18, 12.7),
])  # fmt: skip
def test_a_robot_is_there_and_nothing_is_wrong_in_it(name, nv, mass):
    path = engine.example(name)
    floats = name != "seven_joint_arm"
    model = engine.load_urdf(path, floating_base=floats)
    assert (model.name, model.nv) == (name, nv) and engine.check(path, meshes=True, floating_base=floats).findings == ()
    assert sum(link.mass for link in model.links) == pytest.approx(mass, rel=0.02)
    assert {*path.parent.glob("meshes/*")} == {shape.mesh for link in model.links for shape in link.visuals}


@pytest.mark.parametrize("name", ["free_flier", "", "../examples/free_flyer", "free_flyer.urdf", None])
def test_an_unknown_name_gets_the_nearest_and_the_list(name):
    expected = r"there is no example .*; expected one of dual_arm_servicer, free_flyer, quadruped, seven_joint_arm$"
    with pytest.raises(engine.RobotFileError, match=expected) as error:
        engine.example(name)
    assert ("(did you mean 'free_flyer'?)" in str(error.value)) == (name not in ("", None))


def test_whatever_lies_in_the_package_is_installed():
    tomllib = pytest.importorskip("tomllib")
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["engine"]
    package = ROOT / "engine"
    lies = {path for path in package.rglob("*") if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts}
    assert len(lies) > 30 and not lies - {path for pattern in patterns for path in package.glob(pattern)}
