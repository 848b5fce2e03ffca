"""Gradients through rollouts: against differences, the product of the steps' matrices, closed forms, and what is said."""

import numpy as np
import pytest

import engine
from engine import ControlError
from engine.spatial import inertia, se3
from tests.control.test_lqr import cart_pole, pushed
from tests.simulation.test_simulator import slider


def weighed(t, q, v, u):
    return 0.5 * (q @ q) + 0.1 * (v @ v) * q[0] + 0.01 * u**2


def end(t, q, v):
    return q[1] ** 3 + v[0]


def test_it_is_the_product_of_the_steps():
    """∂J/∂x₀ and ∂J/∂u_k of A_k, B_k of linearize along the run: λ_k = A_kᵀ λ_{k+1} + ∂l."""
    simulator, N = pushed(), 40
    rng = np.random.default_rng(0)
    u, q, v = rng.uniform(-1, 1, N), np.array([0.3, 0.4]), np.array([-0.2, 0.5])
    found = engine.rollout_gradient(simulator, q, v, weighed, end, steps=N, u=u)
    qs, vs = [q], [v]
    for k in range(N):
        s = simulator.step(simulator.start(qs[-1], vs[-1], {"u": u[k]}))
        qs.append(s.q), vs.append(s.v)
    qs, vs = np.array(qs), np.array(vs)
    A, B = simulator.linearize(qs[:-1], vs[:-1], u)
    back, du = np.array([0.0, 3.0 * qs[-1, 1] ** 2, 1.0, 0.0]), np.zeros(N)
    for k in reversed(range(N)):
        du[k] = B[k, :, 0] @ back + 0.02 * u[k]
        (x, y), (a, b) = qs[k], vs[k]
        back = A[k].T @ back + [x + 0.1 * (a * a + b * b), y, 0.2 * a * x, 0.2 * b * x]
    np.testing.assert_allclose(found.u, du, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.append(found.q, found.v), back, rtol=1e-10)
    cost = sum(weighed(0.0, qs[k], vs[k], u[k]) for k in range(N)) + end(0.0, qs[-1], vs[-1])
    np.testing.assert_allclose(found.cost, cost, rtol=1e-12)


def test_parameters_and_rows_of_a_batch():
    """A mass under a force: q_N = q + v T + F T²/2m; of each row its own, alone or together."""
    simulator = engine.Simulator(slider(2.0), dt=0.01, gravity=(0, 0, 0), controller=lambda t, q, v, push: np.array([push]),
                                 parameters={"push": 1.0, "mass.cart": 2.0})  # fmt: skip
    push, mass = np.array([1.0, 3.0, -2.0]), np.array([2.0, 1.0, 4.0])
    found = engine.rollout_gradient(simulator, [[0.1], [0.2], [0.3]], [0.5], None, lambda t, q, v: q[0], steps=100,
                                    parameters={"push": push, "mass.cart": mass})  # fmt: skip
    np.testing.assert_allclose(found.cost, np.array([0.1, 0.2, 0.3]) + 0.5 + push / (2 * mass), rtol=1e-12)
    np.testing.assert_allclose(found.parameters["push"], 1 / (2 * mass), rtol=1e-12)
    np.testing.assert_allclose(found.parameters["mass.cart"], -push / (2 * mass**2), rtol=1e-11)
    np.testing.assert_allclose(found.v[:, 0], 1.0, rtol=1e-12)
    alone = engine.rollout_gradient(simulator, [0.2], [0.5], None, lambda t, q, v: q[0], steps=100,
                                    parameters={"push": 3.0, "mass.cart": 1.0})  # fmt: skip
    assert alone.cost == found.cost[1] and alone.parameters["push"] == found.parameters["push"][1] and (alone.u == found.u[1]).all()


def test_long_rollouts_keep_few_states(monkeypatch):
    """Found again from every seventh state on, it is the same bits."""
    simulator, given = pushed(), {"steps": 30, "u": np.linspace(-1, 1, 30)}
    once = engine.rollout_gradient(simulator, [0.3, 0.4], [0.1, 0.0], weighed, end, **given)
    monkeypatch.setitem(engine.rollout_gradient.__globals__, "KEPT", 7)
    again = engine.rollout_gradient(simulator, [0.3, 0.4], [0.1, 0.0], weighed, end, **given)
    assert (once.u == again.u).all() and (once.q == again.q).all() and once.cost == again.cost


def test_a_body_that_floats_and_turns():
    """Along q ⊕ δ of a quaternion, against differences of rollouts."""
    b = engine.Builder("body")
    b.add_link("body", inertia=inertia.box(3.0, (0.3, 0.2, 0.5)))
    b.add_link("arm", inertia=inertia.sphere(1.0, 0.2))
    b.add_joint("hinge", "revolute", "body", "arm", se3.pose(np.eye(3), [0.3, 0, 0]), axis=(0, 0, 1))
    model = b.model(floating_base=True)
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, -1.0), joint_dynamics=None)
    rng = np.random.default_rng(3)
    q, v = model.random(rng)
    goal, _ = model.random(rng)

    def final(t, q, v):
        return np.concatenate([model.manifold.minus(goal, q), 0.3 * v])

    found = engine.rollout_gradient(simulator, q, v, None, final, steps=20)
    h, ways = 1e-5, np.eye(model.nv)
    states = model.integrate(q, np.concatenate([h * ways, -h * ways])), np.concatenate([v + h * ways, v - h * ways])
    for slope, begin in ((found.q, (states[0], v)), (found.v, (q, states[1]))):
        cost = engine.rollout_gradient(simulator, *begin, None, final, steps=20).cost
        np.testing.assert_allclose(slope, (cost[: model.nv] - cost[model.nv :]) / (2 * h), rtol=1e-5, atol=1e-6)


def test_it_says_what_is_wrong():
    at = ([0.0, 0.1], [0.0, 0.0])
    with pytest.raises(ControlError, match="got no cost; expected running, final, or both"):
        engine.rollout_gradient(pushed(), *at, steps=3)
    with pytest.raises(ControlError, match=r"u has shape \(4,\); expected \(\), or \(\.\.\., 3\)"):
        engine.rollout_gradient(pushed(), *at, weighed, steps=3, u=np.zeros(4))
    with pytest.raises(ControlError, match="expected equal leading dimensions"):
        engine.rollout_gradient(pushed(), np.zeros((2, 2)), np.zeros((3, 2)), weighed, steps=3)
    with pytest.raises(ControlError, match=r"the gradient is not finite"):
        engine.rollout_gradient(pushed(), *at, lambda t, q, v, u: np.sqrt(q[0]), steps=3)
    with pytest.raises(engine.SimulationError, match="a simulator with events cannot be linearized"):
        engine.rollout_gradient(engine.Simulator(cart_pole(), events=[lambda t, q, v: q[0]]), *at, end, steps=3)
