"""Bodies: links rigidly joined, which move as one on one joint, or as a mimic joint's source does; their numbers may be traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import nearest
from engine.model.errors import ModelError
from engine.model.joint_types import Kind
from engine.model.tree import Joint, Link, ReadOnly, frozen
from engine.spatial import inertia

Array = NDArray[np.float64]
#: the pose of a body in its own frame
ITSELF = frozen(np.eye(4), (4, 4), "pose")


@dataclass(frozen=True, eq=False, repr=False)
class Body(ReadOnly):
    """A body moves as one: a joint that is not fixed, its child link, and every link welded to that child.

    Attributes
    ----------
    joint : the moving joint above the body
    parent : index of the parent body, −1 for the world
    placement : T_PJ, pose of the joint frame in the parent body's frame
    inertia : G of all welded links about the body's origin, 6×6
    q, v : where the joint's coordinates lie in the model's q and v (a mimic joint's: its source's)
    ratio, offset : the mimic relation, composed along a chain of mimics (1 and 0 for an ordinary joint)

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> arm.bodies[1].parent, arm.bodies[1].q, arm.bodies[1].kind.name
    (0, slice(1, 2, None), 'revolute')
    """

    joint: Joint
    parent: int
    placement: Array
    inertia: Array
    q: slice
    v: slice
    ratio: float = 1.0
    offset: float = 0.0

    def __repr__(self) -> str:
        return f"Body({self.joint}, parent {self.parent})"

    @property
    def kind(self) -> Kind:
        """The joint's kind."""
        return self.joint.type

    @property
    def mimics(self) -> bool:
        """True if the joint follows another, and so has no coordinates of its own."""
        return self.joint.mimic is not None

    def coordinates(self, q: Array) -> Array:
        """Return the joint's own coordinates out of the model's q: ratio · q + offset for a mimic."""
        own = q[self.q]
        return self.ratio * own + self.offset if self.mimics else own

    def joint_pose(self, q: Array) -> Array:
        """Return T_JC(q): pose of the body in the joint's frame."""
        return self.kind.pose(self.joint, self.coordinates(q))

    def pose(self, q: Array) -> Array:
        """Return T_PC(q) = T_PJ T_JC(q): pose of the body in its parent body."""
        return self.poses(q)[0]

    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return T_PC(q), see :meth:`pose`, and T_JC(q), which it is made of."""
        T_JC = self.joint_pose(q)
        return self.placement @ T_JC, T_JC

    def inertia_in_parent(self, T_JC: Array, G: Array) -> Array:
        """Return Ad(T_PC)⁻ᵀ G Ad(T_PC)⁻¹, through the joint, then through its placement: each has zeros that their product has not."""
        return inertia.transformed(self.placement, inertia.transformed(T_JC, G))

    def subspace(self, q: Array) -> Array:
        """Return S(q), 6×nv: the body's twist relative to its parent per unit of the model's v."""
        S = self.kind.subspace(self.joint, self.coordinates(q))
        return self.ratio * S if self.mimics else S

    def subspace_rate(self, q: Array, v: Array) -> Array:
        """Return Ṡ(q, v), 6×nv: zeros where S is constant."""
        rate = self.kind.subspace_rate
        return rate(self.joint, self.coordinates(q), v[self.v]) if rate else np.zeros((6, self.kind.nv))


def assemble_bodies(links: Iterable[Link], joints: Sequence[Joint]) -> tuple[tuple[Body, ...], tuple[tuple[int, Array], ...]]:
    """Return the bodies of a tree, in the order of its joints, and for each link the body that carries it, with its pose in it."""
    mimics = _mimics(joints)
    q, v, nq, nv = {}, {}, 0, 0
    for j in joints:
        if j.name not in mimics:
            q[j.name], v[j.name] = slice(nq, nq + j.type.nq), slice(nv, nv + j.type.nv)
            nq, nv = nq + j.type.nq, nv + j.type.nv
    above = {j.child: j for j in joints}
    bodies: list[Body] = []
    carrier: dict[str, tuple[int, Array]] = {}
    welded: list[list[tuple[Array, Array]]] = []
    poses: dict[tuple[int, int], Array] = {}                                   # by the arrays that they are made of: equal robots share
    for link in links:
        joint = above.get(link.name)
        body, T = carrier.get(joint.parent, (-1, ITSELF)) if joint else (-1, ITSELF)
        if joint:
            if (made_of := (id(T), id(joint.placement))) not in poses:
                poses[made_of] = read_only(welded_pose(T, joint.placement), f"joint '{joint.name}': the pose in the body that carries it")
            T = poses[made_of]
        if joint and joint.kind != "fixed":
            source, ratio, offset = mimics.get(joint.name, (joint.name, 1.0, 0.0))
            bodies.append(Body(joint, body, T, np.zeros((6, 6)), q[source], v[source], ratio, offset))
            welded.append([])
            body, T = len(bodies) - 1, ITSELF
        carrier[link.name] = body, T
        G = link.inertia
        if body >= 0 and (G.dtype == object or G.any()):
            welded[body].append((T, G))
    total: dict[tuple[int, ...], Array] = {}
    for k, parts in enumerate(welded):
        if (of := tuple(id(x) for part in parts for x in part)) not in total:
            total[of] = _total_inertia(parts)
        bodies[k] = replace(bodies[k], inertia=total[of])
    return tuple(bodies), tuple(carrier.values())


def _total_inertia(parts: Iterable[tuple[Array, Array]]) -> Array:
    """Return the inertia (6, 6) of parts with poses (4, 4) and inertias (6, 6) of their own."""
    own = [inertia.mirrored(G) if T is ITSELF else inertia.transformed(T, G) for T, G in parts]
    return read_only(_without_dust(sum(own, np.zeros((6, 6)))), "inertia")


def reflected(bodies: Iterable[Body], nv: int, number: str) -> Array:
    """Return what "damping" or "armature" of the joints is at each velocity of the model (nv): that of mimic joints ratio² times."""
    total: list[Any] = [0.0] * nv
    for b in bodies:
        for k in range(b.v.start, b.v.stop):
            total[k] = total[k] + b.ratio * (b.ratio * getattr(b.joint, number))
    return np.array(total)


def read_only(x: Array, what: str) -> Array:
    """Return x read-only and known to be finite, or traced as it is."""
    return x if x.dtype == object else frozen(x, x.shape, what)


def welded_pose(T_AB: Array, T_BC: Array) -> Array:
    """Return T_AB T_BC without the dust of rounding, where it is not traced: cos(1.5707963267948966) = 6e-17 is no structure, 0 is.

    Entries of the rotation within 1e-15 of 0 and ±1 are put there, of the position what is below 1e-15 of the longer one to 0: nothing
    above rounding moves.

    >>> quarter = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 6e-17, 0.0, 0.2], [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
    >>> welded_pose(np.eye(4), quarter)[1]
    array([1. , 0. , 0. , 0.2])
    """
    T = T_AB @ T_BC
    if T.dtype == object:
        return T
    reach = max(np.abs(T_AB[:3, 3]).max(), np.abs(T_BC[:3, 3]).max())
    near, dust = np.round(T), np.array([1.0, 1.0, 1.0, reach]) * 1e-15
    rotates = np.array([True, True, True, False])
    return np.where((np.abs(T - near) < dust) & (rotates & (np.abs(near) <= 1) | (near == 0)), near, T) + 0.0


def _without_dust(G: Array) -> Array:
    """Return G with the rounding errors of a rotation (below 1e-15 of the block's largest entry) made structural zeros."""
    if G.dtype == object:
        return G
    blocks = G.reshape(2, 3, 2, 3)
    largest = np.abs(blocks).max(axis=(1, 3), keepdims=True)
    return np.where(np.abs(blocks) < 1e-15 * largest, 0.0, blocks).reshape(6, 6)


def _mimics(joints: Sequence[Joint]) -> dict[str, tuple[str, float, float]]:
    """Return, for each mimic joint that moves, the joint at the end of its chain, and the composed ratio and offset."""
    by_name = {j.name: j for j in joints}
    result: dict[str, tuple[str, float, float]] = {}
    for joint in joints:
        chain: dict[str, Joint] = {}
        while joint.mimic is not None and joint.kind != "fixed" and joint.name not in result:
            chain[joint.name], name = joint, joint.mimic.source
            if name not in by_name:
                raise ModelError(f"joint '{joint.name}' mimics '{name}', which is not there{nearest(name, by_name)}")
            if name in chain:
                loop = [*list(chain)[list(chain).index(name) :], name]
                raise ModelError(f"joints {' → '.join(loop)} mimic one another in a circle")
            joint = by_name[name]
        if chain and (joint.kind == "fixed" or joint.type.nv != 1):
            raise ModelError(f"joint '{[*chain][-1]}' mimics '{joint.name}', which is {joint.kind}; expected a joint with one coordinate")
        end, ratio, offset = result.get(joint.name, (joint.name, 1.0, 0.0))
        for name, follower in reversed(chain.items()):
            rule = follower.mimic
            assert rule is not None
            ratio, offset = rule.ratio * ratio, rule.ratio * offset + rule.offset
            if not np.isfinite([ratio, offset]).all():
                what = f"with the ratio {ratio:g} and the offset {offset:g}"
                raise ModelError(f"joint '{name}' follows '{end}' {what}; expected finite numbers")
            result[name] = end, ratio, offset
    return result
