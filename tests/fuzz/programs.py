"""Random programs: plain NumPy, the interpreter and machine code say the same, alone, in any batch, at any lane width, and differentiated.

Three kinds. *Exact* programs are of operations that IEEE 754 defines, on any numbers: every result is held to its bits, against NumPy and,
fused multiply-adds included, against rational arithmetic. *Rough* ones use all operations on numbers of all sizes, infinities and NaN: a
result is what NumPy's is wherever rounding does not decide it. *Smooth* ones are held to rounding, and so are their derivatives.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineWarning
from engine.compiler import get_threads, interpret, native_code, set_threads, trace, verify
from engine.compiler.codegen.schedule import fused
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.operations import OPERATIONS
from engine.compiler.graph.program import Program, is_table
from engine.compiler.graph.rewrite import RULES
from engine.compiler.gufunc import Gufunc
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.signature import signature_of
from engine.compiler.transforms import autodiff, jacobians
from engine.compiler.transforms.trace import NumericTracer, calling, pure, recorded
from tests.compiler.programs import WIDTHS, loop, require_one_code, with_other_numbers
from tests.fuzz._tables import HAVE_C, SIGNATURE, InC, Tables, arguments, at_width, flat, lanes, loop_exactly, shaped_as
from tests.numeric import derivative

Array = np.ndarray
COMPILED = sys.modules[Gufunc.__module__]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 5e-324, -5e-324, 2.2e-308, 1e-160, 1e160, 1.7e308, -1.7e308, 1e22, 2.0**46,
                    2.0**53, -(2.0**62), np.inf, -np.inf, np.nan, np.pi, 1e-8, 0.9999999999999999])  # fmt: skip
CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.1, 1e-300, 1e300, np.inf, -np.inf, np.nan, 3, -2, np.float64(0.25), np.float32(0.1),
             np.int64(2), np.int8(-128), np.uint8(200))  # fmt: skip

# ---------------------------------------------------------------- what programs are made of: functions of numbers a, b, c

EXACT: tuple[Callable[..., Any], ...] = (
    lambda a, b, c: a + b, lambda a, b, c: a - b, lambda a, b, c: a * b, lambda a, b, c: a / b, lambda a, b, c: -a, lambda a, b, c: abs(a),
    lambda a, b, c: a * b + c, lambda a, b, c: c - a * b, lambda a, b, c: a * b - c * a, lambda a, b, c: ops.sqrt(a),
    lambda a, b, c: ops.floor(a), lambda a, b, c: ops.minimum(a, b) + 0.0, lambda a, b, c: ops.maximum(b, c) + 0.0,  # of 0 and −0 either
    lambda a, b, c: ops.where(a < b, b, c), lambda a, b, c: ops.where(a <= b, True, a > c) * b,
    lambda a, b, c: ops.where(ops.logical_and(a <= b, ops.logical_not(b < c)), a, -b), lambda a, b, c: ops.where(a == b, c, a),
    lambda a, b, c: ops.where(a != c, b, 0.0), lambda a, b, c: ops.where((a > b) | (c >= 1.0), a * b, b / c), lambda a, b, c: (a < b) * c,
    lambda a, b, c: a - (b <= c), lambda a, b, c: ((a < b) * 1.0 + (b <= c) / 1) * a, lambda a, b, c: (a < b) * (b < c) * c,
    lambda a, b, c: ops.stop_gradient(a) * b,
    lambda a, b, c: a * 0.0 + b, lambda a, b, c: (a - a) + b, lambda a, b, c: a / 8.0, lambda a, b, c: a * a, lambda a, b, c: -a * b,
    lambda a, b, c: (0.0 - a) - b, lambda a, b, c: a / -b, lambda a, b, c: ops.cross(ops.array([a, b, c]), ops.array([c, a, 1.0]))[1],
    lambda a, b, c: 1.0 / (a - a), lambda a, b, c: b / (0.0 * a), lambda a, b, c: (a / a) * b, lambda a, b, c: 0.0 / a + c,
)  # fmt: skip
#: of a constant k and a number b
WITH_CONSTANT: tuple[Callable[..., Any], ...] = (
    lambda k, b: k + b, lambda k, b: b - k, lambda k, b: k - b, lambda k, b: k * b, lambda k, b: b * k, lambda k, b: k / b,
    lambda k, b: b / k, lambda k, b: ops.minimum(k, b) + 0.0, lambda k, b: ops.maximum(b, k) + 0.0, lambda k, b: ops.where(b < k, k, b),
    lambda k, b: ops.where(b > 0.5, k, b), lambda k, b: (b == k) * b, lambda k, b: k * b + b, lambda k, b: b - k * b,
    lambda k, b: ops.where((b <= k) | True, b, k), lambda k, b: ops.array([k, b])[1] * k,
)  # fmt: skip
SMOOTH: tuple[Callable[..., Any], ...] = (
    lambda a, b, c: 0.5 * (a + b), lambda a, b, c: a - b, lambda a, b, c: 0.5 * a * b, lambda a, b, c: -a, lambda a, b, c: ops.sin(a),
    lambda a, b, c: ops.cos(a), lambda a, b, c: np.sin(a) * np.cos(b), lambda a, b, c: ops.sqrt(a * a + 1.0), lambda a, b, c: ops.arctan(a),
    lambda a, b, c: ops.tanh(a), lambda a, b, c: ops.exp(-a * a), lambda a, b, c: ops.log(a * a + 1.0), lambda a, b, c: ops.c2(a * a),
    lambda a, b, c: ops.c3(a * a), lambda a, b, c: a / (b * b + 1.0), lambda a, b, c: 0.1 * a**3, lambda a, b, c: (a * a + 0.5) ** 0.5,
    lambda a, b, c: (a * a + 1.0) ** -2, lambda a, b, c: ops.arctan2(a, b * b + 1.0), lambda a, b, c: ops.power(a * a + 1.0, 0.3),
    lambda a, b, c: ops.arcsin(0.9 * ops.sin(a)), lambda a, b, c: ops.arccos(0.9 * ops.cos(a)), lambda a, b, c: ops.tan(0.5 * ops.tanh(a)),
    lambda a, b, c: ops.power(a * a + 1.0, 0.2 * ops.sin(b)), lambda a, b, c: ops.stumpff(a * a)[1],
    lambda a, b, c: ops.norm(ops.array([a, b, 1.0])),
    lambda a, b, c: ops.solve(np.array([[2.0 + a * a, a], [a, 2.0]]), np.array([b, c]))[0],
)  # fmt: skip
ROUGH: tuple[Callable[..., Any], ...] = (
    *EXACT, lambda a, b, c: ops.sin(a), lambda a, b, c: ops.cos(a * b), lambda a, b, c: ops.tan(a), lambda a, b, c: ops.arcsin(a),
    lambda a, b, c: ops.arccos(a), lambda a, b, c: ops.arctan(a), lambda a, b, c: ops.arctan2(a, b), lambda a, b, c: ops.exp(a),
    lambda a, b, c: ops.log(a), lambda a, b, c: ops.tanh(a), lambda a, b, c: ops.power(a, b), lambda a, b, c: a**2, lambda a, b, c: a**-3,
    lambda a, b, c: ops.maximum(a, -9.0) ** 0.5, lambda a, b, c: a**17, lambda a, b, c: a**0.3, lambda a, b, c: ops.c2(abs(a)),
    lambda a, b, c: ops.c3(abs(a)), lambda a, b, c: (a - a) ** -1, lambda a, b, c: (0.0 * a - 1.0) ** 0.5,
    lambda a, b, c: ops.norm(ops.array([a, b])),
)  # fmt: skip


class Step:
    """What is done to every result on floats: nothing, a rounding's worth of noise, or a note that it is not finite."""

    def __init__(self) -> None:
        self.noise: np.random.Generator | None = None
        self.wild = False

    def __call__(self, y: Any) -> Any:
        if hasattr(y, "g"):
            return y
        y = np.float64(y)                                                      # a truth value, or a constant, as NumPy's number
        self.wild |= not np.isfinite(y)
        return y if self.noise is None else y * (1.0 + 3e-16 * self.noise.standard_normal())


