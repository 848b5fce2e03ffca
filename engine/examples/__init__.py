"""Robots that come with the engine, wherever it is installed: a folder each, with a URDF file of its name."""

from __future__ import annotations

from pathlib import Path

from engine.checks import nearest
from engine.io import RobotFileError

__all__ = ["example"]

FOLDER = Path(__file__).parent


def example(name: str) -> Path:
    """Return the URDF file of a robot that comes with the engine.

    Parameters
    ----------
    name : "free_flyer", a servicer satellite with a seven-joint arm; "dual_arm_servicer", a larger one with two of them; "seven_joint_arm",
        on a table; "quadruped", which stands at zero angles. Satellites and the quadruped are loaded with a floating base

    Raises
    ------
    RobotFileError : there is none of that name

    Examples
    --------
    >>> from engine.io import load_urdf
    >>> load_urdf(example("free_flyer"), floating_base=True)
    <model 'free_flyer': 11 links, 11 joints, nq 14, nv 13>
    >>> load_urdf(example("seven_joint_arm"))
    <model 'seven_joint_arm': 9 links, 8 joints, nq 7, nv 7>
    """
    there = sorted(path.parent.name for path in FOLDER.glob("*/*.urdf"))
    if name not in there:
        raise RobotFileError(f"there is no example {name!r}{nearest(str(name), there)}; expected one of {', '.join(there)}")
    return FOLDER / name / f"{name}.urdf"
