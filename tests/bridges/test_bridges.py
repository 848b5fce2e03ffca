"""Bridges on the loopback, against clients that know nothing of the engine; and peers that send nonsense, or too much."""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.bridges.bridge import Bridge
from engine.bridges.command import command_of
from engine.bridges.foxglove import Commands, read
from tests.fmu.robots import driven

LOOPBACK = ("<CycloneDDS><Domain><General><Interfaces><NetworkInterface name='lo' multicast='true'/></Interfaces></General></Domain>"
            "</CycloneDDS>")  # fmt: skip


@pytest.fixture
def live():
    with engine.Live(driven(gravity=(0, 0, 0)), [0.1, 0.2], np.zeros(2)) as found:
        yield found


def until(good, seconds=10.0):
    end = time.monotonic() + seconds
    while not good() and time.monotonic() < end:
        time.sleep(0.01)
    assert good()


def test_by_dds_as_ros_names_it(live, monkeypatch):
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("CYCLONEDDS_URI", LOOPBACK)
    with engine.bridge(live, "dds", rate=100.0, commands={"torque": "effort"}, prefix="a/", domain=42) as bridge:
        peer = subprocess.run([sys.executable, Path(__file__).parent / "peer.py", "42", "20"], capture_output=True, text=True, check=True,
                              timeout=60)  # fmt: skip
        until(lambda: bridge.received >= 4)
        with pytest.raises(engine.BridgeError, match=r"another bridge has '/a/joint_states' in the domain 42; expected another prefix"):
            engine.bridge(live, "dds", prefix="a/", domain=42)
        engine.bridge(live, "dds", prefix="b/", domain=42).close()
        assert bridge.error is None
        assert bridge.refused == 3
        assert bridge.refusal == "a command has nan among its effort; expected a list of finite numbers, one for each of 1 joints"
        assert live.parameters["torque"].tolist() == [0.0, 0.5]
    words, raw = peer.stdout.splitlines()
    count, stamp, *names = words.split()
    assert int(count) >= 20
    assert 0.0 < float(stamp) <= live.state.t
    assert names[:2] == ["shoulder", "elbow"]
    rosbags = pytest.importorskip("rosbags.typesys")
    store = rosbags.get_typestore(rosbags.Stores.ROS2_JAZZY)
    message = store.deserialize_cdr(bytes.fromhex(raw), "sensor_msgs/msg/JointState")
    assert message.name == ["shoulder", "elbow"]
    assert bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState")) == bytes.fromhex(raw)


def test_wrenches_by_dds(monkeypatch):
    """Force and torque, which the engine has the other way round, as a client with types of its own hears them, to the bytes of ROS 2."""
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("CYCLONEDDS_URI", LOOPBACK)
    load = engine.Law(lambda t, q, v: np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + 0.0 * t, name="load")
    with engine.Live(driven(laws=[load]), np.zeros(2), np.zeros(2)) as live, \
            engine.bridge(live, "dds", rate=100.0, wrenches={"load": "tip"}, domain=43) as bridge:  # fmt: skip
        peer = subprocess.run([sys.executable, Path(__file__).parent / "peer.py", "43", "rt/wrench/load"], capture_output=True, text=True,
                              check=True, timeout=60)  # fmt: skip
        assert bridge.error is None
        now = live.state.t
    at, numbers, raw = peer.stdout.splitlines()
    assert 0.0 < float(at.split()[0]) <= now
    assert at.split()[1] == "tip"
    assert [*map(float, numbers.split())] == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    rosbags = pytest.importorskip("rosbags.typesys")
    store = rosbags.get_typestore(rosbags.Stores.ROS2_JAZZY)
    message = store.deserialize_cdr(bytes.fromhex(raw), "geometry_msgs/msg/WrenchStamped")
    assert (message.wrench.force.z, message.wrench.torque.x) == (6.0, 1.0)
    assert bytes(store.serialize_cdr(message, "geometry_msgs/msg/WrenchStamped")) == bytes.fromhex(raw)


