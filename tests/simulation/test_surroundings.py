"""What functions read besides their arguments: found, and a change of it said where machine code has the old value."""

import argparse
import array
import collections
import dataclasses
import functools
import importlib
import pickle
import re
import types

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

import engine
from engine.components.actuators import ReactionWheels
from engine.components.component import Component, Effect
from engine.components.forces import JointSpring
from engine.simulation.surroundings import Code, changed, surroundings
from tests.simulation.test_events import UP, ball
from tests.simulation.test_simulator import pendulum

GAIN = 1.0
AWAY = {"gravity": (0.0, 0.0, 0.0)}
SAID = "when it was compiled, which machine code goes on with; expected a parameter for what changes from run to run"


def by_global(t, q, v):
    return -GAIN * v


class Tuned:
    base = 1.0

    def __init__(self):
        self.gains, self.calls = {"d": np.array([1.0])}, 0

    def __call__(self, t, q, v):
        self.calls += 1                                                        # counts, and nothing comes of it
        return -self.base * self.gains["d"] * v


def test_all_that_a_function_reads_is_found():
    tuned, default = Tuned(), 3.0

    def f(t, q, v, k=default, *, d=4.0):
        return functools.partial(by_global, t)(q, v) + tuned(t, q, v)

    read = surroundings([("f", f)])
    found = {name.partition(": ")[2]: np.ravel(x).tolist() for name, x in read.items() if not isinstance(x, (str, Code))}
    assert found == {"tuned.base": [1.0], "tuned.gains['d']": [1.0], "tuned.calls": [0], "default 0": [3.0], "default 1": [4.0],
                     "by_global.GAIN": [1.0]}  # fmt: skip
    assert not changed({"a": np.nan, "b": np.eye(2)}, {"a": np.nan, "b": np.eye(2)})
    assert changed({"a": 1.0}, {}) == ["a is 'nothing', and was 1.0"]


def test_an_attribute_is_no_global_of_the_same_name():
    """np.pi reads no global pi, whatever that is: as a network that is called so."""
    class Network:
        requires_grad = True

        def __array__(self):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

        def detach(self):
            return self

        def cpu(self):
            return np.ones(2)

    scope = {"np": np, "pi": Network(), "e": Network()}
    exec("def f(t, q, v):\n    return np.pi * q", scope)
    assert [name for name in surroundings([("f", scope["f"])]) if "pi" in name] == []
    exec("def g(t, q, v):\n    return e(q)", scope)
    assert surroundings([("g", scope["g"])])["g: e.values"].tolist() == [1.0, 1.0]


def test_a_circle_ends():
    loop: list = [1.0]
    loop.append(loop)
    found = surroundings([("f", lambda t: loop)])
    assert [(name, x) for name, x in found.items() if name != "f"] == [
        ("f: loop", "2 entries"), ("f: loop[0]", 1.0), ("f: loop[1]", "the same as loop")]


@dataclasses.dataclass(slots=True)
class Slotted:
    k: float = 1.0


class Given:
    """Gives every name that it was given, and another error than AttributeError for others."""

    def __init__(self, **of):
        self.__dict__["of"] = of

    def __getattr__(self, name):
        return self.__dict__["of"][name]


class Holder:
    table = {"a": 1.0}


