"""Time and the Earth's axes against pyerfa, ephemerides, axes of orbits, and files that are read back."""

import pickle

import numpy as np
import pytest

import engine
from engine import gufunc, ops
from engine.checks import EngineWarning
from engine.space import (
    EARTH_J2,
    EARTH_RATE,
    Ephemeris,
    GravityField,
    ReferenceOrbit,
    SimulationError,
    lvlh,
    read_aem,
    read_oem,
    rtn,
    turning,
    write_oem,
)
from engine.spatial import quaternion
from tests.numeric import derivative
from tests.space.numbers import MU, values

TEXT = "2026-11-24T12:00:00"


@pytest.fixture
def space():
    """The parts that stand on pyerfa."""
    pytest.importorskip("erfa")
    return engine.space


def test_the_earth_s_angles(space):
    epoch = space.Epoch(TEXT)
    era, gmst, gast, difference = values("TIM")
    assert [epoch.era, epoch.gmst, epoch.gast] == pytest.approx([era, gmst, gast], abs=1e-12)
    assert epoch.tt_minus_utc == pytest.approx(difference, abs=4e-11)


def test_the_earth_s_axes(space):
    """IAU 2006/2000A, to a micrometre; traced as plain; and the angle turns on at the Earth's rate."""
    epoch = space.Epoch(TEXT)
    expected = values("ECF")
    assert np.abs(epoch.to_earth([7e6, 0.0, 0.0]) - expected).max() < 1e-6
    compiled = gufunc(lambda t: epoch.rotation(t), "()->(3,3)")
    for t in (0.0, 1234.5, 5e4):
        assert np.abs(compiled(t) - epoch.rotation(t)).max() < 1e-15 * 4
        assert np.abs(epoch.rotation(t) @ epoch.rotation(t).T - np.eye(3)).max() < 1e-15 * 4
    assert (epoch.rotation(100.0) @ epoch.rotation(0.0).T)[0, 1] == pytest.approx(np.sin(100.0 * EARTH_RATE), abs=1e-15 * 4)


def test_a_day_later_the_frozen_pole_is_off_by_what_it_says(space):
    a, b = space.Epoch("2026-11-24T00:00:00"), space.Epoch("2026-11-25T00:00:00")
    assert np.abs(a.rotation(86400.0) - b.rotation(0.0)).max() < 2e-6


def test_scales(space):
    utc, tai, tt = space.Epoch(TEXT), space.Epoch("2026-11-24T12:00:37", "tai"), space.Epoch("2026-11-24T12:01:09.184", "tt")
    assert utc.era == pytest.approx(tai.era, abs=1e-13)
    assert utc.era == pytest.approx(tt.era, abs=1e-13)
    ahead = space.Epoch(TEXT, dut1=0.5)
    assert ahead.era - utc.era == pytest.approx(0.5 * EARTH_RATE, abs=1e-13)
    assert space.Epoch("2026-11-24T12:00:00.5", "ut1", dut1=0.5).era == pytest.approx(ahead.era, abs=1e-13)
    assert pickle.loads(pickle.dumps(ahead)).era == ahead.era


def test_a_leap_second_is_read_where_there_was_one(space):
    last, after = space.Epoch("2016-12-31T23:59:60"), space.Epoch("2017-01-01T00:00:00")
    assert ((after.tt[0] - last.tt[0]) + (after.tt[1] - last.tt[1])) * 86400.0 == pytest.approx(1.0, abs=1e-10)
    with pytest.raises(SimulationError, match="where no leap second was"):
        space.Epoch("2026-11-24T23:59:60")


@pytest.mark.parametrize(("arguments", "text"), [
    (("yesterday",), "expected a time such as"), (("2026-13-01",), "no time"), ((7,), "an epoch is 7"), ((TEXT, "gps"), "scale"),
    ((TEXT, "utc", 2.0), "dut1 is 2.0"), ((TEXT, "utc", 0.0, (1.0,)), "polar is"),
])  # fmt: skip
def test_what_is_no_epoch_is_refused(space, arguments, text):
    with pytest.raises(SimulationError, match=text):
        space.Epoch(*arguments)


