"""``engine view``: a window on a robot or a recording."""

import contextlib
from typing import Annotated

import typer

import engine
from engine.cli.ending import refuse_unread
from engine.cli.options import Collision, Environment, Floating, Follow, Packages, Rollout, Shown, View
from engine.cli.recordings import shown


def view(
    file: Shown,
    floating: Floating = False,
    collision: Collision = False,
    environment: Environment = None,
    side: View = None,
    follow: Follow = None,
    rollout: Rollout = None,
    package_dir: Packages = None,
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
    engine view robot.urdf --web               in a browser, with sliders for its joints

    A window takes a display; where there is none, --web serves a page for a browser, engine render draws the same into a file, and engine
    export makes a page that needs no server.
    """
    if web:
        refuse_unread("is for a window; expected none with --web, where the mouse turns the view", view=side, follow=follow)
    source = shown(file, floating, rollout, package_dir, follow)
    geometry = "collision" if collision else "visual"
    if not web:
        engine.view(source, view=side, environment=environment, geometry=geometry, follow=follow)
        return
    with engine.serve(source, environment=environment, geometry=geometry) as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        server.wait()
