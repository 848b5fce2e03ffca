"""Surfaces: as stiff, as lossy and as rough as MuJoCo's soft contacts are, nearly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from engine.io.mjcf.document import Node
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import FRICTION, Shape, roughness
from engine.io.notes import Notes
from engine.model import Model, Part
from engine.model.file_extras import to_plain

#: friction of a <pair>: along two directions, torsional, and against rolling in two directions
PAIRED = (1.0, 1.0, 0.005, 0.0001, 0.0001)
#: numbers of a material against turning and rolling, m
TURNING = "torsional_friction", "rolling_friction"
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
#: the impedances that MuJoCo keeps to
LEAST, MOST = 1e-4, 0.9999
#: of times, s, ratios, and stiffnesses, 1/s²
BOUNDS = 1e-9, 1e15
#: s/m, of contacts that are critically damped
DISSIPATION = 10.0
#: how much stiffer what stands still is than all that moves
RIGID = 1e6
GRAVITY = 9.81
#: of what two materials are together, relative: what is left of the series with what is RIGID
NEARLY = 1e-5
Met = Mapping[tuple[str, str], list[tuple[Shape, Shape]]]
Soft = tuple[tuple[float, ...], tuple[float, ...]]


class Surfaces:
    """Finds the materials of links that touch, of geoms that differ from these, and of two that rub as no two materials do.

    MuJoCo's contacts are springs for accelerations: how deep a body rests does not depend on its mass. A material's spring is one of a
    point, in N/m, so a geom has that on which all of its tree, of the mass M, rests as deep as MuJoCo has it: K = M g/r. It is an
    approximation, as a foot may carry less than the tree, and a face rests on several points. Where MuJoCo mixes the softness of two geoms,
    that of the moving one is what is mixed with the standing one that it meets first. Friction is exact: of two the larger, that of the
    higher priority, or what a <pair> says.

    Parameters
    ----------
    solids : what each link touches with; met : of each two links that may touch, the geoms that do, one of each kind
    named : <pair>s by their geoms' names; alike : what is the same of two geoms of one kind
    """

    def __init__(self, model: Model, settings: Settings, notes: Notes, solids: Mapping[str, list[Shape]] = MappingProxyType({}),
                 met: Met = MappingProxyType({}), named: Mapping[frozenset[str], Node] = MappingProxyType({}),
                 alike: Callable[[Shape], Any] = id) -> None:  # fmt: skip
        self.model, self.settings, self.notes, self.mass = model, settings, notes, masses(model)
        self.solids, self.met, self.named, self.alike = solids, met, named, alike
        #: of links and kinds of their geoms the standing geoms that they meet first; and those without friction of their own that rub what
        #: has some by theirs
        self.under: dict[tuple[str, Any], Shape] = {}
        self.rough: set[tuple[str, Any]] = set()
        for (a, b), geoms in met.items():
            for s, t in geoms:
                if not self.mass[a]:
                    self.under.setdefault((b, alike(t)), s)
                self.rough |= {(n, alike(x)) for n, x, y in ((a, s, t), (b, t, s)) if x.condim == 1 < y.condim and x.friction > y.friction}

    def materials(self) -> dict[Any, Part]:
        """Return the material of each link in a pair, "world" for the ground; of shapes that have others; and of two that rub otherwise
        than theirs do together."""
        links = list(dict.fromkeys(n for pair in self.met for n in pair))
        own: dict[tuple[str, Any], dict[str, Any]] = {}
        for n in sorted(links, key=lambda n: not self.mass[n]):                 # what moves first: what stands is harder
            for s in self.solids[n]:
                if (n, self.alike(s)) not in own:
                    own[n, self.alike(s)] = self.material(n, s)
        most = max(m["stiffness"] for m in own.values())
        for (n, kind), m in own.items():
            if not np.isfinite(RIGID * m["stiffness"]):
                node = next(s.node for s in self.solids[n] if self.alike(s) == kind)
                raise node.error(f"what it moves with has {self.mass[n]:g} kg, of which no contact is stiff enough; expected less")
            m["stiffness"] = m["stiffness"] or RIGID * most
        found: dict[Any, Part] = {n: Part("ContactMaterial", own[n, self.alike(self.solids[n][0])]) for n in links}
        for n in links:
            for s, name in zip(self.solids[n], self.names(n), strict=True):
                if (m := own[n, self.alike(s)]) != found[n].values:
                    found[name] = Part("ContactMaterial", m)
        return found | self.of_two(own)

    def names(self, link: str) -> tuple[str, ...]:
        """Return the names of a link's collision shapes; of a link without any, its own."""
        return (link,) if link not in self.mass or not self.model.link(link).collisions else self.model.link(link).shapes

    def material(self, link: str, s: Shape) -> dict[str, Any]:
        """Return the numbers of a geom's material."""
        k, d = self.soft(mixed(s, self.under.get((link, self.alike(s)), s)), self.mass[link])
        rubs = s.condim != 1 or (link, self.alike(s)) in self.rough
        found: dict[str, Any] = {"stiffness": k, "dissipation": d, "friction": s.friction if rubs else 0.0}
        found |= turning(s.condim, *s.turning)
        found |= {"priority": s.priority} if s.priority else {}
        if any(runs := s.node.numbers("surfacevel", (1, 6), (0.0, 0.0, 0.0))):
            runs = [*runs, *[0.0] * (6 - len(runs))]
            if any(runs[3:]):
                self.notes.warn(s.node, "surfacevel: a surface that turns is not read, but for what runs")
            found["surface_velocity"] = to_plain(s.T[:3, :3] @ runs[:3])
        return found

    # ------------------------------------------------------------ what two are together

    def of_two(self, own: Mapping[tuple[str, Any], dict[str, Any]]) -> dict[Any, Part]:
        """Return the materials of two links, or geoms, that rub otherwise than theirs do together; say of those that are otherwise soft."""
        found: dict[Any, Part] = {}
        soft = list[Node]()
        for (a, b), geoms in self.met.items():
            others = []
            for s, t in geoms:
                pair = self.named.get(frozenset((s.node.text("name"), t.node.text("name"))))
                one, two = own[a, self.alike(s)], own[b, self.alike(t)]
                here = in_series(*((m["stiffness"], m["dissipation"]) for m in (one, two)))
                told = mixed(s, t) if pair is None else softness(pair)
                there, rubs = in_series(*(self.soft(told, self.mass[n]) for n in (a, b))), self.rubbing(s, t, pair)
                differs = any(abs(x - y) > NEARLY * max(abs(x), abs(y)) for x, y in zip(here, there, strict=True))
                soft += [t.node] if differs and pair is None else []
                k, d = here if pair is None else there
                other = combine_frictions(one, two) != rubs or (differs and pair is not None)
                others.append((s, t, Part("ContactMaterial", {"stiffness": k, "dissipation": d, **rubs}) if other else None))
            found |= self.overrides((a, b), others)
        if soft:
            self.notes.warn(soft[0], f"solref or solimp is another than that of a geom that it meets ({len(soft)} pairs of geoms in all), "
                                     "which MuJoCo mixes; here both springs stand in series")  # fmt: skip
        return found

    def overrides(self, pair: tuple[str, str], others: list[tuple[Shape, Shape, Part | None]]) -> dict[Any, Part]:
        """Return the materials of two links' geoms, by both links where all have the same."""
        parts = [part for *_, part in others]
        (one, names_a), (two, names_b) = (([self.alike(s) for s in self.solids[n]], self.names(n)) for n in pair)
        if parts[0] is not None and all(part is not None and part.values == parts[0].values for part in parts):
            return {pair: parts[0]}
        return {(x, y): part for s, t, part in others if part is not None for x, kind in zip(names_a, one, strict=True)
                if kind == self.alike(s) for y, other in zip(names_b, two, strict=True) if other == self.alike(t)}  # fmt: skip

    def rubbing(self, s: Shape, t: Shape, pair: Node | None) -> dict[str, float]:
        """Return the frictions of two geoms, as their condim has them: as a <pair> says, or of what has priority, or the larger of both."""
        ruling = [s, t] if s.priority == t.priority else [max(s, t, key=lambda x: x.priority)]
        friction, condim = max(x.friction for x in ruling), max(x.condim for x in ruling)
        spins, rolls = (max(x.turning[k] for x in ruling) for k in (0, 1))
        if pair is not None:                                                    # of which the geoms say nothing
            (friction, across, spins, rolls, other), condim = roughness(pair, (1, 5), PAIRED), pair.whole("condim", 3)
            for one, two, what in ((friction, across, "rubs"), (rolls, other, "resists rolling")):
                if one != two and (what == "rubs" or condim > 4) and len(pair.numbers("friction", (1, 5), FRICTION[:1])) > 1:
                    self.notes.warn(pair, f"it {what} differently along two directions ({one:g} and {two:g}); the first counts for all")
        return {"friction": 0.0 if condim == 1 else friction, **turning(condim, spins, rolls)}

    # ------------------------------------------------------------ how stiff, and how lossy

    def soft(self, given: Soft, mass: float) -> tuple[float, float]:
        """Return the stiffness, N/m, of what moves with a mass, kg, and the dissipation, s/m, by a solref and a solimp."""
        solref, solimp = given
        most = float(np.clip(solimp[1], LEAST, MOST))
        if min(solref) > 0.0:
            time, ratio = (float(np.clip(x, *BOUNDS)) for x in (max(solref[0], 2.0 * self.settings.dt), solref[1]))
            k = 1.0 / (most * time * ratio) ** 2
        else:
            k = float(np.clip(-solref[0], *BOUNDS)) / most**2
            ratio = -solref[1] / (2.0 * most * np.sqrt(k))
        g = weight(self.settings)
        return mass * g / rest_depth(k, g, solimp), DISSIPATION * min(ratio, 1.0) ** 2


