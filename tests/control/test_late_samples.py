"""An estimator with sensors that are late: against all samples at once, its consistency, and times at which it is not asked."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine import sensors as S
from tests.control.test_estimator import RAIL, flyer


def by_all_samples(samples, h, deviation, process, ticks):
    """Return the mean and covariance (ticks, 2, 2) of a cart's place and speed by all of ``samples`` that have arrived: rows of (taken,
    arrived, noise, read), in ticks. All states at once are normal, and conditioned on what was read."""
    A, Q = np.array([[1.0, h], [0.0, 1.0]]), process**2 * np.array([[h**3 / 3.0, h * h / 2.0], [h * h / 2.0, h]])
    C = np.zeros((2 * ticks, 2 * ticks))
    P = np.diag(np.square(deviation))
    for k in range(ticks):
        at = slice(2 * k, 2 * k + 2)
        C[at, at] = P
        for later in range(k + 1, ticks):
            of = slice(2 * later, 2 * later + 2)
            C[of, at] = A @ C[slice(2 * later - 2, 2 * later), at]
            C[at, of] = C[of, at].T
        P = A @ P @ A.T + Q
    means, covariances = [], []
    for k in range(ticks):
        there = [s for s in samples if s[1] <= k]
        H = np.array([np.eye(2 * ticks)[2 * s[0]] for s in there]).reshape(-1, 2 * ticks)
        K = C[2 * k : 2 * k + 2] @ H.T @ np.linalg.inv(H @ C @ H.T + np.diag([s[2] ** 2 for s in there]))
        means.append(K @ [s[3] for s in there])
        covariances.append(C[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] - K @ H @ C[:, 2 * k : 2 * k + 2])
    return np.array(means), np.array(covariances)


@pytest.mark.parametrize(("period", "latency", "phase"), [(0.05, 0.02, 0.0), (0.02, 0.05, 0.01), (0.01, 0.03, 0.0), (0.03, 0.025, 0.02)])
def test_of_a_line_it_is_what_all_samples_say_at_once(period, latency, phase):
    """A second route: one gauge at once, and one that is late, with up to three samples on their way."""
    h, deviation, process, ticks = 0.01, (0.1, 0.5), 0.4, 25
    own = [S.Encoder("slide", noise=0.05, period=0.04, name="rough"),
           S.Encoder("slide", noise=0.01, period=period, latency=latency, phase=phase, name="fine")]  # fmt: skip
    found = engine.estimator(engine.Simulator(RAIL, dt=h), own, deviation=deviation, process=process)
    run = engine.Simulator(RAIL, dt=h, sensors=own, laws=[found]).run([0.07], [-0.3], (ticks - 1) * h)
    s, samples = run.signals, []
    for name, noise, T, late, begins in (("rough", 0.05, 0.04, 0.0, 0.0), ("fine", 0.01, period, latency, phase)):
        for n in range(100):
            taken, arrived = (int(np.ceil(x / h - 1e-6)) for x in (begins + n * T, begins + n * T + late))
            if arrived < ticks:
                samples.append((taken, arrived, noise, s[name][arrived]))
    means, covariances = by_all_samples(samples, h, deviation, process, ticks)
    np.testing.assert_allclose(np.stack([s["estimate.q"][:, 0], s["estimate.v"][:, 0]], axis=1), means, rtol=0, atol=1e-9)
    np.testing.assert_allclose(s["estimate.P"], covariances, rtol=0, atol=1e-11)


def late_flyer(dt):
    """A free flyer with an arm whose camera, GPS and encoder are late, by other times than their periods."""
    model = flyer()
    own = [S.Gyro("bus", period=0.1, noise=1e-3), S.StarTracker("bus", period=0.5, noise=2e-3, latency=0.3),
           S.Encoder("elbow", noise=2e-3, period=0.1, latency=0.15),
           S.GPS("bus", period=1.0, phase=0.2, position={"noise": 0.05}, velocity={"noise": 0.02}, latency=1.3)]  # fmt: skip
    spread = np.repeat([0.05, 0.1, 0.02, 0.02, 0.05, 0.05], [3, 3, 1, 3, 3, 1])
    believed = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0))
    found = engine.estimator(believed, own, deviation=spread, parameters={"gyro.bias": (0.01, 0.0)})
    return found, spread, engine.Simulator(model, dt=dt, gravity=(0, 0, 0), sensors=own, laws=[found])


@pytest.mark.parametrize("dt", [0.1, 0.05])
def test_it_is_consistent_however_late(dt):
    """NEES over runs that begin as uncertain as P: within 99 % of χ², and what has been late has been of use."""
    found, spread, simulator = late_flyer(dt)
    n, rng, model = 500, np.random.default_rng(2), simulator.model
    d = spread * rng.standard_normal((n, 14))
    bias = 0.01 * rng.standard_normal((n, 3))
    q0 = model.manifold.plus(np.tile(model.neutral(), (n, 1)), d[:, :7])
    parameters = {"gyro.bias": bias, "noise.run": np.arange(float(n))}
    run = simulator.run(q0, d[:, 7:], 4.0, record_every=round(1.0 / dt), parameters=parameters)
    squares = found.nees(run, {"gyro.bias": bias})
    low, high = stats.chi2.ppf([0.005, 0.995], 17 * n) / n
    means = squares.mean(axis=0)
    assert ((low < means) & (means < high)).all(), means
    for k, m in enumerate((3, 3, 1, 6)):
        low, high = stats.chi2.ppf([0.0025, 0.9975], m * n) / n
        assert low < run.signals["estimate.nis"][:, -1, k].mean() < high
    P = run.signals["estimate.P"]
    assert P[0, -1].trace() < 0.5 * P[0, 0].trace()


def test_alone_in_a_batch_plain_and_compiled():
    """The same bits alone and in a batch; in plain Python the same to rounding."""
    found, spread, simulator = late_flyer(0.1)
    q, v = simulator.model.neutral(), spread[7:]
    alone = simulator.run(q, v, 2.0)
    batch = simulator.run(np.tile(q, (3, 1)), np.tile(v, (3, 1)), 2.0, parameters={"noise.run": [1.0, 0.0, 2.0]})
    for n in ("estimate.q", "estimate.v", "estimate.P", "estimate.nis"):
        np.testing.assert_array_equal(batch.signals[n][1], alone.signals[n])
    plain = engine.Simulator(simulator.model, dt=0.1, gravity=(0, 0, 0), sensors=found.fn.sensors, laws=[found], compiled=False)
    few = plain.run(q, v, 0.5)
    for n in ("estimate.q", "estimate.v", "estimate.P"):
        np.testing.assert_allclose(few.signals[n], alone.signals[n][:6], rtol=0, atol=1e-12)


def test_what_is_seen_too_late_to_be_valid_is_left_out():
    """A star tracker that was blind when it looked: its sample arrives, and is none."""
    model = flyer()
    stars = S.StarTracker("bus", period=0.2, noise=1e-3, latency=0.3, avoid=[((0.0, 0.0, 1.0), 0.5)])
    found = engine.estimator(engine.Simulator(model, dt=0.1, gravity=(0, 0, 0)), [stars], deviation=0.1)
    run = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), sensors=[stars], laws=[found]).run(model.neutral(), np.zeros(7), 1.0)
    assert not run.signals["estimate.nis"].any()


@pytest.mark.parametrize(("dt", "sensor", "text"), [
    (0.001, {"period": 0.02, "phase": 0.01}, "'encoder' samples every 0.02 s from 0.01 s on, with 0 s of latency, and so between the "
                                             "filter's ticks, every 0.02 s; expected a phase of it"),
    (0.001, {"period": 0.03}, "expected a period of it at which"), (0.001, {"period": 0.015}, "expected a period of it at which"),
    (0.001, {"period": 0.005, "latency": 0.005}, "expected a latency of it at which"),
])  # fmt: skip
def test_samples_between_its_ticks_are_refused(dt, sensor, text):
    """They would be compared with what is at the tick after: of a cart at 1 m/s and a gauge of 0.1 mm NEES would be 10⁵."""
    gauge = S.Encoder("slide", noise=1e-4, **sensor)
    found = engine.estimator(engine.Simulator(RAIL, dt=0.02), [gauge])
    with pytest.raises(engine.EngineError, match=text):
        engine.Simulator(RAIL, dt=dt, sensors=[gauge], laws=[found])


@pytest.mark.parametrize("period", [0.02, 0.03, 0.015])
def test_samples_at_its_ticks_are_taken(period):
    """Of a simulation whose steps are the filter's all samples are; and those that are sampled at a multiple of them."""
    dt = 0.02 if period != 0.02 else 0.005
    gauge = S.Encoder("slide", noise=1e-4, period=max(period, dt))
    found = engine.estimator(engine.Simulator(RAIL, dt=0.02, gravity=(0, 0, 0)), [gauge], deviation=[0.1, 1.0])
    run = engine.Simulator(RAIL, dt=dt, gravity=(0, 0, 0), sensors=[gauge], laws=[found]).run([0.0], [1.0], 2.0)
    assert found.nees(run)[:: round(0.02 / dt)].max() < stats.chi2.ppf(1.0 - 1e-6, 2)


def test_ticks_that_are_not_a_step_apart_are_told():
    gauge = S.Encoder("slide", noise=1e-4, period=0.04)
    found = engine.estimator(engine.Simulator(RAIL, dt=0.02), [gauge])
    with pytest.warns(engine.EngineWarning, match="'estimate' is asked every 0.02 s, which is no multiple of dt = 0.015 s"):
        engine.Simulator(RAIL, dt=0.015, sensors=[gauge], laws=[found])
