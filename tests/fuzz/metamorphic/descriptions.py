"""One mechanism, described otherwise: in another order, with other axes, from another root, in other parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import engine
from engine.components.actuators import ReactionWheels
from engine.components.forces import JointSpring, PointForce
from engine.model import Joint, Limits, Link, Mimic
from engine.model.combine import WORLD
from engine.spatial import inertia, quaternion, se3
from tests.fuzz.metamorphic.frames import tied
from tests.fuzz.metamorphic.scene import Scene, ends, floating, poses, twists
from tests.fuzz.metamorphic.seen import Seen, Unjudged, View
from tests.trees import ONE_COORDINATE, random_inertia, random_placement

Array = np.ndarray


def as_it_is(s: Seen) -> Seen:
    """The view of a scene that is only described otherwise."""
    return s


# ---------------------------------------------------------------- order and signs


def shuffled(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """Order says nothing: of links, joints, trees, forces, pairs of shapes, and in a pair."""

    def shuffle(x: Any) -> tuple[Any, ...]:
        return tuple(x[k] for k in rng.permutation(len(x)))

    contacts = scene.contacts
    if contacts is not None and contacts.pairs is not None:
        contacts = replace(contacts, pairs=tuple(pair[:: int(rng.choice([-1, 1]))] for pair in shuffle(contacts.pairs)))
    return replace(scene, links=shuffle(scene.links), joints=shuffle(scene.joints), forces=shuffle(scene.forces), contacts=contacts,
                   actuators=shuffle(scene.actuators)), as_it_is  # fmt: skip


def flipped(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """An axis may point either way: with a joint's axis reversed, its coordinate, stops, springs, drives and followers change their sign.

    Of an attitude the quaternions q and −q are the same; so are angles a turn apart, where nothing counts turns.
    """
    chosen = {joint.name for joint in scene.joints if joint.kind in (*ONE_COORDINATE, "universal") and rng.random() < 0.7}
    sign = {joint.name: -1.0 if joint.name in chosen else 1.0 for joint in scene.joints}
    counted = {f.joint for f in scene.forces if isinstance(f, JointSpring)} | {j.mimic.source for j in scene.joints if j.mimic}
    q, v = dict(scene.q), dict(scene.v)
    for joint in scene.joints:
        x = q.get(joint.name)
        if x is None:
            continue
        if joint.name in chosen:
            q[joint.name], v[joint.name] = -x, -v[joint.name]
        elif joint.type.manifold.attitude:
            q[joint.name] = x * np.where(np.arange(x.shape[1]) < 4, rng.choice([-1.0, 1.0]), 1.0)
        if joint.kind in ("revolute", "continuous") and joint.name not in counted and not ends(joint):
            q[joint.name] = q[joint.name] + 2.0 * np.pi * rng.integers(-1, 2)
    joints = tuple(flip(joint, sign) for joint in scene.joints)
    forces = tuple(f if not isinstance(f, JointSpring) else
                   JointSpring(f.joint, f.stiffness, sign[f.joint] * f.rest, f.damping, f.name) for f in scene.forces)  # fmt: skip
    drives = {n: replace(d, amplitude=sign[n] * d.amplitude) for n, d in scene.drives.items()}
    return replace(scene, joints=joints, q=q, v=v, forces=forces, drives=drives), as_it_is


def flip(joint: Joint, sign: dict[str, float]) -> Joint:
    """A joint with its axes reversed, and where what it follows is."""
    own, mimic = sign[joint.name], joint.mimic
    if mimic is not None:
        mimic = Mimic(mimic.source, own * sign[mimic.source] * mimic.ratio, own * mimic.offset)
    limits = joint.limits if own > 0.0 else Limits(-joint.limits.upper, -joint.limits.lower)
    return replace(joint, axis=own * joint.axis, axis2=own * joint.axis2, limits=limits, mimic=mimic)


# ---------------------------------------------------------------- another root


def rerooted(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """What floats hangs on nothing: any of its links may be its root, with the joints between that and the old one turned round.

    A joint T_PJ · J(q) from link P to C becomes one from C to P, whose own frame moves to the joint: P′ = P T_PJ, and J(q)⁻¹ is of the
    same kind with reversed axes.
    """
    old = next((joint for joint in scene.roots if joint.kind == "floating"), None)
    if old is None:
        raise Unjudged("nothing floats")
    links = sorted(scene.tree(old) - {old.child})
    if not links:
        raise Unjudged("one link")
    chain = [str(rng.choice(links))]
    while scene.above(chain[-1]) is not old:
        chain.append(scene.above(chain[-1]).parent)
    chain = chain[::-1]
    root, between = chain[-1], [scene.above(link) for link in chain[1:]]
    if any(joint.kind == "planar" and (joint.damping or joint.armature) for joint in between):
        raise Unjudged("a plane that resists")                               # its velocities are the child's, about the child's origin
    frames = {joint.parent: se3.inv(joint.placement) for joint in between}       # x in the old frame is T x in the new one
    q, v = dict(scene.q), dict(scene.v)
    T, V = poses(scene), twists(scene)
    q[old.name] = np.array([floating(se3.inv(old.placement) @ T_W[root]) for T_W in T])
    v[old.name] = np.array([V_L[root] for V_L in V])
    new: dict[str, Joint] = {old.name: replace(old, child=root)}
    for joint in between:
        new[joint.name] = reverse(joint, frames.get(joint.child, np.eye(4)))
        if joint.name in q:
            pairs = zip(q[joint.name], v[joint.name], strict=True)
            states = [reversed_state(joint, new[joint.name], *pair) for pair in pairs]
            q[joint.name], v[joint.name] = (np.array(x) for x in zip(*states, strict=True))
    joints = [new.get(j.name, replace(j, placement=frames[j.parent] @ j.placement) if j.parent in frames else j) for j in scene.joints]
    made = replace(scene, links=tuple(reframed(link, frames) for link in scene.links), joints=tuple(joints), q=q, v=v,
                   constraints=tuple(tied(c, frames) for c in scene.constraints), marks=frames,
                   forces=tuple(force_reframed(f, frames) for f in scene.forces),
                   actuators=tuple(wheels_reframed(w, frames) for w in scene.actuators))  # fmt: skip
    return made, as_it_is


def reverse(joint: Joint, placement: Array) -> Joint:
    """A joint from its child to its parent."""
    axes = (joint.axis2, joint.axis) if joint.kind == "universal" else (joint.axis, joint.axis2)
    turn = 1.0 if joint.kind == "planar" else -1.0
    return replace(joint, parent=joint.child, child=joint.parent, placement=placement, axis=turn * axes[0], axis2=turn * axes[1])


def reversed_state(old: Joint, new: Joint, q: Array, v: Array) -> tuple[Array, Array]:
    """The coordinates at which the reversed joint's motion is J(q)⁻¹, and its velocities."""
    T = old.type.pose(old, q)
    back = se3.inv(T)
    if old.kind == "floating":
        x = floating(back)
    elif old.kind == "spherical":
        x = quaternion.conjugate(q)
    elif old.kind == "universal":
        x = q[::-1].copy()
    elif old.kind == "planar":
        c, s = np.cos(q[2]), np.sin(q[2])
        x = np.array([-c * q[0] - s * q[1], s * q[0] - c * q[1], -q[2]])
    else:
        x = q
    V = -se3.Ad(T) @ (old.type.subspace(old, q) @ v)
    return x, np.linalg.lstsq(new.type.subspace(new, x), V, rcond=None)[0] if v.size else v


