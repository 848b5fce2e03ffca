"""What smooth motion obeys: the order of a method, its way back in time, and what no passive scene does."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import engine
from engine import dynamics
from engine.components.forces import JointSpring
from engine.integrate import METHODS
from tests.fuzz.metamorphic.random_scenes import random_scene
from tests.fuzz.metamorphic.scene import Scene
from tests.fuzz.metamorphic.seen import STEPS, TIMES, ULP, Unjudged, farthest, judged, look

Array = np.ndarray
Rng = np.random.Generator
#: halvings of a step; what an observed order may lack
HALVINGS, SHORT = 4, 0.4


def states_at_end(scene: Scene, halvings: int, q: Array, v: Array) -> tuple[Array, Array]:
    """Where a run ends with a step that is halved so many times."""
    finer = replace(scene, dt=scene.dt * 0.5**halvings, steps=scene.steps * 2**halvings)
    found = finer.simulator().run(q, v, finer.duration, record_every=finer.steps)
    if np.any(found.failed):
        raise Unjudged("a run ended")
    return found.q[..., -1, :], found.v[..., -1, :]


def order_of_method(rng: Rng, folder: Path) -> None:
    """Halving the step divides the error of a method of order p by 2ᵖ, or more, until rounding is left."""
    scene = random_scene(rng, smooth=True, bodies=3)
    first = judged(scene, rng)
    q, v = scene.configurations(), scene.velocities()
    ends = [states_at_end(scene, k, q, v) for k in range(HALVINGS)]
    views = [look(scene, first.seen.t[0, -1:], a[:, None], b[:, None], first.names) for a, b in ends]
    steps = [farthest(b, a) for a, b in itertools.pairwise(views)]
    p = METHODS[scene.integrator].order
    for name in steps[0]:
        floor = first.allowed[name][:, -1]
        errors = np.array([step[name][:, -1] for step in steps])               # (halvings − 1, states)
        if (errors[0] > 1e-3 * (1.0 + np.abs(first.seen.parts()[name]).max())).any():
            raise Unjudged("too vague")
        seen = np.log2(np.maximum(errors[:-1], 1e-300) / np.maximum(errors[1:], 1e-300))
        fine = (seen.max(axis=0) >= p - SHORT) | (errors[-1] <= TIMES * floor)
        if not fine.all():
            k = int(np.argmin(fine))
            fall = ", ".join(f"{e:.3g}" for e in errors[:, k])
            raise AssertionError(f"{scene.integrator}: errors of {name} in state {k} are {fall} as the step is halved; expected the order "
                                 f"{p}, or less than {TIMES * floor[k]:.2g}")  # fmt: skip


def conservative(scene: Scene) -> Scene:
    """A scene that only its configuration pushes."""
    joints = tuple(replace(joint, damping=0.0, friction=0.0) for joint in scene.joints)
    forces = tuple(f if not isinstance(f, JointSpring) else JointSpring(f.joint, f.stiffness, f.rest, 0.0, f.name) for f in scene.forces)
    return replace(scene, joints=joints, forces=forces, drives={}, actuators=())


def back_in_time(rng: Rng, folder: Path) -> None:
    """Conservative motion, its velocities reversed, goes back to where it began, but for the steps' own errors."""
    scene = conservative(random_scene(rng, smooth=True, bodies=3))
    q, v = scene.configurations(), scene.velocities()
    turns = [(a, -b) for a, b in (states_at_end(scene, k, q, v) for k in (0, 1))]
    back = [states_at_end(scene, k, *turn) for k, turn in enumerate(turns)]
    first = judged(scene.with_states(*turns[0]), rng)
    t = first.seen.t[0, -1:]
    start, coarse, fine = (look(scene, t, a[:, None], b[:, None], first.names) for a, b in ((q, -v), *back))
    off, erred = farthest(coarse, start), farthest(coarse, fine)
    for name, x in off.items():
        exact = METHODS[scene.integrator].reversible and not scene.conserve_momentum and not scene.constraints
        allowed = first.allowed[name][:, -1:] * 2.0 + (0.0 if exact else TIMES * erred[name])
        if not (x <= allowed).all():
            k = int(np.argmax(x - allowed))
            raise AssertionError(f"{scene.integrator}: {name} in state {k} come back with an error of {x[k, 0]:.3g}; expected up to "
                                 f"{allowed[k, 0]:.3g}")  # fmt: skip


def energy(scene: Scene, q: Array, v: Array) -> float:
    """Kinetic and potential energy, with that of springs, J."""
    springs = [f for f in scene.forces if isinstance(f, JointSpring)]
    stored = sum(0.5 * f.stiffness * float(q[scene.model.q_slice(f.joint)][0] - f.rest) ** 2 for f in springs)
    return float(sum(dynamics.energy(scene.model, q, v, scene.gravity))) + stored


def energy_is_not_made(rng: Rng, folder: Path) -> None:
    """A scene in which nothing is driven has no more energy at the end than at first, but for the errors of steps in flight: where the
    engine does not warn that losses may drive it, too stiff for explicit steps."""
    scene = random_scene(rng, bodies=3)
    if METHODS[scene.integrator].order < 2:
        raise Unjudged("too vague")
    forces = tuple(f for f in scene.forces if isinstance(f, JointSpring))
    scene = replace(scene, drives={}, actuators=(), forces=forces)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*may drive it", engine.SimulationWarning)
        try:
            scene.simulator()
        except engine.SimulationWarning:
            raise Unjudged("driven, as is warned of") from None
    q, v = scene.configurations(), scene.velocities()
    ends = states_at_end(scene, 0, q, v)
    ideal = conservative(replace(scene, contacts=None, joint_dynamics=None))
    flown = states_at_end(ideal, 0, q, v)
    for k in range(scene.states):
        first, last = energy(scene, q[k], v[k]), energy(scene, ends[0][k], ends[1][k])
        erred = abs(energy(ideal, flown[0][k], flown[1][k]) - energy(ideal, q[k], v[k]))
        kinetic = float(dynamics.energy(scene.model, q[k], v[k], scene.gravity)[0])
        held = pressed(scene, q[k])
        if not last - first <= held + 10.0 * erred + 1e-4 * kinetic + STEPS * ULP * (abs(first) + abs(last)):
            raise AssertionError(f"energy rises from {first:.6g} J by {last - first:.3g} J in state {k}; flight errs by {erred:.3g} J, "
                                 f"springs hold {held:.3g} J")  # fmt: skip


def pressed(scene: Scene, q: Array) -> float:
    """The energy of springs of contacts that are pressed at first, at most, J."""
    if scene.contacts is None:
        return 0.0
    laws = scene.contacts.bind(scene.model)
    gaps = np.asarray(laws.gaps(q), dtype=float)
    stiffness = np.array([pair.material.stiffness for pair in laws.pairs for _ in range(pair.points)])
    return float((0.5 * stiffness * np.minimum(gaps, 0.0) ** 2).sum())


LAWS = (order_of_method, back_in_time, energy_is_not_made)
