"""Phases: who acts when, what leads where, and what is refused."""

import pickle

import numpy as np
import pytest

import engine
from engine import Phases
from tests.simulation.test_wires import cart

MODEL = cart()


def go(v):
    return np.array([2.0 * (1.0 - v[0])])


def back(q, v):
    return np.array([-3.0 - v[0]])


def rest(v):
    return -4.0 * v


def far(q):
    return q[0] > 0.5


def home(q):
    return q[0] < 0.2


def fast(v):
    return abs(v[0]) > 5.0


def flown(phases, seconds=4.0, v0=0.0, **more):
    mode = Phases(phases, period=0.01, **more)
    return mode, engine.Simulator(MODEL, dt=0.01, gravity=(0, 0, 0), laws=[mode], controller=mode.commands).run([0.0], [v0], seconds)


def test_phases_follow_one_another_by_their_conditions():
    """At each record the law of the phase acts, of the state there; a phase begins at the first tick at which a condition holds."""
    mode, run = flown({"go": (go, far), "back": (back, home), "rest": (rest, None)})
    names, s = np.array(mode.named(run.signals["mode.phase"])), run.signals
    assert list(dict.fromkeys(names)) == ["go", "back", "rest"]
    first = np.argmax(names == "back")
    assert run.q[first, 0] > 0.5 >= run.q[first - 1, 0]
    np.testing.assert_allclose(s["mode.since"][names == "back"], run.t[names == "back"] - run.t[first], atol=1e-12)
    laws = {"go": 2.0 * (1.0 - run.v[:, 0]), "back": -3.0 - run.v[:, 0], "rest": -4.0 * run.v[:, 0]}
    np.testing.assert_allclose(run.tau[:, 0], np.select([names == n for n in laws], laws.values()), atol=1e-15)


def test_timeouts_and_aborts_lead_where_they_say():
    mode, run = flown({"go": (go, None), "rest": (rest, None)}, timeout={"go": (1.0, "rest")}, abort=(fast, "rest"))
    names = mode.named(run.signals["mode.phase"])
    assert names.index("rest") == 100
    mode, run = flown({"go": (go, far), "rest": (rest, None)}, abort=(fast, "rest"), v0=6.0)
    assert mode.named(run.signals["mode.phase"])[0] == "rest"


def test_a_fade_passes_commands_on_evenly():
    _, run = flown({"go": (go, far), "back": (back, None)}, fade=0.2)
    k = int(np.argmax(run.signals["mode.phase"] > 0.5))
    w = np.minimum(run.signals["mode.since"][k:] / 0.2, 1.0)
    expected = w * (-3.0 - run.v[k:, 0]) + (1.0 - w) * 2.0 * (1.0 - run.v[k:, 0])
    np.testing.assert_allclose(run.tau[k:, 0], expected, atol=1e-14)
    assert np.abs(np.diff(run.tau[k - 2 :, 0])).max() < 0.5 < abs(-3.0 - 2.0)


def test_branches_batches_and_pickles():
    phases = {"go": (go, {"rest": fast, "back": far}), "back": (back, None), "rest": (rest, None)}
    mode = Phases(phases, period=0.01)
    simulator = engine.Simulator(MODEL, dt=0.01, gravity=(0, 0, 0), laws=[mode], controller=mode.commands)
    both = simulator.run(np.zeros((2, 1)), np.array([[0.0], [6.0]]), 2.0)
    assert [mode.named(x)[-1] for x in both.signals["mode.phase"]] == ["back", "rest"]
    again = pickle.loads(pickle.dumps(simulator)).run([0.0], [0.0], 2.0)
    np.testing.assert_array_equal(again.q, both.q[0])


