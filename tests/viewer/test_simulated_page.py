"""A page that simulates by itself: it moves as the engine does, links are pulled, and what they hang on reacts."""

import numpy as np
import pytest

import engine
from engine.simulation.live import Live
from engine.spatial import inertia
from tests.viewer.mechanism import mechanism
from tests.viewer.test_served_page import mouse, where

SIZE = (640, 480)
MODEL = mechanism()
TIP = MODEL.link_index("tip")


def spun(t, q, v):
    """Torques that set the mechanism moving from rest."""
    return np.concatenate([np.zeros(6), np.array([0.02, 0.1, 0.05]) * np.cos(3.0 * t)])


@pytest.fixture(scope="module")
def simulator():
    return engine.Simulator(MODEL, dt=2e-3, gravity=(0, 0, 0), forces=[spun])


@pytest.fixture(scope="module")
def page(simulator, tmp_path_factory):
    return engine.export(simulator, tmp_path_factory.mktemp("page") / "live.html")


@pytest.fixture(autouse=True)
def no_faults(browser):
    yield
    browser("Page.navigate", url="about:blank")
    faults, browser.faults[:] = [*browser.faults], []
    assert not faults


def opened(browser, page):
    """The page, at its beginning, where it stands still."""
    browser.open(page)
    browser.evaluate("page.play(false)")
    browser.evaluate("page.begin_again()")


def test_it_moves_as_the_engine_does(browser, page, simulator):
    """To 1e-10 in 500 steps, without fused multiply-adds; links are where it says."""
    opened(browser, page)
    state = simulator.step(simulator.start(MODEL.neutral(), np.zeros(MODEL.nv)), 500)
    assert browser.evaluate("page.go(500)") == 500
    browser.evaluate("page.show()")
    n = MODEL.nq + MODEL.nv
    np.testing.assert_allclose(browser.evaluate(f"Array.from(page.x.slice(0, {n}))"), np.append(state.q, state.v), rtol=0, atol=1e-10)
    world = np.reshape(browser.evaluate("Array.from(page.scene.actors[0].world)"), (-1, 3, 4))
    np.testing.assert_allclose(world, engine.compile(MODEL).forward_kinematics(state.q)[:, :3], rtol=0, atol=1e-10)
    assert browser.evaluate("page.t") == 1.0


def test_it_runs_by_itself_and_stands_still(browser, page):
    browser.open(page)
    browser.wait("page.t > 0.05")
    browser.press(" ")
    browser.wait("!page.playing")
    t = browser.evaluate("page.t")
    browser.press("ArrowRight")
    browser.wait(f"page.t > {t}")
    assert browser.evaluate("page.t") == pytest.approx(t + 2e-3)
    browser.press("r")
    browser.wait("page.t === 0")


def test_a_link_is_pulled_and_the_base_reacts(browser, page, simulator):
    """As the engine's own live simulation is pulled: by the same spring, to the same state."""
    opened(browser, page)
    browser.evaluate("document.getElementById('pull').click()")
    browser.picture()
    tip = np.reshape(browser.evaluate("Array.from(page.scene.actors[0].world)"), (-1, 3, 4))[TIP, :, 3]
    x, y = where(browser, tip)
    mouse(browser, (x, y), (x + 60, y - 30), release=False)
    browser.wait("page.grip && page.grip.spring")
    point, target = (browser.evaluate(f"page.grip.{name}") for name in ("local", "target"))
    link = browser.evaluate("page.scene.actors[0].links[page.grip.link]")
    with Live(simulator, MODEL.neutral(), np.zeros(MODEL.nv), paused=True) as live:
        live.pull(link, point, target)
        spring = [float(live.parameters[f"pull.{n}"]) for n in ("stiffness", "damping")]
        pulled = live.simulator.step(live.simulator.start(MODEL.neutral(), np.zeros(MODEL.nv)), 100, live.parameters)
    np.testing.assert_allclose(browser.evaluate("page.grip.spring"), spring, rtol=1e-9)
    browser.evaluate("page.go(100)")
    found = np.array(browser.evaluate(f"Array.from(page.x.slice(0, {MODEL.nq}))"))
    np.testing.assert_allclose(found, pulled.q, rtol=0, atol=1e-9)
    assert np.linalg.norm(found[4:7]) > 1e-3                                    # the base
    mouse_up = {"type": "mouseReleased", "x": x + 60, "y": y - 30, "button": "left", "buttons": 0, "clickCount": 1}
    browser("Input.dispatchMouseEvent", **mouse_up)
    browser.wait("page.grip === null && page.p.every((x, i) => x === page.simulated.p[i])")


