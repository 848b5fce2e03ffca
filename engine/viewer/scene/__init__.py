"""The scene: robots and where they are, their surfaces, marks that explain them, the light around them, and a camera."""

from engine.docstrings import add_examples
from engine.viewer.scene.actor import Actor, Part
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import mark
from engine.viewer.scene.planets import Sky
from engine.viewer.scene.scene import ENVIRONMENTS, Scene
from engine.viewer.scene.scene_examples import OF_CAMERAS, OF_SCENES
from engine.viewer.scene.shots import Follow, Onboard, Shot
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.sources import Played, Running, Source, Still
from engine.viewer.scene.surface import Surface, surfaces

__all__ = [
    "Actor", "Camera", "Drawing", "ENVIRONMENTS", "Follow", "Onboard", "Part", "Played", "Running", "Scene", "Shot", "Shown", "Sky",
    "Source", "Still", "Surface", "VIEWS", "ViewerError", "mark", "surfaces",
]  # fmt: skip

add_examples(Camera, OF_CAMERAS)
add_examples(Scene, OF_SCENES)
