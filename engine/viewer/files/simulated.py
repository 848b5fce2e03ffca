"""A page in which a simulation runs by itself: the browser takes its steps, draws, and pulls links."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np

from engine.code.pulled import pulled
from engine.simulation import Simulator
from engine.simulation.parameter_units import units_shown
from engine.space.orbit import ReferenceOrbit
from engine.viewer.files.html import DIFFERENT, DRAWN, HAND_STYLES, HANDS, PAGE, SMALL, Pack, document, lightened
from engine.viewer.files.sampled_marks import of_pages
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import ANGULAR, CANCELLED, LINEAR
from engine.viewer.scene.quantities import Quantities
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.symbols import BROAD, LONG, cone, stick

#: times of an orbit's turn at which a page has where the planet is
TURN = 1000


def simulated(simulator: Simulator, environment: Any, geometry: str, q0: Any = None, v0: Any = None, shown: Shown | None = None) -> str:
    """Return the page of a simulator, which begins at q0, v0; by default at its model's neutral configuration, at rest.

    Raises
    ------
    ExportError : a simulator that is no single program (events, plain Python)
    ViewerError : more than momentum is to be shown
    """
    if replace(shown := of_pages(shown), momentum=False) != of_pages(None):
        raise ViewerError("shown asks for marks that a page that simulates does not have; expected Shown(momentum=True), or a trajectory's "
                          ".html")  # fmt: skip
    model, made = simulator.model, pulled(simulator, q0, v0, shown.momentum)
    environment = ("ground" if any(simulator.gravity) else "space") if environment is None else environment
    robot = Actor(model, geometry, q0)
    orbit = simulator.plant.frame
    turn = np.linspace(0.0, orbit.period, TURN) if isinstance(orbit, ReferenceOrbit) else None
    robot.source.ground, robot.source.frame = simulator.plant.ground, None if turn is None else orbit
    scene = Scene(robot, environment, geometry)
    links = sorted({part.link for part in scene.actors[0].parts if model.carrier[part.link][0] >= 0})
    functions = {name: {"code": base64.b64encode(f.code).decode(), "takes": f.takes, "returns": f.returns}
                 for name, f in made.functions.items()}  # fmt: skip
    base = model.bodies[0]
    pack, whole = Pack(lightened(scene, DIFFERENT, DRAWN)), Quantities(robot).whole
    arrows = {"surfaces": [pack.surface(stick()), pack.surface(cone())], "length": 0.6 * whole, "breadth": 0.0065 * whole,
              "whole": whole, "head": [BROAD, LONG], "slight": CANCELLED,
              "colors": [ANGULAR, LINEAR]}  # fmt: skip
    header = {"dt": simulator.dt, "nq": model.nq, "nv": model.nv, "momenta": arrows if shown.momentum else None, "x": made.x.tolist(),
              "p": made.p.tolist(), "pull": made.pull, "tuned": tuned(simulator, made.where), "moving": links,
              "follow": base.joint.child if base.kind.floats and any(simulator.gravity) else "",    # it may go far
              "functions": functions}  # fmt: skip
    return document(scene, np.zeros(1), pack, {"play": True, "simulated": header}, [*HANDS, PAGE / "simulated.js"], HAND_STYLES, turn=turn)


def tuned(simulator: Simulator, where: dict[str, int]) -> dict[str, Any]:
    """Return the parameters that have sliders: where in all of them each begins, what it is, and the units of its numbers."""
    few = {name: np.asarray(x) for name, x in simulator.parameters.items() if name in where and not name.startswith("noise.")}
    units = units_shown(simulator.plant)
    return {name: [where[name], x.tolist(), units[name]] for name, x in few.items() if x.ndim < 2 and x.size <= SMALL}
