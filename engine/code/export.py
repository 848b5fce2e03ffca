"""Compiled functions as code for other programs and processors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from engine.checks import path_of, shown, writable, writing
from engine.code.exported import require_export
from engine.code.functions import ExportError
from engine.code.loop import looped
from engine.code.memory import with_tables
from engine.code.objects import compiled, object_code, shared_object
from engine.code.script import script
from engine.code.sources import exported
from engine.code.texts import header, selftest, source
from engine.code.wasm import GIVEN, wasm
from engine.code.wasm_tables import wasm_of_tables
from engine.simulation import Simulator

SUFFIXES = (".c", ".o", ".so", ".wasm")


def export_code(f: Any, path: str | Path, name: str | None = None, target: str | None = None,
                part: str | Sequence[str] | None = None, q0: ArrayLike | None = None, v0: ArrayLike | None = None) -> Path:  # fmt: skip
    """Write a compiled function as code that runs without the engine; return its path.

    Beside it come a header, ``NAME.h``, which says what arguments and results are, and a self-test with the engine's own results:
    ``NAME_test.c``, or of WebAssembly ``NAME_test.mjs`` for Node.js. The function takes its arguments, then where its results go: numbers
    are passed as they are, arrays flat in C order. It returns 0, or 1 where something is not finite. It allocates nothing, keeps nothing,
    and asks <math.h> alone. Tables, arrays of as many rows as there are (:func:`engine.ops.rows`), are passed with how many these are, in
    memory that the caller lends, which may turn out too small; so are results of several rows, and what a step takes whose contacts are
    tables. Of these there is C, for this machine a .o and a .so that its C compiler makes of it, and WebAssembly by zig's (the extra
    "fmu"); for other processors and in WebAssembly a simulator of robots has the step of :attr:`engine.Simulator.by_pairs`.

    Parameters
    ----------
    f : of :func:`engine.gufunc` and :func:`engine.compile` (``robot.aba``; ``robot.aba.forced`` with wrenches; a control system's
        functions, or the whole: its step ``x⁺(x, u, t, dt)``), derivatives, or a :class:`engine.Simulator`
    path : "robot.c", C99, the same bits as the engine's on any processor whose fma rounds once; "robot.o" and "robot.so", what LLVM makes,
        the same bits too; "robot.wasm", WebAssembly, which has no fma: within 1e-12 of the largest entry, or with tables the same bits. It
        exports ``memory``, the function, and where in memory arguments and results may lie and how many numbers they are: ``q`` and
        ``q_size``; of tables, ``free``, behind which they may lie
    name : the function's in C; by default the file's
    target : of a .o the processor: "x86-64" (with AVX2 and FMA), "aarch64", "riscv64", "thumbv7em" (Cortex-M7, with doubles); this one by
        default
    part : of a simulator "step", the state after a step from that before; "controller", what it commands at the beginning of a step, and
        what it holds and remembers from then on; several of its sensors and laws and its controller by name, such as ["filter",
        "guidance", "controller"]: a function of the signals that others make, of q and v where one of these reads them; or "loop", in C,
        the step and around it a loop that keeps pace with a clock and calls back before and after each, ``NAME_loop``: what is late is
        counted, and caught up with, or all that comes is late by as much
    q0, v0 : of a simulator's step, where it begins, which the header and the self-test have: by default the model's initial configuration,
        at rest; of free bodies that meet by tables it must be one in which they lie apart

    Raises
    ------
    StateError, ContactError : what :meth:`engine.Simulator.run` refuses to begin with
    ExportError : nothing that is compiled, tables for another processor, or in WebAssembly without zig, no name in C, a suffix or a target
        that there is not, a path that cannot be written, or a file there, its header or its self-test, that somebody else wrote

    Examples
    --------
    The product x₀ y₀ + x₁ y₁ is one multiplication, and one fused multiply-add:

    >>> import tempfile, engine
    >>> dot = engine.gufunc(lambda x, y: x @ y, "(n),(n)->()", n=2)
    >>> path = export_code(dot, Path(tempfile.mkdtemp()) / "dot.c")
    >>> print(path.read_text().split("#endif")[-1].strip())  # doctest: +ELLIPSIS
    int dot(const double x[restrict 2], const double y[restrict 2], double result[restrict 1])
    {
        const double t4 = x[0] * y[0];
        const double t5 = fma(x[1], y[1], t4);
        result[0] = t5;
    ...
    """
    if path_of(path, ExportError).suffix == ".C":
        raise ExportError(f"'{path}' ends in '.C', which compilers take for C++; expected '.c'")
    path = writable(path, SUFFIXES, ExportError)
    suffix = path.suffix.lower()
    if part == "loop" and suffix != ".c":
        raise ExportError(f"a loop is written as C, and '{path.name}' ends in '{suffix}'; expected '.c'")
    if target is not None and suffix != ".o":
        raise ExportError(f"target is {shown(target)} for '{path.name}'; expected one for a .o alone")
    if isinstance(f, Simulator) and (suffix == ".wasm" or target is not None):
        f = f.by_pairs                                                         # as rows of robots have no code there
    e = exported(f, path.stem if name is None else name, part, q0, v0)
    head, test = (path.with_name(f"{e.name}{end}") for end in (".h", "_test.mjs" if suffix == ".wasm" else "_test.c"))
    for own in (head, test, path):
        require_own(own)
    code, work, about = made(e, suffix, target)
    told = header(e, work, about)
    if part == "loop":
        text, told = looped(e, code.decode(), told, work)
        code = text.encode()
    files = {head: told, test: script(e, path.name) if suffix == ".wasm" else selftest(e, work)}
    write_together({path: code, **{file: text.encode() for file, text in files.items()}})
    return path


def require_own(path: Path) -> None:
    """Refuse where a file cannot be written, or is somebody's own."""
    writable(path, [path.suffix], ExportError)
    if path.exists():
        require_export(path, path.read_bytes())


def write_together(files: dict[Path, bytes]) -> None:
    """Write files, or none of them: each beside its name at first."""
    begun = {path: path.with_name(f".{path.name}.part") for path in files}
    try:
        for path, data in files.items():
            with writing(path, ExportError):
                begun[path].write_bytes(data)
        for path, whole in begun.items():
            with writing(path, ExportError, begun=False):
                whole.replace(path)
    finally:
        for part in begun.values():
            part.unlink(missing_ok=True)


def made(e: Any, suffix: str, target: str | None) -> tuple[bytes, int, str]:
    """Return the bytes of a file, the number of doubles of scratch memory that the function needs, and a paragraph for its header."""
    tabled = with_tables(e.program)
    if tabled and target is not None:
        what = f"{e.name} works with tables, which have no code in a .o for {target}"
        raise ExportError(f"{what}; expected a .c, a .wasm, or a .o or .so for this machine")
    if tabled and suffix == ".wasm":
        return *wasm_of_tables(e), ("In WebAssembly the arguments are addresses in memory and numbers of rows (i32), and numbers (f64); "
                                    "those of room for arrays are exported as globals by their names, and 'free', behind which tables and "
                                    "memory may lie.")  # fmt: skip
    if tabled and suffix != ".c":
        text, work = source(e)
        return compiled(e.name, text, header(e, work), suffix), work, "Compiled from C on the machine that it is for."
    if suffix == ".c":
        text, work = source(e)
        return text.encode(), work, ""
    if suffix == ".wasm":
        code, work = wasm(e)
        return code, work, ("In WebAssembly the arguments are addresses in memory (i32) and numbers (f64); those of room for each are "
                            f"exported as globals by its name. {', '.join(GIVEN)} are imported from 'env', where they are "
                            "called.")  # fmt: skip
    code, work = object_code(e, target)
    return (shared_object(code) if suffix == ".so" else code), work, f"Object code for {target or 'the processor that it was made on'}."
