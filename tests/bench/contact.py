"""Steps with contacts, against MuJoCo's: one rollout, a batch to the core, and flight with nothing near."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.bench.timing import in_turn

if TYPE_CHECKING:
    from tests.bench.__main__ import Table
    from tests.bench.contact_scenes import Scene

Array = np.ndarray
#: steps of a timed rollout; rows of a batch here and there (it goes through its rollouts one by one), and their steps
STEPS, ROWS, FEWER, FEW = 2000, 512, 32, 50
#: steps of a timed flight
FLIGHT = 10_000
#: how far apart both sides' coordinates may be when they have settled, m and rad: theirs are softer
APART = 0.02


def contact(table: Table) -> None:
    """Scenes that rest, push and grip: a step against MuJoCo's with elliptic cones and implicitfast, by Euler's method as there, and by
    CG4; and how much slower flight is where things could touch, but do not."""
    import engine
    from tests.bench.contact_scenes import SCENES

    engine.set_threads(1)
    for make in SCENES:
        one_scene(table, make())
    flight(table)


def one_scene(table: Table, scene: Scene) -> None:
    """One rollout and a batch of a scene, both methods, from where each side has settled."""
    import mujoco
    from mujoco import rollout

    peer, full = scene.peer(), mujoco.mjtState.mjSTATE_FULLPHYSICS
    data, zero = mujoco.MjData(peer), np.zeros(scene.model.nv)
    data.qpos[:], data.qvel[:] = scene.to_peer(peer, scene.q0, zero)
    mujoco.mj_step(peer, data, round(scene.settle / scene.dt))
    settled = np.zeros(mujoco.mj_stateSize(peer, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(peer, data, settled, mujoco.mjtState.mjSTATE_INTEGRATION)
    begun = time.perf_counter()
    first = scene.simulator(integrator="semi_implicit_euler")
    run = first.run(scene.q0, zero, scene.settle, record_every=round(scene.settle / scene.dt))
    table.add("contact", f"{scene.name} (nv {scene.model.nv}), to its first second", time.perf_counter() - begun, "s")
    q, v = run.q[-1], run.v[-1]
    apart = np.abs(scene.to_peer(peer, q, v)[0] - data.qpos).max()
    assert apart < APART and data.ncon, f"{scene.name}: results differ by {apart:.2g}"
    noise = np.random.default_rng(0).standard_normal((ROWS, scene.model.nv))
    Q, V = np.tile(q, (ROWS, 1)), v + 0.01 * noise
    start = np.zeros(mujoco.mj_stateSize(peer, full))
    mujoco.mj_getState(peer, data, start, full)
    starts = np.tile(start, (FEWER, 1))
    starts[:, 1 + peer.nq : 1 + peer.nq + peer.nv] += scene.to_peer(peer, Q, 0.01 * noise)[1][:FEWER]

    def theirs() -> None:
        mujoco.mj_setState(peer, data, settled, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_step(peer, data, STEPS)

    for method in ("semi_implicit_euler", "cg4"):
        simulator = first if method == first.method.name else scene.simulator(integrator=method)
        t, u = in_turn(lambda s=simulator: s.run(q, v, STEPS * scene.dt, record_every=STEPS), theirs, rounds=7)
        equal: dict[str, Any] = {"target": ">= 2", "ok": u >= 2 * t} if method == first.method.name else {}
        table.add("contact", f"{scene.name}, {method}", u / t, "x MuJoCo", **equal, ours_us=t / STEPS * 1e6, theirs_us=u / STEPS * 1e6)
        t, u = in_turn(lambda s=simulator: s.run(q, v, STEPS * scene.dt),
                       lambda s=simulator: s.run(q, v, STEPS * scene.dt, record_every=STEPS), rounds=7)  # fmt: skip
        table.add("contact", f"{scene.name}, {method}, every step recorded", t / u, "x", "<= 1.15", t <= 1.15 * u)
        t, u = in_turn(lambda s=simulator: s.run(Q, V, FEW * scene.dt, record_every=FEW),
                       lambda: rollout.rollout(peer, data, starts, nstep=FEW), rounds=5)  # fmt: skip
        t, u = t / (ROWS * FEW), u / (FEWER * FEW)
        equal = {"target": ">= 8", "ok": u >= 8 * t} if equal else {}
        table.add("contact", f"{scene.name}, {ROWS} rollouts, {method}", u / t, "x mujoco.rollout", **equal,
                  ours_us=t * 1e6, theirs_us=u * 1e6)  # fmt: skip


def flight(table: Table) -> None:
    """What contacts cost where nothing is near."""
    from tests.bench.contact_scenes import capture, quadruped

    for scene, links in ((quadruped(), "four feet"), (capture(), "two fingers")):
        q, v = scene.q0.copy(), np.full(scene.model.nv, 0.05)
        q[-1 if scene.name == "capture" else 6] += 1000.0
        for method in ("semi_implicit_euler", "cg4"):
            near, none = scene.simulator(integrator=method), scene.simulator(integrator=method, contacts=None)
            t, u = in_turn(lambda s=near: s.run(q, v, FLIGHT * scene.dt, record_every=FLIGHT),
                           lambda s=none: s.run(q, v, FLIGHT * scene.dt, record_every=FLIGHT), rounds=11)  # fmt: skip
            table.add("contact", f"{scene.name} in flight, {links}, {method}", 100 * (t / u - 1), "%", "<= 5", t <= 1.05 * u,
                      ours_us=t / FLIGHT * 1e6, without_us=u / FLIGHT * 1e6)  # fmt: skip
