"""Export of trajectories as logs of other tools: what of them goes into which file."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import beside, nearest, path_of, warn, writing
from engine.components.component import SimulationWarning
from engine.io import RobotFileError
from engine.io.save_urdf import urdf_text
from engine.logs import (
    WORLD,
    Distances,
    Field,
    Flight,
    Inertial,
    OfJoints,
    Wrench,
    bag_files,
    require_prefix,
    sensors_of,
    write_mat,
    write_mcap,
    write_parquet,
    write_rosbag2,
)
from engine.model import StateError
from engine.recording import StorageError
from engine.simulation.mounts import Mount, samples_of
from engine.simulation.parameters import with_parameters
from engine.spatial import quaternion, se3, so3

Array = np.ndarray
#: what logs are written for, by their endings
ENDINGS = (".mcap", ".rosbag2", ".mat", ".parquet", ".oem", ".aem")
#: messages of where one link is, when
MESSAGES = (".oem", ".aem")
#: those of ROS 2, which have frames
FRAMED = (".mcap", ".rosbag2")
EXPECTED = f"expected .h5, .hdf5, {', '.join(ENDINGS)}"


def is_log(path: Any) -> bool:
    """Return whether a path is that of a log, by its ending."""
    return path_of(path, StorageError).suffix.lower() in ENDINGS


def write_log(trajectory: Any, path: Any, overwrite: bool, link: str | None, epoch: str | None, prefix: str = "",
              center: str | None = None) -> Path:  # fmt: skip
    """Write a trajectory as what a path's ending says; return the path.

    Raises
    ------
    StorageError : the path exists, or cannot be written; a package is missing; a prefix is none
    StateError : it is a batch, and the log one of a flight; no ``link`` and ``epoch`` of an .oem or .aem; a prefix of a log without frames
    """
    path = path_of(path, StorageError)
    ending = path.suffix.lower()
    if path.exists() and (not overwrite or path.is_dir() != (ending == ".rosbag2")):
        raise StorageError(f"'{path}' exists; expected a new path{'' if path.is_dir() else ', or overwrite=True'}")
    if path.is_dir():
        bag_files(path)                                                       # before the work of writing another
    messages = ending in MESSAGES
    if messages and (link is None or epoch is None):
        raise StateError(f"'{path.name}' says when and of what it is; expected link=, one of the robot's, and epoch='2026-11-27T12:00:00'")
    if not messages and (link is not None or epoch is not None or center is not None):
        raise StateError(f"link, epoch and center are of .oem and .aem, and '{path.name}' is neither; expected none of them")
    if prefix and ending not in FRAMED:
        raise StateError(f"prefix is of {' and '.join(FRAMED)}, and '{path.name}' is neither; expected none of it")
    require_prefix(prefix, StorageError)
    if messages and link not in (names := [x.name for x in trajectory.model.links]):
        raise StateError(f"there is no link '{link}'{nearest(str(link), names)}; expected one of {', '.join(names)}")
    if ending not in (".mat", ".parquet") and trajectory.q.ndim > 2:
        raise StateError(f"'{path.name}' is of one flight, and this is a batch {trajectory.q.shape[:-2]}; expected trajectory.rollout(0)")
    if np.any(trajectory.failed):
        warn(f"'{path.name}' is of what failed: {failures(trajectory)}", SimulationWarning)
    if ending in FRAMED and (lacks := left_out(trajectory)):
        warn(f"'{path.name}' leaves out {', '.join(lacks)}; expected {path.stem}.h5 beside it, which holds them", SimulationWarning)
    subject = logged_flight(trajectory, path.name, prefix) if ending in FRAMED else trajectory
    with writing(path, StorageError, begun=False):
        path.parent.mkdir(parents=True, exist_ok=True)
    waiting = beside(path)
    try:
        with writing(waiting, StorageError):
            if ending == ".rosbag2":
                waiting.mkdir()
            WRITERS[ending](subject, whole := waiting / f"{path.stem}_0" if ending == ".rosbag2" else waiting, link, epoch,
                            center)
        with writing(path, StorageError, begun=False):
            if path.is_dir():
                replace_bag(path.resolve(), whole)
            else:
                whole.replace(path)
    except StorageError as error:
        raise StorageError(str(error).replace(str(waiting), str(path))) from error
    finally:
        if waiting.is_dir():
            shutil.rmtree(waiting, ignore_errors=True)
        waiting.unlink(missing_ok=True)
    return path


def replace_bag(path: Path, new: Path) -> None:
    """Put a new bag in the place of an old one, of which its own files are deleted and nothing else."""
    own, old = bag_files(path), beside(path)
    path.rename(old)
    try:
        new.rename(path)
    except OSError:
        old.rename(path)
        raise
    for name in own:
        (old / name).unlink()
    old.rmdir()                                                               # which refuses where something has come meanwhile


# ---------------------------------------------------------------- what goes into them


def failures(trajectory: Any) -> str:
    """Return which rollouts failed, and why, in words."""
    failed = np.asarray(trajectory.failed)
    first = np.unravel_index(int(np.argmax(failed)), failed.shape)
    text = trajectory.reason[first] if isinstance(trajectory.reason, np.ndarray) else trajectory.reason
    words = f"a motion that ends at t = {trajectory.t[-1]:g} s" if not failed.ndim else f"{failed.sum()} of {failed.size} rollouts"
    return f"{words} ({'' if not failed.ndim else f'rollout {np.argmax(failed)}: '}{text or 'it stopped being finite'})"


def outcome_of(trajectory: Any) -> dict[str, str]:
    """Return how a flight, or a batch, ended: whether it failed, why, and what was noted of it; of a batch lists, as JSON."""
    x, batch = trajectory, trajectory.q.ndim > 2
    reasons = np.broadcast_to(np.array("" if x.reason is None else x.reason, dtype=object), np.shape(x.failed))
    said = json.dumps(reasons.tolist()) if batch else str(reasons[()])
    return {"failed": json.dumps(np.asarray(x.failed).tolist()), "reason": said, "warnings": "\n".join(x.warnings)}


def flight_of(trajectory: Any, described: bool = True, prefix: str = "") -> Flight:
    """Return what a log of ROS says of a trajectory: of joints with one coordinate, of all links, of what sensors read, and of the
    robot, with the run's parameters, if that is to be ``described``. A sensor that is not at its link, or is turned, is a frame."""
    model, coordinates = trajectory.model, trajectory.model.coordinates
    q_at, v_at = (np.cumsum([0, *(c[k] for c in coordinates)]) for k in (1, 2))
    single = [k for k, (_, nq, nv) in enumerate(coordinates) if nq == nv == 1]
    q, v = q_at[single], v_at[single]
    T = trajectory.poses()
    try:
        description = urdf_text(with_parameters(model, trajectory.gravity, trajectory.parameters)[0]) if described else ""
    except RobotFileError as error:
        warn(f"the log has no robot_description, as '{model.name}' is no URDF: {error}", SimulationWarning)
        description = ""
    links, world = [link.name for link in model.links], WORLD
    read, frames, more = read_by_sensors(trajectory, links)
    samples = {n: x for n, mount in trajectory.sensors.items() if described and (x := samples_of(mount, trajectory.t)) is not None}
    T = np.concatenate([T, *(T[..., [links.index(link)], :, :] @ pose for link, pose in more)], axis=-3)
    links += frames
    if WORLD in links:                                                        # which tf has no transform of to itself
        body, place = model.carrier[at] if (at := links.index(WORLD)) < len(model.links) else (0, np.eye(4))
        if body < 0 and (place == np.eye(4)).all():
            links, T = links[:at] + links[at + 1 :], np.delete(T, at, axis=-3)
        else:
            while world in links:
                world += "_"
    return Flight(trajectory.t, [coordinates[k][0] for k in single], trajectory.q[:, q], trajectory.v[:, v], trajectory.tau[:, v],
                  links, T[..., :3, 3], quaternion.from_matrix(T[..., :3, :3]), description, world,
                  outcome_of(trajectory) if described else {}, prefix=prefix, samples=samples, **read)  # fmt: skip


