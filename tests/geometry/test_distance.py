"""Signed distances: what proves them, other libraries' numbers, laws, and what has no direction."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Plane, Sphere, distance
from engine.geometry.separation import LATTICE, REACH, lattice, separation
from engine.spatial import so3
from tests.geometry.pairs import (
    CUBE,
    FEW,
    SOLIDS,
    both_of,
    coal_distance,
    compiled,
    distance_of,
    inverse,
    moved,
    mujoco_distance,
    planes_apart,
    pose,
    poses,
    reach,
)
from tests.numeric import check_lives

PAIRS = [*itertools.combinations_with_replacement(SOLIDS, 2)]
#: shapes of flat faces and of balls alone end a search to rounding: 100 ulp
FLAT = {"box", "capsule", "sphere", "hull"}
ROUND = 1e-8                                                                   # of the others, which end by tolerances


def exact(*names):
    return 100 * 2.0**-52 * 10 if {*names} <= FLAT else ROUND


# ---------------------------------------------------------------- what proves a distance


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_planes_on_both_shapes_prove_the_distance(one, two):
    """Two points are as far apart as the gap, and no two are nearer, for planes square to the normal lie between the shapes, so far apart.
    Where the shapes overlap it proves that they are free once they are moved by the gap along the normal."""
    a, b, T = SOLIDS[one], SOLIDS[two], poses(400)
    gap, n, x, y = distance_of(a, b)(T)
    assert np.abs(np.linalg.norm(n, axis=-1) - 1.0).max() < 1e-14
    assert np.abs(y - x - gap[:, None] * n).max() < 1e-14
    assert np.abs(gap - planes_apart(a, b, T, n)).max() < 1e-13
    inside = np.einsum("nji,nj->ni", T[:, :3, :3], y - T[:, :3, 3])
    for shape, points in ((a, x), (b, inside)):
        assert beyond(shape, points) < 1e-6                                    # an angle is as uncertain as the root of what it changes


def beyond(shape, p):
    """How far points (n, 3) lie outside of a shape, by many planes on it."""
    d = np.concatenate([lattice(500), -lattice(500)])
    return (p @ d.T - reach(shape, d)).max()


@pytest.mark.parametrize(("one", "two"), [pair for pair in PAIRS if "hull" not in pair and {*pair} != {"box", "capsule"}])
def test_mujoco_has_the_same_distances(one, two):
    """To MuJoCo's own accuracy of 1e-8; of a box and a capsule it has other depths."""
    a, b, T = SOLIDS[one], SOLIDS[two], poses(300, seed=1)
    assert np.abs(distance_of(a, b)(T)[0] - mujoco_distance(a, b, T)).max() < 1e-6


@pytest.mark.parametrize("one", SOLIDS)
@pytest.mark.parametrize("two", ["box", "capsule", "hull"])
def test_coal_has_the_same_distances(one, two):
    """Of shapes of which one at least is round, coal has some depths wrong: theirs are looked at where they are apart alone."""
    a, b, T = SOLIDS[one], SOLIDS[two], poses(200, seed=2)
    gap, known = distance_of(a, b)(T)[0], coal_distance(a, b, T)
    counts = (gap > 0.0) | ({one, two} <= FLAT)
    assert counts.sum() > 40
    assert np.abs(gap - known)[counts].max() < 1e-6


