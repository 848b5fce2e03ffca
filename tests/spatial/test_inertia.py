"""Spatial inertias: clouds of points, Pinocchio's and trimesh's bodies, changes of frame, and what is unphysical."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine.checks import EngineError, EngineWarning
from engine.spatial import filled, inertia, quaternion, se3, so3
from tests.numeric import ROUNDED, check_lives, close

SWAP = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])


def cloud(masses, points):
    """G of point masses by the definition of kinetic energy, ½ Σ m |v + ω × r|² = ½ Vᵀ G V."""
    A = np.concatenate([-so3.hat(points), np.broadcast_to(np.eye(3), (len(points), 3, 3))], axis=-1)      # velocity of a point: A V
    return np.einsum("n,nki,nkj->ij", masses, A, A)


def random_poses(rng, n):
    return se3.pose(quaternion.to_matrix(quaternion.random(rng, (n,))), rng.uniform(-1, 1, (n, 3)))


def random_inertias(rng, n):
    """Any symmetric positive definite ones, as with added mass."""
    A = rng.standard_normal((n, 6, 6))
    return A @ np.swapaxes(A, -1, -2)


@pytest.fixture
def rng():
    return np.random.default_rng(4)


# ---------------------------------------------------------------- what bodies have


def test_from_mass_is_a_cloud_of_points(rng):
    m, r = rng.uniform(0.1, 1, 40), rng.standard_normal((40, 3))
    c = m @ r / m.sum()
    C = so3.hat(r - c)
    tensor = -np.einsum("n,nij,njk->ik", m, C, C)
    G = inertia.from_mass(m.sum(), c, tensor)
    close(G, cloud(m, r), 2e-15)
    close(G, G.T, ROUNDED)
    assert inertia.mass(G) == m.sum()
    close(inertia.first_moment(G), m @ r, 2e-15)
    close(inertia.center(G), c, 2e-15)
    assert inertia.faults(G) == []


def test_solids_are_gauss_integrals_of_their_volume():
    """∫ over the volume is exact for the quadratic functions that an inertia is made of, with 2 points an axis of a box
    and with 7 in radius, angle and height (or polar angle) of the round ones."""
    x, wx = np.polynomial.legendre.leggauss(7)
    u, wu = (x + 1) / 2, wx / 2
    phi = np.arange(7) * 2 * np.pi / 7

    size, g = np.array([0.3, 0.5, 0.7]), 3**-0.5
    corners = np.array([[i, j, k] for i in (-g, g) for j in (-g, g) for k in (-g, g)]) * size / 2
    close(inertia.box(2.5, size), cloud(np.full(8, 2.5 / 8), corners), ROUNDED)

    radius, length = 0.2, 0.9
    points = np.array([[radius * r * np.cos(p), radius * r * np.sin(p), length * z / 2] for r in u for p in phi for z in x])
    weights = np.array([2 * r * w / 7 * v / 2 for r, w in zip(u, wu, strict=True) for _ in phi for v in wx])
    close(inertia.cylinder(2.5, radius, length), cloud(2.5 * weights, points), 2e-15)

    axes = np.array([0.2, 0.3, 0.6])
    points = np.array([r * axes * [(1 - z * z) ** 0.5 * np.cos(p), (1 - z * z) ** 0.5 * np.sin(p), z] for r in u for p in phi for z in x])
    weights = np.array([3 * r * r * w / 7 * v / 2 for r, w in zip(u, wu, strict=True) for _ in phi for v in wx])
    close(inertia.ellipsoid(2.5, axes), cloud(2.5 * weights, points), 2e-15)
    close(inertia.sphere(2.5, 0.4), inertia.ellipsoid(2.5, [0.4] * 3), 0.0)

    half = np.array([[radius * r * np.cos(p), radius * r * np.sin(p), radius * z] for r, z in ball(u, x) for p in phi])
    weights = np.array([2 * np.pi * w / 7 * radius**3 for w in ball_weights(u, wu, x, wx) for _ in phi])
    tube = np.array([[radius * r * np.cos(p), radius * r * np.sin(p), length * z / 2] for r in u for p in phi for z in x])
    shell = np.array([np.pi * radius**2 * length * 2 * r * w / 7 * v / 2 for r, w in zip(u, wu, strict=True) for _ in phi for v in wx])
    points = np.concatenate([tube, half + [0, 0, length / 2], half * [1, 1, -1] - [0, 0, length / 2]])
    close(inertia.capsule(radius=radius, length=length, density=3.0), cloud(3.0 * np.concatenate([shell, weights, weights]), points), 3e-15)


def ball(u, x):
    """Distances from the axis and heights of points in the upper half of a unit ball, at fractions u of the radius."""
    return [(r * (1 - z * z) ** 0.5, r * z) for r in u for z in (x + 1) / 2]


def ball_weights(u, wu, x, wx):
    return [r * r * w * v / 2 for r, w in zip(u, wu, strict=True) for v in wx]


SOLIDS = [(inertia.box, ([0.3, 0.4, 0.5],), 0.06), (inertia.cylinder, (0.3, 0.8), np.pi * 0.072),
          (inertia.capsule, (0.3, 0.8), np.pi * (0.072 + 0.036)), (inertia.ellipsoid, ([0.3, 0.4, 0.5],), np.pi * 0.08),
          (inertia.sphere, (0.3,), np.pi * 0.036)]  # fmt: skip


@pytest.mark.parametrize(("solid", "lengths", "volume"), SOLIDS)
def test_a_density_is_a_mass_by_volume(solid, lengths, volume):
    close(solid(None, *lengths, density=2700.0), solid(2700.0 * volume, *lengths), 1e-15)
    with pytest.raises(EngineError, match=r"mass is 1\.0 and density 2\.0; expected one of them"):
        solid(1.0, *lengths, density=2.0)
    with pytest.raises(EngineError, match="mass is None and density None; expected one of them"):
        solid(None, *lengths)


@pytest.mark.parametrize(("solid", "lengths", "volume"), SOLIDS)
def test_solids_that_cannot_be(solid, lengths, volume):
    with pytest.raises(EngineError, match="mass is -1; expected a mass in kg, zero or more"):
        solid(-1, *lengths)
    with pytest.raises(EngineError, match="density is nan; expected a density in kg/m³, zero or more"):
        solid(None, *lengths, density=np.nan)
    for wrong in ("x", np.nan, -0.1, [1.0, 2.0], None):
        with pytest.raises(EngineError, match=r"(size|radius|semiaxes) (is|holds) "):
            solid(1.0, wrong, *lengths[1:])


def test_no_body_has_a_negative_mass_or_numbers_that_are_none():
    for args, said in (((-1.0, np.zeros(3), np.eye(3)), "mass is -1.0"), ((1.0, np.zeros(2), np.eye(3)), "center has shape"),
                       ((1.0, [np.nan, 0, 0], np.eye(3)), "center holds NaN"), ((1.0, np.zeros(3), np.eye(2)), "tensor"),
                       (("1", np.zeros(3), np.eye(3)), "mass is '1'")):  # fmt: skip
        with pytest.raises(EngineError, match=said):
            inertia.from_mass(*args)


def test_solids_are_mujocos():
    """Its compiler's masses and inertias of a density, of every shape that both have."""
    import mujoco
    shapes = {"box": ("0.15 0.2 0.25", inertia.box(size=[0.3, 0.4, 0.5], density=700.0)),
              "sphere": ("0.3", inertia.sphere(radius=0.3, density=700.0)),
              "cylinder": ("0.3 0.4", inertia.cylinder(radius=0.3, length=0.8, density=700.0)),
              "capsule": ("0.3 0.4", inertia.capsule(radius=0.3, length=0.8, density=700.0)),
              "ellipsoid": ("0.3 0.4 0.5", inertia.ellipsoid(semiaxes=[0.3, 0.4, 0.5], density=700.0))}  # fmt: skip
    for shape, (size, G) in shapes.items():
        body = f'<body><freejoint/><geom type="{shape}" size="{size}" density="700"/></body>'
        theirs = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        assert np.isclose(theirs.body_mass[1], inertia.mass(G), rtol=1e-14), shape
        np.testing.assert_allclose(np.sort(theirs.body_inertia[1]), inertia.principal_moments(G), rtol=1e-13, err_msg=shape)


