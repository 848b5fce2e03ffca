"""Mechanisms with loops to test on."""

from __future__ import annotations

import numpy as np

import engine
from engine.spatial import inertia, se3, so3

Y = (0.0, 1.0, 0.0)


def at(*p):
    return se3.pose(np.eye(3), np.array(p, dtype=float))


def rod(mass=1.0, length=1.0):
    """A thin rod along x from its link's origin."""
    return inertia.from_mass(mass, [0.5 * length, 0, 0], mass * length**2 / 12 * np.diag([0.0, 1.0, 1.0]))


def four_bars(n):
    """n squares in a row, of bars of 1 m and 1 kg in the x–z plane, as cranks on the ground and couplers on them, and the loops' ends.

    A crank's angle is from the x axis upwards (about −y); a coupler's is beside its crank's.
    """
    builder = engine.Builder(f"{n} four-bars")
    builder.add_link("ground")
    constraints = []
    for k in range(n + 1):
        builder.add_link(f"crank{k}", rod())
        builder.add_joint(f"pivot{k}", "revolute", "ground", f"crank{k}", at(k, 0, 0), axis=(0, -1, 0))
        if k < n:
            builder.add_link(f"coupler{k}", rod())
            builder.add_joint(f"pin{k}", "revolute", f"crank{k}", f"coupler{k}", at(1, 0, 0), axis=(0, -1, 0))
            constraints.append(engine.Hinge(f"coupler{k}", f"crank{k + 1}", (1, 0, 0), (1, 0, 0), Y, Y))
    return builder.model(), constraints


def upright(model, angle=0.5 * np.pi, rate=-1.0):
    """q and v of :func:`four_bars` with the cranks at an angle, turning at a rate; couplers stay level."""
    cranks = np.array([name.startswith("pivot") for name in model.labels("v")])
    return np.where(cranks, angle, -angle), np.where(cranks, rate, -rate)
