"""A servicer closes its fingers on the handle of a tumbling target, grips it, and brings both to rest.

    python demos/grasp.py
    python demos/grasp.py --no-wheels                  # the spin that no arm can take away stays
    python demos/grasp.py --video grasp.mp4            # or --view, in a window: with the forces of the fingers

Two free bodies, held by nothing. The arm follows the handle, two fingers close on it with friction, and when both push against something
a grip closes. The joints brake: the momentum of both stays what it was, so they turn on as one, until reaction wheels take that in. What
drifts drifts on: wheels push nothing. Writes the trajectory (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import show

import engine
from engine import dynamics, ops
from engine.components.actuators import ReactionWheels
from engine.components.controllers import blend, generalized_jacobian_control
from engine.spatial import inertia, quaternion, se3

BUS, GRIPPER, HANDLE = "servicer/bus", "servicer/gripper", "target/handle"
START = [0.3, -0.2, 0.2, 1.4, 0.1, 0.6, 0.2]                                   # rad: the arm
GAP = np.array([0.2, 0.3, -0.3, 0.2, -0.25, 0.5])                              # rad, m: to the handle from the gripper, at first
SPIN, DRIFT = np.radians([-2.6, -1.3, 0.6]), np.array([0.001, 0.023, 0.009])   # rad/s, m/s: of the target
MASS, SIZE, OFFSET = 180.0, (0.8, 0.8, 0.9), np.array([0.05, 0.05, 0.65])      # kg, m; m: from its handle to its centre
FINGER = inertia.box(0.5, (0.03, 0.05, 0.13))[:3, :3]
TUMBLER = inertia.transformed(se3.pose(np.eye(3), OFFSET), inertia.box(MASS, SIZE))
BAR, OPEN, PRESSED = 0.012, 0.07, 0.002                                        # m: handle's radius; fingers at first, and where they press
MEET, CLOSE, GRIP, WHEELS, END = 14.0, 2.5, 17.5, 28.0, 50.0                   # s: at the handle, fingers' time, grip, wheels, end
SPRING, DAMPING, HOLDS = 3000.0, 150.0, 20.0                                   # N/m, N·s/m: of a finger; N: it has something
BANDWIDTH, BRAKE, WHEEL = 1.5, 0.7, 600.0                                      # rad/s, 1/s, N·m·s/rad
RUBBER, STEEL = engine.ContactMaterial(5e4, 1.0, 0.8), engine.ContactMaterial(1e6, 1.0, 0.6)
WHITE, GREY, DARK, CELLS, FOIL = (0.80, 0.80, 0.79), (0.66, 0.68, 0.71), (0.15, 0.16, 0.18), (0.05, 0.10, 0.33), (0.70, 0.40, 0.15)


def servicer(fingers: str) -> dict[str, engine.Model | engine.Mounted]:
    """The example robot, whose gripper does not move, without its fingers; and on it a hand with fingers on joints of that kind."""
    graph, hand = engine.load_urdf(engine.example("free_flyer")).graph.copy(), engine.Builder("hand")
    link = graph.nodes["gripper"]["link"]
    graph.nodes["gripper"]["link"] = replace(link, visuals=[g for g in link.visuals if "white" in g.uri], collisions=())
    hand.add_link("palm", visuals=[show.shape("cylinder", (0.062, 0.03), GREY, at=(0.0, 0.0, -0.205)),
                                   show.shape("box", (0.24, 0.05, 0.02), DARK, at=(0.0, 0.0, -0.1))])  # fmt: skip
    for name, side in (("left", 1.0), ("right", -1.0)):
        pad = show.shape("box", (0.012, 0.05, 0.06), DARK, at=(0.006 * side, 0.0, 0.0))
        looks = [pad, show.shape("box", (0.02, 0.04, 0.13), GREY, at=(0.022 * side, 0.0, -0.03)),
                 show.shape("box", (0.05, 0.06, 0.03), DARK, at=(0.03 * side, 0.0, -0.085))]  # fmt: skip
        hand.add_link(name, inertia=inertia.from_mass(0.5, [0.02 * side, 0.0, -0.03], FINGER), visuals=looks, collisions=[pad])
        moves = {"limits": engine.Limits(0.0, 0.08, effort=80.0), "damping": DAMPING} if fingers == "prismatic" else {}
        hand.add_joint(f"{name}_finger", fingers, "palm", name, axis=[side, 0.0, 0.0], **moves)
    return {"servicer": engine.Model.from_graph(graph, floating_base=True), "hand": engine.Mounted(hand.model(), on=GRIPPER)}


def target(floating_base: bool) -> engine.Model:
    """A satellite in the frame of its handle, a bar along y."""
    x, y, z = SIZE
    bar = show.shape("capsule", (BAR, 0.2), GREY, along="y")
    looks = [bar, show.shape("box", SIZE, WHITE, at=OFFSET), show.shape("box", (0.08, 0.3, 0.02), DARK, at=(0.0, 0.0, OFFSET[2] - z / 2)),
             *(show.shape("box", size, FOIL, at=OFFSET) for size in ((0.8 * x, 1.01 * y, 0.8 * z), (1.01 * x, 0.8 * y, 0.8 * z))),
             show.shape("cylinder", (0.02, 2.8), GREY, at=OFFSET, along="y"),
             *(show.shape("cylinder", (0.01, 0.2), GREY, at=(0.0, side, 0.1)) for side in (-0.1, 0.1)),
             *(show.shape("box", (0.6, 0.42, 0.015), CELLS, at=OFFSET + [0.0, y, 0.0]) for y in (-1.22, -0.76, 0.76, 1.22))]  # fmt: skip
    body = engine.Builder("target")
    body.add_link("handle", inertia=TUMBLER, visuals=looks, collisions=[bar])
    return body.model(floating_base)


def scene() -> tuple[engine.Model, np.ndarray, np.ndarray]:
    """Both as free bodies, and where they are at first: q and v."""
    model = engine.combine(**servicer("prismatic"), target=target(floating_base=True))
    q, v = model.neutral(), np.zeros(model.nv)
    q[7:14], q[14:16] = START, OPEN
    T = dynamics.forward_kinematics(model, q)[model.link_index(GRIPPER)] @ se3.exp(GAP)
    q[16:20], q[20:] = quaternion.from_matrix(T[:3, :3]), T[:3, 3]
    v[15:18], v[18:] = T[:3, :3].T @ SPIN, T[:3, :3].T @ (DRIFT - np.cross(SPIN, T[:3, :3] @ OFFSET))
    return model, q, v


def approach(t, T, V):
    """Where the gripper shall be, beside a handle at T with the twist V: the gap closes along one screw with the least jerk."""
    A = ops.solve(TUMBLER, se3.ad(V).T @ (TUMBLER @ V))                        # of a body that nothing pushes
    s, rate, change = blend(t, MEET)
    d, ddot, dddot = (s - 1.0) * GAP, rate * GAP, change * GAP
    X = se3.inv(se3.exp(d))
    U = se3.Ad(X) @ V
    return T @ se3.exp(d), U + ddot, se3.Ad(X) @ A + se3.ad(U) @ ddot + dddot


def controller_of(wheels: bool):
    """Commands {tau, grip, wheels}: follow the handle, close, grip, brake, and let the wheels take what is left."""
    alone = engine.combine(**servicer("fixed"))
    pair = engine.combine(**servicer("fixed"), target=engine.Mounted(target(floating_base=False), on=GRIPPER))

    def follow(t, q, v, pose, jacobian, T, V):
        """Torques of the arm that take the gripper along its approach, the base as it likes."""
        control = generalized_jacobian_control(alone, GRIPPER, lambda t: approach(t, T, V), BANDWIDTH)
        return control(t, q, v, pose, lambda link: jacobian(link)[:, :13], (0, 0, 0), alone.armature)[6:]

    def brake(t, q, v, moment):
        """Torques of the arm, the target in its grip, by which the joints' rates die out, whatever the wheels' moment on the bus."""
        wrenches = np.stack([np.concatenate([moment if link.name == BUS else np.zeros(3), np.zeros(3)]) for link in pair.links])
        return dynamics.floating_inverse_dynamics(pair, q, v, -BRAKE * blend(t, 2.0, GRIP)[0] * v[6:], (0, 0, 0), wrenches=wrenches)[0]

    def controller(t, q, v, pose, jacobian, states):
        s, rate, _ = blend(t, CLOSE, MEET)
        push = SPRING * (OPEN + s * (PRESSED - OPEN) - q[14:16]) + DAMPING * rate * (PRESSED - OPEN)
        holds = ops.logical_and(t >= GRIP, ops.maximum(*push) < -HOLDS)
        torque = -WHEEL * blend(t, 2.0, WHEELS)[0] * v[:3] if wheels else np.zeros(3)
        moment = torque - ops.cross(v[:3], states["wheels"]) if wheels else torque         # what the bus feels of them
        arm = ops.where(holds, brake(t, q[:14], v[:13], moment), follow(t, q[:14], v[:13], pose, jacobian, pose(HANDLE), v[15:]))
        commands = {"tau": np.concatenate([np.zeros(6), arm, push, np.zeros(6)]), "grip": ops.where(holds, 1.0, 0.0)}
        return {**commands, "wheels": torque} if wheels else commands

    return controller


def seen(motion: engine.Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The handle's distance from the gripper's frame (T), m, its twist beside it (T, 6), and what each finger presses with along
    its own way (T, 2), N: friction across it is what was left when the grip closed, which holds all else."""
    a, b = motion.model.link_index(GRIPPER), motion.model.link_index(HANDLE)
    T, V = motion.poses(), motion.robot.twists(motion.q, motion.v)[..., None]
    beside = (V[:, b] - se3.Ad(se3.inv(T[:, b]) @ T[:, a]) @ V[:, a])[..., 0]
    force = motion("contacts.force").reshape(len(motion), 2, -1, 3).sum(axis=2)                # points of a pair are together
    return np.linalg.norm(T[:, b, :3, 3] - T[:, a, :3, 3], axis=1), beside, np.abs(np.einsum("tfi,ti->tf", force, T[:, a, :3, 0]))


