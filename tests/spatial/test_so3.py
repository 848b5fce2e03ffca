"""Rotations: group axioms, dexp as the derivative of exp, SciPy's and Pinocchio's maps, exact series, machine code."""

from fractions import Fraction
from math import factorial

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from engine import EngineError, gufunc
from engine.spatial import quaternion, so3
from tests.numeric import ANGLES, AXES, PI, ROUNDED, check_lives, close, derivative

VECTORS = np.array([t * n for t in ANGLES for n in AXES])
BELOW_PI = np.array([t * n for t in ANGLES if t < PI for n in AXES])
at_angles = pytest.mark.parametrize("vectors", VECTORS.reshape(len(ANGLES), -1, 3), ids=[f"{t:.10g}" for t in ANGLES])


@pytest.fixture
def rng():
    return np.random.default_rng(1)


# ---------------------------------------------------------------- hat and vee


def test_hat_is_the_cross_product(rng):
    a, b = rng.integers(-9, 10, (2, 50, 3)).astype(float)                     # whole numbers: exact
    np.testing.assert_array_equal(np.matvec(so3.hat(a), b), np.cross(a, b))
    np.testing.assert_array_equal(so3.hat(a), -np.swapaxes(so3.hat(a), -1, -2))
    np.testing.assert_array_equal(so3.vee(so3.hat(a)), a)


def test_hat_takes_brackets_to_brackets(rng):
    a, b, c = rng.integers(-9, 10, (3, 3)).astype(float)
    A, B = so3.hat(a), so3.hat(b)
    np.testing.assert_array_equal(so3.hat(np.cross(a, b)), A @ B - B @ A)
    jacobi = np.cross(a, np.cross(b, c)) + np.cross(b, np.cross(c, a)) + np.cross(c, np.cross(a, b))
    np.testing.assert_array_equal(jacobi, np.zeros(3))


def test_vee_takes_the_skew_part(rng):
    S, w = rng.integers(-9, 10, (3, 3)).astype(float), rng.integers(-9, 10, 3).astype(float)
    np.testing.assert_array_equal(so3.vee(S + S.T + so3.hat(w)), w)


# ---------------------------------------------------------------- the coefficients, by exact rational arithmetic


def exact(theta2, first):
    """Σ (−θ²)ᵏ/(2k + first)! in rational numbers."""
    x = Fraction(theta2)
    return sum((-x) ** k / factorial(2 * k + first) for k in range(40))


#: relative error of (sin x/x)²: that of a library's sine, up to 2 ulp, twice, and four roundings
SINE = 8 * 2.0**-52
THETA2 = [0.0, 1e-300, 1e-24, 1e-18, 1e-8, 0.25, 0.9998, np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0), 1.0002, 2.0, 4.0, 9.0]


@pytest.mark.parametrize("theta2", THETA2)
def test_coefficients_to_the_last_digits(theta2):
    for got, first in zip(so3.coefficients(theta2), (1, 2, 3), strict=True):
        np.testing.assert_allclose(got, float(exact(theta2, first)), rtol=SINE, atol=ROUNDED * (theta2 > 8))
    half = [float(exact(Fraction(theta2) / 4, first)) for first in (0, 1)]
    np.testing.assert_allclose(quaternion.half_angle(theta2), [half[0], half[1] / 2], rtol=ROUNDED, atol=ROUNDED * (theta2 > 1))


@pytest.mark.parametrize("theta2", [*THETA2, 20.0, 30.0])
def test_inverse_coefficient_to_the_last_digits(theta2):
    x = Fraction(float(theta2))
    if x == 0:
        assert so3.inverse_coefficient(theta2) == 1 / 12
        return
    half_cot = exact(x / 4, 0) / exact(x / 4, 1)                              # (θ/2) cot(θ/2)
    near_2pi = 4 * PI**2 / (4 * PI**2 - theta2)
    np.testing.assert_allclose(so3.inverse_coefficient(theta2), float((1 - half_cot) / x), rtol=1.5e-15 * near_2pi, atol=0)


def test_coefficients_of_batches_are_those_of_each():
    batch = np.array(THETA2).reshape(2, 7)
    for got, k in zip(so3.coefficients(batch), range(3), strict=True):
        close(got, [[so3.coefficients(x)[k] for x in row] for row in batch], ROUNDED)


# ---------------------------------------------------------------- exp


