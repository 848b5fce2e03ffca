"""Robots served to browsers: who is let in, what watchers get, what orders do, and hands on the page."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import engine
from engine import ops
from engine.model import Builder, Geometry, Limits, Material
from engine.spatial import inertia, quaternion
from engine.viewer.scene import Actor, Scene
from engine.viewer.serve.orders import ORDERS
from engine.viewer.serve.server import Server
from engine.viewer.serve.stage import Stage
from engine.viewer.serve.watcher import AHEAD
from tests.viewer.browser import Browser
from tests.viewer.mechanism import RED, mechanism, motion

SIZE = (640, 480)
FAR = np.array([1.0, 0, 0, 0, 6.778e6, -2.4e5, 3.0])
MODEL = mechanism()
TIP = MODEL.link_index("tip")


def stone():
    """A red box that floats, and a fin on it."""
    builder = Builder("stone")
    builder.add_link("box", inertia=inertia.box(2.0, np.array([0.4, 0.4, 0.4])),
                     visuals=(Geometry("box", (0.4, 0.4, 0.4), material=Material("red", RED)),))  # fmt: skip
    builder.add_link("fin", inertia=inertia.box(0.1, np.array([0.1, 0.1, 0.1])), visuals=(Geometry("box", (0.05, 0.05, 0.5)),))
    builder.add_joint("hinge", "revolute", "box", "fin", axis=np.array([0.0, 0.0, 1.0]), limits=Limits(lower=-2.0, upper=2.0))
    return builder.model(floating_base=True)


@pytest.fixture(scope="module")
def simulator():
    return engine.Simulator(stone(), dt=2e-3, gravity=(0, 0, 0), parameters={"gravity": np.zeros(3), "damping.hinge": 0.5})


@pytest.fixture
def server(simulator):
    with engine.serve(simulator, port=0) as server:
        yield server


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"), SIZE)
    yield browser
    browser.close()


@pytest.fixture(autouse=True)
def no_faults(request):
    yield
    if "browser" in request.fixturenames:
        driven = request.getfixturevalue("browser")
        driven("Page.navigate", url="about:blank")
        faults, driven.faults[:] = [*driven.faults], []
        assert not [fault for fault in faults if not fault.startswith("WebSocket connection to")]   # of a server that is gone


def socket_of(url):
    """The address of the socket that a page connects to."""
    return url.replace("http", "ws", 1).replace("/?", "/socket?")


class Watcher:
    """A client that is no browser."""

    def __init__(self, server, origin=None):
        self.context = connect(socket_of(server.url), origin=origin)

    def __enter__(self):
        self.socket = self.context.__enter__()
        return self

    def __exit__(self, *how):
        self.context.__exit__(*how)

    def order(self, order, **fields):
        self.socket.send(json.dumps({"order": order, **fields}))

    def next(self, kind, seen=True, patience=10.0):
        """The next "frame", "status", "plots" or "error"; frames on the way to it are seen."""
        end = time.monotonic() + patience
        while True:
            data = self.socket.recv(timeout=max(end - time.monotonic(), 0.0))
            if isinstance(data, bytes):
                if seen:
                    self.order("seen")
                if kind == "frame":
                    return data
            elif kind in (told := json.loads(data)):
                return told[kind]

    def until(self, true):
        """The first status of which something is true."""
        while not true(status := self.next("status")):
            pass
        return status


def poses(frame, actors=1):
    """The time of a frame and the poses (n, 4, 4) in it, of one actor."""
    head = np.frombuffer(frame, "<f8", 1 + 3 * actors)
    rows = np.frombuffer(frame, "<f4", offset=head.nbytes).reshape(-1, 7).astype(float)
    T = np.tile(np.eye(4), (len(rows), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = quaternion.to_matrix(rows[:, 3:]), head[1:4] + rows[:, :3]
    return head[0], T


def until(true, patience=10.0):
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def get(url):
    """The status, the body and the headers of an address."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


# ---------------------------------------------------------------- who is let in


