"""Orbits as the world's origin: against 40 digits, published verifications, formulas of mechanics, and the laws that hold in any field."""

import dataclasses
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.space import (
    EARTH_J2,
    Elements,
    Ellipse,
    Ephemeris,
    GravityField,
    ReferenceOrbit,
    SimulationError,
    ThirdBody,
    clohessy_wiltshire,
    mean_motion,
)
from engine.spatial import inertia, quaternion
from tests.numeric import derivative
from tests.space import cases
from tests.space.cases import NODE, SPEED, A, arms, body, flown
from tests.space.numbers import MU, values

J2 = GravityField(zonals={2: EARTH_J2})


# ---------------------------------------------------------------- the ellipse


@pytest.mark.parametrize("e", [0.0, 0.01, 0.5, 0.9])
def test_an_ellipse_is_kepler_s(e):
    """r² and v² say one energy, the momentum stays, and after three turns it is back: for any place that it begins at."""
    rng = np.random.default_rng(int(100 * e))
    for start in rng.uniform(0.0, 6.28, 4):
        E = start
        r = np.array([np.cos(E) - e, np.sqrt(1 - e * e) * np.sin(E), 0.0])
        v = np.array([-np.sin(E), np.sqrt(1 - e * e) * np.cos(E), 0.0]) / (1 - e * np.cos(E))
        ellipse = Ellipse(1.0, r, v)
        h, energy = np.cross(r, v), v @ v / 2 - 1 / np.linalg.norm(r)
        for t in rng.uniform(-30.0, 30.0, 5):
            x, u = ellipse(t)
            assert np.cross(x, u) == pytest.approx(h, abs=1e-14 / (1 - e))
            assert u @ u / 2 - 1 / np.linalg.norm(x) == pytest.approx(energy, abs=2e-15 / (1 - e) ** 2)
        x, u = ellipse(3.0 * ellipse.period)
        assert np.abs(x - r).max() < 1e-14 / (1 - e) ** 1.5 * 3


def test_an_ellipse_s_mean_motion_has_the_digits_of_two_numbers():
    """A circle of ten thousand turns: n t mod 2π, by integers of 200 bits."""
    ellipse = Ellipse(MU, (A, 0.0, 0.0), (0.0, SPEED, 0.0))
    n = sum(map(Fraction, ellipse.halves))
    t = 5553.625 * 10000
    turn = Fraction(314159265358979323846264338327950288419716939937510, 10**50) * 2
    E, more, *_ = ellipse.anomaly(t)
    left = float(n * Fraction(t) - turn * int(n * Fraction(t) / turn))
    assert abs(ellipse.c) + abs(ellipse.s) < 1e-12
    turned = float(Fraction(float(E)) - turn * int(Fraction(float(E)) / turn)) + more
    assert turned == pytest.approx(left, abs=1e-12)


def test_mean_motion_and_period():
    assert mean_motion(MU, A) == pytest.approx(values("CW"), rel=1e-14)


# ---------------------------------------------------------------- against 40 digits


@pytest.mark.parametrize(("integrator", "absolute", "relative"), [("cg4", 9e-9, 1e-9), ("rkmk4", 1e-9, 1e-10)])
def test_an_orbit_against_40_digits(integrator, absolute, relative):
    place, apart, warnings = cases.two_bodies(integrator, 0.5)
    assert place < absolute
    assert apart < relative
    assert not warnings


def test_the_tip_of_an_arm_that_moves_has_its_digits():
    """From the hub, both arms moving, by long doubles, extrapolated (tests.space.long_double): after 300 s, and after an orbit, in which an
    error becomes ten thousand times as large."""
    assert np.abs(cases.tip(0.03125, 300.0)[0] - cases.TIP).max() < 1e-12
    end, warnings = cases.tip(0.03125, 5554.0)
    assert np.linalg.norm(end - cases.TIP_ORBIT) < 1e-8
    assert not warnings


