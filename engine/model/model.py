"""The frozen model: a validated tree, its coordinates, and the moving bodies that the algorithms run over."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checks import array, nearest, numbers, shown
from engine.model.errors import ModelError, StateError
from engine.model.joint_types import Kind
from engine.model.shown import html
from engine.model.tree import Joint, Link, ReadOnly, frozen
from engine.spatial import inertia, quaternion
from engine.spatial.manifold import Manifold, product

Array = NDArray[np.float64]
FLOATING_BASE = "floating_base"
#: the pose of a body in its own frame
ITSELF = frozen(np.eye(4), (4, 4), "pose")


@dataclass(frozen=True, eq=False, repr=False)
class Body(ReadOnly):
    """A body moves as one: a joint that is not fixed, its child link, and every link welded to that child.

    Attributes
    ----------
    joint : the moving joint above the body
    parent : index of the parent body, −1 for the world
    placement : T_PJ, pose of the joint frame in the parent body's frame
    inertia : G of all welded links about the body's origin, 6×6
    q, v : where the joint's coordinates lie in the model's q and v (a mimic joint's: its source's)
    ratio, offset : the mimic relation, composed along a chain of mimics (1 and 0 for an ordinary joint)
    """

    joint: Joint
    parent: int
    placement: Array
    inertia: Array
    q: slice
    v: slice
    ratio: float = 1.0
    offset: float = 0.0

    def __repr__(self) -> str:
        return f"Body({self.joint}, parent {self.parent})"

    @property
    def kind(self) -> Kind:
        """The joint's kind."""
        return self.joint.type

    @property
    def mimics(self) -> bool:
        """Whether the joint follows another, and so has no coordinates of its own."""
        return self.joint.mimic is not None

    def coordinates(self, q: Array) -> Array:
        """Return the joint's own coordinates out of the model's q: ratio · q + offset for a mimic."""
        own = q[self.q]
        return self.ratio * own + self.offset if self.mimics else own

    def joint_pose(self, q: Array) -> Array:
        """Return T_JC(q): pose of the body in the joint's frame."""
        return self.kind.pose(self.joint, self.coordinates(q))

    def pose(self, q: Array) -> Array:
        """Return T_PC(q) = T_PJ T_JC(q): pose of the body in its parent body."""
        return self.placement @ self.joint_pose(q)

    def inertia_in_parent(self, q: Array, G: Array) -> Array:
        """Return Ad(T_PC)⁻ᵀ G Ad(T_PC)⁻¹, through the joint, then through its placement: each has zeros that their product has not."""
        return inertia.transformed(self.placement, inertia.transformed(self.joint_pose(q), G))

    def subspace(self, q: Array) -> Array:
        """Return S(q), 6×nv: the body's twist relative to its parent per unit of the model's v."""
        S = self.kind.subspace(self.joint, self.coordinates(q))
        return self.ratio * S if self.mimics else S

    def subspace_rate(self, q: Array, v: Array) -> Array:
        """Return Ṡ(q, v), 6×nv: zeros where S is constant."""
        rate = self.kind.subspace_rate
        return rate(self.joint, self.coordinates(q), v[self.v]) if rate else np.zeros((6, self.kind.nv))


