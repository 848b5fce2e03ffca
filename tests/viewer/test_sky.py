"""A planet and the Sun where they are: in pictures of runs in an orbit, and by a run's epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.simulation import Trajectory
from engine.space import Epoch
from engine.space.axes import lvlh
from engine.viewer.draw.panes import Panes
from engine.viewer.draw.renderer import Renderer
from engine.viewer.scene.earth import world_map
from engine.viewer.scene.errors import ViewerWarning
from engine.viewer.scene.marks import mark
from engine.viewer.scene.orbit_marks import ellipse, track
from engine.viewer.scene.planets import BODIES, Globe, Sky, under
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown

EARTH, SIZE = BODIES["earth"], (320, 240)
R, V = 6.778e6, 7668.0


def flight(frame: bool, n: int = 61, span: float = 5553.0) -> Trajectory:
    """A cube on a circle in the equator's plane, its places about the Earth's middle, or about a frame's origin that goes along."""
    builder = engine.Builder("cube")
    builder.add_link("cube", inertia=engine.spatial.inertia.box(1.0, (1.0, 1.0, 1.0)), visuals=[engine.Geometry("box", (1.0, 1.0, 1.0))])
    model, t = builder.model(floating_base=True), np.linspace(0.0, span, n)
    angle = V / R * t
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros(n)
    r, v = R * np.column_stack([c, s, zero]), V * np.column_stack([-s, c, zero])
    q, rate = np.tile([1.0, 0, 0, 0, 0, 0, 0], (n, 1)), np.zeros((n, 6))
    signals = {"frame.origin": r, "frame.velocity": v} if frame else {"gravity.energy": zero}
    if not frame:
        q[:, 4:], rate[:, 3:] = r, v
    return Trajectory(model, (0.0, 0.0, 0.0), t, q, rate, np.zeros((n, 6)), np.zeros((n, 6)), signals)


@pytest.fixture(scope="module")
def draw():
    """draw(scene, t, camera, shown) -> picture (h, w, 3) as numbers in [0, 1]."""
    from engine.viewer.draw.context import open_window

    window = open_window(visible=False, width=16, height=16)
    renderer = Renderer(0)

    def drawn(scene, t, camera, shown=Shown()):
        window.switch_to()
        renderer.draw(mark(scene, t, shown), camera, SIZE)
        return renderer.pixels() / 255.0

    yield drawn
    renderer.delete()
    window.close()


@pytest.mark.parametrize("view", [None, "top", (2.0, 0.9)])
def test_an_overview_of_an_orbit_has_the_whole_planet(view):
    scene = Scene(flight(frame=False))
    camera, globe = scene.camera(SIZE, view), scene.globe(0.0)
    toward, far = globe.seen_from(camera.eye)
    rim = np.cross(toward, camera.axes[:, 0])
    rim /= np.linalg.norm(rim)
    round_, high = np.linspace(0.0, 2.0 * np.pi, 200)[:, None], 1.0 / far                      # the limb is where rays touch the ball
    limb = globe.center - globe.body.radius * (
        high * toward - np.sqrt(1.0 - high**2) * (np.cos(round_) * rim + np.sin(round_) * np.cross(toward, rim)))
    places = camera.project(limb, SIZE)
    assert (places > 0).all() and (places < SIZE).all()


def test_who_follows_a_craft_has_the_planet_below_all_the_way_round(tmp_path, monkeypatch):
    """And the craft in the picture, with nothing of it cut off, though it turns against who looks at it."""
    motion, seen, plain = flight(frame=False), [], Panes.draw
    monkeypatch.setattr(Panes, "draw", lambda self, drawing, cameras, *a: seen.append((drawing, replace(cameras[0]))) or
                        plain(self, drawing, cameras, *a))  # fmt: skip
    engine.render(motion, tmp_path / "%02d.png", size=SIZE, follow="cube", fps=1, speed=700.0, samples=0)
    assert len(seen) == 8
    for drawing, camera in seen:
        toward, _ = drawing.globe.seen_from(camera.eye)
        assert -toward @ camera.axes[:, 1] > 0.8
        places = camera.project(drawing.corners(), SIZE)
        assert (places > 0).all() and (places < SIZE).all() and np.ptp(places[:, 1]) > 0.3 * SIZE[1]


