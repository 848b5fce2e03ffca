"""What a function reads besides its arguments: machine code has it as it was when the function was traced."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

Array = np.ndarray
#: values that are compared as they stand
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
#: how far it goes from a function to what that holds
DEPTH = 5


def surroundings(things: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return by name every number, text and array that functions and objects (name, thing) read besides their arguments.

    Looked at are closures, globals, defaults, the objects that methods belong to with their attributes, and lists, dictionaries and
    functions among these; of modules and classes what the functions name. Objects of the engine's own that do not change are left out.

    >>> def pull(gain):
    ...     return lambda q: -gain * q
    >>> surroundings([("f", pull(2.0))])
    {'f: gain': 2.0}
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, thing in things:
        for path, value in leaves(thing, "", DEPTH, seen):
            found[f"{name}: {path}"] = value
    return found


def leaves(x: Any, path: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, by its path."""
    if isinstance(x, PLAIN):
        yield path, x
        return
    if depth < 0 or id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, np.ndarray):
        if x.dtype != object:
            yield path, x.copy()
    elif isinstance(x, Mapping):
        for key, value in list(x.items()):
            yield from leaves(value, f"{path}[{key!r}]", depth - 1, seen)
    elif isinstance(x, (list, tuple, set, frozenset)):
        for k, value in enumerate(x):
            yield from leaves(value, f"{path}[{k}]", depth - 1, seen)
    elif isinstance(x, functools.partial):
        for name, value in (("", x.func), ("args", x.args), ("keywords", x.keywords)):
            yield from leaves(value, joined(path, name), depth - 1, seen)
    elif inspect.ismethod(x):
        yield from leaves(x.__self__, path, depth, seen)
        yield from leaves(x.__func__, path, depth, seen)
    elif inspect.isfunction(x):
        if not str(x.__module__).startswith("engine.") or x.__closure__:
            yield from read(x, path, depth, seen)
    elif hasattr(x, "__dict__") and not isinstance(x, (type, types.ModuleType)):
        engines = str(type(x).__module__).startswith("engine.")
        if engines and not hasattr(x, "act") and not hasattr(x, "fn"):           # a model, a compiled function: they do not change
            return
        own = {n: y for c in reversed(type(x).__mro__) if not str(c.__module__).startswith(("engine.", "builtins"))
               for n, y in vars(c).items() if isinstance(y, (*PLAIN, np.ndarray)) and not n.startswith("__")}  # fmt: skip
        for name, value in {**own, **vars(x)}.items():
            yield from leaves(value, joined(path, name), depth - 1, seen)
        call = getattr(type(x), "__call__", None)  # noqa: B004
        if inspect.isfunction(call) and not engines:
            yield from leaves(call, path, depth, seen)


def read(fn: types.FunctionType, path: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield what a function in Python reads, by its path."""
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield from leaves(cell.cell_contents, joined(path, name), depth - 1, seen)
        except ValueError:                                                     # a name that is given a value later
            continue
    for k, value in enumerate((*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())):
        yield from leaves(value, joined(path, f"default {k}"), depth - 1, seen)
    if str(fn.__module__).startswith("engine."):
        return
    names = [n for code in codes(fn.__code__) for n in code.co_names]
    for name in dict.fromkeys(names):
        if name not in fn.__globals__:
            continue
        value = fn.__globals__[name]
        if not isinstance(value, (type, types.ModuleType)):
            yield from leaves(value, joined(path, name), depth - 1, seen)
        elif not value.__name__.startswith(("numpy", "engine", "scipy")):
            held = {n: vars(value)[n] for n in names if n in vars(value)}
            for n, y in held.items():
                if isinstance(y, (*PLAIN, np.ndarray)):
                    yield from leaves(y, f"{joined(path, name)}.{n}", depth - 1, seen)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions within."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs, in words."""
    pairs = ((name, before.get(name, "nothing"), now.get(name, "nothing")) for name in {**before, **now})
    return [f"{name} is {shown(b)}, and was {shown(a)}" for name, a, b in pairs if not same(a, b)]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return a is b or (type(a) is type(b) and repr(a) == repr(b))


def shown(x: Any) -> str:
    return np.array2string(x, precision=6, threshold=6) if isinstance(x, np.ndarray) else repr(x)[:60]
