"""Pairs of shapes that may touch, as rows: those of each two kinds of shapes are looked at by one loop, whose points go to one table."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.contact.many.shapes import is_ground, outline, rod
from engine.contact.many.sticking import places_of
from engine.contact.pairs import InitialMotion, Pair, Placed, homogeneous, narrow_phase_of_kinds, points_of_kinds, transformed_point
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray
#: columns of a pair: its shapes, their numbers among those of their kinds, the bodies and the links that carry them; its first point, and
#: half of how thick the thinner shape is; stiffness, dissipation, stiffness times mobility of all points, kinetic and static μ, mobility;
#: and of which two kinds its shapes are
SHAPES, NUMBERS, BODIES, FIRST, SURFACE, KINDS = (0, 1), (2, 3), slice(4, 8), 8, slice(9, 16), 16
#: and where some surface runs, how fast both do, in the axes of their bodies
RUN_A, RUN_B = slice(17, 20), slice(20, 23)
#: and where some pair has them, torsional and rolling friction
TURNS = slice(23, 25)
#: of what is around a shape, once placed: the centre (3) and half sizes (3) of a box along the world's axes, the radius of a ball about
#: that centre, and how far it moves
MIDDLE, HALF, RADIUS, REACH = slice(0, 3), slice(3, 6), 6, 7
#: m², m⁴: what lengths of rods are divided by at least
TINY = 1e-30
#: columns of a point: bodies and links, as its pair's; its number among all that there may be; place, normal, gap, its rate before, and as
#: how many it counts; half of how thick the thinner shape is, and its pair's surface; and how fast its place goes before and its normal
#: turns
A, B, LINK_A, LINK_B, POINT, PLACE, NORMAL, GAP, BEFORE, SHARE = 0, 1, 2, 3, 4, slice(5, 8), slice(8, 11), 11, 12, 13
SIZE, MATERIAL, VELOCITY, TURN, POINT_COLUMNS = 14, slice(15, 21), slice(21, 24), slice(24, 27), 27
#: and where some surface runs, how fast the second's does relative to the first's, in world axes
RUNS = slice(27, 30)
#: and where some pair has them, torsional and rolling friction
TURNING = slice(30, 32)


class Near(NamedTuple):
    """Result of the broad phase of pairs that are rows: pairs of rows that may have met, and the bounds of their shapes.

    Attributes
    ----------
    grounds : for each ground and kind of shapes the rows of pairs that may have met
    pairs : the others that may
    apart : how far apart (m) what is around the pairs is, in their order, where every one is looked at
    around : (s, 8), what is around all shapes
    poses : T_WB of the bodies, the world last
    """

    grounds: list[Any]
    pairs: Any
    apart: Any
    around: Any
    poses: Sequence[Array]

    @property
    def near(self) -> list[Any]:
        """True, for each table of pairs, if any of them is near."""
        return [any_of(near) for near in (*self.grounds, *([] if self.pairs is None else [self.pairs]))]


class PairRows:
    """Tables of pairs of shapes on a model's bodies and links, whose numbers may be traced; the world comes after the last of both."""

    def __init__(self, pairs: Sequence[Pair], model: Model) -> None:
        self.n, links = len(model.bodies), [link.name for link in model.links]
        #: whether some pair has torsional or rolling friction; and whether some surface runs, as a belt does, or might
        self.turns = any(pair.turns for pair in pairs)
        self.runs = self.turns or any(pair.runs for pair in pairs)
        self.columns = POINT_COLUMNS + 3 * self.runs + 2 * self.turns
        link = {name: links.index(name) if name in links else len(links) for pair in pairs for name in (pair.a.link, pair.b.link)}
        shapes = [*{id(s): s for pair in pairs for s in (pair.a, pair.b)}.values()]
        at, kinds = {id(s): k for k, s in enumerate(shapes)}, [geometry.measures(s.shape)[0] for s in shapes]
        own: dict[geometry.Kind, list[int]] = {}
        for k, kind in enumerate(kinds):
            own.setdefault(kind, []).append(k)
        order = sorted(own, key=str)                                           # so that each two kinds are looked at one way round
        self.shapes = {kind: np.array([shape_row(shapes[k]) for k in of]) for kind, of in own.items()}
        self.bounds = np.array([np.hstack([self.body(s), s.pose[:3].ravel(), *outline(s.shape), *rod(s.shape)]) for s in shapes])
        first = np.cumsum([0, *(pair.points for pair in pairs)])
        self.points = int(first[-1])
        #: of each point that there may be its pair's number, from 1 on; and the pairs' sizes, m, by that
        self.pair, self.sizes = np.repeat(np.arange(1.0, len(pairs) + 1.0), np.diff(first)), np.array([1.0, *(p.size for p in pairs)])
        #: how many pairs may stick at once
        self.places = places_of(len(pairs), len(shapes))
        found: dict[tuple[geometry.Kind, geometry.Kind], dict[int, list[Any]]] = {}
        signs = []
        for k, pair in enumerate(pairs):
            ends, m = (pair.a, pair.b), pair.material
            swapped = not is_ground(kinds[at[id(pair.a)]]) and order.index(kinds[at[id(pair.a)]]) > order.index(kinds[at[id(pair.b)]])
            ends = ends[::-1] if swapped else ends
            signs.append(-1.0 if swapped else 1.0)
            a, b = (at[id(s)] for s in ends)
            surface = m.stiffness, m.dissipation, m.stiffness * pair.mobility * pair.together, m.friction, m.static, pair.mobility
            found.setdefault((kinds[a], kinds[b]), {})[k] = [
                a, b, own[kinds[a]].index(a), own[kinds[b]].index(b), *map(self.body, ends), *(link[s.link] for s in ends), first[k],
                pair.size, *surface]  # fmt: skip
        #: of each point that there may be, whether its pair's first shape is the row's first, or −1
        self.signs = np.repeat(signs, np.diff(first))
        self.kinds = sorted(found, key=lambda two: not is_ground(two[0]))      # grounds come first
        run = {k: np.concatenate([np.zeros(3) if s.runs is None else s.runs for s in (pair.a, pair.b)[:: -1 if signs[k] < 0.0 else 1]])
               for k, pair in enumerate(pairs)} if self.runs else {}  # fmt: skip
        turns = {k: m.turning for k, m in enumerate(pair.material for pair in pairs)} if self.turns else {}
        of_kinds = [np.array([[*row, float(k), *run.get(i, ()), *turns.get(i, ())] for i, row in found[two].items()])
                    for k, two in enumerate(self.kinds)]  # fmt: skip
        n = sum(is_ground(one) for one, _ in self.kinds)
        self.grounds, self.others = of_kinds[:n], np.concatenate(of_kinds[n:]) if of_kinds[n:] else None
        #: of each point that there may be, its pair's row
        self.of_point = np.repeat(np.argsort([k for two in self.kinds for k in found[two]]), np.diff(first)).astype(float)

    def body(self, s: Placed) -> int:
        """The row of the body that carries a shape."""
        return s.body if s.body >= 0 else self.n

    def running(self, p: Array) -> Array:
        """Return how fast (3) the second's surface runs relative to that of the first at a point, in world axes."""
        return p[RUNS]

    def near(self, poses: Sequence[Array], reach: Sequence[Any], every: bool = False) -> Near:
        """Broad phase: return which pairs may have met with the bodies at T_WB (``poses``), each within its ``reach``, the world last; or
        ``every`` one the boxes and balls around which have."""
        on = self.bounds[:, 0]
        T, far = np.array([T[:3].ravel() for T in poses]), ops.array(list(reach))
        around, rods = ops.rows(placed_bounds, self.bounds, ops.gather(T, on), ops.gather(far, on))
        grounds, apart = [], []
        for (ground, _), rows in zip(self.kinds, self.grounds, strict=False):
            b, T_a, shape = ops.gather(around, rows[:, 1]), ops.gather(T, rows[:, 4]), ops.gather(self.shapes[ground], rows[:, 2])
            distance, close = ops.rows(functools.partial(above, ground), b, T_a, shape)
            apart.append(distance)
            grounds.append(ops.gather(rows, ops.chosen(ops.row_numbers(rows), close)))
        pairs = None
        if self.others is not None and every:
            distance, close = ops.rows(clear, *(ops.gather(around, self.others[:, k]) for k in SHAPES))
            apart.append(distance)
            pairs = ops.gather(self.others, ops.chosen(ops.row_numbers(self.others), close))
        elif self.others is not None:                                          # the cheapest first, of what is left the next
            balls = ops.rows(lambda s: np.append(s[MIDDLE], s[RADIUS] + s[REACH]), around)
            some, numbers = ops.row_numbers(self.others), [self.others[:, k] for k in SHAPES]
            for meet, tables in ((balls_meet, [balls]), (boxes_meet, [around]), (rods_meet, [around, rods])):
                some = ops.chosen(some, ops.rows(meet, *(ops.gather(table, k) for k in numbers for table in tables)))
                numbers = [ops.gather(self.others[:, k], some) for k in SHAPES]
            pairs = ops.gather(self.others, some)
        return Near(grounds, pairs, np.concatenate(apart) if every else np.zeros(0), around, poses)

    def narrow_phase(self, found: Near, about: Array, initial: InitialMotion, every: bool = False) -> Any:
        """Narrow phase: return the points (p, 27, 30 or 32) at which near pairs touch, or may soon, or ``every`` one, seen from a point (3)
        in the world."""
        T = np.array([np.concatenate([T[:3].ravel(), se3.rotation(T0).ravel(), V]) for T, T0, V in zip(found.poses, *initial, strict=True)])
        points, n = functools.partial(points_of, self.shapes, found.around, T, about, every, self.columns), len(self.grounds)
        standing = [points(two, rows) for two, rows in zip(self.kinds, found.grounds, strict=False)]
        if found.pairs is None:
            return np.concatenate(standing)

        def between() -> Any:
            each = [ops.chosen(found.pairs, ops.rows(lambda p, k=k: ops.equal(p[KINDS], float(k)), found.pairs))
                    for k in range(n, len(self.kinds))]  # fmt: skip
            return np.concatenate([points(two, rows) for two, rows in zip(self.kinds[n:], each, strict=True)])

        return np.concatenate([*standing, ops.when(any_of(found.pairs), between, np.zeros((0, self.columns)))])


