"""Films, read back: as many frames, as large, as fast, and of the colours that were given."""

import subprocess
import sys
import time
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

from engine.viewer.files.film import write
from engine.viewer.scene import ViewerError

COLORS = np.array([(200, 30, 30), (30, 160, 60), (40, 60, 200), (240, 240, 240), (20, 20, 20), (250, 200, 40)], dtype=np.uint8)


def stripes(count, size=(96, 64)):
    """Six broad stripes of COLORS, which move by one stripe a frame."""
    w, h = size
    for k in range(count):
        order = (np.arange(w) * 6 // w + k) % 6
        yield np.broadcast_to(COLORS[order], (h, w, 3)).copy()


def middles(picture):
    """The colour in the middle of each stripe."""
    h, w, _ = picture.shape
    return picture[h // 2, [int(w * (i + 0.5) / 6) for i in range(6)]].astype(int)


def decoded(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        return stream, frames, [f.to_ndarray(format="rgb24") for f in frames]


# ---------------------------------------------------------------- H.264


@pytest.mark.parametrize(("size", "written"), [((96, 64), (96, 64)), ((97, 65), (98, 66))])
def test_mp4(tmp_path, size, written):
    path = write(tmp_path / "a.mp4", stripes(25, size), size, fps=50)
    stream, frames, pictures = decoded(path)
    assert (stream.width, stream.height) == written and stream.codec_context.name == "h264" and stream.codec_context.pix_fmt == "yuv420p"
    assert len(frames) == 25 and stream.average_rate == 50
    assert [f.time for f in frames] == pytest.approx(np.arange(25) / 50)
    for k, picture in enumerate(pictures):
        assert np.abs(middles(picture[: size[1], : size[0]]) - COLORS[(np.arange(6) + k) % 6]).max() <= 9
    if size != written:  # the added row and column are copies
        assert np.abs(pictures[0][-1].astype(int) - pictures[0][-2]).max() < 12


def test_mp4_says_which_colors_it_has_and_has_its_index_in_front(tmp_path):
    path = write(tmp_path / "a.mp4", stripes(3), (96, 64))
    _, (frame, *_), _ = decoded(path)
    assert (frame.colorspace, frame.color_range, frame.color_primaries, frame.color_trc) == (1, 1, 1, 1)
    data = path.read_bytes()
    assert 0 < data.index(b"moov") < data.index(b"mdat")


def test_mp4_rates_need_not_be_whole(tmp_path):
    stream, _, _ = decoded(write(tmp_path / "a.mp4", stripes(4), (96, 64), fps=30000 / 1001))
    assert stream.average_rate == Fraction(30000, 1001)


def test_mp4_is_quick(tmp_path):
    rng = np.random.default_rng(0)
    ground = np.repeat(np.repeat(rng.integers(0, 255, (45, 80, 3), dtype=np.uint8), 16, axis=0), 16, axis=1)
    frames = [np.roll(ground, 3 * k, axis=1) for k in range(30)]
    begun = time.process_time()
    write(tmp_path / "a.mp4", iter(frames), (1280, 720))
    assert time.process_time() - begun < 2.5  # of all threads, for half a second of film


# ---------------------------------------------------------------- GIF


def test_gif(tmp_path):
    path = write(tmp_path / "a.gif", stripes(9), (96, 64), fps=30)
    with Image.open(path) as image:
        assert image.size == (96, 64) and image.n_frames == 9 and image.info["loop"] == 0
        lasted = []
        for k, frame in enumerate(ImageSequence.Iterator(image)):
            lasted.append(frame.info["duration"])
            assert np.abs(middles(np.asarray(frame.convert("RGB"))) - COLORS[(np.arange(6) + k) % 6]).max() <= 12
    assert sum(lasted) == 300 and {*lasted} == {30, 40}  # hundredths of a second, without drift


def test_gif_of_what_stands_still_is_small_and_does_not_flicker(tmp_path):
    h, w = 120, 160
    ramp = np.stack(np.broadcast_arrays(np.linspace(30, 220, w)[None], np.linspace(60, 200, h)[:, None], 128.0), axis=-1).astype(np.uint8)
    frames = []
    for k in range(12):
        frames.append(ramp.copy())
        frames[-1][40:50, 8 * k : 8 * k + 10] = (255, 60, 0)
    still = write(tmp_path / "one.gif", iter(frames[:1]), (w, h), fps=20).stat().st_size
    assert write(tmp_path / "a.gif", iter(frames), (w, h), fps=20).stat().st_size < 1.5 * still
    with Image.open(tmp_path / "a.gif") as image:
        seen = np.array([np.asarray(f.convert("RGB")) for f in ImageSequence.Iterator(image)], dtype=int)
    assert (seen[:, 60:] == seen[0, 60:]).all()
    assert np.abs(seen[0] - frames[0]).mean() < 8 and np.abs(seen[0].mean(axis=(0, 1)) - frames[0].mean(axis=(0, 1))).max() < 3
    assert np.abs(seen[:, 45, 3] - [255, 60, 0])[0].max() < 20  # few pixels, and yet a colour of their own


# ---------------------------------------------------------------- PNG


def test_png_single_and_numbered(tmp_path):
    (picture,) = stripes(1)
    assert write(tmp_path / "a.png", iter([picture]), (96, 64), count=1) == tmp_path / "a.png"
    assert (np.asarray(Image.open(tmp_path / "a.png")) == picture).all()
    write(tmp_path / "b%03d.png", stripes(3), (96, 64))
    (tmp_path / "frames").mkdir()
    assert write(tmp_path / "frames", stripes(3), (96, 64)).name == "%04d.png"
    for k, picture in enumerate(stripes(3)):
        assert (np.asarray(Image.open(tmp_path / f"b{k:03}.png")) == picture).all()
        assert (np.asarray(Image.open(tmp_path / "frames" / f"{k:04}.png")) == picture).all()
    with pytest.raises(ViewerError, match=r"is one picture, for several frames; expected a numbered name such as 'c-%04d.png'"):
        write(tmp_path / "c.png", stripes(2), (96, 64))


@pytest.mark.parametrize(("name", "kind"), [("a.jpg", "JPEG"), ("a.jpeg", "JPEG"), ("a.webp", "WEBP"), ("%02d.JPG", "JPEG")])
def test_other_single_pictures(tmp_path, name, kind):
    (picture,) = stripes(1)
    write(tmp_path / name, iter([picture]), (96, 64))
    (path,) = tmp_path.iterdir()
    with Image.open(path) as image:
        assert image.format == kind and image.size == (96, 64)
        assert np.abs(middles(np.asarray(image.convert("RGB"))) - COLORS).max() < 8
    with pytest.raises(ViewerError, match=r"is one picture, for several frames; expected a numbered name such as 'b-%04d.webp'"):
        write(tmp_path / "b.webp", stripes(2), (96, 64))


# ---------------------------------------------------------------- interrupted, wrong


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_film_that_is_ended_leaves_what_was_there(tmp_path, name):
    """SIGTERM, as batch systems send it, after some frames."""
    path = tmp_path / name
    path.write_bytes(b"an older film")
    program = f"""
import os, signal
import numpy as np
from engine.viewer.files.film import write
def frames():
    for k in range(40):
        yield np.random.default_rng(k).integers(0, 255, (64, 96, 3), dtype=np.uint8)
    os.kill(os.getpid(), signal.SIGTERM)
write({str(path)!r}, frames(), (96, 64), 30.0)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -15
    assert path.read_bytes() == b"an older film" and [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == [name]


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.png"])
def test_a_link_to_a_file_stays_one(tmp_path, name):
    (tmp_path / "there").mkdir()
    (tmp_path / name).symlink_to(tmp_path / "there" / name)
    write(tmp_path / name, stripes(1), (96, 64), fps=10)
    assert (tmp_path / name).is_symlink() and [p.name for p in (tmp_path / "there").iterdir()] == [name]


@pytest.mark.parametrize(("name", "what"), [("a.mp4", KeyboardInterrupt), ("a.gif", KeyboardInterrupt), ("b.mp4", RuntimeError)])
def test_what_came_until_an_interrupt_is_a_whole_film(tmp_path, name, what):
    def frames():
        yield from stripes(7)
        raise what

    path = tmp_path / name
    with pytest.raises(what):
        write(path, frames(), (96, 64), fps=25, count=100)
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == 7


@pytest.mark.parametrize(("name", "size", "fps", "count", "said"), [
    ("a.avi", (96, 64), 60, 5, r"ends in '.avi'; expected .mp4, .gif, .png, .jpg, .jpeg, .webp, or a folder that is there"),
    ("a", (96, 64), 60, 5, r"ends in ''; expected .mp4"),
    ("none/a.mp4", (96, 64), 60, 5, r"there is no folder '.*none' for 'a.mp4'"),
    ("folder.mp4", (96, 64), 60, 5, r"cannot be written; expected a file, not a folder"),
    ("a.mp4", (96, 64.5), 60, 5, r"the size is \(96, 64.5\); expected \(width, height\) in whole pixels"),
    ("a.mp4", (0, 64), 60, 5, r"the size is \(0, 64\)"),
    ("a.mp4", (96, 100_000), 60, 5, r"the size is .* 2 … 8192"),
    ("a.mp4", (96, 64), 0, 5, r"fps is 0; expected frames per second, at least 0.1, at most 240 in a .mp4"),
    ("a.mp4", (96, 64), np.nan, 5, r"fps is nan"),
    ("a.gif", (96, 64), 60, 5, r"fps is 60; expected frames per second, at least 0.1, at most 50 in a .gif"),
    ("a.mp4", (96, 64), 60, 0, r"there are 0 frames"),
    ("a.png", (96, 64), 60, 5, r"is one picture, for 5 frames; expected a numbered name such as 'a-%04d.png'"),
    ("%s%d.png", (96, 64), 60, 5, r"does not number its files"),
])  # fmt: skip
def test_what_cannot_be_written_is_said_before_the_first_frame(tmp_path, name, size, fps, count, said):
    (tmp_path / "folder.mp4").mkdir()

    def frames():
        raise AssertionError("a frame was asked for")
        yield

    with pytest.raises(ViewerError, match=said):
        write(tmp_path / name, frames(), size, fps, count)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.mp4"]


@pytest.mark.parametrize(("frames", "said"), [
    ([], r"there are no frames for '.*a.mp4'"),
    ([np.zeros((64, 90, 3), np.uint8)], r"frame 0 has shape \(64, 90, 3\) of uint8; expected \(64, 96, 3\) of uint8"),
    ([np.zeros((64, 96, 3))], r"frame 0 has shape \(64, 96, 3\) of float64"),
    (["picture"], r"frame 0 has shape \(\) of str"),
])  # fmt: skip
def test_a_frame_that_is_none_leaves_no_file(tmp_path, frames, said):
    with pytest.raises(ViewerError, match=said):
        write(tmp_path / "a.mp4", iter(frames), (96, 64))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
@pytest.mark.parametrize("room", [0, 4000])
def test_a_disk_that_is_full_or_fills_leaves_nothing_behind(tmp_path, name, room):
    """In a process of its own: what libav does after an error it may not survive. A limit on files' sizes is a disk that is full."""
    program = f"""
import resource, numpy as np
from engine.viewer.files.film import write
from engine.viewer.scene import ViewerError
rng = np.random.default_rng(0)
frames = (rng.integers(0, 255, (64, 64, 3), dtype=np.uint8) for _ in range(80))
def limited():
    yield next(frames)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))
    yield from frames
try:
    write({str(tmp_path / name)!r}, limited(), (64, 64), 30.0)
except ViewerError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8")
    expected = f"'{tmp_path / name}' cannot be written (File too large); expected a place with room for it\n"
    assert (ended.returncode, ended.stdout) == (0, expected), ended.stderr
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_frames_is_theirs_and_the_film_until_then_is_whole(tmp_path):
    def frames():
        yield from stripes(5)
        raise FileNotFoundError("no such frame")

    with pytest.raises(FileNotFoundError, match="no such frame"):
        write(tmp_path / "a.mp4", frames(), (96, 64))
    assert len(decoded(tmp_path / "a.mp4")[1]) == 5


def test_the_bar_counts(tmp_path, capsys):
    write(tmp_path / "a.mp4", stripes(5), (96, 64), count=5, progress=True)
    assert "5/5 frames" in capsys.readouterr().out
