"""The heads-up display: where things lie, what a click means, and what is written."""

import math
import time

import numpy as np
import pytest

from engine.viewer.display.facts import Button, Card, Facts, Field, Item, Panel, Plot, Slider, Switch, decimals, figure
from engine.viewer.display.hud import Hud, ticks, wrapped
from engine.viewer.draw.canvas import Canvas

T = np.linspace(0.0, 12.0, 160)
HELP = [(f"Key {k}", f"what the key number {k} does") for k in range(24)]
ERROR = "the simulation stopped at t = 4.3 s: joint 'elbow' has a velocity that is not a number; expected a state within the numbers' range"


class Written(Canvas):
    """A canvas that keeps the boxes of its texts."""

    def __init__(self, scale=1.0):
        super().__init__(scale)
        self.texts = []

    def text(self, x, y, text, color, size=12.0, anchor="left", halo=False):
        super().text(x, y, text, color, size, anchor, halo)
        w = self.width(text, size)
        self.texts.append(((x - {"left": 0.0, "center": 0.5, "right": 1.0}[anchor] * w, y - 0.75 * size, w, 0.75 * size), text))

    @property
    def words(self):
        return [text for _, text in self.texts]


def facts(**changes):
    """Everything that can be shown."""
    long = "a_long_component.with_a_signal[0]"
    courses = [("energy change", "J", 1e-12 * np.sin(T)), ("base rotation", "°", 30 * T), (long, "rad/s", np.cos(3 * T))]
    everything = {
        "title": "free_flyer", "span": (0.0, 12.0), "t": 3.0, "playing": True, "speed": 0.25, "loop": True,
        "lines": [("time", "3.000 s"), ("", ""), ("kinetic energy", "12.34 J"), ("potential energy", "−0.100 J"), ("|p|", "3.201 N·s"),
                  (long, "−12.34 N·m"), ("frames/s", "60")],
        "events": [(2.5, "contact"), (7.9, "landed")],
        "plots": [Plot(name, unit, T, y, float(np.interp(3.0, T, y))) for name, unit, y in courses],
        "card": Card("left_gripper_finger_2_link_with_a_long_name", [("position", "1.234  −0.201  0.880 m"), ("mass", "2.310 kg"),
                     ("", ""), ("joint", "left_gripper_finger_2_joint_with_a_long_name"), ("velocity", "0.4411 rad/s")]),
        "toast": "saved a_picture_with_a_name_that_is_long.png", "error": ERROR, "mouse": (0.0, 0.0),
    }  # fmt: skip
    return Facts(**{**everything, **changes})


def drawn(size=(1280, 720), scale=1.0, **changes):
    hud, canvas = Hud(), Written(scale)
    hud.draw(canvas, size, facts(**changes))
    return hud, canvas


def apart(a, b, gap=0.0):
    return a[0] + a[2] + gap <= b[0] or b[0] + b[2] + gap <= a[0] or a[1] + a[3] + gap <= b[1] or b[1] + b[3] + gap <= a[1]


def within(a, b):
    return b[0] <= a[0] and b[1] <= a[1] and a[0] + a[2] <= b[0] + b[2] and a[1] + a[3] <= b[1] + b[3]


def middle(box):
    return box[0] + 0.5 * box[2], box[1] + 0.5 * box[3]


PANELS = ("info", "card", "plots", "toast", "error", "timeline")
BUTTONS = ("toggle", "slower", "faster", "loop")

# ---------------------------------------------------------------- layout


@pytest.mark.parametrize("size, scale", [((640, 360), 1.0), ((640, 360), 1.5), ((1280, 720), 1.0), ((2560, 1440), 1.0), ((1280, 720), 2.0)])
@pytest.mark.parametrize("changes", [{}, {"error": ""}, {"live": True}, {"card": None, "toast": ""}, {"title": "", "lines": ()}])
def test_nothing_overlaps_and_all_is_in_the_picture(size, scale, changes):
    hud, canvas = drawn(size, scale, **changes)
    panels = [hud.boxes[n] for n in PANELS if n in hud.boxes]
    assert len(panels) >= 3
    picture = (0.0, 0.0, *size)
    for k, panel in enumerate(panels):
        assert within(panel, picture)
        assert all(apart(panel, other, 6.0) for other in panels[:k])
    for k, (box, text) in enumerate(canvas.texts):
        assert any(within(box, panel) for panel in panels), text
        for other, said in canvas.texts[:k]:
            assert apart(box, other), (text, said)
    vertices = canvas.vertices()["position"]
    assert (vertices >= -1).all() and (vertices <= np.multiply(size, scale) + 1).all()


