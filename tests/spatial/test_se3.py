"""Rigid motions: group axioms, Ad and ad, dexp as the derivative of exp, SciPy's and Pinocchio's maps, machine code."""

import numpy as np
import pytest
from scipy.linalg import expm

from engine import EngineError, gufunc
from engine.spatial import quaternion, se3, so3
from tests.numeric import ANGLES, AXES, PI, ROUNDED, check_lives, close, derivative

#: linear-first from angular-first and back
SWAP = np.r_[3:6, 0:3]


def twists(theta, rng=None):
    """Rotation by θ about each of the axes, with velocities along, across and at random to it."""
    rng = rng or np.random.default_rng(7)
    return np.array([np.append(theta * n, v) for n in AXES for v in (2 * n, np.cross(n, [0.6, 0, 0.8]), rng.uniform(-1, 1, 3))])


TWISTS = np.concatenate([twists(t) for t in ANGLES])
BELOW_PI = np.concatenate([twists(t) for t in ANGLES if t < PI])
at_angles = pytest.mark.parametrize("twists", [twists(t) for t in ANGLES], ids=[f"{t:.10g}" for t in ANGLES])


def random_poses(rng, n):
    return se3.pose(quaternion.to_matrix(quaternion.random(rng, (n,))), rng.uniform(-1, 1, (n, 3)))


@pytest.fixture
def rng():
    return np.random.default_rng(2)


# ---------------------------------------------------------------- the group


def test_poses_are_a_group(rng):
    A, B, C = random_poses(rng, 60).reshape(3, 20, 4, 4)
    one = np.broadcast_to(np.eye(4), A.shape)
    close((A @ B) @ C, A @ (B @ C), 2e-15)
    close(A @ se3.inv(A), one, 3e-15)
    close(se3.inv(A) @ A, one, 3e-15)
    close(se3.inv(A @ B), se3.inv(B) @ se3.inv(A), 2e-15)
    close(se3.inv(A), np.linalg.inv(A), 2e-15)
    close(se3.inv(se3.inv(A)), A, 3e-15)


def test_pose_is_made_of_its_parts(rng):
    R, p = quaternion.to_matrix(quaternion.random(rng, (5,))), rng.standard_normal((5, 3))
    T = se3.pose(R, p)
    np.testing.assert_array_equal(se3.rotation(T), R)
    np.testing.assert_array_equal(se3.position(T), p)
    np.testing.assert_array_equal(T[:, 3], np.tile([0.0, 0, 0, 1], (5, 1)))
    np.testing.assert_array_equal(se3.pose(R[0], p)[3], se3.pose(R[0], p[3]))
    np.testing.assert_array_equal(se3.pose(R, p[0])[3], se3.pose(R[3], p[0]))


def test_twists_go_to_the_parent_and_back(rng):
    T, V = random_poses(rng, 20), rng.standard_normal((20, 6))
    close(se3.twist_to_parent(T, V), np.matvec(se3.Ad(T), V), 1e-15)
    close(se3.twist_to_child(T, se3.twist_to_parent(T, V)), V, 2e-15)
    F = rng.standard_normal((20, 6))
    close(np.vecdot(se3.wrench_to_parent(T, F), se3.twist_to_parent(T, V)), np.vecdot(F, V), 1e-14)      # power
    check_lives(se3.twist_to_parent, T, V, tolerance=1e-15)


def test_a_pose_moves_points(rng):
    """p_A = T_AB p_B: rotate first, then shift."""
    T = se3.pose(so3.about(np.array([0.0, 0.0, 1.0]), PI / 2), np.array([10.0, 0.0, 0.0]))
    close(T @ [1.0, 2.0, 3.0, 1.0], [8.0, 1.0, 3.0, 1.0], 2e-15)


# ---------------------------------------------------------------- hat, Ad, ad


def test_hat_and_vee(rng):
    V = rng.standard_normal((4, 6))
    np.testing.assert_array_equal(se3.vee(se3.hat(V)), V)
    np.testing.assert_array_equal(se3.hat(V)[0], [[0, -V[0, 2], V[0, 1], V[0, 3]], [V[0, 2], 0, -V[0, 0], V[0, 4]],
                                                  [-V[0, 1], V[0, 0], 0, V[0, 5]], [0, 0, 0, 0]])  # fmt: skip


