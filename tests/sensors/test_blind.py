"""What is read of a sensor that is blind, and before there is a sample: no truth, and values of their kind."""

import numpy as np

import engine
from engine import Law, sensors
from engine.spatial import quaternion

NOISE = 1e-4


def craft(places=("bus",)):
    builder = engine.Builder("sat")
    for n in places:
        builder.add_link(n, inertia=engine.spatial.inertia.box(100.0, [0.8, 1.0, 1.2]))
    return builder.model(floating_base=True)


SATELLITE = craft()
BEGIN = [1.0, 0, 0, 0, 0, 0, 0]


def turning(compiled=True, **options):
    sensed = [sensors.StarTracker("bus", period=0.1, noise=NOISE, avoid=[((1.0, 0, 0), 1.0)], **options),
              sensors.SunSensor("bus", period=0.1, sun=(0.0, 0.0, 1.0), view=1.0, noise=NOISE),
              sensors.Range("bus", ((0.0, 0, 1.0), 5.0), period=0.1, most=8.0)]  # fmt: skip
    simulator = engine.Simulator(SATELLITE, dt=0.05, gravity=(0, 0, 0), sensors=sensed, compiled=compiled)
    return simulator.run(BEGIN, [0.0, 0.5, 0, 0, 0, 0], 12.8 if compiled else 4.0)


def held(x, valid, first):
    """The last of x (T, n) that were valid."""
    found, now = [], first
    for y, ok in zip(x, valid, strict=True):
        now = y if ok else now
        found.append(now)
    return np.array(found)


def test_a_blind_sensor_holds_its_last_valid_sample():
    """Whatever the truth does: where it is valid it is near the truth, where it is not it is the one before, to the bit."""
    s = turning().signals
    for name, part, first in (("star_tracker", "q", [1.0, 0, 0, 0]), ("sun_sensor", "direction", [0, 0, 1.0])):
        x, true, valid = (s[f"{name}.{n}"] for n in (part, f"true.{part}", "valid"))
        blind = valid < 0.5
        assert 20 < blind.sum() < len(blind) - 20 and valid[-1] > 0.5
        np.testing.assert_array_equal(x, held(x, valid > 0.5, first))
        assert np.abs(x - true)[~blind].max() < 6.0 * NOISE
        assert np.abs(x - true)[blind].max() > 0.5                             # the truth goes on
    assert (s["range.distance"][s["range.valid"] < 0.5] == 8.0).all()


def test_it_is_the_same_interpreted():
    a, b = turning().signals, turning(compiled=False).signals
    for n in ("star_tracker.q", "sun_sensor.direction"):
        np.testing.assert_allclose(b[n], a[n][: len(b[n])], rtol=0, atol=1e-14)


def test_one_that_never_saw_reads_no_truth():
    run = engine.Simulator(SATELLITE, dt=0.05, gravity=(0, 0, 0), sensors=[
        sensors.StarTracker("bus", noise=NOISE, avoid=[((0, 0, 1.0), 3.1)]), sensors.SunSensor("bus", sun=(0, 0, -1.0), view=0.1),
    ]).run(BEGIN, [0.02, 0.01, 0.5, 0, 0, 0], 1.0)  # fmt: skip
    assert (run.signals["star_tracker.q"] == [1.0, 0, 0, 0]).all() and (run.signals["sun_sensor.direction"] == [0, 0, 1.0]).all()


def test_a_target_out_of_sight_is_where_it_was_seen():
    builder = engine.Builder("two")
    for n in ("chaser", "target"):
        builder.add_link(n, inertia=engine.spatial.inertia.sphere(10.0, 0.5))
    builder.add_joint("rail", "prismatic", "chaser", "target", axis=(0, 0, 1))
    sensed = [sensors.RelativePose("chaser", "target", position={"noise": NOISE}, far=2.0)]
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.05, gravity=(0, 0, 0), sensors=sensed)
    run = simulator.run([*BEGIN, 1.0], [0, 0, 0, 0, 0, 0, 0.5], 5.0)
    x, valid = run.signals["relative.position"], run.signals["relative.valid"] > 0.5
    assert valid[0] and not valid[-1]
    np.testing.assert_array_equal(x, held(x, valid, np.zeros(3)))
    np.testing.assert_array_equal(run.signals["relative.q"], held(run.signals["relative.q"], valid, [1.0, 0, 0, 0]))


def test_before_the_first_sample_attitudes_are_attitudes_and_the_filter_says_what_it_was_told():
    attitude = quaternion.exp(np.array([0.1, 0.2, 0.3]))
    laws = [sensors.AttitudeFilter(1e-4, 1e-6, NOISE, period=0.05, phase=0.2, latest=4, attitude=attitude, bias=[1e-3, 0, 0])]

    def control(star_tracker, filter, sun_sensor):
        return np.concatenate([-quaternion.log(star_tracker.q) - quaternion.log(filter.q), sun_sensor.direction])

    run = engine.Simulator(SATELLITE, dt=0.05, gravity=(0, 0, 0), sensors=[
        sensors.Gyro("bus", period=0.05, phase=0.2, integrating=True), sensors.StarTracker("bus", period=0.25, latency=0.15, noise=NOISE),
        sensors.SunSensor("bus", period=0.25, latency=0.15),
    ], laws=laws, controller=Law(control, period=0.05)).run(BEGIN, np.zeros(6), 1.0)  # fmt: skip
    s = run.signals
    np.testing.assert_array_equal(s["star_tracker.q"][:3], np.tile([1.0, 0, 0, 0], (3, 1)))
    np.testing.assert_array_equal(s["filter.q"][:4], np.tile(attitude, (4, 1)))
    np.testing.assert_array_equal(s["filter.P"][0], np.diag(np.repeat(np.square([0.1, 1e-4]), 3)))
    np.testing.assert_array_equal(s["filter.bias"][0], [1e-3, 0, 0])
    assert s["filter.updates"][:4].tolist() == [0, 0, 0, 0]
    assert np.isfinite(sensors.nees(run.q[0, :4], np.zeros(3), s["filter.q"][0], s["filter.bias"][0], s["filter.P"][0]))
