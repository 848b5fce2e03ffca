"""Shapes: their farthest points, spheres about them, hulls of many points, and what no shape has."""

import numpy as np
import pytest

from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Hull, Plane, Sphere, hull_of, points
from engine.geometry.separation import lattice
from tests.geometry.pairs import SCATTER, SOLIDS, pose, reach
from tests.numeric import ROUNDED, check_lives

ALL_ABOUT = np.concatenate([lattice(200), -lattice(200), np.eye(3), -np.eye(3)])


@pytest.mark.parametrize("kind", SOLIDS)
def test_no_point_is_farther_than_the_support(kind):
    """By its own support function; and it is a point of the shape: it lies beyond no plane on it."""
    shape = SOLIDS[kind]
    for d in ALL_ABOUT[::4]:
        x = shape.support(3.0 * d)
        assert abs(x @ d - reach(shape, d)) < ROUNDED
        assert (ALL_ABOUT @ x - reach(shape, ALL_ABOUT)).max() < ROUNDED


@pytest.mark.parametrize("kind", SOLIDS)
def test_in_no_direction_at_all_a_point_is_found(kind):
    x = SOLIDS[kind].support(np.zeros(3))
    assert np.isfinite(x).all() and (ALL_ABOUT @ x - reach(SOLIDS[kind], ALL_ABOUT)).max() < ROUNDED


@pytest.mark.parametrize("kind", SOLIDS)
def test_the_bounding_sphere_holds_the_shape(kind):
    """And is no larger than need be for the shapes that have one by hand."""
    shape = SOLIDS[kind]
    farthest = max(np.linalg.norm(shape.support(d) - shape.center) for d in ALL_ABOUT)
    assert farthest <= shape.bounding_radius + ROUNDED
    assert farthest > 0.8 * shape.bounding_radius


def test_a_height_field_lies_in_its_sphere():
    field = HeightField(((0.0, 1.0), (2.0, 3.0), (1.0, 0.0)), (2.0, 4.0))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (0, 3)])
    assert abs(np.linalg.norm(corners - field.center, axis=1).max() - field.bounding_radius) < ROUNDED
    assert Plane().bounding_radius == np.inf


@pytest.mark.parametrize("kind", SOLIDS)
def test_support_plain_interpreted_and_compiled_are_one(kind):
    check_lives(SOLIDS[kind].support, ALL_ABOUT[:12], tolerance=1e-15)


# ---------------------------------------------------------------- hulls


def test_a_hull_of_few_points_is_exact():
    hull, lost = hull_of(np.concatenate([SCATTER, 0.5 * SCATTER]))
    assert lost == 0.0 and len(hull.vertices) < len(SCATTER)
    assert np.abs(reach(hull, ALL_ABOUT) - (ALL_ABOUT @ SCATTER.T).max(axis=1)).max() == 0.0


def test_a_hull_of_many_points_says_what_it_lost():
    """Of a ball of a thousand vertices 64 are left; what is lost is what the farthest of the others sticks out."""
    ball = np.concatenate([lattice(500), -lattice(500)])
    hull, lost = hull_of(ball)
    assert len(hull.vertices) == 64
    from_hull = [points(hull, Sphere(1e-6), pose(np.eye(3), p)).gap[0] + 1e-6 for p in ball[::25]]
    assert max(from_hull) <= lost + 1e-9 and 0.02 < lost < 0.1
    known = {tuple(v) for v in ball}
    assert all(v in known for v in hull.vertices)


@pytest.mark.parametrize(("given", "text"), [
    (np.zeros((3, 3)), r"points has shape \(3, 3\); expected \(n, 3\), n at least 4"),
    (np.outer(np.arange(9.0), [1.0, 2.0, 3.0]), "points lie in a plane; expected points that enclose a volume"),
    (np.full((5, 3), np.nan), "points holds NaN or infinity; expected finite numbers"),
])  # fmt: skip
def test_points_without_a_hull_are_refused(given, text):
    with pytest.raises(GeometryError, match="hull_of: " + text):
        hull_of(given)


# ---------------------------------------------------------------- what no shape has


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Sphere(0.0), "Sphere: radius is 0.0; expected a length in metres greater than zero"),
    (lambda: Sphere("1"), "Sphere: radius is '1'; expected a length"),
    (lambda: Capsule(0.1, -1.0), "Capsule: length is -1.0; expected a length"),
    (lambda: Cylinder(np.nan, 1.0), "Cylinder: radius is nan; expected a length"),
    (lambda: Box((1.0, 2.0)), r"Box: size is \(1.0, 2.0\); expected three lengths in metres greater than zero"),
    (lambda: Box((1.0, 2.0, 0.0)), "expected three lengths in metres greater than zero"),
    (lambda: Ellipsoid("abc"), "Ellipsoid: radii is 'abc'; expected numbers"),
    (lambda: Hull(np.zeros((65, 3))), r"Hull: vertices has shape \(65, 3\); expected \(n, 3\), n from 4 to 64 \(hull_of takes more\)"),
    (lambda: Hull(np.eye(4)[:, :3] * [1, 1, 0]), "Hull: vertices lie in a plane; expected points that enclose a volume"),
    (lambda: HeightField(((1.0, 2.0),), (1.0, 1.0)), r"HeightField: heights has shape \(1, 2\); expected \(ny, nx\), each at least 2"),
    (lambda: HeightField(np.zeros((2, 2)), (1.0, -1.0)), "HeightField: size is .*; expected two lengths in metres greater than zero"),
])  # fmt: skip
def test_measures_that_no_shape_has_are_refused(make, text):
    with pytest.raises(GeometryError, match=text):
        make()


def test_shapes_are_equal_by_their_measures():
    assert Hull(SCATTER) == Hull(SCATTER.tolist()) and hash(Box((1, 2, 3))) == hash(Box([1.0, 2.0, 3.0])) and Sphere(1) != Sphere(2)
