"""Dual quaternions: group axioms, SE(3)'s poses, exp, log and Cayley's map, rates, series, machine code."""

import numpy as np
import pytest

from engine import EngineError
from engine.spatial import dual_quaternion as dq
from engine.spatial import quaternion, se3
from tests.numeric import ANGLES, AXES, PI, ROUNDED, check_lives, close, derivative
from tests.spatial.test_rotations import slopes

ONE = np.eye(8)[0]
V1, V2 = np.array([0.3, -0.5, 0.4, 0.6, 0.2, -0.7]), np.array([-0.2, 0.6, 0.3, 0.5, -0.4, 0.1])


def twists(theta, rng=None):
    """Rotation by θ about each of the axes, with velocities along, across and at random to it."""
    rng = rng or np.random.default_rng(8)
    return np.array([np.append(theta * n, v) for n in AXES for v in (2 * n, np.cross(n, [0.6, 0, 0.8]), rng.uniform(-1, 1, 3))])


TWISTS = np.concatenate([twists(t) for t in (*ANGLES, 4.0, 2 * PI - 1e-9, 2 * PI, 9.0)])
BELOW_PI = np.concatenate([twists(t) for t in ANGLES if t < PI])
TRANSLATIONS = np.concatenate([twists(0.0)])


def random(rng, n):
    return dq.from_pose_parts(quaternion.random(rng, (n,)), rng.uniform(-1, 1, (n, 3)))


def lengths(Q):
    """q·q and q·d: 1 and 0 of a pose."""
    return np.stack([np.vecdot(Q[..., :4], Q[..., :4]), np.vecdot(Q[..., :4], Q[..., 4:])], axis=-1)


@pytest.fixture
def rng():
    return np.random.default_rng(12)


# ---------------------------------------------------------------- the algebra


def test_the_algebra(rng):
    """Associative, with ε² = 0, and conjugation turns products round; whole numbers, so exact."""
    A, B, C = rng.integers(-9, 10, (3, 20, 8)).astype(float)
    np.testing.assert_array_equal(dq.product(dq.product(A, B), C), dq.product(A, dq.product(B, C)))
    np.testing.assert_array_equal(dq.product(A, B + C), dq.product(A, B) + dq.product(A, C))
    np.testing.assert_array_equal(dq.conjugate(dq.product(A, B)), dq.product(dq.conjugate(B), dq.conjugate(A)))
    np.testing.assert_array_equal(dq.product(A, dq.identity()), A)
    np.testing.assert_array_equal(dq.product(dq.identity(), A), A)
    eps = np.eye(8)[4]
    np.testing.assert_array_equal(dq.product(eps, eps), np.zeros(8))
    np.testing.assert_array_equal(dq.product(eps, A), np.concatenate([np.zeros((20, 4)), A[:, :4]], axis=-1))
    np.testing.assert_array_equal(dq.product(A, eps), dq.product(eps, A))
    np.testing.assert_array_equal(dq.product(A[:, :], B)[:, :4], quaternion.product(A[:, :4], B[:, :4]))


def test_transpose_moves_factors_across_the_dot_product(rng):
    """(P ⊗ Q)·R = Q·(P* ⊗ Rᵀ)ᵀ = P·(Rᵀ ⊗ Q*)ᵀ, of any eight numbers; and again it is undone. Whole numbers, so exact."""
    P, Q, R = rng.integers(-9, 10, (3, 20, 8)).astype(float)
    dot = np.vecdot(dq.product(P, Q), R)
    np.testing.assert_array_equal(np.vecdot(Q, dq.transpose(dq.product(dq.conjugate(P), dq.transpose(R)))), dot)
    np.testing.assert_array_equal(np.vecdot(P, dq.transpose(dq.product(dq.transpose(R), dq.conjugate(Q)))), dot)
    np.testing.assert_array_equal(dq.transpose(dq.transpose(P)), P)
    A = np.stack([dq.product(P[0], e) for e in np.eye(8)], axis=-1)                     # P ⊗ as a matrix: its transpose is P's
    np.testing.assert_array_equal(A.T @ R[0], dq.transpose(dq.product(dq.conjugate(P[0]), dq.transpose(R[0]))))


