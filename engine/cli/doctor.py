"""``engine doctor``: a report on this installation: processor, threads, graphics, the cache, and versions."""

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import engine
from engine import cache
from engine.compiler import native_code
from engine.viewer.draw.context import graphics

#: extras that are not for who uses the engine, or that are of others alone
OTHERS = ("articulated-engine", "all", "demos", "tests")


def doctor() -> None:
    """Say what there is to work with: processor, threads, graphics, the cache, and versions.

    Examples:
    engine doctor
    """
    rows = dict(lines())
    print(*(f"{name:{max(map(len, rows))}}  {text}" for name, text in rows.items()), sep="\n")


def lines() -> Iterator[tuple[str, str]]:
    """Yield what is there, by name."""
    yield "engine", f"{engine.__version__}, in {os.path.dirname(engine.__file__)}"
    free = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    yield "Python", f"{platform.python_version()}{free}, {platform.system()} {platform.release()}, {platform.machine()}"
    name, lanes, registers = native_code.llvm().get_host_cpu_name(), native_code.width(), native_code.registers()
    yield "processor", f"{name}: {lanes} numbers in a vector, {registers} registers"
    yield "threads", f"{engine.get_threads()} for batches (engine.set_threads), of {os.cpu_count()} processors"
    if (said := cache.trouble()) or (folder := cache.folder()) is None:
        yield "cache", said or "switched off, as ENGINE_CACHE is 0 (it chooses the folder)"
    else:
        yield "cache", f"{folder}: {describe_cache(folder)}"
    try:
        yield "OpenGL", graphics()
    except engine.EngineError as error:
        yield "OpenGL", str(error)
    yield "display", os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "none: pictures and films all the same, no windows"
    asked = [*required()]
    yield "core", ", ".join(f"{name} {importlib.metadata.version(name)}" for name, extra in asked if not extra and is_installed(name))
    optional = {name: extra for name, extra in asked if extra and not {name, extra} & {*OTHERS}}
    yield "extras", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in optional if is_installed(name)) or "none"
    missing = [f"{name} ({extra})" for name, extra in optional.items() if not is_installed(name)]
    yield "not there", ", ".join(missing) + ": pip install \".[EXTRA]\" in the engine's checkout" if missing else "nothing"


def describe_cache(folder: Path) -> str:
    """Return what lies in the cache."""
    sizes = [size for _, size, _ in cache.files(folder)]
    return f"{len(sizes)} files, {sum(sizes) / 2**20:.3g} of at most {cache.KEEP / 2**20:g} MiB"


def required() -> Iterator[tuple[str, str]]:
    """Yield the packages that the engine's installation asks for, and the extra that does, or ''."""
    for line in importlib.metadata.requires("articulated-engine") or []:
        (name,), extra = re.findall(r"^[\w-]+", line), re.findall(r'extra == "([\w-]+)"', line)
        yield name, "".join(extra)


def is_installed(package: str) -> bool:
    """Return whether a package is installed."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
