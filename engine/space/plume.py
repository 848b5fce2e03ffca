"""Plumes of thrusters (``components.actuators``), and what they push on."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number
from engine.components.actuators import Thrusters
from engine.components.component import Component, Context, Effect, SimulationError
from engine.model import Model
from engine.space.facets import Facets, require_facets

Array = np.ndarray


class Plume(Component):
    """The push of thrusters' plumes on facets of other links: momentum flux F (m + 2)/(2π r²) cosᵐ θ at a distance r from the nozzle, θ off
    its axis, where a facet feels flux · A (−n̂·ê)₊ ê along the way ê from the nozzle.

    What catches all of a half-space takes F. The thrusters are given it as ``plume=``, and it follows them among the actuators. None of
    what is hit shadows another.

    Parameters
    ----------
    link, positions, directions : as of the thrusters
    facets : of what may be hit
    exponent : m, from 0; 8 is about a small nozzle's

    Signal: ``force`` (3), N, the sum in world axes.

    >>> Plume("base", [[0, 0, 0]], [[0, 0, 1]], Facets({"panel": [((0, 0, 0), (1, 0, 0), 10.0)]})).name
    'plume'
    """

    units = types.MappingProxyType({"": "N", "force": "N"})

    def __init__(self, link: str, positions: Any, directions: Any, facets: Facets, exponent: float = 8.0, name: str = "plume") -> None:
        like = Thrusters(link, positions, directions, 1.0)
        self.link, self.positions, self.directions = link, like.positions, like.directions
        self.facets, self.name = require_facets(name, facets), name
        self.exponent = number(f"{name}: exponent", exponent, "a number from 0", least=0.0, error=SimulationError)
        if link in facets.areas:
            raise SimulationError(f"{name}: facets of '{link}', on which the thrusters are; expected those of other links")
        self.command = like.command

    def bind(self, model: Model, dt: float) -> None:
        self.facets.require_links(model, self.name)
        model.link_index(self.link)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        thrust = np.zeros(len(self.positions)) if command is None else command
        T, m = s.pose(self.link), self.exponent
        wrenches, total = {}, np.zeros(3)
        for link in self.facets.areas:
            own = s.pose(link)
            R = own[:3, :3]
            pushes = []
            for p, d, F in zip(self.positions, self.directions, thrust, strict=True):
                nozzle, axis = R.T @ (T[:3, 3] + T[:3, :3] @ p - own[:3, 3]), -(R.T @ (T[:3, :3] @ d))
                for at, n, A in zip(*self.facets.of(link), strict=True):
                    way = at - nozzle
                    r2 = way @ way
                    e = way / ops.sqrt(r2)
                    flux = F * (m + 2.0) / (2.0 * np.pi * r2) * ops.maximum(e @ axis, 0.0) ** m
                    f = flux * A * ops.maximum(-(n @ e), 0.0) * e
                    pushes.append(np.concatenate([ops.cross(at, f), f]))
            wrenches[link] = sum(pushes[1:], pushes[0])
            total = total + R @ wrenches[link][3:]
        return Effect(wrenches=wrenches, signals={"force": total})

