"""Trajectories of rigid bodies with forces of their own, and of other control systems."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.compiled.function import Function
from engine.compiler.transforms.trace import TraceError
from engine.model import Builder, Geometry, Model, StateError
from engine.rigid_body import BodyError, ControlSystem, RigidBody
from engine.simulation.columns import describe_run, not_finite
from engine.simulation.totals import About, central
from engine.simulation.trajectory import Trajectory
from engine.spatial import inertia, se3

Array = NDArray[np.float64]
#: what is made when it is first asked for
LATER = ("model", "tau", "vdot")


class NoBody(StateError, AttributeError):
    """Raised where a rigid body's motion is asked for what only that has."""


@dataclass(frozen=True, eq=False, repr=False)
class StateTrajectory:
    """Recorded states of a control system: times t (T), states x (..., T, n), controls u (..., T, m).

    ``trajectory[a:b:c]`` is a part of it in time. Of a batch in which some ``failed`` (...), ``reason`` (...) says why.

    >>> import engine
    >>> class Tank(engine.Dynamics):
    ...     state, controls = engine.LieState(1), 0
    ...     def dynamics(self, x, u, t):
    ...         return -x
    >>> emptied = engine.compile(Tank()).simulate([1.0], duration=1.0)
    >>> emptied, float(emptied.x[-1, 0] - np.exp(-1.0)) < 1e-12
    (<trajectory of Tank: 1001 states, 0 … 1 s>, True)
    """

    system: ControlSystem
    t: Array
    x: Array
    u: Array
    reason: Array | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.system, RigidBody):
            raise StateError(f"{self.system.name} is a rigid body; expected BodyTrajectory.of(body, t, x, u)")

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return describe_run(self.system.name, self.t, self.x)

    def __getitem__(self, part: Any) -> StateTrajectory:
        """Return a slice or a mask in time."""
        if isinstance(part, (int, np.integer)):
            part = range(len(self))[part : part + 1 or None] if -len(self) <= part < len(self) else [part]
        return replace(self, t=self.t[part], x=self.x[..., part, :], u=self.u[..., part, :])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """True for each rollout (...) that stopped being finite: its records are NaN from there on."""
        return not_finite(self.x, self.reason)

    if not TYPE_CHECKING:                                                      # what is not there is an error to type checkers too

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and hasattr(BodyTrajectory, name):
                raise NoBody(f"{self.system.name} is no rigid body; expected one for '{name}'")
            raise AttributeError(f"a {type(self).__name__} has no '{name}'")


