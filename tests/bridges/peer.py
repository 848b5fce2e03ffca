"""An independent client of a bridge by DDS, in a process of its own, with types of its own: hears states, and sends commands."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
class Time_(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class Header_(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time_
    frame_id: str


@dataclass
class JointState_(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header_
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@dataclass
class Vector3_(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Wrench_(IdlStruct, typename="geometry_msgs::msg::dds_::Wrench_"):
    force: Vector3_
    torque: Vector3_


@dataclass
class WrenchStamped_(IdlStruct, typename="geometry_msgs::msg::dds_::WrenchStamped_"):
    header: Header_
    wrench: Wrench_


QOS = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.Durability.Volatile, Policy.History.KeepLast(10))


def heard(here: DomainParticipant, topic: str, kind: type, wanted: int,
          meanwhile: Callable[[list[Any]], None] = lambda so_far: None) -> list[Any]:  # fmt: skip
    """Return so many messages of a topic, or those that came within 20 s; ``meanwhile`` is called with them as they come."""
    reader = DataReader(here, Topic(here, topic, kind, qos=QOS), qos=QOS)
    found: list[Any] = []
    end = time.monotonic() + 20.0
    while len(found) < wanted and time.monotonic() < end:
        found += [x for x in reader.take(100) if x.sample_info.valid_data]
        meanwhile(found)
        time.sleep(0.005)
    return found


def wrenches(domain: int, topic: str) -> None:
    """Print a wrench that is heard after the first: its time, its frame, its force, its torque, its bytes."""
    x = heard(DomainParticipant(domain), topic, WrenchStamped_, 5)[-1]
    print(x.header.stamp.sec + 1e-9 * x.header.stamp.nanosec, x.header.frame_id)
    print(*(getattr(v, c) for v in (x.wrench.force, x.wrench.torque) for c in "xyz"))
    print(bytes(x.serialize()).hex())


def main(domain: int, wanted: int) -> None:
    here = DomainParticipant(domain)
    writer = DataWriter(here, Topic(here, "rt/a/joint_commands", JointState_, qos=QOS), qos=QOS)
    header = Header_(Time_(0, 0), "")
    nonsense = [JointState_(header, ["knee"], [], [], [1.0]), JointState_(header, ["elbow"], [], [], [1.0, 2.0]),
                JointState_(header, ["elbow"], [], [], [float("nan")])]  # fmt: skip
    left = [*nonsense, JointState_(header, ["elbow"], [], [], [0.5])]

    def tell(so_far: list[Any]) -> None:
        while left and so_far and writer.get_matched_subscriptions():
            writer.write(left.pop(0))

    states = heard(here, "rt/a/joint_states", JointState_, wanted, tell)
    last = states[-1]
    print(len(states), last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec, *last.name, *last.position)
    print(bytes(last.serialize()).hex())
    time.sleep(0.5)


if __name__ == "__main__":
    if sys.argv[2].isdigit():
        main(*map(int, sys.argv[1:]))
    else:
        wrenches(int(sys.argv[1]), sys.argv[2])
