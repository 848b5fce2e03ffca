"""``Contacts``, the user's choice of contacts: from a model's collision shapes and the ground to the pairs of shapes that may touch."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engine.checks import nearest, number, numbers, shown, warn
from engine.components.component import SimulationWarning
from engine.contact import ContactError, ContactLaws, ContactMaterial, Pair, Placed, inverse_inertia, number_of_points, shape_mobility
from engine.contact.many import RowLaws
from engine.contact.material import RULES, TURNING
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, HeightField, Plane, Shape, Sphere, hull_of, overlooked
from engine.geometry.measures import measures
from engine.geometry.vectors import across
from engine.io import convex_parts, load_mesh
from engine.io.decomposition import HULL, library
from engine.io.mesh import tilted
from engine.io.upright import tell, upright
from engine.model import Geometry, Model
from engine.model.combine import WORLD
from engine.simulation.many_contacts import ManyContacts, pairs_of
from engine.simulation.resting_overlaps import overlapping
from engine.simulation.surfaces import (
    among,
    checked_material,
    checked_materials,
    keys_of,
    names_of,
    of_ground,
    require_met,
    require_named,
    require_solid,
    warn_of_idle,
)
from engine.spatial import se3

Array = np.ndarray
#: of a hull's radius: what may be lost of it without a word
COARSE = 0.01
#: pairs of shapes, beyond which a simulator is not made; and points, beyond which its making is warned of
MOST_PAIRS, MANY_POINTS = 3000, 400
#: pairs of shapes, more of which are rows of tables, if they are of so many kinds at most, or if they are more than the last
FEW_PAIRS, MOST_KINDS, MANY_PAIRS = 20, 8, 100
#: pairs of shapes, of more of which tables do not list which never touch
MOST_LISTED = 1_000_000


@dataclass(frozen=True)
class HalfSpace:
    """Solid ground: all x with normal · x ≤ offset.

    Attributes
    ----------
    normal : out of the ground, in world axes; its length is of no account
    offset : m from the world's origin along the normal

    >>> import engine
    >>> engine.HalfSpace(normal=(-1.0, 0.0, 1.0)).normal                            # a slope of 45°, uphill along x
    (-0.7071067811865475, 0.0, 0.7071067811865475)
    """

    normal: tuple[float, ...] = (0.0, 0.0, 1.0)
    offset: float = 0.0
    material: ContactMaterial = field(default_factory=ContactMaterial)

    def __post_init__(self) -> None:
        n = numbers("normal of a HalfSpace", self.normal, ContactError)
        if n.shape != (3,) or not n.any():
            raise ContactError(f"normal of a HalfSpace is {shown(self.normal)}; expected three numbers, not all zero")
        number("offset of a HalfSpace", self.offset, "a number, m", error=ContactError)
        checked_material("material of a HalfSpace", self.material)
        n = n / np.abs(n).max()                                                # whose squares neither overflow nor vanish
        object.__setattr__(self, "normal", tuple((n / np.linalg.norm(n)).tolist()))

    @property
    def pose(self) -> Array:
        """T_WG, whose z axis is the normal."""
        z = np.array(self.normal)
        return se3.pose(np.stack([*across(z), z], axis=1), self.offset * z)


@dataclass(frozen=True)
class Contacts:
    """Contacts of a robot's links, by their ``collisions``, with the ground and with each other.

    Attributes
    ----------
    ground : a :class:`HalfSpace`, or None. Uneven ground is a link's shape, ``Geometry("heightfield", (x, y), heights=...)``
    pairs : names of links that may touch, or of their shapes (:attr:`engine.Link.shapes`), [("a", "b"), ("a/pad", "c"), …]; None: all that
        no joint joins. The ground, whose link is "world", meets all links, or where a pair names "world", those alone
    material : of all links but those in ``materials``, by name; that of "world" is the ground's, in place of one of the HalfSpace. A shape
        has that of its link, or one of its own, by its name ("hand/pad"); and of two names ("hand/pad", "cube") it is the material of the
        one on the other, which parameters of surfaces do not change
    combine : how two coefficients of friction combine: "harmonic" (their harmonic mean), "max", "min", "mean" or "multiply"
    stiction_velocity : the slip that counts as rest, m/s: what a share r of its friction holds gives way by r times this and a step

    Raises
    ------
    ContactError : a number, a name or a kind that cannot be

    >>> import engine
    >>> stone = engine.load('<mujoco><worldbody><body name="stone"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>')
    >>> simulator = engine.Simulator(stone, contacts=engine.Contacts(engine.HalfSpace()))
    >>> rest = simulator.run([1.0, 0, 0, 0, 0, 0, 0.1], [0.0] * 6, 0.5)
    >>> round(float(rest.q[-1, 6]), 2)                                   # a ball of 0.1 m lies on it
    0.1
    """

    ground: HalfSpace | None = None
    pairs: Iterable[tuple[str, str]] | None = None
    material: ContactMaterial = field(default_factory=ContactMaterial)
    materials: Mapping[str | tuple[str, str], ContactMaterial] = field(default_factory=dict)
    stiction_velocity: float = 1e-4
    combine: str = "harmonic"

    def __post_init__(self) -> None:
        if self.ground is not None and not isinstance(self.ground, HalfSpace):
            raise ContactError(f"ground of Contacts is {shown(self.ground)}; expected a HalfSpace, or None; a height field is a shape of a "
                               "link, Geometry('heightfield', ...)")  # fmt: skip
        if self.pairs is not None:
            try:
                pairs = [(a, b) for a, b in self.pairs]
            except (TypeError, ValueError):
                raise ContactError(f"pairs of Contacts is {shown(self.pairs)}; expected pairs of links' names, or None") from None
            object.__setattr__(self, "pairs", tuple(pairs))
        checked_material("material of Contacts", self.material)
        checked_materials(self.materials)
        if self.ground is not None:
            object.__setattr__(self, "ground", replace(self.ground, material=of_ground(self.ground.material, self.materials)))
        if self.combine not in RULES:
            raise ContactError(f"combine of Contacts is {shown(self.combine)}{nearest(str(self.combine), RULES)}; expected one of "
                               f"{', '.join(RULES)}")  # fmt: skip
        number("stiction_velocity of Contacts", self.stiction_velocity, "a number above 0, m/s", above=0.0, error=ContactError)

    def bind(self, model: Model, led: Collection[int] = ()) -> ContactLaws:
        """Return the laws of all pairs of a model's shapes that may touch, of which no contact changes velocities that are ``led``.

        Raises
        ------
        ContactError : a link that there is not, or without shapes or mass; a shape that cannot touch; more pairs than can be
        """
        names, links = [link.name for link in model.links], self.require_links(model)
        placed = {n: self.placed(model, n) for n in self.asked(names, links)}
        order = {n: k for k, n in enumerate([WORLD, *names])}
        solid = placed if self.ground is None else {**placed, WORLD: [ground_shape(self.ground)]}
        found: dict[frozenset[int], tuple[Placed, Placed]] = {}
        touched: set[str] = set()
        for a, b in self.chosen(model, placed, links):
            one, other = ([s for s in solid[links[n]] if n in (s.link, s.part)] for n in (a, b))
            touched |= {links[a], links[b]}
            for s, t in itertools.product(one, other):
                found.setdefault(frozenset((id(s), id(t))), (s, t))
                if len(found) > MOST_PAIRS:
                    raise ContactError(f"contacts of '{model.name}' have more than {MOST_PAIRS} pairs of shapes; expected fewer: name them")
        for name in touched - {WORLD}:
            require_touchable(model, name, placed[name])
        require_met(self.materials, found.values())
        inverse = inverse_inertia(model, led)
        moves = {s.link: shape_mobility(model, inverse, s) for shapes in placed.values() for s in shapes}
        chosen = sorted(found.values(), key=lambda pair: sorted(order[s.link] for s in pair))
        often = Counter((s.link, t.link) for s, t in chosen)
        pairs = [self.pair(s, t, moves, f"{s.link}:{t.link}" + (f"#{k}" if often[s.link, t.link] > 1 else ""))
                 for k, (s, t) in enumerate(chosen)]  # fmt: skip
        if not (pairs := self.apart(model, pairs)):
            raise ContactError(f"nothing of '{model.name}' can touch anything; expected a ground, or links with collision shapes that no "
                               "joint joins")  # fmt: skip
        for pair in pairs:
            require_fine(pair.name, pair.a.shape, pair.b.shape)
        warn_of_idle([(s.link, m, pair.material) for pair in pairs if pair.own is None
                      for s, m in zip((pair.a, pair.b), pair.surfaces, strict=True)], self.combine)  # fmt: skip
        return self.laws(model, pairs)

    def asked(self, names: list[str], links: Mapping[str, str]) -> list[str]:
        """Return those of links' names that pairs name, or all where the ground or each other meets them."""
        every = self.pairs is None or (self.ground is not None and not any(WORLD in pair for pair in self.pairs))
        named = {links[n] for pair in self.pairs or () for n in pair}
        return [n for n in names if every or n in named]

    def laws(self, model: Model, pairs: list[Pair]) -> ContactLaws:
        """Return the laws of some pairs: each by itself where they are few, of more as rows, of those that are near."""
        few = one_by_one(len(pairs), {id(s): s for pair in pairs for s in (pair.a, pair.b)}.values())
        if few and (points := sum(pair.points for pair in pairs)) > MANY_POINTS:
            warn(f"'{model.name}' has {len(pairs)} pairs of shapes that may touch, in {points} points, which take minutes to compile once; "
                 "expected pairs=[...] of what matters", SimulationWarning)  # fmt: skip
        return (ContactLaws if few else RowLaws)(model, pairs, self.stiction_velocity)

    def require_links(self, model: Model) -> dict[str, str]:
        """Return the links of all names of links and shapes, with "world"; refuse names that a model has not, and materials of nothing."""
        names = {shape: link.name for link in model.links for shape in link.shapes}
        names |= {WORLD: WORLD} | {link.name: link.name for link in model.links}
        given = names_of(self.materials)
        require_named(model, [*given, *itertools.chain(*(self.pairs or ()))], names)
        require_solid(model, given, names, self.ground is not None)
        return names

    def with_pairs(self, pairs: Iterable[tuple[str, str]]) -> Contacts:
        """Return the same between these ``pairs`` alone, as :class:`Contacts` takes them: so a file's contacts are narrowed. Materials of
        two that are then not to touch are left out.

        >>> Contacts(HalfSpace(), combine="max").with_pairs([("world", "foot")]).combine
        'max'
        """
        narrowed = replace(self, pairs=pairs, materials={})
        return replace(narrowed, materials=among(self.materials, narrowed.pairs or ()))

    def many(self, model: Model) -> ManyContacts | None:
        """Return the contacts of a model whose trees are free bodies as tables, where they are many; else None."""
        free = all(len(tree) == 1 and model.bodies[tree[0]].kind.floats for tree in model.trees)
        if not free or any(not isinstance(key, str) for key in self.materials):
            return None
        asked = self.asked([link.name for link in model.links if link.collisions], self.require_links(model))
        placed = [s for name in asked for s in self.placed(model, name)]
        for name in {s.link for s in placed}:
            require_touchable(model, name, [s for s in placed if s.link == name])
        ground = [] if self.ground is None else [ground_shape(self.ground)]
        most = pairs_of(ground + placed)
        if most <= FEW_PAIRS or (self.pairs is not None and most > MOST_LISTED):
            return None
        apart = [] if self.pairs is None else self.never(model, ground + placed)
        if one_by_one(most - len(apart), placed):
            return None
        for s in placed:
            if wide := [t for t in placed if isinstance(s.shape, HeightField) and t.body >= 0 and overlooked(s.shape, t.shape)]:
                widest = max(wide, key=lambda t: float(t.shape.bounding_radius))
                require_fine(f"{s.link}:{widest.link}", s.shape, widest.shape)
        surfaces = [self.surface(s) for s in ground + placed]
        if len({m.priority for m in surfaces}) > 1 or any(any(m.surface_velocity) for m in surfaces):
            return None
        largest = {n: sorted(surfaces, key=lambda m, n=n: float(getattr(m, n)))[-2:] for n in TURNING}  # type: ignore[misc]
        warn_of_idle([(s.link, m, m.with_surface(other, self.combine)) for s, m in zip(ground + placed, surfaces, strict=True)
                      for n in TURNING if getattr(m, n) for other in largest[n] if other is not m], self.combine)  # fmt: skip
        return ManyContacts(model, ground + placed, surfaces, self.stiction_velocity, self.combine, apart)

    def never(self, model: Model, placed: list[Placed]) -> list[tuple[int, int]]:
        """Return the numbers of each two shapes that move against each other and are not among the pairs."""
        links, own = self.require_links(model), dict[str, list[Placed]]()
        at: dict[str, list[int]] = {}
        for k, s in enumerate(placed):
            own.setdefault(s.link, []).append(s)
            for name in {s.link, s.part}:
                at.setdefault(name, []).append(k)
        for n in {links[n] for pair in self.pairs or () for n in pair} - {WORLD, *own}:
            require_touchable(model, n, [])
        named = {frozenset(two) for a, b in self.chosen(model, {n: s for n, s in own.items() if n != WORLD}, links)
                 for two in itertools.product(at.get(a, ()), at.get(b, ()))}  # fmt: skip
        body = [s.body for s in placed]
        return [(i, j) for i, j in itertools.combinations(range(len(placed)), 2)
                if body[i] != body[j] and frozenset((i, j)) not in named]  # fmt: skip

    def surface(self, s: Placed) -> ContactMaterial:
        """Return what a shape, or the ground, is made of."""
        if s.link == WORLD and self.ground is not None:
            return self.ground.material
        return self.materials.get(s.part) or self.materials.get(s.link, self.material)

    def placed(self, model: Model, link: str) -> list[Placed]:
        """Return the shapes of a link, with the velocities of their surfaces, on the body that carries it."""
        _, T_BL = model.carrier[model.link_index(link)]
        found = [s._replace(own=s.part in self.materials) for s in placed_shapes(model, link)]
        runs = [np.array(self.surface(s).surface_velocity) for s in found]
        return [s._replace(runs=T_BL[:3, :3] @ x) if x.any() else s for s, x in zip(found, runs, strict=True)]

    def apart(self, model: Model, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs without those of one robot that lie in each other at rest, if the user has not named them."""
        if self.pairs is not None:
            return pairs
        root = {i: tree[0] for tree in model.trees for i in tree}
        own = [pair for pair in pairs if pair.a.body >= 0 and root[pair.a.body] == root[pair.b.body]]
        if joined := overlapping(model, own):
            names = sorted({f"{pair.a.link}:{pair.b.link}" for pair in joined})
            few = ", ".join(names[:3]) + (f" and {len(names) - 3} other pairs" if len(names) > 3 else "")
            warn(f"'{model.name}': {few} overlap where the robot is at rest, and are left out of its contacts; expected pairs=[...], "
                 "where they are to touch", SimulationWarning)  # fmt: skip
        return [pair for pair in pairs if not any(pair is other for other in joined)]

    def pair(self, s: Placed, t: Placed, moves: Mapping[str, float], name: str) -> Pair:
        """Return one pair of shapes."""
        own = next((m for key in keys_of(s, t) if (m := self.materials.get(key)) is not None), None)
        w = moves.get(s.link, 0.0) + moves[t.link]
        found = Pair(name, s, t, number_of_points(s.shape, t.shape), (self.surface(s), self.surface(t)), w, self.combine, own)
        return found._replace(turns=found.material.turns)

    def chosen(self, model: Model, placed: Mapping[str, list[Placed]], links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the links, or shapes, that may touch, those that stand still first."""
        moving = [n for n, shapes in placed.items() if shapes and shapes[0].body >= 0]
        given = list(self.pairs or ())
        if self.ground is not None:
            yield from ((WORLD, n) for n in [b if a == WORLD else a for a, b in given if WORLD in (a, b)] or moving)
        if self.pairs is None:
            still, apart = [n for n, shapes in placed.items() if shapes and shapes[0].body < 0], Neighbours(model)
            yield from ((a, b) for a, b in itertools.chain(itertools.product(still, moving), itertools.combinations(moving, 2))
                        if not apart.joined(a, b))  # fmt: skip
            return
        if self.ground is None and any(WORLD in pair for pair in given):
            raise ContactError("contacts pair a link with 'world', but have no ground; expected ground=HalfSpace(...)")
        body = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
        for a, b in given:
            if WORLD not in (a, b) and body[links[a]] == body[links[b]]:
                raise ContactError(f"contacts pair '{a}' with '{b}', which are one rigid body; expected links that move against each other")
        yield from ((a, b) if body[links[b]] >= 0 else (b, a) for a, b in given if WORLD not in (a, b))


def one_by_one(pairs: int, shapes: Iterable[Placed]) -> bool:
    """Return whether so many pairs of such shapes are each written out: each two kinds are traced, as ellipsoids of every size are."""
    return pairs <= FEW_PAIRS or (pairs <= MANY_PAIRS and len({measures(s.shape)[0] for s in shapes}) > MOST_KINDS)


class OneSystem(Contacts):
    """Contacts of bodies that are one system of all their velocities, also where nothing but contacts joins them."""

    def many(self, model: Model) -> None:
        return None


class PairByPair(OneSystem):
    """Contacts of which each pair of shapes has a law of its own, however many there are: what has derivatives, and code in C."""

    def laws(self, model: Model, pairs: list[Pair]) -> ContactLaws:
        return ContactLaws(model, pairs, self.stiction_velocity)


def ground_shape(ground: HalfSpace) -> Placed:
    """Return the ground as a shape that stands still."""
    runs = np.array(ground.material.surface_velocity)
    return Placed(WORLD, -1, Plane(), ground.pose, runs=runs if runs.any() else None)


def placed_shapes(model: Model, link: str) -> list[Placed]:
    """Return the shapes of a link on the body that carries it."""
    body, T_BL = model.carrier[model.link_index(link)]
    own = model.link(link)
    if any(tilted(g) for g in own.collisions):
        tell(model, collisions=True)
    return [Placed(link, body, shape, T_BL @ g.placement, part) for g, part in zip(upright(model, own, True), own.shapes, strict=True)
            for shape in shapes_of(link, g)]  # fmt: skip


def shapes_of(link: str, g: Geometry) -> list[Shape]:
    """Return the convex shapes that a link's shape consists of."""
    try:
        if g.kind == "sphere":
            return [Sphere(*g.size)]
        if g.kind == "capsule":
            return [Capsule(*g.size)]
        if g.kind == "ellipsoid":
            return [Ellipsoid((g.size[0], g.size[1], g.size[2]))]
        if g.kind == "cylinder":
            return [Cylinder(*g.size)]
        if g.heights is not None:
            return [HeightField(tuple(map(tuple, g.heights)), (g.size[0], g.size[1]))]
        if g.kind == "box":
            return [Box((g.size[0], g.size[1], g.size[2]))]
        return mesh_hulls(link, g)
    except ValueError as error:
        raise ContactError(f"link '{link}': a collision shape cannot touch: {error}") from error


def mesh_hulls(link: str, g: Geometry) -> list[Shape]:
    """Return the hulls of a mesh's convex parts, with a warning where they are much more than the mesh, or much less."""
    mesh = load_mesh(g)
    hull_of(mesh.vertices)                                                     # which says so where it has none
    parts = convex_parts(mesh)
    made = [hull_of(points) for points in parts.points]
    hull, lost = max(made, key=lambda x: x[1])
    if lost > COARSE * hull.bounding_radius:
        warn(f"link '{link}': the convex hull of a mesh is {lost:.2g} m smaller with {len(hull.vertices)} vertices, the most there may be; "
             "expected a simpler mesh", SimulationWarning)  # fmt: skip
    if not parts.close and len(made) == 1:
        expected = "a closed surface, for coacd to take it apart, or " if library() else "coacd to take it apart (pip install coacd), or "
        expected = expected if parts.beyond > HULL * parts.size else ""
        warn(f"link '{link}': a mesh of {parts.size:.2g} m is not convex; its convex hull counts, which reaches up to {parts.beyond:.2g} m "
             f"beyond it; expected {expected}several convex shapes, where that matters", SimulationWarning)  # fmt: skip
    elif not parts.close:
        warn(f"link '{link}': a mesh of {parts.size:.2g} m is not convex; its {len(made)} convex parts count, which reach up to "
             f"{parts.beyond:.2g} m beyond it and leave up to {parts.outside:.2g} m of it out; expected several convex shapes, where that "
             "matters", SimulationWarning)  # fmt: skip
    return [hull for hull, _ in made]


def require_touchable(model: Model, link: str, shapes: list[Placed]) -> None:
    """Refuse a link that has no shapes, or moves without mass."""
    if not shapes:
        raise ContactError(f"link '{link}' of '{model.name}' has no collision shapes; expected some, as contacts name it")
    body = shapes[0].body
    if body >= 0 and any(isinstance(s.shape, HeightField) for s in shapes):
        raise ContactError(f"link '{link}' of '{model.name}' moves, and has a height field; expected it on a link that stands still")
    if body >= 0 and not model.bodies[body].inertia[5, 5] > 0.0:
        raise ContactError(f"link '{link}' of '{model.name}' has no mass; expected one, as what touches it pushes it")


def require_fine(name: str, field: Shape, shape: Shape) -> None:
    """Warn of a shape that is wide for the cells of the height field under it."""
    if isinstance(field, HeightField) and overlooked(field, shape):
        seen = "the cells about those nearest to its middle" if isinstance(shape, Sphere) else "its corners, or the ground under its ends,"
        warn(f"{name}: a shape {2.0 * shape.bounding_radius:.3g} m wide may stand on a height field with cells of "
             f"{min(field.spacing):.3g} m; {seen} alone are looked at, and summits between them are not seen; expected smaller shapes, or "
             "larger cells, where that matters", SimulationWarning)  # fmt: skip


class Neighbours:
    """Links of a model that are one body, or joined by a joint that is not a floating one.

    What is welded together is one, but not by way of a root that is a mere frame: what is welded to that is joined to what moves on it.
    """

    def __init__(self, model: Model) -> None:
        root = model.links[0]
        frame = root.name if not root.inertia.any() and not root.collisions else ""
        self.body = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
        self.group = {link.name: k for k, link in enumerate(model.links)}
        for j in model.joints:                                                  # parents come before children
            if j.kind == "fixed" and j.parent != frame:
                self.group[j.child] = self.group[j.parent]
        moving = [j for j in model.joints if j.kind not in ("fixed", "floating")]
        self.between = {(self.group[j.parent], self.group[j.child]) for j in moving}
        self.welded = {self.group[j.child] for j in model.joints if j.kind == "fixed" and j.parent == frame}
        self.moved = {self.group[j.child] for j in moving if j.parent == frame}

    def joined(self, a: str, b: str) -> bool:
        """Return whether two links are one body, or a joint joins the bodies that they are welded to."""
        one, other = self.group[a], self.group[b]
        return one == other or self.body[a] == self.body[b] or any(
            pair in self.between or (pair[0] in self.welded and pair[1] in self.moved) for pair in ((one, other), (other, one)))
