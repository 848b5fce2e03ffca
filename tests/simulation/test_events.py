"""Events: where they stop, what counts, what callbacks do, in batches, several in order."""

import re

import numpy as np
import pytest
from scipy.special import ellipk

import engine
from engine import ops
from engine.components.actuators import ReactionWheels
from engine.components.forces import JointStops
from engine.spatial import inertia
from tests.components.test_actuators import satellite
from tests.simulation.test_simulator import pendulum, slider

AWAY = {"gravity": (0, 0, 0)}


def event(fn, direction=None, callback=None):
    """A function of its own with those attributes."""
    def watched(t, q, v):
        return fn(t, q, v)

    if direction is not None:
        watched.direction = direction
    if callback is not None:
        watched.callback = callback
    return watched


def ball() -> engine.Model:
    stone = engine.Builder("ball")
    stone.add_link("ball", inertia=inertia.sphere(1.0, 0.1))
    return stone.model(floating_base=True)


UP = np.array([1.0, 0, 0, 0, 0, 0, 1.0])
FALL = np.sqrt(2 / 9.81)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_run_stops_at_the_zero_to_rounding(compiled):
    """A stone from 1 m; a cosine's zero; both between steps. The record ends there, once."""
    dt = 1e-2 if compiled else 0.1
    simulator = engine.Simulator(ball(), dt=dt, integrator="ralston2", events=[lambda t, q, v: q[6]], compiled=compiled)
    trajectory = simulator.run(UP, np.zeros(6), 2.0)
    e, = trajectory.events
    assert abs(e.t - FALL) < 1e-13 and trajectory.t[-1] == e.t and (trajectory.q[-1] == e.q).all() and (trajectory.v[-1] == e.v).all()
    assert abs(e.q[6]) < 1e-13 and abs(e.v[5] + 9.81 * FALL) < 1e-12 and len(trajectory) == int(FALL / dt) + 2
    assert (np.diff(trajectory.t) > 0).all() and (e.function, e.name) == (0, "<lambda>")
    simulator = engine.Simulator(slider(), dt=dt, events=[lambda t, q, v: np.cos(3 * t)], compiled=compiled, **AWAY)
    trajectory = simulator.run([0.0], [1.0], 2.0)
    assert abs(trajectory.t[-1] - np.pi / 6) < 1e-13 and abs(trajectory.q[-1, 0] - np.pi / 6) < 1e-13


@pytest.mark.parametrize(("direction", "first"), [(None, 1), (0, 1), (-1, 1), (1, 3)])
def test_direction(direction, first):
    """A pendulum let go passes the bottom after 1, 3, 5, … quarters of its period, falling and rising by turns."""
    quarter = np.sqrt(1 / 9.81) * ellipk(np.sin(0.5) ** 2)
    simulator = engine.Simulator(pendulum(), dt=1e-3, events=[event(lambda t, q, v: q[0], direction)])
    trajectory = simulator.run([1.0], [0.0], 5.0)
    assert abs(trajectory.t[-1] - first * quarter) < 1e-10 and len(trajectory.events) == 1
    again = simulator.run([0.0], [1.0], 0.05)
    assert not again.events and again.t[-1] == 0.05  # a zero at the start does not count


def test_callbacks_that_only_look_do_not_change_the_motion():
    """Seven passes of the bottom, each noted; between the events the states are those of the run without."""
    seen = []
    look = event(lambda t, q, v: q[0], callback=lambda t, q, v: seen.append((t, q, v)))
    trajectory = engine.Simulator(pendulum(), dt=1e-3, events=[look]).run([1.0], [0.0], 8.0, record_every=7)
    quarter = np.sqrt(1 / 9.81) * ellipk(np.sin(0.5) ** 2)
    times = [e.t for e in trajectory.events]
    assert len(times) == int((8 / quarter + 1) / 2) and np.abs(times - quarter * np.arange(1, 2 * len(times), 2)).max() < 1e-9
    assert [s[0] for s in seen] == times and all((s[1] == e.q).all() for s, e in zip(seen, trajectory.events, strict=True))
    assert trajectory.t[-1] == 8.0 and (np.diff(trajectory.t) > 0).all()
    plain = engine.Simulator(pendulum(), dt=1e-3).run([1.0], [0.0], 8.0)
    assert np.abs(trajectory.q[:, 0] - np.interp(trajectory.t, plain.t, plain.q[:, 0])).max() < 1e-5
    assert np.abs(trajectory.q[-1] - plain.q[-1]).max() < 1e-9