def test_what_is_not_finite_ends_it(browser, page):
    opened(browser, page)
    browser.evaluate("page.x[8] = 1e300")
    browser.evaluate("page.play(true)")
    browser.wait("page.ended")
    assert browser.evaluate("document.getElementById('say').textContent").endswith("s on; R begins again.")
    browser.press("r")
    browser.wait("!page.ended && page.x[8] === page.simulated.x[8]")


def test_what_is_no_single_program_is_refused(tmp_path):
    simulator = engine.Simulator(MODEL, events=[lambda t, q, v: q[4]])
    with pytest.raises(engine.ExportError, match="has events, which interrupt runs from outside; expected one without"):
        engine.export(simulator, tmp_path / "live.html")
    with pytest.raises(engine.ViewerError):
        engine.export(engine.Simulator(MODEL), tmp_path / "live.glb")


def test_what_a_page_that_simulates_does_not_take(simulator, tmp_path):
    with pytest.raises(engine.ViewerError, match="fps is 5 for a page that simulates"):
        engine.export(simulator, tmp_path / "live.html", fps=5)
    with (Live(simulator, MODEL.neutral(), np.zeros(MODEL.nv), paused=True) as live,
          pytest.raises(engine.ViewerError, match=r"the page of a Live of 'mechanism' would stand still; expected engine.export")):
        engine.export(live, tmp_path / "live.html")
    assert not [*tmp_path.iterdir()]


def test_it_stands_on_the_ground_of_the_simulator_and_the_camera_goes_along(browser, tmp_path):
    builder = engine.Builder("ball")
    ball = engine.Geometry("sphere", (0.1,))
    builder.add_link("ball", inertia=inertia.sphere(1.0, 0.1), visuals=[ball], collisions=[ball])
    ground = engine.Contacts(engine.HalfSpace(offset=-0.5))
    simulator = engine.Simulator(builder.model(floating_base=True), contacts=ground, dt=1e-3)
    page = engine.export(simulator, tmp_path / "live.html", q0=[1, 0, 0, 0, 0, 0, 0.5])
    browser.open(page)
    assert browser.evaluate("page.scene.floor") == -0.5
    browser.wait("page.x[6] < 0.1")                                            # it rises again where a machine is slow to look
    ball, target, fitted = browser.evaluate("[page.x[6], page.camera.target[2], page.fitted.eye[2]]")
    assert abs(ball - target) < 0.1 and fitted > 0.5


def test_sliders_set_parameters_and_begin_again_keeps_them(browser, tmp_path):
    """As the engine goes with the parameter at that value, to 1e-10; what has no sliders, and the hand's own, have none."""
    push = lambda t, q, v, wind: np.concatenate([np.zeros(6), wind * np.array([0.02, 0.1, 0.05])])
    simulator = engine.Simulator(MODEL, dt=2e-3, gravity=(0, 0, 0), forces=[push], parameters={"wind": 1.0, "damping.tip_joint": 0.1})
    browser.open(engine.export(simulator, tmp_path / "tuned.html"))
    browser.evaluate("page.play(false)")
    labels = browser.evaluate("[...document.querySelectorAll('#sliders span')].map(x => x.firstChild.textContent)")
    assert labels == ["wind", "damping.tip_joint, N·s/m"]
    browser.evaluate("(() => { const x = document.querySelector('#sliders input'); x.value = 1.7; x.oninput(); })()")
    browser.evaluate("page.begin_again()")
    browser.evaluate("page.release()")
    browser.evaluate("page.go(200)")
    begun = simulator.start(MODEL.initial(), np.zeros(MODEL.nv), {"wind": 1.7})
    state = simulator.step(begun, 200)
    found = browser.evaluate(f"Array.from(page.x.slice(0, {MODEL.nq + MODEL.nv}))")
    np.testing.assert_allclose(found, np.append(state.q, state.v), rtol=0, atol=1e-10)
    assert np.abs(state.v[6:]).max() > 0.1
    browser.evaluate("(() => { const x = document.querySelector('#sliders [type=number]'); x.value = ''; x.onchange(); })()")
    assert "is no number" in browser.evaluate("document.getElementById('say').textContent")


