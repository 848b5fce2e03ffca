"""Attitudes that follow an orbit: rates by differences of flights, and control that leaves no lag; momentum that is dumped."""

import numpy as np
import pytest

import engine
from engine.components.actuators import ReactionWheels
from engine.components.controllers import attitude_control, momentum_dumping
from engine.space import EARTH_J2, GravityField, ReferenceOrbit, SimulationError, Thrusters, lvlh, pointing, turning
from engine.spatial import inertia, quaternion
from tests.space.numbers import MU

A = 6778137.0
SPEED = np.sqrt(MU / A)
FIELD = GravityField(MU, zonals={2: EARTH_J2})
STATION = lambda t: np.array([6378137.0 * 0.6, 6378137.0 * 0.64, 6378137.0 * 0.48])


def satellite():
    builder = engine.Builder("sat")
    builder.add_link("sat", inertia=inertia.from_mass(100.0, np.zeros(3), np.diag([20.0, 25.0, 15.0])))
    return builder.model(floating_base=True)


def test_rates_are_those_of_the_axes():
    r, v = np.array([5e6, -3e6, 3.7e6]), np.array([3000.0, 6500.0, 1200.0])
    q, w, wdot = pointing("lvlh", FIELD)(0.0, None, None, (r, v))
    A = lvlh(r, v)
    assert np.abs(quaternion.to_matrix(q) - A).max() < 1e-14
    assert np.abs(A @ w - turning(r, v, FIELD.acceleration(r))).max() < 1e-15
    step = 1.0                                                                  # of a flight on: Runge and Kutta's
    fly = lambda y: np.concatenate([y[3:], FIELD.acceleration(y[:3])])
    rates = []
    for h in (step, -step):
        y = np.concatenate([r, v])
        k1 = fly(y)
        k2 = fly(y + h / 2 * k1)
        k3 = fly(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + fly(y + h * k3))
        rates.append(pointing("lvlh", FIELD)(0.0, None, None, (y[:3], y[3:]))[1])
    assert np.abs((rates[0] - rates[1]) / (2 * step) - wdot).max() < 1e-12


@pytest.mark.parametrize("axes", ["lvlh", "rtn", pytest.param(STATION, id="station")])
def test_control_follows_without_a_lag(axes):
    """In an orbit under J2, with a gradient that pulls: after it has settled the base is where the axes are, to the gradient's push."""
    model, wheels = satellite(), ReactionWheels("sat", torque=1.0)
    target = pointing(axes, FIELD)
    frame = ReferenceOrbit((A, 0, 0), (0, 0.6 * SPEED, 0.8 * SPEED), FIELD)
    control = attitude_control(model, wheels, target=target, bandwidth=0.5)
    simulator = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), frame=frame, actuators=[wheels], controller=control)
    q0, _, _ = target(0.0, None, None, (np.array([A, 0, 0]), np.array([0, 0.6 * SPEED, 0.8 * SPEED])))
    start = quaternion.product(q0, quaternion.exp(np.array([0.05, -0.02, 0.03])))
    flight = simulator.run([*start, 0, 0, 0], np.zeros(6), 60.0, record_every=600)
    q_d, w_d, _ = target(flight.t[-1], None, None, (flight("frame.origin")[-1], flight("frame.velocity")[-1]))
    e = quaternion.log(quaternion.product(quaternion.conjugate(q_d), flight.q[-1, :4]))
    assert np.linalg.norm(e) < 2e-6                                              # 3 n² ΔI/(2 I ω_b²) of the gradient
    assert np.linalg.norm(flight.v[-1, :3] - w_d) < 1e-8


def test_a_pyramid_s_null_space_is_emptied_too():
    """Four wheels hold momentum that turns nothing: dumping takes that as well, and the rest by the thrusters."""
    axes = np.array([[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]]) / np.sqrt(2.0)
    null = np.array([1.0, 1.0, -1.0, -1.0])
    assert np.abs(axes.T @ null).max() < 1e-15
    model, wheels = satellite(), ReactionWheels("sat", axes, torque=1.0, initial=0.5 * null + axes @ [0.3, 0.1, -0.2])
    places = np.array([[0, y, z] for y in (1.0, -1.0) for z in (0.0,)] * 2 + [[z, 0, y] for y in (1.0, -1.0) for z in (0.0,)] * 2 +
                      [[y, z, 0] for y in (1.0, -1.0) for z in (0.0,)] * 2)  # fmt: skip
    ways = np.array([[0, 0, 1], [0, 0, 1], [0, 0, -1], [0, 0, -1], [1, 0, 0], [1, 0, 0], [-1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0],
                     [0, -1, 0], [0, -1, 0]])  # fmt: skip
    jets = Thrusters("sat", places, ways, most=5.0)
    control = momentum_dumping(model, wheels, jets, rate=0.05)
    flight = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), actuators=[wheels, jets], controller=control).run(
        model.neutral(), np.zeros(6), 200.0, record_every=100)  # fmt: skip
    assert np.abs(flight("wheels.momentum")[0]).max() > 0.5
    assert np.abs(flight("wheels.momentum")[-1]).max() < 1e-3
    assert np.abs(flight.v[:, :3]).max() < 1e-3


def test_what_points_nowhere_is_refused():
    with pytest.raises(SimulationError, match="axes are 'up'"):
        pointing("up")
    with pytest.raises(SimulationError, match=r"axes are 3\.0"):
        pointing(3.0)
    with pytest.raises(SimulationError, match="turn is"):
        pointing("lvlh", turn=(1.0, 1.0, 0.0, 0.0))
    model, wheels = satellite(), ReactionWheels("sat", torque=1.0)
    control = attitude_control(model, wheels, target=lambda t, q, v, origin: np.array([1.0, 0, 0, 0]))
    frame = ReferenceOrbit((A, 0, 0), (0, SPEED, 0), FIELD)
    with pytest.raises(SimulationError, match="is of an orbit and returns no rates"):
        engine.Simulator(model, gravity=(0, 0, 0), actuators=[wheels], controller=control, frame=frame)
    with pytest.raises(SimulationError, match="nothing says where the world's origin is"):
        engine.Simulator(model, gravity=(0, 0, 0), actuators=[wheels], controller=attitude_control(model, wheels, pointing("lvlh")))
