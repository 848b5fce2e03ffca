"""Four bodies spin about y: why do three of them turn over?

    python demos/dzhanibekov.py
    python demos/dzhanibekov.py --video flips.mp4     # or --view, in a window

A box, an ellipsoid, a T-handle and a cylinder start with ω = (0.001, 10, 0) rad/s. For the first three y is the axis of the middle moment
of inertia, and a spin about it is unstable: they flip, again and again. The cylinder's transverse moments are equal, and it does not.
Writes a plot (.png) of the angular velocities, with the closed form's period of the flips.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import show
from scipy.special import ellipk

import engine
from engine.spatial import inertia

SPIN = np.array([1e-3, 10.0, 0.0])
BAR, STEM = (0.02, 0.36), (0.02, 0.16)                                         # of the T-handle, along x and y: radius and length, m
BAR_AT, STEM_AT = np.array([0.0, -0.028, 0.0]), np.array([0.0, 0.063, 0.0])    # with the centre of mass of both at the origin
T_HANDLE = (inertia.from_mass(0.36, BAR_AT, np.diag(np.diag(inertia.cylinder(0.36, *BAR))[[2, 0, 1]]))
            + inertia.from_mass(0.16, STEM_AT, np.diag(np.diag(inertia.cylinder(0.16, *STEM))[[0, 2, 1]])))  # fmt: skip
BODIES = {
    "box": inertia.box(1.0, [0.3, 0.2, 0.1]),                                  # moments in the order x < y < z
    "ellipsoid": inertia.ellipsoid(1.0, [0.16, 0.12, 0.05]),
    "T-handle": T_HANDLE,
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
    show.add_options(parser)
    options = parser.parse_args()

    motions = {}
    for k, (name, G) in enumerate(BODIES.items()):
        body = engine.RigidBody(inertia=G)
        start = body.build_state(position=[0.0, 1.3 * (k % 2), -0.72 * (k // 2)], angular_velocity=SPIN)
        motion = motions[name] = engine.compile(body).simulate(start, options.duration, 1e-3)
        K, P, wy = motion.kinetic_energy(), motion.momentum(), body.angular_velocity(motion.x)[:, 1]
        flips = motion.t[1:][wy[1:] * wy[:-1] < 0]
        apart = f"every {np.diff(flips).mean():.4f} s (closed form {period(np.diag(G)[:3], SPIN):.4f} s)" if len(flips) > 1 else ""
        print(f"{name:10} I = {np.diag(G)[:3].round(6)}: {len(flips)} flips {apart}")
        print(f"{'':10} drift of energy {np.abs(K / K[0] - 1).max():.1e}, of momentum {np.abs(P - P[0]).max() / np.abs(P[0]).max():.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motions, options.out / "dzhanibekov.png")
    print(f"wrote {options.out / 'dzhanibekov.png'}")
    show.show(options, [show.body(motions[name], name, shapes) for name, shapes in looks().items()], speed=0.6, view=(-0.4, 0.25),
              shown=engine.Shown(names=True, momentum=True, rates=True),
              shots=[(0.0, (-0.4, 0.25), "Four bodies spin, left alone"),
                     (0.25 * options.duration, engine.Follow("T-handle", (-0.4, 0.25), radius=0.24),
                      "It flips: L (violet) stays, ω (green) goes round"),
                     (0.6 * options.duration, engine.Follow("box", (-0.4, 0.25), radius=0.27), "The box flips at a rate of its own"),
                     (0.8 * options.duration, (-0.4, 0.25), "About its middle axis a spin flips; the cylinder has none")])  # fmt: skip


def looks() -> dict[str, list[engine.Geometry]]:
    """Shapes of the bodies, with something on one side that shows how they turn."""
    orange, white, steel, dark, blue = (0.93, 0.50, 0.12), (0.82, 0.82, 0.80), (0.62, 0.65, 0.69), (0.15, 0.16, 0.18), (0.13, 0.36, 0.72)
    teal, side = (0.10, 0.55, 0.52), show.shape("sphere", (0.03,), orange, at=(0.0, 0.105, 0.0))
    return {
        "box": [show.shape("box", (0.3, 0.2, 0.1), white), show.shape("box", (0.302, 0.05, 0.102), orange, at=(0.0, 0.0751, 0.0))],
        "ellipsoid": [show.shape("ellipsoid", (0.16, 0.12, 0.05), teal), side],
        "T-handle": [show.shape("cylinder", BAR, steel, at=BAR_AT, along="x"), show.shape("cylinder", STEM, orange, at=STEM_AT, along="y"),
                     *(show.shape("sphere", (0.026,), dark, at=BAR_AT + [x, 0.0, 0.0]) for x in (-0.18, 0.18))],
        "cylinder": [show.shape("cylinder", (0.1, 0.3), white), show.shape("cylinder", (0.101, 0.06), blue, at=(0.0, 0.0, 0.1)),
                     show.shape("box", (0.205, 0.03, 0.305), dark)],
    }  # fmt: skip


def plot(motions: dict[str, engine.BodyTrajectory], path: Path) -> None:
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
