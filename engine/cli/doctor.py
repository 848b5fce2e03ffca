"""``engine doctor``: what there is to work with."""

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator

import engine
from engine import cache
from engine.compiler import machine
from engine.viewer.draw.context import graphics

#: of packages that extras bring, which one
OPTIONAL = {"pyglet": "viewer", "pillow": "viewer", "pycollada": "viewer", "fast-simplification": "viewer", "matplotlib": "plots",
            "av": "video", "pandas": "tables", "xarray": "tables", "websockets": "web", "anywidget": "web", "coacd": "meshes",
            "distributed": "cluster", "obstore": "cloud", "gymnasium": "gymnasium", "torch": "learning",
            "rerun-sdk": "rerun", "xacro": "xacro"}  # fmt: skip


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
    yield "processor", f"{machine.llvm().get_host_cpu_name()}: {machine.width()} numbers in a vector, {machine.registers()} registers"
    yield "threads", f"{engine.get_threads()} for batches (engine.set_threads), of {os.cpu_count()} processors"
    folder = cache.folder()
    yield "cache", f"{folder}: {kept(folder)}" if folder else "none is kept (ENGINE_CACHE chooses another folder)"
    try:
        yield "OpenGL", graphics()
    except engine.EngineError as error:
        yield "OpenGL", str(error)
    yield "display", os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "none: pictures and films all the same, no windows"
    yield "core", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in needed())
    yield "extras", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in OPTIONAL if there(name)) or "none"
    missing = [f"{name} ({extra})" for name, extra in OPTIONAL.items() if not there(name)]
    yield "not there", ", ".join(missing) + ': pip install "articulated-engine[EXTRA]"' if missing else "nothing"


def kept(folder: os.PathLike[str]) -> str:
    """Return what lies in the cache."""
    sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()]
    return f"{len(sizes)} files, {sum(sizes) / 2**20:.3g} of at most {cache.KEEP / 2**20:g} MiB"


def needed() -> list[str]:
    """Return the packages that the engine does not work without, those that are here."""
    asked = importlib.metadata.requires("articulated-engine") or []
    return [name for line in asked if "extra ==" not in line and there(name := re.split(r"[^\w-]", line)[0])]


def there(package: str) -> bool:
    """Return whether a package is installed."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
