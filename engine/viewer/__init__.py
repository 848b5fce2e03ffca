"""Pictures, films and a window: what a model, a trajectory or a simulation looks like."""

from engine.calls import check_calls
from engine.viewer.files import export, images, render
from engine.viewer.scene import Actor, Camera, Follow, Onboard, Played, Running, Scene, Shot, Shown, Sky, Still, ViewerError
from engine.viewer.window import Playback, Viewer, view

__all__ = [
    "Actor", "Camera", "Follow", "Onboard", "Playback", "Played", "Running", "Scene", "Shot", "Shown", "Sky", "Still", "Viewer",
    "ViewerError", "export", "images", "render", "view",
]  # fmt: skip

check_calls(__name__)