def test_the_order_is_four():
    """Of what is relative: where bodies that turn are, in a quarter of an orbit."""
    model = body("a", center=(0.3, -0.2, 0.5))
    found = []
    for dt in (16.0, 8.0, 4.0, 1.0):
        q, v = [1, 0, 0, 0, 30, -1000, 400], [2e-3, -2.5e-3, 1.8e-3, 0.5, -0.2, 1.1]
        flight = flown(model, ReferenceOrbit((A, 0.0, 0.0), NODE, J2), q, v, 1376.0, dt)
        found.append(flight.q[-1])
    errors = [np.abs(x - found[-1])[:4].max() for x in found[:-1]]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


# ---------------------------------------------------------------- published verifications


@pytest.mark.parametrize("name", cases.JEOD)
def test_eight_hours_of_jeod(name):
    place, rates, attitude = cases.jeod(name)
    assert place < 2e-5
    assert rates < 1e-14
    assert attitude < 4e-12


def test_ten_seconds_of_basilisk():
    place, rates = cases.basilisk()
    assert place < 2e-8
    assert rates < 1e-9


def test_the_brick_of_nesc():
    assert cases.nesc() < 3e-10                                                 # the nearest of five tools is as far


# ---------------------------------------------------------------- formulas


def test_the_node_recedes():
    """Under J2: the mean formula to half a per cent, as the osculating axis is not the mean one."""
    frame = ReferenceOrbit((A, 0.0, 0.0), NODE, J2)
    duration = 15 * mean_motion(MU, A)[1]
    flight = flown(body("a"), frame, [1, 0, 0, 0, 0, 0, 0], np.zeros(6), duration, 8.0, every=50)
    h = np.cross(flight("frame.origin"), flight("frame.velocity"))
    node = np.degrees(np.unwrap(np.arctan2(h[:, 0], -h[:, 1])))
    rate = np.polyfit(flight.t, node, 1)[0] * 86400.0
    assert rate == pytest.approx(values("J2D")[0], rel=5e-3)
    assert rate == pytest.approx(-5.0256, rel=1e-3)


def test_energy_and_momentum_about_the_planet_are_kept():
    """Of an orbit under J2 with bodies that turn and arms that swing by themselves: energy, and the momentum along the axis."""
    model = arms()
    q, v = model.neutral(), np.zeros(model.nv)
    q[4:7], v[:3], v[3:6] = [20.0, -50.0, 10.0], [0.01, -0.02, 0.015], [0.1, 0.2, -0.1]
    flight = flown(model, ReferenceOrbit((A, 0.0, 0.0), NODE, J2), q, v, 5554.0, 1.0, every=100, joint_dynamics=None, integrator="rkmk4")
    energy = sum(flight.energy())
    assert np.ptp(energy) < 1e-12 * abs(energy[0])
    P, r_O, v_O, T = flight.momentum(), flight("frame.origin"), flight("frame.velocity"), flight.poses()
    m = np.array([link.mass for link in model.links])
    c = np.array([inertia.center(link.inertia) if link.mass else np.zeros(3) for link in model.links])
    mc = np.einsum("k,tkij,kj->ti", m, T[..., :3, :3], c) + np.einsum("k,tki->ti", m, T[..., :3, 3])
    h = P[:, :3] + np.cross(r_O, m.sum() * v_O + P[:, 3:]) + np.cross(mc, v_O)
    assert np.ptp(h[:, 2]) < 1e-12 * np.linalg.norm(h[0])


