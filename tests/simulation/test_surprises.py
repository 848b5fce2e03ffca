"""What users did that nobody had listed: each is right, or said."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine import ops
from engine.components.actuators import Motor, ReactionWheels
from engine.simulation import controllers
from engine.spatial import inertia
from tests.simulation.test_events import UP, ball, event
from tests.simulation.test_several_trees import servicer_and_target, state, two_bodies
from tests.simulation.test_simulator import pendulum

AWAY = {"gravity": (0.0, 0.0, 0.0)}


# ---------------------------------------------------------------- states and parameters


@pytest.mark.parametrize("conserve", [True, False])
def test_a_state_is_what_it_shows(conserve):
    """A velocity that is replaced, or written, counts from the next step on, as if the run had begun there."""
    simulator = engine.Simulator(ball(), dt=1e-2, conserve_momentum=conserve, **AWAY)
    state = simulator.step(simulator.start(UP, [1.0, 2, 3, 0, 0, 0]), 10)
    expected = simulator.run(state.q, np.arange(6.0), 0.1)
    after = simulator.step(dataclasses.replace(state, v=np.arange(6.0)), 10)
    np.testing.assert_allclose(after.v, expected.v[-1], rtol=0, atol=1e-14)
    state.v[:] = np.arange(6.0)
    np.testing.assert_array_equal(simulator.step(state, 10).q, after.q)
    moved = state.q + [0, 0, 0, 0, 5.0, 0, 0]
    assert abs(simulator.step(dataclasses.replace(state, q=moved), 1).q[4] - after.q[4] - 5.0) < 1.0


def test_parameters_given_to_a_step_broadcast_as_at_the_start():
    simulator = engine.Simulator(pendulum(), parameters={"mass.bob": 1.0})
    state = simulator.start(np.zeros((2, 3, 1)), np.zeros(1))
    assert simulator.step(state, 1, {"mass.bob": np.array([1.0, 2.0, 3.0])}).q.shape == (2, 3, 1)


def test_motors_on_one_joint_add_up():
    motors = [Motor("pivot", rotor=0.3, name="a"), Motor("pivot", gear=2.0, rotor=0.1, name="b")]
    assert engine.Simulator(pendulum(), actuators=motors).armature == pytest.approx([0.7])


def test_armature_of_a_floating_joint_is_no_momentum_of_bodies():
    """The motion is then ABA's, which nothing projects: against DOP853."""
    builder = engine.Builder("odd")
    builder.add_link("world"), builder.add_link("a", inertia=inertia.from_mass(10.0, [0.1, 0, 0.2], np.diag([1.0, 2, 3])))
    builder.add_joint("f", "floating", "world", "a", armature=2.0)
    model = builder.model()
    robot, v = engine.compile(model, (0, 0, 0)), np.array([0.3, -0.5, 0.8, 0.1, 0.2, 0.3])
    y = solve_ivp(lambda t, v: robot.aba(model.neutral(), v, np.zeros(6)), (0, 1), v, rtol=1e-12, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(engine.Simulator(model, **AWAY).run(model.neutral(), v, 1.0).v[-1], y, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- several robots


@pytest.mark.parametrize("make", [
    lambda m: controllers.computed_torque(m, lambda t: (m.neutral(), np.zeros(m.nv), np.zeros(m.nv))),
    lambda m: controllers.reaction_null_space_motion(m, lambda t: np.zeros(7)),
])  # fmt: skip
def test_controllers_of_one_robot_refuse_several(make):
    """Where nothing says which: trees without a robot's name are called by their first links."""
    with pytest.raises(engine.SimulationError, match=r"moves in the world by 'target floats' \(floating\), 'floating_base' \(floating\).*"
                       "or one tree of it, as tree='target' or 'bus'"):  # fmt: skip
        make(servicer_and_target())


def test_operational_space_control_is_of_a_fixed_base():
    with pytest.raises(engine.SimulationError, match="operational_space: 'ball' floats; expected a fixed base"):
        controllers.operational_space(ball(), "ball", lambda t: (np.eye(4), np.zeros(6), np.zeros(6)))


def test_wheels_on_the_world_are_refused():
    with pytest.raises(engine.SimulationError, match="wheels: link 'world' does not move; expected one that does"):
        engine.Simulator(two_bodies()[0], actuators=[ReactionWheels("world")])


def test_everything_that_floats_is_plotted(tmp_path):
    model, _ = two_bodies()
    figure = engine.Simulator(model, dt=1e-2).run(*state(model), 0.1).plot(tmp_path / "a.png")
    titles = [axis.get_title() for axis in figure.axes]
    assert [t.split(":")[0] for t in titles[4:8]] == ["first", "first", "second", "second"] and "momentum" in titles[8]


def test_a_body_without_joints_is_plotted_by_itself(tmp_path):
    body = Drifting()
    motion = engine.compile(body).simulate(body.build_state(angular_velocity=[0, 1, 0]), 0.1, 0.01, compiled=False)
    figure = motion.plot(tmp_path / "a.png")
    assert all(axis.lines for axis in figure.axes) and figure.axes[3].get_title() == "change of energy, J"
    flown = engine.Simulator(ball(), dt=0.01).run(UP, np.zeros(6), 0.1).plot()
    assert all(axis.lines for axis in flown.axes) and flown.axes[3].get_title() == "power on the robot, W"


# ---------------------------------------------------------------- events


def test_a_rollout_that_stopped_ends_at_its_time():
    """Between records: 3 m take 0.78 s; as alone, in the batch, and at times between."""
    simulator = engine.Simulator(ball(), dt=0.01, events=[event(lambda t, q, v: q[6], -1)])
    q = np.array([UP, UP * [1, 1, 1, 1, 1, 1, 3]])
    batch, alone = simulator.run(q, np.zeros(6), 3.0, record_every=20), simulator.run(q[0], np.zeros(6), 3.0, record_every=20)
    one = batch.rollout(0)
    np.testing.assert_array_equal(one.t, alone.t)
    np.testing.assert_array_equal(one.q, alone.q)
    times = np.array([0.1, 0.44, 0.5, 0.7])
    found = batch.at(times)
    np.testing.assert_allclose(found.q[0, :2], alone.at(times[:2]).q, rtol=0, atol=1e-14)
    assert np.abs(found.q[0, 2:] - alone.q[-1]).max() < 1e-14 and abs(found.q[1, 3, 6] - (3 - 4.905 * 0.49)) < 1e-4


def test_an_event_that_does_not_change_the_state_is_one_record():
    seen = engine.Simulator(ball(), dt=1e-2, events=[event(lambda t, q, v: q[6] - 0.5, callback=lambda t, q, v: None)])
    trajectory = seen.run(UP, [1.0, 2, 3, 0, 0, 0], 0.6)
    assert len(trajectory.events) == 1 and (np.diff(trajectory.t) > 0).all()


def test_what_callbacks_return_is_a_state_for_the_next():
    """Lists and quaternions of rounded length will do; each callback sees a proper state."""
    seen = []
    first = event(lambda t, q, v: q[6] - 0.5, callback=lambda t, q, v: ([1.01, 0, 0, 0, *q[4:]], list(v)))
    second = event(lambda t, q, v: q[6] - 0.5, callback=lambda t, q, v: seen.append(q))
    engine.Simulator(ball(), dt=1e-2, events=[first, second]).run(UP, np.zeros(6), 0.6)
    assert seen and seen[0][0] == 1.0


@pytest.mark.parametrize(("make", "message"), [
    (lambda: engine.Event(3), "an event is 3; expected a function"),
    (lambda: engine.Event(np.sum, action="Stop"), "the action of the event sum is 'Stop'; expected 'stop', None, or a callback"),
    (lambda: engine.Event(np.sum, direction="up"), "the direction of the event sum is 'up'; expected a number"),
])  # fmt: skip
def test_events_that_cannot_be(make, message):
    with pytest.raises(engine.EngineError, match=message):
        make()


def test_an_event_that_only_notes():
    """A run notes it and goes on; where every event stops, it is refused."""
    simulator = engine.Simulator(ball(), dt=1e-2, events=[engine.Event(lambda t, q, v: q[6] - 0.5, action=None)])
    trajectory = simulator.run(UP, np.zeros(6), 0.6)
    assert len(trajectory.events) == 1 and trajectory.t[-1] == 0.6
    for call in (lambda: simulator.start(UP, np.zeros(6)), lambda: simulator.run(np.tile(UP, (2, 1)), np.zeros(6), 0.6)):
        with pytest.raises(engine.SimulationError, match=r"is to go on after a zero, and .* would stop; expected action='stop'"):
            call()


# ---------------------------------------------------------------- why a run ended


@pytest.mark.parametrize(("duration", "every"), [(1.0, 1), (1.0, 7), (0.155, 10), (1.0, 5000)])
def test_the_function_is_named_wherever_the_last_record_was(duration, every):
    def force(t, q, v):
        return q * ops.where(t > 0.1501, np.nan, 1.0)

    with pytest.raises(engine.SimulationError, match=r"force returns NaN or infinity at t = 0\.15\d+ s"):
        engine.Simulator(pendulum(), dt=1e-2, forces=[force]).run([0.1], [0.0], duration, record_every=every)


def test_a_division_by_zero_is_named():
    def force(t, q, v):
        return q / (0.5 - t)

    with pytest.raises(engine.SimulationError, match=r"force returns NaN or infinity at t = 0\.5 s"):
        engine.Simulator(pendulum(), dt=0.25, integrator="lie_euler", forces=[force]).run([0.1], [0.0], 1.0)


@pytest.mark.filterwarnings("ignore:.*errors of momentum:engine.SimulationWarning")
def test_newtons_method_is_not_the_controllers_fault():
    """A wheel that is all but full at once, with steps in which its torque has a kink."""
    wheels = ReactionWheels("ball", torque=2.0, momentum=0.01)
    simulator = engine.Simulator(ball(), dt=0.05, integrator="implicit_midpoint", actuators=[wheels],
                                 controller=lambda t, q, v: {"wheels": -5.0 * v[:3]}, **AWAY)  # fmt: skip
    try:
        simulator.run(UP, [3.0, 5.0, -4.0, 0, 0, 0], 9.0)
    except engine.SimulationError as error:
        assert "<lambda> returns" not in str(error)


# ---------------------------------------------------------------- rigid bodies


class Drifting(engine.RigidBody):
    mass, inertia = 2.0, np.eye(3)

    def forces(self, x, u, t):
        return np.array([float(t), 0.0, 0.0])                                  # on floats only


def test_bodies_without_controls_that_run_on_floats_are_trajectories_too(tmp_path):
    body = Drifting()
    motion = engine.compile(body).simulate(body.build_state(), 0.1, 0.01, compiled=False)
    part = motion[::2]
    assert "vdot" not in vars(part) and part.vdot.shape == (6, 6) and part.vdot[-1, 3] == pytest.approx(0.05)
    assert motion.kinetic_energy().shape == (11,) and motion.at([0.005]).x.shape == (1, 13)
    assert engine.load_trajectory(motion.save(tmp_path / "a.h5")).model.links[0].mass == 2.0


def test_bodies_whose_inertia_is_none_at_the_origin_keep_their_motion(tmp_path):
    class Heavy(engine.RigidBody):
        inertia, forces = np.eye(3), None

        def mass(self, x, u, t):
            return 1.0 / self.position(x)[0]

    body = Heavy()
    motion = engine.compile(body).simulate(body.build_state([1.0, 1, 1]), 0.1, 0.01)
    assert len(motion) == 11 and motion.model.links[0].mass == 1.0 and motion.kinetic_energy().shape == (11,)
    with pytest.raises(engine.StateError, match="the mass or the inertia of Heavy varies"):
        motion.save(tmp_path / "a.h5")


def test_other_systems_say_that_they_are_no_bodies():
    class Spin(engine.Dynamics):
        state, controls = engine.LieState("quaternion"), 0

        def dynamics(self, x, u, t):
            return np.array([0.0, 0.0, 1.0])

    motion = engine.compile(Spin()).simulate([1.0, 0, 0, 0], 0.1, 0.01)
    assert not hasattr(motion, "plot")
    with pytest.raises(engine.StateError, match="Spin is no rigid body; expected one for 'poses'"):
        motion.poses()


def test_a_state_of_another_simulator_is_refused():
    """Of another robot, with other wheels or parameters; one of the same with another step or gravity is taken."""
    wheels = ReactionWheels("ball", torque=2.0)
    free, turning, tuned = (engine.Simulator(ball(), dt=1e-2, **more) for more in (
        {}, {"actuators": [wheels]}, {"parameters": {"k": 1.0}, "controller": lambda t, q, v, k: -k * v}))  # fmt: skip
    states = [s.start(UP, np.zeros(6)) for s in (free, turning, tuned)]
    swings = engine.Simulator(pendulum())
    for other, said in ((turning, "one of 'ball' with wheels"), (tuned, "one of 'ball' with k"), (swings, "one of 'pendulum'")):
        with pytest.raises(engine.SimulationError, match=f"the state is of a simulator of 'ball'; expected {said}, as start gives it"):
            other.step(states[0])
    for given in (*states[1:], swings.start([0.1], [0.0])):
        with pytest.raises(engine.SimulationError, match=r"the state is of a simulator of '.*; expected one of 'ball', as start"):
            free.step(given)
    assert engine.Simulator(ball(), dt=1e-3, gravity=(0, 0, 0)).step(states[0]).t == 1e-3


def test_help_of_components_is_about_them():
    """A class's array would be explained by NumPy's documentation of arrays, once for each class that inherits it."""
    import pydoc

    for module in (engine.components.actuators, engine.components.forces, engine.components.component):
        assert "ndarray(" not in pydoc.plain(pydoc.render_doc(module)), module
