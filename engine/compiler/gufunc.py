"""Compiled functions: what ``engine.gufunc`` returns, on top of a real NumPy gufunc."""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath as umath

from engine.compiler import entry, machine
from engine.compiler.rollout import rollout
from engine.compiler.trace import Program, Shape, TraceError, name_of, size, trace

#: operations in a batch from which several threads are worth their start
WORTH_THREADS = 2_000_000


class ArgumentError(ValueError):
    """An argument of a compiled function has the wrong shape, type or value; the text says which and what was expected."""


# ---------------------------------------------------------------- threads

_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_pool: ThreadPoolExecutor | None = None


def set_threads(n: int) -> None:
    """Let large batches use ``n`` threads (at first: all cores). Results are the same bits for any number."""
    global _threads, _pool
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ArgumentError(f"set_threads got {n!r}; expected a whole number of threads from 1")
    if n != _threads:
        _threads, _pool = int(n), None


def get_threads() -> int:
    """How many threads large batches use."""
    return _threads


def pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_threads, thread_name_prefix="engine")
    return _pool


# ---------------------------------------------------------------- NumPy's C interface


@functools.cache
def _capsule(capsule: Any) -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@functools.cache
def _api() -> dict[str, int]:
    """Addresses for ``entry.API``; the numbers are NumPy's stable ABI (numpy/__multiarray_api.h)."""
    table = _capsule(umath._ARRAY_API)
    python = {f: ctypes.cast(getattr(ctypes.pythonapi, f), ctypes.c_void_p).value
              for f in ("PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem", "Py_DecRef")}  # fmt: skip
    return {"ndarray": id(np.ndarray), "float64": id(np.dtype(np.float64)), "PyArray_New": table[93], "PyArray_Return": table[76], **python}


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_DOUBLE = 12


# Loaded code is kept as long as the process lives: NumPy and Python keep pointers into it. Equal programs share it.


@functools.cache
def _single_code(program: Program) -> int:
    """Address of the method definition of a program's single-call code."""
    code = machine.Code(f"single|{program.key}", lambda: entry.single(program))
    table = (ctypes.c_void_p * len(entry.API)).from_address(code.variable("api"))
    for k, name in enumerate(entry.API):
        table[k] = _api()[name]
    definition = _MethodDef(program.name.encode(), code.function("call"), _METH_FASTCALL_KEYWORDS, None)
    _immortal.append((code, definition))
    return ctypes.addressof(definition)


@functools.cache
def _batch_code(program: Program) -> Any:
    """The NumPy gufunc of a program."""
    code = machine.Code(f"batch{machine.width()}|{program.key}", lambda: entry.batch(program, machine.width()))
    frozen = [",".join(f"({','.join(map(str, s))})" for s in shapes) for shapes in (program.shapes_in, program.shapes_out)]
    return numpy_ufunc(code, program.name, "->".join(frozen))


@functools.cache
def rollout_ufunc(step: Program, observe: Program, width: int) -> Any:
    """The NumPy gufunc ``(counts, t0, k, dt, x) -> records`` of :mod:`engine.compiler.rollout`."""
    code = machine.Code(f"rollout{width}|{step.key}|{observe.key}", lambda: rollout(step, observe, width))
    return numpy_ufunc(code, "rollout", f"(r),(),(),(),({len(step.outputs)})->(r,{len(observe.outputs)})")


def numpy_ufunc(code: machine.Code, name: str, signature: str) -> Any:
    """A ``numpy.ufunc`` on the ``loop`` of loaded code."""
    left, right = signature.split("->")
    n_in, n_out = left.count("("), right.count("(")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
                             ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)(_capsule(umath._UFUNC_API)[31])  # fmt: skip
    loops, data = (ctypes.c_void_p * 1)(code.function("loop")), (ctypes.c_void_p * 1)(None)
    types, title, text = bytes([_DOUBLE] * (n_in + n_out)), name.encode(), signature.encode()
    _immortal.append((code, loops, data, types, title, text))
    return make(ctypes.addressof(loops), ctypes.addressof(data), types, 1, n_in, n_out, -1, title, None, 0, text)


_immortal: list[Any] = []