@pytest.mark.parametrize(("one", "two"), [("cylinder", "ellipsoid"), ("hull", "hull"), ("hull", "cylinder"), ("box", "disk")])
def test_no_direction_out_is_shorter(one, two):
    """s(n) of a thousand directions, the best of them improved by the simplex method: none is better than the one found."""
    a, b, T = SOLIDS[one], SOLIDS[two], poses(20, 0.4, seed=3)
    gap = distance_of(a, b)(T)[0]
    d = np.concatenate([lattice(500), -lattice(500)])
    for X, found in zip(T, gap, strict=True):
        s = planes_apart(a, b, np.broadcast_to(X, (len(d), 4, 4)), d)
        for k in np.argsort(s)[-3:]:
            down = minimize(lambda n: -planes_apart(a, b, X, n / np.linalg.norm(n)), d[k], method="Nelder-Mead", options={"maxfev": 150})
            assert -down.fun < found + 1e-9


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_seen_from_the_other_shape_it_is_the_same(one, two):
    a, b, T = SOLIDS[one], SOLIDS[two], poses(100, seed=4)
    gap, n, *_ = distance_of(a, b)(T)
    back = distance_of(b, a)(inverse(T))
    assert np.abs(gap - back[0]).max() < exact(one, two)
    turned = -np.einsum("nij,nj->ni", T[:, :3, :3], back[1])
    assert np.median(np.abs(turned - n).max(axis=1)) < 1e-5                    # two ways out may be as short as each other


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_moved_along_the_normal_they_are_so_much_further_apart(one, two):
    a, b, T = SOLIDS[one], SOLIDS[two], poses(100, seed=5)
    gap, n, *_ = distance_of(a, b)(T)
    for h in (0.5, 1e-3):
        assert np.abs(distance_of(a, b)(moved(T, (h - gap)[:, None] * n))[0] - h).max() < exact(one, two)


@pytest.mark.parametrize(("one", "two"), [("box", "cylinder"), ("hull", "ellipsoid"), ("box", "box"), ("capsule", "hull")])
def test_it_grows_no_faster_than_the_shapes_move(one, two):
    """|gap' − gap| ≤ the largest motion of a point of B: also where the normal jumps."""
    a, b = SOLIDS[one], SOLIDS[two]
    for seed in range(3):
        T, step = poses(1, 0.5, seed=seed)[0], 1e-3
        rng = np.random.default_rng(seed)
        w, v = rng.standard_normal((2, 3))
        path = np.stack([pose(so3.exp(step * k * w) @ T[:3, :3], T[:3, 3] + step * k * v) for k in range(1000)])
        gap = distance_of(a, b)(path)[0]
        assert np.abs(np.diff(gap)).max() < step * (np.linalg.norm(v) + np.linalg.norm(w) * b.bounding_radius * 1.2) + ROUND


@pytest.mark.parametrize("kind", ["box", "cylinder", "ellipsoid", "hull"])
def test_a_sphere_is_a_ball_about_a_point(kind):
    """A second route: the closed forms of spheres against the search for general shapes, of a ball as an ellipsoid."""
    a, T = SOLIDS[kind], poses(100, seed=6)
    closed, general = distance_of(a, Sphere(0.3))(T), distance_of(a, Ellipsoid((0.3, 0.3, 0.3)))(T)
    assert np.abs(closed[0] - general[0]).max() < ROUND


#: other shapes of flat faces, of an edge all around, and round ones
CORNERED = ("box", "cylinder", "capsule", "ellipsoid", "hull")


def test_a_box_is_the_hull_of_its_corners():
    """All directions that count against searches all about, which of two ways out beside each other may miss the shorter: here once,
    by 2 mm of 1 m. They never find one that is not there."""
    box, T = Box((1.0, 1.0, 1.0)), poses(300, seed=7)
    missed = np.array([distance_of(box, other)(T)[0] - distance_of(CUBE, other)(T)[0] for other in map(SOLIDS.get, CORNERED)])
    assert missed.min() > -ROUND and (missed > ROUND).sum() <= 1 and missed.max() < 5e-3


def test_by_hand():
    """Corner to corner: apart by a third of the diagonal. A ball in a box: 0.2 below the top and as deep as its radius more."""
    T = pose(np.eye(3), (2.0, 2.0, 2.0))
    d = distance(Box((2.0, 2.0, 2.0)), Box((1.0, 1.0, 1.0)), T)
    assert abs(d.gap - 0.5 * np.sqrt(3.0)) < 1e-14 and np.abs(d.normal - np.sqrt(1 / 3)).max() < 1e-14
    d = distance(Box((2.0, 2.0, 2.0)), Sphere(0.5), pose(np.eye(3), (0.0, 0.1, 0.8)))
    assert abs(d.gap + 0.7) < 1e-15 and (d.normal == (0.0, 0.0, 1.0)).all()
    d = distance(Cylinder(1.0, 2.0), Cylinder(1.0, 2.0), pose(so3.exp([np.pi / 2, 0, 0]), (0.0, 0.0, 1.9)))
    assert abs(d.gap + 0.1) < 1e-11 and abs(d.normal[2] - 1.0) < 1e-11


