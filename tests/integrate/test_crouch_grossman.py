"""Crouch–Grossman methods: their coefficients, their order on a floating tree, and the known way to get it wrong."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine import dynamics, integrate
from engine.integrate import CG3, CG4, METHODS, Tableau
from engine.spatial import quaternion
from tests.trees import random_tree


@pytest.fixture(scope="module")
def tree():
    """A floating base with five revolute joints, a state, and its compiled dynamics under forcing in t, q and v."""
    rng = np.random.default_rng(7)
    model = random_tree(rng, 5, kinds=("revolute",), floating_base=True)
    q, v = model.random(rng)
    robot = engine.compile(model, (0, 0, -2.0))

    def field(t, q, v):
        tau = np.concatenate([np.cos(3 * t) * np.ones(6), -0.3 * v[6:] + 0.5 * np.sin(q[7:])])
        return robot.aba(q, v, tau)

    return model, field, q, 0.5 * v


def reference(model, field, q, v, t_end):
    """The same motion as an ordinary differential equation in the coordinates, by DOP853."""

    def rate(t, y):
        q, v = y[: model.nq], y[model.nq :]
        R = quaternion.to_matrix(quaternion.normalize(q[:4]))
        return np.concatenate([quaternion.rate(q[:4], v[:3]), R @ v[3:6], v[6:], field(t, q, v)])

    y = solve_ivp(rate, (0, t_end), np.concatenate([q, v]), method="DOP853", rtol=3e-14, atol=3e-14).y[:, -1]
    return model.normalized(y[: model.nq]), y[model.nq :]


def error(method, tree, steps, end, t_end=0.5, plus=None):
    model, field, q, v = tree
    h = t_end / steps
    for k in range(steps):
        q, v = integrate.step(method, field, plus or model.plus, k * h, h, q, v)
    return np.linalg.norm(np.concatenate([model.difference(end[0], q), v - end[1]]))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_order_conditions(method):
    """Σb = 1, Σbc = 1/2, Σbc² = 1/3, Σb a c = 1/6 and, of order four, Σbc³ = 1/4, …: the classical ones, to the last digits."""
    b, c = np.array(method.b), np.array(method.c)
    a = np.array([[*row, *[0.0] * (len(b) - len(row))] for row in method.a])
    conditions = [(b.sum(), 1), (b @ c, 1 / 2), (b @ c**2, 1 / 3), (b @ a @ c, 1 / 6)]
    if method.order >= 4:
        conditions += [(b @ c**3, 1 / 4), (b @ (c * (a @ c)), 1 / 8), (b @ a @ c**2, 1 / 12), (b @ a @ a @ c, 1 / 24)]
    for value, expected in conditions:
        assert abs(value - expected) < 1e-14


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_extra_conditions_of_the_group(method):
    """Σ b_i² c_i + 2 Σ_{i<j} b_i c_i b_j = 1/3: what the order of the factors adds from order three on."""
    b, c = np.array(method.b), np.array(method.c)
    earlier = sum(b[i] * c[i] * b[j] for j in range(len(b)) for i in range(j))
    assert abs(b**2 @ c + 2 * earlier - 1 / 3) < 1e-13


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_measured_order(method, tree):
    end = reference(*tree, 0.5)
    steps = np.array([20, 40, 80])
    errors = [error(method, tree, n, end) for n in steps]
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - method.order) < 0.2


def test_reversed_factors_lose_two_orders(tree):
    """exp(h a_i2 v_2) exp(h a_i1 v_1) instead: the mistake that keeps the code running and the order at two."""
    model, field, q, v = tree
    end = reference(*tree, 0.5)

    def reversed_step(h, t, q, v):
        speeds, slopes = [], []

        def moved(weights):
            to = q
            for w, v_j in reversed(list(zip(weights, speeds, strict=True))):
                to = model.plus(to, h * w * v_j)
            return to, v + h * sum((w * k for w, k in zip(weights, slopes, strict=True)), np.zeros(model.nv))

        for a_i, c_i in zip(CG4.a, CG4.c, strict=True):
            q_i, v_i = moved(a_i)
            slopes.append(field(t + c_i * h, q_i, v_i))
            speeds.append(v_i)
        return moved(CG4.b)

    errors = []
    for n in (40, 80):
        x, u, h = q, v, 0.5 / n
        for k in range(n):
            x, u = reversed_step(h, k * h, x, u)
        errors.append(np.linalg.norm(model.difference(end[0], x)))
    assert np.log2(errors[0] / errors[1]) < 2.5


def test_rounded_coefficients_stop_converging(tree):
    """Coefficients of three digits hold an error that no step size takes away."""
    rounded = Tableau("rounded", 4, tuple(tuple(round(x, 3) for x in row) for row in CG4.a), tuple(round(x, 3) for x in CG4.b), "")
    end = reference(*tree, 0.5)
    assert error(rounded, tree, 80, end) > 100 * error(CG4, tree, 80, end)


def test_slow_rotation_turns():
    """1e-6 rad/s for a thousand steps of 1 ms is 1e-6 rad, not nothing."""
    model = random_tree(np.random.default_rng(0), 1, kinds=("revolute",), floating_base=True)
    q, v = model.neutral(), np.zeros(model.nv)
    v[2] = 1e-6
    for _ in range(1000):
        q, v = integrate.step(CG4, lambda t, q, v: np.zeros(model.nv), model.plus, 0.0, 1e-3, q, v)
    assert abs(quaternion.log(q[:4])[2] / 1e-6 - 1) < 1e-12


@pytest.mark.parametrize("method", [CG3, CG4], ids=["cg3", "cg4"])
def test_every_kind_of_joint_is_integrated(method):
    """Zero force on a tree of every kind: the energy drifts by the method's order only."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 9, floating_base=True)
    q0, v0 = model.random(rng)
    robot = engine.compile(model, (0, 0, 0))
    drift = []
    for n in (40, 80):
        q, v = q0, 0.3 * v0
        for _ in range(n):
            q, v = integrate.step(method, lambda t, q, v: robot.aba(q, v, np.zeros(model.nv)), model.plus, 0.0, 0.4 / n, q, v)
        K, K0 = dynamics.energy(model, q, v)[0], dynamics.energy(model, q0, 0.3 * v0)[0]
        drift.append(abs(K - K0) / K0)
    assert np.log2(drift[0] / drift[1]) > method.order - 0.4
