"""LLVM: object code from IR text for this processor, and function addresses from object code.

Set ``ENGINE_LANES`` to 1, 2, 4 or 8 to choose how many samples of a batch, or up to 4 equal parts of one sample, go together; results are
the same bits at any number, also at one that is wider than the processor's vectors.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import hashlib
import itertools
import json
import math
import os
import platform
import re
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import numpy as np

from engine import cache
from engine.checks import EngineError
from engine.compiler import debug
from engine.compiler.graph import vecmath
from engine.compiler.graph.numbers import Numbered, numbered, outline, places
from engine.gc_pause import gc_paused


def read(path: str) -> bytes:
    """Return the bytes of a file."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def texts() -> bytes:
    """Return the texts of all modules that make code: this compiler's, and those of the engine's that it imports."""
    here = os.path.dirname(__file__)
    top = os.path.dirname(here)
    try:
        files = [os.path.join(top, f"{name}.py") for name in ("cache", "checks", "gc_pause")]
        for folder, _, names in itertools.chain(os.walk(here), os.walk(os.path.join(top, "ops"))):
            files += [os.path.join(folder, name) for name in names if name.endswith(".py")]
        return b"".join(map(read, sorted(files)))
    except OSError:  # in an archive, say: what this process keeps is found by no other
        return os.urandom(32)


#: read together with the modules: where a file changes while this process runs, what it keeps is found by no other
TEXTS = hashlib.sha256(texts()).hexdigest()


#: held by who uses LLVM; a fork waits for it, since the child has only the thread that forks, and no other would ever let go of LLVM there
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
atexit.register(LOCK.acquire)  # and for good at the end: LLVM is taken down with the process, under a thread that still compiles

P = ParamSpec("P")
R = TypeVar("R")


def alone(f: Callable[P, R]) -> Callable[P, R]:
    """Let one thread at a time into a function that uses LLVM."""

    @functools.wraps(f)
    def locked(*args: P.args, **named: P.kwargs) -> R:
        with LOCK:
            return f(*args, **named)

    return locked


@functools.cache
@alone
def llvm() -> Any:
    """LLVM, loaded when the first function is compiled."""
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


def target(level: int = 0) -> Any:
    """The host as LLVM's target machine: a new one each time, since the code that is loaded with it owns it. Of straight lines it makes the
    same code at its own level 1 as at 2, in less time."""
    cpu, features = llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()
    return llvm().Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=max(level, 1), jit=True)


@functools.cache
@alone
def width() -> int:
    """Lanes of a vector of doubles: 8 with AVX-512, 4 with AVX, else 2; or as many as ``ENGINE_LANES`` says."""
    if (chosen := os.environ.get("ENGINE_LANES")) is not None:
        if chosen not in ("1", "2", "4", "8"):
            raise EngineError(f"ENGINE_LANES is {chosen!r}; expected 1, 2, 4 or 8")
        return int(chosen)
    features = llvm().get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


@functools.cache
def rows() -> int:
    """Rows of a table that go together: as many as ``ENGINE_ROWS`` says, or four, or as lanes of a vector where that has fewer.

    Of eight each column is loaded by itself all the same, a branch is left by all of them or none, and more of the last are idle.
    """
    if (chosen := os.environ.get("ENGINE_ROWS")) is None:
        return min(width(), 4)
    if chosen not in ("1", "2", "4", "8"):
        raise EngineError(f"ENGINE_ROWS is {chosen!r}; expected 1, 2, 4 or 8")
    return int(chosen)


@functools.cache
@alone
def registers() -> int:
    """Vector registers."""
    return 32 if llvm().get_host_cpu_features().get("avx512f") or platform.machine() in ("arm64", "aarch64") else 16


@functools.cache
@alone
def identity() -> str:
    """Return all that the code depends on besides the program: processor, LLVM, this compiler's texts and library."""
    import llvmlite

    library = hashlib.sha256(vecmath.library(1).encode()).hexdigest()
    host = llvm().get_default_triple(), llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()
    return "|".join([*host, llvmlite.__version__, str(llvm().llvm_version_info), TEXTS, library])


#: passes that find nothing to do in straight lines that are folded and scheduled already, and took a fifth of LLVM's time
IDLE = ("disable-cgp", "disable-machine-cse", "disable-machine-sink", "disable-machine-licm", "disable-postra-machine-licm", "disable-lsr",
        "disable-constant-hoisting", "disable-partial-libcall-inlining")  # fmt: skip
