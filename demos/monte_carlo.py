"""Ten thousand captures with scattered masses and beginnings: how close does the gripper come?

    python demos/monte_carlo.py                     # 10 000 rollouts
    python demos/monte_carlo.py --rollouts 500
    python demos/monte_carlo.py --video scatter.mp4      # or --view, in a window: the first six, together

The capture of demos/capture.py, with a controller that knows the servicer as designed: the true mass of the bus (±5 %), of the payload
in the gripper's link (±20 %), the beginnings of the arm (0.5°) and the base's rates (0.02°/s) are scattered. One simulator, compiled once,
runs all of them: a campaign, whose runs lie in a folder; the same command goes on where it was interrupted. Writes the folder and a figure
of the scatter (.png). demos/cluster.py runs the same on several processes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import show
from scipy import stats

import engine
from engine.components.controllers import generalized_jacobian_control
from engine.spatial import se3

spec = importlib.util.spec_from_file_location("capture", Path(__file__).with_name("capture.py"))
assert spec and spec.loader
capture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(capture)
END = capture.MEET + 5.0                                                       # s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()

    campaign, motion = captures(options)
    begun = time.perf_counter()
    runs = campaign.run(options.out / f"monte_carlo_{options.rollouts}", progress=sys.stdout.isatty())
    report(options, runs, time.perf_counter() - begun)
    look(options, campaign, motion)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the campaign and where its results go."""
    parser.add_argument("--rollouts", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--dt", type=float, default=0.05, help="step, seconds (default: 0.05)")
    parser.add_argument("--seed", type=int, default=0, help="of the scatter (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the runs and the figure (default: out)")
    show.add_options(parser)


def captures(options: argparse.Namespace):
    """The campaign, and the motion of the handle."""
    model, q0 = capture.servicer()
    T_start = engine.dynamics.forward_kinematics(model, q0)[model.link_index("gripper")]
    motion = capture.handle(T_start @ se3.exp(np.array([0.2, 0.3, -0.2, 0.25, -0.3, 0.2])))
    controller = generalized_jacobian_control(model, "gripper", capture.approach(motion, T_start), bandwidth=0.5)
    bus, gripper = (model.link(name).mass for name in ("bus", "gripper"))
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), controller=by_design(controller),
                                 parameters={"mass.bus": bus, "mass.gripper": gripper}, joint_dynamics=False)  # fmt: skip
    scatter = {
        "mass.bus": stats.norm(bus, 0.05 * bus),
        "mass.gripper": stats.truncnorm(-4.0, np.inf, gripper, 0.2 * gripper),
        **{f"q0.{joint}": stats.norm(angle, np.radians(0.5)) for joint, angle in capture.START.items()},
        "v0.floating_base.w": stats.norm(0.0, np.radians(0.02)),
    }
    campaign = engine.Campaign(simulator, q0, np.zeros(model.nv), END, options.rollouts, options.seed, scatter,
                               metrics={"gap": gap_of(model, motion)}, record_every=round(END / options.dt),
                               chunk=max(1, min(500, options.rollouts // 20)))  # fmt: skip
    return campaign, motion


def gap_of(model: engine.Model, motion):
    """The handle from the gripper in the end, as a screw [angle; way] (6) in the gripper's axes."""
    goal, gripper, kinematics = np.array(motion(END)[0], dtype=float), model.link_index("gripper"), engine.compile(model).forward_kinematics

    def gap(trajectory):
        return se3.log(se3.inv(kinematics(trajectory.q[:, -1])[:, gripper]) @ goal)

    gap.batched = True                                                         # of all runs of a chunk at once
    return gap


def by_design(controller):
    """The controller with the pose and Jacobian that it measures, and the masses that it believes in."""

    def believing(t, q, v, pose, jacobian, gravity, armature):
        return controller(t, q, v, pose, jacobian, gravity, armature)

    return believing


def report(options: argparse.Namespace, runs: engine.Runs, seconds: float) -> None:
    """Print how close they came, and write the figure."""
    gap, steps = runs("gap"), round(END / options.dt)
    apart, angle = 1e3 * np.linalg.norm(gap[:, 3:], axis=1), np.degrees(np.linalg.norm(gap[:, :3], axis=1))
    print(f"{len(runs)} rollouts of {steps} steps in {seconds:.1f} s, compiling included: {len(runs) * steps / seconds:,.0f} steps/s")
    for name, x, unit in (("distance", apart, "mm"), ("angle", angle, "deg")):
        print(f"{name:9} median {np.median(x):.4f}, 95 % below {np.quantile(x, 0.95):.4f}, worst {x.max():.4f} {unit}")
    path = options.out / "monte_carlo.png"
    plot(gap, {name: runs(f"mass.{name}") for name in ("bus", "gripper")}, apart, path)
    files = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(runs.folder.path.glob("*.h5"))))
    print(f"wrote {runs.folder.path} (SHA-256 {files.hexdigest()[:16]}) and {path}")


def look(options: argparse.Namespace, campaign: engine.Campaign, motion) -> None:
    """Film the first six together, or open a window on them: of the campaign only the ends have been recorded, so they are run again.

    They all but coincide: surfaces in one place let each other shine through, where colours of their own would fight.
    """
    if options.video or options.view:
        some = [campaign.rerun(i, record_every=4) for i in range(min(6, options.rollouts))]
        pale = (1.0, 1.0, 1.0, 0.25)
        scene = [*(engine.viewer.Actor(run, name=f"run {i}", color=pale if i else (1.0, 1.0, 1.0, 1.0)) for i, run in enumerate(some)),
                 capture.target(motion, some[0].t)]  # fmt: skip
        end, side = float(some[0].t[-1]), (-0.8, 0.35)
        show.show(options, scene, speed=1.5, view=side, shots=[
            (0.0, side, f"{len(some)} of {options.rollouts:,} captures, all at once: masses and beginnings scatter"),
            engine.Shot(0.4 * end, near := engine.Follow("gripper", side, radius=0.7), "Bases that nothing holds drift apart", ease=2.0),
            (0.8 * end, near, "All of them meet the handle")])  # fmt: skip


def plot(gap, mass, apart, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (a, b, c) = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for k, name in ((4, "y"), (5, "z")):
        a.plot(1e3 * gap[:, 3], 1e3 * gap[:, k], ".", ms=2, alpha=0.4, label=name)
    a.set(title="handle from gripper, in the gripper's axes", xlabel="x, mm", ylabel="y and z, mm", aspect="equal")
    a.legend(markerscale=5)
    b.hist(apart, bins=80)
    b.set(title="distance", xlabel="mm", ylabel="rollouts")
    s = c.scatter(mass["bus"], mass["gripper"], c=apart, s=3, cmap="viridis")
    c.set(title="distance by masses", xlabel="bus, kg", ylabel="gripper, kg")
    figure.colorbar(s, ax=c, label="mm")
    for axis in (a, b, c):
        axis.grid(alpha=0.3)
        axis.set_axisbelow(True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
