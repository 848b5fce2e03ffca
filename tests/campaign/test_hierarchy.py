"""Campaigns as hierarchies of Zarr: in directories, and in a store that speaks S3; killed, damaged, misspelt, and gone."""

import contextlib
import gzip
import hashlib
import json
import logging
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.campaign import CampaignError, load_campaign, places
from engine.campaign.hierarchy import checksum, require_names
from engine.campaign.target import storage_of
from tests.campaign.cases import METRICS, SLOW, campaign, killed, same
from tests.cli.commands import ROBOT, SCATTER, run
from tests.cli.test_campaign import OWN

KEPT = {"columns": ["q", "v"], "rate": 5.0, "runs": range(3, 60, 7)}
EXPECTED = "expected a bucket that is there, a server that answers, and credentials for it in the environment"


@pytest.fixture(scope="module")
def server():
    """A server that speaks S3, with a bucket "runs"; what it is asked is not printed."""
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("obstore")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    begun = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    begun.start()
    url = "http://{}:{}".format(*begun.get_host_and_port())
    with pytest.MonkeyPatch.context() as patch:
        for name, x in {"ENDPOINT_URL": url, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", x)
        asked(f"{url}/runs", "PUT")
        yield url
    begun.stop()


def asked(url, method, data=None):
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "text/plain"}, method=method)):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The runs, as HDF5 has them."""
    return campaign(20).run(tmp_path_factory.mktemp("folder"))


@pytest.fixture
def runs(tmp_path):
    campaign(20).run(tmp_path / "runs.zarr")
    return tmp_path / "runs.zarr"


@pytest.fixture(params=["directory", "s3"])
def target(request, tmp_path):
    """Where to: a directory, or a store."""
    if request.param == "directory":
        return str(tmp_path / "a.zarr")
    request.getfixturevalue("server")
    return f"s3://runs/{tmp_path.name}"


def objects(target):
    """The SHA-256 of every object, by name."""
    place = storage_of(target).place
    return {name: hashlib.sha256(place.get(name)).hexdigest() for name, _ in place.listed()}


# ---------------------------------------------------------------- what is there


def test_the_numbers_are_those_of_a_folder(folder, target):
    runs = campaign(20).run(target)
    assert same(runs, folder) and same(load_campaign(target), folder) and runs.complete and str(runs.folder.path) == target
    assert runs.dataset.equals(folder.dataset) and runs.estimates() == folder.estimates()
    assert np.array_equal(load_campaign(target).rerun(33, campaign()).q[::5], folder("q")[33])


@pytest.mark.parametrize("keep", [None, "q", KEPT, {**KEPT, "runs": 17}, {**KEPT, "runs": range(0, 60, 5)}, {**KEPT, "runs": [1, 2, 59]}])
@pytest.mark.parametrize("chunk", [7, 20, 100])
def test_any_chunks_and_whatever_is_kept_are_the_same_bits(tmp_path, keep, chunk):
    runs, others = (campaign(chunk, keep=keep).run(tmp_path / name) for name in ("a.zarr", "b"))
    assert same(runs, others) and runs.dataset.equals(others.dataset)
    sums = [json.loads(path.read_text())["objects"] for path in (tmp_path / "a.zarr").glob("failed/chunk-*.json")]
    assert len({name for x in sums for name in x}) == sum(map(len, sums))      # no object is of two chunks


def test_failures_have_their_reasons(tmp_path):
    scatter = {"pull": [0.0, 1.0, 0.5]}
    given = {"scatter": scatter, "design": "grid", "runs": None, "keep": None}
    with pytest.warns(engine.EngineWarning, match="1 of 3 runs failed"):
        runs = campaign(2, **given).run(tmp_path / "a.zarr")
    with pytest.warns(engine.EngineWarning, match="1 of 3 runs failed"):
        assert same(runs, campaign(2, **given).run(tmp_path / "b"))
    assert runs.failed.tolist() == [False, True, False] and "1 of 3 runs" not in runs.reason[1] and runs.reason[0] == ""


def test_whoever_writes_it_writes_the_same_bytes(server, runs):
    with ThreadPoolExecutor(3) as threads:
        campaign(20).run("s3://runs/threads", threads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        campaign(20).run("s3://runs/processes", processes)
    assert objects(runs) == objects("s3://runs/threads") == objects("s3://runs/processes")


def test_a_copy_of_a_store_and_a_file_url_open(runs, folder, tmp_path):
    shutil.copytree(runs, tmp_path / "copy")
    assert same(load_campaign(tmp_path / "copy"), folder) and same(load_campaign(f"file://{runs}"), folder)


def test_memory_is_a_store(folder):
    pytest.importorskip("obstore")
    assert same(campaign(20).run("memory://a/b"), folder) and same(load_campaign("memory://a/b"), folder)


def test_xarray_opens_it_without_the_engine(tmp_path):
    pytest.importorskip("zarr")
    runs = campaign(7, keep=KEPT).run(tmp_path / "a.zarr")
    swings = runs("swing")
    for name in ("swing", "failed"):
        (tmp_path / "a.zarr" / name / "c" / "2").unlink()                      # runs 14 … 20 are not there
    code = (f"import sys, json, xarray; d = xarray.open_zarr({str(tmp_path / 'a.zarr')!r}, chunks=None); "
            "assert 'engine' not in sys.modules; of = [d[n].values.tolist() for n in ('swing', 'q', 't', 'run_kept', 'failed')]; "
            "print(json.dumps([*of, d.apart.dims, d.attrs['seed']]))")  # fmt: skip
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    swing, q, t, kept, failed, dims, seed = json.loads(done.stdout)
    assert np.isnan(swing[14:21]).all() and np.array_equal(np.delete(swing, range(14, 21)), np.delete(swings, range(14, 21)))
    assert np.array_equal(q, runs("q")) and t == runs.t.tolist() and kept == [*range(3, 60, 7)] and not done.stderr
    assert failed == [14 <= i < 21 for i in range(60)] and dims == ["run", "apart_0"] and seed == 7


def test_zarr_opens_it_from_the_store(server, folder):
    zarr, obstore = pytest.importorskip("zarr"), pytest.importorskip("obstore")
    campaign(20).run("s3://runs/opened")
    store = zarr.storage.ObjectStore(obstore.store.from_url("s3://runs/opened", client_options={"allow_http": True}), read_only=True)
    for group in (zarr.open_group(store, mode="r"), zarr.open_group(store, mode="r", use_consolidated=False)):
        assert {*METRICS, "failed", "q", "t", "mass.hull"} <= {*group.array_keys()} and group["apart"].chunks == (20, 3)
        assert np.array_equal(group["apart"][:], folder("apart")) and group["swing"].metadata.dimension_names == ("run",)


# ---------------------------------------------------------------- going on


def test_what_is_missing_is_run_and_nothing_else(target, folder):
    campaign(20).run(target)
    before, place = objects(target), storage_of(target).place
    deleted(place, [name for name in before if name.endswith(("/c/1", "/c/1/0", "/c/1/0/0", "failed/chunk-000001.json"))])
    half = load_campaign(target)
    assert len(half) == 40 and not half.complete and np.array_equal(half("swing"), folder("swing")[half.numbers])
    place.put("swing/c/2", b"what a worker that was killed has begun")
    deleted(place, ["failed/chunk-000002.json"])
    assert len(load_campaign(target)) == 20
    assert campaign().run(target).complete and objects(target) == before


def deleted(place, names):
    for name in names:
        if isinstance(place, places.Disk):
            (place.path / name).unlink()
        else:
            place.store.delete(name)


def test_a_worker_killed_while_it_writes_to_a_store(server, tmp_path):
    """What it has begun is written anew when the campaign goes on; Dask's, which goes on by itself, is in test_executors."""
    campaign(4, **SLOW).run(tmp_path / "slowly.zarr")
    place = places.Objects("s3://runs/killed")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
        pid = workers.submit(os.getpid).result()
        thread = killed(lambda: sum("chunk-" in name for name, _ in place.listed()), pid)
        with pytest.raises(CampaignError, match=r"a worker has ended .*; [2-9] of 15 chunks are whole in .*, and running it again goes on"):
            campaign(4, **SLOW).run("s3://runs/killed", workers)
        thread.join()
    assert campaign(4, **SLOW).run("s3://runs/killed").complete
    assert objects("s3://runs/killed") == objects(tmp_path / "slowly.zarr")


