"""Surfaces: what is read from files, which material wins, which way triangles face, where edges are sharp, and what is shared."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from engine.io import RobotFileError, load_mesh
from engine.model import Geometry, Material
from engine.viewer.scene import materials
from engine.viewer.scene.surface import GREY, Surface, surfaces
from engine.viewer.scene.triangles import components

RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5)
BALL = trimesh.creation.icosphere(subdivisions=3)
BOX = trimesh.creation.box((1.0, 2.0, 3.0))


def mesh(path: Path, scale=(1.0, 1.0, 1.0), material: Material | None = None) -> Geometry:
    return Geometry("mesh", scale, mesh=path, material=material, up_axis=False)


def saved(path: Path, shape: trimesh.Trimesh) -> Geometry:
    shape.export(path)
    return mesh(path)


def only(shape: Geometry) -> Surface:
    ((found, _),) = surfaces(shape)
    return found


def corners(shape: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Positions and normals (m, 3, 3) of all triangles' corners, placed as the matrices say."""
    P, N = [], []
    for s, T in surfaces(shape):
        P.append((s.positions @ T[:3, :3].T + T[:3, 3])[s.faces])
        n = s.normals @ np.linalg.inv(T[:3, :3])
        N.append((n / np.linalg.norm(n, axis=1, keepdims=True))[s.faces])
    return np.concatenate(P), np.concatenate(N)


def volume(P: np.ndarray) -> float:
    return float(np.linalg.det(P).sum() / 6)


def facing(P: np.ndarray) -> np.ndarray:
    normal = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


# ---------------------------------------------------------------- simple shapes


@pytest.mark.parametrize(("kind", "size", "expected"), [
    ("box", (1.0, 2.0, 3.0), 6.0),
    ("sphere", (0.5,), np.pi / 6),
    ("cylinder", (0.5, 3.0), 0.75 * np.pi),
    ("capsule", (0.5, 3.0), 0.75 * np.pi + np.pi / 6),
])  # fmt: skip
def test_simple_shapes_are_closed_and_as_large_as_they_should(kind, size, expected):
    shape = Geometry(kind, size)
    P, N = corners(shape)
    assert np.isclose(volume(P), expected, rtol=0.01)
    assert np.allclose([P.min(axis=(0, 1)), P.max(axis=(0, 1))], load_mesh(shape).bounds, atol=0.01)
    assert (np.einsum("ijk,ik->ij", N, facing(P)) > 0.99).all()                     # neither facets nor smoothed rims
    solid = trimesh.Trimesh(P.reshape(-1, 3).round(6), np.arange(P.size // 3).reshape(-1, 3))
    assert solid.is_watertight and solid.is_winding_consistent


def test_a_height_field_is_drawn_as_a_block_with_its_surface():
    """Sides down to its lowest place; a corner that is as low is no side."""
    h = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 0.25], [0.5, 0.5, 0.5]])
    shape = Geometry("heightfield", (4.0, 3.0), heights=h)
    P, N = corners(shape)
    bottom = P[..., 2].min()
    assert np.allclose([P.min(axis=(0, 1)), P.max(axis=(0, 1))], [[-2.0, -1.5, 0.0], [2.0, 1.5, 2.0]])
    assert (np.einsum("ijk,ik->ij", N, facing(P)) > 0.5).all() and bottom == load_mesh(shape).bounds[0, 2]
    exact = sum(h[i : i + 2, j : j + 2].mean() for i in range(3) for j in range(2)) * 2.0
    up = facing(P)[:, 2] > 1e-6
    triangles = np.cross(P[up, 1] - P[up, 0], P[up, 2] - P[up, 0])[:, 2] / 2.0
    assert abs(triangles.sum() - 12.0) < 1e-6 and abs((triangles * P[up, :, 2].mean(axis=1)).sum() - exact) < 0.5


def test_a_shape_without_thickness_is_still_drawn():
    ((_, T),) = surfaces(Geometry("box", (1.0, 1.0, 0.0)))
    assert np.linalg.det(T) > 0


# ---------------------------------------------------------------- normals


def test_edges_are_sharp_and_round_things_smooth(tmp_path):
    box, ball = only(saved(tmp_path / "box.stl", BOX)), only(saved(tmp_path / "ball.stl", BALL))
    assert len(box.positions) == 24 and np.allclose(np.abs(box.normals).max(axis=1), 1)
    assert len(ball.positions) == len(BALL.vertices)
    assert (np.einsum("ij,ij->i", ball.normals, ball.positions) > 0.9999).all()
    tube = only(saved(tmp_path / "tube.stl", trimesh.creation.cylinder(1.0, 2.0, sections=32)))
    assert len(tube.positions) == 2 * (2 * 32 + 1)                                  # of either rim twice, and the middles of the caps