@at_angles
def test_exp_is_scipys_and_the_matrix_exponential(vectors):
    for w in vectors:
        R = so3.exp(w)
        close(R, Rotation.from_rotvec(w).as_matrix(), 2 * ROUNDED)             # either by products of entries up to 1: 4 ulp
        close(R, expm(so3.hat(w)), 5e-15)
        close(R @ R.T, np.eye(3), 3 * ROUNDED)                                 # either factor's entries, and three products' sum
        assert np.linalg.det(R) == pytest.approx(1.0, abs=4 * ROUNDED)         # three entries' on the diagonal, and those of the LU
        np.testing.assert_array_equal(so3.exp(-w), R.T)
    np.testing.assert_array_equal(so3.exp(np.zeros(3)), np.eye(3))


def test_exp_is_a_one_parameter_group(rng):
    for n in AXES:
        for a, b in rng.uniform(-4, 4, (20, 2)):
            close(so3.exp(a * n) @ so3.exp(b * n), so3.exp((a + b) * n), 9 * ROUNDED)  # angles up to 8 are rounded too


def test_exp_commutes_with_conjugation(rng):
    for v, w in rng.uniform(-2, 2, (50, 2, 3)):
        R = so3.exp(v)
        close(R @ so3.exp(w) @ R.T, so3.exp(R @ w), 5e-15)


def test_a_slow_rotation_rotates():
    """1e-6 rad/s for 1e-3 s is 1e-9 rad, not none."""
    step = gufunc(so3.exp, "(3)->(3,3)")
    for n in AXES:
        w = 1e-6 * n * 1e-3
        for R in (so3.exp(w), step(w), step(np.tile(w, (7, 1)))[3]):
            close(so3.vee(R), 1e-9 * n, 2e-15)
        close(so3.log(so3.exp(w)), 1e-9 * n, 2e-15)
    R = np.linalg.matrix_power(so3.exp(np.array([0, 0, 1e-9])), 10**6)
    close(so3.log(R), [0, 0, 1e-3], 2e-12)                                    # the cosine's 1 − 5e-19 is rounded a million times


@pytest.mark.parametrize("theta", [1e-30, 1e-100, 1e-200])
def test_the_tiniest_rotation_is_kept(theta):
    for n in AXES:
        close(so3.log(so3.exp(theta * n)), theta * n, 2e-15)


def test_about_an_axis_is_exp():
    for n in AXES:
        for theta in ANGLES:
            close(so3.about(n, theta), so3.exp(theta * n), 2e-15)
        np.testing.assert_array_equal(so3.about(n, 0.0), np.eye(3))


def test_about_keeps_structural_zeros_and_batches():
    R = so3.about(np.array([0.0, 1.0, 0.0]), np.array([0.3, 1.2, -2.0]))
    assert R.shape == (3, 3, 3)
    np.testing.assert_array_equal(R[:, 1], np.tile([0.0, 1.0, 0.0], (3, 1)))
    np.testing.assert_array_equal(R[:, :, 1], np.tile([0.0, 1.0, 0.0], (3, 1)))
    np.testing.assert_array_equal(R[:, 0, 2], np.sin([0.3, 1.2, -2.0]))


# ---------------------------------------------------------------- log


def test_log_undoes_exp():
    R = so3.exp(BELOW_PI)
    close(so3.log(R), BELOW_PI, 2e-15, rows=len(R))
    close(Rotation.from_matrix(R).as_rotvec(), so3.log(R), 2e-15, rows=len(R))


def test_log_at_half_a_turn():
    """The rotation vector may point either way; it has the length π and gives the rotation back."""
    for n in AXES:
        R = 2 * np.outer(n, n) - np.eye(3)
        w = so3.log(R)
        assert np.linalg.norm(w) == pytest.approx(PI, abs=2e-15)
        assert abs(w @ n) == pytest.approx(PI, abs=2e-15)
        close(so3.exp(w), R, 2e-15)


@pytest.mark.parametrize("short", [1e-3, 1e-6, 1e-8, 1e-9, 1e-12, 1e-15])
def test_log_just_short_of_half_a_turn(rng, short):
    n = rng.standard_normal((300, 3))
    w = (PI - short) * n / np.linalg.norm(n, axis=-1, keepdims=True)
    close(so3.log(so3.exp(w)), w, 2e-15)


def test_log_beyond_half_a_turn_goes_the_short_way(rng):
    for n in AXES:
        for theta in rng.uniform(PI, 2 * PI, 20):
            np.testing.assert_allclose(so3.log(so3.exp(theta * n)), (theta - 2 * PI) * n, rtol=0, atol=2 * PI * ROUNDED)


