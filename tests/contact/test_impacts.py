"""Ideal impacts: bounces that follow each other ever faster, collisions in a plane, corners, and what cannot be."""

import functools

import numpy as np
import pytest

import engine
from tests.contact.scenes import UPRIGHT, ball, block

GROUND = engine.Contacts(engine.HalfSpace())


@pytest.mark.parametrize(("dt", "e", "end", "bounces"), [(1e-3, 0.8, 4.063713, 60), (1e-2, 0.8, 4.063713, 60), (0.05, 0.2, 0.677285, 6)])
@pytest.mark.filterwarnings("ignore:.*comes to rest on another:engine.SimulationWarning")
def test_a_ball_let_fall_from_a_metre_comes_to_rest(dt, e, end, bounces):
    """After √(2h/g) (1 + e)/(1 − e): some seventy bounces, most of which are shorter than a step; and fewer as plain Python."""
    bounce = engine.impact(ball(), GROUND, e)
    run = engine.Simulator(ball(), dt=dt, events=[bounce], compiled=e == 0.8).run([*UPRIGHT, 0, 0, 1.05], np.zeros(6), 6.0)
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
