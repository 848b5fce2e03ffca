"""Inverse kinematics of many targets at once: each row as it would be alone, by its law, a closed form and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import Limits, StateError, Target, inverse_kinematics
from engine.inverse_kinematics.problem import joint_box
from engine.spatial import quaternion, se3
from tests.dynamics.support import file, robot
from tests.inverse_kinematics.test_inverse_kinematics import moved, off, planar_arm, pose, within

FIELDS = ("q", "converged", "residual", "iterations", "guesses", "limits", "reason")


def reachable(name, link, count, seed):
    """Random configurations within the limits, and the link's poses there."""
    model, rng = robot(name), np.random.default_rng(seed)
    lower, upper = joint_box(model)
    q = rng.uniform(np.maximum(lower, -np.pi), np.minimum(upper, np.pi), (count, model.nq))
    return model, q, engine.compile(model).forward_kinematics(q)[:, model.link_index(link)]


def same(one, row, exact=True):
    """Both results are the same, to the bit or to what a minimum's square root leaves."""
    for name in FIELDS:
        a, b = getattr(one, name), getattr(row, name)
        if exact or name in ("converged", "guesses", "limits"):
            assert np.array_equal(a, b) and type(a) is type(b), name
        elif name in ("q", "residual"):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("name", "link"), [("panda", "panda_hand"), ("ur5", "tool0")])
def test_a_thousand_poses_are_reached_within_the_limits(name, link):
    model, _, T = reachable(name, link, 1000, 40)
    found = inverse_kinematics(model, {link: T})
    assert found.converged.all() and len(found) == 1000 and found.batch == (1000,) and (found.reason == "").all()
    there = engine.compile(model).forward_kinematics(found.q)[:, model.link_index(link)]
    assert max(max(off(*pair)) for pair in zip(there, T, strict=True)) < 1.1e-9 and found.residual.max() <= 1e-9
    lower, upper = joint_box(model)
    assert (found.q >= lower).all() and (found.q <= upper).all() and all(within(model, q) for q in found.q)


def test_a_row_is_what_it_would_be_alone():
    model, q, T = reachable("panda", "panda_hand", 40, 41)
    q0 = np.clip(q + 0.5 * np.random.default_rng(42).standard_normal(q.shape), *joint_box(model))
    T[::8, :3, 3] *= 3.0                                                       # some lie out of reach
    many = inverse_kinematics(model, {"panda_hand": T}, q0=q0, seeds=10)
    assert not many.converged[::8].any() and many.converged.sum() == 35 and len({*many.guesses.tolist()}) > 2
    for k in range(40):
        same(inverse_kinematics(model, {"panda_hand": T[k]}, q0=q0[k], seeds=10), many[k], exact=bool(many.converged[k]))


def test_planar_arm_in_closed_form():
    """cos q2 = (x² + y² − a² − b²) / 2ab, q1 = atan2(y, x) − atan2(b sin q2, a + b cos q2): the elbow stays on the side of the guess."""
    a, b, model, rng = 0.7, 0.5, planar_arm(0.7, 0.5), np.random.default_rng(43)
    r, angle = rng.uniform(0.3, 1.1, 50), rng.uniform(-2.0, 2.0, 50)
    goals = np.stack([r * np.cos(angle), r * np.sin(angle), 0.0 * r], axis=-1)
    q2 = np.array([[1.0], [-1.0]]) * np.arccos((r**2 - a**2 - b**2) / (2 * a * b))
    q1 = angle - np.arctan2(b * np.sin(q2), a + b * np.cos(q2))
    expected = np.stack([q1, q2], axis=-1)
    found = inverse_kinematics(model, {"tip": goals}, q0=expected + rng.uniform(-0.2, 0.2, expected.shape))
    assert found.converged.all() and found.batch == (2, 50) and (found.guesses == 1).all()
    np.testing.assert_allclose(found.q, expected, atol=1e-8)


