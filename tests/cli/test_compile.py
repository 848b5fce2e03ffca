"""``engine compile``: afterwards nothing is traced or compiled that is the engine's own."""

import pytest

import engine
from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("as_loaded")
ARM = str(engine.example("seven_joint_arm"))


def test_what_is_compiled_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    assert run("compile", ARM, "--dt", "0.01", "--ideal-joints") == 0
    assert "'seven_joint_arm': cg4, dt = 0.01 s" in (said := capsys.readouterr().out) and "ready in" in said
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    assert run("compile", ARM, "--dt", "0.01", "--ideal-joints", "--described") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("engine: ")]
    assert said and all("found in the cache" in line for line in said)


def test_without_a_cache(monkeypatch, capsys):
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert run("compile", ARM) == 1 and "there is no cache to keep code in" in capsys.readouterr().err
