"""Simulations that run by themselves: the same motion as a run's, in time, steered, pulled, and bounded."""

import threading
import time

import numpy as np
import pytest

import engine
from engine import ops
from engine.model import ModelError
from engine.simulation import live as live_module
from engine.simulation.live import BANDWIDTH, Live, Pull, Trace
from engine.spatial import inertia, quaternion

BODY = inertia.from_mass(3.0, [0.1, -0.05, 0.2], np.diag([0.3, 0.5, 0.4]))


def stone(G=BODY):
    builder = engine.Builder("stone")
    builder.add_link("stone", inertia=G)
    return builder.model(floating_base=True)


def arm():
    builder = engine.Builder("arm")
    builder.add_link("base")
    for k, (above, axis) in enumerate((("base", [0, 0, 1]), ("link1", [0, 1, 0]), ("link2", [0, 1, 0]))):
        builder.add_link(f"link{k + 1}", inertia=inertia.from_mass(2.0, [0.25, 0, 0], np.diag([0.01, 0.05, 0.05])))
        placement = np.eye(4)
        placement[0, 3] = 0.5 * (k > 0)
        builder.add_joint(f"joint{k + 1}", "continuous", above, f"link{k + 1}", axis=axis, placement=placement)
    return builder.model()


def blown(t, q, v, wind):
    return np.concatenate([np.zeros(3), quaternion.to_matrix(q[:4]).T @ wind])


def wait_until(condition, most=10.0):
    end = time.perf_counter() + most
    while not condition():
        assert time.perf_counter() < end, "waited in vain"
        time.sleep(0.002)


AT = np.array([1.0, 0, 0, 0, 0, 0, 2.0])
GOING = np.array([0.3, -0.5, 0.2, 0.1, 0.0, 1.0])


@pytest.fixture(scope="module")
def simulator():
    return engine.Simulator(stone(), forces=[blown], parameters={"wind": np.zeros(3), "mass.stone": 3.0})


@pytest.fixture
def live(simulator):
    with Live(simulator, AT, GOING) as running:
        yield running


# ---------------------------------------------------------------- a step with other parameters


def test_a_step_with_other_parameters_is_a_start_with_them(simulator):
    wind = {"wind": np.array([1.0, -2.0, 4.0])}
    calm = simulator.step(simulator.start(AT, GOING), 40)
    state = simulator.step(calm, 60, wind)
    again = simulator.step(simulator.start(calm.q, calm.v, wind), 60)
    np.testing.assert_allclose([*state.q, *state.v], [*again.q, *again.v], rtol=0, atol=1e-13)
    later = simulator.step(state, 10)                                         # and they hold from then on
    np.testing.assert_allclose(later.q, simulator.step(state, 10, wind).q, rtol=0, atol=0)
    assert np.abs(later.q - simulator.step(calm, 70).q).max() > 1e-3
    assert calm.origin.x is not state.origin.x and np.array_equal(simulator.step(calm, 60).v, simulator.step(calm, 60, {}).v)


def test_where_a_mass_changes_the_velocity_goes_on_and_the_momentum_is_that_of_the_new_mass(simulator):
    before = simulator.step(simulator.start(AT, GOING), 40)
    heavier = simulator.step(before, 1, {"mass.stone": 30.0})
    assert np.abs(heavier.v - before.v).max() < 0.02                          # a step under gravity, not a tenth of it
    again = simulator.step(simulator.start(before.q, before.v, {"mass.stone": 30.0}), 1)
    np.testing.assert_allclose(heavier.v, again.v, rtol=0, atol=1e-14)


