"""WebAssembly of functions with tables: their C, compiled by zig's clang, whose C library has an fma that rounds once: the same bits.

The module imports nothing. It exports what others do; tables and the memory that the caller lends lie from the global ``free`` on, where
nothing else is, in ``memory``, which the caller lets grow.
"""

from __future__ import annotations

import sys

from engine.checks import require_packages
from engine.code.exported import WRITER, Exported
from engine.code.functions import ExportError
from engine.code.objects import built
from engine.code.texts import STACK, header, source
from engine.code.wasm import (
    CUSTOM,
    EXPORTS,
    FUNCTION,
    GLOBAL,
    GLOBALS,
    IMPORTS,
    MEMORY,
    PAGE,
    Reader,
    constant,
    leb,
    sections,
    text_of,
)

#: of clang: the processor that all browsers and Node have had since 2021
ZIG = ("-target", "wasm32-wasi", "-mcpu=generic+bulk_memory+nontrapping_fptoint+sign_ext", "-mexec-model=reactor", "-nostartfiles")
HEAP = "__heap_base"


def wasm_of_tables(e: Exported) -> tuple[bytes, int]:
    """The module, and how many doubles the function must be lent, besides memory.

    Raises
    ------
    ExportError : there is no zig
    """
    require_packages(f"{e.name} works with tables, of which a .wasm", "fmu", "ziglang", error=ExportError)
    text, work = source(e)
    files = {f"{e.name}.c": text.encode(), f"{e.name}.h": header(e, work).encode()}
    command = [*ZIG, "-std=c99", "-O2", "-ffp-contract=off", "-Wl,--no-entry", f"-Wl,--export={e.name}", f"-Wl,--export={HEAP}",
               "-Wl,--strip-all", f"{e.name}.c"]  # fmt: skip
    return placed(e, built(command, files, "compile", ".wasm", [sys.executable, "-m", "ziglang", "cc"]), work), work


def placed(e: Exported, code: bytes, work: int) -> bytes:
    """The module with places for arrays behind its data, and where these are."""
    parts = {kind: content for kind, content in sections(code) if kind != CUSTOM}
    if Reader(parts.get(IMPORTS, b"\0")).number():
        raise ExportError(f"{e.name} asks for functions of the system in WebAssembly; expected arithmetic alone")
    own = exported(parts[EXPORTS])
    at = -(-value_of(parts[GLOBALS], own[HEAP]) // 64) * 64
    arrays = [*((x.name, x.size) for x in (*e.parameters, *e.returned) if not x.columns), *[("work", work)] * (work > STACK)]
    values: list[tuple[str, int]] = []
    for n, size in arrays:
        values += [(n, at), *[(f"{n}_size", size)] * (n != "work")]
        at += 8 * size
    values.append(("free", -(-at // 16) * 16))
    r = Reader(parts[GLOBALS])
    count = r.number()
    parts[GLOBALS] = leb(count + len(values)) + parts[GLOBALS][r.at :] + b"".join(constant(x) for _, x in values)
    exports = [text_of("memory") + bytes([2, 0]), text_of(e.name) + bytes([FUNCTION]) + leb(own[e.name]),
               *(text_of(n) + bytes([GLOBAL]) + leb(count + k) for k, (n, _) in enumerate(values))]  # fmt: skip
    parts[EXPORTS] = leb(len(exports)) + b"".join(exports)
    parts[MEMORY] = leb(1) + b"\x00" + leb(-(-at // PAGE) + 1)                 # which may grow
    mark = text_of(WRITER)
    return code[:8] + b"".join(bytes([k]) + leb(len(x)) + x for k, x in parts.items()) + bytes([CUSTOM, len(mark)]) + mark


def exported(content: bytes) -> dict[str, int]:
    """The numbers of what a module exports, by name."""
    r, found = Reader(content), dict[str, int]()
    for _ in range(r.number()):
        name, _ = r.name().decode(), r.take(1)
        found[name] = r.number()
    return found


def value_of(content: bytes, which: int) -> int:
    """A global whole number's value."""
    r, value = Reader(content), 0
    for _ in range(r.number()):
        r.take(2)                                                              # its type, and whether it changes
        if r.take(1) != b"\x41":
            raise ExportError("a global of the module is no whole number; expected one")
        value = r.number()
        r.take(1)
        if not which:
            return value
        which -= 1
    raise ExportError("the module does not say where its data end; expected one that does")
