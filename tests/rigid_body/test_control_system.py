"""General dynamics: the same body written on LieState("quaternion", 3, 6), other layouts, controllers, DOP853; what cannot be."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine import LieState, SimulationError, StateError, ops
from engine.rigid_body import ControlSystem, Dynamics, RigidBody
from engine.spatial import quaternion
from tests.numeric import check_lives, close, derivative
from tests.rigid_body.bodies import DENSE, Mixed, compiled, states

GRAVITY = np.array([0.0, 0.0, -9.81])


def loads(R, V, u):
    """Drag |v| v and |ω| ω, weight less buoyancy at an offset centre, and thrust: [moment; force] in body axes."""
    w, v = V[:3], V[3:]
    weight = 1.5 * (R.T @ GRAVITY)
    return np.concatenate([ops.cross(np.array([0.1, 0.0, -0.2]), weight) - 0.4 * ops.norm(w) * w + u[3:],
                           weight - 0.7 * ops.norm(v) * v + u[:3]])  # fmt: skip


class Diver(RigidBody):
    """With added mass."""

    inertia, controls, velocity_frame = DENSE, 6, "body"

    def wrench(self, x, u, t):
        return loads(self.rotation(x), self.twist(x), u)


class Written(Dynamics):
    """The same, in ReSim's way: G V̇ = F + ad(V)ᵀ G V, on rotations, positions and twists."""

    state, controls = LieState("quaternion", 3, 6), 6

    def dynamics(self, x, u, t):
        R, V = quaternion.to_matrix(x[:4]), x[7:]
        w, v = V[:3], V[3:]
        P = DENSE @ V
        turning = np.concatenate([ops.cross(P[:3], w) + ops.cross(P[3:], v), ops.cross(P[3:], w)])
        return np.concatenate([w, R @ v, ops.solve(DENSE, loads(R, V, u) + turning)])


def pilot(x, t):
    return np.array([1.0, 0.5, 12.0, 0.2, -0.1, 0.3]) * ops.cos(t) - 0.1 * x[7:]


def test_the_body_and_the_same_written_as_dynamics_have_one_rate_and_one_linearisation():
    body, written, u = compiled(Diver, frame="body"), compiled(Written), np.arange(6.0)
    for s in states(4):
        x = body.system.build_state(s)
        close(written.dynamics(x, u, 0.0), body.dynamics(x, u, 0.0), 1e-14)
        close(written.dynamics(x, u, 0.0), written.system.rate(x, u, 0.0), 1e-14)
        for A, B in zip(written.error_jacobians(x, u, 0.0), body.error_jacobians(x, u, 0.0), strict=True):
            close(A, B, 1e-13)