def any_of(rows: Any) -> Any:
    """Return whether a table has any row."""
    return ops.total(ops.rows(lambda p: 1.0 + 0.0 * p[0], rows)) > 0.0


def shape_row(s: Placed) -> Array:
    """Return T_BS (3×4), the centre in the body's frame, and the measures of a shape."""
    return np.concatenate([s.pose[:3].ravel(), s.center, geometry.measures(s.shape)[1]])


def placed_bounds(s: Array, T: Array, far: Any) -> tuple[Array, Array]:
    """Return the bounds (8) of a shape on a body at T (3×4, flattened) that moves so far, and the rod around it (4)."""
    T_WS = homogeneous(T) @ homogeneous(s[1:13])
    around = np.concatenate([transformed_point(T_WS, s[13:16]), abs(T_WS[:3, :3]) @ s[16:19], s[19:20], [far]])
    return around, np.append(T_WS[:3, :3] @ s[20:23], s[23])


def balls_meet(a: Array, b: Array) -> Any:
    """Return whether balls (centre and radius, 4) around two shapes may have met."""
    d, reach = b[:3] - a[:3], a[3] + b[3]
    return d @ d <= reach * reach


def boxes_meet(a: Array, b: Array) -> Any:
    """Return whether boxes around two shapes may have met."""
    return clear(a, b)[1]


