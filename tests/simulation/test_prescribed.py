"""Joints that move as told: tables that shake, doors, lifts; what they carry, push and do work on."""

import pickle

import numpy as np
import pytest

import engine
from engine.spatial import inertia, se3
from tests.contact.scenes import ball, point

G = 9.81
SURFACE = engine.ContactMaterial(stiffness=1e6, dissipation=5.0, friction=0.4)
SMOOTH = engine.ContactMaterial(stiffness=1e5, dissipation=0.0, friction=0.0)


def shaking(t, size=0.01, rate=15.0):
    return size * np.sin(rate * t)


def jumping(t):
    return engine.ops.where(t < 0.0995, 0.0, 0.1 * t)


def on_table():
    """A ball that does not turn on a table of 1 kg that slides along x."""
    made = engine.Builder("table")
    made.add_link("world")
    made.add_link("top", inertia=inertia.box(1.0, (2, 2, 0.1)), collisions=[engine.Geometry("box", (2.0, 2.0, 0.1))])
    made.add_joint("shake", "prismatic", "world", "top", axis=(1, 0, 0))
    return engine.combine(table=made.model(), load=point())


def simulator(motion=shaking, model=None, **options):
    return engine.Simulator(on_table() if model is None else model, dt=1e-3, constraints=[engine.Prescribed("table/shake", motion)],
                            contacts=engine.Contacts(None, [("table/top", "load/point")], SURFACE), **options)  # fmt: skip


START = [0.0, 0.0, 0.0, 0.15 - G / 5e5]


@pytest.fixture(scope="module")
def tables():
    """Two rates: μ g of 3.92 m/s² holds 2.25 and not 6.25."""
    made = simulator(parameters={"rate": 15.0})
    return made, [made.run(START, np.zeros(4), 0.6, parameters={"rate": rate}) for rate in (15.0, 25.0)]


def test_it_moves_as_told(tables):
    """q, v and v̇ to rounding of the method, whatever rubs on it, from where it is told to be at first."""
    for run, w in zip(tables[1], (15.0, 25.0), strict=True):
        assert np.abs(run.q[:, 0] - 0.01 * np.sin(w * run.t)).max() < 1e-12
        assert np.abs(run.v[:, 0] - 0.01 * w * np.cos(w * run.t)).max() < 1e-9
        assert np.abs(run("constraints.error")).max() < 1e-12


def test_a_load_on_a_shaking_table_slips_beyond_its_friction(tables):
    slow, fast = tables[1]
    caught = slow.t > 0.1                                                       # it begins at rest, on a table that moves
    apart = slow.q[caught, 1] - slow.q[caught, 0]
    assert np.ptp(apart) < 1e-6 and np.abs(np.diff(slow.v[caught, 1])).max() / 1e-3 == pytest.approx(2.25, rel=1e-3)
    assert np.ptp(fast.q[caught, 1] - fast.q[caught, 0]) > 1e-3
    assert np.abs(np.diff(fast.v[caught, 1])).max() / 1e-3 == pytest.approx(0.4 * G, rel=1e-6)


def test_its_force_and_work_are_what_table_and_load_take(tables):
    """F = m ẍ + f; and what it does besides moving itself is in the load, and lost by friction."""
    for run, w in zip(tables[1], (15.0, 25.0), strict=True):
        F, f, h = run("constraints.force")[:, 0] + 0.01 * w * w * np.sin(w * run.t), run("contacts.force")[:, 0, 0], 1e-3
        np.testing.assert_allclose(F, f, atol=1e-6)
        np.testing.assert_allclose(run("constraints.power"), run("constraints.force")[:, 0] * run.v[:, 0], atol=1e-12)
        V = 0.5 * (run.v[1:] + run.v[:-1])
        lost = np.cumsum(f[:-1] * (V[:, 0] - V[:, 1]) * h)
        np.testing.assert_allclose(np.cumsum(F[:-1] * V[:, 0]) * h, 0.5 * run.v[1:, 1] ** 2 + lost, atol=1e-6 * lost[-1])


