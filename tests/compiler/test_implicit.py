"""Roots that know their derivatives."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.codegen.schedule import fused

A = np.array([[3.0, 1.0], [0.5, 2.0]])


def root_of(p):
    """x with A x + x³/10 = p₂ (p₀, p₁), by a loop through which no derivative passes."""
    def residual(x):
        return A @ x + 0.1 * x**3 - p[:2] * p[2]

    x, _ = ops.while_loop(lambda x: (x - ops.lu_solve(A + np.diag(0.3 * x * x), residual(x)), False), np.zeros(2), 30)
    return ops.implicit(residual, x)


P = np.array([1.0, 2.0, 0.7])
ROOT = engine.gufunc(root_of, "(3)->(2)")


def exact(p):
    """∂x/∂p by hand: (A + 3/10 diag x²)⁻¹ [p₂ 1, (p₀, p₁)]."""
    x = ROOT(p)
    return np.linalg.solve(A + np.diag(0.3 * x * x), np.column_stack([p[2] * np.eye(2), p[:2]]))


def test_first_derivatives():
    """Forward, and backward."""
    np.testing.assert_allclose(engine.jacobian(root_of)(P), exact(P), rtol=1e-14)
    np.testing.assert_allclose(engine.gradient(lambda p: root_of(p) @ np.array([1.0, 3.0]))(P), [1.0, 3.0] @ exact(P), rtol=1e-14)


def test_second_derivatives():
    """Of a derivative, forward and backward: against differences of the first."""
    way, h = np.array([1.0, 0.0, 2.0]), 1e-4
    differences = np.stack([(exact(P + h * e) - exact(P - h * e)) @ way / (2.0 * h) for e in np.eye(3)], axis=-1)
    found = engine.jacobian(lambda p: ops.jacobian(root_of, p) @ way)(P)
    np.testing.assert_allclose(found, differences, rtol=0, atol=10.0 * h * h)
    gradient = engine.jacobian(lambda p: engine.ops.jacobian(lambda p: root_of(p)[:1], p)[0])(P)
    np.testing.assert_allclose(gradient, gradient.T, rtol=0, atol=1e-14)


def test_in_a_branch_that_is_taken_or_not():
    """Numbers and derivatives of a root within a branch, in both modes."""
    def chosen(p):
        return ops.when(p[0] > 0.0, lambda: root_of(p), p[1:] * 2.0)

    J, other = engine.jacobian(chosen), np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    np.testing.assert_allclose(J(P), exact(P), rtol=1e-14)
    np.testing.assert_array_equal(J(-P), other)
    gradient = engine.gradient(lambda p: chosen(p) @ np.array([1.0, 3.0]))
    np.testing.assert_allclose(gradient(P), [1.0, 3.0] @ exact(P), rtol=1e-14)
    np.testing.assert_array_equal(gradient(-P), [1.0, 3.0] @ other)


def test_nothing_is_computed_for_derivatives_that_nobody_asks_for():
    """In machine code a root is its numbers."""
    def found(a):
        return ops.while_loop(lambda x: (x - (x * x - a) / (2.0 * x), False), a, 5)[0]

    f, g = (engine.gufunc(fn, "(n)->(n)", n=2) for fn in (found, lambda a: ops.implicit(lambda x: x * x - a, found(a))))
    assert fused(f.program) == fused(g.program)
    np.testing.assert_array_equal(g([2.0, 3.0]), engine.compiler.interpret(g.program, [2.0, 3.0]))
    np.testing.assert_array_equal(ops.implicit(lambda x: x - 1.0, np.ones(2)), np.ones(2))


def test_a_residual_of_another_shape_is_refused():
    with pytest.raises(engine.TraceError, match=r"a residual of shape \(3,\).*expected \(2,\), as many as there are unknowns"):
        engine.gufunc(lambda a: ops.implicit(lambda x: np.concatenate([x, a[:1]]), a), "(2)->(2)")
