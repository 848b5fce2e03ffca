"""Picklable closures: functions that functions return, such as controllers, pickled by the arguments that made them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from engine.calls import call_checked
from engine.checks import require_importable

Given = ParamSpec("Given")


class PicklableClosure:
    """A function that another function has made: it is called like it, and pickled by what it was made of."""

    def __init__(self, fn: Callable[..., Any], again: functools.partial[PicklableClosure]) -> None:
        self.fn, self.again = fn, again
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.fn(*args, **named)

    def __reduce__(self) -> Any:
        for what, x in (*enumerate(self.again.args, 1), *self.again.keywords.items()):
            which = f"argument {what}" if isinstance(what, int) else f"the {what}"
            require_importable(f"{which} of {self.again.func.__name__}", x)
        return self.again, ()


def picklable(make: Callable[Given, Callable[..., Any]]) -> Callable[Given, Callable[..., Any]]:
    """Let the functions that ``make`` returns be pickled: they are made again of the same arguments.

    >>> import pickle
    >>> import numpy as np
    >>> from engine.components.references import minimum_jerk_pose
    >>> pickle.loads(pickle.dumps(minimum_jerk_pose(np.eye(4), np.eye(4), 2.0)))(1.0)[1]
    array([0., 0., 0., 0., 0., 0.])
    """

    @call_checked
    @functools.wraps(make)
    def making(*args: Given.args, **named: Given.kwargs) -> PicklableClosure:
        return PicklableClosure(make(*args, **named), functools.partial(making, *args, **named))

    return making
