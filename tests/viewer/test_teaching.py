"""Marks that teach: what they show obeys the laws that they are drawn for."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.spatial import quaternion, se3
from engine.viewer.scene import Scene, Shown
from engine.viewer.scene.marks import mark
from engine.viewer.scene.teaching_marks import BODY, PATH, SPACE, screw


@pytest.fixture(scope="module")
def tumbling():
    """A box that turns about its middle axis, nearly."""
    builder = engine.Builder("box")
    builder.add_link("box", inertia=engine.spatial.inertia.box(2.0, (1.0, 0.6, 0.25)), visuals=[engine.Geometry("box", (1.0, 0.6, 0.25))])
    simulator = engine.Simulator(builder.model(floating_base=True), dt=5e-3, gravity=(0, 0, 0))
    return simulator.run([1.0, 0, 0, 0, 0, 0, 0], [0.05, 2.0, 0.05, 0.4, 0.0, 0.0], 8.0, record_every=4)


def drawn(drawing, color):
    segments, colors, _ = drawing.lines
    return segments[(np.abs(colors - color) < 1e-9).all(axis=1)].reshape(-1, 3)


def test_the_herpolhode_lies_in_a_plane_that_the_angular_momentum_is_normal_to(tumbling):
    """And the polhode, carried along by the body, touches it at ω: Poinsot's ellipsoid rolls."""
    t = 5.0
    drawing = mark(Scene(tumbling), t, Shown(rates=True, polhode=True))
    now = tumbling.at([t])
    L, place = now.momentum()[0, :3], now.q[0, 4:7]
    L = L - np.cross(place, now.momentum()[0, 3:])                             # about the centre of mass
    heights = (drawn(drawing, SPACE) - place) @ L / np.linalg.norm(L)
    assert np.ptp(heights) < 1e-4 * np.abs(heights).mean() and len(heights) > 200
    tip = drawn(drawing, SPACE)[-1]
    assert np.linalg.norm(drawn(drawing, BODY) - tip, axis=1).min() < 0.01
    ball = drawing.poses[-1] if drawing.colors[-1, 3] < 0.3 else drawing.poses[np.flatnonzero(drawing.colors[:, 3] < 0.3)[0]]
    x = np.linalg.solve(ball, [*tip, 1.0])[:3]
    normal = np.linalg.inv(ball[:3, :3]).T @ x                                 # of the ellipsoid at ω
    assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-4)
    assert np.cross(normal, L) / np.linalg.norm(normal) / np.linalg.norm(L) == pytest.approx(np.zeros(3), abs=1e-4)


def test_the_centre_of_mass_goes_straight_on(tumbling):
    path = drawn(mark(Scene(tumbling), 4.0, Shown(center_path=True, trail_time=3.0)), PATH)
    assert np.ptp(path, axis=0) == pytest.approx([1.2, 0.0, 0.0], abs=1e-4)


def test_points_of_a_screw_axis_go_along_it():
    rng = np.random.default_rng(5)
    w, v, p = rng.standard_normal((3, 3))
    point, along, pitch = screw(w, v, p)
    V = np.concatenate([w, v - np.cross(w, p)])                                # about the origin
    T = se3.exp(0.7 * V)
    moved = T[:3, :3] @ point + T[:3, 3]
    assert moved - point == pytest.approx(0.7 * np.linalg.norm(w) * pitch * along, abs=1e-12)


def test_screw_axes_of_a_base_are_those_of_its_twist(tumbling):
    drawing = mark(Scene(tumbling), 1.0, Shown(screws=True))
    now = tumbling.at([1.0])
    R = quaternion.to_matrix(now.q[0, :4])
    w, v = R @ now.v[0, :3], R @ now.v[0, 3:]
    assert [text for _, text, _ in drawing.labels] == [f"box: {w @ v / (w @ w):+.3g} m/rad".replace("-", "−")]
    ends = drawing.lines[0].reshape(-1, 3)
    assert np.cross(ends - ends[0], w) == pytest.approx(np.zeros((len(ends), 3)), abs=1e-9)


def test_a_link_that_is_none_is_refused(tumbling):
    with pytest.raises(engine.ViewerError, match="screws: no link is named 'hand'"):
        mark(Scene(tumbling), 1.0, Shown(screws=("hand",)))
