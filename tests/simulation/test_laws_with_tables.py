"""Laws that work on tables: of one tree and of several that they join, with memory, and what is said where tables do not fit."""

import functools

import numpy as np
import pytest

import engine
from engine import ops
from engine.spatial import inertia

N = 6


@functools.cache
def carts():
    """Six carts on a rail, a tree each."""
    builder = engine.Builder("cart")
    builder.add_link("rail")
    builder.add_link("cart", inertia=inertia.box(2.0, (0.1, 0.1, 0.1)))
    builder.add_joint("slide", "prismatic", "rail", "cart", axis=[1.0, 0.0, 0.0])
    return engine.combine(**{f"cart{k}": builder.model() for k in range(N)})


def springs(t, q, v):
    """Each cart is drawn to the one after it, and it to that."""
    x = ops.table(q)
    after = ops.minimum(ops.row_numbers(x) + 1.0, N - 1.0)
    f = ops.rows(lambda a, b: 50.0 * (b - a), x, ops.gather(x, after))
    return ops.sized(ops.add_at(f, after, ops.rows(lambda y: -y, f)), N)


def test_trees_that_a_law_of_tables_joins_move_as_their_matrix_says():
    q = np.array([0.1, -0.2, 0.05, 0.3, -0.1, 0.0])
    simulator = engine.Simulator(carts(), dt=1e-3, forces=[springs])
    run = simulator.run(q, np.zeros(N), duration=0.2)
    K = 50.0 * (2.0 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1))
    K[0, 0] = K[-1, -1] = 50.0
    square, modes = np.linalg.eigh(K / 2.0)                                    # of carts of 2 kg
    w = np.sqrt(np.maximum(square, 0.0))
    exact = modes @ (np.cos(w * 0.2) * (modes.T @ q))
    assert np.abs(run.q[-1] - exact).max() < 1e-8                              # the method's fourth order: (w dt)⁴ of 10 rad/s is 1e-8
    assert np.abs(2.0 * run.v[-1].sum()) < 1e-13                               # what draws one pushes the other
    both = simulator.run(np.array([q, 2.0 * q]), np.zeros((2, N)), duration=0.2)
    assert (both.q[0] == run.q).all()
    plain = engine.Simulator(carts(), dt=1e-3, forces=[springs], compiled=False).run(q, np.zeros(N), duration=0.02)
    assert np.abs(plain.q - run.q[:21]).max() < 1e-14


def test_a_memory_of_rows():
    def counted(t, q, v, memory):
        """How often each cart was to the right, which nothing but a loop over rows says."""
        seen = ops.rows(lambda x, k: k + ops.where(x > 0.0, 1.0, 0.0), ops.table(q), ops.table(memory))
        return ops.sized(seen, N), ops.sized(seen, N)

    law, q = engine.Law(counted, memory=np.zeros(N), period=0.01), np.array([0.1, -0.2, 0.05, 0.3, -0.1, 0.2])
    run, plain = (engine.Simulator(carts(), dt=1e-3, controller=law, compiled=how).run(q, np.zeros(N), 0.03) for how in (True, False))
    assert run.v[-1, 1] == run.v[-1, 4] == 0.0                                 # never seen to the right: never pushed
    exact = (1.0 + 2.0 + 3.0) * 0.01 / 2.0                                     # N s, of carts of 2 kg
    assert np.abs(run.v[-1, [0, 2, 3, 5]] - exact).max() < 1e-15
    assert np.abs(plain.v - run.v).max() < 1e-15


@pytest.mark.parametrize(("law", "what"), [
    (engine.Law(lambda t, q, v, memory: (0.0 * q, ops.table(memory)), memory=np.zeros(N)),
     "returned a table; expected arrays, as engine.ops.sized"),
    (engine.Law(lambda t, q, v: ops.chosen(ops.table(q), ops.table(q) > 0.0)), "returned a table; expected arrays, as engine.ops.sized"),
    (engine.Law(lambda t, q, v: ops.sized(ops.chosen(ops.table(q), ops.table(q) > 0.0), N)), r"tables of \d, 6 rows go together"),
])  # fmt: skip
def test_tables_that_are_not_what_was_promised(law, what):
    with pytest.raises(engine.EngineError, match=what):
        engine.Simulator(carts(), dt=1e-3, controller=law).run(np.array([0.1, -0.2, 0.05, 0.3, -0.1, 0.2]), np.zeros(N), duration=0.01)


def test_tables_that_no_longer_fit_end_a_run_with_their_numbers():
    def law(t, q, v, memory):
        x = ops.table(q)
        return 0.0 * q, ops.sized(ops.chosen(x, x > -0.15), N)

    with pytest.raises(engine.EngineError, match="tables of 5, 6 rows go together"):
        engine.Simulator(carts(), dt=1e-3, controller=engine.Law(law, memory=np.zeros(N), period=0.01)).run(
            np.zeros(N), np.array([0.0, -5.0, 0.0, 0.0, 0.0, 0.0]), duration=0.1)
