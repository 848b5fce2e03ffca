"""Second routes: every function of dynamics computed another way, on random trees of every kind of joint."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

from engine import Model, dynamics
from engine.model import KINDS
from engine.spatial import inertia, quaternion, se3
from tests.dynamics.support import error, floats, freed, motion, rate, robot, sensitivity, some_links
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
TREES = {
    "one of each": {"n": len(KINDS)},
    "floating base": {"n": 15, "floating_base": True},
    "massless links": {"n": 24, "massless": 0.6},
    "mimics": {"n": 20, "mimics": 0.5},
    "mimics, massless links, floating base": {"n": 24, "mimics": 0.4, "massless": 0.5, "floating_base": True},
    "thirty joints": {"n": 30},
    "one joint": {"n": 1, "kinds": ["screw"]},
    "thirty revolute joints": {"n": 30, "kinds": ["revolute"], "floating_base": True},
    "eight free bodies": {"n": 8, "kinds": ["floating"]},
    "no joint that moves": {"n": 3, "kinds": ["fixed"]},
}


class State:
    """A tree in a random state, with random accelerations and wrenches."""

    def __init__(self, model: Model, rng: np.random.Generator) -> None:
        self.model = model
        self.q, self.v = model.random(rng)
        self.vdot = rng.standard_normal(model.nv)
        self.wrenches = rng.standard_normal((len(model.links), 6))
        self.poses, self.twists = dynamics.forward_kinematics(model, self.q), dynamics.twists(model, self.q, self.v)
        self.J = [dynamics.jacobian(model, self.q, link.name) for link in model.links]
        #: inertia of every link that moves, in its own frame (a fixed base is part of the world)
        self.G = [link.inertia * (np.any(J) or floats(model)) for link, J in zip(model.links, self.J, strict=True)]

    def at(self, t: float) -> tuple[Array, Array]:
        return motion(self.model, self.q, self.v, self.vdot)(t)


@pytest.fixture(scope="module", params=TREES)
def state(request: pytest.FixtureRequest) -> State:
    rng = np.random.default_rng(list(TREES).index(request.param))
    return State(random_tree(rng, **TREES[request.param]), rng)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---------------------------------------------------------------- the equations of motion


def test_forward_dynamics_undo_inverse_dynamics(state: State) -> None:
    model, q, v, vdot, wrenches = state.model, state.q, state.v, state.vdot, state.wrenches
    tau = dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches)
    bias = dynamics.bias(model, q, v, GRAVITY, wrenches)
    back = dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    M = dynamics.crba(model, q)
    assert error(back, vdot) < 1e-10
    assert error(back, vdot, sensitivity(M, tau, bias)) < 1e-15
    size = max(np.abs(x).max(initial=1e-300) for x in (tau, bias))
    assert error(dynamics.rnea(model, q, v, back, GRAVITY, wrenches), tau, size) < 1e-14
    assert error(M @ back + bias, tau, size) < 1e-14


def test_inertia_matrix_by_columns(state: State, rng: np.random.Generator) -> None:
    rest, some = np.zeros(state.model.nv), rng.permutation(state.model.nv)[:20]
    columns = [dynamics.rnea(state.model, state.q, rest, e, gravity=(0, 0, 0)) for e in np.eye(state.model.nv)[some]]
    M = dynamics.crba(state.model, state.q)
    assert error(M[:, some].T, np.reshape(columns, (len(some), len(M))), float(np.abs(M).max(initial=0))) < 1e-14


def test_inertia_matrix_by_links(state: State) -> None:
    """M = Σ Jᵀ G J."""
    M = sum(J.T @ G @ J for J, G in zip(state.J, state.G, strict=True))
    assert error(dynamics.crba(state.model, state.q), M) < 1e-14


def test_bias_by_links(state: State) -> None:
    """C v = Σ Jᵀ (G J̇ v − ad(V)ᵀ G V)."""
    model, q, v = state.model, state.q, state.v
    total = np.zeros(model.nv)
    for link, J, G, V in zip(model.links, state.J, state.G, state.twists, strict=True):
        total += J.T @ (G @ (dynamics.jacobian_dot(model, q, v, link.name) @ v) - se3.ad(V).T @ (G @ V))
    assert error(dynamics.bias(model, q, v, gravity=(0, 0, 0)), total) < 1e-14
    assert error(dynamics.bias(model, q, v, GRAVITY), total + dynamics.gravity_forces(model, q, GRAVITY)) < 1e-14


def test_gravity_as_wrenches(state: State) -> None:
    """Weight is a wrench on every link, G [0; g] in its frame."""
    model, q, rest = state.model, state.q, np.zeros(state.model.nv)
    weight = np.array([G @ np.append(np.zeros(3), T[:3, :3].T @ GRAVITY) for G, T in zip(state.G, state.poses, strict=True)])
    held = dynamics.rnea(model, q, rest, rest, gravity=(0, 0, 0), wrenches=weight)
    assert error(dynamics.gravity_forces(model, q, GRAVITY), held) < 1e-14


def test_wrenches_as_joint_forces(state: State) -> None:
    """rnea with wrenches = rnea − Σ Jᵀ F, aba with wrenches = aba at tau + Σ Jᵀ F."""
    model, q, v, vdot, wrenches = state.model, state.q, state.v, state.vdot, state.wrenches
    pushed = np.einsum("lin,li->n", np.array(state.J), wrenches)
    free = dynamics.rnea(model, q, v, vdot, GRAVITY)
    assert error(dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches), free - pushed) < 1e-14
    assert error(dynamics.bias(model, q, v, GRAVITY, wrenches), dynamics.bias(model, q, v, GRAVITY) - pushed) < 1e-14
    moved, same = dynamics.aba(model, q, v, free, GRAVITY, wrenches), dynamics.aba(model, q, v, free + pushed, GRAVITY)
    assert error(moved, same, sensitivity(dynamics.crba(model, q), free, pushed)) < 1e-14


# ---------------------------------------------------------------- how links move


def test_jacobian_is_the_derivative_of_forward_kinematics(state: State, rng: np.random.Generator) -> None:
    """Every column, V = vee(T⁻¹ Ṫ) in the link's frame and vee(Ṫ T⁻¹) in the world's."""
    model, q = state.model, state.q
    links = [model.link_index(name) for name in some_links(model, rng, 6)]
    for k in rng.permutation(model.nv)[:8]:
        along = np.eye(model.nv)[k]
        Tdot = rate(lambda t: dynamics.forward_kinematics(model, model.integrate(q, along, t)))
        for i in links:
            T, reach = state.poses[i], 1 + float(np.abs(state.poses[i][:3, 3]).max())
            assert error(state.J[i][:, k], se3.vee(se3.inv(T) @ Tdot[i]), reach) < 1e-12
            assert error(dynamics.jacobian(model, q, model.links[i].name, "world")[:, k], se3.vee(Tdot[i] @ se3.inv(T)), reach) < 1e-12


def test_frames_of_jacobians(state: State, rng: np.random.Generator) -> None:
    """Ad of the link as seen from each frame; a point of a link is a link welded there."""
    p = rng.standard_normal(3)
    for link in some_links(state.model, rng, 6):
        i = state.model.link_index(link)
        T, J = state.poses[i], state.J[i]
        R = se3.pose(T[:3, :3], np.zeros(3))
        for frame, point, T_FL in (("world", np.zeros(3), T), ("world_aligned", np.zeros(3), R), ("body", p, se3.pose(np.eye(3), -p)),
                                   ("world_aligned", p, se3.pose(T[:3, :3], -T[:3, :3] @ p))):  # fmt: skip
            assert error(dynamics.jacobian(state.model, state.q, link, frame, point), se3.Ad(T_FL) @ J) < 1e-14


def test_points_of_links_move_as_the_aligned_jacobian_says(state: State, rng: np.random.Generator) -> None:
    """d/dt of a point's position, and of that again: J v and J v̇ + J̇ v."""
    model, p = state.model, rng.standard_normal(3)
    for link in some_links(model, rng, 3):
        i = model.link_index(link)

        def position(t: float, i: int = i) -> Array:
            T = dynamics.forward_kinematics(model, state.at(t)[0])[i]
            return T[:3, :3] @ p + T[:3, 3]

        def velocity(t: float, link: str = link) -> Array:
            q, v = state.at(t)
            return (dynamics.jacobian(model, q, link, "world_aligned", p) @ v)[3:]

        J, Jdot = (dynamics.jacobian(model, state.q, link, "world_aligned", p),
                   dynamics.jacobian_dot(model, state.q, state.v, link, "world_aligned", p))  # fmt: skip
        reach = 1 + float(np.abs(position(0.0)).max())
        assert error((J @ state.v)[3:], rate(position), reach) < 1e-12
        assert error((J @ state.vdot + Jdot @ state.v)[3:], rate(velocity), reach) < 1e-12


