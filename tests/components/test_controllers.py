"""The ready controllers: what their errors obey, where they come to rest, what they leave alone."""

import pickle
import re

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.components.actuators import Motor, ReactionWheels, Thrusters
from engine.components.controllers import minimum_jerk, minimum_jerk_pose
from engine.simulation import controllers
from engine.spatial import quaternion, se3
from tests import trees
from tests.bench.robots import chain
from tests.components.test_actuators import TILTED, boole, satellite
from tests.numeric import derivative
from tests.simulation.test_simulator import ASSET, pendulum

HOME = np.array([0.3, -0.6, 0.4, 1.2, -0.5, 0.7, 0.2])
TIP = "gripper"


@pytest.fixture(scope="module")
def flyer():
    model = engine.load_urdf(ASSET, floating_base=True)
    q = np.concatenate([quaternion.normalize(np.array([1.0, 0.2, -0.1, 0.3])), [1.0, 2.0, -1.0], HOME])
    return model, q, np.zeros(13)


@pytest.fixture(scope="module")
def short():
    """A free flyer with four joints, one more than its base turns about."""
    model = trees.flyer(4, 50.0)
    return model, np.concatenate([quaternion.normalize(np.array([1.0, 0.2, -0.1, 0.3])), [1.0, 2.0, -1.0], HOME[:4]])


@pytest.fixture(scope="module")
def arm():
    """The free flyer's arm on a base that stays."""
    model = engine.load_urdf(ASSET)
    return model, HOME, np.zeros(7)


def oscillation(t, e0, bandwidth, damping):
    """ë + 2ζω ė + ω² e = 0 from e0 at rest."""
    if damping == 1.0:
        return ((1 + bandwidth * t) * np.exp(-bandwidth * t))[:, None] * e0
    s = -damping * bandwidth + np.array([1, -1]) * bandwidth * np.sqrt(complex(damping**2 - 1))
    a = np.linalg.solve(np.array([[1, 1], s]), [1.0, 0.0])
    return (np.exp(np.outer(t, s)) @ a).real[:, None] * e0


def errors(reference, trajectory):
    """log(T⁻¹ T_d) of the tip (T, 6)."""
    poses = trajectory.pose(TIP)
    return np.array([se3.log(se3.inv(T) @ reference(t)[0]) for t, T in zip(trajectory.t, poses, strict=True)])


# ---------------------------------------------------------------- references


def test_references_start_and_end_at_rest_and_are_their_own_rates(flyer):
    """v_d and a_d are the rates of q_d and v_d on the manifold: by differences; before the start and after the end they rest."""
    model, q, _ = flyer
    rng = np.random.default_rng(0)
    goal = model.random(rng)[0]
    joints = minimum_jerk(model, q, goal, 2.0)
    T0, T1 = se3.exp(rng.standard_normal(6)), se3.exp(rng.standard_normal(6))
    poses = minimum_jerk_pose(T0, T1, 2.0)
    for t in (0.3, 1.0, 1.7):
        q_d, v_d, a_d = joints(t)
        assert np.abs(derivative(lambda h: model.difference(q_d, joints(t + h)[0])) - v_d).max() < 1e-10
        assert np.abs(derivative(lambda h: joints(t + h)[1]) - a_d).max() < 1e-10
        T, V, A = poses(t)
        assert np.abs(derivative(lambda h: se3.log(se3.inv(T) @ poses(t + h)[0])) - V).max() < 1e-10
        assert np.abs(derivative(lambda h: poses(t + h)[1]) - A).max() < 1e-10
    for t, where, pose in ((-1.0, q, T0), (0.0, q, T0), (2.0, goal, T1), (9.0, goal, T1)):
        assert np.abs(model.difference(joints(t)[0], where)).max() < 1e-14 and np.abs(poses(t)[0] - pose).max() < 1e-14
        assert not any(np.abs(x).max() > 1e-12 for f in (joints, poses) for x in f(t)[1:])


# ---------------------------------------------------------------- joints


