"""Motors, thrusters and reaction wheels: momentum, power, limits, other routes (MuJoCo's armature, wheels as links), closed forms."""

import re

import mujoco
import numpy as np
import pytest

import engine
from engine import ops
from engine.components.actuators import Motor, ReactionWheels, Thrusters
from engine.components.forces import JointFriction, JointSpring, PointForce
from engine.integrate import METHODS, FreeBody
from engine.spatial import inertia, quaternion, se3
from tests import trees
from tests.dynamics.oracle_mujoco import built
from tests.simulation.test_simulator import ASSET, pendulum, slider

TILTED = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]) / np.sqrt([[1], [1], [1], [3]])


@pytest.fixture(scope="module")
def flyer():
    model = engine.load_urdf(ASSET, floating_base=True)
    rng = np.random.default_rng(1)
    q = np.concatenate([quaternion.random(rng), [5.0, -2.0, 3.0], [0.3, -0.6, 0.4, 1.2, -0.5, 0.7, 0.2]])
    v = np.concatenate([[0.02, -0.05, 0.03, 0.1, -0.05, 0.02], 0.1 * rng.standard_normal(7)])
    return model, q, v


def satellite(moments=(2.0, 3.0, 4.0), center=(0.0, 0.0, 0.0)) -> engine.Model:
    body = engine.Builder("satellite")
    body.add_link("bus", inertia=inertia.from_mass(10.0, np.array(center), np.diag(moments)))
    return body.model(floating_base=True)


def boole(y, dt):
    """The integral of samples (4 k + 1, …) at steps of dt, to dt⁶."""
    weights = np.resize([14.0, 32, 12, 32], len(y))
    weights[[0, -1]] = 7
    return np.tensordot(weights, y, 1) * 2 * dt / 45


# ---------------------------------------------------------------- momentum


def wheels_(model):
    return ReactionWheels("bus", axes=TILTED, torque=0.25, momentum=2.1, initial=[1.0, -0.5, 0.2, 2.0])


def motors_(model):
    return [Motor(b.joint.name, gear=100, rotor=1e-4 * (k + 1), effort=8.0 - k, no_load_speed=0.3) for k, b in enumerate(model.bodies[1:])]


def springs_(model):
    return [JointSpring(b.joint.name, 20.0 / (k + 1), rest=0.1, damping=0.5) for k, b in enumerate(model.bodies[1:])]


def friction_(model):
    joints = np.repeat([0.0, 1.0], [6, 7])
    return JointFriction(damping=joints, friction=0.5 * joints)


def shake(t, q, v):
    return {"tau": np.concatenate([np.zeros(6), [10 * np.sin(0.7 * t + k) for k in range(7)]])}


def spin(t, q, v):
    return {"wheels": np.array([0.3 * np.sin(0.5 * t + k) for k in range(4)])}


INSIDE = {
    "wheels": lambda m: {"actuators": [wheels_(m)], "controller": spin, "joint_dynamics": False},
    "motors": lambda m: {"actuators": motors_(m), "controller": shake, "joint_dynamics": False},
    "springs": lambda m: {"forces": springs_(m), "joint_dynamics": False},
    "friction": lambda m: {"forces": [friction_(m)], "controller": shake, "joint_dynamics": False},
    "stops": lambda m: {"forces": [JointFriction(damping=friction_(m).damping)], "controller": shake},
    "all": lambda m: {"actuators": [wheels_(m), *motors_(m)], "forces": [*springs_(m), friction_(m)],
                      "controller": lambda t, q, v: {**shake(t, q, v), **spin(t, q, v)}},
}  # fmt: skip


def test_the_momentum_of_a_trajectory_is_the_robots_and_its_wheels(flyer):
    model, q, v = flyer
    wheels = wheels_(model)
    trajectory = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels], joint_dynamics=False).run(q, v, 0.1)
    own = trajectory.robot.momentum(trajectory.q, trajectory.v)
    own[:, :3] += np.einsum("tij,kj,tk->ti", quaternion.to_matrix(trajectory.q[:, :4]), wheels.axes, trajectory("wheels.momentum"))
    np.testing.assert_allclose(trajectory.momentum(), own, rtol=0, atol=1e-14 * np.abs(own).max())


