"""Motions to identify from: trajectories, recordings, tables with named columns, arrays by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics
from engine.checks import nearest, numbers, path_of, shown
from engine.compiled.robot import robot_of
from engine.dynamics.kinematics import GRAVITY
from engine.identification.columns import motion_of, rates, warn_of_noise
from engine.identification.errors import IdentificationError
from engine.identification.table import read_csv
from engine.identification.unknowns import LOSSES, Unknowns
from engine.model import Model
from engine.model.parameters import NUMBERS, is_number, nominal, split
from engine.recording import is_recording
from engine.simulation import Robot, Trajectory, load_trajectory

Array = np.ndarray
#: what a mapping of arrays may hold
ARRAYS = ("t", "q", "v", "vdot", "tau", "wrenches", "angular_momentum")
#: of a trajectory's largest forces, and of its largest momentum: what its own model may leave unexplained
UNEXPLAINED, CHANGED = 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class Motion:
    """States of a robot in time, and what acted.

    Attributes
    ----------
    q (T, nq), v, vdot (T, nv) : of by="momentum" vdot is not needed, and None
    tau : all generalized forces (T, nv) but those of the model's own losses, wrenches among them; None where they are not needed
    spin : angular momentum that is none of the links', in world axes (T, 3)
    gravity : world axes (3)
    rubs : whether the joints' damping and friction act
    ordered : whether rows follow one another in time
    """

    q: Array
    v: Array
    vdot: Array | None
    tau: Array | None
    spin: Array
    gravity: tuple[float, ...]
    rubs: bool = True
    ordered: bool = True


def motions_of(robot: Robot, fixed_gravity: bool, given: Any, by: str, smooth: int, unknowns: Unknowns | None = None) -> list[Motion]:
    """Return what is given as motions; a robot whose gravity is not fixed takes that of recordings."""
    model = robot.model
    gravity = robot.gravity if fixed_gravity else None
    if isinstance(given, (list, tuple)):
        if not given:
            raise IdentificationError("there is no motion; expected at least one")
        return [m for one in given for m in motions_of(robot, fixed_gravity, one, by, smooth, unknowns)]
    if isinstance(given, (str, os.PathLike)):
        path = path_of(given, IdentificationError)
        if path.suffix.lower() not in (".h5", ".hdf5") and not (path.is_file() and is_recording(path)):
            return [of_columns(model, gravity, read_csv(str(path)), str(path), by, smooth)]
        given = load_trajectory(path)
    if isinstance(given, Trajectory):
        if unknowns is not None:
            require_one_robot(given, unknowns)
        each = [given] if given.q.ndim == 2 else [given.rollout(k) for k in np.ndindex(given.q.shape[:-2])]
        return [of_trajectory(model, gravity, one, by) for one in each]
    if hasattr(given, "to_dict") and hasattr(given, "index"):                  # a DataFrame of pandas
        index = {given.index.name: given.index.to_numpy()} if given.index.name else {}
        given = {**index, **{str(name): given[name].to_numpy() for name in given.columns}}
    if not isinstance(given, Mapping):
        raise IdentificationError(f"a motion is {shown(given)}; expected a Trajectory, arrays by name (q, v, vdot, tau), a DataFrame, a "
                                  "file (.csv or .h5), or a list of them")  # fmt: skip
    if "q" in given and (np.ndim(given["q"]) == 2 or "q" not in model.labels("q")):
        return [of_arrays(model, gravity, given, by, smooth)]
    columns = {str(name): vector(str(name), x) for name, x in given.items()}
    return [of_columns(model, gravity, columns, "motion", by, smooth)]


def vector(name: str, x: Any) -> Array:
    """Return a column of numbers (T)."""
    a = numbers(f"column '{name}'", x, IdentificationError)
    if a.ndim != 1 or not a.size:
        raise IdentificationError(f"column '{name}' has shape {a.shape}; expected (T,), or arrays q (T, nq), v, vdot, tau (T, nv)")
    return a


def of_arrays(model: Model, gravity: Any, given: Mapping[str, Any], by: str, smooth: int) -> Motion:
    """Return the motion of arrays by name."""
    for name in given:
        if name not in ARRAYS:
            raise IdentificationError(f"a motion has '{name}'{nearest(str(name), ARRAYS)}; expected some of {', '.join(ARRAYS)}")
    rows = len(np.atleast_1d(given["q"]))
    if not rows:
        raise IdentificationError("a motion has no rows; expected one for each time")
    base = 6 if model.floats else 0
    shapes: dict[str, list[tuple[int, ...]]] = {
        "t": [()], "q": [(model.nq,)], "v": [(model.nv,)], "vdot": [(model.nv,)], "tau": [(model.nv,), (model.nv - base,)],
        "wrenches": [(len(model.links), 6)], "angular_momentum": [(3,)],
    }  # fmt: skip
    found = {}
    for name, x in given.items():
        a = found[name] = numbers(f"{name} of a motion", x, IdentificationError)
        if a.shape[:1] != (rows,) or a.shape[1:] not in shapes[name]:
            wanted = " or ".join(str((rows, *shape)) for shape in dict.fromkeys(shapes[name]))
            raise IdentificationError(f"{name} of a motion has shape {a.shape}; expected {wanted}, a row for each of q's (T, nq)")
    return complete_motion(model, gravity, found, "the motion", by, smooth)


def of_columns(model: Model, gravity: Any, table: Mapping[str, Array], name: str, by: str, smooth: int) -> Motion:
    """Return the motion of named columns (T); a floating base without columns of its own forces has none."""
    if "t" not in table:
        raise IdentificationError(f"'{name}' has no column 't'; expected the time, s, and one for each coordinate")
    found, _ = motion_of(model, table, name)
    names = model.labels("v")
    free = [] if model.base is None else [f"tau.{n}" for n in names[model.base.v]]
    if not any(n in table for n in free):
        table = {**table, **{n: np.zeros(len(table["t"])) for n in free}}
    missing = [f"tau.{n}" for n in names if f"tau.{n}" not in table]
    if by == "torques" and missing:
        raise IdentificationError(f"'{name}' has no column '{missing[0]}'{nearest(missing[0], table)}; expected the force of each joint: "
                                  f"{', '.join(f'tau.{n}' for n in names)}")  # fmt: skip
    tau = {} if missing else {"tau": np.column_stack([table[f"tau.{n}"] for n in names])}
    return complete_motion(model, gravity, {**found, "t": table["t"], **tau}, name, by, smooth)


def complete_motion(model: Model, gravity: Any, found: dict[str, Array], name: str, by: str, smooth: int) -> Motion:
    """Return the motion of arrays that are checked, with derivatives by fitting for those that are not there."""
    q, needed = model.normalized(found["q"]), ("v",) if by == "momentum" else ("v", "vdot")
    missing = [n for n in needed if n not in found]
    if missing:
        if "t" not in found:
            raise IdentificationError(f"{name} has no {missing[0]}, nor t; expected {' and '.join(needed)}, or the times t to derive them")
        if (np.diff(found["t"]) <= 0.0).any():
            raise IdentificationError(f"the times t of {name} do not increase; expected times, s, one after the other")
        v, vdot, _ = rates(model, found["t"], q, found, smooth, name)
        warn_of_noise(model, found["t"], q, found, smooth, {"v": v, "vdot": vdot}, by)
        found = {**found, "v": v, "vdot": vdot}
    g = tuple(GRAVITY) if gravity is None else gravity
    spin = found.get("angular_momentum", np.zeros((len(q), 3)))
    if by != "torques":
        return Motion(q, found["v"], found.get("vdot"), None, spin, g, ordered="t" in found)
    if "tau" not in found:
        raise IdentificationError(f"{name} has no tau; expected the joints' forces, N·m and N, or by='momentum'")
    tau = found["tau"]
    if tau.shape[1] < model.nv:                                                # nothing pushes the base
        tau = np.hstack([np.zeros((len(tau), model.nv - tau.shape[1])), tau])
    if "wrenches" in found:
        tau = tau + forces_of_wrenches(model, q, found["wrenches"])
    return Motion(q, found["v"], found["vdot"], tau, spin, g, ordered="t" in found)


def forces_of_wrenches(model: Model, q: Array, wrenches: Array) -> Array:
    """Return the generalized forces (T, nv) of wrenches on the links (T, nlinks, 6)."""
    rest = np.zeros((len(q), model.nv))
    return -robot_of(model, (0.0, 0.0, 0.0)).rnea(q, rest, rest, wrenches)


def require_one_robot(run: Trajectory, unknowns: Unknowns) -> None:
    """Refuse rollouts of robots that differ, and a trajectory whose parameters are other numbers than those that the model is known by."""
    for name in filter(is_number, run.parameters):
        each = run.parameters[name].reshape(-1, *NUMBERS[split(name)[0]].shape)
        if (each != each[0]).any():
            raise IdentificationError(f"the rollouts differ in '{name}', so they are of several robots; expected those of one, such as "
                                      "trajectory.rollout(0)")  # fmt: skip
    ran = (run if run.q.ndim == 2 else run.rollout((0,) * (run.q.ndim - 2))).robot.model
    found = {(kind if kind in LOSSES else "inertia", owner) for kind, owner in map(split, unknowns.names)}
    for name in filter(is_number, run.parameters):
        kind, owner = split(name)
        own = "inertia" if NUMBERS[kind].owner == "link" else "placement" if kind == "displacement" else kind
        if (own, owner) in found or owner not in [x.name for x in (unknowns.model.links if own == "inertia" else unknowns.model.joints)]:
            continue
        now, then = nominal(unknowns.model, f"{own}.{owner}"), nominal(ran, f"{own}.{owner}")
        if np.abs(now - then).max() > 1e-9 * np.abs(then).max():
            raise IdentificationError(f"the trajectory ran with its own '{name}', which the model has otherwise, and which is not unknown; "
                                      "expected model.with_parameters, with that, or it in unknown=")  # fmt: skip


def of_trajectory(model: Model, gravity: Any, run: Trajectory, by: str) -> Motion:
    """Return a single rollout as a motion; refuse one of another robot, and one that more acted on than what identification takes in."""
    for which in ("q", "v"):
        if run.model.labels(which) != model.labels(which):
            raise IdentificationError(f"the trajectory is of '{run.model.name}', whose coordinates are not those of '{model.name}'; "
                                      "expected a motion of the same joints")  # fmt: skip
    own = run.robot.gravity
    if gravity is not None and not np.array_equal(gravity, own):
        raise IdentificationError(f"the trajectory was in the gravity {own}, the robot is in {gravity}; expected the same, or a Model, "
                                  "which takes the trajectory's")  # fmt: skip
    good = np.isfinite(run.q).all(axis=1)
    run = run if good.all() else run[: int(good.argmin())]
    if len(run) < 2:
        raise IdentificationError("a trajectory has fewer than two states; expected more")
    spin = sum((x for n, x in run.signals.items() if n.endswith(".angular_momentum")), np.zeros((len(run), 3)))
    if by == "momentum":
        P = run.momentum()
        scale = np.abs(dynamics.momentum_matrix(run.model, run.q[0])).max(axis=1) * np.abs(run.v).max()
        wrong = np.ptp(P, axis=0) > CHANGED * np.maximum(np.abs(P).max(axis=0), scale)
        require_alone(run, wrong, "the trajectory's momentum is not constant")
        return Motion(run.q, run.v, None, None, spin, own)
    free = ~np.any(run.signals.get("stops.force", np.zeros(run.v.shape)), axis=1)         # stops push within a step, not all of it
    if free.sum() < 2:
        raise IdentificationError("the trajectory's joints are at their stops all the time; expected one within their limits")
    run, spin = run[free], spin[free]
    losses, needed = run.signals.get("friction.force", np.zeros(run.v.shape)), run.robot.rnea(run.q, run.v, run.vdot)
    size = max(np.abs(needed).max(), np.abs(needed - run.robot.bias(run.q, run.v)).max())
    require_alone(run, np.abs(needed - run.tau - losses) > UNEXPLAINED * size, "the trajectory's tau does not explain it")
    without = not any(j.damping or j.friction for j in run.robot.model.joints)                                # or they did not act
    return Motion(run.q, run.v, run.vdot, run.tau, spin, own, without or "friction.force" in run.signals)


def require_alone(run: Trajectory, wrong: Array, what: str) -> None:
    """Refuse a trajectory on which something else acted."""
    if wrong.any():
        others = [n.removesuffix(".power") for n, x in run.signals.items() if n.endswith(".power") and np.any(x)]
        others = [n for n in others if n not in ("drive", "friction", "stops")]
        said = f" ({', '.join(others)})" if others else ""
        if not others and "friction.force" in run.signals:
            raise IdentificationError(f"{what}: friction and damping act in it by impulses, of the order of its steps; expected a "
                                      "smaller dt, or joint_dynamics='explicit'")  # fmt: skip
        raise IdentificationError(f"something else acts{said}, and {what}; expected its whole tau and wrenches as "
                                  "arrays, {'q': ..., 'v': ..., 'vdot': ..., 'tau': ..., 'wrenches': ...}")  # fmt: skip
