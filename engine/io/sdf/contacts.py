"""Contacts: which links may touch, and how their surfaces rub."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from engine.io.notes import MOST_TOUCHING, ROUGHEST, Notes
from engine.io.sdf.document import Node
from engine.io.sdf.frames import Frame, Scope
from engine.io.sdf.joints import Hinged
from engine.model import Model, Part

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
    materials = {f.name: Part("ContactMaterial", {"friction": friction(f.node, notes)}) for f in solid if f.name in touching}
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
    """Whether a link may touch others of its model."""
    scope = link.scope
    while scope.parent is not None and scope.parent.parent is not None and scope.node.first("self_collide") is None:
        scope = scope.parent
    return link.node.flag("self_collide", default=scope.node.flag("self_collide"))


def friction(link: Node, notes: Notes) -> float:
    """Return the largest μ of a link's surfaces."""
    found = []
    for node in link.all("collision"):
        mu = [n.positive("mu", default=FRICTION) if (n := node.first("surface", "friction", "ode")) else FRICTION]
        mu += [n.positive("mu2", default=mu[0])] if n else []
        if n is not None and max(mu) > ROUGHEST:
            raise n.error(f"mu is {max(mu):g}; expected from zero to {ROUGHEST:g}")
        if mu[-1] != mu[0]:
            notes.warn(node, f"it rubs differently along two directions ({mu[0]:g} and {mu[-1]:g}); the first counts for all")
        found.append(mu[0])
    if len(set(found)) > 1:
        notes.warn(link, f"its surfaces rub differently ({', '.join(f'{x:g}' for x in sorted(set(found)))}); the largest counts for all")
    return max(found, default=FRICTION)
