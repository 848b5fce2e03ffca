"""Relations of one instant, in plain NumPy: frames, twists and accelerations of all links, of trees of all kinds of joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from engine import dynamics
from tests.fuzz.metamorphic import descriptions, frames
from tests.fuzz.metamorphic.random_scenes import random_scene
from tests.fuzz.metamorphic.scene import Scene
from tests.fuzz.metamorphic.seen import STEPS, ULP, Seen, look, rounding
from tests.numeric import derivative

Array = np.ndarray
Rng = np.random.Generator
#: what a derivative by differences is right to, of what varies slowly
DIFFERENCES = 1e-12
#: what leaves accelerations as they are, seen as velocities are seen
VIEWS = (frames.turned, frames.reflected, descriptions.shuffled, descriptions.flipped, descriptions.rerooted, descriptions.halved_body)


def accelerations(scene: Scene, q: Array, v: Array, names: list[str]) -> tuple[Seen, Seen]:
    """Frames of links with their velocities, and with their accelerations, in states (states, …) in which weight alone acts."""
    found: list[tuple[Array, ...]] = []
    model = scene.model
    for x, u in zip(q, v, strict=True):
        vdot = dynamics.aba(model, x, u, np.zeros(model.nv), scene.gravity)
        T = dynamics.forward_kinematics(model, x)
        rows = []
        for name in names:
            mark = scene.marks.get(name, np.eye(4))
            at = {"frame": "world_aligned", "point": mark[:3, 3]}
            J, rate = dynamics.jacobian(model, x, name, **at), dynamics.jacobian_dot(model, x, u, name, **at)
            rows.append((T[model.link_index(name)] @ mark, J @ u, J @ vdot + rate @ u))
        found.append(tuple(np.array(part)[None] for part in zip(*rows, strict=True)))
    T, V, A = (np.array(part) for part in zip(*found, strict=True))
    t = np.zeros(T.shape[:2])
    R, p = T[..., :3, :3], T[..., :3, 3]
    return Seen(t, R, p, V[..., :3], V[..., 3:]), Seen(t, R, p, A[..., :3], A[..., 3:])


def instant(rng: Rng, folder: Path) -> None:
    """Positions, velocities and accelerations of a scene that is turned, mirrored, or described otherwise are what they were."""
    change = VIEWS[int(rng.integers(len(VIEWS)))]
    free = change is descriptions.rerooted
    scene = random_scene(rng, bodies=8, free=free, smooth=True, constraints=False, apart=0.1 if free else 0.25)
    scene = replace(scene, forces=(), drives={}, actuators=())
    other, view = change(scene, rng)
    ours = accelerations(scene, scene.configurations(), scene.velocities(), scene.names)
    theirs = accelerations(other, other.configurations(), other.velocities(), scene.names)
    pairs = [(s, q, v) for s in (scene, other) for q, v in zip(s.configurations(), s.velocities(), strict=True)]
    sizes = np.array([rounding(*pair) for pair in pairs]).reshape(2, scene.states, 3).sum(axis=0)
    place, velocity, acceleration = STEPS * len(scene.links) * ULP * sizes.T
    require(f"{change.__name__}: ", ours[0], view(theirs[0]), place, velocity)
    require(f"{change.__name__}: acceleration, as ", ours[1], view(theirs[1]), place, acceleration)


def require(what: str, ours: Seen, theirs: Seen, place: Array, rate: Array) -> None:
    """Refuse places, and their rates, that are farther off than so much (states)."""
    there = theirs.parts()
    for name, x in ours.parts().items():
        off = np.abs(x - there[name]).max(axis=(-1, -2, -3))
        allowed = place if name in ("attitudes", "positions") else place + rate
        if not (off <= allowed).all():
            k = int(np.argmax(off - allowed))
            raise AssertionError(f"{what}{name} differ by {off[k]:.3g} in state {k}; expected up to {allowed[k]:.3g}")


def rates(rng: Rng, folder: Path) -> None:
    """Weight alone keeps the energy, and accelerations of links are the rates of their velocities, by differences along the motion."""
    scene = replace(random_scene(rng, states=4, smooth=True, constraints=False), forces=(), drives={}, actuators=())
    model, names = scene.model, scene.names
    for q, v in zip(scene.configurations(), scene.velocities(), strict=True):
        vdot = dynamics.aba(model, q, v, np.zeros(model.nv), scene.gravity)
        pace = 2.0 * (1.0 + float(np.abs(v).sum()) + float(np.sqrt(np.abs(vdot).sum())))     # in its time all is slow

        def at(t: float, q: Array = q, v: Array = v, vdot: Array = vdot, pace: float = pace) -> tuple[Array, Array]:
            s = t / pace
            return model.manifold.plus(q, s * v + 0.5 * s * s * vdot), v + s * vdot

        energies = np.array(dynamics.energy(model, q, v, scene.gravity))
        made = pace * derivative(lambda t: sum(dynamics.energy(model, *at(t), scene.gravity)))
        allowed = DIFFERENCES * pace * (1.0 + np.abs(energies).sum() + rounding(scene, q, v)[2])
        if not abs(made) <= allowed:
            raise AssertionError(f"weight alone makes {made:.3g} W; expected up to {allowed:.3g}")

        def velocities(t: float) -> Array:
            seen = look(scene, np.zeros(1), *(x[None, None] for x in at(t)), names)
            return np.stack([seen.w, seen.u])[:, 0, 0]

        seen = accelerations(scene, q[None], v[None], names)[1]
        off = np.abs(pace * derivative(velocities) - np.stack([seen.w, seen.u])[:, 0, 0]).max()
        allowed = DIFFERENCES * pace * (1.0 + np.abs(velocities(0.0)).max() + rounding(scene, q, v)[2])
        if not off <= allowed:
            raise AssertionError(f"accelerations are {off:.3g} beside the rates of velocities; expected up to {allowed:.3g}")


LAWS = (instant, rates)
