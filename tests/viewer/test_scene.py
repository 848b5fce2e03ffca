"""What is drawn where meshes are missing: the rest, and a warning that says which."""

import re
from pathlib import Path

import numpy as np
import pytest
import trimesh

import engine
from engine.sensors.ray_targets import ray_targets
from engine.simulation.contacts import Contacts
from engine.spatial import inertia
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene
from tests.cli.commands import run

BOX = '<visual><geometry><box size="0.2 0.1 0.1"/></geometry></visual>'
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
LOST = "<string>:1: link 'a': mesh '{}' is not there; looked for "


def robot(*shapes: str, name: str = "r") -> engine.Model:
    return engine.load_urdf(text(*shapes, name=name))


def text(*shapes: str, name: str = "r") -> str:
    return f'<robot name="{name}"><link name="a">{"".join(shapes)}</link></robot>'


def lost(count: int) -> list[str]:
    return [MESH.format(f"m{i}.stl") for i in range(count)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_floor_lies_under_ground_that_robots_have():
    """Feet may reach a little below the floor; of a height field nothing does."""
    for height in (-0.01, 0.01):
        builder = engine.Builder("land")
        shape = engine.Geometry("heightfield", (4.0, 4.0), heights=[[height, 0.3], [0.2, 0.1]])
        builder.add_link("land", visuals=[shape])
        assert abs(Scene(builder.model()).floor - min(height, 0.0)) < 1e-6


def standing(ground: engine.HalfSpace) -> engine.Trajectory:
    builder = engine.Builder("ball")
    ball = engine.Geometry("sphere", (0.1,))
    builder.add_link("ball", inertia=inertia.sphere(1.0, 0.1), visuals=[ball], collisions=[ball])
    simulator = engine.Simulator(builder.model(floating_base=True), contacts=engine.Contacts(ground), dt=1e-3)
    start = np.array(ground.normal) * (ground.offset + 0.2)
    return simulator.run([1, 0, 0, 0, *start], np.zeros(6), 0.05)


def test_the_ground_of_contacts_is_the_one_that_is_drawn(tmp_path):
    """Level ground at its height, also where nothing touches it, and from a file; a slope as a square under the motion."""
    motion = standing(engine.HalfSpace(offset=0.4))
    assert Scene(motion).floor == 0.4 and Scene(motion[:1]).floor == 0.4
    assert Scene(engine.load_trajectory(motion.save(tmp_path / "run.h5"))).floor == 0.4
    motion = standing(engine.HalfSpace((0.3, 0.0, 1.0), 0.5))
    scene = Scene(motion)
    robot, slope = scene.actors
    np.testing.assert_allclose(slope.poses(0.0)[0, 0] @ [0, 0, 1, 0], [*motion.ground[:3, 2], 0.0], atol=1e-15)
    assert abs(motion.ground[:3, 2] @ slope.poses(0.0)[0, 0, :3, 3] - 0.5) < 1e-15
    assert scene.extent[1] < 0.3 and scene.floor < motion.q[:, 6].min() - 0.2          # the camera sees the ball
    assert len(Scene(robot.model).actors) == 1


def test_the_rest_is_drawn_and_what_is_missing_named():
    with pytest.warns(engine.RobotFileWarning, match="^1 visual shape of 'r' is not drawn: " + LOST.format("m0.stl")) as told:
        scene = Scene(robot(BOX, *lost(1)))
    assert len(told) == 1 and len(scene.drawing(0.0).which) == 1
    with pytest.warns(engine.RobotFileWarning, match=r"^5 visual shapes of 'r' are not drawn: .*m0.*; .*m1.*; .*m2.*; and 2 more$"):
        Scene(robot(BOX, *lost(5)))


def test_a_mesh_that_cannot_be_read_is_missing_too():
    Path("m0.stl").write_bytes(bytes(range(256)))
    with pytest.warns(engine.RobotFileWarning, match=r"m0.stl: the mesh cannot be read"):
        assert len(Scene(robot(BOX, *lost(1))).actors[0].parts) == 1


def test_colladas_up_axis_is_told_once_for_a_robot():
    for name in ("m0.dae", "m1.dae"):
        trimesh.creation.box().export(name)                     # Y_UP, as trimesh has it
    shapes = [MESH.format("m0.dae"), MESH.format("m1.dae")]
    with pytest.warns(engine.RobotFileWarning, match=r"m0.dae \(and 1 more\): its <up_axis> is Y_UP, and it is taken as it is") as told:
        Scene([robot(*shapes)] * 2)
    assert len(told) == 1
    Scene([engine.load_urdf(text(*shapes), up_axis=up_axis) for up_axis in (False, True)])


def reach(tmp_path, name, turned, rest=()):
    """A chain of three rods of 1 m along z, each from its joint to the next, in a file that says Y_UP: or as its axis has it."""
    rod = trimesh.creation.box((0.1, 1.0, 0.1) if turned else (0.1, 0.1, 1.0))
    rod.apply_translation((0.0, 0.5, 0.0) if turned else (0.0, 0.0, 0.5))
    rod.export(tmp_path / f"{name}.dae")
    shape = engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=tmp_path / f"{name}.dae")
    builder = engine.Builder(name)
    for k in range(3):
        builder.add_link(f"l{k}", visuals=[shape, *rest], collisions=[shape])
        if k:
            builder.add_joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", engine.spatial.se3.pose(np.eye(3), np.array([0.0, 0.0, 1.0])))
    return builder.model(floating_base=True)


def height(scene):
    """Of what is drawn of the first link, m."""
    drawn = [p for p in scene.actors[0].parts if p.link == 0]
    return np.ptp(np.concatenate([p.surface.positions @ p.placement[:3, :3].T for p in drawn])[:, 2])


