"""Exact constraints in simulations: grips, momentum, starts, what is refused, and that all that holds of runs holds with them."""

import pickle
import re
import warnings

import numpy as np
import pytest

import engine
from engine import dynamics, ops
from engine.spatial import inertia
from tests.constraints.mechanisms import at, bricard, four_bars, rod, slider_crank, upright

AWAY = {"gravity": (0.0, 0.0, 0.0)}


def boulder(name, mass, size):
    builder = engine.Builder(name)
    builder.add_link("base", inertia=inertia.box(mass, size))
    return builder.model(floating_base=True)


def two():
    """Two bodies, and a state in which both tumble."""
    model = engine.combine(a=boulder("a", 2.0, (1.0, 0.5, 0.3)), b=boulder("b", 5.0, (0.4, 0.6, 1.0)))
    q = model.neutral()
    q[11:14] = [1.0, 0.2, 0.3]
    return model, q, np.random.default_rng(1).standard_normal(12)


def whole(model, q, v):
    """Inertia about the centre of mass, angular momentum about it, linear momentum, and mass, of free bodies as one rigid one."""
    P, c, I, total = dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q), np.zeros((3, 3)), 0.0
    for link, T in zip(model.links, dynamics.forward_kinematics(model, q), strict=True):
        R, d, m = T[:3, :3], T[:3, 3] - c, link.mass
        I += R @ link.inertia[:3, :3] @ R.T + m * ((d @ d) * np.eye(3) - np.outer(d, d))
        total += m
    return I, P[:3] - np.cross(c, P[3:]), P[3:], total


def gripping(t, q, v, begins=0.5):
    """Closed for half a second."""
    return {"grip": ops.where(t < begins - 1e-4, 0.0, ops.where(t < begins + 0.4999, 1.0, 0.0))}


def test_a_grip_of_two_tumbling_bodies():
    """ω = I⁻¹ L of the two as one, and what the impulse takes: ΔE = −½ vᵀ Jᵀ Λ⁻¹ J v."""
    model, q, v = two()
    grip = [engine.Grip("a/base", "b/base", name="grip")]
    run = engine.Simulator(model, dt=1e-2, controller=gripping, constraints=grip, **AWAY).run(q, v, 1.5)
    P, K = run.momentum(), run.energy()[0]
    assert np.ptp(P, axis=0).max() < 1e-12 * np.abs(P).max()
    assert run("grip.closed")[[49, 50, 99, 100]].tolist() == [0.0, 1.0, 1.0, 0.0]
    for k in (51, 75, 100):
        I, L, p, m = whole(model, run.q[k], run.v[k])
        poses, w = dynamics.forward_kinematics(model, run.q[k]), np.linalg.solve(I, L)
        for link, turn in (("a/base", run.v[k, :3]), ("b/base", run.v[k, 6:9])):
            assert np.abs(poses[model.link_index(link)][:3, :3] @ turn - w).max() < 1e-12
        assert abs(K[k] - 0.5 * (w @ L + p @ p / m)) < 1e-12
    M, J = dynamics.crba(model, run.q[50]), relative(model, run.q[50])
    lost = -0.5 * run.v[50] @ J.T @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ run.v[50])
    assert abs(K[51] - K[50] - lost) < 1e-11 and lost < -0.1
    assert not run("constraints.force")[:50].any() and not run("constraints.force")[100:].any()
    assert np.abs(run("constraints.force")[51:100]).max() > 0.1
    assert np.abs(run("constraints.error")).max() < 1e-12 and np.abs(run("constraints.power")).max() < 1e-12


def relative(model, q):
    """The velocity of b as seen from a, per unit of v, in world axes, about b."""
    J = [dynamics.jacobian(model, q, link, "world") for link in ("a/base", "b/base")]
    return J[1] - J[0]


