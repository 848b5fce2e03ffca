"""Marks are where the mechanics says: frames, axes, centres of mass, inertias, momenta, forces and trails."""

from __future__ import annotations

import time

import numpy as np
import pytest
import trimesh

import engine
from engine import ContactMaterial, Contacts, HalfSpace, dynamics
from engine.model import Builder, Geometry, Model
from engine.simulation import Simulator, Trajectory, actuators, forces
from engine.simulation.live import Live
from engine.spatial import inertia, se3, so3
from engine.viewer.scene import Actor, Played, Scene, Shown, ViewerError
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.errors import ViewerWarning
from engine.viewer.scene.marks import ARROW, mark
from engine.viewer.scene.quantities import MOST, ellipsoid
from engine.viewer.scene.symbols import LONG, WIDEST, Symbols, arc, cone, quartered, stick
from tests.viewer.mechanism import mechanism, motion

MECHANISM = mechanism()
MOTION = motion(MECHANISM)
SIZE = 0.9                                                                     # more or less, of the mechanism, m


def instances(drawing: Drawing, name: str) -> np.ndarray:
    """Poses (n, 4, 4) of the marks that are instances of a surface, by its name."""
    which = [k for k, s in enumerate(drawing.surfaces) if s.name == name]
    return drawing.poses[np.isin(drawing.which, which) & (drawing.numbers == 0)]


def arrows(drawing: Drawing) -> tuple[np.ndarray, np.ndarray]:
    """Where arrows begin and end (n, 3)."""
    return instances(drawing, "stick")[:, :3, 3], instances(drawing, "cone")[:, :3] @ [0.0, 0.0, 1.0, 1.0]


def empty() -> Drawing:
    return Drawing([], np.zeros(0, int), np.zeros((0, 4, 4)), np.zeros((0, 4)), np.zeros(0, int))


def poses(q: np.ndarray, model: Model = MECHANISM) -> np.ndarray:
    return np.array(dynamics.forward_kinematics(model, q))


# ---------------------------------------------------------------- signs


def test_arrows_end_where_they_point_and_heads_are_of_one_size() -> None:
    rng = np.random.default_rng(0)
    tails, vectors = rng.standard_normal((2, 20, 3))
    vectors[0], vectors[1] = [0, 0, -2], [1e-12, 0, 0]
    symbols = Symbols()
    symbols.arrows(tails, vectors, (1, 0, 0, 1), 0.01)
    drawing = symbols.onto(empty())
    starts, ends = arrows(drawing)
    there = np.arange(20) != 1                                                 # no direction, no arrow
    assert np.allclose(starts, tails[there]) and np.allclose(ends, (tails + vectors)[there])
    heads = instances(drawing, "cone")
    assert np.allclose(np.linalg.norm(heads[:, :3, 2], axis=1), 0.01 * LONG) and (np.linalg.det(heads[:, :3, :3]) > 0).all()
    sticks = instances(drawing, "stick")
    assert np.allclose(sticks[:, :3] @ [0, 0, 1, 1], heads[:, :3, 3])          # a shaft ends where its head begins
    assert np.allclose(np.linalg.norm(sticks[:, :3, 0], axis=1), 0.01)


def test_a_short_arrow_is_a_small_one() -> None:
    symbols = Symbols()
    symbols.arrows(np.zeros((2, 3)), np.array([[0, 0, 0.02], [0, 0, 0.04]]), (1, 0, 0, 1), 0.01)
    heads = np.linalg.norm(instances(symbols.onto(empty()), "cone")[:, :3, :3], axis=1)
    assert np.allclose(2 * heads[0], heads[1]) and heads[1, 2] < 0.04


