"""Pairs of shapes that may touch, as rows: those of each two kinds of shapes are looked at by one loop, whose points go to one table."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.contact.momenta import roundness
from engine.contact.pairs import Began, Pair, Placed, looking, placed, points_of_kinds, whole
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray
#: columns of a pair: its shapes, their numbers among those of their kinds, the bodies and the links that carry them; its first point, and
#: half of how thick the thinner shape is; stiffness, dissipation, stiffness times mobility of all points, kinetic and static μ, mobility;
#: about which radii its shapes are round
SHAPES, NUMBERS, BODIES, FIRST, SURFACE, ROUND = (0, 1), (2, 3), slice(4, 8), 8, slice(9, 16), slice(16, 18)
#: of a sphere around a shape, once placed: its centre (3), its radius, and how far it moves
CENTER, RADIUS, REACH = slice(0, 3), 3, 4
#: numbers of a point that narrow phases find: place, normal, gap, its rate before, and as how many it counts
FOUND = 9
#: columns of a point: bodies and links, as its pair's; its number among all that there may be; what is found; half of how thick the thinner
#: shape is, and its pair's surface; centres of both shapes, from the same point as the place, and their radii
A, B, LINK_A, LINK_B, POINT, PLACE, NORMAL, GAP, BEFORE, SHARE = 0, 1, 2, 3, 4, slice(5, 8), slice(8, 11), 11, 12, 13
SIZE, MATERIAL, CENTERS, RADII = 14, slice(15, 21), (slice(21, 24), slice(24, 27)), slice(27, 29)


class Near(NamedTuple):
    """What a broad phase finds.

    Attributes
    ----------
    pairs : for each two kinds of shapes the rows of pairs that may have met
    apart : for each two kinds how far apart (m) the spheres around the pairs are
    spheres : (s, 5), those around all shapes
    poses : T_WB of the bodies, the world last
    """

    pairs: list[Any]
    apart: list[Any]
    spheres: Any
    poses: Sequence[Array]

    @property
    def near(self) -> list[Any]:
        """Whether any pair is near."""
        return [sum(ops.total(ops.rows(lambda p: 1.0 + 0.0 * p[0], near)) for near in self.pairs) > 0.0]


class PairRows:
    """Tables of pairs of shapes on a model's bodies and links, whose numbers may be traced; the world comes after the last of both."""

    def __init__(self, pairs: Sequence[Pair], model: Model) -> None:
        self.n, links = len(model.bodies), [link.name for link in model.links]
        link = {name: links.index(name) if name in links else len(links) for pair in pairs for name in (pair.a.link, pair.b.link)}
        shapes = [*{id(s): s for pair in pairs for s in (pair.a, pair.b)}.values()]
        at, kinds = {id(s): k for k, s in enumerate(shapes)}, [geometry.measures(s.shape)[0] for s in shapes]
        own: dict[geometry.Kind, list[int]] = {}
        for k, kind in enumerate(kinds):
            own.setdefault(kind, []).append(k)
        self.shapes = {kind: np.array([shape_row(shapes[k]) for k in of]) for kind, of in own.items()}
        self.spheres = np.array([[self.body(s), *s.center, s.shape.bounding_radius] for s in shapes])
        first = np.cumsum([0, *(pair.points for pair in pairs)])
        self.points = int(first[-1])
        found: dict[tuple[geometry.Kind, geometry.Kind], dict[int, list[Any]]] = {}
        for k, pair in enumerate(pairs):
            (a, b), m = (at[id(s)] for s in (pair.a, pair.b)), pair.material
            surface = m.stiffness, m.dissipation, m.stiffness * pair.mobility * pair.together, m.friction, m.static, pair.mobility
            found.setdefault((kinds[a], kinds[b]), {})[k] = [
                a, b, own[kinds[a]].index(a), own[kinds[b]].index(b), self.body(pair.a), self.body(pair.b), link[pair.a.link],
                link[pair.b.link], first[k], pair.size, *surface, roundness(pair.a.shape), roundness(pair.b.shape)]  # fmt: skip
        self.kinds, self.rows = [*found], [np.array([*of.values()]) for of in found.values()]
        #: of each point that there may be, its pair's row below those of the kinds before
        self.of_point = np.repeat(np.argsort([k for of in found.values() for k in of]), np.diff(first)).astype(float)

    def body(self, s: Placed) -> int:
        """The row of the body that carries a shape."""
        return s.body if s.body >= 0 else self.n

    def near(self, poses: Sequence[Array], reach: Sequence[Any]) -> Near:
        """Broad phase: return which pairs may have met with the bodies at T_WB (``poses``), each within its ``reach``, the world last."""
        on = self.spheres[:, 0]
        T, far = np.array([T[:3].ravel() for T in poses]), ops.array(list(reach))
        spheres = ops.rows(lambda s, T, far: np.concatenate([placed(whole(T), s[1:4]), s[4:], [far]]), self.spheres,
                           ops.gather(T, on), ops.gather(far, on))  # fmt: skip
        apart, pairs = [], []
        for (one, two), rows in zip(self.kinds, self.rows, strict=True):
            a, b = (ops.gather(spheres, rows[:, k]) for k in SHAPES)
            if one is geometry.Plane or isinstance(one, geometry.HeightField):
                grounds = ops.gather(T, rows[:, 4]), ops.gather(self.shapes[one], rows[:, NUMBERS[0]])
                apart.append(ops.rows(functools.partial(above, one), b, *grounds))
            else:
                apart.append(ops.rows(lambda a, b: ops.norm(b[CENTER] - a[CENTER]) - a[RADIUS] - b[RADIUS], a, b))
            pairs.append(ops.chosen(rows, ops.rows(lambda d, a, b: d <= a[REACH] + b[REACH], apart[-1], a, b)))
        return Near(pairs, apart, spheres, poses)

    def look(self, found: Near, about: Array, began: Began, every: bool = False) -> Any:
        """Narrow phase: return the points (p, 29) at which near pairs touch, or may soon, or ``every`` one, seen from a point (3) in the
        world."""
        T = np.array([np.concatenate([T[:3].ravel(), se3.rotation(T0).ravel(), V]) for T, T0, V in zip(found.poses, *began, strict=True)])
        return np.concatenate([points_of(kinds, self.shapes, pairs, found.spheres, T, about, every)
                               for kinds, pairs in zip(self.kinds, found.pairs, strict=True)])  # fmt: skip