def test_an_arm_grips_a_target_that_tumbles_and_the_momentum_stays():
    builder = engine.Builder("servicer")
    builder.add_link("base", inertia=inertia.box(20.0, (1.0, 1.0, 1.0)))
    for k, above in enumerate(("base", "l0", "l1")):
        builder.add_link(f"l{k}", inertia=rod(1.0, 0.5))
        builder.add_joint(f"j{k}", "revolute", above, f"l{k}", at(0.5, 0, 0), axis=np.eye(3)[2 - k % 2])
    model = engine.combine(servicer=builder.model(floating_base=True), target=boulder("target", 5.0, (0.4, 0.6, 1.0)))
    q, v = model.random(np.random.default_rng(3))
    run = engine.Simulator(model, dt=5e-3, controller=gripping, constraints=[engine.Grip("target/base", "servicer/l2")], **AWAY).run(
        q, 0.3 * v, 1.5)  # fmt: skip
    P = run.momentum()
    assert np.ptp(P, axis=0).max() < 1e-12 * np.abs(P).max()
    assert np.ptp(run.energy()[0][101:200]) < 1e-6 and np.abs(run("constraints.error")).max() < 1e-12
    drift = engine.Simulator(model, dt=5e-3, controller=gripping, constraints=[engine.Grip("target/base", "servicer/l2")],
                             conserve_momentum=False, **AWAY).run(q, 0.3 * v, 1.5)  # fmt: skip
    assert np.abs(drift.q - run.q).max() < 1e-5


def test_grips_close_and_open_again_one_beside_the_other_and_on_the_world():
    model, q, v = two()

    def controller(t, q, v):
        return {"one": ops.where(ops.sin(20.0 * t) > 0.0, 1.0, 0.0), "two": ops.where(t > 0.5, 1.0, 0.0)}

    grips = [engine.Grip("a/base", "b/base", name="one"), engine.Grip("b/base", "world", name="two")]
    run = engine.Simulator(model, dt=1e-2, controller=engine.Law(controller, period=0.05), constraints=grips, **AWAY).run(q, v, 1.2)
    K, closed = run.energy()[0], run("one.closed")
    assert np.abs(run("constraints.error")).max() < 1e-12 and np.diff(K).max() < 1e-9
    assert 4 < np.abs(np.diff(closed)).sum() < 10 and np.abs(run.v[-1]).max() < 1e-12
    assert run.q[-1, 7:] == pytest.approx(run.q[60, 7:], abs=1e-12)


def test_loops_within_and_between_floating_bodies_keep_the_momentum():
    model, q, v = two()
    ball = engine.Ball("a/base", "b/base", (0.5, 0.2, 0.1), (-0.5, 0.0, -0.2))
    with pytest.warns(engine.SimulationWarning, match="velocity that its constraints do not allow"):
        run = engine.Simulator(model, dt=1e-2, constraints=[ball], **AWAY).run(q, v, 10.0)
    P, K = run.momentum(), run.energy()[0]
    assert np.ptp(P, axis=0).max() < 1e-12 * np.abs(P).max()
    assert np.ptp(K) < 1e-4 * K[0] and np.abs(run("constraints.error")).max() < 1e-12
    assert run("defect").max() > 0.0


def test_a_distance_to_the_world_is_a_pendulum():
    model = boulder("bob", 1.0, (1e-3, 1e-3, 1e-3))
    q = model.neutral()
    q[4:] = [np.sin(0.5), 0.0, -np.cos(0.5)]
    run = engine.Simulator(model, constraints=[engine.Distance("world", "base", length=1.0, name="string")]).run(q, np.zeros(6), 2.0)
    builder = engine.Builder("pendulum")
    builder.add_link("post"), builder.add_link("bob", inertia.from_mass(1.0, [0, 0, -1.0], np.zeros((3, 3))))
    builder.add_joint("pivot", "revolute", "post", "bob", axis=(0, -1, 0))
    peer = engine.Simulator(builder.model()).run([0.5], [0.0], 2.0)
    assert np.abs(run.q[:, 4] - np.sin(peer.q[:, 0])).max() < 1e-9
    pull = -(peer.v[:, 0] ** 2 + 9.81 * np.cos(peer.q[:, 0]))                 # the string's force on 1 kg, towards the pivot
    assert np.abs(run("constraints.force")[:, 0] - pull).max() < 1e-8


