"""States of steps: what follows from one is the same bits whenever it is asked for, and is not computed before."""

import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import engine
from engine.components.component import AWAY
from engine.simulation.run_loop import Process
from tests.contact.test_many import by_tables, heap, state
from tests.contact.test_many import simulator as bodies
from tests.simulation.test_events import UP, ball
from tests.simulation.test_independent_trees import simulated
from tests.simulation.test_live import arm, wait_until
from tests.simulation.test_simulator import BEGIN, everything


def bodies_on_a_floor():
    made = bodies(["sphere", "box"], dt=1e-3)
    assert not by_tables(made)
    return made, *state(heap(2) - [0.0, 0.0, 0.1], v=1.0)


def many_in_a_heap():
    made = bodies(["box", "sphere"] * 6)
    assert by_tables(made)
    return made, *state(heap(12), v=1.0)


def stopped_by_an_event():
    return engine.Simulator(ball(), dt=1e-2, events=[lambda t, q, v: q[6] - 0.9]), UP, np.zeros(6)


#: a simulator, and where it begins
SCENES = {"all that acts": lambda: (everything(), *BEGIN), "contacts": bodies_on_a_floor, "tables": many_in_a_heap,
          "independent trees": lambda: simulated()[:3], "an event": stopped_by_an_event}  # fmt: skip


@functools.cache
def scene(name):
    return SCENES[name]()


def shown(state):
    """All that a state says, as bits."""
    said = {"t": state.t, "q": state.q, "v": state.v, "vdot": state.vdot, "tau": state.tau, **state.signals}
    return {name: (np.shape(x), np.asarray(x).tobytes()) for name, x in said.items()}


def made_at_once(simulator, monkeypatch, call):
    """The state of a call, with its record made in the same machine code as its steps."""
    with monkeypatch.context() as patch:
        patch.setattr(simulator._process, "seen_later", False)
        state = call()
    assert state.origin._record is not None
    return state


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_what_is_made_later_is_what_is_made_at_once(name, batch, monkeypatch):
    """Alone and in a batch, after one step, several, and so many that they come in pieces; of states that were pickled and copied too."""
    simulator, q, v = scene(name)
    if batch:
        q, v = np.stack([q] * 3), np.stack([v, 0.5 * v, -v])
    state = simulator.start(q, v)
    for steps in (1, 1, 7, 300 if name != "tables" else 20):
        step = functools.partial(simulator.step, state, steps)
        expected, state, *others = made_at_once(simulator, monkeypatch, step), step(), step(), step()
        assert state.origin._record is None and others[0].t == expected.t and others[0].q.tobytes() == expected.q.tobytes()
        for found in (pickle.loads(pickle.dumps(others[0])), copy.deepcopy(others[1]), copy.copy(state), state):
            assert shown(found) == shown(expected)
        assert state.origin.record.tobytes() == expected.origin.record.tobytes() and state.origin._record is state.origin.record


def test_a_trace_of_later_records_is_the_run():
    simulator, q, v = scene("contacts")
    run, state = simulator.run(q, v, 0.05), simulator.start(q, v)
    states = [state, *((state := simulator.step(state)) for _ in range(50))]
    for name in ("t", "q", "v", "vdot", "tau"):
        assert np.array([getattr(s, name) for s in states]).tobytes() == getattr(run, name).tobytes()
    assert run.signals.keys() == states[-1].signals.keys()
    for name, x in run.signals.items():
        assert np.array([s.signals[name] for s in states]).tobytes() == x.tobytes(), name


def test_what_follows_is_of_the_parameters_of_its_own_step(monkeypatch):
    push = engine.Simulator(arm(), controller=lambda t, q, v, gain: -gain * v, parameters={"gain": 1.0})
    first = push.step(push.start(np.zeros(3), np.ones(3)), 5)
    expected = made_at_once(push, monkeypatch, lambda: push.step(first, 1, {"gain": 2.0}))
    second = push.step(first, 1, {"gain": 2.0})
    third = push.step(second, 1, {"gain": 0.0})
    assert not third.tau.any() and shown(second) == shown(expected)
    np.testing.assert_array_equal(second.tau, -2.0 * second.v)
    np.testing.assert_array_equal(first.tau, -1.0 * first.v)


def test_a_function_that_changed_is_refused_by_the_next_step_and_the_record_is_of_the_machine_code():
    gains = np.array([1.0])
    simulator = engine.Simulator(arm(), controller=lambda t, q, v: -gains * v)
    state = simulator.step(simulator.start(np.zeros(3), np.ones(3)))
    gains[0] = 2.0
    np.testing.assert_array_equal(state.tau, -state.v)
    simulator.stepper._kept.looked = 0.0                                       # a while ago
    with pytest.raises(engine.SimulationError, match=r"gains is \[2\.\], and was \[1\.\] when it was compiled"):
        simulator.step(state)


def falls(**more):
    """A stone that falls along z."""
    b = engine.Builder("stone")
    b.add_link("base")
    b.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    b.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
    return engine.Simulator(b.model(), dt=0.1, **more)