def shape_row(s: Placed) -> Array:
    """Return T_BS (3×4), the centre in the body's frame, and the measures of a shape."""
    return np.concatenate([s.pose[:3].ravel(), s.center, geometry.measures(s.shape)[1]])


def above(ground: geometry.Kind, b: Array, T: Array, s: Array) -> Any:
    """Return how far a sphere is above a ground with the row s on a body at T (3×4, flattened)."""
    T_WG = whole(T) @ whole(s[:12])
    if isinstance(ground, geometry.HeightField):
        return geometry.clearance(ground, se3.inv(T_WG)[:3] @ np.append(b[CENTER], 1.0)) - b[RADIUS]
    return T_WG[:3, 2] @ (b[CENTER] - T_WG[:3, 3]) - b[RADIUS]


def points_of(kinds: tuple[geometry.Kind, geometry.Kind], shapes: dict[geometry.Kind, Any], pairs: Any, spheres: Any, T: Any,
              about: Array, every: bool) -> Any:  # fmt: skip
    """Return the points (p, 29) of near pairs (m, 18) of two kinds of shapes, with where the bodies are, and were (n + 1, 27)."""
    n, looks = points_of_kinds(*kinds), looking(*kinds, points=geometry.touching_points)
    own = [ops.gather(shapes[kind], pairs[:, k]) for kind, k in zip(kinds, NUMBERS, strict=True)]
    on, around = ([ops.gather(table, pairs[:, k]) for k in columns] for table, columns in ((T, (4, 5)), (spheres, SHAPES)))
    numbered = [k for k, kind in enumerate(kinds) if not isinstance(kind, geometry.Shape)]

    def look(row: Any, a: Array, b: Array, T_a: Array, T_b: Array, near: Array, other: Array) -> Array:
        ends = [np.concatenate([T, s[:15]]) for T, s in ((T_a, a), (T_b, b))]
        x, normal, gap, before, share = looks(*ends, about, *((a, b)[k][15:] for k in numbered))
        may = [ops.where(g < 2.0 * (near[REACH] + other[REACH]), 1.0, 0.0) for g in gap]
        return np.array([np.concatenate([[row, float(j), may[j]], x[j], normal[j], [gap[j], before[j], share[j]]]) for j in range(n)]).ravel()

    some = ops.rows(look, ops.row_numbers(pairs), *own, *on, *around).reshape(-1, 3 + FOUND)
    some = some if every else ops.chosen(some, ops.rows(lambda y: y[2] > 0.5, some))
    of = some[:, 0]

    def point(y: Array, p: Array, a: Array, b: Array) -> Array:
        return np.concatenate([p[BODIES], [p[FIRST] + y[1]], y[3:], p[SURFACE], a[CENTER] - about, b[CENTER] - about, p[ROUND]])

    ends = [ops.gather(spheres, ops.rows(lambda p, k=k: p[k], ops.gather(pairs, of))) for k in SHAPES]
    return ops.rows(point, some, ops.gather(pairs, of), *ends)
