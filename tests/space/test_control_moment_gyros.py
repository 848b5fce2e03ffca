"""Control moment gyros and wheels out of balance: values, singular postures, and momentum that is kept."""

import numpy as np
import pytest

import engine
from engine.components.actuators import ReactionWheels
from engine.components.controllers import attitude_control
from engine.space import ControlMomentGyros, SimulationError
from engine.spatial import inertia
from tests.numeric import derivative
from tests.space.numbers import values


def satellite():
    builder = engine.Builder("sat")
    builder.add_link("sat", inertia=inertia.from_mass(100.0, np.array([0.1, 0.0, 0.05]), np.diag([20.0, 25.0, 15.0])))
    builder.add_link("arm", inertia=inertia.from_mass(5.0, np.array([0.5, 0.0, 0.0]), np.diag([0.1, 0.5, 0.5])))
    builder.add_joint("elbow", "revolute", "sat", "arm", engine.spatial.se3.pose(np.eye(3), [0.5, 0, 0]), axis=[0, 0.6, 0.8])
    return builder.model(floating_base=True)


def test_a_pyramid_s_measure_of_singular_postures():
    gyros = ControlMomentGyros.pyramid("sat", 1.0)
    found = [gyros.manipulability(np.radians(x)) for x in ((0, 0, 0, 0), (20, -35, 50, 70))]
    assert found == pytest.approx(values("CMG"), rel=1e-12)
    singular = np.radians([-90.0, 0.0, 90.0, 0.0])
    assert gyros.manipulability(singular) < 1e-8
    assert gyros.stored(singular) == pytest.approx([2.0 / np.sqrt(3.0), 0.0, 0.0], abs=1e-15)


def test_the_jacobian_is_the_momentum_s_derivative():
    gyros, angles = ControlMomentGyros.pyramid("sat", 3.0), np.array([0.3, -0.7, 1.1, 2.0])
    for k, e in enumerate(np.eye(4)):
        slope = derivative(lambda x, e=e: gyros.stored(angles + x * e))
        assert np.abs(slope - 3.0 * gyros.jacobian(angles)[:, k]).max() < 1e-12


def test_momentum_is_kept_and_the_wanted_moment_is_made():
    """Of a robot whose arm swings; and away from singular postures the moment is the wanted one to what is damped."""
    model, gyros = satellite(), ControlMomentGyros.pyramid("sat", 2.0, initial=np.radians([20.0, -35.0, 50.0, 70.0]))
    wanted = np.array([0.1, -0.2, 0.15])
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), actuators=[gyros], controller=lambda t, q, v: {"gyros": wanted})
    q, v = model.neutral(), np.array([0.05, -0.02, 0.03, 0, 0, 0, 0.4])
    flight = simulator.run(q, v, 10.0, record_every=25)
    P = flight.momentum()
    assert np.abs(P - P[0]).max() < 1e-13 * 4.0
    assert np.ptp(flight("gyros.momentum"), axis=0).max() > 0.5
    assert flight("gyros.torque")[0] == pytest.approx(wanted, rel=1e-6)
    plain = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), actuators=[gyros], compiled=False,
                             controller=lambda t, q, v: {"gyros": wanted}).run(q, v, 0.2)  # fmt: skip
    assert np.abs(plain("gyros.angles")[-1] - simulator.run(q, v, 0.2)("gyros.angles")[-1]).max() < 1e-13


def turned_by(wanted, duration=20.0, **more):
    """A pyramid that makes a moment, N·m, and the flight."""
    model, gyros = satellite(), ControlMomentGyros.pyramid("sat", 2.0, **more)
    command = np.array(wanted, dtype=float)
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), actuators=[gyros], controller=lambda t, q, v: {"gyros": command})
    return simulator.run(model.neutral(), np.zeros(7), duration, record_every=50)


