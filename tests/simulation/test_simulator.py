"""The simulator: conservation laws, closed forms, other routes and oracles, recording, and what it says about bad input."""

import dataclasses
import re
import tempfile
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import engine
from engine import dynamics, integrate, ops
from engine.components.actuators import Motor, ReactionWheels, Thrusters
from engine.components.forces import JointSpring, PointForce
from engine.spatial import inertia, se3
from tests import trees
from tests.dynamics.oracle_mujoco import MuJoCo, built
from tests.dynamics.oracle_mujoco import from_urdf as mujoco_from_urdf
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.oracle_pinocchio import built as from_builder
from tests.dynamics.support import file, robot
from tests.trees import random_inertia, random_tree

ASSET = engine.example("free_flyer")


def pendulum(length=1.0, mass=2.0) -> engine.Model:
    arm = engine.Builder("pendulum")
    arm.add_link("base")
    arm.add_link("bob", inertia=inertia.from_mass(mass, [0, 0, -length], np.zeros((3, 3))))
    arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0])
    return arm.model()


def slider(mass=2.0, **joint) -> engine.Model:
    cart = engine.Builder("slider")
    cart.add_link("rail"), cart.add_link("cart", inertia=inertia.sphere(mass, 0.1))
    cart.add_joint("slide", "prismatic", "rail", "cart", axis=[1, 0, 0], **joint)
    return cart.model()


@pytest.fixture(scope="module")
def flyer():
    """A body that floats, with an arm of three joints."""
    model = trees.flyer(3, 30.0)
    q, v = model.random(np.random.default_rng(1))
    return model, q, 0.1 * v


# ---------------------------------------------------------------- laws


def test_momentum_of_a_free_arm_with_internal_torques(flyer):
    model, q, v = flyer

    def motors(t, q, v):
        return np.concatenate([np.zeros(6), 5.0 * np.sin(t) * np.ones(3) - 2.0 * v[6:]])

    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=motors).run(q, v, 2.0, record_every=20)
    P = trajectory.momentum()
    assert np.abs(P - P[0]).max() < 1e-10 * np.abs(P[0]).max()


def test_energy_changes_by_the_work_of_the_controller(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, -1.0), joint_dynamics=False, controller=lambda t, q, v: np.concatenate(
        [np.zeros(6), np.cos(2 * t) * np.ones(3)])).run(q, v, 1.0)  # fmt: skip
    K, U = trajectory.energy()
    power = np.vecdot(trajectory.tau, trajectory.v)
    work = (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum() + power[-1]) * 1e-3 / 3
    assert abs((K + U)[-1] - (K + U)[0] - work) < 1e-9 * np.abs(K).max()


def test_quaternions_stay_unit(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 5.0, record_every=1000)
    assert np.abs(np.linalg.norm(trajectory.q[:, :4], axis=1) - 1).max() < 1e-15


def test_pendulum_period():
    """T = 4 √(l/g) K(sin² θ₀/2): after one period the pendulum is where it began."""
    theta, g = 2.0, 9.81
    period = 4 * np.sqrt(1 / g) * ellipk(np.sin(theta / 2) ** 2)
    trajectory = engine.Simulator(pendulum(), dt=1e-3).run([theta], [0.0], float(period))
    assert trajectory.t[-1] == period
    assert abs(trajectory.q[-1, 0] - theta) < 1e-9
    assert abs(trajectory.v[-1, 0]) < 1e-8


# ---------------------------------------------------------------- other routes


def test_compiled_loop_equals_plain_steps():
    """The machine code's loop and the same lines on floats, with a controller, a wrench and a generalized force."""
    rng = np.random.default_rng(5)
    model = random_tree(rng, 6, floating_base=True)
    q, v = model.random(rng)
    wrench = rng.standard_normal((len(model.links), 6))

    def controller(t, q, v):
        return -0.1 * v + ops.cos(t)

    def push(t, q, v):
        return wrench * t

    def drag(t, q, v):
        return -0.05 * v

    trajectory = engine.Simulator(model, dt=2e-3, controller=controller, forces=[push, drag]).run(q, v, 0.02)
    h = 2e-3
    for k in range(10):
        def field(t, q, v):
            return dynamics.aba(model, q, v, controller(t, q, v) + drag(t, q, v), wrenches=push(t, q, v))

        system = integrate.Mechanical(model.manifold, field)
        q, v = system.split(integrate.step(integrate.CG4, system, k * h, h, np.concatenate([q, v])))
        q = model.normalized(q)
        assert np.abs(trajectory.q[k + 1] - q).max() < 1e-12 * max(1, np.abs(q).max())  # its place comes from the centre of mass
        assert np.abs(trajectory.v[k + 1] - v).max() < 1e-12 * np.abs(v).max()
        assert np.allclose(trajectory.tau[k + 1], controller((k + 1) * h, q, v), rtol=1e-12, atol=1e-13)


def test_double_pendulum_against_dop853():
    arm = engine.Builder("double pendulum")
    bob = inertia.from_mass(1.0, [0, 0, -0.5], 0.01 * np.eye(3))
    arm.add_link("base"), arm.add_link("upper", inertia=bob), arm.add_link("lower", inertia=bob)
    arm.add_joint("shoulder", "revolute", "base", "upper", axis=[0, 1, 0])
    arm.add_joint("elbow", "revolute", "upper", "lower", axis=[0, 1, 0], placement=se3.pose(np.eye(3), np.array([0, 0, -1.0])))
    model = arm.model()
    robot = engine.compile(model)
    trajectory = engine.Simulator(model, dt=5e-4).run([1.0, 0.5], [0.0, 0.0], 2.0, record_every=4000)
    y = solve_ivp(lambda t, y: np.concatenate([y[2:], robot.aba(y[:2].copy(), y[2:].copy(), np.zeros(2))]), (0, 2), [1.0, 0.5, 0, 0],
                  method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]  # fmt: skip
    assert np.abs(np.concatenate([trajectory.q[-1], trajectory.v[-1]]) - y).max() < 1e-9


