"""Mesh files: where they are looked for, where they may not lie, and what reading them gives."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import trimesh

from engine.io import RobotFileError, check, load_mesh, load_urdf
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


@pytest.mark.parametrize("uri, said", [("http://x.org/a.stl", "begins with 'http://'; expected package://, file:// or a path"),
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
        mesh = load_mesh(geometry(place(tmp_path, name, "r.urdf")))
        assert np.allclose(mesh.bounds / unit, [[-0.5, -1, -1.5], [5.5, 1, 1.5]])


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


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">&a;</COLLADA>'


@pytest.mark.parametrize("name, data, said", [
    ("x.stl", b"", "holds no triangles"),
    ("x.stl", trimesh.exchange.stl.export_stl(BOX)[:300], "cannot be read"),
    ("x.stl", bytes(range(256)), "cannot be read"),
    ("x.obj", b"v 0 0 0\nf 1 2 9\n", "cannot be read"),
    ("x.dae", b"<COLLADA", "cannot be read"),
    ("x.dae", LAUGHS.encode(), "declares a document type"),
    ("x.dae", LAUGHS.encode("utf-16"), "declares a document type"),
    ("x.dae", b"PK\x03\x04", "is an archive"),
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


def test_a_mesh_that_vanishes(tmp_path):
    mesh = stl(tmp_path / "gone.stl")
    shape = geometry(place(tmp_path, "gone.stl", "r.urdf"))
    mesh.unlink()
    with pytest.raises(RobotFileError, match=r"gone.stl: there is no such file; expected a mesh"):
        load_mesh(shape)
