"""Demos by name, from a checkout and from an installed package."""

import sys
from pathlib import Path

import pytest

import engine.cli.demo
from tests.cli.commands import run

DEMOS = Path(__file__).parents[2] / "demos"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Demos that are installed: what they share, and one that prints its options."""
    (tmp_path / "show.py").write_text("SHARED = 'shared'\n")
    (tmp_path / "talk.py").write_text('"""Talks.\n\nMore of it.\n"""\nimport sys\nfrom show import SHARED\nprint(SHARED, sys.argv[1:])\n')
    monkeypatch.setattr(engine.cli.demo, "FOLDERS", (tmp_path / "none", tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    yield tmp_path
    sys.modules.pop("show", None)


def test_every_demo_is_listed(capsys):
    assert run("demo") == 0
    listed = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert {name.strip() for name in listed} == {f.stem for f in DEMOS.glob("*.py")} - {"show"}
    assert all(text.strip() for text in listed.values())


def test_a_demo_runs_with_its_own_options(folder, capsys):
    assert run("demo", "talk", "--released", 2, "-h") == 0
    assert capsys.readouterr().out == "shared ['--released', '2', '-h']\n"


def test_what_is_not_there_is_a_sentence(folder, monkeypatch, capsys):
    assert run("demo", "tlak") == 2
    assert capsys.readouterr().err == "engine: there is no demo 'tlak' (did you mean 'talk'?); expected one of talk\n"
    monkeypatch.setattr(engine.cli.demo, "FOLDERS", (folder / "none", folder / "nowhere"))
    assert run("demo") == 1 and "the demos are not here" in capsys.readouterr().err


def test_a_demo_that_leaves_with_a_sentence(folder, capsys):
    (folder / "talk.py").write_text('import sys\nsys.exit("error: no robot")\n')
    assert run("demo", "talk") == 1 and capsys.readouterr().err == "error: no robot\n"
    (folder / "talk.py").write_text("import henhouse\n")
    assert run("demo", "talk") == 1
    assert capsys.readouterr().err == ("engine: the demo 'talk' needs henhouse, which is not installed; expected pip install "
                                       "\".[all]\" in the engine's checkout\n")  # fmt: skip
