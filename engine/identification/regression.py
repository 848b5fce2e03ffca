"""Least squares in the combinations that a motion shows, each kind of rows over its own noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.dynamics.base_parameters import BaseParameters, base_parameters
from engine.identification.equations import Equations
from engine.identification.errors import IdentificationError

Array = np.ndarray
#: of all that is measured: an error below this is rounding; of the noisiest rows' errors: no others are taken to be smaller
ROUNDING, QUIETEST = 1e-13, 1e-6
#: of the largest singular value: a combination that shows less does not show
UNSHOWN = 1e-9


class Fit(NamedTuple):
    """The solution β − β₀ of R (β − β₀) = z, β = B x.

    Attributes
    ----------
    base : what was found; found : β − β₀ (r); full : x − x₀ (n), all of it in the chosen ones
    R : (r, r), of rows over their noise; triangle : of all columns (n + 1, n + 1)
    rows, dof : rows that say something, and those less r
    condition : of R with columns of unit length
    """

    base: BaseParameters
    found: Array
    full: Array
    R: Array
    triangle: Array
    sigma: Array
    rows: float
    dof: int
    condition: float

    @property
    def std(self) -> Array:
        """Standard deviations of β (r)."""
        inverse = np.linalg.inv(self.R)
        found: Array = np.sqrt((inverse**2).sum(axis=1))
        return found

    def sizes(self, equations: Equations) -> Array:
        """Return how large each unknown would have to be (n) to explain all that was measured by itself; zero where it does not show."""
        columns = np.linalg.norm(self.triangle[:, :-1], axis=0)
        all_of_it = np.sqrt(((equations.size / self.sigma) ** 2 * np.maximum(equations.counts, 0.0)).sum())
        return np.divide(all_of_it, columns, out=np.zeros(len(columns)), where=columns > 0.0)


def fitted(equations: Equations, could: BaseParameters) -> Fit:
    """Return the weighted least squares: first all rows alike, then each kind over the noise that this leaves of it, and so once more.

    Raises
    ------
    IdentificationError : nothing shows, or there are no more rows than combinations
    """
    n, rows = len(could.parameters), float(np.maximum(equations.counts, 0.0).sum())
    floor = ROUNDING * (float(equations.size.max(initial=0.0)) or 1.0)
    sigma = used = np.ones(len(equations.counts))
    for _ in range(3):
        used = sigma
        triangle = equations.weighed(sigma)
        base, condition = really_shown(triangle[:, :n], could)
        if rows <= len(base):
            raise IdentificationError(f"the motion has {rows:.0f} rows that say something, for {len(base)} combinations of parameters; "
                                      "expected more rows")  # fmt: skip
        Q, R = np.linalg.qr(triangle[:, list(base.chosen)])
        found, full = np.linalg.solve(R, Q.T @ triangle[:, n]), np.zeros(n)
        full[list(base.chosen)] = found
        errors = equations.errors(full)
        sigma = np.maximum(errors * np.sqrt(rows / (rows - len(base))), max(floor, QUIETEST * float(errors.max())))
    overall = np.sqrt(((sigma / used) ** 2 * np.maximum(equations.counts, 0.0)).sum() / rows)           # about 1
    return Fit(base, found, full, R / overall, triangle / overall, used * overall, rows, int(rows) - len(base), condition)


def really_shown(Phi: Array, could: BaseParameters) -> tuple[BaseParameters, float]:
    """Return the combinations that rows Φ (rows, n) show: those that the robot could, or fewer; and how well conditioned they are."""
    lengths = np.linalg.norm(Phi, axis=0)
    if not lengths.any():
        raise IdentificationError(f"the motion shows nothing of {', '.join(could.parameters[:5])}{' …' * (len(lengths) > 5)}; expected one "
                                  "that moves what they belong to")  # fmt: skip
    unit = Phi / np.where(lengths > UNSHOWN * lengths.max(), lengths, np.inf)
    s = np.linalg.svd(unit[:, list(could.chosen)], compute_uv=False)
    base = could
    if s[-1] < UNSHOWN * s[0]:
        base = base_parameters(Phi, could.parameters)
        s = np.linalg.svd(unit[:, list(base.chosen)], compute_uv=False)
    return base, float(s[0] / s[-1])
