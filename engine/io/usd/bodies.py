"""Rigid bodies of USD: their shapes, of what they are made, and their inertias, given or by their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.io.errors import RobotFileError
from engine.io.usd.shapes import shape_of, solid
from engine.io.usd.stage import Stage, quaternion_of, value
from engine.model import Geometry
from engine.spatial import inertia, quaternion

Array = np.ndarray
#: kg/m³ where neither mass nor density is said
DENSITY = 1000.0


class Body:
    """A body, or what stands: its pose in the world, scale, shapes and inertia in its own axes, about its origin.

    Attributes
    ----------
    visuals, collisions : its shapes; touching : the prims of those that collide
    stands : whether forces do not move it
    """

    def __init__(self, stage: Stage, prim: Any, moves: bool = True) -> None:
        self.stage, self.prim, self.path = stage, prim, str(prim.GetPath())
        self.pose, self.scale = stage.pose(prim)
        self.visuals: list[Geometry] = []
        self.collisions: list[Geometry] = []
        self.touching: list[Any] = []
        self.stands = not moves or bool(value(stage.Physics.RigidBodyAPI(prim).GetKinematicEnabledAttr(), False))
        for other in stage.below(prim) if moves else [prim]:
            if other.IsA(stage.Geom.PointInstancer):
                stage.leave("instancers of points", other.GetPath())
            if not other.IsA(stage.Geom.Gprim):
                continue
            shape = shape_of(stage, other, self.pose)
            if shape is None and not other.IsA(stage.Geom.Mesh):                # of which it says itself why
                stage.leave("shapes that are not read", f"{other.GetTypeName()} {other.GetPath()}")
            elif shape is not None and stage.collides(other):
                self.collisions.append(shape)
                self.touching.append(other)
            elif shape is not None:
                self.visuals.append(shape)
        self.inertia = np.zeros((6, 6)) if self.stands else self._inertia()
        if moves:
            self._motion()

    def place(self, position: Any) -> Array:
        """Return a point of the body, given in its own scaled units, m."""
        return np.array(position, dtype=float) * self.scale * self.stage.length

    def _motion(self) -> None:
        """Note what is left out of how it moves."""
        api = self.stage.Physics.RigidBodyAPI(self.prim)
        for what, attribute in (("velocities at first", api.GetVelocityAttr()), ("velocities at first", api.GetAngularVelocityAttr())):
            if any(value(attribute, ())):
                self.stage.leave(what, f"{self.path}.{attribute.GetName()}")
        if self.prim.HasAPI(self.stage.Physics.RigidBodyAPI) and value(api.GetStartsAsleepAttr(), False):
            self.stage.leave("that bodies sleep at first", self.path)

    def _inertia(self) -> Array:
        """Return its inertia: what is said of it, and else that of its shapes."""
        api, length = self.stage.Physics.MassAPI(self.prim), self.stage.length
        there = self.prim.HasAPI(self.stage.Physics.MassAPI)
        mass = float(value(api.GetMassAttr(), 0.0)) * self.stage.mass if there else 0.0
        density = float(value(api.GetDensityAttr(), 0.0)) * self.stage.mass / length**3 if there else 0.0
        diagonal = np.array(value(api.GetDiagonalInertiaAttr(), (0.0,) * 3), dtype=float) if there else np.zeros(3)
        center = np.array(value(api.GetCenterOfMassAttr(), (-np.inf,) * 3), dtype=float) if there else np.full(3, -np.inf)
        if mass < 0.0 or density < 0.0 or (diagonal < 0.0).any():
            raise RobotFileError(f"body {self.path} has a mass, density or inertia below zero; expected numbers from zero", self.stage.file)
        if mass > 0.0 and diagonal.all():
            R = quaternion.to_matrix(quaternion_of(api.GetPrincipalAxesAttr().Get()))
            at = self.place(center) if np.isfinite(center).all() else np.zeros(3)
            return inertia.from_mass(mass, at, R @ np.diag(diagonal * self.stage.mass * length**2) @ R.T)
        shapes = [(s, self._shape_mass(p)) for s, p in zip(self.collisions, self.touching, strict=True)] or \
            [(s, (0.0, 0.0, False)) for s in self.visuals]  # fmt: skip
        if not shapes:
            if mass > 0.0:
                raise RobotFileError(f"body {self.path} has a mass, and neither physics:diagonalInertia nor shapes that are read; expected "
                                     "one of both", self.stage.file)  # fmt: skip
            return np.zeros((6, 6))
        G = np.zeros((6, 6))
        for shape, (own, made_of, hull) in shapes:
            try:
                part = solid(shape, density or made_of or DENSITY, hull)
            except EngineError as problem:
                raise RobotFileError(f"body {self.path} has the mass of its mesh '{shape.name}': {problem}", self.stage.file) from None
            G = G + inertia.transformed(shape.placement, part * (own / part[5, 5] if own else 1.0))
        if mass > 0.0:
            G = G * (mass / G[5, 5])
        return inertia.recentered(G, self.place(center)) if np.isfinite(center).all() else G

    def _shape_mass(self, prim: Any) -> tuple[float, float, bool]:
        """Return a shape's own mass, kg, and density, kg/m³, zero where they are not said, and whether it counts as its hull."""
        stage, api = self.stage, self.stage.Physics.MassAPI(prim)
        there = prim != self.prim and prim.HasAPI(stage.Physics.MassAPI)
        mass, density = (float(value(a, 0.0)) if there else 0.0 for a in (api.GetMassAttr(), api.GetDensityAttr()))
        if not density and (material := material_of(stage, prim)) is not None:
            density = float(value(stage.Physics.MaterialAPI(material).GetDensityAttr(), 0.0))
        way = str(value(stage.Physics.MeshCollisionAPI(prim).GetApproximationAttr(), "none"))
        return mass * stage.mass, density * stage.mass / stage.length**3, way == "convexHull"


def material_of(stage: Stage, prim: Any) -> Any:
    """Return the physical material that a shape is bound to, or None."""
    bound = stage.Shade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0].GetPrim()
    return bound if bound and bound.HasAPI(stage.Physics.MaterialAPI) else None
