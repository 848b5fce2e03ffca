"""Opening a window on robots."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.model import Model
from engine.simulation import Live, Simulator
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.window.window import Viewer


def view(source: Any, q0: Any = None, v0: Any = None, **options: Any) -> None:
    """Open a window on robots, and return when it is closed.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are drawn together), a list of them, or a :class:`Simulator`, which runs in
        real time from q0 (nq), v0 (nv), neutral and at rest by default; H in the window shows the keys
    options : those of :class:`Viewer`: size, view, environment, geometry, follow, shown, keys, title

    Raises
    ------
    ViewerError : there is no display or no OpenGL, nothing to show, or q0 or v0 is given of what has its own

    >>> import engine
    >>> engine.view(engine.load(engine.example("seven_joint_arm")))                # doctest: +SKIP
    """
    source, begins = begun(source, q0, v0)
    viewer = Viewer(source, **options)
    if begins is not None:                                                     # when there is something to see
        viewer.frame()
        begins.resume()
    viewer.run()


def begun(source: Any, q0: Any, v0: Any) -> tuple[Any, Live | None]:
    """Return what a scene takes, of a simulator a simulation that stands at its beginning, and that simulation, if it is one.

    Raises
    ------
    ViewerError : q0 or v0 is given of what has its own, or has none
    """
    if isinstance(source, Simulator):
        model = source.model
        live = Live(source, model.initial() if q0 is None else q0, np.zeros(model.nv) if v0 is None else v0, paused=True)
        return live, live
    if v0 is not None:
        raise ViewerError(f"v0 is where a Simulator begins; expected none with a {type(source).__name__}")
    if q0 is not None and not isinstance(source, Model):
        raise ViewerError(f"q0 is where a Simulator begins or a model rests; expected none with a {type(source).__name__}")
    return source if q0 is None else Actor(source, q=q0), None
