"""Fingerprints of plain functions: the same in every process, another for anything that does something else."""

import functools
import os
import subprocess
import sys
import types

import numpy as np
import pytest

import engine
from engine import ops
from engine.components.actuators import ReactionWheels
from engine.components.controllers import attitude_control, computed_torque
from engine.components.forces import JointSpring
from engine.simulation.surroundings import fingerprint
from tests.components.test_actuators import satellite
from tests.simulation.test_simulator import pendulum

GAIN = 2.0


def linear(q, k=1.0):
    return -k * q


def of_globals(t, q, v):
    return GAIN * linear(q)


class Stateful:
    """Callable, with attributes and a method; one holds itself."""

    def __init__(self, gain):
        self.gain, self.me = gain, self

    def __call__(self, t, q, v):
        return -self.gain * q

    def other(self, t, q, v):
        return -self.gain * v


def closed(k, more=None):
    def f(t, q, v):
        return -k * q + (0 if more is None else len(more))

    return f


def source(text, **names):
    """A function of a module's text, as it would be imported."""
    module = types.ModuleType("user")
    vars(module).update(names)
    exec(compile(text, "user.py", "exec"), vars(module))
    return module.f


def plain():
    """Things that are told apart, in pairs that are the same."""
    array = np.arange(3.0)
    return [
        (closed(1.0), closed(1.0)), (closed(2.0), closed(2.0)), (closed(np.array([1.0])), closed(np.array([1.0]))),
        (closed(array), closed(array.copy())), (closed(array.astype(int)), closed(array.astype(int))),
        (closed(1.0, [1, 2]), closed(1.0, [1, 2])), (closed(1.0, (1, 2)), closed(1.0, (1, 2))), (closed(1.0, {1, 2}), closed(1.0, {2, 1})),
        (closed(1.0, {"a": 1}), closed(1.0, {"a": 1})), (closed(1.0, {"a": 2}), closed(1.0, {"a": 2})),
        (linear, linear), (functools.partial(linear, k=2.0), functools.partial(linear, k=2.0)), (functools.partial(linear, k=3.0),) * 2,
        (Stateful(1.0), Stateful(1.0)), (Stateful(2.0), Stateful(2.0)), (Stateful(1.0).other, Stateful(1.0).other),
        (Stateful(2.0).other, Stateful(2.0).other), (of_globals, of_globals), (np.sin, np.sin), (np.cos, np.cos), (np.linalg.norm,) * 2,
        (source("def f(t): return t + 1"), source("\n\n# a remark\ndef f(t):\n    return t + 1")),
        (source("def f(t): return t + 2"),) * 2, (source("def f(t, k=2): return t + k"),) * 2, (source("def f(t, k=3): return t + k"),) * 2,
        (source("def f(t): return g(t)", g=linear),) * 2, (source("def f(t): return g(t)", g=closed(2.0)),) * 2,
        (source("def f(t): return (lambda: g)()", g=1),) * 2, (source("def f(t): return (lambda: g)()", g=2),) * 2,
        (engine.Law(linear, [0.0], 0.1), engine.Law(linear, [0.0], 0.1)), (engine.Law(linear, [0.0], 0.2),) * 2,
        (engine.Law(linear, [1.0], 0.1),) * 2, (JointSpring("a", 3.0), JointSpring("a", 3.0)), (JointSpring("a", 4.0),) * 2,
        (engine.Event(of_globals), engine.Event(of_globals)), (engine.Event(of_globals, -1),) * 2,
        (engine.Event(of_globals, 0, linear),) * 2, (engine.gufunc(lambda x: x + 2, "()->()"),) * 2,
        (engine.gufunc(lambda x: x + 1, "()->()"), engine.gufunc(lambda x: 1 + x, "()->()")),
    ]  # fmt: skip


def test_the_same_things_and_different_ones():
    pairs = [tuple(map(fingerprint, pair)) for pair in plain()]
    assert all(a == b for a, b in pairs), [k for k, (a, b) in enumerate(pairs) if a != b]
    assert len({a for a, _ in pairs}) == len(pairs)


def test_in_another_process():
    """Whose strings hash otherwise, so that sets are in another order."""
    code = "from tests.simulation.test_fingerprint import *; print(*[fingerprint(a) for a, _ in plain()])"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONHASHSEED": seed})  # fmt: skip
    assert done.stdout.split() == [fingerprint(a) for a, _ in plain()]


def test_globals_that_change(monkeypatch):
    before = fingerprint(of_globals)
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert fingerprint(of_globals) != before


