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
from engine.logs.cdr import encoded
from engine.logs.flight import Distances, Field, Flight, Inertial, OfJoints, Wrench, nanoseconds, stamp, topics_of
from engine.logs.scans import CLOUD, RANGE, SCAN, distances, kind_of
from engine.recording import StorageError

Array = np.ndarray
#: bytes of messages that are made at once, about
ROOM = 1 << 22
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


def header(t: Array, frame: str) -> dict[str, Any]:
    """Return headers of times (T), as the messages here: plain data, with arrays of what differs from one to the next."""
    return {"stamp": stamp(t)._asdict(), "frame_id": frame}


def vector(x: Array) -> dict[str, Array]:
    """Return vectors (T, 3)."""
    return dict(zip("xyz", x.T, strict=True))


def joint_state(f: Flight, k: Array, t: Array) -> dict[str, Any]:
    """Return what /joint_states says of states k (T), at times t (T)."""
    each = {"position": f.position, "velocity": f.velocity, "effort": f.effort}
    return {"header": header(t, ""), "name": [*f.joints], **{n: x[k] for n, x in each.items()}}


def transforms(f: Flight, k: Array, t: Array) -> dict[str, Any]:
    """Return what /tf says of states k."""
    own, places, turns = header(t, f.world), f.places[k], f.turns[k]
    poses = [{"translation": vector(places[:, m]), "rotation": dict(zip("wxyz", turns[:, m].T, strict=True))} for m in range(len(f.links))]
    return {"transforms": [{"header": own, "child_frame_id": f.framed(name), "transform": pose}
                           for name, pose in zip(f.links, poses, strict=True)]}  # fmt: skip


def imu(f: Flight, x: Inertial, k: Array, t: Array) -> dict[str, Any]:
    """Return what a sensor of turns and accelerations reads in states k. What it has not is marked so by a covariance that begins with
    −1; one of zeros is not known."""
    zero, lacks = dict.fromkeys("xyz", 0.0), [-1.0, *[0.0] * 8]
    there = {"angular_velocity": x.rate, "linear_acceleration": x.force}
    read = {n: zero if a is None else vector(a[k]) for n, a in there.items()}
    spread = {f"{n}_covariance": lacks if a is None else [0.0] * 9 for n, a in there.items()}
    return {"header": header(t, f.framed(x.frame)), "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
            "orientation_covariance": lacks, **read, **spread}  # fmt: skip


def wrench(f: Flight, x: Wrench, k: Array, t: Array) -> dict[str, Any]:
    """Return what is read of a wrench in states k."""
    return {"header": header(t, f.framed(x.frame)), "wrench": {"force": vector(x.force[k]), "torque": vector(x.moment[k])}}


def magnetic_field(f: Flight, x: Field, k: Array, t: Array) -> dict[str, Any]:
    """Return what a magnetometer reads in states k."""
    return {"header": header(t, f.framed(x.frame)), "magnetic_field": vector(x.field[k]), "magnetic_field_covariance": [0.0] * 9}


def encoder(f: Flight, x: OfJoints, k: Array, t: Array) -> dict[str, Any]:
    """Return what a sensor of joints reads in states k, and nothing of what it does not."""
    empty: dict[str, list[float]] = {"position": [], "velocity": [], "effort": []}
    return {"header": header(t, ""), "name": [*x.joints], **empty, x.what: x.read[k]}


def scan(f: Flight, x: Distances, k: Array, t: Array) -> dict[str, Any]:
    """Return what a sensor of distances reads in states k."""
    return {"header": header(t, f.framed(x.frame)), **distances(x, k)}


def one(message: Any) -> Any:
    """Return the first of messages as plain data.

    >>> one({"name": ["hip"], "position": np.array([[0.5], [0.6]])})
    {'name': ['hip'], 'position': [0.5]}
    """
    if isinstance(message, dict):
        return {n: one(x) for n, x in message.items()}
    if isinstance(message, list):
        return [one(x) for x in message]
    return message[0].tolist() if isinstance(message, np.ndarray) else message


def sensors_of(f: Flight) -> list[tuple[str, str, str, Callable[..., dict[str, Any]]]]:
    """Return of each sensor its name, which of TYPES it says, the last part of its topic, and what it says in some states.

    >>> import numpy as np
    >>> from engine.logs import Flight, Wrench, sensors_of
    >>> read = {"wrist": Wrench("tool", np.zeros((1, 3)), np.zeros((1, 3)))}
    >>> flight = Flight(np.zeros(1), [], *np.zeros((3, 1, 0)), ["tool"], np.zeros((1, 1, 3)), np.eye(4)[:1][None], wrenches=read)
    >>> [x[0] for x in sensors_of(flight)]
    ['wrist']
    """
    kinds: list[tuple[str, Mapping[str, Any], Callable[..., dict[str, Any]]]] = [
        (INERTIAL, f.inertial, imu), (WRENCH, f.wrenches, wrench), (FIELD, f.fields, magnetic_field), (ENCODER, f.of_joints, encoder),
        *((of, {name: x for name, x in f.distances.items() if kind_of(x) == of}, scan) for of in (RANGE, SCAN, CLOUD))]  # fmt: skip
    return [(name, of, topic, functools.partial(said, f, each[name]))
            for of, each, said in kinds for name, topic in topics_of([*each]).items()]  # fmt: skip