def test_enough_ends_it(server):
    runs = campaign(5).run("s3://runs/enough", stop={"open": 0.4})
    assert 0 < len(runs) < 60 and len(campaign(5).run("s3://runs/enough", stop={"open": 0.4})) == len(runs)


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("name, damage, text", [
    ("swing/c/1", lambda data: data[:-1], "swing/c/1' is cut short (182 of 183 bytes)"),
    ("swing/c/1", lambda data: data + b"!", "swing/c/1' has bytes behind its end"),
    ("apart/c/1/0", lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], "apart/c/1/0' is damaged: its bytes are not as their"),
    ("swing/c/1", None, "swing/c/1' is missing"),
    ("failed/chunk-000001.json", lambda data: data[:-9], "failed/chunk-000001.json' says nothing of a chunk, or is damaged"),
    ("failed/chunk-000001.json", lambda data: b"[]", "says nothing of a chunk, or is damaged"),
    ("failed/chunk-000001.json", lambda data: data.replace(b'"first": 20', b'"first": 40'), "says nothing of a chunk, or is damaged"),
])  # fmt: skip
def test_a_damaged_object_is_named_refused_and_made_anew(tmp_path, name, damage, text):
    refused_and_made_anew(str(tmp_path / "a.zarr"), name, damage, text)


