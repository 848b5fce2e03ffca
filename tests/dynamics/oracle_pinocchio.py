"""Pinocchio's models beside ours: linear first, quaternions [x y z w], joints in its own order, (cos, sin) for unbounded angles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from engine import Model
from engine.model.joint_types import plane

Array = np.ndarray
SWAP = [3, 4, 5, 0, 1, 2]
FRAMES = {"body": pin.LOCAL, "world": pin.WORLD, "world_aligned": pin.LOCAL_WORLD_ALIGNED}


def from_urdf(path: Path, floating_base: bool = False, mimic: bool = False) -> Any:
    """Pinocchio's own reading of a file."""
    root = [pin.JointModelFreeFlyer()] if floating_base else []
    return pin.buildModelFromXML(path.read_text(encoding="utf-8"), *root, mimic=mimic)


class Pinocchio:
    """One model in Pinocchio; every method takes and returns our conventions."""

    def __init__(self, model: Model, theirs: Any, gravity: Any) -> None:
        self.model, self.theirs = model, theirs
        theirs.gravity = pin.Motion(np.array(gravity, dtype=float), np.zeros(3))
        self.data = theirs.createData()
        self.order = np.zeros(model.nv, dtype=int)  # where our velocities lie in theirs
        self.joints = []
        for body in model.bodies:
            if body.mimics:
                continue
            name = "root_joint" if body.joint.parent == "" and not theirs.existJointName(body.joint.name) else body.joint.name
            k = theirs.getJointId(name)
            assert k < theirs.njoints, f"Pinocchio has no joint '{name}'"
            first, n = theirs.idx_vs[k], body.kind.nv
            self.order[body.v] = first + (np.array(SWAP) if body.kind.name == "floating" else np.arange(n))
            self.joints.append((body, theirs.idx_qs[k], theirs.nqs[k]))

    def q(self, q: Array) -> Array:
        result = np.zeros(self.theirs.nq)
        for body, first, n in self.joints:
            own, kind = q[body.q], body.kind.name
            if kind == "floating":
                own = np.concatenate([own[4:], own[1:4], own[:1]])
            elif kind == "spherical":
                own = np.roll(own, -1)
            elif kind == "planar":
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            elif kind == "continuous" and n == 2:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            result[first : first + n] = own
        return result

    def v(self, v: Array) -> Array:
        result = np.zeros(self.theirs.nv)
        result[self.order] = v
        return result

    def rnea(self, q: Array, v: Array, vdot: Array, wrenches: Array | None = None) -> Array:
        return pin.rnea(self.theirs, self.data, self.q(q), self.v(v), self.v(vdot), *self.forces(wrenches))[self.order]

    def aba(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
        return pin.aba(self.theirs, self.data, self.q(q), self.v(v), self.v(tau), *self.forces(wrenches))[self.order]

    def forces(self, wrenches: Array | None) -> list[Any]:
        """Per joint, in its frame, what acts on the links."""
        if wrenches is None:
            return []
        total = [pin.Force.Zero() for _ in range(self.theirs.njoints)]
        for link, wrench in zip(self.model.links, wrenches, strict=True):
            frame = self.theirs.frames[self.frame(link.name)]
            total[frame.parentJoint] = total[frame.parentJoint] + frame.placement.act(pin.Force(wrench[3:], wrench[:3]))
        return [pin.StdVec_Force(total)] if hasattr(pin, "StdVec_Force") else [total]

    def crba(self, q: Array) -> Array:
        M = pin.crba(self.theirs, self.data, self.q(q))
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.order, self.order)]

    def bias(self, q: Array, v: Array) -> Array:
        return pin.nonLinearEffects(self.theirs, self.data, self.q(q), self.v(v))[self.order]

    def gravity_forces(self, q: Array) -> Array:
        return pin.computeGeneralizedGravity(self.theirs, self.data, self.q(q))[self.order]

    def frame(self, link: str) -> int:
        k = self.theirs.getFrameId(link, pin.FrameType.BODY)
        assert k < self.theirs.nframes, f"Pinocchio has no link '{link}'"
        return int(k)

    def pose(self, q: Array, link: str) -> Array:
        pin.framesForwardKinematics(self.theirs, self.data, self.q(q))
        return self.data.oMf[self.frame(link)].homogeneous

    def jacobian(self, q: Array, link: str, frame: str = "body") -> Array:
        J = pin.computeFrameJacobian(self.theirs, self.data, self.q(q), self.frame(link), FRAMES[frame])
        return J.reshape(6, -1)[SWAP][:, self.order]                            # of one joint theirs is a vector

    def jacobian_dot(self, q: Array, v: Array, link: str, frame: str = "body") -> Array:
        pin.computeJointJacobiansTimeVariation(self.theirs, self.data, self.q(q), self.v(v))
        pin.updateFramePlacements(self.theirs, self.data)
        Jdot = pin.getFrameJacobianTimeVariation(self.theirs, self.data, self.frame(link), FRAMES[frame])
        return Jdot.reshape(6, -1)[SWAP][:, self.order]

    def center_of_mass_jacobian(self, q: Array) -> Array:
        return pin.jacobianCenterOfMass(self.theirs, self.data, self.q(q)).reshape(3, -1)[:, self.order]

    def center_of_mass_acceleration(self, q: Array, v: Array, vdot: Array) -> Array:
        pin.centerOfMass(self.theirs, self.data, self.q(q), self.v(v), self.v(vdot))
        return self.data.acom[0].copy()

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        K = pin.computeKineticEnergy(self.theirs, self.data, self.q(q), self.v(v))
        return K, pin.computePotentialEnergy(self.theirs, self.data, self.q(q))

    def center_of_mass(self, q: Array) -> Array:
        return pin.centerOfMass(self.theirs, self.data, self.q(q)).copy()

    def momentum(self, q: Array, v: Array) -> Array:
        """About the world's origin, from the one about the centre of mass."""
        h = pin.computeCentroidalMomentum(self.theirs, self.data, self.q(q), self.v(v))
        return np.concatenate([h.angular + np.cross(self.data.com[0], h.linear), h.linear])


