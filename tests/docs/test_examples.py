"""Whoever looks up a public name finds an example of it, which runs with the tests of docstrings."""

import importlib
import inspect

import pytest

import engine
from engine.docs.docstrings import by_example


def test_every_public_name_has_an_example():
    found = {name: getattr(engine, name) for name in engine.__all__}
    lacking = [name for name, x in found.items() if not inspect.ismodule(x) and ">>>" not in (inspect.getdoc(x) or "")]
    assert not lacking


@pytest.mark.parametrize("room", ["dynamics", "viewer", "io"])
def test_every_public_name_of_rooms_that_users_import_has_an_example(room):
    module = importlib.import_module(f"engine.{room}")
    found = {name: getattr(module, name) for name in module.__all__}
    lacking = [name for name, x in found.items() if callable(x) and ">>>" not in (inspect.getdoc(x) or "")]
    assert not lacking


def test_an_example_that_is_not_run_needs_a_person_or_the_network():
    found = {name: inspect.getdoc(getattr(engine, name)) or "" for name in engine.__all__ if not inspect.ismodule(getattr(engine, name))}
    assert {name for name, text in found.items() if "+SKIP" in text} == {"Bridge", "Viewer", "Widget", "bridge", "view"}


@pytest.mark.parametrize("kind", [engine.Robot, engine.Simulator, engine.Trajectory, engine.Model])
def test_every_public_method_has_an_example(kind):
    """On the class's page of examples, which runs as all pages do, or in its docstring."""
    inherited = {name for base in kind.__mro__ if base.__module__.startswith("engine") for name in vars(base)}
    shown = {name for owner, name in by_example() if owner == kind.__name__}
    documented = {name for name in inherited if ">>>" in (inspect.getdoc(inspect.getattr_static(kind, name)) or "")}
    methods = {name for name in inherited if not name.startswith("_") and (inspect.getdoc(inspect.getattr_static(kind, name)) or "")}
    plain = {name for name in methods if isinstance(inspect.getattr_static(kind, name), (str, int, float, tuple, bool, type(None)))}
    assert not methods - plain - shown - documented
    assert shown <= inherited
