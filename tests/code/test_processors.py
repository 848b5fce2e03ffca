"""Exported code on other processors, which are emulated: the same bits as here."""

import ctypes

import numpy as np
import pytest

import engine
from engine import ops
from engine.code import ExportError, export_code
from engine.code.wasm import GIVEN
from engine.compiler import trace
from tests.code.programs import CORTEX_M4, CORTEX_M7, FLAGS, FMA, board, emulated, needed, reported, run
from tests.code.robots import controllers, functions, pendulum
from tests.code.test_c import KINDS

AARCH64, RISCV64 = ("aarch64-linux-gnu-gcc", "-static"), ("riscv64-linux-gnu-gcc", "-static")


@pytest.fixture(scope="module")
def written():
    """Functions of a robot of joints of all kinds, a step, and a controller that remembers."""
    return {**functions("slides"), **{n: f for n, f in controllers().items() if n == "remembers"}}


# ---------------------------------------------------------------- C


def test_c_on_aarch64(written, tmp_path):
    needed(AARCH64[0], "qemu-aarch64")
    for name, (f, part) in written.items():
        export_code(f, tmp_path / f"{name}.c", part=part)
        assert reported(tmp_path, name, *AARCH64, *FLAGS, "-O2", emulator=("qemu-aarch64",)) == f"ok: {name}, 20 samples, bit for bit\n"


@pytest.mark.parametrize(("kind", "machine"), [(CORTEX_M7, "mps2-an500"), (CORTEX_M4, "mps2-an386")])
def test_c_on_a_microcontroller(written, tmp_path, kind, machine):
    """With a unit for doubles, and without one, where newlib's fma rounds twice and the file has its own."""
    needed("arm-none-eabi-gcc", "qemu-system-arm")
    for name in ("slides_aba", "slides_step", "remembers"):
        f, part = written[name]
        export_code(f, tmp_path / f"{name}.c", part=part)
        text = reported(tmp_path, name, "arm-none-eabi-gcc", *kind, *FLAGS, "-O1", *board(tmp_path), emulator=emulated(machine))
        assert text == f"ok: {name}, 20 samples, bit for bit\n"


# ---------------------------------------------------------------- objects

OBJECTS = [
    ("x86-64", ("gcc",), ()), ("aarch64", AARCH64, ("qemu-aarch64",)), ("riscv64", RISCV64, ("qemu-riscv64",)),
    ("thumbv7em", ("arm-none-eabi-gcc", *CORTEX_M7), emulated("mps2-an500")),
]  # fmt: skip


@pytest.mark.parametrize(("target", "compiler", "emulator"), OBJECTS, ids=[o[0] for o in OBJECTS])
def test_objects(written, tmp_path, target, compiler, emulator):
    """Beside the same header and self-test."""
    needed(compiler[0], *emulator[:1])
    if target == "x86-64" and not FMA:
        pytest.skip("this processor has no fused multiply-adds")
    for name in ("slides_crba", "slides_step", "remembers"):
        f, part = written[name]
        export_code(f, tmp_path / f"{name}.o", target=target, part=part)
        more = board(tmp_path) if target == "thumbv7em" else []
        text = reported(tmp_path, name, *compiler, *more, emulator=emulator, files=(f"{name}.o",))
        assert text == f"ok: {name}, 20 samples, bit for bit\n"


def test_a_shared_library_is_called_at_once(tmp_path):
    """From Python, here."""
    needed("cc")
    robot = engine.compile(pendulum())
    library = ctypes.CDLL(str(export_code(robot.aba, tmp_path / "swing.so")))
    q, v, tau, found = np.array([0.3]), np.array([-1.0]), np.array([2.0]), np.zeros(1)
    assert library.swing(*(ctypes.c_void_p(x.ctypes.data) for x in (q, v, tau, found))) == 0
    assert found == robot.aba(q, v, tau)


def test_a_shared_library_needs_a_linker(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match=r"there is no C compiler \(cc\) that links a .so; expected one, or a .o"):
        export_code(engine.gufunc(lambda x: x, "()->()"), tmp_path / "same.so")


# ---------------------------------------------------------------- WebAssembly


def test_webassembly(written, tmp_path):
    """Within 1e-12, as it has no fused multiply-adds."""
    needed("node")
    for name, (f, part) in written.items():
        path = export_code(f, tmp_path / f"{name}.wasm", part=part)
        assert path.read_bytes()[:4] == b"\0asm"
        assert reported_by_node(tmp_path, name) == f"ok: {name}, 20 samples, within 1e-12\n"


def test_functions_that_a_module_is_given(tmp_path):
    """Each of them, in a module whose file has another name."""
    needed("node")
    f = engine.gufunc(lambda x, y: np.array([ops.sin(1e15 * x), ops.cos(1e15 * x), ops.tan(x), ops.arcsin(x), ops.arccos(x), ops.arctan(x),
                                             ops.arctan2(x, y), ops.power(abs(x), y), ops.fmod(y, x)]), "(),()->(n)")  # fmt: skip
    code = export_code(f, tmp_path / "other file.wasm", name="library").read_bytes()
    assert not [name for name in GIVEN if bytes([3]) + b"env" + bytes([len(name)]) + name.encode() not in code], "has no call above"
    assert reported_by_node(tmp_path, "library") == "ok: library, 20 samples, within 1e-12\n"


def test_an_operation_without_code_in_webassembly(tmp_path, monkeypatch):
    """What to do instead is said of a function, and of a simulator."""
    monkeypatch.setattr("engine.code.wasm.GIVEN", tuple(name for name in GIVEN if name != "tan"))
    with pytest.raises(ExportError, match=r"'tan' has no code in WebAssembly, .*; expected a function as '\.c' or '\.o', "):
        export_code(engine.gufunc(lambda x: ops.tan(x), "()->()"), tmp_path / "x.wasm")
    b = engine.Builder("slide")
    b.add_link("rail")
    b.add_link("ball", inertia=engine.spatial.inertia.sphere(1.0, 0.1), visuals=[engine.Geometry("sphere", (0.1,))])
    b.add_joint("lift", "prismatic", "rail", "ball", axis=[0, 0, 1])
    simulator = engine.Simulator(b.model(), controller=lambda v: -ops.tan(0.01 * v))
    with pytest.raises(ExportError, match=r"a simulator's run as a page that plays, .*, or engine\.serve\(simulator\)$"):
        engine.export(simulator, tmp_path / "live.html")
    assert engine.export(simulator.run([0.0], [0.0], 0.01), tmp_path / "run.html").exists()


def reported_by_node(folder, name):
    """What the self-test of a module prints."""
    return run(["node", f"{name}_test.mjs"], folder)


def test_kernels_and_elementary_functions_in_webassembly(tmp_path):
    """Reductions of arguments are exact there too; random numbers are the same ones."""
    needed("node")

    def together(x):
        return *(np.ravel(fn(x)) for fn in KINDS.values()), np.exp(9.0 * x), np.sin(1e4 * x), np.log(x * x), np.arctan(x)

    program = trace(together, [(4,)])
    export_code(engine.Gufunc(program, engine.compiler.signature_of(program), ["x"]), tmp_path / "kinds.wasm")
    assert reported_by_node(tmp_path, "kinds") == "ok: kinds, 20 samples, within 1e-12\n"
