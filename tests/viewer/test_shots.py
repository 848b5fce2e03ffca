"""Camera scripts: where shots look and when, how one becomes the next, captions, slow motion, insets, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.viewer.draw.canvas import Canvas
from engine.viewer.files.picture import Told, render, staged, text_scale
from engine.viewer.scene import Camera, Follow, Onboard, Scene, Shot
from engine.viewer.scene.shots import Script, between
from tests.viewer.mechanism import mechanism, motion

SIZE = (160, 120)


@pytest.fixture(scope="module")
def scene():
    return Scene(motion(mechanism(), 1.0, 2.0), "plain")


def test_frames_follow_the_shots_speeds(scene):
    script = Script(scene, [(1.0, "front"), Shot(1.5, "top", speed=0.25)], SIZE, 20.0, 1.0)
    assert script.times[:10] == pytest.approx(1.0 + np.arange(10) / 20) and script.times[10] == pytest.approx(1.5)
    assert np.diff(script.times[10:-1]) == pytest.approx(0.0125) and script.times[-1] <= 2.0
    assert script.which.count(0) == 10 and len(script.times) == 10 + 41


def test_a_camera_moves_from_shot_to_shot_without_a_jump(scene):
    script = Script(scene, [(1.0, "front"), Shot(1.3, Follow("tip", "left"), ease=0.5)], SIZE, 60.0, 1.0)
    eyes = np.array([script.camera(k).eye for k in range(len(script.times))])
    steps = np.linalg.norm(np.diff(eyes, axis=0), axis=1)
    assert steps.max() < 0.12 * steps.sum() and np.linalg.norm(eyes[-1] - eyes[0]) > 0.3
    last = script.camera(len(script.times) - 1)
    assert last.project(scene.place("tip", script.times[-1]), SIZE)[0] == pytest.approx([80.0, 60.0], abs=1e-6)
    cut = Script(scene, [(1.0, "front"), Shot(1.3, "top", ease=0.0)], SIZE, 60.0, 1.0)
    assert cut.camera(cut.which.index(1)).elevation == pytest.approx(np.pi / 2)


def test_between_two_cameras_are_both_and_the_shorter_way():
    a, b = Camera(target=np.zeros(3), distance=2.0, azimuth=3.0), Camera(target=np.ones(3), distance=8.0, azimuth=-3.0, elevation=1.0)
    assert between(a, b, 0.0).eye == pytest.approx(a.eye) and between(a, b, 1.0).eye == pytest.approx(b.eye)
    assert abs(between(a, b, 0.5).azimuth) > 3.0


def test_a_camera_on_a_link_turns_with_it(scene):
    script = Script(scene, [(1.0, Onboard("tip", eye=(0.0, 0.0, 0.1), toward=(1.0, 0.0, 0.0)))], SIZE, 20.0, 1.0)
    for frame in (0, 12):
        camera = script.camera(frame)
        actor = scene.carrier("tip")
        T = actor.poses(script.times[frame])[0, actor.model.link_index("tip")]
        assert camera.eye == pytest.approx(T[:3, :3] @ [0.0, 0.0, 0.1] + T[:3, 3], abs=1e-12)
        assert -camera.axes[:, 2] == pytest.approx(T[:3, 0], abs=1e-12) and camera.axes[:, 1] == pytest.approx(T[:3, 2], abs=1e-12)


def test_an_inset_lies_in_the_upper_right_corner(scene):
    script = Script(scene, [Shot(1.0, "front", inset="top")], SIZE, 20.0, 1.0)
    cameras, cells = staged(script, 0, SIZE)
    (x, y, w, h) = cells[1]
    assert len(cameras) == 2 and cells[0] == (0, 0, *SIZE) and x + w < SIZE[0] and x > 0.6 * SIZE[0] and y + h < 0.5 * SIZE[1]


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_what_is_seen_whole_is_clear_of_its_caption(size):
    builder = engine.Builder("tower")
    builder.add_link("tower", engine.spatial.inertia.box(1.0, (1.0, 1.0, 4.0)), [engine.Geometry("box", (1.0, 1.0, 4.0))])
    model = builder.model(floating_base=True)
    scene = Scene(engine.Simulator(model, gravity=(0, 0, 0)).run(model.neutral(), np.zeros(6), 1.0), "plain")
    told, canvas = Told(scene, "A caption of one line", False, [], size), Canvas(scale := text_scale(size[1]))
    told.draw(canvas, (size[0] / scale, size[1] / scale), 1.0, [])
    top = scale * told.hud.boxes["toast"][1]
    for view in ("overview", "front", (-0.9, 0.3)):
        said, bare = (Script(scene, [(0.0, view, text)], size, 5.0, 1.0).camera(0).project(scene.points, size)[:, 1] for text in ("x", ""))
        assert said.max() < top < bare.max() and said.min() > 0.0


def test_captions_of_a_film_that_goes_along_stand_below_its_picture(scene, tmp_path):
    """Nothing of what is filmed lies under one, whatever shot it is of; without captions the picture is whole."""
    from PIL import Image

    shots, films = [(1.0, "front", "the whole"), Shot(1.5, Follow("tip", radius=0.05), "a part of it", ease=0.0)], []
    for hidden in ((), tuple(link.name for link in scene.actors[0].model.links)):
        (folder := tmp_path / str(len(hidden))).mkdir()
        render(scene, folder / "%02d.png", size=(320, 180), fps=4.0, samples=0, shots=shots, shown=engine.Shown(hidden=hidden))
        films.append(np.stack([np.asarray(Image.open(f)).astype(int) for f in sorted(folder.glob("*.png"))]))
    lowest = np.flatnonzero(np.abs(films[0] - films[1]).max(axis=(0, 2, 3)) > 8).max()
    strip = np.flatnonzero(films[1][:, :, :20].max(axis=(0, 2, 3)) < 12)
    assert strip[-1] == 179 and lowest == strip[0] - 1 > 0.7 * 180
    assert not Script(scene, [(1.0, Follow("tip"))], SIZE, 5.0, 1.0).below


def test_a_film_has_shots_and_captions(scene, tmp_path):
    path = tmp_path / "%02d.png"
    shots = [(1.0, "front", "one"), Shot(1.5, "back", "two", speed=0.5, ease=0.0, inset="top")]
    render(scene, path, size=SIZE, fps=5.0, samples=0, shots=shots)
    files = sorted(tmp_path.glob("*.png"))
    assert len(files) == 3 + 5
    from PIL import Image

    first, last = (np.asarray(Image.open(f)).astype(int) for f in (files[0], files[-1]))
    assert np.abs(first - last)[:36, 110:].mean() > 2.0                        # the inset


@pytest.mark.parametrize(("shots", "said"), [
    ([(1.5, "front"), (1.2, "top")], "each later than the one before"),
    ([(1.0, "front"), (9.0, "top")], "expected times within"),
    ([(1.0, "nowhere")], "a shot's view is 'nowhere'"),
    ([1.0], "expected \\(t, view\\)"),
    (5, "shots is 5; expected a list"),
    ("front", "shots is 'front'; expected a list"),
    ([Shot(1.0, "front", 3)], "the caption of a shot is 3; expected a text"),
    ([Shot(1.0, "front", speed=0.0)], "speed of a shot"),
    ([Shot(1.0, Onboard("tip", toward=(0, 0, 1)))], "two directions"),
])  # fmt: skip
def test_what_is_no_script_is_refused(scene, shots, said):
    with pytest.raises(engine.ViewerError, match=said):
        Script(scene, shots, SIZE, 20.0, 1.0)


def test_shots_are_of_films_alone(scene, tmp_path):
    with pytest.raises(engine.ViewerError, match="a single picture"):
        render(scene, tmp_path / "a.png", shots=[(1.0, "front")])
    with pytest.raises(engine.ModelError, match="nobody"):
        render(scene, tmp_path / "a.gif", shots=[(1.0, Follow("nobody"))])