def test_where_a_mass_changes_events_are_asked_at_the_time_of_the_state():
    def descent(t, q, v):
        return np.sqrt(q[6] + 20.0 * t) - 100.0                               # no number at t = 0 of a stone that has fallen since

    simulator = engine.Simulator(stone(), parameters={"mass.stone": 3.0}, events=[descent])
    fallen = simulator.step(simulator.start(0 * AT + [1, 0, 0, 0, 0, 0, 0], np.zeros(6)), 1000)
    assert fallen.q[6] < -4.0
    assert simulator.step(fallen, 1, {"mass.stone": 30.0}).q[6] < fallen.q[6]


def test_parameters_of_a_batch(simulator):
    start = simulator.start(np.stack([AT, AT]), np.stack([GOING, -GOING]))
    winds = np.array([[1.0, 0, 0], [0, 2.0, 0]])
    both = simulator.step(start, 20, {"wind": winds})
    for k, sign in enumerate((1.0, -1.0)):
        one = simulator.step(simulator.start(AT, sign * GOING), 20, {"wind": winds[k]})
        assert np.array_equal(both.q[k], one.q) and np.array_equal(both.v[k], one.v)
    same = simulator.step(start, 20, {"wind": winds[0]})
    assert np.array_equal(same.q[0], both.q[0]) and not np.array_equal(same.q[1], both.q[1])


@pytest.mark.parametrize(("parameters", "said"), [
    ({"wnd": np.zeros(3)}, r"no parameter 'wnd' \(did you mean 'wind'\?\)"),
    ({"wind": np.zeros(2)}, r"parameter 'wind' has shape \(2,\); expected \(..., 3\)"),
    ({"wind": np.zeros((5, 3))}, r"parameter 'wind' has leading dimensions \(5,\); expected none, or those of the state, \(\)"),
    ({"wind": [0, np.nan, 0]}, r"parameter 'wind' holds NaN"),
    ({"mass.stone": -1.0}, r"parameter 'mass.stone' is -1"),
])  # fmt: skip
def test_parameters_that_are_none(simulator, parameters, said):
    with pytest.raises(engine.SimulationError, match=said):
        simulator.step(simulator.start(AT, GOING), 1, parameters)


def test_one_more_force(simulator):
    def lift(t, q, v, buoyancy):
        return np.concatenate([np.zeros(3), quaternion.to_matrix(q[:4]).T @ np.array([0.0, 0.0, buoyancy])])

    other = simulator.with_force(lift, {"buoyancy": 3.0 * 9.81})
    motion = other.run(AT, np.zeros(6), 0.1)
    turned = other.run(AT, np.zeros(6), 0.1, parameters={"buoyancy": 0.0})
    fell = simulator.run(AT, np.zeros(6), 0.1)
    assert np.abs(motion.v[-1, 3:]).max() < 0.2 < 0.9 < -fell.v[-1, 5]
    np.testing.assert_allclose(turned.q, fell.q, rtol=0, atol=1e-13)
    assert [c.name for c in other.components] == [*[c.name for c in simulator.components], "lift"]


# ---------------------------------------------------------------- the same motion, in time


def test_it_is_the_same_motion_as_a_run(live):
    wait_until(lambda: live.state.t > 0.15)
    live.pause()
    history = live.history
    run = live.simulator.run(AT, GOING, float(history.t[-1]))
    which = np.round(history.t / live.simulator.dt).astype(int)
    for name in ("t", "q", "v", "vdot"):
        assert np.array_equal(getattr(history, name), getattr(run, name)[which]), name
    assert np.array_equal(history("blown.power"), run("blown.power")[which])
    assert (np.diff(history.t) > 0).all() and len(history) > 3


def test_it_keeps_time(live):
    for speed in (1.0, 20.0, 0.1):
        live.speed = speed
        wait_until(lambda: 0.3 * speed < live.rate < 1.3 * speed)             # the machine may be busy with something else
        t, begun = live.state.t, time.perf_counter()
        time.sleep(0.15)
        assert live.state.t - t <= speed * (time.perf_counter() - begun + live_module.LATE + 0.05)
    assert "of real time" in repr(live)


