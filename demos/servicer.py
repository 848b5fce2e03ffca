"""A servicer with two arms catches a tumbling satellite by two handles, its base held by nothing.

    python demos/servicer.py
    python demos/servicer.py --video servicer.mp4    # or --view, in a window

Two free bodies. Both grippers follow their handles, by the generalized Jacobian of both arms together: the base gives way as it will, and
they meet the handles all the same, in place and in speed. Two grips close, the joints brake, and what the target brought of momentum is now
of both: they turn on as one. The joints have no dry friction here. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show

import engine
from engine import dynamics, ops
from engine.components.controllers import blend, damped_inverse, task
from engine.spatial import inertia, quaternion, se3

HANDS = {"left": 1.0, "right": -1.0}                                           # and their sides
MEET, GRIP, END = 16.0, 17.0, 40.0                                             # s: at the handles, grips close, end
SPIN, DRIFT = np.radians([0.7, -0.5, 0.4]), np.array([-0.004, 0.003, 0.002])   # rad/s, m/s: of the target
MASS, SIZE = 280.0, (0.9, 1.1, 0.9)                                            # kg, m: of the target
PLACE, SIDE = (3.30, 0.0, 0.45), 0.45                                          # m: the target's centre at first, its handles beside it
GAP = np.array([0.15, 0.25, 0.3, 0.12, 0.1, -0.45])                            # rad, m: to the left gripper from its handle, at first
GAPS = {"left": GAP, "right": GAP * [-1, 1, -1, 1, -1, 1]}                     # which is mirrored for the right one
BANDWIDTH, IDLE = 1.2, 0.5                                                     # rad/s, 1/s: of the arms
BRAKE = np.tile([200.0, 200.0, 100.0, 200.0, 60.0, 60.0, 60.0], 2)             # N·m·s/rad: of their joints, when the grips have closed
REGULAR = 1e-6                                                                 # of damped least squares
WHITE, GREY, CELLS, FOIL = (0.88, 0.88, 0.86), (0.66, 0.68, 0.71), (0.05, 0.10, 0.33), (0.80, 0.55, 0.18)
AHEAD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])         # takes z to x: a gripper that reaches forward


def handle(name: str) -> np.ndarray:
    """A handle's frame on the target (4, 4), seen from its centre."""
    return se3.pose(AHEAD, np.array([-SIZE[0] / 2 - 0.12, HANDS[name] * SIDE, 0.0]))


def target() -> engine.Model:
    """A satellite with two handles on its side of -x, and a link for each of them."""
    x, y, z = SIZE
    looks = [show.shape("box", SIZE, FOIL), show.shape("box", (1.01 * x, 0.8 * y, 0.8 * z), WHITE),
             show.shape("cylinder", (0.02, 3.4), GREY, along="y"),
             *(show.shape("box", (0.5, 0.5, 0.02), CELLS, at=(0.0, side, 0.0)) for side in (-1.45, -0.9, 0.9, 1.45))]  # fmt: skip
    bar = [show.shape("capsule", (0.013, 0.16), GREY, along="y"),
           *(show.shape("cylinder", (0.011, 0.12), GREY, at=(0.0, side, 0.06)) for side in (-0.08, 0.08))]  # fmt: skip
    body = engine.Builder("target")
    body.add_link("body", inertia=inertia.box(MASS, SIZE), visuals=looks)
    for name in HANDS:
        body.add_link(name, visuals=bar)
        body.add_joint(f"{name}_mount", "fixed", "body", name, placement=handle(name))
    return body.model(floating_base=True)


def scene() -> tuple[engine.Model, engine.Model, np.ndarray, np.ndarray]:
    """The servicer, and with it the target as a free body; where both are at first: q and v."""
    alone = engine.load_urdf(engine.example("dual_arm_servicer"), floating_base=True)
    place = se3.pose(np.eye(3), np.array(PLACE))
    goals = {f"{name}_gripper": place @ handle(name) @ se3.exp(GAPS[name]) for name in HANDS}
    guess = alone.neutral()
    guess[7:] = np.tile([0.0, 1.0, 0.0, 0.9, 0.0, -0.6, 0.0], 2)
    found = engine.inverse_kinematics(alone, goals, q0=guess, base="fixed")
    if not found.converged:
        sys.exit(f"error: the arms do not reach where they begin: {found.reason}")
    model = engine.combine(servicer=alone, target=target())
    q, v = np.concatenate([found.q, [1.0, 0.0, 0.0, 0.0], PLACE]), np.zeros(model.nv)
    v[20:] = np.concatenate([SPIN, DRIFT])
    return alone, model, q, v