@pytest.mark.parametrize("part", [0.03, 0.3, 0.77, 1.0, -0.5])
def test_arcs_go_counter_clockwise_as_far_as_they_are_strong(part: float) -> None:
    axis = np.array([0.6, 0.0, 0.8])
    T = se3.pose(so3.exp(np.array([0.3, 0.5, -0.2])), np.array([1.0, 2.0, 3.0]))
    symbols = Symbols()
    symbols.arcs(T[None], part * axis[None], 0.2, (1, 0, 0, 1))
    drawing = symbols.onto(empty())
    (head,) = instances(drawing, "cone")
    tip = (np.linalg.inv(T) @ head @ [0, 0, 1, 1])[:3] / 0.2
    around = np.sign(part) * axis
    assert np.isclose(np.linalg.norm(tip), 1.0) and abs(tip @ around) < 1e-9
    foot = (np.linalg.inv(T) @ head @ [0, 0, 0, 1])[:3] / 0.2
    assert np.cross(foot, tip) @ around > 0
    rods = instances(drawing, "arc")
    start = (np.linalg.inv(T) @ rods[0] @ [1, 0, 0, 1])[:3] / 0.2 if len(rods) else foot
    angle = np.arctan2(np.cross(start, tip) @ around, start @ tip) % (2 * np.pi)
    assert np.isclose(angle, WIDEST * abs(part))


def test_signs_are_closed_and_their_normals_point_outwards() -> None:
    for surface in (stick(), cone(), quartered()):
        mesh = trimesh.Trimesh(surface.positions, surface.faces)
        mesh.merge_vertices()
        assert mesh.is_watertight and mesh.volume > 0, surface
    for surface in (stick(), cone(), quartered(), arc(5)):
        corners = surface.positions[surface.faces].astype(float)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((across[:, None] * surface.normals[surface.faces]).sum(axis=2) > 0).all(), surface


# ---------------------------------------------------------------- what they say


def test_ellipsoids_have_the_links_inertia() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        T = se3.pose(so3.exp(rng.standard_normal(3)), rng.standard_normal(3))
        G = inertia.transformed(T, inertia.box(3.0, rng.uniform(0.1, 1.0, 3)))
        E = ellipsoid(G)
        axes = np.linalg.norm(E[:3, :3], axis=0)
        same = inertia.transformed(se3.pose(E[:3, :3] / axes, E[:3, 3]), inertia.ellipsoid(3.0, axes))
        assert np.allclose(same, G, atol=1e-12)
        ball = trimesh.creation.icosphere(4).apply_transform(E)                # and what is drawn, as a solid body, to what its facets lack
        solid = inertia.from_mesh(ball, 3.0 / ball.volume)
        assert np.abs(solid - G).max() < 0.01 * np.abs(G).max()


def test_a_point_mass_and_a_rod_have_flat_ellipsoids() -> None:
    assert not ellipsoid(inertia.from_mass(2.0, np.ones(3), np.zeros((3, 3))))[:3, :3].any()
    rod = np.linalg.norm(ellipsoid(inertia.from_mass(1.0, np.zeros(3), np.diag([1.0, 1.0, 0.0])))[:3, :3], axis=0)
    assert sorted(rod)[:2] == [0.0, 0.0]


def test_frames_are_the_links_and_the_joints() -> None:
    t = 0.3
    q = MOTION.at([t]).q[0]
    T = poses(q)
    starts, ends = arrows(mark(Scene(MOTION), t, Shown(link_frames=("tip",))))
    i = MECHANISM.link_index("tip")
    assert np.allclose(starts, T[i, :3, 3])
    assert np.allclose((ends - starts) / np.linalg.norm(ends - starts, axis=1)[:, None], T[i, :3, :3].T)
    starts, ends = arrows(mark(Scene(MOTION), t, Shown(joint_frames=("arm_joint",))))
    fixed = T[MECHANISM.link_index("base")] @ MECHANISM.joint("arm_joint").placement
    assert np.allclose(starts, fixed[:3, 3]) and np.allclose(np.cross(ends - starts, fixed[:3, :3].T), 0.0)
    assert len(instances(mark(Scene(MOTION), t, Shown(link_frames=True)), "cone")) == 3 * len(MECHANISM.links)


