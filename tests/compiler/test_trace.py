"""Tracing: what is recorded, and what is refused, at whose line, with what to use instead."""

import contextlib
import operator
import re
import sys

import numpy as np
import pinocchio
import pytest
import scipy.linalg
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import engine
from engine import ops
from engine.compiler import TraceError, interpret, trace, verify
from engine.compiler.graph.expr import Graph
from engine.compiler.graph.operations import ARITY, OPERATIONS
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.refusals import users_place
from engine.compiler.graph.rewrite import RULES
from engine.compiler.transforms.trace import calling, pure


def wrong(x):
    raise AssertionError("never called")


def loops_while(x):
    n = x[0]
    while n > 1.0:  # line 2
        n = n - 1.0
    return n


DECIDES = "a decision on a traced value"
FLOAT = "turning a traced value into a float"
WHOLE = "turning a traced value into an integer"
#: Python 3.10 does not know which of a line's expressions failed
PART = "-1 < x[0] < 1" if sys.version_info >= (3, 11) else "condition"
REFUSED = [
    # (what a user writes, lines below the function's first, what the error says, what it says to use)
    (lambda x: 1.0 if x[0] > 0 else 2.0, 0, DECIDES, "engine.ops.where"),
    (lambda x: x[0] > 0 and x[1], 0, DECIDES, "engine.ops.where"),
    (lambda x: x[0] or x[1], 0, DECIDES, "engine.ops.where"),
    (lambda x: not x[0], 0, DECIDES, "engine.ops.where"),
    (lambda x: sorted(x), 0, DECIDES, "engine.ops.where"),
    (lambda x: x[0] in [1.0, 2.0], 0, DECIDES, "engine.ops.where"),
    (loops_while, 2, DECIDES, "engine.ops.where"),
    (lambda x: np.linalg.norm(x.reshape(2, 2), 2), 0, "np.linalg.norm of order 2", "'fro', 1 and np.inf"),
    (lambda x: np.linalg.qr(x.reshape(2, 2)), 0, "np.linalg.qr of traced values", "np.linalg.solve"),
    (lambda x: complex(x[0]), 0, FLOAT, "np.sin and friends"),
    (lambda x: int(x[0]), 0, WHOLE, "never over values"),
    (lambda x: [1.0, 2.0][x[0]], 0, WHOLE, "never over values"),
    (lambda x: np.arange(3.0)[x[0]], 0, WHOLE, "never over values"),
    (lambda x: x[: x[0]], 0, WHOLE, "never over values"),
    (lambda x: range(x[0]), 0, WHOLE, "never over values"),
    (lambda x: list(x[0]), 0, "iterating over a traced scalar", "it is one number"),
    (lambda x: operator.add(*x[0]), 0, "iterating over a traced scalar", "it is one number"),
    (lambda x: x[0] + None, 0, "unsupported operand type(s) for +", "engine.ops"),
    (lambda x: x[0] * 1j, 0, "'complex'", "engine.ops"),
    (lambda x: x[0].shape, 0, "'Expr' object has no attribute 'shape'", "engine.ops"),
    (lambda x: x[0][0], 0, "not subscriptable", "engine.ops"),
    (lambda x: f"{x[0]:.3f}", 0, "a traced value as text", "compiled=False"),
    (lambda x: ops.where(x[0] > 0, x[1], None), 0, "NoneType None among traced values", "expected numbers"),
    (lambda x: ops.minimum(x[0], "one"), 0, "str 'one' among traced values", "expected numbers"),
    (lambda x: np.array(x[x > 0]), 0, "an array whose length depends on values", "np.where(mask, x, 0.0)"),
    (lambda x: np.where(x > 0), 0, "an array whose length depends on values", "np.where(condition, a, b)"),
    (lambda x: np.sum(x, where=x > 0), 0, "a sum or an extremum with where=", "np.where(condition, a, 0.0)"),
    (lambda x: np.add.at(x, [0], 1.0), 0, "np.add.at of traced values", "write it out"),
    (lambda x: np.nextafter(x, 1.0), 0, "np.nextafter of an array with traced values", "write it out"),
    (lambda x: np.interp(1.0, x, x), 0, "np.interp with xp that is traced", "known when the function is traced"),
    (lambda x: x[x > 0].sum(), 0, "an array whose length depends on values", "np.where(mask, x, 0.0)"),
    (lambda x: len(x[x > 0]), 0, "an array whose length depends on values", "np.where(mask, x, 0.0)"),
    (lambda x: x[x > 0] + x[x > 0.1], 0, "an array whose length depends on values, with another", "np.where(mask, a, b)"),
    (lambda x: x.astype(np.float32), 0, "an array of float32", "machine code has float64"),
    (lambda x: (1e3 * x).astype(np.int8), 0, "an array of int8", "np.trunc and np.mod"),
    (lambda x: np.searchsorted([2.0, 0.0], x), 0, "np.searchsorted in a table that does not ascend", "sort the table"),
    (lambda x: x.tobytes(), 0, "the bytes of traced values", "they have none"),
    (lambda x: {0.3: 1.0}.get(x[0], 2.0), 0, "a lookup by a traced value", "engine.ops.interp"),
    (lambda x: x[0] > 0 or x[1] > 0, 0, DECIDES, "& | ~"),
    (lambda x: 1.0 if -1 < x[0] < 1 else 2.0, 0, DECIDES, f"engine.ops.where({PART}, a, b)"),
]


