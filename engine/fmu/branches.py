"""Branches in a simulator's field, which would be event indicators: an FMU of it has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler import Program, trace
from engine.compiler.graph.operations import operands
from engine.simulation import Simulator

Array = np.ndarray
#: operations with a jump or a kink; equality, by which divisions are guarded, has none that a motion meets
BRANCHES = {"lt", "le", "min", "max", "floor", "fmod", "loop"}


def branching(simulator: Simulator) -> list[str]:
    """Return the names of the components whose forces or commands branch by t, q or v, those that say so first: a motor that only hears
    the command of a law that clips it does not.

    >>> import engine
    >>> model = engine.load(engine.example("seven_joint_arm"))
    >>> branching(engine.Simulator(model, joint_dynamics=None, controller=lambda t, q, v: np.clip(-q, -1.0, 1.0)))
    ['controller']
    """
    plant = simulator.plant
    model, counts = plant.model, dict[str, int]()

    def done(t: Any, q: Array, v: Array, p: Array) -> Array:
        effects = plant.effects(plant.in_flight(t, q, v, np.zeros(plant.flown), p), np.zeros(plant.memories.n))
        each = {name: [np.zeros(0), *map(np.ravel, values(e))] for name, e in effects.items()}
        counts.update({name: sum(map(len, x)) for name, x in each.items()})
        return np.concatenate([np.zeros(0), *(part for x in each.values() for part in x)])

    program = trace(done, [(), (model.nq,), (model.nv,), (simulator.stepper.parameters.n,)])
    moving, found, at, seen = moved(program, set(range(1 + model.nq + model.nv))), [], 0, set[int]()
    for name, n in counts.items():
        own = upstream(program, program.outputs[at : at + n]) - seen
        at, seen = at + n, seen | own
        if any(branches(program, i, moving) for i in own & moving):
            found.append(name)
    return found


def moved(program: Program, inputs: set[int]) -> set[int]:
    """Return the nodes that depend on some of a program's inputs."""
    found = set[int]()
    for i, node in enumerate(program.nodes):
        if node[1] in inputs if node[0] == "input" else not found.isdisjoint(operands(node)):
            found.add(i)
    return found


def values(effect: Any) -> list[Any]:
    """Return all that an effect does to a robot, and to those that come after."""
    forces = [effect.tau] if effect.tau is not None else []
    return [*forces, *effect.wrenches.values(), *effect.commands.values(), *effect.flows.values()]


def upstream(program: Program, outputs: Any) -> set[int]:
    """Return the nodes that some results are made of."""
    found, waiting = set[int](), [*outputs]
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += operands(program.nodes[i])
    return found


def branches(program: Program, i: int, moving: set[int]) -> bool:
    """Return whether a node, or what it calls, branches by what moves."""
    op, *args = program.nodes[i]
    if op != "call" or (inner := program.functions[args[0]]).native:
        return op in BRANCHES and not any(boundless(program.nodes[j]) for j in operands(program.nodes[i]))
    within = moved(inner, {k for k, j in enumerate(operands(program.nodes[i])) if j in moving})
    return any(branches(inner, k, within) for k in within)


def boundless(node: Any) -> bool:
    """Return whether a node is infinity, which commands are compared with to tell whether they are finite."""
    return node[0] == "const" and not np.isfinite(node[1])
