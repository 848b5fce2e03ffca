"""Rigid bodies of USD: their shapes, and their inertias, given or of what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.usd.stage import Stage, quaternion_of, value
from engine.model import Geometry
from engine.spatial import inertia, quaternion, se3, so3

Array = np.ndarray
#: kg/m³ where neither mass nor density is said
DENSITY = 1000.0
#: what turns z to an axis
TURNS = {"X": so3.exp(np.array([0.0, np.pi / 2, 0.0])), "Y": so3.exp(np.array([-np.pi / 2, 0.0, 0.0])), "Z": np.eye(3)}


class Body:
    """A body: its pose in the world, scale, shapes and inertia in its own axes, about its origin."""

    def __init__(self, stage: Stage, prim: Any) -> None:
        self.stage, self.prim, self.path = stage, prim, str(prim.GetPath())
        self.pose, self.scale = stage.pose(prim)
        self.visuals: list[Geometry] = []
        self.collisions: list[Geometry] = []
        self.unread: list[str] = []
        for other in stage.below(prim):
            if other.IsA(stage.Geom.Gprim):
                shape = self.shape(other)
                if shape is None:
                    self.unread.append(f"{other.GetTypeName()} {other.GetPath()}")
                elif other.HasAPI(stage.Physics.CollisionAPI):
                    self.collisions.append(shape)
                else:
                    self.visuals.append(shape)
        self.inertia = self._inertia()

    def place(self, position: Any) -> Array:
        """Return a point of the body, given in its own scaled units, m."""
        return np.array(position, dtype=float) * self.scale * self.stage.length

    def shape(self, prim: Any) -> Geometry | None:
        """Return a shape, or None of a kind that is not read, or one that its scale makes another."""
        G, length = self.stage.Geom, self.stage.length
        pose, scale = self.stage.pose(prim)
        at = se3.inv(self.pose) @ pose
        even = np.ptp(scale) < 1e-6 * scale.max()
        if prim.IsA(G.Cube):
            size = scale * float(value(G.Cube(prim).GetSizeAttr(), 2.0)) * length
            return Geometry("box", tuple(size.tolist()), at)
        if prim.IsA(G.Sphere) and even:
            return Geometry("sphere", (float(scale[0] * value(G.Sphere(prim).GetRadiusAttr(), 1.0)) * length,), at)
        for kind in ("Cylinder", "Capsule"):
            if prim.IsA(getattr(G, kind)) and even:
                own = getattr(G, kind)(prim)
                radius, height = (float(scale[0] * value(a, d)) * length
                                  for a, d in ((own.GetRadiusAttr(), 0.5), (own.GetHeightAttr(), 1.0)))  # fmt: skip
                turn = se3.pose(TURNS[str(value(own.GetAxisAttr(), "Z"))], np.zeros(3))
                return Geometry(kind.lower(), (radius, height), at @ turn)
        return None

    def _inertia(self) -> Array:
        """Return its inertia: what is said of it, and else that of its shapes."""
        api, length = self.stage.Physics.MassAPI(self.prim), self.stage.length
        there = self.prim.HasAPI(self.stage.Physics.MassAPI)
        mass = float(value(api.GetMassAttr(), 0.0)) * self.stage.mass if there else 0.0
        density = float(value(api.GetDensityAttr(), 0.0)) * self.stage.mass / length**3 if there else 0.0
        diagonal = np.array(value(api.GetDiagonalInertiaAttr(), (0.0,) * 3), dtype=float) if there else np.zeros(3)
        center = np.array(value(api.GetCenterOfMassAttr(), (-np.inf,) * 3), dtype=float) if there else np.full(3, -np.inf)
        if mass > 0.0 and diagonal.all():
            R = quaternion.to_matrix(quaternion_of(api.GetPrincipalAxesAttr().Get()))
            at = self.place(center) if np.isfinite(center).all() else np.zeros(3)
            return inertia.from_mass(mass, at, R @ np.diag(diagonal * self.stage.mass * length**2) @ R.T)
        shapes = self.collisions or self.visuals
        if not shapes:
            if mass > 0.0:
                raise RobotFileError(f"body {self.path} has a mass, and neither physics:diagonalInertia nor shapes that are read; expected "
                                     "one of both", self.stage.file)  # fmt: skip
            return np.zeros((6, 6))
        G = sum((inertia.transformed(s.placement, solid(s, density or DENSITY)) for s in shapes), np.zeros((6, 6)))
        if mass > 0.0:
            G = G * (mass / G[5, 5])
        return inertia.recentered(G, self.place(center)) if np.isfinite(center).all() else G


def solid(shape: Geometry, density: float) -> Array:
    """Return a shape's inertia (6, 6) about its own origin."""
    if shape.kind == "box":
        return inertia.box(size=shape.size, density=density)
    if shape.kind == "sphere":
        return inertia.sphere(radius=shape.size[0], density=density)
    make = inertia.cylinder if shape.kind == "cylinder" else inertia.capsule
    return make(radius=shape.size[0], length=shape.size[1], density=density)
