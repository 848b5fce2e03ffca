"""The exponential function, the logarithm and the hyperbolic tangent in LLVM IR, of whole vectors: errors below 0.9, 0.9 and 2.6 ulp.

x = n ln 2 + r with |r| ≤ ln 2/2 (Cody and Waite, ln 2 in two doubles), and eˣ = 2ⁿ (1 + s) with s = eʳ − 1 by its power series, whose
rest after r¹³ is 4·10⁻¹⁸. Back, x = 2ⁿ (1 + f) with 1 + f from √½ to √2, and with s = f/(2 + f), log (1 + f) = f − f²/2 + s (f²/2 + R),
where R is fdlibm's minimax polynomial of (2 artanh s)/s − 2. As e⁻²ᵃ − 1 = 2ⁿ s + (2ⁿ − 1) has no cancellation, neither has
tanh a = −(e⁻²ᵃ − 1)/(2 + (e⁻²ᵃ − 1)). Only IEEE operations: the same bits on every machine.
"""

from __future__ import annotations

import math

from engine.compiler.graph.vecmath import ROUND, intrinsic, literal, splat, vector

#: ln 2 in two doubles, the first with 21 zeros at its end; and 1/ln 2
LN2 = (0.6931471803691238, 1.9082149292705877e-10)
LOG2_E = 1.4426950408889634
#: 1/k!, k = 13 … 2
SERIES = [1.0 / math.factorial(k) for k in range(13, 1, -1)]
#: eˣ is 0 below, infinite above; tanh x is ±1 beyond
LEAST, MOST, FLAT = -746.0, 710.0, 20.0


#: fdlibm's e_log.c: 2 artanh(s)/s − 2 = Σ c_k s²ᵏ
ARTANH = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
          2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01)  # fmt: skip
#: of a double: the bits of its exponent and mantissa, and those of √½
MANTISSA, HALF_ROOT = 2**52 - 1, 0x3FE6A09E667F3BCD


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


def log(width: int) -> str:
    """Definition of ``@log.lanes(x)``; subnormal numbers are made larger by 2⁵⁴ before."""
    body = Lines(width)
    small = body.put(f"fcmp olt {body.D} %x, {body.d(2.0**-1022)}")
    large = body.put(f"fmul {body.D} %x, {body.d(2.0**54)}")
    x = body.put(f"select {body.B} {small}, {body.D} {large}, {body.D} %x")
    bits = body.put(f"sub {body.I} {body.put(f'bitcast {body.D} {x} to {body.I}')}, {body.i(HALF_ROOT)}")
    n = body.put(f"ashr {body.I} {bits}, {body.i(52)}")
    rest = body.put(f"add {body.I} {body.put(f'and {body.I} {bits}, {body.i(MANTISSA)}')}, {body.i(HALF_ROOT)}")
    f = body.put(f"fsub {body.D} {body.put(f'bitcast {body.I} {rest} to {body.D}')}, {body.d(1.0)}")
    k = body.put(f"fsub {body.D} {body.put(f'sitofp {body.I} {n} to {body.D}')}, "
                 f"{body.put(f'select {body.B} {small}, {body.D} {body.d(54.0)}, {body.D} {body.d(0.0)}')}")  # fmt: skip
    s = body.put(f"fdiv {body.D} {f}, {body.put(f'fadd {body.D} {f}, {body.d(2.0)}')}")
    z = body.put(f"fmul {body.D} {s}, {s}")
    R = body.d(ARTANH[0])
    for c in ARTANH[1:]:
        R = body.of("fma", R, z, body.d(c))
    half = body.put(f"fmul {body.D} {body.put(f'fmul {body.D} {f}, {body.d(0.5)}')}, {f}")
    t = body.of("fma", s, body.of("fma", R, z, half), body.put(f"fmul {body.D} {k}, {body.d(LN2[1])}"))
    inner = body.put(f"fsub {body.D} {body.put(f'fsub {body.D} {half}, {t}')}, {f}")
    y = body.of("fma", k, body.d(LN2[0]), body.put(f"fneg {body.D} {inner}"))
    for predicate, end, value in (("oeq", math.inf, math.inf), ("oeq", 0.0, -math.inf), ("olt", 0.0, math.nan), ("uno", 0.0, math.nan)):
        there = body.put(f"fcmp {predicate} {body.D} %x, {body.d(end)}")
        y = body.put(f"select {body.B} {there}, {body.D} {body.d(value)}, {body.D} {y}")
    return "\n".join([f"define internal {body.D} @log.lanes({body.D} %x) noinline {{", *body.lines, f"  ret {body.D} {y}", "}"])
