"""What is read of a file is kept while the file is the same."""

import os
import time

import pytest

from engine.io import unchanged
from engine.io.unchanged import looked_at, while_unchanged


@pytest.fixture
def reading(tmp_path):
    """A file, a function that reads it, and how often it did."""
    path, calls = tmp_path / "a", []

    @while_unchanged(8)
    def read(path, times=1):
        calls.append(path)
        with open(path) as file:
            return times * file.read()

    path.write_text("a")
    return path, read, calls


def test_it_is_read_once(reading):
    path, read, calls = reading
    assert [read(str(path)), read(str(path)), read(str(path), 2), read(str(path), times=2)] == ["a", "a", "aa", "aa"] and len(calls) == 3


def test_of_the_same_size_and_times_it_is_another_by_its_bytes(reading):
    path, read, _ = reading
    os.utime(path, (9, 9))
    assert read(str(path)) == "a"
    path.write_text("b")
    os.utime(path, (9, 9))
    assert read(str(path)) == "b"


@pytest.mark.parametrize("now", [0, 4_000_000_000])
def test_an_old_file_is_known_by_its_times(reading, monkeypatch, now):
    path, read, _ = reading
    with monkeypatch.context() as m:
        m.setattr(time, "time_ns", lambda: now * 10**9)
        assert unchanged.state_of(str(path))[-1] == b"" and read(str(path)) == "a"
        time.sleep(0.02)
        path.write_text("b")
        assert read(str(path)) == "b"


def test_what_is_not_there_is_no_file_of_the_past(reading):
    path, read, _ = reading
    assert read(str(path)) == "a"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(str(path))


def test_what_names_other_files_is_read_again_when_one_of_them_changes_comes_or_goes(tmp_path):
    whole, part, calls = tmp_path / "whole", tmp_path / "part", []

    @while_unchanged(8)
    def inner(path):
        looked_at(str(part))
        return part.read_text() if part.exists() else ""

    @while_unchanged(8)
    def outer(path):
        calls.append(path)
        return "(" + inner(path) + ")"

    whole.write_text("a")
    found = []
    for text in ("", "b", "c", None):
        part.unlink() if text is None else part.write_text(text) if text else None
        found += [outer(str(whole)), outer(str(whole))]
    assert found == ["()", "()", "(b)", "(b)", "(c)", "(c)", "()", "()"] and len(calls) == 4
