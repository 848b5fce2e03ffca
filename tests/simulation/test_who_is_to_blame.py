"""Who is named where a motion runs away beside contacts, and who is not where nothing is stiff."""

import warnings

import numpy as np
import pytest

import engine
from engine.components.component import SimulationError
from engine.components.forces import CentralGravity
from engine.simulation.after_flight import AfterFlight
from engine.simulation.culprit import weightless
from engine.simulation.diagnosis import CALLS, ended
from engine.simulation.run_loop import Diverged
from engine.spatial import inertia


@pytest.mark.parametrize("touching", [False, True])
def test_a_law_that_drives_a_motion_apart_is_named_beside_contacts_too(touching):
    """A law that is too stiff by explicit steps, 2 m from any wall: with contacts, which meet what has run away last, it is named as
    without them."""
    arm = engine.load(engine.example("seven_joint_arm"))
    t = engine.Builder("t")
    t.add_link("a")
    t.add_link("b", inertia=inertia.sphere(1.3, 0.03), collisions=[engine.Geometry("sphere", (0.03,))])
    t.add_joint("w", "fixed", "a", "b")
    model = engine.combine(arm=arm, tool=engine.Mounted(t.model(), on="arm/flange"))
    wall = engine.Contacts(engine.HalfSpace((-1, 0, 0), -2.0), pairs=[("world", "tool/b")]) if touching else None

    def steep(t, q, v):
        return 60.0 * (0.15 * np.sin(6.0 * t) - q) - 4.0 * v

    simulator = engine.Simulator(model, controller=steep, joint_dynamics=None, contacts=wall)
    with pytest.raises(SimulationError, match=r"the motion diverges under steep, which would change the .*integrator='ros34pw2'"):
        simulator.run(np.zeros(7), np.full(7, 0.2), 0.5)


def test_a_planets_field_is_not_stiff_at_its_centre():
    """A robot that floats is looked at where its neutral configuration is: at the planet's centre, where nobody flies."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulator = engine.Simulator(engine.load(engine.example("free_flyer"), floating_base=True), gravity=(0, 0, 0),
                                     forces=[CentralGravity()], dt=1e-2)  # fmt: skip
    assert simulator.plant.stiffness is None


def driven(stiffness):
    """A ball on a slider above a wall, and a law that is too stiff by explicit steps."""
    made = engine.Builder("slider")
    made.add_link("base")
    made.add_link("ball", inertia=inertia.sphere(1.0, 0.05), collisions=[engine.Geometry("sphere", (0.05,))])
    made.add_joint("z", "prismatic", "base", "ball", axis=(0, 0, 1))
    wall = engine.Contacts(engine.HalfSpace((0, 0, 1), -2.0))
    return engine.Simulator(made.model(), joint_dynamics=None, contacts=wall, parameters={"k": stiffness},
                            controller=lambda t, q, v, k: -k * q - 4.0 * v)  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*which nothing does:engine.SimulationWarning")
@pytest.mark.parametrize("record_every", [1, 100])
def test_who_drives_a_motion_apart_is_found_without_the_impulses_of_steps(monkeypatch, record_every):
    """On floats contacts take a thousand times as long as in machine code, and are no forces of anybody's: of what is bad one step has
    them, and one more what is noted of it; and a batch is looked into by the machine code that ran it."""
    took, after = [], AfterFlight.after
    monkeypatch.setattr(AfterFlight, "after", lambda self, h, q0, *more: [took.append(q0.dtype), after(self, h, q0, *more)][1])
    simulator = driven(1.0)
    with pytest.warns(engine.SimulationWarning, match="1 of 2 rollouts"):
        runs = simulator.run([0.1], [0.0], 2.0, record_every=record_every, parameters={"k": np.array([1.0, 1e8])})
    assert runs.reason[0] == "" and "the motion diverges under" in runs.reason[1]
    assert "_alone" not in vars(simulator._step.process)
    assert took.count(np.dtype(float)) <= 2


def test_a_step_that_takes_long_on_floats_is_left_at_some_point():
    """A law of thirty thousand passes, which machine code takes in 30 µs: the run ends as it diverges, and nobody is named."""
    calls = []

    def advance(s):
        calls.append(type(s))
        return s + 1.0, s > 3e4

    def law(t, q, v):
        return (1e8 + 0.0 * engine.ops.while_loop(advance, 1e-300 * q[0], 2**20)[0]) * q

    simulator = engine.Simulator(driven(1.0).model, joint_dynamics=None, controller=law)
    calls.clear()
    with pytest.raises(SimulationError, match=r"is no longer finite|is beyond") as caught:
        simulator.run([0.1], [0.0], 2.0)
    assert len(caught.value.trajectory) > 1 and 0 < calls.count(np.float64) <= 2 * CALLS


@pytest.mark.parametrize("bad", [np.full(4, 28.0), np.full(4, np.nan), np.zeros(4)])
def test_a_state_that_is_no_motion_is_told_like_any_other(bad):
    """Attitudes of another length than 1 before what is not finite: as the last good state, and as a record before it."""
    made = engine.Builder("body")
    made.add_link("body", inertia=inertia.sphere(1.0, 0.1))
    simulator = engine.Simulator(made.model(floating_base=True))
    step, x = simulator._step, simulator.stepper.begin([1, 0, 0, 0, 0, 0, 0], np.zeros(6), None)[1]
    wild, record = x.copy(), np.zeros(step.process.record.n)
    wild[:4] = bad
    record[1 : 1 + len(x)] = wild
    lost = np.full(len(record), np.nan)
    for last in (x, wild):
        text = ended(step, Diverged(record[None], 0.1, lost, 1, 1e-3, np.zeros(0), last))
        assert "is no longer finite at t = 0.1 s" in text
    assert weightless(simulator.model, [wild[:7]]) == ""
