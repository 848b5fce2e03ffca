"""Three bodies spin about y: why do two of them turn over?

    python demos/dzhanibekov.py

A box, an ellipsoid and a cylinder start with ω = (0.001, 10, 0) rad/s. For the box and the ellipsoid y is the axis of the middle moment of
inertia, and a spin about it is unstable: they flip, again and again. The cylinder's transverse moments are equal, and it does not. Writes
a plot (.png) of the three angular velocities, with the closed form's period of the flips.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.special import ellipk

import engine
from engine.spatial import inertia

SPIN = np.array([1e-3, 10.0, 0.0])
BODIES = {
    "box": inertia.box(1.0, [0.3, 0.2, 0.1]),                                  # moments in the order x < y < z
    "ellipsoid": inertia.ellipsoid(1.0, [0.16, 0.12, 0.05]),
    "cylinder": inertia.cylinder(1.0, 0.1, 0.3),
}


def period(I: np.ndarray, w: np.ndarray) -> float:
    """Time between two flips (half the period of ω_y), for I[0] < I[1] < I[2]; Landau & Lifshitz, *Mechanics*, §37."""
    two_E, L2 = float(I @ w**2), float((I * w) @ (I * w))
    i1, i2, i3 = I if two_E * I[1] < L2 else I[::-1]                           # the axis that L circles comes last
    rate = np.sqrt((i3 - i2) * (L2 - two_E * i1) / (i1 * i2 * i3))
    k2 = (i2 - i1) * (two_E * i3 - L2) / ((i3 - i2) * (L2 - two_E * i1))
    return float(2 * ellipk(k2) / abs(rate))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=20.0, help="seconds (default: 20)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    options = parser.parse_args()

    motions = {}
    for name, G in BODIES.items():
        body = engine.RigidBody(inertia=G)
        motion = motions[name] = engine.compile(body).simulate(body.build_state(angular_velocity=SPIN), options.duration, 1e-3)
        K, P, wy = motion.kinetic_energy(), motion.momentum(), body.angular_velocity(motion.x)[:, 1]
        flips = motion.t[1:][wy[1:] * wy[:-1] < 0]
        apart = f"every {np.diff(flips).mean():.4f} s (closed form {period(np.diag(G)[:3], SPIN):.4f} s)" if len(flips) > 1 else ""
        print(f"{name:10} I = {np.diag(G)[:3].round(6)}: {len(flips)} flips {apart}")
        print(f"{'':10} drift of energy {np.abs(K / K[0] - 1).max():.1e}, of momentum {np.abs(P - P[0]).max() / np.abs(P[0]).max():.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motions, options.out / "dzhanibekov.png")
    print(f"wrote {options.out / 'dzhanibekov.png'}")


def plot(motions: dict[str, engine.StateTrajectory], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(motions), 1, figsize=(10, 7.5), sharex=True, layout="constrained")
    for axis, (name, motion) in zip(axes, motions.items(), strict=True):
        for k, label in enumerate("xyz"):
            axis.plot(motion.t, motion.system.angular_velocity(motion.x)[:, k], label=f"ω_{label}", lw=1)
        axis.set(title=name, ylabel="rad/s")
        axis.grid(alpha=0.3)
    axes[0].legend(ncols=3, loc="upper right")
    axes[-1].set_xlabel("t, s")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
