"""Damaged and hostile recordings: refused in a sentence, or exactly the numbers that were recorded, by load_trajectory, verify and resume.

A mutation changes bytes as disks and transfers do, or contents as other programs do (h5py); of these, some have their checksums put right
afterwards, as an attacker does. Such a file may say other numbers, but must not crash, hang, take memory, or read another file.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import engine
from engine.recording import Recorder, verify
from engine.recording.checksums import FIRST
from engine.recording.journal import ENTRY, JOURNAL, TRAILER, Head
from engine.recording.journaled_file import JournaledFile
from engine.simulation import run_loop
from tests.recording.damage import seal

STEPS, CUT = 100, 60                                    # of the run, and of the one that is interrupted


def simulator() -> engine.Simulator:
    builder = engine.Builder("arm")
    builder.add_link("base")
    for above, link in (("base", "upper"), ("upper", "fore")):
        builder.add_link(link, inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        builder.add_joint(f"to {link}", "revolute", above, link, axis=[0, 1, 0])
    return engine.Simulator(builder.model(), dt=1e-2)


@functools.cache
def made() -> tuple[engine.Simulator, dict[str, bytes], engine.Trajectory]:
    """A simulator; recordings of its run, whole, interrupted, and killed with its last journal not carried out; and the run in memory."""
    simulates, files = simulator(), {}
    start = [0.1, 0.2], [0.0, 0.0]
    carry, pieces, age = JournaledFile._carry_out, run_loop.pieces, Recorder.age

    def seen(store: JournaledFile) -> None:
        files["killed"] = store.path.read_bytes() if store.path.exists() else b""
        carry(store)

    def cut(records: int) -> Any:
        for i in range(0, records, 20):
            if i >= CUT:
                raise InterruptedError
            yield i, min(i + 20, records)

    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.h5", Path(folder) / "cut.h5"
        files["whole"] = simulates.run(*start, STEPS * 1e-2, out=whole).read_bytes()
        try:
            Recorder.age, run_loop.pieces, JournaledFile._carry_out = 0.0, cut, seen
            simulates.run(*start, STEPS * 1e-2, out=part)
        except InterruptedError:
            files["cut"] = part.read_bytes()
        finally:
            Recorder.age, run_loop.pieces, JournaledFile._carry_out = age, pieces, carry
    return simulates, files, simulates.run(*start, STEPS * 1e-2)


# ---------------------------------------------------------------- bytes


def damaged_bytes(rng: np.random.Generator, data: bytes, other: bytes) -> bytes:
    """A few changes of bytes, more often among the first ones, where HDF5's own lie."""
    new = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4, 16]))):
        if not new:
            break
        at = int(rng.integers(min(len(new), 9000) if rng.random() < 0.5 else len(new)))
        n = int(rng.choice([1, 8, 64, 512, 4096]))
        kind = rng.integers(11)
        if kind < 4:
            new[at] ^= 1 << int(rng.integers(8))
        elif kind == 4:
            new[at : at + n] = bytes(len(new[at : at + n]))
        elif kind == 5:
            new[at : at + n] = b"\xff" * len(new[at : at + n])
        elif kind == 6:
            new[at : at + n] = rng.bytes(len(new[at : at + n]))
        elif kind == 7:
            new[at : at + 8] = int(rng.choice([0, 1, at, len(new), 1 << 31, 1 << 40, 1 << 62])).to_bytes(8, "little")[: len(new) - at]
        elif kind == 8:
            new = new[:at] if rng.random() < 0.5 else new + rng.bytes(n)
        elif kind == 9:
            del new[at : at + n]
        else:
            source = int(rng.integers(max(1, len(other) - n)))
            new[at : at + n] = other[source : source + len(new[at : at + n])]
    return bytes(new)


def journalled(rng: np.random.Generator, data: bytes) -> bytes:
    """A journal with a right checksum, and whatever in it."""
    def entry(at: int, text: bytes, n: int | None = None) -> bytes:
        return ENTRY.pack(at, len(text) if n is None else n) + text

    head = Head(int(rng.integers(1 << 40)), int(rng.choice([FIRST, 600, len(data), 1 << 40])), int(rng.choice([12, 13, 40, 63, 200])))
    parts = [entry(0, head.packed())] if rng.random() < 0.8 else []
    for _ in range(int(rng.integers(4))):
        at = int(rng.choice([0, int(rng.integers(len(data))), 1 << 30, (1 << 63) - 1]))
        n = None if rng.random() < 0.7 else int(rng.choice([0, 5, 1 << 60]))
        parts.append(entry(at, rng.bytes(int(rng.choice([0, 1, 8, 100]))), n))
    text = b"".join(parts) + rng.bytes(int(rng.integers(20)) if rng.random() < 0.2 else 0)
    end = int(rng.choice([len(data), 0, head.end & (1 << 62) - 1, 1 << 33]))
    return data + text + TRAILER.pack(JOURNAL, len(data), end, zlib.crc32(text))


