"""Checksums of a file that grows and changes: the same as those of its bytes computed afresh, by zlib alone."""

import zlib

import numpy as np
import pytest

from engine.recording import checksums
from engine.recording.checksums import FIRST, SHIFT, Checksums


@pytest.mark.parametrize("most", [1, 7, 64])
@pytest.mark.parametrize("seed", range(5))
def test_a_file_that_grows_shrinks_and_changes(monkeypatch, most, seed):
    """Blocks that nobody touched are not read again, whether they become larger or not."""
    monkeypatch.setattr(checksums, "MOST", most)
    rng = np.random.default_rng(seed)
    data, sums, asked, kept = bytearray(rng.bytes(FIRST)), Checksums(), [], 0

    def read(begin, end):
        asked.append((begin, end))
        return bytes(data[begin:end])

    for _ in range(60):
        kind = rng.random()
        if kind < 0.7:
            data += rng.bytes(int(rng.choice([1, 100, 4096, 40_000])))
        elif kind < 0.8:
            del data[max(FIRST, len(data) - int(rng.choice([1, 5000]))) :]
        changed = []
        for _ in range(int(rng.integers(3))):
            at = int(rng.integers(FIRST, max(len(data), FIRST + 1)))
            n = min(int(rng.choice([1, 50, 5000])), len(data) - at)
            data[at : at + n] = rng.bytes(n)
            changed.append((at, at + n))
        asked.clear()
        sums = sums.after(len(data), changed, read)
        n = 1 << sums.shift
        assert sums.table.tolist() == [zlib.crc32(data[i : i + n]) for i in range(FIRST, len(data), n)]
        assert len(sums.table) <= most and (sums.shift == SHIFT or len(data) - FIRST > 0)
        kept += len(data) - FIRST - sum(end - begin for begin, end in asked)
    assert sums.shift > SHIFT and (most == 1 or kept > 100_000)


def test_which_block_is_wrong():
    data = np.random.default_rng(0).bytes(FIRST + 10_000)
    sums = Checksums().after(len(data), [], lambda begin, end: data[begin:end])
    assert sums.wrong(FIRST, data[FIRST:]) is None and sums.around(FIRST + 5000, FIRST + 5001) == (FIRST + 4096, FIRST + 8192)
    for at, block in [(0, (0, 4096)), (4096, (4096, 8192)), (9999, (8192, 10_000))]:
        bad = bytearray(data[FIRST:])
        bad[at] ^= 128
        assert sums.wrong(FIRST, bad) == (FIRST + block[0], FIRST + block[1])
        assert sums.wrong(FIRST + 4096, bad[4096:8192]) == ((FIRST + 4096, FIRST + 8192) if at == 4096 else None)
