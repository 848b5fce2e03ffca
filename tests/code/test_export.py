"""export_code: what it takes, what it writes, and what it says about bad input."""

import errno
import os
import re
import subprocess
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import engine
from engine import ops
from engine.code import ExportError, export_code
from engine.code.exported import identifier
from engine.code.reserved import RESERVED, is_taken
from engine.code.sources import exported
from engine.compiler.graph.kernel import Kernel
from engine.rigid_body import Dynamics, LieState
from tests.code.programs import needed, reported, run
from tests.code.robots import pendulum


@pytest.fixture(scope="module")
def dot():
    return engine.gufunc(lambda x, y: x @ y, "(n),(n)->()", n=2)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("file", "named", "text"), [
    ("dot.cpp", {}, r"ends in '.cpp'; expected one of .c, .o, .so, .wasm"),
    ("dot", {}, "ends in ''; expected one of"),
    ("2dot.c", {}, "name is '2dot'; expected an identifier of C: letters, digits and _, no digit first"),
    ("dot.c", {"name": "my-dot"}, "name is 'my-dot'; expected an identifier of C"),
    ("dot.c", {"name": "größe"}, "name is 'größe'; expected an identifier of C"),
    ("dot.c", {"name": "while"}, "name is 'while', which C, its library or exported code has already; expected another"),
    ("sin.c", {}, "name is 'sin', which C, its library or exported code has already"),
    ("random.so", {}, "name is 'random', which C, its library or exported code has already"),
    ("dot.c", {"name": "given"}, "name is 'given', which C, its library or exported code has already"),
    ("dot.c", {"name": 3}, "name is 3; expected an identifier of C"),
    ("dot.o", {"target": "aarch46"}, r"target is 'aarch46' \(did you mean 'aarch64'\?\); expected one of x86-64, aarch64, riscv64, thumb"),
    ("dot.c", {"target": "aarch64"}, "target is 'aarch64' for 'dot.c'; expected one for a .o alone"),
    ("dot.c", {"part": "controller"}, "part is 'controller' of <compiled .*>; expected one of a Simulator only"),
    ("missing/dot.c", {}, "there is no folder '.*missing'; expected one that exists"),
])  # fmt: skip
def test_what_cannot_be_written_is_said_in_a_sentence(dot, tmp_path, file, named, text):
    with pytest.raises(ExportError, match=text):
        export_code(dot, tmp_path / file, **named)
    assert not [*tmp_path.iterdir()]


def test_a_path_is_a_path(dot, tmp_path):
    with pytest.raises(ExportError, match="a file is 3; expected its path"):
        export_code(dot, 3)
    (tmp_path / "folder.c").mkdir()
    with pytest.raises(ExportError, match="is a folder; expected the path of a file"):
        export_code(dot, tmp_path / "folder.c")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(dot, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ExportError, match="cannot be written; expected a path with permission to write"):
        export_code(dot, tmp_path / "dot.c")


def test_a_header_that_cannot_be_written(dot, tmp_path):
    (tmp_path / "dot.h").mkdir()
    with pytest.raises(ExportError, match=r"dot.h' is a folder; expected the path of a file"):
        export_code(dot, tmp_path / "dot.c")
    assert [x.name for x in tmp_path.iterdir()] == ["dot.h"]


@pytest.mark.parametrize("suffix", [".c", ".o", ".so", ".wasm"])
def test_a_file_of_somebody_elses_is_not_written_over(dot, tmp_path, suffix):
    path = tmp_path / f"dot{suffix}"
    engine.export_code(dot, path)
    engine.export_code(dot, path)                                              # its own is written anew
    path.write_bytes(b"mine")
    with pytest.raises(ExportError, match=f"dot{suffix}' is there already, and no export wrote it; expected another name"):
        engine.export_code(dot, path)
    assert path.read_bytes() == b"mine"


def test_what_somebody_else_wrote_stays(dot, tmp_path):
    for name in ("dot.c", "dot.h", "dot_test.c"):
        (tmp_path / name).write_text("// mine")
        with pytest.raises(ExportError, match=f"{name}' is there already, and no export wrote it; expected another name"):
            export_code(dot, tmp_path / "dot.c")
        assert [(x.name, x.read_text()) for x in tmp_path.iterdir()] == [(name, "// mine")]
        (tmp_path / name).unlink()
    export_code(dot, tmp_path / "dot.c")
    export_code(dot, tmp_path / "dot.o")                         # over the first one's header and test
    export_code(dot, tmp_path / "dot.wasm")
    export_code(dot, tmp_path / "dot.wasm")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["dot.c", "dot.h", "dot.o", "dot.wasm", "dot_test.c", "dot_test.mjs"]