@pytest.mark.parametrize(("f", "below", "what", "instead"), REFUSED, ids=[f"{k}: {what}" for k, (_, _, what, _) in enumerate(REFUSED)])
@pytest.mark.parametrize("fold", [True, False])
def test_what_cannot_be_traced_names_the_line_and_the_way_out(f, below, what, instead, fold):
    place = f"{__file__}:{f.__code__.co_firstlineno + below}: "
    with pytest.raises(TraceError, match=f"^{re.escape(place)}") as caught:
        trace(pure(f), [(4,)], fold=fold)
    text = str(caught.value).removeprefix(place)
    assert what in text and instead in text and "cannot be compiled: " in text and "\n" not in text


@pytest.mark.parametrize(("f", "what"), [
    (lambda x: "text", "str 'text'"),
    (lambda x: None, "NoneType None"),
    (lambda x: {"a": 1.0}, "dict {'a': 1.0}"),
    (lambda x: (x, ["b", x[0]]), "str 'b'"),
    (lambda x: [[x[0]], [x[1], x[2]]], "list [<traced input #0, no number yet>]"),
    (lambda x: 1j, "complex 1j"),
])  # fmt: skip
def test_results_that_are_no_numbers(f, what):
    place = f"{__file__}:{f.__code__.co_firstlineno}: "
    with pytest.raises(TraceError, match=re.escape(f"{place}<lambda> returned {what}; expected numbers, or arrays of them")):
        trace(f, [(4,)])


def leaked():
    kept = []
    trace(lambda x: kept.extend(x) or x, [(4,)])
    return kept


@pytest.mark.parametrize("f", [
    lambda x, y: x[0] + y[1], lambda x, y: y[0] - x[0], lambda x, y: x[0] * (2.0 / y[0]), lambda x, y: ops.minimum(x[0], y[0]),
    lambda x, y: ops.where(x[0] > 0, y[1], 0.0), lambda x, y: x[0] / y[0], lambda x, y: np.array(y[:4]) @ x, lambda x, y: -y[1] - x[2],
])  # fmt: skip
def test_a_traced_value_stays_in_its_own_trace(f):
    """Also where a node of the same number would fold: x − x → 0, x/x → 1, x·(c/x) → c."""
    y = leaked()
    with pytest.raises(TraceError, match=re.escape(f"{__file__}:{f.__code__.co_firstlineno}: a traced value of another function")):
        trace(lambda x: f(x, y), [(4,)])


@pytest.mark.parametrize("g", [lambda y: y[0], lambda y: y[0] * 2.0])
def test_a_value_of_another_trace_is_no_result(g):
    y = leaked()
    with pytest.raises(TraceError, match="<lambda> returned a traced value of another function"):
        trace(lambda x: (x, g(y)), [(4,)])


