"""Search for the component that makes a run diverge: the one that changes v or its own state the most over the last states."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dynamics
from engine.components.actuators import Drive
from engine.components.component import WILD, Component, Context, Effect
from engine.components.joint_dynamics import list_names
from engine.components.law import Ticking
from engine.model import Model, StateError
from engine.simulation.plant import Plant
from engine.spatial import inertia

Array = np.ndarray
#: of what a velocity or a state is, or of 1: a change in one step that no method follows
MOST = 1.0
ITS_STATE = "its state"
#: of the inertias that joints move, each alone: as little as some move together is about none
LITTLE = 1e-4
#: of what they move where every joint is turned a little (rad): more is what they move anywhere
NEARER, ELSEWHERE = 0.03, 0.3
#: of the largest: a part in a direction that counts
PART = 0.3
#: of the largest entry of an inertia: a moment about the centre of mass that is none
POINT = 1e-12


def weightless(model: Model, states: list[Array]) -> str:
    """Return in words which joints together move about no inertia in one of some configurations (nq), and which of what they move has none
    about its centre of mass; nothing where all move some."""
    least, words = LITTLE, ""
    for q in states:
        try:
            M = dynamics.crba(model, q)
        except StateError:                                                     # no configuration any more
            continue
        if not np.isfinite(M).all() or (np.diag(M) <= 0.0).any():
            continue
        for b in model.bodies:                                                 # what lies along the first axis of two does not turn by it
            alone = np.diag(M)[b.v]
            if b.kind.name == "universal" and alone[0] < LITTLE * alone[1]:
                return f"the axes of '{b.joint.name}' come to where the first moves about no inertia: '{b.joint.child}' lies along it"
        values, vectors = scaled_eigh(M)
        if values[0] < least:
            part = np.abs(vectors[:, 0])
            bodies = [b for b in model.bodies if part[b.v].max() > PART * part.max()]
            points = [b.joint.child for b in bodies if inertia.principal_moments(b.inertia)[0] <= POINT * np.abs(b.inertia).max()]
            turned = model.integrate(q, ELSEWHERE * np.where(np.arange(model.nv) % 2, 1.0, -1.0))
            elsewhere, _ = scaled_eigh(dynamics.crba(model, turned))
            if not points and values[0] > NEARER * elsewhere[0]:                  # light beside what they carry, wherever they are
                continue
            least = values[0]
            own = f": {list_names(points)} {'have' if len(points) > 1 else 'has'} none about the centre of mass" if points else ""
            words = f"the axes of {list_names([b.joint.name for b in bodies])} come to where they together move about no inertia{own}"
    return words


def scaled_eigh(M: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (nv), the least first, and eigenvectors (nv, nv) of M scaled to a diagonal of ones: how much of the inertia
    that each joint moves alone they move together."""
    size = np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M / np.outer(size, size))
    return values, vectors


class Watched(Plant):
    """A plant that notes, where it is asked on floats, who is too strong: who changes velocities, or a state of its own, the most.

    Attributes
    ----------
    found : in words, who it is; "" as long as nobody is
    period : s, for which that is held between its ticks; 0 where it is not
    """

    def __init__(self, plant: Plant, dt: float) -> None:
        vars(self).update(vars(plant))
        self.dt, self.found, self.period, self._most = dt, "", 0.0, MOST

    def effects(self, s: Context, m: Array, held: Context | None = None) -> dict[str, Effect]:
        effects = super().effects(s, m, held)
        if (np.abs(np.append(s.q, s.v)) <= WILD).all():
            M = dynamics.crba(s.model, s.q)
            for c in self.acting:
                e = effects[c.name]
                self._note(c, s, "the velocities", np.linalg.lstsq(M, e.force(s))[0], s.v)
                if e.rate is not None:
                    self._note(c, s, ITS_STATE, e.rate, s.states[c.name])
        return effects

    def _note(self, c: Component, s: Context, what: str, rate: Any, x: Array) -> None:
        """Take note of a component that changes x in a step by more than anybody did until now, as a share of x."""
        law = self._law(c)
        period = law.period if law is not None and law.called.law.period is not None and what != ITS_STATE else 0.0
        share = float(max(self.dt, period) * np.linalg.norm(rate) / max(float(np.linalg.norm(x)), 1.0))
        if share > self._most:
            self._most, self.period = share, period
            span = f"the {period:g} s that it is held" if period else "a step"
            self.found = f"{self._title(c)}, which would change {what} {share:.2g}-fold in {span}"

    def _law(self, c: Component) -> Ticking | None:
        """Return the law of the user's that acts by a component, if one does."""
        return c if isinstance(c, Ticking) else self.controller if c.command is not None else None

    def _title(self, c: Component) -> str:
        """Return who acts by a component: the function of the user's where it is one, or where one commands it."""
        if isinstance(c, Ticking):
            return c.called.name
        steered = self.controller is not None and c.command is not None
        by = self.controller.called.name if self.controller is not None and steered else ""
        return by if steered and isinstance(c, Drive) else f"{by} through '{c.name}'" if steered else f"'{c.name}'"