def logged_flight(trajectory: Any, file: str, prefix: str) -> Flight:
    """Return what a log of ROS in a ``file`` says of a trajectory; a warning tells of sensors that have other names there."""
    f = flight_of(trajectory, prefix=prefix)
    if renamed := [f"'{name}' as '{topic}'" for name, _, topic, _ in sensors_of(f) if name != topic]:
        warn(f"'{file}' has sensors by other names, as topics have none but letters, digits and _, and numbered where two are "
             f"alike: {', '.join(renamed)}", SimulationWarning)  # fmt: skip
    return f


def read_by_sensors(trajectory: Any, links: list[str]) -> tuple[dict[str, dict[str, Any]], list[str], list[tuple[str, Array]]]:
    """Return what sensors read, by the words of :class:`engine.logs.Flight` and by name; and of those that are elsewhere than their link
    the names of their frames, and where these are on which link."""
    found: dict[str, dict[str, Any]] = {n: {} for n in ("inertial", "wrenches", "distances", "fields", "of_joints")}
    frames, places = list[str](), list[tuple[str, Array]]()
    for name, mount in trajectory.sensors.items():
        parts = {kind: trajectory.signals.get(signal) for kind, signal in parts_of(trajectory, name).items()}
        if not parts:
            continue
        frame, pose = mount.link, mount.pose @ ahead(mount)
        if (pose != np.eye(4)).any():
            frame = name
            while frame in (WORLD, *links, *frames):
                frame += "_"
            frames.append(frame)
            places.append((mount.link, pose))
        what, x = reading(mount, frame, parts)
        found[what][name] = x
    return found, frames, places


