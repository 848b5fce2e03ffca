"""Robots whose servos and motors are too fast for explicit steps: order along the motion, momentum, rest at stops and in contact, motors'
lines."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.components.actuators import Motor
from engine.components.forces import JointSpring
from engine.components.general_actuator import GeneralActuator
from engine.contact.hunt_crossley import AT_ONCE, EVENLY, lasts, normal_impulse
from engine.simulation.culprit import weightless
from engine.simulation.effort_limits import onward
from engine.simulation.halving import COARSE, FINE
from engine.spatial import inertia, se3

AWAY = {"gravity": (0.0, 0.0, 0.0)}


def above(height):
    return se3.pose(np.eye(3), [0.0, 0.0, height])


def within(angle, effort):
    return {"lower": -angle, "upper": angle, "effort": effort}


def servo(joint, kp, kv, **given):
    return GeneralActuator({joint: 1.0}, gain=(kp, 0.0, 0.0), bias=(0.0, -kp, -kv), name=f"servo of {joint}", **given)


def chain(masses, lengths, floating=False, limits=None, base=1.0):
    """Rods on hinges, one on the other, on a box: a finger, or an arm."""
    b = engine.Builder("chain")
    b.add_link("base", inertia=inertia.box(base, (0.1, 0.1, 0.1)))
    for k, (mass, length) in enumerate(zip(masses, lengths, strict=True)):
        b.add_link(f"rod{k}", inertia=inertia.recentered(inertia.box(mass, (0.2 * length, 0.2 * length, length)), [0.0, 0.0, 0.5 * length]))
        b.add_joint(f"j{k}", "revolute", f"rod{k - 1}" if k else "base", f"rod{k}", axis=[0, 1, 0] if k else [1, 0, 0],
                    placement=above(lengths[k - 1] if k else 0.05), limits=engine.Limits(**(limits[k] if limits else {})))  # fmt: skip
    return b.model(floating_base=floating)


def order(model, kp, kv, steps, duration, **given):
    """The order of convergence of q, by its rms along the motion towards targets against a run of shorter steps."""
    joints = [b.joint.name for b in model.bodies if not b.kind.floats]
    servos, targets = [servo(j, kp, kv) for j in joints], {f"servo of {j}": 0.4 for j in joints}
    times = np.linspace(0.0, duration, round(duration / steps[0]) + 1)

    def along(dt):
        simulator = engine.Simulator(model, dt=dt, actuators=servos, controller=lambda t, q, v: targets, **given)
        assert simulator.method.name == "ros34pw2" or dt < steps[-1]
        run = simulator.run(model.neutral(), np.zeros(model.nv), duration)
        every = (len(run.t) - 1) // (len(times) - 1)
        return run.q[::every]

    truth = along(steps[-1] / 8.0)
    errors = [np.sqrt(np.mean((along(dt) - truth) ** 2)) for dt in steps]
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


# ---------------------------------------------------------------- order, momentum


@pytest.mark.parametrize("floating", [False, True])
def test_a_hand_with_servos_is_of_order_three(floating):
    """A finger of 20 and 10 g: rates of 1e4/s, motion of 1/s beside; its palm held, or held by nothing."""
    hand = chain((0.02, 0.01), (0.05, 0.04), floating, base=0.2)
    steps = (1e-3, 5e-4, 2.5e-4) if floating else (4e-3, 2e-3, 1e-3)           # longer ones of the floating hand go in parts
    assert 2.8 < order(hand, 0.5, 0.02, steps, 0.2, **(AWAY if floating else {})) < 3.4


def test_an_arm_with_servos_is_of_order_three():
    assert 2.8 < order(chain((3.0, 1.0, 0.2), (0.4, 0.3, 0.1)), 2000.0, 200.0, (4e-3, 2e-3, 1e-3, 5e-4), 0.4) < 3.2


def test_a_gram_between_half_a_ton_and_a_load_on_a_stiff_spring_is_right_at_long_steps():
    """Its modes are of 190 rad/s, little damped: steps of 10 ms see a third of a turn of it, and go in parts. Beside SciPy's Radau."""
    b = engine.Builder("arm")
    b.add_link("l0")
    for k, (mass, damping, rotor) in enumerate(((500.0, 10.0, 0.0), (1e-3, 500.0, 1e-4), (20.0, 1.0, 0.0))):
        b.add_link(f"l{k + 1}", inertia=inertia.recentered(inertia.box(mass, (0.05, 0.05, 0.5)), [0.0, 0.0, -0.25]))
        b.add_joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", axis=(0, 1, 0), placement=above(-0.5 if k else 0.0), damping=damping,
                    armature=rotor)  # fmt: skip
    model = b.model()
    springs = [JointSpring("j1", 3e5, rest=0.3), JointSpring("j2", 200.0, rest=-0.5, damping=0.5)]
    robot, k, rest, d = engine.compile(model), np.array([0.0, 3e5, 200.0]), np.array([0.0, 0.3, -0.5]), np.array([10.0, 500.0, 1.5])
    begin = np.array([1.0, 0.0, 0.0])
    exact = solve_ivp(lambda t, y: np.append(y[3:], robot.aba(y[:3], y[3:], -k * (y[:3] - rest) - d * y[3:])), (0.0, 0.05),
                      np.append(begin, np.zeros(3)), "Radau", rtol=1e-8, atol=1e-9).y[:3, -1]  # fmt: skip
    run = engine.Simulator(model, dt=1e-2, forces=springs).run(begin, np.zeros(3), 0.05)
    assert np.abs(run.q[-1] - exact).max() < 5 * 4 * COARSE[0]                 # at most, of five steps in parts of a quarter and less


