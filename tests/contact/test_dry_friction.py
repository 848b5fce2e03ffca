"""Dry friction of many joints in the velocity problem of a step: as exact solvers find it, whatever rests and whatever slides."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from engine.contact import joint_laws, minimum
from engine.contact.joint_laws import JointCoordinate, JointLaws

SLOW = 1e-10


def problem(seed, n, condition=1e4):
    """An inertia, a velocity after flight of which some joints are at rest, and impulses of friction that hold some of them."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    M = Q @ np.diag(np.geomspace(1.0, 1.0 / condition, n)) @ Q.T
    free = rng.standard_normal(n) * 10.0 ** rng.uniform(-4.0, 0.0, n)
    return M, free, abs(M @ free) * rng.uniform(0.2, 3.0, n)


def law_of(f, free, monkeypatch=None):
    """The law of joints with such friction over a step of 1 s, and how often it is asked."""
    rows = [JointCoordinate(f"j{k}", k, k, 1.0, 0.0, 0.0, float(x), -np.inf, np.inf, np.inf, np.inf, 1.0, 1.0) for k, x in enumerate(f)]
    return JointLaws(rows, SLOW, lambda row: 0.0, 0.0).step(1.0, free, np.zeros(len(f)), free)


def least_squares(M, free, f):
    """v with M (v − ṽ) = −λ, |λ| ≤ f, of least ½ (M⁻¹ λ − ṽ)ᵀ M (…): bounded least squares for λ by an active set."""
    L = np.linalg.cholesky(M)
    found = lsq_linear(np.linalg.inv(L), L.T @ free, bounds=(-f, f), method="bvls", tol=1e-15, max_iter=10_000)
    return free - np.linalg.solve(M, found.x)


@pytest.mark.parametrize("n", [2, 6, 12, 30])
def test_friction_is_found_as_bounded_least_squares_find_it(n):
    for seed in range(8):
        M, free, f = problem(seed, n)
        law = law_of(f, free)
        v, found = minimum(M, free, law, law.friction, free)
        assert found
        # what creeps does so at SLOW at most, and moves others by M's condition
        assert np.abs(v - least_squares(M, free, f)).max() <= 1e4 * n * SLOW


def test_pieces_are_found_in_a_step_and_not_well_by_well(monkeypatch):
    """A line would end in one narrow well after the other: here steps go to where all of them are, so the law is asked a few times."""
    asked = []
    impulse = joint_laws.JointStepLaws.impulse
    monkeypatch.setattr(joint_laws.JointStepLaws, "impulse", lambda self, *given: asked.append(1) or impulse(self, *given))
    for seed in range(20):
        M, free, f = problem(seed, 12)
        law = law_of(f, free)
        asked.clear()
        assert minimum(M, free, law, law.friction, free)[1]
        assert len(asked) <= 6


def test_what_friction_leaves_is_balanced():
    """M (v − ṽ) + λ = 0 with |λ| ≤ f, λ = f where it slides, against the velocity: the law of Coulomb."""
    for seed in range(8):
        M, free, f = problem(seed, 12)
        law = law_of(f, free)
        v, _ = minimum(M, free, law, law.friction, free)
        push = M @ (free - v)
        rounding = 64 * np.finfo(float).eps * (np.abs(M) @ np.abs(free)).max()
        slides = np.abs(v) > SLOW
        assert (np.abs(push) <= f + rounding).all()
        assert np.abs(push - f * np.sign(v))[slides].max(initial=0.0) <= rounding
        assert slides.any() and not slides.all()
