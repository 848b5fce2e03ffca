"""A fingerprint of plain Python functions: whether a run that goes on is made of the functions that it was begun with."""

from __future__ import annotations

import dis
import functools
import hashlib
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiler.gufunc import Gufunc
from engine.integrate import Event
from engine.io import model_hash
from engine.model import Model
from engine.simulation.component import Called, Component, Law
from engine.simulation.function import Function
from engine.simulation.robot import Robot

#: where code lies that is known by its name: Python's own, what is installed, and the engine's
INSTALLED = (*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).parents[1]))
#: of the engine's objects, those whose attributes count
OPEN = (Called, Component, Event, Law)


def fingerprint(*things: Any) -> str:
    """Return the SHA-256 of what functions and other things are, the same in every process of one version of Python.

    Of a function it covers the code and its constants, the defaults, the values that it encloses, and the globals that it names; of a
    method, and of an object that can be called, also the object's attributes. Values count as far as they are numbers, texts, arrays,
    containers of these, models, or functions, and any other object by its type's name. Functions that are installed with Python, in
    packages or with the engine count by their names and what they enclose. Not covered is what is read from files, clocks and the like.

    >>> def pull(k):
    ...     return lambda t, q, v: -k * q
    >>> fingerprint(pull(1.0)) == fingerprint(pull(1.0)), fingerprint(pull(1.0)) == fingerprint(pull(2.0))
    (True, False)
    """
    walk = Walk()
    for thing in things:
        walk.of(thing)
    return walk.hash.hexdigest()


class Walk:
    """A walk through things and what they consist of, which says to a hash what it sees; what it comes across again it says by number."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: dict[tuple[int, bool], tuple[int, Any]] = {}                # by id; kept, so that no other object gets it

    def say(self, *words: Any) -> None:
        """Say some words, each with its length."""
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def all(self, name: str, parts: Any) -> None:
        """Say what several things are."""
        parts = list(parts)
        self.say(name, len(parts))
        for part in parts:
            self.of(part)

    def of(self, x: Any, opened: bool = False) -> None:
        """Say what a thing is; ``opened`` if an object's attributes count, whatever it is."""
        if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject:
            self.say("array", x.dtype.str, x.shape, x.tobytes())
        elif x is None or isinstance(x, (bool, int, float, complex, str, bytes, type(...))):
            self.say(type(x).__name__, repr(x))
        elif isinstance(x, tuple):
            self.all("tuple", x)
        elif (key := (id(x), opened)) in self.seen:
            self.say("again", self.seen[key][0])
        else:
            self.seen[key] = len(self.seen), x
            self.object(x, opened)

    def object(self, x: Any, opened: bool) -> None:
        """Say what a thing is that was not seen before."""
        if isinstance(x, (list, np.ndarray)):
            self.all("list", x)
        elif isinstance(x, (set, frozenset)):
            self.say("set", *sorted(fingerprint(y) for y in x))
        elif isinstance(x, Mapping):
            self.all("mapping", x.items())
        elif isinstance(x, Model):
            self.say("model", model_hash(x))
        elif isinstance(x, Robot):
            self.say("robot", model_hash(x.model), x.gravity)
        elif isinstance(x, Gufunc):
            self.say("gufunc", x.name, *([] if isinstance(x, Function) else [x.program.key]))
        elif isinstance(x, functools.partial):
            self.all("partial", (x.func, x.args, x.keywords))
        elif isinstance(x, types.MethodType):
            self.all("method", [x.__func__])
            self.of(x.__self__, opened=True)
        elif isinstance(x, types.FunctionType):
            self.function(x)
        else:
            names = [getattr(x, n, None) or getattr(type(x), n, None) for n in ("__module__", "__qualname__", "__name__")]
            self.say("object", *names)
            if opened or isinstance(x, OPEN) or (callable(x) and not isinstance(x, (type, types.BuiltinFunctionType))):
                self.attributes(x)

    def attributes(self, x: Any) -> None:
        """Say what the methods and the attributes of an object are, as far as they are not installed."""
        for base in type(x).__mro__[:-1]:
            self.all(base.__qualname__, [f for f in vars(base).values() if isinstance(f, types.FunctionType) and not installed(f)])
        self.all("attributes", getattr(x, "__dict__", {}).items())

    def function(self, f: types.FunctionType) -> None:
        """Say what a function does and encloses."""
        if installed(f):
            self.say("function", f.__module__, f.__qualname__)
        else:
            self.code(f.__code__, f.__globals__)
        cells = [c.cell_contents for c in f.__closure__ or () if c != types.CellType()]
        self.all("with", (f.__defaults__, f.__kwdefaults__, vars(f), *cells))

    def code(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        """Say what code does, in which its place has no part, and the globals that it names."""
        self.say("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_argcount,
                 getattr(code, "co_exceptiontable", b""))  # fmt: skip
        for x in code.co_consts:
            self.code(x, names) if isinstance(x, types.CodeType) else self.of(x)
        for name in sorted({str(i.argval) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"} & {*names}):
            self.say("global", name)
            self.of(names[name])


def installed(f: types.FunctionType) -> bool:
    """Return whether a function is Python's own, an installed package's, or the engine's."""
    return f.__code__.co_filename.startswith(INSTALLED)