def test_twists(state: State) -> None:
    """V = J v."""
    expected = np.array([J @ state.v for J in state.J])
    assert error(state.twists, expected) < 1e-14


def test_jacobian_rate_is_the_derivative_of_the_jacobian(state: State, rng: np.random.Generator) -> None:
    model, q, v, p = state.model, state.q, state.v, rng.standard_normal(3)
    for link in some_links(model, rng, 3):
        for seen in (("body",), ("world",), ("world_aligned",), ("body", p), ("world_aligned", p)):
            J, Jdot = dynamics.jacobian(model, q, link, *seen), dynamics.jacobian_dot(model, q, v, link, *seen)
            numerical = rate(lambda t: dynamics.jacobian(model, model.integrate(q, v, t), link, *seen))
            assert error(Jdot, numerical, float(np.abs(J).max(initial=0) * np.abs(v).max(initial=0))) < 1e-12


def test_acceleration_of_links(state: State) -> None:
    """V̇ = J v̇ + J̇ v, along a motion."""
    model, q, v = state.model, state.q, state.v
    Vdot = rate(lambda t: dynamics.twists(model, *state.at(t)))
    expected = [J @ state.vdot + dynamics.jacobian_dot(model, q, v, link.name) @ v for link, J in zip(model.links, state.J, strict=True)]
    assert error(Vdot, np.array(expected)) < 1e-12