def test_a_large_picture_has_room_for_everything():
    hud, canvas = drawn((1280, 720))
    assert set(hud.boxes) == {*PANELS, *BUTTONS, "bar"}
    for text in ("free_flyer", "kinetic energy", "12.34 J", "energy change", "frames/s", "3.000 s", "×0.25", "0.4411 rad/s", "12"):
        assert text in canvas.words
    assert sum(w.endswith("…") for w in canvas.words) >= 3                     # long names are cut
    assert " ".join(canvas.words).count("numbers' range") == 1


@pytest.mark.parametrize("size", [(1, 1), (40, 30), (100, 80), (200, 150), (330, 220), (4000, 90)])
def test_even_a_tiny_picture_is_drawn(size):
    for changes in ({}, {"help": HELP}, {"live": True}, {"span": (0.0, 0.0)}, {"lines": [("a", "b")] * 100}):
        hud, canvas = drawn(size, **changes)
        assert np.isfinite(canvas.vertices()["position"]).all()
        assert hud.hit(*middle((0, 0, *size))) is None or isinstance(hud.hit(*middle((0, 0, *size)))[0], str)


def test_what_there_is_no_room_for_is_left_out_from_the_end():
    hud, canvas = drawn((640, 360), lines=[(f"label {k}", str(k)) for k in range(100)], error="", card=None)
    shown = [w for w in canvas.words if w.startswith("label")]
    assert shown == [f"label {k}" for k in range(len(shown))] and 12 <= len(shown) <= 16
    assert hud.boxes["info"][3] <= 360 - 2 * 12 - 46 - 8 and sum(w in ("energy change", "base rotation") for w in canvas.words) == 2


def test_what_is_not_there_is_not_shown():
    hud, canvas = Hud(), Written()
    hud.draw(canvas, (1280, 720), Facts())
    assert not hud.boxes and not canvas.words and len(canvas.vertices()) == 0 and hud.hit(640, 700) is None
    hud.draw(canvas, (1280, 720), Facts("arm", [("links", "7")]))
    assert set(hud.boxes) == {"info"} and canvas.words == ["arm", "links", "7"]


def test_the_help_lies_over_everything_and_fits():
    for size in ((640, 360), (1280, 720)):
        hud, canvas = drawn(size, help=HELP, error="")
        box = hud.boxes["help"]
        assert within(box, (0, 0, *size))
        said = {text: at for at, text in canvas.texts}
        assert all(within(said[key], box) for key, _ in HELP)
        keys = [said[key] for key, _ in HELP] + [at for at, text in canvas.texts if text.startswith("what the key")]
        assert len(keys) == 2 * len(HELP) and all(apart(a, b) for k, a in enumerate(keys) for b in keys[:k])
        assert hud.hit(*middle(box)) == ("help",) == hud.hit(*middle(hud.boxes["bar"]))
    assert math.isclose(box[0] + 0.5 * box[2], 640) and math.isclose(box[1] + 0.5 * box[3], 360)


# ---------------------------------------------------------------- the mouse


@pytest.mark.parametrize("size", [(640, 360), (1280, 720)])
def test_every_button_is_hit_where_it_is(size):
    hud, _ = drawn(size)
    for name in BUTTONS:
        assert hud.hit(*middle(hud.boxes[name])) == (name,)
    assert hud.hit(*middle(hud.boxes["info"])) == ("panel",) == hud.hit(*middle(hud.boxes["error"]))
    assert hud.hit(0.5 * size[0], 0.5 * size[1]) is None
    live, _ = drawn(size, live=True)
    assert live.hit(*middle(live.boxes["reset"])) == ("reset",) and "loop" not in live.boxes


