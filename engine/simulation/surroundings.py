"""Values that users' functions capture (globals, closures, attributes), and detection that they have changed since compilation."""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
import time
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.checks import require_importable, shown
from engine.compiled.function import Function
from engine.compiled.robot import Robot
from engine.compiler.gufunc import Gufunc
from engine.components.component import Component, SimulationError
from engine.components.law import Called, Law
from engine.constraints import Prescribed
from engine.integrate import Event
from engine.io import model_hash
from engine.model import Model
from engine.rigid_body import ControlSystem

Array = np.ndarray
#: values that are compared as they stand
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)
#: where code lies that is known by its name: Python's own, what is installed, and the engine's
INSTALLED = (*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).parents[1]))
#: of the engine's objects, those whose attributes count
OPEN = (Called, Component, ControlSystem, Event, Law)
#: what a law is given, which its simulator takes as it is then
GIVEN = ("fn", "state", "period", "memory", "delay", "python", "stiff", "phase", "initial", "name")
#: classes of Python's own that hold whatever is put into them, by name
NAMESPACES = ("SimpleNamespace", "Namespace")
#: the instructions that read a global
GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
#: how far it goes from a function to what that holds
DEPTH = 12

Leaf = tuple[str, Any]


class Code(NamedTuple):
    """Identity of a function's code: a hash of its bytecode and constants, without its place in a file."""

    digest: str


