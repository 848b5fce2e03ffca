"""A model's joints as a library has them, one by one and in its order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from engine import ops
from engine.checks import nearest, shown
from engine.convert.libraries import ANGULAR, JointConvention, Library
from engine.model import Body, Joint, Model, StateError
from engine.spatial import quaternion, se3, so3

Array = np.ndarray


@dataclass(frozen=True)
class Part:
    """One of the model's joints in a library: where it comes is its place in the list."""

    body: Body
    convention: JointConvention

    @property
    def mounted(self) -> bool:
        """True if the library measures the joint's coordinates in another frame than the joint's: the world, of a placed body."""
        return self.convention.on_world and not bool((np.eye(4) == self.body.placement).all())

    def placed(self, q: Array) -> Array:
        """Return the child's coordinates relative to what the library's are relative to."""
        if not self.mounted:
            return q
        R, p = se3.rotation(self.body.placement), se3.position(self.body.placement)
        turned = quaternion.product(np.broadcast_to(quaternion.from_matrix(R), q[..., :4].shape), q[..., :4])
        return np.concatenate([turned, p + np.matvec(R, q[..., 4:])], axis=-1)

    def relative(self, q: Array) -> Array:
        """Return coordinates relative to the joint's frame, of those that :meth:`placed` returns."""
        if not self.mounted:
            return q
        R, p = se3.rotation(self.body.placement), se3.position(self.body.placement)
        back = quaternion.conjugate(quaternion.from_matrix(R))
        turned = quaternion.product(np.broadcast_to(back, q[..., :4].shape), q[..., :4])
        return np.concatenate([turned, np.matvec(R.T, q[..., 4:] - p)], axis=-1)

    def attitude(self, q: Array) -> Array:
        """Return R (..., n, n), from the child's axes to those of the library's turned velocities."""
        if self.body.kind.name == "planar":
            return so3.from_rpy(ops.array([0.0 * q[..., 2], 0.0 * q[..., 2], q[..., 2]]))[..., :2, :2]
        R = quaternion.to_matrix(quaternion.normalize(q[..., :4]))
        return se3.rotation(self.body.placement) @ R if self.mounted else R

    def dragged(self, v: Array, block: slice) -> Array:
        """Return ω × v of a block of the joint's velocity."""
        if self.body.kind.name == "planar":
            return ops.array([-v[..., 2] * v[..., 1], v[..., 2] * v[..., 0]])
        return ops.cross(v[..., ANGULAR], v[..., block])

    def seen(self, q: Array, x: Array, v: Array | None = None) -> Array:
        """Return the library's entries of a velocity or force x of the joint, or with v of its acceleration."""
        found = []
        for block, turned in self.convention.blocks:
            y = x[..., block]
            if turned:
                y = np.matvec(self.attitude(q), y if v is None else y + self.dragged(v, block))
            found.append(y)
        return np.concatenate(found, axis=-1)

    def own(self, q: Array, x: Array, v: Array | None = None) -> Array:
        """Return the joint's velocity, force, or with v acceleration, of the library's entries."""
        found: dict[int, Array] = {}
        k = 0
        for block, turned in self.convention.blocks:
            n = block.stop - block.start
            y = x[..., k : k + n]
            if turned:
                y = np.matvec(np.swapaxes(self.attitude(q), -1, -2), y)
                y = y if v is None else y - self.dragged(v, block)
            found[block.start], k = y, k + n
        return np.concatenate([found[i] for i in sorted(found)], axis=-1)


# ---------------------------------------------------------------- which joints, in which order


def parts_of(library: Library, model: Model, joints: Iterable[str] | None) -> list[Part]:
    """Return the joints of the model in the library's order."""
    parts = {body.joint.name: part_of(library, model, body) for body in model.bodies}
    if joints is None:
        return [parts[name] for name in reader_order(model, library)]
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise StateError(f"joints is {shown(joints)}; expected names of joints, in {library.name}'s order")
    names, found, moving = [*joints], [], {j.name for j in model.joints}
    root = model.joints[0].name if model.joints and not model.joints[0].parent else None
    if root and root not in names:                                              # by the one name that is none of the robot's, else first
        unknown = [i for i, name in enumerate(names) if name not in moving and name != library.world and not ending(parts, name)]
        if len(unknown) == 1:
            names[unknown[0]] = root
        else:
            names.insert(1 if names[:1] == [library.world] else 0, root)
    k = 0
    while k < len(names):
        name, k = names[k], k + 1
        if name == library.world or (name in moving and name not in parts):
            continue
        if whole := ending(parts, name):
            ends = parts[whole].convention.parts
            if names[k - 1 : k - 1 + len(ends)] != [whole + end for end in ends]:
                raise StateError(f"joints holds '{name}' without the rest of '{whole}'; expected {', '.join(whole + e for e in ends)}")
            name, k = whole, k - 1 + len(ends)
        if name not in parts:
            raise StateError(f"joints holds '{name}', which '{model.name}' has not{nearest(str(name), parts)}; expected its joints")
        if parts[name] in found:
            raise StateError(f"joints holds '{name}' twice; expected each joint of '{model.name}' once")
        found.append(parts[name])
    missing = [name for name, part in parts.items() if part not in found and not part.body.mimics]
    if missing:
        raise StateError(f"joints has no '{missing[0]}'; expected each joint of '{model.name}' that moves (mimic joints may be missing)")
    return found


def ending(parts: Mapping[str, Part], name: str) -> str:
    """Return the joint of which the library has several, one of them by this name; else nothing."""
    return next((n for n, part in parts.items() for end in part.convention.parts if name == n + end), "")


def reader_order(model: Model, library: Library) -> list[str]:
    """Return names of the joints that move: in the model's order, or depth first with children by their joints' names."""
    if not library.sorted:
        return [body.joint.name for body in model.bodies]
    below: dict[str, list[Joint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    waiting, found = sorted(below.get("", below.get(model.links[0].name, [])), key=lambda j: j.name, reverse=True), []
    while waiting:
        joint = waiting.pop()
        found += [joint.name] if joint.kind != "fixed" else []
        waiting += sorted(below.get(joint.child, []), key=lambda j: j.name, reverse=True)
    return found


def part_of(library: Library, model: Model, body: Body) -> Part:
    """Return a joint as the library has it; refuse one that it has not."""
    joint, convention = body.joint, library.joints.get(body.kind.name)
    here = f"joint '{joint.name}' of '{model.name}'"
    if convention is None:
        raise StateError(f"{here} is {body.kind.name}, which {library.name} has no joint for; expected one of {', '.join(library.joints)}")
    if convention.on_world and body.parent >= 0:
        raise StateError(f"{here} floats within the tree; expected one that hangs on the world, as {library.name}'s do")
    if body.kind.name == "planar" and not np.allclose(joint.axis, [0, 0, 1], rtol=0, atol=1e-12):
        raise StateError(f"{here} is planar about {joint.axis.tolist()}; expected the axis z, as {library.name}'s planes are x–y")
    return Part(body, convention)
