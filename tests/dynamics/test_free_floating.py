"""Floating bases: the base taken out of the equations by hand and by simulation, other models of held bases, Papadopoulos and Dubowsky's
planar arm, Pinocchio, and three lives."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq

import engine
from engine import Builder, Joint, Link, Model, ModelError, StateError, dynamics, ops
from engine.dynamics.free_floating import BASES
from engine.model import KINDS
from engine.spatial import inertia, se3
from tests.dynamics.oracle_pinocchio import Pinocchio, built, from_urdf
from tests.dynamics.support import error, file, robot, sensitivity, some_links, without_mimics
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
NONE, GRAVITY = (0.0, 0.0, 0.0), (0.3, -9.0, 3.0)
MODELS: dict[str, Callable[[np.random.Generator], Model]] = {
    "one of each": lambda rng: random_tree(rng, len(KINDS), floating_base=True),
    "mimics, massless links": lambda rng: random_tree(rng, 16, mimics=0.5, massless=0.5, floating_base=True),
    "two joints": lambda rng: random_tree(rng, 2, ["revolute"], floating_base=True),
    "a1": lambda rng: robot("a1", True),
    "panda": lambda rng: robot("panda", True),
}
#: rows of the base's twist that are free, and that are at rest, by hand
FREE = {"fixed": [], "floating": [0, 1, 2, 3, 4, 5], "rotation": [0, 1, 2], "translation": [3, 4, 5], "flying": []}
HELD = {"fixed": [0, 1, 2, 3, 4, 5], "floating": [], "rotation": [3, 4, 5], "translation": [0, 1, 2], "flying": []}


class State:
    """A model in a random state, and its full equations of motion; what ``base`` holds is at rest."""

    def __init__(self, name: str, base: str = "floating") -> None:
        rng = self.rng = np.random.default_rng(list(MODELS).index(name))
        model = self.model = MODELS[name](rng)
        self.q, self.v = model.random(rng)
        self.v[HELD[base]] = 0.0
        self.M, self.b = dynamics.crba(model, self.q), dynamics.bias(model, self.q, self.v, GRAVITY)
        self.e, self.k = FREE[base], list(range(0 if base == "flying" else 6, model.nv))
        self.u, self.udot = self.v[self.k], rng.standard_normal(len(self.k))

    def block(self, rows: list[int], columns: list[int]) -> Array:
        return self.M[np.ix_(rows, columns)]


every_model, every_base = pytest.mark.parametrize("name", MODELS), pytest.mark.parametrize("base", FREE)


# ---------------------------------------------------------------- the base taken out by hand


def test_bases() -> None:
    assert list(BASES) == list(FREE)


@every_model
@every_base
def test_base_eliminated_from_the_full_equations(name: str, base: str) -> None:
    """Of M v̇ + b = tau with nothing on the free rows, and nothing moving on those held."""
    s = State(name, base)
    H, Hek, Hkk = s.block(s.e, s.e), s.block(s.e, s.k), s.block(s.k, s.k)
    inverse = np.linalg.inv(H)
    inertia_ = Hkk - Hek.T @ inverse @ Hek
    reduced = dynamics.free_floating_inertia(s.model, s.q, base)
    np.testing.assert_array_equal(reduced, reduced.T)
    assert error(reduced, inertia_, float(np.abs(Hkk).max())) < 1e-13
    rest = s.b[s.k] - Hek.T @ inverse @ s.b[s.e]
    assert error(dynamics.free_floating_bias(s.model, s.q, s.v, GRAVITY, base), rest, float(np.abs(s.b).max())) < 1e-13
    for link in some_links(s.model, s.rng, 4):
        J = dynamics.jacobian(s.model, s.q, link)
        assert error(dynamics.generalized_jacobian(s.model, s.q, link, base), J[:, s.k] - J[:, s.e] @ inverse @ Hek) < 1e-13


@every_model
@every_base
def test_inverse_dynamics(name: str, base: str) -> None:
    """M* u̇ + b* = tau, and the full equations hold, with forces only where something drives or holds."""
    s = State(name, base)
    tau, V0dot = dynamics.floating_inverse_dynamics(s.model, s.q, s.v, s.udot, GRAVITY, base)
    reduced = dynamics.free_floating_inertia(s.model, s.q, base) @ s.udot + dynamics.free_floating_bias(s.model, s.q, s.v, GRAVITY, base)
    assert error(tau, reduced, float(np.abs(s.b).max())) < 1e-13
    vdot = np.concatenate([V0dot, s.udot[-(s.model.nv - 6) :]])
    assert not V0dot[HELD[base]].any()
    forces = s.M @ vdot + s.b
    assert error(forces[s.k], tau, float(np.abs(s.b).max())) < 1e-13
    assert np.abs(forces[s.e]).max(initial=0.0) < 1e-13 * np.abs(s.b).max()


@every_model
def test_forward_dynamics_undo_it(name: str) -> None:
    """aba with the joints' forces alone accelerates joints and base as said, in any gravity, which a floating arm does not feel."""
    s = State(name)
    tau, V0dot = dynamics.floating_inverse_dynamics(s.model, s.q, s.v, s.udot, GRAVITY)
    full = np.concatenate([np.zeros(6), tau])
    back = dynamics.aba(s.model, s.q, s.v, full, GRAVITY)
    assert error(back, np.concatenate([V0dot, s.udot]), sensitivity(s.M, full, s.b)) < 1e-14
    weightless, other = dynamics.floating_inverse_dynamics(s.model, s.q, s.v, s.udot, NONE)
    assert error(tau, weightless, float(np.abs(s.b).max())) < 1e-13
    falling = np.append(np.zeros(3), dynamics.forward_kinematics(s.model, s.q)[0][:3, :3].T @ GRAVITY)
    assert error(V0dot, other + falling, 9.0) < 1e-13
    at_rest, weight = dynamics.free_floating_bias(s.model, s.q, 0 * s.v, GRAVITY), dynamics.gravity_forces(s.model, s.q, GRAVITY)
    assert np.abs(at_rest).max() < 1e-13 * np.abs(weight).max()


