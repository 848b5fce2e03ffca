"""Contacts with known answers: impacts, inclines, rolling, stacks; against laws, MuJoCo, and themselves in batches."""

import functools
import math
import warnings

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

import engine
from engine.simulation import run_loop
from engine.spatial import inertia, quaternion, se3, so3
from tests.contact.scenes import UPRIGHT, ball, block, body, inclined, material, point, simulator

NO_GRAVITY = {"gravity": (0.0, 0.0, 0.0)}


def world_velocity(run):
    """The velocity of a free body's centre in world axes (T, 3)."""
    return np.einsum("tij,tj->ti", quaternion.to_matrix(run.q[:, :4]), run.v[:, 3:6])


# ---------------------------------------------------------------- impacts


def losing(loss):
    """The dissipation of a ball's and the ground's surface, as parameters of one simulator."""
    return {"contact_dissipation.ball": loss, "contact_dissipation.world": loss}


def test_hunt_and_crossley_bounce():
    """Restitution e solves u − ln(1 + u) = −e u − ln(1 − e u) with u = d v: to 1e-4 at 200 steps of a contact, of second order."""
    losses, known = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 5.0]), np.array([0.993377, 0.937476, 0.748435, 0.593624, 0.410720, 0.196980])
    for loss, e in zip(losses, known, strict=True):
        assert abs(brentq(lambda e, d=loss: d - np.log1p(d) + e * d + np.log1p(-e * d), 1e-3, min(1.0, 1 / loss) - 1e-12) - e) < 1e-6
    off = []
    for steps in (50, 200):
        h = np.pi * np.sqrt(0.1 / 1e4) / steps
        sim = simulator(ball(), material(1e4, 0.5, 0.0), dt=h, parameters=losing(0.5), **NO_GRAVITY)
        run = sim.run([*UPRIGHT, 0, 0, 0.05 + 0.3 * h], [0, 0, 0, 0, 0, -1.0], 6 * steps * h, 6 * steps, parameters=losing(losses))
        off.append(np.abs(run.v[:, -1, 5] - known).max())
    assert off[1] < 1e-5 and off[0] < 2e-4


@pytest.fixture(scope="module")
def bouncing():
    """A ball without friction that loses as much as its parameters say."""
    return simulator(ball(), material(1e4, 0.5, 0.0), parameters=losing(0.5), **NO_GRAVITY)


@pytest.mark.parametrize("loss", [0.01, 0.5, 5.0])
def test_steps_that_choose_their_size_follow_a_bounce(bouncing, loss):
    """To 1e-8; the times at which the ball touches lie between its steps, and no step flies through."""
    e = brentq(lambda e: loss - np.log1p(loss) + e * loss + np.log1p(-e * loss), 1e-3, min(1.0, 1 / loss) - 1e-12)
    off = []
    for tolerance in (1e-9, 1e-11):
        found = bouncing.solve([*UPRIGHT, 0, 0, 0.06], [0, 0, 0, 0, 0, -1.0], 0.07, tolerance, parameters=losing(loss))
        off.append(abs(found(0.07)[1][5] - e))
        assert len(found) < 5200 and found.rejected < 50
    assert off[1] < 1e-8 and off[0] < 1e-6
    assert off[1] < 0.1 * off[0]


def test_steps_that_choose_their_size_roll_down_an_incline():
    sim = simulator(ball(), material(1e7, 0.0, 1.0), slow=1e-5, gravity=inclined(15))
    found = sim.solve([*UPRIGHT, 0, 0, 0.05 - 9.5e-8], np.zeros(6), 0.5)
    assert abs(found(0.5)[0][4] - 0.906791 / 4) < 1e-6 / 4


@pytest.mark.filterwarnings("ignore:.*in a blow of about:engine.SimulationWarning")
def test_two_bodies_that_collide_keep_their_momentum_and_gain_no_energy():
    model = engine.combine(a=ball(0.1, 1.0, "a"), b=block((0.3, 0.4, 0.5), 3.0, "b"))
    sim = simulator(model, material(dissipation=0.0), ground=False, **NO_GRAVITY)
    q0, v0 = [*UPRIGHT, -0.7, 0.05, 0, *UPRIGHT, 0.5, 0, 0.02], [3, 1, 2, 1.0, 0, 0, 0.4, -0.2, 0.7, -1, 0, 0]
    run = sim.run(q0, v0, 2.0)
    assert np.abs(run("contacts.force")).max() > 10.0
    P = run.momentum()
    assert np.abs(P - P[0]).max() < 1e-13 * np.abs(run.v).max() * 10.0
    K = run.energy()[0] + run("contacts.energy")
    assert K.max() < K[0] * (1.0 + 1e-3)                                       # the springs' energy is of order one while they act


