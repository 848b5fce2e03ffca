"""Numbers of a model by names such as "mass.tool", and the model with others in their places: floats, or traced.

A program of such a model serves every robot of the same structure.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.checks import EngineError, nearest, numbers, shown
from engine.model.errors import ModelError
from engine.model.tree import Joint, Link, frozen_pose
from engine.spatial import inertia, se3

Array = np.ndarray
#: one of :mod:`engine.model.model`, which imports this file
Model = Any


class Number(NamedTuple):
    """A quantity that a model has for each link, or joint: its shape, its valid values in words, and FMI's unit of it, or of each of its
    numbers, or by what the joint moves in; "" where it has several."""

    owner: str
    shape: tuple[int, ...]
    expected: str
    unit: str | tuple[str, ...] | Mapping[str, str] = ""


#: the numbers of a model that may be parameters, by the name's first part
NUMBERS = {
    "mass": Number("link", (), "a mass above zero, of a link with mass", "kg"),
    "center": Number("link", (3,), "the centre of mass, of a link that is a rigid body with mass", "m"),
    "inertia": Number("link", (6, 6), "a 6×6 inertia"),
    "placement": Number("joint", (4, 4), "a pose, of a joint that does not float"),
    "displacement": Number("joint", (6,), "a twist that takes the joint from its placement, of one that does not float",
                           ("rad",) * 3 + ("m",) * 3),
    "damping": Number("joint", (), "a number from zero, of a joint that moves and does not float", {"rad": "N.m.s/rad", "m": "N.s/m"}),
    "friction": Number("joint", (), "a number from zero, of a joint that moves and does not float", {"rad": "N.m", "m": "N"}),
    "armature": Number("joint", (), "a number from zero, of a joint that moves and does not float", {"rad": "kg.m2", "m": "kg"}),
}
#: numbers of which one follows from the other
EXCLUSIVE = (("mass", "inertia"), ("center", "inertia"), ("placement", "displacement"))


def split(name: str) -> tuple[str, str]:
    """Return what a name says: ("damping", "elbow").

    >>> split("mass.left.hand")
    ('mass', 'left.hand')
    """
    kind, _, owner = name.partition(".")
    return kind, owner


def is_number(name: str) -> bool:
    """Return whether a name is one of a model's number, of an owner that there may be or not."""
    kind, owner = split(name)
    return kind in NUMBERS and bool(owner)


def names_of(model: Model) -> list[str]:
    """Return the names of all numbers of a model that may be parameters."""
    found = []
    for kind, number in NUMBERS.items():
        owners = [x.name for x in (model.links if number.owner == "link" else model.joints)]
        found += [f"{kind}.{name}" for name in owners if not fault(model, kind, name)]
    return found


def fault(model: Model, kind: str, owner: str) -> str:
    """Return why there is no such number, in words that follow "and"; nothing where there is."""
    if NUMBERS[kind].owner == "link":
        G = model.link(owner).inertia
        if model.carrier[model.link_index(owner)][0] < 0:
            return f"link '{owner}' does not move"
        if kind == "mass" and not G[5, 5] > 0.0:
            return f"link '{owner}' has no mass"
        return f"link '{owner}' is no rigid body with mass" if kind == "center" and not (G[5, 5] > 0.0 and inertia.is_rigid(G)) else ""
    joint = model.joint(owner)
    if joint.type.floats:
        return f"joint '{owner}' floats"
    return f"joint '{owner}' is fixed" if joint.kind == "fixed" and kind in ("damping", "friction", "armature") else ""


def unit_of(model: Model, name: str) -> str | tuple[str, ...]:
    """Return FMI's unit of a model's number of that name, or of each of its numbers; "" where it has none, or several."""
    kind, owner = split(name)
    unit = NUMBERS[kind].unit
    if not isinstance(unit, Mapping):
        return unit
    moves = {*model.joint(owner).type.units}
    return unit[moves.pop()] if len(moves) == 1 else ""


def nominal(model: Model, name: str) -> Array:
    """Return a model's own number of that name; a displacement is zero."""
    kind, owner = split(name)
    if NUMBERS[kind].owner == "link":
        G = model.link(owner).inertia
        return np.array(inertia.mass(G) if kind == "mass" else inertia.center(G) if kind == "center" else G)
    return np.zeros(6) if kind == "displacement" else np.array(getattr(model.joint(owner), kind))


def checked_names(model: Model, names: Iterable[Any], error: type[EngineError] = ModelError) -> list[str]:
    """Return names of numbers that there are, each once, of which none follows from another."""
    given: list[str] = []
    for name in names:
        if not isinstance(name, str) or not is_number(name):
            raise error(f"a parameter of a model is named {shown(name)}{nearest(str(name), names_of(model))}; expected one of "
                        f"{', '.join(NUMBERS)}, and of whom, such as 'mass.LINK' or 'damping.JOINT'")  # fmt: skip
        kind, owner = split(name)
        try:
            why = fault(model, kind, owner)
        except ModelError as missing:
            raise error(f"parameter '{name}': {missing}") from None
        if why:
            raise error(f"parameter '{name}': {why}; expected {NUMBERS[kind].expected}")
        if name in given:
            raise error(f"parameter '{name}' is named twice; expected it once")
        for pair in EXCLUSIVE:
            if kind in pair and (other := f"{pair[kind == pair[0]]}.{owner}") in given:
                raise error(f"parameters '{other}' and '{name}' are both given; expected one of them: one says the other")
        given.append(name)
    return given


