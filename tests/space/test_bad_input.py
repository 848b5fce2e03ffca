"""What is out of range in space is told in a sentence, by whoever notices it first: when it is made, or in a run."""

import inspect
import pickle

import numpy as np
import pytest

import engine
from engine.components.actuators import ReactionWheels
from engine.components.controllers import attitude_control
from engine.components.forces import CentralGravity
from engine.space import (
    Atmosphere,
    Drag,
    Elements,
    Ephemeris,
    Epoch,
    Facets,
    FlexibleBody,
    GravityField,
    Magnetorquers,
    Modes,
    ReferenceOrbit,
    SolarPressure,
    Tank,
    ThirdBody,
    Thrusters,
    add_chain,
    add_modes,
    add_slosh,
    pointing,
)
from engine.spatial import inertia, se3


def satellite():
    builder = engine.Builder("sat")
    builder.add_link("sat", inertia=inertia.sphere(100.0, 1.0), visuals=[engine.Geometry("box", (1, 1, 1))])
    return builder


MODEL = satellite().model(floating_base=True)
FRAME = ReferenceOrbit((7e6, 0, 0), (0, 7500.0, 0))


def flown(**more):
    simulator = engine.Simulator(MODEL, **{"gravity": (0, 0, 0), "dt": 10.0, **more})
    return simulator.run(MODEL.neutral(), np.zeros(6), 300.0)


def swinging():
    """A tank whose liquid swings, among the actuators as if it did not."""
    builder, tank = engine.Builder("craft"), Tank("hub", 50.0, 25.0, shape="sphere")
    builder.add_link("hub", inertia=inertia.box(300.0, (1.0, 1.0, 1.0)))
    add_slosh(builder, tank, damping=0.01, acceleration=0.1)
    return engine.Simulator(builder.model(floating_base=True), gravity=(0, 0, 0), actuators=[tank])


def jet(tank, isp=200.0):
    return Thrusters("sat", [[0, 0, -1]], [[0, 0, 1]], most=1.0, tank=tank, isp=isp)


def SUN(t):
    return 1.5e11 * np.array([1.0, 0.0, 0.0])


def lit_with(given):
    """Flown with shares that the parameters are."""
    light = SolarPressure(Facets.boxes(MODEL), SUN, specular=0.2, diffuse=0.5)
    known = {name: 0.2 for name in ("light.specular", "light.diffuse") if name in given}
    simulator = engine.Simulator(MODEL, gravity=(0, 0, 0), dt=10.0, frame=FRAME, forces=[light], parameters=known)
    return simulator.run(MODEL.neutral(), np.zeros(6), 10.0, parameters=given)


NEAR = Ephemeris(lambda t: 3.8e8 * np.ones(3), 100.0, piece=100.0)
NOTHING = [np.zeros(shape) for shape in ((3, 2), (3, 2), (2, 2, 3), (2, 3, 3))]


