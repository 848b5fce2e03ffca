"""Surfaces of files, kept on disk: the same bits as read anew, and never those of another file."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from engine.viewer.scene import surface as module
from engine.viewer.scene.surface import Surface, of_file

DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><created>2020-01-01</created><modified>2020-01-01</modified><unit meter="0.5"/><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="c"><lambert>
<diffuse><color>0.1 0.2 0.3 0.5</color></diffuse><transparency><float>0.5</float></transparency></lambert></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="m" name="blue"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="2" material="s"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3</p></triangles>
<triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>1 2 3 0 3 2</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return the surfaces of a file as another process finds them, and how many files have been read so far."""
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    reads, gathered = [], module.gathered
    monkeypatch.setattr(module, "gathered", lambda path: reads.append(path) or gathered(path))

    def found(path: Path):
        of_file.cache_clear()
        return of_file(str(path)), len(reads)

    return found


def bits(surface: Surface) -> list:
    return [(x.dtype, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in vars(surface).values()]


def colored(of: str) -> trimesh.Trimesh:
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    setattr(box.visual, f"{of}_colors", np.arange(4 * len(getattr(box, {"vertex": "vertices", "face": "faces"}[of]))).reshape(-1, 4) + 100)
    return box


@pytest.mark.parametrize("name", ["plain.stl", "vertex.ply", "face.ply", "plain.obj", "two.dae"])
def test_surfaces_of_a_file_are_made_once_and_are_the_same_bits(tmp_path, read, name):
    path = tmp_path / name
    if name == "two.dae":
        path.write_text(DAE)
    else:
        (trimesh.creation.icosphere(2) if name.startswith("plain") else colored(path.stem)).export(path)
    first, count = read(path)
    again, still = read(path)
    assert (count, still, len(first)) == (1, 1, 2 if name == "two.dae" else 1)
    for (a, bare_a), (b, bare_b) in zip(first, again, strict=True):
        assert bits(a) == bits(b) and bare_a is bare_b
    if name == "two.dae":
        assert {s.name for s, _ in again} == {"blue", ""} and [bare for _, bare in again].count(True) == 1


def test_another_file_is_read_and_so_is_what_is_damaged(tmp_path, read):
    path = tmp_path / "a.stl"
    ball = trimesh.creation.icosphere(2)
    ball.export(path)
    first, _ = read(path)
    ball.apply_scale(2.0).export(path)
    other, count = read(path)
    assert count == 2 and np.allclose(other[0].surface.positions, 2.0 * first[0].surface.positions)
    for kept in (tmp_path / "cache").iterdir():
        kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    again, count = read(path)
    assert count == 3 and bits(again[0].surface) == bits(other[0].surface)


def test_what_other_files_have_a_part_in_is_read_each_time(tmp_path, read):
    """Materials in a file beside it, which may change; and where one is not there, who draws it is told each time."""
    box = trimesh.creation.box()
    uv = np.zeros((len(box.vertices), 2))
    box.visual = trimesh.visual.TextureVisuals(uv, image=Image.new("RGB", (2, 2)))
    box.export(tmp_path / "box.obj")
    assert [read(tmp_path / "box.obj")[1] for _ in range(2)] == [1, 2]
    box.export(tmp_path / "box.glb")
    assert [read(tmp_path / "box.glb")[1] for _ in range(2)] == [3, 4]
    for picture in (*tmp_path.glob("*.png"), *tmp_path.glob("*.jpg")):
        picture.unlink()
    for _ in range(2):
        with pytest.warns(UserWarning, match="drawn without it"):
            read(tmp_path / "box.obj")
