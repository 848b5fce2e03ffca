"""Ideal impacts: bounces that follow each other ever faster, collisions in a plane, corners, and what cannot be."""

import functools

import numpy as np
import pytest

import engine
from engine.spatial import inertia
from tests.bench.blows import changes
from tests.contact.scenes import UPRIGHT, ball, block, body

GROUND = engine.Contacts(engine.HalfSpace())


@pytest.mark.parametrize(("dt", "e", "bounces"), [(1e-2, 0.8, 60), (0.05, 0.1, 4)])
@pytest.mark.filterwarnings("ignore:.*comes to rest on another:engine.SimulationWarning")
def test_a_ball_that_is_let_fall_comes_to_rest(dt, e, bounces):
    """After √(2h/g) (1 + e)/(1 − e): some seventy bounces, most of which are shorter than a step; and fewer as plain Python."""
    bounce = engine.impact(ball(), GROUND, e)
    how = {"compiled": True} if e == 0.8 else {"compiled": False, "integrator": "ralston2"}
    run = engine.Simulator(ball(), dt=dt, events=[bounce], **how).run([*UPRIGHT, 0, 0, 1.05], np.zeros(6), 6.0)
    end = np.sqrt(2.0 / 9.81) * (1.0 + e) / (1.0 - e)
    assert abs(run.t[-1] - end) < 1e-6 and len(run.events) > bounces
    speeds = np.array([event.v[5] for event in run.events])[:bounces]
    assert np.abs(speeds[1:20] / speeds[:-1][:19] - e).max() < 1e-9 and run.q[:, 6].min() > 0.05 - 1e-9


def test_balls_that_meet_exchange_what_newton_says():
    """Off centre: along the line of centres (m₁ u₁ + m₂ u₂ − e m₂ (u₁ − u₂))/(m₁ + m₂), across it nothing."""
    model = engine.combine(a=ball(0.1, 1.0, "a"), b=ball(0.1, 3.0, "b"))
    sim = engine.Simulator(model, gravity=(0, 0, 0), events=[engine.impact(model, engine.Contacts(), 0.5)])
    run = sim.run([*UPRIGHT, -1.0, 0.12, 0, *UPRIGHT, 0, 0, 0], [0, 0, 0, 2.0, 0, 0, *np.zeros(6)], 1.0)
    n = np.array([0.16, -0.12, 0.0]) / 0.2
    impulse = 1.5 * 2.0 * n[0] / (1 / 1.0 + 1 / 3.0)
    assert np.abs(run.v[-1, 3:6] - ([2.0, 0, 0] - impulse * n)).max() < 1e-10
    assert np.abs(run.v[-1, 9:12] - impulse / 3.0 * n).max() < 1e-10 and np.abs(run.v[-1, [0, 1, 2, 6, 7, 8]]).max() < 1e-14
    assert np.abs(run.momentum() - run.momentum()[0]).max() < 1e-12


def test_a_box_that_lands_flat_rises_as_it_fell_and_a_corner_turns_it():
    sim = engine.Simulator(block(), events=[engine.impact(block(), GROUND, 1.0)])
    run = sim.run([*UPRIGHT, 0, 0, 0.55], np.zeros(6), 2.0, record_every=10)
    K, U = run.energy()
    assert len(run.events) == 3 and np.abs(K + U - (K + U)[0]).max() < 1e-11 and np.abs(run.v[:, :3]).max() < 1e-10
    tilted = [*engine.spatial.quaternion.exp([0.3, 0.2, 0.0]), 0, 0, 0.5]
    run = sim.run(tilted, np.zeros(6), 0.5)
    K, U = run.energy()
    assert np.abs(K + U - (K + U)[0]).max() < 1e-9 and np.abs(run.v[-1, :3]).max() > 1.0


def test_what_no_impact_can_be_is_said():
    with pytest.raises(engine.ContactError, match=r"restitution of an impact is 1\.2; expected a number above 0, up to 1"):
        engine.impact(ball(), GROUND, 1.2)
    with pytest.raises(engine.ContactError, match=r"contacts of an impact is None; expected engine\.Contacts"):
        engine.impact(ball(), None, 0.5)
    with pytest.raises(engine.SimulationError, match=r"an engine\.impact among events, beside contacts: .*; expected one of them"):
        engine.Simulator(ball(), contacts=GROUND, events=[engine.impact(ball(), GROUND, 0.5)])