def test_principal_moments_stay_in_every_frame(rng):
    for T in random_poses(rng, 10):
        G = inertia.transformed(T, inertia.from_mass(2.0, [0.1, 0.2, 0.3], np.diag([1.0, 1.5, 2.0])))
        np.testing.assert_allclose(inertia.principal_moments(G), [1.0, 1.5, 2.0], rtol=1e-14)
        np.testing.assert_allclose(inertia.principal_moments(np.array([G, G])), [[1.0, 1.5, 2.0]] * 2, rtol=1e-14)


def test_printed_values():
    """The tables of mechanics: box m(w² + h²)/12, cylinder m(3r² + h²)/12 and mr²/2, ball 2mr²/5, rod mL²/3 about its end."""
    np.testing.assert_allclose(inertia.box(12.0, [1, 2, 3]).diagonal(), [13, 10, 5, 12, 12, 12], rtol=ROUNDED)
    np.testing.assert_allclose(inertia.cylinder(12.0, 2.0, 3.0).diagonal(), [21, 21, 24, 12, 12, 12], rtol=ROUNDED)
    np.testing.assert_allclose(inertia.sphere(5.0, 3.0).diagonal(), [18, 18, 18, 5, 5, 5], rtol=ROUNDED)
    np.testing.assert_allclose(inertia.ellipsoid(5.0, [1, 2, 3]).diagonal(), [13, 10, 5, 5, 5, 5], rtol=ROUNDED)
    rod = inertia.transformed(se3.pose(np.eye(3), np.array([0, 0, 1.5])), inertia.cylinder(4.0, 0.0, 3.0))
    np.testing.assert_allclose(rod[:3, :3], np.diag([12.0, 12.0, 0.0]), rtol=ROUNDED)
    np.testing.assert_array_equal(inertia.first_moment(rod), [0, 0, 6])


