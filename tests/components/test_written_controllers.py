"""Controllers as people write them: compiled, each steers as it does on floats."""

import math
from math import copysign, pi, sqrt

import numpy as np
import pytest

import engine
from engine.components.law import Law
from engine.spatial import inertia, se3

KP, KD, LIMIT = np.array([40.0, 30.0, 20.0]), np.array([4.0, 3.0, 2.0]), np.array([15.0, 10.0, 5.0])
GOAL = np.array([0.4, -0.6, 0.3])


def arm():
    b, up = engine.Builder("arm"), se3.pose(np.eye(3), [0.0, 0.0, 0.4])
    b.add_link("base")
    for k in range(3):
        box = inertia.transformed(se3.pose(np.eye(3), [0.0, 0.0, 0.2]), inertia.box(1.0 - 0.2 * k, (0.1, 0.1, 0.4)))
        b.add_link(f"link{k}", inertia=box)
        b.add_joint(f"joint{k}", "revolute", f"link{k - 1}" if k else "base", f"link{k}", up if k else np.eye(4), axis=(0.0, 1.0, 0.0))
    return b.model()


MODEL = arm()
ROBOT = engine.compile(MODEL)


def saturated(t, q, v):
    return np.clip(KP * (GOAL - q) - KD * v, -LIMIT, LIMIT)


def saturated_one_by_one(t, q, v):
    tau = np.zeros(3)
    for i in range(3):
        u = KP[i] * (GOAL[i] - q[i]) - KD[i] * v[i]
        tau[i] = max(-LIMIT[i], min(LIMIT[i], u))
    return tau


def written_by_mask(t, q, v):
    tau = KP * (GOAL - q) - KD * v
    tau[tau > LIMIT] = 5.0
    tau[np.abs(tau) < 0.05] = 0.0
    return tau


def dead_zone(t, q, v):
    e = GOAL - q
    return KP * np.where(np.abs(e) < 0.02, 0.0, e - 0.02 * np.sign(e)) - KD * v


def bang_bang(t, q, v):
    s = (GOAL - q) - 0.3 * v
    return 3.0 * np.sign(np.round(s, 3))


def sliding_mode(t, q, v):
    s = v + 2.0 * (q - GOAL)
    return -6.0 * np.tanh(s / 0.5) - KD * v


def gain_schedule(t, q, v):
    k = np.interp(np.linalg.norm(v), [0.0, 0.5, 2.0], [40.0, 20.0, 5.0])
    return k * (GOAL - q) - KD * v


def friction_lookup(t, q, v):
    speeds, torques = np.array([-2.0, -0.1, 0.0, 0.1, 2.0]), np.array([-0.6, -0.4, 0.0, 0.4, 0.6])
    return KP * (GOAL - q) - KD * v + np.interp(v, speeds, torques)


def sine_sweep(t, q, v):
    return np.array([math.sin(2 * pi * (0.5 + 0.2 * t) * t), math.cos(3.0 * t), 0.1 * math.exp(-t)])


def from_math(t, q, v):
    return np.array([copysign(sqrt(abs(GOAL[i] - q[i])), GOAL[i] - q[i]) * 8.0 - 3.0 * v[i] for i in range(3)])


def step_sequence(t, q, v):
    goal = np.select([t < 0.1, t < 0.2], [0.2 * GOAL, 0.6 * GOAL], GOAL)
    return KP * (goal - q) - KD * v


def piecewise_reference(t, q, v):
    r = np.piecewise(t, [t < 0.1, (t >= 0.1) & (t < 0.25)], [0.0, lambda s: 4.0 * (s - 0.1), 0.6])
    return KP * (r * np.ones(3) - q) - KD * v


def minimum_jerk(t, q, v):
    s = np.clip(t / 0.3, 0.0, 1.0)
    return KP * ((10 * s**3 - 15 * s**4 + 6 * s**5) * GOAL - q) - KD * v


def wrapped_angles(t, q, v):
    e = (GOAL - q + np.pi) % (2 * np.pi) - np.pi
    return KP * e - KD * v


def computed_torque(t, q, v):
    return np.clip(ROBOT.rnea(q, v, 100.0 * (GOAL - q) - 20.0 * v), -LIMIT, LIMIT)


def gravity_compensated(t, q, v):
    return ROBOT.rnea(q, np.zeros(3), np.zeros(3)) + KP * (GOAL - q) - KD * v


def solved_by_numpy(t, q, v):
    J = np.array([[np.cos(q[0]), 0.2, 0.0], [0.1, 1.0 + q[1] ** 2, 0.0], [0.0, 0.3, 2.0]])
    return np.linalg.solve(J, KP * (GOAL - q)) - KD * v


