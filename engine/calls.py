"""Calls whose arguments do not fit: a sentence that says which name was meant, and which there are, where Python's says neither."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from engine.checks import EngineError, listed, nearest

Given = ParamSpec("Given")
Result = TypeVar("Result")
#: what is called in the place of functions, those among them too
CHECKED: dict[Any, Any] = {}


class CallError(EngineError, TypeError):
    """A call has arguments that what is called does not take, or lacks some; Python's TypeError, with what was meant and what is expected.

    >>> import engine
    >>> engine.load_urdf("arm.urdf", floating_bas=True)
    Traceback (most recent call last):
    ...
    engine.calls.CallError: load_urdf takes no 'floating_bas' (did you mean 'floating_base'?); expected some of path, floating_base, ...
    """


def check_calls(*modules: str) -> None:
    """Let public functions and classes of modules, given by name, raise :class:`CallError` where a call does not fit.

    Classes get it in place, with their methods and their bases of the same room; functions in these modules, and where they are defined.
    """
    for module in map(sys.modules.__getitem__, modules):
        own = [n for n, x in vars(module).items() if n[0] != "_" and getattr(x, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            x = vars(module).get(name)
            if isinstance(x, type) and not issubclass(x, BaseException) and room_of(x)[0] == "engine":
                for kind in x.__mro__:
                    if room_of(kind) == room_of(x):
                        check_methods(kind)
            elif isinstance(x, types.FunctionType) and room_of(x)[0] == "engine":
                for there in (module, sys.modules[x.__module__]):
                    setattr(there, name, call_checked(x))


def room_of(x: Any) -> list[str]:
    """Return the package and the room in which a class or a function is defined."""
    return str(x.__module__).split(".")[:2]


@functools.cache
def check_methods(kind: type) -> None:
    """Let the constructor and the public methods of a class raise :class:`CallError`."""
    for name, x in [*vars(kind).items()]:
        if name in ("__init__", "__new__") or name[0] != "_":
            if isinstance(x, types.FunctionType):
                setattr(kind, name, call_checked(x))
            elif isinstance(x, (classmethod, staticmethod)):
                setattr(kind, name, type(x)(call_checked(x.__func__)))


def call_checked(fn: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function that is called as another one, and raises :class:`CallError` where that cannot be called so; else nothing differs.

    >>> @call_checked
    ... def fall(height, gravity=9.81):
    ...     return (2.0 * height / gravity) ** 0.5
    >>> fall(1.0, gravty=1.62)
    Traceback (most recent call last):
        ...
    engine.calls.CallError: fall takes no 'gravty' (did you mean 'gravity'?); expected some of height, gravity
    """

    @functools.wraps(fn)
    def called(*args: Given.args, **named: Given.kwargs) -> Result:
        try:
            return fn(*args, **named)
        except TypeError:
            refuse_misfit(fn, args, named)
            raise

    return CHECKED.setdefault(fn, CHECKED.setdefault(called, called))


def refuse_misfit(fn: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Raise CallError where a function cannot be called with these arguments."""
    signature = inspect.signature(fn)
    try:
        signature.bind(*args, **named)
        return
    except TypeError as error:
        problem = str(error)
    title, given = title_of(fn, args), [p for p in signature.parameters.values() if p.name not in ("self", "cls", "_cls")]
    ordered = [p.name for p in given if p.kind is p.POSITIONAL_OR_KEYWORD]
    others = [p.name for p in given if p.kind is p.KEYWORD_ONLY]
    unknown = [n for n in named if n not in (*ordered, *others)]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in given):
        expected = listed("some of", (*ordered, *others), "no arguments")
        raise CallError(f"{title} takes no '{unknown[0]}'{nearest(unknown[0], (*ordered, *others))}; expected {expected}") from None
    others += [f"any {p.name}" for p in given if p.kind is p.VAR_KEYWORD]
    accepted = filter(None, (", ".join(ordered), listed("by name", others, "")))
    raise CallError(f"{title}: {problem}; expected {', and '.join(accepted) or 'no arguments'}") from None


def title_of(fn: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return what a function is called; a constructor goes by the class that it is of, or of which the engine's class others extend."""
    if fn.__name__ not in ("__init__", "__new__") or not args:
        return fn.__qualname__
    kind = args[0] if isinstance(args[0], type) else type(args[0])
    return next((k for k in kind.__mro__ if k.__module__.startswith("engine.")), kind).__name__