#: versions of LLVM that know all of these; another would end the process at one that it does not know
KNOWN = range(20, 23)


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Context without LLVM's idle passes; others who use LLVM in this process keep them."""
    known = IDLE if llvm().llvm_version_info[0] in KNOWN else ()
    for option in known:
        llvm().set_option("", f"-{option}")
    try:
        yield
    finally:
        for option in known:
            llvm().set_option("", f"-{option}=false")


#: functions in one module: enough that what each module takes by itself is little
TOGETHER = 16
#: processors for threads
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def assemble(text: str) -> list[bytes]:
    """Object code of IR text. Hidden functions, which call none of the others, are modules of their own, a few in each: several processors
    work on them at once, and what comes out depends on the text alone."""
    head, *functions = text.split("\ndefine ")
    apart = [f for f in functions if f.startswith("hidden ")]
    declared = [f"declare {f[: f.index(')') + 1]}" for f in apart]
    own = "\ndefine ".join([head, *(f for f in functions if not f.startswith("hidden "))])
    few = ("".join(f"define {f}\n" for f in apart[k : k + TOGETHER]) for k in range(0, len(apart), TOGETHER))
    modules = ["\n".join([own, *declared]), *few] if len(apart) > TOGETHER else [text]
    if len(modules) == 1:
        return [assembled(text)]
    with contextlib.suppress(RuntimeError), ThreadPoolExecutor(CORES) as pool:     # which no thread can be started for at Python's end
        return list(pool.map(piece, modules))
    return [piece(module) for module in modules]


def piece(text: str) -> bytes:
    """Return object code of one of several modules, cached by its text: where a number of a long program has changed, most of them are as
    they were."""
    key = f"piece|{hashlib.sha256(text.encode()).hexdigest()}|{identity()}"
    if (kept := cache.load(key)) is None:
        kept = assembled(text)
        cache.store(key, kept)
    return kept


def divided(text: str) -> tuple[str, list[str]]:
    """Split IR text at form feeds: return it without the modules that stand in it, and these."""
    parts = text.split("\f")
    return "".join(parts[::2]), parts[1::2]


