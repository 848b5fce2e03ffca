"""Armature, what rotors add to their joints' inertia: by definition, by other routes, by Pinocchio and MuJoCo."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pytest

import engine
from engine import Builder, Model, ModelError, StateError, dynamics
from engine.compiler import trace
from engine.io import model_from_text, model_hash, model_text
from engine.model import KINDS, Mimic
from engine.spatial import inertia, se3
from tests.dynamics import oracle_mujoco, oracle_pinocchio
from tests.dynamics.support import error, floats, freed, robot, sensitivity
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
TREES = {
    "one of each": {"n": len(KINDS)},
    "floating base": {"n": 15, "floating_base": True},
    "mimics": {"n": 20, "mimics": 0.5},
    "mimics, floating base": {"n": 20, "mimics": 0.5, "floating_base": True},
    "free bodies": {"n": 4, "kinds": ["floating"]},
    "planes and balls": {"n": 6, "kinds": ["planar", "spherical", "universal"]},
    "massless links": {"n": 20, "massless": 0.5},
}


def geared(model: Model, rng: np.random.Generator) -> Model:
    """The model with rotors on all joints, and on each entry of a floating base."""
    graph = nx.DiGraph(name=model.name)
    graph.add_nodes_from(model.graph.nodes(data=True))
    for parent, child, joint in model.graph.edges.data("joint"):
        graph.add_edge(parent, child, joint=dataclasses.replace(joint, armature=float(rng.uniform(0.1, 2))))
    found = Model.from_graph(graph, floating_base=floats(model))
    return found.with_armature({found.joints[0].name: rng.uniform(0.1, 2, 6)}) if floats(model) else found


@pytest.fixture(params=TREES)
def pair(request: pytest.FixtureRequest) -> tuple[Model, Model, np.random.Generator]:
    """A tree without rotors, and with them."""
    rng = np.random.default_rng(list(TREES).index(request.param))
    model = random_tree(rng, **TREES[request.param])
    return model, geared(model, rng), rng


# ---------------------------------------------------------------- what it is


def test_it_is_the_diagonal_of_the_inertia(pair) -> None:
    model, rotors, rng = pair
    q, v = model.random(rng)
    vdot, wrenches = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6))
    a = rotors.armature
    assert (a > 0.01).all() and not a.flags.writeable and not model.armature.any()
    assert error(dynamics.crba(rotors, q), dynamics.crba(model, q) + np.diag(a)) < 1e-15
    tau = dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches)
    assert error(dynamics.rnea(rotors, q, v, vdot, GRAVITY, wrenches), tau + a * vdot) < 1e-15
    for function in (dynamics.bias, dynamics.momentum, dynamics.coriolis, dynamics.twists):
        np.testing.assert_array_equal(function(rotors, q, v), function(model, q, v))
    (K, U), (K0, U0) = dynamics.energy(rotors, q, v, GRAVITY), dynamics.energy(model, q, v, GRAVITY)
    assert error(K, K0 + 0.5 * a @ v**2) < 1e-15 and U == U0
    assert error(K, 0.5 * v @ dynamics.crba(rotors, q) @ v) < 1e-13


def test_routes_agree(pair) -> None:
    _, model, rng = pair
    q, v = model.random(rng)
    vdot, wrenches, rest = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6)), np.zeros(model.nv)
    M = dynamics.crba(model, q)
    columns = [dynamics.rnea(model, q, rest, e, gravity=(0, 0, 0)) for e in np.eye(model.nv)]
    assert error(M, np.array(columns).T) < 1e-14
    tau, bias = dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches), dynamics.bias(model, q, v, GRAVITY, wrenches)
    back = dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    assert error(back, vdot, sensitivity(M, tau, bias)) < 1e-15
    assert error(back, np.linalg.solve(M, tau - bias), sensitivity(M, tau, bias)) < 1e-14


def test_mimic_joints_turn_their_rotors_at_the_source() -> None:
    """Eᵀ diag(a) E, where E makes velocities of all joints from those of the sources."""
    rng = np.random.default_rng(4)
    model = geared(random_tree(rng, 20, mimics=0.6), rng)
    full, _, E = freed(model, model.random(rng)[0])
    assert full.nv > model.nv
    assert error(np.diag(model.armature), E.T @ np.diag(full.armature) @ E) < 1e-15


def test_a_rotor_may_be_all_that_resists() -> None:
    """I = 0: a = τ/armature, which without a rotor has no answer."""
    arm = Builder()
    arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", armature=0.5)
    state = np.zeros(1), np.zeros(1), np.array([3.0])
    np.testing.assert_array_equal(dynamics.aba(arm.model(), *state), [6.0])
    with pytest.raises(StateError, match="moves no mass"):
        dynamics.aba(arm.model(), *state, armature=np.zeros(1))


# ---------------------------------------------------------------- aba(armature=…), and copies with more


def test_an_armature_given_replaces_the_models(pair) -> None:
    _, model, rng = pair
    q, v = model.random(rng)
    tau, other = rng.standard_normal(model.nv), rng.uniform(0.0, 1.0, model.nv)
    M = dynamics.crba(model, q) - np.diag(model.armature) + np.diag(other)
    bias = dynamics.bias(model, q, v)
    given = dynamics.aba(model, q, v, tau, armature=other)
    assert error(given, np.linalg.solve(M, tau - bias), sensitivity(M, tau, bias)) < 1e-13
    plain = dataclasses.replace(model, armature=np.zeros(model.nv))
    np.testing.assert_array_equal(given, dynamics.aba(plain.with_armature(other), q, v, tau))
    with pytest.raises(StateError, match="armature has shape"):
        dynamics.aba(model, q, v, tau, armature=np.zeros(model.nv + 1))


def test_copies_with_more() -> None:
    builder = Builder()
    for name in ("base", "upper", "lower", "finger", "ball"):
        builder.add_link(name, inertia=inertia.sphere(1.0, 0.1))
    builder.add_joint("shoulder", "revolute", "base", "upper", armature=0.25)
    builder.add_joint("elbow", "fixed", "upper", "lower", armature=0.5)
    builder.add_joint("grip", "prismatic", "lower", "finger", mimic=Mimic("shoulder", -2.0), armature=0.125)
    builder.add_joint("socket", "spherical", "lower", "ball", armature=2.0)
    model = builder.model()
    np.testing.assert_array_equal(model.armature, [0.75, 2, 2, 2])                             # 0.25 + 2² · 0.125
    more = model.with_armature({"shoulder": 1.0, "grip": 1.0, "socket": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(more.armature, [5.75, 3, 4, 5])
    np.testing.assert_array_equal(model.with_armature(np.arange(4.0)).armature, [0.75, 3, 4, 5])
    np.testing.assert_array_equal(model.with_armature({}).armature, model.armature)
    assert (more.links, more.joints, more.bodies, more.nv) == (model.links, model.joints, model.bodies, 4)
    for wrong, words in (
        ({"sholder": 1.0}, "no joint 'sholder' in 'robot' (did you mean 'shoulder'?)"),
        ({"elbow": 1.0}, "joint 'elbow' is fixed; expected one that moves, for its armature"),
        ({"shoulder": -1.0}, "armature of joint 'shoulder' is -1.0; expected 1 numbers, zero or more"),
        ({"socket": [1.0, 2.0]}, "armature of joint 'socket' is [1.0, 2.0]; expected 3 numbers, zero or more"),
        ({"shoulder": "much"}, "armature of joint 'shoulder' is 'much'; expected numbers"),
        (np.zeros(3), "armature is array([0., 0., 0.]); expected 4 numbers, zero or more"),
        (np.full(4, np.nan), "armature holds NaN or infinity; expected finite numbers"),
    ):
        with pytest.raises(ModelError) as problem:
            model.with_armature(wrong)
        assert words in str(problem.value)


def test_a_models_text_keeps_it() -> None:
    rng = np.random.default_rng(5)
    plain = random_tree(rng, 10)
    model = geared(plain, rng)
    np.testing.assert_array_equal(model_from_text(model_text(model)).armature, model.armature)
    assert model_hash(model) != model_hash(plain) == model_hash(model_from_text(model_text(plain)))


def test_operational_space_control_feels_it() -> None:
    """A UR5 with rotors of 0.5 kg·m² follows its reference as one without: the law's M is the one that moves."""
    model = robot("ur5").with_armature(np.full(6, 0.5))
    q, tip = np.array([0.3, -1.1, 1.4, -0.5, 0.8, 0.2]), "tool0"
    T0 = dynamics.forward_kinematics(model, q)[model.link_index(tip)]
    twist = np.array([0.3, -0.2, 0.4, 0.1, 0.2, -0.1])

    def reference(t: Any) -> tuple[Any, Any, Any]:
        return T0 @ se3.exp(0.5 * t * t * twist), t * twist, twist

    control = engine.components.controllers.operational_space(model, tip, reference, regular=1e-12)
    run = engine.Simulator(model, dt=2e-3, controller=control, joint_dynamics=False).run(q, np.zeros(6), 0.5, record_every=50)
    for t, q in zip(run.t, run.q, strict=True):
        T = dynamics.forward_kinematics(model, q)[model.link_index(tip)]
        assert np.abs(T - reference(t)[0]).max() < 1e-8


