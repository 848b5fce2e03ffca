"""Films: pictures one after another in a file, H.264 film, GIF, and single pictures."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import beside, number, path_of, require_packages, shown, writing
from engine.progress import progress_bar
from engine.viewer.scene.errors import ViewerError

Array = np.ndarray
LARGEST = 8192
#: a GIF counts time in hundredths of a second, and players take less than two for ten
FASTEST = {".mp4": 240.0, ".gif": 50.0}
#: of single pictures, and of those of 0 … 100 how much of it JPEG and WebP keep
STILLS, QUALITY = (".png", ".jpg", ".jpeg", ".webp"), 92
#: how far a GIF's ordered dither spreads a colour, of 255
DITHER = 12
#: pixels that a GIF's colours are chosen from, in all
SAMPLES = 400_000
#: thresholds of an ordered dither, 8×8, each number of 0 … 63 once (Bayer 1973)
BAYER = np.array([[0]])
for _ in range(3):
    BAYER = np.block([[4 * BAYER, 4 * BAYER + 2], [4 * BAYER + 3, 4 * BAYER + 1]])


def write(path: str | Path, frames: Iterable[Array], size: tuple[int, int], fps: float = 60.0, count: int | None = None,
          progress: bool = False) -> Path:  # fmt: skip
    """Write frames to a file as they come; return its path.

    Parameters
    ----------
    path : "film.mp4" (H.264), "film.gif", "picture.png" (or .jpg, .webp) for a single frame, or for each frame a file of its own:
        "frames/%04d.png", or a folder that is there
    frames : pictures (h, w, 3) of uint8, red, green, blue (sRGB), first row on top
    size : (w, h), pixels; a film of an odd size gets another column or row, a copy of the last
    fps : frames per second
    count : how many there will be, where that is known
    progress : whether to show a bar with the rate and the time left

    If the frames end early, by an error or by Ctrl-C, what came until then is a whole file. A film lies under its name once it is whole:
    whoever is ended before, with SIGTERM, leaves there what was there, and a hidden file beside it.

    Raises
    ------
    ViewerError : the path, the size or the rate is none that can be written (before the first frame is asked for), or a frame is no picture
    """
    path = checked(path, size, fps, count)
    pictures = required(frames, size)
    first = next(pictures, None)
    if first is None:
        raise ViewerError(f"there are no frames for '{path}'; expected at least one")
    save = {".mp4": write_mp4, ".gif": write_gif}.get(path.suffix.lower(), write_stills)
    with bar(count, progress) as advanced:
        save(path, advanced(itertools.chain([first], pictures)), size, fps)
    return path


# ---------------------------------------------------------------- what can be written


def checked(path: str | Path, size: tuple[int, int], fps: float, count: int | None = None) -> Path:
    """Return the path to write to, with a pattern where a folder was named; raise ViewerError where nothing can be written."""
    path = path_of(path, ViewerError)
    kinds = (*FASTEST, *STILLS)
    if path.is_dir() and path.suffix.lower() not in kinds:
        path = path / "%04d.png"
    kind = path.suffix.lower()
    if kind not in kinds:
        raise ViewerError(f"'{path}' ends in '{path.suffix}'; expected {', '.join(kinds)}, or a folder that is there")
    if kind not in (*STILLS, ".gif"):
        require_packages("a film", "video", "av", error=ViewerError)
    if not path.parent.is_dir():
        raise ViewerError(f"there is no folder '{path.parent}' for '{path.name}'; expected one that is there")
    if path.is_dir() or not all(os.access(x, os.W_OK) for x in (path, path.resolve().parent) if x.exists()):
        raise ViewerError(f"'{path}' cannot be written; expected {'a file, not a folder' if path.is_dir() else 'permission to write it'}")
    require_size(size)
    most = f", at most {FASTEST[kind]:g} in a {kind}" if kind in FASTEST else ""
    number("fps", fps, f"frames per second, at least 0.1{most}", least=0.1, most=FASTEST.get(kind, math.inf), error=ViewerError)
    if count is not None and count < 1:
        raise ViewerError(f"there are {count} frames for '{path}'; expected at least one")
    if kind in STILLS:
        check_pattern(path, count)
    return path


def require_size(size: Any) -> None:
    """Refuse a size that no picture has."""
    two = isinstance(size, (tuple, list)) and len(size) == 2
    if not two or not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and 2 <= n <= LARGEST for n in size):
        raise ViewerError(f"the size is {shown(size)}; expected (width, height) in whole pixels, 2 … {LARGEST}")


def check_pattern(path: Path, count: int | None) -> None:
    """Refuse a name that does not number its files, or numbers a single one in a way that Python cannot."""
    if "%" not in path.name:
        if count is not None and count > 1:
            raise ViewerError(f"'{path}' is one picture, for {count} frames; expected a numbered name such as "
                              f"'{path.stem}-%04d{path.suffix}'")  # fmt: skip
        return
    try:
        first, second = path.name % 0, path.name % 1
    except (TypeError, ValueError):
        first = second = ""
    if first == second:
        raise ViewerError(f"'{path.name}' does not number its files; expected a name such as '%04d{path.suffix}'")


def required(frames: Iterable[Array], size: tuple[int, int]) -> Iterator[Array]:
    """Return the frames, each checked to be a picture of that size."""
    w, h = size
    for k, frame in enumerate(frames):
        shape, kind = np.shape(frame), getattr(frame, "dtype", type(frame).__name__)
        if shape != (h, w, 3) or kind != np.uint8:
            raise ViewerError(f"frame {k} has shape {shape} of {kind}; expected ({h}, {w}, 3) of uint8")
        yield frame


@contextlib.contextmanager
def bar(count: int | None, shown: bool) -> Iterator[Callable[[Iterator[Array]], Iterator[Array]]]:
    """Show a progress bar; yield the function that moves it with every frame of an iterator."""
    with progress_bar("rendering", "frames", count, shown, digits=1) as advanced:

        def moving(frames: Iterator[Array]) -> Iterator[Array]:
            for k, frame in enumerate(frames, 1):
                yield frame
                advanced(k)

        yield moving


# ---------------------------------------------------------------- files that are whole


def waiting(path: Path) -> Path:
    """Return where a file is written that then takes a path's place; a stream, such as /dev/stdout, has no other."""
    return path if path.exists() and not path.is_file() else beside(path)


