"""Radiance's pictures of light (.hdr): red, green, blue and a common exponent, a byte each, run-length encoded (Ward 1991)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from engine.viewer.scene.errors import ViewerError

Array = np.ndarray
#: pixels of a picture, and bytes of its text before them
MOST, HEAD = 2**25, 1 << 16
#: widths that are written in runs
RUNS = 8, 0x7FFF


def read_hdr(path: str | Path) -> Array:
    """Return the light (h, w, 3), float32, linear red, green, blue, of a Radiance picture, first row on top.

    Raises
    ------
    ViewerError : it cannot be read, is no such picture, is cut off, or very large
    """
    try:
        data = Path(path).read_bytes()
    except OSError as e:
        raise ViewerError(f"'{path}' cannot be read ({e.strerror}); expected a Radiance picture (.hdr)") from None
    head, blank, rest = data[:HEAD].partition(b"\n\n")
    size = re.match(rb"-Y (\d{1,9}) \+X (\d{1,9})\n", rest)
    if not data.startswith(b"#?") or not blank or b"FORMAT=32-bit_rle_rgbe" not in head:
        raise ViewerError(f"'{path}' is no Radiance picture in red, green and blue; expected one (.hdr), which begins with '#?RADIANCE'")
    if size is None:
        raise ViewerError(f"'{path}' has rows that do not run from the upper left corner; expected '-Y height +X width'")
    h, w = int(size[1]), int(size[2])
    if not 0 < h * w <= MOST:
        raise ViewerError(f"'{path}' has {w} × {h} pixels; expected at most {MOST}")
    start = len(head) + 2 + size.end()
    try:
        pixels = unpacked(np.frombuffer(data, np.uint8, offset=start), h, w)
    except (IndexError, ValueError):
        raise ViewerError(f"'{path}' is cut off or damaged: it does not hold its {w} × {h} pixels; expected a whole picture") from None
    return pixels[..., :3] * np.ldexp(np.float32(1.0), pixels[..., 3:].astype(np.int32) - 136)


def unpacked(data: Array, h: int, w: int) -> Array:
    """Return the bytes (h, w, 4) of rows, each in runs or plain; ValueError or IndexError where they are not there."""
    rows = np.empty((h, w, 4), np.uint8)
    at = 0
    for row in rows:
        if not (RUNS[0] <= w <= RUNS[1] and data[at] == data[at + 1] == 2 and data[at + 2] < 128):
            row[:] = data[at : at + 4 * w].reshape(w, 4)
            if (row[:, :3] == 1).all(axis=1).any():
                raise ValueError("runs of whole pixels, as they were written before 1991")
            at += 4 * w
            continue
        if int(data[at + 2]) << 8 | int(data[at + 3]) != w:
            raise ValueError("a row of another width")
        at += 4
        for channel in range(4):
            place = 0
            while place < w:
                count = int(data[at])
                run = count > 128
                count -= 128 * run
                if not 0 < count <= w - place:
                    raise ValueError("a run that is longer than the row")
                row[place : place + count, channel] = data[at + 1] if run else data[at + 1 : at + 1 + count]
                place, at = place + count, at + (2 if run else 1 + count)
    return rows
