"""Object code for other processors by LLVM, of the IR that the engine itself runs, under the same header as the C."""

from __future__ import annotations

import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from engine.checks import one_of, shown
from engine.code.exported import WRITER, Exported
from engine.code.functions import ExportError
from engine.code.texts import STACK
from engine.compiler import native_code
from engine.compiler.codegen.llvm import Module, put_finite
from engine.compiler.graph.vecmath import literal


@dataclass(frozen=True)
class Target:
    """A processor: LLVM's name of it, and its number of registers for doubles."""

    triple: str
    cpu: str
    features: str = ""
    abi: str = ""
    registers: int = 16


#: with fused multiply-adds of doubles, all of them but WebAssembly
TARGETS = {
    "x86-64": Target("x86_64-unknown-linux-gnu", "x86-64-v3"),                 # from 2013 on
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", registers=32),
    "riscv64": Target("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d", 32),
    "thumbv7em": Target("thumbv7em-unknown-none-eabihf", "cortex-m7"),                 # with the unit for doubles
    "wasm": Target("wasm32-unknown-unknown", "generic", "+bulk-memory,+nontrapping-fptoint,+sign-ext", registers=64),
}


class Fixed(Module):
    """An IR module for export, whose constants are part of the code."""

    constants_are = "internal constant"


class Portable(Fixed):
    """An IR module for another processor than this one."""

    def __init__(self, target: Target) -> None:
        super().__init__(1)
        self.target = target

    def registers(self) -> int:
        return self.target.registers

    def most(self) -> int:
        return 1


def object_code(e: Exported, target: str | None) -> tuple[bytes, int]:
    """Return an object file with the function, for a named target or this processor, and the doubles of scratch memory that it needs."""
    name = target if target is None else one_of("target", target, [t for t in TARGETS if t != "wasm"], ExportError)
    text, work = with_entry(e, Fixed(1) if name is None else Portable(TARGETS[name]))
    return assembled(text, name), work


@native_code.alone
def assembled(text: str, name: str | None) -> bytes:
    """Return object code of IR text, whose segments are hidden from other objects."""
    llvm = native_code.llvm()
    if name is None:
        host = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, reloc="pic", codemodel="default")
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        t = TARGETS[name]
        reloc = "static" if "none" in t.triple or name == "wasm" else "pic"
        host = llvm.Target.from_triple(t.triple).create_target_machine(cpu=t.cpu, features=t.features, opt=2, reloc=reloc,
                                                                       codemodel="default", abiname=t.abi)  # fmt: skip
        text = f'target triple = "{t.triple}"\ntarget datalayout = "{host.target_data}"\n{text}'
    return native_code.assembled(text.replace("\ndefine hidden ", "\ndefine internal "), host)


def with_entry(e: Exported, module: Module) -> tuple[str, int]:
    """Return IR text of the function as C calls it, and the doubles of scratch memory that the caller lends: those that it needs, where
    they are too many for the stack, else none."""
    f, work = module.function(e.program)
    n_in, n_out = e.program.n_in, len(e.program.outputs)
    need = n_in + n_out + work
    taken = need <= STACK
    put_finite(module)
    parameters = [f"double %{a.name}" if not a.shape else f"ptr %{a.name}" for a in e.parameters] + [f"ptr %{r.name}" for r in e.returned]
    parameters += [] if taken else ["ptr %work"]
    lines = [f"define i32 @{e.name}({', '.join(parameters)}) nounwind {{"]
    lines += [f"  %work = alloca [{need} x double], align 64"] if taken else []
    lines += [f"  %results = getelementptr double, ptr %work, i64 {n_in}", f"  %rest = getelementptr double, ptr %work, i64 {n_in + n_out}"]
    k = 0
    for i, a in enumerate(e.given):
        lines.append(f"  %in{i} = getelementptr double, ptr %work, i64 {k}")
        if a.bound is not None:
            lines += [f"  %in{i}.{j} = getelementptr double, ptr %in{i}, i64 {j}\n  store double {literal(a.bound)}, ptr %in{i}.{j}"
                      for j in range(a.size)]  # fmt: skip
        elif not a.shape:
            lines.append(f"  store double %{a.name}, ptr %in{i}")
        elif a.size:
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %in{i}, ptr align 8 %{a.name}, i64 {8 * a.size}, i1 false)")
        k += a.size
    lines.append(f"  call void {f}(ptr %work, ptr %results, ptr %rest, i64 1, i64 0, i64 0, i64 0)")
    k = n_in
    for i, r in enumerate(e.results):
        if r.size:
            lines.append(f"  %out{i} = getelementptr double, ptr %work, i64 {k}")
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %{r.name}, ptr align 8 %out{i}, i64 {8 * r.size}, i1 false)")
        k += r.size
    first, n = ("%work", n_in + n_out) if e.strict else ("%results", n_out)
    lines += [f"  %good = call i1 @all_finite(ptr {first}, i64 {n})", "  %bad = xor i1 %good, true", "  %status = zext i1 %bad to i32",
              "  ret i32 %status", "}", "", "!llvm.ident = !{!99999}", f'!99999 = !{{!"{WRITER}"}}']  # fmt: skip
    return "\n".join([str(module), *lines]), 0 if taken else need


def compiled(name: str, text: str, head: str, suffix: str) -> bytes:
    """Return an object, or a shared library, that the system's compiler makes of C for this machine; used where LLVM is not: the same bits.
    """
    files = {f"{name}.c": f'{text}\nconst char {name}_written[] = "{WRITER}";\n'.encode(), f"{name}.h": head.encode()}
    fast = ["-march=native"] if platform.machine() in ("x86_64", "AMD64") else []
    how = ["-shared", "-lm"] if suffix == ".so" else ["-c"]
    return built([*fast, "-std=c99", "-O2", "-ffp-contract=off", "-fPIC", f"{name}.c", *how], files, "compile", suffix)


def shared_object(code: bytes) -> bytes:
    """Return a shared library of an object for this machine, linked by the system's compiler."""
    return built(["-shared", "code.o", "-lm"], {"code.o": code}, "link", ".so")


def built(command: list[str], files: dict[str, bytes], does: str, suffix: str, compiler: list[str] | None = None) -> bytes:
    """Return what a compiler (by default the system's) builds of files, in a temporary folder."""
    compiler = compiler or [cc for name in ("cc", "gcc", "clang") if (cc := which(name))][:1]
    if not compiler:
        other = {"link": "a .o that is linked", "compile": "a .c that is compiled"}[does]
        raise ExportError(f"there is no C compiler (cc) that {does}s a {suffix}; expected one, or {other} elsewhere")
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for name, data in files.items():
            (at / name).write_bytes(data)
        done = subprocess.run([*compiler, *command, "-o", "made"], cwd=at, capture_output=True, text=True)
        if done.returncode:
            said = shown(" ".join(done.stderr.strip().splitlines()[-1:]), 200)
            raise ExportError(f"{compiler[-1]} does not {does} a {suffix}: {said}; expected a compiler that does")
        return (at / "made").read_bytes()
