"""Damaged and hostile campaigns, in folders and in hierarchies of Zarr: the truth, or a sentence, by load_campaign and by going on.

A mutation changes bytes as disks and transfers do, entries of texts as editors do, contents of shards as h5py does, or puts another
campaign's files there. Of some the checksums and digests are put right afterwards, as an attacker does: these may say other numbers, but
must not crash, hang, take memory, or read another file.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import engine
from engine.campaign.hierarchy import checksum
from engine.campaign.manifest import digest_of, text_of
from tests.campaign.cases import campaign
from tests.campaign.forged import forged, sealed, unsigned
from tests.fuzz.recordings import JSON, VALUES, damaged_bytes

#: numbers that an editor, or a devil, writes in place of another
NUMBERS = [0, 1, -1, 2, 3, 19, 20, 21, 59, 60, 61, 100, 600, 10**6, 10**18, 2**52, 2**63, 10**400, 1e18, 0.5, 60.0, 1e-300, 1e308]
KEEP = {"columns": ["q"], "rate": 10.0, "runs": range(3, 60, 4)}


def started() -> engine.Campaign:
    return campaign(20, keep=KEEP)


@functools.cache
def made() -> tuple[Path, dict[str, np.ndarray]]:
    """A folder with the campaign, and one of another seed, both ways; and what all columns of the first are."""
    folder = Path(tempfile.mkdtemp())
    for name in ("own", "own.zarr"):
        runs = started().run(folder / name)
        campaign(20, keep=KEEP, seed=8).run(folder / name.replace("own", "other"))
    return folder, columns(runs)


def columns(runs: engine.Runs) -> dict[str, np.ndarray]:
    """All that is loaded."""
    return {name: runs(name) for name in (*runs.columns, *runs.kept)}


# ---------------------------------------------------------------- texts


def edited(rng: np.random.Generator, x: Any) -> Any:
    """A nest of JSON with one entry deleted, renamed, put twice, or of another value."""
    places = [*leaves(x)]
    *path, name = places[int(rng.integers(len(places)))]
    found = json.loads(json.dumps(x))
    at = functools.reduce(lambda y, n: y[n], path, found)
    kind = int(rng.integers(6))
    if kind == 0:
        del at[name]
    elif kind == 1 and isinstance(at, dict):
        new = str(rng.choice([name[:-1], name.swapcase(), name + "s", "", "../" + name, "runs"]))
        items = [(new if n == name else n, y) for n, y in at.items()]
        at.clear()
        at.update(items)
    elif kind < 4 and isinstance(at[name], (int, float)):
        at[name] = NUMBERS[int(rng.integers(len(NUMBERS)))]
    else:
        at[name] = VALUES[int(rng.integers(len(VALUES)))]
    return found


def leaves(x: Any, path: tuple[Any, ...] = ()) -> Any:
    """Where everything in a nest of JSON is."""
    pairs = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    for name, y in pairs:
        yield (*path, name)
        yield from leaves(y, (*path, name))


def manifest(rng: np.random.Generator, runs: Path) -> bool:
    """Change a manifest; return whether its digest was put right, also in the chunks, or it had none."""
    path, put = runs / ("zarr.json" if runs.suffix else "campaign.json"), rng.random() < 0.3
    if old := rng.random() < 0.1:
        unsigned(runs, range(3))
    told = json.loads(path.read_text())
    if rng.random() < 0.3:
        other = runs.parent / path.name
        shutil.copy(made()[0] / runs.name.replace("own", "other") / path.name, other)
        path.write_bytes(damaged_bytes(rng, path.read_bytes(), other.read_bytes()))
        return old
    if runs.suffix and rng.random() < 0.2:
        path.write_text(json.dumps(edited(rng, told)))
        return old
    of = json.loads(told["attributes"]["campaign"]) if runs.suffix else told
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        of = edited(rng, of)
    text = text_of(of) if put else json.dumps(of)
    if rng.random() < 0.1:
        text = str(rng.choice(JSON))
    if runs.suffix:
        told["attributes"]["campaign"] = text
    path.write_text(json.dumps(told) if runs.suffix else text)
    for chunk in runs.glob("*.h5") if put and isinstance(of, dict) else ():
        sealed(chunk, digest=digest_of(json.loads(text_of(of))))
    return put or old


# ---------------------------------------------------------------- chunks


def contents(rng: np.random.Generator, file: h5py.File) -> None:
    """Change a shard by h5py: links, storage, types, shapes, texts, numbers."""
    name = str(rng.choice(["metrics/swing", "metrics/apart", "drawn/pull", "kept/q", "kept_runs", "said", "metrics", "drawn"]))
    outside, kind = Path(file.filename).with_name("outside.bin"), int(rng.integers(10))
    outside.write_bytes(np.arange(20_000.0).tobytes())
    shape = getattr(file[name], "shape", (20,))
    if kind < 8:
        del file[name]
    if kind == 1:
        file[name] = [h5py.SoftLink("/drawn/pull"), h5py.SoftLink(f"/{name}"), h5py.ExternalLink("shard-000000.h5", "/drawn/pull")][
            int(rng.integers(3))]  # fmt: skip
    elif kind == 2:
        file.create_dataset(name, shape, "<f8", external=[(str(outside), 0, 8 * int(np.prod(shape)))])
    elif kind == 3:
        virtual = h5py.VirtualLayout(shape, "<f8")
        virtual[...] = h5py.VirtualSource("shard-000000.h5", "/drawn/pull", shape)
        file.create_virtual_dataset(name, virtual)
    elif kind == 4:
        n = int(rng.choice([0, 1, 20, 10**6, 10**9, 1 << 60]))
        file.create_dataset(name, (n, *shape[1:]), "<f8", maxshape=(None, *shape[1:]), chunks=(1000, *shape[1:]),
                            compression=rng.choice([None, "gzip"]))  # fmt: skip
    elif kind == 5:
        types = [">f8", "<f4", "<i8", "S8", "V60", "u1", h5py.string_dtype(), h5py.ref_dtype, h5py.vlen_dtype(float), [("a", "f8")]]
        file.create_dataset(name, shape, types[int(rng.integers(len(types)))])
    elif kind == 6:
        file.create_dataset(name, data=np.zeros([(3,), (20, 3), (), (2, 2), (0,)][int(rng.integers(5))]))
    elif kind == 7:
        file["said" if name in file else name] = np.frombuffer(str(rng.choice(JSON)).encode() or b" ", np.uint8)
    elif kind == 8 and isinstance(file[name], h5py.Dataset):
        file[name][...] = rng.choice([np.nan, np.inf, 1e300, 0]) if file[name].dtype.kind == "f" else 0
    else:
        file["more"] = np.zeros(3)


def shard(rng: np.random.Generator, runs: Path) -> bool:
    """Change a shard; return whether its checksum was put right."""
    path = runs / f"shard-{int(rng.integers(3)):06d}.h5"
    kind, other = int(rng.integers(4)), made()[0] / "other" / path.name
    if kind == 0:
        forged(path, functools.partial(contents, rng))
        return True
    if kind == 1:
        data = (other if rng.random() < 0.5 else runs / "shard-000001.h5").read_bytes()
        (runs / f"shard-{int(rng.integers(4)):06d}.h5").write_bytes(data)
        return False
    path.write_bytes(damaged_bytes(rng, path.read_bytes(), other.read_bytes()))
    if kind == 2 and path.stat().st_size > 3000:
        digest = json.loads((runs / "campaign.json").read_text())["digest"]
        sealed_again(path, {"kind": "campaign shard", "first": 20 * int(path.stem[-1]), "count": 20, "digest": digest})
        return True
    return False


def sealed_again(path: Path, head: dict[str, Any]) -> None:
    """Put a head before a shard, whatever is there."""
    path.write_bytes(json.dumps(head).encode().ljust(512) + path.read_bytes()[512:])
    sealed(path)


def objects(rng: np.random.Generator, runs: Path) -> bool:
    """Change an object of a hierarchy, or what is said of a chunk; return whether a checksum was put right."""
    files = (p.relative_to(runs) for p in runs.rglob("*") if p.is_file() and p.name != "zarr.json")
    names = sorted(p for p in files if p.parts[0] not in ("t", "run_kept"))
    name = names[int(rng.integers(len(names)))] if rng.random() < 0.5 else Path(f"failed/chunk-{int(rng.integers(3)):06d}.json")
    path, other = runs / name, made()[0] / "other.zarr" / name
    kind = int(rng.integers(4))
    if kind == 0 and path.suffix:
        mark = {n: x for n, x in edited(rng, json.loads(path.read_text())).items() if n != "crc32"}
        path.write_text(json.dumps({**mark, "crc32": checksum(mark)}))
        return True
    if kind == 1:
        path.write_bytes((other if rng.random() < 0.5 else runs / names[int(rng.integers(len(names)))]).read_bytes())
    else:
        path.write_bytes(damaged_bytes(rng, path.read_bytes(), other.read_bytes()))
    return False


# ---------------------------------------------------------------- a case


def case(rng: np.random.Generator, folder: Path) -> str:
    whole, truth = made()
    runs = shutil.copytree(whole / ("own.zarr" if rng.random() < 0.3 else "own"), folder / "own", dirs_exist_ok=True)
    runs = runs if (runs / "campaign.json").exists() else runs.rename(folder / "own.zarr")
    which: Callable[..., bool] = manifest if rng.random() < 0.7 else objects if runs.suffix else shard
    put = which(rng, runs)
    ends = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for attempt in (engine.load_campaign, started().run):
            try:
                found = columns(attempt(runs))
            except engine.EngineError as error:
                assert "expected" in str(error) and "\n" not in str(error) and str(runs) in str(error), str(error)
                ends.append("refused")
                continue
            ends.append("loaded")
            for name, x in truth.items() if not put else ():
                assert (x.tolist() == found[name].tolist() if name == "reason" else x.tobytes() == found[name].tobytes()), f"another {name}"
    assert all(issubclass(w.category, engine.EngineWarning) for w in told), [str(w.message) for w in told]
    return f"{which.__name__}{' put right' * put}: {', '.join(f'{n} {how}' for n, how in zip(('load', 'run'), ends, strict=True))}"
