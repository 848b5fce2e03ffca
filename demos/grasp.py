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
SPIN, DRIFT = np.radians([-2.6, -1.3, 0.6]), np.array([0.001, 0.023, 0.009])   # of the target: rad/s, m/s
MASS, SIZE, OFFSET = 180.0, (0.8, 0.8, 0.9), np.array([0.05, 0.05, 0.65])      # kg, m; m: from its handle to its centre
BAR, OPEN, PRESSED = 0.012, 0.07, 0.002                                        # m: handle's radius; pads from the middle, at most and least
MEET, CLOSE, GRIP, WHEELS, END = 14.0, 2.5, 17.5, 28.0, 50.0                   # s: gripper there, fingers' time, grip, wheels' turn, end
SPRING, DAMPING, HOLDS = 3000.0, 150.0, 20.0                                   # N/m, N·s/m: of a finger's motor; N: it has something
BANDWIDTH, BRAKE, WHEEL = 1.5, 0.7, 600.0                                      # rad/s; 1/s; N·m·s/rad: wheels against the bus's rate
RUBBER, STEEL = engine.ContactMaterial(5e4, 1.0, 0.8), engine.ContactMaterial(1e6, 1.0, 0.6)
BUS, LINK, HANDLE = "servicer/bus", "servicer/gripper", "target/handle"


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


def target(floating_base: bool = True) -> engine.Model:
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
    return builder.model(floating_base)


def scene() -> tuple[engine.Model, engine.Model, engine.Model, np.ndarray, np.ndarray]:
    """Both as free bodies, the servicer alone, and with the target in its grip; and where all is at first: q and v."""
    robot = {"servicer": servicer(), "hand": engine.Mounted(gripper(), on=LINK)}
    model, alone = engine.combine(**robot, target=target()), engine.combine(**robot)
    pair = engine.combine(**robot, target=engine.Mounted(target(floating_base=False), on=LINK))
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, angle in START.items():
        q[model.q_slice(f"servicer/{joint}")] = angle
    for side in ("left", "right"):
        q[model.q_slice(f"hand/{side}_finger")] = OPEN
    T = dynamics.forward_kinematics(model, q)[model.link_index(LINK)] @ se3.exp(GAP)
    q[model.q_slice("target/floating_base")] = np.concatenate([quaternion.from_matrix(T[:3, :3]), T[:3, 3]])
    R = T[:3, :3]
    v[model.v_slice("target/floating_base")] = np.concatenate([R.T @ SPIN, R.T @ DRIFT - np.cross(R.T @ SPIN, OFFSET)])
    return model, alone, pair, q, v


def controller_of(model: engine.Model, alone: engine.Model, pair: engine.Model, wheels: bool):
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

    def brake(t, q, v, moment):
        """Torques of the arm by which its joints' rates die out, with the target in its grip and the wheels' moment on the bus."""
        a = -BRAKE * blend(t, 2.0, GRIP)[0] * v[6:]
        wrenches = np.stack([np.concatenate([moment if link.name == BUS else np.zeros(3), np.zeros(3)]) for link in pair.links])
        return dynamics.floating_inverse_dynamics(pair, q, v, a, (0, 0, 0), wrenches=wrenches)[0][:-2]

    def controller(t, q, v, pose, states):
        s, rate, _ = blend(t, CLOSE, MEET)
        push = SPRING * (OPEN + s * (PRESSED - OPEN) - q[n - 2 : n]) + DAMPING * rate * (PRESSED - OPEN)
        holds = ops.logical_and(t >= GRIP, ops.maximum(*push) < -HOLDS)
        wheel = -blend(t, 2.0, WHEELS)[0] * WHEEL * v[:3] if wheels else np.zeros(3)
        moment = wheel - ops.cross(v[:3], states["wheels"]) if wheels else wheel
        arm = ops.where(holds, brake(t, q[:n], v[:m], moment), follow(t, q[:n], v[:m], pose(HANDLE), v[m:]))
        commands = {"tau": np.concatenate([np.zeros(6), arm, push, np.zeros(6)]),
                    "grip": ops.where(holds, 1.0, 0.0)}  # fmt: skip
        return {**commands, "wheels": wheel} if wheels else commands

    return controller


