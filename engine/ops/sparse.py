"""Cholesky's decomposition of sparse symmetric matrices of blocks, of as many as there are when the program runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.ops.procedure import bit_count, floats, ints, lowest_bit, procedure

#: numbers of a block and of its side; bits of a word
BLOCK, SIDE, BITS = 36, 6, 62


class Plan(NamedTuple):
    """Symbolic factorisation: where the blocks of a decomposition lie, as tables, rows in the order in which they are eliminated.

    Attributes
    ----------
    order : (n), the number of the row that is eliminated as the k-th
    place : (n), as which a row is eliminated
    start : (n + 1), where the blocks below each diagonal one begin, column after column
    row : (m), as which the row of such a block is eliminated, increasing in a column

    >>> import numpy as np
    >>> from engine import ops
    >>> plan = ops.Plan(*ops.block_plan(np.zeros((2, 36)), np.array([[0, 1]])))
    >>> np.asarray(plan.order), np.asarray(plan.start)
    (array([0., 1.]), array([0., 1., 1.]))
    """

    order: Any
    place: Any
    start: Any
    row: Any


@procedure
def block_plan(diagonal: Any, pairs: Any) -> Any:
    """Return the :class:`Plan` of a matrix with as many blocks on its diagonal (n, 36), and blocks beside it at ``pairs`` (m, 2) of rows.

    The row with the fewest neighbours is eliminated next, of several the first: a function of the graph alone.

    Reference: George & Liu, *The evolution of the minimum degree ordering algorithm*, SIAM Review 31 (1989).

    >>> import numpy as np
    >>> from engine import ops
    >>> plan = ops.Plan(*ops.block_plan(np.zeros((3, 36)), np.array([[0, 1], [1, 2]])))  # a chain of three
    >>> np.asarray(plan.order), np.asarray(plan.start)  # an end goes first
    (array([0., 1., 2.]), array([0., 1., 2., 2.]))
    """
    count = len(diagonal)
    words = (count + BITS - 1) // BITS
    near = ints(count * words)                                                 # of each row, the bits of its neighbours
    alike = ints((count + 1) * words)                                          # of each degree, the rows that have it
    degree = ints(count)
    order = floats(count)
    place = floats(count)
    start = floats(count + 1)
    for k in range(len(pairs)):
        a, b = int(pairs[k, 0]), int(pairs[k, 1])
        if a != b:
            near[a * words + b // BITS] = near[a * words + b // BITS] | 1 << b % BITS
            near[b * words + a // BITS] = near[b * words + a // BITS] | 1 << a % BITS
    for a in range(count):
        for w in range(words):
            degree[a] += bit_count(near[a * words + w])
        alike[degree[a] * words + a // BITS] += 1 << a % BITS
    least = 0
    fill = 0
    for k in range(count):
        least = max(least - 1, 0)
        v = -1
        while v < 0:
            for w in range(words):
                if alike[least * words + w] != 0:
                    v = w * BITS + lowest_bit(alike[least * words + w])
                    break
            if v < 0:
                least += 1
        alike[least * words + v // BITS] -= 1 << v % BITS
        order[k], place[v] = v, k
        start[k] = fill
        fill += degree[v]
        for w in range(words):
            left = near[v * words + w]
            while left != 0:
                u = w * BITS + lowest_bit(left)
                left = left & left - 1
                alike[degree[u] * words + u // BITS] -= 1 << u % BITS
                degree[u] = 0
                for x in range(words):
                    near[u * words + x] = near[u * words + x] | near[v * words + x]
                near[u * words + u // BITS] = near[u * words + u // BITS] & -1 - (1 << u % BITS)
                near[u * words + v // BITS] = near[u * words + v // BITS] & -1 - (1 << v % BITS)
                for x in range(words):
                    degree[u] += bit_count(near[u * words + x])
                alike[degree[u] * words + u // BITS] += 1 << u % BITS
                least = min(least, degree[u])
    start[count] = fill
    row = floats(fill)
    for k in range(count):
        v = int(order[k])
        end = int(start[k])
        for w in range(words):
            left = near[v * words + w]
            while left != 0:
                at = place[w * BITS + lowest_bit(left)]
                left = left & left - 1
                i = end
                while i > int(start[k]) and row[i - 1] > at:
                    row[i] = row[i - 1]
                    i -= 1
                row[i] = at
                end += 1
    return order, place, start, row


def decompose(D: Any, j: Any) -> None:
    """Put into block j of D its lower triangle C with C Cᵀ = D, with the reciprocals of its diagonal."""
    for a in range(SIDE):
        for b in range(a + 1):
            x = D[j, SIDE * a + b]
            for k in range(b):
                x -= D[j, SIDE * a + k] * D[j, SIDE * b + k]
            D[j, SIDE * a + b] = 1.0 / np.sqrt(x) if a == b else x * D[j, SIDE * b + b]


def divide(L: Any, i: Any, D: Any, j: Any) -> None:
    """Put L C⁻ᵀ into block i of L, column by column, with the triangle C in block j of D: a column's six numbers go together."""
    for c in range(SIDE):
        to = SIDE * c
        u, v, w = L[i, to], L[i, to + 1], L[i, to + 2]
        x, y, z = L[i, to + 3], L[i, to + 4], L[i, to + 5]
        for k in range(c):
            f, at = D[j, SIDE * c + k], SIDE * k
            u -= f * L[i, at]
            v -= f * L[i, at + 1]
            w -= f * L[i, at + 2]
            x -= f * L[i, at + 3]
            y -= f * L[i, at + 4]
            z -= f * L[i, at + 5]
        f = D[j, to + c]
        L[i, to], L[i, to + 1], L[i, to + 2] = u * f, v * f, w * f
        L[i, to + 3], L[i, to + 4], L[i, to + 5] = x * f, y * f, z * f