# ---------------------------------------------------------------- friction


def test_a_block_creeps_below_the_stiction_velocity_or_slides_as_coulomb_says():
    """tan 20° = 0.364: 0.73 of the friction of 0.5."""
    z = 0.05 - 9.81 * np.cos(np.radians(20)) / 4e5
    rubs = lambda mu: {"contact_friction.block": mu, "contact_friction.world": mu}
    sim = simulator(block(), material(), gravity=inclined(20), parameters=rubs(0.5))
    held, slid = (sim.run([*UPRIGHT, 0, 0, z], np.zeros(6), 1.0, parameters=rubs(mu)) for mu in (0.5, 0.3))
    assert abs(held.v[-1, 3]) < 1e-4 and held.q[-1, 4] < 1e-4
    assert np.abs(held("contacts.force")[-1].sum(axis=0) + np.array(inclined(20))).max() < 1e-6
    a = 9.81 * (np.sin(np.radians(20)) - 0.3 * np.cos(np.radians(20)))
    assert abs((slid.v[-1, 3] - slid.v[500, 3]) / 0.5 - a) < 1e-6 * 9.81


def test_friction_is_round():
    """Pushed with 0.99 of its friction a body sticks; with 1.01 it slides along the push, any way."""
    angles = np.radians([0.0, 13.0, 45.0, 77.0, 90.0])
    along = 0.5 * 9.81 * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    sim = simulator(point(), material(), controller=lambda t, q, v, push: push, parameters={"push": along[0]})
    for share in (0.99, 1.01):
        run = sim.run([0, 0, 0.1 - 9.81e-5], np.zeros(3), 0.5, record_every=500, parameters={"push": share * along})
        speed = np.hypot(*run.v[:, -1, :2].T)
        assert (speed < 1e-4).all() if share < 1.0 else np.abs(speed - 0.01 * 0.5 * 9.81 * 0.5).max() < 1e-4
        assert np.abs(np.arctan2(run.q[:, -1, 1], run.q[:, -1, 0]) - angles).max() < 1e-6


def test_light_bodies_rub_as_heavy_ones_do():
    """Of masses and stiffnesses that are a power of two times as large nothing changes, whose blows and slips are the same: not a bit."""
    flights = []
    for mass in (1.0, 2.0**-20):
        tossed = simulator(ball(0.05, mass), material(2e4 * mass), dt=2.0**-8)
        flights.append(tossed.run([*UPRIGHT, 0.0, 0.0, 0.0502], [0.0, 3.0, 0.0, 1.0, 0.0, -1.0], 0.25))
    heavy, light = flights
    assert heavy.q.tobytes() == light.q.tobytes() and heavy.v.tobytes() == light.v.tobytes()


def test_a_ball_rolls_down_an_incline():
    """x = 5/14 g sin 15° t²: Drake's own test of this allows 5.5e-4 m."""
    start = [*UPRIGHT, 0, 0, 0.05 - 9.5e-8], np.zeros(6)
    rubs = lambda mu: {"contact_friction.ball": mu, "contact_friction.world": mu}
    sim = simulator(ball(), material(1e7, 0.0), slow=1e-5, gravity=inclined(15), parameters=rubs(0.5))
    rolls, slides = (sim.run(*start, 1.0, record_every=1000, parameters=rubs(mu)) for mu in (1.0, 0.05))
    assert abs(rolls.q[-1, 4] - 0.906791) < 1e-4 and abs(rolls("contacts.slip")[-1, 0]) < 1e-4
    a = 9.81 * (np.sin(np.radians(15)) - 0.05 * np.cos(np.radians(15)))
    assert abs(slides.q[-1, 4] - 0.5 * a) < 1e-4


def test_a_sliding_ball_begins_to_roll():
    """At 2 v₀/(7 μ g), and goes on at 5/7 v₀."""
    run = simulator(ball(0.05, 1.0), material(1e7, 0.1, 0.3), slow=1e-6).run([*UPRIGHT, 0, 0, 0.05 - 9.81e-7], [0, 0, 0, 1.0, 0, 0], 0.2)
    v = world_velocity(run)[:, 0]
    k = np.flatnonzero(v > 0.8)[-1]
    assert abs(run.t[k] + (v[k] - v[-1]) / (0.3 * 9.81) - 2 / (7 * 0.3 * 9.81)) < 1e-5 and abs(v[-1] - 5 / 7) < 5e-5


def test_static_friction_holds_more_than_kinetic():
    """Pushed with 0.6 of its weight a body stays where static friction is 0.8, but goes on where it moves already."""
    push = lambda t, q, v: np.array([0.6 * 9.81, 0.0, 0.0])
    sim = simulator(point(), material(friction=0.4, static=0.8), controller=push)
    rest, moves = (sim.run([0, 0, 0.1 - 9.81e-5], [u, 0, 0], 0.5, record_every=500).v[-1, 0] for u in (0.0, 0.1))
    assert rest < 1e-4 and abs(moves - (0.1 + 0.2 * 9.81 * 0.5)) < 1e-3