def test_an_orbits_line_goes_through_the_craft():
    """Within a micrometre of it, and within a millimetre of the ellipse a hundred metres on: seen from beside it, it is no chord."""
    r, v = np.array([6.5e6, 1.9e6, 3e5]), np.array([-2000.0, 6900.0, 2500.0])
    points = ellipse(r, v, EARTH.mu)
    middle = np.linalg.norm(points - r, axis=1).argmin()
    assert np.linalg.norm(points[middle] - r) < 1e-6
    near = r + v * 100.0 / np.linalg.norm(v)
    ends, sides = points[:-1], np.diff(points, axis=0)
    off = near - ends - np.clip(((near - ends) * sides).sum(1) / (sides * sides).sum(1), 0.0, 1.0)[:, None] * sides
    assert np.linalg.norm(off, axis=1).min() < 1e-3


def test_marks_of_an_orbit_without_one_are_told():
    still = engine.Builder("cube")
    still.add_link("cube", engine.spatial.inertia.box(1.0, (1.0, 1.0, 1.0)), [engine.Geometry("box", (1.0, 1.0, 1.0))])
    scene = Scene(still.model(floating_base=True))
    with pytest.warns(ViewerWarning, match=r"track, lvlh .* not drawn: nothing here is known to fly about a planet; expected") as told:
        engine.render(scene, size=(32, 24), samples=0, shown=Shown(track=True, lvlh=True))
    assert len(told) == 1 and told[0].filename == __file__


def test_a_ground_track_of_an_earth_without_epoch_is_told(draw):
    scene = Scene(flight(frame=False))
    with pytest.warns(ViewerWarning, match=r"prime meridian is on the x axis at t = 0, as it has no epoch; expected Scene\(") as told:
        for t in (900.0, 901.0):
            mark(scene, t, Shown(track=True))
    assert len(told) == 1


def test_an_orbit_shows_the_earth_where_it_is_and_a_ring_where_the_craft_is(draw):
    scene = Scene(flight(frame=False))
    camera = scene.camera(SIZE)
    t = 700.0
    picture, globe = draw(scene, t, camera), scene.globe(t)
    y, x = np.mgrid[: SIZE[1], : SIZE[0]] + 0.5
    _, d = camera.ray(x, y, SIZE)
    below, height = globe.seen_from(camera.eye)
    passes = height * np.linalg.norm(np.cross(d, below), axis=-1)
    day = (passes < 0.9) & (d @ below > 0)
    n = (height * (d @ below) - np.sqrt(np.maximum(1 - passes**2, 0)))[..., None] * d - height * below
    assert picture[day & (n @ globe.sun > 0.3)].min() > 0.03 and np.median(picture[day & (n @ globe.sun < -0.2)]) < 0.03
    assert np.median(picture[passes > 1.2]) < 0.08
    ring = camera.project(scene.drawing(t).beacons[0][0], SIZE)[0]
    near = picture[int(ring[1]) - 8 : int(ring[1]) + 9, int(ring[0]) - 8 : int(ring[0]) + 9]
    amber = (near[..., 0] > 0.8) & (near[..., 2] < 0.45)
    rows, columns = np.nonzero(amber)
    assert amber.sum() > 15 and abs(rows.mean() - 8) < 1.5 and abs(columns.mean() - 8) < 1.5