def test_smooth_normals_are_the_mean_by_angle_and_area_of_the_faces_around(tmp_path):
    rng = np.random.default_rng(0)
    bumpy = BALL.copy()
    bumpy.vertices *= 1 + 0.01 * rng.normal(size=(len(bumpy.vertices), 1))
    s = only(saved(tmp_path / "bumpy.ply", bumpy))
    P = s.positions[s.faces].astype(float)
    for i in rng.integers(len(s.positions), size=40):
        total = np.zeros(3)
        for (a, b, c), face in zip(P, s.faces, strict=True):
            for here, x, y, k in ((a, b, c, 0), (b, c, a, 1), (c, a, b, 2)):
                if face[k] == i:
                    n = np.cross(x - here, y - here)
                    angle = np.arccos((x - here) @ (y - here) / np.linalg.norm(x - here) / np.linalg.norm(y - here))
                    total += angle * n
        assert np.allclose(s.normals[i], total / np.linalg.norm(total), atol=1e-4)


def test_normals_of_the_file_are_kept_where_they_say_something(tmp_path):
    """Those of a ball's facets stand for a ball; turned inwards, or only repeating the triangles, they say nothing."""
    coarse_ball = trimesh.creation.icosphere(subdivisions=1)
    text = [f"v {x} {y} {z}" for x, y, z in coarse_ball.vertices]
    text += [f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in coarse_ball.faces + 1]
    tilted = coarse_ball.vertices + [0.0, 0.0, 0.2]
    for name, normals in (("given", tilted), ("inwards", -tilted)):
        (tmp_path / f"{name}.obj").write_text("\n".join([*(f"vn {x} {y} {z}" for x, y, z in normals), *text]))
    given, inwards = (only(mesh(tmp_path / f"{name}.obj")) for name in ("given", "inwards"))
    tilted = given.positions + [0.0, 0.0, 0.2]
    assert np.allclose(given.normals, tilted / np.linalg.norm(tilted, axis=1, keepdims=True), atol=1e-3)
    assert (np.einsum("ij,ij->i", inwards.normals, inwards.positions) > 0.9).all()
    flat = BALL.copy()
    flat.unmerge_vertices()
    flat.vertex_normals = np.repeat(flat.face_normals, 3, axis=0)
    assert len(only(saved(tmp_path / "flat.glb", flat)).positions) == len(BALL.vertices)


# ---------------------------------------------------------------- which way triangles face


def test_closed_parts_that_are_inside_out_are_turned(tmp_path):
    wrong = BOX.copy().apply_translation([5, 0, 0])
    wrong.invert()
    sheet = trimesh.Trimesh([[0, 0, 9], [1, 0, 9], [0, 1, 9]], [[0, 2, 1]])
    P, N = corners(saved(tmp_path / "two.stl", trimesh.util.concatenate([BOX, wrong, sheet])))
    assert np.isclose(volume(P[P[:, :, 2].min(axis=1) < 8]), 12)
    assert (np.einsum("ijk,ik->ij", N, facing(P)) > 0.99).all()
    assert np.allclose(facing(P[P[:, :, 2].min(axis=1) > 8]), [0, 0, -1])               # as it was: it has no inside


@pytest.mark.parametrize("scale", [(2.0, 3.0, 0.5), (-1.0, 1.0, 1.0), (0.5, -2.0, 1.0), (1.0, -1.0, -1.0), (-1.0, -1.0, -2.0)])
def test_a_scale_mirrors_what_is_drawn_and_turns_its_triangles(tmp_path, scale):
    horn = trimesh.creation.cone(1.0, 2.0).apply_translation([3.0, 1.0, 0.5])
    shape = mesh(saved(tmp_path / "horn.stl", horn).mesh, scale)
    ((_, T),) = surfaces(shape)
    P, N = corners(shape)
    expected = load_mesh(shape)
    assert np.linalg.det(T) > 0
    assert np.allclose([P.min(axis=(0, 1)), P.max(axis=(0, 1))], expected.bounds, atol=1e-5)
    assert np.isclose(volume(P), expected.volume, rtol=1e-4) and expected.volume > 0
    assert (np.einsum("ijk,ik->ij", N, facing(P)) > 0.5).all()


