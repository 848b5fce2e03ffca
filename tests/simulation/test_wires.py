"""Names are the wires: signals of sensors and laws, who reads whom, when, and what is refused."""

import heapq
import itertools
import pickle
import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import Law

DT = 0.001


def cart():
    rail = engine.Builder("rail")
    rail.add_link("world")
    rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    return rail.model()


MODEL = cart()


def gauge(q):
    return q[0]


def slow(t, gauge):
    return {"x": gauge, "t": t}


def mean(memory, gauge, slow):
    return memory[0], np.array([0.5 * (memory[0] + (gauge + slow.x))])


class Both(NamedTuple):
    a: object
    b: object


def pair(mean, count):
    return Both(mean + 1.0, np.array([mean, count]))


def count(memory):
    return memory[0], memory + 1.0


def goal(pair, count, slow):
    return pair.a + 0.25 * count + pair["b"][1] - slow.t


def steer(goal, gauge):
    return np.array([4.0 * (0.5 * goal - gauge)])


#: name -> period, phase and delay in ticks of a millisecond
RATES = {"gauge": (2, 0, 0), "slow": (25, 5, 10), "mean": (5, 0, 5), "count": (7, 3, 0), "pair": (10, 0, 24), "goal": (4, 0, 0),
         "controller": (3, 0, 6)}  # fmt: skip
MEMORY = {"mean": [1.0], "count": [0.0]}


def law(fn, **more):
    period, phase, delay = RATES["controller" if fn is steer else fn.__name__]
    return Law(fn, period=DT * period, phase=DT * phase, delay=DT * delay, memory=MEMORY.get(fn.__name__, ()), **more)


def chain(**more):
    laws = [law(fn) for fn in (goal, pair, count, mean, slow)]
    return engine.Simulator(MODEL, dt=DT, gravity=(0, 0, 0), sensors=[law(gauge)], laws=laws, controller=law(steer), **more)


def by_events(q, steps):
    """The same chain as a queue of events, each of which is a tick or the arrival of a result; ``q`` is where the cart is at each step."""
    order = ["gauge", "count", "slow", "mean", "pair", "goal", "controller"]
    memory = {n: x[0] for n, x in MEMORY.items()}
    now = {"gauge": 0.0, "count": 0.0, "slow": (0.0, 0.0), "mean": 0.0, "pair": (0.0, 0.0, 0.0), "goal": 0.0, "controller": 0.0}

    def says(name, k):
        x = now
        if name in memory:
            said = memory[name]
            memory[name] = 0.5 * (said + (x["gauge"] + x["slow"][0])) if name == "mean" else said + 1.0
            return said
        return {"gauge": lambda: q[k], "slow": lambda: (x["gauge"], k * DT), "pair": lambda: (x["mean"] + 1.0, x["mean"], x["count"]),
                "goal": lambda: x["pair"][0] + 0.25 * x["count"] + x["pair"][2] - x["slow"][1],
                "controller": lambda: 4.0 * (0.5 * x["goal"] - x["gauge"])}[name]()  # fmt: skip

    number, seen = itertools.count(), []
    queue = [(RATES[n][1], 1, order.index(n), next(number), n, None) for n in order]
    heapq.heapify(queue)
    for k in range(steps):
        while queue and queue[0][0] <= k:
            at, is_tick, _, _, name, result = heapq.heappop(queue)
            if not is_tick:
                now[name] = result
                continue
            period, _, delay = RATES[name]
            result = says(name, k)
            if delay:
                heapq.heappush(queue, (at + delay, 0, order.index(name), next(number), name, result))
            else:
                now[name] = result
            heapq.heappush(queue, (at + period, 1, order.index(name), next(number), name, None))
        seen.append(np.hstack([np.ravel(now[n]) for n in order]))
    return np.array(seen)


@pytest.fixture(scope="module")
def simulator():
    return chain()


@pytest.fixture(scope="module")
def flown(simulator):
    return simulator.run([0.3], [0.1], 0.2)


def columns(run):
    s = run.signals
    return np.column_stack([s["gauge"], s["count"], s["slow.x"], s["slow.t"], s["mean"], s["pair.a"], s["pair.b"], s["goal"], run.tau])