@pytest.mark.parametrize("damping", [1.0, 0.3])
def test_computed_torque(arm, damping):
    """It tracks to 1e-6 from the right start; from another its error obeys ë + 2ζω ė + ω² e = 0, with rotors and gravity."""
    model, q, v = arm
    goal = q + np.array([0.8, 0.5, -0.7, -0.6, 0.9, -1.0, 1.1])
    reference = minimum_jerk(model, q, goal, 2.0)
    simulator = engine.Simulator(model, dt=2e-3, controller=controllers.computed_torque(model, reference, 6.0, damping),
                                 actuators=[Motor("elbow_pitch", gear=100, rotor=1e-3, effort=np.inf)], joint_dynamics=False)  # fmt: skip
    trajectory = simulator.run(q, v, 2.5)
    wanted = np.array([reference(t)[0] for t in trajectory.t])
    assert np.abs(trajectory.q - wanted).max() < 1e-6 and np.ptp(wanted, axis=0).min() > 0.4
    off = 0.1 * np.array([1, -1, 2, 1, -2, 1, 1.0])
    trajectory = simulator.run(q - off, v, 2.5)
    e = np.array([reference(t)[0] for t in trajectory.t]) - trajectory.q
    assert np.abs(e - oscillation(trajectory.t, off, 6.0, damping)).max() < 1e-6


def test_computed_torque_drives_the_joints_of_a_floating_base_alone(flyer):
    model, q, v = flyer
    reference = minimum_jerk(model, q, np.concatenate([q[:7], q[7:] + 0.5]), 2.0)
    trajectory = engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0), controller=controllers.computed_torque(model, reference, 6.0),
                                  joint_dynamics=False).run(q, v, 2.5)  # fmt: skip
    wanted = np.array([reference(t)[0][7:] for t in trajectory.t])
    assert np.abs(trajectory.q[:, 7:] - wanted).max() < 1e-6 and (trajectory.tau[:, :6] == 0).all()
    assert np.abs(model.difference(q, trajectory.q[-1])[:6]).max() > 1e-3 and np.abs(trajectory.momentum()).max() < 1e-10


def test_pd_gravity_settles_at_its_target(arm):
    """Under gravity, at the target to rounding; its power on the way is −v·D v less the springs' energy."""
    model, q, v = arm
    goal, K, D = q + 0.4, 40.0, np.array([50.0, 50, 20, 20, 10, 10, 5])
    control = controllers.pd_gravity(model, goal, K, D)
    trajectory = engine.Simulator(model, dt=2e-3, controller=control, joint_dynamics=False).run(q, v, 120.0, record_every=5)
    assert np.abs(trajectory.q[-1] - goal).max() < 1e-8 and np.abs(trajectory.v[-1]).max() < 1e-8
    lyapunov = trajectory.energy()[0] + 0.5 * K * ((trajectory.q - goal) ** 2).sum(1)
    assert np.diff(lyapunov).max() < 1e-12 * lyapunov[0]
    begin = engine.Simulator(model, dt=5e-4, controller=control, joint_dynamics=False).run(q, v, 1.0)
    lost = lyapunov[0] - begin.energy()[0][-1] - 0.5 * K * ((begin.q[-1] - goal) ** 2).sum()
    assert abs(boole(begin.v**2 @ D, 5e-4) - lost) < 1e-7 * lost


# ---------------------------------------------------------------- links


@pytest.mark.parametrize("damping", [1.0, 0.4])
def test_operational_space(arm, damping):
    """Along the reference to 1e-6; an offset from it, along its own screw, decays as ë + 2ζω ė + ω² e = 0."""
    model, q, v = arm
    T0 = dynamics.forward_kinematics(model, q)[model.link_index(TIP)]
    d = np.array([0.2, -0.3, 0.25, 0.1, 0.15, -0.2])
    reference = minimum_jerk_pose(T0, T0 @ se3.exp(d), 2.0)
    control = controllers.operational_space(model, TIP, reference, 6.0, damping, regular=1e-12)
    simulator = engine.Simulator(model, dt=2e-3, controller=control, joint_dynamics=False)
    trajectory = simulator.run(q, v, 3.0, record_every=10)
    e = errors(reference, trajectory)
    assert np.abs(e).max() < 1e-6 and np.abs(trajectory.q[-1] - q).max() > 0.1
    trajectory = simulator.run(q + 0.05 * np.array([1, -1, 1, -1, 1, -1, 1.0]), v, 2.0, record_every=10)
    e = errors(reference, trajectory)
    assert np.abs(e[0]).min() > 1e-3 and np.abs(e - oscillation(trajectory.t, e[0], 6.0, damping)).max() < 1e-6


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_resolved_rate_reaches(arm, flyer, base):
    """The pose at last, at zero and at another momentum of a floating base, whose rows stay undriven."""
    model, q, v = arm if base == "fixed" else flyer
    T0 = dynamics.forward_kinematics(model, q)[model.link_index(TIP)]
    goal = T0 @ se3.exp(np.array([0.2, -0.1, 0.2, 0.1, 0.1, -0.1]))
    control = controllers.resolved_rate(model, TIP, minimum_jerk_pose(T0, goal, 3.0), gain=3.0)
    gravity = (0, 0, -9.81) if base == "fixed" else (0, 0, 0)
    simulator = engine.Simulator(model, dt=2e-3, gravity=gravity, controller=control, joint_dynamics=False)
    for drift in (0.0, 1.0) if base == "floating" else (0.0,):
        if drift:
            v = np.concatenate([[0.002, 0.001, -0.002, 0.005, 0.003, -0.004], v[6:]])
        trajectory = simulator.run(q, v, 8.0, record_every=10)
        e = np.linalg.norm(errors(lambda t: (goal,), trajectory), axis=1)
        assert e[0] > 0.3 and e[-1] < (2e-5 if not drift else 2e-4)
        if base == "floating":
            assert (trajectory.tau[:, :6] == 0).all()


