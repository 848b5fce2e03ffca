"""Fluid drag on bodies approximated by boxes: viscous and quadratic, as for swimming robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers
from engine.components.component import Component, Context, Effect, SimulationError
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray


class BoxDrag(Component):
    """Drag of a fluid on boxes: of its viscosity, as on spheres of their mean edge, and of its density, as on their sides.

    With the edges b, their mean d, and the twist [ω; v] of a box relative to the fluid, in its axes about its centre::

        m = −π η d³ ω − ρ/64 bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ| ωᵢ,   f = −3π η d v − ρ/2 bⱼ bₖ |vᵢ| vᵢ

    Parameters
    ----------
    boxes : {link: (edges (3), m; pose of the box in the link's frame (4, 4))}
    density, viscosity : ρ, kg/m³, and η, Pa·s
    wind : velocity of the fluid, m/s, in world axes (3)

    Reference: the MuJoCo documentation, *Fluid forces*, inertia model.

    >>> BoxDrag({"fin": ((0.1, 0.2, 0.3), np.eye(4))}, density=1000.0).name
    'drag'
    """

    def __init__(self, boxes: Mapping[str, tuple[Any, Any]], density: float = 0.0, viscosity: float = 0.0,
                 wind: Sequence[float] = (0.0, 0.0, 0.0), name: str = "drag") -> None:  # fmt: skip
        self.density, self.viscosity, self.name = density, viscosity, name
        self.boxes = {link: (numbers(f"{name}: edges", b, SimulationError), numbers(f"{name}: a pose", T, SimulationError))
                      for link, (b, T) in boxes.items()}  # fmt: skip
        self.wind = numbers(f"{name}: wind", wind, SimulationError)

    def bind(self, model: Model, dt: float) -> None:
        for what in ("density", "viscosity"):
            number(f"{self.name}: {what}", getattr(self, what), "zero or more", least=0.0, error=SimulationError)
        for link, (b, T) in self.boxes.items():
            model.link_index(link)
            if b.shape != (3,) or not (b > 0.0).all() or T.shape != (4, 4):
                raise SimulationError(f"{self.name}: the box of '{link}' has the edges {b.tolist()}; expected three above zero, and a pose")
        if self.wind.shape != (3,):
            raise SimulationError(f"{self.name}: wind is {self.wind.tolist()}; expected three numbers")

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        wrenches = {}
        for link, (b, T) in self.boxes.items():
            V = se3.twist_to_child(T, s.twist(link))
            w, v = V[:3], V[3:]
            if self.wind.any():
                v = v - (s.pose(link)[:3, :3] @ T[:3, :3]).T @ self.wind
            d, x, y, z = b.mean(), *b
            sides, turns = np.array([y * z, x * z, x * y]), np.array([x * (y**4 + z**4), y * (x**4 + z**4), z * (x**4 + y**4)])
            m = -pi * self.viscosity * d**3 * w - self.density / 64.0 * turns * ops.absolute(w) * w
            f = -3.0 * pi * self.viscosity * d * v - self.density / 2.0 * sides * ops.absolute(v) * v
            wrenches[link] = se3.wrench_to_parent(T, np.concatenate([m, f]))
        return Effect(wrenches=wrenches)
