"""How fast the place of a contact goes as bodies slide and roll: by the curvature of both surfaces there.

Surfaces touch where the outward normal of the first is n and that of the second −n. Where the bodies' points go at v and their axes turn at
ω, and with the radii of curvature R (3, 3) of the surfaces in their tangent plane, the place goes at::

    ẋ = W_b (v_b + R_b (ω_b × n)) + W_a (v_a − R_a (ω_a × n))                        (1)
    W_b = R_a (R_a + R_b)⁻¹,  W_a = R_b (R_a + R_b)⁻¹                                (2)

and n turns at::

    ṅ = (R_a + R_b)⁻¹ (v_b − v_a + R_a (ω_a × n) + R_b (ω_b × n))                    (3)

so that a ball takes the place along on a table, and two equal balls each half of it. Of faces and edges places are taken for
points of the body: R is large in (2), so that what is curved takes them along, and zero in (1), where n turns with them. A corner has
R = 0: it takes the place along over the other's face, and n turns with that. Along n, where a gap opens or closes, places go by the same
parts: those of a corner on a ground stay on the corner.

Reference: Montana, *The kinematics of contact and grasp*, Int. J. of Robotics Research 7(3), 1988, the equations of contact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.geometry import Shape

Array = np.ndarray
#: R of what is flat: of what has no end, m, and of others' size
FLAT, FLAT_SIZES = 1e9, 1e3
#: sine of the tilt below which a cylinder's end or side counts as flat, and the lowest point of a rim is not followed any more
TILT = 0.02


class Surface(NamedTuple):
    """A surface where it touches: R = ``curved`` + ``large`` · ``flat``.

    Attributes
    ----------
    curved : radii of curvature, m, of the directions in which it is curved: a tensor (3, 3) of the tangent plane, or a number where all
        directions are alike
    flat : a tensor or a number, one in the directions in which it is flat, else zero
    large : R of those, m
    """

    curved: Any
    flat: Any
    large: Any = 0.0

    @property
    def R(self) -> Any:
        """Radii of curvature (3, 3), m, or a number."""
        return self.curved + self.large * self.flat

    def parallel(self, n: Array, x: Any) -> Surface:
        """Return the surface of normal n (3) that lies x farther out, m."""
        return self._replace(curved=self.curved + (x * (np.eye(3) - np.outer(n, n)) if np.ndim(self.curved) else x))


def surface(shape: Shape, turn: Array, n: Array, corner: Any = 0.0) -> Surface:
    """Return the surface of a shape where its outward normal is n (3), in the axes in which it has the rotation ``turn`` (3, 3); ``corner``
    is 1 at a corner of a box or a hull.

    An egg of 1 m and 2 m lies on its side: it rolls about its long axis as a ball of 1 m, and about the short one as one of 4 m.

    >>> surface(geometry.Ellipsoid((2.0, 1.0, 1.0)), np.eye(3), np.array([0.0, 0.0, -1.0])).curved
    array([[4., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    if isinstance(shape, (geometry.Sphere, geometry.Capsule)):
        return Surface(shape.radius, 0.0)
    if isinstance(shape, geometry.Ellipsoid):
        A = (turn * np.array(shape.radii) ** 2) @ turn.T
        reach = ops.sqrt(n @ A @ n)
        x = A @ n / reach
        return Surface((A - np.outer(x, x)) / reach, 0.0)                      # ∂x/∂n of its point x
    large = FLAT if isinstance(shape, geometry.GROUNDS) else FLAT_SIZES * shape.bounding_radius
    if not isinstance(shape, geometry.Cylinder):
        return Surface(0.0, 1.0 - corner, large)
    along, lean = ops.cross(turn[:, 2], n), turn[:, 2] @ n                     # along the rim, as long as the sine of its tilt
    tilt, line = along @ along, np.outer(along, along)
    least = tilt + TILT**2
    curved = shape.radius * ((1.0 + TILT**2) / least) ** 1.5 * line            # r/sin θ along the rim
    sharp = tilt / least * lean * lean / (lean * lean + TILT**2)               # across it, unless the end or the side lies flat
    return Surface(curved, (1.0 - sharp) * (np.eye(3) - np.outer(n, n) - line / least), large)


def place_velocity(n: Array, gap: Any, surfaces: tuple[Surface, Surface], velocities: tuple[Array, Array],
                   turns: tuple[Array, Array]) -> Array:  # fmt: skip
    """Return ẋ (3) of (1), of a place midway between two surfaces a ``gap`` apart, of whose normal n, the velocities (3) of the bodies'
    points there and angular velocities (3), in the same axes.

    A wheel of 1 m that rolls at 2 rad/s touches the ground at a place that goes at 2 m/s, though nothing of the wheel moves there:

    >>> still, ground, wheel = np.zeros(3), Surface(0.0, 1.0, FLAT), Surface(1.0, 0.0)
    >>> place_velocity(np.array([0.0, 0.0, 1.0]), 0.0, (ground, wheel), (still, still), (still, np.array([0.0, 2.0, 0.0]))).round(6)
    array([2., 0., 0.])
    """
    a, b = (s.parallel(n, 0.5 * gap) for s in surfaces)                        # those that touch midway
    x_a, x_b = (ops.cross(w, n) for w in turns)
    u_a = velocities[0] - applied(a.curved, x_a - applied(b.flat, x_b))        # n turns with what is flat
    u_b = velocities[1] + applied(b.curved, x_b - applied(a.flat, x_a))
    return weighted_mean(a, b, n, u_a, u_b)


def normal_rate(n: Array, gap: Any, surfaces: tuple[Surface, Surface], velocities: tuple[Array, Array],
                turns: tuple[Array, Array]) -> Array:  # fmt: skip
    """Return ṅ (3) of (3), of the normal of two surfaces a ``gap`` apart, of the same as :func:`place_velocity`.

    Two balls of 1 m pass each other at 2 m/s, and the line through their middles turns at 1 rad/s:

    >>> still, ball, n = np.zeros(3), Surface(1.0, 0.0), np.array([0.0, 0.0, 1.0])
    >>> normal_rate(n, 0.0, (ball, ball), (still, np.array([2.0, 0.0, 0.0])), (still, still))
    array([1., 0., 0.])
    """
    a, b = (s.parallel(n, 0.5 * gap) for s in surfaces)
    u_a, u_b = (u + sign * applied(s.R, ops.cross(w, n)) for s, sign, u, w in zip((a, b), (-1.0, 1.0), velocities, turns, strict=True))
    u = u_b - u_a
    t = u - (n @ u) * n
    return t / (a.R + b.R) if not np.ndim(a.curved) and not np.ndim(b.curved) else inverse_of(*radii(a, b, n))(t)


def applied(R: Any, x: Array) -> Array:
    """Return R x (3) of a tensor (3, 3) or a number, with x (3) in the tangent plane."""
    return R @ x if np.ndim(R) else R * x


def weighted_mean(a: Surface, b: Surface, n: Array, u_a: Array, u_b: Array) -> Array:
    """Return W_a u_a + W_b u_b (3) of (2), the parts that two surfaces have in the place's velocity; along n by their mean radii."""
    if not np.ndim(a.curved) and not np.ndim(b.curved):
        return b.R / (a.R + b.R) * u_a + a.R / (a.R + b.R) * u_b
    A, B = radii(a, b, n)
    inverse, trace = inverse_of(A, B), np.trace(A + B)

    def part(R: Array, u: Array) -> Array:
        along = n @ u
        return R @ inverse(u - along * n) + np.trace(R) / trace * along * n

    return part(B, u_a) + part(A, u_b)


def radii(a: Surface, b: Surface, n: Array) -> tuple[Array, Array]:
    """Return R_a and R_b (3, 3), tensors of the tangent plane."""
    P = np.eye(3) - np.outer(n, n)
    A, B = (s.R if np.ndim(s.curved) else s.R * P for s in (a, b))
    return A, B


def inverse_of(A: Array, B: Array) -> Callable[[Array], Array]:
    """Return the map of vectors t (3) of the tangent plane to (R_a + R_b)⁻¹ t, by Cayley and Hamilton."""
    M = A + B
    trace = np.trace(M)
    determinant = 0.5 * (trace * trace - np.sum(M * M))
    return lambda t: (trace * t - M @ t) / determinant
