"""Dampers, springs, servos and controllers that are too fast for explicit steps."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_ivp

import engine
from engine.components.actuators import ReactionWheels
from engine.components.forces import JointSpring
from engine.components.general_actuator import GeneralActuator
from engine.spatial import inertia

AWAY = {"gravity": (0.0, 0.0, 0.0)}
FINGER = """<mujoco model="finger"><option timestep="0.002"/><worldbody>
<body><joint name="j1" axis="0 1 0" damping="0.1"/><geom type="capsule" size=".01" fromto="0 0 0 0 0 .05" mass=".06"/>
<body pos="0 0 .05"><joint name="j2" axis="0 1 0" damping="0.1"/><geom type="capsule" size=".01" fromto="0 0 0 0 0 .04" mass=".02"/>
<body pos="0 0 .04"><joint name="j3" axis="0 1 0" damping="0.1"/><geom type="sphere" size=".01" pos="0 0 .02" mass=".01"/>
</body></body></body></worldbody>
<actuator><position name="p1" joint="j1" kp="1"/><position name="p2" joint="j2" kp="1"/><position name="p3" joint="j3" kp="1"/></actuator>
</mujoco>"""
ONES = {"p1": 1.0, "p2": 1.0, "p3": 1.0}


def rod(mass=0.3, length=0.2, **joint):
    """A thin rod on a hinge across it, at its end."""
    arm = engine.Builder("rod")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.recentered(inertia.box(mass, (0.01, 0.01, length)), [0.0, 0.0, 0.5 * length]))
    arm.add_joint("hinge", "revolute", "base", "rod", axis=[0, 1, 0], **joint)
    return arm.model()


def truth(model, force, duration, q, v, gravity=(0.0, 0.0, 0.0)):
    """The end (q, v) by SciPy's Radau, of a model whose coordinates are numbers."""
    robot, n = engine.compile(model, gravity=gravity), model.nv

    def field(t, y):
        return np.concatenate([y[n:], robot.aba(y[:n], y[n:], force(t, y[:n], y[n:]))])

    end = solve_ivp(field, (0.0, duration), np.concatenate([q, v]), method="Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[:n], end[n:]


# ---------------------------------------------------------------- light fingers


def test_a_finger_with_damping_and_servos_is_right_at_its_files_step():
    """Order three, at four steps of which explicit methods diverge: errors of 1e-4 at 4 ms, where the fastest rate is 9e4/s."""
    model = engine.load(FINGER)
    end, _ = truth(model, lambda t, q, v: 1.0 - q - 0.1 * v, 0.02, np.zeros(3), np.zeros(3), gravity=engine.dynamics.GRAVITY)
    errors = []
    for dt in (4e-3, 2e-3, 1e-3, 5e-4):
        simulator = engine.simulator_of(model, controller=lambda t, q, v: ONES, dt=dt, contacts=None)
        errors.append(np.abs(simulator.run(np.zeros(3), np.zeros(3), 0.02).q[-1] - end).max())
    assert all(error < 1.5 * bar for error, bar in zip(errors, (1.2e-4, 1.2e-5, 1.1e-6, 8.7e-8), strict=True))
    assert "ros34pw2" in repr(simulator) and "p2, p3" in repr(simulator) and "at 'j3', 'j2', 'j1'" in repr(simulator)


def test_plain_is_interpreted_is_compiled():
    """Slopes are differences on floats, good to 1e-10: what a W-method does with that is smaller by its order."""
    model, given = engine.load(FINGER), {"controller": lambda t, q, v: ONES, "contacts": None}
    ends = [engine.simulator_of(model, compiled=c, **given).run(np.zeros(3), np.zeros(3), 0.02) for c in (True, False)]
    assert np.abs(ends[0].q - ends[1].q).max() < 1e-9 and np.abs(ends[0].v - ends[1].v).max() < 1e-7


def test_what_is_not_stiff_is_as_it_was():
    """The method is as given; a damper that steps resolve acts in flight, with its order."""
    simulator = engine.Simulator(rod(damping=1e-3), **AWAY)
    assert simulator.method.name == "cg4" and "damping of 'hinge' explicit" in repr(simulator)
    assert engine.Simulator(rod(), **AWAY).plant.stiffness is None


def test_where_another_flies_in_place_of_an_integrator_that_is_named_is_told():
    """Damping of 1000/s: by steps of 2 ms not resolved; what is asked to be implicit is, whatever the integrator, and without a word."""
    model = rod(damping=4.0)
    told = r"'rod' is stiff for steps of 0.002 s by 'rkmk4' \(friction, up to 999/s at 'hinge'\), and flown by 'ros34pw2'"
    with pytest.warns(engine.SimulationWarning, match=told) as caught:
        simulator = engine.Simulator(model, 2e-3, "rkmk4", **AWAY)
    assert len(caught) == 1 and simulator.method.name == "ros34pw2"
    assert [engine.Simulator(model, dt, name, joint_dynamics=mode, **AWAY).method.name for dt, name, mode in (
        (2e-3, None, "auto"), (5e-4, "cg4", "auto"), (2e-3, "rkmk4", "implicit"), (2e-3, "ros34pw2", "auto"))] == [
        "ros34pw2", "cg4", "ros34pw2", "ros34pw2"]  # fmt: skip
    assert engine.Simulator(model, 5e-4, **AWAY).method.name == "cg4"


def test_a_strong_servo_on_a_light_rod_rests_at_its_target():
    model = rod(damping=0.1)
    servo = GeneralActuator({"hinge": 1.0}, gain=(2000.0, 0.0, 0.0), bias=(0.0, -2000.0, -200.0), name="servo")
    run = engine.Simulator(model, dt=2e-3, actuators=[servo], controller=lambda t, q, v: {"servo": 0.1}, **AWAY).run([0.0], [0.0], 2.0)
    assert abs(run.q[-1, 0] - 0.1) < 1e-6 and abs(run.v[-1, 0]) < 1e-6


def test_what_is_asked_to_be_implicit_is_so_at_parameters_that_are_zero_nominally():
    """A damping of 100/h is none at first: the rod stops as one that is built with it, 1/1e5 of a rad on."""
    c = 1e5 * model_inertia(rod())
    asked = engine.Simulator(rod(), parameters={"damping.hinge": 0.0}, joint_dynamics="implicit", **AWAY)
    runs = [asked.run([0.0], [1.0], 0.02, parameters={"damping.hinge": c}),
            engine.Simulator(rod(damping=c), joint_dynamics="implicit", **AWAY).run([0.0], [1.0], 0.02)]  # fmt: skip
    assert asked.method.name == "ros34pw2" and np.abs(runs[0].q - runs[1].q).max() < 1e-15
    assert abs(runs[0].q[-1, 0] - 1e-5) < 1e-6


def test_a_joint_that_follows_another_counts_once():
    """Two rods on one coordinate, sprung at one: √(k/2I), and what friction meets of h (D + h K) is there once, plain and compiled."""
    pair = engine.Builder("pair")
    pair.add_link("base")
    for name, mimic in (("a", None), ("b", engine.Mimic("a"))):
        pair.add_link(name, inertia=inertia.sphere(2.5, 1.0))
        pair.add_joint(name, "revolute", "base", name, axis=[0, 1, 0], mimic=mimic, friction=0.1)
    given = {"dt": 1e-2, "forces": [JointSpring("a", 200.0, rest=1.0)], "joint_dynamics": "implicit", **AWAY}
    simulator = engine.Simulator(pair.model(), **given)
    assert "up to 10/s" in repr(simulator) and simulator.plant.stiffness.always and len(simulator.plant.stiffness.moving) == 1
    runs = [s.run([0.0], [0.0], 0.02) for s in (simulator, engine.Simulator(pair.model(), compiled=False, **given))]
    assert np.abs(runs[0].v - runs[1].v).max() < 1e-12


# ---------------------------------------------------------------- the user's own


def pd(t, q, v):
    return 5000.0 * (0.1 - q) - 200.0 * v


def test_a_controller_of_the_users_is_implicit_as_a_servo_is():
    model = rod()
    simulator = engine.Simulator(model, dt=2e-3, controller=pd, **AWAY)
    run = simulator.run([0.0], [0.0], 0.1)
    q, _ = truth(model, pd, 0.1, [0.0], [0.0])
    assert "stiff: drive" in repr(simulator) and abs(run.q[-1, 0] - q[0]) < 1e-4


def test_a_law_says_whether_it_is_implicit():
    model = rod()

    def gentle(t, q, v):
        return -q - v * 0.01

    asked = engine.Simulator(model, controller=engine.Law(gentle, stiff=True), **AWAY)
    assert asked.method.name == "ros34pw2" and engine.Simulator(model, controller=gentle, **AWAY).method.name == "cg4"
    never = engine.Simulator(model, dt=2e-3, controller=engine.Law(pd, stiff=False), **AWAY)
    assert never.method.name == "cg4"
    with pytest.raises(engine.SimulationError, match="held between its ticks"):
        engine.Law(pd, stiff=True, period=0.01)
    with pytest.raises(engine.SimulationError, match="stiff is 'yes'"):
        engine.Law(pd, stiff="yes")


def test_forces_on_links_are_implicit_too():
    """A rope of 1e5 N/m from the rod's tip to a point: the tip's coordinates are those of the link's pose."""
    model = rod()

    def rope(t, q, v, pose, twist):
        T, V = pose("rod"), twist("rod")
        tip, speed = T[:3, 3] + 0.2 * T[:3, 2], T[:3, :3] @ (V[3:] + np.cross(V[:3], [0.0, 0.0, 0.2]))
        f = T[:3, :3].T @ (-1e4 * (tip - np.array([0.05, 0.0, 0.19])) - 200.0 * speed)
        return {"rod": np.concatenate([np.cross([0.0, 0.0, 0.2], f), f])}

    ends = [engine.Simulator(model, dt=dt, forces=[rope], **AWAY).run([0.0], [0.0], 0.1).q[-1, 0] for dt in (2e-3, 1e-3, 2e-5)]
    assert abs(ends[0] - ends[2]) < 1e-4 and abs(ends[1] - ends[2]) < 0.2 * abs(ends[0] - ends[2]) + 1e-9


@pytest.mark.parametrize("given", [{}, {"conserve_momentum": False}, {"joint_dynamics": "implicit"}])
def test_a_tether_on_what_floats_holds_it_and_does_not_turn_it(given):
    """To 10 kg, 4e7 N/m and 4e5 N·s/m are 4e4/s in steps of 10 ms: it hangs m g/k deep, and turns as freely as without; so does its joint.

    K is symmetric at rest where it hangs, and nowhere else: mirrored, it would turn the body. Its momentum changes with its velocity.
    """
    body = engine.Builder("body")
    body.add_link("body", inertia=inertia.box(9.0, (0.4, 0.5, 0.6))), body.add_link("flap", inertia=inertia.box(1.0, (0.1, 0.2, 0.3)))
    body.add_joint("hinge", "revolute", "body", "flap", axis=[0, 1, 0])
    model = body.model(floating_base=True)

    def tether(t, q, v, pose, twist):
        T, V = pose("body"), twist("body")
        f = T[:3, :3].T @ (-4e7 * T[:3, 3]) - 4e5 * V[3:]
        return {"body": np.concatenate([np.zeros(3), f])}

    q, v = np.array([1.0, 0, 0, 0, 1e-3, 0, 0, 0]), np.array([0.1, 0.2, 0.3, 0, 0, 0, 0.4])
    force = tether if "joint_dynamics" in given else engine.Law(tether, stiff=True)
    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, -9.81), forces=[force], **given)
    run, free = simulator.run(q, v, 1.0), engine.Simulator(model, dt=1e-3, **AWAY).run(q, v, 1.0)
    np.testing.assert_allclose(run.q[-1, 4:7], [0, 0, -98.1 / 4e7], rtol=0, atol=5e-9)
    np.testing.assert_allclose(run.v[-1, [0, 1, 2, 6]], free.v[-1, [0, 1, 2, 6]], rtol=0, atol=1e-8)


