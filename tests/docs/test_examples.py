"""Whoever looks up a public name finds an example of it, which runs with the tests of docstrings."""

import doctest
import importlib
import inspect
import re
import sys
from functools import cached_property
from pathlib import Path

import pytest

import engine
import engine.docs

PAGES = Path(engine.docs.__file__).parent / "reference"
#: modules whose members the pages of the reference show, and the names that these leave out: modules use them of each other, no user does
MODULES = {name: set((left or "").split(", ")) - {""} for page in PAGES.glob("*.md") for name, left in re.findall(
    r"automodule:: (\S+)\n +:members:\n(?: +:imported-members:\n)?(?: +:exclude-members: (.+)\n)?", page.read_text("utf-8"))}  # fmt: skip


def shown(module):
    """Classes and functions that a page of the reference shows of a module: no exceptions, which the examples of others raise."""
    names = getattr(module, "__all__", None) or [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__]
    found = {name: getattr(module, name) for name in names if not name.startswith("_") and name not in MODULES[module.__name__]}
    own = {name: x for name, x in found.items() if callable(x) and getattr(x, "__module__", "").startswith("engine")}
    return {name: x for name, x in own.items() if not (inspect.isclass(x) and issubclass(x, Exception))}


def example(x):
    """Whether there is one in a docstring."""
    return ">>>" in (inspect.getdoc(x) or "")


def test_every_public_name_has_an_example():
    found = {name: getattr(engine, name) for name in engine.__all__}
    assert not [name for name, x in found.items() if not inspect.ismodule(x) and not example(x)]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_name_of_the_reference_has_an_example(module):
    assert not [name for name, x in shown(importlib.import_module(module)).items() if not example(x)]


@pytest.mark.parametrize("module", sorted(name for name in MODULES if MODULES[name]))
def test_names_that_the_reference_leaves_out_are_there(module):
    assert not [name for name in MODULES[module] if not hasattr(importlib.import_module(module), name)]


def test_examples_of_functions_that_others_make_run():
    """What a decorator returns is of its own module, where doctest does not look for the functions of others."""
    made = [x for module in MODULES for x in shown(importlib.import_module(module)).values()
            if hasattr(getattr(x, "__wrapped__", None), "__wrapped__")]        # twice: each call is watched over
    tests = {x.__name__: doctest.DocTestFinder().find(x, module=False, globs=dict(vars(sys.modules[x.__module__])))[0] for x in made}
    assert "computed_torque" in tests
    for test in tests.values():
        assert not doctest.DocTestRunner().run(test).failed


def test_an_example_that_is_not_run_needs_a_person_or_the_network():
    found = {name: inspect.getdoc(getattr(engine, name)) or "" for name in engine.__all__ if not inspect.ismodule(getattr(engine, name))}
    assert {name for name, text in found.items() if "+SKIP" in text} == {"Bridge", "Viewer", "Widget", "bridge", "view"}


#: classes that users get in hand
KINDS = (engine.Robot, engine.Simulator, engine.Trajectory, engine.Model, engine.Builder, engine.simulation.State, engine.Live,
         engine.Campaign, engine.Runs, engine.RigidBodyState, engine.recording.Recording, engine.recording.Recorder,
         engine.RigidBody, engine.CompiledSystem, engine.BodyTrajectory, engine.StateTrajectory, engine.Identification, engine.Contacts,
         engine.Scene, engine.viewer.Camera, engine.Viewer, engine.space.Tank, engine.space.Epoch)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_public_method_has_an_example(kind):
    inherited = {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}
    methods = {name: x for name, x in inherited.items() if callable(x) or isinstance(x, (property, cached_property, classmethod))}
    within = {"after", "resumed"} if kind is engine.simulation.State else set()    # what steps make of it
    if issubclass(kind, engine.simulation.Component):
        within |= set(dir(engine.simulation.Component)) - vars(kind).keys()     # what simulators ask of all components
    assert methods and not [name for name, x in methods.items() if not example(x) and name not in within]


def test_help_shows_what_a_method_of_a_robot_does_and_an_example():
    robot = engine.compile(engine.load(engine.example("seven_joint_arm")))
    assert "Return the accelerations" in inspect.getdoc(robot.aba) and ">>> print(rod.aba(" in inspect.getdoc(robot.aba)


def test_help_shows_the_example_of_a_method_of_a_class():
    assert ">>> with engine.recording.Recording.open(path)" in (inspect.getdoc(engine.recording.Recording.open) or "")
