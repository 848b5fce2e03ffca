"""``engine check``: all that is wrong, or looks wrong, in a robot's file."""

import engine
from engine.cli.ending import Failure
from engine.cli.options import Floating, Packages, Robot
from engine.cli.recordings import is_recording


def check(robot: Robot, floating: Floating = False, package_dir: Packages = None) -> None:
    """Print all that is wrong, or looks wrong, in a robot's file, with lines: errors, warnings, notes.

    Each mesh is read. Warned of are also inertias that no body of that mass and shape has. It ends with 1 if there are errors: the robot
    does not load, or cannot move.

    Examples:
    engine check robot.urdf
    engine check robot.urdf --floating               its base moves freely
    engine check robot.urdf --package-dir ~/ros/src  where package:// meshes lie
    """
    if is_recording(robot):
        raise Failure(f"'{robot}' is a recording; expected a robot's file ('engine verify' checks recordings)")
    report = engine.check(robot, package_dir or (), meshes=True, floating_base=floating)
    print(report)
    if not report.ok:
        raise Failure(f"{robot}: {report.count('error')} found, listed above")
