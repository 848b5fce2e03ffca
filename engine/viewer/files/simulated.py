"""A page in which a simulation runs by itself: its step is WebAssembly, and the browser takes it, draws, and pulls links."""

from __future__ import annotations

import base64
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
from engine.viewer.files.html import DIFFERENT, HAND_STYLE, HANDS, PAGE, document
from engine.viewer.scene.scene import Scene

Array = np.ndarray


def simulated(simulator: Simulator, environment: Any, geometry: str) -> str:
    """Return the page of a simulator, which begins at its model's neutral configuration, at rest.

    Raises
    ------
    ExportError : a simulator that is no single program (events, plain Python)
    """
    model = simulator.model
    pulled = simulator.with_force(Pull(), Pull.released(model))
    step = exported(pulled, "step", None)
    functions = {"step": step, "poses": exported(simulator.robot.forward_kinematics, "poses", None), "mass": pulled_mass(model)}
    where = {name.removeprefix("pull."): at.start for name, at in pulled.plant.parameters.slices.items() if name.startswith("pull.")}
    environment = ("ground" if any(simulator.gravity) else "space") if environment is None else environment
    scene = Scene(model, environment, geometry)
    links = sorted({part.link for part in scene.actors[0].parts if model.carrier[part.link][0] >= 0})
    header = {"dt": simulator.dt, "nq": model.nq, "x": step.initial["x"].tolist(), "p": step.initial["p"].tolist(), "pull": where,
              "moving": links, "functions": {name: module(e) for name, e in functions.items()}}  # fmt: skip
    return document(scene, np.zeros(1), DIFFERENT, {"play": True, "simulated": header}, [*HANDS, PAGE / "simulated.js"], [HAND_STYLE])


def module(e: Exported) -> dict[str, Any]:
    """Return a function as what the page knows of it."""
    code, _ = wasm(e)
    (result,) = e.returned
    return {"code": base64.b64encode(code).decode(), "takes": [[a.name, bool(a.shape)] for a in e.parameters], "returns": result.name}


def pulled_mass(model: Model) -> Exported:
    """The function of q (nq), of the link that is chosen by a one (nlinks) and of a point on it (3) to the mass that the point sets against
    a pull, as :func:`engine.dynamics.effective_mass`."""
    moving = [i for i, (body, _) in enumerate(model.carrier) if body >= 0]

    def mass(q: Array, chosen: Array, point: Array) -> Any:
        J: Any = sum(chosen[i] * dynamics.jacobian(model, q, model.links[i].name) for i in moving)
        to = np.array([J[3:, k] - ops.cross(point, J[:3, k]) for k in range(model.nv)]).T
        return 3.0 / np.trace(to @ ops.solve(dynamics.crba(model, q), to.T))

    return exported(shaped(mass, f"({model.nq}),({len(model.links)}),(3)->()"), "mass", None)
