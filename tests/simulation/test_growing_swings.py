"""Swings that explicit steps make grow are told before a run: against eigenvalues of the step, and the run itself."""

import warnings

import numpy as np
import pytest

import engine
from engine.components.forces import JointSpring
from engine.integrate import method_named
from engine.simulation.growing_swings import GROWS, growth
from engine.spatial import inertia


def sprung(damping=0.0):
    builder = engine.Builder("o")
    builder.add_link("base")
    builder.add_link("m", inertia=inertia.sphere(1.0, 0.1))
    builder.add_joint("x", "prismatic", "base", "m", axis=[1, 0, 0])
    return builder.model(), [JointSpring("x", 100.0, damping=damping) if damping else JointSpring("x", 100.0)]


@pytest.mark.parametrize(("dt", "doubles"), [(0.04, "4.7e+02"), (0.05, "1.6e+02"), (0.09, "9.2")])
def test_a_swing_that_grows_is_told_and_does(dt, doubles):
    """By the time that is said, twice as wide, to a tenth: it grows by the matrix of a step."""
    model, springs = sprung()
    with pytest.warns(engine.SimulationWarning, match=rf"'o' swings at 10 rad/s at 'x', and steps of {dt} s by 'cg4' make that grow, to "
                      rf"twice as much in {doubles.replace('+', '.')} s; expected a dt of 0.03 s or less"):
        simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), forces=springs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = simulator.run([0.01], [0.0], float(doubles))
    E = sum(run.energy())
    assert E[-1] / E[0] == pytest.approx(4.0, rel=0.1)


def test_growth_is_the_spectral_radius_of_a_linear_step():
    model, springs = sprung()
    for name in ("cg4", "rkmk4", "cf4", "rk4", "rkmk5"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulator = engine.Simulator(model, dt=0.07, integrator=name, gravity=(0, 0, 0), forces=springs)
            A, _ = simulator.linearize([0.0], [0.0])
        assert growth(method_named(name), 0.07, 10j) == pytest.approx(np.abs(np.linalg.eigvals(A)).max() - 1.0, abs=1e-13)


def test_nothing_is_said_of_what_does_not_grow():
    """Slower swings, methods that lose a little, and damping that takes more than the method gives."""
    for (model, springs), options in ((sprung(), {"dt": 0.03}), (sprung(), {"dt": 0.05, "integrator": "rkmk4"}),
                                      (sprung(0.2), {"dt": 0.05})):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            engine.Simulator(model, gravity=(0, 0, 0), forces=springs, **options)
    assert growth(method_named("cg4"), 0.03, 10j) < GROWS < growth(method_named("cg4"), 0.04, 10j)


def test_a_law_that_is_steep_in_one_posture_alone_is_not_told():
    """A law whose gain is 120 N·m/rad at q = 0, as where a straight arm is singular, and 0.4 beyond a tenth of a radian."""
    builder = engine.Builder("o")
    builder.add_link("base")
    builder.add_link("m", inertia=inertia.sphere(1.0, 1.0))
    builder.add_joint("x", "revolute", "base", "m", axis=[1, 0, 0], limits=engine.Limits(-2.0, 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = engine.Simulator(builder.model(), dt=0.05, integrator="cg4", gravity=(0, 0, 0),
                                controller=lambda t, q, v: (1.0 + 3e2 / (1.0 + (30.0 * q) ** 4)) * 0.4 * (0.0 - q))  # fmt: skip
    assert np.isfinite(made.run([1.5], [0.0], 1.0).q).all()