def test_bodies_are_pinocchios(rng):
    import pinocchio as pin
    for ours, theirs in ((inertia.box(2.0, [0.3, 0.4, 0.5]), pin.Inertia.FromBox(2.0, 0.3, 0.4, 0.5)),
                         (inertia.cylinder(2.0, 0.3, 0.8), pin.Inertia.FromCylinder(2.0, 0.3, 0.8)),
                         (inertia.ellipsoid(2.0, [0.3, 0.4, 0.5]), pin.Inertia.FromEllipsoid(2.0, 0.3, 0.4, 0.5)),
                         (inertia.sphere(2.0, 0.3), pin.Inertia.FromSphere(2.0, 0.3))):  # fmt: skip
        close(ours, theirs.matrix()[SWAP], ROUNDED)
    for T in random_poses(rng, 10):
        tensor = T[:3, :3] @ np.diag([1.0, 1.5, 2.0]) @ T[:3, :3].T
        theirs = pin.Inertia(3.0, T[:3, 3], (tensor + tensor.T) / 2)
        ours = inertia.from_mass(3.0, T[:3, 3], tensor)
        close(ours, theirs.matrix()[SWAP], 2e-15)
        close(inertia.transformed(T, ours), theirs.se3Action(pin.SE3(T)).matrix()[SWAP], 3e-15)


def test_meshes_are_solids(rng):
    import trimesh
    box = trimesh.creation.box(extents=[0.3, 0.4, 0.5])
    solid = inertia.box(1000 * 0.3 * 0.4 * 0.5, [0.3, 0.4, 0.5])
    close(inertia.from_mesh(box, 1000.0), solid, 2e-15)
    for T in random_poses(rng, 5):
        moved = box.copy().apply_transform(T)
        close(inertia.from_mesh(moved, 1000.0), inertia.transformed(T, solid), 1e-14)
        moved.density = 7.0                                                    # the mesh's own density is not ours
        close(inertia.from_mesh(moved, 1000.0), inertia.transformed(T, solid), 1e-14)
    ball = trimesh.creation.icosphere(subdivisions=3)
    close(inertia.from_mesh(ball, 2.0), inertia.sphere(2.0 * ball.volume, 1.0), 1.3e-2)    # the facets lie inside


