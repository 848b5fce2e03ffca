"""Axioms that every manifold and every attitude parametrisation must keep; one that is defined in engine.spatial is tested here by that.

⊕ and ⊖ undo one another, Cayley's map agrees with ⊕ to the second order, dexp_inv is the rate of d in q ⊕ d, and the errors of
cayley_plus and cayley_minus are those of the notation: δ = tan(θ/2) n, half of what cay takes.
"""

import numpy as np
import pytest

from engine.spatial import manifold
from engine.spatial.manifold import MOTION, PLANE, ROTATION, Manifold, product, vector
from engine.spatial.rotations import ATTITUDES
from tests.numeric import ANGLES, PI, ROUNDED, close, derivative

#: every group of the table of attitudes, and every one that engine.spatial.manifold has a name for
PARAMETERS = {row.manifold: row for row in ATTITUDES.values()}
GROUPS = list(dict.fromkeys([*(m for m in vars(manifold).values() if isinstance(m, Manifold)), *PARAMETERS]))
EVERYTHING = product([vector(1), *GROUPS, vector(2)])
MANIFOLDS = [vector(3), *GROUPS, EVERYTHING]
each = pytest.mark.parametrize("m", MANIFOLDS, ids=repr)
every = pytest.mark.parametrize("attitude", ATTITUDES.values(), ids=ATTITUDES)


def turning(m, theta, rng):
    """A velocity whose rotation is by θ in each factor, and translations of order one."""
    d = rng.uniform(-1, 1, m.nv)
    for f, _, j in m.parts:
        if not f.flat:
            w = {MOTION: slice(0, 3), PLANE: slice(2, 3)}.get(f, slice(None))
            own = d[j]
            own[w] *= theta / np.linalg.norm(own[w])
    return d