def held():
    """Name -> a function that reads 1.0 somewhere, and how that becomes 2.0."""
    slotted, frame, queue, module = Slotted(), pd.DataFrame({"k": [1.0]}), collections.deque([1.0]), types.ModuleType("engine_gains")
    spline, deep = CubicSpline([0, 1, 2], [0, 1, 4]), {"a": {"a": {"a": {"a": {"a": {"a": 1.0}}}}}}
    module.table, module.slotted = {"a": 1.0}, Slotted()
    space, parsed, raw, given = types.SimpleNamespace(k=1.0), argparse.Namespace(k=1.0), array.array("d", [1.0]), Given(k=1.0)
    module.within = types.ModuleType("engine_gains.within")
    module.within.gain = 1.0

    def new():
        module.helper = lambda q: 2.0 * q

    module.helper = lambda q: 1.0 * q
    return {
        "slots": (lambda q: slotted.k * q, lambda: setattr(slotted, "k", 2.0), "slotted.k is 2.0, and was 1.0"),
        "frame": (lambda q: frame["k"][0] * q, lambda: frame.__setitem__("k", 2.0), "frame.values is [[2.]], and was [[1.]]"),
        "queue": (lambda q: queue[0] * q, lambda: queue.__setitem__(0, 2.0), "queue is deque([2.0]), and was deque([1.0])"),
        "spline": (lambda q: spline.c[0, 0] * q, lambda: spline.c.fill(2.0), "spline._c is [[2. 2.] [2. 2.]"),
        "deep": (lambda q: deep["a"]["a"]["a"]["a"]["a"]["a"] * q, lambda: deep["a"]["a"]["a"]["a"]["a"].update(a=2.0),
                 "deep['a']['a']['a']['a']['a']['a'] is 2.0, and was 1.0"),
        "table": (lambda q: module.table["a"] * q, lambda: module.table.update(a=2.0), "module.table['a'] is 2.0, and was 1.0"),
        "object": (lambda q: module.slotted.k * q, lambda: setattr(module.slotted, "k", 2.0), "module.slotted.k is 2.0, and was 1.0"),
        "namespace": (lambda q: space.k * q, lambda: setattr(space, "k", 2.0), "space.k is 2.0, and was 1.0"),
        "arguments": (lambda q: parsed.k * q, lambda: setattr(parsed, "k", 2.0), "parsed.k is 2.0, and was 1.0"),
        "array": (lambda q: raw[0] * q, lambda: raw.__setitem__(0, 2.0), "raw is b"),
        "every name": (lambda q: given.k * q, lambda: given.of.update(k=2.0), "given.of['k'] is 2.0, and was 1.0"),
        "package": (lambda q: module.within.gain * q, lambda: setattr(module.within, "gain", 2.0),
                    "module.within.gain is 2.0, and was 1.0"),
        "class": (lambda q: Holder.table["a"] * q, lambda: Holder.table.update(a=2.0), "Holder.table['a'] is 2.0, and was 1.0"),
        "function": (lambda q: module.helper(q), new, "module.helper is another function now, and was not"),
    }  # fmt: skip


@pytest.mark.parametrize("name", held())
def test_wherever_it_is_held_a_change_is_seen(name, monkeypatch):
    monkeypatch.setattr(Holder, "table", {"a": 1.0})
    f, change, words = held()[name]
    simulator = engine.Simulator(pendulum(), controller=lambda t, q, v: -f(q))
    simulator.run([0.1], [0.0], 0.01)
    change()
    with pytest.raises(engine.SimulationError, match=re.escape(words)):
        simulator.run([0.1], [0.0], 0.01)


