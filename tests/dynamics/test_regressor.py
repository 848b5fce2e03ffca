"""Regressors: times the parameters they are the dynamics; against Pinocchio; and each in its three lives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import dynamics
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.support import error, file, robot
from tests.dynamics.test_coriolis import TREES, tree
from tests.numeric import check_lives
from tests.trees import random_tree

GRAVITY = (1.0, -2.0, -9.81)


@pytest.mark.parametrize("name", [name for name in TREES if not name.startswith("added mass")])
def test_times_the_parameters_they_are_the_dynamics(name: str) -> None:
    model, q, v, rng = tree(name)
    vdot, pi = rng.standard_normal(model.nv), dynamics.inertial_parameters(model)
    Y = dynamics.regressor(model, q, v, vdot, GRAVITY)
    assert Y.shape == (model.nv, 10 * len(model.links))
    tau = dynamics.rnea(model, q, v, vdot, GRAVITY) - model.armature * vdot
    assert error(Y @ pi, tau, np.abs(Y).max(initial=1.0) * np.abs(pi).max(initial=1.0)) < 1e-14
    assert error(dynamics.momentum_regressor(model, q, v) @ pi, dynamics.momentum(model, q, v)) < 1e-13
    K, U = dynamics.energy(model, q, v, GRAVITY)
    Y_K, Y_U = dynamics.energy_regressor(model, q, v, GRAVITY)
    assert abs(Y_K @ pi + 0.5 * (model.armature * v) @ v - K) < 1e-12 * max(1.0, K)
    assert abs(Y_U @ pi - U) < 1e-12 * max(1.0, np.abs(Y_U * pi).sum())


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("a1", True), ("talos", True)])
def test_against_pinocchio(name: str, floating_base: bool) -> None:
    """Theirs are of bodies, about the joints' frames: a body's link that carries its frame has the same columns."""
    model, rng = robot(name, floating_base), np.random.default_rng(1)
    reference = Pinocchio(model, from_urdf(file(name), floating_base), GRAVITY)
    (q, v), vdot = model.random(rng), rng.standard_normal(model.nv)
    theirs = pin.computeJointTorqueRegressor(reference.theirs, reference.data, reference.q(q), reference.v(v), reference.v(vdot))
    mine = dynamics.regressor(model, q, v, vdot, GRAVITY)
    names, compared = [link.name for link in model.links], 0
    for body, first, _ in reference.joints:
        k = reference.theirs.getJointId("root_joint" if body.kind.floats else body.joint.name)
        n = names.index(body.joint.child)
        own = theirs[reference.order][:, 10 * (k - 1) : 10 * k]
        assert np.abs(mine[:, 10 * n : 10 * n + 10] - own).max() < 1e-12 * np.abs(own).max(), first
        compared += 1
    assert compared == len(model.bodies)


def test_what_a_robot_weighs_is_found_from_its_motion() -> None:
    """Least squares of the joint forces of random motions give parameters that predict all others, though not all of them are seen."""
    model, rng = robot("ur5"), np.random.default_rng(2)
    compiled, pi = engine.compile(model), dynamics.inertial_parameters(model)
    q = rng.uniform(-np.pi, np.pi, (60, 6))
    v, vdot = rng.standard_normal((2, 60, 6))
    Y = compiled.regressor(q, v, vdot).reshape(-1, len(pi))
    found, _, rank, _ = np.linalg.lstsq(Y, Y @ pi, rcond=1e-10)
    assert rank == 36                                                          # of the UR5's base parameters
    assert np.abs(found - pi).max() > 0.1
    q, v, vdot = rng.standard_normal((3, 6))
    np.testing.assert_allclose(compiled.regressor(q, v, vdot) @ found, compiled.rnea(q, v, vdot), atol=1e-9)


@pytest.mark.parametrize("kinds", [["universal", "spherical", "screw"], ["revolute", "prismatic", "planar"]])
def test_plain_is_interpreted_is_compiled(kinds: list[str]) -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, 3, kinds)
    q, v = (np.array(x) for x in zip(*[model.random(rng) for _ in range(4)], strict=True))
    check_lives(lambda q, v, x: dynamics.regressor(model, q, v, x), q, v, rng.standard_normal(v.shape), tolerance=1e-13)
    check_lives(lambda q, v: dynamics.momentum_regressor(model, q, v), q, v, tolerance=1e-13)
    check_lives(lambda q, v: dynamics.energy_regressor(model, q, v), q, v, tolerance=1e-13)
