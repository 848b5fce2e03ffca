"""A chunk: draw what some runs begin with, run them as one batch, take their metrics, and put the shard there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.campaign.design import CampaignError
from engine.campaign.metrics import Values
from engine.campaign.plan import Plan
from engine.campaign.storage import Storage, inside
from engine.checks import shown
from engine.simulation import Trajectory
from engine.simulation.rollouts import rollouts

Array = np.ndarray


class Chunk(NamedTuple):
    """Results of the runs from ``first`` on: arrays as the shard has them, why some failed, by run, and what is noted of them.

    ``good`` are the rows of the trajectory that did not fail, by run.
    """

    first: int
    arrays: dict[str, Array]
    why: dict[int, str]
    notes: list[str]
    values: dict[str, Values]
    trajectory: Trajectory | None
    good: dict[int, int]


class Outcome(NamedTuple):
    """Summary of a chunk that is done: its number, its runs, the metrics that are one number, how many failed, and what is said."""

    k: int
    runs: int
    values: dict[str, Array]
    failed: int
    said: dict[str, Any]


def computed(plan: Plan, first: int, count: int, shapes: Mapping[str, tuple[int, ...]]) -> Chunk:
    """Run a chunk; a metric whose shape is not among those known takes the first that it has."""
    start = plan.scatter.start(first, count)
    trajectory, rows, why, notes = rollouts(plan.simulator, start.q0, start.v0, plan.duration, plan.record_every, start.parameters)
    arrays = {f"drawn/{inside(name)}": x for name, x in start.drawn.items()}
    said = {first + k: text for k, text in why.items()}
    good = {first + row: k for k, row in enumerate(rows) if row not in why}
    values = {}
    for m in plan.metrics:
        shape = shapes.get(m.name)
        found = Values(np.zeros((0, *(shape or ()))), {}, False)
        if trajectory is not None:
            found = m.values(trajectory, np.array([k not in why for k in rows]), shape)
        whole = np.full((count, *found.array.shape[1:]), np.nan)
        whole[rows] = found.array
        values[m.name] = Values(whole, {first + rows[k]: text for k, text in found.why.items()}, found.truth)
        arrays[f"metrics/{m.name}"] = whole
        for k, text in values[m.name].why.items():
            said[k] = f"{said[k]}; {text}" if k in said else text
    numbers = plan.keep.rows(first, count)
    if plan.keep.shapes:
        arrays |= keep_columns(plan, trajectory, rows, numbers - first) | {"kept_runs": numbers}
    named = [re.sub(r"in rollout \[(\d+)\]", lambda found: f"in run {first + rows[int(found[1])]}", text) for text in notes]
    return Chunk(first, arrays, dict(sorted(said.items())), named, values, trajectory, good)


def keep_columns(plan: Plan, trajectory: Any, rows: list[int], wanted: Array) -> dict[str, Array]:
    """Return what is kept (n, T, *shape) of the wanted ones of a chunk's runs, whose ``rows`` the trajectory has."""
    at = {row: k for k, row in enumerate(rows)}
    there = [k for k, row in enumerate(wanted.tolist()) if row in at]
    of = plan.keep.of(trajectory, np.array([at[int(wanted[k])] for k in there], dtype=int)) if there else {}
    found = {}
    for name, shape in plan.keep.shapes.items():
        whole = np.full((len(wanted), len(plan.keep.t), *shape), np.nan)
        if there:
            whole[there] = of[name]
        found[f"kept/{inside(name)}"] = whole
    return found


def done(plan: Plan, folder: Storage, k: int) -> Outcome:
    """Run a chunk of a folder, and put its shard there."""
    known = {name: tuple(m["shape"]) for name, m in folder.manifest["metrics"].items()}
    found = computed(plan, *folder.span(k), known)
    said = {"why": {str(i): text for i, text in found.why.items()}, "notes": found.notes}
    folder.write(k, found.arrays, said)
    return Outcome(k, folder.span(k)[1], {n: x.array for n, x in found.values.items() if x.array.ndim == 1}, len(found.why), said)


def looked_up(folder: Storage, k: int) -> Outcome:
    """Return what is told of a chunk whose shard is there."""
    said = folder.messages(k)
    names = [n for n, m in folder.manifest["metrics"].items() if not m["shape"]]
    values = folder.place.each(lambda n: folder.read(k, f"metrics/{n}"), names)
    return Outcome(k, folder.span(k)[1], dict(zip(names, values, strict=True)), len(said["why"]), said)


def first_look(plan: Plan, first: int, count: int) -> Chunk:
    """Run a few; CampaignError where a metric has no value of any of them that did not fail."""
    found = computed(plan, first, count, {})
    for x in found.values.values():
        alive = count - len({*found.why} - {*x.why})
        if x.why and len(x.why) >= alive and all("raised" in text or "expected" in text for text in x.why.values()):
            text, runs = next(iter(x.why.values())), f"{len(x.why)} runs from run {first} on" if first else f"first {len(x.why)} runs"
            raise CampaignError(f"{text}, of each of the {runs}" + ("" if "expected" in text else
                                "; expected a number, a truth value or an array"))  # fmt: skip
    return found


def next_good(plan: Plan, first: int) -> Chunk:
    """Run as many more as have failed, the ``first``, until one does not: what a metric is, is known of such a run."""
    while not (found := first_look(plan, first, min(first, plan.runs - first))).good and 2 * first < plan.runs:
        first *= 2
    return found


def require_alone(plan: Plan, found: Chunk) -> None:
    """Take a run once more, by itself: CampaignError where a controller in plain Python, or a metric, comes to other bits then."""
    expected = "it depends on something besides its run; expected a function of its arguments alone"
    if found.trajectory is None or not found.good:
        return
    i, k = next(iter(found.good.items()))
    controller = plan.simulator.plant.controller
    if controller is not None and controller.called.law.python:
        start, before = plan.scatter.start(i, 1), found.trajectory.rollout(k)
        again, _, why, _ = rollouts(plan.simulator, start.q0, start.v0, plan.duration, plan.record_every, start.parameters)
        after = None if again is None or why else again.rollout(0)
        if after is None or not all(np.array_equal(getattr(before, x), getattr(after, x)) for x in ("t", "q", "v", "tau")):
            raise CampaignError(f"{controller.called.name} moves run {i} otherwise when it is run again alone: {expected}")
    for m in plan.metrics:
        value = found.values[m.name].array[i - found.first]
        alone = m.values(found.trajectory.rollout([k]), np.array([True]), value.shape)
        if not np.array_equal(alone.array[0], value, equal_nan=True):
            raise CampaignError(f"metric '{m.name}' is {shown(value.tolist())} of run {i}, and {shown(alone.array[0].tolist())} when it is "
                                f"taken again of that run alone: {expected}")  # fmt: skip