def damped_inverse(t, q, v):
    J = ROBOT.jacobian(q, "link2", point=[0.0, 0.0, 0.3])[[3, 5]]
    e = np.array([0.3, 0.9]) - np.array([q[0], q[1]])
    return J.T @ np.linalg.inv(J @ J.T + 0.01 * np.eye(2)) @ e - KD * v


def weighted(t, q, v):
    return np.einsum("ij,j->i", np.diag(KP) + 0.1 * np.outer(q, q), GOAL - q) - np.dot(np.diag(KD), v)


def energy_shaping(t, q, v):
    E = 0.5 * v @ v + 9.81 * np.sum(1.0 - np.cos(q))
    return np.where(E < 2.0, 1.0, -1.0) * np.clip(v, -1.0, 1.0) - 0.1 * v


def limited_norm(t, q, v):
    tau = KP * (GOAL - q) - KD * v
    n = np.linalg.norm(tau)
    return tau * np.minimum(1.0, 8.0 / np.maximum(n, 1e-9))


def strongest_only(t, q, v):
    tau = KP * (GOAL - q) - KD * v
    return np.where(np.abs(tau) == np.max(np.abs(tau)), tau, 0.5 * tau)


def median_of_references(t, q, v):
    r = np.median(np.stack([GOAL, 0.5 * GOAL + q, np.zeros(3)]), axis=0)
    return KP * (r - q) - KD * v


def chained_comparison(t, q, v):
    near = np.array([1.0 * (-0.1 < GOAL[i] - q[i] < 0.1) for i in range(3)])
    return KP * (GOAL - q) * (1.0 - 0.5 * near) - KD * v


def potential_field(t, q, v):
    d = np.hypot(q[0] - 0.2, q[1] + 0.2)
    push = np.where(d < 0.3, 2.0 * (1.0 / np.maximum(d, 0.05) - 1.0 / 0.3), 0.0)
    return KP * (GOAL - q) - KD * v + push * np.array([np.cos(q[0]), np.sin(q[1]), 0.0])


def neural_policy(t, q, v):
    rng = np.random.default_rng(0)
    x = np.concatenate([q, v, GOAL - q])
    for n in (16, 16, 3):
        x = np.tanh(rng.normal(size=(n, len(x))) @ x / 3.0)
    return 5.0 * x


def relu_policy(t, q, v):
    rng = np.random.default_rng(1)
    h = np.maximum(rng.normal(size=(24, 6)) @ np.hstack([q, v]), 0.0)
    return rng.normal(size=(3, 24)) @ h * 0.2


def pid_with_anti_windup(t, q, v, state):
    e = GOAL - q
    u = KP * e - KD * v + 10.0 * state
    tau = np.clip(u, -LIMIT, LIMIT)
    return tau, np.where((tau != u) & (np.sign(u) == np.sign(e)), 0.0, e)


def filtered_derivative(t, q, v, state):
    e = GOAL - q
    rate = 50.0 * (e - state)
    return KP * e + KD * rate, rate


def observer(t, q, v, state):
    position, speed = state[:3], state[3:]
    off = q - position
    return KP * (GOAL - position) - KD * speed, np.concatenate([speed + 60.0 * off, 900.0 * off])


def rate_limited(t, q, v, state):
    u = KP * (GOAL - q) - KD * v
    return state, np.clip(50.0 * (u - state), -200.0, 200.0)


CONTROLLERS = [
    saturated, saturated_one_by_one, written_by_mask, dead_zone, bang_bang, sliding_mode, gain_schedule, friction_lookup, sine_sweep,
    from_math, step_sequence, piecewise_reference, minimum_jerk, wrapped_angles, computed_torque, gravity_compensated, solved_by_numpy,
    damped_inverse, weighted, energy_shaping, limited_norm, strongest_only, median_of_references, chained_comparison, potential_field,
    neural_policy, relu_policy, Law(pid_with_anti_windup, state=np.zeros(3)), Law(filtered_derivative, state=GOAL),
    Law(observer, state=np.zeros(6)), Law(rate_limited, state=np.zeros(3)),
]  # fmt: skip


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda c: c.__name__)
def test_a_controller_as_people_write_it(controller):
    """Fifty steps of one evaluation; what rounding makes of it grows with the motion, by less than a thousand in that time."""
    q, v = np.array([0.1, 0.3, -0.2]), np.array([0.2, -0.1, 0.4])
    given = {"integrator": "lie_euler", "joint_dynamics": None, "controller": controller}
    compiled, plain = (engine.Simulator(MODEL, **given, compiled=c).run(q, v, duration=0.05) for c in (True, False))
    for a, b in ((compiled.q, plain.q), (compiled.v, plain.v)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * (1.0 + np.abs(b).max()))
