"""The viewer's error."""

from engine.checks import EngineError, EngineWarning


class ViewerWarning(EngineWarning):
    """What is drawn is not all of the truth."""


class ViewerError(EngineError):
    """Something cannot be shown: the text says what is wrong, where, and what was expected."""