def test_to_foxglove(live):
    pytest.importorskip("foxglove")
    sync = pytest.importorskip("websockets.sync.client")
    with engine.bridge(live, "foxglove", rate=50.0, commands={"torque": "effort"}, port=18765) as bridge, \
            sync.connect("ws://127.0.0.1:18765", subprotocols=["foxglove.sdk.v1"]) as client:  # fmt: skip
        topics = {}
        while len(topics) < 2:
            said = client.recv(5)
            if isinstance(said, str) and (said := json.loads(said))["op"] == "advertise":
                topics |= {c["topic"]: c for c in said["channels"]}
        assert topics["/joint_states"]["schemaName"] == "foxglove.JointStates"
        assert topics["/tf"]["schemaName"] == "foxglove.FrameTransforms"
        client.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": 7, "channelId": topics["/joint_states"]["id"]}]}))
        data = next(m for m in iter(lambda: client.recv(5), None) if isinstance(m, bytes) and m[0] == 1)
        assert int.from_bytes(data[1:5], "little") == 7
        assert b"shoulder" in data and b"elbow" in data
        own = {"id": 3, "topic": "/joint_commands", "encoding": "json", "schemaName": ""}
        client.send(json.dumps({"op": "advertise", "channels": [own]}))
        for text in (b"{{", b'"text"', b"[" * 5000, json.dumps({"name": ["knee"], "effort": [1.0]}).encode(), b"x" * 100_000,
                     json.dumps({"name": ["elbow"], "effort": ["a"]}).encode(), json.dumps({"name": ["elbow"], "effort": [0.5]}).encode()):
            client.send(b"\x01" + (3).to_bytes(4, "little") + text)            # fmt: skip
        until(lambda: bridge.received >= 7)
        assert (bridge.refused, bridge.error) == (6, None)
        assert live.parameters["torque"].tolist() == [0.0, 0.5]
        with pytest.raises(engine.BridgeError, match="another bridge has the port 18765; expected another port, or that one closed"):
            engine.bridge(live, "foxglove", port=18765)
    engine.bridge(live, "foxglove", port=18765).close()                        # its port is free again


@pytest.mark.parametrize(("more", "text"), [
    ({"kind": "ros"}, "a bridge's kind is 'ros'.*; expected one of dds, foxglove"),
    ({"rate": 0}, "rate is 0; expected states a second, above zero, at most 10000"),
    ({"commands": {"torqe": "effort"}}, r"commands name the parameter 'torqe' \(did you mean 'torque'\?\)"),
    ({"commands": {"torque": "force"}}, "what sets 'torque' is 'force'.*; expected one of position, velocity, effort"),
    ({"commands": {"mass.tip": "effort"}}, r"the parameter 'mass.tip' has shape \(\); expected \(2,\), or \(2,\)"),
    ({"wrenches": ["hand"]}, "wrenches has 'hand'; expected no wrenches, as there are none"),
])  # fmt: skip
def test_what_is_no_bridge(live, more, text):
    with pytest.raises(engine.BridgeError, match=text):
        engine.bridge(live, **{"kind": "dds", **more})
    with pytest.raises(engine.BridgeError, match=r"expected an engine.Live"):
        engine.bridge(live.simulator, "dds")


@pytest.mark.parametrize(("kind", "more", "text"), [
    ("dds", {"domain": 500}, "domain is 500; expected a whole number from 0 to 230"),
    ("dds", {"prefix": "a b"}, "prefix is 'a b'; expected"),
    ("foxglove", {"port": 0}, "port is 0; expected a whole number from 1"), ("foxglove", {"port": 99999}, "port is 99999; expected"),
])  # fmt: skip
def test_numbers_and_names_that_there_are_not(live, kind, more, text):
    pytest.importorskip({"dds": "cyclonedds"}.get(kind, kind))
    with pytest.raises(engine.BridgeError, match=text):
        engine.bridge(live, kind, **more)


def test_a_port_that_another_program_has(live):
    import socket

    pytest.importorskip("foxglove")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(engine.BridgeError, match=r"cannot be had .*; expected another port"):
            engine.bridge(live, "foxglove", port=other.getsockname()[1])


NAMES = "expected names of joints, and a number for each"
NUMBERS = "expected a list of finite numbers, one for each of 1 joints"


