"""Compiled code goes to a folder of this run's own, never to the user's cache; how files are read; and which tests are quick, or long."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

_folder = tempfile.TemporaryDirectory(prefix="engine-tests-")  # worker processes inherit the variable, and so share the folder
os.environ.setdefault("ENGINE_CACHE", _folder.name)

# in a shell's background, where commands that are to end at Ctrl-C would wait for ever
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: scripts that run on a display, or in a process, of their own: nothing to collect in them
collect_ignore = ["viewer/desk.py", "viewer/hands.py", "bridges/peer.py"]
#: for the desk, and once more for every kind of processor: rotations and operations, the compiler, dynamics by its laws, the house
QUICK = ("spatial/", "test_ops.py", "test_architecture.py", "dynamics/test_laws.py", "dynamics/test_mujoco.py",
         *(f"compiler/test_{name}.py" for name in ("operations", "rewrite", "llvm", "interpreter", "trace")))  # fmt: skip

#: what takes more than a second of a processor: half of what all tests take
LONG = frozenset((Path(__file__).parent / "long.txt").read_text(encoding="utf-8").splitlines())


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what takes long where nothing is named: ``pytest engine tests`` has it, and so has a file or a test by its name."""
    if config.args_source is not config.ArgsSource.ARGS and not config.option.markexpr and not config.option.keyword:
        config.option.markexpr = "not long"


def pytest_collection(session: pytest.Session) -> None:
    """Read the files that every worker reads: each reads its part first, and finds what the others made of theirs.

    What is read stays, and garbage is not looked for in it, neither meanwhile nor later.
    """
    gc.disable()
    if found := getattr(session.config, "workerinput", None):
        here, part = Path(__file__).parent, int(found["workerid"].removeprefix("gw"))
        for file in sorted(here.rglob("test_*.py"))[part :: found["workercount"]]:
            with contextlib.suppress(Exception, pytest.skip.Exception):         # which the collection says
                importlib.import_module(".".join(file.relative_to(here.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick, and what is long."""
    here = Path(__file__).parent
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("long")
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix().startswith(QUICK):
            item.add_marker("quick")


@pytest.fixture
def as_loaded() -> Iterator[None]:
    """As if the engine had been loaded now: whatever tests before have set in it is no change."""
    from engine.compiler.trace_cache import LOADED, Loaded

    before, LOADED[0] = LOADED[0], Loaded()
    yield
    LOADED[0] = before


@pytest.fixture
def nothing_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing had been wrong with the cache in this process yet."""
    from engine import cache

    monkeypatch.setattr(cache, "missed", [])


@pytest.fixture(autouse=True)
def floating_point_errors_stay_as_they_are() -> Iterator[None]:
    """A test that leaves NumPy silent is said, not those that come after it in its process."""
    before = np.geterr()
    yield
    after = np.geterr()
    np.seterr(**before)
    assert after == before
