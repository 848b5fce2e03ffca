"""The momentum of what floats, against the sums over all bodies that define it."""

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.dynamics.momentum_conservation import central_momentum, floating_trees, joined_trees, momentum_rate, with_momentum
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
    tree, = floating_trees(model)
    found = central_momentum(model, tree, q, v)
    assert np.abs(found - expected).max() < 1e-12 * scale

    moved, other = q.copy(), v.copy()
    moved[4:7] += rng.standard_normal(3)
    other[:6] += rng.standard_normal(6)
    q1, v1, sizes = with_momentum(model, tree, moved, other, found)
    wrong = central_momentum(model, tree, moved, other)
    np.testing.assert_allclose(sizes[::2], [np.linalg.norm(wrong[:3] - found[:3]), np.linalg.norm(wrong[3:6] - found[3:6])], rtol=1e-10)
    assert np.abs(q1 - q).max() < 1e-11 * scale and np.abs(v1 - v).max() < 1e-10 * scale


def test_an_inertia_that_no_rigid_body_has_is_refused():
    """What floats is summed as rigid bodies: an added mass among its parameters would be projected wrongly, so it is said."""
    builder = engine.Builder("stone")
    builder.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    model = builder.model(floating_base=True)
    G = np.array(model.link("stone").inertia)
    G[5, 5] += 0.5
    with pytest.raises(engine.SimulationError, match=r"parameter 'inertia.stone' is no rigid body's inertia"):
        engine.Simulator(model, parameters={"inertia.stone": G})
    simulator = engine.Simulator(model, parameters={"inertia.stone": model.link("stone").inertia})
    with pytest.raises(engine.SimulationError, match="is no rigid body's inertia"):
        simulator.start(model.neutral(), np.zeros(6), {"inertia.stone": G})


def test_trees_that_constraints_join_are_one_and_what_hangs_on_the_world_is_none():
    one, chain = engine.Builder("one"), engine.Builder("post")
    one.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    chain.add_link("foot"), chain.add_link("rod", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    chain.add_joint("pivot", "revolute", "foot", "rod")
    stone = one.model(floating_base=True)
    model = engine.combine(a=stone, b=stone, c=stone, post=chain.model())
    trees = floating_trees(model)
    assert trees == ((0,), (1,), (2,))
    assert joined_trees(model, trees, []) == trees
    assert joined_trees(model, trees, [(2, 0)]) == ((0, 2), (1,))
    assert joined_trees(model, trees, [(0, 1), (2, 1)]) == ((0, 1, 2),)
    assert joined_trees(model, trees, [(0, 1), (1, -1)]) == ((2,),)
    assert joined_trees(model, trees, [(3, 0)]) == ((1,), (2,))


@pytest.mark.parametrize("seed", range(4))
def test_momentum_of_several_trees_as_one(seed):
    rng = np.random.default_rng(seed)
    parts = [random_tree(rng, 4, KINDS, floating_base=True) for _ in range(3)]
    model = engine.combine(a=parts[0], b=parts[1], c=parts[2])
    q, v = model.random(rng)
    P, c = dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q)
    expected = np.concatenate([P[:3] - np.cross(c, P[3:]), P[3:], c])
    tree, = joined_trees(model, floating_trees(model), [(0, 8), (8, model.nv and len(model.bodies) - 1)])
    found, scale = central_momentum(model, tree, q, v), np.abs(expected).max()
    assert np.abs(found - expected).max() < 1e-12 * scale
    wanted = found + rng.standard_normal(9)
    q1, v1, sizes = with_momentum(model, tree, q, v, wanted)
    assert np.abs(central_momentum(model, tree, q1, v1) - wanted).max() < 1e-11 * scale
    np.testing.assert_allclose(sizes[::2], [np.linalg.norm(wanted[:3] - found[:3]), np.linalg.norm(wanted[3:6] - found[3:6])], rtol=1e-9)
    before, after = (dynamics.forward_kinematics(model, x) for x in (q, q1))
    assert np.abs(after[1:, :3, 3] - before[1:, :3, 3] - (after[1, :3, 3] - before[1, :3, 3])).max() < 1e-12 * scale
    rate = momentum_rate(model, tree, q, -dynamics.rnea(model, q, 0 * v, 0 * v, (1.0, 2.0, -3.0)), found)
    m = dynamics.total_mass(model)
    assert np.abs(rate - [0, 0, 0, m, 2 * m, -3 * m, *found[3:6] / m]).max() < 1e-11 * scale
