"""``Kernel``: a function that is a loop in machine code and one node of a program (dense layers, look-ups, random numbers, rows).

A kernel is a :class:`~engine.compiler.graph.program.Program` without nodes, which says itself what it does on floats, in LLVM IR, and to
derivatives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiler.graph.program import Program

Array = np.ndarray
#: a call of a kernel on traced values
Call = Callable[[Program, list[Any]], list[Any]]
#: a kernel's parameters
SIGNATURE = "ptr %in, ptr %out, ptr %work, i64 %groups, i64 %in.s, i64 %out.s, i64 %work.s"


class Kernel(Program):
    """A function of n_in numbers with some results."""

    native = True
    tabled = False  # whether it takes memory for tables, or says what is wrong with them

    def __init__(self, n_in: int, n_out: int, name: str, *data: Any) -> None:
        super().__init__([], list(range(n_out)), [()] * n_in, [()] * n_out, (), name)
        self.n_in, self.data = n_in, data
        h = hashlib.sha256(repr((name, n_in, n_out)).encode())
        for x in data:
            h.update(np.ascontiguousarray(x).tobytes())
        self.digest = h.hexdigest()

    @property
    def takes(self) -> bool:
        """True if the kernel allocates memory for tables."""
        return self.tabled

    @property
    def single(self) -> bool:
        """True if the kernel has no code for several samples in lanes."""
        return self.tabled

    @property
    def key(self) -> str:
        """SHA-256 of what it computes."""
        return self.digest

    @property
    def held(self) -> tuple[Array, ...]:
        """Tables of numbers that its code reads from memory: all that tells it from other kernels of its frame."""
        return ()

    @property
    def tables(self) -> dict[str, Array]:
        """The tables by their names in machine code: one kernel's is not another's, as equal as they may be."""
        return {f"table.{self.digest[:32]}.{k}": x for k, x in enumerate(self.held)}

    @property
    def frame(self) -> Any:
        """The part of the key that is neither of called functions nor numbers of its own."""
        return (self.name, self.n_in, len(self.outputs), [x.shape for x in self.held]) if self.held else self.digest

    def table(self, module: Any, k: int = 0) -> str:
        """Return the name of its k-th table in a module's memory, where it is put if it is missing."""
        own, x = [*self.tables.items()][k]
        raw, name = np.ascontiguousarray(x, dtype=float).tobytes(), f"@{own}"
        text = "\\" + raw.hex("\\") if raw else ""
        return str(module.once(name, f'{name} = {module.constants_are} [{len(raw)} x i8] c"{text}", align 64'))

    def run(self, inputs: list[Any]) -> list[Any]:
        """Return the results on floats, or arrays of them."""
        raise NotImplementedError

    def emit(self, module: Any, name: str) -> int | None:
        """Write its IR into a module; return how much work it needs, if any."""
        raise NotImplementedError

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        """Return the results' tangents along a direction, by calls of kernels."""
        return [0.0] * len(self.outputs)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        """Return the adjoints of the wanted inputs, by their numbers, for weights of the results."""
        return {}


def for_one(name: str, lines: list[str]) -> str:
    """IR of a kernel that is called for one group of samples, its numbers at %in, its results to %out."""
    return "\n".join([f"define internal void {name}({SIGNATURE}) noinline nounwind {{", "entry:", *lines, "  ret void", "}"])


def over_groups(name: str, lines: list[str], entry: str = "", taken: str = "1") -> str:
    """IR of a kernel: for each group of samples, its numbers at %in.g, its results to %out.g, the lines, which end at %done.

    ``entry`` is what is done once, before; ``taken`` how many groups the lines have done, of %left.
    """
    body = "\n".join(lines)
    return f"""define internal void {name}({SIGNATURE}) nounwind {{
entry:
{entry}  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %done]
  %left = sub i64 %groups, %g
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %go, label %end
go:
  %in.off = mul i64 %g, %in.s
  %in.g = getelementptr i8, ptr %in, i64 %in.off
  %out.off = mul i64 %g, %out.s
  %out.g = getelementptr i8, ptr %out, i64 %out.off
{body}
done:
  %g.next = add i64 %g, {taken}
  br label %group
end:
  ret void
}}"""


class Lanes(Kernel):
    """A kernel that works lane by lane."""

    room = ""  # IR of memory that it needs

    def each(self, module: Any) -> str:
        """IR that is given the number %x, the first at %from, and where the results of its lane begin, %to, a vector after another."""
        raise NotImplementedError

    def emit(self, module: Any, name: str) -> None:
        lines = ["  br label %lanes", "lanes:", "  %l = phi i64 [0, %go], [%l.next, %found]",
                 f"  %lanes.more = icmp slt i64 %l, {module.width}", "  br i1 %lanes.more, label %lane, label %done",
                 "lane:", "  %from = getelementptr double, ptr %in.g, i64 %l", "  %to = getelementptr double, ptr %out.g, i64 %l",
                 "  %x = load double, ptr %from", self.each(module),
                 "found:", "  %l.next = add i64 %l, 1", "  br label %lanes"]  # fmt: skip
        module.text.append(over_groups(name, lines, self.room))


def copied(module: Any, n: int, numbers: str, before: str) -> str:
    """IR of a lane's results, n numbers that stand together, from the block ``before``."""
    return f"""columns:
  %c = phi i64 [0, %{before}], [%c.next, %column]
  %columns.more = icmp slt i64 %c, {n}
  br i1 %columns.more, label %column, label %found
column:
  %v.p = getelementptr double, ptr {numbers}, i64 %c
  %v = load double, ptr %v.p
  %y.k = mul i64 %c, {module.width}
  %y.p = getelementptr double, ptr %to, i64 %y.k
  store double %v, ptr %y.p
  %c.next = add i64 %c, 1
  br label %columns"""


def is_zero(x: Any) -> bool:
    """Return whether a value is the constant zero."""
    return isinstance(x, float) and x == 0.0
