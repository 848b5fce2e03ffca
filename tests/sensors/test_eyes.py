"""Eyes: distances and depths by geometry, by MuJoCo's rays, in simulations, batches, environments and plain; what files say of them."""

import numpy as np
import pytest
import trimesh

import engine
from engine import sensors as S
from engine.model import Geometry
from engine.spatial import inertia, se3, so3

BALL, GROUND = np.array([3.0, 0.0, 0.5]), se3.pose(np.eye(3), np.array([0.0, 0.0, -0.4]))
AHEAD = S.looking((0.1, 0.0, 0.2), toward=(1, 0, 0))


def cart(**more):
    """A cart that rolls along x towards a ball, before a wall at x = 5."""
    b = engine.Builder("yard")
    wall = Geometry("box", (0.2, 8.0, 2.0), se3.pose(np.eye(3), np.array([5.1, 0.0, 0.0])))
    b.add_link("yard", collisions=[wall, Geometry("sphere", (0.5,), se3.pose(np.eye(3), BALL))])
    b.add_link("cart", inertia=inertia.box(2.0, (0.4, 0.3, 0.2)), collisions=[Geometry("box", (0.4, 0.3, 0.2))])
    b.add_link("mast", inertia=inertia.box(0.1, (0.1, 0.1, 0.3)), collisions=[Geometry("box", (0.1, 0.1, 0.3))])
    b.add_joint("roll", "prismatic", "yard", "cart", axis=(1, 0, 0))
    b.add_joint("pan", "revolute", "cart", "mast", axis=(0, 0, 1))
    return b.model(floating_base=False)


CART = cart()
Q = np.array([0.3, 0.0])


def test_the_distance_to_a_ball_is_its_geometry():
    """Law: |p + t d − c| = r, at any direction; what is not met reads the most."""
    lidar = S.Lidar("mast", np.linspace(-0.3, 0.3, 41), np.linspace(-0.2, 0.3, 31), (0.1, 0, 0.2), max_range=4.0, ignore=["cart"])
    t, o = lidar.look(CART, Q), np.array([0.4, 0.0, 0.2])
    ends = o + lidar.points(t)
    b = lidar.rays @ (o - BALL)
    room = b * b - (o - BALL) @ (o - BALL) + 0.25
    on = (room > 0.0).reshape(t.shape)
    np.testing.assert_allclose(np.linalg.norm(ends - BALL, axis=-1)[on], 0.5, rtol=1e-14)
    assert (t[~on] == 4.0).all() and 0.2 < on.mean() < 0.9


def test_the_depth_of_a_plane_seen_obliquely_is_exact():
    """Law: along a camera's ray z n·d = offset − n·p; and the points of all depths lie in the plane, turned into the world."""
    camera = S.DepthCamera("mast", 33, 21, 0.9, S.looking((0.1, 0, 0.2), toward=(1, 0.3, -0.8)), far=30.0, ignore=["cart"])
    depth = camera.look(CART, [[0.3, 0.0], [-4.0, 0.4]], GROUND)
    for q, z in zip(([0.3, 0.0], [-4.0, 0.4]), depth, strict=True):
        T = engine.dynamics.forward_kinematics(CART, np.array(q))[2] @ camera.placement
        world = camera.points(z) @ T[:3, :3].T + T[:3, 3]
        plane = ((-0.4 - T[2, 3]) / (camera.rays @ T[2, :3])).reshape(z.shape)
        on = np.abs(world[..., 2] + 0.4) < 1e-9
        np.testing.assert_allclose(z[on], plane[on], rtol=1e-14)
        np.testing.assert_array_equal(z, camera.look(CART, q, GROUND))         # alone as in a batch
        assert on.mean() > 0.5
    u, v = camera.intrinsics @ [0.2, -0.1, 1.0] @ np.eye(3)[:, :2]
    i, j = int(v), int(u)
    assert np.abs(camera.rays.reshape(21, 33, 3)[i, j, :2] - [0.2, -0.1]).max() <= 0.5 / camera.focal


