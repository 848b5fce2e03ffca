"""The window: what a person sees and does, its clock, its display, and readings of a robot."""

from engine.viewer.window.playback import Playback
from engine.viewer.window.readings import Readings
from engine.viewer.window.view import view
from engine.viewer.window.window import Viewer

__all__ = ["Playback", "Readings", "Viewer", "view"]