def test_gauss_and_newtons_method_with_pinocchio():
    """Δq = −J⁻¹ log(T*⁻¹ T) from the same guesses, close by, ends in the same configurations."""
    model, q, T = reachable("ur5", "tool0", 20, 44)
    peer = pin.buildModelFromUrdf(str(file("ur5")))
    data, frame = peer.createData(), peer.getFrameId("tool0")
    assert [*peer.names][1:] == [b.joint.name for b in model.bodies]
    q0 = np.clip(q + 0.02 * np.random.default_rng(45).standard_normal(q.shape), *joint_box(model))
    found = inverse_kinematics(model, {"tool0": T}, q0=q0)
    compared = 0
    for k in range(20):
        x = q0[k].copy()
        for _ in range(30):
            pin.framesForwardKinematics(peer, data, x)
            error = pin.log6(pin.SE3(T[k]).actInv(data.oMf[frame])).vector
            J = pin.computeFrameJacobian(peer, data, x, frame, pin.LOCAL)
            if np.abs(error).max() < 1e-12 or np.linalg.cond(J) > 1e4:
                break
            x -= np.linalg.solve(J, error)
        if np.abs(error).max() < 1e-12 and np.abs(x - q0[k]).max() < 0.3:
            compared += 1
            np.testing.assert_allclose(found.q[k], x, atol=1e-6)
    assert compared > 10


def test_what_is_left_is_said_row_by_row():
    model = planar_arm(1.0, 1.0, limits=Limits(-0.5, 0.5))
    goals = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [5.0, 0.0, 0.0], [1.95, 0.2, 0.0]])
    found = inverse_kinematics(model, {"tip": goals}, q0=[0.1, 0.1])
    assert found.converged.tolist() == [True, False, False, True]
    assert found.reason.tolist()[::3] == ["", ""] and found.limits.tolist() == [(), ("j1", "j2"), (), ()]
    assert found.reason[1].startswith("link 'tip' is 1") and found.reason[1].endswith("that was found, with j1, j2 at their limits")
    assert found.reason[2] == "link 'tip' is 3 m off at the nearest that was found"
    assert repr(found) == "<4 configurations: 2 reach their targets>" and found[2].residual[0, 1] == pytest.approx(3.0)
    assert repr(found[2]) == f"<a configuration that does not reach its targets: {found.reason[2]}>"
    assert repr(found[0]) == "<a configuration that reaches its targets>" and found[0].converged is True and found[0].limits == ()
    part = found[1:3]
    assert part.batch == (2,) and np.array_equal(part.q, found.q[1:3]) and [one.guesses for one in part] == [51, 51]


def test_two_links_and_what_is_asked_of_them():
    model, rng = robot("talos"), np.random.default_rng(46)
    hands = ["arm_left_7_link", "arm_right_7_link"]
    q = np.clip(model.neutral() + 0.3 * rng.standard_normal((6, model.nq)), *joint_box(model))
    T = [engine.compile(model).forward_kinematics(q)[:, model.link_index(hand)] for hand in hands]
    found = inverse_kinematics(model, {hands[0]: T[0], hands[1]: T[1][:, :3, :3]})
    assert found.converged.all() and found.residual.shape == (6, 2, 2) and (found.residual[:, 1, 1] == 0).all()
    for k in range(6):
        assert max(off(pose(model, found.q[k], hands[0]), T[0][k])) < 1.1e-9
        assert off(pose(model, found.q[k], hands[1]), T[1][k])[0] < 1.1e-9


def test_leading_dimensions_broadcast():
    model = planar_arm(1.0, 1.0)
    goals, starts = np.array([[1.0, 1.0, 0.0], [0.5, 1.2, 0.0]]), np.array([[0.5, 1.0], [0.5, -1.0], [0.1, 0.9]])
    found = inverse_kinematics(model, {"tip": goals}, q0=starts[:, None])
    assert found.batch == (3, 2) and len(found) == 3 and found.converged.all() and (found.q[1, :, 1] < 0).all()
    for i, j in np.ndindex(3, 2):
        same(inverse_kinematics(model, {"tip": goals[j]}, q0=starts[i]), found[i, j])
    one = inverse_kinematics(model, {"tip": goals[0]}, q0=starts)
    np.testing.assert_array_equal(one.q, found.q[:, 0])
    assert inverse_kinematics(model, {"tip": goals[:1]}).batch == (1,)
    none = inverse_kinematics(model, {"tip": np.zeros((0, 3))})
    assert none.batch == (0,) and none.q.shape == (0, 2) and none.residual.shape == (0, 1, 2) and len(none) == 0


