"""Variable mass: the model with what components' states add to bodies, such as propellant, and the momenta that go with it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.components.actuators import Drive, Motor
from engine.components.component import Component, Context, Effect
from engine.components.forces import JointFriction, JointSpring, JointStops
from engine.components.general_actuator import GeneralActuator
from engine.components.layout import Layout
from engine.components.lugre import LuGre
from engine.dynamics.modal_momentum import Bend
from engine.dynamics.momentum_conservation import Tree
from engine.model import Model
from engine.simulation.constraints import Gripper
from engine.simulation.parameters import Read
from engine.spatial import inertia

Array = np.ndarray


def initial_states(plant: Any, q: Array, v: Array, z: Array, p: Array) -> Array:
    """Return components' states z (n) as a run begins, with those in which what the robot does then, or parameters, have a part."""
    own = beginning(plant)
    if not own:
        return z
    s: Any = AtFirst(plant, q, v, z, p)
    return np.asarray(plant.states.join({**plant.states.split(z), **{c.name: c.begun(s) for c in own}}))


class AtFirst:
    """Context at the beginning of a run, made only where more than its parameters is read: tanks read these alone, and every run of a
    campaign begins with a model of its own."""

    def __init__(self, plant: Any, *given: Array) -> None:
        self.context = functools.cache(lambda: plant.context(0.0, *given))
        self.parameters = Read(plant.parameters.split(given[-1]), plant.read)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context(), name)


def require_own(components: Iterable[Component], values: Mapping[str, Array], nominal: Mapping[str, Array]) -> None:
    """Refuse values (..., *shape) of parameters that are numbers of components and that these cannot have."""
    for c in components:
        own = {name[len(c.name) + 1 :]: np.asarray(x) for name, x in values.items() if name.startswith(f"{c.name}.")}
        for what, x in own.items():
            c.require_parameter(what, x, np.shape(nominal[f"{c.name}.{what}"]))
        if own:
            c.require_together(own)


def beginning(plant: Any) -> list[Component]:
    """Return the components whose states are not the same at the beginning of every run."""
    scattered = {name.rpartition(".")[0] for name in plant.parameters.shapes}
    return [c for c in plant.components if type(c).begun is not Component.begun and (not c.rigid or c.name in scattered)]


def beginning_by(plant: Any) -> tuple[str, ...]:
    """Return the parameters by which components begin: nobody sets them later."""
    s: Any = AtFirst(plant, plant.model.initial(), np.zeros(plant.model.nv), plant.initial_states(), plant.parameters.join(plant.values))
    s.parameters = Read(plant.values, names := set[str]())
    for c in beginning(plant):
        c.begun(s)
    return tuple(n for n in plant.parameters.shapes if n in names)


def started(plant: Any, layout: Layout, x: Array, p: Array | None = None) -> Array:
    """Return whole states x (..., n) as runs with parameters p (..., np), nominal by default, begin: see :func:`initial_states`."""
    if beginning(plant):
        rows, p = x.reshape(-1, layout.n), plant.parameters.join(plant.values) if p is None else p
        for row, given in zip(rows, np.broadcast_to(p, (*x.shape[:-1], p.shape[-1])).reshape(len(rows), -1), strict=True):
            a = layout.split(row)
            a["state"][:] = initial_states(plant, a["q"], a["v"], a["state"], given)
    return x


def add_masses(model: Model, carriers: Sequence[Component], states: Mapping[str, Any]) -> Model:
    """Return the model with the inertias (6×6) that components add to its links in their states."""
    more: dict[str, Any] = {}
    for c in carriers:
        for link, (G, _) in c.bodies(states[c.name], None).items():
            more[link] = more.get(link, model.link(link).inertia) + G
    return model.with_numbers({f"inertia.{link}": G for link, G in more.items()}) if more else model


