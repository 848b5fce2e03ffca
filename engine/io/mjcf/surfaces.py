"""Surfaces: as stiff, as lossy and as rough as MuJoCo's soft contacts are, nearly."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.document import Node
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import FRICTION, Shape, roughness
from engine.io.notes import Notes
from engine.model import Model, Part

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
Met = Mapping[tuple[str, str], list[tuple[Shape, Shape]]]


class Surfaces:
    """Finds the material of each link that touches.

    MuJoCo's contacts are springs for accelerations: how deep a body rests does not depend on its mass. A material's spring is one of a
    point, in N/m, so a link has that on which all of its tree, of the mass M, rests as deep as MuJoCo has it: K = M g/r. It is an
    approximation, as a foot may carry less than the tree, and a face rests on several points.
    """

    def __init__(self, model: Model, settings: Settings, notes: Notes) -> None:
        self.settings, self.notes = settings, notes
        self.mass = masses(model)

    def materials(self, solids: Mapping[str, list[Shape]], met: Met, named: Mapping[frozenset[str], Node]) -> dict[str, Part]:
        """Return the material of each link in a pair, "world" for the ground; ``solids`` are what each touches with."""
        names = list(dict.fromkeys(n for pair in met for n in pair))
        frictions = self.frictions(names, solids, met, named)
        soft = {n: self.soft(solids[n][0].node, self.mass[n]) for n in names}
        self.compare(s.node for n in names for s in solids[n])
        for n, (k, _) in soft.items():
            if not np.isfinite(RIGID * k):
                said = f"what it moves with has {self.mass[n]:g} kg, of which no contact is stiff enough; expected less"
                raise solids[n][0].node.error(said)
        most = max(k for k, _ in soft.values())
        return {n: Part("ContactMaterial", {"stiffness": k or RIGID * most, "dissipation": d, "friction": frictions[n]})
                for n, (k, d) in soft.items()}  # fmt: skip

    # ------------------------------------------------------------ how stiff, and how lossy

    def compare(self, nodes: Iterable[Node]) -> None:
        """Say that geoms are not all as soft."""
        found = {(*softness(node),): node for node in nodes}
        if len(found) > 1:
            self.notes.warn([*found.values()][-1], f"solref or solimp is another than that of other geoms ({len(found)} in all), which "
                                                   "MuJoCo mixes where they meet; each link has those of its first geom here")  # fmt: skip

    def soft(self, node: Node, mass: float) -> tuple[float, float]:
        """Return the stiffness, N/m, of what moves with a mass, kg, and the dissipation, s/m."""
        solref, solimp = softness(node)
        most = float(np.clip(solimp[1], LEAST, MOST))
        if min(solref) > 0.0:
            time, ratio = (float(np.clip(x, *BOUNDS)) for x in (max(solref[0], 2.0 * self.settings.dt), solref[1]))
            k = 1.0 / (most * time * ratio) ** 2
        else:
            k = float(np.clip(-solref[0], *BOUNDS)) / most**2
            ratio = -solref[1] / (2.0 * most * np.sqrt(k))
        g = weight(self.settings)
        return mass * g / rest_depth(k, g, solimp), DISSIPATION * min(ratio, 1.0) ** 2

    # ------------------------------------------------------------ how rough

    def frictions(self, names: list[str], solids: Mapping[str, list[Shape]], met: Met, named: Mapping[frozenset[str], Node]
                  ) -> dict[str, float]:  # fmt: skip
        """Return the friction of each link's material.

        Where two geoms meet, MuJoCo takes the larger friction f, and a material the harmonic mean 2xy/(x + y). So what all else touches
        has the largest of its f, x, and what touches it y = f x/(2x − f).
        """
        wanted = {pair: self.wanted(pair, geoms, named) for pair, geoms in met.items()}
        rough = {n for pair, f in wanted.items() if f for n in pair}
        found = {n: max(s.friction for s in solids[n]) if n in rough else 0.0 for n in names}
        hub = next((a for a, _ in met if not self.mass[a]), None)
        if hub is not None and (x := max(f for (a, _), f in wanted.items() if a == hub)):
            found |= {hub: x} | {b: f * x / (2.0 * x - f) for (a, b), f in wanted.items() if a == hub}
        means = {(a, b): 2.0 * found[a] * found[b] / (found[a] + found[b] or 1.0) for a, b in wanted}
        if others := [pair for pair, f in wanted.items() if abs(means[pair] - f) > 1e-9 * max(f, 1.0)]:
            a, b = others[0]
            more = f"; {len(others) - 1} other pairs of links differ, too" if others[1:] else ""
            self.notes.warn(met[a, b][0][1].node, f"'{short(a)}' and '{short(b)}' rub with a friction of {means[a, b]:.3g}, in MuJoCo of "
                                                  f"{wanted[a, b]:.3g}{more}")  # fmt: skip
        return found

    def wanted(self, pair: tuple[str, str], geoms: list[tuple[Shape, Shape]], named: Mapping[frozenset[str], Node]) -> float:
        """Return the friction of two links in MuJoCo: the largest of their geoms'."""
        found = []
        for s, t in geoms:
            node = named.get(frozenset((s.node.text("name"), t.node.text("name"))))
            friction, condim = rubbing(s, t, node)
            found.append(friction)
            if condim > 3:
                self.notes.warn(node or max(s.node, t.node, key=lambda n: n.whole("condim", 3)),
                                f"condim is {condim}: friction against turning and rolling is not read")  # fmt: skip
        if min(found) < max(found):
            a, b = pair
            node = geoms[found.index(min(found))][1].node
            self.notes.warn(node, f"it rubs '{short(a if node is not geoms[0][0].node else b)}' with a friction of {min(found):.3g}, and "
                                  f"other geoms of its link with {max(found):.3g}, which counts for all")  # fmt: skip
        return max(found)


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


def rubbing(s: Shape, t: Shape, node: Node | None) -> tuple[float, int]:
    """Return the friction, zero of contacts without, and the condim of two geoms: as a <pair> says, or of what has priority, or the
    larger of both."""
    first, second = (x.node.whole("priority", 0) for x in (s, t))
    ruling = [s] if first > second else [t] if second > first else [s, t]
    friction, condim = max(x.friction for x in ruling), max(x.node.whole("condim", 3) for x in ruling)
    if node is not None:
        friction, condim = roughness(node, (1, 5), (friction, *FRICTION[1:])), node.whole("condim", condim)
    return 0.0 if condim == 1 else friction, condim
