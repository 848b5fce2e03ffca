"""Contact points: where flat stands on flat, what keeps a body from rocking, and that the deepest is the distance."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.transform import Rotation

from engine.geometry import FAR, Box, Capsule, Cylinder, HeightField, Hull, Plane, Sphere, points
from engine.spatial import so3
from tests.geometry.pairs import CUBE, FEW, SOLIDS, both_of, distance_of, inverse, points_of, pose, poses, reach
from tests.numeric import check_lives

UP = so3.exp(np.zeros(3))
LYING = so3.exp(np.array([np.pi / 2, 0.0, 0.0]))
ROUGH = HeightField(np.random.default_rng(0).uniform(-0.1, 0.1, (5, 7)), (3.0, 2.0))
PAIRS = [*itertools.combinations_with_replacement(SOLIDS, 2)]
BRICK = Box((1.0, 1.0, 1.0))


def used(p):
    return p.gap < 0.5 * FAR


def raised(T, h):
    """Poses that are h higher."""
    return T + h * np.outer([0, 0, 1, 0], [0, 0, 0, 1])


def corners(p):
    """Positions that are used, in order."""
    x = p.position[used(p)]
    return x[np.lexsort(x.round(6).T[::-1])]


# ---------------------------------------------------------------- flat on flat


def test_a_brick_on_a_brick_touches_at_the_corners_of_what_they_share():
    p = points(BRICK, BRICK, pose(UP, (0.25, 0.5, 0.75)))
    assert (p.gap[used(p)] == -0.25).all() and used(p).sum() == 4 and (p.normal == (0.0, 0.0, 1.0)).all()
    np.testing.assert_allclose(corners(p), [[-0.25, 0.0, 0.375], [-0.25, 0.5, 0.375], [0.5, 0.0, 0.375], [0.5, 0.5, 0.375]], atol=1e-9)


@pytest.mark.parametrize("gap", [-0.01, 0.0, 1e-9, 0.01])
def test_equal_bricks_on_each_other_touch_at_four_points(gap):
    """Every corner once, though the sides of both lie on each other."""
    p = points(BRICK, BRICK, pose(UP, (0.0, 0.0, 1.0 + gap)))
    assert used(p).sum() == 4 and np.abs(p.gap[used(p)] - gap).max() < 1e-15
    assert np.abs(np.abs(p.position[used(p), :2]) - 0.5).max() < 1e-9


def test_a_brick_turned_on_a_brick_touches_at_eight_points():
    """An octagon, whose sides are those of both: at 45° its corners are (1 − √½)/1 … from those of the squares."""
    p = points(BRICK, BRICK, pose(so3.exp(np.array([0, 0, np.pi / 4])), (0.0, 0.0, 1.0)))
    assert used(p).all() and np.abs(p.gap).max() < 1e-14
    expected = np.array([[x, y] for x in (-0.5, 0.5) for y in (0.5 - np.sqrt(0.5), np.sqrt(0.5) - 0.5)])
    expected = np.concatenate([expected, expected[:, ::-1]])
    for e in expected:
        assert np.abs(p.position[:, :2] - e).max(axis=1).min() < 1e-8


@pytest.mark.parametrize("b", [Box((0.9, 0.7, 1.1)), CUBE], ids=["box", "hull"])
@pytest.mark.parametrize("a", [Box((1.0, 1.2, 0.8)), CUBE], ids=["box", "hull"])
def test_each_corner_of_what_two_faces_share_is_a_point_once(a, b):
    """Whichever faces meet, however turned: the corners are those of the half-planes of both."""
    rng, of = np.random.default_rng(5), points_of(a, b)
    for turns in itertools.product(Rotation.create_group("O"), repeat=2):
        yaw = Rotation.from_rotvec([0.0, 0.0, rng.uniform(0.0, 6.0)])
        R_a, R_b = ((r * t).as_matrix() for r, t in zip((Rotation.identity(), yaw), turns, strict=True))
        (v_a, v_b), (x, y) = (np.array(s.vertices) @ R.T for s, R in ((a, R_a), (b, R_b))), rng.uniform(-0.3, 0.3, 2)
        v_b = v_b + (x, y, v_a[:, 2].max() - v_b[:, 2].min() - 1e-3)
        T = inverse(pose(R_a, np.zeros(3))) @ pose(R_b, v_b.mean(axis=0))
        position, _, gap, *_ = of(T)
        planes = np.concatenate([ConvexHull(v[:, :2]).equations for v in (v_a, v_b)])
        inside = 0.5 * (np.maximum(*(v.min(axis=0) for v in (v_a, v_b))) + np.minimum(*(v.max(axis=0) for v in (v_a, v_b))))[:2]
        expected = HalfspaceIntersection(np.unique(planes.round(12), axis=0), inside).intersections
        found = (position[gap < 0.5 * FAR] @ R_a.T)[:, :2]
        far = np.linalg.norm(found[:, None] - expected, axis=-1)
        assert max(far.min(axis=0).max(), far.min(axis=1).max()) < 1e-7 and len(found) == len(expected)


def test_a_tilted_brick_has_gaps_that_grow_along_it():
    """By 0.1 rad about y: the gap at x is that of the lower face, to the second order."""
    T = pose(so3.exp(np.array([0.0, 0.1, 0.0])), (0.0, 0.0, 1.05))
    p = points(Box((4.0, 4.0, 1.0)), BRICK, T)
    assert used(p).sum() == 4
    for x, gap in zip(p.position[used(p)], p.gap[used(p)], strict=True):
        bottom = np.linalg.inv(T) @ [*x, 1.0]
        assert abs(abs(bottom[0]) - 0.5) < 0.06 and abs(gap - (T @ [bottom[0], bottom[1], -0.5, 1.0])[2] + 0.5) < 0.01


@pytest.mark.parametrize("b", [BRICK, CUBE, Cylinder(0.5, 1.0), Hull(np.array(CUBE.vertices) @ so3.exp(np.array([0, 0, 1.0])).T)],
                         ids=lambda x: type(x).__name__)  # fmt: skip
@pytest.mark.parametrize("a", [Plane(), Box((3.0, 2.0, 1.0)), Hull(np.array(CUBE.vertices) * (3.0, 2.0, 1.0)), Cylinder(2.0, 1.0),
                               HeightField(np.zeros((3, 4)), (4.0, 4.0))], ids=lambda x: type(x).__name__)  # fmt: skip
@pytest.mark.parametrize("gap", [-1e-3, 0.0, 1e-6])
def test_what_stands_stands_on_points_about_its_center(a, b, gap):
    """The points with the least gap enclose the center of mass with room to spare: a body on them does not rock."""
    top = 0.0 if isinstance(a, (Plane, HeightField)) else 0.5
    p = points(a, b, pose(so3.exp(np.array([0.0, 0.0, 0.4])), (0.1, 0.05, top + 0.5 + gap)))
    low = p.gap < gap + 1e-9
    assert low.sum() >= 3 and np.abs(p.gap[low] - gap).max() < 1e-12
    assert np.abs(p.normal[low] - (0.0, 0.0, 1.0)).max() < 1e-12
    x = p.position[low, :2] - (0.1, 0.05)
    for angle in np.linspace(0.0, 2.0 * np.pi, 33):
        assert (x @ [np.cos(angle), np.sin(angle)]).max() > 0.24


@pytest.mark.parametrize("b", [Cylinder(0.5, 2.0), Capsule(0.5, 2.0)], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("a", [Plane(), Box((3.0, 3.0, 1.0)), Hull(np.array(CUBE.vertices) * (3.0, 3.0, 1.0)),
                               HeightField(np.zeros((3, 3)), (4.0, 4.0))], ids=lambda x: type(x).__name__)  # fmt: skip
def test_what_lies_touches_along_its_length(a, b):
    top = 0.0 if isinstance(a, (Plane, HeightField)) else 0.5
    p = points(a, b, pose(LYING, (0.0, 0.0, top + 0.49)))
    low = np.abs(p.gap + 0.01) < 1e-9
    assert p.position[low, 1].min() < -0.99 and p.position[low, 1].max() > 0.99


@pytest.mark.parametrize("turn", [0.0, 1e-9, 1e-5, 1e-4, 1e-3, 1e-2, 0.5])
def test_capsules_side_by_side_touch_at_the_ends_of_what_they_share(turn):
    """Nearly parallel ones too; and the first point is the deepest at every angle."""
    a, b = Capsule(0.5, 2.0), Capsule(0.5, 4.0)
    T = pose(so3.exp(np.array([turn, 0.0, 0.0])), (0.99, 0.0, 0.5))
    p = points(a, b, T)
    assert abs(p.gap.min() + 0.01) < 1e-15 and abs(p.gap[0] + 0.01) < 1e-15
    assert turn == 0.5 or p.position[:, 2].max() - p.position[:, 2].min() > 0.9


@pytest.mark.parametrize("turn", [1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("depth", [1e-6, 1e-4, 1e-2])
def test_capsules_that_cross_in_the_middle_do_not_tip_each_other(turn, depth):
    """Whatever the angle and depth, what the springs push has no moment but one about the normal, which turns the capsules apart."""
    a, b = Capsule(0.05, 0.4), Capsule(0.07, 0.4)
    p = points(a, b, pose(so3.exp(np.array([turn, 0.0, 0.0])), (0.12 - depth, 0.0, 0.0)))
    push = (np.maximum(-p.gap, 0.0) * p.share)[:, None] * p.normal
    moment, force = np.cross(p.position, push).sum(axis=0), np.linalg.norm(push.sum(axis=0))
    assert np.abs(moment[1:]).max() < 1e-13 * force                            # of places to 1e-16 m
    assert 0.9 * depth < force < 2.0 * depth * (1.0 + 1e-12)                   # from one point to two


def test_capsules_slide_along_and_turn_on_each_other_without_a_jump_of_force():
    """Forces and their moments along paths through all that may lie side by side: to what a step of the path may change them by."""
    a, b, push = Capsule(0.05, 0.4), Capsule(0.05, 0.3), []
    way = np.linspace(0.0, 1.0, 4001)
    for s in way:
        turn = so3.exp(np.array([0.4 * (s - 0.5), 0.02 * np.sin(9.0 * s), 0.0]))
        p = points(a, b, pose(turn, (0.099, 0.01 * (s - 0.4), 0.5 * (s - 0.5))))
        f = (np.maximum(-p.gap, 0.0) * p.share)[:, None] * p.normal
        push.append([*f.sum(axis=0) / 1e-3, *np.cross(p.position, f).sum(axis=0) / 2e-4])
    assert np.abs(np.diff(push, axis=0)).max() < 0.03


def test_crossed_capsules_touch_at_their_crossing():
    p = points(Capsule(0.5, 2.0), Capsule(0.25, 2.0), pose(LYING, (0.7, 0.0, 0.3)))
    np.testing.assert_allclose(p.position[0], [0.5 * (0.5 + 0.45), 0.0, 0.3], atol=1e-15)
    assert abs(p.gap[0] + 0.05) < 1e-15


# ---------------------------------------------------------------- the deepest, and laws


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_the_least_gap_is_the_distance(one, two):
    a, b, T = SOLIDS[one], SOLIDS[two], poses(300, 0.9, seed=1)
    _, n, gap, _, _, d, m, *_ = both_of(a, b)(T)
    assert np.abs(gap.min(axis=1) - d).max() < 2e-8
    assert np.abs(n[np.arange(len(T)), gap.argmin(axis=1)] - m).max() < 1e-4


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_surfaces_meet_halfway(one, two):
    """Half a gap from the deepest point along its normal lies the surface of either: no plane on the shape leaves it out."""
    a, b, T = SOLIDS[one], SOLIDS[two], poses(60, 0.7, seed=2)
    x, n, gap, *_ = both_of(a, b)(T)
    d = so3.exp(np.random.default_rng(0).standard_normal((300, 3)))[:, 0]
    for k, j in enumerate(gap.argmin(axis=1)):
        onto_a, onto_b = x[k, j] - 0.5 * gap[k, j] * n[k, j], x[k, j] + 0.5 * gap[k, j] * n[k, j]
        assert (d @ onto_a - reach(a, d)).max() < 1e-4
        assert (d @ (T[k, :3, :3].T @ (onto_b - T[k, :3, 3])) - reach(b, d)).max() < 1e-4


@pytest.mark.parametrize("b", ["box", "capsule", "sphere"])
@pytest.mark.parametrize("a", [Plane(), ROUGH, SOLIDS["hull"]], ids=lambda x: type(x).__name__)
def test_seen_from_the_other_shape_the_points_are_the_same(a, b):
    """To rounding, which narrow angles between sides magnify."""
    T, b = poses(40, 0.7, seed=3), SOLIDS[b]
    x, n, gap, _, corner = points_of(a, b)(T)
    y, m, back, _, again = points_of(b, a)(inverse(T))
    R, p = T[:, None, :3, :3], T[:, None, :3, 3]
    assert np.abs(back - gap).max() < 1e-9 and np.abs(-np.matvec(R, m) - n).max() < 1e-9
    assert np.abs(np.matvec(R, y) + p - x)[gap < 0.5 * FAR].max() < 1e-9
    assert np.array_equal(corner, -again)


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_plane_is_a_large_box(kind):
    """A second route; of a hull and a box the corners too, of the others the deepest point."""
    b, T = SOLIDS[kind], poses(100, 0.5, seed=4)
    d = distance_of(Plane(), b)(T)
    T[:, 2, 3] -= d[0] - np.random.default_rng(0).uniform(-0.02, 0.1, 100)
    flat, slab = distance_of(Plane(), b)(T), distance_of(Box((50.0, 50.0, 50.0)), b)(raised(T, 25.0))
    assert np.abs(flat[0] - slab[0]).max() < 1e-7 and np.abs(flat[1] - slab[1]).max() < 1e-5


def test_a_flat_height_field_is_a_plane():
    flat = HeightField(np.full((4, 3), 0.25), (2.0, 3.0))
    for b in SOLIDS.values():
        if isinstance(b, Hull):                                                # which stands on a plane with one face, on a field with all
            continue
        T = poses(20, 0.7, seed=5)
        one, two = points_of(flat, b)(T), points_of(Plane(), b)(raised(T, -0.25))
        own = 4 if b.rounding else 1                                           # what is round asks three more cells beside its own
        for x, y, shift in zip(one[:3], two, ((0.0, 0.0, 0.25), 0.0, 0.0), strict=False):
            assert np.abs(x[:, ::own] - y - shift).max() < 1e-14
        total = sum((one[2][:, k::own] < 0.5 * FAR) * one[3][:, k::own] for k in range(own))
        np.testing.assert_allclose(total, 1.0, atol=1e-14)                     # together they count as one


def test_a_ball_over_folds_is_as_far_as_from_their_segments():
    """Above ground that is folded along x alone: the least gap is the distance from the polyline, in furrows, on slopes and over edges."""
    rng = np.random.default_rng(3)
    heights, radius = rng.uniform(-0.3, 0.3, 9), 0.2
    field, x = HeightField(np.tile(heights, (3, 1)), (4.0, 3.0)), np.linspace(-2.0, 2.0, 9)
    a, b = np.stack([x, heights], axis=1)[:-1], np.stack([x, heights], axis=1)[1:]
    at = rng.uniform(-1.95, 1.95, 400)
    c = np.stack([at, np.interp(at, x, heights) + rng.uniform(0.05, 0.3, 400)], axis=1)
    s = np.clip(np.einsum("kij,ij->ki", c[:, None] - a, b - a) / np.square(b - a).sum(axis=1), 0.0, 1.0)
    expected = np.linalg.norm(c[:, None] - a - s[..., None] * (b - a), axis=2).min(axis=1) - radius
    T = np.stack([pose(UP, (u, y, z)) for (u, z), y in zip(c, rng.uniform(-1, 1, 400), strict=True)])
    gaps = points_of(field, Sphere(radius))(T)[2]
    near = expected < 0.0
    np.testing.assert_allclose(gaps.min(axis=1)[near], expected[near], atol=1e-14)
    assert near.sum() > 100 and ((gaps < 0.5 * FAR).sum(axis=1) > 1).sum() > 20


def test_a_height_field_is_what_its_heights_say():
    """At its nodes, between them, and beyond the border; its normal is that of its slopes."""
    heights = np.arange(12.0).reshape(3, 4) ** 1.5 / 20.0
    field, ball = HeightField(heights, (3.0, 4.0)), Sphere(0.1)
    for (j, i), h in np.ndenumerate(heights):
        for x, y in ((i - 1.5, 2.0 * j - 2.0), (3.0 * (i - 1.5), 3.0 * (2.0 * j - 2.0))):
            if (x, y) == (i - 1.5, 2.0 * j - 2.0) or (i in (0, 3) and j in (0, 2)):
                p = points(field, ball, pose(UP, (x, y, h)))
                assert abs(p.gap[0] + 0.1) < 1e-14
    x, y, e = 0.3, -0.7, 1e-6


    def f(x, y):
        p = points(field, ball, pose(UP, (x, y, 1.0)))
        return 1.0 - (p.gap[0] + 0.1) / p.normal[0, 2]

    slope = np.array([f(x - e, y) - f(x + e, y), f(x, y - e) - f(x, y + e), 2.0 * e])
    assert np.abs(points(field, ball, pose(UP, (x, y, 1.0))).normal[0] - slope / np.linalg.norm(slope)).max() < 1e-8


def test_a_ball_on_a_slope_keeps_its_distance():
    """On a plane slope the gap is exact at any height."""
    slope = HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))
    n = np.array([-0.6, 0.0, 0.8])
    for gap in (-0.05, 0.0, 0.2):
        p = points(slope, Sphere(0.1), pose(UP, np.array([0.3, 0.4, 1.5 + 0.75 * 0.3]) + (0.1 + gap) * n))
        assert abs(p.gap[0] - gap) < 1e-14 and np.abs(p.normal[0] - n).max() < 1e-15
        assert np.abs(p.position[0] - ([0.3, 0.4, 1.5 + 0.75 * 0.3] + 0.5 * gap * n)).max() < 1e-14


@pytest.mark.parametrize(("one", "two"), [("box", "box"), ("box", "hull"), ("capsule", "capsule"), ("capsule", "box"), ("hull", "hull")])
def test_plain_interpreted_and_compiled_are_one(one, two):
    """To rounding; narrow angles between sides magnify it by their cosecant."""
    a, b = FEW.get(one, SOLIDS[one]), FEW.get(two, SOLIDS[two])
    check_lives(lambda T: tuple(points(a, b, T)), poses(3, 0.6, seed=6), tolerance=1e-9)


@pytest.mark.parametrize("a", [Plane(), ROUGH], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule", "ellipsoid", "sphere"])
def test_plain_interpreted_and_compiled_are_one_on_the_ground(a, kind):
    check_lives(lambda T: tuple(points(a, SOLIDS[kind], T)), poses(4, 0.6, seed=7), tolerance=1e-13)


# ---------------------------------------------------------------- how many points they count as


def along_x(x, z):
    """A capsule that lies along x, with its middle at x and z."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], [x, 0.0, z]
    return T


