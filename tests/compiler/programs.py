"""What tests of the compiler share: random functions, programs run in exact arithmetic, and compiled at a lane width of one's choice."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from engine import ops
from engine.compiler import native_code
from engine.compiler.codegen import entry
from engine.compiler.graph.numbers import is_number, numbered, places
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import numpy_ufunc
from engine.compiler.kernels.row_loop import RowLoop
from engine.contact import hunt_crossley

WIDTHS = (1, 2, 4, 8)
#: constants that rules look for; sums and products of a few of them are exact
CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0)

#: what a random function does with numbers a and b, an argument x of its own, and a truth value t: all of it exact on fractions
ARITHMETIC: tuple[Callable[..., Any], ...] = (
    lambda a, b, x, t: a + b, lambda a, b, x, t: a - b, lambda a, b, x, t: b - a, lambda a, b, x, t: a * b,
    lambda a, b, x, t: -a, lambda a, b, x, t: abs(a), lambda a, b, x, t: a / x, lambda a, b, x, t: x * (a / x),
    lambda a, b, x, t: a / 4.0, lambda a, b, x, t: a / -0.5, lambda a, b, x, t: x**3, lambda a, b, x, t: x**-2, lambda a, b, x, t: a**1,
    lambda a, b, x, t: a * 0.0, lambda a, b, x, t: a - a, lambda a, b, x, t: ops.minimum(a, b), lambda a, b, x, t: ops.maximum(a, a),
    lambda a, b, x, t: ops.where(t, a, b), lambda a, b, x, t: t * a, lambda a, b, x, t: b - t,
)  # fmt: skip
TRUTHS: tuple[Callable[..., Any], ...] = (
    lambda a, b, s, t: a < b, lambda a, b, s, t: a <= b, lambda a, b, s, t: a > b, lambda a, b, s, t: a != b,
    lambda a, b, s, t: ops.equal(a, b), lambda a, b, s, t: ops.logical_and(s, t), lambda a, b, s, t: ops.logical_or(s, t),
    lambda a, b, s, t: ops.logical_not(t), lambda a, b, s, t: ops.logical_or(s, a), lambda a, b, s, t: ops.where(s, t, True),
)  # fmt: skip
#: analytic functions, whose values stay of order one: rounding is not amplified by much
ANALYTIC: tuple[Callable[..., Any], ...] = (
    lambda a, b, x, t: 0.5 * (a + b), lambda a, b, x, t: a - b, lambda a, b, x, t: 0.5 * a * b, lambda a, b, x, t: -a,
    lambda a, b, x, t: ops.sin(a), lambda a, b, x, t: ops.cos(-a), lambda a, b, x, t: ops.sqrt(a * a + 1.0),
    lambda a, b, x, t: ops.arctan(a), lambda a, b, x, t: ops.tanh(a), lambda a, b, x, t: ops.exp(-a * a),
    lambda a, b, x, t: ops.log(a * a + 1.0), lambda a, b, x, t: ops.c2(a * a), lambda a, b, x, t: ops.c3(a * a),
    lambda a, b, x, t: a / (b * b + 1.0), lambda a, b, x, t: 0.1 * x**3, lambda a, b, x, t: a * 0.0,
    lambda a, b, x, t: (a * a + 1.0) ** 0.5, lambda a, b, x, t: x * b - a * x, lambda a, b, x, t: ops.arctan2(a, b * b + 1.0),
)  # fmt: skip
#: and continuous ones
SMOOTH = (*ANALYTIC, lambda a, b, x, t: abs(a), lambda a, b, x, t: ops.minimum(a, b))


def random_function(seed: int, length: int, numbers: Sequence[Any] = ARITHMETIC, truths: Sequence[Any] = TRUTHS) -> Callable[..., Any]:
    """A function of x (4) with results (3), in ``length`` random steps; the steps are the same however it is called."""

    def f(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        value, truth = [*CONSTANTS, *x], [True, False]

        def pick(some: list[Any]) -> Any:
            return some[rng.integers(max(0, len(some) - 14), len(some))]

        for _ in range(length):
            a, b, s, t, own = pick(value), pick(value), pick(truth), pick(truth), x[rng.integers(4)]
            if rng.random() < 0.25 and len(truths):
                truth.append(truths[rng.integers(len(truths))](a, b, s, t))
            else:
                value.append(numbers[rng.integers(len(numbers))](a, b, own, t))
        return np.array(value[-3:])

    return f


def limbs(mirror: bool, lengths: Sequence[int]) -> tuple[Callable[..., Any], list[tuple[int, ...]]]:
    """Chains of these lengths on a common base, every other one a mirror image: speeds go out, and what they add up to comes back; and its
    arguments' shapes."""

    def f(q: Any, v: Any) -> Any:
        total = start = 0.0
        rates: list[Any] = []
        k = 0
        for limb, n in enumerate(lengths):
            s = -1.0 if mirror and limb % 2 else 1.0
            w, x, y = q[0] * v[0], q[0], v[0]
            for j in range(n):
                k += 1
                c, d = np.cos(q[k]), s * np.sin(q[k])
                x, y, w = c * x - d * y + s * 0.1 * (j + 1), d * x + c * y + 0.3, w + s * 1.5 * v[k] - x * y
                rates.append(w * x - s * (0.2 + j) * y / (2.0 + c * c))
            total = total + s * x * w
            start = start + y
        return np.array([total, start, *[r * total for r in rates]])

    n = 1 + sum(lengths)
    return f, [(n,), (n,)]