def rods_meet(a: Array, rod_a: Array, b: Array, rod_b: Array) -> Any:
    """Return whether rods around two shapes may have met: balls along segments c ± d, which are nearest where Ericson, *Real-Time Collision
    Detection*, §5.1.9, says."""
    r, d, e = a[MIDDLE] - b[MIDDLE], rod_a[:3], rod_b[:3]
    dd, ee, de, dr, er = d @ d, e @ e, d @ e, d @ r, e @ r
    s = ops.clip((de * er - ee * dr) / ops.maximum(dd * ee - de * de, TINY), -1.0, 1.0)
    t = ops.clip((de * s + er) / ops.maximum(ee, TINY), -1.0, 1.0)
    s = ops.clip((de * t - dr) / ops.maximum(dd, TINY), -1.0, 1.0)
    return ops.norm(r + s * d - t * e) <= rod_a[3] + rod_b[3] + a[REACH] + b[REACH]


def clear(a: Array, b: Array) -> tuple[Any, Any]:
    """Return the distance between the bounds of two shapes, of balls and of boxes the larger, and whether they may have met."""
    d = b[MIDDLE] - a[MIDDLE]
    x, y, z = abs(d) - a[HALF] - b[HALF]
    apart = ops.maximum(ops.norm(d) - a[RADIUS] - b[RADIUS], ops.maximum(x, ops.maximum(y, z)))
    return apart, apart <= a[REACH] + b[REACH]


