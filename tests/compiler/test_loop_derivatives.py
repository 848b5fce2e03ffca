"""Derivatives through loops of several passes: against their own lines unrolled, differences, and each other's direction."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import interpret, trace
from engine.compiler.transforms import loop_derivatives
from engine.compiler.transforms.jacobians import jacobian
from tests.compiler.programs import WIDTHS, loop
from tests.numeric import derivative

#: of a sum of some thousand products, each rounded once
CLOSE = 1e-11


def differences(f, x):
    """∂f/∂x by differences of order 8, entries of x last."""
    x = np.asarray(x, dtype=float)
    units = np.eye(x.size).reshape(-1, *x.shape)
    return np.stack([derivative(lambda h, e=e: f(x + h * e)) for e in units], axis=-1).reshape((*np.shape(f(x)), *x.shape))


@pytest.fixture(params=["forward", "backward"])
def way(request, monkeypatch):
    """Gradients by the Jacobian of the loop, or from its last pass to its first."""
    monkeypatch.setattr(loop_derivatives, "SMALL", 10**6 if request.param == "forward" else 0)
    return request.param


def mixed(x, once):
    """Passes that read what is outside, and end at different times; ``once`` is how a loop is taken."""
    A = np.array([[0.1, 0.5], [x[2], 0.2]], dtype=object if ops.graph_of(x) is not None else float)

    def pass_on(y):
        z = A @ y + ops.array([x[0] * y[1], ops.sin(x[1])])
        return z, z @ z > 40.0

    return once(pass_on, ops.array([x[0], 1.0 + x[3] * x[3]]), 7)


def looped(f, y, limit):
    return ops.while_loop(f, y, limit)[0]


def unrolled(f, y, limit):
    """The same as a straight line: where it is done, it stays."""
    done = False
    for _ in range(limit):
        z, now = f(y)
        y, done = ops.where(done, y, z), ops.logical_or(done, now)
    return y


X = np.array([[0.3, 0.4, 1.5, 0.2], [2.0, -1.0, 3.0, 1.0], [0.0, 0.0, 0.1, -2.0], [9.0, 1.0, 2.0, 0.0]])


def test_they_are_those_of_the_same_lines_one_after_another(way):
    """All entries, and of a scalar; samples that end after one pass, some, and at the limit."""
    for f in (lambda x, once: mixed(x, once), lambda x, once: mixed(x, once) @ mixed(x, once)):
        pair = [jacobian(trace(lambda x, once=once, f=f: f(x, once), [(4,)])) for once in (looped, unrolled)]
        found, expected = (np.array([interpret(J, [x])[0] for x in X]) for J in pair)
        np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE)


def test_plain_interpreted_and_compiled(way):
    f = lambda x: mixed(x, looped) @ ops.array([1.0, -2.0])
    J = jacobian(trace(f, [(4,)]))
    alone = np.array([interpret(J, [x])[0] for x in X])
    for x in (X[2], 0.1 * X[0], 0.1 * X[1]):                                    # whose passes are as many near by
        np.testing.assert_allclose(interpret(J, x), differences(f, x), rtol=1e-8, atol=1e-8)
    first = loop(J, 1)(X)
    np.testing.assert_allclose(first, alone, rtol=CLOSE, atol=CLOSE)
    assert all(np.array_equal(loop(J, width)(X), first) for width in WIDTHS)


def test_loops_in_loops_and_second_derivatives(way):
    """Powers: x³ᵏ by loops in loops, d/dx and d²/dx²."""
    def cube_times(x):
        cubed = lambda y: (ops.while_loop(lambda z: (z * y, False), 1.0, 3)[0], False)
        return ops.while_loop(cubed, x, 2)[0]

    slope = trace(lambda x: ops.jacobian(cube_times, x), [()])
    bend = trace(lambda x: ops.jacobian(lambda x: ops.jacobian(cube_times, x), x), [()])
    for x in (0.7, -1.3):
        assert interpret(trace(cube_times, [()]), x) == pytest.approx(x**9, rel=CLOSE)
        assert interpret(slope, x) == pytest.approx(9 * x**8, rel=CLOSE)
        assert interpret(bend, x) == pytest.approx(72 * x**7, rel=CLOSE)


def heat(u, k, n):
    """Tables that are carried, read by numbers, and a number that all rows read."""
    last = ops.total(ops.rows(lambda _: 1.0, u)) - 1.0
    left, right = ops.maximum(ops.row_numbers(u) - 1.0, 0.0), ops.minimum(ops.row_numbers(u) + 1.0, last)
    pass_on = lambda _, u: ops.rows(lambda a, b, c: b + k * (a - 2.0 * b + c) + 0.1 * k * b * b, ops.gather(u, left), u,
                                    ops.gather(u, right))  # fmt: skip
    return ops.each(pass_on, n, u)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_of_tables_backward_by_rows_and_forward_by_numbers(n):
    """Against differences, and the matrix that a step without the square is; 0.25 is no number of the table."""
    weights = lambda u: ops.total(ops.rows(lambda a, j: (1.0 + j) * a, u, ops.row_numbers(u)))
    f = lambda u, k: weights(heat(u, k, n))
    u, plain = np.random.default_rng(n).standard_normal(9), engine.gufunc(f, "(n),()->()")
    by_rows, by_k = engine.gradient(f, "(n),()->()")(u, 0.25), engine.gradient(f, "(n),()->()", 1)(u, 0.25)
    np.testing.assert_allclose(by_rows, differences(lambda u: plain(u, 0.25), u), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_k, differences(lambda k: plain(u, k), 0.25), rtol=1e-6, atol=1e-7)
    d = np.random.default_rng(1).standard_normal(9)                            # d·∇f by ∇f, and by a number along d
    along = engine.gradient(lambda s, u, d: f(ops.rows(lambda a, b: a + s * b, u, d), 0.25), "(),(n),(n)->()")
    assert along(0.0, u, d) == pytest.approx(d @ by_rows, rel=CLOSE)


def test_a_cloth_that_falls_step_by_step():
    """Energy of springs after steps, by where all knots were: sums to rows by their numbers, carried with velocities in a dictionary."""
    i, j = np.array([0.0, 1.0, 2.0, 0.0]), np.array([1.0, 2.0, 3.0, 3.0])

    def step(_, s):
        def pull(a, b):
            f = 3.0 * (b - a) * ((b - a) @ (b - a) - 1.0)
            return f, -f

        f = ops.add_at(0.0 * s["x"], (i, j), ops.rows(pull, ops.gather(s["x"], i), ops.gather(s["x"], j)))
        v = s["v"] + 0.01 * f
        return {"x": s["x"] + 0.01 * v, "v": v}

    def energy(x):
        s = ops.each(step, 5, {"x": x, "v": 0.0 * x})
        return ops.total(ops.rows(lambda v: 0.5 * v @ v, s["v"]))

    x = np.random.default_rng(0).standard_normal((4, 3))
    found, plain = engine.gradient(energy, "(n,3)->()")(x), engine.gufunc(energy, "(n,3)->()")
    np.testing.assert_allclose(found, differences(plain, x), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=CLOSE)             # moved as a whole, nothing changes


def test_a_robot_whose_controller_iterates():
    """A step of a pendulum under a torque that is found by iteration: A and B against differences of the step."""
    model = engine.load(engine.example("seven_joint_arm"))

    def control(t, q, v):
        tau, _ = ops.while_loop(lambda y: (0.5 * y - 2.0 * ops.sin(q) - 0.1 * v, False), 0.0 * q, 6)
        return tau

    simulator = engine.Simulator(model, 1e-3, controller=control, joint_dynamics=None)
    q, v = model.neutral() + 0.3, 0.1 + np.zeros(model.nv)
    A, _ = simulator.linearize(q, v)
    step = lambda x: np.concatenate([(s := simulator.step(simulator.start(x[:7], x[7:]))).q, s.v])
    np.testing.assert_allclose(A, differences(step, np.concatenate([q, v])), rtol=1e-6, atol=1e-8)
