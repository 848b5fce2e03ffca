"""A Runge–Kutta-like method is its coefficients and a few flags; registering it makes it available by name, and to the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit method: stage times c, stage weights a (strictly lower triangular), weights b."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    source: str

    @property
    def c(self) -> tuple[float, ...]:
        """Stage times c_i = Σ_j a_ij."""
        return tuple(sum(row) for row in self.a)


METHODS: dict[str, Tableau] = {}


def register(tableau: Tableau) -> Tableau:
    METHODS[tableau.name] = tableau
    return tableau