EXACT: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg, "abs": abs,
    "fma": lambda a, b, c: a * b + c, "min": min, "max": max, "pow": lambda a, b: a ** int(b), "lt": operator.lt, "le": operator.le,
    "eq": operator.eq, "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_,
    "select": lambda c, a, b: a if c else b,
}  # fmt: skip


def exact(program: Program, inputs: Sequence[Fraction]) -> list[Fraction]:
    """Every output scalar in rational arithmetic."""
    value: list[Any] = []
    for op, *args in program.nodes:
        if op == "input":
            value.append(inputs[args[0]])
        elif op == "const":
            value.append(args[0] if isinstance(args[0], bool) else Fraction(args[0]))
        else:
            value.append(EXACT[op](*[value[i] for i in args]))
    return [Fraction(value[i]) for i in program.outputs]


def stumpff(x: float, k: int) -> Fraction:
    """c_k(x) = Σ (−x)ʲ/(2j + k)! of x ≥ 0 to some 2⁻³⁰⁰; terms grow to e^√x before they vanish."""
    n, d = x.as_integer_ratio()
    one = 1 << (300 + int(3 * x**0.5))
    term = one // math.factorial(k)
    total, j = term, k
    while term:
        term, j = -term * n // (d * (j + 1) * (j + 2)), j + 2
        total += term
    return Fraction(total, one)


def stumpff_error(got: Any, x: Any, k: int) -> float:
    """The largest error of c_k(x), in units of what one rounding of c_k, of x, and, beyond 1, of what is subtracted there may do."""

    def unit(t: float, k: int) -> Fraction:
        c, slope = stumpff(t, k), (stumpff(t, k - 1) - k * stumpff(t, k)) / 2  # x c_k' = (c_{k−1} − k c_k)/2
        return (abs(c) + abs(slope)) / 2**53 + (unit(t, k - 2) / Fraction(t) if t >= 1 and k >= 3 else 0)

    return max(float(abs(Fraction(float(g)) - stumpff(t, k)) / unit(t, k)) for g, t in zip(got, map(float, x), strict=True))


def fractions(seed: int, n: int = 4) -> list[Fraction]:
    """Numbers other than zero, with few digits."""
    rng = np.random.default_rng(seed)
    return [Fraction(int(rng.integers(1, 40)) * int(rng.choice([-1, 1])), 8) for _ in range(n)]


