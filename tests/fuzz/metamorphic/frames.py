"""The world seen otherwise: turned, reflected, in other units, from a frame that moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import engine
from engine.components.actuators import ReactionWheels
from engine.components.forces import CentralGravity, PointForce
from engine.model import Joint, Link
from engine.model.combine import WORLD
from engine.model.joint_types import plane
from engine.spatial import quaternion, se3
from tests.fuzz.metamorphic.scene import Scene, floating, mapped, pose_of
from tests.fuzz.metamorphic.seen import Seen, View

Array = np.ndarray
#: the reflection at the plane x = 0, of vectors and of pseudo-vectors
M, P = np.diag([-1.0, 1.0, 1.0]), np.diag([1.0, -1.0, -1.0])


# ---------------------------------------------------------------- turned and shifted


def turned(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """No direction and no place is special: a world that is turned and shifted, with its gravity, ground and fields, moves as it did."""
    Q, t = quaternion.to_matrix(quaternion.random(rng)), rng.uniform(-2, 2, 3)
    T, roots = se3.pose(Q, t), scene.roots
    carried = [joint.name for joint in roots if joint.kind == "floating" and rng.random() < 0.5]    # others by their placements
    q = dict(scene.q)
    for joint in roots:
        if joint.name in carried:
            own = joint.placement
            q |= mapped(q, [joint.name], lambda row, own=own: floating(se3.inv(own) @ T @ own @ pose_of(row)))
    joints = tuple(replace(j, placement=T @ j.placement) if j in roots and j.name not in carried else j for j in scene.joints)
    made = replace(scene, joints=joints, q=q, gravity=Q @ scene.gravity, contacts=ground_moved(scene.contacts, T),
                   constraints=tuple(tied(c, {WORLD: T}) for c in scene.constraints),
                   forces=tuple(force_turned(f, Q, t) for f in scene.forces))  # fmt: skip

    def back(s: Seen) -> Seen:
        return replace(s, R=Q.T @ s.R, p=(s.p - t) @ Q, w=s.w @ Q, u=s.u @ Q)

    return made, back


def ground_moved(contacts: Any, T: Array) -> Any:
    """Contacts with a ground that is moved."""
    if contacts is None or contacts.ground is None:
        return contacts
    normal = T[:3, :3] @ np.array(contacts.ground.normal)
    ground = replace(contacts.ground, normal=tuple(normal), offset=float(contacts.ground.offset + normal @ T[:3, 3]))
    return replace(contacts, ground=ground)


def tied(c: Any, frames: dict[str, Array]) -> Any:
    """A constraint on links whose frames are elsewhere: x in the old frame is T x in the new one, by link."""
    if isinstance(c, engine.Grip):
        return c
    T_a, T_b = (frames.get(link, np.eye(4)) for link in (c.link_a, c.link_b))
    if isinstance(c, engine.Weld):
        return replace(c, pose_ab=T_a @ c.pose_ab @ se3.inv(T_b))
    new = {"point_a": T_a[:3] @ np.append(c.point_a, 1.0), "point_b": T_b[:3] @ np.append(c.point_b, 1.0)}
    if isinstance(c, engine.Hinge):
        new |= {"axis_a": T_a[:3, :3] @ c.axis_a, "axis_b": T_b[:3, :3] @ c.axis_b}
    return replace(c, **new)


def force_turned(f: Any, Q: Array, t: Array) -> Any:
    """A force in world axes that are turned and shifted."""
    if isinstance(f, CentralGravity):
        return CentralGravity(f.mu, Q @ f.center + t, f.name)
    if isinstance(f, PointForce) and f.axes == "world":
        return PointForce(f.link, Q @ f.force, Q @ f.moment, f.point, f.axes, f.name)
    return f


# ---------------------------------------------------------------- reflected


def reflected(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """Mechanics knows no left and right: the mirror image of a scene moves as the mirror image of its motion.

    Every frame is mirrored with its axes, F′ = M F M: vectors are x′ = M x, pseudo-vectors, such as axes of rotation, x′ = det(M) M x.
    """
    joints = tuple(mirror_joint(joint) for joint in scene.joints)
    q, v = dict(scene.q), dict(scene.v)
    for old, new in zip(scene.joints, joints, strict=True):
        q = mapped(q, [old.name], lambda x, old=old, new=new: mirror_q(old, new, x))
        v = mapped(v, [old.name], lambda x, old=old, new=new: mirror_v(old, new, x))
    made = replace(scene, links=tuple(mirror_link(link) for link in scene.links), joints=joints, q=q, v=v, gravity=M @ scene.gravity,
                   contacts=mirror_ground(scene.contacts), constraints=tuple(mirror_constraint(c) for c in scene.constraints),
                   forces=tuple(mirror_force(f) for f in scene.forces),
                   actuators=tuple(mirror_wheels(w) for w in scene.actuators))  # fmt: skip

    def back(s: Seen) -> Seen:
        return replace(s, R=M @ s.R @ M, p=s.p @ M, w=s.w @ P, u=s.u @ M)

    return made, back


def mirror_pose(T: Array) -> Array:
    return se3.pose(M @ T[:3, :3] @ M, M @ T[:3, 3])


def mirror_link(link: Link) -> Link:
    X = np.zeros((6, 6))
    X[:3, :3], X[3:, 3:] = P, M
    placed = [replace(g, placement=mirror_pose(g.placement)) for g in link.collisions]
    return Link(link.name, X @ link.inertia @ X, collisions=tuple(placed))


def mirror_joint(joint: Joint) -> Joint:
    slides = joint.kind == "prismatic"
    return replace(joint, placement=mirror_pose(joint.placement), axis=(M if slides else P) @ joint.axis, axis2=P @ joint.axis2,
                   pitch=-joint.pitch)  # fmt: skip


def mirror_q(old: Joint, new: Joint, x: Array) -> Array:
    if old.kind == "floating":
        return floating(mirror_pose(pose_of(x)))
    if old.kind == "spherical":
        return np.concatenate([x[:1], P @ x[1:]])
    return in_plane(old, new, x) if old.kind == "planar" else x


def mirror_v(old: Joint, new: Joint, x: Array) -> Array:
    if old.kind == "floating":
        return np.concatenate([P @ x[:3], M @ x[3:]])
    if old.kind == "spherical":
        return P @ x
    return in_plane(old, new, x) if old.kind == "planar" else x


def in_plane(old: Joint, new: Joint, x: Array) -> Array:
    """Coordinates along the axes that a plane's mirror image has."""
    E, F = (np.stack(plane(joint.axis), axis=1) for joint in (old, new))
    return np.concatenate([F.T @ M @ E @ x[:2], x[2:]])