def ends(t):
    """A number until half a second."""
    return engine.ops.sqrt(0.5 - 1e-9 - t)


@pytest.mark.parametrize(("what", "who"), [
    ({"controller": lambda t, q, v: v * ends(t)}, "the acceleration of joint 'fall' .*<lambda>"), ({"sensors": [ends]}, "'ends' .*ends"),
])  # fmt: skip
def test_a_record_that_is_not_finite_is_said_as_it_is_asked_for(what, who, monkeypatch):
    """At once where there is none without the other; what acts on the motion ends the next step as well."""
    simulator = falls(**what)
    state, said = simulator.start([0.0], [0.0]), rf"{who} returns NaN or infinity at t = 0\.5 s"
    with pytest.raises(engine.SimulationError, match=rf"{who} returns NaN or infinity"):
        made_at_once(simulator, monkeypatch, lambda: simulator.step(state, 5))
    last = simulator.step(state, 5)
    assert last.t == 0.5 and np.isfinite(last.v).all()
    for ask in (lambda: last.vdot, lambda: last.signals, lambda: pickle.dumps(last)):
        with pytest.raises(engine.SimulationError, match=said):
            ask()
    if "sensors" in what:
        np.testing.assert_array_equal(simulator.step(last).v, falls().step(last).v)
    else:
        for go_on in (lambda: simulator.step(last), lambda: simulator.step(state, 6)):
            with pytest.raises(engine.SimulationError, match=r"returns NaN or infinity at t = 0\.5 s"):
                go_on()
    both = simulator.step(simulator.start([[0.0], [0.0]], [[0.0], [1.0]]), 5)
    assert np.isnan(both.vdot).all() and np.isfinite(both.v).all()


def test_a_live_simulation_ends_at_a_record_that_is_not_finite():
    with engine.simulation.live.Live(falls(sensors=[ends]), [0.0], [0.0], paused=True) as live:
        live.step(7)
        wait_until(lambda: live.error)
        assert "ends returns NaN or infinity" in live.error and live.state.t == 0.4 and live.history.t[-1] == 0.4


def test_plain_python_is_asked_at_its_time():
    asked = []

    def control(t, q, v):
        asked.append(t)
        return -v

    plain = engine.Simulator(arm(), controller=control, compiled=False)
    held = engine.Simulator(arm(), controller=engine.Law(control, python=True, period=0.01))
    for simulator in (plain, held):
        state = simulator.step(simulator.start(np.zeros(3), np.ones(3)), 3)
        asked.clear()
        assert state.origin._record is not None and state.tau.any() and state.signals is not None and not asked


@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, AWAY, -1e200])
def test_a_record_with_one_bad_number_is_not_modest(bad, many):
    record = np.ones((many, 50))
    with np.errstate(all="raise"):
        assert Process.modest(scene("contacts")[0]._process, record)
        record[0, 17] = bad
        assert not Process.modest(scene("contacts")[0]._process, record)
        assert not Process.modest(scene("contacts")[0]._process, np.zeros((0, 50)))


# ---------------------------------------------------------------- what was changed


@pytest.mark.parametrize("name", ["all that acts", "contacts", "tables"])
def test_what_follows_is_of_what_a_state_shows(name):
    """After q and v were changed it is that of a state that begins there."""
    simulator, q, v = scene(name)
    state, written, afresh = simulator.start(q, v), simulator.start(q, v), simulator.start(q, 0.5 * v)
    replaced, before = dataclasses.replace(state, v=0.5 * v), shown(state)
    written.v[...] = 0.5 * v
    assert written.vdot.tobytes() == replaced.vdot.tobytes()
    scale = np.abs(afresh.vdot).max()
    np.testing.assert_allclose(replaced.vdot, afresh.vdot, rtol=0.0, atol=1e-9 * scale)        # momentum is that of other roundings
    np.testing.assert_array_equal(written.tau, afresh.tau)
    assert np.abs(state.vdot - afresh.vdot).max() > 1e-3 * scale
    written.v[...] = v                                                         # and back
    assert shown(written) == before


def test_what_follows_from_a_changed_copy_is_known_after_a_step():
    simulator, q, v = scene("all that acts")
    state = pickle.loads(pickle.dumps(simulator.step(simulator.start(q, v))))
    state.v[...] = 0.5 * state.v
    with pytest.raises(engine.SimulationError, match=r"t, q or v of the state at t = .* were changed, .*copied or pickled"):
        _ = state.vdot
    assert np.isfinite(simulator.step(state).vdot).all()


