"""Robots of any format that is read: a file is known by its outermost element."""

from __future__ import annotations

import os
from collections.abc import Iterable

from engine.checks import require_packages, truth
from engine.io import mjcf, sdf, usd
from engine.io.errors import RobotFileError, short
from engine.io.given import Given, given
from engine.io.urdf import XACRO, load_urdf
from engine.io.xml import outermost, root_of
from engine.model import Model

EXPECTED = "a robot file: URDF, xacro, SDF, MJCF or USD"


def load(path: str | os.PathLike[str], floating_base: bool = False, package_dirs: Iterable[str | os.PathLike[str]] = (),
         up_axis: bool | None = None) -> Model:  # fmt: skip
    """Return the :class:`Model` of a robot file in any format: URDF, xacro, SDF, MJCF, MuJoCo's own, or USD by its physics
    (.usd, .usda, .usdc, .usdz; the extra ``usd``).

    What an MJCF, SDF or USD file says besides links and joints is in ``model.described``; :func:`engine.simulator_of` makes a simulator
    of it.

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
    floating_base = truth("floating_base", floating_base, RobotFileError)
    said = given(path)
    if said.text is None and os.path.splitext(said.file)[1].lower() in usd.SUFFIXES:
        return usd.load_usd(said.file, floating_base)
    data = said.read(EXPECTED)
    kind = outermost(data, said.encoding)
    if kind == "sdf":
        if floating_base:
            raise RobotFileError("floating_base=True is not for SDF, where what no joint ties to the world floats; expected it left out",
                                 said.file)  # fmt: skip
        return sdf.load_sdf(path, package_dirs=folders_of(package_dirs))
    if kind == "mujoco":
        return mjcf.load_mjcf(path, floating_base, folders_of(package_dirs))
    if not data.strip():
        raise RobotFileError(f"the file is empty; expected {EXPECTED}", said.file)
    if b"xacro" in data.replace(b"\0", b"") and next(root_of(data, said.file, EXPECTED, said.encoding).iter(*XACRO), None) is not None:
        beside = [] if said.text is not None else [os.path.dirname(os.path.abspath(said.file))]        # meshes that its text names
        return load_urdf(expanded(said), floating_base, [*beside, *folders_of(package_dirs)], up_axis)
    return load_urdf(path, floating_base, package_dirs, up_axis)


def folders_of(package_dirs: Iterable[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """Return folders as a list."""
    return [package_dirs] if isinstance(package_dirs, (str, os.PathLike)) else [*package_dirs]


def expanded(said: Given) -> str:
    """Return the URDF text that xacro makes of a file.

    Raises
    ------
    RobotFileError : xacro is not there, or cannot expand the file
    """
    require_packages(f"{said.file}: xacro", "xacro", "xacro", error=RobotFileError)
    import xacro

    if said.text is not None:
        raise RobotFileError("a text of xacro is not read; expected a file", said.file)
    try:
        return str(xacro.process_file(said.file).toxml())
    except Exception as problem:  # whatever a macro raises
        raise RobotFileError(f"xacro cannot expand it ({short(str(problem))}); expected a file that it can", said.file) from None
