"""The disk cache of traced programs of the engine's own, so that the next process does not trace them again.

What a traced function makes depends on what it reaches, on the engine's code, and on the libraries under it. :func:`kept` takes all that
it reaches, and knows it by its pickle, number by number, with nothing in it that is not the engine's, NumPy's or Python's own: a function
or a class of somebody else's may read a file, a global or a clock, and is traced each time, with all around it. The code is that which
this process has loaded: the texts of all modules, as they were then, and nothing set in them since.

Nothing else is trusted, and no attempt made to guess: whatever is not known to be the same is traced.
"""

from __future__ import annotations

import builtins
import copyreg
import functools
import hashlib
import io
import math
import operator
import os
import pickle
import sys
import types
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import numpy as np

from engine import cache
from engine.compiler import debug, native_code

Value = TypeVar("Value")
#: rooms of functions of their arguments alone, and those whose classes are data besides; packages whose classes are; functions of others'
#: that pickles name
PURE = {"checks", "ops", "spatial", "model", "dynamics", "constraints", "contact", "geometry", "integrate", "compiler", "components"}
DATA = {*PURE, "simulation"}
PLAIN = {"builtins", "collections", "functools", "networkx", "pathlib", "types"}
NAMED = {"builtins.getattr", "networkx.classes.function.frozen", "numpy._core.multiarray._reconstruct", "numpy._core.multiarray.scalar",
         "numpy._core.numeric._frombuffer", "numpy.core.multiarray._reconstruct", "numpy.core.multiarray.scalar",
         "numpy.core.numeric._frombuffer", "copyreg._reconstructor", "copyreg.__newobj__"}  # fmt: skip
#: packages under it, whose versions are in the key
UNDER = ("numpy", "networkx", "scipy")
FUNCTIONS = types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType
#: what Python and its library note in modules and classes
PYTHONS = {"__slotnames__", "__warningregistry__", "__annotations__", "__annotations_cache__", "__annotate_func__"}
#: modules, or names in them, whose containers grow while things are made and called
GROWING = ("engine.cache", "engine.calls.CHECKED", "engine.compiler.gufunc", "engine.compiler.debug", "engine.compiler.graph.notes",
           "engine.compiler.trace_cache.LOADED", "engine.compiler.codegen.interrupt_checks._kept", "engine.simulation.rounding.SAID")
#: by what is a function, or stands for one, what it is, or has behind it
BEHIND: dict[type, Callable[[Any], list[Any]]] = {
    types.FunctionType: lambda f: [f, *behind(f.__dict__.get("__wrapped__"))] if f.__dict__ else [f],
    staticmethod: lambda x: behind(x.__func__), classmethod: lambda x: behind(x.__func__), property: lambda x: behind(x.fget),
    functools.cached_property: lambda x: behind(x.func), functools._lru_cache_wrapper: lambda x: behind(x.__wrapped__)}  # fmt: skip
#: what holds other things, and may be changed in place
HOLDING = (dict, list, set, np.ndarray)
#: what a function is made of, which may be set
MADE_OF = tuple(map(operator.attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))


class Foreign(Exception):
    """Error: something is not made of the engine's own alone."""


class Loaded:
    """The engine's modules, as they were loaded: their texts, and what is set in them, in their classes, functions and containers."""

    def __init__(self) -> None:
        texts, functions = hashlib.sha256(), list[types.FunctionType]()
        self.set: list[tuple[str, Mapping[str, Any], dict[Any, Any]]] = []     # and what may not have more than it had
        self.rows: list[tuple[str, Collection[Any], tuple[Any, ...]]] = []
        self.arrays: list[tuple[str, np.ndarray, bytes]] = []
        self.under = [(m.__name__, vars(m), dict(vars(m))) for m in (builtins, math, operator, np, np.linalg)]
        for name, module in sorted((n, m) for n, m in sys.modules.items() if n.startswith("engine.")):
            try:
                texts.update(name.encode() + b"\0" + native_code.read(str(module.__file__)))
            except OSError:  # in an archive, say: what this process keeps is found by no other
                texts.update(os.urandom(32))
            self.set.append((name, vars(module), dict(vars(module))))
            for word, x in vars(module).items():
                kind = type(x)
                if kind in HOLDING:
                    if word != "__builtins__" and not f"{name}.{word}".startswith(GROWING):
                        self.hold(f"{name}.{word}", x)
                elif isinstance(x, type):
                    if x.__module__ == name:
                        self.set.append((f"{name}.{word}", vars(x), dict(vars(x))))
                        functions += [f for y in vars(x).values() for f in behind(y)]
                elif kind in BEHIND and x.__module__ == name:
                    functions += behind(x)
        self.texts = texts.hexdigest()
        having = ((get, [f for f in functions if get(f) is not None]) for get in MADE_OF)
        self.made = [(get, fs, [*map(get, fs)]) for get, fs in having]

    def hold(self, name: str, x: Any) -> None:
        """Note what is in a container."""
        if isinstance(x, dict):
            self.set.append((name, x, x.copy()))
        elif isinstance(x, np.ndarray):
            self.arrays.append((name, x, x.tobytes()))
        else:
            self.rows.append((name, x, tuple(x)))

    def changed(self) -> str:
        """Return what has been set since, in words; "" where nothing has."""
        for name, now, then in (*self.set, *self.under):
            if not all(map(operator.is_, map(now.get, then), then.values())):
                return f"{name}.{next(w for w, x in then.items() if now.get(w) is not x)} was set"
        for name, now, then in self.set:
            if len(now) != len(then) and (more := [w for w in now if w not in then and w not in PYTHONS and not is_module(now[w])]):
                return f"{name}.{more[0]} was set"
        for get, functions, parts in self.made:
            if not all(map(operator.is_, map(get, functions), parts)):
                f = next(f for f, part in zip(functions, parts, strict=True) if get(f) is not part)
                return f"{f.__module__}.{f.__qualname__} was changed"
        for name, held, entries in self.rows:
            if len(held) != len(entries) or not all(map(operator.is_, held, entries)):
                return f"{name} was changed"
        return next((f"{name} was changed" for name, array, numbers in self.arrays if array.tobytes() != numbers), "")