def test_Ad_is_a_homomorphism_and_conjugates(rng):
    A, B = random_poses(rng, 40).reshape(2, 20, 4, 4)
    V = rng.standard_normal((20, 6))
    close(se3.Ad(A @ B), se3.Ad(A) @ se3.Ad(B), 2e-15)
    close(se3.Ad(se3.inv(A)), np.linalg.inv(se3.Ad(A)), 3e-15)
    close(np.matvec(se3.Ad(A), V), se3.vee(A @ se3.hat(V) @ se3.inv(A)), 2e-15)
    close(np.linalg.det(se3.Ad(A)), np.ones(20), 1e-14)
    np.testing.assert_array_equal(se3.Ad(np.eye(4)), np.eye(6))


def test_Ad_is_pinocchios_action(rng):
    import pinocchio as pin
    for T in random_poses(rng, 10):
        close(se3.Ad(T), pin.SE3(T).action[np.ix_(SWAP, SWAP)], 2e-15)


def test_ad_is_the_lie_bracket(rng):
    a, b, c = rng.integers(-9, 10, (3, 6)).astype(float)                      # whole numbers: exact
    A, B = se3.hat(a), se3.hat(b)

    def bracket(a, b):
        return se3.ad(a) @ b

    np.testing.assert_array_equal(se3.hat(bracket(a, b)), A @ B - B @ A)
    np.testing.assert_array_equal(bracket(a, b), -bracket(b, a))
    np.testing.assert_array_equal(bracket(a, bracket(b, c)) + bracket(b, bracket(c, a)) + bracket(c, bracket(a, b)), np.zeros(6))
    np.testing.assert_array_equal(se3.ad(bracket(a, b)), se3.ad(a) @ se3.ad(b) - se3.ad(b) @ se3.ad(a))


def test_ad_is_the_derivative_of_Ad(rng):
    for V in rng.uniform(-1, 1, (10, 6)):
        close(derivative(lambda t: se3.Ad(se3.exp(t * V))), se3.ad(V), 1e-13)
        close(se3.Ad(se3.exp(V)), expm(se3.ad(V)), 5e-15)
        T = random_poses(rng, 1)[0]
        close(se3.ad(se3.Ad(T) @ V), se3.Ad(T) @ se3.ad(V) @ np.linalg.inv(se3.Ad(T)), 5e-15)


def test_twists_and_wrenches_change_frames(rng):
    T = random_poses(rng, 20)
    V, F = rng.standard_normal((2, 20, 6))
    close(se3.twist_to_child(T, V), np.linalg.solve(se3.Ad(T), V[..., None])[..., 0], 3e-15)
    close(se3.wrench_to_parent(T, F), np.linalg.solve(np.swapaxes(se3.Ad(T), -1, -2), F[..., None])[..., 0], 3e-15)
    power_child = np.vecdot(F, se3.twist_to_child(T, V))
    close(np.vecdot(se3.wrench_to_parent(T, F), V), power_child, 3e-15)
    close(se3.twist_to_child(T[0], V)[3], se3.twist_to_child(T[0], V[3]), 2e-15)
    close(se3.wrench_to_parent(T[0], F)[3], se3.wrench_to_parent(T[0], F[3]), 2e-15)


def test_a_force_on_a_lever_is_a_moment():
    """1 N along y at x = 2 m in the child is 2 N·m about z in the parent."""
    T = se3.pose(np.eye(3), np.array([2.0, 0.0, 0.0]))
    np.testing.assert_array_equal(se3.wrench_to_parent(T, np.array([0.0, 0, 0, 0, 1, 0])), [0, 0, 2, 0, 1, 0])
    np.testing.assert_array_equal(se3.twist_to_child(T, np.array([0.0, 0, 1, 0, 0, 0])), [0, 0, 1, 0, 2, 0])


# ---------------------------------------------------------------- exp and log


