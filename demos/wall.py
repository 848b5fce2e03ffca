"""A heavy ball is thrown at a wall of boxes.

    python demos/wall.py
    python demos/wall.py --side 3 --speed 15         # 27 boxes; of the ball, m/s
    python demos/wall.py --video wall.mp4            # or --view, in a window

125 boxes lie upon each other, a hair's breadth apart from those beside them; all may touch all, the ball and the ground, with friction.
However many there are, they are one program, whose pairs and points are rows of tables. Only the ground takes momentum from what was
thrown, and energy only falls, but for what springs between surfaces give back. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import show

import engine
from engine.spatial import inertia

EDGE, MASS, GAP = 0.2, 1.0, 1e-3                                               # of a box: m, kg; m: between those beside each other
RADIUS, HEAVY, FAR = 0.2, 40.0, 2.0                                            # of the ball: m, kg; m from the wall at first
SURFACE = engine.ContactMaterial(stiffness=2e5, dissipation=1.0, friction=0.5)
COLORS = ((0.80, 0.36, 0.24), (0.90, 0.68, 0.28), (0.32, 0.56, 0.50), (0.24, 0.38, 0.60), (0.55, 0.45, 0.62))
BALL = (0.20, 0.21, 0.23)
STILL = 0.05                                                                   # m/s and rad/s: slower than this is at rest
GRAVITY = 9.81


def thing(name: str, G: np.ndarray, look: engine.Geometry) -> engine.Model:
    """A free body that touches as it looks."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=G, visuals=[look], collisions=[look])
    return builder.model(floating_base=True)


def scene(side: int, speed: float) -> tuple[engine.Model, np.ndarray, np.ndarray]:
    """The model, with a ball before the wall, and where all is at first: q and v."""
    cells = [(x, y, z) for z in range(side) for y in range(side) for x in range(side)]
    boxes = [thing("box", inertia.box(MASS, [EDGE] * 3), show.shape("box", [EDGE] * 3, color)) for color in COLORS]
    things = {f"box{k}": boxes[sum(cell) % len(boxes)] for k, cell in enumerate(cells)}
    model = engine.combine(**things, ball=thing("ball", inertia.sphere(HEAVY, RADIUS), show.shape("sphere", [RADIUS], BALL)))
    q, v = model.neutral(), np.zeros(model.nv)
    carried = MASS * GRAVITY * np.arange(side, 0, -1)                          # by the four points below a box, N; two springs in series
    sinks = np.cumsum(carried / (2.0 * SURFACE.stiffness))
    centers = (np.array(cells) + [0.5, 0.5 - 0.5 * side, 0.5]) * [EDGE + GAP, EDGE + GAP, EDGE]
    q[:-7].reshape(-1, 7)[:, 4:] = centers - [[0.0, 0.0, sinks[z]] for _, _, z in cells]
    flies = FAR / speed
    q[-3:] = -FAR - RADIUS, 0.03, 0.6 * side * EDGE                            # a little beside the middle
    v[-3:] = speed, 0.0, 0.5 * GRAVITY * flies                                 # and meets the wall as high as it was thrown
    return model, q, v


def report(motion: engine.Trajectory, hit: float) -> int:
    """What the ground carries and takes, what becomes of momentum and energy, and what is left of the wall; how many boxes come down."""
    t, before = motion.t, motion.t < hit - 0.02
    places, speeds = motion.q.reshape(len(t), -1, 7)[:, :-1, 4:], motion.v.reshape(len(t), -1, 6)
    carried = motion("contacts.wrench")[before][:, :, 5].sum(axis=1).mean()
    creep = np.abs(places[before][-1] - places[before][0])
    print(f"stands     on {carried / (GRAVITY * MASS * places.shape[1]):.4f} of its weight, and gives way by {1e3 * creep.max():.2f} mm")
    P, E, held = motion.momentum()[:, 3], sum(motion.energy()), springs(motion)
    least = np.minimum.accumulate(E)
    low = np.maximum.accumulate(np.where(least == E, np.arange(len(t)), 0))    # when energy was the least until now
    k = int(np.argmax(E - least))
    print(f"momentum   along the throw {P[0]:.1f} N s, {P[before][-1]:.1f} N s before the blow, {P[-1]:.1f} N s at the end")
    print(f"energy     {E[0]:.1f} J, {E[-1]:.1f} J at the end; rises by {E[k] - least[k]:.3f} J at most, "
          f"where springs held {held[low[k]]:.3f} J; {max(0.0, (E - least - held[low]).max()):.3f} J of it from nowhere")  # fmt: skip
    fallen = int((places[-1, :, 2] < places[0, :, 2] - 0.5 * EDGE).sum())
    still = int((np.abs(speeds[-1, :-1]).max(axis=1) < STILL).sum())
    print(f"falls      after {hit:.2f} s: {fallen} of {places.shape[1]} boxes come down; {still} of them all are at rest at the end")
    return fallen


