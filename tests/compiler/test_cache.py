"""The disk cache: used when it is whole and ours, ignored otherwise, and never in the way."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine import ops
from engine.compiler import cache, entry, machine, trace, vecmath
from engine.compiler.gufunc import numpy_ufunc

posix = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(path))
    return path


def build(number=1.0, width=2):
    program = trace(lambda x: np.sin(x) * number, [(3,)])
    return machine.Code(f"batch{width}|{program.key}", lambda: entry.batch(program, width))


def works(code, number=1.0):
    x = np.array([[0.1, 0.2, 0.3]] * 5)
    return np.allclose(numpy_ufunc(code, "f", "(3)->(3)")(x), number * np.sin(x), rtol=1e-15)


def test_the_second_time_is_from_disk(folder):
    first, second = build(), build()
    assert not first.cached and second.cached and works(first) and works(second)
    other, wider = build(2.0), build(width=4)
    assert not other.cached and not wider.cached and works(other, 2.0) and works(wider)
    assert len(list(folder.iterdir())) == 3 and all(p.suffix == ".o" for p in folder.iterdir())


def test_text_is_not_made_for_what_is_kept(folder):
    build()
    program = trace(lambda x: np.sin(x) * 1.0, [(3,)])
    assert machine.Code(f"batch2|{program.key}", lambda: pytest.fail("compiled again")).cached


@pytest.mark.parametrize("damage", {
    "the end is missing": lambda data: data[:-1],
    "only the header is there": lambda data: data[: len(cache.HEADER) + 32],
    "half a header": lambda data: data[:10],
    "empty": lambda data: b"",
    "a bit of the code": lambda data: data[:-200] + bytes([data[-200] ^ 1]) + data[-199:],
    "a bit of the hash": lambda data: data[:40] + bytes([data[40] ^ 128]) + data[41:],
    "another format": lambda data: data.replace(b"object 1\n", b"object 2\n", 1),
    "no header": lambda data: data[len(cache.HEADER) + 32 :],
    "something more": lambda data: data + b"\0",
}.items(), ids=lambda item: item[0])  # fmt: skip
def test_damaged_files_are_rebuilt(folder, damage):
    build()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage[1](whole))
    again = build()
    assert not again.cached and works(again)
    assert path.read_bytes() == whole and build().cached


def test_a_file_of_another_key_is_not_executed(folder):
    build()
    (path,) = folder.iterdir()
    data = path.read_bytes()
    build(2.0)
    other = next(p for p in folder.iterdir() if p != path)
    other.write_bytes(data)
    rebuilt = build(2.0)
    assert not rebuilt.cached and works(rebuilt, 2.0)


@pytest.mark.parametrize("part", ["get_default_triple", "get_host_cpu_name"])
def test_code_for_another_machine_is_not_used(folder, monkeypatch, part):
    build()
    monkeypatch.setattr(machine.llvm(), part, lambda: "elsewhere")
    machine.identity.cache_clear()
    key = machine.identity()
    machine.identity.cache_clear()
    monkeypatch.undo()
    assert key != machine.identity() and "elsewhere" in key


@pytest.mark.parametrize(("name", "other"), [("SERIES_BELOW", 0.5), ("alternating", lambda first: [0.5] * 9)])
def test_code_with_other_constants_is_not_used(folder, monkeypatch, name, other):
    """Those of engine.ops are compiled in: the series of the Stumpff functions."""
    def build():
        program = trace(lambda x: ops.c2(x), [()])
        return machine.Code(f"batch2|{program.key}", lambda: entry.batch(program, 2))

    build()
    assert build().cached
    monkeypatch.setattr(vecmath, name, other)
    machine.identity.cache_clear()
    code = build()
    monkeypatch.undo()
    machine.identity.cache_clear()
    assert not code.cached


def test_the_key_names_this_compiler_and_its_tools():
    import llvmlite

    parts = machine.identity().split("|")
    assert llvmlite.__version__ in parts and str(machine.llvm().llvm_version_info) in parts and re.fullmatch("[0-9a-f]{64}", parts[-1])


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o722])
def test_a_folder_others_can_write_to_is_not_used(folder, mode):
    build()
    folder.chmod(mode)
    assert cache.folder() is None and not build().cached
    folder.chmod(0o755)
    assert build().cached


@posix
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_someone_else_is_not_used(folder):
    build()
    os.chown(folder, 12345, 12345)
    assert cache.folder() is None and not build().cached


@posix
def test_a_new_folder_is_the_users_alone(folder):
    build()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in folder.iterdir())


def test_nothing_is_kept_if_told_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert cache.folder() is None and not build().cached and not build().cached and not list(tmp_path.iterdir())


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("ENGINE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for platform, expected in [("linux", "xdg/articulated-engine"), ("darwin", "home/Library/Caches/articulated-engine")]:
        monkeypatch.setattr(sys, "platform", platform)
        assert cache.folder() == tmp_path / expected
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == tmp_path / "home/.cache/articulated-engine"


def test_no_place_for_a_cache_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file" / "cache"))
    assert cache.folder() is None and works(build())
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file"))
    assert not build().cached

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ENGINE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() is None and works(build())


def test_a_full_or_read_only_disk_is_no_error(folder, monkeypatch):
    build()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    for name in ("mkstemp", "replace"):
        with monkeypatch.context() as m:
            m.setattr(cache.tempfile if name == "mkstemp" else os, name, full)
            assert works(build(3.0), 3.0) and build().cached
    assert len(list(folder.iterdir())) == 1  # nothing half-written is left


@posix
def test_a_read_only_folder_is_read(folder):
    """In a process of its own: root writes everywhere."""
    build()
    if os.getuid():
        folder.chmod(0o500)
        assert build().cached and works(build(2.0), 2.0)
        folder.chmod(0o700)
    (path,) = folder.iterdir()
    path.chmod(0o400)
    assert build().cached


def test_the_files_used_longest_ago_go_when_there_are_too_many(folder, monkeypatch):
    for k, number in enumerate((2.0, 3.0, 5.0)):
        build(number)
        for path in folder.iterdir():
            if path.stat().st_mtime > 1e9:
                os.utime(path, (100 + k, 100 + k))
    sizes = {int(p.stat().st_mtime): p.stat().st_size for p in folder.iterdir()}
    assert build(2.0).cached  # and so it was used last
    monkeypatch.setattr(cache, "KEEP", sum(sizes.values()) + 10)
    build(7.0)
    left = {int(p.stat().st_mtime) for p in folder.iterdir()}
    assert 101 not in left and 102 in left and build(2.0).cached and build(5.0).cached and build(7.0).cached and not build(3.0).cached


def test_many_writers_and_readers_at_once(folder):
    """Processes that all compile and load the same functions: every one gets whole code, and no debris is left."""
    code = """
import numpy as np, sys
sys.path.insert(0, sys.argv[1])
from tests.compiler.test_cache import build, works
for _ in range(4):
    for number in (2.0, 3.0, 5.0):
        assert works(build(number), number)
"""
    root = str(Path(__file__).parents[2])
    workers = [subprocess.Popen([sys.executable, "-c", code, root], stderr=subprocess.PIPE) for _ in range(4)]
    errors = [w.communicate(timeout=100)[1] for w in workers]
    assert [w.returncode for w in workers] == [0] * 4, errors
    assert len(list(folder.iterdir())) == 3 and all(build(n).cached for n in (2.0, 3.0, 5.0))


def test_the_compiler_is_loaded_when_it_is_needed():
    """And not by ``import engine``; a warm cache spares compilation, not the loader."""
    code = "import sys, engine; assert 'llvmlite' not in sys.modules; engine.gufunc(abs, '()->()')(1.0); assert 'llvmlite' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