def test_degenerate_triangles_are_dropped(tmp_path):
    line = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.0, 0.0]], [[0, 1, 2], [0, 1, 1], [0, 3, 1]], process=False)
    assert len(only(saved(tmp_path / "line.ply", line)).faces) == 1
    with pytest.raises(RobotFileError, match=r"none.ply: the mesh's triangles have no area; expected a surface"):
        surfaces(saved(tmp_path / "none.ply", trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], process=False)))


# ---------------------------------------------------------------- materials


CARDS = """mtllib cards.mtl
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl picture\nf 1/1 2/2 3/3\nusemtl glass\nf 5/1 6/2 7/3\nusemtl picture\nf 1/1 3/3 4/4
"""
LOOKS = "newmtl glass\nKd 0.2 0.4 0.6\nd 0.25\nNs 100\nnewmtl picture\nKd 1 1 1\nmap_Kd {}\n"


def cards(folder: Path, picture: str = "corner.png") -> Path:
    """An OBJ file of two materials; the picture is red in its lower left corner."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.full((8, 16, 3), 255, np.uint8)
    pixels[-1, 0] = [255, 0, 0]
    Image.fromarray(pixels).save(folder / "corner.png")
    (folder / "cards.obj").write_text(CARDS)
    (folder / "cards.mtl").write_text(LOOKS.format(picture))
    return folder / "cards.obj"


def test_a_file_of_two_materials_is_two_surfaces(tmp_path):
    found = {s.name: s for s, _ in surfaces(mesh(cards(tmp_path), material=Material("paint", RED)))}
    glass, picture = found["glass"], found["picture"]
    assert np.allclose(glass.color, (0.2, 0.4, 0.6, 0.25)) and glass.texture is None and glass.uv is None
    assert np.isclose(glass.roughness**4, 2 / 102)
    assert picture.color == (1, 1, 1, 1) and len(picture.faces) == 2 and len(picture.positions) == 4
    origin = int(np.abs(picture.positions).sum(axis=1).argmin())
    h, w, _ = picture.texture.shape
    u, v = picture.uv[origin]
    assert (h, w) == (8, 16) and picture.texture[min(int((1 - v) * h), h - 1), int(u * w)].tolist() == [255, 0, 0, 255]


def test_the_robots_material_is_for_what_has_none(tmp_path):
    shape = saved(tmp_path / "box.stl", BOX)
    assert only(shape).color == GREY
    assert only(mesh(shape.mesh, material=Material("paint", BLUE))).color == BLUE
    assert only(Geometry("sphere", (1.0,), material=Material("paint", BLUE))).color == BLUE
    assert only(Geometry("sphere", (1.0,), material=Material("paint", (2.0, -1.0, 0.5, 1.0)))).color == (1, 0, 0.5, 1)
    cards(tmp_path)
    (tmp_path / "bare.obj").write_text(CARDS.replace("mtllib cards.mtl\n", ""))
    bare = only(mesh(tmp_path / "bare.obj", material=Material("paint", BLUE, tmp_path / "corner.png")))
    assert bare.color == BLUE and bare.texture.shape == (8, 16, 4) and len(bare.faces) == 3
    boxed = only(Geometry("box", (1.0, 1.0, 1.0), material=Material("print", None, tmp_path / "corner.png")))
    assert boxed.color == (1, 1, 1, 1) and boxed.texture is bare.texture


def test_colors_of_vertices_and_faces(tmp_path):
    shape = BOX.copy()
    shape.visual.vertex_colors = np.arange(32, dtype=np.uint8).reshape(8, 4) + 200
    s = only(mesh(saved(tmp_path / "vertices.ply", shape).mesh, material=Material("paint", RED)))
    nearest = np.linalg.norm(shape.vertices[None] - s.positions[:, None], axis=2).argmin(axis=1)
    assert s.color == (1, 1, 1, 1) and (s.colors == shape.visual.vertex_colors[nearest]).all()
    shape = BOX.copy()
    shape.visual.face_colors = [[255, 0, 0, 255]] * 6 + [[0, 255, 0, 255]] * 6
    s = only(saved(tmp_path / "faces.ply", shape))
    reds = s.colors[s.faces][:, :, 0] == 255
    assert (reds.all(axis=1) | (~reds).all(axis=1)).all() and reds.all(axis=1).sum() == 6


def test_gltf_is_placed_and_its_linear_colors_are_made_srgb(tmp_path):
    half = trimesh.visual.material.PBRMaterial(baseColorFactor=[55, 55, 55, 51], metallicFactor=0.75, roughnessFactor=0.25)
    half.alphaMode = "BLEND"
    ball = trimesh.Trimesh(BOX.vertices, BOX.faces, visual=trimesh.visual.TextureVisuals(material=half))
    scene = trimesh.Scene()
    scene.add_geometry(ball, geom_name="a")
    scene.graph.update("two", geometry="a", matrix=trimesh.transformations.translation_matrix([10, 0, 0]))
    scene.graph.update("three", geometry="a", matrix=np.diag([-1.0, 1, 1, 1]))
    scene.export(tmp_path / "boxes.glb")
    shape = mesh(tmp_path / "boxes.glb")
    s = only(shape)
    P, _ = corners(shape)
    assert np.allclose(s.color, (0.5029, 0.5029, 0.5029, 0.2), atol=0.002) and (s.metallic, s.roughness) == (0.75, 0.25)
    assert np.isclose(P[:, :, 0].max(), 10.5) and len(s.faces) == 36 and np.isclose(volume(P), 18)
    assert np.allclose(load_mesh(shape).bounds, [P.min(axis=(0, 1)), P.max(axis=(0, 1))])
    half.alphaMode = "OPAQUE"
    ball.export(tmp_path / "opaque.glb")
    assert only(mesh(tmp_path / "opaque.glb")).color[3] == 1.0


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_effects>
<effect id="e1"><profile_COMMON><technique sid="c"><phong><diffuse><color>0.1 0.2 0.3 1</color></diffuse>
 <shininess><float>30</float></shininess>{}</phong></technique></profile_COMMON></effect>
<effect id="e2"><profile_COMMON><technique sid="c"><lambert><diffuse><color>1 1 1 1</color></diffuse></lambert>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m1" name="paint"><instance_effect url="#e1"/></material>
<material id="m2"><instance_effect url="#e{}"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array><technique_common>
<accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist material="A" count="1"><input semantic="VERTEX" source="#v" offset="0"/><vcount>4</vcount><p>0 1 2 3</p></polylist>
<triangles material="B" count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node><scale>1000 1000 1000</scale>
<node><instance_geometry url="#g">{bind}</instance_geometry></node>
<node><translate>0 0 2</translate><instance_geometry url="#g">{bind}</instance_geometry></node></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>""".replace("{bind}", """<bind_material><technique_common>
<instance_material symbol="A" target="#m1"/><instance_material symbol="B" target="#m2"/></technique_common></bind_material>""")


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (1.0, -2.0, 3.0)])
def test_collada_that_is_turned(tmp_path, scale):
    """What is drawn is what is read for contacts."""
    (tmp_path / "cards.dae").write_text(DAE.format("", 1))
    for up_axis in (True, False):
        shape = Geometry("mesh", scale, mesh=tmp_path / "cards.dae", up_axis=up_axis)
        P, _ = corners(shape)
        assert all(np.linalg.det(T[:3, :3]) > 0 for _, T in surfaces(shape))
        np.testing.assert_allclose(load_mesh(shape).bounds, [P.min(axis=(0, 1)), P.max(axis=(0, 1))], atol=1e-6)
        assert np.ptp(P[..., 1]) == pytest.approx(abs(scale[1]) * (2 if up_axis else 1))


