"""Whose the runs are: digests of manifests and chunks, workers whose campaign is gone, chunks of others, and manifests that were edited."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import engine
from engine.campaign import CampaignError, executors, load_campaign
from engine.campaign.chunk import done
from engine.campaign.folder import Folder
from engine.campaign.manifest import digest_of, text_of
from engine.campaign.target import storage_of
from tests.campaign.cases import RUNS, SLOW, campaign, hashes, same
from tests.campaign.forged import unsigned

ANOTHER = "is of another campaign; expected it whole: run the campaign there again, and it is made anew"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A campaign in three chunks, in both ways: their folders."""
    folder = tmp_path_factory.mktemp("own")
    return {name: campaign(20).run(folder / name).folder.path for name in ("runs", "runs.zarr")}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """The same of another seed."""
    folder = tmp_path_factory.mktemp("others")
    return {name: campaign(20, seed=8).run(folder / name).folder.path for name in ("runs", "runs.zarr")}


@pytest.fixture(params=["runs", "runs.zarr"])
def runs(own, request, tmp_path):
    """A copy of it."""
    return shutil.copytree(own[request.param], tmp_path / request.param)


def files(folder):
    """Every file's bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest(folder):
    """The file that holds a campaign's manifest, its text, and how to put another there."""
    path = folder / ("zarr.json" if folder.suffix else "campaign.json")
    text = path.read_text()
    if not folder.suffix:
        return text, path.write_text
    group = json.loads(text)

    def put(new):
        path.write_text(json.dumps({**group, "attributes": {**group["attributes"], "campaign": new}}))

    return group["attributes"]["campaign"], put


# ---------------------------------------------------------------- chunks of others


def test_a_chunk_of_another_seed_is_refused_and_made_anew(runs, own, others):
    for path in files(others[runs.name]):
        if "000001" in path.name or "/c/1" in str(path):
            shutil.copy(others[runs.name] / path, runs / path)
    for act in (lambda: load_campaign(runs), lambda: load_campaign(runs)("swing")):
        with pytest.raises(engine.StorageError, match=rf"000001\.\w+' {ANOTHER}$"):
            act()
    with pytest.warns(engine.EngineWarning, match=r"^1 of 3 chunks in .* are made anew: '.*000001\.\w+' is of another campaign; expected"):
        assert campaign().run(runs).complete
    assert files(runs) == files(own[runs.name])


def test_a_chunk_that_is_put_there_while_it_is_read(runs, others):
    loaded = load_campaign(runs)
    assert len(loaded("swing")) == RUNS
    for path in files(others[runs.name]):
        if "000001" in path.name or "/c/1" in str(path):
            shutil.copy(others[runs.name] / path, runs / path)
    with pytest.raises(engine.StorageError, match=r"is of another campaign|is damaged: its bytes are not as their checksum says"):
        loaded("mean")


def test_a_chunk_that_does_not_say_whose_it_is(runs):
    unsigned(runs, chunks=[1], manifest=False)
    with pytest.raises(engine.StorageError, match=r"000001\.\w+' does not say of which campaign it is; expected it whole"):
        load_campaign(runs)


def test_other_chunks_of_the_same_runs_are_of_another_manifest(tmp_path):
    a, b = (campaign(chunk).run(tmp_path / str(chunk)).folder for chunk in (20, 30))
    assert a.manifest["campaign"] == b.manifest["campaign"] and a.digest != b.digest


# ---------------------------------------------------------------- workers of another


