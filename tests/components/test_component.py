"""Components of a user's own: what they must be, and what they return, is refused by name where it is not so."""

import re

import numpy as np
import pytest

import engine
from engine.simulation import Component, Effect, SimulationError
from tests.simulation.test_simulator import pendulum


@pytest.mark.parametrize(("attributes", "returned", "text"), [
    ({"name": ""}, Effect(), "a component of the class Own has no name; expected one, by which its signals are recorded"),
    ({"memory": [0.0, 1.0]}, Effect(), "the memory of 'own' is [0.0, 1.0]; expected a NumPy array (n) of finite numbers"),
    ({"state": np.eye(2)}, Effect(), "the state of 'own' is array([[1., 0.], [0., 1.]]); expected a NumPy array (n) of finite numbers"),
    ({"memory": np.array([np.nan])}, Effect(), "the memory of 'own' holds NaN or infinity; expected finite numbers"),
    ({"memory": np.zeros(2), "update": lambda *_: np.zeros(3)}, Effect(), "update of 'own' returned a memory of shape (3,); expected (2,)"),
    ({}, Effect(tau=np.zeros(3)), "act of 'own' returned a tau of shape (3,); expected (1,)"),
    ({}, Effect(tau=1.0), "act of 'own' returned a tau of shape (); expected (1,)"),
    ({}, Effect(wrenches={"bob": np.zeros(3)}), "act of 'own' returned a wrench on 'bob' of shape (3,); expected (6,)"),
    ({"state": np.zeros(2)}, Effect(), "act of 'own' returned a rate of 0 numbers; expected 2, one for each of its state"),
    ({"state": np.zeros(2)}, Effect(rate=np.zeros(3)), "act of 'own' returned a rate of 3 numbers; expected 2, one for each of its state"),
    ({}, {"signal": 1.0}, "act of 'own' returned dict; expected an engine.simulation.Effect"),
    ({}, Effect(signals={"mode": "fast"}), "act of 'own' returned 'fast' as its signal 'mode'; expected numbers"),
    ({}, Effect(signals={"x": np.ones(2), "mode": [1.0, "b"]}), "act of 'own' returned [1.0, 'b'] as its signal 'mode'; expected numbers"),
    ({}, Effect(signals={"mode": None}), "act of 'own' returned None as its signal 'mode'; expected numbers"),
    ({}, Effect(signals={"mode": [[1.0], [1.0, 2.0]]}), "act of 'own' returned [[1.0], [1.0, 2.0]] as its signal 'mode'; expected numbers"),
    ({}, Effect(signals=[1.0]), "act of 'own' returned [1.0] as its signals; expected a dictionary"),
    ({}, Effect(tau=["b"]), "act of 'own' returned ['b'] as its tau; expected numbers"),
    ({"memory": np.zeros(1), "update": lambda *_: ["b"]}, Effect(), "update of 'own' returned ['b']; expected numbers"),
    ({}, Effect(commands={"drive": np.ones(1)}), "'own' commands 'drive'; expected a controller that does"),
    ({}, Effect(commands={"tau": np.ones(1)}), "'own' commands 'tau'; expected a controller that does"),
])  # fmt: skip
@pytest.mark.parametrize("compiled", [True, False])
def test_what_a_component_must_be(attributes, returned, text, compiled):
    own = type("Own", (Component,), {"name": "own", "act": lambda *_: returned} | attributes)
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        engine.Simulator(pendulum(), dt=1e-3, forces=[own()], compiled=compiled).run([0.1], [0.0], 2e-3)


@pytest.mark.parametrize(("parts", "text"), [
    ({"actuators": [Effect(commands={"drive": np.ones(1)})]}, "'own' commands 'drive'; expected some of tau, which take commands and come"),
    ({"actuators": [Effect(commands={"tua": np.ones(1)})]}, "'own' commands 'tua' (did you mean 'tau'?); expected some of tau, which take"),
    ({"controller": lambda t, q, v: {"drive": np.ones(1)}}, "<lambda> commands 'drive'; expected some of tau"),
])  # fmt: skip
@pytest.mark.parametrize("compiled", [True, False])
def test_commands_to_what_takes_none_are_refused(parts, text, compiled):
    """The joints' limits take theirs as "tau"."""
    own = {n: [type("Own", (Component,), {"name": "own", "act": lambda *_, e=e: e})() for e in x] if isinstance(x, list) else x
           for n, x in parts.items()}  # fmt: skip
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}"):
        simulator = engine.Simulator(pendulum(), dt=1e-3, compiled=compiled, **own)
        simulator.step(simulator.start([0.1], [0.0]))


def test_commands_of_a_component_go_to_those_after_it():
    pull = type("Pull", (Component,), {"name": "pull", "act": lambda self, s, *_: Effect(commands={"tau": np.ones(1)})})
    v = [engine.Simulator(pendulum(), dt=1e-3, **parts).run([0.1], [0.0], 2e-3).v
         for parts in ({"actuators": [pull()]}, {"controller": lambda t, q, v: np.ones(1)})]  # fmt: skip
    assert v[0][-1] == v[1][-1] != 0.0
