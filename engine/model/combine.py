"""Several robots as one model: a forest on the world, or one robot on another's link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from engine.checks import free_memory, nearest, shown, warn
from engine.gc_pause import gc_paused
from engine.model.errors import ModelError
from engine.model.file_extras import combine_extras
from engine.model.model import Model
from engine.model.tree import Joint, Link, frozen

#: the fixed frame that everything stands on
WORLD = "world"
#: the joint between a robot with a fixed base and what it stands on
MOUNT = "mount"
#: bytes of memory and seconds that a link with a joint takes (measured: 4200 and 9e-5), and how many bytes are told of
TAKEN, LASTS, MUCH = 5000, 1e-4, 2 * 10**9


@dataclass(frozen=True, eq=False)
class Mounted:
    """A robot with a fixed base and where it stands: the pose of its root link's frame in that of the link ``on``, 4×4 (m).

    ``on`` is "world", or a link of a robot that was given before, with its prefix.

    >>> from engine.model import Builder
    >>> post = Builder("post")
    >>> _ = post.add_link("foot")
    >>> Mounted(post.model(), on="arm/flange").on
    'arm/flange'
    """

    model: Model
    on: str = WORLD
    placement: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise ModelError(f"what is mounted is {shown(self.model)}; expected a model")
        if self.model.floats:
            raise ModelError(f"'{self.model.name}' has a floating base; expected a model with a fixed one, to mount on '{self.on}'")


def combine(**robots: Model | Mounted) -> Model:
    """Return one model of several: a forest on the link "world", with the names of each after its own: "servicer/base", "servicer/elbow".

    A model with a floating base moves freely; one with a fixed base stands where the world is, or as :class:`Mounted` says, on another's
    link too. Coordinates q and v are those of the models, in the order given; those of a mounted one come after the branch it is
    on. What :meth:`Model.with_armature` added stays, and so does what the robots' files describe, but for contacts and keyframes, which
    are of one robot alone, and gravity and dt where they disagree.

    Raises
    ------
    ModelError : no robots, what is no model, a name with a slash, or a link to stand on that is not there

    Warns
    -----
    EngineWarning : a robot's file describes contacts, which are left out

    Examples
    --------
    >>> from engine.model import Builder
    >>> rod = Builder("rod")
    >>> _ = rod.add_link("base"), rod.add_link("bob"), rod.add_joint("pivot", "revolute", "base", "bob")
    >>> two = combine(left=rod.model(), right=rod.model(floating_base=True))
    >>> [joint.name for joint in two.joints], two.nq
    (['left/mount', 'left/pivot', 'right/floating_base', 'right/pivot'], 9)
    """
    if not robots:
        raise ModelError("combine got no robots; expected models by name: combine(arm=..., target=...)")
    weigh(sum(len((robot if isinstance(robot, Model) else robot.model).links) for robot in robots.values()
              if isinstance(robot, (Model, Mounted))))  # fmt: skip
    with gc_paused():
        return _joined(robots)


def weigh(links: int) -> None:
    """Say how much memory and time so many links take, where that is much; refuse more memory than there is."""
    if links * TAKEN <= MUCH:
        return
    said = f"a model of {links} links takes about {links * TAKEN / 1e9:.2g} GB of memory and {links * LASTS:.2g} s to make"
    if links * TAKEN > (free := free_memory()):
        raise ModelError(f"{said}, and {free / 1e9:.2g} GB are free; expected fewer robots")
    warn(f"{said}, and a simulator of it more")


def _joined(robots: Mapping[str, Model | Mounted]) -> Model:
    """Return one model of several by their names."""
    graph, models = nx.DiGraph(name="+".join(robots)), dict[str, Model]()
    graph.add_node(WORLD, link=Link(WORLD))
    for name, robot in robots.items():
        if not isinstance(robot, (Model, Mounted)):
            raise ModelError(f"{name} is {shown(robot)}; expected a model, or Mounted(model, on=..., placement=...)")
        if not name or "/" in name:
            raise ModelError(f"a robot is named {name!r}; expected a name without a slash, as those of its links begin with it")
        models[name] = robot if isinstance(robot, Model) else robot.model
        for link in models[name].links:
            graph.add_node(f"{name}/{link.name}", link=link.called(name=f"{name}/{link.name}"))
        base = _base(name, robot, graph)
        graph.add_edge(base.parent, base.child, joint=base)
        for j in (j for j in models[name].joints if j.parent):
            own = models[name].graph.edges[j.parent, j.child]                  # with what its owner says of it besides
            joint = _renamed(name, j)
            graph.add_edge(joint.parent, joint.child, **{key: x for key, x in own.items() if key != "armature"} | {"joint": joint})
    combined = Model.from_graph(graph)
    armature = combined.armature.copy()
    for name, model in models.items():
        for b in model.bodies:
            armature[combined.v_slice(f"{name}/{b.joint.name}")] = model.armature[b.v]
    q = combined.neutral()
    for name, model in models.items():
        start = model.initial()
        for b in model.bodies:
            q[combined.q_slice(f"{name}/{b.joint.name}")] = start[b.q]
    if touching := [f"'{name}'" for name, model in models.items() if model.described is not None and model.described.contacts is not None]:
        warn(f"the contacts that the file of {' and '.join(touching)} describes are of one robot alone, and are left out; expected "
             "contacts=engine.Contacts(...) for all of them")  # fmt: skip
    described = combine_extras(q, {name: model.described for name, model in models.items()})
    return replace(combined, armature=frozen(armature, (combined.nv,), "armature"), described=described)


def _renamed(name: str, joint: Joint) -> Joint:
    """Return a joint with a robot's name before its own and those of what it joins and follows."""
    mimic = joint.mimic and replace(joint.mimic, source=f"{name}/{joint.mimic.source}")
    return joint.called(name=f"{name}/{joint.name}", parent=f"{name}/{joint.parent}", child=f"{name}/{joint.child}", mimic=mimic)


def _base(name: str, robot: Model | Mounted, graph: nx.DiGraph) -> Joint:
    """Return the joint that a robot stands on, or by which it floats."""
    model = robot if isinstance(robot, Model) else robot.model
    if model.base is not None and not model.base.joint.parent:
        joint = model.base.joint
        return joint.called(name=f"{name}/{joint.name}", parent=WORLD, child=f"{name}/{model.links[0].name}")
    mount, (on, placement) = MOUNT, (robot.on, robot.placement) if isinstance(robot, Mounted) else (WORLD, np.eye(4))
    while any(j.name == mount for j in model.joints):
        mount += "_"
    if on not in graph:
        raise ModelError(f"{name} stands on '{on}'{nearest(str(on), graph)}; expected 'world', or a link of a robot before it")
    return Joint(f"{name}/{mount}", "fixed", on, f"{name}/{model.links[0].name}", placement)