def turning(condim: int, spins: float, rolls: float) -> dict[str, float]:
    """Return the torsional and the rolling friction, m, of a material, by a condim.

    >>> turning(3, 0.1, 0.2), turning(4, 0.1, 0.2), turning(6, 0.0, 0.2)
    ({}, {'torsional_friction': 0.1}, {'rolling_friction': 0.2})
    """
    found = zip(TURNING, (spins if condim > 3 else 0.0, rolls if condim > 4 else 0.0), strict=True)
    return {what: x for what, x in found if x}


def combine_frictions(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, float]:
    """Return the frictions of two materials: those of the higher priority, or the larger."""
    first, second = (m.get("priority", 0) for m in (one, two))
    ruling = [one, two] if first == second else [two if second > first else one]
    found = {what: float(max(m.get(what, 0.0) for m in ruling)) for what in ("friction", *TURNING)}
    return {what: x for what, x in found.items() if x or what == "friction"}


def in_series(one: tuple[float, float], two: tuple[float, float]) -> tuple[float, float]:
    """Return the stiffness and the dissipation of two springs, one after another; a stiffness of zero stands for a rigid one.

    >>> in_series((1e4, 2.0), (1e4, 4.0)), in_series((1e4, 2.0), (0.0, 4.0))
    ((5000.0, 3.0), (10000.0, 2.0))
    """
    (k1, d1), (k2, d2) = one, two
    if not (k1 and k2):
        return (k1, d1) if k1 else (k2, d2)
    part = 1.0 / (1.0 + k1 / k2)
    return k1 * part, part * d1 + (1.0 - part) * d2


