"""From momentum alone: a payload, a wheel's exchange, and of a body that is alone the ratios."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import least_squares

import engine
from engine import IdentificationError, IdentificationWarning
from engine.components.actuators import ReactionWheels
from engine.identification.unknowns import unknowns_of
from engine.spatial import inertia
from tests.identification.support import arm, other

FREE = (0.0, 0.0, 0.0)
RATES = np.array([0.5, 0.7, 0.6, 0.8, 0.9, 1.1, 1.3])


def target(mass=80.0, center=(0.05, -0.02, 0.03), moments=(20.0, 30.0, 15.0)) -> engine.Model:
    b = engine.Builder("target")
    b.add_link("target", inertia=inertia.from_mass(mass, np.array(center), np.diag(moments)))
    return b.model(floating_base=True)


@pytest.fixture(scope="module")
def flight():
    """The free flyer waves its arm, with a load in its gripper; and the flyer that knows nothing of it."""
    empty = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    load = inertia.from_mass(30.0, np.array([0.1, 0.05, 0.3]), np.diag([2.0, 1.5, 1.0]))
    law = lambda t, q, v: np.concatenate([np.zeros(6), 10.0 * (0.5 * RATES * np.sin(RATES * t) - v[6:])])
    held = empty.link("gripper").inertia + load
    simulator = engine.Simulator(empty, dt=5e-3, gravity=FREE, controller=law, parameters={"inertia.gripper": held})
    q0 = empty.neutral()
    q0[4:7] = [300.0, -200.0, 100.0]
    return empty, held, simulator.run(q0, np.zeros(empty.nv), 8.0, record_every=40)


@pytest.mark.parametrize("momentum", [None, np.zeros(6)])
def test_a_load_is_found_from_momentum_alone(flight, momentum):
    empty, truth, run = flight
    found = engine.identify(empty, run, "inertia.gripper", by="momentum", momentum=momentum)
    assert found.physical and found.base.alone.all() and not found.warnings
    np.testing.assert_allclose(found.model.link("gripper").inertia, truth, atol=1e-9)
    P = found.predict(run)
    np.testing.assert_allclose(P, np.broadcast_to(P[0], P.shape), atol=1e-9)


def test_noise_of_a_gyroscope_leaves_it_within_its_intervals(flight):
    empty, truth, run = flight
    given = {"q": run.q, "v": run.v + 5e-6 * np.random.default_rng(0).standard_normal(run.v.shape)}
    found = engine.identify(empty, given, "inertia.gripper", by="momentum")
    t = (found.values - engine.identify(empty, run, "inertia.gripper", by="momentum").values) / found.std
    assert 0.3 < np.sqrt((t**2).mean()) < 3.0 and found.values[0] == pytest.approx(truth[5, 5], abs=0.1)


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_what_nothing_measures_is_refused(flight, noise):
    """All links unknown, a servicer's momentum that is its own, or a target by itself: least squares would say zero."""
    empty, _, run = flight
    rng = np.random.default_rng(0)
    noisy = {"q": run.q, "v": run.v + noise * rng.standard_normal(run.v.shape)}
    with pytest.raises(IdentificationError, match=r"nothing in this motion tells the size of '.*, at most ratios; expected what they"):
        engine.identify(empty, noisy, by="momentum")
    both = engine.combine(servicer=empty, target=target())
    flown = engine.Simulator(both, dt=1e-2, gravity=FREE).run(both.neutral(), 0.2 * rng.standard_normal(both.nv), 5.0, record_every=10)
    noisy = {"q": flown.q, "v": flown.v + noise * rng.standard_normal(flown.v.shape)}
    with pytest.raises(IdentificationError, match="target/target"):
        engine.identify(both, noisy, "inertia.target/target", by="momentum")


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_tumbling_target_shows_its_centre_and_the_ratios_of_its_moments(noise):
    """By Euler's equations I ω̇ = I ω × ω; with m and Ixx as they are thought to be, the rest follows; with P, all."""
    model, guess = target(), target(60.0, (0.0, 0.0, 0.0), (20.0, 20.0, 20.0))
    run = engine.Simulator(model, dt=1e-2, gravity=FREE).run(model.neutral(), [0.3, 0.15, -0.2, 0.01, 0.02, 0.0], 30.0, record_every=10)
    given = {"q": run.q, "v": run.v + noise * np.random.default_rng(0).standard_normal(run.v.shape)}
    with pytest.raises(IdentificationError, match="of a body that is alone its mass and one of its moments"):
        engine.identify(guess, given, by="momentum")
    ratios = [f"{entry}.target" for entry in ("mx", "my", "mz", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")]
    found = engine.identify(guess, given, ratios, by="momentum")
    near = {"atol": 1e-9} if noise == 0.0 else {"atol": 4e-3, "rtol": 4e-3}
    c = found.values[:3] / 60.0
    np.testing.assert_allclose(c, [0.05, -0.02, 0.03], **near)
    C = engine.spatial.so3.hat(c)
    about = found.model.link("target").inertia[:3, :3] + 60.0 * C @ C
    np.testing.assert_allclose(about / about[0, 0], np.diag([1.0, 1.5, 0.75]), **near)
    whole = engine.identify(guess, given, by="momentum", momentum=run.momentum()[0])
    np.testing.assert_allclose(whole.model.link("target").inertia, model.link("target").inertia, atol=1e-8 if noise == 0.0 else 0.1)


def tumbling(noise: float, count: int = 60):
    """A stone of which the mass and one moment are known, how it tumbles, and a gyro's noise; the unknowns and what they are."""
    true = target(5.0, (0.1, -0.05, 0.02), (0.3, 0.4, 0.5))
    run = engine.Simulator(true, dt=1e-2, gravity=FREE).run(true.neutral(), [0.3, 0.5, 0.25, 0.1, 0.0, 0.05], 0.5 * count, record_every=50)
    unknown = [f"{entry}.target" for entry in ("mx", "my", "mz", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")]
    known = unknowns_of(true, "inertia", "momentum")
    guess = known.put_in(np.array([5.0, 0.0, 0.0, 0.0, known.values[4], 0.0, 0.41, 0.0, 0.0, 0.5]))
    return guess, run, unknown, unknowns_of(true, unknown, "momentum").values


@pytest.mark.parametrize("known", [False, True])
def test_the_true_values_lie_in_their_intervals(known):
    """Of 60 noisy gyros the 95 % intervals hold each number as often as a binomial does, however noisy; and none is refused."""
    guess, run, unknown, true = tumbling(1e-3)
    P, rng, runs, hits = run.momentum()[0] if known else None, np.random.default_rng(0), 60, []
    for k in range(runs):
        given = {"q": run.q, "v": run.v + [1e-4, 1e-3, 4e-3][k % 3] * rng.standard_normal(run.v.shape)}
        found = engine.identify(guess, given, unknown, by="momentum", momentum=P)
        low, high = found.interval().T
        hits.append((low <= true) & (true <= high))
    least, most = stats.binom.ppf([1e-5, 1.0 - 1e-5], runs, 0.95)
    count = np.sum(hits, axis=0)
    assert ((least <= count) & (count <= most)).all(), count


def test_momentum_weighs_velocities_as_noisy_as_they_are():
    """The best x, P and v of (1): SciPy's trust region over all of them, numbers of noise that differ in rotation and translation."""
    guess, run, unknown, true = tumbling(0.0, 20)
    noise = np.array([2e-3] * 3 + [2e-4] * 3)
    v = run.v + noise * np.random.default_rng(0).standard_normal(run.v.shape)
    found = engine.identify(guess, {"q": run.q, "v": v}, unknown, by="momentum")
    unknowns = unknowns_of(guess, unknown, "momentum")
    Y = engine.compile(guess, gravity=FREE).momentum_regressor
    each = np.stack([Y(run.q, np.broadcast_to(e, v.shape)) for e in np.eye(6)], axis=-1)                      # (T, 6, 10, 6)
    ratio = noise

    def errors(z):
        A = np.einsum("tipj,p->tij", each, unknowns.inertial + unknowns.E @ (z[:8] - unknowns.values))
        return ((v - np.linalg.solve(A, np.broadcast_to(z[8:, None], (len(v), 6, 1)))[..., 0]) / ratio).ravel()

    best = least_squares(errors, np.append(true, run.momentum()[0]), x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose((found.values - best.x[:8]) / found.std, 0.0, atol=0.2)      # ratios of noise are estimates
    deviation = np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac))[:8] * 2.0 * best.cost / (len(v) * 6 - 14))
    np.testing.assert_allclose(found.std, deviation, rtol=0.15)


def test_what_pushes_is_said_to_change_the_momentum(flight):
    """A robot that falls, and wheels that take up what nobody tells: not that nothing is known of masses."""
    empty, _, run = flight
    fallen = run.v.copy()
    t = 0.2 * np.arange(len(fallen))
    R = engine.spatial.quaternion.to_matrix(run.q[0, :4])
    assert R.shape == (3, 3)
    fallen[:, 3:6] += t[:, None] * 0.3
    for unknown in ("inertia.gripper", "inertia"):
        said = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                engine.identify(empty, {"q": run.q, "v": fallen}, unknown, by="momentum")
            except IdentificationError as error:
                said.append(str(error))
        said += [str(w.message) for w in caught]
        assert any("momentum is not constant by more than noise" in text for text in said), said
        assert not any("tells the size" in text for text in said)


def test_wheels_measure_the_robot_that_carries_them():
    """What they take up is known: all of a satellite's moments, in their own units, and nothing of its mass."""
    model = target()
    wheels = ReactionWheels("target", torque=2.0, momentum=50.0)
    simulator = engine.Simulator(model, dt=1e-2, gravity=FREE, actuators=[wheels], controller=lambda t, q, v: {
        "wheels": np.array([1.0, 0.7, 0.8]) * np.sin(np.array([0.5, 0.8, 1.1]) * t)})  # fmt: skip
    run = simulator.run(model.neutral(), np.zeros(6), 20.0, record_every=10)
    moments = [f"{entry}.target" for entry in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")]
    guess, _ = other(model, "inertia")
    with pytest.raises(IdentificationError, match=r"nothing .* 'm\.target'"):
        engine.identify(guess, run, by="momentum")
    sure = target(80.0, moments=(10.0, 10.0, 10.0))
    found = engine.identify(sure, run, moments, by="momentum")
    np.testing.assert_allclose(found.model.link("target").inertia, model.link("target").inertia, atol=1e-8)
    arrays = {"q": run.q, "v": run.v, "angular_momentum": run("wheels.angular_momentum")}
    np.testing.assert_allclose(engine.identify(sure, arrays, moments, by="momentum").values, found.values, atol=1e-12)
    with pytest.raises(IdentificationError, match=r"something else acts \(wheels\), and the trajectory's tau does not explain it"):
        engine.identify(sure, run, moments)


def test_what_has_no_constant_momentum_is_refused(flight):
    empty, _, run = flight
    with pytest.raises(IdentificationError, match="'arm' hangs on the world by 'j0', which takes its momentum"):
        engine.identify(arm(), {"q": np.zeros((3, 4)), "v": np.zeros((3, 4))}, by="momentum")
    with pytest.raises(IdentificationError, match="momentum is not constant in the gravity"):
        engine.identify(engine.compile(empty), {"q": run.q, "v": run.v}, "inertia.gripper", by="momentum")
    pushed = engine.Simulator(empty, dt=1e-2, gravity=FREE, controller=lambda t, q, v: np.sin((1.0 + np.arange(13.0)) * t))
    blown = pushed.run(empty.neutral(), np.zeros(13), 2.0)
    with pytest.raises(IdentificationError, match=r"something else acts.*the trajectory's momentum is not constant"):
        engine.identify(empty, blown, "inertia.gripper", by="momentum")
    with pytest.raises(IdentificationError, match=r"'damping\.elbow_pitch', which momentum does not depend on"):
        engine.identify(empty, run, "damping.elbow_pitch", by="momentum")
    with pytest.raises(IdentificationError, match=r"momentum has shape \(3,\); expected \(6,\)"):
        engine.identify(empty, run, "inertia.gripper", by="momentum", momentum=[0, 0, 0])
    with pytest.raises(IdentificationError, match="momentum is given, and nothing reads it"):
        engine.identify(empty, run, "inertia.gripper", momentum=np.zeros(6))
    assert issubclass(IdentificationWarning, engine.EngineWarning)