@pytest.mark.parametrize("conserve", [True, False])
def test_what_wheels_take_shows_in_an_orbit(conserve):
    """At 7000 km and 7.5 km/s the robot loses what its wheels take, to 1e-12, about the centre of mass; the world's origin hides it."""
    model = trees.flyer(1, 300.0)
    q, v = model.neutral(), np.array([0.01, -0.02, 0.01, 0.0, 7.5e3, 0.0, 0.1])
    q[:7] = [1.0, 0.0, 0.0, 0.0, 7e6, 0.0, 0.0]
    wheels = ReactionWheels("bus", torque=2.0)
    spin = lambda t, q, v: {"wheels": np.array([1.0, -0.5, 0.3])}
    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels], controller=spin, joint_dynamics=False,
                                 conserve_momentum=conserve)  # fmt: skip
    run = simulator.run(q, v, 2.0, record_every=20)
    taken = run("wheels.angular_momentum")
    P = run.momentum(about="center_of_mass")
    assert np.abs(taken[-1]).max() > 1.5
    assert np.ptp(P[:, :3], axis=0).max() < 1e-12 * np.abs(taken).max()
    assert np.ptp(run.momentum()[:, :3], axis=0).max() > 0.1
    np.testing.assert_array_equal(P[:, :3], run.robot.centroidal_momentum(run.q, run.v)[:, :3] + taken)
    K = run.kinetic_energy(about="center_of_mass")
    np.testing.assert_array_equal(K, run.robot.centroidal_kinetic_energy(run.q, run.v))
    np.testing.assert_array_equal(run.kinetic_energy(), run.energy()[0])
    assert 0.0 < K.max() < 10.0 and run.kinetic_energy().min() > 8e9
    with pytest.raises(engine.StateError, match=r"about is 'centre' \(did you mean"):
        run.momentum(about="centre")


@pytest.mark.filterwarnings("ignore:.*beyond its limits:engine.SimulationWarning")
@pytest.mark.parametrize("what", INSIDE)
def test_nothing_inside_changes_the_momentum(flyer, what):
    """30 s at 1 kHz, with all of it at work; the centre of mass goes straight on."""
    model, q, v = flyer
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), **INSIDE[what](model))
    trajectory = simulator.run(q, v, 30.0, record_every=200)
    P = trajectory.momentum()
    for part in (P[:, :3], P[:, 3:]):
        assert np.linalg.norm(part - part[0], axis=1).max() < 1e-10 * np.linalg.norm(part[0])
    c = trajectory.robot.center_of_mass(trajectory.q)
    mass = sum(link.mass for link in model.links)
    assert np.abs(c - c[0] - trajectory.t[:, None] * P[0, 3:] / mass).max() < 1e-10
    work = {n: np.abs(x).max() for n, x in trajectory.power().items()}
    at_work = {"wheels": ["wheels"], "motors": ["motor of elbow_pitch"], "springs": ["spring of elbow_pitch"], "friction": ["friction"],
               "stops": ["stops"], "all": ["wheels", "motor of elbow_pitch", "spring of elbow_pitch", "friction"]}[what]  # fmt: skip
    assert all(work[n] > 1e-3 for n in at_work)
    if what in ("wheels", "all"):
        assert trajectory("wheels.saturated").any() and np.abs(trajectory("wheels.momentum")).max() <= 2.1
    if what in ("motors", "all"):
        assert all(0 < trajectory(f"motor of {b.joint.name}.saturated").mean() < 1 for b in model.bodies[1:])


