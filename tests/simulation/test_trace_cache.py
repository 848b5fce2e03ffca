"""A step is traced once and found again unless something is another; functions are traced each time, with what they read then."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import trimesh

import engine
from engine.components.actuators import Motor
from engine.spatial import inertia
from tests import meshes

pytestmark = pytest.mark.usefixtures("as_loaded")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("ENGINE_CACHE", str(path))
    return path


def arm(mass=1.0, friction=0.1, damping=0.0, shape=None):
    """Two joints, of which one rubs; its links' shape is a ball, or another."""
    builder = engine.Builder("arm")
    for k, name in enumerate(("base", "upper", "lower")):
        builder.add_link(name, inertia=inertia.from_mass(mass if k == 2 else 1.0, [0.1, 0.0, 0.02 * k], 0.01 * np.eye(3)),
                         collisions=[shape or engine.Geometry("sphere", (0.05,))])  # fmt: skip
    placement = engine.spatial.se3.pose(np.eye(3), np.array([0.3, 0.0, 0.0]))
    builder.add_joint("first", "revolute", "base", "upper", axis=[0, 0, 1], placement=placement, friction=friction, damping=damping)
    builder.add_joint("second", "revolute", "upper", "lower", axis=[0, 1, 0], placement=placement)
    return builder.model()


def engine_arm():
    return engine.Simulator(arm(), dt=1e-3)


def lines(monkeypatch, capsys, make):
    """What is said of tracing while something is made."""
    capsys.readouterr()
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    made = make()
    monkeypatch.delenv("ENGINE_DEBUG")
    said = [line for line in capsys.readouterr().err.splitlines() if " of 'arm'" in line]
    return made, {line.split(": ")[1]: line.split(": ")[2] for line in said}


def keys(simulator):
    return [program.key for program in simulator.programs.values()]


@pytest.mark.parametrize("other", [
    lambda: engine.Simulator(arm(1.1), dt=1e-3), lambda: engine.Simulator(arm(friction=0.2), dt=1e-3),
    lambda: engine.Simulator(arm(), dt=2e-3), lambda: engine.Simulator(arm(damping=300.0), dt=1e-3, joint_dynamics="implicit"),
    lambda: engine.Simulator(arm(), dt=1e-3, integrator="rkmk4"), lambda: engine.Simulator(arm(), dt=1e-3, gravity=(0, 0, -1.0)),
    lambda: engine.Simulator(arm(), dt=1e-3, parameters={"mass.lower": 1.0}), lambda: engine.Simulator(arm(), dt=1e-3, joint_dynamics=None),
    lambda: engine.Simulator(arm(), dt=1e-3, actuators=[Motor("second", rotor=0.1)]),
    lambda: engine.Simulator(arm(), dt=1e-3, contacts=engine.Contacts(engine.HalfSpace(), [("world", "lower")]))],
    ids=["mass", "friction", "dt", "stiff", "integrator", "gravity", "parameter", "joints", "motor", "contacts"])  # fmt: skip
def test_what_is_another_is_traced_and_all_else_found(monkeypatch, capsys, other):
    made = [lines(monkeypatch, capsys, make) for make in (engine_arm, engine_arm, other, other)]
    assert [said["the step of 'arm'"].split()[0] for _, said in made] == ["made,", "found", "made,", "found"]
    monkeypatch.setenv("ENGINE_CACHE", "0")                                    # and what is found is what tracing makes
    assert [keys(x) for x, _ in made] == [keys(make()) for make in (engine_arm, engine_arm, other, other)]


WORLD = {"gain": 1.0}


class Held:
    gain = 1.0


def of_file(path):
    return lambda t, q, v: -float(path.read_text()) * q