def assembled(text: str, host: Any = None, level: int = 0) -> bytes:
    """Object code of one module, for the host or another of LLVM's target machines. The graph is folded and fused already: at level 0 LLVM
    inlines, selects, schedules and allocates registers; at 2 it makes of loops what it can."""
    with debug.share("LLVM reads"):
        module = llvm().parse_assembly(text, llvm().create_context())
        module.verify()
    host = target(level) if host is None else host
    with debug.share("LLVM's passes"):
        options = llvm().create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization, options.slp_vectorization = False, level > 0      # along rows, the first would gather numbers
        builder = llvm().create_pass_builder(host, options)
        builder.getModulePassManager().run(module, builder)
    ffi = llvm().ffi
    emit = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    # as TargetMachine.emit_object, but for llvmlite's lock: a context of its own needs none
    with ffi.OutputString() as error, debug.share("LLVM's code"):
        buffer = getattr(emit, "_cfn", emit)(host, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def variables(text: str) -> str:
    """Return the lines of IR text that define variables: what is looked for in them is not looked for in the rest."""
    return "".join(f"@{part.partition(chr(10))[0]}\n" for part in f"\n{text}".split("\n@")[1:])


def constants(text: str) -> Iterator[tuple[str, int, list[float]]]:
    """Return the tables of constants in IR text: their names, lanes, and entries."""
    line = r"^@([\w.]*constants) = global \[\d+ x (?:<(\d) x double>|double)\] \[(.*)\]$"
    for name, lanes, entries in re.findall(line, text, re.MULTILINE):
        yield name, int(lanes or 1), [struct.unpack(">d", bytes.fromhex(x))[0] for x in re.findall("0x([0-9A-F]{16})", entries)]


#: a kernel's table in IR text
TABLE = r"^@((?:rows\.)?table\.[0-9a-f]{32}\.\d+) = global "


def joined(parts: list[bytes]) -> bytes:
    """Return several objects as one, each after its length."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def parted(whole: bytes) -> Iterator[bytes]:
    """Return the objects that :func:`joined` joined."""
    while whole:
        end = 8 + int.from_bytes(whole[:8], "little")
        yield whole[8:end]
        whole = whole[end:]


def parts(key: str) -> dict[str, str]:
    """Return the parts of machine code's disk cache key, by name."""
    entered, *of = key.split("|")
    triple, cpu, features, *versions, texts, library = identity().split("|")
    return {"the lanes, or how it is entered": entered, "the program": "|".join(of), "the processor": f"{triple}|{cpu}|{features}",
            "LLVM": "|".join(versions), "the engine's sources": f"{texts}|{library}"}  # fmt: skip


def described(programs: Sequence[Any], shared: Numbered) -> dict[str, Any]:
    """Return what programs are without their numbers, and these, for a report."""
    return {"outline": outline(programs), "shared": shared.key, "numbers": shared.numbers}


#: variables of code that hold the addresses of functions, by their names: filled in when it is loaded, where it has them
FILLED: dict[str, Callable[[], int]] = {}


class Code:
    """Loaded object code, kept in the disk cache by the programs' key: keeps it alive and finds its symbols."""

    @alone
    def __init__(self, how: str, text: Callable[[], str], what: str = "code", programs: Sequence[Any] = ()) -> None:
        """Code of some programs, to be entered as ``how`` says: kept on disk, of these or of others that differ in their numbers alone, or
        compiled from the IR text that ``text()`` makes."""
        width()  # which refuses a wrong ENGINE_LANES; code for single calls does not ask otherwise
        exact, shared = "|".join([how, *(p.key for p in programs)]), numbered(programs)
        keys = [f"{key}|{identity()}" for key in (f"{how}|but for numbers|{shared.key}", exact)]
        with debug.reported(what, programs, lambda: {**parts(exact), **described(programs, shared)}) as report:
            kept = next((found for key in keys if (found := cache.load(key)) is not None), None)
            self.cached = kept is not None
            if kept is None:
                with gc_paused(), debug.stage("written"):
                    made = text()
                main, loops = divided(made)
                with debug.stage("LLVM"):
                    own = [assembled(module, level=2) for module in loops]
                with hurried(), debug.stage("LLVM"):
                    objects = [*assemble(main), *own]
                defined = variables(main)
                numbers = {name: (lanes, places(x, shared.numbers)) for name, lanes, x in constants(defined)}
                alone = any(found is None for _, found in numbers.values())    # whether its code is of its numbers alone
                order = {name: k for k, name in enumerate(shared.tables)}
                tables = {name: order[name.removeprefix("rows.")] for name in re.findall(TABLE, defined, re.MULTILINE)}
                kept = joined([json.dumps(({}, {}) if alone else (numbers, tables)).encode(), *objects])
                cache.store(keys[alone], kept)
            if report is not None:
                report.found, report.text = self.cached, "" if self.cached else made
            with debug.stage("loaded"):
                entered, *objects = parted(kept)
                self.engine = llvm().create_mcjit_compiler(llvm().parse_assembly(""), target())
                for code in objects:
                    self.engine.add_object_file(llvm().ObjectFileRef.from_data(code))
                self.engine.finalize_object()
                if self.cached:
                    fixed, apart = json.loads(entered)
                    self.enter(fixed, apart, shared)
                for name, address in FILLED.items():
                    if place := self.engine.get_global_value_address(name):
                        ctypes.c_void_p.from_address(place).value = address()

    def enter(self, constants: dict[str, Any], tables: dict[str, int], own: Numbered) -> None:
        """Write a program's own constants into their tables: for each its number of lanes, and of every entry the constant's number and
        sign; and kernels' tables, by their numbers."""
        numbers = np.array([math.nan, *own.numbers])
        for name, (lanes, entries) in constants.items():
            which, sign = np.array(entries, dtype=int).reshape(-1, 2).T
            memory = (ctypes.c_double * (lanes * len(which))).from_address(self.variable(name))
            np.ctypeslib.as_array(memory).reshape(-1, lanes)[which >= 0] = (sign * numbers[which + 1])[which >= 0, None]
        rows = [*own.tables.values()]
        for name, k in tables.items():
            raw = np.ascontiguousarray(rows[k], dtype=float).tobytes()
            ctypes.memmove(self.variable(name), raw, len(raw))

    @alone
    def function(self, name: str) -> int:
        return self.engine.get_function_address(name)

    @alone
    def variable(self, name: str) -> int:
        return self.engine.get_global_value_address(name)
