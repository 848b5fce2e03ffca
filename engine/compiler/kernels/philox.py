"""Philox counter-based random numbers: a function of a seed and counters, with no hidden state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Lanes, copied, over_groups
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels.instructions import Writer
from engine.ops.random import philox

#: lanes from which on products of a vector's halves are faster than whole ones lane by lane
WIDE = 4
#: as many numbers are drawn without a loop
FEW = 16


class Uniform(Lanes):
    """n uniform numbers in [0, 1) of (seed, stream, call, count, run), whole numbers: a function of them, and of nothing else.

    Those of ``np.random.Generator(np.random.Philox(key=seed + (stream << 64), counter=[0, call, count, run])).random(n)``.

    Reference: Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, SC 2011, Philox-4×64-10.
    """

    def __init__(self, n: int) -> None:
        super().__init__(5, n, "uniform")
        self.room = f"  %drawn.room = alloca [{4 * -(-n // 4)} x double]\n"

    def run(self, inputs: list[Any]) -> list[Any]:
        given = np.broadcast_arrays(*inputs)
        found = np.array([philox(len(self.outputs), *map(int, row)) for row in np.stack([x.ravel() for x in given], axis=-1)])
        return list(np.moveaxis(found.reshape(*given[0].shape, len(self.outputs)), -1, 0))

    def emit(self, module: Any, name: str) -> None:
        if module.width < WIDE:
            super().emit(module, name)
        else:
            room = f"  %drawn.room = alloca [4 x {module.D}], align 64\n"
            module.text.append(over_groups(name, self.all_lanes(module), room))

    def each(self, module: Any) -> str:
        """Write the code of one lane, four numbers at a time: a few of them stored in place, many in a loop that may write past their end.
        """
        n, writer = len(self.outputs), Writer([])
        lines, put = writer.lines, writer.put
        places = [put(f"getelementptr double, ptr %from, i64 {k * module.width}") for k in range(5)]
        given = [put(f"call i64 @llvm.fptosi.sat.i64.f64(double {put(f'load double, ptr {p}')})") for p in places]
        if n <= FEW:
            for block in range(0, n, 4):
                for k, u in enumerate(drawn(put, 1, given, str(block // 4 + 1))[: n - block], block):
                    lines.append(f"  store double {u}, ptr {put(f'getelementptr double, ptr %to, i64 {k * module.width}')}")
            return "\n".join([*lines, "  br label %found"])
        lines += blocks(-(-n // 4), "lane")
        first = put("shl i64 %block, 2")
        for k, u in enumerate(drawn(put, 1, given, "%block.next")):
            place = put(f"add i64 {first}, {k}")
            lines.append(f"  store double {u}, ptr {put(f'getelementptr double, ptr %drawn.room, i64 {place}')}")
        lines += ["  br label %blocks", "copy:", "  br label %columns", copied(module, n, "%drawn.room", "copy")]
        return "\n".join(lines)

    def all_lanes(self, module: Any) -> list[str]:
        """Write the code of all lanes, four vectors at a time, stored in place; of the last four only those that are left."""
        W, D, I = module.width, module.D, vector("i64", module.width)
        n, writer = len(self.outputs), Writer([])
        lines, put = writer.lines, writer.put
        places = [put(f"getelementptr {D}, ptr %in.g, i64 {k}") for k in range(5)]
        given = [whole_numbers(put, W, put(f"load {D}, ptr {p}")) for p in places]
        lines += blocks(-(-n // 4), "go")
        there = put(f"getelementptr {D}, ptr %out.g, i64 {put('shl i64 %block, 2')}")
        to = put(f"select i1 {put(f'icmp slt i64 %block, {n // 4}')}, ptr {there}, ptr %drawn.room")
        one = put(f"insertelement {I} poison, i64 %block.next, i64 0")
        for k, u in enumerate(drawn(put, W, given, put(f"shufflevector {I} {one}, {I} poison, <{W} x i32> zeroinitializer"))):
            lines.append(f"  store {D} {u}, ptr {put(f'getelementptr {D}, ptr {to}, i64 {k}')}")
        lines += ["  br label %blocks", "copy:"]
        for k in range(n - n % 4, n):
            x = put(f"load {D}, ptr {put(f'getelementptr {D}, ptr %drawn.room, i64 {k % 4}')}")
            lines.append(f"  store {D} {x}, ptr {put(f'getelementptr {D}, ptr %out.g, i64 {k}')}")
        return [*lines, "  br label %done"]


def whole_numbers(put: Callable[[str], str], W: int, x: str) -> str:
    """Convert W doubles to integers as ``llvm.fptosi.sat`` does, which would go lane by lane."""
    I, D, B = (vector(t, W) for t in ("i64", "double", "i1"))
    least, most = (splat("double", W, literal(s * 2.0**63)) for s in (-1.0, 1.0))
    outside = put(f"or {B} {put(f'fcmp ult {D} {x}, {least}')}, {put(f'fcmp uge {D} {x}, {most}')}")
    whole = put(f"fptosi {D} {put(f'select {B} {outside}, {D} zeroinitializer, {D} {x}')} to {I}")    # of what is no number, zero
    for how, end, known in (("olt", least, -(2**63)), ("oge", most, 2**63 - 1)):
        whole = put(f"select {B} {put(f'fcmp {how} {D} {x}, {end}')}, {I} {splat('i64', W, str(known))}, {I} {whole}")
    return whole


def blocks(n: int, before: str) -> list[str]:
    """Begin a loop over n blocks of four numbers, from ``before``: each is %drawn, and after all of them comes %copy."""
    return ["  br label %blocks", "blocks:", f"  %block = phi i64 [0, %{before}], [%block.next, %drawn]",
            "  %block.next = add i64 %block, 1", f"  %blocks.more = icmp slt i64 %block, {n}",
            "  br i1 %blocks.more, label %drawn, label %copy", "drawn:"]  # fmt: skip


def drawn(put: Callable[[str], str], W: int, given: Sequence[str], number: str) -> list[str]:
    """Draw four numbers in each of W lanes: Philox's block of a ``number``, of the seed, stream, call, count and run that are ``given``."""
    I, D = vector("i64", W), vector("double", W)
    times = whole_product if W == 1 else product_of_halves
    c, key = [number, *given[2:]], [*given[:2]]
    for turn in range(10):
        (high0, low0), (high1, low1) = (times(put, W, x, factor) for x, factor in zip(c[::2], PHILOX, strict=True))
        c = [put(f"xor {I} {put(f'xor {I} {high1}, {c[1]}')}, {key[0]}"), low1,
             put(f"xor {I} {put(f'xor {I} {high0}, {c[3]}')}, {key[1]}"), low0]  # fmt: skip
        key = [put(f"add {I} {k}, {splat('i64', W, str(w))}") for k, w in zip(key, WEYL, strict=True)] if turn < 9 else key
    whole = [put(f"lshr {I} {x}, {splat('i64', W, '11')}") for x in c]
    return [put(f"fmul {D} {put(f'uitofp {I} {x} to {D}')}, {splat('double', W, literal(2.0**-53))}") for x in whole]