def test_the_body_the_dynamics_and_dop853_move_alike():
    """The body moves on SE(3), the written one on SO(3) × R⁹: equal to the order of the method."""
    body, written, u = compiled(Diver, frame="body"), compiled(Written), pilot
    x = body.system.build_state(states(1)[0])
    ends = [c.simulate(x, 1.0, 2e-3, controller=u, integrator="rkmk4").x[-1] for c in (body, written)]
    rate = lambda t, x: written.system.rate(np.append(x[:4] / np.linalg.norm(x[:4]), x[4:]), u(x, t), t)
    reference = solve_ivp(rate, (0, 1), x, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    for end in ends:
        assert np.abs(body.system.state_diff(end, reference)).max() < 1e-9
    assert np.abs(body.system.state_diff(*ends)).max() > 1e-14                                # two routes, indeed


def test_a_controller_of_its_own_is_used_unless_another_is_given():
    class Piloted(Written):
        def controller(self, x, t):
            return pilot(x, t)

    x = Written.state.normalized(np.arange(1.0, 14.0) / 10)
    own, given = engine.compile(Piloted()).simulate(x, 0.1, 0.01), compiled(Written).simulate(x, 0.1, 0.01, controller=pilot)
    np.testing.assert_array_equal(own.x, given.x)
    np.testing.assert_array_equal(own.u, given.u)
    close(own.u[-1], pilot(own.x[-1], 0.1), 1e-14)
    assert (engine.compile(Piloted()).simulate(x, 0.1, 0.01, controller=lambda x, t: np.zeros(6)).u == 0.0).all()


def test_mixed_dynamics_plain_interpreted_and_compiled():
    system, rng = Mixed(), np.random.default_rng(3)
    x, u = np.array([system.random(rng) for _ in range(3)]), rng.standard_normal((3, 2))
    check_lives(system.rate, x, u, np.arange(3.0))
    check_lives(lambda x, u, t: system.discrete_dynamics(x, u, t, 0.1, "cf4"), x, u, np.arange(3.0), tolerance=2e-14)


def test_mixed_dynamics_against_dop853():
    """Two rotations and two vectors; the MRPs pass half a turn, where they jump."""
    system, u = compiled(Mixed), np.array([2.0, 0.5])
    x = system.system.random(np.random.default_rng(5))
    run = system.simulate(x, 4.0, 2e-3, controller=lambda x, t: u, record_every=100)
    jumps = np.linalg.norm(np.diff(run.x[:, 7:10], axis=0), axis=1)
    assert jumps.max() > 1.0                                                                  # it did jump

    def rate(t, x):
        return system.system.rate(np.append(x[:4] / np.linalg.norm(x[:4]), x[4:]), u, t)

    def far(t, x):
        return x[7:10] @ x[7:10] - 1.2

    far.terminal = True
    end, t = x, 0.0
    while t < 4.0:  # by coordinates, and by those of the same rotation on the other sheet, −p/|p|², where |p|² = 1.2
        part = solve_ivp(rate, (t, 4.0), end, method="DOP853", rtol=1e-12, atol=1e-12, events=far)
        t, end = part.t[-1], part.y[:, -1].copy()
        end[7:10] *= -1 / (end[7:10] @ end[7:10]) if t < 4.0 else 1.0
    assert np.abs(system.system.state_diff(run.x[-1], system.state.normalized(end))).max() < 1e-9


@pytest.mark.parametrize("name", ["lie_euler", "cg3", "cg4", "cf4", "rkmk4", "rkmk5"])
def test_discrete_dynamics_is_a_step_of_a_simulation(name):
    system, x, u = compiled(Mixed), Mixed().random(np.random.default_rng(9)), np.array([0.4, -0.3])
    step = system.discrete(name)(x, u, 0.0, 0.05)
    close(step, system.system.discrete_dynamics(x, u, 0.0, 0.05, name), 2e-14)
    close(system.simulate(x, 0.05, 0.05, controller=lambda x, t: u, integrator=name).x[-1], system.state.normalized(step), 2e-14)
    close(derivative(lambda h: system.system.discrete_dynamics(x, u, 0.0, h, name), 1 / 256), system.system.rate(x, u, 0.0), 1e-10)


# ---------------------------------------------------------------- what cannot be


def dynamics(**given):
    return type("Odd", (Dynamics,), {"state": LieState("quaternion", 3), "controls": 1, **given})()


@pytest.mark.parametrize(("given", "message"), [
    ({"state": None}, "Odd: state is None; expected its layout, such as LieState('quaternion', 3, 6)"),
    ({"state": ("quaternion", 3)}, "Odd: state is ('quaternion', 3); expected its layout"),
    ({"controls": -1}, "Odd: controls is -1; expected the number of entries of u"),
    ({"controls": 1.5}, "Odd: controls is 1.5"),
])  # fmt: skip
def test_systems_that_cannot_be(given, message):
    with pytest.raises(StateError, match=re.escape(message)):
        engine.compile(dynamics(**given))


def test_a_system_without_a_state_or_without_dynamics_says_so():
    with pytest.raises(StateError, match="Bare: state is None; expected its layout"):
        engine.compile(type("Bare", (Dynamics,), {})())
    for call in (lambda c: c.dynamics, lambda c: c.simulate([1, 0, 0, 0, 0, 0, 0], 1.0)):
        with pytest.raises(NotImplementedError, match=re.escape("Odd has no dynamics(x, u, t)")):
            call(engine.compile(dynamics()))
    for call in ("rate", "discrete_dynamics"):
        with pytest.raises(NotImplementedError):
            getattr(ControlSystem(), call)(*[0.0] * (3 if call == "rate" else 4))


@pytest.mark.parametrize("compiled_run", [True, False])
def test_a_velocity_of_the_wrong_shape(compiled_run):
    system = engine.compile(dynamics(dynamics=lambda self, x, u, t: np.zeros(7)))
    message = re.escape("Odd.dynamics returned shape (7,); expected (6,), a velocity of LieState('quaternion', 3)")
    with pytest.raises(StateError, match=message):
        system.simulate([1, 0, 0, 0, 0, 0, 0], 1.0, compiled=compiled_run)
    with pytest.raises(StateError, match=message):
        system.dynamics  # noqa: B018


@pytest.mark.parametrize("name", ["dqvi", "implicit_midpoint", "semi_implicit_euler", "lie_euler_world"])
def test_methods_for_mechanical_systems_are_refused(name):
    system = compiled(Mixed)
    for call in (lambda: system.simulate(system.system.neutral(), 1.0, integrator=name), lambda: system.discrete(name)):
        with pytest.raises(StateError, match=f"integrator '{name}' is for mechanical systems"):
            call()


def test_an_integrator_misspelt():
    with pytest.raises(StateError, match=re.escape("no integrator 'cg5' (did you mean 'cg")):
        compiled(Mixed).discrete("cg5")
    with pytest.raises(SimulationError, match=re.escape("no integrator 'rk45' (did you mean 'rk4'?); expected one of cf4")):
        compiled(Mixed).simulate(Mixed().neutral(), 1.0, integrator="rk45")


def test_a_wrench_is_a_bodys():
    with pytest.raises(StateError, match="Mixed has no wrench; expected a RigidBody"):
        compiled(Mixed).wrench_sparsity()
    with pytest.raises(StateError, match="Mixed is no rigid body"):
        compiled(Mixed).simulate(Mixed().neutral(), 0.01).poses()