def test_a_damaged_object_of_a_store_is_too(server):
    refused_and_made_anew("s3://runs/damaged", "swing/c/1", lambda data: data[:-1], "is cut short")
    refused_and_made_anew("s3://runs/damaged", "swing/c/1", lambda data: data[:-1] + b"!", "is damaged: its bytes", "swing")
    refused_and_made_anew("s3://runs/damaged", "apart/c/1/0", None, "is missing")


def refused_and_made_anew(target, name, damage, text, read="apart"):
    campaign(20).run(target)
    before, place = objects(target), storage_of(target).place
    place.put(name, damage(place.get(name))) if damage else deleted(place, [name])
    with pytest.raises(engine.StorageError) as error:
        load_campaign(target)(read)
    assert text in str(error.value) and f"'{target}/{name}'" in str(error.value) and str(error.value).endswith("and it is made anew")
    with pytest.warns(engine.EngineWarning, match=rf"1 of 3 chunks in .* are made anew: '{target}/{name}' "):
        campaign().run(target)
    assert objects(target) == before


@pytest.mark.parametrize("change, text", [
    (lambda sums, said: sums.update({"../../outside": [3, 4]}), "says something else than a campaign does of a chunk"),
    (lambda sums, said: sums.pop("swing/c/1"), "says something else"),
    (lambda sums, said: sums.update({"swing/c/1": 3}), "says something else"),
    (lambda sums, said: said.update(why={"59": "not its own"}), "says something else"),
])  # fmt: skip
def test_a_forged_mark_is_refused(runs, change, text):
    path = runs / "failed/chunk-000001.json"
    mark = {n: x for n, x in json.loads(path.read_text()).items() if n != "crc32"}
    change(mark["objects"], mark["said"])
    path.write_text(json.dumps({**mark, "crc32": checksum(mark)}))
    with pytest.raises(engine.StorageError, match=rf"chunk-000001\.json' {text}"):
        load_campaign(runs)


@pytest.mark.parametrize("size", [160, 0, 168, 5 * 10**7])
def test_an_object_that_holds_something_else_is_refused_before_it_fills_memory(runs, size):
    path, data = runs / "failed/chunk-000001.json", gzip.compress(bytes(size), 1)
    mark = {n: x for n, x in json.loads(path.read_text()).items() if n != "crc32"}
    mark["objects"]["swing/c/1"] = [len(data), zlib.crc32(bytes(size))]
    path.write_text(json.dumps({**mark, "crc32": checksum(mark)}))
    (runs / "swing/c/1").write_bytes(data)
    if size == 160:
        assert not load_campaign(runs)("swing")[20:40].any()
        return
    with pytest.raises(engine.StorageError, match=r"swing/c/1' is damaged: its bytes are not as their checksum says; expected it whole"):
        load_campaign(runs)("swing")


@pytest.mark.parametrize("name", ["swing/c/0", "mean/c/1"])
def test_an_object_in_anothers_place_is_refused(runs, name):
    """Of the same size, whole, and of other runs or another metric."""
    shutil.copy(runs / name, runs / "swing/c/1")
    with pytest.raises(engine.StorageError, match=r"swing/c/1' is damaged: its bytes are not as their checksum says; expected it whole"):
        load_campaign(runs)("swing")
    with pytest.warns(engine.EngineWarning, match=r"swing/c/1' is damaged"):
        assert np.array_equal(campaign().run(runs)("swing"), campaign(20).run(runs.parent / "b")("swing"))


def test_a_chunk_in_anothers_place_is_refused(runs):
    (runs / "failed/chunk-000000.json").rename(runs / "failed/chunk-000001.json")
    with pytest.raises(engine.StorageError, match=r"chunk-000001\.json' is of runs 0 … 19, not 20 … 39"):
        load_campaign(runs)