CASES = {
    "a global": (lambda path: lambda t, q, v: -WORLD["gain"] * q, lambda path, m: m.setitem(WORLD, "gain", 2.0)),
    "a file": (of_file, lambda path, m: path.write_text("2.0")),
    "the environment": (lambda path: lambda t, q, v: -float(os.environ.get("GAIN", "1.0")) * q, lambda path, m: m.setenv("GAIN", "2.0")),
    "a class's attribute": (lambda path: lambda t, q, v: -Held.gain * q, lambda path, m: m.setattr(Held, "gain", 2.0)),
    "a module's constant": (lambda path: lambda t, q, v: -time.altzone * q, lambda path, m: m.setattr(time, "altzone", 7)),
    "a patched function": (lambda path: lambda t, q, v: -time.time_ns() // 10**30 * q,
                           lambda path, m: m.setattr(time, "time_ns", lambda: 2 * 10**30)),
    "a file of numbers": (lambda path: lambda t, q, v: -np.loadtxt(path) * q, lambda path, m: path.write_text("2.0")),
}  # fmt: skip


@pytest.mark.parametrize("how", ["controller", "forces"])
@pytest.mark.parametrize(("make", "change"), CASES.values(), ids=CASES)
def test_what_functions_read_is_what_is_there(tmp_path, monkeypatch, capsys, make, change, how):
    path = tmp_path / "gain.txt"
    path.write_text("1.0")
    given = {how: make(path) if how == "controller" else [make(path)]}
    before, said = lines(monkeypatch, capsys, lambda: engine.Simulator(arm(), dt=1e-3, **given))
    assert said["'after' of 'arm'"] == "made, and kept in the cache"           # which has no part in it
    change(path, monkeypatch)
    after, said = lines(monkeypatch, capsys, lambda: engine.Simulator(arm(), dt=1e-3, **given))
    assert said["the step of 'arm'"].startswith("traced") and said["'after' of 'arm'"] == "found in the cache"
    assert keys(before) != keys(after)
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert keys(engine.Simulator(arm(), dt=1e-3, **given)) == keys(after)


def test_a_component_of_somebody_elses_is_traced_each_time(monkeypatch, capsys):
    class Mine(Motor):
        pass

    for _ in range(2):
        _, said = lines(monkeypatch, capsys, lambda: engine.Simulator(arm(), dt=1e-3, actuators=[Mine("second")]))
        assert said["the step of 'arm'"].startswith("traced, as ") and "Mine" in said["the step of 'arm'"]


def test_a_mesh_is_known_by_what_is_in_it(tmp_path, monkeypatch, capsys):
    path = meshes.written(trimesh.creation.icosphere(1, 0.1), tmp_path / "stone.stl")

    def stone():
        model = arm(shape=engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=path))
        return engine.Simulator(model, dt=1e-3, contacts=engine.Contacts(engine.HalfSpace(), [("world", "lower")]))

    first, again = (lines(monkeypatch, capsys, stone) for _ in range(2))
    meshes.written(trimesh.creation.icosphere(1, 0.2), path)
    other = lines(monkeypatch, capsys, stone)
    assert [said["the step of 'arm'"].split()[0] for _, said in (first, again, other)] == ["made,", "found", "made,"]
    assert keys(first[0]) == keys(again[0]) != keys(other[0])


SCRIPT = """
import engine, numpy as np
q = engine.Simulator(engine.load(engine.example("seven_joint_arm")), dt=0.01)
print(next(iter(q.programs.values())).key)
"""


#: bodies that nothing but contacts joins; and the key of their step for all
MEETING = """
import numpy as np, engine
box = engine.Builder("box")
_ = box.add_link("box", inertia=engine.spatial.inertia.box(1.0, (0.2,) * 3), collisions=[engine.Geometry("box", (0.2,) * 3)])
heap = engine.combine(**{f"box{k}": box.model(floating_base=True) for k in range(8)})
simulator = engine.Simulator(heap, dt=1e-3, contacts=engine.Contacts(engine.HalfSpace()))
print(simulator._process.advanced.program.key)
"""


@pytest.mark.parametrize("script", [SCRIPT, MEETING], ids=["arm", "boxes"])
def test_another_process_finds_it(script):
    def run(**more):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], env={**os.environ, "ENGINE_DEBUG": "1", **more}, check=True,
                              capture_output=True, text=True)  # fmt: skip
        return done.stdout, [line for line in done.stderr.splitlines() if "the step of" in line or "contacts of" in line]

    (key, first), *others = (run(PYTHONHASHSEED=str(seed)) for seed in range(1, 5))
    assert first and all("made, and kept" in line for line in first)
    assert all(same == key and all("found in the cache" in line for line in lines) for same, lines in others)