def test_six_laws_at_six_rates_are_a_queue_of_events_to_the_bit(flown):
    found = by_events(flown.q[:, 0], len(flown.t))
    np.testing.assert_array_equal(columns(flown), found)
    assert all(len(np.unique(x)) > 5 for x in found.T)                        # nothing stood still


def test_plain_and_batch_and_resumed_are_the_same(simulator, flown, tmp_path):
    plain = chain(compiled=False).run([0.3], [0.1], 0.06)
    np.testing.assert_allclose(columns(plain), columns(flown)[:61], rtol=0, atol=1e-12)
    batch = simulator.run(np.array([[0.1], [0.3], [0.2]]), [0.1], 0.2)
    np.testing.assert_array_equal(batch.signals["pair.b"][1], flown.signals["pair.b"])
    path = simulator.run([0.3], [0.1], 0.07, out=tmp_path / "run.h5")
    simulator.resume(path, 0.2)
    np.testing.assert_array_equal(columns(engine.load_trajectory(path)), columns(flown))
    state = simulator.step(simulator.start([0.3], [0.1]), 137)
    assert state.signals["goal"] == flown.signals["goal"][137]
    again = pickle.loads(pickle.dumps(simulator))
    assert again.step(again.start([0.3], [0.1]), 137).signals["goal"] == flown.signals["goal"][137]


def test_nothing_is_other_where_nothing_is_asked():
    without = engine.Simulator(MODEL, dt=DT, controller=lambda t, q, v: -q)
    same = engine.Simulator(MODEL, dt=DT, controller=lambda t, q, v: -q, sensors=[], laws=[])
    assert [p.key for p in same.programs.values()] == [p.key for p in without.programs.values()]


def test_what_is_not_held_is_asked_at_every_stage():
    """A guide that is a function of t, read at every stage, is the same as within the controller."""

    def guide(t):
        return engine.ops.sin(3.0 * t)

    def apart(q, v, guide):
        return 8.0 * (guide - q) - v

    both = [engine.Simulator(MODEL, dt=0.01, gravity=(0, 0, 0), **more).run([0.0], [0.0], 0.5) for more in (
        {"laws": [guide], "controller": apart}, {"controller": lambda t, q, v: 8.0 * (engine.ops.sin(3.0 * t) - q) - v})]  # fmt: skip
    np.testing.assert_array_equal(both[0].q, both[1].q)
    np.testing.assert_allclose(both[0].signals["guide"], np.sin(3.0 * both[0].t), rtol=0, atol=4e-16)    # two ulp: the engine's sine


def test_a_circle_goes_on_from_what_is_remembered():
    """s⁺ = s + y, y = 2 s: who remembers is read from before; its first value is read first."""
    both = [Law(lambda y, memory: (memory[0] + y, memory + y), name="sum", memory=[1.0], period=0.01, initial=1.0),
            Law(lambda sum: 2.0 * sum, name="y", period=0.01)]  # fmt: skip
    run = engine.Simulator(MODEL, dt=0.01, laws=both).run([0.0], [0.0], 0.04)
    np.testing.assert_array_equal(run.signals["y"], [2.0, 6.0, 18.0, 54.0, 162.0])
    np.testing.assert_array_equal(run.signals["sum"], [3.0, 9.0, 27.0, 81.0, 243.0])


def test_forces_and_events_and_environments_read_signals():
    clock = Law(lambda memory: ({"n": memory[0]}, memory + 1.0), name="clock", memory=[0.0], period=0.01)
    run = engine.Simulator(MODEL, dt=0.01, laws=[clock], forces=[lambda clock: np.array([2.0 * clock.n])],
                           events=[lambda clock: clock["n"] - 6.5]).run([0.0], [0.0], 1.0)  # fmt: skip
    np.testing.assert_allclose(run.t[-1], 0.07, atol=1e-9)
    np.testing.assert_allclose(run.vdot[1:6, 0], np.arange(1.0, 6.0))
    pytest.importorskip("gymnasium")
    from engine.gymnasium import VectorEnv

    simulator = engine.Simulator(MODEL, dt=0.01, laws=[clock], controller=lambda t, q, v, action: action, parameters={"action": [0.0]})
    env = VectorEnv(simulator, 2, observation=lambda clock: np.array([clock.n]), reward=lambda t, q, v: -q[0], horizon=1.0)
    env.reset(seed=0)
    seen = [float(env.step(np.zeros((2, 1)))[0][0, 0]) for _ in range(3)]
    assert seen == [1.0, 2.0, 3.0]


