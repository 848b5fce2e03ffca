"""The free rigid body with forces of your own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ops
from engine.checks import EngineError, closest, nearest, numbers, numeric, one_of, shown, takes
from engine.integrate import FreeBody, Mechanical, Method, conserving, step
from engine.model import Geometry, StateError
from engine.rigid_body.control_system import ControlSystem
from engine.rigid_body.lie_state import LieState, reals
from engine.rigid_body.momentum import NOTES, STATES, KeptMomentum, kept_by
from engine.rigid_body.state import BodyLayout, Indices, RigidBodyState, are_states, parameters_of, quaternion_of, same_batch
from engine.spatial import quaternion, se3, so3
from engine.spatial.inertia import faults, is_rigid
from engine.spatial.manifold import MOTION
from engine.spatial.rotations import ATTITUDES

Array = NDArray[np.float64]
#: what acts on a body, and in which axes
LOADS = {"forces": "the force in world axes", "moments": "the moment in body axes", "wrench": "[moment; force], both in body axes"}
#: what RobotDynamics.jl asks for by names that are not read here: what it is there, and what is expected instead
ELSEWHERE = {
    "wrenches": ("[force in world axes; moment in body axes] in RobotDynamics.jl",
                 "its parts as forces(x, u, t) and moments(x, u, t), or a wrench(x, u, t) as [moment; force], both in body axes"),
    "control_dim": ("the number of controls in RobotDynamics.jl", "controls = …"),
    "wrench_jacobian": ("not read: derivatives are exact", "none"),
    "wrench_sparsity": ("not read: it is found from forces and moments", "none"),
}  # fmt: skip
#: what a body is given besides its loads
PROPERTIES = ("mass", "inertia", "controls", "attitude", "velocity_frame", "integrator", "visuals")


class BodyError(EngineError):
    """A rigid body that cannot be: the text says which of its properties or functions, and what was expected.

    >>> issubclass(BodyError, EngineError), BodyError("Ball: mass is -1 kg; expected more than zero")
    (True, BodyError('Ball: mass is -1 kg; expected more than zero'))
    """


class RigidBody(ControlSystem):
    """A rigid body that moves freely, with forces of your own.

    Subclass it, give ``mass``, ``inertia`` and ``controls``, and write ``forces(x, u, t)``, in world axes, and ``moments(x, u, t)``, in
    body axes, or ``wrench(x, u, t)``, [moment; force] in body axes, with NumPy arithmetic and ``engine.ops``: they are traced. A class
    that moves freely says so: ``forces = None``.

    Attributes
    ----------
    mass : kg, or a function ``mass(x, u, t)``
    inertia : about the body's origin in body axes, or a function ``inertia(x, u, t)``: 3×3 kg·m², with the centre of mass at the origin;
        or 6×6 with ``mass`` left out, any symmetric positive definite [[I, H], [Hᵀ, M]] (an offset centre of mass, added mass)
    controls : number of entries of u
    attitude : "quaternion", "mrp", "rodrigues" or "rotation_vector"
    velocity_frame : axes of the state's linear velocity, "world" or "body"
    integrator : name of a method of :mod:`engine.integrate`
    visuals : :class:`~engine.model.Geometry` shapes that it looks like, for pictures; a box of its inertia by default

    Notes
    -----
    The state is x = [orientation, position, angular velocity, linear velocity] (13 entries, 12 with three attitude parameters); use the
    names, ``body.position(x)`` or ``x[body.indices.position]``. Orientation is body → world, position the origin's in the world, m; the
    angular velocity is in body axes, rad/s. Errors δ (12) have the same order, with δ = tan(θ/2) n for the attitude.

    Quaternions count as unit ones; :meth:`build_state` and simulations normalise them. Steps keep the momentum beside the motion
    (:mod:`engine.rigid_body.momentum`); of a varying inertia the linear velocity, and of added mass nothing: there h|ω| wants to be small.

    Where mass or inertia vary, what comes or goes has the body's own velocity and spin there: I ω̇ + ω × I ω = M, without İ ω (a thruster's
    jet leaves, and its thrust is among the forces). Of masses that move within the body, whose momentum stays, give −İ ω among the moments.

    Examples
    --------
    >>> class Satellite(RigidBody):
    ...     mass, inertia, controls = 2.0, np.diag([1.0, 2.0, 3.0]), 6
    ...     def forces(self, x, u, t):
    ...         return self.rotation(x) @ u[:3]
    ...     def moments(self, x, u, t):
    ...         return u[3:]
    >>> body = Satellite()
    >>> x = body.build_state(position=[1.0, 2.0, 3.0], angular_velocity=[0, 0, 1.0])
    >>> xdot = body.dynamics(x, np.array([4.0, 0, 0, 0, 0, 6.0]), 0.0)
    >>> xdot[body.indices.linear_velocity], xdot[body.indices.angular_velocity]
    (array([2., 0., 0.]), array([0., 0., 2.]))
    """

    mass: Any = None
    inertia: Any = None
    attitude: str = "quaternion"
    velocity_frame: str = "world"
    visuals: tuple[Geometry, ...] = ()

    def __init__(self, **properties: Any) -> None:
        for name, value in properties.items():
            if name not in PROPERTIES:
                raise BodyError(f"{self.name} got {name}=…{nearest(name, PROPERTIES)}; expected some of {', '.join(PROPERTIES)}")
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("attitude", "velocity_frame"):
            self.__dict__.pop("state", None)                                   # the layout by what they were
        super().__setattr__(name, value)

    # ------------------------------------------------------------ what a subclass writes

    def forces(self, x: Array, u: Array, t: Any) -> Array:
        """Force at the origin in world axes, N (3)."""
        return np.zeros(3)

    def moments(self, x: Array, u: Array, t: Any) -> Array:
        """Moment about the origin in body axes, N·m (3)."""
        return np.zeros(3)

    def wrench(self, x: Array, u: Array, t: Any) -> Array:
        """[moment; force] about the origin in body axes (6): by default of ``moments`` and ``forces``."""
        return np.concatenate([self.returned("moments", 3, x, u, t), self.rotation(x).T @ self.returned("forces", 3, x, u, t)])

    # ------------------------------------------------------------ the state by names

    @functools.cached_property
    def state(self) -> BodyLayout:  # type: ignore[override]
        """Layout of x."""
        self.check()
        return BodyLayout(self.attitude, self.velocity_frame)

    @property
    def indices(self) -> Indices:
        """Slices of x by name, and that of u in [x, u]."""
        return Indices(*[*self.state.x, slice(self.state.n, self.state.n + self.controls)])

    def orientation(self, x: Array) -> Array:
        """Attitude parameters (..., 4) or (..., 3)."""
        return self.state.vector(x)[..., self.state.x[0]]

    def position(self, x: Array) -> Array:
        """Position of the origin in the world, m (..., 3)."""
        return self.state.vector(x)[..., self.state.x[1]]

    def angular_velocity(self, x: Array) -> Array:
        """ω in body axes, rad/s (..., 3)."""
        return self.state.vector(x)[..., self.state.x[2]]

    def linear_velocity(self, x: Array) -> Array:
        """Velocity of the origin, m/s, in the axes of ``velocity_frame`` (..., 3)."""
        return self.state.vector(x)[..., self.state.x[3]]

    def rotation(self, x: Array) -> Array:
        """R, body → world (..., 3, 3)."""
        return quaternion.to_matrix(self.quaternion(x))

    def quaternion(self, x: Array) -> Array:
        """The attitude as a quaternion (..., 4); one that is a part of the state is returned as it stands."""
        p = self.orientation(x)
        return p if self.attitude == "quaternion" else ATTITUDES[self.attitude].to_quaternion(p)

    def build_state(self, position: Any = (0, 0, 0), orientation: Any = None, linear_velocity: Any = (0, 0, 0),
                    angular_velocity: Any = (0, 0, 0)) -> Array:  # fmt: skip
        """The state x (..., n) of its parts, or of a :class:`RigidBodyState` or a list of them.

        Parameters
        ----------
        position, linear_velocity, angular_velocity : (..., 3), the velocities in the state's axes
        orientation : unit quaternions (..., 4), rotation matrices (..., 3, 3), or the body's own attitude parameters; none for no rotation

        >>> RigidBody(mass=1.0, inertia=np.eye(3), attitude="mrp").build_state(orientation=[0.0, 0, 0, 1.0])[:3]
        array([0., 0., 1.])
        """
        if are_states(position):
            if orientation is not None or np.any(linear_velocity) or np.any(angular_velocity):
                raise StateError(f"{self.name}: build_state got a RigidBodyState and more; expected a state, or its parts")
            return self.state.checked("the state", position)
        attitude = ATTITUDES[self.state.parts[0]]
        parts = []
        for what, part in (("position", position), ("angular_velocity", angular_velocity), ("linear_velocity", linear_velocity)):
            a = reals(f"{self.name}: {what}", part)
            if a.shape[-1:] != (3,):
                raise StateError(f"{self.name}: {what} has shape {a.shape}; expected (..., 3)")
            if not np.isfinite(a).all():
                raise StateError(f"{self.name}: {what} holds NaN or infinity; expected finite numbers")
            parts.append(a)
        p = attitude.neutral() if orientation is None else reals(f"{self.name}: orientation", orientation)
        batch = any(a.shape[:-1] == p.shape[:-1] for a in parts)
        matrix = p.shape[-2:] == (3, 3) and not (attitude.n == 3 and batch and not so3.are_rotations(p))
        if matrix or p.shape[-1:] == (4,):
            q = quaternion_of(self.name, p) if matrix else LieState("quaternion").checked(f"{self.name}: orientation", p)
            p = parameters_of(self.name, attitude, q)
        elif p.shape[-1:] != (attitude.n,):
            own = "" if attitude.n == 4 else f", or the {attitude.n} parameters of '{attitude.name}'"
            raise StateError(f"{self.name}: orientation has shape {p.shape}; expected a quaternion (4) or a matrix (3×3){own}")
        x = np.concatenate(same_batch(f"{self.name}: the parts of a state", [p, *parts]), axis=-1)
        return self.state.checked("the state", x)

    def state_from_momentum(self, P: Any, position: Any = (0, 0, 0), orientation: Any = None, frame: str = "world") -> Array:
        """The state x (..., n) of a pose, as :meth:`build_state` takes it, and a momentum P = [angular; linear] (..., 6), N·m·s and N·s.

        V = G⁻¹ Ad(T)ᵀ P. The ``frame`` of P is "world" (the world's axes, about its origin, as a trajectory's ``momentum()`` is),
        "world_aligned" (the world's axes, about the body's origin) or "body" (the body's axes, about its origin: P = G V).

        >>> wheel = RigidBody(mass=2.0, inertia=np.eye(3))
        >>> x = wheel.state_from_momentum([0, 0, 3.0, 8.0, 0, 0], position=[0, 1.0, 0])        # of L, −8 is m v at its distance
        >>> wheel.angular_velocity(x), wheel.linear_velocity(x)
        (array([ 0.,  0., 11.]), array([4., 0., 0.]))
        """
        if callable(self.mass) or callable(self.inertia):
            raise BodyError(f"{self.name}: a start from momentum takes a constant mass and inertia; expected velocities for build_state")
        P = numbers(f"{self.name}: P", P, StateError)
        if P.shape[-1:] != (6,):
            raise StateError(f"{self.name}: P has shape {P.shape}; expected (..., 6), [angular; linear]")
        frame = one_of("frame", frame, ("body", "world", "world_aligned"), StateError)
        x = self.build_state(position, orientation)
        R, p = self.rotation(x), self.position(x)
        T = {"world": se3.pose(R, p), "world_aligned": se3.pose(R, 0.0 * p), "body": np.eye(4)}[frame]
        G = self.spatial_inertia(self.neutral(), np.zeros(self.controls), 0.0)
        x, P = same_batch(f"{self.name}: a pose and P", [x, P])
        V = np.linalg.solve(G, se3.wrench_to_parent(se3.inv(T), P)[..., None])[..., 0]
        v = V[..., 3:] if self.velocity_frame == "body" else np.matvec(R, V[..., 3:])
        return np.concatenate([x[..., : self.indices.angular_velocity.start], V[..., :3], v], axis=-1)

    def parse_state(self, x: Any) -> tuple[Array, Array, Array, Array]:
        """Position, orientation, linear velocity and angular velocity of a state; a quaternion is normalised."""
        x = self.state.checked("x", x)
        return self.position(x), self.orientation(x), self.linear_velocity(x), self.angular_velocity(x)

    def rigid_body_state(self, x: Any) -> RigidBodyState:
        """The state, or the batch, apart from this body's choice of attitude parameters and velocity frame."""
        x = self.state.checked("x", x)
        v = self.linear_velocity(x)
        u = v if self.velocity_frame == "world" else np.matvec(self.rotation(x), v)
        return RigidBodyState(self.position(x), self.quaternion(x), u, self.angular_velocity(x))

    # ------------------------------------------------------------ dynamics

    def spatial_inertia(self, x: Array, u: Array, t: Any) -> Array:
        """G (6×6) about the origin."""
        I = self._value("inertia", x, u, t)
        if I.shape == (6, 6):
            return I
        return np.block([[I, np.zeros((3, 3))], [np.zeros((3, 3)), self._value("mass", x, u, t) * np.eye(3)]])

    def acceleration(self, x: Array, u: Array, t: Any) -> Array:
        """V̇ (6) of the body twist V = [ω; v]: G V̇ = ad(V)ᵀ G V + F."""
        return self._accelerated(x, u, t, self.returned("wrench", 6, x, u, t))

    def _accelerated(self, x: Array, u: Array, t: Any, F: Array) -> Array:
        """V̇ (6) under a wrench F (6)."""
        V = self.twist(x)
        I = self._value("inertia", x, u, t)
        if I.shape == (6, 6):
            return ops.poisoned(self.sound(x, u, t), ops.solve(I, se3.ad(V).T @ (I @ V) + F))
        w, v = V[:3], V[3:]
        wdot = ops.poisoned(self.sound(x, u, t), ops.solve(I, F[:3] - ops.cross(w, I @ w)))    # Euler
        return np.concatenate([wdot, F[3:] / self._value("mass", x, u, t) - ops.cross(w, v)])  # Newton

    def twist(self, x: Array) -> Array:
        """Body twist V = [ω; v] (6)."""
        v = self.linear_velocity(x)
        return np.concatenate([self.angular_velocity(x), v if self.velocity_frame == "body" else self.rotation(x).T @ v])

    def dynamics(self, x: Array, u: Array, t: Any) -> Array:
        """ẋ (n) in coordinates. Traceable."""
        V, Vdot = self.twist(x), self.acceleration(x, u, t)
        attitude = ATTITUDES[self.attitude].rate(self.orientation(x), V[:3])
        if self.velocity_frame == "body":
            return np.concatenate([attitude, self.rotation(x) @ V[3:], Vdot])
        I = self._value("inertia", x, u, t)
        if I.shape == (3, 3) and not self.overrides("wrench"):  # the force in world axes as it was given
            a = self.returned("forces", 3, x, u, t) / self._value("mass", x, u, t)
        else:
            a = self.rotation(x) @ (Vdot[3:] + ops.cross(V[:3], V[3:]))
        return np.concatenate([attitude, self.linear_velocity(x), Vdot[:3], a])

    rate = dynamics

    def system(self, controls: Callable[[Array, Any], Array]) -> Mechanical:
        """The body's motion on SE(3) × R⁶ under controls u(x, t): the state (q, V), q = [quaternion, position], that integrators step."""

        def acceleration(t: Any, q: Array, V: Array) -> Array:
            x = self.from_motion(q, V)
            return self.acceleration(x, controls(x, t), t)

        def wrench(t: Any, q: Array, V: Array) -> Array:
            x = self.from_motion(q, V)
            return self.returned("wrench", 6, x, controls(x, t), t)

        if callable(self.inertia) or callable(self.mass):
            return Mechanical(MOTION, acceleration)
        rest = self.neutral(), np.zeros(self.controls), 0.0
        free = not any(self.overrides(n) and getattr(self, n) is not None for n in ("forces", "moments", "wrench"))
        return FreeBody(MOTION, acceleration, self.spatial_inertia(*rest), None if free else wrench)

    @property
    def kept(self) -> KeptMomentum | None:
        """Momentum that is carried as states beside the motion, and that only loads change; None with added mass."""
        return kept_by(self)

    def stepped(self, method: Method, controls: Callable[[Array, Any], Array]) -> tuple[Method, Mechanical, Callable[[Array], Array]]:
        """Return how a method steps the body's motion under controls u(x, t), the system that it steps, and its state as a function of x:
        with what is kept beside the motion, but for variational methods, which keep it by themselves."""
        self.require(method)
        kept = None if method.takes is FreeBody else self.kept
        if kept is None:
            return method, self.system(controls), lambda x: np.concatenate(self.to_motion(x))
        system = Mechanical(MOTION, kept.field(self, controls), STATES, NOTES)
        return conserving(method, kept.projected), system, lambda x: kept.begun(*self.to_motion(x))

    def to_motion(self, x: Array) -> tuple[Array, Array]:
        """q = [quaternion, position] and the body twist V of a state."""
        return np.concatenate([self.quaternion(x), self.position(x)]), self.twist(x)

    def from_motion(self, q: Array, V: Array) -> Array:
        """The state of q = [quaternion, position] and a body twist V."""
        p = q[:4] if self.attitude == "quaternion" else ATTITUDES[self.attitude].from_quaternion(q[:4])
        v = V[3:] if self.velocity_frame == "body" else quaternion.to_matrix(q[:4]) @ V[3:]
        return np.concatenate([p, q[4:], V[:3], v])

    def discrete_dynamics(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> Array:
        """The state (n) after a step of dt at constant controls: a step on SE(3), whatever the attitude parameters. Traceable."""
        method, system, begun = self.stepped(self.method(integrator), lambda x, t: u)
        after = step(method, system, t, dt, begun(x))
        after = after if method.project is None else method.project(after)
        return self.from_motion(after[:7], after[7:13])

    # ------------------------------------------------------------ checks

    def require(self, method: Method) -> None:
        """Refuse a method that takes what this body does not have."""
        if method.takes is FreeBody and (callable(self.inertia) or callable(self.mass)):
            raise BodyError(f"{self.name}: a variational integrator takes a constant mass and inertia; expected another, such as cg4")

    def overrides(self, name: str) -> bool:
        """Return whether a subclass overrides that function."""
        return getattr(type(self), name) is not getattr(RigidBody, name)

    def check(self) -> None:
        """Refuse properties that no rigid body has."""
        for name in ("attitude", "velocity_frame", "controls"):
            if callable(getattr(self, name)):
                raise BodyError(f"{self.name}: {name} is a function; expected a value, {name} = …")
        if self.attitude not in ATTITUDES:
            raise BodyError(f"{self.name}: attitude is {self.attitude!r}; expected one of {', '.join(ATTITUDES)}")
        if self.velocity_frame not in ("world", "body"):
            raise BodyError(f"{self.name}: velocity_frame is {self.velocity_frame!r}; expected 'world' or 'body'")
        if isinstance(self.controls, bool) or not isinstance(self.controls, (int, np.integer)) or self.controls < 0:
            raise BodyError(f"{self.name}: controls is {self.controls!r}; expected the number of entries of u")
        self._require_written()
        for name in ("forces", "moments", "wrench", "mass", "inertia"):
            if callable(fn := getattr(self, name)):
                takes(f"{self.name}.{name}", fn, ("x", "u", "t"), BodyError)
        if all(any(self.overrides(n) and getattr(self, n) is not None for n in names) for names in (("wrench",), ("forces", "moments"))):
            raise BodyError(f"{self.name} has both wrench and forces or moments; expected the one or the others")
        if self.inertia is None:
            raise BodyError(f"{self.name} has no inertia; expected a 3×3 or 6×6 matrix, or a function inertia(x, u, t)")
        if not callable(self.inertia):
            self._value("inertia")
        if not callable(self.mass) and (self.mass is not None or np.shape(self.inertia) == (3, 3)):
            self._value("mass")

    def _require_written(self) -> None:
        """Refuse a subclass that writes none of forces, moments and wrench, that misspells what it does not write, or says it otherwise."""
        loads = ("wrench",) if self.overrides("wrench") else (*LOADS,)
        unwritten = [n for n in (*loads, *PROPERTIES) if not self.overrides(n)]
        for name in (n for c in type(self).__mro__ if c not in RigidBody.__mro__ for n in vars(c)):
            meant = closest(name.lower(), unwritten, 0.8)
            if name in ELSEWHERE:
                raise BodyError(f"{self.name} has '{name}', {ELSEWHERE[name][0]}; expected {ELSEWHERE[name][1]}")
            if meant and not name.startswith("_") and not hasattr(RigidBody, name):
                axes, none = f" ({LOADS[meant[0]]})" if meant[0] in LOADS else "", f"{meant[0]} = None beside it"
                raise BodyError(f"{self.name} has '{name}' and no '{meant[0]}'; expected '{meant[0]}'{axes}, or {none}")
        if not any(map(self.overrides, loads)) and type(self) is not RigidBody:
            raise BodyError(f"{self.name} has neither forces nor moments nor a wrench; expected one of these functions of (x, u, t), or "
                            "forces = None for a body that moves freely")  # fmt: skip

    def _value(self, name: str, *at: Any) -> Any:
        """Return the mass or the inertia, constant or at a state; checked."""
        given = getattr(self, name)
        if given is None:
            raise BodyError(f"{self.name} has no {name}; expected a number of kg, or a function mass(x, u, t)")
        a = self._array(name, given(self.state.vector(at[0]), *at[1:]) if callable(given) else given)
        if a.dtype.kind not in "fiu" and ops.graph_of(a) is None:
            raise BodyError(f"{self.name}: {name} is {given!r}; expected real numbers")
        a = a if a.dtype == object else a.astype(float)
        shapes = ((),) if name == "mass" else ((3, 3), (6, 6))
        if a.shape not in shapes:
            raise BodyError(f"{self.name}: {name} has shape {a.shape}; expected {'one number' if name == 'mass' else '(3, 3) or (6, 6)'}")
        if a.shape == (6, 6) and self.mass is not None:
            raise BodyError(f"{self.name} has a mass besides a 6×6 inertia, which holds it; expected one or the other")
        if a.dtype == object:
            return a if a.shape else ops.where(a[()] > 0.0, a[()], np.nan)  # a motion must not go on with a mass below zero
        if not np.isfinite(a).all():
            raise BodyError(f"{self.name}: {name} holds NaN or infinity; expected finite numbers")
        if name == "mass" and a <= 0:
            raise BodyError(f"{self.name}: mass is {a:g} kg; expected more than zero")
        if name == "inertia":
            if (skew := np.abs(a - a.T).max()) > 1e-9 * np.abs(a).max():
                raise BodyError(f"{self.name}: inertia is not symmetric (by up to {skew:.3g}); expected a symmetric matrix")
            if (least := float(np.linalg.eigvalsh(a)[0])) <= 0:
                raise BodyError(f"{self.name}: inertia has an eigenvalue {least:.3g}; expected a positive definite matrix")
            whole = a if len(a) == 6 else np.block([[a, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
            for fault in faults(whole) if len(a) == 3 or (is_rigid(a) and not callable(given)) else ():
                raise BodyError(f"{self.name}: {fault}; expected a body's inertia (added mass goes into one of 6×6)")
        return a if a.shape else float(a)

    def sound(self, x: Array, u: Array, t: Any) -> list[Any]:
        found = []
        if callable(self.inertia) and (I := self._value("inertia", x, u, t)).dtype == object:
            skew = ops.largest((I - I.T).ravel()) <= 1e-9 * ops.largest(I.ravel())
            found += [skew, *definite(I)]
            if I.shape == (3, 3):                                                  # the triangle inequality: its density has moments too
                found += definite(0.5 * (1.0 + 1e-9) * np.trace(I) * np.eye(3) - I)
        if callable(self.mass) and ops.graph_of(m := self._value("mass", x, u, t)) is not None:
            found.append(m > 0.0)
        return found

    def returned(self, name: str, size: int, x: Array, u: Array, t: Any) -> Array:
        """Call one of the user's functions, and return its result if it has the right shape."""
        fn = getattr(self, name)
        if fn is None:
            return np.zeros(size)
        result = self._array(name, fn(self.state.vector(x), u, t))
        if result.shape != (size,):
            raise BodyError(f"{self.name}.{name} returned shape {result.shape}; expected ({size},)")
        return result

    def _array(self, name: str, given: Any) -> Array:
        try:
            a = np.asarray(given)
        except ValueError:
            raise BodyError(f"{self.name}: {name} is not rectangular; expected an array of numbers") from None
        if not numeric(a):
            raise BodyError(f"{self.name}: {name} is {shown(given)}; expected real numbers")
        return a

    def __repr__(self) -> str:
        return f"<{self.name}: {self.attitude}, velocity in {self.velocity_frame} axes, {self.controls} controls>"


def definite(A: Array) -> list[Any]:
    """Return for a symmetric matrix whether each pivot of its LDLᵀ is above zero, all of which make it positive definite. Traceable.

    >>> [bool(x) for x in definite(np.array([[1.0, 2.0], [2.0, 3.0]]))]
    [True, False]
    """
    return [ops.solve(A[:k, :k], np.eye(k)[-1])[-1] > 0.0 for k in range(1, len(A) + 1)]