def test_exp_undoes_log_on_random_rotations(rng):
    R = Rotation.random(500, rng=rng).as_matrix()
    w = so3.log(R)
    assert np.linalg.norm(w, axis=-1).max() <= PI * (1 + ROUNDED)
    close(so3.exp(w), R, 3e-15)
    close(w, Rotation.from_matrix(R).as_rotvec(), 2e-15)
    close(so3.log(np.swapaxes(R, -1, -2)), -w, 2e-15)


# ---------------------------------------------------------------- dexp


@at_angles
def test_dexp_is_the_derivative_of_exp(rng, vectors):
    for w in vectors:
        d = rng.uniform(-1, 1, 3)
        dR = derivative(lambda t: so3.exp(w + t * d))
        np.testing.assert_allclose(dR @ so3.exp(w).T, so3.hat(so3.dexp(w) @ d), rtol=0, atol=2e-13)
        np.testing.assert_allclose(so3.exp(w).T @ dR, so3.hat(so3.dexp(-w) @ d), rtol=0, atol=2e-13)


@at_angles
def test_dexp_is_its_power_series(vectors):
    for w in vectors:
        term = total = np.eye(3, dtype=np.longdouble)
        for k in range(1, 60):
            term = term @ so3.hat(w).astype(np.longdouble) / (k + 1)
            total = total + term
        close(so3.dexp(w), total, ROUNDED)


@at_angles
def test_dexp_inverse_and_symmetries(vectors):
    for w in vectors:
        J, R = so3.dexp(w), so3.exp(w)
        close(so3.dexp_inv(w) @ J, np.eye(3), 2e-15)
        close(so3.dexp_inv(w), np.linalg.inv(J), 3e-15)
        close(so3.dexp(-w), J.T, 2e-15)                                       # hat(w)² is a product by BLAS: 4 ulp
        close(R @ so3.dexp(-w), J, 2e-15)                                     # left = Ad · right
        close(J @ w, w, ROUNDED)
    np.testing.assert_array_equal(so3.dexp(np.zeros(3)), np.eye(3))
    np.testing.assert_array_equal(so3.dexp_inv(np.zeros(3)), np.eye(3))


def test_dexp_inverse_close_to_a_whole_turn():
    for n in AXES:
        w = 6.2 * n
        close(so3.dexp_inv(w) @ so3.dexp(w), np.eye(3), 1e-13)


def test_maps_are_pinocchios():
    import pinocchio as pin
    for w in BELOW_PI:
        R = so3.exp(w)
        close(R, pin.exp3(w), 2e-15)
        close(so3.log(R), pin.log3(R), 1e-12)
        close(so3.dexp(-w), pin.Jexp3(w), 1e-13)
        close(so3.dexp_inv(-so3.log(R)), pin.Jlog3(R), 1e-12)


# ---------------------------------------------------------------- batches and machine code


@pytest.mark.parametrize("f", [so3.hat, so3.exp, so3.dexp, so3.dexp_inv], ids=lambda f: f.__name__)
def test_batches_are_rows(f, rng):
    w = rng.uniform(-1.5, 1.5, (4, 5, 3))
    assert f(w[:0]).shape == (0, *f(w).shape[1:])
    close(f(w), [[f(x) for x in row] for row in w], 2e-15)
    if f is so3.exp:
        close(so3.log(f(w)), w, 2e-15)


def test_plain_interpreted_compiled_agree():
    check_lives(lambda w: (so3.hat(w), so3.exp(w), so3.dexp(w), so3.dexp_inv(w)), VECTORS, tolerance=2e-15)
    check_lives(lambda R: (so3.log(R), so3.vee(R)), so3.exp(VECTORS), tolerance=2e-15)
    for n in AXES:
        check_lives(lambda t, n=n: so3.about(n, t), np.array([*ANGLES, *(-t for t in ANGLES)]), tolerance=2e-15)


def test_compiled_log_undoes_compiled_exp():
    f = gufunc(lambda w: so3.log(so3.exp(w)), "(3)->(3)")
    close(f(BELOW_PI), BELOW_PI, 2e-15, rows=len(BELOW_PI))


# ---------------------------------------------------------------- roll, pitch, yaw


#: angles at gimbal lock, near it, and elsewhere
RPY = np.array([[a, p, c] for p in (0.0, 0.3, -1.2, PI / 2, -PI / 2, PI / 2 - 1e-9, -PI / 2 + 1e-4, PI / 2 - 3e-16)
                for a, c in ((0.0, 0.0), (0.4, -2.0), (-3.0, 1.1), (PI, -PI / 2), (2.0, 3.1))])  # fmt: skip


