"""Scenes as files for others: glTF for programs of 3D graphics, a page for browsers, a recording for rerun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.checks import shown as shown_as
from engine.checks import writable, writing
from engine.simulation import Live, Simulator
from engine.viewer.files.glb import glb
from engine.viewer.files.html import page
from engine.viewer.files.rrd import rerun, rrd
from engine.viewer.files.simulated import simulated
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene, scene_of
from engine.viewer.scene.shown import Shown

#: samples of a motion, at most, where nobody says how many
SAMPLES = 9000
#: how a scene, at samples per second, becomes the bytes of a file
PAGE = ".html"
WRITERS: dict[str, Callable[[Scene, float], bytes]] = {".glb": glb, PAGE: lambda scene, fps: page(scene, fps).encode(), ".rrd": rrd}


def export(source: Any, path: str | Path, fps: float | None = None, environment: str | None = None, geometry: str = "visual",
           q0: Any = None, v0: Any = None, shown: Shown | None = None, signals: Sequence[str | Sequence[str]] = (),
           plots: str = "right") -> Path:  # fmt: skip
    """Write what robots look like, and how they move, to a file for other programs; return its path.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are shown together), an actor, a list of them, or a scene; or, for a page, a
        :class:`engine.Simulator`: the page simulates by itself, and links can be pulled
    path : "name.glb", binary glTF 2.0 for Blender, game engines and viewers on the web, with the motion as an animation that starts at
        zero; "name.html", a page that plays it in any browser, without a server or a network; or "name.rrd", a recording for the viewer
        of rerun, with what the trajectory has recorded as plots (it needs rerun-sdk)
    fps : samples of the motion per second, by default 30, of motions of many minutes fewer; in between,
        positions and rotations are interpolated (rerun holds the last)
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`
    shown : of a page that plays: what is drawn besides the robots, such as ``Shown(eyes=(camera,), momentum=True)``; it is sampled as the
        motion is, where it takes no more than 24 MB; of one that simulates: ``Shown(momentum=True)`` alone
    signals, plots : of a page that plays: names of what is plotted, and where, as of :func:`engine.render`
    q0, v0 : of a simulator, what the page begins with; by default the configuration in which its file has it, at rest

    Raises
    ------
    ViewerError : the suffix is another, the path cannot be written, there is nothing to see, the trajectory is not finite, there is no
        such signal, or rerun is not installed
    ExportError : a simulator that is no single program (events, plain Python)
    SimulationError, ContactError : it cannot begin at q0, v0

    >>> import engine, tempfile
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> engine.export(arm, tempfile.mkdtemp() + "/arm.html").stat().st_size > 10_000
    True
    """
    path = writable(path, WRITERS, ViewerError)
    suffix = path.suffix.lower()
    for name, given, lacks in (("shown", shown is not None, "marks"), ("signals", len(signals) > 0, "plots of one's choice"),
                               ("plots", plots != "right", "plots of one's choice")):  # fmt: skip
        if given and (suffix != PAGE or (isinstance(source, Simulator) and name != "shown")):
            what = "a page that simulates" if suffix == PAGE else suffix
            raise ViewerError(f"{name} is given for {what}, which has no {lacks}; expected it left out, or a trajectory's .html")
    if suffix == ".rrd":
        rerun()                                                                # if it is not there, nothing need be drawn
    if isinstance(source, Live) and suffix == PAGE:
        raise ViewerError(f"the page of a Live of '{source.model.name}' would stand still; expected engine.export(simulator, "
                          f"'{path.name}', q0=live.state.q, v0=live.state.v), which simulates, or live.history, which plays")  # fmt: skip
    if isinstance(source, Simulator) and suffix == PAGE:
        if fps is not None:
            raise ViewerError(f"fps is {shown_as(fps)} for a page that simulates, which draws as often as it can; expected it left out")
        data = simulated(source, environment, geometry, q0, v0, shown).encode()
    elif q0 is not None or v0 is not None:
        raise ViewerError("q0 and v0 are given, and this is no page of a simulator; expected them left out, or engine.export(simulator, "
                          "'live.html', q0=…)")  # fmt: skip
    else:
        scene = scene_of(source, environment, geometry)
        usual = min(30.0, SAMPLES / max(scene.span[1] - scene.span[0], 1e-9))
        rate = usual if fps is None else fps
        data = page(scene, rate, shown=shown, signals=signals, plots=plots).encode() if suffix == PAGE else WRITERS[suffix](scene, rate)
    with writing(path, ViewerError):
        path.write_bytes(data)
    return path