def test_with_a_frame_the_earth_is_below_the_craft_and_turns(draw):
    scene = Scene(flight(frame=True))
    for t in (0.0, 1234.5):                                                    # between two records, too
        globe = scene.globe(t)
        angle = V / R * t
        assert np.allclose(globe.center, [-R * np.cos(angle), -R * np.sin(angle), 0.0], atol=5.0)
        assert scene.upright(t)[:, 2] == pytest.approx([np.cos(angle), np.sin(angle), 0.0], abs=1e-5)
    camera = scene.camera(SIZE)
    first, later = draw(scene, 0.0, camera), draw(scene, 1400.0, camera)
    assert np.abs(first - later).mean() > 0.03


def test_axes_and_sun_are_those_of_the_epoch():
    pytest.importorskip("erfa")
    from engine.space import sun

    epoch = Epoch("2026-03-20T12:00:00")
    sky = Sky(epoch)
    assert np.array_equal(sky.axes(100.0), epoch.rotation(100.0))
    place = np.asarray(sun(epoch, 86400.0)(100.0))
    assert sky.toward_sun(100.0) == pytest.approx(place / np.linalg.norm(place), abs=1e-12)
    east, north, _ = sky.axes(0.0) @ sky.toward_sun(0.0)                       # at noon of an equinox it stands over Greenwich
    assert abs(np.degrees(np.arctan2(north, east))) < 3.0 and abs((sky.axes(0.0) @ sky.toward_sun(0.0))[2]) < 0.01


def test_lands_lie_where_they_are_on_the_globe():
    land = world_map()[..., 0] > 127
    for east, north, dry in ((20, 5, True), (-100, 40, True), (134, -25, True), (-30, 0, False), (-150, 20, False)):
        p = under(np.radians(east), np.radians(north)) @ [0.0, 0.0, 1.0]       # what lies under who looks down
        u, v = np.arctan2(p[1], p[0]) / (2 * np.pi) + 0.5, np.arccos(p[2]) / np.pi
        assert land[int(v * len(land)), int(u * land.shape[1])] == dry


def test_the_planet_hides_what_is_behind_it_and_its_shadow_dims_the_sun():
    globe = Globe(EARTH, np.zeros(3), np.eye(3), np.array([1.0, 0.0, 0.0]))
    eye = np.array([3e7, 0.0, 0.0])
    places = np.array([[-7e6, 0.0, 0.0], [7e6, 0.0, 0.0], [-7e6, 9e6, 0.0], [0.0, 7e6, 0.0]])
    assert globe.hides(eye, places).tolist() == [True, False, False, False]
    day, night = (globe.light(np.array([x, 0.0, 0.0])) for x in (R, -R))
    assert np.allclose(night.key_color, 0.0) and min(day.key_color) > 2.0 and sum(day.fill_color) > 3.0 * sum(night.fill_color)
    assert replace(globe, center=None).hides(eye, np.zeros((2, 3))).tolist() == [False, False]


def test_an_ellipse_keeps_energy_and_the_focus():
    """By the vis-viva equation at its apsides, and by the distance to both foci, which adds up to 2a."""
    r, v, mu = np.array([7e6, 1e6, -2e5]), np.array([500.0, 7200.0, 3000.0]), EARTH.mu
    points = ellipse(r, v, mu)
    a = 1.0 / (2.0 / np.linalg.norm(r) - v @ v / mu)
    other = -2.0 * (np.cross(v, np.cross(r, v)) / mu - r / np.linalg.norm(r)) / (2.0 / np.linalg.norm(r) - v @ v / mu)
    assert np.linalg.norm(points, axis=1) + np.linalg.norm(points - other, axis=1) == pytest.approx(2.0 * a, rel=1e-5)
    assert np.abs(points @ np.cross(r, v)).max() < 1e-6 * np.linalg.norm(np.cross(r, v)) * a
    assert len(ellipse(r, 2.0 * v, mu)) == 0                                   # open
    T = lvlh(r, v)
    assert pytest.approx(np.eye(3), abs=1e-14) == T.T @ T and T[:, 0] @ v > 0 and T[:, 2] @ r < 0


