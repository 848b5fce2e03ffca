"""Things that no robot has stand where they are said to, go along, are in exported files, and bad ones are refused."""

import json
import struct

import numpy as np
import pytest

import engine
from engine.spatial import se3, so3
from engine.viewer.scene.marks import mark
from engine.viewer.scene.shown import Shown
from tests.viewer.mechanism import mechanism, motion

MODEL = mechanism()
MOTION = motion(MODEL)


def middles(scene, thing, t):
    """Where a thing's parts are (n, 3)."""
    drawing = scene.drawing(t)
    first = 1 + sum(len(a.parts) * a.instances for a in scene.actors[: scene.actors.index(thing)])
    own = (drawing.numbers >= first) & (drawing.numbers < first + len(thing.parts) * thing.instances)
    return drawing.poses[own, :3, 3]


def test_points_stand_in_the_world_and_in_a_link():
    scene = engine.Scene(MOTION)
    x = np.array([[0.1, 0.2, 0.3], [0.0, -0.5, 1.0]])
    still, along = scene.add(points=x), scene.add(points=x, moving="arm")
    for t in (0.0, 0.4, 1.0):
        T = scene.actors[0].poses(t)[0, MODEL.link_index("arm")]
        np.testing.assert_allclose(middles(scene, still, t), x, atol=1e-15)
        np.testing.assert_allclose(middles(scene, along, t), x @ T[:3, :3].T + T[:3, 3], atol=1e-12)


def test_a_frame_of_a_batch_is_in_each_rollout():
    scene = engine.Scene(motion(MODEL, scales=(1.0, -0.5, 2.0)))
    T = se3.pose(so3.exp(np.array([0.1, 0.2, 0.3])), np.array([0.0, 0.1, 0.2]))
    thing = scene.add(frame=T, moving="tip")
    expected = scene.actors[0].poses(0.7)[:, [MODEL.link_index("tip")]] @ T
    np.testing.assert_allclose(thing.poses(0.7), expected, atol=1e-12)
    np.testing.assert_allclose(thing.source.links(thing.source.configurations(np.array([0.7]))), expected[:, None], atol=1e-12)


def test_a_mesh_moves_as_a_function_says():
    corners, faces = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    scene = engine.Scene(MOTION)
    thing = scene.add(mesh=(corners, faces), size=0.5, moving=lambda t: se3.pose(so3.exp(np.array([0, 0, t])), np.array([t, 0, 0])))
    (part,) = thing.parts
    placed = thing.poses(0.5)[0, 0] @ part.placement
    np.testing.assert_allclose(placed[:3, :3], 0.5 * so3.exp(np.array([0, 0, 0.5])), atol=1e-12)
    assert placed[0, 3] == 0.5 and len(part.surface.faces) == 4


def test_what_is_added_moves_the_camera_but_no_time():
    scene = engine.Scene(MOTION[10:])
    span, radius = scene.span, scene.extent[1]
    scene.add(target=(5.0, 0.0, 1.0))
    assert scene.span == span and scene.extent[1] > 2.0 * radius


def test_colours_for_robots_leave_what_is_added_as_it_is():
    scene = engine.Scene(MOTION)
    scene.add(points=(0.0, 0.0, 1.0), color=(0.0, 1.0, 0.0))
    drawing = mark(scene, 0.0, Shown(colors="robots"))
    assert drawing.colors[-1].tolist() == [1.0] * 4 and [text for text, _ in drawing.legend] == ["mechanism"]


def test_hands_may_move_what_stands_still_alone():
    scene = engine.Scene(MODEL)
    still, along = scene.add(target=(0, 0, 1)), scene.add(target=(0, 0, 0), moving="tip")
    assert still.source.free and not along.source.free
    still.source.q[0, 4:] = 1.0, 2.0, 3.0
    np.testing.assert_array_equal(still.poses(0.0)[0, 0, :3, 3], [1.0, 2.0, 3.0])


def test_robots_of_one_name_are_told_apart():
    drawing = mark(engine.Scene([MODEL, MOTION]), 0.0, Shown(colors="robots"))
    assert [text for text, _ in drawing.legend] == ["mechanism 1", "mechanism 2"]


def test_exported_files_have_it(tmp_path):
    scene = engine.Scene(MOTION)
    scene.add(frame=np.eye(4), moving="arm", name="tool")
    data = engine.export(scene, tmp_path / "scene.glb").read_bytes()
    header = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    assert "tool" in {node.get("name") for node in header["nodes"]}
    assert "tool" in engine.export(scene, tmp_path / "scene.html").read_text()


@pytest.mark.parametrize(("given", "said"), [
    ({}, "nothing is to be added; expected one of points, arrows, mesh, frame, target"),
    ({"points": (0, 0, 0), "frame": np.eye(4)}, "points and frame is to be added"),
    ({"points": np.zeros((4, 2))}, r"points have shape \(4, 2\); expected \(n, 3\), m"),
    ({"points": [np.nan, 0, 0]}, "points holds NaN"),
    ({"arrows": np.zeros((4, 3))}, r"expected \(tails, vectors\)"),
    ({"arrows": (np.zeros((4, 3)), np.zeros((2, 3)))}, "arrows have 4 tails and 2 vectors"),
    ({"mesh": "nothing.stl"}, "nothing.stl"),
    ({"mesh": (np.eye(3), [[0, 1, 3]])}, "triangles of a mesh name vertices 0 … 3; expected 0 … 2"),
    ({"frame": 2.0 * np.eye(4)}, r"frame is .*; expected a point \(3\), m, or a pose \(4, 4\)"),
    ({"target": (0, 0, 0), "moving": 3}, "moving is 3; expected a link's name, or a function of time"),
    ({"target": (0, 0, 0), "moving": lambda t: np.zeros(2)}, r"moving at t = 0 s is .*; expected a point \(3\)"),
    ({"target": (0, 0, 0), "size": 0.0}, "size is 0.0; expected a length above zero"),
    ({"target": (0, 0, 0), "color": "red"}, "color"),
])  # fmt: skip
def test_what_cannot_be_added_is_said(given, said):
    with pytest.raises(engine.ViewerError, match=said):
        engine.Scene(MOTION).add(**given)
    with pytest.raises(engine.ModelError, match="arn"):
        engine.Scene(MOTION).add(target=(0, 0, 0), moving="arn")
