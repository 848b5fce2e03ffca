"""Errors of the model: a mechanism that cannot be, and a state that is not one of its own."""

from __future__ import annotations

from engine.checks import EngineError


class ModelError(EngineError):
    """A link, a joint or the tree they form is not what a mechanism can be; the text says which and why."""


class StateError(EngineError):
    """A configuration, velocity or force of the wrong shape or value; the text says which entry of what."""
