"""Compiled code goes to a folder of this run's own, never to the user's cache; and which tests are quick."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

_folder = tempfile.TemporaryDirectory(prefix="engine-tests-")  # worker processes inherit the variable, and so share the folder
os.environ.setdefault("ENGINE_CACHE", _folder.name)

# in a shell's background, where commands that are to end at Ctrl-C would wait for ever
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: scripts that run on a display of their own: nothing to collect in them
collect_ignore = ["viewer/desk.py", "viewer/hands.py"]
#: for the desk, and once more for every kind of processor: rotations and operations, the compiler, dynamics by its laws, the house
QUICK = ("spatial/", "test_ops.py", "test_architecture.py", "dynamics/test_laws.py", "dynamics/test_mujoco.py",
         *(f"compiler/test_{name}.py" for name in ("operations", "rewrite", "llvm", "interp", "trace")))  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix().startswith(QUICK):
            item.add_marker("quick")
