"""Functions of machine code that are loops, not straight lines, of which a call is one node: dense layers, look-ups, random numbers.

A kernel is a :class:`~engine.compiler.program.Program` without nodes, which says itself what it does on floats, in LLVM IR, and to
derivatives.
"""


from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiler.program import Program

Array = np.ndarray
#: a call of a kernel on traced values
Call = Callable[[Program, list[Any]], list[Any]]
#: a kernel's parameters
SIGNATURE = "ptr %in, ptr %out, ptr %work, i64 %groups, i64 %in.s, i64 %out.s, i64 %work.s"


class Kernel(Program):
    """A function of n_in numbers with some results."""

    native = True

    def __init__(self, n_in: int, n_out: int, name: str, *data: Any) -> None:
        super().__init__([], list(range(n_out)), [()] * n_in, [()] * n_out, (), name)
        self.n_in, self.data = n_in, data
        h = hashlib.sha256(repr((name, n_in, n_out)).encode())
        for x in data:
            h.update(np.ascontiguousarray(x).tobytes())
        self.digest = h.hexdigest()

    @property
    def key(self) -> str:
        """SHA-256 of what it computes."""
        return self.digest

    def run(self, inputs: list[Any]) -> list[Any]:
        """Return the results on floats, or arrays of them."""
        raise NotImplementedError

    def emit(self, module: Any, name: str) -> None:
        """Write its IR into a module."""
        raise NotImplementedError

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        """Return the results' tangents along a direction, by calls of kernels."""
        return [0.0] * len(self.outputs)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        """Return the adjoints of the wanted inputs, by their numbers, for weights of the results."""
        return {}


def table(module: Any, x: Array) -> str:
    """Return the name of numbers in a module's memory."""
    raw = np.ascontiguousarray(x, dtype=float).tobytes()
    name = f"@table.{hashlib.sha256(raw).hexdigest()[:32]}"
    text = raw.hex("\\")
    return module.once(name, f'{name} = internal constant [{len(raw)} x i8] c"\\{text}", align 64')


class Lanes(Kernel):
    """A kernel that works lane by lane."""

    room = ""  # IR of memory that it needs

    def each(self, module: Any) -> str:
        """IR that is given the number %x, the first at %from, and where the results of its lane begin, %to, a vector after another."""
        raise NotImplementedError

    def emit(self, module: Any, name: str) -> None:
        module.text.append(f"""define internal void {name}({SIGNATURE}) nounwind {{
entry:
{self.room}  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %done]
  %more = icmp slt i64 %g, %groups
  br i1 %more, label %go, label %end
go:
  %in.off = mul i64 %g, %in.s
  %from.g = getelementptr i8, ptr %in, i64 %in.off
  %out.off = mul i64 %g, %out.s
  %to.g = getelementptr i8, ptr %out, i64 %out.off
  br label %lanes
lanes:
  %l = phi i64 [0, %go], [%l.next, %found]
  %lanes.more = icmp slt i64 %l, {module.width}
  br i1 %lanes.more, label %lane, label %done
lane:
  %from = getelementptr double, ptr %from.g, i64 %l
  %to = getelementptr double, ptr %to.g, i64 %l
  %x = load double, ptr %from
{self.each(module)}
found:
  %l.next = add i64 %l, 1
  br label %lanes
done:
  %g.next = add i64 %g, 1
  br label %group
end:
  ret void
}}""")


def is_zero(x: Any) -> bool:
    """Whether a number is zero by structure."""
    return isinstance(x, float) and x == 0.0
