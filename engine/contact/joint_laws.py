"""Dry friction, stops and speed limits of joints as impulses over a step h, each a function of one velocity u after it.

A force that acts all the step is evaluated between its middle and its end: in the middle where the step resolves it, which is of second
order, towards the end where it is stiffer than the step, which damps it. The weight is σ = κ/(1 + κ), with κ = h² k w of a spring k,
where w is the velocity that a unit impulse leaves, and κ = (h/T)² of what decays in a time T.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import EVENLY, lasts, normal_impulse, weight
from engine.contact.limited_forces import LimitedForces
from engine.contact.mobility import changes_inertia, inverse_diagonal
from engine.dynamics.crba import crba
from engine.model import Model, many_equal_trees

Array = np.ndarray
#: what a joint loses, by a parameter's name
LOSSES = "damping", "friction"
#: the time in which a speed beyond its limit decays, s
GOVERNED = 5e-3
NONE: frozenset[str] = frozenset()
#: configurations, within the joints' limits, that are looked at besides the neutral one
SOME = 16
#: what was found of models
MOBILITIES: weakref.WeakKeyDictionary[Model, tuple[Array, Array]] = weakref.WeakKeyDictionary()


class Row(NamedTuple):
    """A coordinate of a joint: it moves at u = ratio · v[j], and is at x = ratio · q[i] + offset.

    Attributes
    ----------
    damping, friction : N·m·s/rad and N·m (N·s/m and N)
    low, high, speed, effort : limits of x, u and what drives it, infinite where there are none
    mobility : w, the velocity that a unit impulse leaves it with, at the neutral configuration
    max_mobility : the largest of w in some configurations: near postures in which axes are in line, it is a hundred times as large
    """

    joint: str
    i: int
    j: int
    ratio: float
    offset: float
    damping: float
    friction: float
    low: float
    high: float
    speed: float
    effort: float
    mobility: Any
    max_mobility: Any

    @property
    def acts(self) -> bool:
        """Whether anything ever acts on it."""
        return bool(self.damping or self.friction or np.isfinite([self.low, self.high, self.speed]).any())


def rows_of(model: Model, varied: Container[str] = ()) -> list[Row]:
    """Return the coordinates of joints that rub or end somewhere, or whose losses are ``varied`` parameters ("damping.JOINT",
    "friction.JOINT"), mimic joints' own ones among them.

    Those of attitudes have no limits; a joint's damping and friction are for each of its velocities; a speed limit of zero is none.

    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("block", inertia=inertia.sphere(2.0, 0.1))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "block", friction=3.0)
    >>> [(row.joint, row.friction, row.mobility) for row in rows_of(arm.model())]
    [('slide', 3.0, 0.5)]
    """
    rows = []
    for b in model.bodies:
        limits, flat = b.joint.limits, b.kind.manifold.flat
        varies = any(f"{loss}.{b.joint.name}" in varied for loss in LOSSES)
        for k in range(b.kind.nv):
            low, high = (limits.lower, limits.upper) if flat else (-np.inf, np.inf)
            row = Row(b.joint.name, b.q.start + k, b.v.start + k, b.ratio, b.offset, b.joint.damping, b.joint.friction, low, high,
                      limits.velocity if limits.velocity > 0.0 else np.inf, limits.effort if limits.effort > 0.0 else np.inf,
                      0.0, 0.0)  # fmt: skip
            rows += [row] if row.acts or varies else []
    if not rows:
        return []
    w, most = mobilities(model)
    rows = [r._replace(mobility=r.ratio**2 * float(w[r.j]), max_mobility=r.ratio**2 * float(most[r.j])) for r in rows]
    return [r for r in rows if r.mobility > 0.0]


def mobilities(model: Model) -> tuple[Array, Array]:
    """Return diag M⁻¹ (nv) at the neutral configuration, and the largest entries in some configurations: of many trees one after another,
    and of equal ones once."""
    if model in MOBILITIES:
        return MOBILITIES[model]
    if kinds := many_equal_trees(model):
        found = np.zeros((2, model.nv))
        for kind in kinds:
            each = [kind.first.model] if not kind.numbers else [model.tree(name).model for name in kind.names]
            found[:, kind.v] = np.moveaxis(np.array([mobilities(tree) for tree in each]), 0, 1)
    else:
        some = [model.neutral(), *configurations(model, SOME)]
        every = np.array([np.abs(np.diag(np.linalg.pinv(crba(model, q), hermitian=True))) for q in some])
        found = np.array([every[0], every.max(axis=0)])
    MOBILITIES[model] = found[0], found[1]
    return MOBILITIES[model]


def configurations(model: Model, n: int) -> list[Array]:
    """Return n configurations (nq) within the joints' limits, each joint's coordinates drawn by its name, without that of the robot before
    it: they are the same in any order of declarations, whatever other trees there are, and of a robot among others as of it alone."""
    found = [model.neutral() for _ in range(n)]
    for b in (b for b in model.bodies if b.kind.nq and b.joint.mimic is None):
        robot, _, own = b.joint.name.partition("/")
        rng = np.random.default_rng([*(own or robot).encode()])
        for q in found:
            q[b.q] = b.kind.random(b.joint, rng)
    return [model.within_limits(q) for q in found]


def rows_on(model: Model, rows: list[Row], values: Iterable[str]) -> list[Row]:
    """Return the rows of a model in which parameters of those names stand: their max_mobility is in proportion to their mobility."""
    if not changes_inertia(values):
        return rows
    inverse = inverse_diagonal(model)
    found = [r.ratio**2 * inverse[r.j] for r in rows]
    return [r._replace(mobility=w, max_mobility=w * (r.max_mobility / r.mobility)) for r, w in zip(rows, found, strict=True)]


class Rub(NamedTuple):
    """What a row meets in a step of h: numbers that hold during the step, and the impulse (and its slope −∂γ/∂u) at u after it."""

    row: Row
    h: Any
    slow: float                                                 # the speed that counts as rest, below which friction is in proportion to it
    before: Any                                                 # u before the step
    free: Any                                                   # u after flight
    x: Any                                                      # x after flight
    stiffness: float
    dissipation: float
    way: float                                                  # how far impulses move it within the step: c of normal_impulse

    def dry(self, u: Any) -> tuple[Any, Any]:
        """Coulomb's γ = −h f u/max(|u|, s), with the speed s that counts as rest."""
        return self.dry_on(u, self.piece(u))

    def piece(self, u: Any) -> Any:
        """Return on which piece of dry friction u is: −1 and 1 where it slides, 0 where it rests."""
        most = ops.where(ops.less(0.0, self.row.friction), self.slow, np.inf)
        return ops.where(u > most, 1.0, ops.where(u < -most, -1.0, 0.0))

    def dry_on(self, u: Any, piece: Any) -> tuple[Any, Any]:
        """Return :meth:`dry` at u, if it goes on as it is on a piece."""
        f, s = self.h * self.row.friction, self.slow
        rests = ops.equal(piece, 0.0)
        return ops.where(rests, -f * u / s, -f * piece), ops.where(rests, f / s, 0.0)

    def stop(self, u: Any, end: float, into: float) -> tuple[Any, Any]:
        """A spring at an end of the range; ``into`` is the sign of a velocity that goes deeper."""
        k, s = self.stiffness, weight(self.h * self.h * self.stiffness * self.row.max_mobility)
        gap = -into * (self.x - end)
        push, slope = normal_impulse(k, self.dissipation, self.h, s, self.way, gap, -into * self.before, -into * self.free, -into * u)
        return -into * push, slope

    def lasting_stop(self, u: Any, end: float, into: float) -> Any:
        """What of a stop's impulse lasts: zero where it is left within the next step."""
        gap = -into * (self.x - end)
        return ops.where(lasts(self.h, self.way, gap, -into * self.free, -into * u), 1.0, 0.0) * self.stop(u, end, into)[0]

    def governor(self, u: Any) -> tuple[Any, Any]:
        """γ = −h c (u − u_max) beyond a speed limit: what is beyond decays in about the time 1/(c w)."""
        c, h, most = 1.0 / (self.row.mobility * GOVERNED), self.h, self.row.speed
        s = weight((h / GOVERNED) ** 2)
        mean = 0.5 * ((1.0 - s) * self.before + (1.0 + s) * u)
        over = ops.maximum(mean - most, 0.0) + ops.minimum(mean + most, 0.0)
        return -h * c * over, ops.where(abs(mean) > most, 0.5 * h * c * (1.0 + s), 0.0)

    def lasting(self, u: Any) -> Any:
        """Return what of γ goes on in the next step, about."""
        ends = [(self.row.low, -1.0), (self.row.high, 1.0)]
        steady = sum(law(u)[0] for name, law in self.laws if name != "stop")
        return steady + sum(self.lasting_stop(u, end, into) for end, into in ends if np.isfinite(end))

    @property
    def laws(self) -> list[tuple[str, Callable[[Any], tuple[Any, Any]]]]:
        """What acts: its name, and γ and −∂γ/∂u as a function of u."""
        r = self.row
        given = [("friction", self.dry, there(r.friction)), ("governor", self.governor, np.isfinite(r.speed)),
                 ("stop", lambda u: self.stop(u, r.low, -1.0), np.isfinite(r.low)),
                 ("stop", lambda u: self.stop(u, r.high, 1.0), np.isfinite(r.high))]  # fmt: skip
        return [(name, law) for name, law, there in given if there]

    def impulse(self, u: Any) -> tuple[Any, Any]:
        """Return γ and −∂γ/∂u."""
        given = [law(u) for _, law in self.laws]
        return sum(g for g, _ in given), sum(s for _, s in given)


