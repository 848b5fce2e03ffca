"""Functions that depend on more than their arguments are refused: tracing would freeze what changes from call to call."""

import dataclasses
import itertools
import re
import time
from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import TraceError, interpret, trace
from engine.compiler.transforms.trace import calling, pure
from engine.rigid_body import Dynamics, LieState
from tests.compiler.test_loop import collatz, factorial, reads, total

RNG = np.random.default_rng(0)
COUNT = itertools.count(1.0)
ONCE = iter([1.0])


class Counter:
    """An object that is called, and remembers."""

    def __init__(self):
        self.calls = 0.0

    def __call__(self, x):
        self.calls += 1.0
        return x * self.calls


def counts(x):
    return x * next(COUNT)


def halves(x):
    return 0.5 * x


INNER = trace(lambda x, s: (x * s, x < s), [(), ()])
NAN = lambda: np.float64("nan")

IMPURE = [
    # (what a user writes, the shape of x, the first entry that differs)
    (lambda x: x + RNG.normal(), (), ""),
    (lambda x: RNG.normal(size=3), (3,), "[0]"),
    (lambda x: np.array([x[0], x[1] * RNG.random(), x[0]]), (2,), "[1]"),
    (lambda x: (x, np.array([[x[0], 1.0], [next(COUNT), x[1]]])), (2,), "[1][1, 0]"),
    (lambda x: [x[0], next(COUNT)], (2,), "[1]"),
    (counts, (), ""),
    (Counter(), (), ""),
    (lambda x: 0.0 if next(COUNT) % 2.0 else -0.0, (), ""),
    (lambda x: np.zeros(int(next(COUNT))), (), ""),
    (lambda x: x if next(COUNT) % 2.0 else None, (), ""),
    (lambda x: ops.while_loop(lambda y: (y * next(COUNT), y > 9.0), x, 5)[0], (), ""),
    (lambda x: ops.root(lambda y: y * y - next(COUNT), x)[0], (2,), "[0]"),
    (lambda x: engine.gufunc(lambda y, c=next(COUNT): y + c, "()->()")(x), (), ""),
    (lambda x: x * time.perf_counter(), (), ""),
]

PURE = [
    (lambda x: x, (3,)),
    (lambda x: NAN(), ()),
    (lambda x: np.array([x * NAN(), NAN(), np.nan, 0.0, -0.0]), ()),
    (lambda x: (np.sin(x), [x[0], (1, 2.0)], np.zeros((2, 0))), (2,)),
    (collatz, ()),
    (factorial, ()),
    (lambda n: total(n, collatz), ()),
    (lambda x: reads(x[:2], x[2], x[3], calling(INNER)), (4,)),
    (lambda x: ops.while_loop(lambda y: (y + np.sin(x) * y * x + collatz(x + y)[1] + np.cos(x + 1.0) * y, y > 9.0 * x), x, 5), ()),
    (lambda x: ops.root(lambda y: y * y * y + np.sin(x) * y - x, x), (3,)),
    (lambda x: ops.root(lambda y: ops.array([y[0] * ops.root(lambda z: z * z - y, y)[0][0] - x[0]]), x), (1,)),
    (lambda x: ops.when(x[1] > 0.0, lambda: x[0] - 7.0 * x[1], 0.0) + 7.0, (2,)),              # a constant, within and then outside
    (lambda x: ops.when(x[1] > 0.0, lambda: ops.cos(x[0]), 0.0) + ops.cos(x[0]), (2,)),        # what it computes, and then outside
    (lambda x: named(x)["both"].a + ops.sin(x[1]) * x[0], (2,)),
    (lambda x: ops.when(x[1] > 0.0, lambda: ops.when(x[0] > 0.0, lambda: ops.exp(x), x) + ops.exp(x), x) + ops.exp(x), (2,)),
    (lambda x: ops.when(x[0] > 0.0, lambda: SQUARED(x[1]) + 1.0, 0.0) + SQUARED(x[1]), (2,)),
    (lambda x: ops.when(x[1] > 0.0, lambda: listed(x), x) + listed(x), (2,)),
    (lambda x: ops.when(x[1] > 0.0, lambda: scaled(x[0]), np.zeros(2)) + scaled(x[0]), (2,)),  # loops over rows
    (lambda x: ops.when(x[1] > 0.0, lambda: collatz(x[0])[1], 0.0) + collatz(x[0])[1], (2,)),
    (lambda x: ops.when(x[1] > 0.0, lambda: engine.gradient(lambda y: ops.exp(y) * y)(x[0]), 0.0) + ops.exp(x[0]), (2,)),
    (lambda x: ops.jacobian(lambda y: ops.stumpff(y @ y)[2] * y, x), (3,)),
    (lambda x: engine.gufunc(lambda y: engine.ops.exp(y) + 1.0, "()->()")(x), ()),
    (lambda x: engine.jacobian(lambda y: y * y, "(n)->(n)", n=3)(x), (3,)),
]