@pytest.mark.parametrize(("message", "text"), [
    ('{"name": ["elbow"], "effort": [1' + 400 * "0" + "]}", f"a command has a number beyond floats among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": [1' + 5000 * "0" + "]}", f"a command is no JSON; {NAMES}"),
    ('{"name": ["elbow"], "effort": 4}', f"a command has a number as effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": [{}]}', f"a command has an object among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": ' + 900 * "[" + 900 * "]" + "}", f"a command has a list among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": ["3.5"]}', f"a command has a text among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": [true]}', f"a command has a truth value among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": [NaN]}', f"a command has nan among its effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": [1, 2]}', f"a command has 2 numbers as effort; {NUMBERS}"),
    ('{"name": ["elbow"], "effort": null}', f"a command has nothing as effort; {NUMBERS}"),
    ('{"name": ["elbow", "elbow"], "effort": [1, 2]}', "a command names 'elbow' twice; expected each joint once"),
    ('{"name": ["elbow"], "efforts": [1]}', "a command has 'efforts' (did you mean 'effort'?); expected name, and of position, velocity, "
     "effort what is set"),
    ('{"name": ["elbow"], "position": [1]}', "a command sets nothing; expected effort, a number for each joint"),
    ('{"name": [], "effort": []}', "a command sets nothing; expected effort, a number for each joint"),
    ("{}", f"a command has nothing as name; {NAMES}"), ("4", f"a command is a number; {NAMES}"), ("null", f"a command is nothing; {NAMES}"),
    ('{"name": "elbow", "effort": [1]}', f"a command has a text as name; {NAMES}"),
    (900 * "[" + 900 * "]", f"a command is a list; {NAMES}"), (b"\xff\xfe\x00", f"a command is no JSON; {NAMES}"),
])  # fmt: skip
def test_whatever_a_peer_sends_is_refused_with_one_reason(message, text):
    said = read(message if isinstance(message, bytes) else message.encode())
    if isinstance(said, str):
        assert said == text
        return
    with pytest.raises(engine.BridgeError) as refusal:
        command_of(said, ["shoulder", "elbow"], ["effort"], "arm")
    assert str(refusal.value) == text


class Wire:
    """A transport that hands over what is in its list, and keeps what it is told."""

    def __init__(self, *messages, slow=0.0):
        self.messages, self.told, self.sent, self.slow = [*messages], [], [], slow
        self.links = self.wrenches = None

    def send(self, joints, links, wrenches):
        time.sleep(self.slow)
        self.sent.append(joints)
        self.links, self.wrenches = links, wrenches

    def received(self, most):
        taken, self.messages = self.messages, []
        return taken

    def tell(self, text):
        self.told.append(text)

    def close(self):
        self.told.append("closed")


def test_no_message_ends_a_bridge_and_a_part_of_the_joints_keeps_the_others(live):
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("odd")

        __hash__ = None

    odd = {"name": ["elbow"], "effort": [10**400]}
    wire = Wire(odd, {"name": ["elbow"], "effort": [0.5]}, Odd(), {"name": [Odd()]}, {"name": ["shoulder"], "effort": [0.25]})
    bridge = Bridge(live, wire, 100.0, {"torque": "effort"}, ())
    until(lambda: bridge.received >= 5)
    assert (bridge.refused, bridge.error, live.parameters["torque"].tolist()) == (3, None, [0.25, 0.5])
    bridge.close()


def test_another_encoding_than_json():
    commands = Commands("/joint_commands")
    client, channel = SimpleNamespace(id=1), SimpleNamespace(id=2, topic="/joint_commands", encoding="cdr")
    commands.on_client_advertise(client, channel)
    commands.on_message_data(client, 2, b'{"name": ["elbow"], "effort": [1]}')
    assert [*commands.waiting] == ["a command is encoded as 'cdr'; expected json"]


def test_the_end_of_the_simulation_is_said():
    with engine.Live(driven(gravity=(0, 0, 0)), [0.1, 0.2], np.zeros(2)) as live:
        wire = Wire()
        bridge = Bridge(live, wire, 100.0, {"torque": "effort"}, ())
        until(lambda: bridge.sent)
        live.set("torque", [1e300, 0.0])
        until(lambda: live.error)
        until(lambda: wire.told)
        assert bridge.error == f"the simulation ended: {live.error}" == wire.told[0]
        assert "ended: the simulation ended" in repr(bridge)
        with pytest.raises(engine.BridgeError, match=r"the simulation has ended \(.*\); expected one that goes on"):
            engine.bridge(live, "dds")
        live.set("torque", [0.0, 0.0])
        live.reset()
        until(lambda: len(wire.told) > 1)
        assert (bridge.error, wire.told[1]) == (None, "the simulation has begun again")
    until(lambda: bridge.error)
    bridge.close()
    assert (bridge.error, wire.told[2:]) == ("the simulation was closed", ["the simulation was closed", "closed"])
    with pytest.raises(engine.BridgeError, match=r"the simulation was closed; expected one that goes on"):
        engine.bridge(live, "dds")


