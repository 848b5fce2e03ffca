"""Motions that are known: Euler's top by Jacobi's elliptic functions, and the steady precession of Lagrange's."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import ellipj

import engine
from engine import dynamics
from engine.integrate import METHODS, Mechanical
from engine.spatial import inertia, quaternion, so3
from engine.spatial.manifold import ROTATION
from tests.integrate.cases import Case, free_body, run

each = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


# ---------------------------------------------------------------- Euler's top

I1, I2, I3 = 1.0, 2.0, 3.0
W1, W3 = 0.7, 1.2                                                              # ω(0) = (W1, 0, W3): turns about the largest axis
K2, L2 = I1 * W1**2 + I3 * W3**2, (I1 * W1) ** 2 + (I3 * W3) ** 2              # twice the energy, and the square of the momentum
RATE = np.sqrt((I3 - I2) * (L2 - K2 * I1) / (I1 * I2 * I3))
MODULUS = (I2 - I1) * (K2 * I3 - L2) / ((I3 - I2) * (L2 - K2 * I1))


def spin(t):
    """ω(t) in the body: (W1 cn, W2 sn, W3 dn)."""
    sn, cn, dn, _ = ellipj(RATE * t, MODULUS)
    W2 = np.sqrt((K2 * I3 - L2) / (I2 * (I3 - I2)))
    return np.array([W1 * cn, W2 * sn, W3 * dn])


def attitude(t):
    """R(t) = Rz(φ) Rx(θ) Rz(ψ) with the momentum along the world's z: θ and ψ are those of the momentum in the body, φ a quadrature."""
    L, size = np.array([I1, I2, I3]) * spin(t), np.sqrt(L2)
    at, weights = leggauss(200)
    w1, w2, w3 = spin(0.5 * t * (at + 1))
    phi = 0.5 * t * weights @ (size * (I1 * w1**2 + I2 * w2**2) / (L2 - (I3 * w3) ** 2))
    x, z = np.eye(3)[0], np.eye(3)[2]
    return so3.about(z, phi) @ so3.about(x, np.arccos(L[2] / size)) @ so3.about(z, np.arctan2(L[0], L[1]))


def test_the_closed_form_is_one():
    """I ω̇ = I ω × ω, and Ṙ = R [ω]: the reference itself, by differences."""
    I, h = np.array([I1, I2, I3]), 1e-4
    for t in (0.3, 2.0, 5.0):
        w = spin(t)
        np.testing.assert_allclose(I * (spin(t + h) - spin(t - h)) / (2 * h), np.cross(I * w, w), atol=1e-7)
        np.testing.assert_allclose(so3.vee(attitude(t).T @ (attitude(t + h) - attitude(t - h)) / (2 * h)), w, atol=1e-7)


@each
def test_eulers_top(method):
    """Ten seconds, two turns, through the whole state; by order: what is left at h and at h/2."""
    q = quaternion.from_matrix(attitude(0.0))
    case = free_body(np.diag([I1, I2, I3, 1.0, 1.0, 1.0]), np.append(spin(0.0), np.zeros(3)), q=np.append(q, np.zeros(3)))
    steps = {1: 20_000, 2: 4000, 3: 1000}.get(method.order, 500)
    left = []
    for n in (steps, 2 * steps):
        end = run(method, case, 10.0 / n, [n])[0]
        turned = quaternion.product(quaternion.conjugate(quaternion.from_matrix(attitude(10.0))), quaternion.normalize(end[:4]))
        left.append(np.linalg.norm(np.concatenate([quaternion.log(turned), end[7:10] - spin(10.0)])))
    assert left[1] < {1: 5e-3, 2: 1e-5, 3: 4e-7}.get(method.order, 4e-9)
    assert abs(np.log2(left[0] / left[1]) - method.order) < 0.2


# ---------------------------------------------------------------- Lagrange's top: m g l = I3 ω3 Ω − I1 Ω² cos θ

A, C, TILT, PRECESSION, TWIRL = 0.7, 0.4, 0.6, 0.8, 5.0                        # inertias about the pivot, θ, Ω, ψ̇
OMEGA3 = TWIRL + PRECESSION * np.cos(TILT)
MGL = C * OMEGA3 * PRECESSION - A * PRECESSION**2 * np.cos(TILT)
X, Z = np.eye(3)[0], np.eye(3)[2]


def top(t):
    """R(t) = Rz(Ω t) Rx(θ) Rz(ψ̇ t)."""
    return quaternion.from_matrix(so3.about(Z, PRECESSION * t) @ so3.about(X, TILT) @ so3.about(Z, TWIRL * t))


SPIN = so3.about(X, TILT).T @ (PRECESSION * Z) + TWIRL * Z                     # ω(0) in the body


def on_a_pivot():
    """A body of 2 kg, its centre of mass 0.3 m up its axis, on a spherical joint."""
    m, l = 2.0, 0.3
    builder = engine.Builder("top")
    builder.add_link("ground")
    builder.add_link("top", inertia=inertia.from_mass(m, [0.0, 0.0, l], np.diag([A - m * l**2, A - m * l**2, C])))
    builder.add_joint("pivot", "spherical", "ground", "top")
    model = builder.model()
    gravity = np.array([0.0, 0.0, -MGL / (m * l)])
    return Case(Mechanical(ROTATION, lambda t, q, v: dynamics.aba(model, q, v, np.zeros(3), gravity)), np.concatenate([top(0.0), SPIN]))


def in_a_field():
    """A free body with the same torque, that of a dipole in a field: −m g l e3 × up."""
    def wrench(t, q, v):
        up = quaternion.rotate(quaternion.conjugate(q[:4]), Z)
        return np.array([MGL * up[1], -MGL * up[0], 0.0, 0.0, 0.0, 0.0])

    x = np.append(top(0.0), np.zeros(3))
    return free_body(np.diag([A, A, C, 1.0, 1.0, 1.0]), np.append(SPIN, np.zeros(3)), wrench, x)


@pytest.mark.parametrize("method, make", [pytest.param(m, make, id=f"{m.name}-{make.__name__}") for m in METHODS.values()
                                          for make in (on_a_pivot, in_a_field) if make().takes(m)])  # fmt: skip
def test_steady_precession(method, make):
    """Four seconds: three radians of precession under twenty of spin."""
    case = make()
    steps = {1: 20_000, 2: 2000, 3: 800}.get(method.order, 400)
    left = []
    for n in (steps, 2 * steps):
        end = run(method, case, 4.0 / n, [n])[0]
        left.append(np.linalg.norm(quaternion.log(quaternion.product(quaternion.conjugate(top(4.0)), quaternion.normalize(end[:4])))))
    assert left[1] < {1: 5e-3, 2: 2e-4, 3: 2e-6}.get(method.order, 2e-8)
    assert abs(np.log2(left[0] / left[1]) - method.order) < 0.2