def test_generalized_jacobian_control(flyer):
    """The tip reaches a pose in space while nothing drives the base, and the momentum stays zero; it tracks on the way."""
    model, q, v = flyer
    T0 = dynamics.forward_kinematics(model, q)[model.link_index(TIP)]
    reference = minimum_jerk_pose(T0, T0 @ se3.exp(np.array([0.2, -0.3, 0.25, 0.1, 0.15, -0.2])), 4.0)
    control = controllers.generalized_jacobian_control(model, TIP, reference, bandwidth=3.0, regular=1e-12)
    simulator = engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0), controller=control, joint_dynamics=False)
    trajectory = simulator.run(q, v, 6.0, record_every=10)
    e = errors(reference, trajectory)
    assert np.abs(e).max() < 1e-6
    assert (trajectory.tau[:, :6] == 0).all() and np.abs(trajectory.momentum()).max() < 1e-10
    assert np.abs(model.difference(q, trajectory.q[-1])[:6]).max() > 1e-3
    assert trajectory.power()["drive"].any() and np.abs(trajectory.v[-1]).max() < 1e-2


def test_reaction_null_space_motion_leaves_the_attitude(flyer):
    """|ω| < 1e-9 rad/s all the time, with joints that turn at 0.1 rad/s; the same motion without it turns the base."""
    model, q, v = flyer

    def motion(t):
        return 0.2 * np.array([np.sin(t), np.cos(2 * t), 1.0, -1.0, np.sin(3 * t), 0.5, 1.0])

    control = controllers.reaction_null_space_motion(model, motion)
    simulator = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), controller=control, joint_dynamics=False)
    trajectory = simulator.run(q, v, 6.0, record_every=5)
    assert np.abs(trajectory.v[:, :3]).max() < 1e-9 and np.abs(trajectory.v[:, 6:]).max() > 0.1
    turned = model.difference(np.broadcast_to(q, trajectory.q.shape), trajectory.q)[:, :3]
    assert np.abs(turned).max() < 1e-8 and (trajectory.tau[:, :6] == 0).all()

    def plain(t, q, v):
        return dynamics.floating_inverse_dynamics(model, q, v, 10.0 * (motion(t) - v[6:]), (0, 0, 0))[0]

    other = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), joint_dynamics=False,
                             controller=lambda t, q, v: np.concatenate([np.zeros(6), plain(t, q, v)])).run(q, v, 1.0)  # fmt: skip
    assert np.abs(other.v[:, :3]).max() > 1e-4


# ---------------------------------------------------------------- attitude


def jets() -> Thrusters:
    """Six opposing pairs, a moment about each axis in each sense."""
    where, along = [], []
    for k in range(3):
        for sign in (1, -1):
            arm, push = np.eye(3)[(k + 1) % 3], sign * np.eye(3)[(k + 2) % 3]
            where += [0.5 * arm, -0.5 * arm]
            along += [push, -push]
    return Thrusters("bus", where, along, most=20.0)


