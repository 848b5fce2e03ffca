"""Errors of the model: a mechanism that cannot be, and a state that is not one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.checks import EngineError, listed, nearest, shown

#: names that an error lists, at most
MOST_NAMES = 12


class ModelError(EngineError):
    """A link, a joint or the tree they form is not what a mechanism can be; the text says which and why.

    >>> import engine
    >>> engine.load(engine.example("seven_joint_arm")).link("flagne")
    Traceback (most recent call last):
    ...
    engine.model.errors.ModelError: no link 'flagne' in 'seven_joint_arm' (did you mean 'flange'?)
    """


class StateError(EngineError):
    """A configuration, velocity or force of the wrong shape or value; the text says which entry of what.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> engine.Simulator(arm).run([0.0, 0.0], [0.0] * 7, 1.0)
    Traceback (most recent call last):
    ...
    engine.model.errors.StateError: q has shape (2,); expected (..., 7) for 'seven_joint_arm'
    """


def unknown(kind: str, name: Any, model: str, names: Iterable[str]) -> ModelError:
    """Return the error of a name that no link or joint of a model has.

    >>> print(unknown("joint", "sholder", "arm", ["shoulder", "elbow"]))
    no joint 'sholder' in 'arm' (did you mean 'shoulder'?)
    >>> print(unknown("link", "x", "arm", ["upper", "fore"]))
    no link 'x' in 'arm'; expected one of upper, fore
    """
    said, names = name if isinstance(name, str) else shown(name), list(names)
    few = [*names[:MOST_NAMES], *["…"] * (len(names) > MOST_NAMES)]
    expected = nearest(str(name), names) or f"; {listed('expected one of', few, 'there are none')}"
    return ModelError(f"no {kind} '{said}' in '{model}'{expected}")
