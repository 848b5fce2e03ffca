"""NumPy's and Python's elementwise functions on traced values, written in ``engine.ops``; accurate to some ulp."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.ops.elementwise import floor_mod

LN2, LN10 = math.log(2.0), math.log(10.0)


def is_nan(x: Any) -> Any:
    return ops.logical_not(ops.equal(x, x))


def is_finite(x: Any) -> Any:
    return ops.less(ops.absolute(x), np.inf)


def is_infinite(x: Any) -> Any:
    return ops.equal(ops.absolute(x), np.inf)


def sign_bit(x: Any) -> Any:
    """Return whether x is negative, or −0."""
    return ops.logical_or(ops.less(x, 0.0), ops.logical_and(ops.equal(x, 0.0), ops.less(1.0 / x, 0.0)))


def copysign(x: Any, y: Any) -> Any:
    size = ops.absolute(x)
    return ops.where(sign_bit(y), -size, size)


def heaviside(x: Any, h: Any) -> Any:
    return ops.where(ops.less(x, 0.0), 0.0, ops.where(ops.less(0.0, x), 1.0, ops.where(ops.equal(x, 0.0), h, x)))


def ceil(x: Any) -> Any:
    return -ops.floor(-x)


def trunc(x: Any) -> Any:
    return ops.where(ops.less(x, 0.0), ceil(x), ops.floor(x))


def rint(x: Any) -> Any:
    """The nearest whole number, of two the even one."""
    below = ops.floor(x)
    rest, even = x - below, ops.equal(ops.mod(below, 2.0), 0.0)
    return ops.where(ops.less(rest, 0.5), below, ops.where(ops.less(0.5, rest), below + 1.0, ops.where(even, below, below + 1.0)))


def fmax(x: Any, y: Any) -> Any:
    return ops.where(is_nan(x), y, ops.where(is_nan(y), x, ops.maximum(x, y)))


def fmin(x: Any, y: Any) -> Any:
    return ops.where(is_nan(x), y, ops.where(is_nan(y), x, ops.minimum(x, y)))


def expm1(x: Any) -> Any:
    """eˣ − 1; near 0 by tanh, without cancellation."""
    t = ops.tanh(0.5 * ops.where(ops.less(ops.absolute(x), 0.5), x, 0.0))
    return ops.where(ops.less(ops.absolute(x), 0.5), 2.0 * t / (1.0 - t), ops.exp(x) - 1.0)


def log1p(x: Any) -> Any:
    """log (1 + x); what rounding takes from 1 + x is given back (Kahan)."""
    u = 1.0 + x
    off = u - 1.0
    usable = ops.logical_and(ops.less(0.0, ops.absolute(off)), is_finite(u))
    return ops.where(usable, ops.log(u) * (x / ops.where(usable, off, 1.0)), ops.where(is_finite(u), x, ops.log(u)))


def sinh(x: Any) -> Any:
    e = expm1(ops.absolute(x))
    return copysign(ops.where(ops.less(ops.absolute(x), 700.0), 0.5 * (e + e / (e + 1.0)), ops.exp(ops.absolute(x) - LN2)), x)


def cosh(x: Any) -> Any:
    half = ops.exp(ops.absolute(x) - LN2)
    return half + 0.25 / half


def arcsinh(x: Any) -> Any:
    size = ops.absolute(x)
    return ops.where(is_infinite(x), x, copysign(log1p(size + size * (size / (1.0 + ops.hypot(1.0, size)))), x))


def arccosh(x: Any) -> Any:
    t = x - 1.0
    return log1p(t + ops.sqrt(t * (t + 2.0)))


def arctanh(x: Any) -> Any:
    return 0.5 * log1p(2.0 * x / (1.0 - x))


def cbrt(x: Any) -> Any:
    """The real cube root, with one step of Newton's method, which makes it as exact as a power is not."""
    size = ops.absolute(x)
    y = ops.power(size, 1.0 / 3.0)
    usable = ops.logical_and(ops.less(0.0, size), is_finite(x))
    safe = ops.where(usable, y, 1.0)
    return copysign(ops.where(usable, y - (y - size / (safe * safe)) / 3.0, size), x)


def logaddexp(x: Any, y: Any) -> Any:
    return ops.where(ops.equal(x, y), x + LN2, ops.maximum(x, y) + log1p(ops.exp(-ops.absolute(x - y))))


def ldexp(x: Any, k: Any) -> Any:
    return x * ops.power(2.0, k)


