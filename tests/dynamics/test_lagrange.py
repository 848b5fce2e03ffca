"""Lagrange's equations beside Newton's and Euler's, friction, and the equation of motion put together from its matrices."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import brentq

import engine
from engine import Model, StateError, dynamics, ops
from engine.compiler import interpret, trace
from engine.model import KINDS
from engine.spatial import inertia
from tests.dynamics.support import error, floats, robot
from tests.dynamics.test_routes import freed
from tests.numeric import check_lives
from tests.trees import ONE_COORDINATE, random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
TREES = {
    "hinges, slides and screws": {"n": 6, "kinds": ONE_COORDINATE},
    "universal joints": {"n": 3, "kinds": ["universal", "revolute"]},
    "balls": {"n": 2, "kinds": ["spherical", "revolute"]},
    "planes": {"n": 3, "kinds": ["planar", "prismatic"]},
    "free bodies": {"n": 2, "kinds": ["floating"]},
    "mimics": {"n": 6, "kinds": ONE_COORDINATE, "mimics": 0.6},
    "floating base": {"n": 3, "kinds": ["revolute", "screw", "prismatic"], "floating_base": True},
    "floating base, ball": {"n": 2, "kinds": ["spherical", "universal"], "floating_base": True},
}


# ---------------------------------------------------------------- Lagrange


def pseudo_inertia(G: Array) -> Array:
    """Σ (4×4) = ∫ p pᵀ dm of points p = [x; 1]: the kinetic energy of a pose's rate is ½ tr(Ṫ Σ Ṫᵀ)."""
    I, h = G[:3, :3], inertia.first_moment(G)
    return np.block([[np.trace(I) / 2 * np.eye(3) - I, h[:, None]], [h[None], inertia.mass(G)]])


def lagrangian(model: Model, q: Array, x: Array, xdot: Array) -> Any:
    """K − P at q ⊕ x for the rate ẋ, from the poses of links alone."""
    def poses(x: Array) -> Array:
        return dynamics.forward_kinematics(model, model.manifold.plus(q, x))

    L: Any = 0.0
    rates = ops.jacobian(poses, x) @ xdot
    for link, T, Tdot in zip(model.links, poses(x), rates, strict=True):
        Sigma = pseudo_inertia(link.inertia) * (link is not model.links[0] or floats(model))     # a fixed base is the world
        L = L + 0.5 * np.trace(Tdot @ Sigma @ Tdot.T) + np.array(GRAVITY) @ (T @ Sigma[:, 3])[:3]
    return L


def euler_lagrange(model: Model, q: Array, x: Array, v: Array, vdot: Array) -> tuple[Array, Array, Array]:
    """tau = d/dt ∂L/∂ẋ − ∂L/∂x at x = 0, ∂²L/∂ẋ² and −∂L/∂x at rest.

    x are exponential coordinates about q: at x = 0, ẋ = v and, since dexp(−x)⁻¹ ẋ = ẋ + ½ [x, ẋ] + …, ẍ = v̇; tau does the work tau·v.
    """
    def along_v(x: Array, xdot: Array) -> Array:
        return ops.jacobian(lambda xdot: lagrangian(model, q, x, xdot), xdot)

    p_v = ops.jacobian(lambda xdot: along_v(x, xdot), v)
    p_x = ops.jacobian(lambda x: along_v(x, v), x)
    return (p_x @ v + p_v @ vdot - ops.jacobian(lambda x: lagrangian(model, q, x, v), x), p_v,
            -ops.jacobian(lambda x: lagrangian(model, q, x, 0.0 * v), x))  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_lagrange_along_the_manifold(name: str) -> None:
    """Poses, and exact derivatives, are all that this route shares with rnea."""
    rng = np.random.default_rng(list(TREES).index(name))
    model = random_tree(rng, **TREES[name])
    states = [model.random(rng) for _ in range(3)]
    q, v = (np.array(s) for s in zip(*states, strict=True))
    vdot = rng.standard_normal(v.shape)
    program = trace(lambda *args: euler_lagrange(model, *args), [(model.nq,), *[(model.nv,)] * 3])
    tau, M, g = interpret(program, q, 0 * v, v, vdot)
    for k in range(3):
        assert error(tau[k], dynamics.rnea(model, q[k], v[k], vdot[k], GRAVITY)) < 1e-12
        assert error(M[k], dynamics.crba(model, q[k])) < 1e-13
        assert error(g[k], dynamics.gravity_forces(model, q[k], GRAVITY)) < 1e-13


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_lagrange_in_coordinates_of_robots(name: str) -> None:
    """tau = ∂²L/∂q̇² q̈ + ∂²L/∂q̇∂q q̇ − ∂L/∂q, with K and P of ``dynamics.energy``, differentiated and compiled."""
    model, rng = robot(name), np.random.default_rng(0)

    def L(q: Array, v: Array) -> Any:
        K, P = dynamics.energy(model, q, v, GRAVITY)
        return K - P

    def p(q: Array, v: Array) -> Array:
        return ops.jacobian(lambda v: L(q, v), v)

    q, v = model.random(rng)
    vdot = rng.standard_normal(model.nv)
    tau = engine.jacobian(p, argument=1)(q, v) @ vdot + engine.jacobian(p)(q, v) @ v - engine.gradient(L)(q, v)
    assert error(tau, dynamics.rnea(model, q, v, vdot, GRAVITY)) < 1e-13