def ahead(mount: Mount) -> Array:
    """Return the pose (4, 4), in a sensor's axes, of those that ROS has: of what looks along one ray x is that."""
    d = np.array(mount.about.get("direction", (1.0, 0.0, 0.0)))
    across = math.hypot(d[1], d[2])
    if across == 0.0:                                                          # along x, or against it
        return np.eye(4) if d[0] > 0.0 else se3.pose(np.diag([-1.0, -1.0, 1.0]), np.zeros(3))
    return se3.pose(so3.exp(np.array([0.0, -d[2], d[1]]) / across * math.atan2(across, d[0])), np.zeros(3))


def reading(mount: Mount, frame: str, parts: dict[str, Any]) -> tuple[str, Any]:
    """Return what a sensor reads as logs of ROS have it, and by which word of :class:`engine.logs.Flight`."""
    if "moment" in parts:
        return "wrenches", Wrench(frame, parts["force"], parts["moment"])
    if "field" in parts:
        return "fields", Field(frame, parts["field"])
    about = mount.about
    if "read" in parts:
        return "of_joints", OfJoints(about["joints"], about["of"], parts["read"].reshape(-1, len(about["joints"])))
    if "distance" in parts:
        angles = [np.array(about[n]) if n in about else None for n in ("azimuths", "elevations")]
        m, n = (1 if a is None else len(a) for a in reversed(angles))
        return "distances", Distances(frame, parts["distance"].reshape(-1, m, n), about["near"], about["far"], *angles)
    return "inertial", Inertial(frame, parts.get("rate"), parts.get("force"))


def parts_of(trajectory: Any, name: str) -> dict[str, str]:
    """Return of a sensor the signals that logs of ROS have, by what they are: none of other kinds, of one that integrates, and of one
    whose file does not say what its numbers are."""
    kind, *_, about = trajectory.sensors[name]
    wrench, distance, joints = {"force": f"{name}.force", "moment": f"{name}.moment"}, {"distance": name}, {"read": name}
    known = {"Gyro": {"rate": name}, "Accelerometer": {"force": name}, "IMU": {"rate": f"{name}.rate", "force": f"{name}.force"},
             "ForceTorque": wrench, "ContactForce": wrench, "Magnetometer": {"field": name}}  # fmt: skip
    known |= {"RangeFinder": distance, "Lidar": distance, "Encoder": joints, "JointTorque": joints} if {"near", "joints"} & {*about} else {}
    parts = known.get(kind, {})
    return parts if all(signal in trajectory.signals for signal in parts.values()) else {}


def left_out(trajectory: Any) -> list[str]:
    """Return what was recorded of contacts and sensors, and logs of ROS have no messages for, in words."""
    touches = trajectory.touching is not None or any(n.partition(".")[0] == "contacts" for n in (*trajectory.signals, *trajectory.names))
    read = [f"'{n}' ({m.kind})" for n, m in trajectory.sensors.items() if not parts_of(trajectory, n)]
    return [*["contacts"] * touches, *read]


def mat(trajectory: Any, path: Path, *_: Any) -> None:
    """Write t, q, v, tau, vdot as they are, signals and parameters as structures, the names of the entries of q and v, and
    whether and why it failed."""
    x, model = trajectory, trajectory.model
    reason = "" if x.reason is None else x.reason
    write_mat(path, {"failed": np.asarray(x.failed), "t": x.t, "q": x.q, "v": x.v, "tau": x.tau, "vdot": x.vdot,
                     "gravity": np.array(x.gravity)},
              {"signals": x.signals, "parameters": x.parameters},
              {"model": model.name, "q_names": model.labels("q"), "v_names": model.labels("v"),
               "reason": reason, "warnings": list(x.warnings)})  # fmt: skip


def parquet(trajectory: Any, path: Path, *_: Any) -> None:
    """Write a column for each number, and of a batch the rollout's number."""
    x, lead = trajectory, trajectory.q.shape[:-2]
    rows = math.prod(lead)
    own = {"rollout": np.repeat(np.arange(rows), len(x.t))} if lead else {}
    columns = {**own, "t": np.tile(x.t, rows), **{n: np.ravel(y) for n, y in x.columns().items()}}
    write_parquet(path, columns, {"model": x.model.name, "gravity": " ".join(map(repr, map(float, x.gravity))), **outcome_of(x)})


#: by ending: of a trajectory, or its flight, a path, a link, an epoch and a center
WRITERS: dict[str, Any] = {
    ".mat": mat, ".parquet": parquet,
    ".mcap": lambda f, path, *_: write_mcap(path, f),
    ".rosbag2": lambda f, path, *_: write_rosbag2(path, f),
    ".oem": lambda x, path, link, epoch, center: x.to_oem(path, link, epoch, center),
    ".aem": lambda x, path, link, epoch, center: x.to_aem(path, link, epoch, center),
}  # fmt: skip