def report(motion: engine.Trajectory, wheels: bool) -> None:
    """What was met, held, braked and taken in; and what of the momentum."""
    t, (gap, beside, force), closed = motion.t, seen(motion), motion("grip.closed") > 0.5
    if not closed.any():
        sys.exit("error: the grip does not close; expected fingers that hold the handle: a smaller --dt")
    k, last, P = int(closed.argmax()), int((t < WHEELS).sum()) - 1, motion.momentum()
    L = np.linalg.norm(P[:, :3] - np.cross(motion.robot.center_of_mass(motion.q), P[:, 3:]), axis=1)
    rates, change = np.abs(motion.v[:, 6:13]).max(axis=1), np.abs(P - P[0]).max(axis=0)
    spin, speed = np.degrees(np.linalg.norm(motion.v[:, :3], axis=1)), np.linalg.norm(P[:, 3:], axis=1) / dynamics.total_mass(motion.model)
    print(f"gripper    {1e3 * gap[0]:.0f} mm from the handle at first; after {MEET:g} s within {1e3 * gap[t >= MEET].max():.1e} mm of it")
    print(f"fingers    touch after {t[force.any(axis=1).argmax()]:.2f} s, and press with {force[k, 0]:.2f} N and {force[k, 1]:.2f} N")
    print(f"grip       closes after {t[k]:.2f} s: the handle moves in it by at most {np.abs(beside[k + 1 :]).max():.0e} rad/s, m/s")
    print(f"brake      from {rates[k]:.3f} rad/s to {rates[last]:.0e} rad/s, by at most {np.abs(motion.tau[k:, 6:13]).max():.1f} N·m")
    print(f"momentum   {L[0]:.9f} N·m·s about the centre of mass, {L[last]:.9f} N·m·s with the joints at rest;"
          f" the whole's changes by at most {change[:3].max():.0e} N·m·s, {change[3:].max():.0e} N·s")  # fmt: skip
    held = f"; wheels hold {np.linalg.norm(motion('wheels.momentum')[-1]):.3f} N·m·s" if wheels else ""
    print(f"spin       of both as one {spin[last]:.3f} deg/s, {spin[-1]:.4f} deg/s at the end{held}")
    print(f"drift      {1e3 * speed[0]:.3f} mm/s of the centre of mass, {1e3 * speed[-1]:.3f} mm/s at the end")


