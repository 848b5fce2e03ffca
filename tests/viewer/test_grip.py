"""Hands: what is pulled goes where the hand goes, as far as joints let it; what is said of handles agrees with what is seen."""

import numpy as np
import pytest

import engine
from engine.spatial import so3
from engine.viewer.scene import Camera
from engine.viewer.window.gizmo import Gizmo
from engine.viewer.window.reach import movable, reach
from tests.viewer.mechanism import arm, mechanism

ARM = arm()


@pytest.mark.parametrize("seed", range(5))
def test_a_pose_that_can_be_reached_is_reached(seed):
    """Of a hand with six joints: as inverse kinematics by another route, forward kinematics of known angles, has it."""
    rng = np.random.default_rng(seed)
    robot, q0 = engine.compile(ARM), np.array([0.3, -0.6, 0.9, 0.5, 0.9, 0.2])
    goal = robot.forward_kinematics(q0 + rng.uniform(-0.15, 0.15, 6))[-1]
    q = q0
    for _ in range(20):                                                        # as often as a mouse moves
        q = reach(robot, q, "link5", np.zeros(3), goal[:3, 3], goal[:3, :3], 1.0)
    T = robot.forward_kinematics(q)[-1]
    assert np.linalg.norm(T[:3, 3] - goal[:3, 3]) < 1e-5 and np.linalg.norm(so3.log(T[:3, :3] @ goal[:3, :3].T)) < 1e-5


def test_what_is_out_of_reach_is_pointed_at():
    robot, q = engine.compile(ARM), np.array([0.3, -0.6, 0.9, 0.5, 0.9, 0.2])
    goal = np.array([9.0, 0.0, 0.3])
    for _ in range(60):
        q = reach(robot, q, "link5", np.zeros(3), goal, None, 1.0)
        assert np.isfinite(q).all()
    p = robot.forward_kinematics(q)[-1, :3, 3]
    shoulder = np.array([0.0, 0.0, 0.3])
    assert abs(np.linalg.norm(p - shoulder) - 0.9) < 1e-2 and (p - shoulder)[0] > 0.85


def test_a_floating_base_stays_unless_it_is_pulled_itself():
    model = mechanism()
    assert movable(model, "tip").tolist() == [6, 7] and movable(model, "fin").tolist() == movable(model, "base").tolist() == list(range(6))
    assert not len(movable(ARM, "stand"))
    q = reach(engine.compile(ARM), ARM.neutral(), "stand", np.zeros(3), np.ones(3), None, 1.0)
    assert np.array_equal(q, ARM.neutral())


@pytest.mark.parametrize("handle", range(6))
def test_handles_are_measured_where_they_are_drawn(handle):
    camera, size = Camera(distance=4.0, azimuth=0.6, elevation=0.5), (640, 480)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = so3.exp(np.array([0.4, 0.2, -0.3])), [0.1, -0.2, 0.3]
    gizmo = Gizmo(T, camera, camera)
    line = gizmo.lines()[handle]
    for k in (9, 12) if handle > 2 else (4, 8):
        (pixel,) = camera.project(line[k], size)
        axis = np.eye(3)[handle % 3]
        off = line[k] - T[:3, 3]
        a, b = np.roll(np.eye(3), -(handle % 3), axis=0)[1:]
        known = off @ axis if handle < 3 else np.arctan2(off @ b, off @ a)
        assert abs(gizmo.measure(handle, pixel, size) - known) < 1e-9
    moved = gizmo.moved(handle, 0.2)
    by = moved[:3, 3] - T[:3, 3] if handle < 3 else so3.log(moved[:3, :3] @ T[:3, :3].T)
    np.testing.assert_allclose(by, 0.2 * np.eye(3)[handle % 3], atol=1e-12)
    assert gizmo.hit(camera.project(line[-1 if handle < 3 else 8], size)[0], size) == handle and gizmo.hit((5, 5), size) is None
