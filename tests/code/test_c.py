"""Compiled functions as C99: the same bits as the engine's, without a warning, by every compiler."""

import ctypes
import re
from fractions import Fraction

import numpy as np
import pytest

import engine
from engine import ops
from engine.code import export_code, vectors
from engine.code.elementary import NEGATED
from engine.compiler.graph.operations import ROWS
from engine.ops.box_qp import box_qp
from tests.code.programs import FLAGS, FMA, Rows, needed, reported, run
from tests.code.robots import ROBOTS, controllers, functions, pendulum
from tests.compiler.programs import ARITHMETIC, SMOOTH, random_function, stops
from tests.contact.scenes import ball, material, simulator

COMPILERS = ("gcc", "clang")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, -1e-310, 5e-324, 1e16, -3e8, 700.0, 709.9, -745.2, 800.0, np.inf, -np.inf, np.nan]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("code")


# ---------------------------------------------------------------- operations


#: operation -> a function of numbers that is it
ELEMENTS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "neg": lambda x: -x,
    "fma": lambda x, y: x * y + 1.0, "stop_gradient": lambda x: ops.stop_gradient(x), "sqrt": ops.sqrt, "abs": ops.absolute,
    "floor": ops.floor, "sin": ops.sin, "cos": ops.cos, "tan": ops.tan, "asin": ops.arcsin, "acos": ops.arccos, "atan": ops.arctan,
    "atan2": ops.arctan2, "exp": ops.exp, "log": ops.log, "tanh": ops.tanh, "pow": lambda x, y: ops.power(x, y), "fmod": ops.fmod,
    "c2": ops.c2, "c3": ops.c3, "min": ops.minimum, "max": ops.maximum, "select": lambda x, y: ops.where(x < y, x, 2.0),
    "lt": lambda x, y: ops.where(x < y, 1.0, 0.0), "le": lambda x, y: ops.where(x <= y, 1.0, 0.0),
    "eq": lambda x, y: ops.where(ops.equal(x, y), 1.0, 0.0), "and": lambda x, y: ops.where((x < y) & (y < 1.0), 1.0, 0.0),
    "or": lambda x, y: ops.where((x < y) | (y < 1.0), 1.0, 0.0), "not": lambda x, y: ops.where(ops.logical_not(x < y), x, y),
}  # fmt: skip


@pytest.fixture(scope="module")
def elements(folder):
    """All operations as one function of two numbers."""
    takes = {row.name: len(row.takes) for row in ROWS} | dict.fromkeys(("fma", "select", "and", "or", "not"), 2)
    table = engine.gufunc(lambda x, y: np.array([fn(*(x, y)[: takes[n]]) for n, fn in ELEMENTS.items()]), "(),()->(n)")
    return Rows(folder / "elements", {"operations": (table, None)})


def test_every_operation_of_the_table_is_tried():
    assert {row.name for row in ROWS if row.kinds} == {*ELEMENTS}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_operations(elements, compiler):
    """Of ordinary numbers, large ones, and those that are none."""
    rng = np.random.default_rng(0)
    special = [np.ravel(x) for x in np.meshgrid(SPECIAL, SPECIAL)]
    arguments = [np.append(rng.standard_normal(1000) * 10.0 ** rng.integers(-8, 8, 1000), x) for x in special]
    elements.require_same(elements.built(compiler), "operations", arguments)


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_vectors(folder, compiler, lanes):
    """Every operation on them, by the processor's own and, where it may use none, by numbers."""
    needed(compiler)
    vector, row = vectors.TYPE[lanes], [f"p[{k}]" for k in range(lanes)]
    calls = {"add": "x, y", "sub": "x, y", "mul": "x, y", "div": "x, y", "fma": "x, y, z", "sqrt": "x", "neg": "x",
             "negated": f"fma{lanes}(x, y, z)"}
    kept = "".join(f"store{lanes}(r + {lanes * k}, {op}{lanes}({given}));" for k, (op, given) in enumerate(calls.items()))
    last = "".join(f"r[{lanes * len(calls) + k}] = lane{lanes}(pack{lanes}({', '.join(reversed(row))}), {k});" for k in range(lanes))
    helpers = [vectors.type_of(lanes), *(vectors.function(op, n) for op, n in vectors.FUNCTIONS.values() if n == lanes)]
    loads = ", ".join(f"{x} = load{lanes}(p + {lanes * k})" for k, x in enumerate("xyz"))
    text = "\n".join(["#include <math.h>", "#include <stdint.h>", vectors.WIDE, "#ifndef WIDE", NEGATED, "#endif", *helpers,
                      "#ifndef WIDE", "#define WIDE 0", "#endif", "const int wide = WIDE;", "void all(const double *p, double *r)",
                      f"{{ const {vector} {loads};", kept, last, "}"])  # fmt: skip
    p = np.random.default_rng(0).uniform(0.1, 2.0, (3, lanes))
    p[:, 0] = 1.0, 1.0, -1.0                                                   # of which the multiply-add is zero, and its negative −0
    x, y, _ = p
    fused = np.array([float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in p.T])
    expected = np.concatenate([x + y, x - y, x * y, x / y, fused, np.sqrt(x), -x, -fused, x[::-1]])
    (folder / "vectors.c").write_text(text + "\n")
    for flags in ((), FMA):
        library = folder / f"vectors_{compiler}{lanes}{len(flags)}.so"
        run([compiler, *FLAGS, "-O1", *flags, "-fPIC", "-shared", "vectors.c", "-o", library, "-lm"], folder)
        loaded, found = ctypes.CDLL(str(library)), np.zeros(len(expected))
        loaded.all(ctypes.c_void_p(p.ctypes.data), ctypes.c_void_p(found.ctypes.data))
        assert ctypes.c_int.in_dll(loaded, "wide").value == bool(flags)
        np.testing.assert_array_equal(found, expected)
        assert not (np.signbit(found) ^ np.signbit(expected)).any()


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_negative_of_a_multiply_add_that_vanishes(folder, compiler, flags):
    """Is −0, and decides the side on which an angle is."""
    angle = engine.gufunc(lambda x: ops.arctan2(-(x[0] * x[1] + x[2]), -x[0]), "(n)->()", n=3)
    rows = Rows(folder / "vanishing", {"vanishing": (angle, None)})
    arguments = [np.array([[1.0, 1.0, -1.0], [2.0, 0.5, -1.0], [1.0, 2.0, -1.0]])]
    rows.require_same(rows.built(compiler, *flags), "vanishing", arguments)


