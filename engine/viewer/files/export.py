"""Scenes as files for others: glTF for programs of 3D graphics, and a page for browsers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine.checks import path_of, writing
from engine.simulation import Simulator
from engine.viewer.files.glb import glb
from engine.viewer.files.html import page
from engine.viewer.files.simulated import simulated
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import scene_of

SUFFIXES = (".glb", ".html")


def export(source: Any, path: str | Path, fps: float = 30.0, environment: str | None = None, geometry: str = "visual") -> Path:
    """Write what robots look like, and how they move, to a file for other programs; return its path.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are shown together), an actor, a list of them, or a scene; or, for a page, a
        :class:`engine.Simulator`: the page simulates by itself, from the neutral configuration at rest, and links can be pulled
    path : "name.glb", binary glTF 2.0 for Blender, game engines and viewers on the web, with the motion as an animation that starts at
        zero; or "name.html", a page that plays it in any browser, without a server or a network
    fps : samples of the motion per second; in between, positions and rotations are interpolated
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`

    Raises
    ------
    ViewerError : the suffix is another, the path cannot be written, there is nothing to see, or the trajectory is not finite
    ExportError : a simulator that is no single program (events, plain Python)
    """
    path = writable(path)
    is_page = path.suffix.lower() == ".html"
    if isinstance(source, Simulator) and is_page:
        data = simulated(source, environment, geometry).encode()
    else:
        scene = scene_of(source, environment, geometry)
        data = page(scene, fps).encode() if is_page else glb(scene, fps)
    with writing(path, ViewerError):
        path.write_bytes(data)
    return path


def writable(path: str | Path) -> Path:
    """Return the path, or raise where no such file can be written: asked before the work is done."""
    path = path_of(path, ViewerError)
    if path.suffix.lower() not in SUFFIXES:
        raise ViewerError(f"'{path}' ends in '{path.suffix}'; expected {' or '.join(SUFFIXES)}")
    if path.is_dir():
        raise ViewerError(f"'{path}' is a folder; expected the path of a file")
    if not path.parent.is_dir():
        raise ViewerError(f"'{path}': there is no folder '{path.parent}'; expected one that exists")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ViewerError(f"'{path}' cannot be written; expected a path with permission to write")
    return path
