"""Laws: energy, power and momentum, what an inertia matrix is, and that gravity is uniform."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import Model, dynamics
from engine.model import KINDS
from engine.spatial import quaternion, se3, so3
from tests.dynamics.support import along, error, motion, rate, robot
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
NONE = (0.0, 0.0, 0.0)
#: kinds with q̇ = v, whose velocities are the rates of coordinates
HOLONOMIC = ("revolute", "continuous", "prismatic", "screw", "universal", "fixed")


def trees(seed: int, floating_base: bool) -> tuple[Model, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return random_tree(rng, (9, 20, 35)[seed % 3], floating_base=floating_base, massless=0.3, mimics=0.3 * (seed % 2)), rng


MODELS: dict[str, Callable[[], tuple[Model, np.random.Generator]]] = {
    "tree 0": lambda: trees(0, False),
    "tree 1": lambda: trees(1, False),
    "tree 2": lambda: trees(2, True),
    "tree 3": lambda: trees(3, True),
    "ur5": lambda: (robot("ur5"), np.random.default_rng(0)),
    "panda": lambda: (robot("panda"), np.random.default_rng(0)),
    "a1": lambda: (robot("a1", True), np.random.default_rng(0)),
    "talos": lambda: (robot("talos", True), np.random.default_rng(0)),
}
FREE = ["tree 2", "tree 3", "a1", "talos"]


# ---------------------------------------------------------------- energy and power


@pytest.mark.parametrize("name", MODELS)
def test_power_is_the_rate_of_energy(name: str) -> None:
    """dK/dt + dU/dt = tau·v + Σ F·V along the motion that aba gives."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    tau, wrenches = 30 * rng.standard_normal(model.nv), 30 * rng.standard_normal((len(model.links), 6))
    vdot = dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    path = motion(model, q, v, vdot)
    Kdot, Udot = rate(lambda t: dynamics.energy(model, *path(t), GRAVITY))
    joints, outside = tau @ v, np.sum(wrenches * dynamics.twists(model, q, v))
    scale = max(abs(Kdot), abs(Udot), np.abs(tau * v).max(), abs(outside), 1e-3 * dynamics.energy(model, q, v)[0])
    assert error(Kdot + Udot, joints + outside, scale) < 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_energy_is_kept_without_forces(name: str) -> None:
    """For a moment, along the motion that aba gives: d(K + U)/dt = 0."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    path = motion(model, q, v, dynamics.aba(model, q, v, np.zeros(model.nv), GRAVITY))
    Kdot, Udot = rate(lambda t: dynamics.energy(model, *path(t), GRAVITY))
    assert error(Kdot, -Udot, dynamics.energy(model, q, v)[0]) < 2e-12


@pytest.mark.parametrize("name", MODELS)
def test_gravity_forces_are_the_gradient_of_potential_energy(name: str) -> None:
    model, rng = MODELS[name]()
    q, rest = model.random(rng)[0], np.zeros(model.nv)
    forces = dynamics.gravity_forces(model, q, GRAVITY)
    assert error(forces, along(model, q, lambda q: dynamics.energy(model, q, rest, GRAVITY)[1]), float(np.abs(forces).max())) < 2e-12


@pytest.mark.parametrize("name", MODELS)
def test_velocity_forces_do_no_work_but_change_the_inertia(name: str) -> None:
    """vᵀ(Ṁ v − 2 C v) = 0."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    Mdot = rate(lambda t: dynamics.crba(model, model.integrate(q, v, t)))
    power = dynamics.bias(model, q, v, NONE) @ v
    assert error(v @ Mdot @ v, 2 * power, float(np.abs(v) @ np.abs(Mdot) @ np.abs(v))) < 1e-12


def coriolis(model: Model, q: Array, v: Array) -> Array:
    """C of the Levi-Civita connection: C e_k = B(v, e_k) + ½ M [v, e_k], from the symmetric bilinear B(v, v) = C(v) v and Lie brackets."""
    bracket = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        u = v[body.v]
        if body.kind.name == "floating":
            bracket[body.v, body.v] = se3.ad(u)
        elif body.kind.name == "spherical":
            bracket[body.v, body.v] = so3.hat(u)
        elif body.kind.name == "planar":
            bracket[body.v, body.v] = [[0, -u[2], u[1]], [u[2], 0, -u[0]], [0, 0, 0]]

    def force(u: Array) -> Array:
        return dynamics.bias(model, q, u, NONE)

    columns = [(force(v + e) - force(v) - force(e)) / 2 for e in np.eye(model.nv)]
    return np.array(columns).T + dynamics.crba(model, q) @ bracket / 2


@pytest.mark.parametrize("kinds", [HOLONOMIC, KINDS], ids=["holonomic", "all"])
@pytest.mark.parametrize("floating_base", [False, True])
def test_rate_of_the_inertia_is_c_and_its_transpose(kinds: tuple[str, ...], floating_base: bool) -> None:
    """Ṁ = C + Cᵀ, and so Ṁ − 2C is skew."""
    rng = np.random.default_rng(5)
    model = random_tree(rng, 14, kinds=list(kinds), floating_base=floating_base, mimics=0.2)
    q, v = model.random(rng)
    C = coriolis(model, q, v)
    assert error(C @ v, dynamics.bias(model, q, v, NONE)) < 1e-14
    Mdot = rate(lambda t: dynamics.crba(model, model.integrate(q, v, t)))
    assert error(Mdot, C + C.T) < 5e-12