def test_components_belong_to_one_simulator_each():
    """Two may be made with the same: neither is changed by the other, whatever its model and step."""
    spring, wheels = JointSpring("pivot", 3.0), ReactionWheels("ball", torque=2.0, momentum=0.05)
    one = engine.Simulator(pendulum(), forces=[spring], dt=1e-2)
    before = one.run([0.3], [0.0], 0.1).q
    two_links = engine.Builder("two")
    two_links.add_link("base")
    for above, link, joint in (("base", "a", "first"), ("a", "b", "pivot")):
        two_links.add_link(link, inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        two_links.add_joint(joint, "revolute", above, link, axis=[0, 1, 0])
    engine.Simulator(two_links.model(), forces=[spring], dt=5e-3)
    np.testing.assert_array_equal(one.run([0.3], [0.0], 0.1).q, before)
    steps = [engine.Simulator(ball(), actuators=[wheels], dt=dt, **AWAY) for dt in (1e-2, 1e-1)]
    assert [s.components[0].time for s in steps] == [0.02, 0.2] and not hasattr(wheels, "time")


class Sprung(engine.RigidBody):
    mass, inertia, k, calls = 10.0, np.eye(3), 1.0, 0

    def forces(self, x, u, t):
        self.calls += 1
        return -self.k * self.position(x)


@pytest.mark.parametrize("change", ["k", "mass", "inertia", "class"])
def test_a_compiled_body_that_changes_is_said(change, monkeypatch):
    body = Sprung()
    system = engine.compile(body)
    x, u = body.build_state(position=[1.0, 0, 0]), np.zeros(0)
    assert system.dynamics(x, u, 0.0)[10] == -0.1 and system.jacobians(x, u, 0.0)[0][10, 4] == -0.1
    system._kept.looked = 0.0
    assert system.dynamics(x, u, 0.0)[10] == -0.1                              # calls are counted, and nothing comes of it
    if change == "class":
        monkeypatch.setattr(Sprung, "k", 7.0)
    else:
        setattr(body, change, {"k": 7.0, "mass": 7.0, "inertia": 7.0 * np.eye(3)}[change])
    for use in (lambda: system.dynamics, lambda: system.discrete_dynamics, lambda: system.simulate(x, 0.1), lambda: system.solve(x, 0.1),
                lambda: system.discrete_jacobians(x, u, 0.0, 0.1)):  # fmt: skip
        system._kept.looked = 0.0
        what = "k" if change == "class" else change
        with pytest.raises(engine.SimulationError, match=f"Sprung: {what} is .*7.*, and was .* or engine.compile anew"):
            use()
    assert engine.compile(body).dynamics(x, u, 0.0)[10] == {"k": -0.7, "mass": -1 / 7, "inertia": -0.1, "class": -0.7}[change]


@pytest.mark.parametrize("change", ["global", "attribute", "array", "class"])
def test_a_gain_that_changes_between_runs_is_said(change, monkeypatch):
    tuned = Tuned()
    control = by_global if change == "global" else tuned
    simulator = engine.Simulator(pendulum(), controller=control)
    state = simulator.start([0.0], [1.0])
    before = simulator.run([0.0], [1.0], 0.1)
    if change == "array":
        tuned.gains["d"][0] = 2.0
        what = "Tuned: gains['d'] is [2.], and was [1.]"
    else:
        place = {"global": f"{__name__}.GAIN", "class": f"{__name__}.Tuned.base"}
        monkeypatch.setattr(*([place[change]] if change in place else [tuned, "base"]), 2.0)
        what = "by_global: GAIN is 2.0, and was 1.0" if change == "global" else "Tuned: base is 2.0, and was 1.0"
    begin = [0.0], [1.0]
    for go_on in (lambda: simulator.run(*begin, 0.1), lambda: simulator.start(*begin), lambda: simulator.solve(*begin, 0.1)):
        with pytest.raises(engine.SimulationError, match=f".*{SAID}") as caught:
            go_on()
        assert str(caught.value).startswith(what)
    simulator.stepper._kept.looked = 0.0                                            # a while ago
    with pytest.raises(engine.SimulationError, match=SAID):
        simulator.step(state)
    assert engine.Simulator(pendulum(), controller=control).run([0.0], [1.0], 0.1).v[-1] < before.v[-1]


def test_what_nothing_comes_of_may_change():
    tuned = Tuned()
    simulator = engine.Simulator(pendulum(), controller=tuned)
    first = simulator.run([0.0], [1.0], 0.1)
    tuned.calls += 100
    np.testing.assert_array_equal(simulator.run([0.0], [1.0], 0.1).q, first.q)


@pytest.mark.parametrize("component", [ReactionWheels("ball"), JointSpring("pivot", 3.0)])
def test_a_component_that_changes_is_said(component):
    wheels = isinstance(component, ReactionWheels)
    simulator = (engine.Simulator(ball(), actuators=[component], **AWAY) if wheels else engine.Simulator(pendulum(), forces=[component]))
    setattr(component, "torque" if wheels else "stiffness", 0.1)
    with pytest.raises(engine.SimulationError, match=f"(torque is 0.1, and was inf|stiffness is 0.1, and was 3.0) {SAID}"):
        simulator.run(*((UP, np.zeros(6)) if wheels else ([0.0], [0.0])), 0.1)


def test_on_floats_a_change_counts():
    tuned = Tuned()
    simulator = engine.Simulator(pendulum(), controller=tuned, compiled=False)
    first = simulator.run([0.0], [1.0], 0.01)
    tuned.gains["d"][0] = 10.0
    assert simulator.run([0.0], [1.0], 0.01).v[-1] < first.v[-1]


class Drifting(Component):
    name, k = "drifting", 1.0

    def act(self, s, state, memory, command):
        self.k += 1.0
        return Effect(tau=-self.k * s.v)


class Noisy(Component):
    name, memory, rng = "noisy", np.zeros(1), np.random.default_rng(0)

    def act(self, s, state, memory, command):
        return Effect(tau=memory)

    def update(self, s, state, memory, command, dt):
        return self.rng.normal(size=1)


@pytest.mark.parametrize("force", [lambda t, q, v, rng=np.random.default_rng(0): rng.normal() * v, Drifting(), Noisy()])
def test_what_changes_from_call_to_call_is_refused(force):
    with pytest.raises(engine.TraceError, match=r"returned something else when it was called again, first in entry .*\[0\]: it depends on"):
        engine.Simulator(pendulum(), forces=[force])


class Counting:
    """Counts its calls before it reads its gain: the counter is no reason to refuse, the gain is one."""

    def __init__(self):
        self.calls, self.gain = 0, 1.0

    def __call__(self, t, q, v):
        self.calls += 1
        return -self.gain * q


def test_of_a_counter_and_a_gain_the_gain_is_named():
    control = Counting()
    simulator = engine.Simulator(pendulum(), controller=control)
    control.gain = 2.0
    for _ in range(3):
        with pytest.raises(engine.SimulationError, match=re.escape("Counting: gain is 2.0, and was 1.0")):
            simulator.run([0.0], [1.0], 0.01)


def test_a_compiled_body_that_has_changed_is_not_pickled():
    body = Sprung()
    system = engine.compile(body)
    system.dynamics(body.build_state(), np.zeros(0), 0.0)
    assert pickle.loads(pickle.dumps(system)).dynamics.signature == system.dynamics.signature
    body.k = 7.0
    with pytest.raises(engine.SimulationError, match=re.escape("Sprung: k is 7.0, and was 1.0")):
        pickle.dumps(system)


IMPORTING = {"a module": "import {0}\n    return -{0}.GAIN * v", "a name": "from {0} import GAIN\n    return -GAIN * v",
             "a module by another name": "import {0} as other\n    return -other.GAIN * v",
             "of a package": "from {1} import {2}\n    return -{2}.GAIN * v", "in a package": "import {0}\n    return -{0}.GAIN * v",
             "beside it": "from . import {2}\n    return -{2}.GAIN * v"}  # fmt: skip


@pytest.mark.parametrize("how", IMPORTING)
def test_what_a_function_imports_is_read_too(how, tmp_path, monkeypatch):
    """Where it is asked for, in the function's body."""
    number, packed = [*IMPORTING].index(how), how in ("of a package", "in a package", "beside it")
    package, module = f"gains_{number}", f"tuning_{number}"
    (folder := tmp_path / package if packed else tmp_path).mkdir(exist_ok=True)
    for name, text in ((f"{module}.py", "GAIN = 1.0"), *[("__init__.py", "")] * packed):
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    whole = importlib.import_module(f"{package}.{module}" if packed else module)
    scope = {"__package__": package, "__name__": f"{package}.{module}_user"} if packed else {}
    exec(f"def brake(t, q, v):\n    {IMPORTING[how].format(whole.__name__, package, module)}", scope)
    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=scope["brake"], **AWAY)
    simulator.run([0.0], [1.0], 0.1)
    monkeypatch.setattr(whole, "GAIN", 2.0)
    with pytest.raises(engine.SimulationError, match=rf"^brake: .*GAIN is 2.0, and was 1.0 {SAID}"):
        simulator.run([0.0], [1.0], 0.1)


