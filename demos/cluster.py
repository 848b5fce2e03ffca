"""The captures of demos/monte_carlo.py on a cluster, of which a worker is killed while it works.

    python demos/cluster.py                          # 10 000 rollouts on two processes of this machine
    python demos/cluster.py --workers 4 --rollouts 500
    python demos/cluster.py --video scatter.mp4      # or --view, in a window: the first twelve, together

Dask's LocalCluster stands for any cluster: a distributed.Client of another runs it as well, if its workers share the folder. One worker is
killed (kill -9) as soon as the first chunk is there; the others do its work, and the files are those of demos/monte_carlo.py, to the bit.
Takes the extra "cluster": pip install ".[cluster]".
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path

import monte_carlo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    monte_carlo.add_options(parser)
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args()
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        sys.exit("error: this takes Dask's distributed, which is not installed; expected it: pip install \".[cluster]\"")

    campaign, motion = monte_carlo.captures(options)
    folder = options.out / f"cluster_{options.rollouts}"
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, Client(cluster) as client:
        pid = next(iter(client.run(os.getpid).values()))
        threading.Thread(target=kill, args=(pid, folder), daemon=True).start()
        begun = time.perf_counter()
        runs = campaign.run(folder, client, progress=sys.stdout.isatty())
        monte_carlo.report(options, runs, time.perf_counter() - begun)
    monte_carlo.look(options, campaign, motion)


def kill(pid: int, folder: Path) -> None:
    """Kill a process as soon as there is a first shard."""
    while not any(folder.glob("*.h5")):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    print(f"killed worker {pid}")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