def l_shape():
    """Two boxes that make an L, as one surface that is not star-shaped from amid: an extruded polygon."""
    import trimesh
    corners = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3.0]])
    vertices = np.concatenate([np.c_[corners, np.zeros(6)], np.c_[corners, np.full(6, 0.5)]])
    caps = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    sides = [t for i, j in zip(range(6), [1, 2, 3, 4, 5, 0], strict=True) for t in ([i, j, j + 6], [i, j + 6, i + 6])]
    return trimesh.Trimesh(vertices, [[c, b, a] for a, b, c in caps] + [[a + 6, b + 6, c + 6] for a, b, c in caps] + sides)


def integrals(G):
    """m, ∫ r dm, ∫ r rᵀ dm about the origin."""
    m, c = inertia.mass(G), inertia.center(G)
    return m, m * c, inertia.second_moments(G) + m * np.outer(c, c)


def test_a_density_that_varies_is_integrated():
    """∫ xⁿ and ∫ eˣ over boxes, by hand; two boxes as one; a constant, and a far place, as of a number."""
    import trimesh
    unit = trimesh.creation.box(extents=[1, 1, 1], transform=se3.pose(np.eye(3), [0.5, 0.5, 0.5]))
    for rho, (m, x, xx) in {
        "1 + x**3": (5 / 4, 1 / 2 + 1 / 5, 1 / 3 + 1 / 6),
        "x*y*z": (1 / 8, 1 / 12, 1 / 16),
        "exp(x)": (np.e - 1, 1.0, np.e - 2),
    }.items():
        mass, h, E = integrals(inertia.from_mesh(unit, eval(f"lambda x, y, z: {rho}", {"exp": np.exp})))
        np.testing.assert_allclose([mass, h[0], E[0, 0]], [m, x, xx], rtol=1e-14)
    shape, rho = l_shape(), lambda x, y, z: 1.0 + x * x + y - x * y * z
    boxes = [trimesh.creation.box(bounds=[[0, 0, 0], [2, 1, 0.5]]), trimesh.creation.box(bounds=[[0, 1, 0], [1, 3, 0.5]])]
    close(inertia.from_mesh(shape, rho), sum(inertia.from_mesh(b, rho) for b in boxes), 1e-14)
    close(inertia.from_mesh(shape, lambda x, y, z: 7.0), inertia.from_mesh(shape, 7.0), 1e-14)
    far = shape.copy().apply_translation([100.0, 0.0, 0.0])
    there = inertia.from_mesh(far, lambda x, y, z: rho(x - 100.0, y, z))
    np.testing.assert_allclose(inertia.second_moments(there), inertia.second_moments(inertia.from_mesh(shape, rho)), rtol=0, atol=1e-10)
    by_hand = inertia.from_mesh(unit, lambda x, y, z: math.exp(x) if x < 2 else 0.0)         # takes no arrays
    close(by_hand, inertia.from_mesh(unit, lambda x, y, z: np.exp(x)), 1e-14)


def test_a_density_that_jumps_is_integrated_as_well_as_is_said(monkeypatch):
    import trimesh
    monkeypatch.setattr(filled, "MOST", 500)
    unit = trimesh.creation.box(extents=[1, 1, 1])
    with pytest.warns(EngineWarning, match=r"uncertain by .* of the mass; expected a density without jumps"):
        G = inertia.from_mesh(unit, lambda x, y, z: np.where(x > 0.2, 3.0, 1.0))
    np.testing.assert_allclose(inertia.mass(G), 1.6, rtol=1e-2)