@pytest.mark.parametrize(("joint", "kind"), [("arm_joint", "turns"), ("tip_joint", "slides")])
def test_points_of_an_axis_stay_on_it_when_the_joint_moves(joint: str, kind: str) -> None:
    rng = np.random.default_rng(2)
    q = MECHANISM.random(rng)[0]
    lines = mark(Scene(Actor(MECHANISM, q=q)), 0.0, Shown(joint_axes=(joint,))).lines[0].reshape(-1, 3)
    child = MECHANISM.link_index(MECHANISM.joint(joint).child)
    before = np.linalg.inv(poses(q)[child])
    q[MECHANISM.q_slice(joint)] += 0.4
    moved = (poses(q)[child] @ before @ np.column_stack([lines, np.ones(len(lines))]).T)[:3].T
    along = (lines[-1] - lines[0]) / np.linalg.norm(lines[-1] - lines[0])
    assert len(lines) > 10 and np.allclose(np.cross(lines - lines[0], along), 0.0, atol=1e-9)
    shift = moved - lines
    assert np.allclose(shift, 0.4 * along if shift[0] @ along > 0 else -0.4 * along) if kind == "slides" else np.allclose(shift, 0.0)


def test_centres_of_mass_are_those_of_the_mechanics() -> None:
    t = 0.7
    drawing = mark(Scene(MOTION), t, Shown(centers=True))
    balls = drawing.poses[drawing.numbers == 0]
    assert np.allclose(balls[-1, :3, 3], dynamics.center_of_mass(MECHANISM, MOTION.at([t]).q[0]))
    volume = np.linalg.det(balls[:, :3, :3])
    assert np.allclose(volume[:-1] / volume[-1], 1 / len(MECHANISM.links))    # every link is of 1 kg
    assert (drawing.numbers[drawing.numbers > 0] == np.arange(1, (drawing.numbers > 0).sum() + 1)).all()


def test_momentum_is_that_of_the_mechanics() -> None:
    times = np.linspace(*Scene(MOTION).span, 5)
    lengths = []
    for t in times:
        now = MOTION.at([t])
        P, c = dynamics.momentum(MECHANISM, now.q[0], now.v[0]), dynamics.center_of_mass(MECHANISM, now.q[0])
        starts, ends = arrows(mark(Scene(MOTION), t, Shown(momentum=True)))
        for vector, expected in zip(ends - starts, (P[3:], P[:3] - np.cross(c, P[3:])), strict=True):
            assert np.allclose(np.cross(vector, expected), 0.0, atol=1e-9) and vector @ expected > 0
            lengths.append([np.linalg.norm(vector), np.linalg.norm(expected)])
        assert np.allclose(starts, c)
    ratio = np.array(lengths).reshape(len(times), 2, 2)
    assert np.allclose(ratio[..., 0] / ratio[..., 1], ratio[0, :, 0] / ratio[0, :, 1])     # one scale for the whole motion
    assert 0.5 * SIZE < ratio[..., 0].max() < 0.8 * SIZE


def test_momentum_that_cancels_is_not_drawn() -> None:
    model = MECHANISM
    v = np.tile(np.r_[np.zeros(6), 1.0, 0.5, 3.0], (3, 1))
    q = np.tile(model.neutral(), (3, 1))
    A = dynamics.centroidal_momentum_matrix(model, q[0])
    v[:, :6] = -np.linalg.solve(A[:, :6], A[:, 6:] @ v[0, 6:])
    still = Trajectory(model, MOTION.gravity, np.arange(3.0), q, v, 0 * v, 0 * v)
    assert not len(instances(mark(Scene(still), 1.0, Shown(momentum=True)), "cone"))


def test_torques_turn_and_forces_push_as_they_do_work() -> None:
    tau = np.tile(np.r_[np.zeros(6), 2.0, -3.0, -4.0], (len(MOTION), 1))
    driven = Trajectory(MECHANISM, MOTION.gravity, MOTION.t, MOTION.q, MOTION.v, tau, MOTION.vdot)
    T = poses(MOTION.at([0.5]).q[0])
    drawing = mark(Scene(driven), 0.5, Shown(torques=True))
    starts, ends = arrows(drawing)
    slider = T[MECHANISM.link_index("tip")]
    assert len(starts) == 1 and np.allclose(starts[0], slider[:3, 3])          # one joint slides; the others' arrows are arcs
    assert np.allclose((ends[-1] - starts[0]) / np.linalg.norm(ends[-1] - starts[0]), -slider[:3, 2])
    for k, (link, axis) in enumerate((("arm", [0, 1, 0]), ("wheel", [-1, 0, 0]))):
        foot, tip = (np.linalg.inv(T[MECHANISM.link_index(link)]) @ instances(drawing, "cone")[k] @ [[0, 0], [0, 0], [0, 1], [1, 1]])[:3].T
        assert np.cross(foot, tip) @ axis > 0 and np.isclose(np.linalg.norm(foot), np.linalg.norm(tip))
    assert not len(instances(mark(Scene(MOTION), 0.5, Shown(torques=True)), "cone"))       # nothing drives this one


