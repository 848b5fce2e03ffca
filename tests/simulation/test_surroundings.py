"""What functions read besides their arguments: found, and a change of it said where machine code has the old value."""

import functools

import numpy as np
import pytest

import engine
from engine.simulation.actuators import ReactionWheels
from engine.simulation.component import Component, Effect
from engine.simulation.forces import JointSpring
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


def test_a_circle_ends():
    loop: list = [1.0]
    loop.append(loop)
    found = surroundings([("f", lambda t: loop)])
    assert [(name, x) for name, x in found.items() if name != "f"] == [
        ("f: loop", "2 entries"), ("f: loop[0]", 1.0), ("f: loop[1]", "the same as loop")]


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
    simulator._looked = 0.0                                                    # a while ago
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


@pytest.mark.parametrize("force", [lambda t, q, v, rng=np.random.default_rng(0): rng.normal() * v, Drifting()])
def test_what_changes_from_call_to_call_is_refused(force):
    with pytest.raises(engine.TraceError, match=r"returned something else when it was called again, first in entry .*\[0\]: it depends on"):
        engine.Simulator(pendulum(), forces=[force])
