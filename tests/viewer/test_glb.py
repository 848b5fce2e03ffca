"""glTF files: read back by another library and by a small reader of our own, and compared with the poses of the engine."""

import json
import resource
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.spatial import quaternion, se3
from engine.viewer.files.export import export
from engine.viewer.files.glb import downward, linear
from engine.viewer.scene import Actor, Part, Scene, ViewerError
from engine.viewer.scene.surface import Surface
from tests.viewer.mechanism import GLASS, GREEN, mechanism, motion

UP = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])                # our axes to glTF's
MODEL = mechanism()
TRIANGLE = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])


class Gltf:
    """A reader: the document, arrays of accessors, and poses of nodes at a time of the animation."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        magic, version, size, length, kind = struct.unpack("<4sIII4s", data[:20])
        assert (magic, version, size, kind) == (b"glTF", 2, len(data), b"JSON")
        self.document = json.loads(data[20 : 20 + length])
        length2, kind2 = struct.unpack("<I4s", data[20 + length : 28 + length])
        assert kind2 == b"BIN\0"
        assert 28 + length + length2 == len(data)
        self.binary = data[28 + length :]
        assert self.document["buffers"] == [{"byteLength": length2}]
        self.nodes = self.document["nodes"]
        (animation,) = self.document.get("animations") or [{"channels": [], "samplers": []}]
        self.channels = {}
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            assert sampler["interpolation"] == "LINEAR"
            place = channel["target"]["node"], channel["target"]["path"]
            assert place not in self.channels
            self.channels[place] = self.array(sampler["input"]), self.array(sampler["output"])

    def array(self, index):
        accessor = self.document["accessors"][index]
        view = self.document["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        kind = {5126: "<f4", 5125: "<u4", 5123: "<u2"}[accessor["componentType"]]
        x = np.frombuffer(self.binary, kind, accessor["count"] * width, view["byteOffset"])
        assert x.nbytes == view["byteLength"]
        x = x.reshape(accessor["count"], width) if width > 1 else x
        if "min" in accessor:
            assert np.array_equal(np.atleast_1d(x.min(axis=0)), np.float32(accessor["min"]))
            assert np.array_equal(np.atleast_1d(x.max(axis=0)), np.float32(accessor["max"]))
        return x

    def value(self, node, path, t):
        default = {"translation": [0.0, 0, 0], "rotation": [0.0, 0, 0, 1], "scale": [1.0, 1, 1]}[path]
        if (node, path) not in self.channels:
            return np.array(self.nodes[node].get(path, default))
        times, values = self.channels[node, path]
        if path == "rotation":                                                # the arc, as the standard has it
            k = min(int(np.searchsorted(times, t, side="right")) - 1, len(times) - 2)
            a, b = (np.roll(values[i].astype(float), 1) for i in (k, k + 1))
            turn = quaternion.log(quaternion.product(quaternion.conjugate(a), b))
            return np.roll(quaternion.product(a, quaternion.exp((t - times[k]) / (times[k + 1] - times[k]) * turn)), -1)
        return np.array([np.interp(t, times, column) for column in values.T])

    def poses(self, t=0.0):
        """World poses of all nodes (4, 4), by index."""
        found = {}

        def visit(node, above):
            R = quaternion.to_matrix(np.roll(self.value(node, "rotation", t), 1)) * self.value(node, "scale", t)
            found[node] = above @ se3.pose(R, self.value(node, "translation", t))
            for child in self.nodes[node].get("children", []):
                visit(child, found[node])

        for root in self.document["scenes"][self.document["scene"]]["nodes"]:
            visit(root, np.eye(4))
        assert len(found) == len(self.nodes)
        return found

    def points(self, t=0.0):
        """Vertices of all meshes in our world axes, in the order of the nodes."""
        poses = self.poses(t)
        shown = [i for i, node in enumerate(self.nodes) if "mesh" in node]
        clouds = [self.array(self.primitive(self.nodes[i]["mesh"])["attributes"]["POSITION"]) for i in shown]
        return [placed(UP.T @ poses[i], x) for i, x in zip(shown, clouds, strict=True)]

    def primitive(self, mesh):
        (primitive,) = self.document["meshes"][mesh]["primitives"]
        return primitive

    def named(self, name):
        return [i for i, node in enumerate(self.nodes) if node.get("name") == name and "translation" in node]


def placed(T, points):
    return points @ T[:3, :3].T + T[:3, 3]


def expected(scene, t):
    """Vertices of all parts in the world, by the engine's own poses."""
    return [placed(poses[part.link] @ part.placement, part.surface.positions)
            for actor in scene.actors for poses in actor.poses(t) for part in actor.parts]  # fmt: skip


