"""States and commands by DDS, with the names, types and quality that ROS 2 has over Cyclone DDS. (Type hashes, and other middlewares of
ROS 2, were not tried.)"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from engine.bridges.names import BridgeError, leave, take
from engine.checks import require_packages, whole


@functools.cache
def types() -> SimpleNamespace:
    """Return the types of messages, made when they are first needed."""
    from cyclonedds.idl import make_idl_struct
    from cyclonedds.idl.types import float64, int32, sequence, uint32

    def made(package: str, name: str, /, **fields: Any) -> Any:
        return make_idl_struct(f"{name}_", f"{package}::dds_::{name}_", fields)

    time = made("builtin_interfaces::msg", "Time", sec=int32, nanosec=uint32)
    header = made("std_msgs::msg", "Header", stamp=time, frame_id=str)
    vector = made("geometry_msgs::msg", "Vector3", x=float64, y=float64, z=float64)
    turn = made("geometry_msgs::msg", "Quaternion", x=float64, y=float64, z=float64, w=float64)
    transform = made("geometry_msgs::msg", "Transform", translation=vector, rotation=turn)
    stamped = made("geometry_msgs::msg", "TransformStamped", header=header, child_frame_id=str, transform=transform)
    wrench = made("geometry_msgs::msg", "Wrench", force=vector, torque=vector)
    numbers = sequence[float64]
    return SimpleNamespace(
        Time=time, Header=header, Vector3=vector, Quaternion=turn, Transform=transform, TransformStamped=stamped, Wrench=wrench,
        JointState=made("sensor_msgs::msg", "JointState", header=header, name=sequence[str], position=numbers, velocity=numbers,
                        effort=numbers),
        TFMessage=made("tf2_msgs::msg", "TFMessage", transforms=sequence[stamped]),
        WrenchStamped=made("geometry_msgs::msg", "WrenchStamped", header=header, wrench=wrench),
    )  # fmt: skip


def header_of(plain: Mapping[str, Any]) -> Any:
    """Return a header of plain data."""
    return types().Header(types().Time(**plain["stamp"]), plain["frame_id"])


class Dds:
    """Writers of a robot's topics in a domain, those of ``wrenches`` by their names, and a reader of its commands.

    Raises
    ------
    BridgeError : no such domain, another bridge of this process has it, or DDS does not begin
    """

    def __init__(self, prefix: str, domain: int, wrenches: Mapping[str, str]) -> None:
        require_packages("a bridge by DDS", "dds", "cyclonedds", error=BridgeError)
        domain = whole("domain", domain, "a whole number from 0 to 230", error=BridgeError)
        if domain > 230:
            raise BridgeError(f"domain is {domain}; expected a whole number from 0 to 230")
        from cyclonedds.core import DDSException, Policy, Qos
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic
        from cyclonedds.util import duration

        self._name, self._topics = ("dds", domain, prefix), dict(wrenches)
        take(self._name, f"'/{prefix}joint_states' in the domain {domain}", "prefix or domain")
        t = types()
        kinds = {"joint_states": t.JointState, "tf": t.TFMessage, **{f"wrench/{n}": t.WrenchStamped for n in wrenches.values()}}
        qos = Qos(Policy.Reliability.Reliable(duration(milliseconds=0)), Policy.Durability.Volatile, Policy.History.KeepLast(10))
        loose = Qos(Policy.Reliability.BestEffort, Policy.Durability.Volatile, Policy.History.KeepLast(100))
        try:
            self._participant = DomainParticipant(domain)
            self._writers = {n: DataWriter(self._participant, Topic(self._participant, f"rt/{prefix}{n}", kind, qos=qos), qos=qos)
                             for n, kind in kinds.items()}  # fmt: skip
            commands = Topic(self._participant, f"rt/{prefix}joint_commands", t.JointState, qos=loose)
            self._reader = DataReader(self._participant, commands, qos=loose)
        except DDSException as error:
            leave(self._name)
            raise BridgeError(f"DDS does not begin in the domain {domain} ({' '.join(str(error).split())[:80]}); expected a network "
                              "interface that CYCLONEDDS_URI names, or none that it cannot have") from None  # fmt: skip

    def send(self, joints: dict[str, Any], links: dict[str, Any], wrenches: Mapping[str, dict[str, Any]]) -> None:
        """Send what there is of a state; what no one takes in time is dropped."""
        from cyclonedds.core import DDSException

        t = types()
        said = {"joint_states": t.JointState(header_of(joints["header"]), *(joints[n] for n in ("name", "position", "velocity", "effort"))),
                "tf": t.TFMessage([self._transform(x) for x in links["transforms"]])}  # fmt: skip
        for n, x in wrenches.items():
            each = {k: t.Vector3(**v) for k, v in x["wrench"].items()}
            said[f"wrench/{self._topics[n]}"] = t.WrenchStamped(header_of(x["header"]), t.Wrench(**each))
        for n, message in said.items():
            try:
                self._writers[n].write(message)
            except DDSException as error:
                if "timeout" not in str(error).lower():                        # a reader that does not keep up
                    raise

    @staticmethod
    def _transform(plain: Mapping[str, Any]) -> Any:
        t, x = types(), plain["transform"]
        pose = t.Transform(t.Vector3(**x["translation"]), t.Quaternion(**x["rotation"]))
        return t.TransformStamped(header_of(plain["header"]), plain["child_frame_id"], pose)

    def received(self, most: int) -> list[Any]:
        """Return commands that have come."""
        found = [x for x in self._reader.take(most) if x.sample_info.valid_data]
        return [{"name": [*x.name], **{n: [*getattr(x, n)] for n in ("position", "velocity", "effort")}} for x in found]

    def tell(self, text: str) -> None:
        """Say nothing: ROS 2 has no words for it; no more states come."""

    def close(self) -> None:
        """Leave the domain."""
        self._writers.clear()
        del self._reader, self._participant
        leave(self._name)