SET = {"fn": lambda t, q, v: -2.0 * v, "period": 0.05, "delay": 0.02, "phase": 0.01, "initial": 1.0, "stiff": True, "python": True,
       "memory": np.ones(1), "state": np.ones(1), "name": "other"}  # fmt: skip


@pytest.mark.parametrize("what", SET)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_law_in_which_something_is_set_is_said(what, compiled):
    """Its simulator goes on with what it took; the next takes what is set then."""
    law = engine.Law(by_global, period=0.02)
    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=law, compiled=compiled, **AWAY)
    found = simulator.run([0.0], [1.0], 0.1)
    setattr(law, what, SET[what])
    with pytest.raises(engine.SimulationError, match=rf"^by_global: its law's {what} was set after .*; expected a new Simulator"):
        simulator.run([0.0], [1.0], 0.1)
    if what in ("delay", "phase", "fn", "period"):
        other = engine.Simulator(pendulum(), dt=1e-2, controller=law, compiled=compiled, **AWAY).run([0.0], [1.0], 0.1)
        assert not np.array_equal(found.v, other.v)


def test_a_sensors_law_is_its_own():
    """What ticks of the engine's is taken as it is, alone, with others, and after it was pickled."""
    encoder = pickle.loads(pickle.dumps(engine.sensors.Encoder("pivot", period=0.03, latency=0.01)))
    simulator = pickle.loads(pickle.dumps(engine.Simulator(pendulum(), dt=1e-2, sensors=[encoder], controller=by_global, **AWAY)))
    found = [simulator.run([0.0], [1.0], 0.1) for _ in range(2)]
    assert np.array_equal(found[0].v, found[1].v)
