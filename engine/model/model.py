"""The frozen model: a validated tree, its coordinates, and the moving bodies that the algorithms run over."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checks import array, nearest, numbers, shown
from engine.model import graph as graphs
from engine.model import parameters
from engine.model.body import Body, assemble_bodies, read_only, reflected
from engine.model.errors import ModelError, StateError, unknown
from engine.model.file_extras import Described
from engine.model.shown import html
from engine.model.tree import Joint, Link, ReadOnly, frozen
from engine.spatial import quaternion
from engine.spatial.manifold import Manifold, product

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Model(ReadOnly):
    """A kinematic tree, frozen. Make one with :func:`engine.load_urdf` or :meth:`Model.from_graph`.

    Attributes
    ----------
    graph : ``networkx.DiGraph``, a node per link (data ``link``), an edge per joint (data ``joint``); frozen. It is the whole model:
        ``Model.from_graph(model.graph)`` is an equal one, and what the file says besides is in ``graph.graph``
    links, joints : in topological order, depth first, children as declared; a floating base's joint comes first
    nq, nv : sizes of q, v; bodies : what moves as one (links welded by fixed joints merged), in the joints' order
    carrier : for each link the body that carries it (−1: the world) and its pose in it; armature : rotors' part of the inertia (nv)
    described : what the file says besides, or None

    >>> import engine
    >>> (arm := engine.load(engine.example("seven_joint_arm"))).nq, arm.joints[0].name, arm.links[-1].name
    (7, 'shoulder_yaw', 'flange')
    """

    name: str
    graph: Any
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    carrier: tuple[tuple[int, Array], ...]
    nq: int
    nv: int
    armature: Array
    described: Described | None = None

    def __post_init__(self) -> None:
        if self.armature.dtype == object:                                       # traced: a parameter of a simulation
            return
        more = self.armature - reflected(self.bodies, self.nv, "armature")
        extra = {b.joint.name: tuple(more[b.v].tolist()) for b in self._own() if more[b.v].any()}
        origin = graphs.Origin(self.coordinates, frozenset(link.name for link in self.links), frozenset(j.name for j in self.joints))
        object.__setattr__(self, "graph", graphs.complete_graph(self.graph, self.joints, extra, self.described, origin))

    @classmethod
    def from_graph(cls, graph: Any, floating_base: bool | None = None) -> Model:
        """Return the model of a ``networkx.DiGraph`` with ``link`` on nodes and ``joint`` on edges, such as a model's, cut or joined.

        Parameters
        ----------
        graph : a tree. Its links have the names of their nodes, relabelled ones too
        floating_base : whether the root link moves freely in the world, by a floating joint named 'floating_base' ('floating_base_' where
            the robot has a joint of that name), or is the world. None: it floats where its node holds a ``joint`` that says so, as the
            root of a floating model's graph does; that of a node which is no root any more counts for nothing

        Raises
        ------
        ModelError : the graph is no tree of links and joints: it has a cycle, several roots, or a link with two parents; a node without
            its link, an edge without its joint, a name that is there twice

        Warns
        -----
        EngineWarning : an actuator, a contact or the like that the file describes is of links or joints that are no longer there: it is
            left out; what was added to a file's robot touches nothing; data looks as if it were read

        Examples
        --------
        >>> import networkx as nx
        >>> from engine.model import Builder
        >>> arm = Builder("arm")
        >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod")
        >>> model = arm.model(floating_base=True)
        >>> Model.from_graph(model.graph)
        <model 'arm': 2 links, 2 joints, nq 8, nv 7>
        >>> Model.from_graph(nx.relabel_nodes(model.graph, {"rod": "boom"})).links[1].name
        'boom'
        """
        found = graphs.read(graph, floating_base)
        name = graph.graph.get("name", "") or "robot"
        own = graphs.write_graph(graph, name, found.links, found.joints)
        model = cls._of(name, own, found.links, found.joints)
        described = found.described and graphs.refitted(*found.described, model, found.labels, found.copies)
        return replace(model, armature=graphs.armature(model, found.armature), described=described)

    @classmethod
    def _of(cls, name: str, graph: Any, links: Sequence[Link], joints: Sequence[Joint], more: Any = 0.0,
            described: Described | None = None) -> Model:  # fmt: skip
        """Return the model of links and joints in topological order, with ``more`` armature (nv) than its joints have."""
        bodies, carrier = assemble_bodies(links, joints)
        nq, nv = (sum(getattr(b.kind, n) for b in bodies if not b.mimics) for n in ("nq", "nv"))
        armature = read_only(reflected(bodies, nv, "armature") + more, "armature")
        return cls(name, graph, tuple(links), tuple(joints), bodies, carrier, nq, nv, armature, described)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}           # what is cached besides is found again

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for _, T in self.carrier:
            T.flags.writeable = False

    def __repr__(self) -> str:
        return f"<model '{self.name}': {len(self.links)} links, {len(self.joints)} joints, nq {self.nq}, nv {self.nv}>"

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows: a picture that can be turned, and a table of the joints."""
        return html(self)

    # ------------------------------------------------------------ names

    @functools.cached_property
    def _link_places(self) -> dict[str, int]:
        return {link.name: k for k, link in enumerate(self.links)}

    @functools.cached_property
    def _joint_places(self) -> dict[str, int]:
        return {joint.name: k for k, joint in enumerate(self.joints)}

    @functools.cached_property
    def _movers(self) -> dict[str, Body]:
        return {b.joint.name: b for b in self.bodies}

    def link(self, name: str) -> Link:
        """Return the link of that name."""
        return self.links[self.link_index(name)]

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        if isinstance(name, str) and name in (own := self._joint_places):
            return self.joints[own[name]]
        raise unknown("joint", name, self.name, [j.name for j in self.joints])

    def link_index(self, name: str) -> int:
        """Return where the link lies in ``links``, and in whatever has a row per link."""
        if isinstance(name, str) and name in (own := self._link_places):
            return own[name]
        raise unknown("link", name, self.name, self._link_places)

    def q_slice(self, name: str) -> slice:
        """Return where a joint's coordinates lie in q (a mimic joint's: its source's; a fixed joint's slice is empty)."""
        self.joint(name)
        return self._movers[name].q if name in self._movers else slice(0, 0)

    def v_slice(self, name: str) -> slice:
        """Return where a joint's velocities (and forces) lie in v (and tau)."""
        self.joint(name)
        return self._movers[name].v if name in self._movers else slice(0, 0)

    def labels(self, which: str) -> tuple[str, ...]:
        """Return a name for every entry of "q", or else of v: the joint's, and after a point the entry's, where the joint has several."""
        names: list[str] = []
        for b in self._own():
            entries = b.kind.q_names if which == "q" else b.kind.v_names
            names += [f"{b.joint.name}.{e}" if e else b.joint.name for e in entries]
        return tuple(names)

    @property
    def coordinates(self) -> tuple[graphs.Own, ...]:
        """The joints that have coordinates of their own, in the order of q and v: (name, how many in q, how many in v) of each."""
        return tuple(graphs.Own(b.joint.name, b.kind.nq, b.kind.nv) for b in self._own())

    # ------------------------------------------------------------ other numbers

    def with_parameters(self, values: Mapping[str, Any]) -> Model:
        """Return the model with other numbers, floats or traced: one program of a function of them serves every robot of this structure.

        Parameters
        ----------
        values : by name. Of a link that moves: "mass.LINK", kg, of which its inertia is a multiple; "center.LINK" (3), m, of a rigid body,
            whose tensor about it stays; "inertia.LINK" (6, 6). Of a joint: "placement.JOINT" (4, 4), its pose T_PJ, or "displacement.JOINT"
            (6), a twist ξ with T_PJ exp ξ; "damping.JOINT", "friction.JOINT", "armature.JOINT". Shapes of collision and visuals go along
            with the links; limits, and what joints mimic, stay.

        Raises
        ------
        ModelError : no such number, or one that none has: a mass of zero, a tensor of no body

        Examples
        --------
        >>> import engine
        >>> arm = engine.Builder()
        >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
        >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
        >>> model = arm.model()
        >>> model.with_parameters({"mass.rod": 3.0}).link("rod").mass
        3.0
        >>> def weight(m):
        ...     return engine.dynamics.gravity_forces(model.with_parameters({"mass.rod": m, "center.rod": [1, 0, 0]}), np.zeros(1))
        >>> engine.jacobian(weight)(3.0)
        array([9.81])
        """
        if not isinstance(values, Mapping):
            raise ModelError(f"with_parameters got {shown(values)}; expected numbers by their names, such as {{'mass.LINK': 2.0}}")
        names = parameters.checked_names(self, values)
        return self.with_numbers({name: parameters.checked_value(name, values[name]) for name in names})

    def with_numbers(self, values: Mapping[str, Any]) -> Model:
        """:meth:`with_parameters` of what has been checked."""
        links, joints = parameters.changed(self, values)
        more = self.armature - reflected(self.bodies, self.nv, "armature")
        graph = self.graph
        if not any(np.asarray(x).dtype == object for x in values.values()):
            graph = graphs.write_graph(graph, self.name, links, joints)
        return Model._of(self.name, graph, links, joints, more, self.described)

    # ------------------------------------------------------------ rotors

    def with_armature(self, extra: Mapping[str, Any] | Array) -> Model:
        """Return a copy of the model with extra armature, added to its own.

        Parameters
        ----------
        extra : {joint: number, or one for each of its velocities}, or an array (nv); kg·m² or kg. What is given for a mimic joint counts
            ratio² times at its source. The copy's joints, and so its text (:func:`engine.io.model_text`), are the model's own.

        Raises
        ------
        ModelError : no such joint, a joint that does not move, a negative number, or not as many as the joint has velocities

        Examples
        --------
        >>> from engine.model import Builder
        >>> arm = Builder()
        >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", armature=0.1)
        >>> arm.model().with_armature({"pivot": 0.5}).armature
        array([0.6])
        """
        total = self.armature.copy()
        if isinstance(extra, Mapping):
            for name, given in extra.items():
                self.joint(name)
                body = next((b for b in self.bodies if b.joint.name == name), None)
                if body is None:
                    raise ModelError(f"joint '{name}' is fixed; expected one that moves, for its armature")
                total[body.v] += body.ratio * body.ratio * _armature(f"armature of joint '{name}'", given, body.kind.nv)
        else:
            total += _armature("armature", extra, self.nv)
        return replace(self, armature=frozen(total, (self.nv,), "armature"))

    # ------------------------------------------------------------ what floats

    @functools.cached_property
    def roots(self) -> tuple[int, ...]:
        """The bodies that hang on the world: each begins a tree of its own."""
        return tuple(i for i, b in enumerate(self.bodies) if b.parent < 0)

    @functools.cached_property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """The bodies of each tree, its root first; trees in the order of :attr:`roots`."""
        found: dict[int, list[int]] = {i: [] for i in self.roots}
        root: list[int] = []
        for i, b in enumerate(self.bodies):
            root.append(i if b.parent < 0 else root[b.parent])
            found[root[i]].append(i)
        return tuple(tuple(f) for f in found.values())

    @functools.cached_property
    def _grown(self) -> dict[str, list[str]]:
        """The links of each tree that moves, by its name."""
        root = self.links[0].name
        first = {root: root}
        for j in self.joints:
            first[j.child] = j.child if j.parent == root and self.joints[0].child != root else first.get(j.parent, root)
        moving: dict[str, list[str]] = {first[b.joint.child]: [] for b in self.bodies}
        for link in self.links:
            moving.get(first[link.name], []).append(link.name)
        robots = Counter(top.split("/")[0] for top in moving)
        return {top.split("/")[0] if robots[top.split("/")[0]] == 1 else top: links for top, links in moving.items()}

    @property
    def tree_names(self) -> tuple[str, ...]:
        """Names of the trees, as :meth:`tree` takes them: those given to :func:`engine.combine`, or else of their first links."""
        return tuple(self._grown)

    def tree(self, name: str) -> Tree:
        """Return one tree of those that hang on the world: a model of its own, and where its coordinates lie in q and v.

        Parameters
        ----------
        name : one of :attr:`tree_names`, or that of a link of the tree

        Raises
        ------
        ModelError : there is no such tree

        Examples
        --------
        >>> import engine
        >>> box = engine.Builder("box")
        >>> _ = box.add_link("box", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
        >>> two = engine.combine(left=box.model(floating_base=True), right=box.model(floating_base=True))
        >>> right = two.tree("right")
        >>> right.model, right.q, right.v
        (<model 'right': 2 links, 1 joints, nq 7, nv 6>, slice(7, 14, None), slice(6, 12, None))
        """
        found = next((n for n, links in self._grown.items() if name == n or name in links), None)
        if found is None:
            trees = ", ".join(f"'{n}'" for n in self._grown) or "none"
            meant = nearest(str(name), self._grown)
            raise ModelError(f"no tree {shown(name)} in '{self.name}'{meant}; expected one of {trees}, or a link of one")
        if found not in self._cut:
            self._cut[found] = self._alone(found)
        return self._cut[found]

    @functools.cached_property
    def _cut(self) -> dict[str, Tree]:
        """The trees that were asked for."""
        return {}

    def _alone(self, name: str) -> Tree:
        """Return a tree by its name."""
        if len(self._grown) == 1:
            return Tree(name, self, slice(0, self.nq), slice(0, self.nv))
        own = {self.links[0].name, *self._grown[name]}
        bodies = [b for b in self.bodies if b.joint.child in own]
        q, v = (slice(min(s.start for s in part), max(s.stop for s in part)) for part in ([b.q for b in bodies], [b.v for b in bodies]))
        links, joints = [link for link in self.links if link.name in own], [j for j in self.joints if j.child in own]
        part = graphs.part_of(self.graph, [link.name for link in links])
        model = Model._of(name, graphs.write_graph(part, name, links, joints), links, joints)
        return Tree(name, replace(model, armature=read_only(self.armature[v], "armature")), q, v)

    @property
    def base(self) -> Body | None:
        """The body that the whole model hangs on by a floating joint: a floating base, or None."""
        return self.bodies[0] if len(self.roots) == 1 and self.bodies[0].kind.floats else None

    @property
    def floats(self) -> bool:
        """True if the model has a floating base, which carries all else."""
        return self.base is not None

    # ------------------------------------------------------------ the manifold

    def _own(self) -> Iterator[Body]:
        return (b for b in self.bodies if not b.mimics)

    @functools.cached_property
    def manifold(self) -> Manifold:
        """Configuration manifold: the product of the joints' manifolds. Its functions are unchecked, and take unit quaternions."""
        return product([b.kind.manifold for b in self._own()])

    def neutral(self) -> Array:
        """Return the q of no motion: zeros, and identity quaternions (joint limits are not looked at)."""
        return self.manifold.neutral()

    def initial(self) -> Array:
        """Return the q (nq) in which its file has it, or the neutral one where that says nothing."""
        return self.neutral() if self.described is None else self.described.q.copy()

    def within_limits(self, q: Array) -> Array:
        """Return q (nq) moved into the limits of joints with one coordinate of their own."""
        q = q.copy()
        for b in (b for b in self._own() if b.kind.nq == 1):
            q[b.q] = np.clip(q[b.q], b.joint.limits.lower, b.joint.limits.upper)
        return q

    def random(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a random state (q, v): q within the joints' limits (attitudes uniform), v standard normal."""
        if not isinstance(rng, np.random.Generator):
            raise ModelError(f"random got {shown(rng)}; expected a generator, such as np.random.default_rng(0)")
        q = np.concatenate([np.zeros(0), *[b.kind.random(b.joint, rng) for b in self._own()]])
        return q, rng.standard_normal(self.nv)

    def normalized(self, q: ArrayLike) -> Array:
        """Return q with its quaternions made unit ones; one whose length is not 1 within 2 % is an error."""
        return self.manifold.normalized(self.checked("q", q, batched=True))

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0) -> Array:
        """Return q ⊕ v dt: the configuration after a time dt (s) at constant v. Shapes (..., nq), (..., nv), (...) -> (..., nq)."""
        v, dt = self.checked("v", v, batched=True), np.asarray(dt)
        if dt.dtype.kind not in "fiubO" or (dt.dtype != object and not np.isfinite(dt).all()):
            raise StateError(f"dt is {dt}; expected finite times in seconds")
        return self.manifold.plus(self.normalized(q), v * dt[..., None])

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return q1 ⊖ q0: the v with integrate(q0, v, 1) = q1. Shapes (..., nq), (..., nq) -> (..., nv)."""
        return self.manifold.minus(self.normalized(q0), self.normalized(q1))

    # ------------------------------------------------------------ checking what comes in

    def entries(self, name: str) -> tuple[str, ...]:
        """Return what each entry of q (or else of v) belongs to, for messages."""
        part = "q" if name.startswith("q") else "v"
        return tuple(b.joint.name for b in self._own() for _ in range(getattr(b.kind, "n" + part)))

    def checked(self, name: str, x: Any, batched: bool = False) -> Array:
        """Return x as an array of nq (names that begin with q) or nv entries, finite; traced arrays pass by their shape."""
        n = self.nq if name.startswith("q") else self.nv
        a = array(name, x, StateError)
        if a.shape[-1:] != (n,) or (a.ndim > 1 and not batched):
            raise StateError(f"{name} has shape {a.shape}; expected {f'(..., {n})' if batched else f'({n},)'} for '{self.name}'")
        if a.dtype != object and not np.isfinite(a).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
            place = ", ".join(map(str, where))
            raise StateError(f"{name}[{place}] (joint '{self.entries(name)[where[-1]]}') is {a[where]}; expected a finite number")
        if a.dtype != object and name.startswith("q"):
            for at in (i for m, i, _ in self.manifold.factors if m.attitude):
                own = a[..., at][..., :4]
                if not (good := quaternion.is_unit(own)).all():
                    where = tuple(int(i) for i in np.argwhere(~good)[0]) if own.ndim > 1 else ()
                    row = f" in row {', '.join(map(str, where))}" if where else ""
                    text = f"{np.array2string(own[where], precision=4)} of length {math.hypot(*own[where]):.4g}"
                    raise StateError(f"{name} of joint '{self.entries(name)[at.start]}'{row} has the quaternion {text}; expected a unit "
                                     "one, [qw, qx, qy, qz] (engine.convert turns xyzw and other libraries' orders into it)")  # fmt: skip
        return a


class Tree(NamedTuple):
    """One tree of a model of several.

    Attributes
    ----------
    name : by which :meth:`Model.tree` knows it
    model : the tree alone, on the link that is the world, with the names that it has in the whole
    q, v : where its coordinates and velocities lie in those of the whole
    """

    name: str
    model: Model
    q: slice
    v: slice


def _armature(what: str, x: Any, n: int) -> Array:
    """Return x as n numbers, zero or more; one number stands for all of a joint's."""
    a = numbers(what, x, error=ModelError)
    if a.shape not in ((), (n,)) or (a < 0).any():
        raise ModelError(f"{what} is {x!r}; expected {n} numbers, zero or more")
    return a
