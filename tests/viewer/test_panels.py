"""Panels of a picture lie beside what moves, not over it: bars, the time and plots, in one view and in several."""

import numpy as np
import pytest

import engine
from engine.viewer.display.hud import Hud
from engine.viewer.draw.panes import places, show_all
from engine.viewer.files import picture
from engine.viewer.scene import Scene

BACKGROUND = 246


@pytest.fixture(scope="module")
def motion():
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q, v = model.neutral(), 0.1 * np.ones(model.nv)
    return engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0)).run(q, v, 1.0, record_every=10)


def bodies_under_panels(monkeypatch, scene, size, **look):
    """Pixels of bodies that panels lie over, by the panel's name."""
    boxes = {}
    drawn = Hud.draw

    def laid_out(self, canvas, size, facts):
        drawn(self, type(canvas)(canvas.scale), size, facts)                   # on another canvas: nothing of it is seen
        boxes.update({k: np.array(box) * canvas.scale for k, box in self.boxes.items()})

    monkeypatch.setattr(Hud, "draw", laid_out)
    seen = picture.render(scene, size=size, **look).astype(int)
    found = {}
    for name, (x, y, w, h) in boxes.items():
        part = seen[int(y) : int(y + h), int(x) : int(x + w)]
        found[name] = int((np.abs(part - BACKGROUND).max(axis=-1) > 3).sum())
    return found


@pytest.mark.parametrize("size, look", [
    ((400, 300), {"view": ["front", "left"], "bars": ["energy", "momentum"]}),
    ((800, 300), {"view": ["front", "left"], "bars": ["energy", "momentum"]}),
    ((400, 400), {"view": ["front", "left"], "bars": ["energy"], "clock": True}),
    ((640, 360), {"bars": ["energy", "momentum"], "clock": True, "view": "front"}),
    ((640, 360), {"signals": [("q.elbow_pitch", "v.elbow_pitch")], "clock": True, "view": "front"}),
])  # fmt: skip
def test_no_panel_lies_over_a_body(motion, monkeypatch, size, look):
    found = bodies_under_panels(monkeypatch, Scene(motion, "plain"), size, **look)
    assert found and not any(found.values()), found


def test_bodies_stay_in_the_picture_beside_panels(motion):
    scene = Scene(motion, "plain")
    camera = scene.camera((400, 300), "front")
    camera.keep_clear(scene.points.reshape(-1, 8, 3), (400, 300), [(0.0, 0.0, 160.0, 200.0), (300.0, 0.0, 100.0, 120.0)])
    at = camera.project(scene.points, (400, 300))
    assert (at >= 0.0).all() and (at <= (400.0, 300.0)).all()
    assert not ((at[:, 0] < 160.0) & (at[:, 1] < 200.0)).any() and not ((at[:, 0] > 300.0) & (at[:, 1] < 120.0)).any()


def test_four_views_show_everything_clear_of_the_timeline_and_the_side_panel(motion):
    scene, size = Scene(motion, "plain"), (1280, 800)
    panels = [(1056.0, 12.0, 212.0, 495.0), (12.0, 742.0, 1256.0, 46.0), (12.0, 12.0, 212.0, 38.0)]
    cameras = [scene.camera((640, 400), view) for view in (None, "front", "left", "top")]
    bodies = scene.drawing(0.5).corners().reshape(-1, 8, 3)
    show_all(cameras, size, bodies, panels)
    for camera, (left, top, w, h) in zip(cameras, places(4, size), strict=True):
        at = camera.project(bodies.reshape(-1, 3), (w, h)).reshape(-1, 8, 2) + (left, top)
        low, high = at.min(axis=1), at.max(axis=1)
        assert (low >= (left, top)).all() and (high <= (left + w, top + h)).all()
        for x, y, wide, tall in panels:
            assert not ((low < (x + wide, y + tall)) & (high > (x, y))).all(axis=1).any()


def test_a_camera_that_sees_no_body_under_a_panel_stays(motion):
    scene = Scene(motion, "plain")
    camera, other = (scene.camera((400, 300), "front") for _ in range(2))
    camera.keep_clear(scene.points.reshape(-1, 8, 3), (400, 300), [(0.0, 0.0, 20.0, 20.0)])
    np.testing.assert_array_equal(camera.eye, other.eye)
