"""Panda and UR5 follow a path by computed torque: what do their motors have to give?

    pip install example-robot-data && python demos/tracking.py
    python demos/tracking.py --urdf my_arm.urdf
    python demos/tracking.py --video panda.mp4      # or --view, in a window: the first robot

Each joint swings through the middle of its range for 8 s, all of them twice. Damping, friction and effort limits of the robot's file hold,
and the controller does not know of them. Writes for each robot the trajectory (.h5) and a plot (.png) of motion, torques, error and power.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.components.controllers import computed_torque

FILES = "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"
DURATION, SWINGS = 8.0, 2.0


def path_of(model: engine.Model):
    """q_d, v_d, a_d (t): from the middle of the ranges, with a smooth beginning."""
    middle, reach = model.neutral(), np.zeros(model.nv)
    for b in model.bodies:
        if not b.mimics:
            low, high = max(b.joint.limits.lower, -np.pi), min(b.joint.limits.upper, np.pi)
            middle[b.q], reach[b.v] = (low + high) / 2, 0.3 * (high - low) / 2
    w = 2 * np.pi * SWINGS / DURATION
    phase = np.arange(model.nv) * 0.7

    def path(t):
        """(1 − e^(−t³)) sin: at rest at first."""
        e = ops.exp(-t * t * t)
        s, sdot, sddot = 1.0 - e, 3.0 * t * t * e, (6.0 * t - 9.0 * t**4) * e
        y, ydot, yddot = ops.sin(w * t + phase), w * ops.cos(w * t + phase), -w * w * ops.sin(w * t + phase)
        return middle + reach * (s * y), reach * (sdot * y + s * ydot), reach * (sddot * y + 2.0 * sdot * ydot + s * yddot)

    return path, middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urdf", type=Path, nargs="+", help="arms with one coordinate a joint (default: Panda and UR5)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for trajectories and plots (default: out)")
    show.add_options(parser)
    options = parser.parse_args()
    motions = []
    for file in options.urdf or map(show.robot, FILES):
        model = engine.load_urdf(file)
        path, start = path_of(model)
        controller = computed_torque(model, path, bandwidth=20.0)
        motion = engine.Simulator(model, controller=controller).run(start, np.zeros(model.nv), DURATION, record_every=5)
        motions.append(motion)
        error = np.abs(motion.q - np.array([path(t)[0] for t in motion.t]))
        print(f"{model.name}: follows within {error.max():.1e} rad (m)")
        for b in model.bodies:
            if not b.mimics:
                tau, limit = motion.tau[:, b.v], b.joint.limits.effort
                share = f"{100 * np.abs(tau).max() / limit:5.1f} % of its limit" if 0 < limit < np.inf else "no limit given"
                print(f"  {b.joint.name:24} peak {np.abs(tau).max():8.3f} N·m (N), rms {np.sqrt(np.mean(tau**2)):8.3f}, {share}")
        data = motion.save(options.out / f"tracking_{model.name}.h5", overwrite=True)
        plot(motion, error, data.with_suffix(".png"))
        print(f"  wrote {data} and {data.with_suffix('.png')}")
    show.show(options, motions[0], speed=0.4, view=(-0.8, 0.2), shown=engine.Shown(torques=True), bars=["energy"], story=[
        (0.0, "Computed torque: every joint swings through the middle of its range"),
        (0.35, "Arcs: what the motors give against weight, inertia and friction"),
        (0.7, "Of friction the controller does not know: it corrects what that does")])  # fmt: skip


def plot(motion: engine.Trajectory, error: np.ndarray, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = motion.t
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    for body in motion.model.bodies:
        if not body.mimics:
            a.plot(t, motion.q[:, body.q], lw=1, label=body.joint.name)
            b.plot(t, motion.tau[:, body.v], lw=1)
            c.semilogy(t, np.maximum(error[:, body.q], 1e-16), lw=1)
            d.plot(t, motion.tau[:, body.v] * motion.v[:, body.v], lw=1)
    a.legend(fontsize=7, ncols=2)
    titles = "joints, rad (m)", "motor torques, N·m (N)", "off the path, rad (m)", "motor power, W"
    for axis, title in zip((a, b, c, d), titles, strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    figure.suptitle(motion.model.name)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