def test_equal_limbs_share_vectors(folder):
    """Four legs in four lanes: the same bits with the processor's vectors and without."""
    robot = engine.compile(engine.load_urdf(engine.example("quadruped"), floating_base=True))
    rows = Rows(folder / "limbs", {"limbs_aba": (robot.aba, None)})
    assert "fma4(" in (rows.folder / "limbs_aba.c").read_text()
    arguments = rows.drawn("limbs_aba", 200)
    arguments[0][0, 8] = 1e20                                                  # an angle that only the C library turns
    rows.require_same(rows.built("gcc"), "limbs_aba", arguments)
    assert reported(rows.folder, "limbs_aba", "gcc", *FLAGS, "-O1").startswith("ok")


# ---------------------------------------------------------------- kernels and loops


def newton(x):
    """√x by a loop that ends when it is there, each row by itself."""
    def advance(y):
        after = 0.5 * (y + x / y)
        return after, ops.absolute(after - y) < 1e-14 * after

    return ops.while_loop(advance, x + 1.0, 60)[0]


def branch(x):
    return ops.when(x[0] < 0.0, lambda: np.sin(x) * x[1], np.cos(x) + x)


def crossing(x):
    """Values, truths and sines that are wanted again after hundreds of operations."""
    y, small = x, x[0] < x[1]
    for k in range(120):
        y = y + 0.01 * np.sin(y[::-1] + k) * y
    return ops.where(small, y, -y) + np.sin(x) * np.cos(x)


def factored(x):
    """Many right sides."""
    A = np.eye(4) * 9.0 + np.outer(x, x)
    return ops.solve(A, np.outer(np.sin(x), np.arange(1.0, 7.0)))


RNG = np.random.default_rng(5)
W, B = RNG.standard_normal((13, 4)), RNG.standard_normal(13)
KINDS = {
    "dense": lambda x: ops.dense(W, x, B), "given": lambda x: ops.dense(np.outer(x, x), x, x),
    "noise": lambda x: ops.normal(7, seed=3, run=ops.floor(1e3 * ops.absolute(x[0]))),
    "drawn": lambda x: ops.uniform(5, seed=ops.floor(1e3 * ops.absolute(x[0])), count=2.0),
    "table": lambda x: ops.interp(x[0], [-1.0, 0.0, 0.5, 2.0], [[1.0, 2.0], [3.0, -1.0], [0.0, 0.5], [2.0, 2.0]]),
    "box": lambda x: box_qp(np.eye(4) * 3.0 + np.outer(x, x), x, -0.1 * np.ones(4), 0.2 * np.ones(4)),
    "solved": factored, "product": lambda x: ops.product(np.outer(x, np.ones(9)).T, np.outer(np.sin(x), np.ones(11))),
    "root": lambda x: ops.root(lambda y: y * y * y + y - x, 0.1 * x)[0], "newton": lambda x: newton(x[0] * x[0]), "branch": branch,
    "crossing": crossing, "nothing": lambda x: np.array([1.0, -0.0, np.inf]), "itself": lambda x: x[::-1],
}  # fmt: skip