def test_it_skips_what_it_cannot_compute():
    def slow(t, q, v):
        time.sleep(0.002)
        return np.zeros(6)

    with Live(engine.Simulator(stone(), integrator="cg3", forces=[slow], compiled=False), AT, GOING, speed=100.0) as late:
        wait_until(lambda: late.state.t > 0.005)
        time.sleep(0.2)
        assert 0 < late.rate < 10 and late.error is None
        late.speed = 1e-3
        time.sleep(0.1)                                                       # the turn in hand ends
        t = late.state.t
        time.sleep(0.2)
        assert late.state.t - t <= 2 * late.simulator.dt                      # nothing is made up for


def test_nobody_waits_for_it(live):
    wait_until(lambda: live.rate > 0)
    begun = time.perf_counter()
    for k in range(2000):
        assert live.state.t >= 0.0 and live.parameters
        live.set("wind", [k, 0.0, 0.0])
    assert time.perf_counter() - begun < 2.0                                  # 0.05 s alone
    wait_until(lambda: 1999.0 in live.state.origin.parameters)


# ---------------------------------------------------------------- told what to do


def test_pause_step_resume(live):
    live.pause()
    time.sleep(0.05)
    t = live.state.t
    time.sleep(0.05)
    assert live.state.t == t and live.paused and live.rate == 0.0 and "paused" in repr(live)
    live.step()
    live.step(9)
    wait_until(lambda: round((live.state.t - t) / live.simulator.dt) == 10)
    time.sleep(0.05)
    assert round((live.state.t - t) / live.simulator.dt) == 10
    live.resume()
    wait_until(lambda: live.state.t > t + 0.05)


def test_reset_begins_again_exactly(live):
    first = live.history
    wait_until(lambda: live.state.t > 0.05)
    live.pause()
    live.reset()
    wait_until(lambda: live.state.t == 0.0)
    assert np.array_equal(live.state.q, first.q[0]) and np.array_equal(live.state.v, first.v[0]) and len(live.history) == 1
    live.resume()
    wait_until(lambda: live.state.t > 0.05)


def test_a_parameter_holds_from_when_it_is_set(live):
    live.pause()
    live.reset()
    live.step(20)
    live.set("wind", [0.0, 5.0, 0.0])
    live.step(30)
    wait_until(lambda: round(live.state.t / live.simulator.dt) == 50)
    other = live.simulator
    expected = other.step(other.step(other.start(AT, GOING), 20), 30, {"wind": np.array([0.0, 5.0, 0.0])})
    assert np.array_equal(live.state.q, expected.q) and live.parameters["wind"][1] == 5.0
    live.reset()                                                              # it stays
    live.step(10)
    wait_until(lambda: round(live.state.t / live.simulator.dt) == 10)
    assert np.array_equal(live.state.v, other.step(other.start(AT, GOING, {"wind": [0.0, 5.0, 0.0]}), 10).v)


def test_memory_is_bounded(simulator):
    trace = Trace(simulator, 16)
    state = simulator.start(AT, GOING)
    for _ in range(40):
        state = simulator.step(state, 3)
        trace.append(state)
    motion = trace.trajectory()
    assert len(trace) == len(motion) == 16 and motion.t[-1] == state.t and motion.t[0] == pytest.approx(0.075)
    np.testing.assert_allclose(motion.at([0.1]).q[0], simulator.run(AT, GOING, 0.1).q[-1], rtol=0, atol=1e-9)


# ---------------------------------------------------------------- pulled


def test_effective_mass_of_a_free_body():
    m, I, r = 2.0, 0.05, 0.3
    body = stone(inertia.from_mass(m, np.zeros(3), I * np.eye(3)))
    for point, mobility in ((np.zeros(3), 3 / m), (np.array([0.0, r, 0.0]), 3 / m + 2 * r * r / I)):
        assert engine.dynamics.effective_mass(body, AT, "stone", point) == pytest.approx(3 / mobility)
    assert engine.dynamics.effective_mass(arm(), np.zeros(3), "base", np.zeros(3)) == np.inf