def mirror_ground(contacts: Any) -> Any:
    if contacts is None or contacts.ground is None:
        return contacts
    return replace(contacts, ground=replace(contacts.ground, normal=tuple(M @ contacts.ground.normal)))


def mirror_wheels(w: Any) -> Any:
    return ReactionWheels(w.link, w.axes @ P, initial=w.state, name=w.name) if isinstance(w, ReactionWheels) else w


def mirror_constraint(c: Any) -> Any:
    if isinstance(c, engine.Weld):
        return replace(c, pose_ab=mirror_pose(c.pose_ab))
    new = {which: M @ getattr(c, which) for which in ("point_a", "point_b", "axis_a", "axis_b") if hasattr(c, which)}
    return replace(c, **new)


def mirror_force(f: Any) -> Any:
    if isinstance(f, CentralGravity):
        return CentralGravity(f.mu, M @ f.center, f.name)
    if isinstance(f, PointForce):
        return PointForce(f.link, M @ f.force, P @ f.moment, M @ f.point, f.axes, f.name)
    return f


# ---------------------------------------------------------------- from a frame that moves


def boosted(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """Galilei: what floats, seen from a frame that moves at constant velocity, moves by the same laws."""
    return falling(scene, rng.standard_normal(3) * 2.0, np.zeros(3))


def lifted(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """Uniform gravity is a frame that accelerates: what floats falls in it as it would rest without, for all its parts alike."""
    return falling(scene, np.zeros(3), rng.standard_normal(3) * 5.0)


def falling(scene: Scene, u: Array, g: Array) -> tuple[Scene, View]:
    """A scene of trees that float, with a velocity u and a gravity g besides its own."""
    v = dict(scene.v)
    for joint in scene.roots:
        rows = []
        for q, x in zip(scene.q[joint.name], v[joint.name], strict=True):
            R = joint.placement[:3, :3] @ pose_of(q)[:3, :3]
            rows.append(np.concatenate([x[:3], x[3:] + R.T @ u]))
        v[joint.name] = np.array(rows)

    def back(s: Seen) -> Seen:
        t = s.t[..., None, None]
        return replace(s, p=s.p - u * t - 0.5 * g * t**2, u=s.u - u - g * t)

    return replace(scene, v=v, gravity=scene.gravity + g), back