def test_a_gear():
    """Two wheels of 1 and 3 kg m² geared 2 : 1: 4 N·m on the first turn it with 4/(1 + 3/4) rad/s²."""
    builder = engine.Builder("gear")
    builder.add_link("frame")
    for name, i in (("one", 1.0), ("two", 3.0)):
        builder.add_link(name, inertia.from_mass(1.0, [0, 0, 0], i * np.diag([0.5, 0.5, 1.0])))
        builder.add_joint(name, "revolute", "frame", name)
    simulator = engine.Simulator(builder.model(), controller=lambda t, q, v: np.array([4.0, 0.0]),
                                 constraints=[engine.Coupling("one", "two", 2.0, 0.1)])  # fmt: skip
    run = simulator.run([0.1, 0.0], [0.0, 0.0], 1.0)
    assert np.abs(run.vdot - 4.0 / 1.75 * np.array([1.0, 0.5])).max() < 1e-12
    assert np.abs(run("constraints.force") + 3.0 * 4.0 / 1.75 / 4.0).max() < 1e-12


def test_what_rubs_in_a_loop_holds_the_whole_loop():
    """A four-bar that friction of one crank's pivot holds against its weight; and friction that is not enough lets it go."""
    for friction, holds in ((25.0, True), (15.0, False)):
        model, loops = four_bars(1)
        builder = engine.Builder("rubbing")
        for link in model.links:
            builder.add_link(link.name, link.inertia)
        for j in model.joints:
            builder.add_joint(j.name, j.kind, j.parent, j.child, j.placement, j.axis, friction=friction * (j.name == "pivot0"))
        q, _ = upright(model, 0.0, 0.0)
        q[np.array([n.startswith("pivot") for n in model.labels("v")])] = 0.3
        q[np.array([n.startswith("pin") for n in model.labels("v")])] = -0.3
        run = engine.Simulator(builder.model(), constraints=loops).run(q, np.zeros(3), 1.0, record_every=10)
        weight = 9.81 * np.cos(0.3) * (0.5 + 0.5 + 1.0)                       # of the torque about the crank's pivot, 18.7 N·m
        assert np.abs(run("constraints.error")).max() < 1e-12
        assert (np.abs(run.q[-1] - q).max() < 1e-4) == holds
        if holds:
            assert abs(run("friction.force")[-1][model.v_slice("pivot0").start] - weight) < 1e-3 * weight
            assert np.abs(run.vdot[-1]).max() < 1e-2


# ---------------------------------------------------------------- starts


def test_a_small_gap_is_closed_with_a_warning_and_a_far_one_is_refused():
    model, loops = four_bars(1)
    q, v = upright(model, 1.0, 0.0)
    simulator = engine.Simulator(model, constraints=loops)
    with pytest.warns(engine.SimulationWarning, match=r"starts with Hinge of 'coupler0' and 'crank1' open by 0\.001 m"):
        start = simulator.start(q + [0.0, 1e-3, 0.0], v)
    assert np.abs(start.signals["constraints.error"]).max() < 1e-13
    with pytest.raises(engine.ConstraintError, match=r"Hinge of 'coupler0' and 'crank1' is open by 0\.\d+ m at the start; expected a conf"):
        simulator.start(q + [0.0, 0.5, 0.0], v)


def test_what_cannot_be_closed_says_how_far_it_is_open():
    builder = engine.Builder("short")
    builder.add_link("ground"), builder.add_link("bar", rod())
    builder.add_joint("pivot", "revolute", "ground", "bar", axis=(0, -1, 0))
    simulator = engine.Simulator(builder.model(), constraints=[engine.Ball("ground", "bar", (1.05, 0, 0), (1, 0, 0), name="pin")])
    with pytest.raises(engine.ConstraintError, match=r"pin cannot be closed: it is open by 0\.05 m at the start, and 0\.05 m at best"):
        simulator.start([0.0], [0.0])


