"""What is said of a run that went on: steps that are too long, stops that were passed, velocities of nothing, starts outside the limits."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.simulation.forces import JointSpring, JointStops
from engine.spatial import inertia
from tests.simulation.test_simulator import ASSET, pendulum
from tests.trees import random_tree

AWAY = {"gravity": (0.0, 0.0, 0.0)}
AT_REST = [1.0, 0, 0, 0, 0, 0, 0]


def brick() -> engine.Model:
    body = engine.Builder("brick")
    body.add_link("brick", inertia=inertia.box(1.0, [1.0, 2.0, 3.0]))
    return body.model(floating_base=True)


def pivot(lower: float = -1.0, upper: float = 1.0) -> engine.Model:
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(1.0, [0.1, 0, 0], 0.01 * np.eye(3)))
    arm.add_joint("elbow", "revolute", "base", "rod", axis=[0, 1, 0], limits=engine.Limits(lower=lower, upper=upper))
    return arm.model()


# ---------------------------------------------------------------- the defect


@pytest.mark.parametrize("method", ["cg4", "rkmk4", "lie_euler"])
def test_the_defect_is_an_estimate_of_the_error(method):
    """Of a brick that tumbles, against DOP853: the error of the angular velocity, relative to it, is a few times the defect or less."""
    model, w0, order = brick(), np.array([3.0, 1.0, 0.2]), engine.integrate.METHODS[method].order
    I = model.bodies[0].inertia[:3, :3]
    exact = solve_ivp(lambda t, w: np.linalg.solve(I, np.cross(I @ w, w)), (0, 2.0), w0, rtol=1e-12, atol=1e-12).y[:, -1]
    found = []
    for dt in (0.02, 0.01):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", engine.SimulationWarning)
            trajectory = engine.Simulator(model, dt=dt, integrator=method, **AWAY).run(AT_REST, [*w0, 0, 0, 0], 2.0)
        assert np.all(np.diff(trajectory.defect) >= 0) and trajectory.defect[0] == 0
        error = np.linalg.norm(trajectory.v[-1, :3] - exact) / np.linalg.norm(exact)
        assert 0.02 * trajectory.defect[-1] < error < 5.0 * trajectory.defect[-1]
        found.append(trajectory.defect[-1])
    assert abs(np.log2(found[0] / found[1]) - order) < 0.4


@pytest.mark.parametrize(("w", "dt", "method"), [
    ((100.0, 20, 3), 0.1, "lie_euler"), ((100.0, 20, 3), 10.0, "cg4"), ((3.0, 1, 0.2), 0.01, "lie_euler"),
])  # fmt: skip
def test_steps_that_are_too_long_are_said_once(tmp_path, w, dt, method):
    simulator = engine.Simulator(brick(), dt=dt, integrator=method, **AWAY)
    with pytest.warns(engine.SimulationWarning, match=r"'brick': at t = .* errors of momentum add up to .* \(dt = .*, h\|ω\| = ") as caught:
        trajectory = simulator.run(AT_REST, [*w, 0, 0, 0], 1000 * dt)
    assert len(caught) == 1 and trajectory.warnings == (str(caught[0].message),) and trajectory.defect[-1] > 0.01
    P = trajectory.momentum()
    assert np.abs(P - P[0]).max() < 1e-10 * np.abs(P[0]).max()                  # and would tell nobody
    with pytest.warns(engine.SimulationWarning):
        path = simulator.run(AT_REST, [*w, 0, 0, 0], 1000 * dt, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(path)
    assert loaded.warnings == trajectory.warnings == engine.load_trajectory(loaded.save(tmp_path / "saved.h5")).warnings


def test_a_long_run_by_a_good_method_has_no_doubts(tmp_path):
    model = engine.load_urdf(ASSET, floating_base=True)
    q, v = model.neutral(), np.r_[0.02, -0.01, 0.03, 7000.0, 0, 0, 0.05 * np.ones(7)]
    simulator = engine.Simulator(model, dt=2e-3, **AWAY, joint_dynamics=False)
    trajectory = simulator.run(q, v, 20.0, record_every=100)
    assert trajectory.defect[-1] < 1e-7 and trajectory.warnings == ()
    path = simulator.run(q, v, 1.0, record_every=100, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(path)
    np.testing.assert_array_equal(loaded.defect, trajectory.defect[: len(loaded)])
    with pytest.raises(engine.StateError, match="this motion has no defect; expected that of a robot that floats"):
        _ = engine.Simulator(pendulum()).run([0.1], [0.0], 0.01).defect


def test_rest_and_free_fall_are_no_error():
    """Where all that turns is rounding, its relative error is nobody's."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 4, ("revolute", "spherical"), floating_base=True)
    q, _ = model.random(rng)
    for gravity in ((0, 0, 0), (0.3, -0.2, -9.81)):
        trajectory = engine.Simulator(model, dt=1e-3, gravity=gravity, joint_dynamics=False).run(q, np.zeros(model.nv), 1.0)
        assert trajectory.defect[-1] < 1e-6 and trajectory.warnings == ()


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("q", "text"), [
    (90.0, r"'arm' starts outside its limits, joint 'elbow' at 90 with limits -1 … 1: stops push it back; expected radians"),
    (-1.2, r"'arm' starts outside its limits, joint 'elbow' at -1.2 with limits -1 … 1: stops push it back$"),
])  # fmt: skip
def test_a_start_outside_the_limits_is_said_at_once(q, text):
    for run in (lambda s: s.run([q], [0.0], 0.01), lambda s: s.start([q], [0.0]), lambda s: s.solve([q], [0.0], 0.01),
                lambda s: s.run([[0.0], [q]], [0.0], 0.01)):  # fmt: skip
        with pytest.warns(engine.SimulationWarning, match=text) as caught:
            run(engine.Simulator(pivot()))
        assert len(caught) == 1
    engine.Simulator(pivot(), joint_dynamics=False).run([q], [0.0], 0.01)       # no stops, nothing to say