def test_an_object_that_goes_while_it_is_read(runs):
    loaded = load_campaign(runs)
    (runs / "swing/c/2").unlink()
    with pytest.raises(engine.StorageError, match="swing/c/2' is missing"):
        loaded("swing")


# ---------------------------------------------------------------- what is refused


def test_another_campaign_and_what_is_none_are_refused(target):
    campaign(20, seed=8).run(target)
    with pytest.raises(CampaignError, match=r"is of another campaign: seed is 7, and was 8; expected .* or another Zarr hierarchy"):
        campaign(20).run(target)
    place, other = storage_of(target).place, target.replace("a.zarr", "other.zarr")
    other = other if other != target else f"{target}-other"
    type(place)(other).put("data/c/0", b"mine")
    with pytest.raises(engine.StorageError, match="is there, and is no campaign's Zarr hierarchy; expected a new one"):
        campaign(20).run(other)
    with pytest.raises(engine.StorageError, match="is no Zarr hierarchy of a campaign"):
        load_campaign(other)
    type(place)(other).put("zarr.json", b'{"node_type": "group", "attributes": {"mine": 1}}')
    with pytest.raises(engine.StorageError, match="is no Zarr hierarchy of a campaign"):
        load_campaign(other)
    for text in (b"{", b"[]", b'{"attributes": {"campaign": "{}"}}'):
        type(place)(other).put("zarr.json", text)
        with pytest.raises(engine.StorageError, match=r"zarr\.json' (describes no group|is no manifest)"):
            load_campaign(other)


def test_what_a_beginning_that_was_killed_has_left_is_in_nobodys_way(runs):
    before = objects(runs)
    for path in [runs / "zarr.json", *runs.glob("*/c"), *runs.glob("failed/*.json")]:
        if path != runs / "t" / "c":
            (shutil.rmtree if path.is_dir() else os.unlink)(path)
    campaign(20).run(runs)
    assert objects(runs) == before


@pytest.mark.parametrize("name", ["..", "__run", "zarr.json", "a\nb", "x" * 250])
def test_names_that_zarr_has_not(tmp_path, name):
    with pytest.raises(engine.StorageError, match=r"Zarr has no arrays of the name '.*; expected another name"):
        campaign(20, metrics={name: "final q.elbow"}).run(tmp_path / "a.zarr")


def test_two_of_one_name_are_refused():
    with pytest.raises(engine.StorageError, match=r"two of what is scattered, measured, .* are named 'pull', and Zarr has one"):
        require_names(["pull", "q", "pull"])
    with pytest.raises(CampaignError, match="a metric is named 'run_kept'"):
        campaign(metrics={"run_kept": "final q.elbow"})


def test_urls_that_are_none(tmp_path, monkeypatch):
    pytest.importorskip("obstore")
    for url, text in (("s4://runs/a", "'s4://runs/a' is of no kind that is known; expected a path, or a URL with s3://"),
                      (Path("s3://runs/a"), "'s3:/runs/a' was a URL, which a pathlib.Path is not any more; expected a text, 's3://…'"),
                      ("s3://", "cannot be opened")):  # fmt: skip
        with pytest.raises(engine.StorageError) as error:
            campaign(20).run(url)
        assert text in str(error.value)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(engine.StorageError, match=r"needs obstore, which is not installed; expected pip install .*\[cloud\]"):
        load_campaign("s3://runs/a")
    assert campaign(20).run(tmp_path / "a.zarr").complete


# ---------------------------------------------------------------- what cannot be reached


@pytest.mark.parametrize("changed, text", [
    ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, r"http://127\.0\.0\.1:9 does not answer within 4 s, asked again for up to 10 s"),
    ({"AWS_SECRET_ACCESS_KEY": None}, "Missing SecretAccessKey"),
    ({}, "The specified bucket does not exist"),
])  # fmt: skip
def test_a_store_that_cannot_be_reached_is_one_sentence_soon(server, monkeypatch, changed, text):
    for name, x in changed.items():
        monkeypatch.setenv(name, x) if x else monkeypatch.delenv(name)
    begun = time.perf_counter()
    for act in (load_campaign, campaign(20).run):
        with pytest.raises(engine.StorageError, match=rf"'s3://rums/a.*\({text}\); {EXPECTED}$") as error:
            act("s3://rums/a")
        assert "\n" not in str(error.value)
    assert time.perf_counter() - begun < 15.0


def test_credentials_that_are_wrong(server):
    asked(f"{server}/moto-api/reset-auth", "POST", b"0")
    try:
        with pytest.raises(engine.StorageError, match=rf"'s3://runs/a.*The AWS Access Key Id .* does not exist.*; {EXPECTED}"):
            load_campaign("s3://runs/a")
    finally:
        asked(f"{server}/moto-api/reset-auth", "POST", b"inf")


