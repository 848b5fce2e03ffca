"""A stack of boxes stands, until a ball rolls into it.

    python demos/stack.py
    python demos/stack.py --speed 6                  # of the ball, m/s
    python demos/stack.py --video stack.mp4          # or --view, in a window

Boxes lie on each other, none exactly above the last; each face carries what is above it. A ball comes along, rolling, and hits the lowest:
all bodies may then touch each other and the ground, with friction. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine.spatial import inertia

EDGE, MASS, OFF = 0.2, 1.0, 0.01                                               # m, kg; m: every other box is further to one side
RADIUS, HEAVY, FAR = 0.1, 6.0, 3.0                                             # of the ball: m, kg; m from the boxes at first
SURFACE = engine.ContactMaterial(stiffness=2e5, dissipation=1.0, friction=0.5)
COLORS = ((0.80, 0.36, 0.24), (0.90, 0.68, 0.28), (0.32, 0.56, 0.50), (0.24, 0.38, 0.60), (0.55, 0.45, 0.62))
BALL = (0.20, 0.21, 0.23)
SETTLE = 0.3                                                                   # s: loads are means from then on, until the ball comes


def thing(name: str, G: np.ndarray, look: engine.Geometry) -> engine.Model:
    """A free body that touches as it looks."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=G, visuals=[look], collisions=[look])
    return builder.model(floating_base=True)


def scene(boxes: int, speed: float) -> tuple[engine.Model, np.ndarray, np.ndarray]:
    """The model, with a ball before the boxes, and where all is at first: q and v."""
    things = {f"box{k}": thing("box", inertia.box(MASS, [EDGE] * 3), show.shape("box", [EDGE] * 3, COLORS[k % len(COLORS)]))
              for k in range(boxes)}  # fmt: skip
    model = engine.combine(**things, ball=thing("ball", inertia.sphere(HEAVY, RADIUS), show.shape("sphere", [RADIUS], BALL)))
    q, v = model.neutral(), np.zeros(model.nv)
    for k in range(boxes):
        q[7 * k + 4 : 7 * k + 7] = OFF * (k % 2), 0.0, EDGE * (k + 0.5)
    q[-3:], v[-6:] = [-FAR, 0.02, RADIUS], [0.0, speed / RADIUS, 0.0, speed, 0.0, 0.0]
    return model, q, v


def report(motion: engine.Trajectory, boxes: int, hit: float) -> None:
    """What the faces carry while the stack stands, and what is left of it."""
    t, force, names = motion.t, motion("contacts.force"), motion("contacts.names")
    rests = (t > SETTLE) & (t < hit - 0.05)
    weight = 9.81 * MASS
    loads = []
    for below, above in zip(["world", *(f"box{k}/box" for k in range(boxes - 1))], (f"box{k}/box" for k in range(boxes)), strict=True):
        points = [k for k, name in enumerate(names) if name.startswith(f"{below}:{above}")]
        loads.append(force[rests][:, points, 2].sum(axis=1).mean() / weight)
    print("stands     with " + ", ".join(f"{x:.3f}" for x in loads) + " boxes' weights on the faces from the ground up")
    places = np.array([motion.pose(f"box{k}/box")[:, :3, 3] for k in range(boxes)])
    print(f"creeps     by {1e6 * np.ptp(places[:, rests], axis=1).max() / (hit - 0.05 - SETTLE):.0f} um/s at most")
    fallen = int((places[:, -1, 2] < places[:, 0, 2] - 0.5 * EDGE).sum())
    print(f"falls      when the ball hits it after {hit:.2f} s: {fallen} of {boxes - 1} boxes come down from where they were")
    K, U = motion.energy()
    E = K + U                                                              # with that of the springs between surfaces
    print(f"energy     {E[0]:.2f} J, {E[-1]:.2f} J at the end")
    print(f"surfaces   give way by at most {-1e3 * motion('contacts.gap').min():.2f} mm")


def plot(motion: engine.Trajectory, boxes: int, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = motion.t
    K, U = motion.energy()
    figure, (a, b) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for k in range(boxes):
        a.plot(t, motion.pose(f"box{k}/box")[:, 2, 3], color=COLORS[k % len(COLORS)], label=f"box {k + 1}")
    for E, name in ((K, "kinetic"), (U, "potential"), (K + U, "both")):
        b.plot(t, E, label=name)
    for axis, title in ((a, "heights, m"), (b, "energy, J")):
        axis.set(xlabel="t, s", title=title)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle("a stack of boxes, and a ball")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=4, choices=range(1, 5), metavar="N", help="how many, from 1 to 4 (default: 4)")
    parser.add_argument("--speed", type=float, default=4.0, help="of the ball, m/s (default: 4)")
    parser.add_argument("--duration", type=float, default=2.5, help="seconds (default: 2.5)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, q0, v0 = scene(options.boxes, options.speed)
    contacts = engine.Contacts(engine.HalfSpace(material=SURFACE), material=SURFACE)
    begun = time.perf_counter()
    simulator = engine.Simulator(model, dt=options.dt, contacts=contacts)
    motion = simulator.run(q0, v0, options.duration, record_every=5, progress=True)
    print(f"simulated {options.duration:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion, options.boxes, (FAR - 0.5 * EDGE - RADIUS) / options.speed)
    data = motion.save(options.out / "stack.h5", overwrite=True)
    plot(motion, options.boxes, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    hit, last = (FAR - 0.5 * EDGE - RADIUS) / options.speed, motion.t[-1]
    tower = 0.5 * options.boxes * EDGE
    near = engine.viewer.Camera((-0.5 * tower, 0.0, 0.8 * tower), 7.6 * tower, azimuth=-1.0, elevation=0.15, radius=FAR, floor=0.0)
    wide = engine.viewer.Camera(azimuth=-1.0, elevation=0.25, floor=0.0)
    ends = [motion.pose(f"box{k}/box")[-1, :3, 3] + x for k in range(options.boxes) for x in (-EDGE, EDGE)]
    wide.fit(ends, 16 / 9)
    shots = [engine.Shot(0.0, near, "A tower of boxes at rest: each face carries what is above it", speed=2.0, ease=0.0),
             engine.Shot(max(hit - 0.1, 0.02), near, f"A ball of {HEAVY:g} kg at {options.speed:g} m/s", ease=0.0),
             engine.Shot(hit + 0.1, near, "Contacts as one convex problem: bodies, ball and ground", speed=0.4, ease=0.0),
             engine.Shot(hit + 0.22 * (last - hit), wide, "Friction brings them to rest", ease=3.0),
             engine.Shot(hit + 0.7 * (last - hit), wide, "Friction brings them to rest", speed=3.0, ease=0.0)]  # fmt: skip
    show.show(options, motion, speed=0.1, camera=wide, follow="box0/box", shots=shots if last > hit + 0.1 else (),
              shown=engine.Shown(contacts=True))  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
