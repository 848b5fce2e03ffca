"""Bristles: the exact law at a held speed, another integration, steady slipping, sticking, energy and momentum, and what is refused."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.compiler.gufunc import shaped
from engine.components import LuGre
from engine.spatial import inertia
from tests.numeric import derivative

AWAY = {"gravity": (0.0, 0.0, 0.0), "joint_dynamics": None}
OWN = {"coulomb": 1.0, "static": 1.5, "stiffness": 1e4, "damping": 20.0, "viscous": 0.4, "stribeck": 0.01}


def arm(link=2.0, floating=False):
    builder = engine.Builder("arm")
    builder.add_link("base", inertia=inertia.box(20.0, (0.5, 0.5, 0.5)))
    builder.add_link("link", inertia=inertia.from_mass(1.0, np.array([0.2, 0.0, 0.0]), link * np.eye(3)))
    builder.add_joint("elbow", "revolute", "base", "link", axis=[0, 0.6, 0.8])
    return builder.model(floating_base=floating)


def simulator(model, dt, torque=None, **more):
    return engine.Simulator(model, dt=dt, forces=[LuGre("elbow", **OWN, name="rub")], controller=torque, **AWAY, **more)


def moment():
    return float(engine.dynamics.crba(arm(), np.zeros(1))[0, 0])


def test_at_a_held_speed_any_step_is_exact():
    """ż = v − σ₀ |v| z/g of a link that nothing slows: after one step of a second as after a thousand."""
    friction, v = LuGre("elbow", **OWN), -3e-3
    g = friction.slips_at(v)
    for h in (1e-4, 0.01, 1.0):
        found = friction.bent(np.array([5e-5, 2.0, v]), 2.0 + h, v)
        exact = solve_ivp(lambda t, z: v - 1e4 * abs(v) * z / g, (0, h), [5e-5], method="LSODA", rtol=1e-11, atol=1e-17).y[0, -1]
        assert found == pytest.approx(exact, rel=1e-8)


def test_against_the_equations_by_another_method():
    """Broken away and slipped, of the second order; turned round and stuck, where |v| has its kink, of the first."""
    push = lambda t: 4.0 * np.sin(3.0 * t)
    J, friction = moment(), LuGre("elbow", **OWN)

    def field(t, y):
        z, _, v = y
        rate = v - 1e4 * abs(v) * z / friction.slips_at(v)
        return [rate, v, (push(t) - 1e4 * z - 20.0 * rate - 0.4 * v) / J]

    exact = solve_ivp(field, (0.0, 2.0), np.zeros(3), method="Radau", rtol=1e-10, atol=1e-13, t_eval=[0.9, 2.0]).y[1]
    runs = [simulator(arm(), dt, lambda t, q, v: np.array([push(t)])).run([0.0], [0.0], 2.0) for dt in (1e-3, 5e-4)]
    first, second = (np.array([abs(np.interp(t, run.t, run.q[:, 0]) - x) for t, x in zip((0.9, 2.0), exact, strict=True)]) for run in runs)
    assert (second < 1e-5 * abs(exact)).all()
    assert second[0] < 0.3 * first[0] and second[1] < 0.6 * first[1]


def test_it_slips_steadily_by_g_and_holds_below_it():
    """Under a push the speed at which g(v) + σ₂ v is the push; below F_c a spring σ₀ holds, and does not creep."""
    run = simulator(arm(), 1e-3, lambda t, q, v: np.array([1.4])).run([0.0], [0.5], 100.0, record_every=1000)
    assert run.v[-1, 0] == pytest.approx(1.0, rel=1e-3)
    assert run("rub.force")[-1] == pytest.approx(-1.4, rel=1e-3)
    held = simulator(arm(), 1e-3, lambda t, q, v: np.array([0.5])).run([0.0], [0.0], 10.0, record_every=1000)
    assert held("rub.bristle")[-1] == pytest.approx(0.5e-4, rel=1e-3) and held.q[-1, 0] < 3e-4
    assert abs(held.q[-1, 0] - held.q[-2, 0]) < 1e-9


def test_energy_falls_and_momentum_is_kept():
    model = arm(floating=True)
    v = np.concatenate([[0.1, -0.2, 0.3, 0.0, 0.1, 0.0], [0.4]])
    run = simulator(model, 1e-3).run(model.neutral(), v, 5.0, record_every=50)
    P, E = run.momentum("center_of_mass"), sum(run.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()
    assert (np.diff(E) < 1e-9).all() and E[-1] < 0.99 * E[0]


def test_plain_is_compiled_and_a_batch_is_its_rows(tmp_path):
    torque = lambda t, q, v: np.array([2.0 * np.sin(9.0 * t)])
    made = simulator(arm(), 1e-3, torque)
    one, plain = made.run([0.0], [0.1], 0.05), simulator(arm(), 1e-3, torque, compiled=False).run([0.0], [0.1], 0.05)
    assert np.abs(one.q - plain.q).max() < 1e-15
    assert (made.run([0.0], [[0.3], [0.1]], 0.05).q[1] == one.q).all()
    made.run([0.0], [0.1], 0.02, out=tmp_path / "a.h5")
    made.resume(tmp_path / "a.h5", 0.05)
    assert (engine.load_trajectory(tmp_path / "a.h5").q == one.q).all()


def test_a_drive_s_rotor_rubs():
    """The bearing's friction at the rotor of a gear that twists."""
    drive = engine.FlexibleJoint("elbow", rotor=1e-3, gear=50.0, stiffness=800.0)
    rub = LuGre("motor of elbow", coulomb=0.02, stiffness=100.0)
    made = engine.Simulator(drive.on(arm()), dt=1e-3, actuators=[drive], forces=[rub], **AWAY)
    run = made.run([0.0, 0.0], [0.1, 5.0], 2.0)
    assert abs(run.v[-1, 1]) < 0.5 and np.isfinite(run.q).all()


