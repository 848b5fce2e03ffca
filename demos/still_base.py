"""The servicer's arm moves, and its base does not turn: motion in the reaction null space.

    python demos/still_base.py
    python demos/still_base.py --video still.mp4      # or --view, in a window: both side by side

Seven joints leave a four-dimensional space of motions whose reaction on the attitude of a free base is zero. The arm wanders through it
for a minute, pulled by slow swings of every joint; next to it the same swings without the projection. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.components.controllers import driven, reaction_null_space_motion
from engine.spatial import quaternion

SERVICER = engine.example("free_flyer")
ANGLES = np.array([0.3, 0.5, 0.2, 1.2, 0.1, 0.6, 0.2])                         # of the joints at first, rad
RATES, PHASES = np.array([0.11, 0.17, 0.13, 0.19, 0.23, 0.29, 0.31]), np.arange(7.0)


def swings(t):
    """Joint velocities that are asked for, rad/s."""
    return 0.06 * ops.sin(RATES * t + PHASES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=60.0, help="seconds (default: 60)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model = engine.load_urdf(SERVICER, floating_base=True)
    q0 = model.neutral()
    q0[7:] = ANGLES

    def plainly(t, q, v, gravity, armature):
        """The same swings, whatever the base does."""
        return driven(model, q, v, 10.0 * (swings(t) - v[6:]), gravity, armature)

    motions, most = {}, 0.0
    for name, controller in (("in the null space", reaction_null_space_motion(model, swings)), ("any motion", plainly)):
        simulator = engine.Simulator(model, dt=5e-3, integrator="rkmk4", gravity=(0, 0, 0), controller=controller)
        motion = motions[name] = simulator.run(q0, np.zeros(model.nv), options.duration, record_every=20)
        turned = np.degrees(np.linalg.norm(quaternion.log(motion.q[:, :4]), axis=1)).max()
        most = max(most, turned)
        path = np.degrees(np.abs(np.diff(motion.q[:, 7:], axis=0)).sum())
        print(f"{name:18} joints travelled {path:6.1f} deg, base turned by {turned:.1e} deg,"
              f" fastest {np.degrees(np.abs(motion.v[:, :3]).max()):.1e} deg/s")  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motions, options.out / "still_base.png")
    print(f"wrote {options.out / 'still_base.png'}")
    still, other = motions.values()
    beside = dataclasses.replace(other, q=other.q + 5.5 * (np.arange(model.nq) == 4))          # m, along x
    pair = [engine.viewer.Actor(motion, name=name) for name, motion in zip(motions, (still, beside), strict=True)]
    tips = tuple(("bus", (0.0, y, 0.0)) for y in (-3.6, 3.6))
    show.show(options, pair, speed=2.4, view=(-0.5 * np.pi - 0.15, 0.8), environment="space", story=[
        (0.0, "Two arms wander by the same swings of seven joints; nothing holds their bases"),
        (0.3, "Left: in the reaction null space. The base does not turn, nor do the tips of its wings"),
        (0.65, f"Right: any motion. The base turns with it, by up to {most:.0f}°, as the trails of the tips show")],
        shown=engine.Shown(names=True, trails=tips, trail_time=options.duration))  # fmt: skip


def plot(motions, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(12, 6.5), sharex=True, layout="constrained")
    for column, (name, motion) in zip(axes.T, motions.items(), strict=True):
        column[0].plot(motion.t, np.degrees(motion.q[:, 7:]), lw=1)
        column[0].set_title(f"{name}: joints, deg")
        column[1].semilogy(motion.t, np.maximum(np.degrees(np.linalg.norm(quaternion.log(motion.q[:, :4]), axis=1)), 1e-15), lw=1)
        column[1].set(title="rotation of the base, deg", xlabel="t, s", ylim=(1e-15, 1e2))
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