def test_a_worker_whose_folder_is_anothers_by_now_writes_nothing(runs):
    made = campaign(20)
    folder, before = storage_of(runs), files(runs)
    payload, common = executors.pickled(made.plan, False), (str(runs), folder.digest, executors.home())
    assert executors.work(payload, *common, 1).k == 1 and files(runs) == before              # the same bytes
    shutil.rmtree(runs)
    campaign(20, seed=8).run(runs)
    after = files(runs)
    for act in (lambda: executors.work(payload, *common, 1), lambda: done(made.plan, folder, 1)):
        with pytest.raises(CampaignError, match=r"was begun by another campaign while this one ran; expected a .* of its own"):
            act()
    shutil.rmtree(runs)
    campaign(30).run(runs)                                                     # the same words, in other chunks
    executors.unpickled.cache_clear()
    with pytest.raises(CampaignError, match=r"was begun by another campaign while this one ran, as a worker on .* sees it"):
        executors.work(payload, *common, 1)
    assert files(runs) != after
    shutil.rmtree(runs)
    with pytest.raises(CampaignError, match="was deleted while this one ran"):
        done(made.plan, folder, 1)
    assert not runs.exists()


def test_a_folder_that_becomes_anothers_while_a_chunk_is_written(runs, monkeypatch):
    """The last look is between the bytes and their name."""
    folder, write, after = storage_of(runs), Path.write_bytes, {}

    def slowly(self, data):
        if not after:
            after[self] = b""
            shutil.rmtree(runs)
            campaign(20, seed=8).run(runs)
            after.update(files(runs))
            self.parent.mkdir(exist_ok=True)
        write(self, data)

    monkeypatch.setattr(Path, "write_bytes", slowly)
    with pytest.raises(CampaignError, match="was begun by another campaign"):
        done(campaign(20).plan, folder, 1)
    assert files(runs) == {path: data for path, data in after.items() if data}


def test_two_that_begin_at_the_same_moment(tmp_path, monkeypatch):
    begin, other = Folder._begin, campaign(20, seed=8)

    def both(self, text):
        begin(self, text)
        monkeypatch.setattr(Folder, "_begin", begin)
        shutil.rmtree(self.path)
        other.run(self.path)

    monkeypatch.setattr(Folder, "_begin", both)
    with pytest.raises(CampaignError, match="was begun by another campaign while this one ran"):
        campaign(20).run(tmp_path / "runs")
    assert load_campaign(tmp_path / "runs").dataset.attrs["seed"] == 8


@pytest.mark.parametrize("then", ["another", "deleted", "edited"])
def test_who_lost_its_place_is_not_told_that_running_again_goes_on(tmp_path, monkeypatch, then):
    runs, write = tmp_path / "runs", Folder._write

    def losing(self, k, arrays, said):
        monkeypatch.setattr(Folder, "_write", write)
        text = (runs / "campaign.json").read_text()
        shutil.rmtree(runs)
        if then == "another":
            campaign(20, seed=8).run(runs)
        elif then == "edited":
            runs.mkdir()
            (runs / "campaign.json").write_text(text.replace('"seed": 7', '"seed": 8'))
        write(self, k, arrays, said)

    monkeypatch.setattr(Folder, "_write", losing)
    with pytest.raises((CampaignError, engine.StorageError)) as error:
        campaign(20).run(runs)
    assert "running it again" not in str(error.value) and str(error.value).endswith(
        {"edited": CHANGED}.get(then, "while this one ran; expected a folder of its own")
    )


SCRIPT = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from tests.campaign.cases import SLOW, campaign
if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as workers:
        campaign(2, seed=8, **SLOW).run(sys.argv[2], workers)
