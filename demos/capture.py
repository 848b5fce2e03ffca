"""A servicer reaches for the handle of a tumbling target, with its base uncontrolled.

    python demos/capture.py
    python demos/capture.py --video capture.mp4      # or --view, in a window

The target drifts and tumbles; its handle's motion is known. The servicer's arm follows it with the generalized Jacobian: the base
reacts as it will, its momentum stays what it was, and the gripper meets the handle all the same, in place and in speed. Writes the
trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine.components.controllers import blend, generalized_jacobian_control
from engine.spatial import quaternion, se3, so3

SERVICER = engine.example("free_flyer")
START = {"shoulder_yaw": 0.3, "shoulder_pitch": -0.2, "shoulder_roll": 0.2, "elbow_pitch": 1.4, "wrist_yaw": 0.1, "wrist_pitch": 0.6,
         "wrist_roll": 0.2}  # fmt: skip
STORY = [(0.0, "A servicer and a tumbling target: nothing holds either"),
         (0.25, "The arm goes after the handle; the base gives way by what momentum asks"),
         (0.71, "The gripper is on the handle, in place and in speed")]  # fmt: skip
MEET, HOLD = 25.0, 10.0                                                        # s: until the gripper is on the handle, and along with it
SPIN, DRIFT = np.radians([0.4, -0.6, 0.5]), np.array([0.002, -0.001, 0.0015])  # of the target: rad/s, m/s
OFFSET = np.array([0.05, 0.05, -0.5])                                          # m: from the target's centre to its handle


def servicer() -> tuple[engine.Model, np.ndarray]:
    """The model, and its arm half stretched."""
    model = engine.load_urdf(SERVICER, floating_base=True)
    q = model.neutral()
    for joint, angle in START.items():
        q[model.q_slice(joint)] = angle
    return model, q


def handle(T0: np.ndarray):
    """Pose, twist (in the handle's axes) and its rate, of a handle that at t = 0 is at T0, on a body that spins steadily and drifts."""
    R0, p0 = T0[:3, :3], T0[:3, 3]
    center = p0 - R0 @ OFFSET

    def motion(t):
        R = so3.exp(SPIN * t) @ R0                                             # SPIN in world axes: a sphere of a target
        arm = R @ OFFSET
        u = DRIFT + so3.hat(SPIN) @ arm
        T = se3.pose(R, center + DRIFT * t + arm)
        V = np.concatenate([R.T @ SPIN, R.T @ u])
        swing = so3.hat(SPIN) @ (so3.hat(SPIN) @ arm)
        return T, V, np.concatenate([np.zeros(3), R.T @ swing - so3.hat(R.T @ SPIN) @ (R.T @ u)])

    return motion


def approach(motion, T_start: np.ndarray):
    """From the gripper's pose at first to the handle's: the gap, seen from the handle, closes with the least jerk."""
    T0, _, _ = motion(0.0)
    gap = se3.log(se3.inv(np.asarray(T0, dtype=float)) @ T_start)

    def reference(t):
        T, V, A = motion(t)
        s, rate, change = blend(t, MEET)
        d, ddot, dddot = (1.0 - s) * gap, -rate * gap, -change * gap           # always along one screw: its exponential's twist is ḋ
        X = se3.inv(se3.exp(d))
        U = se3.Ad(X) @ V
        return T @ se3.exp(d), U + ddot, se3.Ad(X) @ A + se3.ad(U) @ ddot + dddot

    return reference


def target(motion, t: np.ndarray) -> engine.Trajectory:
    """What the target does, to be looked at: a model of one floating link, whose frame is the handle's."""
    white, grey, cells, steel, dark = (0.88, 0.88, 0.86), (0.36, 0.38, 0.42), (0.05, 0.10, 0.33), (0.66, 0.68, 0.71), (0.15, 0.16, 0.18)
    shapes = [show.shape("box", (0.5, 0.5, 0.6), white, at=-OFFSET), show.shape("box", (0.36, 0.51, 0.44), grey, at=-OFFSET),
              show.shape("capsule", (0.012, 0.16), steel, along="x"), show.shape("box", (0.22, 0.06, 0.02), dark, at=(0.0, 0.0, 0.2)),
              *(show.shape("cylinder", (0.01, 0.2), steel, at=(x, 0.0, 0.1)) for x in (-0.08, 0.08)),
              show.shape("cylinder", (0.015, 1.6), steel, at=-OFFSET, along="y"),
              *(show.shape("box", (0.4, 0.3, 0.015), cells, at=-OFFSET + [0.0, y, 0.0]) for y in (-0.78, -0.46, 0.46, 0.78))]  # fmt: skip
    builder = engine.Builder("target")
    builder.add_link("target", visuals=tuple(shapes))
    T, V, Vdot = (np.array(x) for x in zip(*map(motion, t), strict=True))
    q = np.concatenate([quaternion.from_matrix(T[:, :3, :3]), T[:, :3, 3]], axis=1)
    return engine.Trajectory(builder.model(floating_base=True), (0.0, 0.0, 0.0), t, q, V, np.zeros_like(V), Vdot)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dt", type=float, default=5e-3, help="step, seconds (default: 0.005)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, q0 = servicer()
    T_start = engine.dynamics.forward_kinematics(model, q0)[model.link_index("gripper")]
    there = T_start @ se3.exp(np.array([0.2, 0.3, -0.2, 0.25, -0.3, 0.2]))     # where the handle is at first
    motion = handle(there)
    controller = generalized_jacobian_control(model, "gripper", approach(motion, T_start), bandwidth=1.0)
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), controller=controller)
    begun = time.perf_counter()
    trajectory = simulator.run(q0, np.zeros(model.nv), MEET + HOLD, record_every=5, progress=True)
    print(f"simulated {MEET + HOLD:g} s in {time.perf_counter() - begun:.1f} s, compiling included")

    T, t = trajectory.pose("gripper"), trajectory.t
    goal = np.array([motion(x)[0] for x in t])
    gap = se3.log(se3.inv(T) @ goal)
    caught = t >= MEET
    turned = np.degrees(np.linalg.norm(quaternion.log(trajectory.q[:, :4]), axis=1))
    P = trajectory.momentum()
    apart, angle = 1e3 * np.linalg.norm(gap[:, 3:], axis=1), np.degrees(np.linalg.norm(gap[:, :3], axis=1))
    print(f"gripper    {apart[0]:.0f} mm and {angle[0]:.1f} deg from the handle at first")
    print(f"contact    from {MEET:g} s on within {apart[caught].max():.1e} mm and {angle[caught].max():.1e} deg")
    moved = 1e3 * np.linalg.norm(trajectory.q[-1, 4:7])
    print(f"base       turned by up to {turned.max():.2f} deg, moved by {moved:.1f} mm, held by nothing")
    print(f"momentum   of the servicer at most {np.abs(P).max():.1e} N·m·s, N·s (zero at first)")
    print(f"torques    at most {np.abs(trajectory.tau).max():.2f} N·m; {int(trajectory('drive.saturated').sum())} states at a limit")
    data = trajectory.save(options.out / "capture.h5", overwrite=True)
    plot(trajectory, gap, turned, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    look, near = (-0.8, 0.35), engine.Follow("gripper", (-0.8, 0.35), radius=0.75)
    shots = [engine.Shot(share * t[-1], view, text) for (share, text), view in zip(STORY, (look, near, near), strict=True)]
    show.show(options, [trajectory, target(motion, t)], speed=1.5, view=look, shots=shots)


def plot(trajectory, gap, turned, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = trajectory.t
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    a.semilogy(t, np.maximum(np.linalg.norm(gap[:, 3:], axis=1), 1e-12), label="distance, m")
    a.semilogy(t, np.maximum(np.linalg.norm(gap[:, :3], axis=1), 1e-12), label="angle, rad")
    a.axvline(MEET, color="0.6", lw=0.8)
    b.plot(t, trajectory.q[:, 7:])
    c.plot(t, trajectory.tau[:, 6:])
    d.plot(t, turned, label="base's rotation, deg")
    d.plot(t, 1e3 * np.linalg.norm(trajectory.q[:, 4:7], axis=1), label="base's displacement, mm")
    for axis, title in zip((a, b, c, d), ("gripper from handle", "joints, rad", "joint torques, N·m", "base"), strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    a.legend()
    d.legend()
    figure.suptitle("capture of a tumbling target, base uncontrolled")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