def test_outside_forces_change_momentum_by_their_impulse_and_energy_by_their_work(flyer):
    """∫ Σ Ad(T)⁻ᵀ F dt over the recorded poses and forces; weight and a moment among them. Both right to dt⁴."""
    model, q, v = flyer
    jets = Thrusters("bus", [[0.7, 0.1, 0], [0, 0.6, 0.2]], [[0, 1, 0], [1, 0, 1]], most=10.0)
    push = PointForce("gripper", force=[3, -2, 1], moment=[0.5, 0.2, -1], point=[0.1, 0, 0.05], axes="world")
    twist = PointForce("wrist_yaw_link", force=[0, 2, 0], axes="link")
    errors = []
    for dt in (0.02, 0.01):
        simulator = engine.Simulator(
            model, dt=dt, gravity=(0.1, 0, -1.0), actuators=[jets, wheels_(model)], forces=[push, twist], joint_dynamics=False,
            controller=lambda t, q, v: {"thrusters": np.array([4 + np.sin(t), 3 + np.cos(2 * t)])})  # fmt: skip
        trajectory = simulator.run(q, 3 * v, 4.0)
        T = trajectory.poses()
        at = {n: T[:, model.link_index(n)] for n in ("bus", "gripper", "wrist_yaw_link")}
        arms = np.array([np.concatenate([np.cross(p, d), d]) for p, d in zip(jets.positions, jets.directions, strict=True)])
        on_bus = trajectory("thrusters.thrust") @ arms

        def seen(T, F):
            R, p = T[:, :3, :3], T[:, :3, 3]
            m, f = np.einsum("tij,tj->ti", R, F[:, :3]), np.einsum("tij,tj->ti", R, F[:, 3:])
            return np.concatenate([m + np.cross(p, f), f], axis=1)

        tip = at["gripper"][:, :3, :3] @ push.point + at["gripper"][:, :3, 3]
        total = seen(at["bus"], on_bus) + seen(at["wrist_yaw_link"], np.tile([0, 0, 0, 0, 2.0, 0], (len(T), 1)))
        total += np.concatenate([push.moment + np.cross(tip, push.force), np.tile(push.force, (len(T), 1))], axis=1)
        mass = sum(link.mass for link in model.links)
        weight = mass * np.array([0.1, 0, -1.0])
        total += np.concatenate([np.cross(trajectory.robot.center_of_mass(trajectory.q), weight), np.tile(weight, (len(T), 1))], axis=1)
        P = trajectory.momentum()
        K, U = trajectory.energy()
        E = K + U
        errors.append([np.abs(P[-1] - P[0] - boole(total, dt)).max() / np.abs(P[-1]).max(),
                       abs(E[-1] - E[0] - boole(sum(trajectory.power().values()), dt)) / K.max()])  # fmt: skip
    errors = np.array(errors)
    assert (errors[1] < 1e-10).all() and (errors[0] / errors[1] > 12).all()


def test_power_balance(flyer):
    """The energy, with that of the rotors and without that of the springs, grows by Σ power: its error falls with dt⁴."""
    model, q, v = flyer
    errors = []
    for dt in (4e-3, 2e-3):
        forces = [*springs_(model), JointFriction(damping=friction_(model).damping, friction=friction_(model).friction, slow=0.1)]
        motors = [Motor(m.joint, m.gear, m.rotor) for m in motors_(model)]
        wheels = ReactionWheels("bus", axes=TILTED, initial=[1.0, -0.5, 0.2, 2.0])
        simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, -0.5), actuators=[wheels, *motors], forces=forces,
                                     controller=lambda t, q, v: {**shake(t, q, v), **spin(t, q, v)}, joint_dynamics=False)  # fmt: skip
        trajectory = simulator.run(q, v, 4.0)
        K, U = trajectory.energy()
        E = K + U - sum(trajectory(f"{s.name}.energy") for s in springs_(model))
        powers = trajectory.power()
        assert {"wheels", "friction", "spring of elbow_pitch", "motor of elbow_pitch"} <= powers.keys()
        assert all(np.ptp(x) > 0 for n, x in powers.items() if n != "drive")
        errors.append(abs(E[-1] - E[0] - boole(sum(powers.values()), dt)) / np.abs(E).max())
    assert errors[1] < 1e-11 and errors[0] / errors[1] > 12


# ---------------------------------------------------------------- motors


def test_rotor_is_mujocos_armature():
    """Two motors with gears on a double pendulum, driven, for a second: MuJoCo's RK4 with dof_armature."""
    arm = engine.Builder("double pendulum")
    bob = inertia.from_mass(1.0, [0, 0.1, -0.5], np.diag([0.01, 0.02, 0.03]))
    arm.add_link("base"), arm.add_link("upper", inertia=bob), arm.add_link("lower", inertia=bob)
    arm.add_joint("shoulder", "revolute", "base", "upper", axis=[0, 1, 0])
    arm.add_joint("elbow", "revolute", "upper", "lower", axis=[1, 0, 0], placement=se3.pose(np.eye(3), np.array([0, 0, -1.0])))
    model = arm.model()
    motors = [Motor("shoulder", gear=50, rotor=1e-4), Motor("elbow", gear=-30, rotor=2e-4)]
    trajectory = engine.Simulator(model, dt=1e-3, actuators=motors, controller=lambda t, q, v: np.array([2.0, -1.0])).run(
        [1.0, 0.5], [0.3, -0.2], 1.0, record_every=1000)  # fmt: skip
    peer = built(model)
    peer.opt.integrator, peer.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 5e-4
    peer.dof_armature[:] = [50**2 * 1e-4, 30**2 * 2e-4]
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = [1.0, 0.5], [0.3, -0.2], [2.0, -1.0]
    mujoco.mj_step(peer, data, 2000)
    assert np.abs(np.concatenate([trajectory.q[-1] - data.qpos, trajectory.v[-1] - data.qvel])).max() < 1e-9