@functools.cache
def three_in_line(dt):
    model = engine.combine(**{name: ball(0.1, 1.0, name) for name in "abc"})
    return engine.Simulator(model, dt=dt, gravity=(0, 0, 0), events=[engine.impact(model, engine.Contacts(), 1.0)])


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-6, 1e-4, 1e-3, 5e-3])
@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_a_cradle_passes_on_what_comes_in_one_step_too(gap, dt):
    """One ball comes, two lie in line: the last goes on, however short the time between both impacts."""
    q = np.concatenate([[*UPRIGHT, x, 0, 0] for x in (-1.0, 0.0, 0.2 + gap)])
    run = three_in_line(dt).run(q, [0, 0, 0, 1.0, 0, 0, *np.zeros(12)], 3.0)
    v = run.v[-1, 3::6]
    assert np.abs(v - [0.0, 0.0, 1.0]).max() < 1e-9 and (np.diff(run.q[-1, 4::7]) > 0.2 - 1e-9).all()


def test_what_touches_at_the_start_rebounds_and_what_overlaps_is_refused():
    sim = engine.Simulator(ball(), events=[engine.impact(ball(), GROUND, 1.0)])
    run = sim.run([*UPRIGHT, 0, 0, 0.05], [0, 0, 0, 0, 0, -1.0], 0.1)
    assert run.v[2, 5] > 0.98 and run.q[:, 6].min() > 0.05 - 1e-9
    with pytest.raises(engine.ContactError, match=r"'world:ball' overlap by 0\.01 m at the start; expected shapes that touch at most, as"):
        sim.run([*UPRIGHT, 0, 0, 0.04], np.zeros(6), 0.1)
    with pytest.warns(engine.SimulationWarning, match=r"'ball': at t = \S+ s a body comes to rest on another, and the run ends; expected"):
        engine.Simulator(ball(), events=[engine.impact(ball(), GROUND, 0.5)]).run([*UPRIGHT, 0, 0, 0.06], np.zeros(6), 1.0)


# ---------------------------------------------------------------- what almost touches, at the moment of another impact

#: m: from touching, by what is rounding, to what is found as an impact of its own
ALMOST = [0.0, 1e-16, 1e-14, 1e-12, 1e-11, 3e-11, 9e-10, 1.1e-9, 1e-7]


def in_a_row(gaps, start):
    """Balls of 0.1 m along x, the first of which comes."""
    x = np.concatenate([[start], np.cumsum([0.0, *(0.2 + gap for gap in gaps)])])
    return np.concatenate([[*UPRIGHT, place, 0, 0] for place in x])


@functools.cache
def row_of_balls(masses, e):
    model = engine.combine(**{f"b{k}": ball(0.1, m, f"b{k}") for k, m in enumerate(masses)})
    pairs = [(f"b{k}/b{k}", f"b{k + 1}/b{k + 1}") for k in range(len(masses) - 1)]
    return engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), events=[engine.impact(model, engine.Contacts(pairs=pairs), e)])


def test_a_cradle_of_five_that_touch_passes_on_what_comes():
    q = np.concatenate([[*UPRIGHT, x, 0, 0] for x in (-0.3, 0.2, 0.4, 0.6, 0.8)])               # 0.6 − 0.4 is not 0.2 to the bit
    run = row_of_balls((1.0,) * 5, 1.0).run(q, [0, 0, 0, 1.0, 0, 0, *np.zeros(24)], 1.0)
    assert np.abs(run.v[-1, 3::6] - [0, 0, 0, 0, 1.0]).max() < 1e-12