@pytest.mark.parametrize(("direction", "compiled"), [(None, True), (-1, True), (-1, False)])
def test_a_bouncing_ball(direction, compiled):
    """A new state on a floating base: impacts at 1, 1 + 2e, 1 + 2e + 2e², … falls, with e of the speed each time."""
    e = 0.8
    bounce = event(lambda t, q, v: q[6], direction, lambda t, q, v: (q, v * [1, 1, 1, 1, 1, -e]))
    end, dt, least = (3.1, 1e-2, 5) if compiled else (1.3, 0.1, 1)
    simulator = engine.Simulator(ball(), dt=dt, integrator="ralston2", events=[bounce], compiled=compiled)
    trajectory = simulator.run(UP, [0, 0, 0, 0.5, 0, 0], end)
    times = np.array([x.t for x in trajectory.events])
    expected = FALL * (1 + 2 * np.cumsum([0, *e ** np.arange(1.0, 9)]))
    expected = expected[expected < end]
    assert len(times) == len(expected) > least and np.abs(times - expected).max() < 1e-11
    speeds = [x.v[5] for x in trajectory.events]
    assert np.abs(speeds + 9.81 * FALL * e ** np.arange(len(times))).max() < 1e-11
    assert trajectory.q[:, 6].min() > -1e-12 and abs(trajectory.q[-1, 4] - 0.5 * end) < 1e-12 and trajectory.t[-1] == end


def test_callbacks_say_when_to_end():
    counts = []
    third = event(lambda t, q, v: q[0], callback=lambda t, q, v: counts.append(t) if len(counts) < 2 else False)
    trajectory = engine.Simulator(pendulum(), dt=1e-3, events=[third]).run([1.0], [0.0], 8.0)
    assert len(trajectory.events) == 3 and trajectory.t[-1] == trajectory.events[-1].t and len(counts) == 2


def bouncing(duration=3.0, every=7, **options):
    """A ball that loses a fifth of its speed at every bounce, from 1 m."""
    bounce = event(lambda t, q, v: q[6], -1, lambda t, q, v: (q, v * [1, 1, 1, 1, 1, -0.8]))
    return engine.Simulator(ball(), events=[bounce], **options).run(UP, np.zeros(6), duration, every)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_jump_is_two_records_at_one_time(compiled):
    """Before and after, both at the event's time; the event is the state before."""
    trajectory = bouncing(1.2, 3, dt=2e-2 if compiled else 0.1, integrator="ralston2", compiled=compiled)
    before = np.flatnonzero(np.diff(trajectory.t) == 0)
    assert len(before) == len(trajectory.events) == 2
    for k, e in zip(before, trajectory.events, strict=True):
        assert trajectory.t[k] == e.t and (trajectory.v[k] == e.v).all() and (trajectory.q[k] == trajectory.q[k + 1]).all()
        assert (trajectory.v[k + 1] == e.v * [1, 1, 1, 1, 1, -0.8]).all() and trajectory.vdot[k + 1, 5] == -9.81


@pytest.mark.parametrize(("every", "duration"), [(1, 3.0), (7, 3.0), (50, 2.9996), (10_000, 3.0)])
def test_an_event_does_not_shift_the_grid(every, duration):
    """Records at steps whose numbers are multiples of record_every, and in the end, as in a run without events; and those of events."""
    trajectory = bouncing(duration, every)
    plain = engine.Simulator(ball(), dt=1e-3).run(UP, np.zeros(6), duration, every)
    times = [e.t for e in trajectory.events]
    assert len(times) >= 3
    np.testing.assert_array_equal(trajectory.t, np.sort(np.concatenate([plain.t, times, times])))