@pytest.fixture(scope="module")
def kinds(folder):
    """All of them as one function, and as its results."""
    def all_kinds(x):
        return tuple(np.ravel(fn(x)) for fn in KINDS.values())

    program = engine.compiler.trace(all_kinds, [(4,)])
    return Rows(folder / "kinds", {"kinds": (engine.Gufunc(program, engine.compiler.signature_of(program), ["x"]), None)})


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kernels_loops_and_what_crosses_parts(kinds, compiler):
    arguments = kinds.drawn("kinds", 300)
    arguments[0][:5] = np.array([[0.0], [1e30], [-2.0], [np.inf], [np.nan]])
    kinds.require_same(kinds.built(compiler), "kinds", arguments)


def test_multiply_adds_in_software_are_the_processors(kinds):
    """Where there are none that round once."""
    kinds.require_same(kinds.built("gcc", "-O1", "-DSOFT_FMA"), "kinds", kinds.drawn("kinds", 300))


@pytest.mark.parametrize("flags", [("-O3", "-march=native", "-std=gnu11"), ("-O2",)])
def test_compilers_have_no_choice(kinds, flags):
    """With all that a compiler does by itself, and without instructions for multiply-adds."""
    needed("gcc")
    assert reported(kinds.folder, "kinds", "gcc", *flags) == "ok: kinds, 20 samples, bit for bit\n"


@pytest.mark.parametrize(("numbers", "length"), [(ARITHMETIC, 60), (SMOOTH, 400)])
def test_random_functions(folder, numbers, length):
    """Programs of random operations, truth values among them, and of several parts."""
    def together(x):
        return np.array([random_function(seed, length, numbers)(x) for seed in range(8)])

    rows = Rows(folder / f"random{length}", {"by_chance": (engine.gufunc(together, "(4)->(8,3)"), None)})
    rows.require_same(rows.built("gcc"), "by_chance", rows.drawn("by_chance", 300))


def test_stops_of_equal_limbs(folder):
    """Choices, which machine code has in vectors, and C one by one, beside what both have in vectors."""
    rows = Rows(folder / "stops", {"stops": (engine.gufunc(stops, "(n),(n)->(m)", n=13, m=25), None)})
    rows.require_same(rows.built("gcc"), "stops", rows.drawn("stops", 300))
    assert re.search(r"\bfma4\(", (rows.folder / "stops.c").read_text())


# ---------------------------------------------------------------- robots


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request, folder):
    return Rows(folder / request.param, functions(request.param))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_robots(robot, compiler):
    """Poses, forces, accelerations and inertias at a thousand states, and a step of cg4 at a hundred."""
    library = robot.built(compiler)
    for name in robot.of:
        robot.require_same(library, name, robot.drawn(name, 100 if name.endswith("step") else 1000))


@pytest.fixture(scope="module")
def laws(folder):
    return Rows(folder / "laws", controllers())


@pytest.mark.parametrize("compiler", COMPILERS)
def test_controllers(laws, compiler):
    library = laws.built(compiler)
    for name in laws.of:
        laws.require_same(library, name, laws.drawn(name, 300))


def test_a_controller_and_a_step_in_turn_are_the_simulation(laws, folder):
    """What it says from step to step, its memory carried on, is what the simulation records."""
    library, name = laws.built("gcc"), "remembers"
    simulator, _ = controllers()[name]
    motion = simulator.run([0.1], [0.2], 0.05)
    e = laws.of[name]
    memory = np.array(next(x for x in e.draw(np.random.default_rng(0))[5:]))
    for t, q, v, tau in zip(motion.t[:-1], motion.q, motion.v, motion.tau, strict=False):
        p, z = e.draw(np.random.default_rng(0))[3:5]
        (found,), _ = laws.called(library, name, [np.array([x], dtype=float) for x in (t, q, v, p, z, memory)])
        assert found[0] == tau[0]
        memory = found[1:]


def test_contacts_step_by_step(tmp_path):
    """A ball that falls onto the ground and rubs there."""
    needed("gcc")
    export_code(simulator(ball(), material()), tmp_path / "falls.c")
    assert reported(tmp_path, "falls", "gcc", *FLAGS, "-O0", *FMA).startswith("ok: falls, 20 samples")