def test_torque_speed_curve():
    """Full command on a cart of mass m + n² J: v = v0 (1 − exp(−f t/(M v0))); braking with all of the effort; nothing beyond v0."""
    effort, top, M = 6.0, 1.5, 2.0 + 9 * 0.5
    motor = Motor("slide", gear=3, rotor=0.5, effort=effort, no_load_speed=top)
    simulator = engine.Simulator(slider(), dt=1e-3, gravity=(0, 0, 0), actuators=[motor], parameters={"wanted": 100.0},
                                 controller=lambda t, q, v, wanted: {"motor of slide": wanted})  # fmt: skip
    for sign in (1, -1):
        t = (up := simulator.run([0.0], [0.0], 2.0, parameters={"wanted": sign * 100.0})).t
        assert np.abs(sign * up.v[:, 0] - top * (1 - np.exp(-effort * t / (M * top)))).max() < 1e-12
        assert np.abs(sign * up("motor of slide.torque") - effort * (1 - sign * up.v[:, 0] / top)).max() < 1e-12
        assert (up("motor of slide.saturated") == 1).all() and (up.tau[:, 0] == up("motor of slide.torque")).all()
        down = simulator.run([0.0], [sign * 1.0], 0.5, parameters={"wanted": -sign * 100.0})
        assert np.abs(sign * down.v[:, 0] - (1 - effort * down.t / M)).max() < 1e-12
        fast = simulator.run([0.0], [sign * 2.0], 0.5, parameters={"wanted": sign * 100.0})
        assert (fast.v == sign * 2.0).all() and (fast.tau == 0).all()
    gentle = simulator.run([0.0], [0.0], 0.1, parameters={"wanted": 1.0})
    assert (gentle("motor of slide.saturated") == 0).all() and (gentle.tau == 1.0).all()


def test_effort_comes_from_the_file_and_the_drive_clips_what_has_no_motor():
    model = slider(limits=engine.Limits(effort=5.0))
    ramp = lambda t, q, v: np.array([100.0 * t])
    for actuators, name in (([Motor("slide")], "motor of slide"), ([], "drive")):
        trajectory = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=actuators, controller=ramp).run([0.0], [0.0], 0.2)
        assert np.abs(trajectory.tau[:, 0] - np.minimum(100.0 * trajectory.t, 5.0)).max() < 1e-12
        assert (trajectory(f"{name}.saturated").reshape(-1) == (100.0 * trajectory.t > 5.0)).all()
    free = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), controller=ramp, joint_dynamics=False).run([0.0], [0.0], 0.2)
    assert (free.tau[:, 0] == 100.0 * free.t).all()


# ---------------------------------------------------------------- thrusters


def test_thrust_between_least_and_most():
    jets = Thrusters("bus", np.zeros((3, 3)), [[2, 0, 0], [0, 1, 0], [0, 0, 1]], most=5.0, least=1.0)
    trajectory = engine.Simulator(satellite(), dt=1e-2, gravity=(0, 0, 0), actuators=[jets], controller=lambda t, q, v: {
        "thrusters": np.array([10 * t - 2.003, 3.0, 0.999])}).run(satellite().neutral(), np.zeros(6), 1.0)  # fmt: skip
    wanted = 10 * trajectory.t - 2.003
    given = np.where(wanted < 1, 0, np.minimum(wanted, 5))
    assert np.abs(trajectory("thrusters.thrust") - np.stack([given, 0 * wanted + 3, 0 * wanted], axis=1)).max() < 1e-14
    assert (trajectory("thrusters.saturated")[:, 0] == (given != wanted)).all() and (trajectory("thrusters.saturated")[:, 1] == 0).all()
    assert np.abs(trajectory.vdot[:, 3:] - trajectory("thrusters.thrust") / 10).max() < 1e-14  # the direction's length is not the force's


