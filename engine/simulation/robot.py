"""A model's dynamics, compiled: what ``engine.compile`` returns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dynamics
from engine.compiler.gufunc import Gufunc, signature_of
from engine.compiler.trace import Shape, trace
from engine.dynamics import GRAVITY
from engine.model import Model, StateError
from engine.rigid_body import ControlSystem

Array = np.ndarray


class Function(Gufunc):
    """A compiled function of a model's state: what comes in and what goes out must be finite."""

    strict = True

    def __init__(self, robot: Robot, fn: Callable[..., Any], arguments: str, name: str = "", **options: Any) -> None:
        model = robot.model
        joints = model.nv - (0 if options.get("base") == "flying" else 6)  # of a floating model
        shapes: dict[str, Shape] = {"q": (model.nq,), "wrenches": (len(model.links), 6), "qddot": (max(joints, 0),)}
        names = arguments.split()
        self.model, self.plain = model, functools.partial(fn, **options)
        program = trace(lambda *x: fn(model, **dict(zip(names, x, strict=True)), **options), [shapes.get(a, (model.nv,)) for a in names])
        program.name = name or fn.__name__
        super().__init__(program, signature_of(program), names)

    def _not_finite(self, *args: Any) -> Any:
        """Name what came in that is not finite, or else the singular joint."""
        *given, result = args
        for name, x in zip(self.arguments, given, strict=True):
            bad = np.argwhere(~np.isfinite(x))
            if len(bad):
                where = tuple(int(i) for i in bad[0])
                if name == "wrenches":
                    what = f"link '{self.model.links[where[-2]].name}'"
                else:
                    first = self.model.nv - np.shape(x)[-1] if name == "qddot" else 0
                    what = f"joint '{self.model.entries(name if name != 'qddot' else 'v')[first + where[-1]]}'"
                entry = f"{name}[{', '.join(map(str, where))}]"
                raise StateError(f"{self.name}: {entry} ({what}) is {np.asarray(x)[where]}; expected a finite number")
        results = result if isinstance(result, tuple) else (result,)
        shape = self.program.shapes_out[0]
        bad = np.argwhere(~np.isfinite(np.asarray(results[0])))
        row = tuple(int(i) for i in bad[0][: bad.shape[1] - len(shape)]) if len(bad) else ()
        batch = np.shape(results[0])[: len(row)]
        one = [np.broadcast_to(x, (*batch, *s))[row] for x, s in zip(given, self.program.shapes_in, strict=True)]
        self.plain(self.model, **dict(zip(self.arguments, one, strict=True)))  # raises what it knows better
        which = f" for row {', '.join(map(str, row))}" if row else ""
        raise StateError(f"{self.name}: the result{which} is not finite; expected a state within the numbers' range "
                         f"(for aba, a joint-space inertia that is not singular)")  # fmt: skip


class Forced(Function):
    """A function that takes external wrenches after its arguments, or none."""

    def __init__(self, robot: Robot, fn: Callable[..., Any], arguments: str, **options: Any) -> None:
        super().__init__(robot, fn, arguments, **options)
        self.forced = functools.cache(lambda: Function(robot, fn, arguments + " wrenches", **options))

    def _general(self, *args: Any, wrenches: Any = None, **kwargs: Any) -> Any:
        if len(args) == len(self.arguments) + 1:
            *args, wrenches = args  # type: ignore[assignment]
        if wrenches is None:
            return super()._general(*args, **kwargs)
        if len(args) == len(self.arguments):
            return self.forced()(*args, wrenches, **kwargs)
        return self.forced()(*args, wrenches=wrenches, **kwargs)


