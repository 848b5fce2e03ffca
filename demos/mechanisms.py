"""Mechanisms with closed loops: a four-bar linkage, Andrews' squeezer and Bricard's six-bar.

    python demos/mechanisms.py                        # all three: figures, numbers and plots
    python demos/mechanisms.py bricard --video bricard.mp4       # one of them as a film; or --view, in a window

A loop is closed by an exact constraint on a tree: engine.Hinge("rod", "crank", …). Its force acts in every evaluation of the
accelerations, so that the integrator keeps its order, and a projection after each step keeps the loop closed to rounding. The four-bar
passes postures in which all its bars are in line; Bricard's six hinges have as many conditions as it has freedoms, and it moves
nevertheless. Writes a plot of each mechanism's motion (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import show

import engine
from engine import ops
from engine.spatial import inertia, se3


class Mechanism(NamedTuple):
    """A simulator with a start, how long it runs, and the points (link, place) whose paths are drawn, in two axes of the world."""

    simulator: engine.Simulator
    q: np.ndarray
    v: np.ndarray
    duration: float
    bars: list[tuple[str, tuple, tuple]]
    axes: tuple[int, int]


def at(*p):
    return se3.pose(np.eye(3), np.array(p, dtype=float))


def along(d, mass=1.0):
    """The inertia of a thin bar from its link's origin to d, and how it looks."""
    d = np.array(d, dtype=float)
    length = np.linalg.norm(d)
    G = inertia.from_mass(mass, 0.5 * d, mass / 12 * (length**2 * np.eye(3) - np.outer(d, d)))
    z = d / length
    x = np.cross([0.36, 0.48, 0.8], z)
    x /= np.linalg.norm(x)
    T = se3.pose(np.column_stack([x, np.cross(z, x), z]), 0.5 * d)
    return {"inertia": G, "visuals": [engine.Geometry("capsule", (0.025 * length, length), placement=T)]}


def held(d):
    """How the bar looks, dark, that the ground is among others."""
    return [replace(look, material=engine.Material("ground", (0.10, 0.11, 0.13, 1.0))) for look in along(d)["visuals"]]


def four_bar() -> Mechanism:
    """Three bars of 1 m and 1 kg on two pivots a metre apart; the loop is the second crank's pin."""
    builder = engine.Builder("four-bar")
    builder.add_link("ground", visuals=held((1, 0, 0)))
    for name, x in (("left", 0.0), ("right", 1.0)):
        builder.add_link(name, **along((1, 0, 0)))
        builder.add_joint(name, "revolute", "ground", name, at(x, 0, 0), axis=(0, -1, 0))
    builder.add_link("coupler", **along((1, 0, 0)))
    builder.add_joint("pin", "revolute", "left", "coupler", at(1, 0, 0), axis=(0, -1, 0))
    loop = engine.Hinge("coupler", "right", (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 1, 0))
    model = builder.model()
    q, v = (np.where(np.array(model.labels("v")) == "pin", -x, x) for x in (0.5 * np.pi, -1.0))
    bars = [(name, (0, 0, 0), (1, 0, 0)) for name in ("left", "coupler", "right")]
    return Mechanism(engine.Simulator(model, constraints=[loop]), q, v, 3.0, bars, (0, 2))


