"""Scenes with contacts, for the engine and for MuJoCo: the same bodies, joints, springs, shapes and pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from engine.model import Geometry
from engine.spatial import inertia, quaternion, se3
from tests.bench.robots import FREE_FLYER, ROBOTS, Missing, load

if TYPE_CHECKING:
    import mujoco

Array = np.ndarray
UPRIGHT = [1.0, 0.0, 0.0, 0.0]
#: of every joint's motor, kg·m² or kg
ROTOR = 0.1


@dataclass
class Scene:
    """Robots whose joints are held by springs and dampers, tau = k (rest − q) − d v, and what may touch.

    Attributes
    ----------
    rest : q where no spring pulls; stiffness, damping : k and d (nv), zero for floating bases
    pairs : links that may touch, "world" for the ground
    settle : s until the motion is timed
    """

    name: str
    model: engine.Model
    pairs: list[tuple[str, str]]
    q0: Array
    rest: Array
    stiffness: Array
    damping: Array
    material: engine.ContactMaterial
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    settle: float = 1.0
    dt: float = 1e-3

    def contacts(self) -> engine.Contacts:
        """What may touch."""
        grounded = any("world" in pair for pair in self.pairs)
        return engine.Contacts(engine.HalfSpace(material=self.material) if grounded else None, self.pairs, self.material)

    def simulator(self, **options: Any) -> engine.Simulator:
        """The engine's: joints without the losses and stops of their files, as the peer's."""
        model, rest, k, d = self.model, self.rest, self.stiffness, self.damping

        def springs(t: Any, q: Array, v: Array) -> Array:
            return k * model.difference(q, rest) - d * v

        given = {"contacts": self.contacts(), "joint_dynamics": None, "controller": springs if k.any() else None, **options}
        return engine.Simulator(model, dt=self.dt, gravity=self.gravity, **given)

    def peer(self) -> mujoco.MjModel:
        """MuJoCo's: its springs and dampers (which its integrator takes implicitly), its own contacts with elliptic cones, these pairs."""
        import mujoco

        spec = mujoco.MjSpec()
        spec.compiler.degree, spec.option.timestep, spec.option.gravity = False, self.dt, self.gravity
        spec.option.cone, spec.option.integrator = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        bodies = peer_bodies(self, spec)
        shapes: dict[str, list[str]] = {"world": ["ground"]}
        spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0, conaffinity=0)
        for link in {name for pair in self.pairs for name in pair} - {"world"}:
            body, T_BL = self.model.carrier[self.model.link_index(link)]
            shapes[link] = [f"{link}.{k}" for k in range(len(self.model.link(link).collisions))]
            for name, g in zip(shapes[link], self.model.link(link).collisions, strict=True):
                T = T_BL @ g.placement
                half = {"box": np.array(g.size) / 2, "cylinder": np.array([g.size[0], g.size[-1] / 2, 0.0]),
                        "sphere": np.array([g.size[0], 0.0, 0.0])}  # fmt: skip
                half["capsule"] = half["cylinder"]
                bodies[body].add_geom(name=name, type=getattr(mujoco.mjtGeom, f"mjGEOM_{g.kind.upper()}"), size=half[g.kind],
                                      pos=T[:3, 3], quat=quaternion.from_matrix(T[:3, :3]), contype=0, conaffinity=0)  # fmt: skip
        mu = self.material.friction
        for a, b in self.pairs:
            for x in shapes[a]:
                for y in shapes[b]:
                    spec.add_pair(geomname1=x, geomname2=y, condim=3, friction=[mu, mu, 0.0, 0.0, 0.0])
        return spec.compile()

    def to_peer(self, peer: mujoco.MjModel, q: Array, v: Array) -> tuple[Array, Array]:
        """q and v (..., n) in the peer's order and axes."""
        return engine.convert.to_mujoco(self.model, q, v, joints=[peer.joint(i).name for i in range(peer.njnt)])