@pytest.mark.parametrize(("a", "b", "path"), [
    (Box((1.0, 1.0, 1.0)), Capsule(0.1, 1.0), lambda s: along_x(s, 0.599)),
    (Box((1.0, 1.0, 1.0)), Box((1.0, 1.0, 1.0)), lambda s: raised(np.eye(4), 0.999) + s * np.eye(4)[:, :1] @ np.eye(4)[3:]),
    (Capsule(0.1, 1.0), Capsule(0.1, 1.0), lambda s: raised(np.eye(4), s) + 0.199 * np.eye(4)[:, :1] @ np.eye(4)[3:]),
], ids=["an edge on a face", "a face on a face", "edges side by side"])
def test_what_carries_does_not_jump_where_points_come_and_go(a, b, path):
    """Slid off each other at one depth: Σ share over points that touch changes with the way, from 2 or 4 to what a point counts as."""
    way = np.linspace(0.0, 0.9999, 300)
    _, _, gap, share, _ = points_of(a, b)(np.array([path(s) for s in way]))
    carried = np.where(gap < 0.0, share, 0.0).sum(axis=-1)
    assert np.abs(np.diff(carried)).max() < 0.02 and carried[0] > 1.9 and carried[-1] < 2.51
    aligned = points(Box((1.0, 1.0, 1.0)), Box((1.0, 1.0, 1.0)), raised(np.eye(4), 0.999))
    assert np.abs(aligned.share[aligned.gap < 0.0] - 1.0).max() < 1e-12


