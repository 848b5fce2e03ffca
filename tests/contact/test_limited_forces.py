"""A stiff servo with a limit that meets a wall or a stop pushes no more than it may, however much its damping would hold it."""

import numpy as np
import pytest

import engine
from engine.components.actuators import Motor
from engine.contact.limited_forces import ForceLimits, cut
from engine.spatial import inertia, se3
from tests.contact.scenes import material

MASS, EFFORT, KP, KD = 5e-3, 30.0, 2e5, 5e4                                    # kg, N, N/m, N·s/m: 1e7/s
STIFF, WAY = 1e6, 0.05                                                         # of both surfaces, N/m; of the finger's goal behind it, m


def asked(q, v):
    return KP * (WAY - q) - KD * v


def finger(stop=np.inf):
    """A ball that slides along x, 2 mm before a wall."""
    builder = engine.Builder("finger")
    builder.add_link("base", collisions=[engine.Geometry("box", (0.2, 0.2, 0.2), placement=se3.pose(np.eye(3), [0.112, 0, 0]))])
    builder.add_link("tip", inertia=inertia.sphere(MASS, 0.01), collisions=[engine.Geometry("sphere", (0.01,))])
    limits = engine.Limits(upper=stop, effort=EFFORT if np.isfinite(stop) else np.inf)
    builder.add_joint("slide", "prismatic", "base", "tip", axis=(1, 0, 0), limits=limits)
    return builder.model()


def pressed(dt=1e-3, duration=0.2, stop=np.inf, every=1, **options):
    options = {"controller": lambda t, q, v: np.clip(asked(q, v), -EFFORT, EFFORT)} | options
    touches = {} if np.isfinite(stop) else {"contacts": engine.Contacts(material=material(STIFF, 1.0), pairs=[("base", "tip")])}
    sim = engine.Simulator(finger(stop), dt=dt, gravity=(0, 0, 0), **touches, **options)
    assert sim.method.name == "ros34pw2" and sim.plant.bounds.n
    return sim.run([0.0], [0.0], duration, record_every=every)


@pytest.mark.parametrize("dt", [5e-4, 1e-3, 2e-3])
def test_a_wall_is_pushed_with_the_limit(dt):
    """It comes at 0.2 m/s; its own mass gives 0.2 √(m k) = 14 N, its damping would give 10 kN and go 10 mm deep."""
    run = pressed(dt)
    force = -run("contacts.force")[:, 0, 0]
    assert run.v.max() < 0.21
    assert run("contacts.gap").min() > -2.0 * (EFFORT + 0.2 * np.sqrt(MASS * STIFF)) / STIFF
    np.testing.assert_allclose(np.abs(force[-1]), EFFORT, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], 2e-3 + EFFORT / STIFF, rtol=1e-9)
    assert abs(run.v[-1, 0]) < 1e-9


def test_a_wall_is_pushed_as_by_short_steps():
    """The way, at all times: to what the wall gives way in the first of them."""
    coarse, fine = pressed(1e-3), pressed(2e-5, every=50)
    assert np.abs(coarse.q - fine.q).max() < 0.2 * 1e-3 * 0.05


def test_a_motor_s_limit_is_the_same():
    motor = Motor("slide", effort=EFFORT, name="m")
    run = pressed(controller=lambda t, q, v: {"m": asked(q[0], v[0])}, actuators=[motor])
    np.testing.assert_allclose(run.q, pressed().q, rtol=0, atol=1e-13)


def test_a_stop_is_pushed_with_the_limit():
    """Which gives way to that by a hundredth of its range, or where it has but one end by 0.01."""
    run = pressed(stop=2e-3, duration=1.0)
    np.testing.assert_allclose(np.abs(run("stops.force")[-1]), EFFORT, rtol=1e-6)


def test_on_floats_it_is_the_same():
    compiled, plain = pressed(duration=0.03), pressed(duration=0.03, compiled=False)
    np.testing.assert_allclose(compiled.q, plain.q, rtol=0, atol=1e-11)


def test_what_is_cut_is_the_slope_of_what_it_is():
    """−∂(h f)/∂v, by differences, of a servo, at its limits, and of a motor on its line."""
    for lines in (False, True):
        down, up = (-3.0, 2.0) if lines else (-5.0, 4.0)
        none = (0.0, 0.0) if lines else (-5.0, 4.0)
        c = ForceLimits(0.0, 0.5, -5.0, 4.0, down, up, *none, 0.3 if lines else 0.0, 0.9, 0.0)
        for u in np.linspace(-60.0, 60.0, 41):
            f = [float(cut(c, 0.1, u + e)[0]) for e in (-1e-6, 1e-6)]
            assert abs(-0.1 * (f[1] - f[0]) / 2e-6 - float(cut(c, 0.1, u)[1])) < 1e-6
