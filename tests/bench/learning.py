"""Environments: what a step of many rows takes beside its kernel, and against Gymnasium's own environments on MuJoCo."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

ROWS = 4096
#: actions that are timed, each in turn with the same steps of the simulator alone
ROUNDS = 60


def arm() -> dict[str, Any]:
    """An arm as Reacher-v5's, with its task: two joints of its armature, damping and gears (without the stop of one), a capsule's inertia
    each, two steps of 0.01 s an action by RK4, and ten numbers observed."""
    import engine

    builder, capsule = engine.Builder("arm"), engine.spatial.inertia.capsule(0.036, 0.01, 0.1)
    builder.add_link("world")
    for name, parent, at in (("upper", "world", 0.0), ("lower", "upper", 0.1)):
        along = engine.spatial.se3.pose(np.eye(3)[:, [2, 1, 0]] * [1.0, 1.0, -1.0], np.array([0.05, 0.0, 0.0]))
        builder.add_link(name, inertia=engine.spatial.inertia.transformed(along, capsule))
        place = engine.spatial.se3.pose(np.eye(3), np.array([at, 0.0, 0.0]))
        builder.add_joint(f"{name}_joint", "continuous", parent, name, place, armature=1.0, damping=1.0)

    def tip(q: Any) -> Any:
        a, b = q[0], q[0] + q[1]
        return np.array([0.1 * np.cos(a) + 0.11 * np.cos(b), 0.1 * np.sin(a) + 0.11 * np.sin(b)])

    simulator = engine.Simulator(builder.model(), dt=0.01, integrator="rk4", gravity=(0, 0, 0), parameters={"action": np.zeros(2)},
                                 controller=lambda t, q, v, action: 200.0 * action)  # fmt: skip
    return {"simulator": simulator, "action_repeat": 2, "horizon": 1.0,
            "observation": lambda t, q, v, goal: np.concatenate([np.cos(q), np.sin(q), goal, v, tip(q) - goal]),
            "reward": lambda t, q, v, goal, action: -np.linalg.norm(tip(q) - goal) - 0.1 * (action @ action),
            "reset": lambda random: {"q": 0.2 * random.uniform(2) - 0.1, "v": 0.01 * random.uniform(2) - 0.005,
                                     "goal": 0.28 * random.uniform(2) - 0.14}}  # fmt: skip


def learning(table: Table) -> None:
    """4096 rows on one thread: a step of VectorEnv against the Simulator's kernel for the same rows, and against Reacher-v5's."""
    import engine
    from engine.gymnasium import VectorEnv, environments

    engine.set_threads(1)
    made = environments.reach()
    envs = VectorEnv(num_envs=ROWS, **made)
    envs.reset(seed=0)
    rng, simulator = np.random.default_rng(0), made["simulator"]
    actions = rng.uniform(-1.0, 1.0, (ROUNDS, *envs.action_space.shape)).astype(np.float32)
    steps, pairs = made["action_repeat"], []
    for action in actions:
        q, v = envs.q, envs.v
        begun = time.perf_counter()
        envs.step(action)
        middle = time.perf_counter()
        p, x = simulator.stepper.begin(q, v, {"action": action})
        prepared = time.perf_counter()
        simulator.stepper.advance(p, x, steps)
        pairs.append((middle - begun, time.perf_counter() - prepared))
    ours, alone = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    least = [min(column) for column in zip(*pairs, strict=True)]
    table.add("learning", f"{ROWS} free flyers: VectorEnv", ratio, "x the kernel", ">= 0.95", ratio >= 0.95,
              actions_per_s=ROWS / ours, us=ours / ROWS * 1e6, alone_us=alone / ROWS * 1e6,
              of_the_fastest=least[1] / least[0])  # fmt: skip
    try:
        import gymnasium

        peer = gymnasium.make_vec("Reacher-v5", num_envs=8, vectorization_mode="sync")
    except Exception as error:  # of Gymnasium's kinds, or no MuJoCo
        return table.lack("learning", f"Gymnasium's Reacher-v5 ({type(error).__name__})")
    peer.reset(seed=0)
    samples = [peer.action_space.sample() for _ in range(50)]
    same = VectorEnv(num_envs=ROWS, **arm())
    same.reset(seed=0)
    for what, ours, least in (("Reacher-v5's arm", same, 50.0), ("free flyer", envs, None)):
        pairs = []
        for _ in range(ROUNDS):
            action = rng.uniform(-1.0, 1.0, ours.action_space.shape)
            begun = time.perf_counter()
            ours.step(action)
            middle = time.perf_counter()
            for sample in samples:
                peer.step(sample)
            pairs.append(((middle - begun) / ROWS, (time.perf_counter() - middle) / len(samples) / peer.num_envs))
        mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
        table.add("learning", f"an action: {what} against Reacher-v5", theirs / mine, "x", f">= {least:g}" if least else "",
                  theirs / mine >= least if least else None, ours_us=mine * 1e6, theirs_us=theirs * 1e6)  # fmt: skip
