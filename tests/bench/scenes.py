"""Many free bodies in contact: a step against MuJoCo's from the same state, to the first step, and how its cost grows with their number."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import mujoco

    import engine
    from tests.bench.__main__ import Table

Array = np.ndarray
#: m, half of a box's edge, or a ball's radius; kg; coefficient of friction; s
HALF, MASS, FRICTION, DT = 0.1, 1.0, 0.5, 2e-3
#: s: when heaps still tumble, when they rest, and when stacks do
TUMBLING, RESTS, STANDS = 0.5, 4.0, 0.6
#: s: of MuJoCo's contacts; by its own 0.02 boxes that fall on each other go 40 mm into each other, by this 10 mm, about as by ours
SOFT = 0.008
#: m: how far apart both sides' centres of mass may be after the steps that are timed
APART = 0.01
#: s of CPU to the first step: with nothing cached, and of another number of bodies with everything cached
FIRST, AGAIN = 3.0, 0.05


def heap(n: int, reach: float) -> tuple[Array, Array]:
    """Quaternions (n, 4) and places (n, 3), m, of bodies that reach so far (m) from their centres: a block in the air, turned at random."""
    rng, side = np.random.default_rng(n), max(2, round((n / 3) ** (1 / 3)))
    cells = np.array([(k % side, k // side % side, k // side**2) for k in range(n)])
    turns = rng.standard_normal((n, 4))
    places = 2.05 * reach * cells + [0.0, 0.0, 1.5 * reach] + rng.uniform(0.0, 0.04 * reach, (n, 3))
    return turns / np.linalg.norm(turns, axis=1, keepdims=True), places


def stacks(n: int, high: int = 5) -> tuple[Array, Array]:
    """The same of boxes on top of each other, so many in each stack, all apart."""
    towers = -(-n // high)
    side = int(np.ceil(towers**0.5))
    cells = np.array([(k // high % side, k // high // side, k % high) for k in range(n)])
    return np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)), cells * [5.0 * HALF, 5.0 * HALF, 2.0 * HALF] + [0.0, 0.0, HALF]


def apart(n: int, reach: float) -> tuple[Array, Array]:
    """The same of bodies that fall beside each other, turned at random."""
    turns, _ = heap(n, reach)
    side = int(np.ceil(n**0.5))
    return turns, np.array([(k % side, k // side, 1.0) for k in range(n)]) * [4.0 * reach, 4.0 * reach, 0.8]


@dataclass
class Scene:
    """Equal bodies, "box" or "sphere", over a ground: where they begin, by quaternions (n, 4) and places (n, 3), m."""

    name: str
    shape: str
    turns: Array
    places: Array

    @property
    def n(self) -> int:
        return len(self.places)

    @property
    def q0(self) -> Array:
        return np.hstack([self.turns, self.places]).ravel()

    def simulator(self) -> engine.Simulator:
        """The engine's, as anyone would make it."""
        import engine
        from engine.spatial import inertia

        box, builder = self.shape == "box", engine.Builder(self.shape)
        look = engine.Geometry("box", (2.0 * HALF,) * 3) if box else engine.Geometry("sphere", (HALF,))
        weighs = inertia.box(MASS, (2.0 * HALF,) * 3) if box else inertia.sphere(MASS, HALF)
        builder.add_link(self.shape, inertia=weighs, collisions=[look])
        body = builder.model(floating_base=True)
        model = engine.combine(**{f"{self.shape}{k}": body for k in range(self.n)})
        surface = engine.ContactMaterial(stiffness=2e5, dissipation=2.0, friction=FRICTION)
        return engine.Simulator(model, DT, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))

    def peer(self) -> mujoco.MjModel:
        """MuJoCo's, with elliptic cones and its implicitfast."""
        import mujoco

        spec = mujoco.MjSpec()
        spec.memory = 1 << 32                                                  # of which it touches what it needs
        spec.option.timestep, spec.option.cone = DT, mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        surface = {"condim": 3, "friction": [FRICTION, 0.0, 0.0], "solref": [SOFT, 1.0]}
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **surface)
        kind = mujoco.mjtGeom.mjGEOM_BOX if self.shape == "box" else mujoco.mjtGeom.mjGEOM_SPHERE
        for k in range(self.n):
            body = spec.worldbody.add_body(name=f"{self.shape}{k}")
            body.add_freejoint(name=f"free{k}")
            body.add_geom(type=kind, size=[HALF] * 3, mass=MASS, **surface)
        return spec.compile()


def to_peer(q: Array, v: Array) -> tuple[Array, Array]:
    """q and v of free bodies in MuJoCo's order: place before turn; velocity in the world's axes, before angular velocity in the body's."""
    from engine.spatial import quaternion

    q, v = q.reshape(-1, 7), v.reshape(-1, 6)
    speed = np.array([quaternion.to_matrix(a) @ b for a, b in zip(q[:, :4], v[:, 3:], strict=True)])
    return np.hstack([q[:, 4:], q[:, :4]]).ravel(), np.hstack([speed, v[:, :3]]).ravel()


def timed(runs: Sequence[Callable[[], Any]], rounds: int = 7) -> list[float]:
    """Median seconds of CPU of each, all in turn."""
    taken = []
    for _ in range(rounds):
        ends = [time.process_time()]
        for run in runs:
            run()
            ends.append(time.process_time())
        taken.append(np.diff(ends))
    return [float(statistics.median(times)) for times in zip(*taken, strict=True)]


