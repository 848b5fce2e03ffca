"""The viewer's error."""

from engine.checks import EngineError, EngineWarning


class ViewerWarning(EngineWarning):
    """Warning of the viewer: what is drawn is not all of the truth."""


class ViewerError(EngineError):
    """Something cannot be shown: the text says what is wrong, where, and what was expected.

    >>> import engine
    >>> engine.render("arm")
    Traceback (most recent call last):
    ...
    engine.viewer.scene.errors.ViewerError: cannot show a str; expected a model, a trajectory, a live simulation, or a list of them
    """