def planar_arm() -> engine.Model:
    """Three links with inertias of every kind."""
    arm = engine.Builder("arm")
    arm.add_link("base")
    for k, axis in enumerate(([0, 1, 0], [1, 0, 0], [0, 1, 0.0])):
        arm.add_link(f"l{k}", inertia=inertia.from_mass(1.0 - 0.2 * k, [0.02, 0.05, -0.3], np.diag([0.01, 0.02, 0.015])))
        arm.add_joint(f"j{k}", "revolute", f"l{k - 1}" if k else "base", f"l{k}", axis=axis,
                      placement=se3.pose(np.eye(3), np.array([0, 0.1, -0.6 * (k > 0)])))  # fmt: skip
    return arm.model()


@pytest.mark.parametrize("name", ["three links", "Panda"])
def test_fixed_arms_against_mujoco_and_against_dop853_on_pinocchio(name):
    """Falling from a bent pose with torques in the joints: MuJoCo's RK4, and scipy's DOP853 on another's forward dynamics."""
    if name == "Panda":
        model, q = robot("panda"), np.array([0.3, -0.4, 0.2, -1.8, 0.5, 1.6, 0.4, 0.02])
        path, dt, T = file("panda"), 2.5e-4, 0.2
        graph = model.graph.copy()
        for parent, child, joint in list(graph.edges.data("joint")):
            graph.edges[parent, child]["joint"] = dataclasses.replace(joint, mimic=None)
        model = engine.Model.from_graph(graph)
        q = np.append(q, 0.02)[: model.nq]
        theirs, peer = from_urdf(path), mujoco_from_urdf(path)
    else:
        model, q, dt, T = planar_arm(), np.array([1.0, -0.7, 0.8]), 5e-4, 1.0
        theirs, peer = from_builder(model), built(model)
    torque = 2.0 * 0.3 ** np.arange(model.nv) * (np.arange(model.nv) < 7)
    v = np.linspace(0.4, -0.3, model.nv)
    trajectory = engine.Simulator(model, dt=dt, joint_dynamics=False, controller=lambda t, q, v: torque).run(q, v, T, record_every=10**6)
    end = np.concatenate([trajectory.q[-1], trajectory.v[-1]])
    assert np.abs(end[: model.nq] - q).max() > 0.05
    other = Pinocchio(model, theirs, (0, 0, -9.81))
    n = model.nq
    y = solve_ivp(lambda t, y: np.concatenate([y[n:], other.aba(y[:n], y[n:], torque)]), (0, T), np.concatenate([q, v]),
                  method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]  # fmt: skip
    assert np.abs(end - y).max() < 1e-9
    third = MuJoCo(model, peer, (0, 0, -9.81))
    peer.opt.integrator, peer.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt / 2
    third.set(q, v)
    third.data.qfrc_applied[[at for _, _, at in third.joints]] = torque
    mujoco.mj_step(peer, third.data, round(2 * T / dt))
    found = [[a[at] for _, *places in third.joints for at in places[k : k + 1]] for k, a in enumerate((third.data.qpos, third.data.qvel))]
    assert np.abs(end - np.concatenate(found)).max() < 1e-9


def test_free_flyer_against_mujoco():
    """The same free arm, coasting, by MuJoCo's RK4 at a step small enough for nine digits."""
    from tests.bench.robots import mujoco_model

    model = engine.load_urdf(ASSET, floating_base=True)
    q, v = model.random(np.random.default_rng(1))
    v *= 0.1
    peer = mujoco_model(ASSET, "bus", 1e-3)
    data = mujoco.MjData(peer)
    R = se3.rotation(dynamics.forward_kinematics(model, q)[0])
    data.qpos[:], data.qvel[:] = np.concatenate([q[4:7], q[:4], q[7:]]), np.concatenate([R @ v[3:6], v[:3], v[6:]])
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 1.0, record_every=1000)
    mujoco.mj_step(peer, data, 1000)
    end = np.concatenate([data.qpos[3:7], data.qpos[:3], data.qpos[7:]])
    assert np.abs(model.difference(end, trajectory.q[-1])).max() < 1e-9


# ---------------------------------------------------------------- what functions may ask for


