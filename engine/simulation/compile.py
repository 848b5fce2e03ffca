"""``engine.compile``: the compiled dynamics of a model, or of a rigid body or another control system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from numpy.typing import ArrayLike

from engine.compiled.robot import Robot, robot_of
from engine.dynamics import GRAVITY
from engine.model import Model, StateError
from engine.rigid_body import ControlSystem, RigidBody
from engine.simulation.body_trajectory import BodyTrajectory, StateTrajectory
from engine.simulation.compiled_system import CompiledSystem


@overload
def compile(model: Model, gravity: ArrayLike = GRAVITY, parameters: Iterable[str] = ()) -> Robot: ...
@overload
def compile(model: RigidBody) -> CompiledSystem[BodyTrajectory]: ...  # type: ignore[overload-overlap]
@overload
def compile(model: ControlSystem) -> CompiledSystem[StateTrajectory]: ...
def compile(model: Model | ControlSystem, gravity: ArrayLike = GRAVITY, parameters: Iterable[str] = ()) -> Robot | CompiledSystem[Any]:
    """Compile a model's dynamics: ``robot = engine.compile(model, gravity=(0, 0, -9.81))``.

    Returns a :class:`Robot`, or of a :class:`~engine.rigid_body.RigidBody` or other control system, whose gravity is among its forces, a
    :class:`~engine.simulation.compiled_system.CompiledSystem`. Functions are traced and compiled to machine code when first used (and found
    again in memory, and on disk by later processes). With ``parameters``, names of the model's numbers as of
    :meth:`engine.Model.with_parameters`, such as "mass.LINK", "center.LINK" or "placement.JOINT", one program serves all of their values:
    ``robot.at({"mass.tool": 3.0}).aba(q, v, tau)``, and ``robot.aba.by("mass.tool")`` is the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import engine
    >>> arm = engine.Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> engine.compile(arm.model()).rnea(np.zeros(1), np.zeros(1), np.zeros(1)).round(9)
    array([58.86])
    """
    if isinstance(model, type) and issubclass(model, (Model, ControlSystem)):
        raise StateError(f"compile got the class {model.__name__}; expected one of its instances, {model.__name__}(…)")
    if isinstance(model, ControlSystem):
        if gravity is not GRAVITY or parameters:
            what = "parameters" if parameters else "a gravity"
            raise StateError(f"compile got {what} for {model.name}; expected it among the system's own forces")
        return CompiledSystem(model)
    return robot_of(model, gravity, parameters)
