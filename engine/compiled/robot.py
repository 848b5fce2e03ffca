"""A model's dynamics, compiled: what ``engine.compile`` returns."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, Generic, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import dynamics
from engine.checks import Fixed
from engine.compiled.parametrized import Parametrized, nominal_values, other_values, require_one
from engine.compiled.robot_function import OPTIONAL, Arguments, Forced, Result, RobotFunction, documented, explained
from engine.constraints import Constraint
from engine.dynamics import GRAVITY
from engine.dynamics.jacobian import ORIGIN, checked_point
from engine.dynamics.kinematics import checked_gravity
from engine.inverse_kinematics import IKResult, inverse_kinematics
from engine.model import Model, StateError
from engine.model.parameters import NUMBERS, split

Array = NDArray[np.float64]
Frame = Literal["body", "world", "world_aligned"]
Base = Literal["floating", "fixed", "rotation", "translation", "flying"]
class compiled(Generic[Arguments, Result]):
    """A method of a Robot that is traced and compiled when it is first used, and found in its place from then on."""

    def __init__(self, method: Callable[Concatenate[Robot, Arguments], Result]) -> None:
        self.method, self.__name__, self.__doc__ = method, method.__name__, explained(method, "out")
        given = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
        self.__signature__ = inspect.Signature([*given, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)])

    @overload
    def __get__(self, robot: None, owner: type) -> compiled[Arguments, Result]: ...
    @overload
    def __get__(self, robot: Robot, owner: type) -> RobotFunction[Arguments, Result]: ...
    def __get__(self, robot: Any, owner: type) -> Any:
        if robot is None:
            return self
        _, *given = self.__signature__.parameters
        arguments = [a for a in given if a not in ("wrenches", "out")]
        if robot.parameters:
            fn, forced = functools.partial(on_floats, self.__name__), "wrenches" in given
            found = robot._parametrized(self.__name__, fn, arguments, forced, self.__doc__)
            return robot.__dict__.setdefault(self.__name__, found)
        kind: type[RobotFunction[Arguments, Result]] = Forced if "wrenches" in given else RobotFunction
        made = kind(robot.model, functools.partial(on_floats, self.__name__, robot), arguments, self.__name__)
        made.__doc__, made.__signature__ = self.__doc__, inspect.Signature([*self.__signature__.parameters.values()][1:])
        return robot.__dict__.setdefault(self.__name__, made)                   # found there the next time, before this attribute

    def __call__(self, robot: Robot, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Call the robot's function, as ``Robot.aba(robot, q, v, tau)`` does."""
        return self.__get__(robot, Robot)(*args, **kwargs)


def on_floats(name: str, robot: Robot, **given: Any) -> Any:
    """Call a robot's function as it stands, on floats or on symbols."""
    return vars(Robot)[name].method(robot, **given)


plain: Any = dynamics                                                           # called on symbols, which have no type of their own


