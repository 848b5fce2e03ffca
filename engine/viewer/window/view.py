"""Opening a window on robots."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.simulation import Live, Simulator, Trajectory
from engine.viewer.scene.actor import Actor
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
    ViewerError : there is no display or no OpenGL, or nothing to show
    """
    source, begins = begun(source, q0, v0)
    viewer = Viewer(source, **options)
    if begins is not None:                                                     # when there is something to see
        viewer.frame()
        begins.resume()
    viewer.run()


def begun(source: Any, q0: Any, v0: Any) -> tuple[Any, Live | None]:
    """Return what a scene takes, of a simulator a simulation that stands at its beginning, and that simulation, if it is one."""
    if isinstance(source, Simulator):
        model = source.model
        live = Live(source, model.neutral() if q0 is None else q0, np.zeros(model.nv) if v0 is None else v0, paused=True)
        return live, live
    return Actor(source, q=q0) if q0 is not None and not isinstance(source, (Trajectory, Live)) else source, None