def test_far_off_leap_seconds_are_not_known(space):
    with pytest.warns(EngineWarning, match="leap seconds are not known"):
        space.Epoch("2060-01-01")


def test_sun_and_moon(space):
    """Their tables against ERFA itself, at times between the nodes, and at the epoch by the numbers."""
    import erfa

    epoch = space.Epoch(TEXT)
    expected = values("EPH")
    bodies = {"sun": space.sun(epoch, 8 * 86400.0), "moon": space.moon(epoch, 8 * 86400.0)}
    assert np.abs(bodies["sun"](0.0) - expected[:3]).max() < 500.0               # as many digits as are written
    assert np.abs(bodies["moon"](0.0) - expected[3:]).max() < 5.0
    for t in np.linspace(0.0, 8 * 86400.0, 17):
        a, b = epoch.tt[0], epoch.tt[1] + t / 86400.0
        assert np.abs(bodies["sun"](t) + 149597870700.0 * erfa.epv00(a, b)[0]["p"]).max() < 0.01
        assert np.abs(bodies["moon"](t) - 149597870700.0 * erfa.moon98(a, b)["p"]).max() < 0.01


def test_a_table_of_polynomials_compiles_and_ends():
    place = lambda t: 1e8 * np.array([np.cos(3e-6 * t), np.sin(2e-6 * t), 1e-6 * t])
    table = Ephemeris(place, 1e6)
    compiled = gufunc(lambda t: (table(t), table.velocity(t)), "()->(3),(3)")
    for t in (0.0, 3e5, 9.9e5):
        x, v = compiled(t)
        assert np.abs(x - place(t)).max() < 1e-6
        assert np.abs(x - table(t)).max() < 1e-7
        assert np.abs(v - derivative(lambda h, t=t: place(t + 1e4 * h)) / 1e4).max() < 1e-6
    with pytest.raises(SimulationError, match="an ephemeris is asked for"):
        table(2e6)
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert np.isnan(compiled(2e6)[0]).all()
    with pytest.raises(SimulationError, match="expected a place, three numbers"):
        Ephemeris(lambda t: 1.0, 10.0)


# ---------------------------------------------------------------- axes of an orbit


def test_axes_of_an_orbit_and_how_they_turn():
    """By differences of a flight under J2, whose force across the plane turns the axes about R too."""
    field = GravityField(zonals={2: EARTH_J2})
    r, v = np.array([5e6, -3e6, 3.7e6]), np.array([3000.0, 6500.0, 1200.0])
    a = field.acceleration(r)
    jerk = derivative(lambda s: field.acceleration(r + 8.0 * s * v)) / 8.0
    at = lambda s: (r + s * v + s * s / 2 * a + s**3 / 6 * jerk, v + s * a + s * s / 2 * jerk)
    A = lvlh(r, v)
    assert np.abs(A.T @ A - np.eye(3)).max() < 1e-15 * 4
    assert np.linalg.det(A) == pytest.approx(1.0)
    assert (A[:, 2] == -rtn(r, v)[:, 0]).all()
    assert (A[:, 1] @ np.cross(r, v) < 0.0) and A[:, 0] @ v > 0.0
    W = derivative(lambda s: lvlh(*at(8.0 * s))) / 8.0 @ A.T
    w = np.array([W[2, 1], W[0, 2], W[1, 0]])
    assert np.abs(turning(r, v, a) - w).max() < 1e-14
    assert abs(w @ r / np.linalg.norm(r)) > 1e-7                                # what is left out where ω = h/r² alone
    compiled = gufunc(lambda r, v, a: (lvlh(r, v), turning(r, v, a)), "(3),(3),(3)->(3,3),(3)")(r, v, a)
    assert np.abs(compiled[0] - A).max() < 1e-15 * 4


# ---------------------------------------------------------------- files


def flight():
    """A flight of a body that turns, 100 m from an orbit."""
    builder = engine.Builder("sat")
    builder.add_link("sat", inertia=engine.spatial.inertia.box(100.0, [1.0, 2.0, 3.0]))
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField(MU, zonals={2: EARTH_J2}))
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.5, gravity=(0, 0, 0), frame=frame)
    return simulator.run([1, 0, 0, 0, 30, 100, -20], [0.1, -0.2, 0.3, 1.0, 0.5, 0.2], 100.0, record_every=20)


