"""Kinematic trees to test on: random ones, and a flyer with an arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.model import KINDS, Builder, Mimic, Model
from engine.spatial import inertia, quaternion, se3, so3

ONE_COORDINATE = ("revolute", "continuous", "prismatic", "screw")


def random_tree(rng: np.random.Generator, n: int, kinds: Sequence[str] = tuple(KINDS), floating_base: bool = False,
                massless: float = 0.0, mimics: float = 0.0) -> Model:  # fmt: skip
    """A model of n joints ('j1', 'j2', …) whose kinds go round ``kinds`` in a shuffled order, with links 'l0' … 'ln'.

    Parents are random, so the depth-first order is not the declared one. A third of the placements have no rotation, a third
    quarter turns (with their rounding), a third any; half of the axes lie along x, y or z.

    Parameters
    ----------
    massless : share of the links without inertia, among those that can be without while the joint-space inertia stays regular
    mimics : share of the one-coordinate joints that follow another, by random ratios and offsets, in chains too
    """
    order = [kinds[i % len(kinds)] for i in range(n)]
    rng.shuffle(order)
    above = ["fixed", *order]                                   # kind of the joint above link i
    parents = [0, *(int(rng.integers(0, i)) for i in range(1, n + 1))]
    children: list[list[int]] = [[i for i in range(1, n + 1) if parents[i] == k] for k in range(n + 1)]
    light: set[int] = set()
    for i in range(1, n + 1):
        loaded = [c for c in children[i] if above[c] not in ("floating", "fixed")]
        slim = above[i] in (*ONE_COORDINATE, "fixed") and parents[i] not in light and (parents[i] or not floating_base)
        if slim and loaded and rng.random() < massless:
            light.add(i)
    builder = Builder("random tree")
    followed: list[str] = []
    for i in range(n + 1):
        builder.add_link(f"l{i}", inertia=np.zeros((6, 6)) if i in light else random_inertia(rng))
    for i in range(1, n + 1):
        bent = parents[i] in light                              # no axes in line across a body without inertia
        mimic = None
        if above[i] in ONE_COORDINATE:
            if followed and rng.random() < mimics:
                ratio = rng.uniform(0.5, 2) * rng.choice([-1, 1])
                mimic = Mimic(str(rng.choice(followed)), float(ratio), float(rng.uniform(-1, 1)))
            followed.append(f"j{i}")
        axis = random_axis(rng, bent)
        second = np.cross(axis, [0.36, 0.48, 0.8]) + 0.3 * axis
        builder.add_joint(f"j{i}", above[i], f"l{parents[i]}", f"l{i}", placement=random_placement(rng, bent),
                          axis=axis, axis2=second, pitch=float(rng.uniform(-0.5, 0.5)), mimic=mimic)  # fmt: skip
    return builder.model(floating_base)


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """G of a box of random size, mass, attitude and place."""
    T = se3.pose(quaternion.to_matrix(quaternion.random(rng)), rng.uniform(-0.3, 0.3, 3))
    return inertia.transformed(T, inertia.box(rng.uniform(0.5, 3), rng.uniform(0.2, 1, 3)))


def random_axis(rng: np.random.Generator, oblique: bool = False) -> np.ndarray:
    """Half of the time ±x, ±y or ±z."""
    axis = rng.standard_normal(3)
    return axis if oblique or rng.random() < 0.5 else np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])


def random_placement(rng: np.random.Generator, oblique: bool = False) -> np.ndarray:
    """No rotation, quarter turns about an axis, or any rotation; a position in the unit cube."""
    p = rng.uniform(-1, 1, 3)
    which = 2 if oblique else rng.integers(3)
    if which == 0:
        return se3.pose(np.eye(3), p)
    if which == 1:
        return se3.pose(so3.about(np.eye(3)[rng.integers(3)], np.pi / 2 * rng.integers(1, 4)), p)
    return se3.pose(quaternion.to_matrix(quaternion.random(rng)), p)


def flyer(joints: int, mass: float) -> Model:
    """A bus of a mass, kg, that floats, with an arm of so many joints about its axes in turn."""
    b = Builder("flyer")
    b.add_link("bus", inertia=inertia.box(mass, (0.6, 0.5, 0.7)))
    for k in range(joints):
        b.add_link(f"link{k}", inertia=inertia.from_mass(float(joints - k), np.array([0.2, 0.01, -0.02]), 0.1 * np.eye(3)))
        b.add_joint(f"joint{k}", "revolute", f"link{k - 1}" if k else "bus", f"link{k}", se3.pose(np.eye(3), np.array([0.4, 0.1, 0.0])),
                    axis=np.eye(3)[k % 3])  # fmt: skip
    return b.model(floating_base=True)
