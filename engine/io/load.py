"""Robots of any format that is read: a file is known by its outermost element."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from engine.checks import require_packages
from engine.io.errors import RobotFileError, short
from engine.io.mjcf.mjcf import load_mjcf
from engine.io.sdf.document import is_sdf
from engine.io.sdf.sdf import load_sdf
from engine.io.urdf import MAX_BYTES, TEXT, XACRO, load_urdf
from engine.io.xml import bytes_of, root_of
from engine.model import Model

EXPECTED = "a robot file: URDF, xacro, SDF or MJCF"


def load(path: str | os.PathLike[str], floating_base: bool = False, package_dirs: Iterable[str | os.PathLike[str]] = (),
         up_axis: bool | None = None) -> Model:  # fmt: skip
    """Return the :class:`Model` of a robot file in any format: URDF, xacro, SDF, or MJCF, MuJoCo's own.

    What an MJCF or SDF file says besides links and joints is in ``model.described``; :func:`engine.simulator_of` makes a simulator of it.

    Parameters
    ----------
    path : the file, or its text itself, a str that begins with ``<``. A file of xacro, for which the extra ``xacro`` is needed, may read
        other files and compute what it likes: expand only those that you trust
    floating_base : whether the root link moves freely in the world, or in MJCF the world's one body, whatever the file says
    package_dirs : folders in which meshes and included files may lie, besides the file's own
    up_axis : of COLLADA meshes in URDF, see :func:`load_urdf`

    Raises
    ------
    RobotFileError : the file cannot be read, is of no format that is, or describes no mechanism

    Warns
    -----
    RobotFileWarning : something in it makes the motion another than the file means; :func:`engine.check` tells of all

    Examples
    --------
    >>> load('<mujoco><worldbody><body name="bob"><joint name="pivot"/><geom size="0.1"/></body></worldbody></mujoco>').nv
    1
    """
    if is_sdf(path):
        if floating_base:
            raise RobotFileError("floating_base=True is not for SDF, where what no joint ties to the world floats; expected it left out",
                                 name_of(path))  # fmt: skip
        return load_sdf(path, package_dirs=folders_of(package_dirs), stacklevel=3)
    root = root_of_file(path)
    if root.tag == "mujoco":
        return load_mjcf(path, floating_base, folders_of(package_dirs), 3)
    if next(root.iter(*XACRO), None) is not None:
        return load_urdf(expanded(path), floating_base, [*folders(path), *folders_of(package_dirs)], up_axis)
    return load_urdf(path, floating_base, package_dirs, up_axis)


def name_of(path: Any) -> str:
    """Return what a file is called in messages."""
    return TEXT if is_text(path) else os.fsdecode(path)


def is_text(path: Any) -> bool:
    """Whether a path is the text of a file itself."""
    return isinstance(path, str) and path.lstrip("\ufeff \t\r\n").startswith("<")


def root_of_file(path: Any) -> Any:
    """Return the outermost element of a file, or of a text."""
    if not isinstance(path, (str, os.PathLike)):
        raise RobotFileError(f"the robot file is {short(repr(path))}; expected a path (str or pathlib.Path), or XML text")
    if is_text(path):
        assert isinstance(path, str)
        data = path.lstrip("\ufeff \t\r\n").encode("utf-8", "surrogatepass")
    else:
        if "\0" in name_of(path):
            raise RobotFileError(f"the robot file's name {short(repr(name_of(path)))} holds a null character; expected a path")
        data = bytes_of(name_of(path), MAX_BYTES, EXPECTED)
    if not data.strip():
        raise RobotFileError(f"the file is empty; expected {EXPECTED}", name_of(path))
    return root_of(data, name_of(path), EXPECTED, "utf-8" if is_text(path) else None)


def folders_of(package_dirs: Iterable[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """Return folders as a list."""
    return [package_dirs] if isinstance(package_dirs, (str, os.PathLike)) else [*package_dirs]


def folders(path: Any) -> list[str]:
    """Return the folder of a file, in which meshes lie that its text names."""
    return [] if is_text(path) else [os.path.dirname(os.path.abspath(name_of(path)))]


def expanded(path: Any) -> str:
    """Return the URDF text that xacro makes of a file.

    Raises
    ------
    RobotFileError : xacro is not there, or cannot expand the file
    """
    require_packages(f"{name_of(path)}: xacro", "xacro", "xacro", error=RobotFileError)
    import xacro

    if is_text(path):
        raise RobotFileError("a text of xacro is not read; expected a file", TEXT)
    try:
        return str(xacro.process_file(name_of(path)).toxml())
    except Exception as problem:  # whatever a macro raises
        raise RobotFileError(f"xacro cannot expand it ({short(str(problem))}); expected a file that it can", name_of(path)) from None