def unknown(name: Any, known: Collection[str], none: str, error: type[EngineError] = ModelError) -> EngineError:
    """Return the error of a name that is none of the known ones; ``none`` says what is expected where there are none."""
    return error(f"no parameter '{name}'{nearest(str(name), known)}; expected some of {', '.join(known) or f'(none: {none})'}")


def require_trailing(name: str, a: Array, shape: tuple[int, ...], error: type[EngineError] = ModelError) -> None:
    """Refuse values that are not (..., *shape)."""
    if a.shape[a.ndim - len(shape) :] != shape:
        raise error(f"parameter '{name}' has shape {a.shape}; expected (..., {', '.join(map(str, shape))})")


def require_possible(name: str, a: Array, error: type[EngineError] = ModelError) -> None:
    """Refuse values (..., *shape) of a number that none has."""
    what, (kind, _) = f"parameter '{name}'", split(name)
    expected, size = NUMBERS[kind].expected, len(NUMBERS[kind].shape)
    for row in np.ndindex(a.shape[: a.ndim - size]):
        where, x = f" in row {', '.join(map(str, row))}" if row else "", a[row]
        if not np.isfinite(x).all():
            raise error(f"{what}{where} is {shown(x.tolist())}; expected {expected}, finite")
        if size == 0 and (x < 0.0 or (kind == "mass" and x == 0.0)):
            raise error(f"{what} is {x:g}{where}; expected {expected}")
        if kind == "inertia" and (why := no_inertia(x)):
            raise error(f"{what}{where}: {why}; expected {expected}")
        if kind == "placement":
            try:
                frozen_pose(x, f"{what}{where}")
            except ModelError as no_pose:
                raise error(str(no_pose)) from None


def checked_value(name: str, x: Any, error: type[EngineError] = ModelError) -> Array:
    """Return a number of that name as an array of floats, or traced."""
    what = f"parameter '{name}'"
    shape, expected = NUMBERS[split(name)[0]].shape, NUMBERS[split(name)[0]].expected
    traced = ops.graph_of(x) is not None
    a = np.asarray(x) if traced else numbers(what, x, error)
    if a.shape != shape:
        raise error(f"{what} is {shown(x)}, of shape {a.shape}; expected {expected}, of shape {shape}")
    if not traced:
        require_possible(name, a, error)
    return a


def no_inertia(G: Array) -> str:
    """Return why G (6×6) is no body's inertia, nor as general as added mass; nothing where it is."""
    if np.abs(G - G.T).max() > 1e-9 * np.abs(G).max():
        return f"it is not symmetric (by up to {np.abs(G - G.T).max():.3g})"
    if inertia.is_rigid(G) and (faults := inertia.faults(G)):
        return faults[0]
    least = float(np.linalg.eigvalsh(G)[0])
    return f"it has the eigenvalue {least:.3g}" if least < -1e-9 * np.abs(G).max() else "" if G.any() else "it is zero"


def changed(model: Model, values: Mapping[str, Any]) -> tuple[list[Link], list[Joint]]:
    """Return the links and joints of a model with other numbers, which nobody checks."""
    own: dict[str, dict[str, dict[str, Any]]] = {"link": {}, "joint": {}}
    for name, x in values.items():
        kind, owner = split(name)
        own[NUMBERS[kind].owner].setdefault(owner, {})[kind] = x
    links = [link if link.name not in own["link"] else with_numbers(link, inertia=moved(link.inertia, **own["link"][link.name]))
             for link in model.links]  # fmt: skip
    joints = [j if j.name not in own["joint"] else with_numbers(j, **with_placement(j, **own["joint"][j.name])) for j in model.joints]
    return links, joints


def moved(G: Array, **numbers: Any) -> Array:
    """Return a link's inertia G with another centre of mass, or mass, of which all of it is a multiple; or another inertia."""
    if "inertia" in numbers:
        return np.asarray(numbers["inertia"])
    G = inertia.recentered(G, np.asarray(numbers["center"])) if "center" in numbers else G
    return G * (numbers["mass"] / G[5, 5]) if "mass" in numbers else G


def with_placement(joint: Joint, placement: Any = None, displacement: Any = None, **numbers: Any) -> dict[str, Any]:
    """Return a joint's numbers, with its placement among them where that is another."""
    if placement is not None:
        T = np.asarray(placement)
        numbers["placement"] = se3.pose(T[:3, :3], T[:3, 3])                    # whose last row is known
    if displacement is not None:
        numbers["placement"] = joint.placement @ se3.exp(np.asarray(displacement))
    return {n: x if n == "placement" or ops.graph_of(x) is not None else float(x) for n, x in numbers.items()}


def with_numbers(owner: Any, **numbers: Any) -> Any:
    """Return a copy of a link, a joint or a model with other numbers, which nobody checks."""
    made = copy.copy(owner)
    for name, x in numbers.items():
        object.__setattr__(made, name, x)
    return made
