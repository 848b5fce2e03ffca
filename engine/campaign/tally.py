"""Progress of a campaign while it runs: estimates, whether they are narrow enough, and what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.campaign.chunk import Outcome, looked_up
from engine.campaign.design import CampaignError
from engine.campaign.estimates import Estimate, Running
from engine.campaign.storage import Storage
from engine.checks import nearest, number, shown, warn


class Tally:
    """Estimates by the runs in order, in whatever order chunks are done: so that where a campaign stops does not depend on it.

    Attributes
    ----------
    there : the chunks whose shards are there already; they are read when it is their turn
    enough : whether the intervals of all metrics in ``stop`` have been as narrow as these ask for
    """

    def __init__(self, folder: Storage, there: set[int], stop: Mapping[str, float]) -> None:
        self.folder, self.there, self.stop, self.enough = folder, there, stop, False
        self.running = {n: Running(m["truth"]) for n, m in folder.manifest["metrics"].items() if not m["shape"]}
        self.next, self.early, self.failed, self.notes = 0, dict[int, Outcome](), 0, list[str]()
        self.first: tuple[int, str] | None = None
        self._advance()

    def add(self, outcome: Outcome) -> None:
        """Take in a chunk that is done."""
        self.failed += outcome.failed
        why = [(int(i), text) for i, text in outcome.said["why"].items()]
        self.first = min([*why, *([self.first] if self.first else [])], default=None)
        self.notes += outcome.said["notes"][: 3 - len(self.notes)]
        self.early[outcome.k] = outcome
        self._advance()

    def _advance(self) -> None:
        while not self.enough and (self.next in self.early or self.next in self.there):
            done = self.early.pop(self.next, None) or looked_up(self.folder, self.next)
            for name, metric in self.running.items():
                metric.add(done.values[name])
            self.next += 1
            found = self.estimates() if self.stop else {}
            self.enough = bool(found) and all(found[n].width <= width for n, width in self.stop.items())

    def estimates(self) -> dict[str, Estimate]:
        """Return what is known so far, by metric."""
        return {name: metric.estimate() for name, metric in self.running.items()}

    @property
    def text(self) -> str:
        """Estimates of the metrics so far, a line each, and the number of failed runs."""
        said = [f"{name}: {x}" for name, x in self.estimates().items() if x.runs]
        return "\n".join(said + ([f"{self.failed} failed"] if self.failed else []))

    def complain(self, runs: int) -> None:
        """Warn of runs that failed, and of what was noted of others."""
        if self.first:
            of = "all" if self.failed == runs else f"{self.failed} of"
            warn(f"{of} {runs} runs failed; runs.failed and runs.reason say which, and why. First {self.first[0]}: {self.first[1]}")
        for text in dict.fromkeys(self.notes):
            warn(text)


def checked_stop(stop: Any, metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return how narrow the intervals of metrics shall be."""
    if not isinstance(stop or {}, Mapping):
        raise CampaignError(f"stop is {shown(stop)}; expected how narrow an interval is enough, by metrics' names")
    for name in stop or {}:
        if name not in metrics or metrics[name]["shape"]:
            raise CampaignError(f"stop names '{name}'{nearest(str(name), metrics)}; expected a metric that is one number")
    return {name: number(f"stop['{name}']", x, "a width above zero", above=0, error=CampaignError) for name, x in (stop or {}).items()}
