"""The moving frame that carries the world's origin, such as an orbit: configurations and velocities are relative to it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import shown
from engine.components.component import Component, Context, SimulationError
from engine.components.forces import CentralGravity
from engine.model import Model

Array = np.ndarray


class Frame(Component):
    """A component that carries the world's origin, in free fall: it exerts on the links what gravity there differs from its own.

    A simulator has one at most, as its ``frame``. Its axes do not turn. Subclasses write ``act`` and :meth:`place`, and record the signals
    ``origin`` and ``velocity``, by which :meth:`engine.Trajectory.orbit` says where links are.
    """

    name = "frame"
    units = types.MappingProxyType({"origin": "m", "velocity": "m/s"})
    #: what it was made of, as numbers: by it states of one frame are told from those of another
    known: tuple[float, ...] = ()

    def at(self, t: Array) -> Array:
        """Return its own state (..., n) at times (...), s: it is a function of time alone, as nothing else moves what falls freely."""
        return np.broadcast_to(self.state, (*np.shape(t), self.state.size))

    def through(self, t: float, r: Array, v: Array) -> Array:
        """Return its own state (..., n) with which the origin is at r (..., 3), m, at t, and moves with v (..., 3), m/s."""
        return np.broadcast_to(self.state, (*np.shape(r)[:-1], self.state.size))

    def begins(self, t: float, places: Array) -> None:
        """Warn where a run that begins at t with bodies at places (..., 3), m, from the origin is hardly meant."""

    def missed(self, advance: Callable[..., Array], order: int, dt: float) -> float:
        """Return about how far off, m, the origin is after three turns by steps of dt, s, of a method: ``advance(acceleration, t, h, y)``
        steps y = (x, ẋ) (2 n) with an acceleration of (t, x, ẋ)."""
        return 0.0

    def place(self, t: Any, state: Array) -> tuple[Array, Array]:
        """Return where the origin is at t, m (3), and its velocity, m/s (3), of the component's own state (n)."""
        raise NotImplementedError

    def bend(self, s: Context, link: str, slopes: Sequence[Array]) -> Array:
        """Return what gravity does to the modes of a link (n), by how they change its inertia, ∂G/∂η (6×6 each)."""
        raise NotImplementedError


def require_frame(frame: Any) -> Frame:
    """Return a frame; refuse what is none."""
    if not isinstance(frame, Frame):
        raise SimulationError(f"frame is {shown(frame)}; expected what carries the world's origin, such as engine.space.ReferenceOrbit(…)")
    return frame


def require_falling(model: Model, gravity: Iterable[float], parameters: Mapping[str, Any], components: Iterable[Component],
                    ground: bool) -> None:  # fmt: skip
    """Refuse beside a frame what does not fall with it: uniform gravity, a ground, a second centre, a model that the world holds."""
    what = f"'{model.name}' has a frame, whose origin falls freely,"
    if any(gravity) or "gravity" in parameters:
        said = "a parameter 'gravity'" if "gravity" in parameters else f"the uniform gravity {tuple(gravity)}"
        raise SimulationError(f"{what} and {said}, which would pull at it; expected gravity=(0, 0, 0)")
    if others := [c.name for c in components if isinstance(c, CentralGravity)]:
        raise SimulationError(f"{what} and '{others[0]}', which says where gravity's centre is too; expected one of them")
    if ground:
        raise SimulationError(f"{what} and a ground, which would fall with it; expected contacts without a ground")
    if not any(b.kind.floats for b in model.bodies):
        raise SimulationError(f"{what} and a base that is fixed to it; expected a model that floats (floating_base=True)")