def test_momentum_of_a_floating_hand_stays_to_rounding():
    """Its finger ends at its stop, and its servo presses it there."""
    hand = chain((0.02, 0.01), (0.05, 0.04), True, limits=(within(1.0, 5.0), within(0.1, 5.0)), base=0.2)
    servos, targets = [servo(f"j{k}", 1.0, 0.05) for k in (0, 1)], {"servo of j0": 0.3, "servo of j1": 0.4}
    simulator = engine.Simulator(hand, dt=2e-3, actuators=servos, controller=lambda t, q, v: targets, **AWAY)
    run = simulator.run(hand.neutral(), np.array([0.3, -0.2, 0.1, 0.05, 0.0, -0.1, 0.0, 0.0]), 1.0)
    P = run.momentum()
    assert simulator.method.name == "ros34pw2" and np.abs(P - P[0]).max() < 1e-13 * np.abs(P).max()
    assert run.signals["stops.force"][-1, -1] < -0.1


def test_what_stiff_servos_exchange_of_momentum_is_told_by_what_it_turns():
    """They exchange a part of all momentum in a step, which turns the palm by 2e-4 rad: told where nothing sets it right."""
    hand = chain((0.02, 0.01), (0.05, 0.04), True, base=0.2)
    servos, targets = [servo(f"j{k}", 50.0, 1.0) for k in (0, 1)], {"servo of j0": 0.4, "servo of j1": 0.4}

    def run(dt, duration=0.5, **given):
        simulator = engine.Simulator(hand, dt=dt, actuators=servos, controller=lambda t, q, v: targets, **given, **AWAY)
        return simulator.run(hand.neutral(), np.zeros(hand.nv), duration, record_every=round(duration / dt / 50))

    found, exact = run(2e-3), run(1e-4)
    assert found.defect[-1] > 0.1 and found.warnings == () and np.abs(found.q[-1] - exact.q[-1]).max() < 1e-3
    with pytest.warns(engine.SimulationWarning, match="errors of momentum add up to .*, which hides that the attitude is up to .* rad off"):
        found = run(1e-2)
    with pytest.warns(engine.SimulationWarning, match="the momentum, which nothing outside changes, is .* of it off"):
        found = run(2e-3, conserve_momentum=False)
    assert np.abs(found.q[-1] - exact.q[-1]).max() > 0.2


# ---------------------------------------------------------------- rest


def gripper():
    """A finger of 10 g on a slide over a box that stands still."""
    b = engine.Builder("gripper")
    b.add_link("base", collisions=[engine.Geometry("box", (0.1, 0.1, 0.1), placement=above(-0.05))])
    b.add_link("finger", inertia=inertia.sphere(0.01, 0.01), collisions=[engine.Geometry("sphere", (0.01,))])
    b.add_joint("slide", "prismatic", "base", "finger", axis=[0, 0, 1])
    return b.model()