def test_axes_that_point_apart_are_far():
    model, _ = four_bars(1)
    hinge = engine.Hinge("coupler0", "crank1", (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0))
    with pytest.raises(engine.ConstraintError, match=r"is open by 3\.14 rad at the start"):
        engine.Simulator(model, constraints=[hinge]).start(*upright(model))


# ---------------------------------------------------------------- as other runs


def closing(**parameters):
    model, q, v = two()
    grip = [engine.Grip("a/base", "b/base")]
    return engine.Simulator(model, dt=1e-2, controller=gripping, constraints=grip, parameters=parameters, **AWAY), q, v


@pytest.mark.parametrize("which", [0, 1])
def test_plain_is_compiled(which):
    if which:
        simulator, q, v = closing(begins=0.1)
    else:
        model, loops = slider_crank()
        simulator, q, v = engine.Simulator(model, dt=1e-2, constraints=loops), np.array([0.0, 0.0, 0.0]), np.array([4.0, -5.5, 1.5])
    plain = engine.Simulator(simulator.model, **{**simulator._arguments, "compiled": False})
    one, other = (s.run(q, v, 0.2) for s in (simulator, plain))
    assert np.abs(other("constraints.force")[-2]).max() > 0.1
    for a, b in ((one.q, other.q), (one.v, other.v), (one("constraints.force"), other("constraints.force"))):
        assert np.abs(a - b).max() < 1e-9 * (1.0 + np.abs(b).max())


def test_batches_are_single_runs_to_the_bit_and_masses_are_parameters():
    model, loops = four_bars(1)
    simulator = engine.Simulator(model, parameters={"mass.coupler0": 1.0}, constraints=loops)
    q, v = upright(model)
    masses = np.linspace(0.5, 2.0, 5)
    batch = simulator.run(q, v, 0.5, parameters={"mass.coupler0": masses})
    for k, m in enumerate(masses):
        single = simulator.run(q, v, 0.5, parameters={"mass.coupler0": m})
        np.testing.assert_array_equal(batch.q[k], single.q)
        np.testing.assert_array_equal(batch("constraints.force")[k], single("constraints.force"))
    assert np.ptp(batch.q[:, -1, 0]) > 1e-3


def test_runs_are_resumed_to_the_bit_and_files_name_the_constraints(tmp_path):
    simulator, q, v = closing()
    whole_run = simulator.run(q, v, 1.2)
    path = simulator.run(q, v, 0.7, out=tmp_path / "grip.h5")
    simulator.resume(path, duration=1.2)
    found = engine.load_trajectory(path)
    np.testing.assert_array_equal(found.q, whole_run.q)
    np.testing.assert_array_equal(found("constraints.force"), whole_run("constraints.force"))
    with engine.recording.Recording.open(path) as recording:
        assert recording.header["constraints"] == ["grip"]


def test_states_steps_and_pickles():
    model, loops = bricard()
    simulator = engine.Simulator(model, dt=5e-3, gravity=(0, -9.81, 0), constraints=loops)
    run = simulator.run(np.zeros(5), np.zeros(5), 0.5)
    again = pickle.loads(pickle.dumps(simulator))
    state = again.step(again.start(np.zeros(5), np.zeros(5)), 100)
    np.testing.assert_array_equal(state.q, run.q[-1])
    state.q[:] += 1e-9                                          # what is written into a state is closed again
    assert np.abs(again.step(state).signals["constraints.error"]).max() < 1e-13


def test_implicit_methods_differentiate_beside_redundant_loops():
    model, loops = bricard()
    simulator = engine.Simulator(model, integrator="implicit_midpoint", gravity=(0, -9.81, 0), constraints=loops)
    run = simulator.run(np.zeros(5), np.zeros(5), 0.5)
    assert np.ptp(sum(run.energy())) < 1e-5 and np.abs(run("constraints.error")).max() < 1e-12


