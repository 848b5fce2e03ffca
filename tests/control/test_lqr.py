"""The linear-quadratic regulator: against closed forms, its own cost along a motion, and what is said."""

import numpy as np
import pytest
from scipy import linalg

import engine
from engine import ControlError
from engine.spatial import inertia, se3
from tests.simulation.test_simulator import pendulum, slider


def cart_pole():
    b = engine.Builder("cart-pole")
    b.add_link("rail"), b.add_link("cart", inertia=inertia.sphere(1.0, 0.1))
    b.add_link("pole", inertia=inertia.from_mass(0.2, [0.0, 0.0, 0.5], np.diag([0.01, 0.01, 0.001])))
    b.add_joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0))
    b.add_joint("hinge", "revolute", "cart", "pole", axis=(0, 1, 0))
    return b.model()


def pushed(dt=0.01, **more):
    """A cart-pole whose cart alone is pushed, by u."""
    return engine.Simulator(cart_pole(), dt=dt, controller=lambda t, q, v, u: np.array([u, 0.0]), parameters={"u": 0.0}, **more)


def held(period):
    """The same, held between ticks."""
    law = engine.Law(lambda t, q, v, u: np.array([u, 0.0]), period=period)
    return engine.Simulator(cart_pole(), dt=0.01, controller=law, parameters={"u": 0.0})


def timed():
    """A motor that grows weaker."""
    return engine.Simulator(cart_pole(), dt=0.01, controller=lambda t, q, v, u: np.array([u * (1.0 - 0.1 * t), 0.0]), parameters={"u": 0.0})


def test_a_cart_has_the_gains_of_the_double_integrator():
    """K → [√(Q/R), √(2 m √(Q/R))] and P of the continuous equation over dt, as steps get shorter: ẍ = u/m."""
    for dt, size in ((1e-2, 0.02), (1e-3, 0.002)):
        found = engine.lqr(engine.Simulator(slider(2.0), dt=dt, gravity=(0, 0, 0)), [0.3], Q=[9.0, 0.0], R=[4.0])
        np.testing.assert_allclose(found.K, [[1.5, np.sqrt(2.0 * 2.0 * 1.5)]], rtol=size)
        assert np.abs(found.modes).max() < 1.0 and found.u == 0.0


def test_the_cost_to_go_is_what_the_motion_costs():
    """δxᵀ P δx = Σ δxᵀ Q δx + δuᵀ R δu of the simulation itself, from near by."""
    simulator = pushed()
    Q, R = np.diag([1.0, 5.0, 0.1, 0.2]), np.array([[0.3]])
    found = engine.lqr(simulator, [0.2, 0.0], Q, R)
    regulated = engine.Simulator(cart_pole(), dt=0.01, controller=engine.Law(
        lambda t, q, v: np.array([found(t, q, v), 0.0]), period=0.01))  # fmt: skip
    d = 1e-4 * np.array([1.0, -2.0, 0.5, 0.7])
    run = regulated.run(d[:2] + [0.2, 0.0], d[2:], 30.0)
    x = np.concatenate([run.q - [0.2, 0.0], run.v], axis=1)[:-1]
    u = -x @ found.K.T
    cost = np.einsum("ti,ij,tj->", x, Q, x) + (u @ R * u).sum()
    assert abs(cost / (d @ found.P @ d) - 1.0) < 1e-5
    assert np.abs(x[-1]).max() < 1e-9


def test_it_holds_what_falls_from_far_away():
    simulator, model = pushed(), cart_pole()
    found = engine.lqr(simulator, [0.0, 0.0], Q=[1.0, 10.0, 1.0, 1.0], R=0.1)
    law = engine.Law(lambda t, q, v: np.array([found(t, q, v), 0.0]), period=0.01)
    run = engine.Simulator(model, dt=0.01, controller=law).run([0.5, 0.4], [0.0, 0.0], 20.0, record_every=10)
    assert np.abs(run.q[-1]).max() < 1e-3 and np.abs(run.q[:, 1]).max() < 0.6