@pytest.mark.parametrize("damping", [1.0, 0.5])
@pytest.mark.parametrize("actuator", ["wheels", "jets"])
def test_attitude_control(actuator, damping):
    """About a principal axis, however far: θ̈ + 2ζω θ̇ + ω² θ = 0, towards a target that is not the identity; no net force."""
    model = satellite()
    start, axis, angle = quaternion.normalize(np.array([1.0, 2, -1, 0.5])), np.array([0, 1.0, 0]), 2.5
    target = quaternion.product(start, quaternion.exp(angle * axis))
    acts = ReactionWheels("bus", TILTED) if actuator == "wheels" else jets()
    control = controllers.attitude_control(model, acts, target, bandwidth=0.8, damping=damping)
    trajectory = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[acts], controller=control).run(
        np.concatenate([start, [1.0, 2, 3]]), np.zeros(6), 20.0)  # fmt: skip
    e = quaternion.log(quaternion.product(quaternion.conjugate(trajectory.q[:, :4]), np.broadcast_to(target, (len(trajectory), 4))))
    assert np.abs(e - oscillation(trajectory.t, angle * axis, 0.8, damping)).max() < 1e-6
    assert np.abs(trajectory.v[:, 3:]).max() < 1e-13
    assert not trajectory(f"{acts.name}.saturated").any()


def test_attitude_control_of_an_arms_base_while_the_arm_moves(flyer):
    """Wheels hold the base while another controller moves the joints; a moving target is followed."""
    model, q, v = flyer
    wheels = ReactionWheels("bus", TILTED)
    sway = lambda t, q, v: np.concatenate([np.zeros(6), 2.0 * np.sin(0.5 * t) - 20.0 * v[6:]])
    control = controllers.attitude_control(model, wheels, q[:4], bandwidth=2.0, also=sway)
    simulator = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), actuators=[wheels], controller=control)
    held = simulator.run(q, v, 20.0)
    free = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), controller=sway).run(q, v, 20.0)
    turned = [np.linalg.norm(model.difference(np.broadcast_to(q, t.q.shape), t.q)[:, :3], axis=1).max() for t in (held, free)]
    assert turned[0] < 0.1 * turned[1] and turned[1] > 1e-3 and np.abs(held.v[:, 6:]).max() > 0.02


@pytest.mark.parametrize("make", [
    lambda m, q, e: controllers.computed_torque(m, controllers.minimum_jerk(m, q, e, 2.0)),
    lambda m, q, e: controllers.pd_gravity(m, e, 0.5, 1.0),
    lambda m, q, e: controllers.reaction_null_space_motion(m, lambda t: 0.05 * np.ones(4)),
    lambda m, q, e: lambda t, q, v, twists, boost=1.0: {"tau": np.concatenate([np.zeros(6), -boost * v[6:] + 0.01 * twists[-1, 0]])},
])  # fmt: skip
def test_attitude_control_beside_any_controller_of_the_joints(short, make):
    """What the other asks for, this asks for: gravity, twists, parameters."""
    model, q = short
    e = q + np.r_[np.zeros(7), 0.1 * np.ones(4)]
    wheels = ReactionWheels("bus", torque=2.0, momentum=50.0)
    other = make(model, q, e)
    control = controllers.attitude_control(model, wheels, q[:4], 0.2, also=other)
    both = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), actuators=[wheels], controller=control).run(q, np.zeros(10), 0.5)
    alone = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), controller=other).run(q, np.zeros(10), 0.5)
    np.testing.assert_allclose(both.tau[0], alone.tau[0], rtol=0, atol=1e-12)
    assert np.abs(both.v[-1, :3]).max() <= np.abs(alone.v[-1, :3]).max() + 1e-15
    with pytest.raises(engine.SimulationError, match="attitude_control: also is 3; expected a controller without a state or period"):
        controllers.attitude_control(model, wheels, also=3)


