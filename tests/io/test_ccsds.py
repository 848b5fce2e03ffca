"""CCSDS messages are read as what they say, or refused by what they say else."""

import datetime

import numpy as np
import pytest

import engine
from engine import space
from engine.io.ccsds import read_aem, read_oem, write_aem, write_oem
from engine.io.centers import pull_of

EPOCH, T = "2026-03-01T00:00:00", np.array([0.0, 10.0, 20.0])
R, V = np.array([[7e6, 0.0, 0.0]] * 3) + T[:, None] * [0.0, 7.5e3, 0.0], np.array([[0.0, 7.5e3, 0.0]] * 3)
Q = np.array([[0.6, 0.8, 0.0, 0.0]] * 3)


@pytest.fixture
def messages(tmp_path):
    return {"oem": write_oem(tmp_path / "a.oem", EPOCH, T, R, V, "CRAFT"), "aem": write_aem(tmp_path / "a.aem", EPOCH, T, Q, "CRAFT")}


@pytest.mark.parametrize(("kind", "old", "new", "what"), [
    ("oem", "REF_FRAME = ICRF", "REF_FRAME = ITRF2014", "says REF_FRAME = ITRF2014; expected ICRF or GCRF or EME2000"),
    ("oem", "CENTER_NAME = EARTH", "CENTER_NAME = MOON", "says CENTER_NAME = MOON; expected EARTH"),
    ("oem", "TIME_SYSTEM = UTC", "TIME_SYSTEM = TDB", "says TIME_SYSTEM = TDB; expected UTC"),
    ("oem", "TIME_SYSTEM = UTC\n", "", "says TIME_SYSTEM = nothing; expected UTC"),
    ("oem", "META_STOP\n", "META_STOP\nMETA_START\nMETA_STOP\n", "holds 2 segments; expected a message of one"),
    ("oem", "00:00:10.0", "00:00:30.0", "whose times do not rise"),
    ("oem", " 7.500000000000", " nan", "rows that are no numbers"),
    ("oem", " 7.500000000000 0.000000000000\n", "\n", "has 4 numbers.*expected a message with START_TIME and rows of 6 numbers"),
    ("aem", "QUATERNION_TYPE = LAST", "QUATERNION_TYPE = FIRST", "says QUATERNION_TYPE = FIRST; expected LAST"),
    ("aem", "ATTITUDE_DIR = A2B", "ATTITUDE_DIR = B2A", "says ATTITUDE_DIR = B2A; expected A2B"),
    ("aem", "ATTITUDE_TYPE = QUATERNION", "ATTITUDE_TYPE = SPIN", "says ATTITUDE_TYPE = SPIN; expected QUATERNION"),
    ("aem", " 0.800000000000000", " 0.300000000000000", "no unit ones"),
])  # fmt: skip
def test_what_means_something_else_is_refused(messages, kind, old, new, what):
    path = messages[kind]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(engine.StateError, match=what):
        (read_oem if kind == "oem" else read_aem)(path)


def test_what_changes_nothing_is_read(messages):
    path = messages["oem"]
    text = path.read_text().replace("REF_FRAME = ICRF", "REF_FRAME = EME2000")
    path.write_text("\ufeff" + text + "COVARIANCE_START\nEPOCH = 2026-03-01T00:00:00\n1.0\n0.0 1.0\nCOVARIANCE_STOP\n")
    epoch, t, r, v = read_oem(path)
    assert epoch == EPOCH and t.tolist() == T.tolist()
    np.testing.assert_allclose(r, R, atol=1e-6)
    np.testing.assert_allclose(v, V, atol=1e-9)


@pytest.mark.parametrize(("write", "what"), [
    (lambda path: write_oem(path, EPOCH, T[::-1], R, V, "CRAFT"), "times that do not rise"),
    (lambda path: write_oem(path, EPOCH, T[:2], R, V, "CRAFT"), "2 times and 3 rows"),
    (lambda path: write_oem(path, EPOCH, T, R, V, "A\nCENTER_NAME = MOON"), "expected a name on one line"),
    (lambda path: write_aem(path, EPOCH, T, 2.0 * Q, "CRAFT"), "no unit ones"),
])  # fmt: skip
def test_what_nobody_could_read_is_not_written(tmp_path, write, what):
    with pytest.raises(engine.StateError, match=what):
        write(tmp_path / "a.oem")
    assert not (tmp_path / "a.oem").exists()