@pytest.mark.parametrize("kv", [20.0, 200.0])
def test_a_finger_presses_a_box_as_hard_at_any_step(kv):
    """Its servo wants it 10 mm within the box: 2000 (0.01 − δ) = 1e5 δ."""
    depth = 2000.0 * 0.01 / 1.02e5
    model, material = gripper(), engine.ContactMaterial(stiffness=2e5, dissipation=1.0)
    contacts = engine.Contacts(pairs=[("base", "finger")], material=material)
    for dt in (4e-3, 1e-3):
        run = engine.Simulator(model, dt=dt, actuators=[servo("slide", 2000.0, kv)], controller=lambda t, q, v: {"servo of slide": 0.0},
                               contacts=contacts, **AWAY).run([0.03], [0.0], 0.6)  # fmt: skip
        end = len(run.t) * 9 // 10
        np.testing.assert_allclose(0.01 - run.q[-1, 0], depth, rtol=1e-9)
        np.testing.assert_allclose(run.signals["contacts.force"][-1].sum(axis=0), [0.0, 0.0, 1e5 * depth], rtol=1e-9, atol=1e-12)
        assert np.abs(run.v[end:]).max() < 1e-9


def test_an_arm_at_its_stops_rests():
    """Its servos press it there, with its weight and the stops' forces about as large."""
    arm = chain((2.0, 0.5, 0.1), (0.3, 0.3, 0.2), limits=(within(2.0, 900.0), within(1.0, 900.0), within(0.5, 200.0)))
    servos, targets = [servo(f"j{k}", 2000.0, 100.0) for k in range(3)], {f"servo of j{k}": x for k, x in enumerate((0.3, 1.4, 0.9))}
    ends = []
    for dt in (4e-3, 1e-3):
        run = engine.Simulator(arm, dt=dt, actuators=servos, controller=lambda t, q, v: targets).run(np.zeros(3), np.zeros(3), 2.0)
        ends.append(np.append(run.q[-1], run.signals["stops.force"][-1]))
        assert np.abs(run.v[-1]).max() < 1e-9 and run.signals["stops.force"][-1, 2] < -1.0
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-7, atol=1e-7)