def of_surface(surface, color=None):
    """A scene of one surface."""
    actor = Actor(MODEL, color=color)
    actor.parts = (Part(surface, 0, np.eye(4)),)
    return Scene(actor)


# ---------------------------------------------------------------- where things are


def test_trimesh_sees_the_robot_where_it_is(tmp_path):
    import trimesh

    q = MODEL.random(np.random.default_rng(1))[0]
    scene = Scene(Actor(MODEL, q=q))
    loaded = trimesh.load_scene(export(scene, tmp_path / "robot.glb"))
    theirs = np.concatenate([placed(UP.T, m.vertices) for m in loaded.dump()])
    ours = np.concatenate(expected(scene, 0.0))
    assert np.allclose(np.sort(theirs, axis=0)[[0, -1]], np.sort(ours, axis=0)[[0, -1]], atol=1e-6)
    from scipy.spatial import cKDTree

    assert cKDTree(theirs).query(ours)[0].max() < 1e-6
    assert cKDTree(ours).query(theirs)[0].max() < 1e-6
    volumes = [m.volume for m in loaded.dump()]                               # triangles look outwards
    assert sorted(volumes) == pytest.approx(sorted([0.4 * 0.3 * 0.2, 0.06 * 0.05 * 0.04, 0.2 * 0.02 * 0.02, 0.01 * 0.1 * 0.2,
                                                    np.pi * 0.04**2 * 0.5, 4 / 3 * np.pi * 0.08**3]), rel=0.01)  # fmt: skip


@pytest.mark.parametrize("together", [False, True])
def test_far_from_the_origin_the_robot_is_whole_in_single_precision(tmp_path, together):
    moved = motion(engine.combine(a=MODEL) if together else MODEL)
    moved.q[..., 4:7] += [6.778e6, -2.4e5, 30.0]
    scene = Scene(moved)
    file = Gltf(export(scene, tmp_path / "far.glb"))
    (top,) = file.document["scenes"][0]["nodes"]
    origin = np.array(file.nodes[top]["extras"]["origin"])
    assert np.abs(origin - scene.extent[0]).max() <= 0.5
    for t in (0.0, 0.5):
        for i, node in enumerate(file.nodes):
            assert np.abs(file.value(i, "translation", t)).max() < 10 or not node.get("children")
        for ours, theirs in zip(expected(scene, t), file.points(t), strict=True):
            assert np.abs(theirs + origin - ours).max() < 1e-4
    assert not any("extras" in node for node in Gltf(export(motion(MODEL), tmp_path / "near.glb")).nodes)


@pytest.mark.parametrize("t", [2.0, 2.31, 2.5123, 3.0])
def test_links_are_where_the_trajectory_is(tmp_path, t):
    scene = Scene(motion(MODEL, 2.0, 3.0))
    file = Gltf(export(scene, tmp_path / "motion.glb", fps=60))
    for theirs, ours in zip(file.points(t - 2.0), expected(scene, t), strict=True):
        assert np.abs(theirs - ours).max() < 1e-4                             # turning joints exactly, the floating base nearly
    still = file.points(0.0)
    assert max(np.abs(a - b).max() for a, b in zip(still, expected(scene, 2.0), strict=True)) < 1e-6
    assert t == 2.0 or min(np.abs(a - b).max() for a, b in zip(still, expected(scene, t), strict=True)) > 0.01


def test_only_what_moves_has_channels(tmp_path):
    file = Gltf(export(motion(MODEL), tmp_path / "motion.glb", fps=30))
    moving = {(file.nodes[node]["name"], path) for node, path in file.channels}
    assert moving == {("base", "translation"), ("base", "rotation"), ("arm", "rotation"), ("tip", "translation"), ("wheel", "rotation")}
    (times, values) = file.channels[file.named("wheel")[0], "rotation"]
    assert len(times) == 31
    assert (times[0], times[-1]) == (0.0, 1.0)
    assert ((values[1:] * values[:-1]).sum(axis=1) > 0.9).all()               # more than a whole turn, without a jump
    assert np.abs(quaternion.to_matrix(np.roll(values[0], 1)) - quaternion.to_matrix(np.roll(values[-1], 1))).max() > 0.1
    assert len({sampler["input"] for sampler in file.document["animations"][0]["samplers"]}) == 1