def test_functions_get_what_they_ask_for_by_name():
    """All of it against the plain functions, at every state of a run."""
    rng = np.random.default_rng(2)
    model = random_tree(rng, 3, ("revolute", "spherical", "prismatic"), floating_base=True)
    q, v = model.random(rng)
    wheels = ReactionWheels("l0", [[0, 0, 1]], initial=[2.0])
    seen = {
        "poses": lambda m, q, v: dynamics.forward_kinematics(m, q), "twists": dynamics.twists,
        "pose": lambda m, q, v: dynamics.forward_kinematics(m, q)[m.link_index("l2")],
        "twist": lambda m, q, v: dynamics.twists(m, q, v)[m.link_index("l2")],
        "jacobian": lambda m, q, v: dynamics.jacobian(m, q, "l2"),
        "gravity": lambda m, q, v: np.array([0, 1.0, -2]), "gain": lambda m, q, v: np.array([[1.0, 2], [3, 4]]),
    }  # fmt: skip
    weights = {n: rng.standard_normal(np.shape(f(model, q, v))) for n, f in seen.items()}

    def watch(t, q, v, poses, twists, pose, twist, jacobian, gravity, gain, states, model, unknown_with_default=0.0):
        given = {"poses": poses, "twists": twists, "pose": pose("l2"), "twist": twist("l2"), "jacobian": jacobian("l2"),
                 "gravity": np.array(gravity), "gain": gain}  # fmt: skip
        x = sum((weights[n] * given[n]).sum() for n in weights) + states["wheels"][0] + unknown_with_default
        assert model.nv == len(v)
        return {"l0": np.concatenate([np.zeros(3), ops.array([0.0, 0.0, 1.0]) * x])}

    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 1.0, -2), forces=[watch], actuators=[wheels],
                                 parameters={"gain": [[1.0, 2], [3, 4]]}, controller=lambda t, q, v: {"wheels": np.ones(1)})  # fmt: skip
    trajectory = simulator.run(q, v, 0.01, record_every=5)
    assert abs(trajectory("wheels.momentum")[-1, 0] - 1.99) < 1e-14
    for k in range(3):
        q, v, h = trajectory.q[k], trajectory.v[k], trajectory("wheels.momentum")[k, 0]
        x = sum((weights[n] * f(model, q, v)).sum() for n, f in seen.items()) + h
        V = dynamics.twists(model, q, v)[0]
        assert abs(trajectory("watch.power")[k] - x * V[5]) < 1e-11 * abs(x)


@pytest.mark.parametrize("compiled", [True, False])
def test_integral_controller(compiled):
    """A state of its own: m x‴ + d ẍ + k ẋ + i x = 0 by its eigenvalues."""
    m, d, k, i = 2.0, 3.0, 20.0, 6.0
    control = engine.Law(lambda t, q, v, state: (-k * q - d * v - i * state, q), state=[0.2])
    simulator = engine.Simulator(slider(m), dt=1e-2, gravity=(0, 0, 0), controller=control, compiled=compiled)
    trajectory = simulator.run([1.0], [-0.5], 2.0)
    s = np.roots([m, d, k, i])
    a = np.linalg.solve(np.vander(s, 3, increasing=True).T, [0.2, 1.0, -0.5])
    assert np.abs(trajectory.q[:, 0] - ((np.exp(np.outer(trajectory.t, s)) * s) @ a).real).max() < 1e-7
    assert np.abs(trajectory("controller.state")[:, 0] - (np.exp(np.outer(trajectory.t, s)) @ a).real).max() < 1e-7


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("period", [0.03, 0.01, 0.025, 0.0333])
def test_held_controllers(period, compiled):
    """Evaluated at the first step that reaches k · period, exactly as x⁺ of a motion under a constant force."""
    dt, n = 0.01, 60
    control = engine.Law(lambda t, q, v: -3.0 * q - v + t, period=period)
    trajectory = engine.Simulator(slider(), dt=dt, gravity=(0, 0, 0), controller=control, compiled=compiled).run([1.0], [0.5], n * dt)
    x, v, u, due, held = 1.0, 0.5, 0.0, 0.0, []
    for k in range(n):
        if k * dt >= due - 1e-9:
            u, due = -3.0 * x - v + k * dt, due + period
        held.append(u)
        x, v = x + dt * v + 0.5 * dt**2 * u / 2.0, v + dt * u / 2.0
        assert abs(trajectory.q[k + 1, 0] - x) < 1e-14 and abs(trajectory.v[k + 1, 0] - v) < 1e-14
    assert np.abs(trajectory.tau[:-1, 0] - held).max() < 1e-13
    if period >= dt:
        assert abs(len(np.unique(trajectory.tau[:-1])) - n * dt / period) < 1.01


# ---------------------------------------------------------------- parameters


def test_parameters_of_a_rollout_are_those_of_another_simulator():
    """Mass and inertia of links (one welded to another), gravity and a gain, each in a batch, against models made with those numbers."""
    body, rng = engine.Builder("bus with an arm"), np.random.default_rng(1)
    for name in ("bus", "arm", "gripper"):
        body.add_link(name, inertia=random_inertia(rng))
    body.add_joint("elbow", "revolute", "bus", "arm", axis=[0, 1, 0])
    body.add_joint("weld", "fixed", "arm", "gripper", placement=se3.pose(np.eye(3), np.array([0.1, 0.2, 0.5])))
    model = body.model(floating_base=True)
    q, v = model.random(rng)
    G = model.link("bus").inertia
    values = {"mass.gripper": np.array([2.0, 7.0]), "inertia.bus": np.stack([1.1 * G, 0.8 * G]),
              "gravity": np.array([[0, 0, -1.0], [0.5, 0, 0]]), "gain": np.array([0.1, 3.0])}  # fmt: skip
    given = {"mass.gripper": model.link("gripper").mass, "inertia.bus": G, "gravity": (0, 0, 0), "gain": 1.0}
    simulator = engine.Simulator(model, dt=1e-3, parameters=given, controller=lambda t, q, v, gain: -gain * v, joint_dynamics=False)
    batch = simulator.run(q, v, 0.2, record_every=20, parameters=values)
    assert np.abs(batch.q[0, -1] - batch.q[1, -1]).max() > 1e-3
    for k in range(2):
        graph = model.graph.copy()
        own = model.link("gripper")
        changed = {"gripper": own.inertia * (values["mass.gripper"][k] / own.mass), "bus": values["inertia.bus"][k]}
        for name, inertia_ in changed.items():
            graph.nodes[name]["link"] = dataclasses.replace(graph.nodes[name]["link"], inertia=inertia_)
        other = engine.Simulator(engine.Model.from_graph(graph, floating_base=True), dt=1e-3, gravity=values["gravity"][k],
                                 controller=lambda t, q, v, k=k: -values["gain"][k] * v, joint_dynamics=False)  # fmt: skip
        one = other.run(q, v, 0.2, record_every=20)
        assert np.abs(one.q - batch.q[k]).max() < 1e-12 and np.abs(one.v - batch.v[k]).max() < 1e-11
    alone = simulator.run(q, v, 0.2, record_every=20, parameters={n: x[1] for n, x in values.items()})
    assert (alone.q == batch.q[1]).all() and (alone.v == batch.v[1]).all()
    default = simulator.run(q, v, 0.2, record_every=20)
    same = simulator.run(q, v, 0.2, record_every=20, parameters=given)
    assert (default.q == same.q).all() and np.abs(default.q[-1] - alone.q[-1]).max() > 1e-3