class Pair(NamedTuple):
    a: object
    b: object


def named(x):
    """A branch of two, in a dictionary."""
    return ops.when(x[1] > 0.0, lambda: {"both": Pair(ops.sin(x[1]) * x[0], x)}, {"both": Pair(0.0, np.zeros(2))})


def listed(x):
    """What is built in a list."""
    found = []
    for k in range(3):
        found.append(ops.cos(x + k))
    return found[0] + found[1] * found[2]


def scaled(x):
    """The sum of a table's rows."""
    return ops.total(ops.rows(lambda row: ops.cos(x) * row, np.arange(12.0).reshape(6, 2)))


SQUARED = ops.subroutine(lambda y: ops.sin(y) * ops.sin(y))


@pytest.mark.parametrize(("f", "shape", "entry"), IMPURE)
@pytest.mark.parametrize("fold", [True, False])
def test_what_changes_from_call_to_call_is_refused(f, shape, entry, fold):
    with pytest.raises(TraceError) as caught:
        trace(pure(f), [shape], fold=fold)
    code = getattr(f, "__code__", None) or type(f).__call__.__code__
    where = f", first in entry {entry}" if entry else ""
    name = getattr(f, "__name__", type(f).__name__)
    text = f"{code.co_filename}:{code.co_firstlineno}: {name} returned something else when it was called again{where}"
    assert str(caught.value).startswith(f"{text}: it depends on something that changes")
    assert "such as a counter or random numbers" in str(caught.value) and "give what changes as an argument" in str(caught.value)


@pytest.mark.parametrize(("f", "shape"), PURE)
@pytest.mark.parametrize("fold", [True, False])
def test_equal_computations_are_the_same_nodes(f, shape, fold):
    """Loops, roots, derivatives and calls too; and being called twice adds nothing to the program."""
    once = lambda x: flat(f(x))
    program = trace(pure(once), [shape], fold=fold)
    assert program.key == trace(once, [shape], fold=fold).key and len(program.functions) == len(trace(once, [shape], fold=fold).functions)


def flat(result):
    """All entries of nested results, as one vector."""
    if isinstance(result, (tuple, list)):
        return np.concatenate([flat(r) for r in result])
    return np.asarray(result, dtype=object).ravel()


def test_a_second_call_that_fails_is_said():
    with pytest.raises(TraceError, match=re.escape("raised StopIteration () when it was called again: it depends on something")) as caught:
        trace(pure(lambda x: x * next(ONCE)), [()])
    assert isinstance(caught.value.__cause__, StopIteration)


def test_numbers_are_not_asked_twice():
    calls = []

    @pure
    def f(t, x, *, offset):
        calls.append(t)
        return x + offset

    assert f(1.0, np.ones(2), offset=1.0).tolist() == [2.0, 2.0] and calls == [1.0]
    trace(lambda x: f(1.0, x, offset=np.ones(2)), [(2,)])
    assert calls == [1.0] * 3 and f.__name__ == "f"


def test_each_call_has_arrays_of_its_own():
    def f(x, scale):
        x -= 1.0
        scale *= 2.0
        return x * scale

    g = engine.gufunc(f, "(n),()->(n)", n=2)
    assert g(np.array([3.0, 5.0]), 2.0).tolist() == [8.0, 16.0]
    x = np.array([3.0, 5.0])
    assert pure(f)(x, 2.0).tolist() == [8.0, 16.0] and x.tolist() == [3.0, 5.0]