@pytest.mark.parametrize("other", [
    lambda: bodies("sphere", (0.1,)), lambda: bodies("box", (0.2,) * 3, friction=0.3), lambda: bodies("box", (0.2,) * 3, n=9),
    lambda: bodies("box", (0.2,) * 3, slow=1e-2), lambda: bodies("box", (0.2,) * 3, combine="max"),
    lambda: bodies("box", (0.2,) * 3, torsional_friction=0.01), lambda: bodies("box", (0.2,) * 3, dt=2e-3)],
    ids=["shape", "friction", "number", "slow", "combine", "torsional", "dt"])  # fmt: skip
def test_contacts_of_bodies_are_those_that_tracing_makes(monkeypatch, other):
    made = [make()._process.advanced.program.key for make in (lambda: bodies("box", (0.2,) * 3), other, other)]
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert made == [make()._process.advanced.program.key for make in (lambda: bodies("box", (0.2,) * 3), other, other)]


def test_any_number_of_bodies_is_one_program(monkeypatch, capsys):
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    keys = {bodies("box", (0.2,) * 3, n=n)._process.advanced.program.key for n in (8, 9, 20)}
    said = [line for line in capsys.readouterr().err.splitlines() if "contacts of" in line]
    assert len(keys) == 1 and ["made, and kept" in line for line in said] == [True, False, False]


def bodies(shape, size, n=8, dt=1e-3, slow=1e-4, combine="harmonic", **surface):
    """Equal bodies that nothing but contacts joins."""
    builder = engine.Builder("body")
    builder.add_link("body", inertia=inertia.box(1.0, (0.2,) * 3), collisions=[engine.Geometry(shape, size)])
    model = engine.combine(**{f"body{k}": builder.model(floating_base=True) for k in range(n)})
    material = engine.ContactMaterial(**{"stiffness": 1e5, "dissipation": 1.0, "friction": 0.5, **surface})
    return engine.Simulator(model, dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=material), material=material,
                                                                  stiction_velocity=slow, combine=combine))  # fmt: skip


#: what is changed -> how many of what comes after flight, which has no part in flight, and of runs, are made anew
ANEW = {"nothing": ({}, 0, 0), "gain": ({"gain": 2.0}, 0, 1), "dt": ({"dt": 2e-3}, 0, 0), "integrator": ({"integrator": "rkmk4"}, 0, 1),
        "mass": ({"mass": 1.1}, 2, 1), "pair": ({"pairs": ("lower", "upper")}, 2, 1)}  # fmt: skip


def test_what_is_changed_is_what_is_made_and_compiled_anew(monkeypatch, capsys):
    def rubbed(gain=1.0, mass=1.0, pairs=("lower",), **more):
        contacts = engine.Contacts(engine.HalfSpace(), [("world", name) for name in pairs])
        simulator = engine.Simulator(arm(mass), **{"dt": 1e-3, **more}, contacts=contacts, controller=lambda t, q, v: -gain * q)
        simulator.stepper.compile()

    rubbed()
    monkeypatch.setenv("ENGINE_DEBUG", "1")
    found = {}
    for name, (change, _, _) in ANEW.items():
        capsys.readouterr()
        rubbed(**change)
        said = capsys.readouterr().err
        found[name] = change, said.count(": made, and kept"), said.count(": compiled, ")
    assert found == ANEW


def test_eight_processes_fill_a_cache_at_once(folder):
    """All make the same at the same time, and the next finds it whole."""
    def begun():
        return subprocess.Popen([sys.executable, "-W", "ignore", "-c", SCRIPT], env={**os.environ, "ENGINE_DEBUG": "1"}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

    done = [(process.communicate(timeout=300), process.returncode) for process in [begun() for _ in range(8)]]
    assert [code for _, code in done] == [0] * 8 and len({key for (key, _), _ in done}) == 1
    assert "found in the cache" in begun().communicate(timeout=300)[1] and all(p.suffix == ".o" for p in folder.iterdir())