def test_the_step_of_an_event_is_finished_by_a_shorter_one():
    """The pendulum's next record is a step of what is left of dt from the state at the event, and after it whole steps follow."""
    kick = event(lambda t, q, v: q[0], callback=lambda t, q, v: (q, 1.5 * v))
    trajectory = engine.Simulator(pendulum(), dt=1e-2, events=[kick]).run([1.0], [0.0], 1.0)
    k = int(np.argmax(np.diff(trajectory.t) == 0)) + 1
    rest = trajectory.t[k + 1] - trajectory.t[k]
    assert 1e-3 < rest < 9e-3
    short = engine.Simulator(pendulum(), dt=rest).run(trajectory.q[k], trajectory.v[k], rest)
    whole = engine.Simulator(pendulum(), dt=1e-2).run(trajectory.q[k + 1], trajectory.v[k + 1], 0.05)
    assert np.abs(short.v[-1] - trajectory.v[k + 1]).max() < 1e-14 and np.abs(whole.v - trajectory.v[k + 1 : k + 7]).max() < 1e-14


def test_at_stays_on_either_side_of_a_jump():
    """Free fall between bounces is what the cubics give, to rounding, however near the jump; at its time the state after it counts."""
    trajectory = bouncing(every=200)
    starts = [0.0, *[e.t for e in trajectory.events]]
    speeds = np.array([0.0, *[-0.8 * e.v[5] for e in trajectory.events]])
    times = np.sort(np.concatenate([np.linspace(0, 3, 1001), starts, np.array(starts[1:]) - 1e-9, np.array(starts[1:]) + 1e-9]))
    k = np.searchsorted(starts, times, side="right") - 1
    found = trajectory.at(times)
    assert np.abs(found.v[:, 5] - (speeds[k] - 9.81 * (times - np.array(starts)[k]))).max() < 1e-11
    end = trajectory[: int(np.argmax(np.diff(trajectory.t) == 0)) + 2]
    assert (end.at(end.t[-1]).v[0] == end.v[-1]).all()


def test_several_events_in_order_and_several_in_one_step():
    """Zeros of t − t_k: each once, in order, three to a step and two at the same time; what changes nothing changes nothing."""
    none = lambda t, q, v: None
    at = [0.0031, 0.0011, 0.0033, 0.0037, 0.0037, 0.002]
    watched = [event(lambda t, q, v, k=k: t - k, callback=none) for k in at]
    model = slider()
    trajectory = engine.Simulator(model, dt=1e-3, events=watched, **AWAY).run([0.0], [1.0], 0.01)
    assert [e.function for e in trajectory.events] == [1, 5, 0, 2, 3, 4]
    assert np.abs(np.array([e.t for e in trajectory.events]) - sorted(at)).max() < 1e-15
    assert trajectory.t[-1] == 0.01 and np.abs(trajectory.q[:, 0] - trajectory.t).max() < 1e-15
    assert (np.diff(trajectory.t) >= 0).all() and len(trajectory) == 11 + 4  # one is on the grid, two are at once


def test_one_that_ends_after_one_that_does_not_within_a_step():
    watched = [event(lambda t, q, v: t - 0.00352), event(lambda t, q, v: t - 0.00351, callback=lambda t, q, v: (q, 2 * v))]
    trajectory = engine.Simulator(slider(), dt=1e-3, events=watched, **AWAY).run([0.0], [1.0], 0.01)
    assert [e.function for e in trajectory.events] == [1, 0] and abs(trajectory.q[-1, 0] - (0.00351 + 2e-5)) < 1e-15


def test_a_batch_stops_one_by_one():
    """Every rollout at its own time, to the bit as alone, and stays; stopped says when."""
    simulator = engine.Simulator(ball(), dt=1e-2, events=[event(lambda t, q, v: q[6], -1), lambda t, q, v: q[4] - 0.3])
    q = np.tile(UP, (9, 1))
    q[:, 6] = np.linspace(0.2, 5.0, 9)
    v = np.zeros((9, 6))
    v[4, 3], v[5, 3] = 1.0, -1.0
    batch = simulator.run(q, v, 0.6)
    expected = np.sqrt(2 * q[:, 6] / 9.81)
    expected[4] = 0.3
    ends = np.isfinite(batch.stopped)
    assert (ends == (expected < 0.6)).all() and 2 < ends.sum() < 7 and np.abs(batch.stopped - expected)[ends].max() < 1e-13
    for k in range(9):
        alone, of_batch = simulator.run(q[k], v[k], 0.6), batch.rollout(k)
        assert len(alone) == len(of_batch) and (alone.q == of_batch.q).all() and (alone.v == of_batch.v).all()
        after = batch.t > batch.stopped[k]
        assert (batch.q[k, after] == batch.q[k, after][:1]).all()
        assert (of_batch.t[-1] == 0.6) if np.isinf(batch.stopped[k]) else abs(of_batch.t[-1] - batch.stopped[k]) <= 1e-2
    early = simulator.run(q[:2], v[:2], 100.0)
    assert early.t[-1] < 100 and len(early) < 5000  # all have stopped


