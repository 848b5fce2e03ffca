"""A step as matrices: by hand, by differences of the step itself, against what is known of rigid bodies, and what is said."""

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

import engine
from engine.contact import contact_problem, correction, newton
from engine.spatial import inertia, se3
from tests.numeric import derivative
from tests.simulation.test_simulator import pendulum

RUBBER = engine.ContactMaterial(stiffness=1e4, dissipation=5.0, friction=0.6)


def arm(n=3):
    """A chain of rods about changing axes."""
    b = engine.Builder("arm")
    b.add_link("l0")
    for k in range(n):
        b.add_link(f"l{k + 1}", inertia=inertia.from_mass(1.0 + k, [0.2, 0.05, 0.1], np.diag([0.1, 0.2, 0.15])))
        b.add_joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", se3.pose(np.eye(3), [0.4, 0.0, 0.1]), axis=np.roll([0, 1, 0], k))
    return b.model()


def by_differences(simulator, q, v, u, h=1e-4):
    """Of the step that a run begins with."""
    model, n = simulator.model, 2 * simulator.model.nv
    if "u" not in simulator.parameters:
        simulator = simulator.with_force(lambda t, q, v, u: u, {"u": np.zeros(model.nv)})
    base = simulator.step(simulator.start(q, v, {"u": u}))

    def f(d):
        state = simulator.step(simulator.start(model.integrate(q, d[: model.nv]), v + d[model.nv : n], {"u": u + d[n:]}))
        return np.concatenate([model.difference(base.q, state.q), state.v])

    D = np.stack([derivative(lambda s, e=e: f(s * e), h) for e in np.eye(n + np.size(u))], axis=1)
    return D[:, :n], D[:, n:]


def agree(simulator, q, v, u, size=1e-9, h=1e-4):
    differences = by_differences(simulator, np.array(q, float), np.array(v, float), u, h)
    for mine, other in zip(simulator.linearize(q, v, u), differences, strict=True):
        assert np.abs(mine - other).max() < size * max(1.0, np.abs(other).max())


# ---------------------------------------------------------------- by differences


@pytest.mark.parametrize("integrator", ["cg4", "rkmk4", "rk4", "semi_implicit_euler"])
def test_of_an_arm(integrator):
    rng, simulator = np.random.default_rng(0), engine.Simulator(arm(), dt=0.01, integrator=integrator)
    agree(simulator, rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3))


@pytest.mark.parametrize("conserve_momentum", [True, False])
def test_of_what_floats(conserve_momentum):
    b = engine.Builder("craft")
    b.add_link("bus", inertia=inertia.box(10.0, (1.0, 0.8, 0.6)))
    b.add_link("boom", inertia=inertia.from_mass(2.0, [0.5, 0.0, 0.0], np.diag([0.01, 0.2, 0.2])))
    b.add_joint("hinge", "revolute", "bus", "boom", se3.pose(np.eye(3), [0.5, 0.0, 0.0]), axis=(0, 0, 1))
    model, rng = b.model(floating_base=True), np.random.default_rng(1)
    simulator = engine.Simulator(model, dt=0.01, conserve_momentum=conserve_momentum)
    q = model.integrate(model.neutral(), rng.standard_normal(7))
    agree(simulator, q, 0.3 * rng.standard_normal(7), rng.standard_normal(7))


