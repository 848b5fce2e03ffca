"""Ways to lower one operation to LLVM IR, for the table of operations.

A lowering is called with the segment that is being written (a :class:`engine.compiler.codegen.llvm.Body`), the node's number, and its
operands by their names in the IR; it appends instructions and returns the name of the result.

Multiply-adds are fused before, in the graph, by :func:`engine.compiler.codegen.schedule.fused`; no lowering contracts a + b·c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.compiler.graph.vecmath import intrinsic, literal, splat

Lowering = Callable[..., str]


def instruction(name: str) -> Lowering:
    """One instruction on numbers: ``fadd``, ``fcmp olt``."""
    return lambda body, i, *x: body.put(f"{name} {body.D} {', '.join(x)}")


def on_truths(name: str) -> Lowering:
    """One instruction on truth values."""
    return lambda body, i, *x: body.put(f"{name} {body.B} {', '.join(x)}")


def llvm(name: str) -> Lowering:
    """A function of numbers that LLVM provides."""
    return lambda body, i, *x: body.call(intrinsic(name, body.width), x)


@dataclass(frozen=True)
class Libm:
    """A function of numbers in the C library."""

    name: str

    def __call__(self, body: Any, i: int, *x: str) -> str:
        found: str = body.call(body.module.libm(self.name, len(x)), x)
        return found


def lanes(name: str) -> Lowering:
    """A function of numbers of :mod:`engine.compiler.graph.exponentials`."""
    return lambda body, i, *x: body.call(body.module.lanes(name), x)


def half(pair: str, k: int) -> Lowering:
    """Result k of a function with two results, which is called once for both."""
    return lambda body, i, x: body.put(f"extractvalue {{{body.D}, {body.D}}} {body.pair(pair, i, x)}, {k}")


def extremum(predicate: str) -> Lowering:
    """The operand a for which ``a predicate b``; NaN if either is, as np.minimum."""

    def lower(body: Any, i: int, a: str, b: str) -> str:
        first = body.put(f"fcmp {predicate} {body.D} {a}, {b}")
        nan = body.put(f"fcmp uno {body.D} {a}, {splat('double', body.width, literal(0.0))}")
        return body.put(f"select {body.B} {body.put(f'or {body.B} {first}, {nan}')}, {body.D} {a}, {body.D} {b}")

    return lower


def select(body: Any, i: int, condition: str, a: str, b: str) -> str:
    T = body.B if i in body.truths else body.D
    return body.put(f"select {body.B} {condition}, {T} {a}, {T} {b}")


def negated(body: Any, i: int, x: str) -> str:
    return body.put(f"xor {body.B} {x}, {splat('i1', body.width, '1')}")


def unchanged(body: Any, i: int, x: str) -> str:
    return x


def packed(body: Any, i: int, *x: str) -> str:
    """A vector of numbers, or of truth values."""
    v, (V, T) = "undef", (body.B, "i1") if i in body.truths else (body.D, "double")
    for k, number in enumerate(x[:1] if len(set(x)) == 1 else x):
        v = body.put(f"insertelement {V} {v}, {T} {number}, i64 {k}")
    return body.put(f"shufflevector {V} {v}, {V} undef, <{len(x)} x i32> zeroinitializer") if len(set(x)) == 1 else v


def lane(body: Any, i: int, v: str) -> str:
    """A number of a vector, or a truth value."""
    _, k, of = body.nodes[i]
    return body.put(f"extractelement {body.type(of, 'i1' if i in body.truths else 'double')} {v}, i64 {k}")


#: between numbers and vectors
VECTORS: dict[str, Lowering] = {"pack": packed, "lane": lane}
