"""Derivatives: every operation against differences, forward against reverse, calls against inlined code, and closed forms."""

import functools

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import TraceError, interpret, trace, verify
from engine.compiler.graph.expr import Graph
from engine.compiler.graph.operations import ARITY, OPERATIONS
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.rewrite import RULES
from engine.compiler.transforms import autodiff, jacobians
from engine.compiler.transforms.trace import calling
from tests.compiler.programs import ANALYTIC, SMOOTH, WIDTHS, bits, loop, random_function
from tests.numeric import check_lives, close, derivative

WALKS = [autodiff.forward, autodiff.reverse]


def walked(program, walk):
    """∂ outputs / ∂ inputs of a program by one of the walks, as a program."""
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(program.n_in)]
    y = [graph.index(s) for s in autodiff.inlined(program, graph, x)]
    J = np.full((len(y), len(x)), 0.0, dtype=object)
    for at, value in walk(graph, y, [s.i for s in x]).items():
        J[at] = value
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in J.ravel()])
    result = Program(nodes, outputs, program.shapes_in, [J.shape], graph.functions, "J")
    verify(result)
    return result


def differences(f, x, h=2e-3):
    """∂f/∂x by central differences of order 8: right to some 1e-12 of what is analytic and of order one."""
    return np.stack([derivative(lambda t: f(x + t * e), h) for e in np.eye(len(x))], axis=-1)


# ---------------------------------------------------------------- operations

#: operands of every operation with derivatives, away from its singular points
POINTS = {
    "add": [(0.3, -1.2)], "sub": [(0.3, -1.2)], "mul": [(0.3, -1.2)], "div": [(0.3, -1.2), (-2.0, 0.7)], "neg": [(0.3,)],
    "fma": [(0.3, -1.2, 0.4)], "min": [(0.3, -1.2), (-1.2, 0.3)], "max": [(0.3, -1.2), (-1.2, 0.3)],
    "select": [(1.0, 0.3, -1.2), (0.0, 0.3, -1.2)], "sqrt": [(0.7,), (9.0,)], "abs": [(0.3,), (-1.2,)],
    "sin": [(0.3,), (-2.0,)], "cos": [(0.3,), (-2.0,)], "tan": [(0.3,), (-1.0,), (2.5,)], "asin": [(0.3,), (-0.7,)],
    "acos": [(0.3,), (-0.7,)], "atan": [(0.3,), (-4.0,)], "exp": [(0.3,), (-2.0,)], "log": [(0.7,), (9.0,)], "tanh": [(0.3,), (-2.0,)],
    "atan2": [(0.3, -1.2), (-1.2, 0.8), (2.0, 1.0)], "pow": [(0.7, -1.2), (3.0, 2.5)], "fmod": [(7.3, 2.0), (-7.3, 2.0), (7.3, -2.0)],
    "c2": [(0.5,), (0.8,), (1.2,), (9.0,)], "c3": [(0.5,), (0.8,), (1.2,), (9.0,)],
}  # fmt: skip


#: piecewise constant, or constant by order
FLAT = {"floor", "stop_gradient", "lt", "le", "eq", "and", "or", "not"}


def test_every_operation_has_a_derivative_or_none():
    smooth, choices, flat = {n for n, row in OPERATIONS.items() if row.partials}, {"min", "max", "select"}, FLAT
    assert choices == {n for n, row in OPERATIONS.items() if row.chooses}
    assert smooth | choices | flat == set(ARITY) and smooth | choices == set(POINTS)
    assert not smooth & flat and not choices & (smooth | flat)


@pytest.mark.parametrize("op", POINTS)
@pytest.mark.parametrize("walk", WALKS)
def test_partial_derivatives(op, walk):
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(ARITY[op])]
    y = graph.make(op, *x)
    program = walked(Program(*live(graph.nodes, [y.i]), [()] * len(x), [()]), walk)
    for point in POINTS[op]:
        expected = differences(lambda x: OPERATIONS[op].numpy(*([bool(x[0]), *x[1:]] if op == "select" else x)), np.array(point))
        np.testing.assert_allclose(interpret(program, *point)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", sorted(FLAT))
def test_what_is_flat_has_no_derivative(op):
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(ARITY[op])]
    y = graph.make(op, *x)
    for walk in WALKS:
        assert walk(graph, [y.i], [s.i for s in x]) == {}