@pytest.mark.parametrize(("f", "error", "text"), [
    (lambda x: {}["mine"], KeyError, "'mine'"),
    (lambda x: x * (1 / 0), ZeroDivisionError, "division by zero"),
    (lambda x: x @ np.zeros(3), ValueError, "mismatch"),
    (lambda x: np.zeros(2) + np.zeros(3), ValueError, "broadcast"),
    (lambda x: np.linalg.inv(np.zeros((2, 2))), np.linalg.LinAlgError, "Singular"),
    (lambda x: np.arange(3.0)[1.5], IndexError, "indices"),
    (lambda x: x[7], IndexError, "out of bounds"),
    (lambda x: x.nothing, AttributeError, "nothing"),
    (lambda x: wrong(x, 1), TypeError, "positional"),
    (lambda x, y: x, TypeError, "missing 1 required positional argument"),
    (lambda x: wrong(x), AssertionError, "never called"),
    (lambda x: len(3), TypeError, "no len"),
    (lambda x: sys.exit(3), SystemExit, "3"),
])  # fmt: skip
def test_errors_that_are_not_about_tracing_come_through_as_they_are(f, error, text):
    with pytest.raises(error, match=text) as caught:
        trace(f, [(4,)])
    assert type(caught.value) is error and caught.value.__cause__ is None


def swallowed(what, error=Exception):
    """A function that catches what tracing refuses, and goes on with something else."""

    def f(x):
        try:
            return what(x)
        except error:
            return 0.0 * x

    return f


@pytest.mark.parametrize(("what", "error", "text"), [
    (lambda x: -20 * complex(x[0]).real, Exception, "(complex|a float)"),
    (lambda x: 1.0 if x[0] > 0 else 2.0, TraceError, "a decision"),
    (lambda x: np.zeros(3)[x[0]], IndexError, "an integer"),
    (lambda x: list(x[0]), ValueError, "iterating"),
    (lambda x: f"{x[0]:.2f}", Exception, "as text"),
    (lambda x: int(x[0]), Exception, "an integer"),
    (lambda x: np.nextafter(x, 1.0), Exception, "np.nextafter"),
    (lambda x: ops.minimum(x[0], None), Exception, "None among traced values"),
])  # fmt: skip
def test_a_refusal_that_is_caught_is_raised_when_tracing_ends(what, error, text):
    """What would come instead, the machine code would hold for good."""
    place = f"{__file__}:{what.__code__.co_firstlineno}: "
    with pytest.raises(TraceError, match=f"^{re.escape(place)}.*{text}"):
        trace(pure(swallowed(what, error)), [(4,)])
    with pytest.raises(TraceError, match=text):
        engine.jacobian(swallowed(what, error))(np.zeros(4))

    def raises_another(x):
        try:
            return what(x)
        except error as caught:
            raise KeyError("mine") from caught

    with pytest.raises(TraceError, match=text) as raised:
        trace(pure(raises_another), [(4,)])
    assert isinstance(raised.value.__cause__, KeyError)


LIBRARIES = "traced values are no floats; use engine.ops, or run the function as plain Python (compiled=False, or a controller as "
PENDULUM = pinocchio.Model()


@pytest.mark.parametrize(("f", "library", "text"), [
    (lambda x: scipy.linalg.solve(x.reshape(2, 2), x[:2]), "scipy.linalg", "ValueError: object arrays are not supported"),
    (lambda x: pinocchio.rnea(PENDULUM, PENDULUM.createData(), x[:1], x[:1], x[:1]), "C++", "ArgumentError: Python argument types"),
])  # fmt: skip
def test_other_libraries_that_do_not_take_traced_values(f, library, text):
    with pytest.raises(TraceError, match=f"^{re.escape(__file__)}:{f.__code__.co_firstlineno}: ") as caught:
        trace(f, [(4,)])
    message = str(caught.value)
    assert library in message and text in message and LIBRARIES in message and "<lambda>" in message and "\n" not in message
    assert caught.value.__cause__ is not None and not isinstance(caught.value.__cause__, TraceError)


@pytest.mark.parametrize(("f", "instead"), [
    (lambda x: CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(x[0]), "use engine.ops.spline(curve)(x), made of it"),
    (lambda x: Rotation.from_euler("z", 30.0).apply(x[:3]), "use R.as_matrix() @ x of a rotation that is known"),
])  # fmt: skip
def test_libraries_with_a_converter(f, instead):
    """Rotations of SciPy before 1.17 take traced values, and turn them."""
    if "R.as_matrix" in instead and tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):
        x = np.array([1.0, 2.0, 3.0, 4.0])
        assert np.allclose(engine.gufunc(pure(f), "(n)->(m)", n=4, m=3)(x), f(x), rtol=1e-15, atol=1e-15)
        return
    with pytest.raises(TraceError, match=re.escape(instead)):
        trace(pure(f), [(4,)])