def test_a_pull_is_a_critically_damped_oscillator():
    body = stone(inertia.from_mass(2.0, np.zeros(3), 0.05 * np.eye(3)))
    with Live(engine.Simulator(body, gravity=(0, 0, 0)), AT, np.zeros(6)) as live:
        live.pause()
        target = AT[4:] + [0.4, -0.2, 0.1]
        live.pull("stone", (0, 0, 0), target)
        motion = live.simulator.run(AT, np.zeros(6), 1.0, parameters=live.parameters)
        left = (1 + BANDWIDTH * motion.t) * np.exp(-BANDWIDTH * motion.t)
        np.testing.assert_allclose(motion.q[:, 4:], target - left[:, None] * (target - AT[4:]), rtol=0, atol=1e-9)
        live.step(100)
        wait_until(lambda: live.state.t > 0.0999)
        np.testing.assert_allclose(live.state.q, motion.q[100], rtol=0, atol=1e-14)
        live.release()
        live.step(100)
        wait_until(lambda: live.state.t > 0.1999)
        np.testing.assert_allclose(live.state.v, motion.v[100], rtol=0, atol=1e-14)   # it coasts


def test_an_arm_follows_the_hand_that_pulls_it():
    model = arm()
    q0 = np.array([0.2, 0.5, -0.9])
    with Live(engine.Simulator(model, gravity=(0, 0, 0)), q0, np.zeros(3)) as live:
        live.pause()
        point = np.array([0.5, 0.0, 0.0])
        goal = live.simulator.robot.forward_kinematics(np.array([0.6, 0.1, -1.2]))[-1] @ [*point, 1.0]
        live.pull("link3", point, goal[:3])
        grip = live.parameters["pull.stiffness"]
        live.pull("link3", point, goal[:3] + 0.1)
        assert live.parameters["pull.stiffness"] == grip                      # the hand moves, its grip stays
        live.pull("link3", point, goal[:3])
        motion = live.simulator.run(q0, np.zeros(3), 4.0, parameters=live.parameters)
        tip = (motion.poses()[:, -1] @ [*point, 1.0])[:, :3]
        assert np.linalg.norm(tip[-1] - goal[:3]) < 2e-3
        assert np.linalg.norm(tip[1000:] - goal[:3], axis=1).max() < 0.1
        with pytest.raises(engine.SimulationError, match="link 'base' does not move; expected one that can be pulled"):
            live.pull("base", point, goal[:3])
        with pytest.raises(ModelError, match="link4"):
            live.pull("link4", point, goal[:3])
        with pytest.raises(engine.SimulationError, match=r"'pull.target' has shape \(2,\)"):
            live.pull("link3", point, goal[:2])


def test_the_work_of_a_pull_is_the_energy_it_gives():
    model = arm()
    simulator = engine.Simulator(model, gravity=(0, 0, 0)).with_force(Pull(), Pull.released(model))
    chosen = {"pull.link": [0, 0, 1, 0], "pull.point": [0.1, 0.2, 0.0], "pull.target": [0.3, 0.4, 0.5], "pull.stiffness": 80.0,
              "pull.damping": 3.0}  # fmt: skip
    motion = simulator.run([0.2, 0.5, -0.9], [0.3, -0.2, 0.5], 1.0, parameters=chosen)
    K, _ = motion.energy()
    power, h = motion("pull.power"), motion.t[1]
    work = h / 3 * (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum() + power[-1])
    assert work == pytest.approx(K[-1] - K[0], abs=1e-9) and abs(work) > 0.1


# ---------------------------------------------------------------- errors


