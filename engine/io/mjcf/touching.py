"""Contact pairs: which bodies may touch, by the masks of their geoms."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.bodies import Tree, colliding_shapes
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import Shape
from engine.io.mjcf.surfaces import Surfaces
from engine.io.notes import MOST_TOUCHING, Notes
from engine.model import Model, Part
from engine.model.file_extras import to_plain

Array = np.ndarray
GROUND = "world"
#: of what has no body above it
NOBODY = -2


class Touching:
    """Finds what may touch in a file.

    MuJoCo says it of geoms, and the contacts here of links where all of theirs may, else of their shapes.

    Attributes
    ----------
    solids : of each link what it touches with, of "world" the ground
    met : of each two links that may touch, the geoms that do: one of each kind, as alike ones meet the same
    many : whether there are too many to be listed
    """

    def __init__(self, tree: Tree, model: Model, settings: Settings, defaults: Defaults, notes: Notes) -> None:
        self.tree, self.model, self.settings, self.notes, self.root = tree, model, settings, notes, defaults.root
        self.geoms = {s.node.text("name"): s for shapes in (*tree.shapes.values(), [s for s, _ in tree.planes]) for s in shapes}
        self.excluded = {frozenset((e.required("body1"), e.required("body2"))) for c in defaults.root.all("contact")
                         for e in c.all("exclude")}  # fmt: skip
        self.named = {frozenset(self.geom(node, node.required(f"geom{k}")) for k in (1, 2)): node
                      for node in defaults.merged_all("contact", "pair")}  # fmt: skip
        self.carrier = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
        self.above = bodies_above(model, tree.above)
        planes = [(s, T) for s, T in tree.planes if s.touches]
        self.ground: Shape | None = planes[0][0] if planes else None
        self.T: Array = planes[0][1] if planes else np.eye(4)
        self.solids = {name: solid for name, shapes in tree.shapes.items()
                       if (solid := [s for s in shapes if s.geometry is not None and s.touches])}  # fmt: skip
        if self.ground is not None:
            self.solids[GROUND] = [self.ground]
        self.kinds = {name: self.one_of_each(shapes) for name, shapes in self.solids.items()}
        self.met: dict[tuple[str, str], list[tuple[Shape, Shape]]] = {}
        counts = itertools.accumulate(len(self.kinds[a]) * len(self.kinds[b]) for a, b in self.meeting_links())
        self.many = any(count > MOST_TOUCHING for count in counts)
        if not self.many:
            self.met = {pair: geoms for pair in self.meeting_links() if (geoms := self.meeting(pair))}
        met = self.many or any(GROUND in pair for pair in self.met)
        for plane, _ in tree.planes:
            if not (met if plane is self.ground else plane.touches):
                notes.note(plane.node, "nothing touches the plane, and it is left out: no link can be drawn with one")

    def drop(self) -> bool:
        """Take from links that touch something the geoms that may touch nothing, not even the ground there is; return whether any is."""
        busy = {(n, self.alike(s)) for pair, geoms in self.met.items() for ends in geoms for n, s in zip(pair, ends, strict=True)}
        dropped = False
        for name in {n for pair in self.met for n in pair} - {GROUND} if self.ground is not None else ():
            kept = [s if not s.touches or (name, self.alike(s)) in busy else replace(s, contype=0, conaffinity=0)
                    for s in self.tree.shapes[name]]  # fmt: skip
            if colliding_shapes(kept) != colliding_shapes(self.tree.shapes[name]):
                self.tree.shapes[name], dropped = kept, True
                self.tree.links[name] = replace(self.tree.links[name], collisions=colliding_shapes(kept))
        return dropped

    def read(self) -> Part | None:
        """Return the contacts, or None where nothing touches."""
        if {"contact", "constraint"} & self.settings.off:
            return None
        for plane, _ in self.tree.planes:
            if plane is not self.ground and plane.touches:
                self.notes.warn(plane.node, "only the first plane is ground; nothing touches this one")
        if self.many:
            return self.notes.unlisted(self.root)
        if not self.met:
            return None
        links = dict.fromkeys(n for pair in self.met for n in pair)
        far = [s.node for n in links for s in self.solids[n] if s.node.number("margin", 0.0) > s.node.number("gap", 0.0)]
        if far:
            margin = far[0].number("margin", 0.0)
            self.notes.warn(far[0], f"its margin of {margin:g} m is not kept: it touches where it is, and in MuJoCo is held off as far "
                                    f"({len(far)} geom{'s' * (len(far) > 1)} in all)")  # fmt: skip
        surfaces = Surfaces(self.model, self.settings, self.notes, self.solids, self.met, self.named, self.alike)
        materials = surfaces.materials()
        ground = materials.pop(GROUND, None)
        pairs = tuple(ends for pair, geoms in self.met.items() for ends in self.ends(surfaces, pair, geoms))
        values: dict[str, Any] = {"pairs": pairs, "materials": materials, "combine": "max"}
        if ground is not None:
            normal = self.T[:3, 2]
            values["ground"] = Part("HalfSpace", {"normal": to_plain(normal), "offset": float(normal @ self.T[:3, 3]), "material": ground})
        return Part("Contacts", values)

    # ------------------------------------------------------------ what meets

    def meeting_links(self) -> Iterator[tuple[str, str]]:
        """Yield each two links that move against each other and may touch: by their masks, or by geoms that are paired by name."""
        still = [GROUND] * (self.ground is not None) + [n for n in self.solids if n != GROUND and self.carrier[n] < 0]
        links = [*still, *(n for n in self.solids if self.carrier[n] >= 0)]
        place, link_of = {n: k for k, n in enumerate(links)}, {s.node.text("name"): n for n in links for s in self.solids[n]}
        types, affinities = (np.array([functools.reduce(operator.or_, (getattr(s, what) for s in self.kinds[n])) for n in links], dtype=int)
                             for what in ("contype", "conaffinity"))  # fmt: skip
        body = np.array([self.carrier[n] for n in links], dtype=int)
        above = np.array([self.above[b] if b >= 0 else NOBODY for b in body], dtype=int)
        paired: dict[int, set[int]] = {}
        for names in self.named:
            ends = sorted(place[link_of[name]] for name in names if name in link_of)
            if len(ends) == 2 and body[ends[0]] != body[ends[1]]:
                paired.setdefault(ends[0], set()).add(ends[1])
        for i, a in enumerate(links):
            rest = slice(i + 1, None)
            meets = (types[i] & affinities[rest] | affinities[i] & types[rest]) != 0
            meets &= body[rest] != body[i]
            if "filterparent" not in self.settings.off:
                meets &= (above[rest] != body[i]) & (body[rest] != above[i])
            others = (np.flatnonzero(meets) + i + 1).tolist()
            if self.excluded:
                others = [j for j in others if frozenset((a, links[j])) not in self.excluded]
            yield from ((a, links[j]) for j in (sorted({*others} | paired[i]) if i in paired else others))

    def meeting(self, pair: tuple[str, str]) -> list[tuple[Shape, Shape]]:
        """Return the geoms of two links that may touch: those paired by name, and where the links may, those whose masks say so."""
        a, b = pair
        may = self.may(a, b)
        return [(s, t) for s in self.kinds[a] for t in self.kinds[b]
                if (may and compatible(s, t)) or frozenset((s.node.text("name"), t.node.text("name"))) in self.named]  # fmt: skip

    def one_of_each(self, shapes: list[Shape]) -> list[Shape]:
        """Return the first of each kind of geoms, of which all meet the same in the same way."""
        first: dict[Any, Shape] = {}
        for s in shapes:
            first.setdefault(self.alike(s), s)
        return [*first.values()]

    def alike(self, s: Shape) -> Any:
        """Return what is the same of two geoms that meet the same in the same way."""
        name = s.node.text("name")
        own = tuple(s.node.text(what) for what in ("solref", "solimp", "solmix", "surfacevel"))
        turned = s.T[:3, :3].tobytes() if own[-1] else b""
        return s.contype, s.conaffinity, s.friction, s.turning, s.priority, s.condim, own, turned, name if s.paired else ""

    def ends(self, surfaces: Surfaces, pair: tuple[str, str], geoms: list[tuple[Shape, Shape]]) -> Iterator[tuple[str, str]]:
        """Yield the names of what of two links may touch: of both, where all of theirs may."""
        a, b = pair
        if len(geoms) == len(self.kinds[a]) * len(self.kinds[b]):
            yield pair
            return
        meet = {(self.alike(s), self.alike(t)) for s, t in geoms}
        one, two = ([(name, self.alike(s)) for name, s in zip(surfaces.names(n), self.solids[n], strict=True)] for n in pair)
        yield from ((x, y) for (x, s), (y, t) in itertools.product(one, two) if (s, t) in meet)

    def may(self, a: str, b: str) -> bool:
        """Return whether a pair of links is not excluded: by the file, or as joined by a joint."""
        if frozenset((a, b)) in self.excluded:
            return False
        return "filterparent" in self.settings.off or not are_joined(self.above, self.carrier[a], self.carrier[b])

    def geom(self, node: Node, name: str) -> str:
        if name not in self.geoms:
            raise node.error(f"the geom '{short(name)}' is not there; expected one of the file's")
        return name


def compatible(a: Shape, b: Shape) -> bool:
    """Return whether two geoms may touch by their masks (contype and conaffinity)."""
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)


def bodies_above(model: Model, own: Container[str]) -> list[int]:
    """Return for each moving body the next one above it that a file has as its own, or NOBODY: others are only frames of joints.

    ``own`` are the links that are the file's bodies.
    """
    solid = {body for link, (body, _) in zip(model.links, model.carrier, strict=True) if link.name in own}
    above: list[int] = []
    for body in model.bodies:
        above.append(NOBODY if body.parent < 0 else body.parent if body.parent in solid else above[body.parent])
    return above


def are_joined(above: Sequence[int], i: int, j: int) -> bool:
    """Return whether joints of a file join two moving bodies."""
    return i >= 0 and j >= 0 and (above[i] == j or above[j] == i)
