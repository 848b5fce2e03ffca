"""Numbers of the model and of its contacts as parameters of a simulation: against simulators of models that have them."""

import re

import numpy as np
import pytest

import engine
from engine.spatial import inertia, se3
from tests.numeric import derivative

START = np.array([1.0, 0, 0, 0, 0, 0, 0.52, 0.1]), np.array([0, 0, 0, 0.5, 0, 0, 0.0])
VALUES = {"mass.body": 3.3, "center.leg": [0.01, 0.0, 0.02], "displacement.hip": [0.0, 0.05, 0.0, 0.01, 0.0, 0.0],
          "displacement.ankle": [0.0, 0.0, 0.0, 0.0, 0.0, -0.02], "damping.hip": 0.5, "friction.hip": 0.2,
          "armature.hip": 0.02}  # fmt: skip
MATERIALS = {"contact_friction.world": 0.8, "contact_friction.foot": 0.3, "contact_stiffness.foot": 2e5, "contact_dissipation.foot": 0.3}


def hopper(rails=False):
    """A body on a leg whose foot falls on the ground; one that floats, or slides on rails along x and z."""
    b = engine.Builder("hopper")
    if rails:
        b.add_link("world"), b.add_link("rail", inertia=inertia.sphere(0.5, 0.1))
    b.add_link("body", inertia=inertia.box(3.0, (0.3, 0.2, 0.1)))
    b.add_link("leg", inertia=inertia.capsule(1.0, 0.03, 0.3))
    b.add_link("foot", inertia=inertia.sphere(0.3, 0.05), collisions=[engine.Geometry("sphere", (0.05,))])
    losses = {"damping": 0.2, "friction": 0.1, "armature": 0.01}
    b.add_joint("hip", "revolute", "body", "leg", se3.pose(np.eye(3), [0, 0, -0.25]), axis=(0, 1, 0), **losses)
    b.add_joint("ankle", "fixed", "leg", "foot", se3.pose(np.eye(3), [0, 0, -0.2]))
    if rails:
        b.add_joint("along", "prismatic", "world", "rail", axis=(1, 0, 0)), b.add_joint("up", "prismatic", "rail", "body", axis=(0, 0, 1))
    return b.model(floating_base=not rails)


@pytest.mark.parametrize("losses", ["implicit", "explicit"])
def test_a_run_is_that_of_the_model_with_those_numbers(losses):
    """Into the ground, and on it: placements move the shapes; weights of implicit losses are found of the nominal mass."""
    model, common = hopper(), {"dt": 2e-4, "joint_dynamics": losses}
    nominal = {name: engine.model.parameters.nominal(model, name) for name in VALUES}
    surface = dict.fromkeys(MATERIALS, 0.5) | {"contact_stiffness.foot": 1e5, "contact_dissipation.foot": 0.1}
    one = engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace()), parameters={**nominal, **surface}, **common)
    ground, foot = engine.ContactMaterial(friction=0.8), engine.ContactMaterial(2e5, 0.3, 0.3)
    contacts = engine.Contacts(engine.HalfSpace(material=ground), materials={"foot": foot})
    other = engine.Simulator(model.with_parameters(VALUES), contacts=contacts, **common)
    a, b = one.run(*START, 0.12, parameters={**VALUES, **MATERIALS}), other.run(*START, 0.12)
    assert b("contacts.gap").min() < 0.0
    size = 1e-7 if losses == "implicit" else 1e-10
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=size)
    np.testing.assert_allclose(a.v, b.v, rtol=0, atol=100 * size)
    np.testing.assert_allclose(a.energy()[0], b.energy()[0], rtol=0, atol=100 * size)
    np.testing.assert_allclose(a.robot.forward_kinematics(a.q[-1]), b.robot.forward_kinematics(b.q[-1]), rtol=0, atol=10 * size)
    rows = one.run(*START, 0.01, parameters={"damping.hip": [0.2, 0.5], "contact_friction.foot": [0.5, 0.9]})
    alone = one.run(*START, 0.01, parameters={"damping.hip": 0.5, "contact_friction.foot": 0.9})
    np.testing.assert_array_equal(rows.q[1], alone.q)
    given, as_one = {**VALUES, **MATERIALS}, {**one._arguments, "compiled": False}
    plain = engine.Simulator(model, **as_one)
    np.testing.assert_allclose(plain.run(*START, 1e-3, parameters=given).v, one.run(*START, 1e-3, parameters=given).v, rtol=0, atol=1e-12)


def test_losses_that_are_none_may_become_some():
    """Where the robot's file has no friction: mu m g stops a sledge after v²/2 mu g; none does not."""
    b = engine.Builder("sledge")
    b.add_link("rail"), b.add_link("sledge", inertia=inertia.sphere(2.0, 0.1))
    b.add_joint("slide", "prismatic", "rail", "sledge", axis=(1, 0, 0))
    simulator = engine.Simulator(b.model(), dt=1e-3, parameters={"friction.slide": 0.0, "damping.slide": 0.0})
    run = simulator.run([0.0], [1.0], 2.0, parameters={"friction.slide": [0.0, 4.0]})
    np.testing.assert_allclose(run.q[:, -1, 0], [2.0, 0.25], rtol=0, atol=1e-3)
    stops = engine.rollout_gradient(simulator, [0.0], [1.0], None, lambda t, q, v: v[0], steps=100, parameters={"damping.slide": 3.0})
    np.testing.assert_allclose(stops.parameters["damping.slide"], -0.05 * np.exp(-0.15), rtol=0, atol=2e-5)


