"""The Coriolis matrix and Christoffel's symbols: what defines them, other routes, Pinocchio, and their three lives."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import Model, StateError, dynamics
from engine.dynamics.coriolis import ad_star
from engine.model import KINDS
from engine.spatial import se3
from tests.dynamics.oracle_pinocchio import Pinocchio, built, from_urdf
from tests.dynamics.support import error, file, floats, rate, robot, without_mimics
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
NONE = (0.0, 0.0, 0.0)
ONE_OF_EACH = {"n": len(KINDS)}
TREES = {
    "one of each": ONE_OF_EACH,
    "floating base": {"n": 14, "floating_base": True},
    "mimics": {"n": 16, "mimics": 0.6},
    "mimics, massless links, floating base": {"n": 18, "mimics": 0.4, "massless": 0.5, "floating_base": True},
    "coordinates only": {"n": 8, "kinds": ["revolute", "continuous", "prismatic", "screw", "universal"]},
    "free bodies": {"n": 4, "kinds": ["floating"]},
    "balls and planes": {"n": 4, "kinds": ["spherical", "planar"]},
    "one joint": {"n": 1, "kinds": ["universal"]},
    "no joint that moves": {"n": 2, "kinds": ["fixed"]},
    "added mass": {"n": len(KINDS)},
    "added mass, floating base": {"n": 4, "floating_base": True},
}


def tree(name: str, **options: Any) -> tuple[Model, Array, Array, np.random.Generator]:
    """A tree by its name, or one with other options; a state q, v of it; and what it was drawn from."""
    rng = np.random.default_rng(list(TREES).index(name))
    model = random_tree(rng, **TREES[name] | options)
    if name.startswith("added mass"):
        model = add_masses(model, rng)
    return model, *model.random(rng), rng


def add_masses(model: Model, rng: np.random.Generator) -> Model:
    """The model with any symmetric positive definite 6×6 for the inertia of every link."""
    graph = nx.DiGraph(name="added mass")
    for link in (model.graph.nodes[name]["link"] for name in model.graph):
        B = rng.standard_normal((6, 6))
        graph.add_node(link.name, link=dataclasses.replace(link, inertia=B @ B.T + np.eye(6)))
    graph.add_edges_from(model.graph.edges(data=True))
    return Model.from_graph(graph, floating_base=floats(model))


def along(model: Model, q: Array, v: Array) -> Array:
    """Ṁ for the velocity v, by differences."""
    return rate(lambda t: dynamics.crba(model, model.integrate(q, v, t)))


# ---------------------------------------------------------------- what defines it


@pytest.mark.parametrize("name", TREES)
def test_it_gives_the_velocity_forces(name: str) -> None:
    """C v = bias without gravity; M v̇ + C v + g = rnea."""
    model, q, v, rng = tree(name)
    C, vdot = dynamics.coriolis(model, q, v), rng.standard_normal(model.nv)
    assert C.shape == (model.nv, model.nv) and C.dtype == float
    assert error(C @ v, dynamics.bias(model, q, v, NONE)) < 2e-14
    tau = dynamics.crba(model, q) @ vdot + C @ v + dynamics.gravity_forces(model, q)
    if not name.startswith("added mass"):
        assert error(tau, dynamics.rnea(model, q, v, vdot)) < 2e-14


@pytest.mark.parametrize("name", TREES)
def test_rate_of_the_inertia_less_twice_it_is_skew(name: str) -> None:
    model, q, v, _ = tree(name)
    X = along(model, q, v) - 2 * dynamics.coriolis(model, q, v)
    assert error(X, -X.T) < 1e-11


@pytest.mark.parametrize("name", TREES)
def test_its_connection_has_no_torsion(name: str) -> None:
    """C(v) w − C(w) v = M [v, w]: with Ṁ = C + Cᵀ, that leaves no other matrix."""
    model, q, v, rng = tree(name)
    w = rng.standard_normal(model.nv)
    torsion = dynamics.coriolis(model, q, v) @ w - dynamics.coriolis(model, q, w) @ v
    bracket = dynamics.crba(model, q) @ model.manifold.bracket(v, w)
    assert error(torsion, bracket, float(np.abs(dynamics.coriolis(model, q, v) @ w).max(initial=0.0))) < 1e-14


@pytest.mark.parametrize("name", TREES)
def test_it_is_linear_in_the_velocity(name: str) -> None:
    model, q, v, rng = tree(name)
    w = rng.standard_normal(model.nv)
    sum_ = 2 * dynamics.coriolis(model, q, v) - 3 * dynamics.coriolis(model, q, w)
    assert error(dynamics.coriolis(model, q, 2 * v - 3 * w), sum_) < 1e-14
    assert not dynamics.coriolis(model, q, 0 * v).any()


def test_branches_do_not_feel_one_another() -> None:
    """Between joints of which neither is above the other, C is exactly zero."""
    model = random_tree(np.random.default_rng(11), 25)
    C = dynamics.coriolis(model, *model.random(np.random.default_rng(0)))
    above = [{i} for i in range(len(model.bodies))]
    apart = 0
    for i, body in enumerate(model.bodies):
        above[i] |= above[body.parent] if body.parent >= 0 else set()
    for i, a in enumerate(model.bodies):
        for j, b in enumerate(model.bodies):
            if i not in above[j] and j not in above[i]:
                assert not C[a.v, b.v].any()
                apart += C[a.v, b.v].size
    assert apart > 100


# ---------------------------------------------------------------- other routes


@pytest.mark.parametrize("name", TREES)
def test_by_links(name: str) -> None:
    """C = Σ Jᵀ (G J̇ + B J), B = ½ (G ad(V) − ad(V)ᵀ G + ad*(G V))."""
    model, q, v, _ = tree(name)
    C = np.zeros((model.nv, model.nv))
    for link, V in zip(model.links, dynamics.twists(model, q, v), strict=True):
        J, G = dynamics.jacobian(model, q, link.name), link.inertia
        B = (G @ se3.ad(V) - se3.ad(V).T @ G + ad_star(G @ V)) / 2
        np.testing.assert_array_equal(B, -B.T)
        C += J.T @ (G @ dynamics.jacobian_dot(model, q, v, link.name) + B @ J)
    assert error(dynamics.coriolis(model, q, v), C) < 1e-14


@pytest.mark.parametrize("name", ["coordinates only", "balls and planes", "one joint", "no joint that moves", "added mass, floating base"])
def test_christoffel_symbols_by_derivatives(name: str) -> None:
    """Koszul's formula, with brackets; by differences of M along every direction."""
    model, q, v, _ = tree(name)
    Gamma, M, e = dynamics.christoffel(model, q), dynamics.crba(model, q), np.eye(model.nv)
    assert Gamma.shape == (model.nv,) * 3
    assert error(Gamma @ v, dynamics.coriolis(model, q, v)) < 1e-14
    if not model.nv:
        return
    D = np.stack([along(model, q, x) for x in e], axis=-1)                               # D[i, j, k] = D_k M_ij
    brackets = np.array([[model.manifold.bracket(x, y) for y in e] for x in e])          # [e_k, e_j]
    X = np.einsum("il,kjl->ijk", M, brackets)
    terms = [("ijk", D), ("ikj", D), ("jki", -D), ("ijk", X), ("jik", -X), ("kij", -X)]
    assert error(Gamma, sum(np.einsum(f"{axes}->ijk", x) for axes, x in terms) / 2) < 1e-11
    assert error(Gamma - Gamma.swapaxes(1, 2), X, float(np.abs(Gamma).max())) < 1e-14
    if name == "coordinates only":
        assert error(Gamma, Gamma.swapaxes(1, 2)) < 1e-14