def test_the_bar_is_its_span():
    hud, canvas = drawn(span=(2.0, 6.0), t=3.0)
    x, y, w, h = hud.boxes["bar"]
    for part in (0.0, 0.25, 0.5, 0.999):
        what, t = hud.hit(x + part * w, y + 0.5 * h)
        assert what == "scrub" and t == pytest.approx(2.0 + 4.0 * part)
    assert hud.hit(x - 5, y + 20) == ("scrub", 2.0) and hud.hit(x + w + 5, y + 20) == ("scrub", 6.0)        # the ends are easily hit
    assert hud.scrub(-1e4) == ("scrub", 2.0) and hud.scrub(1e4) == ("scrub", 6.0)                            # held, far beyond
    at = {text: box[0] + 0.5 * box[2] for box, text in canvas.texts}
    at = {float(text): place for text, place in at.items() if text.replace(".", "").isdigit()}
    assert at[3.0] == pytest.approx(x + 0.25 * w, abs=1) and at[5.0] == pytest.approx(x + 0.75 * w, abs=1)


def test_what_is_under_the_pointer_is_lit_and_told():
    hud, canvas = drawn()
    x, y, w, _ = hud.boxes["bar"]
    for part, text in ((0.5, "6.00 s"), (2.5 / 12 + 0.002, "contact  2.50 s"), (7.9 / 12, "landed  7.90 s")):
        _, pointed = drawn(mouse=(x + part * w, y + 10))
        assert [text in c.words for c in (pointed, canvas)] == [True, False]
    _, lit = drawn(mouse=middle(hud.boxes["faster"]))
    assert len(lit.vertices()) == len(canvas.vertices()) + 1


# ---------------------------------------------------------------- what is drawn


def test_the_course_of_a_signal_lies_where_it_should():
    t = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    for y, now in (([0.0, 2.0, np.nan, -2.0, 0.0], 0.0), ([5.0] * 5, 5.0), ([0.1 + 0.2] * 4 + [0.3], 0.3)):
        hud, canvas = Hud(), Written()
        hud.draw(canvas, (1280, 720), Facts(span=(0.0, 4.0), t=4.0, plots=[Plot("signal", "m", t, np.array(y), now)]))
        left, top, w, h = hud.boxes["plots"]
        v = canvas.vertices()
        curve = v[(v["shape"][:, 0, 1] == np.float32(0.8)) & (v["shape"][:, 0, 3] == 0)]["position"].mean(axis=1)      # middles of pieces
        assert len(curve) and (curve[:, 0] > left).all() and (curve[:, 0] < left + w - 50).all()
        assert (curve[:, 1] > top).all() and (curve[:, 1] < top + h).all()
    hud.draw(canvas := Written(), (1280, 720), Facts(t=1.0, plots=[Plot("signal", "m", t, np.array([0.0, 2.0, np.nan, -2.0, 0.0]), 2.0)]))
    assert {"2.000 m", "2.00", "−2.00"} <= set(canvas.words)
    for y in (np.full(5, np.nan), np.array([])):
        hud.draw(canvas := Written(), (1280, 720), Facts(plots=[Plot("nothing", "", t[: len(y)], y, np.nan)]))
        assert {"nothing", "–"} <= set(canvas.words)


def test_the_knob_and_the_clock_follow_the_time():
    for t in (0.0, 3.0, 12.0):
        hud, canvas = drawn(t=t, events=(), card=None, plots=())
        x, _, w, _ = hud.boxes["bar"]
        v = canvas.vertices()
        knob = v[(v["shape"][:, 0, 0] == 5.5) & (v["shape"][:, 0, 2] == 5.5)]
        assert knob["position"][0, :, 0].mean() == pytest.approx(x + w * t / 12.0, abs=1e-3)
        assert f"{t:.2f} s" in canvas.words


def test_playing_and_paused_look_different():
    icons = [drawn(playing=p)[1].vertices() for p in (True, False)]
    assert len(icons[0]) != len(icons[1])


def test_an_error_is_wrapped_not_lost():
    canvas = Canvas()
    lines = wrapped(canvas, ERROR, 300, 5)
    assert " ".join(lines) == ERROR and all(canvas.width(line) <= 300 for line in lines) and len(lines) > 2
    assert len(wrapped(canvas, ERROR, 300, 2)) == 2 and wrapped(canvas, ERROR, 300, 2)[1].endswith("…")
    assert wrapped(canvas, "m" * 200, 300, 3)[0].endswith("…") and wrapped(canvas, "", 300, 3) == []