def test_a_closed_loop_is_regulated_on_its_constraints():
    """Four bars, a parallelogram, have one freedom d: along it the gains and the cost are those of the step of (d·δq, d·δv) alone."""
    b = engine.Builder("four bars")
    b.add_link("ground")
    for name, parent, x in (("left", "ground", 0.0), ("top", "left", 1.0), ("right", "top", 1.0)):
        b.add_link(name, inertia=inertia.from_mass(1.0, [0.5, 0.0, 0.0], np.diag([1e-3, 1 / 12, 1 / 12])))
        b.add_joint(f"to_{name}", "revolute", parent, name, se3.pose(np.eye(3), [x, 0.0, 0.0]), axis=(0, -1, 0))
    loop = engine.Hinge("right", "ground", point_a=(1, 0, 0), point_b=(1, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    simulator = engine.Simulator(b.model(), dt=0.01, constraints=[loop], controller=lambda t, q, v, u: np.array([u, 0.0, 0.0]),
                                 parameters={"u": 0.0})  # fmt: skip
    q, d = np.array([1.2, -1.2, 1.2 - np.pi]), np.array([1.0, -1.0, 1.0]) / np.sqrt(3.0)
    found = engine.lqr(simulator, q, R=0.1, u=2 * 9.81 * np.cos(q[0]))         # of ½, 1 and ½ m cos q₀, the heights of the bars
    T = np.kron(np.eye(2), d[:, None])
    A, B = T.T @ found.A @ T, T.T @ found.B
    P = linalg.solve_discrete_are(A, B, np.eye(2), [[0.1]])
    np.testing.assert_allclose(T.T @ found.P @ T, P, rtol=1e-9)
    np.testing.assert_allclose(found.K @ T, np.linalg.solve(0.1 + B.T @ P @ B, B.T @ P @ A), rtol=1e-9)
    np.testing.assert_allclose(found.A @ T, T @ A, rtol=0, atol=1e-12)         # no step leaves it


def test_an_attitude_is_regulated_on_its_group():
    """A free body's place and attitude, by forces on all six; from a third of a turn away."""
    b = engine.Builder("body")
    b.add_link("body", inertia=inertia.box(3.0, (0.3, 0.2, 0.5)))
    model = b.model(floating_base=True)
    goal = np.array([0.5, 0.5, 0.5, 0.5, 1.0, -2.0, 0.5])
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0))
    found = engine.lqr(simulator, goal, Q=1.0, R=0.1)
    held = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), controller=found)
    run = held.run(model.integrate(goal, [1.5, -0.8, 1.0, 0.3, 0.4, -0.2]), np.zeros(6), 30.0, record_every=100)
    assert np.abs(model.difference(goal, run.q[-1])).max() < 1e-4


@pytest.mark.parametrize(("make", "text"), [
    (lambda: engine.lqr(engine.Simulator(pendulum()), [0.5], u=[0.0]), "no equilibrium: a step of 0.001 s from rest moves 'pivot' by"),
    (lambda: engine.lqr(pushed(), [0.0, 0.3]), "no equilibrium: .* moves 'hinge' by .*; expected a state that stays, with u=... that"),
    (lambda: engine.lqr(engine.Simulator(pendulum()), [0.0], R=0.0), "R is 0.0, with the eigenvalue 0; expected none at or below zero"),
    (lambda: engine.lqr(engine.Simulator(pendulum()), [0.0], Q=[-1.0, 0.0]), "Q is .*eigenvalue -1; expected none below zero"),
    (lambda: engine.lqr(engine.Simulator(pendulum()), [0.0], Q=np.ones((3, 3))), r"Q has shape \(3, 3\); expected a symmetric \(2, 2\)"),
    (lambda: engine.lqr(pushed(), [0.0, 0.0], Q=[0.0, 1.0, 0.0, 1.0]), "a mode stays that does not fade|Riccati.*expected Q that sees"),
    (lambda: engine.lqr(held(0.05), [0.0, 0.0]), "is held for 0.05 s, and a step lasts 0.01 s; expected a simulator whose dt is that"),
    (lambda: engine.lqr(timed(), [0.0, 0.0]), "the step is another at t = 1.2345 s than at 0; expected forces and controllers that"),
    (lambda: engine.lqr(pendulum(), [0.0]), "lqr got a Model; expected a Simulator"),
    (lambda: engine.lqr(engine.Simulator(engine.combine(a=slider(), b=slider()), gravity=(0, 0, 0), parameters={"u": 0.0},
                                         controller=lambda t, q, v, u: np.array([u, 0.0])), [0.0, 0.0]),
     "u does not reach a mode that does not fade, which is mostly . of 'b/slide'"),
])  # fmt: skip
def test_what_is_refused(make, text):
    with pytest.raises(ControlError, match=text):
        make()
