"""The exponential function and the hyperbolic tangent in LLVM IR, of whole vectors: errors below 0.9 and 2.6 ulp.

x = n ln 2 + r with |r| ≤ ln 2/2 (Cody and Waite, ln 2 in two doubles), and eˣ = 2ⁿ (1 + s) with s = eʳ − 1 by its power series, whose
rest after r¹³ is 4·10⁻¹⁸. As e⁻²ᵃ − 1 = 2ⁿ s + (2ⁿ − 1) has no cancellation, neither has tanh a = −(e⁻²ᵃ − 1)/(2 + (e⁻²ᵃ − 1)). Only IEEE
operations: the same bits on every machine.
"""

from __future__ import annotations

import math

from engine.compiler.vecmath import ROUND, intrinsic, literal, splat, vector

#: ln 2 in two doubles, the first with 21 zeros at its end; and 1/ln 2
LN2 = (0.6931471803691238, 1.9082149292705877e-10)
LOG2_E = 1.4426950408889634
#: 1/k!, k = 13 … 2
SERIES = [1.0 / math.factorial(k) for k in range(13, 1, -1)]
#: eˣ is 0 below, infinite above; tanh x is ±1 beyond
LEAST, MOST, FLAT = -746.0, 710.0, 20.0


class Lines:
    """Instructions on vectors of a width."""

    def __init__(self, width: int) -> None:
        self.width, self.lines = width, list[str]()
        self.D, self.I, self.B = (vector(t, width) for t in ("double", "i64", "i1"))

    def d(self, x: float) -> str:
        return splat("double", self.width, literal(x))

    def i(self, x: int) -> str:
        return splat("i64", self.width, str(x))

    def put(self, text: str) -> str:
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def of(self, name: str, *x: str) -> str:
        """A function of LLVM's."""
        return self.put(f"call {self.D} {intrinsic(name, self.width)}({', '.join(f'{self.D} {y}' for y in x)})")

    def within(self, x: str, low: float, high: float) -> str:
        """x between two numbers; NaN stays."""
        for predicate, end in (("olt", low), ("ogt", high)):
            beyond = self.put(f"fcmp {predicate} {self.D} {x}, {self.d(end)}")
            x = self.put(f"select {self.B} {beyond}, {self.D} {self.d(end)}, {self.D} {x}")
        return x

    def power_of_two(self, n: str) -> str:
        """2ⁿ of whole numbers from −1022 to 1023."""
        bits = self.put(f"shl {self.I} {self.put(f'add {self.I} {n}, {self.i(1023)}')}, {self.i(52)}")
        return self.put(f"bitcast {self.I} {bits} to {self.D}")

    def reduced(self, x: str) -> tuple[str, str]:
        """n, and s = eʳ − 1."""
        shifted = self.of("fma", x, self.d(LOG2_E), self.d(ROUND))
        minus_n = self.put(f"fsub {self.D} {self.d(ROUND)}, {shifted}")
        n = self.put(f"sub {self.I} {self.put(f'bitcast {self.D} {shifted} to {self.I}')}, {self.i(int(literal(ROUND), 16))}")
        near = self.of("fma", minus_n, self.d(LN2[0]), x)                      # exact
        r = self.of("fma", minus_n, self.d(LN2[1]), near)
        lost = self.of("fma", minus_n, self.d(LN2[1]), self.put(f"fsub {self.D} {near}, {r}"))
        s = self.d(SERIES[0])
        for c in SERIES[1:]:
            s = self.of("fma", s, r, self.d(c))
        rest = self.of("fma", self.put(f"fmul {self.D} {r}, {r}"), s, lost)
        return n, self.put(f"fadd {self.D} {r}, {rest}")


def exp(width: int) -> str:
    """Definition of ``@exp.lanes(x)``; 2ⁿ in two factors, as n may be too large for one."""
    body = Lines(width)
    n, s = body.reduced(body.within("%x", LEAST, MOST))
    half = body.put(f"ashr {body.I} {n}, {body.i(1)}")
    rest = body.put(f"sub {body.I} {n}, {half}")
    first = body.power_of_two(half)
    y = body.put(f"fmul {body.D} {body.of('fma', first, s, first)}, {body.power_of_two(rest)}")
    return "\n".join([f"define internal {body.D} @exp.lanes({body.D} %x) noinline {{", *body.lines, f"  ret {body.D} {y}", "}"])


def tanh(width: int) -> str:
    """Definition of ``@tanh.lanes(x)``."""
    body = Lines(width)
    a = body.within(body.of("fabs", "%x"), 0.0, FLAT)
    n, s = body.reduced(body.put(f"fmul {body.D} {a}, {body.d(-2.0)}"))
    scale = body.power_of_two(n)
    e = body.of("fma", scale, s, body.put(f"fsub {body.D} {scale}, {body.d(1.0)}"))
    size = body.put(f"fdiv {body.D} {body.put(f'fneg {body.D} {e}')}, {body.put(f'fadd {body.D} {e}, {body.d(2.0)}')}")
    y = body.of("copysign", size, "%x")
    return "\n".join([f"define internal {body.D} @tanh.lanes({body.D} %x) noinline {{", *body.lines, f"  ret {body.D} {y}", "}"])
