"""Equal parts of a program in the lanes of vectors: which are found, and the same bits as one by one."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import gufunc, trace
from engine.compiler.codegen import equal_inputs
from engine.compiler.codegen.lanes import Laned, Writer, count, laned, ordered
from engine.compiler.codegen.llvm import Module
from engine.compiler.codegen.packs import Packs
from engine.compiler.codegen.schedule import fused
from engine.compiler.graph.operations import OPERATIONS
from engine.compiler.graph.program import size
from tests.compiler.programs import bits, limbs, random_function, stops
from tests.dynamics.support import robot


def values(nodes, outputs, x):
    """Outputs of nodes that may be vectors."""
    value = []
    for op, *args in nodes:
        given = [] if op in ("input", "const", "consts", "lane") else [value[i] for i in args]
        with np.errstate(all="ignore"):
            value.append(x[args[0]] if op == "input" else args[0] if op == "const" else np.array(args) if op == "consts"
                         else np.array(given) if op == "pack" else value[args[1]][args[0]] if op == "lane"
                         else OPERATIONS[op].numpy(*given))  # fmt: skip
    return [value[i] for i in outputs]


def of(program, most=4):
    """The program, fused, and in vectors."""
    nodes, outputs = fused(program)
    return Laned(nodes, outputs), laned(nodes, outputs, [size(s) for s in program.shapes_in], most)


@pytest.mark.parametrize(("mirror", "lengths", "lanes"), [(False, (3, 3), 2), (True, (5, 5), 2), (True, (3, 3, 3, 3), 4)])
def test_equal_limbs_are_found_and_keep_their_bits(mirror, lengths, lanes):
    f, shapes = limbs(mirror, lengths)
    one, many = of(trace(f, shapes))
    assert set(many.wide.values()) == {lanes}
    assert count(many.nodes) < count(one.nodes) * (0.86 if lanes == 2 else 0.6)
    x = np.random.default_rng(0).standard_normal((20, sum(map(size, shapes))))
    x[:5, ::2] = 0.0                                                           # signs of zeros too
    for row in x:
        assert bits(values(one.nodes, one.outputs, row)) == bits(values(many.nodes, many.outputs, row))
    g = gufunc(f, "(n),(n)->(m)", n=size(shapes[0]), m=len(one.outputs))
    q, v = np.split(x, 2, axis=1)
    assert bits([g(*row) for row in zip(q, v, strict=True)]) == bits(g(q, v))


def test_fewer_lanes_where_the_processor_has_no_more():
    f, shapes = limbs(True, (3, 3, 3, 3))
    program = trace(f, shapes)
    assert [set(of(program, most)[1].wide.values()) for most in (1, 2, 4, 8)] == [set(), {2}, {4}, {4}]
    assert Module(8).function(program) and "extractelement" not in "".join(Module(8).text)


TERMS = (
    lambda a, b, c: a * b + c, lambda a, b, c: c - a * b, lambda a, b, c: a * b - c, lambda a, b, c: -(a * b) - c,
    lambda a, b, c: a + b, lambda a, b, c: a - b, lambda a, b, c: b - a, lambda a, b, c: -(a + b), lambda a, b, c: a - 2.5,
    lambda a, b, c: 2.5 - a, lambda a, b, c: -a * b, lambda a, b, c: a * -3.0, lambda a, b, c: a * 0.5 + b, lambda a, b, c: b - a * 0.5,
    lambda a, b, c: 7.0 - a * b, lambda a, b, c: -a / b, lambda a, b, c: a / b, lambda a, b, c: ops.sqrt(a * a),
    lambda a, b, c: a * 2.5 - 1.5,
)  # fmt: skip


@pytest.mark.parametrize("first", TERMS)
@pytest.mark.parametrize("swapped", [False, True])
def test_signs_may_differ(first, swapped):
    """Any two of the same operation, whatever signs they have: all that sums, differences and fused multiply-adds can be in two lanes."""
    packed = 0
    for second in TERMS:
        nodes, outputs = fused(trace(lambda x, y: np.array([first(*x), second(*(y[::-1] if swapped else y))]), [(3,), (3,)]))
        node = {x[1]: i for i, x in enumerate(nodes) if x[0] == "input"}
        packs = Packs(nodes)
        packs.begin(2, [(node[k], node[k + 3]) for k in range(3) if k in node and k + 3 in node])
        packs.down([tuple(packs.base[i] for i in outputs)])
        packed += bool(packs.pack)
        writer = Writer(packs, ordered(packs))
        results = [writer.number(i) for i in outputs]
        for x in ((1.25, -3.0, 0.7, 1.3, 0.11, -2.0), (0.0, 1.0, 0.0, -0.0, 1.0, 0.0), (1.0, 1.0, 1.0, -1.0, 1.0, 1.0), (2.5**0.5,) * 6):
            assert bits(values(writer.nodes, results, x)) == bits(values(nodes, outputs, x))
    assert packed


def test_what_differs_is_computed_by_itself():
    """The end of one limb has a spring of its own: the rest goes together all the same."""
    f, shapes = limbs(False, (4, 4))

    def sprung(q, v):
        return f(q, v) + np.where(np.arange(10) == 5, ops.exp(q[4]) * ops.tanh(v[4]), 0.0)

    one, many = of(trace(sprung, shapes))
    assert many.wide and count(many.nodes) < 0.87 * count(one.nodes)
    x = np.random.default_rng(1).standard_normal(18)
    assert bits(values(one.nodes, one.outputs, x)) == bits(values(many.nodes, many.outputs, x))


def test_a_chain_is_not_its_own_limb():
    """Joints one after the other need each other: nothing goes together, and the program stays as it is."""
    model = robot("panda")
    one, many = of(engine.compile(model).aba.program)
    assert not many.wide and many.nodes == one.nodes and many.outputs == one.outputs


def test_packs_that_need_each_other_are_taken_apart():
    def f(x):
        a = x[0] * x[1] + 1.0
        return np.array([a, (a * x[0]) * x[1] + 2.0])

    nodes, outputs = fused(trace(f, [(2,)]))
    packs = Packs(nodes)
    packs.begin(2, [])
    packs.down([tuple(outputs)])
    assert packs.pack
    writer = Writer(packs, ordered(packs))
    assert not packs.pack
    x = (0.3, 0.7)
    assert values(writer.nodes, [writer.number(i) for i in outputs], x) == values(nodes, outputs, x)


def test_two_of_the_same_random_function():
    """With everything that a program may have: comparisons, choices, divisions."""
    packed = 0
    for seed in range(30):
        f, x = random_function(seed, 60), np.random.default_rng(seed).standard_normal((3, 8))
        one, many = of(trace(lambda x, y, f=f: np.concatenate([f(x), f(-1.0 * y)]), [(4,), (4,)]))
        other = of(trace(lambda z, f=f: np.concatenate([f(z[:4]), f(z[4:])]), [(8,)]))
        packed += bool(other[1].wide)
        for row in x:
            assert bits(values(one.nodes, one.outputs, row)) == bits(values(many.nodes, many.outputs, row))
            assert bits(values(other[0].nodes, other[0].outputs, row)) == bits(values(other[1].nodes, other[1].outputs, row))
    assert packed


@pytest.mark.parametrize(("name", "floats", "lanes", "saved"), [("a1", True, 4, 0.5), ("baxter", False, 2, 0.4)])
def test_robots_have_limbs(name, floats, lanes, saved):
    """Legs of a quadruped and arms; a sample alone is the same bits as in a batch."""
    model = robot(name, floats)
    compiled, rng = engine.compile(model), np.random.default_rng(0)
    states = [model.random(rng) for _ in range(3)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    tau = rng.standard_normal(v.shape)
    for f in (compiled.rnea, compiled.aba):
        one, many = of(f.program)
        assert set(many.wide.values()) == {lanes} and count(many.nodes) < count(one.nodes) * (1 - saved)
        assert bits([f(*row) for row in zip(q, v, tau, strict=True)]) == bits(f(q, v, tau))
    assert bits([compiled.crba(row) for row in q]) == bits(compiled.crba(q))


def exhaustive(arguments, lanes):
    """Blocks of equal inputs by trying every run at every distance: what equal_inputs finds by bounds and vectors."""
    left, equal, enough = [list(looks) for looks in arguments], [], equal_inputs.SURE
    counts = [Counter((r, x) for look in looks if look for r, x in enumerate(look[1])) for looks in arguments]

    def worth(a, block):
        looks = [left[a][k] for k in block]
        if None in looks:
            return -math.inf
        last = max(r for r, same in enumerate(zip(*(look[1] for look in looks), strict=True)) if len(set(same)) == 1)
        return math.log(len(left[a]) / counts[a][last, looks[0][1][last]]) - equal_inputs.DOUBT

    def best_run(a, d):
        each = [worth(a, range(k, k + d * lanes, d)) for k in range(len(left[a]) - d * (lanes - 1))]
        runs = [(i, j) for i in range(len(each)) for j in range(i + 1, min(i + d, len(each)))]
        best = max(runs, key=lambda run: sum(each[run[0] : run[1] + 1]), default=None)
        said = 0.0 if best is None else sum(each[best[0] : best[1] + 1])
        return (said, range(best[0], best[1] + 1)) if said > 0.0 else (0.0, ())

    while True:
        tried = [(d, [best_run(a, d) for a in range(len(left))]) for d in range(2, max(map(len, left), default=0) // lanes + 1)]
        d, runs = max(tried, key=lambda found: sum(total for total, _ in found[1]), default=(0, []))
        if (total := sum(total for total, _ in runs)) < enough:
            return equal
        enough = max(enough, total / 4)
        for a, (_, run) in enumerate(runs):
            for k in run:
                equal.append(tuple(left[a][i][0] for i in range(k, k + d * lanes, d)))
                for i in range(k, k + d * lanes, d):
                    left[a][i] = None


@pytest.mark.parametrize("lanes", [2, 4])
def test_equal_inputs_are_those_of_trying_all(lanes):
    rng, found = random.Random(lanes), 0
    for _ in range(40):
        numbers, arguments = itertools.count(), []
        for n in (rng.randint(4, 20 + 4 * lanes) for _ in range(rng.randint(1, 3))):
            period, looks = rng.randint(1, 7), []
            for k in range(n):
                x = k % period if rng.random() < 0.9 else rng.randint(0, 9)
                looks.append((next(numbers), (0, x // 3, 10 * (x // 3) + x // 2, 100 * x + x // 2)) if rng.random() < 0.9 else None)
            arguments.append(looks)
        node = [np.array([look[0] if look else -1 for look in looks]) for looks in arguments]
        colour = np.array([look[1] for looks in arguments for look in looks if look]).T
        equal = equal_inputs.equal_inputs([equal_inputs.looks(own, colour) for own in node], lanes)
        assert equal == exhaustive(arguments, lanes)
        found += len(equal)
    assert found > 30


def test_colours_are_those_of_neighbours():
    """As by the neighbours' colours themselves, in order, in place of sums of 64 bits."""
    packs = Packs(fused(trace(*limbs(True, (5, 4, 5, 3))))[0])
    known = [packs.kind]
    for _ in range(equal_inputs.ROUNDS):
        around = [[tuple(sorted(known[-1][j] for j in near[i])) for near in (packs.reads, packs.readers)] for i in range(len(packs.kind))]
        looks = [(own, *near) for own, near in zip(known[-1], around, strict=True)]
        number = {look: k for k, look in enumerate(dict.fromkeys(looks))}
        known.append([number[look] for look in looks])
    for found, expected in zip(equal_inputs.colours(packs.kind, packs.reads, packs.readers).tolist(), known, strict=True):
        assert len({*zip(found, expected, strict=True)}) == len({*found}) == len({*expected})