def test_lagrange_gives_christoffel_symbols() -> None:
    """Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik − ∂_i M_jk), with exact derivatives of the inertia matrix."""
    model = random_tree(np.random.default_rng(1), 6, [*ONE_COORDINATE, "universal"], mimics=0.3)
    q = model.random(np.random.default_rng(2))[0]
    D = engine.jacobian(lambda q: dynamics.crba(model, q))(q)
    Gamma = (D + D.swapaxes(1, 2) - np.einsum("jki->ijk", D)) / 2
    assert error(dynamics.christoffel(model, q), Gamma) < 1e-13


# ---------------------------------------------------------------- friction


def rubbing(model: Model, rng: np.random.Generator) -> Model:
    """The model with losses in all of its joints."""
    graph = nx.DiGraph(name=model.name)
    graph.add_nodes_from(model.graph.nodes(data=True))
    for parent, child, joint in model.graph.edges.data("joint"):
        losses = {"damping": rng.uniform(0.1, 2), "friction": rng.uniform(0.1, 2)}
        graph.add_edge(parent, child, joint=dataclasses.replace(joint, **losses))
    return Model.from_graph(graph, floating_base=floats(model))


def assembled(model: Model, rng: np.random.Generator, smoothing: float = 0.3) -> None:
    """M q̈ + C q̇ + g = tau + Σ Jᵀ F − D q̇ − f q̇/√(q̇² + s²), for the motion that aba gives."""
    q, v = model.random(rng)
    tau, wrenches = 10 * rng.standard_normal(model.nv), 10 * rng.standard_normal((len(model.links), 6))
    friction = dynamics.friction_forces(model, v, smoothing)
    vdot = dynamics.aba(model, q, v, tau + friction, GRAVITY, wrenches)
    M, C, D = dynamics.crba(model, q), dynamics.coriolis(model, q, v), dynamics.damping_matrix(model)
    g = dynamics.gravity_forces(model, q, GRAVITY)
    pushed = sum(dynamics.jacobian(model, q, link.name).T @ F for link, F in zip(model.links, wrenches, strict=True))
    dry = friction + D @ v
    assert error(M @ vdot + C @ v + g, tau + pushed - D @ v + dry, float((np.abs(M) @ np.abs(vdot)).max())) < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_the_whole_equation_on_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assembled(rubbing(random_tree(rng, 15, floating_base=bool(seed), mimics=0.3, massless=0.3), rng), rng)


def test_the_whole_equation_on_robots() -> None:
    """pr2's file gives damping and friction to its joints."""
    model = robot("pr2")
    assert np.count_nonzero(dynamics.damping_matrix(model)) > 10
    assembled(model, np.random.default_rng(0))


