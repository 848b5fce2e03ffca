"""Light from a picture of all directions: what is read, what it lights, and what is seen behind."""

from itertools import pairwise

import numpy as np
import pytest

import engine
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.hdr import read_hdr
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.surroundings import MEAN, angles, directions, harmonics, shown, smaller, surroundings

SIZE = (320, 240)
HEAD = b"#?RADIANCE\nSOFTWARE=a test\nFORMAT=32-bit_rle_rgbe\n\n"


def bytes_of(picture):
    """The bytes (h, w, 4) of light (h, w, 3)."""
    most = np.maximum(picture.max(axis=-1), 1e-30)
    exponent = np.ceil(np.log2(most * 256 / 255)).astype(int)
    mantissa = np.round(picture * np.ldexp(256.0, -exponent)[..., None])
    return np.dstack([mantissa, np.where(picture.any(axis=-1), exponent + 128, 0)]).astype(np.uint8)


def written(path, picture, packed=False):
    """Write light (h, w, 3), plain or in runs of up to 127 equal bytes or 128 others."""
    h, w, _ = picture.shape
    rows = [bytes_of(picture).tobytes()]
    if packed:
        rows = []
        for row in bytes_of(picture):
            rows.append(bytes([2, 2, w >> 8, w & 255]))
            for line in row.T:
                ends = [0, *(np.flatnonzero(np.diff(line)) + 1), w]
                for a, b in pairwise(ends):
                    rows += [bytes([128 + min(127, b - k), line[a]]) if b - a > 2 else bytes([b - a, *line[a:b]])
                             for k in range(a, b, 127)]  # fmt: skip
    path.write_bytes(HEAD + b"-Y %d +X %d\n" % (h, w) + b"".join(rows))
    return path


def sphere(z=3.0):
    builder = engine.Builder("ball")
    look = engine.Geometry("sphere", (0.5,), material=engine.Material(color=(1.0, 1.0, 1.0, 1.0)))
    builder.add_link("ball", inertia=engine.spatial.inertia.sphere(1.0, 0.5), visuals=(look,))
    model = builder.model(floating_base=True)
    q = model.neutral()
    q[6] = z
    return Actor(model, q=q)


@pytest.fixture
def picture():
    """Light over twelve orders of magnitude, some of it none, in stripes."""
    rng = np.random.default_rng(4)
    light = np.repeat(10.0 ** rng.uniform(-6, 6, (16, 8, 1)), 5, axis=1) * rng.uniform(0.3, 1.0, (16, 40, 3))
    light[:, 3:9] = 0.0
    return light


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_written_is_read(tmp_path, picture, packed):
    """To half a step of the mantissa, in either form."""
    found = read_hdr(written(tmp_path / "light.hdr", picture, packed))
    assert found.dtype == np.float32 and found.shape == picture.shape
    assert (np.abs(found - picture) <= picture.max(axis=-1, keepdims=True) / 128 * 0.51).all()


@pytest.mark.parametrize(("data", "said"), [
    (b"\x89PNG\r\n\x1a\n" + bytes(100), "is no Radiance picture in red, green and blue; expected one"),
    (b"#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 2 +X 2\n" + bytes(16), "is no Radiance picture in red, green and blue"),
    (HEAD + b"+Y 2 +X 2\n" + bytes(16), "has rows that do not run from the upper left corner"),
    (HEAD + b"-Y 200000 +X 400000\n" + bytes(16), "has 400000 × 200000 pixels; expected at most"),
    (HEAD + b"-Y 0 +X 4\n", "has 4 × 0 pixels"),
    (HEAD + b"-Y 4 +X 4\n" + bytes(63), "is cut off or damaged: it does not hold its 4 × 4 pixels"),
    (HEAD + b"-Y 4 +X 16\n" + bytes([2, 2, 0, 16]) + bytes([144, 7]) * 3, "is cut off or damaged"),
    (HEAD + b"-Y 1 +X 16\n" + bytes([2, 2, 0, 16]) + bytes([145, 7]) * 8, "is cut off or damaged"),
    (HEAD + b"-Y 1 +X 16\n" + bytes([2, 2, 0, 16]) + bytes(80), "is cut off or damaged"),
])  # fmt: skip
def test_what_cannot_be_read(tmp_path, data, said):
    (tmp_path / "light.hdr").write_bytes(data)
    with pytest.raises(ViewerError, match=f"^'{tmp_path / 'light.hdr'}' {said}"):
        Scene(sphere(), tmp_path / "light.hdr")


