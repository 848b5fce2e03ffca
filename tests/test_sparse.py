"""Cholesky's decomposition of sparse blocks: against dense matrices, SciPy's sparse ones, and a decomposition of structure alone."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

import engine
from engine.ops.sparse import Plan, block_cholesky, block_plan, block_solve

EPS = np.finfo(float).eps


def heap(n, seed=0):
    """The blocks on the diagonal (n, 36), pairs (m, 2) and blocks beside it (m, 36) of n bodies: 1 + Σ Jᵀ J of those that touch."""
    draw = np.random.default_rng(seed)
    p = draw.random((n, 3)) * n ** (1.0 / 3.0)
    near = np.linalg.norm(p[:, None] - p, axis=-1) < 1.0
    pairs = np.array([(i, j) for i, j in np.argwhere(near) if i != j and (i + j) % 2 == (i < j)])
    J = draw.standard_normal((len(pairs), 2, 6, 6))
    diagonal, blocks = np.tile(np.eye(6), (n, 1, 1)), np.einsum("mki,mkj->mij", J[:, 0], J[:, 1])
    for (a, b), (A, B) in zip(pairs, J, strict=True):
        diagonal[a] += A.T @ A
        diagonal[b] += B.T @ B
    return diagonal.reshape(n, 36), pairs.astype(float), blocks.reshape(len(pairs), 36)


def dense(diagonal, pairs, blocks):
    n = len(diagonal)
    A = np.zeros((n, 6, n, 6))
    A[np.arange(n), :, np.arange(n)] = diagonal.reshape(n, 6, 6)
    for (a, b), x in zip(pairs.astype(int), blocks.reshape(-1, 6, 6), strict=True):
        A[a, :, b] += x
        A[b, :, a] += x.T
    return A.reshape(6 * n, 6 * n)


def solved(diagonal, pairs, blocks, b):
    plan = Plan(*block_plan(diagonal, pairs))
    return block_solve(plan.order, plan.start, plan.row, *block_cholesky(diagonal, pairs, blocks, *plan[1:]), b)


@pytest.fixture(scope="module")
def compiled():
    return engine.gufunc(solved, "(n,36),(m,2),(m,36),(n,6)->(n,6)")


@pytest.mark.parametrize("n", [2, 7, 40])
def test_plain_is_compiled_and_solves_the_dense_system(compiled, n):
    given, b = heap(n, n), np.random.default_rng(1).standard_normal((n, 6))
    A, x = dense(*given), solved(*given, b)
    np.testing.assert_array_equal(compiled(*given, b), x)
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(A, b.ravel()), rtol=0.0, atol=64 * EPS * np.linalg.cond(A) * np.abs(x).max())


def test_many_as_scipy_solves_them(compiled):
    given, b = heap(300), np.random.default_rng(1).standard_normal((300, 6))
    A = dense(*given)
    x, theirs = compiled(*given, b).ravel(), splu(csc_matrix(A)).solve(b.ravel())
    np.testing.assert_allclose(x, theirs, rtol=0.0, atol=64 * EPS * np.linalg.cond(A) * np.abs(x).max())


@pytest.mark.parametrize("n", [5, 30])
def test_a_plan_takes_the_fewest_neighbours_first_and_has_every_block_that_fills_in(n):
    """By elimination of sets, of which each plan is one."""
    diagonal, pairs, _ = heap(n, n)
    order, place, start, row = (x.astype(int) for x in block_plan(diagonal, pairs))
    pairs = pairs.astype(int)
    near = [{int(b) for x, b in [*pairs, *pairs[:, ::-1]] if x == a} for a in range(n)]
    left = set(range(n))
    for k, v in enumerate(order):
        assert (len(near[v]), v) == min((len(near[u]), u) for u in left) and place[v] == k
        assert sorted(place[list(near[v])]) == row[start[k] : start[k + 1]].tolist()
        left.remove(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}


def test_what_is_not_positive_definite_is_nan(compiled):
    diagonal, pairs, blocks = heap(7, 7)
    with np.errstate(invalid="ignore"):
        assert np.isnan(compiled(-diagonal, pairs, blocks, np.ones((7, 6)))).any()


def test_parts_that_nothing_joins_have_the_bits_that_they_have_alone(compiled):
    one, other, b = heap(20, 1), heap(30, 2), np.random.default_rng(3).standard_normal((50, 6))
    both = [np.concatenate(x) for x in zip(one, (other[0], other[1] + 20.0, other[2]), strict=True)]
    np.testing.assert_array_equal(compiled(*both, b), np.concatenate([compiled(*one, b[:20]), compiled(*other, b[20:])]))
