"""Five robots and three controllers, as code: each in a library of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

import engine
from engine.components.controllers import computed_torque, minimum_jerk, pd_gravity
from tests.bench.robots import FILES
from tests.trees import random_tree

ROBOTS = ("pendulum", "ur5", "joints", "slides", "flyer")
#: in the order of equations: where links are, forces, accelerations, inertia
FUNCTIONS = ("forward_kinematics", "rnea", "aba", "crba")


def pendulum() -> engine.Model:
    """One joint, and a rod of 2 kg."""
    arm = engine.Builder("pendulum")
    arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.diag([0.1, 1.0, 1.0])))
    arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    return arm.model()


def model(name: str) -> engine.Model:
    """One of the robots."""
    rng = np.random.default_rng(1)
    if name == "pendulum":
        return pendulum()
    if name == "ur5":
        return engine.load_urdf(FILES["UR5"][0])
    if name == "joints":
        return random_tree(rng, 4, ("spherical", "screw", "universal", "planar"))
    if name == "slides":
        return random_tree(rng, 4, ("prismatic", "continuous"), mimics=0.5)
    return random_tree(rng, 2, ("revolute",), floating_base=True)


def functions(name: str) -> dict[str, tuple[Any, str | None]]:
    """Functions of a robot, and its step, by names in C."""
    m = model(name)
    robot = engine.compile(m)
    found: dict[str, tuple[Any, str | None]] = {f"{name}_{f}": (getattr(robot, f), None) for f in FUNCTIONS}
    return found | {f"{name}_step": (engine.Simulator(m), None)}


def remembers(t: Any, q: Any, v: Any, memory: Any, noise: Any, gain: Any) -> tuple[Any, Any]:
    """A law with a memory, noise and a parameter."""
    return gain * (0.5 - q) - v + memory + 0.01 * noise(len(v)), 0.9 * memory + 0.01 * (0.5 - q)


def integrates(t: Any, q: Any, v: Any, state: Any) -> tuple[Any, Any]:
    """A law with a state of its own."""
    return -10.0 * q - v - state, q


def controllers() -> dict[str, tuple[Any, str | None]]:
    """Three controllers, of one robot, by names in C."""
    m = pendulum()
    follows = computed_torque(m, minimum_jerk(m, m.neutral(), m.neutral() + 1.0, 2.0))
    law = engine.Law(remembers, memory=np.zeros(1), period=0.004, delay=0.008)
    held = {"follows": engine.Simulator(m, controller=follows),
            "remembers": engine.Simulator(m, controller=law, parameters={"gain": 3.0}),
            "integrates": engine.Simulator(m, controller=engine.Law(integrates, state=np.zeros(1))),
            "holds": engine.Simulator(m, controller=pd_gravity(m, m.neutral(), 10.0, 1.0))}  # fmt: skip
    return {name: (simulator, "controller") for name, simulator in held.items()}