def test_roll_pitch_yaw_is_scipys_and_pinocchios():
    """About the fixed axes x, y, z, in this order: SciPy's "xyz"; Pinocchio has it of URDF."""
    close(so3.from_rpy(RPY), Rotation.from_euler("xyz", RPY).as_matrix(), 1e-15)
    close(so3.from_rpy(RPY), [pin.rpy.rpyToMatrix(x) for x in RPY], 1e-15)
    away = RPY[np.abs(np.abs(RPY[:, 1]) - PI / 2) > 1e-3]
    close(so3.to_rpy(so3.from_rpy(away)), [pin.rpy.matrixToRpy(so3.from_rpy(x)) for x in away], 1e-14)


def test_roll_pitch_yaw_are_turns_about_axes():
    for roll, pitch, yaw in RPY:
        turns = so3.exp(np.array([0, 0, yaw])) @ so3.exp(np.array([0, pitch, 0])) @ so3.exp(np.array([roll, 0, 0]))
        close(so3.from_rpy([roll, pitch, yaw]), turns, 1e-15)


def test_rpy_undoes_and_is_undone(rng):
    """Any rotation is made again of its angles, to some ulp, at gimbal lock too; elsewhere the angles come back."""
    R = np.concatenate([so3.from_rpy(RPY), quaternion.to_matrix(quaternion.random(rng, (200,)))])
    angles = so3.to_rpy(R)
    assert np.abs(so3.from_rpy(angles) - R).max() < 2e-15
    assert (np.abs(angles[:, 1]) <= PI / 2).all() and (np.abs(angles) <= PI).all()
    again = so3.to_rpy(so3.from_rpy(angles))
    away = np.abs(np.abs(angles[:, 1]) - PI / 2) > 1e-3
    assert np.abs(so3.from_rpy(again) - R).max() < 4e-15 and away.sum() > 200
    turned = np.abs(again - angles)[away]
    assert np.minimum(turned, np.abs(turned - 2 * PI)).max() < 1e-12               # some ulp over the cosine of the pitch


def test_gimbal_lock():
    """Yaw is 0, roll all of the turn: minus or plus yaw, for the nose up or down."""
    roll, yaw = np.meshgrid(np.linspace(-1.5, 1.5, 5), np.linspace(-1.5, 1.5, 5))
    for sign in (1.0, -1.0):
        angles = np.stack([roll, np.full((5, 5), sign * PI / 2), yaw], axis=-1)
        found = so3.to_rpy(so3.from_rpy(angles))
        np.testing.assert_array_equal(found[..., 2], 0.0)
        assert np.abs(found[..., 0] - (roll - sign * yaw)).max() < 2e-15 and np.abs(found[..., 1] - sign * PI / 2).max() < 2e-16


def test_roll_pitch_yaw_in_three_lives(rng):
    angles = np.concatenate([RPY, rng.uniform(-1.5, 1.5, (20, 3))])
    check_lives(lambda a: so3.from_rpy(a), angles, tolerance=1e-15)
    R = so3.from_rpy(angles)
    check_lives(lambda R: so3.from_rpy(so3.to_rpy(R)), R, tolerance=2e-15)
    away = R[np.abs(np.abs(angles[:, 1]) - PI / 2) > 1e-3]
    check_lives(lambda R: so3.to_rpy(R), away, tolerance=1e-14)
    check_lives(lambda R: so3.to_rpy(R)[2:], so3.from_rpy(RPY[15:25]))             # locked: yaw is 0


def test_the_inverse_of_dexp_where_there_is_none_is_refused():
    """At a whole turn, to its last bits; a millionth of a turn from there it is the inverse of dexp, to its condition."""
    axis = np.array([0.6, 0.0, -0.8])
    for turn in (2 * np.pi * axis, np.array([axis, 4 * np.pi * axis])):
        with pytest.raises(EngineError, match=r"dexp has no inverse where \|w\| is 6.28319|dexp has no inverse where \|w\| is 12.5664"):
            so3.dexp_inv(turn)
    near = 2 * np.pi * (1 - 1e-6) * axis
    np.testing.assert_allclose(so3.dexp_inv(near) @ so3.dexp(near), np.eye(3), rtol=0, atol=1e6 * 64 * np.finfo(float).eps)