# ---------------------------------------------------------------- about what it flies, and when it was written


def flown(mu, a=4e6, n=11, **more):
    b = engine.Builder("s")
    b.add_link("hub", inertia=engine.spatial.inertia.box(300.0, [1, 1, 1]))
    orbit = space.ReferenceOrbit.from_elements(space.Elements(a=a, e=0.001, i=0.5, node=0.3, perigee=0.5, anomaly=0.0),
                                               space.GravityField(mu=mu, **more))  # fmt: skip
    simulator = engine.Simulator(b.model(floating_base=True), dt=0.5, gravity=(0, 0, 0), frame=orbit)
    return simulator.run([1, 0, 0, 0, 0, 0, 0], [0] * 6, 5.0)[:n]


def test_a_message_names_what_it_flies_about(tmp_path):
    """By how the orbit bends: Mars with its J2, which alone makes μ 0.2 % wrong; what is not known is to be named; no name of another's
    is written."""
    mars = flown(4.282837e13, radius=3.3962e6, zonals={2: 1.96e-3})
    path = mars.save(tmp_path / "m.oem", link="hub", epoch=EPOCH)
    assert "CENTER_NAME = MARS\n" in path.read_text()
    assert "CENTER_NAME = MARS\n" in mars.to_aem(tmp_path / "m.aem", "hub", EPOCH).read_text()
    with pytest.raises(engine.StateError, match="says CENTER_NAME = MARS; expected EARTH"):
        read_oem(path)
    np.testing.assert_allclose(read_oem(path, "MARS")[2], sum(mars.orbit("hub")), atol=1e-8)
    text = r"center is 'EARTH', whose μ is 3.986e\+14 m³/s², and this orbit's is 4.29\d*e\+13; expected MARS"
    with pytest.raises(engine.StateError, match=text):
        mars.to_oem(path, "hub", EPOCH, "earth")
    saturn = flown(3.7931e16, 1e8)
    with pytest.raises(engine.StateError, match=r"something of μ = 3.793\d*e\+16 m³/s².*expected its name as the center"):
        saturn.to_oem(path, "hub", EPOCH)
    assert "CENTER_NAME = SATURN\n" in saturn.save(path, overwrite=True, link="hub", epoch=EPOCH, center="Saturn").read_text()
    with pytest.raises(engine.StateError, match="one state does not show about what it flies"):
        flown(4.282837e13, n=1).to_oem(path, "hub", EPOCH)
    assert "CENTER_NAME = EARTH\n" in flown(space.EARTH_MU, 7e6).to_oem(path, "hub", EPOCH).read_text()


@pytest.mark.parametrize("mu", [3.986004418e14, 4.9e12, 1.327e20])
def test_the_pull_by_two_states_is_that_of_the_field(mu):
    """A second route to μ than the elements': exact, but for rounding of v₂ − v₁, a part in 1e4 of v of at most 2e-14."""
    run = flown(mu, (mu / 1e-6) ** (1 / 3))                                     # rad²/s²: a mrad each second
    assert pull_of(run.signals["frame.origin"], run.signals["frame.velocity"]) == pytest.approx(mu, rel=1e-9)


def test_it_says_when_it_was_written(messages):
    """The day, and not that of its epoch."""
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0, tzinfo=None)
    for path in messages.values():
        said = next(x for x in path.read_text().splitlines() if x.startswith("CREATION_DATE")).partition(" = ")[2]
        assert abs(datetime.datetime.fromisoformat(said) - before) < datetime.timedelta(minutes=5)


def test_axes_of_a_flight_without_an_orbit_are_told_of(tmp_path):
    builder = engine.Builder("craft")
    builder.add_link("hub", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    run = engine.Simulator(builder.model(floating_base=True), dt=0.1, gravity=(0, 0, 0)).run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 1.0)
    with pytest.warns(engine.EngineWarning, match=r"'craft' flew without frame=, and its message says that the world's axes"):
        run.to_aem(tmp_path / "a.aem", "hub", EPOCH)
