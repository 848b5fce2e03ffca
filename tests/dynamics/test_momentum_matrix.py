"""The momentum matrices, about the world's origin and the centre of mass, and their rates: laws, other routes, Pinocchio, three lives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import Model, StateError, dynamics
from engine.model import KINDS
from engine.spatial import inertia, quaternion, se3, so3
from tests.dynamics.oracle_pinocchio import SWAP, Pinocchio, built, from_urdf
from tests.dynamics.support import error, file, rate, robot, without_mimics
from tests.dynamics.test_coriolis import TREES, add_masses, tree
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
MATRICES = {
    "momentum": (dynamics.momentum_matrix, dynamics.momentum_matrix_dot),
    "centroidal": (dynamics.centroidal_momentum_matrix, dynamics.centroidal_momentum_matrix_dot),
}
HEAVY = [name for name in TREES if name != "no joint that moves"]
FREE = [name for name in TREES if TREES[name].get("floating_base")]


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("name", TREES)
def test_momentum_is_linear_in_the_velocity(name: str) -> None:
    """P = A v."""
    model, q, v, _ = tree(name)
    A = dynamics.momentum_matrix(model, q)
    assert A.shape == (6, model.nv) and A.dtype == float
    assert error(A @ v, dynamics.momentum(model, q, v)) < 1e-14


@pytest.mark.parametrize("which", MATRICES)
@pytest.mark.parametrize("name", HEAVY)
def test_rates_are_derivatives(name: str, which: str) -> None:
    model, q, v, _ = tree(name)
    matrix, matrix_dot = MATRICES[which]
    assert error(matrix_dot(model, q, v), rate(lambda t: matrix(model, model.integrate(q, v, t)))) < 2e-12


@pytest.mark.parametrize("name", FREE)
def test_wrenches_and_weight_change_momentum(name: str) -> None:
    """A v̇ + Ȧ v = Σ Ad(T)⁻ᵀ F + weight for the motion that aba gives, whatever the joints do."""
    model, q, v, rng = tree(name)
    tau, wrenches = 30 * rng.standard_normal(model.nv), 30 * rng.standard_normal((len(model.links), 6))
    tau[:6] = 0.0
    vdot = dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    total = sum(se3.wrench_to_parent(T, F) for T, F in zip(dynamics.forward_kinematics(model, q), wrenches, strict=True))
    for T, link in zip(dynamics.forward_kinematics(model, q), model.links, strict=True):
        total = total + se3.wrench_to_parent(T, link.inertia @ np.append(np.zeros(3), T[:3, :3].T @ GRAVITY))
    A, Adot = dynamics.momentum_matrix(model, q), dynamics.momentum_matrix_dot(model, q, v)
    assert error(A @ vdot + Adot @ v, total, float((np.abs(A) @ np.abs(vdot)).max())) < 1e-14


@pytest.mark.parametrize("name", [n for n in FREE if not n.startswith("added mass")])
def test_centroidal_momentum(name: str) -> None:
    """A moved world turns it and no more; its linear part is m ċ; a rigid motion of the whole about c has none that is linear."""
    model, q, v, rng = tree(name)
    A, mass = dynamics.centroidal_momentum_matrix(model, q), sum(body.inertia[5, 5] for body in model.bodies)
    c = dynamics.center_of_mass(model, q)
    assert error(A[3:] @ v / mass, rate(lambda t: dynamics.center_of_mass(model, model.integrate(q, v, t)))) < 1e-12
    P = dynamics.momentum(model, q, v)
    assert error((A @ v)[:3], P[:3] - np.cross(c, P[3:]), float(np.abs(P).max())) < 1e-14
    r, moved = quaternion.random(rng), q.copy()
    moved[:4], moved[4:7] = quaternion.product(r, q[:4]), quaternion.rotate(r, q[4:7]) + rng.standard_normal(3)
    R = quaternion.to_matrix(r)
    assert error(dynamics.centroidal_momentum_matrix(model, moved), np.concatenate([R @ A[:3], R @ A[3:]])) < 1e-14
    T = dynamics.forward_kinematics(model, q)[0]
    spins = [se3.twist_to_child(T, np.concatenate([w, np.cross(c, w)])) for w in np.eye(3)]    # about c, all joints held
    P = A[:, :6] @ np.transpose(spins)
    assert error(P[:3], P[:3].T) < 1e-13 and np.linalg.eigvalsh(P[:3])[0] > 0             # the tensor of the whole about c
    assert np.abs(P[3:]).max() < 1e-13 * np.abs(A).max()


@pytest.mark.parametrize("name", HEAVY)
def test_the_centre_of_mass_moves_as_its_jacobian_says(name: str) -> None:
    """ċ and c̈ along a motion, of bodies with added mass too."""
    model, q, v, _ = tree(name)
    J, Jdot = dynamics.center_of_mass_jacobian(model, q), dynamics.center_of_mass_jacobian_dot(model, q, v)
    along = rate(lambda t: dynamics.center_of_mass(model, model.integrate(q, v, t)))
    assert error(J @ v, along, float((np.abs(J) @ np.abs(v)).max())) < 1e-12
    numerical = rate(lambda t: dynamics.center_of_mass_jacobian(model, model.integrate(q, v, t)))
    assert error(Jdot, numerical, float(np.abs(J).max() * np.abs(v).max())) < 1e-12


# ---------------------------------------------------------------- other routes


@pytest.mark.parametrize("name", TREES)
def test_by_links(name: str) -> None:
    """A = Σ Ad(T)⁻ᵀ G J, Ȧ = Σ Ad(T)⁻ᵀ (G J̇ − ad(V)ᵀ G J)."""
    model, q, v, _ = tree(name)
    A, Adot = np.zeros((6, model.nv)), np.zeros((6, model.nv))
    links = zip(model.links, dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v), strict=True)
    for link, T, V in links:
        J, G, X = dynamics.jacobian(model, q, link.name), link.inertia, np.linalg.inv(se3.Ad(T)).T
        A += X @ G @ J
        Adot += X @ (G @ dynamics.jacobian_dot(model, q, v, link.name) - se3.ad(V).T @ G @ J)
    assert error(dynamics.momentum_matrix(model, q), A) < 1e-14
    assert error(dynamics.momentum_matrix_dot(model, q, v), Adot) < 1e-14


@pytest.mark.parametrize("name", FREE)
def test_the_base_feels_it(name: str) -> None:
    """A free base's rows of M and C are A and Ȧ, seen from it: [Hb Hbm] = Ad(T)ᵀ A, C_b v = Ad(T)ᵀ Ȧ v."""
    model, q, v, _ = tree(name)
    X = se3.Ad(dynamics.forward_kinematics(model, q)[0]).T
    assert error(X @ dynamics.momentum_matrix(model, q), dynamics.crba(model, q)[:6]) < 1e-14
    C = dynamics.coriolis(model, q, v)
    assert error(X @ dynamics.momentum_matrix_dot(model, q, v) @ v, (C @ v)[:6], float(np.abs(C).max())) < 1e-14