def approach(t, name, T, V):
    """Where a gripper shall be, beside its handle at T with the twist V: the gap closes along one screw with the least jerk."""
    G, U = inertia.box(MASS, SIZE), se3.Ad(handle(name)) @ V                   # the centre's twist
    A = se3.Ad(se3.inv(handle(name))) @ ops.solve(G, se3.ad(U).T @ (G @ U))    # of a body that nothing pushes
    s, rate, change = blend(t, MEET)
    d, ddot, dddot = (1.0 - s) * GAPS[name], -rate * GAPS[name], -change * GAPS[name]
    X = se3.inv(se3.exp(d))
    U = se3.Ad(X) @ V + ddot
    return T @ se3.exp(d), U, se3.Ad(X) @ A + se3.ad(U) @ ddot + dddot


def controller_of(alone: engine.Model):
    """Commands {tau, left, right}: follow both handles, close both grips, brake; the motors make up for the joints' damping."""

    def follow(t, q, v, pose, jacobian):
        """Accelerations of the joints that take both grippers along their approaches, the base as it likes; idle motion dies out."""
        q0, v0 = q[:21], v[:20]                                                # the servicer's
        M, b = dynamics.crba(alone, q0), dynamics.bias(alone, q0, v0, (0, 0, 0))
        falls, rows, rates = ops.solve(M[:6, :6], b[:6]), [], []
        for name in HANDS:
            link, bar = f"{name}_gripper", f"target/{name}"
            J, there = jacobian(f"servicer/{link}")[:, :20], jacobian(bar) @ v
            wanted = task(lambda t: approach(t, name, pose(bar), there), t, pose(f"servicer/{link}"), J @ v0, BANDWIDTH, 1.0)
            drift = dynamics.jacobian_dot(alone, q0, v0, link) @ v0 - J[:, :6] @ falls
            rows.append(dynamics.generalized_jacobian(alone, q0, link))
            rates.append(wanted - drift)
        J, idle = np.concatenate(rows), -IDLE * v0[6:]
        return idle + damped_inverse(J, np.concatenate(rates) - J @ idle, REGULAR)

    def controller(t, q, v, pose, jacobian):
        q0, v0 = q[:21], v[:20]
        tau = dynamics.floating_inverse_dynamics(alone, q0, v0, follow(t, q, v, pose, jacobian), (0, 0, 0))[0]
        tau = ops.where(t < GRIP, tau + (dynamics.damping_matrix(alone) @ v0)[6:], -BRAKE * blend(t, 2.0, GRIP)[0] * v0[6:])
        closed = ops.where(t < GRIP, 0.0, 1.0)
        return {"tau": np.concatenate([np.zeros(6), tau, np.zeros(6)]), **dict.fromkeys(HANDS, closed)}

    return controller


