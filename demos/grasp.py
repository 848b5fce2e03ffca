"""A servicer closes its fingers on the handle of a tumbling target, grips it, and brings both to rest by its wheels.

    python demos/grasp.py
    python demos/grasp.py --no-wheels                # what the pair's spin is that no arm can take away
    python demos/grasp.py --video grasp.mp4          # or --view, in a window: with the forces of the fingers

Two free bodies, and nothing holds either. The arm follows the handle, two fingers close on it with friction, and when both press it and
stand, a grip closes. Then the arm's joints brake the target: the momentum of the two stays, so they go on turning as one, until reaction
wheels take that in. What drifts goes on drifting: wheels push nothing. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import show

import engine
from engine import dynamics, ops
from engine.simulation.actuators import ReactionWheels
from engine.simulation.controllers import blend
from engine.spatial import inertia, quaternion, se3

START = {"shoulder_yaw": 0.3, "shoulder_pitch": -0.2, "shoulder_roll": 0.2, "elbow_pitch": 1.4, "wrist_yaw": 0.1, "wrist_pitch": 0.6,
         "wrist_roll": 0.2}  # fmt: skip
GAP = np.array([0.2, 0.3, -0.3, 0.2, -0.25, 0.5])                              # from the gripper to the handle at first: rad, m
SPIN, DRIFT = np.radians([1.2, -1.5, 1.0]), np.array([0.012, 0.016, -0.008])   # of the target: rad/s, m/s
MASS, SIZE, OFFSET = 180.0, (0.8, 0.8, 0.9), np.array([0.05, 0.05, 0.65])      # kg, m; m: from its handle to its centre
BAR, OPEN, PRESSED = 0.012, 0.07, 0.002                                        # m: handle's radius; pads from the middle, at most and least
MEET, CLOSE, GRIP, WHEELS, END = 16.0, 2.5, 20.0, 32.0, 60.0                   # s: gripper there, fingers' time, grip, wheels' turn, end
SPRING, DAMPING, HOLDS = 3000.0, 150.0, 20.0                                   # N/m, N·s/m: of a finger's motor; N: it has something
BRAKE = np.array([250.0, 250.0, 150.0, 150.0, 80.0, 80.0, 60.0])               # N·m·s/rad: of the arm's joints, when it has the target
BANDWIDTH, WHEEL = 1.5, 250.0                                                  # rad/s; N·m·s/rad: wheels against the bus's rate
RUBBER, STEEL = engine.ContactMaterial(5e4, 1.0, 0.8), engine.ContactMaterial(1e6, 1.0, 0.6)
LINK, HANDLE = "servicer/gripper", "target/handle"


def gripper() -> engine.Model:
    """A palm with two fingers that slide along x; its frame is the example's gripper's, whose fingers do not move."""
    silver, dark, rubber = (0.66, 0.68, 0.71), (0.17, 0.18, 0.20), (0.09, 0.09, 0.10)
    builder = engine.Builder("hand")
    builder.add_link("palm", visuals=[show.shape("cylinder", (0.062, 0.03), silver, at=(0.0, 0.0, -0.205)),
                                      show.shape("box", (0.24, 0.05, 0.02), dark, at=(0.0, 0.0, -0.1))])  # fmt: skip
    for name, side in (("left", 1.0), ("right", -1.0)):
        pad = show.shape("box", (0.012, 0.05, 0.06), rubber, at=(0.006 * side, 0.0, 0.0))
        looks = [pad, show.shape("box", (0.02, 0.04, 0.13), silver, at=(0.022 * side, 0.0, -0.03)),
                 show.shape("box", (0.05, 0.06, 0.03), dark, at=(0.03 * side, 0.0, -0.085))]  # fmt: skip
        G = inertia.transformed(se3.pose(np.eye(3), np.array([0.02 * side, 0.0, -0.03])), inertia.box(0.5, (0.03, 0.05, 0.13)))
        builder.add_link(name, inertia=G, visuals=looks, collisions=[pad])
        builder.add_joint(f"{name}_finger", "prismatic", "palm", name, axis=[side, 0.0, 0.0],
                          limits=engine.Limits(0.0, 0.08, effort=80.0), damping=DAMPING)  # fmt: skip
    return builder.model()


def servicer() -> engine.Model:
    """The example without its gripper's fingers."""
    graph = engine.load_urdf(engine.example("free_flyer")).graph.copy()
    link = graph.nodes["gripper"]["link"]
    graph.nodes["gripper"]["link"] = replace(link, visuals=[g for g in link.visuals if "white" in g.uri], collisions=())
    return engine.Model.from_graph(graph, floating_base=True)