@contextlib.contextmanager
def placing(new: Path, path: Path) -> Iterator[None]:
    """Give a file its place once it is whole; what the system refuses before is said of that place, and nothing is left."""
    try:
        with writing(path, ViewerError, begun=False):
            yield
            if new != path:
                new.replace(path.resolve())
    finally:
        if new != path:
            new.unlink(missing_ok=True)


# ---------------------------------------------------------------- H.264


def write_mp4(path: Path, frames: Iterator[Array], size: tuple[int, int], fps: float) -> None:
    """Write H.264, 4:2:0 in the colours of BT.709, visually lossless, its index in front so that it plays while it loads."""
    import av

    w, h = (n + n % 2 for n in size)
    with writing(path, ViewerError, begun=False):
        film = av.open(str(new := waiting(path)), "w", format="mp4", options={"movflags": "+faststart"})
    refused: list[OSError] = []

    def attempt(step: Callable[..., None], *given: Any) -> None:
        try:
            step(*given)
        except OSError as error:
            refused.append(error)

    try:
        stream = film.add_stream("libx264", Fraction(fps).limit_denominator(1001), options={"crf": "18", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = w, h, "yuv420p"
        colors = stream.codec_context
        colors.colorspace = colors.color_primaries = colors.color_trc = colors.color_range = 1  # BT.709, 16 … 235
        try:
            for frame in frames:
                picture = av.VideoFrame.from_ndarray(evened(frame), "rgb24")
                attempt(film.mux, stream.encode(picture.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")))
                if refused:
                    break
        finally:  # also of a film that is interrupted: what came until then can be played
            if not refused:  # libav, given more after a refusal, crashes
                attempt(film.mux, stream.encode())
    finally:
        attempt(film.close)
        with placing(new, path):
            if refused:
                raise refused[0]


def evened(frame: Array) -> Array:
    """Return a picture with an even number of rows and columns, as halved colours need."""
    h, w, _ = frame.shape
    return np.pad(frame, ((0, h % 2), (0, w % 2), (0, 0)), mode="edge") if h % 2 or w % 2 else np.ascontiguousarray(frame)


# ---------------------------------------------------------------- GIF


def write_gif(path: Path, frames: Iterator[Array], size: tuple[int, int], fps: float) -> None:
    """Write a GIF with one palette, chosen from all frames, and an ordered dither, so that what stands still stays the same.

    The frames wait in a temporary file until the last has come and the palette is known.
    """
    seen, lengths = np.zeros(1 << 18, dtype=np.int64), []
    with tempfile.TemporaryFile() as kept:
        try:
            for frame in frames:
                seen += np.bincount(cells(frame).reshape(-1), minlength=len(seen))
                with writing(path, ViewerError, begun=False):
                    lengths.append(kept.write(zlib.compress(frame.tobytes(), 1)))
        finally:  # also of a film that is interrupted
            kept.seek(0)
            pictures = paletted((zlib.decompress(kept.read(n)) for n in lengths), size, palette(seen))
            ends = np.round(100.0 * np.arange(len(lengths) + 1) / fps).astype(int)
            with placing(new := waiting(path), path):
                next(pictures).save(new, save_all=True, append_images=pictures, duration=(10 * np.diff(ends)).tolist(), loop=0)


def paletted(frames: Iterable[bytes], size: tuple[int, int], chosen: Any) -> Iterator[Any]:
    """Return images in the palette of the image ``chosen``."""
    from PIL import Image

    w, h = size
    thresholds = (BAYER + 0.5) / 64 - 0.5
    dither = np.round(DITHER * np.tile(thresholds, (h // 8 + 1, w // 8 + 1))[:h, :w, None]).astype(np.int16)
    for pixels in frames:
        frame = np.frombuffer(pixels, np.uint8).reshape(h, w, 3)
        dithered = np.clip(frame + dither, 0, 255).astype(np.uint8)
        yield Image.fromarray(dithered).quantize(palette=chosen, dither=Image.Dither.NONE)


def cells(frame: Array) -> Array:
    """Return for each pixel (h, w) the number of its cell in the cube of colours, 64×64×64."""
    r, g, b = np.moveaxis(frame >> 2, -1, 0).astype(np.int32)
    return r << 12 | g << 6 | b


def palette(seen: Array) -> Any:
    """Return an image whose palette, of 255 colours, suits colours seen so many times (64³); rare ones count for more than their share."""
    from PIL import Image

    (cell,) = np.nonzero(seen)
    weight = np.sqrt(seen[cell])
    times = np.ceil(weight * min(1.0, SAMPLES / weight.sum())).astype(int)
    colors = np.stack([cell >> 12, cell >> 6 & 63, cell & 63], axis=-1) * 255 // 63
    return Image.fromarray(np.repeat(colors, times, axis=0).astype(np.uint8)[None]).quantize(255, Image.Quantize.MEDIANCUT)


# ---------------------------------------------------------------- single pictures


def write_stills(path: Path, frames: Iterator[Array], size: tuple[int, int], fps: float) -> None:
    """Write a file for each frame, or the one there is."""
    from PIL import Image

    for k, frame in enumerate(frames):
        if k and "%" not in path.name:
            raise ViewerError(f"'{path}' is one picture, for several frames; expected a numbered name such as "
                              f"'{path.stem}-%04d{path.suffix}'")  # fmt: skip
        file = path.with_name(path.name % k) if "%" in path.name else path
        with placing(new := waiting(file), file):
            Image.fromarray(frame).save(new, quality=QUALITY)
