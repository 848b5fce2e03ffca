"""The graph of a robot: links as nodes and joints as edges, and all else that a model is made of, so that it can be cut and grafted.

What networkx copies, cuts, joins and relabels is read here again, or refused with what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from engine.checks import warn
from engine.model.described import Described, Keyframe, Part
from engine.model.errors import ModelError
from engine.model.tree import Joint, Link

FLOATING_BASE = "floating_base"
#: parts that a warning names
MOST = 10
#: (joint, nq, nv) of each that has coordinates of its own, in their order
Coordinates = tuple[tuple[str, int, int], ...]


class Origin(NamedTuple):
    """The model that a file's description was of: its coordinates, and the names of its links and joints."""

    coordinates: Coordinates
    links: frozenset[str]
    joints: frozenset[str]


class Read(NamedTuple):
    """What a graph says: links and joints in topological order, and extra armature by the joints' names.

    ``labels`` are the names of relabelled nodes by those that their links had; ``described`` is what a file says, with its origin.
    """

    links: list[Link]
    joints: list[Joint]
    armature: dict[str, Any]
    labels: dict[str, str]
    described: tuple[Described, Origin] | None


def read(graph: Any, floating_base: bool | None) -> Read:
    """Return what a graph says; ModelError says why it is no tree of links and joints. Its root floats where ``floating_base``, or else the
    root's own "joint", says so."""
    root = validated(graph)
    order = [*nx.dfs_preorder_nodes(graph, root)]
    edges = [*nx.dfs_edges(graph, root)]
    own = [graph.nodes[n]["link"] for n in order]
    links = [link if link.name == n else replace(link, name=n) for n, link in zip(order, own, strict=True)]
    joints = [_between(graph.edges[edge]["joint"], *edge) for edge in edges]
    armature = {j.name: graph.edges[edge]["armature"] for j, edge in zip(joints, edges, strict=True) if "armature" in graph.edges[edge]}
    if base := _base(graph, root, joints, floating_base):
        joints.insert(0, base)
        if "armature" in graph.nodes[root]:
            armature[base.name] = graph.nodes[root]["armature"]
    former = [link.name for link in own]
    labels = {link.name: n for n, link in zip(order, own, strict=True) if link.name != n and former.count(link.name) == 1}
    return Read(links, joints, armature, labels, described(graph))


def described(graph: Any) -> tuple[Described, Origin] | None:
    """Return what a file says of the robot of a graph, and of which model it said so; ModelError where several files do."""
    found = [(said, origin) for said, origin in graph.graph.items() if isinstance(said, Described)]
    if len(found) > 1:
        raise ModelError(f"the graph holds what {len(found)} files describe of their robots; expected one (engine.combine joins robots with "
                         "what is described of each, and dataclasses.replace(model, described=None) leaves it out)")  # fmt: skip
    return found[0] if found else None


def written(graph: Any, name: str, links: Sequence[Link], joints: Sequence[Joint], armature: Mapping[str, Any] | None = None) -> Any:
    """Return a frozen copy of a graph that holds these links and joints, and extra armature by the joints' names."""
    made = graph.copy()
    made.graph["name"] = name
    for link in links:
        data = made.nodes[link.name]
        data["link"] = link
        data.pop("joint", None)                                                 # of a root that floats: it comes with the joints
        data.pop("armature", None)
    for joint in joints:
        data = _of(made, joint)
        data["joint"] = joint
        data.pop("armature", None)
        if armature and joint.name in armature:
            data["armature"] = armature[joint.name]
    return nx.freeze(made)


def added(graph: Any, joints: Iterable[Joint]) -> dict[str, Any]:
    """Return the extra armature that a graph holds, by the joints' names."""
    return {j.name: data["armature"] for j in joints if "armature" in (data := _of(graph, j))}


def refitted(said: Described, origin: Origin, model: Any, labels: Mapping[str, str]) -> Described:
    """Return what a file says of a robot, as it holds for a model that was made of it; EngineWarning names what is left out.

    Joints that were there keep their coordinates in the file's configuration and its keyframes, others have neutral ones.
    """
    links = {labels.get(n, n) for n in origin.links} - {link.name for link in model.links}
    joints = origin.joints - {j.name for j in model.joints}
    if not (links or joints or labels) and model.coordinates == origin.coordinates:
        return said
    said, lost = said.renamed(lambda name: labels.get(name, name), str, str), list[str]()

    def kept(parts: Iterable[Part]) -> tuple[Part, ...]:
        found = [(part, *part.without(links, joints)) for part in parts]
        lost.extend(f"{_title(part)} of {', '.join(map(repr, dict.fromkeys(gone)))}" for part, _, gone in found if gone)
        return tuple(left for _, left, _ in found if left is not None)

    def moved(x: Any, fill: Any, n: int) -> Any:
        """Return coordinates (n = 1) or velocities (n = 2) of the model, which are those that joints had."""
        x, k = [*x], 0
        for joint in origin.coordinates:
            if joint in model.coordinates:
                fill[(model.q_slice, model.v_slice)[n - 1](joint[0])] = x[k : k + joint[n]]
            k += joint[n]
        return fill

    constraints, actuators, forces = (kept(parts) for parts in (said.constraints, said.actuators, said.forces))
    contacts = kept([] if said.contacts is None else [said.contacts])
    commanded = {part.values.get("name") for part in said.actuators} - {part.values.get("name") for part in actuators}
    keyframes = {name: Keyframe(k.t, moved(k.q, model.neutral(), 1), moved(k.v, np.zeros(model.nv), 2),
                                {n: x for n, x in k.commands.items() if n not in commanded}) for name, k in said.keyframes.items()}  # fmt: skip
    sensors = {name: (kind, on if on in origin.joints else labels.get(on, on)) for name, (kind, on) in said.sensors.items()}
    gone = links | joints | commanded
    lost += [f"sensor '{name}' of '{on}'" for name, (_, on) in sensors.items() if on in gone]
    if lost:
        rest = f" and {len(lost) - MOST} more" if len(lost) > MOST else ""
        warn(f"what the file of '{model.name}' describes of links and joints that are no longer there is left out: "
             f"{'; '.join(lost[:MOST])}{rest}")  # fmt: skip
    return Described(moved(said.q, model.neutral(), 1), said.gravity, said.dt, constraints, actuators, forces,
                     contacts[0] if contacts else None, keyframes, {name: x for name, x in sensors.items() if x[1] not in gone})  # fmt: skip