def turning(motion: engine.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Angular momentum of both and the wheels about the centre of mass (T, 3), and the speed (T) at which it moves."""
    P, c, mass = motion.momentum(), motion.robot.center_of_mass(motion.q), dynamics.total_mass(motion.model)
    return P[:, :3] - np.cross(c, P[:, 3:]), np.linalg.norm(P[:, 3:], axis=1) / mass


def seen(motion: engine.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """The handle from the gripper: the way to it (T, 6) and its twist beside it (T, 6), rad, m and rad/s, m/s."""
    a, b = motion.model.link_index(LINK), motion.model.link_index(HANDLE)
    T, V = motion.poses(), motion.robot.twists(motion.q, motion.v)
    X = se3.inv(T[:, b]) @ T[:, a]
    return se3.log(se3.inv(X)), V[:, b] - np.einsum("tij,tj->ti", se3.Ad(X), V[:, a])


def pressing(motion: engine.Trajectory) -> np.ndarray:
    """What each finger presses the handle with (T, 2), N."""
    return np.linalg.norm(motion("contacts.force").reshape(len(motion), 2, -1, 3).sum(axis=2), axis=-1)


def report(motion: engine.Trajectory, wheels: bool) -> None:
    """What was met, held, braked and taken in; and what of the momentum."""
    t, force, (gap, beside) = motion.t, pressing(motion), seen(motion)
    L, drift = turning(motion)
    closed = motion("grip.closed") > 0.5
    if not closed.any():
        print("grip       never closed: the fingers hold nothing")
        return
    k, waits = int(closed.argmax()), (t >= MEET) & ~closed
    apart, spin = 1e3 * np.linalg.norm(gap[:, 3:], axis=1), np.degrees(np.linalg.norm(motion.v[:, :3], axis=1))
    print(f"gripper    {apart[0]:.0f} mm from the handle at first; within {apart[waits].max():.1e} mm of it after {MEET:g} s, base held by nothing")
    print(f"fingers    touch after {t[force.any(axis=1).argmax()]:.2f} s, and press with {force[k - 1].min():.1f} N and "
          f"{force[k - 1].max():.1f} N when the grip closes")  # fmt: skip
    print(f"grip       closes after {t[k]:.2f} s: from then on the handle moves in the gripper by {np.abs(beside[k + 1 :]).max():.1e} rad/s, m/s")
    rates, still = np.abs(motion.v[:, 6:13]).max(axis=1), t < WHEELS
    print(f"brakes     the joints from {rates[k]:.3f} rad/s to {rates[still][-1]:.1e} rad/s, by at most "
          f"{np.abs(motion.tau[k:, 6:13]).max():.1f} N·m")  # fmt: skip
    change = np.abs(motion.momentum()[still] - motion.momentum()[0]).max(axis=0)
    size = np.linalg.norm(L, axis=1)
    print(f"momentum   about the centre of mass {size[0]:.6f} N·m·s before, {size[still][-1]:.6f} N·m·s after; changes by at most "
          f"{change[:3].max():.0e} N·m·s, {change[3:].max():.0e} N·s")  # fmt: skip
    print(f"spin       of the two as one {spin[still][-1]:.3f} deg/s: no arm can take that away")
    if wheels:
        h = motion("wheels.momentum")
        print(f"wheels     take in {np.linalg.norm(h[-1]):.3f} N·m·s: {spin[-1]:.4f} deg/s are left")
    print(f"drift      {1e3 * drift[-1]:.2f} mm/s, before and after")


def plot(motion: engine.Trajectory, wheels: bool, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, (gap, beside), (L, _) = motion.t, seen(motion), turning(motion)
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    a.semilogy(t, np.maximum(np.linalg.norm(gap[:, 3:], axis=1), 1e-12), label="distance, m")
    a.semilogy(t, np.maximum(np.linalg.norm(beside[:, :3], axis=1), 1e-18), lw=1, label="turning, rad/s")
    b.plot(t, pressing(motion), label=("left", "right"))
    c.plot(t, motion.tau[:, 6:13])
    d.plot(t, L, label=("x", "y", "z"))
    if wheels:
        d.plot(t, motion("wheels.angular_momentum"), "--", color="0.5", lw=1)
    for axis, title in zip((a, b, c, d), ("handle from gripper", "fingers on the handle, N", "arm's torques, N·m",
                                          "angular momentum of all (dashed: in the wheels), N·m·s"), strict=True):  # fmt: skip
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (a, b, d):
        axis.legend()
    figure.suptitle("grasp of a tumbling target")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", action=argparse.BooleanOptionalAction, default=True, help="whether wheels take the spin in")
    parser.add_argument("--dt", type=float, default=2e-3, help="step, seconds (default: 0.002)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, alone, pair, q0, v0 = scene()
    contacts = engine.Contacts(pairs=[("hand/left", HANDLE), ("hand/right", HANDLE)], material=RUBBER, materials={HANDLE: STEEL})
    actuators = [ReactionWheels(BUS, torque=4.0, momentum=30.0)] if options.wheels else []
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), actuators=actuators, contacts=contacts,
                                 controller=controller_of(model, alone, pair, options.wheels), constraints=[engine.Grip(LINK, HANDLE)])  # fmt: skip
    begun = time.perf_counter()
    motion = simulator.run(q0, v0, END, record_every=10, progress=True)
    print(f"simulated {END:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion, options.wheels)
    data = motion.save(options.out / "grasp.h5", overwrite=True)
    plot(motion, options.wheels, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    show.show(options, motion, speed=3.0, view=(-0.8, 0.35), shown=engine.viewer.Shown(contacts=True))


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
