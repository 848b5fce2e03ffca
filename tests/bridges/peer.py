"""An independent client of a bridge by DDS, in a process of its own, with types of its own: hears states, and sends commands."""

import sys
import time
from dataclasses import dataclass

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


def wrenches(domain: int, topic: str) -> None:
    """Print a wrench that is heard after the first: its time, its frame, its force, its torque, its bytes."""
    qos = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.Durability.Volatile, Policy.History.KeepLast(10))
    here = DomainParticipant(domain)
    reader = DataReader(here, Topic(here, topic, WrenchStamped_, qos=qos), qos=qos)
    heard, end = [], time.monotonic() + 20.0
    while len(heard) < 5 and time.monotonic() < end:
        heard += [x for x in reader.take(100) if x.sample_info.valid_data]
        time.sleep(0.005)
    x = heard[-1]
    print(x.header.stamp.sec + 1e-9 * x.header.stamp.nanosec, x.header.frame_id)
    print(*(getattr(v, c) for v in (x.wrench.force, x.wrench.torque) for c in "xyz"))
    print(bytes(x.serialize()).hex())


def main(domain: int, wanted: int) -> None:
    qos = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.Durability.Volatile, Policy.History.KeepLast(10))
    here = DomainParticipant(domain)
    reader = DataReader(here, Topic(here, "rt/a/joint_states", JointState_, qos=qos), qos=qos)
    writer = DataWriter(here, Topic(here, "rt/a/joint_commands", JointState_, qos=qos), qos=qos)
    header = Header_(Time_(0, 0), "")
    nonsense = [JointState_(header, ["knee"], [], [], [1.0]), JointState_(header, ["elbow"], [], [], [1.0, 2.0]),
                JointState_(header, ["elbow"], [], [], [float("nan")])]  # fmt: skip
    heard, end, told = [], time.monotonic() + 20.0, False
    while len(heard) < wanted and time.monotonic() < end:
        heard += [x for x in reader.take(100) if x.sample_info.valid_data]
        if heard and writer.get_matched_subscriptions() and not told:
            for message in (*nonsense, JointState_(header, ["elbow"], [], [], [0.5])):
                writer.write(message)
            told = True
        time.sleep(0.005)
    last = heard[-1]
    print(len(heard), last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec, *last.name, *last.position)
    print(bytes(last.serialize()).hex())
    time.sleep(0.5)


if __name__ == "__main__":
    if sys.argv[2].isdigit():
        main(*map(int, sys.argv[1:]))
    else:
        wrenches(int(sys.argv[1]), sys.argv[2])