@pytest.mark.parametrize(("f", "text"), [
    (lambda x: np.arange(100.0)[x * 10.0], "np.take(table, k)"), (lambda x: {}[x[0]], "a lookup by a traced value"),
])  # fmt: skip
def test_tables_are_looked_up_by_interp(f, text):
    with pytest.raises(TraceError, match=re.escape(text)):
        trace(f, [(4,)])


def test_errors_of_libraries_without_traced_values_come_through_as_they_are():
    with pytest.raises(ValueError, match="object arrays are not supported") as caught:
        trace(lambda x: scipy.linalg.solve(np.zeros((2, 2), dtype=object), np.ones(2)) @ x[:2], [(4,)])
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("f", [
    lambda x: np.linalg.norm(x), lambda x: np.linalg.norm(x.reshape(2, 2), axis=-1), lambda x: np.mean(x) + np.std(x) + np.prod(x),
    lambda x: np.cumsum(x), lambda x: np.einsum("i,i->", x, x), lambda x: np.kron(x.reshape(2, 2), np.eye(2)),
    lambda x: np.cross(x[:3], x[1:]), lambda x: np.outer(x, x), lambda x: np.vecdot(x, x), lambda x: np.block([[x], [np.zeros(4)]]),
    lambda x: np.tensordot(x.reshape(2, 2), x.reshape(2, 2)), lambda x: np.trace(x.reshape(2, 2)), lambda x: np.diff(x),
    lambda x: np.linalg.matrix_power(x.reshape(2, 2), 3), lambda x: np.polyval(x, 2.0), lambda x: np.convolve(x, x),
    lambda x: np.sqrt(abs(x)) + np.exp(-x) + np.tanh(x) + np.square(x) + np.reciprocal(x) + np.power(x, 2),
    lambda x: np.sin(x[0]) + np.float64(2) * x[1] - np.arctan2(x[2], 1.0) + np.maximum(x[3], 0.5) + np.log(abs(x[0])),
    lambda x: ops.where(np.float64(0.5) > x[0], 1.0, 2.0) + ops.where(np.float64(0.5) >= x[1], 1.0, 2.0) + (np.int64(1) != x[2]),
    lambda x: ops.where(np.array([0.1, 0.2]) > x[0], x[1], x[2:]) + (np.array([0.5, x[1]]) != x[1]) * 1.0,
    lambda x: ops.where(x[0] != 0.3, x[1], 0.0) + (x[0] != x[0]) * 1.0 + (x[1] is not None) + (x[1] != None),  # noqa: E711
    lambda x: 2 ** x[0] + x[1] ** x[1] + pow(abs(x[2]), 0.25), lambda x: (+x, -x, abs(x), x / 2, 2 / x, 2 - x),
])  # fmt: skip
def test_numpy_works_on_traced_values(f):
    x = np.array([0.3, 0.7, -1.2, 2.1])
    for fold in (True, False):
        program = trace(f, [(4,)], fold=fold)
        verify(program)
        results = interpret(program, x)
        expected = f(x)
        for r, e in zip(*(t if isinstance(t, tuple) else (t,) for t in (results, expected)), strict=True):
            np.testing.assert_allclose(r, e, rtol=1e-14, atol=1e-14)


def test_equal_expressions_are_one_node():
    p = trace(lambda x, y: (x * y + y * x, (x + y) * (y + x)), [(), ()])
    assert p.count() == 4  # x·y, their sum, x + y, its square
    for op in ("add", "mul", "min", "max", "eq"):
        g = Graph()
        x, y = g.input(0), g.input(1)
        assert g.make(op, x, y).i == g.make(op, y, x).i
    for op in ("sub", "div", "lt", "le", "atan2", "pow"):
        assert g.make(op, x, y).i != g.make(op, y, x).i
    assert trace(lambda x: sum(ops.sin(x) for _ in range(10)), [()]).count() == 10  # one sine


def test_a_handle_is_not_its_value():
    x, y = Graph().input(0), Graph().input(0)
    assert hash(x) != hash(y) and {x: 1}[x] == 1 and "input" in repr(x) and not hasattr(x, "__len__")