def test_links_form_the_robots_tree(tmp_path):
    file = Gltf(export(MODEL, tmp_path / "robot.glb"))
    below = {c: i for i, node in enumerate(file.nodes) for c in node.get("children", [])}
    for joint in MODEL.joints[1:]:
        ((child,), (parent,)) = file.named(joint.child), file.named(joint.parent)
        assert below[child] == parent
    assert not file.channels


def test_a_batch_shares_its_meshes(tmp_path):
    one = Gltf(export(motion(MODEL), tmp_path / "one.glb"))
    scene = Scene(motion(MODEL, scales=(1.0, -0.5, 0.2)))
    three = Gltf(export(scene, tmp_path / "three.glb"))
    assert len(three.document["meshes"]) == len(one.document["meshes"])
    assert len(three.document["materials"]) == len(one.document["materials"])
    assert len(three.named("arm")) == 3
    for theirs, ours in zip(three.points(0.7), expected(scene, 0.7), strict=True):
        assert np.abs(theirs - ours).max() < 1e-4
    boxes = [part.surface for part in scene.actors[0].parts if part.surface.name == scene.actors[0].parts[0].surface.name]
    assert len(boxes) > 1
    positions = {one.primitive(k)["attributes"]["POSITION"] for k in range(len(one.document["meshes"]))}
    assert len(positions) == len({id(part.surface.positions) for part in scene.actors[0].parts})


# ---------------------------------------------------------------- what they look like


def test_colours_are_linear_and_glass_is_blended(tmp_path):
    file = Gltf(export(MODEL, tmp_path / "robot.glb"))
    materials = file.document["materials"]
    seen = {tuple(np.round(m["pbrMetallicRoughness"]["baseColorFactor"], 4)): m for m in materials}
    green = seen[tuple(np.round([*linear(np.array(GREEN[:3])), 1.0], 4))]
    glass = seen[tuple(np.round([0.2140, 0.2140, 0.2140, GLASS[3]], 4))]      # of 0.5, by the standard's tables
    assert "alphaMode" not in green
    assert glass["alphaMode"] == "BLEND"
    assert not any(m.get("doubleSided") for m in materials)


def test_an_actors_colour_is_over_its_own(tmp_path):
    file = Gltf(export(Scene(Actor(MODEL, color=(1, 0, 0, 0.5))), tmp_path / "ghost.glb"))
    colors = np.array([m["pbrMetallicRoughness"]["baseColorFactor"] for m in file.document["materials"]])
    assert not colors[:, 1:3].any()
    assert sorted({*colors[:, 3]}) == [0.5 * GLASS[3], 0.5]
    assert {m["alphaMode"] for m in file.document["materials"]} == {"BLEND"}


def test_textures_and_vertex_colours(tmp_path):
    import trimesh

    image = np.zeros((4, 8, 4), np.uint8)
    image[..., 3] = 255
    image[:2, :, 0] = 200                                                     # the upper half is red
    uv = np.float32([[0, 0], [1, 0], [0, 1]])
    colors = np.uint8([[255, 0, 0, 255], [188, 188, 188, 255], [0, 0, 0, 128]])
    normals, faces = TRIANGLE * 0 + np.float32([0, 0, 2]), np.uint32([[0, 1, 2]])
    whole = Surface(TRIANGLE, normals, faces, (1, 1, 1, 1), colors, uv, image, 0.7, 0.2, "card")
    path = export(of_surface(whole), tmp_path / "card.glb")
    file = Gltf(path)
    (material,) = file.document["materials"]
    assert material["alphaMode"] == "BLEND"
    assert material["pbrMetallicRoughness"]["metallicFactor"] == 0.7
    attributes = file.primitive(0)["attributes"]
    light = [[1, 0, 0, 1], [0.5029, 0.5029, 0.5029, 1], [0, 0, 0, 128 / 255]]
    assert np.allclose(file.array(attributes["COLOR_0"]) / 65535, light, atol=1e-4)
    assert np.array_equal(file.array(attributes["NORMAL"]), np.float32([[0, 0, 1]] * 3))
    assert np.array_equal(file.array(attributes["TEXCOORD_0"]), np.float32([[0, 1], [1, 1], [0, 0]]))
    assert np.array_equal(downward(uv), file.array(attributes["TEXCOORD_0"]))
    (mesh,) = trimesh.load_scene(path).geometry.values()
    assert np.array_equal(np.array(mesh.visual.material.baseColorTexture.convert("RGBA")), image)
    assert np.allclose(mesh.visual.uv, uv)                                    # trimesh's begin in the lower left corner, too


