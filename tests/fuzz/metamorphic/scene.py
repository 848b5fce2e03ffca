"""A scene: links, joints, states, and all that acts, as plain data that relations transform, and the simulator that it makes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import numpy as np

import engine
from engine import dynamics, ops
from engine.components.component import Component
from engine.model import Joint, Link, Model
from engine.model.combine import WORLD
from engine.spatial import quaternion, se3

Array = np.ndarray


@dataclass(frozen=True)
class Drive:
    """A joint's commanded force: amplitude · sin(frequency · t + phase), N·m or N."""

    amplitude: float
    frequency: float
    phase: float


@dataclass(frozen=True)
class Scene:
    """A forest on the link "world", in some states, and how it is simulated.

    Attributes
    ----------
    links, joints : as they are declared; the world is among the links
    q, v : by joint, of some states (states, nq) and (states, nv)
    drives : by joint
    closes : s, from when on grips are commanded to be closed
    forces, actuators : components whose attributes are data
    marks : by link, the pose in its frame of the frame that is looked at, where that is another
    """

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    q: Mapping[str, Array]
    v: Mapping[str, Array]
    gravity: Array
    dt: float = 2.0**-9
    steps: int = 16
    integrator: str = "cg4"
    joint_dynamics: str | None = "auto"
    conserve_momentum: bool = True
    contacts: engine.Contacts | None = None
    constraints: tuple[Any, ...] = ()
    drives: Mapping[str, Drive] = field(default_factory=dict)
    closes: float = 0.0
    forces: tuple[Component, ...] = ()
    actuators: tuple[Component, ...] = ()
    marks: Mapping[str, Array] = field(default_factory=dict)

    # ------------------------------------------------------------ as others see it

    @functools.cached_property
    def model(self) -> Model:
        """The model, whose order is that of the declarations."""
        graph = nx.DiGraph(name="scene")
        for link in self.links:
            graph.add_node(link.name, link=link)
        for joint in self.joints:
            graph.add_edge(joint.parent, joint.child, joint=joint)
        return Model.from_graph(graph)

    @property
    def states(self) -> int:
        """Number of states."""
        return len(next(iter(self.v.values())))

    @property
    def roots(self) -> list[Joint]:
        """The joints on the world."""
        return [joint for joint in self.joints if joint.parent == WORLD]

    @property
    def names(self) -> list[str]:
        """The links that may move, in an order of their names."""
        return sorted(link.name for link in self.links if link.name != WORLD)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return next(joint for joint in self.joints if joint.name == name)

    def above(self, link: str) -> Joint:
        """The joint above a link."""
        return next(joint for joint in self.joints if joint.child == link)

    def tree(self, root: Joint) -> set[str]:
        """The links that hang on a joint."""
        found = {root.child}
        while more := {joint.child for joint in self.joints if joint.parent in found} - found:
            found |= more
        return found

    # ------------------------------------------------------------ what is simulated

    def configurations(self) -> Array:
        """q (states, nq) in the model's order."""
        return self._joined("q", self.model.nq)

    def velocities(self) -> Array:
        """v (states, nv) in the model's order."""
        return self._joined("v", self.model.nv)

    def _joined(self, which: str, n: int) -> Array:
        found, at = np.zeros((self.states, n)), getattr(self.model, f"{which}_slice")
        for name, x in getattr(self, which).items():
            found[:, at(name)] = x
        return found

    def with_states(self, q: Array, v: Array) -> Scene:
        """The scene in other states, (states, nq) and (states, nv) in the model's order."""
        model = self.model
        return replace(self, q={name: q[:, model.q_slice(name)] for name in self.q}, v={name: v[:, model.v_slice(name)] for name in self.v})

    def controller(self) -> Callable[..., Any] | None:
        """What commands the drives and grips, if there are any."""
        grips = [c.name for c in self.constraints if isinstance(c, engine.Grip)]
        if not self.drives and not grips:
            return None
        driven = [(self.model.v_slice(name).start, d.amplitude, d.frequency, d.phase) for name, d in self.drives.items()]
        nv, closes = self.model.nv, self.closes

        def commands(t: Any, q: Array, v: Array) -> Any:
            found: list[Any] = [0.0] * nv
            for j, amplitude, frequency, phase in driven:
                found[j] = amplitude * ops.sin(frequency * t + phase)
            return {"tau": ops.array(found), **{name: ops.where(t < closes, 0.0, 1.0) for name in grips}}

        return commands

    def simulator(self, **options: Any) -> engine.Simulator:
        """The simulator, with some options of its own."""
        given: dict[str, Any] = {
            "dt": self.dt, "integrator": None if self.integrator == "cg4" else self.integrator, "gravity": self.gravity,
            "controller": self.controller(), "forces": self.forces, "actuators": self.actuators, "contacts": self.contacts,
            "joint_dynamics": self.joint_dynamics, "constraints": self.constraints, "conserve_momentum": self.conserve_momentum,
        }  # fmt: skip
        return engine.Simulator(self.model, **{**given, **options})

    @property
    def duration(self) -> float:
        """How long it is looked at, s."""
        return self.dt * self.steps

    @property
    def follows(self) -> bool:
        """Whether impulses follow flight."""
        return self.contacts is not None or (self.joint_dynamics is not None and any(lossy(joint) for joint in self.joints))


def ends(joint: Joint) -> bool:
    """Whether a joint has stops."""
    return bool(np.isfinite([joint.limits.lower, joint.limits.upper]).any())


def lossy(joint: Joint) -> bool:
    """Whether a joint loses something, or ends somewhere."""
    return bool(joint.damping or joint.friction or ends(joint))


def poses(scene: Scene) -> list[dict[str, Array]]:
    """T_WL by link, in each state."""
    names = [link.name for link in scene.model.links]
    return [dict(zip(names, dynamics.forward_kinematics(scene.model, q), strict=True)) for q in scene.configurations()]


def twists(scene: Scene) -> list[dict[str, Array]]:
    """The links' twists in their own frames by link, in each state."""
    names, pairs = [link.name for link in scene.model.links], zip(scene.configurations(), scene.velocities(), strict=True)
    return [dict(zip(names, dynamics.twists(scene.model, q, v), strict=True)) for q, v in pairs]


def floating(T: Array) -> Array:
    """A floating joint's q of a pose."""
    return np.concatenate([quaternion.from_matrix(T[:3, :3]), T[:3, 3]])


def pose_of(q: Array) -> Array:
    """The pose of a floating joint's q."""
    return se3.pose(quaternion.to_matrix(q[:4]), q[4:])


def mapped(states: Mapping[str, Array], names: Iterable[str], f: Callable[[Array], Array]) -> dict[str, Array]:
    """States by joint with those of some joints each mapped by a function."""
    chosen = set(names)
    return {name: np.array([f(row) for row in x]) if name in chosen else x for name, x in states.items()}
