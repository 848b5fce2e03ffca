"""Philox counter-based random numbers: a function of a seed and counters, with no hidden state."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Lanes, copied
from engine.compiler.graph.vecmath import literal
from engine.ops.random import philox


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

    def each(self, module: Any) -> str:
        """Four at a time, into room for as many as that makes."""
        n, blocks, lines = len(self.outputs), -(-len(self.outputs) // 4), list[str]()

        def put(text: str) -> str:
            lines.append(f"  %p{len(lines)} = {text}")
            return f"%p{len(lines) - 1}"

        for k, name in enumerate(("seed", "stream", "call", "count", "run")):
            lines += [f"  %{name}.p = getelementptr double, ptr %from, i64 {k * module.width}", f"  %{name}.d = load double, ptr %{name}.p",
                      f"  %{name} = call i64 @llvm.fptosi.sat.i64.f64(double %{name}.d)"]  # fmt: skip
        lines += ["  br label %blocks", "blocks:", "  %block = phi i64 [0, %lane], [%block.next, %drawn]",
                  "  %block.next = add i64 %block, 1", f"  %blocks.more = icmp slt i64 %block, {blocks}",
                  "  br i1 %blocks.more, label %drawn, label %copy", "drawn:"]  # fmt: skip
        c, key = ["%block.next", "%call", "%count", "%run"], ["%seed", "%stream"]
        for turn in range(10):
            products = []
            for x, factor in ((c[0], PHILOX[0]), (c[2], PHILOX[1])):
                wide = put(f"mul i128 {put(f'zext i64 {x} to i128')}, {factor}")
                products.append((put(f"trunc i128 {put(f'lshr i128 {wide}, 64')} to i64"), put(f"trunc i128 {wide} to i64")))
            (high0, low0), (high1, low1) = products
            c = [put(f"xor i64 {put(f'xor i64 {high1}, {c[1]}')}, {key[0]}"), low1,
                 put(f"xor i64 {put(f'xor i64 {high0}, {c[3]}')}, {key[1]}"), low0]  # fmt: skip
            key = [put(f"add i64 {k}, {w}") for k, w in zip(key, WEYL, strict=True)] if turn < 9 else key
        first = put("shl i64 %block, 2")
        for k, x in enumerate(c):
            whole, place = put(f"lshr i64 {x}, 11"), put(f"add i64 {first}, {k}")
            u = put(f"fmul double {put(f'uitofp i64 {whole} to double')}, {literal(2.0**-53)}")
            lines.append(f"  store double {u}, ptr {put(f'getelementptr double, ptr %drawn.room, i64 {place}')}")
        lines += ["  br label %blocks", "copy:", "  br label %columns", copied(module, n, "%drawn.room", "copy")]
        return "\n".join(lines)


#: multipliers of Philox's rounds, and what is added to its key between them; as LLVM has them, with signs
PHILOX = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = tuple(x - 2**64 for x in (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B))
