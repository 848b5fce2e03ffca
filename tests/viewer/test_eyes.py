"""What eyes see is drawn where it is, and a camera's pictures in colour have the pixels of its depths."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion

import engine
from engine import sensors as S
from engine.spatial import inertia, se3
from engine.viewer.scene import Scene, Shown
from engine.viewer.scene.eye_marks import OUTLINE, RAY
from engine.viewer.scene.marks import mark

CAMERA = S.DepthCamera("eye", 60, 40, 0.7, S.looking((0, 0, 0.1), toward=(1, 0, 0.05)), near=0.5, far=5.0, period=0.5, ignore=["lid"])


@pytest.fixture(scope="module")
def passing():
    """An eye passes by a red ball and a blue box; its own body and its lid are in the way."""
    b = engine.Builder("yard")
    red, blue = engine.Material("red", (0.9, 0.05, 0.05, 1.0)), engine.Material("blue", (0.05, 0.1, 0.9, 1.0))

    def at(*p):
        return se3.pose(np.eye(3), np.array(p, dtype=float))

    b.add_link("yard", visuals=[engine.Geometry("sphere", (0.5,), at(3.0, 0.3, 0.4), material=red),
                                engine.Geometry("box", (0.4, 0.5, 0.6), at(3.5, -0.6, 0.3), material=blue)])  # fmt: skip
    for name, x in (("eye", 0.1), ("lid", 0.7)):
        b.add_link(name, inertia=inertia.sphere(1.0, 0.1), visuals=[engine.Geometry("sphere", (0.1,), at(x, 0.0, 0.1))])
    b.add_joint("slide", "prismatic", "yard", "eye", axis=(0, 1, 0))
    b.add_joint("open", "revolute", "eye", "lid", axis=(1, 0, 0))
    return engine.Simulator(b.model(floating_base=False), dt=0.01, gravity=(0, 0, 0)).run([-0.2, 0.0], [0.4, 0.0], 1.0)


def test_points_lie_on_what_is_seen(passing):
    finder = S.RangeFinder("eye", (0.2, 0, 0.3), direction=(1, 0, 0), ignore=["lid"])
    drawing, bare = mark(Scene(passing), 0.5, Shown(eyes=(CAMERA, finder))), mark(Scene(passing), 0.5, Shown())
    points = drawing.poses[len(bare.poses) :, :3, 3]
    on_ball = np.abs(np.linalg.norm(points - [3.0, 0.3, 0.4], axis=1) - 0.5) < 1e-9
    off = np.abs(points - [3.5, -0.6, 0.3]) - [0.2, 0.25, 0.3]
    assert (on_ball | (np.abs(off.max(axis=1)) < 1e-9)).all() and 50 < on_ball.sum() < len(points) - 50
    segments, colors, _ = drawing.lines
    outline, ray = segments[(colors == OUTLINE).all(axis=1)], segments[(colors == RAY).all(axis=1)]
    assert outline.shape == (8, 2, 3) and np.ptp(outline[:4, 0], axis=0).max() < 1e-15
    np.testing.assert_allclose(ray[0, 0], passing.at([0.5]).pose("eye")[0, :3, 3] + [0.2, 0, 0.3], atol=1e-12)
    assert np.linalg.norm(ray[0, 1] - [3.0, 0.3, 0.4]) == pytest.approx(0.5)


def test_colours_and_depths_are_of_the_same_pixels(passing):
    """Second route: where the renderer shows red or blue, and nowhere else, a ray meets what is red or blue."""
    t, pictures = engine.images(passing, CAMERA, environment="plain", samples=0)
    times, depths = CAMERA.frames(passing)
    np.testing.assert_array_equal(t, times)
    assert pictures.shape == (3, 40, 60, 3)
    for picture, depth in zip(pictures.astype(float), depths, strict=True):
        red, green, blue = np.moveaxis(picture, -1, 0)
        seen = np.maximum(red, blue) > 1.5 * np.maximum(green, 1.0) + 5.0
        met = depth < CAMERA.far
        rim = binary_dilation(met) & ~binary_erosion(met)                      # where the renderer smooths edges
        assert (seen == met)[~rim].all() and binary_erosion(met).sum() > 200
    assert np.abs(pictures[0].astype(float) - pictures[2]).max() > 100


def test_what_takes_no_pictures_is_said_in_a_sentence(passing):
    with pytest.raises(engine.ViewerError, match="images are to be taken by 'eye'; expected an engine"):
        engine.images(passing, "eye")
    with pytest.raises(engine.ViewerError, match=r"images are to be taken of <model.*; expected a trajectory of one rollout"):
        engine.images(passing.model, CAMERA)
    with pytest.raises(engine.ModelError, match="eyes"):
        engine.images(passing, S.DepthCamera("eyes"))
    with pytest.raises(engine.ViewerError, match="eyes: got a Gyro; expected a RangeFinder, Lidar or DepthCamera"):
        mark(Scene(passing), 0.0, Shown(eyes=(S.Gyro("eye"),)))
    with pytest.raises(engine.ViewerError, match="eyes: no link is named 'eve'"):
        mark(Scene(passing), 0.0, Shown(eyes=(S.Lidar("eve", [0.0]),)))