@pytest.mark.parametrize(("slide", "told"), [(-3.0, ["moments", "joint forces"]), (-1e-4, ["moments"])])
def test_forces_that_are_slight_beside_the_moments_are_not_drawn_as_large(slide: float, told: list[str]) -> None:
    tau = np.tile(np.r_[np.zeros(6), 2.0, slide, -4.0], (len(MOTION), 1))
    driven = Trajectory(MECHANISM, MOTION.gravity, MOTION.t, MOTION.q, MOTION.v, tau, MOTION.vdot)
    drawing = mark(Scene(driven), 0.5, Shown(torques=True))
    assert [text.partition(":")[0] for text, _ in drawing.legend] == told
    assert len(arrows(drawing)[0]) == len(told) - 1


def test_forces_of_contacts_stand_where_they_act() -> None:
    """Under a box at rest four arrows point up from its corners, of a quarter of its weight each, and none stand above it."""
    builder = Builder("box")
    box = Geometry("box", (0.4, 0.4, 0.2))
    builder.add_link("box", inertia=inertia.box(2.0, (0.4, 0.4, 0.2)), visuals=[box], collisions=[box])
    rough = ContactMaterial(dissipation=10.0)
    sim = Simulator(builder.model(floating_base=True), contacts=Contacts(HalfSpace(material=rough), material=rough))
    run = sim.run([1.0, 0, 0, 0, 0, 0, 0.1], np.zeros(6), 1.0, record_every=100)
    drawing = mark(Scene(run), 1.0, Shown(contacts=True))
    (starts, ends), lines = arrows(drawing), drawing.lines[0]
    assert lines.shape == (4, 2, 3) and np.abs(np.linalg.norm(np.diff(lines, axis=1), axis=2) - 0.4).max() < 1e-3     # the face's sides
    corners = np.array([[x, y] for x in (-0.2, 0.2) for y in (-0.2, 0.2)])
    assert len(starts) == 4 and np.abs(starts[np.lexsort(starts[:, 1::-1].T)][:, :2] - corners).max() < 1e-3
    assert np.abs((ends - starts)[:, :2]).max() < 1e-3 and np.ptp((ends - starts)[:, 2]) < 1e-3 < (ends - starts)[:, 2].min()
    size = ARROW * 0.4                                                         # of the box
    assert np.abs((ends - starts)[:, 2] - size).max() < 0.02 * size            # all push alike, and half of all is done by such
    assert all(drawing.surfaces[k] is not quartered() for k in drawing.which)  # dots are no marks of centres of mass
    assert not len(instances(mark(Scene(MOTION), 0.5, Shown(contacts=True)), "cone"))


def test_arrows_of_contacts_are_no_longer_than_twice_those_of_the_forces_that_do_half_of_the_push() -> None:
    """A blow of 900 N, and one newton where it is soft, beside a push of 20 N: 20 N, and twice that at most, however large the blow is."""
    builder = Builder("craft")
    builder.add_link("bus", inertia=inertia.box(2.0, (10.0, 1.0, 1.0)), visuals=[Geometry("box", (10.0, 1.0, 1.0))])
    model = builder.model(floating_base=True)
    force = np.zeros((50, 2, 3))
    force[:, 0, 2], force[3, 1, 0], force[4, 1, 0] = 20.0, 900.0, 1.0
    signals = {"contacts.force": force, "contacts.position": np.zeros((50, 2, 3))}
    q, v = np.tile(model.neutral(), (50, 1)), np.zeros((50, 6))
    run = Trajectory(model, (0, 0, 0), 0.1 * np.arange(50.0), q, v, v, v, signals)
    size = ARROW * 10.0
    for t, lengths in ((0.0, [1.0]), (0.3, [1.0, 2.0]), (0.4, [1.0, 0.05])):
        drawing = mark(Scene(run), t, Shown(contacts=True))
        starts, ends = arrows(drawing)
        np.testing.assert_allclose(np.linalg.norm(ends - starts, axis=1), size * np.array(lengths), rtol=1e-6)
    assert [text for text, _ in drawing.legend] == ["contacts: longest 40 N, larger ones cut"]