def points(m, n=20, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([m.random(rng) for _ in range(n)])


def velocities(m, seed=1):
    rng = np.random.default_rng(seed)
    return np.array([turning(m, theta, rng) for theta in (*ANGLES, 4.0, 6.0)])


def same(m, a, b, tolerance):
    """Assert that two points are one, factor by factor: attitudes by quaternions of either sign, which rounds, the rest by coordinates."""
    for f, i, _ in m.parts:
        one, other = (PARAMETERS[f].to_quaternion(x[..., i]) if f in PARAMETERS else x[..., i] for x in (a, b))
        if f.attitude or f in PARAMETERS:
            sign = np.sign(np.vecdot(one[..., :4], other[..., :4]))[..., None]
            one = np.concatenate([sign * one[..., :4], one[..., 4:]], axis=-1)
        close(one, other, tolerance + 2e-15 * (f in PARAMETERS and f is not ROTATION))


def test_all_there_are_take_part():
    assert {ROTATION, MOTION, PLANE, *PARAMETERS} <= {*GROUPS} and len(PARAMETERS) == len(ATTITUDES)
    assert [f for f, _, _ in EVERYTHING.factors][1:-1] == GROUPS


# ---------------------------------------------------------------- ⊕ and ⊖


@each
def test_the_neutral_point_and_no_motion(m):
    q = points(m)
    same(m, m.plus(q, np.zeros(m.nv)), q, ROUNDED)
    assert m.neutral().shape == (m.nq,)
    close(m.minus(m.neutral(), m.plus(m.neutral(), np.full(m.nv, 0.3))), np.full(m.nv, 0.3), 2e-15)
    assert np.abs(m.minus(q, q)).max() < 1e-15


@each
def test_plus_along_one_velocity_adds_up(m):
    """q ⊕ a d ⊕ b d = q ⊕ (a + b) d, and back: one-parameter subgroups."""
    for q, d in zip(points(m), velocities(m), strict=False):
        same(m, m.plus(m.plus(q, 0.3 * d), 0.7 * d), m.plus(q, d), 4e-15)
        same(m, m.plus(m.plus(q, d), -d), q, 4e-15)


@each
def test_minus_undoes_plus(m):
    """(q ⊕ d) ⊖ q = d."""
    q = points(m)
    for d in velocities(m)[: len(ANGLES) - 2]:                                 # to just below π: there the shortest way turns over
        for one in q[:5]:
            np.testing.assert_allclose(m.minus(one, m.plus(one, d)), d, rtol=0, atol=1e-14)


@each
def test_plus_undoes_minus(m):
    """q0 ⊕ (q1 ⊖ q0) = q1."""
    a, b = points(m, seed=2), points(m, seed=3)
    same(m, m.plus(a, m.minus(a, b)), b, 1e-14)


@each
def test_neither_sees_where_it_is(m):
    """(p · q0) ⊖ (p · q1) = q0 ⊖ q1: velocities are in the point's own axes."""
    p, a, d = points(m, 12, 4), points(m, 12, 5), velocities(m)[:9]
    for x, y, e in zip(p, a, d, strict=False):
        moved = m.plus(m.plus(x, m.minus(m.neutral(), y)), e)
        np.testing.assert_allclose(m.minus(m.plus(x, m.minus(m.neutral(), y)), moved), m.minus(y, m.plus(y, e)), rtol=0, atol=1e-13)


@every
def test_rotations_differ_by_at_most_half_a_turn(attitude):
    m = attitude.manifold
    assert all(np.linalg.norm(d) <= PI + 1e-12 for d in m.minus(points(m, 200), points(m, 200, 9)))


@each
def test_rates_of_coordinates(m):
    """rate(q, v) is d/dt of q ⊕ t v, away from the jumps of parameters."""
    rng = np.random.default_rng(8)
    q = np.array([m.plus(m.neutral(), turning(m, angle, rng)) for angle in np.linspace(0.0, 2.0, 20)])
    v = rng.uniform(-0.5, 0.5, (20, m.nv))
    for x, d in zip(q, v, strict=True):
        close(m.rate(x, d), derivative(lambda t, x=x, d=d: m.plus(x, t * d)), 1e-11)
    close(m.rate(q, v), np.array([m.rate(*row) for row in zip(q, v, strict=True)]), 1e-15)


# ---------------------------------------------------------------- Cayley's map


@each
def test_cayley_agrees_to_the_second_order(m):
    """q · cay(h d) misses q ⊕ h d by h³."""
    q, d = points(m, 1)[0], turning(m, 1.2, np.random.default_rng(6))
    missed = [np.linalg.norm(m.minus(m.plus(q, h * d), m.cayley(q, h * d))) for h in (0.02, 0.01)]
    if m.flat:
        assert missed == [0.0, 0.0]
    else:
        assert abs(np.log2(missed[0] / missed[1]) - 3) < 0.01


@each
def test_cayley_undoes_itself(m):
    """cay(d)⁻¹ = cay(−d)."""
    for q, d in zip(points(m), velocities(m), strict=False):
        same(m, m.cayley(m.cayley(q, d), -d), q, 4e-15)


# ---------------------------------------------------------------- errors: δ = tan(θ/2) n


@every
def test_cayley_minus_undoes_cayley_plus(attitude):
    rng = np.random.default_rng(11)
    p, delta = attitude.random(rng, (100,)), rng.uniform(-1, 1, (100, 3))
    close(attitude.cayley_minus(p, attitude.cayley_plus(p, delta)), delta, 1e-14)
    other = attitude.random(rng, (100,))
    back = attitude.cayley_plus(p, attitude.cayley_minus(p, other))
    close(attitude.to_matrix(back), attitude.to_matrix(other), 3e-15)
    close(attitude.cayley_minus(p, other), -attitude.cayley_minus(other, p), 2e-15)
    assert np.abs(attitude.cayley_minus(p, p)).max() < ROUNDED
    zero, axis = attitude.neutral(), np.array([0.36, -0.48, 0.8])
    for tiny in (1e-9, 1e-100):
        close(attitude.cayley_minus(zero, attitude.cayley_plus(zero, tiny * axis)), tiny * axis, 2e-15)


@every
def test_errors_are_half_of_what_cay_takes(attitude):
    """cayley_plus(p, δ) = p · cay(2δ), which is p ⊕ θ n for δ = tan(θ/2) n."""
    rng = np.random.default_rng(12)
    p, n = attitude.random(rng, (40,)), rng.standard_normal((40, 3))
    n, theta = n / np.linalg.norm(n, axis=-1, keepdims=True), rng.uniform(0, 3, (40, 1))
    delta, m = np.tan(theta / 2) * n, attitude.manifold
    same(m, attitude.cayley_plus(p, delta), m.cayley(p, 2 * delta), 2e-15)
    same(m, attitude.cayley_plus(p, delta), m.plus(p, theta * n), 4e-15)


# ---------------------------------------------------------------- dexp⁻¹


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
    np.testing.assert_allclose(m.dexp_inv(np.zeros(m.nv), v), v, rtol=0, atol=ROUNDED)


@each
def test_dexp_inv_is_the_series_of_brackets(m):
    """dexp(−d)⁻¹ v = v + ½ [d, v] + 1/12 [d, [d, v]] − 1/720 [d, [d, [d, [d, v]]]] + …"""
    d, v = 0.05 * velocities(m)[4], velocities(m)[5]
    terms = [v]
    for _ in range(6):
        terms.append(m.bracket(d, terms[-1]))
    close(m.dexp_inv(d, v), sum(b * x for b, x in zip((1, 1 / 2, 1 / 12, 0, -1 / 720, 0, 1 / 30240), terms, strict=True)), 2e-15)