def less_product(X: Any, i: Any, L: Any, a: Any, b: Any) -> None:
    """Subtract from block i of X the product A Bᵀ of blocks a and b of L, all column by column: a column's six numbers go together."""
    for c in range(SIDE):
        to = SIDE * c
        u, v, w = X[i, to], X[i, to + 1], X[i, to + 2]
        x, y, z = X[i, to + 3], X[i, to + 4], X[i, to + 5]
        for k in range(SIDE):
            f, at = L[b, SIDE * k + c], SIDE * k
            u -= f * L[a, at]
            v -= f * L[a, at + 1]
            w -= f * L[a, at + 2]
            x -= f * L[a, at + 3]
            y -= f * L[a, at + 4]
            z -= f * L[a, at + 5]
        X[i, to], X[i, to + 1], X[i, to + 2] = u, v, w
        X[i, to + 3], X[i, to + 4], X[i, to + 5] = x, y, z


@procedure
def block_cholesky(diagonal: Any, pairs: Any, blocks: Any, place: Any, start: Any, row: Any) -> Any:
    """Return C (n, 36) and L (m, 36) of a matrix by its :class:`Plan`: C Cᵀ + Σ L Lᵀ is what is on the diagonal. C is row by row of each
    block, L column by column.

    Parameters
    ----------
    diagonal : (n, 36), the matrix' blocks on its diagonal
    pairs, blocks : (m, 2) and (m, 36), rows a and b, and the blocks at (a, b)

    Where the matrix is not positive definite, C is NaN.

    >>> import numpy as np
    >>> from engine import ops
    >>> A, none = 4.0 * np.eye(6).reshape(1, 36), np.zeros((0, 2))
    >>> plan = ops.Plan(*ops.block_plan(A, none))
    >>> C, L = ops.block_cholesky(A, none, np.zeros((0, 36)), plan.place, plan.start, plan.row)
    >>> print(np.asarray(C)[0, 0])  # 1/√4: C has the reciprocals of its diagonal
    0.5
    """
    n = len(diagonal)
    D = floats(n, BLOCK)
    L = floats(len(row), BLOCK)
    X = floats(n + 1, BLOCK)                                                   # a column, by rows
    slot = ints(n + 1)                                                         # where a column's row is in L
    begin = ints(n + 1)                                                        # the next block of each column before that counts here
    ahead = ints(n + 1)                                                        # columns, by the row of their next block
    after = ints(n + 1)
    for i in range(n):
        for k in range(BLOCK):
            D[int(place[i]), k] = diagonal[i, k]
        begin[i] = int(start[i])
        ahead[i] = -1
    for p in range(len(pairs)):
        a, b = int(place[int(pairs[p, 0])]), int(place[int(pairs[p, 1])])
        if a != b:
            i = int(start[min(a, b)])
            while int(row[i]) != max(a, b):
                i += 1
            for r in range(SIDE):
                for c in range(SIDE):
                    L[i, SIDE * c + r] += blocks[p, SIDE * r + c] if a > b else blocks[p, SIDE * c + r]
    for j in range(n):
        for i in range(int(start[j]), int(start[j + 1])):
            slot[int(row[i])] = i
        q = ahead[j]
        while q >= 0:                                                          # columns before, of which a block lies in row j
            following = after[q]
            at = begin[q]
            less_product(D, j, L, at, at)
            for i in range(at + 1, int(start[q + 1])):
                less_product(X, int(row[i]), L, i, at)
            begin[q] = at + 1
            if at + 1 < int(start[q + 1]):
                to = int(row[at + 1])
                after[q], ahead[to] = ahead[to], q
            q = following
        decompose(D, j)
        for i in range(int(start[j]), int(start[j + 1])):
            to = int(row[i])
            for k in range(BLOCK):
                L[i, k] += X[to, k]
                X[to, k] = 0.0
            divide(L, i, D, j)
        if start[j] < start[j + 1]:
            to = int(row[int(start[j])])
            after[j], ahead[to] = ahead[to], j
    return D, L


