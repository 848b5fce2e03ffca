"""Flights as logs of ROS 2: an MCAP file, or a rosbag2 folder. ROS itself is not needed.

Joints with one coordinate are in /joint_states; the poses of all links in the world are in /tf, a floating base's among them; the robot is
in /robot_description, once. How the flight ended is in a record of metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import require_packages
from engine.logs.flight import Flight, nanoseconds, stamp
from engine.recording import StorageError

JOINTS, LINKS, ROBOT = "/joint_states", "/tf", "/robot_description"
#: under which name it says how a flight ended
OUTCOME = "outcome"
#: what tells of a bag's files, in its folder
METADATA = "metadata.yaml"
#: the types of what is said under these names
TYPES = {JOINTS: "sensor_msgs/msg/JointState", LINKS: "tf2_msgs/msg/TFMessage", ROBOT: "std_msgs/msg/String"}


def header(t: float, frame: str) -> dict[str, Any]:
    """Return a header as plain data."""
    return {"stamp": stamp(t)._asdict(), "frame_id": frame}


def joint_state(f: Flight, k: int) -> dict[str, Any]:
    """Return what /joint_states says of state k."""
    each = {"position": f.position, "velocity": f.velocity, "effort": f.effort}
    return {"header": header(f.t[k], ""), "name": [*f.joints], **{n: x[k].tolist() for n, x in each.items()}}


def transforms(f: Flight, k: int) -> dict[str, Any]:
    """Return what /tf says of state k."""
    poses = [{"translation": dict(zip("xyz", place.tolist(), strict=True)), "rotation": dict(zip("wxyz", turn.tolist(), strict=True))}
             for place, turn in zip(f.places[k], f.turns[k], strict=True)]  # fmt: skip
    return {"transforms": [{"header": header(f.t[k], f.world), "child_frame_id": name, "transform": pose}
                           for name, pose in zip(f.links, poses, strict=True)]}  # fmt: skip


def messages(f: Flight) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield what is said: under which name, when (ns), and the message as plain data."""
    if f.description:
        yield ROBOT, nanoseconds(f.t[0]), {"data": f.description}
    for k, t in enumerate(f.t):
        at = nanoseconds(t)
        if len(f.joints):
            yield JOINTS, at, joint_state(f, k)
        yield LINKS, at, transforms(f, k)


def typestore() -> Any:
    """Return the definitions of ROS 2's messages."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def write_mcap(path: Path, f: Flight) -> None:
    """Write a flight as an MCAP file, with the definitions of its messages: Foxglove, rosbag2 and MCAP's own readers open it."""
    require_packages("an .mcap file", "logs", "mcap", "mcap_ros2", "rosbags", error=StorageError)
    from mcap_ros2.writer import Writer

    store = typestore()
    with path.open("wb") as file:
        writer = Writer(file)
        known = {}
        for name, at, message in messages(f):
            if name not in known:
                known[name] = writer.register_msgdef(TYPES[name], store.generate_msgdef(TYPES[name], ros_version=2)[0])
            writer.write_message(name, known[name], message, log_time=at, publish_time=at)
        if f.outcome:
            writer.add_metadata(OUTCOME, dict(f.outcome))
        writer.finish()


def write_rosbag2(path: Path, f: Flight) -> None:
    """Write a flight as a rosbag2 folder, its metadata and an MCAP file, which ``ros2 bag`` plays."""
    require_packages("a rosbag2 folder", "logs", "rosbags", error=StorageError)
    from rosbags.rosbag2 import StoragePlugin, Writer

    store = typestore()
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        for key, text in f.outcome.items():
            bag.set_custom_data(f"{OUTCOME}.{key}", text)
        known: dict[str, Any] = {}
        for name, at, message in messages(f):
            if name not in known:
                known[name] = bag.add_connection(name, TYPES[name], typestore=store)
            bag.write(known[name], at, store.serialize_cdr(typed(store.types, TYPES[name], message), TYPES[name]))


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


def typed(types: Any, name: str, plain: Any) -> Any:
    """Return a message of plain data as rosbags has it: with numbers in arrays."""
    makers: dict[str, Callable[..., Any]] = types
    if name == "sensor_msgs/msg/JointState":
        arrays = {n: np.array(plain[n], dtype=float) for n in ("position", "velocity", "effort")}
        return makers[name](header=headed(makers, plain["header"]), name=plain["name"], **arrays)
    if name == "std_msgs/msg/String":
        return makers[name](data=plain["data"])
    each = []
    for x in plain["transforms"]:
        place, turn = x["transform"]["translation"], x["transform"]["rotation"]
        transform = makers["geometry_msgs/msg/Transform"](translation=makers["geometry_msgs/msg/Vector3"](**place),
                                                          rotation=makers["geometry_msgs/msg/Quaternion"](**turn))  # fmt: skip
        each.append(makers["geometry_msgs/msg/TransformStamped"](header=headed(makers, x["header"]), child_frame_id=x["child_frame_id"],
                                                                 transform=transform))  # fmt: skip
    return makers[name](transforms=each)


def headed(makers: dict[str, Callable[..., Any]], plain: dict[str, Any]) -> Any:
    """Return a header as rosbags has it."""
    return makers["std_msgs/msg/Header"](stamp=makers["builtin_interfaces/msg/Time"](**plain["stamp"]), frame_id=plain["frame_id"])