"""


def below(pid):
    """The processes that a process has started, as Linux lists them."""
    return [int(x) for path in Path(f"/proc/{pid}/task").glob("*/children") for x in path.read_text().split()]


def running(pid):
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def soon(true, seconds=20.0):
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def orphaned(folder, script, method):
    """Begin a campaign in processes, kill who began it while they work, delete the folder, and return the orphans."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, script, method, folder], env=environment, stderr=subprocess.DEVNULL)
    assert soon(lambda: len([*folder.glob("*.h5")]) >= 2, 60.0)
    left = below(parent.pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert soon(lambda: shutil.rmtree(folder, ignore_errors=True) or not folder.exists())
    return left


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize("method", ["spawn"])
def test_orphans_of_a_campaign_that_was_killed_end_and_leave_the_next_alone(tmp_path, method):
    (tmp_path / "script.py").write_text(SCRIPT)
    left = orphaned(tmp_path / "runs", tmp_path / "script.py", method)
    assert len(left) >= 2
    runs = campaign(4, **SLOW).run(tmp_path / "runs")
    assert runs.complete and same(load_campaign(tmp_path / "runs"), runs)
    assert hashes(tmp_path / "runs") == hashes(campaign(4, **SLOW).run(tmp_path / "alone").folder.place.path)
    assert soon(lambda: not any(map(running, left)))


def test_a_parent_that_is_gone_is_noticed_by_its_pipe_or_by_who_is_above(monkeypatch):
    ends = []
    monkeypatch.setattr(os, "_exit", ends.append)

    class Parent:
        pid, looks = 7, 2

        def is_alive(self):
            self.looks -= 1
            return self.looks > 0

        def join(self, seconds):
            pass

    executors.exit_with_parent(Parent(), os.getppid())
    executors.exit_with_parent(type("Forked", (Parent,), {"looks": 10**9})(), 1 + os.getppid())
    assert ends == [1, 1] and multiprocessing.parent_process() is None


# ---------------------------------------------------------------- manifests


CHANGED = "is damaged, or was changed by another hand: what it says is not as its digest says; expected the text that the campaign wrote"


@pytest.mark.parametrize("old, new", [
    (f'"runs": {RUNS}', '"runs": 30'), (f'"runs": {RUNS}', '"runs": 600'), (f'"runs": {RUNS}', '"runs": 1e18'),
    ('"truth": true', '"truth": false'), ('"seed": 7', '"seed": 8'), ('"seed": 7', '"seed": 7.0'), ('"chunk": 20', '"chunk": 10'),
    ('"runs"', '"Runs"'), ('"drawn"', '"drown"'), ('"campaign"', '"campaigm"'), ('"max |v.elbow|"', '"min |v.elbow|"'),
    ('"metrics": {', '"metrics": {}, "more": {'),
])  # fmt: skip
def test_an_edited_manifest_is_refused(runs, old, new):
    text, put = manifest(runs)
    assert old in text
    put(text.replace(old, new, 1))
    for act in (lambda: load_campaign(runs), lambda: campaign().run(runs)):
        with pytest.raises(engine.StorageError) as error:
            act()
        assert str(error.value).endswith(f"json' {CHANGED}")


def test_an_edited_manifest_with_a_digest_of_its_own_has_no_chunks(runs):
    text, put = manifest(runs)
    put(text_of({**json.loads(text), "chunk": 20, "metrics": {}}))
    with pytest.raises(engine.StorageError, match=ANOTHER):
        load_campaign(runs)
    put(json.dumps({n: x for n, x in json.loads(text).items() if n != "digest"}))
    with pytest.raises(engine.StorageError, match=CHANGED):                    # of this format none is without
        load_campaign(runs)
    put(json.dumps({**{n: x for n, x in json.loads(text).items() if n != "digest"}, "format": 1}))
    with pytest.warns(engine.EngineWarning, match="has no digest"), pytest.raises(engine.StorageError, match=ANOTHER):
        load_campaign(runs)


def nested(x, path, value):
    """A copy of nested dictionaries in which one value is another, or gone."""
    found = dict(x)
    if len(path) > 1:
        found[path[0]] = nested(x[path[0]], path[1:], value)
    elif value is None:
        del found[path[0]]
    else:
        found[path[0]] = value
    return found


@pytest.mark.parametrize("path, value", [
    ("runs", 2.5), ("runs", True), ("chunk", 0), ("metrics", []), ("metrics.swing.truth", 1), ("metrics.swing.shape", [-1]),
    ("drawn", None), ("metrics", {"../../x": {"shape": [], "truth": False}}), ("campaign.keep.every", 0),
    ("campaign.keep.runs", {"first": 0, "step": 1, "count": 61}), ("campaign.keep.runs", [3, 2]), ("campaign.keep.columns", {"q": 8}),
    ("campaign.dt", 0.0), ("campaign.dt", 1e-300), ("campaign.dt", "x"), ("campaign.scatter", None),
    ("campaign.duration", 1e18), ("campaign.duration", 1e7), ("campaign.record_every", None), ("campaign.model_name", 3),
    ("campaign.runs", 61), ("campaign", [[]]),
])  # fmt: skip
def test_a_forged_manifest_is_none(own, tmp_path, path, value):
    runs = shutil.copytree(own["runs"], tmp_path / "runs")
    text, put = manifest(runs)
    put(text_of(nested(json.loads(text), path.split("."), value)))
    with pytest.raises(engine.StorageError, match=r"campaign\.json' is no manifest of a campaign, or damaged; expected the text"):
        load_campaign(runs)


def test_another_format_is_named(runs):
    text, put = manifest(runs)
    put(text_of({**json.loads(text), "format": 3}))
    with pytest.raises(engine.StorageError, match=r"has the format 3; expected 2, which this version of the engine reads"):
        load_campaign(runs)


def test_more_runs_than_there_can_be_are_not_looked_for(runs):
    """Chunks are those that lie there: nobody counts up to how many there were to be."""
    text, put = manifest(runs)
    told = nested(json.loads(text), ["campaign", "runs"], 2**52)
    put(text_of({**told, "runs": 2**52}))
    with pytest.raises(engine.StorageError, match=r"is of another campaign|than fit into memory"):
        load_campaign(runs)


def test_the_digest_is_of_all_but_itself():
    a = {"runs": 3, "x": {"y": [1.5, "é", None]}}
    assert digest_of(a) == digest_of({**a, "digest": "3"}) == digest_of(json.loads(json.dumps(a)))
    found = json.loads(text_of(a))
    assert found["digest"] == digest_of(found) != digest_of({**found, "x": 0})
    assert digest_of({"a": 1, "b": 2}) != digest_of({"b": 2, "a": 1})


@pytest.mark.parametrize("design", ["sobol", "grid", "random"])
def test_the_order_of_what_is_scattered_counts_where_it_is_drawn_in_order(tmp_path, design):
    scatter = {"pull": stats.uniform(0.0, 0.3), "q0.elbow": stats.uniform(-0.5, 1.0)}
    scatter = {n: x.ppf([0.1, 0.9]) for n, x in scatter.items()} if design == "grid" else scatter
    given = {"runs": None if design == "grid" else 4, "design": design, "keep": None, "metrics": {"end": "final q.elbow"}}
    runs = campaign(2, scatter=scatter, **given).run(tmp_path)
    turned = campaign(2, scatter=dict(reversed(scatter.items())), **given)
    if design == "random":
        (tmp_path / "shard-000001.h5").unlink()
        assert np.array_equal(turned.run(tmp_path)("pull"), runs("pull"))
        return
    with pytest.raises(CampaignError, match=r"is of another campaign: the order of scatter is q0\.elbow, pull, and was pull, q0\.elbow"):
        turned.run(tmp_path)


# ---------------------------------------------------------------- of an earlier version


def test_a_campaign_without_digests_opens_and_goes_on_with_a_warning(runs, own):
    unsigned(runs, chunks=[0, 1, 2])
    said = r"json' is of an earlier version, and has no digest: whether it was changed since, and whether the chunks .* cannot be checked"
    with pytest.warns(engine.EngineWarning, match=said):
        before = load_campaign(runs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", engine.EngineWarning)
        assert same(before, load_campaign(own[runs.name]))
        (runs / ("failed/chunk-000001.json" if runs.suffix else "shard-000001.h5")).unlink()
    with pytest.warns(engine.EngineWarning, match=said) as told:
        after = campaign().run(runs)
    assert len(told) == 1 and after.complete and same(after, before)
