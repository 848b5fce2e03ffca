"""Models and trajectories in a notebook: a page that plays in its frame, and a table of what matters."""

from __future__ import annotations

import html as markup
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from engine.model import Joint, Model
from engine.model.shown import html
from engine.simulation import Trajectory
from engine.viewer.files.html import page
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene

Array = np.ndarray
HEIGHT = 420                                                                  # pixels of the frame
TRIANGLES = 50_000                                                             # a notebook keeps every page in its file
SAMPLES = 600
ROLLOUTS = 25


@html.register
def model_html(model: Model) -> str:
    """Return HTML of a model for a notebook: a picture that can be turned, and its joints with their kinds and limits. Never raises."""
    rows = [(j.name, j.kind, j.child, limits(j), effort(j)) for j in model.joints if j.type.nv]
    mass = sum(link.mass for link in model.links)
    said = f"{len(model.links)} links, {len(model.joints)} joints, {mass:.6g} kg, nq {model.nq}, nv {model.nv}"
    return block(model.name, said, frame(model), table(("joint", "kind", "link", "limits", "speed and force up to"), rows))


@html.register
def trajectory_html(trajectory: Trajectory) -> str:
    """Return HTML of a trajectory for a notebook: it plays, with its span, its states, and how its energy changes. Never raises."""
    t, batch = trajectory.t, trajectory.q.shape[:-2]
    rollouts = int(np.prod(batch))
    rows = [("states", str(len(t))), ("span", f"{t[0]:g} … {t[-1]:g} s" if len(t) else "no time"), ("energy", energy(trajectory))]
    if batch:
        rows.append(("rollouts", f"{rollouts}{f', {ROLLOUTS} of them shown' if rollouts > ROLLOUTS else ''}"))
    rows += [("event", f"{e.name} at {e.t:g} s") for e in trajectory.events[:10]]
    return block(trajectory.model.name, f"a trajectory of {len(trajectory.model.links)} links", frame(some(trajectory)), table((), rows))


def frame(source: Model | Trajectory) -> str:
    """Return the page in a frame, paused; or the sentence that says why there is none."""
    if isinstance(source, Trajectory) and not len(source):
        return "<p>there are no states to show</p>"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        try:
            scene = Scene(source)
            first, last = scene.span
            shown = page(scene, min(30.0, SAMPLES / max(last - first, 1e-9)), play=False, different=TRIANGLES)
        except ViewerError as e:
            return f"<p>{markup.escape(str(e))}</p>"
    remarks = "".join(f"<p>{markup.escape(str(w.message))}</p>" for w in told)
    return f'<iframe srcdoc="{markup.escape(shown)}" style="width:100%;height:{HEIGHT}px;border:0" allowfullscreen></iframe>{remarks}'


def some(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with at most ROLLOUTS rollouts, so that a notebook can keep it."""
    if trajectory.q.ndim == 2:
        return trajectory
    lead = trajectory.q.ndim - 2

    def first(x: Any) -> Any:
        return x.reshape(-1, *x.shape[lead:])[:ROLLOUTS]

    flat = {n: first(getattr(trajectory, n)) for n in ("q", "v", "tau", "vdot")}
    own = {n: first(x) for n, x in trajectory.parameters.items()}
    return replace(trajectory, **flat, signals={}, parameters=own, stopped=None, reason=None)


def energy(trajectory: Trajectory) -> str:
    """Return the first energy, kinetic and potential, and how far it goes from there, as text."""
    if not len(trajectory) or not np.isfinite(trajectory.q).all() or not np.isfinite(trajectory.v).all():
        return "not finite"
    E = np.add(*trajectory.energy()).reshape(-1, len(trajectory))
    change = float(np.abs(E - E[:, :1]).max())
    return f"{E[0, 0]:.6g} J at first, then within {change:.3g} J of it" + (" in every rollout" if len(E) > 1 else "")


def limits(joint: Joint) -> str:
    """Return a joint's range as text."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if np.isinf(lower) and np.isinf(upper):
        return ""
    return f"{lower:.4g} … {upper:.4g} {joint.type.units[0]}"


def effort(joint: Joint) -> str:
    """Return a joint's largest speed and force as text."""
    units = f"{joint.type.units[0]}/s", joint.type.force_units[0]
    return ", ".join(f"{x:.4g} {u}" for x, u in zip((joint.limits.velocity, joint.limits.effort), units, strict=True) if np.isfinite(x))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return an HTML table of texts."""

    def row(cells: tuple[str, ...], kind: str) -> str:
        style = "text-align:left;padding-right:1em"
        return "<tr>" + "".join(f'<{kind} style="{style}">{markup.escape(cell)}</{kind}>' for cell in cells) + "</tr>"

    return "<table>" + (row(head, "th") if head else "") + "".join(row(cells, "td") for cells in rows) + "</table>"


def block(name: str, said: str, *below: str) -> str:
    """Return a name and what is said of it, the picture, and a table to unfold."""
    shown, lines = below
    details = f'<details><summary>more</summary><div style="max-height:320px;overflow:auto">{lines}</div></details>'
    return f"<div><p><b>{markup.escape(name)}</b>: {markup.escape(said)}</p>{shown}{details}</div>"
