"""Warn of free bodies so fast that they may pass through each other within a step (tunnelling)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from engine.contact.many.manifolds import CENTER, RADIUS, SIZE
from engine.contact.pairs import Placed
from engine.geometry import GROUNDS
from engine.model import Model
from engine.spatial import quaternion

Array = np.ndarray
#: of each record so many bodies are held against all others: those that go farthest, of what they are thick
FASTEST = 4
#: m/s²: half of about what bends a way between two records
BENDS = 5.0


class PassingBodies(NamedTuple):
    """Shapes of free bodies, and of the world, that may pass through each other.

    Attributes
    ----------
    body : of each the number of the body that it is on (n), −1: the world
    center, radius : a ball around it, in the body's frame (n, 3), m
    size : half of how thick it is (n), m
    apart : pairs of shapes that never touch
    poses, velocities : where in q the body's pose (n, 7), and in v the velocity of its origin (n, 3) is
    placements : of the axes that these are in (n, 4, 4)
    """

    model: Model
    body: Array
    center: Array
    radius: Array
    size: Array
    apart: frozenset[tuple[int, int]]
    poses: Array
    velocities: Array
    placements: Array

    def passing(self, dt: float, t: Array, q: Array, v: Array) -> tuple[Array, Callable[[tuple[int, ...]], str]]:
        """Return where (..., T) in records of q (..., T, nq) and v (..., T, nv) one of the fastest bodies goes farther in a step of dt,
        relative to another, than half of what the thinner is thick, and gets there by the next record; and what is said of a record."""
        where, worst = np.zeros(q.shape[:-1], dtype=bool), {}
        between = np.diff(t, prepend=t[0] - dt, append=t[-1] + dt).max()
        far = dt * np.linalg.norm(v[..., self.velocities], axis=-1) * (self.body >= 0) / self.size      # of half of what it is thick
        for k in zip(*np.nonzero(far.max(axis=-1, initial=0.0) > 0.5), strict=True):
            if (found := self._of_record(dt, between, q[k], v[k], far[k])) is not None:
                where[k], worst[tuple(map(int, k))] = True, found

        def passes(k: tuple[int, ...]) -> str:
            a, b, way, size = worst[tuple(map(int, k))]
            return describe_passing(self.model, int(self.body[a]), int(self.body[b]), way, size)

        return where, passes

    def _of_record(self, dt: float, between: float, q: Array, v: Array, far: Array) -> tuple[int, int, float, float] | None:
        """Return two shapes that may pass through each other, as :meth:`passing` has it; how far one goes, and half of how thick they
        are."""
        pose, still, R = q[self.poses], self.body[:, None] < 0, self.placements[:, :3, :3]
        u = np.where(still, 0.0, np.einsum("nij,nj->ni", R, quaternion.rotate(pose[:, :4], v[self.velocities])))
        own = quaternion.rotate(pose[:, :4], self.center) + pose[:, 4:]
        x = np.where(still, self.center, np.einsum("nij,nj->ni", R, own) + self.placements[:, :3, 3])
        for a in np.argsort(far)[: -FASTEST - 1 : -1]:
            r, w, size = x - x[a], u - u[a], np.minimum(self.size, self.size[a])
            speed = np.linalg.norm(w, axis=-1)
            when = np.clip(-np.einsum("ni,ni->n", r, w) / np.maximum(speed, 1e-300) ** 2, 0.0, between)      # where it is nearest
            beside = self.radius + self.radius[a] + speed * dt + BENDS * between**2
            near = np.linalg.norm(r + when[:, None] * w, axis=-1) <= beside
            for b in np.flatnonzero(near & (dt * speed > size) & (self.body != self.body[a])).tolist():
                if (min(a, b), max(a, b)) not in self.apart:
                    return int(a), b, float(dt * speed[b]), float(size[b])
        return None


def may_meet(t: Array, dt: float, gap: Array, speed: Array) -> Array:
    """Return where (..., T) in records at the times t (T) two bodies with a gap (..., T), m, may meet until the next record, in steps of
    dt: they go so far at their relative speed u (..., T), m/s, and the gap grows by less than u Δt − gap in Δt: it is about u Δt where they
    recede, and less by twice the gap where they meet and pass on.

    >>> may_meet(np.arange(4.0), 0.1, np.array([3.0, 1.0, 1.0, 3.0]), np.full(4, 2.0))
    array([False,  True, False, False])
    """
    every = np.diff(t, append=t[-1] + dt)
    rates = np.diff(gap, axis=-1) / np.maximum(every[:-1], 1e-300)
    rates = np.concatenate([rates, rates[..., -1:]], axis=-1) if len(t) > 1 else np.zeros(gap.shape)
    return (gap <= speed * every.max()) & (rates * every < speed * every - gap)


def describe_passing(model: Model, one: int, other: int, way: float, size: float) -> str:
    """Return in words that a body goes so far in a step, m, relative to another (−1: the world), by shapes that are twice a ``size`` thick.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> describe_passing(arm, 0, -1, 0.5, 0.01)
    "joint 'shoulder_yaw' goes 0.5 m in a step, by shapes that are 0.02 m thick, and may pass through; expected a smaller dt"
    """
    to = f", relative to joint '{model.bodies[other].joint.name}'" if other >= 0 else ""
    return (f"joint '{model.bodies[one].joint.name}' goes {way:.3g} m in a step{to}, by shapes that are {2.0 * size:.3g} m thick, and may "
            "pass through; expected a smaller dt")  # fmt: skip


def passing_bodies(model: Model, placed: Sequence[Placed], outlines: Array, apart: Iterable[tuple[int, int]]) -> PassingBodies:
    """Return what is known beforehand of shapes with such ``outlines``, of :class:`~engine.contact.many.Shapes`, of which some pairs of
    numbers never touch; of grounds, which nothing is behind, nothing."""
    kept = [k for k, s in enumerate(placed) if not isinstance(s.shape, GROUNDS)]
    number = {k: n for n, k in enumerate(kept)}
    center = np.array([placed[k].pose[:3, :3] @ outlines[k, CENTER] + placed[k].pose[:3, 3] for k in kept]).reshape(-1, 3)
    pairs = frozenset((min(number[a], number[b]), max(number[a], number[b])) for a, b in apart if a in number and b in number)
    body, radius, size = np.array([placed[k].body for k in kept]), outlines[kept, RADIUS], outlines[kept, SIZE]
    own = [model.bodies[max(i, 0)] for i in body.tolist()]
    poses, twists = (np.array([[*range(x.start, x.stop)] for x in at]) for at in ([b.q for b in own], [b.v for b in own]))
    return PassingBodies(model, body, center, radius, size, pairs, poses, twists[:, 3:], np.array([b.placement for b in own]))
