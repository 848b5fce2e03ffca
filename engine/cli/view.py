"""``engine view``: a window on a robot or a recording."""

from typing import Annotated

import typer

import engine
from engine.cli.ending import Failure, refuse_unread
from engine.cli.options import (
    Collision,
    Colors,
    Environment,
    File,
    Floating,
    Follow,
    Gravity,
    Hidden,
    Overlays,
    Packages,
    Plots,
    Rollout,
    Signals,
    Trails,
    UpAxis,
    View,
    Weightless,
    chosen_gravity,
    overlaid,
    plotted,
    seconds,
)
from engine.cli.recordings import shown
from engine.dynamics import GRAVITY


def view(
    file: File,
    floating: Floating = False,
    collision: Collision = False,
    environment: Environment = None,
    side: View = None,
    follow: Follow = None,
    rollout: Rollout = None,
    show: Overlays = None,
    trail: Trails = None,
    hide: Hidden = None,
    colors: Colors = None,
    signal: Signals = None,
    plots: Plots = "right",
    live: Annotated[bool, typer.Option("--live", help="Let the robot move by itself, in real time; Ctrl + drag pulls it.")] = False,
    dt: Annotated[float | None, typer.Option(metavar="S", help="With --live: the length of a step, s.", callback=seconds)] = None,
    gravity: Gravity = None,
    zero_gravity: Weightless = False,
    package_dir: Packages = None,
    up_axis: UpAxis = None,
    web: Annotated[bool, typer.Option("--web", help="Serve a page for browsers instead, until Ctrl-C, and print its address.")] = False,
) -> None:
    """Open a window on a robot or a recording.

    Drag turns the view, the wheel comes closer, a click picks a link, space plays and pauses, H shows all keys.

    Examples:
    engine view robot.urdf                     turn it; Ctrl + drag moves its joints
    engine view robot.urdf --collision
    engine view run.h5                         plays it; H shows the keys
    engine view batch.h5                       all rollouts together
    engine view batch.h5 --rollout 3
    engine view run.h5 --follow base --environment plain
    engine view run.h5 --signal q.shoulder,q.elbow --plots left
    engine view run.h5 --show centers --show momentum --trail gripper
    engine view robot.urdf --live              it moves by itself; Ctrl + drag pulls it
    engine view robot.urdf --web               in a browser, with sliders for its joints

    A window takes a display; where there is none, --web serves a page for a browser, engine render draws the same into a file, and engine
    export makes a page that needs no server.
    """
    if web:
        refuse_unread("is for a window; expected none with --web, where the mouse turns the view", view=side, follow=follow,
                      colors=colors)
    source = shown(file, floating, rollout, package_dir, up_axis, follow)
    chosen = overlaid(show, trail, hide, colors)
    force = chosen_gravity(gravity, zero_gravity)
    if not live and (dt is not None or force is not None):
        raise Failure(f"{'--dt' if dt is not None else '--gravity'} is for --live; expected that too, or the option left out", 2)
    if live:
        if not isinstance(source, engine.Model):
            raise Failure(f"--live: '{file}' is a recording, which plays; expected a URDF file", 2)
        source = engine.Simulator(source, dt=dt or 1e-3, gravity=GRAVITY if force is None else force)
    geometry = "collision" if collision else "visual"
    if not web:
        engine.view(source, view=side, environment=environment, geometry=geometry, follow=follow, shown=chosen,
                    signals=plotted(signal), plots=plots)  # fmt: skip
        return
    with engine.serve(source, environment=environment, geometry=geometry, shown=chosen, signals=plotted(signal), plots=plots) as server:
        print(server.url, flush=True)
        server.wait()