def test_balls_on_a_pushed_box():
    """Balls of 1 kg roll on a box of 10 kg that is pushed over rough ground, any way: the RAI group's SimBenchmark, with 2 balls for 25.

    Balls are taken along with 2/7 of the box's acceleration a: P − 0.4 (10 + n) g = (10 + 2/7 n) a. Theirs are 150 N, 0.7385 and 0.2110.
    """
    n, a_box = 2, 0.7385
    push = 0.4 * (10 + n) * 9.81 + (10 + 2 / 7 * n) * a_box
    assert abs(0.4 * 35 * 9.81 + (10 + 2 / 7 * 25) * a_box - 150.0) < 1e-2
    ways = np.radians([0.0, 45.0, 70.0])
    along = np.stack([np.cos(ways), np.sin(ways), 0.0 * ways], axis=1)
    model = engine.combine(box=block((20.0, 20.0, 1.0), 10.0, "box"), **{f"b{k}": ball(0.5, 1.0) for k in range(n)})
    smooth = material(1e6, 20.0, 0.8)
    pairs = [("box/box", f"b{k}/ball") for k in range(n)] + [("world", "box/box")]
    # the harmonic mean of these is 0.4 on the ground and 0.8 between them
    contacts = engine.Contacts(engine.HalfSpace(material=engine.ContactMaterial(2e6, 20.0, 0.8 * 0.4 / (2 * 0.8 - 0.4))), pairs, smooth)
    sim = engine.Simulator(model, contacts=contacts, forces=[lambda t, q, v, push: {"box/box": np.concatenate([np.zeros(3), push])}],
                           parameters={"push": np.zeros(3)})  # fmt: skip
    places = [(3.0 * i, -i, 1.5 - 9.81e-6) for i in (-1.0, 1.0)]
    q0 = np.concatenate([[*UPRIGHT, 0, 0, 0.5 - (10 + n) * 9.81 / 4e6], *([*UPRIGHT, *p] for p in places)])
    run = sim.run(q0, np.zeros(model.nv), 1.0, record_every=500, parameters={"push": push * along})
    a = np.einsum("ni,ni->n", run.v[:, -1, 3:5] - run.v[:, 1, 3:5], along[:, :2]) / 0.5
    R = quaternion.to_matrix(run.q[:, :, 7:11])
    v = np.einsum("ntij,ntj->nti", R, run.v[:, :, 9:12])
    balls = np.einsum("ni,ni->n", v[:, -1] - v[:, 1], along) / 0.5
    assert np.abs(a - a_box).max() < 1e-3 and np.abs(balls - 0.2110).max() < 1e-3


# ---------------------------------------------------------------- impacts of corners


def test_a_rocking_block_loses_what_housner_says():
    """A plastic impact from one corner to the other keeps ω (1 − 3/2 sin² α), tan α = 1/4, but for gravity's part in the time since."""
    model, tilt = block((0.25, 1.0, 1.0), 10.0), 0.05
    place = np.array([0.125, 0.0, 0.0]) - so3.exp([0.0, tilt, 0.0]) @ [0.125, 0.0, -0.5]
    sim = simulator(model, material(1e7, 2000.0, 5.0), slow=1e-6, dt=1e-4)
    w = sim.run([*quaternion.exp(np.array([0.0, tilt, 0.0])), *place], np.zeros(6), 0.25).v[:, 1]
    k = int(np.argmin(w))                                                      # falls faster and faster until it hits
    brake = 9.81 * 0.125 / ((0.25**2 + 1.0) / 3.0)
    assert w[k] < -0.5 and abs((w[k + 20] - brake * 20e-4) / w[k] - 0.911765) < 1e-3


def test_painleves_rod_goes_on_without_nan():
    """A rod that slides on its tip, on either side of μ = 4/3, where rigid bodies have no solution."""
    model, ends = body("rod", inertia.box(1.0, (1.0, 0.02, 0.02)), "capsule", (0.01, 1.0)), []
    rubs = lambda mu: {"contact_friction.rod": mu, "contact_friction.world": mu}
    q0 = [*quaternion.exp(np.array([0.0, 0.5, 0.0])), 0, 0, 0.5 * np.cos(0.5) + 0.01]
    v0 = [0, 0, 0, *(so3.exp([0, -0.5, 0]) @ [1.0, 0, 0])]
    for dt in (4e-4, 2e-4, 1e-4):
        sim = simulator(model, material(1e5, 0.5), dt=dt, parameters=rubs(0.5))
        run = sim.run(q0, v0, 0.2, parameters=rubs(np.array([1.0, 1.6])))
        assert np.isfinite(run.q).all()
        ends.append(run.q[:, -1])
    assert (np.abs(ends[2] - ends[1]).max(axis=1) < 0.7 * np.abs(ends[1] - ends[0]).max(axis=1) + 1e-4).all()