def test_plain_python_is_not_asked_about_a_changed_state():
    simulator = engine.Simulator(arm(), controller=lambda t, q, v: -v, compiled=False)
    state = dataclasses.replace(simulator.start(np.zeros(3), np.ones(3)), v=np.zeros(3))
    with pytest.raises(engine.SimulationError, match="what acts is plain Python"):
        _ = state.tau


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
def test_the_time_goes_on_with_another_step(dt):
    """Whatever the step was until then: forces see the time that the state shows."""
    def force(t, q, v):
        return np.array([t, 0.0, 0.0]) - v

    first, second = (engine.Simulator(arm(), dt=h, controller=force) for h in (2e-3, dt))
    state = first.step(first.start(np.zeros(3), np.zeros(3)), 100)
    for given in (state, pickle.loads(pickle.dumps(state)), dataclasses.replace(state, t=state.t)):
        after = second.step(given, 2)
        assert after.t == pytest.approx(0.2 + 2 * dt, abs=1e-15)
        assert (after.tau + after.v)[0] == pytest.approx(after.t, abs=1e-14)
    assert first.step(state).t == 0.2 + 2e-3


@pytest.mark.parametrize("law", [
    engine.Law(lambda t, q, v, memory: (-50.0 * q - memory[0], memory + 1.0), memory=np.zeros(1), period=0.01),
    engine.Law(lambda t, q, v: -50.0 * q, delay=0.02), engine.Law(lambda t, q, v: -50.0 * q, period=0.01, delay=0.013),
    engine.Law(lambda t, q, v: -50.0 * q, period=0.01, python=True)], ids=["memory", "delay", "between", "python"])  # fmt: skip
@pytest.mark.parametrize("t", [0.0, 7.0])
def test_laws_tick_on_where_the_time_is_replaced(law, t):
    """As if all had happened so much earlier or later: what does not ask for the time moves as it would have."""
    simulator = engine.Simulator(arm(), dt=1e-3, controller=law)
    state = simulator.step(simulator.start(np.full(3, 0.1), np.zeros(3)), 57)
    moved = simulator.step(dataclasses.replace(state, t=t), 40)
    on = simulator.step(state, 40)
    assert moved.t == pytest.approx(t + 0.04, abs=1e-12)
    np.testing.assert_array_equal(moved.q, on.q)
    np.testing.assert_array_equal(moved.tau, on.tau)


def test_a_rollout_that_failed_ticks_from_where_it_begins_anew():
    law = engine.Law(lambda t, q, v, memory: (0.0 * q + memory[0], memory + 1.0), memory=np.zeros(1), period=0.1)
    simulator = engine.Simulator(arm(), dt=0.01, controller=law)
    state = simulator.step(simulator.start(np.zeros((2, 3)), np.zeros((2, 3))), 500)
    state = dataclasses.replace(state, q=np.array([np.zeros(3), np.full(3, np.nan)]))
    with pytest.raises(engine.EngineError):                                    # NaN is no start; of one that failed q and v are given again
        simulator.step(state)
    failed = simulator.step(simulator.start(np.zeros((2, 3)), np.array([np.zeros(3), np.full(3, 1e40)])), 500)
    assert failed.failed.tolist() == [False, True]
    begun = simulator.step(dataclasses.replace(failed, q=np.zeros((2, 3)), v=np.zeros((2, 3))), 21)
    assert begun.tau[:, 0].tolist() == [52.0, 2.0]                             # ticks so far


@pytest.mark.parametrize("t", [None, "soon", np.zeros(2), np.nan])
def test_a_time_that_is_none_is_refused(t):
    simulator = engine.Simulator(arm(), dt=1e-3)
    with pytest.raises(engine.SimulationError, match=r"the state's time is .*; expected a finite number, s"):
        simulator.step(dataclasses.replace(simulator.start(np.zeros(3), np.zeros(3)), t=t))


def test_an_event_that_stopped_a_state_is_told():
    simulator, q, v = scene("an event")
    run = simulator.run(q, v, 1.0)
    state = simulator.start(q, v)
    assert state.stopped == np.inf
    state = simulator.step(state, 100)
    assert state.stopped == run.events[0].t == pickle.loads(pickle.dumps(state)).stopped and state.t > state.stopped
    again = dataclasses.replace(state, q=q)                                    # it goes on
    assert again.stopped == np.inf and simulator.step(again).stopped == np.inf
    batch = simulator.step(simulator.start(np.tile(q, (2, 1)), np.array([v, [0.0] * 5 + [30.0]])), 20)
    assert batch.stopped.tolist() == [state.stopped, np.inf]
    assert scene("all that acts")[0].start(*scene("all that acts")[1:]).stopped == np.inf


# ---------------------------------------------------------------- bodies that are fast, or fail


def test_a_fast_body_far_away_overlaps_nothing():
    simulator, q, v = scene("tables")
    q, v = q.copy(), v.copy()
    q[6], v[5] = 50.0, -1e8                                                    # of the first body: its height, and how fast it falls
    assert simulator.start(q, v).t == 0.0


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_rollout_of_bodies_that_fails_is_said_by_name_alone():
    simulator, q, v = scene("tables")
    V = np.array([v, v])
    V[1, 3] = 1e200
    with pytest.warns(engine.SimulationWarning) as said:
        run = simulator.run(np.array([q, q]), V, 0.02)
    assert run.failed.tolist() == [False, True] and not any("returned NaN or infinity" in str(w.message) for w in said)
    assert simulator.step(simulator.start(np.array([q, q]), V), 3).failed.tolist() == [False, True]