def springs(motion: engine.Trajectory) -> np.ndarray:
    """What the springs between surfaces hold at most (T), J: as if each point had the stiffness of two surfaces in series."""
    points = motion("contacts")
    held = np.zeros(len(motion.t))
    np.add.at(held, points.record, 0.25 * SURFACE.stiffness * np.minimum(points.gap, 0.0) ** 2)
    return held


def plot(motion: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, (K, U), P = motion.t, motion.energy(), motion.momentum()
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
    a.plot(t, motion.q.reshape(len(t), -1, 7)[:, :-1, 6], lw=0.6)
    for E, name in ((K, "kinetic"), (U, "potential"), (K + U, "both")):
        b.plot(t, E, label=name)
    c.plot(t, P[:, 3:], label=("along the throw", "sideways", "upwards"))
    for axis, title in ((a, "heights of the boxes, m"), (b, "energy, J"), (c, "momentum, N s")):
        axis.set(xlabel="t, s", title=title)
        axis.grid(alpha=0.3)
    b.legend()
    c.legend()
    figure.suptitle("a ball is thrown at a wall")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=5, choices=range(2, 11), metavar="N",
                        help="boxes along each edge of the wall, from 2 to 10 (default: 5)")  # fmt: skip
    parser.add_argument("--speed", type=float, default=10.0, help="of the ball, m/s (default: 10)")
    parser.add_argument("--duration", type=float, default=3.0, help="seconds (default: 3)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--every", type=int, default=10, help="steps from one record to the next (default: 10)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, q0, v0 = scene(options.side, options.speed)
    begun = time.perf_counter()
    simulator = engine.Simulator(model, dt=options.dt, contacts=engine.Contacts(engine.HalfSpace(material=SURFACE), material=SURFACE))
    motion = simulator.run(q0, v0, options.duration, record_every=options.every, progress=True)
    print(f"simulated {options.duration:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    fallen = report(motion, FAR / options.speed)
    data = motion.save(options.out / "wall.h5", overwrite=True)
    plot(motion, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    show.show(options, motion[motion.t <= 2.6], speed=0.13, bars=["energy"], **seen(options.side, FAR / options.speed, fallen))


def seen(side: int, hit: float, fallen: int) -> dict[str, Any]:
    """From beside the wall until it breaks, in slow motion, then from where all boxes are seen that fly off; a picture from there too."""
    size = side * EDGE

    def camera(at: tuple[float, float, float], far: float) -> engine.viewer.Camera:
        return engine.viewer.Camera(size * np.array(at), far * size, azimuth=-1.95, elevation=0.25, radius=6.0 * size, floor=0.0)

    near, wide = camera((-0.4, 0.0, 0.4), 5.4), camera((3.3, -0.3, 0.3), 9.4)
    return {"camera": wide, "shots": [
        engine.Shot(0.0, near, f"{side**3} boxes, and a ball of {HEAVY:g} kg", speed=0.35),
        engine.Shot(hit, near, "All may touch all, with friction: one program however many there are", speed=0.35, ease=0.0),
        engine.Shot(2.2 * hit, wide, "They fly and fall; only the ground takes momentum", ease=3.0),
        engine.Shot(8.0 * hit, wide, f"{fallen} have come down, and friction brings them to rest", ease=0.0)]}  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
