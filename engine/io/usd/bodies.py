"""Rigid bodies of USD: their shapes, of what they are made, and their inertias, given or by their shapes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.checks import EngineError
from engine.io.errors import RobotFileError
from engine.io.usd.shapes import encloses, shape_of, solid, unread
from engine.io.usd.stage import Stage, quaternion_of, value
from engine.model import Geometry, ModelError
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
#: kg/m³ where neither mass nor density is said
DENSITY = 1000.0


class Said(NamedTuple):
    """Mass properties as a stage gives them: kg and kg/m³, zero where they are missing, the centre (3), m, and the tensor about it (3, 3),
    kg·m²."""

    mass: float = 0.0
    density: float = 0.0
    center: Array | None = None
    tensor: Array | None = None

    def moved(self, T: Array) -> Said:
        """Return the same in the frame that it lies in by T (4, 4)."""
        R = T[:3, :3]
        return self._replace(center=None if self.center is None else R @ self.center + T[:3, 3],
                             tensor=None if self.tensor is None else R @ self.tensor @ R.T)  # fmt: skip


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
        self.unread: list[str] = []
        self.collisions: list[Geometry] = []
        self.touching: list[Any] = []
        self.disabled: list[tuple[Geometry, Any]] = []
        self.stands = not moves or bool(value(stage.Physics.RigidBodyAPI(prim).GetKinematicEnabledAttr(), False))
        for other in stage.below(prim) if moves else [prim]:
            if not other.IsA(stage.Geom.Gprim):
                continue
            try:
                shape = shape_of(stage, other, self.pose)
            except ModelError as problem:
                raise RobotFileError(f"shape {other.GetPath()}: {problem}", stage.file) from None
            if shape is None and not other.IsA(stage.Geom.Mesh):                # of which it says itself why
                self.unread.append(unread(stage, other))
                stage.leave("shapes that are not read", self.unread[-1])
            elif shape is not None and not sized(shape):
                if other.HasAPI(stage.Physics.CollisionAPI):
                    size = ", ".join(f"{x:g}" for x in shape.size)
                    raise RobotFileError(f"shape {other.GetPath()} is a {shape.kind} of {size} m; expected numbers above zero", stage.file)
                stage.leave("shapes without a size", other.GetPath())
            elif shape is not None and stage.collides(other):
                self.collisions.append(shape)
                self.touching.append(other)
            elif shape is not None:
                self.visuals.append(shape)
                if other.HasAPI(stage.Physics.CollisionAPI):
                    self.disabled.append((shape, other))
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
        """Return its inertia: what is said of it, and else that of its shapes; as ``ComputeMassProperties`` of UsdPhysics.RigidBodyAPI.
        Where this computes none, of colliders that are all disabled, or of none, it is that of these, or of what it looks like."""
        said = self._said(self.prim, self.scale)
        shapes = [*zip(self.collisions, self.touching, strict=True)] or self.disabled or [(s, None) for s in self.visuals]
        if self.disabled and not self.touching and not said.mass:
            self.stage.leave("that OpenUSD computes no mass of colliders that are all disabled, which weigh as others here", self.path)
        if said.mass and said.tensor is not None and (said.center is not None or not shapes):
            return inertia.from_mass(said.mass, np.zeros(3) if said.center is None else said.center, said.tensor)
        if shapes and not self.touching and not said.mass and not any(encloses(s) for s, _ in shapes):
            self.stage.leave("the mass of bodies whose shapes only look like something, enclose nothing, and have none", self.path)
            return np.zeros((6, 6))
        if shapes:
            return instead(np.sum([self._part(s, p, said.density) for s, p in shapes], axis=0), said)
        if said.mass or said.tensor is not None:
            there = f" ({'; '.join(self.unread)})" if self.unread else ""
            lacks = "physics:diagonalInertia" if said.mass else "physics:mass"
            raise RobotFileError(f"body {self.path} has {'a mass' if said.mass else 'an inertia'}, and neither {lacks} nor shapes that are "
                                 f"read{there}; expected one of both", self.stage.file)  # fmt: skip
        self.stage.leave("the mass of bodies of which neither that nor a shape is read, and which have none", self.path)
        return np.zeros((6, 6))

    def _part(self, shape: Geometry, prim: Any, density: float) -> Array:
        """Return what a shape adds to the inertia: its prim's own word, where there is a prim, is before the body's density, kg/m³."""
        stage, said, made_of, hull = self.stage, Said(), 0.0, False
        if prim is not None:
            at, scale = stage.pose(prim)
            said = self._said(prim, scale).moved(se3.inv(self.pose) @ at) if prim != self.prim else said
            if said.mass and said.tensor is not None and said.center is not None:
                return inertia.from_mass(said.mass, said.center, said.tensor)
            if (material := material_of(stage, prim)) is not None:
                made_of = float(value(stage.Physics.MaterialAPI(material).GetDensityAttr(), 0.0)) * stage.mass / stage.length**3
            hull = str(value(stage.Physics.MeshCollisionAPI(prim).GetApproximationAttr(), "none")) == "convexHull"
        try:
            own = solid(shape, said.density or density or made_of or DENSITY, hull)
        except EngineError as problem:
            raise RobotFileError(f"body {self.path} has the inertia of its mesh '{shape.name}': {problem}, or physics:mass, "
                                 "physics:diagonalInertia and physics:centerOfMass of the body", self.stage.file) from None  # fmt: skip
        return instead(inertia.transformed(shape.placement, own), said)

    def _said(self, prim: Any, scale: Array) -> Said:
        """Return mass, density, centre and inertia as a prim's MassAPI gives them, in the prim's axes; nothing where it has no such API."""
        stage, api = self.stage, self.stage.Physics.MassAPI(prim)
        if not prim.HasAPI(stage.Physics.MassAPI):
            return Said()
        mass, density = (float(value(a, 0.0)) for a in (api.GetMassAttr(), api.GetDensityAttr()))
        diagonal = np.array(value(api.GetDiagonalInertiaAttr(), (0.0,) * 3), dtype=float)
        center = np.array(value(api.GetCenterOfMassAttr(), (-np.inf,) * 3), dtype=float)
        if mass < 0.0 or density < 0.0 or (diagonal < 0.0).any():
            what = "body" if prim == self.prim else "shape"
            raise RobotFileError(f"{what} {prim.GetPath()} has a mass, density or inertia below zero; expected numbers from zero",
                                 stage.file)  # fmt: skip
        R = quaternion.to_matrix(quaternion_of(api.GetPrincipalAxesAttr().Get()))
        if not diagonal.any() and (np.eye(3) != R).any():
            stage.leave("principal axes without an inertia along them", prim.GetPath())
        return Said(mass * stage.mass, density * stage.mass / stage.length**3,
                    center * scale * stage.length if np.isfinite(center).all() else None,
                    R @ np.diag(diagonal * stage.mass * stage.length**2) @ R.T if diagonal.any() else None)  # fmt: skip


def sized(shape: Geometry) -> bool:
    """Return whether a shape has a size; a capsule may have no height between its ends."""
    sizes = np.array(shape.size)
    least = sizes[:1] if shape.kind == "capsule" else sizes
    return bool(np.isfinite(sizes).all() and (least > 0.0).all() and (sizes >= 0.0).all())


def instead(G: Array, said: Said) -> Array:
    """Return an inertia with what is said in the place of what shapes have. A centre of mass that is said without a tensor takes the
    moments about itself."""
    G = G * (said.mass / G[5, 5]) if said.mass else G
    if said.center is None and said.tensor is None:
        return G
    at = inertia.center(G) if said.center is None else said.center
    return inertia.from_mass(G[5, 5], at, inertia.transformed(se3.pose(np.eye(3), -at), G)[:3, :3] if said.tensor is None else said.tensor)


def material_of(stage: Stage, prim: Any) -> Any:
    """Return the physical material that a shape is bound to, or None."""
    bound = stage.Shade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0].GetPrim()
    return bound if bound and bound.HasAPI(stage.Physics.MaterialAPI) else None
