"""The graph of a robot: links as nodes and joints as edges, and all else that a model is made of, so that it can be cut and grafted.

What networkx copies, cuts, joins and relabels is read here again, or refused with what is wrong and where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from engine.checks import nearest, numbers, shown, warn
from engine.model.errors import ModelError
from engine.model.file_extras import Described, Keyframe, Part
from engine.model.tree import Joint, Link, frozen

FLOATING_BASE = "floating_base"
#: parts that a warning names
MOST = 10
#: what is read of a graph's own data, of its nodes' and of its edges'; and what of links and joints might be sought there
READ = {"graph": {"name"}, "node": {"link", "joint", "armature"}, "edge": {"joint", "armature"}}
FIELDS = {"graph": set[str](), "node": {f.name for f in fields(Link)}, "edge": {f.name for f in fields(Joint)}}


class Own(NamedTuple):
    """A joint that has coordinates of its own, and how many it has in q and in v."""

    joint: str
    nq: int
    nv: int


class Origin(NamedTuple):
    """The model that a file's description was of: its coordinates, and the names of its links and joints."""

    coordinates: tuple[Own, ...]
    links: frozenset[str]
    joints: frozenset[str]


class Read(NamedTuple):
    """Contents of a graph: links and joints in topological order, and extra armature by the joints' names.

    ``labels`` are the names of relabelled nodes by those that their links had, ``copies`` those that several nodes' links had;
    ``described`` is what a file says, with its origin.
    """

    links: list[Link]
    joints: list[Joint]
    armature: dict[str, Any]
    labels: dict[str, str]
    copies: list[str]
    described: tuple[Described, Origin] | None


def read(graph: Any, floating_base: bool | None) -> Read:
    """Return what a graph says; ModelError says why it is no tree of links and joints. Its root floats where ``floating_base``, or else the
    root's own "joint", says so."""
    root = validated(graph)
    warn_unread(graph)
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
    former = Counter(link.name for link in own)
    labels = {link.name: n for n, link in zip(order, own, strict=True) if link.name != n and former[link.name] == 1}
    return Read(links, joints, armature, labels, [name for name, count in former.items() if count > 1], read_described(graph))


def read_described(graph: Any) -> tuple[Described, Origin] | None:
    """Return what a file says of the robot of a graph, and of which model it said so; ModelError where several files do."""
    found = [(said, origin) for said, origin in graph.graph.items() if isinstance(said, Described)]
    if len(found) > 1:
        raise ModelError(f"the graph holds what {len(found)} files describe of their robots; expected one (engine.combine joins all "
                         "that is described, and dataclasses.replace(model, described=None) leaves it out)")  # fmt: skip
    return found[0] if found else None


def write_graph(graph: Any, name: str, links: Iterable[Link], joints: Iterable[Joint]) -> Any:
    """Return a frozen copy of a graph that holds these links and joints, and nothing of how else its root floated."""
    made = graph.copy()
    made.graph["name"] = name
    for link in links:
        data = made.nodes[link.name]
        data["link"] = link
        for of_base in ("joint", "armature"):
            data.pop(of_base, None)
    for joint in joints:
        _data(made, joint)["joint"] = joint
    return nx.freeze(made)


def part_of(graph: Any, names: Sequence[str]) -> Any:
    """Return what of a graph is at these nodes, in their order: that of :meth:`networkx.DiGraph.subgraph` changes with each process."""
    made, own = type(graph)(), set(names)
    made.graph.update(graph.graph)
    made.add_nodes_from((n, graph.nodes[n]) for n in names)
    made.add_edges_from((n, child, data) for n in names for child, data in graph[n].items() if child in own)
    return made


def complete_graph(graph: Any, joints: Sequence[Joint], extra: Mapping[str, Any], said: Described | None, origin: Origin) -> Any:
    """Return a graph, or a frozen copy, that holds extra armature by the joints' names, and what a file says of its robot."""
    held = {j.name: data["armature"] for j in joints if "armature" in (data := _data(graph, j))}
    files = {key: x for key, x in graph.graph.items() if isinstance(key, Described)}
    if held == extra and files == ({} if said is None else {said: origin}):
        return graph
    made = graph.copy()
    for joint in joints:
        _data(made, joint).pop("armature", None)
        if joint.name in extra:
            _data(made, joint)["armature"] = extra[joint.name]
    for key in files:
        del made.graph[key]
    if said is not None:
        made.graph[said] = origin
    return nx.freeze(made)


