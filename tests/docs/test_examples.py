"""Whoever looks up a public name finds an example of it, which runs with the tests of docstrings."""

import importlib
import inspect

import pytest

import engine


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
