"""The builder: a kinematic tree put together by hand."""

from __future__ import annotations

from typing import Any

import networkx as nx

from engine.checks import nearest
from engine.model.errors import ModelError
from engine.model.model import Model
from engine.model.tree import Joint, Link


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

    def add_link(self, name: str, **properties: Any) -> Link:
        """Add a :class:`Link`; properties are its fields."""
        if name in self.graph:
            raise ModelError(f"link '{name}' is there twice; expected unique names")
        link = Link(name, **properties)
        self.graph.add_node(name, link=link)
        return link

    def add_joint(self, name: str, kind: str, parent: str, child: str, **properties: Any) -> Joint:
        """Add a :class:`Joint` between two links that are there; properties are its fields."""
        for end in (parent, child):
            if end not in self.graph:
                raise ModelError(f"joint '{name}' names the link '{end}', which is not there{nearest(end, self.graph)}")
        if any(name == j.name for _, _, j in self.graph.edges.data("joint")):
            raise ModelError(f"joint '{name}' is there twice; expected unique names")
        if self.graph.has_edge(parent, child):
            raise ModelError(f"joint '{name}': links '{parent}' and '{child}' are joined already; expected one joint between two links")
        joint = Joint(name, kind, parent, child, **properties)
        self.graph.add_edge(parent, child, joint=joint)
        return joint

    def model(self, floating_base: bool = False) -> Model:
        """Return the model of what has been added; see :meth:`Model.from_graph`."""
        return Model.from_graph(self.graph, floating_base=floating_base)
