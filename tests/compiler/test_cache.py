"""The disk cache: used when it is whole and ours, ignored otherwise, and never in the way."""

import ast
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import cache, ops
from engine.compiler import native_code, trace
from engine.compiler.codegen import entry
from engine.compiler.graph import vecmath
from engine.compiler.gufunc import numpy_ufunc

pytestmark = pytest.mark.usefixtures("nothing_said_before")
posix = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(path))
    return path


def build(number=1.0, width=2):
    """Code of a number that is part of it: so often is the sine added up."""
    program = trace(lambda x: sum([np.sin(x)] * int(number)), [(3,)])
    return native_code.Code(f"batch{width}", lambda: entry.batch(program, width), programs=[program])


def works(code, number=1.0):
    x = np.array([[0.1, 0.2, 0.3]] * 5)
    return np.allclose(numpy_ufunc(code, "f", "(3)->(3)")(x), number * np.sin(x), rtol=2e-15)


def test_the_second_time_is_from_disk(folder):
    first, second = build(), build()
    assert not first.cached and second.cached and works(first) and works(second)
    other, wider = build(2.0), build(width=4)
    assert not other.cached and not wider.cached and works(other, 2.0) and works(wider)
    assert len(list(folder.iterdir())) == 3 and all(p.suffix == ".o" for p in folder.iterdir())


def test_text_is_not_made_for_what_is_kept(folder):
    build()
    program = trace(lambda x: sum([np.sin(x)]), [(3,)])
    assert native_code.Code("batch2", lambda: pytest.fail("compiled again"), programs=[program]).cached


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
    monkeypatch.setattr(native_code.llvm(), part, lambda: "elsewhere")
    native_code.identity.cache_clear()
    key = native_code.identity()
    native_code.identity.cache_clear()
    monkeypatch.undo()
    assert key != native_code.identity() and "elsewhere" in key


@pytest.mark.parametrize(("name", "other"), [("SERIES_BELOW", 0.5), ("alternating", lambda first: [0.5] * 9)])
def test_code_with_other_constants_is_not_used(folder, monkeypatch, name, other):
    """Those of engine.ops are compiled in: the series of the Stumpff functions."""
    def build():
        program = trace(lambda x: ops.c2(x), [()])
        return native_code.Code("batch2", lambda: entry.batch(program, 2), programs=[program])

    build()
    assert build().cached
    monkeypatch.setattr(vecmath, name, other)                                 # whatever changed them
    native_code.identity.cache_clear()
    code = build()
    monkeypatch.undo()
    native_code.identity.cache_clear()
    assert not code.cached


def test_the_key_names_this_compiler_and_its_tools():
    import llvmlite

    parts = native_code.identity().split("|")
    assert llvmlite.__version__ in parts and str(native_code.llvm().llvm_version_info) in parts and re.fullmatch("[0-9a-f]{64}", parts[-1])
    assert parts[-2] == native_code.TEXTS == hashlib.sha256(native_code.texts()).hexdigest()


def test_the_key_names_all_texts_that_make_code():
    """Those of the compiler's modules, and of the engine's modules that one of them imports, and so on."""
    seen, to_read = set(), {"engine.compiler.gufunc", "engine.compiler.scan", "engine.compiler.derivative"}
    while to_read:
        name = to_read.pop()
        seen.add(name)
        source = Path(importlib.util.find_spec(name).origin).read_text()
        assert source.encode() in native_code.texts(), name
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("engine"):
                found = [f"{node.module}.{a.name}" for a in node.names if importlib.util.find_spec(node.module).submodule_search_locations]
                to_read.update({n for n in (found or [node.module]) if n.count(".") and importlib.util.find_spec(n)} - seen)
            assert not isinstance(node, ast.Import) or not any(a.name.startswith("engine") for a in node.names)
    compiled = ("graph.vecmath", "codegen.rollout", "codegen.schedule")
    assert {"engine.ops", "engine.checks", *(f"engine.compiler.{name}" for name in compiled)} <= seen