def test_poses_are_a_group(rng):
    A, B, C = random(rng, 60).reshape(3, 20, 8)
    close(dq.product(dq.product(A, B), C), dq.product(A, dq.product(B, C)), 2e-15)
    close(dq.product(A, dq.conjugate(A)), np.tile(ONE, (20, 1)), 2e-15)
    close(dq.product(dq.conjugate(A), A), np.tile(ONE, (20, 1)), 2e-15)
    close(lengths(dq.product(A, B)), np.tile([1.0, 0.0], (20, 1)), 2e-15)
    close(dq.to_matrix(dq.product(A, B)), dq.to_matrix(A) @ dq.to_matrix(B), 3e-15)
    close(dq.to_matrix(dq.conjugate(A)), se3.inv(dq.to_matrix(A)), 2e-15)
    np.testing.assert_array_equal(dq.to_matrix(dq.identity()), np.eye(4))


def test_normalize_divides_by_a_dual_number(rng):
    Q = random(rng, 50)
    close(dq.normalize(Q), Q, 2e-15)
    length = np.zeros((50, 8))
    length[:, 0], length[:, 4] = rng.uniform(0.1, 9, 50), rng.uniform(-5, 5, 50)
    close(dq.normalize(dq.product(length, Q)), Q, 2e-14)
    any8 = rng.standard_normal((50, 8))
    N = dq.normalize(any8)
    close(lengths(N), np.tile([1.0, 0.0], (50, 1)), 3e-15)
    close(N[:, :4], quaternion.normalize(any8[:, :4]), ROUNDED)
    drifted = Q + 1e-6 * any8
    assert np.abs(dq.normalize(drifted) - Q).max() < 1e-5


# ---------------------------------------------------------------- poses


def test_a_pose_is_made_of_its_parts(rng):
    q, p = quaternion.random(rng, (50,)), rng.uniform(-9, 9, (50, 3))
    Q = dq.from_pose_parts(q, p)
    close(lengths(Q), np.tile([1.0, 0.0], (50, 1)), 3e-15)
    np.testing.assert_array_equal(dq.rotation(Q), q)
    close(dq.position(Q), p, 2e-15)
    close(dq.to_matrix(Q), se3.pose(quaternion.to_matrix(q), p), 2e-15)
    np.testing.assert_array_equal(dq.to_matrix(-Q), dq.to_matrix(Q))          # the double cover
    np.testing.assert_array_equal(dq.from_pose_parts(q[0], p)[3], dq.from_pose_parts(q[0], p[3]))
    np.testing.assert_array_equal(dq.from_pose_parts(q, p[0])[3], dq.from_pose_parts(q[3], p[0]))


def test_from_matrix_undoes_to_matrix(rng):
    Q = random(rng, 200)
    Q *= np.where(Q[:, :1] < 0, -1, 1)
    close(dq.from_matrix(dq.to_matrix(Q)), Q, 2e-15)
    close(dq.from_matrix(dq.to_matrix(-Q)), Q, 2e-15)
    for n in AXES:                                                            # half turns
        T = se3.pose(2 * np.outer(n, n) - np.eye(3), np.array([1.0, 2.0, 3.0]))
        close(dq.to_matrix(dq.from_matrix(T)), T, 2e-15)


def test_a_point_is_moved_as_by_the_matrix(rng):
    Q, x = random(rng, 50), rng.uniform(-1, 1, (50, 3))
    T = dq.to_matrix(Q)
    close(dq.transform(Q, x), np.matvec(T[:, :3, :3], x) + T[:, :3, 3], 2e-15)
    close(dq.transform(Q, np.zeros(3)), dq.position(Q), 0.0)
    close(dq.transform(Q, dq.transform(dq.conjugate(Q), x)), x, 3e-15)
    point = np.concatenate([np.tile(ONE[:5], (50, 1)), x], axis=-1)            # 1 + ε x, and Q (1 + ε x) (q* − ε d*)
    sandwich = dq.product(dq.product(Q, point), dq.conjugate(Q) * np.repeat([1, -1], 4))
    close(sandwich, np.concatenate([np.tile(ONE[:5], (50, 1)), dq.transform(Q, x)], axis=-1), 2e-15)


# ---------------------------------------------------------------- exp and log


def test_exp_is_that_of_matrices():
    Q = dq.exp(TWISTS)
    close(dq.to_matrix(Q), se3.exp(TWISTS), 2e-15, rows=len(Q))
    np.testing.assert_allclose(lengths(Q), np.tile([1.0, 0.0], (len(Q), 1)), rtol=0, atol=3e-15)
    close(Q[:, :4], quaternion.exp(TWISTS[:, :3]), 0.0)
    close(dq.exp(-TWISTS), dq.conjugate(Q), 0.0)
    np.testing.assert_array_equal(dq.exp(np.zeros(6)), ONE)