def loop(program: Program, width: int) -> np.ufunc:
    """The compiled gufunc of a program, on vectors of ``width`` lanes."""
    code = native_code.Code(f"batch{width}", lambda: entry.batch(program, width), programs=[program])
    sizes = [",".join(f"({','.join(map(str, s))})" for s in shapes) for shapes in (program.shapes_in, program.shapes_out)]
    return numpy_ufunc(code, program.name, "->".join(sizes))


def again(program: Program) -> Program:
    """The same program under another key, so that it is compiled anew."""
    copy = Program(program.nodes, program.outputs, program.shapes_in, program.shapes_out, program.functions, program.name)
    copy.__dict__["key"] = program.key + "again"
    return copy


def with_other_numbers(program: Program, rng: np.random.Generator) -> Program:
    """The program with other constants in place of its own, different ones where they are different."""
    known = numbered([program]).numbers
    drawn = [0.5, 2.0, 3.0, 1e-300, 1e300, 0.1, 8.0, 5e-324, *np.exp(rng.uniform(-9.0, 9.0, 3 * len(known)))]
    of = dict(zip(known, (float(x) for x in rng.permutation(np.unique(drawn))), strict=False))

    def changed(f: Program) -> Program:
        if isinstance(f, RowLoop):
            return RowLoop(changed(f.f), f.sources, f.outside, f.sinks)
        nodes = [("const", math.copysign(of[abs(n[1])], n[1]), *n[2:]) if n[0] == "const" and is_number(n[1]) else n for n in f.nodes]
        return f if f.native else Program(nodes, f.outputs, f.shapes_in, f.shapes_out, [*map(changed, f.functions)], f.name)

    return changed(program)


def require_one_code(program: Program, other: Program, width: int) -> None:
    """Raise where programs that differ in their numbers alone do not have the same code, but for what is in its tables, in their order."""
    ours, theirs = numbered([program]), numbered([other])
    assert ours.key == theirs.key and len(ours.numbers) == len(theirs.numbers)
    texts = [entry.batch(p, width) for p in (program, other)]
    tables = [[(name, lanes, places(x, n.numbers)) for name, lanes, x in native_code.constants(text)]
              for text, n in zip(texts, (ours, theirs), strict=True)]  # fmt: skip
    first, second = (re.sub(r"(?m)^(@[\w.]*constants = ).*$", r"\1", text) for text in texts)
    assert first == second
    assert tables[0] == tables[1]


def bits(x: Any) -> bytes:
    return np.ascontiguousarray(x, dtype=float).tobytes()


def stops(x, u):
    """Stops, dry friction and a switch at each of twelve joints, three a leg, whose numbers differ."""
    x = ops.array([y for k in range(0, 12, 3) for y in (ops.sin(x[k]), x[k + 1] * ops.cos(x[k]), x[k + 2] / 1.5 + u[k] * u[k])] + [x[12]])
    k = np.array([900.0, 400.0, 700.0] * 4) * (1.0 + 0.01 * np.arange(12))
    forces = []
    for i in range(12):
        s = hunt_crossley.weight(1e-6 * k[i] * (1.0 + x[12]))
        low, high = (hunt_crossley.normal_impulse(k[i], 0.2, 1e-3, s, 0.5, gap, u[i], u[i], 0.5 * u[i]) for gap in (x[i] + 1.0, 1.0 - x[i]))
        rests = ops.logical_and(abs(u[i]) < 1e-2, ops.logical_not(x[i] < 0.1 * u[12]))
        dry = ops.where(rests, -30.0 * u[i], ops.where(ops.logical_or(u[i] > 0.0, ops.equal(u[i], -1.0)), -0.3, 0.3))
        forces += [low[0] - high[0] + dry, low[1] + high[1] + ops.where(rests, 1.0, 0.0)]
    return ops.array([*forces, ops.largest(ops.array(forces))])
