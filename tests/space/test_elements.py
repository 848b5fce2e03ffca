"""Elements of orbits: values to many digits, round trips, and orbits that have no perigee or no node."""

import numpy as np
import pytest

from engine.space import Elements, GravityField, ReferenceOrbit, SimulationError
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