def test_exp_of_a_translation_and_of_a_screw():
    v = np.array([3.0, 4.0, -5.0])
    np.testing.assert_array_equal(dq.exp(np.append(np.zeros(3), v)), np.append(ONE[:5], 0.5 * v))
    for n in AXES:                                                            # θ about n and 2 along it: ½ (θ + 2 ε) n
        for theta in (1e-9, 0.7, PI, 5.0):
            c, s = np.cos(theta / 2), np.sin(theta / 2)
            expected = np.concatenate([[c], s * n, [-s], c * n])
            close(dq.exp(np.concatenate([theta * n, 2.0 * n])), expected, ROUNDED * (1 + theta))  # the angle is rounded too


def test_exp_is_its_power_series():
    """Σ (½ (ω + ε v))ᵏ/k!."""
    for V in TWISTS:
        x = 0.5 * np.concatenate([[0.0], V[:3], [0.0], V[3:]])
        term = total = ONE
        for k in range(1, 60):
            term = dq.product(term, x) / k
            total = total + term
        np.testing.assert_allclose(dq.exp(V), total, rtol=0, atol=ROUNDED * np.exp(np.linalg.norm(V[:3]) / 2) * (1 + np.abs(V[3:]).max()))


def test_exp_is_a_one_parameter_group(rng):
    for V in twists(1.0):
        a, b = rng.uniform(-5, 5, 2)
        close(dq.product(dq.exp(a * V), dq.exp(b * V)), dq.exp((a + b) * V), 3e-15 * 5)


def test_log_undoes_exp_on_both_sheets():
    Q = dq.exp(BELOW_PI)
    for sheet in (Q, -Q):
        close(dq.log(sheet), BELOW_PI, 3e-15, rows=len(Q))


def test_log_is_that_of_matrices(rng):
    Q = random(rng, 300)
    V = dq.log(Q)
    assert np.linalg.norm(V[:, :3], axis=-1).max() <= PI * (1 + ROUNDED)
    close(V, se3.log(dq.to_matrix(Q)), 4e-15)
    close(dq.log(dq.conjugate(Q)), -V, 3e-15)
    back = dq.exp(V)
    close(back * np.sign(np.vecdot(back[:, :4], Q[:, :4]))[:, None], Q, 2e-15)


def test_log_at_and_beyond_half_a_turn():
    for V in np.concatenate([twists(t) for t in (PI - 1e-9, PI, PI + 1e-9, 4.0, 2 * PI - 1e-3, 2 * PI - 1e-9)]):
        W = dq.log(dq.exp(V))
        assert np.linalg.norm(W[:3]) <= PI * (1 + ROUNDED)
        close(se3.exp(W), se3.exp(V), 3e-15)


def test_a_slow_motion_moves():
    for tiny in (1e-9, 1e-100, 1e-200):
        Q = dq.exp(tiny * V1)
        close(Q[[1, 2, 3, 5, 6, 7]], 0.5 * tiny * V1, ROUNDED)
        close(dq.log(Q), tiny * V1, ROUNDED)


# ---------------------------------------------------------------- Cayley's map


def test_cayley_is_that_of_the_adjoint(rng):
    """Ad(cay V) = (1 − ½ ad V)⁻¹ (1 + ½ ad V)."""
    for V in (*BELOW_PI, *rng.uniform(-3, 3, (50, 6))):
        Q, half = dq.cayley(V), 0.5 * se3.ad(V)
        close(se3.Ad(dq.to_matrix(Q)), np.linalg.solve(np.eye(6) - half, np.eye(6) + half), 5e-15)
        np.testing.assert_allclose(lengths(Q), [1.0, 0.0], rtol=0, atol=3e-15)


def test_cayley_is_the_normalised_sum(rng):
    V = np.concatenate([BELOW_PI, 30 * rng.standard_normal((50, 6))])
    sums = np.concatenate([np.tile([1.0], (len(V), 1)), 0.5 * V[:, :3], np.zeros((len(V), 1)), 0.5 * V[:, 3:]], axis=-1)
    close(dq.cayley(V), dq.normalize(sums), 2e-15, rows=len(V))
    np.testing.assert_array_equal(dq.cayley(np.zeros(6)), ONE)
    close(dq.cayley(-V), dq.conjugate(dq.cayley(V)), 0.0)