def test_gradients_by_every_kind():
    """Of a rollout through a contact, against differences."""
    model, start = hopper(rails=True), (START[0][[4, 6, 7]], START[1][[3, 5, 6]])
    nominal = {name: engine.model.parameters.nominal(model, name) for name in VALUES}
    nominal |= {name: MATERIALS[name] for name in ("contact_friction.foot", "contact_stiffness.foot")}
    ground, steps = engine.Contacts(engine.HalfSpace()), 40
    simulator = engine.Simulator(model, dt=1e-3, contacts=ground, parameters=nominal, joint_dynamics="implicit")
    found = engine.rollout_gradient(simulator, *start, None, lambda t, q, v: v[0] + v[1] + q[2], steps=steps)
    for name in nominal:
        own, scale = np.asarray(nominal[name]), max(1.0, abs(float(np.max(nominal[name]))))
        for k in [*np.ndindex(own.shape)][-1:]:
            def end(s, name=name, own=own, k=k):
                at = own.copy()
                at[k] += s
                run = simulator.run(*start, steps * 1e-3, record_every=steps, parameters={name: at})
                return run.v[-1, 0] + run.v[-1, 1] + run.q[-1, 2]

            slope = float(derivative(end, 1e-3 * scale))
            assert abs(float(found.parameters[name][k]) - slope) < 1e-5 * max(abs(slope), 1.0 / scale), name


@pytest.mark.parametrize(("parameters", "more", "message"), [
    ({"damping.hip": 1.0}, {"joint_dynamics": None}, "nothing reads the parameter 'damping.hip', as joint_dynamics is None"),
    ({"friction.hip": -1.0}, {}, "parameter 'friction.hip' is -1; expected a number from zero"),
    ({"contact_friction.leg": 1.0}, {"contacts": engine.Contacts(engine.HalfSpace())}, "'contact_friction.leg': nothing of 'leg'"),
    ({"contact_friction.foot": 1.0}, {}, "nothing of 'foot' may touch; expected a link with contacts, or 'world'"),
    ({"contact_stiffness.foot": 0.0}, {"contacts": engine.Contacts(engine.HalfSpace())}, "is 0; expected a number above zero"),
    ({"contact_stiffness.foot": 1e30}, {"contacts": engine.Contacts(engine.HalfSpace())}, "is 1e+30; expected a number above zero, 1e+18"),
    ({"displacement.hip": np.zeros(6)}, {"constraints": [engine.Distance("body", "foot", length=0.45)]}, "beside constraints, which close"),
    ({"placement.hip": np.eye(3)}, {}, "parameter 'placement.hip' is"),
    ({"damping.hop": 1.0}, {}, "parameter 'damping.hop': no joint 'hop' in 'hopper' (did you mean 'hip'?)"),
    ({"dampin.hip": 1.0}, {}, "nothing reads the parameter 'dampin.hip' (did you mean 'damping.hip'?)"),
])  # fmt: skip
def test_what_is_refused(parameters, more, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(hopper(), parameters=parameters, **more)


def test_an_ideal_impact_knows_no_parameters():
    model = hopper()
    with pytest.raises(engine.SimulationError, match=r"parameter 'mass\.body' beside an engine\.impact"):
        engine.Simulator(model, events=[engine.impact(model, engine.Contacts(engine.HalfSpace()), 0.5)], parameters={"mass.body": 1.0})


def test_a_trajectory_is_of_the_robot_that_ran():
    """Poses of one run, of rows, and of parts of them."""
    b = engine.Builder("arm")
    b.add_link("base"), b.add_link("upper", inertia=inertia.sphere(1.0, 0.1)), b.add_link("tip", inertia=inertia.sphere(1.0, 0.1))
    b.add_joint("j", "revolute", "base", "upper", axis=(0, 1, 0))
    b.add_joint("f", "revolute", "upper", "tip", se3.pose(np.eye(3), [1.0, 0, 0]), axis=(0, 1, 0))
    simulator = engine.Simulator(b.model(), parameters={"displacement.f": np.zeros(6)}, gravity=(0, 0, 0))
    rows = np.zeros((3, 6))
    rows[:, 3] = 0.0, 1.0, 2.0
    run = simulator.run([0.0, 0.0], [0.0, 0.0], 0.01, parameters={"displacement.f": rows})
    np.testing.assert_allclose(run.pose("tip")[:, -1, 0, 3], [1.0, 2.0, 3.0], rtol=0, atol=1e-12)
    assert run.rollout(2).pose("tip")[0, 0, 3] == run.rollout(2)[3:].pose("tip")[-1, 0, 3] == 3.0
    np.testing.assert_array_equal(run.rollout(1).robot.forward_kinematics(run.q[1]), run.rollout(1).poses())


def test_what_brakes_a_free_body_is_in_flight():
    """Damping 0.5 of a joint that floats, 1 kg: exp(−t/2), in every mode."""
    b = engine.Builder("brake")
    b.add_link("world"), b.add_link("x", inertia=inertia.sphere(1.0, 0.3)), b.add_joint("j", "floating", "world", "x", damping=0.5)
    for losses in ("auto", "implicit", "explicit"):
        run = engine.Simulator(b.model(), gravity=(0, 0, 0), joint_dynamics=losses).run(b.model().neutral(), [0, 0, 0, 1.0, 0, 0], 1.0)
        np.testing.assert_allclose(run.v[-1, 3], np.exp(-0.5), rtol=1e-9)
    with pytest.raises(engine.SimulationError, match=r"parameter 'damping\.j': joint 'j' floats"):
        engine.Simulator(b.model(), parameters={"damping.j": 0.5})