@pytest.mark.parametrize("start, end", [(0.0, 12.0), (0.0, 0.004), (-3.0, 7.5), (1000.0, 1000.5), (0.0, 86400.0), (0.1, 0.4)])
@pytest.mark.parametrize("width", [60, 300, 2000])
def test_ticks_are_round_even_and_not_crowded(start, end, width):
    canvas = Canvas()

    def measure(text):
        return canvas.width(text, 11)

    found = ticks(start, end, width, measure)
    times = np.array([t for t, _ in found])
    assert ((times >= start - 1e-9) & (times <= end + 1e-9)).all()
    for t, text in found:
        assert float(text.replace("−", "-")) == pytest.approx(t, abs=1e-9)
    if width >= 300:
        assert 2 <= len(found) <= 60
    if len(found) > 1:
        gaps = np.diff(times)
        assert gaps == pytest.approx(gaps[0]) and f"{gaps[0]:e}"[0] in "125"
        assert gaps[0] * width / (end - start) > max(measure(text) for _, text in found) + 8


def test_numbers_are_short_and_right():
    rng = np.random.default_rng(0)
    for x in np.concatenate([rng.standard_normal(200) * 10.0 ** rng.integers(-14, 14, 200), [0.0, 1e-3, 1e5, 9.99996, -0.0]]):
        for digits in (3, 4):
            text = figure(float(x), digits)
            assert float(text.replace("−", "-")) == pytest.approx(x, rel=10.0 ** (2 - digits), abs=1e-4 if abs(x) > 1e-3 else 1e-30)
            assert len(text) <= 9
    assert figure(math.inf) == figure(math.nan) == "–"
    assert [decimals(s) for s in (0.001, 1.0, 10.0, 12.0, 1e6)] == [6, 4, 3, 2, 0]


def test_a_whole_display_is_quickly_drawn():
    f, hud, best = facts(), Hud(), math.inf
    for _ in range(30):
        start = time.process_time()
        canvas = Canvas(2.0)
        hud.draw(canvas, (1280, 720), f)
        canvas.vertices()
        best = min(best, time.process_time() - start)
    assert best < 0.008


# ---------------------------------------------------------------- the side panel


def asked(hud, name, across=0.5):
    x, y, w, h = hud.panel.boxes[name]
    return hud.hit(x + across * w, y + 0.5 * h)


def test_the_side_panel_says_what_its_places_ask_for():
    hud, canvas, done = Hud(), Canvas(), []
    rows = [Slider("elbow", 0.5, -1.0, 3.0, "rad", done.append), Switch("frames", True, lambda: done.append("frames")),
            Button("a view", lambda: done.append("go"), lambda: done.append("forget")),
            Item("hand", 2, False, True, lambda: done.append("pick"), lambda: done.append("hide")),
            Field("find", "", done.append)]  # fmt: skip
    hud.draw(canvas, (800, 600), Facts(panel=Panel(("Joints", "Show"), "Joints", rows)))
    assert asked(hud, "tab Show") == ("tab", "Show") and asked(hud, "find")[:3] == ("type", "find", "")
    assert asked(hud, "value elbow")[:2] == ("type", "elbow")
    assert asked(hud, "elbow") == ("slide", "elbow")
    left, _, width, _ = hud.panel.boxes["elbow"]
    hud.panel.slide("elbow", left + 6 + 0.25 * (width - 12))
    hud.panel.slide("elbow", -1e4)
    for name in ("frames", "a view", "remove a view", "hand", "hide hand"):
        kind, press = asked(hud, name, 0.3)
        press()
        assert kind == "do"
    assert done == [pytest.approx(0.0), -1.0, "frames", "go", "forget", "pick", "hide"]