def test_many_vertices_take_wide_indices(tmp_path):
    n = 70_000
    positions = np.random.default_rng(2).random((n, 3), dtype=np.float32)
    surface = Surface(positions, positions, np.arange(n - 1, dtype=np.uint32).reshape(-1, 3))
    file = Gltf(export(of_surface(surface), tmp_path / "many.glb"))
    assert np.array_equal(file.array(file.primitive(0)["indices"]), np.arange(n - 1))


# ---------------------------------------------------------------- what is refused


GHOST = engine.Builder("ghost")
GHOST.add_link("ghost")
WHOLE = motion(MODEL)
SPOILT = replace(WHOLE, q=np.where(np.arange(41)[:, None] < 20, WHOLE.q, np.nan))


@pytest.mark.parametrize(("source", "name", "said"), [
    (MODEL, "out.obj", r"ends in '.obj'; expected one of .glb, .html, .rrd"),
    (MODEL, "out", r"ends in ''; expected one of .glb, .html, .rrd"),
    (MODEL, "no/such/folder/out.glb", "there is no folder"),
    (MODEL, "folder.glb", "is a folder; expected the path of a file"),
    (GHOST.model(), "out.glb", "'ghost' have no visual shapes"),
    (SPOILT, "out.glb", "'mechanism' is not finite from t = 0.5 s"),
    (SPOILT, "out.html", "not finite"),
    (replace(WHOLE, vdot=WHOLE.vdot + np.inf), "out.html", r"holds vdot that are not finite, first at t = 0 s \(state 0\)"),
    ([], "out.html", "there is nothing to show"),
])  # fmt: skip
def test_what_cannot_be_written_is_said(tmp_path, source, name, said):
    (tmp_path / "folder.glb").mkdir()
    with pytest.raises(ViewerError, match=said):
        export(source, tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.glb"]


def test_too_many_poses_are_refused_and_by_default_there_are_fewer(tmp_path):
    long = motion(MODEL, 0.0, 1e6)
    with pytest.raises(ViewerError, match=r"poses of links .* a lower fps"):
        export(long, tmp_path / "out.glb", fps=30.0)
    assert export(long, tmp_path / "out.glb").stat().st_size < 5e6


@pytest.mark.parametrize("fps", [0, -1.0, np.nan, np.inf, "30", True])
def test_rates_that_make_no_sense_are_refused(tmp_path, fps):
    with pytest.raises(ViewerError, match=r"fps is .*; expected samples per second"):
        export(motion(MODEL), tmp_path / "out.glb", fps=fps)


def test_the_path_is_looked_at_before_the_work(tmp_path):
    with pytest.raises(ViewerError, match="no folder"):
        export(SPOILT, tmp_path / "none" / "out.glb")


@pytest.mark.parametrize("name", ["a.glb", "a.html"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path, name, monkeypatch):
    """A limit on files' sizes is a disk that is full, and the cache's disk too, which is warned of by itself."""
    monkeypatch.setenv("ENGINE_CACHE", "0")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    source = motion(MODEL)[:3]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
        with pytest.raises(ViewerError) as error:
            export(source, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(error.value) == f"'{tmp_path / name}' cannot be written (File too large); expected a place with room for it"
    assert not list(tmp_path.iterdir())


def test_one_state_has_no_animation(tmp_path):
    file = Gltf(export(motion(MODEL)[7], tmp_path / "one.glb"))
    assert not file.channels
    assert np.allclose(UP.T @ file.poses()[file.named("base")[0]], Actor(motion(MODEL)).poses(7 / 40)[0, 0], atol=1e-6)