@dataclass(frozen=True, eq=False, repr=False)
class Model(ReadOnly):
    """A kinematic tree, frozen. Make one with :func:`engine.load_urdf` or :meth:`Model.from_graph`.

    Attributes
    ----------
    graph : ``networkx.DiGraph``, a node per link (data ``link``), an edge per joint (data ``joint``); frozen
    links, joints : in topological order, depth first, children as declared; a floating base's joint comes first
    nq, nv : number of coordinates and of velocities
    bodies : what moves as one (links welded by fixed joints merged), in the order of the joints
    carrier : for each link the body that carries it (−1: the world) and its pose in it
    armature : what rotors add to the diagonal of the joint-space inertia (nv), kg·m² or kg; read-only
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

    @classmethod
    def from_graph(cls, graph: Any, floating_base: bool = False) -> Model:
        """Return the model of a ``networkx.DiGraph`` with ``link`` on nodes and ``joint`` on edges.

        With ``floating_base`` the root link moves freely in the world by a floating joint named 'floating_base' ('floating_base_'
        where the robot has a joint of that name); without, the root link is the world.
        """
        root = _validated(graph)
        links = [graph.nodes[n]["link"] for n in nx.dfs_preorder_nodes(graph, root)]
        joints = [graph.edges[p, c]["joint"] for p, c in nx.dfs_edges(graph, root)]
        if floating_base:
            name = FLOATING_BASE
            while any(j.name == name for j in joints):
                name += "_"
            joints.insert(0, Joint(name, "floating", "", root))
        mimics = _mimics(joints)
        q, v, nq, nv = {}, {}, 0, 0
        for j in joints:
            if j.name not in mimics:
                q[j.name], v[j.name] = slice(nq, nq + j.type.nq), slice(nv, nv + j.type.nv)
                nq, nv = nq + j.type.nq, nv + j.type.nv
        above = {j.child: j for j in joints}
        bodies: list[Body] = []
        carrier: dict[str, tuple[int, Array]] = {}
        welded: list[list[Array]] = []
        for link in links:
            joint = above.get(link.name)
            body, T = carrier.get(joint.parent, (-1, ITSELF)) if joint else (-1, ITSELF)
            if joint:
                T = frozen(welded_pose(T, joint.placement), (4, 4), f"joint '{joint.name}': the pose in the body that carries it")
            if joint and joint.kind != "fixed":
                source, ratio, offset = mimics.get(joint.name, (joint.name, 1.0, 0.0))
                bodies.append(Body(joint, body, T, np.zeros((6, 6)), q[source], v[source], ratio, offset))
                welded.append([])
                body, T = len(bodies) - 1, ITSELF
            carrier[link.name] = body, T
            if body >= 0 and link.inertia.any():
                G = link.inertia
                welded[body].append(np.triu(G) + np.triu(G, 1).T if T is ITSELF else inertia.transformed(T, G))
        total = [frozen(_without_dust(sum(w, np.zeros((6, 6)))), (6, 6), "inertia") for w in welded]
        bodies = [Body(b.joint, b.parent, b.placement, G, b.q, b.v, b.ratio, b.offset) for b, G in zip(bodies, total, strict=True)]
        name = graph.graph.get("name", "") or "robot"
        held = nx.freeze(graph.copy())
        armature = np.zeros(nv)
        for b in bodies:
            if b.joint.armature:
                armature[b.v] += b.ratio * b.ratio * b.joint.armature
        return cls(name, held, tuple(links), tuple(joints), tuple(bodies), tuple(carrier[n.name] for n in links), nq, nv,
                   frozen(armature, (nv,), "armature"))  # fmt: skip

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

    def link(self, name: str) -> Link:
        """Return the link of that name."""
        return self.links[self.link_index(name)]

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        found = next((j for j in self.joints if j.name == name), None)
        if found is None:
            raise ModelError(f"no joint '{name}' in '{self.name}'{nearest(str(name), [j.name for j in self.joints])}")
        return found

    def link_index(self, name: str) -> int:
        """Return where the link lies in ``links``, and in whatever has a row per link."""
        names = [link.name for link in self.links]
        if isinstance(name, str) and name in names:
            return names.index(name)
        raise ModelError(f"no link '{name if isinstance(name, str) else shown(name)}' in '{self.name}'{nearest(str(name), names)}")

    def q_slice(self, name: str) -> slice:
        """Return where a joint's coordinates lie in q (a mimic joint's: its source's; a fixed joint's slice is empty)."""
        self.joint(name)
        return next((b.q for b in self.bodies if b.joint.name == name), slice(0, 0))

    def v_slice(self, name: str) -> slice:
        """Return where a joint's velocities (and forces) lie in v (and tau)."""
        self.joint(name)
        return next((b.v for b in self.bodies if b.joint.name == name), slice(0, 0))

    def labels(self, which: str) -> tuple[str, ...]:
        """Return a name for every entry of "q", or else of v: the joint's, and after a point the entry's, where the joint has several."""
        names: list[str] = []
        for b in self._own():
            entries = b.kind.q_names if which == "q" else b.kind.v_names
            names += [f"{b.joint.name}.{e}" if e else b.joint.name for e in entries]
        return tuple(names)

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

    @property
    def base(self) -> Body | None:
        """The body that the whole model hangs on by a floating joint: a floating base, or None."""
        return self.bodies[0] if len(self.roots) == 1 and self.bodies[0].kind.floats else None

    @property
    def floats(self) -> bool:
        """Whether the model has a floating base, which carries all else."""
        return self.base is not None

    # ------------------------------------------------------------ the manifold

    def _own(self) -> Iterator[Body]:
        return (b for b in self.bodies if not b.mimics)

    @functools.cached_property
    def manifold(self) -> Manifold:
        """Where q lives: the product of the joints' manifolds. Its functions are unchecked, and take unit quaternions."""
        return product([b.kind.manifold for b in self._own()])

    def neutral(self) -> Array:
        """Return the q of no motion: zeros, and identity quaternions (joint limits are not looked at)."""
        return self.manifold.neutral()

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
            for b in self._own():
                own = a[..., b.q][..., :4]
                if b.kind.manifold.attitude and not np.all(good := quaternion.is_unit(own)):
                    where = tuple(int(i) for i in np.argwhere(~good)[0]) if own.ndim > 1 else ()
                    row = f" in row {', '.join(map(str, where))}" if where else ""
                    text = f"{np.array2string(own[where], precision=4)} of length {math.hypot(*own[where]):.4g}"
                    raise StateError(f"{name} of joint '{b.joint.name}'{row} has the quaternion {text}; expected a unit one, "
                                     "[qw, qx, qy, qz] (engine.convert turns xyzw and other libraries' orders into it)")  # fmt: skip
        return a


