"""Where random scenes begin: shapes about to touch, constraints closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import engine
from engine import dynamics
from engine.constraints import ConstraintError
from engine.contact import ContactError
from engine.model.combine import WORLD
from engine.spatial import se3
from tests.fuzz.metamorphic.scene import Scene, floating, pose_of
from tests.fuzz.metamorphic.seen import Unjudged

Array = np.ndarray
#: m: as far as shapes are apart at first, or that deep in each other
NEAR = (-0.002, 0.02)
#: m: how far away a tree is moved up from; approaches at most; and what is close enough
FAR, APPROACHES, CLOSE = 10.0, 8, 1e-3


def brought_together(rng: np.random.Generator, scene: Scene) -> Scene:
    """A scene with contacts: its first floating tree near the ground, or else another tree."""
    material = engine.ContactMaterial(float(10.0 ** rng.uniform(3, 5)), float(rng.uniform(0, 1)), float(rng.choice([0.0, 0.3, 1.0])))
    flying = [joint for joint in scene.roots if joint.kind == "floating"]
    normal = rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    ground = engine.HalfSpace(tuple(normal), float(rng.uniform(-1, 1)), material) if len(scene.roots) == 1 or rng.random() < 0.6 else None
    mover = flying[int(rng.integers(len(flying)))]
    tree = scene.tree(mover)
    if ground is not None:
        pairs, towards = [(WORLD, link) for link in sorted(tree)], np.array(ground.normal)
    else:
        others = sorted({link.name for link in scene.links} - tree - {WORLD})
        if not others:
            raise Unjudged("nothing to meet")
        pairs, towards = [(a, b) for a in others[:2] for b in sorted(tree)[:2]], normal
    scene = replace(scene, contacts=engine.Contacts(ground, pairs, material, stiction_velocity=float(rng.choice([1e-4, 1e-3]))))
    return moved_up(rng, scene, mover.name, towards)


def moved_up(rng: np.random.Generator, scene: Scene, root: str, towards: Array) -> Scene:
    """A scene whose tree on a floating joint is moved along a direction in the world until its shapes are near others."""
    try:
        laws = scene.contacts.bind(scene.model) if scene.contacts else None
    except ContactError:
        raise Unjudged("nothing can touch") from None
    assert laws is not None
    model, own = scene.model, scene.joint(root).placement
    at, qs = model.q_slice(root), scene.configurations()
    for q in qs:
        T, wanted, s = own @ pose_of(q[at]), rng.uniform(*NEAR), FAR
        for _ in range(APPROACHES):                                            # a distance changes by no more than one goes
            q[at] = floating(se3.inv(own) @ se3.pose(T[:3, :3], T[:3, 3] + s * towards))
            gap = float(np.min(np.asarray(laws.gaps(q), dtype=float)))
            if abs(gap - wanted) < CLOSE:
                break
            s -= gap - wanted
    return scene.with_states(qs, scene.velocities())


def closed(rng: np.random.Generator, scene: Scene, free: bool, smooth: bool) -> Scene:
    """A scene with an exact constraint between two links, in the configuration of its first state, or with a grip."""
    links = [name for name in (WORLD, *scene.names) if not (free and name == WORLD)]
    if len(links) < 2:
        raise Unjudged("nothing to tie")
    a, b = (str(x) for x in rng.choice(links, 2, replace=False))
    q = scene.configurations()[:1]
    T = dict(zip([link.name for link in scene.model.links], dynamics.forward_kinematics(scene.model, q[0]), strict=True))
    scene = scene.with_states(np.repeat(q, scene.states, axis=0), scene.velocities())
    if not smooth and rng.random() < 0.25:
        part = int(rng.integers(scene.steps)) - 0.25                           # in whole steps, and in halves of them
        return started(replace(scene, constraints=(engine.Grip(a, b),), closes=part * scene.dt))
    return started(replace(scene, constraints=(constraint(rng, a, b, se3.inv(T[a]) @ T[b]),)))


def constraint(rng: np.random.Generator, a: str, b: str, T_ab: Array) -> Any:
    """A constraint of a random kind that holds where b is at T_ab in a."""
    p_a, axis = rng.uniform(-0.5, 0.5, 3), rng.standard_normal(3)
    p_b = se3.inv(T_ab)[:3] @ np.append(p_a, 1.0)
    turned = T_ab[:3, :3].T @ axis
    kind = rng.integers(4)
    if kind == 0:
        return engine.Weld(a, b, T_ab)
    if kind == 1:
        return engine.Hinge(a, b, p_a, p_b, axis, turned)
    if kind == 2:
        far = p_b + rng.standard_normal(3)
        length = float(np.linalg.norm(T_ab[:3] @ np.append(far, 1.0) - p_a))
        return engine.Distance(a, b, p_a, far, length)
    return engine.Ball(a, b, p_a, p_b)


def started(scene: Scene) -> Scene:
    """A scene whose states are on its constraints."""
    try:
        simulator = scene.simulator(compiled=False)
        begun = [simulator.start(*pair) for pair in zip(scene.configurations(), scene.velocities(), strict=True)]
    except (ConstraintError, ContactError):                                    # two links of one body; or closing it lets shapes overlap
        raise Unjudged("cannot be closed") from None
    return scene.with_states(np.array([state.q for state in begun]), np.array([state.v for state in begun]))
