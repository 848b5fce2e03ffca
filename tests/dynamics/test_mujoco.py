"""MuJoCo agrees: another algorithm, other coordinates, another reader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import Model, dynamics
from engine.model import KINDS
from tests.dynamics.oracle_mujoco import MuJoCo, built, from_urdf
from tests.dynamics.support import error, file, robot, sensitivity, some_links, without_mimics
from tests.trees import random_tree

GRAVITY = (0.3, -0.2, -9.81)
TOLERANCE = 2e-14


def agree(model: Model, theirs: Any, rng: np.random.Generator) -> None:
    reference = MuJoCo(model, theirs, GRAVITY)
    q, v = model.random(rng)
    vdot = rng.standard_normal(model.nv)
    links = [link for link in some_links(model, rng, 5) if link != model.links[0].name or "floating" in model.joints[0].kind]
    pushed = {link: rng.standard_normal(6) for link in links}
    wrenches = np.zeros((len(model.links), 6))
    for link, wrench in pushed.items():
        wrenches[model.link_index(link)] = wrench

    tau, M = dynamics.rnea(model, q, v, vdot, GRAVITY), dynamics.crba(model, q)
    assert error(tau, reference.rnea(q, v, vdot)) < TOLERANCE
    assert error(M, reference.crba(q)) < TOLERANCE
    ours = dynamics.aba(model, q, v, tau, GRAVITY, wrenches)
    assert error(ours, reference.aba(q, v, tau, pushed), sensitivity(M, tau)) < TOLERANCE

    poses = dynamics.forward_kinematics(model, q)
    for link in links:
        J, Jdot = reference.jacobians(q, v, link)
        assert error(poses[model.link_index(link)], reference.pose(q, link)) < TOLERANCE
        assert error(dynamics.jacobian(model, q, link), J) < TOLERANCE
        assert error(dynamics.jacobian_dot(model, q, v, link), Jdot, float(np.abs(J).max() * np.abs(v).max())) < TOLERANCE
    height = float(np.abs(poses[:, :3, 3]).max())
    for ours, other in zip(dynamics.energy(model, q, v, GRAVITY), reference.energy(q, v), strict=True):
        assert error(ours, other, sum(body.inertia[5, 5] for body in model.bodies) * 9.81 * height) < TOLERANCE
    assert error(dynamics.center_of_mass(model, q), reference.center_of_mass(q), height) < TOLERANCE


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("panda", False), ("kinova", False), ("a1", True), ("g1", True),
                                                     ("talos", True)])  # fmt: skip
@pytest.mark.parametrize("seed", range(2))
def test_robots(name: str, floating_base: bool, seed: int) -> None:
    model = without_mimics(robot(name, floating_base))
    agree(model, from_urdf(file(name), model.links[0].name if floating_base else ""), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(seed: int) -> None:
    """Of all kinds that MuJoCo has, or that are some of its joints in a row."""
    rng = np.random.default_rng(seed)
    kinds = [k for k in KINDS if k not in ("floating", "screw")]
    model = random_tree(rng, int(rng.integers(3, 40)), kinds=kinds, floating_base=bool(seed % 2))
    agree(model, built(model), rng)
