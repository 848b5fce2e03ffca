"""A model's dynamics, compiled: what ``engine.compile`` returns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from engine import dynamics
from engine.compiler.gufunc import Gufunc
from engine.compiler.trace import Shape
from engine.dynamics import GRAVITY
from engine.model import Model, StateError
from engine.simulation.function import Function

Array = np.ndarray


class RobotFunction(Function):
    """A compiled function of a model's state."""

    def __init__(self, model: Model, fn: Callable[..., Any], arguments: str, name: str = "", **options: Any) -> None:
        joints = model.nv - (0 if options.get("base") == "flying" else 6)  # of a floating model
        shapes: dict[str, Shape] = {"q": (model.nq,), "wrenches": (len(model.links), 6), "qddot": (max(joints, 0),)}
        names = arguments.split()
        self.model, self.plain = model, functools.partial(fn, **options)
        super().__init__(lambda *x: fn(model, **dict(zip(names, x, strict=True)), **options), names,
                         [shapes.get(a, (model.nv,)) for a in names], name or fn.__name__)  # fmt: skip

    def entry(self, argument: str, where: tuple[int, ...]) -> str:
        if argument == "wrenches":
            return f" (link '{self.model.links[where[-2]].name}')"
        first = self.model.nv - self.program.shapes_in[self.arguments.index(argument)][-1] if argument == "qddot" else 0
        return f" (joint '{self.model.entries('v' if argument == 'qddot' else argument)[first + where[-1]]}')"

    def failure(self, given: Sequence[Array], result: Any) -> str:
        """Return why a result is not finite: the first such row is computed again on floats, which raises what it knows better."""
        first = result[0] if isinstance(result, tuple) else result
        bad = np.argwhere(~np.isfinite(np.asarray(first)))
        row = tuple(int(i) for i in bad[0][: bad.shape[1] - len(self.program.shapes_out[0])]) if len(bad) else ()
        batch = np.shape(first)[: len(row)]
        one = [np.broadcast_to(x, (*batch, *s))[row] for x, s in zip(given, self.program.shapes_in, strict=True)]
        self.plain(self.model, **dict(zip(self.arguments, one, strict=True)))
        which = f" for row {', '.join(map(str, row))}" if row else ""
        return (f"the result{which} is not finite; expected a state within the numbers' range "
                "(for aba, a joint-space inertia that is not singular)")  # fmt: skip


class Forced(RobotFunction):
    """A function that takes external wrenches after its arguments, or none."""

    @functools.cached_property
    def forced(self) -> RobotFunction:
        """The same function, with wrenches."""
        return RobotFunction(self.model, self.plain.func, " ".join([*self.arguments, "wrenches"]), **self.plain.keywords)

    def _general(self, *args: Any, wrenches: Any = None, **kwargs: Any) -> Any:
        if len(args) == len(self.arguments) + 1:
            *args, wrenches = args  # type: ignore[assignment]
        if wrenches is None:
            return super()._general(*args, **kwargs)
        if len(args) == len(self.arguments):
            return self.forced(*args, wrenches, **kwargs)
        return self.forced(*args, wrenches=wrenches, **kwargs)


class compiled:
    """An attribute of a Robot that is a function of :mod:`engine.dynamics`, traced and compiled when it is first used."""

    def __init__(self, fn: Callable[..., Any], arguments: str, gravity: bool = False, forced: bool = False) -> None:
        self.fn, self.arguments, self.gravity, self.kind = fn, arguments, gravity, Forced if forced else RobotFunction
        self.__doc__ = (fn.__doc__ or "").split("\n\n    Examples")[0]           # those call the plain function

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, robot: None, owner: type) -> compiled: ...
    @overload
    def __get__(self, robot: Robot, owner: type) -> Gufunc: ...
    def __get__(self, robot: Any, owner: type) -> Any:
        if robot is None:
            return self
        if self.fn is dynamics.aba:                                             # a singular inertia shows at any generic state, on floats
            model = robot.model
            q = model.integrate(model.neutral(), np.random.default_rng(0).standard_normal(model.nv))
            dynamics.aba(model, q, np.zeros(model.nv), np.zeros(model.nv))
        made = self.kind(robot.model, self.fn, self.arguments, **({"gravity": robot.gravity} if self.gravity else {}))
        return robot.__dict__.setdefault(self.name, made)                      # found there the next time, before this attribute


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

    rnea = compiled(dynamics.rnea, "q v vdot", gravity=True, forced=True)
    aba = compiled(dynamics.aba, "q v tau", gravity=True, forced=True)
    bias = compiled(dynamics.bias, "q v", gravity=True, forced=True)
    gravity_forces = compiled(dynamics.gravity_forces, "q", gravity=True)
    crba = compiled(dynamics.crba, "q")
    forward_kinematics = compiled(dynamics.forward_kinematics, "q")
    twists = compiled(dynamics.twists, "q v")
    energy = compiled(dynamics.energy, "q v", gravity=True)
    momentum = compiled(dynamics.momentum, "q v")
    center_of_mass = compiled(dynamics.center_of_mass, "q")
    coriolis = compiled(dynamics.coriolis, "q v")
    christoffel = compiled(dynamics.christoffel, "q")
    momentum_matrix = compiled(dynamics.momentum_matrix, "q")
    momentum_matrix_dot = compiled(dynamics.momentum_matrix_dot, "q v")
    centroidal_momentum_matrix = compiled(dynamics.centroidal_momentum_matrix, "q")
    centroidal_momentum_matrix_dot = compiled(dynamics.centroidal_momentum_matrix_dot, "q v")
    base_reaction = compiled(dynamics.base_reaction, "q v vdot", gravity=True)
    reaction_null_space = compiled(dynamics.reaction_null_space, "q")

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
        self._jacobians: dict[tuple[str, str], RobotFunction] = {}

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

    def _of(self, fn: Callable[..., Any], arguments: str, **options: Any) -> RobotFunction:
        key = fn.__name__, str(sorted(options.items()))
        if key not in self._jacobians:
            self._jacobians[key] = RobotFunction(self.model, fn, arguments, **options)
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

    def _of_link(self, fn: Callable[..., Any], arguments: str, link: str) -> RobotFunction:
        self.model.link_index(link)
        return self._of(fn, arguments, link=link)

    def __repr__(self) -> str:
        return f"<compiled '{self.model.name}', nq {self.model.nq}, nv {self.model.nv}, gravity {self.gravity}>"


@functools.lru_cache(maxsize=64)
def _known(model: Model, gravity: tuple[float, ...]) -> Robot:
    return Robot(model, gravity)


def robot_of(model: Model, gravity: Any = GRAVITY) -> Robot:
    """Return a model's compiled dynamics; the same object for the same model and gravity."""
    return _known(model, Robot(model, gravity).gravity)