def cylinder_on_end(s):
    """A cylinder that stands beside the middle of another's end, tilts to all sides, and is slid and pressed."""
    tilt = 0.02 * np.array([0.3 * (s - 0.37), 0.2 * np.sin(5.0 * s), 0.3 * s])
    return pose(so3.exp(tilt), (0.14 * (s - 0.3), 0.05 * s, 0.199 - 0.001 * s))


def cylinder_across_end(s):
    """A cylinder that lies on another's end, rocks, and is slid over its rim."""
    turn = 0.3 * np.array([0.3 * (s - 0.37), 0.2 * np.sin(5.0 * s), 0.3 * s])
    return pose(so3.exp(turn) @ LYING, (0.3 * (s - 0.45), 0.03 * s, 0.199))


@pytest.mark.parametrize("path", [cylinder_on_end, cylinder_across_end])
def test_cylinders_are_pushed_by_each_other_without_a_jump(path):
    """Force and moment along a path: what a step changes of them halves with the step, to what is left of it at four times as many."""
    a, largest = Cylinder(0.1, 0.2), []
    for n in (2000, 8000):
        x, normal, gap, share, _ = points_of(a, a)(np.array([path(s) for s in np.linspace(0.0, 1.0, n + 1)]))
        f = (np.maximum(-gap, 0.0) * share)[..., None] * normal
        push = np.concatenate([f.sum(axis=1) / 1e-3, np.cross(x, f).sum(axis=1) / 1e-4], axis=1)
        largest.append(np.abs(np.diff(push, axis=0)).max())
    assert largest[1] < 0.4 * largest[0] < 0.1


@pytest.mark.parametrize("turn", [0.1, 0.7, 0.78539, 0.78541, 0.9, 1.4])
@pytest.mark.parametrize("slide", [-0.03, 0.0, 0.08])
def test_a_cylinder_across_an_edge_is_pressed_as_by_one_point(turn, slide):
    """At whichever angle, of whichever of the edge's two faces: of all springs together k times the depth, at the crossing."""
    box, b = Box((0.2, 0.3, 0.2)), Cylinder(0.1, 0.2)
    up = np.array([np.sin(turn), 0.0, np.cos(turn)])                           # from the edge along y to the axis, which is square to both
    axes = np.stack([np.array([0.0, 1.0, 0.0]), up, np.cross([0.0, 1.0, 0.0], up)], axis=1)
    place = np.array([0.1, 0.0, 0.1])
    p = points(box, b, pose(axes, place + 0.099 * up + slide * axes[:, 2]))
    push = np.maximum(-p.gap, 0.0) * p.share
    assert abs(push.sum() - 1e-3) < 1e-8
    assert np.abs(push @ p.position / push.sum() - place)[[0, 2]].max() < 1e-3
