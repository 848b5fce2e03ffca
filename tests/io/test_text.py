"""Models as texts: read back the same; files that a text names are read only if they are the ones that it was written with."""

import contextlib
import hashlib
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.io import model_from_text, model_hash, model_text, text_hash
from engine.model import ModelError

STL = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 {} 0\nendloop\nendfacet\nendsolid s\n"


def shaped(mesh: Path | None, texture: Path | None = None) -> engine.Model:
    builder = engine.Builder("shaped")
    look = engine.Material("paint", (1.0, 0.0, 0.0, 1.0), texture)
    fault = "" if mesh else "is not there"
    shape = engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=mesh, material=look, uri="package://x/a.stl", fault=fault)
    builder.add_link("base", visuals=(shape,))
    builder.add_link("rod", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0.6, 0.8], armature=0.25)
    return builder.model()


@pytest.fixture
def mesh(tmp_path) -> Path:
    (tmp_path / "a.stl").write_text(STL.format(1))
    return tmp_path / "a.stl"


def test_there_and_back(mesh):
    """Every number to its bit, every name; the mesh is the same file still, and its hash needs no looks."""
    model = shaped(mesh, mesh)
    again = model_from_text(model_text(model))
    assert model_text(again) == model_text(model) and model_hash(again) == model_hash(model) == text_hash(model_text(model))
    assert again.links[0].visuals[0].mesh == mesh and again.links[0].visuals[0].material.texture == mesh
    assert len(engine.load_mesh(again.links[0].visuals[0]).faces) == 1
    assert model_hash(shaped(None)) == model_hash(model)
    np.testing.assert_array_equal(again.joints[0].axis, model.joints[0].axis)


def test_another_file_is_not_read(mesh):
    """One that was changed, one that is gone, and one that only a stranger's text names."""
    text = model_text(shaped(mesh))
    mesh.write_text(STL.format(2))
    changed = model_from_text(text).links[0].visuals[0]
    assert changed.mesh is None and changed.uri == "package://x/a.stl"
    with pytest.raises(engine.RobotFileError, match=r"a\.stl' is another file than it was when this was recorded; expected the same file"):
        engine.load_mesh(changed)
    mesh.write_text(STL.format(1))
    assert model_from_text(text).links[0].visuals[0].mesh == mesh
    mesh.unlink()
    assert "is not there, as it was, when this was recorded" in model_from_text(text).links[0].visuals[0].fault


@pytest.mark.parametrize("given", ["", "160 " + "0" * 64, None, 3])
def test_a_text_that_names_a_file_which_it_does_not_know(mesh, given):
    plain = json.loads(model_text(shaped(mesh)))
    plain["links"][0]["visuals"][0]["digest"] = given
    assert model_from_text(json.dumps(plain)).links[0].visuals[0].mesh is None
    del plain["links"][0]["visuals"][0]["digest"]
    assert model_from_text(json.dumps(plain)).links[0].visuals[0].mesh is None


def test_pipes_and_devices_are_not_read(mesh):
    plain = json.loads(model_text(shaped(mesh)))
    os.mkfifo(mesh.with_name("pipe.stl"))
    for name in (str(mesh.with_name("pipe.stl")), "/dev/zero", "/dev/stdin", str(mesh.parent), "a\0b", "x" * 5000):
        plain["links"][0]["visuals"][0]["mesh"] = name
        assert model_from_text(json.dumps(plain)).links[0].visuals[0].mesh is None


def test_a_texture_that_is_another_file_is_a_warning(mesh, tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"one")
    text = model_text(shaped(mesh, picture))
    picture.write_bytes(b"two")
    with pytest.warns(UserWarning, match=r"the texture '.*a\.png' is another file than it was when this was recorded"):
        found = model_from_text(text).links[0].visuals[0]
    assert found.material.texture is None and found.mesh == mesh


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_every_byte_of_a_large_file_counts(tmp_path, size):
    path, rng = tmp_path / "a.stl", np.random.default_rng(size)
    path.write_bytes(bytes(size))
    text = model_text(shaped(path))
    assert model_from_text(text).links[0].visuals[0].mesh == path
    for at in (0, 4096, size // 2, size - 1, *rng.integers(size, size=5)):
        data = bytearray(size)
        data[at] = 1
        path.write_bytes(data)
        assert model_from_text(text).links[0].visuals[0].mesh is None
    path.write_bytes(bytes(size + 1))
    assert model_from_text(text).links[0].visuals[0].mesh is None


@pytest.mark.parametrize("size", [100, 8192, 8193, 100_000])
def test_a_digest_of_an_earlier_version_is_of_both_ends(tmp_path, size):
    path = tmp_path / "a.stl"
    path.write_bytes(bytes(size))
    plain = json.loads(model_text(shaped(path)))
    ends = hashlib.sha256(bytes(min(size, 4096)) + bytes(min(size, 4096))).hexdigest()
    plain["links"][0]["visuals"][0]["digest"] = f"{size} {ends}"
    said = r"the text of 'shaped' is of an earlier version, and knows of '.*a\.stl' the size and both ends alone; expected that what lies"
    with pytest.warns(engine.EngineWarning, match=said) if size > 8192 else contextlib.nullcontext():
        assert model_from_text(json.dumps(plain)).links[0].visuals[0].mesh == path
    path.write_bytes(b"x" + bytes(size - 1))
    assert model_from_text(json.dumps(plain)).links[0].visuals[0].mesh is None


def test_a_file_of_another_size_or_without_end_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "a.stl"
    path.write_bytes(bytes(100))
    text, read = model_text(shaped(path)), []
    monkeypatch.setattr(os, "read", lambda fd, n: read.append(n) or b"")
    os.truncate(path, 1 << 40)
    model_text.cache_clear()
    assert model_from_text(text).links[0].visuals[0].mesh is None and not read
    assert '"digest": ""' in model_text(shaped(path)) and not read


EMPTY = '{"name": "x", "links": [], "joints": [], "floating_base": 0}'


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 20_000, '{"name": 1}', EMPTY])
def test_texts_that_are_no_models(text):
    with warnings.catch_warnings(), pytest.raises(ModelError, match="expected"):
        warnings.simplefilter("error")
        model_from_text(text)
