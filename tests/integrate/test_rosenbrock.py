"""Linearly implicit steps: their coefficients, their order with any J, and what is too fast for explicit ones."""

import dataclasses

import numpy as np
import pytest

from engine.integrate import ROS34PW2, Mechanical, System, step
from engine.spatial.manifold import vector
from tests.integrate.cases import cases, measured_order
from tests.numeric import check_lives

W3 = ROS34PW2.advance


def tableau():
    """α, γ with its diagonal, b and the embedded b̂."""
    n = len(W3.b)
    a, c = (np.array([np.pad(row, (0, n - len(row))) for row in rows]) for rows in (W3.a, W3.c))
    b = np.array(W3.b)
    return a, c + W3.diagonal * np.eye(n), b, b - np.array(W3.error)


def linear(J, rate=0.0):
    """What a field gives whose stiff part is J, with ∂ξ/∂t."""
    def stiff(t, x, s):
        return lambda r, w: np.linalg.solve(np.eye(len(J)) - s * J, r + w * rate)

    return stiff


def test_order_conditions_of_a_w_method():
    """Hairer & Wanner II, §IV.7: of order three whatever J is, and two for the embedded weights."""
    a, g, b, embedded = tableau()
    alpha, gamma = a.sum(axis=1), g.sum(axis=1)
    for weights, order in ((b, 3), (embedded, 2)):
        conditions = {1: [(weights.sum(), 1)], 2: [(weights @ alpha, 1 / 2), (weights @ gamma, 0)],
                      3: [(weights @ alpha**2, 1 / 3), (weights @ a @ alpha, 1 / 6), (weights @ a @ gamma, 0), (weights @ g @ alpha, 0),
                          (weights @ g @ gamma, 0)]}  # fmt: skip
        for k, pairs in conditions.items():
            for value, expected in pairs:
                assert abs(value - expected) < 4e-16 or k > order
    assert max(abs(embedded @ alpha**2 - 1 / 3), abs(embedded @ a @ alpha - 1 / 6)) > 1e-2


def test_l_stable_and_stiffly_accurate():
    a, g, b, _ = tableau()
    assert np.abs((a + g)[-1] - b).max() < 4e-16                             # the last stage is the new state
    for z in (-1e3, -1e9):
        end = step(ROS34PW2, System(vector(1), lambda t, x: z * x, stiff=linear(np.array([[z]]))), 0.0, 1.0, np.ones(1))
        assert abs(end[0]) < 3.0 / abs(z)                                      # R(z) → 0


@pytest.mark.parametrize("scale", [0.0, 1.0, -3.0])
def test_the_order_is_three_whatever_J_is(scale):
    """On a rigid body under forces, in the chart of its motion."""
    case = cases()["forced"]
    n = case.system.space.nv
    J = scale * np.random.default_rng(0).uniform(-1.0, 1.0, (n, n))
    system = Mechanical(case.system.configuration, case.system.acceleration, stiff=linear(J))
    assert abs(measured_order(ROS34PW2, dataclasses.replace(case, system=system)) - 3) < 0.25


@pytest.mark.parametrize("rate", [-1.0, -1e2, -1e4, -1e6])
def test_prothero_and_robinson(rate):
    """ẋ = λ (x − φ(t)) + φ̇(t): the error falls at order two or more, and stays small, whatever λ is."""
    phi, dphi, ddphi = np.sin, np.cos, lambda t: -np.sin(t)

    def stiff(t, x, s):
        return lambda r, w: (r + w * (-rate * dphi(t) + ddphi(t))) / (1.0 - s * rate)

    system = System(vector(1), lambda t, x: rate * (x - phi(t)) + dphi(t), stiff=stiff)
    errors = []
    for n in (20, 40, 80, 160):
        x = np.array([0.0])
        for k in range(n):
            x = step(ROS34PW2, system, 2.0 * k / n, 2.0 / n, x)
        errors.append(abs(x[0] - phi(2.0)))
    assert errors[0] < 1e-3 and (np.log2(errors[0] / errors[-1]) / 3 > 1.9 or errors[-1] < 1e-12)


def test_three_lives():
    J = np.array([[0.0, 1.0], [-1e4, -2e3]])

    def stiff(t, x, s):
        det = (1.0 - s * J[0, 0]) * (1.0 - s * J[1, 1]) - s * s * J[0, 1] * J[1, 0]

        def solve(r, w):
            return np.array([(1.0 - s * J[1, 1]) * r[0] + s * J[0, 1] * r[1], s * J[1, 0] * r[0] + (1.0 - s * J[0, 0]) * r[1]]) / det

        return solve

    system = Mechanical(vector(1), lambda t, q, v: -1e4 * (q - t) - 2e3 * v - q**3, stiff=stiff)
    rng = np.random.default_rng(1)
    check_lives(lambda t, h, x: step(ROS34PW2, system, t, h, x), rng.uniform(0, 1, 3), np.array([1e-3, 0.01, 0.1]),
                rng.uniform(-1, 1, (3, 2)), tolerance=2e-12)  # fmt: skip
