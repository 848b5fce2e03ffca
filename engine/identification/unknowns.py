"""The unknowns of an identification: parameters of a model by their names, and the model with others put in."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checks import nearest, shown
from engine.dynamics.base_parameters import ENTRIES
from engine.dynamics.regressor import MOMENTS, NUMBER, inertial_parameters
from engine.identification.errors import IdentificationError
from engine.model import Body, Link, Model
from engine.model.parameters import split
from engine.spatial import inertia
from engine.spatial.so3 import hat

Array = np.ndarray
#: what a joint has: numbers from zero
LOSSES = ("damping", "friction", "armature")
KINDS = ("inertia", "mass", *LOSSES)


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Unknown numbers x (n) of a model: of inertial parameters π they are those of a link, E = ∂π/∂x.

    Attributes
    ----------
    names : "m.LINK", …, "Izz.LINK" (those of "inertia.LINK"), "mass.LINK" (of which the link's whole inertia is a multiple),
        "damping.JOINT", "friction.JOINT", "armature.JOINT"
    values : the model's own (n)
    """

    model: Model
    names: tuple[str, ...]

    @functools.cached_property
    def values(self) -> Array:
        return np.array([self._own(name) for name in self.names])

    def _own(self, name: str) -> float:
        kind, owner = split(name)
        if kind in LOSSES:
            return float(getattr(self.model.joint(owner), kind))
        n = self.model.link_index(owner)
        return float(self.inertial[NUMBER * n + (ENTRIES.index(kind) if kind in ENTRIES else 0)])

    @functools.cached_property
    def inertial(self) -> Array:
        """π of the model (10 nlinks)."""
        return inertial_parameters(self.model)

    @functools.cached_property
    def E(self) -> Array:
        """∂π/∂x (10 nlinks, n)."""
        E = np.zeros((len(self.inertial), len(self.names)))
        for j, (kind, owner) in enumerate(map(split, self.names)):
            if kind in LOSSES:
                continue
            own = slice(NUMBER * (n := self.model.link_index(owner)), NUMBER * (n + 1))
            E[own, j] = self.inertial[own] / self.inertial[own.start] if kind == "mass" else np.eye(NUMBER)[ENTRIES.index(kind)]
        return E

    @functools.cached_property
    def of_links(self) -> dict[str, list[int]]:
        """Indices of the unknowns that are entries of a link's inertia, by link; "mass.LINK" is none."""
        found: dict[str, list[int]] = {}
        for j, (kind, owner) in enumerate(map(split, self.names)):
            if kind in ENTRIES:
                found.setdefault(owner, []).append(j)
        return found

    @functools.cached_property
    def numbers(self) -> list[int]:
        """Indices of the unknowns that are nonnegative scalars by themselves: masses, damping, friction, armature."""
        return [j for j, name in enumerate(self.names) if split(name)[0] in (*LOSSES, "mass")]

    def of_bodies(self, kind: str) -> list[tuple[int, Body]]:
        """Return (which unknown, body) of all unknowns of a joint's kind."""
        bodies = {b.joint.name: b for b in self.model.bodies}
        return [(j, bodies[owner]) for j, (k, owner) in enumerate(map(split, self.names)) if k == kind]

    def put_in(self, x: Array) -> Model:
        """Return the model with other values x (n) of the unknowns."""
        pi = self.inertial + self.E @ (x - self.values)
        kinds = {name: split(name) for name in self.names}
        links = {owner: NUMBER * self.model.link_index(owner) for kind, owner in kinds.values() if kind not in LOSSES}
        values: dict[str, Any] = {f"inertia.{link}": inertia_of(pi[n : n + NUMBER]) for link, n in links.items()}
        values |= {name: value for name, value in zip(self.names, x.tolist(), strict=True) if kinds[name][0] in LOSSES}
        return self.model.with_numbers(values)


def inertia_of(pi: Array) -> Array:
    """Return G (6×6) of a link's ten parameters.

    >>> inertia_of(np.array([2.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])).diagonal()
    array([1., 1., 1., 2., 2., 2.])
    """
    G, (i, j) = np.zeros((6, 6)), np.transpose(MOMENTS)
    G[i, j] = G[j, i] = pi[4:]
    G[:3, 3:] = hat(pi[1:4])
    G[3:, :3] = -G[:3, 3:]
    G[3:, 3:] = pi[0] * np.eye(3)
    return G