# ---------------------------------------------------------------- not compiled, in pieces, on threads


def everything(compiled=True, **more) -> engine.Simulator:
    """A small satellite with an arm, everything that acts, states, memories and a held controller."""
    body = engine.Builder("satellite with an arm")
    body.add_link("bus", inertia=inertia.from_mass(10.0, [0.01, 0, 0.02], np.diag([2.0, 3.0, 4.0])))
    body.add_link("arm", inertia=inertia.from_mass(2.0, [0, 0, 0.5], np.diag([0.2, 0.2, 0.02])))
    limits = engine.Limits(lower=-0.2, upper=0.2)
    body.add_joint("elbow", "revolute", "bus", "arm", axis=[0, 1, 0], limits=limits, damping=0.3, friction=0.1)
    jets = Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 1]], most=1.0, pulse=0.03)

    def control(t, q, v, state, gain):
        return {"thrusters": ops.array([ops.sin(30 * t), v[0]]), "wheels": -gain * v[:3], "tau": 0.1 * ops.sin(5 * t) - state[0] * v}, v[:1]

    return engine.Simulator(
        body.model(floating_base=True), gravity=(0, 0, -0.3), parameters={"gain": 0.2}, compiled=compiled,
        actuators=[jets, ReactionWheels("bus", momentum=0.1), Motor("elbow", 10.0, 1e-3, 0.03, 2.0)],
        forces=[JointSpring("elbow", 0.5), PointForce("arm", [0.1, 0, 0]), lambda t, q, v: -0.01 * v],
        controller=engine.Law(control, state=[0.1], period=0.013), **{"dt": 5e-3, **more})  # fmt: skip


BEGIN = np.array([1.0, 0, 0, 0, 0.5, 0, 0, 0.15]), np.array([0.3, -0.2, 0.5, 0.1, 0, 0.2, 0.6])


def test_not_compiled_is_the_same_to_rounding():
    one, two = (everything(compiled).run(*BEGIN, 0.1) for compiled in (True, False))
    assert one.signals.keys() == two.signals.keys() and (one.t == two.t).all()
    for name, x in {"q": one.q, "v": one.v, "vdot": one.vdot, "tau": one.tau, **one.signals}.items():
        y = getattr(two, name) if name in ("q", "v", "vdot", "tau") else two(name)
        assert np.abs(x - y).max() <= 1e-11 * max(1.0, np.abs(x).max()), name
    assert one("stops.power").any() and one("motor of elbow.saturated").any() and one("thrusters.thrust").any()


def test_an_untraceable_controller_runs_when_not_compiled():
    def control(t, q, v):
        return -np.linalg.inv(np.array([[2.0]])) @ q if t < 0.05 else np.array([float(-0.5 * q[0])])

    one = engine.Simulator(slider(), dt=1e-2, gravity=(0, 0, 0), controller=control, compiled=False).run([1.0], [0.0], 0.1)
    two = engine.Simulator(slider(), dt=1e-2, gravity=(0, 0, 0), controller=lambda t, q, v: -0.5 * q).run([1.0], [0.0], 0.1)
    assert np.abs(one.q - two.q).max() < 1e-15
    with pytest.raises(engine.SimulationError, match=r"a batch .* with compiled=False; expected one rollout"):
        engine.Simulator(slider(), compiled=False).run(np.zeros((2, 1)), np.zeros(1), 0.1)


def test_steps_are_the_run_to_the_bit():
    """One by one, several at once, and in a batch, with all that is held and remembered."""
    simulator = everything()
    whole = simulator.run(*BEGIN, 0.5)
    state = simulator.start(*BEGIN)
    for k in [0, *range(1, 8), 30, 31, 100]:
        state = simulator.step(state, k - state.origin.steps) if k > state.origin.steps else state
        assert state.t == whole.t[k] and (state.q == whole.q[k]).all() and (state.v == whole.v[k]).all()
        assert (state.vdot == whole.vdot[k]).all() and (state.tau == whole.tau[k]).all()
        assert all((state.signals[n] == whole(n)[k]).all() for n in whole.signals)
    speeds = np.stack([BEGIN[1], 0.5 * BEGIN[1]])
    both = simulator.step(simulator.start(BEGIN[0], speeds), 31)
    assert (both.q[0] == whole.q[31]).all() and (both.q[1] != whole.q[31]).any()
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(engine.SimulationError, match="expected a whole number of steps from 1"):
            simulator.step(state, wrong)