def target() -> engine.Model:
    """A satellite in the frame of its handle, a bar along y."""
    white, grey, cells, steel, dark = (0.88, 0.88, 0.86), (0.36, 0.38, 0.42), (0.05, 0.10, 0.33), (0.66, 0.68, 0.71), (0.15, 0.16, 0.18)
    x, y, z = SIZE
    bar = show.shape("capsule", (BAR, 0.2), steel, along="y")
    looks = [bar, show.shape("box", SIZE, white, at=OFFSET), show.shape("box", (0.7 * x, y + 0.01, 0.7 * z), grey, at=OFFSET),
             show.shape("box", (0.08, 0.3, 0.02), dark, at=(0.0, 0.0, OFFSET[2] - 0.5 * z)),
             *(show.shape("cylinder", (0.01, 0.2), steel, at=(0.0, side, 0.1)) for side in (-0.1, 0.1)),
             show.shape("cylinder", (0.02, 2.8), steel, at=OFFSET, along="y"),
             *(show.shape("box", (0.6, 0.42, 0.015), cells, at=OFFSET + [0.0, side, 0.0]) for side in (-1.22, -0.76, 0.76, 1.22))]  # fmt: skip
    builder = engine.Builder("target")
    G = inertia.transformed(se3.pose(np.eye(3), OFFSET), inertia.box(MASS, SIZE))
    builder.add_link("handle", inertia=G, visuals=looks, collisions=[bar])
    return builder.model(floating_base=True)


def scene() -> tuple[engine.Model, engine.Model, np.ndarray, np.ndarray]:
    """Both, the servicer alone, and where all is at first: q and v."""
    robot = {"servicer": servicer(), "hand": engine.Mounted(gripper(), on=LINK)}
    model, alone = engine.combine(**robot, target=target()), engine.combine(**robot)
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, angle in START.items():
        q[model.q_slice(f"servicer/{joint}")] = angle
    for side in ("left", "right"):
        q[model.q_slice(f"hand/{side}_finger")] = OPEN
    T = dynamics.forward_kinematics(model, q)[model.link_index(LINK)] @ se3.exp(GAP)
    q[model.q_slice("target/floating_base")] = np.concatenate([quaternion.from_matrix(T[:3, :3]), T[:3, 3]])
    R = T[:3, :3]
    v[model.v_slice("target/floating_base")] = np.concatenate([R.T @ SPIN, R.T @ DRIFT - np.cross(R.T @ SPIN, OFFSET)])
    return model, alone, q, v


def controller_of(model: engine.Model, alone: engine.Model, wheels: bool):
    """Commands {tau, grip, wheels}: follow the handle, close, grip, brake, and let the wheels take what is left."""
    n, m, G = alone.nq, alone.nv, model.link(HANDLE).inertia

    def reference(t, T, V):
        """Where the gripper shall be: the gap, seen from the handle, closes with the least jerk along one screw."""
        A = ops.solve(G, se3.ad(V).T @ (G @ V))                                # of a body that nothing pushes
        s, rate, change = blend(t, MEET)
        d, ddot, dddot = (s - 1.0) * GAP, rate * GAP, change * GAP
        X = se3.inv(se3.exp(d))
        U = se3.Ad(X) @ V
        return T @ se3.exp(d), U + ddot, se3.Ad(X) @ A + se3.ad(U) @ ddot + dddot

    def follow(t, q, v, T, V):
        """Torques of the arm that take the gripper along the reference, the base as it likes: resolved acceleration."""
        T_d, V_d, A_d = reference(t, T, V)
        J, Js = dynamics.jacobian(alone, q, LINK), dynamics.generalized_jacobian(alone, q, LINK)[:, :-2]
        X = se3.inv(dynamics.forward_kinematics(alone, q)[alone.link_index(LINK)]) @ T_d
        U, u = se3.Ad(X) @ V_d, J @ v
        wanted = se3.Ad(X) @ A_d + se3.ad(U - u) @ U + 2.0 * BANDWIDTH * (U - u) + BANDWIDTH**2 * se3.log(X)
        M, b = dynamics.crba(alone, q), dynamics.bias(alone, q, v, (0, 0, 0))
        drift = dynamics.jacobian_dot(alone, q, v, LINK) @ v - J[:, :6] @ ops.solve(M[:6, :6], b[:6])
        pull = ops.solve(Js @ Js.T + 1e-6 * np.eye(6), np.stack([wanted - drift, Js @ v[6:-2]], axis=1))
        a = Js.T @ pull[:, 0] - 0.5 * (v[6:-2] - Js.T @ pull[:, 1])            # and the elbow comes to rest
        return dynamics.floating_inverse_dynamics(alone, q, v, np.concatenate([a, np.zeros(2)]), (0, 0, 0))[0][:-2]

    def controller(t, q, v, pose):
        s, rate, _ = blend(t, CLOSE, MEET)
        push = SPRING * (OPEN + s * (PRESSED - OPEN) - q[n - 2 : n]) + DAMPING * rate * (PRESSED - OPEN)
        holds = ops.logical_and(t >= GRIP, ops.maximum(*push) < -HOLDS)
        brake = -blend(t, 1.0, GRIP)[0] * BRAKE * v[6 : m - 2]
        arm = ops.where(holds, brake, follow(t, q[:n], v[:m], pose(HANDLE), v[m:]))
        commands = {"tau": np.concatenate([np.zeros(6), arm, push, np.zeros(6)]),
                    "grip": ops.where(holds, 1.0, 0.0)}  # fmt: skip
        return {**commands, "wheels": -blend(t, 2.0, WHEELS)[0] * WHEEL * v[:3]} if wheels else commands

    return controller