def test_cayley_is_exp_to_second_order():
    """exp V − cay V → |V|³, so halving V divides it by 8; of a translation there is no difference."""
    difference = [np.abs(dq.exp(V1 * s) - dq.cayley(V1 * s)).max() for s in (1 / 16, 1 / 32)]
    assert difference[0] / difference[1] == pytest.approx(8.0, rel=1e-2)
    np.testing.assert_array_equal(dq.cayley(TRANSLATIONS), dq.exp(TRANSLATIONS))
    turn = np.concatenate([AXES[4], np.zeros(3)])
    close(dq.cayley(2 * np.tan(0.4) * turn), dq.exp(0.8 * turn), ROUNDED)


# ---------------------------------------------------------------- rates


def test_rate_is_the_derivative_of_the_exact_flow(rng):
    Q, V = random(rng, 20), rng.uniform(-1, 1, (20, 6))
    close(dq.rate(Q, V), derivative(lambda t: dq.product(Q, dq.exp(t * V))), 1e-13)
    close(dq.rate(Q, V), derivative(lambda t: dq.product(Q, dq.cayley(t * V)), 1 / 128), 3e-13)
    close(dq.rate(Q, V)[:, :4], quaternion.rate(Q[:, :4], V[:, :3]), ROUNDED)


def test_rate_is_the_matrices(rng):
    """Ṫ = T [V]; and the length stays: q·q̇ = 0, q·ḋ + q̇·d = 0."""
    Q, V = random(rng, 20), rng.uniform(-1, 1, (20, 6))
    dT = [slopes(dq.to_matrix, x)[1] @ rate for x, rate in zip(Q, dq.rate(Q, V), strict=True)]
    close(np.reshape(dT, (20, 4, 4)), dq.to_matrix(Q) @ se3.hat(V), 4e-15)
    rates = dq.rate(Q, V)
    assert np.abs(np.vecdot(Q[:, :4], rates[:, :4])).max() < ROUNDED
    assert np.abs(np.vecdot(Q[:, :4], rates[:, 4:]) + np.vecdot(Q[:, 4:], rates[:, :4])).max() < ROUNDED


# ---------------------------------------------------------------- traced, differentiated, in batches


def test_no_node_is_singular():
    """Values and derivatives of all nodes, branches not taken included, and exp's derivative where its series end."""
    for V in np.concatenate([twists(t) for t in (0.0, 1e-300, 1e-9, 1e-4, 2e-4, 1.0, 2.0, PI - 1e-9, 3.5, 2 * PI)]):
        Q, J = slopes(dq.exp, V)
        for f, slope in ((dq.exp, J), (dq.cayley, slopes(dq.cayley, V)[1])):  # of numbers of order 1
            np.testing.assert_allclose(slope @ V2, derivative(lambda t, f=f: f(V + t * V2), 1 / 32), rtol=0, atol=3e-13)
        for f in (dq.log, dq.to_matrix, dq.normalize, lambda Q: dq.rate(Q, V2), lambda Q: dq.transform(Q, V2[:3])):
            slopes(f, Q)
    for V in np.concatenate([twists(t) for t in (0.0, 1e-300, 1e-9, 1e-4, 2e-4, 1.0, 2.0)]):
        close(slopes(lambda W: dq.log(dq.exp(W)), V)[1], np.eye(6), 2e-14)


def test_batches_are_rows(rng):
    Q, V = random(rng, 20).reshape(4, 5, 8), rng.uniform(-1, 1, (4, 5, 6))
    for f, x in ((dq.conjugate, Q), (dq.normalize, Q), (dq.position, Q), (dq.to_matrix, Q), (dq.log, Q), (dq.exp, V), (dq.cayley, V),
                 (dq.from_matrix, dq.to_matrix(Q))):  # fmt: skip
        assert f(x[:0]).shape == (0, *f(x).shape[1:])
        close(f(x), [[f(y) for y in row] for row in x], 2e-15)
    for f, y in ((dq.product, Q[::-1]), (dq.rate, V), (dq.transform, V[..., 3:])):
        close(f(Q, y), [[f(Q[i, j], y[i, j]) for j in range(5)] for i in range(4)], 2e-15)
        close(f(Q, y[0, 0]), [[f(x, y[0, 0]) for x in row] for row in Q], 2e-15)
        close(f(Q[0, 0], y), [[f(Q[0, 0], x) for x in row] for row in y], 2e-15)