def test_momentum_dumping():
    """h dies out as exp(−rate t) while the attitude stays, and the whole's momentum goes with it."""
    model, wheels, thrusters, rate = satellite(), ReactionWheels("bus", TILTED, initial=[0.5, -0.3, 0.2, 0.4]), jets(), 0.2
    h0 = TILTED.T @ wheels.state
    control = controllers.momentum_dumping(model, wheels, thrusters, rate)
    trajectory = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels, thrusters], controller=control).run(
        model.neutral(), np.zeros(6), 20.0)  # fmt: skip
    h = trajectory("wheels.momentum") @ TILTED
    assert np.abs(h - np.exp(-rate * trajectory.t)[:, None] * h0).max() < 1e-9
    assert np.abs(trajectory.v).max() < 1e-10 and np.abs(trajectory.q[:, 1:4]).max() < 1e-10
    assert trajectory("thrusters.thrust").max() > 0.01 and trajectory("thrusters.thrust").min() >= 0


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("make", "message"), [
    (lambda m: controllers.generalized_jacobian_control(m, "bob", minimum_jerk_pose(np.eye(4), np.eye(4), 1.0)),
     "generalized_jacobian_control: 'pendulum' has a fixed base; expected a model loaded with floating_base=True"),
    (lambda m: controllers.reaction_null_space_motion(m, None), "reaction_null_space_motion: 'pendulum' has a fixed base"),
    (lambda m: controllers.attitude_control(m, ReactionWheels("bob")), "attitude_control: 'pendulum' has a fixed base"),
    (lambda m: controllers.operational_space(m, "bop", lambda t: 0), "no link 'bop' in 'pendulum' (did you mean 'bob'?)"),
    (lambda m: controllers.resolved_rate(m, "bop", lambda t: 0), "no link 'bop' in 'pendulum' (did you mean 'bob'?)"),
    (lambda m: controllers.pd_gravity(m, [1.0, 2.0], 1.0, 1.0), "q has shape (2,); expected"),
    (lambda m: minimum_jerk(m, [0.0], [np.nan], 1.0), "is nan"),
    (lambda m: minimum_jerk(m, [0.0], [1.0], 0.0), "minimum_jerk: the duration is 0.0; expected seconds greater than zero"),
    (lambda m: minimum_jerk_pose(np.eye(4), np.eye(4), -1.0), "minimum_jerk_pose: the duration is -1.0; expected seconds"),
    (lambda m: minimum_jerk_pose(np.eye(3), np.eye(4), 1.0), "minimum_jerk_pose: a pose has shape (3, 3); expected (4, 4)"),
    (lambda m: controllers.computed_torque(m, 3), "computed_torque: the reference is 3; expected a function of t"),
    (lambda m: controllers.operational_space(m, "bob", None), "operational_space: the reference is None; expected a function of t"),
])  # fmt: skip
def test_bad_controllers(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(pendulum())


@pytest.mark.parametrize(("reference", "message"), [
    (lambda t: (np.zeros(1), np.zeros(1)), "computed_torque: the reference returned 2 things; expected three"),
    (lambda t: np.zeros(1), "computed_torque: the reference returned ndarray; expected three"),
    (lambda t: (np.zeros(1), np.zeros(2), np.zeros(1)), "the reference returned shapes (1,), (2,), (1,); expected (1,), (1,), (1,)"),
])  # fmt: skip
def test_bad_references(reference, message):
    model = pendulum()
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(model, controller=controllers.computed_torque(model, reference))


def test_actuators_of_another_link_are_refused(flyer):
    with pytest.raises(engine.SimulationError, match=r"attitude_control: 'wheels' is on link 'gripper'; expected it on the base, 'bus'"):
        controllers.attitude_control(flyer[0], ReactionWheels("gripper"))


def test_thrusters_that_cannot_make_a_moment_are_refused():
    with pytest.raises(engine.SimulationError, match=r"'thrusters' make no moment .* without a force; expected opposing pairs"):
        controllers.attitude_control(satellite(), Thrusters("bus", np.zeros((2, 3)), [[1, 0, 0], [-1, 0, 0]], most=1.0))


BAD = (-1.0, 0.0, np.nan, np.inf, "2", None, True, [1.0, 2.0])


@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize("name", ["bandwidth", "damping"])
def test_gains_that_are_none_are_refused(name, bad):
    model, T = satellite(), minimum_jerk_pose(np.eye(4), np.eye(4), 1.0)
    rest = minimum_jerk(model, model.neutral(), model.neutral(), 1.0)
    for make in (lambda **k: controllers.attitude_control(model, ReactionWheels("bus"), **k),
                 lambda **k: controllers.computed_torque(model, rest, **k),
                 lambda **k: controllers.generalized_jacobian_control(model, "bus", T, **k),
                 lambda **k: controllers.momentum_dumping(model, ReactionWheels("bus"), jets(), **k),
                 lambda **k: controllers.operational_space(pendulum(), "bob", T, **k)):  # fmt: skip
        with pytest.raises(engine.SimulationError, match=rf": {name} is {re.escape(repr(bad))}; expected a number above 0"):
            make(**{name: bad})


@pytest.mark.parametrize(("make", "message"), [
    (lambda m, w: controllers.attitude_control(m, w, np.zeros(4)), "attitude_control: target is array([0., 0., 0., 0.]); expected a unit"),
    (lambda m, w: controllers.attitude_control(m, w, [np.nan, 0, 0, 1]), "attitude_control: target holds NaN or infinity; expected finite"),
    (lambda m, w: controllers.attitude_control(m, w, [1.0, 1, 0, 0]), "attitude_control: target is [1.0, 1, 0, 0]; expected a unit"),
    (lambda m, w: controllers.attitude_control(m, w, np.eye(3)), "attitude_control: target is array([[1., 0., 0.], [0., 1., 0.]"),
    (lambda m, w: controllers.attitude_control(m, w, "up"), "attitude_control: target is 'up'; expected a unit quaternion"),
    (lambda m, w: controllers.momentum_dumping(m, w, jets(), target="up"), "target is 'up'; expected a unit quaternion"),
    (lambda m, w: controllers.attitude_control(w, m), "model is <engine.components.actuators.ReactionWheels"),
    (lambda m, w: controllers.attitude_control(m, Motor("x")), "attitude_control: the actuator is <engine.components.actuators.Motor"),
    (lambda m, w: controllers.momentum_dumping(m, jets(), w), "momentum_dumping: the actuator is <engine.components.actuators.Thrusters"),
    (lambda m, w: controllers.momentum_dumping(m, w, jets(), rate=0.0), "momentum_dumping: rate is 0.0; expected a number above 0"),
    (lambda m, w: controllers.pd_gravity("satellite", 0, 1, 1), "pd_gravity: model is 'satellite'; expected a Model"),
    (lambda m, w: minimum_jerk(w, 0, 1, 1.0), "minimum_jerk: model is <engine.components.actuators.ReactionWheels"),
    (lambda m, w: minimum_jerk_pose("home", np.eye(4), 1.0), "minimum_jerk_pose: start is 'home'; expected numbers"),
    (lambda m, w: controllers.reaction_null_space_motion(m, 3.0), "reaction_null_space_motion: motion is 3.0; expected a function of t"),
    (lambda m, w: controllers.resolved_rate(m, "bus", lambda t: 0, gain=-1.0), "resolved_rate: gain is -1.0; expected a number above 0"),
    (lambda m, w: controllers.resolved_rate(m, "bus", lambda t: 0, regular=-1.0), "resolved_rate: regular is -1.0; expected zero or more"),
])  # fmt: skip
def test_arguments_of_controllers_that_are_none_are_refused_by_name(make, message):
    with pytest.raises(engine.SimulationError, match=re.escape(message)):
        make(satellite(), ReactionWheels("bus"))


def test_a_target_is_normalised_and_one_of_a_function_is_looked_at():
    model, wheels = satellite(), ReactionWheels("bus")
    q = quaternion.normalize(np.array([1.0, 2, 3, 4]))
    near, unit = (controllers.attitude_control(model, wheels, f * q)(0.0, model.neutral(), np.zeros(6))["wheels"] for f in (1.01, 1.0))
    np.testing.assert_allclose(near, unit, rtol=0, atol=1e-14)
    for compiled in (True, False):
        control = controllers.attitude_control(model, wheels, lambda t: np.array([1.0 + t, 0, 0, 0]))
        simulator = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), actuators=[wheels], controller=control, compiled=compiled)
        with pytest.raises(engine.SimulationError, match=r"attitude_control: target return.* a quaternion that is no unit one"):
            simulator.run(model.neutral(), np.zeros(6), 1.0)
    with pytest.raises(engine.SimulationError, match=r"attitude_control: target returned shape \(3,\); expected a unit quaternion"):
        engine.Simulator(model, actuators=[wheels], controller=controllers.attitude_control(model, wheels, lambda t: np.zeros(3)))