SCENE = """<mujoco><option gravity="0 0 0"/><asset><mesh name="ring" file="ring.stl"/></asset><worldbody>
  <geom type="plane" size="0 0 1" pos="0 0 -1.3"/>
  <body name="eye" pos="0 0 0.2" euler="10 -20 30"><joint name="turn" axis="0 0 1"/><geom size="0.15" mass="1"/>
    <site name="s" pos="0.1 0 0.1" euler="20 70 0"/></body>
  <body pos="2 0 0"><geom size="0.4"/></body><body pos="-1.5 0.5 0.3" euler="30 20 10"><geom type="box" size="0.3 0.4 0.5"/></body>
  <body pos="0 2 0" euler="50 0 20"><geom type="cylinder" size="0.3 0.5"/></body>
  <body pos="0.3 -2 0.1" euler="10 80 0"><geom type="capsule" size="0.25 0.5"/></body>
  <body pos="-1.6 -1.6 0" euler="10 40 0"><geom type="ellipsoid" size="0.3 0.5 0.7"/></body>
  <body pos="1.5 1.5 0.4" euler="40 20 0"><geom type="mesh" mesh="ring"/></body>
</worldbody><sensor><rangefinder name="range" site="s"/><rangefinder name="short" site="s" cutoff="0.5" noise="0.1"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A scene of every shape, and MuJoCo's of the same."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path_factory.mktemp("scene") / "scene.xml"
    trimesh.creation.torus(0.5, 0.2, 16, 8).export(path.parent / "ring.stl")
    path.write_text(SCENE)
    m = mujoco.MjModel.from_xml_path(str(path))
    return engine.load(path), m, mujoco.MjData(m)


def test_rays_are_mujocos(scene):
    """Outside reference: mj_multiRay from the same place, without the eye's own body; distances to 1e-9."""
    import mujoco

    model, m, d = scene
    lidar = S.Lidar("eye", np.linspace(-np.pi, np.pi, 120, endpoint=False), np.linspace(-1.4, 1.4, 60), (0.02, 0.01, 0.0))
    d.qpos[0] = 0.3
    mujoco.mj_forward(m, d)
    i, n = m.body("eye").id, lidar.rays.shape[0]
    R = d.xmat[i].reshape(3, 3)
    met, far = np.zeros(n, np.int32), np.zeros(n)
    mujoco.mj_multiRay(m, d, d.xpos[i] + R @ [0.02, 0.01, 0.0], np.ascontiguousarray(lidar.rays @ R.T).ravel(), None, 1, i, met, far, None,
                       n, 100.0)  # fmt: skip
    ours = lidar.look(model, [0.3], se3.pose(np.eye(3), np.array([0.0, 0.0, -1.3]))).ravel()
    assert {*met} == {-1, 0, 2, 3, 4, 5, 6, 7}
    np.testing.assert_allclose(ours, np.where(far < 0.0, 100.0, np.minimum(far, 100.0)), rtol=1e-9, atol=1e-9)


def test_mjcf_range_finders_are_mujocos(scene):
    import mujoco

    model, m, d = scene
    far, short = S.of(model)
    assert (far.link, short.far, short.parameters["short.noise"]) == ("eye", 0.5, 0.1)
    contacts = engine.Contacts(engine.HalfSpace(offset=-1.3), pairs=[("world", "eye")])
    run = engine.Simulator(model, dt=0.02, sensors=[far, short], contacts=contacts).run([0.0], [1.5], 4.0, record_every=4)
    seen = 0
    for k, q in enumerate(run.q):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        reading = d.sensordata[0]
        assert run.signals["range"][k] == pytest.approx(1e6 if reading < 0.0 else reading, rel=1e-9)
        seen += reading > 0.0
    assert seen > 5
    assert run.signals["short"].max() <= 0.5 == run.signals["short.true"].max()


TOUCH = engine.Contacts(engine.HalfSpace(offset=-0.4), pairs=[("world", "cart")])