def test_what_ends_it_is_told_and_a_reset_begins_again():
    def burst(t, q, v):
        return np.concatenate([np.zeros(5), ops.array([ops.where(t < 0.03, 0.0, ops.sqrt(-1.0 + 0.0 * t))])])

    with Live(engine.Simulator(stone(), forces=[burst]), AT, GOING) as live:
        wait_until(lambda: live.error)
        assert "burst returns NaN or infinity at t = 0.0" in live.error and "ended" in repr(live)
        wait_until(lambda: not live._thread.is_alive())
        assert np.isfinite(live.state.q).all() and live.state.t <= 0.03 and np.isfinite(live.history.v).all()
        live.step(3)                                                          # nobody listens, and nothing breaks
        live.resume()
        live.reset()
        assert live.error is None and live.state.t < 0.03
        wait_until(lambda: live.error)


def test_close_leaves_no_thread(simulator):
    before = threading.active_count()
    running = Live(simulator, AT, GOING)
    assert threading.active_count() == before + 1
    for _ in range(2):
        running.close()
    assert threading.active_count() == before
    with pytest.raises(engine.SimulationError, match=r"parameter 'wind' is set after close\(\)"):
        running.set("wind", np.zeros(3))
    assert running.history.t[-1] == running.state.t


@pytest.mark.parametrize(("what", "said"), [
    ({"q0": np.zeros((2, 7))}, r"q0"),
    ({"v0": np.zeros(5)}, r"v0"),
    ({"speed": 0.0}, r"speed is 0.0; expected simulated seconds in a second, above zero"),
    ({"speed": np.inf}, r"speed is inf"),
    ({"parameters": {"wind": np.zeros((4, 3))}}, r"parameter 'wind' has shape \(4, 3\); expected \(3,\)"),
    ({"parameters": {"breeze": 1.0}}, r"no parameter 'breeze'"),
    ({"simulator": 3}, r"Live got a int; expected a Simulator"),
])  # fmt: skip
def test_what_it_cannot_run(simulator, what, said):
    with pytest.raises(ValueError, match=said):
        Live(**{"simulator": simulator, "q0": AT, "v0": GOING, **what})


def test_callbacks_and_things_that_stand_are_refused():
    def low(t, q, v):
        return q[6]

    low.callback = lambda t, q, v: None
    with pytest.raises(engine.SimulationError, match="the event function low has a callback"):
        Live(engine.Simulator(stone(), events=[low]), AT, GOING)
    table = engine.Builder("table")
    table.add_link("top")
    with pytest.raises(engine.SimulationError, match="nothing of 'table' moves"):
        Live(engine.Simulator(table.model()), np.zeros(0), np.zeros(0))


def test_a_parameter_by_which_a_component_begins_holds_from_the_next_reset():
    """Until then it changes nothing: a blow-down's pressure is that of the fuel with which it began."""
    tank = engine.space.Tank("stone", capacity=60.0, fuel=40.0, pressure=2e6, gas=0.02)
    jet = engine.space.Thrusters("stone", [[0, 0, -1]], [[0, 0, 1]], most=1.0, tank=tank, isp=220.0)
    simulator = engine.Simulator(stone(), dt=0.01, gravity=(0, 0, 0), actuators=[jet, tank], parameters={"tank.fuel": 40.0})
    with Live(simulator, [1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), paused=True) as live:
        for fuel in (-1.0, 61.0):
            with pytest.raises(engine.SimulationError, match=f"'tank.fuel' is {fuel:g} kg, and 60 kg fit in; expected a number"):
                live.set("tank.fuel", fuel)
        assert live.parameters["tank.fuel"] == 40.0
        live.set("tank.fuel", 20.0)
        assert live.state.signals["tank.fuel"] == 40.0
        live.paused = False
        wait_until(lambda: live.state.t > 0.05 or live.error)
        assert (live.error, live.state.signals["tank.pressure"]) == (None, 2e6)
        live.reset()
        wait_until(lambda: live.state.signals["tank.fuel"] == 20.0)
        assert live.error is None
