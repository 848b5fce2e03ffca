"""Robots served to browsers: who is let in, what watchers get, and what orders do."""

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
from engine.spatial import quaternion
from engine.viewer.scene import Actor, Scene
from engine.viewer.serve.orders import ORDERS
from engine.viewer.serve.watcher import AHEAD
from tests.viewer.browser import until
from tests.viewer.mechanism import mechanism, motion

SIZE = (640, 480)
FAR = np.array([1.0, 0, 0, 0, 6.778e6, -2.4e5, 3.0])
MODEL = mechanism()
TIP = MODEL.link_index("tip")


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
    with monkeypatch.context() as half:                                        # half of it is there
        half.setitem(sys.modules, "websockets.asyncio.server", None)
        with pytest.raises(engine.ViewerError, match="the page cannot be served"):
            engine.serve(MODEL)
    monkeypatch.setitem(sys.modules, "websockets", None)
    with pytest.raises(engine.ViewerError, match=r'pip install "\.\[web\]"'):
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
        plots = {curve["name"]: (plot["t"], curve["y"]) for plot in watcher.next("plots") for curve in plot["curves"]}
        assert {"q.hinge", "energy change", "base rotation"} <= {*plots}
        assert all(len(t) == len(y) for t, y in plots.values())


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
    assert {*ORDERS} == {"watch", "seen", "pause", "resume", "reset", "release", "step", "speed", "set", "pull", "turn", "show"}


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
