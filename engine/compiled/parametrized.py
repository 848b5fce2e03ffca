"""Compiled dynamics with parameters, such as masses, as arguments: one program for all their values."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from engine.checks import numbers, shown
from engine.compiler.gufunc import Gufunc
from engine.compiler.signature import signature_of
from engine.compiler.transforms.jacobians import jacobian
from engine.model import Model, ModelError
from engine.model.parameters import NUMBERS, checked_names, nominal, require_possible, require_trailing, split, unknown

Array = np.ndarray


def nominal_values(model: Model, names: Iterable[str]) -> dict[str, Array]:
    """Return the model's own values of parameters by name.

    Raises
    ------
    ModelError : names that there are not, or of which one follows from another
    """
    given = [names] if isinstance(names, str) else list(names)
    return {name: nominal(model, name) for name in checked_names(model, given)}


def other_values(known: Mapping[str, Array], given: Any) -> dict[str, Array]:
    """Return the values of parameters (..., *shape) with others in their places.

    Raises
    ------
    ModelError : a name that is no parameter, or a value that none has
    """
    if not isinstance(given, Mapping):
        raise ModelError(f"the parameters are {shown(given)}; expected values by name")
    found = dict(known)
    for name, x in given.items():
        if name not in known:
            raise unknown(name, known, "compile the model with parameters")
        found[name] = a = numbers(f"parameter '{name}'", x, ModelError)
        require_trailing(name, a, NUMBERS[split(name)[0]].shape)
        require_possible(name, a)
    return found


def require_one(values: Mapping[str, Array]) -> None:
    """Refuse values with leading dimensions."""
    for name, x in values.items():
        if x.ndim > len(NUMBERS[split(name)[0]].shape):
            raise ModelError(f"parameter '{name}' has shape {x.shape}, a batch of robots; expected one, as inverse kinematics is of one")


class Parametrized:
    """A function of a robot at values of its parameters.

    Called as the robot's function is, with ``out`` and wrenches too where that takes them; values with leading dimensions are a batch. For
    the parameters' derivatives there is :meth:`by`.
    """

    def __init__(self, make: Callable[[bool], Gufunc], takes: int, forceable: bool, values: Mapping[str, Array], text: str | None,
                 known: dict[tuple[Any, ...], Any]) -> None:  # fmt: skip
        self.make, self.takes, self.forceable, self.values, self.__doc__, self.known = make, takes, forceable, values, text, known

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.forceable or (len(args) <= self.takes and named.get("wrenches") is None):
            f = self.make(False)
            named.pop("wrenches", None) if self.forceable else None
        else:
            f = self.make(len(args) <= self.takes or args[self.takes] is not None)
            args = args if len(args) <= self.takes or args[self.takes] is not None else args[: self.takes]
        found = f(*args, **named, **self.values) if named else f(*args, *self.values.values())
        if (shapes := getattr(f, "shapes", None)) is None:
            return found
        shaped = [x.reshape(*x.shape[:-1], *shape) for x, shape in zip(found if len(shapes) > 1 else [found], shapes, strict=True)]
        return shaped[0] if len(shapes) == 1 else tuple(shaped)

    def by(self, name: str) -> Parametrized:
        """Return the derivative of the function by a parameter: of each result (..., *shape of it, *shape of the parameter)."""
        if name not in self.values:
            raise unknown(name, self.values, "compile the model with parameters")

        def derivative(forced: bool) -> Gufunc:
            f = self.make(forced)
            if (key := ("by", name, f)) not in self.known:
                J = jacobian(f.program, f.arguments.index(name))
                flat = copy.copy(J)
                flat.shapes_out = [(math.prod(shape),) for shape in J.shapes_out]
                self.known[key] = Gufunc(flat, signature_of(flat), f.arguments)
                self.known[key].shapes = J.shapes_out                           # of which a gufunc takes three dimensions at most
            return self.known[key]

        text = f"Return derivatives by '{name}', of the shape of each result and after it that of the parameter, of: {self.__doc__}"
        return Parametrized(derivative, self.takes, self.forceable, self.values, text, self.known)
