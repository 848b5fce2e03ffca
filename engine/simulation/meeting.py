"""Choice of contact model: laws of single pairs, tables where trees only meet, or nothing at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from engine.checks import shown, warn
from engine.components.component import SimulationError, SimulationWarning
from engine.constraints import Prescribed
from engine.contact import ContactError, ContactLaws
from engine.integrate import Method
from engine.model import Model, many_equal_trees
from engine.model.combine import WORLD
from engine.simulation.contacts import MANY_PAIRS, Contacts, OneSystem
from engine.simulation.independent_trees import JOINING, Kind, independent, joins_trees
from engine.simulation.many_contacts import ManyContacts

#: equal bodies that are one program in good time
MANY = 16


def bound(contacts: Any, model: Model, method: Method, arguments: Mapping[str, Any],
          make: Callable[..., Any]) -> tuple[ContactLaws | None, ManyContacts | None, tuple[Kind, ...]]:  # fmt: skip
    """Return the laws of a model's contacts, or None, or contacts as tables and the kinds of the bodies that meet by them; of trees that
    nothing joins the kinds alone: see :func:`~engine.simulation.independent_trees.independent`.

    Raises
    ------
    ContactError : what is no Contacts; of a method that is too simple for them it is warned
    """
    join = [name for name in ("sensors", "laws") if arguments.get(name)]
    only = arguments["compiled"] and not any(arguments.get(name) for name in JOINING if name not in ("contacts", *join))
    if join and only and (bodies := sum(len(trees.names) for trees in many_equal_trees(model))) > MANY:
        warn(f"'{model.name}' has {bodies} bodies or robots that are equal and would step as rows of tables; {' and '.join(join)} "
             "join them to one program, whose compilation and steps take a time that grows with all of them; expected few, or what is "
             "measured of the records after a run", SimulationWarning)  # fmt: skip
    if contacts is None:
        require_touching(arguments.get("sensors", ()), None)
        return None, None, independent(model, arguments, make)
    if not isinstance(contacts, Contacts):
        raise ContactError(f"contacts is {shown(contacts)}; expected engine.Contacts(...), or None")
    if method.order < 2:
        warn(f"contacts with the integrator '{method.name}', whose order is {method.order}: at rest velocities are off by up to half of "
             "what a step of flight adds, and recorded forces by what that takes; expected one of order two or more, such as cg4 or "
             "ralston2", SimulationWarning)  # fmt: skip
    if not joins_trees(arguments) and (many := contacts.many(model)) is not None:
        kinds = independent(model, arguments, make, True)
        if kinds and all(len(kind.trees.first.model.bodies) == 1 for kind in kinds):     # a file's own may all hang on its frame
            return None, many, kinds
    prescribed = [c.joint for c in arguments["constraints"] if isinstance(c, Prescribed)]
    laws = contacts.bind(model, [k for joint in prescribed for k in range(model.nv)[model.v_slice(joint)]])
    require_touching(arguments.get("sensors", ()), laws)
    return laws, None, ()


def require_touching(sensors: Iterable[Any], laws: ContactLaws | None) -> None:
    """Refuse a sensor of contacts where its link has none; one that a robot's file describes is warned of."""
    may = {s.link for pair in laws.pairs for s in (pair.a, pair.b)} if laws else set()
    for c in sensors:
        if "contacts" not in getattr(c, "feels", ()) or c.link in may:
            continue
        links = ", ".join(sorted(may - {WORLD}))
        said = f"'{c.name}' feels the contacts of '{c.link}', and " + (
            f"nothing of that may touch; expected one of {links}" if may else "there are none; expected contacts=engine.Contacts(…)")
        if not c.of_file:
            raise SimulationError(said)
        warn(f"{said.partition(';')[0]}: it reads zero", SimulationWarning)


def of_own_steps(simulator: Any) -> Any:
    """Return a simulator as steps want it that choose their own size: with joints whose losses and stops all act in flight, which that size
    follows; and with free bodies that meet by tables, up to a hundred pairs of shapes, as one system."""
    plant, meeting = simulator.plant, simulator._step.meeting
    changes: dict[str, Any] = {}
    if meeting is not None and meeting.many <= MANY_PAIRS:
        changes = {"contacts": OneSystem(**vars(simulator._arguments["contacts"]))}
    elif plant.impulses is not None and plant.impulses.joints is not None:
        changes = {"joint_dynamics": "explicit", "integrator": simulator.method.name}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)                     # of steps that are too long: these choose their own
        return type(simulator)(simulator.model, **{**simulator._arguments, **changes}) if changes else simulator