# ---------------------------------------------------------------- floating bases


def test_free_floating_functions_take_it_from_the_inertia() -> None:
    rng = np.random.default_rng(6)
    plain = random_tree(rng, 12, floating_base=True)
    model = geared(plain, rng)
    q, v = model.random(rng)
    M = dynamics.crba(model, q)
    reduced = M[6:, 6:] - M[6:, :6] @ np.linalg.solve(M[:6, :6], M[:6, 6:])
    assert error(dynamics.free_floating_inertia(model, q), reduced) < 1e-13
    qddot = rng.standard_normal(model.nv - 6)
    tau, V0dot = dynamics.floating_inverse_dynamics(model, q, v, qddot, GRAVITY)
    back = dynamics.aba(model, q, v, np.concatenate([np.zeros(6), tau]), GRAVITY)
    assert error(back, np.concatenate([V0dot, qddot])) < 1e-10
    vdot = rng.standard_normal(model.nv)
    reaction = dynamics.base_reaction(plain, q, v, vdot, GRAVITY)                              # the motion says it all
    assert error(dynamics.base_reaction(model, q, v, vdot, GRAVITY), reaction, np.abs(model.armature * vdot).max()) < 1e-13


# ---------------------------------------------------------------- compiled, traced


def test_plain_is_interpreted_is_compiled() -> None:
    rng = np.random.default_rng(7)
    model = geared(random_tree(rng, 4, floating_base=True), rng)
    states = [model.random(rng) for _ in range(5)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    check_lives(lambda q, v, a: (dynamics.rnea(model, q, v, a), dynamics.crba(model, q), dynamics.energy(model, q, v)[0]),
                q, v, rng.standard_normal(v.shape))  # fmt: skip
    robot = engine.compile(model)
    tau = rng.standard_normal(v.shape)
    ours = np.array([dynamics.aba(model, *x) for x in zip(q, v, tau, strict=True)])
    assert error(robot.aba(q, v, tau), ours) < 1e-11


@pytest.mark.parametrize("mimics", [0.0, 0.5])
def test_a_traced_armature(mimics: float) -> None:
    """∂v̇/∂a = −M⁻¹ diag(v̇)."""
    rng = np.random.default_rng(8)
    model = random_tree(rng, 4, ["revolute", "prismatic"], floating_base=True, mimics=mimics)
    q, v = model.random(rng)
    tau, a = rng.standard_normal(model.nv), rng.uniform(0.1, 1.0, model.nv)
    J = engine.jacobian(lambda a: dynamics.aba(model, q, v, tau, armature=a))(a)
    vdot = dynamics.aba(model, q, v, tau, armature=a)
    M = dynamics.crba(model, q) + np.diag(a)
    assert error(J, -np.linalg.solve(M, np.diag(vdot))) < 1e-10


@pytest.mark.parametrize("options", TREES.values(), ids=TREES)
def test_models_without_it_pay_nothing(options) -> None:
    """No operation more than those of a sum of zeros, which fold."""
    model = random_tree(np.random.default_rng(9), **options)
    rotors = model.with_armature(np.ones(model.nv))
    count = lambda m: trace(lambda q: dynamics.crba(m, q), [(m.nq,)]).count()
    assert count(model) <= count(rotors)
    energy = lambda m: trace(lambda q, v: dynamics.energy(m, q, v)[0], [(m.nq,), (m.nv,)]).count()
    assert energy(model) < energy(rotors)


# ---------------------------------------------------------------- peers


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio(seed: int) -> None:
    """Its ``model.armature``, on every kind of joint."""
    rng = np.random.default_rng(seed)
    model = geared(random_tree(rng, 15, floating_base=bool(seed % 2)), rng)
    theirs = oracle_pinocchio.built(model)
    reference = oracle_pinocchio.Pinocchio(model, theirs, GRAVITY)
    theirs.armature = reference.v(model.armature)
    q, v = model.random(rng)
    vdot = rng.standard_normal(model.nv)
    tau, M = dynamics.rnea(model, q, v, vdot, GRAVITY), dynamics.crba(model, q)
    assert error(tau, reference.rnea(q, v, vdot)) < 2e-14
    assert error(M, reference.crba(q)) < 2e-14
    assert error(dynamics.aba(model, q, v, tau, GRAVITY), reference.aba(q, v, tau), sensitivity(M, tau)) < 2e-14
    assert error(dynamics.energy(model, q, v)[0], 0.5 * v @ reference.crba(q) @ v) < 2e-13     # its own energy counts some joints' alone


@pytest.mark.parametrize("seed", range(4))
def test_mujoco(seed: int) -> None:
    """Its ``dof_armature``; a free body's and a plane's, along world axes there, are the same for the inertia alone."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "universal", "spherical", "fixed"]
    model = random_tree(rng, 15, kinds=kinds if seed % 2 else [*kinds, "planar"], floating_base=not seed % 2)
    model = geared(model, rng)
    if floats(model):
        model = dataclasses.replace(model, armature=np.concatenate([np.full(3, 0.7), np.full(3, 1.3), model.armature[6:]]))
    reference = oracle_mujoco.MuJoCo(model, oracle_mujoco.built(model), GRAVITY)
    for body, _, at in reference.joints:
        order = [3, 4, 5, 0, 1, 2] if body.kind.floats else range(body.kind.nv)
        reference.theirs.dof_armature[at : at + body.kind.nv] = model.armature[body.v][list(order)]
    q, v = model.random(rng)
    vdot = rng.standard_normal(model.nv)
    M = dynamics.crba(model, q)
    assert error(M, reference.crba(q)) < 2e-14
    if seed % 2:
        tau = dynamics.rnea(model, q, v, vdot, GRAVITY)
        assert error(tau, reference.rnea(q, v, vdot)) < 2e-14
        assert error(dynamics.aba(model, q, v, tau, GRAVITY), reference.aba(q, v, tau, {}), sensitivity(M, tau)) < 2e-14
        assert error(dynamics.energy(model, q, v)[0], reference.energy(q, v)[0]) < 2e-14
