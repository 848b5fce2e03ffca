"""Quaternions: Hamilton's relations, the double cover, exp and log, SciPy's rotations, machine code."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine import gufunc
from engine.spatial import quaternion, so3
from tests.numeric import ANGLES, AXES, PI, ROUNDED, check_lives, close, derivative

VECTORS = np.array([t * n for t in ANGLES for n in AXES])
BELOW_PI = np.array([t * n for t in ANGLES if t < PI for n in AXES])
ONE, I, J, K = np.eye(4)


def scipys(q):
    return Rotation.from_quat(q, scalar_first=True)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


# ---------------------------------------------------------------- the algebra


def test_hamiltons_relations():
    """i² = j² = k² = ijk = −1, ij = k."""
    product = quaternion.product
    for x in (I, J, K):
        np.testing.assert_array_equal(product(x, x), -ONE)
        np.testing.assert_array_equal(product(x, ONE), x)
        np.testing.assert_array_equal(product(ONE, x), x)
    np.testing.assert_array_equal(product(product(I, J), K), -ONE)
    for a, b, c in ((I, J, K), (J, K, I), (K, I, J)):
        np.testing.assert_array_equal(product(a, b), c)
        np.testing.assert_array_equal(product(b, a), -c)
    np.testing.assert_array_equal(quaternion.identity(), ONE)


def test_product_is_associative_and_keeps_length(rng):
    a, b, c = rng.integers(-9, 10, (3, 20, 4)).astype(float)                  # whole numbers: exact
    product, conjugate = quaternion.product, quaternion.conjugate
    np.testing.assert_array_equal(product(product(a, b), c), product(a, product(b, c)))
    np.testing.assert_array_equal(product(a, b + c), product(a, b) + product(a, c))
    np.testing.assert_array_equal(conjugate(product(a, b)), product(conjugate(b), conjugate(a)))
    np.testing.assert_array_equal(np.vecdot(product(a, b), product(a, b)), np.vecdot(a, a) * np.vecdot(b, b))
    np.testing.assert_array_equal(product(a, conjugate(a)), np.vecdot(a, a)[:, None] * ONE)


def test_product_broadcasts(rng):
    p, q = rng.standard_normal((5, 1, 4)), rng.standard_normal((3, 4))
    pq = quaternion.product(p, q)
    assert pq.shape == (5, 3, 4)
    np.testing.assert_array_equal(pq[2, 1], quaternion.product(p[2, 0], q[1]))


def test_normalize(rng):
    q = rng.standard_normal((30, 4)) * 10.0 ** rng.integers(-5, 6, (30, 1))
    n = quaternion.normalize(q)
    close(np.linalg.norm(n, axis=-1), np.ones(30), ROUNDED)
    close(n, q / np.linalg.norm(q, axis=-1, keepdims=True), ROUNDED)


# ---------------------------------------------------------------- rotations


def test_matrices_are_scipys(rng):
    q = quaternion.random(rng, (200,))
    R = quaternion.to_matrix(q)
    close(R, scipys(q).as_matrix(), 2e-15)
    close(quaternion.to_matrix(-q), R, 0.0)                                   # the double cover
    x = rng.standard_normal((200, 3))
    close(quaternion.rotate(q, x), scipys(q).apply(x), 2e-15)
    close(quaternion.rotate(q[0], x)[5], R[0] @ x[5], 2e-15)


def test_to_matrix_is_a_homomorphism(rng):
    p, q = quaternion.random(rng, (2, 100))
    close(quaternion.to_matrix(quaternion.product(p, q)), quaternion.to_matrix(p) @ quaternion.to_matrix(q), 2e-15)
    close(quaternion.to_matrix(quaternion.conjugate(q)), np.swapaxes(quaternion.to_matrix(q), -1, -2), 0.0)


def test_rotate_is_the_sandwich(rng):
    q, x = quaternion.random(rng, (50,)), rng.standard_normal((50, 3))
    pure = np.concatenate([np.zeros((50, 1)), x], axis=-1)
    sandwich = quaternion.product(quaternion.product(q, pure), quaternion.conjugate(q))
    close(quaternion.rotate(q, x), sandwich[:, 1:], 2e-15)


def test_from_matrix_undoes_to_matrix(rng):
    q = quaternion.random(rng, (500,))
    q *= np.where(q[:, :1] < 0, -1, 1)
    close(quaternion.from_matrix(quaternion.to_matrix(q)), q, 2e-15)
    close(quaternion.from_matrix(quaternion.to_matrix(-q)), q, 2e-15)


def test_from_matrix_where_each_entry_is_largest_and_where_they_tie():
    for q in [ONE, I, J, K, [1, 1, 0, 0], [1, 0, -1, 0], [0, 1, 1, 0], [0, 0, 1, -1], [1, 1, 1, 1], [1, -1, 1, -1], [1e-9, 1, 0, 0],
              [1e-9, 0, 0, -1], [-1e-9, 0, 1, 1e-5]]:  # fmt: skip
        q = quaternion.normalize(np.array(q, dtype=float))
        found = quaternion.from_matrix(quaternion.to_matrix(q))
        assert found[0] >= 0
        close(found * np.sign(found @ q), q, ROUNDED)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=ROUNDED)


# ---------------------------------------------------------------- exp and log


def test_exp_is_that_of_matrices_and_scipys():
    q = quaternion.exp(VECTORS)
    close(np.linalg.norm(q, axis=-1), np.ones(len(q)), ROUNDED)
    close(quaternion.to_matrix(q), so3.exp(VECTORS), 2e-15)
    close(q, Rotation.from_rotvec(VECTORS).as_quat(scalar_first=True), ROUNDED)
    np.testing.assert_array_equal(quaternion.exp(-VECTORS), quaternion.conjugate(q))
    np.testing.assert_array_equal(quaternion.exp(np.zeros(3)), ONE)


def test_log_undoes_exp_on_both_sheets():
    q = quaternion.exp(BELOW_PI)
    for sheet in (q, -q):
        close(quaternion.log(sheet), BELOW_PI, 2e-15, rows=len(q))


def test_log_at_and_beyond_half_a_turn(rng):
    for n in AXES:
        assert abs(quaternion.log(np.append(0.0, n)) @ n) == pytest.approx(PI, abs=PI * ROUNDED)
        for theta in rng.uniform(PI, 3 * PI, 10):
            np.testing.assert_allclose(quaternion.log(quaternion.exp(theta * n)), (theta - 2 * PI) * n, rtol=0, atol=3e-15)
    q = quaternion.random(rng, (300,))
    w = quaternion.log(q)
    assert np.linalg.norm(w, axis=-1).max() <= PI * (1 + ROUNDED)
    close(w, scipys(q).as_rotvec(), 2e-15)
    np.testing.assert_array_equal(quaternion.log(-q), w)
    np.testing.assert_array_equal(quaternion.log(quaternion.conjugate(q)), -w)


def test_log_where_its_series_ends():
    """|v|² = 1e-8 divides the series from the arctangent."""
    for theta in 2e-4 * np.array([0.5, 0.999999, 1.0, 1.000001, 2.0]):
        for n in AXES:
            close(quaternion.log(quaternion.exp(theta * n)), theta * n, ROUNDED)


def test_a_slow_rotation_rotates():
    """1e-6 rad/s for 1e-3 s is 1e-9 rad, not none."""
    step = gufunc(lambda q, w: quaternion.product(q, quaternion.exp(w)), "(4),(3)->(4)")
    for n in AXES:
        w = 1e-6 * n * 1e-3
        for q in (quaternion.exp(w), step(ONE, w), step(np.tile(ONE, (7, 1)), w)[4]):
            close(2 * q[1:], 1e-9 * n, 2e-15)
            close(quaternion.log(q), 1e-9 * n, 2e-15)
    for tiny in (1e-100, 1e-200):
        close(quaternion.log(quaternion.exp(tiny * AXES[4])), tiny * AXES[4], 2e-15)


def test_exp_is_a_one_parameter_group(rng):
    for n in AXES:
        a, b = rng.uniform(-6, 6, 2)
        close(quaternion.product(quaternion.exp(a * n), quaternion.exp(b * n)), quaternion.exp((a + b) * n), 7 * ROUNDED)


def test_rate_is_the_derivative(rng):
    q, w = quaternion.random(rng, (20,)), rng.uniform(-1, 1, (20, 3))
    close(derivative(lambda t: quaternion.product(q, quaternion.exp(t * w))), quaternion.rate(q, w), 1e-13)
    assert np.abs(np.vecdot(quaternion.rate(q, w), q)).max() < ROUNDED          # stays of unit length


def test_random_is_uniform(rng):
    """E R = 0 and E R_ij² = 1/3 over SO(3); 20 000 samples are within 5 standard errors."""
    R = quaternion.to_matrix(quaternion.random(rng, (200, 100)))
    assert R.shape == (200, 100, 3, 3)
    assert np.abs(R.mean(axis=(0, 1))).max() < 5 / np.sqrt(3 * 20000)
    assert np.abs((R**2).mean(axis=(0, 1)) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 20000)
    angle = np.linalg.norm(so3.log(R), axis=-1)
    assert angle.mean() == pytest.approx(PI / 2 + 2 / PI, abs=5 * 0.65 / np.sqrt(20000))  # of the density (1 − cos θ)/π


# ---------------------------------------------------------------- machine code


def test_plain_interpreted_compiled_agree(rng):
    q = np.concatenate([quaternion.exp(VECTORS), -quaternion.exp(VECTORS), quaternion.random(rng, (9,)), [ONE, I, J, K, -ONE, -I]])
    x = rng.standard_normal((len(q), 3))
    check_lives(quaternion.exp, VECTORS, tolerance=2e-15)
    check_lives(lambda q: (quaternion.log(q), quaternion.to_matrix(q), quaternion.normalize(q)), q, tolerance=2e-15)
    check_lives(quaternion.conjugate, q, tolerance=0.0)
    check_lives(lambda p, q, x: (quaternion.product(p, q), quaternion.rotate(q, x), quaternion.rate(q, x)), q, q[::-1], x, tolerance=2e-15)
    check_lives(quaternion.from_matrix, quaternion.to_matrix(q), tolerance=2e-15)


def test_compiled_log_undoes_compiled_exp():
    f = gufunc(lambda w: quaternion.log(quaternion.exp(w)), "(3)->(3)")
    close(f(BELOW_PI), BELOW_PI, 2e-15, rows=len(BELOW_PI))
