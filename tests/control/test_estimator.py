"""An error-state filter by a simulator's own step: against the textbook's, its derivatives, its consistency, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine import sensors as S
from engine.sensors.kalman import least_margin
from engine.spatial import inertia, quaternion, so3
from tests.simulation.test_wires import cart

RAIL = cart()


def test_of_a_line_it_is_kalmans():
    """A cart under a known push with a noisy gauge at every fifth tick: the matrices of the textbook, written apart."""
    gauge = S.Encoder("slide", noise=0.02, period=0.05, name="gauge")
    model = engine.Simulator(RAIL, dt=0.01, gravity=(0, 0, 0), controller=lambda t, q, v, u: u, parameters={"u": [0.0]})
    found = engine.estimator(model, [gauge], deviation=[0.1, 0.5], process=0.3, inputs={"u": "push"})
    push = lambda t: np.array([engine.ops.sin(2.0 * t)])
    laws = [found, engine.Law(push, period=0.01, name="push")]
    simulator = engine.Simulator(RAIL, dt=0.01, gravity=(0, 0, 0), sensors=[gauge], laws=laws, controller=lambda push: push)
    run = simulator.run([0.05], [-0.2], 1.0)
    s, x, P = run.signals, np.zeros(2), np.diag([0.01, 0.25])
    A, b, h = np.array([[1.0, 0.01], [0.0, 1.0]]), np.array([0.5e-4, 0.01]) / 2.0, 0.01
    Q = 0.3**2 * np.array([[h**3 / 3, h * h / 2], [h * h / 2, h]])
    for k in range(101):
        if k:
            x, P = A @ x + b * s["push"][k - 1, 0], A @ P @ A.T + Q
        if k % 5 == 0:
            nu, sigma = s["gauge"][k] - x[0], P[0, 0] + 0.02**2
            K = P[:, 0] / sigma
            x, P = x + K * nu, (np.eye(2) - np.outer(K, [1, 0])) @ P
            np.testing.assert_allclose(s["estimate.nis"][k], [nu**2 / sigma], rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(np.append(s["estimate.q"][k], s["estimate.v"][k]), x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(s["estimate.P"][k], P, rtol=1e-9, atol=1e-14)


def flyer():
    b = engine.Builder("flyer")
    b.add_link("bus", inertia=inertia.from_mass(40.0, [0.02, 0, 0], np.diag([3.0, 4.0, 5.0])))
    b.add_link("arm", inertia=inertia.from_mass(5.0, [0.4, 0, 0], np.diag([0.05, 0.3, 0.3])))
    b.add_joint("elbow", "revolute", "bus", "arm", placement=engine.spatial.se3.pose(np.eye(3), [0.5, 0, 0]), axis=(0, 0, 1))
    return b.model(floating_base=True)


@pytest.fixture(scope="module")
def estimated():
    model = flyer()
    believed = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0))
    own = [S.Gyro("bus", period=0.1, noise=1e-3), S.StarTracker("bus", period=0.5, noise=2e-3), S.Encoder("elbow", noise=2e-3, period=0.1),
           S.GPS("bus", period=1.0, position={"noise": 0.05}, velocity={"noise": 0.02})]  # fmt: skip
    spread = np.repeat([0.05, 0.1, 0.02, 0.02, 0.05, 0.05], [3, 3, 1, 3, 3, 1])
    found = engine.estimator(believed, own, deviation=spread, parameters={"gyro.bias": (0.01, 0.0)})
    return found, spread, engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), sensors=own, laws=[found])


def test_its_derivatives_are_the_steps(estimated):
    """A of the filter is A of linearize; of parameters it is zero where the step has none."""
    own = estimated[0].fn
    q, v = own.linear.model.random(np.random.default_rng(3))
    x = own.linear.begun(q, v)
    after, A = own.predicted(0.0, np.zeros(0), np.zeros(3), x, np.zeros(own.N))
    expected, _ = own.simulator.linearize(q, v)
    np.testing.assert_allclose(A[:, : own.n], expected, atol=1e-13)
    np.testing.assert_array_equal(A[:, own.n :], 0.0)
    np.testing.assert_allclose(after[: own.linear.model.nq], own.simulator.run(q, v, 0.1).q[-1], atol=1e-13)


def test_of_a_free_flyer_with_an_arm_it_is_consistent(estimated):
    """NEES of attitude, place, joint, velocities and a gyro's bias over runs that begin as uncertain as P: within 99 % of χ²."""
    found, spread, simulator = estimated
    n, rng, model = 500, np.random.default_rng(2), simulator.model
    d = spread * rng.standard_normal((n, 14))
    bias = 0.01 * rng.standard_normal((n, 3))
    q0 = model.manifold.plus(np.tile(model.neutral(), (n, 1)), d[:, :7])
    run = simulator.run(q0, d[:, 7:], 4.0, record_every=10, parameters={"gyro.bias": bias, "noise.run": np.arange(float(n))})
    squares = found.nees(run, {"gyro.bias": bias})
    low, high = stats.chi2.ppf([0.005, 0.995], 17 * n) / n
    means = squares.mean(axis=0)
    assert ((low < means) & (means < high)).all(), means
    nis = run.signals["estimate.nis"][:, -1]
    for k, m in enumerate((3, 3, 1, 6)):
        low, high = stats.chi2.ppf([0.0025, 0.9975], m * n) / n
        assert low < nis[:, k].mean() < high
    assert run.signals["estimate.P"][0, -1].trace() < 0.5 * run.signals["estimate.P"][0, 0].trace()