def driven(range_finder, v):
    return np.array([8.0 * (range_finder - 1.0) - 8.0 * v[0], 0.0])


@pytest.fixture(scope="module")
def eyes():
    return [S.RangeFinder("cart", (0.2, 0, 0), direction=(1, 0, 0.05), period=0.05, noise=0.01, quantum=0.001),
            S.DepthCamera("mast", 12, 8, 0.8, AHEAD, far=8.0, period=0.1, name="depth"),
            S.Lidar("mast", np.linspace(-1, 1, 9), (-0.3, 0.0), (0.1, 0, 0.2), period=0.05, latency=0.05, bias=0.02)]  # fmt: skip


@pytest.fixture(scope="module")
def simulator(eyes):
    return engine.Simulator(CART, dt=0.01, sensors=eyes, controller=driven, contacts=TOUCH)


def test_laws_read_them_and_the_car_stops_before_the_ball(simulator, eyes):
    run = simulator.run([0.0, 0.0], [0.0, 0.0], 6.0)
    s = run.signals
    assert (s["depth"].shape, s["lidar"].shape, s["range_finder"].shape) == ((601, 8, 12), (601, 2, 9), (601,))
    assert s["range_finder.true"][-1] == pytest.approx(1.0, abs=0.03)
    noise = (s["range_finder"] - s["range_finder.true"])[::5]
    assert 0.005 < noise.std() < 0.02
    np.testing.assert_allclose(s["range_finder"] / 0.001, np.round(s["range_finder"] / 0.001), atol=1e-9)
    t, depth = eyes[1].frames(run)                                             # second route: cast after the run, in a batch
    np.testing.assert_array_equal(t, 0.1 * np.arange(61))
    np.testing.assert_allclose(depth, s["depth"][::10], rtol=1e-11)
    assert (s["depth"][..., -1, 0] < 8.0).all() and "depth.true" not in s      # the ground; without errors the truth is what is read
    lidar = eyes[2].look(CART, run.q, run.ground)
    np.testing.assert_allclose(s["lidar.true"][5::5][:-1], lidar[:-5:5][:-1], rtol=1e-11)      # a period late
    there = lidar[0] < 100.0
    np.testing.assert_allclose(s["lidar"][5][there], lidar[0][there] + 0.02, rtol=1e-11)
    assert (s["lidar"][5][~there] == 100.0).all()


@pytest.mark.filterwarnings("ignore:.*have the same noise")
def test_plain_is_compiled_and_a_rollout_is_the_same_alone_and_in_a_batch(simulator, eyes):
    alone = simulator.run([0.1, 0.2], [0.5, -1.0], 0.3)
    many = simulator.run([[0.0, 0.0], [0.1, 0.2]], [[0.0, 0.0], [0.5, -1.0]], 0.3)
    plain = engine.Simulator(CART, dt=0.01, sensors=eyes, controller=driven, contacts=TOUCH,
                             compiled=False).run([0.1, 0.2], [0.5, -1.0], 0.3)  # fmt: skip
    for name in ("range_finder", "depth", "lidar"):
        np.testing.assert_array_equal(many.signals[name][1], alone.signals[name])
        np.testing.assert_allclose(plain.signals[name], alone.signals[name], rtol=1e-9)


def test_a_law_that_reads_them_has_slopes():
    """Second route: differences of what is read; x⁺ of the cart by x is what the force on it gives."""
    lidar = S.Lidar("mast", np.linspace(-0.1, 0.1, 3), (0.05,), (0.1, 0.0, 0.2), ignore=["cart"])
    simulator = engine.Simulator(CART, dt=0.01, sensors=[lidar], controller=lambda t, q, v, lidar: np.array([lidar[0] - v[0], 0.0]))
    A, _ = simulator.linearize(Q, [0.0, 0.0])
    h = 1e-6
    slope = (lidar.look(CART, Q + [h, 0.0]) - lidar.look(CART, Q - [h, 0.0]))[0] / (2.0 * h)
    m = float(CART.link("cart").mass + CART.link("mast").mass)
    assert A[2, 0] == pytest.approx(0.01 * slope / m, rel=5e-3) and slope < -1.0     # to a step's damping


