"""The side panel's tabs: joints and parameters, what is shown, the tree of links, and views."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from engine.model import Model
from engine.simulation.parameter_units import units_shown
from engine.spatial import quaternion, so3
from engine.viewer.display.facts import Button, Field, Heading, Item, Panel, Row, Slider, Switch
from engine.viewer.display.readings import roll_pitch_yaw
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.sources import Running, Still
from engine.viewer.window.keys import KEYS

Array = np.ndarray
#: entries of a parameter that have a slider, at most
ENTRIES = 12
#: the row that a part of a link's name is typed into
SOUGHT = "find a link"
OVERLAYS = ("joint_frames", "link_frames", "joint_axes", "centers", "inertias", "momentum", "torques", "contacts", "names", "labels",
            "wireframe", "transparent")  # fmt: skip
WORDS = {given[0]: said for said, method, given in KEYS.values() if method == "switch"}
WORDS |= {"joint_axes": "joint axes", "names": "names of the robots"}


class Tabs:
    """Makes the side panel's rows, and does what they ask for.

    Parameters
    ----------
    viewer : the window, an :class:`engine.viewer.window.window.Viewer`

    Attributes
    ----------
    open : the tab that is open; "" for none
    sought : a part of names of links, which alone are listed
    kept : views that are kept
    """

    def __init__(self, viewer: Any) -> None:
        self.viewer = viewer
        self.open, self.sought = "", ""
        self.kept: list[Camera] = []
        self._tabs: dict[str, Callable[[], list[Row]]] = {"Joints": self._joints, "Show": self._show, "Links": self._links,
                                                          "Views": self._views}  # fmt: skip

    def panel(self, typed: tuple[str, str] | None) -> Panel:
        """Return the panel as it is now, and a row that a text is typed into, with the text."""
        return Panel(tuple(self._tabs), self.open, self._tabs[self.open]() if self.open else (), typed)

    def typing(self, row: str, text: str, use: Callable[[Any], None]) -> None:
        """Hand over a text that is being typed, where a text is asked for."""
        if row == SOUGHT:
            use(text)

    def take(self, row: str, text: str, use: Callable[[Any], None]) -> None:
        """Hand over a number that was typed; say so where it is none."""
        try:
            x = float(text.replace("−", "-").replace(",", ".")) if row != SOUGHT else None
        except ValueError:
            x = math.nan
        if x is not None and not math.isfinite(x):
            self.viewer.say(f"{row}: {text!r} is no number")
        elif x is not None:
            use(x)

    def toggle(self) -> None:
        """Open the panel, or close it."""
        self.turn(self.open or "Joints")

    def turn(self, name: str) -> None:
        """Open a tab, or close it where it is open."""
        self.open = "" if self.open == name else name

    # ------------------------------------------------------------ joints

    @property
    def _actor(self) -> tuple[Actor, int]:
        """The robot that is turned: the picked one, or the first."""
        picked = self.viewer.picked
        return (self.viewer.scene.actors[0], 0) if picked is None else picked[:2]

    def _joints(self) -> list[Row]:
        actor, instance = self._actor
        source, model = actor.source, actor.model
        q = source.state(self.viewer.t)[0][instance]
        still = source if isinstance(source, Still) and source.free else None
        rows: list[Row] = [Heading("joints" if still else "joints, as they are")]
        size = 2.0 * self.viewer.scene.extent[1]
        for b in (b for b in model.bodies if not b.mimics):
            if b.kind.floats:
                rows += self._base(still, instance, b, q, size)
            elif b.kind.nq == b.kind.nv:
                limits = b.joint.limits
                for k, unit in zip(range(b.q.start, b.q.stop), b.kind.units, strict=True):
                    reach = math.pi if unit == "rad" else size
                    least, most = float(limits.lower), float(limits.upper)
                    low, high = (-reach if least < -1e3 else least), (reach if most > 1e3 else most)
                    set_ = partial(self._move, still, instance, k, (least, most)) if still else None
                    rows.append(Slider(model.labels("q")[k], float(q[k]), low, high, unit, set_))
        if still:
            rows.append(Button("as at first", partial(self._rest, still, instance)))
        if isinstance(source, Running):
            rows += self._parameters(source)
        return rows

    def _base(self, still: Still | None, instance: int, body: Any, q: Array, size: float) -> list[Row]:
        """Return rows of a floating base: its place, and roll, pitch and yaw."""
        orientation, p = q[body.q][:4], q[body.q][4:]
        angles = np.degrees(roll_pitch_yaw(quaternion.to_matrix(orientation)))
        values = [*p, *angles]
        name = body.joint.child
        rows: list[Row] = []
        for k, (entry, unit) in enumerate([("x", "m"), ("y", "m"), ("z", "m"), ("roll", "°"), ("pitch", "°"), ("yaw", "°")]):
            reach = max(size, 1.2 * abs(float(p[k]))) if k < 3 else (90.0 if k == 4 else 180.0)
            set_ = partial(self._place, still, instance, body, k) if still else None
            rows.append(Slider(f"{name} {entry}", float(values[k]), -reach, reach, unit, set_))
        return rows

    def _move(self, source: Still, instance: int, k: int, limits: tuple[float, float], value: float) -> None:
        q = source.q[instance].copy()
        q[k] = min(max(value, limits[0]), limits[1])
        if q[k] != value:
            self.viewer.say(f"{source.model.labels('q')[k]} is within {limits[0]:.4g} … {limits[1]:.4g}")
        source.q[instance] = q

    def _place(self, source: Still, instance: int, body: Any, k: int, value: float) -> None:
        q = source.q[instance].copy()
        own = q[body.q]
        if k < 3:
            own[4 + k] = value
        else:
            angles = roll_pitch_yaw(quaternion.to_matrix(own[:4]))
            angles[k - 3] = math.radians(value)
            x, y, z = (so3.exp(angle * axis) for angle, axis in zip(angles, np.eye(3), strict=True))
            own[:4] = quaternion.from_matrix(z @ y @ x)
        q[body.q] = own
        source.q[instance] = q

    def _rest(self, source: Still, instance: int) -> None:
        source.q[instance] = source.first[instance]

    def _parameters(self, source: Running) -> list[Row]:
        """Return sliders of a simulation's parameters; the ends of each are set by its value at first."""
        rows: list[Row] = []
        units = units_shown(source.live.simulator.plant)
        for name, x in source.live.parameters.items():
            first = np.asarray(source.live.simulator.parameters[name], float)
            if name.startswith("pull.") or first.size > ENTRIES or not np.isfinite(first).all():
                continue
            reach = 2.0 * max(float(np.abs(first).max(initial=0.0)), 0.5)
            for at, unit in zip(np.ndindex(first.shape), units[name], strict=True):
                label = name + (f"[{','.join(map(str, at))}]" if at else "")
                low = 0.0 if first[at] > 0.0 else -reach
                rows.append(Slider(label, float(x[at]), low, reach, unit, partial(self._set, source, name, at)))
        return [Heading("parameters"), *rows] if rows else []

    def _set(self, source: Running, name: str, at: tuple[int, ...], value: float) -> None:
        x = np.array(source.live.parameters[name], float)
        x[at] = value
        source.live.set(name, x)

    # ------------------------------------------------------------ what is shown

    def _show(self) -> list[Row]:
        viewer, shown = self.viewer, self.viewer.shown
        rows: list[Row] = [Switch(WORDS[name], bool(getattr(shown, name)), partial(viewer.switch, name)) for name in OVERLAYS]
        rows.append(Switch("collision shapes", viewer.geometry == "collision", viewer.shapes))
        rows.append(Heading("colours"))
        for by, said in (("robots", "of their own for robots"), ("rollouts", "of their own for rollouts")):
            rows.append(Switch(said, shown.colors == by, partial(self._color, by)))
        rows += [Heading("picture"), Button(f"surroundings: {viewer.scene.environment}", viewer.surroundings),
                 Button("whole screen", viewer.fullscreen), Button("save a picture", viewer.save),
                 Switch("record", viewer.recording is not None, viewer.record),
                 Switch("measure between two points", viewer.measuring, viewer.measure)]  # fmt: skip
        return rows

    def _color(self, by: str) -> None:
        shown = self.viewer.shown
        self.viewer.shown = replace(shown, colors="" if shown.colors == by else by)

    # ------------------------------------------------------------ links

    def _links(self) -> list[Row]:
        viewer = self.viewer
        rows: list[Row] = [Field(SOUGHT, self.sought, self._seek)]
        if viewer.picked is not None:
            rows.append(Button(f"only {viewer.picked[2]}", self._isolate))
        if viewer.shown.hidden:
            rows.append(Button("show all", self._show_all))
        actors = viewer.scene.actors
        for actor in actors:
            if len(actors) > 1:
                rows.append(Heading(actor.name))
            for depth, name in tree(actor.model):
                if self.sought.lower() in name.lower():
                    picked = viewer.picked is not None and viewer.picked[0] is actor and viewer.picked[2] == name
                    rows.append(Item(name, depth if not self.sought else 0, picked, name not in viewer.shown.hidden,
                                     partial(viewer.choose, actor, 0, name), partial(self._hide, name)))  # fmt: skip
        return rows

    def _seek(self, text: str) -> None:
        self.sought = text

    def _hide(self, *names: str) -> None:
        hidden = self.viewer.shown.hidden
        changed = (*(n for n in hidden if n not in names), *(n for n in names if n not in hidden))
        self.viewer.shown = replace(self.viewer.shown, hidden=changed)

    def _isolate(self) -> None:
        kept = self.viewer.picked[2]
        names = dict.fromkeys(link.name for actor in self.viewer.scene.actors for link in actor.model.links)
        self.viewer.shown = replace(self.viewer.shown, hidden=tuple(n for n in names if n != kept))

    def _show_all(self) -> None:
        self.viewer.shown = replace(self.viewer.shown, hidden=())

    # ------------------------------------------------------------ views

    def _views(self) -> list[Row]:
        viewer = self.viewer
        rows: list[Row] = [Button("all of it", viewer.fit), Switch("four views", len(viewer.cameras) > 1, viewer.four_views)]
        said = {"top": "from above", "bottom": "from below"}
        rows += [Button(said.get(name, f"from the {name}"), partial(viewer.look, name)) for name in VIEWS]
        rows += [Heading("kept"), Button("keep this view", self._keep)]
        for k, camera in enumerate(self.kept):
            rows.append(Button(f"view {k + 1}", partial(self._go, camera), partial(self.kept.remove, camera)))
        return rows

    def _keep(self) -> None:
        self.kept.append(replace(self.viewer.camera, anchor=None))

    def _go(self, camera: Camera) -> None:
        self.viewer.cameras[0] = replace(camera)


def tree(model: Model) -> list[tuple[int, str]]:
    """Return links with how deep in the tree they are, each after its parent and before its parent's next child."""
    below: dict[str, list[str]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent or "", []).append(joint.child)
    carried = {joint.child for joint in model.joints if joint.parent}
    found, waiting = [], [(0, link.name) for link in reversed(model.links) if link.name not in carried]
    while waiting:
        depth, name = waiting.pop()
        found.append((depth, name))
        waiting += [(depth + 1, child) for child in reversed(below.get(name, []))]
    return found