def surroundings(things: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return by name every number, text, array and piece of code that functions and objects (name, thing) consist of, or read.

    Looked at are closures, globals, modules that functions import in their bodies, defaults, code, the objects that methods belong to with
    their attributes and methods, and containers, functions and modules among these, as far as they are the user's: what is installed with
    Python, in packages or with the engine counts by its name, and what it encloses. Not seen is what is read from files, clocks and the
    like.

    >>> def pull(gain):
    ...     return lambda q: -gain * q
    >>> [(name, x) for name, x in surroundings([("f", pull(2.0))]).items() if name != "f"]
    [('f: gain', 2.0)]
    """
    return dict(named_leaves(things, imports=True))


def require_found_again(name: str, a: Mapping[str, Any]) -> None:
    """Refuse functions among the arguments of a model's simulator that another process would not find."""
    for what, fn in (("controller", a["controller"]), *(("force", f) for f in a["forces"]),
                     *(("law", f) for f in (*a["sensors"], *a["laws"])),
                     *(("motion", c.motion) for c in a["constraints"] if isinstance(c, Prescribed)),
                     *(("event function", f) for e in a["events"] for f in (e.function, e.action))):  # fmt: skip
        require_importable(f"the {what} of a simulator of '{name}'", fn.fn if isinstance(fn, Law) else fn)


def as_taken(asked: list[Called]) -> list[Called]:
    """Return these calls of laws; refuse to go on where something was set in a law since it was taken."""
    for called in asked:
        for what in GIVEN:
            if not same(now := getattr(called.law, what), then := called.taken.get(what, now)):
                raise SimulationError(f"{called.name}: its law's {what} was set after it was taken, to {repr(now)[:60]}, and was "
                                      f"{repr(then)[:60]}; expected a new Simulator, with what it is to be now")  # fmt: skip
    return asked


def fingerprint(*things: Any) -> str:
    """Return the SHA-256 of the :func:`surroundings` of things, the same in every process of one version of Python.

    >>> def pull(k):
    ...     return lambda t, q, v: -k * q
    >>> fingerprint(pull(1.0)) == fingerprint(pull(1.0)), fingerprint(pull(1.0)) == fingerprint(pull(2.0))
    (True, False)
    """
    seen = hashlib.sha256()
    for path, x in named_leaves((str(k), thing) for k, thing in enumerate(things)):
        for word in (path, *words(x)):
            data = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
            seen.update(len(data).to_bytes(8, "little") + data)
    return seen.hexdigest()


def words(x: Any) -> tuple[str | bytes, ...]:
    """Return what a leaf is, for a hash."""
    if isinstance(x, np.ndarray):
        return x.dtype.str, str(x.shape), x.tobytes()
    if isinstance(x, (Model, Robot)):
        model, gravity = (x, ()) if isinstance(x, Model) else (x.model, x.gravity)
        return type(x).__name__, model_hash(model), str(gravity)
    if isinstance(x, Gufunc):
        return "gufunc", x.name, "" if isinstance(x, Function) else x.program.key
    return type(x).__name__, repr(x)


# ---------------------------------------------------------------- the walk


def named_leaves(things: Iterable[tuple[str, Any]], imports: bool = False) -> Iterator[Leaf]:
    """Yield the leaves of things (name, thing) by "name: path", with what is loaded by now of what functions import in their bodies."""
    walk = Walk(imports)
    for name, thing in things:
        for path, x in walk.leaves(thing, "", DEPTH, True):
            yield f"{name}: {path}" if path else name, x


class Walk:
    """A walk through things and what they consist of, with what functions import in their bodies where that is asked for; what it comes
    across again is a leaf that says where it was."""

    def __init__(self, imports: bool) -> None:
        self.imports = imports
        self.seen: dict[int, tuple[str, Any]] = {}                             # by id; kept, so that no other object gets it

    def leaves(self, x: Any, path: str, depth: int, opened: bool = False) -> Iterator[Leaf]:
        """Yield what a thing consists of, by path; ``opened`` if an object's attributes count, whatever it is."""
        if isinstance(x, PLAIN) or depth < 0:
            yield path, x if isinstance(x, PLAIN) else type(x).__name__
        elif id(x) in self.seen:
            if self.seen[id(x)][0] != path:
                yield path, f"the same as {self.seen[id(x)][0]}"
        else:
            self.seen[id(x)] = path, x
            yield from self.parts(x, path, depth - 1, opened)

    def parts(self, x: Any, path: str, depth: int, opened: bool) -> Iterator[Leaf]:
        """Yield what a thing consists of that was not seen before."""
        if isinstance(x, np.ndarray) and not x.dtype.hasobject:
            yield path, x.copy()
        elif isinstance(x, (Model, Robot, Gufunc)):
            yield path, x
        elif isinstance(x, (bytearray, array)):
            yield path, bytes(x)
        elif isinstance(x, (list, tuple, deque, np.ndarray)):
            yield from self.row(x, path, depth)
        elif isinstance(x, (set, frozenset)):
            yield path, tuple(sorted(fingerprint(y) for y in x))
        elif isinstance(x, Mapping):
            yield path, f"{len(x)} entries"
            for key, y in list(x.items()):
                yield from self.leaves(y, f"{path}[{key!r}]", depth)
        elif isinstance(x, functools.partial):
            for name, y in (("", x.func), ("args", x.args), ("keywords", x.keywords)):
                yield from self.leaves(y, join_path(path, name), depth)
        elif isinstance(x, types.MethodType):
            yield from self.leaves(x.__func__, path, depth)
            yield from self.leaves(x.__self__, path, depth, True)
        elif isinstance(x, types.FunctionType):
            yield from self.function(x, path, depth)
        else:
            yield from self.object(x, path, depth, opened)

    def row(self, x: Any, path: str, depth: int) -> Iterator[Leaf]:
        """Yield the entries of a list and the like."""
        if all(isinstance(y, PLAIN) for y in x):
            yield path, copy.copy(x)
            return
        yield path, f"{len(x)} entries"
        for k, y in enumerate(x):
            yield from self.leaves(y, f"{path}[{k}]", depth)

    def function(self, f: types.FunctionType, path: str, depth: int) -> Iterator[Leaf]:
        """Yield what a function does, encloses and reads."""
        own = not f.__code__.co_filename.startswith(INSTALLED)
        yield path, Code(digest(f.__code__)) if own else f"{f.__module__}.{f.__qualname__}"
        names = dict.fromkeys(n for code in codes(f.__code__) for n in loaded_names(code)) if own else {}
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if cell != types.CellType():                                       # a name that is given a value later
                yield from self.read(cell.cell_contents, join_path(path, name), depth, names)
        for k, y in enumerate((*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())):
            yield from self.leaves(y, join_path(path, f"default {k}"), depth)
        for name, y in vars(f).items():
            if not name.startswith("__"):
                yield from self.leaves(y, join_path(path, name), depth)
        for name in dict.fromkeys(n for code in codes(f.__code__) for n in loaded_names(code, GLOBALS)) if own else ():
            if name in f.__globals__:
                yield from self.read(f.__globals__[name], join_path(path, name), depth, names)
        if own and self.imports:
            for module in imported(f):
                yield from self.read(module, join_path(path, module.__name__), depth, names)

    def read(self, x: Any, path: str, depth: int, names: Iterable[str]) -> Iterator[Leaf]:
        """Yield what a global or an enclosed value is; of modules and classes what code names."""
        if not isinstance(x, (type, types.ModuleType)):
            yield from self.leaves(x, path, depth)
        elif not known(x):
            for name in [n for n in names if n in vars(x)]:
                y, at = unbound(vars(x)[name]), join_path(path, name)
                if isinstance(y, types.ModuleType) and depth > 0:              # a package's
                    yield from self.read(y, at, depth - 1, names)
                else:
                    yield from self.leaves(y, at, depth)

    def object(self, x: Any, path: str, depth: int, opened: bool) -> Iterator[Leaf]:
        """Yield an object's class, attributes, and methods, as far as they are the user's."""
        kind, name = x if isinstance(x, type) else type(x), ""
        with contextlib.suppress(Exception):                                   # of what gives every name, or another error for it
            name = str(x.__name__)
        yield path, f"{kind.__module__}.{kind.__qualname__} {name}".rstrip()
        engines = str(kind.__module__).startswith("engine.")
        if isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType)) or (engines and not (opened or isinstance(x, OPEN))):
            return
        if hasattr(kind, "__array__"):
            yield join_path(path, "values"), np.asarray(x.detach().cpu() if hasattr(x, "detach") else x).copy()
        if not (opened or isinstance(x, OPEN) or callable(x) or not known(kind) or kind.__qualname__ in NAMESPACES):
            return
        for c in [c for c in kind.__mro__[::-1] if not known(c)]:
            for name, y in vars(c).items():
                y = unbound(y)
                if not name.startswith("__") and isinstance(y, (*PLAIN, np.ndarray, list, tuple, Mapping, types.FunctionType)):
                    yield from self.leaves(y, join_path(path, name), depth)
            if "__call__" in vars(c):
                yield from self.leaves(vars(c)["__call__"], path, depth)
        for name, y in attributes(x):
            if not name.startswith("__"):
                yield from self.leaves(y, join_path(path, name), depth)