def test_a_server_that_stops_half_way(server, monkeypatch, folder):
    monkeypatch.setattr(places, "LATER", (2, 1.0, 1.0))
    other = sys.modules["moto.server"].ThreadedMotoServer("127.0.0.1", 0, verbose=False)     # with the same objects: the process's
    other.start()
    put, done = places.Objects.put, []

    def stopping(self, name, data, *sure):
        done.append(name)
        if len(done) == 30:
            other.stop()
        put(self, name, data, *sure)

    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*other.get_host_and_port()))
        patch.setattr(places.Objects, "put", stopping)
        with pytest.raises(engine.StorageError) as error:
            campaign(20).run("s3://runs/stops")
    assert "cannot be written (http://127.0.0.1:" in str(error.value) and "within 1 s, asked again for up to 1 s)" in str(error.value)
    assert str(error.value).endswith("; running it again goes on from what is whole there") and "\n" not in str(error.value)
    assert 0 < len(load_campaign("s3://runs/stops")) < 60
    assert same(campaign().run("s3://runs/stops"), folder)


class Stalls:
    """A server that takes requests, and does not answer the first few of them."""

    def __init__(self, stalled):
        self.stalled, self.asked, self.held, self.socket = stalled, 0, [], socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                self.held.append(self.socket.accept()[0])
                threading.Thread(target=self.answer, args=(self.held[-1],), daemon=True).start()

    def answer(self, client):
        with contextlib.suppress(OSError):
            while client.recv(1 << 16):
                self.asked += 1
                if self.asked > self.stalled:
                    client.sendall(b"HTTP/1.1 200 OK\r\n" + b"\r\n".join([
                        b"Content-Length: 3", b'ETag: "x"', b"Last-Modified: Tue, 24 Nov 2026 12:00:00 GMT", b"", b"abc"]))  # fmt: skip


@pytest.fixture
def stalls(monkeypatch):
    """Such a server, the store behind it, and a patience that tests have."""
    pytest.importorskip("obstore")
    server = Stalls(0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.socket.getsockname()[1]}")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION"):
        monkeypatch.setenv(f"AWS_{name}", "us-east-1")
    assert all(2 * answer < seconds for _, seconds, answer in (places.FIRST, places.LATER))
    monkeypatch.setattr(places, "FIRST", (5, 1.0, 0.3))
    monkeypatch.setattr(places, "LATER", (5, 1.0, 0.3))
    yield server, places.Objects("s3://runs/stalls")
    for s in (server.socket, *server.held):
        s.close()


@pytest.mark.parametrize("ask, found", [(lambda x: x.get("a"), b"abc"), (lambda x: x.put("a", b"abc"), None)])
def test_a_request_that_stalls_is_made_again(stalls, ask, found):
    server, store = stalls
    for k in range(2):                                                         # the first of all, and one of a server that has answered
        server.stalled = server.asked + 1
        assert ask(store) == found and server.asked == 2 * (k + 1)


def test_a_server_that_answers_no_more_is_one_sentence_soon(stalls):
    server, store = stalls
    server.stalled, begun = 10**9, time.perf_counter()
    said = rf"stalls/a' cannot be written \(http://127\.0\.0\.1:\d+ does not answer within 0\.3 s, asked again for up to 1 s\); {EXPECTED}$"
    with pytest.raises(engine.StorageError, match=said):
        store.put("a", b"abc")
    assert time.perf_counter() - begun < 10.0 and server.asked > 1


def test_a_process_that_was_forked_is_told_to_be_spawned(server):
    places.started_in()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as workers, pytest.raises(engine.StorageError) as error:
        workers.submit(load_campaign, "s3://runs/a").result(timeout=60)
    assert "was opened before this process was forked; expected processes that are spawned" in str(error.value)


def test_on_the_command_line(server, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in (("robot.urdf", ROBOT), ("own.py", OWN), ("scatter.toml", SCATTER)):
        Path(name).write_text(text)
    assert run("campaign", "scatter.toml", "--out", "s3://runs/commanded") == 0
    assert capsys.readouterr().out.startswith("s3://runs/commanded: 40 of 40 runs of 'arm', 0 failed\n")
    assert len(load_campaign("s3://runs/commanded")) == 40
    assert run("campaign", "scatter.toml", "--out", "s3://rums/commanded") == 1
    assert capsys.readouterr().err.count("\n") == 1
