"""Contacts as MJCF: the ground, which bodies may touch, and how stiff and rough they are, as the reader has materials of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from engine.io.mjcf.document import Node
from engine.io.mjcf.save.tree import Tree, section
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.surfaces import DISSIPATION, RIGID, SOLIMP, SOLREF, TURNING, Surfaces, impedance, masses, weight
from engine.io.mjcf.surfaces import softness as softness_of
from engine.io.mjcf.touching import GROUND, are_joined, bodies_above
from engine.io.notes import Notes
from engine.io.written import row
from engine.model import Described, Part

Pair = frozenset[str]
#: of numbers of materials, relative to themselves: what counts as the same
SAME = 1e-9
#: masks (contype, conaffinity) of what touches all but one another, and of what touches nothing; "1" and "1" is what touches all
ALL_ELSE, NOTHING = ("1", "0"), ("2", "0")


def write_contacts(root: Any, tree: Tree, said: Described) -> None:
    """Write the contacts, or say that they are left out: those of which MuJoCo's masks, excludes and soft surfaces make others."""
    from lxml import etree

    part = said.contacts
    if part is None:
        if tree.geoms:
            etree.SubElement(root.find("option"), "flag", contact="disable")
        return
    solref = friction = None
    mass, surfaces = masses(tree.model), surfaces_of(part)
    mass |= {shape: mass[link.name] for link in tree.model.links for shape in link.shapes}
    if sayable(tree, part) and all(mass.get(a) or mass.get(b) for a, b in part.values["pairs"]):
        solref, friction = softness(tree, said, surfaces, mass), frictions(tree, part, surfaces, mass)
    if solref is None or friction is None:
        tree.lost.append("the contacts described")
        return
    if (ground := part.values.get("ground")) is not None:
        n, offset = np.array(ground.values["normal"]), ground.values["offset"]
        plane = etree.Element("geom", type="plane", size="0 0 1", pos=row(offset * n), zaxis=row(n))
        tree.world.insert(0, plane)
        tree.geoms[GROUND] = [plane]
    shapes = {shape: (tree.shapes[id(g)], g.placement) for link in tree.model.links
              for shape, g in zip(link.shapes, link.collisions, strict=True) if id(g) in tree.shapes}  # fmt: skip
    for name, m in surfaces.items():                                            # shapes come after their links
        own = [shapes[name]] if name in shapes else [(tree.geoms[name][0], np.eye(4))] if name == GROUND else [
            shapes[shape] for shape in tree.model.link(name).shapes if shape in shapes]  # fmt: skip
        for geom, T in own:
            apart = not mass.get(name) and len({*solref.values()}) > 1
            write_surface(geom, T, m, friction[name], solref[name], apart, name in smooth(part), any(map(turning, surfaces.values())))
    write_pairs(root, tree, [frozenset(pair) for pair in part.values["pairs"]])


def write_surface(geom: Any, T: Any, m: Part, friction: float, solref: str, apart: bool, smooth: bool, turns: bool) -> None:
    """Write a material to a geom at T (4, 4) on its link, which is ``apart`` where only that of the other counts of how soft both are, and
    ``smooth`` where it rubs only what is not; ``turns`` is whether some material has torsional or rolling friction."""
    spins, rolls = (m.values.get(what, 0.0) for what in TURNING)
    condim = "6" if rolls else "4" if spins else "1" if smooth else "3"
    rubs = row((friction, spins, rolls) if turns else friction)
    given = {"solref": solref, "solmix": "0" if apart else "", "friction": rubs, "condim": condim,
             "priority": str(m.values.get("priority", "")),
             "surfacevel": row(T[:3, :3].T @ np.array(x)) if (x := m.values.get("surface_velocity")) is not None else ""}  # fmt: skip
    for what, text in given.items():
        if text:
            geom.set(what, text)
        elif what in geom.attrib:
            del geom.attrib[what]


def turning(m: Part) -> bool:
    """Return whether a material has torsional or rolling friction."""
    return any(m.values.get(what) for what in TURNING)