@pytest.mark.parametrize(("density", "words"), [
    ("steel", "density is 'steel'; expected a density in kg/m³, zero or more, or a function"),
    (-1.0, "density is -1.0; expected a density"),
    (lambda x: x, ") is no number (<lambda>() takes 1"),
    (lambda x, y, z: "much", "is no number (could not convert"),
    (lambda x, y, z: x * np.nan, "expected a finite number of each, kg/m³"),
    (lambda x, y, z: np.ones(3), "the density of 36 points is array([1., 1., 1.]); expected a finite number of each"),
    (lambda x, y, z: x, "is -0.5 kg/m³; expected zero or more"),
    (lambda x, y, z: 0.0, "a body of this density has 0 kg; expected a mass above zero"),
])  # fmt: skip
def test_densities_that_are_none(density, words):
    import trimesh
    with pytest.raises(ValueError) as caught:
        inertia.from_mesh(trimesh.creation.box(), density)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_eulers_matrix_is_the_tensor_in_other_words(rng):
    """I = tr(E) 1 − E, of points: E = Σ m r rᵀ; ω·I ω = tr([ω] E [ω]ᵀ); there and back, of batches too."""
    m, r, w = rng.uniform(1, 2, 9), rng.standard_normal((9, 3)), rng.standard_normal(3)
    G = sum(inertia.from_mass(a, p, np.zeros((3, 3))) for a, p in zip(m, r, strict=True))
    c = m @ r / m.sum()
    E = np.einsum("n,ni,nj->ij", m, r - c, r - c)
    close(inertia.second_moments(G), E, 1e-14)
    close(inertia.from_second_moments(m.sum(), c, E), G, 1e-14)
    I = np.trace(E) * np.eye(3) - E
    close(np.trace(so3.hat(w) @ E @ so3.hat(w).T), w @ I @ w, 1e-14)
    np.testing.assert_array_equal(inertia.second_moments(np.array([G, 2 * G]))[0], inertia.second_moments(G))
    with pytest.raises(ValueError, match=r"E has shape \(3,\); expected \(3, 3\)"):
        inertia.from_second_moments(1.0, np.zeros(3), np.ones(3))


def test_meshes_that_enclose_nothing():
    import trimesh
    box = trimesh.creation.box()
    opened = trimesh.Trimesh(box.vertices, box.faces[1:], process=False)
    with pytest.raises(ValueError, match="not a closed surface"):
        inertia.from_mesh(opened, 1000.0)
    inverted = trimesh.Trimesh(box.vertices, box.faces[:, ::-1], process=False)
    with pytest.raises(ValueError, match="not a closed surface"):
        inertia.from_mesh(inverted, 1000.0)


def test_center_of_batches_and_of_nothing(rng):
    G = np.array([inertia.from_mass(m, c, np.eye(3)) for m, c in zip([1.0, 2.0, 4.0], rng.standard_normal((3, 3)), strict=True)])
    G[1] = 0.0
    np.testing.assert_array_equal(inertia.center(G), [inertia.center(g) for g in G])
    np.testing.assert_array_equal(inertia.center(G)[1], np.zeros(3))
    np.testing.assert_array_equal(inertia.mass(G), [1, 0, 4])


# ---------------------------------------------------------------- changes of frame


def quarter_turns():
    """The 24 rotations of a cube, exactly."""
    return Rotation.create_group("O").as_matrix().round()


def poses(rng):
    about = [se3.pose(so3.about(n, t), rng.uniform(-1, 1, 3)) for n in np.eye(3) for t in (0.0, 0.7, -2.5, np.pi)]
    turned = [se3.pose(R, p) for R in quarter_turns() for p in (np.zeros(3), rng.uniform(-1, 1, 3))]
    return [*random_poses(rng, 10), *about, *turned]


def test_transformed_is_its_definition(rng):
    """Ad(T)⁻ᵀ G Ad(T)⁻¹, for any symmetric 6×6 and for turns about any axis and about x, y and z."""
    for T in poses(rng):
        G = random_inertias(rng, 1)[0]
        X = np.linalg.inv(se3.Ad(T))
        moved = inertia.transformed(T, G)
        close(moved, X.T @ G @ X, 5e-15)
        np.testing.assert_array_equal(moved, moved.T)
        V = rng.standard_normal(6)                                            # the energy does not care about the frame
        close((se3.Ad(T) @ V) @ moved @ (se3.Ad(T) @ V), V @ G @ V, 5e-14)
        close(se3.wrench_to_parent(T, G @ V), moved @ (se3.Ad(T) @ V), 2e-14)        # nor does the momentum


