"""A page that is served has the window's marks, its help, and the force of a pull."""

import numpy as np
import pytest

import engine
from engine.viewer.files.picture import render
from engine.viewer.scene import Scene, Shown, Still
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.serve.stage import Stage
from tests.viewer.browser import until
from tests.viewer.mechanism import mechanism, motion, stone
from tests.viewer.test_served_page import mouse, where

SIZE = (640, 480)


@pytest.fixture(autouse=True)
def no_faults(browser):
    browser("Page.navigate", url="about:blank")
    browser.faults.clear()
    yield
    browser("Page.navigate", url="about:blank")
    assert not [fault for fault in browser.faults if not fault.startswith("WebSocket connection to")]


def test_keys_show_the_windows_marks_where_it_has_them(browser):
    """Second route: the same picture by the window's renderer, with and without marks."""
    model = mechanism("arm")
    with engine.serve(model, port=0, environment="plain") as server:
        browser.open(server.url + "#camera=50,25,2,0.1,0.05,0.15")
        browser.wait("page.status !== undefined")
        bare = browser.picture().astype(int)
        for key in "km":
            browser.press(key)
        browser.wait("page.scene.marks.counts[0] > 10")
        marked = browser.picture().astype(int)
        camera, scene = Camera(np.array([0.1, 0.05, 0.15]), 2.0, np.radians(50), np.radians(25)), Scene(Still(model), "plain")
        ours = render(scene, camera=camera, size=SIZE, shown=Shown(link_frames=True, centers=True)).astype(int)
        without = render(scene, camera=camera, size=SIZE).astype(int)
        part = slice(45, -120)
        seen = (np.abs(ours - without).max(axis=2) > 60)[part, 280:]                         # beside the sliders
        off = (np.abs(ours - marked).max(axis=2) > 60)[part, 280:]
        assert seen.mean() > 0.002 and off[seen].mean() < 0.25 and off.mean() < 0.01
        browser.press("n")
        browser.wait("[...document.querySelectorAll('#words text')].some(x => x.textContent === 'tip')")
        for key in "kmn":
            browser.press(key)
        browser.wait("page.scene.marks.counts.every(x => x === 0)")
        assert (np.abs(browser.picture().astype(int) - bare).max(axis=2) > 10).mean() < 1e-3


def test_a_simulation_has_arrows_a_legend_help_and_the_force_of_a_pull(browser):
    simulator = engine.Simulator(stone(), dt=2e-3, gravity=(0, 0, 0))
    with engine.serve(simulator, v0=[0, 0, 0.5, 0, 0, 0, 0.3], port=0, shown=Shown(momentum=True)) as server:
        browser.open(server.url)
        browser.wait("page.status && page.t > 0.1 && page.scene.marks.counts[0] > 0")
        browser.wait("document.getElementById('legend').textContent.includes('momentum')")
        browser.press("h")
        assert "inertia ellipsoids" in browser.evaluate("document.getElementById('help').textContent")
        browser.press("h")
        assert browser.evaluate("document.getElementById('help')") is None
        x, y = where(browser, (0.2, 0.0, 0.0))
        mouse(browser, (x, y), (x + 40, y), (x + 90, y), ctrl=True, release=False)
        until(lambda: server.live.parameters["pull.link"].any())
        browser.wait("document.querySelector('#band text') !== null")
        assert browser.evaluate("document.querySelector('#band text').textContent").endswith(" N")
        mouse(browser, (x + 90, y))


def test_a_motion_shows_what_is_asked_for_and_switches_nothing():
    stage = Stage(Scene(motion(mechanism("arm"))), 10.0, Shown(momentum=True))
    assert '"moments":' in stage.page()
    with pytest.raises(ViewerError, match="mark 'momentum' cannot be shown; expected none: serve"):
        stage.obey("show", {"name": "momentum"})
    rest = Stage(Scene(mechanism("arm")), 10.0)
    with pytest.raises(ViewerError, match=r"mark 'centres' cannot be shown.*expected joint_frames"):
        rest.obey("show", {"name": "centres"})
    with pytest.raises(ViewerError, match="asks for transparent, which a page does not have"):
        Stage(Scene(mechanism("arm")), 10.0, Shown(transparent=True))