@pytest.mark.filterwarnings("ignore:.*beyond its limits:engine.SimulationWarning")
def test_batches_are_the_single_runs_to_the_bit_on_any_number_of_threads():
    simulator, n = everything(), 67
    gains, speeds = np.linspace(0.0, 1.0, n), BEGIN[1] * np.linspace(0.2, 1.5, n)[:, None]
    before, found = engine.get_threads(), []
    try:
        for threads in (1, 2, 3):
            engine.set_threads(threads)
            found.append(simulator.run(BEGIN[0], speeds, 0.3, record_every=7, parameters={"gain": gains}))
    finally:
        engine.set_threads(before)
    for other in found[1:]:
        assert (other.q == found[0].q).all() and (other.v == found[0].v).all()
        assert all((other(n) == found[0](n)).all() for n in other.signals)
    for k in (0, 33, 66):
        one = simulator.run(BEGIN[0], speeds[k], 0.3, record_every=7, parameters={"gain": gains[k]})
        assert (one.q == found[0].q[k]).all() and all((one(n) == found[0](n)[k]).all() for n in one.signals)


@pytest.mark.parametrize("duration", [1.0, 0.9999, 1.00001, 0.0305, 0.0001, 1e-9, 0.3])
@pytest.mark.parametrize("record_every", [1, 7, 10**6])
def test_durations_are_met_exactly(duration, record_every):
    """Also those that are no multiple of dt; a free slide is where it should be."""
    trajectory = engine.Simulator(slider(), dt=1e-2, gravity=(0, 0, 0)).run([0.0], [1.0], duration, record_every)
    assert trajectory.t[0] == 0 and abs(trajectory.t[-1] - duration) <= 1e-15 and np.abs(trajectory.q[:, 0] - trajectory.t).max() < 1e-13
    assert (np.diff(trajectory.t) > 0).all() and np.allclose(np.diff(trajectory.t)[:-1], 1e-2 * record_every, rtol=1e-9)


@pytest.mark.parametrize(("name", "order"), [("cg3", 3), ("cg4", 4), ("cf4", 4), ("rkmk4", 4), ("rkmk5", 5), ("implicit_midpoint", 2)])
def test_integrators_keep_their_order_where_momentum_is_kept(name, order):
    """A floating base with a swinging arm, pushed from outside: errors by halving; all converge to the same."""
    body = engine.Builder("swing")
    body.add_link("a", inertia=inertia.from_mass(5.0, [0.1, 0, 0], np.diag([1.0, 2, 3])))
    body.add_link("b", inertia=inertia.from_mass(1.0, [0, 0, 0.4], np.diag([0.1, 0.1, 0.05])))
    body.add_joint("j", "revolute", "a", "b", axis=[0, 1, 0])
    model = body.model(floating_base=True)

    def push(t, q, v):
        return np.concatenate([[0.3, 0, 0.1, 0, 0.2, 0], -2 * q[7:]])

    def end(dt, name=name):
        trajectory = engine.Simulator(model, dt=dt, integrator=name, forces=[push]).run(
            model.neutral(), [0.5, 1, -0.3, 0.2, 0.1, 0, 2.0], 1.0, record_every=10**6)  # fmt: skip
        return np.concatenate([trajectory.q[-1], trajectory.v[-1]])

    limit = end(1 / 1024, "cf4")
    coarse, fine = (np.abs(end(h) - limit).max() for h in (1 / 32, 1 / 64))
    assert abs(np.log2(coarse / fine) - order) < 0.15 and fine < 1e-3


def test_random_systems_repeat_themselves_to_the_bit():
    first, again = (everything().run(*BEGIN, 0.5) for _ in range(2))
    assert (first.q == again.q).all() and (first.v == again.v).all()


# ---------------------------------------------------------------- batches and recording


def test_batch_is_bitwise_the_single_runs(flyer):
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=lambda t, q, v: -0.1 * v)
    speeds = np.linspace(0.5, 1.5, 11)[:, None] * v
    batch = simulator.run(q, speeds, 0.05, record_every=10)
    assert batch.q.shape == (11, 6, model.nq)
    for k in (0, 4, 10):
        one = simulator.run(q, speeds[k], 0.05, record_every=10)
        assert (one.q == batch.q[k]).all() and (one.v == batch.v[k]).all() and (one.tau == batch.tau[k]).all() and (one.t == batch.t).all()


def test_what_is_recorded(flyer):
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0))
    every = simulator.run(q, v, 0.0105)
    assert every.t[0] == 0 and len(every) == 12 and abs(every.t[-2] - 0.010) < 1e-15 and every.t[-1] == 0.0105
    assert (every.q[0] == model.normalized(q)).all() and (every.v[0] == v).all()
    third = simulator.run(q, v, 0.010, record_every=3)
    assert np.allclose(third.t, [0, 0.003, 0.006, 0.009, 0.010], atol=1e-15)
    assert (third.q[:4] == every.q[0:10:3]).all() and (third.q[4] == every.q[10]).all()


def test_long_runs_in_pieces_equal_short_ones(flyer):
    """Where the pieces of a run end must not show: 3000 records at once are the first of 30 000."""
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-4, gravity=(0, 0, 0))
    short, long = simulator.run(q, v, 0.3), simulator.run(q, v, 3.0)
    assert (long.q[:3001] == short.q).all() and (long.v[:3001] == short.v).all() and (long.t[:3001] == short.t).all()