def built(model: Model) -> Any:
    """A Pinocchio model made joint by joint from ours, of every kind."""
    theirs = pin.Model()
    mounts: dict[str, tuple[int, Any]] = {}  # per link: Pinocchio's joint and the link's pose in that joint's frame
    above = {joint.child: joint for joint in model.joints}
    for link in model.links:
        joint = above.get(link.name)
        k, T = (0, pin.SE3.Identity()) if joint is None or joint.parent == "" else mounts[joint.parent]
        if joint is not None:
            T = T * pin.SE3(np.array(joint.placement))
            if joint.kind != "fixed":
                kind, own = counterpart(joint)
                k, T = theirs.addJoint(k, kind, T * own, joint.name), own.inverse()
        mounts[link.name] = k, T
        theirs.addFrame(pin.Frame(link.name, k, T, pin.FrameType.BODY))
        G = link.inertia
        if G[5, 5] > 0:
            c = np.array([G[2, 4], G[0, 5], G[1, 3]]) / G[5, 5]
            C = pin.skew(c)
            theirs.appendBodyToJoint(k, pin.Inertia(G[5, 5], c, G[:3, :3] + G[5, 5] * C @ C), T)
    return theirs


def counterpart(joint: Any) -> tuple[Any, Any]:
    """Pinocchio's joint, and the pose of its frame in our joint frame (its plane is x–y)."""
    axis, same = np.array(joint.axis), pin.SE3.Identity()
    if joint.kind in ("revolute", "continuous"):
        return pin.JointModelRevoluteUnaligned(axis), same
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis), same
    if joint.kind == "screw":
        return pin.JointModelHelicalUnaligned(axis, joint.pitch), same
    if joint.kind == "universal":
        return pin.JointModelUniversal(axis, np.array(joint.axis2)), same
    if joint.kind == "spherical":
        return pin.JointModelSpherical(), same
    if joint.kind == "planar":
        return pin.JointModelPlanar(), pin.SE3(np.column_stack([*plane(axis), axis]), np.zeros(3))
    return pin.JointModelFreeFlyer(), same