def unknowns_of(model: Model, unknown: Any, by: str) -> Unknowns:
    """Return the unknowns that names say: "inertia" of all moving links with mass, "inertia.LINK", "mass.LINK", an entry such as
    "Izz.LINK"; "damping", "friction" and "armature" of all joints, or of one, "damping.JOINT".

    Raises
    ------
    IdentificationError : a name that there is not, twice the same, or of what does not move, or does not show
    """
    given: Sequence[Any] = [unknown] if isinstance(unknown, str) else unknown
    try:
        given = [*given]
    except TypeError:
        given = []
    names: list[str] = []
    for name in given:
        if not isinstance(name, str):
            raise IdentificationError(f"unknown holds {shown(name)}; expected names, such as 'inertia.LINK' or 'friction'")
        names += single_names(model, name, by)
    if not names:
        raise IdentificationError(f"unknown is {shown(unknown)}, which is nothing of '{model.name}'; expected names, such as "
                                  "'inertia.LINK' or 'friction'")  # fmt: skip
    for k, name in enumerate(names):
        kind, owner = split(name)
        if name in names[:k]:
            raise IdentificationError(f"unknown names '{name}' twice; expected every parameter once")
        if kind == "mass" and any(f"{entry}.{owner}" in names for entry in ENTRIES):
            raise IdentificationError(f"unknown names '{name}', with which its inertia goes, and entries of that; expected one of them")
    return Unknowns(model, tuple(names))


def single_names(model: Model, name: str, by: str) -> list[str]:
    """Return the names of single numbers that a name of what is unknown stands for."""
    kind, owner = split(name)
    if kind not in (*KINDS, *ENTRIES) or ((kind in ENTRIES or "." in name) and not owner):
        known = [*KINDS, *(f"{kind}.{link.name}" for kind in ("inertia", "mass") for link in model.links)]
        raise IdentificationError(f"unknown names '{name}'{nearest(name, known)}; expected {', '.join(KINDS)}, one of an owner, such as "
                                  "'inertia.LINK' or 'damping.JOINT', or an entry of an inertia, such as 'Izz.LINK'")  # fmt: skip
    if kind in LOSSES:
        if by == "momentum":
            raise IdentificationError(f"unknown names '{name}', which momentum does not depend on; expected inertias and masses, or "
                                      "by='torques'")  # fmt: skip
        return [f"{kind}.{joint}" for joint in ([required_joint(model, name, owner)] if owner else rubbing(model))]
    links = [required_link(model, name, owner)] if owner else [link.name for link in model.links if moves(model, link) and has_mass(link)]
    return [f"{entry}.{link}" for link in links for entry in (ENTRIES if kind == "inertia" else (kind,))]


def rubbing(model: Model) -> list[str]:
    """Return the joints that may have losses of their own: not those that float, nor those that follow others."""
    return [b.joint.name for b in model.bodies if not (b.kind.floats or b.mimics)]


def required_joint(model: Model, name: str, owner: str) -> str:
    """Return the joint of a name; refuse one that does not move."""
    moving = [b.joint.name for b in model.bodies]
    if owner not in moving:
        fixed = any(j.name == owner for j in model.joints)
        what = "a joint that does not move" if fixed else f"no joint of '{model.name}'{nearest(owner, moving)}"
        raise IdentificationError(f"unknown names '{name}', and '{owner}' is {what}; expected one of {', '.join(moving)}")
    return owner


def required_link(model: Model, name: str, owner: str) -> str:
    """Return the link of a name; refuse one that does not move, has no mass to begin with, or is no rigid body."""
    moving = [link.name for link in model.links if moves(model, link)]
    if owner not in moving:
        there = any(link.name == owner for link in model.links)
        what = "a link that does not move" if there else f"no link of '{model.name}'{nearest(owner, moving)}"
        raise IdentificationError(f"unknown names '{name}', and '{owner}' is {what}; expected one of {', '.join(moving)}")
    G = model.link(owner).inertia
    if not has_mass(model.link(owner)):
        what = "is no rigid body's" if G.any() else "is zero"
        raise IdentificationError(f"unknown names '{name}', and the inertia of '{owner}' in the model {what}; expected a rigid body with "
                                  "mass, a guess, where the search begins")  # fmt: skip
    return owner


def moves(model: Model, link: Link) -> bool:
    """Return whether anything carries a link."""
    return model.carrier[model.link_index(link.name)][0] >= 0


def has_mass(link: Link) -> bool:
    """Return whether a link is a rigid body with mass."""
    return link.mass > 0.0 and inertia.is_rigid(link.inertia)
