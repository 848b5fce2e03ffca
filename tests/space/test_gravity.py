"""Fields of gravity: values to many digits, gradients of their potentials, and plain = interpreted = compiled."""

import numpy as np
import pytest

from engine import gufunc, ops
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import trace
from engine.space import GravityField, Harmonics, SimulationError, ThirdBody
from tests.numeric import derivative
from tests.space.numbers import MU, PLACE, RADIUS, ZONALS, values

TABLE = Harmonics({(2, 0): -1.08262668e-3, (2, 2): 1.57446037e-6, (3, 1): 2.19263853e-6, (4, 3): 5.9e-8},
                  {(2, 2): -9.03803807e-7, (3, 1): 2.68424890e-7, (4, 3): -1.2e-8}, normalised=False)  # fmt: skip


def turning(t):
    """A planet's axes that turn about z."""
    c, s = ops.cos(1e-4 * t), ops.sin(1e-4 * t)
    return ops.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


FIELDS = {
    "zonals": GravityField(MU, RADIUS, ZONALS),
    "leaning": GravityField(MU, RADIUS, ZONALS, pole=(0.3, -0.5, 0.8)),
    "table": GravityField(MU, RADIUS, harmonics=TABLE),
    "moon": GravityField(MU, RADIUS, third_bodies=[ThirdBody(4.9e12, lambda t: np.array([1.8e8, 2.7e8, 1.5e8]))]),
}


def near(actual, expected, bar):
    """Assert that vectors are the same within a bar, relative to the largest entry."""
    assert np.abs(np.asarray(actual) - expected).max() < bar * np.abs(expected).max()


def test_the_point_mass():
    near(GravityField(MU, RADIUS).acceleration(PLACE), values("G0"), 1e-15)


@pytest.mark.parametrize(("n", "bar"), [(2, 1e-13), (3, 1e-12), (4, 1e-12), (5, 1e-12), (6, 1e-12)])
def test_zonals_by_themselves(n, bar):
    near(GravityField(MU, RADIUS, {n: ZONALS[n]}).perturbation(PLACE), values(f"G{n}"), bar)


def test_the_potential():
    near(FIELDS["zonals"].potential(PLACE), values("GU")[0], 1e-14)


def test_a_table_of_harmonics():
    near(FIELDS["table"].perturbation(PLACE), values("GH"), 1e-12)


def test_normalised_tables_are_those_of_files():
    """EGM's fully normalised C̄20 is −4.8417e-4, and J2 = −√5 C̄20."""
    own = Harmonics({(2, 0): -4.84165143790815e-4, (2, 2): 2.43938357328313e-6}).terms
    assert own[2, 0][0] == pytest.approx(-1.0826261738522e-3, rel=1e-12)
    assert own[2, 2][0] == pytest.approx(2.43938357328313e-6 * np.sqrt(5.0 / 12.0), rel=1e-12)      # √(2 · 5 · 0!/4!)


@pytest.mark.parametrize(("key", "mu", "far"), [("G3B", 1.32712440018e20, 149597870700.0), ("G3C", 4.9028e12, 384400000.0)])
def test_third_bodies(key, mu, far):
    body = ThirdBody(mu, lambda t: np.array([far, 0.0, 0.0]))
    near(body.acceleration(np.array([42164000.0, 0.0, 0.0]), 0.0), [*values(key), 0.0, 0.0], 1e-12)


@pytest.mark.parametrize("name", FIELDS)
def test_the_acceleration_is_the_gradient_of_the_potential(name):
    """By differences of order 8, whose rounding is U's last bit over their step: 1e-8 / 1e5 m of 9 m/s²; in km, of which steps are 16."""
    field = FIELDS[name]
    for e in np.eye(3):
        slope = derivative(lambda x, e=e: field.potential(PLACE + 1e6 * x * e)) / 1e6
        assert slope == pytest.approx(field.acceleration(PLACE) @ e, abs=1e-11)


def test_the_tensor_is_the_gradient_of_the_zonals():
    field = FIELDS["leaning"]
    slopes = [derivative(lambda x, e=e: field.perturbation(PLACE + 1e6 * x * e)) / 1e6 for e in np.eye(3)]
    near(field.tensor(PLACE), np.array(slopes), 1e-11)
    assert abs(np.trace(field.tensor(PLACE))) < 1e-15 * np.abs(field.tensor(PLACE)).max() * 4               # ∇·∇U = 0


def test_differences_keep_their_digits():
    """Of a millimetre, to 12 digits: what a subtraction of 8 m/s² would leave one of."""
    rho = np.array([1e-3, -2e-3, 5e-4])
    point = -MU / np.linalg.norm(PLACE) ** 3 * (rho - 3.0 * PLACE * (PLACE @ rho) / (PLACE @ PLACE))
    near(GravityField(MU).difference(PLACE, rho), point, 1e-9)                                              # ρ/r is 3e-10


@pytest.mark.parametrize("name", [*FIELDS, "turning"])
def test_plain_is_interpreted_is_compiled(name):
    moving = Harmonics(TABLE.cosines, TABLE.sines, False, turning)
    field = GravityField(MU, harmonics=moving) if name == "turning" else FIELDS[name]

    def both(r, t):
        return field.acceleration(r, t), field.potential(r, t)

    plain = both(PLACE, 400.0)
    if name == "turning":
        Q = turning(400.0)
        near(plain[0] - GravityField(MU).acceleration(PLACE), Q.T @ TABLE.acceleration(MU, RADIUS, Q @ PLACE, 0.0), 1e-9)
    for found in (interpret(trace(both, [(3,), ()]), PLACE, 400.0), gufunc(both, "(3),()->(3),()")(PLACE, 400.0)):
        for a, b in zip(found, plain, strict=True):
            near(a, b, 4e-15)


@pytest.mark.parametrize(("what", "text"), [
    (lambda: GravityField(-1.0), "mu is -1.0"),
    (lambda: GravityField(radius=0.0), "radius is 0.0"),
    (lambda: GravityField(zonals={1: 1e-3}), "of degree 1"),
    (lambda: GravityField(zonals={2: np.nan}), "J2 is nan"),
    (lambda: GravityField(zonals={2: 1e-3}, harmonics=TABLE), "J2 is among the zonals and in the table"),
    (lambda: GravityField(harmonics={(2, 0): 1.0}), "expected an engine.space.Harmonics"),
    (lambda: GravityField(third_bodies=[4.9e12]), "a third body is 4"),
    (lambda: GravityField(pole=(0, 0, 0)), "pole is"),
    (lambda: ThirdBody(0.0, lambda t: t), "mu is 0.0"),
    (lambda: ThirdBody(1.0, 3.0), "ephemeris is 3.0"),
    (lambda: Harmonics({(2, 3): 1.0}), r"degree and order \(2, 3\)"),
])  # fmt: skip
def test_what_is_no_field_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()