def test_a_simulator_is_listed_and_drawn(simulator, tmp_path):
    assert ("signals: gauge of the true q (every 0.002 s), count (every 0.007 s from 0.003 s), "
            "slow of gauge (every 0.025 s from 0.005 s, 0.01 s late), "
            "mean of gauge and slow (every 0.005 s, 0.005 s late), ") in repr(simulator)  # fmt: skip
    picture = simulator.diagram()
    root = ET.fromstring(picture)
    titles = {t.text for t in root.iter("{http://www.w3.org/2000/svg}title")}
    assert {"mean reads slow", "controller reads goal", "goal reads pair"} <= titles
    assert len(titles) == sum(map(len, (["gauge"], ["gauge", "slow"], ["mean", "count"], ["pair", "count", "slow"], ["goal", "gauge"])))
    assert picture.save(tmp_path / "chain.svg").read_text() == picture == picture._repr_svg_()


def gyro(noise):
    return noise(1)


@pytest.mark.parametrize(("given", "text"), [
    ({"laws": [Law(lambda gauge, memory: (gauge, memory), name="filter", memory=[0.0])]}, "filter asks for 'gauge'; expected some of"),
    ({"sensors": [gauge], "laws": [Law(lambda gage: gage, name="f")]}, r"f asks for 'gage' \(did you mean 'gauge'\?\)"),
    ({"sensors": [gauge], "controller": lambda t, guage: 0.0}, r"<lambda> asks for 'guage' \(did you mean 'gauge'\?\)"),
    ({"sensors": [gauge], "laws": [Law(count, memory=[0.0], name="gauge")]}, "two signals are named 'gauge'; expected one maker of each"),
    ({"sensors": [gauge], "parameters": {"gauge": 1.0}}, "a signal and a parameter are named 'gauge'"),
    ({"laws": [Law(gauge, name="vdot")]}, "a signal is named 'vdot', which functions have anyway"),
    ({"laws": [lambda t: t]}, "a law is named '<lambda>', by which no function can ask for it"),
    ({"laws": [3.0]}, "a law is 3.0; expected a function, a Law"),
    ({"laws": [Law(lambda b: b, name="a"), Law(lambda c: c, name="b"), Law(lambda a: a, name="c")]},
     "'a' → 'c' → 'b' → 'a': these signals read each other at one tick; expected one of them with a memory or a delay, and initial="),
    ({"laws": [Law(lambda a: a, name="a", period=0.1)]}, "'a' → 'a': these signals read each other"),
    ({"laws": [Law(lambda t: t, name="a", initial=1.0)]}, "a has an initial value, and is asked at every stage"),
    ({"laws": [Law(lambda t: t, name="a", initial=[1.0], period=0.1)]}, r"a begins with shape \(1,\), and says shape \(\)"),
    ({"laws": [Law(lambda t: t, name="a", period=1e-4)]}, "Law period 0.0001 s of a is shorter than dt 0.001 s"),
    ({"laws": [Law(lambda t: t, name="a", period=0.1, delay=1e3)]}, "a: a delay of 1000 s is 10000 of its periods.* expected 1000 at most"),
    ({"laws": [Law(lambda t: t, name="a", period=0.1, python=True)]}, "a makes a signal in plain Python"),
    ({"laws": [Law(lambda t: {"a b": t}, name="a")]}, "a says something by the name 'a b'; expected names that a program may have"),
    ({"laws": [Law(lambda t: {"x": t}, name="a")], "controller": lambda t, a: a.y}, "the signal 'a' has no part 'y'; expected some of x"),
    ({"laws": [Law(lambda t: np.nan, name="a")]}, "a returned .*; expected finite numbers"),
])  # fmt: skip
def test_what_is_refused(given, text):
    with pytest.raises(engine.SimulationError, match=text):
        engine.Simulator(MODEL, dt=DT, **given)


def test_a_phase_wants_a_period():
    with pytest.raises(engine.SimulationError, match="gauge has a phase, and no period that it shifts"):
        Law(gauge, phase=0.1)


