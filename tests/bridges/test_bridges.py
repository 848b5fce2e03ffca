"""Bridges on the loopback, against clients that know nothing of the engine; and peers that send nonsense, or too much."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
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
        assert bridge.refusal == "a command has [nan] as effort of 1 joints; expected a finite number for each"
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
            engine.bridge(live, "dds", rate=100.0, wrenches=["load"], domain=43) as bridge:  # fmt: skip
        peer = subprocess.run([sys.executable, Path(__file__).parent / "peer.py", "43", "rt/wrench/load"], capture_output=True, text=True,
                              check=True, timeout=60)  # fmt: skip
        assert bridge.error is None
        now = live.state.t
    at, numbers, raw = peer.stdout.splitlines()
    assert 0.0 < float(at.split()[0]) <= now
    assert at.split()[1] == "load"
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
        with pytest.raises(engine.BridgeError, match="another bridge has the port 18765; expected another prefix, or that one closed"):
            engine.bridge(live, "foxglove", port=18765)
    engine.bridge(live, "foxglove", port=18765).close()                        # its port is free again


@pytest.mark.parametrize(("more", "text"), [
    ({"kind": "ros"}, "a bridge's kind is 'ros'.*; expected one of dds, foxglove"),
    ({"rate": 0}, "rate is 0; expected states a second, above zero, at most 10000"),
    ({"commands": {"torqe": "effort"}}, r"commands name the parameter 'torqe' \(did you mean 'torque'\?\)"),
    ({"commands": {"torque": "force"}}, "what sets 'torque' is 'force'.*; expected one of position, velocity, effort"),
    ({"commands": {"mass.tip": "effort"}}, r"the parameter 'mass.tip' has shape \(\); expected \(2,\), or \(2,\)"),
    ({"wrenches": ["hand"]}, "wrenches has 'hand'; expected some of none: there is none"),
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
