"""Compiled functions of a model's state that check the shapes of q, v, … and document them in ``help``."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from engine.checks import EngineError
from engine.compiled.function import Function, units
from engine.compiler.transforms.trace import Shape
from engine.dynamics.each_tree import loops_over_trees
from engine.model import Model
from engine.model.parameters import NUMBERS, is_number, split
from engine.ops.flow import poisoned

Array = NDArray[np.float64]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
#: arguments of a robot's functions, for their docstrings
ARGUMENTS = {
    "q": "configuration (..., nq), rad and m, in the order of NOTATION.md; quaternions are unit ones, [qw, qx, qy, qz]",
    "v": "velocity (..., nv), rad/s and m/s; of floating, spherical and planar joints in the child's axes",
    "vdot": "acceleration (..., nv), rad/s² and m/s²: the rate of v",
    "tau": "generalized forces (..., nv), N·m and N",
    "wrenches": "[moment; force] acting on each link, in its frame about its origin (..., nlinks, 6), N·m and N; or None",
    "P": "momentum [angular about the world's origin; linear] in world axes (..., 6), N·m·s and N·s",
    "qdot": "velocities of the joints (..., nv − 6), rad/s and m/s; None: zeros",
    "qddot": "accelerations of the joints (..., nv − 6), rad/s² and m/s²; of a flying base those of all velocities (..., nv)",
    "link": "the link's name",
    "frame": 'axes and point: "body" (the link\'s axes, at the point), "world_aligned" (the world\'s axes, at the point), or "world"\n'
             "        (the world's axes, about the world's origin)",
    "point": "a point fixed in the link (..., 3), m in its frame; \"world\" takes none",
    "base": 'how the base moves: "floating" (freely), "rotation" or "translation" (in this way only), "fixed" (not at all), or "flying"\n'
            "        (driven like a joint: its six rows come before the joints')",
    "out": "an array for the result (or a tuple, of several), instead of a new one",
}  # fmt: skip
OPTIONAL = {"wrenches", "point", "qdot"}
RAISES = """ModelError : there is no such link, or the model does not hang from one floating joint where it must
    StateError : q holds a quaternion that is no unit one, something is not finite, or the result would not be
    ArgumentError : a shape or type that is not what is expected"""


def explained(method: Callable[..., Any], *more: str) -> str:
    """Return a method's docstring with its arguments and errors."""
    text, given = inspect.cleandoc(method.__doc__ or ""), [*inspect.signature(method).parameters][1:]
    arguments = "\n".join(f"    {name} : {ARGUMENTS[name]}" for name in (*given, *more))
    whole = f"    Leading dimensions broadcast.\n\n    Parameters\n    ----------\n{arguments}\n\n    Raises\n    ------\n    {RAISES}\n"
    return f"{text}\n\n{inspect.cleandoc(whole)}"


def documented(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Add its arguments and errors to a method's docstring."""
    method.__doc__ = explained(method)
    return method


class RobotFunction(Function, Generic[Arguments, Result]):
    """A compiled function of a model's state: one of a :class:`Robot`'s; ``help`` of one says what it takes and returns."""

    def __init__(self, model: Model, plain: Callable[..., Any], arguments: Sequence[str], name: str, joints: int = 0,
                 loops: bool = True) -> None:  # fmt: skip
        shapes: dict[str, Shape] = {"q": (model.nq,), "wrenches": (len(model.links), 6), "P": (6,), "point": (3,), "qddot": (joints,),
                                    "qdot": (joints,)}  # fmt: skip
        self.model, self.plain = model, plain

        def traced(*x: Any) -> Any:
            with loops_over_trees() if loops else contextlib.nullcontext():
                return poisoned(units(model.manifold, x[0]), plain(**dict(zip(arguments, x, strict=True))))

        shapes |= {a: NUMBERS[split(a)[0]].shape for a in arguments if is_number(a)}
        super().__init__(traced, arguments, [shapes.get(a, (model.nv,)) for a in arguments], name)

    if TYPE_CHECKING:

        @overload
        def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result: ...
        @overload
        def __call__(self, *args: Any, out: Array | tuple[Array, ...], **kwargs: Any) -> Result: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __get__(self, instance: Any, owner: Any = None) -> RobotFunction[Arguments, Result]:
        """Return itself: what has a ``__get__`` is a function to ``help``, which then shows its signature and docstring."""
        return self

    @property
    def straight(self) -> RobotFunction[Arguments, Result]:
        """The function without loops over trees, for exports that have no tables."""
        return RobotFunction(self.model, self.plain, self.arguments, self.name, loops=False) if self.program.tabled else self

    def entry(self, argument: str, where: tuple[int, ...]) -> str:
        if argument == "wrenches":
            return f" (link '{self.model.links[where[-2]].name}')"
        if argument in ("P", "point") or is_number(argument):
            return ""
        first = self.model.nv - self.program.shapes_in[self.arguments.index(argument)][-1] if argument in ("qddot", "qdot") else 0
        return f" (joint '{self.model.entries('q' if argument == 'q' else 'v')[first + where[-1]]}')"

    def failure(self, given: Sequence[Array], result: Any) -> str:
        """Return why a result is not finite: the first such row is computed again on floats, which raises what it knows better."""
        results = result if isinstance(result, tuple) else (result,)
        batch = np.broadcast_shapes(*[x.shape[: x.ndim - len(s)] for x, s in zip(given, self.program.shapes_in, strict=True)])
        good = [np.isfinite(np.asarray(r)).reshape(*batch, -1).all(axis=-1) for r in results]
        row = tuple(int(i) for i in np.argwhere(~np.all(good, axis=0))[0])
        one = [np.broadcast_to(x, (*batch, *s))[row] for x, s in zip(given, self.program.shapes_in, strict=True)]
        where = f" for row {', '.join(map(str, row))}" if row else ""
        try:
            with np.errstate(all="ignore"):
                self.plain(**dict(zip(self.arguments, one, strict=True)))
        except EngineError as error:
            raise type(error)(f"{error}{where.replace(' for', ',')}") from None
        return (f"the result{where} is not finite; expected a state within the numbers' range "
                "(for aba, a joint-space inertia that is not singular)")  # fmt: skip


class Forced(RobotFunction[Arguments, Result]):
    """A function that takes external wrenches after its arguments, or none."""

    @functools.cached_property
    def forced(self) -> RobotFunction[..., Result]:
        """The function with external wrenches."""
        joints = next((s[0] for n, s in zip(self.arguments, self.program.shapes_in, strict=True) if n in ("qddot", "qdot")), 0)
        return RobotFunction(self.model, self.plain, [*self.arguments, "wrenches"], self.name, joints)

    def _general(self, *args: Any, wrenches: Any = None, **kwargs: Any) -> Any:
        if len(args) == len(self.arguments) + 1:
            *args, wrenches = args  # type: ignore[assignment]
        if wrenches is None:
            return super()._general(*args, **kwargs)
        return self.forced(*args, *[kwargs.pop(a) for a in self.arguments[len(args) :] if a in kwargs], wrenches, **kwargs)
