"""Energy and momentum over a whole trajectory, as compiled functions, in the world frame or about the centre of mass."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine import dynamics
from engine.checks import one_of
from engine.compiler.gufunc import Gufunc
from engine.compiler.signature import signature_of
from engine.compiler.transforms.trace import trace
from engine.model import Model, StateError
from engine.simulation.parameters import with_parameters

Array = NDArray[np.float64]
About = Literal["world", "center_of_mass"]


def central(about: str) -> bool:
    """Return whether something is seen from the centre of mass, and not from the world."""
    return one_of("about", about, ("world", "center_of_mass"), StateError) == "center_of_mass"


@functools.lru_cache(maxsize=64)
def compiled_sum(of: str, model: Model, gravity: tuple[float, ...], own: tuple[tuple[str, tuple[int, ...]], ...]) -> Gufunc:
    """``(q, v, *parameters) -> x``, a function of ``dynamics``, where parameters of those names and shapes count instead of the model's
    numbers."""

    def total(q: Array, v: Array, *parameters: Any) -> Any:
        moved, g = with_parameters(model, gravity, dict(zip(names, parameters, strict=True)))
        return dynamics.energy(moved, q, v, g) if of == "energy" else getattr(dynamics, of)(moved, q, v)

    names = [n for n, _ in own]
    program = trace(total, [(model.nq,), (model.nv,), *[shape for _, shape in own]])
    return Gufunc(program, signature_of(program), ["q", "v", *[f"parameter_{k}" for k in range(len(own))]])
