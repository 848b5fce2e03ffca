"""Rays: closed forms by the surface that they end on and by marching, triangles by another caster, no ray between two triangles."""

import numpy as np
import pytest
import trimesh

import engine
from engine import ops
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Plane, Sphere, hull_of, ray
from engine.geometry.triangles import through, triangles_of

RNG = np.random.default_rng(3)
POINTS = RNG.standard_normal((20, 3))
#: shapes, and a function that is below zero inside and above it outside, with a slope of 1 at most or so
SHAPES = {
    "plane": (Plane(), lambda x: x[2]),
    "sphere": (Sphere(0.7), lambda x: np.linalg.norm(x, axis=0) - 0.7),
    "box": (Box((1.0, 0.6, 1.4)), lambda x: (np.abs(x) - np.array([[0.5], [0.3], [0.7]])).max(axis=0)),
    "cylinder": (Cylinder(0.4, 1.2), lambda x: np.maximum(np.hypot(x[0], x[1]) - 0.4, np.abs(x[2]) - 0.6)),
    "capsule": (Capsule(0.3, 1.0), lambda x: np.linalg.norm([x[0], x[1], x[2] - np.clip(x[2], -0.5, 0.5)], axis=0) - 0.3),
    "ellipsoid": (Ellipsoid((0.3, 0.9, 0.5)), lambda x: 0.3 * (np.linalg.norm(x / np.array([[0.3], [0.9], [0.5]]), axis=0) - 1.0)),
    "hull": (hull_of(POINTS)[0], lambda x: planes(x)),
}


def planes(x):
    from scipy.spatial import ConvexHull

    e = ConvexHull(POINTS).equations
    return (e[:, :3] @ x + e[:, 3:]).max(axis=0)


@pytest.mark.parametrize("name", SHAPES)
def test_a_ray_ends_on_the_surface_and_no_sooner(name):
    """Law: the surface's function is zero there; second route: marched in many steps it changes its sign nowhere before."""
    shape, f = SHAPES[name]
    n = 4000
    p = 2.0 * RNG.uniform(-1.0, 1.0, (3, n))
    d = RNG.uniform(-1.0, 1.0, (3, n)) - p + 0.3 * RNG.standard_normal((3, n))
    t = ray(shape, p, d)
    hits = np.isfinite(t)
    assert 0.15 < hits.mean() < 1.0
    scale = np.linalg.norm(p, axis=0) + np.linalg.norm(d, axis=0) * np.where(hits, t, 0.0)
    off = np.abs(f(p + np.where(hits, t, 0.0) * d))
    # a ray that grazes leaves a surface by the root of what is rounded along it: across, it is on it to a few ulp
    assert (off <= 60.0 * np.finfo(float).eps * scale)[hits].all()
    before = np.where(hits, t, 20.0) * np.linspace(0.0, 1.0, 400)[:, None, None] * (1.0 - 1e-9)
    signs = np.array([np.sign(f(p + s * d)) for s in before[:, 0]])
    assert (signs == signs[0]).mean() > 0.9999


def test_directions_along_axes_and_origins_within_and_beyond():
    for shape, half in ((Box((1.0, 2.0, 3.0)), (0.5, 1.0, 1.5)), (Cylinder(0.5, 3.0), (0.5, 0.5, 1.5)),
                        (Capsule(0.5, 2.0), (0.5, 0.5, 1.5)), (Ellipsoid((0.5, 1.0, 1.5)), (0.5, 1.0, 1.5)),
                        (Sphere(0.5), (0.5, 0.5, 0.5))):  # fmt: skip
        for d, h in zip(np.eye(3), half, strict=True):
            for sign in (1.0, -1.0):
                assert ray(shape, -4.0 * sign * d, sign * d) == pytest.approx(4.0 - h, abs=1e-14)
                assert ray(shape, np.zeros(3), 2.0 * sign * d) == pytest.approx(0.5 * h, abs=1e-14)       # from within
                assert ray(shape, -4.0 * sign * d, sign * d, 4.0) == pytest.approx(4.0 + h, abs=1e-14)    # from beyond its near side
                assert ray(shape, 4.0 * sign * d, sign * d) == np.inf
                assert ray(shape, 4.0 * sign * d + 3.0 * np.roll(d, 1), -sign * d) == np.inf              # passes by
    assert [float(ray(Plane(), (0, 0, z), (1.0, 0.0, w))) for z, w in ((1.0, -0.5), (1.0, 0.5), (-1.0, 0.5), (1.0, 0.0))] == [
        2.0, np.inf, 2.0, np.inf]  # fmt: skip


def test_a_ray_that_meets_nothing_convex_is_refused():
    with pytest.raises(GeometryError, match="a ray is to meet a HeightField; expected a convex shape, or triangles"):
        ray(HeightField(((0.0, 0.0), (0.0, 0.0)), (1.0, 1.0)), (0, 0, 0), (0, 0, 1))


