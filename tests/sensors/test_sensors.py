"""Sensors: what they measure by a second route, how noise falls with time, and that errors are parameters."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine import dynamics
from engine import sensors as S
from engine.spatial import inertia, quaternion, so3

G = np.array([0.0, 0.0, -9.81])
ARM = engine.load(engine.example("seven_joint_arm"))
HAND = ARM.links[-1].name
TORQUES = np.array([9.0, 9.0, 5.0, 5.0, 0.3, 0.3, 0.02])
JOINTS = [b.joint.name for b in ARM.bodies]
TILT = np.block([[so3.exp([0.3, -0.2, 0.5]), np.array([[0.1], [0.05], [-0.2]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def body(**more):
    b = engine.Builder("probe")
    b.add_link("probe", inertia=inertia.from_mass(3.0, [0, 0, 0], np.diag([0.1, 0.2, 0.25])), **more)
    return b.model(floating_base=True)


def at_rest(sensors, dt=1.0, **more):
    return engine.Simulator(body(), dt=dt, gravity=(0, 0, 0), sensors=sensors, **more)


REST = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.zeros(6)


@pytest.fixture(scope="module")
def swing():
    """An arm swings; its sensors have no errors."""
    sensors = [S.Gyro(HAND, TILT), S.Accelerometer(HAND, TILT), S.ForceTorque(ARM.bodies[3].joint.child, force={}, moment={}),
               S.Encoder(JOINTS, of="velocity", name="rates"), S.JointTorque(JOINTS[3], name="elbow"), S.GPS(HAND, TILT),
               S.Range(HAND, ((0, 0, 2.0), -2.0), TILT),
               S.Camera(HAND, {"world": [[2.0, 1.0, 3.0], [0.0, 0.0, -9.0]]}, TILT, size=(1e5, 1e5)),
               S.StarTracker(HAND, TILT), S.RelativePose(HAND, ARM.links[2].name, TILT)]  # fmt: skip
    simulator = engine.Simulator(ARM, dt=1e-3, controller=lambda t, q, v: np.sin(3.0 * t) * TORQUES, joint_dynamics=None,
                                 sensors=sensors)  # fmt: skip
    return simulator.run(np.linspace(0.2, 0.5, 7), np.linspace(-1.0, 1.0, 7), 0.2)


def poses(run):
    return np.array([dynamics.forward_kinematics(ARM, q)[-1] @ TILT for q in run.q])


def test_inertial_sensors_are_derivatives_of_poses(swing):
    """Second route: differences of the sensor's poses, whose error falls as h²."""
    T, h, s = poses(swing), 1e-3, swing.signals
    R, p = T[:, :3, :3], T[:, :3, 3]
    w = np.array([so3.log(a.T @ b) for a, b in zip(R[:-2], R[2:], strict=True)]) / (2 * h)
    f = np.einsum("kji,kj->ki", R[1:-1], (p[2:] - 2 * p[1:-1] + p[:-2]) / h**2 - G)
    np.testing.assert_allclose(s["gyro"][1:-1], w, atol=2e-4 * np.abs(w).max())
    np.testing.assert_allclose(s["accelerometer"][1:-1], f, atol=2e-4 * np.abs(f).max())
    np.testing.assert_allclose(s["gps.velocity"][1:-1], (p[2:] - p[:-2]) / (2 * h), atol=1e-4)
    np.testing.assert_allclose(s["gps.position"], p, atol=1e-14)


