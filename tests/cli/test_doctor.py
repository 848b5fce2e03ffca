"""What there is to work with, on one screen."""

import importlib.metadata

import pytest

import engine
from engine import cache
from engine.cli import doctor
from tests.cli.commands import run


def test_one_screen(capsys):
    assert run("doctor") == 0
    out = capsys.readouterr().out
    said = {line.split("  ")[0]: line for line in out.splitlines()}
    assert engine.__version__ in said["engine"] and "numbers in a vector" in said["processor"]
    assert str(engine.get_threads()) in said["threads"]
    assert len(said) < 24 and {"OpenGL", "display", "cache", "core", "extras", "not there"} <= {*said}
    assert "numpy" in said["core"] and "llvmlite" in said["core"] and "drawn by" in said["OpenGL"]


def test_missing_packages_name_their_extra(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "is_installed", lambda package: package != "av")
    monkeypatch.setattr(importlib.metadata, "version", lambda package: "1.0")
    assert run("doctor") == 0
    assert "av (video)" in capsys.readouterr().out


def test_without_graphics_it_says_why(monkeypatch, capsys):
    def refuse():
        raise engine.ViewerError("no OpenGL here")

    monkeypatch.setattr(doctor, "graphics", refuse)
    assert run("doctor") == 0 and "no OpenGL here" in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_said_before")
def test_a_cache_that_cannot_be_used_is_told_from_one_that_is_not_wanted(tmp_path, monkeypatch, capsys):
    def said():
        assert run("doctor") == 0
        out, err = capsys.readouterr()
        assert not err
        return next(line.split("  ")[-1] for line in out.splitlines() if line.startswith("cache"))

    folder = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(folder))
    assert said() == f"{folder}: 0 files, 0 of at most 512 MiB"
    folder.chmod(0o777)
    assert said().startswith(f"the cache {folder} is not used, as others may write to it (chmod go-w '{folder}'); expected a folder")
    folder.chmod(0o700)
    with monkeypatch.context() as m:                                           # a folder to write to and not to read: nothing is pruned

        def hidden(path):
            raise PermissionError(13, "Permission denied")

        m.setattr(cache.os, "scandir", hidden)
        assert said().startswith(f"the cache {folder} cannot be looked through: Permission denied; expected room in a folder of your own")
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert said() == "switched off, as ENGINE_CACHE is 0 (it chooses the folder)"
