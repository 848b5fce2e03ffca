"""Folders: files whose bytes say nothing of who wrote them, damage that is noticed, disks that fill."""

import contextlib
import json
import os
import resource
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import engine
from engine.campaign import load_campaign, shard
from engine.campaign.folder import Folder
from tests.campaign.cases import campaign, hashes
from tests.campaign.forged import forged


@pytest.fixture
def runs(tmp_path):
    campaign(20).run(tmp_path)
    return tmp_path


def test_bytes_do_not_depend_on_time(runs, tmp_path_factory):
    time.sleep(1.1)                                                            # HDF5's times are in seconds
    other = tmp_path_factory.mktemp("other")
    campaign(20).run(other)
    assert hashes(other) == hashes(runs) and (other / "campaign.json").read_bytes() == (runs / "campaign.json").read_bytes()


def test_plain_h5py_reads_a_shard(runs):
    with h5py.File(runs / "shard-000001.h5") as file:
        assert np.array_equal(file["metrics/swing"][:], load_campaign(runs)("swing")[20:40])
        assert np.array_equal(file["drawn/mass.hull"][:], campaign().plan.scatter.values(20, 20)["mass.hull"])
        assert file["kept/q"].shape == (20, 11, 8) and json.loads(file["said"][:].tobytes()) == {"notes": [], "why": {}}


@pytest.mark.parametrize("damage, text", [
    (lambda data: data[:-1], "is cut short"),
    (lambda data: data[:3000], "is cut short (3000 of"),
    (lambda data: data[:20], "is no shard, or damaged in its first bytes"),
    (lambda data: b"", "is no shard"),
    (lambda data: data + b"!", "has bytes behind its end"),
    (lambda data: b"x" * 512 + data[512:], "is no shard"),
    (lambda data: data[:2000] + bytes([data[2000] ^ 1]) + data[2001:], "its bytes are not as their checksum says"),
    (lambda data: data[:512].replace(b'"first": 20', b'"first": 40') + data[512:], "is of runs 40 … 59, not 20 … 39"),
])  # fmt: skip
def test_a_damaged_shard_is_named_refused_and_made_anew(runs, damage, text):
    before, path = hashes(runs), runs / "shard-000001.h5"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(engine.StorageError) as error:
        load_campaign(runs)("swing")
    assert text in str(error.value) and "shard-000001.h5" in str(error.value) and "is made anew" in str(error.value)
    opened = None
    with contextlib.suppress(engine.StorageError):                             # some are seen at once
        opened = load_campaign(runs)
    assert opened is None or str(error.value) in repr(opened)
    with pytest.warns(engine.EngineWarning, match=r"^1 of 3 chunks in .* are made anew: .*shard-000001\.h5' (is|its|has) ") as told:
        campaign().run(runs)
    assert text in str(told[0].message)
    assert hashes(runs) == before


def test_a_shard_cut_short_is_refused_when_the_folder_is_opened(runs):
    os.truncate(runs / "shard-000002.h5", 3000)
    with pytest.raises(engine.StorageError, match=r"shard-000002\.h5' is cut short"):
        load_campaign(runs)


def test_a_manifest_that_is_none(runs):
    (runs / "campaign.json").write_text('{"format": 1}')
    for act in (lambda: load_campaign(runs), lambda: campaign(20).run(runs)):
        with pytest.raises(engine.StorageError, match="is no manifest of a campaign"):
            act()