def test_rows_that_have_no_room_are_scrolled():
    hud, canvas = Hud(), Canvas()
    facts = Facts(panel=Panel(("Show",), "Show", [Switch(f"row {k}", False, lambda: None) for k in range(60)]))
    hud.draw(canvas, (800, 400), facts)
    assert "row 0" in hud.panel.boxes and "row 59" not in hud.panel.boxes
    x, y, *_ = hud.panel.boxes["row 3"]
    assert hud.panel.wheel(x + 1, y + 1, -100.0) and not hud.panel.wheel(10, 10, -1.0)
    hud.draw(canvas, (800, 400), facts)
    assert "row 0" not in hud.panel.boxes and "row 59" in hud.panel.boxes
    assert all(top >= 0 and top + tall <= 400 for _, top, _, tall in hud.panel.boxes.values())


def test_a_slider_that_can_only_be_read_asks_for_nothing():
    hud = Hud()
    hud.draw(Canvas(), (800, 400), Facts(panel=Panel(("Joints",), "Joints", [Slider("elbow", 0.5, -1.0, 3.0, "rad", None)])))
    assert "elbow" not in hud.panel.boxes


def test_a_slider_says_where_it_ends_and_in_what_unit(monkeypatch):
    said = []
    monkeypatch.setattr(Canvas, "text", lambda self, x, y, text, *look, **more: said.append(text))
    rows = [Slider("elbow", -0.0, -1.25, 3.0, "rad", lambda x: None)]
    Hud().draw(Canvas(), (800, 400), Facts(panel=Panel(("Joints",), "Joints", rows)))
    assert {"−1.25", "3", "0.000 rad"} <= {*said}


def test_keys_have_meanings_however_small_the_window_is():
    rows = [(f"K{k}", f"what the key of number {k} does, in words") for k in range(40)]
    for size in ((400, 300), (1280, 720)):
        hud, canvas, said = Hud(), Canvas(), []
        canvas.text = lambda x, y, text, *rest: said.append(text)
        hud.draw(canvas, size, Facts(help=rows))
        shown = [text for text in said if text.startswith("what")]
        assert len(shown) > 10 and all(len(text) > 20 for text in shown)
        hud.further = 100
        hud.draw(canvas, size, Facts(help=rows))
        assert said[-1].startswith("what the key of number 39")


def test_plots_lie_where_one_likes_and_a_caption_beside_them_is_larger_than_what_passes():
    few = {"title": "", "lines": [("time", "1 s")], "span": (0.0, 0.0), "card": None, "error": "", "toast": ""}
    middles = {}
    for where in ("right", "left", "lower right", "lower left"):
        hud, _ = drawn(where=where, caption="what a film says " * 12, **few)
        x, y, w, h = hud.boxes["plots"]
        middles[where] = x + 0.5 * w < 640, y + 0.5 * h < 360
        assert apart(hud.boxes["plots"], hud.boxes["info"]) and (apart(hud.boxes["plots"], hud.boxes["toast"]) or "lower" not in where)
        assert x > 0 and x + w < 1280 and y > 0 and y + h < 720
    assert middles == {"right": (False, True), "left": (True, True), "lower right": (False, False), "lower left": (True, False)}
    heights = [drawn(**{**few, **said})[0].boxes["toast"][3] for said in ({"caption": "contact"}, {"toast": "contact"})]
    assert heights[0] >= 1.3 * heights[1]                                      # seen small, in films


def test_phases_are_named_once():
    phases = [("approach", 0.0, 6.0), ("grasp", 6.0, 12.0)]
    plots = [Plot(name, "m", T, np.cos(T), 1.0, phases=phases) for name in ("a", "b")]
    _, canvas = drawn(plots=plots)
    assert [canvas.words.count(name) for name, *_ in phases] == [1, 1]


def test_names_of_curves_are_whole_where_the_picture_has_room():
    plot = Plot("track.p[0]", "m", T, np.cos(T), 1.0, others=[("relative.true.position[0]", np.cos(T), 1.0)])
    few = {"title": "", "lines": [("time", "1 s")], "span": (0.0, 0.0), "card": None, "error": "", "toast": "", "plots": [plot]}
    for size, whole in (((1280, 720), True), ((480, 320), False)):
        hud, canvas = drawn(size, **few)
        assert ("relative.true.position[0]" in canvas.words) is whole
        x, _, w, _ = hud.boxes["plots"]
        assert x + w <= size[0] and w <= 0.35 * size[0]