# ---------------------------------------------------------------- resting, gripping


def test_a_stack_of_boxes_stands():
    model = engine.combine(**{f"b{k}": block((0.2, 0.2, 0.2)) for k in range(3)})
    sim = simulator(model, material(dissipation=0.5), pairs=[("b0/block", "b1/block"), ("b1/block", "b2/block")])
    q0 = np.concatenate([[*UPRIGHT, 0.01 * (k % 2), 0, 0.1 + 0.2 * k - 1e-4] for k in range(3)])
    run = sim.run(q0, np.zeros(18), 2.0, record_every=100)
    names, force = run("contacts.names"), run("contacts.force")[-1]
    for below, above, load in (("world", "b0/block", 3), ("b0/block", "b1/block", 2), ("b1/block", "b2/block", 1)):
        total = force[[n.startswith(f"{below}:{above}") for n in names]].sum(axis=0)
        assert np.abs(total - [0.0, 0.0, 9.81 * load]).max() < 0.02 * 9.81
    assert np.abs(run.v[-1]).max() < 5e-3 and np.abs(run.q[-1] - q0).max() < 2e-3


def test_a_box_between_two_fingers_slips_where_it_is_accelerated_beyond_its_friction():
    """m a > 2 μ F, within 0.1 %: it falls until the fingers press, then v̇ = 2 μ F/m − a, until it rests but for its creep."""
    builder = engine.Builder("fingers")
    builder.add_link("world")
    for side in (-1, 1):
        builder.add_link(f"f{side}", inertia=inertia.box(1.0, (0.02, 0.1, 0.1)), collisions=[engine.Geometry("box", (0.02, 0.1, 0.1))])
        builder.add_joint(f"j{side}", "prismatic", "world", f"f{side}", placement=se3.pose(np.eye(3), [side * 0.06, 0, 0]),
                          axis=[1, 0, 0])
    model = engine.combine(hand=builder.model(), box=block((0.1, 0.05, 0.05)))
    F, mu, m = 10.0, 0.5, 1.0
    pairs = [("hand/f-1", "box/block"), ("hand/f1", "box/block")]
    sim = simulator(model, material(1e5, 0.5, mu), ground=False, pairs=pairs, parameters={"gravity": np.zeros(3)},
                    controller=lambda t, q, v: np.array([F, -F, *np.zeros(6)]))  # fmt: skip
    for share in (0.999, 1.001):
        a = share * 2 * mu * F / m
        down = {"gravity": np.array([0, 0, -a])}
        run = sim.run([0.0, 0.0, *UPRIGHT, 0, 0, 0], np.zeros(8), 1.4, record_every=100, parameters=down)
        slides = (run.v[9, 7] - run.v[3, 7]) / (run.t[9] - run.t[3])
        assert slides == pytest.approx(2 * mu * F / m - a, abs=1e-5 * a)
        assert run.v[-1, 7] < run.v[3, 7] if share > 1 else abs(run.v[-1, 7]) < 1e-4


def test_the_same_scene_in_mujoco():
    """A block pushed over the ground: distance, and the force that it rests with."""
    x = """<mujoco><option timestep="2e-4" cone="elliptic" iterations="100" tolerance="1e-12" impratio="100"/><worldbody>
    <geom type="plane" size="0 0 1" friction="0.5 0 0" solref="0.0005 1"/><body pos="0 0 0.05"><freejoint/>
    <geom type="box" size="0.1 0.1 0.05" mass="1" friction="0.5 0 0" solref="0.0005 1"/></body></worldbody></mujoco>"""
    peer = mujoco.MjModel.from_xml_string(x)
    data = mujoco.MjData(peer)
    data.qvel[0] = 2.0
    for _ in range(5000):
        mujoco.mj_step(peer, data)
    run = simulator(block(), material(1e6, 0.5), dt=2e-4).run([*UPRIGHT, 0, 0, 0.05], [0, 0, 0, 2.0, 0, 0], 1.0, record_every=5000)
    assert abs(run.q[-1, 4] - data.qpos[0]) < 5e-3 * data.qpos[0] and abs(run.q[-1, 4] - 2.0**2 / (2 * 0.5 * 9.81)) < 2e-3


# ---------------------------------------------------------------- the same bits