@dataclass(frozen=True, eq=False, repr=False)
class BodyTrajectory(Trajectory):
    """Recorded motion of a :class:`~engine.rigid_body.RigidBody`: a :class:`Trajectory` of a model with one floating link.

    Its q (..., T, 7) are [quaternion, position], its v (..., T, 6) body twists; states as the body has them are x (..., T, n), controls
    u (..., T, m). v̇, and tau, the wrench on the body in its own axes, are computed when they are asked for.

    Attributes
    ----------
    system : the body

    >>> import engine
    >>> class Puck(engine.RigidBody):
    ...     mass, inertia, controls = 2.0, np.eye(3), 0
    ...     def forces(self, x, u, t):
    ...         return np.array([4.0, 0.0, 0.0])
    >>> flight = engine.compile(Puck()).simulate(Puck().build_state(), duration=1.0)
    >>> flight.q[-1, 4].round(9), flight.v[-1, 3].round(9)                         # ½ (4 N / 2 kg) (1 s)², and 2 m/s
    (np.float64(1.0), np.float64(2.0))
    """

    system: Any = None

    @classmethod
    def of(cls, body: RigidBody, t: Array, x: Array, u: Array, reason: Array | str | None = None,
           defect: Array | None = None) -> BodyTrajectory:  # fmt: skip
        """Return the trajectory of states x (..., T, n) and controls u (..., T, m) at times t (T), s.

        ``reason`` and ``defect`` (..., T) are as in a Trajectory.
        """
        t, x, u = (np.asarray(a, dtype=float) for a in (t, body.state.vector(x), u))
        if (x.size and t.shape != x.shape[-2:-1]) or u.shape != (*x.shape[:-1], body.controls):
            raise StateError(f"{body.name}: t, x and u have shapes {t.shape}, {x.shape} and {u.shape}; "
                             f"expected (T), (..., T, {body.state.n}) and (..., T, {body.controls})")  # fmt: skip
        v = body.linear_velocity(x)
        if body.velocity_frame == "world":
            v = np.matvec(np.swapaxes(body.rotation(x), -1, -2), v)
        q = np.concatenate([body.quaternion(x), body.position(x)], axis=-1)
        v = np.concatenate([body.angular_velocity(x), v], axis=-1)
        later: Any = None
        signals = {"x": x, "u": u} | ({} if defect is None else {"defect": defect})
        return cls(later, (0.0, 0.0, 0.0), t, q, v, later, later, signals, reason=reason, system=body)

    def with_warnings(self, texts: tuple[str, ...]) -> BodyTrajectory:
        """Return it with what was noted of it, in words."""
        run = copy.copy(self)
        object.__setattr__(run, "warnings", texts)
        return run

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in LATER:
            if getattr(self, name) is None:
                object.__delattr__(self, name)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in LATER:
                raise AttributeError(f"a {type(self).__name__} has no '{name}'")
            if name == "model":
                self.__dict__["model"] = body_model(self.system, self.x, self.u, self.t)
            else:
                self.__dict__.update(zip(("tau", "vdot"), loads_and_accelerations(self.system, self.x, self.u, self.t), strict=True))
            return self.__dict__[name]

    def __repr__(self) -> str:
        return describe_run(self.system.name, self.t, self.x)

    @property
    def x(self) -> Array:
        """States as the body has them (..., T, n)."""
        return self.signals["x"]

    @property
    def u(self) -> Array:
        """Controls (..., T, m)."""
        return self.signals["u"]

    def at(self, times: ArrayLike) -> BodyTrajectory:
        """Return the trajectory at other times (K), s, within its span, as :meth:`Trajectory.at`; controls are interpolated."""
        found = super().at(times)
        rows = [self.system.from_motion(q, v) for q, v in zip(found.q.reshape(-1, 7), found.v.reshape(-1, 6), strict=True)]
        x = np.array(rows).reshape(*found.q.shape[:-1], -1)
        return replace(found, signals={**found.signals, "x": x})  # type: ignore[return-value]

    def poses(self) -> Array:
        """Return the body's poses (..., T, 4, 4)."""
        return se3.pose(self.system.rotation(self.x), self.system.position(self.x))

    def pose(self, link: str) -> Array:
        """Return the poses of the one link (..., T, 4, 4): the body's."""
        self.model.link_index(link)
        return self.poses()

    def twists(self) -> Array:
        """Return its twists (..., T, 6), in its own axes."""
        return self.v

    def kinetic_energy(self, about: About = "world") -> Array:
        """Return its kinetic energy (..., T), J, as it is seen from the "world" or from the "center_of_mass", where it only turns."""
        G = self._inertia()
        return inertia.kinetic_energy(G, self._turning(G) if central(about) else self.v)

    def energy(self) -> tuple[Array, Array]:
        """Return kinetic and potential energy (..., T), J; the second is zero: a body's weight is among its forces."""
        K = self.kinetic_energy()
        return K, np.zeros_like(K)

    def momentum(self, about: About = "world") -> Array:
        """Return [angular momentum; linear] in world axes (..., T, 6), about the origin of the "world" or the "center_of_mass"."""
        G, T = self._inertia(), self.poses()
        if not central(about):
            return inertia.world_momentum(T, G, self.v)
        P = np.matvec(G, self._turning(G))[..., :3]                             # which has no linear part: the same about any point
        return np.concatenate([np.matvec(T[..., :3, :3], P), inertia.world_momentum(T, G, self.v)[..., 3:]], axis=-1)

    def _turning(self, G: Array) -> Array:
        """Return its twists as seen from the centre of mass c of G: [ω; −ω × c]."""
        w = self.v[..., :3]
        return np.concatenate([w, -np.cross(w, inertia.first_moment(G) / inertia.mass(G)[..., None])], axis=-1)

    def _inertia(self) -> Array:
        """Return G (6×6), or one for each state where it depends on it."""
        body = self.system
        if not callable(body.inertia) and not callable(body.mass):
            return body.spatial_inertia(body.neutral(), np.zeros(body.controls), 0.0)
        t = np.broadcast_to(self.t, self.x.shape[:-1])
        return np.array([body.spatial_inertia(*row) for row in iterate_states(self.x, self.u, t)]).reshape(*self.x.shape[:-1], 6, 6)

    def save(self, path: str | Path, overwrite: bool = False, link: str | None = None, epoch: str | None = None,
             prefix: str = "", center: str | None = None) -> Path:  # fmt: skip
        """Write the trajectory as an HDF5 file, which :func:`load_trajectory` reads as one of a model, or for other tools, as
        :meth:`Trajectory.save`; returns its path."""
        if callable(self.system.inertia) or callable(self.system.mass):
            raise StateError(f"the mass or the inertia of {self.system.name} varies, which a model's file cannot say; expected constants")
        return super().save(path, overwrite, link, epoch, prefix, center)


