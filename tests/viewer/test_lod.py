"""Stand-ins with fewer triangles: they keep what they stand for."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

import engine
from engine.viewer.scene import Actor
from engine.viewer.scene.lod import decimated
from engine.viewer.scene.surface import Surface, sphere
from engine.viewer.scene.triangles import area_of
from tests.dynamics.support import ROBOTS


@pytest.mark.parametrize("triangles", (150, 300))
def test_what_has_many_parts_is_not_torn(triangles):
    """Of a row of small balls none goes; each has more triangles than were asked for."""
    balls = [trimesh.creation.icosphere(subdivisions=2, radius=0.02) for _ in range(40)]
    for k, ball in enumerate(balls):
        ball.apply_translation([0.01 * k, 0.03 * np.sin(k), 0.0])
    row = trimesh.util.concatenate(balls)
    surface = Surface(row.vertices.astype(np.float32), row.vertex_normals.astype(np.float32), row.faces.astype(np.uint32))
    fewer = decimated(surface, triangles)
    assert triangles <= len(fewer.faces) < 0.4 * len(surface.faces)
    assert area_of(fewer.positions, fewer.faces) > 0.9 * area_of(surface.positions, surface.faces)


def test_two_shells_in_one_another_have_as_few_triangles_as_are_asked_for():
    """What collapses gently gets stuck where walls are thin, as links' shells are; their silhouettes stay, by rays of trimesh's."""
    link = engine.load_urdf(ROBOTS / "talos_data/robots/talos_full_v2.urdf", floating_base=True)
    shells = {len(part.surface.faces): part.surface for part in Actor(link).parts}
    surface = shells[8716]
    fewer = decimated(surface, 400)
    assert len(fewer.faces) < 1000                                             # 4300, gently
    meshes = [trimesh.Trimesh(s.positions, s.faces) for s in (surface, fewer)]
    low, high = meshes[0].bounds
    for axis in range(3):
        at = np.stack(np.meshgrid(*[np.linspace(low[k], high[k], 60) for k in range(3) if k != axis]), axis=-1).reshape(-1, 2)
        origins = np.insert(at, axis, low[axis] - 1.0, axis=1)
        hit = [mesh.ray.intersects_any(origins, np.tile(np.eye(3)[axis], (len(origins), 1))) for mesh in meshes]
        assert (hit[0] ^ hit[1]).sum() < 0.07 * hit[0].sum()


def test_what_is_round_stays_round():
    ball = sphere()[0].surface
    fewer = decimated(ball, 200)
    assert len(fewer.faces) < 300 and np.linalg.norm(fewer.positions, axis=1) == pytest.approx(1.0, abs=0.03)


def test_the_edge_between_two_materials_stays_where_it_is():
    """Of a ball in two colours, whose halves are made coarser each by itself, no place of the seam is farther from either than a chord."""
    from engine.viewer.scene.lod import strays

    ball = trimesh.creation.icosphere(subdivisions=5, radius=1.0)
    wavy = ball.triangles_center[:, 2] > 0.3 * np.sin(3 * np.arctan2(ball.triangles_center[:, 1], ball.triangles_center[:, 0]))
    for side in (wavy, ~wavy):
        faces = ball.faces[side]
        surface = Surface(ball.vertices.astype(np.float32), ball.vertices.astype(np.float32), faces.astype(np.uint32))
        fewer = decimated(surface, 200, edged=True)
        place = np.unique(np.round(fewer.positions, 5), axis=0, return_inverse=True)[1].reshape(-1)
        points = np.zeros((place.max() + 1, 3))
        points[place] = fewer.positions
        off = strays(ball.vertices, faces, points, place[fewer.faces])
        assert len(fewer.faces) < 900 and off < 0.03, (len(fewer.faces), off)


def test_fewer_triangles_are_made_once_and_are_the_same_bits(tmp_path, monkeypatch):
    """What is kept on disk is what is made; of other points or another number of triangles it is another; the damaged is made again."""
    from engine.viewer.scene import lod

    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path))
    ball, made = sphere()[0].surface, []
    smoothed = lod.smoothed
    monkeypatch.setattr(lod, "smoothed", lambda *given: made.append(1) or smoothed(*given))

    def fewer(surface, triangles=200):
        s = decimated(surface, triangles)
        return [x.tobytes() for x in (s.positions, s.normals, s.faces)], len(made)

    first, count = fewer(ball)
    assert count == 1 and fewer(ball) == (first, 1)
    other, count = fewer(replace(ball, positions=ball.positions * np.float32(1.1)))
    assert count == 2 and other != first
    assert fewer(ball, 300)[1] == 3 and fewer(ball, 300)[1] == 3
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert fewer(ball) == (first, 4)
    monkeypatch.setenv("ENGINE_CACHE", "0")
    assert fewer(ball) == (first, 5)


def test_many_parts_that_have_too_many_triangles_are_a_box_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path))
    balls = trimesh.util.concatenate([trimesh.creation.icosphere(radius=0.02).apply_translation([0.1 * k, 0, 0]) for k in range(40)])
    row = Surface(balls.vertices.astype(np.float32), balls.vertex_normals.astype(np.float32), balls.faces.astype(np.uint32))
    assert [len(decimated(row, 20).faces) for _ in range(2)] == [12, 12] and len(list(tmp_path.iterdir())) == 1
