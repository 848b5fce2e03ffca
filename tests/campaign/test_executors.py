"""Executors: the same files from all of them, workers killed while they work, and what is said when they are gone."""

import functools
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import engine
from engine.campaign import CampaignError, executors
from engine.campaign.folder import Folder
from tests.campaign.cases import SLOW, campaign, hashes, killed, same

processes = functools.partial(ProcessPoolExecutor, 2, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The files that this process writes."""
    folder = tmp_path_factory.mktemp("here")
    return campaign(5).run(folder), hashes(folder)


@pytest.fixture(scope="module")
def slowly(tmp_path_factory):
    """The files of a campaign that takes long enough to be disturbed."""
    folder = tmp_path_factory.mktemp("slowly")
    campaign(4, **SLOW).run(folder)
    return hashes(folder)


@pytest.fixture(scope="module")
def pool():
    """Two processes, for whoever leaves them whole."""
    with processes() as workers:
        yield workers


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as workers:
        yield workers


@pytest.mark.parametrize("executor", ["threads", "pool"])
def test_executors_write_the_same_files(here, tmp_path, executor, request):
    runs = campaign(5).run(tmp_path / "runs", request.getfixturevalue(executor))
    assert same(runs, here[0]) and hashes(tmp_path / "runs") == here[1]


def test_enough_ends_it_and_begins_no_more(tmp_path):
    with ThreadPoolExecutor(2) as workers:
        runs = campaign(5).run(tmp_path / "runs", workers, stop={"open": 0.4})
    alone = campaign(5).run(tmp_path / "alone", stop={"open": 0.4})
    assert len(alone) <= len(runs) and not [*(tmp_path / "runs").glob(".*")]   # how many were under way is the machine's affair


def shards(folder):
    """How many shards are there, to be asked again."""
    return lambda: len([*folder.glob("*.h5")])


def threads_of(payload, path, digest, caller, k):
    """What the engine uses while a chunk is run in a worker."""
    found = []
    before, executors.done = executors.done, lambda plan, folder, k: found.append(engine.get_threads())
    executors.work(payload, path, digest, caller, k)
    executors.done = before
    return found[0]


def test_a_worker_process_uses_one_thread(here, pool):
    common = executors.pickled(campaign(5).plan, False), str(here[0].folder.path), here[0].folder.digest
    assert pool.submit(threads_of, *common, executors.home(), 0).result() == 1
    assert threads_of(*common, executors.home(), 0) == engine.get_threads()


def test_what_cannot_go_to_another_process_is_said(pool, tmp_path):
    said = r"metrics\['own'\], <lambda> .* cannot be pickled; expected a function"
    with pytest.raises(CampaignError, match=said):
        campaign(5, metrics={"own": lambda trajectory: 1.0}).run(tmp_path / "runs", pool)


def test_a_script_that_spawns_without_its_guard(tmp_path):
    script = ("import concurrent.futures, multiprocessing\nfrom tests.campaign.cases import campaign\n"
              "with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as workers:\n"
              f"    campaign(30).run({str(tmp_path / 'runs')!r}, workers)\n")  # fmt: skip
    (tmp_path / "script.py").write_text(script)
    there = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    found = subprocess.run([sys.executable, tmp_path / "script.py"], env=there, capture_output=True, text=True, timeout=300, check=False)
    said = [line for line in found.stderr.splitlines() if "CampaignError: " in line]
    assert len(said) == 2 and all("under: if __name__ == '__main__'" in line for line in said) and "freeze_support" not in found.stderr


def test_an_executor_that_is_shut_down(tmp_path):
    workers = ThreadPoolExecutor(2)
    workers.shutdown()
    with pytest.raises(CampaignError, match=r"the executor takes no work \(.*\); expected one that is open; 0 of 12 chunks"):
        campaign(5).run(tmp_path / "runs", workers)


def test_a_worker_with_another_program_is_refused(here):
    other, digest = executors.pickled(campaign(5, seed=8).plan, False), here[0].folder.digest
    assert len(other) * 5 < 65536                                              # all on its way to four workers fits into a pipe
    with pytest.raises(CampaignError, match=r"a worker on .* has something else: .* seed is 8, and was 7"):
        executors.unpickled(other, str(here[0].folder.path), digest)
    with pytest.raises(CampaignError, match=r"is not there on .*; expected a folder that all workers share"):
        executors.unpickled(other, "/no/such/folder", digest)
    with pytest.raises(CampaignError, match=r"cannot be read on .*; expected the modules"):
        executors.unpickled(zlib.compress(b"cno_such_module\nf\n."), str(here[0].folder.path), digest)


def test_a_pool_whose_process_is_killed_says_so_and_resumes(slowly, tmp_path):
    with processes() as workers:
        workers.submit(os.getpid).result()
        pid = next(iter(workers._processes))
        thread = killed(shards(tmp_path / "runs"), pid)
        with pytest.raises(CampaignError, match=r"a worker has ended .*; [2-9] of 15 chunks are whole in .*, and running it again goes on"):
            campaign(4, **SLOW).run(tmp_path / "runs", workers)
        thread.join()
    assert campaign(4, **SLOW).run(tmp_path / "runs").complete and hashes(tmp_path / "runs") == slowly


# ---------------------------------------------------------------- Dask


@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_while_it_works(here, slowly, tmp_path, quiet):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, distributed.Client(cluster) as client:
        assert same(campaign(5).run(tmp_path / "a", client), here[0]) and hashes(tmp_path / "a") == here[1]
        pid = next(iter(client.run(os.getpid).values()))
        thread = killed(shards(tmp_path / "b"), pid)
        runs = campaign(4, **SLOW).run(tmp_path / "b", client)
        thread.join()
        assert runs.complete and hashes(tmp_path / "b") == slowly and pid not in client.run(os.getpid).values()
        factor = 2.0
        assert campaign(5, metrics={"own": lambda trajectory: factor}).run(tmp_path / "c", client)("own")[0] == 2.0    # travels as code
        with pytest.raises(CampaignError, match=r"a worker on .* has something else"):
            found = executors.outcomes(client, campaign(5, seed=8).plan, Folder(tmp_path / "a"), [0])
            next(found)
    with pytest.raises(CampaignError, match="the Dask client is closed; expected one that is connected"):
        campaign(5).run(tmp_path / "a", client)


@pytest.mark.filterwarnings("ignore:.*(Event|asyncio|unclosed)")
def test_a_dask_cluster_without_workers_is_waited_for_and_told(here, tmp_path, quiet, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "PATIENCE", 0.3)
    cluster = distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, distributed.Client(cluster) as client:
        threading.Timer(1.5, cluster.scale, (1,)).start()
        with pytest.warns(engine.SimulationWarning, match=r"at tcp://127\S+ has no workers, and \d chunks wait for some") as told:
            assert same(campaign(5).run(tmp_path / "a", client), here[0]) and hashes(tmp_path / "a") == here[1]
        assert sum("has no workers" in str(w.message) for w in told) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_dask_scheduler_that_goes_away(slowly, tmp_path, quiet):
    distributed = pytest.importorskip("distributed")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
    scheduler = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    address = next(found[1] for line in scheduler.stderr if (found := re.search(r"(tcp://127\S+)", line)))
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with distributed.Client(address) as client:
            client.wait_for_workers(1)
            thread = killed(shards(tmp_path / "runs"), scheduler.pid)
            said = r"the Dask cluster at tcp://127\S+ has gone, .*; [2-9] of 15 chunks are whole"
            with pytest.raises(CampaignError, match=said) as error:
                campaign(4, **SLOW).run(tmp_path / "runs", client)
            thread.join()
        assert "\n" not in str(error.value)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        scheduler.stderr.close()
    assert campaign(4, **SLOW).run(tmp_path / "runs").complete and hashes(tmp_path / "runs") == slowly