def messages(f: Flight, store: Any) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield what is said, one after another: under which name, of which of TYPES, when (ns), and the message. Each sample of a sensor is
    stamped with when it was taken, as the poses at that time are, and is said when it came."""
    states = np.arange(len(f.t)), f.t, f.t

    def said_by(name: str, of: str, said: Callable[..., dict[str, Any]], samples: Any = states) -> Iterator[tuple[str, str, int, bytes]]:
        at, many, (k, taken, came) = 0, 1, samples
        while at < len(k):
            part = slice(at, at + many)
            rows = encoded(store, TYPES[of], said(k[part], taken[part]))
            for when, row in zip(nanoseconds(came[part]).tolist(), rows, strict=True):
                yield f"/{f.prefix}{name}", of, when, row.tobytes()
            at, many = part.stop, max(1, ROOM // rows.shape[1])

    if f.description:
        yield f"/{f.prefix}{ROBOT}", ROBOT, int(nanoseconds(f.t[0])), encoded(store, TYPES[ROBOT], {"data": f.description}).tobytes()
    each = [said_by(JOINTS, JOINTS, functools.partial(joint_state, f))] * bool(len(f.joints))
    each.append(said_by(LINKS, LINKS, functools.partial(transforms, f)))
    each += [said_by(f"{of}/{topic}", of, said, f.samples.get(name, states)) for name, of, topic, said in sensors_of(f)]
    yield from heapq.merge(*each, key=lambda x: x[2])


def typestore() -> Any:
    """Return the definitions of ROS 2's messages."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def write_mcap(path: Path, f: Flight) -> None:
    """Write a flight as an MCAP file, with the definitions of its messages: Foxglove, rosbag2 and MCAP's own readers open it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from engine.logs import Flight, write_mcap
    >>> path = Path(tempfile.mkdtemp()) / "run.mcap"
    >>> write_mcap(path, Flight(np.zeros(1), ["hip"], *np.zeros((3, 1, 1)), [], np.zeros((1, 0, 3)), np.zeros((1, 0, 4))))
    >>> path.read_bytes()[1:5]
    b'MCAP'
    """
    require_packages("an .mcap file", "logs", "mcap", "rosbags", error=StorageError)
    from mcap.writer import Writer

    store = typestore()
    schemas, channels = dict[str, int](), dict[str, int]()
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start("ros2", "articulated-engine")
        for name, of, at, raw in messages(f, store):
            if of not in schemas:
                text = store.generate_msgdef(TYPES[of], ros_version=2)[0]
                schemas[of] = writer.register_schema(TYPES[of], "ros2msg", text.encode())
            if name not in channels:
                channels[name] = writer.register_channel(name, "cdr", schemas[of])
            writer.add_message(channels[name], at, raw, at)
        if f.outcome:
            writer.add_metadata(OUTCOME, dict(f.outcome))
        writer.finish()


def write_rosbag2(path: Path, f: Flight) -> None:
    """Write a flight as a rosbag2 folder, its metadata and an MCAP file, which ``ros2 bag`` plays, of Humble and later.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from engine.logs import Flight, bag_files, write_rosbag2
    >>> path = Path(tempfile.mkdtemp()) / "run"
    >>> write_rosbag2(path, Flight(np.zeros(1), ["hip"], *np.zeros((3, 1, 1)), [], np.zeros((1, 0, 3)), np.zeros((1, 0, 4))))
    >>> bag_files(path)
    ['metadata.yaml', 'run.mcap']
    """
    require_packages("a rosbag2 folder", "logs", "rosbags", error=StorageError)
    from rosbags.rosbag2 import StoragePlugin, Writer

    store = typestore()
    with Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP) as bag:
        for key, text in f.outcome.items():
            bag.set_custom_data(f"{OUTCOME}.{key}", text)
        known: dict[str, Any] = {}
        for name, of, at, raw in messages(f, store):
            if name not in known:
                known[name] = bag.add_connection(name, TYPES[of], typestore=store, offered_qos_profiles=[quality(of)])
            bag.write(known[name], at, raw)


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

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from engine.logs import Flight, bag_files, write_rosbag2
    >>> path = Path(tempfile.mkdtemp()) / "run"
    >>> write_rosbag2(path, Flight(np.zeros(1), ["hip"], *np.zeros((3, 1, 1)), [], np.zeros((1, 0, 3)), np.zeros((1, 0, 4))))
    >>> bag_files(path)
    ['metadata.yaml', 'run.mcap']
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