def test_events_stop_and_adaptive_steps_follow():
    model, loops = four_bars(1)
    q, v = upright(model)
    run = engine.Simulator(model, constraints=loops, events=[lambda t, q, v: q[0]]).run(q, v, 2.0)
    assert abs(run.q[-1, 0]) < 1e-12 and np.abs(run("constraints.error")).max() < 1e-12
    solution = engine.Simulator(model, constraints=loops).solve(q, v, 0.3, tolerance=1e-11)
    fixed = engine.Simulator(model, constraints=loops).run(q, v, 0.3)
    assert np.abs(solution(0.3)[0] - fixed.q[-1]).max() < 1e-9


# ---------------------------------------------------------------- what is refused


def refused(what, text):
    model, _ = four_bars(1)
    with pytest.raises(engine.EngineError, match=re.escape(text)):
        engine.Simulator(model, constraints=what() if callable(what) else what)


def test_nonsense_is_refused():
    refused([engine.Ball("crank0", "crank7")], "no link 'crank7'")
    refused([engine.Coupling("pivot0", "pivot9")], "no joint 'pivot9'")
    refused(lambda: [engine.Ball("crank0", "crank0")], "Ball: both links are 'crank0'; expected two different ones")
    refused([engine.Ball("ground", "world")], "the links are welded together already")
    refused(lambda: [engine.Grip("crank0", "crank0")], "Grip: both links are 'crank0'")
    refused(lambda: [engine.Ball("crank0", "crank1", (0, np.nan, 0))], "Ball: point_a holds NaN or infinity")
    refused(lambda: [engine.Ball("crank0", "crank1", (0, 1))], "Ball: point_a is (0, 1); expected three numbers")
    refused(lambda: [engine.Hinge("crank0", "crank1", axis_b=(0, 0, 0))], "Hinge: axis_b is (0, 0, 0); expected a direction")
    refused(lambda: [engine.Weld("crank0", "crank1", np.ones((4, 4)))], "expected a pose, 4×4")
    refused(lambda: [engine.Distance("crank0", "crank1", length=0.0)], "Distance: length is 0.0; expected a length in m above zero")
    refused(lambda: [engine.Coupling("pivot0", "pivot1", ratio=np.inf)], "Coupling: ratio is inf")
    refused(["crank0"], "a constraint is 'crank0'; expected engine.Hinge")
    refused(engine.Ball("crank0", "crank1"), "expected a list of them")
    refused([engine.Grip("crank0", "crank1"), engine.Grip("ground", "crank1")], "two grips are named 'grip'")
    string = [engine.Distance("world", "base", length=1.0)]
    with pytest.raises(engine.SimulationError, match="integrator 'dqvi' is for a single free body; 'bob' has constraints"):
        engine.Simulator(boulder("bob", 1.0, (1.0, 1.0, 1.0)), integrator="dqvi", constraints=string)
    model, *_ = two()
    with pytest.raises(engine.ConstraintError, match="joint 'a/floating_base' is floating; expected a joint with one coordinate"):
        engine.Simulator(model, constraints=[engine.Coupling("a/floating_base", "b/floating_base")])
    with pytest.raises(engine.SimulationError, match="commands 'grib' \\(did you mean 'grip'\\?\\)"):
        engine.Simulator(model, controller=lambda t, q, v: {"grib": 1.0}, constraints=[engine.Grip("a/base", "b/base")])


