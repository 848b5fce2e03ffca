"""MuJoCo's models beside ours: a free joint's linear velocity in world axes, a plane's too, and diagonal inertias."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from engine import Model
from engine.model.joint_types import plane
from engine.spatial import inertia, quaternion, se3, so3

Array = np.ndarray
OPTIONS = """<mujoco><compiler discardvisual="true" fusestatic="false" strippath="true"/></mujoco>"""
WORLD = """<link name="world"/><joint name="the free joint" type="floating"><parent link="world"/><child link="{root}"/></joint>"""


def from_urdf(path: Path, root: str = "") -> Any:
    """MuJoCo's own reading of a file, without shapes; the link ``root`` moves freely if one is named."""
    text = path.read_text(encoding="utf-8")
    for tag in ("visual", "collision", "gazebo", "transmission", "mimic"):
        text = re.sub(rf"<{tag}\b[^>]*/>", "", text)
        text = re.sub(rf"<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return mujoco.MjModel.from_xml_string(text.replace("</robot>", OPTIONS + (WORLD.format(root=root) if root else "") + "</robot>"))


def built(model: Model) -> Any:
    """A MuJoCo model made joint by joint from ours: a universal joint is two hinges, a planar one two slides and a hinge."""
    spec = mujoco.MjSpec()
    bodies = {}
    above = {joint.child: joint for joint in model.joints}
    for link in model.links:
        joint = above.get(link.name)
        if joint is None:
            bodies[link.name] = spec.worldbody
            continue
        parent = bodies.get(joint.parent, spec.worldbody)
        R = np.array(joint.placement[:3, :3])
        body = bodies[link.name] = parent.add_body(name=link.name, pos=joint.placement[:3, 3], quat=quaternion.from_matrix(R))
        body.explicitinertial = True
        c, C = inertia.center(link.inertia), so3.hat(inertia.center(link.inertia))
        I = link.inertia[:3, :3] + link.mass * C @ C
        body.mass, body.ipos, body.fullinertia = link.mass, c, [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
        parts = {"revolute": [(hinge, joint.axis)], "continuous": [(hinge, joint.axis)], "prismatic": [(slide, joint.axis)], "fixed": [],
                 "universal": [(hinge, joint.axis), (hinge, joint.axis2)], "spherical": [(mujoco.mjtJoint.mjJNT_BALL, joint.axis)],
                 "planar": [*((slide, e) for e in plane(joint.axis)), (hinge, joint.axis)],
                 "floating": [(mujoco.mjtJoint.mjJNT_FREE, joint.axis)]}[joint.kind]  # fmt: skip
        for k, (kind, axis) in enumerate(parts):
            name = joint.name + f".{k}" * (k > 0) if joint.parent else "the free joint"
            body.add_joint(name=name, type=kind, axis=axis)
    return spec.compile()


class MuJoCo:
    """One model in MuJoCo, without contacts, limits, friction, damping or armature; every method takes and returns our conventions."""

    def __init__(self, model: Model, theirs: Any, gravity: Any) -> None:
        assert not any(body.mimics for body in model.bodies)
        assert theirs.nv == model.nv, f"MuJoCo has {theirs.nv} velocities; expected {model.nv}"
        self.model, self.theirs = model, theirs
        theirs.opt.gravity[:] = gravity
        theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        theirs.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        theirs.dof_armature[:] = theirs.dof_damping[:] = theirs.dof_frictionloss[:] = theirs.qpos_spring[:] = 0.0
        self.data = mujoco.MjData(theirs)
        self.joints = []
        for body in model.bodies:
            k = theirs.joint("the free joint" if body.joint.parent == "" else body.joint.name).id
            self.joints.append((body, int(theirs.jnt_qposadr[k]), int(theirs.jnt_dofadr[k])))

    def rates(self, q: Array, v: Array) -> tuple[Array, Array]:
        """B and Ḃ, with their velocity = B v and acceleration = B v̇ + Ḃ v."""
        B, Bdot = np.zeros((self.model.nv, self.model.nv)), np.zeros((self.model.nv, self.model.nv))
        for body, _, at in self.joints:
            n, kind = body.kind.nv, body.kind.name
            block, change = np.eye(n), np.zeros((n, n))
            if kind == "floating":
                R, o = quaternion.to_matrix(quaternion.normalize(q[body.q][:4])), np.zeros((3, 3))
                block = np.block([[o, R], [np.eye(3), o]])
                change = np.block([[o, R @ so3.hat(v[body.v][:3])], [o, o]])
            elif kind == "planar":
                R, w = so3.about(np.array([0.0, 0.0, 1.0]), q[body.q][2]), v[body.v][2]
                block, change[:2, :2] = R, (R @ so3.hat(np.array([0.0, 0.0, w])))[:2, :2]
            B[at : at + n, body.v], Bdot[at : at + n, body.v] = block, change
        return B, Bdot

    def set(self, q: Array, v: Array) -> tuple[Array, Array]:
        for body, at, _ in self.joints:
            own = q[body.q]
            self.data.qpos[at : at + body.kind.nq] = np.roll(own, 3) if body.kind.name == "floating" else own
        B, Bdot = self.rates(q, v)
        self.data.qvel[:] = B @ v
        self.data.qfrc_applied[:] = self.data.xfrc_applied[:] = 0.0
        return B, Bdot

    def rnea(self, q: Array, v: Array, vdot: Array) -> Array:
        B, Bdot = self.set(q, v)
        self.data.qacc[:] = B @ vdot + Bdot @ v
        mujoco.mj_inverse(self.theirs, self.data)
        return B.T @ self.data.qfrc_inverse

    def aba(self, q: Array, v: Array, tau: Array, wrenches: dict[str, Array]) -> Array:
        """Accelerations under forces, and wrenches on some links (ours: in the link's frame about its origin)."""
        B, Bdot = self.set(q, v)
        mujoco.mj_kinematics(self.theirs, self.data)
        mujoco.mj_comPos(self.theirs, self.data)
        for link, wrench in wrenches.items():
            at = self.data.body(link)
            R = at.xmat.reshape(3, 3)
            moment, force = R @ wrench[:3], R @ wrench[3:]
            at.xfrc_applied[:] = [*force, *(moment - np.cross(at.xipos - at.xpos, force))]  # theirs acts at the centre of mass
        self.data.qfrc_applied[:] = np.linalg.solve(B.T, tau)
        mujoco.mj_forward(self.theirs, self.data)
        return np.linalg.solve(B, self.data.qacc - Bdot @ v)

    def crba(self, q: Array) -> Array:
        B, _ = self.set(q, np.zeros(self.model.nv))
        mujoco.mj_forward(self.theirs, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.theirs, self.data, M)
        return B.T @ M @ B

    def pose(self, q: Array, link: str) -> Array:
        self.set(q, np.zeros(self.model.nv))
        mujoco.mj_kinematics(self.theirs, self.data)
        at = self.data.body(link)
        return se3.pose(at.xmat.reshape(3, 3), at.xpos)

    def jacobians(self, q: Array, v: Array, link: str) -> tuple[Array, Array]:
        """J and J̇ of a link, from its rows in world axes at the link's origin."""
        B, Bdot = self.set(q, v)
        mujoco.mj_forward(self.theirs, self.data)
        at, k = self.data.body(link), self.theirs.body(link).id
        point, nv = at.xpos.copy(), self.model.nv
        J, Jdot = np.zeros((6, nv)), np.zeros((6, nv))
        mujoco.mj_jac(self.theirs, self.data, J[3:], J[:3], point, k)
        mujoco.mj_jacDot(self.theirs, self.data, Jdot[3:], Jdot[:3], point, k)
        R = np.kron(np.eye(2), at.xmat.reshape(3, 3))
        omega = np.kron(np.eye(2), so3.hat(J[:3] @ self.data.qvel))
        return R.T @ J @ B, R.T @ ((Jdot - omega @ J) @ B + J @ Bdot)  # d/dt Rᵀ = −Rᵀ [ω]

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        """Kinetic energy, and the potential energy of what moves (theirs counts what is fixed to the world too)."""
        self.set(q, v)
        mujoco.mj_forward(self.theirs, self.data)
        fixed = self.theirs.body_weldid == 0
        theirs = self.theirs.body_mass[fixed] @ self.data.xipos[fixed] @ self.theirs.opt.gravity
        return float(self.data.energy[1]), float(self.data.energy[0] + theirs)

    def center_of_mass(self, q: Array) -> Array:
        """Of what moves."""
        self.set(q, np.zeros(self.model.nv))
        mujoco.mj_kinematics(self.theirs, self.data)
        moving = self.theirs.body_weldid != 0
        return self.theirs.body_mass[moving] @ self.data.xipos[moving] / self.theirs.body_mass[moving].sum()