def test_controllers_of_another_model_are_refused(arm, flyer):
    """Whose joints are others; another mass, and a copy, will do."""
    control = controllers.pd_gravity(arm[0], HOME, 1.0, 1.0)
    message = (r"pd_gravity was made for <model 'free_flyer': .* nq 7, nv 7>, where joint 'shoulder_yaw' \(\w+\) is 'floating_base' "
               r"\(floating\) of <model 'free_flyer': .* nq 14, nv 13>; expected one that is made for this model")  # fmt: skip
    wheels = ReactionWheels("bus")
    beside = controllers.attitude_control(flyer[0], wheels, also=control)
    for given in ({"controller": control}, {"controller": engine.Law(control, period=0.1)}, {"forces": [control]}, {"controller": beside}):
        with pytest.raises(engine.SimulationError, match=message):
            engine.Simulator(flyer[0], actuators=[wheels], **given)
    engine.Simulator(pickle.loads(pickle.dumps(arm[0])), controller=control, parameters={"mass.gripper": 3.0})


def test_controllers_of_other_wheels_are_refused():
    """Which have their name and other axes; wheels that were pickled apart are the same."""
    model, wheels = satellite(), ReactionWheels("bus", TILTED)
    control = controllers.attitude_control(model, wheels)
    message = "attitude_control was made for another 'wheels' than the simulator's, with other axes or places; expected the same actuator"
    with pytest.raises(engine.SimulationError, match=message):
        engine.Simulator(model, actuators=[ReactionWheels("bus", -TILTED)], controller=control)
    engine.Simulator(model, actuators=[pickle.loads(pickle.dumps(wheels))], controller=control)
    dump = controllers.momentum_dumping(model, wheels, jets())
    moved = jets()
    moved.positions = 2.0 * moved.positions
    with pytest.raises(engine.SimulationError, match="momentum_dumping was made for another 'thrusters' than the simulator's"):
        engine.Simulator(model, actuators=[wheels, moved], controller=dump)