FIRST_CALL = """
import engine, numpy as np
from engine.compiler.gufunc import _immortal
f = engine.gufunc(lambda x: engine.ops.c2(x) + engine.ops.sin(x), "()->()")
print(engine.__file__, repr(float(f(0.7))), [c[0].cached for c in _immortal])
"""


def test_no_edit_of_a_file_finds_stale_code(tmp_path, folder):
    """A copy of the engine with other constants in its operations, another choice of registers, other checks: compiled anew each time."""
    shutil.copytree(Path(engine.__file__).parent, tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__", "viewer", "cli"))
    shutil.copytree(Path(engine.__file__).parent / "viewer", tmp_path / "engine" / "viewer")

    def run():
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)                              # which the lengths of edited files tell apart
        done = subprocess.run([sys.executable, "-c", FIRST_CALL], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0 and done.stdout.startswith(str(tmp_path)), done.stderr
        return done.stdout.split(maxsplit=2)[1:]

    value, cached = run()
    assert cached == "[False]\n"
    edits = [("ops/elementwise.py", "(-1) ** k / math.factorial", "1.5 * (-1) ** k / math.factorial", False),
             ("compiler/codegen/llvm.py", "SEGMENT = 250", "SEGMENT = 99", True),
             ("checks.py", "import pickle", "import pickle ", True)]  # fmt: skip
    for file, old, new, same in edits:
        path = tmp_path / "engine" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        other, cached = run()
        assert cached == "[False]\n" and (other == value) == same
        path.write_text(text)
    assert run() == [value, "[True]\n"]


@posix
def test_only_files_of_the_users_own_are_loaded(folder, tmp_path):
    """Not one that others may write, one of someone else, a link, a pipe or a folder."""
    build()
    (path,) = folder.iterdir()
    for mode in (0o666, 0o622, 0o606, 0o660):
        path.chmod(mode)
        assert not build().cached and build().cached                          # written anew, in place of the other
    data, elsewhere = path.read_bytes(), tmp_path / "elsewhere.o"
    elsewhere.write_bytes(data)
    elsewhere.chmod(0o600)
    if not os.getuid():
        os.chown(path, 12345, 12345)
        assert not build().cached and build().cached
    for replace in (lambda: path.symlink_to(elsewhere), lambda: os.mkfifo(path, 0o600)):
        path.unlink()
        replace()
        assert works(again := build()) and not again.cached and build().cached
    path.unlink()
    path.mkdir()
    with pytest.warns(cache.CacheWarning, match=f"^the cache {folder} cannot be written: Is a directory"):
        assert works(again := build()) and not again.cached and list(folder.iterdir()) == [path]
    assert elsewhere.read_bytes() == data


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o722])
def test_a_folder_others_can_write_to_is_not_used(folder, mode):
    build()
    folder.chmod(mode)
    with pytest.warns(cache.CacheWarning, match=f"^the cache {folder} is not used, as others may write to it .chmod go-w '{folder}'.; "):
        assert cache.folder() is None and not build().cached
    folder.chmod(0o755)
    assert build().cached


@posix
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_someone_else_is_not_used(folder):
    build()
    os.chown(folder, 12345, 12345)
    with pytest.warns(cache.CacheWarning, match=f"^the cache {folder} is not used, as it is another user's; expected a folder"):
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
    for where, why in (("file/cache", "it cannot be made: Not a directory"), ("file", "it is no folder"),
                       ("c" * 300, "it cannot be made: File name too long"), ("/dev/null", "it is no folder")):  # fmt: skip
        monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / where))
        with pytest.warns(cache.CacheWarning, match=f"^the cache {tmp_path / where} is not used, as {why}; expected a folder"):
            assert cache.folder() is None and works(build())
        assert cache.trouble().startswith(f"the cache {tmp_path / where} is not used, as {why}; expected") and not build().cached

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ENGINE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.warns(cache.CacheWarning, match="^the cache of this user is not used, as Could not determine home directory"):
        assert cache.folder() is None and works(build())


