"""Solutions of the equations for the unknowns: least squares, and the nearest to it that is physically consistent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.dynamics.base_parameters import BaseParameters
from engine.identification.equations import Equations
from engine.identification.physical import LEAST, Blocks, Found, nearest, prior
from engine.identification.regression import Fit, fitted
from engine.identification.unknowns import LOSSES, Unknowns
from engine.model.parameters import split

Array = np.ndarray
#: a loss that explains less than this share of what was measured is none
NONE = 1e-9


class Solution(NamedTuple):
    """Least squares, the nearest to it that bodies can have, x (n) as it is put into the model, the blocks of that, and the size of each
    unknown that would explain all by itself (n)."""

    fit: Fit
    found: Found
    x: Array
    blocks: Blocks
    scale: Array


def solve_equations(unknowns: Unknowns, equations: Equations, could: BaseParameters) -> Solution:
    """Return what equations say of the unknowns, of which a robot could show some combinations."""
    x0, fit = unknowns.values, fitted(equations, could)
    scale = fit.sizes(equations)
    start, blocks = prior(unknowns, scale)
    found = nearest(fit.R @ fit.base.B, fit.R @ (fit.found + fit.base.B @ x0), start, blocks)
    x = found.x.copy()
    for k, name in enumerate(blocks.names):                                    # what does not show is as it was; what is as good as zero is
        own = blocks.own(k)
        if not fit.base.seen[own].any():
            x[own] = x0[own]
        elif split(name)[0] in LOSSES and x[own[0]] < NONE * scale[own[0]]:
            x[own] = 0.0
        elif split(name)[0] == "mass":                                         # a model's is above zero
            x[own] = np.maximum(x[own], LEAST * x0[own])
    return Solution(fit, found, x, blocks, scale)
