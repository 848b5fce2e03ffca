"""What a closed system keeps over many steps: ``python -m tests.bench.closed [STEPS]``.

A servicer with an arm of two joints, a panel as modes, a boom that bends, a liquid that swings and drains, wheels and thrusters, and a
target beside it that its arm holds by a grip and lets go: the momentum of all, with what flows and has left, and energy where nothing
drives.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import engine
from engine import ops
from engine.components.actuators import ReactionWheels
from engine.components.forces import JointSpring
from engine.dynamics.momentum_conservation import central_momentum, floating_trees
from engine.space import FlexibleBody, Modes, Tank, Thrusters, add_modes, add_slosh
from engine.spatial import inertia, se3

Array = np.ndarray
#: s; and of the arm's joints, rad
DT, REST = 0.01, (0.4, -0.8)


def servicer(boom: bool) -> tuple[engine.Model, dict[str, list[Any]]]:
    """Return the model of servicer and target, and what acts on it by itself."""
    builder = engine.Builder("servicer")
    hub = inertia.from_mass(400.0, np.array([0.02, -0.03, 0.05]), np.diag([120.0, 150.0, 180.0]))
    rod = inertia.from_mass(2.0, np.zeros(3), np.diag([0.0, 6.0, 6.0]))
    builder.add_link("space")
    builder.add_link("hub", inertia=hub + inertia.transformed(se3.pose(np.eye(3), [3.0, 0.0, 0.0]), rod))
    builder.add_joint("hub joint", "floating", "space", "hub")
    before, at = "hub", [0.0, 0.8, 0.3]
    for k, axis in enumerate(([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])):
        builder.add_link(f"arm {k}", inertia=inertia.from_mass(8.0, np.array([0.0, 0.5, 0.0]), np.diag([0.7, 0.1, 0.7])))
        builder.add_joint(f"joint {k}", "revolute", before, f"arm {k}", se3.pose(np.eye(3), at), axis=axis, damping=0.05)
        before, at = f"arm {k}", [0.0, 1.0, 0.0]
    panel = add_modes(builder, "hub", 5.0, 12.0, 400.0, 2, placement=se3.pose(np.diag([-1.0, -1.0, 1.0]), [-0.8, 0, 0]), damping=0.01)
    slosh = add_slosh(builder, Tank("hub", 60.0, 35.0, shape="sphere", placement=(0.1, 0.0, -0.4)), "spring", 0.02, 0.02)
    jets = Thrusters("hub", [[0.05, 0.0, -1.0]] * 2, [[0.0, 0.02, 1.0], [0.0, 0.02, -1.0]], most=0.05, tank=slosh.tank, isp=200.0)
    wheels = ReactionWheels("hub", torque=0.2, momentum=8.0, initial=[1.0, -2.0, 0.5])
    flexible = [FlexibleBody("hub", Modes.beam(6.0, 2.0, 60.0, 1, damping=0.01), [[0.02, -0.05], [0, 0]], name="boom")] if boom else []
    builder.add_link("target", inertia=inertia.from_mass(90.0, np.array([0.0, 0.1, 0.0]), np.diag([12.0, 15.0, 9.0])))
    builder.add_joint("target joint", "floating", "space", "target")
    rest = [JointSpring(f"joint {k}", 2.0, x) for k, x in enumerate(REST)]
    return builder.model(), {"forces": [*panel, *slosh.springs, *flexible, *rest], "actuators": [jets, slosh.tank, wheels]}


def flown(steps: int, boom: bool, grip: bool, driven: bool) -> tuple[engine.Trajectory, float]:
    """Return a flight of so many steps, with two hundred records, and the time of one, s.

    Where it is driven wheels turn to and fro, and thrusters burn all the time, to and fro from one place (what a tank keeps
    is of a steady flow), or the grip holds the target from 20 s on, for half of the flight (the impulse with which it closes leaves a
    thrust's arm to the second order).
    """
    model, given = servicer(boom)
    duration = steps * DT

    def control(t: Any, q: Array, v: Array) -> dict[str, Any]:
        holds = ops.where(ops.logical_and(t > 20.0, t < 20.0 + 0.5 * duration), 1.0, 0.0)
        turned = 0.01 * np.array([np.sin(0.1 * t), np.cos(0.07 * t), np.sin(0.05 * t)])
        burn = 0.0 if grip else 0.025 * (1.0 + np.array([1.0, -1.0]) * np.cos(0.05 * t))
        return {"thrusters": burn * np.ones(2), "wheels": turned} | ({"grip": holds} if grip else {})

    simulator = engine.Simulator(model, DT, "rkmk5", gravity=(0, 0, 0), controller=control if driven else None,
                                 constraints=[engine.Grip("arm 1", "target")] if grip else [], **given)  # fmt: skip
    q, v = model.neutral(), np.zeros(model.nv)
    first = model.v_slice("joint 0").start
    q[model.q_slice("joint 0")], q[model.q_slice("joint 1")] = REST[0] + 0.3, REST[1] - 0.2
    v[:3], v[first : first + 2] = [0.02, -0.01, 0.015], [0.1, -0.05]
    free = model.bodies[model.roots[1]]
    q[free.q.start + 4 : free.q.stop], v[free.v] = [0.5, 3.0, 0.4], [0.03, 0.02, -0.01, *np.cross([0.0, 0.1, 0.0], [0.03, 0.02, -0.01])]
    whole, root = central_momentum(model, model.trees[0], q, v), model.bodies[model.roots[0]].v
    v[root.start + 3 : root.stop] -= whole[3:6] / sum(model.bodies[i].inertia[5, 5] for i in model.trees[0])        # at rest as a whole
    begun = time.process_time()
    run = simulator.run(q, v, duration, record_every=max(steps // 200, 1))
    return run, (time.process_time() - begun) / steps


def lost(run: engine.Trajectory, then: Any = slice(None)) -> tuple[float, float]:
    """Return what is lost of P and of L about the world's origin among records, relative to the sum of what parts have of each."""
    P = sum(x[then] for x in (run.momentum(), *(run(n) for n in ("tank.momentum", "boom.momentum") if n in run.signals)))
    (p, L, _), off = sizes(run, then), np.abs(P - P[0]).max(axis=0)
    return float(off[3:].max() / p), float(off[:3].max() / L)


def sizes(run: engine.Trajectory, then: Any) -> tuple[float, float, float]:
    """Return Σ|p|, Σ|L| (about the world's origin) of the trees and of what wheels hold, and Σ|r| |p|, at their largest."""
    trees = floating_trees(run.model)
    parts = np.array([[central_momentum(run.model, tree, q, v) for tree in trees] for q, v in zip(run.q[then], run.v[then], strict=True)])
    p, r = (np.linalg.norm(parts[..., k], axis=-1) for k in (slice(3, 6), slice(6, 9)))
    L = np.linalg.norm(parts[..., :3] + np.cross(parts[..., 6:], parts[..., 3:6]), axis=-1).sum(axis=1)
    turns = L + np.linalg.norm(run("wheels.angular_momentum")[then], axis=-1)
    return float(p.sum(axis=1).max()), float(turns.max()), float((p * r).sum(axis=1).max())


def main(steps: int) -> None:
    """Print what is kept."""
    for boom, grip in ((False, True), (True, False)):
        name = "with a boom that bends" if boom else "with a grip that holds the target"
        run, each = flown(steps, boom, grip, True)
        print(f"{steps} steps {name}: lost of P {lost(run)[0]:.1e}, of L {lost(run)[1]:.1e}; {each * 1e6:.1f} µs a step", flush=True)
    run, _ = flown(steps, True, False, False)
    E = sum(run.energy())
    rise, fall = np.diff(E).max() / E[0], 1 - E[-1] / E[0]
    print(f"{steps} steps that nothing drives: energy rises by {rise:.1e} of it at most, and falls by {fall:.2g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