def drained(s: Context, carriers: Sequence[Component], rates: Mapping[str, Any]) -> dict[str, Array]:
    """Return by link the rate Ġ (6×6) of what components add to it, of the rates of their states."""
    found: dict[str, Array] = {}
    for c in carriers:
        for link, (_, Gdot) in c.bodies(s.states[c.name], rates[c.name]).items():
            if Gdot is not None:                                               # modes drain nothing
                found[link] = found[link] + Gdot if link in found else Gdot
    return found


def with_drains(s: Context, F: Array | None, drains: Mapping[str, Array]) -> Array | None:
    """Return the wrenches F (nlinks, 6) with Ġ V of the links that drain: what the momentum G V changes by where nothing accelerates."""
    if not drains:
        return F
    rows = [0.0 * V if F is None else F[k] for k, V in enumerate(s.twists)]
    for link, Gdot in drains.items():
        k = s.model.link_index(link)
        rows[k] = rows[k] + Gdot @ s.twists[k]
    return np.array(rows)


def body_of_link(model: Model, link: str) -> int:
    """Return the body of a link."""
    return model.carrier[model.link_index(link)][0]


def modal(components: Iterable[Component], states: Mapping[str, Any]) -> dict[str, Bend]:
    """Return by link what modes hide of its inertia and carry of its momentum."""
    found: dict[str, Bend] = {}
    for c in components:
        for link, own in c.modal(states[c.name]).items():
            found[link] = Bend(found[link].hidden + own.hidden, found[link].carried + own.carried) if link in found else own
    return found


def moved_by(s: Context, tree: Tree, drains: Mapping[str, Array], P: Array) -> Any:
    """Return what the rate (9) of a tree's momentum state P has besides loads, where its links drain.

    The centre of mass moves by x = Σ R (ḣ + ṁ (p − c))/m, with a link's rates of mass and first moment, ṁ and ḣ, beside its p/m; so the
    moment about it changes by −x × p.
    """
    own = {link: Gdot for link, Gdot in drains.items() if body_of_link(s.model, link) in tree}
    if not own:
        return 0.0
    shift, m = np.zeros(3), sum(inertia.mass(s.weighs(link.name)) for link in s.model.links if body_of_link(s.model, link.name) in tree)
    for link, Gdot in own.items():
        T = s.pose(link)
        shift = shift + T[:3, :3] @ inertia.first_moment(Gdot) + inertia.mass(Gdot) * (T[:3, 3] - P[6:])
    x = shift / m
    return np.concatenate([-ops.cross(x, P[3:6]), np.zeros(3), x])


def without_inner(effects: Mapping[str, Effect]) -> dict[str, Effect]:
    """Return effects without what links and their modes, or what they store, do to one another."""
    return {name: dataclasses.replace(e, wrenches=outer(e)) if e.inner else e for name, e in effects.items()}


def outer(e: Effect) -> dict[str, Any]:
    """Return the wrenches of an effect without those within."""
    left = {link: (F, e.inner.get(link)) for link, F in e.wrenches.items()}
    return {link: F if own is None else F - own for link, (F, own) in left.items() if own is not F}


def add_flows(commands: dict[str, Any], flows: Mapping[str, Any]) -> dict[str, Any]:
    """Return commands with flows, which add up."""
    return {**commands, **{name: commands[name] + x if name in commands else x for name, x in flows.items()}}


def between_links(model: Model, components: Iterable[Component]) -> bool:
    """Return whether components act between the links of a tree only, so that they change no momentum."""
    floats = [b for b in model.bodies if b.kind.floats]

    def between(c: Component) -> bool:
        if isinstance(c, JointFriction):
            return not any(x[b.v].any() for x in c.losses.values() for b in floats)
        if isinstance(c, GeneralActuator):
            return not c.link and not {b.joint.name for b in floats} & {*c.joints}
        return isinstance(c, (Drive, Motor, JointSpring, JointStops, Gripper, LuGre))

    return all(map(between, components)) and not any(j.damping or j.friction for j in model.joints if j.type.floats)
