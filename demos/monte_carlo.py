"""Ten thousand captures with scattered masses and beginnings: how close does the gripper come?

    python demos/monte_carlo.py                     # 10 000 rollouts
    python demos/monte_carlo.py --rollouts 500
    python demos/monte_carlo.py --video scatter.mp4      # or --view, in a window: the first twelve, together

The capture of demos/capture.py, with a controller that knows the servicer as designed: the true mass of the bus (±5 %), of the payload
in the gripper's link (±20 %), the beginnings of the arm (0.5°) and the base's rates (0.02°/s) are scattered. One simulator, compiled once,
runs all of them at once: masses are parameters. Writes a figure of the scatter (.png).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine.simulation.controllers import generalized_jacobian_control
from engine.spatial import se3

spec = importlib.util.spec_from_file_location("capture", Path(__file__).with_name("capture.py"))
assert spec and spec.loader
capture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(capture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--dt", type=float, default=0.05, help="step, seconds (default: 0.05)")
    parser.add_argument("--seed", type=int, default=0, help="of the scatter (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figure (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, q0 = capture.servicer()
    T_start = engine.dynamics.forward_kinematics(model, q0)[model.link_index("gripper")]
    motion = capture.handle(T_start @ se3.exp(np.array([0.2, 0.3, -0.2, 0.25, -0.3, 0.2])))
    controller = generalized_jacobian_control(model, "gripper", capture.approach(motion, T_start), bandwidth=0.5)
    designed = {"mass.bus": model.link("bus").mass, "mass.gripper": model.link("gripper").mass}
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), controller=by_design(controller, model),
                                 parameters=designed, joint_dynamics=False)  # fmt: skip
    rng, n = np.random.default_rng(options.seed), options.rollouts
    true = {"mass.bus": designed["mass.bus"] * (1 + 0.05 * rng.standard_normal(n)),
            "mass.gripper": designed["mass.gripper"] * np.clip(1 + 0.2 * rng.standard_normal(n), 0.2, None)}  # fmt: skip
    d = np.zeros((n, model.nv))
    d[:, 6:] = np.radians(0.5) * rng.standard_normal((n, model.nv - 6))
    v = np.zeros((n, model.nv))
    v[:, :3] = np.radians(0.02) * rng.standard_normal((n, 3))
    begun = time.perf_counter()
    steps = round((capture.MEET + 5.0) / options.dt)
    end = simulator.run(model.manifold.plus(q0, d), v, capture.MEET + 5.0, record_every=steps, parameters=true, progress=True)
    seconds = time.perf_counter() - begun
    T = engine.compile(model).forward_kinematics(end.q[:, -1])[:, model.link_index("gripper")]
    gap = se3.log(se3.inv(T) @ motion(float(end.t[-1]))[0])
    apart, angle = 1e3 * np.linalg.norm(gap[:, 3:], axis=1), np.degrees(np.linalg.norm(gap[:, :3], axis=1))
    print(f"{n} rollouts of {steps} steps in {seconds:.1f} s, compiling included: {n * steps / seconds:,.0f} steps/s")
    for name, x, unit in (("distance", apart, "mm"), ("angle", angle, "deg")):
        print(f"{name:9} median {np.median(x):.4f}, 95 % below {np.quantile(x, 0.95):.4f}, worst {x.max():.4f} {unit}")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(gap, true, designed, apart, options.out / "monte_carlo.png")
    print(f"wrote {options.out / 'monte_carlo.png'}")
    if options.video or options.view:                                          # only the ends of the others have been recorded
        masses = {name: x[:12] for name, x in true.items()}
        some = simulator.run(model.manifold.plus(q0, d[:12]), v[:12], capture.MEET + 5.0, record_every=4, parameters=masses)
        show.show(options, [some, capture.target(motion, some.t)], speed=2.0, view=(-0.8, 0.35))


def by_design(controller, model: engine.Model):
    """The controller with the pose and Jacobian that it measures, and the masses that it believes in."""

    def believing(t, q, v, pose, jacobian, gravity, armature):
        return controller(t, q, v, pose, jacobian, gravity, armature)

    return believing


def plot(gap, true, designed, apart, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (a, b, c) = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for k, name in ((4, "y"), (5, "z")):
        a.plot(1e3 * gap[:, 3], 1e3 * gap[:, k], ".", ms=2, alpha=0.4, label=f"x and {name}")
    a.set(title="gripper from handle in its axes, mm", aspect="equal")
    a.legend()
    b.hist(apart, bins=80)
    b.set(title="distance, mm", xlabel="mm", ylabel="rollouts")
    s = c.scatter(true["mass.bus"] / designed["mass.bus"], true["mass.gripper"] / designed["mass.gripper"], c=apart, s=3, cmap="viridis")
    c.set(title="distance by masses", xlabel="bus, of its design", ylabel="gripper, of its design")
    figure.colorbar(s, ax=c, label="mm")
    for axis in (a, b, c):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
