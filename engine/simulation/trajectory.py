"""Trajectories: recorded states of one rollout or of a batch, to slice, interpolate, sum up, export, plot and save."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checks import path_of, require_packages, shown, writing
from engine.compiled.robot import Robot, robot_of
from engine.integrate.event import Crossing
from engine.io.ccsds import write_aem, write_oem
from engine.io.centers import center_of, orbit_of
from engine.model import Model, StateError
from engine.model.shown import figure, html
from engine.recording import StorageError, saved
from engine.simulation.columns import Signals, describe_run, entries, not_finite, spells, write_columns
from engine.simulation.contact_table import COLUMNS, Touching
from engine.simulation.logged import is_log, write_log
from engine.simulation.mounts import Mount
from engine.simulation.parameters import moves_shapes, own, with_parameters
from engine.simulation.run_header import checked_path, header_of, outcome
from engine.simulation.sampled_columns import interpolate_columns, stands
from engine.simulation.totals import About, central, compiled_sum
from engine.spatial import quaternion
from engine.spatial.manifold import hermite

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Recorded states of one rollout, or of a batch of them.

    ``trajectory[a:b:c]`` is a part of it in time, ``trajectory.rollout(k)`` one of a batch, ``trajectory.at(times)`` what it was in
    between. Where an event's callback changed the state there are two records at one time, before and after.

    Attributes
    ----------
    t : times (T), s
    q, v : configurations (..., T, nq) and velocities (..., T, nv)
    tau : the controller's and motors' forces at those states (..., T, nv), after their limits; what else acts has signals: "servo.force"
    vdot : accelerations (..., T, nv)
    signals : by name, "component.signal" (..., T, *shape): powers, W, states, and what the actuators say
    events : where the run was stopped or interrupted
    stopped : of a batch with events, the time at which each rollout stopped, infinite where it did not
    failed : which rollouts (...) stopped being finite: their records are NaN from there on, or end before
    reason : of a batch in which some failed, why, in words (...), "" where they did not; of one that failed, why; else None
    warnings : what was noted of the motion, in words: velocities of no robot, stops that were passed, steps that are too long
    defect : what the errors of angular momentum of the steps until then add up to (..., T), relative to the largest: an estimate of the
        error of the motion, where a floating robot's momentum is conserved
    names : of what signals have an entry for each of: the points of "contacts", also as ``trajectory("contacts.names")``; and of what
        they number: the phases of "mode.phase"
    parameters : of the simulation, by name, one for each rollout (..., *shape); "mass.LINK", "inertia.LINK" and "gravity" count instead of
        the model's and ``gravity``
    ground : the pose (4, 4) of the ground that its simulation had contacts with, whose z axis is the normal; None without one
    sensors : by name, those of its simulation: (kind, link, pose, about)
    held : the signals that stand still between ticks, and "tau" where a controller's that ticks is all of it

    >>> import engine
    >>> model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    >>> flight = engine.Simulator(model, gravity=(0, 0, 0)).run(model.neutral(), 0.1 * np.ones(model.nv), 0.1)
    >>> flight.pose("gripper").shape, flight.at([0.05]).t.tolist(), bool(np.ptp(flight.momentum(), axis=0).max() < 1e-9)
    ((101, 4, 4), [0.05], True)
    """

    model: Model
    gravity: tuple[float, ...]
    t: Array
    q: Array
    v: Array
    tau: Array
    vdot: Array
    signals: dict[str, Array] = field(default_factory=dict)
    events: tuple[Crossing, ...] = ()
    stopped: Array | None = None
    parameters: dict[str, Array] = field(default_factory=dict)
    reason: Array | str | None = None
    warnings: tuple[str, ...] = ()
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ground: Array | None = None
    touching: Touching | None = field(default=None, repr=False)
    sensors: dict[str, Mount] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", Signals(self.signals))

    def __repr__(self) -> str:
        return describe_run(f"'{self.model.name}'", self.t, self.q, self.model.entries("v"), self.signals.get("drive.saturated"))

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows: a page that plays, and a table of what matters."""
        return html(self)

    def __len__(self) -> int:
        return len(self.t)

    def __getstate__(self) -> dict[str, Any]:
        return {**{name: x for name, x in vars(self).items() if name != "robot"}, "touching": None}     # which is found again, or not

    @property
    def failed(self) -> NDArray[np.bool_]:
        """True for each rollout (...) that stopped being finite; of a single one a scalar."""
        return not_finite(self.q, self.reason)

    @property
    def defect(self) -> Array:
        """Sum of the steps' errors of angular momentum so far (..., T), relative to the largest momentum."""
        if "defect" not in self.signals:
            raise StateError("this motion has no defect; expected that of a robot that floats, with conserve_momentum=True")
        return self.signals["defect"]

    @property
    def armature(self) -> tuple[float, ...]:
        """The inertia that motors' rotors add to the joints' (nv), kg·m²: the model's own."""
        return tuple(self.model.armature.tolist())

    @functools.cached_property
    def robot(self) -> Robot:
        """The compiled dynamics of its model, in its gravity, with the masses and inertias of its rollouts."""
        values = {}
        for n, x in self._own().items():
            rows = x.reshape(-1, *x.shape[self.q.ndim - 2 :])
            if (rows != rows[:1]).any():
                raise StateError(f"the rollouts differ in '{n}'; expected one of them, such as trajectory.rollout(0).robot")
            values[n] = rows[0]
        model, gravity = with_parameters(self.model, self.gravity, values)
        return robot_of(model, gravity)

    def _own(self) -> dict[str, Array]:
        """Return those of the parameters that count instead of the model's numbers."""
        return {n: x for n, x in self.parameters.items() if own(n)}

    def _sum(self, of: str) -> Any:
        """Return the energies or the momentum of every state, with its rollout's own parameters."""
        lead, drained = self.q.ndim - 2, {n: x for n, x in self.signals.items() if n.startswith("inertia.")}
        own = {n: np.expand_dims(x, lead) for n, x in self._own().items() if f"inertia.{n.partition('.')[2]}" not in drained} | drained
        function = compiled_sum(of, self.model, self.gravity, tuple((n, x.shape[lead + 1 :]) for n, x in own.items()))
        with np.errstate(invalid="ignore" if np.any(self.failed) else np.geterr()["invalid"]):
            return function(self.q, self.v, *own.values())

    def _said(self, what: str) -> list[Array]:
        """Return the components' signals of that name."""
        return [x for name, x in self.signals.items() if name.endswith(f".{what}")]

    # ------------------------------------------------------------ parts of it

    def mapped(self, take: Callable[[str, Array, int], Array], t: Array, **more: Any) -> Trajectory:
        """Return the trajectory of what ``take`` makes of every array, by name; their time axes are before their core dimensions."""
        lead = self.q.ndim - 2
        arrays = {n: take(n, vars(self)[n], lead) if n in vars(self) else None for n in ("q", "v", "tau", "vdot")}
        return replace(self, t=t, signals={n: take(n, x, lead) for n, x in self.signals.items()}, **{"touching": None, **arrays, **more})

    def _row(self, k: Any, **more: Any) -> Trajectory:
        """Return one rollout of a batch, or several, with all of its records."""
        own = {n: x[k] for n, x in self.parameters.items()}
        return self.mapped(lambda _, x, lead: x[k], self.t, parameters=own, touching=self.touching and self.touching.of(k), **more)

    def __getitem__(self, part: Any) -> Trajectory:
        """Return a slice, an index or a mask in time.

        Raises
        ------
        IndexError : there is no state of that number, which ends a loop over states
        StateError : it is none of these
        """
        if isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            if not -len(self) <= part < len(self):
                raise IndexError(f"there is no state {part}; expected one of {len(self)}")
            part = slice(part, part + 1 or None)
        try:
            t = self.t[part]
        except (IndexError, TypeError, ValueError):
            t = None
        if t is None or t.ndim != 1:
            raise StateError(f"trajectory[{shown(part)}] is no part of its {len(self)} states in time; expected an index, slice or mask")
        return self.mapped(lambda _, x, lead: x[(slice(None),) * lead + (part,)], t, touching=self.touching and self.touching.part(part))

    def rollout(self, k: Any) -> Trajectory:
        """Return one rollout of a batch.

        One that stopped ends with the state at which it did, at that time; one that failed with the last record that is finite. Raises
        StateError where there is no such rollout.
        """
        if self.q.ndim == 2:
            raise StateError("this trajectory is of one rollout; expected a batch")
        try:
            there = np.empty(self.q.shape[:-2])[k].ndim < self.q.ndim - 1
        except (IndexError, TypeError, ValueError):
            there = False
        if not there:
            raise StateError(f"there is no rollout {shown(k)}; expected an index into {self.q.shape[:-2]} rollouts, from 0")
        stopped, reason = (None if x is None else x[k] for x in (self.stopped, self.reason))
        one = self._row(k, stopped=stopped, reason=reason if isinstance(reason, np.ndarray) else reason or None)
        if one.q.ndim > 2:
            return one
        good = np.isfinite(one.q).all(axis=-1)
        if not good.all():
            return replace(one[: int(good.argmin())], stopped=None)
        last = len(self.t) if stopped is None else int(np.searchsorted(self.t, stopped))
        if last == len(self.t):
            return replace(one, stopped=None)
        return replace(one[: last + 1], t=np.append(self.t[:last], float(stopped)), stopped=None)  # type: ignore[arg-type]

    def at(self, times: ArrayLike) -> Trajectory:
        """Return the trajectory at other times (K), s, within its span.

        q is on the group, by cubics that meet v and v̇, and v by cubics. What is held between ticks is as in the last record at or before a
        time: samples of sensors, what laws with a period, a memory or a delay say and what follows from such alone, phases, counts, and a
        controller's ``tau`` that is held. Else ``tau``, v̇ and signals go evenly from record to record, entry by entry.

        At the time of a jump it is the state after it. A rollout of a batch that stopped stays as it was then.
        """
        times = np.atleast_1d(np.asarray(times, dtype=float))
        if not times.size:
            raise StateError("at got no times; expected at least one time, s")
        if len(self) < 2 or not np.isfinite(times).all() or times.min() < self.t[0] or times.max() > self.t[-1]:
            raise StateError(f"times from {times.min():g} to {times.max():g} s; expected them within {self.t[0]:g} … {self.t[-1]:g} s")
        if self.stopped is not None and np.isfinite(self.stopped).any():
            lead, failed = self.stopped.shape, self.failed
            each = [self._row(k, stopped=None, reason=None) if failed[k] else self.rollout(k) for k in np.ndindex(lead)]
            parts = [one.at(np.minimum(times, one.t[-1])) if len(one) > 1 else one[[0] * len(times)] for one in each]

            def of_all(name: str, signal: bool = False) -> Array:
                found = np.stack([p.signals[name] if signal else getattr(p, name) for p in parts])
                return found.reshape(*lead, *found.shape[1:])

            signals = {n: of_all(n, True) for n in self.signals}
            arrays: dict[str, Any] = {name: of_all(name) for name in ("q", "v", "tau", "vdot")}
            return replace(self, t=times, signals=signals, touching=None, **arrays)
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self) - 2)
        h = self.t[k + 1] - self.t[k]
        s = np.divide(times - self.t[k], h, out=np.ones(len(h)), where=h > 0)  # of two states at one time, the later
        m = self.model.manifold
        q0, q1, v0, v1, a0, a1 = (x[..., i, :] for x in (self.q, self.v, self.vdot) for i in (k, k + 1))
        d = m.minus(q0, q1)
        q = m.plus(q0, hermite(s, h, np.zeros_like(d), d, v0, m.dexp_inv(d, v1)))
        v = hermite(s, h, v0, v1, a0, a1)
        makers = {*self.sensors, *(n.partition(".")[0] for n in self.names if n != "contacts")}

        def taken(name: str, x: Array, lead: int) -> Array:
            return interpolate_columns(x, k, s, lead, stands(name, self.held, makers))

        return self.mapped(taken, times, q=m.normalized(q), v=v)

    # ------------------------------------------------------------ what follows from it

    def energy(self) -> tuple[Array, Array]:
        """Return kinetic and potential energy (..., T), J, of the robot and of what acts on it.

        Among the kinetic is that of the motors' rotors (of wheels, whose inertia is not known, it is left out), among the potential what
        components say of it by a signal "energy": springs, gravity of a distant centre; and of the springs of contacts as much as steps
        that do not resolve a blow can give back. Links welded to the world are in neither.
        """
        K, U = self._sum("energy")
        return K, sum(self._said("energy"), U)

    def kinetic_energy(self, about: About = "world") -> Array:
        """Return the robot's kinetic energy (..., T), J, as it is seen from the "world", or from the "center_of_mass": ½ m ċ² less, and
        exact at an orbit's speed."""
        return self._sum("centroidal_kinetic_energy") if central(about) else self._sum("energy")[0]

    def momentum(self, about: About = "world") -> Array:
        """Return the spatial momentum [angular; linear] (..., T, 6) in world axes: the robot's, and what components say by a signal
        "angular_momentum", such as wheels.

        The angular one is about the origin of the "world", or about the "center_of_mass" of all that moves: without the orbit's, and so
        exact far from the origin, where the former has the rounding of m r v.
        """
        own = self._sum("centroidal_momentum" if central(about) else "momentum")
        return np.concatenate([sum(self._said("angular_momentum"), own[..., :3]), own[..., 3:]], axis=-1)

    def poses(self) -> Array:
        """Return the poses of all links (..., T, nlinks, 4, 4)."""
        own = {n: np.expand_dims(x, self.q.ndim - 2) for n, x in self._own().items() if moves_shapes(n)}
        good: Any = np.isfinite(self.q).all(axis=-1, keepdims=True)
        found = robot_of(self.model, self.gravity, own).at(own).forward_kinematics(np.where(good, self.q, self.model.neutral()))
        return np.where(good[..., None, None], found, np.nan)

    def pose(self, link: str) -> Array:
        """Return the poses of one link (..., T, 4, 4)."""
        return self.poses()[..., self.model.link_index(link), :, :]

    def orbit(self, link: str) -> tuple[Array, Array]:
        """Return where the world's origin is in its orbit, r_O (..., T, 3), and from there a link's, ρ (..., T, 3), m: of a run with a
        :class:`engine.space.ReferenceOrbit`. Their sum has the rounding of an orbit's radius, 1e-9 m; ρ has not."""
        if "frame.origin" not in self.signals:
            raise StateError(f"'{self.model.name}' flew in no orbit; expected a Simulator with frame=engine.space.ReferenceOrbit(…)")
        return self.signals["frame.origin"], self.pose(link)[..., :3, 3]

    def power(self) -> dict[str, Array]:
        """Return by component the power (..., T) at which it does work on the robot, W."""
        return {n.removesuffix(".power"): x for n, x in self.signals.items() if n.endswith(".power")}

    def phases(self) -> list[tuple[str, float, float]]:
        """Return the phases of one rollout, one after another: (name, from, to), s; of several :class:`engine.Phases` those of the first.
        [] where there were none."""
        modes = [name for name in self.names if name in self.signals]
        if modes and self.q.ndim > 2:
            raise StateError("phases are of one rollout; expected such as trajectory.rollout(0).phases()")
        return spells(self.t, self.signals[modes[0]], self.names[modes[0]]) if modes else []

    def __call__(self, name: str) -> Array:
        """Return a signal by its name, or a number of one by that of :meth:`columns`, as "q.shoulder"."""
        if name.removesuffix(".names") in self.names and name.endswith(".names"):
            return np.array(self.names[name.removesuffix(".names")])
        if name == "contacts" and self.touching is not None:
            return self.touching()  # type: ignore[return-value]
        if name not in self.signals:
            if name in (columns := self.columns()):
                return columns[name]
            if name == "contacts" and "contacts.force" in self.signals and "contacts.count" not in self.signals:
                raise StateError("no table 'contacts' of few pairs in files, pickles or at other times; expected contacts.force (T, points,"
                                 " 3), contacts.position, contacts.gap or contacts.slip, in the order of contacts.names")  # fmt: skip
            if name == "contacts" and "contacts.wrench" in self.signals:
                raise StateError("no points of contact of what was pickled, of other times, or of a batch in a file; expected a run")
            if self.touching is not None and name.startswith("contacts.") and "contacts.force" not in self.signals:
                raise StateError(f"no signal '{name}' where more than 400 points may touch, or bodies meet by tables; expected 'contacts', "
                                 "the table of those that do, contacts.wrench, contacts.count or contacts.overlap")  # fmt: skip
            raise Signals(self.signals).lacks(name, columns)
        return self.signals[name]

    def columns(self) -> dict[str, Array]:
        """Return every number by a name of its own, (..., T): "q.shoulder", "v.floating_base.wx", "tau.elbow", "wheels.torque[0]", …

        Parameters are among them, the same at every time.
        """
        found = {f"{which}.{name}": getattr(self, which)[..., i]
                 for which in ("q", "v", "tau", "vdot") for i, name in enumerate(self.model.labels(which))}  # fmt: skip
        for name, x in self.signals.items():
            found |= entries(name, x, self.q.ndim - 1)
        for name, x in self.parameters.items():
            found |= {n: np.broadcast_to(y[..., None], self.q.shape[:-1]) for n, y in entries(name, x, self.q.ndim - 2).items()}
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a column for every number of :meth:`columns`, indexed by time (and by rollout, of a batch)."""
        require_packages("a DataFrame", "tables", "pandas")
        import pandas as pd

        columns, lead = self.columns(), self.q.shape[:-2]
        index: Any = pd.Index(self.t, name="t")
        if lead:
            index = pd.MultiIndex.from_product([range(math.prod(lead)), self.t], names=["rollout", "t"])
        frame = pd.DataFrame({n: x.reshape(-1) for n, x in columns.items()}, index=index)
        frame.attrs = {"model": self.model.name, "gravity": self.gravity}
        return frame

    def to_xarray(self) -> xr.Dataset:
        """Return an xarray Dataset with q, v, tau, vdot and the signals, and time, joints' entries and rollouts as coordinates."""
        require_packages("a Dataset", "tables", "xarray")
        import xarray as xr

        lead = [f"batch{i}" if self.q.ndim > 3 else "rollout" for i in range(self.q.ndim - 2)]
        data: dict[str, Any] = {"q": ([*lead, "t", "q_entry"], self.q)}
        data |= {n: ([*lead, "t", "v_entry"], getattr(self, n)) for n in ("v", "tau", "vdot")}
        for name, x in self.signals.items():
            data[name] = ([*lead, "t", *[f"{name}_{i}" for i in range(x.ndim - self.q.ndim + 1)]], x)
        for name, x in self.parameters.items():
            data[name] = ([*lead, *[f"{name}_{i}" for i in range(x.ndim - len(lead))]], x)
        coordinates = {"t": self.t, "q_entry": list(self.model.labels("q")), "v_entry": list(self.model.labels("v"))}
        return xr.Dataset(data, coordinates, {"model": self.model.name, "gravity": self.gravity})

    def save(self, path: str | Path, overwrite: bool = False, link: str | None = None, epoch: str | None = None,
             prefix: str = "", center: str | None = None) -> Path:  # fmt: skip
        """Write the trajectory as an HDF5 file (.h5, .hdf5), which :func:`load_trajectory` reads, or for other tools; return its path.

        Of one flight: ".mcap", a log of ROS 2, which Foxglove opens; ".rosbag2", a folder that ``ros2 bag`` plays; ".oem" and ".aem" of a
        ``link`` from an ``epoch`` on, about a ``center`` (:meth:`to_oem`, :meth:`to_aem`). Of a batch, too: MATLAB's ".mat", ".parquet". A
        ``prefix``, "arm1/", is that of a log's topics and frames, but not of the world, so that several robots may be in one."""
        if is_log(path):
            return write_log(self, path, overwrite, link, epoch, prefix, center)
        if link is not None or epoch is not None or prefix or center is not None:
            raise StateError(f"link, epoch and center are of .oem and .aem, a prefix is of .mcap and .rosbag2, and '{path}' is none of "
                             "them; expected none of these")  # fmt: skip
        columns = {"q": self.q, "v": self.v, "tau": self.tau, "vdot": self.vdot, **self.signals}
        stopped, lead = {} if self.stopped is None else {"stopped": self.stopped}, self.q.ndim - 2
        shapes: dict[str, tuple[int, ...]] = {"t": (), **{n: x.shape[lead + 1 :] for n, x in columns.items()}}
        header = header_of(self.model, self.gravity, self.parameters, self.names, self.ground, self.sensors, self.held)
        header |= outcome(self.reason, self.warnings)
        header["events"] = [{"function": e.function, "name": e.name, "t": e.t, "q": e.q, "v": e.v} for e in self.events]
        tables = {}
        if self.touching is not None and not lead and "contacts.count" in self.signals:       # few points have columns of their own
            table = self.touching()
            header["contact_links"] = sorted({*table.a.tolist(), *table.b.tolist()})
            tables["contacts"] = table.rows(header["contact_links"])
        records = {"t": self.t, **{n: np.moveaxis(x, lead, 0) for n, x in columns.items()}}
        return saved(checked_path(path), shapes, self.q.shape[:-2], header, records, stopped, overwrite,
                     {n: (COLUMNS, rows) for n, rows in tables.items()})  # fmt: skip

    def to_oem(self, path: str | Path, link: str, epoch: str = "2000-01-01T12:00:00", center: str | None = None) -> Path:
        """Write where a link flies as an orbit ephemeris message (CCSDS 502.0-B-2), with times after an ``epoch`` (UTC): km, 12 decimals;
        return its path. It is of one flight with a :class:`engine.space.ReferenceOrbit`, about a ``center``: by default the Earth, Sun,
        Moon, Mars, Venus or Jupiter, by how it pulls. :func:`engine.space.read_oem` reads it. StateError of one that pulls otherwise."""
        (r_O, rho), k = self.orbit(link), self.model.link_index(link)
        R, V = self.poses()[..., k, :3, :3], self.robot.twists(self.q, self.v)[..., k, 3:]
        velocity = self.signals["frame.velocity"] + np.einsum("...ij,...j->...i", R, V)
        return write_oem(path, epoch, self.t, r_O + rho, velocity, link, center_of(r_O, self.signals["frame.velocity"], center))

    def to_aem(self, path: str | Path, link: str, epoch: str = "2000-01-01T12:00:00", center: str | None = None) -> Path:
        """Write a link's attitude as an attitude ephemeris message (CCSDS 504.0-B-1), with times after an ``epoch`` (UTC), from the world's
        axes to its own, the scalar last; return its path. :func:`engine.space.read_aem` reads it. StateError of a link that nothing
        floating carries: such a message is of axes among the stars, and a warning says so where the flight has no orbit."""
        body = self.model.carrier[self.model.link_index(link)][0]
        if not any(body in tree and self.model.bodies[tree[0]].kind.floats for tree in self.model.trees):
            raise StateError(f"'{link}' hangs on what stands, and a message of attitude is of what flies; expected a link of what floats")
        orbit = orbit_of(self.model.name, self.signals)
        center = center_of(orbit[0], orbit[1], center) if orbit and len(self) > 1 else center
        return write_aem(path, epoch, self.t, quaternion.from_matrix(self.pose(link)[..., :3, :3]), link, center)

    def to_csv(self, path: str | Path) -> Path:
        """Write time and :meth:`columns` of a single rollout as comma-separated values, with a line of names; return the path.

        Raises
        ------
        StateError : it is a batch
        StorageError : the file cannot be written
        """
        if self.q.ndim > 2:
            raise StateError("a batch does not fit a table of times; expected one rollout, such as trajectory.rollout(0)")
        path = path_of(path, StorageError)
        with writing(path, StorageError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", newline="") as file:
                write_columns(file, {"t": self.t, **self.columns()})
        return path

    # ------------------------------------------------------------ to look at

    def plot(self, path: str | Path | None = None) -> Figure:
        """Return a matplotlib figure of one rollout; with ``path`` it is written too.

        It shows the joints' motion and forces, the attitude and position of what floats, and what should be constant.
        """
        if self.q.ndim > 2:
            raise StateError("a plot is of one rollout; expected such as trajectory.rollout(0).plot()")
        return figure(self, path)