class Function:
    """A random function of x (n) with m results: the same steps whenever it is called, on floats and on traced values."""

    def __init__(self, rng: np.random.Generator, table: tuple[Callable[..., Any], ...]) -> None:
        self.n, self.m, self.done = int(rng.integers(1, 7)), int(rng.integers(1, 6)), Step()
        size = int(rng.choice([3, 8, 8, 20, 20, 60]))
        self.steps = [(table[rng.integers(len(table))], rng.integers(0, 1 << 30, 3), rng.random(), rng.integers(len(CONSTANTS)))
                      for _ in range(size)]  # fmt: skip
        self.called = [(table[rng.integers(len(table))], rng.integers(0, 1 << 30, 3)) for _ in range(int(rng.integers(1, 6)))]
        self.smooth, self.limit, self.bound = table is SMOOTH, int(rng.integers(0, 9)), float(rng.choice([0.0, 0.5, 2.0, 1e9, np.nan]))
        self.fold, self.programs = True, dict[bool, Program]()

    def __call__(self, x: Any) -> Any:
        values = [*x, self.done(0.3 + 0.0 * x[0])] if self.smooth else [*x]
        for f, places, kind, number in self.steps:
            a, b, c = (values[-1 - k % min(len(values), 12)] for k in places)
            if kind < 0.04:
                values += [*self.call(ops.array([a, b]))]
            elif kind < 0.08:
                values += [self.done(y) for y in (self.newton(a, b) if self.smooth else self.loop(a, b))]
            elif kind < 0.2 and not self.smooth:
                values.append(self.done(WITH_CONSTANT[places[0] % len(WITH_CONSTANT)](CONSTANTS[number], b)))
            else:
                values.append(self.done(f(a, b, c)))
        return np.array((values * self.m)[-self.m :])

    def inner(self, y: Any) -> Any:
        values = [*y]
        for f, places in self.called:
            values.append(self.done(f(*(values[-1 - k % len(values)] for k in places))))
        return np.array(values[-2:])

    def call(self, y: Array) -> Any:
        """The inner function: a call in the program."""
        if ops.graph_of(y) is None:
            return self.inner(y)
        if self.fold not in self.programs:
            self.programs[self.fold] = trace(self.inner, [(2,)], fold=self.fold)
        return calling(self.programs[self.fold])(y)

    def loop(self, a: Any, b: Any) -> Any:
        """A loop of so many passes, which reads what is outside."""
        z, done = ops.while_loop(lambda z: (ops.array([0.5 * (z[0] + b), z[1] + abs(a)]), (z[0] < self.bound) | (z[1] > 4.0)),
                                 ops.array([a, 0.0 * b]), self.limit)  # fmt: skip
        return z[0], z[1], ops.where(done, 1.0, 0.0)

    def newton(self, a: Any, b: Any) -> Any:
        """The root of z + sin z/3 = a, and of a linear equation in it."""
        z, _ = ops.root(lambda z: np.array([z[0] + ops.sin(z[0]) / 3.0 - a, 2.0 * z[1] - z[0] + b]), ops.array([a, b]))
        return z


