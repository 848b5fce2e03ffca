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
import itertools
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import show

import engine
from engine import ops
from engine.spatial import inertia, se3

#: of bars one after another, of the ground, and of hinges' pins
COLORS = ((0.16, 0.42, 0.75), (0.93, 0.62, 0.14), (0.20, 0.58, 0.38), (0.55, 0.35, 0.68), (0.80, 0.30, 0.24), (0.25, 0.62, 0.72),
          (0.85, 0.52, 0.60))  # fmt: skip
RINGS = 14                                                                     # of a spring, as it is drawn
GROUND, PIN = (0.13, 0.14, 0.16), (0.92, 0.42, 0.06)


class Mechanism(NamedTuple):
    """A simulator with a start, how long it runs, the points (link, place) whose paths are drawn, in two axes of the world, how much of
    it is filmed, s, and from where, rad."""

    simulator: engine.Simulator
    q: np.ndarray
    v: np.ndarray
    duration: float
    bars: list[tuple[str, tuple, tuple]]
    axes: tuple[int, int]
    filmed: float
    view: tuple[float, float]


def at(*p):
    return se3.pose(np.eye(3), np.array(p, dtype=float))


def along(d, color, axis, mass=1.0):
    """The inertia of a thin bar from its link's origin to d, and how it looks, with the pin of the hinge at its origin."""
    d = np.array(d, dtype=float)
    length = np.linalg.norm(d)
    G = inertia.from_mass(mass, 0.5 * d, mass / 12 * (length**2 * np.eye(3) - np.outer(d, d)))
    return {"inertia": G, "visuals": [bar((0, 0, 0), d, 0.03 * length, color), pin((0, 0, 0), axis, 0.018 * length, 0.3 * length)]}


def bar(a, b, radius, color):
    """A capsule from a point to another."""
    a, d = np.array(a, dtype=float), np.subtract(b, a)
    length = np.linalg.norm(d)
    z = d / length
    x = np.cross([0.36, 0.48, 0.8], z)
    x /= np.linalg.norm(x)
    T = se3.pose(np.column_stack([x, np.cross(z, x), z]), a + 0.5 * d)
    return engine.Geometry("capsule", (radius, length), placement=T, material=engine.Material(str(color), (*color, 1.0)))


def pin(point, axis, radius, length):
    """A hinge's pin at a point, as long as its axis is to be seen."""
    half = 0.5 * length * np.array(axis, dtype=float)
    return bar(np.subtract(point, half), np.add(point, half), radius, PIN)


def four_bar() -> Mechanism:
    """Three bars of 1 m and 1 kg on two pivots a metre apart; the loop is the second crank's pin."""
    builder, axis = engine.Builder("four-bar"), (0, -1, 0)
    builder.add_link("ground", visuals=[bar((0, 0, 0), (1, 0, 0), 0.03, GROUND)])
    for name, x, color in (("left", 0.0, COLORS[0]), ("right", 1.0, COLORS[2])):
        builder.add_link(name, **along((1, 0, 0), color, axis))
        builder.add_joint(name, "revolute", "ground", name, at(x, 0, 0), axis=axis)
    coupler = along((1, 0, 0), COLORS[1], axis)
    builder.add_link("coupler", coupler["inertia"], [*coupler["visuals"], pin((1, 0, 0), axis, 0.018, 0.3)])
    builder.add_joint("pin", "revolute", "left", "coupler", at(1, 0, 0), axis=axis)
    loop = engine.Hinge("coupler", "right", (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 1, 0))
    model = builder.model()
    q, v = (np.where(np.array(model.labels("v")) == "pin", -x, x) for x in (0.5 * np.pi, -1.0))
    bars = [(name, (0, 0, 0), (1, 0, 0)) for name in ("left", "coupler", "right")]
    return Mechanism(engine.Simulator(model, constraints=[loop]), q, v, 3.0, bars, (0, 2), 3.0, (-1.2, 0.15))


