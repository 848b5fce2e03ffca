"""Convex parts of meshes: close to them, the same bits anywhere, made once."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import trimesh
from trimesh import creation

from engine import cache
from engine.io import convex_parts, decomposition
from engine.io.decomposition import CONVEX, distances, measured, winding
from tests.meshes import cup, l_shape


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def bits(parts):
    return hashlib.sha256(b"|".join(x.tobytes() for x in parts.points)).hexdigest()


def filled(points, n=40):
    """The volume of a union of hulls, counted on a grid."""
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    x = low + (high - low) * (np.stack(np.meshgrid(*[np.arange(n)] * 3), axis=-1).reshape(-1, 3) + 0.5) / n
    planes = [np.column_stack([h.face_normals, -(h.face_normals * h.triangles[:, 0]).sum(axis=1)])
              for h in map(trimesh.convex.convex_hull, points)]  # fmt: skip
    return (decomposition.depth(x, planes) < 0.0).mean() * np.prod(high - low)


# ---------------------------------------------------------------- how far parts reach


def test_distances_and_windings_of_a_ball():
    """Of an icosphere: within the sagitta of its facets of what they are of the ball; of half of it, half the solid angle at its centre."""
    ball = creation.icosphere(4)
    sagitta = 1.0 - np.linalg.norm(ball.triangles_center, axis=1).min()
    x = np.random.default_rng(0).standard_normal((200, 3))
    r = np.linalg.norm(x, axis=1)
    assert (np.abs(distances(x, ball.triangles) - np.abs(r - 1.0)) <= sagitta).all()
    clear = np.abs(r - 1.0) > sagitta
    assert np.abs(winding(x, ball.triangles) - (r < 1.0))[clear].max() < 1e-12
    half = ball.triangles[ball.triangles_center[:, 2] < 0.0]
    rim = 1.0 - 2.0 * np.pi / 360.0                                            # the facets' rim is not quite at z = 0
    assert abs(winding(np.zeros((1, 3)), half)[0] - 0.5) < 1.0 - rim


def test_how_far_a_hull_reaches_beyond_a_torus():
    """In the middle of its lid: hypot(R, r) − r from the tube; and of parts that lack a half, what they lack."""
    R, r = 0.1, 0.03
    torus = creation.torus(R, r, major_sections=96, minor_sections=48)
    whole = measured(torus, [torus.vertices])
    deepest = np.hypot(R, r) - r
    assert deepest - decomposition.SPACING * whole.size < whole.beyond <= deepest * 1.001
    assert whole.outside == 0.0 and not whole.close
    box = creation.box((2.0, 1.0, 1.0))
    halves = [np.array(creation.box(bounds=[[x, -0.5, -0.5], [x + 0.5, 0.5, 0.5]]).vertices) for x in (-1.0, -0.5)]
    assert measured(box, halves)[1:3] == (0.0, 0.0) or abs(measured(box, halves).outside - 1.0) < 1e-12


def test_what_is_hollow_counts_as_convex():
    """A shell with a wall of a hundredth, whose volume is a twentieth of its hull's."""
    inner = creation.icosphere(3, 0.98)
    inner.invert()
    shell = trimesh.util.concatenate([creation.icosphere(3), inner])
    assert shell.volume < 0.1 * shell.convex_hull.volume
    assert len(convex_parts(shell).points) == 1 and convex_parts(shell).close


# ---------------------------------------------------------------- parts


@pytest.mark.parametrize(("make", "most"), [(l_shape, 1.01), (lambda: creation.torus(0.1, 0.03, 24, 12), 1.1)], ids=["L", "torus"])
def test_parts_fill_hardly_more_than_the_mesh(make, most):
    mesh = make()
    parts = convex_parts(mesh)
    assert 1 < len(parts.points) <= 12 and parts.close
    grid = 0.03                                                                # of a grid of 40³, by a box
    assert 1.0 - grid < filled(parts.points) / mesh.volume < most + grid
    assert mesh.volume < (1.0 + 2.0 * CONVEX) * sum(trimesh.convex.convex_hull(p).volume for p in parts.points)


def test_a_mesh_with_holes_is_closed_and_taken_apart():
    mesh = cup(sections=24)
    mesh.update_faces(np.arange(len(mesh.faces)) % 17 != 0)
    assert not mesh.is_watertight
    parts = convex_parts(mesh)
    assert 1 < len(parts.points) <= 12 and max(parts.beyond, parts.outside) < 0.06 * parts.size
    assert not mesh.is_watertight                                              # it is the caller's