def test_libration_of_small_angles():
    """Along the local vertical, by a small turn in the orbit's plane: √3 n √((I_x − I_z)/I_y)."""
    w, _ = values("GG")
    n, _ = mean_motion(MU, A)
    model, frame = body("a", 500.0, (6000.0, 6500.0, 1000.0)), ReferenceOrbit((A, 0.0, 0.0), (0.0, SPEED, 0.0), GravityField())

    def pitch(flight):
        r = flight("frame.origin")
        up = np.einsum("tji,tj->ti", quaternion.to_matrix(flight.q[:, :4]), r)
        return np.arctan2(up[:, 0], -up[:, 2]), flight.t

    R = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])                      # body z down, y against the orbit's momentum
    for angle, expected in ((1e-4, 2.0 * np.pi / w), (np.radians(20.0), values("GG")[1])):
        tilted = R @ engine.spatial.so3.exp(np.array([0.0, angle, 0.0]))
        rate = R.T @ np.array([0.0, 0.0, n])
        flight = flown(model, frame, [*quaternion.from_matrix(tilted), 0, 0, 0], [*(tilted.T @ (R @ rate)), 0, 0, 0], 2.2 * expected, 4.0,
                       every=1)  # fmt: skip
        x, t = pitch(flight)
        k = np.flatnonzero(x[:-1] * x[1:] < 0)
        zeros = [crossing(x[i - 3 : i + 5], t[i - 3 : i + 5]) for i in k[:3]]
        assert zeros[2] - zeros[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("conserve", [True, False])
def test_a_slender_rod_that_tumbles_does_not_begin_to_spin(conserve):
    """The gradient has no moment about the axis of what is symmetric, so its spin stays zero; and Euler's equations by another method."""
    I, orbit = np.diag([1000.0, 1000.0, 1.0]), ReferenceOrbit((A, 0.0, 0.0), (0.0, SPEED, 0.0), GravityField())
    q0, v0 = np.array([*quaternion.exp(np.array([0.3, 0.2, 0.1])), 0, 0, 0]), np.array([0.02, 0, 0, 0, 0, 0])
    model = body("rod", 100.0, np.diag(I))
    run = engine.Simulator(model, dt=5.0, gravity=(0, 0, 0), frame=orbit, conserve_momentum=conserve).run(q0, v0, 500.0)
    n, _ = mean_motion(MU, A)

    def euler(t, x):
        r = quaternion.to_matrix(x[:4] / np.linalg.norm(x[:4])).T @ (np.cos(n * t), np.sin(n * t), 0.0)
        m = 3.0 * n * n * np.cross(r, I @ r) - np.cross(x[4:], I @ x[4:])
        return np.concatenate([0.5 * quaternion.product(x[:4], [0.0, *x[4:]]), np.linalg.solve(I, m)])

    known = solve_ivp(euler, (0.0, 500.0), np.concatenate([q0[:4], v0[:3]]), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    assert np.abs(run.v[:, 2]).max() < 1e-8                                    # (h|ω|)⁴ of the moment, of a step, beside 1 kg m²
    assert np.abs(np.abs(run.q[-1, :4] @ known[:4]) - 1.0) < 1e-9 and np.abs(run.v[-1, :3] - known[4:]).max() < 1e-7


def crossing(x, t):
    """Where x(t) is zero, by a polynomial for t(x)."""
    return np.polyfit(x / np.abs(x).max(), t - t[0], 5)[-1] + t[0]


def test_roll_and_yaw():
    """Two frequencies of small turns out of the orbit's plane: the step's matrix of 20 s has their eigenvalues."""
    n, _ = mean_motion(MU, A)
    model, frame = body("a", 500.0, (6000.0, 6500.0, 1000.0)), ReferenceOrbit((A, 0.0, 0.0), (0.0, SPEED, 0.0), GravityField())
    R = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    w, d, T = R.T @ np.array([0.0, 0.0, n]), 1e-6, 400.0
    starts = [np.zeros(6), *(d * np.eye(6)[:3]), *(1e-3 * d * np.eye(6)[3:])]
    q = [[*quaternion.from_matrix(R @ engine.spatial.so3.exp(s[:3])), 0, 0, 0] for s in starts]
    v = [[*(engine.spatial.so3.exp(s[:3]).T @ w + s[3:]), 0, 0, 0] for s in starts]
    flight = flown(model, frame, np.array(q), np.array(v), T, 2.0)
    turn = engine.spatial.so3.exp(np.array([0.0, 0.0, n * T])) @ R

    def small(k):
        B = quaternion.to_matrix(flight.q[k, -1, :4])
        e = engine.spatial.so3.log(turn.T @ B)
        return np.concatenate([e, flight.v[k, -1, :3] - B.T @ turn @ w])

    sizes = np.array([d] * 3 + [1e-3 * d] * 3)
    M = np.array([(small(k + 1) - small(0)) / sizes[k] for k in range(6)]).T
    found = np.abs(np.angle(np.linalg.eigvals(M))) / T
    for expected in values("GG2"):
        assert np.abs(found - expected).min() < 1e-7 * expected


def test_clohessy_and_wiltshire_are_the_first_order():
    """What flies by itself leaves their motion by what falls as the square of its distance."""
    n, T = mean_motion(MU, A)
    gaps = []
    for size in (100.0, 10.0):
        x, u = size * np.array([0.3, -1.0, 0.5]), size * n * np.array([0.2, -0.5, 0.7])
        frame = ReferenceOrbit((A, 0.0, 0.0), (0.0, SPEED, 0.0), GravityField())
        flight = flown(body("a"), frame, [1, 0, 0, 0, *x], [0, 0, 0, *(u + np.cross([0, 0, n], x))], 0.3 * T, 2.0)
        _, rho = flight.orbit("a")
        turn = engine.spatial.so3.exp(np.array([0.0, 0.0, n * flight.t[-1]]))
        gaps.append(np.linalg.norm(turn.T @ rho[-1] - clohessy_wiltshire(n, x, u, flight.t[-1])[0]))
    assert gaps[0] / gaps[1] == pytest.approx(100.0, rel=0.02)


@pytest.mark.parametrize("field", [GravityField(), GravityField(zonals={2: 0.05, 3: -0.02}, pole=(0.3, -0.5, 0.8))])
def test_the_moment_is_the_energy_s_slope(field):
    """Of a body of a gram that is a kilometre long, under a J2 fifty times the Earth's: by turns of it, about its origin off its centre."""
    frame, place = ReferenceOrbit((A, 0.0, 0.0), NODE, field), np.array([4e6, -3e6, 4.6e6])
    G = inertia.from_mass(1e-3, np.zeros(3), 1e9 * np.diag([1.0, 1.7, 2.2]))
    T = engine.spatial.se3.pose(engine.spatial.so3.exp(np.array([0.3, -0.8, 0.5])), np.zeros(3))
    pull = lambda T: frame.pull(0.0, G, T, np.zeros(6), place, np.zeros(3), field.perturbation(place))
    wrench, _ = pull(T)
    turned = lambda e: T @ engine.spatial.se3.pose(engine.spatial.so3.exp(e), np.zeros(3))
    slopes = np.array([derivative(lambda x, e=e: pull(turned(x * e))[1]) for e in np.eye(3)])
    assert np.abs(wrench[:3] + slopes).max() < 1e-9 * np.abs(slopes).max()
    assert np.linalg.norm(slopes) > 100.0


def test_the_force_is_the_energy_s_slope():
    """Of a point mass and a size, by shifts of 10 km; O's own fall is what a force at its place has less."""
    field = GravityField()
    frame, place = ReferenceOrbit((A, 0.0, 0.0), NODE, field), np.array([4e6, -3e6, 4.6e6])
    G = inertia.from_mass(1e-3, np.zeros(3), 1e15 * np.diag([1.0, 1.7, 2.2]))
    pull = lambda x: frame.pull(0.0, G, engine.spatial.se3.pose(np.eye(3), x), np.zeros(6), place, np.zeros(3), np.zeros(3))
    slopes = np.array([derivative(lambda x, e=e: pull(1e6 * x * e)[1]) / 1e6 for e in np.eye(3)])
    force = pull(np.zeros(3))[0][3:] + 1e-3 * field.acceleration(place)
    assert np.abs(force + slopes).max() < 1e-9 * np.abs(slopes).max()


# ---------------------------------------------------------------- as part of a simulator


def test_plain_is_compiled_and_batches_are_their_rows():
    model, frame = body("hub", center=(0.3, -0.2, 0.5)), ReferenceOrbit((A, 0.0, 0.0), NODE, J2)
    q, v = np.array([1.0, 0, 0, 0, 20.0, -50.0, 10.0]), np.array([0.01, -0.02, 0.015, 0, 0, 0])
    make = lambda **more: engine.Simulator(model, dt=0.5, gravity=(0, 0, 0), frame=frame, **more)
    compiled = make()
    one = compiled.run(q, v, 4.0)
    plain = make(compiled=False).run(q, v, 4.0)
    assert np.abs(one.q - plain.q).max() < 1e-13 * 50
    assert np.abs(one("frame.origin") - plain("frame.origin")).max() < 4e-9
    both = compiled.run(np.array([q, q + 0.0]), np.array([v, 2.0 * v]), 4.0)
    assert (both.q[0] == one.q).all()
    r_O, rho = both.orbit("hub")
    assert r_O.shape == rho.shape == (2, 9, 3)


def test_a_run_goes_on_from_a_file(tmp_path):
    model, frame = body("a"), ReferenceOrbit((A, 0.0, 0.0), NODE, J2)
    simulator = engine.Simulator(model, dt=1.0, gravity=(0, 0, 0), frame=frame)
    q, v = [1, 0, 0, 0, 5, 0, 0], [0.01, 0, 0, 0, 0, 0]
    simulator.run(q, v, 10.0, out=tmp_path / "run.h5")
    simulator.resume(tmp_path / "run.h5", 20.0)
    there, whole = engine.load_trajectory(tmp_path / "run.h5"), simulator.run(q, v, 20.0)
    assert (there.q == whole.q).all()
    assert (there.orbit("a")[0] == whole.orbit("a")[0]).all()


def test_a_new_ellipse_goes_on():
    """Rectified half-way: the same orbit, to the rounding of the place at which it begins anew."""
    model, q, v = body("a"), [1, 0, 0, 0, 50, 0, 0], [0.01, 0, 0, 0, 0.1, 0]
    frame = ReferenceOrbit((A, 0.0, 0.0), NODE, J2)
    make = lambda frame: engine.Simulator(model, dt=1.0, gravity=(0, 0, 0), frame=frame)
    first = make(frame)
    half = first.step(first.start(q, v), 1000)
    whole = first.step(half, 1000)
    again = make(frame.rectified(half))
    assert again._arguments["frame"].start == 1000.0
    after = again.step(half, 1000)
    place = lambda s: s.signals["frame.origin"] + s.q[4:7]
    assert np.linalg.norm(place(after) - place(whole)) < 1e-7                   # 1 nm/s of an ulp's share, 3 n t times
    assert np.abs(after.signals["frame.state"]).max() < np.abs(whole.signals["frame.state"]).max() / 2.0
    early = again.step(dataclasses.replace(half, t=999.0))                      # another time takes the frame's place then
    assert np.linalg.norm(early.signals["frame.origin"] - half.signals["frame.origin"]) < 1e-7
    fresh = dataclasses.replace(first.start(q, v), t=1000.0)
    assert np.linalg.norm(first.step(fresh, 1000).signals["frame.origin"] - whole.signals["frame.origin"]) < 1e-7
    with pytest.warns(engine.SimulationWarning, match="goes on from t = 1000 s, by rectified"):
        again.run(q, v, 1.0)


def in_full(field, r, v, t):
    """Return where a path through r, v at 0 is at t, about the planet itself, and its velocity: SciPy's DOP853."""
    fall = lambda t, y: np.concatenate([y[3:], field.acceleration(y[:3], t)])
    return np.split(solve_ivp(fall, (0.0, t), np.concatenate([r, v]), method="DOP853", rtol=1e-13, atol=1e-7).y[:, -1], 2)


@pytest.mark.parametrize("start", [3000.0, -2000.0])
def test_an_orbit_that_starts_at_another_time_is_there_then(start):
    """By the path about the planet, backwards to t = 0, where runs begin, and in a run until it starts."""
    frame, model = ReferenceOrbit((A, 0.0, 0.0), NODE, J2, start=start), body("a")
    simulator = engine.Simulator(model, dt=1.0, gravity=(0, 0, 0), frame=frame)
    flight = simulator.run(model.neutral(), np.zeros(6), 3000.0, record_every=3000)
    for k, t in ((0, -start), (-1, 3000.0 - start)):
        r, v = in_full(J2, (A, 0.0, 0.0), NODE, t) if t else (np.array([A, 0.0, 0.0]), np.array(NODE))
        assert np.linalg.norm(flight("frame.origin")[k] - r) < 3e-6             # 1e-13 of 7e6 m in a step, and as it grows
        assert np.linalg.norm(flight("frame.velocity")[k] - v) < 3e-9
    A_, _ = simulator.linearize(model.neutral(), np.zeros(6), t=np.array([0.0, 3000.0]))
    there = ReferenceOrbit(*(flight(f"frame.{n}")[-1] for n in ("origin", "velocity")), J2)
    at = engine.Simulator(model, dt=1.0, gravity=(0, 0, 0), frame=there)
    assert np.abs(at.linearize(model.neutral(), np.zeros(6))[0][6:12, :6] - A_[1, 6:12, :6]).max() < 1e-14
    assert np.abs(A_[0, 6:12, :6] - A_[1, 6:12, :6]).max() > 1e-7


def test_states_of_other_frames_are_told():
    model, q, v = body("a"), [1, 0, 0, 0, 50, 0, 0], np.zeros(6)
    make = lambda **more: engine.Simulator(model, dt=1.0, gravity=(0, 0, 0), **more)
    with_field = make(frame=ReferenceOrbit((A, 0.0, 0.0), NODE, J2))
    half = with_field.step(with_field.start(q, v), 1000)
    bare = make(frame=ReferenceOrbit((A, 0.0, 0.0), NODE))
    for by, what, text in (
        (make(frame=ReferenceOrbit((A, 0.0, 0.0), (0.0, 0.0, SPEED), J2)), half, r"an origin that is 4.03e.06 m from where"),
        (make(frame=ReferenceOrbit((0.0, A, 0.0), (0.0, 0.0, SPEED))), bare.start(q, v), r"an origin that is 9.59e.06 m from where"),
        (bare, make().start(q, v), "of a simulator with no frame, and this one has one"),
        (make(), bare.start(q, v), "of a simulator with a frame, and this one has none"),
    ):
        with pytest.raises(SimulationError, match=text):
            by.step(what)
    same = make(frame=ReferenceOrbit((A, 0.0, 0.0), NODE, J2)).step(half)
    assert (same.q == with_field.step(half).q).all()                            # made again, it is the same frame


MOLNIYA, LOW = Elements(26.6e6, 0.74, 1.1, 0.3, 4.7), Elements(A, 0.001, 0.9)


@pytest.mark.parametrize(("elements", "dt", "integrator", "warned"), [
    (MOLNIYA, 10.0, "cg4", True), (MOLNIYA, 10.0, "rkmk4", True), (MOLNIYA, 2.0, "cg4", False), (LOW, 60.0, "cg4", True),
    (LOW, 10.0, "cg4", False), (Elements(26.6e6, 0.74, 1.1, 0.3, 4.7, np.pi), 10.0, "cg4", False)])  # fmt: skip
def test_steps_too_long_for_a_perigee_are_told(elements, dt, integrator, warned):
    """After three turns, against the origin's path by DOP853: what is told is off by as much as is said, within a factor of five, and what
    is not by less than a metre."""
    model, frame = body("a"), ReferenceOrbit.from_elements(elements, J2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", engine.SimulationWarning)
        simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), frame=frame, integrator=integrator)
    steps = int(3.0 * frame.period / dt)
    end = simulator.run(model.neutral(), np.zeros(6), steps * dt, record_every=steps)
    off = np.linalg.norm(end("frame.origin")[-1] - frame.place(steps * dt, frame.at(np.array(steps * dt)))[0])
    assert [bool(said), bool(off > 1.0)] == [warned, warned]
    if warned:
        told = float(re.search(r"about (\S+) m off", str(said[0].message)).group(1))
        assert off / 5.0 < told < 5.0 * off


def test_what_ends_before_the_perigee_is_not_told_of_steps():
    """Tables of third bodies that end before, and an orbit that ends in the planet, which is told otherwise."""
    moon = ThirdBody(4.9e12, Ephemeris(lambda t: 3.8e8 * np.ones(3), 600.0, piece=600.0))
    field, model = GravityField(zonals={2: EARTH_J2}, third_bodies=[moon]), body("a")
    engine.Simulator(model, dt=10.0, gravity=(0, 0, 0), frame=ReferenceOrbit.from_elements(MOLNIYA, field))
    with pytest.warns(engine.SimulationWarning, match="and through it"):
        falls = ReferenceOrbit((A, 0.0, 0.0), (0.0, 100.0, 0.0), J2)
    engine.Simulator(model, dt=10.0, gravity=(0, 0, 0), frame=falls)


def test_a_start_too_far_away_is_refused():
    with pytest.raises(SimulationError, match=r"is asked for [.0-9e+]* turns from there"):
        ReferenceOrbit((A, 0.0, 0.0), NODE, J2, start=1e10)


def test_functions_of_the_user_s_know_no_orbit_without_one():
    class Asks(engine.simulation.Component):
        name = "asks"

        def act(self, s, state, memory, command):
            return engine.simulation.Effect(signals={"origin": s.origin[0]})

    with pytest.raises(SimulationError, match="nothing says where the world's origin is"):
        engine.Simulator(body("a"), gravity=(0, 0, 0), forces=[Asks()])
    found = engine.Simulator(body("a"), dt=1.0, gravity=(0, 0, 0), forces=[Asks()], frame=ReferenceOrbit((A, 0.0, 0.0), NODE, J2)).run(
        [1, 0, 0, 0, 0, 0, 0], np.zeros(6), 3.0)  # fmt: skip
    assert (found("asks.origin") == found("frame.origin")).all()


FRAME = ReferenceOrbit((A, 0.0, 0.0), NODE, J2)


@pytest.mark.parametrize(("more", "text"), [
    ({"gravity": (0, 0, -9.81)}, "the uniform gravity"),
    ({"parameters": {"gravity": (0, 0, 0)}}, "a parameter 'gravity'"),
    ({"forces": [engine.simulation.forces.CentralGravity(name="pull")]}, "'pull', which says where gravity's centre is too"),
    ({"forces": [ReferenceOrbit((A, 0.0, 0.0), NODE, J2)]}, "is among forces or actuators; expected it as frame="),
    ({"contacts": engine.Contacts(ground=engine.HalfSpace())}, "a ground, which would fall with it"),
    ({"frame": 3.0}, "frame is 3.0; expected"),
])  # fmt: skip
def test_what_does_not_fall_with_the_frame_is_refused(more, text):
    builder = engine.Builder("ball")
    builder.add_link("ball", inertia=inertia.sphere(1.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    with pytest.raises(SimulationError, match=text):
        engine.Simulator(builder.model(floating_base=True), **{"gravity": (0, 0, 0), "frame": FRAME, **more})


def test_a_base_that_is_held_is_refused():
    builder = engine.Builder("arm")
    builder.add_link("base"), builder.add_link("bob", inertia=inertia.sphere(1.0, 0.1))
    builder.add_joint("pivot", "revolute", "base", "bob")
    with pytest.raises(SimulationError, match="a base that is fixed to it"):
        engine.Simulator(builder.model(), gravity=(0, 0, 0), frame=FRAME)


@pytest.mark.parametrize(("what", "text"), [
    (lambda: ReferenceOrbit((A, 0, 0), (0, 1.5 * SPEED, 0)), "is no ellipse"),
    (lambda: ReferenceOrbit((0, 0, 0), (0, SPEED, 0)), "is no ellipse"),
    (lambda: ReferenceOrbit((A, 0), (0, SPEED, 0)), "position is"),
    (lambda: ReferenceOrbit((A, 0, 0), (0, np.nan, 0)), "velocity"),
    (lambda: ReferenceOrbit((A, 0, 0), (0, SPEED, 0), 3.986e14), "expected an engine.space.GravityField"),
    (lambda: engine.Simulator(body("a"), gravity=(0, 0, 0)).run([1, 0, 0, 0, 0, 0, 0], np.zeros(6), 0.1).orbit("a"), "flew in no orbit"),
])  # fmt: skip
def test_what_is_no_orbit_is_refused(what, text):
    with pytest.raises(engine.EngineError, match=text):
        what()