def whole_product(put: Callable[[str], str], W: int, x: str, factor: int) -> Sequence[str]:
    """Return the high and the low half of the product of a number and a factor."""
    wide = put(f"mul i128 {put(f'zext i64 {x} to i128')}, {factor}")
    return put(f"trunc i128 {put(f'lshr i128 {wide}, 64')} to i64"), put(f"trunc i128 {wide} to i64")


def product_of_halves(put: Callable[[str], str], W: int, x: str, factor: int) -> Sequence[str]:
    """Return the halves of the products of W numbers and a factor: vectors have products of 32 bits by 32."""
    I = vector("i64", W)

    def low(a: str) -> str:
        return put(f"and {I} {a}, {splat('i64', W, str(MASK))}")

    def high(a: str) -> str:
        return put(f"lshr {I} {a}, {splat('i64', W, '32')}")

    def add(a: str, b: str) -> str:
        return put(f"add {I} {a}, {b}")

    of_factor = [splat("i64", W, str(f)) for f in (factor & MASK, factor >> 32)]
    p00, p01, p10, p11 = (put(f"mul {I} {a}, {b}") for a in (low(x), high(x)) for b in of_factor)
    middle = add(p10, high(p00))                                               # none of these sums carries
    other = add(p01, low(middle))
    above = put(f"shl {I} {other}, {splat('i64', W, '32')}")
    return add(add(p11, high(middle)), high(other)), put(f"or {I} {above}, {low(p00)}")


#: multipliers of Philox's rounds, and what is added to its key between them; as LLVM has them, with signs
PHILOX = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = tuple(x - 2**64 for x in (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B))
MASK = 2**32 - 1