@pytest.mark.parametrize(("what", "text"), [
    (lambda: flown(frame=[FRAME, FRAME]), "expected what carries the world's origin"),
    (lambda: flown(frame=FRAME, forces=[ReferenceOrbit((7e6, 0, 0), (0, 7500.0, 0))]), "expected it as frame="),
    (lambda: flown(frame=FRAME, forces=[CentralGravity()]), "says where gravity's centre is too; expected one of them"),
    (lambda: flown(frame=FRAME, gravity=(0, 0, -9.81)), "the uniform gravity"),
    (lambda: flown(forces=[Drag(Facets.boxes(MODEL))]), "nothing says where the world's origin is"),
    (lambda: flown(forces=[SolarPressure(Facets.boxes(MODEL), lambda t: 1e11 * np.ones(3))]), "nothing says where the world's origin is"),
    (lambda: flown(actuators=[Magnetorquers("sat")]), "nothing says where the world's origin is"),
    (lambda: flown(frame=FRAME, forces=[Drag(Facets.boxes(MODEL), Atmosphere([(1e6, 1e-12, 5e4)]))]), "the air is asked for at"),
    (lambda: flown(frame=ReferenceOrbit((7e6, 0, 0), (0, 7500.0, 0), GravityField(third_bodies=[ThirdBody(4.9e12, NEAR)]))),
     "an ephemeris is asked for"),
    (lambda: NEAR(1e4), "expected a duration that reaches so far"),
    (lambda: Tank("", 10.0), "expected the name of the link that it is part of"),
    (lambda: flown(actuators=[Tank("hub", 10.0)]), "no link 'hub'"),
    (lambda: Tank("sat", 10.0, 11.0), "10 kg fit in; expected no more than that"),
    (lambda: jet(Tank("sat", 10.0), isp=0.0), "expected a Tank and seconds above 0"),
    (lambda: flown(actuators=[jet(Tank("sat", 10.0))]), "draw from 'tank', which is not there; expected it among the actuators"),
    (lambda: add_slosh(satellite(), Tank("sat", 10.0, 5.0)), "expected a sphere or a cylinder with a liquid"),
    (lambda: Epoch("2026-12-31T23:59:60"), "where no leap second was"),
    (lambda: Modes(-np.eye(2), *NOTHING), "stiffness is not symmetric and positive"),
    (lambda: Modes(np.eye(2), *NOTHING, mass=-np.eye(2)), "mass is not symmetric and positive"),
    (lambda: flown(forces=[FlexibleBody("sat", Modes.beam(10.0, 200.0, 1.0, 1))]), "carry more than 'sat' weighs"),
    (lambda: Elements(7e6, 1.2, 0, 0, 0, 0), "expected a number from 0, below 1"),
    (lambda: GravityField(zonals={1: 1e-3}), "expected a whole number from 2"),
    (lambda: GravityField(zonals={2: 1.0826}), r"J2 is 1\.0826; expected that of a body that is nearly round, such as 0\.0010826"),
    (lambda: GravityField(398600.4418), r"mu is 398600 m³/s²; expected 3\.986e\+14: it looks like km³/s²"),
    (lambda: GravityField(4.9028e12, zonals={2: 2.03e-4}), "not the Earth's, without a radius; expected that by which they are counted"),
    (lambda: ReferenceOrbit((4.2e7, 0, 0), (0, 3080.0, 0), GravityField(third_bodies=[
        ThirdBody(1.327e20, lambda t: np.array([1.5e8, 0, 0]))])),
     r"is 1\.5e\+08 m from the centre, and pulls .*expected its place in m, far beyond the orbit"),
    (lambda: swinging(), "its liquid is part of the robot already.*expected the tank of what that returned, slosh.tank"),
    (lambda: engine.space.sun("2026-03-01", 100.0), r"epoch is '2026-03-01'; expected an engine\.space\.Epoch"),
    (lambda: ReferenceOrbit.from_elements(GravityField(), 1.0), r"expected from_elements\(Elements\(…\), GravityField\(…\)\)"),
    (lambda: FRAME.rectified(3), "expected a state or a trajectory with this frame"),
    (lambda: Facets.boxes(satellite()), "expected a model"),
    (lambda: Facets([((0, 0, 0), (0, 0, 1), 2.0)]), "expected rows by link"),
    (lambda: flown(frame=FRAME, forces=[Drag(Facets({"sta": [((0, 0, 0), (0, 0, 1), 2.0)]}))]), r"'sta' \(did you mean 'sat'\?\)"),
    (lambda: Drag(Facets.boxes(MODEL), cd={"sta": 2.2}), r"cd is of 'sta' \(did you mean 'sat'\?\), which has no facets"),
    (lambda: Drag(Facets.boxes(MODEL), cd={}), "cd says nothing of 'sat'"),
    (lambda: SolarPressure(Facets.boxes(MODEL), SUN, specular={"sat ": 0.2}), r"specular is of 'sat ' \(did you mean 'sat'\?\)"),
    (lambda: lit_with({"light.specular": 0.8}), "add up to 1.3 with 'light.specular'; expected up to 1 together"),
    (lambda: lit_with({"light.specular": np.array([0.1, 0.4, 0.6])}), "add up to 1.1 with 'light.specular'"),
    (lambda: lit_with({"light.diffuse": 0.9, "light.specular": 0.3}), "add up to 1.2 with 'light.specular' and 'light.diffuse'"),
    (lambda: Elements(7e6, 0.0, 51.6), "expected an inclination within half a turn, rad: np.radians of degrees"),
    (lambda: ReferenceOrbit((7000.0, 0, 0), (0, 7.5, 0)), "an orbit begins 7000 m from the centre of a planet whose radius is 6.37814e"),
    (lambda: ReferenceOrbit.from_elements(Elements(a=500e3)), "expected metres and m/s, outside it"),
    (lambda: pointing("lvlh", 3.0), "pointing's field is 3.0; expected an engine.space.GravityField, or the orbit itself"),
    (lambda: flown(frame=FRAME, actuators=[ReactionWheels("sat")], controller=attitude_control(
        MODEL, ReactionWheels("sat"), target=pointing(lambda t: np.zeros(2)))), r"place to point at has shape \(2,\); expected \(3,\)"),
    (lambda: attitude_control(MODEL, ReactionWheels("sat"), target="lvlh"), "or what engine.space.pointing returns"),
    (lambda: attitude_control(MODEL, ReactionWheels("sat"), target=lambda t, r: r), "of t, q, v, or of t, q, v, origin"),
    (lambda: GravityField(third_bodies=ThirdBody(4.9e12, NEAR)), r"expected a list, \[ThirdBody\(mu, ephemeris\)\]"),
    (lambda: GravityField(zonals=1e-3), "expected J by degree"),
    (lambda: add_modes(satellite(), "sat", 6.0, 15.0, 500.0, 2, placement=(1.0, 0.0)), r"shape \(2,\); expected a place \(3\)"),
    (lambda: add_chain(satellite(), "sat", 6.0, 15.0, 500.0, 2, damping=-1.0), "damping is -1.0; expected s from 0"),
    (lambda: flown(actuators=[(tank := Tank("sat", 10.0)), jet(tank)], controller=lambda t, q, v: {"thrusters": np.ones(1)}),
     "'thrusters' commands 'tank', which acts before it; expected 'tank' after 'thrusters' in the list"),
])  # fmt: skip
def test_a_sentence_says_what_is_wrong(what, text):
    with pytest.raises(engine.EngineError, match=text):
        what()