def test_a_full_or_read_only_disk_is_no_error(folder, monkeypatch):
    build()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    for name in ("mkstemp", "replace"):
        cache.missed.clear()
        with monkeypatch.context() as m, pytest.warns(cache.CacheWarning, match=f"^the cache {folder} cannot be written: No space left"):
            m.setattr(cache.tempfile if name == "mkstemp" else os, name, full)
            assert works(build(3.0), 3.0) and build().cached
    assert len(list(folder.iterdir())) == 1  # nothing half-written is left


def test_a_file_of_more_than_is_kept_is_not_read(folder):
    """A hole of 8 TiB, which a damaged file system may leave: no memory is taken for it."""
    build()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    os.truncate(path, 8 * 2**40)
    assert works(again := build()) and not again.cached and path.read_bytes() == whole


def test_a_damaged_file_that_cannot_be_written_anew_is_not_named(folder, monkeypatch):
    """Who reads files alone would take it for what was made: a file that is damaged, a folder of its name, and one that cannot be seen."""
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    path = cache.file(b"ply: whole", ".ply")
    assert path.read_bytes() == b"ply: whole"
    monkeypatch.setattr(cache.tempfile, "mkstemp", full)
    assert cache.file(b"ply: whole", ".ply") == path                           # it is there, and needs no room
    path.write_bytes(b"ply: half")
    with pytest.warns(cache.CacheWarning, match=f"^the cache {folder} cannot be written: No space left"):
        assert cache.file(b"ply: whole", ".ply") is None
    path.unlink()
    path.mkdir()
    assert cache.file(b"ply: whole", ".ply") is None

    def hidden(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", hidden)
    assert cache.file(b"ply: whole", ".ply") is None


def test_what_is_wrong_is_said_once(folder, monkeypatch, recwarn):
    """In the line of who called the engine; nothing where a cache is not wanted, or another process has put the same there."""
    folder.write_text("")
    assert works(build()) and works(build(2.0), 2.0)
    assert [(w.category, w.filename) for w in recwarn] == [(cache.CacheWarning, __file__)] and cache.missed == [str(recwarn[0].message)]
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert works(build()) and cache.trouble() == "" and len(recwarn) == 1
    folder.unlink()
    monkeypatch.setenv("ENGINE_CACHE", str(folder))
    assert cache.store("key", b"made") and cache.trouble() == "" and len([*folder.iterdir()]) == 1

    def held(*args, **kwargs):
        raise PermissionError(13, "The file is being read")

    monkeypatch.setattr(os, "replace", held)
    assert cache.store("key", b"made") and len(recwarn) == 1 and len([*folder.iterdir()]) == 1
    with pytest.warns(cache.CacheWarning, match="cannot be written: The file is being read"):
        assert not cache.store("key", b"another")


def test_a_home_is_named_by_its_sign(monkeypatch, tmp_path):
    """Also where no shell puts it in place: a folder called '~' is nobody's wish."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ENGINE_CACHE", "~/kept")
    assert not build().cached and build().cached and cache.folder() == tmp_path / "home" / "kept" and not Path("~").exists()
    monkeypatch.setenv("ENGINE_CACHE", "~nobody-of-this-name/kept")
    with pytest.warns(cache.CacheWarning, match=r"^the cache ~nobody-of-this-name/kept is not used, as Could not determine home"):
        assert cache.folder() is None


@posix
def test_a_read_only_folder_is_read(folder):
    """In a process of its own: root writes everywhere."""
    build()
    if os.getuid():
        folder.chmod(0o500)
        assert build().cached
        with pytest.warns(cache.CacheWarning, match="cannot be written"):
            assert works(build(2.0), 2.0)
        folder.chmod(0o700)
    (path,) = folder.iterdir()
    path.chmod(0o400)
    assert build().cached


def test_the_files_used_longest_ago_go_when_there_are_too_many(folder, monkeypatch):
    for k, number in enumerate((5.0, 7.0, 3.0)):
        build(number)
        for path in folder.iterdir():
            if path.stat().st_mtime > 1e9:
                os.utime(path, (100 + k, 100 + k))
    sizes = {int(p.stat().st_mtime): p.stat().st_size for p in folder.iterdir()}
    assert build(5.0).cached  # and so it was used last
    monkeypatch.setattr(cache, "KEEP", sum(sizes.values()) + 10)
    build(2.0)
    left = {int(p.stat().st_mtime) for p in folder.iterdir()}
    assert 101 not in left and 102 in left and build(5.0).cached and build(3.0).cached and build(2.0).cached and not build(7.0).cached


def test_files_of_other_names_are_left_alone(folder, monkeypatch):
    """Somebody's object files, and what looks almost like ours; of our own also what a crash left behind goes."""
    folder.mkdir(mode=0o700)
    others = ["main.o", "a" * 63 + ".o", "a" * 65 + ".o", "A" * 64 + ".o", "a" * 64, "a" * 64 + ".obj", "g" * 64 + ".o", "tmp1234.o",
              "articulated-engine", "my-articulated-engine-x"]  # fmt: skip
    ours = ["b" * 64 + ".o", "0123456789abcdef" * 4 + ".o", "articulated-engine-k3j2_x1a"]
    for name in (*others, *ours):
        (folder / name).write_bytes(b"x" * 1000)
        os.utime(folder / name, (1, 1))
    monkeypatch.setattr(cache, "KEEP", 100)
    build()
    assert sorted(p.name for p in folder.iterdir()) == sorted(others)         # not even what was written just now is within 100 bytes


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
    workers = [subprocess.Popen([sys.executable, "-c", code, root], stderr=subprocess.PIPE) for _ in range(3)]
    errors = [w.communicate(timeout=100)[1] for w in workers]
    assert [w.returncode for w in workers] == [0] * 3, errors
    assert len(list(folder.iterdir())) == 3 and all(build(n).cached for n in (2.0, 3.0, 5.0))


def test_the_compiler_is_loaded_when_it_is_needed():
    """And not by ``import engine``; a warm cache spares compilation, not the loader."""
    code = "import sys, engine; assert 'llvmlite' not in sys.modules; engine.gufunc(abs, '()->()')(1.0); assert 'llvmlite' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("now", [0.0, 1e9, 4e9])
def test_a_clock_that_goes_back_is_no_matter(folder, monkeypatch, now):
    """Files of the future, and of long ago, are as good as others; those used longest ago by their times go first."""
    build()
    (path,) = folder.iterdir()
    os.utime(path, (3e9, 3e9))
    monkeypatch.setattr("time.time", lambda: now)
    monkeypatch.setattr("time.time_ns", lambda: int(1e9 * now))
    assert build().cached
    os.utime(path, (3e9, 3e9))
    monkeypatch.setattr(cache, "KEEP", path.stat().st_size + 10)
    cache.grown.clear()
    assert not build(2.0).cached and [*folder.iterdir()] == [path]             # of the two the one of the future stays
    assert works(build(2.0), 2.0) and build().cached


def test_files_that_go_while_the_folder_is_read(folder, monkeypatch):
    """Another process prunes, or ends its writing: what is there still is told, and pruned."""
    build(), build(2.0)
    kept = {path.name for path in folder.iterdir()}
    passing = folder / f"{cache.TEMPORARY}gone"
    passing.touch()
    real = os.scandir

    @contextlib.contextmanager
    def late(where):
        with real(where) as entries:
            found = [*entries]
        passing.unlink(missing_ok=True)
        yield found

    monkeypatch.setattr(cache.os, "scandir", late)
    assert {os.path.basename(path) for _, _, path in cache.files(folder)} == kept
    passing.touch()
    monkeypatch.setattr(cache, "KEEP", 0)
    cache.prune(folder)
    assert not [*folder.iterdir()]