def test_save(flyer):
    model, q, v = flyer
    trajectory = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v, 0.01)
    with tempfile.TemporaryDirectory() as folder:
        back = engine.load_trajectory(trajectory.save(Path(folder) / "deeper" / "run.h5"))
        assert (back.q == trajectory.q).all() and (back.t == trajectory.t).all() and back.signals.keys() == trajectory.signals.keys()


def test_progress_bar_counts_to_the_end(capsys):
    engine.Simulator(pendulum(), dt=1e-3).run([0.1], [0.0], 0.5, progress=True)
    assert "500/500 steps" in capsys.readouterr().out


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("arguments", "message"), [
    ({"dt": 0}, "dt is 0; expected a step in seconds greater than zero"),
    ({"dt": float("nan")}, "dt is nan"),
    ({"dt": 10**400}, "dt is 1000000000"),
    ({"dt": 10**9999}, "dt is int(…); expected a step"),
    ({"integrator": "cg5"}, "no integrator 'cg5' (did you mean 'cg"),
    ({"conserve_momentum": "yes"}, "conserve_momentum is 'yes'; expected True or False"),
    ({"compiled": 1}, "compiled is 1; expected True or False"),
    ({"gravity": (0, 0)}, "gravity is (0, 0); expected three finite numbers"),
    ({"controller": 3}, "a controller or force is 3; expected a function of (t, q, v)"),
    ({"controller": lambda q, v, t: q}, "<lambda> takes (q, v, t), and is called as (t, q, v)"),
    ({"controller": lambda t, q, v: np.zeros(2)}, "<lambda> returned shape (2,); expected (1,) for 'pendulum'"),
    ({"forces": [lambda t, q, v: np.zeros(3)]}, "<lambda> returned shape (3,); expected (1,) or (2, 6) for 'pendulum'"),
    ({"controller": lambda t, q, v: v if t > 1 else -v}, "cannot be compiled: use engine.ops.where"),
])  # fmt: skip
def test_bad_simulators(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), **arguments)


def test_untraceable_controller_is_named_by_its_line():
    def controller(t, q, v):
        return np.linalg.qr(np.eye(1) * q[0])[0] @ v

    with pytest.raises(engine.TraceError, match=r"test_simulator\.py:\d+: np.linalg.qr.*np.linalg.solve"):
        engine.Simulator(pendulum(), controller=controller)


@pytest.mark.parametrize(("q", "v", "duration", "message"), [
    ([0.0, 1.0], [0.0], 1.0, "q has shape (2,); expected (..., 1) for 'pendulum'"),
    ([0.0], [np.inf], 1.0, "v0[0] (joint 'pivot') is inf; expected a finite number"),
    ([np.nan], [0.0], 1.0, "q[0] (joint 'pivot') is nan"),
    ([0.0], [0.0], 0, "duration is 0; expected seconds greater than zero"),
    ([0.0], [0.0], -1.0, "duration is -1.0"),
    ([0.0], [0.0], np.inf, "duration is inf"),
])  # fmt: skip
def test_bad_runs(q, v, duration, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum()).run(q, v, duration)


def test_a_function_that_returns_nan_stops_the_run_and_keeps_the_record():
    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=lambda t, q, v: ops.where(t > 0.255, np.nan, 0.0) + 0 * v)
    with pytest.raises(engine.SimulationError, match=r"joint 'pivot' is no longer finite at t = 0\.26 s") as caught:
        simulator.run([0.1], [0.0], 1.0)
    kept = caught.value.trajectory
    assert len(kept) == 26 and np.isfinite(kept.q).all()


def test_divergence_is_reported():
    """A damper far too stiff for the step."""
    simulator = engine.Simulator(pendulum(), dt=0.1, controller=lambda t, q, v: -1e4 * v, joint_dynamics="explicit")
    with pytest.raises(engine.SimulationError, match=r"is beyond 1e\+30 at t = 0\.3 s"):
        simulator.run([0.1], [1.0], 100.0)


@pytest.mark.parametrize(("late", "message"), [
    (lambda q: 1 / 0, "control raised ZeroDivisionError: division by zero"),
    (lambda q: {}["sensor"], "control raised KeyError: 'sensor'"),
    (lambda q: q * np.nan, "control returned NaN or infinity"),
    (lambda q: np.zeros(2), "control returned shape (2,); expected (1,) for 'pendulum'"),
    (lambda q: "up", "control returned 'up'; expected numbers"),
    (lambda q: {"tao": q}, "control commands 'tao' (did you mean 'tau'?); expected some of tau"),
    (lambda q: q * 1j, "control returned array([0.+0."),
])  # fmt: skip
def test_plain_functions_that_fail_late_are_named_with_time_and_state(late, message):
    def control(t, q, v):
        return late(q) if t > 0.0195 else 0 * v

    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=control, compiled=False)
    with pytest.raises(engine.SimulationError, match=re.escape(message)) as caught:
        simulator.run([0.1], [0.0], 1.0)
    assert re.search(r"in the step from t = 0\.0[12] s, q = \[0\.09\d+\], v = \[-0\.\d+\]", str(caught.value))
    kept = caught.value.trajectory
    assert len(kept) == 2 and kept.t[-1] == 0.01 and np.isfinite(kept.q).all()
    with pytest.raises(engine.SimulationError, match=re.escape(message)):
        simulator.step(simulator.start([0.1], [0.0]), 5)


