"""Results of an identification: a model with the parameters put in, and how well they are known."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.checks import number, require_packages
from engine.compiled.robot import robot_of
from engine.dynamics.base_parameters import BaseParameters
from engine.identification.equations import directions, forces
from engine.identification.errors import IdentificationError
from engine.identification.motions import Motion, motions_of
from engine.identification.unknowns import Unknowns
from engine.model import Model

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray
#: of a combination's name in a table
WIDE = 60


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Parameters that were found from motions: ``engine.Simulator(found.model)``, ``print(found)``.

    A motion shows combinations of parameters, ``base``: they are what was found, by least squares. The numbers of the model are those with
    these combinations that bodies can have, and of them the nearest to the model that was given. A parameter that is a combination of its
    own has a standard deviation; of others there is none, and ``combined(name)`` says what they show with.

    Attributes
    ----------
    model : with the parameters put in
    before : with those of the model that was given
    base : the combinations, base = B x of the unknowns x; base_values, base_std : (r), by least squares
    values, std : of the unknowns ``names`` (n), as the model has them; of those that are not known by themselves std is NaN
    residuals : root-mean-square error of the model by joint, N·m and N; or by entry of the momentum
    condition : of the equations, each column of unit length and each row over its noise: from 1; in the thousands, a motion that hardly
        shows some combination
    dof : degrees of freedom: numbers measured less numbers found
    left_out : how many rows of each joint were left out, as it was near rest, and its friction has no sign there
    physical : whether bodies can have what least squares found; if not, ``values`` are the least squares of what they can
    warnings : what was said of it

    >>> import engine
    >>> text = '''<mujoco><worldbody><body name="bob"><joint name="pivot" axis="0 1 0" damping="0.3"/>
    ... <geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>'''
    >>> model = engine.load(text)
    >>> found = engine.identify(model, engine.Simulator(model).run([0.5], [0.0], 2.0), "damping")
    >>> found.names, found.values.round(9), round(found.model.joint("pivot").damping, 9)
    (('damping.pivot',), array([0.3]), 0.3)
    """

    model: Model
    before: Model
    base: BaseParameters
    base_values: Array
    base_std: Array
    values: Array
    residuals: dict[str, float]
    condition: float
    dof: int
    left_out: dict[str, int]
    physical: bool
    by: str
    gravity: tuple[float, ...] | None = None
    warnings: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return (f"<identification of '{self.model.name}': {len(self.base)} combinations of {len(self.names)} parameters, "
                f"condition {self.condition:.3g}>")  # fmt: skip

    def __str__(self) -> str:
        low, high = self.base_interval().T
        names = [name if len(name) <= WIDE else f"{name[: name.rindex(' ', 0, WIDE - 4)]} …" for name in self.base.names]
        rows = [(name, *(f"{x:.6g}" for x in each)) for name, *each in zip(names, self.base_values, low, high, strict=True)]
        titles = ("combination", "found", "95 % from", "to")
        wide = [max(len(row[k]) for row in (titles, *rows)) for k in range(4)]
        lines = ["  ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]) for row in (titles, *rows)]
        return "\n".join([repr(self)[1:-1], *lines, *self.warnings])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns (n)."""
        return self.base.parameters

    @functools.cached_property
    def std(self) -> Array:
        """Standard deviations of the unknowns (n), NaN where they are not known by themselves."""
        return self._alone(self.base_std)

    def _alone(self, x: Array) -> Array:
        """Return what is said of combinations (r, ...) for those unknowns that are combinations of their own."""
        found = np.full((len(self.names), *x.shape[1:]), np.nan)
        chosen = np.array(self.base.chosen, dtype=int)
        single = self.base.alone[chosen]
        found[chosen[single]] = x[single]
        return found

    def base_interval(self, confidence: float = 0.95) -> Array:
        """Return the intervals (r, 2) that hold the true combinations with that confidence, by Student's t.

        They are of noise that is independent from row to row: of the forces, as large for all rows of a joint, where q, v and v̇ are taken
        as they are; or by momentum of v, where q is.
        """
        from scipy.stats import t

        p = number("confidence", confidence, "a share above 0 and below 1", above=0.0, below=1.0, error=IdentificationError)
        half = t.ppf(0.5 + 0.5 * p, self.dof) * self.base_std
        return self.base_values[:, None] + half[:, None] * [-1.0, 1.0]

    def interval(self, confidence: float = 0.95) -> Array:
        """Return the intervals (n, 2) of the unknowns, as of :meth:`base_interval`; NaN of those that are not known by themselves."""
        return self._alone(self.base_interval(confidence))

    def combined(self, name: str) -> tuple[str, ...]:
        """Return the combinations that a parameter is part of: none, where the motion does not show it at all."""
        if name not in self.names:
            raise IdentificationError(f"no unknown '{name}'; expected one of {', '.join(self.names)}")
        return tuple(self.base.names[k] for k in np.flatnonzero(self.base.B[:, self.names.index(name)]))

    @property
    def table(self) -> pd.DataFrame:
        """A pandas DataFrame, a row for each unknown: what the model said before, what it says now, its standard deviation, the interval of
        95 %, and what it is known from: itself, combinations with others (:meth:`combined`), or nothing: it stays as it was, or goes along
        with its link's others, as the nearest body's that has them."""
        require_packages("the table", "tables", "pandas", error=IdentificationError)
        import pandas as pd

        low, high = self.interval().T
        seen, alone = self.base.seen, self.base.alone
        before = Unknowns(self.before, self.names).values
        moved = np.abs(self.values - before) > 1e-9 * np.abs(before)
        known = ["itself" if a else "combinations" if s else "nothing: goes along" if m else "nothing"
                 for s, a, m in zip(seen, alone, moved, strict=True)]  # fmt: skip
        return pd.DataFrame({"before": before, "value": self.values, "std": self.std, "low": low, "high": high, "known from": known},
                            index=pd.Index(self.names, name="parameter"))  # fmt: skip

    def predict(self, motion: Any) -> Array:
        """Return what the model says of a motion: the forces tau (T, nv) that it takes, losses among them, or the momentum (T, 6).

        A motion is as for :func:`engine.identify`, the rows of several one after the other; its own tau is not looked at.
        """
        robot = robot_of(self.model, (0.0, 0.0, 0.0) if self.gravity is None else self.gravity)
        each = motions_of(robot, self.gravity is not None, motion, "momentum" if self.by == "momentum" else "motion", 5)
        return np.concatenate([predicted(self.model, one, self.by) for one in each])


def predicted(model: Model, motion: Motion, by: str) -> Array:
    """Return the forces (T, nv) of a motion, or its momentum (T, 6)."""
    if by == "momentum":
        P: Array = robot_of(model, motion.gravity).momentum(motion.q, motion.v)
        return P + np.pad(motion.spin, ((0, 0), (0, 3)))
    signs, _ = directions(Unknowns(model, ()), motion)
    return forces(model, motion, slice(None), signs)
