"""Samples of stars that are read late, or taken between the gyro's: what the filter believes is what conditioning on all of it gives."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine import sensors as S
from engine.sensors.kalman import measurement_update
from engine.spatial import inertia, quaternion, so3

H = 0.05


def bus():
    b = engine.Builder("bus")
    b.add_link("bus", inertia=inertia.from_mass(100.0, [0, 0, 0], 10.0 * np.eye(3)))
    return b.model(floating_base=True)


def flown(gyro=(1e-4, 0.0), star=2e-5, latest=0, deviation=(0.01, 2e-3), dt=H, believed=None, known=(1.0, 0, 0, 0), **stars):
    sensors = [S.Gyro("bus", period=H, noise=gyro[0], walk=gyro[1], integrating=True), S.StarTracker("bus", noise=star, **stars)]
    estimate = S.AttitudeFilter(*(believed or (*gyro, star)), period=H, latest=latest, deviation=deviation, attitude=known)
    return engine.Simulator(bus(), dt=dt, gravity=(0, 0, 0), sensors=sensors, laws=[estimate])


def within(squares, k, n):
    """Whether means over runs (n) of normalised squares are within 99 % of χ² of k numbers, all of them together."""
    low, high = stats.chi2.ppf([0.005 / len(squares), 1.0 - 0.005 / len(squares)], k * n) / n
    return low < min(squares) and max(squares) < high


@pytest.mark.parametrize(("stars", "latest", "dt"), [
    ({"period": 0.5}, 0, H), ({"period": 0.5, "latency": 0.1}, 2, H), ({"period": 0.1, "latency": 0.25}, 5, H),
    ({"period": 0.5, "phase": 0.02}, 1, 0.01), ({"period": 0.12, "latency": 0.13}, 4, 0.01)])  # fmt: skip
def test_errors_are_as_large_as_it_says_however_late(stars, latest, dt):
    """NEES of attitude and bias over runs that begin as uncertain as the filter is told, after its second update and later; several samples
    may be on their way at once, and a body turns."""
    n, rng = 300, np.random.default_rng(3)
    simulator = flown(latest=latest, dt=dt, **stars)
    q0 = np.zeros((n, 7))
    q0[:, :4] = quaternion.exp(0.01 * rng.standard_normal((n, 3)))
    b = 2e-3 * rng.standard_normal((n, 3))
    found = simulator.run(q0, [0.1, -0.2, 0.15, 0, 0, 0], 6.0, record_every=round(H / dt),
                          parameters={"gyro.bias": b, "noise.run": np.arange(float(n))})  # fmt: skip
    s = found.signals
    second = int(np.argmax(s["filter.updates"][0] == 2.0))
    assert second > 0
    at = [second, second + 1, second + 3, second + 7, second + 20, -4, -1]
    squares = S.nees(found.q[..., :4], b[:, None], s["filter.q"], s["filter.bias"], s["filter.P"]).mean(axis=0)
    assert within(squares[at], 6, n), squares[at]
    assert within([s["filter.nis"][:, -1].mean()], 3, n)
    assert not found.warnings


def test_errors_at_first_may_be_large():
    """An estimate that is as far off as it says, a third of a radian, leaves no more of that than the first sample's noise."""
    n, rng = 300, np.random.default_rng(9)
    q0 = np.zeros((n, 7))
    q0[:, :4] = quaternion.exp(0.3 * rng.standard_normal((n, 3)))
    b = 2e-3 * rng.standard_normal((n, 3))
    own = {"gyro.bias": b, "noise.run": np.arange(float(n))}
    found = flown(deviation=(0.3, 2e-3), period=0.5).run(q0, np.zeros(6), 2.0, parameters=own)
    s = found.signals
    squares = S.nees(found.q[..., :4], b[:, None], s["filter.q"], s["filter.bias"], s["filter.P"]).mean(axis=0)[[0, 5, 11, 40]]
    assert within(squares, 6, n), squares
    assert not found.warnings


@pytest.mark.parametrize("latency", [0.0, 0.1])
def test_lost_in_space_the_first_sample_is_taken(latency):
    """From any attitude, half a turn off too: NEES and NIS are as of one that knew about where it was, and nothing is warned of."""
    n, rng = 300, np.random.default_rng(5)
    simulator = flown(latest=2, deviation=(1e-9, 2e-3), period=0.5, latency=latency, known=None)
    q0 = np.zeros((n, 7))
    q0[:, :4] = rng.standard_normal((n, 4))
    q0[:20, 0] = 0.0                                                           # half a turn
    q0[:, :4] /= np.linalg.norm(q0[:, :4], axis=1)[:, None]
    b = 2e-3 * rng.standard_normal((n, 3))
    found = simulator.run(q0, [0.1, -0.2, 0.15, 0, 0, 0], 4.0, parameters={"gyro.bias": b, "noise.run": np.arange(float(n))})
    s = found.signals
    first = int(np.argmax(s["filter.updates"][0] == 1.0))
    squares = S.nees(found.q[..., :4], b[:, None], s["filter.q"], s["filter.bias"], s["filter.P"]).mean(axis=0)
    at = [first, first + 3, first + 10, -1]
    assert within(squares[at], 6, n), squares[at]
    assert within([s["filter.nis"][:, -1].mean()], 3, n)
    assert not found.warnings