def sayable(tree: Tree, part: Part) -> bool:
    """Return whether contacts can be written as MJCF: pairs, one material for each link in them, level or sloping ground."""
    values, ground = part.values, part.values.get("ground")
    pairs = values.get("pairs")
    links = {n for pair in pairs for n in pair} if isinstance(pairs, tuple) else set()
    solid = {*tree.geoms} | ({GROUND} if ground is not None else set())
    materials = {n for n in values.get("materials", ()) if isinstance(n, str)} | ({GROUND} if ground is not None else set())
    shapes = {shape for n in links & {*tree.geoms} for shape in tree.model.link(n).shapes}
    of_ground = ground is None or {*ground.values} == {"normal", "offset", "material"}
    known = {*values} <= {"pairs", "materials", "ground", "combine"} and values.get("combine", "harmonic") in ("max", "harmonic")
    numbers = {"stiffness", "dissipation", "friction"}
    return known and bool(links) and links == materials - shapes and links <= solid and of_ground and GROUND not in tree.geoms and (
        all(numbers <= {*m.values} <= numbers | {"priority", "surface_velocity", *TURNING} for m in surfaces_of(part).values()))


def surfaces_of(part: Part) -> dict[str, Part]:
    """Return the materials by links, and then by shapes, "world" for the ground's."""
    ground = part.values.get("ground")
    own = {n: m for n, m in part.values.get("materials", {}).items() if isinstance(n, str)}
    return {**own, **({GROUND: ground.values["material"]} if ground is not None else {})}


def smooth(part: Part) -> set[str]:
    """Return the links that rub only what rubs: without friction, or without any on another that has some."""
    two = {n for key, m in part.values["materials"].items() if isinstance(key, tuple) and not m.values["friction"] for n in key}
    return two | {n for n, m in surfaces_of(part).items() if not m.values["friction"]}


# ---------------------------------------------------------------- how stiff, and how lossy


def softness(tree: Tree, said: Described, surfaces: Mapping[str, Part], mass: Mapping[str, float]) -> dict[str, str] | None:
    """Return the solref of each link, '' for the usual one, or None where there is none that is read as its material."""
    usual = Settings()
    settings = replace(usual, gravity=said.gravity or usual.gravity, dt=said.dt or usual.dt)
    reader, found = Surfaces(tree.model, settings, Notes()), {}
    texts = [""]
    most = max((m.values["stiffness"] for n, m in surfaces.items() if mass.get(n)), default=0.0)
    for name in sorted(surfaces, key=lambda n: not mass.get(n)):                # what stands still is as soft as something that moves
        m, (K, loss) = mass.get(name, 0.0), (surfaces[name].values[n] for n in ("stiffness", "dissipation"))
        for text in (*(texts if m else reversed(texts)), solref_of(K, loss, m, settings)):
            stiffness, lossy = reader.soft(softness_of(Node("geom", {"solref": text} if text else {})), m)
            if abs((stiffness if m else RIGID * most) - K) <= SAME * K and abs(lossy - loss) <= SAME * max(loss, 1.0):
                found[name] = text
                texts = list(dict.fromkeys((*texts, text)))
                break
        else:
            return None
    return found


def solref_of(stiffness: float, dissipation: float, mass: float, settings: Settings) -> str:
    """Return the solref, with the usual solimp, of a material: of one that stands still, where the mass is zero, as soft as usual.

    A link of the stiffness K, N/m, rests r = m g/K deep under its tree's weight, where MuJoCo's impedance is d: its spring is
    k = (1 − d) g/(d² r), 1/s².
    """
    k, ratio = (SOLIMP[1] * SOLREF[0]) ** -2, sqrt(min(dissipation / DISSIPATION, 1.0))
    if mass:
        d = impedance(mass * weight(settings) / stiffness, SOLIMP)
        k = (1.0 - d) * stiffness / (d * d * mass)
    time = 1.0 / (SOLIMP[1] * sqrt(k) * ratio) if ratio else 0.0
    if time < 2.0 * settings.dt:                                                # where MuJoCo has twice the step instead
        return row((-k * SOLIMP[1] ** 2, -2.0 * SOLIMP[1] * sqrt(k) * ratio))
    return row((time, ratio))


