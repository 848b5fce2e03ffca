"""Environments: what a step of many rows takes beside its kernel, and against Gymnasium's own environments on MuJoCo."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

ROWS = 4096
#: actions that are timed, each in turn with the same steps of the simulator alone
ROUNDS = 60


def learning(table: Table) -> None:
    """4096 free flyers on one thread: VectorEnv against Simulator.run of the same rows; and against Reacher-v5, where it is installed."""
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
        p, x = simulator._start(q, v, {"action": action})
        prepared = time.perf_counter()
        simulator._process.advance(np.array([float(steps)]), 0.0, 0.0, simulator.dt, p, x)
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
    pairs = []
    for action in actions:
        begun = time.perf_counter()
        envs.step(action)
        middle = time.perf_counter()
        for sample in samples:
            peer.step(sample)
        pairs.append(((middle - begun) / ROWS, (time.perf_counter() - middle) / len(samples) / peer.num_envs))
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    least = [min(column) for column in zip(*pairs, strict=True)]
    table.add("learning", "an action: free flyer against Reacher-v5", theirs / ours, "x Gymnasium's", ">= 50", theirs / ours >= 50,
              ours_us=ours * 1e6, theirs_us=theirs * 1e6, of_the_fastest=least[1] / least[0])  # fmt: skip
