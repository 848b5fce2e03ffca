"""Controls found anew a hundred times a second: grippers of a free flyer and of a drone follow targets that move.

    pip install example-robot-data && python demos/receding.py
    python demos/receding.py --video drone.mp4      # or --view, in a window: the drone

At each tick engine.ilqr looks ahead on the simulator's own step, from what it found at the tick before, within the limits of motors and
rotors; the first of its controls is held until the next tick (model predictive control). The free flyer's base is driven by nothing, and
gives way; the drone, Hextilt, has six rotors that push only. Of its target each knows where it is now and how fast. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show
from drone_arm import FILE, MOST, rotors

import engine

TICK, REACH, RATE = 0.01, 0.15, 0.8                                            # of controls, s; of targets, m and rad/s
FAR, QUICK = 30.0, 0.3                                                         # weights of a metre off the target, and of velocities


class Receding:
    """A controller in plain Python that plans at each tick, towards where the target will be."""

    def __init__(self, plan: engine.control.Plan, target) -> None:
        self.plan, self.target, self.took = plan, target, []

    def __call__(self, t, q, v):
        begun = time.perf_counter()
        self.plan = self.plan.again(q, v, t, self.target(t), iterations=1)
        self.took.append(time.perf_counter() - begun)
        return self.plan.u[0]


def swinging(begin):
    """Where a target is that begins there, how fast, and when that was."""

    def target(t):
        a, place = RATE * t, np.array([np.sin(RATE * t), 1.0 - np.cos(RATE * t), 0.5 * np.sin(2.0 * RATE * t)])
        return {"place": begin + REACH * place, "rate": REACH * RATE * np.array([np.cos(a), np.sin(a), np.cos(2.0 * a)]), "seen": t}

    return target


def flown(model, link, start, commands, hold, limits, price, steps, duration, **more):
    """Follow a target from a state on; return the motion, how far off the gripper was (m), and how long each plan took (s)."""
    kinematics = engine.compile(model).forward_kinematics
    target = swinging(kinematics(start)[model.link_index(link), :3, 3])

    def off(t, pose, place, rate, seen):
        return FAR * (pose(link)[:3, 3] - place - rate * (t - seen))

    def running(t, q, v, u, pose, place, rate, seen):
        return np.sqrt(TICK) * np.concatenate([off(t, pose, place, rate, seen), QUICK * v, price * (u - hold)])

    def final(t, q, v, pose, place, rate, seen):
        return np.concatenate([off(t, pose, place, rate, seen), 3.0 * v])

    ahead = engine.Simulator(model, TICK, "semi_implicit_euler", controller=lambda t, q, v, u: commands(u), parameters={"u": hold},
                             joint_dynamics=None, **more)  # fmt: skip
    plan = engine.ilqr(ahead, start, np.zeros(model.nv), running, final, steps=steps, u=hold, limits=limits, parameters=target(0.0))
    steered = Receding(plan, target)
    law = engine.Law(lambda t, q, v: commands(steered(t, q, v)), period=TICK, python=True)
    motion = engine.Simulator(model, TICK / 4, controller=law, joint_dynamics=None, **more).run(start, np.zeros(model.nv), duration)
    places = np.array([target(t)["place"] for t in motion.t])
    return motion, np.linalg.norm(kinematics(motion.q)[:, model.link_index(link), :3, 3] - places, axis=1), np.array(steered.took)


def free_flyer(duration):
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    start = model.neutral()
    start[7:] = 0.3, 0.5, 0.2, -0.8, 0.1, 0.6, 0.0
    return flown(model, "gripper", start, lambda u: np.concatenate([np.zeros(6), u]), np.zeros(7), (-20.0, 20.0), 0.03, 40, duration,
                 gravity=(0, 0, 0))  # fmt: skip


def drone(duration):
    model = engine.load_urdf(show.robot(FILE), floating_base=True, up_axis=False)
    thrusters = rotors(model.links[0].name)
    start = model.neutral()
    start[6] = 1.5
    start[7:] = 0.0, 0.6, 0.6, 0.0, 0.0
    weight = sum(link.mass for link in model.links) * 9.81
    share = weight / thrusters.directions[:, 2].sum()
    held = np.concatenate([np.full(6, share), engine.compile(model).rnea(start, np.zeros(model.nv), np.zeros(model.nv))[6:]])
    efforts = np.array([j.limits.effort for j in model.joints if j.kind == "revolute"])
    low, high = np.concatenate([np.zeros(6), -efforts]), np.concatenate([np.full(6, MOST), efforts])
    return flown(model, model.links[-1].name, start, lambda u: {"rotors": u[:6], "tau": np.concatenate([np.zeros(6), u[6:]])}, held,
                 (low, high), np.repeat([0.1, 0.5], [6, 5]), 40, duration, actuators=[thrusters])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=8.0, help="seconds (default: 8)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()
    flights = {}
    for name, fly in (("free flyer", free_flyer), ("drone", drone)):
        flights[name] = fly(options.duration)
        _, off, took = flights[name]
        print(f"{name}: its gripper stays within {1e3 * off.max():.1f} mm of the target; a plan of 40 steps takes "
              f"{1e3 * np.median(took):.1f} ms, the longest {1e3 * took.max():.1f}, of {1e3 * TICK:.0f}")  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    plot(flights, options.out / "receding.png")
    print(f"wrote {options.out / 'receding.png'}")
    motion = flights["drone"][0]
    hand, base = motion.model.links[-1].name, motion.model.links[0].name
    target, scene = swinging(motion.pose(hand)[0, :3, 3]), engine.Scene(motion, "plain")
    scene.add(points=np.zeros((1, 3)), moving=lambda t: target(t)["place"], size=0.02, color=(0.90, 0.16, 0.16), name="target")
    show.show(options, scene, speed=0.35, view=(-0.9, 0.12), story=[
        (0.0, "The gripper follows the red target: a new plan of 40 steps, 100 times a second"),
        (0.4, f"The drone leans and the arm reaches: one plan for both, within {1e3 * flights['drone'][1].max():.0f} mm"),
        (0.75, "Arrows: thrusts of the rotors, which push only")],
        shown=engine.Shown(forces=(rotors(base),), trails=(hand,), trail_time=3.0))  # fmt: skip


def plot(flights, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(12, 7.5), layout="constrained")
    for (name, (motion, off, took)), (a, b) in zip(flights.items(), axes, strict=True):
        a.plot(motion.t, 1e3 * off, lw=1)
        a.set_title(f"{name}: gripper off its target, mm")
        b.plot(TICK * np.arange(len(took)), 1e3 * took, lw=1)
        b.set_title(f"{name}: what a plan took, ms")
        for axis in (a, b):
            axis.set_xlabel("t, s")
            axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
