"""A servicer satellite slews its seven-joint arm in free flight: how does its base react?

    python demos/free_flyer.py                        # the servicer that comes with the engine
    python demos/free_flyer.py --urdf panda.urdf      # any robot, floating freely
    python demos/free_flyer.py --video slew.mp4       # or --view, in a window

Nothing holds the base. A joint-space controller follows a smooth path with internal torques only, so the momentum of the whole must
not change, and the energy must change by exactly the work of the motors. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine import ops
from engine.spatial import quaternion

SERVICER = engine.example("free_flyer")
STOWED = {"shoulder_pitch": -np.pi / 2, "elbow_pitch": 3.1}
EXTENDED = {"shoulder_yaw": 0.5, "shoulder_pitch": 0.9, "shoulder_roll": 0.3, "elbow_pitch": 0.6,
            "wrist_yaw": -0.2, "wrist_pitch": 0.4, "wrist_roll": 0.8}  # fmt: skip
BANDWIDTH = 2.0  # rad/s, of the joint controller


def path_ends(model: engine.Model, servicer: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where the slew starts and ends: q of the two configurations, base at the origin."""
    start, end = model.neutral(), model.neutral()
    for joint in model.joints:
        if joint.mimic or joint.type.nq != 1:
            continue
        if servicer:
            low, high = STOWED.get(joint.name, 0.0), EXTENDED.get(joint.name, 0.0)
        else:  # the middle half of the joint's range, one radian or 0.1 m at most
            reach = 0.05 if joint.kind == "prismatic" else 0.5
            lower, upper = max(joint.limits.lower, -1e3), min(joint.limits.upper, 1e3)
            middle = (lower + upper) / 2
            low, high = middle - min(reach, (upper - lower) / 4), middle + min(reach, (upper - lower) / 4)
        start[model.q_slice(joint.name)], end[model.q_slice(joint.name)] = low, high
    return start, end


def slew(model: engine.Model, start: np.ndarray, end: np.ndarray, duration: float):
    """Computed torque along a minimum-jerk path, base free: ``controller(t, q, v)``.

    With M = [[Hb, Hbm], [·, Hm]] and the bias [b0; bm], a base that nothing pushes moves with V̇0 = −Hb⁻¹ (Hbm q̈ + b0), so the joints
    need τ = Hbmᵀ V̇0 + Hm q̈ + bm. These lines are traced and compiled into the step, the engine's algorithms with them.
    """
    d = model.difference(start, end)[6:]

    def controller(t, q, v):
        s = ops.minimum(t / duration, 1.0)
        along = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)                          # from 0 to 1
        rate = 30.0 * s**2 * (1.0 - s) ** 2 / duration
        change = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
        behind = along * d - model.difference(start, q)[6:]
        qdd = change * d + 2.0 * BANDWIDTH * (rate * d - v[6:]) + BANDWIDTH**2 * behind
        M = engine.dynamics.crba(model, q)
        b = engine.dynamics.bias(model, q, v, gravity=(0, 0, 0))
        Vdot0 = -ops.solve(M[:6, :6], M[:6, 6:] @ qdd + b[:6])
        return np.concatenate([np.zeros(6), M[6:, :6] @ Vdot0 + M[6:, 6:] @ qdd + b[6:]])

    return controller


