"""A rollout, a step repeated in machine code with records, as a NumPy gufunc."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from engine.compiler import native_code
from engine.compiler.codegen.counters import Counted, Counters
from engine.compiler.codegen.entry import batch
from engine.compiler.codegen.rollout import rollout
from engine.compiler.codegen.shelf import shelved
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import immortal, numpy_ufunc


@functools.cache
def rollout_ufunc(step: Program, observe: Program, width: int, inputs: int = 0) -> Any:
    """Return the NumPy gufunc ``(counts, t0, k, dt, p, x) -> records`` of ``codegen.rollout``, with inputs (r, inputs) last."""
    return numpy_ufunc(_rollout_code(step, observe, width, inputs), "rollout", _scan(step, observe, inputs))


@functools.cache
def _rollout_code(step: Program, observe: Program, width: int, inputs: int) -> native_code.Code:
    """Machine code of a rollout of so many rows at once; where there are tables, of one."""
    width = 1 if step.tabled or observe.tabled else width
    how = f"rollout{width}.{native_code.width()}.{inputs}"
    return native_code.Code(how, lambda: rollout(step, observe, width, inputs), f"a run of {width} at once", [step, observe])


@functools.cache
def look_at_many(step: Program, observe: Program) -> None:
    """Have one rollout from now on look at the states of many records together, in the lanes of a batch's code, which is made now: the bits
    are the same, sooner."""
    lanes = native_code.width()
    if lanes == 1 or observe.tabled:
        return
    look = shelved(observe).look
    many = native_code.Code(f"many{lanes}", lambda: batch(look, lanes), "records of many states", [look])
    immortal(many)
    ctypes.c_void_p.from_address(_rollout_code(step, observe, 1, 0).variable("many")).value = many.function("loop")


@functools.cache
def counted_rollout(step: Program, observe: Program) -> tuple[Any, Counted]:
    """Return :func:`rollout_ufunc` of one rollout at a time, with counters in it, and these: :mod:`engine.compiler.codegen.counters`."""
    lanes = native_code.width()
    code = native_code.Code(f"counted{lanes}", lambda: rollout(step, observe, 1, 0, Counters()), "a counted run", [step, observe])
    return numpy_ufunc(code, "counted_rollout", _scan(step, observe)), Counted(code)


def _scan(step: Program, observe: Program, inputs: int = 0) -> str:
    """The signature of a rollout."""
    n = len(step.outputs) - (observe.n_in - step.n_in)
    p, more = step.n_in - 3 - n - inputs or "p", f",(r,{inputs})" * bool(inputs)               # a size of zero has no literal
    return f"(r),(),(),(),({p}),({n}){more}->(r,{len(observe.outputs)})"
