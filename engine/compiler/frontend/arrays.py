"""Arrays of traced values as a function that is traced sees them: NumPy's functions work on them as on floats.

NumPy asks the class of its arguments what its functions mean (``__array_ufunc__``, ``__array_function__``). Here functions of every number
by itself have the meanings of :mod:`engine.compiler.frontend.elementary`, those of whole arrays those of
:mod:`engine.compiler.frontend.whole_arrays`; what only moves numbers about, or adds and multiplies, is NumPy's own on arrays of objects;
and where no number is traced, it is NumPy's on floats.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import array, asarray, empty, zeros  # as they are when nothing is lent

from engine import ops
from engine.compiler.frontend.elementary import UFUNCS
from engine.compiler.graph import refusals
from engine.compiler.graph.expr import Expr, Graph, box
from engine.compiler.graph.refusals import TraceError, is_ours, unknown
from engine.ops.elementwise import USERS

#: functions of whole arrays: NumPy's -> its meaning, filled in by :mod:`engine.compiler.frontend.whole_arrays`
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: of reductions: NumPy's function of two -> its meaning
REDUCED: dict[np.ufunc, Callable[..., Any]] = {
    f: UFUNCS[f] for f in (np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or, np.add, np.multiply)
}


#: as it is when nothing is lent
SORT = np.sort
#: functions that objects' own operators are, entry by entry
ARITHMETIC = {np.add, np.subtract, np.multiply, np.negative}


class NoEntry(IndexError):
    """An array has no entry by a name."""

    def __init__(self, of: Any, name: str) -> None:
        super().__init__(f"an array has no entry '{name}'; expected a number, a slice or a mask")
        self.obj, self.name = of, name


class Traced(np.ndarray):
    """An array of traced values and numbers."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        simple = ufunc in ARITHMETIC and method == "__call__" and out is None and not options
        if simple and {*map(type, inputs)} <= ENTRIES and is_ours(sys._getframe(1)):         # an equation of the engine's, as most are
            result = ufunc(*[x.view(np.ndarray) if type(x) is Traced else box(x) for x in inputs])
            return result.view(Traced) if isinstance(result, np.ndarray) else result
        return by_number(ufunc, method, inputs, out, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return of_arrays(function, args, options)

    @property
    def dtype(self) -> Any:
        """The dtype as the user's function would see it on floats: float."""
        return np.ndarray.dtype.__get__(self) if is_ours(sys._getframe(1)) else np.dtype(float)

    def __getitem__(self, key: Any) -> Any:
        if is_mask(key):
            return chosen(self, key)
        if isinstance(key, str):
            raise NoEntry(self, key)
        return np.ndarray.__getitem__(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not is_mask(key):
            np.ndarray.__setitem__(self, key, value)
            return
        mask = asarray(key).reshape(np.shape(key) + (1,) * (self.ndim - np.ndim(key)))
        if type(value) is Chosen and same(value.mask, mask):
            value = value.view(Traced)
        elif np.ndim(value) > self.ndim - np.ndim(key):
            raise refuse("an assignment of as many values as a mask has truths", "use x = np.where(mask, value, x)")
        np.ndarray.__setitem__(self, ..., ops.where(mask, plain(value), plain(self)))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        kind = np.dtype(dtype).name
        if kind == "object":
            return self.copy()
        if kind not in ("float64", "int64", "bool"):
            raise refuse(f"an array of {kind}", "machine code has float64; expected float, int or bool, or np.trunc and np.mod")
        x = as_numbers(plain(self))
        return wrapped(x if kind == "float64" else UFUNCS[np.trunc](x) if kind == "int64" else ops.logical_not(ops.equal(x, 0.0)))

    def sort(self, axis: Any = -1, *args: Any, **options: Any) -> None:
        self[...] = FUNCTIONS[SORT](self, axis)

    def tobytes(self, *args: Any, **options: Any) -> Any:
        raise refuse("the bytes of traced values", "they have none while they are traced")

    partition = tofile = tobytes


class Chosen(Traced):
    """Result of indexing with a traced mask, x[mask]: all of x, with the mask. It may be an argument of elementwise functions, and be
    assigned to x at the same mask; its length depends on values, and nothing else may ask for it."""

    mask: Any = None

    def __array_finalize__(self, of: Any) -> None:
        self.mask = None

    def refused(self, *args: Any, **options: Any) -> Any:
        raise refuse("an array whose length depends on values", "use np.where(mask, x, 0.0), which keeps its length")

    __getitem__ = __setitem__ = __len__ = __iter__ = sort = astype = tolist = item = dot = refused
    shape = size = property(lambda self: np.ndarray.shape.__get__(self) if is_ours(sys._getframe(1)) else self.refused())


#: what those functions are given in equations
ENTRIES = {Traced, np.ndarray, Expr, float, int, np.float64}


def chosen(x: Traced, key: Any) -> Chosen:
    """Return x[key] of a traced mask."""
    found = np.ndarray.__getitem__(x, ...).view(Chosen)
    found.mask = asarray(key).reshape(np.shape(key) + (1,) * (x.ndim - np.ndim(key)))
    return found


def same(a: Any, b: Any) -> bool:
    """Return whether two masks are the same nodes."""
    pairs = zip(a.flat, b.flat, strict=True) if a is not None and a.shape == b.shape else [(0, 1)]
    return all(x is y or (type(x) is type(y) is Expr and x.i == y.i) for x, y in pairs)


def method_of(name: str) -> Callable[..., Any]:
    """A method that is NumPy's function of the same name."""
    function = getattr(np, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return of_arrays(function, (self, *args), options)

    method.__name__ = name
    return method


for _name in ("max", "min", "argmax", "argmin", "any", "all", "clip", "round", "argsort", "mean", "std", "var", "sum", "prod",
              "nonzero", "searchsorted"):  # fmt: skip
    setattr(Traced, _name, method_of(_name))


# ------------------------------------------------------------ what is traced, and what is not


def refuse(what: str, instead: str) -> TraceError:
    """Return the error for something that the user's function does right now; its graph remembers it."""
    return refusals.refuse(what, instead) if USERS.graph is None else USERS.graph.refuse(what, instead)


def is_mask(key: Any) -> bool:
    """Return whether an index is a boolean array with traced entries."""
    return isinstance(key, np.ndarray) and key.dtype == object and bool(key.size) and truths(key)


def truths(x: Any) -> bool:
    """Return whether a number, or every entry of an array, is boolean, traced or not."""
    if isinstance(x, np.ndarray):
        return x.dtype == bool or (x.dtype == object and bool(x.size) and all(map(truths, x.flat)))
    return x.i in x.g.truths if type(x) is Expr else isinstance(x, (bool, np.bool_))


def as_numbers(x: Any) -> Any:
    """Return booleans as 1 and 0."""
    return ops.where(x, 1.0, 0.0) if truths(x) else x


def plain(x: Any) -> Any:
    """Return an array as one of NumPy's own class; in lists and dictionaries too, and anything else as it is."""
    if type(x) is Chosen:
        x.refused()
    if isinstance(x, Traced):
        return x.view(np.ndarray)
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x)) if type(x) in (list, tuple) else type(x)(*map(plain, x))
    return {name: plain(y) for name, y in x.items()} if type(x) is dict else x


def boxed(x: Any) -> Any:
    """Return lists, single traced values and traced arrays as arrays of NumPy's own class; anything else as it is."""
    if type(x) is Expr:
        box = empty((), dtype=object)
        box[()] = x
        return box
    return asarray(plain(x)) if isinstance(x, (list, tuple, Traced)) else x


def wrapped(x: Any) -> Any:
    """A result as the function that is traced sees it: arrays of objects as :class:`Traced`, single numbers as themselves."""
    if isinstance(x, np.ndarray) and x.dtype == object and type(x) is not Chosen:
        return x.view(Traced) if x.ndim else x[()]
    if isinstance(x, (list, tuple)):
        return type(x)(map(wrapped, x)) if type(x) in (list, tuple) else type(x)(*map(wrapped, x))
    return x


def has_traced(x: Any) -> bool:
    """Return whether a value is traced, or holds traced values: in arrays, lists, tuples or dictionaries."""
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(type(y) is Expr for y in x.flat)
    if isinstance(x, (list, tuple)):
        return any(map(has_traced, x))
    return any(map(has_traced, x.values())) if type(x) is dict else type(x) is Expr


def known(x: Any) -> Any:
    """An array of objects that are numbers as one of numbers, in lists too; anything else as it is."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return array(x.tolist()) if x.size else zeros(x.shape)
    return type(x)(map(known, x)) if type(x) in (list, tuple) else x


# ------------------------------------------------------------ what NumPy asks


def by_number(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any, options: dict[str, Any]) -> Any:
    """Apply a ufunc, its reduction, accumulation or outer product to traced values."""
    where = options.pop("where", True)
    options = {name: x for name, x in options.items() if name not in ("dtype", "casting", "order", "subok") and x is not np._NoValue}
    if where is not True:
        raise refuse(f"np.{ufunc.__name__} with where=", "use np.where(condition, a, b)")
    if masks := [x.mask for x in inputs if type(x) is Chosen]:
        others = [x for x in inputs if type(x) is not Chosen and np.ndim(x)]
        if method != "__call__" or others or not all(same(masks[0], mask) for mask in masks):
            raise refuse("an array whose length depends on values, with another", "use np.where(mask, a, b), which keeps its length")
        whole = by_number(ufunc, method, tuple(x.view(Traced) if type(x) is Chosen else x for x in inputs), None, options)
        result = whole.view(Chosen)
        result.mask = masks[0]
        return result
    if not any(map(has_traced, inputs)):
        result = getattr(ufunc, method)(*[known(plain(x)) for x in inputs], **options)
        result = result.astype(object) if isinstance(result, np.ndarray) and result.dtype == float else result
    elif method == "__call__":
        result = called(ufunc, inputs, options)
    elif method == "reduce":
        result = reduced(ufunc, *inputs, **options)
    elif method == "accumulate":
        result = accumulated(ufunc, *inputs, **options)
    elif method == "outer":
        a, b = map(boxed, inputs)
        result = called(ufunc, (a.reshape(a.shape + (1,) * np.ndim(b)), b), options)
    else:
        raise refuse(f"np.{ufunc.__name__}.{method} of traced values", "write it out over the entries")
    if out is None or out[0] is None:
        return wrapped(result)
    for target, x in zip(out, result if isinstance(result, tuple) else (result,), strict=True):
        target[...] = x
    return out[0] if len(out) == 1 else out


def called(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a ufunc entry by entry; those of vectors and matrices, such as matmul, are NumPy's own."""
    if ufunc in UFUNCS and not options:
        return UFUNCS[ufunc](*map(boxed, inputs))
    if ufunc.signature is None and getattr(np, ufunc.__name__, None) is ufunc:   # others np.vectorize has made
        raise refuse(*unknown(ufunc.__name__))
    return FUNCTIONS.get(ufunc, ufunc)(*map(boxed, inputs), **options)


def reduced(ufunc: np.ufunc, x: Any, axis: Any = 0, keepdims: bool = False, initial: Any = np._NoValue, **others: Any) -> Any:
    """Reduce with a binary ufunc along axes; booleans add up as numbers."""
    x = boxed(x)
    if ufunc not in REDUCED:
        raise refuse(f"np.{ufunc.__name__}.reduce of traced values", "write it out over the entries")
    if ufunc in (np.add, np.multiply):
        return ufunc.reduce(as_numbers(x), axis=axis, keepdims=keepdims, **({} if initial is np._NoValue else {"initial": initial}))
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(k % x.ndim for k in axes) if x.ndim else ()
    rows = np.moveaxis(x, axes, range(len(axes))).reshape(-1, *[n for k, n in enumerate(x.shape) if k not in axes])
    first = [] if initial is np._NoValue else [initial]
    if not len(rows) and not first and ufunc not in (np.logical_and, np.logical_or):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    first = first or ([bool(ufunc is np.logical_and)] if not len(rows) else [])
    result = functools.reduce(REDUCED[ufunc], [*first, *rows])
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)] if keepdims else np.shape(result)
    if ufunc in (np.logical_and, np.logical_or):
        result = ops.logical_not(ops.logical_not(result))
    return asarray(result).reshape(shape)[()]


