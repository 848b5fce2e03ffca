"""``engine.jacobian`` and ``engine.gradient``: shapes, batches, what they take, and what they say about what they do not."""

import inspect
import re

import numpy as np
import pytest

import engine
from engine import ArgumentError, Gufunc, TraceError, gradient, gufunc, jacobian, ops
from tests.compiler.programs import bits

A = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])


def swirl(x, s):
    return np.array([ops.sin(x[0]) * s, x[0] * x[1], ops.exp(x[1]) + s])


def swirl_by_x(x, s):
    return np.array([[np.cos(x[0]) * s, 0], [x[1], x[0]], [0, np.exp(x[1])]])


def swirl_by_s(x, s):
    return np.array([np.sin(x[0]), 0, 1])


X, S = np.array([[0.3, -1.2], [2.0, 0.5], [-0.7, 0.1]]), np.array([1.5, -0.5, 2.0])


@pytest.mark.parametrize(("fn", "x", "expected"), [
    (lambda x: x**3, 2.0, 12.0),
    (lambda x: x**3, 2, 12.0),
    (lambda x: np.array([x, 3.0, x * x]), 2.0, [1, 0, 4]),
    (lambda x: x @ x, [1.0, 2.0], [2, 4]),
    (lambda x: A @ x, [1.0, 2.0, 3.0], A),
    (lambda X: X[0] * X[1], A, [[[0.25, 0, 0], [1, 0, 0]], [[0, 3, 0], [0, -2, 0]], [[0, 0, -1], [0, 0, 0.5]]]),
    (lambda x: x[0] * A, [5.0, 7.0], np.stack([A, np.zeros((2, 3))], axis=-1)),
    (lambda x: 3.0, [1.0, 2.0], [0, 0]),
    (lambda x: x, np.zeros((0,)), np.zeros((0, 0))),
    (lambda x: np.array([x @ x + 1.0] * 2), np.zeros((0,)), np.zeros((2, 0))),
])  # fmt: skip
def test_the_shape_is_the_results_then_the_arguments(fn, x, expected):
    J = jacobian(fn)(x)
    assert np.shape(J) == np.shape(expected) and np.array_equal(J, expected)
    if np.shape(fn(np.asarray(x))) == ():
        assert np.array_equal(gradient(fn)(x), expected)


def test_several_results_and_arguments():
    f = lambda x, s: (swirl(x, s), s * s, x[0])
    for fn in (jacobian(f), jacobian(f, "(2),()->(3),(),()")):
        by_x, zero, one = fn(X[0], S[0])
        np.testing.assert_allclose(by_x, swirl_by_x(X[0], S[0]), rtol=1e-15)
        assert zero.tolist() == [0, 0] and one.tolist() == [1, 0]
    for argument in (1, np.int64(1)):
        by_s, two_s, zero = jacobian(f, argument=argument)(X[0], S[0])
        np.testing.assert_allclose(by_s, swirl_by_s(X[0], S[0]), rtol=1e-15)
        assert (two_s, zero) == (2 * S[0], 0)


@pytest.mark.parametrize(("argument", "by_hand"), [(0, swirl_by_x), (1, swirl_by_s)])
def test_with_a_signature_it_takes_batches(argument, by_hand):
    expected = np.array([by_hand(*row) for row in zip(X, S, strict=True)])
    compiled = gufunc(swirl, "(n),()->(m)", n=2)
    for J in (jacobian(swirl, "(n),()->(m)", argument, n=2), jacobian(compiled, argument=argument)):
        assert isinstance(J, Gufunc)
        np.testing.assert_allclose(J(X, S), expected, rtol=1e-15)
        assert bits([J(*row) for row in zip(X, S, strict=True)]) == bits(J(X, S))
        assert J(X[:, None], S).shape == (3, 3, *expected.shape[1:])
        out = np.empty_like(expected)
        assert J(X, S, out=out) is out and bits(out) == bits(J(X, S)) == bits(J(s=S, x=X))
        assert list(inspect.signature(J).parameters) == ["x", "s", "out"]
        with pytest.raises(ArgumentError, match=r"jacobian_of_swirl: s has shape \(2,\).*|jacobian_of_swirl.*batches"):
            J(X, S[:2])
        with pytest.raises(ArgumentError, match=r"jacobian_of_swirl: x has shape \(3, 1\); expected \(..., 2\)"):
            J(X[:, :1], S)
    energy = gradient(lambda x, s: s * (x @ x), "(n),()->()", argument, n=2)
    np.testing.assert_allclose(energy(X, S), 2 * S[:, None] * X if argument == 0 else np.vecdot(X, X), rtol=1e-15)


