"""Errors of the model: a mechanism that cannot be, and a state that is not one of its own."""

from __future__ import annotations

from engine.checks import EngineError


class ModelError(EngineError):
    """A link, a joint or the tree they form is not what a mechanism can be; the text says which and why.

    >>> import engine
    >>> engine.load(engine.example("seven_joint_arm")).link("hnad")
    Traceback (most recent call last):
    ...
    engine.model.errors.ModelError: no link 'hnad' in 'seven_joint_arm'
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
