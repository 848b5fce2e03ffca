"""Optimal control: against linear least squares, Crocoddyl, the adjoint's gradient, and what is said."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import engine
from engine import ControlError, SimulationWarning
from engine.components.actuators import ReactionWheels
from engine.spatial import inertia
from tests.control.test_lqr import cart_pole, pushed
from tests.dynamics.support import robot
from tests.simulation.test_simulator import slider

START, GOAL = np.array([0.0, -1.2, 1.5, -0.5, 1.0, 0.0]), np.array([0.4, 0.3, 0.5])


def reach():
    """A UR5 whose tool is to reach a place within 0.6 s: its simulator, and the residuals on the way and at the end."""
    simulator = engine.Simulator(robot("ur5").with_armature(np.full(6, 0.1)), 0.02, "semi_implicit_euler", joint_dynamics=None)

    def running(t, q, v, u, pose):
        far = pose("tool0")[:3, 3] - GOAL
        return np.sqrt(0.02) * np.concatenate([np.sqrt(10.0) * far, np.sqrt(0.1) * (q - START), np.sqrt(0.1) * v, np.sqrt(1e-3) * u])

    def final(t, q, v, pose):
        far = pose("tool0")[:3, 3] - GOAL
        return np.concatenate([np.sqrt(1e3) * far, np.sqrt(0.1) * (q - START), np.sqrt(0.1) * v])

    return simulator, running, final


def test_it_is_crocoddyls_optimum():
    """SolverFDDP of Crocoddyl 3.2.1 with Pinocchio 4.0.0, IntegratedActionModelEuler and the same costs: 0.4818461997990764."""
    simulator, running, final = reach()
    plan = engine.ilqr(simulator, START, np.zeros(6), running, final, steps=30, tolerance=1e-12)
    assert plan.converged and abs(plan.cost / 0.4818461997990764 - 1.0) < 1e-10
    run = engine.rollout_gradient(simulator, START, np.zeros(6), running, final, steps=30, u=plan.u)
    assert abs(run.cost / plan.cost - 1.0) < 1e-12 and np.abs(run.u).max() < 1e-6


def test_within_limits_only_what_is_held_has_a_slope():
    """Where a control is at a limit, the cost falls beyond it; where it is not, its slope is zero (Karush, Kuhn and Tucker)."""
    simulator, running, final = reach()
    plan = engine.ilqr(simulator, START, np.zeros(6), running, final, steps=30, limits=(-30.0, 30.0), tolerance=1e-14, iterations=200)
    slope = engine.rollout_gradient(simulator, START, np.zeros(6), running, final, steps=30, u=plan.u).u
    assert plan.converged and np.abs(plan.u).max() <= 30.0
    free, size = np.abs(plan.u) < 30.0, np.abs(slope).max()
    assert size > 1e-3 and np.abs(slope[free]).max() < 1e-4 * size
    assert (slope[~free] * np.sign(plan.u[~free]) < 0).all() and (~free).sum() > 5


def test_gains_are_those_of_riccati_wherever_it_ends():
    """K of the plan's own motion without damping, after few iterations too: by a plain recursion over linearize's A, B."""
    simulator, w, R = pushed(), np.sqrt([3.0, 1.0, 2.0, 0.5]), 0.2
    Q = np.diag(w * w)

    def running(t, q, v, u):
        return np.append(w * np.concatenate([q, v]), np.sqrt(R) * u)

    plan = engine.ilqr(simulator, [0.0, 2.5], [0.0, 0.0], running, steps=40)
    for found in (plan, plan.again([0.0, 2.0], [0.0, 0.3], iterations=1)):
        A, B = simulator.linearize(found.q[:-1], found.v[:-1], found.u)
        P, K = np.zeros((4, 4)), np.zeros_like(found.K)
        for k in reversed(range(40)):
            K[k] = -np.linalg.solve(R * np.eye(B.shape[-1]) + B[k].T @ P @ B[k], B[k].T @ P @ A[k])
            P = Q + A[k].T @ P @ (A[k] + B[k] @ K[k])
        np.testing.assert_allclose(found.K, K, rtol=0, atol=1e-10 * np.abs(K).max())


@pytest.mark.parametrize("losses", ["auto", "implicit"])
@pytest.mark.filterwarnings("ignore:the plan has not converged")
def test_a_run_goes_as_planned(losses):
    """Damping and friction, whose impulses go from step to step, and wheels, whose momentum does."""
    b = engine.Builder("craft")
    b.add_link("bus", inertia=inertia.box(20.0, (0.5, 0.4, 0.6))), b.add_link("boom", inertia=inertia.box(2.0, (1.0, 0.1, 0.1)))
    b.add_joint("hinge", "revolute", "bus", "boom", axis=(0, 0, 1), damping=0.5, friction=0.05)
    model = b.model(floating_base=True)
    wheels = ReactionWheels("bus", torque=0.5, initial=[0.5, 0, 0])
    common = {"dt": 0.05, "gravity": (0, 0, 0), "joint_dynamics": losses, "actuators": [wheels]}
    simulator = engine.Simulator(model, controller=lambda t, q, v, u: {"wheels": u}, parameters={"u": np.zeros(3)}, **common)
    q, v = model.neutral(), 0.1 * np.arange(7.0)
    plan = engine.ilqr(simulator, q, v, lambda t, q, v, u: np.concatenate([u, v[:3]]), lambda t, q, v: 10.0 * v, steps=30, iterations=10)
    replayed = engine.Law(lambda t, q, v: {"wheels": plan.u[min(round(t / 0.05), 29)]}, period=0.05, python=True)
    run = engine.Simulator(model, controller=replayed, **common).run(q, v, 1.5)
    np.testing.assert_allclose(run.q, plan.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v, plan.v, rtol=0, atol=1e-12)
    found = engine.rollout_gradient(simulator, q, v, None, lambda t, q, v: v[6], steps=30, u=plan.u)
    np.testing.assert_allclose(found.cost, run.v[-1, 6], rtol=0, atol=1e-12)


@pytest.mark.parametrize("limits", [None, (-3.0, 3.0)])
def test_a_linear_problem_is_its_least_squares(limits):
    """A mass on a rail: x_N and the costs are linear in u, and the optimum is that of scipy.optimize.lsq_linear."""
    m, dt, N = 2.0, 0.1, 12
    simulator = engine.Simulator(slider(m), dt=dt, gravity=(0, 0, 0))
    plan = engine.ilqr(simulator, [0.2], [0.3], lambda t, q, v, u: np.concatenate([0.1 * u, 0.3 * (q - 1.0)]),
                       lambda t, q, v: 5.0 * np.concatenate([q - 1.0, v]), steps=N, limits=limits, tolerance=1e-14)  # fmt: skip
    push = np.array([[dt * dt / m * (k - j - 0.5) if j < k else 0.0 for j in range(N)] for k in range(N + 1)])
    place = 0.2 + 0.3 * dt * np.arange(N + 1)
    A = np.vstack([0.1 * np.eye(N), 0.3 * push[:N], 5.0 * push[N:], 5.0 * dt / m * np.ones((1, N))])
    b = np.concatenate([np.zeros(N), 0.3 * (1.0 - place[:N]), 5.0 * (1.0 - place[N:]), [-5.0 * 0.3]])
    low, high = limits or (-np.inf, np.inf)
    expected = lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(plan.u[:, 0], expected, atol=1e-8)
    assert len(plan.costs) <= 4 + 4 * (limits is not None) and (limits is None or (np.abs(expected) == 3.0).any())


def test_large_problems_go_back_by_numpy(monkeypatch):
    """The way back on floats is the one of machine code, with limits and without."""
    simulator = pushed(dt=0.05)
    for limits in (None, (-4.0, 4.0)):
        plans = []
        for small in (28, 0):
            monkeypatch.setattr("engine.control.plan.SMALL", small)
            plans.append(engine.ilqr(simulator, [0.0, 2.5], [0.0, 0.0], lambda t, q, v, u: np.append(0.1 * q, 0.03 * u),
                                     lambda t, q, v: 10.0 * np.concatenate([q, v]), steps=40, limits=limits, iterations=300))  # fmt: skip
        one, other = plans
        assert one.converged and abs(one.cost / other.cost - 1.0) < 1e-8


def test_a_free_flyer_reaches_on_its_group():
    """A floating body turned by a third of a turn and moved, with limits of its forces; the plan is flown by the simulator."""
    b = engine.Builder("body")
    b.add_link("body", inertia=inertia.box(3.0, (0.3, 0.2, 0.5)))
    model = b.model(floating_base=True)
    goal = np.array([0.5, 0.5, 0.5, 0.5, 1.0, -2.0, 0.5])
    simulator = engine.Simulator(model, dt=0.05, gravity=(0, 0, 0), controller=lambda t, q, v, u: u, parameters={"u": np.zeros(6)})
    plan = engine.ilqr(simulator, model.neutral(), np.zeros(6), lambda t, q, v, u: np.repeat([2.0, 0.05], 3) * u,
                       lambda t, q, v: 30.0 * np.concatenate([model.manifold.minus(goal, q), v]), steps=60,
                       limits=(-4.0, 4.0), iterations=200)  # fmt: skip
    assert plan.converged and np.abs(plan.u).max() <= 4.0
    assert np.abs(model.difference(goal, plan.q[-1])).max() < 0.02 and np.abs(plan.v[-1]).max() < 0.02
    law = engine.Law(plan, period=plan.dt, python=True)
    run = engine.Simulator(model, dt=0.05, gravity=(0, 0, 0), controller=law).run(model.neutral(), np.zeros(6), 3.0)
    np.testing.assert_allclose(run.q, plan.q, atol=1e-9)
    near = plan.again(run.q[1], run.v[1], t=0.05, iterations=1)
    assert near.t[0] == 0.05 and near.cost < near.costs[0]


def hanging(final=lambda t, q, v: np.concatenate([30.0 * np.array([1.0 - np.cos(q[1]), q[0] / 3.0]), 3.0 * v])):
    """A cart-pole that is to stand upright after 3 s: its simulator and costs. Where it hangs, at 1800, they have no slope."""
    return pushed(dt=0.05), lambda t, q, v, u: np.array([0.1 * u, 0.03 * q[0]]), final


@pytest.mark.filterwarnings("ignore:the controls at first are stationary")
def test_a_start_without_a_slope_is_no_minimum():
    """It says so, and finds how to swing up, the same way each time; with one iteration too it does not claim to have converged."""
    simulator, running, final = hanging()
    for more in ({}, {"u": 0.0}):
        with pytest.warns(SimulationWarning, match=r"first are stationary .* lowers the cost, 1800, .*; expected others to begin"):
            plans = [engine.ilqr(simulator, [0.0, np.pi], [0.0, 0.0], running, final, steps=60, iterations=300, **more) for _ in range(2)]
        assert plans[0].converged and plans[0].cost < 10.0 and not plans[0].stationary
        np.testing.assert_array_equal(plans[0].u, plans[1].u)
        assert np.cos(plans[0].q[-1, 1]) > 0.98
    with pytest.warns(SimulationWarning, match="has not converged after 1 iterations"):
        plan = engine.ilqr(simulator, [0.0, np.pi], [0.0, 0.0], running, final, steps=60, iterations=1, u=0.0, limits=(-1.0, 1.0))
    assert not plan.converged and np.abs(plan.u).max() <= 1.0


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.3, 0.2]])
def test_a_start_at_a_minimum_is_one(start):
    """Without a cost, and with one, where the pole balances and open loops run away: it converges where it is, without a warning."""
    simulator, running, final = hanging()
    plan = engine.ilqr(simulator, start, [0.0, 0.0], running, final, steps=60)
    same = engine.ilqr(simulator, start, [0.0, 0.0], running, final, steps=60, u=plan.u)
    assert plan.converged and same.converged and same.stationary and plan.stationary == (plan.cost == 0.0)
    assert abs(same.cost - plan.cost) <= 1e-9 * plan.cost
    np.testing.assert_allclose(same.u, plan.u, rtol=0, atol=1e-4)
    held = engine.ilqr(simulator, start, [0.0, 0.0], running, final, steps=60, limits=(-0.1, 0.1), u=0.1, iterations=300)
    assert held.converged


def test_a_start_of_which_nothing_is_known_is_not_converged():
    """Where the search from beside it comes back, it is a minimum; where it has no time to, nobody knows."""
    simulator, running, final = hanging(lambda t, q, v: np.array([100.0 + 1e-3 * (np.cos(q[1]) + 1.0)]))
    for more in ({"u": 0.0}, {}):                                              # hanging is the best for these; it stands but for rounding
        plan = engine.ilqr(simulator, [0.0, np.pi], [0.0, 0.0], running, final, steps=20, **more)
        assert plan.converged and plan.stationary and plan.cost == 5000.0
    with pytest.warns(SimulationWarning, match="beside those at first, which are stationary, the search did not come back"):
        high = lambda t, q, v: 11.0 + np.cos(q[1:])
        plan = engine.ilqr(simulator, [0.0, np.pi], [0.0, 0.0], running, high, steps=20, u=0.0, iterations=1)
    assert not plan.converged


def test_again_goes_on_as_the_plan_was_sought():
    simulator, running, final = hanging()
    with pytest.warns(SimulationWarning, match="has not converged after 2 iterations"):
        plan = engine.ilqr(simulator, [0.3, 0.5], [0.0, 0.0], running, final, steps=60, iterations=2, tolerance=1e-12)
    again = plan.again([0.3, 0.5], [0.1, 0.0])
    assert len(again.costs) == 3 and (again.iterations, again.tolerance) == (2, 1e-12)
    assert len(plan.again([0.3, 0.5], [0.1, 0.0], iterations=1).again([0.3, 0.5], [0.1, 0.0]).costs) == 2
    assert plan.again([0.3, 0.5], [0.1, 0.0], iterations=100, tolerance=1e-9).converged


def test_it_says_what_is_wrong():
    simulator, r = pushed(), lambda t, q, v, u: np.append(q, u)
    at = ([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ControlError, match="returned a number; expected residuals r"):
        engine.ilqr(simulator, *at, lambda t, q, v, u: q @ q, steps=3)
    with pytest.raises(ControlError, match=r"steps is 0; expected a whole number from 1"):
        engine.ilqr(simulator, *at, r, steps=0)
    with pytest.raises(ControlError, match=r"expected the lowest u not above the highest"):
        engine.ilqr(simulator, *at, r, steps=3, limits=(1.0, -1.0))
    with pytest.raises(ControlError, match=r"limits is 3.0; expected two"):
        engine.ilqr(simulator, *at, r, steps=3, limits=3.0)
    with pytest.raises(ControlError, match=r"u has shape \(2, 1\); expected \(3,\), or \(\)"):
        engine.ilqr(simulator, *at, r, steps=3, u=[[1.0], [2.0]])
    with pytest.raises(engine.SimulationError, match=r"asks for 'goal'"):
        engine.ilqr(simulator, *at, lambda t, q, v, goal: q, steps=3)
    with pytest.raises(ControlError, match=r"is held for 0\.05 s, and a step lasts 0.01 s"):
        held = engine.Law(lambda t, q, v, u: np.array([u, 0.0]), period=0.05)
        engine.ilqr(engine.Simulator(cart_pole(), dt=0.01, controller=held, parameters={"u": 0.0}), *at, r, steps=3)
    with pytest.raises(ControlError, match=r"the simulator is <model .*>; expected an engine.Simulator"):
        engine.ilqr(cart_pole(), *at, r, steps=3)
    with pytest.raises(ControlError, match="motion is not finite at t = "):
        engine.ilqr(simulator, *at, r, steps=200, u=1e300)
    with pytest.warns(SimulationWarning, match="has not converged after 1 iterations"):
        engine.ilqr(simulator, [0.0, 2.0], [0.0, 0.0], r, lambda t, q, v: 10.0 * q, steps=30, iterations=1)
