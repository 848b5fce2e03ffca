"""Compiled functions: what ``engine.gufunc`` returns, on top of a real NumPy gufunc."""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

from engine.checks import listed, nearest, shown, warn, whole
from engine.compiler import native_code
from engine.compiler.codegen import entry
from engine.compiler.codegen.call_writer import API, DOUBLE, HEADER, ITEMS, PROMISED, Equal
from engine.compiler.graph.expr import Expr
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.program import COUNTED, Program, Shape, is_table, of_rows, once
from engine.compiler.graph.refusals import ArgumentError
from engine.compiler.kernels.arena import NO_MEMORY, NO_ROW, most
from engine.compiler.signature import equal_counts, shapes_in_text
from engine.compiler.thread_pool import get_threads, spread
from engine.compiler.transforms.table import Table
from engine.compiler.transforms.trace import calling, name_of, pure, trace

#: what NumPy's generalized ufuncs take beside their arguments
KEYWORDS = {"out", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "signature"}
#: operations in a batch from which several threads are worth their start
WORTH_THREADS = 8_000_000


# ---------------------------------------------------------------- NumPy's C interface


@functools.cache
def _capsule(capsule: Any) -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@functools.cache
def _api() -> dict[str, int]:
    """Addresses for :data:`API`; the numbers are NumPy's stable ABI (numpy/__multiarray_api.h)."""
    table = _capsule(umath._ARRAY_API)
    return {"ndarray": id(np.ndarray), "float64": id(np.dtype(np.float64)), "PyArray_New": table[93], "PyArray_Scalar": table[60],
            "double": id(np.float64), "float": id(float), "int": id(int)}  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_METH_VARARGS_KEYWORDS = 0x0001 | 0x0002
#: single calls go straight to machine code, which counts references under Python's lock
DIRECT = not sysconfig.get_config_var("Py_GIL_DISABLED")


#: loaded code, and what else NumPy and Python keep pointers to; equal programs share it
_immortal: list[Any] = []


def immortal(*things: Any) -> None:
    """Keep things as long as the process lives: a function of C that is freed at Python's end, after all names, is read then."""
    _immortal.append(things)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(things))


def native(a: Any) -> np.ndarray:
    """Return a copy as machine code takes it: of the one type of float64, among those of NumPy's that are equal."""
    return np.asarray(a).astype(np.float64, order="C")


@functools.cache
def _single_code(program: Program, strict: bool, equal: tuple[Equal, ...], rows: int) -> int:
    """Address of the method definition of a program's single-call code, with so many rows in the lanes."""
    how = f"single{HEADER}.{ITEMS}.{native_code.width()}.{rows}.{strict}{equal or ''}"
    code = native_code.Code(how, lambda: entry.single(program, strict, equal), "one call", [program])
    table = (ctypes.c_void_p * len(API)).from_address(code.variable("api"))
    for k, name in enumerate(API):
        table[k] = _api()[name]
    definition = _MethodDef(program.name.encode(), code.function("call"), _METH_VARARGS_KEYWORDS, None)
    immortal(code, definition)
    return ctypes.addressof(definition)


@functools.cache
def _batch_code(program: Program, strict: bool) -> Any:
    """The NumPy gufunc of a program."""
    lanes = native_code.width()
    code = native_code.Code(f"batch{lanes}.{strict}", lambda: entry.batch(program, lanes, strict), "a batch", [program])
    frozen = [",".join(f"({','.join(str(n or 'none') for n in s)})" for s in shapes) for shapes in (program.shapes_in, program.shapes_out)]
    return numpy_ufunc(code, program.name, "->".join(frozen))  # a size of zero must have a name


def numpy_ufunc(code: native_code.Code, name: str, signature: str) -> Any:
    """A ``numpy.ufunc`` on the ``loop`` of loaded code."""
    left, right = signature.split("->")
    n_in, n_out = left.count("("), right.count("(")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
                             ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)(_capsule(umath._UFUNC_API)[31])  # fmt: skip
    loops, data = (ctypes.c_void_p * 1)(code.function("loop")), (ctypes.c_void_p * 1)(None)
    types, title, text = bytes([DOUBLE] * (n_in + n_out)), name.encode(), signature.encode()
    immortal(code, loops, data, types, title, text)
    return make(ctypes.addressof(loops), ctypes.addressof(data), types, 1, n_in, n_out, -1, title, None, 0, text)