@pytest.fixture(scope="module")
def pushed() -> Trajectory:
    """A box with two thrusters, one of which works."""
    builder = Builder("bus")
    builder.add_link("bus", inertia=inertia.box(2.0, [1.0, 1.0, 1.0]), visuals=(Geometry("box", (1.0, 1.0, 1.0)),))
    jets = actuators.Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 2]], most=2.0)
    simulator = Simulator(builder.model(floating_base=True), 0.01, gravity=(0, 0, 0), actuators=[jets],
                          controller=lambda t, q, v: {"thrusters": np.array([t, 0.0])})  # fmt: skip
    return simulator.run(np.array([1.0, 0, 0, 0, 0, 0, 0]), np.array([0.2, 0.4, 0.3, 0, 0, 0]), duration=1.0)


def test_thrust_pushes_where_the_thruster_is(pushed: Trajectory) -> None:
    jets = actuators.Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 2]], most=2.0)
    scene = Scene(pushed)
    for t in (0.5, 1.0):
        starts, ends = arrows(mark(scene, t, Shown(forces=(jets,))))
        T = poses(pushed.at([t]).q[0], pushed.model)[0]
        assert np.allclose(ends, (T @ [0.5, 0, 0, 1])[:3]) and np.allclose(ends - starts, 0.35 * t * T[:3, 1], atol=1e-6)


def test_a_force_pulls_at_its_point(pushed: Trajectory) -> None:
    for axes in ("world", "link"):
        pull = forces.PointForce("bus", force=(0.0, 0.0, 5.0), point=(0.1, 0.2, 0.3), axes=axes)
        starts, ends = arrows(mark(Scene(pushed), 1.0, Shown(forces=(pull,))))
        T = poses(pushed.q[-1], pushed.model)[0]
        assert np.allclose(starts, (T @ [0.1, 0.2, 0.3, 1])[:3])
        assert np.allclose(ends - starts, 0.35 * T[:3, 2] if axes == "link" else [0, 0, 0.35])


def test_forces_have_one_scale_and_a_legend(pushed: Trajectory) -> None:
    """A pull of 5 N beside a thruster of 1 N at most."""
    jets = actuators.Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 2]], most=2.0)
    drawing = mark(Scene(pushed), 1.0, Shown(forces=(jets, forces.PointForce("bus", force=(0.0, 0.0, 5.0)))))
    starts, ends = arrows(drawing)
    assert np.allclose(sorted(np.linalg.norm(ends - starts, axis=-1).ravel())[-2:], [0.07, 0.35])
    assert [text for text, _ in drawing.legend] == ["forces: longest 5 N"]


def test_trails_are_where_the_point_was() -> None:
    t, lasts, point = 0.6, 0.4, np.array([0.0, 0.1, 0.2])
    segments, colors, _ = mark(Scene(MOTION), t, Shown(trails=(("tip", tuple(point)),), trail_time=lasts)).lines
    i = MECHANISM.link_index("tip")

    def at(time: float) -> np.ndarray:
        return (poses(MOTION.at([time]).q[0])[i] @ np.append(point, 1.0))[:3]

    assert np.allclose(segments[-1, 1], at(t)) and np.allclose(segments[1:, 0], segments[:-1, 1])
    assert np.linalg.norm(segments[0, 0] - at(t - lasts)) < 0.02               # a point a hundredth of a second
    for k in np.flatnonzero((MOTION.t > t - lasts + 0.02) & (MOTION.t < t)):
        near = np.linalg.norm(segments[:, 0] - at(MOTION.t[k]), axis=1).min()
        assert near < 0.6 * np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).max()
    assert (np.diff(colors[:, 3]) > 0).all() and colors[0, 3] < 0.05 and colors[-1, 3] > 0.9
    assert not len(mark(Scene(MOTION), MOTION.t[0], Shown(trails=("tip",))).lines[0])


