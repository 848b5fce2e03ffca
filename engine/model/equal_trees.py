"""Trees of one structure: what is found of one of them, or compiled for it, serves all."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.model.model import Model, Tree
from engine.model.tree import Joint
from engine.spatial import inertia

#: of equal trees so many are dealt with as any others
FEW = 4


@dataclass(frozen=True, eq=False)
class EqualTrees:
    """Trees of a model, n of them, that are equal but for the masses of their links and the placements of their joints.

    Attributes
    ----------
    first : one of them, as a model of its own
    names : of all, by which :meth:`Model.tree` knows them
    q, v : where the coordinates (n, nq) and velocities (n, nv) of each lie in the model's
    links : where its links (n, nlinks) do, the root of all first
    numbers : what differs, (n, *shape), by the names that :meth:`Model.with_parameters` has for ``first``
    joints : of each tree the names of its joints, in the order of the first one's

    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = [builder.add_link(name, engine.spatial.inertia.sphere(1.0, 0.1)) for name in ("base", "a", "b")]
    >>> _ = [builder.add_joint(f"slide_{name}", "prismatic", "base", name) for name in ("a", "b")]
    >>> [(trees.names, trees.v.tolist()) for trees in engine.model.equal_trees(builder.model())]
    [(('a', 'b'), [[0], [1]])]
    """

    first: Tree
    names: tuple[str, ...]
    q: NDArray[np.int64]
    v: NDArray[np.int64]
    links: NDArray[np.int64]
    numbers: Mapping[str, NDArray[np.float64]]
    joints: tuple[tuple[str, ...], ...]


def equal_trees(model: Model) -> list[EqualTrees]:
    """Return the trees of a model by their kinds: equal topology, joints, limits and losses, links with mass in the same places.

    >>> import engine
    >>> box = engine.Builder("box")
    >>> _ = box.add_link("box", inertia=inertia.sphere(2.0, 0.1))
    >>> light = engine.Builder("box")
    >>> _ = light.add_link("box", inertia=inertia.sphere(1.0, 0.1))
    >>> boxes = engine.combine(a=box.model(floating_base=True), b=light.model(floating_base=True))
    >>> [kind] = equal_trees(boxes)
    >>> kind.names, kind.q[1], kind.numbers["inertia.a/box"][:, 5, 5]
    (('a', 'b'), array([ 7,  8,  9, 10, 11, 12, 13]), array([2., 1.]))
    """
    above: dict[str, Joint] = {j.child: j for j in model.joints}
    kinds: dict[Hashable, list[tuple[str, list[int]]]] = {}
    for name, links in model._grown.items():
        places = [model.link_index(link) for link in links]
        kinds.setdefault(structure(model, links, above), []).append((name, places))
    return [_equal(model, members, above) for members in kinds.values()]


def structure(model: Model, links: list[str], above: Mapping[str, Joint]) -> Hashable:
    """Return what is the same of equal trees; ``above`` is the joint of each link."""
    order = {name: k for k, name in enumerate(links)}
    number = {above[name].name: k for name, k in order.items()}
    parts: list[Hashable] = []
    for name in links:
        j, G = above[name], model.link(name).inertia
        mimic = j.mimic and (number.get(j.mimic.source, j.mimic.source), j.mimic.ratio, j.mimic.offset)
        parts.append((order.get(j.parent, -1), j.kind, j.axis.tobytes(), j.axis2.tobytes(), j.pitch, j.limits, mimic, j.damping, j.friction,
                      model.armature[model.v_slice(j.name)].tobytes(), j.placement.tobytes() if j.type.floats else b"",
                      bool(G[5, 5]), bool(G.any()), inertia.is_rigid(G)))  # fmt: skip
    return tuple(parts)


def _equal(model: Model, members: list[tuple[str, list[int]]], above: Mapping[str, Joint]) -> EqualTrees:
    """Return trees of one structure, each by its name and the places of its links."""
    first = model.tree(members[0][0])
    joints = [[above[model.links[k].name] for k in places] for _, places in members]
    places = {"q": model.q_slice, "v": model.v_slice}
    begins = {x: np.array([min((place(j.name).start for j in own if j.kind != "fixed"), default=0) for own in joints])
              for x, place in places.items()}  # fmt: skip
    numbers: dict[str, Any] = {}
    for k, i in enumerate(members[0][1]):
        G = np.array([model.links[places[k]].inertia for _, places in members])
        T = np.array([own[k].placement for own in joints])
        numbers |= {f"inertia.{model.links[i].name}": G} if (G[0] != G).any() else {}
        numbers |= {f"placement.{joints[0][k].name}": T} if (T[0] != T).any() else {}
    q, v = (begin[:, None] + np.arange(n) for begin, n in zip(begins.values(), (first.model.nq, first.model.nv), strict=True))
    links = np.array([[0, *places] for _, places in members])
    return EqualTrees(first, tuple(name for name, _ in members), q, v, links, numbers, tuple(tuple(j.name for j in own) for own in joints))


#: what was found of models
MANY: weakref.WeakKeyDictionary[Model, list[EqualTrees]] = weakref.WeakKeyDictionary()


def many_equal_trees(model: Model, few: int = FEW) -> list[EqualTrees]:
    """Return :func:`equal_trees` of a model with more than a ``few`` of a kind, none of whose joints follows one of another tree; else
    none.

    >>> import engine
    >>> engine.model.many_equal_trees(engine.load(engine.example("seven_joint_arm")))  # one tree alone
    []
    """
    if len(model.tree_names) <= few or traced(model):
        return []
    if model not in MANY:
        MANY[model] = [] if mimicking(model) else equal_trees(model)
    return MANY[model] if max((len(kind.names) for kind in MANY[model]), default=0) > few else []


def traced(model: Model) -> bool:
    """Return whether some of a model's numbers are."""
    return any(x.dtype == object for x in (model.armature, *(b.inertia for b in model.bodies), *(b.placement for b in model.bodies)))


def mimicking(model: Model) -> bool:
    """Return whether a joint follows one of another tree."""
    of = {i: k for k, tree in enumerate(model.trees) for i in tree}
    owner = {b.joint.name: of[i] for i, b in enumerate(model.bodies)}
    return any(b.joint.mimic is not None and owner[b.joint.mimic.source] != of[i] for i, b in enumerate(model.bodies))


__all__ = ["FEW", "EqualTrees", "equal_trees", "many_equal_trees"]
