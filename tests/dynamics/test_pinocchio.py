"""Pinocchio agrees, on every robot of example-robot-data and on random trees of every kind of joint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import Model, dynamics
from tests.dynamics.oracle_pinocchio import Pinocchio, built, from_urdf
from tests.dynamics.support import ROBOTS, error, file, robot, sensitivity, some_links, without_mimics
from tests.trees import random_tree

GRAVITY = (0.3, -0.2, -9.81)
#: placements within 1e-12 of a structure are taken for it, which Pinocchio does not do
TOLERANCE = 1e-12
#: files that describe no robot: a joint mimics one that is not there; nothing in the file
BROKEN = {"alex_description/urdf/alex_psyonic_hands.urdf", "ur_description/urdf/ur3.urdf"}
#: robots whose last joints move no mass
SINGULAR = {"romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_laas_small.urdf"}
EVERY = sorted(str(path.relative_to(ROBOTS)) for path in ROBOTS.rglob("*.urdf"))
FIXED_OR_FLOATING = pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])


def agree(model: Model, theirs: Any, rng: np.random.Generator, tolerance: float, singular: bool = False, rates: bool = True) -> None:
    """Everything that both compute, at one random state with random wrenches on all links."""
    reference = Pinocchio(model, theirs, GRAVITY)
    q, v = model.random(rng)
    vdot, wrenches = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6)) * 10
    mass = sum(body.inertia[5, 5] for body in model.bodies)

    tau, bias, M = dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches), dynamics.bias(model, q, v, GRAVITY), dynamics.crba(model, q)
    assert error(tau, reference.rnea(q, v, vdot, wrenches)) < tolerance
    assert error(bias, reference.bias(q, v)) < tolerance
    assert error(dynamics.gravity_forces(model, q, GRAVITY), reference.gravity_forces(q)) < tolerance
    assert error(M, reference.crba(q)) < tolerance

    if singular:
        with pytest.raises(engine.StateError, match="moves no mass"):
            dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    else:
        ours, other = dynamics.aba(model, q, v, tau, GRAVITY, wrenches), reference.aba(q, v, tau, wrenches)
        scale = sensitivity(M, tau, bias)
        assert error(ours, other, scale) < tolerance
        assert error(M @ ours + bias, M @ other + bias, float(max(np.abs(tau).max(), np.abs(bias).max()))) < tolerance
        if scale < 1e4 * np.abs(other).max():
            assert error(ours, other) < 1e-9

    poses = dynamics.forward_kinematics(model, q)
    for link in some_links(model, rng, 4):
        assert error(poses[model.link_index(link)], reference.pose(q, link)) < tolerance
        for frame in ("body", "world", "world_aligned"):
            J = reference.jacobian(q, link, frame)
            assert error(dynamics.jacobian(model, q, link, frame), J) < tolerance
            if rates:
                ours, other = dynamics.jacobian_dot(model, q, v, link, frame), reference.jacobian_dot(q, v, link, frame)
                assert error(ours, other, float(np.abs(J).max() * np.abs(v).max())) < tolerance
    J, drift = reference.center_of_mass_jacobian(q), reference.center_of_mass_acceleration(q, v, 0 * v)
    assert error(dynamics.center_of_mass_jacobian(model, q), J) < tolerance
    if rates:
        ours = dynamics.center_of_mass_jacobian_dot(model, q, v) @ v
        assert error(ours, drift, float(np.abs(J).max() * np.abs(v).max() ** 2)) < tolerance

    height = float(np.abs(poses[:, :3, 3]).max())  # potential energies of both signs cancel
    for ours, other in zip(dynamics.energy(model, q, v, GRAVITY), reference.energy(q, v), strict=True):
        assert error(ours, other, mass * 9.81 * height) < tolerance
    assert error(dynamics.momentum(model, q, v), reference.momentum(q, v)) < tolerance
    assert error(dynamics.center_of_mass(model, q), reference.center_of_mass(q), height) < tolerance


def test_they_are_there() -> None:
    assert len(EVERY) > 60


@pytest.mark.parametrize(("path", "floating_base"), [(path, bool(k % 2)) for k, path in enumerate(EVERY)])
def test_every_robot(path: str, floating_base: bool) -> None:
    """In turn with its base fixed and floating."""
    if path in BROKEN:
        with pytest.raises(engine.RobotFileError):
            robot(path)
        return
    model = without_mimics(robot(path, floating_base))
    if model.nv:
        agree(model, from_urdf(file(path), floating_base), np.random.default_rng(len(path)), TOLERANCE, path in SINGULAR)
    else:  # nothing moves, which Pinocchio does not survive
        none = np.zeros(0)
        assert dynamics.rnea(model, none, none, none).shape == dynamics.aba(model, none, none, none).shape == (0,)
        assert dynamics.crba(model, none).shape == (0, 0)
        assert dynamics.jacobian(model, none, model.links[-1].name).shape == (6, 0)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_of_every_kind(seed: int) -> None:
    """Their J̇ leaves out Ṡ, so that trees with universal joints are compared without it (and with MuJoCo's)."""
    rng = np.random.default_rng(seed)
    kinds = [k for k in engine.model.KINDS if seed % 2 or k != "universal"]
    model = random_tree(rng, int(rng.integers(5, 41)), kinds=kinds, floating_base=bool(seed % 3), massless=0.4 * (seed % 2))
    agree(model, built(model), rng, 2e-14, rates="universal" not in kinds)


@FIXED_OR_FLOATING
@pytest.mark.parametrize("name", ["baxter", "panda", "pr2", "tiago pro"])
def test_mimic_joints(name: str, floating_base: bool) -> None:
    """What Pinocchio has for models with mimic joints (those whose source comes later in its own order it cannot read)."""
    model = robot(name, floating_base)
    assert any(body.mimics for body in model.bodies)
    reference = Pinocchio(model, from_urdf(file(name), floating_base, mimic=True), GRAVITY)
    rng = np.random.default_rng(0)
    q, v = model.random(rng)
    vdot, wrenches = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6)) * 10
    assert error(dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches), reference.rnea(q, v, vdot, wrenches)) < TOLERANCE
    assert error(dynamics.bias(model, q, v, GRAVITY), reference.bias(q, v)) < TOLERANCE
    assert error(dynamics.gravity_forces(model, q, GRAVITY), reference.gravity_forces(q)) < TOLERANCE
    assert error(dynamics.crba(model, q), reference.crba(q)) < TOLERANCE
    for link in some_links(model, rng, 8):
        assert error(dynamics.forward_kinematics(model, q)[model.link_index(link)], reference.pose(q, link)) < TOLERANCE


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("kinova", False), ("tiago", False), ("a1", True)])
def test_compiled_robots(name: str, floating_base: bool) -> None:
    model = without_mimics(robot(name, floating_base))
    reference = Pinocchio(model, from_urdf(file(name), floating_base), GRAVITY)
    compiled = engine.compile(model, gravity=GRAVITY)
    rng = np.random.default_rng(1)
    states = [model.random(rng) for _ in range(20)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    vdot = rng.standard_normal(v.shape)
    tau, M, back = compiled.rnea(q, v, vdot), compiled.crba(q), compiled.aba(q, v, compiled.rnea(q, v, vdot))
    for k in range(len(q)):
        assert error(tau[k], reference.rnea(q[k], v[k], vdot[k])) < TOLERANCE
        assert error(M[k], reference.crba(q[k])) < TOLERANCE
        assert error(back[k], reference.aba(q[k], v[k], tau[k]), sensitivity(M[k], tau[k], reference.bias(q[k], v[k]))) < TOLERANCE
