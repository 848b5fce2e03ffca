"""Result of inverse kinematics."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.model import StateError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class IKResult:
    """Configurations that :func:`engine.inverse_kinematics` found: one, or a batch (...) with every row found by itself.

    ``result[rows]`` is a part of a batch.

    Attributes
    ----------
    q : configurations (..., nq)
    converged : whether every angle and distance is within the tolerance, and every loop closed (...)
    residual : per target, in their order, the angle (rad) and the distance (m) that are left (..., targets, 2); 0 where none was asked for
    iterations : steps tried, over all guesses (...)
    guesses : how many guesses were tried (...); 1 if q0 was good enough
    limits : names of the joints, among those that move the targets, that lie at one of their limits; of a batch an array (...) of these
    reason : which loop is open, and what is left where the targets are not reached, in words, and nothing where they are; of a batch an
        array (...)

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> found = engine.inverse_kinematics(arm, {"flange": [9.0, 0.0, 0.0]})           # m: farther than it reaches
    >>> bool(found.converged), found.residual.shape, found.reason[:21]
    (False, (1, 2), "link 'flange' is 8.02")
    """

    q: Array
    converged: bool | NDArray[np.bool_]
    residual: Array
    iterations: int | NDArray[np.int_]
    guesses: int | NDArray[np.int_]
    limits: tuple[str, ...] | NDArray[np.object_]
    reason: str | NDArray[np.object_]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions."""
        return self.q.shape[:-1]

    def __len__(self) -> int:
        if not self.batch:
            raise StateError("this result is of one configuration; expected a batch")
        return self.batch[0]

    def __getitem__(self, rows: Any) -> IKResult:
        if not self.batch:
            raise StateError("this result is of one configuration; expected a batch")
        return IKResult(*(plain(getattr(self, field.name)[rows]) for field in dataclasses.fields(self)))

    def __repr__(self) -> str:
        if self.batch:
            return f"<{' × '.join(map(str, self.batch))} configurations: {int(np.sum(self.converged))} reach their targets>"
        return f"<a configuration that {'reaches its targets' if self.converged else f'does not reach its targets: {self.reason}'}>"


def plain(x: Any) -> Any:
    """Return a number of NumPy's as one of Python's, and anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x