@contextlib.contextmanager
def disk_of(size):
    """A disk on which no file is larger: what the system says of it is what it says of a full one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills(runs):
    before = hashes(runs)
    (runs / "shard-000001.h5").unlink()
    (runs / "shard-000002.h5").unlink()
    with disk_of(6000), pytest.raises(engine.StorageError) as error:
        campaign().run(runs)
    assert str(error.value) == (f"'{runs}/shard-000001.h5' cannot be written (File too large); expected a place with room for it; 1 of 3 "
                                f"chunks are whole in '{runs}', and running it again goes on from there")  # fmt: skip
    assert {*os.listdir(runs)} == {"campaign.json", "shard-000000.h5"} and len(load_campaign(runs)("swing")) == 20
    campaign().run(runs)
    assert hashes(runs) == before


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(engine.StorageError):
        campaign(20).run(tmp_path / "file")
    with pytest.raises(engine.StorageError):
        campaign(20).run(tmp_path / "file" / "runs")


def test_shards_of_other_campaigns_do_not_fit(runs):
    folder = Folder(runs)
    assert folder.numbered(["shard-000000.h5", "shard-0000001.h5", "shard-000007.h5", "notes/shard-000000.h5"]) == [0]
    assert folder.fault(0) == "" and folder.fault(7) is None and shard.head_of(b"[]") is None
    (runs / "shard-000000.h5").rename(runs / "shard-000001.h5")
    assert "is of runs 0 … 19, not 20 … 39" in folder.fault(1)


# ---------------------------------------------------------------- shards of an attacker, with right checksums


def external(file):
    outside = Path(file.filename).with_name("outside.bin")
    outside.write_bytes(np.full(20, 42.0).tobytes())
    file.create_dataset("metrics/swing", (20,), "<f8", external=[(str(outside), 0, 160)])


def virtual(file):
    with h5py.File(Path(file.filename).with_name("other.h5"), "w") as other:
        other["x"] = np.full(20, 42.0)
    layout = h5py.VirtualLayout((20,), "<f8")
    layout[...] = h5py.VirtualSource(str(Path(file.filename).with_name("other.h5")), "x", (20,))
    file.create_virtual_dataset("metrics/swing", layout)


def linked(file):
    file["metrics/swing"] = h5py.ExternalLink(str(Path(file.filename).with_name("shard-000000.h5")), "/metrics/swing")


def group_linked(file):
    file.move("metrics", "others")
    file["metrics"] = h5py.SoftLink("/others")


@pytest.mark.parametrize("change, text", [
    (external, "holds 'swing' in other files, or filtered; expected numbers of its own"),
    (virtual, "holds 'swing' in other files, or filtered"),
    (linked, "holds 'swing' as a link; expected data of its own"),
    (group_linked, "holds 'metrics' as a link"),
    (lambda file: file.update({"metrics/swing": h5py.SoftLink("/metrics/mean")}), "holds 'swing' as a link"),
    (lambda file: file.create_dataset("metrics/swing", data=np.zeros(20), compression="gzip"), "in other files, or filtered"),
    (lambda file: file.create_dataset("metrics/swing", data=np.zeros(19)), "holds 'metrics/swing' as (19,) of float64; expected it as the"),
    (lambda file: file.create_dataset("metrics/swing", data=np.zeros(20, "<f4")), "holds 'metrics/swing' as (20,) of float32"),
    (lambda file: file.create_dataset("metrics/swing", (20,), h5py.string_dtype()), "holds 'metrics/swing' as (20,) of object"),
    (lambda file: None, "cannot be read ("),
])  # fmt: skip
def test_a_forged_shard_is_refused_as_a_recording_is(runs, change, text):
    def changed(file):
        del file["metrics/swing"]
        change(file)

    forged(runs / "shard-000001.h5", changed)
    with pytest.raises(engine.StorageError) as error:
        load_campaign(runs)("swing")
    assert text in str(error.value) and "shard-000001.h5" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("said, text", [
    (b"{", "says nothing of its runs, or of others; expected it whole"), (b"[]", "says nothing of its runs"),
    (b'{"why": {"7": "it fell"}, "notes": []}', "or of others"), (b'{"why": {"x": ""}, "notes": []}', "or of others"),
    (b'{"why": {}, "notes": [3]}', "says nothing of its runs"), (b"[" * 20_000, "says nothing of its runs"),
    (None, "holds 'said' as (1000000000,) of uint8"),
])  # fmt: skip
def test_a_shard_that_says_something_else_is_refused(runs, said, text):
    def changed(file):
        del file["said"]
        if said is None:
            file.create_dataset("said", (10**9,), "u1", chunks=(1000,))
        else:
            file["said"] = np.frombuffer(said, np.uint8)

    forged(runs / "shard-000001.h5", changed)
    with pytest.raises(engine.StorageError) as error:
        load_campaign(runs).failed  # noqa: B018
    assert text in str(error.value) and "shard-000001.h5" in str(error.value)
