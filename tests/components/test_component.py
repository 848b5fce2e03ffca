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
])  # fmt: skip
@pytest.mark.parametrize("compiled", [True, False])
def test_what_a_component_must_be(attributes, returned, text, compiled):
    own = type("Own", (Component,), {"name": "own", "act": lambda *_: returned} | attributes)
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        engine.Simulator(pendulum(), dt=1e-3, forces=[own()], compiled=compiled).run([0.1], [0.0], 2e-3)