def attributes(x: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object's attributes, in slots too."""
    yield from getattr(x, "__dict__", {}).items()
    slots = [n for c in type(x).__mro__ for s in [vars(c).get("__slots__", ())] for n in ([s] if isinstance(s, str) else s)]
    for name in slots:
        if name not in ("__dict__", "__weakref__") and hasattr(x, name):
            yield name, getattr(x, name)


def unbound(x: Any) -> Any:
    """Return the function behind a property, or a method of a class."""
    return x.__func__ if isinstance(x, (staticmethod, classmethod)) else x.fget if isinstance(x, property) else x


@functools.lru_cache(maxsize=10_000)
def known(x: Any) -> bool:
    """Return whether a class or a module is Python's own, an installed package's, or the engine's."""
    module = inspect.getmodule(x) if isinstance(x, type) else x
    file = getattr(module, "__file__", None)
    return getattr(x, "__module__", "") == "builtins" or (file or "").startswith(INSTALLED) or (
        file is None and getattr(module, "__spec__", None) is not None and getattr(module, "__name__", "") != "__main__")  # fmt: skip


@functools.lru_cache(maxsize=10_000)
def digest(code: types.CodeType) -> str:
    """Return a hash of code, in which its place has no part."""
    consts = [digest(c) if isinstance(c, types.CodeType) else
              (type(c).__name__, repr(sorted(map(repr, c)) if isinstance(c, frozenset) else c)) for c in code.co_consts]  # fmt: skip
    parts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_argcount,
             getattr(code, "co_exceptiontable", b""), consts)  # fmt: skip
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions within."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