def bricard() -> Mechanism:
    """Five bars and the ground along the edges of a cube, each hinge's axis normal to the bars that it joins."""
    corners = np.array([(0, 0, 0), (0, 1, 0), (0, 1, -1), (1, 1, -1), (1, 0, -1), (1, 0, 0)], dtype=float)
    axes = np.eye(3)[[2, 0, 1, 2, 0, 1]]
    builder, above, places = engine.Builder("bricard"), "ground", np.diff(corners, axis=0, prepend=0.0)
    builder.add_link("ground", visuals=[bar((0, 0, 0), corners[5], 0.03, GROUND), pin(corners[5], axes[5], 0.018, 0.3)])
    for k in range(5):
        builder.add_link(f"bar{k}", **along(corners[k + 1] - corners[k], COLORS[k], axes[k]))
        builder.add_joint(f"hinge{k}", "revolute", above, f"bar{k}", at(*places[k]), axes[k])
        above = f"bar{k}"
    loop = engine.Hinge("bar4", "ground", places[5], corners[5], axes[5], axes[5])
    simulator = engine.Simulator(builder.model(), constraints=[loop])
    bars = [(f"bar{k}", (0, 0, 0), tuple(places[k + 1])) for k in range(5)]
    return Mechanism(simulator, np.zeros(5), np.zeros(5), 6.0, bars, (1, 2), 4.986, (-0.35, 0.3))     # until it is back


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
    builder, thin, high = engine.Builder("andrews"), 0.0013, 0.012              # m: of bars, and above the floor
    builder.add_link("ground", visuals=[bar((*p, 0), (*p, high), 2.0 * thin, GROUND) for p in (o, a, b, c)])
    for (name, above, place, centre, mass, i, end, _), color in zip(parts, COLORS, strict=True):
        G = inertia.from_mass(mass, [*centre, 0], i * np.diag([0.5, 0.5, 1.0]))
        sides = [(0, 0, 0), (*end, 0), *(((sd, -sc, 0), (0, 0, 0)) if name == "gamma" else ())]     # where the spring pulls
        looks = [bar(*side, thin, color) for side in itertools.pairwise(sides)]
        builder.add_link(name, G, [*looks, pin((0, 0, 0), (0, 0, 1), 1.4 * thin, 4.0 * thin)])
        builder.add_joint(name, "revolute", above, name, at(*place, high if above == "ground" else 0.0))
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
    return Mechanism(simulator, q, np.zeros(7), 0.03, bars, (0, 1), 0.03, (-0.5 * np.pi, 1.15))


def spring(motion: engine.Trajectory) -> engine.Trajectory:
    """The squeezer's spring, from the ground to the body that it pulls: rings along a line, as far apart as it is long."""
    a, T = np.array([0.014, 0.072, 0.012]), motion.pose("gamma")
    d = T[:, :3, 3] + T[:, :3, :3] @ [0.02, -0.018, 0.0] - a
    builder, length, turn = engine.Builder("spring"), np.linalg.norm(d, axis=1), np.arctan2(d[:, 1], d[:, 0])
    builder.add_link("hook")
    for k in range(RINGS):
        builder.add_link(f"ring{k}", visuals=[show.shape("cylinder", (0.0034, 0.0012), (0.42, 0.44, 0.47), along="x")])
        builder.add_joint(f"slide{k}", "prismatic", "hook", f"ring{k}", axis=(1, 0, 0))
    model = builder.model(floating_base=True)
    q = np.tile(model.neutral(), (len(motion), 1))
    q[:, 0], q[:, 3], q[:, 4:7] = np.cos(0.5 * turn), np.sin(0.5 * turn), a
    q[:, 7:] = length[:, None] * (np.arange(RINGS) + 0.5) / RINGS
    still = np.zeros((len(motion), model.nv))
    return engine.Trajectory(model, (0, 0, 0), motion.t, q, still, still, still)


#: what the films say; each lasts 24 s, however fast the mechanism is
SAID = {
    "four-bar": [(0.0, "A four-bar linkage falls: its loop is closed exactly"), (0.5, "It passes postures in which all bars are in line")],
    "squeezer": [(0.0, "Andrews' squeezer: a motor turns the small crank, a spring pulls back"),
                 (0.35, "Seven bodies, three loops: a test of solvers for stiff mechanisms"),
                 (0.7, "All of it lasts 0.03 s: the crank turns two and a half times")],
    "bricard": [(0.0, "Six bars, six hinges: by counting conditions it could not move"),
                (0.3, "Bricard's mechanism moves: here under its weight, from the black bar"),
                (0.65, "Nothing brakes it: after 5 s it is where it began")],
}  # fmt: skip
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
    film, pulled = trajectory[: np.searchsorted(trajectory.t, mechanism.filmed) + 1], name == "squeezer"
    told = {"signals": ["v.beta"]} if pulled else {"bars": ["energy"]}
    show.show(options, [film, spring(film)] if pulled else film, speed=(film.t[-1] - film.t[0]) / 24.0, view=mechanism.view,
              environment="ground", story=SAID[name], **told)  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:  # what the engine says about bad input is a sentence; a traceback adds nothing
        sys.exit(f"error: {error}")
