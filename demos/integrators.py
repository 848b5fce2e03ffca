"""Which integrator? Every method of the engine on one tumbling body: its order, and what becomes of the energy in 1000 s.

    python demos/integrators.py
    python demos/integrators.py --video methods.mp4      # or --view, in a window: a brick, once by each method

Left: the error after 1 s of a body with an offset centre of mass and added mass, pushed by forces that depend on time, pose and velocity,
against the step; the slope is the method's order. Right: the energy of the same body, left alone, over 1000 s in steps of 0.05 s.
Writes a plot (.png). The film: a brick that spins about its middle axis turns over every 9 s; methods of low order fall out of step.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.integrate import METHODS
from engine.spatial import inertia

RNG = np.random.default_rng(1)
L = RNG.standard_normal((6, 6))
G = np.diag([2.0, 2.5, 3.0, 4.0, 5.0, 6.0]) + 0.15 * L @ L.T
TWIST = np.array([1.0, -0.8, 1.2, 0.6, -0.4, 0.8])
SIZE, SPIN = (1.0, 0.7, 0.4), (0.1, 2.5, 0.1)                                  # of the brick in the film: m, rad/s
#: one for each method, with a mark of its own where lines cross
COLORS = dict(zip(METHODS, ("#1f77b4", "#e6550d", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#b8a800", "#000080",
                            "#6b8e23", "#00e0a0", "#000000", "#c49c94"), strict=True))  # fmt: skip
MARKS = dict(zip(METHODS, "os^vDP*X<>phdH", strict=True))


class Pushed(engine.RigidBody):
    """A body in a current, tied to the origin."""

    inertia, velocity_frame = G, "body"

    def wrench(self, x, u, t):
        pull = self.rotation(x).T @ -self.position(x) + 0.2 * ops.sin(2.0 * t)
        stir = ops.cos(3.0 * t) * np.array([1.0, 0.5, -0.5]) - 0.1 * self.angular_velocity(x)
        return np.concatenate([stir, pull])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=1000.0, help="seconds of free motion (default: 1000)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    warnings.simplefilter("ignore", engine.SimulationWarning)  # of steps that are too long: they are what this shows
    pushed, alone = Pushed(), engine.RigidBody(inertia=G, velocity_frame="body")
    x0 = pushed.build_state([0.3, 0.2, 0.1], angular_velocity=TWIST[:3], linear_velocity=TWIST[3:])
    compiled, free = engine.compile(pushed), engine.compile(alone)
    exact = pushed.rigid_body_state(compiled.simulate(x0, 1.0, 2**-13, integrator="rkmk5").x[-1])
    steps = 2.0 ** -np.arange(3, 9)
    errors, energies = {}, {}
    print(f"{'method':20} order   measured   energy drift in {options.duration:g} s")
    for name, method in METHODS.items():
        ends = [pushed.rigid_body_state(compiled.simulate(x0, 1.0, h, integrator=name).x[-1]) for h in steps]
        errors[name] = np.array([np.linalg.norm(end - exact) for end in ends])
        clear = errors[name] > 1e-12  # of rounding
        slope = np.polyfit(np.log(steps[clear][-4:]), np.log(errors[name][clear][-4:]), 1)[0]
        motion = lasting(free, x0, options.duration, name)
        energies[name] = motion.t, motion.kinetic_energy()
        K, end = energies[name][1], "" if motion.t[-1] == options.duration else f", diverged at {motion.t[-1]:g} s"
        print(f"{name:20} {method.order:5}   {slope:8.2f}   {K[-1] / K[0] - 1:+.1e}{end}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(steps, errors, energies, options.out / "integrators.png")
    print(f"wrote {options.out / 'integrators.png'}")
    if options.video or options.view:
        show.show(options, bricks(), speed=2.0, environment="plain", view=(-1.35, 0.1), shown=engine.Shown(names=True), story=[
            (0.0, "A brick that spins about its middle axis turns over and over"),
            (0.25, "Each is stepped by another method, 100 ms at a time; white: the exact motion"),
            (0.6, "Errors grow: methods of low order fall out of step"),
            (0.85, "After a minute")])  # fmt: skip


def bricks() -> list[engine.BodyTrajectory]:
    """A minute of a brick that turns over: exactly, and by each method."""
    alone = engine.RigidBody(inertia=inertia.box(2.0, SIZE), velocity_frame="body")
    free, motions = engine.compile(alone), []
    for k, name in enumerate(["exact", *METHODS]):
        start = alone.build_state([1.6 * (k % 5), 0.0, -1.7 * (k // 5)], angular_velocity=SPIN)
        method, finer = ("rkmk5", 16) if name == "exact" else (name, 1)
        motions.append(show.body(free.simulate(start, 60.0, 0.1 / finer, integrator=method, record_every=finer), name, looks(name)))
    return motions


def looks(name: str) -> list[engine.Geometry]:
    """A brick in the colour of a method's line in the plot, with a nose."""
    from matplotlib.colors import to_rgb

    nose = show.shape("box", (0.06, 0.5, 0.25), (0.15, 0.16, 0.18), at=(0.5, 0.0, 0.0))
    return [show.shape("box", SIZE, to_rgb(COLORS.get(name, "#eeeeee"))), nose]


def lasting(free: engine.CompiledSystem, x0: np.ndarray, duration: float, name: str) -> engine.BodyTrajectory:
    """The free motion, or as much of it as there is."""
    try:
        return free.simulate(x0, duration, 0.05, integrator=name, record_every=20)
    except engine.SimulationError as error:
        return error.trajectory


def plot(steps, errors, energies, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 6.5), layout="constrained")
    for k, name in enumerate(errors):
        style = {"color": COLORS[name], "ls": "--" if METHODS[name].implicit else "-", "marker": MARKS[name], "ms": 5}
        left.loglog(steps, errors[name], **style, lw=0.8, label=f"{name}, order {METHODS[name].order}")
        t, K = energies[name]
        right.semilogy(t, np.clip(np.abs(K / K[0] - 1), 1e-16, 100.0), lw=1, **style, markevery=(k / 130, 0.1))
    for order in (1, 2, 3, 4, 5):
        left.loglog(steps, 0.1 * steps**order, color="0.85", lw=0.8, zorder=0)
    left.set(xlabel="step, s", ylabel="error after 1 s", ylim=(1e-14, 1), title="order")
    right.set(xlabel="t, s", ylabel="|E/E₀ − 1|", ylim=(1e-16, 10), title="energy of a free body, h = 0.05 s")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", title="dashed: implicit")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
