"""Campaigns: what a chunk takes beyond its kernel, how fast a folder of a million runs opens, memory, and workers that are killed."""

from __future__ import annotations

import hashlib
import os
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from engine import Campaign
    from tests.bench.__main__ import Table

#: runs of a chunk of about a second, on one thread
CHUNK = 3800
#: chunks that are timed, both sides in turn
ROUNDS = 9
KILLS = 20


def far(trajectory: Any) -> Any:
    return np.abs(trajectory.q[:, -1, 4:7]).max(axis=1)


far.batched = True  # type: ignore[attr-defined]


def alone(trajectory: Any) -> float:
    return float(np.abs(trajectory.q[-1, 4:7]).max())


def free_flyer(runs: int, record_every: int, metrics: dict[str, Any], chunk: int = CHUNK, duration: float = 30.0) -> Campaign:
    """The servicer of the examples moves its arm to a posture, its masses and beginnings scattered; 600 steps a run."""
    from scipy import stats

    import engine
    from engine.components.controllers import computed_torque, minimum_jerk

    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    goal = model.neutral()
    goal[7:] = 0.3
    controller = computed_torque(model, minimum_jerk(model, model.neutral(), goal, 25.0), bandwidth=0.5)
    simulator = engine.Simulator(model, dt=0.05, integrator="rkmk4", gravity=(0, 0, 0), joint_dynamics=False, controller=controller,
                                 parameters={"mass.bus": 500.0})  # fmt: skip
    scatter = {"mass.bus": stats.norm(500.0, 25.0), "v0.floating_base.w": stats.norm(0.0, 1e-3), "attitude.floating_base": "uniform"}
    return engine.Campaign(simulator, model.neutral(), np.zeros(model.nv), duration, runs, 0, scatter, metrics=metrics, chunk=chunk,
                           record_every=record_every)  # fmt: skip


def overhead(table: Table, what: str, record_every: int, metrics: dict[str, Any], target: float | None = None, chunk: int = CHUNK) -> None:
    """What a chunk takes on one thread besides its kernel, whose calls are timed within: both in the same second on the same machine."""
    from engine.campaign.chunk import done
    from engine.campaign.folder import Folder

    plan = (made := free_flyer(chunk, record_every, metrics, chunk)).plan
    process, inside = plan.simulator._process, [0.0]
    kernel = process._records

    def timed(*given: Any) -> Any:
        begun = time.perf_counter()
        found = kernel(*given)
        inside[0] += time.perf_counter() - begun
        return found

    pairs = []
    with tempfile.TemporaryDirectory() as place:
        made.run(place)
        folder = Folder(place)
        process._records = timed  # type: ignore[method-assign]
        for _ in range(ROUNDS):
            begun, inside[0] = time.perf_counter(), 0.0
            done(plan, folder, 0)
            pairs.append((inside[0], time.perf_counter() - begun))
    more = 100 * statistics.median(whole / bare - 1 for bare, whole in pairs)
    bare, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    table.add("campaigns", what, more, "% over the kernel", f"<= {target}" if target else "", more <= target if target else None,
              kernel_s=bare, chunk_s=whole)  # fmt: skip


