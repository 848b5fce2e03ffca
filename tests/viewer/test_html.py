"""The page in a browser: where the robot is seen, what hands and keys do, what it says when it cannot draw, and notebooks."""

import html
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from engine.model import Builder, Geometry, Material
from engine.spatial import inertia, se3
from engine.viewer.files.export import export
from engine.viewer.files.html import lightened, outline, ten_bits
from engine.viewer.files.notebook import model_html, trajectory_html
from engine.viewer.files.picture import render
from engine.viewer.scene import Actor, Part, Scene
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.planets import Sky
from engine.viewer.scene.surface import Surface
from tests.viewer.mechanism import RED, mechanism, motion

pytestmark = pytest.mark.usefixtures("no_faults")
SIZE = (480, 360)
LOOK = "&camera=50,25,1.8,0.1,0.05,0.15"
CAMERA = Camera(target=np.array([0.1, 0.05, 0.15]), distance=1.8, azimuth=np.radians(50), elevation=np.radians(25))
MODEL = mechanism("<b>mechanism</b> & co.")
TIP = MODEL.link_index("tip")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The mechanism moving from 1 to 2 s, before a plain background."""
    return export(motion(MODEL, 1.0, 2.0), tmp_path_factory.mktemp("page") / "motion.html", environment="plain")


def redness(picture):
    """Where a picture is red."""
    r, g, b = np.moveaxis(picture.astype(int), -1, 0)
    return (r > 90) & (r > 2 * g) & (r > 2 * b)


def centroid(mask):
    """Mean pixel (x, y)."""
    rows, columns = np.nonzero(mask)
    assert len(rows) > 20, "there is nothing of that colour in the picture"
    return np.array([columns.mean(), rows.mean()])


# ---------------------------------------------------------------- where things are seen


def test_the_robot_is_seen_where_it_is(browser, page):
    actor = Scene(motion(MODEL, 1.0, 2.0)).actors[0]
    pictures = []
    for t in (1.0, 1.3172, 1.9):
        browser.open(page, f"#t={t}{LOOK}")
        pictures.append(browser.picture())
        tip = actor.poses(t)[0, TIP, :3, 3]
        assert np.abs(centroid(redness(pictures[-1])) - CAMERA.project(tip, SIZE)[0]).max() < 2.5
        assert browser.evaluate("page.t") == t
        world = browser.evaluate("Array.from(page.scene.actors[0].world)")
        assert np.abs(np.reshape(world, (-1, 3, 4)) - actor.poses(t)[0, :, :3]).max() < 2e-4     # the base's path is chords of 1/30 s
    for a, b in itertools.pairwise(pictures):
        assert (np.abs(a.astype(int) - b).max(axis=2) > 30).mean() > 0.02


def test_a_batch_is_drawn_together(browser, tmp_path):
    trajectory = motion(MODEL, scales=(1.0, -1.0, 0.5))
    trajectory.q[..., 5] += np.array([-0.8, 0.0, 0.8])[:, None]               # side by side
    scene = Scene(trajectory, "plain")
    browser.open(export(scene, tmp_path / "batch.html"), "#t=0.4&camera=20,60,4,0.1,0,0.2")
    red = redness(browser.picture())
    camera = Camera(np.array([0.1, 0.0, 0.2]), 4.0, np.radians(20), np.radians(60))
    for pose in scene.actors[0].poses(0.4):
        x, y = camera.project(pose[TIP, :3, 3], SIZE)[0].round().astype(int)
        assert red[y - 3 : y + 4, x - 3 : x + 4].any()
        red[y - 15 : y + 16, x - 15 : x + 16] = False
    assert not red.any()


def test_ground_and_space(browser, tmp_path):
    falling, floating = motion(MODEL), motion(MODEL)
    object.__setattr__(floating, "gravity", (0.0, 0.0, 0.0))
    pictures = []
    for source in (falling, floating):
        browser.open(export(source, tmp_path / "page.html"), "#t=0" + LOOK)
        pictures.append(browser.picture())
    assert pictures[0].mean() > 120
    stars = pictures[1][50:150, 20:200].max(axis=2)
    assert np.median(stars) < 30 < stars.max()
    earth = pictures[1][-60:-50, 20:-20].astype(int).mean(axis=(0, 1))
    assert 40 < earth[0] < earth[2]
    ground, plain = pictures[0].astype(int), export(Scene(falling, "plain"), tmp_path / "plain.html")
    browser.open(plain, "#t=0" + LOOK)
    assert (np.abs(browser.picture() - ground).max(axis=2) > 10).mean() > 0.3


def test_the_page_looks_as_the_window_does(browser, tmp_path):
    scene = Scene(motion(MODEL), "ground")
    browser.open(export(scene, tmp_path / "page.html"), "#t=0.6")
    theirs, ours = browser.picture().astype(int), render(scene, t=0.6, size=SIZE).astype(int)
    difference = np.abs(theirs - ours).max(axis=2)[45:-55]                    # between the title and the buttons
    assert np.median(difference) <= 2
    assert (difference > 24).mean() < 0.02


@pytest.mark.parametrize("environment", ["plain", "ground", "space"])
def test_far_from_the_origin_it_looks_the_same(browser, tmp_path, environment):
    pictures, away = [], np.array([6.778e6, -2.4e5, 0.0])
    for offset in (np.zeros(3), away):
        moved = motion(MODEL)
        moved.q[..., 4:7] += offset
        place = ",".join(map(str, CAMERA.target + offset))
        browser.open(export(Scene(moved, environment), tmp_path / "page.html"), f"#t=0.6&camera=50,25,1.8,{place}")
        pictures.append(browser.picture().astype(int))
    difference = np.abs(pictures[1] - pictures[0]).max(axis=2)
    assert difference.mean() < 0.2
    assert (difference > 24).mean() < 1e-3
    world = np.reshape(browser.evaluate("Array.from(page.scene.actors[0].world)"), (-1, 3, 4))
    assert np.abs(world - Scene(moved).actors[0].poses(0.6)[0, :, :3]).max() < 2e-4


@pytest.mark.parametrize("distance", [4.0, 60.0])
def test_the_ground_is_whole_from_near_and_far(browser, tmp_path, distance):
    scene = Scene(motion(MODEL), "ground")
    camera = Camera(np.array([0.1, 0.0, 0.0]), distance, np.radians(30), np.radians(4))
    camera.radius, camera.floor = scene.extent[1], scene.floor
    browser.open(export(scene, tmp_path / "page.html"), f"#t=0&camera=30,4,{distance},0.1,0,0")
    theirs, ours = browser.picture().astype(int), render(scene, t=0.0, camera=camera, size=SIZE).astype(int)
    assert (np.abs(theirs - ours).max(axis=2)[45:-55] > 12).mean() < 0.01
    assert browser.evaluate("page.camera.planes") == pytest.approx(camera.planes, rel=0.05)


def card(colors=None, texture=None, color=(1.0, 1.0, 1.0, 1.0)):
    """A square of two metres that stands before a camera on the x axis, its left side at y = −1."""
    positions = np.float32([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
    uv = np.float32([[0, 0], [1, 0], [1, 1], [0, 1]])
    normals = np.float32([[1, 0, 0]] * 4)
    actor = Actor(MODEL)
    surface = Surface(positions, normals, np.uint32([[0, 1, 2], [0, 2, 3]]), color, colors, uv, texture, 0.0, 1.0)
    actor.parts = (Part(surface, 0, np.eye(4)),)
    return Scene(actor, "plain")


def test_textures_are_upright_and_vertices_have_their_colours(browser, tmp_path):
    image = np.full((16, 16, 4), 255, np.uint8)
    image[:8, :8] = [255, 0, 0, 255]                                          # red in the upper left corner
    image[8:, 8:] = [0, 0, 255, 255]
    browser.open(export(card(texture=image), tmp_path / "card.html"), "#camera=0,0,5,0,0,0")
    w, h = SIZE
    picture = browser.picture().astype(int)
    upper_left, upper_right, lower_right = (picture[h // 2 + y, w // 2 + x] for x, y in ((-40, -40), (40, -40), (40, 40)))
    assert upper_left[0] > 2 * upper_left[2]
    assert lower_right[2] > 2 * lower_right[0]
    assert upper_right.min() > 120
    colors = np.uint8([[255, 0, 0, 255], [0, 255, 0, 255], [0, 255, 0, 255], [255, 0, 0, 255]])
    browser.open(export(card(colors), tmp_path / "card.html"), "#camera=0,0,5,0,0,0")
    picture = browser.picture().astype(int)
    left, right = picture[h // 2, w // 2 - 95], picture[h // 2, w // 2 + 95]
    assert left[0] > 2 * left[1]
    assert right[1] > 2 * right[0]


def test_glass_shows_what_is_behind_it(browser, tmp_path):
    clear, solid = (export(card(color=(0.0, 0.0, 0.0, a)), tmp_path / f"{a}.html") for a in (0.5, 1.0))
    seen = []
    for path in (clear, solid):
        browser.open(path, "#camera=0,0,5,0,0,0")
        seen.append(browser.picture()[SIZE[1] // 2, SIZE[0] // 2].mean())
    assert seen[0] > seen[1] + 60
    both = Scene([card(color=(1.0, 0.1, 0.1, 0.7)).actors[0], card(color=(0.1, 0.1, 1.0, 0.7)).actors[0]], "plain")
    both.actors[1].parts = (replace(both.actors[1].parts[0], placement=se3.pose(np.eye(3), np.array([0.5, 0.0, 0.0]))),)
    path = export(both, tmp_path / "both.html")
    for azimuth in (0, 180):                                                  # the nearer one covers the other
        browser.open(path, f"#camera={azimuth},0,5,0,0,0")
        red, _, blue = browser.picture()[SIZE[1] // 2, SIZE[0] // 2].astype(int)
        assert red > blue + 50 if azimuth else blue > red + 50


# ---------------------------------------------------------------- hands and keys


def test_keys_and_buttons(browser, page):
    browser.open(page, "#t=1.2")
    read = lambda: browser.evaluate("[page.t, page.speed, page.playing, page.loop]")
    assert read() == [1.2, 1, False, True]
    browser.press("ArrowRight")
    assert read()[0] == pytest.approx(1.2 + 1 / 60)
    for _ in range(2):
        browser.press("ArrowLeft")
    assert read()[0] == pytest.approx(1.2 - 1 / 60)
    for _ in range(3):
        browser.press("ArrowDown")
    assert read()[1] == 0.1
    browser.press("ArrowUp")
    assert read()[1] == 0.2
    browser.press(" ")
    browser.wait("page.playing && page.t > 1.2")
    browser.press(" ")
    assert not read()[2]
    browser.press("o")
    assert not read()[3]
    browser.press("r")
    assert read()[0] == 1.0
    browser.evaluate("document.getElementById('play').click()")
    assert read()[2]
    browser.evaluate("location.hash = '#t=1.75&speed=5'")
    browser.wait("page.t === 1.75")
    assert read()[1:3] == [5, False]
    browser.wait("document.getElementById('time').textContent === '1.750 / 2.000 s'")
    browser.evaluate("location.hash = '#t=7'")
    browser.wait("page.t === 2")


def test_it_plays_when_it_is_opened_and_stops_at_the_end_without_a_loop(browser, page):
    browser.open(page, "#loop=0&speed=5")
    browser.wait("page.t === 2 && !page.playing")
    browser.press(" ")                                                        # once more, from the beginning
    browser.wait("page.t < 2 || !page.playing")
    browser.open(page, "#speed=10")
    turns = browser.evaluate("""new Promise(done => {
        let before = page.t, turns = 0;
        const look = () => { turns += page.t < before; before = page.t; turns > 1 ? done(turns) : requestAnimationFrame(look); };
        look();
    })""")
    assert turns == 2


def test_the_mouse_turns_moves_and_nears(browser, page):
    tip = Scene(motion(MODEL, 1.0, 2.0)).actors[0].poses(1.5)[0, TIP, :3, 3]
    browser.open(page, "#t=1.5&camera=50,25,1.8," + ",".join(map(str, tip)))
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    before = centroid(redness(browser.picture()))
    browser.drag(middle, (middle[0] + 60, middle[1] - 35), "right")
    assert np.abs(centroid(redness(browser.picture())) - before - [60, -35]).max() < 4          # what is in the middle goes along
    camera = browser.evaluate("({...page.camera})")
    browser.drag(middle, (middle[0] + 90, middle[1] + 36))
    turned = browser.evaluate("({...page.camera})")
    assert turned["azimuth"] == pytest.approx(camera["azimuth"] - np.pi * 90 / SIZE[1])
    assert turned["elevation"] == pytest.approx(camera["elevation"] + np.pi * 36 / SIZE[1])
    browser("Input.dispatchMouseEvent", type="mouseWheel", x=middle[0], y=middle[1], deltaX=0, deltaY=-200)
    browser.wait(f"page.camera.distance < 0.8 * {camera['distance']}")
    browser.press("f")
    expected = Camera(azimuth=turned["azimuth"], elevation=turned["elevation"])
    expected.fit(Scene(motion(MODEL, 1.0, 2.0)).points, SIZE[0] / SIZE[1])
    assert browser.evaluate("page.camera.distance") == pytest.approx(expected.distance, rel=0.01)
    assert browser.evaluate("page.camera.target") == pytest.approx(expected.target.tolist(), abs=0.01)
    browser.press("5")
    assert browser.evaluate("page.camera.eye.map((x, i) => (x - page.camera.target[i]) / page.camera.distance)") == pytest.approx([0, 0, 1])


def test_two_fingers_pinch(browser, page):
    browser.open(page, "#t=1.5" + LOOK)
    for kind, spread in (("touchStart", 50), ("touchMove", 100), ("touchEnd", None)):
        points = [] if spread is None else [{"x": 240 + s * spread, "y": 180, "id": i} for i, s in enumerate((-1, 1))]
        browser("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    browser.wait("Math.abs(page.camera.distance - 0.9) < 0.02")


def test_links_are_listed_glow_and_are_followed(browser, page):
    browser.open(page, "#t=1" + LOOK)
    names = browser.evaluate("Array.from(document.querySelectorAll('#links button'), b => b.textContent)")
    assert names == [link.name for link in MODEL.links]
    plain = browser.picture().astype(int)
    browser.evaluate("document.querySelectorAll('#links button')[0].onmouseenter()")
    glowing = browser.picture().astype(int)
    blue = lambda p: ((p[..., 2] > 1.5 * p[..., 0]) & (p[..., 2] > 1.5 * p[..., 1])).sum()
    assert blue(plain) > 500 > blue(glowing)
    browser.evaluate(f"document.querySelectorAll('#links button')[{TIP}].click()")
    first = centroid(redness(browser.picture()))
    browser.evaluate("page.seek(1.9)")
    assert np.abs(centroid(redness(browser.picture())) - first).max() < 3


# ---------------------------------------------------------------- what a page is


def test_a_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=|https?:|@import|url\(", re.sub(r'(?s)<script id="data".*?</script>', "", text))
    assert "<title>&lt;b&gt;mechanism&lt;/b&gt; &amp; co.</title>" in text
    assert "@" not in re.sub(r"@media", "", text)
    assert len(text) < 150_000


def test_without_webgl_it_says_so(browser, page):
    script = "HTMLCanvasElement.prototype.getContext = () => null"
    identifier = browser("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
    browser.open(page)
    browser("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)
    seen = browser.evaluate("document.body.innerText.trim()")
    assert re.fullmatch(r"This page draws with WebGL 2, which .*; expected a current browser .*\.", seen)


def test_ten_bits_keep_directions():
    n = np.random.default_rng(3).standard_normal((1000, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    packed = ten_bits(n).astype(np.int64)
    back = np.stack([((packed >> s & 0x3FF) ^ 0x200) - 0x200 for s in (0, 10, 20)], axis=1) / 511
    assert np.abs(back - n).max() < 1e-3


# ---------------------------------------------------------------- notebooks


def test_a_notebook_shows_models_and_trajectories(browser, tmp_path):
    cells = [model_html(MODEL), trajectory_html(motion(MODEL, scales=(1.0, 0.5)))]
    for cell, said in zip(cells, (["arm_joint", "revolute", "5 links"], ["0 … 1 s", "41", "rollouts"]), strict=True):
        assert all(x in cell for x in said)
        assert "<b>mechanism" not in cell
    notebook = tmp_path / "notebook.html"
    notebook.write_text("<!doctype html><meta charset=utf-8>" + "".join(cells), encoding="utf-8")
    browser("Page.navigate", url=notebook.as_uri())
    shown = "frames.length === 2 && [0, 1].every(i => frames[i].document.body && frames[i].document.body.dataset.shown !== undefined)"
    browser.wait(f"document.readyState === 'complete' && {shown}")
    assert browser.evaluate("[0, 1].map(i => frames[i].page.playing)") == [False, False]
    assert browser.evaluate("frames[1].document.title") == MODEL.name


def test_a_notebook_says_what_it_cannot_show():
    ghost = Builder("ghost")
    ghost.add_link("ghost")
    assert "no visual shapes" in model_html(ghost.model())
    lost = Builder("lost")
    lost.add_link("shell", inertia=inertia.box(1.0, np.ones(3)),
                  visuals=(Geometry("mesh", (1.0, 1.0, 1.0), uri="x.stl", fault="<no file> x.stl"),))  # fmt: skip
    assert html.escape("<no file> x.stl") in model_html(lost.model())
    broken = motion(MODEL)
    object.__setattr__(broken, "q", broken.q * np.nan)
    assert "not finite" in trajectory_html(broken)
    assert "no states" in trajectory_html(motion(MODEL)[0:0])


def test_heavy_models_and_large_batches_are_made_coarser():
    x, y = np.meshgrid(*[np.linspace(-1, 1, 200, dtype=np.float32)] * 2)
    points = np.stack([x, y, 0.1 * np.sin(5 * x) * np.cos(3 * y)], axis=-1).reshape(-1, 3)
    i = np.arange(200 * 199).reshape(199, 200)[:, :-1].ravel()
    faces = np.concatenate([np.stack([i, i + 1, i + 200], 1), np.stack([i + 1, i + 201, i + 200], 1)]).astype(np.uint32)
    surface = Surface(points, np.float32([[0, 0, 1]]).repeat(len(points), 0), faces)
    scene = card()
    scene.actors[0].parts = tuple(Part(surface, k, np.eye(4)) for k in (0, 1))
    assert lightened(scene, 10**6, 10**6) == {surface: surface}
    for different, drawn, expected in ((20_000, 10**6, 20_000), (10**6, 30_000, 15_000)):
        (found,) = lightened(scene, different, drawn).values()
        assert 0.8 * expected < len(found.faces) < 1.05 * expected
        assert np.abs(found.positions[:, 2] - 0.1 * np.sin(5 * found.positions[:, 0]) * np.cos(3 * found.positions[:, 1])).max() < 2e-3


def test_the_outline_is_seen_as_large_as_all_points():
    points = np.random.default_rng(4).standard_normal((60_000, 3)) * [1, 2, 0.1]
    few = outline(points)
    assert len(few) <= 400
    for azimuth in (0.0, 1.0, 2.0):
        cameras = Camera(azimuth=azimuth), Camera(azimuth=azimuth)
        for camera, seen in zip(cameras, (points, few), strict=True):
            camera.fit(seen)
        assert cameras[0].distance == pytest.approx(cameras[1].distance, rel=0.01)


def test_a_page_that_is_turned_shows_all_again_unless_the_camera_was_moved(browser, page):
    def turned(width, height):
        browser("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        browser.wait(f"page.canvas.width === {width} && !page.waiting")
        return browser.evaluate("page.camera.distance")

    try:
        browser.open(page, "#t=1.2")
        wide, tall = browser.evaluate("page.camera.distance"), turned(160, 360)
        assert tall > 1.1 * wide and turned(*SIZE) == wide
        browser.evaluate("page.camera.dolly(0.9); page.refresh()")
        assert turned(160, 360) < wide
    finally:
        browser("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)


def test_a_robot_of_a_micrometre_is_seen(browser, tmp_path):
    builder = Builder("mote")
    builder.add_link("mote", inertia=inertia.box(1.0, np.ones(3)),
                     visuals=(Geometry("box", (1e-6, 1e-6, 1e-6), material=Material("red", RED)),))  # fmt: skip
    browser.open(export(builder.model(floating_base=True), tmp_path / "mote.html", environment="plain"))
    assert redness(browser.picture()).mean() > 0.05


def test_a_page_of_an_orbit_shows_the_earth_as_a_picture_does_and_a_ring(browser, tmp_path):
    from tests.viewer.test_sky import flight

    motion = flight(frame=False, n=21)
    browser.open(export(motion, tmp_path / "orbit.html"), "#t=700")
    page, picture = browser.picture().astype(int)[60:-60], render(motion, t=700.0, size=SIZE).astype(int)[60:-60]
    amber = [np.argwhere((x[..., 0] > 200) & (x[..., 2] < 110) & (x[..., 1] > 130)) for x in (page, picture)]
    assert min(map(len, amber)) > 10 and np.abs(amber[0].mean(axis=0)[0] - amber[1].mean(axis=0)[0]) < 6
    assert np.median(np.abs(page - picture)) < 8 and np.abs(page - picture).mean() < 25


def test_a_page_of_an_orbit_shows_the_day_s_side_as_a_picture_does(browser, tmp_path):
    """With the Sun behind the planet as seen from where cameras stand else."""
    from tests.viewer.test_sky import flight

    scene = Scene(flight(frame=False, n=21), Sky(sun=(-0.8, -0.6, 0.1)))
    browser.open(export(scene, tmp_path / "day.html"), "#t=700")
    page, picture = browser.picture().astype(int)[60:-60], render(scene, t=700.0, size=SIZE).astype(int)[60:-60]
    lit = (picture.max(axis=-1) > 60).mean()
    assert lit > 0.1 and abs((page.max(axis=-1) > 60).mean() - lit) < 0.1 * lit
    assert np.abs(page - picture).mean() < 25


def test_a_page_s_ground_is_a_veil_from_below(browser, tmp_path):
    browser.open(export(motion(MODEL, 1.0, 2.0), tmp_path / "ground.html", environment="ground"), "#t=1.5&camera=50,-25,1.8,0.1,0.05,0.15")
    green = browser.picture().astype(int)
    assert ((green[..., 1] > green[..., 0] + 25) & (green[..., 1] > green[..., 2] + 15)).sum() > 300