def conditioned(spin, gyro, star, deviation, ticks, taken):
    """P (6, 6) of now by the normal law of all that there is: the errors at first, the gyro's of each period, and samples of stars, by
    their times in periods, each of the attitude of then with ω constant in a period. No recursion, and nothing of the filter's."""
    E, one = so3.exp(-spin * H), np.eye(3)
    a, c, d = gyro[0] ** 2 * H + gyro[1] ** 2 * H**3 / 3, -(gyro[1] ** 2) * H**2 / 2, gyro[1] ** 2 * H
    n = 6 + 6 * ticks                                                          # all that is random, of which errors are linear
    prior = np.kron(np.eye(1 + ticks), np.kron([[a, c], [c, d]], one))
    prior[:6, :6] = np.diag(np.repeat(np.square(deviation), 3))
    states = [np.eye(6, n)]
    for k in range(1, ticks + 1):
        angle, bias = states[-1][:3], states[-1][3:]
        more = np.zeros((6, n))
        more[:, 6 * k : 6 * k + 6] = np.eye(6)
        states.append(np.concatenate([E @ angle - H * bias, bias]) + more)
    seen = []
    for time in taken:
        k, f = int(np.floor(time + 1e-9)), time - np.floor(time + 1e-9)
        angle = states[k][:3]
        if f > 1e-9:                                                           # a part of what the whole period turns
            own = states[k + 1][:3] - E @ angle
            angle = so3.exp(-spin * H * f) @ angle + so3.exp(spin * H * (1.0 - f)) @ (f * own)
        seen.append(angle)
    M = np.concatenate(seen)
    R = np.kron(np.eye(len(taken)), np.diag(np.square(star) * np.ones(3)))
    gain = np.linalg.solve(M @ prior @ M.T + R, M @ prior)
    return states[-1] @ (prior - prior @ M.T @ gain) @ states[-1].T


@pytest.mark.parametrize(("stars", "latest", "taken"), [
    ({"period": 0.5, "latency": 0.25}, 5, [0, 10, 20]), ({"period": 0.1, "latency": 0.25}, 5, range(0, 21, 2)),
    ({"period": 0.5, "phase": 0.02}, 1, [0.4, 10.4, 20.4]), ({"period": 0.5, "phase": 0.02, "latency": 0.1}, 3, [0.4, 10.4, 20.4])])
def test_covariance_is_that_of_conditioning_on_all_of_it(stars, latest, taken):
    """Without noise a spinning body's filter knows the rate; its P, with a star tracker that is worse about its axis, is deterministic."""
    spin, gyro, star, deviation = np.array([0.3, -0.5, 0.7]), (1e-4, 3e-5), np.array([2e-5, 2e-5, 1e-4]), (0.01, 2e-3)
    simulator = flown((0.0, 0.0), 0.0, latest, deviation, 0.01, believed=(*gyro, star), **stars)
    found = simulator.run([1.0, 0, 0, 0, 0, 0, 0], [*spin, 0, 0, 0], 26 * H, record_every=5)
    arrivals = np.ceil(np.array(taken) + stars.get("latency", 0.0) / H - 1e-6)
    for k in (int(arrivals[1]), int(arrivals[1]) + 2, 26):
        expected = conditioned(spin, gyro, star, deviation, k, np.array(taken)[arrivals <= k])
        sizes = np.sqrt(np.diag(expected))
        np.testing.assert_allclose(found.signals["filter.P"][k] / np.outer(sizes, sizes), expected / np.outer(sizes, sizes), atol=2e-7)
    e = quaternion.log(quaternion.product(quaternion.conjugate(found.signals["filter.q"]), found.q[:, :4]))
    assert np.abs(e).max() < 1e-8


def test_steady_state_of_a_late_tracker_is_farrenkopfs_before_an_update():
    """A sample that is one period late leaves what the same sample in time leaves, and that period: √P before an update."""
    SV, SU, SN, T = 10**-6.5, 10**-9.5, 1.5e-5, 1.0
    a, b, c = 1e-8, 0.0, 1e-14                                                # P of one axis before an update: attitude, both, bias
    for _ in range(40_000):
        gain, other = a / (a + SN**2), b / (a + SN**2)
        a, b, c = (1 - gain) * a, (1 - gain) * b, c - other * b
        a, b, c = a - 2 * T * b + T * T * c + SV**2 * T + SU**2 * T**3 / 3, b - T * c - SU**2 * T**2 / 2, c + SU**2 * T
    np.testing.assert_allclose(np.sqrt(a), 2.24017353882e-6, rtol=1e-9)
    estimate, one = S.AttitudeFilter(SV, SU, SN, T, latest=1).fn, np.array([1.0, 0, 0, 0])
    P = np.kron([[a, b], [b, c]], np.eye(3))
    _, ahead = estimate.predicted(one, P, np.zeros(3), one)
    _, again, *_ = estimate.corrected(one, np.zeros(3), ahead, np.zeros((2, 3)), one, T)
    np.testing.assert_allclose(again, P, rtol=1e-9, atol=1e-12 * np.abs(P).min(where=P != 0.0, initial=1.0))