@at_angles
def test_exp_is_the_matrix_exponential(twists):
    for V in twists:
        close(se3.exp(V), expm(se3.hat(V)), 5e-15)
        close(se3.exp(-V), se3.inv(se3.exp(V)), 2e-15)
        np.testing.assert_array_equal(se3.exp(V)[:3, :3], so3.exp(V[:3]))
        close(se3.exp(V)[:3, 3], so3.dexp(V[:3]) @ V[3:], 2e-15)


def test_exp_is_a_one_parameter_group(rng):
    for V in rng.uniform(-1, 1, (20, 6)):
        a, b = rng.uniform(-2, 2, 2)
        close(se3.exp(a * V) @ se3.exp(b * V), se3.exp((a + b) * V), 3e-15)
        T = random_poses(rng, 1)[0]
        close(T @ se3.exp(V) @ se3.inv(T), se3.exp(se3.Ad(T) @ V), 5e-15)
    np.testing.assert_array_equal(se3.exp(np.zeros(6)), np.eye(4))
    np.testing.assert_array_equal(se3.exp(np.array([0.0, 0, 0, 1, 2, 3]))[:3, 3], [1, 2, 3])


def test_a_screw_motion():
    """A quarter turn about the vertical line through (1, 0, 0) with a rise of 0.5: Lynch & Park, §3.3.2."""
    w = np.array([0.0, 0.0, PI / 2])
    V = np.concatenate([w, np.cross([1.0, 0, 0], w) + [0, 0, 0.5]])
    close(se3.exp(V), [[0, -1, 0, 1], [1, 0, 0, -1], [0, 0, 1, 0.5], [0, 0, 0, 1]], ROUNDED)


def test_log_undoes_exp():
    T = se3.exp(BELOW_PI)
    close(se3.log(T), BELOW_PI, 3e-15, rows=len(T))
    close(se3.log(T)[:, :3], BELOW_PI[:, :3], 2e-15, rows=len(T))            # a small rotation beside a large shift


@pytest.mark.parametrize("T, said", [
    (np.zeros((4, 4)), "the rotation of T is no rotation matrix: R Rᵀ differs from the identity by up to 1;"),
    (np.diag([1.02, 1, 1, 1]), "differs from the identity by up to 0.0404"), (np.diag([1.0, 1, -1, 1]), "rotation of T is a reflection"),
    (np.diag([1.0, 1, 1, 2]), "the last row of T is not 0 0 0 1; expected a pose"), (np.ones((4, 4)), "no rotation matrix")])  # fmt: skip
def test_log_of_what_is_no_pose(T, said):
    for x in (T, np.stack([np.eye(4), T])):
        with pytest.raises(EngineError, match=said):
            se3.log(x)
    if "last row" not in said:
        with pytest.raises(EngineError, match="R is"):
            so3.log(T[:3, :3])


def test_log_of_a_pose_of_three_decimals_and_of_one_that_is_lost(rng):
    """As people write matrices; and a run that diverges goes on, as its compiled program does."""
    T = random_poses(rng, 300)
    close(se3.exp(se3.log(T.round(3))), T, 5e-3)
    assert np.isnan(se3.log(np.full((4, 4), np.nan))).all() and se3.log(np.zeros((0, 4, 4))).shape == (0, 6)


def test_exp_undoes_log(rng):
    for T in (se3.exp(TWISTS), random_poses(rng, 300)):
        close(se3.exp(se3.log(T)), T, 3e-15, rows=len(T))
        assert np.linalg.norm(se3.log(T)[:, :3], axis=-1).max() <= PI * (1 + ROUNDED)


def test_a_slow_motion_moves():
    """1e-6 rad/s and 1e-6 m/s for 1e-3 s are 1e-9 rad and 1e-9 m, not none."""
    step = gufunc(se3.exp, "(6)->(4,4)")
    V = 1e-6 * np.array([0.36, 0.48, 0.8, 0.6, 0.0, 0.8]) * 1e-3
    for T in (se3.exp(V), step(V), step(np.tile(V, (7, 1)))[2]):
        close(so3.vee(T[:3, :3]), V[:3], 2e-15)
        close(T[:3, 3], V[3:], 2e-9)
        close(se3.log(T), V, 2e-15)


# ---------------------------------------------------------------- dexp