def test_two_link_arm_in_the_textbook() -> None:
    """Spong, Hutchinson & Vidyasagar, *Robot Modeling and Control*, §7.4: with h = −m₂ l₁ lc₂ sin q₂,
    C = [[h q̇₂, h (q̇₁ + q̇₂)], [−h q̇₁, 0]]."""
    m2, l1, lc2 = 3.0, 0.7, 0.4
    arm = engine.Builder()
    arm.add_link("base")
    arm.add_link("one", inertia=engine.spatial.inertia.from_mass(2.0, [0.3, 0, 0], 0.1 * np.eye(3)))
    arm.add_link("two", inertia=engine.spatial.inertia.from_mass(m2, [lc2, 0, 0], 0.2 * np.eye(3)))
    arm.add_joint("q1", "revolute", "base", "one")
    arm.add_joint("q2", "revolute", "one", "two", placement=se3.pose(np.eye(3), np.array([l1, 0, 0])))
    q, v = np.array([0.4, 1.1]), np.array([-0.8, 1.7])
    h = -m2 * l1 * lc2 * np.sin(q[1])
    assert error(dynamics.coriolis(arm.model(), q, v), [[h * v[1], h * (v[0] + v[1])], [-h * v[0], 0]]) < 1e-15


# ---------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("panda", False), ("kinova", True), ("a1", True), ("talos", True)])
def test_pinocchio_on_robots(name: str, floating_base: bool) -> None:
    model = without_mimics(robot(name, floating_base))
    against_pinocchio(model, from_urdf(file(name), floating_base), np.random.default_rng(0), 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_on_trees(seed: int) -> None:
    """Of every kind but universal: theirs leaves out Ṡ."""
    rng = np.random.default_rng(seed)
    kinds = [k for k in KINDS if k != "universal"]
    model = random_tree(rng, int(rng.integers(5, 30)), kinds=kinds, floating_base=bool(seed % 2), massless=0.4 * (seed % 3))
    against_pinocchio(model, built(model), rng, 2e-14)


def against_pinocchio(model: Model, theirs: object, rng: np.random.Generator, tolerance: float) -> None:
    reference = Pinocchio(model, theirs, NONE)
    q, v = model.random(rng)
    C = pin.computeCoriolisMatrix(reference.theirs, reference.data, reference.q(q), reference.v(v))
    assert error(dynamics.coriolis(model, q, v), C[np.ix_(reference.order, reference.order)]) < tolerance


# ---------------------------------------------------------------- three lives, and what goes wrong


@pytest.mark.parametrize("name", ["rates of the subspace", "mimics", "floating base, added mass"])
def test_plain_is_interpreted_is_compiled(name: str) -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, **{"rates of the subspace": {"n": 3, "kinds": ["universal", "spherical", "screw"]},
                                "mimics": {"n": 5, "kinds": ["revolute", "prismatic"], "mimics": 0.5, "massless": 0.5},
                                "floating base, added mass": {"n": 2, "floating_base": True}}[name])  # fmt: skip
    model = add_masses(model, rng) if "added" in name else model
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    check_lives(lambda q, v: dynamics.coriolis(model, q, v), q, v, tolerance=2e-14)


def test_christoffel_symbols_compiled() -> None:
    model = random_tree(np.random.default_rng(8), 3, ["universal", "spherical", "screw"])
    q = np.array([model.random(np.random.default_rng(k))[0] for k in range(4)])
    check_lives(lambda q: dynamics.christoffel(model, q), q, tolerance=2e-14)


def test_wrong_arguments() -> None:
    model, q, v, _ = tree("one of each")
    with pytest.raises(StateError, match=r"v has shape \(3,\); expected \(\d+,\) for 'random tree'"):
        dynamics.coriolis(model, q, v[:3])
    with pytest.raises(StateError, match=r"q has shape \(3,\)"):
        dynamics.christoffel(model, q[:3])


@pytest.mark.parametrize(("name", "floating_base", "operations"), [("ur5", False, 1517), ("panda", False, 3627), ("talos", True, 21864)])
def test_operations_do_not_grow(name: str, floating_base: bool, operations: int) -> None:
    """What a state costs, with a hundredth to spare; fewer are welcome."""
    model = robot(name, floating_base)
    program = engine.compiler.trace(lambda q, v: dynamics.coriolis(model, q, v), [(model.nq,), (model.nv,)])
    assert program.count() <= operations
