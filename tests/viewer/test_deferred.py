"""Surfaces lit once a pixel against surfaces lit as they are drawn: the same pictures, to the digits that the buffers hold."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.viewer.draw import Renderer, open_window
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.scene import Scene
from tests.viewer.test_renderer import BLUE, RED, WHITE, robot

SIZE = (480, 320)


@pytest.fixture(scope="module")
def both():
    """both(drawing, camera) -> pictures (h, w, 3), one lit once a pixel and one as it is drawn, in 255ths."""
    window = open_window(visible=False, width=16, height=16)
    renderer = Renderer(0)
    deferred = renderer.deferred

    def drawn(drawing, camera):
        pictures = []
        for renderer.deferred in (deferred, None):
            renderer.draw(drawing, camera, SIZE)
            pictures.append(renderer.pixels().astype(int))
        return pictures

    assert deferred is not None
    yield drawn
    renderer.deferred = deferred
    renderer.delete()
    window.close()


def shapes():
    return robot(("box", (0.4, 0.5, 0.6), RED), ("sphere", (0.3,), WHITE), ("cylinder", (0.2, 0.7), BLUE))


@pytest.mark.parametrize("environment", ["ground", "plain", "space"])
@pytest.mark.parametrize("metallic, roughness", [(0.0, 0.6), (0.3, 0.4), (1.0, 0.8)])
def test_pictures_are_those_of_surfaces_lit_as_they_are_drawn(both, environment, metallic, roughness):
    """Colours and looks have 8 bits, by which light that is their multiple is another by a 255th or two; but for single pixels
    on outlines, where surfaces are seen edge-on."""
    scene = Scene(shapes(), environment=environment)
    drawing, camera = scene.drawing(0.0), scene.camera(SIZE)
    drawing.surfaces = [replace(s, metallic=metallic, roughness=roughness) for s in drawing.surfaces]
    once, forward = both(drawing, camera)
    off = np.abs(once - forward).max(axis=2)
    assert np.ptp(forward) > 100 and (off > 2).mean() < 1e-3, (off > 2).mean()


def test_what_is_drawn_after_it_is_hidden_by_it(both):
    """What is see-through, lines, and the ground find its depths."""
    scene = Scene(shapes(), environment="ground")
    drawing, camera = scene.drawing(0.0), scene.camera(SIZE)
    drawing.colors[0, 3] = 0.4
    ends = np.array([[[-2.0, 0.0, 0.0], [3.0, 0.0, 0.0]], [[1.0, -2.0, 0.1], [1.0, 2.0, 0.1]]])
    drawing.lines = (ends, np.tile([0.0, 1.0, 0.0, 1.0], (2, 1)), np.full(2, 3.0))
    once, forward = both(drawing, camera)
    off = np.abs(once - forward).max(axis=2)
    assert (once[:, :, 1] - once[:, :, 0] > 100).any() and (off > 2).mean() < 1e-3, (off > 2).mean()


def test_a_camera_within_everything_lights_all_of_the_picture(both):
    scene = Scene(engine.load_urdf(engine.example("free_flyer"), floating_base=True), environment="plain")
    drawing = scene.drawing(0.0)
    camera = Camera(distance=0.5, radius=2.0)
    once, forward = both(drawing, camera)
    assert (np.abs(once - forward).max(axis=2) > 2).mean() < 1e-3
