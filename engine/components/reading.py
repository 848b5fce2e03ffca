"""A function's arguments by name: the signals that it asks for, and the parts of a signal that it reads."""

from __future__ import annotations

import copy
import functools
import inspect
import re
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from engine.checks import in_order, nearest, warn
from engine.compiler.frontend.arrays import NoEntry
from engine.components.component import Context, SimulationError, SimulationWarning

#: what t, q and v are called where they are called by their places
CUSTOMARY = {"t": ("t", "time", "now"),
             "q": ("q", "x", "qpos", "pos", "position", "positions", "configuration"),
             "v": ("v", "qd", "dq", "qdot", "q_dot", "qvel", "vel", "velocity", "velocities", "w", "u")}  # fmt: skip
#: a name that is so much like a signal's, by difflib's ratio, is meant for it
LIKE = 0.7


def first_three(fn: Callable[..., Any]) -> list[str]:
    """Return the names of a function's first three arguments."""
    try:
        return [*inspect.signature(fn).parameters][:3]
    except (TypeError, ValueError):                                            # a builtin without a signature
        return []


def in_places(name: str, fn: Callable[..., Any], signals: Collection[str]) -> None:
    """Refuse a function that has t, q or v in another place than that by which it is called, or there a name like a signal's; where there
    are signals, warn of names that time, configuration and velocity never have: what was meant for a signal would get another thing.

    >>> in_places("control", lambda t, q, gyr: gyr, ["gyro"])
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: control takes (t, q, gyr), and is called as (t, q, v): 'gyr' is v (did you mean 'gyro'?); \
expected names of signals, and t, q, v by theirs
    """
    in_order(name, fn, tuple(CUSTOMARY), SimulationError)
    if not signals or len(asked := first_three(fn)) < 3:
        return
    for own, (what, usual) in zip(asked, CUSTOMARY.items(), strict=False):
        if own in usual or own.startswith("_"):
            continue
        text = f"{name} takes {inspect.signature(fn)}, and is called as ({', '.join(CUSTOMARY)}): '{own}' is {what}"
        if meant := nearest(own, signals, LIKE):
            raise SimulationError(f"{text}{meant}; expected names of signals, and t, q, v by theirs")
        warn(f"{text}, and none of the signals {', '.join(signals)}; expected '{what}' for it, or a signal's or parameter's name",
             SimulationWarning)  # fmt: skip


def by_names(fn: Callable[..., Any], known: Collection[str], signals: Collection[str] = ()) -> bool:
    """Return whether a function takes its arguments by name: one of its first three is a signal, or it takes some of t, q and v but not
    all, or others that are known.

    >>> by_names(lambda q, v: v, []), by_names(lambda t, k: k, ["k"]), by_names(lambda t, q, v, k: v, ["k"]), by_names(lambda a: a, [])
    (True, True, False, False)
    """
    if any(name in signals for name in first_three(fn)):
        return True
    try:
        asked = [p for p in inspect.signature(fn).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):                                            # a builtin without a signature
        return False
    names = [p.name for p in asked]
    single = all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in asked)
    return single and {*names} <= {"t", "q", "v", *known, *signals} and not {"t", "q", "v"} <= {*names}


