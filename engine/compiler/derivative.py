"""``engine.jacobian`` and ``engine.gradient``: compiled exact derivatives of a traceable function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from engine.checks import require_importable, whole
from engine.compiler.graph.program import Program, Shape, is_table
from engine.compiler.graph.refusals import ArgumentError
from engine.compiler.gufunc import Gufunc, gufunc
from engine.compiler.signature import shapes_in_text, signature_of, unsized, written
from engine.compiler.transforms import jacobians
from engine.compiler.transforms.trace import name_of, pure, trace


class Derivative:
    """The derivative of a function, traced and compiled for the shapes it is called with, and once for each.

    ``derivative(*arrays)`` takes what the function takes, without batches. The function runs, to be traced, at the first call with each set
    of shapes only: what it reads besides its arguments holds for those shapes as it was then.
    ``sparsity(*arrays)`` is where it is not zero by structure.
    """

    def __init__(self, fn: Callable[..., Any], argument: int, scalar: bool) -> None:
        self.fn, self.argument, self.scalar = fn, argument, scalar
        self.__name__ = f"{'gradient' if scalar else 'jacobian'} of {name_of(fn)}"
        self._compiled: dict[tuple[Shape, ...], Gufunc] = {}

    def _of(self, args: tuple[Any, ...]) -> Gufunc:
        if not 0 <= self.argument < len(args):
            raise ArgumentError(f"{self.__name__} got {len(args)} arguments; expected at least {self.argument + 1}, "
                                f"to differentiate by argument {self.argument}")  # fmt: skip
        shapes = tuple(self._shape(k, x) for k, x in enumerate(args))
        if shapes not in self._compiled:
            names = [f"argument_{k}" for k in range(len(shapes))]
            self._compiled[shapes] = compiled(trace(pure(self.fn), shapes), names, self.argument, self.scalar)
        return self._compiled[shapes]

    def _shape(self, k: int, x: Any) -> Shape:
        try:
            return np.shape(x)
        except ValueError:
            raise ArgumentError(f"{self.__name__}: argument_{k} is not rectangular; expected an array") from None

    def __call__(self, *args: Any) -> Any:
        return self._of(args)(*args)

    def sparsity(self, *args: Any) -> Any:
        """Boolean array(s): False where the derivative is zero whatever the values."""
        found = jacobians.sparsity(self._of(args).program)
        return found[0] if len(found) == 1 else tuple(found)

    def __reduce__(self) -> Any:
        require_importable(f"the function of a {self.__name__.split()[0]}", self.fn)
        return Derivative, (self.fn, self.argument, self.scalar), {"_compiled": self._compiled}

    def __copy__(self) -> Derivative:
        return self

    def __deepcopy__(self, memo: Any) -> Derivative:
        return self

    def __repr__(self) -> str:
        return f"<{self.__name__} by argument {self.argument}>"


def compiled(program: Program, names: list[str], argument: int, scalar: bool) -> Gufunc:
    tables = [*map(is_table, program.shapes_in)][argument], any(map(is_table, program.shapes_out))
    if tables[1] or (tables[0] and program.shapes_out != [()]):
        what = "makes tables" if tables[1] else "has a table as that argument"
        raise ArgumentError(f"{program.name} {what}, of any number of rows; expected one number as its result, or a size for each name")
    if scalar and program.shapes_out != [()]:
        shapes = ", ".join(map(str, program.shapes_out))
        raise ArgumentError(f"{program.name} returns shape {shapes}; a gradient is of one number; engine.jacobian takes arrays")
    require_few_dimensions(program, names, argument)
    J = jacobians.jacobian(program, argument)
    return Gufunc(J, signature_of(J), names)


def require_few_dimensions(program: Program, names: list[str], argument: int) -> None:
    """Refuse a Jacobian of more dimensions than compiled functions have; that of flat arrays, which the error writes down, has two."""
    shapes, results, of = program.shapes_in, program.shapes_out, program.shapes_in[argument]
    deep = [shape for shape in results if len(shape) + len(of) > 3]
    if not deep:
        return
    given = [n if k != argument or len(of) < 2 else f"{n}.reshape{of}" for k, n in enumerate(names)]
    call = f"f({', '.join(given)})"
    flat = f"np.ravel({call})" if len(results) == 1 else f"tuple(np.ravel(y) for y in {call})"
    signature = written([(math.prod(of),) if k == argument else s for k, s in enumerate(shapes)], [(math.prod(s),) for s in results])
    raise ArgumentError(f"the Jacobian of {program.name} has the shape {deep[0] + of}, of more than three dimensions; expected flat "
                        f"arrays, as of lambda {', '.join(names)}: {flat} with the signature '{signature}'")  # fmt: skip


def require_flat(signature: str, argument: int) -> None:
    """Refuse a signature, not all of whose sizes are known, whose Jacobian has more dimensions than compiled functions have."""
    left, _, right = signature.replace(" ", "").partition("->")
    shapes, results = shapes_in_text(left, signature), shapes_in_text(right, signature) if right else []
    of = shapes[argument] if argument < len(shapes) else ()
    if deep := [shape for shape in results if len(shape) + len(of) > 3]:
        x = f"x.reshape({', '.join(('-1', *of[1:]))})" if len(of) > 1 else "x"
        raise ArgumentError(f"the Jacobian of '{signature}' has the shape ({','.join(deep[0] + of)}), of more than three dimensions; "
                            f"expected flat arrays of sizes that are given, as of lambda x: np.ravel(f({x}))")  # fmt: skip


def differentiated(fn: Callable[..., Any], signature: str | None, argument: int, scalar: bool, **dimensions: int) -> Any:
    if not callable(fn):
        raise ArgumentError(f"expected a function to differentiate, got {fn!r}")
    argument = whole("the argument to differentiate by", argument, "its number, from 0", error=ArgumentError)
    if isinstance(signature, str) and (names := unsized(signature, dimensions)) and not scalar:
        require_flat(signature, argument)
        raise ArgumentError(f"{'gradient' if scalar else 'jacobian'}: the size '{names[0]}' of '{signature}' is not given; expected "
                            f"{names[0]}=… after the signature")  # fmt: skip
    if signature is not None:
        fn = gufunc(fn, signature, **dimensions)
    elif dimensions:
        raise ArgumentError(f"{'gradient' if scalar else 'jacobian'} of {name_of(fn)} got {min(dimensions)}=… without a signature")
    if not isinstance(fn, Gufunc):
        return Derivative(fn, argument, scalar)
    if argument >= len(fn.arguments):
        raise ArgumentError(f"{fn.name} has {len(fn.arguments)} arguments; there is no argument {argument} to differentiate by")
    result = compiled(fn.program, fn.arguments, argument, scalar)
    return functools.update_wrapper(result, fn, updated=())


@overload
def jacobian(fn: Gufunc, signature: None = None, argument: int = 0) -> Gufunc: ...  # type: ignore[overload-overlap]
@overload
def jacobian(fn: Callable[..., Any], signature: None = None, argument: int = 0) -> Derivative: ...
@overload
def jacobian(fn: Callable[..., Any], signature: str, argument: int = 0, **dimensions: int) -> Gufunc: ...
def jacobian(fn: Callable[..., Any], signature: str | None = None, argument: int = 0, **dimensions: int) -> Any:
    """Exact Jacobian of a traceable function, compiled: ``J = jacobian(fn); J(x)`` has the shape (*fn(x).shape, *x.shape).

    Parameters
    ----------
    fn : a function of arrays as for :func:`engine.gufunc`, or a compiled one
    signature, dimensions : shapes as for :func:`engine.gufunc`; with them (or for a compiled ``fn``) the result is a
        :class:`~engine.compiler.gufunc.Gufunc` that broadcasts; without, shapes are those of each call, and there are no batches
    argument : which argument to differentiate by

    Raises
    ------
    TraceError : ``fn`` cannot be traced, or returns something else when it is called again
    ArgumentError : no such argument, or no function

    Notes
    -----
    Without a signature, ``fn`` is traced at the first call with each set of shapes, and with one when ``jacobian`` is called (a compiled
    ``fn``: when that was made). What it reads besides its arguments, such as a global, holds as it was then, and later changes count only
    for shapes that are new: make a new Jacobian, or give what changes as an argument.

    The derivative of √x at 0, which is infinite, is given as 5·10¹⁶¹: finite, so that the gradient of a length |x| at x = 0 is 0, not NaN.

    Forward mode where ``fn`` has no fewer results than variables, else reverse; entries that are zero by structure are not computed.

    Examples
    --------
    >>> jacobian(lambda x: np.array([x[0] * x[1], x[1] ** 2]))([2.0, 3.0])
    array([[3., 2.],
           [0., 6.]])
    """
    return differentiated(fn, signature, argument, False, **dimensions)


@overload
def gradient(fn: Gufunc, signature: None = None, argument: int = 0) -> Gufunc: ...  # type: ignore[overload-overlap]
@overload
def gradient(fn: Callable[..., Any], signature: None = None, argument: int = 0) -> Derivative: ...
@overload
def gradient(fn: Callable[..., Any], signature: str, argument: int = 0, **dimensions: int) -> Gufunc: ...
def gradient(fn: Callable[..., Any], signature: str | None = None, argument: int = 0, **dimensions: int) -> Any:
    """Exact gradient of a function with one number as its result, compiled; the rest is as for :func:`jacobian`.

    Without a signature ``fn`` is traced at the first call with each set of shapes: what it reads besides its arguments holds as it was
    then.

    >>> gradient(lambda x: x @ x)([1.0, 2.0])
    array([2., 4.])
    """
    return differentiated(fn, signature, argument, True, **dimensions)
