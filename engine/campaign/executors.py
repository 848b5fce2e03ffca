"""Executors of chunks: this process, one of concurrent.futures, or a client of dask.distributed. Workers may die at any moment.

A worker gets the plan as bytes, once for each chunk, makes it once, and checks against the folder's manifest that it is the same: another
version of the engine, or another program, is refused where it would have run. Before each chunk is put there the manifest is looked at
again, by its digest; and where the process that started workers is gone, they end.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import itertools
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from engine.campaign.chunk import Outcome, done
from engine.campaign.design import CampaignError
from engine.campaign.plan import Plan
from engine.campaign.storage import Storage
from engine.campaign.target import storage_of
from engine.checks import EngineError, shown, warn
from engine.compiler import get_threads, set_threads
from engine.components.component import SimulationWarning
from engine.simulation.rollouts import TURN

#: chunks a worker that are handed out at a time, so that none waits and memory stays what it is
AHEAD = 2
#: times that Dask tries a chunk again
RETRIES = 3
#: s without a chunk that is done, after which a cluster is asked for its workers
PATIENCE = 30.0
#: s from one look at whether the parent is there to the next
LOOK = 0.5
GUARD = "the script's own work under: if __name__ == '__main__'"
TOKEN = os.urandom(16)


def home() -> tuple[bytes, int]:
    """Return what this process is known by."""
    return TOKEN, os.getpid()


def is_dask(executor: Any) -> bool:
    """Return whether it is a client of dask.distributed, which is not imported for that."""
    return type(executor).__module__.split(".")[0] == "distributed" and hasattr(executor, "nthreads")


def workers_of(executor: Any) -> int:
    """Return how many chunks run at a time."""
    if executor is None:
        return 1
    if is_dask(executor):
        if executor.status != "running":
            raise CampaignError(f"the Dask client is {executor.status}; expected one that is connected")
        return max(1, sum(executor.nthreads().values()))
    if not isinstance(executor, concurrent.futures.Executor):
        raise CampaignError(f"executor is {shown(executor)}; expected None, an executor of concurrent.futures or a dask.distributed.Client")
    if isinstance(executor, concurrent.futures.ProcessPoolExecutor) and getattr(multiprocessing.current_process(), "_inheriting", False):
        raise CampaignError(f"the campaign is run again by a process that it has started, which reads the script anew; expected {GUARD}")
    return int(getattr(executor, "_max_workers", 0) or os.cpu_count() or 1)


def outcomes(executor: Any, plan: Plan, folder: Storage, chunks: Iterable[int]) -> Generator[Outcome, None, None]:
    """Yield the chunks' outcomes as they are done; what was not begun when the caller has enough is not begun any more."""
    if executor is None:
        yield from (done(plan, folder, k) for k in chunks)
        return
    payload = pickled(plan, is_dask(executor))
    most = AHEAD * workers_of(executor)
    if is_dask(executor):
        yield from by_dask(executor, (payload, str(folder.path), folder.digest, home()), iter(chunks), most)
        return

    def submit(k: int) -> Any:
        try:
            return executor.submit(work, payload, str(folder.path), folder.digest, home(), k)
        except concurrent.futures.BrokenExecutor:
            raise
        except RuntimeError as error:
            raise CampaignError(f"the executor takes no work ({error}); expected one that is open") from None

    yield from by_futures(submit, iter(chunks), most)


def pickled(plan: Plan, by_value: bool) -> bytes:
    """Return a plan's bytes; with ``by_value`` functions that no module has travel as code (cloudpickle comes with Dask).

    They are compressed: a pool of processes of Python before 3.11.5 waits for ever where a worker dies while more than a pipe holds
    (64 kB) is on its way.
    """
    try:
        if by_value:
            import cloudpickle

            return zlib.compress(cloudpickle.dumps(plan), 1)
        return zlib.compress(pickle.dumps(plan), 1)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise CampaignError(f"the campaign cannot go to another process: {error}") from None


# ---------------------------------------------------------------- in a worker


def work(payload: bytes, path: str, digest: str, caller: tuple[bytes, int], k: int) -> Outcome:
    """Run a chunk in a worker; in a process of its own on its own threads alone, and only as long as the caller is there."""
    if caller != home():
        end_with(caller[1])
    plan, folder = unpickled(payload, path, digest)
    if caller == home():
        return done(plan, folder, k)
    with TURN, threads(own_threads()):
        return done(plan, folder, k)