def test_a_joint_limit_as_an_event():
    limits = engine.Limits(lower=-0.5, upper=0.25)
    model = slider(limits=limits)
    upper = event(lambda t, q, v: q[0] - limits.upper, 1)
    trajectory = engine.Simulator(model, dt=1e-3, events=[upper], forces=[JointStops()], **AWAY).run([0.0], [0.7], 1.0)
    assert abs(trajectory.t[-1] - 0.25 / 0.7) < 1e-14 and abs(trajectory.q[-1, 0] - 0.25) < 1e-15 and trajectory("stops.power").max() == 0


def test_events_see_states_and_parameters():
    """A wheel that is full, at a level that is a parameter."""
    wheels = ReactionWheels("bus", [[0, 0, 1]])
    full = lambda t, q, v, states, level: states["wheels"][0] + level
    simulator = engine.Simulator(satellite(), dt=1e-2, actuators=[wheels], events=[full], parameters={"level": 0.123},
                                 controller=lambda t, q, v: {"wheels": ops.array([0.1])}, **AWAY)  # fmt: skip
    for level in (0.123, 0.2):
        trajectory = simulator.run(satellite().neutral(), np.zeros(6), 5.0, parameters={"level": level})
        assert abs(trajectory.t[-1] - level / 0.1) < 1e-12 and abs(trajectory("wheels.momentum")[-1, 0] + level) < 1e-13


def test_bad_events():
    with pytest.raises(engine.SimulationError, match=r"the event function <lambda> returned shape \(1,\); expected a number"):
        engine.Simulator(pendulum(), events=[lambda t, q, v: q])
    with pytest.raises(engine.SimulationError, match="an event is 3; expected a function of"):
        engine.Simulator(pendulum(), events=[3])
    for answer in (True, 3.0, [1, 2, 3]):
        odd = event(lambda t, q, v: q[0], callback=lambda t, q, v, answer=answer: answer)
        with pytest.raises(engine.SimulationError, match=re.escape(f"callback of watched returned {answer!r}; expected None,")):
            engine.Simulator(pendulum(), events=[odd]).run([0.1], [0.0], 2.0)
    nan = event(lambda t, q, v: ops.where(t > 0.5, np.nan, 1.0))
    with pytest.raises(engine.SimulationError, match=r"watched returns NaN or infinity at t = 0\.5") as caught:
        engine.Simulator(pendulum(), events=[nan]).run([0.1], [0.0], 2.0)
    assert 499 <= len(caught.value.trajectory) <= 501
    stuck = event(lambda t, q, v: q[0], callback=lambda t, q, v: (q - 1e-3 * np.sign(v), v))
    with pytest.raises(engine.SimulationError, match="watched has a thousand zeros in a step") as caught:
        engine.Simulator(slider(), dt=10.0, events=[stuck], **AWAY).run([-1.0], [1.0], 30.0)
    assert len(caught.value.trajectory) > 1 and abs(caught.value.trajectory.q).max() < 2


def test_events_do_not_meet_the_adaptive_run_or_held_steps_unnoticed():
    def height(t, q, v):
        return q[0]

    with pytest.raises(engine.SimulationError, match=r"held from step to step: event 'height'; expected run, at fixed steps"):
        engine.Simulator(pendulum(), events=[height]).solve([0.1], [0.0], 1.0)


@pytest.mark.parametrize(("fn", "message"), [
    (lambda t, q, v: q[6] < 0.2, r"returned a condition; expected a number that passes zero"),
    (lambda t, q, v: ops.less(q[6], 0.2), r"returned a condition; expected a number that passes zero"),
    (lambda t, q, v: "down", "<lambda> returned 'down'; expected numbers"),
    (lambda q, v, t: q[6], r"<lambda> takes \(q, v, t\), and is called as \(t, q, v\); expected them in this order"),
])  # fmt: skip
def test_events_that_never_pass_zero_are_refused(fn, message):
    with pytest.raises(engine.SimulationError, match=message):
        engine.Simulator(ball(), events=[fn])


