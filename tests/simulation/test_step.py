"""What is recorded of a step's impulses is what acted in it."""

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.spatial import inertia
from tests.contact.scenes import UPRIGHT, block, material, point, simulator

H = 1e-3


@pytest.fixture(scope="module")
def tumbling():
    """A block that falls on a corner, spins and slides."""
    return simulator(block(), material(), dt=H), np.array([*UPRIGHT, 0.0, 0.0, 0.2]), np.array([2.0, -1.0, 3.0, 0.4, 0.0, -1.0])


@pytest.fixture(scope="module")
def run(tumbling):
    s, q, v = tumbling
    return s.run(q, v, 0.3)


def test_recorded_forces_are_those_that_changed_the_momentum(tumbling, run):
    """p⁺ − p = h (m g + Σ f), of every step by its record, to the rounding of p."""
    model = tumbling[0].model
    p = np.array([dynamics.momentum(model, *x)[3:] for x in zip(run.q, run.v, strict=True)])
    f = run("contacts.force").sum(axis=1)
    assert np.abs(f).max() > 10.0 * 9.81                                        # it is struck
    few = 16 * np.finfo(float).eps * np.abs(p).max()
    np.testing.assert_allclose(np.diff(p, axis=0), H * (f[:-1] + [0.0, 0.0, -9.81]), rtol=0.0, atol=few)


def kicked(t, q, v):
    """Upwards, in the middle of what it does."""
    return q, v + [0.0, 0.0, 0.5]


def test_recorded_forces_are_those_of_steps_that_are_cut_short():
    """By events (two in one step, one that kicks, one at which nothing changes, one that ends all just before it would strike the ground)
    and by the end of a duration: in each v⁺ − v = Δt (g + Σ f / m)."""
    begin = np.array([0.0, 0.0, 0.11]), np.array([0.4, 0.0, -1.0])
    times = engine.Event(lambda t, q, v: t - 0.0096, action=None), engine.Event(lambda t, q, v: t - 0.014999, action=None)
    interrupted = simulator(point(), material(), dt=H, events=[engine.Event(lambda t, q, v: t - 0.0093, action=kicked), *times])
    landing = simulator(point(), material(), dt=H, events=[engine.Event(lambda t, q, v: q[2] - 0.1001, direction=-1)])
    few = 1e-4 * 1e-4                                                           # of the speed that sticks: there Newton's method ends
    for s, duration in ((interrupted, 0.0214), (interrupted, 0.0153), (interrupted, 0.0004), (landing, 0.0043), (landing, 0.02)):
        t = s.run(*begin, duration)
        f, h = t("contacts.force").sum(axis=1), np.diff(t.t)[:, None]
        on = h[:, 0] > 0.0
        np.testing.assert_allclose(np.diff(t.v, axis=0)[on], (h * (f[:-1] + [0.0, 0.0, -9.81]))[on], rtol=0.0, atol=few)
    assert f[-1, 2] > 10.0 > f[:-1, 2].max() == 0.0                             # of the step that would come after the end


def cart():
    """On a rail, with dry friction and a stop."""
    builder = engine.Builder("slider")
    builder.add_link("rail")
    builder.add_link("cart", inertia=inertia.sphere(2.0, 0.1))
    builder.add_joint("x", "prismatic", "rail", "cart", axis=(1, 0, 0), limits=engine.Limits(-1.0, 0.1), friction=0.5)
    return builder.model()


def test_the_last_record_is_of_a_whole_step():
    """However short the step before it: at its stop a cart is pushed back as if that were none."""
    s, begin = engine.Simulator(cart(), dt=H, gravity=(0.0, 0.0, 0.0)), (np.array([0.099]), np.array([0.4]))
    whole, longer = (s.run(*begin, duration)("stops.force")[-1] for duration in (0.006, 0.006 + 1e-8))
    assert whole[0] < -1.0
    np.testing.assert_allclose(longer, whole, rtol=1e-5)


def test_a_run_on_disk_is_not_lengthened_by_less_than_a_step(tmp_path):
    """Whose forces its last record does not have."""
    s, begin = simulator(point(), material(), dt=H), (np.array([0.0, 0.0, 0.1]), np.array([0.3, 0.0, -0.5]))
    path = s.run(*begin, 0.003, out=tmp_path / "run.h5")
    with pytest.raises(engine.SimulationError, match=r"not of one to 0.0035 s; expected a duration of a step more"):
        s.resume(path, 0.0035)
    whole, found = s.run(*begin, 0.0045), engine.load_trajectory(s.resume(path, 0.0045))
    np.testing.assert_array_equal(found("contacts.force"), whole("contacts.force"))
    np.testing.assert_array_equal(found.vdot, whole.vdot)


def test_recorded_friction_and_stops_are_those_that_changed_the_speed():
    """m Δv/h = friction + stops, of a cart that runs into its stop."""
    s = engine.Simulator(cart(), dt=H, gravity=(0.0, 0.0, 0.0))
    t = s.run(np.zeros(1), np.array([0.4]), 0.5)
    f, stop = t("friction.force")[:, 0], t("stops.force")[:, 0]
    assert stop.min() < -1.0 and t.v[-1, 0] < 0.0
    np.testing.assert_allclose(2.0 * np.diff(t.v[:, 0]) / H, (f + stop)[:-1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(t.vdot[:, 0], (f + stop) / 2.0, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_records_are_the_same_bits_however_many_there_are(tumbling, run, every):
    s, q, v = tumbling
    t = s.run(q, v, 0.3, record_every=every)
    at = [*range(0, 300, every), 300]
    for name in ("q", "v", "vdot"):
        np.testing.assert_array_equal(getattr(t, name), getattr(run, name)[at])
    for name in t.signals:
        np.testing.assert_array_equal(t(name), run(name)[at])


def test_a_state_stepped_and_a_batch_have_the_same_records(tumbling, run):
    s, q, v = tumbling
    state = s.step(s.start(q, v), 150)
    np.testing.assert_array_equal(state.q, run.q[150])
    both = s.run(np.stack([q, q]), np.stack([v, 0.0 * v]), 0.2)
    np.testing.assert_array_equal(both("contacts.force")[0], run("contacts.force")[:201])


def test_plain_and_compiled_records_agree():
    """Of a ball that slides over the ground, to what a thousand roundings come to."""
    found = []
    for compiled in (True, False):
        s = simulator(point(), material(), dt=H, compiled=compiled)
        found.append(s.run(np.array([0.0, 0.0, 0.1]), np.array([0.3, 0.0, -0.5]), 0.02)("contacts.force"))
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-11 * np.abs(found[0]).max())
