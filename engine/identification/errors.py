"""Errors of identification: data that are no motion, and motions that do not determine a parameter."""

from engine.checks import EngineError, EngineWarning


class IdentificationError(EngineError):
    """A motion cannot be read, or does not tell what is asked of it; the text says why, and what was expected.

    >>> import engine
    >>> engine.identify(engine.load(engine.example("seven_joint_arm")), [], "damping")
    Traceback (most recent call last):
    ...
    engine.identification.errors.IdentificationError: there is no motion; expected at least one
    """


class IdentificationWarning(EngineWarning):
    """Parameters were found, but some of them hardly, or not as bodies can have them.

    >>> import engine, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", engine.IdentificationWarning)       # only what was found well is taken
    """