def _title(part: Part) -> str:
    """Return what a part is called."""
    return part.kind + (f" '{part.values['name']}'" if part.values.get("name") else "")


def _of(graph: Any, joint: Joint) -> Any:
    """Return the data where a joint is: of its edge, or of the root that it carries."""
    return graph.edges[joint.parent, joint.child] if joint.parent else graph.nodes[joint.child]


def with_described(graph: Any, said: Described | None, origin: Origin) -> Any:
    """Return a frozen copy of a graph that holds what a file says of its robot."""
    made = graph.copy()
    for key in [key for key in made.graph if isinstance(key, Described)]:
        del made.graph[key]
    if said is not None:
        made.graph[said] = origin
    return nx.freeze(made)


def _between(joint: Joint, parent: str, child: str) -> Joint:
    """Return a joint that says what its edge does."""
    return joint if (joint.parent, joint.child) == (parent, child) else replace(joint, parent=parent, child=child)


def _base(graph: Any, root: str, joints: Sequence[Joint], floating_base: bool | None) -> Joint | None:
    """Return the joint by which the root floats in the world: its own, or else one with a name that none has; None where it stands."""
    own = graph.nodes[root].get("joint")
    if floating_base is False or (floating_base is None and own is None):
        return None
    taken = {j.name for j in joints}
    if own is None:
        name = FLOATING_BASE
        while name in taken:
            name += "_"
        return Joint(name, "floating", "", root)
    if not isinstance(own, Joint) or own.kind != "floating" or own.parent or own.child not in (root, graph.nodes[root]["link"].name):
        raise ModelError(f"the root '{root}' holds {own!r} as its joint; expected the one by which it floats in the world, "
                         f"Joint(..., 'floating', '', '{root}')")  # fmt: skip
    if own.name in taken:
        raise ModelError(f"joint '{own.name}' is there twice, once of the root '{root}'; expected unique names")
    return _between(own, "", root)


def validated(graph: Any) -> str:
    """Return the name of the root of a graph that is a tree of links and joints; ModelError says what is not."""
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise ModelError(f"the model's graph is a {type(graph).__name__}; expected a networkx.DiGraph")
    if not len(graph):
        raise ModelError("the model has no links; expected at least one")
    for name, link in graph.nodes.data("link"):
        if not isinstance(name, str) or not name:
            raise ModelError(f"a node is named {name!r}; expected a text, the name of its link")
        if not isinstance(link, Link) or not (link.name == name or _relabelled(graph, name, link)):
            held = f"the link '{link.name}'" if isinstance(link, Link) else f"{type(link).__name__} as its link"
            raise ModelError(f"node '{name}' holds {held}; expected link=Link('{name}', ...)")
    seen: set[str] = set()
    for parent, child, joint in graph.edges.data("joint"):
        if not isinstance(joint, Joint):
            raise ModelError(f"the edge from '{parent}' to '{child}' holds {type(joint).__name__} as its joint; expected joint=Joint(...)")
        if any(end not in (node, graph.nodes[node]["link"].name) for end, node in ((joint.parent, parent), (joint.child, child))):
            raise ModelError(f"joint '{joint.name}' says it joins '{joint.parent}' to '{joint.child}', its edge '{parent}' to '{child}'; "
                             "expected the same links (dataclasses.replace makes a joint with others)")  # fmt: skip
        if joint.name in seen:
            raise ModelError(f"joint '{joint.name}' is there twice; expected unique names")
        seen.add(joint.name)
    for name in graph:
        above = ", ".join(map(repr, graph.pred[name]))
        if len(graph.pred[name]) > 1:
            raise ModelError(f"link '{name}' has {len(graph.pred[name])} parents ({above}); expected a tree: one joint above each link")
    try:
        loop = [f"'{p}'" for p, _ in nx.find_cycle(graph)]
        raise ModelError(f"links {' → '.join([*loop, loop[0]])} form a cycle; expected a tree")
    except nx.NetworkXNoCycle:
        pass
    roots = [n for n, d in graph.in_degree() if d == 0]
    if len(roots) > 1:
        some = ", ".join(map(repr, roots[:5]))
        raise ModelError(f"the model has {len(roots)} roots ({some}); expected one tree: joints that connect them are missing")
    return str(roots[0])


def _relabelled(graph: Any, name: str, link: Link) -> bool:
    """Return whether a node has another name than its link because it was relabelled: then a joint at it still says the link's."""
    above, below = graph.in_edges(name, data="joint"), graph.out_edges(name, data="joint")
    ends = [getattr(j, "child", None) for *_, j in above] + [getattr(j, "parent", None) for *_, j in below]
    return link.name in [*ends, getattr(graph.nodes[name].get("joint"), "child", None)]
