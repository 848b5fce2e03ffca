"""A drone with an arm hovers while the arm swings.

    pip install example-robot-data && python demos/drone_arm.py
    python demos/drone_arm.py --video drone.mp4      # or --view, in a window: with the arm in view

Hextilt is a hexarotor with tilted rotors, which can push and twist in every direction, and carries a five-joint arm. One controller asks
for the accelerations that hold the base and swing the arm; inverse dynamics gives the wrench on the base and the arm's torques; six
rotors share the wrench, each between 0 and 8 N. Next to it the same without looking at the arm. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import show
import trimesh

import engine
from engine import dynamics, ops
from engine.components.actuators import Thrusters
from engine.spatial import quaternion, se3, so3

FILE = "hextilt_description/urdf/hextilt_flying_arm_5.urdf"
RADIUS, BELOW, TILT, MOST = 0.39, 0.055, np.radians(35.0), 8.0                 # of the rotors, as in the file: m, m, rad, N
BANDWIDTH, SWING = 4.0, 0.3                                                    # rad/s, Hz


def rotors(link: str) -> Thrusters:
    """Six rotors below the ends of the booms, leaning alternately to either side."""
    positions, directions = [], []
    for k in range(6):
        R = so3.exp(np.array([0.0, 0.0, k * np.pi / 3]))
        directions.append(R @ so3.exp(np.array([TILT * (-1) ** k, 0.0, 0.0])) @ [0.0, 0.0, 1.0])
        positions.append(R @ [RADIUS, 0.0, 0.0] - BELOW * directions[-1])
    return Thrusters(link, positions, directions, most=MOST, name="rotors")


def controller_of(model: engine.Model, thrusters: Thrusters, start: np.ndarray, looks_at_arm: bool):
    """Commands {rotors, tau} that hold the base at ``start`` and swing the arm."""
    arms = np.concatenate([np.cross(thrusters.positions, thrusters.directions).T, thrusters.directions.T])
    share = np.linalg.inv(arms)
    n = model.nv - 6
    reach, w = 0.3 * np.ones(n), 2 * np.pi * SWING * np.ones(n)

    def control(t, q, v, gravity):
        begun = 1.0 - ops.exp(-t * t)
        rate = 2.0 * t * ops.exp(-t * t)
        wanted = start[7:] + begun * reach * ops.sin(w * t)
        wanted_rate = rate * reach * ops.sin(w * t) + begun * reach * w * ops.cos(w * t)
        R = quaternion.to_matrix(q[:4])
        turn, gap = quaternion.log(quaternion.conjugate(q[:4])), R.T @ (start[4:7] - q[4:7])
        base = BANDWIDTH**2 * np.concatenate([turn, gap]) - 2.0 * BANDWIDTH * v[:6]
        arm = -begun * reach * w * w * ops.sin(w * t) + 40.0 * (wanted_rate - v[6:]) + 400.0 * (wanted - q[7:])
        tau = dynamics.rnea(model, q, v, np.concatenate([base, arm]), gravity)
        wrench = tau[:6] if looks_at_arm else dynamics.rnea(model, q, 0.0 * v, np.concatenate([base, 0.0 * arm]), gravity)[:6]
        return {"rotors": share @ wrench, "tau": np.concatenate([np.zeros(6), tau[6:]])}

    return control


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=float, default=10.0, help="seconds (default: 10)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    model = engine.load_urdf(show.robot(FILE), floating_base=True, up_axis=False)
    thrusters = rotors(model.links[0].name)
    start = model.neutral()
    start[6] = 1.5
    for b in model.bodies[1:]:
        start[b.q] = np.clip(0.3, b.joint.limits.lower, b.joint.limits.upper)
    mass = sum(link.mass for link in model.links)
    print(f"{model.name}: {mass:.2f} kg, {mass * 9.81 / (6 * np.cos(TILT)):.2f} N a rotor to hover")
    motions = {}
    for name, looks in (("with the arm in view", True), ("base alone", False)):
        controller = controller_of(model, thrusters, start, looks)
        simulator = engine.Simulator(model, actuators=[thrusters], controller=controller, joint_dynamics=False)
        motion = motions[name] = simulator.run(start, np.zeros(model.nv), options.duration, record_every=10)
        moved = np.linalg.norm(motion.q[:, 4:7] - start[4:7], axis=1)
        turned = np.degrees(np.linalg.norm(quaternion.log(motion.q[:, :4]), axis=1))
        thrust = motion("rotors.thrust")
        print(f"{name:22} base moved by {1e3 * moved.max():.2g} mm, turned by {turned.max():.2g} deg;"
              f" thrusts {thrust.min():.2f} … {thrust.max():.2f} N, {int(motion('rotors.saturated').sum())} at a limit")  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    plot(motions, start, options.out / "drone_arm.png")
    print(f"wrote {options.out / 'drone_arm.png'}")
    if options.view or options.video:
        low, high = (f(motions["with the arm in view"]("rotors.thrust")) for f in (np.min, np.max))
        with tempfile.TemporaryDirectory() as folder:
            story = [(0.0, "Six tilted rotors hold a drone in place while its arm swings"),
                     (0.5, f"Inverse dynamics of both: thrusts of {low:.1f} … {high:.1f} N, and the base stays")]  # fmt: skip
            show.show(options, turning(motions["with the arm in view"], Path(folder)), speed=0.5, view=(-0.9, 0.25),
                      shown=engine.Shown(forces=(thrusters,)), story=story)  # fmt: skip


def turning(motion: engine.Trajectory, folder: Path) -> engine.Trajectory:
    """The motion of a drone whose propellers turn, as the thrust's root, but slowly enough to be seen; their meshes lie in a folder.

    In its file body and propellers are one mesh. Propellers are its parts that are higher than the others: they are inclined.
    """
    graph = motion.model.graph.copy()
    base, (look,) = motion.model.links[0], motion.model.links[0].visuals
    parts = engine.load_mesh(look).split(only_watertight=False)
    blades = [part for part in parts if np.ptp(part.vertices[:, 2]) > 0.1]
    blades.sort(key=lambda blade: np.arctan2(*blade.bounds.mean(axis=0)[1::-1]) % (2 * np.pi) + 0.1)
    rest = trimesh.util.concatenate([part for part in parts if not any(part is blade for blade in blades)])
    grey = engine.Material("grey", (0.2, 0.2, 0.21, 1.0))

    def drawn(name: str, mesh: trimesh.Trimesh) -> tuple[engine.Geometry]:
        mesh.export(folder / f"{name}.stl")
        return (engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=folder / f"{name}.stl", material=grey),)

    graph.nodes[base.name]["link"] = replace(base, visuals=drawn("body", rest))
    for k, blade in enumerate(blades):
        middle, outwards = blade.bounds.mean(axis=0), np.array([np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 0.0])
        along = np.linalg.svd(blade.vertices - blade.vertices.mean(axis=0))[2][0]
        axis = np.cross(outwards, along)
        blade.apply_translation(-middle)
        name = f"propeller{k}"
        graph.add_node(name, link=engine.Link(name, visuals=drawn(name, blade)))
        joint = engine.Joint(name, "continuous", base.name, name, se3.pose(np.eye(3), middle), axis * np.sign(axis[2]))
        graph.add_edge(base.name, name, joint=joint)
    thrust = np.maximum(motion("rotors.thrust"), 0.0)
    angle = np.cumsum(2 * np.pi * 1.3 * np.sqrt(thrust / thrust.mean()) * np.gradient(motion.t)[:, None], axis=0) * (-1.0) ** np.arange(6)
    model = engine.Model.from_graph(graph, floating_base=True)
    v, vdot, tau = (np.pad(x, ((0, 0), (0, 6))) for x in (motion.v, motion.vdot, motion.tau))
    return replace(motion, model=model, q=np.column_stack([motion.q, angle]), v=v, vdot=vdot, tau=tau)


def plot(motions, start, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(12, 7.5), sharex=True, layout="constrained")
    first = next(iter(motions.values()))
    a.plot(first.t, first.q[:, 7:], lw=1)
    b.plot(first.t, first("rotors.thrust"), lw=1)
    for name, motion in motions.items():
        c.semilogy(motion.t, np.maximum(1e3 * np.linalg.norm(motion.q[:, 4:7] - start[4:7], axis=1), 1e-12), lw=1, label=name)
        d.semilogy(motion.t, np.maximum(np.degrees(np.linalg.norm(quaternion.log(motion.q[:, :4]), axis=1)), 1e-12), lw=1, label=name)
    for axis, title in zip((a, b, c, d), ("arm, rad", "rotors, N", "base moved, mm", "base turned, deg"), strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
    for axis in (c, d):
        axis.set_xlabel("t, s")
    c.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