def test_nine_numbers_are_a_rotation_unless_they_are_said_to_be_positions():
    model = planar_arm(1.0, 1.0)
    corners = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])   # a rotation, too
    assert inverse_kinematics(model, {"tip": corners}).batch == ()
    three = inverse_kinematics(model, Target("tip", corners, kind="position"), q0=[0.3, 1.0], seeds=2)
    assert three.batch == (3,) and three.converged.tolist() == [True, True, False]
    with pytest.raises(StateError, match=r"is no rotation; expected .* matrix; for positions: Target\(link, goal, kind='position'\)"):
        inverse_kinematics(model, {"tip": 0.5 * corners})
    turns = np.array([quaternion.to_matrix(quaternion.exp(np.array([0.0, 0.0, a]))) for a in (0.1, 0.2, 0.3, 0.4)])
    assert inverse_kinematics(model, {"tip": turns}).q.sum(axis=1) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=1e-9)


def test_a_model_without_joints_and_targets_that_nothing_moves():
    model = planar_arm(1.0, 1.0)
    found = inverse_kinematics(model, {"base": np.stack([np.eye(4), moved(0, 0.5, 0)])})
    assert found.converged.tolist() == [True, False] and found.reason[1] == "link 'base' is 0.5 m off at the nearest that was found"


@pytest.mark.parametrize(("targets", "options", "message"), [
    ({"tip": np.zeros((4, 3))}, {"q0": np.zeros((3, 2))}, r"q0 \(3, 2\) and the goals of 'tip' \(4, 3\) do not broadcast"),
    ({"tip": np.zeros((4, 3)), "rod2": np.zeros((5, 3))}, {}, r"the goals of 'tip' \(4, 3\) and 'rod2' \(5, 3\) do not broadcast"),
    ({"tip": [[0, 0, 1], [0, np.nan, 0]]}, {}, "the target of link 'tip', in row 1, holds nan"),
    ({"tip": np.stack([np.eye(4), 2 * np.eye(4)])}, {}, "the target of link 'tip', in row 1, is no pose; expected an orthogonal"),
    ({"tip": np.tile(2 * np.eye(3), (2, 2, 1, 1))}, {}, r"the target of link 'tip', in row \[0, 0\], is no rotation"),
    ({"tip": np.stack([np.eye(4), se3.pose(np.eye(3), np.zeros(3)) + np.eye(4)[3][:, None]])}, {}, "in row 1, is no pose: its last row is"),
    ({"tip": np.zeros((4, 2))}, {}, r"the target of link 'tip' has shape \(4, 2\); expected a pose"),
    (Target("tip", np.zeros(3), kind="place"), {}, "the kind of the target of link 'tip' is 'place'; expected one of pose, rotation, pos"),
    (Target("tip", np.eye(4), kind="position"), {}, r"has shape \(4, 4\); expected a pose"),
])  # fmt: skip
def test_bad_batches_are_one_clear_sentence(targets, options, message):
    with pytest.raises(StateError, match=message) as caught:
        inverse_kinematics(planar_arm(1.0, 1.0), targets, **options)
    assert "\n" not in str(caught.value)


def test_a_single_result_is_no_batch():
    one = inverse_kinematics(planar_arm(1.0, 1.0), {"tip": [1.0, 1.0, 0.0]})
    for ask in (len, lambda x: x[0]):
        with pytest.raises(StateError, match="this result is of one configuration; expected a batch"):
            ask(one)


def test_it_is_on_the_robot():
    model, _, T = reachable("ur5", "tool0", 5, 47)
    same(engine.compile(model).inverse_kinematics({"tool0": T}, seeds=3)[2], inverse_kinematics(model, {"tool0": T[2]}, seeds=3))
