"""Random trees against Pinocchio and MuJoCo: all kinds of joints, mimic joints, armature, several roots, floating or not; inverse and
forward dynamics, the inertia matrix, Jacobians, and short simulations.

Mimic joints are compared by the tree in which they are free, v_free = E v. Tolerances are counted in ulp, STEPS for every link, of a bound
of the terms that a result is the sum of; where M is inverted, of what its inverse makes of that bound.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import engine
from engine import Model, dynamics
from engine.model import KINDS
from tests.dynamics import oracle_mujoco, oracle_pinocchio
from tests.dynamics.support import freed, some_links
from tests.trees import random_tree

Array = np.ndarray
#: ulp for every link: what is seen is below 2, and below 10 of MuJoCo's inertias, which go through principal axes
STEPS = 40
ULP = 2.0**-52


def case(rng: np.random.Generator, folder: Path) -> str:
    """Compare a tree in one state, and sometimes its motion; say with whom."""
    model = tree(rng)
    gravity = tuple(rng.uniform(-10, 10, 3))
    q, v = model.random(rng)
    v *= 10.0 ** rng.uniform(-2, 1)
    wrenches = rng.standard_normal((len(model.links), 6)) * 10.0 ** rng.uniform(-1, 2)
    state = State(model, q, v, rng.standard_normal(model.nv), wrenches, gravity)
    if not model.nv:
        return "nothing moves"                                                  # which Pinocchio does not survive
    full, q_full, E = freed(model, q)
    reference = oracle_pinocchio.Pinocchio(full, oracle_pinocchio.built(full), gravity)
    reference.theirs.armature = np.zeros(full.nv)
    reference.theirs.armature[reference.order] = full.armature
    with_pinocchio(state, reference, q_full, E, rng)
    words = ["pinocchio"]
    if in_mujoco(full):
        peer = oracle_mujoco.MuJoCo(full, oracle_mujoco.built(full), gravity)
        for body, _, at in peer.joints:
            peer.theirs.dof_armature[at : at + body.kind.nv] = full.armature[body.v]
        with_mujoco(state, peer, q_full, E, rng)
        words.append("mujoco")
    if rng.random() < 0.3:
        words.append(flown(state, reference if full.nv == model.nv else None, rng))
    if len(model.bodies) <= 4 and rng.random() < 0.05:
        words.append(compiled(state))
    return ", ".join(w for w in words if w)


def tree(rng: np.random.Generator) -> Model:
    """One to twelve joints, of some kinds, on one root or on many."""
    kinds = [k for k in KINDS if rng.random() < 0.6] or ["revolute"]
    model = random_tree(rng, int(rng.integers(1, 13)), kinds, floating_base=bool(rng.random() < 0.4), massless=0.4 * (rng.random() < 0.3),
                        mimics=0.5 * (rng.random() < 0.4))  # fmt: skip
    if rng.random() < 0.5:
        return model
    graph = model.graph.copy()
    for parent, child, joint in list(graph.edges.data("joint")):
        if rng.random() < 0.5:
            graph.edges[parent, child]["joint"] = dataclasses.replace(joint, armature=float(rng.uniform(0, 1)))
    return Model.from_graph(graph, floating_base=not model.joints[0].parent)


class State:
    """A state, what this engine makes of it, and how large the terms are."""

    def __init__(self, model: Model, q: Array, v: Array, vdot: Array, wrenches: Array, gravity: Any) -> None:
        self.model, self.q, self.v, self.vdot, self.wrenches, self.gravity = model, q, v, vdot, wrenches, gravity
        self.tau = dynamics.rnea(model, q, v, vdot, gravity, wrenches)
        self.M = dynamics.crba(model, q)
        self.back = dynamics.aba(model, q, v, self.tau, gravity, wrenches)
        self.ulps = STEPS * len(model.links) * ULP
        # the largest wrench that any link sums, at the largest lever
        poses, V = dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v)
        self.reach = 1.0 + float(np.abs(poses[:, :3, 3] - poses[0, :3, 3]).max())
        speed, joints = float(np.abs(V).max(initial=0.0)), float(np.abs(v).max(initial=0.0))
        mass = sum(float(np.abs(body.inertia).max()) for body in model.bodies)
        self.acceleration = 10.0 + self.reach * (float(np.abs(vdot).max(initial=0.0)) + joints * speed + speed**2)
        loads = mass * self.acceleration + float(np.abs(wrenches).sum()) + float((model.armature * np.abs(vdot)).max(initial=0.0))
        ratio = max([1.0, *[abs(body.ratio) for body in model.bodies]])
        self.force = ratio * self.reach * loads
        self.mobility = float(np.linalg.norm(np.linalg.inv(self.M), 2)) if model.nv else 0.0

    def require(self, what: str, ours: Any, theirs: Any, scale: float) -> None:
        """Refuse a difference of more than so many ulp of the scale."""
        off = float(np.abs(np.asarray(ours) - np.asarray(theirs)).max(initial=0.0))
        if not off <= self.ulps * scale:
            text = f"{off / scale / ULP:.3g} ulp of {scale:.3g}; expected up to {self.ulps / ULP:.3g}"
            raise AssertionError(f"{what} differs by {off:.3g}, {text}")


def with_pinocchio(s: State, reference: Any, q: Array, E: Array, rng: np.random.Generator) -> None:
    """Compare with Pinocchio's tree in which mimic joints are free."""
    s.require("rnea", s.tau, E.T @ reference.rnea(q, E @ s.v, E @ s.vdot, s.wrenches), s.force)
    s.require("crba", s.M, E.T @ reference.crba(q) @ E, float(np.abs(s.M).max(initial=0.0)) * s.reach**2)
    s.require("aba", s.back, s.vdot, s.mobility * s.force)
    if E.shape[0] == E.shape[1]:
        s.require("Pinocchio's aba", s.back, reference.aba(q, s.v, s.tau, s.wrenches), s.mobility * s.force)
    for link in some_links(s.model, rng, 3):
        frame = str(rng.choice(["body", "world", "world_aligned"]))
        J = reference.jacobian(q, link, frame) @ E
        far = s.reach + float(np.abs(dynamics.forward_kinematics(s.model, s.q)[:, :3, 3]).max()) * (frame == "world")
        s.require(f"jacobian, {frame}", dynamics.jacobian(s.model, s.q, link, frame), J, far * float(np.abs(E).max(initial=1.0)))
        if all(body.kind.name != "universal" for body in s.model.bodies):          # theirs leaves out Ṡ
            Jdot = reference.jacobian_dot(q, E @ s.v, link, frame) @ E
            speed = float(np.abs(dynamics.twists(s.model, s.q, s.v)).max(initial=0.0)) * (1 + far)
            scale = far * speed * float(np.abs(E).max(initial=1.0))
            s.require(f"jacobian_dot, {frame}", dynamics.jacobian_dot(s.model, s.q, s.v, link, frame), Jdot, scale)