# ---------------------------------------------------------------- contents

JSON = ["", "{}", "[]", "null", "1", "NaN", '"x"', '{"batch": []}', '{"batch": [], "columns": {}, "checkpoint": {}}', "[" * 20_000,
        '{"a":' * 3000 + "1" + "}" * 3000, "{", '{"batch": [-1], "columns": {"t": []}, "checkpoint": {}}', "1" * 5000,
        '{"batch": ["x"], "columns": {"t": [1.5]}, "checkpoint": {}}', '{"batch": [], "columns": {"t": [], "q": 7}, "checkpoint": []}',
        '{"batch": [1e9], "columns": {"t": []}, "checkpoint": {}}']  # fmt: skip
VALUES = [None, 1, -1, 0.5, "x", [], {}, [[1], 2], 1e400, {"a": 1}, "0", True, [1, 2, 3], ["a"], 10**30, float("nan"), [{}], "[" * 3000]


def text(file: Any, name: str, value: str) -> None:
    """Write a long text of the header."""
    if name in file["header"]:
        del file[f"header/{name}"]
    data = value.encode() or b" "
    file.create_dataset(f"header/{name}", data=np.array(data)).attrs["json"] = np.False_


def header(file: Any, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the header's short values."""
    held = json.loads(file.attrs["header"])
    change(held)
    file.attrs["header"] = np.bytes_(json.dumps(held))


def changed_contents(rng: np.random.Generator, path: Path) -> None:
    """One change by h5py: of links, storage, types, shapes, texts, or numbers."""
    outside = path.with_name("outside.bin")
    outside.write_bytes(np.arange(1000.0).tobytes())
    with h5py.File(path, "r+") as file:
        name = str(rng.choice(["t", "q", "v", "tau", "vdot", "checkpoint/x", "checkpoint/steps", "header/model", "checkpoint", "header"]))
        kind = int(rng.integers(17))
        numbers = isinstance(file[name], h5py.Dataset) and file[name].dtype.kind == "f"
        shape = file[name].shape if numbers else ()
        if kind < 7:
            del file[name]
        if kind == 0:
            file[name] = [h5py.SoftLink("/t"), h5py.SoftLink(f"/{name}"), h5py.ExternalLink(str(path), "/t")][int(rng.integers(3))]
        elif kind == 1:
            file.create_dataset(name, shape or (3,), "<f8", external=[(str(outside), 0, 8 * int(np.prod(shape or (3,))))])
        elif kind == 2:
            with h5py.File(path.with_name("other.h5"), "w") as other:
                other["x"] = np.full(shape or (3,), 42.0)
            virtual = h5py.VirtualLayout(shape or (3,), "<f8")
            virtual[...] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", shape or (3,))
            file.create_virtual_dataset(name, virtual)
        elif kind == 3:
            n = int(rng.choice([0, 1, 50, 10**6, 10**9, 1 << 60]))
            file.create_dataset(name, (n, *shape[1:]), "<f8", maxshape=(None, *shape[1:]), chunks=(1000, *shape[1:]),
                                compression=rng.choice([None, "gzip"]))  # fmt: skip
        elif kind == 4:
            dtype = [">f8", "<f4", "<i8", "S8", "V60", h5py.string_dtype(), h5py.ref_dtype, h5py.vlen_dtype(float), [("a", "f8")]]
            file.create_dataset(name, shape or (3,), dtype[int(rng.integers(len(dtype)))])
        elif kind == 5:
            file.create_dataset(name, data=np.zeros([(3,), (101, 3), (), (2, 2), (0,), (101, 2, 2)][int(rng.integers(6))]))
        elif kind == 7:
            file[str(rng.choice(["more", "checkpoint/more", "header/more"]))] = np.zeros(3)
        elif kind == 8:
            file.attrs[str(rng.choice(["header", "layout", "format"]))] = np.bytes_(str(rng.choice(JSON)))
        elif kind == 9:
            value = [1, 2.5, "x", np.bytes_("engine recording 1"), np.arange(3), h5py.Empty("f"), np.True_, np.bytes_(b"\xff\xfe")]
            file.attrs[str(rng.choice(["format", "complete", "layout", "header"]))] = value[int(rng.integers(len(value)))]
        elif kind == 10:
            header(file, lambda held: held.update({str(rng.choice([*held])): VALUES[int(rng.integers(len(VALUES)))]}))
        elif kind == 11:
            header(file, lambda held: held.pop(str(rng.choice([*held]))))
        elif kind == 12:
            model = bytes(file["header/model"][()]).decode()
            text(file, "model", [str(rng.choice(JSON)), model.replace("1.0", "1e999"), model.replace("revolute", "bogus"),
                                 model.replace('"is": "Link"', '"is": "Path"'), model.replace('"upper"', '"fore"', 1),
                                 model[: len(model) // 2], model.replace('"placement"', '"placemnt"'), model.replace("null", "0"),
                                 model.replace("false", "[]"), model.replace('"base"', "null"), model.replace("0.0", "1" + "0" * 400),
                                 model.replace('"parent": "base"', '"parent": "fore"')][int(rng.integers(12))])  # fmt: skip
        elif kind == 13:
            file["checkpoint"].attrs["records"] = [0, -1, 10**9, 1.5, "x"][int(rng.integers(5))]
        elif kind == 14:
            file["checkpoint/steps"][...] = rng.choice([-5.0, np.nan, np.inf, 1e300, 0.5, 1e9, -1.0])
        elif kind == 15 and numbers:
            file[name][...] = rng.choice([np.nan, np.inf, 1e300])
        elif kind == 16:
            file[str(rng.choice(["q", "t", "v"]))].resize(int(rng.choice([0, 1, 50, 10**6, 10**12])), axis=0)


# ---------------------------------------------------------------- a case


def case(rng: np.random.Generator, folder: Path) -> str:
    simulates, files, truth = made()
    which = str(rng.choice([*files]))
    path, sealed, kind = folder / "run.h5", False, str(rng.choice(["bytes", "bytes", "bytes", "contents", "contents", "journal"]))
    if kind == "bytes":
        path.write_bytes(damaged_bytes(rng, files[which], files[str(rng.choice([*files]))]))
    elif kind == "journal":
        path.write_bytes(journalled(rng, files[which]))
    else:
        which = "cut" if which == "killed" else which
        path.write_bytes(files[which])
        try:
            changed_contents(rng, path)
        except (OSError, ValueError, TypeError, RuntimeError, KeyError, OverflowError):
            return "h5py does not do that"
        if sealed := rng.random() < 0.7:
            seal(path)
    data, ends = path.read_bytes(), []
    descriptors = len(os.listdir("/proc/self/fd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if sealed:                                      # who goes on from nonsense is told so
            warnings.simplefilter("ignore", engine.SimulationWarning)
        for attempt in (engine.load_trajectory, verify, simulates.resume):
            path.unlink()
            path.write_bytes(data)
            try:
                found = attempt(path)
                if attempt == simulates.resume:
                    found = engine.load_trajectory(found)
            except engine.EngineError as error:
                assert "expected" in str(error) and "\n" not in str(error), str(error)
                ends.append("refused")
                continue
            ends.append("loaded")
            if isinstance(found, engine.Trajectory) and not sealed:
                assert len(found) == len(truth) or attempt != simulates.resume, "fewer records"
                same(found, truth)
            elif found is not None and not sealed and attempt is verify:
                assert found.whole == (which == "whole" and not found.damage), str(found)
    assert len(os.listdir("/proc/self/fd")) == descriptors, "a descriptor is left open"
    return f"{kind}{' sealed' * sealed}: {', '.join(f'{n} {how}' for n, how in zip(('load', 'verify', 'resume'), ends, strict=True))}"


def same(found: engine.Trajectory, truth: engine.Trajectory) -> None:
    """Assert that a trajectory is a beginning of the truth, to the bit."""
    n = len(found)
    assert found.signals.keys() == truth.signals.keys()
    for x, y in [(getattr(found, n), getattr(truth, n)) for n in ("t", "q", "v", "tau", "vdot")] + [*zip_signals(found, truth)]:
        assert x.tobytes() == y[:n].tobytes(), "other numbers"


def zip_signals(a: engine.Trajectory, b: engine.Trajectory) -> list[tuple[Any, Any]]:
    return [(x, b.signals[name]) for name, x in a.signals.items()]