def test_the_force_of_a_grip_is_recorded_whatever_might_touch():
    """Off centre and turning, with a joint that pushes: what is held is moved by the grip alone, and nothing touches."""
    place, ball = np.eye(4), engine.Geometry("sphere", (0.03,))
    place[2, 3] = -0.7
    arm = engine.Builder("arm")
    arm.add_link("bus", inertia=inertia.box(100.0, (0.8, 0.8, 0.8)))
    arm.add_link("probe", inertia=inertia.box(2.0, (0.05, 0.05, 0.4)), collisions=[ball])
    arm.add_joint("slide", "prismatic", "bus", "probe", placement=place, axis=[0, 0, 1])
    target = engine.Builder("target")
    target.add_link("target", inertia=inertia.box(200.0, (1, 1, 1)), collisions=[ball])
    model = engine.combine(a=arm.model(floating_base=True), b=target.model(floating_base=True))
    q, v = model.neutral(), np.array([0.02, 0.01, 0.03, 0, 0, -0.15, 0, 0.05, -0.1, 0.2, 0, 0, 0])
    q[4:7] = 0.12, 0.03, 1.35

    def control(t, q, v):
        spring = np.stack([-200.0 * q[7] - 20.0 * v[6]])
        return {"grip": ops.where(t >= 0.5, 1.0, 0.0), "tau": np.concatenate([np.zeros(6), spring, np.zeros(6)])}

    sim = engine.Simulator(model, dt=4e-3, gravity=(0, 0, 0), controller=control, constraints=[engine.Grip("a/probe", "b/target")],
                           contacts=engine.Contacts(pairs=[("a/probe", "b/target")]))  # fmt: skip
    run = sim.run(q, v, 1.0)
    last = run.vdot[-1, 10:] + np.cross(run.v[-1, 7:10], run.v[-1, 10:])
    assert abs(np.linalg.norm(run("constraints.force")[-1, 3:]) - 200.0 * np.linalg.norm(last)) < 1e-9


def test_a_grip_that_nothing_commands_is_warned_of():
    model, q, v = two()
    with pytest.warns(engine.SimulationWarning, match="nothing commands the grip 'hand', and it stays open; expected a controller that"):
        engine.Simulator(model, gravity=(0, 0, 0), constraints=[engine.Grip("a/base", "b/base", name="hand")]).run(q, v, 0.01)


def test_forces_beside_implicit_losses_are_those_beside_explicit_ones():
    """Damping of 0.3 N·m·s/rad, as an impulse after flight: the rod's force differs by what the first order leaves, a part of dt."""
    b = engine.Builder("four")
    b.add_link("g")
    for name, parent, x, losses in (("a", "g", 0.0, {"damping": 0.3}), ("b", "a", 0.5, {}), ("c", "g", 1.0, {})):
        b.add_link(name, inertia=engine.spatial.inertia.from_mass(1.0, [0.25, 0, 0], 0.01 * np.eye(3)))
        b.add_joint(f"j{name}", "revolute", parent, name, engine.spatial.se3.pose(np.eye(3), [x, 0, 0]), axis=(0, 1, 0), **losses)
    rod, found = engine.Distance("b", "c", (0.5, 0, 0), (0.5, 0, 0), 0.6), []
    for losses in ("explicit", "implicit"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")                                    # that it starts open
            simulator = engine.Simulator(b.model(), dt=1e-3, constraints=[rod], joint_dynamics=losses)
            found.append(simulator.run([-1.0, 0.6, -0.945], np.zeros(3), 0.2)("constraints.force")[5:, 0])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=5e-3 * np.abs(found[0]).max())


@pytest.mark.parametrize("links", [2, 3])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_chain_that_is_stretched_out_names_the_constraint_that_has_no_other_place(links, compiled):
    """Along the chain J is zero, and no force there is finite: it must not be taken for closed where its angles have run away."""
    bodies = "".join(f'<body pos="{0.0 if k == 0 else 1.0 / links} 0 0" name="b{k}"><joint axis="0 1 0"/>'
                     f'<geom type="capsule" size="0.02" fromto="0 0 0 {1.0 / links} 0 0"/>' for k in range(links))  # fmt: skip
    text = f"""<mujoco><worldbody>{bodies}{"</body>" * links}</worldbody>
    <equality><connect body1="b{links - 1}" anchor="{1.0 / links} 0 0"/></equality></mujoco>"""
    model = engine.load(text)
    simulator = engine.simulator_of(model, contacts=None, compiled=compiled)
    with pytest.raises(engine.SimulationError, match=rf"Ball of 'b{links - 1}' and 'world' cannot be kept closed; expected .* no other"):
        simulator.run(model.initial(), np.zeros(links), 1.0)
