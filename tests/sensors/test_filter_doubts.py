"""What is said of a filter after a run: innovations that are larger than chance in the mean, no update at all, numbers that cannot be."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine import sensors as S
from engine.simulation.innovations import UNLIKELY, USUAL, Innovations, Known, below, beyond
from tests.sensors.test_late_stars import H, bus, flown

REST = [1.0, 0, 0, 0, 0, 0, 0], np.zeros(6)


@pytest.mark.parametrize("x", [USUAL, UNLIKELY])
def test_the_bound_is_beyond_what_chance_does(x):
    n = np.array([1.0, 2, 3, 6, 30, 363, 1e4, 1e6])
    assert (stats.chi2.logsf(beyond(n, x), n) < -x).all()
    assert (beyond(n, x)[3:] < stats.chi2.isf(np.exp(-3.0 * x), n[3:])).all()   # and not far beyond


def test_it_counts_what_is_new_in_any_blocks():
    rng, n = np.random.default_rng(0), 400
    updates = np.cumsum(rng.integers(0, 2, (2, n)), axis=-1).astype(float)
    nis = rng.chisquare(3, (2, n, 1))
    nis = np.array([[x[np.argmax(u == v)] for v in u] for x, u in zip(nis, updates, strict=True)])    # held between updates
    found = []
    for cuts in ([], [100, 101, 300]):
        own = Innovations("filter", Known((3,), 0.0))
        for part, u in zip(np.split(nis, cuts, axis=1), np.split(updates, cuts, axis=1), strict=True):
            own.add(np.arange(u.shape[-1]) * 1.0, part, u)
        found.append((own.count[:, 0], own.mean()))
    np.testing.assert_array_equal(found[0][0], updates[:, -1])
    np.testing.assert_allclose(*[m for _, m in found], rtol=1e-13)
    assert (found[0][1] < 1.0).all()
    worse = Innovations("filter", Known((3,), 0.0))
    worse.add(np.arange(n) * 1.0, 2.2 * nis, updates)
    assert (worse.mean() > 1.0).all() and "innovations are 6." in worse.of_mean((0, -1))


def test_a_filter_that_trusts_stars_ten_times_too_much_is_said(tmp_path):
    """Not one of its innovations is beyond chance; their mean, twice what it should be over a minute, is. In a file too."""
    def made(less):
        star = np.array([2e-5, 2e-5, 1e-4])
        return flown((1e-4, 1e-6), star, period=0.5, believed=(1e-4, 1e-6, less * star))

    with pytest.warns(engine.SimulationWarning, match=r"'filter' does not know how far it is off: the normalised squares of its 121 "
                      r"innovations are \d.* in the mean, which of 3 numbers each is beyond 4.9\d in one of 10¹⁰ runs"):
        made(0.1).run(*REST, 60.0)
    with pytest.warns(engine.SimulationWarning, match="innovations are .* in the mean"):
        made(0.1).run(*REST, 60.0, out=tmp_path / "run.h5")
    assert not made(1.0).run(*REST, 60.0).warnings


def test_a_filter_without_an_update_is_said():
    blind = flown(period=0.5, latency=0.1, latest=2, avoid=[((0.0, 0.0, 1.0), 1.0)])
    with pytest.warns(engine.SimulationWarning, match=r"'filter' has had no update until t = 2 s: no sample of its star tracker was valid"):
        blind.run(*REST, 2.0)
    assert not blind.run(*REST, 0.5).warnings                                  # until then there may be none
    gated = engine.Simulator(bus(), dt=H, gravity=(0, 0, 0), sensors=[S.Gyro("bus", period=H), S.StarTracker("bus", period=0.5)],
                             laws=[S.AttitudeFilter(1e-4, 0.0, 1e-4, H, gate=16.0, attitude=[np.cos(0.3), 0, 0, np.sin(0.3)])])  # fmt: skip
    with pytest.warns(engine.SimulationWarning, match="no update until t = 3 s in rollout .*a larger gate"):
        gated.run(np.tile(REST[0], (2, 1)), REST[1], 3.0)


@pytest.mark.parametrize(("options", "text"), [
    ({"gate": 0.0}, "filter: gate is 0.0; expected χ² above 0, or None"), ({"gate": -1.0}, "gate is -1.0"),
    ({"deviation": (-0.1, 1e-4)}, r"deviation is \(-0.1, 0.0001\); expected two numbers above 0"),
    ({"deviation": 0.1}, "deviation is 0.1; expected two"),
    ({"star_noise": 400.0}, "star_noise is 400.0; expected a number above 0, rad, or three, up to π"),
    ({"gyro": "imu.rate"}, r"gyro is 'imu.rate'; expected the name of a sensor, such as 'gyro', or 'imu'"),
    ({"star_tracker": 3}, "star_tracker is 3; expected the name of a sensor"), ({"phase": -1.0}, "phase"),
])  # fmt: skip
def test_what_cannot_be_is_refused(options, text):
    with pytest.raises(engine.SimulationError, match=text):
        S.AttitudeFilter(**{"noise": 1e-4, "walk": 0.0, "star_noise": 1e-4, "period": H, **options})


def test_angles_that_turn_farther_than_about_are_refused():
    for make in (lambda: S.StarTracker("bus", noise=400.0), lambda: S.SunSensor("bus", noise=[0.0, 4.0, 0.0]),
                 lambda: S.RelativePose("bus", "bus", attitude={"noise": 4.0})):  # fmt: skip
        with pytest.raises(engine.SimulationError, match=r"noise is .*; expected rad, from 0 to π"):
            make()


@pytest.mark.parametrize("integrating", [True, False])
def test_an_imu_is_a_gyro_to_a_filter(integrating):
    """By its name: of one that integrates its angles are taken, as a law between them would, and else its rates."""
    def rates(imu):
        return imu.angle / H if integrating else imu.rate

    def made(gyro, laws):
        imu = S.IMU("bus", period=H, rate={"noise": 1e-4, "bias": [1e-3, 0, 0]}, integrating=integrating)
        estimate = S.AttitudeFilter(1e-4, 0.0, 2e-5, H, gyro=gyro, deviation=(0.01, 2e-3))
        return engine.Simulator(bus(), dt=H, gravity=(0, 0, 0), sensors=[imu, S.StarTracker("bus", period=0.5, noise=2e-5)],
                                laws=[*laws, estimate]).run(REST[0], [0.1, 0.2, 0, 0, 0, 0], 10.0).signals  # fmt: skip

    own, other = made("imu", []), made("rates", [rates])
    for part in ("q", "bias", "P", "nis"):
        np.testing.assert_array_equal(own[f"filter.{part}"], other[f"filter.{part}"])
    assert abs(own["filter.bias"][-1, 0] - 1e-3) < 5.0 * np.sqrt(own["filter.P"][-1, 3, 3])


@pytest.mark.parametrize("x", [USUAL, UNLIKELY])
def test_the_lower_bound_is_below_what_chance_does(x):
    n = np.array([1.0, 30, 101, 363, 1e4, 1e6])
    assert (stats.chi2.logcdf(below(n, x), n) < -x).all()
    assert (below(n, x)[3:] > stats.chi2.ppf(np.exp(-3.0 * x), n[3:])).all()    # and not far below


def test_a_filter_that_is_far_too_timid_is_said():
    """Stars that it takes for ten times as coarse as they are; of twice as coarse and less nothing is said, nor of few samples."""
    def made(more):
        star = np.array([2e-4, 2e-4, 1e-3])
        return flown((1e-5, 0.0), star, period=0.5, believed=(1e-5, 0.0, more * star))

    with pytest.warns(engine.SimulationWarning, match=r"'filter' takes itself to be at least twice as far off as it is: the normalised "
                      r"squares of its 1\d\d innovations are 0\.0\d+ in the mean, which of 3 numbers each is below 1\.4\d in one of 10¹⁰"):
        made(10.0).run(*REST, 60.0)
    assert not made(1.0).run(*REST, 60.0).warnings and not made(10.0).run(*REST, 10.0).warnings


def begun_far_off(duration):
    """A bias twenty of the filter's own deviations off, which it has found after some samples."""
    star = np.array([5e-5, 5e-5, 4e-4])
    simulator = flown((1e-4, 1e-6), star, deviation=(1e-3, 1e-5), period=0.25)
    return simulator.run(REST[0], [0.02, -0.01, 0.03, 0, 0, 0], duration, parameters={"gyro.bias": [1e-3, -2e-3, 5e-4]})


