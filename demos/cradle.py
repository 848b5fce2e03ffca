"""Newton's cradle: five balls hang side by side, one is let go, and one flies off at the other end.

    python demos/cradle.py
    python demos/cradle.py --released 2              # as many as are let go fly off
    python demos/cradle.py --gap 0                   # springs that all touch pass the blow on to all
    python demos/cradle.py --video cradle.mp4        # or --view, in a window

The balls are pendulums of equal mass, a hair's breadth apart, so that one blow is over before the next begins: each hands its speed on to
the next. A blow is resolved, not an event: a stiff spring that pushes for half a millisecond, and loses a little. Where the balls touch,
or the springs are soft, blows overlap, and all balls move. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine.spatial import inertia, se3, so3

BALLS, RADIUS, MASS, LENGTH = 5, 0.05, 0.5, 0.6                                # m, kg, m
RAISED, WIDE = np.radians(25.0), 0.2                                           # rad; m, from a ball to where its threads are tied, sideways
BLOWS = 0.01                                                                   # s: the first blow has gone through all balls by then
SURFACE = engine.ContactMaterial(stiffness=2e7, dissipation=0.005, friction=0.0)
STEEL, WOOD = (0.72, 0.73, 0.76), (0.35, 0.22, 0.12)


def cradle(gap: float) -> engine.Model:
    """Pendulums of balls, side by side along x with gaps (m) between them, that swing about y."""
    builder, spacing = engine.Builder("cradle"), 2.0 * RADIUS + gap
    long, high = 0.5 * BALLS * spacing + 0.2, LENGTH + 0.15
    builder.add_link("frame", visuals=[show.shape("box", size, WOOD, at=at) for y in (-WIDE, WIDE) for size, at in (
        ((2 * long, 0.03, 0.03), (0.0, y, 0.0)), *(((0.03, 0.03, high), (x, y, -0.5 * high)) for x in (-long, long)))])  # fmt: skip
    at = se3.pose(np.eye(3), [0.0, 0.0, -LENGTH])                              # of a ball, from where its threads are tied
    shapes = [show.shape("sphere", (RADIUS,), STEEL, at=at[:3, 3])]
    for y in (-WIDE, WIDE):
        middle = se3.pose(so3.exp([-np.arctan2(y, LENGTH), 0.0, 0.0]), [0.0, 0.5 * y, -0.5 * LENGTH])
        shapes.append(engine.Geometry("cylinder", (0.002, np.hypot(y, LENGTH)), middle))
    for k in range(BALLS):
        builder.add_link(f"ball{k}", inertia=inertia.transformed(at, inertia.sphere(MASS, RADIUS)), visuals=shapes,
                         collisions=[engine.Geometry("sphere", (RADIUS,), at)])  # fmt: skip
        hinge = se3.pose(np.eye(3), [(k - (BALLS - 1) / 2) * spacing, 0.0, 0.0])
        builder.add_joint(f"threads{k}", "revolute", "frame", f"ball{k}", axis=(0.0, 1.0, 0.0), placement=hinge)
    return builder.model()


def report(motion: engine.Trajectory, released: int) -> None:
    """What the first blow passes on, and how far the last balls fly."""
    t, u = motion.t, -LENGTH * motion.v                                        # of the balls, m/s along x
    first = int(np.argmax(motion("contacts.force")[..., 0].any(axis=1)))       # the blow
    before, after = u[first - 1], u[np.searchsorted(t, t[first] + BLOWS)]
    print(f"first blow after {t[first]:.3f} s, at {before[0]:.4f} m/s")
    print("then       " + " ".join(f"{x:+.4f}" for x in after) + " m/s, from the first ball to the last")
    fly = slice(BALLS - released, None)
    print(f"momentum   {100 * after.sum() / before.sum():.2f} % is left, {100 * after[fly].sum() / after.sum():.2f} % of it with the last")
    print(f"swings     {np.degrees(np.abs(motion.q[: len(t) // 2, -1]).max()):.2f} deg out, from {np.degrees(RAISED):.2f} deg")
    E = sum(motion.energy())
    print(f"energy     {100 * (E[0] - E[-1]) / (E[0] - hanging(motion.model)):.2f} % is lost after {t[-1]:g} s")


def hanging(model: engine.Model) -> float:
    """The energy of balls that hang, J."""
    return float(engine.dynamics.energy(model, np.zeros(BALLS), np.zeros(BALLS))[1])


def plot(motion: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, names = motion.t, tuple(f"ball {k + 1}" for k in range(BALLS))
    figure, (a, b) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    a.plot(t, -np.degrees(motion.q), label=names)
    first = int(np.argmax(motion("contacts.force")[..., 0].any(axis=1)))
    near = slice(max(first - 10, 0), first + 20)
    b.plot(1e3 * t[near], -LENGTH * motion.v[near], ".-", label=names)
    a.set(xlabel="t, s", title="angles, deg")
    b.set(xlabel="t, ms", title="speeds about the first blow, m/s")
    for axis in (a, b):
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle("Newton's cradle")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--released", type=int, default=1, choices=range(1, BALLS), help="how many are let go (default: 1)")
    parser.add_argument("--gap", type=float, default=2e-4, help="between balls, m (default: 0.0002)")
    parser.add_argument("--duration", type=float, default=4.0, help="seconds (default: 4)")
    parser.add_argument("--dt", type=float, default=1e-5, help="step, seconds (default: 0.00001)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model = cradle(options.gap)
    pairs = [(f"ball{k}", f"ball{k + 1}") for k in range(BALLS - 1)]
    simulator = engine.Simulator(model, dt=options.dt, contacts=engine.Contacts(pairs=pairs, material=SURFACE))
    q0 = np.zeros(BALLS)
    q0[: options.released] = RAISED
    begun = time.perf_counter()
    motion = simulator.run(q0, np.zeros(BALLS), options.duration, record_every=max(round(1e-3 / options.dt), 1), progress=True)
    print(f"simulated {options.duration:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion, options.released)
    data = motion.save(options.out / "cradle.h5", overwrite=True)
    plot(motion, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    who = "one ball is" if options.released == 1 else f"{options.released} balls are"
    end = "Each blow is over before the next begins: as many fly off" if options.gap else "All touch: the blow goes on to all"
    show.show(options, motion, view=(-1.5, 0.12), speed=0.2, bars=["energy"], story=[
        (0.0, f"Newton's cradle: {who} let go"), (0.2, end),
        (0.6, "Kinetic and potential energy change places; blows take a little of their sum")])  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