def test_a_simulation_that_runs_is_explained_as_it_goes() -> None:
    builder = Builder("stone")
    builder.add_link("stone", inertia=inertia.box(2.0, [1.0, 1.0, 1.0]), visuals=(Geometry("box", (1.0, 1.0, 1.0)),))
    simulator = Simulator(builder.model(floating_base=True), 0.01, gravity=(0, 0, 0))
    with Live(simulator, [1.0, 0, 0, 0, 0, 0, 0], [0, 0, 0.5, 0.3, 0, 0]) as live:
        deadline = time.monotonic() + 10.0
        while live.state.t < 0.1 and time.monotonic() < deadline:
            time.sleep(0.01)
    scene = Scene(live)
    drawing = mark(scene, live.state.t, Shown(trails=(("stone", (0.5, 0.0, 0.0)),), momentum=True, torques=True))
    assert np.allclose(drawing.lines[0][-1, 1], (poses(live.state.q, live.model)[0] @ [0.5, 0, 0, 1])[:3])
    assert np.allclose(drawing.lines[0][0, 0], [0.5, 0.0, 0.0], atol=0.2) and len(drawing.lines[0]) >= 2
    starts, ends = arrows(drawing)
    lengths = np.linalg.norm(ends - starts, axis=1)
    assert np.allclose((ends - starts) / lengths[:, None], [[1, 0, 0], [0, 0, 1]]) and np.allclose(lengths, 0.6, rtol=0.3)
    scene.actors[0].source = Played(live.history)                             # to look back at it
    first = mark(scene, 0.0, Shown(trails=("stone",), momentum=True))
    assert not len(first.lines[0]) and np.allclose(arrows(first)[0], 0.0)


def test_another_motion_of_the_same_robot_has_its_own_trail_and_scale() -> None:
    scene, shown = Scene(MOTION), Shown(trails=("tip",), momentum=True)
    before = mark(scene, 0.5, shown)
    slow = motion(MECHANISM, scales=(0.25,)).rollout(0)
    scene.actors[0].source = Played(slow)
    after, alone = mark(scene, 0.5, shown), mark(Scene(slow), 0.5, shown)
    assert np.allclose(after.lines[0], alone.lines[0]) and not np.allclose(after.lines[0], before.lines[0])
    assert np.allclose(*(np.diff(arrows(x), axis=0) for x in (after, alone)))


def test_of_a_batch_the_first_are_explained() -> None:
    batch = motion(MECHANISM, scales=tuple(np.linspace(0.1, 1.0, MOST + 10)))
    drawing = mark(Scene(batch), 0.5, Shown(link_frames=("tip",), trails=("tip",), momentum=True, centers=True))
    assert len(instances(drawing, "cone")) == MOST * (3 + 2)
    starts, _ = arrows(drawing)
    T = np.array([poses(x) for x in batch.at([0.5]).q[:MOST, 0]])[:, MECHANISM.link_index("tip"), :3, 3]
    assert np.allclose(starts[: 3 * MOST], np.repeat(T, 3, axis=0))
    last = drawing.lines[0].reshape(MOST, -1, 2, 3)[:, -1, 1]
    assert np.allclose(last, T)


def test_labels_transparency_wireframe_and_what_is_picked() -> None:
    scene = Scene(MOTION)
    plain = scene.drawing(0.0)
    drawing = mark(scene, 0.0, Shown(labels=("arm", "fin"), transparent=True, wireframe=True), (scene.actors[0], 0, "fin"))
    assert [text for _, text, _ in drawing.labels] == ["arm", "fin"] and drawing.wireframe
    assert np.allclose(drawing.colors[:, 3], 0.3 * plain.colors[:, 3])
    fin = [p.link == MECHANISM.link_index("fin") for p in scene.actors[0].parts]
    assert (np.any(drawing.colors[:, :3] != plain.colors[:, :3], axis=1) == fin).all()
    nothing = mark(scene, 0.0, Shown())
    assert len(nothing.which) == len(plain.which) and not len(nothing.lines[0]) and not nothing.labels


