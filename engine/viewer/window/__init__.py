"""The window: what a person sees and does, and its clock."""

from engine.viewer.window.playback import Playback
from engine.viewer.window.view import view
from engine.viewer.window.window import Viewer

__all__ = ["Playback", "Viewer", "view"]
