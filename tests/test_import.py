"""What ``import engine`` leaves behind: the collector, the environment, and formats that are loaded with the first file."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import engine


def printed(code: str, **environment: str) -> object:
    """What a process of its own prints, as JSON has it."""
    env = {k: x for k, x in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"} | environment
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_collector_goes_on_and_has_modules_among_its_oldest():
    """They are found in no look at what is young; nothing is frozen."""
    code = ("import gc, json, engine; old = {id(x) for x in gc.get_objects(2)}; names = 'Simulator', 'Model', 'Contacts'; "
            "print(json.dumps([gc.isenabled(), gc.get_freeze_count(), all(id(getattr(engine, n)) in old for n in names)]))")  # fmt: skip
    assert printed(code) == [True, 0, True]


def test_what_somebody_has_frozen_stays_frozen():
    """As before a fork, so that pages stay shared."""
    code = "import gc, json; gc.freeze(); n = gc.get_freeze_count(); import engine; print(json.dumps(2 * gc.get_freeze_count() > n > 0))"
    assert printed(code) is True


def test_a_collector_that_is_off_stays_off():
    assert printed("import gc, json; gc.disable(); import engine; print(json.dumps(gc.isenabled()))") is False


@pytest.mark.parametrize("given", [{}, {"OPENBLAS_THREAD_TIMEOUT": "11"}], ids=["none", "given"])
def test_the_environment_is_as_it_was(given):
    code = "import json, os, engine; print(json.dumps(os.environ.get('OPENBLAS_THREAD_TIMEOUT')))"
    assert printed(code, **given) == given.get("OPENBLAS_THREAD_TIMEOUT")


def test_formats_are_loaded_with_their_first_file():
    code = """
import json, sys, engine
def there():
    return [f"engine.io.{f}.{f}" in sys.modules for f in ("mjcf", "sdf", "usd")]
before = there()
model = engine.load('<mujoco><worldbody><body name="bob"><joint name="pivot"/><geom size="0.1"/></body></worldbody></mujoco>')
print(json.dumps([before, there(), model.nv]))
"""
    assert printed(code) == [[False] * 3, [True, False, False], 1]


def test_a_format_has_the_names_of_its_reader_and_no_others():
    assert engine.io.load_sdf is engine.load_sdf and engine.io.save_mjcf is engine.save_mjcf
    for room in (engine.io, engine.io.mjcf, engine.io.sdf, engine.io.usd):
        assert all(getattr(room, name) for name in room.__all__)
        with pytest.raises(AttributeError, match=f"^module '{room.__name__}' has no attribute 'load_dxf'$"):
            room.load_dxf  # noqa: B018
