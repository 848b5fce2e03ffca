"""Lines are as wide as they say, where they project, behind what hides them."""

from __future__ import annotations

import numpy as np
import pytest

from engine.viewer.draw.context import open_window
from engine.viewer.scene.camera import Camera

SIZE = (320, 200)
WHITE = (1.0, 1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def draw():
    """draw(segments, colors, widths, camera, hidden) -> red (h, w) of white lines on black; ``hidden`` puts everything behind something."""
    window = open_window(visible=False, width=16, height=16)
    from pyglet import gl

    from engine.viewer.draw.gl_state import GLState
    from engine.viewer.draw.lines import Lines
    from engine.viewer.draw.objects import Framebuffer

    lines, target = Lines(), Framebuffer(SIZE, gl.GL_RGBA8)

    def drawn(segments, camera, widths=5.0, colors=WHITE, hidden=False):
        segments = np.array(segments, dtype=float).reshape(-1, 2, 3)
        window.switch_to()
        target.bind()
        GLState().set()
        gl.glClearColor(0.0, 0.0, 0.0, 1.0)
        gl.glClearDepth(0.0 if hidden else 1.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)
        gl.glClearDepth(1.0)
        n = len(segments)
        lines.draw(segments, np.broadcast_to(colors, (n, 4)), np.broadcast_to(widths, n), camera.matrix(SIZE[0] / SIZE[1]), SIZE)
        assert gl.glGetError() == 0
        return target.pixels()[..., 0] / 255.0

    yield drawn
    lines.delete()
    window.close()


@pytest.mark.parametrize("width", [1.0, 3.0, 8.0])
def test_a_line_is_where_its_ends_project_and_as_wide_as_it_says(draw, width: float) -> None:
    camera = Camera()
    ends = np.array([[0.2, -0.6, -0.3], [-0.3, 0.5, 0.4]])
    light = draw([ends], camera, width)
    a, b = camera.project(ends, SIZE)
    y, x = np.indices(light.shape) + 0.5
    along = (b - a) / np.linalg.norm(b - a)
    s = (x - a[0]) * along[0] + (y - a[1]) * along[1]
    off = abs((x - a[0]) * along[1] - (y - a[1]) * along[0])
    beside = (s > 3) & (s < np.linalg.norm(b - a) - 3)
    assert light[beside & (off < 0.5 * width - 0.6)].min(initial=1.0) == 1.0
    assert light[beside & (off > 0.5 * width + 0.6)].max() == 0.0
    assert light[(s < -1.5) | (s > np.linalg.norm(b - a) + 1.5)].max() == 0.0
    assert np.isclose(light.sum(), width * np.linalg.norm(b - a), rtol=0.02)   # its area: edges are smooth


def test_widths_and_colours_are_each_lines_own(draw) -> None:
    camera = Camera(azimuth=0.0, elevation=0.0)
    light = draw([[[0, -0.5, 0.3], [0, 0.5, 0.3]], [[0, -0.5, -0.3], [0, 0.5, -0.3]]], camera, [2.0, 6.0], [(1, 0, 0, 1.0), (1, 0, 0, 0.5)])
    column = light[:, SIZE[0] // 2]
    assert np.isclose(column[: SIZE[1] // 2].sum(), 2.0, atol=0.05) and np.isclose(column[SIZE[1] // 2 :].sum(), 3.0, atol=0.05)


def test_what_hides_a_line_lets_it_through_faintly(draw) -> None:
    camera = Camera()
    segment = [[[0.2, -0.6, -0.3], [-0.3, 0.5, 0.4]]]
    seen, hidden = draw(segment, camera), draw(segment, camera, hidden=True)
    assert 0.2 < hidden.max() < 0.5 and np.allclose(hidden, hidden.max() * seen, atol=0.01)


def test_a_line_from_behind_the_camera_goes_to_the_edge_of_the_picture(draw) -> None:
    camera = Camera(azimuth=0.0, elevation=0.0)                                # at (3, 0, 0)
    near = camera.eye + [-1.0, 0.0, 0.0]
    light = draw([[near, [8.0, 2.0, 0.0]]], camera)
    lit = np.flatnonzero(light.max(axis=0) > 0)
    assert lit.min() >= SIZE[0] // 2 - 4 and lit.max() == SIZE[0] - 1
    assert np.ptp(np.flatnonzero(light.max(axis=1) > 0)) <= 6                  # it stays at the camera's height
    assert not draw([[[5.0, 0.1, 0.0], [8.0, 2.0, 0.0]]], camera).any()


def test_no_lines_draw_nothing(draw) -> None:
    assert not draw(np.zeros((0, 2, 3)), Camera()).any()
