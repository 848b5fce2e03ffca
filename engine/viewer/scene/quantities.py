"""Quantities of a robot that marks show: its size, centres of mass, inertias, momenta and joints' wrenches, and how large they become."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from engine.checks import warn
from engine.spatial import inertia
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.drawing import measure
from engine.viewer.scene.errors import ViewerWarning
from engine.viewer.scene.sources import Played, Source, States, gathered

Array = np.ndarray
#: rollouts of a batch that are explained
MOST = 50
#: states of a motion that scales are taken from
LOOKS = 400
#: of the robot's size: semi-axes of an inertia ellipsoid, at most, and what is drawn of larger ones
LARGEST, SHRUNK = 0.75, 0.06


class Quantities:
    """Quantities of a robot that are worked out once.

    Attributes
    ----------
    whole, link : the longest side of a box about the robot at first, and of most of its links, m
    mass (nlinks) : of the links that move, zero for others, kg; centers (nlinks, 4) : centres of mass in the links' frames, with a one
    """

    def __init__(self, actor: Actor) -> None:
        self.model, self.robot = actor.model, actor.source.robot
        self._varied = [n for n in getattr(actor.source, "varied", ()) if n.startswith(("mass.", "center.", "inertia."))]
        self._told = set[str]()
        model = actor.model
        poses = actor.poses(actor.source.span[0])[0]
        corners: dict[int, list[Array]] = {}
        for p in actor.parts:
            ends = np.column_stack([measure(p.surface).box, [1.0, 1.0]])
            corners.setdefault(p.link, []).append(ends @ (poses[p.link] @ p.placement)[:3].T)
        points = [poses[:, :3, 3], *(x for found in corners.values() for x in found)]
        self.whole = max(float(np.ptp(np.concatenate(points), axis=0).max()), 1e-3)
        sides = [float(np.ptp(np.concatenate(found), axis=0).max()) for found in corners.values()]
        self.link = float(np.clip(np.median(sides or [0.25 * self.whole]), 0.05 * self.whole, 0.5 * self.whole))
        self.mass = np.array([x.mass * (body >= 0) for x, (body, _) in zip(model.links, model.carrier, strict=True)])
        self.centers = np.array([[*inertia.center(x.inertia), 1.0] for x in model.links])
        self._largest = WeakKeyDictionary[Source, dict[str, float]]()

    def tell(self, what: str) -> None:
        """Warn, once, where rollouts differ in what marks are drawn from: they are those of the robot as its file has it."""
        if self._varied and what not in self._told:
            self._told.add(what)
            warn(f"{what} of '{self.model.name}' are drawn with its file's numbers, where rollouts differ in "
                 f"{', '.join(self._varied[:3])}; expected rollouts of one robot, or one of them", ViewerWarning)  # fmt: skip

    def miss(self, what: str) -> None:
        """Warn, once, of what is asked for and not drawn."""
        if what not in self._told:
            self._told.add(what)
            warn(f"{what}, of '{self.model.name}' are not drawn; expected contacts of few bodies, or what "
                 "trajectory('contacts') has, drawn by yourself", ViewerWarning)  # fmt: skip

    @cached_property
    def ellipsoids(self) -> Array:
        """Ellipsoids of the links with mass (nlinks, 4, 4), in their frames; far larger ones are balls, which is said."""
        found = np.array([ellipsoid(link.inertia) if link.mass > 0 else np.eye(4) for link in self.model.links])
        axes = np.linalg.norm(found[:, :3, :3], axis=1)
        large = (axes > LARGEST * self.whole).any(axis=1) & np.array([link.mass > 0 for link in self.model.links])
        if large.any():
            names = [link.name for link, one in zip(self.model.links, large, strict=True) if one]
            warn(f"{len(names)} inertia ellipsoid{'s' * (len(names) > 1)} of '{self.model.name}' would be larger than the robot "
                 f"({', '.join(names[:3])}{', …' if len(names) > 3 else ''}; semi-axes up to {axes[large].max():.3g} m): "
                 f"drawn as balls of {SHRUNK * self.whole:.3g} m; expected moments that fit the masses", ViewerWarning)  # fmt: skip
        found[large, :3, :3] = SHRUNK * self.whole * np.eye(3)
        return found

    @cached_property
    def children(self) -> list[int]:
        """The links below the joints that move."""
        return [self.model.link_index(b.joint.child) for b in self.model.bodies]

    @cached_property
    def _subspaces(self) -> Array:
        return self._at(self.model.neutral())

    def _at(self, q: Array) -> Array:
        S = np.zeros((len(self.model.bodies), 6, self.model.nv))
        for k, b in enumerate(self.model.bodies):
            S[k, :, b.v] = b.subspace(q)
        return S

    def subspaces(self, q: Array) -> Array:
        """Return S(q) of the joints that move (n, bodies, 6, nv), in the frames of the links below."""
        if any(b.kind.subspace_rate is not None for b in self.model.bodies):
            return np.stack([self._at(x) for x in q])
        return np.broadcast_to(self._subspaces, (len(q), *self._subspaces.shape))

    def joint_wrenches(self, s: States) -> Array:
        """Return the wrenches of the joints' forces on the links below (n, bodies, 6), F = S τ: [moment; force] in the links' frames."""
        assert s.tau is not None
        own = np.array([not b.mimics for b in self.model.bodies])
        return (self.subspaces(s.q) @ s.tau[:, None, :, None])[..., 0] * own[:, None]

    def momenta(self, s: States) -> tuple[Array, Array, Array]:
        """Return the centre of mass of all that moves, linear momentum, and angular momentum about that point (n, 3), world axes."""
        poses = self.robot.forward_kinematics(s.q)
        c = self.mass @ (poses[..., :3, :] @ self.centers[:, :, None])[..., 0] / self.mass.sum()
        P = self.robot.centroidal_momentum(s.q, s.v)
        return c, P[:, 3:], P[:, :3]

    def longest(self, source: Source, now: States, what: str, of: Callable[[States], Array]) -> float:
        """Return the largest of something in the whole motion; of one that runs, until now."""
        largest = self._largest.setdefault(source, {})
        if not isinstance(source, Played):
            largest[what] = max(largest.get(what, 0.0), float(np.max(of(now), initial=0.0)))
        elif what not in largest:
            whole = source.trajectory
            largest[what] = float(np.max(of(gathered(whole[:: -(-len(whole) // LOOKS)], MOST)), initial=0.0))
        return largest[what]


QUANTITIES: WeakKeyDictionary[Actor, Quantities] = WeakKeyDictionary()


def quantities_of(actor: Actor) -> Quantities:
    """Return the quantities of a robot, the same object every time."""
    if actor not in QUANTITIES:
        QUANTITIES[actor] = Quantities(actor)
    return QUANTITIES[actor]


def ellipsoid(G: Array) -> Array:
    """Return the matrix (4, 4) that makes a ball of radius 1 the solid ellipsoid of even density whose inertia is G (6, 6), in G's frame.

    With the principal moments I about the centre of mass, its semi-axes are a² = 5/2 (I_b + I_c − I_a)/m.
    """
    m, c = float(inertia.mass(G)), inertia.center(G)
    I, axes = np.linalg.eigh(G[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c)))
    T = np.eye(4)
    T[:3, :3] = axes * np.linalg.det(axes) * np.sqrt(np.maximum(2.5 * (I.sum() - 2.0 * I) / m, 0.0))
    T[:3, 3] = c
    return T