def mixed(s: Shape, t: Shape) -> Soft:
    """Return the solref and solimp of two geoms that meet: those of the higher priority, or a mean by their solmix; of solrefs that are
    stiffnesses and dampings the least of each number, which are negative."""
    (ref, imp), (other_ref, other_imp) = softness(s.node), softness(t.node)
    a, b = (max(x.node.number("solmix", 1.0), 0.0) for x in (s, t))
    part = (1.0 if s.priority > t.priority else 0.0) if s.priority != t.priority else 0.5 if a == b else a / (a + b)
    if part in (0.0, 1.0) or (ref, imp) == (other_ref, other_imp):
        return (other_ref, other_imp) if part == 0.0 else (ref, imp)
    mean = tuple(part * x + (1.0 - part) * y for x, y in zip(imp, other_imp, strict=True))
    if min(ref) > 0.0 and min(other_ref) > 0.0:
        return tuple(part * x + (1.0 - part) * y for x, y in zip(ref, other_ref, strict=True)), mean
    return tuple(map(min, ref, other_ref)), mean


def masses(model: Model) -> dict[str, float]:
    """Return the mass, kg, of the tree that each link belongs to; zero of what stands still."""
    mass = {i: sum(float(model.bodies[j].inertia[5, 5]) for j in tree) for tree in model.trees for i in tree}
    return {link.name: mass.get(body, 0.0) for link, (body, _) in zip(model.links, model.carrier, strict=True)}


def weight(settings: Settings) -> float:
    """Return the g, m/s², under which bodies rest; the Earth's where there is none."""
    g = float(np.linalg.norm(settings.gravity))
    return g if g > BOUNDS[0] else GRAVITY


def softness(node: Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the solref and solimp of a geom; in place of a solref that MuJoCo would not take, its default."""
    solref, solimp = ((*given, *usual[len(given) :]) for given, usual in (
        (node.numbers("solref", (1, 2), SOLREF), SOLREF), (node.numbers("solimp", (1, 5), SOLIMP), SOLIMP)))  # fmt: skip
    return solref if min(solref) > 0.0 or (solref[0] < 0.0 and solref[1] <= 0.0) else SOLREF, solimp


def impedance(depth: float, solimp: tuple[float, ...]) -> float:
    """Return MuJoCo's d of a depth, m.

    >>> [round(impedance(x, SOLIMP), 4) for x in (0.0, 0.0005, 0.002)]
    [0.9, 0.925, 0.95]
    """
    low, high = np.clip(solimp[:2], LEAST, MOST)
    middle, power = np.clip(solimp[3], LEAST, MOST), max(solimp[4], 1.0)
    if not solimp[2] > 0.0:
        return float(low + high) / 2.0
    x = min(depth / solimp[2], 1.0)
    y = x**power / middle ** (power - 1.0) if x <= middle else 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
    return float(low + y * (high - low))


@functools.lru_cache(maxsize=4096)
def rest_depth(k: float, g: float, solimp: tuple[float, ...]) -> float:
    """Return how deep, m, a body rests under g, m/s², on a spring of the stiffness k, 1/s²: the r of d² k r = (1 − d) g.

    >>> round(rest_depth(2770.0, 9.81, SOLIMP), 5)
    0.00037
    """
    least = float(np.clip(min(solimp[:2]), LEAST, MOST))
    low, high = 0.0, (1.0 - least) * g / (least**2 * k)
    for _ in range(100):
        r = 0.5 * (low + high)
        d = impedance(r, solimp)
        low, high = (r, high) if d * d * k * r < (1.0 - d) * g else (low, r)
    return high