def test_only_who_has_the_token_is_let_in(server):
    status, page, headers = get(server.url)
    assert (status, "<title>stone</title>" in page, headers["Referrer-Policy"]) == (200, True, "no-referrer")
    assert server.token in server.url and server.token not in page
    root = server.url.split("?")[0]
    for address in ("", "?token=", "?token=%C3%A4", f"?token={server.token[:-1]}", f"socket?token={server.token}x"):
        status, body, _ = get(root + address)
        assert (status, body.count("\n"), "token" in body) == (403, 1, True)
    assert get(f"{root}other?token={server.token}")[0] == 404
    next_door = f"http://localhost:{server.port + 1}"
    for url, origin in ((server.url, "http://elsewhere.example"), (server.url + "x", None), (server.url, next_door)):
        with pytest.raises(InvalidStatus) as refused, connect(socket_of(url), origin=origin):
            pass
        assert refused.value.response.status_code == 403
    with Watcher(server, origin=root.rstrip("/")) as watcher:
        watcher.next("frame")


def test_secrets_differ_and_the_port_is_this_machines_alone(simulator, server):
    with engine.serve(MODEL, port=0) as other:
        assert other.token != server.token and len(other.token) > 40 and other.port != server.port
    name, _ = server._socket.getsockname()[:2]
    assert name.startswith("127.")


@pytest.mark.parametrize("given, said", [
    ({"port": 70000}, "port is 70000"), ({"port": -1}, "port is -1"), ({"port": "a"}, "port is 'a'"),
    ({"host": 3}, "host is 3"), ({"fps": "a"}, "fps is 'a'"), ({"fps": 0}, "fps is 0"),
    ({"host": "no.such.host.invalid"}, "is not known"),
    ({"token": "short"}, "token"), ({"token": "with space in it"}, "token"), ({"environment": "sea"}, "sea"),
])  # fmt: skip
def test_what_cannot_be_served_is_a_sentence(given, said):
    with pytest.raises(engine.ViewerError, match="expected") as error:
        engine.serve(MODEL, **{"port": 0, **given})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_where_it_begins_is_refused_of_what_has_its_own(simulator):
    played = motion(MODEL, 1.0, 2.0)
    for source, given in ((played, "q0"), (played, "v0"), ([MODEL], "q0"), (MODEL, "v0")):
        for show in (engine.serve, engine.view, engine.Widget):
            with pytest.raises(engine.ViewerError, match=f"^{given} is where .*; expected none with a {type(source).__name__}$"):
                show(source, **{given: np.zeros(3)})


def test_a_list_with_a_simulator_is_told_what_to_make_of_it(simulator):
    with pytest.raises(engine.ViewerError, match=r"the Simulator of 'stone' here; expected engine\.Live\(simulator, q0, v0\)"):
        engine.serve([simulator, simulator], port=0)


WAITING = """
import engine
with engine.serve(engine.load_urdf(engine.example("free_flyer"), floating_base=True), port=0) as server:
    print("ready", flush=True)
    server.wait()
    print(server)
"""


def test_waiting_ends_quietly_at_ctrl_c():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "") and out.endswith(", 0 watching>\n")       # whoever made it closes it


def test_a_port_that_is_taken_is_a_sentence_and_by_default_another_is_found(server):
    with pytest.raises(engine.ViewerError, match=f"port {server.port} at 'localhost' cannot be had .*; expected one that is free"):
        engine.serve(MODEL, port=server.port)
    with engine.serve(MODEL) as first, engine.serve(MODEL) as second:
        assert first.port != second.port


def test_without_websockets_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "websockets.asyncio.server", None)
    with pytest.raises(engine.ViewerError, match=r'pip install "articulated-engine\[web\]"'):
        engine.serve(MODEL)


# ---------------------------------------------------------------- what watchers get


def test_frames_say_where_links_are_far_from_the_origin_too():
    q = MODEL.neutral()
    q[:7] = FAR
    with engine.serve(MODEL, q0=q, port=0) as server, Watcher(server) as watcher:
        t, T = poses(watcher.next("frame"))
        expected = Scene(Actor(MODEL, q=q)).actors[0].poses(0.0)[0]
        assert t == 0.0 and np.abs(T - expected).max() < 1e-6
        watcher.order("turn", actor=0, joint="tip_joint", value=0.05)
        q[MODEL.q_slice("tip_joint")] = 0.05
        expected = Scene(Actor(MODEL, q=q)).actors[0].poses(0.0)[0]
        assert np.abs(poses(watcher.next("frame"))[1] - expected).max() < 1e-6
        assert watcher.until(lambda s: s["joints"][0]["tip_joint"])["joints"][0]["tip_joint"] == 0.05