def test_sights_are_geometry(swing):
    T, s = poses(swing), swing.signals
    np.testing.assert_allclose(quaternion.to_matrix(s["star_tracker.q"]), T[:, :3, :3], atol=1e-14)
    z, p = T[:, :3, 2], T[:, :3, 3]
    hits = -(p[:, 2] + 1.0) / z[:, 2]
    seen = hits >= 0
    assert (s["range.valid"] == seen).all()
    np.testing.assert_allclose(s["range.distance"], np.where(seen, hits, 1e6), rtol=1e-12)
    x = np.einsum("kij,kj->ki", np.swapaxes(T[:, :3, :3], 1, 2), [2.0, 1.0, 3.0] - p)
    ahead = x[:, 2] > 0
    np.testing.assert_allclose(s["camera.pixels"][ahead, 0], 1000.0 * x[ahead, :2] / x[ahead, 2:], rtol=1e-10)
    assert (s["camera.visible"][:, 0] == (ahead & (np.abs(1000.0 * x[:, :2] / x[:, 2:]).max(axis=1) <= 5e4))).all()
    other = np.array([dynamics.forward_kinematics(ARM, q)[2] for q in swing.q])
    np.testing.assert_allclose(s["relative.position"], np.einsum("kji,kj->ki", T[:, :3, :3], other[:, :3, 3] - p), atol=1e-13)
    R = np.swapaxes(T[:, :3, :3], 1, 2) @ other[:, :3, :3]
    np.testing.assert_allclose(quaternion.to_matrix(s["relative.q"]), R, atol=1e-13)


def test_a_wrist_feels_what_its_joint_takes(swing):
    """Along the joint's axis it is the drive's torque less what the rotor takes."""
    s, k = swing.signals, 3
    F = np.concatenate([s["wrist.moment"], s["wrist.force"]], axis=1)
    axis = ARM.bodies[k].subspace(ARM.neutral())[:, 0]
    tau = swing.tau[:, k]
    np.testing.assert_allclose(F @ axis, tau - ARM.armature[k] * swing.vdot[:, k], atol=1e-11 * np.abs(F).max())
    np.testing.assert_array_equal(s["elbow"], tau)
    np.testing.assert_array_equal(s["rates"], swing.v)


def test_free_fall_feels_nothing_but_tides():
    """At the centre of a body in orbit f = 0; at p along the radius f = −2 μ/r³ p − ω × (ω × p), of Hill's equations at rest: 3 n² p."""
    from engine.space import EARTH_MU, GravityField, ReferenceOrbit

    r, n = 7e6, np.sqrt(EARTH_MU / 7e6**3)
    frame = ReferenceOrbit((r, 0, 0), (0, n * r, 0), GravityField(gradient=False))
    here, out = S.Accelerometer("probe"), S.Accelerometer("probe", (100.0, 0, 0), name="out")
    run = engine.Simulator(body(), dt=1.0, gravity=(0, 0, 0), frame=frame, sensors=[here, out]).run(
        REST[0], [0, 0, n, 0, 0, 0], 1.0)  # fmt: skip
    assert np.abs(run.signals["accelerometer"]).max() < 1e-15
    np.testing.assert_allclose(run.signals["out"][0], [-3.0 * n**2 * 100.0, 0.0, 0.0], rtol=1e-4, atol=1e-12)     # of third order: p/r


def test_an_integrating_imu_adds_up_what_the_sampling_one_reads():
    """Of a body that spins and is pushed: ∫ by the composite Simpson rule of samples a tenth of a step apart."""
    push = lambda t, q, v: np.array([0.02, 0.0, -0.03, 1.0, 2.0, 0.5])
    spin = REST[0], [0.3, -0.2, 0.5, 0, 0, 0]
    fine = at_rest([S.IMU("probe", TILT)], dt=0.01, controller=push).run(*spin, 1.0).signals
    found = at_rest([S.IMU("probe", TILT, period=0.1, integrating=True)], dt=0.02, controller=push).run(*spin, 1.0, record_every=5).signals
    w = 0.01 / 3.0 * np.array([1, 4, 2, 4, 2, 4, 2, 4, 2, 4, 1.0])
    for part, total in (("rate", "angle"), ("force", "velocity")):
        x = fine[f"imu.{part}"].copy()
        x[0] = fine[f"imu.{part}"][0]
        sums = np.array([w @ x[10 * k : 10 * k + 11] for k in range(10)])
        np.testing.assert_allclose(found[f"imu.{total}"][1:], sums, atol=2e-9)