# ---------------------------------------------------------------- machine code: one function, however it is entered


def alike(a: Any, b: Any) -> bool:
    """Return whether two arrays are the same bits, all NaN being one."""
    a, b = (np.ascontiguousarray(np.where(np.isnan(x), np.nan, x), dtype=float) for x in (np.asarray(a, float), np.asarray(b, float)))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def require(what: str, got: Any, wanted: Any, mask: Any = True, same: Callable[..., Any] = alike) -> None:
    """Raise for the first row of two tables in which what ought to be the same is not."""
    for k, (g, w, m) in enumerate(zip(got, wanted, np.broadcast_to(np.asarray(mask), np.shape(wanted)), strict=True)):
        if not same(np.where(m, g, 0.0), np.where(m, w, 0.0)):
            raise AssertionError(f"{what}: row {k} is {np.asarray(g).tolist()}; expected {np.asarray(w).tolist()}")


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Let every batch, however small, use so many threads."""
    worth, before = COMPILED.WORTH_THREADS, get_threads()
    COMPILED.WORTH_THREADS = 1
    set_threads(n)
    try:
        yield
    finally:
        COMPILED.WORTH_THREADS = worth
        set_threads(before)


def compiled(rng: np.random.Generator, program: Program, X: Array) -> Array:
    """Return the results of all rows of X, one by one, once every other way of computing them has given the same bits."""
    f, rows, n = Gufunc(program, signature_of(program), ["x"]), *X.shape
    alone = np.array([f(np.ascontiguousarray(x)) for x in X])
    require("a batch", f(X), alone)
    k = int(rng.integers(1, rows))
    require("a part of a batch", f(X[:k]), alone[:k])
    apart = np.full((2 * rows, 2 * n), np.nan)
    apart[::2, ::2] = X
    require("rows and columns apart", f(apart[::2, ::2]), alone)
    require("rows in reverse", f(X[::-1]), alone[::-1])
    require("columns in reverse", f(X[:, ::-1].copy()[:, ::-1]), alone)
    require("Fortran's order", f(np.asfortranarray(X)), alone)
    require("one row broadcast", f(np.broadcast_to(X[k], X.shape)), np.broadcast_to(alone[k], alone.shape))
    with threads(int(rng.integers(2, 4))):
        require("on threads", f(X), alone)
    width = int(rng.choice([w for w in WIDTHS if w != native_code.width()]))
    require(f"at {width} lanes", loop(program, width)(X), alone)
    require_one_code(program, with_other_numbers(program, rng), width)
    return alone


def traced(f: Function, fold: bool = True) -> Program:
    """Return the program of a function, looked through, called twice, and pickled."""
    f.fold = fold
    program = trace(pure(f), [(f.n,)], fold=fold)
    verify(program)
    if pickle.loads(pickle.dumps(program)).key != program.key or trace(f, [(f.n,)], fold=fold).key != program.key:
        raise AssertionError("the same function is another program")
    return program


# ---------------------------------------------------------------- exact programs


def fma(a: float, b: float, c: float) -> float:
    """a b + c, rounded once."""
    if not np.isfinite([a, b, c]).all():
        return c if np.isfinite([a, b]).all() else a * b + c                   # of finite numbers no product is infinite
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if not exact:
        return a * b + c if a * b == 0.0 and c == 0.0 else 0.0                 # of zeros as they add; of what cancels +0
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


#: operations as they are compiled: the smaller of two zeros is the second
MEANING: dict[str, Callable[..., Any]] = {
    "fma": fma, "min": lambda a, b: a if a < b or np.isnan(a) else b, "max": lambda a, b: a if a > b or np.isnan(a) else b,
}  # fmt: skip


def exactly(program: Program, inputs: list[Any]) -> list[Any]:
    """Return the results of a program as it is compiled, fused, by Python's arithmetic, rounded once where one multiplies and adds."""
    nodes, outputs = fused(program)
    value: list[Any] = []
    for op, *args in nodes:
        if op == "input":
            value.append(np.float64(inputs[args[0]]))
        elif op == "const":
            value.append(args[0] if isinstance(args[0], bool) else np.float64(args[0]))
        elif op == "call":
            f, given = program.functions[args[0]], [number(value[i]) for i in args[1:]]
            alone = f.run if isinstance(f, Kernel) else functools.partial(exactly, f)
            value.append(loop_exactly(f, given, exactly) if isinstance(f, RowLoop) else alone(given))
        elif op == "loop":
            body, given = program.functions[args[0]], [number(value[i]) for i in args[2:]]
            n = len(body.outputs)
            for _ in range(args[1]):
                if given[n - 1] == 1.0:
                    break
                given = exactly(body, given) + given[n:]
            value.append(given[:n])
        elif op == "get":
            value.append(value[args[0]][args[1]])
        else:
            value.append(MEANING.get(op, OPERATIONS[op].numpy)(*[value[i] for i in args]))
    return [number(value[i]) for i in outputs]