def body_model(body: RigidBody, x: Array, u: Array, t: Array) -> Model:
    """Return the model of a body: one link that floats, with the inertia of its first state (none, where it has none), and its looks."""
    G = np.zeros((6, 6))
    if len(t):
        with contextlib.suppress(BodyError):
            G = body.spatial_inertia(x.reshape(-1, x.shape[-1])[0], u.reshape(-1, body.controls)[0] if body.controls else np.zeros(0), t[0])
    looks = tuple(body.visuals)
    if not looks and G[5, 5] > 0:
        rigid = G if inertia.is_rigid(G) else inertia.from_mass(np.trace(G[3:, 3:]) / 3.0, np.zeros(3), G[:3, :3])     # added mass
        size, place = inertia.equivalent_box(rigid)
        looks = (Geometry("box", tuple(size.tolist()), place),)
    builder = Builder(body.name)
    builder.add_link(body.name, inertia=G, visuals=looks)
    return builder.model(floating_base=True)


def iterate_states(x: Array, u: Array, t: Array) -> Iterator[tuple[Array, Array, float]]:
    """Yield every state, its controls and its time, of arrays (..., n), (..., m) and (...)."""
    return ((x[i], u[i], t[i]) for i in np.ndindex(t.shape))


def loads_and_accelerations(body: RigidBody, x: Array, u: Array, t: Array) -> tuple[Array, Array]:
    """Return the wrench on a body and its V̇ (..., T, 6) at states x (..., T, n), controls u (..., T, m) and times t (T)."""

    good = np.isfinite(x).all(axis=-1)
    if not good.all():                                                         # rollouts that failed
        found = np.full((*good.shape, 12), np.nan)
        found[good] = np.concatenate(loads_and_accelerations(body, x[good], u[good], np.broadcast_to(t, good.shape)[good]), axis=-1)
        return found[..., :6], found[..., 6:]

    def both(x: Array, u: Array, t: Any) -> Array:
        return np.concatenate([body.wrench(x, u, t), body.acceleration(x, u, t)])

    try:
        f = Function(both, ["x", "u", "t"], [(body.state.n,), (body.controls,), ()], f"{body.name}.acceleration")
        found = f(x, u, np.broadcast_to(t, x.shape[:-1]))
    except TraceError:                                                         # a body whose functions run on floats only
        found = np.array([both(*row) for row in iterate_states(x, u, np.broadcast_to(t, x.shape[:-1]))]).reshape(*x.shape[:-1], 12)
    return found[..., :6], found[..., 6:]