@every_model
def test_twists_of_links(name: str) -> None:
    """V = J* q̇ + J_b Hb⁻¹ P0 at any momentum; P0 is the momentum of the whole, seen from the base."""
    s = State(name)
    X = se3.Ad(dynamics.forward_kinematics(s.model, s.q)[0])
    P0 = X.T @ dynamics.momentum(s.model, s.q, s.v)
    assert error(s.M[:6] @ s.v, P0) < 1e-14
    drift = np.linalg.solve(s.M[:6, :6], P0)
    V = dynamics.twists(s.model, s.q, s.v)
    for link in some_links(s.model, s.rng, 5):
        moved = dynamics.generalized_jacobian(s.model, s.q, link) @ s.v[6:] + dynamics.jacobian(s.model, s.q, link)[:, :6] @ drift
        assert error(V[s.model.link_index(link)], moved) < 1e-13


@every_model
def test_energy_at_zero_momentum(name: str) -> None:
    """½ q̇ᵀ M* q̇, less than with the base held by what the base's motion takes."""
    s = State(name)
    v = np.concatenate([-np.linalg.solve(s.M[:6, :6], s.M[:6, 6:] @ s.v[6:]), s.v[6:]])
    assert np.abs(dynamics.momentum(s.model, s.q, v)).max() < 1e-12 * np.abs(s.M @ s.v).max()
    K = 0.5 * s.v[6:] @ dynamics.free_floating_inertia(s.model, s.q) @ s.v[6:]
    assert error(dynamics.energy(s.model, s.q, v)[0], K) < 1e-12
    energies = [s.v[6:] @ dynamics.free_floating_inertia(s.model, s.q, base) @ s.v[6:] for base in ("fixed", "rotation", "floating")]
    assert energies == sorted(energies, reverse=True)


@every_model
def test_base_reaction(name: str) -> None:
    """The base alone, pushed by it and by what acts from outside, moves as it does with its arm."""
    s = State(name)
    tau = s.rng.standard_normal(s.model.nv) * 10
    vdot = dynamics.aba(s.model, s.q, s.v, tau, GRAVITY)
    reaction = dynamics.base_reaction(s.model, s.q, s.v, vdot, GRAVITY)
    alone = Builder("base")
    alone.add_link("base", inertia=s.model.bodies[0].inertia)
    pushed = dynamics.aba(alone.model(floating_base=True), s.q[:7], s.v[:6], tau[:6] + reaction, GRAVITY)
    assert error(pushed, vdot[:6], sensitivity(s.model.bodies[0].inertia, reaction, s.b, tau)) < 1e-13


@every_model
@every_base
def test_wrenches_act_as_joint_forces_do(name: str, base: str) -> None:
    """Forces from outside are Jᵀ F, on the base too: in the joints' own equations, in inverse dynamics and in what the base feels."""
    s = State(name, base)
    W = 10 * s.rng.standard_normal((len(s.model.links), 6))
    pushed = sum(dynamics.jacobian(s.model, s.q, link.name).T @ F for link, F in zip(s.model.links, W, strict=True))
    b, H, Hek = s.b - pushed, s.block(s.e, s.e), s.block(s.e, s.k)
    scale = float(np.abs(s.b).max() + np.abs(pushed).max())
    rest = b[s.k] - Hek.T @ np.linalg.inv(H) @ b[s.e]
    assert error(dynamics.free_floating_bias(s.model, s.q, s.v, GRAVITY, base, W), rest, scale) < 1e-13
    tau, V0dot = dynamics.floating_inverse_dynamics(s.model, s.q, s.v, s.udot, GRAVITY, base, W)
    vdot = np.concatenate([V0dot, s.udot[-(s.model.nv - 6) :]])
    forces = s.M @ vdot + b
    assert error(forces[s.k], tau, scale) < 1e-13 and np.abs(forces[s.e]).max(initial=0.0) < 1e-13 * scale
    on_base = np.where(np.arange(len(W))[:, None] == 0, W, 0.0)                          # the root link's wrench alone
    free, loaded = (dynamics.base_reaction(s.model, s.q, s.v, vdot, GRAVITY, F) for F in (None, on_base))
    assert error(loaded, free, scale) < 1e-13                                            # the motion is given: what hangs on it is the same
    whole = dynamics.base_reaction(s.model, s.q, s.v, vdot, GRAVITY, W)
    elsewhere = sum(dynamics.jacobian(s.model, s.q, link.name).T @ F for i, (link, F) in enumerate(zip(s.model.links, W, strict=True))
                    if s.model.carrier[i][0] != 0)[:6]  # fmt: skip
    assert error(whole, free + elsewhere, scale) < 1e-13


