"""Stiff servos on every joint: what a linearly implicit step costs, and motion at equal error against MuJoCo's implicitfast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import engine
    from tests.bench.__main__ import Table

#: gains of servos, N·m/rad and N·m·s/rad, that explicit steps follow too, and that they do not; and how far these move every joint, rad
GENTLE, STIFF, FAR = (5.0, 0.02), (2000.0, 100.0), 0.2
#: s; steps of ours whose error is asked for, and of the peer's, whose error is of first order
DURATION, STEP, SHORT = 0.2, 2e-3, 1e-4


def stiff(table: Table) -> None:
    """Steps of Panda and TALOS with servos: by ros34pw2 over cg4, and to the same error as MuJoCo by implicitfast; one thread."""
    import mujoco

    import engine
    from tests.bench.robots import file, load, mujoco_model
    from tests.bench.timing import in_turn

    engine.set_threads(1)
    n = 1000
    for name, root in (("Panda", None), ("TALOS", "base_link")):
        model = load(*file(name))
        q, rest = model.neutral(), np.zeros(model.nv)
        runs = {method: servoed(model, 1e-3, GENTLE, method) for method in ("cg4", "ros34pw2")}
        t, u = in_turn(lambda s=runs["ros34pw2"]: s.run(q, rest, n * 1e-3, record_every=n),
                       lambda s=runs["cg4"]: s.run(q, rest, n * 1e-3, record_every=n), rounds=9)  # fmt: skip
        table.add("stiff", f"{name} with servos (nv {model.nv}), a step by ros34pw2 over one by cg4", t / u, "x", "<= 1.6",
                  bool(t <= 1.6 * u), ros34pw2_us=t / n * 1e6, cg4_us=u / n * 1e6)  # fmt: skip
        joints = [b.joint.name for b in model.bodies if not b.kind.floats]
        ours, peer = servoed(model, STEP, STIFF), mujoco_model(file(name)[0], root, SHORT, STIFF)
        peer.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        data, steps, places = mujoco.MjData(peer), round(DURATION / SHORT), [model.q_slice(j).start for j in joints]
        data.ctrl[:] = FAR
        mujoco.mj_step(peer, data, steps)
        exact = servoed(model, STEP / 16.0, STIFF).run(q, rest, DURATION).q[-1, places]
        theirs = max(abs(data.joint(j).qpos[0] - x) for j, x in zip(joints, exact, strict=True))
        error = np.abs(ours.run(q, rest, DURATION).q[-1, places] - exact).max()
        t, u = in_turn(lambda s=ours: s.run(q, rest, DURATION, record_every=100),
                       lambda p=peer, d=data: mujoco.mj_step(p, d, steps), rounds=9)  # fmt: skip
        ratio = float(u * theirs / error / t)
        table.add("stiff", f"{name} with stiff servos, to an error of {error:.1e} rad, against implicitfast", ratio, "x MuJoCo", ">= 5",
                  ratio >= 5, ours_us=t / DURATION * STEP * 1e6, theirs_us=u / steps * 1e6, theirs_error=theirs)  # fmt: skip


def servoed(model: engine.Model, dt: float, gains: tuple[float, float], method: str = "ros34pw2") -> engine.Simulator:
    """A robot with a position servo on every joint, which wants it a little further."""
    import engine
    from engine.components.general_actuator import GeneralActuator

    kp, kv = gains
    joints = [b.joint.name for b in model.bodies if not b.kind.floats]
    servos = [GeneralActuator({j: 1.0}, gain=(kp, 0.0, 0.0), bias=(0.0, -kp, -kv), name=f"servo of {j}") for j in joints]
    targets = {servo.name: FAR for servo in servos}
    return engine.Simulator(model, dt, method, gravity=(0, 0, 0), actuators=servos, controller=lambda t, q, v: targets, joint_dynamics=None)
