"""What sticks holds: it gives way by the stiction velocity times a step, and creeps no further."""

import numpy as np
import pytest

import engine
from engine.components.actuators import Motor
from engine.contact import contact_problem
from engine.contact.many import jointed
from engine.simulation import contacts as choice
from engine.spatial import inertia, quaternion, se3
from tests.contact.scenes import UPRIGHT, block, inclined, material, point, simulator

#: v_s dt of what follows: m
GIVES = 1e-4 * 1e-3


def gripper(axis=None):
    """Two fingers, on a base that turns about an axis if one is given."""
    builder = engine.Builder("hand")
    builder.add_link("world")
    if axis is not None:
        builder.add_link("palm", inertia=inertia.sphere(1.0, 0.1))
        builder.add_joint("turn", "revolute", "world", "palm", axis=axis)
    for side in (-1, 1):
        name = f"f{side}"
        builder.add_link(name, inertia=inertia.box(0.1, (0.02, 0.1, 0.1)), collisions=[engine.Geometry("box", (0.02, 0.1, 0.1))])
        builder.add_joint(f"j{side}", "prismatic", "world" if axis is None else "palm", name,
                          placement=se3.pose(np.eye(3), [side * 0.02, 0, 0]), axis=[1, 0, 0])  # fmt: skip
    return builder.model()


PAIRS = [("hand/f-1", "rod/block"), ("hand/f1", "rod/block")]


def held_rod(duration, every, **options):
    """A rod of 45 g between fingers that press with 12 N, at 2 ms: github.com/google-deepmind/mujoco/issues/3328."""
    model = engine.combine(hand=gripper(), rod=block((0.02, 0.02, 0.1), 0.045))
    sim = simulator(model, material(1e5, 0.5, 0.7), ground=False, pairs=PAIRS, dt=2e-3, gravity=(0, 0, -9.81),
                    controller=lambda t, q, v: np.array([12.0, -12.0, *np.zeros(6)]), **options)  # fmt: skip
    return sim.run([0.0, 0.0, *UPRIGHT, 0, 0, 0], np.zeros(8), duration, record_every=every)


@pytest.mark.parametrize("few", [20, 0])
def test_a_grip_does_not_creep(few, monkeypatch):
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    run = held_rod(4.0, 500)
    assert np.abs(run.q[2:, -1] - run.q[-1, -1]).max() < 1e-14 and np.abs(run.v[-1]).max() < 1e-12


def test_a_grip_does_not_creep_within_an_hour():
    run = held_rod(3600.0, 180_000)
    assert np.abs(run.q[1:, -1] - run.q[-1, -1]).max() < 1e-9


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_block_on_an_incline_stays(share):
    """At these shares of the steepest on which it stands: it gave way by as much of v_s h, and stays there."""
    z = 0.05 - 9.81 * np.cos(np.arctan(0.5 * share)) / 4e5
    run = simulator(block(), material(), gravity=inclined(np.degrees(np.arctan(0.5 * share)))).run([*UPRIGHT, 0, 0, z], np.zeros(6), 6.0)
    assert np.abs(run.q[3000:, 4] - run.q[-1, 4]).max() < 1e-3 * GIVES
    assert np.abs(run.v[-1]).max() < 1e-11


def test_what_is_pushed_to_and_fro_loses_the_work_of_friction():
    """A quarter of the loop, between two turns, is μ N times the way."""
    run = simulator(point(), material(), controller=lambda t, q, v: np.array([2e4, 2e4, 0]) * ([0.05 * np.sin(20.0 * t), 0, 0] - q)
                    - np.array([200.0, 200.0, 0]) * v).run([0, 0, 0.1 - 9.81e-5], np.zeros(3), 4 * np.pi / 20)  # fmt: skip
    lost = -(run("contacts.force")[:-1, 0, 0] * np.diff(run.q[:, 0])).sum()
    assert lost == pytest.approx(0.5 * 9.81 * np.abs(np.diff(run.q[:, 0])).sum(), rel=2e-3)


