"""Pages of robots that are served: hands on them, and that they say what is true."""

import time

import numpy as np
import pytest

import engine
from engine import ops
from engine.viewer.scene import Actor, Scene
from engine.viewer.serve.server import Server
from engine.viewer.serve.stage import Stage
from tests.viewer.browser import until
from tests.viewer.mechanism import mechanism, motion, stone

SIZE = (640, 480)
MODEL = mechanism()
TIP = MODEL.link_index("tip")


@pytest.fixture(autouse=True)
def no_faults(browser):
    yield
    browser("Page.navigate", url="about:blank")
    faults, browser.faults[:] = [*browser.faults], []
    assert not [fault for fault in faults if not fault.startswith("WebSocket connection to")]   # of a server that is gone


# ---------------------------------------------------------------- hands on the page


def where(browser, point):
    """The pixel of a point in the world."""
    return browser.evaluate(f"""(() => {{
        const m = page.camera.matrix(page.aspect), p = [{", ".join(map(str, point))}, 1];
        const row = r => p.reduce((s, x, k) => s + m[r + 4 * k] * x, 0);
        return [(0.5 + 0.5 * row(0) / row(3)) * innerWidth, (0.5 - 0.5 * row(1) / row(3)) * innerHeight];
    }})()""")


def mouse(browser, *places, ctrl=False, release=True):
    """The left button from place to place."""
    for k, (x, y) in enumerate(places):
        browser("Input.dispatchMouseEvent", type="mouseMoved" if k else "mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1,
                modifiers=2 * ctrl)  # fmt: skip
    if release:
        browser("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", buttons=0, clickCount=1)


def middle(browser, selector):
    """The middle of an element, and its width."""
    *place, width = browser.evaluate(f"""(() => {{
        const box = document.querySelector({selector!r}).getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, box.width];
    }})()""")
    return place, width


def slider(name, kind="range"):
    return f"#sliders label:nth-child({name}) [type={kind}]"


def typed(browser, name, number):
    """A number into the field beside a slider."""
    mouse(browser, middle(browser, slider(name, "number"))[0])
    browser.evaluate("document.activeElement.select()")
    browser("Input.insertText", text=str(number))
    browser("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r")
    browser("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")


def test_a_simulation_is_paused_tuned_and_pulled_on_the_page(browser, server):
    live = server.live
    browser.open(server.url)
    browser.wait("page.status && page.t > 0.1")
    mouse(browser, middle(browser, "#play")[0])
    until(lambda: live.paused)
    browser.wait("page.status.paused && !document.getElementById('play').classList.contains('playing')")
    names = browser.evaluate("Array.from(document.querySelectorAll('#sliders span'), s => s.firstChild.textContent)")
    assert names == ["gravity[0], m/s²", "gravity[1], m/s²", "gravity[2], m/s²", "damping.hinge, N·m·s/rad"]
    (x, y), width = middle(browser, slider(4))
    mouse(browser, (x, y), (x + 0.25 * width, y))
    until(lambda: 0.6 < float(live.parameters["damping.hinge"]) < 0.9)
    typed(browser, 3, -7)
    until(lambda: live.parameters["gravity"].tolist() == [0, 0, -7])
    browser.evaluate("page.order('set', {name: 'gravity', value: [0, 0, 0]}); page.order('reset')")
    until(lambda: live.state.t == 0.0)
    browser.wait("page.t === 0")
    browser.press(" ")
    until(lambda: not live.paused)
    before = browser.evaluate("page.camera.azimuth")
    x, y = where(browser, (0.2, 0.0, 0.0))
    mouse(browser, (x, y), (x + 40, y), (x + 90, y), ctrl=True, release=False)
    until(lambda: live.parameters["pull.link"][live.model.link_index("box")] == 1.0)
    until(lambda: np.linalg.norm(live.state.q[4:7]) > 0.1)
    browser.wait("document.querySelectorAll('#band line').length === 1")
    target = live.parameters["pull.target"]
    assert np.abs(np.subtract(where(browser, target), (x + 90, y))).max() < 2
    mouse(browser, (x + 90, y))
    until(lambda: not live.parameters["pull.link"].any())
    browser.wait("document.querySelectorAll('#band line').length === 0")
    assert browser.evaluate("page.camera.azimuth") == before
    browser.evaluate("page.order('speed', {value: -1})")
    browser.wait("document.getElementById('say').textContent.startsWith(\"value of 'speed' is -1; expected\")")


