"""Elements of orbits: values to many digits, round trips, and orbits that have no perigee or no node."""

import numpy as np
import pytest

import engine
from engine.space import Elements, GravityField, ReferenceOrbit, SimulationError, clohessy_wiltshire, mean_motion
from tests.space.cases import A
from tests.space.numbers import MU, values

DEGREE = np.pi / 180.0
GIVEN = Elements(6878137.0, 0.012, 51.6 * DEGREE, 40 * DEGREE, 75 * DEGREE, 110 * DEGREE)


def test_a_state_of_elements():
    r, v = GIVEN.state(MU)
    expected = values("ELM")
    assert np.abs(r - expected[:3]).max() < 1e-13 * np.linalg.norm(expected[:3])
    assert np.abs(v - expected[3:6]).max() < 1e-13 * np.linalg.norm(expected[3:6])
    assert [GIVEN.eccentric, GIVEN.mean] == pytest.approx(expected[6:], rel=1e-13)


def test_elements_of_a_state_and_back():
    rng = np.random.default_rng(5)
    for _ in range(50):
        own = Elements(rng.uniform(6.5e6, 5e7), rng.uniform(0.01, 0.9), *rng.uniform([0.1, 0, 0, 0], [3.0, 6.2, 6.2, 6.2]))
        found = Elements.of(*own.state(MU), MU)
        for name, x in vars(own).items():
            assert getattr(found, name) == pytest.approx(x, rel=3e-13, abs=3e-13 / own.e), name


@pytest.mark.parametrize("own", [Elements(7e6, 0.0, 0.5, 1.0, 0.0, 2.0), Elements(7e6, 0.1, 0.0, 0.0, 1.0, 2.0), Elements(7e6)])
def test_without_a_perigee_or_a_node_angles_begin_at_what_there_is(own):
    found = Elements.of(*own.state(MU), MU)
    r, v = found.state(MU)
    for a, b in zip((r, v), own.state(MU), strict=True):
        assert np.abs(a - b).max() < 1e-13 * np.linalg.norm(b)
    assert (found.i == pytest.approx(own.i, abs=1e-14)) and found.node == pytest.approx(own.node, abs=1e-14)


def test_an_orbit_from_elements():
    frame = ReferenceOrbit.from_elements(GIVEN, GravityField(MU))
    assert frame.ellipse.position == pytest.approx(GIVEN.state(MU)[0], rel=1e-15)
    assert frame.period == pytest.approx(2 * np.pi * np.sqrt(GIVEN.a**3 / MU), rel=1e-14)


@pytest.mark.parametrize(("what", "text"), [
    (lambda: Elements(-7e6), "semi-major axis is"),
    (lambda: Elements(7e6, 1.0), "eccentricity is"),
    (lambda: Elements(7e6, 0.1, np.inf), "element 'i' is"),
    (lambda: Elements.of((7e6, 0, 0), (0, 2e4, 0), MU), "is no ellipse"),
    (lambda: Elements.of((7e6, 0, 0), (1.0, 0, 0), MU), "is no ellipse"),
])  # fmt: skip
def test_what_are_no_elements_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()


# ---------------------------------------------------------------- what no orbit has


@pytest.mark.parametrize(("call", "said"), [
    (lambda: clohessy_wiltshire(1e-3, 100.0, np.zeros(3), 1.0), r"clohessy_wiltshire: x has shape \(\); expected \(3,\)"),
    (lambda: clohessy_wiltshire(1e-3, np.zeros(3), np.zeros((2, 3)), 1.0), r"v has shape \(2, 3\); expected \(3,\)"),
    (lambda: mean_motion(-MU, A), "mu is -.*; expected m³/s² above 0"), (lambda: mean_motion(MU, 0.0), "a is 0.0; expected m above 0"),
])  # fmt: skip
def test_what_no_formula_of_an_orbit_takes_is_refused(call, said):
    with pytest.raises(engine.SimulationError, match=said):
        call()


@pytest.mark.parametrize(("call", "said"), [
    (lambda: mean_motion(A, MU), "lasts .* s, longer than the universe; expected μ in m³/s², and a in m"),
    (lambda: mean_motion(MU, 1e-3 * A), "lies within whatever pulls so, were it of osmium; expected μ in m³/s², and a in m"),
    (lambda: Elements(7000.0).state(MU), "an orbit of a = 7000 m about μ = 3.986e[+]14 m³/s² lies within"),
])  # fmt: skip
def test_an_orbit_that_is_hardly_one_in_metres_is_told(call, said):
    with pytest.warns(engine.SimulationWarning, match=said):
        call()


def test_orbits_of_asteroids_and_of_planets_are_not_told_of():
    for mu, a in ((4.9, 400.0), (1.327e20, 4.5e12), (2.2e-9, 0.15)):           # Bennu's, Neptune's, one about a ball of steel
        assert Elements(a).state(mu) and mean_motion(mu, a)