def test_who_goes_along_has_the_planet_below_at_any_time(draw):
    scene = Scene(flight(frame=False))
    camera = scene.camera(SIZE, t=0.0, follow="cube")
    for t in (0.0, 900.0, 2700.0):
        scene.go_along(camera, "cube", t)
        away = scene.place("cube", t)
        np.testing.assert_allclose(camera.frame[:, 2], away / np.linalg.norm(away), atol=1e-9)
        np.testing.assert_allclose(camera.target, away, atol=1.0)              # m, of a craft of 1 m


def test_a_track_is_walked_once(draw, monkeypatch):
    """Of n records a picture looks at one place, not at n: pages of tracks took minutes."""
    scene = Scene(flight(frame=False), Sky())
    source, asked = scene.actors[0].source, []
    plain = type(source).state
    monkeypatch.setattr(type(source), "state", lambda self, t: (asked.append(t), plain(self, t))[1])
    before = track(source, scene.sky, scene.globe(900.0), 900.0)
    assert len(asked) == 62
    for t in (900.0, 901.0, 902.0):
        after = track(source, scene.sky, scene.globe(t), t)
    assert len(asked) == 65 and len(after) == len(before)


def test_track_lies_on_the_ground_under_the_craft(draw):
    scene, t = Scene(flight(frame=False), Sky()), 900.0
    lines = mark(scene, t, Shown(orbit=False, track=True)).lines[0]
    end = lines[-1, 1]
    assert np.linalg.norm(end) == pytest.approx(1.002 * EARTH.radius, rel=1e-9)
    r = scene.actors[0].source.state(t)[0][0, 4:7]
    assert end / np.linalg.norm(end) == pytest.approx(r / np.linalg.norm(r), abs=1e-9)
    start = lines[0, 0] / np.linalg.norm(lines[0, 0])                          # it has turned with the Earth since
    assert np.arctan2(start[1], start[0]) == pytest.approx(EARTH.rate * t, abs=1e-9)


@pytest.mark.parametrize(("given", "said"), [
    ({"planet": "pluto"}, "planet 'pluto' is not known"),
    ({"epoch": "2026-11-24"}, "expected an engine.space.Epoch"),
    ({"sun": (0, 0, 0)}, "a direction"),
    ({"center": 3.0}, "a place"),
])  # fmt: skip
def test_what_is_no_sky_is_refused(given, said):
    with pytest.raises(engine.ViewerError, match=said):
        Sky(**given)


@pytest.mark.parametrize("month", [1, 4, 7, 10])
def test_an_overview_by_an_epoch_sees_the_side_of_the_day(draw, month):
    """Half of the disc is lit, as without an epoch, whatever the season."""
    pytest.importorskip("erfa")
    for sky in (None, Sky(Epoch(f"2026-{month:02d}-21T12:00:00"))):
        scene = Scene(flight(frame=False), sky)
        lit = draw(scene, 0.0, scene.camera(SIZE, when=0.0)).max(axis=-1) > 0.2
        assert 0.1 < lit.mean() < 0.5, f"{lit.mean():.3f} of the picture"


def test_an_epoch_of_another_planet_is_refused():
    pytest.importorskip("erfa")
    with pytest.raises(engine.ViewerError, match="given beside it"):
        Sky(Epoch("2026-03-20"), planet="mars")


def test_a_picture_has_the_planet_below_at_its_time():
    """Half a turn later the camera of a picture stands upside down, as the craft's own up does."""
    from engine.viewer.files.picture import seen_from

    scene = Scene(flight(frame=True))
    for t in (0.0, 2776.0):
        (camera,) = seen_from(scene, None, SIZE, None, None, None, t)
        assert camera.frame == pytest.approx(scene.upright(t), abs=1e-12)
        assert camera.axes[:, 1] @ scene.upright(t)[:, 2] > 0.9
