"""What the tests of geometry share: shapes, poses, compiled functions of pairs, support functions, and two other libraries' distances."""

from __future__ import annotations

import functools

import coal
import mujoco
import numpy as np

import engine
from engine.compiler import trace
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, Hull, Sphere, distance, points
from engine.spatial import so3

#: random points whose hull has 13 vertices, some faces narrow
SCATTER = np.random.default_rng(7).standard_normal((16, 3)) * (0.4, 0.3, 0.2)
CUBE = Hull([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SOLIDS = {"box": Box((1.0, 0.6, 0.3)), "cylinder": Cylinder(0.4, 0.5), "disk": Cylinder(0.6, 0.05), "capsule": Capsule(0.2, 0.8),
          "ellipsoid": Ellipsoid((0.5, 0.3, 0.2)), "sphere": Sphere(0.3), "hull": Hull(SCATTER)}  # fmt: skip
#: what stands for a shape where plain Python is the measure: a hull of few faces
FEW = {"hull": Hull([[0.4, 0.0, -0.1], [-0.3, 0.3, -0.2], [-0.2, -0.4, -0.1], [0.0, 0.1, 0.3]])}


def pose(R, p):
    """The pose (4, 4)."""
    return np.block([[np.asarray(R), np.asarray(p, dtype=float)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def poses(n, far=1.2, seed=0):
    """Random poses (n, 4, 4), up to ``far`` away."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((2, n, 3))
    R = so3.exp(u[0] / np.linalg.norm(u[0], axis=1, keepdims=True) * rng.uniform(0.0, np.pi, (n, 1)))
    p = u[1] / np.linalg.norm(u[1], axis=1, keepdims=True) * rng.uniform(0.0, far, (n, 1))
    return np.stack([pose(*x) for x in zip(R, p, strict=True)])


def moved(T, d):
    """Poses whose position is d (n, 3) further."""
    T = np.array(T)
    T[..., :3, 3] += d
    return T


def inverse(T):
    return np.linalg.inv(T)


def compiled(fn):
    """A function of poses that returns several arrays, as machine code for batches alone; a NaN is an error."""
    shapes = trace(fn, [(4, 4)]).shapes_out
    ufunc = engine.gufunc(fn, "(4,4)->" + ",".join(f"({','.join(map(str, s))})" for s in shapes)).ufunc
    return np.errstate(all="ignore", invalid="raise")(lambda T: ufunc(T))


@functools.cache
def distance_of(a, b):
    """gap, normal, a and b of many poses."""
    return compiled(lambda T: tuple(distance(a, b, T)))


@functools.cache
def both_of(a, b):
    """What ``points_of`` and ``distance_of`` return, of one program."""
    return compiled(lambda T: (*points(a, b, T), *distance(a, b, T)))


@functools.cache
def points_of(a, b):
    """position, normal and gap of many poses."""
    return compiled(lambda T: tuple(points(a, b, T)))


def reach(shape, d):
    """The support function max d·x of a shape for directions (n, 3), as textbooks have it."""
    match shape:
        case Sphere(r):
            return r * np.linalg.norm(d, axis=-1)
        case Capsule(r, length):
            return r * np.linalg.norm(d, axis=-1) + 0.5 * length * np.abs(d[..., 2])
        case Box(size):
            return 0.5 * np.abs(d) @ np.array(size)
        case Cylinder(r, length):
            return r * np.hypot(d[..., 0], d[..., 1]) + 0.5 * length * np.abs(d[..., 2])
        case Ellipsoid(radii):
            return np.linalg.norm(d * np.array(radii), axis=-1)
        case Hull(vertices):
            return (d @ np.array(vertices).T).max(axis=-1)


def planes_apart(a, b, T, n):
    """s(n) = min n·b − max n·a for poses (n, 4, 4) and unit vectors (n, 3)."""
    return np.vecdot(n, T[..., :3, 3]) - reach(b, -np.einsum("...i,...ij->...j", n, T[..., :3, :3])) - reach(a, n)


# ---------------------------------------------------------------- other libraries


def coal_shape(shape):
    match shape:
        case Sphere(r):
            return coal.Sphere(r)
        case Capsule(r, length):
            return coal.Capsule(r, length)
        case Box(size):
            return coal.Box(*size)
        case Cylinder(r, length):
            return coal.Cylinder(r, length)
        case Ellipsoid(radii):
            return coal.Ellipsoid(*radii)
        case Hull(vertices):
            corners = coal.StdVec_Vec3s()
            for v in vertices:
                corners.append(np.array(v))
            return coal.Convex.convexHull(corners, True, "Qt")


def coal_distance(a, b, T):
    """Signed distances of poses (n, 4, 4) by coal."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-10
    request.gjk_max_iterations = request.epa_max_iterations = 500
    one, two, found = coal_shape(a), coal_shape(b), []
    for X in T:
        result.clear()
        coal.distance(one, coal.Transform3s.Identity(), two, coal.Transform3s(X[:3, :3], X[:3, 3]), request, result)
        found.append(result.min_distance)
    return np.array(found)


def mujoco_geom(shape):
    match shape:
        case Sphere(r):
            return f'type="sphere" size="{r!r}"'
        case Capsule(r, length):
            return f'type="capsule" size="{r!r} {0.5 * length!r}"'
        case Box((x, y, z)):
            return f'type="box" size="{0.5 * x!r} {0.5 * y!r} {0.5 * z!r}"'
        case Cylinder(r, length):
            return f'type="cylinder" size="{r!r} {0.5 * length!r}"'
        case Ellipsoid((x, y, z)):
            return f'type="ellipsoid" size="{x!r} {y!r} {z!r}"'


def mujoco_distance(a, b, T):
    """Signed distances of poses (n, 4, 4) by MuJoCo."""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option ccd_tolerance="1e-12" ccd_iterations="500"/><worldbody><geom {mujoco_geom(a)}/>'
        f"<body><freejoint/><geom {mujoco_geom(b)}/></body></worldbody></mujoco>")  # fmt: skip
    data, fromto, found = mujoco.MjData(model), np.zeros(6), []
    for X in T:
        data.qpos[:3] = X[:3, 3]
        mujoco.mju_mat2Quat(data.qpos[3:7], np.ascontiguousarray(X[:3, :3]).ravel())
        mujoco.mj_kinematics(model, data)
        found.append(mujoco.mj_geomDistance(model, data, 0, 1, 100.0, fromto))
    return np.array(found)
