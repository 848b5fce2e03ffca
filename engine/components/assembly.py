"""The list of a simulator's components, bound and named, from the forces, actuators and controller that a user gives."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import numbers, shown, warn
from engine.compiler import name_of
from engine.components.actuators import Drive, Motor
from engine.components.component import RECORDED, Component, SimulationError, SimulationWarning
from engine.components.controller import Controller
from engine.components.frame import Frame, require_frame
from engine.components.general_actuator import GeneralActuator
from engine.components.law import Force, Law
from engine.components.makers import Maker
from engine.model import Model, ModelError

#: what the edge of a joint in a model's graph holds that is nothing without a spring: whose springs those are
SPRUNG = "sprung_by"
#: what that of a liquid's joint holds: the tank's name, as far as the liquid may be off its axis, m, and the tank's link
LIQUID = "liquid"


def assemble(model: Model, dt: float, forces: list[Any], actuators: list[Component], joints: list[Component], limited: bool,
             parameters: Mapping[str, Any], frame: Frame | None = None, makers: Sequence[Maker] = ()) -> list[Component]:  # fmt: skip
    """Return all components, named, and bound to the model: copies, as another simulator may have the same ones; bind the makers of signals
    that functions among them may read."""
    actuators, forces = [copy.copy(a) for a in actuators], [copy.copy(f) if isinstance(f, Component) else f for f in forces]
    signals = [c.name for c in makers]
    motors = [a for a in actuators if isinstance(a, Motor)]
    found: list[Component] = [*([] if frame is None else [copy.copy(require_frame(frame))]), *actuators, Drive(motors, limited), *joints]
    for k, f in enumerate(forces):
        if isinstance(f, Component):
            found.append(f)
        else:
            own = name_of(f)
            found.append(Force(f, own if own not in ("<lambda>", *(c.name for c in found)) else f"force {k + 1}", parameters, signals))
    names: set[str] = set()
    for c in [*makers, *found]:
        if not isinstance(c.name, str):
            raise SimulationError(f"a component of the class {type(c).__name__} is named {shown(c.name)}; expected a text")
        bind_named(c, model, dt)
        require_whole(c)
        if c.name in RECORDED:
            raise SimulationError(f"a component is named '{c.name}', by which simulations have what is their own; expected another name")
        if c.name in names or c.name == Controller.name:
            raise SimulationError(f"two components are named '{c.name}'; expected unique names (give one name=…)")
        names.add(c.name)
    require_springs(model, found)
    for c in makers:
        if (require := getattr(c.called.law.fn, "require_together", None)) is not None:
            require(model, {other.name: other for other in makers})
    return found


def bind_named(c: Component, model: Model, dt: float) -> None:
    """Bind a component to a model; where that has no such link or joint, the error says who asks for it."""
    try:
        c.bind(model, dt)
    except ModelError as error:
        raise ModelError(f"{c.name}: {error}") from None


def require_springs(model: Model, components: Sequence[Component]) -> None:
    """Refuse a joint that a builder of springs has added to a model, such as a liquid's, and that nothing holds; where functions are among
    the forces, which may, it is a warning."""
    held = {x for c in components for x in (getattr(c, "joint", ""), *(c.joints if isinstance(c, GeneralActuator) else ()))}
    for _, _, data in model.graph.edges.data():
        if SPRUNG not in data or (name := data["joint"].name) in held:
            continue
        text = (f"nothing holds joint '{name}', which {data[SPRUNG]} has added for a spring: what is on it drifts away; expected the "
                f"springs that {data[SPRUNG]} returns among the forces (beside a law of yours, a JointSpring of stiffness 0)")  # fmt: skip
        if not any(isinstance(c, Force) for c in components):
            raise SimulationError(text)
        warn(text, SimulationWarning)


def require_whole(c: Component) -> None:
    """Refuse a component without a name, or whose state or memory is no vector of numbers."""
    if not c.name:
        raise SimulationError(f"a component of the class {type(c).__name__} has no name; expected one, by which its signals are recorded")
    for what, x in (("state", c.state), ("memory", c.memory)):
        if not isinstance(x, np.ndarray) or numbers(f"the {what} of '{c.name}'", x, SimulationError).ndim != 1:
            raise SimulationError(f"the {what} of '{c.name}' is {shown(x)}; expected a NumPy array (n) of finite numbers")


def require_acting(controller: Any, forces: list[Any], actuators: list[Any]) -> None:
    """Refuse what is no function nor component."""
    for f in (*([] if controller is None else [controller]), *forces):
        if not callable(f) and not isinstance(f, (Component, Law)):
            raise SimulationError(f"a controller or force is {f!r}; expected a function of (t, q, v)")
    for f in (*forces, *actuators):
        if isinstance(f, Frame):
            raise SimulationError(f"'{f.name}' carries the world's origin, and is among forces or actuators; expected it as frame=…")
    for f in actuators:
        if not isinstance(f, Component):
            raise SimulationError(f"an actuator is {f!r}; expected a component of engine.components.actuators")


def with_rotors(model: Model, components: list[Component]) -> Model:
    """Return the model with what the motors' rotors add to its joints."""
    for c in components:
        model = model.with_armature({c.joint: c.armature}) if isinstance(c, Motor) and c.rotor else model
    return model