@pytest.mark.parametrize("pulse", [0.02, 0.0155, 0.0004])
def test_pulses_are_never_shorter_than_the_least(pulse):
    """Noisy commands to three thrusters: lengths of on and off times in the record, and exactly that impulse."""
    jets = Thrusters("bus", np.zeros((3, 3)), np.eye(3), most=5.0, pulse=pulse)

    def noisy(t, q, v):
        return {"thrusters": np.array([5 * ops.sin(997 * t), 2.5 + 4 * ops.sin(313 * t) * ops.cos(89 * t), 5 * ops.sin(3 * t)])}

    dt = 1e-3
    simulator = engine.Simulator(satellite(), dt=dt, gravity=(0, 0, 0), actuators=[jets], controller=noisy)
    trajectory = simulator.run(satellite().neutral(), np.zeros(6), 5.0)
    thrust = trajectory("thrusters.thrust")
    assert set(np.unique(thrust)) == {0.0, 5.0}
    shortest = []
    for on in (thrust > 0).T:
        switches = np.flatnonzero(np.diff(on))
        assert len(switches) > 2
        shortest.append(np.diff(switches).min())
    steps = np.ceil(pulse / dt - 1e-6)
    assert min(shortest) == steps and shortest[2] > 5 * steps  # as short as allowed, and no shorter; the slow one is left alone
    assert np.abs(trajectory.v[:, 3:] * 10 - np.concatenate([np.zeros((1, 3)), np.cumsum(thrust[:-1], axis=0)]) * dt).max() < 2e-12
    expected = np.array([noisy(t, None, None)["thrusters"][2] >= 2.5 for t in trajectory.t])
    late = np.flatnonzero(expected != (thrust[:, 2] > 0))
    assert len(late) <= 1  # half of the most is where it switches


# ---------------------------------------------------------------- wheels


def test_wheels_equal_a_model_with_wheels_as_links():
    """The link then has the wheels' masses and cross inertias, but not the axial ones; h is the whole axial momentum."""
    bus = inertia.from_mass(10.0, np.array([0.02, -0.01, 0.03]), np.diag([2.0, 3.0, 4.0]))
    axial, across, axes = 0.05, 0.03, TILTED
    places = np.array([[0.3, 0, 0], [0, 0.2, 0.1], [0, -0.1, 0.3], [0.1, 0.1, 0]])
    whole, parts = bus.copy(), engine.Builder("with links")
    parts.add_link("bus", inertia=bus)
    for k, (a, p) in enumerate(zip(axes, places, strict=True)):
        wheel = inertia.from_mass(0.5, np.zeros(3), across * np.eye(3) + (axial - across) * np.outer(a, a))
        parts.add_link(f"wheel{k}", inertia=wheel)
        parts.add_joint(f"axle{k}", "continuous", "bus", f"wheel{k}", axis=a, placement=se3.pose(np.eye(3), p))
        whole += inertia.transformed(se3.pose(np.eye(3), p), wheel)
        whole[:3, :3] -= axial * np.outer(a, a)
    body = engine.Builder("with wheels")
    body.add_link("bus", inertia=whole)
    model, linked = body.model(floating_base=True), parts.model(floating_base=True)

    def torque(t):
        return np.array([0.3 * ops.sin(2 * t), 0.2, 0.1 * ops.cos(t), -0.2 * t])

    v, rates = np.array([0.3, -0.2, 0.5, 0.1, 0, 0.2]), np.array([40.0, -20, 10, 5])
    h = axial * (rates + axes @ v[:3])
    errors = []
    for dt in (0.02, 0.01):
        a = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), controller=lambda t, q, v: {"wheels": torque(t)},
                             actuators=[ReactionWheels("bus", axes, initial=h, inertia=axial)]).run(model.neutral(), v, 4.0)  # fmt: skip
        b = engine.Simulator(linked, dt=dt, gravity=(0, 0, 0), controller=lambda t, q, v: np.concatenate([np.zeros(6), -torque(t)])).run(
            linked.neutral(), np.concatenate([v, rates]), 4.0)  # fmt: skip
        stored = axial * (b.v[:, 6:] + b.v[:, :3] @ axes.T)
        errors.append([np.abs(a.q - b.q[:, :7]).max(), np.abs(a.v - b.v[:, :6]).max(), np.abs(a("wheels.momentum") - stored).max(),
                       np.abs(a("wheels.speed") - b.v[:, 6:]).max()])  # fmt: skip
    assert np.max(errors[1]) < 2e-9 and np.max(errors[1][:3]) < 1e-10 and np.ptp(a.v[:, 0]) > 0.2       # speeds are momenta by 0.05
    assert (np.array(errors[0])[:2] / np.array(errors[1])[:2] > 12).all()


