"""A simulator's step with a link that is pulled, as WebAssembly: what a page needs to simulate by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.code.exported import Exported
from engine.code.sources import exported
from engine.code.wasm import wasm
from engine.compiler.gufunc import shaped
from engine.model import Model
from engine.simulation import Simulator
from engine.simulation.live import Pull

Array = np.ndarray


@dataclass(frozen=True)
class Module:
    """A function in WebAssembly: its arguments by name, and whether each is an array; the name of its result."""

    code: bytes
    takes: list[tuple[str, bool]]
    returns: str


@dataclass(frozen=True)
class Pulled:
    """A simulator whose links are pulled.

    Attributes
    ----------
    functions : "step" (k, p, x) -> x; "poses" (q) -> T_WL (nlinks, 4, 4); "mass" (q, chosen, point) -> kg, that a point of a link sets
        against a pull; where they are asked for, "momenta" (q, v) -> what :func:`momenta_of` says
    x, p : the whole state at rest, and the parameters that pull nothing
    pull : where in p what begins: "link", "point", "target", "stiffness", "damping" of :class:`engine.simulation.live.Pull`
    where : the same of the simulator's own parameters
    """

    functions: dict[str, Module]
    x: Array
    p: Array
    pull: dict[str, int]
    where: dict[str, int]


def pulled(simulator: Simulator, q0: Any = None, v0: Any = None, momenta: bool = False) -> Pulled:
    """Return what a page needs of a simulator that begins at q0, v0; by default as its file has it, at rest.

    Raises
    ------
    ExportError : a simulator that is no single program (events, plain Python)
    """
    model = simulator.model
    more = simulator.with_force(Pull(), Pull.released(model)).by_pairs         # as tables have C alone
    step = exported(more, "step", None)
    functions = {"step": step, "poses": exported(simulator.robot.forward_kinematics.straight, "poses", None), "mass": mass_of(model)}
    if momenta:
        functions["momenta"] = momenta_of(model)
    begun = more.start(model.initial() if q0 is None else q0, np.zeros(model.nv) if v0 is None else v0)
    where = {name: at.start for name, at in more.plant.parameters.slices.items()}
    own = {name.removeprefix("pull."): where.pop(name) for name in [*where] if name.startswith("pull.")}
    return Pulled({name: module(e) for name, e in functions.items()}, begun.origin.x, step.initial["p"], own, where)


def module(e: Exported) -> Module:
    """Return a function in WebAssembly."""
    (result,) = e.returned
    return Module(wasm(e)[0], [(a.name, bool(a.shape)) for a in e.parameters], result.name)


def mass_of(model: Model) -> Exported:
    """The function of q (nq), of the link that is chosen by a one (nlinks) and of a point on it (3) to the mass that the point sets against
    a pull, as :func:`engine.dynamics.effective_mass`."""
    moving = [i for i, (body, _) in enumerate(model.carrier) if body >= 0]

    def mass(q: Array, chosen: Array, point: Array) -> Any:
        J: Any = sum(chosen[i] * dynamics.jacobian(model, q, model.links[i].name) for i in moving)
        to = np.array([J[3:, k] - ops.cross(point, J[:3, k]) for k in range(model.nv)]).T
        return 3.0 / np.trace(to @ ops.solve(dynamics.crba(model, q), to.T))

    return exported(shaped(mass, f"({model.nq}),({len(model.links)}),(3)->()"), "mass", None)


def momenta_of(model: Model) -> Exported:
    """The function of q, v to the centre of mass c (3), m, the momentum [angular about c; linear] (6), N·m·s and N·s, in world axes, and
    √(2 m K), the momentum that the kinetic energy K could carry, N·s."""
    mass = dynamics.total_mass(model)

    def momenta(q: Array, v: Array) -> Any:
        K, _ = dynamics.energy(model, q, v)
        c, P = dynamics.center_of_mass(model, q), dynamics.centroidal_momentum(model, q, v)
        return np.concatenate([c, P, np.array([ops.sqrt(2.0 * mass * ops.maximum(K, 0.0))])])

    return exported(shaped(momenta, f"({model.nq}),({model.nv})->(10)"), "momenta", None)
