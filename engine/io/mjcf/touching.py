"""Contacts: which bodies may touch, by the masks of their geoms."""

from __future__ import annotations

import itertools
from collections.abc import Container
from dataclasses import replace
from typing import Any

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.bodies import Tree, touching
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import Shape
from engine.io.mjcf.surfaces import Surfaces
from engine.io.notes import Notes
from engine.model import Model, Part
from engine.model.described import plain

Array = np.ndarray
GROUND = "world"


class Touching:
    """Finds what may touch in a file.

    MuJoCo says it of geoms, and the contacts here of links: where some geoms of two links may touch, all that touch anything do.

    Attributes
    ----------
    solids : of each link what it touches with, of "world" the ground; met : of each two links that may touch, the geoms that do
    """

    def __init__(self, tree: Tree, model: Model, settings: Settings, defaults: Defaults, notes: Notes) -> None:
        self.tree, self.model, self.settings, self.notes = tree, model, settings, notes
        self.geoms = {s.node.text("name"): s for shapes in (*tree.shapes.values(), [s for s, _ in tree.planes]) for s in shapes}
        self.excluded = {frozenset((e.required("body1"), e.required("body2"))) for c in defaults.root.all("contact")
                         for e in c.all("exclude")}  # fmt: skip
        self.named = {frozenset(self.geom(node, node.required(f"geom{k}")) for k in (1, 2)): node
                      for node in defaults.merged_all("contact", "pair")}  # fmt: skip
        self.carrier = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
        pairs = {name for names in self.named for name in names}
        planes = [(s, T) for s, T in tree.planes if s.touches or s.node.text("name") in pairs]
        self.ground: Shape | None = planes[0][0] if planes else None
        self.T: Array = planes[0][1] if planes else np.eye(4)
        self.solids = {name: solid for name, shapes in tree.shapes.items()
                       if (solid := [s for s in shapes if s.geometry is not None and s.touches])}  # fmt: skip
        on_it = [(GROUND, name) for name in self.solids if self.ground is not None and self.carrier[name] >= 0]
        if self.ground is not None:
            self.solids[GROUND] = [self.ground]
        links = sorted((name for name in self.solids if name != GROUND), key=lambda name: self.carrier[name] >= 0)
        between = [(a, b) for a, b in itertools.combinations(links, 2) if self.carrier[a] != self.carrier[b]]
        self.met = {pair: geoms for pair in (*on_it, *between) if (geoms := self.meeting(pair))}

    def drop(self) -> bool:
        """Take from links that touch something the geoms that may touch nothing, not even the ground there is; return whether any is."""
        busy = {id(s) for geoms in self.met.values() for pair in geoms for s in pair}
        dropped = False
        for name in {n for pair in self.met for n in pair} - {GROUND} if self.ground is not None else ():
            kept = [s if id(s) in busy or not s.touches else replace(s, contype=0, conaffinity=0) for s in self.tree.shapes[name]]
            if touching(kept) != touching(self.tree.shapes[name]):
                self.tree.shapes[name], dropped = kept, True
                self.tree.links[name] = replace(self.tree.links[name], collisions=touching(kept))
        return dropped

    def read(self) -> Part | None:
        """Return the contacts, or None where nothing touches."""
        if {"contact", "constraint"} & self.settings.off:
            return None
        for plane, _ in self.tree.planes:
            if plane is not self.ground and plane.touches:
                self.notes.warn(plane.node, "only the first plane is ground; nothing touches this one")
        for names, node in self.named.items():
            for name in names:
                if not self.geoms[name].touches:
                    self.notes.warn(node, f"the geom '{short(name)}' touches by a pair alone, which is not read")
        if not self.met:
            return None
        far = {id(s): s.node for geoms in self.met.values() for pair in geoms for s in pair
               if s.node.number("margin", 0.0) > s.node.number("gap", 0.0)}  # fmt: skip
        if far:
            node = next(iter(far.values()))
            self.notes.warn(node, f"its margin of {node.number('margin', 0.0):g} m is not kept: it touches where it is, and in MuJoCo is "
                                  f"held off as far ({len(far)} geom{'s' * (len(far) > 1)} in all)")  # fmt: skip
        for pair, geoms in self.met.items():
            self.compare(pair, geoms)
        materials = Surfaces(self.model, self.settings, self.notes).materials(self.solids, self.met, self.named)
        ground = materials.pop(GROUND, None)
        values: dict[str, Any] = {"pairs": (*self.met,), "materials": materials}
        if ground is not None:
            normal = self.T[:3, 2]
            values["ground"] = Part("HalfSpace", {"normal": plain(normal), "offset": float(normal @ self.T[:3, 3]), "material": ground})
        return Part("Contacts", values)

    def meeting(self, pair: tuple[str, str]) -> list[tuple[Shape, Shape]]:
        """Return the geoms of two links that may touch: those paired by name, and where the links may, those whose masks say so."""
        a, b = pair
        may = self.may(a, b)
        return [(s, t) for s in self.solids[a] for t in self.solids[b]
                if (may and compatible(s, t)) or frozenset((s.node.text("name"), t.node.text("name"))) in self.named]  # fmt: skip

    def compare(self, pair: tuple[str, str], geoms: list[tuple[Shape, Shape]]) -> None:
        """Say that geoms of two links touch here, and in MuJoCo do not."""
        a, b = pair
        meet = {(id(s), id(t)) for s, t in geoms}
        for s, t in itertools.product(self.solids[a], self.solids[b]):
            if (id(s), id(t)) not in meet:
                self.notes.warn(t.node, f"a geom of '{short(b)}' touches all of '{short(a)}' here, as another of its link may, and in "
                                        f"MuJoCo not the {s.node.place}")  # fmt: skip
                return

    def may(self, a: str, b: str) -> bool:
        """Whether two links may touch where their masks say so: not where they are excluded, or a joint joins them."""
        if frozenset((a, b)) in self.excluded:
            return False
        return "filterparent" in self.settings.off or not joined(self.model, self.tree.above, self.carrier[a], self.carrier[b])

    def geom(self, node: Node, name: str) -> str:
        if name not in self.geoms:
            raise node.error(f"the geom '{short(name)}' is not there; expected one of the file's")
        return name


def compatible(a: Shape, b: Shape) -> bool:
    """Whether two geoms may touch by their masks."""
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)


def joined(model: Model, own: Container[str], i: int, j: int) -> bool:
    """Whether joints of a file join two moving bodies; ``own`` are the links that are its bodies, as others are only frames of joints."""
    def solid(body: int) -> int:
        while body >= 0 and not any(b == body and link.name in own for link, (b, _) in zip(model.links, model.carrier, strict=True)):
            body = model.bodies[body].parent
        return body

    return i >= 0 and j >= 0 and (solid(model.bodies[i].parent) == j or solid(model.bodies[j].parent) == i)