def plot(motion: engine.Trajectory, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, (gap, beside, force) = motion.t, seen(motion)
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    a.semilogy(t, np.maximum(gap, 1e-18), label="distance, m")
    a.semilogy(t, np.maximum(np.linalg.norm(beside[:, :3], axis=1), 1e-18), lw=1, label="turns, rad/s")
    b.plot(t, force, label=("left", "right"))
    c.plot(t, motion.tau[:, 6:13])
    d.plot(t, np.degrees(motion.v[:, :3]), label=("x", "y", "z"))
    for axis, title in ((a, "handle from gripper"), (b, "fingers on the handle, N"), (c, "arm's torques, N·m"), (d, "bus turns, deg/s")):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    for axis in (a, b, d):
        axis.legend()
    figure.suptitle("grasp of a tumbling target")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", action=argparse.BooleanOptionalAction, default=True, help="whether wheels take the spin in")
    parser.add_argument("--dt", type=float, default=2e-3, help="step, seconds (default: 0.002)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the trajectory and the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model, q0, v0 = scene()
    contacts = engine.Contacts(pairs=[("hand/left", HANDLE), ("hand/right", HANDLE)], material=RUBBER, materials={HANDLE: STEEL})
    wheels = [ReactionWheels(BUS, torque=4.0, momentum=30.0)] if options.wheels else []
    simulator = engine.Simulator(model, dt=options.dt, integrator="rkmk4", gravity=(0, 0, 0), controller=controller_of(options.wheels),
                                 actuators=wheels, contacts=contacts, constraints=[engine.Grip(GRIPPER, HANDLE)])  # fmt: skip
    begun = time.perf_counter()
    motion = simulator.run(q0, v0, END, record_every=10, progress=True)
    print(f"simulated {END:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(motion, options.wheels)
    data = motion.save(options.out / "grasp.h5", overwrite=True)
    plot(motion, data.with_suffix(".png"))
    print(f"wrote      {data} and {data.with_suffix('.png')}")
    near = engine.Follow(GRIPPER, (-1.75, 0.3), radius=0.95)
    end = "Wheels take the spin in; what drifts drifts on" if options.wheels else "No wheels: they turn on as one"
    show.show(options, motion, speed=2.0, view=(-1.6, 0.35), shown=engine.Shown(contacts=True),
              shots=[(0.0, (-1.6, 0.35), "A tumbling target: the arm goes after its handle"),
                     (MEET - 2.0, near, "Two fingers close on it, with friction"),
                     (GRIP + 3.0, near, "A grip holds; the joints brake, and both turn on as one"),
                     engine.Shot(WHEELS, (-1.6, 0.35), end, speed=1.5)])  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
