"""What a trajectory was in between its records: what is held is held, and what moves is interpolated."""

import numpy as np
import pytest

import engine
from engine import Law, sensors


def flown(tmp_path=None, batch=False, **options):
    builder = engine.Builder("sat")
    builder.add_link("bus", inertia=engine.spatial.inertia.box(100.0, [0.8, 1.0, 1.2]))

    def bright(star_tracker):
        return 1.0 * (star_tracker.valid > 0.5)

    def counting(t, memory):
        return {"n": memory[0], "later": t}, memory + 1.0

    def moving(q):
        return q[4:7]

    simulator = engine.Simulator(
        builder.model(floating_base=True), dt=0.01, gravity=(0, 0, 0),
        sensors=[sensors.Gyro("bus", period=0.05, noise=1e-4, walk=1e-6),
                 sensors.StarTracker("bus", period=0.25, latency=0.15, noise=1e-4)],
        laws=[bright, Law(counting, period=0.1, memory=[0.0]), moving],
        controller=Law(lambda gyro: np.append(-10.0 * gyro, [0, 0, 0]), period=0.05),
    )  # fmt: skip
    q, v = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.array([0.02, -0.01, 0.03, 1.0, 0, 0])
    more = {"parameters": {"noise.run": np.arange(2)}} if batch else {}
    return simulator.run(np.tile(q, (2, 1)) if batch else q, v, 1.0, **more, **options)


HELD = ("gyro", "gyro.true", "gyro.true.bias", "star_tracker.q", "star_tracker.valid", "star_tracker.time", "bright", "counting.n")


@pytest.mark.parametrize("batch", [False, True])
def test_what_is_held_is_as_in_the_record_before(batch):
    run = flown(batch=batch)
    times = np.random.default_rng(0).uniform(0.0, 1.0, 40)
    times[0] = 0.145                                                           # before the first sample of stars arrives
    k, between = np.searchsorted(run.t, times, side="right") - 1, run.at(times)
    for name in HELD:
        np.testing.assert_array_equal(between.signals[name], np.take(run.signals[name], k, axis=run.q.ndim - 2), err_msg=name)
    np.testing.assert_array_equal(between.tau, np.take(run.tau, k, axis=run.q.ndim - 2))
    np.testing.assert_allclose(between.signals["moving"][..., 0], np.broadcast_to(times, between.q.shape[:-1]), atol=2e-3)
    assert set(HELD) <= set(run.held) and "moving" not in run.held and "tau" in run.held


def test_a_time_that_is_a_record_to_rounding_has_its_sample():
    run = flown()
    for k in (15, 30, 60, 100):
        np.testing.assert_array_equal(run.at([np.nextafter(run.t[k], 0.0)]).signals["gyro"][0], run.signals["gyro"][k])


def test_files_say_what_is_held(tmp_path):
    run = flown()
    saved = engine.load_trajectory(run.save(tmp_path / "saved.h5"))
    recorded = engine.load_trajectory(flown(out=tmp_path / "recorded.h5"))
    assert saved.held == recorded.held == run.held
    np.testing.assert_array_equal(recorded.at([0.146]).signals["gyro"], run.signals["gyro"][[14]])


def test_a_controller_at_every_stage_and_motors_are_no_held_forces():
    model = engine.load(engine.example("seven_joint_arm"))
    run = engine.Simulator(model, controller=lambda t, q, v: -v).run(model.neutral(), 0.1 * np.ones(7), 0.01)
    assert run.held == ()