# ---------------------------------------------------------------- how rough


def frictions(tree: Tree, part: Part, surfaces: Mapping[str, Part], mass: Mapping[str, float]) -> dict[str, float] | None:
    """Return the friction of the geoms of each link, and of shapes with others, or None where the larger of two is not that of both.

    Materials whose harmonic mean counts have that on what stands still, and meets the others first; which has the least of these.
    """
    own = {name: float(material.values["friction"]) for name, material in surfaces.items()}
    if part.values.get("combine") == "max":
        return own if as_written(part, own) else None
    pairs, links = part.values["pairs"], {n for pair in part.values["pairs"] for n in pair}
    if links != {*own} or any("priority" in m.values or turning(m) for m in surfaces.values()):
        return None
    means = {frozenset(pair): 2.0 * own[pair[0]] * own[pair[1]] / (own[pair[0]] + own[pair[1]] or 1.0) for pair in pairs}
    hub = next((n for n in (GROUND, *tree.links) if n in own and not mass.get(n)), None)
    on_hub = {n: mean for pair, mean in means.items() if hub in pair for n in pair - {hub}}
    found = own | on_hub | ({} if hub is None else {hub: min(on_hub.values())})
    differ = any(abs(max(found[n] for n in pair) - mean) > SAME * max(mean, 1.0) for pair, mean in means.items())
    return None if differ else found


def as_written(part: Part, own: Mapping[str, float]) -> bool:
    """Return whether two links' materials of their own are those of what has no friction: the only ones that geoms can say."""
    two = {frozenset(key): m for key, m in part.values["materials"].items() if isinstance(key, tuple)}
    if not two:
        return True
    plain, links = smooth(part), {n for pair in part.values["pairs"] for n in pair}
    if any(map(turning, (*two.values(), *surfaces_of(part).values()))):
        return False
    if any(not pair <= links for pair in two) or any("priority" in m.values for m in surfaces_of(part).values()):
        return False
    rubs = ((frozenset(pair), 0.0 if {*pair} <= plain else max(own[n] for n in pair)) for pair in part.values["pairs"])
    return all(x == (two[pair].values["friction"] if pair in two else max(own[n] for n in pair)) for pair, x in rubs)


# ---------------------------------------------------------------- who may touch whom


def write_pairs(root: Any, tree: Tree, pairs: list[Pair]) -> None:
    """Write masks and excludes of bodies, of which no others than these pairs may touch."""
    from lxml import etree

    model = tree.model
    carrier = {GROUND: -1} | {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
    names, wanted = dict.fromkeys(n for pair in pairs for n in sorted(pair)), {*pairs}
    possible = [frozenset(p) for p in itertools.combinations(names, 2) if carrier[p[0]] != carrier[p[1]]]
    above = bodies_above(model, tree.bodies)
    if any(are_joined(above, *(carrier[n] for n in pair)) for pair in pairs):
        etree.SubElement(root.find("option"), "flag", filterparent="disable")
    else:
        possible = [p for p in possible if not are_joined(above, *(carrier[n] for n in p))]
    met = {n: sum(n in pair for pair in pairs) for n in names}
    among = {n: sum(n in pair for pair in possible) for n in names}
    aside = {n for n in names if 2 * met[n] <= among[n] and n != GROUND}
    for pair in pairs:
        if pair <= aside:
            aside.remove(max(sorted(pair), key=lambda n: met[n]))
    for name, geoms in tree.geoms.items():
        if name in aside or name not in names:
            for geom in geoms:
                for what, mask in zip(("contype", "conaffinity"), ALL_ELSE if name in aside else NOTHING, strict=True):
                    geom.set(what, mask)
    for pair in possible:
        if not pair <= aside and pair not in wanted:
            a, b = sorted(pair)
            etree.SubElement(section(root, "contact"), "exclude", body1=a, body2=b)