def test_a_stop_that_is_passed_is_said():
    simulator = engine.Simulator(pivot(), dt=1e-2, forces=[JointStops(time=0.2)], **AWAY)
    said = r"'arm': at t = .* s joint 'elbow' is \S+ beyond its limits; expected a smaller dt"
    with pytest.warns(engine.SimulationWarning, match=said) as caught:
        trajectory = simulator.run([0.9], [3.0], 1.0)
    assert len(caught) == 1 and trajectory.q.max() > 1.1
    assert engine.Simulator(pivot(), dt=1e-4, **AWAY).run([0.9], [3.0], 0.3, record_every=10).warnings == ()


def test_velocities_of_nothing_are_said(tmp_path):
    simulator = engine.Simulator(pivot(), dt=0.01, joint_dynamics=False, forces=[JointSpring("elbow", 1e4)])
    said = r"'arm': at t = .* joint 'elbow' moves at \S+ and accelerates at \S+ \(SI units\), which nothing does"
    with pytest.warns(engine.SimulationWarning, match=said):
        trajectory = simulator.run([0.1], [0.0], 0.1)
    assert np.abs(trajectory.v).max() > 1e10 and len(trajectory.warnings) == 1
    with pytest.warns(engine.SimulationWarning, match=said):
        simulator.run([0.1], [0.0], 0.1, out=tmp_path / "run.h5")
    with pytest.warns(engine.SimulationWarning, match=r"in rollout \[1\] joint 'elbow' moves"):
        simulator.run([[0.0], [0.1]], [0.0], 0.1)


# ---------------------------------------------------------------- steps too long for what acts


def test_a_joint_that_chatters_is_said():
    """Damping of 200 N·m·s on 0.01 kg·m² loses its velocity in 0.05 ms: steps of 1 ms throw it to and fro, as far as its motor can."""
    limits = engine.Limits(lower=-np.inf, upper=np.inf, effort=5.0)
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(1.0, [0, 0, 0], 0.01 * np.eye(3)))
    arm.add_joint("elbow", "revolute", "base", "rod", axis=[0, 1, 0], limits=limits)

    def run(gain, dt):
        simulator = engine.Simulator(arm.model(), dt=dt, controller=lambda t, q, v: -gain * v)
        return simulator.run([0.0], [0.2], 0.2)

    with pytest.warns(engine.SimulationWarning, match=r"joint 'elbow' moves at .* and accelerates by .* in a step, more .* it chatters"):
        found = run(200.0, 1e-3)
    assert np.abs(found.v[-1]) > 0.1
    assert run(200.0, 2e-5).warnings == run(5.0, 1e-3).warnings == ()
