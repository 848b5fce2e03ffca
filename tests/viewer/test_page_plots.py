"""Plots in pages: what is plotted in a picture is plotted in the page that plays it and in the one that is served, in the same place."""

import json

import numpy as np
import pytest

import engine
from engine.viewer.display.facts import PLACES
from engine.viewer.display.readings import Readings
from engine.viewer.files.export import export
from engine.viewer.files.page_plots import POINTS, plots_of
from engine.viewer.scene import Scene
from engine.viewer.serve.stage import Stage
from tests.viewer.mechanism import mechanism, motion

pytestmark = pytest.mark.usefixtures("no_faults")
SIZE = (800, 600)
MODEL = mechanism()
SIGNALS = [("q.arm_joint", "q.wheel_joint"), "v.floating_base.wx"]


def halfway(q):
    return q[0] > 0.5


@pytest.fixture(scope="module")
def phased():
    """A cart that goes, passes a mark, and rests."""
    mode = engine.Phases({"go": (lambda v: 2.0 * (1.0 - v), halfway), "rest": (lambda v: -4.0 * v, None)}, period=0.01)
    mark = engine.Event(lambda q: q[0] - 0.4, action=None)
    rail = engine.Builder("rail")
    rail.add_link("world")
    rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1), visuals=[engine.Geometry("box", (0.2, 0.2, 0.2))])
    rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    simulator = engine.Simulator(rail.model(), dt=0.01, gravity=(0, 0, 0), laws=[mode], controller=mode.commands, events=[mark])
    return simulator.run([0.0], [0.0], 3.0)


def box(browser, selector):
    return browser.evaluate(f"(b => [b.left, b.top, b.right, b.bottom])(document.querySelector({selector!r}).getBoundingClientRect())")


def test_a_page_reads_its_values_from_the_curves(browser, tmp_path):
    """At a time between samples each curve's value is the motion's, names and units are those of a picture's plots."""
    run = motion(MODEL, 1.0, 2.0)
    browser.open(export(run, tmp_path / "page.html", signals=SIGNALS), "#t=1.337")
    plots = browser.evaluate("page.charts.plots.map(({unit, curves}) => [unit, curves.map(({name}) => name)])")
    assert plots == [["rad", ["arm_joint", "wheel_joint"]], ["rad/s", ["v.floating_base.wx"]]]
    values = browser.evaluate("page.charts.plots.flatMap(({t, curves}) => curves.map(({y}) => between(t, y, 1.337)))")
    found = Readings(Scene(run).actors[0], 0, SIGNALS).grouped(1.337)
    expected = [value for plot in found for value in (plot.now, *(now for *_, now in plot.others))]
    assert values == pytest.approx(expected, rel=1e-5)                         # six digits, and both are linear in t
    assert browser.evaluate("between([0, 1], [null, 1], 0.5)") is None and browser.evaluate("between([], [], 0.5)") is None
    assert browser.evaluate("document.querySelectorAll('#plots canvas').length") == 2


def test_what_has_died_away_is_zero_in_a_page_too(browser, tmp_path):
    browser.open(export(motion(MODEL, 1.0, 2.0), tmp_path / "page.html", signals=SIGNALS), "#t=1.3")
    assert browser.evaluate("[1e-9, -1e-9, 1e-5, null].map(x => settled(x, {y: [0, null, -5]}))") == [0, 0, 1e-5, None]
    scene = Scene(motion(MODEL, 1.0, 2.0))
    scene.add(target=(0.0, 0.0, 1.0))
    assert plots_of(scene, SIGNALS, "right")["title"] == ""


@pytest.mark.parametrize("place", PLACES)
def test_plots_stand_where_they_are_asked_for(browser, tmp_path, place):
    browser.open(export(motion(MODEL), tmp_path / "page.html", signals=SIGNALS, plots=place, shown=engine.Shown(momentum=True)), "#t=0.5")
    wide, high = browser.size
    left, top, right, bottom = box(browser, "#readings")
    assert right < 0.5 * wide if "left" in place else left > 0.5 * wide
    assert bottom > 0.75 * high if "lower" in place else top < 0.25 * high
    others = [box(browser, x) for x in ("#legend", "#bar", "h1")]
    assert all(right <= a or c <= left or bottom <= b or d <= top for a, b, c, d in others)