def number(x: Any) -> Any:
    """A number, or a table."""
    return x if np.ndim(x) else np.float64(x)


@contextlib.contextmanager
def cancelling() -> Iterator[list[bool]]:
    """Note whether the rule x·(c/x) → c is used meanwhile, which changes last bits."""
    used: list[bool] = []
    rule = RULES["mul"]

    def watched(a: Any, b: Any) -> Any:
        for x, y in itertools.permutations((a, b)):
            n = y.g.nodes[y.i] if type(x) is type(y) is Expr else ("",)
            used.extend([True] if n[0] == "div" and n[2] == x.i else [])
        return rule(a, b)

    RULES["mul"] = watched
    try:
        yield used
    finally:
        RULES["mul"] = rule


def cancels(f: Function) -> bool:
    """Return whether that rule is used in a function."""
    with cancelling() as used:
        recorded(NumericTracer(RULES), f, [(f.n,)], False)
        if f.programs:
            recorded(NumericTracer(RULES), f.inner, [(2,)], False)
    return bool(used)


def equal(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal numbers, zeros of either sign."""
    return np.shape(a) == np.shape(b) and bool((np.asarray(a) == np.asarray(b)).all())


def exact_case(rng: np.random.Generator) -> str:
    f = Function(rng, EXACT)
    X = np.where(rng.random((21, f.n)) < 0.5, rng.choice(SPECIAL, (21, f.n)), np.round(rng.standard_normal((21, f.n)) * 8) / 4)
    X[-4:] = rng.standard_normal((4, f.n))
    with np.errstate(all="ignore"):
        plain, tame = np.zeros((21, f.m)), np.zeros((21, 1), dtype=bool)
        for k, x in enumerate(X):
            f.done.wild = not np.isfinite(x).all()
            plain[k] = f(x)
            tame[k] = not f.done.wild
        whole, program = traced(f, fold=False), traced(f)
        require("interpreted, not folded", [interpret(whole, x) for x in X], plain)
        alone = compiled(rng, program, X)
        require("machine code", alone, [exactly(program, list(x)) for x in X])
        if not cancels(f):                                                     # equal numbers, zeros of either sign
            require("folded", [interpret(program, x) for x in X], plain, tame, equal)
    return "exact"


# ---------------------------------------------------------------- rough and smooth programs


def spreads(rng: np.random.Generator, f: Function, X: Array) -> tuple[Array, Array, Array]:
    """Return plain results, how far rounding may move them (NaN where it decides what is finite), and which rows stay finite on the way."""
    f.done.noise, plain, tame = None, np.zeros((len(X), f.m)), np.zeros((len(X), 1), dtype=bool)
    for k, x in enumerate(X):
        f.done.wild = not np.isfinite(x).all()
        plain[k] = f(x)
        tame[k] = not f.done.wild
    f.done.noise, spread = rng, np.zeros_like(plain)
    for _ in range(6):
        noisy = np.array([f(x * (1.0 + 3e-16 * rng.standard_normal(f.n))) for x in X], dtype=float)
        spread = np.maximum(spread, apart(noisy, plain))
    f.done.noise = None
    return plain, spread, tame


def apart(a: Array, b: Array) -> Array:
    """Return how far results are apart: infinite or NaN where not both are finite, or the same."""
    return np.where((np.isnan(a) & np.isnan(b)) | (a == b), 0.0, np.abs(a - b))


def near(what: str, got: Array, plain: Array, spread: Array, mask: Any, slack: float) -> None:
    """Raise for a result that is not NumPy's, NaN and infinity included, wherever rounding does not decide it."""
    allowed = 300.0 * spread + slack * np.abs(plain) + 1e-300
    good = (np.isnan(got) & np.isnan(plain)) | (got == plain) | (np.abs(got - plain) <= allowed) | ~np.isfinite(spread) | ~np.asarray(mask)
    if not good.all():
        k = tuple(np.argwhere(~good)[0])
        raise AssertionError(f"{what}: {got[k]!r} in row {k[0]}, {k[1]}; expected {plain[k]!r} within {allowed[k]:.2g}")


def rough_case(rng: np.random.Generator) -> str:
    f = Function(rng, ROUGH)
    X = rng.standard_normal((21, f.n)) * 10.0 ** rng.integers(-3, 4, (21, f.n))
    X[::3] = np.where(rng.random((7, f.n)) < 0.6, rng.choice(SPECIAL, (7, f.n)), X[::3])
    with np.errstate(all="ignore"):
        plain, spread, tame = spreads(rng, f, X)
        whole, program = traced(f, fold=False), traced(f)
        near("interpreted, not folded", interpret(whole, X), plain, spread, True, 1e-11)
        once = np.array([exactly(whole, list(x)) for x in X], dtype=float)     # a product and a sum rounded once
        near("compiled, not folded", Gufunc(whole, signature_of(whole), ["x"])(X), once, spread, True, 1e-11)
        alone, spread = compiled(rng, program, X), np.maximum(spread, apart(once, plain))
        near("compiled", alone, plain, spread, tame, 1e-11)
    return "rough"


def smooth_case(rng: np.random.Generator) -> str:
    f = Function(rng, SMOOTH)
    X = rng.standard_normal((9, f.n))
    with np.errstate(all="ignore"):
        plain, spread, tame = spreads(rng, f, X)
        program = traced(f)
        near("interpreted", interpret(program, X), plain, spread, tame, 1e-12)
        near("compiled", compiled(rng, program, X), plain, spread, tame, 1e-12)
    by_walk = []
    for walk in (autodiff.forward, autodiff.reverse):
        graph = Graph(RULES)
        x = [graph.input(k) for k in range(f.n)]
        entries = walk(graph, [graph.index(y) for y in autodiff.inlined(program, graph, x)], [v.i for v in x])
        J = np.full((f.m, f.n), 0.0, dtype=object)
        for place, y in entries.items():
            J[place] = y
        nodes, outputs = autodiff.live(graph.nodes, [graph.index(y) for y in J.ravel()])
        by_walk.append(interpret(Program(nodes, outputs, [(f.n,)], [(f.m, f.n)], graph.functions, "J"), X[:3]))
    derivatives = jacobians.jacobian(program)
    verify(derivatives)
    J = Gufunc(derivatives, signature_of(derivatives), ["x"])(X[:3])
    scale = 1.0 + np.abs(J).max(axis=(1, 2), keepdims=True)
    looped = any(node[0] == "loop" for g in (program, *program.functions) for node in g.nodes)
    for what, other in (("forward", by_walk[0]), ("backward", by_walk[1])):
        if not (np.abs(other - J) <= 1e-8 * scale).all() and not (looped and np.isnan(other).any()):
            raise AssertionError(f"the derivative {what} is off by {np.abs(other - J).max():.2g} of {scale.max():.2g}")
    d = rng.standard_normal(f.n) / 4
    along = [derivative(lambda t, x=x: f(x + t * d), 1 / 256) for x in X[:3]]
    if not (np.abs(J @ d - along) <= 1e-4 * scale[:, 0]).all():
        raise AssertionError(f"the derivative is {(J @ d).tolist()}; by differences {np.array(along).tolist()}")
    return "smooth"


# ---------------------------------------------------------------- programs with tables


def alike_all(what: str, got: Any, wanted: Any, same: Callable[..., bool] = alike) -> None:
    """Raise for the first result that is not the same as wanted."""
    for k, (g, w) in enumerate(zip(got, wanted, strict=True)):
        if not same(g, w):
            raise AssertionError(f"{what}: result {k} is {np.asarray(g).tolist()}; expected {np.asarray(w).tolist()}")


def tabled_case(rng: np.random.Generator, folder: Path) -> str:
    f = Tables(rng, EXACT)
    with np.errstate(all="ignore"):
        with cancelling() as used:
            g = gufunc_of(f)
        verify(g.program)
        require_one_code(g.program, with_other_numbers(g.program, rng), 1)
        widths = {}
        for width in WIDTHS:
            with lanes(width):
                widths[width] = at_width(g, width)
                widths[width](*arguments(np.random.default_rng(0)))            # compiled while there are so many
        c = InC(g, folder) if HAVE_C else None
        for _ in range(4):
            x = arguments(rng)
            f.wild = not all(np.isfinite(v).all() for v in x)
            plain = f(*x)
            if not f.wild and not used:
                alike_all("interpreted", interpret(g.program, *x), plain, equal)
            expected = exactly(g.program, flat(g.program, x))
            expected = [np.reshape(y, (-1, *s[1:])) if is_table(s) else y for y, s in zip(expected, g.program.shapes_out, strict=True)]
            for width, h in widths.items():
                alike_all(f"{width} rows in the lanes", h(*x), expected)
            if c is not None:
                status, found = c(*x)
                assert status == int(not all(np.isfinite(y).all() for y in expected)), f"C returned {status}"
                alike_all("C", found, expected)
    return "with tables"


def gufunc_of(f: Tables) -> Gufunc:
    """A function with tables, compiled."""
    program = trace(f, shaped_as(SIGNATURE))
    return Gufunc(program, f"{SIGNATURE}->{signature_of(program).split('->')[1]}", [*"xyzijkab"])


def case(rng: np.random.Generator, folder: Path) -> str:
    """Make a program of one of the four kinds, and try it in all its lives."""
    kinds: tuple[Callable[[np.random.Generator], str], ...] = (exact_case, exact_case, rough_case, smooth_case)
    kind = rng.integers(len(kinds) + 1)
    with quietly():
        return kinds[kind](rng) if kind < len(kinds) else tabled_case(rng, folder)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Let loops of NaN within not be done, which is said on floats."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "while_loop of .* is not done", EngineWarning)
        yield
