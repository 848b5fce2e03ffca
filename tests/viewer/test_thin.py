"""Lines thinner than a pixel are whole in pictures, wherever they lie between pixels."""

import numpy as np

import engine
from engine.viewer.files.picture import render, usual
from engine.viewer.scene import Camera, Scene


def strings(radius):
    """Three strings, a metre long, tilted a little, of a radius, m."""
    builder = engine.Builder("strings")
    looks = engine.Material(color=(0.05, 0.05, 0.05, 1.0))
    for k in range(3):
        c, s = np.cos(0.04 * (k + 1)), np.sin(0.04 * (k + 1))
        T = np.array([[c, 0, s, 0.4 * k - 0.4], [0, 1, 0, 0], [-s, 0, c, 0.6], [0, 0, 0, 1.0]])
        builder.add_link(f"string{k}", visuals=[engine.Geometry("cylinder", (radius, 1.0), placement=T, material=looks)])
        if k:
            builder.add_joint(f"j{k}", "fixed", "string0", f"string{k}")
    return builder.model()


def test_strings_of_a_third_of_a_pixel_have_no_gaps():
    size, camera = (160, 120), Camera(target=np.array([0.0, 0.0, 0.6]), distance=3.0, azimuth=-np.pi / 2, elevation=0.0)
    for samples in (0, 4):
        picture = render(Scene(strings(0.003), "plain"), size=size, camera=camera, samples=samples).astype(float).mean(axis=-1)
        rows = picture[35:85]                                                  # strings reach beyond these
        for left, right in ((45, 68), (68, 91), (91, 115)):
            dark = 246.0 - rows[:, left:right].min(axis=1)
            assert dark.min() > 15.0, f"{samples} samples: {dark.round().tolist()}"
            ink = (246.0 - rows[:, left:right]).clip(0).sum(axis=1)
            assert ink.std() < 0.5 * ink.mean()


def test_small_films_have_samples():
    assert usual(True, (640, 360)) == 4 and usual(True, (1280, 720)) == 0 == usual(True, (854, 480))
