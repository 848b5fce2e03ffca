"""Between tracing and lowering: fused multiply-adds, segments, and the memory that values cross borders in."""

import functools
from types import MappingProxyType

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import interpret, trace, verify
from engine.compiler.codegen import llvm
from engine.compiler.codegen.lanes import laned
from engine.compiler.codegen.schedule import STANDING, angles, blendable, fused, register_plan, segments
from engine.compiler.graph.operations import operands
from engine.compiler.graph.program import Program
from engine.compiler.gufunc import Gufunc
from engine.compiler.transforms.trace import calling
from tests.compiler.programs import ARITHMETIC, SMOOTH, again, bits, exact, fractions, loop, random_function
from tests.dynamics.support import robot


def fused_program(program):
    nodes, outputs = fused(program)
    return Program(nodes, outputs, program.shapes_in, program.shapes_out, program.functions, program.name)


def kinds(nodes):
    return [n[0] for n in nodes if n[0] not in ("input", "const")]


@pytest.mark.parametrize("seed", range(100))
def test_fusing_is_exact_in_rational_arithmetic(seed):
    program = trace(random_function(seed, 60), [(4,)], fold=seed % 2 == 0)
    whole = fused_program(program)
    verify(whole)
    x = fractions(seed)
    assert exact(whole, x) == exact(program, x)
    before, after = kinds(program.nodes), kinds(whole.nodes)
    assert after.count("mul") + after.count("fma") <= before.count("mul") + before.count("add") + before.count("sub")
    assert after.count("mul") <= before.count("mul")
    assert after.count("add") + after.count("sub") + after.count("fma") == before.count("add") + before.count("sub")


@pytest.mark.parametrize(("f", "expected"), [
    (lambda x, y, z: x * y + z, ["fma"]),
    (lambda x, y, z: z + x * y, ["fma"]),
    (lambda x, y, z: x * y - z, ["neg", "fma"]),
    (lambda x, y, z: z - x * y, ["neg", "fma"]),
    (lambda x, y, z: x * y + y * z, ["mul", "fma"]),
    (lambda x, y, z: x * y - y * z, ["mul", "neg", "fma"]),
    (lambda x, y, z: -(x * y) + y * z, ["mul", "neg", "fma"]),                # the later one, as in its mirror image
    (lambda x, y, z: x * y + x * y, ["mul", "add"]),                           # a double, not one product and another
    (lambda x, y, z: np.array([x * y + z, x * y - z]), ["fma", "neg", "fma"]),  # the product disappears twice
    (lambda x, y, z: np.array([x * y + z, x * y]), ["mul", "add"]),            # it is wanted itself
    (lambda x, y, z: ops.sqrt(x * y) + x * y, ["mul", "sqrt", "add"]),
    (lambda x, y, z: (x * y + z) * y + x, ["fma", "fma"]),
    (lambda x, y, z: np.array([x * y + z * x, z * x - y]), ["mul", "fma", "neg", "fma"]),
    (lambda x, y, z: np.array([x * x + y * z, y * y + y * z]), ["mul", "fma", "fma"]),  # the shared product is made once
    (lambda x, y, z: np.array([y * z + x * x, y * z + y * y]), ["mul", "fma", "fma"]),
])  # fmt: skip
def test_what_is_fused(f, expected):
    program = trace(f, [(), (), ()])
    assert kinds(fused(program)[0]) == expected


def test_a_call_ends_a_segment():
    nodes = fused(trace(calls, [(4,)]))[0]
    parts = segments(nodes, 10)
    assert [i for part in parts for i in part] == list(range(len(nodes)))
    assert all(nodes[i][0] != "call" for part in parts for i in part[:-1]) and all(0 < len(p) <= 10 for p in parts)


