"""Base parameters: the linear combinations of inertial parameters that a regressor can tell apart."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.dynamics.regressor import NUMBER
from engine.model import Model

Array = np.ndarray
#: of a link, in the order of :func:`engine.dynamics.regressor.inertial_parameters`
ENTRIES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
#: a column is a combination of others where what they leave of it is below this share of it
DEPENDENT = 1e-9
#: of a coefficient, of columns of unit length: below this it is rounding
DUST = 1e-10


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters: the combinations of parameters π (n) that a regressor Y determines, Y π = Y[:, chosen] B π, for all π.

    Attributes
    ----------
    parameters : the names of π; chosen : which of them begins each combination (r)
    B : (r, n), with the unit matrix in its chosen columns; of what is not seen at all a column is zero

    >>> found = base_parameters(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]), ["a", "b", "c"], range(3))
    >>> found.parameters, found.chosen, found.B
    (('a', 'b', 'c'), (0,), array([[1., 1., 0.]]))
    """

    parameters: tuple[str, ...]
    chosen: tuple[int, ...]
    B: Array

    def __len__(self) -> int:
        return len(self.chosen)

    def __repr__(self) -> str:
        return f"<{len(self)} base parameters of {len(self.parameters)}>"

    def __str__(self) -> str:
        return "\n".join(self.names)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Each combination in words (r), such as "Izz.upper + 0.16 m.fore"."""
        return tuple(combination(row, self.parameters, first) for row, first in zip(self.B, self.chosen, strict=True))

    @functools.cached_property
    def seen(self) -> Array:
        """True for each parameter that appears in a combination (n)."""
        return np.asarray(self.B.any(axis=0))

    @functools.cached_property
    def alone(self) -> Array:
        """True for each parameter that is a combination by itself (n): only those can be determined one by one."""
        found = np.zeros(len(self.parameters), dtype=bool)
        found[[j for j, row in zip(self.chosen, self.B, strict=True) if np.count_nonzero(row) == 1]] = True
        return found


def combination(row: Array, names: Sequence[str], first: int) -> str:
    """Return a linear combination of parameters as text, coefficients to four digits.

    >>> combination(np.array([0.5, 1.0, -1.0]), ["a", "b", "c"], 1)
    'b + 0.5 a - c'
    """
    text = names[first]
    for j in np.flatnonzero(row).tolist():
        if j != first:
            size = f"{abs(row[j]):.4g}"
            text += f" {'-' if row[j] < 0 else '+'} {'' if size == '1' else f'{size} '}{names[j]}"
    return text


def parameter_names(model: Model) -> tuple[str, ...]:
    """Return the names of :func:`engine.dynamics.inertial_parameters` (10 nlinks): "m.LINK", "mx.LINK" (m c_x), …, "Izz.LINK".

    >>> import engine
    >>> parameter_names(engine.load(engine.example("seven_joint_arm")))[:4]
    ('m.base', 'mx.base', 'my.base', 'mz.base')
    """
    return tuple(f"{entry}.{link.name}" for link in model.links for entry in ENTRIES)


def base_parameters(Y: Array, names: Sequence[str], order: Sequence[int] | None = None) -> BaseParameters:
    """Return the combinations of parameters that rows of a regressor Y (rows, n) show.

    A column begins a combination where those before it do not span it; one that they span, Y_j = Y[:, chosen] k, adds k to theirs.

    Parameters
    ----------
    names : of the parameters (n)
    order : in which columns are taken; by default links from the first on, within a link its moments of inertia first, and its mass
        last, so that masses add to the combinations of what carries them

    Notes
    -----
    The rank is a rank of rows: random states show all that a model's equations do, a motion only what it excites.

    Examples
    --------
    Two masses that are moved as one:

    >>> base_parameters(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]), ["a", "b", "c"], range(3)).names
    ('a + b',)

    References
    ----------
    Gautier & Khalil, *Direct calculation of minimum set of inertial parameters of serial robots*, IEEE T-RA 1990; Gautier, *Numerical
    calculation of the base inertial parameters of robots*, J. Robotic Systems 1991 (by QR, as here).
    """
    R = np.linalg.qr(Y, mode="r")
    sizes = np.linalg.norm(R, axis=0)
    unit = R / np.where(sizes > DEPENDENT * sizes.max(initial=0.0), sizes, np.inf)
    Q, chosen = np.zeros((len(R), 0)), list[int]()
    for j in links_first(names) if order is None else order:
        left = unit[:, j] - Q @ (Q.T @ unit[:, j])
        left = left - Q @ (Q.T @ left)
        if (rest := float(np.linalg.norm(left))) > DEPENDENT:
            Q, chosen = np.column_stack([Q, left / rest]), sorted([*chosen, int(j)])
    K = np.linalg.lstsq(unit[:, chosen], unit, rcond=None)[0] if chosen else np.zeros((0, len(names)))
    K = np.where(np.abs(K) < DUST, 0.0, K)
    K[:, chosen] = np.eye(len(chosen))
    return BaseParameters(tuple(names), tuple(chosen), K * sizes / sizes[chosen][:, None])


def links_first(names: Sequence[str]) -> list[int]:
    """Return the columns link by link, those of a link from the last of ENTRIES on, then all others."""
    entries = [name.partition(".")[0] for name in names]
    owners = {owner: k for k, owner in enumerate(dict.fromkeys(name.partition(".")[2] for name in names))}
    last = len(owners)
    return sorted(range(len(names)), key=lambda j: (
        (owners[names[j].partition(".")[2]], NUMBER - ENTRIES.index(entries[j])) if entries[j] in ENTRIES else (last, j)))  # fmt: skip
