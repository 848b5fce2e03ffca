"""States and commands to and from Foxglove, by its own server and messages: JointStates and FrameTransforms; commands are JSON."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from engine.bridges.command import kind
from engine.bridges.names import BridgeError, leave, take
from engine.checks import require_packages, whole

#: bytes of a command, at most, and commands that wait
LARGEST, WAITING = 1 << 16, 100
#: letters of an encoding's name that are shown
LETTERS = 40
#: s: how long a server is waited for that has been stopped
PATIENCE = 2.0


class Commands:
    """A queue of clients' messages, filled by the server in a thread of its own; the oldest of too many are dropped."""

    def __init__(self, topic: str) -> None:
        self.topic, self.waiting = topic, deque[Any](maxlen=WAITING)
        self.advertised: dict[tuple[Any, Any], tuple[str, str]] = {}

    def on_client_advertise(self, client: Any, channel: Any) -> None:
        """A client says under which topic it will send."""
        self.advertised[client.id, channel.id] = channel.topic, channel.encoding

    def on_client_unadvertise(self, client: Any, client_channel_id: int) -> None:
        """Forget a channel that a client no longer publishes on."""
        self.advertised.pop((client.id, client_channel_id), None)

    def on_message_data(self, client: Any, client_channel_id: int, data: bytes) -> None:
        """A message has come."""
        topic, encoding = self.advertised.get((client.id, client_channel_id), ("", ""))
        if topic == self.topic:
            self.waiting.append(read(data) if encoding == "json" else f"a command is encoded as '{encoding[:LETTERS]}'; expected json")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):                                             # of what else clients do nothing is heard
            return lambda *_: None
        raise AttributeError(name)


def read(data: bytes) -> Any:
    """Return a command, or a text that says why it is none.

    >>> read(b'{"name": ["elbow"], "effort": [1.5]}')
    {'name': ['elbow'], 'effort': [1.5]}
    >>> read(b'{{')
    'a command is no JSON; expected names of joints, and a number for each'
    """
    if len(data) > LARGEST:
        return f"a command has {len(data)} bytes; expected {LARGEST} at most"
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(data)
        return found if isinstance(found, dict) else f"a command is {kind(found)}; expected names of joints, and a number for each"
    return "a command is no JSON; expected names of joints, and a number for each"


class Foxglove:
    """A server on this machine, and channels of a robot's topics, those of ``wrenches`` by their names.

    Raises
    ------
    BridgeError : no such port, another bridge of this process has it, or another program the port
    """

    def __init__(self, prefix: str, port: int, wrenches: Mapping[str, str], name: str) -> None:
        require_packages("a bridge to Foxglove", "foxglove", "foxglove", error=BridgeError)
        port = whole("port", port, "a whole number from 1 to 65535", 1, BridgeError)
        if port > 65535:
            raise BridgeError(f"port is {port}; expected a whole number from 1 to 65535")
        import foxglove
        from foxglove.channels import FrameTransformsChannel, JointStatesChannel

        self._name = ("foxglove", port)
        take(self._name, f"the port {port}", "port")
        self.commands = Commands(f"/{prefix}joint_commands")
        self._context, listener = foxglove.Context(), cast(Any, self.commands)
        try:
            self._server = foxglove.start_server(
                name=name, host="127.0.0.1", port=port, capabilities=[foxglove.Capability.ClientPublish], supported_encodings=["json"],
                server_listener=listener, context=self._context)  # fmt: skip
        except (RuntimeError, OSError) as error:
            leave(self._name)
            raise BridgeError(f"the port {port} cannot be had ({' '.join(str(error).split())[:80]}); expected another port") from None
        self._joints = JointStatesChannel(f"/{prefix}joint_states", context=self._context)
        self._links = FrameTransformsChannel(f"/{prefix}tf", context=self._context)
        self._wrenches = {n: foxglove.Channel(f"/{prefix}wrench/{topic}", message_encoding="json", context=self._context)
                          for n, topic in wrenches.items()}  # fmt: skip

    def send(self, joints: dict[str, Any], links: dict[str, Any], wrenches: Mapping[str, dict[str, Any]]) -> None:
        """Log what there is of a state."""
        from foxglove.messages import FrameTransform, FrameTransforms, JointState, JointStates, Quaternion, Timestamp, Vector3

        stamp = Timestamp(**{n.replace("nanosec", "nsec"): x for n, x in joints["header"]["stamp"].items()})
        at = stamp.sec * 10**9 + stamp.nsec
        rows = zip(joints["name"], joints["position"], joints["velocity"], joints["effort"], strict=True)
        each = [JointState(name=n, position=q, velocity=v, effort=tau) for n, q, v, tau in rows]
        self._joints.log(JointStates(timestamp=stamp, joints=each), log_time=at)
        poses = [FrameTransform(timestamp=stamp, parent_frame_id=x["header"]["frame_id"], child_frame_id=x["child_frame_id"],
                                translation=Vector3(**x["transform"]["translation"]), rotation=Quaternion(**x["transform"]["rotation"]))
                 for x in links["transforms"]]  # fmt: skip
        self._links.log(FrameTransforms(transforms=poses), log_time=at)
        for n, x in wrenches.items():
            self._wrenches[n].log(x, log_time=at)

    def received(self, most: int) -> list[Any]:
        """Return commands that have come."""
        return [self.commands.waiting.popleft() for _ in range(min(most, len(self.commands.waiting)))]

    def tell(self, text: str) -> None:
        """Say it to all clients, as a status."""
        from foxglove import StatusLevel

        self._server.publish_status(text, StatusLevel.Warning)

    def close(self) -> None:
        """Stop the server, which lets go of its port a little later than it says."""
        self._server.stop()
        end = time.monotonic() + PATIENCE
        while not free(self._name[1]) and time.monotonic() < end:
            time.sleep(0.01)
        leave(self._name)


def free(port: int) -> bool:
    """Return whether nobody listens at a port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