def above(ground: geometry.Kind, b: Array, T: Array, s: Array) -> tuple[Any, Any]:
    """Return the height of a shape's bounds above a ground with the row s on a body at T (3×4, flattened), and whether they may have
    met."""
    T_WG = homogeneous(T) @ homogeneous(s[:12])
    if isinstance(ground, geometry.HeightField):
        apart = geometry.clearance(ground, se3.inv(T_WG)[:3] @ np.append(b[MIDDLE], 1.0)) - b[RADIUS]
    else:
        n = T_WG[:3, 2]
        apart = n @ (b[MIDDLE] - T_WG[:3, 3]) - ops.minimum(b[RADIUS], abs(n) @ b[HALF])
    return apart, apart <= b[REACH]


def points_of(shapes: dict[geometry.Kind, Any], around: Any, T: Any, about: Array, every: bool, columns: int,
              kinds: tuple[geometry.Kind, geometry.Kind], pairs: Any) -> Any:  # fmt: skip
    """Return the points (p, columns) of near pairs (m, 17 or more) of two kinds of shapes, with where bodies are, and were (n + 1, 27)."""
    n, meet = points_of_kinds(*kinds), narrow_phase_of_kinds(*kinds, near=True)  # type: ignore[arg-type]
    rows, *numbers = ops.rows(lambda p: (p, *p[:6]), pairs)
    tables = [around] * 2 + [shapes[kind] for kind in kinds] + [T] * 2
    numbered = [k for k, kind in enumerate(kinds) if not isinstance(kind, geometry.Shape)]

    def of_pair(p: Array, at: Array, other: Array, a: Array, b: Array, T_a: Array, T_b: Array) -> Array:
        ends = [np.concatenate([T, s[:15]]) for T, s in ((T_a, a), (T_b, b))]
        far = np.inf if every else 2.0 * (at[REACH] + other[REACH])
        x, normal, gap, before, share, u = ops.shared(meet, *ends, about, far, *((a, b)[k][15:] for k in numbered))
        one, two = ([se3.rotation(homogeneous(T[:12])) @ p[run] for T, run in ((T_a, RUN_A), (T_b, RUN_B))] if columns > POINT_COLUMNS else
                    (np.zeros(0),) * 2)  # fmt: skip
        found = []
        for j in range(n):
            may = 1.0 if every else ops.where(gap[j] < far, 1.0, 0.0)
            own = [may], p[BODIES], [p[FIRST] + float(j)], x[j], normal[j], [gap[j], before[j], share[j]], p[SURFACE], u[j]
            found.append(np.concatenate([*own, two - one, p[TURNS]]))
        return np.array(found).ravel()

    found = ops.rows(of_pair, rows, *map(ops.gather, tables, numbers)).reshape(-1, 1 + columns)
    points = ops.rows(lambda y: y[1:], found)
    return points if every else ops.chosen(points, ops.rows(lambda y: y[0] > 0.5, found))