def compared(simulator: engine.Simulator, state: Any, peer: mujoco.MjModel, steps: int) -> tuple[float, float, float]:
    """Seconds of a step from this state: ours, by MuJoCo's Newton and by its CG; after checking that both sides go the same way."""
    import mujoco

    data, given = mujoco.MjData(peer), mujoco.mjtState.mjSTATE_INTEGRATION
    for _ in range(2):                                                         # so that its solver begins with what it has found
        data.qpos[:], data.qvel[:] = to_peer(np.array(state.q), np.array(state.v))
        mujoco.mj_forward(peer, data)
    begin = np.zeros(mujoco.mj_stateSize(peer, given))
    mujoco.mj_getState(peer, data, begin, given)

    def theirs(solver: Any) -> None:
        peer.opt.solver = solver
        mujoco.mj_setState(peer, data, begin, given)
        mujoco.mj_step(peer, data, steps)

    solvers = (mujoco.mjtSolver.mjSOL_NEWTON, mujoco.mjtSolver.mjSOL_CG)
    t, newton, cg = timed([lambda: simulator.step(state, steps), *(lambda s=s: theirs(s) for s in solvers)])
    ends = np.array(simulator.step(state, steps).q).reshape(-1, 7)[:, 4:], data.qpos.reshape(-1, 7)[:, :3]
    apart = np.abs(ends[0].mean(axis=0) - ends[1].mean(axis=0)).max()
    assert data.ncon and apart < APART, f"centres of mass differ by {apart:.2g} m"
    return t / steps, newton / steps, cg / steps


def first(*counts: int) -> list[float]:
    """Seconds of CPU to make a model of so many boxes and take its first step, one model after the other, in this process."""
    import engine  # noqa: F401, before the clock begins
    from engine.spatial import inertia  # noqa: F401

    taken = []
    for n in counts:
        scene = Scene("", "box", *stacks(n))
        begun = time.process_time()
        simulator = scene.simulator()
        simulator.step(simulator.start(scene.q0, np.zeros(6 * n)))
        taken.append(time.process_time() - begun)
    return taken


def elsewhere(cache: str, *counts: int) -> list[float]:
    """The same in a process of its own, with a cache of its own."""
    code = f"from tests.bench.scenes import first; print(first(*{counts}))"
    own = {**os.environ, "ENGINE_CACHE": cache}
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def scenes(table: Table) -> None:
    """First steps, steps in turn with MuJoCo's where bodies tumble and where they rest, and cost by number."""
    import engine

    engine.set_threads(1)
    reach = HALF * 3.0**0.5
    heaps = [(Scene(f"heap of {n} boxes", "box", *heap(n, reach)), (TUMBLING, "tumbling", 1.5 if n < 100 else 2.0),
              (RESTS, "at rest", 2.5 if n < 100 else 2.0)) for n in (8, 24, 100)]  # fmt: skip
    balls = Scene("24 balls", "sphere", *heap(24, HALF)), (TUMBLING, "falling", 1.5), (RESTS, "rolling", 1.5)
    strewn = Scene("24 boxes, each alone", "box", *apart(24, reach)), (TUMBLING, "tumbling", 1.5), (RESTS, "at rest", 2.5)
    towers = Scene("1000 boxes in stacks of five", "box", *stacks(1000)), (STANDS, "at rest", 5.0)
    for scene, *moments in (*heaps, strewn, balls, towers):
        one_scene(table, scene, moments)
    with tempfile.TemporaryDirectory() as empty:
        taken, again = elsewhere(empty, 24, 100)
    table.add("scenes", "24 boxes, to the first step, nothing cached", taken, "s of CPU", f"<= {FIRST:g}", taken <= FIRST)
    table.add("scenes", "then 100 boxes, in the same process", again, "s of CPU", f"<= {AGAIN:g}", again <= AGAIN)
    (again,) = elsewhere(os.environ["ENGINE_CACHE"], 200)
    table.add("scenes", "200 boxes, another process, all cached", again, "s of CPU", f"<= {AGAIN:g}", again <= AGAIN)
    growth(table)


def one_scene(table: Table, scene: Scene, moments: Sequence[tuple[float, str, float]]) -> None:
    """A step at some moments (s, what it is like then, how many times as fast as MuJoCo it should be)."""
    simulator, peer, n = scene.simulator(), scene.peer(), scene.n
    state, gone = simulator.start(scene.q0, np.zeros(6 * n)), 0
    for moment, how, least in moments:
        state, gone = simulator.step(state, round(moment / DT) - gone), round(moment / DT)
        t, newton, cg = compared(simulator, state, peer, 50 if n <= 100 else 10)
        ratio = min(newton, cg) / t
        table.add("scenes", f"{scene.name}, {how}", ratio, "x MuJoCo", f">= {least:g}", ratio >= least, ours_us=t * 1e6,
                  newton_us=newton * 1e6, cg_us=cg * 1e6, speed=float(np.abs(state.v).max()))  # fmt: skip


def growth(table: Table) -> None:
    """A step of boxes in stacks, by their number."""
    each = {}
    for n in (100, 1000, 3000):
        scene = Scene("", "box", *stacks(n))
        simulator = scene.simulator()
        state = simulator.step(simulator.start(scene.q0, np.zeros(6 * n)), round(STANDS / DT))
        steps = 3000 // n
        (t,) = timed([lambda run=simulator, x=state, k=steps: run.step(x, k)], 5)
        each[n] = t / steps / n
        table.add("scenes", f"{n} boxes in stacks of five, a step of each", each[n] * 1e6, "us")
    grown = each[3000] / each[100]
    table.add("scenes", "a step of each of 3000 over each of 100", grown, "x", "<= 1.5", grown <= 1.5)
