"""Spacecraft against Basilisk: its own test of a spacecraft, with wheels and without, step by step, both in one process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

MU = 3.986004415e14
PLACE, SPEED = [-4020338.690396649, 7490566.741852513, 5248299.211589362], [-5199.77710904224, -3436.681645356935, 1041.576797498721]
MOMENTS, TURN, DT, STEPS = [500.0, 200.0, 300.0], [0.5, -0.4, 0.7], 0.01, 20000
#: of wheels about x, y and z: speeds, rad/s, and the inertia of a Honeywell HR16 of 100 N·m·s about its axis
SPEEDS, ROTOR = [50.0, -20.0, 30.0], 100.0 / (6000.0 * np.pi / 30.0)


def spacecraft(table: Table) -> None:
    """A rigid hub in the Earth's gravity at 0.01 s, alone and with three wheels, by Runge and Kutta's four stages on both sides."""
    try:
        import Basilisk  # noqa: F401
    except ImportError as error:
        table.lack("spacecraft", f"{error} (pip install bsk==2.12.0)")
        return
    import engine

    engine.set_threads(1)
    for wheels in (False, True):
        ours, theirs = flown(wheels), basilisk(wheels)
        ratios, times = [], []
        for _ in range(5):
            a, b = ours(STEPS), theirs(STEPS)
            ratios.append(b[0] / a[0])
            times.append((a[0], b[0]))
        off = float(np.abs(a[1] - b[1]).max())
        mine, other = (float(np.median(x)) for x in zip(*times, strict=True))
        name = "a step with three wheels" if wheels else "a step of a rigid hub"
        ratio = float(np.median(ratios))
        table.add("spacecraft", name, ratio, "x Basilisk", ">= 20", ratio >= 20.0, ours_us=mine * 1e6, theirs_us=other * 1e6)
        table.add("spacecraft", f"{name}, places apart after {STEPS * DT:g} s", off, "m", "<= 1e-6", off <= 1e-6)


def timed(run: Any, steps: int, place: Any) -> tuple[float, np.ndarray]:
    """Return a step's time on the processor, s, and where it ends, m (3)."""
    begun = time.process_time()
    run()
    return (time.process_time() - begun) / steps, place()


def flown(wheels: bool) -> Any:
    """Return a function of a number of steps: their time, and where they end."""
    import engine
    from engine.components.actuators import ReactionWheels
    from engine.space import GravityField, ReferenceOrbit

    builder = engine.Builder("bsk")
    builder.add_link("hub", inertia=engine.spatial.inertia.from_mass(100.0 + 27.0 * wheels, np.zeros(3), np.diag(MOMENTS)))
    frame = ReferenceOrbit(PLACE, SPEED, GravityField(MU, gradient=False))
    on = [ReactionWheels("hub", initial=ROTOR * (np.array(SPEEDS) + TURN))] if wheels else []
    simulator = engine.Simulator(builder.model(floating_base=True), DT, "rkmk4", gravity=(0, 0, 0), frame=frame, actuators=on)
    q, v = [1, 0, 0, 0, 0, 0, 0], [*TURN, 0, 0, 0]
    simulator.run(q, v, 10 * DT)

    def fly(steps: int) -> tuple[float, np.ndarray]:
        found: list[Any] = []
        return timed(lambda: found.append(simulator.run(q, v, steps * DT, record_every=steps)), steps,
                     lambda: sum(x[-1] for x in found[0].orbit("hub")))  # fmt: skip

    return fly


def basilisk(wheels: bool) -> Any:
    """Return a function of a number of steps: their time, and where they end."""
    from Basilisk.simulation import gravityEffector, reactionWheelStateEffector, spacecraft
    from Basilisk.utilities import SimulationBaseClass, macros, simIncludeRW

    def fly(steps: int) -> tuple[float, np.ndarray]:
        simulation = SimulationBaseClass.SimBaseClass()
        simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(DT)))
        craft, earth = spacecraft.Spacecraft(), gravityEffector.GravBodyData()
        earth.planetName, earth.mu, earth.isCentralBody = "earth_planet_data", MU, True
        craft.gravField.gravBodies = spacecraft.GravBodyVector([earth])
        craft.hub.mHub, craft.hub.IHubPntBc_B = 100.0, np.diag(MOMENTS).tolist()
        craft.hub.r_CN_NInit, craft.hub.v_CN_NInit, craft.hub.omega_BN_BInit = ([[x] for x in y] for y in (PLACE, SPEED, TURN))
        if wheels:
            factory, states = simIncludeRW.rwFactory(), reactionWheelStateEffector.ReactionWheelStateEffector()
            for axis, speed in zip(np.eye(3).tolist(), SPEEDS, strict=True):
                factory.create("Honeywell_HR16", axis, maxMomentum=100.0, Omega=speed * 30.0 / np.pi, RWModel=0)
            factory.addToSpacecraft("wheels", states, craft)
            simulation.AddModelToTask("task", states)
        simulation.AddModelToTask("task", craft)
        simulation.InitializeSimulation()

        def run() -> None:
            simulation.ConfigureStopTime(macros.sec2nano(steps * DT))
            simulation.ExecuteSimulation()

        return timed(run, steps, lambda: np.array(craft.scStateOutMsg.read().r_BN_N))

    return fly
