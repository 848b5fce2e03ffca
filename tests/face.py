"""What type checkers see of the public face: read by mypy (and pyright), never run.

``assert_type`` holds what a call returns, and an ``ignore`` that nothing needs is an error: so these lines are tests, of mypy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.compiled.robot_function import RobotFunction
from engine.components.actuators import ReactionWheels
from engine.simulation import Solution, State

if TYPE_CHECKING:
    from typing_extensions import assert_type

Array = NDArray[np.float64]


def models() -> engine.Model:
    assert_type(engine.example("free_flyer"), Path)
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    assert_type(model, engine.Model)
    assert_type(engine.check(engine.example("free_flyer")).ok, bool)
    arm = engine.Builder("arm")
    assert_type(arm.add_link("base"), engine.Link)
    arm.add_link("rod", inertia=np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), visuals=[engine.Geometry("box", (0.1, 0.1, 1.0))])
    assert_type(arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 1, 0], limits=engine.Limits(-1, 1)), engine.Joint)
    arm.add_joint("pivot", "revolute", "base", "rod", axes=[0, 1, 0])          # type: ignore[call-arg]
    arm.add_link("rod", mass=2.0)                                              # type: ignore[call-arg]
    assert_type(arm.model(), engine.Model)
    assert_type(model.neutral(), Array)
    assert_type(model.random(np.random.default_rng(0)), tuple[Array, Array])
    assert_type(model.integrate([1.0, 0.0], [0.0, 1.0], 0.1), Array)
    assert_type(model.joints[0].limits.lower, float)
    assert_type(model.link("bus").inertia, Array)
    return model


def elsewhere(simulator: engine.Simulator, live: engine.Live, trajectory: engine.Trajectory) -> None:
    assert_type(engine.export_fmu(simulator, "arm.fmu", inputs=["torque"], version="3.0"), Path)
    assert_type(trajectory.save("run.mcap"), Path)
    assert_type(trajectory.save("run.oem", link="bus", epoch="2026-11-27"), Path)
    with engine.bridge(live, "dds", commands={"torque": "effort"}) as bridge:
        assert_type(bridge, engine.Bridge)
    engine.export_fmu(simulator, "arm.fmu", version=3, input=["torque"])       # type: ignore[call-arg, arg-type]


def robots(model: engine.Model) -> None:
    robot = engine.compile(model, gravity=(0, 0, 0))
    assert_type(robot, engine.Robot)
    q, v = model.random(np.random.default_rng(0))
    assert_type(robot.aba(q, v, np.zeros(model.nv)), Array)
    assert_type(robot.rnea(q, v, v, wrenches=None), Array)
    assert_type(robot.energy(q, v), tuple[Array, Array])
    assert_type(robot.jacobian(q, "gripper"), Array)
    assert_type(robot.crba([1.0, 0.0]), Array)
    assert_type(robot.aba.signature, str)
    function: RobotFunction[..., Array] = robot.aba
    assert_type(function.name, str)
    robot.aba(q, v)                                                            # type: ignore[call-overload]
    robot.abba(q, v)                                                           # type: ignore[attr-defined]
    found = robot.inverse_kinematics({"gripper": [1.0, 0.0, 0.0]}, q0=q)
    assert_type(found, engine.IKResult)
    assert_type(found.q, Array)
    assert_type(engine.inverse_kinematics(model, engine.Target("gripper", np.eye(4))), engine.IKResult)


def identified(model: engine.Model, run: engine.Trajectory) -> None:
    found = engine.identify(model, run, ["inertia", "friction.elbow"])
    assert_type(found, engine.Identification)
    assert_type(found.model, engine.Model)
    assert_type(found.base.names, tuple[str, ...])
    assert_type(found.residuals, dict[str, float])
    assert_type(engine.base_parameters(engine.compile(model), by="momentum").names, tuple[str, ...])
    engine.identify(model, run, known="mass")                                  # type: ignore[call-arg]


def damping(t: float, q: Array, v: Array) -> Array:
    return -v


def simulations(model: engine.Model) -> engine.Trajectory:
    wheels = ReactionWheels("bus", torque=2.0, momentum=50.0)
    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels], controller=damping,
                                 parameters={"mass.bus": 500.0})  # fmt: skip
    trajectory = simulator.run(model.neutral(), [0.0] * model.nv, duration=1.0)
    assert_type(trajectory, engine.Trajectory)
    assert_type(simulator.run(model.neutral(), np.zeros(model.nv), 1.0, out="run.h5"), Path)
    assert_type(simulator.solve(model.neutral(), np.zeros(model.nv), 1.0), Solution)
    assert_type(simulator.step(simulator.start(model.neutral(), np.zeros(model.nv)), 10), State)
    assert_type(engine.load_trajectory("run.h5"), engine.Trajectory)
    return trajectory


def campaigns(simulator: engine.Simulator, model: engine.Model) -> engine.Runs:
    v = np.zeros(model.nv)
    campaign = engine.Campaign(simulator, model.neutral(), v, 1.0, 100, 7, {"mass.bus": object()}, metrics={"t": "final t"})
    runs = campaign.run("out")
    assert_type(runs, engine.Runs)
    assert_type(engine.load_campaign("out"), engine.Runs)
    assert_type(campaign.rerun(3), engine.Trajectory)
    assert_type(runs.rerun(3, campaign), engine.Trajectory)
    assert_type(runs.estimates()["t"].mean, float)
    campaign.run("out", stops={"t": 1.0})                                      # type: ignore[call-arg]
    return runs


def trajectories(trajectory: engine.Trajectory) -> Iterator[float]:
    assert_type(trajectory.q, Array)
    assert_type(trajectory.signals["wheels.torque"], Array)
    assert_type(trajectory("wheels.torque"), Array)
    assert_type(trajectory[10:20], engine.Trajectory)
    assert_type(trajectory.rollout(3), engine.Trajectory)
    assert_type(trajectory.at([0.1, 0.2]), engine.Trajectory)
    assert_type(trajectory.momentum(), Array)
    assert_type(trajectory.energy(), tuple[Array, Array])
    assert_type(trajectory.failed, NDArray[np.bool_])
    assert_type(trajectory.save("a.h5"), Path)
    _ = trajectory.qs                                                          # type: ignore[attr-defined]
    assert_type(engine.render(trajectory), NDArray[np.uint8])
    assert_type(engine.render(trajectory, "a.mp4"), Path)
    assert_type(engine.export(trajectory, "a.html"), Path)
    yield float(trajectory.t[-1])


class Satellite(engine.RigidBody):
    mass, inertia, controls = 10.0, np.diag([1.0, 2.0, 3.0]), 6

    def wrench(self, x: Array, u: Array, t: float) -> Array:
        return u


class Pendulum(engine.Dynamics):
    state, controls = engine.LieState(2), 1

    def dynamics(self, x: Array, u: Array, t: float) -> Array:
        return np.array([x[1], u[0] - x[0]])


def bodies() -> None:
    body = engine.compile(Satellite())
    assert_type(body, engine.CompiledSystem[engine.BodyTrajectory])
    x = Satellite().build_state(angular_velocity=[0.1, 0.2, 0.3])
    assert_type(x, Array)
    assert_type(body.simulate(x, 1.0), engine.BodyTrajectory)
    assert_type(body.simulate(x, 1.0).q, Array)
    assert_type(body.discrete_error_jacobians(x, np.zeros(6), 0.0, 0.1), tuple[Array, Array])
    swing = engine.compile(Pendulum()).simulate([0.1, 0.0], 1.0)
    assert_type(swing, engine.StateTrajectory)
    assert_type(swing.x, Array)
    _ = swing.q                                                                # type: ignore[attr-defined]


def functions(f: Any) -> None:
    assert_type(engine.gufunc(f, "(n)->()", n=3), engine.Gufunc)
    assert_type(engine.jacobian(f, "(n)->()", n=3), engine.Gufunc)
    assert_type(engine.gradient(engine.gufunc(f, "(n)->()", n=3)), engine.Gufunc)
    assert_type(engine.get_threads(), int)