def test_a_law_that_is_stiff_on_what_floats_only_is_told_of_the_integrator_that_follows_it():
    """A damping of 10 N·m·s/rad on 1/600 kg·m²: 6e3/s in steps of 2 ms."""
    body = engine.Builder("body")
    body.add_link("body", inertia=inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = body.model(floating_base=True)

    def attitude(t, q, v):
        return np.concatenate([-100.0 * q[1:4] - 10.0 * v[:3], np.zeros(3)])

    start = [np.cos(0.2), np.sin(0.2), 0, 0, 0, 0, 0], np.zeros(6), 0.2
    with pytest.raises(engine.SimulationError, match=r"under attitude, .*, or integrator='ros34pw2', for stiff forces on all that moves"):
        engine.Simulator(model, dt=2e-3, controller=attitude, **AWAY).run(*start)
    run = engine.Simulator(model, dt=2e-3, controller=attitude, integrator="ros34pw2", **AWAY).run(*start)
    exact = solve_ivp(lambda t, y: [y[1], -(100.0 * np.sin(y[0] / 2.0) + 10.0 * y[1]) * 600.0], (0.0, 0.2), [0.4, 0.0], "Radau", rtol=1e-9)
    assert abs(2.0 * np.arctan2(run.q[-1, 1], run.q[-1, 0]) - exact.y[0, -1]) < 1e-5


# ---------------------------------------------------------------- limits, stops, contacts


def test_a_servo_at_the_end_of_its_effort_does_not_chatter():
    """30 N·m on a link of 1e-4 kg·m² would make 600 rad/s in a step: it is where the servo is at the step's end that counts."""
    tool = engine.Builder("tool")
    tool.add_link("base"), tool.add_link("tool", inertia=inertia.sphere(0.1, 0.05))
    tool.add_joint("j", "revolute", "base", "tool", axis=[0, 0, 1], damping=1.0)
    servo = GeneralActuator({"j": 1.0}, gain=(1000.0, 0.0, 0.0), bias=(0.0, -1000.0, -100.0), force_range=(-30.0, 30.0), name="s")
    for dt in (4e-3, 2e-3, 1e-3):
        run = engine.Simulator(tool.model(), dt=dt, actuators=[servo], controller=lambda t, q, v: {"s": 0.1}, **AWAY).run([0.0], [0.0], 1.5)
        slow = np.exp(-1000.0 / 101.0 * run.t)                                 # what is left of the way, once it moves along
        assert np.abs(0.1 * (1.0 - slow) - run.q[:, 0]).max() < 2e-3 and abs(run.v[-1, 0]) < 1e-5
        assert np.abs(run.signals["s.force"]).max() <= 30.0


def test_a_limited_servo_moves_a_heavy_link_as_its_limit_has_it():
    """Far from its target it pushes with all it has: q = ½ (e/I) t²."""
    model = rod(mass=3.0, length=1.0)
    servo = GeneralActuator({"hinge": 1.0}, gain=(1e4, 0.0, 0.0), bias=(0.0, -1e4, -2e3), force_range=(-2.0, 2.0), name="s")
    run = engine.Simulator(model, dt=2e-3, actuators=[servo], controller=lambda t, q, v: {"s": 3.0}, **AWAY).run([0.0], [0.0], 0.5)
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * (2.0 / model_inertia(model)) * 0.25, rtol=1e-9)