def test_compiled_is_plain():
    shapes = [shape for shape, _ in SHAPES.values()]

    def met(p, d):
        return np.stack([ops.minimum(ray(s, p, d), 1e6) for s in shapes])

    f = engine.gufunc(met, "(3),(3)->(k)")
    p, d = 2.0 * RNG.uniform(-1.0, 1.0, (2, 500, 3))
    compiled, interpreted = f(p, d), np.array([engine.compiler.interpret(f.program, a, b) for a, b in zip(p[:50], d[:50], strict=True)])
    np.testing.assert_allclose(compiled, met(p.T, d.T).T, rtol=1e-11)
    np.testing.assert_allclose(interpreted.reshape(50, -1), compiled[:50], rtol=1e-11)      # which fuses multiply-adds


def cast(mesh, o, d, least=0.0, most=np.inf):
    return through(d, *o, least, np.full(len(d), most), *triangles_of(mesh.vertices, mesh.faces))


CAST = engine.gufunc(lambda d, o, most, c, b: through(d, o[0], o[1], o[2], 0.0, most, c, b), "(n,3),(3),(n),(m,9),(k,6)->(n)")


def test_triangles_are_met_where_another_caster_meets_them():
    """Outside reference: trimesh's own, a walk of another tree with another test; and lines are the machine code's to the bit."""
    mesh = trimesh.creation.torus(0.6, 0.25, 24, 12)
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, [0.1, 0.7, 0.4]))
    o, n = np.array([0.3, -0.2, 1.5]), 3000
    d = RNG.uniform(-0.8, 0.8, (n, 3)) - o
    found = CAST(d, o, np.full(n, 1e6), *triangles_of(mesh.vertices, mesh.faces))
    places, rays, _ = mesh.ray.intersects_location(np.tile(o, (n, 1)), d, multiple_hits=False)
    theirs = np.full(n, 1e6)
    theirs[rays] = np.linalg.norm(places - o, axis=1) / np.linalg.norm(d[rays], axis=1)
    assert 0.2 < (found < 1e6).mean() < 0.8
    np.testing.assert_allclose(found, theirs, rtol=1e-12)
    np.testing.assert_array_equal(found[:150], cast(mesh, o, d[:150], most=1e6))


def test_no_ray_slips_between_two_triangles():
    """Law: from within a closed surface every ray ends, those through its corners and edges too."""
    mesh = trimesh.creation.icosphere(2)
    mesh.apply_scale([1.0, 0.7, 1.3])
    tree = triangles_of(mesh.vertices, mesh.faces)
    for o in np.array([[0.0, 0.0, 0.0], [0.1, 0.2, -0.3], [0.0, 0.0, 0.25]]):
        a, b = np.swapaxes(mesh.vertices[mesh.edges_unique], 0, 1)
        d = np.concatenate([mesh.vertices, *(s * a + (1.0 - s) * b for s in (0.5, 0.3, 0.9))]) - o
        found = CAST(d, o, np.full(len(d), np.inf), *tree)
        np.testing.assert_allclose(found, 1.0, atol=1e-13)
    box = trimesh.creation.box((2.0, 2.0, 2.0))                                # flat boxes of the tree, rays in their planes
    d = np.concatenate([np.eye(3), -np.eye(3), box.vertices])
    np.testing.assert_allclose(CAST(d, np.zeros(3), np.full(len(d), np.inf), *triangles_of(box.vertices, box.faces)), 1.0, atol=1e-15)


def test_a_tree_holds_every_triangle_once_in_its_boxes():
    for n in (1, 4, 5, 31, 1000):
        corners = RNG.standard_normal((n, 3, 3))
        tree = triangles_of(corners.reshape(-1, 3), np.arange(3 * n).reshape(n, 3))
        assert sorted(map(tuple, tree.corners)) == sorted(map(tuple, corners.reshape(n, 9)))
        m = len(tree.boxes) // 2
        for k in range(1, 2 * m):
            level = k.bit_length() - 1
            first, last = ((k - 2**level + end) * n // 2**level for end in (0, 1))
            own = tree.corners[first:last].reshape(-1, 3)
            assert (tree.boxes[k, :3] == own.min(axis=0)).all() and (tree.boxes[k, 3:] == own.max(axis=0)).all()
            assert last - first <= 4 or k < m


def test_near_and_far_cut():
    mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    d = np.array([[0.1, 0.05, 1.0]])
    assert cast(mesh, (0.0, 0.0, -2.0), d)[0] == pytest.approx(1.5)
    assert cast(mesh, (0.0, 0.0, -2.0), d, least=1.6)[0] == pytest.approx(2.5)
    assert cast(mesh, (0.0, 0.0, -2.0), d, most=1.4)[0] == 1.4