class Robot(Fixed):
    """Compiled dynamics of one model in one gravity; every function broadcasts over leading dimensions.

    Each is traced and compiled when it is first used, and raises ``StateError`` where a result would hold NaN or infinity. Functions of
    arrays alone are :class:`~engine.compiler.gufunc.Gufunc` s, which take ``out=`` too. Orders, frames and signs are those of NOTATION.md;
    ``help(robot.aba)`` says what a function takes.

    Attributes
    ----------
    model, gravity : what it was made of, at the values of its parameters where these are single ones; gravity in world axes (3), m/s²
    parameters : values of the model's numbers that were made parameters, by name: see :meth:`at`

    >>> import engine
    >>> model = engine.load_urdf(engine.example("seven_joint_arm"))
    >>> robot, (q, v) = engine.compile(model), model.random(np.random.default_rng(0))
    >>> tau = robot.rnea(q, v, np.zeros(model.nv))
    >>> bool(np.abs(robot.aba(q, v, tau)).max() < 1e-9), robot.jacobian(q, model.links[-1].name).shape
    (True, (6, 7))
    """

    parameters: Mapping[str, Array]

    def __init__(self, model: Model, gravity: Any = GRAVITY, parameters: Iterable[str] = ()) -> None:
        if not isinstance(model, Model):
            raise StateError(f"compile got a {type(model).__name__}; expected a Model (engine.load_urdf makes one from a file)")
        self.model, self.gravity = model, tuple(checked_gravity(gravity).astype(float).tolist())
        self.parameters, self._nominal = types.MappingProxyType(nominal_values(model, parameters)), model
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._made = True

    def __repr__(self) -> str:
        more = f", with {', '.join(self.parameters)}" if self.parameters else ""
        return f"<compiled '{self.model.name}', nq {self.model.nq}, nv {self.model.nv}, gravity {self.gravity}{more}>"

    # ------------------------------------------------------------ parameters

    def at(self, parameters: Mapping[str, ArrayLike]) -> Robot:
        """Return the robot at other values of its parameters (..., *shape): the same programs, in which leading dimensions are a batch.

        Functions of arrays alone have a derivative by each: ``robot.aba.by("mass.tool")(q, v, tau)`` has the shape of the result, and after
        it that of the parameter. Others, such as ``robot.jacobian``, and functions of your own are differentiated with
        :meth:`Model.with_parameters` in :func:`engine.jacobian`. Joint forces are without damping and friction: those are a simulation's.

        Raises
        ------
        ModelError : no parameter of the robot's, or a value that none has

        Examples
        --------
        >>> import engine
        >>> arm = engine.Builder()
        >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
        >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
        >>> robot = engine.compile(arm.model(), parameters=["mass.rod"])
        >>> robot.at({"mass.rod": [1.0, 2.0]}).gravity_forces([0.0]).round(9)
        array([[29.43],
               [58.86]])
        >>> robot.gravity_forces.by("mass.rod")([0.0]).round(9)
        array([29.43])
        """
        values = other_values(self.parameters, parameters)
        if not values:
            return self                                                        # whose functions are traced already
        batched = any(x.ndim > len(NUMBERS[split(n)[0]].shape) for n, x in values.items())
        model = self.model if batched else self._nominal.with_parameters(values)
        return self._other(model=model, parameters=types.MappingProxyType(values))

    def __reduce__(self) -> Any:
        return restored, (self._nominal, self.gravity, dict(self.parameters))

    def _other(self, **attributes: Any) -> Robot:
        """Return a robot of the same functions with other attributes."""
        made = object.__new__(Robot)
        own = {"model": self.model, "gravity": self.gravity, "_nominal": self._nominal, "_functions": self._functions}
        made.__dict__.update({**own, **attributes, "_made": True})
        return made

    def _parametrized(self, name: str, fn: Callable[..., Any], arguments: list[str], forced: bool, text: str | None, joints: int = 0,
                      key: tuple[Any, ...] = ()) -> Parametrized:  # fmt: skip
        """Return ``fn(robot, ...)`` at the values of the parameters, compiled once for all of them."""
        known = self._functions

        def plain(**given: Any) -> Any:
            own = {n: given.pop(n) for n in self.parameters}
            return fn(self._other(model=self._nominal.with_numbers(own), parameters={}, _functions={}, _regular=None), **given)

        def made(wrenches: bool) -> RobotFunction[..., Any]:
            takes = [*arguments, *(["wrenches"] if wrenches else []), *self.parameters]
            if (own := (name, wrenches, *key)) not in known:
                known[own] = RobotFunction(self.model, plain, takes, name, joints)
            return known[own]

        return Parametrized(made, len(arguments), forced, self.parameters, text, known)

    # ------------------------------------------------------------ forces and motion

    @compiled
    def rnea(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the forces tau (..., nv), N·m and N, of a motion (inverse dynamics): tau = M(q) v̇ + C(q, v) v + g(q) − Σ Jᵀ F.
        The joints' own damping and friction are not in them: a drive has to overcome these besides (``engine.dynamics.damping_matrix``)."""
        return plain.rnea(self.model, q, v, vdot, self.gravity, wrenches)

    @compiled
    def aba(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the accelerations v̇ (..., nv), rad/s² and m/s², that forces make (forward dynamics), by the articulated-body algorithm:
        M(q) v̇ + C(q, v) v + g(q) = tau + Σ Jᵀ F. The joints' own damping and friction act only if tau holds them; a simulation adds them. A
        joint that moves no mass is an error."""
        self._regular  # noqa: B018
        return plain.aba(self.model, q, v, tau, self.gravity, wrenches)

    @compiled
    def bias(self, q: ArrayLike, v: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the forces at zero acceleration (..., nv), N·m and N: C(q, v) v + g(q) − Σ Jᵀ F."""
        return plain.bias(self.model, q, v, self.gravity, wrenches)

    @compiled
    def gravity_forces(self, q: ArrayLike) -> Array:
        """Return g(q) (..., nv), N·m and N: the forces that hold the mechanism still."""
        return plain.gravity_forces(self.model, q, self.gravity)

    @compiled
    def crba(self, q: ArrayLike) -> Array:
        """Return the joint-space inertia M(q) (..., nv, nv), symmetric: K = ½ vᵀ M v, rotors' armature on its diagonal."""
        return plain.crba(self.model, q)

    @compiled
    def minv(self, q: ArrayLike) -> Array:
        """Return M⁻¹(q) (..., nv, nv), the inverse of the joint-space inertia: by how much forces accelerate."""
        self._regular  # noqa: B018
        return plain.minv(self.model, q)

    @compiled
    def rnea_derivatives(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, wrenches: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return ∂τ/∂q and ∂τ/∂v (..., nv, nv) of :meth:`rnea`, along q ⊕ e_j of NOTATION.md; ∂τ/∂v̇ is :meth:`crba`."""
        return plain.rnea_derivatives(self.model, q, v, vdot, self.gravity, wrenches)

    @compiled
    def aba_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                        wrenches: ArrayLike | None = None) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = M⁻¹ (..., nv, nv) of :meth:`aba`, along q ⊕ e_j of NOTATION.md."""
        self._regular  # noqa: B018
        return plain.aba_derivatives(self.model, q, v, tau, self.gravity, wrenches)

    @compiled
    def regressor(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> Array:
        """Return Y (..., nv, 10 nlinks): tau = Y π + a v̇, with π of :func:`engine.dynamics.inertial_parameters`, a the armature."""
        return plain.regressor(self.model, q, v, vdot, self.gravity)

    @compiled
    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the Coriolis matrix C(q, v) (..., nv, nv), for which M v̇ + C v + g = tau and Ṁ = C + Cᵀ, so that Ṁ − 2C is skew."""
        return plain.coriolis(self.model, q, v)

    @compiled
    def christoffel(self, q: ArrayLike) -> Array:
        """Return Christoffel's symbols of the first kind Γ(q) (..., nv, nv, nv): C_ij(q, v) = Σ_k Γ_ijk v_k."""
        return plain.christoffel(self.model, q)

    @compiled
    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return the kinetic energy ½ vᵀ M v and the potential energy −Σ m g·c (zero at the world's origin), each (...), J, of
        what moves: links welded to the world are left out of both."""
        return plain.energy(self.model, q, v, self.gravity)

    @compiled
    def centroidal_kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the kinetic energy as it is seen from the centre of mass (...), J: K − ½ m ċ², exact at an orbit's speed, too."""
        return plain.centroidal_kinetic_energy(self.model, q, v)

    @compiled
    def energy_derivatives(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array, Array]:
        """Return ∂K/∂q, ∂K/∂v and ∂U/∂q (..., nv) of :meth:`energy`, along q ⊕ e_j of NOTATION.md."""
        return plain.energy_derivatives(self.model, q, v, self.gravity)

    @compiled
    def energy_regressor(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return Y_K, Y_U (..., 10 nlinks): the energies are Y_K π + ½ Σ a v² and Y_U π, a the armature, with π of
        :func:`engine.dynamics.inertial_parameters`."""
        return plain.energy_regressor(self.model, q, v, self.gravity)

    # ------------------------------------------------------------ places and velocities

    @compiled
    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Return the poses T_WL (..., nlinks, 4, 4) of all links in the world, in the order of ``model.links``; p_W = T_WL p_L."""
        return plain.forward_kinematics(self.model, q)

    @compiled
    def twists(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the twists [ω; v] (..., nlinks, 6) of all links, rad/s and m/s, each in its own axes about its own origin."""
        return plain.twists(self.model, q, v)

    @documented
    def jacobian(self, q: ArrayLike, link: str, frame: Frame = "body", point: ArrayLike = ORIGIN) -> Array:
        """Return the Jacobian J(q) (..., 6, nv) of a link: its twist [ω; v] is J v, in the axes and about the point that ``frame`` says."""
        return self._call(dynamics.jacobian, {"q": q, "point": given_point(frame, point)}, link=link, frame=frame)

    @documented
    def jacobian_dot(self, q: ArrayLike, v: ArrayLike, link: str, frame: Frame = "body", point: ArrayLike = ORIGIN) -> Array:
        """Return the rate J̇(q, v) (..., 6, nv) of the Jacobian: the link's twist changes at J v̇ + J̇ v."""
        return self._call(dynamics.jacobian_dot, {"q": q, "v": v, "point": given_point(frame, point)}, link=link, frame=frame)

    @documented
    def jacobian_derivative(self, q: ArrayLike, link: str, frame: Frame = "body", point: ArrayLike = ORIGIN) -> Array:
        """Return ∂J/∂q (..., 6, nv, nv) of a link's Jacobian: [..., j] is its derivative along q ⊕ e_j of NOTATION.md."""
        return self._call(dynamics.jacobian_derivative, {"q": q, "point": given_point(frame, point)}, link=link, frame=frame)

    def inverse_kinematics(self, targets: Any, q0: ArrayLike | None = None, base: Literal["free", "fixed"] = "free", limits: bool = True,
                           tolerance: float = 1e-9, seeds: int = 50, constraints: Sequence[Constraint] = ()) -> IKResult:  # fmt: skip
        """Return configurations (..., nq) in which links are where they should be, or the nearest that were found.

        Parameters
        ----------
        targets : ``{link: goal}``, or :class:`~engine.Target` objects; goals are poses (..., 4, 4), positions (..., 3) or rotations
            (..., 3, 3) in the world
        constraints : loops that q closes, of ``engine.Hinge``, …; everything else, and what is raised, is as for
            :func:`engine.inverse_kinematics`
        """
        require_one(self.parameters)
        return inverse_kinematics(self.model, targets, q0, base, limits, tolerance, seeds, constraints)

    # ------------------------------------------------------------ momentum and the centre of mass

    @compiled
    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum [angular about the world's origin; linear] (..., 6) of the whole in world axes, N·m·s and N·s."""
        return plain.momentum(self.model, q, v)

    @compiled
    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum [angular about the centre of mass; linear] (..., 6) of all that moves in world axes, N·m·s and N·s: exact far
        from the world's origin, too."""
        return plain.centroidal_momentum(self.model, q, v)

    @compiled
    def momentum_derivatives(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return ∂P/∂q and ∂P/∂v (..., 6, nv) of :meth:`momentum`, along q ⊕ e_j of NOTATION.md."""
        return plain.momentum_derivatives(self.model, q, v)

    @compiled
    def momentum_regressor(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return Y_P (..., 6, 10 nlinks): the momentum is Y_P π, with π of :func:`engine.dynamics.inertial_parameters`."""
        return plain.momentum_regressor(self.model, q, v)

    @compiled
    def momentum_matrix(self, q: ArrayLike) -> Array:
        """Return the momentum matrix A(q) (..., 6, nv): the momentum [angular about the world's origin; linear] in world axes is A v."""
        return plain.momentum_matrix(self.model, q)

    @compiled
    def momentum_matrix_dot(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate Ȧ(q, v) (..., 6, nv) of the momentum matrix: Ṗ = A v̇ + Ȧ v."""
        return plain.momentum_matrix_dot(self.model, q, v)

    @compiled
    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """Return the centroidal momentum matrix (..., 6, nv): [angular about the centre of mass; linear] in world axes, per unit of v."""
        return plain.centroidal_momentum_matrix(self.model, q)

    @compiled
    def centroidal_momentum_matrix_dot(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate (..., 6, nv) of the centroidal momentum matrix."""
        return plain.centroidal_momentum_matrix_dot(self.model, q, v)

    @compiled
    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass c (..., 3) of all that moves (links welded to the world do not), m in world axes."""
        return plain.center_of_mass(self.model, q)

    @compiled
    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian J_c(q) (..., 3, nv) of the centre of mass: ċ = J_c v, m/s in world axes."""
        return plain.center_of_mass_jacobian(self.model, q)

    @compiled
    def center_of_mass_jacobian_dot(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate J̇_c(q, v) (..., 3, nv): c̈ = J_c v̇ + J̇_c v."""
        return plain.center_of_mass_jacobian_dot(self.model, q, v)

    # ------------------------------------------------------------ floating bases

    @documented
    def generalized_jacobian(self, q: ArrayLike, link: str, base: Base = "floating") -> Array:
        """Return the generalized Jacobian J*(q) (..., 6, nv − 6) of a link of a floating model: V_link = J* q̇ + J_b Hb⁻¹ P0."""
        return self._call(dynamics.generalized_jacobian, {"q": q}, link=link, base=base)

    @documented
    def free_floating_inertia(self, q: ArrayLike, base: Base = "floating") -> Array:
        """Return the inertia M*(q) (..., nv − 6, nv − 6) that the joints of a floating model feel when nothing holds its base."""
        return self._call(dynamics.free_floating_inertia, {"q": q}, base=base)

    @documented
    def free_floating_bias(self, q: ArrayLike, v: ArrayLike, base: Base = "floating", wrenches: ArrayLike | None = None) -> Array:
        """Return the rest b*(q, v) (..., nv − 6) of the joints' own equations: M* q̈ + b* = tau, N·m and N."""
        return self._call(dynamics.free_floating_bias, {"q": q, "v": v, "wrenches": wrenches}, base=base, gravity=self.gravity)

    @documented
    def floating_inverse_dynamics(self, q: ArrayLike, v: ArrayLike, qddot: ArrayLike, base: Base = "floating",
                                  wrenches: ArrayLike | None = None) -> tuple[Array, Array]:  # fmt: skip
        """Return the forces of the joints (..., nv − 6), N·m and N, that accelerate them as wanted while the base moves freely, and the
        rate of the base's twist (..., 6) then, in its axes."""
        given = {"q": q, "v": v, "qddot": qddot, "wrenches": wrenches}
        return self._call(dynamics.floating_inverse_dynamics, given, base=base, gravity=self.gravity)

    @compiled
    def base_reaction(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the wrench [m; f] (..., 6), N·m and N, that all that hangs from a floating base exerts on it, about its origin."""
        return plain.base_reaction(self.model, q, v, vdot, self.gravity, wrenches)

    @compiled
    def reaction_null_space(self, q: ArrayLike) -> Array:
        """Return the projector N(q) (..., nv − 6, nv − 6) onto joint velocities that do not turn a floating base at zero momentum."""
        return plain.reaction_null_space(self.model, q)

    @documented
    def velocity_from_momentum(self, q: ArrayLike, P: ArrayLike, qdot: ArrayLike | None = None) -> Array:
        """Return the velocity v (..., nv) at which a floating model has the momentum P: what undoes :meth:`momentum`."""
        return self._call(dynamics.velocity_from_momentum, {"q": q, "P": P, "qdot": qdot})

    # ------------------------------------------------------------ functions with options, and what they stand on

    def _call(self, fn: Callable[..., Any], arrays: dict[str, Any], **options: Any) -> Any:
        """Return a function of :mod:`engine.dynamics` of those arrays that are given, compiled once for the same options."""
        given = {name: x for name, x in arrays.items() if x is not None or name not in OPTIONAL}
        key = (fn, *given, *options.values())
        joints = max(self.model.nv - (0 if str(options.get("base")) == "flying" else 6), 0)
        if self.parameters:
            call = lambda robot, **x: fn(robot.model, **x, **options)
            return self._parametrized(fn.__name__, call, [*given], False, None, joints, key)(*given.values())
        try:
            found = self._functions.get(key)
        except TypeError:                                                       # a list for a name: the function says so
            found = None
        if found is None:
            found = RobotFunction(self.model, functools.partial(fn, self.model, **options), [*given], fn.__name__, joints)
            self._functions[key] = found
        return found(*given.values())

    @functools.cached_property
    def _regular(self) -> None:
        """Refuse a model whose inertia is singular wherever it stands: that shows at any generic state, on floats."""
        model = self.model
        q = model.integrate(model.neutral(), np.random.default_rng(0).standard_normal(model.nv))
        dynamics.aba(model, q, np.zeros(model.nv), np.zeros(model.nv))


def given_point(frame: str, point: Any) -> Any:
    """Return a point, or None for the link's origin; one together with "world" is refused."""
    if point is ORIGIN:
        return None
    if str(frame) != "world" and point is not None:
        return point
    checked_point(frame, point)
    return None


@functools.lru_cache(maxsize=64)
def _known(model: Model, gravity: tuple[float, ...], parameters: tuple[str, ...]) -> Robot:
    return Robot(model, gravity, parameters)


def restored(model: Model, gravity: Any, parameters: Mapping[str, Array]) -> Robot:
    """Return a robot, out of pickle."""
    found = robot_of(model, gravity, parameters)
    return found.at(parameters) if parameters else found


def robot_of(model: Model, gravity: Any = GRAVITY, parameters: Iterable[str] = ()) -> Robot:
    """Return a model's compiled dynamics; the same object for the same model, gravity and names of parameters."""
    found = Robot(model, gravity, parameters)
    return _known(model, found.gravity, tuple(found.parameters))