def test_an_integrating_imu_adds_up_from_its_first_sample_on():
    """That one is over no time, and zero, of bias, noise and walk too: the sum of all is what the last is ahead of the first."""
    imu = S.IMU("probe", period=0.1, rate={"bias": [1.0, 0, 0], "walk": 0.5}, force={"noise": 0.1}, integrating=True, phase=0.1)
    s = at_rest([imu], dt=0.05).run(*REST, 1.1, record_every=2, parameters={"imu.rate.walk": np.zeros(3)}).signals
    np.testing.assert_allclose(s["imu.angle"].sum(axis=0), [1.0, 0.0, 0.0], atol=1e-13)
    assert not s["imu.angle"][1].any() and not s["imu.velocity"][1].any() and not s["imu.true.velocity"][1].any()
    assert (s["imu.angle"][2:, 0] == 0.1).all() and s["imu.velocity"][2:].std() > 0.0
    walked = at_rest([imu], dt=0.05).run(*REST, 1.1, record_every=2).signals["imu.true.rate.bias"]
    np.testing.assert_array_equal(walked[1], [1.0, 0.0, 0.0])
    assert (np.abs(np.diff(walked[1:, 0])) > 0.0).all()


def test_where_a_bias_has_walked_to_is_recorded():
    """Its steps have the deviation σ_u √Δ; without noise a sample has the mean of its ends' within √(σ_u² Δ/12); nobody gets it."""
    gyro, n, h, su = S.Gyro("probe", period=0.1, walk=0.3, bias=[0.5, 0, 0]), 200, 0.1, 0.3
    simulator = at_rest([gyro, S.Gyro("probe", name="still")], dt=0.1)
    s = simulator.run(np.tile(REST[0], (n, 1)), REST[1], 4.0, parameters={"noise.run": np.arange(float(n))}).signals
    b, y = s["gyro.true.bias"], s["gyro"] - s["gyro.true"]
    steps, off = np.diff(b, axis=1), y[:, 1:] - 0.5 * (b[:, 1:] + b[:, :-1])
    for x, sigma in ((steps, su * np.sqrt(h)), (off, su * np.sqrt(h / 12.0))):
        assert abs(x.std() / sigma - 1.0) < 3.0 / np.sqrt(2.0 * x.size)
    assert "still.true.bias" not in s


def test_the_truth_is_nobodys_and_that_is_said_with_names():
    def control(gyro, filter):
        return np.append(gyro.true + filter["q"][1:], np.zeros(3))

    def more(gyro, filter):
        return np.append(filter.q.true, np.zeros(3))

    sensors, own = [S.Gyro("probe", walk=0.1)], [lambda t: {"q": t * np.ones(4)}]
    own[0].__name__ = "filter"
    with pytest.raises(engine.SimulationError, match=r"control reads 'gyro.true': a signal has no part 'true'; expected it as it is: it "
                       r"has no parts \(the truth beside a sensor is recorded, and no function gets it: ask for q and v\)"):
        at_rest(sensors, controller=control, laws=own)
    with pytest.raises(engine.SimulationError, match=r"steering reads 'filter.q.true': a signal has no part 'true'; expected it as it is"):
        at_rest(sensors, controller=engine.Law(more, period=1.0, name="steering"), laws=own)
    with pytest.raises(engine.SimulationError, match=r"'filter.qq': .* has no part 'qq' \(did you mean 'q'\?\); expected some of q"):
        at_rest(sensors, controller=lambda gyro, filter: filter.qq, laws=own)


def feet(tables):
    b = engine.Builder("stool")
    b.add_link("stool", inertia=inertia.from_mass(6.0, [0, 0, 0], np.diag([0.2, 0.2, 0.2])))
    for k, (x, y) in enumerate([(0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)]):
        b.add_link(f"foot{k}", inertia=inertia.sphere(0.2, 0.05), collisions=[engine.Geometry("sphere", (0.05,))])
        T = engine.spatial.se3.pose(np.eye(3), [x, y, -0.2])
        b.add_joint(f"leg{k}", "revolute", "stool", f"foot{k}", placement=T, axis=(0, 1, 0), damping=5.0)
    return b.model(floating_base=True)


