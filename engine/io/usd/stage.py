"""A stage of USD: its units, where its prims are, and what is said of those."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from engine.io.errors import RobotFileError
from engine.spatial import quaternion, se3

Array = np.ndarray
#: from a world whose y points up to one whose z does
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
#: what simulators add to the schema, by the beginnings of its names
FOREIGN = ("physx", "newton", "mjc", "state:")


#: beginnings of attributes that say where a body or a shape is, or how it moves, and are read as they are without a time
MOVING = ("xformOp:", "physics:", "drive:", "limit:", "points", "size", "radius", "height")
#: letters of what USD says that are shown
LETTERS = 240


class Whose(NamedTuple):
    """The prim that a message is about; stages have no lines."""

    place: str
    line: int = 0


#: of findings about the whole
START = Whose("robot")


class Stage:
    """An open stage.

    Attributes
    ----------
    length, mass : m and kg of its units
    left_out : what is not read, and of whom
    read : names of attributes that are, of those that simulators add
    uncomposed : what OpenUSD says of what it cannot compose
    """

    def __init__(self, file: str) -> None:
        from pxr import Tf, Usd, UsdGeom, UsdPhysics, UsdShade

        try:
            self.stage = Usd.Stage.Open(file)
        except Tf.ErrorException as problem:
            line, text = first_of([str(e.commentary) for e in problem.args if hasattr(e, "commentary")] or [str(problem)], file)
            raise RobotFileError(f"USD does not read it ({text}); expected a stage of USD", file, line) from None
        self.file, self.Usd, self.Geom, self.Physics, self.Shade = file, Usd, UsdGeom, UsdPhysics, UsdShade
        self.length = float(UsdGeom.GetStageMetersPerUnit(self.stage))
        self.mass = float(UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        for what, unit in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.mass)):
            if not 0.0 < unit < np.inf:
                raise RobotFileError(f"{what} is {unit:g}; expected a number above zero", file)
        self.upright = np.eye(3) if UsdGeom.GetStageUpAxis(self.stage) == "Z" else UPRIGHT
        self.places = UsdGeom.XformCache()
        self.left_out: dict[str, list[str]] = {}
        self.read: set[str] = set()
        self.uncomposed = [str(error) for error in self.stage.GetCompositionErrors()]
        for said in self.uncomposed:
            line, text = first_of([said], file)
            self.leave("what cannot be composed, such as references that cannot be opened", f"{text}{f' (line {line})' if line else ''}")
        whole = self.stage.GetRootLayer()
        own = {"metersPerUnit": self.length, "kilogramsPerUnit": self.mass, "upAxis": str(UsdGeom.GetStageUpAxis(self.stage))}
        for layer, (name, x) in itertools.product(self.stage.GetUsedLayers(), own.items()):
            if layer != whole and layer.pseudoRoot.HasInfo(name) and layer.pseudoRoot.GetInfo(name) != x:
                self.leave("units and axes of parts that are others than the stage's", f"{name} of {layer.identifier}")

    def leave(self, what: str, whose: Any) -> None:
        """Note what is left out, and of whom."""
        self.left_out.setdefault(what, []).append(str(whose))

    def prims(self) -> Iterator[Any]:
        """Yield all prims that are there, those of instances too."""
        yield from self.below(self.stage.GetPseudoRoot(), bodies=True)

    def below(self, prim: Any, bodies: bool = False) -> Iterator[Any]:
        """Yield a prim and those below it, but for what an instancer of points places, and, without ``bodies``, for other bodies and what
        they carry."""
        walk = iter(self.Usd.PrimRange(prim, self.Usd.TraverseInstanceProxies()))
        for other in walk:
            if other.IsPseudoRoot():
                continue
            if not bodies and other != prim and self.is_body(other):
                walk.PruneChildren()
                continue
            if other.IsA(self.Geom.PointInstancer):                            # whose prototypes are nowhere by themselves
                walk.PruneChildren()
            yield other

    def standing(self) -> Iterator[Any]:
        """Yield all prims that no body carries."""
        return self.below(self.stage.GetPseudoRoot())

    def is_body(self, prim: Any) -> bool:
        """Return whether a prim is a rigid body that moves."""
        return bool(prim.HasAPI(self.Physics.RigidBodyAPI)) and value(self.Physics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr(), True)

    def collides(self, prim: Any) -> bool:
        """Return whether a prim is a shape that touches others."""
        return bool(prim.HasAPI(self.Physics.CollisionAPI)) and value(self.Physics.CollisionAPI(prim).GetCollisionEnabledAttr(), True)

    def added(self, prim: Any, name: str, otherwise: Any = None) -> Any:
        """Return an attribute that simulators add to the schema."""
        self.read.add(name)
        return value(prim.GetAttribute(name), otherwise)

    def pose(self, prim: Any) -> tuple[Array, Array]:
        """Return a prim's pose (4, 4) in a world whose z points up, m, and its scale (3).

        Raises
        ------
        RobotFileError : it is mirrored or sheared
        """
        M = np.array(self.places.GetLocalToWorldTransform(prim)).T
        scale = np.linalg.norm(M[:3, :3], axis=0)
        if not scale.all() or not np.isfinite(M).all():
            raise RobotFileError(f"prim {prim.GetPath()} has a scale of zero, or infinite; expected a pose", self.file)
        R = M[:3, :3] / scale
        if np.abs(R.T @ R - np.eye(3)).max() > 1e-5 or np.linalg.det(R) < 0.0:
            raise RobotFileError(f"prim {prim.GetPath()} is mirrored or sheared; expected a rotation and a scale along axes", self.file)
        q = quaternion.normalize(quaternion.from_matrix(R))
        return se3.pose(self.upright @ quaternion.to_matrix(q), self.upright @ M[:3, 3] * self.length), scale

    def unread(self) -> None:
        """Note what simulators have added to the schema, and is not read, what has values at times alone, and what instancers place."""
        for prim in self.prims():
            if prim.IsA(self.Geom.PointInstancer):
                self.leave("instancers of points", prim.GetPath())
            for a in prim.GetAuthoredAttributes():
                if str(a.GetName()).startswith(MOVING) and a.GetNumTimeSamples() and a.Get() is None:
                    self.leave("values by time samples without a default, which count as not said", a.GetPath())
                if (name := str(a.GetName())).startswith(FOREIGN) and name not in self.read:
                    self.leave("what the schema of UsdPhysics has not", f"{name} of {prim.GetPath()}")


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """Hear what OpenUSD warns of, which it would print."""
    from pxr import UsdUtils

    listener, heard = UsdUtils.CoalescingDiagnosticDelegate(), list[str]()
    try:
        yield heard
    finally:
        heard += [x.commentary for x in listener.TakeUncoalescedDiagnostics()]
        del listener                                                           # by which it prints again


def first_of(texts: list[str], file: str, most: int = LETTERS) -> tuple[int, str]:
    """Return the line of a file that one of USD's texts names, and what it says there; of texts that name none 0, and the first.

    >>> first_of(["arm.usda:9:4: Expected } at 'float x = = 3' in </a>", "Failed to open layer"], "arm.usda")
    (9, "Expected } at 'float x = = 3' in </a>")
    """
    each = [" ".join(text.split()) for text in texts]
    own = re.escape(os.path.basename(file))
    found = [m for text in each if (m := re.match(rf"(.*{own}):(\d+):(?:\d+:)? (.*)", text))]
    line, text = (int(found[0][2]), found[0][3]) if found else (0, each[0])
    return line, text if len(text) <= most else text[: most - 1] + "…"


def value(attribute: Any, otherwise: Any) -> Any:
    """Return an attribute's value, or another where it has none."""
    found = attribute.Get() if attribute else None
    return otherwise if found is None else found


def quaternion_of(q: Any) -> Array:
    """Return a quaternion of USD, scalar first; one of zeros stands for none."""
    found = np.array([q.GetReal(), *q.GetImaginary()], dtype=float)
    return quaternion.normalize(found) if found.any() else quaternion.identity()
