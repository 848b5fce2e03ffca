"""The simulator: conservation laws, closed forms, other routes and oracles, recording, and what it says about bad input."""

import re
import tempfile
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import engine
from engine import dynamics, integrate, ops
from engine.spatial import inertia, se3
from tests.trees import random_tree

ASSET = Path(__file__).parents[2] / "assets" / "free_flyer" / "free_flyer.urdf"


def pendulum(length=1.0, mass=2.0) -> engine.Model:
    arm = engine.Builder("pendulum")
    arm.add_link("base")
    arm.add_link("bob", inertia=inertia.from_mass(mass, [0, 0, -length], np.zeros((3, 3))))
    arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0])
    return arm.model()


@pytest.fixture(scope="module")
def flyer():
    model = engine.load_urdf(ASSET, floating_base=True)
    q, v = model.random(np.random.default_rng(1))
    return model, q, 0.1 * v


# ---------------------------------------------------------------- laws


def test_momentum_of_a_free_arm_with_internal_torques(flyer):
    model, q, v = flyer

    def motors(t, q, v):
        return np.concatenate([np.zeros(6), 5.0 * np.sin(t) * np.ones(7) - 2.0 * v[6:]])

    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=motors).run(q, v, 2.0, record_every=20)
    P = trajectory.momentum()
    assert np.abs(P - P[0]).max() < 1e-10 * np.abs(P[0]).max()


def test_energy_changes_by_the_work_of_the_controller(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, -1.0), joint_dynamics=False, controller=lambda t, q, v: np.concatenate(
        [np.zeros(6), np.cos(2 * t) * np.ones(7)])).run(q, v, 1.0)  # fmt: skip
    K, U = trajectory.energy()
    power = np.vecdot(trajectory.tau, trajectory.v)
    work = (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum() + power[-1]) * 1e-3 / 3
    assert abs((K + U)[-1] - (K + U)[0] - work) < 1e-9 * np.abs(K).max()


def test_quaternions_stay_unit(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 5.0, record_every=1000)
    assert np.abs(np.linalg.norm(trajectory.q[:, :4], axis=1) - 1).max() < 1e-15


def test_pendulum_period():
    """T = 4 √(l/g) K(sin² θ₀/2): after one period the pendulum is where it began."""
    theta, g = 2.0, 9.81
    period = 4 * np.sqrt(1 / g) * ellipk(np.sin(theta / 2) ** 2)
    trajectory = engine.Simulator(pendulum(), dt=1e-3).run([theta], [0.0], float(period))
    assert trajectory.t[-1] == period
    assert abs(trajectory.q[-1, 0] - theta) < 1e-9
    assert abs(trajectory.v[-1, 0]) < 1e-8


# ---------------------------------------------------------------- other routes


def test_compiled_loop_equals_plain_steps():
    """The machine code's loop and the same lines on floats, with a controller, a wrench and a generalized force."""
    rng = np.random.default_rng(5)
    model = random_tree(rng, 6, floating_base=True)
    q, v = model.random(rng)
    wrench = rng.standard_normal((len(model.links), 6))

    def controller(t, q, v):
        return -0.1 * v + ops.cos(t)

    def push(t, q, v):
        return wrench * t

    def drag(t, q, v):
        return -0.05 * v

    trajectory = engine.Simulator(model, dt=2e-3, controller=controller, forces=[push, drag]).run(q, v, 0.02)
    h = 2e-3
    for k in range(10):
        def field(t, q, v):
            return dynamics.aba(model, q, v, controller(t, q, v) + drag(t, q, v), wrenches=push(t, q, v))

        system = integrate.Mechanical(model.manifold, field)
        q, v = system.split(integrate.step(integrate.CG4, system, k * h, h, np.concatenate([q, v])))
        q = model.normalized(q)
        assert np.abs(trajectory.q[k + 1] - q).max() < 1e-12 * max(1, np.abs(q).max())  # its place comes from the centre of mass
        assert np.abs(trajectory.v[k + 1] - v).max() < 1e-12 * np.abs(v).max()
        assert np.allclose(trajectory.tau[k + 1], controller((k + 1) * h, q, v), rtol=1e-12, atol=1e-13)