def test_forces_that_fail_late_are_named_too():
    def push(t, q, v):
        return q * (np.inf if t > 0.0195 else 1.0)

    with pytest.raises(engine.SimulationError, match=r"push returned NaN or infinity, in the step from t = 0\.0\d s"):
        engine.Simulator(pendulum(), dt=1e-2, forces=[push], compiled=False).run([0.1], [0.0], 1.0)

    def compiled(t, q, v):
        return q / ops.where(t > 0.0195, 0.0, 1.0)

    with pytest.raises(engine.SimulationError, match=r"compiled returns NaN or infinity at t = 0\.0\d+ s") as caught:
        engine.Simulator(pendulum(), dt=1e-2, forces=[compiled]).run([0.1], [0.0], 1.0)
    assert len(caught.value.trajectory) == 2


@pytest.mark.filterwarnings("ignore:.*(which nothing does|is stiff with parameter):engine.SimulationWarning")
def test_one_bad_rollout_of_a_batch_is_a_row_with_its_reason(tmp_path):
    """NaN from where it diverged on, in every array; the others are the same bits as without it."""
    simulator = engine.Simulator(pendulum(), dt=0.1, controller=lambda t, q, v, gain: -gain * v, parameters={"gain": 0.0})
    with pytest.warns(engine.SimulationWarning, match=r"1 of 3 rollouts of 'pendulum' failed, the others go on; .* The first is \[1\]"):
        found = simulator.run([0.1], [1.0], 100.0, parameters={"gain": [0.1, 1e4, 0.2]})
    assert found.failed.tolist() == [False, True, False] and list(found.reason[[0, 2]]) == ["", ""]
    assert re.search(r"at t = 0.3 s .*: the motion diverges under <lambda>, which would .* 5e\+02-fold in a step", found.reason[1])
    assert np.isfinite(found.q[1, :3]).all() and all(np.isnan(x[1, 3:]).all() for x in (found.q, found.v, found.tau, found.vdot))
    alone = simulator.run([0.1], [1.0], 100.0, parameters={"gain": [0.1, 0.2]})
    np.testing.assert_array_equal(found.q[[0, 2]], alone.q)
    assert alone.reason is None and not alone.failed.any()
    assert len(found.rollout(1)) == 3 and "diverges" in found.rollout(1).reason and len(found.rollout(0)) == 1001
    K, _ = found.energy()
    assert np.isnan(K[1, 3:]).all() and np.isfinite(K[0]).all() and np.isfinite(found.poses()[[0, 2]]).all()
    with pytest.warns(engine.SimulationWarning, match="1 of 3 rollouts"):
        path = simulator.run([0.1], [1.0], 100.0, parameters={"gain": [0.1, 1e4, 0.2]}, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(path)
    np.testing.assert_array_equal(loaded.q, found.q)
    saved = engine.load_trajectory(loaded.save(tmp_path / "saved.h5"))
    for other in (loaded, saved):
        assert other.failed.tolist() == [False, True, False] and other.reason.tolist() == found.reason.tolist()
        assert other.warnings == found.warnings and other.rollout(1).reason == found.reason[1] and other.rollout(0).reason is None
        assert other.rollout(1).failed and not other.rollout(0).failed
    for every in (3, 13, 500):                                                 # the same moment, however seldom it is recorded
        with pytest.warns(engine.SimulationWarning, match="1 of 3 rollouts"):
            assert simulator.run([0.1], [1.0], 100.0, every, parameters={"gain": [0.1, 1e4, 0.2]}).reason[1] == found.reason[1]


@pytest.mark.filterwarnings("ignore:.*which nothing does:engine.SimulationWarning")
@pytest.mark.parametrize("compiled", [True, False])
def test_why_one_rollout_failed_is_in_its_trajectory_and_in_its_file(tmp_path, compiled):
    simulator = engine.Simulator(pendulum(), dt=0.1, controller=lambda t, q, v: -1e4 * v, compiled=compiled, joint_dynamics="explicit")
    with pytest.raises(engine.SimulationError, match=r"is beyond 1e\+30 at t = 0\.3 s") as ended:
        simulator.run([0.1], [1.0], 10.0, 4)
    assert ended.value.trajectory.failed and ended.value.trajectory.reason == str(ended.value)
    with pytest.raises(engine.SimulationError, match=r"recorded until then in '.*run.h5'"):
        simulator.run([0.1], [1.0], 10.0, 4, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(tmp_path / "run.h5")
    assert loaded.failed and loaded.reason == str(ended.value) and len(loaded) == len(ended.value.trajectory) >= 1


@pytest.mark.filterwarnings("ignore:.*(which nothing does|is stiff with parameter):engine.SimulationWarning")
def test_where_all_rollouts_fail_the_run_ends_as_it_should():
    simulator = engine.Simulator(pendulum(), dt=0.1, controller=lambda t, q, v, gain: -gain * v, parameters={"gain": 0.0})
    with pytest.warns(engine.SimulationWarning, match="2 of 2 rollouts"):
        found = simulator.run([0.1], [1.0], 100.0, parameters={"gain": [2e4, 1e4]})
    assert found.failed.all() and found.t[-1] == 100.0 and len(found) == 1001 and np.isfinite(found.t).all()


def test_a_state_with_a_failed_rollout_goes_on_and_the_rollout_begins_anew_where_it_is_given_a_state():
    simulator = everything()
    n = 3
    state = simulator.step(simulator.start(np.stack([BEGIN[0]] * n), np.stack([BEGIN[1]] * n)), 40)
    broken = dataclasses.replace(state, v=np.where(np.arange(n)[:, None] == 1, 1e200, state.v))
    state = simulator.step(broken, 5)
    assert state.failed.tolist() == [False, True, False]
    q, v = (np.where(state.failed[:, None], new, old) for new, old in zip(BEGIN, (state.q, state.v), strict=True))
    fresh = dataclasses.replace(state, q=q, v=v)
    after = simulator.step(fresh, 7)
    assert not after.failed.any()
    np.testing.assert_array_equal(after.q[0], after.q[2])
    again = simulator.step(dataclasses.replace(simulator.start(*BEGIN), t=state.t), 7)
    np.testing.assert_allclose(after.q[1], again.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.signals["wheels.momentum"][1], again.signals["wheels.momentum"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("duration", "message"), [
    (1e300, "duration is 1e+300 s, 1e+303 steps of 0.001 s; expected fewer than 2⁵³"),
    (1e11, "GiB of records, and this machine has"), ("1", "duration is '1'; expected seconds greater than zero"),
    (True, "duration is True"), (np.nan, "duration is nan"), (None, "duration is None"), ([1.0], "duration is [1.0]"),
])  # fmt: skip
def test_absurd_durations(duration, message):
    with pytest.raises(engine.SimulationError, match=re.escape(message)):
        engine.Simulator(pendulum()).run([0.0], [0.0], duration)


@pytest.mark.parametrize(("given", "wanted", "message"), [
    ({"gain": 1.0}, {"gian": 2.0}, "no parameter 'gian' (did you mean 'gain'?); expected some of gain"),
    ({}, {"gain": 2.0}, "no parameter 'gain'; expected some of (none: give parameters to the Simulator)"),
    ({"gain": [1.0, 2]}, {"gain": [1.0, 2, 3]}, "parameter 'gain' has shape (3,); expected (..., 2)"),
    ({"gain": 1.0}, {"gain": [np.nan]}, "parameter 'gain' holds NaN or infinity; expected finite numbers"),
    ({"gain": "x"}, {}, "parameter 'gain' is 'x'; expected numbers"),
    ({"v": 1.0}, {}, "a parameter is named 'v', which functions have anyway; expected another name"),
    ({"mass.bop": 1.0}, {}, "parameter 'mass.bop': no link 'bop' in 'pendulum' (did you mean 'bob'?)"),
    ({"mass.base": 1.0}, {}, "parameter 'mass.base': link 'base' does not move; expected a mass above zero, of a link with mass"),
    ({"mass.bob": -1.0}, {}, "parameter 'mass.bob' is -1; expected a mass above zero"),
    ({"mass.bob": 1.0}, {"mass.bob": [1.0, 0.0]}, "parameter 'mass.bob' is 0 in row 1; expected a mass above zero"),
    ({"inertia.bob": np.eye(3)}, {}, "expected a 6×6 inertia"),
    ({"mas.bob": 1.0}, {}, "nothing reads the parameter 'mas.bob' (did you mean 'mass.bob'?); expected one that a force, the"),
    ({"gravty": (0.0, 0.0, 0.0)}, {}, "nothing reads the parameter 'gravty' (did you mean 'gravity'?)"),
    ({"mass.bob": 1.0, "inertia.bob": np.eye(6)}, {}, "parameters 'mass.bob' and 'inertia.bob' are both given; expected one of them"),
    ({"inertia.bob": np.eye(6) + np.eye(6, k=1)}, {}, "parameter 'inertia.bob': it is not symmetric (by up to 1); expected a 6×6 inertia"),
    ({"gravity": [1.0, 2]}, {}, "parameter 'gravity' has shape (2,); expected (3,)"),
])  # fmt: skip
def test_bad_parameters(given, wanted, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), controller=lambda t, q, v, gain=1.0: 0.0 * np.ravel(gain)[:1] * v, parameters=given).run(
            [0.0], [0.0], 0.01, parameters=wanted)  # fmt: skip


@pytest.mark.parametrize(("make", "message"), [
    (lambda: engine.Law(3), "a Law got 3; expected a function of (t, q, v)"),
    (lambda: engine.Law(lambda t, q, v: v, period=-1), "<lambda>: the period is -1; expected seconds greater than zero"),
    (lambda: engine.Law(lambda t, q, v: v, state=[[1.0]]), "<lambda>: the state is [[1.0]]; expected a vector of finite numbers"),
    (lambda: engine.Law(lambda t, q, v: v, state=[0.0]), "<lambda> has a state of its own and takes (t, q, v); expected a parameter named"),
    (lambda: engine.Law(lambda t, q, v, state: v, state=[0.0]), "<lambda> returned ndarray; expected (result, rate of its state (1,))"),
    (lambda: lambda t, q, v, gian: v, "<lambda> asks for 'gian' (did you mean 'gain'?); expected some of model, poses"),
    (lambda: lambda t, q, v: None, "<lambda> returned None; expected numbers"),
    (lambda: lambda t, q, v: {"pivot": v[0]}, "a joint; expected some of tau, of which tau is of all joints (1), this one at 0"),
    (lambda: lambda t, q, v: {"taw": v}, "<lambda> commands 'taw' (did you mean 'tau'?); expected some of tau"),
])  # fmt: skip
def test_bad_controllers(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), controller=make(), parameters={"gain": 1.0})


def test_singular_model_names_the_joint():
    arm = engine.Builder()
    arm.add_link("base"), arm.add_link("ghost")
    arm.add_joint("pivot", "revolute", "base", "ghost")
    with pytest.raises(engine.StateError, match="joint 'pivot' moves no mass"):
        engine.Simulator(arm.model())