def there(x: Any) -> bool:
    """Return whether a number, or an array of one, may be other than zero."""
    return ops.graph_of(x) is not None or bool(x)


class JointLaws:
    """The laws of rows in one step: a :class:`~engine.contact.newton.Law`.

    Parameters
    ----------
    slow : the speed, rad/s or m/s, that counts as rest
    stiffness : of a row's stops, N·m/rad (N/m)
    dissipation : of a stop, s/rad (s/m)
    varied : names of parameters that count instead of the rows' own friction, "friction.JOINT"

    A block of 2 kg on which 3 N rub loses 3 mm/s in a millisecond:

    >>> row = Row("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5, 0.5)
    >>> law = JointLaws([row], 1e-5, lambda row: 0.0, 0.0).step(1e-3, np.ones(1), np.zeros(1), np.ones(1))
    >>> law.impulse(np.ones(1), law.friction)[0].round(9)
    array([-0.003])
    """

    def __init__(self, rows: list[Row], slow: float, stiffness: Callable[[Row], Any], dissipation: float,
                 varied: frozenset[str] = NONE) -> None:  # fmt: skip
        self.rows, self.slow, self.stiffness, self.dissipation, self.varied = rows, slow, stiffness, dissipation, varied

    def of(self, model: Model, values: Mapping[str, Any]) -> JointLaws:
        """Return the laws of a model with other numbers, with parameters in place of the rows' friction."""
        rows = [r._replace(friction=values[name]) if (name := f"friction.{r.joint}") in self.varied and name in values else r
                for r in rows_on(model, self.rows, values)]  # fmt: skip
        return JointLaws(rows, self.slow, self.stiffness, self.dissipation, self.varied)

    def step(self, h: Any, before: Array, q: Array, free: Array, way: float = EVENLY, limited: LimitedForces | None = None) -> Rubbing:
        """Return the laws of a step of h from the velocity ``before`` (nv), whose flight ends at q (nq) and ``free`` (nv), and in which
        impulses go so far of their ``way`` (c of :func:`~engine.contact.hunt_crossley.normal_impulse`); and those of ``limited`` forces."""
        rubs = []
        for r in self.rows:
            rubs.append(Rub(r, h, self.slow, r.ratio * before[r.j], r.ratio * free[r.j], r.ratio * q[r.i] + r.offset, self.stiffness(r),
                            self.dissipation, way))  # fmt: skip
        return Rubbing(rubs, self.slow, free, limited)