@pytest.mark.filterwarnings("ignore:stops returned NaN")
def test_choices_go_together():
    """Comparisons, choices, truth values in vectors: which numbers constants alone tell apart too. A sample alone is the same bits as in a
    batch, whose lanes are samples, and as by NumPy's meaning of each operation."""
    program = trace(stops, [(13,), (13,)])
    one, many = of(program)
    assert set(many.wide.values()) == {4} and count(many.nodes) < 0.35 * count(one.nodes)
    assert {"select", "lt", "max", "min", "and", "not", "div"} <= {many.nodes[i][0] for i in many.wide}
    rng = np.random.default_rng(3)
    x, u = 1.5 * rng.standard_normal((40, 13)), rng.choice([0.0, -0.0, 1e-3, -1e-3, 0.4, -1.0, np.nan, np.inf], (40, 13))
    g = gufunc(stops, "(n),(n)->(m)", n=13, m=25)
    alone = [g(*row) for row in zip(x, u, strict=True)]
    assert bits(alone) == bits(g(x, u))
    for row in np.nan_to_num(np.concatenate([x, u], axis=1), posinf=2.0):    # NaN has a sign of its own
        assert bits(values(one.nodes, one.outputs, row)) == bits(values(many.nodes, many.outputs, row))


def test_limbs_in_functions_that_are_called():
    """A step calls the equations of motion, whose arguments are numbers by then: the legs of a quadruped are in lanes there as well."""
    model = robot("a1", True)
    step = engine.Simulator(model, dt=1e-3).programs["step"]
    within, todo = [], [step]
    while todo:
        within += (new := [f for p in todo for f in p.functions if getattr(f, "nodes", None)])
        todo = new
    longest = max(within, key=lambda f: f.count())
    one, many = of(longest)
    assert set(many.wide.values()) == {4} and count(many.nodes) < 0.6 * count(one.nodes)
