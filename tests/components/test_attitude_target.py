"""Attitudes that move: followed without a lag, by wheels and by thrusters, whoever says how they turn; and what is refused."""

import re

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.components.actuators import ReactionWheels
from engine.components.attitude_target import attitude_target, motion
from engine.components.controllers import attitude_control, momentum_dumping
from engine.components.forces import CentralGravity
from engine.spatial import inertia, quaternion, se3, so3
from tests.components.test_actuators import TILTED
from tests.components.test_controllers import jets, oscillation
from tests.numeric import check_lives, derivative

NONE = (0, 0, 0)
#: of an orbit 500 km up, rad/s, and how fast a controller answers
ORBIT, BANDWIDTH = 0.0011, 0.153


def lopsided() -> engine.Model:
    """A satellite whose centre of mass is off its origin, with products of inertia."""
    body = engine.Builder("satellite")
    tensor = so3.exp(np.array([0.3, -0.2, 0.5])) @ np.diag([2.0, 3.0, 4.0]) @ so3.exp(np.array([0.3, -0.2, 0.5])).T
    body.add_link("bus", inertia=inertia.from_mass(10.0, [0.05, -0.1, 0.08], tensor))
    return body.model(floating_base=True)


def nadir(t):
    return quaternion.exp(np.array([0.0, -ORBIT * t, 0.0]))


def swinging(t):
    """Turns about two axes, faster and slower."""
    slow, fast = np.array([0.3, 0.1, -0.2]) * np.sin(0.4 * t), np.array([0.0, 0.5, 0.2]) * t * t / 20
    return quaternion.product(quaternion.exp(slow), quaternion.exp(fast))


def rates_by_differences(target, t):
    """ω and ω̇ in the target's own axes."""
    def rate(t):
        return derivative(lambda h: quaternion.log(quaternion.product(quaternion.conjugate(target(t)), target(t + h))))

    return rate(t), derivative(lambda h: rate(t + h))


def off(trajectory, target):
    """The rotation vectors (T, 3) from the base to the target."""
    wanted = np.array([target(t) for t in trajectory.t])
    return quaternion.log(quaternion.product(quaternion.conjugate(trajectory.q[:, :4]), wanted))


def on_target(model, target):
    """The state in which a target is met: q, v."""
    q = model.neutral()
    q[:4] = target(0.0)
    return q, np.concatenate([rates_by_differences(target, 0.0)[0], np.zeros(model.nv - 3)])


@pytest.mark.parametrize("target", [nadir, swinging])
@pytest.mark.parametrize("actuator", ["wheels", "jets"])
def test_a_moving_target_is_met_without_a_lag(target, actuator):
    """From the right start to the integrator's error, wheels that spin already, and a centre of mass beside the origin; the lag of a law
    that does not know how it turns would be 2 ζ ω_target / ω."""
    model = lopsided()
    acts = ReactionWheels("bus", TILTED, initial=[0.5, -0.3, 0.2, 0.4]) if actuator == "wheels" else jets()
    control = attitude_control(model, acts, target, BANDWIDTH)
    simulator = engine.Simulator(model, dt=0.02, gravity=NONE, actuators=[acts], controller=control)
    trajectory = simulator.run(*on_target(model, target), 20.0, record_every=10)
    assert np.abs(off(trajectory, target)).max() < 1e-8 < 2 * ORBIT / BANDWIDTH
    assert not trajectory(f"{acts.name}.saturated").any()