class Gufunc:
    """A compiled function of arrays. Calls broadcast over leading dimensions, as NumPy's generalized ufuncs do.

    ``f(*arrays, out=None)``; machine code for single calls and for batches is made when first needed. A result that holds NaN or
    infinity is returned with a warning, or as ``np.errstate(invalid=...)`` says. Called on traced values it becomes part of their
    program.

    Attributes
    ----------
    signature : the shapes, such as ``"(n),(m)->(k)"``
    program : the traced :class:`~engine.compiler.transforms.trace.Program`
    ufunc : the ``numpy.ufunc`` for batches (one thread), for ``dask.array.apply_gufunc`` and the like

    >>> import engine
    >>> f = engine.gufunc(lambda x, y: x @ y, "(n),(n)->()", n=2)
    >>> f.signature, f([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    ('(n),(n)->()', array([3., 4.]))
    """

    program: Program
    strict = False  # whether inputs that are not finite are reported too, where the results do not depend on them

    def __init__(self, program: Program, signature: str, arguments: Sequence[str]) -> None:
        if any(len(shape) > 3 for shape in (*program.shapes_in, *program.shapes_out)):
            raise ArgumentError(f"{program.name} has an argument or result of more than three dimensions; expected at most three")
        self.program, self.signature, self.arguments = program, signature, list(arguments)
        self.name = self.__name__ = program.name
        self.operations = max(program.count(), 1)
        out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        words = [n if n.isidentifier() else f"argument_{k}" for k, n in enumerate(arguments)]
        self.__signature__ = inspect.Signature([*(inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in words), out])
        # an instance of a class of its own, whose __call__ is replaced by machine code on the first call
        self.__class__ = type(type(self).__name__, (type(self),), {"__slots__": ()})

    # ------------------------------------------------------------ single calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Table) or np.ndim(x) > len(s) for x, s in zip(args, self.program.shapes_in, strict=False)):
            return self._general(*args, **kwargs)
        call = self._single if DIRECT else self._general
        type(self).__call__ = call  # type: ignore[method-assign]
        return call(*args, **kwargs)

    @once
    def _single(self) -> Any:
        """The Python function made of machine code; what it does not take goes to ``_general``, what is not finite to ``_not_finite``."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        equal = tuple(self.equal_counts.values())
        code = _single_code(self.program, self.strict, equal, native_code.rows())
        return make(code, (self._general, self._not_finite, self._failed), None)

    @once
    def equal_counts(self) -> dict[str, Equal]:
        """:func:`engine.compiler.signature.equal_counts`."""
        return equal_counts(self.signature, self.program) if self.counted else {}

    # ------------------------------------------------------------ batches

    @once
    def ufunc(self) -> Any:
        """The NumPy gufunc made of vector code."""
        if self.counted:
            raise ArgumentError(f"{self.name} takes or makes tables, which NumPy's own functions do not know; expected a call of it itself")
        return _batch_code(self.program, self.strict)

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        """A call of any kind: converts, checks, and spreads a large batch over the threads."""
        shapes, count = self.program.shapes_in, len(self.program.shapes_out)
        if len(shapes) < len(args) <= len(shapes) + count and "out" not in kwargs:  # outputs by position
            args, positional = args[: len(shapes)], args[len(shapes) :]
            kwargs["out"] = (*positional, *[None] * (count - len(positional)))
        args += tuple(kwargs.pop(name) for name in self.arguments[len(args) :] if name in kwargs)
        for name in kwargs.keys() - KEYWORDS:
            names = [*self.__signature__.parameters]
            how = " twice" if name in names else nearest(name, names)
            raise ArgumentError(f"{self.name} got '{name}'{how}; expected {', '.join(names)}")
        if len(args) != len(shapes):
            raise ArgumentError(f"{self.name} got {len(args)} arguments; expected {len(shapes)}: {', '.join(self.arguments)}")
        if self.counted and kwargs.get("out") is not None:
            raise ArgumentError(f"{self.name} got 'out'; expected none, as it makes tables of as many rows as there are")
        if kwargs.keys() - {"out"}:  # axes, dtype, casting: NumPy knows
            return self.ufunc(*args, **kwargs)
        if any(isinstance(x, Table) for x in args):
            return calling(self.program)(*args)
        arrays = [self.checked(n, x, s) for n, x, s in zip(self.arguments, args, shapes, strict=True)]
        if any(a.dtype == object for a in arrays):
            return calling(self.program)(*arrays)
        leading = [a.shape[: a.ndim - len(s)] for a, s in zip(arrays, shapes, strict=True)]
        try:
            batch = leading[0] if len(set(leading)) == 1 else np.broadcast_shapes(*leading)
        except ValueError:
            text = ", ".join(f"{n} {a.shape}" for n, a in zip(self.arguments, arrays, strict=True))
            raise ArgumentError(f"{self.name}: the batches of {text} do not broadcast; expected equal leading dimensions, or 1") from None
        out = kwargs.get("out")
        given = out if isinstance(out, tuple) else (out,) * (count if out is None else 1)
        if self.counted:
            return self._each(arrays, batch)
        if DIRECT and not batch and all(g is None for g in given):
            return self._single(*map(native, arrays))
        results = self._allocated(given, batch)
        finite = self._run(arrays, leading, batch, results)
        returned = [(r if r.ndim else r[()]) if g is None else g for r, g in zip(results, given, strict=True)]  # no 0-d arrays
        result = returned[0] if count == 1 else tuple(returned)
        return result if finite else self._not_finite(*arrays, result)

    @once
    def counted(self) -> bool:
        """True if the function works with tables."""
        return self.program.tabled or any(map(is_table, (*self.program.shapes_in, *self.program.shapes_out)))

    def _each(self, arrays: list[np.ndarray], batch: Shape) -> Any:
        """A call with tables: one sample after another."""
        shapes = self.program.shapes_in
        if not math.prod(batch):
            raise ArgumentError(f"{self.name} got an empty batch {batch}; expected a row at least, as it works with tables")
        whole = [np.broadcast_to(a, batch + a.shape[a.ndim - len(s) :]) for a, s in zip(arrays, shapes, strict=True)]
        for name, (same, _) in self.equal_counts.items():
            counts = {self.arguments[i]: whole[i].shape[len(batch)] for i in same}
            if len(set(counts.values())) > 1:
                said = " and ".join(f"{n} rows of {a}" for a, n in counts.items())
                raise ArgumentError(f"{self.name} got {said}; expected as many in each, {name} of '{self.signature}'")
        found = [self._single(*(native(a[k]) for a in whole)) for k in np.ndindex(batch)]
        if not batch:
            return found[0]
        parts = list(zip(*found, strict=True)) if len(self.program.shapes_out) > 1 else [found]
        if any(len({np.shape(x) for x in part}) > 1 for part in parts):
            raise ArgumentError(f"{self.name} made tables of different numbers of rows; expected as many in each row of a batch")
        results = [np.stack(part).reshape(batch + np.shape(part[0])) for part in parts]
        return results[0] if len(results) == 1 else tuple(results)

    def _failed(self, *args: Any) -> Any:
        """Say why a call with tables had no result: its arguments, and the state of its memory."""
        *arrays, state = args
        if state & NO_MEMORY and not state & NO_ROW:
            raise MemoryError(f"{self.name}: its tables need more memory than there is for them: {most() / 2**30:.3g} GiB, half of all")
        with np.errstate(all="ignore"):
            found = interpret(self.program, *arrays)                           # which says where
        results = found if isinstance(found, tuple) else (found,)
        for name, (same, made) in self.equal_counts.items() if state & PROMISED else ():
            for n, m in ((len(arrays[same[0]]), len(results[k])) for k in made):
                if n != m:
                    raise ArgumentError(f"{self.name} returned a table of {m} rows; '{self.signature}' promises {name}, which is {n}")
        raise ArgumentError(f"{self.name}: tables of different numbers of rows, or a number that is not that of a row")

    def _allocated(self, given: Sequence[Any], batch: Shape) -> list[np.ndarray]:
        """The arrays given for the results, or new ones."""
        if len(given) != len(self.program.shapes_out):
            raise ArgumentError(f"{self.name}: out has {len(given)} arrays; expected {len(self.program.shapes_out)}")
        results = []
        for g, shape in zip(given, self.program.shapes_out, strict=True):
            wanted = (*batch, *shape)
            if g is not None and (not isinstance(g, np.ndarray) or g.shape != wanted or not np.can_cast(np.float64, g.dtype, "same_kind")):
                what = f"shape {g.shape} of {g.dtype}" if isinstance(g, np.ndarray) else type(g).__name__
                raise ArgumentError(f"{self.name}: out has {what}; expected an array of shape {wanted} of float64")
            results.append(np.empty(wanted) if g is None else g)
        return results

    def _run(self, arrays: list[np.ndarray], leading: list[Shape], batch: Shape, results: list[np.ndarray]) -> bool:
        """Fill the results; True if all are finite. Chunks go along the longest batch axis, one per thread."""
        rows = math.prod(batch)
        if not rows:
            return True
        if get_threads() == 1 or not batch or rows * self.operations < WORTH_THREADS:
            return self._chunk(arrays, results)
        axis = batch.index(max(batch))
        chunks = min(get_threads(), batch[axis])
        bounds = np.linspace(0, batch[axis], chunks + 1).astype(int)
        # a thread must not read what another writes
        arrays = [a.copy() if any(np.may_share_memory(a, r) for r in results) else a for a in arrays]

        def part(array: np.ndarray, lead: int, low: int, high: int) -> np.ndarray:
            k = axis - (len(batch) - lead)  # the axis counted from this array's own first
            return array if k < 0 or array.shape[k] == 1 else array[(slice(None),) * k + (slice(low, high),)]

        def chunk(low: int, high: int) -> bool:
            return self._chunk([part(a, len(s), low, high) for a, s in zip(arrays, leading, strict=True)],
                               [part(r, len(batch), low, high) for r in results])  # fmt: skip

        self.ufunc  # noqa: B018  (compiled here, once, before the threads ask for it)
        return all(spread(chunk, bounds[:-1], bounds[1:]))

    def _chunk(self, arrays: list[np.ndarray], results: list[np.ndarray]) -> bool:
        invalid: list[str] = []
        with np.errstate(all="ignore", invalid="call", call=lambda kind, flags: invalid.append(kind)):
            self.ufunc(*arrays, out=tuple(results), casting="same_kind")
        return not invalid

    # ------------------------------------------------------------ what comes in and what must not go out unsaid

    def checked(self, name: str, x: Any, shape: Shape) -> np.ndarray:
        """An argument as float64, or traced, whose trailing dimensions are ``shape``."""
        try:
            a = np.asarray(x)
        except ValueError:
            raise ArgumentError(f"{self.name}: {name} is not rectangular; expected an array of shape {expected(shape)}") from None
        traced = a.dtype == object and any(isinstance(y, Expr) for y in a.flat)
        if a.dtype.kind not in "fiub" and not traced:
            what = f"is {shown(x)}" if a.dtype == object else f"holds {a.dtype}"
            raise ArgumentError(f"{self.name}: {name} {what}; expected real numbers")
        own = a.shape[a.ndim - len(shape) :]
        if a.ndim < len(shape) or any(n not in (m, COUNTED) for m, n in zip(own, shape, strict=True)):
            raise ArgumentError(f"{self.name}: {name} has shape {a.shape}; expected {expected(shape)}")
        return a if traced else a.astype(np.float64, copy=False)

    def _not_finite(self, *args: Any) -> Any:
        """Return the last argument, a result that holds NaN or infinity, and warn or raise as NumPy is set to."""
        text, how = f"{self.name} returned NaN or infinity", np.geterr()["invalid"]
        if how == "raise":
            raise FloatingPointError(text)
        if how != "ignore":
            warn(text, RuntimeWarning)
        return args[-1]

    # ------------------------------------------------------------ an instance is one function, and its program is it

    def __copy__(self) -> Gufunc:
        return self

    def __deepcopy__(self, memo: Any) -> Gufunc:
        return self

    def __reduce__(self) -> Any:
        state = {name: x for name, x in vars(self).items() if name not in ("program", "signature", "arguments", *FOUND_AGAIN)}
        return restored, (type(self).__bases__[0], self.program, self.signature, self.arguments), state

    def __repr__(self) -> str:
        return f"<compiled {self.name}{self.signature}, {self.operations} operations>"


#: attributes of a compiled function that are not pickled: machine code, and the function that was traced
FOUND_AGAIN = ("ufunc", "_single", "__wrapped__")


def restored(kind: type[Gufunc], program: Program, signature: str, arguments: list[str]) -> Gufunc:
    """Return a compiled function of a kind, out of pickle; its other attributes follow."""
    f = kind.__new__(kind)
    Gufunc.__init__(f, program, signature, arguments)
    return f


def expected(shape: Shape) -> str:
    return f"(..., {', '.join('n' if n == COUNTED else str(n) for n in shape)})" if shape else "numbers"


# ---------------------------------------------------------------- engine.gufunc


def gufunc(fn: Callable[..., Any], signature: str | None = None, **dimensions: int) -> Gufunc:
    """Compile your own NumPy-style function: ``f = gufunc(fn, "(n),(m)->(k)", n=3, m=2)``.

    Parameters
    ----------
    fn : a function of arrays (and scalars, for ``()``) written with NumPy arithmetic and ``engine.ops``; loops and ``if`` may look at
        shapes and other things known beforehand, never at values
    signature : shapes of the arguments and results, as for NumPy's generalized ufuncs; sizes are numbers or names
    dimensions : what the names of the arguments' sizes stand for (those of results are found by tracing). Where the first of a shape
        stands for nothing, the argument is a table, of as many rows as there are when it is called: see :func:`engine.ops.rows`

    Returns
    -------
    Gufunc : called with arrays ``(..., n), (..., m)`` it returns ``(..., k)``

    Raises
    ------
    TraceError : ``fn`` does something that cannot be compiled, or returns something else when it is called again; the text names the line
        and what to do instead
    ArgumentError : the signature and the function do not agree

    Notes
    -----
    ``fn`` is traced once, when ``gufunc`` is called: what it reads besides its arguments, such as a global, holds as it was then.

    Examples
    --------
    >>> f = gufunc(lambda x, y: x @ y, "(n),(n)->()", n=2)
    >>> float(f([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    if not callable(fn):
        raise ArgumentError(f"gufunc got {fn!r}; expected a function")
    compiled = shaped(pure(fn), signature, **dimensions)
    functools.update_wrapper(compiled, fn, updated=())
    return compiled


def shaped(fn: Callable[..., Any], signature: str | None, **dimensions: int) -> Gufunc:
    """:func:`gufunc` of a function of this engine's own, which is known to depend on nothing but its arguments."""
    if not isinstance(signature, str) or "->" not in signature:
        raise ArgumentError(f"gufunc got the signature {signature!r}; expected a text such as '(n),(m)->(k)'")
    left, right = signature.replace(" ", "").split("->", 1)
    shapes_in, shapes_out = shapes_in_text(left, signature), shapes_in_text(right, signature)
    known = {name: whole(f"gufunc: the size {name}", n, "a whole number", error=ArgumentError) for name, n in dimensions.items()}
    shapes = []
    for shape in shapes_in:
        missing = [d for d in shape[1:] if not d.isdigit() and d not in known]
        if missing:
            name = missing[0]
            raise ArgumentError(f"gufunc: the size '{name}' of '{signature}' is not given; expected {name}=… after the signature")
        shapes.append(tuple(int(d) if d.isdigit() else known.get(d, COUNTED) for d in shape))
    letters = [d for d in dict.fromkeys(d for shape in (*shapes_in, *shapes_out) for d in shape) if not d.isdigit()]
    if unknown := known.keys() - {*letters}:
        expected = listed("some of", letters, "none, as all of them are numbers")
        raise ArgumentError(f"gufunc: '{signature}' has no size '{min(unknown)}'; expected {expected}")
    parameters = _parameters(fn, len(shapes), signature)
    program = trace(fn, shapes)
    if len(program.shapes_out) != len(shapes_out):
        raise ArgumentError(f"{program.name} returned {len(program.shapes_out)} arrays; '{signature}' promises {len(shapes_out)}")
    for found, promised in zip(program.shapes_out, shapes_out, strict=True):
        sizes = tuple(int(d) if d.isdigit() else n if n == COUNTED else known.setdefault(d, n)
                      for d, n in zip(promised, found, strict=False))  # fmt: skip
        if len(promised) != len(found) or found != sizes:
            raise ArgumentError(f"{program.name} returned {_shape(found)}; '{signature}' promises ({', '.join(promised)})"
                                f"{f' = {sizes}' if len(promised) == len(sizes) and not is_table(sizes) else ''}")  # fmt: skip
    return Gufunc(program, signature, parameters)


def _shape(sizes: tuple[int, ...]) -> str:
    """A shape in words; of a table the number of rows is not known."""
    return f"a table {of_rows(sizes[1:])}" if is_table(sizes) else f"shape {sizes}"


def _parameters(fn: Callable[..., Any], count: int, signature: str) -> list[str]:
    """Names of the function's first ``count`` parameters, for messages."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return [f"argument_{k}" for k in range(count)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"argument_{k}" for k in range(count)]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    if not len(needed) <= count <= len(positional):
        raise ArgumentError(f"{name_of(fn)} takes {len(needed)} arguments; '{signature}' has {count}")
    return [p.name for p in positional[:count]]