def model_inertia(model):
    return engine.dynamics.crba(model, np.zeros(1))[0, 0]


def test_a_finger_pressed_against_a_wall_by_a_stiff_servo():
    """A finger of 10 g, kp 2000, kv 20, target 10 mm within a wall of 1e5 N/m: depth 2000·0.01/(1e5 + 2000), force in balance."""
    finger = engine.Builder("finger")
    finger.add_link("base"), finger.add_link("tip", inertia=inertia.sphere(0.01, 0.01))
    finger.add_joint("slide", "prismatic", "base", "tip", axis=[0, 0, 1], limits=engine.Limits(lower=0.0))
    servo = GeneralActuator({"slide": 1.0}, gain=(2000.0, 0.0, 0.0), bias=(0.0, -2000.0, -20.0), name="servo")
    for dt in (4e-3, 2e-3, 1e-3, 2.5e-4):
        run = engine.Simulator(finger.model(), dt=dt, actuators=[servo], controller=lambda t, q, v: {"servo": -0.01}, **AWAY).run(
            [0.02], [0.0], 1.0)
        k = run.signals["stops.force"][-1, 0] / -run.q[-1, 0]
        np.testing.assert_allclose(run.signals["stops.force"][-1, 0], 2000.0 * (0.01 + run.q[-1, 0]), rtol=1e-6)
        assert np.abs(run.v[len(run.t) // 2 :]).max() < 1e-6 and k > 0.0


# ---------------------------------------------------------------- momentum, constraints, springs


def test_momentum_of_a_free_flyer_with_stiff_servos_stays_to_rounding():
    builder = engine.Builder("flyer")
    builder.add_link("bus", inertia=inertia.box(20.0, (0.4, 0.5, 0.6)))
    for k, parent in enumerate(("bus", "a")):
        name = "ab"[k]
        builder.add_link(name, inertia=inertia.box(0.5, (0.05, 0.05, 0.3)))
        T = engine.spatial.se3.pose(np.eye(3), [0, 0, 0.3])
        builder.add_joint(f"j{k}", "revolute", parent, name, axis=[0, 1, 0] if k else [1, 0, 0], placement=T, damping=5.0)
    model = builder.model(floating_base=True)

    def hold(t, q, v):
        return np.concatenate([np.zeros(6), 4000.0 * (np.array([0.05, -0.04]) - q[7:]) - 100.0 * v[6:]])

    simulator = engine.Simulator(model, dt=5e-3, controller=hold, **AWAY)
    run = simulator.run(model.neutral(), np.array([0.1, 0.2, 0.3, 0.05, 0.0, 0.0, 0.0, 0.0]), 2.0)
    P = run.momentum()
    assert simulator.method.name == "ros34pw2" and np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()
    assert np.abs(run.q[-1, 7:] - [0.05, -0.04]).max() < 1e-4


def test_a_stiff_servo_beside_a_loop():
    """Two rods coupled one to one: the servo on one carries both."""
    pair = engine.Builder("pair")
    pair.add_link("base")
    for name in ("a", "b"):
        pair.add_link(name, inertia=inertia.box(0.3, (0.01, 0.02, 0.2)))
        pair.add_joint(name, "revolute", "base", name, axis=[0, 1, 0])
    servo = GeneralActuator({"a": 1.0}, gain=(2000.0, 0.0, 0.0), bias=(0.0, -2000.0, -200.0), name="servo")
    given = {"actuators": [servo], "controller": lambda t, q, v: {"servo": 0.1}, **AWAY}
    coupled = engine.Simulator(pair.model(), dt=2e-3, constraints=[engine.Coupling("b", "a")], **given).run([0.0, 0.0], [0.0, 0.0], 0.2)
    assert np.abs(coupled.q[:, 0] - coupled.q[:, 1]).max() < 1e-12
    alone = engine.Builder("one")
    alone.add_link("base"), alone.add_link("a", inertia=2.0 * inertia.box(0.3, (0.01, 0.02, 0.2)))
    alone.add_joint("a", "revolute", "base", "a", axis=[0, 1, 0])
    single = engine.Simulator(alone.model(), dt=2e-3, **given).run([0.0], [0.0], 0.2)
    np.testing.assert_allclose(coupled.q[:, :1], single.q, rtol=0, atol=1e-12)


def test_solve_follows_what_is_stiff_with_few_steps():
    model = rod()
    solution = engine.Simulator(model, controller=pd, **AWAY).solve([0.0], [0.0], 2.0, tolerance=1e-7)
    q, _ = truth(model, pd, 0.05, [0.0], [0.0])
    assert abs(solution(0.05)[0][0] - q[0]) < 1e-5 and len(solution) < 2000


def test_limits_hold_in_solve_and_in_what_is_linearized():
    model = rod(mass=3.0, length=1.0)
    servo = GeneralActuator({"hinge": 1.0}, gain=(1e4, 0.0, 0.0), bias=(0.0, -1e4, -2e3), force_range=(-2.0, 2.0), name="s")
    simulator = engine.Simulator(model, dt=2e-3, actuators=[servo], controller=lambda t, q, v: {"s": 3.0}, **AWAY)
    inertia_ = model_inertia(model)
    np.testing.assert_allclose(simulator.solve([0.0], [0.0], 0.5)(0.5)[0][0], 0.25 / inertia_, rtol=1e-8)
    A, _ = simulator.linearize_continuous([0.0], [0.0])
    assert simulator.method.name == "ros34pw2" and np.abs(A[1]).max() == 0.0   # at its limit it has no slope
    A, _ = simulator.linearize_continuous([3.0], [0.0])
    np.testing.assert_allclose(A[1], [-1e4 / inertia_, -2e3 / inertia_], rtol=1e-12)


def test_an_oscillation_that_steps_damp_away_is_named():
    with pytest.warns(engine.SimulationWarning, match=r"oscillates at 1\.\d+e\+03 rad/s by the forces at 'hinge', which .* damp"):
        engine.Simulator(rod(), dt=2e-3, forces=[JointSpring("hinge", 1e4)], **AWAY)


def test_a_force_across_the_motion_leaves_nothing_for_impulses_to_meet():
    """A wheel's ω × h has slopes off the diagonal alone, and does no work: friction after the flight takes what it takes, to the step."""
    ball, I = engine.Builder("ball"), 0.4 * 2.0 * 0.3**2
    ball.add_link("base"), ball.add_link("ball", inertia=inertia.sphere(2.0, 0.3))
    ball.add_joint("j", "spherical", "base", "ball", friction=0.02)
    wheel = ReactionWheels("ball", [[0, 0, 1]], initial=[0.1])
    simulator = engine.Simulator(ball.model(), actuators=[wheel], joint_dynamics="implicit", **AWAY)
    run = simulator.run([1.0, 0, 0, 0], [0.5, 0.0, 0.0], 0.2)
    energy, speeds = 0.5 * I * (run.v**2).sum(axis=1), np.abs(run.v).sum(axis=1)
    assert "wheels" in simulator.plant.stiffness.names and not simulator.plant.stiffness.entries
    np.testing.assert_allclose(energy[0] - energy, 0.02 * cumulative_trapezoid(speeds, run.t, initial=0.0), rtol=0, atol=0.02 * 1e-3)


# ---------------------------------------------------------------- bad input


def test_a_negative_damping_drives_a_joint_and_is_told():
    """v = v₀ exp(0.1 t/I), as an equation with −D v has it."""
    text = ('<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
            'iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/><dynamics damping="-0.1"/>'
            "</joint></robot>")  # fmt: skip
    with pytest.warns(engine.EngineWarning, match=r"damping is -0\.1; expected zero or more \(a Simulator drives the joint by it"):
        model = engine.load_urdf(text)
    for mode in ("auto", "explicit"):
        with pytest.warns(engine.SimulationWarning, match=r"joint 'j' has a damping of -0\.1, which drives it, and is integrated as it is"):
            run = engine.Simulator(model, dt=1e-2, joint_dynamics=mode, **AWAY).run([0.0], [1.0], 1.0)
        np.testing.assert_allclose(run.v[-1], np.exp(0.1), rtol=1e-9)


def test_a_spring_without_mass_behind_it_is_refused_by_its_joint():
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.sphere(1.0, 0.1)), arm.add_link("tip")
    arm.add_joint("hinge", "revolute", "base", "rod"), arm.add_joint("wrist", "revolute", "rod", "tip")
    with pytest.raises(engine.EngineError, match=r"joint 'wrist' moves no mass: .* expected a link with inertia at or after the joint"):
        engine.Simulator(arm.model(), forces=[JointSpring("wrist", 100.0)], **AWAY)
    for make in (lambda: JointSpring("hinge", np.nan), lambda: GeneralActuator({"hinge": 1.0}, gain=(np.nan, 0.0, 0.0))):
        with pytest.raises(engine.SimulationError, match=r"stiffness is nan; expected zero or more|gain holds NaN or infinity"):
            engine.Simulator(rod(), forces=[make()], **AWAY)


def test_a_law_that_is_no_number_or_has_no_slopes_is_named_with_its_place():
    def no_gain(t, q, v):
        return np.nan * (0.1 - q) - 200.0 * v

    def no_slope(t, q, v):
        return np.arccos(q) - 5000.0 * q - 200.0 * v

    steep = engine.Law(no_slope, stiff=True)
    for law, said in ((no_gain, r"no_gain returns NaN or infinity at t = 0 s"),
                      (steep, r"no_slope has no slopes at q = \[1\.\], v = \[0\.\], which a flight that is implicit takes; expected")):
        with pytest.raises(engine.SimulationError, match=said):
            engine.Simulator(rod(), dt=2e-3, controller=law, **AWAY).run([1.0], [0.0], 0.1)


def test_a_stiff_law_in_plain_python_is_told_with_the_dt_it_wants():
    """−3 v on 0.004 kg·m², held for 2 ms: 1/λ = I/3."""
    law = engine.Law(lambda t, q, v: -3.0 * v, period=2e-3, python=True)
    with pytest.warns(engine.SimulationWarning, match=r"it chatters; expected a smaller dt, to about 0\.0013 s,"):
        engine.Simulator(rod(), dt=2e-3, controller=law, **AWAY).run([0.0], [100.0], 0.03)
    simulator = engine.Simulator(rod(), dt=2e-3, controller=pd, compiled=False, **AWAY)
    assert simulator.method.name == "ros34pw2"                                 # every stage, by differences


# ---------------------------------------------------------------- what stays explicit


def test_parameters_that_make_it_stiff_are_told_once():
    simulator = engine.Simulator(rod(), dt=2e-3, parameters={"damping.hinge": 1e-3}, **AWAY)
    gentle, strong = {"damping.hinge": np.array([0.0, 1e-2])}, {"damping.hinge": np.array([1e-3, 3.0])}
    simulator.run([0.0], [1e-3], 0.01, parameters=gentle)
    with pytest.warns(engine.SimulationWarning, match=r"stiff with parameter 'damping\.hinge' of up to 3 \(friction, up to \d+/s at"):
        simulator.run([0.0], [0.0], 0.01, parameters=strong)
    simulator.run([0.0], [0.0], 0.01, parameters=strong)
    steered = engine.Simulator(rod(), dt=2e-3, parameters={"kp": 1.0}, controller=lambda t, q, v, kp: -kp * q - 0.1 * v, **AWAY)
    with pytest.warns(engine.SimulationWarning, match=r"stiff with parameter 'kp' of up to 500000 \(drive, .* a nominal value as large"):
        steered.values_of({"kp": 5e5})
    large = engine.Simulator(rod(), dt=2e-3, parameters={"damping.hinge": 3.0}, **AWAY)
    assert large.method.name == "ros34pw2"
    large.values_of({"damping.hinge": 30.0})


def test_states_that_are_faster_than_steps_are_told():
    def smoothed(t, q, v, state):
        return -state, 2000.0 * (q - state)

    lag = GeneralActuator({"hinge": 1.0}, dynamics="filter", time=1e-3, name="lag")
    for given, said in (({"controller": engine.Law(smoothed, state=[0.0])}, r"the state of smoothed changes at 2e\+03/s"),
                        ({"actuators": [lag]}, r"the state of 'lag' changes at 1e\+03/s, which explicit steps of 0\.002 s do not follow; "
                                               r"expected a dt of 0\.001 s or less")):  # fmt: skip
        with pytest.warns(engine.SimulationWarning, match=said):
            engine.Simulator(rod(), dt=2e-3, **given, **AWAY)
        engine.Simulator(rod(), dt=5e-4, **given, **AWAY)
