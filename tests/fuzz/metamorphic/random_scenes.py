"""Random scenes: trees, states, and what acts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.components.actuators import Motor, ReactionWheels
from engine.components.component import Component
from engine.components.forces import CentralGravity, JointSpring, PointForce
from engine.integrate import METHODS
from engine.model import KINDS, Geometry, Joint, Limits, Link, Mimic
from engine.model.combine import WORLD
from engine.spatial import quaternion, se3
from tests.fuzz.metamorphic.placing import brought_together, closed
from tests.fuzz.metamorphic.scene import Drive, Scene
from tests.trees import ONE_COORDINATE, random_axis, random_inertia, random_placement

Array = np.ndarray
#: kinds of joints within a tree; a body that floats within one is rare, as it is in robots
WITHIN = (*(kind for kind in KINDS if kind != "floating"), "revolute", "continuous", "prismatic", "revolute")
#: methods, those that compile slowly once
EASY = tuple(name for name in METHODS if name not in ("dqvi", "implicit_midpoint"))
METHOD = (*EASY, *EASY, "implicit_midpoint")


def random_scene(rng: np.random.Generator, states: int = 16, bodies: int = 4, free: bool = False, smooth: bool = False,
                 contacts: bool | None = None, constraints: bool | None = None, methods: Sequence[str] = METHOD,
                 apart: float = 0.25) -> Scene:  # fmt: skip
    """A scene of one to so many bodies.

    Parameters
    ----------
    free : whether all trees float, and nothing ties them to the world
    smooth : without what is not as smooth as a method's order wants: contacts, stops, dry friction, saturation
    contacts, constraints : whether there are any; by chance if None
    apart : share of the links that begin a tree of their own
    """
    touching = not smooth and (rng.random() < 0.3 if contacts is None else contacts)
    tied = rng.random() < 0.15 if constraints is None else constraints
    n = int(rng.integers(1 + tied, bodies + 1))
    links, joints = tree(rng, n, free, touching, tied, apart)
    if not any(joint.type.nv and joint.mimic is None for joint in joints):
        joints = (replace(joints[0], kind="floating", mimic=None), *joints[1:])
    joints = tuple(with_losses(rng, joint, smooth) for joint in joints)
    own = [joint for joint in joints if joint.type.nv and joint.mimic is None]
    drawn = [[joint.type.random(joint, rng) for _ in range(states)] for joint in own]
    q = {joint.name: np.array(x) for joint, x in zip(own, drawn, strict=True)}
    v = {joint.name: rng.standard_normal((states, joint.type.nv)) * speed(rng) for joint in own}
    gravity = rng.standard_normal(3) * 10.0 ** rng.uniform(-1, 1) * (rng.random() < 0.8)
    scene = Scene(
        links, joints, q, v, gravity,
        dt=float(2.0 ** rng.integers(-12, -7)), steps=int(rng.choice([4, 8, 16, 32])), integrator=str(rng.choice(methods)),
        joint_dynamics=str(rng.choice(["auto", "auto", "implicit", "explicit"])) if rng.random() < 0.9 and not smooth else "explicit",
        conserve_momentum=bool(rng.random() < 0.8),
    )  # fmt: skip
    forces, actuators, drives = acting(rng, scene, smooth, free)
    scene = replace(scene, forces=forces, actuators=actuators, drives=drives)
    if touching:
        scene = brought_together(rng, scene)
    return closed(rng, scene, free, smooth) if tied else scene


def speed(rng: np.random.Generator) -> float:
    """How fast joints move."""
    return float(rng.choice([0.0, 0.1, 1.0, 1.0, 3.0]))


# ---------------------------------------------------------------- links and joints


def tree(rng: np.random.Generator, n: int, free: bool, touching: bool, tied: bool,
         apart: float) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:  # fmt: skip
    """Links l1 … ln on the world, each with a joint j1 … jn above it."""
    links, joints = [Link(WORLD)], list[Joint]()
    followed: list[str] = []
    for i in range(1, n + 1):
        begins = i == 1 or rng.random() < apart
        parent = WORLD if begins else f"l{int(rng.integers(1, i))}"
        kind = "floating" if begins and (free or (touching and i == 1) or rng.random() < 0.6) else str(rng.choice(WITHIN))
        mimic = None
        if kind in ONE_COORDINATE and not tied:
            if followed and rng.random() < 0.15:
                mimic = Mimic(str(rng.choice(followed)), float(rng.uniform(0.5, 2) * rng.choice([-1, 1])), float(rng.uniform(-1, 1)))
            followed.append(f"j{i}")
        axis = random_axis(rng)
        armature = float(rng.uniform(0, 1)) if kind not in ("floating", "fixed") and rng.random() < 0.3 else 0.0
        links.append(Link(f"l{i}", random_inertia(rng), collisions=shapes(rng) if touching else ()))
        joints.append(Joint(f"j{i}", kind, parent, f"l{i}", random_placement(rng), axis, np.cross(axis, [0.36, 0.48, 0.8]) + 0.3 * axis,
                            pitch=float(rng.uniform(-0.5, 0.5)), mimic=mimic, armature=armature))  # fmt: skip
    return tuple(links), tuple(joints)


def shapes(rng: np.random.Generator) -> tuple[Geometry, ...]:
    """A shape, as often a round one."""
    kind = str(rng.choice(["sphere", "sphere", "box", "capsule", "cylinder", "ellipsoid"]))
    size = {"sphere": 1, "box": 3, "capsule": 2, "cylinder": 2, "ellipsoid": 3}[kind]
    placement = se3.pose(quaternion.to_matrix(quaternion.random(rng)), rng.uniform(-0.2, 0.2, 3))
    return (Geometry(kind, tuple(rng.uniform(0.1, 0.4, size)), placement),)


def with_losses(rng: np.random.Generator, joint: Joint, smooth: bool) -> Joint:
    """A joint that may rub, lose and end somewhere."""
    if joint.kind in ("floating", "fixed"):
        return joint
    damping = float(10.0 ** rng.uniform(-2, 1)) if rng.random() < 0.3 else 0.0
    friction = float(10.0 ** rng.uniform(-2, 1)) if rng.random() < 0.2 and not smooth else 0.0
    limits = Limits()
    if joint.kind in ONE_COORDINATE and joint.mimic is None and not smooth:
        low, high = -float(rng.uniform(0.1, 1)), float(rng.uniform(0.1, 1))
        sides = rng.random(2) < 0.25
        limits = Limits(low if sides[0] else -np.inf, high if sides[1] else np.inf)
    return replace(joint, damping=damping, friction=friction, limits=limits)


# ---------------------------------------------------------------- what acts


def acting(rng: np.random.Generator, scene: Scene, smooth: bool, free: bool) -> tuple[Any, Any, Any]:
    """Forces, actuators and drives."""
    forces, actuators, drives = list[Component](), list[Component](), dict[str, Drive]()
    for joint in scene.joints:
        if joint.kind not in ONE_COORDINATE or joint.mimic is not None:
            continue
        if rng.random() < 0.25:
            forces.append(JointSpring(joint.name, float(10.0 ** rng.uniform(-1, 1.5)), float(rng.uniform(-1, 1)),
                                             float(rng.choice([0.0, 0.5]))))  # fmt: skip
        if rng.random() < 0.3:
            drives[joint.name] = Drive(float(10.0 ** rng.uniform(-1, 1)), float(rng.uniform(0, 20)), float(rng.uniform(0, 6)))
            if rng.random() < 0.5:
                limit = {} if smooth else {"effort": float(rng.uniform(0.1, 5)), "no_load_speed": float(rng.choice([np.inf, 3.0]))}
                actuators.append(Motor(joint.name, float(rng.uniform(1, 10)), float(rng.uniform(0, 0.01)), **limit))
    for name in scene.names:
        if rng.random() < 0.15:
            forces.append(PointForce(name, *rng.standard_normal((3, 3)), str(rng.choice(["world", "link"])), f"force on {name}"))
        if rng.random() < 0.1 and scene.model.carrier[scene.model.link_index(name)][0] >= 0:
            axes = rng.standard_normal((2, 3))
            actuators.append(ReactionWheels(name, axes, initial=rng.standard_normal(2), name=f"wheels on {name}"))
    if not free and rng.random() < 0.1:
        forces.append(CentralGravity(float(10.0 ** rng.uniform(0, 2)), rng.standard_normal(3) * 5.0 + [0, 0, 10.0], "center"))
    return tuple(forces), tuple(actuators), drives