# ---------------------------------------------------------------- momentum


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("gravity", [NONE, GRAVITY])
def test_wrenches_and_weight_change_momentum(name: str, gravity: tuple[float, float, float]) -> None:
    """Ṗ = Σ Ad(T)⁻ᵀ F + [c × m g; m g], whatever the joints do."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    tau, wrenches = 30 * rng.standard_normal(model.nv), 30 * rng.standard_normal((len(model.links), 6))
    tau[:6] = 0.0
    path = motion(model, q, v, dynamics.aba(model, q, v, tau, gravity, wrenches))
    Pdot = rate(lambda t: dynamics.momentum(model, *path(t)))
    weight = sum(body.inertia[5, 5] for body in model.bodies) * np.array(gravity)
    c = dynamics.center_of_mass(model, q)
    pushes = [np.linalg.inv(se3.Ad(T)).T @ F for T, F in zip(dynamics.forward_kinematics(model, q), wrenches, strict=True)]
    total = np.concatenate([np.cross(c, weight), weight]) + sum(pushes)
    assert error(Pdot, total, float(np.abs(dynamics.momentum(model, q, v)).max())) < 1e-12


@pytest.mark.parametrize("name", FREE)
def test_momentum_is_kept_without_forces_from_outside(name: str) -> None:
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    tau = 30 * rng.standard_normal(model.nv)
    tau[:6] = 0.0
    path = motion(model, q, v, dynamics.aba(model, q, v, tau, NONE))
    assert np.abs(rate(lambda t: dynamics.momentum(model, *path(t)))).max() < 1e-12 * np.abs(dynamics.momentum(model, q, v)).max()


def test_forces_of_the_base_change_momentum() -> None:
    """A floating joint's tau is a wrench on the root link, in its frame."""
    model, rng = trees(2, True)
    q, v = model.random(rng)
    tau = 30 * rng.standard_normal(model.nv)
    wrenches = np.zeros((len(model.links), 6))
    wrenches[0], inner = tau[:6], tau.copy()
    inner[:6] = 0.0
    assert error(dynamics.aba(model, q, v, tau, GRAVITY), dynamics.aba(model, q, v, inner, GRAVITY, wrenches)) < 1e-13


# ---------------------------------------------------------------- the inertia matrix


@pytest.mark.parametrize("name", MODELS)
def test_inertia_matrix_is_symmetric_and_positive_definite(name: str) -> None:
    model, rng = MODELS[name]()
    for _ in range(3):
        M = dynamics.crba(model, model.random(rng)[0])
        np.testing.assert_array_equal(M, M.T)
        unit = 1 / np.sqrt(np.diagonal(M))  # kilograms and kilogram square metres
        assert np.linalg.eigvalsh(unit[:, None] * M * unit)[0] > 1e-9


def test_branches_do_not_feel_one_another() -> None:
    """Between joints of which neither is above the other, M is exactly zero."""
    rng = np.random.default_rng(11)
    model = random_tree(rng, 40)
    M = dynamics.crba(model, model.random(rng)[0])
    above = [{i} for i in range(len(model.bodies))]
    for i, body in enumerate(model.bodies):
        above[i] |= above[body.parent] if body.parent >= 0 else set()
    apart = 0
    for i, a in enumerate(model.bodies):
        for j, b in enumerate(model.bodies):
            if i not in above[j] and j not in above[i]:
                assert not M[a.v, b.v].any()
                apart += M[a.v, b.v].size
            else:
                assert M[a.v, b.v].any()
    assert apart > 100


# ---------------------------------------------------------------- gravity


@pytest.mark.parametrize("name", ["tree 1", "tree 2", "talos"])
def test_zero_gravity_is_zero(name: str) -> None:
    """Not small: the numbers are 0.0, and the compiled program has nothing to do but to look at the quaternions."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    rest = np.zeros(model.nv)
    assert not dynamics.gravity_forces(model, q, NONE).any()
    assert not dynamics.rnea(model, q, rest, rest, NONE).any()
    assert not dynamics.aba(model, q, rest, rest, NONE).any()
    assert dynamics.energy(model, q, v, NONE)[1] == 0
    floating = engine.compile(model, gravity=NONE)
    assert not floating.gravity_forces(q).any()
    assert floating.gravity_forces.program.count() <= 12 * sum(m.attitude for m, _, _ in model.manifold.parts)
    assert floating.energy(q, v)[1] == 0


def test_forces_are_linear_in_gravity() -> None:
    model, rng = trees(1, False)
    q = model.random(rng)[0]
    unit = np.array([dynamics.gravity_forces(model, q, e) for e in np.eye(3)])
    assert error(dynamics.gravity_forces(model, q, GRAVITY), np.array(GRAVITY) @ unit) < 1e-14


@pytest.mark.parametrize("name", FREE)
def test_free_fall_is_weightless(name: str) -> None:
    """Gravity accelerates the base and nothing else: v̇ changes by g in the base's axes, joints do not feel it."""
    model, rng = MODELS[name]()
    q, v = model.random(rng)
    tau = rng.standard_normal(model.nv)
    falling = dynamics.aba(model, q, v, tau, NONE)
    g = quaternion.rotate(quaternion.conjugate(q[:4]), np.array(GRAVITY))
    falling[3:6] += g
    assert error(dynamics.aba(model, q, v, tau, GRAVITY), falling) < 1e-13