class Gufunc:
    """A compiled function of arrays. Calls broadcast over leading dimensions, as NumPy's generalized ufuncs do.

    ``f(*arrays, out=None)``; machine code for single calls and for batches is made when first needed.

    Attributes
    ----------
    signature : the shapes, such as ``"(n),(m)->(k)"``
    program : the traced :class:`~engine.compiler.trace.Program`
    ufunc : the ``numpy.ufunc`` for batches (one thread), for ``dask.array.apply_gufunc`` and the like
    """

    program: Program

    def __init__(self, program: Program, signature: str, arguments: Sequence[str]) -> None:
        self.program, self.signature, self.arguments = program, signature, list(arguments)
        self.name = self.__name__ = program.name
        self.operations = max(program.count(), 1)
        # an instance of a class of its own, whose __call__ is replaced by machine code on the first plain call
        self.__class__ = type(type(self).__name__, (type(self),), {"__call__": type(self)._first, "__slots__": ()})

    # ------------------------------------------------------------ single calls

    def _first(self, *args: Any, **kwargs: Any) -> Any:
        type(self).__call__ = self._single
        return self._single(*args, **kwargs)

    @functools.cached_property
    def _single(self) -> Any:
        """The Python function made of machine code; what it does not take goes to ``_general``, what is not finite to ``_not_finite``."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        return make(_single_code(self.program), (self._general, self._not_finite), None)

    # ------------------------------------------------------------ batches

    @functools.cached_property
    def ufunc(self) -> Any:
        """The NumPy gufunc made of vector code."""
        return _batch_code(self.program)

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        """A call of any kind: converts, checks, and spreads a large batch over the threads."""
        shapes = self.program.shapes_in
        if len(args) > len(shapes) and len(args) <= len(shapes) + len(self.program.shapes_out):  # outputs by position
            kwargs["out"], args = args[len(shapes) :], args[: len(shapes)]
        if len(args) != len(shapes):
            raise ArgumentError(f"{self.name} got {len(args)} arguments; expected {len(shapes)}: {', '.join(self.arguments)}")
        arrays = [self.checked(n, x, s) for n, x, s in zip(self.arguments, args, shapes, strict=True)]
        leading = [a.shape[: a.ndim - len(s)] for a, s in zip(arrays, shapes, strict=True)]
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            text = ", ".join(f"{n} {a.shape}" for n, a in zip(self.arguments, arrays, strict=True))
            raise ArgumentError(f"{self.name}: the batches of {text} do not broadcast; expected equal leading dimensions, or 1") from None
        out = kwargs.pop("out", None)
        if kwargs:
            return self.ufunc(*arrays, **kwargs, **({} if out is None else {"out": out}))
        if not batch and out is None:
            return self._single(*[plain(a, s) for a, s in zip(arrays, shapes, strict=True)])
        results = self._allocated(out, batch)
        finite = self._run(arrays, leading, batch, results)
        returned = results if out is None or isinstance(out, tuple) else results
        given = (out if isinstance(out, tuple) else (out,)) if out is not None else (None,) * len(results)
        returned = tuple(r if g is None else g for r, g in zip(results, given, strict=True))
        result = returned[0] if len(returned) == 1 else returned
        return result if finite else self._not_finite(*arrays, result)

    def _allocated(self, out: Any, batch: Shape) -> list[np.ndarray]:
        given = (None,) * len(self.program.shapes_out) if out is None else out if isinstance(out, tuple) else (out,)
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
        rows = int(np.prod(batch, dtype=int))
        if not rows:
            return True
        axis = int(np.argmax(batch)) if batch else 0
        chunks = min(_threads, batch[axis] if batch else 1) if rows * self.operations >= WORTH_THREADS else 1
        if chunks == 1:
            return self._chunk(arrays, results)
        bounds = np.linspace(0, batch[axis], chunks + 1).astype(int)

        def part(array: np.ndarray, lead: int, low: int, high: int) -> np.ndarray:
            k = axis - (len(batch) - lead)  # the axis counted from this array's own first
            return array if k < 0 or array.shape[k] == 1 else array[(slice(None),) * k + (slice(low, high),)]

        def chunk(low: int, high: int) -> bool:
            return self._chunk([part(a, len(s), low, high) for a, s in zip(arrays, leading, strict=True)],
                               [part(r, len(batch), low, high) for r in results])  # fmt: skip

        self.ufunc  # noqa: B018  (compiled here, once, before the threads ask for it)
        return all(pool().map(chunk, bounds[:-1], bounds[1:]))

    def _chunk(self, arrays: list[np.ndarray], results: list[np.ndarray]) -> bool:
        with np.errstate(all="ignore", invalid="raise"):
            try:
                self.ufunc(*arrays, out=tuple(results), casting="same_kind")
            except FloatingPointError:  # the results are there all the same
                return False
        return True

    # ------------------------------------------------------------ what comes in and what must not go out unsaid

    def checked(self, name: str, x: Any, shape: Shape) -> np.ndarray:
        """An argument as float64 whose trailing dimensions are ``shape``."""
        try:
            a = np.asarray(x)
        except ValueError:
            raise ArgumentError(f"{self.name}: {name} is not rectangular; expected an array of shape {expected(shape)}") from None
        if a.dtype.kind not in "fiub":
            raise ArgumentError(f"{self.name}: {name} holds {a.dtype}; expected real numbers")
        if a.ndim < len(shape) or a.shape[a.ndim - len(shape) :] != shape:
            raise ArgumentError(f"{self.name}: {name} has shape {a.shape}; expected {expected(shape)}")
        return a.astype(np.float64, copy=False)

    def _not_finite(self, *args: Any) -> Any:
        """What to do about a result (the last argument) that holds NaN or infinity: say so, and return it as it is."""
        *_, result = args
        warnings.warn(f"{self.name} returned NaN or infinity", RuntimeWarning, stacklevel=2)
        return result

    def __repr__(self) -> str:
        return f"<compiled {self.name}{self.signature}, {self.operations} operations>"


def plain(a: np.ndarray, shape: Shape) -> np.ndarray:
    """A copy that single calls take: C-contiguous, aligned, of NumPy's own float64 (an unpickled dtype is another object)."""
    x = np.empty(shape)
    x[...] = a.reshape(shape)
    return x


