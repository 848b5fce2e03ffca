"""Ways in which what a user writes depends on the world, tried one after another with whatever the cache holds.

A row of worlds.txt is a world: what is there, what reads 1 of it, and what changes it, so that it reads 2. Each is tried in two of the
ROLES of things that read, by turns: what acts on a cart of 1 kg accelerates it by minus that number.
``python -m tests.simulation.worlds FOLDER FIRST STEP PHASE`` tries some in a process of its own:
in the phase "both" before they change and after, in "after" as in a process that begins when they have.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: what worlds find imported
AROUND = '''
import array, builtins, collections, contextvars, copy, csv, ctypes, dataclasses, datetime, decimal, enum, fractions, functools, gc
import importlib, io, json, locale, math, mmap, operator, os, pickle, random, sqlite3, struct, sys, threading, time, tomllib, types
import trimesh, weakref, zipfile
from multiprocessing import shared_memory
import numpy as np, scipy.interpolate
import engine, engine.components.component
from engine.components.component import Component, Effect
from engine.components.forces import JointSpring

def cart(mass=1.0, link="cart"):
    builder = engine.Builder("cart")
    builder.add_link("rail")
    builder.add_link(link, inertia=engine.spatial.inertia.from_mass(mass, [0.0, 0.0, 0.0], np.eye(3)))
    builder.add_joint("slide", "prismatic", "rail", link, axis=[1, 0, 0])
    return builder.model()

URDF = """<robot name="cart"><link name="rail"/><link name="cart"><inertial><mass value="%s"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="slide" type="prismatic"><parent link="rail"/>
<child link="cart"/><axis xyz="1 0 0"/><limit effort="1e9" velocity="1e9" lower="-1e3" upper="1e3"/></joint></robot>"""
MJCF = """<mujoco model="cart"><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
<geom type="sphere" size="0.1" %s/></body></worldbody></mujoco>"""
MESHED = """<mujoco model="cart"><asset><mesh name="m" file="m.stl"/></asset><worldbody><body name="cart">
<joint name="slide" type="slide" axis="1 0 0"/><geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>"""
'''
#: name -> the definition of what reads K, which stays as the world changes, and the arguments of a simulator with it
ROLES = {
    "controller": ("def push(t, q, v):\n    return -K * q", "controller=push"),
    "force": ("def push(t, q, v):\n    return -K * q", "forces=[push]"),
    "wrench": ("def push(t, q, v):\n    return {'cart': np.array([0.0, 0.0, 0.0, -1.0, 0.0, 0.0]) * K}", "forces=[push]"),
    "sensor": ("def seen(q):\n    return K * q", "sensors=[seen], controller=lambda t, q, v, seen: -seen"),
    "law": ("def push(t, q, v):\n    return -K * q", "controller=engine.Law(push, period=1e-3)"),
    "component": ("class Push(Component):\n    name = 'push'\n    def act(self, s, state, memory, command):\n"
                  "        return Effect(tau=-K * s.q)\npush = Push()", "forces=[push]"),
    "spring": ("", "forces=[JointSpring('slide', K)]"),
    "own spring": ("class Own(JointSpring):\n    def value(self, s, what):\n        return K if what == 'stiffness' else 0.0",
                   "forces=[Own('slide', 7.0)]"),
    "mass": ("", "model=cart(1.0 / K), controller=lambda t, q, v: -q"),
    "parameter": ("", "parameters={'k': K}, controller=lambda t, q, v, k: -k * q"),
    "gravity": ("", "gravity=(-K, 0, 0)"),
    "model": ("", "model=K, controller=lambda t, q, v: -q"),
}  # fmt: skip



class World(NamedTuple):
    """A name, the code that makes it, the expression that reads it, and the code that changes it."""

    name: str
    held: str
    read: str
    change: str


def worlds(text: str) -> list[World]:
    """Return the rows of a table."""
    parts = [row.split(" | ") for row in text.splitlines() if row.strip() and not row.startswith("#")]
    return [World(*(part.strip().replace(" ;; ", "\n") for part in row)) for row in parts]


def cases() -> list[tuple[World, str]]:
    """Return every world with two of the roles."""
    table = Path(__file__).with_name("worlds.txt").read_text(encoding="utf-8")
    numbers, models = map(worlds, table.split("# models"))
    roles = [role for role in ROLES if role != "model"]
    by = len(roles)
    pairs = [(world, roles[(k + shift * (1 + k // by % (by - 1))) % by]) for k, world in enumerate(numbers) for shift in (0, 1)]
    return [*pairs, *((world, "model") for world in models)]


@contextlib.contextmanager
def scene(number: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The names of a world of one's own, whose patches are taken back."""
    module = types.ModuleType(f"world_{number}")
    with contextlib.ExitStack() as stack:
        def patch(where: Any, name: str, value: Any) -> None:
            stack.callback(setattr, where, name, getattr(where, name))
            setattr(where, name, value)

        shutil.rmtree(folder, ignore_errors=True)                              # as the phase before left it
        folder.mkdir(parents=True)
        module.__dict__.update(patch=patch, later=stack.callback, folder=folder, number=number)
        sys.modules[module.__name__] = module
        stack.callback(sys.modules.pop, module.__name__)
        yield module.__dict__


def acts(names: dict[str, Any], arguments: str) -> float:
    """Return the number with which what is there acts, to the bit."""
    made = eval(f"dict({arguments})", names)
    model = made.pop("model", None) or eval("cart()", names)
    run = names["engine"].Simulator(model, **{"dt": 1e-3, "gravity": (0, 0, 0), "joint_dynamics": None, **made}).run([1.0], [0.0], 1e-3)
    return float(-run.vdot[0, 0])


def tried(case: tuple[World, str], number: int, folder: Path, phase: str) -> str:
    """Return what is wrong with a case, "" if nothing is."""
    world, role = case
    definition, arguments = (re.sub(r"\bK\b", f"({world.read})", text) for text in ROLES[role])
    with scene(number, folder) as names:
        exec(compile(AROUND, "<around>", "exec", dont_inherit=True), names)
        exec(compile(f"{world.held}\n{definition}", f"<{world.name}>", "exec", dont_inherit=True), names)
        def read() -> Any:
            x = eval(world.read, names)
            return 1.0 / x.link("cart").mass if role == "model" else x

        found = [read(), acts(names, arguments)] if phase == "both" else [1.0, 1.0]
        exec(compile(world.change, f"<{world.name}, changed>", "exec", dont_inherit=True), names)
        found += [read(), acts(names, arguments)]
    return "" if found == [1.0, 1.0, 2.0, 2.0] else f"read {found[0]}, acted {found[1]}; then read {found[2]}, acted {found[3]}"


def main(folder: str, first: str, step: str, phase: str) -> None:
    """Try some of the cases, and say what is wrong."""
    for number, case in [*enumerate(cases())][int(first) :: int(step)]:
        try:
            wrong = tried(case, number, Path(folder) / str(number), phase)
        except Exception:
            wrong = traceback.format_exc()
        if wrong:
            print(f"{case[0].name}, {case[1]}: {wrong}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
