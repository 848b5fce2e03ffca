"""The inertia of a body: as its <inertial> has it, or that of its shapes, within the bounds that a file asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.io.mjcf.document import Node
from engine.io.mjcf.orientation import rotation
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import Shape
from engine.model import Link
from engine.spatial import inertia

Array = np.ndarray


def body_inertia(inertial: Node | None, shapes: Iterable[Shape], settings: Settings) -> Array:
    """Return G (6, 6) of a body in its own frame."""
    return within(unbounded(inertial, shapes, settings), settings)


def unbounded(inertial: Node | None, shapes: Iterable[Shape], settings: Settings) -> Array:
    """Return G (6, 6) of a body, whatever the bounds."""
    if inertial is None or settings.inertiafromgeom == "true":
        return sum((s.inertia for s in shapes), np.zeros((6, 6)))
    return read_inertial(inertial, settings)


def read_inertial(node: Node, settings: Settings) -> Array:
    """Return G (6, 6) of an <inertial>."""
    mass, center = node.number("mass"), np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
    if mass < 0.0:
        raise node.error(f"mass is {mass:g} kg; expected zero or more")
    if "fullinertia" in node.attributes:
        xx, yy, zz, xy, xz, yz = node.numbers("fullinertia", 6)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        I = np.diag(node.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
    R = rotation(node, settings)
    if I.diagonal().min() < 0.0:
        raise node.error(f"the inertia is {I.diagonal().tolist()}; expected moments of zero or more")
    return inertia.from_mass(mass, center, I if np.array_equal(R, np.eye(3)) else inertia.rotated(R, I))


def principal_axes(inertial: Node | None, shapes: Iterable[Shape], settings: Settings) -> Array:
    """Return the axes R (3, 3) along which a body's moments lie, as a file says them, or the largest moment first."""
    weighing = [s for s in shapes if s.inertia.any()]
    if inertial is not None and settings.inertiafromgeom != "true":
        if "fullinertia" not in inertial.attributes:
            return rotation(inertial, settings)
    elif len(weighing) == 1 and weighing[0].kind != "mesh":
        return weighing[0].T[:3, :3]
    G = unbounded(inertial, weighing, settings)
    axes = np.linalg.eigh(inertia.recentered(G, np.zeros(3))[:3, :3])[1][:, ::-1]
    return axes * np.sign(np.linalg.det(axes))


def box_edges(G: Array, R: Array) -> Array:
    """Return the edges (3), m, of the box along the axes R (3, 3) that has a body's mass and moments."""
    moments = np.diag(R.T @ inertia.recentered(G, np.zeros(3))[:3, :3] @ R)
    return np.asarray(np.sqrt(np.maximum(moments.sum() - 2.0 * moments, 1e-15) / inertia.mass(G) * 6.0))


def within(G: Array, settings: Settings) -> Array:
    """Return a body's inertia with the least mass and moments that a file asks for, and moments that a body may have."""
    if not (settings.boundmass or settings.boundinertia or settings.balanceinertia):
        return G
    mass, center = max(float(inertia.mass(G)), settings.boundmass), inertia.center(G)
    I = inertia.recentered(G, np.zeros(3))[:3, :3]
    moments, axes = np.linalg.eigh(I)
    moments = np.maximum(moments, settings.boundinertia)
    if settings.balanceinertia and moments[0] + moments[1] < moments[2]:
        moments = np.full(3, moments.mean())
    return inertia.from_mass(mass, center, axes @ np.diag(moments) @ axes.T)


def total(links: Iterable[Link] | Sequence[Link]) -> float:
    """Return the mass of all links together, kg."""
    return float(sum(link.mass for link in links))