def expected(shape: Shape) -> str:
    return f"(..., {', '.join(map(str, shape))})" if shape else "numbers"


# ---------------------------------------------------------------- engine.gufunc


def gufunc(fn: Callable[..., Any], signature: str | None = None, **dimensions: int) -> Gufunc:
    """Compile your own NumPy-style function: ``f = gufunc(fn, "(n),(m)->(k)", n=3, m=2)``.

    Parameters
    ----------
    fn : a function of arrays (and scalars, for ``()``) written with NumPy arithmetic and ``engine.ops``; loops and ``if`` may look at
        shapes and other things known beforehand, never at values
    signature : shapes of the arguments and results, as for NumPy's generalized ufuncs; sizes are numbers or names
    dimensions : what the names of the arguments' sizes stand for (those of results are found by tracing)

    Returns
    -------
    Gufunc : called with arrays ``(..., n), (..., m)`` it returns ``(..., k)``

    Raises
    ------
    TraceError : ``fn`` does something that cannot be compiled; the text names the line and what to use instead
    ArgumentError : the signature and the function do not agree

    Examples
    --------
    >>> f = gufunc(lambda x, y: x @ y, "(n),(n)->()", n=2)
    >>> float(f([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    if not callable(fn):
        raise ArgumentError(f"gufunc got {fn!r}; expected a function")
    if not isinstance(signature, str) or "->" not in signature:
        raise ArgumentError(f"gufunc got the signature {signature!r}; expected a text such as '(n),(m)->(k)'")
    left, right = signature.replace(" ", "").split("->", 1)
    shapes_in, shapes_out = _shapes(left, signature), _shapes(right, signature)
    known = {name: _whole(name, n) for name, n in dimensions.items()}
    shapes = []
    for shape in shapes_in:
        missing = [d for d in shape if not d.isdigit() and d not in known]
        if missing:
            raise ArgumentError(f"gufunc: the size '{missing[0]}' of '{signature}' is not given; expected {missing[0]}=… after the signature")
        shapes.append(tuple(int(d) if d.isdigit() else known[d] for d in shape))
    parameters = _parameters(fn, len(shapes), signature)
    program = trace(fn, shapes)
    if len(program.shapes_out) != len(shapes_out):
        raise ArgumentError(f"{program.name} returned {len(program.shapes_out)} arrays; '{signature}' promises {len(shapes_out)}")
    for shape, promised in zip(program.shapes_out, shapes_out, strict=True):
        sizes = [int(d) if d.isdigit() else known.setdefault(d, n) for d, n in zip(promised, shape, strict=False)]
        if len(promised) != len(shape) or list(shape) != sizes:
            raise ArgumentError(f"{program.name} returned shape {shape}; '{signature}' promises ({', '.join(promised)}) = {tuple(sizes)}")
    return Gufunc(program, signature, parameters)


def _shapes(text: str, signature: str) -> list[tuple[str, ...]]:
    if not re.fullmatch(r"\((\w+(,\w+)*)?\)(,\((\w+(,\w+)*)?\))*", text):
        raise ArgumentError(f"gufunc got the signature {signature!r}; expected shapes in parentheses, such as '(n),(m)->(k)'")
    return [tuple(d for d in part.split(",") if d) for part in re.findall(r"\(([^)]*)\)", text)]


def _whole(name: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ArgumentError(f"gufunc: the size {name} is {n!r}; expected a whole number")
    return int(n)


def _parameters(fn: Callable[..., Any], count: int, signature: str) -> list[str]:
    """Names of the function's first ``count`` parameters, for messages."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return [f"argument {k}" for k in range(count)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"argument {k}" for k in range(count)]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    if not len(needed) <= count <= len(positional):
        raise ArgumentError(f"{name_of(fn)} takes {len(needed)} arguments; '{signature}' has {count}")
    return [p.name for p in positional[:count]]


__all__ = ["ArgumentError", "Gufunc", "TraceError", "get_threads", "gufunc", "set_threads", "size"]
