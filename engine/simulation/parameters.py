"""Parameters of a simulation: numbers that may differ from rollout to rollout, masses and inertias of links among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.checks import nearest, numbers, shown
from engine.model import Model, ModelError
from engine.simulation.component import SimulationError
from engine.simulation.law import OFFERED, SEEDS
from engine.spatial import inertia

Array = np.ndarray


def with_inertias(model: Model, changed: Mapping[str, str], parameters: Mapping[str, Any]) -> Model:
    """Return the model with inertias of links replaced by parameters: {link: parameter's name}."""
    bodies, links = list(model.bodies), list(model.links)
    for link, name in changed.items():
        k = model.link_index(link)
        (i, T), own = model.carrier[k], links[k].inertia
        G = own * (parameters[name] / own[5, 5]) if name.startswith("mass.") else parameters[name]
        bodies[i] = dataclasses.replace(bodies[i], inertia=bodies[i].inertia + inertia.transformed(T, G - own))
        links[k] = dataclasses.replace(links[k], inertia=G)
    return dataclasses.replace(model, bodies=tuple(bodies), links=tuple(links))


class Read(dict[str, Any]):
    """Parameters by name, which note who of them is read in ``names``; SimulationError for one that there is not."""

    def __init__(self, values: Mapping[str, Any], names: set[str]) -> None:
        super().__init__(values)
        self.names = names

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> Any:
        raise SimulationError(f"no parameter '{name}'{nearest(name, self)}; expected some of "
                              f"{', '.join(self) or '(none: give parameters to the Simulator)'}")  # fmt: skip

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        self.names.update(self)
        return super().items()

    def values(self) -> Any:
        self.names.update(self)
        return super().values()


def own(name: str) -> bool:
    """Return whether a parameter counts instead of a number of the model's, or its gravity: they are named like what they replace."""
    return name == "gravity" or name.startswith(("mass.", "inertia."))


def with_parameters(model: Model, gravity: Any, parameters: Mapping[str, Any]) -> tuple[Model, Any]:
    """Return the model and the gravity with the parameters that stand for their own numbers."""
    changed = {n.split(".", 1)[1]: n for n in parameters if own(n) and n != "gravity"}
    return (with_inertias(model, changed, parameters) if changed else model), parameters.get("gravity", gravity)


def real(name: Any, x: Any) -> Array:
    """Return a parameter's value as a array of finite floats; refuse a name that is no text, and texts that NumPy reads as numbers."""
    if not isinstance(name, str):
        raise SimulationError(f"a parameter is named {shown(name)}; expected a text")
    found = numbers(f"parameter '{name}'", x, SimulationError)
    if np.asarray(x).dtype.kind not in "fiubO":
        raise SimulationError(f"parameter '{name}' is {shown(x)}; expected numbers")
    return found


def checked_parameters(model: Model, parameters: Mapping[str, Any]) -> dict[str, Array]:
    """Return parameters as arrays of floats, by name; SimulationError where one cannot be."""
    found = {}
    for name, x in parameters.items():
        a = found[name] = real(name, x)
        require_whole(name, a)
        if name in ("t", "q", "v", *OFFERED) and name != "gravity":
            raise SimulationError(f"a parameter is named '{name}', which functions have anyway; expected another name")
        kind, _, link = name.partition(".")
        if own(name) and name != "gravity":
            try:
                i, _ = model.carrier[model.link_index(link)]
            except ModelError as error:
                raise SimulationError(f"parameter '{name}': {error}") from None
            if i < 0:
                raise SimulationError(f"parameter '{name}': link '{link}' does not move; expected one that does")
            wanted = () if kind == "mass" else (6, 6)
            if a.shape != wanted or (kind == "mass" and not model.link(link).mass > 0):
                expected = "a 6×6 inertia" if wanted else "a mass above zero, of a link with mass"
                raise SimulationError(f"parameter '{name}' is {x!r}; expected {expected}")
            require_inertial(name, a)
        if name == "gravity" and a.shape != (3,):
            raise SimulationError(f"parameter 'gravity' has shape {a.shape}; expected (3,)")
    for name in found:
        if name.startswith("mass.") and (other := "inertia." + name.removeprefix("mass.")) in found:
            raise SimulationError(f"parameters '{name}' and '{other}' are both given; expected one of them: an inertia holds the mass")
    return found


def require_read(model: Model, parameters: Iterable[str], read: Iterable[str]) -> None:
    """Refuse a parameter that nothing has read."""
    for name in parameters:
        if not own(name) and name not in read:
            links = [link.name for link, (i, _) in zip(model.links, model.carrier, strict=True) if i >= 0]
            meant = nearest(name, ["gravity", *(f"{kind}.{link}" for kind in ("mass", "inertia") for link in links), *read])
            raise SimulationError(f"nothing reads the parameter '{name}'{meant}; expected one that a force, the controller or an event "
                                  "asks for by its name, or 'gravity', 'mass.LINK' or 'inertia.LINK'")  # fmt: skip


def require_inertial(name: str, a: Array) -> None:
    """Refuse masses (...) and inertias (..., 6, 6) that none have: of a rigid body, or as general as added mass."""
    kind, _, _ = name.partition(".")
    size = {"mass": 0, "inertia": 2}.get(kind)
    if size is None or not own(name) or (kind == "mass" and (a > 0).all()):
        return
    for row in np.ndindex(a.shape[: a.ndim - size]):
        where, x = f" in row {', '.join(map(str, row))}" if row else "", a[row]
        if kind == "mass" and not x > 0:
            raise SimulationError(f"parameter '{name}' is {x:g}{where}; expected a mass above zero, of a link with mass")
        if kind == "inertia" and (fault := no_inertia(x)):
            raise SimulationError(f"parameter '{name}'{where}: {fault}; expected a 6×6 inertia")


def require_whole(name: str, a: Array) -> None:
    """Refuse seeds and runs of noise (...) that are no whole numbers: others near them would have the same noise."""
    if name in SEEDS and len(bad := a[~((a >= 0) & (a < 2.0**53) & (a == np.floor(a)))]):
        raise SimulationError(f"parameter '{name}' is {bad[0]:.17g}; expected a whole number from 0, below 2^53")


def no_inertia(G: Array) -> str:
    """Return why G (6×6) is no body's inertia, nor as general as added mass; nothing where it is."""
    if np.abs(G - G.T).max() > 1e-9 * np.abs(G).max():
        return f"it is not symmetric (by up to {np.abs(G - G.T).max():.3g})"
    if inertia.is_rigid(G) and (faults := inertia.faults(G)):
        return faults[0]
    least = float(np.linalg.eigvalsh(G)[0])
    return f"it has the eigenvalue {least:.3g}" if least < -1e-9 * np.abs(G).max() else "" if G.any() else "it is zero"


def checked_values(known: Mapping[str, Array], given: Mapping[str, Any]) -> dict[str, Array]:
    """Return values (..., *shape) for some of the known parameters, as arrays of floats."""
    found = {}
    for name, x in given.items():
        if name not in known:
            raise SimulationError(f"no parameter '{name}'{nearest(str(name), known)}; expected some of "
                                  f"{', '.join(known) or '(none: give parameters to the Simulator)'}")  # fmt: skip
        found[name] = real(name, x)
        shape = np.shape(known[name])
        if found[name].shape[found[name].ndim - len(shape) :] != shape:
            raise SimulationError(f"parameter '{name}' has shape {found[name].shape}; expected (..., {', '.join(map(str, shape))})")
        require_inertial(name, found[name])
        require_whole(name, found[name])
    return found


def require_rigid(model: Model, trees: tuple[tuple[int, ...], ...], parameters: Mapping[str, Array]) -> None:
    """Refuse inertias (..., 6, 6) among the parameters that no rigid body has: the momentum of trees is summed as rigid bodies'."""
    carried = {i for tree in trees for i in tree}
    for name, G in parameters.items():
        kind, _, link = name.partition(".")
        if kind != "inertia" or not own(name) or model.carrier[model.link_index(link)][0] not in carried:
            continue
        if not all(map(inertia.is_rigid, G.reshape(-1, 6, 6))):
            raise SimulationError(f"parameter '{name}' is no rigid body's inertia; expected [[I, [h]], [−[h], m 1]] of a model that floats")
