"""``engine compile``: afterwards nothing is traced or compiled that is the engine's own."""

import numpy as np
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


@pytest.mark.usefixtures("nothing_said_before")
def test_without_a_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert run("compile", ARM) == 1 and "ENGINE_CACHE is 0, which keeps nothing; expected" in capsys.readouterr().err
    (tmp_path / "file").touch()
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file"))
    assert run("compile", ARM) == 1
    assert f"the cache {tmp_path / 'file'} is not used, as it is no folder; expected" in (said := capsys.readouterr()).err and not said.out


@pytest.fixture
def full(monkeypatch):
    """A disk on which there is room for what is small."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("nothing_said_before", "full")
@pytest.mark.parametrize("described", [[], ["--described"]])
def test_what_is_not_kept_is_not_ready(tmp_path, monkeypatch, capfd, described):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    assert run("compile", ARM, "--dt", "0.03", "--ideal-joints", *described) == 1
    out, err = capfd.readouterr()
    assert not out and err.startswith(f"engine: the cache {tmp_path / 'cache'} cannot be written: File too large; expected room in ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("nothing_said_before", "full")
def test_a_warmed_simulator_says_that_it_is_not_kept(tmp_path, monkeypatch):
    """Each time that one asks, and once where nobody does; nothing where a cache is not wanted."""
    model = engine.load(ARM)
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert engine.warm(model, dt=0.04, joint_dynamics=None).run(model.neutral(), np.zeros(7), 0.04).t[-1] == 0.04
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        with pytest.warns(engine.cache.CacheWarning) as said:
            engine.warm(model, dt=0.05, joint_dynamics=None)
        assert [w.filename for w in said] == [__file__]
        assert str(said[0].message).startswith("not all that this process made of 'seven_joint_arm' is kept: the cache ")
