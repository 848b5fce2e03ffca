"""A scene served to browsers: the page, frames of its motion, readings, and the orders that come back."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import listed, nearest
from engine.model.body import Body
from engine.simulation import Live
from engine.simulation.parameter_units import units_shown
from engine.spatial import quaternion
from engine.viewer.display.readings import Readings
from engine.viewer.files.html import DIFFERENT, DRAWN, HAND_STYLES, HANDS, PLOTS, SMALL, Pack, document, lightened
from engine.viewer.files.motion import sample_times
from engine.viewer.files.page_plots import POINTS, drawn, placed
from engine.viewer.files.sampled_marks import framed, marks_of, of_pages, packed
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown, check
from engine.viewer.scene.sources import Running, Still
from engine.viewer.scene.symbols import shapes

Array = np.ndarray
PAGE = Path(__file__).parent / "page"
#: joints whose positions are plotted, at most
JOINTS = 3
#: marks that a browser switches: by the keys of the window, what they mean, and fields of Shown
SWITCHES = {"j": ("joint frames", "joint_frames"), "k": ("link frames", "link_frames"), "m": ("centres of mass", "centers"),
            "i": ("inertia ellipsoids", "inertias"), "p": ("momentum", "momentum"), "u": ("joint forces", "torques"),
            "x": ("contact forces", "contacts"), "n": ("names of the links", "labels"), "z": ("ω, its polhode and herpolhode", "polhode"),
            "y": ("the path of the centre of mass", "center_path")}  # fmt: skip
#: s from one reading to the next
READ = 0.2


class Stage:
    """A scene for browsers: one of simulations that run, of models at rest, or of motions that are over.

    Attributes
    ----------
    kind : "live", "rest" or "motion"; the first two are sent as frames, the last one is all in the page
    live : the simulation that is steered, or None
    holder : who pulls a link of it, or None
    name : of this stage alone, by which a page knows that it is still the same
    """

    def __init__(self, scene: Scene, fps: float, shown: Shown | None = None, signals: Sequence[str | Sequence[str]] = (),
                 plots: str = "right") -> None:  # fmt: skip
        self.scene, self.fps, self.shown = scene, fps, of_pages(shown)
        check(scene, self.shown)
        sources = [actor.source for actor in scene.actors]
        self.live: Live | None = next((s.live for s in sources if isinstance(s, Running)), None)
        self.kind = "live" if self.live else "motion" if any(s.moves for s in sources) else "rest"
        self.moving = [[] if self.kind == "motion" else moving(actor) for actor in scene.actors]
        self.joints = [turning(actor) if self.kind == "rest" else {} for actor in scene.actors]
        first = scene.actors[0]
        labels = [f"q.{first.model.labels('q')[b.q.start]}" for b in first.model.bodies if b.kind.nq == 1 and not b.mimics]
        usual = labels[:JOINTS] if first.source.moves else []
        self.readings = Readings(first, 0, signals or usual, POINTS)
        self._places = placed(scene, self.readings, plots)
        self.holder: Any = None
        self.name = secrets.token_hex(8)
        self._turned = object()                                               # another one after each turn of a joint, and of marks
        self._state: tuple[Any, Any] = None, None
        self._pack: Pack | None = None
        self._words: dict[str, int] = {}
        self._legend: Any = ()
        self._frame: tuple[Any, bytes] = None, b""                             # the last one, which several watchers may ask for
        self._plots = -np.inf, ""

    def page(self) -> str:
        """Return the page, at the state that is now, or with the whole motion.

        Raises
        ------
        ViewerError : there are too many poses
        """
        times = sample_times(self.scene, self.fps)[: None if self.kind == "motion" else 1]
        served: dict[str, Any] = {"kind": self.kind, "name": self.name, "moving": self.moving,
                  "joints": [{name: reach(b) for name, b in joints.items()} for joints in self.joints]}  # fmt: skip
        served["units"] = units_shown(self.live.simulator.plant) if self.live else {}
        header = {"play": True, "served": served, "plots": {**self._places, "found": []}}
        pack = self._pack = Pack(lightened(self.scene, DIFFERENT, DRAWN))
        if marked := self.kind != "motion":
            for surface in shapes():                                           # that frames may have later
                pack.surface(surface)
            served["marks"] = {key: [meaning, name, bool(getattr(self.shown, name))] for key, (meaning, name) in SWITCHES.items()}
        shown = Shown(hidden=self.shown.hidden) if marked else self.shown
        return document(self.scene, times, pack, header, [*PLOTS[0], *HANDS, PAGE / "served.js"],
                        [*PLOTS[1], *HAND_STYLES, PAGE / "served.css"], shown, marked)  # fmt: skip

    # ------------------------------------------------------------ what is seen

    @property
    def t(self) -> float:
        """The time that is shown, s."""
        return self.scene.span[0] if self.live is None else float(self.live.state.t)

    @property
    def state(self) -> Any:
        """An object that is another one whenever there is something new to be seen; None where the page has all of it."""
        if self.kind == "motion":
            return None
        now = None if self.live is None else self.live.state, self._turned
        if any(a is not b for a, b in zip(now, self._state, strict=True)):
            self._state = now
        return self._state

    def frame(self) -> tuple[Any, bytes]:
        """Return the state, and as bytes its time, s, an origin (3), m, for each actor, all float64, and the poses of what moves there.

        A pose is a position from that origin (3), m, and a unit quaternion (4), scalar first, float32, of each instance and link in turn.
        After them, from a multiple of eight bytes on, are marks, if there are any (:func:`framed`).
        """
        state = self.state
        if self._frame[0] is not state:
            t, heads, bodies = self.t, [], []
            for actor, links in zip(self.scene.actors, self.moving, strict=True):
                poses = actor.poses(t)[:, links].reshape(-1, 4, 4)
                places = poses[:, :3, 3]
                origin = places[0] if len(places) else np.zeros(3)
                heads.append(origin)
                bodies.append(np.concatenate([places - origin, quaternion.from_matrix(poses[:, :3, :3])], axis=-1).astype("<f4"))
            head = np.concatenate([[t], *heads]).astype("<f8")
            body = b"".join([head.tobytes(), *(x.tobytes() for x in bodies)])
            if self.shown.marks and self._pack is not None:
                drawing = marks_of(self.scene, t, self.shown)
                body += bytes(-len(body) % 8) + framed(packed(drawing, self._pack.numbers.__getitem__, self._words))
                self._legend = drawing.legend
            self._frame = state, body
        return self._frame

    def status(self) -> str:
        """Return what controls show, as JSON."""
        if self.live is None:
            told: dict[str, Any] = {"joints": [{name: float(a.source.state(0.0)[0][0, b.q][0]) for name, b in joints.items()}
                                               for a, joints in zip(self.scene.actors, self.joints, strict=True)]}  # fmt: skip
        else:
            live = self.live
            parameters = {n: x.tolist() for n, x in live.parameters.items() if not n.startswith("pull.") and x.ndim < 2 and x.size <= SMALL}
            told = {"paused": live.paused, "speed": live.speed, "rate": round(live.rate, 2), "error": live.error, "parameters": parameters,
                    "stiffness": float(live.parameters["pull.stiffness"])}
        return json.dumps({"status": told})

    def words(self) -> str:
        """Return what marks are labelled with and what arrows mean, as JSON."""
        legend = [[text, list(color)] for text, color in self._legend] if self.shown.marks else []
        return json.dumps({"words": [*self._words], "legend": legend})

    def plots(self) -> str:
        """Return the readings in time, as JSON; those of the last moment, if they are asked for again within it."""
        now = time.perf_counter()
        if now - self._plots[0] >= READ:
            found = [] if self.kind == "rest" else [drawn(plot) for plot in self.readings.grouped(self.t, standard=True)]
            self._plots = now, json.dumps({"plots": found})
        return self._plots[1]

    # ------------------------------------------------------------ what orders do

    def obey(self, order: str, fields: dict[str, Any]) -> None:
        """Do what an order of the table says.

        Raises
        ------
        EngineError : there is no such link, joint or parameter, or nothing runs that the order is for
        """
        if order == "turn":
            self._turn(**fields)
            return
        if order == "show":
            self._show(**fields)
            return
        live = self.live
        if live is None:
            raise ViewerError(f"order '{order}' is for a simulation that runs; expected none here")
        if order == "speed":
            live.speed = fields["value"]
        elif order == "set" and fields["name"].startswith("pull."):
            raise ViewerError(f"parameter '{fields['name']}' is the hand's; expected order 'pull'")
        else:
            getattr(live, order)(**fields)

    def _show(self, name: str) -> None:
        """Show a mark, or hide it again."""
        if name not in (known := [field for _, field in SWITCHES.values()]) or self.kind == "motion":
            known = [] if self.kind == "motion" else known
            expected = ", ".join(known) or "none: serve(…, shown=…)"
            raise ViewerError(f"mark '{name}' cannot be shown{nearest(name, known)}; expected {expected}")
        changed: dict[str, Any] = {name: not getattr(self.shown, name)}
        self.shown = replace(self.shown, **changed)
        self._turned = object()

    def _turn(self, actor: int, joint: str, value: float) -> None:
        """Move a joint of a model at rest."""
        if actor >= len(self.joints) or joint not in self.joints[actor]:
            known = [name for joints in self.joints[actor : actor + 1] for name in joints]
            expected = listed("one of", known, "no joint, as none can be turned")
            raise ViewerError(f"joint '{joint}' cannot be turned{nearest(joint, known)}; expected {expected}")
        source = self.scene.actors[actor].source
        assert isinstance(source, Still)
        q = source.q[0].copy()
        q[self.joints[actor][joint].q] = value
        source.q = source.model.within_limits(q)[None]
        self._turned = object()


def moving(actor: Actor) -> list[int]:
    """Return the links that are drawn and that some joint moves."""
    return sorted({part.link for part in actor.parts if actor.model.carrier[part.link][0] >= 0})


def turning(actor: Actor) -> dict[str, Body]:
    """Return the bodies of a model at rest by the names of their joints, of those with one coordinate of their own."""
    own = isinstance(actor.source, Still) and actor.source.free and actor.instances == 1
    return {b.joint.name: b for b in actor.model.bodies if own and b.kind.nq == 1 and not b.mimics}


def reach(body: Body) -> list[Any]:
    """Return the least and the greatest coordinate that a slider of a joint has, and their unit."""
    unit = body.kind.units[0]
    ends = body.joint.limits.lower, body.joint.limits.upper
    most = np.pi if unit == "rad" else 1.0
    return [*(float(x) if np.isfinite(x) else sign * most for x, sign in zip(ends, (-1, 1), strict=True)), unit]