@pytest.mark.parametrize(("given", "text"), [
    ({"coulomb": 0.0}, "coulomb is 0.0"), ({"static": 0.5}, "static is 0.5, and coulomb 1"), ({"stiffness": np.nan}, "stiffness is nan"),
    ({"viscous": -1.0}, "viscous is -1.0"), ({"stribeck": 0.0}, "stribeck is 0.0"),
])  # fmt: skip
def test_what_does_not_rub_is_refused(given, text):
    with pytest.raises(engine.SimulationError, match=text):
        LuGre("elbow", **{"coulomb": 1.0, **given})


@pytest.mark.parametrize("v0", [0.0, 0.02, -0.5])
def test_the_bristle_is_a_state_of_the_linear_step(v0):
    """Columns of q and v by steps of a run, whose bristle is that of the state after; of z by a step that begins with another. At rest it
    is a spring, to half the step's move."""
    made = engine.Simulator(arm(), dt=0.002, gravity=(0, 0, 0), forces=[LuGre("elbow", 1.0, 1.3, 1e3, 3.0, 0.1, 0.1, name="rubs")])
    A, B = made.linearize([0.2], [v0])
    assert A.shape == (3, 3)
    assert B.shape == (3, 1)

    def stepped(q, v):
        to = made.step(made.start([q], [v]))
        return np.array([to.q[0], to.v[0], to.signals["rubs.bristle"]])

    for k in (0, 1):
        slope = derivative(lambda x, k=k: stepped(0.2 + (k == 0) * 1e-3 * x, v0 + (k == 1) * 1e-3 * x)) / 1e-3
        assert np.abs(slope - A[:, k]).max() < (1e-6 if v0 else 1e-3)                  # at rest |v| z has a corner, of the second order
    steps = made.linearization
    after, p, x = shaped(steps.after, "(),(1),(3)->(3)"), np.zeros(1), steps.begun(np.array([0.2]), np.array([v0]))      # no force besides
    slope = derivative(lambda e: after(0.0, p, x + 1e-4 * e * np.eye(3)[2])) / 1e-4
    assert np.abs(slope - A[:, 2]).max() < (1e-8 if v0 else 1e-4)
    if not v0:
        assert A[2, 1] == pytest.approx(0.001 * (1.0 + A[1, 1]), rel=1e-3)              # h times the mean of both speeds
