"""Every MJCF robot there is on this machine, compared with MuJoCo at random states: gymnasium's, dm_control's, and MuJoCo's own."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from engine import simulator_of
from engine.io import RobotFileError, RobotFileWarning, check, load
from tests.io.mjcf_peer import Pair

mujoco = pytest.importorskip("mujoco")
PLACES = {"gymnasium": "envs/mujoco/assets", "dm_control": "", "mujoco": "testdata"}
#: of the largest number; where a mesh makes inertias, MuJoCo's own iteration for principal axes ends at some 1e-10
CLOSE, OF_MESHES = 1e-10, 2e-9


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where MuJoCo writes its log."""
    monkeypatch.chdir(tmp_path)


def robots() -> list[Path]:
    found = []
    for package, folder in PLACES.items():
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            found += sorted((Path(place) / folder).rglob("*.xml"))
    return found


ROBOTS = robots()


def folders(path: Path) -> list[Path]:
    """Where the meshes of dm_control's robots lie, which are named across its folders."""
    return [p for p in path.parents if p.name == "dm_control"][:1]


def called(path: Path) -> str:
    return "/".join(path.parts[-3:])


def compared(path: Path) -> tuple[str, dict[str, float], Pair | None]:
    """What came of a file in words, the differences from MuJoCo, and both."""
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError as problem:
        return f"refused by MuJoCo: {str(problem).splitlines()[0][:90]}", {}, None
    pair = Pair(mujoco, path, package_dirs=folders(path))
    worst = pair.differences(np.random.default_rng(0))
    said = f"{max(worst.values()):.1e}" if worst else "nothing moves"
    return f"{said}{f', and warns: {pair.warned}' if pair.warned else ''}", worst, pair


@pytest.mark.parametrize("path", ROBOTS, ids=called)
def test_a_robot_moves_as_it_does_in_mujoco(path):
    said, worst, pair = compared(path)
    if pair is None:
        pytest.skip(said)
    assert max(worst.values(), default=0.0) < (OF_MESHES if pair.m.nmesh else CLOSE), worst
    if len(pair.actuators) < pair.m.nu:
        assert "the actuator is left out" in str(check(path, folders(path)))


@pytest.mark.parametrize("gains", [
    'gainprm="5" biastype="affine" biasprm="0 -5 0.7"',
    'gaintype="affine" gainprm="5 0 1" biastype="affine" biasprm="2 -5 0.7"',
    'gainprm="5" biastype="affine" biasprm="0 -4 0.7"',
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*its bias is 0.7 times the speed")
def test_a_general_actuator_has_the_damping_that_mujoco_gives_it(gains):
    text = f"""<mujoco><worldbody><body><joint name="j"/><geom size="0.1" pos="1 0 0"/></body></worldbody>
      <actuator><general joint="j" gear="3" {gains}/></actuator></mujoco>"""
    assert Pair(mujoco, text).differences(np.random.default_rng(0))["actuators"] < CLOSE


def test_gymnasiums_robots_are_there():
    if importlib.util.find_spec("gymnasium") is None:
        pytest.skip("gymnasium is not there")
    assert sum("gymnasium" in path.parts for path in ROBOTS) >= 14


@pytest.mark.parametrize("path", ROBOTS, ids=called)
def test_what_mujoco_refuses_is_no_traceback(path):
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotFileWarning)
            try:
                load(path)
            except RobotFileError as problem:
                assert "\n" not in str(problem)


if __name__ == "__main__":
    outcomes = {called(path): compared(path) for path in ROBOTS}
    print(f"{sum(bool(worst) for _, worst, _ in outcomes.values())} robots that move, of {len(outcomes)} files:")
    for name, (words, _, _) in outcomes.items():
        print(f"  {name:<60} {words}")


def written(path: Path, faces: list[list[int]]) -> Path:
    """An OBJ file of a lumpy ball of eight points about the equator and two poles, in numbers that no float32 is, and a robot of it."""
    turn = np.arange(8) * np.pi / 4.0
    points = [*(np.stack([np.cos(turn), np.sin(turn), 0.1 * np.cos(3.0 * turn)], axis=1) / 3.0), [0.0, 0.0, 0.7], [0.0, 0.0, -0.7]]
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.array(points).tolist()]
    lines += [f"f {' '.join(str(k + 1) for k in face)}" for face in faces]
    path.with_suffix(".obj").write_text("\n".join(lines) + "\n")
    path.write_text(f"""<mujoco><asset><mesh name="m" file="{path.stem}.obj"/></asset><worldbody><body><joint/>
      <geom type="mesh" mesh="m"/></body></worldbody></mujoco>""")
    return path


def test_a_mesh_weighs_what_it_does_in_mujoco_which_keeps_its_points_in_single_precision(tmp_path):
    faces = [f for k in range(8) for f in ([k, (k + 1) % 8, 8], [(k + 1) % 8, k, 9])]
    pair = Pair(mujoco, written(tmp_path / "ball.xml", faces))
    assert abs(pair.m.body_mass[1] / pair.model.links[1].mass - 1.0) < 1e-14
    assert pair.differences(np.random.default_rng(0))["M"] < CLOSE
    assert "corners" not in str(check(tmp_path / "ball.xml"))


def test_a_mesh_that_mujoco_splits_in_its_own_way_is_named(tmp_path):
    faces = [f for k in range(0, 8, 2) for f in ([k + 1, (k + 2) % 8, 8, k], [k + 1, k, 9, (k + 2) % 8])]
    pair = Pair(mujoco, written(tmp_path / "ball.xml", faces))
    assert abs(pair.m.body_mass[1] / pair.model.links[1].mass - 1.0) > 1e-6
    assert "the mesh 'm' has faces of more than three corners" in str(check(tmp_path / "ball.xml"))


def test_passive_forces_that_are_off_are_all_off():
    """As by the flags that newer files have in place of that one, with nothing of a fluid and of what carries weight."""
    text = """<mujoco><option density="1.2" viscosity="0.1"><flag %s/></option><worldbody><body name="a" gravcomp="%s">
      <joint name="j" axis="0 1 0" stiffness="3" damping="2" frictionloss="0.5"/><geom size="0.1"/></body></worldbody></mujoco>"""
    none = load(text.replace('density="1.2" viscosity="0.1"', "") % ('spring="disable" damper="disable"', "0"))
    off = load(text % ('passive="disable"', "1"))
    assert off.joints[0].damping == none.joints[0].damping == 0.0 and off.joints[0].friction == 0.5
    runs = [simulator_of(model).run([0.4], [1.0], 0.1) for model in (off, none)]
    assert np.array_equal(runs[0].q, runs[1].q) and runs[0].q[-1] != 0.4