@functools.lru_cache(maxsize=10_000)
def loaded_names(code: types.CodeType, naming: tuple[str, ...] = (*GLOBALS, "LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")) -> tuple[str, ...]:
    """Return the globals and attributes that code names."""
    return tuple(dict.fromkeys(str(i.argval) for i in dis.get_instructions(code) if i.opname.startswith(naming)))


@functools.lru_cache(maxsize=10_000)
def imports(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of modules that code imports, as it names them."""
    return tuple(dict.fromkeys(str(i.argval) for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME"))


def imported(f: types.FunctionType) -> Iterator[types.ModuleType]:
    """Yield the modules that are imported where a function is called, as far as they are loaded."""
    package = str(f.__globals__.get("__package__") or "").split(".")
    for name in dict.fromkeys(n for code in codes(f.__code__) for n in imports(code)):
        for k in range(len(package) + 1):                                      # by itself, or from a package around it
            if isinstance(found := sys.modules.get(".".join(n for n in (*package[:k], name) if n)), types.ModuleType):
                yield found


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


# ---------------------------------------------------------------- what has changed


class Kept:
    """The captured values that machine code was compiled with, to detect that they have changed since.

    ``read()`` returns the surroundings now, and ``traced()`` the program that they make; of ``program`` and of what is read now the machine
    code was made. What is named with one of the prefixes ``always`` may not change even where the program stays the same; ``expected`` are
    the words for what to do instead.
    """

    def __init__(self, read: Callable[[], dict[str, Any]], traced: Callable[[], Any], program: Any, expected: str,
                 always: tuple[str, ...] = ()) -> None:  # fmt: skip
        self.read, self.traced, self.program, self.expected, self.always = read, traced, program, expected, always
        self.known, self.looked = read(), 0.0

    def require_unchanged(self, patience: float = 0.0) -> None:
        """Refuse to go on where something has changed; it is looked for if that is longer ago than ``patience`` (s)."""
        if time.perf_counter() - self.looked < patience:
            return
        self.looked, now = time.perf_counter(), self.read()
        if not (differs := changed(self.known, now)):
            return
        program, after = self.traced(), self.read()
        if program == self.program and not any(what.startswith(self.always) for what in differs):
            self.known = after
            return
        still = {name: x for name, x in now.items() if same(x, after.get(name))}  # the others are counted on by calls
        what = next(iter(changed({name: x for name, x in self.known.items() if name in still or name not in now}, still)), differs[0])
        raise SimulationError(f"{what} when it was compiled, which machine code goes on with; expected {self.expected}")


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs, in words."""
    pairs = ((name, before.get(name, "nothing"), now.get(name, "nothing")) for name in {**before, **now})
    return [f"{name} {differs(a, b)}" for name, a, b in pairs if not same(a, b)]


def differs(a: Any, b: Any) -> str:
    """Return that something is b and was a, in words."""
    is_code = isinstance(a, Code) and isinstance(b, Code)
    return "is another function now, and was not" if is_code else f"is {written(b)}, and was {written(a)}"


def same(a: Any, b: Any) -> bool:
    """Return whether two leaves are the same."""
    return a is b or (type(a) is type(b) and words(a) == words(b))


def written(x: Any) -> str:
    """Return a leaf as it is written in a sentence."""
    return " ".join(np.array2string(x, precision=6, threshold=6).split()) if isinstance(x, np.ndarray) else shown(x, 60)