def test_gyros_leave_a_singular_posture():
    """In which no rate makes the moment that is wanted: they are told of it, and without what dithers they stay for ever."""
    posture = np.radians([-90.0, 0.0, 90.0, 0.0])
    with pytest.warns(engine.SimulationWarning, match="gyros: 4 gyros begin in a singular posture.*expected another initial="):
        still, flight = (turned_by([0.1, 0.0, 0.0], initial=posture, dither=x) for x in (0.0, 0.1))
    assert (still("gyros.missed") > 0.0999).all()
    assert np.abs(still("gyros.rates")).max() < 1e-9
    assert flight("gyros.missed")[0] > 0.0999
    assert (flight("gyros.missed")[6:] < 1e-3).all()
    assert flight("gyros.manipulability")[-1] > 1.0
    P = flight.momentum()
    assert np.abs(P - P[0]).max() < 1e-13 * 4.0


def test_null_motion_makes_no_moment_and_leads_uphill():
    """From a posture near a singular one, without a moment wanted: m grows, momentum stays, and the slope is m²'s."""
    posture = np.radians([-80.0, 5.0, 75.0, 10.0])
    flight = turned_by(np.zeros(3), initial=posture, null=1.0)
    m = flight("gyros.manipulability")
    assert (np.diff(m) > -1e-12).all()
    assert m[-1] > 2.0 * m[0]
    assert np.abs(flight("gyros.momentum") - flight("gyros.momentum")[0]).max() < 1e-4 * 2.0                    # the steps' error
    assert np.abs(flight("gyros.torque")).max() < 1e-14
    gyros = ControlMomentGyros.pyramid("sat", 2.0, null=1.0)
    rates = gyros.steering(0.0, gyros.jacobian(posture), np.zeros(3), posture)
    slope = np.array([derivative(lambda x, e=e: gyros.manipulability(posture + x * e) ** 2) for e in np.eye(4)])
    onto_null = np.eye(4) - np.linalg.pinv(gyros.jacobian(posture)) @ gyros.jacobian(posture)
    assert rates == pytest.approx(gyros.manipulability(posture) ** 2 * onto_null @ slope, abs=1e-9)


def test_gyros_that_span_no_three_axes_are_told():
    for gimbals, rotors in (([[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1]]), ([[0, 0, 1]] * 3, [[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0]])):
        with pytest.warns(engine.SimulationWarning, match="are singular in every posture.*expected gimbals that span three axes"):
            ControlMomentGyros("sat", gimbals, rotors, 1.0)


def test_a_rate_s_limit_keeps_the_moment_s_direction():
    gyros = ControlMomentGyros.pyramid("sat", 2.0, rate=0.05, initial=np.radians([20.0, -35.0, 50.0, 70.0]))
    wanted = np.array([1.0, -2.0, 1.5])
    flight = engine.Simulator(satellite(), dt=0.02, gravity=(0, 0, 0), actuators=[gyros],
                              controller=lambda t, q, v: {"gyros": wanted}).run(satellite().neutral(), np.zeros(7), 0.02)  # fmt: skip
    torque = flight("gyros.torque")[0]
    assert np.abs(flight("gyros.rates")[0]).max() == pytest.approx(0.05, rel=1e-12)
    assert np.abs(np.cross(torque, wanted)).max() < 1e-5 * np.linalg.norm(torque) * np.linalg.norm(wanted)


OUT = {"inertia": 0.01, "static": 1e-5, "dynamic": 2e-7}


def test_wheels_out_of_balance():
    """U_s Ω² and U_d Ω², turning with the wheel; its momentum is what it was."""
    force, moment = values("IMB")
    wheels = ReactionWheels("sat", [[0, 0, 1]], initial=[0.01 * 300.0], **OUT)
    flight = engine.Simulator(satellite(), dt=1e-4, gravity=(0, 0, 0), actuators=[wheels], joint_dynamics=None).run(
        satellite().neutral(), np.zeros(7), 0.02, record_every=20)  # fmt: skip
    shake = flight("wheels.shake")
    assert np.linalg.norm(shake[:, 3:], axis=1) == pytest.approx(force, rel=1e-9)
    assert np.linalg.norm(shake[:, :3], axis=1) == pytest.approx(moment, rel=1e-9)
    turned = np.unwrap(np.arctan2(shake[:, 4], shake[:, 3]))
    assert turned - turned[0] == pytest.approx(300.0 * flight.t, abs=1e-8)
    assert flight("wheels.momentum") == pytest.approx(3.0, rel=1e-12)


