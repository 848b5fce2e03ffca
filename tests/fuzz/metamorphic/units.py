"""Other units: lengths, masses and times scaled, and with them all that has units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import engine
from engine.components.actuators import Motor, ReactionWheels
from engine.components.forces import CentralGravity, JointSpring, PointForce
from engine.model import Geometry, Joint, Limits, Link
from tests.fuzz.metamorphic.scene import Drive, Scene, ends, mapped
from tests.fuzz.metamorphic.seen import Seen, View

Array = np.ndarray


@dataclass(frozen=True)
class Units:
    """How many new units an old one is: of length, mass, and time."""

    length: float
    mass: float
    time: float

    @property
    def force(self) -> float:
        return self.mass * self.length / self.time**2

    @property
    def moment(self) -> float:
        return self.force * self.length

    def along(self, unit: str) -> float:
        """Of a coordinate in rad or m."""
        return 1.0 if unit == "rad" else self.length

    def load(self, unit: str) -> float:
        """Of the generalized force along a coordinate in rad or m."""
        return self.moment if unit == "rad" else self.force


def rescaled(scene: Scene, rng: np.random.Generator) -> tuple[Scene, View]:
    """Mechanics knows no units: where lengths, masses and times are others, and all that follows from them, the motion is the same numbers.

    What the engine says in SI units is kept: speeds of joints at which friction begins, and times of stops.
    """
    s = allowed(scene, *(float(2.0 ** rng.integers(-6, 7)) if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 2) for _ in range(3)))
    q, v = dict(scene.q), dict(scene.v)
    for joint in scene.joints:
        units = joint.type.units
        lengths = np.array([s.along(u) for u in units])
        coordinates = {"floating": [1.0] * 4 + [s.length] * 3, "spherical": [1.0] * 4}.get(joint.kind, lengths)
        q = mapped(q, [joint.name], lambda x, k=np.array(coordinates): x * k)
        v = mapped(v, [joint.name], lambda x, k=lengths / s.time: x * k)
    X = np.diag([s.length] * 3 + [1.0] * 3)
    load = {joint.name: s.load(joint.type.units[0]) for joint in scene.joints if joint.type.units}
    made = replace(
        scene, q=q, v=v, gravity=scene.gravity * s.length / s.time**2, dt=scene.dt * s.time, closes=scene.closes * s.time,
        links=tuple(Link(x.name, s.mass * X @ x.inertia @ X, collisions=shapes(x, s)) for x in scene.links),
        joints=tuple(scaled_joint(scene, joint, s) for joint in scene.joints), contacts=scaled_contacts(scene.contacts, s),
        constraints=tuple(scaled_constraint(c, s) for c in scene.constraints),
        forces=tuple(scaled_force(scene, f, s) for f in scene.forces),
        actuators=tuple(scaled_actuator(scene, m, s) for m in scene.actuators),
        drives={n: Drive(d.amplitude * load[n], d.frequency / s.time, d.phase) for n, d in scene.drives.items()},
    )  # fmt: skip

    def back(x: Seen) -> Seen:
        return replace(x, t=x.t / s.time, p=x.p / s.length, w=x.w * s.time, u=x.u * (s.time / s.length))

    return made, back


def allowed(scene: Scene, length: float, mass: float, time: float) -> Units:
    """Units in which a scene can be said, and in which what the engine says in SI units stays as it is.

    How stiff contacts are for a step is asked of masses to the next power of two, which they are multiplied with then.
    """
    mixed = [j for j in scene.joints if len(set(j.type.units)) > 1 and (j.damping or j.friction or j.armature)]
    lossless = scene.joint_dynamics is None or not any(joint.friction or ends(joint) for joint in scene.joints)
    mass = mass if scene.contacts is None else 2.0 ** round(np.log2(mass))
    return Units(1.0 if mixed or not lossless else length, mass, time if lossless else 1.0)


def scaled_pose(T: Array, s: Units) -> Array:
    T = np.array(T)
    T[:3, 3] *= s.length
    return T


def shapes(link: Link, s: Units) -> tuple[Geometry, ...]:
    scaled = [replace(g, size=tuple(s.length * x for x in g.size), placement=scaled_pose(g.placement, s)) for g in link.collisions]
    return tuple(scaled)


def scaled_joint(scene: Scene, joint: Joint, s: Units) -> Joint:
    unit = joint.type.units[0] if joint.type.units else "rad"
    along, load = s.along(unit), s.load(unit)
    mimic = joint.mimic
    if mimic is not None:
        mimic = replace(mimic, ratio=mimic.ratio * along / s.along(scene.joint(mimic.source).type.units[0]), offset=mimic.offset * along)
    limits = Limits(joint.limits.lower * along, joint.limits.upper * along)
    return replace(joint, placement=scaled_pose(joint.placement, s), pitch=joint.pitch * s.length, limits=limits, mimic=mimic,
                   damping=joint.damping * load / along * s.time, friction=joint.friction * load,
                   armature=joint.armature * load / along * s.time**2)  # fmt: skip


def scaled_contacts(contacts: Any, s: Units) -> Any:
    if contacts is None:
        return None

    def surface(m: Any) -> Any:
        return replace(m, stiffness=m.stiffness * s.force / s.length, dissipation=m.dissipation * s.time / s.length)

    ground = contacts.ground
    if ground is not None:
        ground = replace(ground, offset=ground.offset * s.length, material=surface(ground.material))
    return replace(contacts, ground=ground, material=surface(contacts.material),
                   stiction_velocity=contacts.stiction_velocity * s.length / s.time)  # fmt: skip


def scaled_constraint(c: Any, s: Units) -> Any:
    if isinstance(c, engine.Grip):
        return c
    if isinstance(c, engine.Weld):
        return replace(c, pose_ab=scaled_pose(c.pose_ab, s))
    new: dict[str, Any] = {"point_a": s.length * np.array(c.point_a), "point_b": s.length * np.array(c.point_b)}
    return replace(c, **new, **({"length": c.length * s.length} if isinstance(c, engine.Distance) else {}))


def scaled_force(scene: Scene, f: Any, s: Units) -> Any:
    if isinstance(f, CentralGravity):
        return CentralGravity(f.mu * s.length**3 / s.time**2, f.center * s.length, f.name)
    if isinstance(f, PointForce):
        return PointForce(f.link, f.force * s.force, f.moment * s.moment, f.point * s.length, f.axes, f.name)
    unit = scene.joint(f.joint).type.units[0]
    along, load = s.along(unit), s.load(unit)
    return JointSpring(f.joint, f.stiffness * load / along, f.rest * along, f.damping * load / along * s.time, f.name)


def scaled_actuator(scene: Scene, m: Any, s: Units) -> Any:
    if isinstance(m, ReactionWheels):
        return ReactionWheels(m.link, m.axes, initial=m.state * (s.moment * s.time), name=m.name)
    unit = scene.joint(m.joint).type.units[0]
    along, load = s.along(unit), s.load(unit)
    return Motor(m.joint, m.gear, m.rotor * load / along * s.time**2, None if m.effort is None else m.effort * load,
                        m.no_load_speed * along / s.time, m.name)  # fmt: skip
