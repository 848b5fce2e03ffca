"""Plots: a figure of one rollout, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import path_of, require_packages, writing
from engine.model import Body
from engine.model.shown import figure
from engine.simulation import Trajectory
from engine.spatial import quaternion
from engine.viewer.scene.errors import ViewerError


@figure.register
def plot(motion: Trajectory, path: str | Path | None = None) -> Any:
    """Return a figure of a trajectory's one rollout; with ``path`` it is written too."""
    require_packages("a plot", "plots", "matplotlib", error=ViewerError)
    import matplotlib.pyplot as plt

    model, t = motion.model, motion.t
    floating = [model.bodies[i] for i in model.roots if model.bodies[i].kind.floats]
    joints = [b.joint for b in model.bodies if b.kind.nq == 1 and not b.mimics]
    n = 2 + len(floating) + (len(floating) > 1)
    drawn, axes = plt.subplots(n, 2, figsize=(12, 3.5 * n), sharex=True, layout="constrained", squeeze=False)
    (a, b), (c, d) = axes[:2]
    for j in joints:
        a.plot(t, motion.q[:, model.q_slice(j.name)], lw=1, label=j.name)
        b.plot(t, motion.v[:, model.v_slice(j.name)], lw=1)
        c.plot(t, motion.tau[:, model.v_slice(j.name)], lw=1)
    if 0 < len(joints) <= 14:
        a.legend(fontsize=7, ncols=2)
    for name, power in motion.power().items():
        d.plot(t, power, lw=1, label=name)
    if motion.power():
        d.legend(fontsize=7)
    titles = [(a, "joints, rad (m)"), (b, "joint speeds, rad/s (m/s)"), (c, "forces after limits, N·m (N)"),
              (d, "power on the robot, W")]  # fmt: skip
    if not joints and len(floating) == 1:
        titles = loose(motion, floating[0], (a, b, c, d))
    for body, (e, f) in zip(floating, axes[2:], strict=False):
        q = motion.q[:, body.q]
        back = np.broadcast_to(quaternion.conjugate(q[0, :4]), q[:, :4].shape)
        turned = np.degrees(quaternion.log(quaternion.product(back, q[:, :4])))
        titles.append((e, f"{body.joint.child}: rotation from its first attitude, deg"))
        for k, name in enumerate("xyz"):
            e.plot(t, turned[:, k], lw=1, label=f"about {name}")
            if len(floating) > 1:
                f.plot(t, q[:, 4 + k] - q[0, 4 + k], lw=1, label=f"along {name}")
                f.set_title(f"{body.joint.child}: displacement, m", fontsize=10)
        e.legend(fontsize=7)
    if floating:
        P, g = motion.momentum(), axes[-1, int(len(floating) == 1)]
        for part, name in ((P[:, :3], "angular"), (P[:, 3:], "linear")):
            scale = np.linalg.norm(part[0]) or 1.0
            g.semilogy(t, np.maximum(np.linalg.norm(part - part[0], axis=1) / scale, 1e-18), lw=1, label=name)
        g.legend(fontsize=7)
        titles.append((g, "change of momentum, relative"))
    if len(floating) > 1:
        E = np.add(*motion.energy())
        axes[-1, 1].plot(t, E - E[0], lw=1)
        titles.append((axes[-1, 1], "change of energy, J"))
    for axis, title in titles:
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("t, s")
    for axis in axes.flat:
        banded(axis, motion.phases())
    drawn.suptitle(model.name)
    if path is not None:
        with writing(path_of(path, ViewerError), ViewerError):
            drawn.savefig(path, dpi=110)
        plt.close(drawn)                                                       # or the user's next plot would be drawn into it
    return drawn


def banded(axis: Any, phases: Sequence[tuple[str, float, float]]) -> None:
    """Draw phases as bands behind what an axis shows, with their names."""
    for k, (name, begin, end) in enumerate(phases):
        axis.axvspan(begin, end, color="0.5", alpha=0.12 * (k % 2), lw=0)
        axis.text(begin, 1.0, name, rotation=90, va="top", fontsize=6, color="0.4", transform=axis.get_xaxis_transform(), clip_on=True)


def loose(motion: Trajectory, body: Body, axes: tuple[Any, Any, Any, Any]) -> list[tuple[Any, str]]:
    """Fill four axes of a body without joints: where it is, how it moves, loads, and powers or its energy; return their titles."""
    a, b, c, d = axes
    t, q, v, tau = motion.t, motion.q[:, body.q], motion.v[:, body.v], motion.tau[:, body.v]
    for k, name in enumerate("xyz"):
        a.plot(t, q[:, 4 + k], lw=1, label=name)
    for k, name in enumerate(body.kind.v_names):
        b.plot(t, v[:, k], lw=1, label=name)
        c.plot(t, tau[:, k], lw=1)
    for axis in (a, b):
        axis.legend(fontsize=7, ncols=2)
    titles = [(a, "position, m"), (b, "twist, rad/s (m/s)"), (c, "wrench, N·m (N)")]
    if motion.power():
        return [*titles, (d, "power on the robot, W")]
    E = np.add(*motion.energy())
    d.plot(t, E - E[0], lw=1)
    return [*titles, (d, "change of energy, J")]
