"""Marks in pages: what eyes see, arrows, lines and names are where pictures have them."""

import numpy as np
import pytest

import engine
from engine import sensors as S
from engine.spatial import inertia, se3
from engine.viewer.files.export import export
from engine.viewer.files.html import page
from engine.viewer.files.picture import render
from engine.viewer.files.sampled_marks import BYTES, marks_of, packed
from engine.viewer.scene import Scene, Shown
from engine.viewer.scene.camera import Camera
from tests.viewer.mechanism import mechanism, motion

pytestmark = pytest.mark.usefixtures("no_faults")
SIZE = (480, 360)
CAMERA = S.DepthCamera("eye", 24, 18, 0.7, S.looking((0, 0, 0.1), toward=(1, 0, 0.05)), near=0.5, far=6.0)
FINDER = S.RangeFinder("eye", (0.2, 0, 0.3), direction=(1, 0, 0))


@pytest.fixture(scope="module")
def passing():
    """An eye passes by a grey ball."""
    b = engine.Builder("yard")
    b.add_link("yard", visuals=[engine.Geometry("sphere", (0.6,), se3.pose(np.eye(3), np.array([3.0, 0.3, 0.4])))])
    own = engine.Geometry("sphere", (0.1,), se3.pose(np.eye(3), np.array([-0.1, 0, 0.1])))
    b.add_link("eye", inertia=inertia.sphere(1.0, 0.1), visuals=[own])
    b.add_joint("slide", "prismatic", "yard", "eye", axis=(0, 1, 0))
    return engine.Simulator(b.model(floating_base=False), dt=0.01, gravity=(0, 0, 0)).run([-0.2], [0.4], 1.0, record_every=5)


def test_eyes_are_drawn_where_they_see(browser, passing, tmp_path):
    """Dots of a camera lie on the ball, its outline and a ray run from where the eye is; without eyes there are none."""
    looks = "&camera=215,25,7,1.6,0,0.3"
    camera = Camera(np.array([1.6, 0.0, 0.3]), 7.0, np.radians(215), np.radians(25))
    pictures = []
    for shown in (Shown(eyes=(CAMERA, FINDER)), None):
        browser.open(export(passing, tmp_path / "page.html", environment="plain", shown=shown), "#t=0.5" + looks)
        pictures.append(browser.picture().astype(int))
    changed = np.abs(pictures[0] - pictures[1]).max(axis=2) > 20
    eye = passing.at([0.5]).pose("eye")[0]
    T = eye @ CAMERA.placement
    depths = CAMERA.look(passing.model, passing.at([0.5]).q)[0]
    met = depths.ravel() < CAMERA.far
    ends = (CAMERA.points(depths).reshape(-1, 3)[met]) @ T[:3, :3].T + T[:3, 3]
    seen = np.linalg.norm(ends - [3.0, 0.3, 0.4], axis=1) < 0.6 + 1e-6
    toward = (camera.eye - ends) / np.linalg.norm(camera.eye - ends, axis=1)[:, None]
    front = np.einsum("ij,ij->i", toward, (ends - [3.0, 0.3, 0.4]) / 0.6) > 0.2
    places = camera.project(ends[seen & front], SIZE).round().astype(int)
    assert len(places) > 20 and np.mean([changed[y - 2 : y + 3, x - 2 : x + 3].any() for x, y in places]) > 0.95
    start = eye[:3, 3] + [0.2, 0, 0.3]
    reach = FINDER.look(passing.model, passing.at([0.5]).q)[0]
    along = camera.project(start + np.linspace(0.1, 0.9, 20)[:, None] * reach * np.array([1.0, 0, 0]), SIZE).round().astype(int)
    assert all(changed[y - 2 : y + 3, x - 2 : x + 3].any() for x, y in along)
    window = render(Scene(passing, "plain"), t=0.5, camera=camera, size=SIZE, shown=Shown(eyes=(CAMERA, FINDER))).astype(int)
    away = np.abs(pictures[0] - window).max(axis=2)[45:-55]
    assert (away > 40).mean() < 0.01 < changed[45:-55].mean()


