"""A general actuator: its force by hand, its states, its limits, on joints and at a link; and what is refused."""

import numpy as np
import pytest

from engine import Builder, SimulationError, SimulationWarning, Simulator, spatial
from engine.simulation import Context, GeneralActuator


def arm():
    b = Builder("arm")
    b.add_link("base")
    for k, (kind, axis) in enumerate((("revolute", (0, 1, 0)), ("prismatic", (1, 0, 0)), ("spherical", (0, 0, 1)))):
        b.add_link(f"l{k}", inertia=spatial.inertia.from_mass(1.0 + k, [0.1, 0.2, 0.3], np.eye(3)))
        b.add_joint(f"j{k}", kind, "base" if not k else f"l{k - 1}", f"l{k}", axis=axis)
    return b.model()


MODEL = arm()
Q, V = np.array([0.3, 0.2, 1.0, 0.0, 0.0, 0.0]), np.array([0.5, -1.5, 0.1, 0.2, 0.3])


def effect(actuator, command=None, state=None):
    actuator.bind(MODEL, 1e-3)
    s = Context(MODEL, 0.0, Q, V, {}, np.zeros(3), {})
    return actuator.act(s, actuator.state if state is None else np.array([state]), actuator.memory, command)


def test_its_force_is_the_gain_times_the_command_and_the_bias():
    given = effect(GeneralActuator({"j0": 2.0, "j1": -1.0}, gain=(3.0, 0.5, 0.1), bias=(1.0, -4.0, -2.0)), 0.7)
    length, speed = 2.0 * 0.3 - 0.2, 2.0 * 0.5 + 1.5
    force = (3.0 + 0.5 * length + 0.1 * speed) * 0.7 + 1.0 - 4.0 * length - 2.0 * speed
    np.testing.assert_allclose(given.tau, [2.0 * force, -force, 0.0, 0.0, 0.0], rtol=1e-15)
    assert given.signals["force"] == pytest.approx(force) and given.signals["length"] == pytest.approx(length)


def test_command_and_force_stay_in_their_ranges():
    assert effect(GeneralActuator({"j0": 1.0}, gain=(2.0, 0, 0), command_range=(-1.0, 1.5)), 9.0).tau[0] == 3.0
    assert effect(GeneralActuator({"j0": 1.0}, gain=(2.0, 0, 0), force_range=(-1.0, 1.0)), -9.0).tau[0] == -1.0
    assert effect(GeneralActuator({"j0": 1.0}, bias=(5.0, 0, 0))).tau[0] == 5.0                  # without a command, the bias alone


def test_a_filter_and_an_integrator_have_a_state():
    slow = effect(GeneralActuator({"j0": 1.0}, gain=(2.0, 0, 0), dynamics="filter", time=0.5), 1.0, state=0.4)
    assert slow.tau[0] == 0.8 and slow.rate == pytest.approx([(1.0 - 0.4) / 0.5])
    full = effect(GeneralActuator({"j0": 1.0}, dynamics="integrator", state_range=(-1.0, 1.0)), 3.0, state=1.0)
    assert full.tau[0] == 1.0 and full.rate[0] == 0.0
    assert effect(GeneralActuator({"j0": 1.0}, dynamics="integrator", state_range=(-1.0, 1.0)), -3.0, state=1.0).rate[0] == -3.0


def test_it_pulls_at_a_link_and_turns_a_ball_joint():
    wrench = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)
    at = effect(GeneralActuator(link="l2", wrench=wrench, bias=(0.0, 0.0, -1.0)), 2.0)
    speed = np.dot(wrench, Context(MODEL, 0.0, Q, V, {}, np.zeros(3), {}).twist("l2"))
    np.testing.assert_allclose(at.wrenches["l2"], np.array(wrench) * (2.0 - speed), rtol=1e-14)
    np.testing.assert_allclose(effect(GeneralActuator({"j2": (1.0, 2.0, 3.0)}), 2.0).tau, [0, 0, 2.0, 4.0, 6.0])


def test_a_position_servo_brings_a_joint_where_it_is_commanded_in_machine_code():
    servo = GeneralActuator({"j0": 1.0}, gain=(40.0, 0, 0), bias=(0.0, -40.0, -12.0), name="servo")
    free = Simulator(MODEL, gravity=(0, 0, 0), actuators=[servo], controller=lambda t, q, v: {"servo": 0.4}, joint_dynamics=None)
    hold = free.run([0, 0, 1, 0, 0, 0], np.zeros(5), 30.0, record_every=100)
    assert abs(hold.q[-1, 0] - 0.4) < 0.1 and np.isfinite(hold.q).all()
    plain = Simulator(MODEL, gravity=(0, 0, 0), joint_dynamics=None, forces=[lambda t, q, v: np.concatenate(
        [[40.0 * (0.4 - q[0]) - 12.0 * v[0]], np.zeros(4)])])  # fmt: skip
    np.testing.assert_allclose(hold.q, plain.run([0, 0, 1, 0, 0, 0], np.zeros(5), 30.0, record_every=100).q, atol=1e-9)


@pytest.mark.parametrize(("given", "expected"), [
    ({}, "expected one of them"),
    ({"joints": {"j0": 1.0}, "link": "l0"}, "expected one of them"),
    ({"joints": {"j0": 1.0}, "dynamics": "filtr"}, "did you mean 'filter'"),
    ({"joints": {"j0": 1.0}, "time": 0.0}, "time is 0.0; expected seconds above 0"),
    ({"joints": {"j0": 1.0}, "force_range": (1.0, -1.0)}, "expected the least number first"),
    ({"joints": {"j0": 1.0}, "gain": (1.0,)}, "gain is (1.0,); expected 3 numbers"),
    ({"joints": {"j2": 1.0}}, "the gear of 'j2' is [1.0]; expected 3 numbers"),
    ({"joints": {"j2": (1.0, 0, 0)}, "bias": (0, 1.0, 0)}, "is spherical, which has no length"),
])  # fmt: skip
def test_what_cannot_be_is_refused(given, expected):
    with pytest.raises(SimulationError) as caught:
        GeneralActuator(**given).bind(MODEL, 1e-3)
    assert expected in str(caught.value)


def test_a_bias_that_drives_is_told():
    with pytest.warns(SimulationWarning, match="servo: its bias is 5 times the speed, which drives what it acts on"):
        Simulator(MODEL, actuators=[GeneralActuator({"j0": 1.0}, bias=(0.0, 0.0, 5.0), name="servo")])
    with pytest.raises(SimulationError, match="a component of the class GeneralActuator is named 3; expected a text"):
        Simulator(MODEL, actuators=[GeneralActuator({"j0": 1.0}, name=3)])


def test_servos_that_a_controller_forgets_are_told():
    """A command that is not given is zero: a servo without one goes to zero, a motor has no torque, which is what is meant."""
    servos = [GeneralActuator({f"j{k}": 1.0}, gain=(9.0, 0, 0), bias=(0.0, -9.0, -1.0), name=f"servo {k}") for k in range(2)]
    with pytest.warns(SimulationWarning, match=r"commands 1 of 2 servos of 'arm': 'servo 1' go to zero; expected a command for each"):
        Simulator(MODEL, actuators=servos, controller=lambda t, q, v: {"servo 0": 0.4})
    motors = [GeneralActuator({f"j{k}": 1.0}, name=f"motor {k}") for k in range(2)]
    Simulator(MODEL, actuators=motors, controller=lambda t, q, v: {"motor 0": 0.4})