def work(trajectory: engine.Trajectory) -> float:
    """∫ τ·v dt by Simpson's rule."""
    power = np.vecdot(trajectory.tau, trajectory.v)[: (len(trajectory) - 1) // 2 * 2 + 1]
    h = trajectory.t[1] - trajectory.t[0]
    return float(h / 3 * (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum() + power[-1]))


def report(trajectory: engine.Trajectory, seconds: float, steps: int) -> None:
    model, q, v = trajectory.model, trajectory.q, trajectory.v
    angle = np.degrees(np.linalg.norm(quaternion.log(quaternion.product(quaternion.conjugate(q[0, :4]), q[-1, :4]))))
    moved = np.linalg.norm(q[-1, 4:7] - q[0, 4:7] - v[0, 3:6] * trajectory.t[-1])
    P = trajectory.momentum()
    K, U = trajectory.energy()
    E = K + U
    done = work(trajectory)
    scale = max(abs(done), K.max())
    print(f"{model.name}: {len(model.links)} links, {sum(link.mass for link in model.links):.1f} kg, nv = {model.nv}")
    print(f"simulated {trajectory.t[-1]:g} s in {seconds:.2f} s: {steps / seconds:,.0f} steps/s")
    print(f"base       turned by {angle:.3f} deg, moved by {1e3 * moved:.2f} mm against its drift;"
          f" fastest {np.degrees(np.linalg.norm(v[:, :3], axis=1).max()):.4f} deg/s")  # fmt: skip
    joints = [j for j in model.joints if j.type.nv == 1 and not j.mimic]
    for k, j in enumerate(joints):
        peak = np.abs(trajectory.tau[:, model.v_slice(j.name)]).max()
        print(f"{'' if k else 'torques':10} {j.name:24} peak {peak:9.4f} {'N' if j.kind == 'prismatic' else 'N·m'}")
    for name, part, unit in (("angular", P[:, :3], "N·m·s"), ("linear", P[:, 3:], "N·s")):
        size, drift = np.linalg.norm(part[0]), np.linalg.norm(part - part[0], axis=1).max()
        print(f"momentum   {name:8} |P| = {size:.6g} {unit}, relative drift {drift / size:.1e}")
    print(f"energy     change {E[-1] - E[0]:+.6e} J, work of the motors {done:+.6e} J, balance to {abs(E[-1] - E[0] - done) / scale:.1e}")


def plot(trajectory: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model, t = trajectory.model, trajectory.t
    joints = [j for j in model.joints if j.type.nv == 1 and not j.mimic]
    P = trajectory.momentum()
    attitude = np.degrees(quaternion.log(quaternion.product(quaternion.conjugate(trajectory.q[0, :4]), trajectory.q[:, :4])))
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    for j in joints:
        a.plot(t, trajectory.q[:, model.q_slice(j.name)], label=j.name)
        b.plot(t, trajectory.tau[:, model.v_slice(j.name)])
    if len(joints) <= 12:
        a.legend(fontsize=8, ncols=2)
    for k, name in enumerate("xyz"):
        c.plot(t, attitude[:, k], label=name)
    c.legend(title="about")
    floor = 1e-18
    for part, name in ((P[:, :3], "angular"), (P[:, 3:], "linear")):
        d.semilogy(t, np.maximum(np.linalg.norm(part - part[0], axis=1) / np.linalg.norm(part[0]), floor), label=name)
    d.legend()
    titles = "joints, rad (m)", "motor torques, N·m (N)", "base attitude, deg", "relative drift of momentum"
    for axis, title in zip((a, b, c, d), titles, strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    figure.suptitle(f"{model.name}: arm slew in free flight")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urdf", type=Path, default=SERVICER, help="robot to fly (default: the servicer)")
    parser.add_argument("--duration", type=float, default=20.0, help="seconds (default: 20)")
    parser.add_argument("--dt", type=float, default=1e-3, help="step, seconds (default: 0.001)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model = engine.load_urdf(options.urdf, floating_base=True)
    start, end = path_ends(model, servicer=options.urdf == SERVICER)
    drift = np.concatenate([np.radians([0.02, -0.05, 0.03]), [0.002, 0.001, -0.001]])     # rad/s and m/s: it was let go of like this
    controller = slew(model, start, end, 0.75 * options.duration)
    simulator = engine.Simulator(model, dt=options.dt, gravity=(0, 0, 0), controller=controller)
    v0 = np.concatenate([drift, np.zeros(model.nv - 6)])
    begun = time.perf_counter()
    simulator.run(start, v0, options.dt)
    print(f"compiled in {time.perf_counter() - begun:.2f} s")
    begun = time.perf_counter()
    trajectory = simulator.run(start, v0, options.duration, progress=True)
    report(trajectory, time.perf_counter() - begun, round(options.duration / options.dt))
    data = trajectory.save(options.out / f"{model.name}.h5", overwrite=True)
    plot(trajectory, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    film = trajectory[trajectory.t < 0.83 * options.duration]                  # then all is at rest
    ghost = engine.viewer.Actor(model, q=start, color=(0.6, 0.8, 1.0, 0.22), name="at first")
    show.show(options, [film, ghost], speed=options.duration / 27.0, view=(-0.9, 0.35), bars=["momentum"],
              shown=engine.Shown(center_path=True), story=[
                  (0.0, "The arm unfolds by torques between links: nothing holds the base"),
                  (0.4, "What the arm turns one way, the base turns the other"),
                  (0.78, "At rest again, and the base lies otherwise than at first (pale)")])  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:  # what the engine says about bad input is a sentence; a traceback adds nothing
        sys.exit(f"error: {error}")