def test_derivatives_of_derivatives():
    f = lambda x: x[0] ** 3 * x[1]
    hessian = [[6 * 2.0 * 5.0, 3 * 4.0], [3 * 4.0, 0.0]]
    for H in (jacobian(gradient(f)), jacobian(jacobian(f)), jacobian(gradient(f, "(2)->()")), jacobian(jacobian(gufunc(f, "(2)->()")))):
        assert H([2.0, 5.0]).tolist() == hessian
    third = jacobian(jacobian(gradient(f)))([2.0, 5.0])
    assert third[0].tolist() == [[30, 12], [12, 0]] and third[1].tolist() == [[12, 0], [0, 0]]


def test_in_another_traced_function():
    """A step of Newton's method on a compiled Jacobian is traced like any other, and has a derivative itself."""
    f = lambda x: np.array([x[0] * x[0] - x[1], x[1] * x[1] - 16.0])
    for J in (jacobian(f), jacobian(f, "(2)->(2)")):
        step = lambda x: x - ops.lu_solve(J(x), f(x))
        compiled = gufunc(step, "(2)->(2)")
        x = np.array([[2.5, 4.5], [1.5, 3.0]])
        np.testing.assert_allclose(compiled(x), [x[k] - np.linalg.solve(J(x[k]), f(x[k])) for k in range(2)], rtol=1e-15)
        assert np.abs(jacobian(step)([2.0, 4.0])).max() < 1e-15               # at the root: quadratic convergence
        assert any(n[0] == "call" for n in compiled.program.nodes)


def test_it_is_made_once_for_each_shape():
    traced = []

    def f(x):
        traced.append(x.shape)
        return x * x

    J = jacobian(f)
    for n in (2, 3, 2, 3):
        assert J(np.arange(1.0, n + 1)).tolist() == np.diag(2 * np.arange(1.0, n + 1)).tolist()
        assert J.sparsity(np.zeros(n)).tolist() == np.eye(n, dtype=bool).tolist()
    assert traced == [(2,), (2,), (3,), (3,)]                                 # twice each: see engine.compiler.transforms.trace.pure


def test_sparsity_is_a_tree_s():
    """Of x₀, x₁ + x₀, … along the branches of a tree: who is above whom. One array a result."""
    parents = [-1, 0, 0, 1, 1, 2]
    above = np.eye(6, dtype=bool)
    for i, p in enumerate(parents):
        above[i] |= above[p] if p >= 0 else False

    def f(x):
        y = []
        for i, p in enumerate(parents):
            y.append(ops.sin(x[i]) * (y[p] if p >= 0 else 1.0))
        return np.array(y), y[5] * 2.0, x[0] * 0.0

    whole, last, none = jacobian(f).sparsity(np.zeros(6))
    assert whole.tolist() == above.tolist() and last.tolist() == above[5].tolist() and not none.any()
    assert last.dtype == bool


def test_names_are_those_of_the_function():
    assert repr(jacobian(swirl, argument=1)) == "<jacobian of swirl by argument 1>"
    assert repr(gradient(swirl)) == "<gradient of swirl by argument 0>" and jacobian(swirl).__name__ == "jacobian of swirl"
    J = jacobian(swirl, "(2),()->(3)")
    assert J.__name__ == "swirl" and J.name == "jacobian_of_swirl" and J.signature == "(2),()->(3,2)"
    with pytest.warns(RuntimeWarning, match="jacobian_of_f returned NaN or infinity"):
        def f(x): return ops.log(x)
        assert jacobian(f)(0.0) == np.inf
    assert engine.jacobian is jacobian and engine.gradient is gradient


