"""A folder to work in, with a robot."""

from pathlib import Path

import pytest

from tests.cli.commands import ROBOT


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a robot."""
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(ROBOT)
    return tmp_path