def _data(graph: Any, joint: Joint) -> Any:
    """Return what a graph holds where a joint is: at its edge, or at the root that floats by it."""
    return graph.edges[joint.parent, joint.child] if joint.parent else graph.nodes[joint.child]


def armature(model: Any, extra: Mapping[str, Any]) -> Any:
    """Return the armature (nv) of a model and what a graph adds to it, by the joints' names; ModelError where a joint has no such one."""
    total = model.armature.copy()
    for name, given in extra.items():
        body = next((b for b in model.bodies if b.joint.name == name), None)
        n = 0 if body is None else body.kind.nv
        x = numbers(f"the armature beside joint '{name}'", given, error=ModelError)
        if body is None or x.shape not in ((), (n,)):
            raise ModelError(f"the armature beside joint '{name}' is {shown(given)}; expected {n} numbers, which are added to its own")
        total[body.v] += body.ratio * body.ratio * x
    if (total < 0).any():
        raise ModelError(f"the armature beside the joints leaves {total.min():g}; expected zero or more")
    return frozen(total, total.shape, "armature")


def refitted(said: Described, origin: Origin, model: Any, labels: Mapping[str, str], copies: Sequence[str]) -> Described:
    """Return what a file says of a robot, as it holds for a model that was made of it; EngineWarning names what is left out.

    Joints that were there keep their coordinates in the file's configuration and its keyframes, others have neutral ones. Of links that
    are there several times, it holds for those that have their own names.
    """
    if copies and (said.constraints or said.actuators or said.forces or said.contacts or said.sensors):
        warn(f"what the file of '{model.name}' describes holds for one of the copies of link '{copies[0]}' ({len(copies)} links in all), "
             "at most: that with its own name; expected engine.combine, or a description by hand")  # fmt: skip
    known = {labels.get(n, n) for n in origin.links}
    strange = [f"'{link.name}'" for link in model.links if link.name not in known and link.collisions]
    if strange and said.contacts and not copies:
        rest = f" and {len(strange) - MOST} more" if len(strange) > MOST else ""
        warn(f"the contacts that the file of '{model.name}' describes are of its own links; what was added touches nothing: "
             f"{', '.join(strange[:MOST])}{rest}; expected contacts=engine.Contacts(...) where it should")  # fmt: skip
    links = known - {link.name for link in model.links}
    joints = origin.joints - {j.name for j in model.joints}
    if not (links or joints or labels) and model.coordinates == origin.coordinates:
        return said
    said = said.renamed(lambda name: labels.get(name, name), str, str) if labels else said
    lost = list[str]()

    def kept(parts: Iterable[Part]) -> tuple[Part, ...]:
        found = [(part, *part.without(links, joints)) for part in parts]
        lost.extend(f"{_title(part)} of {', '.join(map(repr, dict.fromkeys(gone)))}" for part, _, gone in found if gone)
        return tuple(left for _, left, _ in found if left is not None)

    def moved(which: str, x: Any, fill: Any) -> Any:
        k = 0
        for own in origin.coordinates:
            n = own.nq if which == "q" else own.nv
            if own in model.coordinates:
                fill[model.q_slice(own.joint) if which == "q" else model.v_slice(own.joint)] = x[k : k + n]
            k += n
        return fill

    constraints, actuators, forces = (kept(parts) for parts in (said.constraints, said.actuators, said.forces))
    measured = tuple(left for part in said.measured if (left := part.without(links, joints)[0]) is not None)
    contacts = kept([] if said.contacts is None else [said.contacts])
    commanded = {part.values.get("name") for part in said.actuators} - {part.values.get("name") for part in actuators}
    keyframes = {name: Keyframe(k.t, moved("q", k.q, model.neutral()), moved("v", k.v, np.zeros(model.nv)),
                                {n: x for n, x in k.commands.items() if n not in commanded})
                 for name, k in said.keyframes.items()}  # fmt: skip
    sensors = {name: (kind, on if on in origin.joints else labels.get(on, on)) for name, (kind, on) in said.sensors.items()}
    gone = links | joints | commanded
    lost += [f"sensor '{name}' of '{on}'" for name, (_, on) in sensors.items() if on in gone]
    if lost:
        rest = f" and {len(lost) - MOST} more" if len(lost) > MOST else ""
        warn(f"what the file of '{model.name}' describes of links and joints that are no longer there is left out: "
             f"{'; '.join(lost[:MOST])}{rest}")  # fmt: skip
    sensors = {name: (kind, on) for name, (kind, on) in sensors.items() if on not in gone}
    return Described(moved("q", said.q, model.neutral()), said.gravity, said.dt, constraints, actuators, forces,
                     next(iter(contacts), None), keyframes, sensors, measured)  # fmt: skip


