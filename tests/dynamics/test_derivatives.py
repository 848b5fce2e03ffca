"""Derivatives of the dynamics: by differences, by the differentiated trace, against Pinocchio, and what follows from what they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import Model, StateError, dynamics
from engine.model import KINDS
from tests.dynamics.oracle_pinocchio import Pinocchio, built, from_urdf
from tests.dynamics.support import along, columns, error, file, robot, sensitivity, without_mimics
from tests.dynamics.test_coriolis import TREES, add_masses, tree
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (1.0, -2.0, -9.81)


def state(name: str, **options: Any) -> tuple[Model, Array, Array, Array, Array]:
    """A model, q, v, vdot, and wrenches on its links."""
    model, q, v, rng = tree(name, **options)
    return model, q, v, rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6))


# ---------------------------------------------------------------- by differences


@pytest.mark.parametrize("name", TREES)
def test_of_joint_forces(name: str) -> None:
    model, q, v, vdot, F = state(name)
    dq, dv = dynamics.rnea_derivatives(model, q, v, vdot, GRAVITY, F)
    scale = max(1.0, np.abs(dq).max(initial=0.0), np.abs(dv).max(initial=0.0))
    assert np.abs(dq - along(model, q, lambda q: dynamics.rnea(model, q, v, vdot, GRAVITY, F))).max(initial=0.0) < 1e-10 * scale
    assert np.abs(dv - columns(lambda v: dynamics.rnea(model, q, v, vdot, GRAVITY, F), v)).max(initial=0.0) < 1e-10 * scale


@pytest.mark.parametrize("name", [name for name in TREES if name != "mimics, massless links, floating base"])        # which takes a minute
def test_of_accelerations(name: str) -> None:
    """Theirs are those of the joint forces that make them: M ∂v̇/∂q = −∂τ/∂q; and by differences of aba."""
    model, q, v, tau, F = state(name)
    dq, dv, dtau = dynamics.aba_derivatives(model, q, v, tau, GRAVITY, F)
    M, vdot = dynamics.crba(model, q), dynamics.aba(model, q, v, tau, GRAVITY, F)
    rounding = 1e-13 * (1.0 + sensitivity(M, M)) ** 2
    assert error(dtau @ M, np.eye(model.nv)) < rounding
    assert np.abs(dtau - dynamics.minv(model, q)).max(initial=0.0) < rounding * max(1.0, np.abs(dtau).max(initial=0.0))
    for mine, of in zip((dq, dv), dynamics.rnea_derivatives(model, q, v, vdot, GRAVITY, F), strict=True):
        assert np.abs(M @ mine + of).max(initial=0.0) < rounding * max(1.0, np.abs(of).max(initial=0.0))
    scale = max(1.0, np.abs(dq).max(initial=0.0), np.abs(dv).max(initial=0.0), np.abs(dtau).max(initial=0.0))
    assert np.abs(dq - along(model, q, lambda q: dynamics.aba(model, q, v, tau, GRAVITY, F))).max(initial=0.0) < 1e-8 * scale
    assert np.abs(dv - columns(lambda v: dynamics.aba(model, q, v, tau, GRAVITY, F), v)).max(initial=0.0) < 1e-8 * scale


@pytest.mark.parametrize("name", TREES)
def test_of_energy_and_momentum(name: str) -> None:
    model, q, v, *_ = state(name)
    K_q, K_v, U_q = dynamics.energy_derivatives(model, q, v, GRAVITY)
    by_q, by_v = along(model, q, lambda q: np.array(dynamics.energy(model, q, v, GRAVITY))), dynamics.crba(model, q) @ v
    for mine, other in ((K_q, by_q[0]), (K_v, by_v), (U_q, by_q[1])):
        assert np.abs(mine - other).max(initial=0.0) < 1e-10 * max(1.0, np.abs(by_q).max(initial=0.0), np.abs(by_v).max(initial=0.0))
    P_q, P_v = dynamics.momentum_derivatives(model, q, v)
    assert error(P_v, dynamics.momentum_matrix(model, q)) < 1e-13
    assert error(P_q, along(model, q, lambda q: dynamics.momentum(model, q, v))) < 1e-10


@pytest.mark.parametrize("frame", ["body", "world", "world_aligned"])
def test_of_jacobians(frame: str) -> None:
    model, q, _, _ = tree("floating base")
    link, point = model.links[-1].name, (0.0, 0.0, 0.0) if frame == "world" else (0.1, -0.2, 0.3)
    dJ = dynamics.jacobian_derivative(model, q, link, frame, point)
    assert dJ.shape == (6, model.nv, model.nv)
    assert error(dJ, along(model, q, lambda q: dynamics.jacobian(model, q, link, frame, point))) < 1e-10


# ---------------------------------------------------------------- the differentiated trace


@pytest.mark.parametrize("name", ["one of each", "mimics", "added mass, floating base"])
def test_by_the_differentiated_trace(name: str) -> None:
    """A second route, as exact."""
    model, q, v, x, F = state(name, **{"n": 7} if name == "mimics" else {})
    zero = np.zeros(model.nv)
    for f, mine in ((dynamics.rnea, dynamics.rnea_derivatives), (dynamics.aba, dynamics.aba_derivatives)):
        by_q = engine.jacobian(lambda d, f=f: f(model, model.manifold.plus(q, d), v, x, GRAVITY, F))(zero)
        by_v = engine.jacobian(lambda v, f=f: f(model, q, v, x, GRAVITY, F))(v)
        dq, dv, *_ = mine(model, q, v, x, GRAVITY, F)
        M = dynamics.crba(model, q)
        rounding = 1e-13 if f is dynamics.rnea else 1e-14 * (1.0 + sensitivity(M, M)) ** 2
        scale = max(1.0, np.abs(by_q).max(), np.abs(by_v).max())
        assert np.abs(dq - by_q).max() < rounding * scale and np.abs(dv - by_v).max() < rounding * scale


# ---------------------------------------------------------------- Pinocchio


ROBOTS = [("ur5", False), ("panda", False), ("kinova", False), ("a1", True), ("g1", True), ("talos", True), ("baxter", False),
          ("tiago", True)]  # fmt: skip


@pytest.mark.parametrize(("name", "floating_base"), ROBOTS)
def test_against_pinocchio(name: str, floating_base: bool) -> None:
    model, rng = without_mimics(robot(name, floating_base)), np.random.default_rng(3)
    compare(model, Pinocchio(model, from_urdf(file(name), floating_base), GRAVITY), rng)


@pytest.mark.parametrize("floating_base", [False, True])
def test_trees_against_pinocchio(floating_base: bool) -> None:
    """Of all kinds but universal joints, whose subspace turns: theirs differ from differences of their own forces."""
    rng = np.random.default_rng(1)
    model = random_tree(rng, 14, [kind for kind in KINDS if kind != "universal"], floating_base)
    compare(model, Pinocchio(model, built(model), GRAVITY), rng)


def compare(model: Model, reference: Pinocchio, rng: np.random.Generator) -> None:
    """∂RNEA, ∂ABA, M⁻¹ of three states."""
    for _ in range(3):
        (q, v), x = model.random(rng), rng.standard_normal(model.nv)
        own, theirs, data = np.ix_(reference.order, reference.order), reference.theirs, reference.data
        given = reference.q(q), reference.v(v), reference.v(x)
        pin.computeRNEADerivatives(theirs, data, *given)
        for mine, other in zip(dynamics.rnea_derivatives(model, q, v, x, GRAVITY), (data.dtau_dq, data.dtau_dv), strict=True):
            assert np.abs(mine - other[own]).max() < 1e-12 * max(1.0, np.abs(other).max())
        pin.computeABADerivatives(theirs, data, *given)
        M = dynamics.crba(model, q)
        rounding = 1e-15 * np.linalg.cond(M)
        for mine, other in zip(dynamics.aba_derivatives(model, q, v, x, GRAVITY), (data.ddq_dq, data.ddq_dv, data.Minv), strict=True):
            other = np.triu(other) + np.triu(other, 1).T if other is data.Minv else other
            assert np.abs(mine - other[own]).max() < (1e-12 + 10.0 * rounding) * max(1.0, np.abs(other).max())


# ---------------------------------------------------------------- three lives, and what goes wrong


@pytest.mark.parametrize("name", ["rates of the subspace", "mimics", "floating base, added mass"])
def test_plain_is_interpreted_is_compiled(name: str) -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, **{"rates of the subspace": {"n": 3, "kinds": ["universal", "spherical", "screw"]},
                                "mimics": {"n": 5, "kinds": ["revolute", "prismatic"], "mimics": 0.5},
                                "floating base, added mass": {"n": 2, "floating_base": True}}[name])  # fmt: skip
    model = add_masses(model, rng) if "added" in name else model
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    x = rng.standard_normal(v.shape)
    for f in (dynamics.rnea_derivatives, dynamics.aba_derivatives):
        check_lives(lambda q, v, x, f=f: f(model, q, v, x), q, v, x, tolerance=2e-13)


def test_of_a_robot_compiled() -> None:
    """Of a batch, with wrenches; many right sides go through a loop in machine code."""
    model, rng = robot("a1", True), np.random.default_rng(0)
    compiled = engine.compile(model, GRAVITY)
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(3)], strict=True))
    x, F = rng.standard_normal(v.shape), rng.standard_normal((3, len(model.links), 6))
    for name in ("rnea_derivatives", "aba_derivatives"):
        found = getattr(compiled, name)(q, v, x, F)
        for k in range(3):
            for mine, other in zip(found, getattr(dynamics, name)(model, q[k], v[k], x[k], GRAVITY, F[k]), strict=True):
                assert np.abs(mine[k] - other).max() < 1e-11 * np.abs(other).max()
    assert error(compiled.minv(q[0]) @ compiled.crba(q[0]), np.eye(model.nv)) < 1e-11
    for mine, other in ((compiled.energy_derivatives, dynamics.energy_derivatives), (compiled.momentum_derivatives, None)):
        plain = other(model, q[0], v[0], GRAVITY) if other else dynamics.momentum_derivatives(model, q[0], v[0])
        for a, b in zip(mine(q[0], v[0]), plain, strict=True):
            assert error(a, b) < 1e-12
    link = model.links[-1].name
    assert error(compiled.jacobian_derivative(q[0], link), dynamics.jacobian_derivative(model, q[0], link)) < 1e-12


def test_wrong_arguments() -> None:
    model, q, v, _ = tree("one of each")
    with pytest.raises(StateError, match=r"vdot has shape \(3,\); expected \(\d+,\) for 'random tree'"):
        dynamics.rnea_derivatives(model, q, v, v[:3])
    with pytest.raises(StateError, match=r"tau has shape \(3,\)"):
        dynamics.aba_derivatives(model, q, v, v[:3])
    bare = random_tree(np.random.default_rng(0), 1, ["revolute"])
    massless = engine.Builder("bare")
    massless.add_link("base"), massless.add_link("rod"), massless.add_joint("pivot", "revolute", "base", "rod")
    with pytest.raises(StateError, match="joint 'pivot' moves no mass"):
        dynamics.minv(massless.model(), np.zeros(1))
    assert dynamics.minv(bare, np.zeros(1)).shape == (1, 1)


@pytest.mark.parametrize(("name", "floating_base", "forces", "motion"), [("ur5", False, 4650, 6870), ("panda", False, 8500, 14200),
                                                                         ("talos", True, 40200, 61000)])  # fmt: skip
def test_operations_do_not_grow(name: str, floating_base: bool, forces: int, motion: int) -> None:
    model = robot(name, floating_base)
    shapes = [(model.nq,), (model.nv,), (model.nv,)]
    for f, most in ((dynamics.rnea_derivatives, forces), (dynamics.aba_derivatives, motion)):
        program = engine.compiler.trace(lambda q, v, x, f=f: f(model, q, v, x), shapes)
        assert program.count() <= most, program.count()