def test_all_or_nothing(dot, tmp_path, monkeypatch):
    whole, write = [], Path.write_bytes

    def full(self, data):
        whole.append(self)
        if len(whole) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ExportError, match=r"dot_test.c' cannot be written \(No space left on device\)"):
        export_code(dot, tmp_path / "dot.c")
    assert not [*tmp_path.iterdir()]


def test_a_name_that_is_too_long(dot, tmp_path):
    with pytest.raises(ExportError, match="expected names of at most 255 bytes"):
        export_code(dot, tmp_path / f"{300 * 'd'}.c", name="dot")


def plain(x):
    return x


@pytest.mark.parametrize(("what", "text"), [
    (plain, r"got the function plain, which is not traced; expected a compiled function \(engine.gufunc makes one\), or a Simulator"),
    (3.0, "export_code got 3.0; expected a compiled function"),
    (engine.gufunc, "export_code got the function gufunc, which is not traced"),
])  # fmt: skip
def test_only_what_is_compiled_is_written(what, text, tmp_path):
    with pytest.raises(ExportError, match=text):
        export_code(what, tmp_path / "f.c")


def test_simulators_that_are_not_one_program(tmp_path):
    model = pendulum()
    law = engine.Law(lambda t, q, v: -q, period=0.01, python=True)
    for simulator, part, text in (
        (engine.Simulator(model, compiled=False), None, r"runs as plain Python \(compiled=False\); expected one that is compiled"),
        (engine.Simulator(model, controller=law), "step", "the controller <lambda> runs as plain Python; expected one that is compiled"),
        (engine.Simulator(model), "controller", "the simulator of 'pendulum' has no controller; expected Simulator"),
        (engine.Simulator(model, events=[lambda t, q, v: q[0]]), "step", "has events, which interrupt runs from outside"),
        (engine.Simulator(model), "motor", "part is 'motor'; expected one of step, controller"),
    ):
        with pytest.raises(ExportError, match=text):
            export_code(simulator, tmp_path / "f.c", part=part)


def test_a_function_without_results(tmp_path):
    with pytest.raises(ExportError, match="<lambda> has no results; expected some"):
        export_code(engine.gufunc(lambda x: x * x, "(n)->(n)", n=0), tmp_path / "empty.c")


def test_what_has_changed_is_not_exported(tmp_path):
    gains = {"k": 1.0}
    simulator = engine.Simulator(pendulum(), controller=lambda t, q, v: -gains["k"] * q)
    gains["k"] = 2.0
    with pytest.raises(engine.SimulationError, match="gains"):
        export_code(simulator, tmp_path / "f.c")


class Strange(Kernel):
    """A kernel that C does not know."""

    def __init__(self):
        super().__init__(1, 1, "strange")

    def run(self, inputs):
        return inputs

    def emit(self, module, name):
        raise NotImplementedError


def test_an_operation_without_code_is_named(tmp_path):
    program = engine.compiler.trace(lambda x: np.array(ops.graph_of(x).call(Strange(), [x]))[0], [()])
    f = engine.Gufunc(program, "()->()", ["x"])
    with pytest.raises(ExportError, match=r"the operation 'strange' has no code in C; expected a kernel of engine\.code\.kernels"):
        export_code(f, tmp_path / "f.c")


# ---------------------------------------------------------------- names


def test_names_are_those_of_c():
    assert identifier("q") == "q" and identifier("mass.tool") == "mass_tool" and identifier("x⁺") == "x_next"
    assert identifier("double") == "double_" and identifier("t12") == "t12_" and identifier("q", {"q"}) == "q_"
    assert identifier("γ")[0] == "x"
    assert {"int", "sin", "work"} <= RESERVED


def odd(double, t4, γ, work, result, odd, memory):
    return double + t4 * γ - work * result + odd * memory


def test_arguments_of_any_name(tmp_path):
    """Words of C, names of its own, the function's, and the result's."""
    needed("gcc")
    export_code(engine.gufunc(odd, "(),(2),(2),(),(),(),(2)->(2)"), tmp_path / "odd.c")
    assert reported(tmp_path, "odd", "gcc", "-std=c99") == "ok: odd, 20 samples, bit for bit\n"


def test_an_argument_called_as_the_memory_of_webassembly(tmp_path):
    needed("node")
    export_code(engine.gufunc(odd, "(),(2),(2),(),(),(),(2)->(2)"), tmp_path / "odd.wasm")
    assert run(["node", "odd_test.mjs"], tmp_path) == "ok: odd, 20 samples, within 1e-12\n"


# ---------------------------------------------------------------- other functions


