"""Sensors of fields and signals from outside: magnetometers, satellite navigation."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.checks import numbers, shown
from engine.components.component import Context, SimulationError
from engine.sensors.sensor import OF_SAMPLES, Errors, Mounted, with_options

Array = np.ndarray


class Magnetometer(Mounted):
    """A magnetometer: the field (3) in its axes, T.

    Parameters
    ----------
    field : three numbers, T, in world axes; or a function of place (3), m, and t, such as :class:`engine.space.Igrf`: of the place
        about the planet's centre where the world's origin moves
    noise, bias, scale, misalignment, quantum, limit : of a sample

    Signal: B (3), and "NAME.true".

    >>> Magnetometer("base", (2e-5, 0, -4e-5), noise=1e-8).errors[""].density
    False
    """

    measures = types.MappingProxyType({"": "T"})

    def __init__(self, link: str, field: Callable[[Any, Any], Any] | Any, placement: Any = None, period: float | None = None,
                 latency: float = 0.0, phase: float = 0.0, noise: Any = 0.0, bias: Any = 0.0, scale: Any = None, misalignment: Any = None,
                 quantum: Any = None, limit: Any = None, name: str = "magnetometer") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, {"": Errors(name, 3, noise, bias, None, scale, misalignment, quantum, limit)})
        self.mount(link, placement)
        own: Any = field if callable(field) else numbers(f"{name}: field", field, SimulationError)
        self.field = own
        if not callable(field) and own.shape != (3,):
            raise SimulationError(f"{name}: field is {shown(field)}; expected three numbers, T, or a function of place and t")

    def true(self, s: Context) -> dict[str, Any]:
        B = np.asarray(self.field(self.place(s)[0], s.t)) if callable(self.field) else self.field
        return {"": self.pose(s)[:3, :3].T @ B}


class GPS(Mounted):
    """A receiver of satellite navigation: its place and velocity (3), m and m/s, in world axes; beside a frame about the planet's centre.

    Parameters
    ----------
    position, velocity : errors, as dictionaries: ``position={"noise": 2.0}``; parameters "NAME.position.noise", …

    Signal: ``position``, ``velocity``, ``time``; and the truth.

    >>> GPS("base", position={"noise": 2.0}).parameters["gps.position.noise"]
    array([2., 2., 2.])
    """

    of_parts = ("position", "velocity")
    measures = types.MappingProxyType({"position": "m", "velocity": "m/s", "time": "s"})

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 position: Mapping[str, Any] | None = None, velocity: Mapping[str, Any] | None = None, name: str = "gps") -> None:
        own = {part: Errors(f"{name}.{part}", 3, **with_options(f"{name}: {part}", given, OF_SAMPLES))
               for part, given in (("position", position), ("velocity", velocity))}  # fmt: skip
        super().__init__(name, period, latency, phase, own)
        self.mount(link, placement)

    def true(self, s: Context) -> dict[str, Any]:
        r, v = self.place(s)
        return {"position": r, "velocity": v, "time": s.t}