def test_a_run_knows_its_phases_and_films_and_plots_show_them(tmp_path):
    """Names and times in the run, its rollouts and its file; in what a display shows, and on a figure's axes."""
    mode, run = flown({"go": (go, far), "back": (back, home), "rest": (rest, None)})
    names = np.array(mode.named(run.signals["mode.phase"]))
    starts = [run.t[np.argmax(names == n)] for n in ("go", "back", "rest")]
    assert run.phases() == [("go", 0.0, starts[1]), ("back", starts[1], starts[2]), ("rest", starts[2], run.t[-1])]
    assert engine.load_trajectory(run.save(tmp_path / "run.h5")).phases() == run.phases()
    simulator = engine.Simulator(MODEL, dt=0.01, gravity=(0, 0, 0), laws=[mode], controller=mode.commands)
    both = simulator.run(np.zeros((2, 1)), np.zeros((2, 1)), 4.0)
    assert both.rollout(1).phases() == run.phases()
    with pytest.raises(engine.EngineError, match="phases are of one rollout"):
        both.phases()
    assert engine.Simulator(MODEL, dt=0.01).run([0.0], [0.0], 0.1).phases() == []
    from engine.viewer.display.readings import Readings
    from engine.viewer.scene.actor import Actor

    seen = Readings(Actor(run), 0, ["q.slide"])
    assert [seen.phase(t) for t in (0.0, starts[1], run.t[-1])] == ["go", "back", "rest"]
    assert seen.grouped(1.0)[0].phases == run.phases()
    assert [name for _, name in seen.events] == ["back", "rest"]
    pyplot = pytest.importorskip("matplotlib.pyplot")
    assert {x.get_text() for x in run.plot().axes[0].texts} == {"go", "back", "rest"}
    pyplot.close("all")
    run.plot(tmp_path / "run.png")
    assert not pyplot.get_fignums()


def wide(v):
    return np.zeros(2)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Phases({}), "mode: phases are {}; expected"),
    (lambda: Phases({"go": go}), r"phase 'go' is .*; expected \(law, exit\), and None"),
    (lambda: Phases({"go": (go, None), "rest": (rest, None)}), "phase 'rest' has no way in; expected an exit"),
    (lambda: Phases({"go": (go, far)}), "the exit of 'go', the last phase, leads nowhere; expected None"),
    (lambda: Phases({"go": (go, {"rst": far}), "rest": (rest, None)}), r"leads to 'rst' \(did you mean 'rest'\?\)"),
    (lambda: Phases({"go": (go, 3.0), "rest": (rest, None)}), "the exit of 'go' is 3.0; expected a condition"),
    (lambda: Phases({"go": (go, None)}, timeout={"go": (0.0, "go")}), "the timeout of 'go' is 0.0; expected s above 0"),
    (lambda: Phases({"go": (go, None)}, timeout=5.0), r"mode: timeout is 5.0; expected \(seconds, phase\) by phase"),
    (lambda: Phases({"go": (go, None)}, timeout={"go": 5.0}), r"mode: timeout is .*; expected \(seconds, phase\) by phase"),
    (lambda: Phases({"go": (go, far), "rest": (rest, None)}, abort={"rest": far}), r"mode: abort is .*; expected \(condition, phase\)"),
    (lambda: Phases({"go": (go, far), "rest": (rest, None)}, abort=("rest", far)), r"mode: abort is .*; expected \(condition, phase\)"),
    (lambda: Phases({"go": (go, {"rest": 3.0}), "rest": (rest, None)}), "the exit of 'go' to 'rest' is 3.0; expected a condition"),
    (lambda: Phases({1: (go, None)}), r"mode: phases are .*; expected \(law, exit\) by name"),
    (lambda: Phases({"go": (go, None)}, fade=-1.0), "mode: fade is -1.0; expected s from 0"),
    (lambda: flown({"go": (go, far), "rest": (wide, None)}), r"phase 'rest' says 'tau' of shape \(2,\); expected \(1,\), as another"),
    (lambda: flown({"go": (lambda: {"phase": 1.0}, None)}), "phase 'go' says 'phase', which the mode does"),
    (lambda: flown({"go": (lambda gyro: gyro, None)}), "mode asks for 'gyro'; expected some of"),
])  # fmt: skip
def test_what_is_refused(make, text):
    with pytest.raises(engine.SimulationError, match=text):
        make()