#: functions of numbers: NumPy's -> its meaning
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: lambda x, y: x + y, np.subtract: lambda x, y: x - y, np.multiply: lambda x, y: x * y, np.divide: lambda x, y: x / y,
    np.negative: lambda x: -x, np.positive: lambda x: x, np.conjugate: lambda x: x, np.power: ops.power, np.float_power: ops.power,
    np.square: lambda x: x * x, np.reciprocal: lambda x: 1.0 / x, np.sqrt: ops.sqrt, np.cbrt: cbrt, np.absolute: ops.absolute,
    np.fabs: ops.absolute, np.sign: ops.sign, np.copysign: copysign, np.signbit: sign_bit, np.heaviside: heaviside, np.hypot: ops.hypot,
    np.floor: ops.floor, np.ceil: ceil, np.trunc: trunc, np.rint: rint, np.remainder: ops.mod, np.fmod: ops.fmod,
    np.floor_divide: lambda x, y: floor_mod(x, y)[0], np.divmod: floor_mod,
    np.modf: lambda x: (copysign(x - trunc(x), x), trunc(x)), np.exp: ops.exp, np.exp2: lambda x: ops.power(2.0, x), np.expm1: expm1,
    np.log: ops.log, np.log2: lambda x: ops.log(x) / LN2, np.log10: lambda x: ops.log(x) / LN10, np.log1p: log1p,
    np.logaddexp: logaddexp, np.ldexp: ldexp, np.sin: ops.sin, np.cos: ops.cos, np.tan: ops.tan, np.arcsin: ops.arcsin,
    np.arccos: ops.arccos, np.arctan: ops.arctan, np.arctan2: ops.arctan2, np.sinh: sinh, np.cosh: cosh, np.tanh: ops.tanh,
    np.arcsinh: arcsinh, np.arccosh: arccosh, np.arctanh: arctanh, np.deg2rad: lambda x: x * (math.pi / 180.0),
    np.radians: lambda x: x * (math.pi / 180.0), np.rad2deg: lambda x: x * (180.0 / math.pi), np.degrees: lambda x: x * (180.0 / math.pi),
    np.maximum: ops.maximum, np.minimum: ops.minimum, np.fmax: fmax, np.fmin: fmin, np.less: ops.less, np.less_equal: ops.less_equal,
    np.greater: lambda x, y: ops.less(y, x), np.greater_equal: lambda x, y: ops.less_equal(y, x), np.equal: ops.equal,
    np.not_equal: lambda x, y: ops.logical_not(ops.equal(x, y)), np.logical_and: ops.logical_and, np.logical_or: ops.logical_or,
    np.logical_not: ops.logical_not, np.logical_xor: lambda x, y: ops.logical_not(ops.equal(1.0 * truth(x), 1.0 * truth(y))),
    np.bitwise_and: ops.logical_and, np.bitwise_or: ops.logical_or, np.invert: ops.logical_not, np.isnan: is_nan,
    np.isfinite: is_finite, np.isinf: is_infinite,
}  # fmt: skip


def truth(x: Any) -> Any:
    """x as a truth: whether it is not 0."""
    return ops.logical_not(ops.logical_not(x))


def log(x: Any, base: Any = None) -> Any:
    return ops.log(x) if base is None else ops.log(x) / ops.log(base)


def hypot(*xs: Any) -> Any:
    result: Any = 0.0
    for x in xs:
        result = ops.hypot(result, x)
    return result


def is_close(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> Any:
    return within(a, b, ops.maximum(rel_tol * ops.maximum(ops.absolute(a), ops.absolute(b)), abs_tol))


def within(a: Any, b: Any, tolerance: Any) -> Any:
    """Return whether two numbers are equal, or at most a tolerance apart; infinity is near itself alone."""
    off = ops.absolute(a - b)
    return ops.logical_or(ops.equal(a, b), ops.logical_and(is_finite(off), ops.less_equal(off, tolerance)))


#: functions of Python's math: their names -> their meaning
MATH: dict[str, Callable[..., Any]] = {
    **{name: UFUNCS[getattr(np, name)] for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log2", "log10", "log1p", "sqrt", "fabs", "floor", "ceil", "trunc",
        "fmod", "copysign", "degrees", "radians", "isnan", "isfinite", "isinf", "ldexp", "modf", "exp2", "cbrt")},
    "asin": ops.arcsin, "acos": ops.arccos, "atan": ops.arctan, "atan2": ops.arctan2, "asinh": arcsinh, "acosh": arccosh,
    "atanh": arctanh, "pow": ops.power, "log": log, "hypot": hypot, "isclose": is_close,
    "dist": lambda p, q: hypot(*(a - b for a, b in zip(p, q, strict=True))),
    "fsum": lambda xs: sum(xs), "sumprod": lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)),
    "prod": lambda xs, *, start=1.0: functools.reduce(operator.mul, xs, start), "remainder": lambda x, y: x - y * rint(x / y),
}  # fmt: skip