def test_transformed_is_an_action_of_the_group(rng):
    for A, B, G in zip(random_poses(rng, 20), random_poses(rng, 20), random_inertias(rng, 20), strict=True):
        close(inertia.transformed(A @ B, G), inertia.transformed(A, inertia.transformed(B, G)), 1e-14)
        close(inertia.transformed(se3.inv(A), inertia.transformed(A, G)), G, 1e-14)
        np.testing.assert_array_equal(inertia.transformed(np.eye(4), G), G)


def test_transformed_moves_the_points(rng):
    m, r = rng.uniform(0.1, 1, 9), rng.standard_normal((9, 3))
    for T in poses(rng):
        close(inertia.transformed(T, cloud(m, r)), cloud(m, r @ T[:3, :3].T + T[:3, 3]), 5e-15)


def test_transformed_reads_the_upper_triangle(rng):
    G = random_inertias(rng, 1)[0]
    spoiled = np.where(np.tri(6, k=-1, dtype=bool), np.nan, G)
    for T in poses(rng):
        np.testing.assert_array_equal(inertia.transformed(T, spoiled), inertia.transformed(T, G))


def test_mirrored_and_rotated(rng):
    A = rng.standard_normal((3, 3))
    np.testing.assert_array_equal(inertia.mirrored(A), np.triu(A) + np.triu(A, 1).T)
    for T in poses(rng):
        close(inertia.rotated(T[:3, :3], A), T[:3, :3] @ A @ T[:3, :3].T, 2e-15)


# ---------------------------------------------------------------- what no body has


@pytest.mark.parametrize(("G", "words"), [
    (np.eye(5), "shape (5, 5); expected (6, 6)"),
    (np.full((6, 6), np.nan), "NaN or infinity"),
    (np.eye(6) + np.diag([0.5], 5), "not symmetric (by up to 0.5)"),
    (-2.0 * np.eye(6), "mass is -2 kg"),
    (np.diag([1.0, 1, 1, 1, 1, 2]), "has not the form"),
    (inertia.from_mass(0.0, np.zeros(3), np.eye(3)), "mass is zero but"),
    (inertia.from_mass(1.0, np.ones(3), np.diag([1, -1, 1])), "principal moments -1, 1, 1 kg·m² are not all positive"),
    (inertia.from_mass(1.0, np.ones(3), np.diag([1, 3, 1])), "principal moments 1, 1, 3 kg·m² violate the triangle inequality"),
])  # fmt: skip
def test_faults_say_what_is_wrong(G, words):
    (fault,) = inertia.faults(G)
    assert words in fault
    if G.shape == (6, 6) and np.isfinite(G).all() and inertia.is_rigid(G) and (G == G.T).all():
        assert inertia.unphysical(np.array([G, np.zeros((6, 6))])).tolist() == [True, False]


def test_bodies_at_the_edge_have_no_faults(rng):
    """Massless, a point, a rod and a plate (where the triangle inequality is an equality), near and far from the origin."""
    rod, plate, speck = inertia.cylinder(1.0, 0.0, 1.0), inertia.box(1.0, [1.0, 2.0, 0.0]), inertia.box(1e-6, [1e-3] * 3)
    for G in (np.zeros((6, 6)), inertia.sphere(1.0, 0.0), rod, plate, speck):
        for T in random_poses(rng, 10):
            assert inertia.faults(inertia.transformed(T, G)) == []


# ---------------------------------------------------------------- machine code


def test_plain_interpreted_compiled_agree(rng):
    T, G = random_poses(rng, 11), random_inertias(rng, 11)
    check_lives(inertia.transformed, T, G, tolerance=5e-15)
    check_lives(lambda G: (inertia.mass(G), inertia.first_moment(G)), G)
    for n in np.eye(3):                                                       # turns that fold
        turned = lambda t, p, G, n=n: inertia.transformed(se3.pose(so3.about(n, t), p), G)
        check_lives(turned, np.array([0.0, 1e-12, 1e-9, 0.3, 2.0, np.pi, -1.0, -3.0, 5.0, 9.0, 0.1]), T[:, :3, 3], G, tolerance=5e-15)