@pytest.mark.filterwarnings("ignore::engine.SimulationWarning")
def test_a_long_run_tells_what_a_short_one_does():
    short, long = (begun_far_off(duration).warnings for duration in (20.0, 300.0))
    assert len(short) == 1 and "does not know how far it is off: the normalised square of its innovation" in short[0]
    assert [text.partition(" (")[0] for text in short] == [text.partition(" (")[0] for text in long]


def test_the_mean_is_looked_at_on_the_way():
    """Of innovations that are twice too large until there were 600, and right after them, a run of many tells, in any blocks."""
    rng, n = np.random.default_rng(1), 20000
    nis = rng.chisquare(3, (n, 1))
    nis[:600] *= 1.9
    worst = []
    for cuts in ([], [300, 513, 7000]):
        own, found = Innovations("filter", Known((3,), 0.0)), []
        updates, t = np.arange(1.0, n + 1.0), np.arange(float(n))
        for part, u in zip(np.split(nis, cuts), np.split(updates, cuts), strict=True):
            own.add(t[: len(u)], part, u)
            found.append(own.means())
        worst.append(np.concatenate(found)[[511, -1]])                         # at 512, and in the end
    assert worst[0][0] > 1.0 > worst[0][1]
    np.testing.assert_allclose(worst[0], worst[1], rtol=1e-12)


@pytest.mark.parametrize("dt", [0.02, 0.03])
def test_a_filter_of_uneven_ticks_is_told(dt):
    """A body that turns by 0.2 rad/s evenly: asked at 0.06 instead of 0.05 s, a filter without noise is 2 mrad off, and believes in 0.1."""
    body = engine.Builder("b")
    body.add_link("bus", inertia=engine.spatial.inertia.sphere(40.0, 0.5))
    stars = {"sensors": [S.Gyro("bus", period=0.05), S.StarTracker("bus", period=0.5)], "gravity": (0, 0, 0)}
    make = lambda: engine.Simulator(body.model(floating_base=True), dt=dt, laws=[S.AttitudeFilter(1e-5, 1e-9, 1e-4, period=0.05)], **stars)
    with pytest.warns(engine.EngineWarning, match=f"'filter' is asked every 0.05 s, which is no multiple of dt = {dt} s"):
        make()