def test_a_model_at_rest_has_no_momentum_forces_or_trails() -> None:
    jets = actuators.Thrusters("base", [0, 0, 0], [0, 0, 1], most=1.0)
    drawing = mark(Scene(MECHANISM), 0.0, Shown(momentum=True, torques=True, trails=("tip",), forces=(jets,)))
    assert (drawing.numbers > 0).all() and not len(drawing.lines[0])


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (Shown(link_frames=("tipp",)), "link_frames: no link is named 'tipp' (did you mean 'tip'?); expected names of links"),
        (Shown(torques=("arm",)), "torques: no joint is named 'arm'"),
        (Shown(trails=("hand",)), "trails: no link is named 'hand'"),
        (Shown(trails=(("tip", (0, 0)),)), r"trails: the point of 'tip' is \[0.0, 0.0\]; expected three finite numbers, m"),
        (Shown(trail_time=0.0), "trail_time is 0.0; expected seconds above zero"),
        (Shown(forces=True), "forces is True; expected components in a tuple, such as .thrusters,."),
        (Shown(forces=(forces.JointStops(),)), "forces: got a JointStops; expected Thrusters or PointForce"),
        (Shown(forces=(actuators.Thrusters("base", [0, 0, 0], [0, 0, 1], 1.0),)), "has no signal 'thrusters.thrust'; expected the"),
    ],
)
def test_what_cannot_be_shown_is_said(shown: Shown, said: str) -> None:
    with pytest.raises(ViewerError, match=said.replace("(did", r"\(did").replace("?)", r"\?\)")):
        mark(Scene(MOTION), 0.0, shown)


def test_frames_are_seen_on_a_large_robot_of_small_links() -> None:
    """A craft 10 m wide whose links are 5 cm: its frames are as long as can be seen in a picture of all of it."""
    builder = Builder("craft")
    for k, side in enumerate((10.0, 0.05, 0.05, 0.05, 0.05)):
        look = Geometry("box", (side, 0.1 * side, 0.1 * side))
        builder.add_link(f"link{k}", inertia=inertia.sphere(1.0, 0.1), visuals=(look,))
        if k:
            builder.add_joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", axis=(0, 1, 0))
    starts, ends = arrows(mark(Scene(builder.model(floating_base=True)), 0.0, Shown(link_frames=True)))
    assert np.linalg.norm(ends - starts, axis=1).min() > 0.05 * 10.0


def test_robots_have_their_names_above_them():
    fast = motion(MECHANISM, scales=(1.0, -2.0))
    drawing = mark(Scene([Actor(MOTION, name="one"), fast]), 0.5, Shown(names=True))
    assert [text for _, text, _ in drawing.labels] == ["one", "mechanism 0", "mechanism 1"]
    plain = Scene([MOTION, fast]).drawing(0.5)
    corners = plain.corners().reshape(3, -1, 3)
    for (place, *_), own in zip(drawing.labels, corners, strict=True):
        far = np.linalg.norm(own[:, :2] - place[:2], axis=1)                   # seen from 0.3 rad above, edges behind are higher
        top = (own[:, 2] + np.tan(0.3) * far).max()
        assert top < place[2] < top + 0.1
        np.testing.assert_allclose(place[:2], 0.5 * (own.min(axis=0) + own.max(axis=0))[:2], atol=1e-9)


def test_rollouts_that_weigh_otherwise_are_told_of():
    """Once for each kind of mark that is drawn with the file's masses; rollouts of one mass are drawn with it."""
    simulator = Simulator(MECHANISM, dt=0.01, gravity=(0, 0, 0), parameters={"mass.arm": 1.0})
    start = np.tile(MECHANISM.neutral(), (2, 1)), np.full((2, MECHANISM.nv), 0.1)
    differ = Scene(simulator.run(*start, 0.02, parameters={"mass.arm": np.array([1.0, 3.0])}))
    with pytest.warns(ViewerWarning, match=r"momentum arrows of 'mechanism' are drawn with its file's numbers, .* mass\.arm"):
        mark(differ, 0.0, Shown(momentum=True))
    mark(differ, 0.01, Shown(momentum=True))
    heavy = Scene(simulator.run(*start, 0.02, parameters={"mass.arm": 3.0}))
    mark(heavy, 0.0, Shown(momentum=True, centers=True, inertias=True))


