"""The momentum of what floats, against the sums over all bodies that define it."""

import numpy as np
import pytest

from engine import dynamics
from engine.simulation.floating_momentum import central_momentum, with_momentum
from tests.trees import random_tree

KINDS = ("revolute", "prismatic", "screw", "universal", "planar", "spherical")


@pytest.mark.parametrize("seed", range(8))
def test_momentum_about_the_centre_of_mass_and_the_base_that_has_it(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 8, KINDS, floating_base=True, mimics=0.5)
    q, v = model.random(rng)
    P, c = dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q)
    expected = np.concatenate([P[:3] - np.cross(c, P[3:]), P[3:], c])
    scale = np.abs(expected).max()
    found = central_momentum(model, q, v)
    assert np.abs(found - expected).max() < 1e-12 * scale

    moved, other = q.copy(), v.copy()
    moved[4:7] += rng.standard_normal(3)
    other[:6] += rng.standard_normal(6)
    q1, v1 = with_momentum(model, moved, other, found)
    assert np.abs(q1 - q).max() < 1e-11 * scale and np.abs(v1 - v).max() < 1e-10 * scale