@pytest.mark.parametrize("target", [swinging, quaternion.exp(np.array([0.4, 0.1, -0.2]))])
def test_a_joint_that_is_placed_at_an_angle_changes_nothing(target):
    """The same satellite on a joint that is turned and shifted: its attitude in the world is that on a joint at the origin."""
    placement, motions = se3.pose(so3.exp(np.array([0.3, -0.8, 1.1])), np.array([1.0, 2.0, 3.0])), []
    for T in (np.eye(4), placement):
        body = engine.Builder("satellite")
        body.add_link("world")
        body.add_link("bus", inertia=lopsided().links[0].inertia)
        body.add_joint("free", "floating", "world", "bus", placement=T)
        model, wheels = body.model(), ReactionWheels("bus", TILTED)
        q = np.concatenate([quaternion.from_matrix(T[:3, :3].T), np.zeros(3)])
        control = attitude_control(model, wheels, target, BANDWIDTH)
        run = engine.Simulator(model, dt=0.02, gravity=NONE, actuators=[wheels], controller=control).run(q, np.zeros(6), 10.0, 50)
        motions.append(np.array([dynamics.forward_kinematics(model, q)[1][:3, :3] for q in run.q]))
    assert np.abs(motions[0][-1] - np.eye(3)).max() > 0.1
    np.testing.assert_allclose(motions[1], motions[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("damping", [1.0, 0.5])
def test_an_offset_dies_out_as_if_the_target_stood(damping):
    """About any axis, however far: ë + 2ζω ė + ω² e = 0, while the target turns about others, faster than the controller answers."""
    model, e0 = lopsided(), 2.0 * np.array([0.48, -0.6, 0.64])
    wheels = ReactionWheels("bus", TILTED, initial=[0.5, -0.3, 0.2, 0.4])
    target = lambda t: quaternion.product(quaternion.exp(np.array([0.2, 0.9, -0.4]) * t), swinging(t))
    control = attitude_control(model, wheels, target, bandwidth=0.5, damping=damping)
    q, v = on_target(model, target)
    q[:4] = quaternion.product(q[:4], quaternion.exp(-e0))
    v[:3] = so3.exp(e0) @ v[:3]
    run = engine.Simulator(model, dt=0.01, gravity=NONE, actuators=[wheels], controller=control).run(q, v, 12.0, record_every=10)
    assert np.abs(off(run, target) - oscillation(run.t, e0, 0.5, damping)).max() < 1e-6


def test_on_the_target_the_moment_is_that_of_inverse_dynamics():
    """Second route: where nothing is to be mended, aba under the moment, less what turns the wheels' momentum, gives the target's ω̇."""
    model, h = lopsided(), np.array([0.3, -0.5, 0.4])
    wheels = ReactionWheels("bus")
    for t in (0.0, 1.3, 4.0):
        w, wdot = rates_by_differences(swinging, t)
        q, v = np.concatenate([swinging(t), [1.0, 2, 3]]), np.concatenate([w, [0.5, -7.0, 2.0]])
        moment = attitude_control(model, wheels, swinging)(t, q, v, states={"wheels": h})["wheels"]
        vdot = dynamics.aba(model, q, v, np.concatenate([moment - np.cross(w, h), np.zeros(3)]), NONE)
        np.testing.assert_allclose(vdot[:3], wdot, rtol=0, atol=1e-9)


def test_rates_are_those_of_differences_and_those_that_are_given():
    model = lopsided()
    derived = attitude_target("x", model, swinging)
    given = attitude_target("x", model, lambda t: (swinging(t), *rates_by_differences(swinging, t)))
    for t in (0.0, 0.7, 5.0):
        state = t, model.neutral(), np.zeros(6)
        (q, (w, wdot)), (q_given, rates) = derived(*state), given(*state)
        np.testing.assert_array_equal(q, q_given)
        np.testing.assert_allclose([w, wdot], rates, rtol=0, atol=1e-10)
    scaled = attitude_target("x", model, lambda t: (1.0 + 0.01 * np.sin(t)) * swinging(t))    # a length that is off, and changes
    np.testing.assert_allclose(scaled(0.7, *state[1:])[1], derived(0.7, *state[1:])[1], rtol=0, atol=1e-14)


def test_a_function_that_stands_is_a_quaternion_to_the_bit():
    model, wheels = lopsided(), ReactionWheels("bus", TILTED, initial=[0.5, -0.3, 0.2, 0.4])
    goal = quaternion.normalize(np.array([1.0, 2, -1, 0.5]))
    runs = [engine.Simulator(model, dt=0.02, gravity=NONE, actuators=[wheels], controller=attitude_control(model, wheels, target)).run(
        model.neutral(), np.r_[0.1, -0.2, 0.1, 0, 0, 0], 1.0) for target in (goal, lambda t: goal)]  # fmt: skip
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


def test_moments_in_three_lives():
    model, wheels = lopsided(), ReactionWheels("bus", TILTED)
    by_time, by_state = (attitude_control(model, wheels, f) for f in (swinging, down))
    t = np.array([0.1, 0.9, 3.0])
    q, v = (np.array(x) for x in zip(*[model.random(np.random.default_rng(k)) for k in range(3)], strict=True))
    q[:, 4:] += [3.0, 0, 0]
    for control in (by_time, by_state):
        check_lives(lambda t, q, v, h: control(t, q, v, states={"wheels": h})["wheels"], t, q, v, np.ones((3, 4)), tolerance=1e-12)


def down(t, q, v):
    """z to the world's origin, −y along the momentum of the orbit."""
    r, V = q[4:7], so3_of(q) @ v[3:6]
    z = -r / np.sqrt(r @ r)
    y = np.array([V[1] * r[2] - V[2] * r[1], V[2] * r[0] - V[0] * r[2], V[0] * r[1] - V[1] * r[0]])
    y = y / np.sqrt(y @ y)
    x = np.array([y[1] * z[2] - y[2] * z[1], y[2] * z[0] - y[0] * z[2], y[0] * z[1] - y[1] * z[0]])
    return quaternion.from_matrix(np.array([x, y, z]).T)


def so3_of(q):
    return quaternion.to_matrix(q[:4])


def test_a_target_of_the_state_follows_an_ellipse():
    """z to the earth all the way along an orbit of eccentricity 0.3, where the line turns ever faster or slower."""
    mu, a, e = 1.0, 10.0, 0.3
    ball = engine.Builder("satellite")
    ball.add_link("bus", inertia=inertia.from_mass(10.0, np.zeros(3), 1.5 * np.eye(3)))
    model, wheels = ball.model(floating_base=True), ReactionWheels("bus", TILTED)
    q, v = model.neutral(), np.zeros(6)
    q[4:], speed = [a * (1 - e), 0, 0], np.sqrt(mu / a * (1 + e) / (1 - e))
    q[:4] = down(0.0, q, np.array([0, 0, 0, 0, speed, 0.0]))
    v[1], v[3:] = -speed / (a * (1 - e)), so3_of(q).T @ [0, speed, 0]
    v[:3] = so3_of(q).T @ [0, 0, speed / (a * (1 - e))]
    simulator = engine.Simulator(model, dt=0.05, gravity=NONE, forces=[CentralGravity(mu=mu)], actuators=[wheels],
                                 controller=attitude_control(model, wheels, down, bandwidth=0.2))  # fmt: skip
    run = simulator.run(q, v, 100.0, record_every=20)
    wanted = np.array([down(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
    far = quaternion.log(quaternion.product(quaternion.conjugate(run.q[:, :4]), wanted))
    radius = np.linalg.norm(run.q[:, 4:], axis=1)
    assert np.ptp(radius) > 4.0 and np.abs(far).max() < 1e-7


def test_where_nothing_accelerates():
    """A ball that turns and a rod on a hinge fly on as in a run; a ball's own equations are those."""
    ball, rod = engine.Builder("ball"), engine.Builder("rod")
    ball.add_link("ball", inertia=inertia.sphere(2.0, 0.1))
    rod.add_link("base"), rod.add_link("rod", inertia=inertia.from_mass(1.0, np.zeros(3), np.eye(3)))
    rod.add_joint("hinge", "revolute", "base", "rod")
    model = engine.combine(rod=rod.model(), ball=ball.model(floating_base=True))
    q, v = model.random(np.random.default_rng(0))
    run = engine.Simulator(model, dt=0.01, gravity=NONE).run(q, v, 1.5)
    q_s, v_s = motion(model, q, v, 1.5)
    np.testing.assert_allclose(model.difference(run.q[-1], q_s), np.zeros(7), atol=1e-10)
    np.testing.assert_allclose(run.v[-1], v_s, atol=1e-10)


def test_momentum_is_dumped_on_the_way():
    """h about the turning axes dies out as it is turned, and the target is met."""
    model, rate = lopsided(), 0.2
    wheels, thrusters = ReactionWheels("bus", TILTED, initial=[0.5, -0.3, 0.2, 0.4]), jets()
    control = momentum_dumping(model, wheels, thrusters, rate, nadir, BANDWIDTH)
    simulator = engine.Simulator(model, dt=0.02, gravity=NONE, actuators=[wheels, thrusters], controller=control)
    run = simulator.run(*on_target(model, nadir), 20.0)
    assert np.abs(off(run, nadir)).max() < 1e-8
    size = np.linalg.norm(run("wheels.momentum") @ TILTED, axis=1)
    assert size[-1] < 1.1 * np.exp(-rate * 20.0) * size[0] + ORBIT


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("target", "message"), [
    (lambda t: (nadir(t), np.zeros(3)), "attitude_control: target returned shapes (4,), (3,); expected a quaternion, ω and ω̇: (4,), "),
    (lambda t: (nadir(t), np.zeros(3), np.zeros(4)), "target returned shapes (4,), (3,), (4,); expected a quaternion, ω and ω̇"),
    (lambda t: (nadir(t), np.zeros(3), np.full(3, np.nan)), "attitude_control: target returned a quaternion whose rates are not finite"),
    (lambda t: quaternion.exp(np.sqrt(t) * np.eye(3)[0] / 9), "attitude_control: target returned a quaternion whose rates are not finite"),
    (lambda t: nadir(t if t < 5.0 else 5.0), "attitude_control: target: its rates cannot be derived, as it cannot be traced: "),
    (lambda t, q: nadir(t), "attitude_control: target takes (t, q); expected a function of t, of t, q, v, or of t, q, v, origin"),
])  # fmt: skip
def test_targets_that_are_none(target, message):
    model = lopsided()
    with pytest.raises(engine.SimulationError, match=re.escape(message)):
        attitude_control(model, jets(), target)(0.0, model.neutral(), np.zeros(6))


def test_a_target_that_is_more_than_a_function_of_time():
    """In plain Python it may be anything; what it was when its rates were derived is not what it is."""
    model, now = lopsided(), [0.0]
    control = attitude_control(model, jets(), lambda t: nadir(t + now[0]))
    control(0.0, model.neutral(), np.zeros(6))
    now[0] = 90.0
    with pytest.raises(engine.SimulationError, match=r"target returned array.* when its rates were derived: it depends on more than"):
        control(0.0, model.neutral(), np.zeros(6))


def test_wheels_are_asked_for():
    model, wheels = lopsided(), ReactionWheels("bus")
    control = attitude_control(model, wheels, nadir)
    with pytest.raises(engine.SimulationError, match="attitude_control was called without states; expected states=states by name"):
        control(0.0, model.neutral(), np.zeros(6))
