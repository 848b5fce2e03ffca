"""What is in the gripper? A servicer weighs its load by waving its arm, and a tumbling target shows how its mass is spread.

    python demos/identify.py
    python demos/identify.py --video identify.mp4     # or --view, in a window

Nothing holds the servicer, no thruster fires and no force is measured: joint angles and a gyroscope say how it moves, and the momentum of
a system that nothing touches is constant. So the base, whose inertia is known, is the scale on which the load is weighed: its mass, its
centre and its moments of inertia. A target that tumbles by itself, seen by a camera, shows where its centre is and the ratios of its
moments; how heavy it is, and by how much its moments are larger, makes no difference to how it moves. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import show

import engine
from engine.spatial import inertia, so3

RATES = np.array([0.5, 0.7, 0.6, 0.8, 0.9, 1.1, 1.3])                          # of the joints' swings, rad/s
LOAD = inertia.from_mass(30.0, np.array([0.1, 0.05, 0.3]), np.diag([2.0, 1.5, 1.0]))
GYROSCOPE = 2e-5                                                               # noise of all rates, rad/s and m/s
ENTRIES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def wave(t, q, v):
    """Drive the joints, and nothing else."""
    return np.concatenate([np.zeros(6), 10.0 * (0.5 * RATES * np.sin(RATES * t) - v[6:])])


def loaded(empty: engine.Model, duration: float, rng: np.random.Generator) -> tuple[engine.Trajectory, engine.Identification]:
    """Return the flight of the servicer with a load, and what it says of that."""
    held = empty.link("gripper").inertia + LOAD
    simulator = engine.Simulator(empty, dt=5e-3, gravity=(0, 0, 0), controller=wave, parameters={"inertia.gripper": held})
    flight = simulator.run(empty.neutral(), np.zeros(empty.nv), duration, record_every=8)
    noisy = {"q": flight.q, "v": flight.v + GYROSCOPE * rng.standard_normal(flight.v.shape)}
    return flight, engine.identify(empty, noisy, "inertia.gripper", by="momentum")


def target(mass: float, center: np.ndarray, moments: np.ndarray) -> engine.Model:
    builder = engine.Builder("target")
    builder.add_link("target", inertia=inertia.from_mass(mass, center, np.diag(moments)))
    return builder.model(floating_base=True)


def tumbling(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a target's centre (3) and moments about it, over the first (3), as it tumbles; a sphere of another mass was thought."""
    true, thought = target(80.0, np.array([0.05, -0.02, 0.03]), np.array([20.0, 30.0, 15.0])), target(60.0, np.zeros(3), np.full(3, 20.0))
    simulator = engine.Simulator(true, dt=1e-2, gravity=(0, 0, 0))
    flight = simulator.run(true.neutral(), [0.3, 0.15, -0.2, 0.01, 0.02, 0.0], 60.0, record_every=10)
    seen = {"q": flight.q, "v": flight.v + GYROSCOPE * rng.standard_normal(flight.v.shape)}
    ratios = [f"{entry}.target" for entry in ENTRIES if entry not in ("m", "Ixx")]         # these two are the measure
    found = engine.identify(thought, seen, ratios, by="momentum").model.link("target").inertia
    c = inertia.center(found)
    about = found[:3, :3] + found[5, 5] * so3.hat(c) @ so3.hat(c)
    return c, np.diag(about) / about[0, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=20.0, help="seconds of waving (default: 20)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    empty = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    flight, found = loaded(empty, options.duration, rng)
    own = engine.dynamics.inertial_parameters(empty).reshape(-1, 10)[empty.link_index("gripper")]
    load, (low, high) = found.values - own, (found.interval() - own[:, None]).T
    true = np.concatenate([[30.0], inertia.first_moment(LOAD), LOAD[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    print("load       true      found   95 % from       to")
    for name, x, y, a, b in zip(ENTRIES, true, load, low, high, strict=True):
        print(f"{name:4} {x:10.3f} {y:10.3f} {a:11.3f} {b:8.3f}")
    inside = int(((low <= true) & (true <= high)).sum())
    print(f"{inside} of 10 within their intervals; it weighs {load[0]:.3f} kg, its centre is off by "
          f"{1e3 * np.linalg.norm(load[1:4] / load[0] - true[1:4] / true[0]):.2f} mm")  # fmt: skip
    c, ratios = tumbling(rng)
    print(f"target: centre {1e3 * c.round(5)} mm (true 50 -20 30), moments as 1 : {ratios[1]:.4f} : {ratios[2]:.4f} (true 1.5, 0.75)")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(empty, found, flight, options.out / "identify.png")
    print(f"wrote {options.out / 'identify.png'}")
    show.show(options, flight, view=(0.3, 0.3), story=[
        (0.0, "A servicer waves with 30 kg in its gripper, of which nobody told it"),
        (0.35, "Momentum must not change: what the rates say weighs the load"),
        (0.7, f"Found from the rates alone: {load[0]:.2f} kg")])  # fmt: skip


def plot(empty: engine.Model, found: engine.Identification, flight: engine.Trajectory, path: Path) -> None:
    """Momentum with the load left out, and with what was found."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for model, style, name in ((empty, "--", "empty"), (found.model, "-", "with what was found")):
        P = engine.compile(model, gravity=(0, 0, 0)).momentum(flight.q, flight.v)
        for k, axis in enumerate(axes):
            lines = axis.plot(flight.t, P[:, 3 * k : 3 * k + 3], style)
            lines[0].set_label(name)
    for axis, title in zip(axes, ("angular momentum, N·m·s", "momentum, N·s"), strict=True):
        axis.set(title=title, xlabel="t, s")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