def test_double_pendulum_against_dop853():
    arm = engine.Builder("double pendulum")
    bob = inertia.from_mass(1.0, [0, 0, -0.5], 0.01 * np.eye(3))
    arm.add_link("base"), arm.add_link("upper", inertia=bob), arm.add_link("lower", inertia=bob)
    arm.add_joint("shoulder", "revolute", "base", "upper", axis=[0, 1, 0])
    arm.add_joint("elbow", "revolute", "upper", "lower", axis=[0, 1, 0], placement=se3.pose(np.eye(3), np.array([0, 0, -1.0])))
    model = arm.model()
    robot = engine.compile(model)
    trajectory = engine.Simulator(model, dt=5e-4).run([1.0, 0.5], [0.0, 0.0], 2.0, record_every=4000)
    y = solve_ivp(lambda t, y: np.concatenate([y[2:], robot.aba(y[:2].copy(), y[2:].copy(), np.zeros(2))]), (0, 2), [1.0, 0.5, 0, 0],
                  method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]  # fmt: skip
    assert np.abs(np.concatenate([trajectory.q[-1], trajectory.v[-1]]) - y).max() < 1e-9


def test_free_flyer_against_mujoco(flyer):
    """The same free arm, coasting, by MuJoCo's RK4 at a step small enough for nine digits."""
    from tests.bench.robots import mujoco_model

    model, q, v = flyer
    peer = mujoco_model(ASSET, "bus", 1e-3)
    data = mujoco.MjData(peer)
    R = se3.rotation(dynamics.forward_kinematics(model, q)[0])
    data.qpos[:], data.qvel[:] = np.concatenate([q[4:7], q[:4], q[7:]]), np.concatenate([R @ v[3:6], v[:3], v[6:]])
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 1.0, record_every=1000)
    mujoco.mj_step(peer, data, 1000)
    end = np.concatenate([data.qpos[3:7], data.qpos[:3], data.qpos[7:]])
    assert np.abs(model.difference(end, trajectory.q[-1])).max() < 1e-9


# ---------------------------------------------------------------- batches and recording


def test_batch_is_bitwise_the_single_runs(flyer):
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=lambda t, q, v: -0.1 * v)
    speeds = np.linspace(0.5, 1.5, 11)[:, None] * v
    batch = simulator.run(q, speeds, 0.05, record_every=10)
    assert batch.q.shape == (11, 6, model.nq)
    for k in (0, 4, 10):
        one = simulator.run(q, speeds[k], 0.05, record_every=10)
        assert (one.q == batch.q[k]).all() and (one.v == batch.v[k]).all() and (one.tau == batch.tau[k]).all() and (one.t == batch.t).all()


def test_what_is_recorded(flyer):
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0))
    every = simulator.run(q, v, 0.0105)
    assert every.t[0] == 0 and len(every) == 12 and abs(every.t[-2] - 0.010) < 1e-15 and every.t[-1] == 0.0105
    assert (every.q[0] == model.normalized(q)).all() and (every.v[0] == v).all()
    third = simulator.run(q, v, 0.010, record_every=3)
    assert np.allclose(third.t, [0, 0.003, 0.006, 0.009, 0.010], atol=1e-15)
    assert (third.q[:4] == every.q[0:10:3]).all() and (third.q[4] == every.q[10]).all()


def test_long_runs_in_pieces_equal_short_ones(flyer):
    """Where the pieces of a run end must not show: 3000 records at once are the first of 30 000."""
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-4, gravity=(0, 0, 0))
    short, long = simulator.run(q, v, 0.3), simulator.run(q, v, 3.0)
    assert (long.q[:3001] == short.q).all() and (long.v[:3001] == short.v).all() and (long.t[:3001] == short.t).all()