def test_a_long_chain_tracks():
    """Twelve joints about all axes, with gravity: RNEA against ABA along the motion."""
    model = chain(12)
    q = 0.3 * np.ones(12)
    reference = minimum_jerk(model, q, -q, 1.0)
    trajectory = engine.Simulator(model, dt=1e-3, controller=controllers.computed_torque(model, reference)).run(q, np.zeros(12), 1.2)
    assert np.abs(trajectory.q[-1] + q).max() < 1e-6


@pytest.mark.parametrize(("wrong", "text"), [
    (lambda t, q, v: 1.0 / (0.0 * v), "lambda> returned .*inf.*; expected finite numbers"),
    (lambda t, q, v: -np.log(np.abs(v)), "lambda> returns NaN or infinity at t = 0 s"),
    (lambda t, q, v: np.full(1, np.nan), r"lambda> returned array\(\[nan\]\); expected finite numbers"),
])  # fmt: skip
def test_an_infinite_command_ends_the_run(wrong, text):
    """Though the joints' efforts would clip it."""
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.from_mass(1.0, [0, 0, 0.1], 0.01 * np.eye(3)))
    arm.add_joint("elbow", "revolute", "base", "rod", axis=[0, 1, 0], limits=engine.Limits(effort=5.0))
    with pytest.raises(engine.SimulationError, match=text):
        engine.Simulator(arm.model(), controller=wrong).run([0.1], [0.0], 0.01)


def test_a_ready_controller_that_another_function_calls_says_what_it_asks_for(flyer):
    """In machine code and on floats alike."""
    model, q, v = flyer
    reach = controllers.generalized_jacobian_control(model, TIP, minimum_jerk_pose(np.eye(4), np.eye(4), 1.0))
    said = re.escape("generalized_jacobian_control was called without pose, jacobian, gravity, armature; expected pose=pose, "
                     "jacobian=jacobian, gravity=gravity, armature=armature by name, from a function that asks for them: "
                     "(t, q, v, pose, jacobian, gravity, armature)")  # fmt: skip
    with pytest.raises(engine.SimulationError, match=said):
        reach(0.0, q, v)
    with pytest.raises(engine.SimulationError, match=said):
        engine.Simulator(model, gravity=(0, 0, 0), controller=lambda t, q, v: {"tau": reach(t, q, v)}).run(q, v, 0.01)
    named = lambda t, q, v, pose, jacobian, gravity, armature: reach(
        t, q, v, pose=pose, jacobian=jacobian, gravity=gravity, armature=armature)  # fmt: skip
    tau = [engine.Simulator(model, gravity=(0, 0, 0), controller=c).run(q, v, 0.01).tau for c in (named, reach)]
    assert np.array_equal(*tau)