def test_a_picture_that_is_not_there(tmp_path):
    with pytest.raises(ViewerError, match=r"light.hdr' cannot be read \(No such file or directory\)"):
        engine.render(sphere(), environment=str(tmp_path / "light.hdr"))
    with pytest.raises(ViewerError, match=r"environment 'light.exr' is not known; expected one of .*, or a picture \(.hdr\)"):
        engine.render(sphere(), environment="light.exr")


def test_matt_light_is_the_integral():
    """Of light that changes slowly, by the sum over all pixels; the means of pixels keep the whole."""
    towards = directions(64, 128).astype(float)
    light = 1.0 + 0.5 * towards[..., [2, 0, 1]] + 0.4 * towards[..., :1] * towards[..., 1:2]
    matt, share = harmonics(light), angles(64, 128)
    for n in np.random.default_rng(1).standard_normal((5, 3)):
        n /= np.linalg.norm(n)
        expected = (light * (np.maximum(towards @ n, 0.0) * share)[..., None]).sum(axis=(0, 1)) / np.pi
        np.testing.assert_allclose(np.append(n, 1) @ matt @ np.append(n, 1), expected, rtol=2e-3)
    np.testing.assert_allclose(smaller(light, 50).mean(axis=(0, 1)), light.mean(axis=(0, 1)), rtol=1e-6)


@pytest.mark.parametrize("samples", [0, 4])
@pytest.mark.parametrize("brightness", [1e-3, 1.0, 1e4])
def test_the_same_light_from_everywhere_lights_a_ball_evenly(tmp_path, samples, brightness):
    """A white ball gives back what it gets, by its colour and by what it mirrors: 1 + 0.04, times what the light is scaled to."""
    path = written(tmp_path / "white.hdr", np.full((16, 32, 3), brightness))
    scene = Scene(sphere(), path)
    camera = scene.camera(SIZE, (0.4, 0.1))
    picture = engine.render(scene, camera=camera, size=SIZE, samples=samples) / 255.0
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    (middle,) = camera.project([0.0, 0.0, 3.0], SIZE)
    within = np.hypot(x - middle[0], y - middle[1]) < 0.65 * 0.5 / camera.distance / np.tan(0.5 * camera.fov) * SIZE[1] / 2
    assert within.sum() > 3000
    np.testing.assert_allclose(picture[within], shown(np.array(MEAN * 1.04)), atol=0.015)
    assert scene.around.shares[0] == pytest.approx(0.0, abs=1e-6)             # nothing casts a shadow


@pytest.mark.parametrize("azimuth", [-2.0, 0.5, np.pi / 2, 3.0])
def test_one_bright_pixel_lights_the_side_towards_it(tmp_path, azimuth):
    """It is the key light: half of the ball is lit, as far as that is seen, and the other half is dark."""
    light = np.zeros((32, 64, 3))
    towards = np.array([np.cos(0.6) * np.cos(azimuth), np.cos(0.6) * np.sin(azimuth), np.sin(0.6)])
    light[np.unravel_index((directions(32, 64) @ towards).argmax(), (32, 64))] = 100.0
    path = written(tmp_path / "sun.hdr", light)
    assert surroundings(path).light.key @ towards > 0.99
    scene = Scene(sphere(), path)
    camera = scene.camera(SIZE, (azimuth - 0.5 * np.pi, 0.0))                 # the light comes from the right
    picture = engine.render(scene, camera=camera, size=SIZE).mean(axis=-1) / 255.0
    (x, y), = camera.project([0.0, 0.0, 3.0], SIZE).astype(int)
    assert picture[y - 20, x + 40] > 0.6 and picture[y + 20, x - 40] < 0.2
    assert scene.around.shares[0] > 0.5


def test_the_picture_is_seen_behind_the_ground_and_the_right_way_round(tmp_path):
    """Red above +y, green above −y, blue below: the ground hides what is below as far as it is seen."""
    towards = directions(64, 128)
    light = np.where(towards[..., 1:2] > 0.0, [1.0, 0.1, 0.1], [0.1, 1.0, 0.1])
    light[towards[..., 2] < 0.0] = 0.1, 0.1, 1.0
    scene = Scene(sphere(0.5), written(tmp_path / "sky.hdr", light))
    picture = engine.render(scene, view=(0.0, 0.05), size=SIZE) / 255.0         # from +x: +y is on the right
    assert np.argmax(picture[10, 300]) == 0 and np.argmax(picture[10, 20]) == 1
    ground = picture[-10, 20]
    assert ground[2] < 0.6 * ground[:2].min() and np.ptp(ground[:2]) < 0.02     # lit by red and green, before the blue
    scene.environment = "plain"
    assert np.ptp(engine.render(scene, view=(0.0, 0.05), size=SIZE)[10, 300]) == 0
