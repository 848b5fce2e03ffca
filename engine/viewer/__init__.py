"""Pictures, films and a window: what a model, a trajectory or a simulation looks like."""

from engine.viewer.camera import Camera
from engine.viewer.export import export
from engine.viewer.marks import Shown
from engine.viewer.picture import render
from engine.viewer.playback import Playback
from engine.viewer.scene import Actor, Scene, ViewerError
from engine.viewer.window import Viewer, view

__all__ = ["Actor", "Camera", "Playback", "Scene", "Shown", "Viewer", "ViewerError", "export", "render", "view"]
