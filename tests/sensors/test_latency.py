"""When readings arrive: against a discrete-event simulation in whole numbers, for any period, phase, latency and dt."""

from fractions import Fraction

import numpy as np
import pytest

import engine
import engine.sensors as S
from engine.spatial import inertia

Timing = tuple[Fraction, Fraction, Fraction]
MICRO = Fraction(1, 10**6)


def sliding(sensors=(), dt=1e-3, laws=(), **more):
    """A body that slides along x, whose place is the time when it is begun at 0 with 1 m/s."""
    b = engine.Builder("cart")
    b.add_link("rail")
    b.add_link("cart", inertia=inertia.sphere(1.0, 0.1))
    b.add_joint("x", "prismatic", "rail", "cart", axis=(1, 0, 0))
    return engine.Simulator(b.model(), gravity=(0, 0, 0), sensors=sensors, laws=laws, dt=dt, **more)


def arriving(period, phase, latency, dt, steps, initial=0.0):
    """Return what is read at each step, of samples at the first step at or after phase + k·period, that are due a latency after that
    and arrive at the first step at or after it."""
    events = []
    k = 0
    while (tick := phase + k * period) <= steps * dt:
        taken = -(-tick // dt)                                                 # the first step not before it
        arrives = -(-(tick + latency) // dt)
        events.append((max(arrives, taken), k, taken * dt))
        k += 1
    found, now = [], initial
    events.sort()
    for step in range(steps + 1):
        while events and events[0][0] <= step:
            now = float(events.pop(0)[2])
        found.append(now)
    return np.array(found)


def timings(rng, dt: Fraction, n: int) -> list[Timing]:
    """Draw periods of dt or more, phases and latencies: shorter than a step, than a period, longer, and on the grid."""
    found = []
    for _ in range(n):
        period = dt + int(rng.integers(0, 6000)) * MICRO * rng.choice([0, 1, 1, 1])
        phase = int(rng.integers(0, 4000)) * MICRO * rng.choice([0, 1])
        latency = rng.choice([dt * Fraction(int(rng.integers(1, 1000)), 1000), period * Fraction(int(rng.integers(1, 5000)), 1000),
                              dt * int(rng.integers(0, 8))])  # fmt: skip
        found.append((period, phase, latency))
    return found


def encoders(timed: list[Timing]) -> list[S.Encoder]:
    return [S.Encoder("x", name=f"e{k}", period=float(p), phase=float(f), latency=float(d)) for k, (p, f, d) in enumerate(timed)]


@pytest.mark.parametrize(("period", "latency", "samples"), [
    (Fraction(1, 400), Fraction(1, 2000), 400), (Fraction(1, 300), Fraction(1, 2000), 300), (Fraction(1, 120), Fraction(1, 2000), 120),
    (Fraction(7, 2000), Fraction(1, 2000), 286), (Fraction(7, 2000), Fraction(3, 2000), 286)])  # fmt: skip
def test_every_sample_arrives_whose_latency_is_over_within_a_step(period, latency, samples):
    """Samples that are due no later than the step that takes them arrive at this step."""
    read = sliding(encoders([(period, Fraction(0), latency)])).run([0.0], [1.0], 0.999).signals["e0"]
    assert len(np.unique(read)) >= samples - 1
    np.testing.assert_allclose(read, arriving(period, Fraction(0), latency, Fraction(1, 1000), 999), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dt", [Fraction(1, 1000), Fraction(3, 2000), Fraction(1, 730)])
def test_readings_arrive_as_in_a_discrete_event_simulation(dt):
    """Of random periods, phases and latencies, every sample arrives, at the first step that is not before it is due."""
    timed = timings(np.random.default_rng(7), dt, 24)
    r = sliding(encoders(timed), float(dt)).run([0.0], [1.0], float(300 * dt))
    for k, timing in enumerate(timed):
        np.testing.assert_allclose(r.signals[f"e{k}"], arriving(*timing, dt, 300), rtol=0, atol=1e-12, err_msg=str(timing))


def test_laws_say_what_they_say_a_delay_later():
    """A law's delay is a sensor's latency, plain as compiled."""
    timing = Fraction(7, 2000), Fraction(0), Fraction(1, 2000)
    law = engine.Law(lambda q: 1.0 * q[0], period=float(timing[0]), delay=float(timing[2]), name="late")
    for compiled in (True, False):
        r = sliding(laws=[law], compiled=compiled).run([0.0], [1.0], 0.05)
        np.testing.assert_allclose(r.signals["late"], arriving(*timing, Fraction(1, 1000), 50), rtol=0, atol=1e-12)


def test_sensors_that_tick_at_once_arrive_each_at_its_own_time():
    """Two that sample together, of which one is late, and batches of them, arrive as each alone does."""
    timed = [(Fraction(7, 2000), Fraction(0), Fraction(1, 2000)), (Fraction(7, 2000), Fraction(0), Fraction(2, 625)),
             (Fraction(7, 2000), Fraction(0), Fraction(0))]  # fmt: skip
    r = sliding(encoders(timed)).run(np.zeros((3, 1)), np.ones((3, 1)), 0.1)
    for k, timing in enumerate(timed):
        for row in r.signals[f"e{k}"]:
            np.testing.assert_allclose(row, arriving(*timing, Fraction(1, 1000), 100), rtol=0, atol=1e-12)


@pytest.mark.parametrize("latency", [Fraction(1, 1000), Fraction(1, 2000), Fraction(1, 400)])
def test_latency_stays_where_events_cut_steps(latency):
    """Without a period a sample is taken at each step of the grid, also where events end some steps before, and begin others."""
    def passing(t, q, v):
        return np.sin(q[0] * 2000.0)

    passing.callback = lambda t, q, v: None
    r = sliding(encoders([(Fraction(1, 1000), Fraction(0), latency)])[:0] + [S.Encoder("x", name="e0", latency=float(latency))],
                events=[passing]).run([0.0], [1.0], 0.05)  # fmt: skip
    on = np.abs(r.t - np.round(r.t, 3)) < 1e-9
    assert on.sum() == 51 < len(r.t)
    expected = arriving(Fraction(1, 1000), Fraction(0), latency, Fraction(1, 1000), 50)
    np.testing.assert_allclose(r.signals["e0"][on], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("period", "seconds"), [(Fraction(1, 1000), 9), (Fraction(1, 400), 24), (Fraction(1, 100), 93)])
def test_ticks_stay_on_their_grid(period, seconds):
    """No error of rounding adds up: a sum of 1/1000 leaves the grid after 8 s, one of 1/100 after 92 s."""
    r = sliding(encoders([(period, Fraction(0), Fraction(0))])).run([0.0], [1.0], float(seconds))
    expected = arriving(period, Fraction(0), Fraction(0), Fraction(1, 1000), 1000 * seconds)
    np.testing.assert_allclose(r.signals["e0"], expected, rtol=0, atol=1e-9)
