"""Contacts: which bodies may touch, by the masks of their geoms, and how their surfaces rub."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.bodies import Tree
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.joints import plain
from engine.io.mjcf.notes import Notes
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import Shape
from engine.model import Model, Part

Array = np.ndarray
GROUND = "world"


class Touching:
    """Finds what may touch in a file.

    MuJoCo says it of geoms, and the contacts here of links: where some geoms of two links may touch, all that touch anything do.
    """

    def __init__(self, tree: Tree, model: Model, settings: Settings, notes: Notes) -> None:
        self.tree, self.model, self.settings, self.notes = tree, model, settings, notes
        self.geoms = {s.node.text("name"): (link, s) for link, shapes in tree.shapes.items() for s in shapes if s.node.text("name")}
        self.geoms |= {s.node.text("name"): (GROUND, s) for s, _ in tree.planes if s.node.text("name")}

    def read(self, defaults: Defaults) -> Part | None:
        """Return the contacts, or None where nothing touches."""
        if {"contact", "constraint"} & self.settings.off:
            return None
        excluded = {frozenset((e.required("body1"), e.required("body2"))) for c in defaults.root.all("contact") for e in c.all("exclude")}
        named = self.named(defaults)
        carrier = {link.name: body for link, (body, _) in zip(self.model.links, self.model.carrier, strict=True)}
        links = [name for name, shapes in self.tree.shapes.items() if any(s.geometry is not None and s.touches for s in shapes)]
        pairs = [pair for pair in itertools.combinations(links, 2)
                 if carrier[pair[0]] != carrier[pair[1]] and (frozenset(pair) in named or self.meet(pair, carrier, excluded))]  # fmt: skip
        ground, T = next(((s, T) for s, T in self.tree.planes if s.touches or s.node.text("name") in self.geoms), (None, np.eye(4)))
        on_it = [] if ground is None else [name for name in links if carrier[name] >= 0 and (
            frozenset((GROUND, name)) in named or any(compatible(ground, s) for s in self.tree.shapes[name]))]  # fmt: skip
        for plane, _ in self.tree.planes:
            if plane is not ground and plane.touches:
                self.notes.warn(plane.node, "only the first plane is ground; nothing touches this one")
        if not pairs and not on_it:
            return None
        materials = {name: self.material([s.friction for s in self.tree.shapes[name] if s.touches]) for name in links}
        values: dict[str, Any] = {"pairs": (*((GROUND, name) for name in on_it), *pairs), "materials": materials}
        if ground is not None and on_it:
            normal = T[:3, 2]
            values["ground"] = Part("HalfSpace", {"normal": plain(normal), "offset": float(normal @ T[:3, 3]),
                                                  "material": self.material([ground.friction])})  # fmt: skip
        return Part("Contacts", values)

    def meet(self, pair: tuple[str, str], carrier: dict[str, int], excluded: set[frozenset[str]]) -> bool:
        """Whether two links may touch by their masks: not where they are excluded, or a joint joins them."""
        a, b = pair
        if frozenset(pair) in excluded:
            return False
        bodies = self.model.bodies
        moving = carrier[a] >= 0 and carrier[b] >= 0 and "filterparent" not in self.settings.off
        if moving and (self.solid(bodies[carrier[a]].parent) == carrier[b] or self.solid(bodies[carrier[b]].parent) == carrier[a]):
            return False
        meets = [compatible(s, t) for s in self.tree.shapes[a] for t in self.tree.shapes[b] if s.touches and t.touches]
        if any(meets) and not all(meets):
            self.notes.note(self.tree.shapes[a][0].node, f"some of the geoms of '{short(a)}' and '{short(b)}' may touch by their masks, "
                                                         "and some may not; all of them do here")  # fmt: skip
        return any(meets)

    def solid(self, body: int) -> int:
        """Return a body behind links without mass, which are the joints of one of the file's bodies."""
        while body >= 0 and self.model.bodies[body].joint.child not in self.tree.above and not self.carries(body):
            body = self.model.bodies[body].parent
        return body

    def carries(self, body: int) -> bool:
        """Whether a link of the file's own is fixed to a body."""
        return any(b == body and link.name in self.tree.above for link, (b, _) in zip(self.model.links, self.model.carrier, strict=True))

    def named(self, defaults: Defaults) -> set[frozenset[str]]:
        """Return the links of geoms that are paired by name."""
        found = set()
        for node in defaults.merged_all("contact", "pair"):
            ends = [self.geom(node, node.required(f"geom{k}")) for k in (1, 2)]
            found.add(frozenset(link for link, _ in ends))
            for _, shape in ends:
                if not shape.touches:
                    self.notes.warn(node, f"the geom '{short(shape.node.text('name'))}' touches by a pair alone, which is not read")
        return found

    def geom(self, node: Node, name: str) -> tuple[str, Shape]:
        if name not in self.geoms:
            raise node.error(f"the geom '{short(name)}' is not there; expected one of the file's")
        return self.geoms[name]

    def material(self, frictions: list[float]) -> Part:
        return Part("ContactMaterial", {"friction": max(frictions, default=1.0)})


def compatible(a: Shape, b: Shape) -> bool:
    """Whether two geoms may touch by their masks."""
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)