def test_poses_of_long_chains_need_no_compiler(monkeypatch):
    builder = Builder("chain")
    builder.add_link("link0")
    for k in range(200):
        builder.add_link(f"link{k + 1}", inertia=inertia.box(1.0, (0.1, 0.1, 0.1)), visuals=(Geometry("box", (0.1, 0.05, 0.05)),))
        placement = se3.pose(np.eye(3), np.array([0.1, 0.0, 0.0]))
        builder.add_joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", placement=placement, axis=(0, 1, 0))
    model = builder.model()
    q = np.random.default_rng(0).uniform(-0.1, 0.1, (2, model.nq))
    monkeypatch.setattr("engine.compiler.native_code.assemble", None)
    np.testing.assert_array_equal(Actor(model, q=q).poses(0.0)[1], dynamics.forward_kinematics(model, q[1]))


def wrench_of(lines: np.ndarray) -> np.ndarray:
    """A point and the direction of the one axis that is drawn."""
    ends = lines.reshape(-1, 3)
    far = ends[np.argmax(np.linalg.norm(ends - ends[0], axis=1))] - ends[0]
    return np.array([ends[0], far / np.linalg.norm(far)])


def test_two_forces_have_the_screw_axis_of_their_wrench(pushed: Trajectory) -> None:
    """Of forces along x and y at two heights, 1 m apart, it goes through the middle, at 45°, with a pitch of half a metre (Ball 1900)."""
    first = forces.PointForce("bus", force=(1.0, 0.0, 0.0), point=(0.0, 0.0, 0.0), axes="link")
    second = forces.PointForce("bus", force=(0.0, 1.0, 0.0), point=(0.0, 0.0, 1.0), axes="link", name="other")
    drawing = mark(Scene(pushed), 0.0, Shown(forces=(first, second), wrench=True))
    point, along = wrench_of(drawing.lines[0])
    assert np.allclose(np.abs(along), [np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-6)
    assert np.allclose(np.cross([0.0, 0.0, 0.5] - point, along), 0.0, atol=1e-6)
    assert [text for _, text, _ in drawing.labels] == ["wrench: −0.5 N·m/N"]


def test_a_couple_alone_has_no_axis(pushed: Trajectory) -> None:
    pair = [forces.PointForce("bus", force=(0.0, s, 0.0), point=(s, 0.0, 0.0), name=f"p{s}") for s in (1.0, -1.0)]
    drawing = mark(Scene(pushed), 0.0, Shown(forces=tuple(pair), wrench=True))
    assert not drawing.labels and not len(drawing.lines[0])


def test_plumes_blow_against_the_thrust_as_far_as_it_is_strong(pushed: Trajectory) -> None:
    from engine.viewer.scene.force_marks import LONG, PLUME
    from engine.viewer.scene.quantities import quantities_of
    from engine.viewer.scene.symbols import cone

    jets = actuators.Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 2]], most=2.0)
    for t in (0.5, 1.0):
        scene = Scene(pushed)
        drawing = mark(scene, t, Shown(forces=(jets,), plumes=True))
        veils = np.isclose(drawing.colors, PLUME).all(axis=1) & (drawing.which == drawing.surfaces.index(cone()))
        (A,) = drawing.poses[veils]
        T = poses(pushed.at([t]).q[0], pushed.model)[0]
        assert np.allclose((A @ [0, 0, 1, 1])[:3], (T @ [0.5, 0, 0, 1])[:3], atol=1e-6)           # from the nozzle
        assert np.allclose(A[:3, 2], LONG * quantities_of(scene.actors[0]).whole * t * T[:3, 1], atol=1e-6)


def test_names_are_read_on_what_is_white():
    """White letters on a white wall stand on a shade: where a name is, two fifths of its box are far darker than the wall."""
    wall = engine.Builder("wall")
    white = engine.Material("white", (1.0, 1.0, 1.0, 1.0))
    wall.add_link("WWWWWWWW", visuals=[engine.Geometry("box", (0.2, 4.0, 4.0), material=white)])
    camera = engine.viewer.Camera((0.0, 0.0, 0.0), distance=4.0, azimuth=0.3, elevation=0.2)
    look = {"size": (320, 240), "camera": camera, "environment": "plain", "samples": 0}
    bare, named = (engine.render(wall.model(), shown=shown, **look).mean(axis=2) for shown in (Shown(), Shown(labels=True)))
    rows, columns = np.nonzero(np.abs(bare - named) > 4.0)
    box = slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)
    assert (named[box] < 0.65 * bare[box]).mean() > 0.4
