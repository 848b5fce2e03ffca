"""A cube is tossed: does its motion stay one, and keep what must be kept?

    python demos/tossed_cube.py
    python demos/tossed_cube.py --gravity 0 --video cube.mp4      # or --view, in a window

A 10 cm, 1 kg cube leaves the hand with the body twist [1, 2, 3, 1, 2, 3] (rad/s, m/s) and falls for 10 s, by CG4 in steps of 1 ms. Its
pose must stay a pose, its energy what it was, and its momentum what its weight makes of it. Writes a plot (.png): pose, twist, momentum in
the body's axes and in the world's, energy, the paths of four corners, and the drifts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import show

import engine
from engine import rigid_body
from engine.spatial import inertia

MASS, EDGE, TWIST = 1.0, 0.1, np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
CORNERS = EDGE / 2 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


class Cube(engine.RigidBody):
    """A cube under its weight."""

    inertia, velocity_frame = inertia.box(MASS, [EDGE] * 3), "body"

    def __init__(self, gravity: float) -> None:
        super().__init__()
        self.gravity = np.array([0.0, 0.0, -gravity])

    def forces(self, x: np.ndarray, u: np.ndarray, t: float) -> np.ndarray:
        return MASS * self.gravity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=10.0, help="seconds (default: 10)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--gravity", type=float, default=9.81, help="downwards, m/s² (default: 9.81)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    cube = Cube(options.gravity)
    x0 = cube.build_state(angular_velocity=TWIST[:3], linear_velocity=TWIST[3:])
    motion = engine.compile(cube).simulate(x0, options.duration, options.dt)
    T, K, P = motion.poses(), motion.kinetic_energy(), motion.momentum()
    U, wanted = -MASS * T[:, :3, 3] @ cube.gravity, P[0] + weights(motion.t, T[0, :3, 3], P[0, 3:], cube.gravity)
    drifts = {
        "energy, relative": np.abs(K + U - K[0] - U[0]) / K.max(),
        "momentum, relative": np.linalg.norm(P - wanted, axis=1) / np.linalg.norm(P, axis=1).max(),
        "det R − 1": np.abs(rigid_body.determinant(T) - 1),
        "distance to SE(3)": rigid_body.distance_to_se3(T),
    }
    for name, drift in drifts.items():
        print(f"{name:20} {drift.max():.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motion, {"kinetic": K, "potential": U, "both": K + U}, drifts, options.out / "tossed_cube.png")
    print(f"wrote {options.out / 'tossed_cube.png'}")
    falls = (0.5, "It falls: weight changes the momentum (orange), and kinetic energy comes from potential")
    free = (0.5, "Nothing pulls: momentum (orange) and energy stay as they were")
    show.show(options, show.body(motion, "cube", looks()), speed=0.5, follow="cube", radius=1.2 * EDGE, environment="plain",
              bars=["energy"], shown=engine.Shown(rates=True, momentum=True, transparent=True), story=[
              (0.0, "A cube is tossed: its ω (green) lies along the angular momentum (violet)"), falls if options.gravity else free,
              (0.8, "All axes of a cube are alike: both stay as they were")])  # fmt: skip


def weights(t: np.ndarray, r0: np.ndarray, p0: np.ndarray, g: np.ndarray) -> np.ndarray:
    """What the weight has made of the momentum (T, 6) until t: ∫ m r × g and ∫ m g, with r = r0 + p0/m t + g t²/2."""
    t = t[:, None]
    return np.concatenate([np.cross(MASS * r0 * t + p0 * t**2 / 2, g), MASS * g * t], axis=1)


def looks() -> list[engine.Geometry]:
    """A cube with a plate of another colour on each face."""
    plates = ((0.85, 0.22, 0.18), (0.93, 0.55, 0.14), (0.16, 0.42, 0.80), (0.20, 0.62, 0.35), (0.95, 0.95, 0.92), (0.96, 0.80, 0.20))
    shapes = [show.shape("box", [EDGE] * 3, (0.12, 0.12, 0.13))]
    for k, color in enumerate(plates):
        outwards = np.eye(3)[k // 2] * (-1) ** k
        shapes.append(show.shape("box", 0.86 * EDGE - 0.84 * EDGE * abs(outwards), color, at=EDGE / 2 * outwards))
    return shapes


def plot(motion: engine.BodyTrajectory, energies: dict[str, np.ndarray], drifts: dict[str, np.ndarray], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, V, P = motion.t, motion.twists(), motion.momentum()
    momentum = V @ motion.system.inertia
    figure = plt.figure(figsize=(16, 10), layout="constrained")
    grid = figure.add_gridspec(3, 4)
    panels = (
        ("position, m", motion.q[:, 4:], "xyz"), ("quaternion", motion.q[:, :4], "wxyz"),
        ("ω, body axes, rad/s", V[:, :3], "xyz"), ("v, body axes, m/s", V[:, 3:], "xyz"),
        ("angular momentum, body axes, N·m·s", momentum[:, :3], "xyz"), ("linear momentum, body axes, N·s", momentum[:, 3:], "xyz"),
        ("angular momentum about the origin, N·m·s", P[:, :3], "xyz"), ("linear momentum, world axes, N·s", P[:, 3:], "xyz"),
    )  # fmt: skip
    for k, (title, rows, names) in enumerate(panels):
        axis = figure.add_subplot(grid[k // 4, k % 4])
        for name, row in zip(names, rows.T, strict=True):
            axis.plot(t, row, lw=1, label=name)
        finished(axis, title)
    space = figure.add_subplot(grid[2, 0], projection="3d")
    paths, first = rigid_body.point_paths(motion.poses(), CORNERS), t <= 0.5
    for k in range(paths.shape[1]):
        space.plot(*paths[first, k].T, lw=1)
    space.locator_params(nbins=3)
    space.set(xlabel="x, m", zlabel="z, m", title="paths of four corners, 0.5 s")
    space.set_ylabel("y, m", labelpad=12)
    axis = figure.add_subplot(grid[2, 1])
    for name, energy in energies.items():
        axis.plot(t, energy, lw=1, label=name)
    finished(axis, "energy, J")
    axis = figure.add_subplot(grid[2, 2:])
    for name, drift in drifts.items():
        axis.semilogy(t, np.maximum(np.maximum.accumulate(drift), 1e-17), label=name, lw=1)
    finished(axis, "what must stay zero: largest until t")
    figure.savefig(path, dpi=110)


def finished(axis: Any, title: str) -> None:
    """Name an axis over time, with room for the lines' names above them."""
    axis.margins(y=0.25)
    axis.set(xlabel="t, s", title=title)
    axis.grid(alpha=0.3)
    axis.legend(loc="upper left", ncols=4, fontsize="small")


if __name__ == "__main__":
    main()
