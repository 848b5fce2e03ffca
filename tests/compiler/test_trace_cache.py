"""What is made of the engine's own alone is kept on disk, by all that it is made of; what may be anything else is made each time."""

import builtins
import copy
import functools
import operator
import os
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import cache, integrate
from engine.compiler import native_code, trace
from engine.compiler import trace_cache as rooms
from engine.compiler.trace_cache import LOADED, Foreign, kept, key_of, pickled
from engine.components.actuators import Motor
from engine.contact import ContactMaterial, joint_laws
from engine.contact.many.sticking import first_of
from engine.contact.pairs import narrow_phase_of_kinds
from engine.model import joint_types
from engine.spatial import inertia, so3

pytestmark = pytest.mark.usefixtures("as_loaded")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(path))
    return path


def counted(inputs, made=None):
    """How often something is made in two attempts."""
    calls = []
    for _ in range(2):
        kept("a thing", inputs, lambda: calls.append(1) or made)
    return len(calls)


def test_it_is_made_once(folder):
    material, calls = ContactMaterial(friction=0.5), []
    for _ in range(3):
        program = kept("a program", (material, {"b", "a"}), lambda: calls.append(1) or trace(lambda x: 2.0 * x, [(3,)]))
        assert program == trace(lambda x: 2.0 * x, [(3,)])
    assert len(calls) == 1


@pytest.mark.parametrize("other", [(1.0, 2.0), (1.0, np.nextafter(3.0, 4.0)), (1, 3.0), (True, 3.0), (1.0, 3.0, None), [1.0, 3.0],
                                   (-1.0, 3.0), (1.0, np.float64(3.0)), (1.0, np.array([3.0]))])  # fmt: skip
def test_other_inputs_are_other_keys(folder, other):
    assert key_of((1.0, 3.0)) == key_of((1.0, 3.0)) != key_of(other)
    assert key_of((0.0,)) != key_of((-0.0,))


def test_the_order_of_a_set_is_none(folder):
    words = [f"word{k}" for k in range(50)]
    assert key_of({*words}) == key_of({*words[::-1]}) == key_of({*sorted(words, key=hash)}) != key_of({*words[1:]})


class Mine(Motor):
    """Somebody's own component."""


def gain():
    return 1.0


class Disguised(Motor):
    """One that says that it is another."""

    def __reduce__(self):
        return Motor, ("joint",)


FOREIGN = {
    "in disguise": Disguised("joint"),
    "a function": gain, "a lambda": lambda t: t, "a function within": functools.partial(gain), "a class": Mine,
    "an object": type("Own", (), {})(), "a builtin": time.time, "a method": random.Random(0).random,
    "a generator's": np.random.default_rng(0).normal,
    "a file": functools.partial(np.loadtxt, "gains.txt"), "bytes of one": functools.partial(np.fromfile, "gains.bin"),
    "a path's": Path("gains.txt").read_text, "the environment": os.environ.get, "text of code": functools.partial(eval, "1.0"),
    "an opened file": functools.partial(open, "gains.txt"), "a lock": threading.Lock(), "a module": np, "an engine's reader":
    functools.partial(engine.load_trajectory, "run.h5"), "a robot's file": functools.partial(engine.load, "robot.urdf"),
    "a method in the engine": integrate.Method("mine", 1, gain, 1, 1, "", embedded=gain), "in a dictionary": {"controller": gain},
    "in an array": np.array([gain, None]), "in a set": {gain}, "an attribute's": operator.attrgetter,
}  # fmt: skip