def test_plain_interpreted_compiled_agree(rng):
    check_lives(lambda V: (dq.exp(V), dq.cayley(V)), TWISTS, tolerance=2e-15)
    Q = np.concatenate([dq.exp(BELOW_PI), -dq.exp(BELOW_PI), random(rng, 9)])
    V, x = rng.uniform(-1, 1, (len(Q), 6)), rng.uniform(-1, 1, (len(Q), 3))
    check_lives(lambda Q: (dq.log(Q), dq.to_matrix(Q), dq.normalize(Q), dq.position(Q)), Q, tolerance=4e-15)
    check_lives(dq.conjugate, Q, tolerance=0.0)
    check_lives(lambda P, Q, V, x: (dq.product(P, Q), dq.rate(Q, V), dq.transform(Q, x)), Q[::-1], Q, V, x, tolerance=2e-15)
    check_lives(dq.from_matrix, dq.to_matrix(Q), tolerance=2e-15)
    check_lives(dq.from_pose_parts, Q[:, :4], x, tolerance=2e-15)


# ---------------------------------------------------------------- screws between poses


def test_sclerp_is_a_screw(rng):
    """From one pose to the other, at an even rate along one twist, as SE(3)'s exponential has it; beyond the ends too."""
    A, B = random(rng, 40).reshape(2, 20, 8)
    T, V = dq.to_matrix(A), se3.log(se3.inv(dq.to_matrix(A)) @ dq.to_matrix(B))
    for s in (-0.5, 0.0, 0.3, 0.5, 1.0, 1.7):
        close(dq.to_matrix(dq.sclerp(A, B, s)), T @ se3.exp(s * V), 1e-13)
        close(lengths(dq.sclerp(A, B, s)), np.tile([1.0, 0.0], (20, 1)), 3e-15)
    close(dq.to_matrix(dq.sclerp(A, B, 1.0)), dq.to_matrix(B), 4e-15)
    close(dq.to_matrix(dq.sclerp(A, -B, 0.4)), dq.to_matrix(dq.sclerp(A, B, 0.4)), 4e-15)          # −B is the same pose: the shorter way


def test_sclerp_is_slerp_of_rotations_and_a_straight_line_of_shifts(rng):
    q, s = quaternion.random(rng, (2, 10)), np.linspace(0, 1, 10)
    q[1] *= np.where(np.vecdot(q[0], q[1]) < 0, -1.0, 1.0)[:, None]
    angle = np.arccos(np.vecdot(q[0], q[1]))[:, None]
    slerp = (np.sin((1 - s)[:, None] * angle) * q[0] + np.sin(s[:, None] * angle) * q[1]) / np.sin(angle)
    zero = np.zeros((10, 3))
    close(dq.rotation(dq.sclerp(dq.from_pose_parts(q[0], zero), dq.from_pose_parts(q[1], zero), s)), slerp, 2e-15)
    p = rng.standard_normal((2, 10, 3))
    shifts = [dq.from_pose_parts(q[0], x) for x in p]
    close(dq.position(dq.sclerp(*shifts, s)), p[0] + s[:, None] * (p[1] - p[0]), 4e-15)


def test_sclerp_is_the_same_motion_from_every_frame(rng):
    A, B, C, D = random(rng, 80).reshape(4, 20, 8)
    inside = dq.sclerp(A, B, 0.3)
    outside = dq.sclerp(dq.product(dq.product(C, A), D), dq.product(dq.product(C, B), D), 0.3)
    close(dq.to_matrix(outside), dq.to_matrix(dq.product(dq.product(C, inside), D)), 2e-14)


def test_sclerp_in_three_lives(rng):
    A, B = random(rng, 40).reshape(2, 20, 8)
    check_lives(dq.sclerp, A, B, rng.uniform(0, 1, 20), tolerance=4e-15)
    check_lives(dq.transpose, A)


# ---------------------------------------------------------------- screws


def by_dual_angles(angle, axis, shift, moment):
    """cos ½(θ + ε d) + sin ½(θ + ε d) (l + ε m), with f(a + ε b) = f(a) + ε b f′(a)."""
    c, s, h = np.cos(angle / 2), np.sin(angle / 2), shift / 2
    return np.concatenate([[c], s * axis, [-h * s], s * moment + h * c * axis])


