"""What is seen of a scene's motion: frames of links in the world, their velocities, and how far two scenes' may differ.

Two computations of one motion differ by rounding, which the motion itself makes grow. How far is measured: the first scene is run from
states that are beside its own by a bound on what rounding adds up to, and three times as far as these copies stray is allowed. Where two
scenes have the same motion but not the same truncation errors, those are allowed too, as halving the step measures them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import engine
from engine import dynamics
from engine.components.forces import JointSpring, PointForce
from engine.components.joint_dynamics import SLOW
from engine.constraints.projection import BESIDE
from tests.fuzz.metamorphic.scene import Scene

Array = np.ndarray
#: copies of each state; times that as far as they stray is allowed; records of a run after its start
COPIES, TIMES, RECORDS = 4, 3.0, 2
#: ulp for each link that an acceleration is rounded by, of the largest terms in it, and that a frame that is looked at is
STEPS, ULP = 40, 2.0**-52
#: to what velocities after impulses are found: of their largest change, and of the speed that counts as rest (:mod:`engine.contact.newton`)
IMPULSES, REST = 1e-9, 1e-4
#: what is rigid in impulses beside constraints leaves so much of a velocity to the projection (:mod:`engine.simulation.constraints`)
RIGID = 1e-7
#: of its size: a motion that strays farther, or whose steps err by more, says nothing
VAGUE = 1e-3


class Unjudged(Exception):
    """A case that says nothing, and why in a word or two."""


class Ended(AssertionError):
    """A run that does not go on to its end."""


@dataclass(frozen=True)
class Seen:
    """Frames in the world and their velocities, each (states, records, links, …): rotations, positions, m, ω and v, in world axes."""

    t: Array
    R: Array
    p: Array
    w: Array
    u: Array

    def parts(self) -> dict[str, Array]:
        """All that is compared, by what it is called."""
        return {"attitudes": self.R.reshape(*self.R.shape[:-2], 9), "positions": self.p, "angular velocities": self.w, "velocities": self.u}

    def rows(self, chosen: Any) -> Seen:
        """Those of some states."""
        return replace(self, R=self.R[chosen], p=self.p[chosen], w=self.w[chosen], u=self.u[chosen])


#: what turns the view of the one scene into that of the other
View = Callable[[Seen], Seen]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the engine's warnings: a random scene may well be doubtful."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", engine.EngineWarning)
        yield


def look(scene: Scene, t: Array, q: Array, v: Array, names: list[str]) -> Seen:
    """See some links in states (states, records, …)."""
    model = scene.model
    index = [model.link_index(name) for name in names]
    marks = np.array([scene.marks.get(name, np.eye(4)) for name in names])
    T = np.zeros((*q.shape[:2], len(names), 4, 4))
    V = np.zeros((*q.shape[:2], len(names), 6))
    for k in np.ndindex(q.shape[:2]):
        T[k] = dynamics.forward_kinematics(model, q[k])[index]
        V[k] = dynamics.twists(model, q[k], v[k])[index]
    R, w = T[..., :3, :3], V[..., :3]
    u = V[..., 3:] + np.cross(w, marks[:, :3, 3])
    turned = [np.einsum("...ij,...j->...i", R, x) for x in (w, u)]
    T = T @ marks
    return Seen(np.broadcast_to(t, q.shape[:2]), T[..., :3, :3], T[..., :3, 3], *turned)


def run(simulator: engine.Simulator, scene: Scene, q: Array, v: Array, names: list[str], **given: Any) -> Seen:
    """Run states (states, …), and return what is seen after some steps and at the end."""
    every = max(1, scene.steps // RECORDS)
    found = simulator.run(q, v, scene.duration, record_every=every, **given)
    if found.failed.any():
        raise Ended(f"a run ended: {next(filter(None, found.reason))}")
    return look(scene, found.t[1:], found.q[..., 1:, :], found.v[..., 1:, :], names)


def rounding(scene: Scene, q: Array, v: Array) -> tuple[float, float, float]:
    """The sizes of what is rounded in q, in v, and in accelerations, whose errors are the inverse inertia's times the largest loads'."""
    model = scene.model
    M = dynamics.crba(model, q)
    mobility = float(np.linalg.norm(np.linalg.inv(M), 2))
    T, V = dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v)
    reach = 1.0 + float(np.abs(T[:, :3, 3]).max())
    speed, joints = float(np.abs(V).max()), float(np.abs(v).max())
    mass = sum(float(np.abs(body.inertia).max()) for body in model.bodies)
    loads = mass * (float(np.abs(scene.gravity).max()) + reach * speed * (joints + speed)) + driven(scene)
    momentum = mobility * reach * mass * speed if scene.conserve_momentum else 0.0    # of which velocities are found again
    return reach, reach * (joints + speed) + momentum, mobility * reach * loads


def driven(scene: Scene) -> float:
    """The largest force of components, about."""
    drives = [abs(d.amplitude) for d in scene.drives.values()]
    pushes = [float(np.abs(np.concatenate([f.force, f.moment])).max()) for f in scene.forces if isinstance(f, PointForce)]
    springs = [f.stiffness * (abs(f.rest) + np.pi) + f.damping for f in scene.forces if isinstance(f, JointSpring)]
    return sum(drives) + sum(pushes) + sum(springs)


def copies(scene: Scene, rng: np.random.Generator) -> tuple[Array, Array]:
    """Every state, and after them all their copies, beside them by what rounding adds up to, and what impulses are found to."""
    model, qs, vs, t = scene.model, scene.configurations(), scene.velocities(), scene.duration
    ulps = STEPS * len(model.links) * ULP
    found, rest = impulses(scene)
    place, velocity, acceleration = np.array([rounding(scene, q, v) for q, v in zip(qs, vs, strict=True)]).T
    dv = ((ulps + found) * (velocity + t * acceleration) + rest)[:, None]      # impulses take what flight adds, and stop what moves
    dq = ulps * place[:, None] + t * dv
    if (dq > VAGUE).any():                                                     # turns by so much move places by as much of their size
        raise Unjudged("too vague")
    to_q, to_v = [qs], [vs]
    for _ in range(COPIES):
        to_q.append(model.manifold.plus(qs, dq * rng.uniform(-1, 1, vs.shape)))
        to_v.append(vs + dv * rng.uniform(-1, 1, vs.shape))
    return np.concatenate(to_q), np.concatenate(to_v)


def impulses(scene: Scene) -> tuple[float, float]:
    """What impulses leave open of the velocities that they change, and besides, where there are any."""
    if not scene.follows:
        return 0.0, 0.0
    slow = SLOW if scene.contacts is None else max(SLOW, scene.contacts.stiction_velocity)
    return IMPULSES + (RIGID if scene.constraints else 0.0), REST * slow


@dataclass(frozen=True)
class Judged:
    """A scene's motion, and how far another computation of it may be off, by part (states, records)."""

    scene: Scene
    names: list[str]
    seen: Seen
    allowed: dict[str, Array]

    def require(self, other: Seen, what: str = "") -> None:
        """Refuse another view of the motion that is farther off."""
        for name, ours in self.seen.parts().items():
            theirs = other.parts()[name]
            off = np.abs(ours - theirs).max(axis=(-1, -2))
            if not (off <= self.allowed[name]).all():
                k = tuple(np.argwhere(~(off <= self.allowed[name]))[0])
                link = self.names[int(np.abs(ours[k] - theirs[k]).max(axis=-1).argmax())]
                raise AssertionError(f"{what}{name} of '{link}' differ by {off[k]:.3g} in state {k[0]} after {self.seen.t[k]:.4g} s; "
                                     f"expected up to {self.allowed[name][k]:.3g}")  # fmt: skip