@pytest.mark.parametrize("thing", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_the_engines_is_made_each_time(folder, thing):
    with pytest.raises(Foreign):
        pickled((1.0, thing))
    assert counted((1.0, thing)) == 2 and not any(folder.iterdir())


CHANGES = {
    "a function": (so3, "hat", lambda w: w), "a constant": (joint_laws, "SOME", 3), "a class": (joint_laws, "Row", None),
    "a method": (Motor, "__init__", lambda self: None), "NumPy": (np, "cross", lambda a, b: a), "Python": (builtins, "abs", lambda x: x),
    "what is inherited": (Motor, "memories", ()), "what shadows Python's": (joint_laws, "abs", lambda x: x),
    "a name that is imported": (joint_laws, "crba", lambda model, q: np.eye(6)),
}  # fmt: skip


@pytest.mark.parametrize(("where", "name", "value"), CHANGES.values(), ids=CHANGES)
def test_an_engine_that_was_changed_keeps_nothing(folder, monkeypatch, where, name, value):
    assert counted(1.0) == 1
    monkeypatch.setattr(where, name, value, raising=False)
    assert counted(1.0) == 2
    with pytest.raises(Foreign, match=f"{name} was set"):
        key_of(1.0)
    monkeypatch.undo()


def test_an_entry_of_a_table_counts_too(folder, monkeypatch):
    monkeypatch.setitem(integrate.METHODS, "mine", integrate.METHODS["cg4"])
    with pytest.raises(Foreign, match="METHODS"):
        key_of(1.0)
    monkeypatch.undo()
    monkeypatch.setitem(integrate.METHODS, "cg4", integrate.METHODS["rkmk4"])
    with pytest.raises(Foreign, match="cg4 was set"):
        key_of(1.0)


#: what stays the same object -> what is set in it
WITHIN = {
    "a function's code": lambda m: m.setattr(so3.hat, "__code__", so3.vee.__code__),
    "a function's defaults": lambda m: m.setattr(inertia.box, "__defaults__", (1,)),
    "a function's keyword defaults": lambda m: m.setattr(narrow_phase_of_kinds.__wrapped__, "__kwdefaults__", {"near": True}),
    "a method's code": lambda m: m.setattr(Motor.__init__.__wrapped__, "__code__", (lambda self: None).__code__),
    "a property's code": lambda m: m.setattr(engine.Simulator.programs.fget, "__code__", (lambda self: 7).__code__),
    "a cached property's code": lambda m: m.setattr(engine.Model._movers.func, "__code__", (lambda self: 7).__code__),
    "a class method's code": lambda m: m.setattr(vars(engine.Event)["of"].__func__.__wrapped__, "__code__", (lambda cls: 7).__code__),
    "code behind a memory": lambda m: m.setattr(inertia.upper.__wrapped__, "__code__", (lambda n: 7).__code__),
    "what a decorator wraps": lambda m: m.setattr(first_of.__wrapped__, "__code__", (lambda a, b: a).__code__),
}  # fmt: skip


@pytest.mark.parametrize("change", WITHIN.values(), ids=WITHIN)
def test_what_is_changed_in_place_counts_too(folder, monkeypatch, change):
    assert counted(1.0) == 1
    with monkeypatch.context() as m:
        change(m)
        with pytest.raises(Foreign, match=r"^engine\.[\w.]+ was (set|changed)$"):
            key_of(1.0)
        assert counted(1.0) == 2
    assert counted(1.0) == 0


HELD = {
    "a list's entry": (so3.BERNOULLI, lambda x: x.__setitem__(1, 0.1), lambda x, old: x.__setitem__(1, old[1])),
    "a list's length": (so3.BERNOULLI, lambda x: x.append(0.1), lambda x, old: x.pop()),
    "a set": (rooms.PURE, lambda x: x.add("io"), lambda x, old: x.remove("io")),
    "an array's entry": (joint_types.ZERO3, lambda x: x.__setitem__(1, 0.1), lambda x, old: x.__setitem__(1, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize(("held", "change", "undo"), HELD.values(), ids=HELD)
def test_what_holds_others_counts_too(folder, held, change, undo):
    assert counted(1.0) == 1
    before = copy.copy(held)
    change(held)
    try:
        with pytest.raises(Foreign, match=r"^engine\.[\w.]+ was changed$"):
            key_of(1.0)
    finally:
        undo(held, before)
    assert counted(1.0) == 0


def test_all_that_may_be_traced_is_loaded_at_once():
    """Whatever is loaded later is in no key."""
    top = Path(engine.__file__).parent
    files = [f.relative_to(top).with_suffix("").parts for f in top.rglob("*.py")]
    names = {f"engine.{'.'.join(parts)}".removesuffix(".__init__") for parts in files if parts[0] in rooms.PURE}
    assert len(names) > 200 and not names - {*sys.modules}


def test_other_sources_libraries_processors_and_options_are_other_keys(folder, monkeypatch):
    keys = [key_of(1.0)]
    for change in (lambda m: m.setattr(LOADED[0], "texts", "other"), lambda m: m.setattr("sys.version", "3.99"),
                   lambda m: (m.setattr(LOADED[0], "under", []), m.setattr(np, "__version__", "99.0")),
                   lambda m: m.setattr("networkx.__version__", "99.0"),
                   lambda m: m.setenv("ENGINE_ROWS", "1")):  # fmt: skip
        with monkeypatch.context() as m:
            change(m)
            rooms.installed.cache_clear()
            keys.append(key_of(1.0))
    rooms.installed.cache_clear()
    native_code.identity.cache_clear()
    assert len({*keys}) == len(keys) and key_of(1.0) == keys[0]


def test_what_cannot_be_read_is_made_again(folder):
    assert counted(1.0, made="whole") == 1
    (file,) = folder.iterdir()
    for bad in (b"", file.read_bytes()[:-1]):
        file.write_bytes(bad)
        assert kept("a thing", 1.0, lambda: "again") == "again"
    cache.store(key_of(1.0), b"no pickle")                                     # under its own checksum
    assert kept("a thing", 1.0, lambda: "anew") == "anew" == kept("a thing", 1.0, lambda: "not made")


def test_what_cannot_be_pickled_is_made_each_time(folder):
    made = [kept("a lock", 1.0, threading.Lock) for _ in range(2)]
    assert made[0] is not made[1] and not any(folder.iterdir())


def test_without_a_cache_and_beside_checks_it_is_made_each_time(folder, monkeypatch, capsys):
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    assert counted(1.0) == 1
    assert [line.split(": ")[-1] for line in capsys.readouterr().err.splitlines()] == ["made, and kept in the cache", "found in the cache"]
    monkeypatch.setenv("ENGINE_DEBUG", "2")
    assert counted(1.0) == 2
    monkeypatch.delenv("ENGINE_DEBUG")
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert counted(1.0) == 2


def test_a_program_with_a_procedure_is_kept(folder):
    """As of a step whose contacts are rows: it names a function that its decorator stands for."""
    def made():
        return trace(lambda x: first_of(x, np.zeros((3, 2))), [(5,)])

    text = str(kept("a procedure", 1.0, made))
    assert str(kept("a procedure", 1.0, lambda: "not made")) == text and len([*folder.iterdir()]) == 1


@pytest.mark.usefixtures("nothing_said_before")
def test_a_cache_that_cannot_be_written_keeps_nothing_and_says_so(folder, monkeypatch, capsys):
    resource = pytest.importorskip("resource")
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))                 # as a disk that is full
    try:
        with pytest.warns(cache.CacheWarning, match=f"^the cache {folder} cannot be written: File too large; expected room") as said:
            found = counted(1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert found == 2 and len(said) == 1
    assert "made, and not kept, as the cache cannot be written" in capsys.readouterr().err
