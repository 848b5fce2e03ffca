"""Checksums of a file: a CRC-32 for every block of it, in one table that stays small: blocks become larger as the file grows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray

FIRST = 512  # bytes of the file's head, which has a checksum of its own
SHIFT = 12  # blocks of a small file have 2**SHIFT bytes
MOST = 1 << 16  # blocks of a file; one that grows beyond has blocks twice as large
PIECE = 1 << 16  # bytes, or a block, that are read in one go


@dataclass(frozen=True)
class Checksums:
    """The CRC-32 of each block of the bytes FIRST … size − 1 of a file. A block has 2**shift bytes, the last one may have less.

    >>> text = b"." * FIRST + b"what HDF5 wrote"
    >>> sums = Checksums().after(len(text), [], lambda begin, end: text[begin:end])
    >>> sums.table.tolist() == [zlib.crc32(b"what HDF5 wrote")]
    True
    >>> sums.wrong(FIRST, b"what HDF5 wrotE")
    (512, 527)
    """

    size: int = FIRST
    shift: int = SHIFT
    table: Array = field(default_factory=lambda: np.zeros(0, "<u4"))

    def block(self, i: int) -> tuple[int, int]:
        """Return where block i begins and ends."""
        begin = FIRST + (i << self.shift)
        return begin, max(begin, min(begin + (1 << self.shift), self.size))

    def around(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the blocks begin and end that hold the bytes begin … end − 1."""
        return self.block((begin - FIRST) >> self.shift)[0], self.block((end - 1 - FIRST) >> self.shift)[1]

    def wrong(self, begin: int, data: bytes | bytearray | memoryview) -> tuple[int, int] | None:
        """Return where the first block begins and ends that is not as its checksum says, among whole ones from ``begin`` on, or None."""
        first, found = (begin - FIRST) >> self.shift, checksums(data, self.shift)
        known = self.table[first : first + len(found)].tolist()
        return None if found == known else self.block(first + [a == b for a, b in zip(found, known, strict=True)].index(False))

    def after(self, size: int, changed: Iterable[tuple[int, int]], read: Callable[[int, int], bytes | bytearray]) -> Checksums:
        """Return those of the next state of the file, in which the bytes ``changed``, (begin, end) each, and all from ``size`` on are new.

        ``read(begin, end)`` gives bytes of that state.
        """
        shift, known = self.shift, self.table[: max(0, min(size, self.size) - FIRST) >> self.shift]       # of whole blocks
        while size - FIRST > MOST << shift:
            pairs = len(known) // 2 * 2
            known, shift = join_checksums(known[:pairs:2], known[1:pairs:2], shift), shift + 1
        new = Checksums(size, shift, np.empty(max(0, -(-(size - FIRST) >> shift)), "<u4"))
        new.table[: len(known)] = known
        again = {i for begin, end in changed if begin < end for i in range(max(0, begin - FIRST) >> shift, (end - 1 - FIRST >> shift) + 1)}
        step = max(1, PIECE >> shift)
        parts = [range(i, i + 1) for i in sorted(again) if i < len(known)]
        parts += [range(i, min(i + step, len(new.table))) for i in range(len(known), len(new.table), step)]
        for part in parts:
            data = read(new.block(part[0])[0], new.block(part[-1])[1])
            new.table[part.start : part.stop] = checksums(data, shift)
        return new


def checksums(data: bytes | bytearray | memoryview, shift: int) -> list[int]:
    """Return the CRC-32 of each block of 2**shift bytes, of the last one too, which may have less."""
    view = memoryview(data)
    return [zlib.crc32(view[i : i + (1 << shift)]) for i in range(0, len(view), 1 << shift)]


def join_checksums(a: Array, b: Array, shift: int) -> Array:
    """Return the CRC-32 of blocks of 2**shift bytes each, the first of checksum a, the second of b, one after the other.

    crc(AB) = M crc(A) + crc(B) over GF(2), where M, a column for each bit, appends as many zeros as B has bits: M of one zero bit shifts
    the register, and squares of M append twice as many.

    >>> one, two = b"x" * 4096, b"y" * 4096
    >>> a, b = (np.array([zlib.crc32(x)], "<u4") for x in (one, two))
    >>> int(join_checksums(a, b, 12)[0]) == zlib.crc32(one + two)
    True
    """
    M = np.array([0xEDB88320, *(1 << k for k in range(31))], "<u4")
    for _ in range(shift + 3):
        M = applied(M, M)
    return applied(M, a) ^ b


def applied(M: Array, x: Array) -> Array:
    """Return M x over GF(2) for each of some registers."""
    bits = (x[:, None] >> np.arange(32, dtype="<u4")) & 1
    return np.bitwise_xor.reduce(bits * M, axis=1).astype("<u4")