def peer_bodies(scene: Scene, spec: Any) -> dict[int, Any]:
    """The moving bodies as MuJoCo's, by their number, the world's −1; each with its joint."""
    import mujoco

    kinds = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "continuous": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
    bodies = {-1: spec.worldbody}
    for i, b in enumerate(scene.model.bodies):
        c, m = inertia.center(b.inertia), inertia.mass(b.inertia)
        about_center = inertia.transformed(se3.pose(np.eye(3), -c), b.inertia)[:3, :3]
        T = b.placement
        body = bodies[b.parent].add_body(name=f"body{i}", pos=T[:3, 3], quat=quaternion.from_matrix(T[:3, :3]), explicitinertial=True,
                                         mass=m, ipos=c, fullinertia=about_center[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])  # fmt: skip
        if b.kind.floats:
            body.add_freejoint(name=b.joint.name)
        else:
            k, d, rest = (float(x[s][0]) for x, s in ((scene.stiffness, b.v), (scene.damping, b.v), (scene.rest, b.q)))
            body.add_joint(name=b.joint.name, type=kinds[b.joint.kind], axis=b.joint.axis, armature=scene.model.armature[b.v][0],
                           stiffness=k, damping=d, springref=rest)  # fmt: skip
        bodies[i] = body
    return bodies


# ---------------------------------------------------------------- the scenes


def robot(path: str, floating: bool) -> engine.Model:
    """A robot of example-robot-data, with rotors in its joints."""
    if not (ROBOTS / path).exists():
        raise Missing(f"'{path}' is a file of example-robot-data, which is not installed; expected it: pip install example-robot-data")
    model = load(ROBOTS / path, floating)
    return model.with_armature({b.joint.name: ROTOR for b in model.bodies if not b.kind.floats})


def held(model: engine.Model, stiffness: float, damping: float, **others: tuple[float, float]) -> tuple[Array, Array]:
    """Springs and dampers (nv) of all joints that do not float; ``others`` by parts of joints' names."""
    k, d = np.zeros((2, model.nv))
    for b in model.bodies:
        if not b.kind.floats:
            k[b.v], d[b.v] = next((pair for part, pair in others.items() if part in b.joint.name), (stiffness, damping))
    return k, d


def placed(model: engine.Model, q: Array, link: str) -> Array:
    """The pose of a link."""
    return engine.dynamics.forward_kinematics(model, q)[model.link_index(link)]


