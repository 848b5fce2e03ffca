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
    (lambda: wrist(controller=lambda t: np.zeros(1)), r"takes \(t\); expected a function of \(t, q, v\), of all three \(those among laws="),
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