def test_files_of_orbits_are_read_back(tmp_path):
    run = flight()
    epoch, t, r, v = read_oem(run.to_oem(tmp_path / "a.oem", "sat", TEXT))
    r_O, rho = run.orbit("sat")
    assert (epoch, t.tolist()) == (TEXT, run.t.tolist())
    assert np.abs(r - r_O - rho).max() < 1e-9 * 1.5
    assert np.abs(v - np.gradient(r, run.t, axis=0, edge_order=2))[1:-1].max() < 0.2        # its velocity is the place's
    whole = np.einsum("tij,tj->ti", quaternion.to_matrix(run.q[:, :4]), run.v[:, 3:])
    assert np.abs(v - run("frame.velocity") - whole).max() < 2e-9
    text = (tmp_path / "a.oem").read_text()
    assert text.startswith("CCSDS_OEM_VERS = 2.0")
    assert "START_TIME = 2026-11-24T12:00:00.000000000" in text
    assert len(text.splitlines()[-1].split()[1].partition(".")[2]) == 12


def test_files_of_attitudes_are_read_back(tmp_path):
    """The scalar last, and the numbers those of the rotation that turns the world's axes onto the body's."""
    run = flight()
    epoch, t, q = read_aem(run.to_aem(tmp_path / "a.aem", "sat", TEXT))
    assert np.abs(np.abs(np.sum(q * run.q[:, :4], axis=-1)) - 1.0).max() < 1e-14
    line = next(x for x in (tmp_path / "a.aem").read_text().splitlines() if x.startswith("2026"))
    assert abs(float(line.split()[-1])) == pytest.approx(1.0)                   # at first it has not turned
    assert (epoch, t[-1]) == (TEXT, 100.0)


def test_what_is_no_message_is_refused(tmp_path):
    (tmp_path / "x").write_text("CCSDS_OEM_VERS = 2.0\nSTART_TIME = now\n2026 a b\n")
    for what, text in ((lambda: read_aem(tmp_path / "x"), "expected CCSDS_AEM_VERS"),
                       (lambda: read_oem(tmp_path / "x"), "says CENTER_NAME = nothing"),
                       (lambda: read_oem(tmp_path / "none"), "cannot be read"),
                       (lambda: flight().to_oem(tmp_path / "y", "sat", "noon"), "epoch is 'noon'"),
                       (lambda: write_oem(tmp_path / "y", TEXT, np.zeros(1), np.full((1, 3), np.nan), np.zeros((1, 3)), "a"), "NaN"),
                       (lambda: write_oem(tmp_path / "y", TEXT, np.zeros(1), np.zeros((2, 1, 3)), np.zeros((2, 1, 3)), "a"), "one flight"),
                       ):  # fmt: skip
        with pytest.raises(engine.StateError, match=text):
            what()


def test_third_bodies_of_tables_fly():
    """A moon that a table moves pulls in a run as its formula does."""
    place = lambda t: 3.8e8 * np.array([np.cos(2.6e-6 * t), np.sin(2.6e-6 * t), 0.0])
    traced = lambda t: 3.8e8 * ops.array([ops.cos(2.6e-6 * t), ops.sin(2.6e-6 * t), 0.0])
    builder = engine.Builder("sat")
    builder.add_link("sat", inertia=engine.spatial.inertia.box(100.0, [1.0, 2.0, 3.0]))
    found = []
    for where in (Ephemeris(place, 4000.0), traced):
        field = GravityField(MU, third_bodies=[engine.space.ThirdBody(4.9028e12, where)])
        frame = ReferenceOrbit((4.2e7, 0, 0), (0, 3000.0, 500.0), field)
        simulator = engine.Simulator(builder.model(floating_base=True), dt=20.0, gravity=(0, 0, 0), frame=frame)
        found.append(simulator.run([1, 0, 0, 0, 1000, 0, 0], np.zeros(6), 4000.0, record_every=200))
    assert np.abs(found[0].q - found[1].q).max() < 1e-9
    assert np.abs(found[0]("frame.state")[-1]).max() > 10.0
    assert np.abs(found[0]("frame.state") - found[1]("frame.state")).max() < 1e-7