def test_losses_joint_by_joint() -> None:
    rng = np.random.default_rng(3)
    model = rubbing(random_tree(rng, len(KINDS), floating_base=True), rng)
    v = rng.standard_normal(model.nv)
    D, forces = dynamics.damping_matrix(model), dynamics.friction_forces(model, v, 0.1)
    assert D.shape == (model.nv, model.nv) and not (D - np.diag(np.diag(D))).any()
    assert not D[:6].any() and not forces[:6].any()                                       # nothing rubs at a floating base
    for joint in model.joints[1:]:
        own = model.v_slice(joint.name)
        assert error(forces[own], -joint.damping * v[own] - joint.friction * v[own] / np.hypot(v[own], 0.1)) < 1e-15
    assert (forces * v <= 0).all() and forces @ v < 0
    np.testing.assert_array_equal(dynamics.friction_forces(model, -v, 0.1), -forces)
    sticking = dynamics.friction_forces(model, v, 1e-9) + D @ v
    assert error(sticking[6:], -np.concatenate([np.full(j.type.nv, j.friction) for j in model.joints[1:]]) * np.sign(v[6:])) < 1e-15


def test_losses_of_mimic_joints() -> None:
    """What is lost in a joint that follows is felt by the one it follows: Eᵀ f(E v)."""
    rng = np.random.default_rng(4)
    model = rubbing(random_tree(rng, 20, mimics=0.6), rng)
    q, v = model.random(rng)
    full, _, E = freed(model, q)
    assert full.nv > model.nv
    assert error(dynamics.damping_matrix(model), E.T @ dynamics.damping_matrix(full) @ E) < 1e-15
    assert error(dynamics.friction_forces(model, v, 0.2), E.T @ dynamics.friction_forces(full, E @ v, 0.2)) < 1e-15


@pytest.mark.parametrize(("d", "f"), [(0.5, 0.0), (0.0, 0.5)])
def test_simulated_losses(d: float, f: float) -> None:
    """Damping alone: ω = ω₀ exp(−d t/I). Friction alone: g(ω) = g(ω₀) − f t/I with g = √(ω² + s²) − s arsinh(s/ω), which is ω₀ − f t/I and
    then rest."""
    wheel, s = engine.Builder("wheel"), 1e-2
    wheel.add_link("base")
    wheel.add_link("disc", inertia=inertia.cylinder(2.0, 1.0, 0.1))                       # I = 1 kg·m²
    wheel.add_joint("axle", "continuous", "base", "disc", damping=d, friction=f)
    model = wheel.model()
    simulator = engine.Simulator(model, dt=2e-4, joint_dynamics=False, forces=[lambda t, q, v: dynamics.friction_forces(model, v, s)])
    run = simulator.run([0.0], [1.0], 3.0, record_every=100)
    g = lambda w: np.hypot(w, s) - s * np.arcsinh(s / w)
    slowed = lambda t: brentq(lambda x: g(np.exp(x)) - g(1.0) + f * t, -500.0, 1.0, xtol=1e-14, rtol=1e-14)    # the logarithm of ω
    exact = np.exp(-d * run.t) if d else np.exp([slowed(t) for t in run.t])
    assert np.abs(run.v[:, 0] - exact).max() < 1e-9
    if f:
        assert np.abs(exact - np.maximum(1 - f * run.t, 0.0)).max() < s


def test_plain_is_interpreted_is_compiled() -> None:
    rng = np.random.default_rng(5)
    model = rubbing(random_tree(rng, 12, mimics=0.4, floating_base=True), rng)
    check_lives(lambda v: dynamics.friction_forces(model, v, 0.1), rng.standard_normal((10, model.nv)))


@pytest.mark.parametrize("smoothing", [0.0, -1.0, np.inf, np.nan, "1e-3", None, np.ones(3)])
def test_wrong_smoothing(smoothing: Any) -> None:
    with pytest.raises(StateError, match=r"smoothing is .*; expected a speed greater than zero"):
        dynamics.friction_forces(robot("ur5"), np.zeros(6), smoothing)


def test_wrong_velocity() -> None:
    with pytest.raises(StateError, match=r"v has shape \(5,\); expected \(6,\) for 'ur5'"):
        dynamics.friction_forces(robot("ur5"), np.zeros(5), 0.1)