def reframed(link: Link, frames: dict[str, Array]) -> Link:
    """A link in whose new frame what is at x in its old one is at T x."""
    if link.name not in frames:
        return link
    T = frames[link.name]
    return Link(link.name, inertia.transformed(T, link.inertia),
                collisions=tuple(replace(g, placement=T @ g.placement) for g in link.collisions))  # fmt: skip


def force_reframed(f: Any, frames: dict[str, Array]) -> Any:
    if not isinstance(f, PointForce) or f.link not in frames:
        return f
    T = frames[f.link]
    turn = T[:3, :3] if f.axes == "link" else np.eye(3)
    return PointForce(f.link, turn @ f.force, turn @ f.moment, T[:3] @ np.append(f.point, 1.0), f.axes, f.name)


def wheels_reframed(w: Any, frames: dict[str, Array]) -> Any:
    if not isinstance(w, ReactionWheels) or w.link not in frames:
        return w
    return ReactionWheels(w.link, w.axes @ frames[w.link][:3, :3].T, initial=w.state, name=w.name)


# ---------------------------------------------------------------- other parts


def halved_body(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """What is welded is one body: a link moves as two of which each has a part of its inertia and shapes, or as with a massless one."""
    whole = scene.links[1 + int(rng.integers(len(scene.links) - 1))]
    share, T = float(rng.choice([0.0, 0.3, 0.5])), random_placement(rng)
    to = se3.inv(T)
    moved = [replace(g, placement=to @ g.placement) for g in whole.collisions]
    half = Link("half", share * inertia.transformed(to, whole.inertia), collisions=tuple(moved))
    rest = Link(whole.name, (1.0 - share) * whole.inertia)
    contacts = scene.contacts
    if contacts is not None:
        contacts = replace(contacts, pairs=tuple(tuple("half" if n == whole.name else n for n in pair) for pair in contacts.pairs))
    weld = Joint("weld", "fixed", whole.name, "half", T)
    links = tuple(rest if link is whole else link for link in scene.links)
    return replace(scene, links=(*links, half), joints=(*scene.joints, weld), contacts=contacts), as_it_is


def welded(scene: Scene, rng: np.random.Generator) -> tuple[tuple[Scene, Scene], View]:
    """A weld is a fixed joint: a body that is held by one moves as one that a constraint holds."""
    holder = str(rng.choice(scene.names))
    T, G = random_placement(rng), random_inertia(rng)
    links = (*scene.links, Link("payload", G))
    fixed = replace(scene, links=links, joints=(*scene.joints, Joint("weld", "fixed", holder, "payload", T)))
    loose = replace(scene, links=links, joints=(*scene.joints, Joint("loose", "floating", WORLD, "payload")),
                    constraints=(*scene.constraints, engine.Weld(holder, "payload", T)),
                    q={**scene.q, "loose": np.array([floating(x["payload"]) for x in poses(fixed)])},
                    v={**scene.v, "loose": np.array([x["payload"] for x in twists(fixed)])})  # fmt: skip
    return (fixed, loose), as_it_is
