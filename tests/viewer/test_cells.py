"""Only the cells of a picture that robots or their shadows touch are drawn anew, and nobody sees where they end."""

import numpy as np
import pytest

import engine
from engine.viewer.draw import ground, renderer
from engine.viewer.draw.cells import on_screen
from engine.viewer.draw.context import open_window
from engine.viewer.scene import Actor, Scene
from engine.viewer.scene.camera import Camera

SIZE = (320, 240)


@pytest.fixture(scope="module")
def window():
    window = open_window(visible=False, width=16, height=16)
    yield window
    window.close()


def picture(model, q, samples, times=1, **where):
    scene = Scene(Actor(model, q=q), "ground")
    camera = Camera(**where)
    camera.fit(scene.points, SIZE[0] / SIZE[1])
    drawn = renderer.Renderer(samples)
    for _ in range(times):
        drawn.draw(scene.drawing(0.0), camera, SIZE)
    pixels = drawn.pixels().astype(int)
    drawn.delete()
    return pixels


@pytest.mark.parametrize("times", [1, 3])                                      # the third is drawn over the ground that was kept
@pytest.mark.parametrize("height", [0.3, 2.0, -0.05])                          # above the ground, high above it, partly below
def test_shadows_end_within_the_cells_that_are_drawn(window, monkeypatch, height, times):
    window.switch_to()
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q = model.neutral()
    q[6] = height
    monkeypatch.setattr(ground, "CELLS", 200)                                  # small ones, next to the shadows' ends
    few = picture(model, q, 0, times)
    monkeypatch.setattr(renderer, "shaded", lambda *a: (*ground.shaded(*a)[:2], np.ones((1, 1), bool)))
    assert np.abs(picture(model, q, 0, times) - few).max() <= 2                # levels: the same lines by other triangles


@pytest.mark.parametrize("seed", range(8))
def test_what_is_seen_of_boxes_lies_in_their_cells(seed):
    rng = np.random.default_rng(seed)
    centres, boxes = rng.uniform(-1, 1, (20, 3)), 0.1 * rng.standard_normal((20, 3, 3))
    camera = Camera(distance=rng.uniform(3.0, 6.0), azimuth=rng.uniform(-3, 3), elevation=rng.uniform(-1.5, 1.5))
    cells = on_screen(camera, SIZE, centres, boxes, 0.0)
    points = (centres[:, None] + rng.uniform(-1, 1, (20, 200, 3)) @ np.swapaxes(boxes, 1, 2)).reshape(-1, 3)
    at = camera.project(points, SIZE)
    at = at[((at > 0.0) & (at < SIZE)).all(axis=1)]
    assert len(at) and not cells.all()
    x, y = (np.array([at[:, 0], SIZE[1] - at[:, 1]]) / np.array(SIZE)[:, None] * np.array(cells.shape)[:, None]).astype(int)
    assert cells[x, y].all()


def test_a_camera_within_a_box_sees_it_everywhere():
    camera = Camera(distance=1.0)
    assert on_screen(camera, SIZE, np.zeros((1, 3)), 2.0 * np.eye(3)[None], 2.0).all()
    assert not on_screen(camera, SIZE, 10.0 * camera.eye[None], np.eye(3)[None], 2.0).any()                 # behind it