def test_neither_the_order_of_pairs_nor_neighbours_change_a_bit():
    model = engine.combine(a=ball(0.1, 1.0), b=block((0.3, 0.3, 0.2)), c=ball(0.15, 2.0))
    pairs = [("a/ball", "b/block"), ("b/block", "c/ball"), ("a/ball", "c/ball")]
    q0 = np.array([*UPRIGHT, -0.05, 0.0, 0.35, *UPRIGHT, 0, 0, 0.1, *UPRIGHT, 0.06, 0.02, 0.62])
    v0 = np.linspace(-0.5, 0.5, 18)
    sim, turned = (simulator(model, material(), pairs=p) for p in (pairs, pairs[::-1]))
    first = sim.run(q0, v0, 0.3)
    np.testing.assert_array_equal(first.q, turned.run(q0, v0, 0.3).q)
    rng = np.random.default_rng(0)
    V = v0 + rng.standard_normal((9, 18))
    V[4] = v0
    np.testing.assert_array_equal(sim.run(np.tile(q0, (9, 1)), V, 0.3).q[4], first.q)


def test_plain_is_compiled():
    model = engine.combine(a=ball(0.1, 1.0), b=block((0.3, 0.3, 0.2)))
    q0 = np.array([*UPRIGHT, -0.05, 0.0, 0.2995, *UPRIGHT, 0, 0, 0.0999])
    v0 = np.linspace(-0.5, 0.5, 12)
    compiled, plain = (simulator(model, material(), compiled=c).run(q0, v0, 0.003) for c in (True, False))
    np.testing.assert_allclose(compiled.q, plain.q, atol=1e-9)
    np.testing.assert_allclose(compiled("contacts.force"), plain("contacts.force"), atol=1e-5)
    assert np.abs(plain("contacts.force")).max() > 1.0


def test_out_of_reach_not_a_bit_moves():
    model, q0, v0 = ball(), [*UPRIGHT, 0, 0, 9.0], np.linspace(-1, 1, 6)
    free, above = engine.Simulator(model).run(q0, v0, 0.2), simulator(model, material()).run(q0, v0, 0.2)
    np.testing.assert_array_equal(free.q, above.q)
    np.testing.assert_array_equal(free.v, above.v)
    assert np.abs(above("contacts.force")).max() == 0.0 and (above("contacts.gap") > 8.0).all()


# ---------------------------------------------------------------- what is said


@pytest.mark.parametrize("length", [1e-320, 1e-200, 1.0, 1e200, 1e308])
def test_the_length_of_a_normal_is_of_no_account(length):
    """To rounding, of which the least of numbers have more."""
    n = engine.HalfSpace(normal=(0.75 * length, 0.0, length)).normal
    np.testing.assert_allclose(n, (0.6, 0.0, 0.8), rtol=1e-3 if length < 1e-300 else 1e-15)


@pytest.mark.parametrize("loss", [100.0, 1000.0])
def test_a_body_that_loses_much_hardly_bounces(loss):
    """Hunt and Crossley's rebound is no faster than 1/d, here at a step in which the contact is over."""
    run = simulator(ball(0.05, 1.0), material(5e4, loss), **NO_GRAVITY).run([*UPRIGHT, 0, 0, 0.0501], [0, 0, 0, 0, 0, -2.0], 0.05)
    assert 0.0 <= run.v[-1, 5] < 0.02


def test_what_cannot_touch_or_lies_in_another_is_said():
    for k in (0.0, 1e30):                                                      # which threw a block 1e8 m up, without a word
        with pytest.raises(engine.ContactError, match="expected a number above 0, 1e\\+18 N/m at most"):
            engine.ContactMaterial(stiffness=k)
    with pytest.raises(engine.ContactError, match="nothing of 'ball' can touch anything; expected a ground, or links with collision"):
        engine.Simulator(ball(), contacts=engine.Contacts())
    sim = simulator(block(), material())
    with pytest.raises(engine.ContactError, match=r"'world:block\.\d' overlap by 0\.03 m at the start .*, deeper than 0\.025 m, a quarter"):
        sim.run([*UPRIGHT, 0, 0, 0.02], np.zeros(6), 0.1)
    with pytest.raises(engine.ContactError, match=r"'world:block\.\d' overlap by 0\.03 m at the start of rollout \[2\]"):
        sim.run([[*UPRIGHT, 0, 0, z] for z in (0.06, 0.05, 0.02)], np.zeros(6), 0.1)
    with pytest.warns(engine.SimulationWarning, match=r"'world:block' overlap by 0\.004 m at the start, .* throw"):
        simulator(block(), material(1e6)).run([*UPRIGHT, 0, 0, 0.046], np.zeros(6), 0.001)
    boxes = engine.combine(a=block((0.1, 0.1, 0.1)), b=block((0.1, 0.1, 0.1)))
    with pytest.warns(engine.SimulationWarning, match=r"'a/block:b/block' overlap by 0\.003 m .* apart at about 1\.\d m/s"):
        run = simulator(boxes, material()).run([*UPRIGHT, 0, 0, 0.05, *UPRIGHT, 0, 0, 0.147], np.zeros(12), 0.1)
    assert np.abs(run.v).max() < 0.2
    with pytest.warns(engine.SimulationWarning, match="contacts with the integrator 'lie_euler', whose order is 1"):
        simulator(ball(), material(), integrator="lie_euler")