def test_an_integrating_gyro_reads_what_turns_add_up_to(swing):
    """Its truth is the mean of ω between its samples, here by Simpson's rule of every step's, and first the rate; at all ends of steps."""
    dt, every = 1e-3, 20
    sensors = [S.Gyro(HAND, TILT, period=every * dt, integrating=True), S.Gyro(HAND, TILT, name="now")]
    simulator = engine.Simulator(ARM, dt=dt, controller=lambda t, q, v: np.sin(3.0 * t) * TORQUES, joint_dynamics=None, sensors=sensors,
                                 integrator="rkmk4")  # fmt: skip
    run = simulator.run(np.linspace(0.2, 0.5, 7), np.linspace(-1.0, 1.0, 7), 0.2)
    read, w = run.signals["gyro"][::every], run.signals["now"]
    np.testing.assert_allclose(read[0], w[0], rtol=1e-12)
    weights = np.array([1.0, *[4.0, 2.0] * (every // 2 - 1), 4.0, 1.0]) / (3.0 * every)
    for k in range(1, len(read)):
        np.testing.assert_allclose(read[k], weights @ w[(k - 1) * every : k * every + 1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("tables", [False, True])
def test_feet_bear_the_weight(tables):
    """Σ of contact forces and of what the ground pushes is the weight, by pairs and by tables; the base's accelerometer reads −g."""
    from engine.simulation.contacts import PairByPair

    model = feet(tables)
    kind = engine.Contacts if tables else PairByPair
    sensors = [S.ContactForce(f"foot{k}", name=f"foot{k}") for k in range(4)]
    sensors += [S.Touch("foot0", period=0.01), S.Accelerometer("stool", (0.2, 0, 0)), S.ForceTorque("foot1", name="ankle")]
    contacts = kind(ground=engine.HalfSpace(), material=engine.ContactMaterial(dissipation=2.0))
    q = model.neutral()
    q[6] = 0.25
    run = engine.Simulator(model, dt=2e-3, contacts=contacts, sensors=sensors).run(q, np.zeros(model.nv), 1.0)
    s, weight = run.signals, 9.81 * 6.8
    total = sum(s[f"foot{k}.force"][-1] for k in range(4))
    np.testing.assert_allclose(total, [0, 0, weight], atol=2e-3 * weight)
    np.testing.assert_allclose(s["accelerometer"][-1], -G, atol=0.03)
    np.testing.assert_allclose(s["touch"][-1], np.linalg.norm(s["foot0.force"][-1]), rtol=0.02)
    np.testing.assert_allclose(s["ankle.force"][-1] + s["foot1.force"][-1], [0, 0, 0.2 * 9.81], atol=0.05)
    assert s["touch"][0] == 0.0


# ---------------------------------------------------------------- errors


def test_errors_are_the_formula_and_parameters():
    """y = sat(quant(M (1 + S) x + b)), of parameters that differ in a batch; without noise to the bit of the quantum."""
    gyro = S.Gyro("probe", bias=[0.01, 0, 0], scale=0.1, misalignment=[0.0, 0.0, 0.1], quantum=1e-3, limit=0.4)
    simulator = at_rest([gyro], dt=0.1)
    assert {"gyro.bias", "gyro.scale", "gyro.misalignment", "gyro.quantum", "gyro.limit", "gyro.noise"} <= {*simulator.parameters}
    w, b = np.array([0.2, -0.1, 0.5]), np.array([[0.01, 0, 0], [0.02, 0.03, 0.0]])
    run = simulator.run(REST[0], np.append(w, np.zeros(3)), 0.1, parameters={"gyro.bias": b})
    for k in range(2):
        y = np.floor((so3.exp([0, 0, 0.1]) @ (1.1 * w) + b[k]) / 1e-3 + 0.5) * 1e-3
        np.testing.assert_array_equal(run.signals["gyro"][k, 0], np.clip(y, -0.4, 0.4))
        np.testing.assert_array_equal(run.signals["gyro.true"][k, 0], w)


def test_latency_and_phase_are_of_samples():
    """A reading is the truth of the sample that was taken a latency ago, which is no multiple of the period."""
    sensor = S.Gyro("probe", period=0.05, phase=0.02, latency=0.07)
    run = at_rest([sensor], dt=0.01, controller=lambda t, q, v: np.array([0.1, 0, 0, 0, 0, 0])).run(*REST, 0.5)
    x, w = run.signals["gyro"][:, 0], run.v[:, 0]
    for k in range(len(x)):
        samples = [s for s in range(2, k + 1, 5) if s + 7 <= k]
        assert x[k] == (w[samples[-1]] if samples else 0.0)


def allan(y, m):
    """Allan's variance of samples y (n, axes) over clusters of m, apart, and how many clusters."""
    clusters = y[: len(y) // m * m].reshape(-1, m, y.shape[1]).mean(axis=1)
    return 0.5 * (np.diff(clusters, axis=0) ** 2).mean(axis=0), len(clusters)


def test_noise_falls_as_allans_variance_has_it():
    """White N²/τ, walks K² τ/3 (the mean over each period is drawn: no 1/2m² is left of the samples), steps of a counted angle LSB²/4τ²,
    each within three of its deviation for K clusters: √(3K−4)/(2(K−1)) and √(2(K−1) + (K−2)/4)/(2(K−1)), exact of Gaussian clusters."""
    sensors = [S.Gyro("probe", noise=0.02), S.Gyro("probe", walk=0.01, name="walks"),
               S.IMU("probe", rate={"quantum": 0.3}, integrating=True, name="counts")]  # fmt: skip
    run = at_rest(sensors, dt=0.5).run(REST[0], [0.2317, 0.4171, -0.1311, 0, 0, 0], 6000.0)
    for m in (1, 4, 20, 100):
        tau = 0.5 * m
        found, K = allan(run.signals["gyro"] - run.signals["gyro.true"], m)
        np.testing.assert_allclose(np.sqrt(found), np.sqrt(0.02**2 / tau), rtol=3 * np.sqrt(3 * K - 4) / (2 * (K - 1)))
        found, K = allan(run.signals["walks"] - run.signals["walks.true"], m)
        wide = 3 * np.sqrt(2 * (K - 1) + (K - 2) / 4) / (2 * (K - 1))
        np.testing.assert_allclose(np.sqrt(found), np.sqrt(0.01**2 * tau / 3), rtol=wide)
        angle = (run.signals["counts.angle"] - run.signals["counts.true.angle"])[1:] / 0.5
        found, K = allan(angle, m)
        assert (np.sqrt(found) < 1.15 * 0.3 / 2.0 / tau * np.sqrt(2.0)).all()
    found, K = allan(angle, 20)
    np.testing.assert_allclose(np.sqrt(found).mean(), 0.3 / 20.0, rtol=0.25)                      # uniform phases: LSB/(2τ), τ = 10


#: of each sensor with noise: itself, the part of its signal, and N of Allan's N²/τ, a sample's deviation where the period is 1 s
WHITE = [
    (S.Gyro(HAND, noise=0.02), "", 0.02), (S.Accelerometer(HAND, noise=0.3), "", 0.3), (S.Encoder(JOINTS, noise=0.01), "", 0.01),
    (S.IMU(HAND, rate={"noise": 0.02}, force={"noise": 0.3}), "rate", 0.02), (S.IMU(HAND, force={"noise": 0.3}, name="imu2"), "force", 0.3),
    (S.StarTracker(HAND, noise=1e-4), "q", 1e-4), (S.SunSensor(HAND, sun=(0.1, 0.2, 1.0), noise=1e-4), "direction", 1e-4),
    (S.Magnetometer(HAND, (2e-5, 0, 1e-5), noise=1e-7), "", 1e-7), (S.GPS(HAND, position={"noise": 2.0}), "position", 2.0),
    (S.GPS(HAND, velocity={"noise": 0.1}, name="gps2"), "velocity", 0.1), (S.JointTorque(JOINTS, noise=0.5), "", 0.5),
    (S.ForceTorque(HAND, force={"noise": 0.5}, moment={"noise": 0.1}), "force", 0.5),
    (S.ContactForce("wrist_roll_link", moment={"noise": 0.1}), "moment", 0.1),
    (S.Touch("wrist_roll_link", noise=0.2, bias=9.0), "", 0.2),
    (S.RelativePose(HAND, ARM.links[2].name, position={"noise": 0.01}), "position", 0.01),
    (S.RelativePose(HAND, ARM.links[2].name, attitude={"noise": 1e-3}, name="relative2"), "q", 1e-3),
    (S.Range(HAND, ARM.links[2].name, noise=0.05), "distance", 0.05),
    (S.Camera(HAND, {"world": [[0.1, 0.1, 9.0], [0.0, 0.2, 8.0]]}, size=(1e5, 1e5), noise=0.7), "pixels", 0.7),
]  # fmt: skip


def test_every_sensors_noise_is_white():
    """Allan's variance N²/τ of what each reads less the truth, of an arm at rest, within three of the deviation that K clusters of so many
    independent numbers have; of an attitude or a direction the turn between both."""
    contacts = engine.Contacts(engine.HalfSpace(offset=-9.0), [("world", "wrist_roll_link")])      # which it never has
    simulator = engine.Simulator(ARM, dt=1.0, gravity=(0, 0, 0), joint_dynamics=None, sensors=[s for s, *_ in WHITE], contacts=contacts)
    s = simulator.run(np.full(7, 0.3), np.zeros(7), 4000.0).signals
    for sensor, part, N in WHITE:
        own = sensor.name + (f".{part}" if part else "")
        read, true = s[own], s[f"{sensor.name}.true" + (f".{part}" if part else "")]
        if part == "q":
            e = quaternion.log(quaternion.product(quaternion.conjugate(true), read))
        elif part == "direction":                                              # two turns show, about what is across it
            across = np.linalg.svd(true[0][None])[2][1:]
            e = np.cross(true, read) @ across.T
        else:
            e = (read - true).reshape(len(read), -1)
        for m in (1, 8, 64):
            found, K = allan(e, m)
            wide = 3.0 * np.sqrt((3 * K - 4) / len(found)) / (2 * (K - 1))
            np.testing.assert_allclose(np.sqrt(found.mean()), N / np.sqrt(m), rtol=wide, err_msg=f"{own}, {m} s")


def test_streams_are_of_seed_run_name_and_sample():
    """The same bits alone and in any batch, and others for another name, run or seed: correlations of independent streams are 1/√n."""
    sensors = [S.Gyro("probe", noise=0.1, walk=0.01), S.Gyro("probe", noise=0.1, name="other"), S.StarTracker("probe", noise=1e-3)]
    simulator = at_rest(sensors)
    alone = simulator.run(*REST, 500.0, parameters={"noise.run": 2.0}).signals
    batch = simulator.run(np.tile(REST[0], (5, 1)), REST[1], 500.0, parameters={"noise.run": np.arange(5.0)}).signals
    for name in ("gyro", "other", "star_tracker.q"):
        np.testing.assert_array_equal(alone[name], batch[name][2])
    z = [batch["other"][k].ravel() for k in range(3)] + [(batch["gyro"] - batch["gyro"].mean(axis=1, keepdims=True))[0].ravel()]
    z += [simulator.run(*REST, 500.0, parameters={"noise.seed": 7.0}).signals["other"].ravel()]
    correlation = np.corrcoef(z) - np.eye(len(z))
    assert np.abs(correlation).max() < 4.5 / np.sqrt(len(z[0]))
    e = quaternion.log(quaternion.product(quaternion.conjugate(batch["star_tracker.true.q"]), batch["star_tracker.q"])).reshape(-1, 3)
    np.testing.assert_allclose(e.std(axis=0), 1e-3, rtol=4.5 / np.sqrt(2 * len(e)))


def test_a_campaign_has_the_same_noise_in_any_chunks(tmp_path):
    simulator = at_rest([S.Gyro("probe", noise=0.1, walk=0.01), S.StarTracker("probe", noise=1e-3)])
    metrics = {"rate": lambda run: run.signals["gyro"][-1, 1], "turn": lambda run: run.signals["star_tracker.q"][-1, 2]}
    made = [engine.Campaign(simulator, *REST, 5.0, 7, 3, {}, metrics=metrics, chunk=k).run(tmp_path / f"{k}") for k in (1, 3, 7)]
    for name in metrics:
        assert len(set(made[0](name))) == 7
        for other in made[1:]:
            np.testing.assert_array_equal(other(name), made[0](name))


def test_what_has_no_noise_draws_none_until_a_run_has_some():
    """A row of a batch with noise has that of a sensor that has it always, other parts' numbers are the same, and plain Python agrees."""
    none, all_ = (at_rest([S.IMU("probe", rate={"noise": x}, force={"noise": 0.1})]) for x in (0.0, 0.2))
    more = {"imu.rate.noise": np.array([[0.0] * 3, [0.2] * 3]), "noise.run": 0}
    found = none.run(np.tile(REST[0], (2, 1)), REST[1], 9.0, parameters=more).signals
    said = all_.run(*REST, 9.0).signals
    assert not found["imu.rate"][0].any()
    np.testing.assert_array_equal(found["imu.rate"][1], said["imu.rate"])
    for row in (0, 1):
        np.testing.assert_array_equal(found["imu.force"][row], said["imu.force"])
    plain = at_rest([S.IMU("probe", force={"noise": 0.1})], compiled=False).run(*REST, 9.0).signals
    np.testing.assert_allclose(plain["imu.force"], said["imu.force"], rtol=1e-13)


def test_a_star_tracker_is_blind_towards_the_sun_and_the_planet():
    from engine.space import GravityField, ReferenceOrbit

    frame = ReferenceOrbit((7e6, 0, 0), (0, 7546.0, 0), GravityField())
    own = {"radius": 6378e3, "avoid": [("planet", 0.1), ((0, 1.0, 0), 0.5)]}
    sensors = [S.StarTracker("probe", np.block([[so3.exp(w), np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]]), name=name, **own)
               for name, w in (("up", [0, np.pi / 2, 0]), ("down", [0, -np.pi / 2, 0]), ("sun", [-np.pi / 2, 0, 0]), ("side", [0.0, 0, 0]))]
    s = engine.Simulator(body(), dt=1.0, gravity=(0, 0, 0), frame=frame, sensors=sensors).run(*REST, 1.0).signals
    assert [s[f"{n}.valid"][0] for n in ("up", "down", "sun", "side")] == [1.0, 0.0, 0.0, 1.0]


def flat(vdot):
    return vdot[:3]


def test_functions_may_feel_too():
    """A sensor of the user's own: a plain function that asks for accelerations, with a truth that nobody reads."""

    def mine(vdot, noise):
        return {"read": vdot[3:] + 0.1 * noise(3), "true": vdot[3:]}

    def control(mine):
        return np.concatenate([np.zeros(3), [1.0, 0, 0] - 0.0 * mine.read])

    s = at_rest([mine], dt=0.1, controller=control).run(*REST, 1.0).signals
    np.testing.assert_allclose(s["mine.true"][1:, 0], 1.0 / 3.0)
    assert 0.01 < np.abs(s["mine.read"] - s["mine.true"]).max() < 0.6
    with pytest.raises(engine.SimulationError, match=r"reads 'mine.true'"):
        at_rest([mine], controller=lambda mine: mine.true)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: at_rest([S.Gyro("prob")]), "no link 'prob'.*did you mean 'probe'"),
    (lambda: at_rest([S.Gyro("probe", period=0.01)]), "period 0.01 s of gyro is shorter than dt 1 s"),
    (lambda: at_rest([S.Gyro("probe"), S.Gyro("probe")]), "two signals are named 'gyro'"),
    (lambda: S.Gyro("probe", noise=-1.0), "gyro: noise is -1.0; expected numbers from 0"),
    (lambda: S.Gyro("probe", bias=[1.0, 2.0]), r"gyro: bias is \[1.0, 2.0\]; expected a number, or as many as are read \(3,\)"),
    (lambda: S.Gyro("probe", limit=0.0), "gyro: limit is 0.0; expected numbers above 0"),
    (lambda: S.Gyro("probe", np.eye(3)), "gyro: placement is .*; expected a place"),
    (lambda: S.Gyro("probe", nosie=1e-4), r"Gyro takes no 'nosie' \(did you mean 'noise'\?\); expected some of link, placement, period"),
    (lambda: S.Encoder("hip", joint="hip"), r"Encoder takes no 'joint' \(did you mean 'joints'\?\)"),
    (lambda: S.ForceTorque("probe", noise=0.1),
     r"ForceTorque takes no 'noise': errors are of its parts; expected force=\{'noise': …\} or moment=\{'noise': …\}"),
    (lambda: S.GPS("probe", nois=2.0), r"GPS takes no 'nois': errors are .* position=\{'noise': …\} or velocity=\{'noise': …\}"),
    (lambda: S.IMU("probe", integrated=True), r"IMU takes no 'integrated' \(did you mean 'integrating'\?\)"),
    (lambda: S.AttitudeFilter(1e-5, 0.0, 1e-5, 0.1, star_nois=1.0), r"AttitudeFilter takes no 'star_nois' \(did you mean 'star_noise'"),
    (lambda: at_rest([], laws=[S.Gyro("probe")]), "a law is <Gyro 'gyro'>, a sensor; expected it among sensors="),
    (lambda: at_rest([S.Gyro("probe")], parameters={"gyro.noise": -np.ones(3)}), "parameter 'gyro.noise' is .*; expected numbers from 0"),
    (lambda: at_rest([S.GPS("probe")]).run(*REST, 1.0, parameters={"gps.position.noise": [1.0, -1.0, 1.0]}),
     r"parameter 'gps.position.noise' is \[1.0, -1.0, 1.0\]; expected numbers from 0"),
    (lambda: (s := at_rest([S.Gyro("probe")])).step(s.start(*REST), parameters={"gyro.noise": [0.0, 0.0, -1.0]}),
     r"parameter 'gyro.noise' is \[0.0, 0.0, -1.0\]; expected numbers from 0"),
    (lambda: at_rest([S.Gyro("probe", quantum=0.1)]).run(*REST, 1.0, parameters={"gyro.quantum": np.zeros((2, 3))}),
     "parameter 'gyro.quantum' is .*; expected numbers above 0"),
    (lambda: S.IMU("probe", rate={"nois": 1.0}), r"imu: rate has no error 'nois' \(did you mean 'noise'\?\)"),
    (lambda: S.Range("probe", to=3.0), "range: to is 3.0; expected a link, or a plane"),
    (lambda: S.Camera("probe", {}), "camera: points are none"),
    (lambda: S.Magnetometer("probe", [1.0, 2.0]), "magnetometer: field is .*; expected three numbers"),
    (lambda: S.Encoder([]), "encoder: joints are none"),
    (lambda: at_rest([S.ForceTorque("probe")], dt=1e-3), "wrist: nothing carries 'probe', which floats"),
    (lambda: at_rest([S.Encoder("hip")]), "no joint 'hip'"),
    (lambda: at_rest([S.Gyro("probe", latency=2000.0)]), "is 2000 of its periods"),
    (lambda: at_rest([], laws=[lambda t: t]), "a law is named '<lambda>'"),
    (lambda: at_rest([], controller=lambda t, q, v, vdt: v), "asks for 'vdt'"),
    (lambda: at_rest([], parameters={"gyro.bias": np.zeros(3)}), "nothing reads the parameter 'gyro.bias'"),
    (lambda: at_rest([S.Gyro("probe")], parameters={"gyro.bias": [1.0, 2.0]}), r"parameter 'gyro.bias' has shape \(2,\); expected \(3,\)"),
    (lambda: engine.Simulator(body(collisions=[engine.Geometry("sphere", (0.1,))]), contacts=engine.Contacts(ground=engine.HalfSpace()),
                              sensors=[S.IMU("probe", integrating=True)]), "'imu' integrates what it observes in flight, which impulses"),
])  # fmt: skip
def test_what_is_refused(make, text):
    with pytest.raises(engine.EngineError, match=text):
        make()


def test_every_sensor_is_tried():
    """By its name, in some file of this folder."""
    texts = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    kinds = [name for name in S.__all__ if isinstance(x := getattr(S, name), type) and issubclass(x, S.Sensor) and not x.__subclasses__()]
    assert not [name for name in kinds if f"{name}(" not in texts]
