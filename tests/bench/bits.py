"""Whether results are the same bits as before a change: ``python -m tests.bench.bits FILE`` records them, and compares once FILE is there.

Bits depend on the processor, so a file serves the machine that wrote it. Everything goes through public names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import engine
from engine import ops
from engine.components.actuators import Motor, ReactionWheels, Thrusters
from engine.components.controllers import attitude_control, computed_torque, minimum_jerk
from engine.components.forces import JointSpring, PointForce
from tests.bench.robots import FILES

Array = np.ndarray
ZERO = (0.0, 0.0, 0.0)
METHODS = ("lie_euler", "lie_euler_world", "semi_implicit_euler", "cg3", "cg4", "cf4", "rkmk4", "rkmk5", "implicit_midpoint")


def flyer() -> engine.Model:
    return engine.load_urdf(engine.example("free_flyer"), floating_base=True)


def load(name: str) -> engine.Model:
    path, floating = FILES[name]
    return engine.load_urdf(path, floating_base=floating)


def start(model: engine.Model, *batch: int) -> tuple[Array, Array]:
    states = [model.random(np.random.default_rng(k)) for k in range(int(np.prod(batch)))]
    q, v = (np.array([s[i] for s in states]).reshape(*batch, -1) for i in range(2))
    return q, 0.1 * v


def arrays(t: engine.Trajectory) -> dict[str, Array]:
    found = {n: getattr(t, n) for n in ("t", "q", "v", "tau", "vdot")} | t.signals
    found |= {f"event {k} {n}": np.array(getattr(e, n)) for k, e in enumerate(t.events) for n in ("t", "q", "v")}
    if t.stopped is not None:
        found["stopped"] = t.stopped
    if t.model.nv:
        found["energy"], found["momentum"] = np.array(t.energy()), t.momentum()
    return found


def damping(t, q, v):  # type: ignore[no-untyped-def]
    return np.concatenate([np.zeros(6), -0.5 * v[6:]])


def models() -> Iterator[tuple[str, Callable[[], dict[str, Array]]]]:
    """Runs of models: every method, every kind of component, batches, parameters, events, adaptive steps."""
    for method in METHODS:
        def run(method: str = method) -> dict[str, Array]:
            model = flyer()
            q, v = start(model)
            return arrays(engine.Simulator(model, dt=1e-2, integrator=method, gravity=ZERO, controller=damping).run(q, v, 0.5))

        yield f"flyer {method}", run

    for name in ("Panda", "TALOS", "UR5"):
        def robot(name: str = name) -> dict[str, Array]:
            model = load(name)
            q, _ = start(model)
            return arrays(engine.Simulator(model, dt=1e-4).run(q, np.zeros(model.nv), 0.02, record_every=7))

        yield f"{name} as its file says", robot

        def batch(name: str = name) -> dict[str, Array]:
            model = load(name)
            q, v = start(model, 5)
            return arrays(engine.Simulator(model, dt=1e-4, integrator="rkmk4", joint_dynamics=False).run(q, v, 0.01, record_every=10))

        yield f"{name} in a batch", batch

    def wheels() -> dict[str, Array]:
        model = flyer()
        q, v = start(model, 3)
        own = ReactionWheels("bus", torque=2.0, momentum=50.0)
        simulator = engine.Simulator(model, dt=1e-2, gravity=ZERO, actuators=[own], parameters={"mass.bus": 500.0},
                                     controller=attitude_control(model, own, bandwidth=0.2))  # fmt: skip
        return arrays(simulator.run(q, 0.1 * v, 1.0, parameters={"mass.bus": np.array([450.0, 500.0, 550.0])}))

    yield "wheels, masses", wheels

    def thrusters() -> dict[str, Array]:
        model = flyer()
        q, v = start(model)
        at = np.array([[0, 1, 0], [0, -1, 0], [0, 1, 0], [0, -1, 0.0]])
        own = Thrusters("bus", at, [[1, 0, 0], [-1, 0, 0], [-1, 0, 0], [1, 0, 0]], most=5.0, pulse=0.05)
        law = engine.Law(lambda t, q, v: {"thrusters": ops.array([-100.0 * v[2], -100.0 * v[2], 100.0 * v[2], 100.0 * v[2]])}, period=0.03)
        return arrays(engine.Simulator(model, dt=1e-2, gravity=ZERO, actuators=[own], controller=law).run(q, v, 1.0))

    yield "pulses, held commands", thrusters

    def motors() -> dict[str, Array]:
        model = load("UR5")
        q, v = start(model)
        names = [j.name for j in model.joints if j.type.nv == 1]
        own = [Motor(names[0], gear=100.0, rotor=1e-4, effort=50.0), Motor(names[1], gear=50.0, rotor=1e-4, effort=80.0, no_load_speed=3.0)]
        law = computed_torque(model, minimum_jerk(model, q, model.neutral(), 1.0), bandwidth=20.0)
        forces = [JointSpring(names[2], 5.0), PointForce(model.links[-1].name, (1.0, 2.0, 3.0))]
        found = engine.Simulator(model, actuators=own, controller=law, forces=forces, joint_dynamics=False).run(q, 0.1 * v, 0.5)
        return {n: x for n, x in arrays(found).items() if n != "momentum"}

    yield "motors, springs, computed torque", motors

    def states() -> dict[str, Array]:
        model = load("UR5")
        q, v = start(model)
        integral = engine.Law(lambda t, q, v, state, k: (-k * q - v - state, q), state=np.zeros(model.nq))
        simulator = engine.Simulator(model, controller=integral, parameters={"k": 3.0, "gravity": [0, 0, -1.0]}, integrator="cf4")
        return arrays(simulator.run(q, v, 0.1, parameters={"gravity": [0, 0, -2.0]}))

    yield "a law with states", states

    def stone() -> engine.Model:
        one = engine.Builder("stone")
        one.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        return one.model(floating_base=True)

    def bounces() -> dict[str, Array]:
        def ground(t, q, v):  # type: ignore[no-untyped-def]
            return q[6]

        ground.direction, ground.callback = -1, lambda t, q, v: (q, np.append(v[:5], -0.8 * v[5]))  # type: ignore[attr-defined]
        simulator = engine.Simulator(stone(), events=[ground])
        return arrays(simulator.run([1.0, 0, 0, 0, 0, 0, 1.0], np.zeros(6), 1.5, record_every=10))

    yield "a bouncing stone", bounces

    def landings() -> dict[str, Array]:
        simulator = engine.Simulator(stone(), events=[lambda t, q, v: q[6]])
        q = np.tile([1.0, 0, 0, 0, 0, 0, 1.0], (4, 1))
        q[:, 6] = [0.5, 1.0, 1.5, 5.0]
        return arrays(simulator.run(q, np.zeros(6), 0.8, record_every=10))

    yield "landings in a batch", landings

    def adaptive() -> dict[str, Array]:
        model = flyer()
        q, v = start(model)
        found = engine.Simulator(model, gravity=ZERO, controller=damping).solve(q, v, 1.0, tolerance=1e-8)
        q, v = found(np.linspace(0.0, 1.0, 7))
        return {"t": found.t, "q": q, "v": v}

    yield "steps that choose their size", adaptive

    def plain() -> dict[str, Array]:
        model = flyer()
        q, v = start(model)
        return arrays(engine.Simulator(model, dt=1e-2, gravity=ZERO, controller=damping, compiled=False).run(q, v, 0.05))

    yield "not compiled", plain

    def stepped() -> dict[str, Array]:
        model = flyer()
        q, v = start(model)
        simulator = engine.Simulator(model, dt=1e-2, gravity=ZERO, controller=damping, parameters={"mass.bus": 500.0})
        state = simulator.step(simulator.step(simulator.start(q, v), 10), 10, {"mass.bus": 400.0})
        return {"t": np.array(state.t), "q": state.q, "v": state.v, "vdot": state.vdot} | state.signals

    yield "step by step", stepped

    def recorded() -> dict[str, Array]:
        model = flyer()
        q, v = start(model, 3)
        simulator = engine.Simulator(model, dt=1e-2, gravity=ZERO, controller=damping)
        path = simulator.run(q, v, 0.5, record_every=5, out="out/bits.h5", overwrite=True)
        simulator.resume(path, 1.0)
        return arrays(engine.load_trajectory(path))

    yield "recorded and resumed", recorded

    def variational() -> dict[str, Array]:
        return arrays(engine.Simulator(stone(), integrator="dqvi", dt=1e-2).run([1.0, 0, 0, 0, 0, 0, 1.0], [1, 2, 3, 0, 0, 0], 0.5))

    yield "dqvi", variational


class Body(engine.RigidBody):
    mass, inertia, controls = 10.0, np.diag([1.0, 2.0, 3.0]), 3

    def forces(self, x, u, t):  # type: ignore[no-untyped-def]
        return -0.1 * self.linear_velocity(x) + ops.array([0.0, 0.0, -1.0])

    def moments(self, x, u, t):  # type: ignore[no-untyped-def]
        return u + ops.array([0.1 * ops.sin(t), 0.0, 0.0])


class Gimbal(engine.Dynamics):
    state, controls = engine.LieState("quaternion", 3), 3

    def dynamics(self, x, u, t):  # type: ignore[no-untyped-def]
        return np.concatenate([x[4:], u - 0.1 * x[4:]])


def bodies() -> Iterator[tuple[str, Callable[[], dict[str, Array]]]]:
    """Runs and Jacobians of rigid bodies and control systems."""
    def flown(body, integrator, *batch):  # type: ignore[no-untyped-def]
        x = np.array([body.random(np.random.default_rng(k)) for k in range(int(np.prod(batch)))]).reshape(*batch, -1)
        found = engine.compile(body).simulate(x, 0.3, 1e-2, controller=lambda x, t: -0.1 * x[-3:], integrator=integrator, record_every=3)
        return {"t": found.t, "x": found.x, "u": found.u}

    for method in (*METHODS, "dqvi"):
        yield f"body {method}", lambda method=method: flown(Body(), method)
    for attitude in ("quaternion", "mrp", "rodrigues", "rotation_vector"):
        for frame in ("world", "body"):
            yield f"body {attitude} {frame}", lambda a=attitude, f=frame: flown(Body(attitude=a, velocity_frame=f), "cg4", 3)

            def jacobians(a: str = attitude, f: str = frame) -> dict[str, Array]:
                system = engine.compile(Body(attitude=a, velocity_frame=f))
                x, u = Body(attitude=a, velocity_frame=f).random(np.random.default_rng(1)), np.ones(3)
                pairs = {"A": system.jacobians(x, u, 0.1), "error": system.error_jacobians(x, u, 0.1),
                         "discrete": system.discrete_jacobians(x, u, 0.1, 0.01), "step": system.discrete_error_jacobians(x, u, 0.1, 0.01)}
                found = {f"{n} {i}": y for n, p in pairs.items() for i, y in enumerate(p)}
                delta = 0.1 * np.arange(12.0)
                return found | {"plus": system.state_plus(x, delta), "diff": system.state_diff(system.state_plus(x, delta), x)}

            yield f"Jacobians {attitude} {frame}", jacobians
    yield "gimbal", lambda: flown(Gimbal(), "rkmk4", 2)

    def solved() -> dict[str, Array]:
        body = Body()
        found = engine.compile(body).solve(body.random(np.random.default_rng(0)), 1.0, events=[lambda t, x: t - 0.5])
        return {"t": found.t, "x": found(np.linspace(0, 1, 5)), "event": np.array(found.events[0].t)}

    yield "body with steps that choose their size", solved


def main(path: Path) -> int:
    """Record to a file that is not there; compare with one that is, and say what differs."""
    known = dict(np.load(path)) if path.exists() else None
    found: dict[str, Array] = {}
    for name, run in (*models(), *bodies()):
        found |= {f"{name}: {n}": np.asarray(x) for n, x in run().items()}
        print(".", end="", flush=True)
    print()
    if known is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **found)  # type: ignore[arg-type]
        print(f"{len(found)} arrays in {path}")
        return 0
    different = [n for n in known if n not in found or not np.array_equal(known[n], found[n], equal_nan=True)]
    for n in different:
        far = np.abs(known[n] - found[n]).max() if n in found and known[n].shape == found[n].shape else "missing or of another shape"
        print(f"{n}: differs by {far}")
    print(f"{len(known) - len(different)} of {len(known)} arrays are the same bits; new: {sorted({*found} - {*known}) or 'none'}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
