"""A first controller, in five steps: what each line adds, and what the arm then does.

    python demos/first_controller.py

An arm of 2 kg, its centre of mass 0.4 m from a horizontal axis, is to go from hanging to 1 rad. A controller is a function of ``t, q, v``
and of what else it asks for by name, written with NumPy, that returns the generalized forces (nv). It is compiled with the robot: ``if`` on
a value is not (the error shows the line, and the ``np.where`` to write). Writes the trajectories (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import show

import engine
from engine.spatial import inertia

GOAL, DURATION = 1.0, 4.0
MASS, LEVER, PAYLOAD, LENGTH = 2.0, 0.4, 0.5, 0.8        # kg, m; of what the gripper holds, and how far out
STIFF, DAMP, GROWS, MOST = 60.0, 12.0, 150.0, 15.0       # N·m/rad, N·m·s/rad, N·m/(rad·s), N·m
TICK, COUNT = 0.01, 2.0 * np.pi / 4096                   # s, rad


def arm(payload: float = 0.0) -> engine.Model:
    """An arm that turns about y; hanging at q = 0."""
    builder = engine.Builder("arm")
    rod, ball = engine.Geometry("box", (0.05, 0.05, LENGTH), down(LENGTH / 2)), engine.Geometry("sphere", (0.07,), down(LENGTH))
    builder.add_link("stand", visuals=[engine.Geometry("box", (0.2, 0.2, 0.1))])
    builder.add_link("arm", inertia.from_mass(MASS, [0.0, 0.0, -LEVER], np.eye(3) * 0.05), visuals=[rod])
    builder.add_joint("shoulder", "revolute", "stand", "arm", axis=(0, -1, 0))
    builder.add_link("held", inertia.from_mass(payload, [0.0, 0.0, -LENGTH], np.zeros((3, 3))), visuals=[ball] if payload else [])
    builder.add_joint("grip", "fixed", "arm", "held")
    return builder.model()


def down(z: float) -> np.ndarray:
    return engine.spatial.se3.pose(np.eye(3), [0.0, 0.0, -z])


# ---------------------------------------------------------------- 1: a spring and a damper


def spring(t, q, v):
    """It stands still where the spring holds the weight: too low."""
    return STIFF * (GOAL - q) - DAMP * v


# ---------------------------------------------------------------- 2: what the robot weighs is known


def weighed(t, q, v, gravity):
    """The robot's own inverse dynamics at rest are what holds it."""
    return engine.dynamics.rnea(BARE, q, 0.0 * v, 0.0 * v, gravity) + STIFF * (GOAL - q) - DAMP * v


# ---------------------------------------------------------------- 3: an unknown payload, a motor with a limit: an integral that waits


def integrating(t, q, v, gravity, memory):
    """A hundred times a second: (force, what it remembers)."""
    return limited(weighed(t, q, v, gravity) + memory, GOAL - q, memory)


def limited(wanted, error, memory):
    """What the motor can give; where that is less than wanted, the integral waits."""
    force = np.clip(wanted, -MOST, MOST)
    return force, np.where(force == wanted, memory + GROWS * error * TICK, memory)


# ---------------------------------------------------------------- 4: an encoder of 4096 counts and a noisy rate, a tick late


def measured(q, v, noise):
    """Noise is a function of seed, run and tick: the same whenever it is repeated, and another in every run of a campaign."""
    return COUNT * np.round(q / COUNT), v + 0.02 * noise(1)


def measuring(t, q, v, gravity, memory, noise):
    q, v = measured(q, v, noise)
    return integrating(t, q, v, gravity, memory)


# ---------------------------------------------------------------- 5: a profile in place of a jump, gains by a table


def scheduled(t, q, v, gravity, memory, noise):
    """The goal moves there in 1.5 s; the farther out the arm, the stiffer."""
    q, v = measured(q, v, noise)
    s = np.clip(t / 1.5, 0.0, 1.0)
    goal, rate = GOAL * s * s * (3.0 - 2.0 * s), GOAL * 4.0 * s * (1.0 - s)
    stiff = np.interp(np.abs(q), [0.0, 0.5, 1.5], [STIFF, 1.5 * STIFF, 2.0 * STIFF])
    wanted = engine.dynamics.rnea(BARE, q, 0.0 * v, 0.0 * v, gravity) + stiff * (goal - q) + 1.5 * DAMP * (rate - v) + memory
    return limited(wanted, goal - q, memory)


BARE = arm()
STEPS = {
    "1 spring": (0.0, spring),
    "2 weighed": (0.0, weighed),
    "2 with payload": (PAYLOAD, weighed),
    "3 integrating": (PAYLOAD, engine.Law(integrating, period=TICK, memory=[0.0])),
    "4 measuring": (PAYLOAD, engine.Law(measuring, period=TICK, memory=[0.0], delay=TICK)),
    "5 scheduled": (PAYLOAD, engine.Law(scheduled, period=TICK, memory=[0.0], delay=TICK)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for trajectories and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()
    motions = {}
    for name, (payload, controller) in STEPS.items():
        simulator = engine.Simulator(arm(payload), dt=0.002, controller=controller)
        motions[name] = motion = simulator.run([0.0], [0.0], DURATION)
        q, tau = motion.q[:, 0], motion.tau[:, 0]
        print(f"{name:15} ends {1e3 * (q[-1] - GOAL):8.3f} mrad off, goes {1e3 * max(q.max() - GOAL, 0.0):7.2f} mrad beyond, "
              f"and takes {np.abs(tau).max():5.1f} N·m at most")  # fmt: skip
    data = [motion.save(options.out / f"first_controller_{name[0]}.h5", overwrite=True) for name, motion in motions.items()]
    plot(motions, options.out / "first_controller.png")
    print(f"  wrote {data[0]} … and {options.out / 'first_controller.png'}")
    rises = motions["5 scheduled"].t < 0.5 * DURATION                          # and then stands
    show.show(options, motions["5 scheduled"][rises], speed=0.1, view=(-1.9, 0.15), signals=["q.shoulder", "tau.shoulder"],
              story=[(0.0, "An arm of 2 kg and a payload nobody told it of"), (0.16, "The goal moves to 1 rad in 1.5 s"),
                     (0.75, "The integral holds the payload: the arm stands at 1 rad")])  # fmt: skip


def plot(motions: dict[str, engine.Trajectory], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 7), sharex=True, layout="constrained")
    for name, motion in motions.items():
        above.plot(motion.t, motion.q[:, 0], label=name)
        below.plot(motion.t, motion.tau[:, 0], lw=1)
    above.axhline(GOAL, color="black", lw=0.5)
    above.legend()
    for axis, title in ((above, "angle, rad"), (below, "torque, N·m")):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    below.set_xlabel("t, s")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