def test_controllers_of_the_engine_count_by_what_they_enclose():
    """Their code is the engine's; their gains are the user's."""
    model = satellite()
    wheels = ReactionWheels("bus", momentum=5.0)
    one, same, other = (attitude_control(model, wheels, bandwidth=w) for w in (0.2, 0.2, 0.3))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)
    arm = pendulum()
    one, same, other = (computed_torque(arm, lambda t: (np.zeros(1),) * 3, bandwidth=w) for w in (2.0, 2.0, 3.0))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


# ---------------------------------------------------------------- resuming


def interrupted(simulator, path, count=5):
    """A run of 20 steps that was interrupted after so many pieces of two."""
    class Stop(Exception):
        pass

    left = iter(range(count))

    def pieces(records):
        for i in range(0, records, 2):
            if next(left, None) is None:
                raise Stop
            yield i, min(i + 2, records)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr("engine.simulation.run_loop.pieces", pieces)
        simulator.run([0.1], [0.0], 0.2, out=path, overwrite=True)
    return path.read_bytes()


def resumed(simulator, path):
    found = engine.load_trajectory(simulator.resume(path))
    whole = simulator.run([0.1], [0.0], 0.2)
    assert len(found) == len(whole) >= 21 and (found.q == whole.q).all() and (found.vdot == whole.vdot).all()


@pytest.mark.parametrize("what", ["controller", "force", "spring", "law", "event"])
def test_another_plain_function_is_refused(tmp_path, what):
    """compiled=False: the file stays as it is, and goes on with the functions that began it."""
    def simulator(k):
        given = {"controller": {"controller": lambda t, q, v: -k * q}, "force": {"forces": [lambda t, q, v: -k * v]},
                 "spring": {"forces": [JointSpring("pivot", k)]}, "law": {"controller": engine.Law(lambda t, q, v: -v, period=0.01 * k)},
                 "event": {"events": [engine.Event(lambda t, q, v: q[0] - k, 0, None)]}}[what]  # fmt: skip
        return engine.Simulator(pendulum(), dt=1e-2, compiled=False, joint_dynamics=None, **given)

    path = tmp_path / "run.h5"
    before = interrupted(simulator(1.0), path)
    text = r"recorded with other functions in plain Python \(compiled=False\): other code"
    with pytest.raises(engine.SimulationError, match=text) as caught:
        simulator(500.0).resume(path)
    assert str(caught.value).endswith("; expected the simulator that began it") and path.read_bytes() == before
    resumed(simulator(1.0), path)


@pytest.mark.parametrize("compiled", [True, False])
def test_another_callback_is_refused(tmp_path, compiled):
    """The machine code is the same; what is done at an event is not."""
    def simulator(action):
        return engine.Simulator(pendulum(), dt=1e-2, events=[engine.Event(lambda t, q, v: q[0] - 0.05, 0, action)], compiled=compiled)

    def bounce(gain):
        return lambda t, q, v: (q, gain * v)

    path = tmp_path / "run.h5"
    before = interrupted(simulator(bounce(-1.0)), path)
    for other in (bounce(7.0), None, lambda t, q, v: (q, v)):
        with pytest.raises(engine.SimulationError, match="recorded with other functions in plain Python"):
            simulator(other).resume(path)
    assert path.read_bytes() == before
    resumed(simulator(bounce(-1.0)), path)


def test_what_a_callback_collects_is_no_other_function(tmp_path):
    """A list that it fills: the simulator that began the run goes on with it, and so does one that is made anew."""
    def simulator():
        seen = []
        event = engine.Event(lambda t, q, v: q[0] - 0.09, 0, lambda t, q, v: seen.append(t))
        return engine.Simulator(pendulum(), dt=1e-2, events=[event])

    first = simulator()
    interrupted(first, tmp_path / "run.h5", 9)
    (tmp_path / "copy.h5").write_bytes((tmp_path / "run.h5").read_bytes())
    resumed(first, tmp_path / "run.h5")
    resumed(simulator(), tmp_path / "copy.h5")


def test_compiled_functions_are_known_by_their_program(tmp_path):
    """Other code that computes the same goes on; see also the tests of recordings."""
    path = tmp_path / "run.h5"
    interrupted(engine.Simulator(pendulum(), dt=1e-2, controller=lambda t, q, v: -2.0 * ops.sin(q)), path)
    resumed(engine.Simulator(pendulum(), dt=1e-2, controller=lambda t, q, v: ops.sin(q) * -2.0), path)
