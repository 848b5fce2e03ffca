"""Replacement of NumPy's, ``math``'s and Python's own functions by ones that take traced values, while a function is traced.

``math.sin``, ``max`` and ``np.array([...])`` ask nobody what to do with a traced value. So others stand in for them for as long as the
function runs, which do as they do, but for traced values. ``from math import sin`` is found among the names of the function's
own module. Where a function writes traced values into an array of floats it is called once more, and arrays that it makes hold any number.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import math
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.frontend import whole_arrays
from engine.compiler.frontend.arrays import Traced, boxed, has_traced, of_arrays, plain, refuse, wrapped
from engine.compiler.frontend.elementary import MATH, UFUNCS, rint
from engine.compiler.graph.expr import Expr
from engine.compiler.graph.refusals import TraceError, is_installed, is_ours
from engine.ops.elementwise import USERS, floor_mod

#: held while something is lent; a fork waits for it, as for :data:`engine.compiler.native_code.LOCK`
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
#: NumPy's functions that make arrays
MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "empty", "zeros", "ones", "full", "eye", "identity", "empty_like",
          "zeros_like", "ones_like", "full_like", "copy")  # fmt: skip


class Holding(threading.local):
    """Per-thread flag: arrays that the user's function makes can hold traced values."""

    now = False


HOLDING = Holding()


def maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays, with traced values in them too."""

    @functools.wraps(original)
    def make(*args: Any, **options: Any) -> Any:
        if has_traced(args) or has_traced(options):
            dtype = options.pop("dtype", None)
            if original.__name__ == "full_like" and dtype is None and not has_traced(args[0]):
                dtype = np.asarray(args[0]).dtype
            if dtype is None and len(args) > 1 and isinstance(args[1], (type, np.dtype, str)):
                dtype, args = args[1], (args[0], *args[2:])
            made = original(*map(plain, args), dtype=object, **options).view(Traced)
            if dtype is None and is_users() and any(isinstance(y, (np.ndarray, list, tuple)) for y in made.flat):
                shapes = ", ".join(dict.fromkeys(str(np.shape(y)) for y in made.flat))
                raise refuse(f"an array of entries of unlike shapes {shapes}", "use entries of one shape, such as x[0] of an x of length 1")
            return made if dtype is None else made.astype(dtype)
        made = original(*args, **options)
        if isinstance(made, np.ndarray) and (made.dtype == object or (HOLDING.now and made.dtype == float and is_users())):
            return made.astype(object, copy=made.dtype != object, subok=False).view(Traced)
        return made

    return make


def is_users() -> bool:
    """Return whether the caller's caller is code of the user's."""
    return not is_ours(sys._getframe(2))


def asking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's on arrays that looks for traced values in lists too."""

    @functools.wraps(original)
    def asked(*args: Any, **options: Any) -> Any:
        if not has_traced(args) and not has_traced(options):
            return original(*args, **options)
        return of_arrays(original, tuple(map(asked_for, args)), {name: asked_for(x) for name, x in options.items()})

    asked._implementation = original._implementation  # type: ignore[attr-defined]
    return asked


def asked_for(x: Any) -> Any:
    """A list of numbers as an array, and arrays in lists, so that NumPy asks them."""
    if isinstance(x, (list, tuple)) and has_traced(x):
        if any(isinstance(y, np.ndarray) for y in leaves(x)):
            return wrapped(x)
        lists = len({np.shape(y) for y in map(plain, x) if isinstance(y, (list, tuple))}) > 1 or len({*map(is_list, x)}) > 1
        return type(x)(map(asked_for, x)) if lists else wrapped(boxed(x))       # such as concatenate takes: of lengths of their own
    return wrapped(x) if isinstance(x, np.ndarray) else x


def is_list(x: Any) -> bool:
    """Return whether an object is a list or a tuple."""
    return isinstance(x, (list, tuple))


