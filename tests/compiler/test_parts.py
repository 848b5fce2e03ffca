"""Programs in parts compute the same, and what is counted of them is what is called."""

import numpy as np
import pytest

from engine import ops
from engine.compiler import interpret, trace, verify
from engine.compiler.codegen.counters import CLOCK_AROUND, CLOCK_INSIDE, OUTSIDE
from engine.compiler.graph.expr import Graph
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.rewrite import inlined
from engine.compiler.gufunc import Gufunc
from engine.compiler.scan import counted_rollout, rollout_ufunc
from engine.compiler.transforms.parts import Part
from tests.compiler.programs import exact, fractions, random_function
from tests.numeric import close


def parts_of(program: Program) -> list[str]:
    """The names of a program's parts, of those of its functions too."""
    return [f.name for f in program.functions if isinstance(f, Part)] + [n for f in program.functions for n in parts_of(f)]


class Open(Graph):
    """A graph in which calls are written out."""

    def call(self, program, operands, op="call", *fields):
        return inlined(program, self, operands)


def whole_again(program: Program) -> Program:
    """A program with its parts written out."""
    graph = Open()
    outputs = [graph.index(y) for y in inlined(program, graph, [graph.input(k) for k in range(program.n_in)])]
    return Program(*live(graph.nodes, outputs), program.shapes_in, program.shapes_out)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_cut_anywhere_is_the_same(seed):
    """Exactly, on fractions: parts in any order, with truths and constants across their borders."""
    fn, draw = random_function(seed, 60), np.random.default_rng(seed + 100)

    def cut(x):
        graph = ops.graph_of(x)
        node = graph.node

        def labelled(key):                                                     # each node at random
            with graph.part(str(draw.integers(4))):
                return node(key)

        graph.node = labelled
        return fn(x)

    whole, parts = trace(fn, [(4,)]), trace(cut, [(4,)], parts=True)
    verify(parts)
    assert len({*parts_of(parts)}) > 1
    x = fractions(seed)
    assert exact(whole, x) == exact(whole_again(parts), x)


def test_equal_parts_are_two_and_what_one_has_computed_is_not_computed_again():
    def fn(x):
        with ops.part("left", x):
            a = np.sin(x[0]) * x[1] + 1.0
        with ops.part("right", x):
            b = np.sin(x[1]) * x[0] + 1.0
            again = np.sin(x[0])
        with ops.part("third", x):
            c = np.sin(x[2]) * x[0] + 1.0
        return a + b + c + again

    whole, parts = trace(fn, [(3,)]), trace(fn, [(3,)], parts=True)
    assert sorted(parts_of(parts)) == ["left", "right", "third"] and parts.count() == whole.count()
    assert interpret(parts, [0.3, 0.7, -0.2]) == interpret(whole, [0.3, 0.7, -0.2])
    assert trace(fn, [(3,)]) == whole and not parts_of(whole)                  # nothing is left behind


def test_loops_and_branches_are_cut_inside():
    def fn(x):
        with ops.part("outer", x):
            def advance(y):
                with ops.part("inner", y):
                    y = y - 0.1 * np.sin(y) * y
                return y, y[0] < 0.0

            y, _ = ops.while_loop(advance, x, 5)
        return y + ops.when(x[0] > 0.0, lambda: np.cos(y) * y, x)

    whole, parts = trace(fn, [(2,)]), trace(fn, [(2,)], parts=True)
    verify(parts)
    assert sorted(parts_of(parts)) == ["inner", "outer"]
    for x in ([0.5, 1.0], [-0.5, 1.0]):
        np.testing.assert_array_equal(interpret(parts, x), interpret(whole, x))


def test_parts_with_tables_are_cut_too():
    """Tables go into parts and out of them, in loops as well; the results are the same."""

    def fn(x):
        with ops.part("rows", x):
            y = ops.rows(lambda row: ops.array([row @ row, row[0]]), x)
        with ops.part("sum", y):
            t = ops.total(y)

        def advance(s):
            with ops.part("pass", s["y"]):
                y = ops.chosen(s["y"], s["y"][:, 1] > 0.0)
                return {"y": y, "k": s["k"] + ops.total(y)[0]}, False

        s, _ = ops.while_loop(advance, {"y": y, "k": t[1]}, 3)
        return s["y"], s["k"]

    whole, parts = trace(fn, [(-1, 3)]), trace(fn, [(-1, 3)], parts=True)
    verify(parts)
    assert sorted(parts_of(parts)) == ["pass", "rows", "sum"] and not parts_of(whole)
    x = np.random.default_rng(0).standard_normal((11, 3))
    functions = [Gufunc(p, "(n,3)->(k,2),()", ["x"]) for p in (whole, parts)]
    for results in (interpret(parts, x), functions[0](x), functions[1](x)):
        for found, expected in zip(results, interpret(whole, x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)            # sums of three products, fused or not
    for a, b in zip(*(f(x) for f in functions), strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_are_counted_as_often_as_they_happen():
    """A step calls a part once, and a loop three times a part within; compiled, it is the code without counters to rounding."""

    def step(t0, k, dt, p, x):
        def advance(y):
            with ops.part("inner", y):
                return y + dt * np.sin(y) * p[0], False

        with ops.part("outer", x):
            z = np.cos(x) * x
        return ops.while_loop(advance, z, 3)[0]

    def observe(t0, k, dt, p, x):
        return {"t": t0 + k * dt, "x": x}

    shapes = [(), (), (), (1,), (2,)]
    programs = trace(step, shapes, parts=True), trace(observe, shapes, named=True, parts=True)
    run, counters = counted_rollout(*programs)
    given = np.array([0.0, 4.0, 3.0]), 0.0, 0.0, 0.1, np.ones(1), np.array([0.5, -0.2])
    plain = rollout_ufunc(trace(step, shapes), trace(observe, shapes, named=True), 1)(*given)
    for _ in range(2):
        counters.clear()
        close(run(*given), plain, 1e-14)                                       # seven steps of numbers below 1, a few ulp each
        found = counters.read()
        names = {f.key: f.name for p in programs for f in (p, *p.functions, *(g for f in p.functions for g in f.functions))}
        calls = {(names.get(a, a), names.get(b, b)): count.calls for (a, b), count in found.items()}
        assert calls == {("", OUTSIDE): 1, ("", CLOCK_INSIDE): 1, ("", CLOCK_AROUND): 1, (OUTSIDE, "step"): 7, (OUTSIDE, "observe"): 3,
                         ("step", "outer"): 7, ("step", "step.advance"): 7, ("", "step.advance"): 21, ("step.advance", "inner"): 21}
    assert all(count.ticks > 0 for count in found.values())
