"""Derivatives of a step through what rubs and touches: by the implicit function theorem, against differences of the step itself."""

import math

import numpy as np
import pytest

import engine
from engine.contact import contact_problem, correction, newton
from engine.model.tree import Limits
from engine.simulation.own_states import STUCK
from engine.spatial import inertia

RUBBER = engine.ContactMaterial(stiffness=1e4, dissipation=5.0, friction=0.6)


def ball() -> engine.Simulator:
    b = engine.Builder("ball")
    b.add_link("ball", inertia=inertia.sphere(2.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    contacts = engine.Contacts(engine.HalfSpace(material=RUBBER), material=RUBBER)
    return engine.Simulator(b.model(floating_base=True), dt=1e-3, contacts=contacts, conserve_momentum=False)


def slide() -> engine.Simulator:
    b = engine.Builder("slide")
    b.add_link("rail")
    b.add_link("block", inertia=inertia.sphere(2.0, 0.1))
    b.add_joint("slide", "prismatic", "rail", "block", friction=30.0, damping=200.0, axis=(1.0, 0.0, 1.0),
                limits=Limits(lower=-0.01, upper=0.3, velocity=2.0))  # fmt: skip
    return engine.Simulator(b.model(), dt=1e-2, joint_dynamics="implicit")


STATES = {  # simulator, q, v: in flight, sliding into the ground, rolling after some steps, rubbing, at a stop
    "flies": (ball, [1, 0, 0, 0, 0, 0, 0.2], [1, 2, 3, 0.5, 0.2, -0.3], 0),
    "strikes": (ball, [1, 0, 0, 0, 0, 0, 0.0995], [1, 2, 3, 0.5, 0.2, -0.3], 0),
    "rolls": (ball, [1, 0, 0, 0, 0, 0, 0.0995], [0, 0.05, 0, 0.005, 0, 0], 200),
    "rubs": (slide, [0.1], [0.5], 1),
    "stops": (slide, [-0.011], [-0.2], 1),
    "rests": (slide, [0.1], [0.0], 5),
}


@pytest.mark.parametrize("state", STATES)
def test_a_step_has_derivatives(state, monkeypatch):
    """Found to the end, as the theorem has it: differences see what the iterations leave."""
    monkeypatch.setattr(contact_problem, "AGREES", 1e-13)
    monkeypatch.setattr(correction, "PASSES", 100)
    monkeypatch.setattr(newton, "LAST", 1e-14)
    make, q, v, steps = STATES[state]
    simulator = make()
    step, dt = simulator._step, simulator.dt
    x = step.prepare(np.zeros(0), step.begun(np.array(q, float), np.array(v, float)))
    after = engine.gufunc(lambda x: step.step(0.0, 0.0, dt, np.zeros(0), x)[: len(x)], "(n)->(n)", n=len(x))
    for _ in range(steps):
        x = after(x)
    h, stuck = np.full(len(x), 2e-6), len(x) - math.prod(step.plant.states.shapes.get(STUCK, (0,)))
    h[stuck:] = 1e-9                                            # what friction holds is 1e-7 m at most, and cut beyond
    e = np.diag(h)
    differences = (8.0 * (after(x + e) - after(x - e)) - (after(x + 2.0 * e) - after(x - 2.0 * e))).T / (12.0 * h)
    A = engine.jacobian(after)(x)
    size = np.abs(A).max()
    assert (np.abs(A - differences) <= size * (h**4 * 1e12 + 20.0 * np.finfo(float).eps / h)).all()
    if state == "strikes":                                      # a spring: velocity by place
        assert abs(A[12, 6]) > 1.0
    if state == "rests":                                        # it does not move, wherever it stands: friction holds it
        assert abs(A[1, 1]) < 1e-3