def test_curves_phases_and_events_are_seen(browser, tmp_path, phased):
    """Each curve in its colour, bright as far as it has gone; a line where an event was; a band for every other phase."""
    signals = [("q.slide", "v.slide")]
    [plot] = plots_of(Scene(phased), signals, "right")["found"]
    assert plot["events"] == [e.t for e in phased.events] != [] and [name for name, *_ in plot["phases"]] == ["go", "rest"]
    browser.open(export(phased, tmp_path / "page.html", signals=signals), "#t=2")
    left, top, right, bottom = (round(x) for x in box(browser, "#plots canvas"))
    seen = browser.picture()[top:bottom, left:right].astype(int)
    for color in browser.evaluate("page.charts.colors")[:2]:
        rgb = np.array([int(x) for x in color[4:-1].split()])
        columns = np.flatnonzero((np.abs(seen[20:] - rgb).max(axis=2) < 30).any(axis=0))
        now = browser.evaluate("page.charts.plots[0].scale.across(2)")
        assert len(columns) > 0.5 * now and abs(columns.max() - now) <= 4, color
    at, begin = browser.evaluate(f"[{plot['events'][0]}, {plot['phases'][1][1]}].map(page.charts.plots[0].scale.across)")
    column, beside = seen[20:58, round(at) - 1 : round(at) + 2].sum(axis=2), seen[20:58, round(at) - 5 : round(at) - 2].sum(axis=2)
    assert np.median(column.max(axis=1)) > np.median(beside) + 30
    assert np.median(seen[20:58, round(begin) + 6]) > np.median(seen[20:58, round(begin) - 6]) + 5


def test_what_is_served_plots_the_same(browser, phased, simulator):
    """The chosen curves come first, the usual ones after them; of what runs they end now."""
    told = json.loads(Stage(Scene(motion(MODEL)), 30.0, None, SIGNALS).plots())["plots"]
    assert [[c["name"] for c in p["curves"]] for p in told[:2]] == [["arm_joint", "wheel_joint"], ["v.floating_base.wx"]]
    assert "energy change" in [p["curves"][0]["name"] for p in told[2:]]
    with engine.serve(simulator, port=0, signals=[("q.hinge", "q.floating_base.z")], plots="left") as server:
        browser.open(server.url)
        browser.wait("page.t > 0.5 && page.charts.plots.length > 2")
        server.live.pause()
        browser.wait("page.charts.plots[0].t.length > 3 && page.charts.plots[0].scale")
        browser.wait("!document.getElementById('controls').hidden")
        assert browser.evaluate("page.charts.plots[0].curves.length") == 2
        (left, _, right, bottom), (beside, below, *_) = box(browser, "#readings"), box(browser, "#controls")
        assert left < 20 and (right <= beside or bottom <= below)              # sliders make way
    with engine.serve(phased, port=0, signals=["q.slide"]) as server:
        browser.open(server.url, "#t=1.5")
        browser.wait("page.charts.plots.length > 1 && page.charts.t === 1.5")
        assert browser.evaluate("page.charts.plots.every(({events}) => events.length)")
    browser("Page.navigate", url="about:blank")
    browser.faults[:] = [fault for fault in browser.faults if not fault.startswith("WebSocket connection to")]


def test_what_is_not_there_is_refused_in_the_same_words(tmp_path):
    """By pictures, pages that play, and pages that are served."""
    run, still = motion(MODEL), Scene(MODEL)
    ways = (lambda source, **given: engine.render(source, size=(64, 48), samples=0, **given),
            lambda source, **given: export(source, tmp_path / "page.html", **given),
            lambda source, **given: engine.serve(source, port=0, **given))
    for source, given, text in ((run, {"signals": ["q.arm"]}, "'mechanism' has no signal 'q.arm'"),
                                (run, {"signals": SIGNALS, "plots": "middle"}, "plots is 'middle'; expected one of right, left"),
                                (still, {"signals": SIGNALS}, "signals of 'mechanism', which is at rest; expected a motion")):  # fmt: skip
        for way in ways:
            with pytest.raises(engine.ViewerError, match=text):
                way(source, **given)
    with pytest.raises(engine.ViewerError, match=r"signals is given for \.glb, which has no plots of one's choice; expected it left out"):
        export(run, tmp_path / "run.glb", signals=SIGNALS)
    with pytest.raises(engine.ViewerError, match="signals is given for a page that simulates"):
        export(engine.Simulator(MODEL, dt=0.01), tmp_path / "live.html", signals=SIGNALS)


def test_long_motions_keep_their_extremes():
    t = np.linspace(0.0, 1.0, 20_001)
    run = motion(MODEL)
    q = MODEL.integrate(np.broadcast_to(MODEL.neutral(), (len(t), MODEL.nq)), np.eye(MODEL.nv)[6] * np.sin(900.0 * t)[:, None])
    zero = np.zeros((len(t), MODEL.nv))
    long = engine.Trajectory(MODEL, run.gravity, t, q, zero, zero, zero)
    [plot] = plots_of(Scene(long), ["q.arm_joint"], "right")["found"]
    y = plot["curves"][0]["y"]
    assert POINTS // 2 < len(y) <= POINTS + 2 and max(y) == pytest.approx(1.0, abs=1e-4) and min(y) == pytest.approx(-1.0, abs=1e-4)