def given_all(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A ready function that says, where one of the user's calls it, what it is to be given.

    >>> given_all(lambda t, q, v, gravity: gravity)(0.0, 0.0, 0.0)
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: <lambda> was called without gravity; expected gravity=gravity by name, from a function \
that asks for it: (t, q, v, gravity)
    """
    known = inspect.signature(fn).parameters.values()
    asked = [p.name for p in known if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]

    @functools.wraps(fn)
    def called(*args: Any, **named: Any) -> Any:
        if missing := [n for n in asked[len(args):] if n not in named]:
            by_name, own = ", ".join(f"{n}={n}" for n in missing), ", ".join(asked)
            raise SimulationError(f"{fn.__name__} was called without {', '.join(missing)}; expected {by_name} by name, from a function "
                                  f"that asks for {'it' if len(missing) == 1 else 'them'}: ({own})")  # fmt: skip
        return fn(*args, **named)

    return called


def apart(s: Context) -> Context:
    """Return a context for a branch: what is computed there is not found outside of it, where it would have to be computed always."""
    own = copy.copy(s)
    own.signals, own._jacobians = dict(s.signals), dict(s._jacobians)
    return own


class Reading(dict[str, Any]):
    """A signal of several parts, by their names: ``reading["q"]`` or ``reading.q``; it is no number itself."""

    def __init__(self, parts: Mapping[str, Any], name: str = "") -> None:
        super().__init__(parts)
        vars(self)["_called"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self:
            return self[name] if name in self else super().__getattribute__(name)
        raise NoPart(self, name)

    def __missing__(self, part: Any) -> Any:
        if isinstance(part, str):
            raise NoPart(self, part)
        raise self._no_array(f"[{part!r}]")

    def _no_array(self, rest: str = "") -> SimulationError:
        each = ", ".join(f"{self._called or 'signal'}.{part}{rest}" for part in self)
        return SimulationError(f"{in_words(self)} has parts, and is no array itself; expected one of {each}")

    def _operated(self, *others: Any) -> Any:
        raise self._no_array()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _operated
    __matmul__ = __rmatmul__ = __neg__ = __pos__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = _operated


class NoPart(SimulationError):
    """A signal has no part of a name."""

    def __init__(self, of: Any, name: str) -> None:
        own = f"some of {', '.join(of)}" if isinstance(of, Reading) else "it as it is: it has no parts"
        truth = " (the truth beside a sensor is recorded, and no function gets it: ask for q and v)" if name == "true" else ""
        like = nearest(name, of) if isinstance(of, Reading) else ""
        super().__init__(f"{in_words(of)} has no part '{name}'{like}; expected {own}{truth}")
        self.obj, self.name = of, name


def in_words(signal: Any) -> str:
    """Return a signal by its name, if it has one."""
    name = vars(signal)["_called"] if isinstance(signal, Reading) else ""
    return f"the signal '{name}'" if name else "a signal"


def reading(parts: Mapping[str, Any], name: str = "") -> Any:
    """Return what a reader gets of a signal of these parts: of one without a name the value itself."""
    return parts[""] if "" in parts else Reading(parts, name)


def shown(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a signal that others read: its truth is recorded alone.

    >>> shown({"read": 1.0, "true": 0.9})
    {'read': 1.0}
    """
    return {n: x for n, x in parts.items() if n.partition(".")[0] != "true"}


def indexed(error: Exception, given: Mapping[str, Any]) -> str | None:
    """Return which of the numbers that a function is ``given`` by name its line has an index of, which raised an error; None if none has.

    >>> indexed(TypeError("'float' object is not callable"), {"height": 1.0})
    """
    if not re.search("not subscriptable|invalid index to scalar|too many indices", str(error)):
        return None
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return next((n for n, x in given.items() if not isinstance(x, Reading) and np.ndim(x) == 0 and re.search(rf"\b{n}\s*\[", line)), None)


def with_signals(fn: Callable[..., Any], by_name: bool, whose: str) -> Callable[..., Any]:
    """A function of t, q, v that gets the parts of signals as "name.part", and is called ``by_name``, or with t, q, v first; what it reads
    and there is not is said of ``whose`` law it is."""
    known = inspect.signature(fn).parameters

    @functools.wraps(fn)
    def called(t: Any, q: Any, v: Any, **named: Any) -> Any:
        signals: dict[str, dict[str, Any]] = {}
        for n in [n for n in named if "." in n]:
            name, _, part = n.partition(".")
            signals.setdefault(name, {})[part] = named.pop(n)
        given = named | {n: reading(parts, n) for n, parts in signals.items()}
        own = {"t": t, "q": q, "v": v}
        try:
            return fn(**{n: x for n, x in own.items() if n in known}, **given) if by_name else fn(t, q, v, **given)
        except (AttributeError, NoEntry, NoPart) as error:
            parts = {f"{n}.{part}": x for n, own in signals.items() for part, x in own.items() if part}
            asked = next((n for n, x in ({n: given[n] for n in signals} | parts).items() if x is error.obj), None)
            if asked is None:
                raise
            raise SimulationError(f"{whose} reads '{asked}.{error.name}': {NoPart(error.obj, str(error.name))}") from error
        except (TypeError, IndexError) as error:
            if (asked := indexed(error, given)) is None:
                raise
            raise SimulationError(f"{whose} reads '{asked}[…]': the signal '{asked}' is one number; expected it as it is, without an "
                                  "index") from error  # fmt: skip

    called.__signature__ = inspect.signature(fn)  # type: ignore[attr-defined]
    return called