def farthest(a: Seen, b: Seen) -> dict[str, Array]:
    """The largest differences up to each record, by part (states, records)."""
    theirs = b.parts()
    return {name: np.maximum.accumulate(np.abs(x - theirs[name]).max(axis=(-1, -2)), axis=-1) for name, x in a.parts().items()}


def judged(scene: Scene, rng: np.random.Generator, truncated: bool = False, simulator: engine.Simulator | None = None,
           **given: Any) -> Judged:  # fmt: skip
    """Run a scene and its copies; ``truncated`` allows for the errors of the steps too, of this scene and of another."""
    simulates = scene.simulator() if simulator is None else simulator
    names, n = scene.names, scene.states
    q, v = copies(scene, rng)
    try:
        every = run(simulates, scene, q, v, names, **given)
        finer = halved(scene, q[:n], v[:n], names) if truncated else every.rows(slice(n))
    except Ended:
        raise Unjudged("a run ended") from None
    seen, allowed = every.rows(slice(n)), dict[str, Array]()
    for k in range(1, 1 + COPIES):
        strayed = farthest(every.rows(slice(k * n, (k + 1) * n)), seen)
        allowed = {name: np.maximum(allowed.get(name, 0.0), TIMES * x) for name, x in strayed.items()}
    if truncated:
        allowed = {name: allowed[name] + TIMES * x for name, x in farthest(finer, seen).items()}
    for name, x in seen.parts().items():
        size = 1.0 + np.abs(x).max(axis=(-1, -2))
        if (allowed[name] > VAGUE * size).any():
            raise Unjudged("too vague")
        allowed[name] = allowed[name] + size * (STEPS * len(scene.links) * ULP + (TIMES * BESIDE if scene.constraints else 0.0))
    return Judged(scene, names, seen, allowed)


def halved(scene: Scene, q: Array, v: Array, names: list[str]) -> Seen:
    """What is seen at the same times with half the step."""
    finer = replace(scene, dt=0.5 * scene.dt, steps=2 * scene.steps)
    return run(finer.simulator(), finer, q, v, names)


def same_flight(one: engine.Simulator, other: engine.Simulator) -> bool:
    """Whether two simulators, the first of a part of the other's scene, fly by the same method, with the same forces in its Jacobian: what
    is stiff in one tree makes all fly by a method for that."""
    (name, stiff), (others_name, others_stiff) = ((s.method.name, s.plant.stiffness) for s in (one, other))
    if stiff is None or others_stiff is None:
        return name == others_name and stiff is others_stiff
    own = {c.name for c in one.components}
    return stiff.names == others_stiff.names & own and stiff.symmetric == others_stiff.symmetric


def same_motion(scene: Scene, other: Scene, view: View, rng: np.random.Generator, truncated: bool = False,
                simulators: tuple[engine.Simulator, engine.Simulator] | None = None) -> None:  # fmt: skip
    """Refuse another scene whose motion, seen by ``view``, is not that of the first one."""
    one, two = simulators or (scene.simulator(), other.simulator())
    first = judged(scene, rng, truncated, one)
    seen = run(two, other, other.configurations(), other.velocities(), first.names)
    if truncated:
        there = halved(other, other.configurations(), other.velocities(), first.names)
        erred = farthest(view(there), view(seen))
        first = replace(first, allowed={name: x + TIMES * erred[name] for name, x in first.allowed.items()})
    first.require(view(seen))