def test_a_rate_that_is_met_and_one_that_is_not(live):
    """By a wire that takes 50 ms for a state a warning says so, once; ten a second are met, and none does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bridge = Bridge(live, Wire(), 10.0, {}, {})
        until(lambda: bridge.sent > 10)
        time.sleep(bridge._window + 0.2)
        bridge.close()
    assert not bridge._warned
    with pytest.warns(engine.BridgeWarning, match=r"a bridge of 'arm' sends \d.* of 100 states a second; expected a lower rate") as told:
        bridge = Bridge(live, Wire(slow=0.05), 100.0, {}, {})
        until(lambda: bridge._warned)
        time.sleep(0.3)
        bridge.close()
    assert len(told) == 1
    assert 0.0 < bridge.achieved < 21.0


def test_a_rate_above_what_a_simulation_hands_over(live, monkeypatch):
    """120 states a second, or one for each step."""
    monkeypatch.setattr(sys.modules[Bridge.__module__], "Dds", lambda *_: Wire())
    with pytest.warns(engine.BridgeWarning, match="the rate of a bridge is 500 states a second, and 'arm' hands over 120 at most"):
        engine.bridge(live, "dds", rate=500).close()
    with engine.Live(driven(dt=0.1), [0.1, 0.2], np.zeros(2)) as slow, \
            pytest.warns(engine.BridgeWarning, match="is 50 states a second, and 'arm' hands over 10 at most"):  # fmt: skip
        engine.bridge(slow, "dds").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.bridge(live, "dds", rate=120.0).close()
        with pytest.raises(engine.BridgeWarning):                              # an error, if it is to be one: nothing stays taken
            engine.bridge(live, "dds", rate=121.0)


def test_frames_of_one_robot_of_several(live, monkeypatch):
    """Two robots with one world: their frames have their prefixes, and so have wrenches'."""
    wires = []
    monkeypatch.setattr(sys.modules[Bridge.__module__], "Dds", lambda *_: wires.append(Wire()) or wires[-1])
    load = engine.Law(lambda t, q, v: np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + 0.0 * t, name="load")
    wrist = engine.sensors.ForceTorque("tip", (0.0, 0.0, 0.1), name="wrist")
    with engine.Live(driven(laws=[load], sensors=[wrist]), np.zeros(2), np.zeros(2)) as two, \
            engine.bridge(live, "dds", prefix="a/"), \
            engine.bridge(two, "dds", prefix="b/", wrenches={"load": "upper", "wrist": ""}):  # fmt: skip
        until(lambda: all(w.links for w in wires))
        until(lambda: wires[1].sent[-1]["header"]["stamp"]["nanosec"] > 0)
        frames = [{(x["header"]["frame_id"], x["child_frame_id"]) for x in w.links["transforms"]} for w in wires]
        assert frames == [{("world", f"{p}/{n}") for n in ("base", "upper", "tip", *more)} for p, more in (("a", ()), ("b", ["wrist"]))]
        said = wires[1].wrenches
        assert [said[n]["header"]["frame_id"] for n in ("load", "wrist")] == ["b/upper", "b/wrist"]
        assert [*said["load"]["wrench"]["force"].values()] == [4.0, 5.0, 6.0]
        assert np.abs([*said["wrist"]["wrench"]["force"].values()]).max() > 0.1        # of what the tip weighs, which swings
        for wrenches, text in (({"wrist": "upper"}, "wrenches has 'wrist' in the frame 'upper', and it is a sensor's, in 'wrist'"),
                               ({"load": "hand"}, "wrenches has 'load' in the frame 'hand'; expected a link, or 'world'"),
                               (["lod"], r"wrenches has 'lod' \(did you mean 'load'\?\); expected some of wrist, load")):  # fmt: skip
            with pytest.raises(engine.BridgeError, match=text):
                engine.bridge(two, "dds", prefix="c/", wrenches=wrenches)
        with pytest.warns(engine.BridgeWarning, match=r"in which frame the wrench 'load' is, .*; expected wrenches=\{'load': LINK\}"):
            engine.bridge(two, "dds", prefix="c/", wrenches=["load"]).close()
        assert wires[-1].wrenches is None or wires[-1].wrenches["load"]["header"]["frame_id"] == ""
