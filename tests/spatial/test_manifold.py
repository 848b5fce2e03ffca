"""Manifolds: groups whose ⊕, ⊖, Cayley's map, bracket and dexp⁻¹ are what their names say, by matrices and by differences."""

import numpy as np
import pytest
from scipy.linalg import expm

from engine.spatial import dual_quaternion, quaternion, se3, so3
from engine.spatial.manifold import MOTION, PLANE, ROTATION, product, vector
from tests.numeric import ANGLES, PI, check_lives, close, derivative

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


def turning(m, theta, rng):
    """A velocity whose rotation is by θ in each factor, and translations of order one."""
    d = rng.uniform(-1, 1, m.nv)
    for f, _, j in m.parts:
        w = {ROTATION: slice(0, 3), MOTION: slice(0, 3), PLANE: slice(2, 3)}.get(f)
        if w is not None:
            own = d[j]
            own[w] *= theta / np.linalg.norm(own[w])
    return d


def points(m, n=20, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([m.random(rng) for _ in range(n)])


def velocities(m, seed=1):
    rng = np.random.default_rng(seed)
    return np.array([turning(m, theta, rng) for theta in (*ANGLES, 4.0, 6.0)])


# ---------------------------------------------------------------- ⊕ and ⊖


@group
def test_plus_is_the_matrix_exponential(m):
    for q, d in zip(points(m), velocities(m), strict=False):
        close(matrix(m, m.plus(q, d)), matrix(m, q) @ expm(algebra(m, d)), 1e-13)   # expm's own error


@each
def test_the_neutral_point_and_no_motion(m):
    q = points(m)
    close(m.plus(q, np.zeros(m.nv)), q, 2e-16)
    assert m.neutral().shape == (m.nq,)
    close(m.minus(m.neutral(), m.plus(m.neutral(), np.full(m.nv, 0.3))), np.full(m.nv, 0.3), 1e-15)
    assert np.abs(m.minus(q, q)).max() < 1e-15


@each
def test_plus_along_one_velocity_adds_up(m):
    """q ⊕ a d ⊕ b d = q ⊕ (a + b) d, and back: one-parameter subgroups."""
    for q, d in zip(points(m), velocities(m), strict=False):
        close(m.plus(m.plus(q, 0.3 * d), 0.7 * d), m.plus(q, d), 4e-15)
        close(m.plus(m.plus(q, d), -d), q, 4e-15)


@each
def test_minus_undoes_plus(m):
    q = points(m)
    for d in velocities(m)[: len(ANGLES) - 2]:                                 # to just below π: there the shortest way turns over
        for one in q[:5]:
            np.testing.assert_allclose(m.minus(one, m.plus(one, d)), d, rtol=0, atol=1e-14)


@each
def test_plus_undoes_minus(m):
    a, b = points(m, seed=2), points(m, seed=3)
    end = m.plus(a, m.minus(a, b))
    for f, i, _ in m.parts:
        if f.attitude:                                                         # q and −q are one rotation
            k = slice(i.start, i.start + 4)
            end[:, k] *= np.sign(np.vecdot(end[:, k], b[:, k]))[:, None]
    close(end, b, 1e-14)
    assert all(np.linalg.norm(d) <= PI + 1e-12 for d in ROTATION.minus(points(ROTATION, 200), points(ROTATION, 200, 9)))


@each
def test_neither_sees_where_it_is(m):
    """(p · q0) ⊖ (p · q1) = q0 ⊖ q1: velocities are in the point's own axes."""
    p, a, d = points(m, 12, 4), points(m, 12, 5), velocities(m)[:9]
    for x, y, e in zip(p, a, d, strict=False):
        moved = m.plus(m.plus(x, m.minus(m.neutral(), y)), e)
        np.testing.assert_allclose(m.minus(m.plus(x, m.minus(m.neutral(), y)), moved), m.minus(y, m.plus(y, e)), rtol=0, atol=1e-13)


# ---------------------------------------------------------------- Cayley's map


@each
def test_cayley_agrees_to_the_second_order(m):
    """q · cay(h d) misses q ⊕ h d by h³."""
    q, d = points(m, 1)[0], turning(m, 1.2, np.random.default_rng(6))
    missed = [np.linalg.norm(m.minus(m.plus(q, h * d), m.cayley(q, h * d))) for h in (0.02, 0.01)]
    if m.name == "R3":
        assert missed == [0.0, 0.0]
    else:
        assert abs(np.log2(missed[0] / missed[1]) - 3) < 0.01


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
    close(m.bracket(a, b), vee(m, A @ B - B @ A), 1e-15)
    close(m.bracket(a, b), derivative(lambda s: vee(m, expm(s * A) @ B @ expm(-s * A))), 3e-13)
    if m is MOTION:
        close(m.bracket(a, b), se3.ad(a) @ b, 1e-15)


@each
def test_bracket_is_of_a_lie_algebra(m):
    a, b, c = np.random.default_rng(8).integers(-9, 10, (3, 10, m.nv)).astype(float)
    br = m.bracket
    np.testing.assert_array_equal(br(a, b), -br(b, a))
    np.testing.assert_array_equal(br(a, br(b, c)) + br(b, br(c, a)) + br(c, br(a, b)), np.zeros((10, m.nv)))
    np.testing.assert_array_equal(br(a + 2 * c, b), br(a, b) + 2 * br(c, b))


@each
def test_dexp_inv_gives_the_velocity(m):
    """Where d moves with dexp_inv(d, v), q ⊕ d moves with v: to first order in s, q ⊕ (d + s ḋ) is q ⊕ d ⊕ s v."""
    q, rng = points(m, 1)[0], np.random.default_rng(9)
    for d in velocities(m):
        v = rng.uniform(-1, 1, m.nv)
        ddot = m.dexp_inv(d, v)
        at = m.plus(q, d)
        along = derivative(lambda s, d=d, ddot=ddot, at=at: m.minus(at, m.plus(q, d + s * ddot)), h=3e-3)
        close(along, v, 2e-12)
    np.testing.assert_allclose(m.dexp_inv(np.zeros(m.nv), v), v, rtol=0, atol=1e-16)


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
    close(m.normalized(q), q, 3e-16)
    for f, i, _ in m.parts:
        expected = 3.0 * q[:, i]
        if f.attitude:
            expected[:, :4] /= 3.0
        close(m.normalized(3.0 * q)[:, i], expected, 3e-16)


@each
def test_batches_are_rows(m):
    q, r, d, v = points(m, 13), points(m, 13, 11), velocities(m), velocities(m, 12)
    np.testing.assert_allclose(m.normalized(3 * q), [m.normalized(3 * x) for x in q], rtol=1e-15)
    for f, args in ((m.plus, (q, d)), (m.minus, (q, r)), (m.cayley, (q, d)), (m.bracket, (d, v)), (m.dexp_inv, (d, v))):
        np.testing.assert_allclose(f(*args), [f(*row) for row in zip(*args, strict=True)], rtol=1e-14, atol=1e-15)
        every = f(args[0][:, None], args[1][None, :5])
        assert every.shape[:2] == (13, 5)
        np.testing.assert_allclose(every[7, 3], f(args[0][7], args[1][3]), rtol=1e-14, atol=1e-15)


@each
def test_three_lives(m):
    q, r, d, v = points(m, 13), points(m, 13, 13), velocities(m), velocities(m, 14)
    check_lives(lambda q, r, d, v: (m.plus(q, d), m.minus(q, r), m.cayley(q, d), m.bracket(d, v), m.dexp_inv(d, v), m.normalized(q)),
                q, r, d, v, tolerance=3e-14)  # fmt: skip