@pytest.mark.parametrize(("transparent", "opacity"), [
    ("", 1.0),
    ('<transparent opaque="A_ONE"><color>1 1 1 0.5</color></transparent><transparency><float>0.5</float></transparency>', 0.25),
    ('<transparent opaque="RGB_ZERO"><color>0.75 0.75 0.75 1</color></transparent><transparency><float>1</float></transparency>', 0.25),
    ("<transparent><color>1 1 1 1</color></transparent><transparency><float>0</float></transparency>", 1.0),
])  # fmt: skip
def test_collada(tmp_path, transparent, opacity):
    (tmp_path / "cards.dae").write_text(DAE.format(transparent, 1))
    shape = mesh(tmp_path / "cards.dae")
    s = only(shape)                                                                  # both materials are the same
    assert np.allclose(s.color, (0.1, 0.2, 0.3, opacity), atol=1e-6) and s.name == "paint" and np.isclose(s.roughness**4, 2 / 32)
    assert len(s.faces) == 6
    P, _ = corners(shape)
    assert np.allclose([P.min(axis=(0, 1)), P.max(axis=(0, 1))], [[0, 0, 0], [1, 1, 2]])
    assert np.allclose(load_mesh(shape).bounds, [[0, 0, 0], [1, 1, 2]])


def test_collada_that_names_what_it_does_not_have_is_drawn_without_it(tmp_path):
    sampler = '<newparam sid="s"><sampler2D><source>nowhere</source></sampler2D></newparam>'
    text = DAE.format("", 2).replace("<color>1 1 1 1</color>", '<texture texture="s" texcoord="UV"/>')
    text = text.replace('<technique sid="c"><lambert>', f'{sampler}<technique sid="c"><lambert>')
    (tmp_path / "cards.dae").write_text(text)
    with pytest.warns(UserWarning, match=r"cards.dae: something that it names is not in it .*; the mesh is drawn without it"):
        found = surfaces(mesh(tmp_path / "cards.dae", material=Material("paint", RED)))
    assert sorted(len(s.faces) for s, _ in found) == [2, 4]
    assert {s.color for s, _ in found if len(s.faces) == 2} == {RED}


