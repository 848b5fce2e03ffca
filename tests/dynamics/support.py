"""What the tests of dynamics share: real robots, relative errors, derivatives along a motion."""

from __future__ import annotations

import dataclasses
import functools
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import engine
from engine import Model
from engine.compiler import interpret, trace
from tests.numeric import derivative

Array = np.ndarray
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
FILES = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",
    "tiago pro": "tiago_pro_description/robots/tiago_pro.urdf",
}


def file(name: str) -> Path:
    """The file of a robot, by its name in ``FILES`` or its path in example-robot-data."""
    return ROBOTS / FILES.get(name, name)


@functools.cache
def robot(name: str, floating_base: bool = False) -> Model:
    return engine.load_urdf(file(name), floating_base=floating_base)


def without_mimics(model: Model) -> Model:
    """The model with every mimic joint free."""
    graph = nx.DiGraph(name=model.name)
    graph.add_nodes_from(model.graph.nodes(data=True))
    for parent, child, joint in model.graph.edges.data("joint"):
        graph.add_edge(parent, child, joint=dataclasses.replace(joint, mimic=None))
    return Model.from_graph(graph, floating_base=floats(model))


def freed(model: Model, q: Array) -> tuple[Model, Array, Array]:
    """The model with mimic joints free, its configuration, and E with v_full = E v."""
    full = without_mimics(model)
    E, own = np.zeros((full.nv, model.nv)), {joint.name: joint for joint in model.joints}
    q_full = full.neutral()
    for joint in model.joints:
        ratio, offset, source = 1.0, 0.0, joint
        while source.mimic is not None and source.kind != "fixed":
            offset, ratio = offset + ratio * source.mimic.offset, ratio * source.mimic.ratio
            source = own[source.mimic.source]
        E[full.v_slice(joint.name), model.v_slice(source.name)] = ratio * np.eye(joint.type.nv)
        own_q = q[model.q_slice(source.name)]
        q_full[full.q_slice(joint.name)] = own_q if source is joint else ratio * own_q + offset
    return full, q_full, E


def floats(model: Model) -> bool:
    """Whether the root link moves freely."""
    return bool(model.joints) and model.joints[0].parent == ""


def error(actual: Any, expected: Any, scale: float = 0.0) -> float:
    """Largest difference, relative to the largest expected entry (or to ``scale``, if that is larger)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}; expected {expected.shape}"
    if not expected.size:
        return 0.0
    difference = float(np.abs(actual - expected).max())
    return difference / max(float(np.abs(expected).max()), scale) if difference else 0.0


def rate(f: Callable[[float], Any]) -> Any:
    """df/dt at t = 0 for the speeds of random states: right to some 1e-13."""
    return derivative(lambda t: np.asarray(f(t)), h=2e-3)


def columns(f: Callable[[Array], Any], x: Array) -> Array:
    """∂f/∂x by differences: f is traced once and interpreted, for all columns at once, at each step to either side."""
    program = trace(f, [x.shape])
    return rate(lambda t: np.moveaxis(interpret(program, x + t * np.eye(len(x))), 0, -1))


def along(model: Model, q: Array, f: Callable[[Array], Any]) -> Array:
    """The derivative of f(q) along q ⊕ e_j, column by column, by differences."""
    return columns(lambda d: f(model.manifold.plus(q, d)), np.zeros(model.nv))


def motion(model: Model, q: Array, v: Array, vdot: Array) -> Callable[[float], tuple[Array, Array]]:
    """A motion t -> (q, v) that passes through a state with the given rates."""
    return lambda t: (model.integrate(q, v, t), v + t * vdot)


def some_links(model: Model, rng: np.random.Generator, count: int) -> list[str]:
    """Names of a few links, the first and the last among them."""
    names = [link.name for link in model.links]
    chosen = {int(i) for i in rng.integers(0, len(names), count - 2)} | {0, len(names) - 1}
    return [names[i] for i in sorted(chosen)]


def sensitivity(M: Array, *forces: Array) -> float:
    """What the largest of these forces can accelerate: the scale of rounding in M⁻¹ tau."""
    return float(np.linalg.norm(np.linalg.inv(M), 2)) * max(float(np.abs(f).max()) for f in forces) if len(M) else 0.0