def test_estimates_are_those_of_going_back_and_on_again():
    """About one axis the estimate is that of a filter that keeps its states, goes back to the sample's time, and comes again to now."""
    late, latest, sn, (sv, su) = 0.25, 5, 2e-5, (1e-4, 3e-5)
    simulator = flown((sv, su), sn, latest, (1e-3, 1e-3), period=0.1, latency=late)
    found = simulator.run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 4.0, parameters={"gyro.bias": [1e-3, 0.0, 0.0]})
    y, seen, taken = found.signals["gyro"][:, 0], 2.0 * found.signals["star_tracker.q"][:, 1], found.signals["star_tracker.time"]
    F = np.array([[1.0, -H], [0.0, 1.0]])
    Q = np.array([[sv**2 * H + su**2 * H**3 / 3, -(su**2) * H**2 / 2], [-(su**2) * H**2 / 2, su**2 * H]])
    kept, x, P, done = [], np.zeros(2), 1e-6 * np.eye(2), -1.0
    for k in range(len(y)):
        if k:
            x, P = np.array([x[0] + H * (y[k] - x[1]), x[1]]), F @ P @ F.T + Q
        kept.append((x, P))
        if k >= latest and taken[k] > done + 1e-9:
            done, j = taken[k], round(taken[k] / H)
            x, P = kept[j]
            K = P[:, 0] / (P[0, 0] + sn**2)
            x, P = x + K * (seen[k] - x[0]), P - np.outer(K, P[0])
            kept[j] = x, P
            for i in range(j + 1, k + 1):
                x, P = np.array([x[0] + H * (y[i] - x[1]), x[1]]), F @ P @ F.T + Q
                kept[i] = x, P
        own = 2.0 * found.signals["filter.q"][k, 1]
        assert abs(own - x[0]) < 0.01 * np.sqrt(P[0, 0])                       # the other axes' noise turns this one
        assert abs(found.signals["filter.bias"][k, 0] - x[1]) < 0.01 * np.sqrt(P[1, 1])


def test_the_update_of_what_was_is_that_of_a_state_with_what_was_in_it():
    """K, P and S of a late sample are the usual ones of the state beside w, of which only the first part is kept."""
    rng = np.random.default_rng(7)
    A, M, R = rng.standard_normal((9, 9)), rng.standard_normal((2, 5)), np.diag([0.3, 0.7])
    both = A @ A.T                                                             # of ε (5) and w (4), which moves ε by B
    B, z = rng.standard_normal((5, 4)), rng.standard_normal(2)
    P, U, W = both[:5, :5], both[:5, 5:] @ B.T @ M.T, M @ B @ both[5:, 5:] @ B.T @ M.T
    d, after, square, S_own = measurement_update(P, M, R, z, (U, W))
    whole = measurement_update(both, np.concatenate([M, -M @ B], axis=1), R, z)
    for own, other in zip((d, after, square, S_own), (whole[0][:5], whole[1][:5, :5], *whole[2:]), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)


def test_a_sample_between_the_gyros_wants_room_and_is_told_why():
    with pytest.raises(engine.SimulationError, match=r"'star_tracker' is read 0.03 s late, and the filter remembers 0 s; expected latest=1 "
                       r"of it \(it samples every 0.5 s from 0.02 s on, with 0 s of latency, and the filter is asked every 0.05 s"):
        flown(period=0.5, phase=0.02, dt=0.01)
    with pytest.raises(engine.SimulationError, match=r"read 0.04 s late.*expected latest=1 of it \(it samples every 0.12 s"):
        flown(period=0.12, dt=0.01)
    flown(period=0.01, dt=0.01)                                                # the newest of these is in time


def test_a_gyro_at_other_times_or_late_is_refused():
    def made(asked, **gyro):
        sensors = [S.Gyro("bus", period=H, integrating=True, **gyro), S.StarTracker("bus", period=0.5, latency=0.1)]
        return engine.Simulator(bus(), dt=0.01, sensors=sensors, laws=[S.AttitudeFilter(1e-4, 0.0, 1e-4, H, latest=3, phase=asked)])

    made(0.02, phase=0.02)

    with pytest.raises(engine.SimulationError, match=r"'gyro' samples every 0.05 s from 0.02 s on, and the filter from 0 s on; expected "
                       "phase=0.02"):
        made(0.0, phase=0.02)
    with pytest.raises(engine.SimulationError, match=r"'gyro' is read 0.1 s late, which the filter would take for the rate of now"):
        made(0.0, latency=0.1)
