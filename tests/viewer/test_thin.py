"""What is thin or coarse is whole in pictures: lines thinner than a pixel, wherever they lie between pixels, and stand-ins of meshes."""

import numpy as np
import pytest

import engine
from engine.viewer.files.picture import render, usual
from engine.viewer.scene import Actor, Camera, Scene
from tests.bench.robots import ROBOTS

PANDA = ROBOTS / "panda_description/urdf/panda.urdf"


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


def test_strips_that_are_seen_aslant_have_no_gaps():
    """Strips of two pixels on a plate, which from its side are a third of a pixel wide."""
    builder = engine.Builder("plate")
    builder.add_link("plate", visuals=[engine.Geometry("box", (2.0, 2.0, 0.02), material=engine.Material("p", (0.1, 0.1, 0.3, 1.0)))])
    for k in range(3):
        T = np.eye(4)
        T[:3, 3] = 0.0, 0.5 * (k - 1), 0.012
        strip = engine.Geometry("box", (1.8, 0.02, 0.006), placement=T, material=engine.Material("s", (0.9, 0.9, 0.9, 1.0)))
        builder.add_link(f"strip{k}", visuals=[strip])
        builder.add_joint(f"j{k}", "fixed", "plate", f"strip{k}")
    camera = Camera(distance=4.0, azimuth=-np.pi / 2 + 0.02, elevation=0.12)
    for samples in (0, 4):
        picture = render(Scene(builder.model(), "plain"), size=(320, 180), camera=camera, samples=samples).astype(float).mean(axis=-1)
        middle = picture[87:92, 115:205]                                       # of the one that goes through the middle
        bright = middle.max(axis=0) - np.median(middle)
        assert bright.min() > 15.0, f"{samples} samples: {bright.round().tolist()}"
        assert bright.std() < 0.25 * bright.mean()


def test_small_films_have_samples():
    assert usual(True, (640, 360)) == 4 and usual(True, (1280, 720)) == 0 == usual(True, (854, 480))


@pytest.mark.skipif(not PANDA.exists(), reason="needs example-robot-data")
@pytest.mark.parametrize("azimuth", [0.4, -0.3])
def test_a_base_has_no_streaks_of_its_own_shadow(azimuth):
    """Panda's, in a film's picture: a coarser stand-in casts shadows of its edges on what is round, wherever a still is bright."""
    model = engine.load_urdf(PANDA)
    scene = Scene(Actor(model, q=[0.0, -0.6, 0.0, -2.0, 0.0, 1.6, 0.8, *[0.0] * (model.nq - 7)]), "space")
    film, still = (render(scene, size=(550, 309), view=(azimuth, 0.15), samples=k)[205:290, 220:330].mean(axis=-1) for k in (0, 4))
    assert (still - film > 80.0).sum() < 15                                    # of 9350 pixels; 104 and 139 in streaks


@pytest.mark.parametrize("name", ["free_flyer", "dual_arm_servicer"])
def test_cells_of_solar_panels_are_no_dots(name):
    """Gaps of a third of a pixel, without samples, are what a picture four times as large has there, in the mean: no dots, brighter by 65
    to 84 of 255, of what the gaps are as geometry."""
    scene = Scene(engine.load_urdf(engine.example(name), floating_base=True), "plain")
    camera = Camera(target=np.array([0.0, 2.0, 0.0]), distance=9.0, azimuth=-0.8, elevation=0.5)
    picture = render(scene, size=(640, 360), camera=camera, samples=0).astype(float)
    fine = render(scene, size=(2560, 1440), camera=camera, samples=4).astype(float).reshape(360, 4, 640, 4, 3).mean(axis=(1, 3))
    off = np.abs(picture - fine).mean(axis=-1)[144:216, 268:384]
    assert np.quantile(off, 0.99) < 50.0