# ---------------------------------------------------------------- the ends of what there is


DEGENERATE = np.array([pose(so3.exp(np.array(w) * np.pi / 4), p) for w in itertools.product((0, 1, 2), (0, 2), (0, 1e-9))
                       for p in itertools.product((0, 0.5, 1), (0, 1e-300), (0, -1, 1.005))])  # fmt: skip
EXTREMES = [Plane(), HeightField(np.zeros((3, 3)), (2.0, 2.0)), CUBE, Cylinder(0.5, 1.0), Box((1.0, 1.0, 1.0)), Ellipsoid((0.5, 0.5, 0.5)),
            Capsule(0.5, 1.0), Sphere(0.5)]  # fmt: skip


@pytest.mark.parametrize("b", EXTREMES[2:], ids=lambda x: type(x).__name__)
def test_nothing_is_ever_nan(b):
    """Centers that coincide, axes that are parallel, faces that just touch; and the least gap of the points is the distance."""
    for a in EXTREMES[: EXTREMES.index(b) + 1]:
        x, n, gap, _, _, d, *_ = both_of(a, b)(DEGENERATE)
        assert np.isfinite(gap).all() and np.abs(x).max() < 10.0
        assert np.abs(np.linalg.norm(n, axis=-1) - 1.0).max() < 1e-13
        assert np.abs(gap.min(axis=-1) - d).max() < ROUND


def test_sizes_a_thousandfold_apart():
    """A bolt beside a hangar: to rounding of the hangar's size."""
    a, b = Box((100.0, 60.0, 30.0)), Cylinder(0.01, 0.05)
    T = poses(200, seed=8)
    T[:, :3, 3] *= 60.0
    gap, n, *_ = distance_of(a, b)(T)
    assert np.abs(gap - planes_apart(a, b, T, n)).max() < 1e-10
    apart = gap > 0
    assert 20 < apart.sum() < 180 and np.abs(gap - mujoco_distance(a, b, T))[apart].max() < 1e-6


def test_no_direction_is_far_from_those_tried():
    d = np.random.default_rng(0).standard_normal((20000, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    assert np.arccos(np.abs(d @ lattice(LATTICE).T).max(axis=1)).max() < REACH + 1e-3


@pytest.mark.parametrize(("one", "two"), [("cylinder", "capsule"), ("ellipsoid", "hull"), ("box", "sphere")])
def test_what_is_far_is_known_to_be_and_what_is_near_as_it_is(one, two):
    a, b, T = SOLIDS[one], SOLIDS[two], poses(400, seed=3)
    gap, enough = distance_of(a, b)(T)[0], 0.1
    found = compiled(lambda T: (separation(a, b, T, False, enough).gap,))(T)
    far = gap > enough
    assert 40 < far.sum() < 360
    np.testing.assert_allclose(found[~far], gap[~far], rtol=0.0, atol=exact(one, two))
    assert (found[far] > enough).all() and (found[far] <= gap[far] + exact(one, two)).all()
    assert (found[far] < gap[far] - 1e-6).any()                                # where it ends early


def test_two_planes_never_touch():
    with pytest.raises(GeometryError, match="Plane and HeightField is no pair that can touch; expected shapes, of which at most one"):
        distance(Plane(), HeightField(np.zeros((2, 2)), (1.0, 1.0)), np.eye(4))


@pytest.mark.parametrize(("one", "two"), [("box", "box"), ("cylinder", "hull"), ("ellipsoid", "sphere"), ("capsule", "box")])
def test_plain_interpreted_and_compiled_are_one(one, two):
    """To rounding; the points of round shapes are as uncertain as the root of the tolerance that ends the search."""
    a, b = FEW.get(one, SOLIDS[one]), FEW.get(two, SOLIDS[two])
    check_lives(lambda T: distance(a, b, T).gap, poses(3, seed=9), tolerance=1e-10)
    T = poses(3, seed=9)
    assert max(np.abs(distance_of(a, b)(X)[1] - distance(a, b, X).normal).max() for X in T) < 1e-6
