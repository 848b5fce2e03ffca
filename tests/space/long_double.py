"""The tip of a servicer with two arms after an orbit, by means of its own: ``python -m tests.space.long_double`` (some minutes).

Bodies in inertial axes about the planet's centre, in numbers of 64 bits of mantissa: M q̈ = Σ J_vᵀ (F − m a) + J_wᵀ (−I α − ω × I ω), with
the columns J of the root's motion and of the joints and what a and α are without accelerations; stepped by Gragg's rule and extrapolation
(Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, §II.9). Nothing of the engine has a part in it.
"""

from __future__ import annotations

import sys

import numpy as np

Array = np.ndarray
real = np.longdouble
MU, RE, J2, AXIS = real("3.986004418e14"), real("6378137"), real("1.08262668e-3"), 6778137.0
#: of the hub and of an arm's links: mass, centre, moments about it
HUB, LINK = (300.0, [0.05, -0.02, 0.1], [80.0, 95.0, 110.0]), (12.0, [0.5, 0.0, 0.0], [0.1, 1.0, 1.0])
JOINTS = [(side, place, axis) for side in (1, -1)
          for place, axis in (([0.6, 0.5 * side, 0.0], [0.0, 0.0, 1.0]), ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))]  # fmt: skip
TURN, ANGLES = [0.01, -0.02, 0.015], [0.3, -0.6, -0.4, 0.7]


def vector(x: object) -> Array:
    return np.array(x, dtype=real)


def cross(a: Array, b: Array) -> Array:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def hat(a: Array) -> Array:
    z = real(0)
    return np.array([[z, -a[2], a[1]], [a[2], z, -a[0]], [-a[1], a[0], z]])


def matrix(e: Array) -> Array:
    """Return the rotation of a quaternion, of any length."""
    w, v = e[0], e[1:]
    return np.eye(3, dtype=real) + (2 / (e @ e)) * (w * hat(v) + hat(v) @ hat(v))


def solve(A: Array, b: Array) -> Array:
    """Solve A x = b, symmetric and positive, by elimination."""
    A, b = A.copy(), b.copy()
    n = len(b)
    for k in range(n):
        f = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= f[:, None] * A[k]
        b[k + 1 :] -= f * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def gravity(r: Array) -> Array:
    """Return the pull of a point mass and J2."""
    d2 = r @ r
    d = np.sqrt(d2)
    s2 = r[2] * r[2] / d2
    k = real(1.5) * J2 * RE * RE / d2
    return -MU / (d2 * d) * np.array([r[0] * (1 + k * (1 - 5 * s2)), r[1] * (1 + k * (1 - 5 * s2)), r[2] * (1 + k * (3 - 5 * s2))])


def field(t: Array, y: Array) -> Array:
    """Return the rate of y = [place of the root (3), quaternion (4), angles (4), velocity (3), ω in inertial axes (3), rates (4)]."""
    x, e, q, v, w, u = y[:3], y[3:7], y[7:11], y[11:14], y[14:17], y[17:]
    M, f = np.zeros((10, 10), dtype=real), np.zeros(10, dtype=real)
    f[6:] = real(1) / 10 * np.cos(real(1) / 100 * t) - q / 2 - 2 * u

    def add(m: float, c: list[float], moments: list[float], R: Array, p: Array, w: Array, a: Array, alpha: Array,
            columns: list[tuple[int, Array, Array]]) -> None:  # fmt: skip
        arm = R @ vector(c)
        r, a = p + arm, a + cross(alpha, arm) + cross(w, cross(w, arm))
        I = R @ np.diag(vector(moments)) @ R.T
        J = np.zeros((6, 10), dtype=real)
        J[:3, :3], J[:3, 3:6], J[3:, 3:6] = np.eye(3), -hat(r - x), np.eye(3)
        for k, axis, place in columns:
            J[:3, 6 + k], J[3:, 6 + k] = cross(axis, r - place), axis
        F = np.concatenate([m * (gravity(r) - a), -(I @ alpha) - cross(w, I @ w)])
        G = np.concatenate([m * J[:3], I @ J[3:]])
        M[:] += J.T @ G
        f[:] += J.T @ F

    R0, zero = matrix(e), np.zeros(3, dtype=real)
    add(*HUB, R0, x, w, zero, zero, [])
    for k in (0, 2):
        R, p, own, a, alpha, columns = R0, x, w, zero, zero, []
        for j in (k, k + 1):
            arm, axis = R @ vector(JOINTS[j][1]), R @ vector(JOINTS[j][2])
            p, a = p + arm, a + cross(alpha, arm) + cross(own, cross(own, arm))
            alpha, own = alpha + cross(own, axis * u[j]), own + axis * u[j]
            s, c = np.sin(q[j]), np.cos(q[j])
            K = hat(vector(JOINTS[j][2]))
            R = R @ (np.eye(3, dtype=real) + s * K + (1 - c) * (K @ K))
            columns = [*columns, (j, axis, p)]
            add(*LINK, R, p, own, a, alpha, columns)
    rate = np.concatenate([[-(w @ e[1:])], e[0] * w + cross(w, e[1:])]) / 2
    return np.concatenate([v, rate, u, solve(M, f)])


def tip(y: Array) -> Array:
    """Return where the left arm ends, a metre along its last link."""
    R, p = matrix(y[3:7]), y[:3]
    for j in (0, 1):
        p = p + R @ vector(JOINTS[j][1])
        K = hat(vector(JOINTS[j][2]))
        R = R @ (np.eye(3, dtype=real) + np.sin(y[7 + j]) * K + (1 - np.cos(y[7 + j])) * (K @ K))
    return p + R @ vector([1.0, 0.0, 0.0])


def begun(node: tuple[float, ...]) -> Array:
    """Return y at first: at the node, at rest beside its origin but for the turn."""
    return vector([AXIS, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *ANGLES, *node, *TURN, 0.0, 0.0, 0.0, 0.0])


def stepped(t: Array, y: Array, H: Array, columns: int = 7) -> Array:
    """Return y after a step H, by Gragg's rule of 2, 4, …, 2 k parts and Aitken and Neville's extrapolation."""
    table: list[Array] = []
    f0 = field(t, y)
    for j in range(1, columns + 1):
        n = 2 * j
        h = H / n
        before, now = y, y + h * f0
        for i in range(1, n):
            before, now = now, before + 2 * h * field(t + i * h, now)
        row = [(before + now + h * field(t + H, now)) / 2]
        for k in range(1, j):
            row.append(row[-1] + (row[-1] - table[k - 1]) / (real(n * n) / real(4 * (j - k) ** 2) - 1))
        table = row
    return table[-1]


def flown(node: tuple[float, ...], duration: float, steps: int) -> Array:
    """Return y after a duration."""
    y, H = begun(node), real(duration) / steps
    for k in range(steps):
        y = stepped(k * H, y, H)
    return y


if __name__ == "__main__":
    from tests.space.cases import NODE

    for steps in map(int, sys.argv[1:] or ("1389", "2777")):
        y = flown(NODE, 5554.0, steps)
        print(steps, [str(x) for x in tip(y)], [str(x) for x in tip(y) - y[:3]])
