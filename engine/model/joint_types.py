"""The kinds of joint: what each adds to q and v, its pose T_JC(q), its motion subspace S(q) and its manifold.

A kind is a :class:`Kind` in the table ``KINDS``; the algorithms of ``dynamics`` know nothing else about it. (A URDF's own words for kinds
are in ``io.urdf``.) ``S`` is 6×nv in the child's frame, ``V_C = Ad(T_PC)⁻¹ V_P + S v``; where S depends on q the kind has its rate Ṡ(q, v).
All are traceable. References: Featherstone, *Rigid Body Dynamics Algorithms*, §4.4; NOTATION.md for orders and frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine import ops
from engine.spatial import manifold, quaternion, se3, so3
from engine.spatial.manifold import Manifold

Array = np.ndarray
ZERO3 = np.zeros(3)


@dataclass(frozen=True)
class Limits:
    """Bounds on a joint's coordinate (rad or m), speed and force; infinite where there are none.

    Those on the acceleration where it speeds up, on that where it slows down, and on the jerk (rad/s³ or m/s³) are for who plans motions:
    nothing here holds them.

    >>> Limits(lower=-1.0, upper=2.0, effort=80.0).effort
    80.0
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf
    deceleration: float = np.inf
    jerk: float = np.inf


class Axes(Protocol):
    """The part of a joint that a kind reads: the directions it moves along or about, in the joint frame, and how far."""

    @property
    def name(self) -> str: ...
    @property
    def axis(self) -> Array: ...
    @property
    def axis2(self) -> Array: ...
    @property
    def pitch(self) -> float: ...
    @property
    def limits(self) -> Limits: ...


@dataclass(frozen=True)
class Kind:
    """A kind of joint: its coordinates and velocities, what they are called and measured in, and how it moves.

    A kind with one coordinate has no names for entries: the joint's own name says it.

    >>> from engine.model import KINDS
    >>> KINDS["planar"].nq, KINDS["spherical"].nq, KINDS["spherical"].nv
    (3, 4, 3)
    """

    name: str
    manifold: Manifold                                    # of its coordinates: ⊕, ⊖ and the rest
    units: tuple[str, ...]                                # of the motion along each velocity: "rad" or "m"
    pose: Callable[[Axes, Array], Array]                 # T_JC(q): child in the joint frame, 4×4
    subspace: Callable[[Axes, Array], Array]             # S(q), 6×nv
    random: Callable[[Axes, np.random.Generator], Array]  # within the joint's limits
    subspace_rate: Callable[[Axes, Array, Array], Array] | None = None  # Ṡ(q, v), 6×nv; None where S is constant
    q_names: tuple[str, ...] = ("",)                      # of the entries of q, after the joint's name
    v_names: tuple[str, ...] = ("",)                      # of the entries of v

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.manifold.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.manifold.nv

    @property
    def floats(self) -> bool:
        """True if the child moves freely in all six directions."""
        return self.manifold is manifold.MOTION

    @property
    def adds(self) -> bool:
        """True if the coordinates are numbers that add, q ⊕ d = q + d, so that limits are bounds on them."""
        return self.manifold.flat

    @property
    def force_units(self) -> tuple[str, ...]:
        """Units of the force along each velocity: "N·m" or "N"."""
        return tuple("N·m" if u == "rad" else "N" for u in self.units)


def columns(*twists: Array) -> Array:
    return np.stack(twists, axis=-1)


def within_limits(joint: Axes, rng: np.random.Generator, reach: float) -> float:
    """Return a random number, uniform between the limits where both are finite, else within ±reach of what is allowed."""
    low, high = joint.limits.lower, joint.limits.upper
    if not np.isfinite(low):
        low = high - 2 * reach if np.isfinite(high) else -reach
    if not np.isfinite(high):
        high = low + 2 * reach
    return float(rng.uniform(low, high))


# ---------------------------------------------------------------- one degree of freedom


def revolute_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(so3.about(joint.axis, q[0]), ZERO3)


def prismatic_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(np.eye(3), joint.axis * q[0])


def screw_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(so3.about(joint.axis, q[0]), joint.axis * (joint.pitch * q[0]))


def line(kind: str, unit: str, pose: Callable[..., Array], twist: Callable[[Axes], Array]) -> Kind:
    """Return a kind with one coordinate q, its velocity q̇ and a constant twist; without limits random ones are within π rad or 1 m."""
    reach = np.pi if unit == "rad" else 1.0
    return Kind(kind, manifold.vector(1), (unit,), pose, lambda j, q: columns(twist(j)),
                lambda j, rng: np.array([within_limits(j, rng, reach)]))  # fmt: skip