def box(name: str, size: tuple[float, ...], mass: float) -> engine.Model:
    """A free box."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=inertia.box(mass, size), collisions=[Geometry("box", size)])
    return builder.model(floating_base=True)


def quadruped() -> Scene:
    """Go1 stands on four balls."""
    model = robot("go1_description/urdf/go1.urdf", True)
    q = np.concatenate([UPRIGHT, [0.0, 0.0, 0.33], np.tile([0.0, 0.8, -1.6], 4)])
    q[6] -= placed(model, q, "FR_foot")[2, 3] - 0.02
    pairs = [("world", f"{leg}_foot") for leg in ("FR", "FL", "RR", "RL")]
    return Scene("quadruped", model, pairs, q, q, *held(model, 100.0, 2.0), engine.ContactMaterial(1e5, 0.5, 0.8))


def all_of(scene: Scene) -> Scene:
    """The scene with all pairs of links that may touch."""
    ground = engine.HalfSpace(material=scene.material)
    pairs = engine.Contacts(ground, material=scene.material).bind(scene.model).pairs
    return replace(scene, name=f"{scene.name}, all pairs", pairs=sorted({(p.a.link, p.b.link) for p in pairs}))


def whole_quadruped() -> Scene:
    """Go1 stands on four balls, and all its links may touch."""
    return all_of(quadruped())


def humanoid() -> Scene:
    """TALOS stands on two boxes."""
    model = robot("talos_data/robots/talos_full_v2_box.urdf", True)
    q = model.neutral()
    for side in ("left", "right"):
        for joint, angle in {"3": -0.4, "4": 0.8, "5": -0.4}.items():
            q[model.q_slice(f"leg_{side}_{joint}_joint")] = angle
        q[model.q_slice(f"arm_{side}_4_joint")] = -1.0
    sole = model.link("leg_left_6_link").collisions[0]
    q[6] -= (placed(model, q, "leg_left_6_link") @ sole.placement)[2, 3] - sole.size[2] / 2
    stiff = held(model, 300.0, 10.0, leg=(3000.0, 50.0), torso=(3000.0, 50.0))
    return Scene("humanoid", model, [("world", f"leg_{s}_6_link") for s in ("left", "right")], q, q, *stiff,
                 engine.ContactMaterial(1e6, 0.5, 0.8))  # fmt: skip


def pusher() -> Scene:
    """Panda pushes a box over the ground with its fingers, by its first joint."""
    arm = robot("panda_description/urdf/panda.urdf", False)
    model = engine.combine(arm=arm, box=box("box", (0.1, 0.1, 0.1), 0.5))
    down = se3.pose(np.diag([1.0, -1.0, -1.0]), [0.5, 0.0, 0.16])
    home = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8, 0.02, 0.02])
    found = engine.inverse_kinematics(arm, {"panda_hand": down}, q0=home)
    assert found.converged
    q = np.concatenate([found.q, UPRIGHT, [0.5, 0.1, 0.05]])
    rest, (k, d) = q.copy(), held(model, 2000.0, 50.0)
    k[0], d[0], rest[0] = 10.0, 50.0, q[0] + 1.0                               # about 10 N·m, at 0.2 rad/s
    pairs = [*((f"arm/panda_{s}finger", "box/box") for s in ("left", "right")), ("world", "box/box")]
    return Scene("pusher", model, pairs, q, rest, k, d, engine.ContactMaterial(1e5, 0.5, 0.5), settle=0.5)


def stack() -> Scene:
    """Ten boxes on top of each other."""
    model = engine.combine(**{f"b{k}": box("box", (0.2, 0.2, 0.2), 1.0) for k in range(10)})
    q = np.concatenate([[*UPRIGHT, 0.01 * (k % 2), 0.0, 0.1 + 0.2 * k] for k in range(10)])
    pairs = [("world", "b0/box"), *((f"b{k}/box", f"b{k + 1}/box") for k in range(9))]
    return Scene("stack", model, pairs, q, q, *np.zeros((2, model.nv)), engine.ContactMaterial(1e5, 0.5, 0.5))


def capture() -> Scene:
    """A free-flying arm has closed two fingers on the handle of a target that tumbled slowly; nothing is held, there is no gravity."""
    servicer, finger = engine.load_urdf(FREE_FLYER, floating_base=True), (0.02, 0.05, 0.12)
    hand = engine.Builder("hand")
    hand.add_link("palm")
    for side in (-1, 1):
        hand.add_link(f"finger{side}", inertia=inertia.box(0.5, finger), collisions=[Geometry("box", finger)])
        hand.add_joint(f"close{side}", "prismatic", "palm", f"finger{side}", axis=[-side, 0, 0],
                       placement=se3.pose(np.eye(3), [side * 0.035, 0.0, 0.06]))  # fmt: skip
    body, builder = inertia.box(200.0, (0.8, 0.8, 0.8)), engine.Builder("target")
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    builder.add_link("target", inertia=inertia.transformed(se3.pose(np.eye(3), [0.0, 0.0, 0.5]), body),
                     collisions=[Geometry("capsule", (0.02, 0.2), se3.pose(along_y, np.zeros(3)))])  # fmt: skip
    model = engine.combine(servicer=servicer, hand=engine.Mounted(hand.model(), on="servicer/gripper"),
                           target=builder.model(floating_base=True))  # fmt: skip
    q = model.neutral()
    for joint, angle in {"shoulder_pitch": -0.2, "elbow_pitch": 1.4, "wrist_pitch": 0.6}.items():
        q[model.q_slice(f"servicer/{joint}")] = angle
    T = placed(model, q, "servicer/gripper") @ se3.pose(np.eye(3), [0.0, 0.0, 0.07])
    base = model.q_slice("target/floating_base")
    q[base] = np.concatenate([quaternion.from_matrix(T[:3, :3]), T[:3, 3]])
    rest, (k, d) = q.copy(), held(model, 300.0, 100.0, wrist=(100.0, 20.0), close=(1000.0, 50.0))
    for side in (-1, 1):
        rest[model.q_slice(f"hand/close{side}")] = 0.035                       # 20 N on each side
    pairs = [(f"hand/finger{side}", "target/target") for side in (-1, 1)]
    return Scene("capture", model, pairs, q, rest, k, d, engine.ContactMaterial(1e5, 0.5, 0.8), gravity=(0.0, 0.0, 0.0))


SCENES: tuple[Callable[[], Scene], ...] = (quadruped, whole_quadruped, humanoid, pusher, stack, capture)
