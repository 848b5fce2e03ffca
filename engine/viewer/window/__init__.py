"""The window: what a person sees and does, and its clock."""

from engine.docstrings import add_examples
from engine.viewer.window.playback import Playback
from engine.viewer.window.view import view
from engine.viewer.window.viewer_examples import EXAMPLES
from engine.viewer.window.window import Viewer

__all__ = ["Playback", "Viewer", "view"]

add_examples(Viewer, EXAMPLES)