def leaves(x: Any) -> Iterator[Any]:
    """Yield the entries of nested lists."""
    for y in x:
        if isinstance(y, (list, tuple)):
            yield from leaves(y)
        else:
            yield y


def of_numbers(original: Callable[..., Any], meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, with the meaning it has on traced ones."""

    @functools.wraps(original)
    def called(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Iterator):
            if original in (builtins.any, builtins.all):
                return meaning(*args)
            args = (list(args[0]), *args[1:])
        return meaning(*map(boxed_size_one, args), **options) if has_traced(args) else original(*args, **options)

    return called


def boxed_size_one(x: Any) -> Any:
    """The number of an array of one."""
    return x.reshape(())[()] if isinstance(x, np.ndarray) and x.size == 1 else x


# ------------------------------------------------------------ Python's own functions


def extremum(of_two: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """``max`` or ``min`` of several, or of all in one."""

    def found(*args: Any, **options: Any) -> Any:
        if options.keys() - {"default"}:
            raise refuse("max or min of traced values with a key", "use np.where(condition, a, b)")
        return functools.reduce(of_two, list(args[0]) if len(args) == 1 else args)

    return found


def total(xs: Any, start: Any = 0) -> Any:
    """``sum``, in which a truth counts as 1."""
    return functools.reduce(lambda a, b: UFUNCS[np.add](a, b), [ops.where(x, 1.0, 0.0) if is_truth(x) else x for x in xs], start)


def is_truth(x: Any) -> bool:
    return type(x) is Expr and x.i in x.g.truths


def quantifier(decisive: bool) -> Callable[[Any], Any]:
    """Make ``any`` or ``all`` for lists with traced values: one known while tracing decides at once, as in Python; others are joined by
    or/and."""
    join = ops.logical_or if decisive else ops.logical_and

    def found(xs: Any) -> Any:
        result: Any = not decisive
        for x in xs:
            if has_traced(x):
                result = join(result, x)
            elif bool(x) is decisive:
                return decisive
        return result

    return found


def rounded(x: Any, ndigits: int | None = None) -> Any:
    return rint(x) if ndigits is None else whole_arrays.around(x, ndigits)


class FloatType(type):
    """Metaclass that keeps ``isinstance(x, float)`` true of floats, and makes it true of traced numbers."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (float, Expr))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)


class Float(float, metaclass=FloatType):
    """``float``, which leaves a traced value as it is."""

    dtype = np.dtype(float)  # by which NumPy knows what arrays of it are

    def __new__(cls, x: Any = 0.0) -> Any:
        if not has_traced(x):
            return float(x)
        x = boxed_size_one(x)
        return ops.where(x, 1.0, 0.0) if is_truth(x) else x


BUILTINS: dict[str, Callable[..., Any]] = {
    "max": extremum(lambda best, x: ops.where(ops.less(best, x), x, best)),
    "min": extremum(lambda best, x: ops.where(ops.less(x, best), x, best)), "sum": total, "round": rounded,
    "any": quantifier(True), "all": quantifier(False), "divmod": floor_mod, "pow": lambda x, y: x**y,
}  # fmt: skip
def is_instance(x: Any, kinds: Any) -> bool:
    """``isinstance``, by which a traced value is one of NumPy's numbers."""
    return isinstance(np.float64(0.0) if type(x) is Expr and not is_truth(x) else np.True_ if type(x) is Expr else x, kinds)


OWN_BUILTINS = {name: getattr(builtins, name) for name in ("isinstance", "float", *BUILTINS)}
LENT_BUILTINS = {"isinstance": is_instance, **{name: of_numbers(OWN_BUILTINS[name], f) for name, f in BUILTINS.items()}}
LENT_MATH = {name: of_numbers(getattr(math, name), f) for name, f in MATH.items() if hasattr(math, name)}
LENT_NUMPY = {name: asking(f) for name, f in vars(np).items() if hasattr(f, "_implementation")}
LENT_NUMPY |= {name: maker(getattr(np, name)) for name in MAKERS}
LENT_LINALG = {name: asking(f) for name, f in vars(np.linalg).items() if hasattr(f, "_implementation")}
LENT = ((math, LENT_MATH), (np, LENT_NUMPY), (np.linalg, LENT_LINALG))
#: what is lent, by the function that it stands in for
INSTEAD = {id(vars(module)[name]): f for module, table in LENT for name, f in table.items()}
ABSENT = object()


# ------------------------------------------------------------ lending


@contextlib.contextmanager
def lent(fn: Callable[..., Any], graph: Any) -> Iterator[None]:
    """Replace functions of NumPy, ``math`` and the modules of ``fn`` while it is traced in a graph, except where the user has put another.
    """
    with LOCK:
        changes: list[tuple[dict[str, Any], str, Any]] = []
        changes += [(vars(module), name, f) for module, table in LENT for name, f in table.items() if id(vars(module).get(name)) in INSTEAD]
        python = {**LENT_BUILTINS, "float": Float} if HOLDING.now else LENT_BUILTINS
        python = {name: f for name, f in python.items() if getattr(builtins, name) is OWN_BUILTINS[name]}
        for names in namespaces(fn):
            changes += [(names, name, INSTEAD[id(x)]) for name, x in names.items() if id(x) in INSTEAD]
            changes += [(names, name, f) for name, f in python.items() if name not in names]
        before = [(names, name, names.get(name, ABSENT)) for names, name, _ in changes]
        users = vars(USERS).copy()
        USERS.made, USERS.graph = wrapped, graph
        try:
            for names, name, f in changes:
                names[name] = f
            yield
        finally:
            vars(USERS).clear()
            vars(USERS).update(users)
            for names, name, x in reversed(before):
                if x is ABSENT:
                    names.pop(name, None)
                else:
                    names[name] = x


def namespaces(fn: Any) -> list[dict[str, Any]]:
    """Return the globals of the modules in which a function, and what it may use by name, are written; not those of installed libraries."""
    found: dict[int, dict[str, Any]] = {}
    left = [fn]
    while left:
        x = left.pop()
        names = names_of(x)
        left += [x.__wrapped__] if not isinstance(x, types.ModuleType) and hasattr(x, "__wrapped__") else []
        if id(names) not in found and not is_installed(names):
            found[id(names)] = names
            left += [y for y in list(names.values()) if isinstance(y, (types.FunctionType, types.ModuleType, type))]
    return list(found.values())


def names_of(x: Any) -> dict[str, Any]:
    """Return the globals of the module in which a function, a class, or the class of a callable object is written; of a module its own."""
    while isinstance(x, functools.partial):
        x = x.func
    if isinstance(x, types.ModuleType):                                        # which may answer any name, or raise at it
        return vars(x)
    x = getattr(x, "__func__", x)
    if isinstance(x, type):
        return vars(sys.modules.get(x.__module__, types.ModuleType("")))
    return getattr(x if inspect.isfunction(x) else type(x).__call__, "__globals__", {})


def as_written(fn: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call ``fn`` on traced arguments as on floats; again with arrays that can hold traced values, if it writes some into floats."""
    graph = ops.graph_of(*args, *named.values())

    def result() -> Any:
        with lent(fn, graph):
            return plain(fn(*map(own, args), **{name: own(x) for name, x in named.items()}))

    try:
        return result()
    except TraceError as error:
        if graph is None or not graph.floats or HOLDING.now:
            raise
        first = error
    graph.refused, graph.floats, HOLDING.now = None, False, True
    try:
        return result()
    except TraceError as error:
        raise error from first
    finally:
        HOLDING.now = False


def own(x: Any) -> Any:
    """An array copied, as the function that is traced sees it; anything else as it is."""
    return wrapped(x.copy()) if isinstance(x, np.ndarray) else x
