"""The superblock and the journal of a file: which state is its last, and how one state becomes the next."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from engine.recording.checksums import FIRST, MOST, SHIFT

STATE = struct.Struct("<16sQQII")  # a magic, how many commits there were, bytes of HDF5's, log2 of a block's, CRC-32 of the table; padded
CHECK = struct.Struct("<I")  # the last bytes of the head: CRC-32 of those before
ENTRY = struct.Struct("<QQ")  # of a journal: where, how many bytes; they follow
TRAILER = struct.Struct("<16sQQI")  # of a journal, the last bytes of a file: a magic, where it begins, the file's size afterwards, CRC-32
MAGIC, JOURNAL, OLD = b"engine record 2\n", b"engine's journal", b"engine recording"

Entries = dict[tuple[int, int], bytes]  # bytes to be changed, by place and size, in order


class Head(NamedTuple):
    """The first bytes of a file: what its last state is.

    Attributes
    ----------
    commits : how many made it
    size : bytes up to the end of HDF5's; the table of their checksums follows
    shift, check : log2 of the bytes of a block, and the CRC-32 of the table
    """

    commits: int = 0
    size: int = 0
    shift: int = SHIFT
    check: int = 0

    @property
    def table(self) -> int:
        """Bytes of the table."""
        return 4 * max(0, -(-(self.size - FIRST) >> self.shift))

    @property
    def end(self) -> int:
        """Bytes of the whole state."""
        return self.size + self.table

    def packed(self) -> bytes:
        """Return the head as bytes."""
        text = STATE.pack(MAGIC, self.commits, self.size, self.shift, self.check).ljust(FIRST - CHECK.size, b"\0")
        return text + CHECK.pack(zlib.crc32(text))

    @classmethod
    def of(cls, data: bytes) -> Head | None:
        """Return the head in a file's first bytes, or None where they are damaged or of something else.

        >>> head = Head(3, 4096)
        >>> Head.of(head.packed()) == head, Head.of(bytes(512))
        (True, None)
        """
        if len(data) < FIRST or CHECK.unpack_from(data, FIRST - CHECK.size)[0] != zlib.crc32(data[: FIRST - CHECK.size]):
            return None
        magic, *rest = STATE.unpack_from(data)
        head = cls(*rest)
        return head if magic == MAGIC and SHIFT <= head.shift < 64 and head.size >= FIRST and head.table <= 4 * MOST else None


def journal(entries: Mapping[tuple[int, int], bytes], begin: int, end: int) -> bytes:
    """Return a journal that lies at ``begin`` and after which the file has ``end`` bytes."""
    text = b"".join(ENTRY.pack(*place) + data for place, data in entries.items())
    return text + TRAILER.pack(JOURNAL, begin, end, zlib.crc32(text))


def journal_of(fd: int) -> Entries:
    """Return the changes in a file's journal, the new head first; none if no journal is whole."""
    size = os.fstat(fd).st_size
    tail = os.pread(fd, TRAILER.size, max(0, size - TRAILER.size))
    magic, begin, end, check = TRAILER.unpack(tail) if len(tail) == TRAILER.size else (b"", 0, 0, 0)
    length = size - TRAILER.size - begin
    text = os.pread(fd, length, begin) if magic == JOURNAL and length > 0 else b""
    if not text or len(text) != length or zlib.crc32(text) != check:
        return {}
    entries, place = {}, 0
    while place < length:
        at, n = ENTRY.unpack_from(text, place) if length - place > ENTRY.size else (0, 0)
        place += ENTRY.size + n
        if not 0 < n <= length or place > length or at + n > begin:
            return {}
        entries[at, n] = text[place - n : place]
    head = Head.of(entries.get((0, FIRST), b""))
    return entries if head is not None and head.end == end <= begin else {}
