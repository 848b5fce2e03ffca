"""Mesh files: where they are looked for, where they may not lie, and what reading them gives."""

import base64
import io
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from engine.io import RobotFileError, RobotFileWarning, check, load_mesh, load_urdf, prepared
from engine.io.dae import color_bytes
from engine.io.mesh import different
from engine.io.mesh import read as contents
from engine.model import Geometry

BOX = trimesh.creation.box((1.0, 2.0, 3.0))


def place(folder: Path, uri: str, urdf: str = "pkg/urdf/robot.urdf", scale: str = "") -> Path:
    file = folder / urdf
    file.parent.mkdir(parents=True, exist_ok=True)
    mesh = f'<visual><geometry><mesh filename="{uri}" {scale}/></geometry></visual>'
    file.write_text(f'<robot name="r"><link name="a">\n{mesh}</link></robot>')
    return file


def geometry(file: Path, **options) -> Geometry:
    return load_urdf(file, **options).link("a").visuals[0]


def stl(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    BOX.export(file)
    return file.resolve()


# ---------------------------------------------------------------- where meshes lie


@pytest.mark.parametrize("uri", ["package://pkg/meshes/x.stl", "package:///pkg/meshes/x.stl", "package://my_name/meshes/x.stl",
                                 "../meshes/x.stl", "file://{}/pkg/meshes/x.stl", "{}/pkg/meshes/x.stl",
                                 "../urdf/../meshes/x.stl"])  # fmt: skip
def test_found_in_a_package(tmp_path, uri):
    mesh = stl(tmp_path / "pkg/meshes/x.stl")
    (tmp_path / "pkg/package.xml").write_text("<package><name>my_name</name></package>")
    found = geometry(place(tmp_path, uri.format(tmp_path)))
    assert found.mesh == mesh and not found.fault and found.uri == uri.format(tmp_path)
    assert load_mesh(found).bounds.tolist() == BOX.bounds.tolist()


def test_found_without_a_package_file(tmp_path):
    """Beside the robot file; in the folder above 'urdf'; in a folder above that the package name names."""
    mesh = stl(tmp_path / "pkg/meshes/x.stl")
    assert geometry(place(tmp_path, "x.stl", "pkg/meshes/r.urdf")).mesh == mesh
    assert geometry(place(tmp_path, "package://pkg/meshes/x.stl", "pkg/here/r.urdf")).mesh == mesh
    assert geometry(place(tmp_path, "../meshes/x.stl")).mesh == mesh
    assert geometry(place(tmp_path, "../meshes/x.stl", "pkg/here/r.urdf")).mesh is None      # what folder is 'here'?


def test_found_in_declared_folders(tmp_path, monkeypatch):
    mesh = stl(tmp_path / "far/other/x.stl")
    file = place(tmp_path, "package://other/x.stl")
    missing = geometry(file)
    said = "names the package 'other', which is not around; expected 'urdf' or 'pkg', or its folder in package_dirs"
    assert missing.mesh is None and missing.fault == f"{file}:2: link 'a': mesh 'package://other/x.stl' {said}"
    assert geometry(file, package_dirs=[tmp_path / "far"]).mesh == mesh
    assert geometry(file, package_dirs=tmp_path / "far/other").mesh == mesh
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere{os.pathsep}{tmp_path}/far")
    assert geometry(file).mesh == mesh
    assert geometry(place(tmp_path, f"{tmp_path}/far/other/x.stl")).mesh == mesh


def test_found_behind_a_link_to_the_robot_file(tmp_path):
    mesh = stl(tmp_path / "pkg/meshes/x.stl")
    place(tmp_path, "package://pkg/meshes/x.stl")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/robot.urdf").symlink_to(tmp_path / "pkg/urdf/robot.urdf")
    assert geometry(tmp_path / "elsewhere/robot.urdf").mesh == mesh


def test_a_missing_mesh_stops_nothing_until_it_is_asked_for(tmp_path):
    missing = geometry(place(tmp_path, "package://pkg/meshes/none.stl"))
    assert missing.mesh is None
    said = f"mesh 'package://pkg/meshes/none.stl' is not there; looked for {tmp_path}/pkg/meshes/none.stl"
    with pytest.raises(RobotFileError) as caught:
        load_mesh(missing)
    assert str(caught.value) == f"{tmp_path}/pkg/urdf/robot.urdf:2: link 'a': {said}"


# ---------------------------------------------------------------- where they may not lie


@pytest.mark.parametrize("uri", ["../../../../../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "package://pkg/../../../../../etc/passwd",
                                 "../../secret.stl", "package://pkg/link.stl", "package://pkg/door/secret.stl", "package://../secret.stl",
                                 "file:///%65tc/passwd", "../../pkg-too/secret.stl"])  # fmt: skip
def test_no_name_leads_out(tmp_path, uri):
    stl(tmp_path / "secret.stl")
    stl(tmp_path / "pkg-too/secret.stl")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/link.stl").symlink_to(tmp_path / "secret.stl")
    (tmp_path / "pkg/door").symlink_to(tmp_path)
    file = place(tmp_path, uri)
    shape = geometry(file)
    assert shape.mesh is None
    with pytest.raises(RobotFileError, match=r"link 'a': mesh '.*' (leads to .*; expected a file inside|names the package '..')"):
        load_mesh(shape)
    if not uri.startswith("package://.."):
        report = check(file)
        assert not report.ok and "expected a file inside" in str(report)


def test_names_longer_than_paths_are_refused_at_once(tmp_path):
    """A name of 800 kB took minutes, as 400 000 folders to look behind."""
    for uri in ("a/" * 400_000, "../" * 300_000 + "x.stl", "package://" + "x" * 5000):
        shape = geometry(place(tmp_path, uri))
        assert shape.mesh is None and shape.fault.endswith(f"has {len(uri)} characters; expected at most 4096")


@pytest.mark.parametrize("uri, said", [("http://x.org/a.stl", "begins with 'http://'; expected package://, model://, file:// or a path"),
                                       ("package://", "names the package ''")])  # fmt: skip
def test_no_name_leads_to_the_network(tmp_path, uri, said):
    assert said in geometry(place(tmp_path, uri)).fault


# ---------------------------------------------------------------- what is in them


@pytest.mark.parametrize("format", ["stl", "obj", "ply", "off", "glb"])
def test_formats(tmp_path, format):
    BOX.export(tmp_path / f"x.{format}")
    mesh = load_mesh(geometry(place(tmp_path, f"x.{format}", "r.urdf")))
    assert isinstance(mesh, trimesh.Trimesh) and np.allclose(mesh.bounds, BOX.bounds) and np.isclose(mesh.volume, 6)


def test_a_gltf_file_reads_its_buffers_where_robot_files_may(tmp_path):
    for name, data in trimesh.Scene(BOX).export(file_type="gltf").items():
        (tmp_path / name.replace("model", "x")).write_bytes(data)
    shape = geometry(place(tmp_path, "x.gltf", "r.urdf"))
    assert np.isclose(load_mesh(shape).volume, 6)
    text = (tmp_path / "x.gltf").read_text()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/out.gltf").write_text(re.sub(r'"uri": ?"', r'"uri":"../', text))
    with pytest.raises(RobotFileError, match=r"out.gltf: the mesh cannot be read \('../.*\.bin' leads to .*; expected a file inside"):
        load_mesh(Geometry("mesh", (1, 1, 1), mesh=tmp_path / "pkg/out.gltf"))


def test_vertices_that_are_not_finite(tmp_path):
    (tmp_path / "x.off").write_text("OFF\n3 1 0\n0 0 nan\n1 0 0\n0 1 0\n3 0 1 2\n")
    with pytest.raises(RobotFileError, match=r"x.off: the mesh holds vertices that are not finite; expected a surface"):
        load_mesh(geometry(place(tmp_path, "x.off", "r.urdf")))


def test_collada_in_its_own_unit(tmp_path):
    import collada  # noqa: F401  (its reader)
    text = trimesh.exchange.dae.export_collada([BOX, BOX.copy().apply_translation([5, 0, 0])]).decode()
    metres, millimetres = (re.sub("<asset>(.*?<unit[^>]*/>)?", f'<asset><unit meter="{unit}"/>', text) for unit in ("1.0", "0.001"))
    for name, text, unit in (("m.dae", metres, 1.0), ("mm.dae", millimetres, 0.001)):
        (tmp_path / name).write_text(text)
        mesh = load_mesh(geometry(place(tmp_path, name, "r.urdf"), up_axis=False))
        assert np.allclose(mesh.bounds / unit, [[-0.5, -1, -1.5], [5.5, 1, 1.5]])


def standing(file: Path, up: str) -> Path:
    """A box of 1 m, 2 m, 3 m, less a corner at (+, +, +), in a COLLADA file whose <up_axis> is ``up``."""
    corner = trimesh.Trimesh(BOX.vertices, BOX.faces[(BOX.vertices[BOX.faces] < 0).any(axis=(1, 2))], process=False)
    corner.export(file)
    text = re.sub("<up_axis>.*?</up_axis>", f"<up_axis>{up}</up_axis>" if up else "", file.read_text())
    assert up in text
    file.write_text(text)
    return file


@pytest.mark.parametrize(("up", "axes"), [("Y_UP", ("x", "-z", "y")), ("X_UP", ("-y", "-z", "x")), ("Z_UP", "xyz"), ("", "xyz")])
def test_colladas_up_axis(tmp_path, up, axes):
    """It is turned where that is asked for, before it is scaled; else it is not, and said where nobody asked and it made a difference."""
    file = place(tmp_path, str(standing(tmp_path / "box.dae", up)), "robot.urdf", 'scale="1 1 2"')
    plain = geometry(file, up_axis=False)
    points = load_mesh(plain).vertices / [1, 1, 2]
    turned = np.stack([points[:, "xyz".index(a[-1])] * (-1 if a[0] == "-" else 1) for a in axes], axis=1)
    np.testing.assert_allclose(load_mesh(geometry(file, up_axis=True)).vertices, turned * [1, 1, 2], atol=1e-9)
    if up in ("Y_UP", "X_UP"):
        with pytest.warns(RobotFileWarning, match=rf"box\.dae: its <up_axis> is {up}, and it is taken as it is written.*up_axis=True"):
            silent = load_mesh(geometry(file))
        assert [f.severity for f in check(file, meshes=True).findings if "up_axis" in f.message] == ["note"]
    else:
        silent = load_mesh(geometry(file))
        assert not any("up_axis" in f.message for f in check(file, meshes=True).findings)
    assert np.array_equal(silent.vertices, load_mesh(plain).vertices)
    with pytest.raises(RobotFileError, match="up_axis is 'z'; expected True, False or None"):
        load_urdf(file, up_axis="z")


def test_scale_mirrors_too_and_a_mesh_is_the_callers_own(tmp_path):
    stl(tmp_path / "x.stl")
    shape = geometry(place(tmp_path, "x.stl", "r.urdf", 'scale="0.001 -0.001 0.002"'))
    mesh = load_mesh(shape)
    assert np.allclose(mesh.extents, [0.001, 0.002, 0.006]) and mesh.volume > 0
    mesh.apply_scale(100)
    assert np.allclose(load_mesh(shape).extents, [0.001, 0.002, 0.006])


def test_simple_shapes():
    assert np.allclose(load_mesh(Geometry("box", (1, 2, 3))).extents, [1, 2, 3])
    assert np.allclose(load_mesh(Geometry("sphere", (2,))).extents, [4, 4, 4], rtol=0.01)
    for kind, height in (("cylinder", 3), ("capsule", 5)):
        bounds = load_mesh(Geometry(kind, (1, 3))).bounds
        assert np.allclose(bounds[:, 2], [-height / 2, height / 2]) and np.allclose(bounds[:, 0], [-1, 1], atol=0.01)
    with pytest.raises(RobotFileError, match="has no file"):
        load_mesh(Geometry("mesh", (1, 1, 1)))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_simple_shapes_are_as_good_in_every_size(size):
    """Merged by a distance of 1e-8 m, a small capsule would be a few points."""
    for kind, sides in (("box", (1, 2, 3)), ("sphere", (1,)), ("cylinder", (1, 3)), ("capsule", (1, 3))):
        mesh, unit = (load_mesh(Geometry(kind, tuple(s * x for x in sides))) for s in (size, 1.0))
        assert (mesh.faces == unit.faces).all() and np.allclose(mesh.vertices, size * unit.vertices, rtol=1e-14, atol=0)
        assert mesh.is_watertight and mesh.volume > 0


def test_shapes_that_are_none():
    with pytest.raises(RobotFileError, match=r"a capsule of the size \(1e\+300, 1.0\) reaches beyond 1e\+18 m; expected a smaller one"):
        load_mesh(Geometry("capsule", (1e300, 1)))


# ---------------------------------------------------------------- read right, or not at all

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


def read(folder: Path, name: str, data: bytes | str, scale=(1.0, 1.0, 1.0)):
    """The mesh of a file."""
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return load_mesh(Geometry("mesh", scale, mesh=folder / name))


def corners(mesh) -> list:
    """The points of its triangles, in an order of their own."""
    return sorted(mesh.triangles.reshape(-1, 9).round(12).tolist())


def facets(points: np.ndarray) -> str:
    text = "".join(" vertex " + " ".join(map(repr, map(float, p))) + "\n" * (k % 3 < 2) for k, p in enumerate(points))
    for _ in range(len(points) // 3):
        text = text.replace("vertex", "facet normal 0 0 1\nouter loop\nVERTEX", 1).replace("vertex", "VERTEX", 2)
    return text.replace(" facet", "\nendloop\nendfacet\nfacet").replace("VERTEX", "vertex") + "\nendloop\nendfacet\n"


def test_vertices_are_one_if_they_are_equal_and_only_then(tmp_path):
    quad = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    for size in (1e-9, 1.0, 1e12):
        mesh = read(tmp_path, f"{size}.stl", f"solid s\n{facets(size * quad)}endsolid s\n")
        assert len(mesh.vertices) == 4 and np.allclose(mesh.bounds, [[0, 0, 0], [size, size, 0]], rtol=1e-15, atol=0)
    grid = np.stack(np.meshgrid(*[np.arange(60.0, dtype=np.float32)] * 3), axis=-1).reshape(-1, 3).astype(float)
    first, place = different(np.concatenate([grid, grid[::-1]]))
    assert len(first) == len(grid) and (place[: len(grid)] == place[len(grid) :][::-1]).all()
    assert (np.concatenate([grid, grid[::-1]])[first][place[: len(grid)]] == grid).all()


def test_faces_of_an_obj_that_count_from_the_end(tmp_path):
    """They count from the last vertex so far, and not from the last of the file."""
    v = "".join(f"v {x} {y} {z}\n" for x, y, z in TRIANGLE)
    text = v + "f -3 -2 -1\n" + v.replace("v ", "v 7") + "f -3// -2 -1//\n"
    expected = read(tmp_path, "plain.obj", v + v.replace("v ", "v 7") + "f 1 2 3\nf 4 5 6\n")
    assert corners(read(tmp_path, "relative.obj", text)) == corners(expected) and len(expected.faces) == 2
    assert corners(read(tmp_path, "indented.obj", text.replace("f ", "  f\t").replace("v ", "\tv "))) == corners(expected)
    assert corners(read(tmp_path, "broken.obj", text.replace("-3 ", "-3 \\\r\n"))) == corners(expected)
    for wrong in ("f 0 1 2\n", "f 1 2 00\n", "f -4 -2 -1\n"):
        with pytest.raises(RobotFileError, match=r"wrong.obj: a face has the index .* of 3 vertices so far; expected one of them"):
            read(tmp_path, "wrong.obj", v + wrong)


def test_an_obj_of_very_many_materials_is_read_without_them(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "".join(f"usemtl m{i}\nf 1 2 3\n" for i in range(20_000))
    assert len(read(tmp_path, "many.obj", text).faces) == 20_000
    assert contents(str(tmp_path / "many.obj")).named.faults == {"usemtl": "it has 20000 materials; expected at most 1000"}


@pytest.mark.parametrize("name", ["vertex", "a solid vertex 1", "M\u00fcller", "endless"])
def test_a_solids_name_is_any_word(tmp_path, name):
    solid = f"solid {name}\n{facets(TRIANGLE)}endsolid {name}\n"
    data = (solid + solid.replace("vertex 0.0", "vertex 7.0").replace("\n", "\r\n")).encode("latin-1")
    assert [c[0] for c in corners(read(tmp_path, "x.stl", data))] == [0, 7]


@pytest.mark.parametrize("name, data", [
    ("x.stl", f"solid s\n{facets(TRIANGLE)}{facets(TRIANGLE).replace('vertex 1.0', 'vertex 1.0x')}endsolid s\n"),
    ("x.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf x 2 3\n"),
])  # fmt: skip
def test_a_text_is_read_to_its_end_or_not_at_all(tmp_path, name, data):
    with pytest.raises(RobotFileError, match="the mesh cannot be read"):
        read(tmp_path, name, data)


def test_pictures_are_none_of_its_matter(tmp_path):
    """A picture that is cut short stops nothing; as it did where two materials were joined to one."""
    buffer = io.BytesIO()
    Image.fromarray((np.random.default_rng(0).random((64, 64, 3)) * 255).astype("u1")).save(buffer, "png")
    (tmp_path / "cut.png").write_bytes(buffer.getvalue()[:3000])
    (tmp_path / "m.mtl").write_text("newmtl a\nmap_Kd cut.png\nnewmtl b\nmap_Kd cut.png\n")
    v = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\n"
    assert len(read(tmp_path, "x.obj", f"mtllib m.mtl\n{v}usemtl a\nf 1/1 2/2 3/3\nusemtl b\nf 1/1 2/2 4/3\n").faces) == 2


def test_libraries_print_nothing(tmp_path, capfd):
    xyz = "".join(f"property float {x}\n" for x in "xyz")
    text = (f"ply\nformat ascii 1.0\ncomment TextureFile /etc/passwd\nelement vertex 3\n{xyz}"
            "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")  # fmt: skip
    assert corners(read(tmp_path, "x.ply", text)) == [TRIANGLE.ravel().tolist()]
    assert capfd.readouterr() == ("", "")


def test_a_pipe_for_a_mesh(tmp_path):
    os.mkfifo(tmp_path / "x.stl")
    with pytest.raises(RobotFileError, match=r"x.stl: this is no regular file; expected a mesh"):
        load_mesh(Geometry("mesh", (1, 1, 1), mesh=tmp_path / "x.stl"))


# ---------------------------------------------------------------- what claims more than it holds

NODE = '<node><instance_geometry url="#g"/></node>'


def dae(nodes: str = NODE, numbers: str = "0 0 0 1 0 0 0 1 0", p: str = "0 1 2", head: str = "", library: str = "", unit: str = "1",
        polygons: str = "") -> str:  # fmt: skip
    faces = f"<polylist><input semantic='VERTEX' source='#v' offset='0'/><vcount>{polygons}</vcount><p>{p}</p></polylist>"
    triangles = f'<triangles><input semantic="VERTEX" source="#v" offset="0"/><p>{p}</p></triangles>'
    xyz = "".join(f'<param name="{x}" type="float"/>' for x in "XYZ")
    accessor = f'<technique_common><accessor source="#a" count="3" stride="3">{xyz}</accessor></technique_common>'
    return (f'<?xml version="1.0"?>{head}<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>'
            f'<unit meter="{unit}"/></asset>{library}<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="a">'
            f'{numbers}</float_array>{accessor}</source><vertices id="v"><input semantic="POSITION" source="#s"/></vertices>'
            f'{faces if polygons else triangles}</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="x">{nodes}'
            '</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#x"/></scene></COLLADA>')  # fmt: skip


def zipped(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.dae", text)
    return buffer.getvalue()


TYPED = dae(head='<!DOCTYPE COLLADA [<!ENTITY e "0 0 0 7 0 0 0 7 0">]>', numbers="&e;")
TREE = ('<library_nodes><node id="n0"><instance_geometry url="#g"/></node>'
        + "".join(f'<node id="n{i}">' + f'<instance_node url="#n{i - 1}"/>' * 10 + "</node>" for i in range(1, 10)) + "</library_nodes>")


@pytest.mark.parametrize("data, said", [
    (zipped(dae()), "not well-formed XML"),
    (b"\n" + zipped(dae()), "not well-formed XML"),
    (TYPED.replace("?>", ' encoding="UTF-7"?>', 1).replace("<!DOCTYPE", "+ADwAIQ-DOCTYPE"), "declares a document type"),
    (dae(nodes='<node><instance_node url="#n9"/></node>', library=TREE), "nodes and primitives; expected at most 10000"),
    (dae(nodes=f"<node>{NODE * 10_001}</node>"), "20003 nodes and primitives; expected at most 10000"),
    (dae(polygons="2000000000"), "polygons with more corners than it holds"),
    (dae(polygons="3 1", p="0 1 2 0"), "polygons with more corners than it holds, or with one"),
    (dae(polygons="3", p="0 1 2 0"), "has polygons of 3 corners, and 4 corners"),
    (dae(p="0 1 -1"), "triangles at vertices that are not there"),
    (dae(p="0 1 3"), "a geometry of the mesh cannot be read (DaeMalformedError"),
    (dae(unit="0"), "the mesh's unit is 0 m; expected a positive number"),
    (dae(unit="nan"), "the mesh's unit is nan m; expected a positive number"),
    (dae(unit="1e308", numbers="0 0 0 100 0 0 0 100 0"), "vertices that are not finite"),
])  # fmt: skip
def test_collada_that_is_not_read(tmp_path, data, said):
    with pytest.raises(RobotFileError) as caught:
        read(tmp_path, "x.dae", data)
    assert said in str(caught.value) and str(tmp_path / "x.dae") in str(caught.value)


def test_collada_that_is_read(tmp_path):
    assert corners(read(tmp_path, "x.dae", dae())) == [TRIANGLE.ravel().tolist()]
    assert corners(read(tmp_path, "p.dae", dae(polygons="3"))) == [TRIANGLE.ravel().tolist()]
    named = NODE.replace("<node", '<node id="n"')
    twice = dae(nodes='<node><instance_node url="#n"/><instance_node url="#n"/></node>', library=f"<library_nodes>{named}</library_nodes>")
    assert len(read(tmp_path, "n.dae", twice).faces) == 2


def gltf(**changed) -> str:
    data = base64.b64encode(TRIANGLE.astype("<f4").tobytes()).decode()
    plain = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
             "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
             "accessors": [{"componentType": 5126, "count": 3, "type": "VEC3", "bufferView": 0}],
             "buffers": [{"byteLength": 36, "uri": f"data:application/octet-stream;base64,{data}"}]}  # fmt: skip
    return json.dumps(plain | changed)


ACCESSOR = {"componentType": 5126, "count": 3, "type": "VEC3", "bufferView": 0}


@pytest.mark.parametrize("changed, said", [
    ({"accessors": [{"componentType": 5126, "count": 10**9, "type": "VEC3"}]}, "an accessor that is sparse, compressed or without data"),
    ({"accessors": [ACCESSOR | {"sparse": {}}]}, "an accessor that is sparse, compressed or without data"),
    ({"accessors": [ACCESSOR | {"normalized": True}]}, "the mesh has normalised positions"),
    ({"accessors": [ACCESSOR | {"count": 10**6}]}, "claims 12000000 bytes of data, and holds"),
    ({"bufferViews": [{"buffer": 0, "byteLength": 9000}] * 2}, "claims 18000 bytes of data, and holds"),
    ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "requires the extension KHR_draco_mesh_compression, which is not read"),
    ({"nodes": [{"mesh": 0}] * 10_001}, "the mesh has 10001 nodes; expected at most 10000"),
    ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}] * 10_001}]}, "the mesh has 10001 primitives; expected at most 10000"),
    ({"nodes": [{"mesh": 0, "scale": [1e300] * 3}]}, "reaches 1e+300 m from its origin; expected at most 1e+18 m"),
    ({"nodes": [{"mesh": 0, "scale": [1e308] * 3, "children": [1]}, {"mesh": 0, "scale": [1e308] * 3}]}, "not finite|reaches"),
    ({"asset": 0, "nodes": "many"}, "the mesh cannot be read"),
])  # fmt: skip
def test_gltf_that_is_not_read(tmp_path, changed, said):
    assert corners(read(tmp_path, "plain.gltf", gltf())) == [TRIANGLE.ravel().tolist()]
    with pytest.raises(RobotFileError, match="|".join(map(re.escape, said.split("|")))):
        read(tmp_path, "x.gltf", gltf(**changed))


