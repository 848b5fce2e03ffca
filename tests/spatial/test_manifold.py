"""Manifolds: groups whose ⊕, ⊖, Cayley's map, bracket and dexp⁻¹ are what their names say, by matrices and by differences."""

import numpy as np
import pytest
from scipy.linalg import expm

from engine.spatial import dual_quaternion, quaternion, se3, so3
from engine.spatial.manifold import MOTION, PLANE, ROTATION, product, vector
from tests.numeric import ROUNDED, check_lives, close, derivative
from tests.spatial.test_group_axioms import points, velocities

MIXED = product([vector(1), MOTION, vector(2), vector(1), ROTATION, PLANE])
MANIFOLDS = [vector(3), ROTATION, MOTION, PLANE, MIXED]
GROUPS = [ROTATION, MOTION, PLANE]
each = pytest.mark.parametrize("m", MANIFOLDS, ids=repr)
group = pytest.mark.parametrize("m", GROUPS, ids=repr)


def algebra(m, v):
    """[v], a matrix whose exponential is the motion by v: 3×3 of rotations and of the plane, 4×4 of motions."""
    if m is ROTATION:
        return so3.hat(v)
    if m is MOTION:
        return se3.hat(v)
    return np.array([[0.0, -v[2], v[0]], [v[2], 0.0, v[1]], [0.0, 0.0, 0.0]])


def matrix(m, q):
    """The group's element as a matrix."""
    if m is ROTATION:
        return quaternion.to_matrix(q)
    if m is MOTION:
        return se3.pose(quaternion.to_matrix(q[..., :4]), q[..., 4:])
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([[c, -s, q[0]], [s, c, q[1]], [0.0, 0.0, 1.0]])


def vee(m, A):
    """v of [v]."""
    return so3.vee(A) if m is ROTATION else se3.vee(A) if m is MOTION else np.array([A[0, 2], A[1, 2], A[1, 0]])


# ---------------------------------------------------------------- ⊕ and ⊖


@group
def test_plus_is_the_matrix_exponential(m):
    for q, d in zip(points(m), velocities(m), strict=False):
        close(matrix(m, m.plus(q, d)), matrix(m, q) @ expm(algebra(m, d)), 1e-13)   # expm's own error


# ---------------------------------------------------------------- Cayley's map


@group
def test_cayley_in_the_adjoint_representation(m):
    """Ad(cay d) = (1 − ½ ad d)⁻¹ (1 + ½ ad d), Ad by matrices and ad by the bracket."""
    one = np.eye(m.nv)
    for d in velocities(m):
        A = matrix(m, m.cayley(m.neutral(), d))
        ad = np.stack([m.bracket(d, e) for e in one], axis=-1)
        Ad = np.stack([vee(m, A @ algebra(m, e) @ np.linalg.inv(A)) for e in one], axis=-1)
        close(Ad, np.linalg.solve(one - 0.5 * ad, one + 0.5 * ad), 1e-13)
        np.testing.assert_allclose(m.cayley(m.cayley(m.neutral(), d), -d), m.neutral(), rtol=0, atol=2e-15)


def test_cayley_of_motions_is_that_of_dual_quaternions():
    q = points(MOTION)
    for d in velocities(MOTION):
        Q = dual_quaternion.product(dual_quaternion.from_pose_parts(q[:, :4], q[:, 4:]), np.tile(dual_quaternion.cayley(d), (20, 1)))
        close(MOTION.cayley(q, d), np.concatenate([Q[:, :4], dual_quaternion.position(Q)], axis=1), 2e-15)


# ---------------------------------------------------------------- bracket and dexp⁻¹


@group
def test_bracket_is_that_of_matrices_and_the_derivative_of_ad(m):
    """[a, b] = [a][b] − [b][a], which is d/ds Ad(exp s a) b; for motions it is se3.ad."""
    a, b = np.random.default_rng(7).standard_normal((2, m.nv))
    A, B = algebra(m, a), algebra(m, b)
    close(m.bracket(a, b), vee(m, A @ B - B @ A), 2e-15)
    close(m.bracket(a, b), derivative(lambda s: vee(m, expm(s * A) @ B @ expm(-s * A))), 3e-13)
    if m is MOTION:
        close(m.bracket(a, b), se3.ad(a) @ b, 2e-15)