def test_recordings_have_them(simulator, tmp_path):
    run = simulator.run([0.0, 0.0], [1.0, 0.0], 0.2)
    back = engine.load_trajectory(run.save(tmp_path / "run.h5"))
    np.testing.assert_array_equal(back.signals["depth"], run.signals["depth"])


def test_environments_observe_depths():
    gymnasium = pytest.importorskip("gymnasium")
    del gymnasium
    from engine.gymnasium import VectorEnv

    camera = S.DepthCamera("mast", 8, 6, 0.8, AHEAD, far=8.0, name="depth")
    simulator = engine.Simulator(CART, dt=0.02, sensors=[camera], controller=lambda t, q, v, action: np.array([action[0], 0.0]),
                                 parameters={"action": np.zeros(1)})  # fmt: skip
    env = VectorEnv(simulator, 3, lambda t, q, v, depth: np.concatenate([depth.ravel(), q]), lambda t, q, v: -q[0],
                    reset=lambda random: (np.array([1.0, 0.4]) * random.uniform(2), np.zeros(2)), horizon=2.0)  # fmt: skip
    env.reset(seed=1)
    for _ in range(3):
        seen = env.step(np.ones((3, 1)))[0]
    depth, q = seen[:, :-2].reshape(3, 6, 8), seen[:, -2:]
    held = camera.look(CART, q)                                                # sampled at the beginning of the last step
    np.testing.assert_allclose(depth[:, 2:4, 3:5], held[:, 2:4, 3:5], atol=0.02)


def test_flat_transparent_and_missing_shapes(tmp_path):
    b = engine.Builder("window")
    glass, plate = engine.Material("glass", (1.0, 1.0, 1.0, 0.0)), se3.pose(np.eye(3), np.array([2.0, 0.0, 0.0]))
    flat = Geometry("box", (0.0, 1.0, 1.0), plate)
    hills = Geometry("heightfield", (2.0, 2.0), se3.pose(so3.exp([0, -np.pi / 2, 0]), np.array([3.0, 0, 0])), heights=np.full((3, 3), 0.25))
    b.add_link("window", visuals=[Geometry("sphere", (0.5,), se3.pose(np.eye(3), np.array([1.0, 0, 0])), material=glass), flat, hills])
    b.add_link("eye", collisions=[Geometry("sphere", (1.0,))])
    b.add_joint("j", "prismatic", "window", "eye")
    model = b.model(floating_base=False)
    lidar = S.Lidar("eye", [0.0, 0.0], [0.0, np.arctan(0.3)], max_range=9.0)
    np.testing.assert_allclose(lidar.look(model, [0.0])[:, 0], [2.0, 2.75 / np.cos(np.arctan(0.3))], rtol=1e-14)
    b.graph.nodes["eye"]["link"] = engine.Link("eye", visuals=[Geometry("mesh", (1, 1, 1), fault="'no.stl' is not there")])
    with pytest.warns(engine.SimulationWarning, match="a mesh of 'window' is not seen by its sensors: link 'eye': .*'no.stl' is not there"):
        S.Lidar("window", [0.0]).look(b.model(floating_base=False), [0.0])


def test_a_camera_within_a_body_is_warned_of():
    said = r"depth_camera on 'mast' lies within a shape of 'cart', which is all that it sees; expected .* or ignore=\['cart'\]"
    with pytest.warns(engine.SimulationWarning, match=said):
        depth = S.DepthCamera("mast", 8, 6).look(CART, Q)
    assert depth.max() < 0.2                                                   # from within
    S.DepthCamera("mast", 8, 6, near=0.3).look(CART, Q)                        # which sees from beyond its walls on