def test_it_begins_when_somebody_watches_and_everybody_sees_the_newest(server):
    assert server.live.paused and server.live.state.t == 0.0
    with Watcher(server) as quick, Watcher(server) as slow:
        until(lambda: server.watchers == 2)
        for _ in range(AHEAD):
            slow.next("frame", seen=False)
        times, ages = [], []
        for _ in range(40):
            times.append(poses(quick.next("frame"))[0])
            ages.append(server.live.state.t - times[-1])
        assert (np.diff(times) > 0).all()
        assert np.median(ages) < 0.1
        with pytest.raises(TimeoutError):                                      # what it has not seen does not pile up
            while True:
                assert not isinstance(slow.socket.recv(timeout=0.2), bytes)
        slow.order("seen")
        assert poses(slow.next("frame"))[0] > times[-1]
    until(lambda: server.watchers == 0)


def test_watchers_come_and_go_and_leave_nothing_behind(server):
    before = threading.active_count()
    for _ in range(30):
        with Watcher(server) as watcher:
            watcher.next("frame")
            watcher.socket.socket.shutdown(socket.SHUT_RDWR)                   # without goodbye
    until(lambda: server.watchers == 0 and threading.active_count() <= before)


def test_closing_while_watched_says_goodbye_and_frees_the_port(simulator):
    live = engine.Live(simulator, simulator.model.neutral(), np.zeros(7))
    server = engine.serve(live, port=0)
    with Watcher(server) as watcher:
        watcher.next("frame")
        waiting = threading.Thread(target=server.wait)
        waiting.start()
        server.close()
        waiting.join(5.0)
        assert not waiting.is_alive()
        with pytest.raises(ConnectionClosed) as gone:
            while True:
                watcher.socket.recv(timeout=5.0)
        assert gone.value.rcvd.code == 1001
    server.close()                                                             # twice does no harm
    t = live.state.t
    until(lambda: live.state.t > t)                                            # it was given, and goes on
    live.close()
    with engine.serve(MODEL, port=server.port):
        pass


def test_readings_come_along(server):
    with Watcher(server) as watcher:
        until(lambda: len(watcher.next("plots")[0]["t"]) > 4)
        plots = {plot["name"]: plot for plot in watcher.next("plots")}
        assert {"q.hinge", "energy change", "base rotation"} <= {*plots}
        assert all(len(p["t"]) == len(p["y"]) for p in plots.values())


# ---------------------------------------------------------------- orders


NONSENSE = ["", "nonsense", "[]", "3", "null", "{", "[" * 4000, '{"order": 3}', '{"order": "reboot"}', '{"order": ["pause"]}',
            '{"order": "pause", "x": 1}',
            '{"order": "step"}', '{"order": "step", "steps": 0}', '{"order": "step", "steps": 1e99}', '{"order": "step", "steps": true}',
            '{"order": "speed", "value": NaN}', '{"order": "speed", "value": 0}', '{"order": "speed", "value": "fast"}',
            '{"order": "set", "name": "gravity", "value": [1, 2]}', '{"order": "set", "name": "gravity", "value": [[[1]], 2, 3]}',
            '{"order": "set", "name": "gravity", "value": [1, 2, Infinity]}', '{"order": "set", "name": "nothing", "value": 1}',
            '{"order": "set", "name": "pull.stiffness", "value": 1e9}', '{"order": "set", "name": 3, "value": 1}',
            '{"order": "pull", "link": "nothing", "point": [0, 0, 0], "target": [0, 0, 0]}',
            '{"order": "pull", "link": "box", "point": [0, 0], "target": [0, 0, 0]}',
            '{"order": "pull", "link": "box", "point": [0, 0, 1e999], "target": [0, 0, 0]}',
            '{"order": "turn", "actor": 0, "joint": "hinge", "value": 1}', '{"order": "_turn"}', '{"order": "close"}',
            '{"order": "__class__"}', b"\x00\xff"]  # fmt: skip


def test_nonsense_is_answered_with_a_sentence_and_stops_nothing(server):
    with Watcher(server) as watcher:
        for message in NONSENSE:
            watcher.socket.send(message)
            said = watcher.next("error")
            assert said and "\n" not in said and len(said) < 400, message
        watcher.order("pause")
        watcher.until(lambda s: s["paused"])
        watcher.socket.send(json.dumps({"order": "set", "name": "x" * 5000, "value": 1}))          # too long to be read at all
        with pytest.raises(ConnectionClosed), contextlib.suppress(TimeoutError):
            while True:
                watcher.socket.recv(timeout=10.0)
    with Watcher(server) as watcher:
        watcher.next("frame")
    assert {*ORDERS} == {"watch", "seen", "pause", "resume", "reset", "release", "step", "speed", "set", "pull", "turn"}


