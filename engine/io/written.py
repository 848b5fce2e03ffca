"""Text of robot files: numbers to their last bit, paths of meshes, and warnings of what is not written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import shown, warn
from engine.dynamics import GRAVITY
from engine.io.errors import RobotFileError, RobotFileWarning
from engine.model import Geometry, Link, Model
from engine.spatial import inertia


def row(x: Any) -> str:
    """Return numbers as a text that is read back as the same.

    >>> row([0.1, 1e-300])
    '0.1 1e-300'
    """
    return " ".join(repr(float(y)) for y in np.ravel(x))


def body_of(link: Link, file: str) -> tuple[float, Any, Any]:
    """Return the mass, the centre of mass (3), and the tensor about it (3, 3); refuse what is no rigid body's."""
    G = link.inertia
    if not inertia.is_rigid(G):
        raise RobotFileError(f"link '{link.name}' has an inertia of no rigid body, which no robot file says; expected a rigid one", file)
    return link.mass, inertia.center(G), inertia.recentered(G, np.zeros(3))[:3, :3]


def mesh_of(geometry: Geometry, file: str) -> str:
    """Return the name of a mesh's file, from the folder of the robot's."""
    return geometry.uri if geometry.mesh is None else seen_from(file, geometry.mesh)


def seen_from(file: str, path: Path) -> str:
    """Return the path of a file from the folder of the robot's."""
    return Path(os.path.relpath(path, os.path.dirname(os.path.abspath(file)))).as_posix()


def save(model: Any, path: Any, write: Any) -> Path:
    """Write a model's text to a file; warn once of all that it does not say."""
    from lxml import etree

    if not isinstance(model, Model):
        raise RobotFileError(f"what is saved is {shown(model)}; expected a model")
    if not isinstance(path, (str, os.PathLike)):
        raise RobotFileError(f"the file is {shown(path)}; expected a path (str or pathlib.Path)")
    file = os.fsdecode(path)
    lost: list[str] = []
    root = write(model, file, lost)
    etree.indent(root)
    try:
        Path(file).write_bytes(etree.tostring(root, xml_declaration=True, encoding="utf-8", pretty_print=True))
    except OSError as problem:
        raise RobotFileError(f"the file cannot be written ({problem.strerror}); expected a folder that is there", file) from None
    if lost:
        warn(f"{file} leaves out {', '.join(dict.fromkeys(lost))}, which is not written", RobotFileWarning)
    return Path(file)


def said_of(model: Model) -> Iterable[str]:
    """Yield what a file described besides the tree, in words."""
    if (said := model.described) is not None:
        if not np.array_equal(said.q, model.neutral()):
            yield "the configuration described"
        if said.gravity is not None and tuple(said.gravity) != GRAVITY:
            yield "the gravity described"
        for what in ("constraints", "actuators", "forces", "keyframes", "sensors"):
            if getattr(said, what):
                yield f"the {what} described"
        if said.contacts is not None:
            yield "the contacts described"
