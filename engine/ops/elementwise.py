"""Functions of every number by itself: NumPy's own on floats, recorded on traced scalars; and what is made of them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import asarray

#: below this x the Stumpff functions, and what is made of them, are power series, exact to rounding with nine terms
SERIES_BELOW = 1.0


def series(x: Any, coefficients: list[float]) -> Any:
    """Σ c_k xᵏ by Horner's rule."""
    result = coefficients[-1] + 0.0 * x
    for c in coefficients[-2::-1]:
        result = result * x + c
    return result


def alternating(first: int) -> list[float]:
    """(−1)ᵏ / (2k + first)! for k = 0…8: the series of the Stumpff function c_first."""
    return [(-1) ** k / math.factorial(2 * k + first) for k in range(9)]


def c2_of_floats(x: Any) -> Any:
    """Stumpff function c2."""
    small = np.less(x, SERIES_BELOW)
    s = np.sqrt(np.where(small, 1.0, x))
    half = np.sin(0.5 * s) / s
    return np.where(small, series(np.where(small, x, 0.0), alternating(2)), 2.0 * half * half)[()]  # 1 − cos s = 2 sin² s/2


def c3_of_floats(x: Any) -> Any:
    """Stumpff function c3."""
    small = np.less(x, SERIES_BELOW)
    safe = np.where(small, 1.0, x)
    s = np.sqrt(safe)
    return np.where(small, series(np.where(small, x, 0.0), alternating(3)), (1.0 - np.sin(s) / s) / safe)[()]


def same_floats(x: Any) -> Any:
    """Return the numbers, copied: on floats there is nothing to record."""
    return np.positive(x)


class Users(threading.local):
    """Per-thread state while a function of the user's is traced: its graph, and the class of arrays, which answers NumPy's functions."""

    graph: Any = None
    made: Callable[[Any], Any] = staticmethod(lambda x: x)


USERS = Users()


def elementwise(function: Callable[..., Any], name: str = "", operands: int = 1) -> Callable[..., Any]:
    """``function`` of NumPy, or one like it of that ``name``, which is recorded wherever an element is traced (has a graph ``g``)."""
    operands, name = getattr(function, "nin", operands), name or function.__name__

    def one(*xs: Any) -> Any:
        for x in xs:
            if hasattr(x, "g"):
                return x.g.make(x.g.recorded[function], *xs)
        result = function(*xs)
        return result[()] if isinstance(result, np.ndarray) else result

    each = np.frompyfunc(one, operands, 1)

    def lifted(*xs: Any) -> Any:
        arrays = [asarray(x) for x in xs]
        if any(a.dtype == object for a in arrays):
            if (table := next((x for x in xs if hasattr(x, "by_rows")), None)) is not None:
                return table.by_rows(lifted, xs)
            return USERS.made(each(*arrays))
        return function(*arrays)[()]

    lifted.__name__, lifted.__doc__ = name, f"``{name}``, elementwise."
    return lifted


def shown(function: Callable[..., Any], call: str, value: str) -> None:
    """Add an example to an elementwise function's docstring."""
    function.__doc__ = f"{function.__doc__}\n\n>>> import numpy as np\n>>> from engine import ops\n>>> {call}\n{value}"