def bricard() -> Mechanism:
    """Five bars and the ground along the edges of a cube, each hinge's axis normal to the bars that it joins."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    builder, above, places = engine.Builder("bricard"), "ground", np.diff(corners, axis=0, prepend=0.0)
    builder.add_link("ground", visuals=held(corners[5]))
    for k in range(5):
        builder.add_link(f"bar{k}", **along(corners[k + 1] - corners[k]))
        builder.add_joint(f"hinge{k}", "revolute", above, f"bar{k}", at(*places[k]), axes[k])
        above = f"bar{k}"
    loop = engine.Hinge("bar4", "ground", places[5], corners[5], axes[5], axes[5])
    simulator = engine.Simulator(builder.model(), gravity=(0, -9.81, 0), constraints=[loop])
    bars = [(f"bar{k}", (0, 0, 0), tuple(places[k + 1])) for k in range(5)]
    return Mechanism(simulator, np.zeros(5), np.zeros(5), 6.0, bars, (0, 1))


def squeezer() -> Mechanism:
    """Andrews' squeezer: seven bodies in a plane, three loops, a motor and a spring (data: the test set of initial value problems)."""
    d, e, u, zf, zt, rr, ss = 0.028, 0.02, 0.04, 0.02, 0.04, 0.007, 0.035
    o, a, b, c = (0.0, 0.0), (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    sc, sd, c0, lo, torque = 0.018, 0.02, 4530.0, 0.07785, 0.033
    #: joint and body, above, where, centre of mass, mass, inertia, end, angle at the start
    parts = (
        ("beta", "ground", o, (0.00092, 0), 0.04325, 2.194e-6, (rr, 0), -0.0617138900142764),
        ("theta", "beta", (rr, 0), (-0.0115, 0), 0.00365, 4.410e-7, (-d, 0), 0.0),
        ("gamma", "ground", b, (0.01043, -0.01874), 0.02373, 5.255e-6, (0, -ss), 0.455279819163070),
        ("delta", "ground", a, (0.02308, 0.00916), 0.07050, 1.169e-5, (zt, 0), 0.487364979543843),
        ("phi", "delta", (zt, 0), (0, 0.01421 - e), 0.00706, 5.667e-7, (0, -e), 0.222668390165886),
        ("epsilon", "ground", a, (0.01228, 0.00449), 0.05498, 1.912e-5, (0, -u), 1.23054744454982),
        ("omega", "epsilon", (0, -u), (zf - 0.01421, 0), 0.00706, 5.667e-7, (zf, 0), -0.222668390165886),
    )
    builder = engine.Builder("andrews")
    builder.add_link("ground")
    for name, above, place, centre, mass, i, end, _ in parts:
        G = inertia.from_mass(mass, [*centre, 0], i * np.diag([0.5, 0.5, 1.0]))
        builder.add_link(name, G, along((*end, 0))["visuals"])
        builder.add_joint(name, "revolute", above, name, at(*place, 0))
    model = builder.model()
    q = np.zeros(7)
    for name, *_, angle in parts:
        q[model.q_slice(name)] = angle
    crank, arm = model.v_slice("beta").start, model.v_slice("gamma").start

    def drive(t, q, v):
        s, k = ops.sin(q[arm]), ops.cos(q[arm])
        x, y = sd * k + sc * s + b[0] - c[0], sd * s - sc * k + b[1] - c[1]
        length = ops.sqrt(x * x + y * y)
        force = -c0 * (length - lo) / length
        tau = [0.0] * 7
        tau[crank], tau[arm] = torque, force * (x * (sc * k - sd * s) + y * (sd * k + sc * s))
        return ops.array(tau)

    ends = {"gamma": (0, -ss, 0), "phi": (0, -e, 0), "omega": (zf, 0, 0)}
    loops = [engine.Hinge("theta", name, (-d, 0, 0), end) for name, end in ends.items()]
    simulator = engine.Simulator(model, dt=1e-5, gravity=(0, 0, 0), forces=[drive], constraints=loops)
    bars = [(name, (0, 0, 0), (*end, 0)) for name, *_, end, _ in parts]
    return Mechanism(simulator, q, np.zeros(7), 0.03, bars, (0, 1))


#: what the films say; each lasts 24 s, however fast the mechanism is
SAID = {"four-bar": [(0.0, "A four-bar linkage falls: its loop is closed exactly"),
(0.5, "It passes postures in which all bars are in line")],
        "squeezer": [(0.0, "Andrews' squeezer, the test of stiff mechanisms"), (0.5, "Three loops, seven bodies, 0.03 s in all")],
        "bricard": [(0.0, "Bricard's six hinges: as many conditions as freedoms"), (0.5, "It moves nevertheless")]}  # fmt: skip
MECHANISMS = {"four-bar": four_bar, "squeezer": squeezer, "bricard": bricard}


def report(name: str, trajectory: engine.Trajectory, seconds: float, simulator: engine.Simulator) -> None:
    (K, U), forces = trajectory.energy(), np.abs(trajectory("constraints.force"))
    print(f"{name}: {simulator}")
    print(f"  simulated {trajectory.t[-1]:g} s in {seconds:.3f} s; {trajectory.model.nv} joints")
    print(f"  loops open by {np.abs(trajectory('constraints.error')).max():.1e} at most; their forces, up to "
          f"{forces.max():.4g} N, do work at {np.abs(trajectory('constraints.power')).max():.1e} W")  # fmt: skip
    if name != "squeezer":                                      # which a motor drives
        print(f"  energy {K[0] + U[0]:.6g} J, relative drift {np.ptp(K + U) / K.max():.1e}")
    print("  at the end q =", np.array2string(trajectory.q[-1], precision=10))


def plot(name: str, trajectory: engine.Trajectory, mechanism: Mechanism, path: Path) -> None:
    """Sketch the bars at some times, the paths of their ends, the joints' angles, and the loops' forces."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model, (i, j) = trajectory.model, mechanism.axes
    robot = engine.compile(model)
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
    poses = robot.forward_kinematics(trajectory.q[:: max(1, len(trajectory) // 400)])
    for k, (link, begin, end) in enumerate(mechanism.bars):
        T = poses[:, model.link_index(link)]
        ends = np.stack([np.einsum("tij,j->ti", T, [*p, 1.0])[:, [i, j]] for p in (begin, end)], axis=1)
        a.plot(*ends[:, 1].T, color=f"C{k}", alpha=0.35, linewidth=1)
        for moment in np.linspace(0, len(T) // 3, 6).astype(int):
            a.plot(*ends[moment].T, color=f"C{k}", alpha=0.25 + 0.75 * (moment == 0), linewidth=3, solid_capstyle="round")
    a.set_aspect("equal")
    b.plot(trajectory.t, trajectory.q, label=model.labels("q"))
    b.legend(fontsize=8)
    c.plot(trajectory.t, trajectory("constraints.force"))
    titles = f"{name}, at some times", "joints, rad", "forces of the loops, N and N·m"
    for axis, title in zip((a, b, c), titles, strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (b, c):
        axis.set_xlabel("t, s")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism", nargs="?", choices=[*MECHANISMS, "all"], default="all", help="which (default: all)")
    parser.add_argument("--duration", type=float, help="seconds (default: as long as is worth seeing)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plots (default: out)")
    show.add_options(parser)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in MECHANISMS if options.mechanism == "all" else [options.mechanism]:
        mechanism = MECHANISMS[name]()
        duration = options.duration or mechanism.duration
        mechanism.simulator.run(mechanism.q, mechanism.v, mechanism.simulator.dt)
        begun = time.perf_counter()
        trajectory = mechanism.simulator.run(mechanism.q, mechanism.v, duration)
        report(name, trajectory, time.perf_counter() - begun, mechanism.simulator)
        plot(name, trajectory, mechanism, options.out / f"{name}.png")
    print(f"wrote plots to {options.out}")
    show.show(options, trajectory, speed=duration / 24.0, environment="studio", shown=engine.Shown(joint_axes=True), story=SAID[name])


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:  # what the engine says about bad input is a sentence; a traceback adds nothing
        sys.exit(f"error: {error}")