def test_a_batch_and_what_is_resumed_and_pickled_are_the_same_bits(tables):
    made, (slow, fast) = tables
    every = made.run(np.tile(START, (2, 1)), np.zeros(4), 0.6, parameters={"rate": [15.0, 25.0]})
    assert every.q[0].tobytes() == slow.q.tobytes() and every.q[1].tobytes() == fast.q.tobytes()
    state = made.step(made.start(START, np.zeros(4)), 150)
    state = pickle.loads(pickle.dumps(state))
    again = pickle.loads(pickle.dumps(made))
    assert again.step(state, 450).q.tobytes() == slow.q[-1].tobytes()


def test_plain_is_compiled(tables):
    plain = simulator(compiled=False, parameters={"rate": 15.0}).run(START, np.zeros(4), 0.02, record_every=20)
    np.testing.assert_allclose(plain.v[-1], tables[1][0].v[20], atol=1e-10)


def test_a_jump_is_caught_up_with():
    """From rest to 0.1 m/s, and a centimetre on, at once, amid a step: within some of them."""
    with pytest.warns(engine.SimulationWarning, match="constraints are open by 0.01 m or rad; expected .* neither jump"):
        run = simulator(jumping).run(START, np.zeros(4), 0.15)
    late = run.t > 0.14
    assert np.abs(run.q[late, 0] - 0.1 * run.t[late]).max() < 1e-9 and np.abs(run.v[late, 0] - 0.1).max() < 1e-8
    assert np.abs(run.q[run.t < 0.099, 0]).max() == 0.0


def test_a_door_pushes_a_ball_without_loss():
    """It leaves at twice the door's speed, and its energy is the door's work; whatever the door weighs."""
    made = engine.Builder("door")
    made.add_link("world")
    panel = engine.Geometry("box", (2.0, 0.1, 2.0), se3.pose(np.eye(3), [1.0, 0.0, 0.0]))
    made.add_link("door", inertia=inertia.box(1e-3, (2.0, 0.1, 2.0)), collisions=[panel])
    made.add_joint("hinge", "revolute", "world", "door", axis=(0, 0, 1))
    model = engine.combine(door=made.model(), ball=ball(0.1, 1.0))
    sim = engine.Simulator(model, dt=2e-4, gravity=(0, 0, 0), contacts=engine.Contacts(None, [("door/door", "ball/ball")], SMOOTH),
                           constraints=[engine.Prescribed("door/hinge", lambda t: 0.5 * t)])  # fmt: skip
    run = sim.run([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.155, 0.0], np.zeros(7), 0.05)
    F, energy = run("constraints.force")[:-1, 0], 0.5 * run.v[-1, 1:] @ run.v[-1, 1:]
    assert energy == pytest.approx(0.5, rel=1e-2) and (F * 0.5).sum() * 2e-4 == pytest.approx(energy, rel=1e-4)


@pytest.mark.parametrize(("constraints", "said"), [
    ([engine.Prescribed("table/shake", lambda: 0.0)], "takes no time"),
    ([engine.Prescribed("table/shake", lambda t, fast: fast * t)], "its motion asks for 'fast'"),
    ([engine.Prescribed("table/shake", lambda t: [t, t])], r"returned shape \(2,\); expected a number"),
    ([engine.Prescribed("table/shake", shaking), engine.Prescribed("table/shake", shaking, "b")], "is prescribed already"),
    ([engine.Prescribed("table/shook", shaking)], "table/shook"),
])  # fmt: skip
def test_what_cannot_be_told_is_refused(constraints, said):
    with pytest.raises(engine.EngineError, match=said):
        engine.Simulator(on_table(), constraints=constraints)


def test_a_motion_that_is_none_is_refused():
    with pytest.raises(engine.ConstraintError, match="its motion is 3; expected a function of the time"):
        engine.Prescribed("shake", 3)


def test_steps_that_choose_their_size_name_what_they_do_not_follow():
    with pytest.raises(engine.SimulationError, match=r"^held from step to step: 'motion of table/shake'; expected run, at fixed steps$"):
        simulator().solve(START, np.zeros(4), 0.1)
