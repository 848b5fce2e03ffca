"""Long runs: what adds up in a million steps, how energies drift, and how others fare."""

import mujoco
import numpy as np
import pytest

import engine
from engine import dynamics
from engine.integrate import METHODS, Mechanical
from engine.spatial import quaternion
from tests.dynamics.support import robot
from tests.integrate.cases import TWIST, Case, dense, energy, free_body, run, start_and

TUMBLING = free_body(np.diag([1.0, 2.0, 3.0, 1.0, 1.0, 1.0]), np.array([0.7, 1.7, 0.8, 0.3, 0.2, 0.1]))


def skewness(q):
    """‖RᵀR − 1‖, the largest of the batch, of quaternions as they are."""
    R = quaternion.to_matrix(q)
    return np.linalg.norm(np.swapaxes(R, -1, -2) @ R - np.eye(3), 2, axis=(-2, -1)).max()


# ---------------------------------------------------------------- a million steps


def test_a_million_steps_that_are_never_normalised():
    """CG4, a tumbling body: the product of five million exponentials is a rotation to 1e-12, without a projection that hides an error."""
    assert skewness(run(METHODS["cg4"], TUMBLING, 0.01, [100_000] * 10)[:, :4]) < 1e-12


def test_a_million_steps_of_the_simulator():
    builder = engine.Builder("body")
    builder.add_link("body", inertia=TUMBLING.system.inertia)
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.01, gravity=(0, 0, 0))
    q, v = TUMBLING.system.split(TUMBLING.x)
    trajectory = simulator.run(q, v, 1e4, record_every=100_000)
    assert len(trajectory) == 11 and skewness(trajectory.q[:, :4]) < 1e-14
    P = trajectory.momentum()                                                       # which the simulator keeps by itself
    assert np.abs(P[:, 3:] - P[0, 3:]).max() < 1e-13 and np.abs(P[:, :3] - P[0, :3]).max() < 2e-7      # a million ulps of 3 km


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.order > 1], ids=lambda m: m.name)
def test_lengths_of_quaternions_walk_at_random(method):
    """√(10⁵ steps) of rounding, not 10⁵: no bias in any method."""
    q = run(method, TUMBLING, 0.01, [1000] * 100)[:, :4]
    assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() < 2e-13


# ---------------------------------------------------------------- energy


def test_energy_over_a_thousand_seconds():
    """A body of dense inertia at h = 0.05, h|ω| = 0.17: explicit methods of order four drift linearly, CG4 up, CF4 and RKMK4 down by half
    as much, DQVI not at all, and its error of order two is larger only for as long."""
    case = free_body(dense(3), 1.9 * TWIST)
    t = np.arange(1, 1001)
    drift = {}
    for name in ("cg4", "cf4", "rkmk4", "dqvi"):
        x = start_and(case, run(METHODS[name], case, 0.05, [20] * 1000))
        drift[name] = (energy(case, x) / energy(case, x[0]) - 1)[1:]
    for name in ("cg4", "cf4", "rkmk4"):
        slope, offset = np.polyfit(t, drift[name], 1)
        assert np.abs(drift[name] - slope * t - offset).max() < 0.05 * np.abs(slope) * 1000
    assert 1e-3 < drift["cg4"][-1] < 2e-3 and -1e-3 < drift["rkmk4"][-1] < -5e-4
    assert abs(drift["cf4"][-1] / drift["rkmk4"][-1] - 1) < 0.05
    assert np.abs(drift["dqvi"]).max() < 5e-4 and abs(drift["dqvi"][:500].mean() - drift["dqvi"][500:].mean()) < 1e-5


def test_free_floating_ur5():
    """Ten seconds at h = 0.01 without gravity: what is lost of energy and of angular momentum. The first-order method loses both."""
    model = robot("ur5", floating_base=True)
    q, v = model.random(np.random.default_rng(4))
    lost = {}
    free = Mechanical(model.manifold, lambda t, q, v: dynamics.aba(model, q, v, np.zeros(model.nv), (0, 0, 0)))
    case = Case(free, np.append(q, 0.75 * v))
    for name in ("cg4", "rkmk4", "cf4", "semi_implicit_euler"):
        ends = [case.system.split(x) for x in start_and(case, run(METHODS[name], case, 0.01, [1000]))]
        K, P = (np.array([f(model, *x) for x in ends]) for f in (lambda *x: dynamics.energy(*x)[0], dynamics.momentum))
        L = P[:, :3]
        lost[name] = np.array([abs(K[1] / K[0] - 1), np.linalg.norm(L[1] - L[0]) / np.linalg.norm(L[0])])
    assert (lost["cg4"] < [7e-8, 1e-6]).all() and (lost["rkmk4"] < lost["cg4"]).all() and (lost["cf4"] < lost["cg4"]).all()
    assert (lost["semi_implicit_euler"] > 0.3).all()


def test_tumbling_against_mujoco():
    """I = (1, 2, 3), 2 rad/s about the unstable axis, 100 s at h = 0.01: MuJoCo's Euler method gains a quarter of the energy, as Lie–Euler
    does; its RK4 loses what RKMK4 loses, and CG4 gains as much."""
    text = """<mujoco><option timestep="0.01" gravity="0 0 0" integrator="{}"/><worldbody><body><freejoint/>
              <inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body></worldbody></mujoco>"""
    w, I, gained = np.array([0.01, 2.0, 0.01]), np.array([1.0, 2.0, 3.0]), {}
    for name in ("Euler", "RK4"):
        peer = mujoco.MjModel.from_xml_string(text.format(name))
        data = mujoco.MjData(peer)
        data.qvel[3:] = w
        mujoco.mj_step(peer, data, 10_000)
        gained[name] = data.qvel[3:] ** 2 @ I / (w**2 @ I) - 1
    case = free_body(TUMBLING.system.inertia, np.append(w, np.zeros(3)))
    for name in ("lie_euler", "cg4", "rkmk4", "cf4"):
        gained[name] = energy(case, run(METHODS[name], case, 0.01, [10_000])[0]) / energy(case, case.x) - 1
    assert 0.2 < gained["Euler"] < 0.3 and abs(gained["lie_euler"] - gained["Euler"]) < 1e-9
    for name in ("RK4", "rkmk4", "cf4"):
        assert -7e-11 < gained[name] < -5e-11
    assert 4e-11 < gained["cg4"] < 6e-11
