"""The simulator that a robot's file describes: components, contacts and settings from the plain data that a reader left in the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.checks import shown
from engine.components.box_drag import BoxDrag
from engine.components.component import SimulationError
from engine.components.forces import JointSpring, PointForce
from engine.components.general_actuator import GeneralActuator
from engine.constraints import Ball, Coupling, Hinge, Slider, Weld
from engine.contact import ContactMaterial
from engine.dynamics import GRAVITY
from engine.model import Model, Part
from engine.simulation.contacts import MOST_PAIRS, Contacts, HalfSpace
from engine.simulation.simulator import Simulator

#: what parts are made into, by the names of their kinds
CLASSES: dict[str, Any] = {c.__name__: c for c in (Ball, BoxDrag, ContactMaterial, Contacts, Coupling, GeneralActuator, HalfSpace,
                                                   Hinge, JointSpring, PointForce, Slider, Weld)}  # fmt: skip


def build_part(x: Any) -> Any:
    """Return what a part describes; parts in its arguments, too.

    >>> from engine.model import Part
    >>> build_part(Part("JointSpring", {"joint": "hip", "stiffness": 2.0})).stiffness
    2.0
    """
    if isinstance(x, Part):
        if x.kind not in CLASSES:
            raise SimulationError(f"a part is of the kind {x.kind!r}; expected one of {', '.join(CLASSES)}")
        return CLASSES[x.kind](**{name: build_part(y) for name, y in x.values.items()})
    if isinstance(x, Mapping):
        return {name: build_part(y) for name, y in x.items()}
    return x


def simulator_of(model: Model, **changes: Any) -> Simulator:
    """Return the simulator that a model's file describes: with its gravity, step, constraints, actuators, springs and contacts.

    Parameters
    ----------
    model : with something described, such as that of an MJCF or SDF file; ``model.described.q`` is the configuration in it
    changes : arguments of :class:`engine.Simulator`, each of which stands in place of what the file says

    What acts in flight is MuJoCo's: inertia, springs, dampers, actuators, drag. What MuJoCo holds softly is this engine's own: equalities
    hold exactly, joints end at stops and rub as ``joint_dynamics`` says, and surfaces touch as :class:`engine.ContactMaterial` has it:
    of an MJCF file about as stiff and lossy as its solref and solimp say, for the mass of the tree that a link belongs to.

    Raises
    ------
    SimulationError : the model has nothing described, or what :class:`engine.Simulator` raises

    Examples
    --------
    >>> import engine
    >>> text = '''<mujoco><worldbody><body><joint name="hip" stiffness="2"/><geom size="0.1"/></body></worldbody>
    ... <actuator><motor joint="hip"/></actuator></mujoco>'''
    >>> simulator_of(engine.load(text), gravity=(0, 0, 0))
    <simulator of 'robot': cg4, dt = 0.002 s; joints: ideal; acting: motor of hip, spring of hip>
    """
    if not isinstance(model, Model):
        raise SimulationError(f"simulator_of got {shown(model)}; expected a model, such as engine.load(…)")
    said = model.described
    if said is None:
        raise SimulationError(f"'{model.name}' has nothing described besides its tree; expected a model of an MJCF, SDF or USD file, or "
                              "Simulator(model, …)")  # fmt: skip
    found: dict[str, Any] = {"gravity": GRAVITY if said.gravity is None else said.gravity}
    if said.dt is not None:
        found["dt"] = said.dt
    for what in ("constraints", "actuators", "forces"):
        if what not in changes:
            found[what] = [build_part(part) for part in getattr(said, what)]
    if said.contacts is not None and "contacts" not in changes:
        found["contacts"] = contacts_of(model)
    return Simulator(model, **{**found, **changes})


def contacts_of(model: Model) -> Contacts | None:
    """Return the contacts that a model's file describes, or None. As they are, narrowed by :meth:`Contacts.with_pairs`, or with other
    numbers by ``dataclasses.replace``, they are taken by ``simulator_of(model, contacts=…)``.

    Raises
    ------
    SimulationError : it lets so many links touch that they are not listed

    Examples
    --------
    >>> import engine
    >>> text = '''<mujoco><worldbody><geom type="plane" size="1 1 1" friction="0.1"/><body name="a" pos="0 0 1"><freejoint/>
    ... <geom size="0.1" friction="0.3"/><geom name="heel" size="0.1" pos="0.3 0 0"/></body></worldbody></mujoco>'''
    >>> contacts = contacts_of(engine.load(text))
    >>> contacts.pairs, contacts.materials["a"].friction, contacts.materials["a/heel"].friction, contacts.combine
    ((('world', 'a'),), 0.3, 1.0, 'max')
    >>> contacts.with_pairs([("world", "a/heel")]).pairs
    (('world', 'a/heel'),)
    """
    part = None if model.described is None else model.described.contacts
    if part is not None and isinstance(many := part.values.get("pairs"), int):
        raise SimulationError(f"the file of '{model.name}' lets more than {many} pairs of links touch; expected {MOST_PAIRS} pairs of "
                              "shapes at most: contacts=Contacts(pairs=[...]) of those that matter, or contacts=None")  # fmt: skip
    found: Contacts | None = None if part is None else build_part(part)
    return found
