"""Flights as logs of ROS 2: an MCAP file, or a rosbag2 folder. ROS itself is not needed.

Joints with one coordinate are in /joint_states; the poses of all links in the world are in /tf, a floating base's among them; what gyros
and accelerometers read is in /imu/NAME, what is read of wrenches in /wrench/NAME, of distances in /range, /scan or /points, of magnetic
fields in /magnetic_field, in the sensors' own frames, and of joints in /encoder; the robot is in /robot_description, once. How the flight
ended is in a record of metadata.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import require_packages
from engine.logs.flight import Distances, Field, Flight, Inertial, OfJoints, Wrench, nanoseconds, stamp, topics_of
from engine.logs.scans import CLOUD, RANGE, SCAN, distances, kind_of
from engine.recording import StorageError

JOINTS, LINKS, ROBOT = "joint_states", "tf", "robot_description"
#: the first part of the names of what sensors read
INERTIAL, WRENCH, FIELD, ENCODER = "imu", "wrench", "magnetic_field", "encoder"
#: under which name it says how a flight ended
OUTCOME = "outcome"
#: what tells of a bag's files, in its folder
METADATA = "metadata.yaml"
#: the types of what is said under names that begin so
TYPES = {JOINTS: "sensor_msgs/msg/JointState", LINKS: "tf2_msgs/msg/TFMessage", ROBOT: "std_msgs/msg/String",
         INERTIAL: "sensor_msgs/msg/Imu", WRENCH: "geometry_msgs/msg/WrenchStamped", FIELD: "sensor_msgs/msg/MagneticField",
         ENCODER: "sensor_msgs/msg/JointState", RANGE: "sensor_msgs/msg/Range", SCAN: "sensor_msgs/msg/LaserScan",
         CLOUD: "sensor_msgs/msg/PointCloud2"}  # fmt: skip
#: how many messages under these names a player offers to who comes late, and for how long: s and ns that are no bound
DEPTHS, NEVER = {LINKS: 100, ROBOT: 1}, (9223372036, 854775807)
#: of a bag's metadata: the newest that ROS 2 Humble reads, as all later ones do
VERSION = 8


def header(t: float, frame: str) -> dict[str, Any]:
    """Return a header as plain data."""
    return {"stamp": stamp(t)._asdict(), "frame_id": frame}


def vector(x: np.ndarray) -> dict[str, float]:
    """Return a vector (3) as plain data."""
    return dict(zip("xyz", x.tolist(), strict=True))


def joint_state(f: Flight, k: int) -> dict[str, Any]:
    """Return what /joint_states says of state k."""
    each = {"position": f.position, "velocity": f.velocity, "effort": f.effort}
    return {"header": header(f.t[k], ""), "name": [*f.joints], **{n: x[k].tolist() for n, x in each.items()}}


def transforms(f: Flight, k: int) -> dict[str, Any]:
    """Return what /tf says of state k."""
    poses = [{"translation": vector(place), "rotation": dict(zip("wxyz", turn.tolist(), strict=True))}
             for place, turn in zip(f.places[k], f.turns[k], strict=True)]  # fmt: skip
    return {"transforms": [{"header": header(f.t[k], f.world), "child_frame_id": f.framed(name), "transform": pose}
                           for name, pose in zip(f.links, poses, strict=True)]}  # fmt: skip


def imu(f: Flight, x: Inertial, k: int, t: float) -> dict[str, Any]:
    """Return what a sensor of turns and accelerations reads in state k. What it has not is marked so by a covariance that begins with −1;
    one of zeros is not known."""
    zero, lacks = np.zeros(3), [-1.0, *[0.0] * 8]
    there = {"angular_velocity": x.rate, "linear_acceleration": x.force}
    read = {n: vector(zero if a is None else a[k]) for n, a in there.items()}
    spread = {f"{n}_covariance": lacks if a is None else [0.0] * 9 for n, a in there.items()}
    return {"header": header(t, f.framed(x.frame)), "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
            "orientation_covariance": lacks, **read, **spread}  # fmt: skip


def wrench(f: Flight, x: Wrench, k: int, t: float) -> dict[str, Any]:
    """Return what is read of a wrench in state k."""
    return {"header": header(t, f.framed(x.frame)), "wrench": {"force": vector(x.force[k]), "torque": vector(x.moment[k])}}


def magnetic_field(f: Flight, x: Field, k: int, t: float) -> dict[str, Any]:
    """Return what a magnetometer reads in state k."""
    return {"header": header(t, f.framed(x.frame)), "magnetic_field": vector(x.field[k]), "magnetic_field_covariance": [0.0] * 9}


def encoder(f: Flight, x: OfJoints, k: int, t: float) -> dict[str, Any]:
    """Return what a sensor of joints reads in state k, and nothing of what it does not."""
    empty: dict[str, list[float]] = {"position": [], "velocity": [], "effort": []}
    return {"header": header(t, ""), "name": [*x.joints], **empty, x.what: x.read[k].tolist()}


def scan(f: Flight, x: Distances, k: int, t: float) -> dict[str, Any]:
    """Return what a sensor of distances reads in state k."""
    return {"header": header(t, f.framed(x.frame)), **distances(x, k)}


def readings(f: Flight) -> Iterator[Iterator[tuple[str, str, int, dict[str, Any]]]]:
    """Yield for each sensor what it says. Each sample is stamped with when it was taken, as the poses at that time are, and is said when it
    came."""
    kinds: list[tuple[str, Mapping[str, Any], Callable[[Flight, Any, int, float], dict[str, Any]]]] = [
        (INERTIAL, f.inertial, imu), (WRENCH, f.wrenches, wrench), (FIELD, f.fields, magnetic_field), (ENCODER, f.of_joints, encoder),
        *((of, {name: x for name, x in f.distances.items() if kind_of(x) == of}, scan) for of in (RANGE, SCAN, CLOUD))]  # fmt: skip
    for of, each, said in kinds:
        names = topics_of([*each])
        for name, x in each.items():
            samples = f.samples.get(name, (np.arange(len(f.t)), f.t, f.t))
            yield said_by(f"/{f.prefix}{of}/{names[name]}", of, functools.partial(said, f, x), samples)


def said_by(topic: str, of: str, said: Callable[[int, float], dict[str, Any]], samples: Any) -> Iterator[tuple[str, str, int, Any]]:
    """Yield what is said under one name, of samples: (in which states, when they were taken, when they came)."""
    for k, taken, came in zip(*samples, strict=True):
        yield topic, of, nanoseconds(came), said(k, taken)


def messages(f: Flight) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield what is said, one after another: under which name, of which of TYPES, when (ns), and the message as plain data."""
    if f.description:
        yield f"/{f.prefix}{ROBOT}", ROBOT, nanoseconds(f.t[0]), {"data": f.description}
    states = np.arange(len(f.t)), f.t, f.t
    own = [(JOINTS, joint_state)] * bool(len(f.joints)) + [(LINKS, transforms)]
    each = [said_by(f"/{f.prefix}{of}", of, functools.partial(lambda said, k, t: said(f, k), said), states) for of, said in own]
    yield from heapq.merge(*each, *readings(f), key=lambda x: x[2])