def test_unfolded_graph_keeps_everything():
    f = lambda x: x * 0 + 1 * x
    assert trace(f, [()]).count() == 0 and trace(f, [()], fold=False).count() == 3
    assert type(Graph(RULES).input(0) * 1.0) is type(Graph().input(0))


def test_only_what_results_need_is_kept():
    program = trace(lambda x: (x[0] * x[1] + ops.sin(x[2]), x[3])[1:], [(4,)])
    assert program.nodes == [("input", 3)] and program.n_in == 4
    nodes = [("input", 0), ("input", 1), ("add", 0, 1), ("mul", 2, 2), ("neg", 2)]
    assert live(nodes, [4, 0]) == ([("input", 0), ("input", 1), ("add", 0, 1), ("neg", 2)], [3, 0])


def test_shapes_of_arguments_and_results():
    program = trace(lambda a, b, c, d: (a, b @ c, [c, c], d[:0]), [(), (2, 3), (3,), (5, 0)])
    verify(program)
    assert program.shapes_in == [(), (2, 3), (3,), (5, 0)] and program.shapes_out == [(), (2,), (2, 3), (0, 0)]
    assert trace(lambda: 3.0, []).shapes_out == [()]


def test_the_key_is_of_what_is_computed():
    f, g = (lambda x: ops.sin(x) + 1.0), (lambda y: 1.0 + ops.sin(y))
    assert trace(f, [()]).key == trace(g, [()]).key and trace(f, [()]) == trace(g, [()]) and len({trace(f, [()]), trace(g, [()])}) == 1
    others = [trace(f, [(1,)]), trace(lambda x: ops.sin(x) + 2.0, [()]),
              trace(lambda x: ops.cos(x) + 1.0, [()]), trace(lambda x: (f(x), 1.0), [()]), trace(lambda x: x, [()]),
              trace(lambda x: x + 0.0, [()], fold=False), trace(lambda x: x + -0.0, [()], fold=False)]  # fmt: skip
    assert len({p.key for p in others}) == len(others) and trace(f, [()]).key not in {p.key for p in others}
    assert trace(lambda x: x[0], [(2,)]).key != trace(lambda x: x[0], [(3,)]).key
    inner = [trace(lambda x, c=c: x * c, [()]) for c in (2.0, 3.0)]
    assert len({trace(calling(p), [()]).key for p in inner}) == 2  # of what is called, too


def test_a_call_is_recorded_once():
    inner = trace(lambda x, y: (x * y, ops.sin(x) + y), [(3,), ()])

    def f(x):
        a, b = calling(inner)(x, x[0])
        c, d = calling(inner)(a, 2.0)
        return b + c + d, calling(inner)(x, x[0])[0]

    program = trace(f, [(3,)])
    verify(program)
    assert len(program.functions) == 1 and sum(n[0] == "call" for n in program.nodes) == 2
    assert program.count() == 2 * inner.count() + 6
    x = np.array([0.1, 0.2, 0.3])
    plain = lambda x, y: (x * y, np.sin(x) + y)
    (a, b), (c, d) = plain(x, x[0]), plain(x * x[0], 2.0)
    np.testing.assert_allclose(interpret(program, x)[0], b + c + d, rtol=1e-15)
    np.testing.assert_array_equal(interpret(program, x)[1], a)


def test_what_is_constant_in_a_call_is_so_to_the_caller():
    """Zeros by structure stay, and equal results are one value."""
    inner = trace(lambda x: np.array([[x, 0.0], [x, 2.0]]), [()])
    M = None

    def f(x):
        nonlocal M
        M = calling(inner, lambda x: "plain")(x)
        return M

    program = trace(f, [()])
    assert M[0, 1] == 0.0 and M[1, 1] == 2.0 and M[0, 0].i == M[1, 0].i
    assert sum(n[0] == "get" for n in program.nodes) == 1
    np.testing.assert_array_equal(interpret(program, np.array(3.0)), [[3.0, 0.0], [3.0, 2.0]])
    assert calling(inner, lambda x: "plain")(1.0) == "plain"