@every_model
def test_velocity_from_momentum(name: str) -> None:
    """It undoes momentum, at any velocity of the joints; and a free body started so keeps it, by the variational integrator too."""
    s = State(name)
    P = dynamics.momentum(s.model, s.q, s.v)
    back = dynamics.velocity_from_momentum(s.model, s.q, P, s.v[6:])
    condition = float(np.linalg.cond(s.M[:6, :6]))
    assert error(back, s.v) < 1e-14 * condition
    still = dynamics.velocity_from_momentum(s.model, s.q, P)
    assert not still[6:].any() and error(dynamics.momentum(s.model, s.q, still), P) < 1e-14 * condition


def test_a_run_that_starts_from_a_momentum() -> None:
    stone = Builder("stone")
    stone.add_link("stone", inertia=inertia.from_mass(2.0, [0.1, 0.2, -0.1], np.diag([1.0, 2.0, 2.5])))
    model = stone.model(floating_base=True)
    q, P = model.random(np.random.default_rng(0))[0], np.array([1.0, -2.0, 0.5, 3.0, 1.0, -1.0])
    for method in ("dqvi", "rkmk5"):
        run = engine.Simulator(model, dt=1e-2, gravity=NONE, integrator=method).run(q, dynamics.velocity_from_momentum(model, q, P), 1.0)
        found = np.array([dynamics.momentum(model, q, v) for q, v in zip(run.q, run.v, strict=True)])
        assert error(found, np.broadcast_to(P, found.shape)) < 1e-13


# ---------------------------------------------------------------- bases that are held: models whose base hangs from another joint


def held(model: Model, q: Array, base: str) -> tuple[Model, Array]:
    """The same robot on a fixed base, on a ball joint, or on three slides, where it stands; and its configuration."""
    T = dynamics.forward_kinematics(model, q)[0]
    graph = nx.DiGraph(name="held")
    chain = {"fixed": ["fixed"], "rotation": ["spherical"], "translation": ["prismatic"] * 3}[base]
    names = ["world", *[f"slide {k}" for k in range(len(chain) - 1)], model.links[0].name]
    for name in names[:-1]:
        graph.add_node(name, link=Link(name))
    graph.add_nodes_from(model.graph.nodes(data=True))
    graph.add_edges_from(model.graph.edges(data=True))
    place = T if base != "rotation" else se3.pose(np.eye(3), T[:3, 3])
    for k, (kind, above, below) in enumerate(zip(chain, names, names[1:], strict=False)):
        joint = Joint(f"held {k}", kind, above, below, placement=place if k == 0 else np.eye(4), axis=np.eye(3)[k])
        graph.add_edge(above, below, joint=joint)
    first = {"fixed": np.zeros(0), "rotation": q[:4], "translation": np.zeros(3)}[base]
    return Model.from_graph(graph), np.concatenate([first, q[7:]])


@every_model
@pytest.mark.parametrize("base", ["fixed", "rotation", "translation"])
def test_held_bases_are_other_models(name: str, base: str) -> None:
    s = State(name, base)
    other, q = held(s.model, s.q, base)
    v = s.v[[*s.e, *s.k]]
    tau, V0dot = dynamics.floating_inverse_dynamics(s.model, s.q, s.v, s.udot, GRAVITY, base)
    full = np.concatenate([np.zeros(len(s.e)), tau])
    scale = sensitivity(dynamics.crba(other, q), full, s.b)
    assert error(dynamics.aba(other, q, v, full, GRAVITY), np.concatenate([V0dot[s.e], s.udot]), scale) < 1e-13
    for link in some_links(s.model, s.rng, 4):                                            # at zero momentum of what is free
        M, n = dynamics.crba(other, q), len(s.e)
        u = np.concatenate([-np.linalg.solve(M[:n, :n], M[:n, n:] @ s.u), s.u])
        V = dynamics.twists(other, q, u)[other.link_index(link)]
        assert error(dynamics.generalized_jacobian(s.model, s.q, link, base) @ s.u, V, 1e-3) < 1e-12


