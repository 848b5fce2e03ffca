"""The compiled functions of free-floating robots are the plain ones, alone and in batches, and name what is wrong."""

import numpy as np
import pytest

import engine
from engine import dynamics
from tests.numeric import close
from tests.trees import random_tree

STATE = ("coriolis", "momentum_matrix_dot", "centroidal_momentum_matrix_dot")
CONFIGURATION = ("christoffel", "momentum_matrix", "centroidal_momentum_matrix", "reaction_null_space")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    model = random_tree(rng, 4, kinds=("revolute", "prismatic", "universal"), floating_base=True)
    q, v = (np.array(x) for x in zip(*(model.random(rng) for _ in range(3)), strict=True))
    return engine.compile(model, (0, 0, -1.5)), q, v, rng.standard_normal((3, model.nv))


def rows(fn, *batches):
    return np.array([fn(*row) for row in zip(*batches, strict=True)])


@pytest.mark.parametrize("name", STATE + CONFIGURATION)
def test_functions_are_the_plain_ones(case, name):
    robot, q, v, _ = case
    arguments = (q, v) if name in STATE else (q,)
    plain = rows(lambda *x: getattr(dynamics, name)(robot.model, *x), *arguments)
    close(getattr(robot, name)(*arguments), plain, 1e-12)
    assert (getattr(robot, name)(*(x[1].copy() for x in arguments)) == getattr(robot, name)(*arguments)[1]).all()


@pytest.mark.parametrize("base", ["floating", "rotation", "flying"])
def test_functions_of_free_bases_are_the_plain_ones(case, base):
    robot, q, v, a = case
    model, link, g = robot.model, robot.model.links[-1].name, robot.gravity
    a = a if base == "flying" else a[:, 6:]
    close(robot.generalized_jacobian(q, link, base), rows(lambda q: dynamics.generalized_jacobian(model, q, link, base), q), 1e-12)
    close(robot.free_floating_inertia(q, base), rows(lambda q: dynamics.free_floating_inertia(model, q, base), q), 1e-12)
    close(robot.free_floating_bias(q, v, base), rows(lambda q, v: dynamics.free_floating_bias(model, q, v, g, base), q, v), 1e-12)
    for k in range(2):
        plain = rows(lambda q, v, a: dynamics.floating_inverse_dynamics(model, q, v, a, g, base)[k], q, v, a)
        close(robot.floating_inverse_dynamics(q, v, a, base)[k], plain, 1e-12)
    close(robot.base_reaction(q, v, v), rows(lambda q, v: dynamics.base_reaction(model, q, v, v, g), q, v), 1e-12)


def test_what_is_not_finite_is_named(case):
    robot, q, v, a = case
    a = a[0, 6:].copy()
    a[-1] = np.inf
    with pytest.raises(engine.StateError, match=rf"qddot\[{len(a) - 1}\] \(joint '{robot.model.entries('v')[-1]}'\) is inf"):
        robot.floating_inverse_dynamics(q[0], v[0], a)
