"""Space: stars that stand still in the world, and the Earth below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.viewer.draw.context import open_window
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.light import SPACE
from engine.viewer.scene.planets import BACKDROP

SIZE = (480, 270)
ASPECT = SIZE[0] / SIZE[1]


@pytest.fixture(scope="module")
def draw():
    """draw(camera) -> picture (h, w, 3) as numbers in [0, 1]."""
    window = open_window(visible=False, width=16, height=16)
    from pyglet import gl

    from engine.viewer.draw.gl_state import GLState
    from engine.viewer.draw.objects import Framebuffer
    from engine.viewer.draw.space import Space

    space, targets = Space(), {}

    def drawn(camera, size=SIZE, nearer=False, light=SPACE, globe=BACKDROP):
        window.switch_to()
        target = targets.setdefault(size, Framebuffer(size, gl.GL_RGBA8))
        target.bind()
        GLState().set()
        gl.glClearColor(1.0, 0.0, 1.0, 1.0)
        gl.glClearDepth(0.5 if nearer else 1.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)
        gl.glClearDepth(1.0)
        space.draw(camera, light, size, globe)
        assert gl.glGetError() == 0
        return target.pixels()[..., :3] / 255.0

    yield drawn
    space.delete()
    window.close()


def direction(camera: Camera, x: float, y: float) -> np.ndarray:
    return camera.ray(x, y, SIZE)[1]


def test_turning_away_and_back_gives_the_same_picture(draw) -> None:
    camera = Camera(elevation=0.1)
    first = draw(camera)
    camera.orbit(0.5 * np.pi, 0.2)
    other = draw(camera)
    camera.orbit(-0.5 * np.pi, -0.2)
    assert (draw(camera) == first).all() and np.abs(other - first).max() > 0.2


def test_stars_stand_still_in_the_world(draw) -> None:
    from engine.viewer.scene.heavens import STARS, stars

    toward, light = stars(STARS)
    camera = Camera(elevation=-0.3)                                            # upwards, away from the Earth
    for _ in range(4):
        camera.orbit(0.7, 0.03)
        picture = draw(camera).max(axis=2)
        at = camera.project(camera.eye + toward, SIZE)
        inside = np.isfinite(at).all(axis=1) & (at > 4).all(axis=1) & (at < np.array(SIZE) - 4).all(axis=1)
        bright = np.flatnonzero(inside & (light.max(axis=1) > 0.3))
        alone = [k for k in bright if ((np.abs(at - at[k]).max(axis=1) < 9) & (light.max(axis=1) > 0.1)).sum() == 1]
        assert alone
        for x, y in at[alone]:
            rows, columns = np.mgrid[int(y) - 4 : int(y) + 5, int(x) - 4 : int(x) + 5]
            weight = np.maximum(picture[rows, columns] - 0.1, 0.0) ** 2
            found = np.array([(columns * weight).sum(), (rows * weight).sum()]) / weight.sum() + 0.5
            assert weight.max() > 0.06 and np.abs(found - [x, y]).max() < 0.5
        far = np.ones_like(picture, bool)                                      # between the stars it is dark
        for x, y in at[np.isfinite(at).all(axis=1) & (at > -6).all(axis=1) & (at < np.array(SIZE) + 6).all(axis=1)]:
            far[int(max(y - 5, 0)) : int(y + 6), int(max(x - 5, 0)) : int(x + 6)] = False
        assert far.mean() > 0.1 and picture[far].max() < 0.1


def test_a_star_keeps_its_light_as_it_moves_by_parts_of_a_pixel(draw) -> None:
    from engine.viewer.scene.heavens import STARS, stars

    toward, light = stars(STARS)
    up = np.flatnonzero((toward[:, 2] > 0.2) & (light.max(axis=1) > 0.9))
    alone = up[[np.sort(np.arccos(np.clip(toward @ toward[k], -1, 1)))[1] > 0.02 for k in up]][0]
    d = toward[alone]
    camera = Camera(azimuth=np.arctan2(-d[1], -d[0]), elevation=float(np.arcsin(-d[2])))
    sums = []
    for _ in range(8):
        camera.orbit(0.0003, 0.0002)
        picture = draw(camera)[SIZE[1] // 2 - 6 : SIZE[1] // 2 + 6, SIZE[0] // 2 - 6 : SIZE[0] // 2 + 6]
        sums.append((picture**2).sum())
    assert np.ptp(sums) < 0.12 * np.mean(sums)


@pytest.mark.parametrize("azimuth", [0.0, 0.7, 2.5])
def test_the_limb_is_where_geometry_says(draw, azimuth: float) -> None:
    from engine.viewer.scene.heavens import AIR, DIP

    camera = Camera(azimuth=azimuth, elevation=0.45)
    picture = draw(camera)
    y, x = np.indices(picture.shape[:2]) + 0.5
    rays = np.array([direction(camera, a, b) for a, b in zip(x[:, ::40].ravel(), y[:, ::40].ravel(), strict=True)])
    below = -np.arcsin(rays[:, 2]) - DIP
    blue = picture[:, ::40, 2].ravel()
    assert (below > 0.02).any() and (below < -AIR).any()
    assert blue[below > 0.003].min() > 0.25                                    # the ground, and the air before it
    assert np.median(blue[below < -AIR - 0.01]) < 0.1                          # the sky above it
    air = (below < 0.0) & (below > -0.012)
    assert blue[air].min() > np.median(blue[below < -AIR]) + 0.1


def test_from_the_usual_place_the_limb_is_in_the_lower_part() -> None:
    from engine.viewer.scene.heavens import DIP

    camera = Camera()
    forward = -camera.axes[:, 2] * [1, 1, 0]
    limb = np.cos(DIP) * forward / np.linalg.norm(forward) - np.sin(DIP) * np.array([0, 0, 1])
    _, row = camera.project(camera.eye + limb, SIZE)[0]
    assert 0.7 * SIZE[1] < row < 0.95 * SIZE[1]


def test_no_star_shines_through_the_earth_and_nothing_through_what_is_near(draw) -> None:
    camera = Camera(elevation=1.3)
    assert draw(camera).min(axis=2).max() < 0.97
    assert (draw(camera, nearer=True) == [1.0, 0.0, 1.0]).all()


def test_the_side_away_from_the_sun_is_dark(draw) -> None:
    globe = replace(BACKDROP, sun=np.array([1.0, 0.0, 0.0]))
    towards, away = (draw(Camera(azimuth=a, elevation=0.5), globe=globe)[-60:].mean() for a in (np.pi, 0.0))
    assert away < 0.1 < 0.2 < towards


def test_stars_of_a_small_picture_are_no_blobs(draw) -> None:
    """What they cover of it is little more than of one six times as wide, where they are two pixels wide."""
    camera = Camera(elevation=-0.8, azimuth=1.0)
    covered = [(draw(camera, size).max(axis=-1) > 0.2).mean() for size in ((1200, 900), (200, 150))]
    assert 0.0 < covered[1] < 6.0 * covered[0]


def test_the_earth_from_straight_above_has_fine_shapes(draw) -> None:
    """Where a texel of its pattern is 8 pixels wide there is more in 8 pixels than straight lines between texels."""
    picture = draw(Camera(elevation=0.5 * np.pi), (1280, 800)).mean(axis=-1)
    bend = picture[:, 2:-2] - 0.5 * (picture[:, 4:] + picture[:, :-4])
    assert bend.std() > 0.01
