"""An FMU's binaries: by this machine's C compiler, and by zig's for others."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from engine.checks import nearest, require_packages, shown
from engine.code import ExportError


@dataclass(frozen=True)
class Platform:
    """A platform of binaries: the folder of FMI 2.0 ("" where it has none), their suffix, zig's target and processor."""

    old: str
    suffix: str
    target: str
    processor: str = ""


#: by their names of FMI 3.0
PLATFORMS = {
    "x86_64-linux": Platform("linux64", ".so", "x86_64-linux-gnu.2.17", "x86_64_v3"),
    "aarch64-linux": Platform("", ".so", "aarch64-linux-gnu.2.17"),
    "x86_64-windows": Platform("win64", ".dll", "x86_64-windows-gnu", "x86_64_v3"),
    "x86_64-darwin": Platform("darwin64", ".dylib", "x86_64-macos", "x86_64_v3"),
    "aarch64-darwin": Platform("", ".dylib", "aarch64-macos"),
}
#: of every compiler
STANDARD = "-std=c99"
FLAGS = ("-O3", "-ffp-contract=off", "-fvisibility=hidden", "-fno-asynchronous-unwind-tables")
#: of linkers that know it: no names but those that are called; and none that nobody has, which would show where it is loaded
STRIPPED, DEFINED = ("-s",), ("-Wl,-z,defs",)
#: of zig for Windows, linked with windows.c and what Windows brings: MinGW's C library is not called, of which a first link compiles
#: hundreds of files
WINDOWS = ("-nostdlib", "-rtlib=compiler-rt", *(f"-lapi-ms-win-crt-{x}-l1-1-0" for x in ("heap", "math", "stdio", "string")))


def here() -> str:
    """Return this machine's name among the platforms, or one that is not there."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return f"{machine}-{platform.system().lower()}"


def require_platforms(platforms: Sequence[str], version: str) -> list[str]:
    """Return the platforms, which there must be, in FMI's version too, with what compiles for them."""
    if isinstance(platforms, str) or not all(isinstance(p, str) for p in platforms):
        raise ExportError(f"platforms is {shown(platforms)}; expected a list of {', '.join(PLATFORMS)}")
    for p in platforms:
        if p not in PLATFORMS:
            raise ExportError(f"platforms has {shown(p)}{nearest(p, PLATFORMS)}; expected some of {', '.join(PLATFORMS)}")
        if version == "2.0" and not PLATFORMS[p].old:
            raise ExportError(f"FMI 2.0 has no folder for {p}; expected version='3.0', or sources alone")
        if not (p == here() and compiler()) and importlib.util.find_spec("ziglang") is None:
            what = f"a binary for {p}" + ("" if p != here() else ", where there is no C compiler (cc),")
            require_packages(what, "fmu", "ziglang", error=ExportError)
    return list(dict.fromkeys(platforms))


def compiler() -> str | None:
    """Return this machine's C compiler."""
    return which("cc") or which("gcc") or which("clang")


def commands(name: str) -> tuple[list[str], list[str], list[str]]:
    """Return what compiles and links for a platform, what else its programs are compiled with, and what else is linked."""
    p, cc = PLATFORMS[name], compiler()
    linked = ["-lm"] if "darwin" in name else [*STRIPPED, *DEFINED, "-lm"]
    if name == here() and cc:
        return [cc, *FLAGS, "-fPIC"], ["-march=x86-64-v3"] if name.startswith("x86_64") else [], linked
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", p.target, *FLAGS]
    fast = [f"-mcpu={p.processor}"] if p.processor else []
    zig += ["-DFUSED"] if p.processor else []                                  # which core.c asks for
    if "windows" in name:
        return zig, fast, [*STRIPPED, *WINDOWS]
    return [*zig, "-fPIC"], fast, linked


def put(files: Mapping[str, str], at: Path) -> None:
    """Write files into a folder."""
    for n, text in files.items():
        (at / n).write_text(text, encoding="utf-8")


def refusal(command: Sequence[str], at: Path) -> str:
    """Return a line of what a compiler says where it fails, else ""."""
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:] or ["nothing"]
    return shown(" ".join(said[:1]), 200) if done.returncode else ""


def complaint(files: Mapping[str, str]) -> str:
    """Return what this machine's compiler, if there is one, has against sources of which it makes nothing; else ""."""
    if not (cc := compiler()):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        put(files, Path(folder))
        strict = [STANDARD, "-fsyntax-only", "-Werror=implicit-function-declaration"]
        return refusal([cc, *strict, *(n for n in files if n.endswith(".c"))], Path(folder))


def made(files: Mapping[str, str], identifier: str, name: str) -> bytes:
    """Return a library of the sources, for a platform. The processor's own instructions are for the programs: what is around them runs on
    any, and says so.

    Raises
    ------
    ExportError : the compiler failed
    """
    compile_, fast, linked = commands(name)
    if WINDOWS[0] in linked:
        files = {**files, "windows.c": (Path(__file__).parent / "c" / "windows.c").read_text(encoding="utf-8")}
    sources = [n for n in files if n.endswith(".c")]
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        put(files, at)

        def run(command: Sequence[str]) -> None:
            if said := refusal(command, at):
                raise ExportError(f"the C compiler fails for {name}: {said}; expected one of C99 that links")

        def one(n: str) -> None:
            run([*compile_, STANDARD, *(fast if n.startswith(f"{identifier}_") else []), "-c", n, "-o", f"{n}.o"])

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            [*pool.map(one, sources)]
        library = f"{identifier}{PLATFORMS[name].suffix}"
        run([*compile_, "-shared", *(f"{n}.o" for n in sources), "-o", library, *linked])
        return (at / library).read_bytes()
