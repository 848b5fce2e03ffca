"""Mobility (inverse effective mass) of joints and shapes, approximate, in the neutral configuration: it scales springs to steps.

They say how stiff a spring or a damper is for a step, and nothing else. Those of a model with parameters in place of its numbers are found
anew from these, traced where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.pairs import Pair, Placed, transformed_point
from engine.contact.world_axes import WorldAxes
from engine.dynamics.crba import crba, solve_from_leaves
from engine.dynamics.kinematics import body_poses
from engine.model import Model
from engine.model.parameters import is_number, split

Array = np.ndarray
#: the numbers of a model on which its inertia depends, by a parameter's kind
INERTIAL = "mass", "center", "inertia", "placement", "displacement", "armature"

#: of the mean of its diagonal: what a traced M has besides
LITTLE = 1e-9
#: binary digits of the exponent of a power of two
EXPONENTS = 9


def changes_inertia(names: Iterable[str]) -> bool:
    """Return whether one of some parameters is a number on which a model's inertia depends.

    >>> changes_inertia(["gravity", "damping.elbow"]), changes_inertia(["mass.tool"])
    (False, True)
    """
    return any(is_number(name) and split(name)[0] in INERTIAL for name in names)


def inverse_inertia(model: Model, led: Collection[int] = ()) -> Array:
    """Return M⁻¹ (nv, nv) in the neutral configuration; of what has no mass, or axes in line, zero, or where it is traced very much; and of
    velocities that are ``led``, which nothing changes, zero.

    >>> import engine
    >>> from engine.contact import inverse_inertia
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
    >>> inverse_inertia(builder.model())  # 1/kg
    array([[0.5]])
    """
    M = crba(model, model.neutral())
    if M.dtype == object:
        return solve_from_leaves(regular(M), np.eye(len(M)))
    free, inverse = [k for k in range(len(M)) if k not in led], np.zeros(M.shape)
    inverse[np.ix_(free, free)] = np.linalg.pinv(M[np.ix_(free, free)], hermitian=True)
    return inverse


def inverse_diagonal(model: Model) -> Array:
    """Return the diagonal (nv) of :func:`inverse_inertia`: where it is traced, Σ y² D⁻¹ with L y = e of M = L D Lᵀ, which is half of it."""
    M = crba(model, model.neutral())
    if M.dtype != object:
        return np.diag(np.linalg.pinv(M, hermitian=True))
    factored = ops.LDL(regular(M)[::-1, ::-1])
    y = factored.forward(np.eye(len(M)))
    return (factored.reciprocal @ (y * y))[::-1]


def regular(M: Array) -> Array:
    """Return M (nv, nv) with a little more on its diagonal, for where axes are in line."""
    return M + LITTLE * np.trace(M) / len(M) * np.eye(len(M))


def shape_mobility(model: Model, inverse: Array, s: Placed) -> Any:
    """Return the velocity that a unit impulse on a shape's centre leaves it with, a mean over directions, with M⁻¹ = ``inverse``."""
    if s.body < 0:
        return 0.0
    poses = body_poses(model, model.neutral())
    axes = WorldAxes(model, model.neutral(), poses, transformed_point(poses[s.body], s.center), frozenset(range(model.nv)))
    columns = {j: x[3:] for j, x in axes.relative(-1, s.body).items()}
    w = sum(inverse[i, j] * (a @ b) for i, a in columns.items() for j, b in columns.items()) / 3.0
    return power_of_two(w)


def power_of_two(w: Any) -> Any:
    """Return the power of two next to a number: so that few programs serve many pairs; zero of what is none.

    >>> power_of_two(0.7), power_of_two(3.0), power_of_two(0.0)
    (0.5, 4.0, 0.0)
    """
    if ops.graph_of(w) is None:
        return float(2.0 ** np.round(np.log2(w))) if w > 0.0 else 0.0
    k = ops.floor(ops.log(w) / np.log(2.0) + 0.5)
    size, found = abs(k), ops.where(w > 0.0, 1.0, 0.0)
    for bit in reversed(range(EXPONENTS)):                      # 2ᵏ is exact as a product of 2, 4, 16, …; that of exp(k log 2) is not
        has = size >= 2.0**bit
        factor = ops.where(k < 0.0, 2.0 ** -(2**bit), 2.0 ** (2**bit))
        found, size = found * ops.where(has, factor, 1.0), size - ops.where(has, 2.0**bit, 0.0)
    return found


def with_mobilities(model: Model, pairs: list[Pair]) -> list[Pair]:
    """Return pairs on a model with other numbers, with the mobilities there."""
    inverse, last = inverse_inertia(model), {s.link: s for pair in pairs for s in (pair.a, pair.b)}
    found = {link: shape_mobility(model, inverse, s) for link, s in last.items()}
    return [pair._replace(mobility=found[pair.a.link] + found[pair.b.link]) for pair in pairs]
