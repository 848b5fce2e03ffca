"""One scene, computed otherwise: in parts, in batches, plain, interpreted, as C, with its numbers as parameters, or each tree alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.compiler.graph.interpreter import interpret
from engine.components.actuators import ReactionWheels
from engine.components.forces import PointForce
from engine.contact import ContactError
from engine.model import Joint, Link
from engine.model.combine import WORLD
from engine.model.parameters import EXCLUSIVE, names_of, split
from engine.spatial import inertia, se3
from tests.code.programs import FLAGS, FMA, reported
from tests.fuzz.metamorphic.descriptions import as_it_is
from tests.fuzz.metamorphic.random_scenes import EASY, random_scene
from tests.fuzz.metamorphic.scene import Scene
from tests.fuzz.metamorphic.seen import Unjudged, judged, look, run, same_flight, same_motion
from tests.trees import random_inertia, random_placement

Array = np.ndarray
Rng = np.random.Generator


# ---------------------------------------------------------------- to the bit


def same_bits(what: str, a: Any, b: Any) -> None:
    """Refuse two runs, or records of runs, that are not the same bits: times, states, accelerations, and all signals."""
    for name in ("t", "q", "v", "tau", "vdot"):
        require_bits(f"{what}: {name}", getattr(a, name), getattr(b, name))
    for name, x in a.signals.items():
        require_bits(f"{what}: signal '{name}'", x, b.signals[name])


def require_bits(what: str, a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or (a.tobytes() != b.tobytes() and not np.array_equal(a, b, equal_nan=True)):
        off = f"by up to {np.nanmax(np.abs(a - b)):.3g}" if a.shape == b.shape else f"in shape, {a.shape} and {b.shape}"
        raise AssertionError(f"{what} differs {off}; expected the same bits")


def taken_apart(rng: Rng, folder: Path) -> None:
    """A run may be split anywhere: from the state at t₁ it goes on to the same bits, by steps in any portions."""
    scene = random_scene(rng)
    simulator, q, v = scene.simulator(), scene.configurations(), scene.velocities()
    whole = finished(simulator, q, v, scene.duration)
    state, left = simulator.start(q, v), scene.steps
    while left:
        portion = int(rng.integers(1, left + 1))
        state, left = simulator.step(state, portion), left - portion
    require_bits("time after steps", state.t, whole.t[-1])
    for name in ("q", "v", "tau", "vdot"):
        require_bits(f"{name} after steps", getattr(state, name), getattr(whole, name)[..., -1, :])
    for name, x in state.signals.items():
        require_bits(f"signal '{name}' after steps", x, whole.signals[name].take(-1, axis=q.ndim - 1))


def resumed(rng: Rng, folder: Path) -> None:
    """A recorded run that ends early and is resumed is, to the bit, the run that goes on."""
    scene = random_scene(rng)
    simulator, q, v = scene.simulator(), scene.configurations(), scene.velocities()
    every = int(rng.integers(1, 3))
    whole = finished(simulator, q, v, scene.duration, record_every=every)
    part = every * int(rng.integers(1, scene.steps // every))                  # a run that ends off its grid cannot be resumed
    path = simulator.run(q, v, part * scene.dt, record_every=every, out=folder / "run.h5")
    simulator.resume(path, scene.duration)
    same_bits("resumed", engine.load_trajectory(path), whole)


def rows_alone(rng: Rng, folder: Path) -> None:
    """A row of a batch is the same bits alone, whatever the others are, with parameters of its own too."""
    scene = random_scene(rng, states=int(rng.integers(2, 20)))
    q, v, n = scene.configurations(), scene.velocities(), scene.states
    simulator = scene.simulator(parameters={"gravity": scene.gravity})
    g = scene.gravity + rng.standard_normal((n, 3))
    batch = finished(simulator, q, v, scene.duration, parameters={"gravity": g})
    for k in rng.permutation(n)[:3]:
        alone = finished(simulator, q[k], v[k], scene.duration, parameters={"gravity": g[k]})
        same_bits(f"row {k} alone", batch.rollout(int(k)), alone)


def finished(simulator: engine.Simulator, q: Array, v: Array, duration: float, **given: Any) -> Any:
    """A run of which no rollout fails."""
    found = simulator.run(q, v, duration, **given)
    if np.any(found.failed):
        raise Unjudged("a run ended")
    return found


def as_c(rng: Rng, folder: Path) -> None:
    """A step that is exported as C gives the bits of machine code."""
    scene = random_scene(rng, states=1, bodies=2, constraints=False, methods=EASY)
    engine.export_code(scene.simulator(), folder / "scene_step.c", part="step")
    text = reported(folder, "scene_step", "gcc", *FLAGS, *FMA, "-O1")
    if not text.startswith("ok"):
        raise AssertionError(f"the exported step says: {text}")


# ---------------------------------------------------------------- to rounding


def three_lives(rng: Rng, folder: Path) -> None:
    """What runs plain, as NumPy on floats, is what is interpreted, and what is compiled, to rounding."""
    scene = random_scene(rng, states=2, bodies=3)
    scene = replace(scene, steps=min(scene.steps, 8))
    simulator = scene.simulator()
    first = judged(scene, rng, simulator=simulator)
    q, v = scene.configurations(), scene.velocities()
    every = max(1, scene.steps // 2)
    plain = [scene.simulator(compiled=False).run(*pair, scene.duration, record_every=every) for pair in zip(q, v, strict=True)]
    seen = look(scene, plain[0].t[1:], *(np.array([getattr(x, which)[1:] for x in plain]) for which in ("q", "v")), first.names)
    first.require(seen, "plain: ")
    start, step, records = simulator.start(q, v), simulator._step, list[Array]()
    x, program = start.resumed(step)[0], step.process.programs[0]
    for k in range(scene.steps):
        x = interpret(program, 0.0, float(k), scene.dt, start.origin.parameters, x)
        if (k + 1) % every == 0 or k + 1 == scene.steps:
            records.append(x)
    found = step.layout.split(np.stack(records, axis=1))
    first.require(look(scene, first.seen.t[0], found["q"], found["v"], first.names), "interpreted: ")


def as_parameters(rng: Rng, folder: Path) -> None:
    """A model's numbers as parameters of a simulation are those of a model that is built with them."""
    scene = random_scene(rng, constraints=False)
    scene = replace(scene, joint_dynamics="explicit" if scene.joint_dynamics == "auto" else scene.joint_dynamics)
    names = chosen_numbers(rng, scene)
    if not names:
        raise Unjudged("no numbers")
    own = {name: own_number(scene, name) for name in names}
    values = {name: np.array([other_number(rng, scene, name) for _ in range(scene.states)]) for name in names}
    simulator = scene.simulator(parameters=own)
    row, q, v = int(rng.integers(scene.states)), scene.configurations(), scene.velocities()
    built = with_numbers(scene, {name: x[row] for name, x in values.items()})
    try:
        found = run(simulator, built, q, v, scene.names, parameters=values)
    except ContactError:
        raise Unjudged("other numbers let shapes overlap") from None
    first = judged(built.with_states(q[[row]], v[[row]]), rng)
    first.require(found.rows([row]), f"with {', '.join(names)} as parameters: ")