def test_of_a_relative_pose_it_is_consistent():
    """Two bodies that coast and tumble, of which one has a camera that sees the pose of the other, and a gyro and a GPS: NEES of how the
    other lies and moves, seen from the first, over 500 runs, within 99 % of χ²."""
    b = engine.Builder("chaser")
    b.add_link("bus", inertia=inertia.from_mass(40.0, [0.0, 0, 0], np.diag([3.0, 4.0, 5.0])))
    c = engine.Builder("client")
    c.add_link("body", inertia=inertia.from_mass(60.0, [0.1, 0, 0], np.diag([4.0, 6.0, 7.0])))
    model = engine.combine(chaser=b.model(floating_base=True), client=c.model(floating_base=True))
    bus, body = "chaser/bus", "client/body"
    own = [S.StarTracker(bus, period=0.2, noise=2e-3), S.Gyro(bus, period=0.2, noise=1e-3),
           S.RelativePose(bus, body, period=0.2, position={"noise": 0.01}, attitude={"noise": 5e-3}),
           S.GPS(bus, period=0.2, position={"noise": 0.05}, velocity={"noise": 0.02})]  # fmt: skip
    believed = engine.Simulator(model, dt=0.2, gravity=(0, 0, 0))
    spread = np.tile(np.repeat([0.01, 0.1, 0.02, 0.02], 3), 2)[np.r_[0:6, 12:18, 6:12, 18:24]]
    middle = model.neutral()
    middle[11:14] = [3.0, 1.0, 0.5]
    found = engine.estimator(believed, own, q=middle, deviation=spread)
    simulator = engine.Simulator(model, dt=0.2, gravity=(0, 0, 0), sensors=own, laws=[found])
    n, rng = 500, np.random.default_rng(5)
    d = spread * rng.standard_normal((n, 24))
    q0 = model.manifold.plus(np.tile(middle, (n, 1)), d[:, :12])
    run = simulator.run(q0, d[:, 12:], 4.0, record_every=5, parameters={"noise.run": np.arange(float(n))})
    s = run.signals
    e = np.concatenate([model.manifold.minus(s["estimate.q"], run.q), run.v - s["estimate.v"]], axis=-1)
    P = s["estimate.P"]
    J = np.zeros((*e.shape[:2], 6, 24))                                        # of the place and turn seen from the bus, by all errors
    R1, R2 = (quaternion.to_matrix(s["estimate.q"][..., k : k + 4]) for k in (0, 7))
    C = np.swapaxes(R1, -1, -2) @ R2
    p = np.einsum("...ji,...j->...i", R1, s["estimate.q"][..., 11:14] - s["estimate.q"][..., 4:7])
    J[..., :3, :3], J[..., :3, 6:9] = -np.swapaxes(C, -1, -2), np.eye(3)       # δφ = δθ₂ − Cᵀ δθ₁
    J[..., 3:, :3], J[..., 3:, 3:6], J[..., 3:, 9:12] = so3.hat(p), -np.eye(3), C
    x = np.einsum("...ij,...j->...i", J, e)
    Pr = J @ P @ np.swapaxes(J, -1, -2)
    squares = np.sum(x * np.linalg.solve(Pr, x[..., None])[..., 0], axis=-1)
    low, high = stats.chi2.ppf([0.005, 0.995], 6 * n) / n
    means = squares.mean(axis=0)
    assert ((low < means) & (means < high)).all(), means
    low, high = stats.chi2.ppf([0.005, 0.995], 24 * n) / n
    all_of_it = found.nees(run).mean(axis=0)
    assert ((low < all_of_it) & (all_of_it < high)).all(), all_of_it
    assert (np.sqrt(np.diagonal(Pr[:, -1], axis1=1, axis2=2)).mean(axis=0) < [4e-3] * 3 + [1e-2] * 3).all()     # better than a sample


