"""A vehicle floats under water, heavy below and light above: does its energy stay where it is for a thousand seconds?

    python demos/underwater.py
    python demos/underwater.py --video vehicle.mp4      # or --view, in a window: the run with drag

Water that moves with a body adds to its inertia, and by direction: the 6×6 inertia is dense and is no rigid body's. DQVI takes it as it is,
about any reference point. Weight at the centre of mass and buoyancy above it are a potential; without drag the energy must not drift. CG4
at the same step is there to be compared with. A second run adds drag, and the vehicle comes to rest. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.spatial import inertia

MASS, WEIGHT, BUOYANCY = 30.0, 30.0 * 9.81, 30.0 * 9.81                        # kg, N: neutrally buoyant
LOW, HIGH = np.array([0.0, 0.0, -0.04]), np.array([0.0, 0.0, 0.03])            # m: centres of mass and of buoyancy in the body
BODY = inertia.from_mass(MASS, LOW, np.diag([0.4, 1.6, 1.7]))
ADDED = np.diag([0.05, 1.2, 1.1, 3.0, 25.0, 28.0])                             # slender along x
ADDED[1, 5] = ADDED[5, 1] = -0.8                                               # fins behind couple heave and pitch
DRAG = np.diag([0.3, 2.0, 2.0, 6.0, 60.0, 60.0])                               # N per (m/s)², N·m per (rad/s)²


class Vehicle(engine.RigidBody):
    """A submerged body; ``drag`` (6×6) is quadratic."""

    inertia, velocity_frame, integrator = BODY + ADDED, "body", "dqvi"
    drag = np.zeros((6, 6))

    def wrench(self, x, u, t):
        R = self.rotation(x)
        weight, lift = R.T @ np.array([0.0, 0.0, -WEIGHT]), R.T @ np.array([0.0, 0.0, BUOYANCY])
        V = self.twist(x)
        still = np.concatenate([ops.cross(LOW, weight) + ops.cross(HIGH, lift), weight + lift])
        return still - self.drag @ (ops.absolute(V) * V)


def potential(body: Vehicle, x: np.ndarray) -> np.ndarray:
    """Of weight and buoyancy, J."""
    up = body.rotation(x)[..., 2, :]
    return (WEIGHT - BUOYANCY) * body.position(x)[..., 2] + WEIGHT * up @ LOW - BUOYANCY * up @ HIGH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=1000.0, help="seconds without drag (default: 1000)")
    parser.add_argument("--dt", type=float, default=0.05, help="step, seconds (default: 0.05)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    vehicle = Vehicle()
    tilt = engine.spatial.so3.exp(np.array([0.6, -0.4, 0.3]))
    x0 = vehicle.build_state(orientation=tilt, angular_velocity=[0.3, 0.5, -0.4], linear_velocity=[0.5, 0.1, -0.1])
    energies = {}
    for name in ("dqvi", "cg4"):
        motion = engine.compile(vehicle).simulate(x0, options.duration, options.dt, integrator=name)
        E = motion.kinetic_energy() + potential(vehicle, motion.x)
        energies[name] = motion.t, E
        half = len(E) // 2
        trend = np.polyfit(motion.t, E, 1)[0] * options.duration
        print(f"{name:5} energy {E[0]:.4f} J, from {E.min() - E[0]:+.1e} to {E.max() - E[0]:+.1e} J,"
              f" mean of the halves {E[:half].mean() - E[0]:+.2e}, {E[half:].mean() - E[0]:+.2e}, trend {trend:+.1e} J")  # fmt: skip

    dragged = Vehicle()
    dragged.drag = DRAG
    rest = engine.compile(dragged).simulate(x0, 60.0, options.dt)
    speed, up = np.linalg.norm(dragged.linear_velocity(rest.x[-1])), dragged.rotation(rest.x[-1])[2, 2]
    print(f"with drag, after 60 s: {speed:.4f} m/s, upright to {np.degrees(np.arccos(up)):.2f} deg")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(energies, dragged, rest, options.out / "underwater.png")
    print(f"wrote {options.out / 'underwater.png'}")
    show.show(options, seen(dragged, rest), speed=2.0, follow="vehicle", radius=0.7, story=[
        (0.0, "A vehicle under water: the water it takes along is part of its inertia"),
        (0.3, "Its weight (red) pulls below where its buoyancy (blue) lifts: it rights itself"),
        (0.8, "Drag has brought it to rest")])  # fmt: skip


def seen(body: Vehicle, motion: engine.BodyTrajectory) -> engine.Scene:
    """The vehicle, and arrows for its weight and its buoyancy, as long as 0.4 m."""
    scene = engine.Scene(show.body(motion, "vehicle", looks()), "plain")
    R, p = body.rotation(motion.x), body.position(motion.x)
    for name, at, up, color in (("weight", LOW, -0.4, (0.85, 0.15, 0.12)), ("buoyancy", HIGH, 0.4, (0.10, 0.40, 0.85))):
        places = p + R @ at

        def pose(t: float, places: np.ndarray = places) -> np.ndarray:
            return engine.spatial.se3.pose(np.eye(3), [np.interp(t, motion.t, x) for x in places.T])

        scene.add(arrows=([[0.0, 0.0, 0.0]], [[0.0, 0.0, up]]), moving=pose, size=0.012, color=color, name=name)
    return scene


def looks() -> list[engine.Geometry]:
    """A torpedo with a window in front, fins and a propeller behind, and its battery below."""
    yellow, glass, dark, red = (0.95, 0.76, 0.12), (0.10, 0.25, 0.38), (0.15, 0.16, 0.18), (0.80, 0.16, 0.12)
    return [
        show.shape("capsule", (0.13, 0.9), yellow, along="x"), show.shape("sphere", (0.128,), glass, at=(0.46, 0.0, 0.0)),
        show.shape("cylinder", (0.131, 0.04), red, at=(0.25, 0.0, 0.0), along="x"),
        show.shape("capsule", (0.06, 0.5), dark, at=(0.0, 0.0, -0.13), along="x"),
        show.shape("box", (0.16, 0.5, 0.015), red, at=(-0.42, 0.0, 0.0)), show.shape("box", (0.16, 0.015, 0.5), red, at=(-0.42, 0.0, 0.0)),
        show.shape("cylinder", (0.03, 0.1), dark, at=(-0.59, 0.0, 0.0), along="x"),
        show.shape("cylinder", (0.09, 0.02), dark, at=(-0.62, 0.0, 0.0), along="x"),
    ]  # fmt: skip


def plot(energies: dict, body: Vehicle, rest: engine.BodyTrajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    for name, (t, E) in energies.items():
        left.plot(t, E - E[0], lw=0.6, label=name)
    left.set(xlabel="t, s", ylabel="E − E₀, J", title="without drag")
    left.legend()
    u = np.matvec(body.rotation(rest.x), body.linear_velocity(rest.x))
    for k, name in enumerate("xyz"):
        right.plot(rest.t, u[:, k], label=f"velocity along {name}, m/s")
    right.plot(rest.t, np.arccos(np.clip(body.rotation(rest.x)[:, 2, 2], -1, 1)), "k", lw=0.8, label="tilt, rad")
    right.set(xlabel="t, s", title="with drag")
    right.legend()
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
