"""The viewer's error."""

from engine.checks import EngineError


class ViewerError(EngineError):
    """Something cannot be shown: the text says what is wrong, where, and what was expected."""