def _armature(what: str, x: Any, n: int) -> Array:
    """Return x as n numbers, zero or more; one number stands for all of a joint's."""
    a = numbers(what, x, error=ModelError)
    if a.shape not in ((), (n,)) or (a < 0).any():
        raise ModelError(f"{what} is {x!r}; expected {n} numbers, zero or more")
    return a


def welded_pose(T_AB: Array, T_BC: Array) -> Array:
    """Return T_AB T_BC without the dust of rounding: cos(1.5707963267948966) = 6e-17 is no structure, 0 is.

    Entries of the rotation within 1e-15 of 0 and ±1 are put there, of the position what is below 1e-15 of the longer one to 0: nothing
    above rounding moves.

    >>> quarter = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 6e-17, 0.0, 0.2], [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
    >>> welded_pose(np.eye(4), quarter)[1]
    array([1. , 0. , 0. , 0.2])
    """
    T = T_AB @ T_BC
    reach = max(np.abs(T_AB[:3, 3]).max(), np.abs(T_BC[:3, 3]).max())
    near, dust = np.round(T), np.array([1.0, 1.0, 1.0, reach]) * 1e-15
    rotates = np.array([True, True, True, False])
    return np.where((np.abs(T - near) < dust) & (rotates & (np.abs(near) <= 1) | (near == 0)), near, T) + 0.0


def _without_dust(G: Array) -> Array:
    """Return G with the rounding errors of a rotation (below 1e-15 of the block's largest entry) made structural zeros."""
    blocks = G.reshape(2, 3, 2, 3)
    largest = np.abs(blocks).max(axis=(1, 3), keepdims=True)
    return np.where(np.abs(blocks) < 1e-15 * largest, 0.0, blocks).reshape(6, 6)


def _validated(graph: Any) -> str:
    """Return the name of the root of a graph that is a tree of links and joints; ModelError says what is not."""
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise ModelError(f"the model's graph is a {type(graph).__name__}; expected a networkx.DiGraph")
    if not len(graph):
        raise ModelError("the model has no links; expected at least one")
    for name, link in graph.nodes.data("link"):
        if not isinstance(link, Link) or link.name != name:
            held = f"the link '{link.name}'" if isinstance(link, Link) else f"{type(link).__name__} as its link"
            raise ModelError(f"node '{name}' holds {held}; expected link=Link('{name}', ...)")
    seen: dict[str, Joint] = {}
    for parent, child, joint in graph.edges.data("joint"):
        if not isinstance(joint, Joint):
            raise ModelError(f"the edge from '{parent}' to '{child}' holds {type(joint).__name__} as its joint; expected joint=Joint(...)")
        if (joint.parent, joint.child) != (parent, child):
            raise ModelError(f"joint '{joint.name}' says it joins '{joint.parent}' to '{joint.child}', its edge '{parent}' to '{child}'")
        if joint.name in seen:
            raise ModelError(f"joint '{joint.name}' is there twice; expected unique names")
        seen[joint.name] = joint
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


def _mimics(joints: list[Joint]) -> dict[str, tuple[str, float, float]]:
    """Return, for each mimic joint that moves, the joint at the end of its chain, and the composed ratio and offset."""
    by_name = {j.name: j for j in joints}
    result: dict[str, tuple[str, float, float]] = {}
    for joint in joints:
        chain: dict[str, Joint] = {}
        while joint.mimic is not None and joint.kind != "fixed" and joint.name not in result:
            chain[joint.name], name = joint, joint.mimic.source
            if name not in by_name:
                raise ModelError(f"joint '{joint.name}' mimics '{name}', which is not there{nearest(name, by_name)}")
            if name in chain:
                loop = [*list(chain)[list(chain).index(name) :], name]
                raise ModelError(f"joints {' → '.join(loop)} mimic one another in a circle")
            joint = by_name[name]
        if chain and (joint.kind == "fixed" or joint.type.nv != 1):
            raise ModelError(f"joint '{[*chain][-1]}' mimics '{joint.name}', which is {joint.kind}; expected a joint with one coordinate")
        end, ratio, offset = result.get(joint.name, (joint.name, 1.0, 0.0))
        for name, follower in reversed(chain.items()):
            rule = follower.mimic
            assert rule is not None
            ratio, offset = rule.ratio * ratio, rule.ratio * offset + rule.offset
            if not np.isfinite([ratio, offset]).all():
                what = f"with the ratio {ratio:g} and the offset {offset:g}"
                raise ModelError(f"joint '{name}' follows '{end}' {what}; expected finite numbers")
            result[name] = end, ratio, offset
    return result