# ---------------------------------------------------------------- energy, momentum, centre of mass


def test_kinetic_energy(state: State) -> None:
    """K = ½ vᵀ M v = ½ Σ Vᵀ G V."""
    K, _ = dynamics.energy(state.model, state.q, state.v)
    assert error(K, 0.5 * state.v @ dynamics.crba(state.model, state.q) @ state.v) < 1e-14
    assert error(K, 0.5 * sum(V @ G @ V for V, G in zip(state.twists, state.G, strict=True))) < 1e-14


def test_momentum(state: State) -> None:
    """P = Σ Ad(T)⁻ᵀ G V over the links."""
    expected = sum(np.linalg.inv(se3.Ad(T)).T @ G @ V for T, G, V in zip(state.poses, state.G, state.twists, strict=True))
    assert error(dynamics.momentum(state.model, state.q, state.v), expected) < 1e-14


def test_center_of_mass(state: State) -> None:
    """c = Σ m c / Σ m over the links; ċ = linear momentum / mass; U = −m g·c."""
    model, q, v = state.model, state.q, state.v
    mass = sum(G[5, 5] for G in state.G)
    if not mass:
        return
    centers = [T[:3, :3] @ inertia.center(G) + T[:3, 3] for T, G in zip(state.poses, state.G, strict=True)]
    expected = sum(G[5, 5] * c for G, c in zip(state.G, centers, strict=True)) / mass
    c = dynamics.center_of_mass(model, q)
    assert error(c, expected, 1.0) < 1e-14
    cdot = rate(lambda t: dynamics.center_of_mass(model, model.integrate(q, v, t)))
    assert error(cdot, dynamics.momentum(model, q, v)[3:] / mass) < 1e-12
    assert error(dynamics.energy(model, q, v, GRAVITY)[1], -mass * c @ GRAVITY, mass) < 1e-14


def test_quaternions_need_no_unit_length(state: State) -> None:
    """q with quaternions of a length that rounding by hand leaves is the same configuration."""
    model = state.model
    longer = state.q.copy()
    for body in model.bodies:
        if body.kind.manifold.attitude:
            longer[body.q][:4] *= -1.015
    tau = dynamics.rnea(model, state.q, state.v, state.vdot, GRAVITY)
    assert error(dynamics.rnea(model, longer, state.v, state.vdot, GRAVITY), tau) < 1e-14
    assert error(dynamics.crba(model, longer), dynamics.crba(model, state.q)) < 1e-14
    assert error(dynamics.forward_kinematics(model, longer), state.poses) < 1e-14


# ---------------------------------------------------------------- mimic joints


