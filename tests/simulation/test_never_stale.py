"""A full cache gives nothing that is not so any more: whatever what a user writes depends on, what acts is what it reads then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.worlds import ROLES, cases

#: processes that share the cases
PARTS = 4


def tried(folder, first, step, phase):
    """What a process says of some of the cases."""
    code = [sys.executable, "-m", "tests.simulation.worlds", str(folder / "worlds"), str(first), str(step), phase]
    done = subprocess.run(code, env={**os.environ, "ENGINE_CACHE": str(folder / "cache")}, cwd=Path(__file__).parents[2], text=True,
                          capture_output=True, timeout=600, check=False)  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout


def test_there_are_200_worlds_and_each_role_reads_some():
    found = cases()
    assert len({world.name for world, _ in found}) >= 200 and len({*found}) == len(found)
    assert min(sum(role == known for _, role in found) for known in ROLES) > 10


def test_some_worlds(tmp_path):
    """A few of all of them; the others are long."""
    assert [tried(tmp_path, 0, 40, phase) for phase in ("both", "after")] == ["", ""]


@pytest.mark.parametrize("part", range(PARTS))
def test_what_acts_is_what_is_read_now(tmp_path, part):
    """As the world changes within a process, and in one that begins when it has, where all is cached that was made of either."""
    assert [tried(tmp_path, part, PARTS, phase) for phase in ("both", "after")] == ["", ""]
