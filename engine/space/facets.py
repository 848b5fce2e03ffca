"""Facets: the surfaces of links that drag, light and plumes push on, as plane pieces with an area, a normal and a centre."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.checks import nearest, numbers, shown, whole
from engine.components.component import SimulationError
from engine.io import load_mesh
from engine.io.upright import upright
from engine.model import Link, Model
from engine.spatial import se3

Array = np.ndarray
#: of areas' sum: what normals of a closed surface may add up to, rounding of files among it
CLOSED = 1e-6


class Facets:
    """Plane pieces of links' surfaces, seen from one side; none shadows another.

    Parameters
    ----------
    plates : by link, rows (centre (3), m; normal (3), outwards; area, m²), in the link's frame

    :meth:`boxes` and :meth:`of_meshes` make them of a model's shapes.

    Raises
    ------
    SimulationError : a row is none, an area not above zero, or a normal has no length

    Examples
    --------
    >>> panel = Facets({"panel": [((0, 0, 0), (0, 0, 1), 2.0), ((0, 0, 0), (0, 0, -1), 2.0)]})
    >>> panel
    <2 facets of panel>
    """

    def __init__(self, plates: Mapping[str, Iterable[tuple[Any, Any, float]]]) -> None:
        self.centres, self.normals, self.areas = {}, {}, {}
        if not isinstance(plates, Mapping):
            raise SimulationError(f"facets are {shown(plates)}; expected rows by link, {{'panel': [(centre, normal, area)]}}")
        for link, rows in plates.items():
            found = [self._row(link, row) for row in rows]
            if not found:
                continue
            self.centres[link], normals, self.areas[link] = (np.array(x) for x in zip(*found, strict=True))
            self.normals[link] = normals / np.linalg.norm(normals, axis=1)[:, None]
        if not self.areas:
            raise SimulationError("there are no facets; expected some, of a link")

    @staticmethod
    def _row(link: str, row: Any) -> tuple[Array, Array, float]:
        try:
            centre, normal, area = row
        except (TypeError, ValueError):
            raise SimulationError(f"a facet of '{link}' is {shown(row)}; expected (centre (3), normal (3), area)") from None
        centre, normal = (numbers(f"a facet's {n} of '{link}'", x, SimulationError) for n, x in (("centre", centre), ("normal", normal)))
        if centre.shape != (3,) or normal.shape != (3,) or not np.linalg.norm(normal) > 0.0:
            raise SimulationError(f"a facet of '{link}' has the centre {shown(centre.tolist())} and the normal {shown(normal.tolist())}; "
                                  "expected three numbers each, and a length")  # fmt: skip
        if not (isinstance(area, (int, float, np.number)) and np.isfinite(area) and area > 0.0):
            raise SimulationError(f"a facet of '{link}' has the area {shown(area)}; expected m² above 0")
        return centre, normal, float(area)

    def __repr__(self) -> str:
        return f"<{sum(map(len, self.areas.values()))} facets of {', '.join(self.areas)}>"

    def of(self, link: str) -> tuple[Array, Array, Array]:
        """Return a link's centres (n, 3), normals (n, 3) and areas (n)."""
        return self.centres[link], self.normals[link], self.areas[link]

    def each(self, link: str, own: Mapping[str, Any], one: Any) -> Any:
        """Return a number for each facet of a link: its own, or where ``one`` is given that."""
        return own[link] if one is None else [one] * len(self.areas[link])

    def require_links(self, model: Model, name: str) -> None:
        """Refuse links that a model has not."""
        for link in self.areas:
            if link not in {x.name for x in model.links}:
                meant = nearest(link, [x.name for x in model.links])
                raise SimulationError(f"{name}: facets of '{link}'{meant}, which '{model.name}' has not; expected links of it")

    def values(self, what: str, x: Any, default: float | None = None) -> dict[str, Array]:
        """Return a number, or numbers for each facet by link, as arrays (n) by link, of links that are not among them the default.

        >>> Facets({"panel": [((0, 0, 0), (0, 0, 1), 2.0)]}).values("cd", {"pannel": 2.0})
        Traceback (most recent call last):
        ...
        engine.components.component.SimulationError: cd is of 'pannel' (did you mean 'panel'?), which has no facets; expected those of panel
        """
        for link in x if isinstance(x, Mapping) else ():
            if link not in self.areas:
                meant = nearest(str(link), self.areas)
                raise SimulationError(f"{what} is of {shown(link)}{meant}, which has no facets; expected those of {', '.join(self.areas)}")
        if default is None and isinstance(x, Mapping) and (left := [link for link in self.areas if link not in x]):
            raise SimulationError(f"{what} says nothing of '{left[0]}'; expected a number for each link with facets")
        rows = {link: numbers(what, x.get(link, default) if isinstance(x, Mapping) else x, SimulationError) for link in self.areas}
        for link, row in rows.items():
            if row.shape not in ((), self.areas[link].shape):
                raise SimulationError(f"{what} has shape {row.shape} for '{link}'; expected a number, or one for each of "
                                      f"{len(self.areas[link])} facets")  # fmt: skip
        return {link: np.broadcast_to(row, self.areas[link].shape) for link, row in rows.items()}

    @classmethod
    def boxes(cls, model: Model) -> Facets:
        """Return the six sides of each of a model's shapes, or of the box about it in its own axes; of what is seen, or else touches.

        >>> import engine
        >>> builder = engine.Builder("cube")
        >>> _ = builder.add_link("cube", engine.spatial.inertia.box(1.0, [1, 1, 1]), visuals=[engine.Geometry("box", (1, 2, 3))])
        >>> sorted(set(Facets.boxes(builder.model(floating_base=True)).areas["cube"].tolist()))
        [2.0, 3.0, 6.0]
        """
        plates: dict[str, list[Any]] = {}
        for link in links_of(model):
            for shape in upright(model, link, not link.visuals):
                points = np.asarray(load_mesh(shape).vertices)
                low, high = points.min(axis=0), points.max(axis=0)
                middle, size = 0.5 * (low + high), high - low
                for axis, sign in itertools.product(range(3), (1.0, -1.0)):
                    area = float(np.prod(np.delete(size, axis)))
                    if area > 0.0:
                        n = sign * np.eye(3)[axis]
                        at = shape.placement @ np.append(middle + 0.5 * size * n, 1.0)
                        plates.setdefault(link.name, []).append((at[:3], shape.placement[:3, :3] @ n, area))
        return cls(plates)

    @classmethod
    def of_meshes(cls, model: Model, most: int = 26) -> Facets:
        """Return facets of the triangles of a model's shapes, seen, or else touching: those that look in about one direction are one.

        Of 6, 14 or 26 directions: areas times normals are added up, so that they are zero together as a closed surface's are, and a light
        from anywhere meets about what it would.

        Raises
        ------
        SimulationError : a surface is open
        """
        most = whole("most", most, "a whole number from 6", least=6, error=SimulationError)
        every = np.array([x for x in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(x)])
        kinds = np.abs(every).sum(axis=1)
        directions = every if most >= 26 else every[kinds != 2] if most >= 14 else every[kinds == 1]
        directions = directions / np.linalg.norm(directions, axis=1)[:, None]
        plates: dict[str, list[Any]] = {}
        for link in links_of(model):
            sides = [triangles(shape) for shape in upright(model, link, not link.visuals)]
            if not sides:
                continue
            centres, vectors = (np.concatenate(x) for x in zip(*sides, strict=True))
            areas = np.linalg.norm(vectors, axis=1)
            if (left := float(np.linalg.norm(vectors.sum(axis=0)))) > CLOSED * areas.sum():
                raise SimulationError(f"the surface of '{link.name}' is open: areas times normals add up to {left:.3g} m²; expected a "
                                      "closed one, or Facets of its own")  # fmt: skip
            nearest = np.argmax(vectors @ directions.T, axis=1)
            for k in np.unique(nearest):
                own = nearest == k
                whole_vector = vectors[own].sum(axis=0)
                if (area := float(np.linalg.norm(whole_vector))) > 0.0:
                    at = areas[own] @ centres[own] / areas[own].sum()
                    plates.setdefault(link.name, []).append((at, whole_vector, area))
        return cls(plates)


def triangles(shape: Any) -> tuple[Array, Array]:
    """Return the centres (n, 3) of a shape's triangles in the link's frame, and their areas times normals (n, 3)."""
    mesh = load_mesh(shape)
    corners = np.asarray(mesh.triangles) @ se3.rotation(shape.placement).T + se3.position(shape.placement)
    return corners.mean(axis=1), 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def links_of(model: Any) -> Iterable[Link]:
    """Return a model's links; refuse what is none."""
    if not isinstance(model, Model):
        raise SimulationError(f"facets are of {shown(model)}; expected a model, as Builder.model() returns")
    return model.links


def require_facets(name: str, facets: Any) -> Facets:
    """Return facets; refuse what are none."""
    if not isinstance(facets, Facets):
        raise SimulationError(f"{name}: facets are {facets!r}; expected engine.space.Facets, such as Facets.boxes(model)")
    return facets
