"""What is looked at in a motion, against particles, brute force and loops."""

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from engine.rigid_body import determinant, distance_to_se3, kinetic_energy, point_paths, world_momentum
from engine.spatial import inertia, se3
from tests.numeric import close

RNG = np.random.default_rng(12)
MASSES, PLACES = RNG.uniform(0.5, 2, 7), RNG.standard_normal((7, 3))
#: seven particles' inertia about the origin, their centre elsewhere
G = sum(inertia.from_mass(m, r, np.zeros((3, 3))) for m, r in zip(MASSES, PLACES, strict=True))
T = se3.pose(Rotation.random(5, rng=RNG).as_matrix(), RNG.standard_normal((5, 3)))
V = RNG.standard_normal((5, 6))


def test_energy_and_momentum_are_the_particles():
    for k in range(5):
        R, p, (w, v) = T[k, :3, :3], T[k, :3, 3], np.split(V[k], 2)
        speeds = np.cross(w, PLACES) + v
        momenta = MASSES[:, None] * speeds
        close(kinetic_energy(G, V)[k], 0.5 * MASSES @ (speeds**2).sum(axis=1), 1e-14)
        world = momenta @ R.T
        close(world_momentum(T, G, V)[k], np.concatenate([np.cross(p + PLACES @ R.T, world).sum(axis=0), world.sum(axis=0)]), 1e-13)
    for fn in (kinetic_energy,):                                                # an inertia for every twist
        np.testing.assert_array_equal(fn(np.array([G, 2 * G]), V[:2]), [fn(G, V[0]), fn(2 * G, V[1])])


def nearest(A):
    """min ‖A − R‖ over rotations, by descent from many starts."""
    return min(minimize(lambda w: ((A - Rotation.from_rotvec(w).as_matrix()) ** 2).sum(), start, tol=1e-14).fun
               for start in Rotation.random(8, rng=1).as_rotvec())  # fmt: skip


def test_determinant_is_the_volume():
    A = T + 0.1 * RNG.standard_normal(T.shape)
    x, y, z = np.moveaxis(A[:, :3, :3], -1, 0)
    close(determinant(A), np.vecdot(x, np.cross(y, z)), 1e-14)
    close(determinant(T), np.ones(5), 1e-14)


def test_distance_to_se3_is_that_of_the_nearest_pose_by_brute_force():
    A = np.tile(np.eye(4), (5, 1, 1))
    A[:, :3, :3] = [RNG.standard_normal((3, 3)), T[0, :3, :3] @ np.diag([1, 1, -1]), -np.eye(3), T[1, :3, :3] @ np.diag([2, 1, 0]),
                    T[2, :3, :3] + 0.01 * RNG.standard_normal((3, 3))]  # fmt: skip
    A[1, 3] = [0.1, -0.2, 0.3, 0.9]                                                           # |last row − [0 0 0 1]|² = 0.15
    wanted = [nearest(B[:3, :3]) + ((B[3] - [0, 0, 0, 1]) ** 2).sum() for B in A]
    assert np.linalg.det(A[:, :3, :3]).min() < -0.9 and np.abs(distance_to_se3(A) ** 2 - wanted).max() < 1e-7 * np.max(wanted)
    np.testing.assert_array_equal(distance_to_se3(A)[3], distance_to_se3(A[3]))
    assert distance_to_se3(T).max() < 1e-14


def test_point_paths_are_poses_times_points():
    points = PLACES[:4]
    wanted = [[(pose @ np.append(r, 1.0))[:3] for r in points] for pose in T]
    close(point_paths(T, points), wanted, 1e-14)
    np.testing.assert_array_equal(point_paths(T[0], points), point_paths(T, points)[0])
    assert point_paths(np.array([T, T]), points.tolist()).shape == (2, 5, 4, 3)