def in_mujoco(model: Model) -> bool:
    """Whether MuJoCo has all joints, with their armature: its planes and free bodies have other velocities, to which that belongs."""
    free = [body for body in model.bodies if body.kind.name == "floating"]
    turned = [body for body in model.bodies if body.kind.name in ("floating", "planar") and body.joint.armature]
    rooted = all(body.parent < 0 and not body.joint.parent for body in free)
    massless = any(not link.inertia.any() for link in model.links[1:])
    return rooted and not turned and not massless and all(body.kind.name != "screw" for body in model.bodies) and bool(model.nv)


def with_mujoco(s: State, peer: Any, q: Array, E: Array, rng: np.random.Generator) -> None:
    """Compare with MuJoCo's."""
    free = dynamics.rnea(s.model, s.q, s.v, s.vdot, s.gravity)
    s.require("MuJoCo's rnea", free, E.T @ peer.rnea(q, E @ s.v, E @ s.vdot), s.force)
    s.require("MuJoCo's crba", s.M, E.T @ peer.crba(q) @ E, float(np.abs(s.M).max(initial=0.0)) * s.reach**2)
    links = [link for link in some_links(s.model, rng, 3) if link != s.model.links[0].name or not s.model.joints[0].parent]
    for link in links:
        J, Jdot = peer.jacobians(q, E @ s.v, link)
        bound = s.reach * float(np.abs(E).max(initial=1.0))
        s.require("MuJoCo's jacobian", dynamics.jacobian(s.model, s.q, link), J @ E, bound)
        speed = float(np.abs(dynamics.twists(s.model, s.q, s.v)).max(initial=0.0)) * (1 + s.reach)
        s.require("MuJoCo's jacobian_dot", dynamics.jacobian_dot(s.model, s.q, s.v, link), Jdot @ E, bound * speed)
    if E.shape[0] == E.shape[1]:
        pushed = {link: s.wrenches[s.model.link_index(link)] for link in links}
        W = np.zeros_like(s.wrenches)
        for link, F in pushed.items():
            W[s.model.link_index(link)] = F
        ours = dynamics.aba(s.model, s.q, s.v, free, s.gravity, W)
        s.require("MuJoCo's aba", ours, peer.aba(q, s.v, free, pushed), s.mobility * s.force)


def flown(s: State, reference: Any, rng: np.random.Generator) -> str:
    """Simulate a few steps by v⁺ = v + h v̇, q⁺ = q ⊕ h v⁺, and do the same with Pinocchio's functions."""
    if reference is None:
        return ""
    h, n = 10.0 ** rng.uniform(-4, -3), 5
    v = s.v * min(1.0, 1.0 / float(np.abs(s.v).max(initial=1.0)))
    simulator = engine.Simulator(s.model, dt=h, gravity=s.gravity, integrator="semi_implicit_euler", joint_dynamics=False,
                                 conserve_momentum=False, compiled=False)  # fmt: skip
    run = simulator.run(s.q, v, n * h)
    Q, V = reference.q(s.q), reference.v(v)
    for _ in range(n):
        V = V + h * pin.aba(reference.theirs, reference.data, Q, V, np.zeros(s.model.nv))
        Q = pin.integrate(reference.theirs, Q, h * V)
    scale = 1.0 + s.mobility * s.force * n * h                                  # each step adds h v̇, rounded as aba is
    s.require("v of a run", run.v[-1], V[reference.order], scale)
    pin.framesForwardKinematics(reference.theirs, reference.data, Q)
    for link, T in zip(s.model.links, dynamics.forward_kinematics(s.model, run.q[-1]), strict=True):
        theirs = reference.data.oMf[reference.frame(link.name)].homogeneous
        s.require("q of a run", T, theirs, (1.0 + float(np.abs(theirs).max())) * s.reach * (1.0 + n * h * scale))
    return "flown"


def compiled(s: State) -> str:
    """Compare the compiled functions with the plain ones."""
    robot = engine.compile(s.model, s.gravity)
    s.require("compiled rnea", robot.rnea(s.q, s.v, s.vdot, s.wrenches), s.tau, s.force)
    s.require("compiled aba", robot.aba(s.q, s.v, s.tau, s.wrenches), s.back, s.mobility * s.force)
    s.require("compiled crba", robot.crba(s.q), s.M, float(np.abs(s.M).max(initial=0.0)) * s.reach**2)
    return "compiled"