@pytest.mark.parametrize("op", [op for op in POINTS if ARITY[op] == 2])
@pytest.mark.parametrize("known", [0, 1])
def test_partial_derivatives_where_one_operand_is_known(op, known):
    for point in POINTS[op]:
        f = lambda t: OPERATIONS[op].numpy(*(point[k] if k == known else t for k in range(2)))
        g = trace(lambda t: LIFTED[op](*(point[k] if k == known else t for k in range(2))), [()])
        for walk in WALKS:
            x = point[1 - known]
            np.testing.assert_allclose(interpret(walked(g, walk), x)[0, 0], derivative(lambda s: f(x + s), 2e-3), rtol=1e-12, atol=1e-12)


LIFTED = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "min": ops.minimum,
          "max": ops.maximum, "atan2": ops.arctan2, "pow": ops.power, "fmod": ops.fmod}  # fmt: skip


def test_stumpff_functions_have_all_derivatives_through_zero():
    """By the series, k! times coefficients: what closed forms in θ = √x do not give."""
    f = lambda x: np.array(ops.stumpff(x))
    for order in range(5):
        expected = [(-1) ** order * np.prod(np.arange(1.0, order + 1)) / np.prod(np.arange(1.0, 2 * order + k + 1)) for k in range(4)]
        np.testing.assert_allclose(interpret(trace(f, [()]), 0.0), expected, rtol=1e-15)
        f = lambda x, f=f: ops.jacobian(lambda x: f(x[0]), np.array([x]))[:, 0]


# ---------------------------------------------------------------- walks


@pytest.mark.parametrize("seed", range(25))
def test_forward_is_reverse(seed):
    program = trace(random_function(seed, 40, SMOOTH, ()), [(4,)])
    J, R = (walked(program, walk) for walk in WALKS)
    x = np.random.default_rng(seed).uniform(-2, 2, (30, 4))
    close(interpret(J, x), interpret(R, x), 1e-13, 30)
    assert jacobians.sparsity(J)[0].tolist() == jacobians.sparsity(R)[0].tolist()


