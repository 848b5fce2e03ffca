"""``python -m tests.fuzz NAME --cases N``: seeded cases in bounded processes of their own, and counts of how they ended."""

from __future__ import annotations

import argparse
import collections
import importlib
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import numpy as np

from tests.fuzz import NAMES

#: s that a case may take, where its fuzzer does not say SECONDS of its own, and bytes that its process may have
SECONDS, MEMORY = 10.0, 6 << 30
#: s for a process to begin
BEGIN = 60.0


def tried(name: str, seed: int, k: int) -> str:
    """Run case k, and return how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        return str(importlib.import_module(f"tests.fuzz.{name}").case(np.random.default_rng([seed, k]), Path(folder)))


def work(name: str, seed: int, first: int, step: int, end: int) -> None:
    """Run cases first, first + step, … in this process, and say where it is, a line each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = sys.stdout
    sys.stdout = sys.stderr
    for k in range(first, end, step):
        print("begin", k, file=out, flush=True)
        try:
            how = tried(name, seed, k)
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            how = f"FAILED {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})".replace("\n", " ")[:400]
        print("end", how, file=out, flush=True)


class Job:
    """A process that works through every ``step``-th case, started again after the one that it crashed or hung in."""

    def __init__(self, name: str, seed: int, first: int, step: int, end: int) -> None:
        self.name, self.seed, self.next, self.step, self.end = name, seed, first, step, end
        self.counts: collections.Counter[str] = collections.Counter()
        self.failures: list[tuple[int, str]] = []
        self.slowest = 0.0, -1
        self.seconds: float = getattr(importlib.import_module(f"tests.fuzz.{name}"), "SECONDS", SECONDS)

    def run(self) -> None:
        """Work until all cases are done."""
        while self.next < self.end:
            args = ["--work", str(self.next), str(self.step), str(self.end), "--seed", str(self.seed)]
            process = subprocess.Popen([sys.executable, "-m", "tests.fuzz", self.name, *args], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)  # fmt: skip
            lines: queue.SimpleQueue[str] = queue.SimpleQueue()
            threading.Thread(target=self._read, args=(process, lines), daemon=True).start()
            self._follow(process, lines)
            process.kill()
            process.wait()

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        for line in process.stdout or ():
            lines.put(line.rstrip("\n"))
        lines.put("")

    def _follow(self, process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        began, patience = time.perf_counter(), BEGIN
        while self.next < self.end:
            try:
                what, _, rest = lines.get(timeout=patience).partition(" ")
            except queue.Empty:
                self._ended(f"FAILED HANG of more than {self.seconds:g} s")
                return
            if not what:
                self._ended(f"FAILED CRASH: the process ended with {process.wait()}")
                return
            if what == "begin":
                began, patience = time.perf_counter(), self.seconds
            elif what == "end":
                self.slowest = max(self.slowest, (time.perf_counter() - began, self.next))
                self._ended(rest)

    def _ended(self, how: str) -> None:
        if how.startswith("FAILED"):
            self.failures.append((self.next, how))
        self.counts["FAILED" if how.startswith("FAILED") else how] += 1
        self.next += self.step


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--case", type=int, help="run this one alone, in this process")
    parser.add_argument("--work", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.name, given.seed, *given.work)
        return 0
    if given.case is not None:
        print(tried(given.name, given.seed, given.case))
        return 0
    began = time.perf_counter()
    jobs = [Job(given.name, given.seed, k, given.jobs, given.cases) for k in range(given.jobs)]
    threads = [threading.Thread(target=job.run) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures = sorted(f for job in jobs for f in job.failures)
    for k, how in failures:
        print(f"case {k}: {how}")
    counts = sum((job.counts for job in jobs), collections.Counter())
    seconds, slowest = max(job.slowest for job in jobs)
    said = ", ".join(f"{n} {how}" for how, n in counts.most_common())
    print(f"{given.name}, seed {given.seed}: {given.cases} cases in {time.perf_counter() - began:.0f} s: {said}; "
          f"the slowest, {slowest}, took {seconds:.2g} s")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