def chosen_numbers(rng: Rng, scene: Scene) -> list[str]:
    """Some names of numbers, of which none follows from another."""
    names = [*names_of(scene.model), "gravity"]
    if scene.joint_dynamics is None:
        names = [name for name in names if split(name)[0] not in ("damping", "friction")]
    found = list[str]()
    for name in rng.permutation(names)[: int(rng.integers(1, 5))]:
        kind, owner = split(str(name))
        rivals = {f"{other}.{owner}" for pair in EXCLUSIVE if kind in pair for other in pair} - {name}
        found += [str(name)] if not rivals & {*found} else []
    return found


def own_number(scene: Scene, name: str) -> Any:
    """The number that the scene has."""
    kind, owner = split(name)
    if name == "gravity":
        return scene.gravity
    if kind in ("mass", "center", "inertia"):
        G = scene.model.link(owner).inertia
        return {"mass": G[5, 5], "center": inertia.center(G), "inertia": G}[kind]
    return np.zeros(6) if kind == "displacement" else getattr(scene.joint(owner), kind)


def other_number(rng: Rng, scene: Scene, name: str) -> Any:
    """Another number for it."""
    kind, _ = split(name)
    own = own_number(scene, name)
    if kind == "mass":
        return own * rng.uniform(0.5, 2.0)
    if kind in ("center", "gravity", "displacement"):
        return own + 0.2 * rng.standard_normal(np.shape(own))
    if kind == "inertia":
        return random_inertia(rng)
    return random_placement(rng) if kind == "placement" else float(rng.uniform(0.0, 1.0))


