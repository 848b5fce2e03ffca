"""Scenes as files: pictures and films, glTF, pages for browsers, and what a notebook shows."""

from engine.viewer.files.export import export
from engine.viewer.files.film import write
from engine.viewer.files.images import images
from engine.viewer.files.notebook import model_html, trajectory_html
from engine.viewer.files.picture import film_times, render
from engine.viewer.files.plot import plot

__all__ = ["export", "film_times", "images", "model_html", "plot", "render", "trajectory_html", "write"]