@pytest.mark.parametrize(("masses", "e"), [((1.0, 1e-2, 1e3), 1.0), ((1e4, 1.0, 30.0), 1.0), ((1.0, 3.0, 0.1), 0.5)])
def test_balls_in_a_row_keep_their_order_momentum_and_energy(masses, e):
    """Whatever the gaps and the ratios of masses, in either sense of motion, and while they spin: what spins is not changed."""
    rng, sim = np.random.default_rng(3), row_of_balls(masses, e)
    for gap in ALMOST:
        v = np.zeros((3, 6))
        v[0, 3], v[:, 0] = 10.0 ** rng.uniform(-1, 0), rng.normal(size=3)
        run = sim.run(in_a_row([gap], -0.2 - rng.choice(ALMOST)), v.ravel(), 0.05)
        P, K = run.momentum(), run.energy()[0]
        assert (np.diff(run.q[:, 4::7], axis=1) > 0.2 - 3e-9).all() and len(run.events) > 0
        assert (np.diff(run.v[-1, 3::6]) > -1e-9 * v[0, 3]).all() and np.abs(run.v[:, 0::6] - v[:, 0]).max() < 1e-14
        assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P[0]).max() and (np.diff(K) <= 1e-12 * K[0]).all()
        assert e < 1.0 or abs(K[-1] / K[0] - 1.0) < 1e-11


@functools.cache
def two_over_the_ground(kind):
    both = [body(name, inertia.sphere(m, 0.1), kind, (0.1, 0.2)[: 1 + (kind == "capsule")]) for name, m in (("a", 1.0), ("b", 1e-3))]
    model = engine.combine(a=both[0], b=both[1])
    return engine.Simulator(model, dt=1e-2, events=[engine.impact(model, engine.Contacts(engine.HalfSpace()), 1.0)])


@pytest.mark.parametrize("kind", ["sphere", "capsule"])
@pytest.mark.parametrize("gap", ALMOST)
def test_what_lands_beside_each_other_at_almost_one_time_rises(kind, gap):
    run = two_over_the_ground(kind).run([*UPRIGHT, 0, 0, 0.4, *UPRIGHT, 1, 0, 0.4 + gap], np.zeros(12), 0.4)
    K, U = run.energy()
    E = (K + U).ravel()
    assert np.abs(E / E[0] - 1.0).max() < 1e-10 and np.abs(run.q[:, 6] + gap - run.q[:, 13]).max() < 1e-9 + 20.0 * gap
    assert run.v[-1, 5] > 0 and run.v[-1, 11] > 0 and np.abs(run.v[:, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]]).max() < 1e-12


def test_a_light_ball_between_heavy_walls_that_close_drives_them_apart():
    """It keeps 1/2 m u² + 1/2 M w², and is hit a dozen times; no wall meets the other."""
    wall = functools.partial(block, (0.2, 1.0, 1.0), 100.0)
    model = engine.combine(a=wall("a"), ball=ball(0.1, 1.0), b=wall("b"))
    touch = engine.Contacts(pairs=[("a/a", "ball/ball"), ("b/b", "ball/ball")])
    sim = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), events=[engine.impact(model, touch, 1.0)])
    for gap in (0.0, 1e-11, 0.1):
        v = np.zeros(18)
        v[[3, 15]] = 1.0, -0.5
        run = sim.run([*UPRIGHT, -0.2 - gap, 0, 0, *UPRIGHT, 0, 0, 0, *UPRIGHT, 0.2 + gap, 0, 0], v, 0.6)
        K = run.energy()[0]
        assert np.abs(K / K[0] - 1.0).max() < 1e-11 and (np.diff(run.q[:, 4::7], axis=1) > 0.2 - 1e-9).all()
        assert run.v[-1, 3] < 0.0 < run.v[-1, 15] and np.abs(run.momentum() - run.momentum()[0]).max() < 1e-10


@pytest.mark.parametrize("depth", [1e-12, 2e-12, 1e-10, 9e-10])
def test_what_lies_in_each_other_by_less_than_counts_at_the_start_rebounds(depth):
    run = row_of_balls((1.0, 1e-2, 1e3), 1.0).run(in_a_row([1.0], -0.2 + depth), [0, 0, 0, 1.0, 0, 0, *np.zeros(12)], 0.05)
    assert run.events[0].t < 1e-12 and np.abs(run.v[-1, 9] - 2.0 / 1.01) < 1e-12


def test_far_from_the_origin_gaps_are_rounding_and_balls_rebound_all_the_same():
    """At 7000 km a gap is known to a nanometre or so."""
    q = in_a_row([1e-9], -0.3)
    q[4::7] += 7e6
    v = np.tile([0.0, 0, 0, 0, 7.5e3, 0], 3)
    v[3] = 1.0
    run = row_of_balls((1.0,) * 3, 1.0).run(q, v, 0.3)
    assert np.abs(run.v[-1, 3::6] - [0, 0, 1.0]).max() < 1e-6