sqrt, absolute, floor, fmod = elementwise(np.sqrt), elementwise(np.absolute), elementwise(np.floor), elementwise(np.fmod)
sin, cos, tan = elementwise(np.sin), elementwise(np.cos), elementwise(np.tan)
arcsin, arccos, arctan, arctan2 = elementwise(np.arcsin), elementwise(np.arccos), elementwise(np.arctan), elementwise(np.arctan2)
exp, log, tanh, power = elementwise(np.exp), elementwise(np.log), elementwise(np.tanh), elementwise(np.power)
minimum, maximum = elementwise(np.minimum), elementwise(np.maximum)
less, less_equal, equal = elementwise(np.less), elementwise(np.less_equal), elementwise(np.equal)
logical_and, logical_or, logical_not = elementwise(np.logical_and), elementwise(np.logical_or), elementwise(np.logical_not)
where = elementwise(np.where, operands=3)
c2, c3 = elementwise(c2_of_floats, "c2"), elementwise(c3_of_floats, "c3")
stop_gradient = elementwise(same_floats, "stop_gradient")
stop_gradient.__doc__ = "The same numbers, as constants: derivatives do not pass."
c2.__doc__ = "Stumpff's c₂(x) = (1 − cos s)/s² with s = √x, ½ at 0, elementwise."
c3.__doc__ = "Stumpff's c₃(x) = (s − sin s)/s³ with s = √x, 1/6 at 0, elementwise."
shown(sqrt, "print(ops.sqrt(9.0))", "3.0")
shown(absolute, "print(ops.absolute(-2.0))", "2.0")
shown(floor, "print(ops.floor(2.7))", "2.0")
shown(fmod, "print(ops.fmod(7.5, 2.0))", "1.5")
shown(sin, "print(ops.sin(np.pi / 2))", "1.0")
shown(cos, "print(ops.cos(0.0))", "1.0")
shown(tan, "print(ops.tan(0.0))", "0.0")
shown(arcsin, "print(ops.arcsin(1.0).round(6))", "1.570796")
shown(arccos, "print(ops.arccos(1.0))", "0.0")
shown(arctan, "print(ops.arctan(1.0).round(6))", "0.785398")
shown(arctan2, "print(ops.arctan2(1.0, -1.0).round(6))", "2.356194")
shown(exp, "print(ops.exp(0.0))", "1.0")
shown(log, "print(ops.log(1.0))", "0.0")
shown(tanh, "print(ops.tanh(0.0))", "0.0")
shown(power, "print(ops.power(2.0, 3.0))", "8.0")
shown(minimum, "print(ops.minimum(np.array([1.0, 5.0]), 2.0))", "[1. 2.]")
shown(maximum, "print(ops.maximum(np.array([1.0, 5.0]), 2.0))", "[2. 5.]")
shown(less, "print(ops.less(1.0, 2.0))", "True")
shown(less_equal, "print(ops.less_equal(2.0, 2.0))", "True")
shown(equal, "print(ops.equal(1.0, 2.0))", "False")
shown(logical_and, "print(ops.logical_and(True, False))", "False")
shown(logical_or, "print(ops.logical_or(True, False))", "True")
shown(logical_not, "print(ops.logical_not(True))", "False")
shown(where, "print(ops.where(np.array([True, False]), 1.0, 2.0))", "[1. 2.]")
shown(c2, "print(ops.c2(0.0))", "0.5")
shown(c3, "print(round(ops.c3(np.pi**2) * np.pi**2, 9))", "1.0")
shown(stop_gradient, "print(ops.stop_gradient(3.0))", "3.0")


def stumpff(x: Any) -> tuple[Any, Any, Any, Any]:
    """Stumpff functions c_k(x) = Σ (−x)ʲ/(2j + k)!, k = 0…3, of x ≥ 0: with s = √x they are cos s, sin s/s, (1 − cos s)/s², (s − sin s)/s³.

    Smooth, with all derivatives, through x = 0. Exponentials of rotations are made of them.

    >>> [float(c) for c in stumpff(0.0)]
    [1.0, 1.0, 0.5, 0.16666666666666666]
    """
    C2, C3 = c2(x), c3(x)
    return 1.0 - x * C2, 1.0 - x * C3, C2, C3


def stumpff_next(x: Any) -> tuple[Any, Any]:
    """c4 and c5: the derivatives are c_k' = (k c_{k+2} − c_{k+1})/2."""
    small = less(x, SERIES_BELOW)
    safe = where(small, 1.0, x)
    return (where(small, series(x, alternating(4)), (0.5 - c2(x)) / safe),
            where(small, series(x, alternating(5)), (1 / 6 - c3(x)) / safe))  # fmt: skip