def test_a_ball_that_may_pass_through_a_wall_is_noted():
    wall = engine.Builder("wall")
    wall.add_link("wall", collisions=[engine.Geometry("box", (0.01, 1.0, 1.0))])
    wall.add_link("mark", inertia=inertia.sphere(1.0, 0.1))
    wall.add_joint("turn", "revolute", "wall", "mark")
    sim = simulator(engine.combine(wall=wall.model(), ball=ball(0.03, 0.1)), material(), ground=False, dt=1e-2, **NO_GRAVITY)
    start = [0.0, *UPRIGHT, -1.25, 0, 0], [0.0, 0, 0, 0, 50.0, 0, 0]
    with pytest.warns(engine.SimulationWarning, match="goes 0.5 m in a step, by shapes that are 0.01 m thick, and may pass through"):
        sim.run(*start, 0.1)
    v = sim.solve(*start, 0.1)(0.1)[1]                                         # steps that choose their size do not pass
    assert abs(v[4] + 50.0 * 0.196980) < 1e-3                                  # d v = 5


# ---------------------------------------------------------------- what is held, and what depends on velocities


@pytest.mark.filterwarnings("ignore:.* is stiff with parameter 'motor'")
@pytest.mark.parametrize("integrator", ["cg4", "ralston2"])
def test_what_is_pressed_on_the_ground_stands_still_however_its_motor_damps(integrator):
    """10 N on 50 g: without the ground the motor would see 0.2 m/s at the end of a step."""
    builder = engine.Builder("press")
    builder.add_link("base")
    builder.add_link("tip", inertia=inertia.sphere(0.05, 0.01), collisions=[engine.Geometry("sphere", (0.01,))])
    builder.add_joint("slide", "prismatic", "base", "tip", axis=[0, 0, 1])
    damped = np.array([0.0, 20.0, 60.0])
    given = {"gravity": (0, 0, 0), "controller": lambda t, q, v, motor: -10.0 - motor * v, "parameters": {"motor": 0.0}}
    for surface in (material(1e4, 1.0), material(1e5, 1.0)):
        sim = simulator(builder.model(), surface, integrator=integrator, **given)
        run = sim.run([0.01], [0.0], 2.0, parameters={"motor": damped})
        assert np.abs(run("contacts.force")[:, -1, 0, 2] - 10.0).max() < 1e-9
        assert np.abs(run.v[:, -1, 0]).max() < 1e-12 and np.abs(run.vdot[:, -1, 0]).max() < 1e-9
    if integrator == "cg4":                                                    # steps that choose their size are of one method
        sim = simulator(builder.model(), material(1e4, 1.0), **given)
        for motor in damped:
            found = sim.solve([0.01], [0.0], 1.0, 1e-8, parameters={"motor": motor})
            assert len(found) < 2000 and abs(found(1.0)[0][0] - 0.01 + 10.0 / 1e4) < 1e-7


@pytest.mark.parametrize("what", ["stop", "friction"])
def test_joints_that_are_held_stand_still_however_their_motors_damp(what):
    builder = engine.Builder("held")
    builder.add_link("base")
    builder.add_link("block", inertia=inertia.sphere(0.05, 0.01))
    builder.add_joint("slide", "prismatic", "base", "block", friction=20.0 * (what == "friction"),
                      limits=engine.Limits(-0.01, 1.0) if what == "stop" else engine.Limits())  # fmt: skip
    sim = engine.Simulator(builder.model(), gravity=(0, 0, 0), joint_dynamics="implicit",
                           controller=lambda t, q, v: -10.0 - 20.0 * v)  # fmt: skip
    run = sim.run([0.0], [0.0], 2.0)
    force = run("stops.force" if what == "stop" else "friction.force")[-1, 0]
    assert abs(force - 10.0) < 1e-3
    assert abs(run.q[-1, 0] - run.q[-1001, 0]) < 6e-6                          # sticking creeps at half of 1e-5 m/s