def test_results_of_any_make_are_compared():
    @dataclasses.dataclass(slots=True)
    class Effect:
        tau: object = None
        wrenches: dict = dataclasses.field(default_factory=dict)

    same = lambda x: Effect(x, {"hand": x * 2.0})
    other = lambda x: Effect(x, {"foot": x, "hand": x * next(COUNT)})
    named = lambda x: {f"{next(COUNT)}": x}
    graph_of = lambda f: trace(lambda x: (f(x), 0.0)[1], [(2,)])
    graph_of(pure(same))
    with pytest.raises(TraceError, match=re.escape("first in entry .wrenches['hand'][0]: ")):
        graph_of(pure(other))
    with pytest.raises(TraceError, match=r"first in entry \['\d+.0'\]: "):
        graph_of(pure(named))


def test_functions_that_are_compiled_are_checked():
    for make in (lambda: engine.gufunc(counts, "()->()"), lambda: engine.jacobian(counts)(1.0), lambda: engine.gradient(counts)(1.0),
                 lambda: engine.jacobian(counts, "()->()"), lambda: engine.gradient(counts, "()->()")):  # fmt: skip
        with pytest.raises(TraceError, match="counts returned something else"):
            make()
    f = engine.gufunc(halves, "()->()")
    assert f(3.0) == 1.5 and interpret(f.program, 3.0) == 1.5 and f.__wrapped__.__name__ == "halves"


class Body(engine.RigidBody):
    mass, inertia, controls = 1.0, np.eye(3), 0
    kicks = 0

    def forces(self, x, u, t):
        self.kicks += 1
        return np.array([1.0 * self.kicks, 0.0, 0.0])


class Wrenched(engine.RigidBody):
    inertia, controls = np.eye(6), 0

    def wrench(self, x, u, t):
        return np.concatenate([np.zeros(5), [RNG.normal()]])


class Leaking(engine.RigidBody):
    inertia, controls = np.eye(3), 0

    def mass(self, x, u, t):
        return 1.0 + t * RNG.random()

    def forces(self, x, u, t):
        return np.zeros(3)


class Walk(Dynamics):
    state, controls = LieState(2), 0

    def dynamics(self, x, u, t):
        return np.array([x[1], RNG.normal()])


SYSTEMS = [(Body, "forces", "[0]"), (Wrenched, "wrench", "[5]"), (Leaking, "mass", ""), (Walk, "dynamics", "[1]")]


@pytest.mark.parametrize(("kind", "name", "entry"), SYSTEMS)
@pytest.mark.parametrize("use", ["dynamics", "jacobians", "error_jacobians", "discrete_dynamics", "simulate", "solve"])
def test_functions_of_a_system_are_checked(kind, name, entry, use):
    system = engine.compile(kind())
    x = kind().neutral()
    where = f", first in entry {entry}" if entry else ""
    with pytest.raises(TraceError, match=re.escape(f"{name} returned something else when it was called again{where}: ")):
        if use in ("simulate", "solve"):
            getattr(system, use)(x, 0.1)
        elif use == "discrete_dynamics":
            system.discrete_dynamics(x, np.zeros(0), 0.0, 0.1)
        else:
            getattr(system, use)(x, np.zeros(0), 0.0)


def test_the_controller_of_a_system_is_checked():
    class Pushed(engine.RigidBody):
        mass, inertia, controls = 1.0, np.eye(3), 3

        def forces(self, x, u, t):
            return u

    def noise(x, t):
        return RNG.normal(size=3)

    body = Pushed()
    with pytest.raises(TraceError, match=r"noise returned something else when it was called again, first in entry \[0\]"):
        engine.compile(body).simulate(body.neutral(), 0.1, controller=noise)
    motion = engine.compile(body).simulate(body.neutral(), 0.01, controller=noise, compiled=False)  # on floats every call is a new one
    assert len(np.unique(motion.u)) == motion.u.size
