"""Printed tables: a robot's summary and tree, what a recording holds, the peaks of forces."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import typer

import engine
from engine.cli.recordings import being_written, goes_on, interrupted, steps_done
from engine.io import model_from_text
from engine.recording import Recording
from engine.simulation.run_header import ended_how, header_in, last_time

Array = np.ndarray


def gravity_text(g: Iterable[float]) -> str:
    """Return gravity with its unit."""
    return f"{' '.join(f'{x:g}' for x in g)} m/s²"


def summary_lines(model: engine.Model) -> Iterator[str]:
    """Yield name, numbers of links and joints, coordinates and mass."""
    kinds = Counter(j.kind for j in model.joints)
    mimics = sum(b.mimics for b in model.bodies)
    yield f"{model.name}"
    yield f"  links   {len(model.links)}"
    yield f"  joints  {len(model.joints)}{': ' * bool(kinds)}{', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"
    yield f"  nq, nv  {model.nq}, {model.nv}{f' (joints that follow others: {mimics})' if mimics else ''}"
    yield f"  mass    {sum(link.mass for link in model.links):.6g} kg"


def tree_lines(model: engine.Model) -> Iterator[str]:
    """Yield the links, each below the one it hangs on, with the joint it hangs by."""
    yield model.links[0].name
    above = {j.child: j for j in model.joints if j.parent}
    last = {j.parent: j.child for j in above.values()}
    bars = {model.links[0].name: ""}
    for link in model.links[1:]:
        joint = above[link.name]
        closes = last[joint.parent] == link.name
        yield f"{bars[joint.parent]}{'└─ ' if closes else '├─ '}{link.name}  ({joint.name}, {joint.kind})"
        bars[link.name] = bars[joint.parent] + ("   " if closes else "│  ")


def contents_lines(recording: Recording) -> Iterator[str]:
    """Yield what a recording holds, by name; what it does not say is left out."""
    h, n, path = header_in(recording), len(recording), recording.path
    ends = "complete"
    if not recording.complete and not interrupted(recording):
        ends = f"not complete: it {ended_how(recording, steps_done(recording))}"
    elif not recording.complete:
        why = f" ({h['reasons']['']})" if h.get("reasons", {}).get("") else ""
        ends = "being written" if being_written(path) else f"interrupted{why}; {goes_on(recording)} goes on"
    span = f"{recording.read('t', 0, 1)[0]:g} … {last_time(recording):g} s" if n else "nothing yet"
    planned = f" of {h['duration']:g} s" if "duration" in h and not recording.complete else ""
    every = f", one every {h['record_every']} steps" if h.get("record_every", 1) != 1 else ""
    made = {"engine": "engine", "numpy": "numpy", "llvmlite": "llvmlite", "python": "Python", "machine": "on"}
    rows = {
        "model": repr(model_from_text(h["model"])).removeprefix("<model ").removesuffix(">") if "model" in h else "",
        "time": f"{span}{planned}; {ends}",
        "records": f"{n}{every}; {path.stat().st_size / 1e6:.3g} MB (engine verify compares every byte)",
        "rollouts": " × ".join(map(str, recording.batch)),
        "integrator": f"{h['integrator']}, dt = {h['dt']:g} s" if "integrator" in h else "",
        "gravity": gravity_text(h["gravity"]) if "gravity" in h else "",
        "components": ", ".join(h.get("components", ())),
        "asked, as plain Python": h.get("asked", ""),
        "parameters": ", ".join(h.get("parameters", ())),
        "start": h.get("start", ""),
        "columns": ", ".join(f"{name} ({'×'.join(map(str, s))})" if s else name for name, s in recording.columns.items()),
        "made by": ", ".join(f"{name} {h[key]}" for key, name in made.items() if key in h),
        "begun": h.get("begun", ""),
    }
    yield from (f"  {name:<11} {text}" for name, text in rows.items() if text)


def print_peaks(model: engine.Model, t: Array, tau: Array) -> None:
    """Print the largest of the forces tau (T, nv) at times t (T), and which are above the robot's limits."""
    bodies = [b for b in model.bodies if not b.mimics]
    limits = [b.joint.limits.effort if b.kind.nv == 1 else np.inf for b in bodies for _ in b.kind.force_units]
    units = [unit for b in bodies for unit in b.kind.force_units]
    rows, over = [("", "peak", "unit", "at t, s", "rms", "limit", "of it")], [""]
    for name, x, unit, limit in zip(model.labels("v"), tau.T, units, limits, strict=True):
        at = int(np.argmax(abs(x)))
        share = f"{100 * abs(x[at]) / limit if limit > 0 else np.inf:.0f} %"
        limited = (f"{limit:.4g}", share) if np.isfinite(limit) else ("–", "")
        rows.append((name, f"{x[at]:.4g}", unit, f"{t[at]:.4g}", f"{np.sqrt(np.mean(x**2)):.4g}", *limited))
        over.append(name if abs(x[at]) > limit else "")
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row, exceeded in zip(rows, over, strict=True):
        line = "   ".join(cell.ljust(w) if k in (0, 2) else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, wide, strict=True)))
        typer.secho(f"  {line}".rstrip(), bold=bool(exceeded) or None, fg=typer.colors.RED if exceeded else None)
        if row is rows[0]:
            print(f" {'─' * (len(line) + 2)}")
    if any(over):
        print(f"above the robot's limits: {', '.join(filter(None, over))}")