def seen(motion: engine.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """The grippers' gaps to their handles (T, 2, 6), rad and m; how the bus is turned and moved (T, 6), rad and m."""
    gaps = [se3.log(se3.inv(motion.pose(f"servicer/{name}_gripper")) @ motion.pose(f"target/{name}")) for name in HANDS]
    return np.stack(gaps, axis=1), np.concatenate([quaternion.log(motion.q[:, :4]), motion.q[:, 4:7]], axis=1)


def report(motion: engine.Trajectory) -> None:
    """What was met, how the bus gave way, and what became of the momentum."""
    t, (gaps, bus), P = motion.t, seen(motion), motion.momentum()
    meets, held = (t >= MEET) & (t < GRIP), t >= GRIP + 1.0
    apart, angle = (np.linalg.norm(gaps[..., part], axis=-1) for part in (slice(3, 6), slice(3)))
    turned, rates = np.degrees(np.linalg.norm(bus[:, :3], axis=1)), np.abs(motion.v[:, 6:20]).max(axis=1)
    k, spin = int((t < GRIP).sum()), np.degrees(np.linalg.norm(motion.v[:, [0, 1, 2, 20, 21, 22]].reshape(-1, 2, 3), axis=2))
    print(f"grippers   {1e3 * apart[0].max():.0f} mm and {np.degrees(angle[0].max()):.0f} deg from the handles at first; "
          f"after {MEET:g} s within {1e3 * apart[meets].max():.1e} mm and {np.degrees(angle[meets].max()):.1e} deg")  # fmt: skip
    print(f"grips      hold within {1e3 * np.ptp(apart[held], axis=0).max():.1e} mm")
    print(f"bus        turned by {turned[k]:.2f} deg and moved by {1e3 * np.linalg.norm(bus[k, 3:]):.0f} mm until then, held by nothing")
    print(f"brake      from {rates[k]:.3f} rad/s to {rates[-1]:.0e} rad/s")
    print(f"spin       of the bus {spin[0, 0]:.3f} deg/s and of the target {spin[0, 1]:.3f} deg/s at first, "
          f"{spin[-1, 0]:.3f} and {spin[-1, 1]:.3f} deg/s at the end")  # fmt: skip
    change = np.abs(P - P[0]).max(axis=0)
    print(f"momentum   of both changes by at most {change[:3].max():.0e} N·m·s, {change[3:].max():.0e} N·s, "
          f"of {np.linalg.norm(P[0, :3]):.2f} N·m·s, {np.linalg.norm(P[0, 3:]):.2f} N·s")  # fmt: skip


def plot(motion: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, (gaps, bus) = motion.t, seen(motion)
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    a.semilogy(t, np.maximum(np.linalg.norm(gaps[..., 3:], axis=-1), 1e-12), label=tuple(HANDS))
    b.plot(t, np.degrees(motion.v[:, :3]), label=("bus, x", "y", "z"))
    b.plot(t, np.degrees(motion.v[:, 20:23]), "--", label=("target, x", "y", "z"))
    c.plot(t, motion.tau[:, 6:20])
    d.plot(t, np.degrees(bus[:, :3]), label=("x, deg", "y", "z"))
    d.plot(t, 1e3 * bus[:, 3:], "--", label=("x, mm", "y", "z"))
    for axis, title in ((a, "handles from grippers, m"), (b, "spin, deg/s"), (c, "joint torques, N·m"), (d, "bus turned and moved")):
        axis.set_title(title)
        axis.axvline(GRIP, color="0.6", lw=0.8)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    for axis in (a, b, d):
        axis.legend()
    figure.suptitle("two arms catch a tumbling satellite")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dt", type=float, default=5e-3, help="step, seconds (default: 0.005)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    alone, model, q0, v0 = scene()
    grips = [engine.Grip(f"servicer/{name}_gripper", f"target/{name}", name=name) for name in HANDS]
    smooth = {f"friction.{joint.name}": 0.0 for joint in model.joints if joint.friction}         # slow arms would stick and slip
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), controller=controller_of(alone),
                                 constraints=grips, parameters=smooth)  # fmt: skip
    begun = time.perf_counter()
    motion = simulator.run(q0, v0, END, record_every=10, progress=True)
    print(f"simulated {END:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion)
    data = motion.save(options.out / "servicer.h5", overwrite=True)
    plot(motion, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    look = (-0.9, 0.35)
    show.show(options, motion, speed=1.0, view=look, bars=["momentum"], shots=[
        engine.Shot(0.0, look, "Two arms go after two handles of a tumbling satellite", speed=2.0, ease=0.0),
        engine.Shot(0.2 * END, engine.Follow("target/body", (-1.9, 0.5), radius=1.4, turns=-0.04),
                    "Nothing holds the base: it gives way as momentum asks"),
        engine.Shot(GRIP - 1.0, engine.Follow("target/right", (-2.2, 0.6), radius=1.0, turns=-0.05), "Two grips close"),
        engine.Shot(GRIP + 0.1 * END, look, "The joints brake: both turn on as one", speed=4.0)])  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