def test_marks_are_those_of_a_picture(browser, tmp_path):
    """Second route: arrows, frames, ellipsoids, trails and names, in the window's picture and in the page's, of a motion far away too."""
    for offset in (np.zeros(3), np.array([6.778e6, -2.4e5, 0.0])):
        moved = motion(mechanism("arm"))
        moved.q[..., 4:7] += offset
        scene, middle = Scene(moved, "plain"), np.array([0.1, 0.05, 0.15]) + offset
        camera = Camera(middle, 2.2, np.radians(50), np.radians(25))
        shown = Shown(momentum=True, link_frames=("tip",), inertias=("tip",), trails=("tip",), labels=("tip",))
        address = "#t=0.6&camera=50,25,2.2," + ",".join(map(str, middle))
        browser.open(export(scene, tmp_path / "page.html", shown=shown), address)
        ours, bare = (render(scene, t=0.6, camera=camera, size=SIZE, shown=x).astype(int)[45:-115] for x in (shown, None))
        marked, off = (np.abs(x - ours).max(axis=2) > 60 for x in (bare, browser.picture().astype(int)[45:-115]))
        assert marked.mean() > 0.01
        assert off[marked].mean() < 0.2 and off.mean() < 0.01
        assert browser.evaluate("document.querySelector('#words text').textContent") == "tip"
        assert "momentum" in browser.evaluate("document.querySelector('#legend').textContent")


def test_between_samples_shapes_move_on(browser, tmp_path):
    trajectory = motion(mechanism("arm"), 0.0, 1.0)
    browser.open(export(trajectory, tmp_path / "page.html", fps=2.0, shown=Shown(momentum=True)), "#t=0.25")
    poses = np.reshape(browser.evaluate("Array.from(page.scene.marks.at(0.25, [0, 0, 0]).poses)"), (-1, 3, 4))
    ends = [marks_of(Scene(trajectory), t, Shown(momentum=True)).poses[:, :3] for t in (0.0, 0.5)]
    np.testing.assert_allclose(poses, 0.5 * (ends[0] + ends[1]), atol=1e-6)


def test_hidden_links_are_not_in_a_page_and_bytes_are_few(passing, monkeypatch):
    scene = Scene(passing, "plain")
    assert len(page(scene, 30.0, shown=Shown(hidden=("yard",)))) < len(page(scene, 30.0))
    frame = packed(marks_of(scene, 0.0, Shown(eyes=(CAMERA,))), lambda surface: 0, {})
    assert sum(x.nbytes for x in frame.values()) * 30 < BYTES
    few = len(page(scene, 30.0, shown=Shown(eyes=(CAMERA,))))
    monkeypatch.setattr("engine.viewer.files.sampled_marks.BYTES", 4 * sum(x.nbytes for x in frame.values()))
    fewer = page(scene, 30.0, shown=Shown(eyes=(CAMERA,)))
    assert '"moments":' in fewer and len(fewer) < 0.95 * few


def test_what_pages_do_not_have_is_said(passing, tmp_path):
    with pytest.raises(engine.ViewerError, match="asks for wireframe, which a page does not have"):
        export(passing, tmp_path / "a.html", shown=Shown(wireframe=True))
    with pytest.raises(engine.ViewerError, match=r"shown is given for \.glb, which has no marks"):
        export(passing, tmp_path / "a.glb", shown=Shown(momentum=True))
    with pytest.raises(engine.ViewerError, match="shown asks for marks that a page that simulates does not have"):
        export(engine.Simulator(passing.model), tmp_path / "a.html", shown=Shown(momentum=True, centers=True))
    with pytest.raises(engine.ViewerError, match="shown is 'eyes'; expected a Shown"):
        export(passing, tmp_path / "a.html", shown="eyes")
    with pytest.raises(engine.ViewerError, match="eyes: no link is named"):
        export(passing, tmp_path / "a.html", shown=Shown(eyes=(S.Lidar("eve", [0.0]),)))
    assert not [*tmp_path.iterdir()]