@pytest.mark.parametrize(("make", "said"), [
    (lambda: S.RangeFinder("mast", direction=(0, 0, 0)), "direction is .*; expected three numbers, not all zero"),
    (lambda: S.RangeFinder("mast", max_range=0.0), "range_finder: max_range is 0.0; expected m, more than min_range, which is 0"),
    (lambda: S.RangeFinder("mast", min_range=-1.0), "min_range is -1.0; expected m from 0"),
    (lambda: S.RangeFinder("mast", noise=-1.0), "noise is -1.0; expected numbers from 0"),
    (lambda: S.RangeFinder("mast", ignore="cart"), "ignore is 'cart'; expected names of links"),
    (lambda: S.Lidar("mast", []), "lidar: azimuths is .*; expected angles .n., rad, one at least"),
    (lambda: S.Lidar("mast", [np.nan]), "azimuths holds NaN or infinity; expected finite numbers"),
    (lambda: S.DepthCamera("mast", fov=np.pi), "depth_camera: fov is 3.14.*; expected an angle between 0 and π, rad"),
    (lambda: S.DepthCamera("mast", near=2.0, far=2.0), "far is 2.0; expected m, more than near, which is 2"),
    (lambda: S.DepthCamera("mast", width=0), "width is 0; expected pixels from 1"),
    (lambda: S.looking((0, 0, 0), (0, 0, 1)), "expected a place .3., and two directions that differ"),
    (lambda: S.DepthCamera("mast", 10000, 10000).look(CART, np.zeros((200, 2))), "GiB, and this machine has .*; expected fewer"),
    (lambda: S.DepthCamera("mast").look(CART, [0.0]), r"q has shape \(1,\); expected \(\.\.\., 2\), configurations of 'yard'"),
    (lambda: S.DepthCamera("mast").points(np.zeros((3, 3))), r"readings have shape \(3, 3\); expected \(\.\.\., 48, 64\)"),
    (lambda: S.DepthCamera("must").look(CART, Q), "no link 'must'|must"),
    (lambda: S.RangeFinder("mast", ignore=["crat"]).look(CART, Q), "crat"),
    (lambda: engine.Simulator(CART, sensors=[S.DepthCamera("mast", 640, 480)]), "has 307200 rays, .*; expected 20000 at most"),
    (lambda: engine.Simulator(CART, sensors=[S.Lidar("must", [0.0])]), "must"),
])  # fmt: skip
def test_what_cannot_be_is_said_in_a_sentence(make, said):
    with pytest.raises(engine.EngineError, match=said):
        make()


def test_sdf_says_rays_ranges_and_pictures():
    model = engine.load_sdf("""<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
      <sensor name="scan" type="gpu_lidar"><update_rate>10</update_rate><pose>0.1 0 0 0 0 0</pose><lidar><scan><horizontal>
      <samples>5</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan><range><min>0.1</min><max>7</max></range>
      <noise><type>gaussian</type><mean>0.02</mean><stddev>0.01</stddev></noise></lidar></sensor>
      <sensor name="depth" type="depth_camera"><camera><horizontal_fov>1.2</horizontal_fov><image><width>32</width>
      <height>24</height></image><clip><near>0.2</near><far>5</far></clip></camera></sensor></link></model></sdf>""")
    scan, depth = S.of(model)
    np.testing.assert_allclose(np.arctan2(scan.rays[:, 1], scan.rays[:, 0]), np.linspace(-1, 1, 5), atol=1e-15)
    assert (scan.near, scan.far, scan.called.law.period, scan.placement[0, 3]) == (0.1, 7.0, 0.1, 0.1)
    assert (scan.parameters["scan.noise"], scan.parameters["scan.bias"]) == (0.01, 0.02)
    assert (depth.shape, depth.near, depth.far) == ((24, 32), 0.2, 5.0)
    assert 2 * np.arctan(16 / depth.focal) == pytest.approx(1.2)
    np.testing.assert_array_equal(depth.placement[:3, 2], [1, 0, 0])           # it looks along x, its pictures' right is −y
    np.testing.assert_array_equal(depth.placement[:3, 0], [0, -1, 0])
