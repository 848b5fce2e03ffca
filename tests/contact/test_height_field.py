"""Uneven ground: against an inclined plane, against MuJoCo, in a furrow, beyond the border, and what is said of it."""

import warnings

import mujoco
import numpy as np
import pytest

import engine
from engine import ops
from engine.geometry import Box, Capsule, HeightField, Sphere, points
from engine.spatial import se3, so3
from tests.contact.scenes import UPRIGHT, ball, block, material

SOFT = {"dissipation": 10.0, "friction": 0.7}


def land(heights, size, placement=np.eye(4)):
    builder = engine.Builder("land")
    shape = engine.Geometry("heightfield", size, heights=heights, placement=placement)
    builder.add_link("land", visuals=[shape], collisions=[shape])
    return builder.model()


def on(ground, robot, surface, **options):
    contacts = engine.Contacts(material=surface, stiction_velocity=options.pop("slow", 1e-4))
    return engine.Simulator(engine.combine(land=ground, robot=robot), contacts=contacts, **options)


def slope(rise, n=5, size=(20.0, 3.0)):
    """Ground that falls along x by ``rise`` a metre."""
    return np.tile(-rise * np.linspace(-0.5, 0.5, n) * size[0], (3, 1)), size


# ---------------------------------------------------------------- physics