def sign(x: Any) -> Any:
    """−1, 0 or 1, as x is negative, zero or positive; its derivative is 0.

    >>> sign(np.array([-2.0, 0.0, 3.0]))
    array([-1.,  0.,  1.])
    """
    return where(less(x, 0.0), -1.0, where(less(0.0, x), 1.0, stop_gradient(x)))  # 0 of either sign, and NaN, are their own


def clip(x: Any, low: Any, high: Any) -> Any:
    """x held between ``low`` and ``high``; its derivative by x is 0 beyond them.

    >>> clip(np.array([-2.0, 0.5, 3.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    return minimum(maximum(x, low), high)


def hypot(a: Any, b: Any) -> Any:
    """(a² + b²)^½, without overflow between; its derivatives at (0, 0) are 0.

    >>> float(hypot(3.0, 4.0))
    5.0
    """
    longer = stop_gradient(maximum(absolute(a), absolute(b)))
    scale = where(logical_and(less(0.0, longer), less(longer, np.inf)), longer, 1.0)
    a, b = a / scale, b / scale
    return scale * sqrt(a * a + b * b)


def floor_mod(x: Any, y: Any) -> tuple[Any, Any]:
    """⌊x/y⌋ and x − y ⌊x/y⌋, as NumPy's ``divmod`` gives them: the remainder is exact, but where y is added to it at last.

    >>> [float(z) for z in floor_mod(1.5, 0.3)] == list(divmod(1.5, 0.3))
    True
    """
    r = fmod(x, y)
    n = (x - r) / y                                                                # whole, but for rounding
    over = less(r * sign(y), 0.0)
    n = where(over, n - 1.0, n)
    below = floor(n)
    return where(less(0.5, n - below), below + 1.0, below), where(over, r + y, r)


def mod(x: Any, y: Any) -> Any:
    """x − y ⌊x/y⌋: the remainder with the sign of y, as ``%`` gives it. Traced values have ``%`` itself too.

    >>> mod(np.array([-1.0, 7.5]), 2.0)
    array([1. , 1.5])
    """
    return floor_mod(x, y)[1]


def array(rows: Any) -> np.ndarray:
    """Array from nested lists of scalars; scalars may be batches ``(...)``, which come first: ``(..., rows, columns)``.

    >>> array([[1.0, 0.0], [np.zeros(5), np.ones(5)]]).shape
    (5, 2, 2)
    """
    if not isinstance(rows, (list, tuple)):
        return np.asarray(rows)
    flat, shape = list(rows), [len(rows)]
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        flat = [x for row in flat for x in row]
    kinds = {*map(type, flat)}
    if kinds <= {float, np.float64}:
        return np.array(flat).reshape(shape)
    if all(kind in (float, np.float64) or traced_scalar(kind) for kind in kinds):
        return np.array([np.float64(x) if type(x) is float else x for x in flat]).reshape(shape)
    scalars = [np.asarray(x) for x in flat]
    if not any(x.ndim for x in scalars):
        return np.array([x[()] for x in scalars]).reshape(shape)
    batch = np.broadcast_shapes(*[x.shape for x in scalars])
    return np.stack([np.broadcast_to(x, batch) for x in scalars], axis=-1).reshape((*batch, *shape))


def traced_scalar(kind: type) -> bool:
    """Return whether a type is that of traced scalars: it has a graph, and is neither an array nor a table."""
    return hasattr(kind, "g") and not issubclass(kind, np.ndarray) and not hasattr(kind, "by_rows")


def graph_of(*xs: Any) -> Any:
    """The graph of the traced values among ``xs``, or None.

    >>> from engine import ops
    >>> ops.graph_of(1.0) is None
    True
    """
    for x in xs:
        if (graph := getattr(x, "g", None)) is not None:
            return graph
    return next((y.g for x in xs if (a := np.asarray(x)).dtype == object for y in a.flat if hasattr(y, "g")), None)
