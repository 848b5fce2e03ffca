"""The error of what is no motion, and of what a motion does not tell."""

from engine.checks import EngineError, EngineWarning


class IdentificationError(EngineError):
    """A motion cannot be read, or does not tell what is asked of it; the text says why, and what was expected."""


class IdentificationWarning(EngineWarning):
    """Parameters were found, but some of them hardly, or not as bodies can have them."""
