"""Folders: files whose bytes say nothing of who wrote them, damage that is noticed, disks that fill."""

import contextlib
import json
import os
import resource
import time

import h5py
import numpy as np
import pytest

import engine
from engine.campaign import load_campaign, shard
from engine.campaign.folder import Folder
from tests.campaign.cases import campaign, hashes


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
    with pytest.warns(engine.EngineWarning, match=r"^1 of 3 chunks in .* are not as this campaign .*shard-000001\.h5' (is|its|has) ") as told:
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
    assert folder.numbered(["shard-000000.h5", "shard-000007.h5", "notes/shard-000000.h5"]) == [0]
    assert folder.fault(0) == "" and folder.fault(7) is None and shard.head_of(b"[]") is None
    (runs / "shard-000000.h5").rename(runs / "shard-000001.h5")
    assert "is of runs 0 … 19, not 20 … 39" in folder.fault(1)