class Rubbing:
    """The laws of a step, and those of stiff forces that are ``limited``, whose flight ends at v = ``free`` (nv)."""

    def __init__(self, rubs: list[Rub], slow: float, free: Array, limited: LimitedForces | None = None) -> None:
        self.rubs, self.slow, self.nv, self.free, self.limited = rubs, slow, len(free), free, limited

    @property
    def acts(self) -> Any:
        """Whether there is an impulse where flight leads."""
        held = self.limited
        limited = [held.impulse(j, self.free[j])[0] for j in held.rows] if held else []
        return ops.largest(np.array([*(rub.impulse(rub.free)[0] for rub in self.rubs), *limited])) > 0.0

    @property
    def dry_rubs(self) -> list[Rub]:
        """Those with dry friction."""
        return [rub for rub in self.rubs if there(rub.row.friction)]

    def pieces(self, v: Array) -> Array:
        """Return on which piece of its dry friction each of :attr:`dry_rubs` is at v (nv)."""
        return ops.array([rub.piece(rub.row.ratio * v[rub.row.j]) for rub in self.dry_rubs])

    def dry(self, v: Array, pieces: Array) -> tuple[Array, Array]:
        """Return the impulses (nv) of dry friction, and their slopes (nv), on such pieces."""
        total, slopes = [0.0] * self.nv, [0.0] * self.nv
        for rub, piece in zip(self.dry_rubs, pieces, strict=True):
            r = rub.row
            g, slope = rub.dry_on(r.ratio * v[r.j], piece)
            total[r.j], slopes[r.j] = total[r.j] + r.ratio * g, slopes[r.j] + r.ratio * r.ratio * slope
        return ops.array(total), ops.array(slopes)

    friction = np.zeros(0)                                      # that of joints does not lag

    def lagged(self, v: Array, friction: Array, falls: Any = None) -> tuple[Array, Any]:
        """Nothing lags."""
        return friction, True

    def acting(self, v: Array, friction: Array) -> list[tuple[float, str]]:
        """Return the impulses at v (nv) that are not zero, and their names."""
        found = [(abs(float(law(rub.row.ratio * v[rub.row.j])[0])), f"the {name} of joint '{rub.row.joint}'")
                 for rub in self.rubs for name, law in rub.laws]  # fmt: skip
        return [(size, name) for size, name in found if size]

    def impulse(self, v: Array, friction: Array, bends: Any = 1.0) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv), diagonal."""
        total, slopes = [0.0] * self.nv, [0.0] * self.nv
        for rub in self.rubs:
            r = rub.row
            g, slope = rub.impulse(r.ratio * v[r.j])
            total[r.j], slopes[r.j] = total[r.j] + r.ratio * g, slopes[r.j] + r.ratio * r.ratio * slope
        if self.limited is not None:
            for j in self.limited.rows:
                g, slope = self.limited.impulse(j, v[j])
                total[j], slopes[j] = total[j] + g, slopes[j] + slope
        return ops.array(total), np.diag(ops.array(slopes))

    def along(self, v: Array, d: Array, friction: Array) -> Callable[[Any], Array]:
        """Return the function of α that gives the slope (2) of ℓ at v + α d along d (nv), and how that changes."""

        def at(a: Any) -> Array:
            impulse, G = self.impulse(v + a * d, friction)
            return ops.array([-(impulse @ d), (np.diag(G) * d) @ d])

        return at

    def lasting(self, v: Array) -> Array:
        """Return what of the impulses (nv) goes on in the next step, about."""
        total = [0.0] * self.nv
        for rub in self.rubs:
            r = rub.row
            total[r.j] = total[r.j] + r.ratio * rub.lasting(r.ratio * v[r.j])
        return ops.array(total)

    @property
    def names(self) -> dict[str, None]:
        """What there is of "friction", with damping and speed limits, and "stops"."""
        return dict.fromkeys("stops" if name == "stop" else "friction" for rub in self.rubs for name, _ in rub.laws)

    def parts(self, v: Array) -> dict[str, Array]:
        """Return the impulses (nv) of what there is of "friction" and "stops"."""
        found: dict[str, list[Any]] = {name: [0.0] * self.nv for name in self.names}
        for rub in self.rubs:
            r = rub.row
            for name, law in rub.laws:
                total = found["stops" if name == "stop" else "friction"]
                total[r.j] = total[r.j] + r.ratio * law(r.ratio * v[r.j])[0]
        return {name: ops.array(total) for name, total in found.items()}