def test_contacts_that_resist_turning_step_by_step(tmp_path):
    """A ball that spins and rolls on the ground."""
    needed("gcc")
    surface = engine.ContactMaterial(2e5, friction=0.5, torsional_friction=0.02, rolling_friction=0.01)
    export_code(simulator(ball(), surface), tmp_path / "rolls.c")
    assert reported(tmp_path, "rolls", "gcc", *FLAGS, "-O0", *FMA).startswith("ok: rolls, 20 samples")


# ---------------------------------------------------------------- what is written


def test_a_short_function_reads_as_it_was_written(tmp_path):
    dot = engine.gufunc(lambda x, y: (x @ y, ops.where(x[0] < 0.0, y, -y)), "(n),(n)->(),(n)", n=2)
    text = export_code(dot, tmp_path / "dot.c").read_text()
    lines = [line.strip() for line in text.split("{\n")[-1].splitlines()]
    assert lines[:7] == ["const double t4 = x[0] * y[0];", "const double t5 = fma(x[1], y[1], t4);", "result_0[0] = t5;",
                         "const int t7 = x[0] < 0.0;", "const double t10 = t7 ? y[0] : (-y[0]);", "result_1[0] = t10;",
                         "const double t11 = t7 ? y[1] : (-y[1]);"]  # fmt: skip


def test_a_header_says_what_arguments_are(tmp_path):
    robot = engine.compile(pendulum())
    export_code(robot.aba, tmp_path / "swing.c")
    header = (tmp_path / "swing.h").read_text()
    assert "int swing(const double q[1], const double v[1], const double tau[1], double result[1]);" in header
    words = " ".join(header.replace("\n *", " ").split())
    for part in ("aba of 'pendulum'", "Return the accelerations v̇", "q (1): configuration, rad and m, in the order of NOTATION.md",
                 "from [0] on: pivot", "tau (1): generalized forces, N·m and N", "a result or an argument is not finite"):  # fmt: skip
        assert part in words
    export_code(controllers()["remembers"][0], tmp_path / "law.c", part="controller")
    header = (tmp_path / "law.h").read_text()
    for part in ("double v[1], const double p[3], const double held[6], double tau[1], double held_next[6]",
                 "from [2] on: gain", "from [2] on: memory", "#define LAW_INITIAL_HELD {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}",
                 "#define LAW_INITIAL_P {0.0, 0.0, 3.0}"):  # fmt: skip
        assert part in header
    export_code(engine.Simulator(pendulum(), parameters={"mass.rod": 2.0}), tmp_path / "step.c")
    header = (tmp_path / "step.h").read_text()
    assert "int step(double k, const double p[1], const double x[2], double x_next[2])" in header
    assert "#define STEP_INITIAL_P {2.0}" in header and "#define STEP_INITIAL_X {0.0, 0.0}" in header


def test_headers_serve_several_sources_and_languages(tmp_path):
    """Twice in one, beside another's, and in C++."""
    needed("gcc", "g++")
    for name in ("one", "two"):
        export_code(engine.compile(pendulum()).rnea, tmp_path / "code.c", name=name)
        (tmp_path / "code.c").rename(tmp_path / f"{name}.c")
    both = ('#include "one.h"\n#include "two.h"\n#include "one.h"\n'
            "int main() { double x[1] = {0}, y[1]; return one(x, x, x, y) + two(x, x, x, y); }\n")  # fmt: skip
    for compiler, file, standard in (("gcc", "both.c", "-std=c99"), ("g++", "both.cpp", "-std=c++17")):
        (tmp_path / file).write_text(both)
        run(["gcc", "-std=c99", "-O1", "-c", "one.c", "two.c"], tmp_path)
        run([compiler, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", file, "one.o", "two.o", "-o", "both", "-lm"], tmp_path)
        run(["./both"], tmp_path)


def test_a_self_test_says_what_differs(tmp_path):
    """Which entry, and by how many units in the last place."""
    needed("gcc")
    path = export_code(engine.gufunc(lambda x: (x + 0.1, x * 3.0), "(n)->(n),(n)", n=2), tmp_path / "off.c")
    text = path.read_text()
    assert "x[1] * 3.0" in text
    path.write_text(text.replace("x[1] * 3.0", "x[1] * 3.0000000000000004"))
    run(["gcc", "off.c", "off_test.c", "-o", "off", "-lm"], tmp_path)
    with pytest.raises(AssertionError, match=r"sample 0: result_1\[1\] is .*; expected .*, [12] units in the last place"):
        run(["./off"], tmp_path)


def test_flags_that_change_bits_are_refused(tmp_path):
    needed("gcc")
    export_code(engine.gufunc(lambda x: x * x + 1.0, "()->()"), tmp_path / "fast.c")
    with pytest.raises(AssertionError, match="expected no -ffast-math"):
        run(["gcc", "-ffast-math", "-c", "fast.c"], tmp_path)