@each
def test_bracket_is_of_a_lie_algebra(m):
    a, b, c = np.random.default_rng(8).integers(-9, 10, (3, 10, m.nv)).astype(float)
    br = m.bracket
    np.testing.assert_array_equal(br(a, b), -br(b, a))
    np.testing.assert_array_equal(br(a, br(b, c)) + br(b, br(c, a)) + br(c, br(a, b)), np.zeros((10, m.nv)))
    np.testing.assert_array_equal(br(a + 2 * c, b), br(a, b) + 2 * br(c, b))


# ---------------------------------------------------------------- products, batches, lives


def test_products_merge_vectors_and_drop_nothing():
    assert [(f.name, i, j) for f, i, j in MIXED.factors] == [
        ("R1", slice(0, 1), slice(0, 1)), ("SE(3)", slice(1, 8), slice(1, 7)), ("R3", slice(8, 11), slice(7, 10)),
        ("SO(3)", slice(11, 15), slice(10, 13)), ("SE(2)", slice(15, 18), slice(13, 16))]  # fmt: skip
    assert (MIXED.nq, MIXED.nv) == (18, 16) and MIXED.name == "R1 × SE(3) × R3 × SO(3) × SE(2)"
    nested = product([product([MOTION, vector(1)]), vector(0), vector(2)])
    assert [f.name for f, _, _ in nested.factors] == ["SE(3)", "R3"]
    nothing = product([])
    assert (nothing.nq, nothing.nv) == (0, 0) and nothing.plus(np.zeros(0), np.zeros(0)).shape == (0,)


def test_products_act_part_by_part():
    (q,), (r,), d, v = points(MIXED, 1), points(MIXED, 1, 10), velocities(MIXED)[4], velocities(MIXED)[5]
    for f, i, j in MIXED.factors:
        for mine, own in [(MIXED.plus(q, d)[i], f.plus(q[i], d[j])), (MIXED.cayley(q, d)[i], f.cayley(q[i], d[j])),
                          (MIXED.minus(q, r)[j], f.minus(q[i], r[i])), (MIXED.bracket(d, v)[j], f.bracket(d[j], v[j])),
                          (MIXED.dexp_inv(d, v)[j], f.dexp_inv(d[j], v[j])), (MIXED.neutral()[i], f.neutral()),
                          (MIXED.normalized(3 * q)[i], f.normalized(3 * q[i]))]:  # fmt: skip
            np.testing.assert_array_equal(mine, own)


@each
def test_normalized(m):
    q = points(m)
    close(m.normalized(q), q, ROUNDED)
    for f, i, _ in m.parts:
        expected = 3.0 * q[:, i]
        if f.attitude:
            expected[:, :4] /= 3.0
        close(m.normalized(3.0 * q)[:, i], expected, ROUNDED)


@each
def test_batches_are_rows(m):
    q, r, d, v = points(m, 13), points(m, 13, 11), velocities(m), velocities(m, 12)
    np.testing.assert_allclose(m.normalized(3 * q), [m.normalized(3 * x) for x in q], rtol=2e-15)
    for f, args in ((m.plus, (q, d)), (m.minus, (q, r)), (m.cayley, (q, d)), (m.bracket, (d, v)), (m.dexp_inv, (d, v))):
        np.testing.assert_allclose(f(*args), [f(*row) for row in zip(*args, strict=True)], rtol=1e-14, atol=2e-15)
        every = f(args[0][:, None], args[1][None, :5])
        assert every.shape[:2] == (13, 5)
        np.testing.assert_allclose(every[7, 3], f(args[0][7], args[1][3]), rtol=1e-14, atol=2e-15)


@each
def test_three_lives(m):
    q, r, d, v = points(m, 13), points(m, 13, 13), velocities(m), velocities(m, 14)
    check_lives(lambda q, r, d, v: (m.plus(q, d), m.minus(q, r), m.cayley(q, d), m.bracket(d, v), m.dexp_inv(d, v), m.normalized(q)),
                q, r, d, v, tolerance=3e-14)  # fmt: skip