def test_orders_steer_the_simulation(server):
    live = server.live
    with Watcher(server) as watcher, Watcher(server) as other:
        watcher.order("pause")
        other.until(lambda s: s["paused"])
        until(lambda: live.rate == 0.0)
        t = live.state.t
        watcher.order("step", steps=5)
        until(lambda: live.state.t > t)
        assert live.state.t == pytest.approx(t + 5 * 2e-3)
        watcher.order("speed", value=0.5)
        assert other.until(lambda s: s["speed"] != 1.0)["speed"] == 0.5
        watcher.order("set", name="gravity", value=[0, 0, -1.5])
        assert other.until(lambda s: any(s["parameters"]["gravity"]))["parameters"]["gravity"] == [0, 0, -1.5]
        watcher.order("resume")
        until(lambda: live.state.q[6] < -1e-3)
        watcher.order("set", name="damping.hinge", value=2)
        watcher.order("pause")
        watcher.order("reset")
        until(lambda: live.state.t == 0.0)
        assert not any(n.startswith("pull.") for n in other.next("status")["parameters"])


def test_a_pull_moves_the_link_until_its_hand_is_gone(server):
    live = server.live
    with Watcher(server) as watcher:
        watcher.next("frame")
        watcher.order("pull", link="box", point=[0.2, 0, 0], target=[0.6, 0.3, 0])
        until(lambda: np.abs(live.state.q[4:6] - [0.4, 0.3]).max() < 0.3 and live.state.q[4] > 0.1)
        watcher.order("release")
        until(lambda: not live.parameters["pull.link"].any())
        watcher.order("pull", link="box", point=[0, 0, 0], target=[0, 0, 0])
        until(lambda: live.parameters["pull.link"].any())
    until(lambda: not live.parameters["pull.link"].any())


def test_what_a_hand_holds_is_its_own(server):
    held = server.live.parameters
    with Watcher(server) as first, Watcher(server) as second:
        first.next("frame")
        first.order("pull", link="box", point=[0.1, 0, 0], target=[0.2, 0, 0])
        until(lambda: server.live.parameters["pull.link"].any())
        held = server.live.parameters
        second.order("pull", link="fin", point=[0, 0, 0], target=[0, 0, 1])
        assert second.next("error") == "another browser pulls a link already; expected a pull when it has let go"
        second.order("release")
        second.order("reboot")
        second.next("error")                                                   # all before it is done
        assert all((server.live.parameters[n] == x).all() for n, x in held.items() if n.startswith("pull."))
        first.order("release")
        until(lambda: not server.live.parameters["pull.link"].any())
        second.order("pull", link="fin", point=[0, 0, 0], target=[0, 0, 1])
        until(lambda: server.live.parameters["pull.link"].any())
        first.order("pull", link="box", point=[0, 0, 0], target=[0, 0, 1])
        first.next("error")


def test_several_robots_are_served_together():
    at_rest = [Actor(mechanism("left")), Actor(mechanism("right"), q=np.r_[1.0, 0, 0, 0, 2, 0, 0, np.zeros(MODEL.nq - 7)])]
    with engine.serve(at_rest, port=0) as server, Watcher(server) as watcher:
        watcher.next("frame")
        watcher.order("turn", actor=1, joint="arm_joint", value=0.4)
        assert [j["arm_joint"] for j in watcher.until(lambda s: s["joints"][1]["arm_joint"])["joints"]] == [0.0, 0.4]
        for actor, joint in ((2, "arm_joint"), (0, "arm"), (0, "floating_base")):
            watcher.order("turn", actor=actor, joint=joint, value=0.4)
            assert "cannot be turned" in watcher.next("error")
        watcher.order("pause")
        assert "simulation that runs" in watcher.next("error")


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
    names = browser.evaluate("Array.from(document.querySelectorAll('#sliders span'), s => s.textContent)")
    assert names == ["gravity[0]", "gravity[1]", "gravity[2]", "damping.hinge"]
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
        assert browser.evaluate("document.querySelector('#readings summary').textContent") == "readings: rollout 0 of 3"
