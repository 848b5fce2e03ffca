"""What is drawn fits into the picture: arrows, ellipsoids of bad files, robots without shapes."""

import numpy as np
import pytest

import engine
from engine import RobotFileWarning
from engine.spatial import se3
from engine.viewer.scene import Actor, Scene, Shown
from engine.viewer.scene.errors import ViewerWarning


def test_ellipsoids_larger_than_the_robot_are_balls_and_said():
    from engine.viewer.scene.quantities import SHRUNK, quantities_of

    builder = engine.Builder("heavy")
    looks = [engine.Geometry("box", (1.0, 1.0, 1.0))]
    builder.add_link("sound", inertia=engine.spatial.inertia.box(1.0, (1.0, 1.0, 1.0)), visuals=looks)
    builder.add_link("wrong", inertia=engine.spatial.inertia.box(1.0, (90.0, 90.0, 90.0)), visuals=looks)
    builder.add_joint("j", "revolute", "sound", "wrong")
    known = quantities_of(Actor(builder.model()))
    with pytest.warns(ViewerWarning, match="1 inertia ellipsoid of 'heavy' would be larger"):
        sound, wrong = np.linalg.norm(known.ellipsoids[:, :3, :3], axis=1)
    assert wrong == pytest.approx(SHRUNK * known.whole) and sound.min() > 0.5


def test_arrows_are_within_the_framing():
    from engine.viewer.files.picture import seen_from
    from engine.viewer.scene.marks import reach

    q, v = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.array([0, 3.0, 0, 0, 0, 0])
    builder = engine.Builder("plate")
    builder.add_link("plate", inertia=engine.spatial.inertia.box(1.0, (0.2, 0.2, 1.0)), visuals=[engine.Geometry("box", (0.2, 0.2, 1.0))])
    motion = engine.Simulator(builder.model(floating_base=True), dt=1e-2, gravity=(0, 0, 0)).run(q, v, 0.1)
    scene, shown = Scene(motion), Shown(momentum=True)
    (camera,) = seen_from(scene, "top", (320, 240), None, None, reach(scene, shown))
    tip = reach(scene, shown)[:, 1].max()
    assert tip > 0.59 and camera.project([0.0, tip, 0.0], (320, 240))[0][1] > 0
    (narrow,) = seen_from(scene, "top", (320, 240), None, None)
    assert narrow.project([0.0, tip, 0.0], (320, 240))[0][1] < 0             # which it was without


def test_a_robot_with_hardly_a_shape_is_drawn_as_bars_between_joints():
    builder = engine.Builder("bare")
    builder.add_link("a", visuals=[engine.Geometry("sphere", (0.1,))])
    for k in range(9):
        builder.add_link(f"l{k}")
        builder.add_joint(f"j{k}", "revolute", f"l{k - 1}" if k else "a", f"l{k}", se3.pose(np.eye(3), np.array([0.0, 0.0, 0.3])))
    with pytest.warns(RobotFileWarning, match="shapes on 1 of 10 links"):
        drawn = {p.link for p in Actor(builder.model()).parts}
    assert drawn >= set(range(9))