def test_a_screw_is_a_turn_about_a_line_and_a_shift_along_it(rng):
    """Against the dual angle's cosine and sine, and against a turn about the line by matrices, also beyond half a turn."""
    for angle in (*ANGLES, 4.0, 9.0, -1.0):
        for axis in AXES:
            c, shift = rng.uniform(-2, 2, 3), rng.uniform(-2, 2)
            Q, x = dq.from_screw(angle, axis, shift, np.cross(c, axis)), rng.uniform(-1, 1, 3)
            close(Q, by_dual_angles(angle, axis, shift, np.cross(c, axis)), 1e-14)
            R = se3.rotation(se3.exp(np.append(angle * axis, np.zeros(3))))
            close(dq.transform(Q, x), R @ (x - c) + c + shift * axis, 1e-14)
            close(dq.transform(Q, c), c + shift * axis, 1e-14)


def test_to_screw_undoes_from_screw(rng):
    """To what 1/θ makes of rounding: of a small turn the line is far, and little known; the motion is the same in any case."""
    for angle in (1e-6, 0.5, 2.0, PI - 1e-3):
        for axis in AXES:
            moment, shift = np.cross(rng.uniform(-2, 2, 3), axis), rng.uniform(-2, 2)
            s = dq.to_screw(dq.from_screw(angle, axis, shift, moment))
            for found, given, power in zip(s, (angle, axis, shift, moment), (0, 1, 1, 1), strict=True):
                assert np.abs(found - given).max() < 16 * 2.0**-52 * 4 / angle**power
    for Q in (random(rng, 50), dq.exp(TWISTS), dq.exp(TRANSLATIONS), dq.exp(1e-7 * TWISTS)):
        s = dq.to_screw(Q)
        again = dq.from_screw(*s)
        close(again * np.sign(np.vecdot(again[..., :4], Q[..., :4]))[..., None], Q, 1e-14)
        assert (s.angle >= 0.0).all() and (s.angle <= PI * (1 + ROUNDED)).all()
        close(np.vecdot(s.axis, s.axis), np.ones(len(Q)), 1e-15)


def test_what_does_not_turn_is_shifted_along_its_axis():
    s = dq.to_screw(dq.from_pose_parts(ONE[:4], np.array([0.0, -3.0, 4.0])))
    assert (s.angle, s.shift, s.moment.tolist(), s.axis.tolist()) == (0.0, 5.0, [0, 0, 0], [0.0, -0.6, 0.8])
    s = dq.to_screw([ONE, -ONE])
    assert s.angle.tolist() == s.shift.tolist() == [0.0, 0.0] and s.axis.tolist() == [[0.0, 0.0, 1.0]] * 2 and not s.moment.any()


def test_screws_of_batches_and_in_three_lives(rng):
    Q = random(rng, 6).reshape(2, 3, 8)
    s = dq.to_screw(Q)
    assert [x.shape for x in s] == [(2, 3), (2, 3, 3), (2, 3), (2, 3, 3)]
    for k in np.ndindex(2, 3):
        for found, one in zip(s, dq.to_screw(Q[k]), strict=True):
            close(found[k], one, 1e-15)                            # BLAS sums by where a row lies in memory
    np.testing.assert_array_equal(dq.from_screw([1, 2], [0, 0, 1])[1], dq.from_screw(2.0, [0, 0, 1.0], 0.0, [0, 0, 0]))
    rows = np.concatenate([Q.reshape(-1, 8), [ONE], dq.exp(TRANSLATIONS[:2])])
    check_lives(lambda Q: tuple(dq.to_screw(Q)), rows, tolerance=1e-13)
    check_lives(lambda angle, l, d, m: dq.from_screw(angle, l, d, m), *dq.to_screw(rows), tolerance=1e-14)


@pytest.mark.parametrize(("axis", "moment", "message"), [
    ([0, 0, 2.0], [0, 0, 0], "axis has length 2.0; expected a unit vector"),
    ([0, 0, np.nan], [0, 0, 0], "axis has length nan; expected a unit vector"),
    ([0, 0, 1.0], [1.0, 0, 0.5], r"moment · axis is 0.5; expected 0: the moment is c × axis, with a point c of the line"),
])  # fmt: skip
def test_lines_that_are_none(axis, moment, message):
    with pytest.raises(EngineError, match=message):
        dq.from_screw(1.0, axis, 0.0, moment)