def test_a_full_wheel_gives_no_more_and_can_be_emptied():
    """Torque 0.4 (of 1 asked for) until h comes near −0.6 after 1.5 s; then what is left, and none; then back."""
    wheel = ReactionWheels("bus", [[0, 0, 3]], torque=0.4, momentum=0.6)
    ask = lambda t, q, v: {"wheels": ops.array([ops.where(t < 2.0005, 1.0, -0.2)])}
    trajectory = engine.Simulator(satellite(), dt=1e-3, gravity=(0, 0, 0), actuators=[wheel], controller=ask).run(
        satellite().neutral(), np.zeros(6), 3.0)  # fmt: skip
    t, h = trajectory.t, trajectory("wheels.momentum")[:, 0]
    expected = np.where(t < 2, np.maximum(-0.4 * t, -0.6), -0.6 + 0.2 * (t - 2.0005))
    assert np.abs(h - expected).max() < 0.4 * 2e-3                             # over the last two steps' worth it falls to zero
    assert np.abs(4.0 * trajectory.v[:, 2] + h).max() < 1e-14
    full = (t > 1.6) & (t < 2.0004)
    assert (trajectory("wheels.saturated")[:, 0] == (t < 2.0004)).all() and np.abs(trajectory("wheels.torque")[full]).max() < 1e-12
    assert np.ptp(h[full]) < 1e-13 and h.min() >= -0.6


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if m.takes is not FreeBody])
def test_no_wheel_holds_more_than_it_can(method):
    """By any method, however long the step: it fills within one, three times over, and is turned the other way and filled again."""
    wheel = ReactionWheels("bus", [[0, 0, 1]], torque=5.0, momentum=0.15)
    ask = lambda t, q, v: {"wheels": ops.array([ops.where(t < 1.0, 5.0, -5.0)])}
    simulator = engine.Simulator(satellite(), dt=0.1, integrator=method, gravity=(0, 0, 0), actuators=[wheel], controller=ask)
    h = simulator.run(satellite().neutral(), np.zeros(6), 2.0)("wheels.momentum")[:, 0]
    assert np.abs(h).max() <= 0.15 * (1 + 1e-15) and h.min() < -0.147 and h.max() > 0.147


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Motor("pivto"), "no joint 'pivto' in 'pendulum' (did you mean 'pivot'?)"),
    (lambda: Motor("pivot", rotor=-1.0), "motor of pivot: rotor is -1.0; expected zero or more"),
    (lambda: Motor("pivot", gear=float("nan")), "motor of pivot: gear is nan; expected a finite number"),
    (lambda: Motor("pivot", effort="big"), "motor of pivot: effort is 'big'; expected zero or more"),
    (lambda: Motor("pivot", no_load_speed=0.0), "no_load_speed is 0.0; expected a speed greater than zero"),
    (lambda: Motor("pivot", no_load_speed=3.0), "motor of pivot: a no_load_speed without an effort, from which torque falls; expected"),
    (lambda: Thrusters("bobb", [0, 0, 0], [0, 0, 1], 1.0), "no link 'bobb' in 'pendulum' (did you mean 'bob'?)"),
    (lambda: Thrusters("bob", [0, 0, 0], [0, 0, 0], 1.0), "thrusters: a direction has length 0; expected vectors"),
    (lambda: Thrusters("bob", [0, 0], [0, 0, 1], 1.0), "thrusters: positions have shape (1, 2), directions (1, 3); expected (n, 3)"),
    (lambda: Thrusters("bob", [0, 0, np.nan], [0, 0, 1], 1.0), "thrusters: a position holds NaN or infinity; expected finite numbers"),
    (lambda: Thrusters("bob", [0, 0, 0], [0, 0, 1], 1.0, least=2.0), "thrusters: thrust from 2.0 to 1.0 N; expected 0 ≤ least ≤ most"),
    (lambda: Thrusters("bob", [0, 0, 0], [0, 0, 1], "strong"), "thrusters: thrust from 0.0 to 'strong' N; expected 0 ≤ least ≤ most"),
    (lambda: Thrusters("bob", [0, 0, 0], [0, 0, 1], 1.0, pulse=0.0), "thrusters: pulse is 0.0; expected seconds greater than zero"),
    (lambda: ReactionWheels("bob", np.eye(2)), "wheels: axes have shape (2, 2); expected (n, 3) vectors"),
    (lambda: ReactionWheels("bob", initial=[1.0]), "wheels: initial has shape (1,); expected (3,), a momentum for each wheel"),
    (lambda: ReactionWheels("bob", initial=[1.0, 0, np.nan]), "wheels: initial is [1.0, 0.0, nan]; expected momenta within ±inf"),
    (lambda: ReactionWheels("bob", momentum=0.5, initial=[1.0, 0, 0]), "wheels: initial is [1.0, 0.0, 0.0]; expected momenta within ±0.5"),
    (lambda: ReactionWheels("bob", torque=0), "wheels: torque is 0; expected a number greater than zero"),
    (lambda: 3, "an actuator is 3; expected a component of engine.components.actuators"),
    (lambda: lambda t, q, v: v, "an actuator is <function"),
])  # fmt: skip
def test_bad_actuators(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), actuators=[make()])