def behind(x: Any) -> list[types.FunctionType]:
    """Return a function, or the one behind a method, a property or a decorator, with what they wrap; none of anything else."""
    return BEHIND[type(x)](x) if type(x) in BEHIND else []


def is_module(x: Any) -> bool:
    """Return whether something is a module, which a package has from when it is loaded on."""
    return isinstance(x, types.ModuleType)


class Strict(pickle.Pickler):
    """Pickles what is the engine's, NumPy's and Python's own; raises :class:`Foreign` at anything else."""

    dispatch_table = copyreg.dispatch_table.copy()                             # whatever anybody adds to it

    def persistent_id(self, x: Any) -> Any:
        """Return sets by what is in them, in an order that is the same in every process."""
        return ("set", type(x).__name__, sorted(map(pickled, x))) if isinstance(x, (set, frozenset)) else None

    def reducer_override(self, x: Any) -> Any:
        """Look at functions and classes, and at the classes of objects; all else is pickled as it is."""
        known = x if isinstance(x, (type, *FUNCTIONS)) else type(x)
        if not own(known):
            raise Foreign(f"{getattr(known, '__module__', '')}.{getattr(known, '__qualname__', known)} is not the engine's")
        if isinstance(x, types.MethodType) and type(x.__self__).__module__.partition(".")[0] != "engine":
            raise Foreign(f"{x.__qualname__} is not the engine's")
        return NotImplemented


def own(x: Any) -> bool:
    """Return whether a function or a class depends on nothing besides its arguments."""
    module = getattr(x, "__module__", None) or ""
    package, _, rest = module.partition(".")
    if isinstance(x, type):
        if issubclass(x, (np.ndarray, np.generic, np.dtype)) and package == "numpy":
            return True
        return package in PLAIN or (package == "engine" and rest.partition(".")[0] in DATA)
    return f"{module}.{x.__qualname__}" in NAMED or (package == "engine" and rest.partition(".")[0] in PURE)


def pickled(x: Any) -> bytes:
    """Return what something is made of as bytes; :class:`Foreign` where that is not the engine's alone."""
    into = io.BytesIO()
    try:
        Strict(into, protocol=5).dump(x)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:  # a function within another, a file, a lock
        raise Foreign(str(error)) from error
    return into.getvalue()


#: what has been loaded, once all of the engine is
LOADED: list[Loaded] = []


def remember() -> None:
    """Take what is loaded now for the engine: called once, at the end of its import."""
    LOADED.append(Loaded())


@functools.cache
def installed(name: str) -> str:
    """Return a package's version, "" if there is none."""
    if (loaded := getattr(sys.modules.get(name), "__version__", None)) is not None:
        return str(loaded)
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def key_of(inputs: Any) -> str:
    """Return the key of what is made of these inputs by the engine alone; :class:`Foreign` where something else may have a part in it."""
    if debug.level() > 1:
        raise Foreign("ENGINE_DEBUG asks for lines and checks, which are of this process")
    if cache.folder() is None:
        raise Foreign("there is no cache to keep it in (ENGINE_CACHE)")
    if len(LOADED) != 1:
        raise Foreign("the engine was not loaded as a whole")
    if changed := LOADED[0].changed():
        raise Foreign(changed)
    chosen = sorted((n, x) for n, x in os.environ.items() if n.startswith("ENGINE_") and n not in ("ENGINE_CACHE", "ENGINE_DEBUG"))
    around = [LOADED[0].texts, native_code.identity(), sys.version, repr(sys.flags), *map(installed, UNDER), repr(chosen)]
    return "kept|" + hashlib.sha256("\0".join(around).encode() + b"\0" + pickled(inputs)).hexdigest()


def kept(what: str, inputs: Any, make: Callable[[], Value]) -> Value:
    """Return ``make()``, a function of these inputs and of the engine's own code, or what it made of the same before, in any process."""
    try:
        key = key_of(inputs)
    except Foreign as error:
        debug.say(f"{what}: made, as {error}")
        return make()
    return kept_under(what, key, make)


def kept_under(what: str, key: str, make: Callable[[], Value]) -> Value:
    """Return ``make()``, or what it made under the same key before."""
    if (found := cache.load(key)) is not None:
        try:
            value: Value = pickle.loads(found)
        except Exception:                                                      # of a library that is another by now
            debug.say(f"{what}: made, as what the cache has of it cannot be read")
        else:
            debug.say(f"{what}: found in the cache")
            return value
    value = make()
    try:
        made = pickle.dumps(value, protocol=5)
        fresh: Value = pickle.loads(made)                                      # as the next process has it, and what it makes of it
    except Exception as error:                                                 # a function within another
        debug.say(f"{what}: made, and not kept, as it cannot be pickled ({error})")
        return value
    if cache.store(key, made):
        debug.say(f"{what}: made, and kept in the cache")
    else:
        debug.say(f"{what}: made, and not kept, as the cache cannot be written: 'engine doctor' says why")
    return fresh