def test_a_tumbling_box() -> None:
    """A box that spins and flies: L = R I ω about its centre, whatever it does; L̇ = 0 with Euler's equations."""
    box = engine.Builder("box")
    box.add_link("box", inertia=inertia.box(12.0, [1.0, 2.0, 3.0]))
    model = box.model(floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    R, tensor = quaternion.to_matrix(q[:4]), np.diag([13.0, 10.0, 5.0])
    A = dynamics.centroidal_momentum_matrix(model, q)
    assert error(A, np.block([[R @ tensor, np.zeros((3, 3))], [np.zeros((3, 3)), 12 * R]])) < 1e-15
    wdot = np.linalg.solve(tensor, -np.cross(v[:3], tensor @ v[:3]))
    vdot = np.concatenate([wdot, -np.cross(v[:3], v[3:])])
    assert np.abs(A @ vdot + dynamics.centroidal_momentum_matrix_dot(model, q, v) @ v).max() < 1e-14 * np.abs(A).max()
    assert error(dynamics.centroidal_momentum_matrix_dot(model, q, v)[:3, :3], R @ so3.hat(v[:3]) @ tensor) < 1e-14


# ---------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("panda", True), ("a1", True), ("talos", True), ("tiago", False)])
def test_pinocchio_on_robots(name: str, floating_base: bool) -> None:
    model = without_mimics(robot(name, floating_base))
    against_pinocchio(model, from_urdf(file(name), floating_base), np.random.default_rng(0), 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_on_trees(seed: int) -> None:
    """Of every kind but universal: theirs leaves out Ṡ."""
    rng = np.random.default_rng(seed)
    kinds = [k for k in KINDS if k != "universal"]
    model = random_tree(rng, int(rng.integers(5, 40)), kinds=kinds, floating_base=bool(seed % 2), massless=0.4 * (seed % 3))
    against_pinocchio(model, built(model), rng, 3e-14)


def against_pinocchio(model: Model, theirs: object, rng: np.random.Generator, tolerance: float) -> None:
    """Their centroidal map and its rate: linear first, world axes."""
    reference = Pinocchio(model, theirs, (0, 0, 0))
    q, v = model.random(rng)
    A = pin.ccrba(reference.theirs, reference.data, reference.q(q), reference.v(v))[SWAP][:, reference.order]
    assert error(dynamics.centroidal_momentum_matrix(model, q), A) < tolerance
    momentum = dynamics.centroidal_momentum(model, q, v)
    pin.computeCentroidalMomentum(reference.theirs, reference.data, reference.q(q), reference.v(v))
    assert error(momentum, reference.data.hg.vector[SWAP], float((np.abs(A) @ np.abs(v)).max())) < tolerance
    Adot = pin.dccrba(reference.theirs, reference.data, reference.q(q), reference.v(v))[SWAP][:, reference.order]
    assert error(dynamics.centroidal_momentum_matrix_dot(model, q, v), Adot) < tolerance


# ---------------------------------------------------------------- as it is seen from the centre of mass


@pytest.mark.parametrize("name", [n for n in HEAVY if "added mass" not in n])
def test_what_is_seen_from_the_centre_of_mass_is_the_rest(name: str) -> None:
    """P = [L_c + c × p; p], and König's theorem: K = ½ m ċ² + K_c."""
    model, q, v, _ = tree(name)
    found, P, c = dynamics.centroidal_momentum(model, q, v), dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q)
    assert error(np.concatenate([found[:3] + np.cross(c, found[3:]), found[3:]]), P) < 1e-14
    assert error(found, dynamics.centroidal_momentum_matrix(model, q) @ v, float(np.abs(P).max())) < 1e-14
    K, cdot = dynamics.energy(model, q, v)[0], dynamics.center_of_mass_jacobian(model, q) @ v
    assert error(dynamics.centroidal_kinetic_energy(model, q, v) + 0.5 * dynamics.total_mass(model) * cdot @ cdot, K) < 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_an_orbit_leaves_no_rounding_behind(seed: int) -> None:
    """At 7000 km and 7.5 km/s it has the bits that it has where it stands; the one about the world's origin has a last place that is over a
    millionth of it."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6, [k for k in KINDS if k != "floating"], floating_base=True)
    q, v = model.random(rng)
    near, slow = q.copy(), v.copy()
    near[4:7], slow[3:6] = 0.0, 0.0
    R = quaternion.to_matrix(q[:4])
    q[4:7], v[3:6] = [7e6, 1e5, -3e4], R.T @ [0.0, 7.5e3, 300.0]
    own = dynamics.centroidal_momentum(model, near, slow)[:3]
    found = dynamics.centroidal_momentum(model, q, v)
    np.testing.assert_array_equal(found[:3], own)
    assert dynamics.centroidal_kinetic_energy(model, q, v) == dynamics.centroidal_kinetic_energy(model, near, slow)
    P = dynamics.momentum(model, q, v)
    assert error(found[3:], P[3:]) < 1e-14 and np.spacing(np.abs(P[:3]).max()) > 1e-6 * np.abs(own).max()


def test_trees_in_one_orbit_are_seen_from_their_centre() -> None:
    """Two robots 5 m apart: as exact as their places and velocities, which are numbers of the orbit's size, are."""
    model = engine.combine(one=tree("floating base")[0], two=tree("one of each")[0].from_graph(tree("one of each")[0].graph, True))
    q, v = model.random(np.random.default_rng(0))
    near, slow = q.copy(), v.copy()
    for k, name in enumerate(("one", "two")):
        place, twist = model.q_slice(f"{name}/floating_base"), model.v_slice(f"{name}/floating_base")
        near[place][4:], q[place][4:] = [5.0 * k, 0.0, 0.0], [7e6 + 5.0 * k, 0.0, 0.0]
        R = quaternion.to_matrix(q[place][:4])
        slow[twist][3:], v[twist][3:] = R.T @ [0.0, 0.1 * k, 0.0], R.T @ [0.0, 7.5e3 + 0.1 * k, 0.0]
    own, found = dynamics.centroidal_momentum(model, near, slow)[:3], dynamics.centroidal_momentum(model, q, v)[:3]
    coarse = dynamics.total_mass(model) * (5.0 * np.spacing(7.5e3) + 0.1 * np.spacing(7e6))    # m (r δv + v δr) of what q and v can say
    assert np.abs(found - own).max() < 10 * coarse
    K = dynamics.centroidal_kinetic_energy
    assert abs(K(model, q, v) - K(model, near, slow)) < 10 * dynamics.total_mass(model) * np.abs(slow).max() * np.spacing(7.5e3)


# ---------------------------------------------------------------- three lives, and what goes wrong


@pytest.mark.parametrize("name", ["rates of the subspace", "mimics", "floating base, added mass"])
def test_plain_is_interpreted_is_compiled(name: str) -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, **{"rates of the subspace": {"n": 3, "kinds": ["universal", "spherical", "screw"]},
                                "mimics": {"n": 5, "kinds": ["revolute", "prismatic"], "mimics": 0.5, "massless": 0.5},
                                "floating base, added mass": {"n": 2, "floating_base": True}}[name])  # fmt: skip
    model = add_masses(model, rng) if "added" in name else model
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    check_lives(lambda q, v: (dynamics.momentum_matrix(model, q), dynamics.momentum_matrix_dot(model, q, v),
                              dynamics.centroidal_momentum_matrix(model, q), dynamics.centroidal_momentum_matrix_dot(model, q, v),
                              dynamics.center_of_mass_jacobian(model, q), dynamics.center_of_mass_jacobian_dot(model, q, v),
                              dynamics.centroidal_momentum(model, q, v), dynamics.centroidal_kinetic_energy(model, q, v)),
                q, v, tolerance=2e-14)  # fmt: skip


def test_wrong_arguments() -> None:
    model, q, v, _ = tree("one of each")
    for fn in (dynamics.momentum_matrix_dot, dynamics.centroidal_momentum_matrix_dot, dynamics.centroidal_momentum):
        with pytest.raises(StateError, match=r"v has shape \(3,\); expected \(\d+,\) for 'random tree'"):
            fn(model, q, v[:3])
    for fn in (dynamics.momentum_matrix, dynamics.centroidal_momentum_matrix):
        with pytest.raises(StateError, match=r"q has shape \(3,\)"):
            fn(model, q[:3])
    still, none = tree("no joint that moves")[0], np.zeros(0)
    assert dynamics.momentum_matrix(still, none).shape == (6, 0)
    for fn in (dynamics.centroidal_momentum_matrix, dynamics.center_of_mass_jacobian):
        with pytest.raises(StateError, match="moves no mass"):
            fn(still, none)
