"""Compiled functions of a state; an error of a NaN or infinity names the entry of the argument, or the row of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.gufunc import Gufunc, shaped
from engine.compiler.signature import signature_of
from engine.compiler.transforms.trace import Shape, trace
from engine.integrate import Method, System, attempt
from engine.model import StateError
from engine.spatial import quaternion
from engine.spatial.manifold import Manifold

Array = np.ndarray


class Function(Gufunc):
    """A function of named arguments of given shapes, traced and compiled."""

    strict = True

    def __init__(self, fn: Callable[..., Any], arguments: Sequence[str], shapes: Sequence[Shape], name: str) -> None:
        program = trace(fn, shapes)
        program.name = name
        super().__init__(program, signature_of(program), list(arguments))

    def entry(self, argument: str, where: tuple[int, ...]) -> str:
        """Return what an entry of an argument is of, in brackets, or nothing."""
        return ""

    def failure(self, given: Sequence[Array], result: Any) -> str:
        """Return why a result is not finite although all that was given is."""
        return "the result is not finite; expected a state at which the system's functions are"

    def _not_finite(self, *args: Any) -> Any:
        *given, result = (*map(np.asarray, args[:-1]), args[-1])
        for name, x in zip(self.arguments, given, strict=True):
            if len(bad := np.argwhere(~np.isfinite(x))):
                where = tuple(int(i) for i in bad[0])
                place = f"{name}[{', '.join(map(str, where))}]" if where else name
                raise StateError(f"{self.name}: {place}{self.entry(name, where)} is {np.asarray(x)[where]}; expected a finite number")
        raise StateError(f"{self.name}: {self.failure(given, result)}")


def units(manifold: Manifold, q: Array) -> list[Any]:
    """Return whether each quaternion of a point q (n) is a unit one."""
    return [quaternion.is_unit(q[i][:4]) for m, i, _ in manifold.parts if m.attitude]


def split_state(nq: int, nv: int, y: Array) -> tuple[Array, Array]:
    """Return q and v of states (..., n) that begin with them."""
    return y[..., :nq], y[..., nq : nq + nv]


def compiled_attempt(method: Method, system: System, too_long: Callable[[Any, Array], Any] = lambda h, y: False) -> Gufunc:
    """Return ``(t, h, y) -> y⁺, error`` of :func:`engine.integrate.attempt`, compiled; the error of a step of h to y⁺ that is
    ``too_long`` is infinite."""
    n = system.space.nq

    def attempted(t: Any, h: Any, y: Array) -> tuple[Array, Any]:
        after, error = attempt(method, system, t, h, y)
        return after, ops.where(too_long(h, after), np.inf, error)

    return shaped(attempted, f"(),(),({n})->({n}),()")