@pytest.mark.parametrize(("f", "what"), [
    (lambda x, inner: calling(inner)(x, x), "shapes [(4,), (4,)]"),
    (lambda x, inner: calling(inner)(x[:3]), "shapes [(3,)]"),
    (lambda x, inner: calling(inner)(np.zeros(3), 1.0), "without traced values"),
])  # fmt: skip
def test_calls_with_other_arguments_are_refused(f, what):
    inner = trace(lambda x, y: x * y, [(3,), ()])
    with pytest.raises(TraceError, match=re.escape(what)) as caught:
        trace(lambda x: f(x, inner), [(4,)])
    assert str(caught.value).startswith(f"{__file__}:{f.__code__.co_firstlineno}: ")


def test_an_error_in_the_engine_is_placed_at_the_users_line():
    with pytest.raises(TraceError) as caught:
        trace(lambda x: engine.spatial.inertia.box(x[0], x[1:4]), [(4,)])
    assert str(caught.value).startswith(f"{__file__}:{sys._getframe().f_lineno - 1}: ")


BROKEN = {
    "reads a later one": lambda n, o: (n[:-1] + [("add", 0, 99)], o),
    "unknown op or arity": lambda n, o: (n[:-1] + [("mul", 0)], o),
    "unknown op": lambda n, o: (n[:-1] + [("frobnicate", 0, 1)], o),
    "mixes truth": lambda n, o: (n[:-1] + [("and", 0, 1)], o),
    "mixes truth values": lambda n, o: (n[:-1] + [("mul", 2, 0)], o),
    "mixes truth values, numbers and tables": lambda n, o: (n[:-1] + [("select", 0, 0, 1)], o),
    "reads input 7 of 2": lambda n, o: (n[:-1] + [("input", 7)], o),
    "is no number": lambda n, o: (n[:-1] + [("const", "1")], o),
    "gets nothing": lambda n, o: (n[:-1] + [("get", 0, 0)], o),
    "calls with": lambda n, o: (n[:-1] + [("call", 0, 0)], o),
    "3 results": lambda n, o: (n, [*o, 0, 0]),
    "result 0 is": lambda n, o: (n, [9]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_verifier_finds_what_is_wrong(what):
    inner = trace(lambda x, y: x, [(), ()])
    program = trace(lambda x, y: ops.where(x < y, x, y), [(), ()])
    verify(program)
    nodes, outputs = BROKEN[what](program.nodes, program.outputs)
    with pytest.raises(AssertionError, match=what):
        verify(Program(nodes, outputs, program.shapes_in, program.shapes_out, [inner]))


def test_every_operation_has_a_meaning_on_floats():
    assert set(ARITY) == {name for name, row in OPERATIONS.items() if row.numpy}


def test_a_decorator_of_pythons_is_no_place_of_the_users():
    """Where only the engine's functions are traced, an error is at the line that asked for it, not in contextlib."""

    def written(module, text, **names):
        exec(text, names := {"__name__": module, **names})
        return names["f"]

    inner = contextlib.contextmanager(lambda: (yield))()(written("engine.model", "def f(): return place()", place=users_place))
    traced = written("engine.compiler.transforms.trace", "def f(): return inner()", inner=inner)
    assert traced().startswith(f"{__file__}:")


def test_operations_of_functions_that_call_one_another_twice_are_counted_once_each():
    """As a flight in halves does, forty times deep: 2^40 paths."""
    deeper = trace(lambda x: x * x, [()])
    for _ in range(40):
        f = calling(deeper)
        deeper = trace(lambda x, f=f: f(f(x)), [()])
    assert deeper.count() == 2**40


def test_a_call_passes_on_what_is_read_alone():
    """Of a function of two vectors that reads one number of each, a call has two operands, and so has one around it."""
    inner = trace(lambda x, y: x[2] * y[0], [(4,), (3,)])
    middle = trace(lambda x, y: calling(inner)(x, y) + 1.0, [(4,), (3,)])
    outer = trace(lambda x, y: calling(middle)(x, y) * 2.0, [(4,), (3,)])
    (call,) = [node for node in outer.nodes if node[0] == "call"]
    assert len(call) == 4
    assert outer.functions[0].n_in == outer.functions[0].functions[0].n_in == 2
    assert outer.functions[0].arguments == ("x[2]", "y[0]")
    x, y = np.arange(4.0), np.array([5.0, 6.0, 7.0])
    assert interpret(outer, x, y) == engine.gufunc(lambda x, y: calling(middle)(x, y) * 2.0, "(a),(b)->()", a=4, b=3)(x, y) == 22.0
    assert inner.read[0].read[0] is inner.read[0]
