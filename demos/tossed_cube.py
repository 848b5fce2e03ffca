"""A cube is tossed: does its motion stay one, and keep what must be kept?

    python demos/tossed_cube.py
    python demos/tossed_cube.py --video cube.mp4      # or --view, in a window

A 10 cm, 1 kg cube leaves the hand with the body twist [1, 2, 3, 1, 2, 3] (rad/s, m/s) and flies for 10 s without forces, by CG4 in
steps of 1 ms. Its pose must stay a pose, its energy and its momentum what they were. Writes a plot (.png): the paths of four corners,
and the drifts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import show

import engine
from engine import rigid_body
from engine.spatial import inertia

MASS, EDGE, TWIST = 1.0, 0.1, np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
CORNERS = EDGE / 2 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=10.0, help="seconds (default: 10)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    cube = engine.RigidBody(inertia=inertia.box(MASS, [EDGE] * 3), velocity_frame="body")
    x0 = cube.build_state(angular_velocity=TWIST[:3], linear_velocity=TWIST[3:])
    motion = engine.compile(cube).simulate(x0, options.duration, options.dt)
    T, K, P = motion.poses(), motion.kinetic_energy(), motion.momentum()
    drifts = {
        "energy, relative": np.abs(K / K[0] - 1),
        "momentum, relative": np.linalg.norm(P - P[0], axis=1) / np.linalg.norm(P[0]),
        "det R − 1": np.abs(rigid_body.determinant(T) - 1),
        "distance to SE(3)": rigid_body.distance_to_se3(T),
    }
    for name, drift in drifts.items():
        print(f"{name:20} {drift.max():.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motion.t, rigid_body.point_paths(T, CORNERS), drifts, options.out / "tossed_cube.png")
    print(f"wrote {options.out / 'tossed_cube.png'}")
    show.show(options, show.body(motion, "cube", looks()), speed=0.5, follow="cube", environment="space")


def looks() -> list[engine.Geometry]:
    """A cube with a plate of another colour on each face."""
    plates = ((0.85, 0.22, 0.18), (0.93, 0.55, 0.14), (0.16, 0.42, 0.80), (0.20, 0.62, 0.35), (0.95, 0.95, 0.92), (0.96, 0.80, 0.20))
    shapes = [show.shape("box", [EDGE] * 3, (0.12, 0.12, 0.13))]
    for k, color in enumerate(plates):
        outwards = np.eye(3)[k // 2] * (-1) ** k
        shapes.append(show.shape("box", 0.86 * EDGE - 0.84 * EDGE * abs(outwards), color, at=EDGE / 2 * outwards))
    return shapes


def plot(t: np.ndarray, paths: np.ndarray, drifts: dict[str, np.ndarray], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 5.5), layout="constrained")
    space = figure.add_subplot(1, 2, 1, projection="3d")
    first = t <= 0.5  # later ones are the same again
    for k in range(paths.shape[1]):
        space.plot(*paths[first, k].T, lw=1)
    space.set_aspect("equal")
    space.locator_params(nbins=4)
    space.set(xlabel="x, m", ylabel="y, m", zlabel="z, m", title="paths of four corners, 0.5 s")
    axis = figure.add_subplot(1, 2, 2)
    for name, drift in drifts.items():
        axis.semilogy(t, np.maximum(np.maximum.accumulate(drift), 1e-17), label=name, lw=1)
    axis.set(xlabel="t, s", ylabel="largest until t", title="what must stay zero")
    axis.grid(alpha=0.3)
    axis.legend(loc="center right")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