def test_it_gives_way_as_a_spring_and_comes_back():
    """Below its friction, pushed and let go: what it gave way by is half of v_s h for half of the friction, and is gone after it."""
    push = lambda t, q, v: np.array([np.where((t > 0.2) & (t < 0.4), 0.25 * 9.81, 0.0), 0.0, 0.0])
    run = simulator(point(), material(), controller=push).run([0, 0, 0.1 - 9.81e-5], np.zeros(3), 0.6)
    before, pushed, after = run.q[[190, 390, 590], 0]
    assert abs(pushed - before) == pytest.approx(0.5 * GIVES, rel=1e-6) and abs(after - before) < 1e-6 * GIVES


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_block_holds_a_moment(share):
    """About its normal, by its four corners: μ m g times their distance from the middle."""
    most = 0.5 * 9.81 * np.hypot(0.1, 0.1)
    run = simulator(block(), material(), controller=lambda t, q, v: np.array([0, 0, share * most, 0, 0, 0])).run(
        [*UPRIGHT, 0, 0, 0.05 - 9.81 / 4e5], np.zeros(6), 2.0)  # fmt: skip
    if share > 1.0:
        assert run.v[-1, 2] == pytest.approx(0.01 * most * 6.0 / 0.04 * 2.0, rel=0.02)  # I = m a²/6
    else:
        assert abs(run.v[-1, 2]) < 1e-11 and np.abs(run.q[1000:] - run.q[-1]).max() < 1e-3 * GIVES


def test_what_turns_on_a_point_beside_its_middle_is_not_dragged():
    """About the normal through the point: nothing slides there, and no friction slows it."""
    builder = engine.Builder("arm")
    ball = engine.Geometry("sphere", (0.1,), placement=se3.pose(np.eye(3), [0.2, 0.0, 0.0]))
    builder.add_link("arm", inertia=inertia.transformed(ball.placement, inertia.sphere(1.0, 0.1)), collisions=[ball])
    run = simulator(builder.model(floating_base=True), material()).run([*UPRIGHT, 0, 0, 0.1 - 9.81e-5], [0, 0, 3.0, 0, -0.6, 0], 0.5)
    assert np.abs(run.v[:, 2] - 3.0).max() < 1e-6


@pytest.mark.parametrize("axis", [[0, 1, 0], [1, 0, 0]])
def test_what_a_turning_hand_holds_turns_with_it(axis):
    """Four turns under weight: each ends where the one before did, relative to the hand."""
    model = engine.combine(hand=gripper(axis), rod=block((0.02, 0.02, 0.1), 0.045))
    turn = lambda t, q, v: 500.0 * (2 * np.pi * t - q[0]) + 20.0 * (2 * np.pi - v[0])
    sim = simulator(model, material(1e5, 0.5, 0.7), ground=False, pairs=PAIRS, gravity=(0, 0, -9.81),
                    controller=lambda t, q, v: np.array([turn(t, q, v), 12.0, -12.0 - 2e4 * q[2] - 100.0 * v[2], *np.zeros(6)]))
    run = sim.run([0.0, 0.0, 0.0, *UPRIGHT, 0, 0, 0], [2 * np.pi, 0, 0, *(2 * np.pi * np.array(axis)), 0, 0, 0], 4.0)
    palm = se3.rotation(run.pose("hand/palm"))
    place = np.einsum("tji,tj->ti", palm, run.q[:, -3:])[1000::1000]
    assert np.abs(np.diff(place, axis=0)).max() < 2 * GIVES


def test_rows_hold_as_pairs_do(monkeypatch):
    """Of one law: to where passes of friction agree, a millionth, and not the thousandth of a simulator's."""
    ends = []
    for room in (contact_problem, jointed):
        monkeypatch.setattr(room, "AGREES", 1e-6)
    for few in (20, 0):
        monkeypatch.setattr(choice, "FEW_PAIRS", few)
        ends.append(held_rod(0.5, 1))
    one, other = ends
    assert np.abs(one.q - other.q).max() < 1e-3 * 2.0 * GIVES


