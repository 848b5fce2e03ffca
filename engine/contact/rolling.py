"""How fast the place of a contact goes as bodies slide and roll: with the curvature of both surfaces there.

A surface touches where its outward normal is that of the contact, n on the first body and −n on the second. On a body that turns at ω while
n stays, the place runs along the surface at −ρ (ω × n), with ρ (3, 3) of its radii of curvature in the tangent plane; surfaces that roll on
each other share the turn of n, and so the place goes at::

    ẋ = W (v_b + ρ_b (ω_b × n)) + (1 − W)(v_a − ρ_a (ω_a × n))                       (1)
    W = R_a (R_a + R_b)⁻¹                                                            (2)

with the velocities v of the bodies' points there. In directions in which a surface is curved R is ρ; where it is flat, an edge or a
corner, ρ is zero, since its places are points of the body, and R large, so that what is curved takes its place along.

Reference: Montana, *The kinematics of contact and grasp*, Int. J. of Robotics Research 7(3), 1988, the equations of contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import geometry, ops
from engine.geometry import Shape

Array = np.ndarray
#: R of what is flat: of what has no end, m, and of others' size
FLAT, FLAT_SIZES = 1e9, 1e3
#: sine of the tilt below which the lowest point of a cylinder's rim is not followed any more
TILT = 0.02


def radii(shape: Shape, turn: Array, n: Array) -> tuple[Any, Any]:
    """Return R and ρ, m, of a shape where its outward normal is n (3): tensors (3, 3) of the tangent plane, in the axes in which the shape
    has the rotation ``turn`` (3, 3), or numbers where all directions are alike.

    An egg of 1 m and 2 m lies on its side: it rolls about its long axis as a cylinder of 1 m, and about the short one as one of 4 m.

    >>> R, rho = radii(geometry.Ellipsoid((2.0, 1.0, 1.0)), np.eye(3), np.array([0.0, 0.0, -1.0]))
    >>> rho
    array([[4., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    if isinstance(shape, (geometry.Sphere, geometry.Capsule)):
        return shape.radius, shape.radius
    if isinstance(shape, geometry.Ellipsoid):
        A = (turn * np.array(shape.radii) ** 2) @ turn.T
        reach = ops.sqrt(n @ A @ n)
        x = A @ n / reach
        rho = (A - np.outer(x, x)) / reach                                     # ∂x/∂n of its point x
        return rho, rho
    flat = FLAT if isinstance(shape, geometry.GROUNDS) else FLAT_SIZES * shape.bounding_radius
    if not isinstance(shape, geometry.Cylinder):
        return flat, 0.0
    along = ops.cross(turn[:, 2], n)                                           # of the rim, as long as the sine of its tilt
    tilt = along @ along
    least = tilt + TILT**2
    rho = shape.radius * ((1.0 + TILT**2) / least) ** 1.5 * np.outer(along, along)      # r/sin θ, as a cone's
    return flat * (np.eye(3) - np.outer(n, n) - np.outer(along, along) / least) + rho, rho


def place_velocity(n: Array, gap: Any, surfaces: tuple[tuple[Any, Any], ...], velocities: tuple[Array, Array],
                   turns: tuple[Array, Array]) -> Array:  # fmt: skip
    """Return ẋ (3) of (1), of a place midway between two surfaces a ``gap`` apart, of whose normal n, :func:`radii`, the velocities (3) of
    the bodies' points there and angular velocities (3), in the same axes.

    A wheel of 1 m that rolls at 2 rad/s touches the ground at a place that goes at 2 m/s, though nothing of the wheel moves there:

    >>> still, ground, wheel = np.zeros(3), (FLAT, 0.0), (1.0, 1.0)
    >>> place_velocity(np.array([0.0, 0.0, 1.0]), 0.0, (ground, wheel), (still, still), (still, np.array([0.0, 2.0, 0.0]))).round(6)
    array([2., 0., 0.])
    """
    (R_a, rho_a), (R_b, rho_b) = surfaces
    x_a, x_b = (ops.cross(w, n) for w in turns)
    u_a = velocities[0] - tangent(rho_a, x_a) - 0.5 * gap * x_a                # surfaces that touch midway have radii ρ + gap/2
    u_b = velocities[1] + tangent(rho_b, x_b) + 0.5 * gap * x_b
    return u_a + share(R_a, R_b, n, u_b - u_a)


def tangent(R: Any, x: Array) -> Array:
    """Return R x (3) of R or ρ as :func:`radii` has them, with x (3) in the tangent plane."""
    return R @ x if np.ndim(R) else R * x


def share(R_a: Any, R_b: Any, n: Array, x: Array) -> Array:
    """Return W x (3) of (2); of x along n a half, where W is no number."""
    if not np.ndim(R_a) and not np.ndim(R_b):
        return R_a / (R_a + R_b) * x
    t = x - (n @ x) * n
    P = np.eye(3) - np.outer(n, n)
    M = sum(R if np.ndim(R) else R * P for R in (R_a, R_b))
    trace = M[0, 0] + M[1, 1] + M[2, 2]
    determinant = 0.5 * (trace * trace - np.sum(M * M))
    return tangent(R_a, trace * t - M @ t) / determinant + 0.5 * (n @ x) * n   # M⁻¹ in the plane, by Cayley and Hamilton
