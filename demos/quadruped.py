"""A quadruped stands, is pushed aside, and trots.

    pip install example-robot-data && python demos/quadruped.py
    python demos/quadruped.py --speed -0.3             # backwards
    python demos/quadruped.py --video quadruped.mp4    # or --view, in a window

Unitree's Go1 stands on its four feet, balls that touch the ground with friction; a push of 0.15 s against its trunk makes it sway. Then it
trots: diagonal feet together, those that swing put down where Raibert's rule says. The joints make forces on the feet, by Jᵀ: springs and
dampers that hold the hips up and carry swinging feet along. Nothing else holds the trunk. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.spatial import quaternion, so3

FILE = "go1_description/urdf/go1.urdf"
LEGS = {"FR": (1, -1), "FL": (1, 1), "RR": (-1, -1), "RL": (-1, 1)}            # front or rear, left or right
HIP, SIDE, LINK, FOOT = (0.1881, 0.04675), 0.08, 0.213, 0.02                   # m: hips, feet beside them, links, feet's radius
HEIGHT, LIFT = 0.29, 0.07                                                      # m: of hips above feet, and of a step
STEP = 0.15                                                                    # s: as long as a foot swings, and then stands
SPRING, DAMPER = 600.0, 40.0                                                   # N/m, N·s/m: from a foot to where it should be
UPRIGHT, SINKING = 2500.0, 150.0                                               # N/m, N·s/m: of a leg that stands, along the vertical
DRIVE = 60.0                                                                   # N·s/m: of a leg that stands, for hips that are too slow
CAUTION = 0.06                                                                 # s: times the excess speed, feet are put down further ahead
SURFACE = engine.ContactMaterial(stiffness=1e6, dissipation=1.0, friction=0.8)
PUSHED, PUSH = (1.0, 1.15), 60.0                                               # s, N: sideways
WALK, EASE, END = 2.5, 1.0, 1.0                                                # s: when it sets off, how gently; how long it stands after


def standing(model: engine.Model) -> np.ndarray:
    """q on four feet under their hips, at the origin."""
    q, bend = model.neutral(), np.arccos(HEIGHT / (2.0 * LINK))
    q[6], q[7:] = HEIGHT + FOOT, np.tile([0.0, bend, -2.0 * bend], 4)
    return q


def trot(model: engine.Model, speed: float, walking: float):
    """Forces of the legs on their feet, which stand under the hips, and walk along x at a speed (m/s) from WALK on for so long (s)."""
    weight = 9.81 * sum(link.mass for link in model.links)

    def controller(t, q, v, pose, jacobian):
        since = t - WALK
        walks = ops.where(ops.logical_and(since > 0.0, since < walking), 1.0, 0.0)
        pace = speed * ops.clip(ops.minimum(since, walking - since) / EASE, 0.0, 1.0)
        R, yaw = quaternion.to_matrix(q[:4]), so3.to_rpy(quaternion.to_matrix(q[:4]))[2]
        tau = np.zeros(model.nv)
        for leg, (front, side) in LEGS.items():
            phase = since / STEP + (0.0 if front * side > 0 else 1.0)
            phase = phase - 2.0 * ops.floor(0.5 * phase)                       # 0 to 1: swings; 1 to 2: stands
            swings = ops.where(phase < 1.0, walks, 0.0)
            hip = ops.array([front * HIP[0], side * (HIP[1] + SIDE), 0.0])
            T, J = pose(f"{leg}_foot"), jacobian(f"{leg}_foot")
            J = T[:3, :3] @ J[3:]                                              # of the foot, in world axes
            r, w = R @ hip, R @ v[:3]
            x, u = q[4:7] + r, R @ v[3:6] + ops.cross(w, r)                    # of the hip
            y, ydot = T[:3, 3], J @ v
            wanted = ops.array([pace, 0.0, 0.0]) - 2.0 * yaw * ops.array([-r[1], r[0], 0.0])
            f = (1.0 - swings) * stance(x, u, y, wanted, weight / (4.0 - 2.0 * walks), walks)
            f = f + swings * swing(phase, x, u, y, ydot, wanted)
            tau = tau + np.concatenate([np.zeros(6), (J.T @ f)[6:]])
        return tau

    return controller


def stance(x, u, y, wanted, load, walks):
    """The force on a foot at y that carries its load, and keeps a hip at x up, at a speed, and above it where it does not walk."""
    up = load + UPRIGHT * (HEIGHT - (x[2] - y[2])) - SINKING * u[2]
    drive = DRIVE * (wanted - u) + (1.0 - walks) * SPRING * (y - x)
    return -ops.array([drive[0], drive[1], up])


def swing(phase, x, u, y, ydot, wanted):
    """The force on a foot at y that takes it from behind to ahead of the hip: as far as half a step, and further if that is too fast."""
    s = ops.minimum(phase, 1.0)
    along, rate = 0.5 - 0.5 * ops.cos(np.pi * s), 0.5 * np.pi / STEP * ops.sin(np.pi * s)
    behind, ahead = -0.5 * STEP * u, 0.5 * STEP * u + CAUTION * (u - wanted)   # Raibert's rule
    goal, speed = x + behind + along * (ahead - behind), u + rate * (ahead - behind)
    up, rise = FOOT + LIFT * ops.sin(np.pi * s) ** 2, LIFT * np.pi / STEP * ops.sin(2.0 * np.pi * s)
    return SPRING * (ops.array([goal[0], goal[1], up]) - y) + DAMPER * (ops.array([speed[0], speed[1], rise]) - ydot)


def push(t, q, v):
    """A force on the trunk, sideways in the world."""
    on = ops.where(ops.logical_and(t >= PUSHED[0], t < PUSHED[1]), PUSH, 0.0)
    R = quaternion.to_matrix(q[:4])
    return {"trunk": np.concatenate([np.zeros(3), R.T @ ops.array([0.0, on, 0.0])])}


def report(motion: engine.Trajectory, speed: float) -> None:
    """How it stood, swayed and walked; and what the ground says of it."""
    t, R = motion.t, quaternion.to_matrix(motion.q[:, :4])
    tilt, height, force = np.degrees(np.arccos(np.clip(R[:, 2, 2], -1.0, 1.0))), motion.q[:, 6], motion("contacts.force")
    rests, sways, walks = t < PUSHED[0], (t >= PUSHED[0]) & (t < WALK), (t >= WALK) & (t < t[-1] - END)
    weight = 9.81 * sum(link.mass for link in motion.model.links)
    load = force[rests][-1, :, 2].sum()
    print(f"stands     at {1e3 * height[rests][-1]:.1f} mm; its feet carry {load:.1f} N of its weight of {weight:.1f} N")
    print(f"pushed     by {PUSH:g} N for {PUSHED[1] - PUSHED[0]:g} s: moves by {1e3 * np.abs(motion.q[sways, 5]).max():.0f} mm, "
          f"tilts by {tilt[sways].max():.1f} deg, and stands again, tilted by {tilt[sways][-1]:.2f} deg")  # fmt: skip
    x, gap = motion.q[walks, 4], 1e3 * motion("contacts.gap")
    print(f"walks      {x[-1] - x[0]:.3f} m, at up to {np.abs(np.diff(x)).max() / (t[1] - t[0]):.2f} m/s of {speed:g} m/s, "
          f"tilts by at most {tilt[walks].max():.1f} deg, and lifts each foot by {gap[walks].max(axis=0).min():.0f} mm")  # fmt: skip
    print(f"ground     gives way by at most {-gap.min():.2f} mm; at the end the robot stands at {1e3 * height[-1]:.1f} mm")


def plot(motion: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = motion.t
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    for k, name in enumerate("xyz"):
        a.plot(t, motion.q[:, 4 + k], label=name)
    b.plot(t, np.degrees(so3.to_rpy(quaternion.to_matrix(motion.q[:, :4]))), label=("roll", "pitch", "yaw"))
    c.plot(t, motion("contacts.force")[..., 2], lw=1, label=tuple(LEGS))
    d.plot(t, motion.tau[:, 6:], lw=1)
    titles = "trunk, m", "attitude, deg", "feet on the ground, N", "joint torques, N·m"
    for axis, title in zip((a, b, c, d), titles, strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    for axis in (a, b, c):
        axis.legend()
    figure.suptitle("a quadruped stands, is pushed, and trots")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", type=float, default=0.4, help="m/s, from -0.5 to 0.6 (default: 0.4)")
    parser.add_argument("--walk", type=float, default=5.0, help="how long it walks, seconds (default: 5)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model = engine.load_urdf(show.robot(FILE), floating_base=True)
    contacts = engine.Contacts(engine.HalfSpace(material=SURFACE), [("world", f"{leg}_foot") for leg in LEGS], SURFACE)
    controller = trot(model, options.speed, options.walk)
    simulator = engine.Simulator(model, dt=options.dt, contacts=contacts, controller=controller, forces=[push])
    begun = time.perf_counter()
    motion = simulator.run(standing(model), np.zeros(model.nv), WALK + options.walk + END, record_every=5, progress=True)
    print(f"simulated {motion.t[-1]:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion, options.speed)
    data = motion.save(options.out / "quadruped.h5", overwrite=True)
    plot(motion, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    side = engine.Follow("trunk", (-0.9, 0.2), radius=0.4)
    says = [(0.0, "It stands: its feet carry its weight"), (PUSHED[0], f"A push of {PUSH:g} N, sideways"),
            (PUSHED[1] + 0.3, "It steps nowhere, and stands again"),
            (WALK, f"It trots at {options.speed:g} m/s: two feet at a time"), (motion.t[-1] - END, "It stands")]  # fmt: skip
    show.show(options, motion, speed=0.4, view=(-0.9, 0.2), follow="trunk", shown=engine.Shown(contacts=True),
              shots=[engine.Shot(t, side, text, ease=0.0) for t, text in says])  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
