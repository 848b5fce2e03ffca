"""The builder: a kinematic tree put together by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from engine.checks import nearest, number, shown
from engine.model.errors import ModelError
from engine.model.joint_types import Limits
from engine.model.model import Model
from engine.model.tree import Geometry, Joint, Link, Mimic
from engine.spatial import inertia as spatial


class Builder:
    """A kinematic tree put together by hand; ``Model.from_graph(builder.graph)`` makes it a model.

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> arm = Builder("pendulum")
    >>> _ = arm.add_link("base")
    >>> _ = arm.add_link("bob", inertia=inertia.from_mass(1.0, [0, 0, -1.0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0])
    >>> arm.model().nv
    1
    """

    def __init__(self, name: str = "robot") -> None:
        self.graph = nx.DiGraph(name=name)

    def add_link(self, name: str, inertia: ArrayLike = np.zeros((6, 6)), visuals: Iterable[Geometry] = (),
                 collisions: Iterable[Geometry] = ()) -> Link:  # fmt: skip
        """Add a :class:`Link`.

        Its inertia is a rigid body's, or as general as added mass; ModelError says why it is neither.

        >>> import engine, numpy as np
        >>> engine.Builder().add_link("plate", inertia=np.diag([1.0, 1.0, 3.0, 2.0, 2.0, 2.0]))
        Traceback (most recent call last):
            ...
        engine.model.errors.ModelError: link 'plate': principal moments 1, 1, 3 kg·m² violate the triangle inequality (the largest exceeds \
the sum of the others); expected a body's inertia
        """
        if name in self.graph:
            raise ModelError(f"link '{name}' is there twice; expected unique names")
        for what, shapes in (("visuals", visuals), ("collisions", collisions)):
            if isinstance(shapes, (Geometry, str)):
                raise ModelError(f"link '{name}': {what} is {shown(shapes)}; expected a list of engine.Geometry")
        given: Any = inertia
        link = Link(name, given, tuple(visuals), tuple(collisions))
        G = link.inertia
        for fault in spatial.faults(G) if spatial.is_rigid(G) else ():
            raise ModelError(f"link '{name}': {fault}; expected a body's inertia")
        if (least := np.linalg.eigvalsh(G)[0]) < -1e-9 * np.abs(G).max():
            raise ModelError(f"link '{name}': its inertia has the eigenvalue {least:.3g}; expected none below zero")
        self.graph.add_node(name, link=link)
        return link

    def add_joint(self, name: str, kind: str, parent: str, child: str, placement: ArrayLike = np.eye(4),
                  axis: ArrayLike = (0.0, 0.0, 1.0), axis2: ArrayLike = (1.0, 0.0, 0.0), pitch: float = 0.0, limits: Limits = Limits(),
                  damping: float = 0.0, friction: float = 0.0, mimic: Mimic | None = None, armature: float = 0.0) -> Joint:  # fmt: skip
        """Add a :class:`Joint` between two links that are there; its properties are those of the class.

        >>> import engine
        >>> arm = engine.Builder()
        >>> _ = arm.add_link("base"), arm.add_link("bob")
        >>> arm.add_joint("pivot", "revolute", "base", "bob", damping=-1.0)
        Traceback (most recent call last):
            ...
        engine.model.errors.ModelError: joint 'pivot': damping is -1.0; expected a finite number, zero or more
        """
        for end in (parent, child):
            if end not in self.graph:
                raise ModelError(f"joint '{name}' names the link '{end}', which is not there{nearest(end, self.graph)}")
        if any(name == j.name for _, _, j in self.graph.edges.data("joint")):
            raise ModelError(f"joint '{name}' is there twice; expected unique names")
        if self.graph.has_edge(parent, child):
            raise ModelError(f"joint '{name}': links '{parent}' and '{child}' are joined already; expected one joint between two links")
        arrays: dict[str, Any] = {"placement": placement, "axis": axis, "axis2": axis2}
        joint = Joint(name, kind, parent, child, **arrays, pitch=pitch, limits=limits, damping=damping, friction=friction, mimic=mimic,
                      armature=armature)  # fmt: skip
        for which in ("damping", "friction"):
            number(f"joint '{name}': {which}", getattr(joint, which), "a finite number, zero or more", least=0.0, error=ModelError)
        for which in ("velocity", "effort", "acceleration", "deceleration", "jerk"):
            if (limit := getattr(limits, which)) < 0:
                raise ModelError(f"joint '{name}': the {which} limit is {limit:g}; expected zero or more")
        self.graph.add_edge(parent, child, joint=joint)
        return joint

    def model(self, floating_base: bool | None = None) -> Model:
        """Return the model of what has been added; see :meth:`Model.from_graph`.

        >>> import engine
        >>> builder = engine.Builder("stone")
        >>> _ = builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> builder.model(floating_base=True)
        <model 'stone': 1 links, 1 joints, nq 7, nv 6>
        """
        return Model.from_graph(self.graph, floating_base=floating_base)