def test_a_callback_that_edits_its_state_in_place_must_return_it():
    def bounce(t, q, v):
        v[5] = -v[5]

    with pytest.raises(engine.SimulationError, match=r"changed its q or v and returned None; expected it to return \(q, v\)"):
        engine.Simulator(ball(), events=[event(lambda t, q, v: q[6], callback=bounce)]).run(UP, np.zeros(6), 1.0)


def lift() -> engine.Model:
    """A ball on a vertical rail."""
    made = engine.Builder("lift")
    made.add_link("base")
    made.add_link("arm", inertia=inertia.sphere(1.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    made.add_joint("rail", "prismatic", "base", "arm", axis=(0, 0, 1))
    return made.model()


def passes(trajectory, name, level):
    """The times of records in which a signal is on the other side of a level than in the one before, but for the end."""
    found = trajectory.t[1:][np.diff(np.sign(trajectory(name).ravel() - level)) != 0]
    return found[found < trajectory.t[-1]]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("period", [None, 0.01])
@pytest.mark.parametrize("action", [None, lambda t, q, v: None, lambda t, q, v: (q, v)])
def test_events_of_sampled_signals_are_at_ticks_in_all_actions(action, period, compiled):
    """Of a ball that bounces, each touch-down and lift-off is noted at the tick that shows it; the motion is as without."""
    surface = engine.ContactMaterial(stiffness=1e4, dissipation=0.3)
    made = {"contacts": engine.Contacts(engine.HalfSpace(material=surface), material=surface), "compiled": compiled, "dt": 2e-3,
            "sensors": [engine.sensors.Touch("arm", **({"period": period} if period else {}))]}  # fmt: skip
    for direction, every in ((0, slice(None)), (1, slice(0, None, 2)), (-1, slice(1, None, 2))):
        downs = engine.Event(lambda t, q, v, touch: touch - 5.0, direction, action)
        plain = engine.Simulator(lift(), **made).run([0.2], [0.0], 0.402)
        seen = engine.Simulator(lift(), events=[downs], **made).run([0.2], [0.0], 0.402)
        expected = passes(plain, "touch", 5.0)[every]
        assert len(expected) >= 1 + (direction == 0)
        np.testing.assert_allclose([e.t for e in seen.events], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(seen.q[-1], plain.q[-1], rtol=0, atol=1e-12)
    stop = engine.Event(lambda t, q, v, touch: touch - 5.0)
    assert engine.Simulator(lift(), events=[stop], **made).run([0.2], [0.0], 0.402).t[-1] == pytest.approx(passes(plain, "touch", 5.0)[0])


@pytest.mark.parametrize("action", ["stop", None])
def test_events_of_signals_begin_with_what_the_first_tick_says(action):
    """Nothing has been said before, and that is no zero of a signal; a law that is always asked has its zero between ticks."""
    watched = engine.Event(lambda t, q, v, encoder: encoder - 0.05, action=action)
    run = engine.Simulator(lift(), sensors=[engine.sensors.Encoder("rail")], events=[watched]).run([0.2], [0.0], 0.3)
    first = np.ceil(np.sqrt(2 * 0.15 / 9.81) / 1e-3) * 1e-3
    np.testing.assert_allclose([e.t for e in run.events], [first], rtol=0, atol=1e-12)
    of_law = engine.Event(lambda t, q, v, height: height - 0.05, action=action)
    run = engine.Simulator(lift(), laws=[engine.Law(lambda t, q, v: q[0], name="height")], events=[of_law]).run([0.2], [0.0], 0.3)
    np.testing.assert_allclose([e.t for e in run.events], [np.sqrt(2 * 0.15 / 9.81)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_index_of_a_signal_that_is_one_number_is_refused(compiled):
    watched = engine.Event(lambda t, q, v, encoder: encoder[0] - 0.05)
    with pytest.raises(engine.SimulationError, match=r"reads 'encoder\[…\]': the signal 'encoder' is one number; expected it as it is"):
        engine.Simulator(lift(), sensors=[engine.sensors.Encoder("rail")], events=[watched], compiled=compiled).run([0.2], [0.0], 0.1)