def accumulated(ufunc: np.ufunc, x: Any, axis: int = 0, **others: Any) -> Any:
    """Accumulate with a binary ufunc along an axis."""
    rows = list(np.moveaxis(as_numbers(boxed(x)), axis, 0))
    if ufunc not in UFUNCS:
        raise refuse(f"np.{ufunc.__name__}.accumulate of traced values", "write it out over the entries")
    for k in range(1, len(rows)):
        rows[k] = UFUNCS[ufunc](rows[k - 1], rows[k])
    return np.moveaxis(array(rows, dtype=object).reshape(np.moveaxis(boxed(x), axis, 0).shape), 0, axis)


def of_arrays(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of arrays: its meaning here, NumPy's on arrays of objects, or NumPy's on floats where nothing is traced."""
    if not any(map(has_traced, (*args, *options.values()))):
        result = own(function)(*map(known, map(plain, args)), **{name: known(plain(x)) for name, x in options.items()})
        return wrapped(result.astype(object) if isinstance(result, np.ndarray) and result.dtype == float else result)
    if (meaning := FUNCTIONS.get(function)) is not None:
        return wrapped(meaning(*args, **options))
    return wrapped(own(function)(*map(plain, args), **{name: plain(x) for name, x in options.items()}))


def own(function: Any) -> Callable[..., Any]:
    """Call NumPy's own function, without dispatch to traced arrays."""
    return getattr(function, "_implementation", function)


for _ufunc, _meaning in UFUNCS.items():  # NumPy calls these by name on the elements of arrays of its own class
    if _ufunc not in Graph.recorded:
        setattr(Expr, _ufunc.__name__, functools.partialmethod(lambda x, *others, meaning: meaning(x, *others), meaning=_meaning))
Expr.otherwise = staticmethod(by_number)
Expr.__array_function__ = Traced.__array_function__  # type: ignore[attr-defined]

__all__ = ["FUNCTIONS", "Traced", "as_numbers", "boxed", "has_traced", "plain", "refuse", "truths", "wrapped"]
