"""The camera: where it looks from, what it sees, and how it moves."""

import numpy as np
import pytest

from engine.viewer.scene import ViewerError
from engine.viewer.scene.camera import VIEWS, Camera

SIZE = (320, 200)


def cameras(n=8):
    rng = np.random.default_rng(1)
    for _ in range(n):
        yield Camera(rng.uniform(-2, 2, 3), *rng.uniform([1, -3, -1.4], [9, 3, 1.4]), fov=float(rng.uniform(0.3, 1.2)))


@pytest.mark.parametrize("camera", [*cameras()])
def test_axes_are_right_up_and_back(camera):
    R = camera.axes
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert R[2, 0] == 0.0 and R[2, 1] >= 0.0                    # the horizon is level, and up is up
    np.testing.assert_allclose(camera.eye - camera.target, camera.distance * R[:, 2])
    np.testing.assert_allclose(camera.view() @ [*camera.target, 1.0], [0, 0, -camera.distance, 1.0], atol=1e-12)


@pytest.mark.parametrize("camera", [*cameras()])
def test_a_ray_goes_through_what_is_projected_there(camera):
    rng = np.random.default_rng(2)
    for point in camera.target + rng.uniform(-0.3, 0.3, (5, 3)) * camera.distance:
        ((x, y),) = camera.project(point, SIZE)
        origin, d = camera.ray(x, y, SIZE)
        assert np.linalg.norm(np.cross(point - origin, d)) < 1e-12 * camera.distance and (point - origin) @ d > 0
    np.testing.assert_allclose(camera.project(camera.target, SIZE), [[160, 100]])
    assert np.isnan(camera.project(camera.eye + camera.axes[:, 2], SIZE)).all()                       # behind it


def test_the_angle_of_view_is_from_bottom_to_top():
    camera = Camera(distance=4.0, azimuth=0.0, elevation=0.0, fov=0.8)
    ((x, y),) = camera.project([0.0, 0.0, 4.0 * np.tan(0.4)], SIZE)
    assert (x, y) == pytest.approx((160, 0), abs=1e-9)


@pytest.mark.parametrize("name", VIEWS)
def test_views_stand_on_their_side(name):
    camera = Camera()
    camera.look(name)
    side = {"front": (1, 0, 0), "back": (-1, 0, 0), "left": (0, 1, 0), "right": (0, -1, 0), "top": (0, 0, 1), "bottom": (0, 0, -1)}[name]
    np.testing.assert_allclose(camera.axes[:, 2], side, atol=1e-15)


@pytest.mark.parametrize("camera", [*cameras(4)])
def test_orbit_pan_and_dolly(camera):
    target, eye, distance = camera.target.copy(), camera.eye, camera.distance
    camera.orbit(0.3, 0.0)
    np.testing.assert_allclose(camera.target, target)
    assert np.linalg.norm(camera.eye - eye) == pytest.approx(2 * distance * np.sin(0.15) * np.cos(camera.elevation))
    camera.orbit(0.0, -9.0)
    assert camera.elevation == np.pi / 2
    camera.orbit(0.0, 0.5)
    height = 2 * distance * np.tan(camera.fov / 2)
    camera.pan(0.25, -0.5)
    ((x, y),) = camera.project(target, SIZE)
    assert (x - 160, y - 100) == pytest.approx((-0.25 * 200, -0.5 * 200))      # what was in the middle moves the other way
    assert np.linalg.norm(camera.target - target) == pytest.approx(np.hypot(0.25, 0.5) * height)
    camera.dolly(0.5)
    assert camera.distance == 0.5 * distance
    camera.dolly(1e-9)
    assert camera.distance > 0


@pytest.mark.parametrize("camera", [*cameras()])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.2])
def test_fit_shows_everything_and_not_much_else(camera, aspect):
    points = np.random.default_rng(3).uniform(-1, 1, (60, 3)) * [3.0, 1.0, 0.4] + [5.0, 0, 1]
    turned = camera.azimuth, camera.elevation
    camera.fit(points, aspect)
    assert (camera.azimuth, camera.elevation) == turned
    size = (int(300 * aspect), 300)
    at = camera.project(points, size) / size
    assert (at > 0.0).all() and (at < 1.0).all()
    if camera.distance > 2.3 * camera.radius:                   # nearer than that it would distort
        assert np.ptp(at, axis=0).max() > 0.8
    near, far = camera.planes
    depth = (camera.eye - points) @ camera.axes[:, 2]
    assert near < depth.min() and depth.max() < far


def test_fit_of_a_single_point():
    camera = Camera()
    camera.fit([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(camera.target, [1, 2, 3])
    assert camera.distance > 0


@pytest.mark.parametrize(("given", "said"), [
    ({"target": (0.0, 1.0)}, "expected a point"), ({"target": (0.0, 1.0, np.nan)}, "expected finite numbers"),
    ({"distance": 0.0}, "m above zero"), ({"fov": 4.0}, "between 0 and π"), ({"elevation": -5.0}, "are these degrees"),
])  # fmt: skip
def test_a_camera_of_no_numbers_is_refused(given, said):
    with pytest.raises(ViewerError, match=said):
        Camera(**given)


def test_a_camera_counts_angles_in_its_frame_and_takes_a_tuple():
    turn = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    plain, turned = Camera(azimuth=0.3, elevation=0.4), Camera(target=(0.0, 0.0, 0.0), azimuth=0.3, elevation=0.4, frame=turn)
    assert turned.eye == pytest.approx(turn @ plain.eye) and turned.axes == pytest.approx(turn @ plain.axes)
    x, y = 20.0, 70.0
    clip = np.array([2 * x / 160 - 1, 1 - 2 * y / 120, 1.0, 1.0])
    d = (turned.rays(160 / 120) @ clip)[:3]
    assert d / np.linalg.norm(d) == pytest.approx(turned.ray(x, y, (160, 120))[1])
