"""The state of a simulation between steps: what is shown of it counts, what follows from it is read-only."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from engine.model import Model
from engine.simulation.component import SimulationError
from engine.simulation.step import Step

Array = np.ndarray


class Origin(NamedTuple):
    """Where a state comes from: the whole state x (..., n), its parameters (..., p), and its time, so many steps after ``begun``."""

    x: Array
    parameters: Array
    t: float
    begun: float
    steps: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class State:
    """A robot at one time of a simulation, or a batch of them: what :meth:`Simulator.step` goes on from.

    t, q and v may be replaced (``dataclasses.replace``), and q and v written into: a state is what it shows. A rollout of a batch that
    failed begins anew where it is given q and v again, its wheels and controllers as they are at first.

    Attributes
    ----------
    t : s; q (..., nq); v (..., nv)
    vdot (..., nv), tau (..., nv), signals (by name) : what follows, as in a :class:`Trajectory`; read-only
    """

    t: float
    q: Array
    v: Array
    shown: dict[str, Array]
    origin: Origin

    @classmethod
    def of(cls, step: Step, data: Array, p: Array, begun: float, steps: int) -> State:
        """Return the state in a record (..., m), so many steps after the time ``begun``."""
        columns = step.columns(data)
        for x in columns.values():
            if isinstance(x, np.ndarray):
                x.flags.writeable = False
        q, v = columns.pop("q").copy(), columns.pop("v").copy()
        t = float(data.flat[0])
        return cls(t, q, v, columns, Origin(data[..., 1 : 1 + step.layout.n].copy(), p, t, begun, steps))

    @property
    def vdot(self) -> Array:
        """Accelerations (..., nv)."""
        return self.shown["vdot"]

    @property
    def tau(self) -> Array:
        """The controller's and motors' forces (..., nv)."""
        return self.shown["tau"]

    @property
    def signals(self) -> dict[str, Array]:
        """What the components say, by name."""
        return {n: x for n, x in self.shown.items() if n not in ("vdot", "tau")}

    @property
    def failed(self) -> Array:
        """Whether it is not finite any more: of a batch, which rollouts (...)."""
        return ~np.isfinite(self.q).all(axis=-1)

    def __repr__(self) -> str:
        return f"<state at t = {self.t:g} s: q {self.q.shape}, v {self.v.shape}>"

    def resumed(self, step: Step, model: Model) -> tuple[Array, float, int]:
        """Return the whole state x (..., n) to go on from, and the time and the number of steps that it is counted from."""
        x, p, t, begun, steps = self.origin
        at, moved = step.layout.slices, self.t != t
        if not np.isfinite(self.t):
            raise SimulationError(f"the state's time is {self.t!r}; expected a finite number, s")
        q, v = (shaped(model, n, y, x[..., at[n]].shape) for n, y in (("q", self.q), ("v", self.v)))
        rows = differ(q, x[..., at["q"]]) | differ(v, x[..., at["v"]])
        if not moved and not rows.any():
            return x, begun, steps
        alive = np.isfinite(x).all(axis=-1)
        rows = rows | (moved & alive)
        q, v = model.normalized(q[rows]), model.checked("v", v[rows], batched=True)
        kept = np.concatenate([q, v, x[rows][:, at["v"].stop :]], axis=-1)
        x = x.copy()
        x[rows] = step.prepare(p[rows], np.where(alive[rows][:, None], kept, step.begun(q, v, (len(q),))), float(self.t))
        return (x, float(self.t), 0) if moved else (x, begun, steps)


def differ(a: Array, b: Array) -> Array:
    """Return in which rows (...) arrays (..., n) differ; NaN is as good as NaN."""
    return ~((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=-1)


def shaped(model: Model, name: str, y: Array, shape: tuple[int, ...]) -> Array:
    """Return q or v of a state as an array of floats of its shape."""
    a = np.asarray(y)
    if a.shape == shape and a.dtype == float:
        return a
    try:
        return np.broadcast_to(model.checked(name, a, batched=True), shape)
    except ValueError as error:
        if isinstance(error, SimulationError) or "broadcast" not in str(error):
            raise
        raise SimulationError(f"the state's {name} has shape {a.shape}; expected {shape}") from None