# ---------------------------------------------------------------- the wrench that a motion takes


def test_wrench_is_the_body_equation(rng):
    """F = G V̇ − ad(V)ᵀ G V: of a rigid body by Newton and Euler, of any other inertia by 6×6 matrices."""
    masses, centers = rng.uniform(1, 3, 5), rng.standard_normal((5, 3))
    rigid = [inertia.from_mass(m, c, np.diag([1.0, 2.0, 2.5])) for m, c in zip(masses, centers, strict=True)]
    for G in [*rigid, *random_inertias(rng, 5)]:
        V, Vdot = rng.standard_normal((2, 6))
        close(inertia.wrench(G, V, Vdot), G @ Vdot - se3.ad(V).T @ G @ V, 2e-15)
    assert all(inertia.is_rigid(G) for G in rigid) and inertia.is_rigid(np.zeros((6, 6)))
    assert not any(inertia.is_rigid(G) for G in random_inertias(rng, 5))
    assert not inertia.is_rigid(rigid[0] + np.diag([0, 0, 0, 0, 0, 1e-9]))


def test_power_of_the_wrench_is_the_rate_of_kinetic_energy(rng):
    for G in [inertia.box(2.0, [1, 2, 3]), *random_inertias(rng, 3)]:
        V, Vdot = rng.standard_normal((2, 6))
        close(V @ inertia.wrench(G, V, Vdot), V @ G @ Vdot, 1e-14)


def test_wrench_against_pinocchio(rng):
    import pinocchio as pin

    for _ in range(5):
        V, Vdot = rng.standard_normal((2, 6))
        Y = pin.Inertia.Random()
        G = Y.matrix()[SWAP]
        Vp, Ap = pin.Motion(V[[3, 4, 5, 0, 1, 2]]), pin.Motion(Vdot[[3, 4, 5, 0, 1, 2]])
        close(inertia.wrench(G, V, Vdot), (Y * Ap + Y.vxiv(Vp)).vector[[3, 4, 5, 0, 1, 2]], 1e-14)


def test_wrench_plain_interpreted_and_compiled(rng):
    V, Vdot = rng.standard_normal((2, 11, 6))
    for G in (inertia.from_mass(2.0, np.array([0.1, 0.2, 0.3]), np.eye(3)), random_inertias(rng, 1)[0]):
        check_lives(lambda V, Vdot, G=G: inertia.wrench(G, V, Vdot), V, Vdot)


@pytest.mark.parametrize("axis", [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, -1.0]])
def test_turns_about_a_coordinate_axis_take_the_short_way(rng, axis):
    """Trace and antisymmetric part in the plane stay, the rest turns twice: the same as R A Rᵀ."""
    for angle in (0.0, 1e-9, 0.7, np.pi / 2, 3.0):
        R, A = so3.about(np.array(axis), angle), rng.standard_normal((3, 3))
        close(inertia.rotated(R, A), R @ A @ R.T, 2e-15)


@pytest.mark.parametrize("solid, said", [
    (lambda x: inertia.sphere(1.0, x), "radius"), (lambda x: inertia.cylinder(1.0, x, 1.0), "radius"),
    (lambda x: inertia.capsule(1.0, 1.0, x), "length"), (lambda x: inertia.box(1.0, [1.0, x, 1.0]), "size"),
    (lambda x: inertia.ellipsoid(density=1.0, semiaxes=[x, 1.0, 1.0]), "semiaxes"),
])  # fmt: skip
def test_a_solid_without_a_finite_inertia_is_refused_by_what_is_too_long(solid, said):
    with pytest.raises(EngineError, match=rf"{said} is .*1e\+200.*; expected at most 1e\+50 m"):
        solid(1e200)
    assert np.isfinite(solid(1e50)).all()