@pytest.mark.parametrize("turned", [True, False])
def test_colladas_up_axis_is_judged_by_the_joints_where_that_is_clear(tmp_path, turned):
    """Drawn upright either way, touching as it is drawn, and seen so; and told."""
    model = reach(tmp_path, "rod", turned)
    said = "turned, so that it points along z: joints are 1.9 m off" if turned else "taken as it is written: joints are 0 m off"
    with pytest.warns(engine.RobotFileWarning, match=rf"Y_UP, and it is {said}.*up_axis={turned}\)"):
        assert height(Scene(model)) == pytest.approx(1.0)
    with pytest.warns(engine.RobotFileWarning, match="Y_UP"):
        (shape,) = {s.shape for s in Contacts().placed(model, "l0")}
    assert np.ptp(np.array(shape.vertices)[:, 2]) == pytest.approx(1.0)
    with pytest.warns(engine.RobotFileWarning, match="Y_UP"):
        seen = ray_targets(model)
    assert np.ptp(seen[0].shape.corners.reshape(-1, 3)[:, 2]) == pytest.approx(1.0)


def test_colladas_of_several_up_axes_are_judged_one_by_one(tmp_path):
    """Beside a file that says Z_UP, and one that says X_UP and is as it says: what points elsewhere is turned, each by its axis."""
    text = trimesh.creation.box((0.1, 0.1, 1.0)).apply_translation((0.0, 0.0, 0.5)).export(file_type="dae").decode()
    (tmp_path / "z.dae").write_text(re.sub("<up_axis>.*?</up_axis>", "<up_axis>Z_UP</up_axis>", text))
    text = trimesh.creation.box((1.0, 0.1, 0.1)).apply_translation((0.5, 0.0, 0.0)).export(file_type="dae").decode()
    (tmp_path / "x.dae").write_text(re.sub("<up_axis>.*?</up_axis>", "<up_axis>X_UP</up_axis>", text))
    rest = [engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=tmp_path / name) for name in ("z.dae", "x.dae")]
    with pytest.warns(engine.RobotFileWarning) as told:
        scene = Scene(reach(tmp_path, "rod", False, rest))
    texts = sorted(str(w.message) for w in told)
    assert len(texts) == 2 and "X_UP, and it is turned" in texts[1] and "Y_UP, and it is taken as it is written: " in texts[0]
    ends = [p.surface.positions @ p.placement[:3, :3].T + p.placement[:3, 3] for p in scene.actors[0].parts if p.link == 0]
    for points in ends:                                                        # all three stand on the joint
        np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[-0.05, -0.05, 0], [0.05, 0.05, 1]], atol=1e-6)


@pytest.mark.parametrize(("count", "said"), [(3, 3), (9, 1)])
def test_many_meshes_without_materials_are_told_as_one(tmp_path, count, said):
    builder = engine.Builder("alex")
    for k in range(count):
        path = tmp_path / f"part{k}.obj"
        path.write_text(f"mtllib gone{k}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 {k}\nusemtl paint\nf 1 2 3\n")
        builder.add_link(f"l{k}", visuals=[engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=path)])
        if k:
            builder.add_joint(f"j{k}", "fixed", "l0", f"l{k}")
    with pytest.warns(UserWarning) as told:
        Scene(builder.model())
    texts = [str(w.message) for w in told]
    assert len(texts) == said and all("gone" in text and text.endswith("drawn without it") for text in texts)
    assert said > 1 or texts[0].startswith("9 files of 'alex' are drawn without a part of their looks, such as ")


def test_where_nothing_is_left_the_error_says_why():
    with pytest.raises(ViewerError, match="the links of 'r' have no visual shapes that can be drawn: " + LOST.format("m0.stl")):
        Scene(robot(*lost(2)))
    with pytest.raises(ViewerError, match=r"the links of 'r' have no collision shapes; expected some to show$"):
        Scene(robot(BOX), geometry="collision")
    bare = engine.Builder("bare")
    bare.add_link("bare", collisions=[engine.Geometry("box", (1.0, 1.0, 1.0))])
    (part,) = Scene(bare.model(floating_base=True)).actors[0].parts               # what it touches with is all there is
    assert len(part.surface.faces) == 12


def test_a_robot_of_which_nothing_is_left_does_not_hide_the_others():
    with pytest.warns(engine.RobotFileWarning, match="2 visual shapes of 'ghost' are not drawn") as told:
        scene = Scene([robot(BOX), *[robot(*lost(2), name="ghost")] * 3])
    assert len(told) == 1 and [len(a.parts) for a in scene.actors] == [1, 0, 0, 0]
    assert len(scene.drawing(0.0).which) == 1


def test_other_shapes_are_asked_for_later():
    scene = Scene(robot(BOX, MESH.format("m.stl").replace("visual", "collision"), BOX.replace("visual", "collision")))
    with pytest.warns(engine.RobotFileWarning, match="1 collision shape of 'r' is not drawn"):
        scene.reshape("collision")
    assert len(scene.actors[0].missing) == len(scene.actors[0].parts) == 1
    assert not Actor(robot(BOX)).missing


@pytest.mark.parametrize("kind", ["glb", "html"])
def test_an_export_has_the_rest(kind, capsys):
    with pytest.warns(engine.RobotFileWarning, match="1 visual shape of 'r' is not drawn"):
        engine.export(robot(BOX, *lost(1)), f"r.{kind}")
    assert Path(f"r.{kind}").stat().st_size > 500
    Path("r.urdf").write_text(text(BOX, *lost(1)))
    assert run("export", "r.urdf", f"again.{kind}") == 0
    assert "note: 1 visual shape of 'r' is not drawn: r.urdf:1: link 'a': mesh 'm0.stl' is not there" in capsys.readouterr().err