def test_on_floats_and_resumed():
    """By NumPy to rounding, and from the middle of a run the same bits."""
    sim = simulator(block(), material(), gravity=inclined(20))
    q0, v0 = [*UPRIGHT, 0, 0, 0.05], np.zeros(6)
    whole, half = sim.run(q0, v0, 0.04), sim.step(sim.start(q0, v0), 20)
    np.testing.assert_array_equal(sim.step(half, 20).q, whole.q[-1])
    plain = simulator(block(), material(), gravity=inclined(20), compiled=False).run(q0, v0, 0.04)
    np.testing.assert_allclose(plain.q, whole.q, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(("speed", "dt"), [(0.1, 1e-3), (1.0, 5e-3)])
def test_a_motor_presses_on_a_wall_with_its_effort(speed, dt):
    """At rest it is at the corner of its limit and its line: neither is left. The wall gives way by 40 N over four points."""
    builder = engine.Builder("finger")
    builder.add_link("base"), builder.add_link("tip", inertia=inertia.box(0.2, (0.02, 0.04, 0.1)),
                                               collisions=[engine.Geometry("box", (0.02, 0.04, 0.1))])  # fmt: skip
    builder.add_joint("slide", "prismatic", "base", "tip", axis=[1, 0, 0])
    wall = engine.HalfSpace((-1, 0, 0), -0.011, material(5e4, 1.0))
    sim = engine.Simulator(builder.model(), dt=dt, gravity=(0, 0, 0), contacts=engine.Contacts(wall, material=material(5e4, 1.0)),
                           actuators=[Motor("slide", effort=40.0, no_load_speed=speed)],
                           controller=lambda t, q, v: 1e4 * (0.05 - q) - 100.0 * v)  # fmt: skip
    run = sim.run([0.0], [0.0], 1.0)
    pressed = -run("contacts.force")[len(run) // 2 : -1, :, 0].sum(axis=1)
    assert np.abs(pressed - 40.0).max() < 1e-9 and abs(run.q[-1, 0] - 0.001 - 40.0 / 2e5) < 1e-12


def test_what_a_free_hand_with_stiff_servos_holds_takes_nothing_from_the_momentum_of_both():
    """Nothing is outside; it shakes the rod: to rounding of what it exchanges."""
    builder = engine.Builder("hand")
    builder.add_link("palm", inertia=inertia.sphere(1.0, 0.1))
    for side in (-1, 1):
        builder.add_link(f"f{side}", inertia=inertia.box(0.1, (0.02, 0.1, 0.1)), collisions=[engine.Geometry("box", (0.02, 0.1, 0.1))])
        builder.add_joint(f"j{side}", "prismatic", "palm", f"f{side}", placement=se3.pose(np.eye(3), [side * 0.02, 0, 0.1]), axis=[1, 0, 0])
    model = engine.combine(hand=builder.model(floating_base=True), rod=block((0.02, 0.02, 0.1), 0.045))

    def shake(t, q, v):
        return np.array([*np.zeros(6), 12.0, -12.0 - 2e4 * (q[8] - 0.003 * np.sin(10.0 * t)) - 100.0 * v[7], *np.zeros(6)])

    sim = simulator(model, material(1e5, 0.5, 0.7), ground=False, pairs=PAIRS, gravity=(0, 0, 0), controller=shake)
    run = sim.run([*UPRIGHT, 0, 0, 0, 0, 0, *UPRIGHT, 0, 0, 0.1], [0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0.3, 0, 0], 0.5, record_every=10)
    P = run.momentum()
    assert sim.method.name == "ros34pw2" and np.abs(P - P[0]).max() < 1e-13 and np.abs(run("contacts.force")).max() > 1.0


def test_what_a_finger_at_its_limit_holds_does_not_creep():
    """Its clip is met at every step; on the other side a stiff servo."""
    model = engine.combine(hand=gripper(), rod=block((0.02, 0.02, 0.1), 0.045))
    law = lambda t, q, v: np.array([np.clip(1e4 * (0.05 - q[0]) - 100.0 * v[0], -12.0, 12.0), -1e5 * q[1] - 1e3 * v[1], *np.zeros(6)])
    sim = simulator(model, material(1e5, 0.5, 0.7), ground=False, pairs=PAIRS, dt=5e-3, gravity=(0, 0, -9.81), controller=law)
    run = sim.run([0.0, 0.0, *UPRIGHT, 0, 0, 0], np.zeros(8), 3.0, record_every=100)
    assert sim.plant.bounds.n and np.abs(run.q[2:] - run.q[-1]).max() < 0.1 * 5.0 * GIVES      # its clip chatters, less and less


@pytest.mark.parametrize("bodies", [1, 8])
def test_no_contact_rubs_more_than_coulomb_says_however_weak(bodies):
    """Of boxes that are thrown on the ground, by laws of pairs and by tables."""
    rng = np.random.default_rng(3)
    surface = material(5e4, 0.5, 0.5)
    q = np.concatenate([np.append(quaternion.normalize(rng.standard_normal(4)), [0.5 * k, 0.0, 0.25]) for k in range(bodies)])
    model = engine.combine(**{f"box{k}": block(name=f"box{k}") for k in range(bodies)})
    contacts = engine.Contacts(engine.HalfSpace(material=surface), material=surface)
    table = engine.Simulator(model, contacts=contacts).run(q, 3.0 * rng.standard_normal(6 * bodies), 0.5)("contacts")
    normal = np.einsum("pi,pi->p", table.force, table.normal)
    rubs = np.linalg.norm(table.force - normal[:, None] * table.normal, axis=1)
    assert len(normal) > 30 and (rubs - 0.5 * normal).max() < 1e-13 * normal.max()
