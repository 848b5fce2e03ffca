"""The benchmarks keep what they have measured, and say what they could not."""

import json
import os
import subprocess
import sys

import pytest

from tests.bench import __main__ as bench
from tests.bench import robots


@pytest.fixture
def parts(monkeypatch, tmp_path):
    """Parts that take no time, and the JSON file's path."""
    def fine(table):
        table.add("fine", "a figure", 2.0, "x", ">= 1", True)

    def without_a_peer(table):
        table.add("peer", "ours alone", 3.0, "x")
        raise ModuleNotFoundError("No module named 'pinocchio'", name="pinocchio")

    def without_a_display(table):
        raise robots.Missing("xvfb-run is not there")

    def without_a_process(table):
        subprocess.run([sys.executable, "-c", "raise SystemExit('no OpenGL')"], capture_output=True, text=True, check=True)

    def broken(table):
        raise ZeroDivisionError

    named = {f.__name__: f for f in (without_a_peer, without_a_display, without_a_process, fine, broken)}
    monkeypatch.setattr(bench, "PARTS", named)
    monkeypatch.setenv("ENGINE_CACHE", os.environ["ENGINE_CACHE"])             # which they set for themselves
    return tmp_path / "figures.json"


def test_what_is_missing_is_said_and_the_rest_is_measured(parts, capsys):
    assert bench.main(["--json", str(parts), "--only", "without_a_peer", "without_a_display", "without_a_process", "fine"]) == 0
    found = json.loads(parts.read_text())
    assert [r["what"] for r in found["figures"]] == ["ours alone", "a figure"]
    assert found["missing"] == ["without_a_peer: pinocchio is not installed; expected it: pip install pin",
                                "without_a_display: xvfb-run is not there",
                                "without_a_process: a process of its own ended with 1: ['no OpenGL']"]  # fmt: skip
    said = capsys.readouterr().out
    assert "1 targets met, 0 missed\nnot measured:\n  without_a_peer: pinocchio is not installed" in said


def test_a_fault_loses_nothing(parts):
    with pytest.raises(ZeroDivisionError):
        bench.main(["--json", str(parts), "--only", "fine", "broken"])
    assert [r["what"] for r in json.loads(parts.read_text())["figures"]] == ["a figure"]


def test_without_robots(monkeypatch, tmp_path):
    monkeypatch.setattr(robots, "FILES", {"Panda": (tmp_path / "panda.urdf", False)})
    with pytest.raises(robots.Missing, match="Panda is a robot of example-robot-data, which is not installed"):
        robots.file("Panda")


def test_the_robots_need_no_peers():
    code = "import sys; sys.modules.update(mujoco=None, pinocchio=None); import tests.bench.robots as r; print(r.chain(3).nv)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "3\n"