@functools.lru_cache(maxsize=2)
def unpickled(payload: bytes, path: str, digest: str) -> tuple[Plan, Storage]:
    """Return the plan and the folder, checked to belong together, the folder also by its manifest's digest."""
    try:
        plan = pickle.loads(zlib.decompress(payload))
    except EngineError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise CampaignError(f"the campaign cannot be read on {socket.gethostname()} ({what}); expected the modules of its functions there, "
                            "and the same engine") from None  # fmt: skip
    folder = storage_of(path)
    if not folder.manifest:
        raise CampaignError(f"'{path}' is not there on {socket.gethostname()}; expected a folder that all workers share")
    try:
        folder.require(plan.words)
    except CampaignError as error:
        raise CampaignError(f"a worker on {socket.gethostname()} has something else: {error}") from None
    if folder.digest != digest:
        raise CampaignError(f"'{path}' was begun by another campaign while this one ran, as a worker on {socket.gethostname()} sees it; "
                            f"expected a {folder.kind} of its own")  # fmt: skip
    return plan, folder


@functools.cache
def end_with(pid: int) -> None:
    """Have this process end soon after the process that started it, where that is the caller.

    Workers of a pool whose process was killed would wait for ever, and go on with what was handed out.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == pid:
        threading.Thread(target=exit_with_parent, args=(parent, os.getppid()), daemon=True).start()


def exit_with_parent(parent: Any, above: int) -> None:
    """Wait until the parent process has ended, then exit. Its pipe tells, or, if forked siblings hold the pipe too, a new parent does."""
    while parent.is_alive() and os.getppid() == above:
        parent.join(LOOK)
    os._exit(1)


def own_threads() -> int:
    """Return how many threads a worker has been given: one, or those of a Dask worker, whose chunks take turns."""
    if "distributed" in sys.modules:
        from distributed import get_worker

        with contextlib.suppress(ValueError):
            return max(1, int(get_worker().state.nthreads))
    return 1


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Let batches use so many threads within."""
    before = get_threads()
    set_threads(n)
    try:
        yield
    finally:
        set_threads(before)


# ---------------------------------------------------------------- from here


def by_futures(submit: Callable[[int], Any], chunks: Iterator[int], most: int) -> Iterator[Outcome]:
    """Yield outcomes of an executor of concurrent.futures, with so many chunks handed out at a time."""
    waiting: set[Any] = set()
    try:
        waiting = {submit(k) for k in itertools.islice(chunks, most)}
        while waiting:
            finished, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            waiting |= {submit(k) for k in itertools.islice(chunks, len(finished))}
            for future in finished:
                yield future.result()
    except concurrent.futures.BrokenExecutor as error:
        raise CampaignError(f"a worker has ended before its chunk was done ({' '.join(str(error).split())}); expected workers that last, "
                            f"or a dask.distributed.Client, which replaces them; of processes that are spawned also "
                            f"{GUARD}") from None  # fmt: skip
    finally:
        for future in waiting:
            future.cancel()
        concurrent.futures.wait(waiting)


def by_dask(client: Any, common: tuple[bytes, str, str, tuple[bytes, int]], chunks: Iterator[int], most: int) -> Iterator[Outcome]:
    """Yield outcomes of a Dask cluster, with so many chunks handed out at a time."""
    import distributed

    def submit(k: int) -> Any:
        return client.submit(work, *common, k, pure=False, retries=RETRIES, key=f"chunk-{os.urandom(8).hex()}-{k}")

    wait: Any = distributed.wait
    futures: list[Any] = []
    told = False
    try:
        futures = [submit(k) for k in itertools.islice(chunks, most)]
        while futures:
            try:
                finished = [*wait(futures, timeout=PATIENCE, return_when="FIRST_COMPLETED").done]
            except distributed.TimeoutError:
                idle, told = told, not client.nthreads()
                if told and not idle:
                    warn(f"the Dask cluster at {client.scheduler.address} has no workers, and {len(futures)} chunks wait for some; "
                         "expected that some come (after Ctrl-C, running it again goes on from what is whole)", SimulationWarning)
                continue
            for future in finished:
                outcome = future.result()
                futures.remove(future)
                futures += [submit(k) for k in itertools.islice(chunks, 1)]
                yield outcome
    except EngineError:
        raise
    except Exception as error:
        lost = type(error).__name__
        raise CampaignError(f"the Dask cluster at {client.scheduler.address if client.scheduler else 'nowhere'} has gone, or its workers "
                            f"({lost}: {' '.join(str(error).split())[:200]}); expected a scheduler that answers") from None  # fmt: skip
    finally:
        if futures and client.status == "running":
            with contextlib.suppress(Exception):
                client.cancel(futures)
