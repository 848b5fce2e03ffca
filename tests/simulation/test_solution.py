"""Adaptive integration: the tolerance is met, states between the steps are on the manifold and of the method's order, events are found."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine import integrate
from engine.integrate import METHODS, System
from engine.spatial import inertia
from engine.spatial.manifold import MOTION, ROTATION, product, vector
from tests.trees import random_tree

EXPLICIT = [n for n, m in METHODS.items() if m.takes is System and m.order >= 3]


@pytest.fixture(scope="module")
def tree():
    """A floating base and three joints of several kinds, coasting, and its state after 0.7 s by SciPy's DOP853 in the Lie algebra."""
    rng = np.random.default_rng(4)
    model = random_tree(rng, 3, kinds=("revolute", "prismatic", "spherical"), floating_base=True)
    q, v = model.random(rng)
    v = 1.5 * v
    robot = engine.compile(model, (0, 0, -1.0))

    def rate(t, y):
        d, v = y[: model.nv], y[model.nv :]  # the motion in coordinates d about q
        return np.concatenate([model.manifold.dexp_inv(d, v), robot.aba(model.manifold.plus(q, d), v, np.zeros(model.nv))])

    y = solve_ivp(rate, (0, 0.7), np.concatenate([np.zeros(model.nv), v]), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return model, q, v, model.manifold.plus(q, y[: model.nv]), y[model.nv :]


@pytest.mark.parametrize("name", EXPLICIT)
def test_errors_follow_the_tolerance(tree, name):
    model, q, v, q_end, v_end = tree
    simulator = engine.Simulator(model, gravity=(0, 0, -1.0), integrator=name)
    errors, steps = [], []
    for tolerance in (1e-7, 1e-10):
        solution = simulator.solve(q, v, 0.7, tolerance)
        to, w = solution(0.7)
        errors.append(max(np.abs(model.difference(q_end, to)).max(), np.abs(w - v_end).max()))
        steps.append(np.sum(solution.t > 0.3))                                 # the first step is a guess
        assert errors[-1] < 100 * tolerance
    assert errors[1] < errors[0] / 100
    # N ~ tolerance^(−1/(p+1))
    grown = np.log(steps[1] / steps[0]) / np.log(1000)
    assert abs(grown - 1 / (METHODS[name].order + (METHODS[name].embedded is None))) < 0.05


def test_between_the_steps(tree):
    """Dense output is on the manifold, meets the steps to the bit, and is as good as they are."""
    model, q, v, *_ = tree
    simulator = engine.Simulator(model, gravity=(0, 0, -1.0))
    solution = simulator.solve(q, v, 1.0, 1e-8)
    Q, V = solution(solution.t)
    assert all((a == b).all() for a, b in zip((Q, V), solution.parts(solution.y), strict=True))
    times = np.random.default_rng(0).uniform(0, 1, (7, 3))
    Q, V = solution(times)
    assert Q.shape == (7, 3, model.nq) and V.shape == (7, 3, model.nv)
    for factor, i, _ in model.manifold.factors:
        if factor in (ROTATION, MOTION):
            assert np.abs(np.linalg.norm(Q[..., i][..., :4], axis=-1) - 1).max() < 1e-15
    fine, w = simulator.solve(q, v, 1.0, 1e-12)(times)
    assert np.abs(model.difference(fine, Q)).max() < 1e-6 and np.abs(w - V).max() < 1e-6
    # continuous where steps meet
    t = solution.t[5]
    (a, u), (b, w) = solution(t - 1e-9), solution(t + 1e-9)
    assert np.abs(model.difference(a, b)).max() < 1e-8 and np.abs(u - w).max() < 1e-7


def stone(height):
    body = engine.Builder("stone")
    body.add_link("stone", inertia=inertia.sphere(1.0, 0.1))
    return engine.Simulator(body.model(floating_base=True)), np.array([1.0, 0, 0, 0, 0, 0, height])


def test_events_are_found_where_they_are():
    """A stone thrown up passes a height twice, at the roots of a quadratic."""
    simulator, q = stone(1.0)
    v = np.array([0.3, 0.2, 0.1, 0, 0, 6.0])

    def passes(t, q, v):
        return q[6] - 2.0

    def rises(t, q, v):
        return q[6] - 2.0

    def ground(t, q, v):
        return q[6]

    rises.direction, ground.terminal = 1, True
    solution = simulator.solve(q, v, 5.0, 1e-10, events=[passes, rises, ground], max_step=0.3)
    roots = sorted(np.roots([-9.81 / 2, 6.0, -1.0]).real)
    landing = max(np.roots([-9.81 / 2, 6.0, 1.0]).real)
    assert [e.function for e in solution.events] == [0, 1, 0, 2]
    np.testing.assert_allclose([e.t for e in solution.events], [roots[0], roots[0], roots[1], landing], rtol=0, atol=1e-9)
    assert solution.t[-1] == solution.events[-1].t
    assert abs(solution.events[-1].state[0][6]) < 1e-12 and abs(solution(solution.t[-1])[0][6]) < 1e-12


def test_events_of_a_rigid_body():
    class Thrown(engine.RigidBody):
        mass, inertia = 2.0, np.diag([0.1, 0.2, 0.3])

        def forces(self, x, u, t):
            return np.array([0.0, 0.0, -2.0 * 9.81])

    body = Thrown(attitude="mrp")

    def top(t, x):
        return body.linear_velocity(x)[2]

    x0 = body.build_state(linear_velocity=[1.0, 0, 4.905], angular_velocity=[1, 2, 3])
    solution = engine.compile(body).solve(x0, 2.0, 1e-12, events=[top])
    assert abs(solution.events[0].t - 0.5) < 1e-12
    assert abs(body.position(solution(0.5))[2] - 4.905 * 0.5 / 2) < 1e-11


def test_weights_are_of_angles_positions_and_vectors():
    space = product([MOTION, ROTATION, vector(2)])
    x = np.concatenate([MOTION.neutral()[:4], [3.0, 4.0, 0.0], ROTATION.neutral(), [-9.0, 0.0]])
    assert (integrate.adaptive.weights(space, x) == [1, 1, 1, 6, 6, 6, 1, 1, 1, 10, 1]).all()


def test_what_cannot_be_solved_is_said_and_kept():
    """A force that is infinite in the middle: steps shrink to nothing before it."""
    class Wall(engine.RigidBody):
        mass, inertia = 1.0, np.eye(3)

        def forces(self, x, u, t):
            return np.array([1.0, 0, 0]) / (0.5 - t) ** 2

    body = Wall()
    with pytest.raises(engine.simulation.SolutionError, match=r"at t = 0\.[45]\d* s even a step of .* a smoother motion") as caught:
        engine.compile(body).solve(body.neutral(), 1.0)
    assert 0.4 < caught.value.solution.t[-1] < 0.5001 and np.isfinite(caught.value.solution.y).all()


@pytest.mark.parametrize(("arguments", "message"), [
    ({"tolerance": 0.0}, "tolerance is 0.0; expected an error per step between 1e-15 and 1"),
    ({"tolerance": "fine"}, "tolerance is 'fine'"),
    ({"duration": -1.0}, "duration is -1.0"),
    ({"events": [lambda t, q, v: q]}, "the event function <lambda> returned shape (7,) at t = 0 s; expected a number"),
    ({"events": [lambda t, q, v: np.nan]}, "the event function <lambda> returned NaN"),
])  # fmt: skip
def test_bad_input(arguments, message):
    simulator, q = stone(1.0)
    with pytest.raises(ValueError, match=re.escape(message)):
        simulator.solve(**{"q0": q, "v0": np.zeros(6), "duration": 1.0, **arguments})


@pytest.mark.parametrize("max_step", [0.0, -1.0, np.nan, "small"])
def test_a_largest_step_that_is_none_is_refused_of_robots_and_of_bodies(max_step):
    simulator, q = stone(1.0)
    body = engine.RigidBody(mass=1.0, inertia=np.eye(3))
    said = re.escape(f"max_step is {max_step!r}; expected seconds greater than zero")
    with pytest.raises(engine.SimulationError, match=said):
        simulator.solve(q, np.zeros(6), 1.0, max_step=max_step)
    with pytest.raises(engine.SimulationError, match=said):
        engine.compile(body).solve(body.neutral(), 1.0, max_step=max_step)


def test_times_outside_are_refused():
    simulator, q = stone(1.0)
    solution = simulator.solve(q, np.zeros(6), 1.0)
    with pytest.raises(ValueError, match=r"asked for at t = 1\.5 s; expected times from 0 to 1 s"):
        solution([0.5, 1.5])