def test_held_signals_are_refused_where_nothing_is_held(simulator):
    with pytest.raises(engine.SimulationError, match="held from step to step: 'gauge'"):
        simulator.solve([0.0], [0.0], 1.0)
    with pytest.raises(engine.SimulationError, match=r"has a (memory|delay), which A does not know"):
        simulator.linearize([0.0], [0.0])
    solution = engine.Simulator(MODEL, laws=[Law(lambda t: t, name="a")], controller=lambda a: np.array([a])).solve([0.0], [0.0], 1.0)
    np.testing.assert_allclose(solution(1.0)[0], 1.0 / 12.0, atol=1e-9)


def test_what_ticks_together_is_one_branch_to_the_bit():
    """Makers of one period and phase are asked at once, unless one between them reads or is read; they say what a queue of
    events does above, and plain Python here."""

    def ahead(gauge):
        return 2.0 * gauge

    def slower(ahead):
        return ahead + 1.0

    def after(slower, gauge):
        return slower - gauge

    def beside(v):
        return v[0]

    laws = [Law(gauge, period=0.01), Law(slower, period=0.03), Law(ahead, period=0.01), Law(after, period=0.01), Law(beside, period=0.01)]
    simulator = engine.Simulator(MODEL, dt=DT, gravity=(0, 0, 0), laws=laws, controller=lambda after: np.array([-after]))
    groups = [[c.name for c in group] for group in simulator.plant.at_once if group[0].name not in ("controller", "drive")]
    assert groups[:3] == [["gauge", "ahead"], ["slower"], ["after", "beside"]]
    plain = engine.Simulator(MODEL, dt=DT, gravity=(0, 0, 0), laws=laws, controller=lambda after: np.array([-after]), compiled=False)
    a, b = (x.run([0.3], [0.1], 0.2) for x in (simulator, plain))
    for name in ("gauge", "slower", "ahead", "after", "beside"):
        np.testing.assert_allclose(a.signals[name], b.signals[name], rtol=1e-13)
        assert (np.diff(a.signals[name]) != 0.0).sum() <= (7 if name == "slower" else 20)


def test_plain_python_reads_signals_as_compiled_code_does():
    """Of the same samples it says the same, alone, in a batch, and on floats; it reads none that feels what is said."""
    def law(t, slow, mean):
        return np.stack([-slow.x - 0.5 * mean + 0.1 * t], axis=-1)

    def run(python, q, compiled=True):
        simulator = engine.Simulator(MODEL, dt=DT, gravity=(0, 0, 0), sensors=[engine.sensors.Encoder("slide", noise=0.01, period=0.003)],
                                     laws=[Law(read, period=0.005, name="slow"), Law(average, period=0.002, memory=[0.2], name="mean")],
                                     controller=Law(law, period=0.01, python=python), compiled=compiled)  # fmt: skip
        return simulator.run(q, [0.1], 0.1, parameters={"noise.seed": 3.0, "noise.run": 0})

    def read(t, encoder):
        return {"x": encoder, "t": t}

    def average(memory, encoder, slow):
        return memory[0], np.array([0.5 * (memory[0] + encoder + slow.x)])

    own = run(True, [0.3])
    np.testing.assert_allclose(own.q, run(False, [0.3]).q, rtol=1e-14)
    np.testing.assert_allclose(own.q, run(True, [0.3], False).q, rtol=1e-13)
    batch = run(True, [[0.3], [0.4]])
    np.testing.assert_array_equal(batch.q[0], own.q)
    assert (batch.q[1, -1] != own.q[-1]).any()
    with pytest.raises(engine.SimulationError, match="law is plain Python, and reads 'accelerometer', which feels what is commanded"):
        engine.Simulator(MODEL, dt=DT, sensors=[engine.sensors.Accelerometer("cart")], controller=Law(
            lambda accelerometer: accelerometer[:1], period=0.01, python=True, name="law")).run([0.0], [0.0], 0.1)  # fmt: skip


