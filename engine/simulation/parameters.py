"""Parameters of a simulation: numbers that may differ from rollout to rollout, masses and inertias of links among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, numbers, shown
from engine.components.component import SimulationError
from engine.components.first_values import spread
from engine.components.law import OFFERED, SEEDS
from engine.components.makers import Maker
from engine.contact import is_material, require_material
from engine.contact.material import HARDEST, PARAMETERS, TURNING
from engine.model import Model
from engine.model.parameters import (
    NUMBERS,
    checked_names,
    checked_value,
    is_number,
    names_of,
    require_possible,
    require_trailing,
    split,
    unknown,
)
from engine.spatial import inertia

Array = np.ndarray
#: what parameters of couples of surfaces begin with
COUPLES = tuple(f"{kind}." for kind, what in PARAMETERS.items() if what in TURNING)


class Read(dict[str, Any]):
    """Parameters by name, which note who of them is read in ``names``; SimulationError for one that there is not."""

    def __init__(self, values: Mapping[str, Any], names: set[str]) -> None:
        super().__init__(values)
        self.names = names

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> Any:
        raise unknown(name, self, "give parameters to the Simulator", SimulationError)

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
    """Return whether a parameter counts instead of a number of the model's, of its contacts, or its gravity: they are named like what they
    replace."""
    return name == "gravity" or is_number(name) or is_material(name)


def of_model(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters that are numbers of the model."""
    return {name: x for name, x in parameters.items() if is_number(name)}


def moves_shapes(name: str) -> bool:
    """Return whether a parameter is a joint's placement."""
    return name.startswith(("placement.", "displacement."))


def possible(name: str, x: Array) -> Any:
    """Return whether a parameter of the model or of contacts is within its range, about; traceable."""
    least = np.asarray(x).reshape(-1)[-1]                                       # of an inertia its mass
    if name.startswith("contact_stiffness."):
        return ops.logical_and(ops.less(0.0, least), ops.less_equal(least, HARDEST))
    if name.startswith(("mass.", "inertia.")):
        return ops.less(0.0, least)
    return ops.less_equal(0.0, least) if is_material(name) or name.startswith(("damping.", "friction.", "armature.")) else True


def require_known(parameters: Iterable[str], constraints: Any, impacts: bool, contacts: Any) -> None:
    """Refuse what something would not know: loops stand on the model's placements, ideal impacts on all its numbers, and contacts have
    couples where a material has some; and ideal impacts beside contacts, which would act on the same bodies twice."""
    if impacts and contacts:
        raise SimulationError("an engine.impact among events, beside contacts: bodies would rebound by both; expected one of them")
    surfaces, turning = (contacts.surfaces, contacts.turning) if contacts else ((), ())
    for name in parameters:
        if constraints and moves_shapes(name):
            raise SimulationError(f"parameter '{name}' beside constraints, which close the model's own placements; expected none of these")
        if impacts and is_number(name):
            raise SimulationError(f"parameter '{name}' beside an engine.impact, which is of the model's own numbers; expected Contacts")
        if is_material(name) and (link := split(name)[1]) not in surfaces:
            raise SimulationError(f"parameter '{name}': nothing of '{link}' may touch{nearest(link, surfaces)}; expected a link with "
                                  "contacts, or 'world'")  # fmt: skip
        if is_material(name) and name.startswith(COUPLES) and link not in turning:
            raise SimulationError(f"parameter '{name}': '{link}' touches nothing with torsional or rolling friction; expected materials "
                                  "that have some, which the parameter is to replace")  # fmt: skip


def with_parameters(model: Model, gravity: Any, parameters: Mapping[str, Any]) -> tuple[Model, Any]:
    """Return the model and the gravity with the parameters that stand for their own numbers."""
    changed = of_model(parameters)
    return (model.with_numbers(changed) if changed else model), parameters.get("gravity", gravity)


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
        if name == "gravity" and a.shape != (3,):
            raise SimulationError(f"parameter 'gravity' has shape {a.shape}; expected (3,)")
        if is_material(name) and a.shape:
            raise SimulationError(f"parameter '{name}' has shape {a.shape}; expected a number")
        require_own(name, a)
    for name in checked_names(model, filter(is_number, found), SimulationError):
        checked_value(name, found[name], SimulationError)
    return found


def require_read(model: Model, parameters: Iterable[str], read: Iterable[str]) -> None:
    """Refuse a parameter that nothing has read."""
    for name in parameters:
        if not own(name) and name not in read:
            surfaces = [f"{kind}.{link}" for kind in PARAMETERS for link in ("world", *(link.name for link in model.links))]
            meant = nearest(name, ["gravity", *names_of(model), *surfaces, *read])
            kinds = ", ".join([*NUMBERS, *PARAMETERS])
            raise SimulationError(f"nothing reads the parameter '{name}'{meant}; expected one that a force, the controller or an event "
                                  f"asks for by its name, 'gravity', or of a link, joint or surface: {kinds}")  # fmt: skip


def require_own(name: str, a: Array) -> None:
    """Refuse parameter values (..., *shape) that are impossible for the quantity that the parameter stands for."""
    if is_number(name) and a.shape[a.ndim - len(NUMBERS[split(name)[0]].shape) :] == NUMBERS[split(name)[0]].shape:
        require_possible(name, a, SimulationError)
    elif is_material(name):
        require_material(name, a, SimulationError)


def require_whole(name: str, a: Array) -> None:
    """Refuse seeds and runs of noise (...) that are no whole numbers: others near them would have the same noise."""
    if name in SEEDS and len(bad := a[~((a >= 0) & (a < 2.0**53) & (a == np.floor(a)))]):
        raise SimulationError(f"parameter '{name}' is {bad[0]:.17g}; expected a whole number from 0, below 2^53")


def checked_values(known: Mapping[str, Array], given: Mapping[str, Any], makers: Sequence[Maker] = ()) -> dict[str, Array]:
    """Return values (..., *shape) for some of the known parameters, as arrays of floats; of errors of sensors among the ``makers`` of
    signals one number stands for all."""
    found, errors = {}, {n for c in makers for n in getattr(c, "parameters", {})}
    for name, x in given.items():
        if name not in known:
            if why := next((why for c in makers if (why := c.lacks(str(name)))), ""):
                raise SimulationError(f"parameter '{name}': {why}")
            raise unknown(name, known, "give parameters to the Simulator", SimulationError)
        found[name] = real(name, spread(x, known[name]) if name in errors else x)
        require_trailing(name, found[name], np.shape(known[name]), SimulationError)
        require_own(name, found[name])
        require_whole(name, found[name])
    return found


def require_rigid(model: Model, trees: tuple[tuple[int, ...], ...], parameters: Mapping[str, Array]) -> None:
    """Refuse inertias (..., 6, 6) among the parameters that no rigid body has: the momentum of trees is summed as rigid bodies'."""
    carried = {i for tree in trees for i in tree}
    for name, G in parameters.items():
        kind, link = split(name)
        if not is_number(name) or kind != "inertia" or model.carrier[model.link_index(link)][0] not in carried:
            continue
        if not all(map(inertia.is_rigid, G.reshape(-1, 6, 6))):
            raise SimulationError(f"parameter '{name}' is no rigid body's inertia; expected [[I, [h]], [−[h], m 1]] of a model that floats")
