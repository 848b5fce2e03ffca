"""What whoever writes a sensor gets wrong is one sentence: the sensor, what is wrong, and what was expected; nothing is read in silence."""

import numpy as np
import pytest

import engine
from engine.components.component import Component, Effect
from engine.sensors.sensor import Errors, Mounted
from tests.sensors.test_refusals import GROUND, press

FOUR = "vdot, tau, loads, contacts"


def sensor(true=None, n=None, part="", feels=None, mounted=True, link="tip", name="mine"):
    """A sensor on a link with errors of n numbers, which says what ``true`` does."""

    class Own(Mounted):
        def __init__(self):
            super().__init__(name, None, 0.0, 0.0, {part: Errors(f"{name}.{part}" if part else name, n)})
            if mounted:
                self.mount(link, None)

    if true is not None:
        Own.true = lambda self, s: true(s)
    if feels is not None:
        Own.feels = feels
    return Own()


def ran(*sensors, compiled=True):
    simulator = engine.Simulator(press(), dt=1e-3, sensors=sensors, controller=lambda q, v: 3.0 - v, contacts=GROUND, compiled=compiled)
    return simulator.run([0.3], [0.0], 0.005).signals


PARTS = {"vdot": lambda s: s.felt.vdot[0], "tau": lambda s: s.felt.tau[0], "loads": lambda s: s.felt.loads[-1, 0],
         "contacts": lambda s: s.felt.contacts[-1, 0]}  # fmt: skip


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("part", PARTS)
def test_only_what_is_declared_is_felt(part, compiled):
    """Of four parts the one that is declared is read, as another sensor reads it, and the others are refused, also where another sensor
    feels them."""
    ran(sensor(lambda s: {"": PARTS[part](s)}, feels=(part,)), compiled=compiled)
    for other in set(PARTS) - {part}:
        undeclared = sensor(lambda s: {"": PARTS[part](s)}, feels=(other,))
        asked = "s.vdot" if part == "vdot" else rf"s\.felt\.{part}"
        for beside in ([], [sensor(lambda s: {"": PARTS[part](s)}, feels=(part,), name="who_may")]):
            with pytest.raises(engine.SimulationError, match=rf"'mine' reads {asked}, .*; expected feels = \('{other}', '{part}'\)"):
                ran(*beside, undeclared, compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ticks", [True, False])
def test_a_component_that_is_no_sensor_feels_nothing(part, ticks, compiled):
    """Neither where nobody else feels, nor where a sensor does; it is told how to."""

    class Peeps(Component):
        name, memory = "peeps", np.zeros(int(ticks))

        def act(self, s, state, memory, command):
            return Effect(signals={"x": memory if ticks else PARTS[part](s)})

        def update(self, s, state, memory, command, dt):
            return np.array([PARTS[part](s)])

    for beside in ([], [sensor(lambda s: {"": PARTS[part](s)}, feels=(part,))]):
        with pytest.raises(engine.SimulationError, match=rf"'peeps' reads s\.felt\.{part}, .*; expected .* feels = \('{part}',\)"):
            engine.Simulator(press(), sensors=beside, forces=[Peeps()], contacts=GROUND, compiled=compiled).run([0.3], [0.0], 0.005)


def test_accelerations_are_felt_by_their_short_name():
    both = ran(sensor(lambda s: {"": s.vdot[0]}, feels=("vdot",)), sensor(lambda s: {"": s.felt.vdot[0]}, feels=("vdot",), name="long"))
    np.testing.assert_array_equal(both["mine"], both["long"])
    assert both["mine"].any()


@pytest.mark.parametrize(("own", "text"), [
    (lambda: sensor(lambda s: {"": s.felt.tau[0]}), r"'mine' reads s\.felt\.tau, .*; expected feels = \('tau',\)"),
    (lambda: sensor(lambda s: {"": s.vdot[0]}), r"'mine' reads s\.vdot, .*; expected feels = \('vdot',\)"),
    (lambda: sensor(lambda s: {"": s.felt.load[0]}, feels=("loads",)), rf"'mine' reads s\.felt\.load .*'loads'.*; expected one of {FOUR}"),
    (lambda: sensor(lambda s: {"": s.felt.tau[0]}, feels="tau"),
     rf"mine: feels is 'tau'; expected a tuple of some of {FOUR}, such as \('tau',"),
    (lambda: sensor(lambda s: {"": s.q[0]}, feels=("taw",)), rf"mine: feels is \('taw',\) \(did you mean 'tau'\?\); expected .* {FOUR}"),
    (lambda: sensor(lambda s: s.q[0]), r"the truth of 'mine' is .*; expected a dictionary of its parts, such as \{'': …\}"),
    (lambda: sensor(lambda s: s.q, n=1), "the truth of 'mine' is .*; expected a dictionary"),
    (lambda: sensor(lambda s: {"f": s.q[0]}), "the truth of 'mine' has no part '', of which it has Errors; expected that besides 'f'"),
    (lambda: sensor(lambda s: {}, n=3, part="f"), "the truth of 'mine' has no part 'f', of which it has Errors; expected it"),
    (lambda: sensor(lambda s: {"": np.zeros(2)}), r"mine: the truth has the shape \(2,\); expected \(\), as its Errors say by n=None"),
    (lambda: sensor(lambda s: {"f": np.zeros(2)}, n=3, part="f"), r"mine\.f: the truth has the shape \(2,\); expected \(3,\), .* by n=3"),
    (lambda: sensor(lambda s: {"": 1.0}, n=1), r"mine: the truth has the shape \(\); expected \(1,\), as its Errors say by n=1"),
    (lambda: sensor(lambda s: {"": None}), "mine: the truth is None; expected"),
    (lambda: sensor(), r"Own 'mine' has no true; expected a method true\(s\) that returns what it reads without errors, by parts"),
    (lambda: sensor(lambda s: {"": s.q[0]}, mounted=False), r"mine is on no link; expected self\.mount\(link, placement\) in its __init__"),
    (lambda: sensor(lambda s: {"": s.q[0]}, link="tp"), r"mine: no link 'tp' in 'press' \(did you mean 'tip'\?\)"),
    (lambda: sensor(lambda s: {"": s.q[0]}, link="hand"), "mine: no link 'hand' in 'press'; expected one of post, slide, tip"),
    (lambda: engine.sensors.Encoder("elbo"), "encoder: no joint 'elbo' in 'press'; expected one of lift, wr"),
    (lambda: engine.sensors.Encoder("lft"), r"encoder: no joint 'lft' in 'press' \(did you mean 'lift'\?\)"),
])  # fmt: skip
def test_mistakes(own, text):
    with pytest.raises(engine.EngineError, match=text):
        ran(own())


def test_an_estimator_names_the_sensor_too():
    simulator = engine.Simulator(press(), dt=1e-3, sensors=[engine.sensors.Encoder("lift")])
    with pytest.raises(engine.EngineError, match="encoder: no joint 'elbo' in 'press'"):
        engine.estimator(simulator, [engine.sensors.Encoder("elbo")])