def test_a_sliding_contact_obeys_coulomb_at_every_blow():
    """A stick that falls on an end, and on the other: |friction| ≤ μ N of each record, up to 0.1 % of the largest, as passes agree."""
    stick = body("stick", inertia.box(0.5, (0.2, 0.02, 0.02)), "box", (0.2, 0.02, 0.02))
    run = simulator(stick, material(5e4, 1.0, 0.8)).run([*quaternion.exp([0.0, 1.2, 0.3]), 0, 0, 0.1], np.zeros(6), 1.0)
    force = run("contacts.force")
    across, along = np.linalg.norm(force[..., :2], axis=-1), force[..., 2]
    assert along.max() > 50.0 and (across <= 0.8 * (along + 0.00101 * along.max(axis=1, keepdims=True)) + 1e-3).all()
    assert np.diff(sum(run.energy())).max() < 1e-3 * 0.5


def test_an_ellipsoid_rests_on_its_flat_side():
    """It sinks by m g/k, k of two equal springs in a row; drawn and weighed it is an ellipsoid too, and a recording keeps it."""
    radii, rubber = (0.1, 0.2, 0.3), engine.ContactMaterial(stiffness=1e5, dissipation=10.0, friction=0.5)
    shape = engine.Geometry("ellipsoid", radii)
    b = engine.Builder("egg")
    b.add_link("egg", inertia=inertia.ellipsoid(2.0, radii), visuals=[shape], collisions=[shape])
    simulator = engine.Simulator(b.model(floating_base=True), contacts=engine.Contacts(engine.HalfSpace(material=rubber), material=rubber))
    flat = [2**-0.5, 0, 2**-0.5, 0, 0, 0, 0.1]                                # x, the shortest axis, is up
    motion = simulator.run(flat, np.zeros(6), duration=3.0, record_every=100)
    np.testing.assert_allclose(motion.q[-1, 6], 0.1 - 2.0 * 9.81 / 5e4, rtol=1e-9)
    assert abs(motion.q[-1, :4] - flat[:4]).max() < 1e-9
    np.testing.assert_allclose(engine.load_mesh(shape).extents, 2.0 * np.array(radii), rtol=1e-12)


def test_a_plain_simulator_is_made_whatever_a_second_would_do():
    """Its records' shapes are found by a step too short to matter: a long one flies off, by springs as stiff as these, and finds no
    impulses."""
    def pull(t, q, v):
        spin = np.full(3, 1e6)
        return np.concatenate([spin, -1e5 * (q[4:7] - 1.0) - 1e3 * v[3:6], -spin, -1e5 * (q[11:] + 1.0) - 1e3 * v[9:]])

    both = engine.combine(a=block(), b=block((0.4, 0.3, 0.2)))
    sim = simulator(both, material(1e5, 0.5), compiled=False, forces=[pull])
    assert not sim.compiled and sim.plant.contacts.names


@functools.cache
def standing(under, kind, size):
    """A body on even ground, or on a box."""
    body_of = body("stands", inertia.box(1.0, (0.2, 0.2, 0.2)), kind, size)
    table = engine.Builder("table")
    table.add_link("table", collisions=[engine.Geometry("box", (2, 2, 0.2), engine.spatial.se3.pose(np.eye(3), [0, 0, -0.1]))])
    model = body_of if under == "plane" else engine.combine(table=table.model(), stands=body_of)
    return simulator(model, material(1e4, 1.0), ground=under == "plane", dt=1e-2)


@pytest.mark.parametrize("under", ["plane", "box"])
@pytest.mark.parametrize(("kind", "size", "lies", "points"), [
    ("cylinder", (0.1, 0.2), False, 4), ("cylinder", (0.1, 0.2), True, 2), ("capsule", (0.1, 0.2), True, 2),
    ("box", (0.2, 0.2, 0.2), False, 4), ("sphere", (0.1,), False, 1),
])  # fmt: skip
def test_what_stands_sinks_by_what_its_points_carry(under, kind, size, lies, points):
    """By W/(n k): a face counts as four, an edge as two, on even ground and on a box, and turns it nowhere."""
    sim = standing(under, kind, size)
    R = engine.spatial.quaternion.exp([0.5 * np.pi * lies, 0, 0])
    run = sim.run([*R, 0, 0, 0.1 - 9.81 / (points * 1e4)], np.zeros(6), 0.5, record_every=50)
    assert abs(9.81 / (1e4 * (0.1 - run.q[-1, 6])) / points - 1.0) < 2e-4 and np.abs(run.q[-1, :4] - R).max() < 1e-9