def _title(part: Part) -> str:
    """Return what a part is called."""
    return part.kind + (f" '{part.values['name']}'" if part.values.get("name") else "")


def _between(joint: Joint, parent: str, child: str) -> Joint:
    """Return a joint that says what its edge does."""
    return joint if (joint.parent, joint.child) == (parent, child) else replace(joint, parent=parent, child=child)


def _base(graph: Any, root: str, joints: Sequence[Joint], floating_base: bool | None) -> Joint | None:
    """Return the joint by which the root floats in the world, its own or else the usual one; None where it stands."""
    own = graph.nodes[root].get("joint")
    if floating_base is False or (floating_base is None and own is None):
        return None
    taken = {j.name for j in joints}
    if own is None:
        return floating(root, taken)
    if not isinstance(own, Joint) or own.kind != "floating" or own.parent or own.child not in (root, graph.nodes[root]["link"].name):
        raise ModelError(f"the root '{root}' holds {own!r} as its joint; expected the one by which it floats in the world, "
                         f"Joint(..., 'floating', '', '{root}')")  # fmt: skip
    if own.name in taken:
        raise ModelError(f"joint '{own.name}' is there twice, once of the root '{root}'; expected unique names")
    return _between(own, "", root)


def floating(root: str, taken: Collection[str]) -> Joint:
    """Return the joint by which a root floats in the world unless it is told another; ``taken`` are the names of joints that are there."""
    name = FLOATING_BASE
    while name in taken:
        name += "_"
    return Joint(name, "floating", "", root)


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
    roots = [n for n, d in graph.in_degree() if d == 0]
    if sum(1 + len(nx.descendants(graph, root)) for root in roots) < len(graph):       # as no link has two parents, a cycle has no root
        loop = [f"'{p}'" for p, _ in nx.find_cycle(graph)]
        raise ModelError(f"links {' → '.join([*loop, loop[0]])} form a cycle; expected a tree")
    if len(roots) > 1:
        some = ", ".join(map(repr, roots[:5]))
        raise ModelError(f"the model has {len(roots)} roots ({some}); expected one tree: joints that connect them are missing")
    return str(roots[0])


def warn_unread(graph: Any) -> None:
    """Warn of data that looks as if it should be read, and is not: of a name that is near, or a field's of a link or a joint.

    Other data is its owner's, such as the weights of networkx.
    """
    places = [("graph", "the graph", graph.graph), *(("node", f"node '{n}'", data) for n, data in graph.nodes.items()),
              *(("edge", f"the edge from '{a}' to '{b}'", data) for (a, b), data in graph.edges.items())]  # fmt: skip
    unread = list[str]()
    for kind, where, data in places:
        for name in () if data.keys() <= READ[kind] else [n for n in data if isinstance(n, str) and n not in READ[kind]]:
            if meant := nearest(name, READ[kind] | FIELDS[kind], 0.8):
                unread.append(f"{where} holds '{name}'{'' if name in FIELDS[kind] else meant}")
    if unread:
        rest = f", and {len(unread) - MOST} more" if len(unread) > MOST else ""
        warn(f"{'; '.join(unread[:MOST])}{rest}: it is not read; expected 'link' of nodes, 'joint' of edges (dataclasses.replace makes one "
             "with other values), 'armature' beside it, 'name' of the graph, or names that are not near these")  # fmt: skip


def _relabelled(graph: Any, name: str, link: Link) -> bool:
    """Return whether a node has another name than its link because it was relabelled: then a joint at it still says the link's."""
    above, below = graph.in_edges(name, data="joint"), graph.out_edges(name, data="joint")
    ends = [getattr(j, "child", None) for *_, j in above] + [getattr(j, "parent", None) for *_, j in below]
    return link.name in [*ends, getattr(graph.nodes[name].get("joint"), "child", None)]