def test_sensors_of_bodies_that_would_be_rows_are_told():
    one = engine.Builder("box")
    one.add_link("box", inertia=engine.spatial.inertia.box(1.0, [0.2, 0.2, 0.2]))
    many = engine.combine(**{f"b{k}": one.model(floating_base=True) for k in range(40)})
    with pytest.warns(engine.SimulationWarning, match="40 bodies or robots that are equal and .* rows of tables; sensors join them"):
        engine.Simulator(many, dt=DT, sensors=[engine.sensors.Gyro("b0/box")])


def test_who_reads_the_truth_is_said_and_shown():
    """A law and a controller of q and v stand beside those of signals; a sensor's truth is its own."""
    sensor = engine.sensors.Encoder("slide", period=0.01)

    def watch(encoder, v, pose):
        return encoder + 0.0 * v[0] + 0.0 * pose("cart")[0, 3]

    knows = engine.Simulator(MODEL, dt=DT, sensors=[sensor], laws=[gauge, watch], controller=lambda t, q, v: -v)
    assert ("signals: encoder (every 0.01 s), gauge of the true q (at every stage), watch of encoder and the true v, pose "
            "(at every stage); acting: controller of the true q, v>") in repr(knows)  # fmt: skip
    blind = engine.Simulator(MODEL, dt=DT, sensors=[sensor], controller=lambda encoder: np.array([-encoder]))
    assert "acting: controller of encoder>" in repr(blind)

    def boxes(simulator):
        return [g for g in ET.fromstring(simulator.diagram()).iter() if g.tag.endswith("}g")]

    told = {g[1].text: (g[2].text, "t" in g.get("class").split()) for g in boxes(knows)}
    assert told == {"encoder": ("every 0.01 s", False), "gauge": ("at every stage, reads true q", True),
                    "watch": ("at every stage, reads true v, pose", True),
                    "controller": ("at every stage, reads true q, v", True)}  # fmt: skip
    assert not any("t" in g.get("class").split() for g in boxes(blind))


def test_parameters_before_a_signal_are_those_parameters():
    """A function whose names are all known is called by them, wherever the signal stands among them."""
    given = {"push": [1.0, 2.0], "coil": 3.0, "mom": 4.0}

    def control(push, coil, mom, gauge):
        return (push[0] + push[1] + coil + mom + gauge) * np.ones(MODEL.nv)

    made = engine.Simulator(MODEL, dt=DT, laws=[gauge], controller=control, parameters=given)
    other = engine.Simulator(MODEL, dt=DT, laws=[gauge], controller=lambda gauge, mom, coil, push: control(push, coil, mom, gauge),
                             parameters=given)  # fmt: skip
    q, v = MODEL.neutral(), np.zeros(MODEL.nv)
    run = made.run(q, v, 10 * DT)
    assert (run.tau[:, -1] >= 10.0).any()
    np.testing.assert_array_equal(run.q, other.run(q, v, 10 * DT).q)


def test_of_many_that_act_a_few_are_named():
    model = engine.load(engine.example("seven_joint_arm"))
    laws = [engine.Law(lambda t, q, v: -v, name=f"brake {k}") for k in range(9)]
    assert "acting: friction, brake 0, brake 1, brake 2, brake 3, brake 4, 4 others>" in repr(engine.Simulator(model, forces=laws))


@pytest.mark.parametrize(("where", "k"), [("controller", ...), ("forces", ...), ("events", 0)])
def test_a_name_like_a_signal_s_is_not_taken_for_a_velocity(where, k):
    """A function that asks for no signal by its right name is called as (t, q, v)."""
    def make(fn):
        engine.Simulator(MODEL, dt=DT, laws=[gauge], **{where: fn if where == "controller" else [fn]})

    with pytest.raises(engine.SimulationError, match=r"'gaugee' is v \(did you mean 'gauge'\?\); expected names of signals"):
        make(lambda t, q, gaugee: -gaugee[k])
    with pytest.warns(engine.SimulationWarning, match=r"'torque' is v, and none of the signals gauge; expected 'v' for it"):
        make(lambda t, q, torque: -torque[k])
    for fn in (lambda t, q, v: -v[k], lambda _, q, qd: -qd[k], lambda time, x, velocity: -velocity[k], lambda *given: -given[2][k]):
        make(fn)


def test_without_signals_names_in_places_are_free():
    engine.Simulator(MODEL, dt=DT, controller=lambda t, here, there: -there)