def test_fingers_pull_after_the_button(browser, server):
    live = server.live
    browser.open(server.url)
    browser.wait("page.status && page.t > 0.1")

    def touch(kind, *places):
        browser("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)])

    x, y = where(browser, live.state.q[4:7])
    azimuth = browser.evaluate("page.camera.azimuth")
    touch("touchStart", (x, y))
    touch("touchMove", (x + 30, y))
    touch("touchEnd")
    browser.wait(f"page.camera.azimuth !== {azimuth}")
    assert not live.parameters["pull.link"].any()
    browser.evaluate("document.getElementById('pull').click()")
    x, y = where(browser, live.state.q[4:7])
    touch("touchStart", (x, y))
    touch("touchMove", (x, y - 60))
    until(lambda: live.parameters["pull.link"].any() and live.state.q[6] > 0.01)
    touch("touchEnd")
    until(lambda: not live.parameters["pull.link"].any())


def test_joints_of_a_model_at_rest_have_sliders(browser):
    with engine.serve(MODEL, port=0) as server:
        browser.open(server.url)
        browser.wait("page.status && page.controls.size === 3")
        ends = "[...document.querySelectorAll('#sliders label')].map(x => [x.querySelector('small').textContent, +x.children[1].min])"
        assert all(float(said.split(" … ")[0].replace("−", "-")) == pytest.approx(low, rel=1e-2) for said, low in browser.evaluate(ends))
        (x, y), width = middle(browser, slider(1))
        mouse(browser, (x, y), (x + 0.3 * width, y))
        browser.wait("page.status.joints[0].arm_joint > 0.5")
        angle = browser.evaluate("page.status.joints[0].arm_joint")
        q = MODEL.neutral()
        q[MODEL.q_slice("arm_joint")] = angle
        expected = Scene(Actor(MODEL, q=q)).actors[0].poses(0.0)[0, TIP, :3]
        seen = f"page.scene.actors[0].world[{12 * TIP} + 4 * r + 3]"
        browser.wait(f"Math.hypot(...{expected[:, 3].tolist()}.map((x, r) => x - {seen})) < 1e-5")
        typed(browser, 1, 0.25)
        browser.wait("page.status.joints[0].arm_joint === 0.25")


def test_a_trajectory_plays_with_its_plots(browser):
    with engine.serve(motion(MODEL, 1.0, 2.0), port=0) as server:
        browser.open(server.url, "#t=1.5")
        browser.wait("document.querySelectorAll('#plots canvas').length > 2")
        assert browser.evaluate("[page.t, page.last, document.getElementById('controls').hidden]") == [1.5, 2.0, True]
        browser.press(" ")
        browser.wait("page.t !== 1.5 && page.playing")
        browser.press(" ")
        browser.wait("!page.playing")


def test_the_page_says_when_the_server_is_gone_and_finds_it_again(browser, simulator):
    with engine.serve(MODEL, port=0, token="of-this-test") as server:
        browser.open(server.url)
        browser.wait("page.status")
    browser.wait("document.getElementById('say').textContent.includes('gone')")
    with engine.serve(simulator, port=server.port, token="of-this-test"):
        browser.wait("window.page && page.served && page.served.kind === 'live' && page.t > 0")
        browser.wait("document.getElementById('say').textContent === ''")


# ---------------------------------------------------------------- what the page says is true


def said(browser):
    return browser.evaluate("document.getElementById('say').textContent")


@pytest.fixture
def ending():
    """A simulation that ends at 0.2 s, of its own."""

    def burst(t, q, v):
        return np.concatenate([np.zeros(6), ops.array([ops.where(t < 0.2, 0.0, ops.sqrt(-1.0 + 0.0 * t))])])

    with engine.Live(engine.Simulator(stone(), gravity=(0, 0, 0), forces=[burst]), stone().neutral(), np.zeros(7)) as live:
        yield live


def test_what_ended_a_simulation_is_said_as_long_as_it_holds(browser, ending):
    until(lambda: ending.error)
    with engine.serve(ending, port=0, token="of-this-test") as server:
        browser.open(server.url)
        browser.wait("page.status && !document.getElementById('play').classList.contains('playing')")
        assert said(browser) == ending.error and browser.evaluate("document.getElementById('rate').textContent") == ""
        browser.evaluate("page.order('speed', {value: -1})")
        browser.wait("document.getElementById('say').textContent.includes(\"value of 'speed' is -1; expected\")")
        assert said(browser).startswith(ending.error + "\n")
        browser.evaluate("page.say('')")                                       # as after a while
        assert said(browser) == ending.error
    browser.wait("document.getElementById('say').textContent.includes('gone')")
    # the same page, which a server that comes again at this address knows
    name, host, port = server._stage.name, server.host, server.port
    again = Stage(Scene(ending), 30.0)
    again.name = name
    with Server(again, host, port, "of-this-test"):
        browser.wait("!page.gone")
        time.sleep(1.0)
        assert said(browser) == ending.error
        browser.evaluate("page.order('reset')")
        browser.wait("document.getElementById('say').textContent === ''")


def test_a_value_that_is_refused_does_not_stay(browser):
    simulator = engine.Simulator(stone(), dt=2e-3, gravity=(0, 0, 0), parameters={"mass.box": 2.0})
    with engine.serve(simulator, port=0) as server:
        browser.open(server.url)
        browser.wait("page.status && page.controls.size === 1")
        browser.evaluate("page.order('pause')")
        browser.wait("page.status.paused && page.status.rate === 0")           # from here on nothing else is told
        shown = f"[document.querySelector({slider(1, 'number')!r}).value, document.querySelector({slider(1)!r}).value].join()"
        for number, why in ((-7, "mass.box"), ("1e400", "no number"), ("-e", "no number")):
            typed(browser, 1, number)
            browser.wait(f"document.getElementById('say').textContent.includes({why!r})")
            browser.wait(f"{shown} === '2,2'")
            assert browser.evaluate(f"document.querySelector({slider(1)!r}).min") == "0"
            browser.evaluate("page.say('')")
        typed(browser, 1, 6)
        browser.wait(f"{shown} === '6,6'")
        assert float(server.live.parameters["mass.box"]) == 6.0
    with engine.serve(stone(), port=0) as server:
        browser.open(server.url)
        browser.wait("page.status && page.controls.size === 1")
        for beyond in (100, 200):                                              # the second time it is at its limit already
            typed(browser, 1, beyond)
            browser.wait(f"{shown} === '2,2'")


def test_on_a_phone_the_bar_is_one_row_and_a_tap_changes_the_speed(browser, server):
    browser("Emulation.setDeviceMetricsOverride", width=340, height=600, deviceScaleFactor=1, mobile=True)
    try:
        browser.open(server.url)
        browser.wait("page.status")
        browser.evaluate("page.status.rate = 0.12345; page.show_time()")
        high = "document.getElementById('bar').offsetHeight"
        assert browser.evaluate(high) < 48
        assert browser.evaluate("document.getElementById('bar').scrollWidth <= document.getElementById('bar').clientWidth")
        speeds = []
        for _ in range(7):
            x, y = middle(browser, "#speed")[0]
            mouse(browser, (x, y))
            speeds.append(browser.evaluate("page.speed"))
        assert speeds == [2, 5, 10, 0.1, 0.2, 0.5, 1]
        late = "(() => { page.pace(2); page.told({status: {...page.status, speed: 1}}); return page.speed; })()"
        assert browser.evaluate(late) == 2                                     # the status was on its way when the button was tapped
        browser.evaluate("page.release(); page.pace(1e9); 0")                  # nothing is held, and what is refused is answered too
        browser.wait("page.obeyed === page.given")
        server.live.speed = 0.5
        browser.wait("page.speed === 0.5")
        browser.evaluate("document.querySelector('h1').textContent = 'long '.repeat(40); page.say('a sentence '.repeat(20))")
        boxes = browser.evaluate("""['h1', 'details:not([id])', '#say'].map(x => {
            const {x: left, y, right, bottom} = document.querySelector(x).getBoundingClientRect();
            return [left, y, right, bottom];
        })""")
        assert boxes[0][2] < boxes[1][0] and boxes[0][3] < boxes[2][1] and boxes[2][2] <= 340
    finally:
        browser("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)


def test_readings_of_several_rollouts_say_whose_they_are(browser):
    with engine.serve(motion(MODEL, scales=(1.0, -1.0, 0.5)), port=0) as server:
        browser.open(server.url)
        assert browser.evaluate("document.querySelector('#readings summary').textContent") == "readings: mechanism, rollout 0 of 3"