def constrained(model: Model, rng: np.random.Generator) -> None:
    """A mimic model is the free one with its velocities held to E v, and the forces of the constraint doing no work."""
    s = State(model, rng)
    q, v, vdot = s.q, s.v, s.vdot
    full, q_full, E = freed(model, q)
    assert full.nv > model.nv
    assert error(dynamics.forward_kinematics(full, q_full), s.poses) < 1e-14
    assert error(dynamics.twists(full, q_full, E @ v), s.twists) < 1e-14
    for wrenches in (None, s.wrenches):
        tau = E.T @ dynamics.rnea(full, q_full, E @ v, E @ vdot, GRAVITY, wrenches)
        assert error(dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches), tau) < 1e-14
        bias = E.T @ dynamics.bias(full, q_full, E @ v, GRAVITY, wrenches)
        M = E.T @ dynamics.crba(full, q_full) @ E
        expected = np.linalg.solve(M, tau - bias)
        assert error(dynamics.aba(model, q, v, tau, GRAVITY, wrenches), expected, sensitivity(M, tau, bias)) < 1e-14
    assert error(dynamics.crba(model, q), E.T @ dynamics.crba(full, q_full) @ E) < 1e-14
    assert error(dynamics.gravity_forces(model, q, GRAVITY), E.T @ dynamics.gravity_forces(full, q_full, GRAVITY)) < 1e-14
    assert error(dynamics.energy(model, q, v, GRAVITY), dynamics.energy(full, q_full, E @ v, GRAVITY)) < 1e-14
    assert error(dynamics.momentum(model, q, v), dynamics.momentum(full, q_full, E @ v)) < 1e-14
    for link in some_links(model, rng, 6):
        assert error(dynamics.jacobian(model, q, link), dynamics.jacobian(full, q_full, link) @ E) < 1e-14
        assert error(dynamics.jacobian_dot(model, q, v, link), dynamics.jacobian_dot(full, q_full, E @ v, link) @ E) < 1e-14


@pytest.mark.parametrize("seed", range(4))
def test_mimic_joints_on_trees(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    constrained(random_tree(rng, 12 + 10 * seed, mimics=0.6, massless=0.3, floating_base=bool(seed % 2)), rng)


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2", "tiago pro"])
def test_mimic_joints_on_robots(name: str) -> None:
    constrained(robot(name), np.random.default_rng(0))


# ---------------------------------------------------------------- links whose inertia is no rigid body's


@pytest.mark.parametrize("floating_base", [False, True])
def test_added_mass(floating_base: bool) -> None:
    """Any symmetric positive definite 6×6 inertia, whose mass differs with the direction."""
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 25)
    graph = nx.DiGraph(name="added mass")
    for link in (tree.graph.nodes[name]["link"] for name in tree.graph):
        B = rng.standard_normal((6, 6))
        graph.add_node(link.name, link=dataclasses.replace(link, inertia=B @ B.T + np.eye(6)))
    graph.add_edges_from(tree.graph.edges(data=True))
    s = State(Model.from_graph(graph, floating_base=floating_base), rng)
    test_inertia_matrix_by_links(s)
    test_inertia_matrix_by_columns(s, rng)
    test_kinetic_energy(s)
    test_momentum(s)
    model, still = s.model, (0, 0, 0)
    tau, M = dynamics.rnea(model, s.q, s.v, s.vdot, still, s.wrenches), dynamics.crba(model, s.q)
    assert error(dynamics.aba(model, s.q, s.v, tau, still, s.wrenches), s.vdot, sensitivity(M, tau)) < 1e-14


# ---------------------------------------------------------------- real robots


@pytest.mark.parametrize(("name", "floating_base"), [("panda", False), ("a1", True), ("talos", True)])
def test_robots(name: str, floating_base: bool, rng: np.random.Generator) -> None:
    s = State(robot(name, floating_base), np.random.default_rng(1))
    for test in (test_forward_dynamics_undo_inverse_dynamics, test_inertia_matrix_by_links, test_bias_by_links, test_gravity_as_wrenches,
                 test_wrenches_as_joint_forces, test_acceleration_of_links, test_kinetic_energy, test_momentum,
                 test_center_of_mass):  # fmt: skip
        test(s)
    for test in (test_inertia_matrix_by_columns, test_jacobian_is_the_derivative_of_forward_kinematics,
                 test_jacobian_rate_is_the_derivative_of_the_jacobian):  # fmt: skip
        test(s, rng)


def test_a_moved_world_changes_nothing() -> None:
    """Turn and shift the base, and gravity with it: the same forces."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 20, floating_base=True)
    s = State(model, rng)
    r, p = quaternion.random(rng), rng.standard_normal(3)
    moved = s.q.copy()
    moved[:4], moved[4:7] = quaternion.product(r, s.q[:4]), quaternion.rotate(r, s.q[4:7]) + p
    turned = quaternion.rotate(r, np.array(GRAVITY))
    assert error(dynamics.rnea(model, moved, s.v, s.vdot, turned), dynamics.rnea(model, s.q, s.v, s.vdot, GRAVITY)) < 1e-14
    assert error(dynamics.crba(model, moved), dynamics.crba(model, s.q)) < 1e-14