@pytest.mark.parametrize(("actuators", "controller", "message"), [
    ([Motor("pivot"), Motor("pivot")], None, "two components are named 'motor of pivot'; expected unique names (give one name=…)"),
    ([Motor("pivot")], lambda t, q, v: {"motor of pivo": 1.0}, "commands 'motor of pivo' (did you mean 'motor of pivot'?); expected"),
    ([ReactionWheels("bob")], lambda t, q, v: {"wheels": v}, "returned shape (1,) for wheels; expected (3,) for 'pendulum'"),
    ([ReactionWheels("bob")], lambda t, q, v: {"taw": v}, "commands 'taw' (did you mean 'tau'?); expected some of tau, wheels"),
])  # fmt: skip
def test_bad_commands(actuators, controller, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), actuators=actuators, controller=controller)


LOSSES = {"limits": engine.Limits(-1.0, 0.2)}, {"friction": 5.0}, {"damping": 5000.0}


@pytest.mark.parametrize("losses", LOSSES, ids=["stop", "dry", "wet"])
def test_wheels_keep_their_momentum_where_impulses_turn_what_carries_them(losses):
    """A joint that is pressed into its stop, sticks, or is damped: what impulses turn turns the wheels' 10 N·m·s with it."""
    builder = engine.Builder("bus and arm")
    builder.add_link("bus", inertia=inertia.box(100.0, (1, 1, 1)))
    builder.add_link("arm", inertia=inertia.transformed(se3.pose(np.eye(3), np.array([0, 0, 0.5])), inertia.box(10.0, (0.1, 0.1, 1))))
    builder.add_joint("turn", "revolute", "bus", "arm", axis=[1, 0, 0], **losses)
    wheels = ReactionWheels("bus", initial=[0.0, 0.0, 10.0])
    drift, method = [], None if "damping" in losses else "rkmk4"
    for dt in (1e-2, 5e-3):
        simulator = engine.Simulator(builder.model(floating_base=True), dt=dt, gravity=(0, 0, 0), actuators=[wheels], integrator=method,
                                     controller=lambda t, q, v: {"tau": np.array([0, 0, 0, 0, 0, 0, 5.0 - 20.0 * v[6]]),
                                                                 "wheels": np.array([0.1, 0.2, 0.05])})  # fmt: skip
        run = simulator.run([1, 0, 0, 0, 0, 0, 0, 0], [0.02, 0.01, 0.03, 0, 0, 0, 0], 20.0, record_every=10)
        drift.append(np.abs(run.momentum() - run.momentum()[0]).max())
        assert run.defect[-1] < 1e-5 and not run.warnings
    # what wheels and bus exchange is of the method's order, which is less of what is stiff
    most, less = (1e-5, 0.5) if "damping" in losses else (1e-7, 0.2)
    assert drift[0] < most and drift[1] < max(less * drift[0], 1e-12)
