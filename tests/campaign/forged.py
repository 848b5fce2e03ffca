"""What others may make of a campaign's files, with right checksums: versions without digests, and shards that hold something else."""

import json
import zlib
from pathlib import Path

import h5py

from engine.campaign.hierarchy import checksum
from engine.campaign.shard import HEAD


def unsigned(folder, chunks, manifest=True):
    """Take the digests out of chunks, and of the manifest: as they were before there were any."""
    for k in chunks:
        if folder.suffix:
            path = folder / f"failed/chunk-{k:06d}.json"
            mark = {n: x for n, x in json.loads(path.read_text()).items() if n not in ("digest", "crc32")}
            mark["objects"] = {n: [len(data), zlib.crc32(data)] for n in mark["objects"] for data in [(folder / n).read_bytes()]}
            path.write_text(json.dumps({**mark, "crc32": checksum(mark)}))
        else:
            sealed(folder / f"shard-{k:06d}.h5", digest=None)
    if manifest:
        path = folder / ("zarr.json" if folder.suffix else "campaign.json")
        told = json.loads(path.read_text())
        of = json.loads(told["attributes"]["campaign"]) if folder.suffix else told
        of = {n: x for n, x in {**of, "format": 1}.items() if n != "digest"}
        if folder.suffix:
            told["attributes"]["campaign"] = json.dumps(of)
        path.write_text(json.dumps(told if folder.suffix else of))


def sealed(path: Path, **changed):
    """Put a shard's head right, whatever lies behind it; other entries of the head are as told, None is without."""
    data = path.read_bytes()
    head = {**json.loads(data[:HEAD]), "size": len(data), "crc32": zlib.crc32(data[HEAD:]), **changed}
    head = {n: x for n, x in head.items() if x is not None}
    path.write_bytes(json.dumps(head).encode().ljust(HEAD - 1) + b"\n" + data[HEAD:])


def forged(path: Path, change):
    """Change a shard by h5py, and put its head right."""
    head = path.read_bytes()[:HEAD]
    with h5py.File(path, "r+") as file:
        change(file)
    path.write_bytes(head + path.read_bytes()[HEAD:])
    sealed(path)