class Turned(Dynamics):
    """A rotation driven by its controls."""

    state, controls, name = LieState("quaternion"), 3, "turned"

    def dynamics(self, x, u, t):
        return u


def test_all_kinds_of_functions(tmp_path):
    """Control systems, robots at parameters, wrenches, derivatives, and functions without arguments or results."""
    needed("gcc")
    robot = engine.compile(pendulum(), parameters=["mass.rod"])
    kinds = {"turned": engine.compile(Turned()), "rate": engine.compile(Turned()).dynamics, "at": robot.at({"mass.rod": 3.0}).aba,
             "forced": engine.compile(pendulum()).aba.forced, "slope": engine.jacobian(lambda x: x * x, "(n)->(n)", n=2),
             "energies": engine.compile(pendulum()).energy,
             "fixed": engine.gufunc(lambda x, y: np.array([1.0, 2.0]), "(),(0)->(2)"),
             "alone": engine.gufunc(lambda y: np.array([1.0, 2.0]), "(0)->(2)")}  # fmt: skip
    for name, f in kinds.items():
        export_code(f, tmp_path / f"{name}.c")
        found = reported(tmp_path, name, "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
        assert found.startswith(f"ok: {name}, 20 samples")
    assert "double mass_rod" in (tmp_path / "at.h").read_text()


HEADERS = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stdint", "stdio", "stdlib", "string"))


def declared(names: list[str]) -> set[str]:
    """Those of some names that a C compiler does not let a function of ours have, each declared in a line of its own."""
    lines = [f"int {name}(const double x[restrict 2], double y[restrict 2]);" for name in names]
    done = subprocess.run([which("gcc"), "-std=gnu17", "-Wall", "-fmax-errors=0", "-x", "c", "-fsyntax-only", "-"],
                          input=HEADERS + '#line 1 "NAMES"\n' + "\n".join(lines), capture_output=True, text=True)  # fmt: skip
    said = [*map(int, re.findall(r"^NAMES:(\d+):\d+: (?:error|warning)", done.stderr, re.MULTILINE))]
    return {names[k - 1] for k in said if k <= len(names)}


@pytest.mark.skipif(which("gcc") is None, reason="no gcc")
def test_names_that_a_compiler_does_not_give_to_a_function_are_refused():
    done = subprocess.run([which("gcc"), "-std=gnu17", "-E", "-P", "-dD", "-x", "c", "-"], input=HEADERS, capture_output=True, text=True)
    names = sorted({*re.findall(r"\b[A-Za-z]\w*", done.stdout)})
    refused = declared(names)
    assert len(refused) > 500 and {"cbrt", "erf", "lround", "strdup", "DBL_MAX", "int8_t"} <= refused
    assert [name for name in refused if not is_taken(name)] == []


@pytest.mark.parametrize("name", ["cbrt", "sqrtf", "cexp", "nextafter", "sincos", "strdup", "alignas", "co_await", "noexcept", "INT8_MAX"])
def test_a_name_of_the_c_library_is_refused(dot, tmp_path, name):
    with pytest.raises(ExportError, match=f"name is '{name}', which C, its library or exported code has already; expected another"):
        engine.export_code(dot, tmp_path / "dot.c", name=name)


def test_a_self_test_of_what_rests_is_of_motions_too():
    """A free flyer without weight stays where it begins: half of its samples are of another state, in which all moves, and goes on."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    samples = exported(engine.Simulator(model, dt=0.01, gravity=(0, 0, 0)), "flyer", "step").samples()
    x, y = (np.array([s[k][-1] for s in samples]) for k in (0, 1))
    assert len(samples) == 20
    assert (x[0] == y[9]).all()                                                # at rest, from INITIAL_X on
    assert (np.abs(x[10:, : model.nq + model.nv] - y[10:, : model.nq + model.nv]) > 0).all(axis=1).sum() >= 9
    assert (x[11:] == y[10:-1]).all() and np.isfinite(y).all()


def test_a_step_says_what_of_its_parameters_nobody_checks(tmp_path):
    builder = engine.Builder("craft")
    builder.add_link("hub", inertia=engine.spatial.inertia.sphere(100.0, 1.0))
    tank = engine.space.Tank("hub", capacity=60.0, fuel=40.0)
    model = builder.model(floating_base=True)
    simulator = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), actuators=[tank], parameters={"tank.fuel": 40.0})
    engine.export_code(simulator, tmp_path / "tank.c")
    said = " ".join((tmp_path / "tank.h").read_text().replace("\n *", " ").split())
    assert "Nothing here checks the ranges of p" in said
    assert "States of tank in x are at first those of q, v and p" in said