PRESSED = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>
<worldbody><body><joint name="hinge" axis="0 1 0" range="-1 0.5" {joint}/>
<geom type="capsule" size=".01" fromto="0 0 0 0 0 .3" mass=".5"/></body></worldbody>
<actuator><position name="servo" joint="hinge" kp="400" dampratio="1" gear="2" {actuator}/></actuator></mujoco>"""


@pytest.mark.parametrize(("joint", "actuator"), [('actuatorfrcrange="-60 60"', ""), ("", 'forcerange="-30 20"')])
def test_what_a_servo_may_exert_is_held_by_the_stop_whoever_limits_it(joint, actuator):
    """60 or 40 N·m, within a hundredth of the range."""
    model = engine.load(PRESSED.format(joint=joint, actuator=actuator))
    run = engine.simulator_of(model, contacts=None, controller=lambda t, q, v: {"servo": 3.0}).run([0.5], [0.0], 0.5)
    pressed = 40.0 if actuator else 60.0
    np.testing.assert_allclose(run.q[-1, 0] - 0.5, 0.01 * 1.5 * pressed / 60.0, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:.*beyond its limits")
@pytest.mark.parametrize("dt", [4e-3, 1e-2])
def test_a_servo_with_a_limit_that_strikes_a_stop_makes_no_energy(dt):
    """10 N·m over half a radian are 5 J, all that there is to lose at the stop, beyond which 10 N·m go on; it is beyond by a step's way at
    most, at the 50 rad/s with which it comes."""
    b = engine.Builder("rod")
    b.add_link("stand"), b.add_link("rod", inertia=inertia.from_mass(0.3, [0, 0, 0.1], 1e-3 * np.eye(3)))
    b.add_joint("hinge", "revolute", "stand", "rod", axis=(0, 1, 0), limits=engine.Limits(-1.0, 0.5, effort=10.0))
    simulator = engine.Simulator(b.model(), dt=dt, controller=lambda t, q, v: 5000.0 * (1.0 - q) - 50.0 * v, **AWAY)
    run = simulator.run([0.0], [0.0], 1.5)
    assert simulator.method.name == "ros34pw2"
    assert (0.5 * 4e-3 * run.v[:, 0] ** 2).max() < 5.0 * 1.05 and run.q.max() < 0.5 + 50.0 * dt and abs(run.v[-1, 0]) < 1e-6


@pytest.mark.parametrize("dt", [5e-3, 2e-3])
@pytest.mark.parametrize("switched", [0.2, 0.2 + 1e-15, 0.2013], ids=["at a step", "after its beginning", "within it"])
def test_a_command_that_jumps_asks_no_more_than_the_effort(switched, dt):
    """30 N·m turn 0.02 kg·m² by 1500 rad/s² at most: no step gains more, but a tenth where it comes off the limit within one, and none
    before the command jumps. After that, the joint is where it would be had the command jumped within the step."""
    b = engine.Builder("rod")
    b.add_link("stand"), b.add_link("rod", inertia=inertia.from_mass(1.0, np.zeros(3), 0.02 * np.eye(3)))
    b.add_joint("hinge", "revolute", "stand", "rod", axis=(0, 0, 1), limits=engine.Limits(effort=30.0))

    def law(t, q, v):
        return 2000.0 * (np.where(t < switched, 0.1, -0.3) - q) - 60.0 * v

    simulator = engine.Simulator(b.model(), dt=dt, controller=law, **AWAY)
    run, fine = simulator.run([0.1], [0.0], 0.3), engine.Simulator(b.model(), dt=1e-5, controller=law, **AWAY).run([0.1], [0.0], 0.3)
    assert simulator.method.name == "ros34pw2"
    assert np.abs(np.diff(run.v[:, 0])).max() < 1.1 * 1500.0 * dt
    assert np.abs(run.v[run.t <= switched - dt + 1e-12]).max() < 1e-12
    off = np.abs(run.q[:, 0] - fine.q[:: round(dt / 1e-5), 0]).max()
    assert off < (1.1 * dt * np.abs(fine.v).max() if switched == 0.2013 else 5e-3 * (dt / 2e-3) ** 2)


def test_what_lasts_is_found_where_the_step_ends():
    """At rest v⁺ = v₀ = 0 after a flight to ũ = −h f/A, x̃ = x + c h ũ: the force is that of the depth x, between middle and end alike."""
    h, k, x = 1e-3, 1e4, -2e-4
    for way in (EVENLY, AT_ONCE):
        for s in (0.0, 0.5, 1.0):
            for free in (-0.01, -0.3):
                push, slope = normal_impulse(k, 0.0, h, s, way, x + way * h * free, 0.0, free, 0.0)
                assert abs(push - h * k * -x) < 0.25 * (1.0 - s) * h * h * k * abs(free) + 1e-15
                change = normal_impulse(k, 0.0, h, s, way, x + way * h * free, 0.0, free, -1e-6)[0] - push
                np.testing.assert_allclose(change, slope * 1e-6, rtol=1e-3)
                assert lasts(h, way, x + way * h * free, free, 0.0)


def test_axes_that_come_in_line_are_named():
    """Three hinges through one point carry a mass without inertia: about the line to it they move none."""
    b = engine.Builder("head")
    b.add_link("base")
    for k, axis in enumerate(([0, 1, 0], [1, 0, 0], [0, 0, 1])):
        heavy = inertia.recentered(1.3 * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), [0.02, 0.0, 0.1])
        b.add_link(f"neck{k}", inertia=heavy if k == 2 else np.zeros((6, 6)))
        b.add_joint(f"n{k}", "revolute", f"neck{k - 1}" if k else "base", f"neck{k}", axis=axis, damping=1.0)
    simulator = engine.Simulator(b.model())
    with pytest.raises(engine.SimulationError, match=r"the axes of 'n1', 'n2' come to where .* no inertia: 'neck1', 'neck2' have none"):
        simulator.run([0.1, 0.0, 0.0], [0.1, 0.2, 0.3], 0.1)


def test_a_chain_that_is_light_beside_its_load_comes_to_no_such_place():
    """A rope of ten links of 50 g, and half a ton on it: it moves as little inertia wherever it is."""
    rope = chain([0.05] * 10 + [500.0], [0.2] * 11)
    assert weightless(rope, [np.full(rope.nq, 0.1)]) == ""


def test_the_integrator_that_a_run_has_is_no_advice():
    """A law with a state that is faster than its steps, which no method of them follows."""
    slow = engine.Law(lambda t, q, v, state: (state, (5000.0 * (0.5 - q) - 200.0 * v - state) / 5e-5), state=[0.0], name="slow")
    with pytest.warns(engine.SimulationWarning, match="the state of slow changes at"):
        simulator = engine.Simulator(chain([2.0], [0.4]), 1e-2, "ros34pw2", controller=slow)
    with pytest.raises(engine.SimulationError, match=r"diverges under slow.*; expected a smaller dt or gentler forces$"):
        simulator.run([0.0], [0.0], 0.3)


# ---------------------------------------------------------------- motors


def light(moment):
    b = engine.Builder("light")
    b.add_link("base"), b.add_link("rotor", inertia=inertia.from_mass(0.01, np.zeros(3), moment * np.eye(3)))
    b.add_joint("j", "revolute", "base", "rotor", axis=[0, 0, 1])
    return b.model()


@pytest.mark.parametrize("wanted", [50.0, 1.5])
def test_a_light_rotor_turns_at_the_no_load_speed(wanted):
    """5 N·m on 1e-5 kg·m² would be 1000 rad/s after 2 ms: it is where the line is met that a step ends, and it stays there, but for what
    the method leaves of what decays: R(z) ≥ −0.127."""
    for dt in (4e-3, 2e-3, 1e-3):
        simulator = engine.Simulator(light(1e-5), dt=dt, actuators=[Motor("j", effort=5.0, no_load_speed=3.0)],
                                     controller=lambda t, q, v: [wanted], **AWAY)  # fmt: skip
        run = simulator.run([0.0], [0.0], 0.1)
        assert simulator.method.name == "ros34pw2" and "motor of j, up to 1.67e+05/s" in repr(simulator)
        assert np.abs(run.v[1:] - 3.0).max() < 0.128 * 3.0 and np.ptp(run.v[2:]) < 1e-9


def test_a_loaded_motor_runs_where_its_line_meets_the_load():
    """τ = e (1 − v/v₀) = c v; on the way there v = v_∞ (1 − exp(−(e/v₀ + c) t/I)), to what a part of a step may be off."""
    moment, effort, speed, c = 1e-3, 5.0, 3.0, 0.5
    rate = (effort / speed + c) / moment
    model = light(moment)
    for dt in (1e-3, 5e-4):
        load = JointSpring("j", 0.0, damping=c)
        run = engine.Simulator(model, dt=dt, actuators=[Motor("j", effort=effort, no_load_speed=speed)], forces=[load],
                               controller=lambda t, q, v: [50.0], joint_dynamics="implicit", **AWAY).run([0.0], [0.0], 0.02)  # fmt: skip
        assert np.abs(run.v[:, 0] - effort / moment / rate * (1.0 - np.exp(-rate * run.t))).max() < FINE[1]
        np.testing.assert_allclose(run.v[-1, 0], effort / moment / rate, rtol=1e-9)


def test_a_position_controller_through_a_motor_does_not_chatter():
    """It runs along the line, brakes, and rests at its target; order of pieces as a speed falls through all of them."""
    for moment in (1e-5, 1e-3):
        run = engine.Simulator(light(moment), dt=2e-3, actuators=[Motor("j", effort=5.0, no_load_speed=3.0)],
                               controller=lambda t, q, v: 200.0 * (0.2 - q) - 2.0 * v, **AWAY).run([0.0], [0.0], 0.5)  # fmt: skip
        assert abs(run.q[-1, 0] - 0.2) < 1e-12 and abs(run.v[-1, 0]) < 1e-12 and run.v.max() < 3.4 and run.v.min() > -1e-9


def test_pieces_of_a_force_are_tried_one_after_the_other():
    found = np.array([1.0, 3.0, -1.0, 0.0, 3.0, -2.0, -3.0, 2.0])
    assert onward(np.array([0.0, 0.0, 1.0, 3.0, 2.0, 3.0, 0.0, -1.0]), found).tolist() == [1.0, 2.0, 0.0, 2.0, 3.0, 2.0, -2.0, 0.0]