@pytest.mark.parametrize("dissipation", [0.0, 1.0])
def test_no_energy_appears_in_a_blow_that_steps_do_not_resolve(dissipation):
    """From κ = h² k/m = 0.001 to 10⁴, wherever in a step it begins: never more than there was, and within a blow less than such steps
    lose of it. Where they resolve it, it is that of the spring."""
    h, names = 1e-3, ("contact_stiffness.ball", "contact_stiffness.world")
    sim = simulator(ball(0.5, 1.0), material(1e5, dissipation), dt=h, **NO_GRAVITY, parameters=dict.fromkeys(names, 2e5))
    kappa, phase = (x.ravel() for x in np.meshgrid(10.0 ** np.arange(-3, 4.1, 0.5), np.linspace(0.0, 1.0, 11)))
    q = np.array([[*UPRIGHT, 0, 0, 0.5 + h * (0.05 + x)] for x in phase])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", engine.SimulationWarning)               # of what is not resolved
        run = sim.run(q, [0, 0, 0, 0, 0, -1.0], 0.12, parameters=dict.fromkeys(names, 2.0 * kappa / h**2))
    E = sum(run.energy())
    rise = (E - np.minimum.accumulate(E, axis=-1)).max(axis=-1) / 0.5
    assert E.max() <= 0.5 + 1e-9 and rise.max() < 0.06 and rise[kappa < 0.05].max() < 2e-3
    spring = 0.5 * (kappa / h**2)[:, None] * np.minimum(run("contacts.gap")[..., 0], 0.0) ** 2
    assert np.abs(run("contacts.energy") - spring)[kappa <= 0.4].max() < 1e-15


@pytest.mark.parametrize(("combine", "together", "bodies"), [
    ("harmonic", 0.32, 1), ("max", 0.8, 1), ("min", 0.2, 1), ("mean", 0.5, 1), ("multiply", 0.16, 1), ("max", 0.8, 8)])  # fmt: skip
def test_frictions_combine_as_they_are_told_to(combine, together, bodies):
    """0.2 on 0.8: a block that slides loses μ g; so do eight that meet as tables."""
    model = block() if bodies == 1 else engine.combine(**{f"b{k}": block() for k in range(bodies)})
    ground = engine.HalfSpace(material=material(friction=0.2))
    sim = engine.Simulator(model, contacts=engine.Contacts(ground, None, material(friction=0.8), combine=combine))
    q0 = np.concatenate([[*UPRIGHT, k, 0, 0.05 - 9.81 / 4e5] for k in range(bodies)])
    run = sim.run(q0, np.tile([0, 0, 0, 0, 2.0, 0], bodies), 0.1)
    assert (run.v[-1, 4] - run.v[20, 4]) / 0.08 == pytest.approx(-together * 9.81, rel=1e-3)


def test_two_links_may_have_a_material_of_their_own():
    """Also as rows; the others keep theirs."""
    model = engine.combine(a=block(), b=block())
    for key in (("world", "b/block"), ("b/block", "world")):
        contacts = engine.Contacts(engine.HalfSpace(), None, materials={key: engine.ContactMaterial(5e4, 0.1, 0.1)})
        run = engine.Simulator(model, contacts=contacts).run([*UPRIGHT, 0, 0, 0.05, *UPRIGHT, 1, 0, 0.05],
                                                             np.tile([0, 0, 0, 0, 2.0, 0], 2), 0.1)  # fmt: skip
        slows = (run.v[-1] - run.v[50]) / 0.05
        assert slows[4] == pytest.approx(-0.5 * 9.81, rel=0.01) and slows[10] == pytest.approx(-0.1 * 9.81, rel=0.01)
    two = {("a/block", "b/block"): material(), ("b/block", "a/block"): material()}
    for given, expected in [({"combine": "largest"}, "combine of Contacts is 'largest'; expected one of harmonic, max"),
                            ({"materials": two}, r"have two of \('a/block', 'b/block'\); expected one"),
                            ({"materials": {("a/block",): material()}}, r"are of \('a/block',\); expected the name of a link or a shape"),
                            ({"materials": {("a/block", "c"): material()}}, "name a link 'c'")]:  # fmt: skip
        with pytest.raises(engine.ContactError, match=expected):
            engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace(), **given))


def test_records_are_the_same_bits_looked_at_together_or_one_by_one(tmp_path, monkeypatch):
    """In memory, in files, and where a run goes on."""
    found = []
    for many in (math.inf, 0):
        monkeypatch.setattr(run_loop, "MANY", many)
        made = simulator(block(), material(), gravity=(1.0, 0.0, -9.81))
        q, v = [*UPRIGHT, 0.0, 0.0, 0.08], [0.5, 0.2, 3.0, 0.4, 0.0, 0.0]
        run = made.run(q, v, 0.1005)
        path = made.run(q, v, 0.05, out=tmp_path / f"{many}.h5")
        made.resume(path, 0.1005)
        whole = engine.load_trajectory(path)
        assert (made._process.recorded > 0) and run.signals.keys() == whole.signals.keys() and np.ptp(run.signals["contacts.gap"]) > 0.0
        for name, x in run.signals.items():
            assert np.array_equal(x, whole.signals[name])
        found.append([run.q, run.v, run.vdot, *run.signals.values()])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