class Robot:
    """Compiled dynamics of one model in one gravity; every function broadcasts over leading dimensions.

    Each is traced and compiled when it is first used, is a :class:`~engine.compiler.gufunc.Gufunc`, and raises ``StateError``
    where a result would hold NaN or infinity. Orders, frames and signs are those of NOTATION.md.

    Attributes
    ----------
    rnea(q, v, vdot, wrenches=None) -> tau (..., nv)
    aba(q, v, tau, wrenches=None) -> vdot (..., nv)
    bias(q, v, wrenches=None) -> (..., nv); gravity_forces(q) -> (..., nv)
    crba(q) -> M (..., nv, nv)
    forward_kinematics(q) -> T (..., nlinks, 4, 4); twists(q, v) -> V (..., nlinks, 6)
    coriolis(q, v) -> C (..., nv, nv); christoffel(q) -> (..., nv, nv, nv)
    momentum_matrix(q), momentum_matrix_dot(q, v), centroidal_momentum_matrix(q), centroidal_momentum_matrix_dot(q, v) -> (..., 6, nv)
    base_reaction(q, v, vdot) -> (..., 6); reaction_null_space(q) -> (..., nv − 6, nv − 6): of floating models
    energy(q, v) -> K, U; momentum(q, v) -> P (..., 6); center_of_mass(q) -> (..., 3)
    """

    def __init__(self, model: Model, gravity: Any = GRAVITY) -> None:
        if not isinstance(model, Model):
            raise StateError(f"compile got a {type(model).__name__}; expected a Model (engine.load_urdf makes one from a file)")
        try:
            g = np.array(gravity, dtype=float)
        except (TypeError, ValueError):
            g = np.full(3, np.nan)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise StateError(f"gravity is {gravity!r}; expected three finite numbers, m/s² in world axes, such as (0, 0, -9.81)")
        self.model, self.gravity = model, tuple(float(x) for x in g)
        self._jacobians: dict[tuple[str, str], Function] = {}

    @functools.cached_property
    def rnea(self) -> Gufunc:
        return Forced(self, dynamics.rnea, "q v vdot", gravity=self.gravity)

    @functools.cached_property
    def aba(self) -> Gufunc:
        model = self.model  # a singular inertia shows at any generic state, on floats, with the joint's name
        q = model.integrate(model.neutral(), np.random.default_rng(0).standard_normal(model.nv))
        dynamics.aba(model, q, np.zeros(model.nv), np.zeros(model.nv))
        return Forced(self, dynamics.aba, "q v tau", gravity=self.gravity)

    @functools.cached_property
    def bias(self) -> Gufunc:
        return Forced(self, dynamics.bias, "q v", gravity=self.gravity)

    @functools.cached_property
    def gravity_forces(self) -> Gufunc:
        return Function(self, dynamics.gravity_forces, "q", gravity=self.gravity)

    @functools.cached_property
    def crba(self) -> Gufunc:
        return Function(self, dynamics.crba, "q")

    @functools.cached_property
    def forward_kinematics(self) -> Gufunc:
        return Function(self, dynamics.forward_kinematics, "q")

    @functools.cached_property
    def twists(self) -> Gufunc:
        return Function(self, dynamics.twists, "q v")

    @functools.cached_property
    def energy(self) -> Gufunc:
        return Function(self, dynamics.energy, "q v", gravity=self.gravity)

    @functools.cached_property
    def momentum(self) -> Gufunc:
        return Function(self, dynamics.momentum, "q v")

    @functools.cached_property
    def center_of_mass(self) -> Gufunc:
        return Function(self, dynamics.center_of_mass, "q")

    @functools.cached_property
    def coriolis(self) -> Gufunc:
        return Function(self, dynamics.coriolis, "q v")

    @functools.cached_property
    def christoffel(self) -> Gufunc:
        return Function(self, dynamics.christoffel, "q")

    @functools.cached_property
    def momentum_matrix(self) -> Gufunc:
        return Function(self, dynamics.momentum_matrix, "q")

    @functools.cached_property
    def momentum_matrix_dot(self) -> Gufunc:
        return Function(self, dynamics.momentum_matrix_dot, "q v")

    @functools.cached_property
    def centroidal_momentum_matrix(self) -> Gufunc:
        return Function(self, dynamics.centroidal_momentum_matrix, "q")

    @functools.cached_property
    def centroidal_momentum_matrix_dot(self) -> Gufunc:
        return Function(self, dynamics.centroidal_momentum_matrix_dot, "q v")

    @functools.cached_property
    def base_reaction(self) -> Gufunc:
        return Function(self, dynamics.base_reaction, "q v vdot", gravity=self.gravity)

    @functools.cached_property
    def reaction_null_space(self) -> Gufunc:
        return Function(self, dynamics.reaction_null_space, "q")

    def generalized_jacobian(self, q: Array, link: str, base: str = "floating") -> Array:
        """Generalized Jacobian J* (..., 6, nv − 6) of a link of a floating model: V_link = J* q̇ + J_b Hb⁻¹ P0."""
        return self._of(dynamics.generalized_jacobian, "q", link=link, base=base)(q)

    def free_floating_inertia(self, q: Array, base: str = "floating") -> Array:
        """Inertia M* (..., nv − 6, nv − 6) that the joints of a floating model feel when nothing holds its base."""
        return self._of(dynamics.free_floating_inertia, "q", base=base)(q)

    def free_floating_bias(self, q: Array, v: Array, base: str = "floating") -> Array:
        """Bias b* (..., nv − 6): M* q̇̇ + b* = tau."""
        return self._of(dynamics.free_floating_bias, "q v", gravity=self.gravity, base=base)(q, v)

    def floating_inverse_dynamics(self, q: Array, v: Array, qddot: Array, base: str = "floating") -> tuple[Array, Array]:
        """Joint forces (..., nv − 6) for joint accelerations qddot (..., nv − 6) of a floating model, and the rate of its base's twist."""
        return self._of(dynamics.floating_inverse_dynamics, "q v qddot", gravity=self.gravity, base=base)(q, v, qddot)

    def _of(self, fn: Callable[..., Any], arguments: str, **options: Any) -> Function:
        key = fn.__name__, str(sorted(options.items()))
        if key not in self._jacobians:
            self._jacobians[key] = Function(self, fn, arguments, **options)
        return self._jacobians[key]

    def jacobian(self, q: Array, link: str) -> Array:
        """Body Jacobian J (..., 6, nv) of a link: V_link = J v, in the link's frame."""
        return self._of_link(dynamics.jacobian, "q", link)(q)

    def spatial_jacobian(self, q: Array, link: str) -> Array:
        """Spatial Jacobian (..., 6, nv): the link's twist in world axes about the world's origin."""
        return self._of_link(dynamics.spatial_jacobian, "q", link)(q)

    def jacobian_dot(self, q: Array, v: Array, link: str) -> Array:
        """Rate J̇ (..., 6, nv) of the body Jacobian: V̇_link = J v̇ + J̇ v."""
        return self._of_link(dynamics.jacobian_dot, "q v", link)(q, v)

    def _of_link(self, fn: Callable[..., Any], arguments: str, link: str) -> Function:
        self.model.link_index(link)
        return self._of(fn, arguments, link=link)

    def __repr__(self) -> str:
        return f"<compiled '{self.model.name}', nq {self.model.nq}, nv {self.model.nv}, gravity {self.gravity}>"


@functools.lru_cache(maxsize=64)
def _robot(model: Model, gravity: tuple[float, ...]) -> Robot:
    return Robot(model, gravity)


def compile(model: Any, gravity: Any = GRAVITY) -> Any:
    """Compile a model's dynamics: ``robot = engine.compile(model, gravity=(0, 0, -9.81))``.

    Returns a :class:`Robot`, or of a :class:`~engine.rigid_body.RigidBody` or other control system, whose gravity is among its forces, a
    :class:`~engine.simulation.system.CompiledSystem`. Functions are traced and compiled to machine code when first used (and found again
    in memory, and on disk by later processes).

    Examples
    --------
    >>> import engine
    >>> arm = engine.Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> engine.compile(arm.model()).rnea(np.zeros(1), np.zeros(1), np.zeros(1)).round(9)
    array([58.86])
    """
    if isinstance(model, ControlSystem):
        from engine.simulation.system import CompiledSystem  # here: it is built on the simulator, which is built on this module

        if gravity is not GRAVITY:
            raise StateError(f"compile got a gravity for {model.name}; expected it among the system's own forces")
        return CompiledSystem(model)
    robot = Robot(model, gravity)
    return _robot(model, robot.gravity)