@pytest.mark.parametrize("length", [0, 1, 2, 9, 10, 11, 1000, 1001])
@pytest.mark.parametrize("limit", [1, 3, 10, 500])
def test_segments_cover_everything_evenly(length, limit):
    parts = segments([("input", 0)] * length, limit)
    assert [i for part in parts for i in part] == list(range(length))
    sizes = [len(p) for p in parts]
    assert all(0 < n <= limit for n in sizes) and len(parts) == -(-length // limit)
    assert all(n == sizes[0] for n in sizes[:-1])


def source(nodes, i):
    while nodes[i][0] == "neg":
        i = nodes[i][1]
    return i


def loads(nodes, outputs, parts, placed, registers, wide=MappingProxyType({})):
    """Loads of a program that keeps to its plan; asserts that what is loaded is there, and that the registers suffice."""
    slot, size, evictions = register_plan(nodes, outputs, parts, placed, registers, wide)
    memory, count = [None] * size, 0
    readers = {j: {i for i, node in enumerate(nodes) if node[0] != "neg" and j in [source(nodes, k) for k in operands(node)]}
               for j in range(len(nodes))}  # fmt: skip
    for part in parts:
        held = set()
        for i in part:
            held -= set(evictions.get(i, ()))
            op = nodes[i][0]
            read = {source(nodes, j) for j in operands(nodes[i])} if op not in ("neg", *STANDING) else set()
            if op in ("neg", "input") and i in outputs:
                read = {source(nodes, i)}
            for j in read - held:
                there = range(slot.get(j, 0), slot.get(j, 0) + wide.get(j, 1))
                assert nodes[j][0] in STANDING or j in placed or all(memory[k] == j for k in there)
                count += 1
            held |= read if op != "lane" else set()                            # of what is not held that alone is loaded
            alive = {j for j in held if readers[j].intersection(range(i, part.stop))} | (read & held)
            assert len(alive) <= max(registers, len(read))
            if i in slot:
                memory[slot[i] : slot[i] + wide.get(i, 1)] = [i] * wide.get(i, 1)
            if op not in ("neg", *STANDING):
                held.add(i)
    return count, slot, size


@pytest.mark.parametrize("limit", [1, 2, 7, 40, 10_000])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_read_is_in_a_register_or_in_memory(seed, limit):
    nodes, outputs = fused(trace(random_function(seed, 120), [(4,)], fold=False))
    parts = segments(nodes, limit)
    few, slot, size = loads(nodes, outputs, parts, (), 4)
    many, *_ = loads(nodes, outputs, parts, (), 1000)
    assert many <= few and len(slot) >= size
    where = {i: s for s, part in enumerate(parts) for i in part}
    crossed = {source(nodes, j) for i, node in enumerate(nodes) for j in operands(node) if node[0] != "neg"
               and where[source(nodes, j)] < where[i] and nodes[source(nodes, j)][0] not in ("const", "input")}  # fmt: skip
    assert crossed <= set(slot)
    if limit == 10_000:  # one segment, and registers for everything: inputs and constants are loaded once, and nothing else
        assert not register_plan(nodes, outputs, parts, (), 1000)[0]


@functools.cache
def legs():
    """The motion of a robot with four equal legs, in vectors."""
    program = engine.compile(robot("a1")).aba.program
    return laned(*fused(program), [n for (n,) in program.shapes_in], 4)


@pytest.mark.parametrize(("limit", "registers"), [(2, 4), (40, 4), (250, 8), (250, 31)])
def test_vectors_are_in_a_register_or_in_as_many_slots(limit, registers):
    made = legs()
    assert made.wide
    _, slot, size = loads(made.nodes, made.outputs, segments(made.nodes, limit), (), registers, made.wide)
    assert any(i in made.wide for i in slot) and len(slot) + 3 * sum(i in made.wide for i in slot) >= size


def test_a_lane_is_loaded_without_its_vector():
    """Which is loaded whole later, and keeps its place until then."""
    nodes = [("input", 0), ("input", 1), ("pack", 0, 1), ("lane", 0, 2), ("pack", 3, 3), ("mul", 2, 2), ("add", 4, 5), ("lane", 0, 6)]
    loads(nodes, [7], [range(3), range(3, 6), range(6, 8)], (), 8, dict.fromkeys((2, 4, 5, 6), 2))


def test_placed_nodes_get_no_slot():
    nodes, outputs = fused(trace(lambda x: np.array([ops.sin(x[0]) + x[1], ops.sin(x[0]) * x[1], ops.sin(x[0])]), [(2,)]))
    parts = segments(nodes, 1)
    turned = next(i for i, n in enumerate(nodes) if n[0] == "sin")
    assert turned in register_plan(nodes, outputs, parts, (), 4)[0]
    assert turned not in register_plan(nodes, outputs, parts, {turned}, 4)[0]


def test_angles_are_the_inputs_that_are_turned(monkeypatch):
    monkeypatch.setattr("engine.compiler.codegen.schedule.MANY_ANGLES", 2)
    nodes = trace(lambda x: ops.sin(x[2]) + ops.cos(x[0]) * ops.cos(x[2]) + ops.sin(x[1] * 2.0) + ops.tan(x[1]), [(3,)]).nodes
    assert [nodes[i] for i in angles(nodes)] == [("input", 2), ("input", 0)] and list(angles(nodes).values()) == [0, 1]


INNER = trace(lambda x, y: (x * y[0] + ops.sin(x), ops.where(y[0] < y[1], y, -y), y[0] < x), [(), (2,)])


def calls(x):
    """Calls, truth values, angles and constants that cross every border."""
    a, b, c = calling(INNER)(x[0], x[1:3])
    less = ops.logical_and(x[0] < x[3], ops.logical_not(x[1] < x[2]))
    d, e, f = calling(INNER)(a + ops.cos(x[1]), np.array([b[1], ops.where(less, 1.0, x[2])]))
    return np.array([a * d, e[0] - f, ops.where(less, e[1], c), less, ops.sin(x[0]) + d, ops.sin(a * x[3]), 2.5, x[3]])


@pytest.mark.parametrize("limit", [1, 2, 5, 37])
@pytest.mark.parametrize("f", [calls, *(random_function(s, 150, SMOOTH + ARITHMETIC) for s in (3, 7))], ids=["calls", "random", "another"])
def test_cutting_changes_no_bit(f, limit, monkeypatch):
    program = trace(f, [(4,)])
    x = np.random.default_rng(0).uniform(-3, 3, (37, 4))
    with np.errstate(all="ignore"):
        whole = loop(program, 4)(x)
        monkeypatch.setattr(llvm, "SEGMENT", limit)
        assert bits(loop(again(program), 4)(x)) == bits(whole)
        assert bits(loop(again(program), 1)(x)) == bits(whole)
        single = Gufunc(again(again(program)), "(4)->(m)", ["x"])
        assert bits([single(row) for row in x]) == bits(whole)
    if f is calls:
        np.testing.assert_allclose(whole, interpret(program, x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("looks", "expected"), [(False, True), (True, False)])
def test_a_branch_that_looks_at_its_being_done_is_not_left_alone(looks, expected):
    """What it returns where it is done is not looking: rows of a group that do not take it keep what they had."""
    def body(x, done):
        held = ops.logical_not(ops.equal(done, 0.0))
        return np.array([ops.where(held, x, ops.where(held, 1.0, x) if looks else 2.0 * x), ops.logical_or(held, True)])

    assert blendable(trace(body, [(), ()])) == expected
