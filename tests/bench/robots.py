"""The benchmark robots, for the engine and for the peers, with the same joints and states."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import engine

if TYPE_CHECKING:
    import mujoco
    import pinocchio as pin

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
FREE_FLYER = engine.example("free_flyer")
FILES = {
    "UR5": (ROBOTS / "ur_description/urdf/ur5_robot.urdf", False),
    "Panda": (ROBOTS / "panda_description/urdf/panda.urdf", False),
    "G1": (ROBOTS / "g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "TALOS": (ROBOTS / "talos_data/robots/talos_reduced.urdf", True),
}
#: of those that are compared with no peer
FURTHER = {"Go1": (ROBOTS / "go1_description/urdf/go1.urdf", True)}


@dataclass
class Pair:
    """One robot in both libraries, and how their coordinates correspond."""

    name: str
    model: engine.Model
    peer: pin.Model
    floating: bool

    def to_peer_q(self, q: np.ndarray) -> np.ndarray:
        """q (..., nq) in the peer's order: position first, quaternion scalar last, joints by name."""
        out = np.zeros((*q.shape[:-1], self.peer.nq))
        if self.floating:
            out[..., :7] = q[..., [4, 5, 6, 1, 2, 3, 0]]
        for joint in self.model.joints:
            if joint.kind in ("revolute", "prismatic"):
                out[..., self.peer.joints[self.peer.getJointId(joint.name)].idx_q] = q[..., self.model.q_slice(joint.name).start]
        return out

    @property
    def v_order(self) -> np.ndarray:
        """Indices with v_peer = v[v_order]."""
        order = np.zeros(self.peer.nv, dtype=int)
        if self.floating:
            order[:6] = [3, 4, 5, 0, 1, 2]
        for joint in self.model.joints:
            if joint.kind in ("revolute", "prismatic"):
                order[self.peer.joints[self.peer.getJointId(joint.name)].idx_v] = self.model.v_slice(joint.name).start
        return order


class Missing(Exception):
    """Something that a benchmark takes is not installed."""


def file(name: str) -> tuple[Path, bool]:
    """A benchmark robot's file, and whether it floats."""
    path, floating = (FILES | FURTHER)[name]
    if not path.exists():
        raise Missing(f"{name} is a robot of example-robot-data, which is not installed; expected it: pip install example-robot-data")
    return path, floating


def load(path: Path, floating: bool) -> engine.Model:
    """A benchmark robot; mimic relations are taken off, which the peers ignore or hold by constraints."""
    graph = engine.load_urdf(path).graph.copy()
    for parent, child, joint in list(graph.edges.data("joint")):
        graph.edges[parent, child]["joint"] = replace(joint, mimic=None)
    return engine.Model.from_graph(graph, floating_base=floating)


def pair(name: str) -> Pair:
    """A benchmark robot in both libraries."""
    import pinocchio as pin

    path, floating = file(name)
    model = load(path, floating)
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    assert (model.nq, model.nv) == (peer.nq, peer.nv)
    return Pair(name, model, peer, floating)


def chain(n: int) -> engine.Model:
    """A fixed-base chain of n revolute joints about alternating axes."""
    arm = engine.Builder(f"chain{n}")
    arm.add_link("link0")
    for k in range(1, n + 1):
        arm.add_link(f"link{k}", inertia=engine.spatial.inertia.from_mass(1.0, [0.05, 0.01, 0.0], np.diag([2e-3, 3e-3, 4e-3])))
        placement = engine.spatial.se3.pose(np.eye(3), np.array([0.1, 0.0, 0.0]))
        arm.add_joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", axis=np.eye(3)[k % 3], placement=placement)
    return arm.model()


def mujoco_model(path: Path, root: str | None, dt: float, servos: tuple[float, float] | None = None) -> mujoco.MjModel:
    """A URDF as a MuJoCo model with a free root link (or the robot as it stands), zero gravity and RK4: the equations of motion alone.

    Contacts, limits, friction and mimic joints, which its solver would turn to in every step, are switched off, and so is damping.
    ``servos`` are position servos of these gains (N·m/rad, N·m·s/rad) on all joints.
    """
    import mujoco

    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", path.read_text(), flags=re.S)
    opening = re.search(r"<robot[^>]*>", text).group(0)
    free = f'<link name="space"/><joint name="free" type="floating"><parent link="space"/><child link="{root}"/></joint>'
    text = text.replace(opening, f'{opening}<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco>{free if root else ""}', 1)
    spec = mujoco.MjSpec.from_string(text)
    for joint in spec.joints if servos else ():
        if joint.type != mujoco.mjtJoint.mjJNT_FREE:
            servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            servo.gainprm[0], servo.biasprm[1], servo.biasprm[2] = servos[0], -servos[0], -servos[1]
    model = spec.compile()
    model.opt.gravity[:] = 0.0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = dt
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:], model.jnt_actfrclimited[:] = 0.0, 0
    return model


#: a tumbling body: principal moments, kg·m², and initial angular velocity, rad/s
MOMENTS, SPIN = np.array([1.0, 2.0, 3.0]), np.array([0.3, 2.0, 0.1])


def tumbling(integrator: str, dt: float) -> engine.Simulator:
    """A free body without forces."""
    body = engine.Builder("body")
    body.add_link("body", inertia=engine.spatial.inertia.from_mass(1.0, np.zeros(3), np.diag(MOMENTS)))
    return engine.Simulator(body.model(floating_base=True), dt=dt, gravity=(0, 0, 0), integrator=integrator)


def tumbling_peer(integrator: str, dt: float) -> mujoco.MjModel:
    """The same in MuJoCo."""
    import mujoco

    moments = " ".join(map(str, MOMENTS))
    return mujoco.MjModel.from_xml_string(f"""<mujoco><option integrator="{integrator}" timestep="{dt!r}" gravity="0 0 0"/>
      <worldbody><body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{moments}"/></body></worldbody></mujoco>""")
