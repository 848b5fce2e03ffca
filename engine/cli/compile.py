"""``engine compile``: what simulating a robot takes, traced and compiled ahead."""

import time
import warnings
from typing import Annotated

import typer

import engine
from engine import cache
from engine.cli.doctor import describe_cache
from engine.cli.ending import Failure
from engine.cli.options import Floating, Gravity, Robot, Weightless, chosen_gravity, seconds
from engine.cli.simulate import Ideal, Integrator
from engine.dynamics import GRAVITY


def compile(
    robot: Robot,
    floating: Floating = False,
    dt: Annotated[float | None, typer.Option(metavar="S", help="The step, s; if not given the file's, or 1e-3.", callback=seconds)] = None,
    integrator: Integrator = None,
    gravity: Gravity = None,
    zero_gravity: Weightless = False,
    ideal_joints: Ideal = False,
    described: Annotated[bool, typer.Option("--described", help="With all that the file describes besides its tree.")] = False,
    rows: Annotated[int, typer.Option(metavar="N", help="Of a batch: from 2 on its code is made too.", min=1)] = 1,
) -> None:
    """Trace and compile what simulating a robot takes, so that later processes find it in the cache.

    It is what engine simulate runs with the same options; with --described what engine.simulator_of makes of the file. Images of machines
    and workers of clusters are warmed so; the cache (ENGINE_CACHE) knows kinds of processors apart.

    Examples:
    engine compile robot.urdf --floating
    engine compile arm.urdf --dt 1e-4 --rows 4096
    """
    if (said := cache.trouble()) or (folder := cache.folder()) is None:
        raise Failure(said or "ENGINE_CACHE is 0, which keeps nothing; expected it to name a folder of your own, or not to be set")
    g, model = chosen_gravity(gravity, zero_gravity), engine.load(robot, floating_base=floating)
    begun, says = time.perf_counter(), model.described
    given = {"dt": dt, "integrator": integrator, "gravity": g, "joint_dynamics": False if ideal_joints else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cache.CacheWarning)                    # which is the failure below
        if described:
            simulator = engine.warm(model, rows, **{name: x for name, x in given.items() if x is not None})
        else:
            dt = (says.dt if says else None) or 1e-3 if dt is None else dt
            g = (says.gravity if says else None) or GRAVITY if g is None else g
            simulator = engine.warm(engine.Simulator(model, dt, integrator, g, joint_dynamics=not ideal_joints), rows)
    if cache.missed:
        raise Failure(cache.missed[-1])
    print(f"{simulator}\nready in {time.perf_counter() - begun:.2g} s; {folder} has {describe_cache(folder)}")