def stones(runs: int, chunk: int) -> Campaign:
    """Stones thrown for two steps: runs that take no time."""
    from scipy import stats

    import engine

    stone = engine.Builder("stone")
    stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    simulator = engine.Simulator(stone.model(floating_base=True), dt=0.1)
    return engine.Campaign(simulator, [1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 0.2, runs, 0, {"v0.floating_base.vz": stats.norm(10.0, 1.0)},
                           metrics={"high": "max q.floating_base.z", "up": "final q.floating_base.z > 2"}, chunk=chunk)  # fmt: skip


def resident() -> float:
    """Memory of this process, MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def million(table: Table) -> None:
    """A million runs: how much memory grows while they run, and how fast their folder opens."""
    import engine

    with tempfile.TemporaryDirectory() as place:
        made, seen = stones(1_000_000, 1000), []
        watching = threading.Event()

        def watch() -> None:
            while not watching.wait(0.2):
                seen.append((len(os.listdir(place)), resident()))

        thread = threading.Thread(target=watch)
        thread.start()
        begun = time.perf_counter()
        made.run(place)
        seconds = time.perf_counter() - begun
        watching.set()
        thread.join()
        early = max(m for n, m in seen if n <= 200)
        late = max(m for n, m in seen if n > 200)
        table.add("campaigns", "memory, runs 200 000 … 1 000 000 over the first", late - early, "MiB", "<= 10", late - early <= 10,
                  first_MiB=early, seconds=seconds)  # fmt: skip
        begun = time.perf_counter()
        runs = engine.load_campaign(place)
        opened = time.perf_counter() - begun
        table.add("campaigns", "load_campaign of a million runs", opened, "s", "<= 1", opened <= 1)
        begun = time.perf_counter()
        dataset = runs.dataset
        table.add("campaigns", "its dataset, xarray's import included", time.perf_counter() - begun, "s")
        begun = time.perf_counter()
        dataset["high"].mean()
        table.add("campaigns", "a metric's mean, read from all shards", time.perf_counter() - begun, "s")


def killed(table: Table) -> None:
    """Workers of a Dask cluster killed while they work: how often the files are the same."""
    from distributed import Client, LocalCluster

    made = free_flyer(120, 600, {"far": far}, chunk=4)

    def digest(place: Path) -> str:
        return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(place.glob("*.h5")))).hexdigest()

    with tempfile.TemporaryDirectory() as place:
        made.run(Path(place) / "alone")
        want, same = digest(Path(place) / "alone"), 0
        cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        with cluster, Client(cluster) as client:
            for k in range(KILLS):
                cluster.scale(0)                                               # a worker that is killed while it begins is not replaced
                cluster.scale(3)
                client.wait_for_workers(3)
                folder, pids = Path(place) / str(k), [*client.run(os.getpid).values()]

                def kill(folder: Path = folder, pid: int = pids[k % len(pids)], after: int = 1 + k) -> None:
                    while len([*folder.glob("*.h5")]) < after:
                        time.sleep(0.002)
                    os.kill(pid, signal.SIGKILL)

                thread = threading.Thread(target=kill)
                thread.start()
                made.run(folder, client)
                thread.join()
                same += digest(folder) == want
    table.add("campaigns", f"same files after {KILLS} times kill -9", same, "times", f"= {KILLS}", same == KILLS)


def scaling(table: Table) -> None:
    """Two processes against one, of Dask and of this machine itself: how often its kernel runs in two threads at once."""
    from distributed import Client, LocalCluster

    import engine
    from engine.campaign.chunk import computed

    made, seconds = free_flyer(16 * CHUNK, 600, {"far": far}), {}
    with tempfile.TemporaryDirectory() as place:
        for workers in (1, 2):
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
            with cluster, Client(cluster) as client:
                made.run(Path(place) / f"{workers} first", client)             # what is compiled and imported
                times = []
                for k in range(2):
                    begun = time.perf_counter()
                    made.run(Path(place) / f"{workers} {k}", client)
                    times.append(time.perf_counter() - begun)
                seconds[workers] = min(times)
        digests = {hashlib.sha256(b"".join(p.read_bytes() for p in sorted(f.glob("*.h5")))).hexdigest() for f in Path(place).iterdir()}
    table.add("campaigns", "two worker processes over one", seconds[1] / seconds[2], "x", ">= 1.9", seconds[1] >= 1.9 * seconds[2],
              one_s=seconds[1], two_s=seconds[2], different_files=len(digests) - 1)  # fmt: skip
    kernel = {}
    for n in (1, 2):
        engine.set_threads(n)
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            computed(made.plan, 0, CHUNK, {"far": ()})
            times.append(time.perf_counter() - begun)
        kernel[n] = min(times)
    engine.set_threads(1)
    table.add("campaigns", "its chunk in two threads over one", kernel[1] / kernel[2], "x", one_s=kernel[1], two_s=kernel[2])


def campaigns(table: Table) -> None:
    """Chunks against their kernels, a million runs, and workers killed."""
    import engine

    engine.set_threads(1)
    overhead(table, "a chunk of 1 s, a metric of the end", 600, {"far": far}, 2.0)
    overhead(table, "the same, by a function of each run", 600, {"far": alone})
    reductions = {"peak": "max |tau.elbow_pitch|", "sum": "integral |v.elbow_pitch|", "end": "final q.elbow_pitch > 0.2"}
    overhead(table, "three reductions, every tenth state", 10, reductions, chunk=1000)         # of about 64 MiB of records
    overhead(table, "three reductions, every state", 1, reductions, chunk=128)
    million(table)
    killed(table)
    scaling(table)