def with_numbers(scene: Scene, values: dict[str, Any]) -> Scene:
    """The scene, built with other numbers."""
    for name, x in values.items():
        kind, owner = split(name)
        if name == "gravity":
            scene = replace(scene, gravity=x)
        elif kind in ("mass", "center", "inertia"):
            scene = replace(scene, links=tuple(numbered(link, kind, x) if link.name == owner else link for link in scene.links))
        else:
            placed = {"placement": scene.joint(owner).placement @ se3.exp(x)} if kind == "displacement" else {kind: x}
            scene = replace(scene, joints=tuple(with_number(j, placed) if j.name == owner else j for j in scene.joints))
    return scene


def with_number(joint: Joint, number: dict[str, Any]) -> Joint:
    return replace(joint, **{kind: x if np.ndim(x) else float(x) for kind, x in number.items()})


def numbered(link: Link, kind: str, x: Any) -> Link:
    """A link of another mass, of which its inertia is a multiple, another centre, about which its tensor stays, or another inertia."""
    G = link.inertia
    if kind == "mass":
        G = G * (x / G[5, 5])
    elif kind == "center":
        about = inertia.transformed(se3.pose(np.eye(3), -inertia.center(G)), G)
        G = inertia.transformed(se3.pose(np.eye(3), x), about)
    return replace(link, inertia=x if kind == "inertia" else G)


def each_tree_alone(rng: Rng, folder: Path) -> None:
    """Trees that nothing connects move in a forest as they do alone: but for the steps' own errors, where what is stiff elsewhere chooses
    the method of all."""
    scene = random_scene(rng, constraints=False, apart=0.6)
    root = scene.roots[int(rng.integers(len(scene.roots)))]
    links = scene.tree(root)
    joints = tuple(joint for joint in scene.joints if joint.child in links)
    names = {joint.name for joint in joints}
    if len(scene.roots) < 2 or any(j.mimic and (j.mimic.source in names) != (j.name in names) for j in scene.joints):
        raise Unjudged("one tree")
    if scene.contacts is not None and scene.contacts.ground is None:
        scene = replace(scene, contacts=None)
    contacts = scene.contacts
    if contacts is not None:
        pairs = [pair for pair in contacts.pairs or () if pair[1] in links]
        contacts = replace(contacts, pairs=pairs) if pairs else None
    if not names & {*scene.v}:
        raise Unjudged("nothing moves")

    def own(f: Any) -> bool:
        return f.link in links if isinstance(f, (PointForce, ReactionWheels)) else f.joint in names if hasattr(f, "joint") else True

    alone = replace(scene, links=tuple(x for x in scene.links if x.name in links or x.name == WORLD), joints=joints, contacts=contacts,
                    q={n: x for n, x in scene.q.items() if n in names}, v={n: x for n, x in scene.v.items() if n in names},
                    forces=tuple(filter(own, scene.forces)), actuators=tuple(filter(own, scene.actuators)),
                    drives={n: d for n, d in scene.drives.items() if n in names})  # fmt: skip
    simulators = alone.simulator(), scene.simulator()
    same_motion(alone, scene, as_it_is, rng, not same_flight(*simulators), simulators)


LAWS = (taken_apart, resumed, rows_alone, as_c, three_lives, as_parameters, each_tree_alone)