def test_in_an_orbit_the_earth_is_below_and_the_camera_turns_with_it(browser, tmp_path):
    """Where the frame says, also in its second turn, in which the Earth has turned on; up in the picture is away from it."""
    stick = engine.Builder("stick")
    stick.add_link("stick", inertia=inertia.sphere(10.0, 1.0), visuals=[engine.Geometry("box", (1.0, 1.0, 6.0))])
    orbit = engine.space.ReferenceOrbit.from_elements(engine.space.Elements(7e6, 0.01, i=0.9))
    simulator = engine.Simulator(stick.model(floating_base=True), dt=10.0, gravity=(0, 0, 0), frame=orbit)
    browser.open(engine.export(simulator, tmp_path / "orbit.html", environment="space"))
    browser.evaluate("page.play(false)")
    picture = browser.picture().astype(float)
    assert picture[-160:-80, 200:440].mean() > 3.0 * picture[:80, 200:440].mean()                   # of the Earth's day, and stars
    for steps in (150, 600):
        browser.evaluate(f"page.go({steps})")
        browser.evaluate("page.show()")
        r, v = orbit.place(t := browser.evaluate("page.t"), np.zeros(0))
        globe = browser.evaluate("page.scene.sky.at(page.t)")
        np.testing.assert_allclose(globe["center"], -r, rtol=0, atol=1e-5 * np.linalg.norm(r))
        np.testing.assert_allclose(np.reshape(globe["axes"], (3, 3)), engine.Sky().axes(t), rtol=0, atol=1e-5)
        _, up, back = np.transpose(browser.evaluate("page.camera.frame"))
        np.testing.assert_allclose(back, r / np.linalg.norm(r), rtol=0, atol=1e-5)
        np.testing.assert_allclose(up, np.cross(r, v) / np.linalg.norm(np.cross(r, v)), rtol=0, atol=1e-5)
    assert t > orbit.period


def test_momentum_is_drawn_where_the_engine_has_it(browser, simulator, tmp_path):
    """Arrows at the centre of mass along the momentum that the engine computes; a momentum of nothing but rounding has none."""
    v0, shown = [0.1, 0.0, 0.3, 0, 0, 0, 0, 0, 0], engine.Shown(momentum=True)
    opened(browser, engine.export(simulator, tmp_path / "live.html", v0=v0, shown=shown))
    browser.evaluate("page.go(100)")
    browser.evaluate("page.show()")
    n = MODEL.nq + MODEL.nv
    q, v = np.split(np.array(browser.evaluate(f"Array.from(page.x.slice(0, {n}))")), [MODEL.nq])
    robot = engine.compile(MODEL)
    P = robot.centroidal_momentum(q, v)
    now = np.array(browser.evaluate("page.scene.marks.now"))
    np.testing.assert_allclose(now[:3], engine.dynamics.center_of_mass(MODEL, q), atol=1e-12)
    np.testing.assert_allclose(now[3:9], P, atol=1e-12)
    poses = np.reshape(browser.evaluate("page.scene.marks.at(0, [0, 0, 0]).poses"), (-1, 3, 4))
    assert len(poses) == 4                                                     # a shaft and a head of each
    for k, part in ((0, P[:3]), (2, P[3:])):
        shaft = poses[k, :, 2]
        np.testing.assert_allclose(np.cross(shaft, part), 0.0, atol=1e-9)
        assert shaft @ part > 0 and np.linalg.det(poses[k, :, :3]) > 0
        np.testing.assert_allclose(poses[k, :, 3], now[:3], atol=1e-12)
    assert "angular momentum: longest" in browser.evaluate("document.getElementById('legend').textContent")