# ---------------------------------------------------------------- textures


@pytest.mark.parametrize(("picture", "data", "said"), [
    ("none.png", None, "'none.png' is not there; looked for"),
    ("broken.png", b"no picture", "'broken.png' cannot be read as a picture"),
    ("../secret.png", None, "'../secret.png' leads to"),
])  # fmt: skip
def test_a_texture_that_cannot_be_read_is_a_warning(tmp_path, picture, data, said):
    folder = tmp_path / "pkg"
    path = cards(folder, picture)
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    if data:
        (folder / picture).write_bytes(data)
    with pytest.warns(UserWarning) as caught:
        found = surfaces(mesh(path))
    (message,) = {str(w.message) for w in caught}
    assert message.startswith(f"{path}: {said}") and message.endswith("; the mesh is drawn without it")
    assert len(found) == 2 and not any(s.texture is not None for s, _ in found)


def test_a_picture_cut_short_is_a_warning(tmp_path):
    path = cards(tmp_path)
    Image.effect_noise((64, 64), 50).convert("RGB").save(tmp_path / "corner.png")
    (tmp_path / "corner.png").write_bytes((tmp_path / "corner.png").read_bytes()[:1000])
    with pytest.warns(UserWarning, match=r"cards.obj: a texture cannot be read \(.*truncated.*; the mesh is drawn without it"):
        surfaces(mesh(path))
    with pytest.warns(UserWarning, match=r"corner.png: a texture cannot be read \(.*truncated"):
        surfaces(Geometry("box", (1.0, 1.0, 1.0), material=Material("print", None, tmp_path / "corner.png")))


def test_materials_outside_of_the_package_are_not_read(tmp_path):
    path = cards(tmp_path / "pkg")
    (tmp_path / "pkg" / "cards.mtl").rename(tmp_path / "cards.mtl")
    path.write_text(CARDS.replace("cards.mtl", "../cards.mtl"))
    with pytest.warns(UserWarning, match=r"'../cards.mtl' leads to .*; expected a file inside"):
        found = surfaces(mesh(path))
    assert {s.color for s, _ in found} == {GREY}
    (tmp_path / "pkg" / "cards.mtl").symlink_to(tmp_path / "cards.mtl")
    other = tmp_path / "pkg" / "other.obj"
    other.write_text(CARDS)
    with pytest.warns(UserWarning, match=r"'cards.mtl' leads to"):
        surfaces(mesh(other))


def test_a_picture_in_the_packages_other_folder_is_read(tmp_path):
    path = cards(tmp_path / "pkg" / "meshes", "../textures/corner.png")
    (tmp_path / "pkg" / "package.xml").write_text("<package><name>pkg</name></package>")
    (tmp_path / "pkg" / "textures").mkdir()
    (path.parent / "corner.png").rename(tmp_path / "pkg" / "textures" / "corner.png")
    assert sum(s.texture is not None for s, _ in surfaces(mesh(path))) == 1


def test_a_very_large_picture_is_made_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(materials, "LARGEST_TEXTURE", 4)
    (picture,) = (s.texture for s, _ in surfaces(mesh(cards(tmp_path))) if s.texture is not None)
    assert picture.shape == (2, 4, 4)


