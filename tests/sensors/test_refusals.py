"""What would read zero, or be lost, is refused by name; messages say what is expected."""

import warnings

import numpy as np
import pytest

import engine
import engine.sensors as S
from engine.checks import EngineError
from engine.components.actuators import Thrusters
from engine.spatial import inertia, se3


def press():
    """A slide with a tip that is welded to it, above the ground."""
    b = engine.Builder("press")
    b.add_link("post")
    b.add_link("slide", inertia=inertia.sphere(2.0, 0.05))
    b.add_link("tip", inertia=inertia.sphere(0.2, 0.02), collisions=[engine.Geometry("sphere", (0.02,))])
    b.add_joint("lift", "prismatic", "post", "slide", axis=(0, 0, 1))
    b.add_joint("wr", "fixed", "slide", "tip", placement=se3.pose(np.eye(3), [0, 0, -0.1]))
    return b.model()


def ball():
    b = engine.Builder("ball")
    b.add_link("ball", inertia=inertia.sphere(1.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    return b.model(floating_base=True)


GROUND = engine.Contacts(engine.HalfSpace())


def made(sensors=(), model=None, **more):
    return engine.Simulator(model or press(), sensors=sensors, **more)


def wrist(**more):
    return made([S.ForceTorque("tip", name="w"), S.Encoder("lift", name="e")], **more)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: made([S.ForceTorque("tip", name="contacts")], contacts=GROUND), "a signal is named 'contacts', by which simulations have"),
    (lambda: made([S.ForceTorque("tip", name="constraints")]), "a signal is named 'constraints'"),
    (lambda: made(laws=[engine.Law(lambda q, state: (q, 0.0 * state), state=[0.0], name="momentum")]), "a signal is named 'momentum'"),
    (lambda: made(actuators=[Thrusters("slide", [0, 0, 0], [0, 0, 1], 1.0, name="inertia")]), "a component is named 'inertia'"),
    (lambda: made([S.ForceTorque("tip", name="a.b")]), r"a sensor is named 'a\.b', by which no function can ask for it; expected a name"),
    (lambda: made([S.ForceTorque("tip", name="my wrist")]), "a sensor is named 'my wrist', by which no function can ask"),
    (lambda: made([S.ForceTorque("tip", name="lambda")]), "a sensor is named 'lambda', by which no function can ask"),
    (lambda: made([S.ContactForce("tip")]), r"'contact' feels the contacts of 'tip', and there are none; expected contacts="),
    (lambda: made([S.Touch("tip")]), "'touch' feels the contacts of 'tip', and there are none"),
    (lambda: made([S.Touch("slide")], contacts=GROUND), "contacts of 'slide', and nothing of that may touch; expected one of tip"),
    (lambda: made([S.ForceTorque("ball")], ball()), "wrist: nothing carries 'ball', which floats; expected a link with a joint"),
    (lambda: made([S.ForceTorque("post")]), "wrist: nothing carries 'post'; expected"),
    (lambda: made([S.ForceTorque("tp")]), r"no link 'tp' in 'press' \(did you mean 'tip'\?\)"),
    (lambda: S.Encoder(["lift", "lift"]), "encoder: joint 'lift' is there twice; expected each once"),
    (lambda: wrist(controller=lambda w: np.zeros(1) + w[0]), r"the signal 'w' has parts, .* expected one of w\.force\[0\], w\.moment\[0\]"),
    (lambda: wrist(controller=lambda w: w * 1.0), r"the signal 'w' has parts, and is no array itself; expected one of w\.force, w\.moment"),
    (lambda: wrist(controller=lambda w: np.zeros(3) - w), r"expected one of w\.force, w\.moment"),
    (lambda: wrist(controller=lambda w: w["foce"]), r"the signal 'w' has no part 'foce' \(did you mean 'force'\?\)"),
    (lambda: wrist(parameters={"w.force.limit": [1.0] * 3}),
     r"parameter 'w\.force\.limit': ForceTorque 'w' has no limit that it would replace; expected force=\{'limit': …\}"),
    (lambda: wrist().run([0.3], [0.0], 0.01, parameters={"e.quantum": 1.0}), "Encoder 'e' has no quantum that it .*; expected quantum=…"),
    (lambda: made(controller=lambda t, u: np.zeros(1)), r"takes \(t, u\); expected a function of \(t, q, v\), or of names that it may ask"),
    (lambda: made(laws=[engine.Law(lambda q: q, name="x")]), r"signal is named 'x', by which .* own \(as x, tau, controller, con"),
    (lambda: made(laws=[engine.Law(lambda q: q, name="pose")]), r"named 'pose', which functions have anyway, as they have t, q, v, mod"),
    (lambda: S.IMU("tip", rate=1e-3), r"imu: rate is 0\.001; expected errors by name, such as \{'noise': 0\.001\}"),
    (lambda: S.ForceTorque("tip", force=0.5), r"wrist: force is 0\.5; expected errors by name, such as"),
    (lambda: S.Gyro("tip", bias="1e-4"), "gyro: bias is '1e-4'; expected numbers"),
    (lambda: S.Gyro("tip", noise=True), "gyro: noise is True; expected numbers"),
    (lambda: S.Gyro("tip", bias=[0.0, "1", 2.0]), "gyro: bias is .*; expected numbers"),
    (lambda: S.StarTracker("tip", latency=-0.1), r"star_tracker: the latency is -0\.1; expected seconds from 0"),
    (lambda: S.Gyro("tip", period=0.1, phase=-0.1), r"gyro: the phase is -0\.1; expected seconds from 0"),
    (lambda: S.Gyro("tip", phase=0.1), "gyro has a phase, and no period that it shifts"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(EngineError, match=text):
        call()


def test_one_number_stands_for_all_of_an_error():
    """As of the constructor: of a simulator and of a run, one number is three."""
    simulator = wrist(parameters={"w.force.bias": 0.5})
    assert simulator.parameters["w.force.bias"].tolist() == [0.5] * 3
    r = simulator.run([0.3], [0.0], 0.001, parameters={"w.force.bias": 0.25})
    assert r.signals["w.force"][0, :2].tolist() == [0.25, 0.25]


def test_sensors_of_a_file_may_be_of_no_use():
    """A file's touch sensor without contacts, or a force sensor on what floats, is warned of, under whatever name it has."""
    text = """<mujoco><worldbody><body name="stone"><freejoint/><geom size="0.1"/><site name="s"/></body></worldbody>
    <sensor><touch name="my touch" site="s"/><force name="force" site="s"/></sensor></mujoco>"""
    model = engine.load(text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        engine.Simulator(model, sensors=S.of(model)).run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 0.01)
    told = [str(w.message) for w in said]
    assert any("'my touch' feels the contacts of 'stone', and there are none: it reads zero" in x for x in told)
    assert any("nothing carries 'stone', which floats, and it reads zero" in x for x in told)


def test_a_misspelt_argument_is_not_told_the_laws_own_name():
    def lowpass(t, wrst):
        return t

    with pytest.raises(engine.SimulationError, match="lowpass asks for 'wrst'") as found:
        wrist(laws=[lowpass])
    assert "lowpass" not in str(found.value).partition("expected")[2] and " w, e" in str(found.value)


def test_any_of_t_q_and_v_are_asked_by_their_names():
    """Of a controller as of a law, compiled, on floats and in plain Python."""
    def run(controller, **more):
        return made(controller=controller, **more).run([0.3], [0.1], 0.05).q

    for short, whole in ((lambda q, v: -v - q, lambda t, q, v: -v - q), (lambda v: -v, lambda t, q, v: -v),
                         (lambda: np.ones(1), lambda t, q, v: np.ones(1)), (lambda t, v: -t * v, lambda t, q, v: -t * v)):  # fmt: skip
        np.testing.assert_array_equal(run(short), run(whole))
        np.testing.assert_array_equal(run(engine.Law(short, period=0.01)), run(engine.Law(whole, period=0.01)))
        np.testing.assert_array_equal(run(engine.Law(short, period=0.01, python=True)), run(engine.Law(whole, period=0.01, python=True)))
        np.testing.assert_array_equal(made(forces=[short]).run([0.3], [0.1], 0.05).q, run(whole))


def test_a_wrist_on_a_flange_that_carries_nothing_is_told():
    b = engine.Builder("flange")
    b.add_link("post")
    b.add_link("slide", inertia=inertia.sphere(2.0, 0.05))
    b.add_link("flange")
    b.add_joint("lift", "prismatic", "post", "slide", axis=(0, 0, 1))
    b.add_joint("weld", "fixed", "slide", "flange")
    with pytest.warns(engine.SimulationWarning, match="wrist: 'flange' and what hangs on it have neither mass nor shapes that touch"):
        made([S.ForceTorque("flange")], b.model())


def test_touch_is_from_zero_on():
    robot = made([S.Touch("tip", noise=0.5)], contacts=GROUND)
    x = robot.run([0.5], [0.0], 0.2).signals["touch"]
    assert x.min() == 0.0 and 0.3 < (x == 0.0).mean() < 0.7 and x.max() > 0.5