@pytest.mark.parametrize("robot", [ball(), block()], ids=["rolls", "slides"])
def test_an_even_slope_is_an_inclined_plane(robot):
    """A second route; where cells meet, the neighbour's plane is the same and the two count as one."""
    rise, surface = np.tan(0.6), material(friction=0.4)
    T = so3.exp(np.array([0.0, 0.6, 0.0]))
    plane = engine.Contacts(engine.HalfSpace(tuple(T[:, 2]), material=surface), material=surface)
    start = [np.cos(0.3), 0.0, np.sin(0.3), 0.0, *(T @ [-0.3, 0.1, 0.05])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = on(land(*slope(rise)), robot, surface).run(start, np.zeros(6), 1.0)
    two = engine.Simulator(robot, contacts=plane).run(start, np.zeros(6), 1.0)
    assert one.q[-1, 4] - start[4] > 0.5
    np.testing.assert_allclose(one.q, two.q, atol=1e-9)
    np.testing.assert_allclose(one.v, two.v, atol=1e-8)


@pytest.mark.parametrize("kind", ["sphere", "capsule"])
@pytest.mark.parametrize("n", [5, 21, 141, 201, 1001])
def test_a_plane_is_a_plane_at_every_cell_size(kind, n):
    """Cells of 1 m to 4 mm under what is 0.2 m thick: the plane's normal alone, its gap to rounding, and each foot counts once."""
    x = np.linspace(-2.0, 2.0, n)
    field, normal = HeightField(0.3 * x[None] - 0.7 * x[:, None], (4.0, 4.0)), np.array([-0.3, 0.7, 1.0]) / np.sqrt(1.58)
    shape = {"sphere": Sphere(0.1), "capsule": Capsule(0.1, 0.3)}[kind]
    for place in np.random.default_rng(n).uniform(-1.0, 1.0, (6, 2)):
        T = se3.pose(so3.exp(np.array([place[0], 1.0, 0.3])), [*place, 0.3 * place[0] - 0.7 * place[1] + 0.2])
        feet = [T[:3, 3]] if kind == "sphere" else [T[:3, 3] + side * T[:3, 2] for side in (-0.15, 0.15)]
        found = points(field, shape, T)
        each = (y.reshape(len(feet), 4, -1) for y in (found.gap, found.normal, found.share))
        for foot, gap, normals, share in zip(feet, *each, strict=True):
            there = gap[:, 0] < 100.0
            np.testing.assert_allclose(gap[there, 0], normal @ foot - 0.1, atol=1e-13)
            np.testing.assert_allclose(normals[there], np.tile(normal, (there.sum(), 1)), atol=1e-12)
            assert abs(share[there].sum() - 1.0) < 1e-12


@pytest.mark.parametrize("cell", [0.02, 0.05, 0.3])
def test_a_ball_meets_the_nearest_of_rough_ground(cell):
    """Ground that is rough along x alone, against the distance from its segments: the least of all, and only least ones."""
    rng, half = np.random.default_rng(3), 1.5
    n = round(2.0 * half / cell) + 1
    x, f = np.linspace(-half, half, n), rng.uniform(0.0, 0.4 * cell, n)
    field = HeightField(np.tile(f, (3, 1)), (2.0 * half, 0.3))
    ends, ways = np.stack([x, f], axis=1), np.diff(np.stack([x, f], axis=1), axis=0)
    for place in rng.uniform(-1.0, 1.0, 20):
        p = np.array([place, np.interp(place, x, f) + 0.09])
        t = np.clip(np.sum((p - ends[:-1]) * ways, axis=1) / np.sum(ways * ways, axis=1), 0.0, 1.0)
        off = np.linalg.norm(p - ends[:-1] - t[:, None] * ways, axis=1)
        found = points(field, Sphere(0.1), se3.pose(np.eye(3), [p[0], 0.01, p[1]]))
        there = found.gap < 100.0
        assert abs(found.gap[there].min() - (off.min() - 0.1)) < 1e-13
        least = ((t > 0.0) & (t < 1.0)) | ((t == 1.0) & (np.append(t[1:], 1.0) == 0.0))
        for gap in found.gap[there]:
            assert np.abs(off[least] - 0.1 - gap).min() < 1e-12


@pytest.mark.parametrize(("friction", "share"), [(0.0, 1.0), (0.5, 5.0 / 7.0)], ids=["slides", "rolls"])
def test_a_ball_comes_down_fine_cells_as_coarse_ones(friction, share):
    """z = 0.3 x in cells of 0.2 m and 0.02 m, 0.1 the ball's radius: a = g sin α, and 5/7 of that where it rolls."""
    angle, surface = np.arctan(0.3), material(1e5, dissipation=10.0, friction=friction)
    start = [*UPRIGHT, 0.53 - 0.1 * np.sin(angle), 0.013, 0.3 * 0.53 + 0.1 * np.cos(angle)]
    ways = []
    for n in (21, 201):
        x = np.linspace(-2.0, 2.0, n)
        sim = on(land(np.tile(0.3 * x, (n, 1)), (4.0, 4.0)), ball(0.1, 1.0), surface)
        ways.append(sim.run(start, np.zeros(6), 0.6, record_every=600).q[-1, 4:] - start[4:])
    assert abs(ways[0][0] / (-0.5 * 9.81 * share * np.sin(angle) * np.cos(angle) * 0.36) - 1.0) < 2e-3  # it begins where it does not sink
    np.testing.assert_allclose(ways[1], ways[0], atol=1e-9)


def test_a_ball_swings_in_a_valley_of_fine_cells_as_of_coarse_ones():
    """z = 0.15 x² in cells of 0.1 m and 0.02 m: they differ by what chords do from the parabola, slopes by 0.15 times a cell."""
    ways = []
    for n in (41, 201):
        x = np.linspace(-2.0, 2.0, n)
        sim = on(land(np.tile(0.15 * x * x, (3, 1)), (4.0, 4.0)), ball(0.1, 1.0), material(1e5, dissipation=1.0, friction=0.0))
        ways.append(sim.run([*UPRIGHT, 1.0, 0.0, 0.255], np.zeros(6), 0.6, record_every=600).q[-1, 4] - 1.0)
    assert abs(ways[1] / ways[0] - 1.0) < 0.02 and ways[0] < -0.3

def test_a_ball_lies_in_a_furrow_on_both_its_sides():
    """Two slopes of 30°: each carries m g / (2 cos 30°), wherever it was let go, and it lies still."""
    n = 41
    x = np.linspace(-1.0, 1.0, n)
    ground = land(np.tile(np.tan(np.pi / 6) * np.abs(x), (2, 1)), (2.0, 2.0))
    surface = material(1e5, **SOFT)
    starts = [[*UPRIGHT, side, 0.3, 0.03] for side in (0.0, 1e-4, -3e-3)]
    run = on(ground, ball(0.02, 1.0), surface).run(starts, np.zeros(6), 2.0, record_every=100)
    force = run("contacts.force")[:, -1]
    assert np.abs(force.sum(axis=1) - [0.0, 0.0, 9.81]).max() < 1e-6
    for size in np.sort(np.linalg.norm(force, axis=2)):
        np.testing.assert_allclose(size, [0.0, 0.0, *[9.81 / (2.0 * np.cos(np.pi / 6))] * 2], rtol=1e-4)
    assert np.abs(run.v[:, -1]).max() < 1e-6 and np.abs(run.q[:, -1, 4]).max() < 1e-3


def test_a_ball_in_a_bowl_swings_as_in_mujoco():
    """A parabola of 81 nodes along x; theirs is made of triangles too."""
    n, width, radius, k = 81, 2.0, 0.05, 0.3
    x = np.linspace(-0.5, 0.5, n) * width
    heights = np.tile(k * x**2, (5, 1))
    scene = f"""<mujoco><option timestep="0.0005" cone="elliptic" impratio="10"/><asset><hfield name="h" nrow="5" ncol="{n}"
      size="{width / 2} 1 {heights.max()} 0.1"/></asset><worldbody><geom type="hfield" hfield="h" friction="1" solref="0.004 1" condim="3"/>
      <body pos="0.4 0 {k * 0.16 + radius * 1.02}"><freejoint/><geom type="sphere" size="{radius}" mass="0.1" friction="1"
      solref="0.004 1" condim="3"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(scene)
    theirs.hfield_data[:] = (heights / heights.max()).ravel()
    data, path = mujoco.MjData(theirs), []
    for _ in range(6000):
        mujoco.mj_step(theirs, data)
        path.append(data.qpos[0])
    sim = on(land(heights, (width, 2.0)), ball(radius), material(1e5, friction=1.0, dissipation=20.0), dt=5e-4)
    ours = sim.run([*UPRIGHT, 0.4, 0.0, k * 0.16 + radius * 1.02], np.zeros(6), 3.0).q[1:, 4]
    path = np.array(path)
    zero = [np.flatnonzero(np.diff(np.sign(p)))[:3] * 5e-4 for p in (ours, path)]
    np.testing.assert_allclose(zero[0], zero[1], rtol=0.02)
    # rolling without slip on z = k x²: near the bottom ẍ = −(5/7) 2 k g x, the centre on a curve of radius 1/(2k) − r
    period = 2.0 * np.pi * np.sqrt(1.4 * (0.5 / k - radius) / 9.81)
    assert abs(2.0 * (zero[0][1] - zero[0][0]) / period - 1.0) < 0.05


def test_without_friction_and_loss_the_energy_stays():
    rng = np.random.default_rng(0)
    surface = material(1e5, 0.0, 0.0)
    sim = on(land(rng.uniform(0.0, 0.03, (12, 12)), (3.0, 3.0)), ball(0.02, 0.1), surface, dt=1e-4)
    run = sim.run([*UPRIGHT, 0.1, 0.05, 0.2], [0, 0, 0, 0.4, 0.3, 0.0], 1.0, record_every=10)
    E = sum(run.energy()) + run("contacts.energy")
    assert np.ptp(run("contacts.gap")[:, 0]) > 0.05 and np.abs(run("contacts.force")).max() > 1.0
    flies = run("contacts.gap").min(axis=1) > 0.0
    assert np.abs(E[flies] / E[0] - 1.0).max() < 0.01


# ---------------------------------------------------------------- where it is looked at


def test_beyond_its_border_and_over_a_summit_it_is_not_missed():
    """Far outside, and where the sphere about the middle of the field says nothing of its summit."""
    heights = np.zeros((9, 9))
    heights[6, 2] = 5.0
    T = se3.pose(np.eye(3), [1.0, 2.0, -0.5])
    sim = on(land(heights, (4.0, 4.0), T), ball(), material(1e6, **SOFT))
    for x, y, floor in ((60.0, -80.0, -0.5), (1.9, 0.1, -0.5)):
        run = sim.run([*UPRIGHT, x, y, 0.4], np.zeros(6), 1.5, record_every=500)
        assert abs(run.q[-1, 6] - (floor + 0.05)) < 1e-4, (x, y)
    top = sim.run([*UPRIGHT, 0.0, 3.0, 5.0], np.zeros(6), 0.6)
    assert np.abs(top("contacts.force")).max() > 1.0                           # the spike is met at its height


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_its_points_have_derivatives(kind):
    """Gaps along a ball's, a capsule's and a box's way, against differences."""
    field = HeightField(np.random.default_rng(2).uniform(0.0, 0.1, (5, 6)), (2.0, 2.0))
    shape = {"sphere": Sphere(0.1), "capsule": Capsule(0.05, 0.2), "box": Box((0.2, 0.1, 0.1))}[kind]

    def gaps(d):
        T = se3.exp(d) @ se3.pose(so3.exp(np.array([0.3, 0.2, 0.1])), np.array([0.11, 0.07, 0.15]))
        g = points(field, shape, T).gap
        return ops.where(g < 1.0, g, 0.0)

    J, h = engine.jacobian(gaps)(np.zeros(6)), 1e-6
    differences = np.stack([(gaps(h * e) - gaps(-h * e)) / (2 * h) for e in np.eye(6)], axis=1)
    np.testing.assert_allclose(J, differences, atol=1e-8)
    assert np.abs(J).max() > 0.1


@pytest.mark.parametrize(("grid", "robot", "z"), [
    ((6, 5), block((0.3, 0.2, 0.1)), 0.075), ((41, 51), ball(0.2), 0.247),
], ids=["block", "ball"])  # fmt: skip
def test_plain_compiled_and_in_batch(grid, robot, z):
    rng = np.random.default_rng(1)
    ground = land(rng.uniform(0.0, 0.05, grid), (2.0, 2.0))
    sim = on(ground, robot, material())
    q0, v0 = np.array([*UPRIGHT, 0.1, 0.05, z]), np.array([0.3, -0.2, 0.5, 0.1, 0.0, -0.3])
    plain = on(ground, robot, material(), compiled=False).run(q0, v0, 0.006)
    one, three = sim.run(q0, v0, 0.006), sim.run(np.stack([q0 + [0, 0, 0, 0, 0, 0, 1.0], q0, q0]), v0, 0.006)
    assert np.abs(plain("contacts.force")).max() > 1.0
    np.testing.assert_allclose(one.q, plain.q, atol=1e-9)
    np.testing.assert_array_equal(three.q[2], three.q[1])
    np.testing.assert_allclose(one.q, three.q[1], atol=1e-12)


# ---------------------------------------------------------------- what is said


def test_what_is_told():
    flat = np.zeros((30, 30))
    with pytest.warns(engine.SimulationWarning, match=r"a shape 0.3 m wide may stand on a height field with cells of 0.0345 m"):
        on(land(flat, (1.0, 1.0)), block(), material())
    with pytest.warns(engine.SimulationWarning, match="the cells about those nearest to its middle alone are looked at"):
        on(land(np.zeros((300, 300)), (1.0, 1.0)), ball(), material())
    builder = engine.Builder("raft")
    builder.add_link("raft", inertia=np.eye(6), collisions=[engine.Geometry("heightfield", (1.0, 1.0), heights=np.zeros((2, 2)))])
    with pytest.raises(engine.ContactError, match=r"'robot/raft' of .* moves, and has a height field; expected it on a link that stands"):
        on(land(flat, (100.0, 100.0)), builder.model(floating_base=True), material())
    with pytest.raises(engine.ContactError, match="expected a HalfSpace, or None; a height field is a shape of a link"):
        engine.Contacts(ground=engine.Geometry("heightfield", (1.0, 1.0), heights=np.zeros((2, 2))))