def test_a_covariance_that_loses_its_sign_says_so():
    found = engine.estimator(engine.Simulator(RAIL, dt=0.01), gauges := [S.Encoder("slide", noise=0.02)])
    found.memory[2] = -1e-4                                                    # of the place: (−1e-4) (4e-4) / 3e-4 after a sample
    with pytest.raises(engine.SimulationError, match="estimate returns a P that is no longer positive"):
        engine.Simulator(RAIL, dt=0.01, sensors=gauges, laws=[found]).run([0.0], [0.0], 0.1)


def test_a_covariance_is_looked_at_as_a_whole():
    """One whose variances are above zero, and which no errors have: that is said at the first sample, and of which entry."""
    found = engine.estimator(engine.Simulator(RAIL, dt=0.01), gauges := [S.Encoder("slide", noise=0.02)])
    assert found.memory[2:5].tolist() == pytest.approx([0.01, 0.0, 0.01])
    found.memory[3:5] = 0.0101, 0.01                                           # after a sample 1.9e-4 of the speed, and still none
    with pytest.raises(engine.SimulationError, match=r"estimate returns a P that is no longer positive, first in its entry \[1, 1\]"):
        engine.Simulator(RAIL, dt=0.01, sensors=gauges, laws=[found]).run([0.0], [0.0], 0.1)


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_margins_tell_what_is_positive_from_what_is_not(n):
    """To rounding: of products of matrices of any rank with scales of 1e-6 to 1e6, and of those with one eigenvalue moved below."""
    rng = np.random.default_rng(n)
    for rank in range(1, n + 1):
        scale = 10.0 ** rng.uniform(-6, 6, n)
        A = scale[:, None] * rng.standard_normal((n, rank))
        P = A @ A.T
        assert least_margin(P) > 0.0
        C = P / np.sqrt(np.outer(P.diagonal(), P.diagonal()))
        w, V = np.linalg.eigh(C)
        off = (C - (w[0] + 1e-6) * np.outer(V[:, 0], V[:, 0])) * np.sqrt(np.outer(P.diagonal(), P.diagonal()))
        assert not least_margin(off) > 0.0
        traced = engine.gufunc(least_margin, f"({n},{n})->()")
        assert traced(P) > 0.0 and not traced(off) > 0.0


def both(other):
    """A simulation with another sensor than the filter's, of the same name."""
    found = engine.estimator(engine.Simulator(RAIL, dt=0.01), [S.Encoder("slide", noise=0.1)])
    return engine.Simulator(RAIL, dt=0.01, sensors=[other], laws=[found])


@pytest.mark.parametrize(("make", "text"), [
    (lambda s: engine.estimator(3.0, []), "estimator: simulator is 3.0; expected an engine.Simulator"),
    (lambda s: engine.estimator(s, [S.Accelerometer("cart")]), "accelerometer is not predicted from positions"),
    (lambda s: engine.estimator(s, [S.Encoder("slide")]), "'encoder' has no noise, by which it would be weighed"),
    (lambda s: engine.estimator(s, S.Encoder("slide", noise=0.1)), "estimate: sensors are <Encoder 'encoder'>; expected a list of them"),
    (lambda s: both(S.Encoder("slide", noise=0.1, latency=0.1)), "'encoder' of the simulation has latency=0.1, and that of the filter 0.0"),
    (lambda s: both(S.Gyro("cart", name="encoder")), "'encoder' of the simulation reads 3 numbers, and that of the filter 1"),
    (lambda s: engine.estimator(s, [S.Encoder("slide", noise=0.1)], inputs={"u": "push"}), "the simulator has no parameter 'u'"),
    (lambda s: engine.estimator(s, [S.Encoder("slide", noise=0.1)], parameters={"encoder.bia": (1.0, 0.0)}),
     r"nothing has a parameter 'encoder.bia' \(did you mean 'encoder.bias'\?\)"),
    (lambda s: engine.estimator(s, [S.Encoder("slide", noise=0.1)], deviation=0.0), "deviation is 0.0; expected a number above 0"),
    (lambda s: engine.estimator(s, [S.Encoder("slide", noise=0.1)], proces=1.0),
     r"estimator takes no 'proces' \(did you mean 'process'\?\); expected some of simulator, sensors, q"),
    (lambda s: engine.estimator(s, [S.Encoder("slide", noise=0.1)], process=-1.0), "process is -1.0; expected a number from 0"),
])  # fmt: skip
def test_what_is_refused(make, text):
    with pytest.raises(engine.EngineError, match=text):
        make(engine.Simulator(RAIL, dt=0.01))