@at_angles
def test_dexp_is_the_derivative_of_exp(rng, twists):
    for V in twists:
        d = rng.uniform(-1, 1, 6)
        dT = derivative(lambda t: se3.exp(V + t * d))
        np.testing.assert_allclose(dT @ se3.inv(se3.exp(V)), se3.hat(se3.dexp(V) @ d), rtol=0, atol=1e-12)
        np.testing.assert_allclose(se3.inv(se3.exp(V)) @ dT, se3.hat(se3.dexp(-V) @ d), rtol=0, atol=1e-12)


@at_angles
def test_dexp_is_its_power_series(twists):
    for V in twists:
        term = total = np.eye(6, dtype=np.longdouble)
        for k in range(1, 60):
            term = term @ se3.ad(V).astype(np.longdouble) / (k + 1)
            total = total + term
        close(se3.dexp(V), total, 2e-15)


@at_angles
def test_dexp_inverse_and_symmetries(twists):
    for V in twists:
        J = se3.dexp(V)
        close(se3.dexp_inv(V) @ J, np.eye(6), 5e-15)
        close(se3.dexp_inv(V), np.linalg.inv(J), 1e-14)
        close(se3.Ad(se3.exp(V)) @ se3.dexp(-V), J, 3e-15)                    # left = Ad · right
        close(J @ V, V, 2e-15)
    np.testing.assert_array_equal(se3.dexp(np.zeros(6)), np.eye(6))
    np.testing.assert_array_equal(se3.dexp_inv(np.zeros(6)), np.eye(6))


@pytest.mark.parametrize("theta", [0.999, 0.999999, 1.0, 1.000001, 1.001])
def test_nothing_jumps_where_series_meet_closed_forms(theta):
    """Neighbours on either side of θ = 1 differ by their distance, 4 ulp, and not by the formula."""
    for V in twists(theta):
        below, above = (np.append(V[:3] / theta * t, V[3:]) for t in (1 - 4e-16, 1 + 4e-16))
        for f in (se3.exp, se3.dexp, se3.dexp_inv):
            close(f(above), f(below), 3e-15)


def test_maps_are_pinocchios():
    import pinocchio as pin
    grid = np.ix_(SWAP, SWAP)
    for V in BELOW_PI:
        T = pin.exp6(V[SWAP])
        close(se3.exp(V), T.homogeneous, 2e-15)
        close(se3.log(T.homogeneous), pin.log6(T).vector[SWAP], 1e-12)
        close(se3.dexp(-V), pin.Jexp6(V[SWAP])[grid], 1e-13)
        close(se3.dexp_inv(-se3.log(T.homogeneous)), pin.Jlog6(T)[grid], 1e-12)


# ---------------------------------------------------------------- batches and machine code


def test_batches_are_rows(rng):
    V = rng.uniform(-1.2, 1.2, (4, 5, 6))
    for f in (se3.hat, se3.ad, se3.exp, se3.dexp, se3.dexp_inv):
        close(f(V), [[f(x) for x in row] for row in V], 2e-15)
        assert f(V[:0]).shape == (0, *f(V).shape[1:])
    T = se3.exp(V)
    for f in (se3.inv, se3.Ad, se3.log):
        close(f(T), [[f(x) for x in row] for row in T], 2e-15)
        assert f(T[:0]).shape == (0, *f(T).shape[1:])


def test_plain_interpreted_compiled_agree(rng):
    check_lives(lambda V: (se3.exp(V), se3.dexp(V), se3.dexp_inv(V)), TWISTS, tolerance=4e-15)
    check_lives(lambda V: (se3.hat(V), se3.ad(V)), TWISTS, tolerance=0.0)
    check_lives(lambda T: (se3.log(T), se3.inv(T), se3.Ad(T), se3.vee(T)), se3.exp(TWISTS), tolerance=4e-15)
    T, V = random_poses(rng, 11), rng.standard_normal((11, 6))
    check_lives(lambda T, V: (se3.twist_to_child(T, V), se3.wrench_to_parent(T, V)), T, V, tolerance=2e-15)


def test_compiled_log_undoes_compiled_exp():
    f = gufunc(lambda V: se3.log(se3.exp(V)), "(6)->(6)")
    close(f(BELOW_PI), BELOW_PI, 4e-15, rows=len(BELOW_PI))
