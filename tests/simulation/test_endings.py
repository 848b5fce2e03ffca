"""Runs that end because something of the user's raises: all that was computed is there, and the sentence says whose fault it is."""

import numpy as np
import pytest

import engine
from engine import Law, ops
from engine.components.actuators import Motor
from engine.simulation.live import Live
from tests.recording.test_recording import same
from tests.simulation.test_events import event
from tests.simulation.test_live import wait_until
from tests.simulation.test_simulator import pendulum
from tests.trees import flyer

START = ([0.1], [0.0])


class Planner:
    """A law in plain Python that raises from a time on, as long as it is broken; it notes when it was asked, and of how many rollouts."""

    def __init__(self, until):
        self.until, self.broken, self.asked = until, True, []

    def __call__(self, t, q, v):
        self.asked.append((round(t, 9), q.shape[:-1]))
        assert np.isfinite(q).all(), "asked of a rollout that is none any more"
        if self.broken and t >= self.until - 1e-9:
            raise RuntimeError("no plan")
        return -q - v


def planned(until, dt=1e-3, **options):
    law = Planner(until)
    return law, engine.Simulator(pendulum(), dt=dt, controller=Law(law, period=0.004, python=True), **options)


@pytest.mark.parametrize(("steps", "every", "compiled"), [
    (4, 1, True), (16, 1, True), (20, 1, True), (24, 7, True), (24, 7, False), (1200, 1, True), (1200, 500, True),
])  # fmt: skip
def test_all_records_before_a_law_raises_are_there(tmp_path, steps, every, compiled):
    """Wherever the run's blocks end (the first has 16 records); in a file too, and from there it goes on to the bit."""
    law, simulator = planned(steps * 1e-3, compiled=compiled)
    law.broken = False
    whole = simulator.run(*START, steps * 1e-3 + 0.05, every)
    law.broken = True
    said = rf"Planner raised RuntimeError at t = {steps * 1e-3:g} s: no plan"
    with pytest.raises(engine.SimulationError, match=said) as caught:
        simulator.run(*START, 5.0, every)
    found = caught.value.trajectory
    assert len(found) == -(-steps // every) and found.failed and found.reason == str(caught.value)
    for name in ("t", "q", "v", "tau", "vdot"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[: len(found)])
    with pytest.raises(engine.SimulationError, match=rf"{said} \(recorded until then in"):
        simulator.run(*START, steps * 1e-3 + 0.05, every, out=tmp_path / "run.h5")
    kept = engine.load_trajectory(tmp_path / "run.h5")
    assert kept.reason == str(caught.value)
    same(kept, found)
    with pytest.raises(engine.SimulationError, match=said):                    # as long as nothing has changed
        simulator.resume(tmp_path / "run.h5")
    law.broken = False
    again = engine.load_trajectory(simulator.resume(tmp_path / "run.h5"))
    assert again.reason is None and not again.failed
    same(again, whole)


class Patient(Planner):
    """A law during which somebody presses Ctrl-C."""

    def __call__(self, t, q, v):
        try:
            return super().__call__(t, q, v)
        except RuntimeError:
            raise KeyboardInterrupt from None


@pytest.mark.parametrize(("steps", "every", "compiled"), [(4, 1, True), (20, 1, True), (24, 7, True), (1200, 1, True), (4, 1, False),
                                                          (24, 7, False)])  # fmt: skip
def test_ctrl_c_in_a_law_loses_nothing(tmp_path, steps, every, compiled):
    law, end = Patient(steps * 1e-3), steps * 1e-3 + 0.05
    simulator = engine.Simulator(pendulum(), controller=Law(law, period=0.004, python=True), compiled=compiled)
    law.broken = False
    whole = simulator.run(*START, end, every)
    law.broken = True
    with pytest.raises(KeyboardInterrupt) as caught:
        simulator.run(*START, end, every)
    found = caught.value.trajectory
    assert len(found) == -(-steps // every) and f"interrupted at t = {steps * 1e-3:g} s" in found.reason
    np.testing.assert_array_equal(found.q, whole.q[: len(found)])
    with pytest.raises(KeyboardInterrupt):
        simulator.run(*START, end, every, out=tmp_path / "run.h5")
    same(engine.load_trajectory(tmp_path / "run.h5"), found)
    law.broken = False
    same(engine.load_trajectory(simulator.resume(tmp_path / "run.h5")), whole)


def pressed(t, q, v):
    if t > 0.0105:
        raise KeyboardInterrupt
    return -q


def test_ctrl_c_in_a_force_on_floats_loses_nothing():
    with pytest.raises(KeyboardInterrupt) as caught:
        engine.Simulator(pendulum(), controller=pressed, compiled=False).run(*START, 1.0)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.01, abs=1e-12)


def test_a_law_that_was_mended_is_another(tmp_path):
    _, simulator = planned(0.02)
    with pytest.raises(engine.SimulationError, match="no plan"):
        simulator.run(*START, 0.1, out=tmp_path / "run.h5")
    other = engine.Simulator(pendulum(), controller=Law(lambda t, q, v: -q - v, period=0.004, python=True))
    with pytest.raises(engine.SimulationError, match=r"in plain Python \(laws with python=True, the actions of events\): other code"):
        other.resume(tmp_path / "run.h5")


def test_a_law_that_raises_at_once_leaves_nothing(tmp_path):
    law, simulator = planned(0.0)
    with pytest.raises(engine.SimulationError, match="Planner raised RuntimeError at t = 0 s: no plan") as caught:
        simulator.run(*START, 1.0)
    assert caught.value.trajectory is None
    with pytest.raises(engine.SimulationError, match="no plan"):
        simulator.run(*START, 0.1, out=tmp_path / "run.h5")
    assert len(engine.load_trajectory(tmp_path / "run.h5")) == 0
    law.broken = False
    same(engine.load_trajectory(simulator.resume(tmp_path / "run.h5")), simulator.run(*START, 0.1))


def burst(t, q, v, at):
    return q * ops.where(t > at, np.nan, 0.0)


def test_a_law_that_raises_ends_a_batch_with_the_records_of_all_its_rows(tmp_path):
    """A row that had failed before is NaN from there, with its own reason, and is shown at rest to who is asked."""
    law, simulator = planned(0.2, parameters={"at": 9.0}, forces=[burst])
    start, rows = (np.full((2, 2, 1), 0.1), np.zeros(1)), {"at": [[9.0, 0.0555], [9.0, 9.0]]}
    with pytest.raises(engine.SimulationError, match="no plan") as caught:
        simulator.run(*start, 1.0, parameters=rows)
    found = caught.value.trajectory
    assert found.q.shape == (2, 2, 200, 1) and np.isfinite(found.q).all(axis=(-2, -1)).tolist() == [[True, False], [True, True]]
    assert np.isfinite(found.q[0, 1, :56]).all() and "burst returns NaN" in found.reason[0, 1] and "no plan" in found.reason[1, 0]
    assert law.asked[0] == (0.0, (2, 2)) and {shape for _, shape in law.asked} == {(2, 2)}         # rows are the same all along
    with pytest.raises(engine.SimulationError, match="no plan"):
        simulator.run(*start, 0.25, parameters=rows, out=tmp_path / "run.h5")
    kept = engine.load_trajectory(tmp_path / "run.h5")
    np.testing.assert_array_equal(kept.q, found.q)
    assert kept.reason.tolist() == found.reason.tolist()
    law.broken = False
    again = engine.load_trajectory(simulator.resume(tmp_path / "run.h5"))
    assert again.failed.tolist() == [[False, True], [False, False]] and again.t[-1] == 0.25 and "burst" in again.reason[0, 1]
    with pytest.warns(engine.SimulationWarning, match="1 of 4 rollouts"):
        np.testing.assert_array_equal(again.q, simulator.run(*start, 0.25, parameters=rows).q)


@pytest.mark.parametrize("compiled", [True, False])
def test_nobody_is_asked_beyond_an_event(compiled):
    """It ends the run before the law raises; or the run goes on, and each tick is asked for once."""
    law, simulator = planned(0.012, events=[event(lambda t, q, v: t - 0.0105)], compiled=compiled)
    assert simulator.run(*START, 1.0).t[-1] == pytest.approx(0.0105, abs=1e-12)
    assert [t for t, _ in law.asked] == [0.0, 0.004, 0.008]
    law, simulator = planned(9.0, events=[event(lambda t, q, v: t - 0.0105, callback=lambda t, q, v: None)], compiled=compiled)
    simulator.run(*START, 0.02)
    assert [t for t, _ in law.asked] == [0.0, 0.004, 0.008, 0.012, 0.016, 0.02]


def test_a_motion_that_diverges_is_no_fault_of_the_law_that_would_see_it():
    _, simulator = planned(9.0, dt=1e-3, parameters={"at": 0.0305}, forces=[burst])
    for every in (1, 7, 1000):
        with pytest.raises(engine.SimulationError, match=r"no longer finite at .*: burst returns NaN or infinity at t = 0\.03"):
            simulator.run(*START, 1.0, every)


def test_a_live_simulation_shows_the_last_state_before(monkeypatch):
    """A turn is 30 steps."""
    monkeypatch.setattr("engine.simulation.live.TICK", 0.03)
    _, simulator = planned(0.2)
    with Live(simulator, *START, paused=True) as live:
        for _ in range(10):
            live.step(30)
        wait_until(lambda: live.error)
        assert "no plan" in live.error and live.state.t == live.history.t[-1] == pytest.approx(0.199, abs=1e-12)


def breaks(t, q, v):
    raise KeyError("limb")


def forgets(t, q, v):
    return q[:0], v


@pytest.mark.parametrize(("callback", "said"), [
    (breaks, r"the callback of watched raised KeyError at t = 0\.0505 s: 'limb'"),
    (forgets, r"the callback of watched returned no state at t = 0\.0505 s: q has shape \(0,\)"),
])  # fmt: skip
def test_a_callback_that_fails_loses_nothing(tmp_path, callback, said):
    simulator = engine.Simulator(pendulum(), events=[event(lambda t, q, v: t - 0.0505, callback=callback)])
    with pytest.raises(engine.SimulationError, match=said) as caught:
        simulator.run(*START, 1.0)
    assert len(caught.value.trajectory) == 52 and caught.value.trajectory.t[-1] == pytest.approx(0.0505, abs=1e-12)
    with pytest.raises(engine.SimulationError, match=said):
        simulator.run(*START, 1.0, out=tmp_path / "run.h5")
    same(engine.load_trajectory(tmp_path / "run.h5"), caught.value.trajectory)
    with pytest.raises(engine.SimulationError, match=rf"'.*run\.h5' failed \({said}.*\); expected a run that ended on its grid"):
        simulator.resume(tmp_path / "run.h5", 2.0)


class Wind(engine.components.component.Component):
    name = "wind"

    def act(self, s, state, memory, command):
        return engine.components.component.Effect(tau=s.v * {0: 1.0}[int(s.t > 0.0205)])


def test_a_component_on_floats_that_fails_is_named_and_loses_nothing():
    simulator = engine.Simulator(pendulum(), forces=[Wind()], compiled=False)
    with pytest.raises(engine.SimulationError, match=r"wind raised KeyError: 1, in the step from t = 0\.02 s, q = ") as caught:
        simulator.run(*START, 1.0)
    assert len(caught.value.trajectory) == 21


class Rocket(engine.RigidBody):
    inertia, moments = np.eye(3), None
    mass = 1.0

    def forces(self, x, u, t):
        return [1.0, 2.0, 3.0][int(t > 0.05) * 3] * np.ones(3)


def test_a_body_on_floats_whose_function_fails_loses_nothing():
    body, said = Rocket(), r"Rocket\.forces raised IndexError: list index out of range, in the step from t = 0\.05 s"
    with pytest.raises(engine.SimulationError, match=said) as caught:
        engine.compile(body).simulate(body.build_state(), 1.0, 0.01, compiled=False)
    assert len(caught.value.trajectory) >= 5


# ---------------------------------------------------------------- who drives a motion apart

FLYER = flyer(2, 50.0)
FLIES = FLYER.neutral(), 0.1 * np.ones(8)


def stiff(t, q, v):
    return np.concatenate([np.zeros(6), -1e4 * v[6:]])


def held(t, q, v):
    return np.concatenate([np.zeros(6), -3e3 * v[6:]])


def blow(t, q, v):
    return 0.0 * v + ops.where(t > 1.003, 1e12, 0.0)


def mild(t, q, v):
    return -0.1 * v


class Drag(engine.components.component.Component):
    """What a user writes: it is no number from t = 1 s on, by its force, or by what it says."""

    name = "drag"

    def __init__(self, signals):
        self.says = signals

    def act(self, s, state, memory, command):
        root = ops.sqrt(1.0 - s.t)
        return engine.components.component.Effect(tau=-s.v * (1.0 if self.says else root), signals={"heat": root} if self.says else {})


class Grows(engine.components.component.Component):
    name, state = "grows", np.full(1, 100.0)

    def act(self, s, state, memory, command):
        return engine.components.component.Effect(rate=state * state * state)


@pytest.mark.parametrize(("options", "said"), [
    ({"controller": stiff}, r"the motion diverges under stiff, which would change the velocities \S+-fold in a step; expected a smaller "
     "dt, gentler forces, or integrator='ros34pw2', for stiff forces on all that moves"),
    ({"controller": mild, "forces": [stiff]}, "the motion diverges under stiff, which"),
    ({"controller": Law(held, period=0.05)}, r"the motion diverges under held, which would change the velocities \S+-fold in the 0\.05 s "
     r"that it is held; expected a shorter period than 0\.05 s, or gentler gains"),
    ({"controller": Law(held, period=0.05, python=True)}, "the motion diverges under held, which"),
    ({"controller": blow, "forces": [mild]}, r"the motion diverges under blow, which would change the velocities"),
    ({"controller": lambda t, q, v: {"m": -1e4 * v[6]}, "actuators": [Motor("joint0", name="m")]},
     "the motion diverges under <lambda> through 'm', which"),
    ({"forces": [Drag(False)]}, r"configuration of 3 joints \(.*\) is .*t = 1\.01 s .*: drag returns NaN or infinity at t = 1(\.00\d+)? s"),
    ({"forces": [Drag(True)]}, r"'drag.heat' is .*: drag returns NaN or infinity as its signal 'heat' at t = 1\.01 s"),
    ({"forces": [Grows()]}, "the state of 'grows' is .*: .*grows"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:the state of 'grows' changes")
def test_who_drives_a_motion_apart_is_named(options, said):
    simulator = engine.Simulator(FLYER, dt=1e-2, gravity=(0, 0, 0), joint_dynamics="explicit", **options)
    with pytest.raises(engine.SimulationError, match=said):
        simulator.run(*FLIES, 2.0)


def test_which_of_several_robots_flies_apart_is_named():
    both = engine.combine(calm=FLYER, wild=FLYER)

    def blows(t, q, v):
        tau = np.zeros(both.nv)
        tau[FLYER.nv + 6] = 1e5 * v[FLYER.nv + 6]
        return tau

    simulator = engine.Simulator(both, dt=1e-2, gravity=(0, 0, 0), controller=blows)
    with pytest.raises(engine.SimulationError, match=r"3 joints \('wild/floating_base', 'wild/joint0', 'wild/joint1'\) is .* under blows"):
        simulator.run(*(np.concatenate([x, x]) for x in FLIES), 2.0)


def bad_row(t, q, v):
    tau = -0.1 * v
    tau[1] *= np.nan if t > 0.1 else 1.0
    return tau


def test_a_row_that_a_law_in_plain_python_spoils_is_that_laws_fault():
    """And its other rows are the same ones as before."""
    simulator = engine.Simulator(FLYER, dt=1e-2, gravity=(0, 0, 0), controller=Law(bad_row, period=0.05, python=True))
    with pytest.warns(engine.SimulationWarning, match=r"1 of 3 rollouts .*: bad_row returns NaN or infinity at t = 0\.15 s"):
        found = simulator.run(np.tile(FLIES[0], (3, 1)), FLIES[1], 1.0)
    assert found.failed.tolist() == [False, True, False]


def test_what_overflows_first_is_no_cause():
    """At 1e200 m/s a power is infinite, and the motion is not."""
    simulator = engine.Simulator(pendulum(), controller=lambda t, q, v: 1e150 * v, joint_dynamics=None)
    with pytest.raises(engine.SimulationError) as caught:
        simulator.run([0.1], [1e180], 1.0)
    assert "drive.power" not in str(caught.value)
