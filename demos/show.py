"""What the demos share: the options --view and --video, shapes for rigid bodies, and robots of example-robot-data."""

from __future__ import annotations

import argparse
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.spatial import se3


def add_options(parser: argparse.ArgumentParser) -> None:
    """--view and --video."""
    parser.add_argument("--view", action="store_true", help="show in a window what was simulated")
    parser.add_argument("--video", type=Path, metavar="PATH", help="film what was simulated (.mp4, .gif), or draw its end (.png)")


def show(options: argparse.Namespace, source: Any, speed: float = 1.0, camera: engine.viewer.Camera | None = None, shots: Any = (),
         story: Any = (), radius: float | None = None, bars: Any = (), signals: Any = (), **look: Any) -> None:  # fmt: skip
    """Film what was simulated, with the time, by the camera or the shots if there are some, and open a window on it, as the options say.
    A picture of its end has neither time nor bars nor curves.

    A story is what a film says meanwhile: (share of the motion, caption), one after another; of a link that is followed a
    sphere of ``radius``, m, fills the picture. ``look`` is what engine.render and
    engine.view both take.
    """
    try:
        if options.video:
            options.video.parent.mkdir(parents=True, exist_ok=True)
            moving, film = options.video.suffix.lower() in (".mp4", ".gif"), dict(look)
            if moving and (shots or story):
                film = {k: x for k, x in look.items() if k not in ("view", "follow")}
                film["shots"], camera = shots or told(source, story, camera, look, radius), None
            film.setdefault("samples", 4)                                      # what is thin does not flicker
            if moving:
                film |= {"speed": speed, "bars": bars, "signals": signals, "clock": True}
            engine.render(source, options.video, camera=camera, progress=sys.stdout.isatty(), **film)
            print(f"wrote {options.video}")
        if options.view:
            engine.view(source, **look)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


def told(source: Any, story: Any, camera: engine.viewer.Camera | None, look: dict[str, Any], radius: float | None) -> list[engine.Shot]:
    """Shots that say a story, all seen as a film without one is."""
    start, end = (source if isinstance(source, engine.Scene) else engine.Scene(source)).span
    view = camera or look.get("view", "overview")
    if "follow" in look:
        view = engine.Follow(look["follow"], look.get("view"), radius)
    return [engine.Shot(start + share * (end - start), view, caption, ease=0.0) for share, caption in story]


def body(motion: engine.BodyTrajectory, name: str, shapes: list[engine.Geometry]) -> engine.BodyTrajectory:
    """The motion of a rigid body under a name of its own, which looks like the shapes."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=motion.model.links[0].inertia, visuals=tuple(shapes))
    return replace(motion, model=builder.model(floating_base=True), tau=None, vdot=None)


def robot(path: str) -> Path:
    """The file of a robot of example-robot-data, by its path there."""
    file = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / path
    if not file.exists():
        sys.exit(f"error: '{path}' is a file of example-robot-data, which is not installed; expected it: pip install example-robot-data")
    return file


def shape(kind: str, size: Any, color: tuple[float, ...], at: Any = (0.0, 0.0, 0.0), along: str = "z") -> engine.Geometry:
    """A box (x, y, z), a sphere (radius), or a cylinder or capsule (radius, length) along x, y or z; at a point, in a colour."""
    R = np.roll(np.eye(3), "zxy".index(along), axis=0)                         # takes z to that axis
    return engine.Geometry(kind, tuple(size), se3.pose(R, np.array(at)), material=engine.Material(str(color), (*color, 1.0)))
