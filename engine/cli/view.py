"""``engine view``: a window on a robot or a recording."""

import engine
from engine.cli.options import Collision, Environment, Floating, Follow, Packages, Rollout, Shown, UpAxis, View
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
    up_axis: UpAxis = None,
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

    A window takes a display; where there is none, engine render draws the same into a file, and engine export makes a page for a browser.
    """
    source = shown(file, floating, rollout, package_dir, up_axis, follow)
    engine.view(source, view=side, environment=environment, geometry="collision" if collision else "visual", follow=follow)
