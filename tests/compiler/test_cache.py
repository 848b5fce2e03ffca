"""The disk cache: used when it is whole and ours, ignored otherwise."""

import os

import numpy as np
import pytest

from engine.compiler import cache, entry, machine, trace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(path))
    return path


def build(number=1.0):
    program = trace(lambda x: np.sin(x) * number, [(3,)])
    return machine.Code(f"batch2|{program.key}", lambda: entry.batch(program, 2))


def test_second_time_is_from_disk(folder):
    assert not build().cached
    assert build().cached
    assert not build(2.0).cached
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data[:40], lambda data: b"", lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    lambda data: b"\x7fELF" + data[4:], lambda data: data + b"\0",
])  # fmt: skip
def test_damaged_files_are_rebuilt(folder, damage):
    build()
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert not build().cached
    assert build().cached


def test_a_file_under_another_key_is_not_executed(folder):
    build()
    (path,) = folder.iterdir()
    data = path.read_bytes()
    build(2.0)
    other = next(p for p in folder.iterdir() if p != path)
    other.write_bytes(data)
    assert not build(2.0).cached


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_folder_others_can_write_to_is_not_used(folder):
    build()
    folder.chmod(0o777)
    assert not build().cached
    folder.chmod(0o700)
    assert build().cached


def test_no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert cache.folder() is None and not build().cached and not build().cached


def test_a_folder_that_cannot_be_made_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file" / "cache"))
    assert not build().cached


def test_old_files_go_when_there_are_too_many(folder, monkeypatch):
    build()
    (first,) = folder.iterdir()
    os.utime(first, (1, 1))
    monkeypatch.setattr(cache, "KEEP", 1.5 * first.stat().st_size)
    build(2.0)
    assert not first.exists() and len(list(folder.iterdir())) == 1