@pytest.mark.parametrize("seed", range(25))
def test_derivatives_are_limits_of_differences(seed):
    f = random_function(seed, 30, ANALYTIC, ())
    program = walked(trace(f, [(4,)]), autodiff.forward)
    for x in np.random.default_rng(seed).uniform(-1.5, 1.5, (5, 4)):
        np.testing.assert_allclose(interpret(program, x), differences(f, x), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(interpret(program, x), ops.jacobian(f, x), rtol=1e-9, atol=1e-10)  # by those that are used on floats


@pytest.mark.parametrize("seed", range(5))
def test_derivative_programs_mean_the_same_in_all_lives(seed):
    f = random_function(seed, 40, SMOOTH, ())
    x = np.random.default_rng(seed).uniform(-2, 2, (21, 4))
    for argument in (lambda x: f(x), lambda x: f(x)[0]):                      # forward, and reverse
        J = jacobians.jacobian(trace(argument, [(4,)]))
        verify(J)
        results = [loop(J, width)(x) for width in WIDTHS]
        assert all(bits(r) == bits(results[0]) for r in results)
        np.testing.assert_allclose(results[0], interpret(J, x), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_the_chain_rule(seed):
    f, g = (random_function(100 * seed + k, 20, ANALYTIC, ()) for k in range(2))
    inner = lambda x: np.array([*g(x), x[0]])
    J = {name: jacobians.jacobian(trace(h, [(4,)])) for name, h in [("f", f), ("g", inner), ("f∘g", lambda x: f(inner(x)))]}
    for x in np.random.default_rng(seed).uniform(-1.5, 1.5, (5, 4)):
        close(interpret(J["f∘g"], x), interpret(J["f"], interpret(trace(inner, [(4,)]), x)) @ interpret(J["g"], x), 1e-13)


def test_second_derivatives():
    """Rosenbrock's function of three, by hand; and a jacobian of a gradient is that of a jacobian, and symmetric."""
    f = lambda x: sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(2))
    gradient = jacobians.jacobian(trace(f, [(3,)]))
    x = np.array([-1.2, 1.0, 0.7])
    a, b = [x[i + 1] - x[i] ** 2 for i in range(2)]
    close(interpret(gradient, x), [-400 * x[0] * a - 2 * (1 - x[0]), 200 * a - 400 * x[1] * b - 2 * (1 - x[1]), 200 * b])
    H = jacobians.jacobian(gradient)
    d = [1200 * x[0] ** 2 - 400 * x[1] + 2, 1200 * x[1] ** 2 - 400 * x[2] + 202, 200]
    close(interpret(H, x), np.diag(d) + np.diag(-400 * x[:2], 1) + np.diag(-400 * x[:2], -1))
    assert jacobians.sparsity(H)[0].tolist() == [[True, True, False], [True, True, True], [False, True, True]]


@pytest.mark.parametrize("seed", range(8))
def test_hessians_are_symmetric(seed):
    f = random_function(seed, 30, ANALYTIC, ())
    H = jacobians.jacobian(jacobians.jacobian(trace(f, [(4,)])))                # of 3 results
    gradient = jacobians.jacobian(trace(lambda x: f(x)[0], [(4,)]))
    for x in np.random.default_rng(seed).uniform(-1, 1, (4, 4)):
        h = interpret(H, x)
        close(h, np.swapaxes(h, 1, 2), 1e-13)
        close(interpret(jacobians.jacobian(gradient), x), h[0], 1e-13)
        close(h[0], differences(lambda x: interpret(gradient, x), x), 1e-9)


# ---------------------------------------------------------------- results and arguments


@pytest.mark.parametrize("walk", WALKS)
def test_results_of_every_kind(walk):
    """An input, a constant, the same twice, what depends on part of the arguments, truth, and what only looks as if it depended."""
    f = lambda x: np.array([x[1], 3.0, x[1], x[0] * x[0], x[0] * x[2] + x[2], x[0] < x[1], x[2] * 0.0, ops.stop_gradient(x[0]) * x[2]])
    J = walked(trace(f, [(3,)]), walk)
    expected = [[0, 1, 0], [0, 0, 0], [0, 1, 0], [4, 0, 0], [5, 0, 3], [0, 0, 0], [0, 0, 0], [0, 0, 2]]
    assert interpret(J, [2.0, 3.0, 5.0]).tolist() == expected
    assert jacobians.sparsity(J)[0].tolist() == (np.array(expected) != 0).tolist()


def test_the_same_node_by_many_ways():
    """y = x₀⁸ by three squares, each of which reads one node twice; its 255-fold sum by nested ones."""
    for walk in WALKS:
        J = walked(trace(lambda x: ((x * x) * (x * x)) * ((x * x) * (x * x)), [()]), walk)
        assert interpret(J, 2.0)[0, 0] == 8 * 2.0**7
        J = walked(trace(lambda x: functools.reduce(lambda s, _: s + s + x, range(7), x), [()]), walk)
        assert interpret(J, 0.3)[0, 0] == 255.0


def test_structural_zeros_cost_nothing():
    """A chain of n links: a bidiagonal Jacobian of one multiplication an entry, whatever n is, and an arrow by reverse."""
    n = 12
    chain = lambda x: np.array([x[i] * x[i] * x[(i + 1) % n] for i in range(n)])
    J = walked(trace(chain, [(n,)]), autodiff.forward)
    assert jacobians.sparsity(J)[0].tolist() == (np.eye(n) + np.roll(np.eye(n), 1, 1) > 0).tolist()
    assert J.count() <= 4 * n
    assert walked(trace(chain, [(n,)]), autodiff.reverse).count() <= 4 * n
    gradient = jacobians.jacobian(trace(lambda x: functools.reduce(lambda p, y: p * y, x), [(n,)]))
    assert gradient.count() <= 3 * n                                          # Baur & Strassen: cheap, however many variables


def test_jacobian_of_each_argument_and_result():
    def f(x, A, s):
        return A @ x * s, x @ A @ x, A * s

    x, A, s = np.array([1.0, 2.0]), np.array([[1.0, -1.0], [0.5, 3.0]]), 2.0
    program, I = trace(f, [(2,), (2, 2), ()]), np.eye(2)
    by_x, by_A, by_s = (interpret(jacobians.jacobian(program, k), x, A, s) for k in range(3))
    for got, expected in zip((*by_x, *by_A, *by_s), (
        A * s, (A + A.T) @ x, np.zeros((2, 2, 2)),
        np.einsum("ik,l->ikl", I, x) * s, np.outer(x, x), np.einsum("ik,jl->ijkl", I, I) * s,
        A @ x, 0.0, A,
    ), strict=True):  # fmt: skip
        close(got, expected)


@pytest.mark.parametrize("x", [lambda x: [x[0], 1.0], lambda x: [x[0], x[0]], lambda x: [x[0], -0.0]])
def test_what_is_no_variable_is_refused(x):
    """A constant is one node with its equals, and so is what comes twice: their derivatives would be others'."""
    with pytest.raises(TraceError, match="twice") as caught:
        trace(lambda y: ops.jacobian(lambda z: z[0] * z * 1.0 + 1.0, np.array(x(y))), [(1,)])
    assert str(caught.value).startswith(f"{__file__}:")


def test_a_derivative_by_traced_values_that_are_made_on_the_way():
    """By x₀ and s = 2 x₁ of sin(x₀) s, with the sine made before s was; and of both by x₀ again."""
    def f(x):
        sine, s = ops.sin(x[0]), 2.0 * x[1]
        return np.array([*ops.jacobian(lambda y: ops.sin(y[0]) * y[1], np.array([x[0], s])), sine])

    program, (a, b) = trace(f, [(2,)]), (0.3, 0.7)
    close(interpret(program, [a, b]), [2 * b * np.cos(a), np.sin(a), np.sin(a)])
    close(interpret(jacobians.jacobian(program), [a, b]), [[-2 * b * np.sin(a), 2 * np.cos(a)], [np.cos(a), 0], [np.cos(a), 0]])


# ---------------------------------------------------------------- singular points


def test_a_singular_branch_that_is_not_taken_does_not_matter_forward():
    """sin x/x at 0, and √x of a negative x."""
    f = lambda x: ops.where(ops.equal(x, 0.0), 1.0 - x * x / 6.0, ops.sin(x) / x)
    J = jacobians.jacobian(trace(f, [()]))
    assert interpret(J, 0.0) == 0.0
    close(interpret(J, 0.7), np.cos(0.7) / 0.7 - np.sin(0.7) / 0.49)
    J = jacobians.jacobian(trace(lambda x: ops.where(x < 0.0, 3.0 * x, ops.sqrt(x)), [()]))
    assert [float(interpret(J, x)) for x in (-1.0, 0.25)] == [3.0, 1.0]
    J = jacobians.jacobian(trace(lambda x: ops.minimum(x, ops.log(x + 2.0) * 1e9), [()]))
    assert interpret(J, 5.0) == 1.0


def test_safe_denominators_do_in_reverse():
    def f(x):
        s = x @ x
        near = s < 1e-8
        return ops.where(near, 1.0 - s / 6.0, ops.sin(ops.sqrt(ops.where(near, 1.0, s))) / ops.sqrt(ops.where(near, 1.0, s)))

    gradient = walked(trace(f, [(3,)]), autodiff.reverse)
    assert interpret(gradient, np.zeros(3)).tolist() == [[0, 0, 0]]
    r = 1.3
    close(interpret(gradient, [0.0, r, 0.0]), [[0, (r * np.cos(r) - np.sin(r)) / r**2, 0]])


@pytest.mark.parametrize("walk", WALKS)
def test_lengths_and_drag_at_rest(walk):
    """|v| and |v| v have the derivative 0 at v = 0, and none beyond v̂ᵀ and 2|v| near it, however near."""
    length, drag = (walked(trace(f, [(3,)]), walk) for f in (ops.norm, lambda v: ops.norm(v) * v))
    one = walked(trace(lambda v: abs(v) * v, [()]), walk)
    assert not interpret(length, np.zeros(3)).any() and not interpret(drag, np.zeros(3)).any() and interpret(one, 0.0) == 0.0
    for size in 10.0 ** np.arange(-320.0, 150.0, 5.0):
        v = size * np.array([0.6, 0.0, -0.8])
        assert np.abs(interpret(length, v)).max() <= 1.6                      # 1 until |v|² rounds as it underflows
        assert np.abs(interpret(drag, v)).max() <= 3 * size
        if size > 1e-153:
            close(interpret(length, v), [v / size])
            close(interpret(drag, v), size * np.eye(3) + np.outer(v, v) / size)


# ---------------------------------------------------------------- calls and loops

INNER = random_function(7, 15, ANALYTIC, ())


@pytest.mark.parametrize("walk", WALKS)
def test_a_call_is_differentiated_as_if_it_were_written_out(walk):
    innermost = trace(INNER, [(4,)])
    middle = lambda x, f: f(np.array([x[1], *f(x)])) * x[0]
    whole = lambda x, f: middle(x, f) + middle(np.array([*f(x), 0.25]), f)
    called = trace(lambda x: whole(x, lambda y: calling(trace(lambda x: middle(x, calling(innermost)), [(4,)]))(y)), [(4,)])
    inlined = trace(lambda x: whole(x, lambda y: middle(y, INNER)), [(4,)])
    x = np.random.default_rng(0).uniform(-1, 1, (20, 4))
    close(interpret(called, x), interpret(inlined, x), 1e-14, 20)
    J, expected = walked(called, walk), walked(inlined, walk)
    close(interpret(J, x), interpret(expected, x), 1e-13, 20)
    close(loop(J, 4)(x), interpret(expected, x), 1e-13, 20)
    H = jacobians.jacobian(J)
    close(interpret(H, x), interpret(jacobians.jacobian(expected), x), 1e-12, 20)
    derivatives = [f for f in J.functions if f.name.startswith("d_")]
    assert len(derivatives) == 1 and len(J.functions) == 2                    # one Jacobian, however many calls


@pytest.mark.parametrize("directions", [1, 2])
def test_few_directions_go_back_through_a_call_by_themselves(directions):
    """A sum of results, by weights: what its gradient costs grows as the function does, and not as its Jacobian, which is full."""
    sizes = []
    for n in (8, 16, 32):
        swept = lambda x: np.array([s := 0.0, *[s := ops.sin(s + y) for y in x], *[s := ops.cos(s * y) for y in x[::-1]]][1:])
        inner = trace(swept, [(n,)])
        weighted = lambda x, w, f: np.array([w[k] @ f(x) for k in range(directions)])
        both = [trace(lambda x, w, f=f: weighted(x, w, f), [(n,), (directions, 2 * n)]) for f in (calling(inner), swept)]
        x, w = (np.random.default_rng(n).uniform(0.5, 1.0, shape) for shape in ((5, n), (5, directions, 2 * n)))
        J, expected = map(jacobians.jacobian, both)
        close(interpret(J, x, w), interpret(expected, x, w), 1e-13, 5)
        close(loop(J, 4)(x, w), interpret(J, x, w), 1e-13, 5)
        by_differences = differences(lambda x: weighted(x, w[0], swept), x[0])
        close(interpret(J, x[0], w[0]), by_differences, 1e-9)
        sizes.append(len(J.nodes) + sum(len(f.nodes) for f in J.functions))
    assert sizes[2] < 2.2 * sizes[1] < 2.2 * 2.2 * sizes[0], sizes


def test_a_call_has_the_zeros_of_its_function():
    """Also those that sums leave: (x + s) − x."""
    inner = trace(lambda x, s: (np.array([x[0] * s, (2.0 * x[1] + s) - s, 5.0]), x[0] < s), [(2,), ()])
    J, rows = autodiff.jacobian_program(inner)
    assert rows == {0: [(0, 0), (2, 1)], 1: [(1, 2)]} and len(J.outputs) == 3
    assert interpret(J, [3.0, 4.0], 7.0) == (7.0, 3.0, 2.0)
    f = lambda x: calling(inner)(x[1:], x[0])
    by_call = engine.jacobian(lambda x: f(x)[0])
    assert by_call([7.0, 3.0, 4.0]).tolist() == [[3, 7, 0], [0, 0, 2], [0, 0, 0]]
    assert by_call.sparsity(np.zeros(3)).tolist() == [[True, True, False], [False, False, True], [False] * 3]
    assert not jacobians.sparsity(jacobians.jacobian(trace(lambda x: f(x)[1], [(3,)])))[0].any()
    assert autodiff.jacobian_program(trace(lambda x: (x[0] + x[1]) - x[0], [(2,)]))[1] == {0: [(1, 0)]}  # in reverse
    constant = trace(lambda x: (3.0, x < 0.0), [()])
    assert not jacobians.sparsity(jacobians.jacobian(trace(lambda x: calling(constant)(x)[0] + 1.0, [()])))[0].any()


def heron(a, x):
    return ops.while_loop(lambda y: (0.5 * (y + a / y), ops.absolute(y * y - a) < 1e-12), x, 30)


@pytest.mark.parametrize("walk", WALKS)
def test_a_loop_has_the_derivatives_of_its_passes(walk):
    """Of what it is read (0), starts from (1) or is read by a call (2): by then those of √a, and none of the guess; none through
    ``stop_gradient``, conditions or steps (3, 4, 5), nor beside it."""
    called = calling(trace(lambda a: heron(a, 1.0)[0], [()]))

    def f(x):
        y, done = heron(x[0], 1.0)
        start, _ = heron(2.0, x[0])
        return np.array([y, start, called(x[0]), ops.stop_gradient(y) * x[1], ops.where(done, x[0], 7.0), ops.floor(y) + x[1], x[1] * x[1]])

    J = walked(trace(f, [(2,)]), walk)
    root, slope = np.sqrt(2.0), 0.5 / np.sqrt(2.0)
    with np.errstate(invalid="ignore"):
        for life in (interpret(J, [[2.0, 3.0]])[0], *(loop(J, width)(np.array([[2.0, 3.0]] * 3))[2] for width in WIDTHS)):
            np.testing.assert_allclose(life, [[slope, 0], [0, 0], [slope, 0], [0, root], [1, 0], [0, 1], [0, 6]],
                                       rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("walk", WALKS)
def test_one_step_after_a_loop_carries_the_derivatives(walk):
    """√a by Heron's method to a few digits, held, and a step of Newton's: exact derivatives by the implicit function theorem."""
    def f(a):
        y = ops.stop_gradient(heron(a, 1.0)[0])
        return y - (y * y - a) / (2.0 * y)

    a = np.array([0.5, 2.0, 9.0])
    close(interpret(walked(trace(f, [()]), walk), a)[:, 0, 0], 0.5 / np.sqrt(a))


def test_derivatives_inside_a_loop():
    """Newton's method with a derivative that is traced in the body: a lane each, and of what the body reads too."""
    def f(a, x):
        def advance(y):
            r = lambda y: np.array([y[0] * y[0] - a, y[0] * y[1] - 1.0])
            d = ops.lu_solve(ops.jacobian(r, y), r(y))
            return y - d, ops.largest(d) < 1e-9 * ops.largest(y)

        return ops.while_loop(advance, x, 30)[0]

    a = np.linspace(0.1, 9, 11)
    check_lives(f, a, np.ones((11, 2)), tolerance=1e-14)
    close(np.array([f(b, np.ones(2)) for b in a]), np.stack([np.sqrt(a), 1 / np.sqrt(a)], -1), 1e-14)