def typestore() -> Any:
    """Return the definitions of ROS 2's messages."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def write_mcap(path: Path, f: Flight) -> None:
    """Write a flight as an MCAP file, with the definitions of its messages: Foxglove, rosbag2 and MCAP's own readers open it."""
    require_packages("an .mcap file", "logs", "mcap", "mcap_ros2", "rosbags", error=StorageError)
    from mcap_ros2.writer import Writer

    store = typestore()
    with path.open("wb") as file:
        writer = Writer(file)
        known = {}
        for name, of, at, message in messages(f):
            if of not in known:
                known[of] = writer.register_msgdef(TYPES[of], store.generate_msgdef(TYPES[of], ros_version=2)[0])
            writer.write_message(name, known[of], message, log_time=at, publish_time=at)
        if f.outcome:
            writer.add_metadata(OUTCOME, dict(f.outcome))
        writer.finish()


def write_rosbag2(path: Path, f: Flight) -> None:
    """Write a flight as a rosbag2 folder, its metadata and an MCAP file, which ``ros2 bag`` plays, of Humble and later."""
    require_packages("a rosbag2 folder", "logs", "rosbags", error=StorageError)
    from rosbags.rosbag2 import StoragePlugin, Writer

    store = typestore()
    with Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP) as bag:
        for key, text in f.outcome.items():
            bag.set_custom_data(f"{OUTCOME}.{key}", text)
        known: dict[str, Any] = {}
        for name, of, at, message in messages(f):
            if name not in known:
                known[name] = bag.add_connection(name, TYPES[of], typestore=store, offered_qos_profiles=[quality(of)])
            bag.write(known[name], at, store.serialize_cdr(typed(store, TYPES[of], message), TYPES[of]))


def quality(of: str) -> Any:
    """Return what a player is to offer of messages of one of TYPES: who subscribes late hears the robot's description too."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(*NEVER)
    durability = QosDurability.TRANSIENT_LOCAL if of == ROBOT else QosDurability.VOLATILE
    return Qos(QosHistory.KEEP_LAST, DEPTHS.get(of, 10), QosReliability.RELIABLE, durability, never, never, QosLiveliness.AUTOMATIC, never,
               False)  # fmt: skip


def bag_files(path: Path) -> list[str]:
    """Return the files of a rosbag2 folder: its metadata, and those that these name.

    Raises
    ------
    StorageError : it is no such folder, or holds something else beside them; a package is missing
    """
    require_packages("a rosbag2 folder", "logs", "rosbags", "ruamel.yaml", error=StorageError)
    from ruamel.yaml import YAML

    try:
        known = YAML(typ="safe").load((path / METADATA).read_text())["rosbag2_bagfile_information"]["relative_file_paths"]
        own = [METADATA, *known]
        good = isinstance(known, list) and all(isinstance(name, str) and Path(name).name == name for name in known)
    except Exception:                                                          # whatever a text leads to that is no bag's metadata
        good = False
    if not good:
        raise StorageError(f"'{path}' is a folder without the {METADATA} of a bag; expected a new path, or a bag of ROS 2")
    if others := sorted({x.name for x in path.iterdir() if x.is_dir() or x.name not in own}):
        raise StorageError(f"'{path}' holds '{others[0]}' too, which is not the bag's; expected a new path, or the bag alone")
    return [name for name in own if (path / name).is_file()]


def typed(store: Any, name: str, plain: Any) -> Any:
    """Return a message of plain data as rosbags has it, by its definition: with numbers of a list in arrays."""
    from rosbags.interfaces import Nodetype

    def one(kind: Any, x: Any) -> Any:
        node, of = kind
        if node == Nodetype.NAME:
            return typed(store, of, x)
        if node == Nodetype.BASE:
            return x
        return np.array(x, dtype=of[0][1][0]) if of[0][0] == Nodetype.BASE and of[0][1][0] != "string" else [one(of[0], y) for y in x]

    return store.types[name](**{n: one(kind, plain[n]) for n, kind in store.fielddefs[name][1]})