def test_impacts_are_of_one_state():
    model = engine.combine(a=ball(), b=ball())
    blow = engine.impact(model, engine.Contacts(pairs=[("a/ball", "b/ball")]), 1.0)
    with pytest.raises(engine.SimulationError, match=r"an engine\.impact interrupts a run, which a batch cannot; expected one state"):
        starts = np.array([[*UPRIGHT, 0, 0, z, *UPRIGHT, 0, 0, 3.0] for z in (0.5, 1.0)])
        engine.Simulator(model, events=[blow]).run(starts, np.zeros(12), 0.1)


AWAY = engine.spatial.se3.pose(np.eye(3), [0.3, 0.0, 0.1])


@pytest.mark.parametrize(("hold", "e"), [("Grip", 0.4), ("Weld", 1.0)])
def test_a_blow_passes_through_a_grip_as_through_what_is_one_body(hold, e):
    """A ball meets one of two that are held together, and they turn; of momentum nothing, of energy what e takes."""
    rider = engine.Builder("c")
    rider.add_link("ball", inertia=inertia.sphere(3.0, 0.1))
    a, b = ball(0.1, 1.0), ball(0.1, 2.0)
    one = engine.combine(a=a, b=b, c=engine.Mounted(rider.model(), on="b/ball", placement=AWAY))
    held = engine.combine(a=a, b=b, c=rider.model(floating_base=True))
    q, v = [*UPRIGHT, -1.0, 0.12, 0, *UPRIGHT, 0, 0, 0, *UPRIGHT, *AWAY[:3, 3]], [0, 0, 0, 2.0, 0, 0, *np.zeros(12)]
    holds = {"Grip": {"constraints": [engine.Grip("b/ball", "c/ball")], "controller": lambda t, q, v: {"grip": 1.0}},
             "Weld": {"constraints": [engine.Weld("b/ball", "c/ball", AWAY)]}}[hold]  # fmt: skip

    def flown(model, **holds):
        blow = engine.impact(model, engine.Contacts(pairs=[("a/ball", "b/ball")]), e)
        simulator = engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0), events=[blow], **holds)
        return simulator.run(q[: model.nq], v[: model.nv], 1.0)

    x, y = flown(one), flown(held, **holds)
    assert len(x.events) == len(y.events) == 1 and np.abs(x.v[-1, 6:9]).max() > 0.1
    assert np.abs(x.q[-1] - y.q[-1, :14]).max() < 1e-9 and np.abs(x.v[-1] - y.v[-1, :12]).max() < 1e-9
    K, P = y.energy()[0], y.momentum()
    assert np.abs(P - P[0]).max() < 1e-12 and np.diff(K).max() < 1e-12
    assert abs(K[-1] - K[0]) < 1e-12 if e == 1.0 else K[-1] < 0.9 * K[0]


def test_shapes_that_are_found_in_each_other_end_a_run():
    """Here a callback puts them there."""
    model = ball()
    there = engine.Event(lambda t, q, v: q[6] - 0.2, direction=-1, action=lambda t, q, v: (np.array([*q[:6], 0.04]), 0.0 * v))
    sim = engine.Simulator(model, events=[there, engine.impact(model, GROUND, 1.0)])
    with pytest.raises(engine.SimulationError, match=r"^'world:ball' overlap by 0\.01 m at t = \S+ s; expected shapes that touch at most"):
        sim.run([*UPRIGHT, 0, 0, 0.3], np.zeros(6), 0.5)


# ---------------------------------------------------------------- springs


@pytest.mark.parametrize(("one", "other"), [("box", "box"), ("capsule", "box")])
@pytest.mark.filterwarnings("ignore::engine.SimulationWarning")
def test_elastic_blows_at_random_give_back_what_they_took(one, other):
    """Wherever boxes and capsules meet, and whatever corners come and go meanwhile: 5 % in the root mean square before, and 40 % once."""
    grown = changes(one, other, 2.5e-4, count=100)
    assert len(grown) > 90 and np.sqrt(np.mean(grown**2)) < 0.015 and np.abs(grown).max() < 0.06