@pytest.mark.parametrize("of", ["the robot's material", "the mesh"])
def test_a_picture_that_changes_is_read_again_and_one_that_comes_is_seen(tmp_path, of):
    """In one process, as in a notebook; the mesh's own file stays as it was."""
    path = cards(tmp_path)
    shape = mesh(path) if of == "the mesh" else Geometry("box", (1.0, 1.0, 1.0), material=Material("print", None, tmp_path / "corner.png"))

    def seen():
        return [s.texture[0, 0].tolist() for s, _ in surfaces(shape) if s.texture is not None]

    first = seen()
    assert first == [[255, 255, 255, 255]] and surfaces(shape)[0][0] is surfaces(shape)[0][0]
    Image.new("RGB", (16, 8), (0, 128, 0)).save(tmp_path / "corner.png")
    assert seen() == [[0, 128, 0, 255]]
    (tmp_path / "corner.png").unlink()
    with pytest.warns(UserWarning, match="is not there|cannot be read"):
        assert not seen()
    Image.new("RGB", (16, 8), (0, 0, 128)).save(tmp_path / "corner.png")
    assert seen() == [[0, 0, 128, 255]]


# ---------------------------------------------------------------- sharing


def test_what_is_the_same_is_one_object(tmp_path):
    shape = saved(tmp_path / "box.stl", BOX)
    twice, larger = only(mesh(shape.mesh)), only(mesh(shape.mesh, (2.0, 2.0, 2.0)))
    painted = only(mesh(shape.mesh, material=Material("a", RED)))
    assert only(shape) is twice is larger and painted is only(mesh(shape.mesh, material=Material("b", RED)))
    assert painted is not twice and painted.positions is twice.positions
    assert only(mesh(shape.mesh, (-1.0, 1.0, 1.0))) is only(mesh(shape.mesh, (1.0, 1.0, -3.0)))
    assert only(Geometry("box", (1.0, 2.0, 3.0))) is only(Geometry("box", (4.0, 4.0, 4.0)))
    assert only(Geometry("capsule", (1.0, 2.0))) is only(Geometry("capsule", (1.0, 2.0)))


def test_missing_files_say_so(tmp_path):
    with pytest.raises(RobotFileError, match="is not there; looked for a and b"):
        surfaces(Geometry("mesh", (1.0, 1.0, 1.0), fault="mesh 'x' is not there; looked for a and b"))
    with pytest.raises(RobotFileError, match=r"gone.stl: there is no such file; expected a mesh"):
        surfaces(mesh(tmp_path / "gone.stl"))
    (tmp_path / "x.stl").write_bytes(b"solid")
    with pytest.raises(RobotFileError, match=r"x.stl: the mesh holds no triangles; expected a surface"):
        surfaces(mesh(tmp_path / "x.stl"))


def test_what_is_flat_stays_flat_beside_a_bevel():
    """A plate whose edge is a chamfer of 30°, as rounded edges are made of: the normals of its face stay within a degree."""
    from engine.viewer.scene.triangles import smoothed

    w, t = 0.004, 0.004 * np.tan(np.radians(30.0))
    inner, outer = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]), np.array([[-w, -w], [1 + w, -w], [1 + w, 1 + w], [-w, 1 + w]])
    points = np.vstack([np.column_stack([inner, np.zeros(4)]), np.column_stack([outer, np.full(4, -t)])])
    sides = [f for k in range(4) for n in [(k + 1) % 4] for f in ((k, 4 + k, 4 + n), (k, 4 + n, n))]
    faces = np.array([(0, 1, 2), (0, 2, 3), *sides])
    normals = smoothed(points, faces, faces)
    assert np.degrees(np.arccos(np.clip(normals[:2, :, 2], -1.0, 1.0))).max() < 1.0        # 11 degrees by angles alone


@pytest.mark.parametrize(("n", "links"), [(1, 0), (10, 5), (300, 240), (2000, 3000)])
def test_parts_are_scipys(n, links):
    """On random links, and on a chain whose nodes are numbered at random."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rng = np.random.default_rng(links)
    chain = rng.permutation(n)
    for i, j in (rng.integers(0, n, (2, links)), (chain[:-1], chain[1:])):
        count, part = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
        found = components(i, j, n)
        assert found[0] == count and (found[1] == part).all()


def test_triangles_are_worked_on_without_scipy():
    """Whose import is an eighth of the first picture of a robot of COLLADA meshes."""
    code = ("import sys, numpy as np; from engine.viewer.scene.triangles import inside_out; f = np.array([[0, 1, 2]]); "
            "inside_out(np.eye(3), f, f); sys.exit('scipy.sparse' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