def test_a_torn_mesh_is_taken_apart_as_voxels(monkeypatch):
    """An L of loose triangles, some of them missing; searched for little, as its voxels have many faces."""
    monkeypatch.setattr(decomposition, "OPTIONS", decomposition.OPTIONS | {"mcts_iterations": 10, "mcts_nodes": 5, "resolution": 300})
    mesh = l_shape()
    mesh.update_faces(np.arange(len(mesh.faces)) % 9 != 0)
    mesh = trimesh.Trimesh(mesh.triangles.reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3), process=False)
    parts = convex_parts(mesh)
    assert 1 < len(parts.points) <= 12 and all(decomposition.solid(p) for p in parts.points)


def two_boxes():
    """An L of two boxes, one of which stands on the other: a mesh of two closed surfaces."""
    boxes = creation.box(bounds=[[0, 0, 0], [0.3, 0.1, 0.1]]), creation.box(bounds=[[0, 0, 0.1], [0.1, 0.1, 0.3]])
    return trimesh.util.concatenate(boxes)


def loose():
    """An L of loose triangles, of which none is missing."""
    mesh = l_shape()
    return trimesh.Trimesh(mesh.triangles.reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3), process=False)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_closed_surfaces_beside_each_other_are_parts_of_their_own(scale):
    mesh = two_boxes().apply_scale(scale)
    parts = convex_parts(mesh)
    assert len(parts.points) == 2 and parts.beyond == parts.outside == 0.0


@pytest.mark.parametrize("make", [two_boxes, loose])
def test_parts_made_of_voxels_end_where_the_mesh_does(make, monkeypatch):
    """They reached 0.6 % of its size beyond it on all sides."""
    monkeypatch.setattr(decomposition, "surfaces", lambda mesh: [mesh])
    mesh = make()
    points = np.concatenate(convex_parts(mesh).points)
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], mesh.bounds, atol=1e-6)


def test_where_the_library_crashes_the_mesh_counts_as_one_and_nothing_is_kept(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(decomposition, "PROCESS", "import os; os.abort()")
        parts = convex_parts(l_shape())
    assert len(parts.points) == 1 and not parts.close and not list(folder.iterdir())
    assert len(convex_parts(l_shape()).points) == 2


def test_without_the_library_the_mesh_counts_as_one_until_it_is_there(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(decomposition, "library", lambda: "")
        assert len(convex_parts(l_shape()).points) == 1
    assert len(convex_parts(l_shape()).points) == 2


# ---------------------------------------------------------------- on disk


def test_the_second_time_is_from_disk(folder, monkeypatch):
    first = convex_parts(l_shape())
    monkeypatch.setattr(decomposition, "decomposed", lambda mesh: pytest.fail("taken apart again"))
    second = convex_parts(l_shape())
    assert bits(second) == bits(first) and second[1:] == first[1:] and len(list(folder.iterdir())) == 1
    monkeypatch.setitem(decomposition.OPTIONS, "threshold", 0.2)
    with pytest.raises(pytest.fail.Exception):
        convex_parts(l_shape())


def test_other_meshes_have_other_parts(folder):
    a, b = l_shape(), l_shape()
    b.vertices[0] += 1e-9
    convex_parts(a), convex_parts(b)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]])
def test_a_damaged_file_is_made_anew(folder, damage):
    first = convex_parts(l_shape())
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert bits(convex_parts(l_shape())) == bits(first) and path.read_bytes() == whole


def test_parts_are_the_same_bits_in_another_process():
    """On five threads there, on as many as there are processors here."""
    code = ("import hashlib; from trimesh import creation; from engine.io import convex_parts\n"
            "parts = convex_parts(creation.torus(0.1, 0.03, 16, 8))\n"
            "print(hashlib.sha256(b'|'.join(x.tobytes() for x in parts.points)).hexdigest())")  # fmt: skip
    environment = {**os.environ, "ENGINE_CACHE": "0", "OMP_NUM_THREADS": "5"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert other.stdout.strip() == bits(convex_parts(creation.torus(0.1, 0.03, 16, 8))) and cache.folder() is not None
