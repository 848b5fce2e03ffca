"""Two masses at a joint: closed forms of their swinging, the play between them, the rotor's spin, and what is refused."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.spatial import inertia

AWAY = {"gravity": (0.0, 0.0, 0.0), "joint_dynamics": None}


def arm(link=12.0, **base):
    builder = engine.Builder("arm")
    builder.add_link("base", **base), builder.add_link("link", inertia=inertia.from_mass(1.0, np.zeros(3), link * np.eye(3)))
    builder.add_joint("elbow", "revolute", "base", "link", axis=[0, 0.6, 0.8])
    return builder


def swung(drive, model, q, duration, dt):
    """The run that begins at rest at q, of joint and rotor."""
    return engine.Simulator(model, dt=dt, actuators=[drive], **AWAY).run(q, np.zeros(model.nv), duration)


@pytest.mark.parametrize("gear", [1.0, -20.0])
def test_rotor_and_link_swing_against_one_another(gear):
    """ω = √(k (1/J₁ + 1/J₂)) = 81.649658092773 rad/s, whatever the gear, of a rotor of J₁/n²."""
    drive = engine.FlexibleJoint("elbow", rotor=0.8 / gear**2, gear=gear, stiffness=5000.0)
    model = drive.on(arm().model())
    period = 2.0 * np.pi / 81.649658092773
    run = swung(drive, model, [0.0, 0.01 * gear], period, period / 400)
    np.testing.assert_allclose(run.q[-1], run.q[0], rtol=0, atol=1e-9 * abs(gear))
    middle = 0.01 * 0.8 / 12.8                                                 # where the two would meet
    np.testing.assert_allclose(run.q[200], [2.0 * middle, (2.0 * middle - 0.01) * gear], rtol=0, atol=1e-9 * abs(gear))
    E = sum(run.energy())
    assert np.abs(E - E[0]).max() < 1e-8 * E[0]


def test_the_link_alone_where_the_rotor_is_held():
    """√(k/J₂) = 20.412414523193 rad/s: a rotor that is very heavy holds still."""
    drive = engine.FlexibleJoint("elbow", rotor=0.8e9, stiffness=5000.0)
    period = 2.0 * np.pi / 20.412414523193
    run = swung(drive, drive.on(arm().model()), [0.01, 0.0], period, period / 400)
    assert abs(run.q[-1, 0] - 0.01) < 1e-9 and abs(run.q[200, 0] + 0.01) < 1e-9


def test_play_makes_the_period_longer():
    """2π/ω + 4b/(ω(A − b)) = 0.089200438523628 s, with ±1 mrad of play at an amplitude of 5 mrad."""
    drive = engine.FlexibleJoint("elbow", rotor=0.8, stiffness=5000.0, backlash=0.001)
    model, period = drive.on(arm().model()), 0.089200438523628
    run = swung(drive, model, [0.0, 0.005], period, period / 12000)
    assert np.abs(run.q[-1] - run.q[0]).max() < 2e-8                           # of 5e-3: a phase of 1e-6 is second order there
    delta = run.signals["drive of elbow.deflection"]
    t = np.interp(0.0, -delta[:6000], run.t[:6000])
    assert abs(4.0 * t - period) < 1e-6 * period


def test_against_the_two_equations():
    """J q̈ = ±τ with damping, gear and a torque, by SciPy."""
    drive = engine.FlexibleJoint("elbow", rotor=1e-3, gear=50.0, stiffness=800.0, damping=2.0, name="gear")
    model = drive.on(arm(0.5).model())

    def field(t, y):
        ql, qm, vl, vm = y
        tau = 800.0 * (qm / 50.0 - ql) + 2.0 * (vm / 50.0 - vl)
        return [vl, vm, tau / 0.5, (3.0 * np.sin(5.0 * t) - tau) / 50.0 / 1e-3]

    exact = solve_ivp(field, (0.0, 1.0), np.zeros(4), method="Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    simulator = engine.Simulator(model, dt=1e-3, actuators=[drive], controller=lambda t, q, v: {"gear": 3.0 * np.sin(5.0 * t)}, **AWAY)
    run = simulator.run(np.zeros(2), np.zeros(2), 1.0)
    np.testing.assert_allclose(np.concatenate([run.q[-1], run.v[-1]]), exact, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_the_spin_of_the_rotor_is_momentum():
    """A base that floats turns against a rotor that starts: their sum stays; with an armature it would not."""
    drive = engine.FlexibleJoint("elbow", rotor=0.01, gear=30.0, stiffness=500.0, damping=1.0, name="gear")
    model = drive.on(arm(0.5, inertia=inertia.box(20.0, (0.5, 0.5, 0.5))).model(floating_base=True))
    push = engine.Simulator(model, dt=1e-3, actuators=[drive], controller=lambda t, q, v: {"gear": 2.0}, **AWAY)
    run = push.run(model.neutral(), np.zeros(model.nv), 1.0)
    P = run.momentum()
    assert np.abs(P).max() < 1e-12 and abs(run.v[-1, model.v_slice("motor of elbow")][0]) > 1.0 and np.abs(run.v[-1, :3]).max() > 1e-3


def test_a_stiff_gear_is_flown_at_steps_that_are_too_long_for_it():
    """k/J of 1e7 /s² and its damping at 2 ms: as a rigid gear does, by √(1/k) of it."""
    drive = engine.FlexibleJoint("elbow", rotor=1e-4, gear=100.0, stiffness=1e7, damping=1e4, name="gear")
    model = drive.on(arm(0.5).model())
    simulator = engine.Simulator(model, dt=2e-3, actuators=[drive], controller=lambda t, q, v: {"gear": 3.0}, gravity=(0.0, 0.0, 0.0))
    run = simulator.run(np.zeros(2), np.zeros(2), 1.0)
    assert simulator.method.name == "ros34pw2"
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * 3.0 / 1.5, rtol=1e-5)


def test_what_is_refused():
    for given, said in (({"backlash": -1e-3}, "backlash is -0.001; expected zero or more"), ({"rotor": 0.0}, "rotor is 0.0"),
                        ({"stiffness": np.nan}, "stiffness is nan"), ({"friction": "low"}, "friction is 'low'"),
                        ({"gear": 0.0}, "gear is 0.0; expected a finite number other than zero")):  # fmt: skip
        with pytest.raises(engine.SimulationError, match=said):
            engine.FlexibleJoint("elbow", **{"rotor": 0.1, "stiffness": 1e4, **given})
    drive, model = engine.FlexibleJoint("elbow", rotor=0.1, stiffness=1e4), arm().model()
    with pytest.raises(engine.SimulationError, match=r"has no rotor at joint 'elbow'; expected FlexibleJoint\(…\).on\(model\)"):
        engine.Simulator(model, actuators=[drive])
    with pytest.raises(engine.SimulationError, match="has joint 'motor of elbow' already"):
        drive.on(drive.on(model))
    with pytest.raises(engine.EngineError, match="'elbo'"):
        engine.FlexibleJoint("elbo", rotor=0.1, stiffness=1e4).on(model)
