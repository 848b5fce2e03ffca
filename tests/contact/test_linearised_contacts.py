"""Derivatives of a step through contacts that rub: those of what a step's passes converge to, whatever they end at."""

import numpy as np
import pytest

import engine
from engine.contact import contact_problem, correction
from engine.spatial import inertia, se3

#: of what is allowed: where passes of a step end, and as far as that is squared derivatives at their end are off
ENDS = contact_problem.AGREES


def pressing(friction, dissipation):
    """An arm of three joints whose round tip presses on the ground."""
    b = engine.Builder("arm")
    b.add_link("base")
    places = [(0, 0, 0.3), (0.3, 0, 0), (0.3, 0, 0)]
    for k, (parent, child, at) in enumerate(zip(["base", "upper", "fore"], ["upper", "fore", "hand"], places, strict=True)):
        tip = [engine.Geometry("sphere", (0.02,), se3.pose(np.eye(3), [0.1, 0, 0]))] if child == "hand" else []
        b.add_link(child, inertia=inertia.from_mass(1.0, [0.15, 0, 0], np.diag([1e-3, 8e-3, 8e-3])), collisions=tip)
        b.add_joint(f"j{k}", "revolute", parent, child, axis=[0, 1, 0] if k else [0, 0, 1], placement=se3.pose(np.eye(3), at))
    material = engine.ContactMaterial(2e4, dissipation=dissipation, friction=friction)
    ground = engine.Contacts(engine.HalfSpace(material=material), material=material)
    return engine.Simulator(b.model(), contacts=ground, joint_dynamics=None)


def start(simulator, speed):
    """The tip 0.5 mm deep in the ground, at rest, or sliding."""
    q = np.array([0.2, 0.6, 0.0])
    low, high = 0.0, 1.2
    for _ in range(60):
        q[2] = 0.5 * (low + high)
        T = simulator.robot.forward_kinematics(q)[simulator.model.link_index("hand")] @ se3.pose(np.eye(3), [0.1, 0, 0])
        low, high = (q[2], high) if T[2, 3] > 0.0195 else (low, q[2])
    return q, np.array([speed, 0.0, 0.0])


def differences(simulator, q, v, h=1e-6):
    ways = np.concatenate([h * np.eye(6), -h * np.eye(6)])
    r = simulator.run(q + ways[:, :3], v + ways[:, 3:], simulator.dt)
    y = np.concatenate([r.q[:, -1], r.v[:, -1]], axis=1)
    return (y[:6] - y[6:]).T / (2 * h)


@pytest.mark.parametrize("speed", [0.0, 0.3])
@pytest.mark.parametrize(("friction", "dissipation"), [(0.3, 5.0), (2.0, 5.0), (0.3, 0.0), (2.0, 0.0)])
def test_derivatives_are_of_what_passes_converge_to(monkeypatch, friction, dissipation, speed):
    """A of a step whose passes end at 1e-3 is that of steps that end at 1e-11, whose differences it is; those of its own steps, which end
    earlier, are off by as much as that."""
    simulator = pressing(friction, dissipation)
    q, v = start(simulator, speed)
    A, D = simulator.linearize(q, v)[0], differences(simulator, q, v)
    size = np.abs(A).max()
    assert np.abs(A - D).max() < 10.0 * ENDS * size
    monkeypatch.setattr(contact_problem, "AGREES", 1e-11)
    monkeypatch.setattr(correction, "PASSES", 40)
    exact = differences(pressing(friction, dissipation), q, v)
    np.testing.assert_allclose(A, exact, rtol=0, atol=100.0 * ENDS**2 * size)
