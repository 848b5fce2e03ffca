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


def test_recorded_friction_and_stops_are_those_that_changed_the_speed():
    """m Δv/h = friction + stops, of a cart that runs into its stop."""
    builder = engine.Builder("slider")
    builder.add_link("rail")
    builder.add_link("cart", inertia=inertia.sphere(2.0, 0.1))
    builder.add_joint("x", "prismatic", "rail", "cart", axis=(1, 0, 0), limits=engine.Limits(-1.0, 0.1), friction=0.5)
    s = engine.Simulator(builder.model(), dt=H, gravity=(0.0, 0.0, 0.0))
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