def test_imbalance_is_what_a_wheel_as_a_link_does():
    """A rotor whose centre is off its axis, and whose axis is none of inertia's, shakes the hub as U_s and U_d say; and keeps momentum."""
    U, D, J, speed = 2e-3, 3e-5, 0.01, 100.0
    hub = inertia.from_mass(100.0, np.zeros(3), np.diag([20.0, 25.0, 15.0]))
    builder = engine.Builder("exact")
    builder.add_link("hub", inertia=hub)
    H, I = engine.spatial.so3.hat([U, 0, 0]), np.array([[0.6 * J, 0, -D], [0, 0.6 * J, 0], [-D, 0, J]])
    builder.add_link("rotor", inertia=np.block([[I, H], [-H, 2.0 * np.eye(3)]]))
    builder.add_joint("axle", "continuous", "hub", "rotor", axis=[0, 0, 1])
    exact = builder.model(floating_base=True)
    run = engine.Simulator(exact, dt=5e-4, gravity=(0, 0, 0)).run(exact.neutral(), [0, 0, 0, 0, 0, 0, speed], 2 * np.pi / speed)
    P = run.momentum("center_of_mass")
    assert np.abs(P - P[0]).max() < 1e-12 * J * speed
    builder = engine.Builder("simple")
    builder.add_link("hub", inertia=hub + inertia.from_mass(2.0, np.zeros(3), np.diag([0.6 * J, 0.6 * J, 0.0])))
    simple = builder.model(floating_base=True)
    wheels = ReactionWheels("hub", [[0, 0, 1]], initial=[J * speed], inertia=J, static=U, dynamic=D)
    made = engine.Simulator(simple, dt=5e-4, gravity=(0, 0, 0), actuators=[wheels])
    other = made.run(simple.neutral(), run.v[0, :6], 2 * np.pi / speed)
    for k, scale in ((slice(0, 3), D * speed**2 / 20.0), (slice(3, 6), U * speed**2 / 102.0)):
        exact_swing, simple_swing = (np.ptp(x.vdot[:, k], axis=0) for x in (run, other))
        assert exact_swing.max() == pytest.approx(2.0 * scale, rel=0.3)
        assert simple_swing[:2] == pytest.approx(exact_swing[:2], rel=0.05)


def test_control_knows_wheels_that_shake():
    """A target that turns: momenta, and no angles, are what the wheels hold."""
    model, target = satellite(), lambda t, q, v: (np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
    found = []
    for more in ({}, {**OUT, "static": 1e-12, "dynamic": 0.0}):
        wheels = ReactionWheels("sat", initial=[3.0, -2.0, 1.0], torque=0.5, momentum=20.0, **more)
        control = attitude_control(model, wheels, target=target)
        found.append(engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), actuators=[wheels], controller=control).run(
            model.neutral(), [0.1, -0.05, 0.02, 0, 0, 0, 0], 5.0, record_every=50).v)  # fmt: skip
    assert np.abs(found[0] - found[1]).max() < 1e-7


@pytest.mark.parametrize(("what", "text"), [
    (lambda: ControlMomentGyros("sat", [[1, 0, 0]], [[1, 0, 0]], 1.0), "not across one another"),
    (lambda: ControlMomentGyros.pyramid("sat", 0.0), "momentum is 0.0"),
    (lambda: ControlMomentGyros.pyramid("sat", 1.0, rate=0.0), "rate is 0.0"),
    (lambda: ControlMomentGyros.pyramid("sat", 1.0, dither=0.5), "from 0, below 0.5"),
    (lambda: ControlMomentGyros.pyramid("sat", 1.0, initial=[0.0]), "an angle for each gyro"),
    (lambda: ReactionWheels("sat", inertia=0.01, static=-1e-5), "expected numbers from 0"),
    (lambda: ReactionWheels("sat", inertia=0.0), "inertia is 0.0; expected kg·m² above 0"),
    (lambda: ReactionWheels("sat", static=1e-5), "inertia is None; expected a rotor's"),
    (lambda: ReactionWheels("sat", inertia=0.01, static=[1e-5, 1e-5]), "static has shape"),
])  # fmt: skip
def test_what_is_no_gyro_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()