WHEELS = {"two": [[1, 0, 0], [0, 1, 0]], "in a plane": [[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0]]}


@pytest.mark.parametrize(("what", "text"), [
    (lambda: attitude_control(MODEL, ReactionWheels("sat", WHEELS["two"])), r"'wheels' turn about 2 of three axes.*about \[.*1.0\]"),
    (lambda: attitude_control(MODEL, ReactionWheels("sat", WHEELS["in a plane"])), "'wheels' turn about 2 of three axes"),
    (lambda: Elements(7e6, 0.0, 0.9, node=270.0), "'node' is 270 rad, more than a turn; expected radians: np.radians of degrees"),
    (lambda: ReferenceOrbit((7e6, 0, 0), (0, 7.5, 0)), "7.5 m/s at 7e.06 m leads .* from the centre .*about 7546 for a circle"),
    (lambda: ReferenceOrbit.from_elements(Elements(a=7e6, e=0.5, anomaly=np.pi)), "leads 3.5e.06 m from the centre"),
    (lambda: SolarPressure(Facets.boxes(MODEL), lambda t: np.array([1.5e8, 0, 0])).bind(MODEL, 1.0), "the Sun is 1.5e.08 m away at t = 0"),
])  # fmt: skip
def test_a_warning_says_what_is_hardly_meant(what, text):
    with pytest.warns(engine.SimulationWarning, match=text):
        what()


def test_orbits_about_others_and_from_poles_are_not_warned_of():
    ReferenceOrbit((1.9e6, 0, 0), (0, 1600.0, 0), GravityField(4.9028e12))      # about the Moon, whose radius is not said
    ReferenceOrbit((0, 0, 6.4e6), (0, 7891.0, 0))
    Elements(7e6, 0.1, 3.0, -6.0, 6.0, 6.28)


def test_what_is_meant_as_well_is_taken():
    """A place for a pose, and an orbit for its field."""
    builders = [satellite(), satellite()]
    springs = [add_modes(b, "sat", 6.0, 15.0, 500.0, 2, placement=place) for b, place in zip(
        builders, ((1.0, 0.0, 0.0), se3.pose(np.eye(3), [1.0, 0, 0])), strict=True)]  # fmt: skip
    assert springs[0][0].stiffness == springs[1][0].stiffness
    one, other = (engine.dynamics.crba(b.model(floating_base=True), b.model(floating_base=True).neutral()) for b in builders)
    assert (one == other).all()
    frame = ReferenceOrbit((7e6, 0, 0), (0, 7500.0, 100.0), GravityField(zonals={2: 1e-3}))
    origin = frame.ellipse(100.0)
    assert all((x == y).all() for x, y in zip(pointing("lvlh", frame)(0.0, None, None, origin),
                                               pointing("lvlh", frame.field)(0.0, None, None, origin), strict=True))  # fmt: skip


def test_controllers_say_what_of_them_is_not_pickled():
    """And have the signature, which help shows, of what makes them."""
    control = attitude_control(MODEL, ReactionWheels("sat"), target=pointing("lvlh"))
    assert pickle.loads(pickle.dumps(control)).__name__ == "attitude_control"
    assert [*inspect.signature(attitude_control).parameters][:3] == ["model", "actuator", "target"]
    assert [*inspect.signature(pointing).parameters] == ["axes", "field", "turn"]
    for target, text in ((lambda t: [1.0, 0, 0, 0], "the target of attitude_control, <lambda>"), (pointing(lambda t: SUN(t)),
                          "argument 1 of pointing, <lambda>")):  # fmt: skip
        with pytest.raises(pickle.PicklingError, match=f"{text}.*expected a function that a module has by its name"):
            pickle.dumps(attitude_control(MODEL, ReactionWheels("sat"), target=target))


def test_a_place_from_the_planets_centre_is_told():
    """A frame's origin is on the orbit; what begins at the place itself is twice as far out."""
    made = engine.Simulator(MODEL, dt=10.0, gravity=(0, 0, 0), frame=ReferenceOrbit((7e6, 0, 0), (0, 7500.0, 0)))
    q = made.model.neutral()
    q[4:7] = 7e6, 0.0, 0.0
    with pytest.warns(engine.SimulationWarning, match=r"a body begins 7e\+06 m from the orbit's origin.*expected q from the origin"):
        made.run(q, np.zeros(made.model.nv), 0.1)