def revolute_twist(joint: Axes) -> Array:
    return np.concatenate([joint.axis, ZERO3])


# ---------------------------------------------------------------- universal: axis fixed in the parent, axis2 in the child


def universal_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(so3.about(joint.axis, q[0]) @ so3.about(joint.axis2, q[1]), ZERO3)


def universal_subspace(joint: Axes, q: Array) -> Array:
    first = so3.about(joint.axis2, q[1]).T @ joint.axis                        # R₂ᵀ a₁
    return columns(np.concatenate([first, ZERO3]), np.concatenate([joint.axis2, ZERO3]))


def universal_rate(joint: Axes, q: Array, v: Array) -> Array:
    first = so3.about(joint.axis2, q[1]).T @ joint.axis
    return columns(np.concatenate([ops.cross(first, joint.axis2) * v[1], ZERO3]), np.zeros(6))   # d/dt R₂ᵀa₁ = R₂ᵀa₁ × a₂ q̇₂


# ---------------------------------------------------------------- spherical


def spherical_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(quaternion.to_matrix(quaternion.normalize(q)), ZERO3)


def spherical_subspace(joint: Axes, q: Array) -> Array:
    return np.eye(6)[:, :3]


# ---------------------------------------------------------------- planar: q = [x y θ], v = [vx vy ω] in the child frame


def planar_pose(joint: Axes, q: Array) -> Array:
    e1, e2 = plane(joint.axis)
    return se3.pose(so3.about(joint.axis, q[2]), e1 * q[0] + e2 * q[1])


def plane(normal: Array) -> tuple[Array, Array]:
    """Return axes e1, e2 with e1 × e2 = normal: (x, y) for z, and cyclically."""
    k = int(np.argmax(np.abs(normal)))
    e1 = np.eye(3)[(k + 1) % 3]
    e1 = e1 - normal * (normal @ e1)
    e1 = e1 / np.linalg.norm(e1)
    return e1, ops.cross(normal, e1)


def planar_subspace(joint: Axes, q: Array) -> Array:
    e1, e2 = plane(joint.axis)
    return columns(np.concatenate([ZERO3, e1]), np.concatenate([ZERO3, e2]), np.concatenate([joint.axis, ZERO3]))


# ---------------------------------------------------------------- floating: q = [quaternion, p], v the body twist


def floating_pose(joint: Axes, q: Array) -> Array:
    return se3.pose(quaternion.to_matrix(quaternion.normalize(q[:4])), q[4:])


QUATERNION, TURNING, MOVING = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz"), ("vx", "vy", "vz")
KINDS: dict[str, Kind] = {
    k.name: k
    for k in (
        line("revolute", "rad", revolute_pose, revolute_twist),
        line("continuous", "rad", revolute_pose, revolute_twist),
        line("prismatic", "m", prismatic_pose, lambda j: np.concatenate([ZERO3, j.axis])),
        line("screw", "rad", screw_pose, lambda j: np.concatenate([j.axis, j.pitch * j.axis])),
        Kind("fixed", manifold.vector(0), (), lambda j, q: np.eye(4), lambda j, q: np.zeros((6, 0)), lambda j, rng: np.zeros(0),
             q_names=(), v_names=()),
        Kind("universal", manifold.vector(2), ("rad",) * 2, universal_pose, universal_subspace,
             lambda j, rng: np.array([within_limits(j, rng, np.pi) for _ in range(2)]), universal_rate, ("1", "2"), ("1", "2")),
        Kind("planar", manifold.PLANE, ("m", "m", "rad"), planar_pose, planar_subspace, lambda j, rng: manifold.PLANE.random(rng),
             q_names=("x", "y", "angle"), v_names=("vx", "vy", "w")),
        Kind("spherical", manifold.ROTATION, ("rad",) * 3, spherical_pose, spherical_subspace,
             lambda j, rng: manifold.ROTATION.random(rng), q_names=QUATERNION, v_names=TURNING),
        Kind("floating", manifold.MOTION, ("rad",) * 3 + ("m",) * 3, floating_pose, lambda j, q: np.eye(6),
             lambda j, rng: manifold.MOTION.random(rng), q_names=(*QUATERNION, "x", "y", "z"), v_names=TURNING + MOVING),
    )
}  # fmt: skip
