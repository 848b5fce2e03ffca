"""A closed system over a million steps: vehicle, exhaust, slosh, panels, wheels, arm and target; wheels alone at steps that are long."""

import numpy as np
import pytest

import engine
from engine.components.actuators import ReactionWheels
from engine.dynamics.momentum_conservation import central_momentum, floating_trees
from engine.space import ControlMomentGyros
from engine.spatial import inertia, se3
from tests.bench import closed
from tests.bench.closed import lost, sizes

MILLION = 1_000_000


def test_a_million_steps_with_a_boom_that_bends_while_thruster_and_wheels_work():
    run, _ = closed.flown(MILLION, True, False, True)
    p, L = lost(run)
    assert p < 1e-12
    assert L < 1e-12


def test_a_million_steps_with_a_grip_that_holds_the_target():
    """While it holds, and of each body by itself when it has let go. Together they then keep what two straight paths keep, whose rounding,
    half an ulp a step at most, has one sign as long as a step adds the same: 1e6 2⁻⁵³ of |r × p|."""
    run, _ = closed.flown(MILLION, False, True, True)
    P = lost(run)[0]
    assert P < 1e-12
    held = run("grip.closed") > 0.5
    assert held.sum() == pytest.approx(100, abs=2)
    assert lost(run, np.flatnonzero(held)[1:])[1] < 1e-12
    loose = np.flatnonzero(~held & (run.t > 1000.0))[2:]
    P = run.momentum()[loose] + run("tank.momentum")[loose]
    assert np.abs(P - P[0])[:, :3].max() < MILLION * 2.0**-53 * sizes(run, loose)[2]
    target = floating_trees(run.model)[1]
    own = np.array([central_momentum(run.model, target, run.q[k], run.v[k])[:6] for k in loose])
    for part in (slice(0, 3), slice(3, 6)):
        assert np.abs(own[:, part] - own[0, part]).max() < 1e-12 * np.linalg.norm(own[0, part])


def test_a_million_steps_in_which_nothing_drives():
    run, _ = closed.flown(MILLION, True, False, False)
    E = sum(run.energy())
    assert (np.diff(E) < 1e-13 * E[0]).all()
    assert E[-1] < 0.5 * E[0]
    assert max(lost(run)) < 1e-12


def turning(on, dt, control=None, **more):
    """A hub that turns by 0.4 rad/s with an arm that swings, a tenth of a second a step."""
    builder = engine.Builder("hub")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.array([0.05, -0.02, 0.1]), np.diag([180.0, 220.0, 200.0])))
    builder.add_link("arm", inertia=inertia.from_mass(12.0, np.array([0.5, 0.0, 0.0]), np.diag([0.1, 1.0, 1.0])))
    builder.add_joint("elbow", "revolute", "hub", "arm", se3.pose(np.eye(3), [0.0, 0.8, 0.0]), axis=[0, 0, 1])
    model = builder.model(floating_base=True)
    simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), actuators=[on], controller=control, **more)
    return simulator.run(model.neutral(), [0.2, -0.3, 0.25, 0.1, 0.0, -0.2, 0.3], 100.0, record_every=int(1.0 / dt))


@pytest.mark.parametrize("on", [
    lambda: ReactionWheels("hub", initial=[9.0, -20.0, 15.0], torque=0.5, momentum=30.0),
    lambda: ReactionWheels("arm", initial=[9.0, -20.0, 15.0], torque=0.5, momentum=30.0),
    lambda: ControlMomentGyros.pyramid("hub", 8.0, initial=np.radians([20.0, -35.0, 50.0, 70.0]), name="wheels"),
], ids=["wheels", "wheels on the arm", "gyros"])  # fmt: skip
def test_wheels_and_gyros_keep_momentum_at_any_step(on):
    """It is their link's and theirs together that is a state: at 0.1 s the method alone would lose 1e-8 of it. And with half the step the
    motion is the same to the method's order, with and without the projection."""
    made, push = on(), lambda t, q, v: {"wheels": 0.3 * np.array([np.sin(0.3 * t), np.cos(0.2 * t), -np.sin(0.1 * t)])}
    run, fine, free = turning(made, 0.1, push), turning(made, 0.0125, push), turning(made, 0.0125, push, conserve_momentum=False)
    P = run.momentum("center_of_mass")
    assert np.abs(P - P[0]).max() < 1e-13 * np.abs(P[0]).max()
    assert np.abs(fine.q - free.q).max() < 1e-7
    assert np.abs(run.q - fine.q).max() < 1e-3
    assert not run.warnings
