"""Drawing with OpenGL: a context, what lies on the graphics card, and the renderer that makes a picture of a drawing."""

from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.renderer import Renderer

__all__ = ["Canvas", "Renderer", "open_window"]
