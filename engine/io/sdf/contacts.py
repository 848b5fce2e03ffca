"""Contacts: which links may touch, and how their surfaces rub."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from engine.io.notes import MOST_TOUCHING, ROUGHEST, Notes
from engine.io.sdf.document import Node
from engine.io.sdf.frames import Frame, Scope
from engine.io.sdf.joints import Hinged
from engine.io.sdf.shapes import SHAPES
from engine.model import Link, Model, Part

#: μ of a surface where nothing is said, as the specification has it
FRICTION = 1.0


def contacts(model: Model, links: Iterable[Frame], joints: Iterable[Hinged], notes: Notes) -> Part | None:
    """Return the contacts of links that collide; None where none may touch.

    Links of different models touch; those of one where it, or both of them, say <self_collide>, and no joint is between them.
    """
    carrier = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
    shaped = {link.name for link in model.links if link.collisions}
    solid = [f for f in links if f.name in shaped]
    meeting = meetings(solid, [carrier[f.name] for f in solid], {frozenset((j.parent, j.child)) for j in joints})
    pairs = [(a.name, b.name) for a, b in itertools.islice(meeting, MOST_TOUCHING + 1)]
    if not pairs:
        return None
    if len(pairs) > MOST_TOUCHING:
        return notes.unlisted(solid[0].scope.root.node)
    touching = {name for pair in pairs for name in pair}
    materials = {name: Part("ContactMaterial", rubs) for f in solid if f.name in touching
                 for name, rubs in frictions(f.node, model.link(f.name), notes).items()}  # fmt: skip
    return Part("Contacts", {"pairs": tuple(pairs), "materials": materials})


def meetings(solid: list[Frame], bodies: list[int], joined: set[frozenset[Frame]]) -> Iterator[tuple[Frame, Frame]]:
    """Yield each two links that may touch; ``bodies`` carry them."""
    tops: dict[Scope, int] = {}
    top, own = np.array([tops.setdefault(f.scope.top, len(tops)) for f in solid]), np.array([*map(collides, solid)])
    body = np.array(bodies)
    for i, a in enumerate(solid):
        rest = slice(i + 1, None)
        meets = (body[rest] != body[i]) & ((top[rest] != top[i]) | (own[rest] & own[i]))
        yield from ((a, b) for j in np.flatnonzero(meets).tolist() if frozenset((a, b := solid[i + 1 + j])) not in joined)


def collides(link: Frame) -> bool:
    """Return whether a link may touch others of its model (<self_collide>)."""
    scope = link.scope
    while scope.parent is not None and scope.parent.parent is not None and scope.node.first("self_collide") is None:
        scope = scope.parent
    return link.node.flag("self_collide", default=scope.node.flag("self_collide"))


def frictions(node: Node, link: Link, notes: Notes) -> dict[str, dict[str, float]]:
    """Return the frictions of a link's first surface, by its name, and by those of shapes theirs where they are others."""
    found = [{"friction": friction(c, notes), **torsional(c, notes)} for c in node.all("collision")
             if next(c.part("geometry").all(*SHAPES), None) is not None]  # fmt: skip
    return {link.name: found[0]} | {shape: rubs for shape, rubs in zip(link.shapes, found, strict=True) if rubs != found[0]}


def friction(collision: Node, notes: Notes) -> float:
    """Return the μ of a surface."""
    node = collision.first("surface", "friction", "ode")
    if node is None:
        return FRICTION
    mu = node.positive("mu", default=FRICTION)
    across = node.positive("mu2", default=mu)
    if max(mu, across) > ROUGHEST:
        raise node.error(f"mu is {max(mu, across):g}; expected from zero to {ROUGHEST:g}")
    if across != mu:
        notes.warn(collision, f"it rubs differently along two directions ({mu:g} and {across:g}); the first counts for all")
    return mu


def torsional(collision: Node, notes: Notes) -> dict[str, float]:
    """Return the torsional friction of a surface, m, if it has some: 3π/16 μ a of a patch of the radius a, as Gazebo has it."""
    node = collision.first("surface", "friction", "torsional")
    if node is None:
        return {}
    mu, patch = node.positive("coefficient", default=FRICTION), node.positive("patch_radius", default=0.0)
    if not node.flag("use_patch_radius", default=True):
        if mu and node.positive("surface_radius", default=0.0):
            notes.warn(collision, "torsional friction of a surface_radius, whose patch grows with how deep it is pressed, is not read; "
                                  "expected a patch_radius")  # fmt: skip
        return {}
    c = 3.0 * np.pi / 16.0 * mu * patch
    if c > ROUGHEST:
        raise node.error(f"its coefficient times its patch_radius is {mu * patch:g}; expected {ROUGHEST:g} at most")
    return {"torsional_friction": float(c)} if c else {}
