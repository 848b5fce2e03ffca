"""Six sensors and a filter: what a step costs that samples them, against one whose controller reads the truth."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

DT, STEPS, ROWS = 0.01, 20_000, 256


def signals(table: Table) -> None:
    """A free flyer with a seven-joint arm: sampled at every tenth step and at each, alone and in a batch."""
    import engine

    engine.set_threads(1)
    plain = flyer(None)
    for period, when in ((10 * DT, "every 10th step"), (DT, "every step")):
        sampled = flyer(period)
        for rows, steps in ((1, STEPS), (ROWS, STEPS // 100)):
            runs = [step_of(simulator, rows, steps) for simulator in (plain, sampled)]
            pairs = [[run() for run in runs] for _ in range(9)]
            ratio = float(np.median([b / a for a, b in pairs]))
            us = np.median(pairs, axis=0) * 1e6
            what = f"six sensors and a filter, {when}, {'alone' if rows == 1 else f'{rows} rows'}"
            table.add("signals", what, ratio, "x the step", "<= 1.3", ratio <= 1.3, without_us=us[0], with_us=us[1])


def flyer(period: float | None) -> Any:
    """The simulator: with sensors of a period, s, or where that is None with the truth."""
    import engine
    from engine import sensors
    from engine.components.actuators import ReactionWheels

    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    bus, arm = "bus", [j.name for j in model.joints if j.kind == "revolute"]
    still = np.zeros(6)

    def by_truth(t: Any, q: Any, v: Any) -> Any:
        return {"wheels": -12.0 * q[1:4] - 50.0 * v[:3], "tau": np.concatenate([still, -0.05 * q[7:] - 0.05 * v[6:]])}

    def by_signals(filter: Any, angles: Any, rates: Any) -> Any:
        return {"wheels": -12.0 * filter.q[1:] - 50.0 * filter.rate, "tau": np.concatenate([still, -0.05 * angles - 0.05 * rates])}

    own: dict[str, Any] = {}
    if period is not None:
        own = {"sensors": [
            sensors.Gyro(bus, period=period, noise=1e-5, walk=1e-8), sensors.Accelerometer(bus, period=period, noise=1e-4),
            sensors.StarTracker(bus, period=period, latency=period, noise=(2e-5, 2e-5, 1e-4)),
            sensors.Encoder(arm, period=period, quantum=1e-5, name="angles"),
            sensors.Encoder(arm, period=period, of="velocity", noise=1e-5, name="rates"),
            sensors.RelativePose(bus, model.links[-1].name, period=period, position={"noise": 1e-3}, attitude={"noise": 1e-3}),
        ], "laws": [sensors.AttitudeFilter(1e-5, 1e-8, (2e-5, 2e-5, 1e-4), period=period, latest=1)]}  # fmt: skip
    return engine.Simulator(model, dt=DT, integrator="rkmk4", gravity=(0, 0, 0), actuators=[ReactionWheels(bus, torque=2.0)],
                            controller=by_truth if period is None else by_signals, **own)  # fmt: skip


def step_of(simulator: Any, rows: int, steps: int) -> Any:
    """Return a function that returns a step's time on the processor, s a row: of a run less that of one that ends sooner, so that it is
    not of what every run begins and ends with."""
    model = simulator.model
    q, v = model.neutral(), np.concatenate([[0.01, 0.02, -0.01, 0, 0, 0], 1e-3 * np.ones(model.nv - 6)])
    q, v = (q, v) if rows == 1 else (np.tile(q, (rows, 1)), np.tile(v, (rows, 1)))
    own = {"parameters": {"noise.run": np.arange(rows)}} if rows > 1 and "noise.run" in simulator.parameters else {}

    def timed(n: int) -> float:
        begun = time.process_time()
        simulator.run(q, v, n * DT, record_every=n, **own)
        return time.process_time() - begun

    few = steps // 10
    timed(few)
    return lambda: (timed(steps) - timed(few)) / ((steps - few) * rows)