# ---------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize("name", ["a1", "panda", "talos"])
def test_pinocchio_inverts_the_inertia_of_robots(name: str) -> None:
    model = without_mimics(robot(name, True))
    against_pinocchio(model, from_urdf(file(name), True), np.random.default_rng(0), 1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_inverts_the_inertia_of_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_tree(rng, int(rng.integers(5, 25)), floating_base=True)
    against_pinocchio(model, built(model), rng, 1e-12)


def against_pinocchio(model: Model, theirs: object, rng: np.random.Generator, tolerance: float) -> None:
    """The joints' block of M⁻¹ is M*⁻¹, and the base's rows of M⁻¹ tau move the base as floating inverse dynamics says."""
    reference = Pinocchio(model, theirs, NONE)
    q, _ = model.random(rng)
    inverse = np.triu(pin.computeMinverse(reference.theirs, reference.data, reference.q(q)))
    inverse = (inverse + np.triu(inverse, 1).T)[np.ix_(reference.order, reference.order)]
    reduced = dynamics.free_floating_inertia(model, q)
    assert error(reduced @ inverse[6:, 6:], np.eye(len(reduced)), float(np.linalg.cond(reduced)) * 1e-3) < tolerance
    qddot = rng.standard_normal(len(reduced))
    tau, V0dot = dynamics.floating_inverse_dynamics(model, q, np.zeros(model.nv), qddot, NONE)
    moved = inverse[:, 6:] @ tau
    assert error(np.concatenate([V0dot, qddot]), moved, float(np.abs(inverse[:, 6:]).max() * np.abs(tau).max())) < tolerance


# ---------------------------------------------------------------- motions that leave the base's attitude alone


def coupling(model: Model, q: Array) -> Array:
    """B, with ω of the base −B q̇ at zero momentum."""
    M = dynamics.crba(model, q)
    return np.linalg.solve(M[:6, :6], M[:6, 6:])[:3]


@every_model
def test_reaction_null_space_is_the_null_space(name: str) -> None:
    """N = 1 − B⁺ B, a symmetric projector of rank nv − 9 (but not less than none)."""
    s = State(name)
    N, B = dynamics.reaction_null_space(s.model, s.q), coupling(s.model, s.q)
    n = s.model.nv - 6
    assert np.abs(N - (np.eye(n) - np.linalg.pinv(B) @ B)).max() < 1e-12
    assert np.abs(B @ N).max() < 1e-14 * np.abs(B).max()
    assert np.abs(N @ N - N).max() < 1e-14 and np.abs(N - N.T).max() < 1e-15
    assert round(float(np.trace(N)), 9) == max(n - 3, 0)


def test_reaction_null_space_where_rank_is_lost() -> None:
    """Arms in a plane turn their base about one axis; wheels about one line, too; sliders through the centre do not turn it."""
    model, q = planar(3), planar(3).neutral()
    q[7:] = 0.3, -0.8, 1.1
    assert round(float(np.trace(dynamics.reaction_null_space(model, q))), 12) == 2
    assert np.abs(coupling(model, q) @ dynamics.reaction_null_space(model, q)).max() < 1e-15
    satellite = Builder("sliders")
    satellite.add_link("base", inertia=inertia.box(3.0, [1, 2, 3]))
    for k in range(3):
        satellite.add_link(f"s{k}", inertia=inertia.sphere(1.0, 0.2))
        satellite.add_joint(f"j{k}", "prismatic", "base", f"s{k}", axis=np.eye(3)[k])
    sliders = satellite.model(floating_base=True)
    np.testing.assert_array_equal(dynamics.reaction_null_space(sliders, sliders.neutral()), np.eye(3))


def test_reaction_null_space_near_a_loss_of_rank() -> None:
    """Four wheels on axles that differ by 1e-6: B's rows are all but parallel, and still N is a projector to rounding."""
    satellite, rng = Builder("satellite"), np.random.default_rng(0)
    satellite.add_link("base", inertia=inertia.sphere(10.0, 1.0))
    for k in range(4):
        satellite.add_link(f"w{k}", inertia=inertia.sphere(1.0, 0.5))
        satellite.add_joint(f"j{k}", "continuous", "base", f"w{k}", axis=np.ones(3) + 1e-6 * rng.standard_normal(3))
    model = satellite.model(floating_base=True)
    N, B = dynamics.reaction_null_space(model, model.neutral()), coupling(model, model.neutral())
    assert np.linalg.cond(B) > 1e5
    assert np.abs(B @ N).max() < 1e-14 * np.abs(B).max()
    assert np.abs(N @ N - N).max() < 1e-14 and round(float(np.trace(N)), 9) == 1


# ---------------------------------------------------------------- a planar arm in print


def planar(joints: int = 2) -> Model:
    """Papadopoulos and Dubowsky's planar arm on a base: 40, 4 and 3 kg, 6.667, 0.333 and 0.25 kg·m², all half lengths 0.5 m."""
    arm, half = Builder("planar arm"), se3.pose(np.eye(3), np.array([0.5, 0, 0]))
    arm.add_link("base", inertia=inertia.from_mass(40.0, np.zeros(3), 6.667 * np.eye(3)))
    above, place = "base", half
    for k, (mass, moment) in enumerate([(4.0, 0.333), (3.0, 0.25), (3.0, 0.25)][:joints], 1):
        arm.add_link(f"l{k}", inertia=inertia.from_mass(mass, [0.5, 0, 0], moment * np.eye(3)))
        arm.add_joint(f"q{k}", "revolute", above, f"l{k}", placement=place)
        above, place = f"l{k}", se3.pose(np.eye(3), np.array([1.0, 0, 0]))
    arm.add_link("tip")
    arm.add_joint("end", "fixed", above, "tip", placement=place)
    return arm.model(floating_base=True)


class Barycentric:
    """Their closed form: with α, β, γ the barycentric vectors' lengths and D_i the row sums of the inertias d_ij about the centre of mass,
    ⁰J* = 1/D [[−(β s₁ + γ s₁₂) D₀, β s₁ D₂ − γ s₁₂ (D₀ + D₁)], [(β c₁ + γ c₁₂) D₀ − α (D₁ + D₂), …]]."""

    m0, m1, m2, I0, I1, I2, r0, l1, r1, l2, r2 = 40.0, 4.0, 3.0, 6.667, 0.333, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5
    M = m0 + m1 + m2
    alpha, beta, gamma = r0 * m0 / M, (r1 * (m0 + m1) + l1 * m0) / M, l2 * (m0 + m1) / M + r2

    def __init__(self, q1: float, q2: float) -> None:
        m0, m1, m2, r0, l1, r1, l2, M = self.m0, self.m1, self.m2, self.r0, self.l1, self.r1, self.l2, self.M
        self.s1, self.c1, self.s2, self.s12, self.c12 = np.sin(q1), np.cos(q1), np.sin(q2), np.sin(q1 + q2), np.cos(q1 + q2)
        d00 = self.I0 + m0 * (m1 + m2) / M * r0**2
        d01 = m0 * r0 / M * (l1 * (m1 + m2) + r1 * m2) * self.c1
        d02 = m0 * m2 / M * r0 * l2 * self.c12
        d11 = self.I1 + m0 * m1 / M * l1**2 + m1 * m2 / M * r1**2 + m0 * m2 / M * (l1 + r1) ** 2
        d12 = (m1 * m2 / M * r1 * l2 + m0 * m2 / M * l2 * (l1 + r1)) * np.cos(q2)
        d22 = self.I2 + m2 * (m0 + m1) / M * l2**2
        self.D0, self.D1, self.D2 = d00 + d01 + d02, d01 + d11 + d12, d02 + d12 + d22
        self.D = self.D0 + self.D1 + self.D2

    def jacobian(self) -> Array:
        """ω, and the velocity of the tip in the base's axes."""
        a, b, c, D0, D1, D2 = self.alpha, self.beta, self.gamma, self.D0, self.D1, self.D2
        x = [-(b * self.s1 + c * self.s12) * D0, b * self.s1 * D2 - c * self.s12 * (D0 + D1)]
        y = [(b * self.c1 + c * self.c12) * D0 - a * (D1 + D2), -(a + b * self.c1) * D2 + c * self.c12 * (D0 + D1)]
        return np.array([[D0, D0 + D1], x, y]) / self.D

    def determinant(self) -> float:
        """Their condition for a dynamic singularity: αβ D₂ sin q₁ + βγ D₀ sin q₂ − αγ D₁ sin(q₁ + q₂) = 0."""
        a, b, c = self.alpha, self.beta, self.gamma
        return (a * b * self.D2 * self.s1 + b * c * self.D0 * self.s2 - a * c * self.D1 * self.s12) / self.D


def of_planar(q1: float, q2: float) -> tuple[Model, Array, Array]:
    """The model, its configuration somewhere, and J* as ω and the tip's velocity in the base's axes."""
    model = planar()
    q = np.concatenate([model.random(np.random.default_rng(0))[0][:7], [q1, q2]])
    T = dynamics.forward_kinematics(model, q)
    R = T[0][:3, :3].T @ T[-1][:3, :3]
    J = dynamics.generalized_jacobian(model, q, "tip")
    assert np.abs(J[:2]).max() < 1e-15 and np.abs(J[5]).max() < 1e-15
    return model, q, np.concatenate([J[2:3], (R @ J[3:])[:2]])


@pytest.mark.parametrize(("q1", "q2"), [(0.3, 0.9), (-2.0, 1.4), (3.0, -0.1), (0.0, 0.0), (-1.1344, -0.1991)])
def test_planar_arm_in_closed_form(q1: float, q2: float) -> None:
    """E. Papadopoulos & S. Dubowsky, *Dynamic singularities in free-floating space manipulators*, ASME J. DSMC 115, 1993.

    The closed form is derived again for their arm; the singular point they print is that of the next test.
    """
    _, _, J = of_planar(q1, q2)
    closed = Barycentric(q1, q2)
    assert error(J, closed.jacobian()) < 1e-14
    assert abs(np.linalg.det(J[1:]) - closed.determinant()) < 1e-14


def test_its_dynamic_singularity() -> None:
    """Theirs is at q₁ = −65°, q₂ = −11.41°, where an arm on a fixed base has none: the tip cannot move in one direction."""
    q1 = np.radians(-65)
    q2 = brentq(lambda x: np.linalg.det(of_planar(q1, x)[2][1:]), np.radians(-20), np.radians(-5), xtol=1e-15)
    assert round(np.degrees(q2), 2) == -11.41
    model, q, J = of_planar(q1, q2)
    linear = slice(3, 6)
    assert dynamics.dynamic_singularity(model, q, "tip", linear) < 1e-14
    assert dynamics.dynamic_manipulability(model, q, "tip", linear) < 1e-7
    on_fixed_base = dynamics.generalized_jacobian(model, q, "tip", "fixed")[3:5]
    assert error(np.linalg.det(on_fixed_base), np.sin(q2)) < 1e-14                        # l₁ l₂ sin q₂, far from zero
    for rows in ("linear", ("vx", "vy"), ["vy", "vx", "vz"]):
        assert dynamics.dynamic_singularity(model, q, "tip", rows) < 1e-14
    assert dynamics.dynamic_manipulability(model, q, "tip", "linear") < 1e-7
    assert dynamics.dynamic_singularity(model, q, "tip") > 0.1                            # it can still turn
    assert error(dynamics.dynamic_singularity(model, q, "tip"), np.linalg.svd(J, compute_uv=False)[1]) < 1e-13


def test_the_singular_point_as_it_is_printed() -> None:
    """At q₁ = −65°, q₂ = −11.41°, off by 0.005° at most: |det| ≤ |d det/dq₂| · 0.005°, over the larger singular value."""
    model, q, J = of_planar(np.radians(-65), np.radians(-11.41))
    before, after = (Barycentric(np.radians(-65), np.radians(x)).determinant() for x in (-11.42, -11.40))
    largest = np.linalg.svd(J[1:], compute_uv=False)[0]
    assert dynamics.dynamic_singularity(model, q, "tip", "linear") <= abs(after - before) / 4 / largest < 1e-4
    assert round(dynamics.dynamic_singularity(model, q, "tip"), 2) == 0.28               # of all rows, a turn by 1 rad as 1 m


def test_mixed_rows_have_a_length() -> None:
    """What turns counts as a point so far from the axis: J* with its angular rows times the length, where there are others too."""
    s = State("one of each")
    link, J = s.model.links[-1].name, dynamics.generalized_jacobian(s.model, s.q, s.model.links[-1].name)
    for length in (0.5, 2.0):
        values = np.linalg.svd(np.diag([length] * 3 + [1.0] * 3) @ J, compute_uv=False)
        assert error(dynamics.dynamic_singularity(s.model, s.q, link, length=length), values[-1]) < 1e-12
        mixed = np.linalg.svd(np.array([length * J[1], J[3]]), compute_uv=False)
        assert error(dynamics.dynamic_singularity(s.model, s.q, link, ("wy", "vx"), length), mixed[-1]) < 1e-12
        for rows, same in (("angular", slice(3)), ("linear", slice(3, 6))):
            named = dynamics.dynamic_singularity(s.model, s.q, link, rows, length)
            assert named == dynamics.dynamic_singularity(s.model, s.q, link, same)
        whole, one = (dynamics.dynamic_manipulability(s.model, s.q, link, "all", x) for x in (length, 1.0))
        assert error(whole, length**3 * one) < 1e-9


@pytest.mark.parametrize("part", ["lin", "vw", ("vx", "up"), ("vx", "vx"), slice(0), 3, None, [0, 1]], ids=repr)
def test_rows_that_are_none(part: object) -> None:
    model = planar()
    message = r"part is .*; expected one of all, angular, linear, some of wx, wy, wz, vx, vy, vz, or a slice of the six"
    for call in (dynamics.dynamic_singularity, dynamics.dynamic_manipulability):
        with pytest.raises(StateError, match=message):
            call(model, model.neutral(), "tip", part)
        with pytest.raises(StateError, match="length is 0; expected a length in m greater than zero"):
            call(model, model.neutral(), "tip", "all", 0)


@pytest.mark.parametrize("name", [n for n in MODELS if n != "mimics, massless links"])
def test_dynamic_manipulability(name: str) -> None:
    """Product of the singular values of J* M*^−½."""
    s = State(name)
    root = np.linalg.inv(np.linalg.cholesky(dynamics.free_floating_inertia(s.model, s.q))).T
    for part in (slice(6), slice(3), slice(3, 6)):
        link = s.model.links[-1].name
        values = np.linalg.svd(dynamics.generalized_jacobian(s.model, s.q, link)[part] @ root, compute_uv=False)
        assert abs(dynamics.dynamic_manipulability(s.model, s.q, link, part) - np.prod(values)) < 1e-7 * values[0] ** len(values)
        if values[-1] > 1e-3 * values[0]:
            assert error(dynamics.dynamic_manipulability(s.model, s.q, link, part), np.prod(values)) < 1e-9


# ---------------------------------------------------------------- measured by simulation


@pytest.fixture(scope="module")
def arm() -> tuple[Model, Array]:
    """A base with four hinges."""
    model = random_tree(np.random.default_rng(2), 4, ["revolute"], floating_base=True)
    return model, model.random(np.random.default_rng(3))[0]


def test_simulated_joints_accelerate_as_wanted(arm: tuple[Model, Array]) -> None:
    """Joint forces of floating inverse dynamics while the base tumbles: q̈ = −a w² sin w t, and links move as J* and the momentum say."""
    model, q0 = arm
    a, w = np.linspace(0.2, 0.6, 4), np.linspace(3.0, 1.0, 4)
    v0 = np.concatenate([np.random.default_rng(4).standard_normal(6), a * w])

    def motors(t: object, q: Array, v: Array) -> Array:
        tau, _ = dynamics.floating_inverse_dynamics(model, q, v, -a * w**2 * ops.sin(w * t), NONE)
        return np.concatenate([np.zeros(6), tau])

    run = engine.Simulator(model, dt=1e-3, gravity=NONE, joint_dynamics=False, controller=motors).run(q0, v0, 1.0, record_every=100)
    wanted = q0[7:] + a * np.sin(w * run.t[:, None])
    assert np.abs(run.q[:, 7:] - wanted).max() < 1e-11
    assert np.abs(run.v[:, 6:] - a * w * np.cos(w * run.t[:, None])).max() < 1e-11
    P, link = dynamics.momentum(model, q0, v0), model.links[-1].name
    for q, v in zip(run.q, run.v, strict=True):
        P0 = se3.Ad(dynamics.forward_kinematics(model, q)[0]).T @ P
        drift = np.linalg.solve(dynamics.crba(model, q)[:6, :6], P0)
        V = dynamics.generalized_jacobian(model, q, link) @ v[6:] + dynamics.jacobian(model, q, link)[:, :6] @ drift
        assert error(dynamics.twists(model, q, v)[-1], V) < 1e-10


def test_simulated_motion_in_the_null_space_leaves_the_attitude(arm: tuple[Model, Array]) -> None:
    """q̇ = N(q) z for ten seconds: the arm moves, the base's origin too, its attitude does not."""
    model, q0 = arm
    z = np.linspace(-1.0, 1.0, 4)

    def within(q: Array) -> Array:
        return dynamics.reaction_null_space(model, q) @ z

    def motors(t: object, q: Array, v: Array) -> Array:
        qddot = ops.jacobian(lambda joints: within(np.concatenate([q[:7], joints])), q[7:]) @ v[6:]
        return np.concatenate([np.zeros(6), dynamics.floating_inverse_dynamics(model, q, v, qddot, NONE)[0]])

    M = dynamics.crba(model, q0)
    v0 = np.concatenate([-np.linalg.solve(M[:6, :6], M[:6, 6:] @ within(q0)), within(q0)])
    run = engine.Simulator(model, dt=2e-3, gravity=NONE, joint_dynamics=False, controller=motors).run(q0, v0, 10.0, record_every=50)
    assert np.abs(run.q[-1, 7:] - q0[7:]).max() > 1.0 and np.abs(run.q[-1, 4:7] - q0[4:7]).max() > 0.1
    assert np.abs(run.v[:, :3]).max() < 1e-9
    assert np.abs(run.v[:, 6:] - [within(q) for q in run.q]).max() < 1e-9


# ---------------------------------------------------------------- three lives, and what goes wrong


@every_base
def test_plain_is_interpreted_is_compiled(base: str) -> None:
    rng = np.random.default_rng(5)
    model = random_tree(rng, 2, ["revolute", "universal"], floating_base=True)
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    link, wanted = model.links[-1].name, slice(0 if base == "flying" else 6, model.nv)
    check_lives(lambda q, v, a: (dynamics.generalized_jacobian(model, q, link, base), dynamics.free_floating_inertia(model, q, base),
                                 dynamics.free_floating_bias(model, q, v, GRAVITY, base),
                                 *dynamics.floating_inverse_dynamics(model, q, v, a[wanted], GRAVITY, base)),
                q, v, rng.standard_normal(v.shape), tolerance=1e-12)  # fmt: skip


def test_measures_compiled() -> None:
    rng = np.random.default_rng(6)
    model = random_tree(rng, 4, ["revolute"], floating_base=True)
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    link = model.links[-1].name
    check_lives(lambda q, v, a: (dynamics.reaction_null_space(model, q), dynamics.base_reaction(model, q, v, a, GRAVITY),
                                 dynamics.dynamic_manipulability(model, q, link, slice(3, 6))),
                q, v, rng.standard_normal(v.shape), tolerance=1e-12)  # fmt: skip


def test_wrong_models() -> None:
    fixed = robot("ur5")
    for call in (lambda m, q, v: dynamics.generalized_jacobian(m, q, m.links[0].name), lambda m, q, v: dynamics.free_floating_inertia(m, q),
                 dynamics.free_floating_bias, lambda m, q, v: dynamics.floating_inverse_dynamics(m, q, v, v[6:]),
                 lambda m, q, v: dynamics.base_reaction(m, q, v, v), lambda m, q, v: dynamics.reaction_null_space(m, q),
                 lambda m, q, v: dynamics.dynamic_manipulability(m, q, m.links[0].name),
                 lambda m, q, v: dynamics.dynamic_singularity(m, q, m.links[0].name)):  # fmt: skip
        with pytest.raises(ModelError, match=r"'ur5' moves in the world by 'shoulder_pan_joint' \(revolute\); expected one floating joint"):
            call(fixed, fixed.neutral(), np.zeros(fixed.nv))
    both = Builder("two bodies")
    for name in ("world", "a", "b"):
        both.add_link(name, inertia=inertia.sphere(1.0, 1.0))
    both.add_joint("ja", "floating", "world", "a")
    both.add_joint("jb", "floating", "world", "b")
    two = both.model()
    with pytest.raises(ModelError, match=r"moves in the world by 'ja' \(floating\), 'jb' \(floating\); expected one"):
        dynamics.reaction_null_space(two, two.neutral())
    still = random_tree(np.random.default_rng(0), 1, ["fixed"])
    with pytest.raises(ModelError, match="moves in the world by no joint"):
        dynamics.reaction_null_space(still, np.zeros(0))


def test_a_floating_joint_of_ones_own_will_do() -> None:
    own = Builder("own")
    for name in ("world", "base", "slider"):
        own.add_link(name, inertia=inertia.sphere(3.0 if name == "base" else 1.0, 1.0))
    own.add_joint("free", "floating", "world", "base")
    own.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    np.testing.assert_array_equal(dynamics.free_floating_inertia(own.model(), own.model().neutral()), [[0.75]])


def test_wrong_arguments() -> None:
    model = planar()
    q, v = model.neutral(), np.zeros(8)
    with pytest.raises(StateError, match=r"base is 'floatin' \(did you mean 'floating'\?\); expected one of fixed, floating, rot"):
        dynamics.free_floating_inertia(model, q, "floatin")
    with pytest.raises(StateError, match=r"base is \['fixed'\]"):
        dynamics.free_floating_inertia(model, q, ["fixed"])
    with pytest.raises(StateError, match=r"qddot has shape \(8,\); expected \(2,\) for 'planar arm' with its base floating"):
        dynamics.floating_inverse_dynamics(model, q, v, np.zeros(8))
    with pytest.raises(StateError, match=r"qddot has shape \(2,\); expected \(8,\) for 'planar arm' with its base flying"):
        dynamics.floating_inverse_dynamics(model, q, v, np.zeros(2), base="flying")
    with pytest.raises(StateError, match=r"vdot\[7\] \(joint 'q2'\) is nan"):
        dynamics.floating_inverse_dynamics(model, q, v, [0.0, np.nan])
    with pytest.raises(StateError, match=r"gravity is 9.81; expected three"):
        dynamics.base_reaction(model, q, v, v, 9.81)
    with pytest.raises(StateError, match=r"P is \[1, 2, 3\]; expected six finite numbers, \[angular about the world's origin; linear\]"):
        dynamics.velocity_from_momentum(model, q, [1, 2, 3])
    with pytest.raises(StateError, match=r"qdot is array\(.*; expected 2 finite numbers, the velocities of the joints"):
        dynamics.velocity_from_momentum(model, q, np.zeros(6), np.zeros(8))
    with pytest.raises(StateError, match=r"wrenches has shape \(2, 6\); expected \(4, 6\), one per link of 'planar arm'"):
        dynamics.free_floating_bias(model, q, v, wrenches=np.zeros((2, 6)))
    with pytest.raises(engine.TraceError, match=r"np\.linalg\.svd of traced values"):
        engine.gufunc(lambda q: dynamics.dynamic_singularity(model, q, "tip"), "(9)->()")
    with pytest.raises(ModelError, match="no link 'top'"):
        dynamics.generalized_jacobian(model, q, "top")


def test_nothing_without_mass() -> None:
    ghost = Builder("ghost")
    ghost.add_link("base")
    ghost.add_link("arm")
    ghost.add_joint("j", "revolute", "base", "arm")
    model = ghost.model(floating_base=True)
    with pytest.raises(StateError, match="joint 'floating_base' moves no mass"):
        dynamics.generalized_jacobian(model, model.neutral(), "arm")
    light = Builder("light")
    light.add_link("base", inertia=inertia.sphere(1.0, 1.0))
    light.add_link("arm")
    light.add_joint("j", "revolute", "base", "arm")
    with pytest.raises(StateError, match="joint 'j' moves no mass"):
        dynamics.dynamic_manipulability(light.model(True), light.model(True).neutral(), "arm")


def test_a_body_alone() -> None:
    """Without joints there is nothing left, of the right shapes."""
    stone = Builder("stone")
    stone.add_link("stone", inertia=inertia.box(1.0, [1, 2, 3]))
    model = stone.model(floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    assert dynamics.generalized_jacobian(model, q, "stone").shape == (6, 0)
    assert dynamics.free_floating_inertia(model, q).shape == dynamics.reaction_null_space(model, q).shape == (0, 0)
    tau, V0dot = dynamics.floating_inverse_dynamics(model, q, v, [], NONE)
    assert tau.shape == (0,)
    assert error(V0dot, dynamics.aba(model, q, v, np.zeros(6), NONE)) < 1e-14
