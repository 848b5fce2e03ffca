"""Damage to recordings, for tests and fuzzers: and what an attacker can do, who puts the checksums right."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from engine.recording.checksums import FIRST, Checksums
from engine.recording.journal import Head


def seal(path: Path) -> None:
    """Put a file's checksums right, whatever it holds."""
    data = path.read_bytes()
    size = min(len(data), struct.unpack_from("<Q", data, FIRST + 40)[0])       # where HDF5's superblock says that it ends
    sums = Checksums().after(size, [], lambda begin, end: data[begin:end])
    table = sums.table.tobytes()
    path.write_bytes(Head(1, size, sums.shift, zlib.crc32(table)).packed() + data[FIRST:size] + table)