def test_a_glb_file_that_says_it_is_longer(tmp_path):
    text = gltf().encode()
    with pytest.raises(RobotFileError, match="says that its header ends at 4294967300; expected a whole"):
        read(tmp_path, "x.glb", b"glTF" + struct.pack("<IIII", 2, 0xFFFFFFFF, 0xFFFFFFF0, 0x4E4F534A) + text)


@pytest.mark.parametrize("text", ["v 0\nv 1\nv 2\nf 1 2 3\n", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n"])
def test_vertices_of_one_or_two_numbers(tmp_path, text):
    with pytest.raises(RobotFileError, match=r"the mesh has vertices \(3, [12]\) and faces \(1, 3\); expected three numbers of each"):
        read(tmp_path, "x.obj", text)


def test_a_scale_that_leads_beyond_numbers(tmp_path):
    with pytest.raises(RobotFileError, match=r"x.obj: a mesh of the size \(1e\+308, 1.0, 1.0\) reaches beyond 1e\+18 m"):
        read(tmp_path, "x.obj", "v 0 0 0\nv 10 0 0\nv 0 1 0\nf 1 2 3\n", (1e308, 1, 1))


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">&a;</COLLADA>'


@pytest.mark.parametrize("name, data, said", [
    ("x.stl", b"", "holds no triangles"),
    ("x.stl", trimesh.exchange.stl.export_stl(BOX)[:300], "cannot be read"),
    ("x.stl", bytes(range(256)), "cannot be read"),
    ("x.obj", b"v 0 0 0\nf 1 2 9\n", "cannot be read"),
    ("x.dae", b"<COLLADA", "not well-formed XML"),
    ("x.dae", LAUGHS.encode(), "declares a document type"),
    ("x.dae", LAUGHS.encode("utf-16"), "declares a document type"),
    ("x.dae", b"PK\x03\x04", "not well-formed XML"),
    ("x.ply", b"ply", "cannot be read"),
    ("x.exe", b"MZ", "format is not known; expected one of .stl, .obj"),
])  # fmt: skip
def test_broken_meshes(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    file = place(tmp_path, name, "r.urdf")
    with pytest.raises(RobotFileError) as caught:
        load_mesh(geometry(file))
    assert said in str(caught.value) and str(tmp_path / name) in str(caught.value) and "\n" not in str(caught.value)
    assert not check(file).findings
    report = check(file, meshes=True)
    assert report.ok and said in str(report) and "link 'a'" in str(report)


@pytest.mark.parametrize("head", [b"", b"solid ball", b"solid ball\n"])
@pytest.mark.parametrize("left", [60, 84, 90, -1])
def test_a_binary_stl_that_is_cut_off(tmp_path, head, left):
    """Whatever its header is: many begin as texts do."""
    whole = trimesh.creation.icosphere(2).export(file_type="stl")
    (tmp_path / "x.stl").write_bytes((head.ljust(80, b"\0") + whole[80:])[:left])
    with pytest.raises(RobotFileError, match=r"x.stl: the mesh cannot be read \(its \d+ bytes are not those of the \d+ triangles that it"):
        load_mesh(geometry(place(tmp_path, "x.stl", "r.urdf")))


@pytest.mark.parametrize("format", ["stl", "ply", "glb", "obj", "dae"])
def test_memory_is_told_of_before_it_is_taken(tmp_path, monkeypatch, format):
    ball = trimesh.creation.icosphere(4)
    ball.export(tmp_path / f"x.{format}")
    shape = geometry(place(tmp_path, f"x.{format}", "r.urdf"), up_axis=False)
    count = prepared.counted((tmp_path / f"x.{format}").read_bytes(), f".{format}")
    assert count == len(ball.faces) if format in ("stl", "ply", "glb") else 0.5 < count / len(ball.faces) < 2
    monkeypatch.setattr(prepared, "MUCH", 10**6)
    monkeypatch.setattr(prepared, "free_memory", lambda: 2e6)
    with pytest.raises(RobotFileError, match=rf"x.{format}: the mesh has about {count} triangles, .* GB of memory, and 0.002 GB are free"):
        load_mesh(shape)
    monkeypatch.setattr(prepared, "free_memory", lambda: 1e9)
    with pytest.warns(RobotFileWarning, match=rf"x.{format}: the mesh has about {count} triangles, .* GB of memory; fewer would"):
        assert len(load_mesh(shape).faces) == len(ball.faces)


def test_a_huge_mesh_is_refused_at_once(tmp_path, monkeypatch):
    """Ten million triangles in a file that has no blocks on the disk."""
    with open(tmp_path / "x.stl", "wb") as file:
        file.write(bytes(80) + (10**7).to_bytes(4, "little"))
        file.truncate(84 + 50 * 10**7)
    monkeypatch.setattr(prepared, "free_memory", lambda: 8e9)
    with pytest.raises(RobotFileError, match="the mesh has about 10000000 triangles, which take about 12 GB of memory, and 8 GB are free"):
        load_mesh(geometry(place(tmp_path, "x.stl", "r.urdf")))
    assert prepared.free_memory() > 0


def test_a_mesh_that_vanishes(tmp_path):
    mesh = stl(tmp_path / "gone.stl")
    shape = geometry(place(tmp_path, "gone.stl", "r.urdf"))
    mesh.unlink()
    with pytest.raises(RobotFileError, match=r"gone.stl: there is no such file; expected a mesh"):
        load_mesh(shape)


@pytest.mark.parametrize("given", ["box.stl", None])
def test_what_is_no_shape(given):
    with pytest.raises(RobotFileError, match=r"load_mesh got .*; expected a link's shape, or Geometry"):
        load_mesh(given)


def test_collada_takes_no_import_of_trimesh(tmp_path):
    """Which takes longer than the files of an arm: what is seen of such a file is read without."""
    (tmp_path / "x.dae").write_text(dae())
    code = "import sys; from engine.viewer.scene.surface import of_file; of_file('x.dae'); sys.exit('trimesh' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_colladas_colours_are_trimeshs():
    colors = np.random.default_rng(0).uniform(-0.5, 1.5, (1000, 4))
    colors[:3, 0] = np.nan, np.inf, 0.5
    for n in (3, 4):
        assert np.array_equal(color_bytes(colors[:, :n]), trimesh.visual.color.to_rgba(colors[:, :n].copy()))
    with pytest.raises(RobotFileError, match="the mesh's colours have 2 numbers; expected three or four"):
        color_bytes(colors[:, :2])