@procedure
def block_solve(order: Any, start: Any, row: Any, D: Any, L: Any, b: Any) -> Any:
    """Return x (n, 6) of A x = b (n, 6), of a matrix decomposed by :func:`block_cholesky`.

    >>> import numpy as np
    >>> from engine import ops
    >>> A, none = 4.0 * np.eye(6).reshape(1, 36), np.zeros((0, 2))
    >>> plan = ops.Plan(*ops.block_plan(A, none))
    >>> C, L = ops.block_cholesky(A, none, np.zeros((0, 36)), plan.place, plan.start, plan.row)
    >>> np.asarray(ops.block_solve(plan.order, plan.start, plan.row, C, L, np.ones((1, 6))))
    array([[0.25, 0.25, 0.25, 0.25, 0.25, 0.25]])
    """
    n = len(D)
    y = floats(n, SIDE)
    x = floats(n, SIDE)
    for j in range(n):
        for a in range(SIDE):
            y[j, a] += b[int(order[j]), a]
        for a in range(SIDE):
            for k in range(a):
                y[j, a] -= D[j, SIDE * a + k] * y[j, k]
            y[j, a] = y[j, a] * D[j, SIDE * a + a]
        for i in range(int(start[j]), int(start[j + 1])):
            to = int(row[i])
            for k in range(SIDE):
                for a in range(SIDE):
                    y[to, a] -= L[i, SIDE * k + a] * y[j, k]
    for j in range(n - 1, -1, -1):
        for i in range(int(start[j]), int(start[j + 1])):
            to = int(row[i])
            for a in range(SIDE):
                for k in range(SIDE):
                    y[j, k] -= L[i, SIDE * k + a] * y[to, a]
        for a in range(SIDE - 1, -1, -1):
            for k in range(a + 1, SIDE):
                y[j, a] -= D[j, SIDE * k + a] * y[j, k]
            y[j, a] = y[j, a] * D[j, SIDE * a + a]
    for j in range(n):
        for a in range(SIDE):
            x[int(order[j]), a] = y[j, a]
    return x


__all__ = ["Plan", "block_cholesky", "block_plan", "block_solve"]