def test_with_a_controller_whose_parameter_is_u():
    """B is by the parameter, of any shape; the controller's own state is one more."""
    def steer(t, q, v, u, state):
        return 4.0 * u[0, 0] - 3.0 * state, q - u[0, 1] * np.sin(t)

    law, given = engine.Law(steer, state=[0.1]), {"u": np.ones((1, 2))}
    simulator = engine.Simulator(pendulum(), dt=0.01, controller=law, parameters=given)
    A, B = simulator.linearize([0.3], [0.2], t=0.5)
    assert A.shape == (3, 3) and B.shape == (3, 2)
    at = np.array([0.3, 0.2, 0.1])

    def after(x, u):
        """By another integrator of the same order."""
        f = lambda t, y: np.array([y[1], (4.0 * u[0] - 3.0 * y[2] - 2.0 * 9.81 * np.sin(y[0])) / 2.0, y[0] - u[1] * np.sin(t)])
        k1 = f(0.5, x)
        k2 = f(0.505, x + 0.005 * k1)
        k3 = f(0.505, x + 0.005 * k2)
        return x + 0.01 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + f(0.51, x + 0.01 * k3))

    h, u = 1e-5, np.ones(2)
    columns = [(after(at + h * e, u) - after(at - h * e, u)) / (2.0 * h) for e in np.eye(3)]
    np.testing.assert_allclose(A, np.stack(columns, axis=1), atol=1e-8)
    columns = [(after(at, u + h * e) - after(at, u - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(B, np.stack(columns, axis=1), atol=1e-8)


@pytest.mark.parametrize(("q", "v"), [([1, 0, 0, 0, 0, 0, 0.2], [1, 2, 3, 0.5, 0.2, -0.3]),
                                      ([1, 0, 0, 0, 0, 0, 0.0995], [1, 2, 3, 0.5, 0.2, -0.3])], ids=["flies", "strikes"])  # fmt: skip
def test_through_a_contact(q, v, monkeypatch):
    """Found to the end: differences see what the iterations leave."""
    monkeypatch.setattr(contact_problem, "AGREES", 1e-13)
    monkeypatch.setattr(correction, "PASSES", 100)
    monkeypatch.setattr(newton, "LAST", 1e-14)
    b = engine.Builder("ball")
    b.add_link("ball", inertia=inertia.sphere(2.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    simulator = engine.Simulator(b.model(floating_base=True), contacts=engine.Contacts(engine.HalfSpace(material=RUBBER), material=RUBBER))
    agree(simulator, q, v, np.zeros(6), size=1e-7, h=2e-6)


@pytest.mark.parametrize("constraint", [
    engine.Coupling("j1", "j0", ratio=-2.2), engine.Distance("l0", "l3", (0, 0, 0), (0.4, 0, 0), 1.1),
    engine.Hinge("l0", "l3", (1.0, 0, -0.05), (0.3, 0, 0), (0, 1, 0), (0, 1, 0)),
], ids=["gear", "rod", "redundant"])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*starts with")
def test_through_constraints(constraint):
    """Differences are of a start that is closed first; so is a rollout's gradient, and A of what is on the constraints."""
    b = engine.Builder("planar")
    b.add_link("l0")
    for k in range(3):
        b.add_link(f"l{k + 1}", inertia=inertia.from_mass(1.0 + k, [0.2, 0.0, 0.1], np.diag([0.1, 0.2, 0.15])))
        b.add_joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", se3.pose(np.eye(3), [0.4 * (k > 0), 0.0, 0.0]), axis=(0, 1, 0))
    simulator, u = engine.Simulator(b.model(), dt=0.01, constraints=[constraint]), np.array([1.0, 2.0, 3.0])
    begun = simulator.start([0.4, -0.9, 0.8], [0.5, -0.3, 0.7])

    def closed(d):
        state = simulator.start(begun.q + d[:3], begun.v + d[3:])
        return np.concatenate([state.q, state.v])

    A_closed, B_closed = by_differences(simulator, begun.q, begun.v, u)
    A, B = simulator.linearize(begun.q, begun.v, u)
    closing = np.stack([derivative(lambda s, e=e: closed(s * e), 1e-4) for e in np.eye(6)], axis=1)
    np.testing.assert_allclose(A @ closing, A_closed, rtol=0, atol=1e-8)
    np.testing.assert_allclose(B, B_closed, rtol=0, atol=1e-8)
    found = engine.rollout_gradient(simulator, begun.q, begun.v, None, lambda t, q, v: q[0] + v[1], steps=1, u=u)
    np.testing.assert_allclose(np.concatenate([found.q, found.v]), A_closed[0] + A_closed[4], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.u[0], B_closed[0] + B_closed[4], rtol=0, atol=1e-8)


# ---------------------------------------------------------------- what is known


def test_many_states_are_one_call():
    rng, simulator = np.random.default_rng(2), engine.Simulator(arm(), dt=0.01)
    q, v, u = rng.standard_normal((3, 4, 3))
    A, B = simulator.linearize(q, v, u)
    assert A.shape == (4, 6, 6) and B.shape == (4, 6, 3)
    for k in range(4):
        for mine, other in zip((A[k], B[k]), simulator.linearize(q[k], v[k], u[k]), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_short_steps_are_the_flow_for_a_while():
    """A = exp(h A_c) + O(h²) of steps, and exactly the derivatives of aba; a free body that tumbles has δ̇ = δv − [v, δ]."""
    rng, model = np.random.default_rng(3), arm()
    q, v, u = rng.standard_normal((3, 3))
    for h in (1e-3, 1e-4):
        simulator = engine.Simulator(model, dt=h, joint_dynamics=None)
        A, _ = simulator.linearize(q, v, u)
        Ac, Bc = simulator.linearize_continuous(q, v, u)
        assert np.abs(A - expm(h * Ac)).max() < 40.0 * h**2
    dq, dv, dtau = engine.dynamics.aba_derivatives(model, q, v, u)
    np.testing.assert_allclose(Ac[3:], np.hstack([dq, dv]), atol=1e-11 * np.abs(Ac).max())
    np.testing.assert_allclose(Bc[3:], dtau, atol=1e-11 * np.abs(dtau).max())
    b = engine.Builder("body")
    b.add_link("body", inertia=inertia.box(2.0, (0.3, 0.2, 0.1)))
    free = engine.Simulator(b.model(floating_base=True), dt=1e-4, gravity=(0, 0, 0), conserve_momentum=False)
    q, v = [1.0, 0, 0, 0, 0, 0, 0], rng.standard_normal(6)
    A, _ = free.linearize(q, v)
    Ac, _ = free.linearize_continuous(q, v)
    assert np.abs(A - expm(1e-4 * Ac)).max() < 1e-7


def test_feedback_by_it_balances_a_pendulum():
    """The gains of Riccati's equation hold it upright, from a push away."""
    model = pendulum()
    upright = max(([np.pi], [0.0]), key=lambda q: engine.dynamics.energy(model, np.array(q), np.zeros(1))[1])
    A, B = engine.Simulator(model, dt=0.01).linearize(upright, [0.0])
    assert np.abs(np.linalg.eigvals(A)).max() > 1.0                             # it falls
    P = solve_discrete_are(A, B, np.eye(2), np.eye(1))
    K = np.linalg.solve(np.eye(1) + B.T @ P @ B, B.T @ P @ A)
    assert np.abs(np.linalg.eigvals(A - B @ K)).max() < 1.0
    held = engine.Simulator(model, dt=0.01, controller=engine.Law(
        lambda t, q, v: -(K @ np.concatenate([q - upright, v])), period=0.01))  # fmt: skip
    run = held.run([upright[0] + 0.05], [0.0], 10.0, record_every=100)
    assert abs(run.q[-1, 0] - upright[0]) < 1e-3


# ---------------------------------------------------------------- what is said


def test_what_is_refused():
    watched = engine.Simulator(pendulum(), events=[lambda t, q, v: q[0] - 9.0])
    with pytest.raises(engine.SimulationError, match="a simulator with events cannot be linearized; expected one without"):
        watched.linearize([0.0], [0.0])
    with pytest.raises(engine.SimulationError, match=r"u has shape \(2,\); expected \(..., 1\), finite"):
        engine.Simulator(pendulum()).linearize([0.0], [0.0], [1.0, 2.0])
    with pytest.raises(engine.SimulationError, match="t holds NaN or infinity; expected finite numbers"):
        engine.Simulator(pendulum()).linearize([0.0], [0.0], t=np.nan)
    with pytest.raises(engine.SimulationError, match="do not broadcast; expected equal leading dimensions"):
        engine.Simulator(pendulum()).linearize(np.zeros((5, 1)), np.zeros(1), t=np.zeros(3))
    assert engine.Simulator(pendulum()).linearize(np.zeros((0, 1)), np.zeros((0, 1)))[0].shape == (0, 2, 2)
    remembers = engine.Law(lambda t, q, v, memory: (-memory, memory + q), memory=[0.0], period=0.01)
    with pytest.raises(engine.SimulationError, match="has a memory, which A does not know; expected laws without"):
        engine.Simulator(pendulum(), controller=remembers).linearize([0.0], [0.0])
    with pytest.raises(engine.StateError, match="q has shape"):
        engine.Simulator(pendulum()).linearize([0.0, 1.0], [0.0])
    b = engine.Builder("ball")
    b.add_link("ball", inertia=inertia.sphere(2.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    touches = engine.Simulator(b.model(floating_base=True), contacts=engine.Contacts(engine.HalfSpace(material=RUBBER), material=RUBBER))
    with pytest.raises(engine.SimulationError, match="only flight has continuous derivatives; expected neither contacts nor"):
        touches.linearize_continuous([1, 0, 0, 0, 0, 0, 1.0], np.zeros(6))