def test_save(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 0.01)
    with tempfile.TemporaryDirectory() as folder:
        back = engine.load_trajectory(trajectory.save(Path(folder) / "deeper" / "run.h5"))
        assert (back.q == trajectory.q).all() and (back.t == trajectory.t).all() and back.signals.keys() == trajectory.signals.keys()


def test_progress_bar_counts_to_the_end(capsys):
    engine.Simulator(pendulum(), dt=1e-3).run([0.1], [0.0], 0.5, progress=True)
    assert "500/500 steps" in capsys.readouterr().out


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("arguments", "message"), [
    ({"dt": 0}, "dt is 0; expected a step in seconds greater than zero"),
    ({"dt": float("nan")}, "dt is nan"),
    ({"integrator": "cg5"}, "no integrator 'cg5' (did you mean 'cg"),
    ({"gravity": (0, 0)}, "gravity is (0, 0); expected three finite numbers"),
    ({"controller": 3}, "a controller or force is 3; expected a function of (t, q, v)"),
    ({"controller": lambda t, q: q}, "<lambda> takes (t, q); expected a function of (t, q, v)"),
    ({"controller": lambda t, q, v: np.zeros(2)}, "<lambda> returned shape (2,); expected (1,) for 'pendulum'"),
    ({"forces": [lambda t, q, v: np.zeros(3)]}, "<lambda> returned shape (3,); expected (1,) or (2, 6) for 'pendulum'"),
    ({"controller": lambda t, q, v: v if t > 1 else -v}, "cannot be compiled: use engine.ops.where"),
])  # fmt: skip
def test_bad_simulators(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), **arguments)


def test_untraceable_controller_is_named_by_its_line():
    def controller(t, q, v):
        return np.linalg.inv(np.eye(1) * q[0]) @ v

    with pytest.raises(engine.TraceError, match=r"test_simulator\.py:\d+: np.linalg.*ops.solve"):
        engine.Simulator(pendulum(), controller=controller)


@pytest.mark.parametrize(("q", "v", "duration", "message"), [
    ([0.0, 1.0], [0.0], 1.0, "q has shape (2,); expected (..., 1) for 'pendulum'"),
    ([0.0], [np.inf], 1.0, "v0[0] (joint 'pivot') is inf; expected a finite number"),
    ([np.nan], [0.0], 1.0, "q[0] (joint 'pivot') is nan"),
    ([0.0], [0.0], 0, "duration is 0; expected seconds greater than zero"),
    ([0.0], [0.0], -1.0, "duration is -1.0"),
    ([0.0], [0.0], np.inf, "duration is inf"),
])  # fmt: skip
def test_bad_runs(q, v, duration, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum()).run(q, v, duration)


def test_a_function_that_returns_nan_stops_the_run_and_keeps_the_record():
    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=lambda t, q, v: ops.where(t > 0.255, np.nan, 0.0) + 0 * v)
    with pytest.raises(engine.SimulationError, match=r"joint 'pivot' is no longer finite at t = 0\.26 s") as caught:
        simulator.run([0.1], [0.0], 1.0)
    kept = caught.value.trajectory
    assert len(kept) == 26 and np.isfinite(kept.q).all()


def test_divergence_is_reported():
    """A damper far too stiff for the step."""
    simulator = engine.Simulator(pendulum(), dt=0.1, controller=lambda t, q, v: -1e4 * v)
    with pytest.raises(engine.SimulationError, match="no longer finite"):
        simulator.run([0.1], [1.0], 100.0)


def test_singular_model_names_the_joint():
    arm = engine.Builder()
    arm.add_link("base"), arm.add_link("ghost")
    arm.add_joint("pivot", "revolute", "base", "ghost")
    with pytest.raises(engine.StateError, match="joint 'pivot' moves no mass"):
        engine.Simulator(arm.model())