@pytest.mark.parametrize(("call", "what"), [
    (lambda: jacobian(3.0), "expected a function to differentiate, got 3.0"),
    (lambda: jacobian(swirl, argument=-1), "the argument to differentiate by is -1; expected its number, from 0"),
    (lambda: jacobian(swirl, argument=1.0), "the argument to differentiate by is 1.0; expected its number"),
    (lambda: jacobian(swirl, argument=True), "the argument to differentiate by is True; expected its number"),
    (lambda: jacobian(swirl, argument="s"), "the argument to differentiate by is 's'; expected its number"),
    (lambda: jacobian(swirl, argument=2)(X[0], 1.0), "swirl got 2 arguments; expected at least 3, to differentiate by argument 2"),
    (lambda: jacobian(swirl, "(2),()->(3)", 2), "swirl has 2 arguments; there is no argument 2"),
    (lambda: jacobian(swirl)(), "jacobian of swirl got 0 arguments; expected at least 1"),
    (lambda: gradient(swirl)(X[0], 1.0), "swirl returns shape (3,); a gradient is of one number; engine.jacobian takes arrays"),
    (lambda: gradient(swirl, "(2),()->(3)"), "swirl returns shape (3,)"),
    (lambda: gradient(lambda x: (x, x))(1.0), "<lambda> returns shape (), (); a gradient is of one number"),
    (lambda: jacobian(swirl, "(2)->(3)"), "swirl takes 2 arguments; '(2)->(3)' has 1"),
    (lambda: jacobian(swirl, "(n),()->(3)"), "the size 'n' of '(n),()->(3)' is not given"),
    (lambda: jacobian(lambda X: 2.0 * X, "(n,2)->(n,2)"),
     "the Jacobian of '(n,2)->(n,2)' has the shape (n,2,n,2), of more than three dimensions; expected flat arrays of sizes that are given, "
     "as of lambda x: np.ravel(f(x.reshape(-1, 2)))"),
    (lambda: jacobian(swirl, arguement=1), "jacobian of swirl got arguement=… without a signature"),
    (lambda: gradient(gufunc(swirl, "(2),()->(3)"), n=2), "gradient of swirl got n=… without a signature"),
    (lambda: jacobian(swirl)([[1.0], [1.0, 2.0]], 1.0), "jacobian of swirl: argument_0 is not rectangular"),
    (lambda: jacobian(lambda x: x)("ab"), "argument_0 holds <U2; expected real numbers"),
    (lambda: jacobian(lambda X: X * 2.0)(np.zeros((2, 2))),
     "has the shape (2, 2, 2, 2), of more than three dimensions; expected flat arrays, as of "
     "lambda argument_0: np.ravel(f(argument_0.reshape(2, 2))) with the signature '(4)->(4)'"),
    (lambda: jacobian(lambda X, k: (X * k, k), "(n,2),()->(n,2),()", n=5),
     "lambda X, k: tuple(np.ravel(y) for y in f(X.reshape(5, 2), k)) with the signature '(10),()->(10),(1)'"),
])  # fmt: skip
def test_errors_say_what_was_expected(call, what):
    with pytest.raises(ArgumentError, match=re.escape(what)):
        call()


def test_what_cannot_be_traced_is_refused_at_its_line():
    fn = lambda x: x if x > 0 else -x
    with pytest.raises(TraceError, match=f"^{re.escape(__file__)}:{fn.__code__.co_firstlineno}: a decision on a traced value"):
        jacobian(fn)(1.0)


def test_what_is_read_besides_arguments_holds_as_it_was_when_traced():
    """As the docstrings say: at the first call with each set of shapes, or when the signature is given."""
    scale = [2.0]
    fn = lambda x: (x * scale[0]).sum()
    gradient, fixed, compiled = engine.gradient(fn), engine.gradient(fn, "(n)->()", n=2), engine.gufunc(fn, "(n)->()", n=2)
    assert gradient([1.0, 1.0]).tolist() == [2.0, 2.0]
    scale[0] = 3.0
    assert gradient([1.0, 1.0]).tolist() == fixed([1.0, 1.0]).tolist() == [2.0, 2.0] and compiled([1.0, 1.0]) == 4.0
    assert gradient([1.0]).tolist() == [3.0]


def test_the_root_at_zero():
    """Infinite in truth; finite, so that the gradient of a length at 0 is 0, and not NaN."""
    assert engine.gradient(lambda x: np.sqrt(x[0]))([0.0])[0] == pytest.approx(5e161, rel=1e-15)
    assert engine.gradient(lambda x: engine.ops.norm(x))([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert engine.gradient(lambda x: np.sqrt(x[0]))([4e-320])[0] == pytest.approx(0.5 / np.sqrt(4e-320), rel=1e-15)


def test_a_jacobian_of_too_many_dimensions_is_one_of_flat_arrays():
    """What the error advises is that Jacobian, its rows and columns flat."""
    def f(X, k):
        return k * X**3

    with pytest.raises(ArgumentError) as caught:
        jacobian(f, "(n,2),()->(n,2)", n=3)
    way, signature = re.search(r"as of (.*) with the signature '(.*)'", str(caught.value)).groups()
    X = np.arange(6.0).reshape(3, 2)
    J = jacobian(eval(way, {"f": f, "np": np}), signature)(X.ravel(), 2.0)
    np.testing.assert_array_equal(J, np.diag(6.0 * X.ravel() ** 2))
